"""Ranks the numbers of a policy: moves each constant and parameter a little, one at a time, and counts the verdicts that flip.

In: a seed, and lines of rows. Out: `Sensitivity`, ranked. Each variant is checked and compiled as any seed is; an invalid one
is skipped, with the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from formulaseed.compare.constants import Constant, find_constants, is_year_parameter, move_number
from formulaseed.compare.definitions import format_name
from formulaseed.compare.expect import Outputs, read_expectations, require_lines
from formulaseed.compare.outcomes import Variant
from formulaseed.compare.pairing import Verdicts, compute_change, format_verdict, is_same, rank_numeric_outputs
from formulaseed.data.arguments import validate_arguments
from formulaseed.data.duplicates import Duplicates
from formulaseed.data.jsonl import InputLine, Lines, open_lines
from formulaseed.data.results import Failures
from formulaseed.documents import FormulaSeed, SeedLike, analyse_text, load_seed
from formulaseed.errors import DataError, SeedError
from formulaseed.explanation.verdict import choose_verdict
from formulaseed.ir.labels import map_labels
from formulaseed.language.types import Value
from formulaseed.pages.blocks import Block, Heading, InlineCode, Table, sentence
from formulaseed.pages.document import RenderedDocument
from formulaseed.pages.values import format_change, is_number
from formulaseed.pipeline import compile, require_valid
from formulaseed.runtime.evaluator import GeneratedModule
from formulaseed.runtime.loading import compile_evaluator, module_from_source
from formulaseed.runtime.running import usable_rows
from formulaseed.source.printing import number_of
from formulaseed.source.text import shorten

_MAX_RANKED = 40
_SKIPPED_COLUMNS = ("variant", "reason", "place")


@dataclass(frozen=True, slots=True)
class MovedNumber:
    """A number of the policy, moved `down` and `up`; a direction is None if its variant was skipped, or not evaluated yet.

    For a constant, `step` is the step that contains it, and `enclosing_text` the formula, condition, rule or key around it.
    For a parameter, `step` is empty, and `enclosing_text` is `param.NAME`.
    """

    value: int | float
    step: str
    enclosing_text: str
    place: str
    down: Variant | None = None
    up: Variant | None = None

    @property
    def variants(self) -> list[Variant]:
        """The variants that were not skipped, down before up."""
        return [variant for variant in (self.down, self.up) if variant is not None]

    @property
    def flip_count(self) -> int:
        """The number of verdicts that flip, of both directions together."""
        return sum(variant.flip_count for variant in self.variants)

    @property
    def failure_count(self) -> int:
        """The number of restaurants that start or stop failing, of both directions together."""
        return sum(variant.failure_count for variant in self.variants)

    @property
    def broken(self) -> set[str]:
        """The restaurants for which either direction breaks an expectation."""
        return {name for variant in self.variants for name in variant.broken}

    @property
    def has_effect(self) -> bool:
        """True if a verdict, a numeric output or an expected output of a restaurant changes with the number."""
        return any(variant.flips or variant.changes or variant.broken for variant in self.variants)

    def find_largest_change(self, output: str) -> float:
        """Return the largest change of the numeric output `output` with its sign, or 0.0 if the output does not move."""
        changes = (variant.changes[output][0] for variant in self.variants if output in variant.changes)
        return max(changes, key=abs, default=0.0)

    def to_json(self) -> dict[str, Any]:
        """Return the number as a JSON object of `--format json`, as docs/analysis.md describes it."""
        return {
            "value": self.value,
            "step": self.step,
            "inside": self.enclosing_text,
            "place": self.place,
            "flipped": self.flip_count,
            "down": self.down and self.down.to_json(),
            "up": self.up and self.up.to_json(),
        }


@dataclass(frozen=True)
class Sensitivity(RenderedDocument):
    """The numbers of a policy, each moved by `by` percent, those that flip most verdicts first.

    `skipped` has the variants that were not evaluated, each as its number and text, the reason, and the place.
    """

    seed: str
    by: float
    verdict: str | None
    score: str | None
    labels: Mapping[str, str]
    """The labels of steps."""
    restaurants: int
    expected: int
    """The number of restaurants with expected outputs."""
    numbers: tuple[MovedNumber, ...]
    skipped: tuple[tuple[str, str, str], ...]
    failures: Failures

    @property
    def title(self) -> str:
        """The title of the page."""
        return f"Sensitivity of {self.seed}"

    @cached_property
    def json(self) -> dict[str, Any]:
        """The ranking as JSON values; docs/analysis.md describes them."""
        return {
            "seed": self.seed,
            "by": self.by,
            "verdict": self.verdict,
            "score": self.score,
            "restaurants": self.restaurants,
            "expected": self.expected,
            "constants": [number.to_json() for number in self.numbers],
            "skipped": [dict(zip(_SKIPPED_COLUMNS, variant, strict=True)) for variant in self.skipped],
            "failures": self.failures.lines,
        }

    def __repr__(self) -> str:
        return shorten(f"Sensitivity({self.seed!r}, {len(self.numbers)} numbers moved by {self.by:g}%)")

    def _blocks(self) -> Iterator[Block]:
        """Yield the summary, a table of the first `_MAX_RANKED` numbers with an effect, and the skipped variants."""
        effective = [number for number in self.numbers if number.has_effect]
        moved = f"{number_of(len(self.numbers), 'number')} moved by {self.by:.3g}%"
        rest = f"{len(self.numbers) - len(effective)} change nothing"
        if self.expected:
            breaking = sum(bool(number.broken) for number in effective)
            rest = f"{breaking} break an expectation for {number_of(self.expected, 'restaurant')}, {rest}"
        lead = (InlineCode(self.seed), f": {moved} over {number_of(self.restaurants, 'restaurant')}; ")
        if self.verdict is None:
            yield sentence(*lead, f"{rest}; no output is a verdict.")
        else:
            flipping = sum(number.flip_count > 0 for number in effective)
            yield sentence(*lead, f"{flipping} flip ", format_name(self.verdict, self.labels), f", {rest}.")
        if effective:
            more = f", the first {_MAX_RANKED} of {len(effective)}" if len(effective) > _MAX_RANKED else ""
            yield Heading(f"Ranked{more}", 3)
            yield self._build_table(effective[:_MAX_RANKED])
        if self.skipped:
            yield Heading(f"{number_of(len(self.skipped), 'variant')} skipped", 3)
            yield Table(_SKIPPED_COLUMNS, [tuple(map(InlineCode, variant)) for variant in self.skipped])

    def _build_table(self, numbers: Iterable[MovedNumber]) -> Table:
        """Return the table of `numbers` with their variants; it counts failures only if any number of the policy has some."""
        has_failures = any(number.failure_count for number in self.numbers)
        columns = ["number", "step", "in", "down to", "flips", "up to", "flips"]
        if self.expected:
            columns.append("breaks")
        if has_failures:
            columns.append("fail")
        if self.score is not None:
            columns.append(format_name(self.score, self.labels, " moves by"))
        rows = []
        for number in numbers:
            row = [repr(number.value), format_name(number.step, self.labels), InlineCode(number.enclosing_text)]
            for variant in (number.down, number.up):
                row += ["-", "-"] if variant is None else [repr(variant.value), f"{variant.flip_count:,}"]
            if self.expected:
                row.append(f"{len(number.broken):,}")
            if has_failures:
                row.append(f"{number.failure_count:,}")
            if self.score is not None:
                row.append(format_change(number.find_largest_change(self.score)))
            rows.append([*row, InlineCode(number.place)])
        return Table([*columns, "place"], rows)


@validate_arguments
def sensitivity(
    seed: SeedLike | FormulaSeed,
    rows: Lines,
    *,
    by: float = 10.0,
    output: str | None = None,
    parameters: Mapping[str, Value] | None = None,
    duplicates: Duplicates = "fail",
    expected: Lines | None = None,
) -> Sensitivity:
    """Move each numeric constant of the steps and each numeric parameter by `by` percent, down and up, one at a time.

    Integers move by 1 at least, years that the years of reviews are compared with by 1. `rows` is a path to JSON Lines, the
    objects that they would hold, or a data frame; `extract` makes them of contexts. `output` is the verdict or the number to
    look at. With `duplicates="first"` the first of a restaurant's rows with the same `review_id` counts; otherwise the
    restaurant fails. Restaurants that fail are in the result's `failures`. `expected` are lines as `expect` takes them: numbers
    that break an expectation are marked. Raises `SeedError` for a seed with errors, and `DataError` for a file that cannot be
    opened, an unknown output, a wrong parameter, an invalid line of `expected`, and if no restaurant can be read.
    """
    failures = Failures()
    expected_lines = open_lines(expected, "expected") if expected is not None else None
    seed = load_seed(seed)
    baseline = Baseline(seed, open_lines(rows, "rows"), parameters, failures, expected_lines, output, duplicates)
    failures.require_restaurants(len(baseline.restaurants))
    return baseline.rank_numbers(by)


_MovableNumber = tuple[MovedNumber, bool, Callable[[int | float], Variant]]
"""A number that has not been moved, whether it is a year, and a function that evaluates all restaurants with another one.

