"""Compares the results of two programs for the same restaurants: verdicts that flip, numbers that move, steps that diverge.

In: two evaluators with the pairing of their steps, and lines of rows. Out: `Outcomes`. A restaurant that fails is counted,
and named in `failures`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from formulaseed.compare.effects import RestaurantChange
from formulaseed.compare.expect import Expectations, require_lines
from formulaseed.compare.pairing import (
    Pairing,
    Verdicts,
    build_matrix_table,
    compute_change,
    format_verdict,
    format_verdict_cell,
    is_same,
)
from formulaseed.data.duplicates import Duplicates
from formulaseed.data.jsonl import InputLine
from formulaseed.data.results import Failures
from formulaseed.errors import DataError, EvaluationError
from formulaseed.language.typed import SymbolKind
from formulaseed.language.types import Value
from formulaseed.pages.blocks import Block, Heading, InlineCode, Table, sentence
from formulaseed.pages.values import format_change, format_value
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.extracting import ExtractedRestaurant
from formulaseed.runtime.running import add_failure, read_rows
from formulaseed.source.printing import number_of

_MAX_LISTED_RESTAURANTS = 20
_NO_ROWS = "(extraction)"
_NOT_EVALUATED = "(data)"


@dataclass(frozen=True, slots=True)
class Setting:
    """A compiled seed with its parameters; `name` is `old` or `new`."""

    name: str
    evaluator: Evaluator
    parameters: Mapping[str, Value] | None = None


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The results of all restaurants with two seeds.

    `matrix` counts restaurants by their two verdicts, failures included. `changes` are the restaurants whose results differ.
    `failures` has the restaurants and lines that failed. `extracted_twice` is True if each seed has rows of its own. `broken`
    maps restaurants to the outputs that have the expected value with the old seed only; None if nothing is expected.
    """

    pairing: Pairing
    matrix: Mapping[Verdicts, int]
    changes: tuple[RestaurantChange, ...]
    failures: Failures
    extracted_twice: bool = False
    broken: Mapping[str, list[str]] | None = None

    @property
    def restaurant_count(self) -> int:
        """The number of restaurants, failures included."""
        return sum(self.matrix.values())

    @property
    def flip_count(self) -> int:
        """The number of restaurants that have another verdict, or fail with one seed only."""
        return sum(count for (old, new), count in self.matrix.items() if old != new)

    def count_failures(self, side: int) -> int:
        """Return how many restaurants fail with the old seed (`side` 0) or with the new one (1)."""
        return sum(count for verdicts, count in self.matrix.items() if verdicts[side] is None)

    def count_divergences(self) -> Counter[str]:
        """Return for each step how many restaurants with other results diverge there first."""
        return Counter(change.diverges_at for change in self.changes)

    def rank_changes(self) -> list[RestaurantChange]:
        """Return the restaurants whose results differ: other verdicts first, then the largest changes of the score.

        Those without a change of the score come last; those with the same change are in the order of their ids.
        """
        score = self.score

        def build_order(change: RestaurantChange) -> tuple[bool, float, str]:
            score_change = None
            if score is not None and score in change.outputs:
                score_change = compute_change(*change.outputs[score])
            return change.verdicts[0] == change.verdicts[1], -abs(score_change or 0.0), change.business_id

        return sorted(self.changes, key=build_order)

    @property
    def score(self) -> str | None:
        """The numeric output by which restaurants are ranked: the first that changed, else the first; None if there is none."""
        return next(iter((*self._find_changed_numbers(), *self.pairing.numeric_outputs)), None)

    def _find_changed_numbers(self) -> list[str]:
        """Return the numeric outputs that changed for at least one restaurant, in the order of the pairing."""
        changed = {name for change in self.changes for name in change.changed}
        return [name for name in self.pairing.numeric_outputs if name in changed]

    def to_json(self) -> dict[str, Any]:
        """Return the outcomes as a JSON object of `--format json`, as docs/analysis.md describes it."""
        return {
            "restaurants": self.restaurant_count,
            "extracted_twice": self.extracted_twice,
            "verdict": self.pairing.verdict,
            "matrix": [{"old": old, "new": new, "restaurants": count} for (old, new), count in self.matrix.items()],
            "broken": self.broken,
            "diverging": dict(self.count_divergences().most_common()),
            "differing": [change.to_json() for change in self.rank_changes()],
            "failures": self.failures.lines,
        }

    # --- parts of a document

    def build_summary(self) -> Iterator[Block]:
        """Yield how many restaurants change their verdict, the matrix of verdicts, and how far numeric outputs move."""
        old_failures = self.count_failures(0)
        new_failures = self.count_failures(1)
        note = f"; {old_failures} failed before, {new_failures} after" if old_failures or new_failures else ""
        total = number_of(self.restaurant_count, "restaurant")
        if self.pairing.verdict is None:
            yield sentence(f"{len(self.changes)} of {total} have other outputs{note}; none of these is a verdict.")
        else:
            yield sentence(InlineCode(self.pairing.verdict), f" changes for {self.flip_count:,} of {total}{note}.")
            yield build_matrix_table("before \\ after", self.matrix, self.pairing.possible_verdicts)
        if self.broken is not None:
            yield sentence(f"Expectations are broken for {number_of(len(self.broken), 'restaurant')}.")
        rows = tuple(map(self._build_number_row, self._find_changed_numbers()))
        if rows:
            yield Table(("output", "restaurants", "mean change", "largest rise", "largest fall"), rows)

    def _build_number_row(self, output: str) -> tuple[str, ...]:
        """Return the row of a numeric output: the number of changed values, mean change, largest rise and fall.

        Changes from or to null are counted, but not measured; "-" is in place of a number that there is not.
        """
        pairs = [change.outputs[output] for change in self.changes if output in change.changed]
        changes = [change for pair in pairs if (change := compute_change(*pair)) is not None]
        if not changes:  # one value of each pair is null
            return InlineCode(output), str(len(pairs)), "-", "-", "-"
        rise = max(changes)
        fall = min(changes)
        return (
            InlineCode(output),
            str(len(pairs)),
            format_change(sum(changes) / len(changes)),
            format_change(rise) if rise > 0 else "-",
            format_change(fall) if fall < 0 else "-",
        )

    def build_restaurant_tables(self) -> Iterator[Block]:
        """Yield a table of the restaurants with other results, and one of the steps at which they diverge first.

        The first table has at most `_MAX_LISTED_RESTAURANTS` restaurants. Yields nothing if no restaurant differs.
        """
        changes = self.rank_changes()
        score = self.score
        if not changes:
            return
        title = "Restaurants with other results"
        if len(changes) > _MAX_LISTED_RESTAURANTS:
            title += f", the first {_MAX_LISTED_RESTAURANTS} of {len(changes):,}"
        yield Heading(title, 3)
        columns = ["restaurant"]
        if self.pairing.verdict is not None:
            columns += ["verdict before", "verdict after"]
        if score is not None:
            columns += [InlineCode(f"{score} {name}") for name in ("before", "after", "change")]
        if self.broken is not None:
            columns.append("breaks")
        rows = []
        for change in changes[:_MAX_LISTED_RESTAURANTS]:
            row: list[str] = [InlineCode(change.business_id)]
            if self.pairing.verdict is not None:
                row += map(format_verdict_cell, change.verdicts)
            if score is not None:
                row += _build_score_cells(change, score)
            if self.broken is not None:
                row.append(InlineCode(", ".join(self.broken.get(change.business_id, ()))))
            rows.append([*row, InlineCode(change.diverges_at)])
        yield Table((*columns, "first step that differs"), rows)
        steps = [(InlineCode(step), f"{count:,}") for step, count in self.count_divergences().most_common()]
        yield Table(("first step that differs", "restaurants"), steps)


