"""Counts how often restaurants reach the parts of a policy: rules, keys, values, conditions and branches.

In: a seed, and lines of rows, evaluated by the reference evaluator. Out: `Coverage`. A part that no restaurant reaches is not
tested by them, or never happens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

from formulaseed.compare.definitions import cut_expression, format_name
from formulaseed.data.arguments import validate_arguments
from formulaseed.data.duplicates import Duplicates
from formulaseed.data.jsonl import InputLine, Lines, open_lines
from formulaseed.data.results import Failures
from formulaseed.diagnostics.model import Problems
from formulaseed.documents import FormulaSeed, SeedLike, load_seed
from formulaseed.errors import EvaluationError
from formulaseed.ir import nodes
from formulaseed.ir.interpret import Evaluation, Observer, prepare_evaluation
from formulaseed.ir.labels import map_labels
from formulaseed.language import typed
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.printer import literal_text, value_text
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.language.types import Base, Value
from formulaseed.pages.blocks import Block, Heading, InlineCode, Items, ListItem, Table, sentence
from formulaseed.pages.document import RenderedDocument
from formulaseed.runtime.loading import compile_evaluator
from formulaseed.runtime.running import add_failure, usable_rows
from formulaseed.seed import surface
from formulaseed.seed.kind import KIND as SEED
from formulaseed.source.json_reader import JsonArray, JsonObject, find_value
from formulaseed.source.printing import number_of
from formulaseed.source.text import Span, shorten

PartKind = Literal["rule", "key", "value", "filter", "condition", "branch"]
_PartKey = tuple[object, object]
"""The key of a part: an expression's `id` with its truth, a table's `id` with the position of a key, or a field with a value."""
_DEFAULT_POSITION = -1  # the reference evaluator's observer counts the default of a table at this position
_MAX_TEXT_LENGTH = 80


@dataclass(frozen=True, slots=True)
class CoverageItem:
    """A part of a seed that restaurants may reach, and how often they did.

    A `rule` of a case and a `key` of a table are chosen once for a restaurant. A `value` of a field is counted for each
    review or restaurant that has it. A `filter`, an aggregate's `condition` and a formula's `branch` are two items each: one
    for the evaluations in which it holds, one for the others.
    """

    kind: PartKind
    name: str
    text: str
    span: Span
    key: _PartKey
    """The key under which the observer counts the part."""
    count: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the item as a JSON object of `--format json`, as docs/analysis.md describes it."""
        return {"kind": self.kind, "name": self.name, "text": self.text, "count": self.count, "place": self.span.place}

    def build_cells(self, labels: Mapping[str, str]) -> tuple[str, ...]:
        """Return the kind, the name or the label of a step, and the text as cells of a table."""
        return self.kind, format_name(self.name, labels), InlineCode(self.text)


class RuleProof(NamedTuple):
    """A restaurant that reaches a rule, or that there is none, or that neither is known: in words, and as JSON."""

    text: str
    json: dict[str, Any]


