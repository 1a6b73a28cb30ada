"""Compares the outputs of restaurants with the expected ones: who differs, why, and how verdicts are confused.

In: a seed, lines of rows, and lines of expected outputs. Out: `ExpectedOutputs`, as data, text, Markdown and HTML. A
restaurant that fails is counted, and named in `failures`. `diff` and `sensitivity` share the reading of expected outputs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

from formulaseed.compare.pairing import Verdicts, build_matrix_table, format_verdict
from formulaseed.data.arguments import validate_arguments
from formulaseed.data.duplicates import Duplicates
from formulaseed.data.expected import ExpectedLine
from formulaseed.data.jsonl import InputLine, Lines, open_lines, parse_lines
from formulaseed.data.results import MAX_VERDICTS, Failures
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.documents import FormulaSeed, SeedLike, load_seed
from formulaseed.errors import DataError, EvaluationError
from formulaseed.explanation.explainer import Explainer
from formulaseed.explanation.verdict import choose_verdict, list_verdicts
from formulaseed.ir import nodes
from formulaseed.ir.inputs import read_value
from formulaseed.language.types import Value
from formulaseed.pages.blocks import Block, Heading, InlineCode, Items, ListItem, Table, sentence
from formulaseed.pages.document import RenderedDocument
from formulaseed.pages.values import format_plain, format_value, is_number
from formulaseed.runtime.loading import compile_evaluator
from formulaseed.runtime.running import add_failure, read_rows
from formulaseed.source.text import shorten

_MAX_LISTED_RESTAURANTS = 20
_MAX_SUGGESTED_RESTAURANTS = 5
Outputs = Mapping[str, Value] | None
"""The values of a restaurant by name; None if it fails."""


@dataclass(frozen=True)
class Disagreement:
    """A restaurant without the expected outputs.

    `outputs` maps each output that differs to an object with the keys `expected` and `actual`. `note` and `place` are those of
    the expectation. `reason` says why the verdict, or else the first of these outputs, has its value.
    """

    business_id: str
    outputs: Mapping[str, Mapping[str, Value]]
    note: str
    reason: str
    place: str


@dataclass(frozen=True)
class ExpectedOutputs(RenderedDocument):
    """The outputs of restaurants, compared with the expected ones.

    `agreeing` counts the restaurants with all expected outputs. `matrix` counts the restaurants with an expected verdict by
    that and the actual one, None if the restaurant fails. `failed` has the restaurants that fail; `failures` says why.
    """

    seed: str
    agreeing: int
    disagreements: tuple[Disagreement, ...]
    failed: tuple[str, ...]
    matrix: Mapping[Verdicts, int]
    possible_verdicts: tuple[str, ...]
    failures: Failures

    @property
    def title(self) -> str:
        """The title of the page."""
        return f"Expected outputs of {self.seed}"

    @property
    def restaurants(self) -> int:
        """The number of restaurants with expected outputs."""
        return self.agreeing + len(self.disagreements) + len(self.failed)

    @cached_property
    def json(self) -> dict[str, Any]:
        """The comparison as JSON values; docs/analysis.md describes them."""
        matrix = [{"expected": old, "actual": new, "restaurants": count} for (old, new), count in self.matrix.items()]
        return {
            "seed": self.seed,
            "restaurants": self.restaurants,
            "agreeing": self.agreeing,
            "differing": [vars(disagreement) for disagreement in self.disagreements],
            "failed": list(self.failed),
            "matrix": matrix,
            "failures": self.failures.lines,
        }

    def __repr__(self) -> str:
        return shorten(f"ExpectedOutputs({self.seed!r}, {self.agreeing} of {self.restaurants} agree)")

    def _blocks(self) -> Iterator[Block]:
        """Yield the numbers of restaurants, the matrix of a verdict with few values, who differs, and why."""
        agreeing = f": {self.agreeing:,} of {self.restaurants:,} restaurants have the expected outputs, "
        differing = f"{len(self.disagreements):,} {'differs' if len(self.disagreements) == 1 else 'differ'}"
        failed = f", {len(self.failed):,} failed." if self.failed else "."
        yield sentence(InlineCode(self.seed), agreeing, differing, failed)
        if self.matrix and len({verdict for pair in self.matrix for verdict in pair}) <= MAX_VERDICTS:
            yield build_matrix_table("expected \\ actual", self.matrix, self.possible_verdicts)
        if not self.disagreements:
            return
        listed = self.disagreements[:_MAX_LISTED_RESTAURANTS]
        more = f", the first {len(listed)} of {len(self.disagreements):,}" if listed != self.disagreements else ""
        yield Heading(f"Restaurants with other outputs{more}", 3)
        rows = []
        for entry in listed:
            for name, values in entry.outputs.items():
                cells = (entry.business_id, name, format_plain(values["expected"]), format_plain(values["actual"]))
                rows.append((*map(InlineCode, cells), entry.note))
        yield Table(("restaurant", "output", "expected", "actual", "note"), rows)
        yield Heading("Why", 3)
        yield Items([ListItem((InlineCode(entry.business_id), f": {entry.reason}")) for entry in listed])


@validate_arguments
def expect(
    seed: SeedLike | FormulaSeed,
    rows: Lines,
    expected: Lines,
    *,
    parameters: Mapping[str, Value] | None = None,
    duplicates: Duplicates = "fail",
) -> ExpectedOutputs:
    """Compare the outputs of restaurants with the expected ones; restaurants without expected outputs are not evaluated.

    `rows` and `expected` are paths to JSON Lines, the objects that they would hold, or data frames. An object of `expected`
    has a `business_id`, an `output` with values by name, and optionally a `note`. With `duplicates="first"` the first of a
    restaurant's rows with the same `review_id` counts; otherwise the restaurant fails. Restaurants that fail are in the
    result's `failures`. Raises `SeedError` for a seed with errors, and `DataError` for a file that cannot be opened, a wrong
    parameter, an unknown output, a value that it cannot have, and an expected restaurant that has two lines or no rows.
    """
    loaded = load_seed(seed)
    expectations = read_expectations(open_lines(expected, "expected"), loaded.program)
    evaluator = compile_evaluator(loaded)
    evaluator.parse_parameters(parameters or {})  # raises for a wrong parameter, once, not for each restaurant
    verdict = choose_verdict(loaded.program)
    verdict_name = verdict.name if verdict is not None else ""
    build_explainer = cache(partial(Explainer, loaded.program, evaluator))
    agreeing = 0
    disagreements: list[Disagreement] = []
    failed: list[str] = []
    matrix: Counter[Verdicts] = Counter()
    failures = Failures()
    used_ids = {*expectations, ""}  # a line without an id cannot be read, and is a failure
    lines = (line for line in require_lines(open_lines(rows, "rows"), expectations) if line.business_id in used_ids)
    for restaurant in read_rows(evaluator, lines, failures, parameters, duplicates):
        place, business_id, context, row_list, _, _, error = restaurant
        failures.note_restaurant(place, business_id)
        expectation = expectations[business_id]
        actual: Outputs = None
        if error is None:
            try:
                actual = evaluator.evaluate(row_list, context, parameters)
            except (EvaluationError, DataError) as fault:
                add_failure(failures, restaurant, fault)
        if verdict_name in expectation.outputs:
            matrix[format_verdict(expectation.outputs, verdict_name), format_verdict(actual, verdict_name)] += 1
        unmet = expectation.find_unmet(actual)
        if actual is None:
            failed.append(business_id)
        elif not unmet:
            agreeing += 1
        else:
            explainer = build_explainer(verdict_name if verdict_name in unmet else unmet[0])
            reason = explainer.explain(business_id, row_list, context, parameters, {}).because[0]
            outputs = {name: {"expected": expectation.outputs[name], "actual": actual[name]} for name in unmet}
            disagreements.append(Disagreement(business_id, outputs, expectation.note, reason, expectation.place))
    possible_verdicts = tuple(map(format_plain, list_verdicts(verdict))) if verdict is not None else ()
    name = loaded.document.source.name
    return ExpectedOutputs(name, agreeing, (*disagreements,), (*failed,), dict(matrix), possible_verdicts, failures)


# --- expectations


@dataclass(frozen=True, slots=True)
class Expectation:
    """The outputs that a restaurant is expected to have, a note on them, and the place of their line."""

    outputs: Mapping[str, Value]
    note: str
    place: str

    def find_unmet(self, values: Outputs) -> list[str]:
        """Return the names of the outputs that do not have the expected value in `values`: all of them if it is None."""
        actual = values or {}
        return [
            name for name, expected in self.outputs.items() if name not in actual or not _agrees(expected, actual[name])
        ]

    def find_broken(self, before: Outputs, after: Outputs) -> list[str]:
        """Return the names of the outputs that have the expected value in `before`, but not in `after`."""
        unmet_before = self.find_unmet(before)
        return [name for name in self.find_unmet(after) if name not in unmet_before]


Expectations = Mapping[str, Expectation]
"""The expectations by restaurant."""


def _agrees(expected: Value, actual: Value) -> bool:
    """Return whether two values are the same; a float needs to agree in the digits that reports print."""
    if is_number(expected) and is_number(actual) and float in (type(expected), type(actual)):
        return format_value(float(expected)) == format_value(float(actual))
    return type(expected) is type(actual) and expected == actual


def read_expectations(lines: Iterable[InputLine] | None, program: nodes.Program) -> Expectations:
    """Return the expectations in some lines; none if `lines` is None.

    Raises `DataError` if there is no line, and for the first line that is invalid, has the restaurant of an earlier line, an
    unknown output of the program, or a value that the output cannot have.
    """
    expectations: dict[str, Expectation] = {}
    if lines is None:
        return expectations
    for line, record in parse_lines([*lines], ExpectedLine.read):  # read to the end, which closes the file
        if isinstance(record, DataError):
            raise record.at(line.place)
        name = record.business_id
        if name in expectations:
            message = f"`business_id` {name!r:.80} is also in {expectations[name].place}; remove one of the lines"
            raise DataError(message, line.place)
        for output, value in record.output.items():
            _check_output(program, output, value, line.place)
        expectations[name] = Expectation(record.output, record.note, line.place)
    if not expectations:
        raise DataError('no output is expected; write lines such as {"business_id": …, "output": {NAME: VALUE}}')
    return expectations


def _check_output(program: nodes.Program, name: str, value: Any, place: str) -> None:
    """Raise `DataError` if the program has no output `name`, or if it cannot have the value. `place` is that of the line."""
    field = f"output.{name[:80]}"
    if name not in program.output:
        help = did_you_mean(name, program.output, noun="outputs", limit=len(program.output))
        raise DataError(f"`{field}` is no output of the seed; {help}", place)
    step = next(step for step in program.steps if step.name == name)
    values = step.ty.values
    if isinstance(value, str) and values is not None and value not in values:
        help = did_you_mean(value, values, noun="values", limit=len(values))
        raise DataError(f"`{field}` cannot be {value!r:.80}; {help}", place)
    try:
        read_value(value, step.ty, field)
    except DataError as fault:
        raise fault.at(place) from None
    if step.range is not None and is_number(value):
        nearest = min(max(value, step.range.low), step.range.high)
        if not _agrees(float(value), float(nearest)):
            bound = "largest" if value > nearest else "smallest"
            raise DataError(f"`{field}` cannot be {value!r:.80}; its {bound} value is {format_value(nearest)}", place)


def require_lines(lines: Iterable[InputLine], expectations: Expectations) -> Iterator[InputLine]:
    """Yield all lines of rows. Raises `DataError` after the last one if an expected restaurant has no line."""
    ids: dict[str, None] = {}
    unreadable = ""
    for line in lines:
        if expectations:
            ids[line.business_id] = None
            unreadable = unreadable or (f"; {line.place} cannot be read" if not line.business_id else "")
        yield line
    for name, expectation in expectations.items():
        if name not in ids:
            help = did_you_mean(name, filter(None, ids), noun="restaurants", limit=_MAX_SUGGESTED_RESTAURANTS)
            raise DataError(f"`business_id` {name!r:.80} has no rows; {help}{unreadable}", expectation.place)
