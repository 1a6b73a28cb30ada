"""Holds the results of one restaurant with two seeds, as `diff` lists them."""

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
    broken: tuple[str, ...] = ()
    """The outputs that have the expected value with the old seed, but not with the new one."""

    @property
    def is_different(self) -> bool:
        """True if an output differs, an expectation is broken, or the restaurant fails with one seed only."""
        return bool(self.changed or self.broken) or self.verdicts[0] != self.verdicts[1]

    def to_json(self) -> dict[str, Any]:
        """Return the change as a JSON object of `--format json`, as docs/analysis.md describes it."""
        return {
            "business_id": self.business_id,
            "name": self.name,
            "verdict": _name_pair(self.verdicts),
            "outputs": {name: _name_pair(self.outputs[name]) for name in self.changed},
            "diverges_at": self.diverges_at,
            "breaks": list(self.broken),
        }


def _name_pair(pair: tuple[Any, Any]) -> dict[str, Any]:
    """Return a pair as an object with the keys `old` and `new`."""
    return {"old": pair[0], "new": pair[1]}
