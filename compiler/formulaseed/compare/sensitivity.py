"""Which numbers a policy hangs on: each constant and parameter moved a little, one at a time, and what flips.

In: a seed, and lines of rows. Out: `Sensitivity`, ranked. Each variant is checked and compiled as any seed is; one that is no
valid seed is skipped, with the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from formulaseed.arguments import validated
from formulaseed.compare.constants import Constant, constants_of, moved, reads_year
from formulaseed.compare.pairing import difference_of, is_same, numbers_of
from formulaseed.data.duplicates import Duplicates
from formulaseed.data.jsonl import Line, Lines, lines_of
from formulaseed.data.results import Failures
from formulaseed.diagnostics.model import number_of
from formulaseed.errors import DataError, SeedError
from formulaseed.explanation.verdict import verdict_of
from formulaseed.ir import nodes
from formulaseed.language.types import Value
from formulaseed.loading import FormulaSeed, SeedLike, analyse_text, load_seed
from formulaseed.pages.blocks import Block, Code, Heading, Table, sentence
from formulaseed.pages.document import Document
from formulaseed.pages.values import format_change, format_plain
from formulaseed.pipeline import checked, compile
from formulaseed.runtime.evaluator import GeneratedModule
from formulaseed.runtime.loading import evaluator_of, module_from_source
from formulaseed.runtime.running import usable_rows
from formulaseed.source.text import shortened

_SHOWN = 40
_SKIPPED = ("variant", "reason", "place")


@dataclass(frozen=True, slots=True)
class Variant:
    """What another number does. `flips` counts restaurants by their verdict before and after, None where one fails.

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
        flips = [{"old": old, "new": new, "restaurants": n} for (old, new), n in self.flips.items()]
        changes = {name: {"change": change, "business_id": who} for name, (change, who) in self.changes.items()}
        return {
            "value": self.value,
            "flipped": self.flipped,
            "failing": self.failing,
            "flips": flips,
            "changes": changes,
        }


