"""Compares the outputs of restaurants with the expected ones: who differs, why, and how verdicts are confused.

In: a seed, lines of rows, and lines of expected outputs. Out: `ExpectedOutputs`, as data, text, Markdown and HTML. A
restaurant that fails is counted, and named in `failures`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

from formulaseed.compare.expected import Expectation, Expectations, Outputs, read_expectations, require_lines
from formulaseed.compare.pairing import Verdicts, build_matrix_table, format_verdict
from formulaseed.data.arguments import validate_arguments
from formulaseed.data.duplicates import Duplicates
from formulaseed.data.jsonl import InputLine, Lines, open_lines
from formulaseed.data.results import MAX_VERDICTS, WRONG, Failures
from formulaseed.documents import FormulaSeed, SeedLike, load_seed
from formulaseed.errors import DataError, EvaluationError
from formulaseed.explanation.explainer import Explainer
from formulaseed.explanation.verdict import choose_verdict, list_verdicts
from formulaseed.language.types import Value
from formulaseed.pages.blocks import Block, Heading, InlineCode, Items, ListItem, Table, sentence
from formulaseed.pages.document import RenderedDocument
from formulaseed.pages.values import format_plain, format_value
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.extracting import ExtractedRestaurant
from formulaseed.runtime.loading import compile_evaluator
from formulaseed.runtime.running import add_failure, read_rows
from formulaseed.source.printing import number_of, printable
from formulaseed.source.text import shorten

_MAX_LISTED_RESTAURANTS = 20


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A restaurant without the expected outputs.

    `outputs` maps each output that differs to the expected and the actual value. `reason` says why the verdict, or else the
    first of these outputs, has its value.
    """

    expectation: Expectation
    outputs: Mapping[str, tuple[Value, Value]]
    reason: str

    @property
    def text(self) -> str:
        """A line for each output, with the note, and one for the reason; characters that control a terminal are escaped."""
        note = f" ({self.expectation.note})" if self.expectation.note else ""
        lines = [
            f"{name}: expected {format_value(expected)}, not {format_value(actual)}{note}"
            for name, (expected, actual) in self.outputs.items()
        ]
        return "\n".join(map(printable, (*lines, self.reason)))

    def to_json(self) -> dict[str, Any]:
        """Return the disagreement as a JSON object of `--format json`, as docs/analysis.md describes it."""
        return {
            "business_id": self.expectation.business_id,
            "outputs": {name: {"expected": pair[0], "actual": pair[1]} for name, pair in self.outputs.items()},
            "note": self.expectation.note,
            "reason": self.reason,
            "place": self.expectation.place,
        }


@dataclass(frozen=True)
class ExpectedOutputs(RenderedDocument):
    """The outputs of restaurants, compared with the expected ones.

    `agreeing` counts the restaurants with all expected outputs. `matrix` counts those whose verdict is expected by the
    expected verdict and the actual one, None if the restaurant fails. `failed` has the restaurants that could not be evaluated,
    and `failures` says why.
    """

    seed: str
    verdict: str | None
    restaurants: int
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
    def status(self) -> int:
        """The exit status: 1 if a restaurant differs, else 3 if a restaurant or a line failed, else 0."""
        return WRONG if self.disagreements else self.failures.status

    @cached_property
    def json(self) -> dict[str, Any]:
        """The comparison as JSON values; docs/analysis.md describes them."""
        matrix = [{"expected": old, "actual": new, "restaurants": count} for (old, new), count in self.matrix.items()]
        return {
            "seed": self.seed,
            "restaurants": self.restaurants,
            "agreeing": self.agreeing,
            "failed": list(self.failed),
            "verdict": self.verdict,
            "matrix": matrix,
            "differing": [disagreement.to_json() for disagreement in self.disagreements],
            "failures": self.failures.lines,
        }

    def __repr__(self) -> str:
        return shorten(f"ExpectedOutputs({self.seed!r}, {self.agreeing} of {self.restaurants} agree)")

    def _blocks(self) -> Iterator[Block]:
        """Yield the numbers of restaurants, the matrix of a verdict with few values, who differs, and why."""
        total = number_of(self.restaurants, "restaurant")
        counts = f": {self.agreeing:,} of {total} have the expected outputs, {len(self.disagreements):,} differ"
        yield sentence(InlineCode(self.seed), counts, f", {len(self.failed):,} failed." if self.failed else ".")
        if self.matrix and len({verdict for pair in self.matrix for verdict in pair}) <= MAX_VERDICTS:
            yield build_matrix_table("expected \\ actual", self.matrix, self.possible_verdicts)
        if self.disagreements:
            yield from self._build_disagreements(self.disagreements[:_MAX_LISTED_RESTAURANTS])

    def _build_disagreements(self, disagreements: tuple[Disagreement, ...]) -> Iterator[Block]:
        """Yield a table of `disagreements`, which are all or the first ones, and the list of their reasons."""
        rest = len(self.disagreements) - len(disagreements)
        more = f", the first {len(disagreements)} of {len(self.disagreements):,}" if rest else ""
        yield Heading(f"Restaurants with other outputs{more}", 3)
        rows = []
        for disagreement in disagreements:
            expectation = disagreement.expectation
            for name, values in disagreement.outputs.items():
                cells = (expectation.business_id, name, *map(format_plain, values))
                rows.append((*map(InlineCode, cells), expectation.note))
        yield Table(("restaurant", "output", "expected", "actual", "note"), rows)
        yield Heading("Why", 3)
        yield Items([ListItem((InlineCode(d.expectation.business_id), f": {d.reason}")) for d in disagreements])


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
    expectations = read_expectations(open_lines(expected, "expected"), [loaded.program])
    return compare_with_expected(
        loaded,
        open_lines(rows, "rows"),
        expectations,
        parameters=parameters,
        failures=Failures(),
        duplicates=duplicates,
    )


