"""Counts which parts of a policy some restaurants reach: rules, keys, values, conditions and branches.

In: a seed, and lines of rows, evaluated by the reference evaluator. Out: `Coverage`. A part that no restaurant reaches is not
tested by them, or never happens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeGuard

from formulaseed.compare.definitions import cut_expression
from formulaseed.data.arguments import validate_arguments
from formulaseed.data.duplicates import Duplicates
from formulaseed.data.jsonl import InputLine, Lines, open_lines
from formulaseed.data.results import Failures
from formulaseed.diagnostics.model import Problems
from formulaseed.documents import FormulaSeed, SeedLike, load_seed
from formulaseed.errors import EvaluationError
from formulaseed.ir import nodes
from formulaseed.ir.interpret import Evaluation, Observer, prepare
from formulaseed.language import typed
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.printer import literal_text, value_text
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.language.types import Base, Value
from formulaseed.pages.blocks import Block, Code, Heading, Table, sentence
from formulaseed.pages.document import Document
from formulaseed.runtime.loading import compile_evaluator
from formulaseed.runtime.running import add_failure, usable_rows
from formulaseed.seed import surface
from formulaseed.seed.kind import KIND as SEED
from formulaseed.source.json_reader import JsonArray, JsonObject, value_at
from formulaseed.source.printing import number_of
from formulaseed.source.text import Span, shortened

Kind = Literal["rule", "key", "value", "filter", "condition", "branch"]
_Key = tuple[object, object]
"""Identifies a part: an expression's identity with its truth, a table's with the position of a key, a field with a value."""
_DEFAULT = -1
"""The position of a table's default."""
_MAX_LENGTH = 80


@dataclass(frozen=True, slots=True)
class Item:
    """A part that restaurants may reach, and how often they did.

    `rule` and `key` are chosen for a restaurant, `value` is a review's, or a restaurant's, of a field; a `filter`, the
    `condition` of an aggregate and the `branch` of a formula have two: where it holds and where it does not.
    """

    kind: Kind
    name: str
    text: str
    span: Span
    count: int

    @property
    def place(self) -> str:
        """The place of the part, as `file:line:column`."""
        line, column = self.span.source.position(self.span.start)
        return f"{self.span.source.name}:{line}:{column}"

    def to_json(self) -> dict[str, Any]:
        """Return it as `--format json` has it."""
        return {"kind": self.kind, "name": self.name, "text": self.text, "count": self.count, "place": self.place}

    def cells(self) -> tuple[str, ...]:
        """Return the part as cells of a table."""
        return self.kind, Code(self.name), Code(self.text)


@dataclass(frozen=True)
class Coverage(Document):
    """All parts, in the order of the file; `failures` names the restaurants that could not be evaluated to the end."""

    seed: str
    items: tuple[Item, ...]
    restaurants: int
    reviews: int
    failures: Failures = field(default_factory=Failures)

    @property
    def title(self) -> str:
        """The title of the page."""
        return f"Coverage of {self.seed}"

    @property
    def reached(self) -> int:
        """How many of the items some restaurant reaches."""
        return sum(item.count > 0 for item in self.items)

    @property
    def percent(self) -> float:
        """The share of the items that are reached, in percent; 100 of none."""
        return 100 * self.reached / len(self.items) if self.items else 100.0

    @cached_property
    def json(self) -> dict[str, Any]:
        """The coverage as JSON values; docs/analysis.md describes them."""
        return {
            "seed": self.seed,
            "restaurants": self.restaurants,
            "reviews": self.reviews,
            "reached": self.reached,
            "total": len(self.items),
            "percent": self.percent,
            "items": [item.to_json() for item in self.items],
            "failures": self.failures.lines,
        }

    def __repr__(self) -> str:
        return shortened(f"Coverage({self.seed!r}, {self.reached} of {len(self.items)} parts reached)")

    def _blocks(self) -> Iterator[Block]:
        data = f"{number_of(self.restaurants, 'restaurant')} with {number_of(self.reviews, 'review')}"
        share = f"{self.reached:,} of {number_of(len(self.items), 'part')}, {self.percent:.1f}%"
        yield sentence(Code(self.seed), f": {data} reach {share}.")
        missed = [(*item.cells(), Code(item.place)) for item in self.items if not item.count]
        if missed:
            yield Heading("Never reached", 3)
            yield Table(("part", "name", "what", "place"), missed)
        reached = [(*item.cells(), f"{item.count:,}") for item in self.items if item.count]
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
) -> Coverage:
    """Return which rules, keys, values, conditions and branches of a seed restaurants reach, and how often.

    `rows` is a path to JSON Lines, the objects that they would hold, or a data frame; `extract` makes them of contexts.
    With `duplicates="first"` the first of a restaurant's rows with the same `review_id` counts; otherwise the restaurant fails.
    Restaurants that fail are in the result's `failures`. Raises `SeedError` for a seed with errors, and `DataError` for a
    file that cannot be opened, a wrong parameter, and if no restaurant can be read.
    """
    failures = Failures()
    coverage = measure_coverage(load_seed(seed), open_lines(rows, "rows"), parameters, failures, duplicates)
    failures.require_restaurants(coverage.restaurants)
    return coverage


