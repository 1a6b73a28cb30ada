"""Define the claims of proofs: about one seed, and about the difference of two; and write claims as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from formulaseed.language.types import Value
from formulaseed.pages.values import format_plain
from formulaseed.proofs.nodes import Constant, Interval
from formulaseed.proofs.runner import Witness
from formulaseed.proofs.world import Domain

ReachStatus = Literal["reached", "unreachable", "unknown"]
EndStatus = Literal["tight", "bound", "open", "unknown"]
"""`tight`: a restaurant reaches the bound. `bound`: none goes beyond. `open`: one goes far beyond. `unknown`: none of these."""
Status = Literal["same", "equal", "differs", "unknown"]
"""`same`: the same expression over equal steps. `equal`: proved in exact arithmetic. `differs`: a witness shows it."""
FAILED = "(failed)"
"""The verdict of a restaurant for which a step fails."""
Pair = tuple[Witness, ...]
"""A restaurant by the old seed and by the new one."""


class ReachClaim(NamedTuple):
    """Whether some restaurant reaches the rule at `place` of the step `name`, or its value if `place` is None."""

    name: str
    place: int | None
    value: Value
    status: ReachStatus
    witness: Witness | None = None

    @property
    def title(self) -> str:
        """The name of a restaurant that shows the claim."""
        rule = "" if self.place is None else f" rule {self.place + 1}"
        return f"{self.name}{rule} {format_plain(self.value)}"


class FailureClaim(NamedTuple):
    """Whether the step `name` can fail; `kind` is that of the failure that is reached, else None."""

    name: str
    status: Literal["safe", "fails", "unknown"]
    kind: str | None = None
    witness: Witness | None = None

    @property
    def title(self) -> str:
        """The name of a restaurant that shows the claim."""
        return f"{self.name} fails"


class EndClaim(NamedTuple):
    """The lowest or highest value of a number: a proved bound if there is one, and the farthest value that is reached."""

    status: EndStatus
    bound: Fraction | None = None
    reached: Value = None
    witness: Witness | None = None


class BoundsClaim(NamedTuple):
    """The two ends of a numeric output."""

    name: str
    low: EndClaim
    high: EndClaim


class PropertyClaim(NamedTuple):
    """Whether a property holds. A refuted one has a restaurant, and the number before and after the change.

    The change is a restaurant with one more review, `added`, or the step grows by `amount`.
    """

    text: str
    status: Literal["proved", "refuted", "unknown"]
    witness: Witness | None = None
    before: int | float | None = None
    after: int | float | None = None
    amount: int | None = None
    added: Witness | None = None


@dataclass(frozen=True)
class Claims:
    """Everything that is known of a seed for all restaurants."""

    rules: tuple[ReachClaim, ...]
    verdicts: tuple[ReachClaim, ...]
    failures: tuple[FailureClaim, ...]
    bounds: tuple[BoundsClaim, ...]
    domain: Domain
    units: int
    has_cells: bool
    is_quick: bool


# --- two seeds


class StepRelation(NamedTuple):
    """The relation of a step of the new seed to the step of the old seed called `old_name`.

    `order` is `never lower` or `never higher` if that is proved of a number, else None. `witness` shows a difference.
    """

    name: str
    old_name: str
    status: Status
    order: str | None = None
    witness: Pair = ()


class Move(NamedTuple):
    """A change of the verdict from `old` to `new`, or whether one seed fails (`FAILED`), with a witness if it is possible."""

    old: Value
    new: Value
    status: Literal["possible", "impossible", "unknown"]
    witness: Pair = ()

    @property
    def title(self) -> str:
        """The name of a restaurant that shows the move."""
        return f"{format_plain(self.old)} to {format_plain(self.new)}"


class Region(NamedTuple):
    """The values of the step `name` for which the verdict moves. `move` is the change there; None if other steps decide, too."""

    name: str
    interval: Interval
    move: tuple[Constant, Constant] | None


@dataclass(frozen=True)
class SeedProof:
    """The proofs about the difference of two seeds. `regions` are None unless all steps before the verdict are equal."""

    relations: tuple[StepRelation, ...]
    verdict: str | None
    moves: tuple[Move, ...]
    regions: tuple[Region, ...] | None
    domain: Domain
    units: int
    has_cells: bool

    @property
    def may_move(self) -> bool:
        """True if a change of the verdict is possible or unknown, also of one whose values are not known beforehand."""
        is_listed = any(FAILED not in (move.old, move.new) for move in self.moves)
        is_unlisted = self.verdict is not None and not self.is_verdict_equal and not is_listed
        return is_unlisted or any(move.status != "impossible" for move in self.moves)

    @property
    def is_verdict_equal(self) -> bool:
        """True if it is proved that no restaurant gets another verdict."""
        statuses = (relation.status for relation in self.relations if relation.name == self.verdict)
        return any(status in ("same", "equal") for status in statuses)


# --- JSON

_KEYS = {"place": "rule", "text": "property", "old": "from", "new": "to"}
"""The keys of fields whose name is another one."""
_TITLES = {"low": " lowest", "high": " highest", "added": ", one more review"}
"""The part of a witness's name for the field that it is in."""


def claim_json(claim: Any, title: str = "") -> Any:
    """Return a claim, or a field of one, as JSON; `title` names a witness."""
    if isinstance(claim, Witness):
        return claim.to_json(title)
    if isinstance(claim, Fraction):
        return float(claim)
    if hasattr(claim, "_fields"):
        own = getattr(claim, "title", title) or claim[0]
        fields = ((name, getattr(claim, name)) for name in claim._fields if name != "old_name")
        return {_KEYS.get(name, name): claim_json(value, own + _TITLES.get(name, "")) for name, value in fields}
    if isinstance(claim, tuple):
        return dict(zip(("old", "new"), (claim_json(part, title) for part in claim), strict=True)) if claim else None
    return claim