@dataclass(frozen=True, slots=True)
class Moved:
    """A number of the policy, moved down and up; a variant is None where it was skipped.

    `step` is where a constant is written, and empty for a parameter; `inside` is what it is a part of, or the parameter.
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
    def is_without_effect(self) -> bool:
        """Whether neither a verdict nor a numeric output of any restaurant depends on it."""
        return not any(variant.flips or variant.changes for variant in self.variants)

    def largest(self, output: str) -> float:
        """Return the largest change of an output, with its sign; 0 where there is none."""
        changes = (variant.changes[output][0] for variant in self.variants if output in variant.changes)
        return max(changes, key=abs, default=0.0)

    def to_json(self) -> dict[str, Any]:
        """Return it as `--format json` has it."""
        variants = {name: variant and variant.to_json() for name, variant in (("down", self.down), ("up", self.up))}
        own = {name: getattr(self, name) for name in ("value", "step", "inside", "place", "flipped")}
        return {**own, **variants}


@dataclass(frozen=True)
class Sensitivity(Document):
    """All numbers, the one that flips most verdicts first.

    `skipped` has what was not tried: the variant, the reason and the place.
    """

    seed: str
    by: float
    verdict: str | None
    score: str | None
    restaurants: int
    moved: tuple[Moved, ...]
    skipped: tuple[tuple[str, str, str], ...]
    failures: Failures

    @cached_property
    def json(self) -> dict[str, Any]:
        """The ranking as JSON values; docs/analysis.md describes them."""
        own = {name: getattr(self, name) for name in ("seed", "by", "verdict", "score", "restaurants")}
        found = [each.to_json() for each in self.moved]
        return {
            **own,
            "constants": found,
            "skipped": [dict(zip(_SKIPPED, each, strict=True)) for each in self.skipped],
            "failures": self.failures.lines,
        }

    def __repr__(self) -> str:
        return shortened(f"Sensitivity({self.seed!r}, {len(self.moved)} numbers moved by {self.by:g}%)")

    def _blocks(self) -> Iterator[Block]:
        effective = [each for each in self.moved if not each.is_without_effect]
        numbers, rest = number_of(len(self.moved), "number"), len(self.moved) - len(effective)
        flipping = sum(each.flipped > 0 for each in effective)
        yield sentence(
            Code(self.seed), f": {numbers} moved by {self.by:.3g}% over {number_of(self.restaurants, 'restaurant')}; ",
            *((f"{flipping} flip ", Code(self.verdict), f", {rest} change nothing.") if self.verdict is not None
              else (f"{rest} change nothing; no output is a verdict.",)),
        )  # fmt: skip
        if effective:
            more = f", the first {_SHOWN} of {len(effective)}" if len(effective) > _SHOWN else ""
            yield Heading(f"Ranked{more}", 3)
            yield Table(self._columns(), tuple(map(self._row, effective[:_SHOWN])))
        if self.skipped:
            yield Heading(f"{number_of(len(self.skipped), 'variant')} skipped", 3)
            rows = ((Code(what), Code(reason), Code(place)) for what, reason, place in self.skipped)
            yield Table(_SKIPPED, tuple(rows))

    def _columns(self) -> tuple[str, ...]:
        score = (Code(f"{self.score} moves by"),) if self.score is not None else ()
        fails = ("fail",) if self._fail else ()
        return ("number", "step", "in", "down to", "flips", "up to", "flips", *fails, *score, "place")

    @property
    def _fail(self) -> bool:
        """Whether a restaurant fails with some variant."""
        return any(variant.failing for each in self.moved for variant in each.variants)

    def _row(self, each: Moved) -> tuple[str, ...]:
        variants = [
            cell
            for variant in (each.down, each.up)
            for cell in (("-", "-") if variant is None else (repr(variant.value), f"{variant.flipped:,}"))
        ]
        score = (format_change(each.largest(self.score)),) if self.score is not None else ()
        fails = (f"{sum(variant.failing for variant in each.variants):,}",) if self._fail else ()
        return (repr(each.value), Code(each.step), Code(each.inside), *variants, *fails, *score, Code(each.place))


@validated
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
    found = ranked(load_seed(seed), lines_of(rows, "rows"), by, output, parameters, failures, duplicates=duplicates)
    failures.refuse_nothing_read(found.restaurants)
    return found


def ranked(
    seed: FormulaSeed,
    lines: Iterable[Line],
    by: float,
    output: str | None,
    parameters: Mapping[str, Value] | None,
    failures: Failures,
    advance: Callable[[int, str], None] = lambda total, note: None,
    duplicates: Duplicates = "fail",
) -> Sensitivity:
    """Do as `sensitivity` does with a loaded seed; `advance` is called before each variant with their number."""
    step = verdict_of(seed.program, output)
    trial = _Trial(seed, lines, step, output, dict(parameters or {}), failures, duplicates)
    numbers = [*_constants(seed, trial), *_parameters(seed, trial)]
    found: list[Moved] = []
    skipped: list[tuple[str, str, str]] = []
    for number in numbers:
        variants: list[Variant | None] = []
        for share in (-by / 100, by / 100):
            advance(2 * len(numbers), number.place)
            value = moved(number.value, share, is_year=number.is_year)
            reason = f"{by:.3g}% of {value!r} is nothing" if value == number.value else ""
            try:
                variants.append(None if reason else number.tried(value))
            except (SeedError, DataError) as error:
                reason = error.diagnostics[0].message if isinstance(error, SeedError) else str(error)
                variants.append(None)
            if reason:
                skipped.append((f"{value!r} in {number.inside}", reason, number.place))
        down, up = variants
        found.append(Moved(number.value, number.step, number.inside, number.place, down, up))
    score = trial.score
    found.sort(key=lambda each: (-each.flipped, -abs(each.largest(score)) if score is not None else 0.0))
    name = seed.document.source.name
    return Sensitivity(
        name, by, trial.verdict, score, len(trial.given), tuple(found), tuple(dict.fromkeys(skipped)), failures
    )


@dataclass(frozen=True, slots=True)
class _Number:
    """A number that can be moved; `tried` says what another one in its place does."""

    value: int | float
    step: str
    inside: str
    place: str
    is_year: bool
    tried: Callable[[int | float], Variant]


def _constants(seed: FormulaSeed, trial: _Trial) -> Iterator[_Number]:
    for constant in constants_of(seed):

        def tried(value: int | float, constant: Constant = constant) -> Variant:
            compilable = checked(analyse_text(constant.written(value)))
            module = module_from_source(compile(compilable, formatted=False), seed.task_name)
            return trial.variant(value, module, trial.arguments)

        yield _Number(constant.value, constant.step, constant.inside, constant.place, constant.is_year, tried)


def _parameters(seed: FormulaSeed, trial: _Trial) -> Iterator[_Number]:
    for parameter in seed.program.parameters:
        value = trial.parameters.get(parameter.name, parameter.default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue

        def tried(value: int | float, name: str = parameter.name) -> Variant:
            arguments = trial.evaluator.parse_parameters({**trial.parameters, name: value})
            return trial.variant(value, trial.evaluator.module, (arguments,))

        place = f"{seed.document.source.name}: parameters"
        yield _Number(value, "", f"param.{parameter.name}", place, reads_year(seed.program, parameter), tried)


class _Trial:
    """The restaurants, read once, with what the seed makes of them. Those that it cannot read are in `failures`.

    The modules of all variants take the same rows: which fields a seed uses does not depend on its numbers.
    """

    def __init__(
        self,
        seed: FormulaSeed,
        lines: Iterable[Line],
        verdict: nodes.Step | None,
        output: str | None,
        parameters: dict[str, Value],
        failures: Failures,
        duplicates: Duplicates,
    ) -> None:
        self.evaluator = evaluator_of(seed)
        self.parameters = parameters
        self.arguments = (self.evaluator.parse_parameters(parameters),) if parameters else ()
        self.verdict = verdict.name if verdict is not None else None
        self.numbers = numbers_of(seed.program, seed.program.output, verdict, output)
        self.score = next(iter(self.numbers), None)
        self.given = list(self._read(lines, failures, duplicates))
        self.before = [self._outputs(self.evaluator.module, self.arguments, *given) for _, *given in self.given]

    def _read(
        self, lines: Iterable[Line], failures: Failures, duplicates: Duplicates
    ) -> Iterator[tuple[str, Any, Any]]:
        module = self.evaluator.module
        for found in usable_rows(self.evaluator, lines, failures, self.parameters or None, duplicates):
            rows = self.evaluator.parsed_rows(found.rows)
            yield found.business_id, rows, module.parse_context(found.context)

    def _outputs(self, module: GeneratedModule, arguments: tuple[Any, ...], rows: Any, context: Any) -> _Outputs:
        try:
            return dict(zip(module.OUTPUT, module.evaluate(rows, context, *arguments), strict=True))
        except module.EvaluationError:
            return None

    def variant(self, value: int | float, module: GeneratedModule, arguments: tuple[Any, ...]) -> Variant:
        """Evaluate every restaurant with another module or other parameters, and compare."""
        flips: Counter[tuple[str | None, str | None]] = Counter()
        changes: dict[str, tuple[float, str]] = {}
        for (who, *given), before in zip(self.given, self.before, strict=True):
            after = self._outputs(module, arguments, *given)
            pair = self._label(before), self._label(after)
            if pair[0] != pair[1]:
                flips[pair] += 1
            if before is None or after is None:
                continue
            for name in self.numbers:
                change = difference_of(before[name], after[name])
                if (
                    change
                    and not is_same(before[name], after[name])
                    and abs(change) > abs(changes.get(name, (0.0,))[0])
                ):
                    changes[name] = change, who
        return Variant(value, dict(flips), changes)

    def _label(self, outputs: _Outputs) -> str | None:
        if outputs is None:
            return None
        return format_plain(outputs[self.verdict]) if self.verdict is not None else "evaluated"


_Outputs = dict[str, Value] | None