def measure_coverage(
    seed: FormulaSeed,
    lines: Iterable[InputLine],
    parameters: Mapping[str, Value] | None,
    failures: Failures,
    duplicates: Duplicates = "fail",
) -> Coverage:
    """Return the parts of a loaded seed that restaurants reach; adds those that fail to `failures`.

    A restaurant with a step that has no value counts as far as its computation came.
    """
    program, evaluator = seed.program, compile_evaluator(seed)
    parts = sorted(_parts(seed), key=lambda part: part.span.start)
    watched = _watched_expressions(program, parts)
    counts: Counter[_Key] = Counter()
    restaurants = reviews = 0
    for restaurant in usable_rows(evaluator, lines, failures, parameters, duplicates):
        restaurants += 1
        reviews += len(restaurant.rows)
        evaluation = prepare(program, restaurant.rows, restaurant.context, parameters)
        evaluation.observer = Observer(watched, counts)
        _count_values(program, restaurant.rows, evaluation, counts)
        try:
            for step in program.steps:
                evaluation.step(step)
        except EvaluationError as error:
            add_failure(failures, restaurant, evaluator.locate(error))
    items = tuple(Item(part.kind, part.name, part.text, part.span, counts[part.key]) for part in parts)
    return Coverage(seed.document.source.name, items, restaurants, reviews, failures)


def _count_values(
    program: nodes.Program, rows: Iterable[Mapping[str, Any]], evaluation: Evaluation, counts: Counter[_Key]
) -> None:
    """Add the values of fields to `counts`: as they were read; of a field that no step uses, as the rows have them."""

    def count(symbol: Symbol, value: object) -> None:
        if isinstance(value, str | bool | None):
            counts[symbol, value] += 1

    for declared in program.fields:
        symbol = Symbol(SymbolKind.EXTRACTION, declared.name)
        for row, values in zip(rows, evaluation.rows, strict=True):
            section = row.get("extraction")
            value = section.get(declared.name) if isinstance(section, dict) else None
            count(symbol, values.get(symbol, declared.default if value is None else value))
    for values in (evaluation.shared, *evaluation.rows):
        for symbol, value in values.items():
            if symbol.kind in (SymbolKind.META, SymbolKind.CONTEXT):
                count(symbol, value)


# --- the parts of a seed


class _Part(NamedTuple):
    """A part that restaurants may reach, and the key under which it is counted."""

    kind: Kind
    name: str
    text: str
    span: Span
    key: _Key


def _parts(seed: FormulaSeed) -> Iterator[_Part]:
    """Yield every part of a seed."""
    surface_program = SEED.parse(seed.document, Problems())
    assert surface_program is not None  # it was checked
    yield from _values(seed, surface_program.declared_at)
    operations = {step.name.text: step.operation for step in surface_program.steps}
    for step in seed.program.steps:
        match step.operation, operations.get(step.name):
            case nodes.Case() as case, surface.Case(otherwise=otherwise):
                yield from _rules(step.name, case, otherwise.span)
            case nodes.Lookup() as lookup, surface.Lookup() as table:
                yield from _keys(step.name, lookup, table)
            case nodes.Filter(condition), _:
                yield from _both("filter", step.name, condition, step.name)
        for aggregate in step.aggregates():
            if aggregate.where is not None:
                yield from _both("condition", step.name, aggregate.where, id(aggregate.where))
        for expression in step.expressions():
            for node in typed.walk(expression):
                yield from _branches(step.name, node)


