"""Ranks the numbers of a policy: each constant and parameter is moved a little, one at a time, and the verdicts that flip count.

In: a seed, and lines of rows. Out: `Sensitivity`, ranked. Each variant is checked and compiled as any seed is; an invalid one
is skipped, with the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from formulaseed.compare.constants import constants_of, move_number, reads_year
from formulaseed.compare.pairing import difference_of, is_same, numbers_of
from formulaseed.data.arguments import validate_arguments
from formulaseed.data.duplicates import Duplicates
from formulaseed.data.jsonl import InputLine, Lines, open_lines
from formulaseed.data.results import Failures
from formulaseed.documents import FormulaSeed, SeedLike, analyse_text, load_seed
from formulaseed.errors import DataError, SeedError
from formulaseed.explanation.verdict import verdict_of
from formulaseed.ir import nodes
from formulaseed.language.types import Value
from formulaseed.pages.blocks import Block, Code, Heading, Table, sentence
from formulaseed.pages.document import Document
from formulaseed.pages.values import format_change, format_plain, is_number
from formulaseed.pipeline import checked, compile
from formulaseed.runtime.evaluator import GeneratedModule
from formulaseed.runtime.loading import compile_evaluator, module_from_source
from formulaseed.runtime.running import usable_rows
from formulaseed.source.printing import number_of
from formulaseed.source.text import Source, shortened

_MAX_RANKED = 40
_SKIPPED_COLUMNS = ("variant", "reason", "place")
_NO_VERDICT = "evaluated"
_Outputs = dict[str, Value] | None
"""The outputs of a restaurant by name; None if it fails."""


@dataclass(frozen=True, slots=True)
class Variant:
    """The effect of another number. `flips` counts restaurants by their verdict before and after, None if one fails.

    `changes` has for each numeric output that moves the largest change and the restaurant that it is of.
    """

    value: int | float
    flips: Mapping[tuple[str | None, str | None], int]
    changes: Mapping[str, tuple[float, str]]

    @property
    def flipped(self) -> int:
        """How many restaurants have another verdict."""
        return sum(count for pair, count in self.flips.items() if None not in pair)

    @property
    def failing(self) -> int:
        """How many restaurants fail now, or do not any more: a guard that does not guard."""
        return sum(count for pair, count in self.flips.items() if None in pair)

    def to_json(self) -> dict[str, Any]:
        """Return it as `--format json` has it."""
        return {
            "value": self.value,
            "flipped": self.flipped,
            "failing": self.failing,
            "flips": [{"old": old, "new": new, "restaurants": count} for (old, new), count in self.flips.items()],
            "changes": {name: {"change": change, "business_id": who} for name, (change, who) in self.changes.items()},
        }


@dataclass(frozen=True, slots=True)
class Moved:
    """A number of the policy, moved down and up; a variant is None if it was skipped.

    `step` is the one in which a constant is written, empty for a parameter; `inside` is what it is a part of, or the
    parameter.
    """

    value: int | float
    step: str
    inside: str
    place: str
    down: Variant | None
    up: Variant | None

    @property
    def variants(self) -> list[Variant]:
        return [variant for variant in (self.down, self.up) if variant is not None]

    @property
    def flipped(self) -> int:
        """How many verdicts flip, in both directions together."""
        return sum(variant.flipped for variant in self.variants)

    @property
    def failing(self) -> int:
        """How many restaurants fail, in both directions together."""
        return sum(variant.failing for variant in self.variants)

    @property
    def is_without_effect(self) -> bool:
        """Whether neither a verdict nor a numeric output of any restaurant depends on it."""
        return not any(variant.flips or variant.changes for variant in self.variants)

    def largest(self, output: str) -> float:
        """Return the largest change of an output, with its sign; 0 if there is none."""
        changes = (variant.changes[output][0] for variant in self.variants if output in variant.changes)
        return max(changes, key=abs, default=0.0)

    def to_json(self) -> dict[str, Any]:
        """Return it as `--format json` has it."""
        return {
            "value": self.value,
            "step": self.step,
            "inside": self.inside,
            "place": self.place,
            "flipped": self.flipped,
            "down": self.down and self.down.to_json(),
            "up": self.up and self.up.to_json(),
        }


@dataclass(frozen=True)
class Sensitivity(Document):
    """All numbers, the one that flips most verdicts first.

    `skipped` has the variants that were not tried, each with the reason and the place.
    """

    seed: str
    by: float
    verdict: str | None
    score: str | None
    restaurants: int
    moved: tuple[Moved, ...]
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
            "constants": [moved.to_json() for moved in self.moved],
            "skipped": [dict(zip(_SKIPPED_COLUMNS, variant, strict=True)) for variant in self.skipped],
            "failures": self.failures.lines,
        }

    def __repr__(self) -> str:
        return shortened(f"Sensitivity({self.seed!r}, {len(self.moved)} numbers moved by {self.by:g}%)")

    def _blocks(self) -> Iterator[Block]:
        effective = [moved for moved in self.moved if not moved.is_without_effect]
        numbers, restaurants = number_of(len(self.moved), "number"), number_of(self.restaurants, "restaurant")
        rest = f"{len(self.moved) - len(effective)} change nothing"
        lead = (Code(self.seed), f": {numbers} moved by {self.by:.3g}% over {restaurants}; ")
        if self.verdict is None:
            yield sentence(*lead, f"{rest}; no output is a verdict.")
        else:
            flipping = sum(moved.flipped > 0 for moved in effective)
            yield sentence(*lead, f"{flipping} flip ", Code(self.verdict), f", {rest}.")
        if effective:
            more = f", the first {_MAX_RANKED} of {len(effective)}" if len(effective) > _MAX_RANKED else ""
            yield Heading(f"Ranked{more}", 3)
            yield self._table(effective[:_MAX_RANKED])
        if self.skipped:
            yield Heading(f"{number_of(len(self.skipped), 'variant')} skipped", 3)
            yield Table(_SKIPPED_COLUMNS, [tuple(map(Code, variant)) for variant in self.skipped])

    def _table(self, ranked: Iterable[Moved]) -> Table:
        """Return the numbers with what their variants do; failing restaurants only if there are some."""
        has_failing = any(moved.failing for moved in self.moved)
        columns = ["number", "step", "in", "down to", "flips", "up to", "flips"]
        if has_failing:
            columns.append("fail")
        if self.score is not None:
            columns.append(Code(f"{self.score} moves by"))
        rows = []
        for moved in ranked:
            row = [repr(moved.value), Code(moved.step), Code(moved.inside)]
            for variant in (moved.down, moved.up):
                row += ["-", "-"] if variant is None else [repr(variant.value), f"{variant.flipped:,}"]
            if has_failing:
                row.append(f"{moved.failing:,}")
            if self.score is not None:
                row.append(format_change(moved.largest(self.score)))
            rows.append([*row, Code(moved.place)])
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
) -> Sensitivity:
    """Move each numeric constant of the steps and each numeric parameter by `by` percent, down and up, one at a time.

    Integers move by 1 at least, years that the years of reviews are compared with by 1. `rows` is a path to JSON Lines, the
    objects that they would hold, or a data frame; `extract` makes them of contexts. `output` is the verdict or the number to
    look at. With `duplicates="first"` the first of a restaurant's rows with the same `review_id` counts; otherwise the
    restaurant fails. Restaurants that fail are in the result's `failures`. Raises `SeedError` for a seed with errors, and
    `DataError` for a file that cannot be opened, an unknown output, a wrong parameter, and if no restaurant can be read.
    """
    failures = Failures()
    ranking = rank_numbers(
        load_seed(seed),
        open_lines(rows, "rows"),
        by=by,
        output=output,
        parameters=parameters,
        failures=failures,
        duplicates=duplicates,
    )
    failures.require_restaurants(ranking.restaurants)
    return ranking


def rank_numbers(
    seed: FormulaSeed,
    lines: Iterable[InputLine],
    *,
    by: float,
    output: str | None,
    parameters: Mapping[str, Value] | None,
    failures: Failures,
    duplicates: Duplicates,
    advance: Callable[[int, str], None] = lambda total, place: None,
) -> Sensitivity:
    """Do as `sensitivity` does with a loaded seed; adds what fails to `failures`.

    `advance` is called before each variant with the number of all variants, and the place of this one.
    """
    verdict = verdict_of(seed.program, output)
    trial = _Trial(seed, lines, verdict, output, dict(parameters or {}), failures, duplicates)
    numbers = [*_constants(seed, trial), *_parameters(seed, trial)]
    ranked: list[Moved] = []
    skipped: dict[tuple[str, str, str], None] = {}
    for number in numbers:
        variants: list[Variant | None] = []
        for share in (-by / 100, by / 100):
            advance(2 * len(numbers), number.place)
            value = move_number(number.value, share, is_year=number.is_year)
            variant = None
            try:
                if value == number.value:
                    raise DataError(f"{by:.3g}% of {value!r} is nothing")
                variant = number.attempt(value)
            except (SeedError, DataError) as error:
                reason = error.diagnostics[0].message if isinstance(error, SeedError) else str(error)
                skipped[f"{value!r} in {number.inside}", reason, number.place] = None
            variants.append(variant)
        ranked.append(Moved(number.value, number.step, number.inside, number.place, *variants))
    score = next(iter(trial.numbers), None)
    ranked.sort(key=lambda moved: (-moved.flipped, -abs(moved.largest(score)) if score is not None else 0.0))
    return Sensitivity(
        seed=seed.document.source.name,
        by=by,
        verdict=trial.verdict,
        score=score,
        restaurants=len(trial.restaurants),
        moved=tuple(ranked),
        skipped=tuple(skipped),
        failures=failures,
    )


@dataclass(frozen=True, slots=True)
class _Number:
    """A number that can be moved; `attempt` evaluates all restaurants with another one in its place."""

    value: int | float
    step: str
    inside: str
    place: str
    is_year: bool
    attempt: Callable[[int | float], Variant]


def _constants(seed: FormulaSeed, trial: _Trial) -> Iterator[_Number]:
    for constant in constants_of(seed):

        def attempt(value: int | float, write: Callable[[int | float], Source] = constant.write) -> Variant:
            variant = checked(analyse_text(write(value)))
            module = module_from_source(compile(variant, formatted=False), seed.task_name)
            return trial.evaluate(value, module, trial.arguments)

        yield _Number(constant.value, constant.step, constant.inside, constant.place, constant.is_year, attempt)


def _parameters(seed: FormulaSeed, trial: _Trial) -> Iterator[_Number]:
    for parameter in seed.program.parameters:
        value = trial.parameters.get(parameter.name, parameter.default)
        if not is_number(value):
            continue

        def attempt(value: int | float, name: str = parameter.name) -> Variant:
            arguments = trial.evaluator.parse_parameters({**trial.parameters, name: value})
            return trial.evaluate(value, trial.evaluator.module, (arguments,))

        place = f"{seed.document.source.name}: parameters"
        yield _Number(value, "", f"param.{parameter.name}", place, reads_year(seed.program, parameter), attempt)


@dataclass(frozen=True, slots=True)
class _Restaurant:
    """A restaurant as a module reads it, and its outputs with the seed as it is."""

    business_id: str
    rows: Any
    context: Any
    outputs: _Outputs


class _Trial:
    """The restaurants, read once, with their outputs. Those that cannot be read are in `failures`.

    The modules of all variants take the same rows: the fields that a seed uses do not depend on its numbers.
    """

    def __init__(
        self,
        seed: FormulaSeed,
        lines: Iterable[InputLine],
        verdict: nodes.Step | None,
        output: str | None,
        parameters: dict[str, Value],
        failures: Failures,
        duplicates: Duplicates,
    ) -> None:
        self.evaluator = compile_evaluator(seed)
        self.parameters = parameters
        self.arguments = (self.evaluator.parse_parameters(parameters),) if parameters else ()
        self.verdict = verdict.name if verdict is not None else None
        self.numbers = numbers_of(seed.program, seed.program.output, verdict, output)
        restaurants = usable_rows(self.evaluator, lines, failures, parameters or None, duplicates)
        module = self.evaluator.module
        self.restaurants: list[_Restaurant] = []
        for restaurant in restaurants:
            rows = self.evaluator.parse_rows(restaurant.rows)
            context = module.parse_context(restaurant.context)
            outputs = self._outputs(module, self.arguments, rows, context)
            self.restaurants.append(_Restaurant(restaurant.business_id, rows, context, outputs))

    def _outputs(self, module: GeneratedModule, arguments: tuple[Any, ...], rows: Any, context: Any) -> _Outputs:
        try:
            return dict(zip(module.OUTPUT, module.evaluate(rows, context, *arguments), strict=True))
        except module.EvaluationError:
            return None

    def evaluate(self, value: int | float, module: GeneratedModule, arguments: tuple[Any, ...]) -> Variant:
        """Evaluate every restaurant with another module or other parameters, and compare the outputs."""
        flips: Counter[tuple[str | None, str | None]] = Counter()
        changes: dict[str, tuple[float, str]] = {}
        for restaurant in self.restaurants:
            before = restaurant.outputs
            after = self._outputs(module, arguments, restaurant.rows, restaurant.context)
            verdicts = self._verdict_text(before), self._verdict_text(after)
            if verdicts[0] != verdicts[1]:
                flips[verdicts] += 1
            if before is None or after is None:
                continue
            for name in self.numbers:
                change = difference_of(before[name], after[name])
                largest, _ = changes.get(name, (0.0, ""))
                if change is not None and abs(change) > abs(largest) and not is_same(before[name], after[name]):
                    changes[name] = change, restaurant.business_id
        return Variant(value, dict(flips), changes)

    def _verdict_text(self, outputs: _Outputs) -> str | None:
        """Return the verdict as flips have it; None if the restaurant fails."""
        if outputs is None:
            return None
        return format_plain(outputs[self.verdict]) if self.verdict is not None else _NO_VERDICT
