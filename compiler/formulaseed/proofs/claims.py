"""Define the claims of proofs, about one seed and about the difference of two, and the JSON of both.

The JSON Schema of claims about one seed is published as `grammar/proof.schema.json`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, InstanceOf, PlainSerializer, WithJsonSchema
from pydantic.dataclasses import dataclass

from formulaseed.explanation.explanation import build_model_schema
from formulaseed.explanation.model import Value
from formulaseed.proofs.world import Domain

FAILED = "(failed)"
"""The verdict of a restaurant for which a step fails."""


def _require_all(schema: dict[str, Any]) -> None:
    """Require all keys in the JSON Schema of a claim, which is changed: none is left out."""
    schema["required"] = [*schema["properties"]]
    for field in schema["properties"].values():
        field.pop("default", None)


Number = Annotated[int | float, WithJsonSchema({"type": "number"})]
_CONFIG = ConfigDict(extra="forbid", json_schema_extra=_require_all, use_attribute_docstrings=True)


@dataclass(frozen=True, config=_CONFIG)
class Failure:
    """The failure of a restaurant's evaluation."""

    step: str
    """The step that fails."""
    kind: str
    """The kind of the failure, such as division_by_zero."""


@dataclass(frozen=True, config=_CONFIG)
class Witness:
    """A restaurant that shows a claim: a line of rows, which `formulaseed evaluate --rows` takes, and what it computes."""

    business_id: str
    """What the restaurant shows, in words."""
    context: dict[str, Any]
    """The fields of the restaurant that the seed uses."""
    rows: list[dict[str, Any]]
    """Its reviews, of which none can be left out."""
    parameters: dict[str, Value]
    """Parameters that are not the seed's defaults."""
    steps: dict[str, Value]
    """The value of every step; empty if the evaluation fails."""
    error: Failure | None
    """The failure of the evaluation; null if there is none."""


@dataclass(frozen=True, config=_CONFIG)
class Reach:
    """Whether a restaurant reaches a rule, or a value of the verdict."""

    name: str
    """The step."""
    rule: int | None
    """The position of the rule, from 0, of a key in the order in which keys are tried; null for a value of the verdict."""
    value: Value
    """The value of the step."""
    status: Literal["reached", "unreachable", "unknown"]
    """unreachable is proved."""
    witness: Witness | None = None
    """A restaurant that reaches it; null without one."""


@dataclass(frozen=True, config=_CONFIG)
class StepFailure:
    """Whether a step with a partial operation can fail."""

    name: str
    """The step."""
    status: Literal["safe", "fails", "unknown"]
    """safe is proved."""
    kind: str | None = None
    """The kind of the failure, such as division_by_zero; null without a witness."""
    witness: Witness | None = None
    """A restaurant for which the step fails; null without one."""


@dataclass(frozen=True, config=_CONFIG)
class End:
    """The lowest or the highest value of a number."""

    status: Literal["tight", "bound", "open", "unknown"]
    """tight: a restaurant reaches the bound; bound: none goes beyond it; open: no bound was found."""
    bound: Annotated[Fraction, PlainSerializer(float, return_type=float)] | None = None
    """The proved bound; null without one."""
    reached: Value = None
    """The farthest value that a restaurant is known to reach; null without one."""
    witness: Witness | None = None
    """That restaurant; null without one."""


@dataclass(frozen=True, config=_CONFIG)
class Bounds:
    """The range of a number among the outputs."""

    name: str
    """The step."""
    low: End
    """The lowest value."""
    high: End
    """The highest value."""


@dataclass(frozen=True, config=_CONFIG)
class Property:
    """Whether a property holds."""

    text: Annotated[str, Field(serialization_alias="property")]
    """The property, as --property takes it."""
    status: Literal["proved", "refuted", "unknown"]
    """proved: it holds for every restaurant."""
    witness: Witness | None = None
    """The restaurant before the change; null unless it is refuted."""
    before: Number | None = None
    """The value of the property's first step before the change, if it is refuted."""
    after: Number | None = None
    """The value after the change, if it is refuted."""
    amount: int | None = None
    """The amount by which the property's second step grows; null if a review is added."""
    added: Witness | None = None
    """The restaurant with one more review; null if a step grows."""


def _describe_domain(domain: Domain) -> dict[str, str]:
    """Return the values of each field in words, by its name."""
    return {str(known.symbol): known.describe() for known in domain.fields.values()}


DomainInWords = Annotated[InstanceOf[Domain], PlainSerializer(_describe_domain)]


class _Document(BaseModel):
    """All claims of a study. `has_cells` is False if reviews have too many kinds, so that aggregates are only bounded."""

    model_config = _CONFIG

    has_cells: bool = Field(exclude=True)

    def to_json(self) -> dict[str, Any]:
        """Return the claims as JSON values, as docs/proving.md describes them."""
        return self.model_dump(mode="json", by_alias=True)


class Proof(_Document):
    """All claims about a seed. With `is_quick`, restaurants were tried, and nothing was proved."""

    seed: str
    """The path of the seed."""
    verdicts: list[Reach]
    """Each value of the verdict."""
    rules: list[Reach]
    """Each rule of a step that chooses by rules, and each key and default of a lookup."""
    failures: list[StepFailure]
    """Each step with an operation that may have no value."""
    bounds: list[Bounds]
    """Each output that is a number."""
    properties: list[Property]
    """The properties of the seed, then those that were asked for."""
    domain: DomainInWords
    """The values of each field that the proofs assume, in words."""
    effort: int
    """The solver's effort, in its own units."""
    is_quick: bool = Field(exclude=True)


def proof_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of `Proofs.json`."""
    about = "What holds for every restaurant of a seed, as `formulaseed prove --format json` writes it."
    return build_model_schema(Proof, about)


# --- two seeds


def _write_pair(pair: tuple[Witness, ...]) -> dict[str, Witness] | None:
    """Return the restaurant by the old and by the new seed; None without one."""
    return dict(zip(("old", "new"), pair, strict=True)) if pair else None


Pair = Annotated[tuple[Witness, ...], PlainSerializer(_write_pair)]
"""A restaurant by the old seed and by the new one; empty without a restaurant."""


@dataclass(frozen=True)
class StepRelation:
    """The relation of a step of the new seed to the step of the old seed called `old_name`.

    `same`: the same definition over steps that are the same. `equal`: proved in exact arithmetic. `differs`: a witness shows it.
    `order` is `never lower` or `never higher` if that is proved of a number, else None.
    """

    name: str
    old_name: Annotated[str, Field(exclude=True)]
    status: Literal["same", "equal", "differs", "unknown"]
    order: str | None = None
    witness: Pair = ()


@dataclass(frozen=True)
class Move:
    """A change of the verdict from `old` to `new`, or whether one seed fails (`FAILED`), with a witness if it is possible."""

    old: Annotated[Value, Field(serialization_alias="from")]
    new: Annotated[Value, Field(serialization_alias="to")]
    status: Literal["possible", "impossible", "unknown"]
    witness: Pair = ()


@dataclass(frozen=True)
class Region:
    """The restaurants that meet a condition. `move` is the change of the verdict there; None if other steps decide, too."""

    condition: str
    move: tuple[Value, Value] | None


class SeedProof(_Document):
    """The proofs about the difference of two seeds. `regions` are None unless all steps before the verdict are equal."""

    relations: list[StepRelation] = Field(serialization_alias="outputs")
    verdict: str | None
    moves: list[Move]
    regions: list[Region] | None
    domain: DomainInWords
    effort: int

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