def _watched_expressions(program: nodes.Program, parts: Iterable[_Part]) -> dict[int, bool]:
    """Return the identities of the expressions to watch; True for those that are tested for null, not for truth."""
    expressions = (expression for step in program.steps for expression in step.expressions())
    calls = (node for expression in expressions for node in typed.walk(expression) if _replaces_null(node))
    tested_for_null = {id(call.arguments[0]) for call in calls}
    identities = (part.key[0] for part in parts)
    return {identity: identity in tested_for_null for identity in identities if isinstance(identity, int)}


def _replaces_null(node: Expr) -> TypeGuard[typed.Call]:
    return isinstance(node, typed.Call) and FUNCTIONS[node.function].replaces_null


def _both(kind: Kind, name: str, condition: Expr, identity: object) -> Iterator[_Part]:
    """Yield the two parts of a condition: it holds, and it does not."""
    for text, truth in (("holds", True), ("does not hold", False)):
        text = f"{cut_expression(condition, _MAX_LENGTH)}: {text}"
        yield _Part(kind, name, text, condition.info.span, (identity, truth))


def _values(seed: FormulaSeed, declared_at: Mapping[str, Span]) -> Iterator[_Part]:
    """Yield the values of enums and booleans that the seed declares, and null; of metadata and the restaurant those in use."""
    program, used = seed.program, seed.program.used()
    namespaces: tuple[tuple[SymbolKind, Iterable[nodes.ExtractionField | nodes.InputField]], ...] = (
        (SymbolKind.EXTRACTION, program.fields),
        (SymbolKind.META, program.meta),
        (SymbolKind.CONTEXT, program.context),
    )
    fields = [(Symbol(kind, field.name), field.ty) for kind, declared in namespaces for field in declared]
    for symbol, ty in fields:
        place = declared_at.get(str(symbol))
        if place is not None and (symbol.kind is SymbolKind.EXTRACTION or symbol in used):
            spans = _places_of_values(seed, place)
            values: tuple[Value, ...] = ty.values or ((True, False) if ty.base is Base.BOOLEAN else ())
            for value in (*values, *([None] if ty.nullable else [])):
                yield _Part("value", str(symbol), value_text(value), spans.get(value, place), (symbol, value))


def _places_of_values(seed: FormulaSeed, name: Span) -> dict[Value, Span]:
    """Return the places of the values that a field lists; `name` is the place of its name."""
    tree = seed.document.tree
    values = value_at(tree, f"{name.pointer.rpartition('/')[0]}/values") if tree is not None else None
    if isinstance(values, JsonObject):
        return {key.value: key.span for key in values.names()}
    items = values.items if isinstance(values, JsonArray) else ()
    return {item.value: item.span for item in items if not isinstance(item, JsonObject | JsonArray)}


def _rules(name: str, case: nodes.Case, otherwise: Span) -> Iterator[_Part]:
    for condition, then in case.rules:
        text = f"{literal_text(then)} if {cut_expression(condition, _MAX_LENGTH)}"
        yield _Part("rule", name, text, condition.info.span, (id(condition), True))
    if case.rules:  # it is reached if the last condition does not hold
        text = f"else {literal_text(case.otherwise)}"
        yield _Part("rule", name, text, otherwise, (id(case.rules[-1][0]), False))


def _keys(name: str, lookup: nodes.Lookup, written: surface.Lookup) -> Iterator[_Part]:
    for place, entry in enumerate(written.table):
        text = f"{literal_text(entry.key.text)}: {literal_text(entry.value.value)}"
        yield _Part("key", name, text, entry.key.span, (id(lookup), place))
    if written.default is not None:
        text = f"default {literal_text(written.default.value)}"
        yield _Part("key", name, text, written.default.span, (id(lookup), _DEFAULT))


def _branches(name: str, node: Expr) -> Iterator[_Part]:
    """Yield the two branches of a conditional, and of a null or a zero that `or` replaces, or `coalesce`."""
    tests = "if {}", "unless {}"
    match node:
        case typed.Conditional(condition, then, otherwise):
            tested, parts = condition, (then, otherwise)
        case typed.Call(_, (first, default)) if _replaces_null(node):
            tested, parts, tests = first, (first, default), ("if {} != None", "if {} == None")
        case typed.Logical(word, (first, *_, last)) if node.info.ty.base is not Base.BOOLEAN:
            tested, parts = first, (first, last) if word == "or" else (last, first)
        case _:
            return
    for part, test, truth in zip(parts, tests, (True, False), strict=True):
        text = f"{cut_expression(part, _MAX_LENGTH)} {test.format(cut_expression(tested, _MAX_LENGTH))}"
        yield _Part("branch", name, text, part.info.span, (id(tested), truth))
