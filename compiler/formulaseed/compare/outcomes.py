"""Compares the results of two programs for the same restaurants: verdicts that change, numbers that move, first differences.

In: two evaluators with the pairing of their steps, and lines of rows. Out: `Outcomes`. A restaurant that fails is counted,
and named in `failures`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from formulaseed.compare.pairing import Pairing, difference_of, is_same
from formulaseed.data.duplicates import Duplicates
from formulaseed.data.jsonl import InputLine
from formulaseed.data.results import Failures
from formulaseed.errors import DataError, EvaluationError
from formulaseed.language.typed import SymbolKind
from formulaseed.language.types import Value
from formulaseed.pages.blocks import Block, Code, Heading, Table, sentence
from formulaseed.pages.values import format_change, format_plain, format_value
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.extracting import ExtractedRestaurant
from formulaseed.runtime.running import add_failure, read_rows
from formulaseed.source.printing import number_of

_MAX_LISTED_RESTAURANTS = 20
_NO_ROWS = "(extraction)"
_NOT_EVALUATED = "(data)"
_NO_VERDICT = "evaluated"
Verdicts = tuple[str | None, str | None]
"""The verdict of a restaurant with the old seed and with the new one; None if it fails."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A compiled seed with its parameters; `name` is `old` or `new`."""

    name: str
    evaluator: Evaluator
    parameters: Mapping[str, Value] | None = None


@dataclass(frozen=True, slots=True)
class RestaurantChange:
    """The results of one restaurant before and after.

    `outputs` has each output's value before and after, none if the restaurant fails, and `changed` names those that differ.
    `diverges_at` is the first step, in the new seed's order, that has another value and leads to a changed output by such
    steps; or the step that fails.
    """

    business_id: str
    name: str
    verdicts: Verdicts
    outputs: Mapping[str, tuple[Value, Value]]
    changed: tuple[str, ...]
    diverges_at: str

    @property
    def is_different(self) -> bool:
        """Whether an output differs, or whether there is a result."""
        return bool(self.changed) or self.verdicts[0] != self.verdicts[1]

    def to_json(self) -> dict[str, Any]:
        """Return it as `--format json` has it."""
        return {
            "business_id": self.business_id,
            "name": self.name,
            "verdict": _old_and_new(self.verdicts),
            "outputs": {name: _old_and_new(self.outputs[name]) for name in self.changed},
            "diverges_at": self.diverges_at,
        }


