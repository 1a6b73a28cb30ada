"""Wait-times: Rates how long guests of a restaurant wait, what they wait for, and what they do about it.

Compiled by formulaseed, emission style 2026-11, from tasks/wait_times/seed.json.
The seed's version: 1.0.
Change the seed and compile it again: what is edited here is lost.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias, TypeVar

TASK_NAME: Final = "Wait-times"
SEED_VERSION: Final[str | None] = "1.0"
SEED_SHA256: Final = "ebbf470fd48f061d8f89653270e9bd0cb698d58ce8d6be2a2a6fc91f05d90ef6"
BODY_SHA256: Final = "8358510a57496f0ce8a0f0559f6b08f8403bc9c427444669435bcdd51e867dfa"
KEYWORDS: Final[tuple[str, ...]] = (
    "wait",
    "minute",
    "hour",
    "slow",
    "line",
    "queue",
    "seated",
    "took forever",
    "take forever",
    "takes forever",
    "walked out",
)
OUTPUT: Final = (
    "N_WAITS",
    "N_TIMED",
    "AVERAGE_WAIT",
    "LONGEST_WAIT",
    "WALKOUT_PERCENT",
    "DELAY_RATE",
    "TREND_FACTOR",
    "BOTTLENECK",
    "WAIT_SCORE",
    "VERDICT",
)

# values of WaitKind: What the guest mainly waited for on the visit described
WaitKind: TypeAlias = Literal[
    "none",  # No wait mentioned
    "table",  # Waiting to be seated ('waited for a table', 'wait to be seated', 'put our name on the list')
    "food",  # Waiting for food or drinks ('waited for our food', 'took an hour to get our meal', 'still waiting on drinks')
    "bill",  # Waiting for the bill or to pay ('waited for the check', 'forever to get the bill', 'waiting in line to pay')
]
# values of Outcome: How the wait ended
Outcome: TypeAlias = Literal[
    "none",  # No wait mentioned, or its end is not told
    "stayed",  # Waited to the end ('finally got our food', 'worth the wait', 'eventually seated')
    "walked_out",  # Left without being served ('we walked out', 'gave up and left', 'went somewhere else')
    "compensated",  # The restaurant made up for the wait ('comped our drinks', 'free dessert for the wait', 'took it off the bill')
]
Bottleneck: TypeAlias = Literal[
    "kitchen",
    "seating",
    "payment",
    "none",
]
Verdict: TypeAlias = Literal[
    "Too Few Reviews",
    "Quick",
    "Acceptable",
    "Slow",
    "Very Slow",
]


class Row(NamedTuple):
    """One relevant review: what was extracted from it, and its metadata."""

    wait_kind: WaitKind
    wait_minutes: int  # Minutes waited as stated, the longest if there are several ('waited 40 minutes', 'half an hour', 'over an hour'); 0 when no number is stated
    outcome: Outcome
    blames_staffing: bool  # True if the review puts the wait down to too few staff ('understaffed', 'short staffed', 'only one server for the whole place')
    year: int


class Context(NamedTuple):
    """What the steps use of the restaurant itself."""


class Parameters(NamedTuple):
    """The values that can be given at evaluation, and their defaults."""

    RECENT_FROM: int = 2020  # First year whose reviews count as recent. From 2000 to 2100
    MIN_REVIEWS: int = 5  # Fewest reviews about waiting that a verdict may rest on. From 1 to 1000


PARAMETERS: Final = Parameters()


class Steps(NamedTuple):
    """Every step's value, in the seed's order."""

    N_WAITS: int
    N_TABLE: int
    N_FOOD: int
    N_BILL: int
    N_TIMED: int
    N_MODERATE: int
    N_LONG: int
    N_RECENT_LONG: int
    N_WALKED_OUT: int
    N_COMPENSATED: int
    N_UNDERSTAFFED: int
    TOTAL_MINUTES: int
    LONGEST_WAIT: int
    AVERAGE_WAIT: float
    WALKOUT_PERCENT: float
    MODERATE_WEIGHT: float
    LONG_WEIGHT: float
    WALKOUT_WEIGHT: float
    COMPENSATION_CREDIT: float
    MINUTE_POINTS: float
    OUTCOME_POINTS: float
    DELAY_RATE: float
    TREND_FACTOR: float
    STAFFING_POINTS: int
    BOTTLENECK: Bottleneck
    WAIT_SCORE: float
    VERDICT: Verdict


class Result(NamedTuple):
    """What the seed returns."""

    N_WAITS: int
    N_TIMED: int
    AVERAGE_WAIT: float
    LONGEST_WAIT: int
    WALKOUT_PERCENT: float
    DELAY_RATE: float
    TREND_FACTOR: float
    BOTTLENECK: Bottleneck
    WAIT_SCORE: float
    VERDICT: Verdict


def is_relevant(text: str) -> bool:
    """Whether the review's text contains one of the keywords, whatever their case."""
    folded = text.casefold()
    return any(keyword in folded for keyword in KEYWORDS)


