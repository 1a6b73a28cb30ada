"""Defines what extractors share: the seed's fields, their legal values, and the bases of open extractors.

An extractor turns relevant reviews into field values, or fails a review by name. It never sees more of a review than
`review_handling` lets through.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from formulaseed.data.results import Extraction, FieldValue, ReviewInput
from formulaseed.errors import DataError
from formulaseed.ir import nodes
from formulaseed.language.json_values import _quote
from formulaseed.language.types import is_within
from formulaseed.limits import INPUT_MAX, INTEGER_MAX
from formulaseed.seed.absence import find_absence_value, is_claim
from formulaseed.source.printing import number_of

FieldType = Literal["enum", "boolean", "integer", "number", "string"]


@dataclass(frozen=True, slots=True)
class AskedField:
    """One extraction field of a Formula Seed."""

    name: str
    type: FieldType
    description: str = ""
    values: tuple[tuple[str, str], ...] = ()
    """An enum's values, each with its description, in the seed's order."""
    default: FieldValue | None = None
    """None: the seed states no default."""
    evidence: nodes.Evidence = False
    """Whether a quote from the review is asked for; "required": without one that it has, an answer is invalid."""
    minimum: int | float | None = None
    maximum: int | float | None = None
    """The bounds of a number, both inclusive; None where the seed states none."""
    hint: str | None = None
    """`stars`: the lexical extractor may take a review's stars into account."""
    reason: bool = False
    """Whether a model says why, before it gives the value."""

    def allows(self, number: float) -> bool:
        """Return whether a number is inside the bounds."""
        return is_within(number, self.minimum, self.maximum)

    @property
    def bounds(self) -> str:
        """The bounds in words, such as `from 0 to 240`; empty where there are none."""
        if self.maximum is None:
            return f"{self.minimum} or more" if self.minimum is not None else ""
        return f"{self.maximum} or less" if self.minimum is None else f"from {self.minimum} to {self.maximum}"

    @property
    def for_nothing(self) -> FieldValue | None:
        """The field's value if nothing is said: its default, or else the one value that is named or described so; else None."""
        return find_absence_value(self.values, self.default)

    def claims(self, value: FieldValue) -> bool:
        """Return whether the value says something of the review."""
        return is_claim(value, self.values, self.default)

    def needs_quote(self, value: FieldValue) -> bool:
        """Return whether an answer with this value is invalid without a quote."""
        return self.evidence == "required" and self.claims(value)


def fields_of(program: nodes.Program) -> tuple[AskedField, ...]:
    """Return the seed's fields as extractors use them."""
    return tuple(
        AskedField(
            field.name,
            cast(FieldType, "enum" if field.ty.values is not None else field.ty.base.value),
            field.description,
            tuple((value.name, value.description) for value in field.values),
            field.default,
            field.evidence,
            field.minimum,
            field.maximum,
            field.hint,
            field.reason,
        )
        for field in program.fields
    )


_KINDS: dict[FieldType, Any] = {"enum": str, "string": str, "boolean": bool, "integer": int, "number": (int, float)}


def legal(field: AskedField, value: Any) -> FieldValue:
    """Return the value as the field holds it: 3.0 is the integer 3. Raises `DataError` for an illegal one."""
    if field.type == "integer" and isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, _KINDS[field.type]) or isinstance(value, bool) != (field.type == "boolean"):
        raise DataError(f"`{field.name}` must be of type {field.type}, not {_quote(value)}")
    allowed = [name for name, _ in field.values]
    if field.type == "enum" and value not in allowed:
        raise DataError(f"`{field.name}` must be one of {', '.join(allowed)}, not {_quote(value)}")
    found: FieldValue = value
    if not isinstance(found, str | bool):
        most = INTEGER_MAX if field.type == "integer" else INPUT_MAX
        if not -most <= found <= most:  # NaN is not
            raise DataError(f"`{field.name}` must be a number between -{most:g} and {most:g}")
        if not field.allows(found):
            raise DataError(f"`{field.name}` must be {field.bounds}, not {found!r}")
    return found


class OpenExtractor(ABC):
    """An extractor that is ready to extract; the defaults are those of one that asks nobody."""

    name: str
    prompt_sha256: str | None = None
    unanswered = 0
    """Calls without a usable answer that may have one when they are made again; known at the end of a run."""
    usd: float | None = 0.0
    """What the run has cost at most, in US dollars; None if that is unknown. Known at the end of a run."""
    costs: Sequence[str] = ()
    """What the run has cost, in lines for people. Known at the end of a run."""

    @property
    def stopped(self) -> str:
        """Why nothing more is asked; empty while the run goes on."""
        return ""

    @property
    def can_resume(self) -> bool:
        """Whether the same run would get further if it were repeated."""
        return False

    @abstractmethod
    def extract_all(self, restaurants: Iterable[Sequence[ReviewInput]]) -> Iterator[list[Extraction]]:
        """Extract the reviews of each restaurant, in their order. May read ahead."""

    def summary(self) -> list[str]:
        """Return what a run prints before its closing line."""
        return []


class SyncExtractor(OpenExtractor):
    """Base of the extractors that answer at once."""

    @abstractmethod
    def extract(self, review: ReviewInput) -> Extraction:
        """Extract one review."""

    def extract_all(self, restaurants: Iterable[Sequence[ReviewInput]]) -> Iterator[list[Extraction]]:
        """Extract the reviews of each restaurant, in their order."""
        return ([self.extract(review) for review in reviews] for reviews in restaurants)


def unspoken_text(fields: Sequence[AskedField]) -> str:
    """Return why a review is not extracted that says nothing of these fields, and what to write for it."""
    names, types = ", ".join(f"`{field.name}`" for field in fields[:5]), {field.type for field in fields}
    fix = "give it a `default` or a value such as `none`" if "enum" in types else "give it a `default`"
    fix = 'give it `"default": false`' if types == {"boolean"} else fix
    return f"no word of the review speaks for {names}; {fix}, or use another extractor"


def tied_text(tied: tuple[str, Sequence[str]], reviews: Sequence[str]) -> str:
    """Return which reviews speak for several values of a field alike."""
    field, values = tied
    named = " and ".join(f"`{value}`" for value in values)
    has = f"{number_of(len(reviews), 'review')} {'has' if len(reviews) == 1 else 'have'}"
    some = ", ".join(reviews[:3]) + (", …" if len(reviews) > 3 else "")
    return f"lexical: {has} words for {named} of `{field}` alike, which count for none of them: {some}"
