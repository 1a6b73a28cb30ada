"""Defines the records of the data formats: contexts, reviews, recorded extractions, rows, stored answers and their usage.

Records validate JSON from outside, with pydantic in strict mode: no value is coerced. Unlisted fields are kept, since a
seed may declare them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, field_validator, model_validator

from formulaseed.data.duplicates import Duplicates, drop_duplicates, review_ids
from formulaseed.data.results import ReviewCounts
from formulaseed.data.validation import describe_errors
from formulaseed.errors import DataError
from formulaseed.language.inputs import _find_typo, _parse_iso_date
from formulaseed.language.json_values import _why_incomparable
from formulaseed.limits import INTEGER_MAX, REVIEW_TEXT_CHARACTERS

Amount = Annotated[float, Field(ge=0, lt=1e15)]
PositiveAmount = Annotated[float, Field(gt=0, lt=1e15)]
NonNegative = Annotated[int, Field(ge=0, le=INTEGER_MAX)]
TokenCount = Annotated[int, Field(ge=0, le=1_000_000_000)]


class Record(BaseModel):
    """A record of a data format: immutable, with keys that are not declared as extra fields."""

    model_config = ConfigDict(strict=True, extra="allow", frozen=True)

    @classmethod
    def read(cls, value: Any, where: str = "") -> Self:
        """Return the record of a JSON value. Raises `DataError`, which names the first five invalid fields.

        `where` is the place in the error, such as a file; empty if unknown.
        """
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            raise DataError(describe_errors(error), where) from None

    @model_validator(mode="before")
    @classmethod
    def _reject_typos(cls, value: Any) -> Any:
        """Return the value itself. Raises `ValueError` for a key that resembles an absent field.

        A typo must not select the field's default.
        """
        keys = [key for key in value if isinstance(key, str)] if isinstance(value, dict) else list(cls.model_fields)
        find_typo = _find_first_typo if sum(map(len, keys)) <= _MAX_CACHED_CHARACTERS else _find_first_typo.__wrapped__
        typo = find_typo(tuple(cls.model_fields), tuple(keys))
        if typo is not None:
            raise ValueError(f"`{typo[0]}` is missing, but there is `{typo[1][:80]}`: rename it")
        return value


_MAX_CACHED_CHARACTERS = 1_000


@lru_cache(256)
def _find_first_typo(names: tuple[str, ...], keys: tuple[str, ...]) -> tuple[str, str] | None:
    """Return the first of `names` that is absent from `keys`, and the key that resembles it; None without a typo.

    Cached, since lines of a file have the same keys.
    """
    for name in names:
        typo = _find_typo(name, keys, names) if name not in keys else None
        if typo is not None:
            return name, typo
    return None


class ReviewRecord(Record):
    """One review, in the field names of Yelp's data."""

    review_id: str
    text: str
    date: str | None = None
    user: dict[str, Any] | None = None

    @field_validator("date")
    @classmethod
    def _check_date(cls, date: str | None) -> str | None:
        """Return the date unchanged. Raises `ValueError` if it is no ISO date."""
        if date is not None and _parse_iso_date(date) is None:
            raise ValueError(f"must be an ISO date such as 2018-04-14 or 2018-04-14 12:18:05, not {date[:40]!r}")
        return date

    def facts(self) -> dict[str, object]:
        """Return the date, stars and useful votes, for an extractor to use with the text; None for missing ones."""
        extra = self.model_extra or {}
        return {"date": self.date, "stars": extra.get("stars"), "useful": extra.get("useful")}

    def meta(self) -> dict[str, Any]:
        """Return the metadata as rows have it: undeclared fields, members of `user` as `user_…`, and the date.

        The date has no time. Undeclared fields take precedence over those of the user.
        """
        extra = self.model_extra or {}
        user = {f"user_{name}": value for name, value in (self.user or {}).items()}
        date = {} if self.date is None else {"date": self.date[:10]}
        return {**user, **extra, **date}


class RestaurantRecord(Record):
    """A context: a restaurant and its reviews. The business fields are in `business` or beside it."""

    business_id: str = Field(min_length=1)
    business: dict[str, Any] | None = None
    reviews: list[ReviewRecord]
    _duplicates: int = PrivateAttr(0)

    @property
    def duplicates(self) -> int:
        """The number of reviews that `deduplicate` has dropped."""
        return self._duplicates

    def context(self) -> dict[str, Any]:
        """Return the restaurant's fields by name, from both places; those in `business` take precedence."""
        return {**(self.model_extra or {}), **(self.business or {})}

    def deduplicate(self, policy: Duplicates, place_of: Callable[[int], str] = "reviews[{}]".format) -> Self:
        """Return a copy with the first review of each id, or the restaurant itself without duplicates.

        Under the policy `fail` a duplicate raises `DataError`, which names both reviews by `place_of`, a function of
        positions.
        """
        ids = [review.review_id for review in self.reviews]
        reviews = drop_duplicates(self.reviews, ids, policy, place_of)
        if len(reviews) == len(self.reviews):
            return self
        restaurant = self.model_copy(update={"reviews": reviews})
        restaurant._duplicates = len(self.reviews) - len(reviews)
        return restaurant


