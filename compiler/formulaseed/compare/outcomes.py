"""Holds the effects of a change on restaurants: verdicts that flip, numbers that move, steps that diverge, and their causes.

`evaluation` computes them from rows, `results` reads them from files. Out: JSON values, and the blocks of a document.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from formulaseed.compare.causes import InputChange
from formulaseed.compare.definitions import format_name
from formulaseed.compare.pairing import Pairing, Verdicts, build_matrix_table, compute_change, format_verdict_cell
from formulaseed.data.results import Failures
from formulaseed.language.types import Value
from formulaseed.pages.blocks import Block, Heading, InlineCode, Items, ListItem, Table, sentence
from formulaseed.pages.values import format_change, format_value
from formulaseed.source.printing import number_of

_MAX_LISTED_CAUSES = 5


@dataclass(frozen=True, slots=True)
class RestaurantChange:
    """The results of one restaurant with the old seed and with the new one.

    `outputs` maps each output to its two values; it is empty if the restaurant fails with either seed. `changed` names the
    outputs whose values differ. `diverges_at` is the first step, in the new seed's order, that has another value and on which
    a changed output depends through such steps. It is the failing step if the restaurant fails at different steps.
    `causes` are the changes of its input; empty if they were not compared, or the verdict is the same.
    """

    business_id: str
    name: str
    verdicts: Verdicts
    outputs: Mapping[str, tuple[Value, Value]]
    changed: tuple[str, ...]
    diverges_at: str
    causes: tuple[InputChange, ...] = ()

    @property
    def is_different(self) -> bool:
        """True if an output differs, or if the restaurant fails with one seed only."""
        return bool(self.changed) or self.verdicts[0] != self.verdicts[1]

    def to_json(self) -> dict[str, Any]:
        """Return the change as a JSON object of `--format json`, as docs/analysis.md describes it."""
        return {
            "business_id": self.business_id,
            "name": self.name,
            "verdict": _name_pair(self.verdicts),
            "outputs": {name: _name_pair(self.outputs[name]) for name in self.changed},
            "diverges_at": self.diverges_at,
            "causes": [asdict(cause) for cause in self.causes],
        }

    def build_causes(self) -> Iterator[ListItem]:
        """Yield an item for the verdicts, and items below it for at most `_MAX_LISTED_CAUSES` changes of the input.

        If some changes move the verdict alone, only they are listed, and the others are counted.
        """
        verdicts = [*map(format_verdict_cell, self.verdicts)]
        moving = [cause for cause in self.causes if cause.moves]
        tried = sum(cause.moves is not None for cause in self.causes)
        lead = (InlineCode(self.business_id), ": ", verdicts[0], " → ", verdicts[1])
        if moving:
            yield ListItem((*lead, ", moved by" if len(moving) == 1 else ", moved by each of these alone"))
        elif len(self.causes) == 1:
            yield ListItem((*lead, ", after"))
        else:
            note = "of them" if tried == len(self.causes) else f"of the {tried:,} that were tried"
            yield ListItem((*lead, f", moved by {len(self.causes):,} changes together, and by none {note} alone"))
        listed = moving or self.causes
        for cause in listed[:_MAX_LISTED_CAUSES]:
            parts = cause.describe()
            if cause.moves and cause.verdict != self.verdicts[1]:
                parts += [", alone to ", format_verdict_cell(cause.verdict)]
            yield ListItem(tuple(parts), 1)
        more = len(listed) - _MAX_LISTED_CAUSES
        if more > 0:
            yield ListItem(f"{more:,} more", 1)
        if moving and len(moving) < tried:
            yield ListItem(f"not moved by {number_of(tried - len(moving), 'other change')} alone", 1)


def _name_pair(pair: tuple[Any, Any]) -> dict[str, Any]:
    """Return a pair as an object with the keys `old` and `new`."""
    return {"old": pair[0], "new": pair[1]}


@dataclass(frozen=True, slots=True)
class Variant:
    """The effect of one number's other `value` on the restaurants.

    `flips` counts the restaurants with another result by their verdicts before and after; None is the verdict of one that
    fails. `changes` maps each numeric output that moves to its largest change and the `business_id` of that restaurant.
    `broken` has the restaurants that have an expected output with the original number only.
    """

    value: int | float
    flips: Mapping[Verdicts, int]
    changes: Mapping[str, tuple[float, str]]
    broken: tuple[str, ...]

    @property
    def flip_count(self) -> int:
        """The number of restaurants that have another verdict."""
        return sum(count for pair, count in self.flips.items() if None not in pair)

    @property
    def failure_count(self) -> int:
        """The number of restaurants that fail with this value but not with the original one, or the other way round."""
        return sum(count for pair, count in self.flips.items() if None in pair)

    def to_json(self) -> dict[str, Any]:
        """Return the variant as a JSON object of `--format json`, as docs/analysis.md describes it."""
        return {
            "value": self.value,
            "flipped": self.flip_count,
            "failing": self.failure_count,
            "flips": [{"old": old, "new": new, "restaurants": count} for (old, new), count in self.flips.items()],
            "changes": {name: {"change": change, "business_id": who} for name, (change, who) in self.changes.items()},
            "broken": list(self.broken),
        }


MAX_IN_TEXT = 20
MAX_ON_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class LoneRestaurant:
    """A restaurant that only one of two runs has, with its verdict there; None if it fails."""

    business_id: str
    name: str
    verdict: str | None


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The results of all restaurants with two seeds.

    `matrix` counts restaurants by their two verdicts, failures included. `changes` are the restaurants whose results differ.
    `failures` has the restaurants and lines that failed. `extracted_twice` is True if each seed has rows of its own.
    `gone` and `new` are the restaurants that only the old run or only the new one has; nothing else counts them. `broken`
    maps restaurants to the outputs that have the expected value with the old seed only; None if nothing is expected.
    """

    pairing: Pairing
    matrix: Mapping[Verdicts, int]
    changes: tuple[RestaurantChange, ...]
    failures: Failures
    extracted_twice: bool = False
    gone: Sequence[LoneRestaurant] = ()
    new: Sequence[LoneRestaurant] = ()
    broken: Mapping[str, list[str]] | None = None

    @property
    def restaurant_count(self) -> int:
        """The number of restaurants that both runs have, failures included."""
        return sum(self.matrix.values())

    @property
    def flip_count(self) -> int:
        """The number of restaurants that have another verdict, or fail with one seed only."""
        return sum(count for (old, new), count in self.matrix.items() if old != new)

    def has_changed(self, check: str) -> bool:
        """Return whether `verdicts`, `outputs` or `expected` outputs have changed, as `check` says; False for another check."""
        findings = {"verdicts": self.flip_count, "outputs": self.changes, "expected": self.broken}
        return bool(findings.get(check))

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
        score = self.score or ""

        def build_order(change: RestaurantChange) -> tuple[bool, float, str]:
            score_change = compute_change(*change.outputs.get(score, (None, None)))
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
            "gone": [asdict(restaurant) for restaurant in self.gone],
            "new": [asdict(restaurant) for restaurant in self.new],
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
            name = format_name(self.pairing.verdict, self.pairing.labels)
            yield sentence(name, f" changes for {self.flip_count:,} of {total}{note}.")
            yield build_matrix_table("before \\ after", self.matrix, self.pairing.possible_verdicts)
        if self.gone or self.new:
            yield sentence(
                f"{number_of(len(self.gone), 'restaurant')} only in the old run, {len(self.new):,} only in the new."
            )
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
        # without changes, one value of each pair is null
        mean = format_change(sum(changes) / len(changes)) if changes else "-"
        rise = format_change(max(changes)) if max(changes, default=0.0) > 0 else "-"
        fall = format_change(min(changes)) if min(changes, default=0.0) < 0 else "-"
        return format_name(output, self.pairing.labels), str(len(pairs)), mean, rise, fall

    def build_restaurant_tables(self, max_restaurants: int = MAX_IN_TEXT) -> Iterator[Block]:
        """Yield tables of the restaurants with other results, with what moved them, and of those that one run lacks.

        At most `max_restaurants` are listed in each. Yields nothing if no restaurant differs.
        """
        changes = self.rank_changes()
        if changes:
            yield _build_heading("Restaurants with other results", changes, max_restaurants)
            yield from self._build_changes(changes[:max_restaurants])
        causes = [item for change in changes[:max_restaurants] if change.causes for item in change.build_causes()]
        if causes:
            yield Heading("What moved them", 3)
            yield Items(causes)
        for title, restaurants in (("Only in the old run", self.gone), ("Only in the new run", self.new)):
            if restaurants:
                yield _build_heading(title, restaurants, max_restaurants)
                listed = restaurants[:max_restaurants]
                rows = [(InlineCode(lone.business_id), format_verdict_cell(lone.verdict)) for lone in listed]
                yield Table(("restaurant", "verdict"), rows, is_sortable=True)

    def _build_changes(self, changes: Sequence[RestaurantChange]) -> Iterator[Block]:
        """Yield a table of `changes`, and one of the steps at which restaurants diverge first, if any step is known."""
        score = self.score
        has_steps = any(change.diverges_at for change in changes)
        columns = ["restaurant"]
        if self.pairing.verdict is not None:
            columns += ["verdict before", "verdict after"]
        if score is not None:
            columns += [format_name(score, self.pairing.labels, f" {name}") for name in ("before", "after", "change")]
        if self.broken is not None:
            columns.append("breaks")
        rows = []
        for change in changes:
            row: list[str] = [InlineCode(change.business_id)]
            if self.pairing.verdict is not None:
                row += map(format_verdict_cell, change.verdicts)
            if score is not None:
                row += _build_score_cells(change, score)
            if self.broken is not None:
                row.append(InlineCode(", ".join(self.broken.get(change.business_id, ()))))
            rows.append([*row, format_name(change.diverges_at, self.pairing.labels)] if has_steps else row)
        if has_steps:
            columns.append("first step that differs")
        yield Table(columns, rows, is_sortable=True)
        if has_steps:
            divergences = self.count_divergences().most_common()
            steps = [(format_name(step, self.pairing.labels), f"{count:,}") for step, count in divergences]
            yield Table(("first step that differs", "restaurants"), steps)


def _build_heading(title: str, restaurants: Sequence[object], max_restaurants: int) -> Heading:
    """Return the heading of a table of restaurants; it says how many there are if not all of them are listed."""
    if len(restaurants) > max_restaurants:
        title += f", the first {max_restaurants:,} of {len(restaurants):,}"
    return Heading(title, 3)


def _build_score_cells(change: RestaurantChange, score: str) -> list[str]:
    """Return three cells: the two values of the score and their difference, "-" for each that the restaurant does not have."""
    if score not in change.outputs:
        return ["-", "-", "-"]
    pair = change.outputs[score]
    score_change = compute_change(*pair)
    cells = [InlineCode(value) if isinstance(value, str) else format_value(value) for value in pair]
    return [*cells, "-" if score_change is None else format_change(score_change)]
