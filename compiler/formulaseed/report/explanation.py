"""What an explanation holds: one restaurant's verdict, what led to it, and what would change it.

In: what `report.explain` finds. Out: the same as JSON; `report.story` says it in words. The JSON Schema is published as
`grammar/explanation.schema.json`.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Value = str | int | float | bool | None
Kind = Literal["count", "sum", "max", "min", "lookup", "formula", "case", "constant"]
State = Literal["taken", "false", "not reached"]
ChangeKind = Literal["more reviews", "fewer reviews", "parameter"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Comparison(_Part):
    """One comparison of a condition, with the values of its sides."""

    left: str = Field(description="The formula on its left.")
    operator: str
    right: str
    left_value: Value
    right_value: Value | list[Value]
    holds: bool
    distance: float | None = Field(None, description="How far apart two numbers are; null for anything else.")


class Rule(_Part):
    """One rule of the step that gives the verdict."""

    condition: str | None = Field(
        description="The formula of the condition; null for the last rule, which holds otherwise."
    )
    result: Value
    state: State
    comparisons: list[Comparison]


class Step(_Part):
    """A step on the way to the verdict, with its value."""

    name: str
    kind: Kind
    value: Value
    definition: str = Field(description="What the step does, as a formula or in a few words.")
    with_values: str | None = Field(
        description="The formula with values in place of names, null where it names none; of a case the condition that holds."
    )
    uses: list[str] = Field(description="The steps that it uses, in the order in which it names them.")


class Match(_Part):
    """What a lookup found."""

    step: str
    source: str = Field(description="The formula of the string that is searched.")
    text: str
    key: str | None = Field(description="The key that gave the value; null where the default did.")
    start: int | None = Field(description="Where the key begins in the text, in characters from 0.")
    value: Value
    other_keys: list[str] = Field(description="Other keys that the text holds.")


class Review(_Part):
    """A review behind a value."""

    review_id: str
    date: str | None
    stars: float | None
    fields: dict[str, Value] = Field(description="The values that the step asks for.")
    quote: str | None
    quoted_by: Literal["extractor", "words"] | None = Field(
        description="Who chose the quote: the extractor, or the words that the values' descriptions share with a sentence."
    )


class Exclusion(_Part):
    """Reviews that a step leaves out, by the first of its conditions that they do not meet."""

    condition: str
    number: int
    review_ids: list[str]


class Evidence(_Part):
    """The reviews behind a step over reviews."""

    step: str
    value: Value
    condition: str | None
    number: int = Field(description="How many reviews count.")
    reviews: list[Review]
    excluded: list[Exclusion]


class Change(_Part):
    """A change that leads to another verdict; it was found by trying, and evaluated."""

    kind: ChangeKind
    text: str
    number: float = Field(description="How many reviews, or the parameter's new value.")
    verdict: Value
    effects: dict[str, tuple[Value, Value]] = Field(description="The steps that decide, before and after.")
    review_ids: list[str] = Field([], description="The reviews to leave out.")
    row: dict[str, Any] | None = Field(None, description="The row to add, `number` times.")
    parameter: str | None = Field(None, description="The parameter to set to `number`.")


class Failure(_Part):
    """Why there is no verdict."""

    step: str | None
    kind: str
    message: str
    place: str | None


class Explanation(_Part):
    """Why one restaurant got its verdict.

    `.text` and `.markdown` say it in words, `.json` is the data, and a notebook shows `.html`.
    """

    business_id: str
    name: str | None
    task: str
    step: str = Field(description="The output that is explained.")
    verdict: Value
    outputs: dict[str, Value]
    error: Failure | None
    because: list[str] = Field(description="The reasons, a sentence each, the most important first.")
    rules: list[Rule]
    steps: list[Step] = Field(description="The verdict's step first, each before those that it uses.")
    lookups: list[Match]
    evidence: list[Evidence]
    reviews: int = Field(description="How many reviews were extracted.")
    changes: list[Change]
    run: dict[str, Any]

    @property
    def json(self) -> str:  # type: ignore[override]  # pydantic's own is deprecated
        """The explanation as JSON."""
        return self.model_dump_json(indent=2) + "\n"

    @property
    def text(self) -> str:
        """The explanation for a terminal."""
        from formulaseed.report.story import text

        return text(self)

    @property
    def markdown(self) -> str:
        """The explanation as Markdown."""
        from formulaseed.report.story import markdown

        return markdown(self)

    @property
    def html(self) -> str:
        """The explanation as one HTML page that needs nothing else."""
        from formulaseed.report.pages import explanation_page

        return explanation_page(self)

    def _repr_html_(self) -> str:
        from formulaseed.report.pages import explanation_fragment

        return explanation_fragment(self)
