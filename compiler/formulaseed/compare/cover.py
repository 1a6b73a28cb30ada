"""Which parts of a policy some restaurants reach: rules, keys, values, conditions and branches, with how often.

In: a seed, and lines of rows, evaluated by the reference evaluator. Out: `Coverage`. What no restaurant reaches is not tested
by them, or never happens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeGuard

from formulaseed.arguments import validated
from formulaseed.compare.definitions import short_text
from formulaseed.data.duplicates import Duplicates
from formulaseed.data.jsonl import Line, Lines, lines_of
from formulaseed.data.results import Failures
from formulaseed.diagnostics.model import Problems, number_of
from formulaseed.errors import EvaluationError
from formulaseed.ir import nodes
from formulaseed.ir.interpret import Evaluation, Observer, prepare
from formulaseed.kinds import SEED
from formulaseed.language import typed
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.printer import literal_text, value_text
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.language.types import Base, Value
from formulaseed.loading import FormulaSeed, SeedLike, load_seed
from formulaseed.pages.blocks import Block, Code, Heading, Table, sentence
from formulaseed.pages.document import Document
from formulaseed.runtime.loading import evaluator_of
from formulaseed.runtime.running import add_failure, usable_rows
from formulaseed.seed import surface
from formulaseed.source.json_reader import JsonArray, JsonObject, value_at
from formulaseed.source.text import Span, shortened

Kind = Literal["rule", "key", "value", "filter", "condition", "branch"]
_Key = tuple[object, object]
"""What is counted: an expression's identity with its truth, a table's with the position of a key, a field with a value."""
_DEFAULT = -1
"""In place of the position of a key."""
_LENGTH = 80


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
        """Where it is, as `file:line:column`."""
        line, column = self.span.source.position(self.span.start)
        return f"{self.span.source.name}:{line}:{column}"

    def to_json(self) -> dict[str, Any]:
        """Return it as `--format json` has it."""
        return {"kind": self.kind, "name": self.name, "text": self.text, "count": self.count, "place": self.place}


@dataclass(frozen=True)
class Coverage(Document):
    """All parts, in the order of the file; `failures` names the restaurants that could not be evaluated to the end."""

    seed: str
    items: tuple[Item, ...]
    restaurants: int
    reviews: int
    failures: Failures = field(default_factory=Failures)

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
        missed = [item for item in self.items if not item.count]
        if missed:
            rows = ((item.kind, Code(item.name), Code(item.text), Code(item.place)) for item in missed)
            yield Heading("Never reached", 3)
            yield Table(("part", "name", "what", "place"), tuple(rows))
        found = [item for item in self.items if item.count]
        if found:
            counted = ((item.kind, Code(item.name), Code(item.text), f"{item.count:,}") for item in found)
            yield Heading("Reached", 3)
            yield Table(("part", "name", "what", "times"), tuple(counted))


@validated
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
    found = coverage(load_seed(seed), lines_of(rows, "rows"), parameters, failures, duplicates)
    failures.refuse_nothing_read(found.restaurants)
    return found


def coverage(
    seed: FormulaSeed,
    lines: Iterable[Line],
    parameters: Mapping[str, Value] | None,
    failures: Failures,
    duplicates: Duplicates = "fail",
) -> Coverage:
    """Return what restaurants reach of a loaded seed; those that fail are in `failures`.

    A restaurant with a step that has no value counts as far as its computation came.
    """
    program, (parts, watched) = seed.program, _parts(seed)
    evaluator = evaluator_of(seed)
    counts: Counter[_Key] = Counter()
    restaurants = reviews = 0
    for found in usable_rows(evaluator, lines, failures, parameters, duplicates):
        restaurants, reviews = restaurants + 1, reviews + len(found.rows)
        evaluation = prepare(program, found.rows, found.context, parameters)
        evaluation.observer = Observer(watched, counts)
        _count_values(program, found.rows, evaluation, counts)
        try:
            for step in program.steps:
                evaluation.step(step)
        except EvaluationError as error:
            add_failure(failures, found, evaluator.located(error))
    items = tuple(Item(kind, name, text, span, counts[key]) for kind, name, text, span, key in parts)
    return Coverage(seed.document.source.name, items, restaurants, reviews, failures)


def _count_values(
    program: nodes.Program, rows: Iterable[Mapping[str, Any]], evaluation: Evaluation, counts: Counter[_Key]
) -> None:
    """Count the values of fields in `counts`: as they were read, or those of a field that no step uses as they are given."""

    def count(symbol: Symbol, value: object) -> None:
        if isinstance(value, str | bool | None):
            counts[symbol, value] += 1

    for each in program.fields:
        symbol = Symbol(SymbolKind.EXTRACTION, each.name)
        for given, row in zip(rows, evaluation.rows, strict=True):
            section = given.get("extraction")
            raw = section.get(each.name) if isinstance(section, dict) else None
            count(symbol, row.get(symbol, each.default if raw is None else raw))
    for values in (evaluation.shared, *evaluation.rows):
        for symbol, value in values.items():
            if symbol.kind in (SymbolKind.META, SymbolKind.CONTEXT):
                count(symbol, value)


# --- the parts of a seed


_Part = tuple[Kind, str, str, Span, _Key]


def _parts(seed: FormulaSeed) -> tuple[list[_Part], dict[int, bool]]:
    """Return every part with what is counted for it, in the order of the file, and what is watched for that."""
    written = SEED.parse(seed.document, Problems())
    assert written is not None  # it was checked
    found = list(_values(seed, written.declared_at))
    operations = {step.name.text: step.operation for step in written.steps}
    for step in seed.program.steps:
        match step.operation, operations.get(step.name):
            case nodes.Case() as case, surface.Case(otherwise=otherwise):
                found += _rules(step.name, case, otherwise.span)
            case nodes.Lookup() as lookup, surface.Lookup() as table:
                found += _keys(step.name, lookup, table)
            case nodes.Filter(condition), _:
                found += _both("filter", step.name, condition, step.name)
        for aggregate in step.aggregates():
            if aggregate.where is not None:
                found += _both("condition", step.name, aggregate.where, id(aggregate.where))
        for expression in step.expressions():
            found += [part for node in typed.walk(expression) for part in _branches(step.name, node)]
    expressions = (expression for step in seed.program.steps for expression in step.expressions())
    calls = (node for expression in expressions for node in typed.walk(expression) if _replaces_null(node))
    coalesced = {id(call.arguments[0]) for call in calls}
    watched = {key[0]: key[0] in coalesced for *_, key in found if isinstance(key[0], int)}
    return sorted(found, key=lambda part: part[3].start), watched


def _replaces_null(node: Expr) -> TypeGuard[typed.Call]:
    return isinstance(node, typed.Call) and FUNCTIONS[node.function].replaces_null


def _both(kind: Kind, name: str, condition: Expr, counted: object) -> Iterator[_Part]:
    for text, truth in (("holds", True), ("does not hold", False)):
        yield kind, name, f"{short_text(condition, _LENGTH)}: {text}", condition.info.span, (counted, truth)


def _values(seed: FormulaSeed, declared_at: Mapping[str, Span]) -> Iterator[_Part]:
    """The values of enums and booleans that the seed declares, and null; of metadata and the restaurant those in use."""
    program, used = seed.program, seed.program.used()
    namespaces: tuple[tuple[SymbolKind, Iterable[nodes.ExtractionField | nodes.InputField]], ...] = (
        (SymbolKind.EXTRACTION, program.fields),
        (SymbolKind.META, program.meta),
        (SymbolKind.CONTEXT, program.context),
    )
    for symbol, ty in ((Symbol(kind, each.name), each.ty) for kind, declared in namespaces for each in declared):
        place = declared_at.get(str(symbol))
        if place is not None and (symbol.kind is SymbolKind.EXTRACTION or symbol in used):
            spans = _places_of_values(seed, place)
            values: tuple[Value, ...] = ty.values or ((True, False) if ty.base is Base.BOOLEAN else ())
            for value in (*values, *([None] if ty.nullable else [])):
                yield "value", str(symbol), value_text(value), spans.get(value, place), (symbol, value)


def _places_of_values(seed: FormulaSeed, name: Span) -> dict[Value, Span]:
    """Where a field lists its values, beside its name."""
    tree = seed.document.tree
    values = value_at(tree, f"{name.pointer.rpartition('/')[0]}/values") if tree is not None else None
    if isinstance(values, JsonObject):
        return {key.value: key.span for key in values.names()}
    items = values.items if isinstance(values, JsonArray) else ()
    return {item.value: item.span for item in items if not isinstance(item, JsonObject | JsonArray)}


def _rules(name: str, case: nodes.Case, otherwise: Span) -> Iterator[_Part]:
    for condition, then in case.rules:
        text = f"{literal_text(then)} if {short_text(condition, _LENGTH)}"
        yield "rule", name, text, condition.info.span, (id(condition), True)
    if case.rules:  # where the last one does not hold
        yield "rule", name, f"else {literal_text(case.otherwise)}", otherwise, (id(case.rules[-1][0]), False)


def _keys(name: str, lookup: nodes.Lookup, written: surface.Lookup) -> Iterator[_Part]:
    for place, entry in enumerate(written.table):
        text = f"{literal_text(entry.key.text)}: {literal_text(entry.value.value)}"
        yield "key", name, text, entry.key.span, (id(lookup), place)
    if written.default is not None:
        yield (
            "key",
            name,
            f"default {literal_text(written.default.value)}",
            written.default.span,
            (id(lookup), _DEFAULT),
        )


def _branches(name: str, node: Expr) -> Iterator[_Part]:
    """The two branches of a conditional, and of a null or a zero that `or` replaces, or `coalesce`."""
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
        text = f"{short_text(part, _LENGTH)} {test.format(short_text(tested, _LENGTH))}"
        yield "branch", name, text, part.info.span, (id(tested), truth)
