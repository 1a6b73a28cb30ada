"""Defines what extractors share: options, the seed's fields, the check of a field's value, the bases of open extractors.

An extractor turns relevant reviews into field values, or fails a review by name. It never sees more of a review than
`review_handling` lets through. As a value, it is a frozen model of its options, from which the options of commands, their
help and the table in `docs/running.md` are made; nothing is read or sent before `open`.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError

from formulaseed.data.arguments import argument_error, unknown_option
from formulaseed.data.jsonl import Lines, is_lines, keep_lines
from formulaseed.data.results import Extraction, Failures, FieldValue, ReviewInput
from formulaseed.errors import ArgumentError, DataError, FormulaSeedError
from formulaseed.ir import nodes
from formulaseed.language.json_values import _quote
from formulaseed.language.types import is_within
from formulaseed.limits import INPUT_MAX, INTEGER_MAX
from formulaseed.runtime.reviews import ReviewSource
from formulaseed.seed.absence import find_absence_value, is_claim
from formulaseed.source.printing import number_of

FieldType = Literal["enum", "boolean", "integer", "number", "string"]
ReviewReader = Callable[[], Iterable[Sequence[ReviewInput]]]
"""Reads the reviews of all restaurants from the start, each time that it is called."""


@dataclass(frozen=True, slots=True)
class AskedField:
    """One extraction field of a Formula Seed."""

    name: str
    type: FieldType
    description: str = ""
    values: tuple[tuple[str, str], ...] = ()
    """An enum's values, each with its description, in the seed's order; empty for other types."""
    default: FieldValue | None = None
    """None if the seed states no default."""
    evidence: nodes.EvidenceRule = False
    """Whether a quote is asked for. "required": an answer without a quote that the review contains is invalid."""
    minimum: int | float | None = None
    maximum: int | float | None = None
    """The bounds of a number, both inclusive; None if the seed states none."""
    hint: str | None = None
    """`stars` lets the lexical extractor take a review's stars into account."""
    reason: bool = False
    """Whether a model gives a reason before the value."""

    def allows(self, number: float) -> bool:
        """Return whether `number` is inside the field's bounds; a field without bounds allows every number."""
        return is_within(number, self.minimum, self.maximum)

    @property
    def bounds(self) -> str:
        """The bounds in words, such as `from 0 to 240`; empty if the field has none."""
        if self.minimum is None and self.maximum is None:
            return ""
        if self.maximum is None:
            return f"{self.minimum} or more"
        if self.minimum is None:
            return f"{self.maximum} or less"
        return f"from {self.minimum} to {self.maximum}"

    @property
    def for_nothing(self) -> FieldValue | None:
        """The field's value for a review that says nothing about it.

        It is the default, otherwise the one value whose name or description says "none" or the like, otherwise None.
        """
        return find_absence_value(self.values, self.default)

    def claims(self, value: FieldValue) -> bool:
        """Return whether `value` states something about the review. False does not if the field has no default."""
        return is_claim(value, self.values, self.default)

    def needs_quote(self, value: FieldValue) -> bool:
        """Return whether an answer with `value` is invalid without a quote."""
        return self.evidence == "required" and self.claims(value)