def evaluate(rows: Iterable[Row], context: Context, parameters: Parameters = PARAMETERS) -> Result:
    """What the seed returns for one restaurant. Raises EvaluationError where a step has no value."""
    return _compute(rows, context, parameters, None)


def trace(rows: Iterable[Row], context: Context, parameters: Parameters = PARAMETERS) -> Steps:
    """Every step's value for one restaurant. Raises EvaluationError where a step has no value."""
    noted: list[Steps] = []
    _compute(rows, context, parameters, noted)
    return noted[0]


def _compute(rows: Iterable[Row], context: Context, parameters: Parameters, noted: list[Steps] | None) -> Result:
    """The steps, in the seed's order. All their values are added to `noted`, where there is one."""
    n_waits = 0
    n_table = 0
    n_food = 0
    n_bill = 0
    n_timed = 0
    n_moderate = 0
    n_long = 0
    n_recent_long = 0
    n_walked_out = 0
    n_compensated = 0
    n_understaffed = 0
    total_minutes = 0
    longest_wait: int | None = None
    for wait_kind, wait_minutes, outcome, blames_staffing, year in rows:
        # $IS_WAIT: extraction.wait_kind != 'none'
        is_wait = wait_kind != "none"
        # $IS_TIMED: extraction.wait_minutes > 0 and $IS_WAIT
        is_timed = wait_minutes > 0 and is_wait
        # N_WAITS: count where $IS_WAIT
        if is_wait:
            n_waits += 1
        # N_TABLE: count where extraction.wait_kind == 'table'
        if wait_kind == "table":
            n_table += 1
        # N_FOOD: count where extraction.wait_kind == 'food'
        if wait_kind == "food":
            n_food += 1
        # N_BILL: count where extraction.wait_kind == 'bill'
        if wait_kind == "bill":
            n_bill += 1
        if is_timed:
            # N_TIMED: count where $IS_TIMED
            n_timed += 1
            # N_MODERATE: count where $IS_TIMED and extraction.wait_minutes >= 15 and extraction.wait_minutes < 45
            if wait_minutes >= 15 and wait_minutes < 45:
                n_moderate += 1
            if wait_minutes >= 45:
                # N_LONG: count where $IS_TIMED and extraction.wait_minutes >= 45
                n_long += 1
                # N_RECENT_LONG: count where $IS_TIMED and extraction.wait_minutes >= 45 and meta.year >= param.RECENT_FROM
                if year >= parameters.RECENT_FROM:
                    n_recent_long += 1
        if is_wait:
            # N_WALKED_OUT: count where $IS_WAIT and extraction.outcome == 'walked_out'
            if outcome == "walked_out":
                n_walked_out += 1
            # N_COMPENSATED: count where $IS_WAIT and extraction.outcome == 'compensated'
            if outcome == "compensated":
                n_compensated += 1
            # N_UNDERSTAFFED: count where $IS_WAIT and extraction.blames_staffing
            if blames_staffing:
                n_understaffed += 1
        if is_timed:
            # TOTAL_MINUTES: sum of extraction.wait_minutes where $IS_TIMED
            total_minutes += wait_minutes
            # LONGEST_WAIT: max of extraction.wait_minutes where $IS_TIMED, default 0
            if longest_wait is None or wait_minutes > longest_wait:
                longest_wait = wait_minutes

    # LONGEST_WAIT, over no review
    if longest_wait is None:
        longest_wait = 0
    # AVERAGE_WAIT: TOTAL_MINUTES / N_TIMED if N_TIMED > 0 else 0.0
    average_wait = total_minutes / n_timed if n_timed > 0 else 0.0
    # WALKOUT_PERCENT: 100 * N_WALKED_OUT / N_WAITS if N_WAITS > 0 else 0.0
    walkout_percent = 100 * n_walked_out / n_waits if n_waits > 0 else 0.0
    # MODERATE_WEIGHT: constant 1.0
    moderate_weight: float = 1.0
    # LONG_WEIGHT: constant 3.0
    long_weight: float = 3.0
    # WALKOUT_WEIGHT: constant 5.0
    walkout_weight: float = 5.0
    # COMPENSATION_CREDIT: constant 1.5
    compensation_credit: float = 1.5
    # MINUTE_POINTS: N_MODERATE * MODERATE_WEIGHT + N_LONG * LONG_WEIGHT
    minute_points = n_moderate * moderate_weight + n_long * long_weight
    # OUTCOME_POINTS: N_WALKED_OUT * WALKOUT_WEIGHT - N_COMPENSATED * COMPENSATION_CREDIT
    outcome_points = n_walked_out * walkout_weight - n_compensated * compensation_credit
    # DELAY_RATE: (MINUTE_POINTS + OUTCOME_POINTS) / N_WAITS if N_WAITS > 0 else 0.0
    delay_rate = (minute_points + outcome_points) / n_waits if n_waits > 0 else 0.0
    # TREND_FACTOR: 0.75 if N_LONG > 0 and N_RECENT_LONG == 0; 1.25 if 2 * N_RECENT_LONG > N_LONG; else 1.0
    trend_factor: float
    if n_long > 0 and n_recent_long == 0:
        trend_factor = 0.75
    elif 2 * n_recent_long > n_long:
        trend_factor = 1.25
    else:
        trend_factor = 1.0
    # STAFFING_POINTS: min(10, 2 * N_UNDERSTAFFED)
    staffing_points = min(10, 2 * n_understaffed)
    # BOTTLENECK: 'kitchen' if N_FOOD > N_TABLE and N_FOOD >= N_BILL; 'seating' if N_TABLE > 0 and N_TABLE >= N_BILL; 'payment' if N_BILL > 0; else 'none'
    bottleneck: Bottleneck
    if n_food > n_table and n_food >= n_bill:
        bottleneck = "kitchen"
    elif n_table > 0 and n_table >= n_bill:
        bottleneck = "seating"
    elif n_bill > 0:
        bottleneck = "payment"
    else:
        bottleneck = "none"
    # WAIT_SCORE: clamp(15 * DELAY_RATE * TREND_FACTOR + 0.3 * AVERAGE_WAIT + STAFFING_POINTS, 0.0, 100.0)
    wait_score = max(0.0, min(100.0, 15 * delay_rate * trend_factor + 0.3 * average_wait + staffing_points))
    # VERDICT: 'Too Few Reviews' if N_WAITS < param.MIN_REVIEWS; 'Quick' if WAIT_SCORE < 20; 'Acceptable' if WAIT_SCORE < 45; 'Slow' if WAIT_SCORE < 70; else 'Very Slow'
    verdict: Verdict
    if n_waits < parameters.MIN_REVIEWS:
        verdict = "Too Few Reviews"
    elif wait_score < 20:
        verdict = "Quick"
    elif wait_score < 45:
        verdict = "Acceptable"
    elif wait_score < 70:
        verdict = "Slow"
    else:
        verdict = "Very Slow"

    if noted is not None:
        noted.append(
            Steps(
                N_WAITS=n_waits,
                N_TABLE=n_table,
                N_FOOD=n_food,
                N_BILL=n_bill,
                N_TIMED=n_timed,
                N_MODERATE=n_moderate,
                N_LONG=n_long,
                N_RECENT_LONG=n_recent_long,
                N_WALKED_OUT=n_walked_out,
                N_COMPENSATED=n_compensated,
                N_UNDERSTAFFED=n_understaffed,
                TOTAL_MINUTES=total_minutes,
                LONGEST_WAIT=longest_wait,
                AVERAGE_WAIT=average_wait,
                WALKOUT_PERCENT=walkout_percent,
                MODERATE_WEIGHT=moderate_weight,
                LONG_WEIGHT=long_weight,
                WALKOUT_WEIGHT=walkout_weight,
                COMPENSATION_CREDIT=compensation_credit,
                MINUTE_POINTS=minute_points,
                OUTCOME_POINTS=outcome_points,
                DELAY_RATE=delay_rate,
                TREND_FACTOR=trend_factor,
                STAFFING_POINTS=staffing_points,
                BOTTLENECK=bottleneck,
                WAIT_SCORE=wait_score,
                VERDICT=verdict,
            )
        )
    return Result(
        n_waits,
        n_timed,
        average_wait,
        longest_wait,
        walkout_percent,
        delay_rate,
        trend_factor,
        bottleneck,
        wait_score,
        verdict,
    )