def compare_with_expected(
    seed: FormulaSeed,
    lines: Iterable[InputLine],
    expectations: Expectations,
    *,
    parameters: Mapping[str, Value] | None,
    failures: Failures,
    duplicates: Duplicates,
) -> ExpectedOutputs:
    """Compare the outputs of a loaded seed as `expect` does, and add the restaurants and lines that fail to `failures`.

    Raises `DataError` for a wrong parameter, and for an expected restaurant without rows.
    """
    evaluator = compile_evaluator(seed)
    evaluator.parse_parameters(parameters or {})  # raises for a wrong parameter, once, not for each restaurant
    verdict = choose_verdict(seed.program)
    verdict_name = verdict.name if verdict is not None else None
    build_explainer = cache(partial(Explainer, seed.program, evaluator))
    agreeing = 0
    failed: list[str] = []
    disagreements: list[Disagreement] = []
    matrix: Counter[Verdicts] = Counter()
    used_ids = {*expectations, ""}  # a line without an id cannot be read, and is a failure
    used_lines = (line for line in require_lines(lines, expectations) if line.business_id in used_ids)
    for restaurant in read_rows(evaluator, used_lines, failures, parameters, duplicates):
        failures.note_restaurant(restaurant.place, restaurant.business_id)
        expectation = expectations[restaurant.business_id]
        actual = _evaluate_outputs(evaluator, restaurant, parameters, failures)
        if verdict_name in expectation.outputs:
            matrix[format_verdict(expectation.outputs, verdict_name), format_verdict(actual, verdict_name)] += 1
        if actual is None:
            failed.append(restaurant.business_id)
            continue
        unmet = expectation.find_unmet(actual)
        if not unmet:
            agreeing += 1
            continue
        outputs = {name: (expectation.outputs[name], actual[name]) for name in unmet}
        explainer = build_explainer(verdict_name if verdict_name in unmet else unmet[0])
        reason = _find_reason(explainer, restaurant, parameters)
        disagreements.append(Disagreement(expectation, outputs, reason))
    return ExpectedOutputs(
        seed=seed.document.source.name,
        verdict=verdict_name,
        restaurants=agreeing + len(disagreements) + len(failed),
        agreeing=agreeing,
        disagreements=tuple(disagreements),
        failed=tuple(failed),
        matrix=dict(matrix),
        possible_verdicts=tuple(map(format_plain, list_verdicts(verdict))) if verdict is not None else (),
        failures=failures,
    )


def _evaluate_outputs(
    evaluator: Evaluator, restaurant: ExtractedRestaurant, parameters: Mapping[str, Value] | None, failures: Failures
) -> Outputs:
    """Return a restaurant's outputs, or None if it fails; an error of the evaluation is added to `failures`."""
    if restaurant.error is not None:  # the line is in `failures` already
        return None
    try:
        return evaluator.evaluate(restaurant.rows, restaurant.context, parameters)
    except (EvaluationError, DataError) as fault:
        add_failure(failures, restaurant, fault)
        return None


def _find_reason(explainer: Explainer, restaurant: ExtractedRestaurant, parameters: Mapping[str, Value] | None) -> str:
    """Return the first sentence of the explanation of a restaurant that can be evaluated."""
    run = restaurant.run.to_json()
    explanation = explainer.explain(restaurant.business_id, restaurant.rows, restaurant.context, parameters, run)
    return explanation.because[0]