class ReviewLine(ReviewRecord):
    """A review from a file of reviews, with the id of its restaurant."""

    business_id: str = Field(min_length=1)


class ExtractionLine(Record):
    """A recorded extraction, with its quotes and reasons by field; `text` is that of its review, if the line has it."""

    business_id: str
    review_id: str
    fields: dict[str, Any]
    text: str | None = None
    quotes: dict[str, str] = Field(default_factory=dict)
    reasons: dict[str, str] = Field(default_factory=dict)


class ReviewedLine(ExtractionLine):
    """A recorded extraction that serves as an example for a model, with the review's text or the ids of the review."""

    business_id: str = ""
    review_id: str = ""


class RowsReviews(Record):
    """The numbers of reviews of the restaurant of a line of rows, as in results."""

    total: NonNegative
    relevant: NonNegative
    extracted: NonNegative
    failed: NonNegative
    sampled: NonNegative | None = None
    sources: dict[str, NonNegative] | None = None
    duplicates: NonNegative = 0

    def counts(self, rows: int) -> ReviewCounts:
        """Return the counts as results have them.

        Raises `ValueError` if they contradict each other or the number of `rows`.
        """
        key = "relevant" if self.sampled is None else "sampled"
        attempted = self.relevant if self.sampled is None else self.sampled
        if not self.extracted == rows == attempted - self.failed:
            rule = f"`extracted` must be the number of rows, {rows}, and `{key}` that of `extracted` and `failed`"
            raise ValueError(f"`reviews` is wrong: {rule}; or leave `reviews` out")
        if not attempted <= self.relevant <= self.total:
            raise ValueError("`reviews` is wrong: `relevant` must not be over `total`, nor `sampled` over `relevant`")
        return ReviewCounts(
            self.total, self.relevant, self.extracted, self.failed, self.sampled, self.sources, self.duplicates
        )


class RowsRun(Record):
    """The run that extracted a line of rows: extractor, prompt, and a sample or words if it went by them, as in results."""

    extractor: str | None = None
    prompt_sha256: str | None = None
    edited: bool = False
    sample: dict[str, int] | None = None
    spoke_for: list[NonNegative] | None = Field(default=None, min_length=2, max_length=2)


class RowsOrigin(Record):
    """The keys of a line of rows that describe their extraction."""

    reviews: RowsReviews | None = None
    run: RowsRun | None = None


class RowsLine(RowsOrigin):
    """A restaurant whose reviews have been extracted already."""

    business_id: str = Field(min_length=1)
    context: dict[str, Any] = Field(default_factory=dict)
    rows: list[Any]
    """Objects; pydantic does not validate them, since modules do."""

    @model_validator(mode="after")
    def _require_objects(self) -> RowsLine:
        """Return the line itself.

        Raises `ValueError` if a row is no object, or the numbers of reviews do not match the rows.
        """
        for place, row in enumerate(self.rows):
            if type(row) is not dict:
                raise ValueError(f"`rows[{place}]` must be an object")
        if self.reviews is not None:
            self.reviews.counts(len(self.rows))
        return self


class RestaurantRows(NamedTuple):
    """The rows of a restaurant. `reviews` are the line's counts, or the number of rows if the line has no counts."""

    business_id: str
    context: dict[str, Any]
    rows: list[Any]
    reviews: ReviewCounts
    run: RowsRun | None = None

    @classmethod
    def read(cls, value: dict[str, Any]) -> RestaurantRows:
        """Return the rows of a line's object; without `reviews`, the counts are the number of rows.

        Ignores unknown keys. Raises `DataError`, which names the invalid fields, also if the counts of `reviews` do not
        match the rows.
        """
        business_id = value.get("business_id")
        context = value.get("context")
        rows = value.get("rows")
        if not (
            (isinstance(business_id, str) and business_id)
            and (isinstance(context, dict) and isinstance(rows, list))
            and set(map(type, rows)) == {dict}
        ):  # rare, as pydantic takes much longer
            if "rows" not in value and isinstance(value.get("reviews"), list):
                raise DataError(f"`rows` is missing, and there are `reviews`: {_ROWS_HELP}")
            record = RowsLine.read(value)
            return cls._from_origin(record.business_id, record.context, record.rows, record)
        rest = {key: part for key, part in value.items() if key not in ("business_id", "context", "rows")}
        return cls.from_parts(business_id, context, rows, rest)

    def deduplicate(self) -> RestaurantRows:
        """Return a copy with the first row of each id; dropped rows move from the other counts to that of duplicates.

        Rows without an id are never duplicates.
        """
        rows = drop_duplicates(self.rows, review_ids(self.rows), "first", str)
        return self._replace(rows=rows, reviews=self.reviews.subtract_duplicates(len(self.rows) - len(rows)))

    @classmethod
    def from_parts(
        cls, business_id: str, context: dict[str, Any], rows: list[Any], rest: dict[str, Any]
    ) -> RestaurantRows:
        """Return the rows of a line; `rest` are the values of its other keys. Raises `DataError` as `read` does."""
        if not rest:
            return cls(business_id, context, rows, _count_extracted(len(rows)))
        return cls._from_origin(business_id, context, rows, _read_origin(rest))

    @classmethod
    def _from_origin(
        cls, business_id: str, context: dict[str, Any], rows: list[Any], origin: RowsOrigin
    ) -> RestaurantRows:
        """Return the rows with the counts and the run of `origin`. Raises `DataError` if the counts do not match the rows."""
        count = len(rows)
        if origin.reviews is None:
            return cls(business_id, context, rows, _count_extracted(count), origin.run)
        try:
            return cls(business_id, context, rows, origin.reviews.counts(count), origin.run)
        except ValueError as error:
            raise DataError(str(error)) from None