def _build_score_cells(change: RestaurantChange, score: str) -> list[str]:
    """Return three cells: the two values of the score and their difference, "-" for each that the restaurant does not have."""
    if score not in change.outputs:
        return ["-", "-", "-"]
    old, new = change.outputs[score]
    score_change = compute_change(old, new)
    return [
        _format_value_cell(old),
        _format_value_cell(new),
        "-" if score_change is None else format_change(score_change),
    ]


def _format_value_cell(value: Value) -> str:
    return InlineCode(value) if isinstance(value, str) else format_value(value)


# --- evaluation


@dataclass(frozen=True, slots=True)
class _StepValues:
    """The values of all steps of a restaurant; None if it fails, with the error and the step (or other place) of it."""

    values: Mapping[str, Value] | None
    failed_at: str | None = None
    error: EvaluationError | DataError | None = None


_RestaurantPair = tuple[ExtractedRestaurant | None, ExtractedRestaurant | None]
"""A restaurant with its rows for the old seed and for the new one; None for a seed for which it has none."""


def compare_outcomes(
    old: Setting,
    new: Setting,
    pairing: Pairing,
    lines: Iterable[InputLine],
    failures: Failures,
    new_lines: Iterable[InputLine] | None,
    duplicates: Duplicates,
    expectations: Expectations,
) -> Outcomes:
    """Evaluate every restaurant with both seeds and compare the results; add those that fail to `failures`.

    Lines that cannot be read are added, too. `new_lines` are the rows of the new seed, None if both seeds use
    `lines`. A restaurant with rows for one seed only fails with the other seed. `expectations` are of the old seed's outputs.
    """
    broken: dict[str, list[str]] = {}
    matrix: Counter[Verdicts] = Counter()
    changes: list[RestaurantChange] = []
    for before, after in _pair_restaurants(
        old, new, require_lines(lines, expectations), new_lines, failures, duplicates
    ):
        restaurant = before or after
        assert restaurant is not None  # every pair has rows for at least one seed
        old_steps = _evaluate_restaurant(old, before)
        new_steps = _evaluate_restaurant(new, after)
        _add_failures(failures, restaurant, (old, new), (old_steps, new_steps))
        change = _compare_restaurant(restaurant, old_steps, new_steps, pairing)
        matrix[change.verdicts] += 1
        if change.is_different:
            changes.append(change)
        if change.business_id in expectations:
            values = new_steps.values
            renamed = (
                None if values is None else {old_name: values[name] for name, old_name in pairing.old_names.items()}
            )
            outputs = expectations[change.business_id].find_broken(old_steps.values, renamed)
            if outputs:
                broken[change.business_id] = outputs
    return Outcomes(
        pairing, dict(matrix), tuple(changes), failures, new_lines is not None, broken if expectations else None
    )