@dataclass(frozen=True)
class Coverage(RenderedDocument):
    """The parts of a seed in the order of the file, each with the number of times that restaurants reached it.

    `failures` names the restaurants that could not be evaluated to the end. `labels` are those of steps. `proofs` has the claims
    about rules that are never reached, if they were requested.
    """

    seed: str
    items: tuple[CoverageItem, ...]
    restaurants: int
    reviews: int
    failures: Failures = field(default_factory=Failures)
    labels: Mapping[str, str] = field(default_factory=dict)
    proofs: Mapping[CoverageItem, RuleProof] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The title of the page."""
        return f"Coverage of {self.seed}"

    @property
    def reached_count(self) -> int:
        """The number of items that at least one restaurant reaches."""
        return sum(item.count > 0 for item in self.items)

    @property
    def percent(self) -> float:
        """The share of the items that are reached, in percent; 100.0 if there are no items."""
        return 100 * self.reached_count / len(self.items) if self.items else 100.0

    @cached_property
    def json(self) -> dict[str, Any]:
        """The coverage as JSON values; docs/analysis.md describes them."""
        proofs = {item: {"proof": proof.json} for item, proof in self.proofs.items()}
        return {
            "seed": self.seed,
            "restaurants": self.restaurants,
            "reviews": self.reviews,
            "reached": self.reached_count,
            "total": len(self.items),
            "percent": self.percent,
            "items": [item.to_json() | proofs.get(item, {}) for item in self.items],
            "failures": self.failures.lines,
        }

    def __repr__(self) -> str:
        return shorten(f"Coverage({self.seed!r}, {self.reached_count} of {len(self.items)} parts reached)")

    def _blocks(self) -> Iterator[Block]:
        """Yield the summary, then a table of the parts never reached and one of those reached, unless empty."""
        data = f"{number_of(self.restaurants, 'restaurant')} with {number_of(self.reviews, 'review')}"
        share = f"{self.reached_count:,} of {number_of(len(self.items), 'part')}, {self.percent:.1f}%"
        yield sentence(InlineCode(self.seed), f": {data} reach {share}.")
        missed = [
            (*item.build_cells(self.labels), InlineCode(item.span.place)) for item in self.items if not item.count
        ]
        if missed:
            yield Heading("Never reached", 3)
            yield Table(("part", "name", "what", "place"), missed)
        if self.proofs:
            yield Heading("Restaurants that would reach a rule", 3)
            proofs = [
                (InlineCode(f"{item.name}: {item.text}"), f": {proof.text}") for item, proof in self.proofs.items()
            ]
            yield Items([*map(ListItem, proofs)])
        reached = [(*item.build_cells(self.labels), f"{item.count:,}") for item in self.items if item.count]
        if reached:
            yield Heading("Reached", 3)
            yield Table(("part", "name", "what", "times"), reached)


@validate_arguments
def cover(
    seed: SeedLike | FormulaSeed,
    rows: Lines,
    *,
    parameters: Mapping[str, Value] | None = None,
    duplicates: Duplicates = "fail",
    prove: bool = False,
) -> Coverage:
    """Count how often restaurants reach the rules, keys, values, conditions and branches of a seed.

    `rows` is a path to JSON Lines, the objects that they would hold, or a data frame; `extract` makes them of contexts.
    With `duplicates="first"` the first of a restaurant's rows with the same `review_id` counts; otherwise the restaurant fails.
    Restaurants that fail are in the result's `failures`. With `prove`, its `proofs` propose a restaurant for each rule that none
    reaches, or say that there is none, which needs the extra `prove`. Raises `SeedError` for a seed with errors, and `DataError`
    for a file that cannot be opened, a wrong parameter, and if no restaurant can be read.
    """
    failures = Failures()
    loaded = load_seed(seed)
    coverage = measure_coverage(loaded, open_lines(rows, "rows"), parameters, failures, duplicates, prove=prove)
    failures.require_restaurants(coverage.restaurants)
    return coverage


def measure_coverage(
    seed: FormulaSeed,
    lines: Iterable[InputLine],
    parameters: Mapping[str, Value] | None,
    failures: Failures,
    duplicates: Duplicates = "fail",
    *,
    prove: bool = False,
) -> Coverage:
    """Count how often restaurants reach the parts of a loaded seed; add restaurants and lines that fail to `failures`.

    A restaurant that fails at a step counts for the parts that it reached before. `parameters` override the seed's
    defaults. With `prove`, rules that are never reached have proofs. Raises `DataError` for a wrong parameter, and
    `MissingExtraError` if the solver is not installed.
    """
    program = seed.program
    evaluator = compile_evaluator(seed)
    parts = sorted(_find_parts(seed), key=lambda part: part.span.start)
    watched_expressions = _find_watched_expressions(program, parts)
    counts: Counter[_PartKey] = Counter()
    restaurants = reviews = 0
    for restaurant in usable_rows(evaluator, lines, failures, parameters, duplicates):
        restaurants += 1
        reviews += len(restaurant.rows)
        evaluation = prepare_evaluation(program, restaurant.rows, restaurant.context, parameters)
        evaluation.observer = Observer(watched_expressions, counts)
        values = _list_values(program, restaurant.rows, evaluation)
        counts.update(pair for pair in values if isinstance(pair[1], str | bool | None))  # numbers are no parts
        try:
            for step in program.steps:
                evaluation.evaluate_step(step)
        except EvaluationError as error:
            add_failure(failures, restaurant, evaluator.locate(error))
    items = tuple(replace(part, count=counts[part.key]) for part in parts)
    missed = _find_missed_rules(program, {item.key: item for item in items}) if prove else {}
    proofs = _prove_rules(seed, missed, parameters) if missed else {}
    return Coverage(seed.document.source.name, items, restaurants, reviews, failures, map_labels(program), proofs)


def _find_missed_rules(
    program: nodes.Program, items: Mapping[_PartKey, CoverageItem]
) -> dict[tuple[str, int | None], CoverageItem]:
    """Return the items of the rules that are never reached, by the name of the step and the position of the rule.

    Rules are those of a `case`, and the branches of a formula that chooses among literals. `items` are those of the parts' keys.
    """
    missed: dict[tuple[str, int | None], CoverageItem] = {}
    for step in program.steps:
        tested: object = None
        for place, (condition, _) in enumerate(step.rules()):
            # `else` has no condition of its own: the last one does not hold
            if condition is not None:
                tested = id(condition)
            item = items.get((tested, condition is not None))
            if item is not None and not item.count:
                missed[step.name, place] = item
    return missed


def _prove_rules(
    seed: FormulaSeed, rules: Mapping[tuple[str, int | None], CoverageItem], parameters: Mapping[str, Value] | None
) -> dict[CoverageItem, RuleProof]:
    """Return the proofs of rules, which are given by the name of their step and their position, by their items.

    Raises `MissingExtraError` if the solver is not installed.
    """
    from formulaseed.proofs.proving import prove
    from formulaseed.proofs.report import describe_witness

    proofs = prove(seed, parameters=parameters)
    result: dict[CoverageItem, RuleProof] = {}
    for claim, claim_json in zip(proofs.claims.rules, proofs.json["rules"], strict=True):
        if (claim.name, claim.rule) in rules:
            text = "not known whether there is one"
            if claim.witness is not None:
                text = f"a restaurant with {describe_witness(seed.program, claim.witness)}"
            elif claim.status == "unreachable":
                text = "there is none, as proved, so that the rule can be deleted"
            json = {"status": claim.status, "witness": claim_json["witness"]}
            result[rules[claim.name, claim.rule]] = RuleProof(text, json)
    return result


def _list_values(
    program: nodes.Program, rows: Iterable[Mapping[str, Any]], evaluation: Evaluation
) -> Iterator[tuple[Symbol, object]]:
    """Yield the values of the fields of a restaurant and its reviews.

    `evaluation` has the values of the fields that steps use, defaults included. An extraction field that no step uses
    is read from `rows`.
    """
    for declared in program.fields:
        symbol = Symbol(SymbolKind.EXTRACTION, declared.name)
        for row, values in zip(rows, evaluation.rows, strict=True):
            section = row.get("extraction")
            value = section.get(declared.name) if isinstance(section, dict) else None
            yield symbol, values.get(symbol, declared.default if value is None else value)
    for values in (evaluation.shared, *evaluation.rows):
        yield from (pair for pair in values.items() if pair[0].kind in (SymbolKind.META, SymbolKind.CONTEXT))


# --- the parts of a seed


def _find_parts(seed: FormulaSeed) -> Iterator[CoverageItem]:
    """Yield every part of a checked seed that restaurants may reach, not in the order of the file, with the count 0."""
    surface_program = SEED.parse(seed.document, Problems())
    assert surface_program is not None  # the seed was checked, so its file can be parsed
    yield from _find_value_parts(seed, surface_program.declared_at)
    operations = {step.name.text: step.operation for step in surface_program.steps}
    for step in seed.program.steps:
        match step.operation, operations.get(step.name):
            case nodes.Case() as case, surface.Case(otherwise=otherwise):
                yield from _build_rule_parts(step.name, case, otherwise.span)
            case nodes.Lookup() as lookup, surface.Lookup() as table:
                yield from _build_key_parts(step.name, lookup, table)
            case nodes.Filter(condition), _:
                yield from _build_condition_parts("filter", step.name, condition, step.name)
        for aggregate in step.aggregates():
            if aggregate.where is not None:
                yield from _build_condition_parts("condition", step.name, aggregate.where, id(aggregate.where))
        for expression in step.expressions():
            for node in typed.walk(expression):
                yield from _build_branch_parts(step.name, node)


def _find_watched_expressions(program: nodes.Program, parts: Iterable[CoverageItem]) -> dict[int, bool]:
    """Map the `id` of each expression to watch to True if it is tested for null, or to False if it is tested for truth."""
    expressions = (node for step in program.steps for whole in step.expressions() for node in typed.walk(whole))
    calls = (node for node in expressions if isinstance(node, typed.Call) and FUNCTIONS[node.function].replaces_null)
    tested_for_null = {id(call.arguments[0]) for call in calls}
    identities = (part.key[0] for part in parts)
    return {identity: identity in tested_for_null for identity in identities if isinstance(identity, int)}


def _build_condition_parts(kind: PartKind, name: str, condition: Expr, identity: object) -> Iterator[CoverageItem]:
    """Yield the two parts of a condition, "holds" and "does not hold"; `identity` is the first half of their keys."""
    for text, truth in (("holds", True), ("does not hold", False)):
        text = f"{cut_expression(condition, _MAX_TEXT_LENGTH)}: {text}"
        yield CoverageItem(kind, name, text, condition.info.span, (identity, truth))


def _find_value_parts(seed: FormulaSeed, declared_at: Mapping[str, Span]) -> Iterator[CoverageItem]:
    """Yield the values of declared enum and boolean fields, and null for every nullable field.

    Fields of `meta` and `context` count only if a step uses them. `declared_at` maps fields to the spans of their names.
    """
    program = seed.program
    used = program.used()
    namespaces: tuple[tuple[SymbolKind, Iterable[nodes.ExtractionField | nodes.InputField]], ...] = (
        (SymbolKind.EXTRACTION, program.fields),
        (SymbolKind.META, program.meta),
        (SymbolKind.CONTEXT, program.context),
    )
    fields = [(Symbol(kind, field.name), field.ty) for kind, declared in namespaces for field in declared]
    for symbol, ty in fields:
        place = declared_at.get(str(symbol))
        if place is not None and (symbol.kind is SymbolKind.EXTRACTION or symbol in used):
            spans = _find_value_spans(seed, place)
            values: tuple[Value, ...] = (True, False) if ty.base is Base.BOOLEAN else ty.values or ()
            for value in (*values, None) if ty.nullable else values:
                yield CoverageItem("value", str(symbol), value_text(value), spans.get(value, place), (symbol, value))


def _find_value_spans(seed: FormulaSeed, name: Span) -> dict[Value, Span]:
    """Return the spans of the values that a field lists in the file, empty if it lists none; `name` is its name's span."""
    values = find_value(seed.document.tree, f"{name.pointer.rpartition('/')[0]}/values")
    if isinstance(values, JsonObject):
        return {key.value: key.span for key in values.names()}
    items = values.items if isinstance(values, JsonArray) else ()
    return {item.value: item.span for item in items if not isinstance(item, JsonObject | JsonArray)}


