"""What two programs make of the same restaurants: verdicts that change, numbers that move, where the computations part.

In: two evaluators with what their steps are called, and lines of rows. Out: `Outcomes`. A restaurant that fails is counted,
and named in `failures`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from formulaseed.data.duplicates import Duplicates
from formulaseed.data.jsonl import Line
from formulaseed.data.results import Failures
from formulaseed.diagnostics.model import number_of
from formulaseed.errors import DataError, EvaluationError
from formulaseed.explanation.verdict import verdict_of
from formulaseed.ir import nodes
from formulaseed.ir.dependencies import uses_of
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.language.types import Value
from formulaseed.pages.blocks import Block, Code, Heading, Table, sentence
from formulaseed.pages.values import format_change, format_plain, format_value
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.extracting import ExtractedRestaurant
from formulaseed.runtime.running import add_failure, read_rows

_NOISE = 1e-12
"""Numbers that are closer, relative to their size, are equal: sums in another order differ by as much."""
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Setting:
    """One of the two: a compiled seed with its parameters. `what` names it where a restaurant fails."""

    what: str
    evaluator: Evaluator
    parameters: Mapping[str, Value] | None = None


@dataclass(frozen=True, slots=True)
class Pairing:
    """What is compared: each step of the new program with its name in the old one, and the outputs that both have.

    `uses` has what the new program's steps mention.
    `verdict` is the output whose values are counted, `verdicts` the values that it can have; `numbers` are the numeric
    outputs, the one that the verdict depends on first.
    """

    steps: Mapping[str, str]
    outputs: tuple[str, ...]
    verdict: str | None
    verdicts: tuple[str, ...]
    numbers: tuple[str, ...]
    uses: Mapping[str, tuple[Symbol, ...]]


@dataclass(frozen=True, slots=True)
class Moved:
    """A restaurant with another result. A verdict is None where there is none, as the restaurant fails.

    `outputs` has each output's value before and after, none where the restaurant fails, and `changed` names those that
    differ. `diverges_at` is where these part: the first step, in the new seed's order, that has another value and leads to
    one of them by such steps; or the one that fails.
    """

    business_id: str
    name: str
    verdicts: tuple[str | None, str | None]
    outputs: Mapping[str, tuple[Value, Value]]
    changed: tuple[str, ...]
    diverges_at: str

    @property
    def differs(self) -> bool:
        """Whether the result differs: an output, or whether there is one."""
        return bool(self.changed) or self.verdicts[0] != self.verdicts[1]

    def to_json(self) -> dict[str, Any]:
        """Return it as `--format json` has it."""
        return {
            "business_id": self.business_id,
            "name": self.name,
            "verdict": dict(zip(("old", "new"), self.verdicts, strict=True)),
            "outputs": {name: dict(zip(("old", "new"), self.outputs[name], strict=True)) for name in self.changed},
            "diverges_at": self.diverges_at,
        }


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What becomes of the restaurants. `matrix` counts them by their two verdicts, those that fail too."""

    pairing: Pairing
    matrix: Mapping[tuple[str | None, str | None], int]
    moved: tuple[Moved, ...]
    failures: Failures
    extracted_twice: bool = False
    """Whether each seed has rows of its own, as they ask different questions."""

    @property
    def restaurants(self) -> int:
        return sum(self.matrix.values())

    @property
    def flipped(self) -> int:
        """How many restaurants have another verdict, or fail on one side only."""
        return sum(count for (old, new), count in self.matrix.items() if old != new)

    def failed(self, side: int) -> int:
        """Return how many restaurants fail with the old seed (0) or the new one (1)."""
        return sum(count for verdicts, count in self.matrix.items() if verdicts[side] is None)

    def diverging(self) -> Counter[str]:
        """Return for each step how many restaurants with other results diverge there first."""
        return Counter(moved.diverges_at for moved in self.moved)

    def movers(self) -> list[Moved]:
        """Return the restaurants whose results differ: other verdicts first, then by how far the score moved."""
        score = self.score

        def rank(moved: Moved) -> tuple[bool, float, str]:
            change = delta(*moved.outputs[score]) if score is not None and score in moved.outputs else None
            return moved.verdicts[0] == moved.verdicts[1], -abs(change or 0.0), moved.business_id

        return sorted(self.moved, key=rank)

    @property
    def score(self) -> str | None:
        """The numeric output by which restaurants are ranked: the first that moved, else the first; None if there is none."""
        moved = {name for each in self.moved for name in each.changed}
        numbers = self.pairing.numbers
        return next((name for name in numbers if name in moved), numbers[0] if numbers else None)

    def to_json(self) -> dict[str, Any]:
        """Return them as `--format json` has them."""
        return {
            "restaurants": self.restaurants,
            "extracted_twice": self.extracted_twice,
            "verdict": self.pairing.verdict,
            "matrix": [{"old": old, "new": new, "restaurants": n} for (old, new), n in self.matrix.items()],
            "diverging": dict(self.diverging().most_common()),
            "differing": [moved.to_json() for moved in self.movers()],
            "failures": self.failures.lines,
        }

    # --- as parts of a report

    def summary(self) -> Iterator[Block]:
        """Yield how many change their verdict, from what to what, and how far numbers move."""
        counts = self.failed(0), self.failed(1)
        note = f"; {counts[0]} failed before, {counts[1]} after" if any(counts) else ""
        number = number_of(self.restaurants, "restaurant")
        if self.pairing.verdict is None:
            yield sentence(f"{len(self.movers())} of {number} have other outputs{note}; none of these is a verdict.")
        else:
            yield sentence(Code(self.pairing.verdict), f" changes for {self.flipped:,} of {number}{note}.")
            yield self._matrix()
        rows = [
            self._number(name) for name in self.pairing.numbers if any(name in moved.changed for moved in self.moved)
        ]
        if rows:
            yield Table(("output", "restaurants", "mean change", "largest rise", "largest fall"), tuple(rows))

    def _matrix(self) -> Table:
        """The verdicts before down the side, those after across the top."""
        seen = {verdict for verdicts in self.matrix for verdict in verdicts}
        known = [*self.pairing.verdicts, *sorted(verdict for verdict in seen if verdict is not None), None]
        order = [verdict for verdict in dict.fromkeys(known) if verdict in seen]
        rows = ((_verdict(old), *(str(self.matrix.get((old, new), 0)) for new in order)) for old in order)
        return Table(("before \\ after", *map(_verdict, order)), tuple(rows))

    def _number(self, name: str) -> tuple[str, ...]:
        pairs = [delta(*moved.outputs[name]) for moved in self.moved if name in moved.changed]
        changes = [change for change in pairs if change is not None]
        if not changes:  # null on one side
            return Code(name), str(len(pairs)), "-", "-", "-"
        rise, fall = max(changes), min(changes)
        ends = (format_change(rise) if rise > 0 else "-", format_change(fall) if fall < 0 else "-")
        return Code(name), str(len(pairs)), format_change(sum(changes) / len(changes)), *ends

    def restaurant_table(self) -> Iterator[Block]:
        """Yield the restaurants that moved, and where their computations part."""
        movers, score = self.movers(), self.score
        if not movers:
            return
        more = f", the first {_SHOWN} of {len(movers):,}" if len(movers) > _SHOWN else ""
        yield Heading(f"Restaurants with other results{more}", 3)
        scores = ("before", "after", "change") if score is not None else ()
        verdicts = ("verdict before", "verdict after") if self.pairing.verdict is not None else ()
        columns = ("restaurant", *verdicts, *(Code(f"{score} {name}") for name in scores), "first step that differs")
        rows = [
            (Code(m.business_id), *self._verdicts(m), *_scores(m, score), Code(m.diverges_at)) for m in movers[:_SHOWN]
        ]
        yield Table(columns, tuple(rows))
        steps = [(Code(step), f"{count:,}") for step, count in self.diverging().most_common()]
        yield Table(("first step that differs", "restaurants"), tuple(steps))

    def _verdicts(self, moved: Moved) -> tuple[str, ...]:
        return () if self.pairing.verdict is None else tuple(map(_verdict, moved.verdicts))