def _pair_restaurants(
    old: Setting,
    new: Setting,
    lines: Iterable[InputLine],
    new_lines: Iterable[InputLine] | None,
    failures: Failures,
    duplicates: Duplicates,
) -> Iterator[_RestaurantPair]:
    """Yield the restaurants of `lines` paired by id with those of `new_lines`, then those that only `new_lines` has.

    If `new_lines` is None, each restaurant is paired with itself; otherwise all of `new_lines` is read into memory
    first. Adds lines that cannot be read to `failures`.
    """
    restaurants = _read_rows(old, lines, failures, duplicates)
    if new_lines is None:
        yield from ((restaurant, restaurant) for restaurant in restaurants)
        return
    by_id: dict[str, list[ExtractedRestaurant]] = {}
    new_failures = Failures()  # its duplicates are not added: those of the old rows are the same, and count once
    for restaurant in _read_rows(new, new_lines, new_failures, duplicates):
        by_id.setdefault(restaurant.business_id, []).append(restaurant)
    failures.lines += new_failures.lines
    for restaurant in restaurants:
        same_id = by_id.get(restaurant.business_id)
        yield restaurant, same_id.pop(0) if same_id else None
    yield from ((None, restaurant) for remaining in by_id.values() for restaurant in remaining)


def _read_rows(
    setting: Setting, lines: Iterable[InputLine], failures: Failures, duplicates: Duplicates
) -> Iterator[ExtractedRestaurant]:
    """Yield the restaurants of `lines` that have rows; add lines that cannot be read to `failures`."""
    restaurants = read_rows(setting.evaluator, lines, failures, setting.parameters, duplicates)
    return (restaurant for restaurant in restaurants if restaurant.error is None)


