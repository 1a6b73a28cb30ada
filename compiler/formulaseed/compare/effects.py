"""Holds the effects of a change on restaurants: on each, as `diff` lists them, or of one number, as `sensitivity` does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from formulaseed.compare.causes import InputChange
from formulaseed.compare.pairing import Verdicts, format_verdict_cell
from formulaseed.language.types import Value
from formulaseed.pages.blocks import InlineCode, ListItem
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
        for cause in (moving or self.causes)[:_MAX_LISTED_CAUSES]:
            parts = cause.describe()
            if cause.moves and cause.verdict != self.verdicts[1]:
                parts += [", alone to ", format_verdict_cell(cause.verdict)]
            yield ListItem(tuple(parts), 1)
        more = len(moving or self.causes) - _MAX_LISTED_CAUSES
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
