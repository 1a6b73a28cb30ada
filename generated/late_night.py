"""Late-night: Says whether a restaurant is a comfortable and dependable place to be late at night.

Compiled by formulaseed, emission style 2026-11, from tasks/late_night/seed.json.
The seed's version: 1.0.
Change the seed and compile it again: what is edited here is lost.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias, TypeVar

TASK_NAME: Final = "Late-night"
SEED_VERSION: Final[str | None] = "1.0"
SEED_SHA256: Final = "610e051e9bc14a1c4548c0bac66d58904d2003329f738e0316352dbd9992313b"
BODY_SHA256: Final = "febbbdd52f6a4efa20103ee5b828e58cdd71e5d738f9c27d0b9b7e11a615da11"
KEYWORDS: Final[tuple[str, ...]] = ()
OUTPUT: Final = (
    "N_LATE",
    "LATE_PERCENT",
    "DARK_PERCENT",
    "N_INCIDENTS",
    "INCIDENT_RATE",
    "SAFETY_LOSS",
    "HOURS_LOSS",
    "TRANSIT_CREDIT",
    "CONFIDENCE",
    "AFTER_DARK_SCORE",
    "VERDICT",
)

# values of VisitTime: When the visit took place, as far as the review tells
VisitTime: TypeAlias = Literal[
    "none",  # Time of day not told
    "day",  # Morning to late afternoon ('for brunch', 'at lunch', 'this afternoon')
    "evening",  # Early evening up to eleven ('for dinner', 'at 8pm', 'happy hour')
    "late",  # After eleven at night ('after midnight', 'at 2am', 'late night', 'after the bars closed')
]
# values of SafetyConcern: Whether guests felt or were unsafe in the place or right outside
SafetyConcern: TypeAlias = Literal[
    "none",  # No concern mentioned
    "uneasy",  # Felt uneasy, nothing happened ('felt unsafe', 'sketchy at night', 'would not walk there alone')
    "incident",  # Something happened ('a fight broke out', 'my car was broken into', 'got followed', 'had to call the police')
]
ClosedLabel: TypeAlias = Literal["Permanently Closed",]
Band: TypeAlias = Literal[
    "Avoid After Dark",
    "Comfortable",
    "Take Care",
]
Verdict: TypeAlias = Literal[
    "Permanently Closed",
    "Not Rated",
    "Avoid After Dark",
    "Comfortable",
    "Take Care",
]


class Row(NamedTuple):
    """One relevant review: what was extracted from it, and its metadata."""

    visit_time: VisitTime
    safety_concern: SafetyConcern
    rowdy_crowd: (
        bool  # True if other guests were drunk or aggressive ('drunk crowd', 'people yelling at the staff', 'rowdy')
    )
    security_present: bool  # True if someone looked after the safety of guests ('security at the door', 'the bouncer helped', 'staff walked us to our car')
    closed_early: bool  # True if the place or its kitchen shut before the posted hour ('kitchen closed early', 'turned us away before closing', 'locked the door at ten')
    month: int
    date: str


class Context(NamedTuple):
    """What the steps use of the restaurant itself."""

    postal_code: str
    stars: float
    review_count: int
    is_open: int


class Parameters(NamedTuple):
    """The seed has no parameters."""


class Steps(NamedTuple):
    """Every step's value, in the seed's order."""

    N_REVIEWS: int
    N_LATE: int
    N_LATE_DARK: int
    N_INCIDENTS: int
    N_ROWDY: int
    N_SECURED: int
    N_CLOSED_EARLY: int
    CONCERN_WEIGHT: int
    SAFETY_LOSS: int
    HOURS_LOSS: int
    SECURITY_CREDIT: int
    COVERAGE: float
    CONFIDENCE: float
    RATING_ALLOWANCE: float
    TRANSIT_CREDIT: int
    LATE_PERCENT: float
    DARK_PERCENT: float
    INCIDENT_RATE: float
    NIGHT_CHANGE: float
    AFTER_DARK_SCORE: float
    CLOSED_LABEL: ClosedLabel
    BAND: Band
    VERDICT: Verdict


class Result(NamedTuple):
    """What the seed returns."""

    N_LATE: int
    LATE_PERCENT: float
    DARK_PERCENT: float
    N_INCIDENTS: int
    INCIDENT_RATE: float
    SAFETY_LOSS: int
    HOURS_LOSS: int
    TRANSIT_CREDIT: int
    CONFIDENCE: float
    AFTER_DARK_SCORE: float
    VERDICT: Verdict


# the table of TRANSIT_CREDIT, exact
TRANSIT_CREDIT_TABLE: Final[dict[str, int]] = {
    "19102": 5,
    "19103": 5,
    "19107": 5,
    "19104": 3,
    "19106": 3,
    "19122": 3,
    "19123": 3,
}


def is_relevant(text: str) -> bool:
    """Whether the review is relevant: the seed names no keywords, so every review is."""
    return True


def evaluate(rows: Iterable[Row], context: Context) -> Result:
    """What the seed returns for one restaurant. Raises EvaluationError where a step has no value."""
    return _compute(rows, context, None)


def trace(rows: Iterable[Row], context: Context) -> Steps:
    """Every step's value for one restaurant. Raises EvaluationError where a step has no value."""
    noted: list[Steps] = []
    _compute(rows, context, noted)
    return noted[0]