The function raises `SeedError` if the number makes the seed invalid, `DataError` if it is out of a parameter's bounds.
"""


@dataclass(frozen=True, slots=True)
class _BaselineRestaurant:
    """A restaurant with rows and context as a module's `evaluate` takes them, and its outputs with the original seed."""

    business_id: str
    rows: Any
    context: Any
    outputs: Outputs


class Baseline:
    """The restaurants, read once, with their outputs from the original seed; variants are compared with these.

    The modules of all variants take the same rows: the fields that a seed uses do not depend on its numbers. The constructor
    adds the restaurants and lines that cannot be read to `failures`. `expected` are lines of expected outputs, None to expect
    nothing. The constructor raises `DataError` for an unknown output, a wrong parameter and an invalid expectation.
    """

    def __init__(
        self,
        seed: FormulaSeed,
        lines: Iterable[InputLine],
        parameters: Mapping[str, Value] | None,
        failures: Failures,
        expected: Iterable[InputLine] | None,
        output: str | None,
        duplicates: Duplicates,
    ) -> None:
        self.seed = seed
        self.failures = failures
        self.expectations = read_expectations(expected, seed.program)
        verdict = choose_verdict(seed.program, output)
        self.evaluator = compile_evaluator(seed)
        self.parameters = parameters or {}
        self.arguments = (self.evaluator.parse_parameters(parameters),) if parameters else ()
        self.verdict = verdict.name if verdict is not None else None
        self.numeric_outputs = rank_numeric_outputs(seed.program, seed.program.output, verdict, output)
        module = self.evaluator.module
        self.restaurants: list[_BaselineRestaurant] = []
        lines = require_lines(lines, self.expectations)
        for restaurant in usable_rows(self.evaluator, lines, failures, parameters or None, duplicates):
            rows = self.evaluator.parse_rows(restaurant.rows)
            context = module.parse_context(restaurant.context)
            outputs = _evaluate_outputs(module, self.arguments, rows, context)
            self.restaurants.append(_BaselineRestaurant(restaurant.business_id, rows, context, outputs))

    def evaluate(self, value: int | float, module: GeneratedModule, arguments: tuple[Any, ...]) -> Variant:
        """Evaluate all restaurants with `module` and `arguments`; return the differences as the variant of `value`."""
        flips: Counter[Verdicts] = Counter()
        changes: dict[str, tuple[float, str]] = {}
        broken: list[str] = []
        for restaurant in self.restaurants:
            before = restaurant.outputs
            after = _evaluate_outputs(module, arguments, restaurant.rows, restaurant.context)
            verdicts = format_verdict(before, self.verdict), format_verdict(after, self.verdict)
            if verdicts[0] != verdicts[1]:
                flips[verdicts] += 1
            expectation = self.expectations.get(restaurant.business_id)
            if expectation is not None and expectation.find_broken(before, after):
                broken.append(restaurant.business_id)
            if before is None or after is None:
                continue
            for name in self.numeric_outputs:
                change = compute_change(before[name], after[name])
                largest, _ = changes.get(name, (0.0, ""))
                if change is not None and abs(change) > abs(largest) and not is_same(before[name], after[name]):
                    changes[name] = change, restaurant.business_id
        return Variant(value, dict(flips), changes, tuple(broken))

    def rank_numbers(self, by: float, advance: Callable[[int, str], None] = lambda total, place: None) -> Sensitivity:
        """Move each number of the seed by `by` percent, down and up, and rank the numbers by the verdicts that flip.

        `advance` is called before each variant with the number of all variants, and the place of this one.
        """
        movable_numbers = [*self._find_movable_constants(), *self._find_movable_parameters()]
        numbers: list[MovedNumber] = []
        skipped: dict[tuple[str, str, str], None] = {}
        for number, is_year, evaluate in movable_numbers:
            variants: list[Variant | None] = [None, None]
            for side, share in enumerate((-by / 100, by / 100)):
                advance(2 * len(movable_numbers), number.place)
                value = move_number(number.value, share, is_year=is_year)
                try:
                    if value == number.value:
                        raise DataError(f"{by:.3g}% of {value!r} is nothing")
                    variants[side] = evaluate(value)
                except (SeedError, DataError) as error:
                    reason = error.diagnostics[0].message if isinstance(error, SeedError) else str(error)
                    skipped[f"{value!r} in {number.enclosing_text}", reason, number.place] = None
            numbers.append(replace(number, down=variants[0], up=variants[1]))
        score = next(iter(self.numeric_outputs), None)
        numbers.sort(key=lambda number: (-number.flip_count, -abs(number.find_largest_change(score or ""))))
        return Sensitivity(
            seed=self.seed.document.source.name,
            by=by,
            verdict=self.verdict,
            score=score,
            labels=map_labels(self.seed.program),
            restaurants=len(self.restaurants),
            expected=len(self.expectations),
            numbers=tuple(numbers),
            skipped=tuple(skipped),
            failures=self.failures,
        )

    def _find_movable_constants(self) -> Iterator[_MovableNumber]:
        """Yield the numeric constants of the steps."""
        for constant in find_constants(self.seed):
            number = MovedNumber(constant.value, constant.step, constant.enclosing_text, constant.span.place)
            yield number, constant.is_year, partial(self._evaluate_constant, constant)

    def _evaluate_constant(self, constant: Constant, value: int | float) -> Variant:
        """Compile the seed with `value` in place of a constant, and evaluate all restaurants with it."""
        variant = require_valid(analyse_text(constant.replace_with(value)))
        module = module_from_source(compile(variant, formatted=False), self.seed.task_name)
        return self.evaluate(value, module, self.arguments)

    def _find_movable_parameters(self) -> Iterator[_MovableNumber]:
        """Yield the parameters whose value is a number: the value that the caller set, or else the default."""
        place = f"{self.seed.document.source.name}: parameters"
        for parameter in self.seed.program.parameters:
            value = self.parameters.get(parameter.name, parameter.default)
            if is_number(value):
                number = MovedNumber(value, "", f"param.{parameter.name}", place)
                is_year = is_year_parameter(self.seed.program, parameter)
                yield number, is_year, partial(self._evaluate_parameter, parameter.name)

    def _evaluate_parameter(self, name: str, value: int | float) -> Variant:
        """Evaluate all restaurants with another value of a parameter."""
        arguments = self.evaluator.parse_parameters({**self.parameters, name: value})
        return self.evaluate(value, self.evaluator.module, (arguments,))


def _evaluate_outputs(module: GeneratedModule, arguments: tuple[Any, ...], rows: Any, context: Any) -> Outputs:
    """Return a restaurant's outputs by name, or None if its evaluation fails."""
    try:
        return dict(zip(module.OUTPUT, module.evaluate(rows, context, *arguments), strict=True))
    except module.EvaluationError:
        return None