def _verdict(verdict: str | None) -> str:
    return "(failed)" if verdict is None else Code(verdict)


def _scores(moved: Moved, score: str | None) -> tuple[str, ...]:
    if score is None:
        return ()
    if score not in moved.outputs:
        return "-", "-", "-"
    old, new = moved.outputs[score]
    change = delta(old, new)
    return _cell(old), _cell(new), "-" if change is None else format_change(change)


def _cell(value: Value) -> str:
    return Code(value) if isinstance(value, str) else format_value(value)


def pairing_of(old: nodes.Program, new: nodes.Program, names: Mapping[str, str], output: str | None = None) -> Pairing:
    """Return what to compare. `names` gives each old step's name in the new program; `output` is one of either.

    Raises `DataError` for an output that only one of them has, or none.
    """
    former = {now: was for was, now in names.items()}
    outputs = tuple(name for name in new.output if former.get(name) in old.output)
    if output is not None and output not in new.output and names.get(output) in outputs:
        output = names[output]
    step = verdict_of(new, output)
    if output is not None and output not in outputs:
        raise DataError(f"the old seed has no output `{output}`")
    if step is not None and step.name not in outputs:  # there is nothing to compare it with
        step = None
    numbers = numbers_of(new, outputs, step, output)
    if step is None:
        return Pairing(_values(new, former), outputs, None, (), numbers, uses_of(new))
    was = next(each for each in old.steps if each.name == former[step.name])
    verdicts = tuple(dict.fromkeys((*(was.ty.values or ()), *(step.ty.values or ()))))
    return Pairing(_values(new, former), outputs, step.name, verdicts, numbers, uses_of(new))