def _compute(rows: Iterable[Row], context: Context, noted: list[Steps] | None) -> Result:
    """The steps, in the seed's order. All their values are added to `noted`, where there is one."""
    n_reviews = 0
    n_late = 0
    n_late_dark = 0
    n_incidents = 0
    n_rowdy = 0
    n_secured = 0
    n_closed_early = 0
    concern_weight = 0
    for visit_time, safety_concern, rowdy_crowd, security_present, closed_early, month, date in rows:
        # $IS_NEW_YEAR: meta.date in ['2018-12-31', '2019-01-01', '2019-12-31', '2020-01-01', '2020-12-31', '2021-01-01', '2021-12-31', '2022-01-01']
        is_new_year = date in (
            "2018-12-31",
            "2019-01-01",
            "2019-12-31",
            "2020-01-01",
            "2020-12-31",
            "2021-01-01",
            "2021-12-31",
            "2022-01-01",
        )
        # $IS_DARK_MONTH: meta.month in [11, 12, 1, 2]
        is_dark_month = month in (11, 12, 1, 2)
        # $IS_LATE: extraction.visit_time == 'late' and not $IS_NEW_YEAR
        is_late = visit_time == "late" and not is_new_year
        # $IS_CONCERN: $IS_LATE and extraction.safety_concern != 'none'
        is_concern = is_late and safety_concern != "none"
        # N_REVIEWS: count
        n_reviews += 1
        if is_late:
            # N_LATE: count where $IS_LATE
            n_late += 1
            # N_LATE_DARK: count where $IS_LATE and $IS_DARK_MONTH
            if is_dark_month:
                n_late_dark += 1
            # N_INCIDENTS: count where $IS_LATE and extraction.safety_concern == 'incident'
            if safety_concern == "incident":
                n_incidents += 1
            # N_ROWDY: count where $IS_LATE and extraction.rowdy_crowd and not extraction.security_present
            if rowdy_crowd and not security_present:
                n_rowdy += 1
            # N_SECURED: count where $IS_LATE and extraction.security_present
            if security_present:
                n_secured += 1
        # N_CLOSED_EARLY: count where extraction.closed_early and not $IS_NEW_YEAR
        if closed_early and not is_new_year:
            n_closed_early += 1
        # CONCERN_WEIGHT: sum of (3 if extraction.safety_concern == 'incident' else 1) * (3 if meta.month in [11, 12, 1, 2] else 2) where $IS_CONCERN
        if is_concern:
            concern_weight += (3 if safety_concern == "incident" else 1) * (3 if month in (11, 12, 1, 2) else 2)

    # SAFETY_LOSS: -min(60, 4 * CONCERN_WEIGHT + 2 * N_ROWDY)
    safety_loss = -min(60, 4 * concern_weight + 2 * n_rowdy)
    # HOURS_LOSS: -min(15, 3 * N_CLOSED_EARLY)
    hours_loss = -min(15, 3 * n_closed_early)
    # SECURITY_CREDIT: min(10, 2 * N_SECURED)
    security_credit = min(10, 2 * n_secured)
    # COVERAGE: min(1.0, N_REVIEWS / context.review_count) if context.review_count > 0 else 0.0
    coverage = min(1.0, n_reviews / context.review_count) if context.review_count > 0 else 0.0
    # CONFIDENCE: 0.5 + 0.5 * COVERAGE
    confidence = 0.5 + 0.5 * coverage
    # RATING_ALLOWANCE: 4 * (context.stars - 3.0)
    rating_allowance = 4 * (context.stars - 3.0)
    # TRANSIT_CREDIT: lookup of context.postal_code in 7 keys, exact, default 0
    transit_credit = TRANSIT_CREDIT_TABLE.get(context.postal_code, 0)
    # LATE_PERCENT: 100 * N_LATE / N_REVIEWS if N_REVIEWS > 0 else 0.0
    late_percent = 100 * n_late / n_reviews if n_reviews > 0 else 0.0
    # DARK_PERCENT: 100 * N_LATE_DARK / N_LATE if N_LATE > 0 else 0.0
    dark_percent = 100 * n_late_dark / n_late if n_late > 0 else 0.0
    # INCIDENT_RATE: N_INCIDENTS / max(N_LATE, 1)
    incident_rate = n_incidents / max(n_late, 1)
    # NIGHT_CHANGE: (SAFETY_LOSS + HOURS_LOSS + SECURITY_CREDIT) * CONFIDENCE
    night_change = (safety_loss + hours_loss + security_credit) * confidence
    # AFTER_DARK_SCORE: max(0.0, min(100.0, 70 + NIGHT_CHANGE + RATING_ALLOWANCE + TRANSIT_CREDIT))
    after_dark_score = max(0.0, min(100.0, 70 + night_change + rating_allowance + transit_credit))
    # CLOSED_LABEL: constant 'Permanently Closed'
    closed_label: ClosedLabel = "Permanently Closed"
    # BAND: 'Avoid After Dark' if INCIDENT_RATE > 0.25 and N_INCIDENTS >= 2 else 'Comfortable' if AFTER_DARK_SCORE >= 70 else 'Take Care' if AFTER_DARK_SCORE >= 40 else 'A…
    band: Band = (
        "Avoid After Dark"
        if incident_rate > 0.25 and n_incidents >= 2
        else "Comfortable" if after_dark_score >= 70 else "Take Care" if after_dark_score >= 40 else "Avoid After Dark"
    )
    # VERDICT: CLOSED_LABEL if context.is_open == 0 else 'Not Rated' if N_LATE == 0 else BAND
    verdict: Verdict = closed_label if context.is_open == 0 else "Not Rated" if n_late == 0 else band

    if noted is not None:
        noted.append(
            Steps(
                N_REVIEWS=n_reviews,
                N_LATE=n_late,
                N_LATE_DARK=n_late_dark,
                N_INCIDENTS=n_incidents,
                N_ROWDY=n_rowdy,
                N_SECURED=n_secured,
                N_CLOSED_EARLY=n_closed_early,
                CONCERN_WEIGHT=concern_weight,
                SAFETY_LOSS=safety_loss,
                HOURS_LOSS=hours_loss,
                SECURITY_CREDIT=security_credit,
                COVERAGE=coverage,
                CONFIDENCE=confidence,
                RATING_ALLOWANCE=rating_allowance,
                TRANSIT_CREDIT=transit_credit,
                LATE_PERCENT=late_percent,
                DARK_PERCENT=dark_percent,
                INCIDENT_RATE=incident_rate,
                NIGHT_CHANGE=night_change,
                AFTER_DARK_SCORE=after_dark_score,
                CLOSED_LABEL=closed_label,
                BAND=band,
                VERDICT=verdict,
            )
        )
    return Result(
        n_late,
        late_percent,
        dark_percent,
        n_incidents,
        incident_rate,
        safety_loss,
        hours_loss,
        transit_credit,
        confidence,
        after_dark_score,
        verdict,
    )