def _build_rule_parts(name: str, case: nodes.Case, otherwise: Span) -> Iterator[CoverageItem]:
    """Yield the rules of the step `name`, then its `else`, which is at `otherwise`, if there are rules."""
    for condition, then in case.rules:
        text = f"{literal_text(then)} if {cut_expression(condition, _MAX_TEXT_LENGTH)}"
        yield CoverageItem("rule", name, text, condition.info.span, (id(condition), True))
    if case.rules:  # `else` is reached if the last condition does not hold
        text = f"else {literal_text(case.otherwise)}"
        yield CoverageItem("rule", name, text, otherwise, (id(case.rules[-1][0]), False))


def _build_key_parts(name: str, lookup: nodes.Lookup, table: surface.Lookup) -> Iterator[CoverageItem]:
    """Yield the keys of the table of the step `name`, and its default; `table` has their spans."""
    for position, entry in enumerate(table.table):
        text = f"{literal_text(entry.key.text)}: {literal_text(entry.value.value)}"
        yield CoverageItem("key", name, text, entry.key.span, (id(lookup), position))
    if table.default is not None:
        text = f"default {literal_text(table.default.value)}"
        yield CoverageItem("key", name, text, table.default.span, (id(lookup), _DEFAULT_POSITION))


def _build_branch_parts(name: str, node: Expr) -> Iterator[CoverageItem]:
    """Yield the two branches of a conditional, of `coalesce`, and of an `and` or `or` over values that are not booleans.

    Yields nothing for any other expression. `name` is the step that contains `node`.
    """
    tests = "if {}", "unless {}"
    match node:
        case typed.Conditional(tested, then, otherwise):
            parts = then, otherwise
        case typed.Call(function, (tested, default)) if FUNCTIONS[function].replaces_null:
            parts = tested, default
            tests = "if {} != None", "if {} == None"
        case typed.Logical(operator, (tested, *_, last)) if node.info.ty.base is not Base.BOOLEAN:
            parts = (tested, last) if operator == "or" else (last, tested)
        case _:
            return
    for part, test, truth in zip(parts, tests, (True, False), strict=True):
        text = f"{cut_expression(part, _MAX_TEXT_LENGTH)} {test.format(cut_expression(tested, _MAX_TEXT_LENGTH))}"
        yield CoverageItem("branch", name, text, part.info.span, (id(tested), truth))