def evidence(rows: Iterable[Row], context: Context, parameters: Parameters = PARAMETERS) -> dict[str, list[int]]:
    """For every count, sum, max and min, the positions of the rows that went into it."""
    counted: dict[str, list[int]] = {
        "N_WAITS": [],
        "N_TABLE": [],
        "N_FOOD": [],
        "N_BILL": [],
        "N_TIMED": [],
        "N_MODERATE": [],
        "N_LONG": [],
        "N_RECENT_LONG": [],
        "N_WALKED_OUT": [],
        "N_COMPENSATED": [],
        "N_UNDERSTAFFED": [],
        "TOTAL_MINUTES": [],
        "LONGEST_WAIT": [],
    }
    for position, (wait_kind, wait_minutes, outcome, blames_staffing, year) in enumerate(rows):
        # $IS_WAIT: extraction.wait_kind != 'none'
        is_wait = wait_kind != "none"
        # $IS_TIMED: extraction.wait_minutes > 0 and $IS_WAIT
        is_timed = wait_minutes > 0 and is_wait
        if is_wait:
            counted["N_WAITS"].append(position)
        if wait_kind == "table":
            counted["N_TABLE"].append(position)
        if wait_kind == "food":
            counted["N_FOOD"].append(position)
        if wait_kind == "bill":
            counted["N_BILL"].append(position)
        if is_timed:
            counted["N_TIMED"].append(position)
            if wait_minutes >= 15 and wait_minutes < 45:
                counted["N_MODERATE"].append(position)
            if wait_minutes >= 45:
                counted["N_LONG"].append(position)
                if year >= parameters.RECENT_FROM:
                    counted["N_RECENT_LONG"].append(position)
        if is_wait:
            if outcome == "walked_out":
                counted["N_WALKED_OUT"].append(position)
            if outcome == "compensated":
                counted["N_COMPENSATED"].append(position)
            if blames_staffing:
                counted["N_UNDERSTAFFED"].append(position)
        if is_timed:
            counted["TOTAL_MINUTES"].append(position)
            counted["LONGEST_WAIT"].append(position)
    return counted