_ROWS_HELP = "rows are what `formulaseed extract`, in Python `formulaseed.extract`, makes of such contexts"


@lru_cache(1_000)
def _count_extracted(count: int) -> ReviewCounts:
    """Return the counts of a restaurant whose reviews all have a row; cached, since most lines have few rows."""
    return ReviewCounts(count, count, count, 0)


_MAX_CACHED_ORIGINS = 10_000
_origins: dict[str, RowsOrigin] = {}
"""A cache of origins by the `repr` of their values, in which 1 differs from 1.0 and true; most lines of a file share one."""


def _read_origin(values: dict[str, Any]) -> RowsOrigin:
    """Return the record of a line's `reviews` and `run`, from a cache if equal ones have been read. Raises `DataError`."""
    text = repr(values)
    origin = _origins.get(text)
    if origin is None:
        origin = RowsOrigin.read(values)
        if len(text) <= _MAX_CACHED_CHARACTERS and len(_origins) < _MAX_CACHED_ORIGINS:
            _origins[text] = origin
    return origin


class RatedReview(ReviewRecord):
    """A review for requests, which need its stars as a number and its user's name as a string."""

    stars: float | None = Field(default=None, allow_inf_nan=False)

    @model_validator(mode="after")
    def _require_comparable_values(self) -> RatedReview:
        """Return the review itself. Raises `ValueError` for a `user.name` that is no string, a long text, an infinite value."""
        name = (self.user or {}).get("name")
        if name is not None and not isinstance(name, str):
            raise ValueError("`user.name` must be a string")
        _require_comparable({**(self.model_extra or {}), "user": self.user, "stars": self.stars})
        if len(self.text) > REVIEW_TEXT_CHARACTERS:
            raise ValueError(f"`text` has more than {REVIEW_TEXT_CHARACTERS:,} characters")
        return self


class RatedReviewLine(RatedReview, ReviewLine):
    """A review for requests, from a file of reviews."""


class RatedRestaurant(RestaurantRecord):
    """A restaurant for requests."""

    reviews: list[RatedReview]  # type: ignore[assignment]  # the list is never mutated

    @model_validator(mode="after")
    def _require_objects(self) -> RatedRestaurant:
        """Return the restaurant itself. Raises `ValueError` for attributes or hours that are no objects, or other faults."""
        for name in ("attributes", "hours"):
            if not isinstance(self.context().get(name), dict | None):
                raise ValueError(f"`{name}` must be an object")
        _require_comparable(self.context())
        return self


class JudgementLine(Record):
    """The judgement of one review on one aspect."""

    review_id: str
    aspect: str
    judgement: Literal["positive", "negative", "neutral", "not_mentioned"]


class UsageRecord(Record):
    """The tokens of one answer of a model, as the API, a store and a transcript state them."""

    input: TokenCount
    cache_write: TokenCount
    cache_read: TokenCount
    output: TokenCount


class StoredAnswerLine(UsageRecord):
    """An answer that a store has exported: its content, or the reason why it is unusable."""

    key: str
    model: str
    content: dict[str, Any] | None
    reason: str
    batch: NonNegative
    at: Amount
    tries: NonNegative


class SocialGraph(Record):
    """The friends that each person names."""

    friend_graph: dict[str, list[str]]


def _require_comparable(values: dict[str, Any]) -> None:
    """Raise `ValueError`, with the name of the value, for the first of `values` that requests cannot compare."""
    for name, value in values.items():
        reason = _why_incomparable(value)
        if reason:
            raise ValueError(f"`{name}` {reason}")
