"""Define the JSON of proofs about one seed. The JSON Schema is published as `grammar/proof.schema.json`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from formulaseed.explanation.explanation import build_model_schema
from formulaseed.explanation.model import Value


class _Part(BaseModel):
    """A part of the JSON, without further keys."""

    model_config = ConfigDict(extra="forbid")


class Failure(_Part):
    """The failure of a restaurant's evaluation."""

    step: str = Field(description="The step that fails.")
    kind: str = Field(description="The kind of the failure, such as division_by_zero.")


class Witness(_Part):
    """A restaurant that shows a claim: a line of rows, which `formulaseed evaluate --rows` takes, and what it computes."""

    business_id: str = Field(description="What the restaurant shows, in words.")
    context: dict[str, Any] = Field(description="The fields of the restaurant that the seed uses.")
    rows: list[dict[str, Any]] = Field(description="Its reviews, of which none can be left out.")
    parameters: dict[str, Value] = Field(description="Parameters that are not the seed's defaults.")
    steps: dict[str, Value] = Field(description="The value of every step; empty if the evaluation fails.")
    error: Failure | None = Field(description="The failure of the evaluation; null if there is none.")


class Reach(_Part):
    """Whether a restaurant reaches a rule, or a value of the verdict."""

    name: str = Field(description="The step.")
    rule: int | None = Field(description="The position of the rule, from 0; null for a value of the verdict.")
    value: Value = Field(description="The value of the step.")
    status: Literal["reached", "unreachable", "unknown"] = Field(description="unreachable is proved.")
    witness: Witness | None = Field(description="A restaurant that reaches it; null without one.")


class StepFailure(_Part):
    """Whether a step with a partial operation can fail."""

    name: str = Field(description="The step.")
    status: Literal["safe", "fails", "unknown"] = Field(description="safe is proved.")
    kind: str | None = Field(description="The kind of the failure, such as division_by_zero; null without a witness.")
    witness: Witness | None = Field(description="A restaurant for which the step fails; null without one.")


class End(_Part):
    """The lowest or the highest value of a number."""

    status: Literal["tight", "bound", "open", "unknown"] = Field(
        description="tight: a restaurant reaches the bound; bound: none goes beyond it; open: no bound was found."
    )
    bound: float | None = Field(description="The proved bound; null without one.")
    reached: Value = Field(description="The farthest value that a restaurant is known to reach; null without one.")
    witness: Witness | None = Field(description="That restaurant; null without one.")


class Bounds(_Part):
    """The range of a number among the outputs."""

    name: str = Field(description="The step.")
    low: End = Field(description="The lowest value.")
    high: End = Field(description="The highest value.")


class Property(_Part):
    """Whether a property holds."""

    property: str = Field(description="The property, as --property takes it.")
    status: Literal["proved", "refuted", "unknown"] = Field(description="proved: it holds for every restaurant.")
    witness: Witness | None = Field(description="The restaurant before the change; null unless it is refuted.")
    before: float | None = Field(
        description="The value of the property's first step before the change, if it is refuted."
    )
    after: float | None = Field(description="The value after the change, if it is refuted.")
    amount: int | None = Field(
        description="The amount by which the property's second step grows; null if a review is added."
    )
    added: Witness | None = Field(description="The restaurant with one more review; null if a step grows.")


class Proof(_Part):
    """All claims about a seed."""

    seed: str = Field(description="The path of the seed.")
    verdicts: list[Reach] = Field(description="Each value of the verdict.")
    rules: list[Reach] = Field(description="Each rule of a step that chooses by rules.")
    failures: list[StepFailure] = Field(description="Each step with an operation that may have no value.")
    bounds: list[Bounds] = Field(description="Each output that is a number.")
    properties: list[Property] = Field(description="The properties of the seed, then those that were asked for.")
    domain: dict[str, str] = Field(description="The values of each field that the proofs assume, in words.")
    effort: int = Field(description="The solver's effort, in its own units.")


def proof_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of `Proofs.json`."""
    return build_model_schema(
        Proof, "What holds for every restaurant of a seed, as `formulaseed prove --format json` writes it."
    )