def evidence(rows: Iterable[Row], context: Context) -> dict[str, list[int]]:
    """For every count, sum, max and min, the positions of the rows that went into it."""
    counted: dict[str, list[int]] = {
        "N_REVIEWS": [],
        "N_LATE": [],
        "N_LATE_DARK": [],
        "N_INCIDENTS": [],
        "N_ROWDY": [],
        "N_SECURED": [],
        "N_CLOSED_EARLY": [],
        "CONCERN_WEIGHT": [],
    }
    for position, (visit_time, safety_concern, rowdy_crowd, security_present, closed_early, month, date) in enumerate(
        rows
    ):
        # $IS_NEW_YEAR: meta.date in ['2018-12-31', '2019-01-01', '2019-12-31', '2020-01-01', '2020-12-31', '2021-01-01', '2021-12-31', '2022-01-01']
        is_new_year = date in (
            "2018-12-31",
            "2019-01-01",
            "2019-12-31",
            "2020-01-01",
            "2020-12-31",
            "2021-01-01",
            "2021-12-31",
            "2022-01-01",
        )
        # $IS_DARK_MONTH: meta.month in [11, 12, 1, 2]
        is_dark_month = month in (11, 12, 1, 2)
        # $IS_LATE: extraction.visit_time == 'late' and not $IS_NEW_YEAR
        is_late = visit_time == "late" and not is_new_year
        # $IS_CONCERN: $IS_LATE and extraction.safety_concern != 'none'
        is_concern = is_late and safety_concern != "none"
        counted["N_REVIEWS"].append(position)
        if is_late:
            counted["N_LATE"].append(position)
            if is_dark_month:
                counted["N_LATE_DARK"].append(position)
            if safety_concern == "incident":
                counted["N_INCIDENTS"].append(position)
            if rowdy_crowd and not security_present:
                counted["N_ROWDY"].append(position)
            if security_present:
                counted["N_SECURED"].append(position)
        if closed_early and not is_new_year:
            counted["N_CLOSED_EARLY"].append(position)
        if is_concern:
            counted["CONCERN_WEIGHT"].append(position)
    return counted


