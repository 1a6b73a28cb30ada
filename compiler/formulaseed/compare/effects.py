"""Holds the effects of a change on restaurants: on each, as `diff` lists them, or of one number, as `sensitivity` does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from formulaseed.compare.pairing import Verdicts
from formulaseed.language.types import Value


@dataclass(frozen=True, slots=True)
class RestaurantChange:
    """The results of one restaurant with the old seed and with the new one.

    `outputs` maps each output to its two values; it is empty if the restaurant fails with either seed. `changed` names the
    outputs whose values differ. `diverges_at` is the first step, in the new seed's order, that has another value and on which
    a changed output depends through such steps. It is the failing step if the restaurant fails at different steps.
    """

    business_id: str
    name: str
    verdicts: Verdicts
    outputs: Mapping[str, tuple[Value, Value]]
    changed: tuple[str, ...]
    diverges_at: str

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
        }


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