def fields_of(program: nodes.Program) -> tuple[AskedField, ...]:
    """Return the extraction fields of `program` in the seed's order, in the form that extractors use."""
    return tuple(
        AskedField(
            field.name,
            "enum" if field.ty.values is not None else cast(FieldType, field.ty.base.value),
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


_PYTHON_TYPES: dict[FieldType, Any] = {
    "enum": str,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
}


def check_value(field: AskedField, value: Any) -> FieldValue:
    """Return `value` as a value of `field`; 3.0 becomes 3 for an integer field.

    Raises `DataError` for a value of another type, outside the enum or the bounds, or too large for any field. A
    boolean is no number, and NaN is outside every bound.
    """
    if field.type == "integer" and isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, _PYTHON_TYPES[field.type]) or isinstance(value, bool) != (field.type == "boolean"):
        raise DataError(f"`{field.name}` must be of type {field.type}, not {_quote(value)}")
    allowed = [name for name, _ in field.values]
    if field.type == "enum" and value not in allowed:
        raise DataError(f"`{field.name}` must be one of {', '.join(allowed)}, not {_quote(value)}")
    checked: FieldValue = value
    if not isinstance(checked, str | bool):
        limit = INTEGER_MAX if field.type == "integer" else INPUT_MAX
        if not -limit <= checked <= limit:  # also true of NaN, which no comparison accepts
            raise DataError(f"`{field.name}` must be a number between -{limit:g} and {limit:g}")
        if not field.allows(checked):
            raise DataError(f"`{field.name}` must be {field.bounds}, not {checked!r}")
    return checked


class OpenExtractor(ABC):
    """An extractor that is ready to extract. The attributes have the values of an extractor that asks no model."""

    name: str
    prompt_sha256: str | None = None
    unanswered = 0
    """The number of calls without a usable answer that may get one in another run. Known at the end of a run."""
    usd: float | None = 0.0
    """The most that the run can have cost, in US dollars; None if that is unknown. Known at the end of a run."""
    cost_lines: Sequence[str] = ()
    """Lines for people that say what the run has cost. Known at the end of a run."""

    @property
    def doubt(self) -> str:
        """The reason why the results of the run should not be relied on; empty if there is none. Known at its end."""
        return ""

    @property
    def stop_reason(self) -> str:
        """The reason why the run asks nothing more; empty while it goes on."""
        return ""

    @property
    def can_resume(self) -> bool:
        """Whether the same run would get further if it were started again."""
        return False

    @abstractmethod
    def extract_all(self, restaurants: Iterable[Sequence[ReviewInput]]) -> Iterator[list[Extraction]]:
        """Yield the extractions of each restaurant's reviews, in their order. May read `restaurants` ahead."""

    def summary(self) -> list[str]:
        """Return the lines that a run prints before its closing line."""
        return []


class SyncExtractor(OpenExtractor):
    """Base of the extractors that answer at once, one review at a time."""

    @abstractmethod
    def extract(self, review: ReviewInput) -> Extraction:
        """Return the extraction of one review; its `failure` says why if it has no values."""

    def extract_all(self, restaurants: Iterable[Sequence[ReviewInput]]) -> Iterator[list[Extraction]]:
        """Yield the extractions of each restaurant's reviews, in their order, without reading ahead."""
        return ([self.extract(review) for review in reviews] for reviews in restaurants)


def describe_unspoken(fields: Sequence[AskedField]) -> str:
    """Return the reason why a review fails that says nothing about `fields`, and how to change the seed.

    It names the first five fields. The advice is a default of false if all are booleans, and otherwise mentions a value
    such as `none` if one is an enum.
    """
    names = ", ".join(f"`{field.name}`" for field in fields[:5])
    types = {field.type for field in fields}
    fix = "give it a `default`"
    if types == {"boolean"}:
        fix = 'give it `"default": false`'
    elif "enum" in types:
        fix = "give it a `default` or a value such as `none`"
    return f"no word of the review speaks for {names}; {fix}, or use another extractor"


def describe_tie(tie: tuple[str, Sequence[str]], review_ids: Sequence[str]) -> str:
    """Return the lexical extractor's line about reviews that speak alike for several values of a field.

    Such reviews count for none of the values. The line has their number and the first three ids. `tie` is the field and
    these values.
    """
    field, values = tie
    names = " and ".join(f"`{value}`" for value in values)
    verb = "has" if len(review_ids) == 1 else "have"
    first_ids = ", ".join(review_ids[:3])
    if len(review_ids) > 3:
        first_ids += ", …"
    reviews = number_of(len(review_ids), "review")
    return f"lexical: {reviews} {verb} words for {names} of `{field}` alike, which count for none of them: {first_ids}"


# --- options


@dataclass(frozen=True, slots=True)
class Callbacks:
    """The functions that a run reports to.

    `notify` receives a line about the run; `show_progress` receives, after every answer, a line that says how far the run is. A
    run without `show_progress` is quiet: it passes only lines to `notify` that a user has to know.
    """

    notify: Callable[[str], None] = lambda _: None
    show_progress: Callable[[str], None] | None = None


class ExtractorOptions(BaseModel):
    """The options of an extractor, as a value that opens it.

    Raises `FormulaSeedError` for an unknown option, `ArgumentError` for a wrong value or a missing one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)

    name: ClassVar[str]
    """The name that `--extractor` and `extractor=` take."""
    asks_model: ClassVar[bool] = False
    """Whether the extractor asks a model, so that it costs money and has an estimate."""
    positional: ClassVar[str] = ""
    """The option that may be passed without its name; empty if there is none."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        owner = type(self).__name__
        fields = type(self).model_fields
        if len(arguments) == 1 and self.positional and self.positional not in options:
            options[self.positional] = arguments[0]
        elif arguments:
            raise FormulaSeedError(f"`{owner}` takes its options by name: {', '.join(fields) or 'it has none'}")
        unknown = next((name for name in options if name not in fields), None)
        if unknown is not None:
            raise unknown_option(owner, unknown, list(fields))
        for name, field in fields.items():
            if field.is_required() and options.get(name) is None:
                raise ArgumentError(name, f"of `{owner}` is missing: {field.description}")
        try:
            super().__init__(**options)
        except ValidationError as error:
            raise argument_error(str(error.errors()[0]["loc"][0]), error) from None

    @classmethod
    def find_panel(cls, option: str) -> str:
        """Return the name of the panel of a command's help that lists `option`."""
        return "extractor"

    def require(self) -> None:
        """Raise `UnreadableError` if a package or credentials are missing. Callers check this before they read anything."""

    @abstractmethod
    def open(
        self, program: nodes.Program, source: ReviewSource, failures: Failures, callbacks: Callbacks
    ) -> AbstractContextManager[OpenExtractor]:
        """Return a context manager that opens the extractor for the fields of `program`, and closes it at the end.

        May read `source` several times, and add lines that cannot be used to `failures`. Raises `ArgumentError` for options
        that do not fit each other, the program or the source, and `DataError` for a file that cannot be used.
        """

    def estimate(self, program: nodes.Program, source: ReviewSource, callbacks: Callbacks) -> list[str]:
        """Return lines for people: how many calls a run would make, and what they would cost in US dollars.

        Raises `FormulaSeedError` for an extractor that asks no model.
        """
        raise FormulaSeedError(f"the extractor `{self.name}` asks no model: it costs nothing")


def _check_path(value: Any) -> Any:
    """Return a path unchanged. Raises `ValueError` for any other value."""
    if not isinstance(value, str | os.PathLike):
        raise ValueError("a path")
    return value


def _check_lines(value: Any) -> Any:
    """Return `value` as lines that can be read repeatedly. Raises `ValueError` if it is no path, list or data frame."""
    if not is_lines(value):
        raise ValueError("a path, a list of objects or a data frame")
    return keep_lines(value, "lines")


PathOption = Annotated[str | os.PathLike[str], PlainValidator(_check_path)]
LinesOption = Annotated[Lines, PlainValidator(_check_lines)]
Seconds = Annotated[float, Field(gt=0, le=604_800)]