STEPS: Final = (
    "N_REVIEWS",
    "N_LATE",
    "N_LATE_DARK",
    "N_INCIDENTS",
    "N_ROWDY",
    "N_SECURED",
    "N_CLOSED_EARLY",
    "CONCERN_WEIGHT",
    "SAFETY_LOSS",
    "HOURS_LOSS",
    "SECURITY_CREDIT",
    "COVERAGE",
    "CONFIDENCE",
    "RATING_ALLOWANCE",
    "TRANSIT_CREDIT",
    "LATE_PERCENT",
    "DARK_PERCENT",
    "INCIDENT_RATE",
    "NIGHT_CHANGE",
    "AFTER_DARK_SCORE",
    "CLOSED_LABEL",
    "BAND",
    "VERDICT",
)
INPUTS: Final[dict[str, tuple[str, ...]]] = {
    "extraction": (
        "visit_time",
        "safety_concern",
        "rowdy_crowd",
        "security_present",
        "closed_early",
    ),
    "meta": (
        "stars",
        "useful",
        "funny",
        "cool",
        "year",
        "month",
        "date",
    ),
    "context": (
        "name",
        "categories",
        "address",
        "city",
        "state",
        "postal_code",
        "stars",
        "review_count",
        "is_open",
        "latitude",
        "longitude",
    ),
    "param": (),
}
VISIT_TIME_VALUES: Final[dict[str, VisitTime]] = {"none": "none", "day": "day", "evening": "evening", "late": "late"}
SAFETY_CONCERN_VALUES: Final[dict[str, SafetyConcern]] = {"none": "none", "uneasy": "uneasy", "incident": "incident"}