def _old_and_new(pair: tuple[Any, Any]) -> dict[str, Any]:
    return {"old": pair[0], "new": pair[1]}


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The results of all restaurants. `matrix` counts them by their two verdicts, those that fail too.

    `moved` are those whose results differ. `extracted_twice` is True if each seed has rows of its own.
    """

    pairing: Pairing
    matrix: Mapping[Verdicts, int]
    moved: tuple[RestaurantChange, ...]
    failures: Failures
    extracted_twice: bool = False

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
        return Counter(change.diverges_at for change in self.moved)

    def movers(self) -> list[RestaurantChange]:
        """Return the restaurants whose results differ: other verdicts first, then by how far the score moved."""
        score = self.score

        def rank(change: RestaurantChange) -> tuple[bool, float, str]:
            moved_by = difference_of(*change.outputs[score]) if score is not None and score in change.outputs else None
            return change.verdicts[0] == change.verdicts[1], -abs(moved_by or 0.0), change.business_id

        return sorted(self.moved, key=rank)

    @property
    def score(self) -> str | None:
        """The numeric output by which restaurants are ranked: the first that moved, else the first; None if there is none."""
        moved = {name for change in self.moved for name in change.changed}
        numbers = self.pairing.numbers
        return next((name for name in numbers if name in moved), numbers[0] if numbers else None)

    def to_json(self) -> dict[str, Any]:
        """Return them as `--format json` has them."""
        return {
            "restaurants": self.restaurants,
            "extracted_twice": self.extracted_twice,
            "verdict": self.pairing.verdict,
            "matrix": [{"old": old, "new": new, "restaurants": count} for (old, new), count in self.matrix.items()],
            "diverging": dict(self.diverging().most_common()),
            "differing": [change.to_json() for change in self.movers()],
            "failures": self.failures.lines,
        }

    # --- as parts of a document

    def summary(self) -> Iterator[Block]:
        """Yield how many restaurants change their verdict, from which to which, and how far numbers move."""
        counts = self.failed(0), self.failed(1)
        note = f"; {counts[0]} failed before, {counts[1]} after" if any(counts) else ""
        total = number_of(self.restaurants, "restaurant")
        if self.pairing.verdict is None:
            yield sentence(f"{len(self.moved)} of {total} have other outputs{note}; none of these is a verdict.")
        else:
            yield sentence(Code(self.pairing.verdict), f" changes for {self.flipped:,} of {total}{note}.")
            yield self._matrix_table()
        moved = {name for change in self.moved for name in change.changed}
        rows = tuple(self._number_row(name) for name in self.pairing.numbers if name in moved)
        if rows:
            yield Table(("output", "restaurants", "mean change", "largest rise", "largest fall"), rows)

    def _matrix_table(self) -> Table:
        """Return the matrix, the verdicts before down the side, those after across the top."""
        seen = {verdict for verdicts in self.matrix for verdict in verdicts}
        known = [*self.pairing.verdicts, *sorted(verdict for verdict in seen if verdict is not None), None]
        order = [verdict for verdict in dict.fromkeys(known) if verdict in seen]
        rows = [[_verdict_cell(old), *(str(self.matrix.get((old, new), 0)) for new in order)] for old in order]
        return Table(("before \\ after", *map(_verdict_cell, order)), rows)

    def _number_row(self, name: str) -> tuple[str, ...]:
        """Return how many restaurants' value of an output changed, and how far."""
        pairs = [change.outputs[name] for change in self.moved if name in change.changed]
        changes = [change for pair in pairs if (change := difference_of(*pair)) is not None]
        if not changes:  # null on one side
            return Code(name), str(len(pairs)), "-", "-", "-"
        rise, fall = max(changes), min(changes)
        return (
            Code(name),
            str(len(pairs)),
            format_change(sum(changes) / len(changes)),
            format_change(rise) if rise > 0 else "-",
            format_change(fall) if fall < 0 else "-",
        )

    def restaurant_tables(self) -> Iterator[Block]:
        """Yield the restaurants that moved, and the steps at which they diverge first."""
        movers, score = self.movers(), self.score
        if not movers:
            return
        more = (
            f", the first {_MAX_LISTED_RESTAURANTS} of {len(movers):,}" if len(movers) > _MAX_LISTED_RESTAURANTS else ""
        )
        yield Heading(f"Restaurants with other results{more}", 3)
        columns = ["restaurant"]
        if self.pairing.verdict is not None:
            columns += ["verdict before", "verdict after"]
        if score is not None:
            columns += [Code(f"{score} {name}") for name in ("before", "after", "change")]
        rows = []
        for change in movers[:_MAX_LISTED_RESTAURANTS]:
            verdicts = map(_verdict_cell, change.verdicts) if self.pairing.verdict is not None else ()
            rows.append((Code(change.business_id), *verdicts, *_score_cells(change, score), Code(change.diverges_at)))
        yield Table((*columns, "first step that differs"), rows)
        steps = [(Code(step), f"{count:,}") for step, count in self.diverging().most_common()]
        yield Table(("first step that differs", "restaurants"), steps)


def _verdict_cell(verdict: str | None) -> str:
    return "(failed)" if verdict is None else Code(verdict)


def _score_cells(change: RestaurantChange, score: str | None) -> tuple[str, ...]:
    """Return the values of the score and their difference; nothing if there is no score."""
    if score is None:
        return ()
    if score not in change.outputs:
        return "-", "-", "-"
    old, new = change.outputs[score]
    moved_by = difference_of(old, new)
    return _value_cell(old), _value_cell(new), "-" if moved_by is None else format_change(moved_by)


def _value_cell(value: Value) -> str:
    return Code(value) if isinstance(value, str) else format_value(value)


# --- evaluation


@dataclass(frozen=True, slots=True)
class _Trace:
    """The values of all steps; or why there are none, and the step that failed."""

    steps: Mapping[str, Value]
    failed_at: str | None = None
    fault: EvaluationError | DataError | None = None


_Pair = tuple[ExtractedRestaurant | None, ExtractedRestaurant | None]
"""A restaurant with its rows for the old seed and for the new one; None for a seed for which it has none."""


def compare_outcomes(
    old: Setting,
    new: Setting,
    pairing: Pairing,
    lines: Iterable[InputLine],
    failures: Failures,
    new_lines: Iterable[InputLine] | None,
    duplicates: Duplicates,
) -> Outcomes:
    """Evaluate every restaurant twice, and compare the results; adds what fails to `failures`.

    `new_lines` are the rows of the new seed; None if both have the same.
    """
    matrix: Counter[Verdicts] = Counter()
    moved: list[RestaurantChange] = []
    for before, after in _pair_restaurants(old, new, lines, new_lines, failures, duplicates):
        restaurant = before or after
        assert restaurant is not None  # it has rows for one of them
        traces = _trace(old, before), _trace(new, after)
        _add_failures(failures, restaurant, (old, new), traces)
        change = _compare_restaurant(restaurant, *traces, pairing)
        matrix[change.verdicts] += 1
        if change.is_different:
            moved.append(change)
    return Outcomes(pairing, dict(matrix), tuple(moved), failures, new_lines is not None)