def _evaluate_restaurant(setting: Setting, restaurant: ExtractedRestaurant | None) -> _StepValues:
    """Return a restaurant's step values, or its error and where it occurred; errors are returned, not raised.

    A `restaurant` that is None fails at `_NO_ROWS`; one whose rows are invalid fails at `_NOT_EVALUATED`.
    """
    if restaurant is None:
        return _StepValues(None, _NO_ROWS, DataError(f"there are no rows for the {setting.name} seed"))
    try:
        return _StepValues(setting.evaluator.trace(restaurant.rows, restaurant.context, setting.parameters))
    except EvaluationError as error:
        return _StepValues(None, error.step, error)
    except DataError as error:
        return _StepValues(None, _NOT_EVALUATED, error)


def _add_failures(
    failures: Failures,
    restaurant: ExtractedRestaurant,
    settings: tuple[Setting, Setting],
    results: tuple[_StepValues, _StepValues],
) -> None:
    """Add a restaurant's errors to `failures`: rows that neither seed can read once, other errors with the seed's name."""
    old_error, new_error = (result.error for result in results)
    if isinstance(old_error, DataError) and str(old_error) == str(new_error):
        add_failure(failures, restaurant, old_error)
        return
    for setting, result in zip(settings, results, strict=True):
        if result.error is not None:
            note = "" if result.failed_at == _NO_ROWS else f" (with the {setting.name} seed)"
            add_failure(failures, restaurant, result.error, note)


def _compare_restaurant(
    restaurant: ExtractedRestaurant, before: _StepValues, after: _StepValues, pairing: Pairing
) -> RestaurantChange:
    """Return the two verdicts and outputs of a restaurant, the outputs that changed, and the first step that differs.

    If it fails with either seed, there are no outputs, and the verdict with that seed is None.
    """
    pairs: dict[str, tuple[Value, Value]] = {}
    if before.values is not None and after.values is not None:
        pairs = {name: (before.values[old_name], after.values[name]) for name, old_name in pairing.old_names.items()}
    differing = {name for name, pair in pairs.items() if not is_same(*pair)}
    changed = tuple(output for output in pairing.outputs if output in differing)
    diverges_at = _find_first_difference(differing, changed, pairing)
    if before.failed_at != after.failed_at:
        diverges_at = after.failed_at or before.failed_at or ""
    name = restaurant.context.get("name")
    old_verdict = pairing.old_names.get(pairing.verdict) if pairing.verdict is not None else None
    return RestaurantChange(
        business_id=restaurant.business_id,
        name=name if isinstance(name, str) else "",
        verdicts=(format_verdict(before.values, old_verdict), format_verdict(after.values, pairing.verdict)),
        outputs={output: pairs[output] for output in pairing.outputs if output in pairs},
        changed=changed,
        diverges_at=diverges_at,
    )


def _find_first_difference(differing: set[str], changed: tuple[str, ...], pairing: Pairing) -> str:
    """Return the first differing step on which a changed output depends; empty if `changed` is empty.

    The steps between it and the output must differ, too; the output itself counts. The order is that of the new seed.
    """
    stack = list(changed)
    causes = set(changed)
    while stack:
        for symbol in pairing.uses[stack.pop()]:
            if symbol.kind is SymbolKind.STEP and symbol.name in differing and symbol.name not in causes:
                causes.add(symbol.name)
                stack.append(symbol.name)
    return next((name for name in pairing.old_names if name in causes), "")