def parse_row(row: JsonObject) -> Row:
    """Read a JSON row; a missing field, a wrong type or an unknown value raises DataError by name."""
    extraction = _object(row, "extraction")
    meta = _object(row, "meta")
    return Row(
        _choice(VISIT_TIME_VALUES, extraction.get("visit_time"), "extraction.visit_time"),
        _choice(SAFETY_CONCERN_VALUES, extraction.get("safety_concern"), "extraction.safety_concern"),
        (
            False
            if extraction.get("rowdy_crowd") is None and _left_out(extraction, "extraction", "rowdy_crowd", INPUTS)
            else _boolean(extraction.get("rowdy_crowd"), "extraction.rowdy_crowd")
        ),
        (
            False
            if extraction.get("security_present") is None
            and _left_out(extraction, "extraction", "security_present", INPUTS)
            else _boolean(extraction.get("security_present"), "extraction.security_present")
        ),
        (
            False
            if extraction.get("closed_early") is None and _left_out(extraction, "extraction", "closed_early", INPUTS)
            else _boolean(extraction.get("closed_early"), "extraction.closed_early")
        ),
        _integer(_date_part(meta, "month"), "meta.month"),
        _date(meta.get("date"), "meta.date"),
    )


def parse_context(context: JsonObject) -> Context:
    """Read a JSON context; a missing field or a wrong type raises DataError by name."""
    _expect_object(context, "the context")
    return Context(
        _string(context.get("postal_code"), "context.postal_code"),
        _number(context.get("stars"), "context.stars"),
        _integer(context.get("review_count"), "context.review_count"),
        _integer(context.get("is_open"), "context.is_open"),
    )


JsonValue: TypeAlias = "str | int | float | bool | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
JsonObject: TypeAlias = Mapping[str, JsonValue]


def _shown(value: JsonValue) -> str:
    """Quote the beginning of a value; Python prints neither integers of 5,000 digits nor lists 1,000 deep."""
    try:
        return repr(value)[:80]
    except (ValueError, RecursionError):
        return "an integer of thousands of digits" if isinstance(value, int) else "a value too large to print"


_Value = TypeVar("_Value", bound=str)


class EvaluationError(Exception):
    """A step has no value for these rows and this context: `kind` says why, `operands` for which values."""

    def __init__(self, step: str, kind: str, message: str, operands: tuple[float | str | None, ...] = ()) -> None:
        self.step = step
        self.kind = kind
        self.message = message
        self.operands = operands
        super().__init__(f"{step}: {kind}: {message}")


class DataError(ValueError):
    """A row, context or parameter that is not what the seed declares; the message names the field."""


def _refused(place: str, expected: str, value: JsonValue) -> DataError:
    if value is None:
        return DataError(f"`{place}` is missing; it must be {expected}")
    return DataError(f"`{place}` must be {expected}, not {_shown(value)}")


def _expect_object(value: JsonValue, what: str) -> None:
    if not isinstance(value, dict):
        raise DataError(f"{what} must be an object, not {_shown(value)}")


def _object(row: JsonObject, name: str) -> JsonObject:
    """A section of a JSON row. It must be there: otherwise a misspelt one would give every default."""
    _expect_object(row, "a row")
    section = row.get(name)
    if isinstance(section, dict):
        return section
    if name in row:
        raise DataError(f"`{name}` must be an object, not {_shown(section)}")
    for key in row:
        if _similar(name, key) or key.casefold()[: len(name)] == name:
            raise DataError(f"`{name}` is missing, but there is `{key[:80]}`: rename it")
    raise DataError(f"`{name}` is missing; it must be an object")


def _left_out(record: JsonObject, section: str, name: str, inputs: Mapping[str, tuple[str, ...]]) -> bool:
    """True for a field that is null or absent. Raises DataError where a key is a typo of an absent one."""
    typo = None if name in record else _typo_of(name, record, inputs[section])
    if typo is not None:
        fix = f"rename it, or give `{name}` as null"
        raise DataError(f"`{section}.{name}` is missing, but there is `{typo[:80]}`: {fix}")
    return True


