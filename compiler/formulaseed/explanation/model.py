"""Define the data of an explanation: one restaurant's verdict, its reasons and its counterfactuals; and write it as JSON.

The JSON Schema is published as `grammar/explanation.schema.json`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from formulaseed.language.aggregates import AGGREGATES
from formulaseed.source.printing import escape_hidden_characters

Value = Annotated[str | int | float | bool | None, WithJsonSchema({"type": ["string", "number", "boolean", "null"]})]
_OTHER_KINDS = ("lookup", "formula", "case", "constant")


def _list_aggregates(schema: dict[str, Any]) -> None:
    """Add the names of aggregates to the JSON Schema of a string, which is changed."""
    schema["enum"] = [*AGGREGATES]


def _list_kinds(schema: dict[str, Any]) -> None:
    """Add the kinds of steps to the JSON Schema of a string, which is changed."""
    schema["enum"] = [*AGGREGATES, *_OTHER_KINDS]


State = Literal["taken", "false", "not reached"]
ChangeKind = Literal["more reviews", "fewer reviews", "parameter"]
MAX_ADDED_REVIEWS = 12  # advice that takes more new reviews is none
MAX_LEFT_OUT_REVIEWS = 5
MAX_REVIEWS_PER_STEP = 200


class _Part(BaseModel):
    """A part of an explanation: immutable, without further attributes."""

    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_serialization_defaults_required=True)


class Comparison(_Part):
    """One comparison of a condition, with the values of its sides."""

    subject: str = Field(description="The left side in words.")
    limit: str = Field(description="How the left side compares with the right one, in words: under 4, or at least 4.")
    left: str = Field(description="The formula on its left.")
    operator: str = Field(description="One of ==, !=, <, <=, >, >=, in, not in.")
    right: str = Field(description="The formula on its right.")
    left_value: Value = Field(description="The value of the left side.")
    right_value: Value | list[Value] = Field(description="The value of the right side; a list for in and not in.")
    holds: bool = Field(description="Whether it is true.")
    distance: float | None = Field(None, description="How far apart two numbers are; null for anything else.")


class Rule(_Part):
    """One rule of the step that gives the verdict."""

    condition: str | None = Field(
        description="The formula of the condition; null for the last rule, which holds otherwise."
    )
    words: str | None = Field(description="The condition in words; null for the last rule.")
    result: Value = Field(description="What the step is where the rule is the first that holds.")
    because: str | None = Field(description="The sentence that the seed has for the rule; null without one.")
    state: State = Field(
        description="Whether it is the first that holds, does not hold, or comes after the first that does."
    )
    comparisons: list[Comparison] = Field(description="The comparisons in its condition, in their order.")


class Step(_Part):
    """A step on the way to the verdict, with its value."""

    name: str = Field(description="Its name in the seed.")
    label: str = Field(description="The step in words: its label in the seed or, without one, words from its name.")
    kind: str = Field(description="What kind of operation it is.", json_schema_extra=_list_kinds)
    value: Value = Field(description="Its value; null too where it failed or what it uses did.")
    definition: str = Field(description="What the step does, as a formula or in a few words.")
    with_values: str | None = Field(
        description="The formula with values in place of names, null where it names none; of a conditional one the branch that "
        "was taken, and why; of a case the condition that holds."
    )
    uses: list[str] = Field(description="The steps that it uses, in the order in which it names them.")
    is_default: bool = Field(
        description="Whether the value is the seed's default: no key matches a lookup, or no review counts for a max or min."
    )
    from_defaults: list[str] = Field(description="The steps whose value it uses that is the seed's default.")


class Match(_Part):
    """The result of a lookup."""

    step: str = Field(description="The lookup.")
    source: str = Field(description="The formula of the string that is searched.")
    text: str = Field(description="The string that is searched.")
    key: str | None = Field(description="The key that gave the value; null where the default did.")
    start: int | None = Field(description="Where the key begins in the text, in characters from 0.")
    value: Value = Field(description="The value of the lookup.")
    other_keys: list[str] = Field(description="Other keys that the text holds.")


class Review(_Part):
    """A review behind a value."""

    review_id: str = Field(description="Its id, or its place such as `rows[3]` where the rows have no ids.")
    date: str | None = Field(description="Its date, or its year where only that is known.")
    stars: float | None = Field(description="Its stars.")
    useful: float | None = Field(None, description="How many readers found it useful; null where that is not known.")
    fields: dict[str, Value] = Field(description="The values that the step asks for, by the fields in words.")
    amount: float | None = Field(
        description="What it adds to a sum, or has for a maximum or minimum; null for a count, and where it is no number."
    )
    quote: str | None = Field(description="What of its text to show; null without a text.")
    quoted_by: Literal["extractor", "words", "beginning", "whole"] | None = Field(
        description="What the quote is: the extractor's, on which the values rest; the sentence whose words speak for these "
        "values; or, where no sentence does, the beginning of the text, or the whole of a short one."
    )
    core: str | None = Field(
        None, description="The words of the quote to keep where it is cut: they prove a value; null where none do."
    )


class Exclusion(_Part):
    """Reviews that a step leaves out, by the conditions that they do not meet."""

    conditions: list[str] = Field(
        description="Why they do not count, in words: each condition that they fail; empty where the step has only that one."
    )
    number: int = Field(description="How many reviews meet all conditions but these.")
    review_ids: list[str] = Field(description="The ids of these reviews.")
    near: list[str] = Field(
        description="In words up to five of them that one condition alone leaves out, and what they have instead; not those "
        "that other steps count by the same field."
    )


class Evidence(_Part):
    """The reviews behind a step over reviews."""

    step: str = Field(description="The step.")
    function: str = Field(description="What it does with the reviews that count.", json_schema_extra=_list_aggregates)
    value: Value = Field(description="Its value.")
    of: str | None = Field(description="What it takes of each review, a field in words or a formula; null for a count.")
    condition: str | None = Field(description="What a review must meet to count, in words; null where all do.")
    filters: dict[str, str] = Field(
        description="The filters that the step names, and those that they name, in words, with their conditions in words."
    )
    number: int = Field(description="How many reviews count.")
    is_default: bool = Field(description="Whether no review counts, so that the value is the seed's default.")
    reviews: list[Review] = Field(
        description="The reviews that count, for a maximum or minimum those that have it; none of a count or sum of all; "
        f"at most {MAX_REVIEWS_PER_STEP}."
    )
    unlisted: int = Field(description="How many more such reviews there are than `reviews` lists.")
    excluded: list[Exclusion] = Field(description="The reviews that do not count, the largest group first.")

    @property
    def total(self) -> int:
        """The number of reviews, with those that do not count."""
        return self.number + sum(exclusion.number for exclusion in self.excluded)


class Effect(_Part):
    """The effect of a change on a step."""

    before: Value = Field(description="Its value before the change.")
    after: Value = Field(description="Its value after the change.")
    default: Literal["before", "after"] | None = Field(
        description="Which of the two is the seed's default, as no review counts then; null where none is."
    )


class Change(_Part):
    """A change that leads to another verdict; it was found by trying, and evaluated."""

    kind: ChangeKind = Field(description="What is changed.")
    text: str = Field(description="The change in words.")
    number: float = Field(description="How many reviews, or the parameter's new value.")
    verdict: Value = Field(description="The verdict that it leads to.")
    effects: dict[str, Effect] = Field(
        description="The steps that tell it, as far as they have another value: what the verdict's rules compare, what the "
        "formula behind that uses, what rules choose, and the steps over reviews."
    )
    review_ids: list[str] = Field([], description="The reviews to leave out.")
    row: dict[str, Any] | None = Field(None, description="The row to add, `number` times.")
    like: str | None = Field(None, description="The review that the added one is like.")
    is_copy: bool = Field(False, description="Whether the added review has all values of `like`, not only most.")
    counts: list[str] = Field(
        [], description="The labels of the counts to which the added review belongs, the most specific."
    )
    is_observed: bool = Field(True, description="Whether some review of the run has the values of the added one.")
    parameter: str | None = Field(None, description="The parameter to set to `number`.")


class Missing(_Part):
    """A field that is null and that a step on the way to the verdict uses."""

    name: str = Field(description="The field, such as context.noise_level.")
    reviews: int | None = Field(description="How many reviews lack it; null for a field of the restaurant.")


class Fact(_Part):
    """A field of the restaurant, or a parameter, that a step on the way to the verdict uses."""

    name: str = Field(description="The field or parameter, such as context.noise_level or param.MIN_REVIEWS.")
    label: str = Field(description="The field or parameter in words.")
    value: Value = Field(description="Its value; null for a field that is missing.")


class AttributionPart(_Part):
    """One part of the number that the verdict compares, with what it adds."""

    code: str = Field(
        description="R1 for the part that changes the number most, R2 for the next, and so on; empty for limits."
    )
    label: str = Field(description="The part in words.")
    change: float = Field(description="What it adds to the number; negative for what it takes away.")
    without: float | None = Field(description="The number if only this part did not count; null for limits.")
    alone: float | None = Field(description="The number before limits if only this part counted; null for limits.")
    verdict_without: Value = Field(description="The verdict then; null where it is the same one.")
    source: Literal["reviews", "facts", "limit"] = Field(
        description="Reviews, facts of the restaurant, or the limits and the rounding of the number."
    )
    reviews: list[str] = Field(default_factory=list, description="The ids of the reviews.")
    main_review: str | None = Field(
        description="The review whose absence alone changes the number most; null for other sources."
    )
    steps: list[str] = Field(
        default_factory=list, description="The steps over reviews that count these reviews, those of the label first."
    )
    fields: list[str] = Field(default_factory=list, description="The fields of the restaurant.")


class Reason(_Part):
    """A part that speaks against a restaurant, for a letter or a table."""

    code: str = Field(description="The code of the part.")
    label: str = Field(description="The part in words.")
    change: float = Field(description="What it adds to the number.")
    reviews: list[str] = Field(description="The ids of its reviews.")
    source: Literal["reviews", "facts"] = Field(description="Reviews, or facts of the restaurant.")


class Attribution(_Part):
    """The number that the verdict compares, as the sum of a base and of parts."""

    step: str = Field(description="The number that the verdict's rules compare.")
    label: str = Field(description="The number in words.")
    unit: str | None = Field(description="Its unit, where the seed has one.")
    adverse: Literal["higher", "lower"] | None = Field(
        description="Which values speak against a restaurant; null where the seed does not say."
    )
    highest: float | None = Field(description="The upper limit of the number; null where its formula has none.")
    base: float = Field(description="Its value without all parts, before limits and rounding.")
    value: float = Field(description="Its value: the base and all changes add up to it.")
    uncounted: int = Field(description="How many reviews meet no condition of a step over reviews, and are in no part.")
    parts: list[AttributionPart] = Field(description="Its parts, those that change it most first, the limits last.")

    def select_reasons(self, count: int = 4) -> list[Reason]:
        """Return at most `count` parts that speak against the restaurant, those that change the number most first.

        Without `adverse` in the seed these are the largest parts in both directions. Limits of the number are none.
        """
        direction = {"higher": 1, "lower": -1, None: 0}[self.adverse]
        return [
            Reason(code=part.code, label=part.label, change=part.change, reviews=part.reviews, source=part.source)
            for part in self.parts
            if part.source != "limit" and part.change * direction >= 0
        ][:count]


class Failure(_Part):
    """Why there is no verdict."""

    step: str | None = Field(description="The step that failed; null where the data cannot be used.")
    kind: str = Field(description="division_by_zero, domain, overflow, null, lookup, type or data.")
    message: str = Field(description="What is wrong.")
    place: str | None = Field(description="Where the step is in the seed, as file:line.")


class ExplanationData(_Part):
    """Why one restaurant got its verdict, as data."""

    business_id: str = Field(description="The restaurant.")
    name: str | None = Field(description="Its name, where the context has one.")
    task: str = Field(description="The seed's `task_name`.")
    step: str = Field(description="The output that is explained.")
    verdict: Value = Field(description="The value of that output; null where it failed.")
    outputs: dict[str, Value] = Field(
        default_factory=dict, description="All outputs by name, as far as they have values."
    )
    error: Failure | None = Field(description="Why there is no verdict; null where there is one.")
    because: list[str] = Field(
        default_factory=list, description="The reasons, a sentence each, the most important first."
    )
    missing: list[Missing] = Field(
        default_factory=list, description="The fields that are null and that a step on the way uses."
    )
    facts: list[Fact] = Field(
        default_factory=list, description="The fields of the restaurant and the parameters that a step on the way uses."
    )
    attribution: Attribution | None = Field(
        description="The number that the verdict compares, as a sum of parts; null where it compares no single number."
    )
    reasons: list[Reason] = Field(
        default_factory=list, description="At most four parts that speak against the restaurant, the largest first."
    )
    rules: list[Rule] = Field(
        default_factory=list, description="The rules of the step that gives the verdict, in their order."
    )
    steps: list[Step] = Field(
        default_factory=list, description="The verdict's step first, each before those that it uses."
    )
    lookups: list[Match] = Field(default_factory=list, description="What the lookups among the steps found.")
    evidence: list[Evidence] = Field(default_factory=list, description="The reviews behind each step over reviews.")
    reviews: int = Field(description="How many reviews were extracted.")
    changes: list[Change] = Field(
        default_factory=list, description="What leads to another verdict, the smallest first."
    )
    run: dict[str, Any] = Field(description="What the result was made with, as results have it.")

    def select_reasons(self, count: int = 4) -> list[Reason]:
        """Return the reasons that `Attribution.select_reasons` returns; empty without an attribution."""
        return [] if self.attribution is None else self.attribution.select_reasons(count)

    @property
    def not_found(self) -> list[Value]:
        """The verdicts of rules to which the search found no change."""
        reached = {self.verdict, *(change.verdict for change in self.changes)}
        return [result for result in dict.fromkeys(rule.result for rule in self.rules) if result not in reached]

    @property
    def json(self) -> str:  # type: ignore[override]  # pydantic's own is deprecated
        """The explanation as JSON."""
        return escape_hidden_characters(self.model_dump_json(indent=2)) + "\n"