STEPS: Final = (
    "N_WAITS",
    "N_TABLE",
    "N_FOOD",
    "N_BILL",
    "N_TIMED",
    "N_MODERATE",
    "N_LONG",
    "N_RECENT_LONG",
    "N_WALKED_OUT",
    "N_COMPENSATED",
    "N_UNDERSTAFFED",
    "TOTAL_MINUTES",
    "LONGEST_WAIT",
    "AVERAGE_WAIT",
    "WALKOUT_PERCENT",
    "MODERATE_WEIGHT",
    "LONG_WEIGHT",
    "WALKOUT_WEIGHT",
    "COMPENSATION_CREDIT",
    "MINUTE_POINTS",
    "OUTCOME_POINTS",
    "DELAY_RATE",
    "TREND_FACTOR",
    "STAFFING_POINTS",
    "BOTTLENECK",
    "WAIT_SCORE",
    "VERDICT",
)
INPUTS: Final[dict[str, tuple[str, ...]]] = {
    "extraction": (
        "wait_kind",
        "wait_minutes",
        "outcome",
        "blames_staffing",
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
    "param": (
        "RECENT_FROM",
        "MIN_REVIEWS",
    ),
}
WAIT_KIND_VALUES: Final[dict[str, WaitKind]] = {"none": "none", "table": "table", "food": "food", "bill": "bill"}
OUTCOME_VALUES: Final[dict[str, Outcome]] = {
    "none": "none",
    "stayed": "stayed",
    "walked_out": "walked_out",
    "compensated": "compensated",
}


def parse_row(row: JsonObject) -> Row:
    """Read a JSON row; a missing field, a wrong type or an unknown value raises DataError by name."""
    extraction = _object(row, "extraction")
    meta = _object(row, "meta")
    return Row(
        _choice(WAIT_KIND_VALUES, extraction.get("wait_kind"), "extraction.wait_kind"),
        (
            0
            if extraction.get("wait_minutes") is None and _left_out(extraction, "extraction", "wait_minutes", INPUTS)
            else _integer(extraction.get("wait_minutes"), "extraction.wait_minutes")
        ),
        _choice(OUTCOME_VALUES, extraction.get("outcome"), "extraction.outcome"),
        (
            False
            if extraction.get("blames_staffing") is None
            and _left_out(extraction, "extraction", "blames_staffing", INPUTS)
            else _boolean(extraction.get("blames_staffing"), "extraction.blames_staffing")
        ),
        _integer(_date_part(meta, "year"), "meta.year"),
    )


def parse_context(context: JsonObject) -> Context:
    """Read a JSON context; a missing field or a wrong type raises DataError by name."""
    return Context()


def parse_parameters(record: JsonObject) -> Parameters:
    """Read parameters given as JSON, the defaults where none is given; anything out of bounds raises DataError."""
    _known(record, INPUTS["param"])
    return Parameters(
        (
            _bounded(_integer(record.get("RECENT_FROM"), "param.RECENT_FROM"), 2000, 2100, "param.RECENT_FROM")
            if "RECENT_FROM" in record
            else PARAMETERS.RECENT_FROM
        ),
        (
            _bounded(_integer(record.get("MIN_REVIEWS"), "param.MIN_REVIEWS"), 1, 1000, "param.MIN_REVIEWS")
            if "MIN_REVIEWS" in record
            else PARAMETERS.MIN_REVIEWS
        ),
    )


JsonValue: TypeAlias = "str | int | float | bool | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
JsonObject: TypeAlias = Mapping[str, JsonValue]


def _shown(value: JsonValue) -> str:
    """Quote the beginning of a value; Python prints neither integers of 5,000 digits nor lists 1,000 deep."""
    try:
        return repr(value)[:80]
    except (ValueError, RecursionError):
        return "an integer of thousands of digits" if isinstance(value, int) else "a value too large to print"


_Number = TypeVar("_Number", int, float)
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


def _year_and_month(value: JsonValue, place: str) -> tuple[int, int]:
    found = _iso_date(value) if isinstance(value, str) else None
    if found is None:
        raise _refused(place, "an ISO date such as 2018-04-14 or 2018-04-14 12:18:05", value)
    return found


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


def _bounded(value: _Number, low: float, high: float, place: str) -> _Number:
    """A field or parameter inside its bounds, both inclusive."""
    if not low <= value <= high:
        raise DataError(f"`{place}` must be from {low} to {high}, not {_shown(value)}")
    return value


def _known(record: JsonObject, names: tuple[str, ...]) -> None:
    """Refuse a parameter that the seed does not declare."""
    _expect_object(record, "the parameters")
    for name in record:
        if name not in names:
            raise DataError(f"there is no parameter `{str(name)[:80]}`; there are: {', '.join(names)}")


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