def numbers_of(
    program: nodes.Program, outputs: tuple[str, ...], verdict: nodes.Step | None, named: str | None
) -> tuple[str, ...]:
    """Return the numeric outputs, those that the verdict tests first, else the last ones; or the one that is named."""
    steps = {step.name: step for step in program.steps}
    numeric = [name for name in outputs if steps[name].ty.is_numeric]
    if verdict is None:
        return tuple(name for name in reversed(numeric) if named in (None, name))
    tested = {symbol.name for symbol in verdict.symbols() if symbol.kind is SymbolKind.STEP}
    return tuple(sorted(numeric, key=lambda name: (name not in tested, -numeric.index(name))))


def _values(new: nodes.Program, former: Mapping[str, str]) -> dict[str, str]:
    """For each step of the new program that has a value, and that the old one has too, its name there."""
    steps = (step for step in new.steps if not isinstance(step.operation, nodes.Filter))
    return {step.name: former[step.name] for step in steps if step.name in former}


def compare(
    old: Setting,
    new: Setting,
    pairing: Pairing,
    lines: Iterable[Line],
    failures: Failures,
    new_lines: Iterable[Line] | None = None,
    duplicates: Duplicates = "fail",
) -> Outcomes:
    """Evaluate every restaurant twice, and compare. `new_lines` are the rows of the new seed, if it has its own."""
    matrix: Counter[tuple[str | None, str | None]] = Counter()
    moved: list[Moved] = []
    for before, after in _pairs(old, new, lines, new_lines, failures, duplicates):
        traced = _traced(old, before), _traced(new, after)
        known = before if before is not None else after
        assert known is not None  # it has rows for one of them
        _add_failures(failures, known, (old, new), traced)
        found = _moved(known, *traced, pairing)
        matrix[found.verdicts] += 1
        if found.differs:
            moved.append(found)
    return Outcomes(pairing, dict(matrix), tuple(moved), failures, new_lines is not None)


_Pair = tuple[ExtractedRestaurant | None, ExtractedRestaurant | None]


def _pairs(
    old: Setting,
    new: Setting,
    lines: Iterable[Line],
    new_lines: Iterable[Line] | None,
    failures: Failures,
    duplicates: Duplicates,
) -> Iterator[_Pair]:
    """Yield each restaurant with its rows for the old seed and for the new one; None for a seed for which it has none."""
    restaurants = _readable(old, lines, failures, duplicates)
    if new_lines is None:
        yield from ((found, found) for found in restaurants)
        return
    others: dict[str, list[ExtractedRestaurant]] = {}
    failures_of_new = Failures()  # its duplicates are those of the old seed, counted once
    for found in _readable(new, new_lines, failures_of_new, duplicates):
        others.setdefault(found.business_id, []).append(found)
    failures.lines += failures_of_new.lines
    for found in restaurants:
        same_id = others.get(found.business_id)
        yield found, same_id.pop(0) if same_id else None
    yield from ((None, found) for left in others.values() for found in left)