def _choice(values: Mapping[str, _Value], value: JsonValue, place: str) -> _Value:
    found = values.get(value) if isinstance(value, str) else None
    if found is None:
        raise _refused(place, f"one of {', '.join(values)}", value)
    return found


def _string(value: JsonValue, place: str) -> str:
    if isinstance(value, str):
        return value
    raise _refused(place, "a text", value)


def _boolean(value: JsonValue, place: str) -> bool:
    if isinstance(value, bool):
        return value
    raise _refused(place, "true or false", value)


def _integer(value: JsonValue, place: str) -> int:
    if isinstance(value, int) and -(2**63) < value < 2**63 and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer() and -(2**63) < value < 2**63:
        return int(value)
    raise _refused(place, "an integer of 64 bits", value)


def _number(value: JsonValue, place: str) -> float:
    if isinstance(value, float) and -1e100 <= value <= 1e100:
        return value
    if isinstance(value, int) and -1e100 <= value <= 1e100 and not isinstance(value, bool):
        return float(value)
    raise _refused(place, "a number from -1e100 to 1e100", value)


def _year_and_month(value: JsonValue, place: str) -> tuple[int, int]:
    found = _iso_date(value) if isinstance(value, str) else None
    if found is None:
        raise _refused(place, "an ISO date such as 2018-04-14 or 2018-04-14 12:18:05", value)
    return found


def _date(value: JsonValue, place: str) -> str:
    """An ISO date or date-time, as it is given."""
    _year_and_month(value, place)
    return _string(value, place)


def _date_part(meta: JsonObject, name: str) -> JsonValue:
    """`meta.year` or `meta.month`: as given, else the date's; where both are given they must agree."""
    given, date = meta.get(name), meta.get("date")
    if date is None:
        return given
    year, month = _year_and_month(date, "meta.date")
    part = year if name == "year" else month
    if given is None:
        return part
    if _integer(given, f"meta.{name}") != part:
        raise DataError(f"`meta.{name}` is {given!r}, but `meta.date` is {date!r}")
    return given


def _folded(name: str) -> str:
    return name.casefold().replace("_", "").replace("-", "").replace(" ", "")


def _similar(name: str, key: str) -> bool:
    """Whether a key is a name but for case, `_`, `-` and spaces, or but for one letter of four or more.

    The letter is left out, added, another one, or swapped with its neighbour. Other digits make another name.
    """
    if len(key) > 2 * len(name) + 1:
        return False
    a, b = _folded(name), _folded(key)
    if len(a) < 4 or abs(len(a) - len(b)) > 1 or (a[0] != b[0] and a[-1] != b[-1]):
        return a == b
    if "".join(c for c in a if c.isdecimal()) != "".join(c for c in b if c.isdecimal()):
        return False
    return any(
        a[:i] == b[:i]
        and (b[i + 1 :] in (a[i:], a[i + 1 :]) or b[i:] in (a[i + 1 :], a[i + 1 : i + 2] + a[i : i + 1] + a[i + 2 :]))
        for i in range(len(a) + 1)
    )


def _typo_of(name: str, keys: Iterable[str], known: Iterable[str] = ()) -> str | None:
    """The key that reads like a name which is not among them; the known names are no typos of one another."""
    for key in keys:
        if key not in known and _similar(name, key):
            return key
    return None


_ISO_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:[0-9]{2})?)?"


def _iso_date(text: str) -> tuple[int, int] | None:
    """Return year and month of an ISO date or date-time, YYYY-MM-DD only; None for any other string."""
    is_day = len(text) == 10 and text[4] == text[7] == "-" and text.isascii()  # as most are; the pattern is slower
    if not is_day and not re.fullmatch(_ISO_DATE, text):
        return None
    try:
        found = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    return (found.year, found.month)