def _pair_restaurants(
    old: Setting,
    new: Setting,
    lines: Iterable[InputLine],
    new_lines: Iterable[InputLine] | None,
    failures: Failures,
    duplicates: Duplicates,
) -> Iterator[_Pair]:
    """Yield each restaurant of `lines`, then those of `new_lines` alone; adds lines that cannot be read to `failures`."""
    restaurants = _read_rows(old, lines, failures, duplicates)
    if new_lines is None:
        yield from ((restaurant, restaurant) for restaurant in restaurants)
        return
    by_id: dict[str, list[ExtractedRestaurant]] = {}
    new_failures = Failures()  # its duplicates are those of the old seed, which are counted once
    for restaurant in _read_rows(new, new_lines, new_failures, duplicates):
        by_id.setdefault(restaurant.business_id, []).append(restaurant)
    failures.lines += new_failures.lines
    for restaurant in restaurants:
        same_id = by_id.get(restaurant.business_id)
        yield restaurant, same_id.pop(0) if same_id else None
    yield from ((None, restaurant) for rest in by_id.values() for restaurant in rest)


def _read_rows(
    setting: Setting, lines: Iterable[InputLine], failures: Failures, duplicates: Duplicates
) -> Iterator[ExtractedRestaurant]:
    restaurants = read_rows(setting.evaluator, lines, failures, setting.parameters, duplicates)
    return (restaurant for restaurant in restaurants if restaurant.error is None)


def _trace(setting: Setting, restaurant: ExtractedRestaurant | None) -> _Trace:
    if restaurant is None:
        return _Trace({}, _NO_ROWS, DataError(f"there are no rows for the {setting.name} seed"))
    try:
        return _Trace(setting.evaluator.trace(restaurant.rows, restaurant.context, setting.parameters))
    except EvaluationError as error:
        return _Trace({}, error.step, error)
    except DataError as error:
        return _Trace({}, _NOT_EVALUATED, error)


def _add_failures(
    failures: Failures,
    restaurant: ExtractedRestaurant,
    settings: tuple[Setting, Setting],
    traces: tuple[_Trace, _Trace],
) -> None:
    """Report what failed: rows that neither seed can read once, anything else with the seed for which it failed."""
    first, second = (trace.fault for trace in traces)
    if isinstance(first, DataError) and str(first) == str(second):
        add_failure(failures, restaurant, first)
        return
    for setting, trace in zip(settings, traces, strict=True):
        if trace.fault is not None:
            note = "" if trace.failed_at == _NO_ROWS else f" (with the {setting.name} seed)"
            add_failure(failures, restaurant, trace.fault, note)


def _compare_restaurant(
    restaurant: ExtractedRestaurant, before: _Trace, after: _Trace, pairing: Pairing
) -> RestaurantChange:
    values: dict[str, tuple[Value, Value]] = {}
    if before.failed_at is None and after.failed_at is None:
        values = {name: (before.steps[old_name], after.steps[name]) for name, old_name in pairing.steps.items()}
    differing = {name for name, pair in values.items() if not is_same(*pair)}
    changed = tuple(output for output in pairing.outputs if output in differing)
    diverges_at = _first_difference(differing, changed, pairing)
    if before.failed_at != after.failed_at:
        diverges_at = after.failed_at or before.failed_at or ""
    name = restaurant.context.get("name")
    old_verdict = pairing.steps[pairing.verdict] if pairing.verdict is not None else None
    return RestaurantChange(
        business_id=restaurant.business_id,
        name=name if isinstance(name, str) else "",
        verdicts=(_verdict_text(before, old_verdict), _verdict_text(after, pairing.verdict)),
        outputs={output: values[output] for output in pairing.outputs if output in values},
        changed=changed,
        diverges_at=diverges_at,
    )


def _first_difference(differing: set[str], changed: tuple[str, ...], pairing: Pairing) -> str:
    """Return the first of the differing steps that lead to a changed output; empty if no output changed."""
    stack, leading = list(changed), set(changed)
    while stack:
        for symbol in pairing.uses[stack.pop()]:
            if symbol.kind is SymbolKind.STEP and symbol.name in differing and symbol.name not in leading:
                leading.add(symbol.name)
                stack.append(symbol.name)
    return next((name for name in pairing.steps if name in leading), "")


def _verdict_text(trace: _Trace, verdict: str | None) -> str | None:
    """Return a verdict as the matrix has it; None if the restaurant failed."""
    if trace.failed_at is not None:
        return None
    return format_plain(trace.steps[verdict]) if verdict is not None else _NO_VERDICT