def _readable(
    setting: Setting, lines: Iterable[Line], failures: Failures, duplicates: Duplicates
) -> Iterator[ExtractedRestaurant]:
    found = read_rows(setting.evaluator, lines, failures, setting.parameters, duplicates)
    return (restaurant for restaurant in found if restaurant.error is None)


def _add_failures(
    failures: Failures, found: ExtractedRestaurant, settings: tuple[Setting, Setting], traced: tuple[_Traced, _Traced]
) -> None:
    """Report what failed: rows that neither seed can read once, anything else with the seed for which it failed."""
    faults = [trace.fault for trace in traced]
    if isinstance(faults[0], DataError) and str(faults[0]) == str(faults[1]):
        add_failure(failures, found, faults[0])
        return
    for setting, trace, fault in zip(settings, traced, faults, strict=True):
        if fault is not None:
            note = f" (with the {setting.what} seed)" if trace.failed_at != "(extraction)" else ""
            add_failure(failures, found, fault, note)


@dataclass(frozen=True, slots=True)
class _Traced:
    """The values of all steps, or the step that failed."""

    steps: Mapping[str, Value]
    failed_at: str | None = None
    fault: EvaluationError | DataError | None = None


def _traced(setting: Setting, found: ExtractedRestaurant | None) -> _Traced:
    if found is None:
        return _Traced({}, "(extraction)", DataError(f"there are no rows for the {setting.what} seed"))
    try:
        return _Traced(setting.evaluator.trace(found.rows, found.context, setting.parameters))
    except (EvaluationError, DataError) as error:
        return _Traced({}, error.step if isinstance(error, EvaluationError) else "(data)", error)


def _moved(record: ExtractedRestaurant, before: _Traced, after: _Traced, pairing: Pairing) -> Moved:
    both = before.failed_at is None and after.failed_at is None
    values = {name: (before.steps[was], after.steps[name]) for name, was in pairing.steps.items()} if both else {}
    verdicts = [_label(found, name) for found, name in zip((before, after), _verdict_names(pairing), strict=True)]
    differing = {name for name, pair in values.items() if not same(*pair)}
    changed = tuple(output for output in pairing.outputs if output in differing)
    first = _first(differing, changed, pairing) if changed else ""
    if before.failed_at != after.failed_at:
        first = after.failed_at or before.failed_at or ""
    name = record.context.get("name")
    outputs = {output: values[output] for output in pairing.outputs} if both else {}
    named = name if isinstance(name, str) else ""
    return Moved(record.business_id, named, (verdicts[0], verdicts[1]), outputs, changed, first)


def _first(differing: set[str], changed: tuple[str, ...], pairing: Pairing) -> str:
    """The first of the differing steps that lead to a changed output."""
    stack, leading = list(changed), set(changed)
    while stack:
        for symbol in pairing.uses[stack.pop()]:
            if symbol.kind is SymbolKind.STEP and symbol.name in differing and symbol.name not in leading:
                leading.add(symbol.name)
                stack.append(symbol.name)
    return next(name for name in pairing.steps if name in leading)


def _verdict_names(pairing: Pairing) -> tuple[str | None, str | None]:
    return (None, None) if pairing.verdict is None else (pairing.steps[pairing.verdict], pairing.verdict)


def _label(found: _Traced, verdict: str | None) -> str | None:
    """A verdict as the matrix has it; None where the restaurant failed."""
    if found.failed_at is not None:
        return None
    return format_plain(found.steps[verdict]) if verdict is not None else "evaluated"


def same(old: Value, new: Value) -> bool:
    """Return whether two values are equal, numbers but for noise."""
    change = delta(old, new)
    if change is None:
        return type(old) is type(new) and old == new
    assert isinstance(old, int | float)
    return abs(change) <= _NOISE * max(1.0, abs(old))


def delta(old: Value, new: Value) -> float | None:
    """Return the difference of two numbers; None for other values."""
    if (
        isinstance(old, bool)
        or isinstance(new, bool)
        or not isinstance(old, int | float)
        or not isinstance(new, int | float)
    ):
        return None
    return float(new - old)
