"""Staff-service: Rates how the staff of a restaurant treat their guests, and how evenly they do so.

Compiled by formulaseed, emission style 2026-11, from tasks/staff_service/seed.json.
The seed's version: 1.0.
Change the seed and compile it again: what is edited here is lost.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias, TypeVar

TASK_NAME: Final = "Staff-service"
SEED_VERSION: Final[str | None] = "1.0"
SEED_SHA256: Final = "9f35640b6d65958735c4e409dfe1801bbd36a1ba43c0e54bb0a8bf7779a84afb"
BODY_SHA256: Final = "03d747660562422cf054dd291307f618047e7f5b2adf63328f9653cde333d0fb"
KEYWORDS: Final[tuple[str, ...]] = (
    "service",
    "staff",
    "server",
    "waiter",
    "waitress",
    "bartender",
    "host",
    "manager",
    "rude",
    "friendly",
    "friendlier",
    "friendliest",
    "attentive",
    "attitude",
    "ignored",
    "welcom",
    "helpful",
)
OUTPUT: Final = (
    "N_SERVICE",
    "NET_ATTITUDE",
    "N_NAMED_PRAISE",
    "N_UNFIXED",
    "STAR_SPREAD",
    "RATING_GAP",
    "ATTITUDE_POINTS",
    "VOICE_POINTS",
    "SERVICE_SCORE",
    "VERDICT",
)

# values of Attitude: How staff behaved toward the reviewer, on the whole
Attitude: TypeAlias = Literal[
    "none",  # Behavior of staff not described
    "warm",  # Friendly, caring or gracious ('so friendly', 'made us feel welcome', 'went above and beyond')
    "indifferent",  # Neither friendly nor unfriendly, or simply absent-minded ('seemed bored', 'did not seem to care')
    "rude",  # Unfriendly, dismissive or insulting ('so rude', 'rolled her eyes', 'talked down to us')
]
# values of Attentiveness: Whether staff were there when they were needed
Attentiveness: TypeAlias = Literal[
    "none",  # Not mentioned
    "prompt",  # Quick and attentive ('checked on us often', 'very attentive', 'water never ran empty')
    "slow",  # Had to be waited for ('slow service', 'took forever to get the check')
    "absent",  # Not to be found ('completely ignored us', 'nobody came to our table')
]
# values of OrderError: Whether an order or a bill was wrong, and what came of it
OrderError: TypeAlias = Literal[
    "none",  # No mistake mentioned
    "fixed",  # A mistake that staff put right ('brought the right dish right away', 'took it off the bill')
    "unfixed",  # A mistake that staff left as it was ('never got my side', 'refused to take it back', 'charged us anyway')
]
Verdict: TypeAlias = Literal[
    "Not Rated",
    "Excellent",
    "Reliable",
    "Uneven",
    "Poor",
]


class Row(NamedTuple):
    """One relevant review: what was extracted from it, and its metadata."""

    attitude: Attitude
    attentiveness: Attentiveness
    order_error: OrderError
    manager_involved: bool  # True if a manager or the owner dealt with the guest ('the manager came over', 'the owner stopped by our table')
    employee_named: str  # First name of the employee that the review singles out ('our server Maria', 'ask for Tom'); empty when nobody is named
    stars: float
    useful: int
    funny: int
    cool: int
    user_fans: int


class Context(NamedTuple):
    """What the steps use of the restaurant itself."""

    stars: float


class Parameters(NamedTuple):
    """The seed has no parameters."""


class Steps(NamedTuple):
    """Every step's value, in the seed's order."""

    N_SERVICE: int
    N_WARM: int
    N_RUDE: int
    N_VOUCHED_RUDE: int
    N_SLOW: int
    N_UNFIXED: int
    N_RECOVERED: int
    N_NAMED_PRAISE: int
    NET_ATTITUDE: float
    EVIDENCE: float
    LOWEST_STARS: float
    HIGHEST_STARS: float
    STAR_SPREAD: float
    STAR_TOTAL: float
    MEAN_STARS: float
    RATING_GAP: float
    REPRESENTATIVE: float
    VOICE_WEIGHT: float
    VOICE_POINTS: float
    ATTITUDE_POINTS: float
    CREDITS: int
    DEBITS: float
    SERVICE_SCORE: float
    VERDICT: Verdict


class Result(NamedTuple):
    """What the seed returns."""

    N_SERVICE: int
    NET_ATTITUDE: float
    N_NAMED_PRAISE: int
    N_UNFIXED: int
    STAR_SPREAD: float
    RATING_GAP: float
    ATTITUDE_POINTS: float
    VOICE_POINTS: float
    SERVICE_SCORE: float
    VERDICT: Verdict


def is_relevant(text: str) -> bool:
    """Whether the review's text contains one of the keywords, whatever their case."""
    folded = text.casefold()
    return any(keyword in folded for keyword in KEYWORDS)


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
    n_service = 0
    n_warm = 0
    n_rude = 0
    n_vouched_rude = 0
    n_slow = 0
    n_unfixed = 0
    n_recovered = 0
    n_named_praise = 0
    lowest_stars: float | None = None
    highest_stars: float | None = None
    star_total = 0.0
    voice_weight = 0.0
    for (
        attitude,
        attentiveness,
        order_error,
        manager_involved,
        employee_named,
        stars,
        useful,
        funny,
        cool,
        user_fans,
    ) in rows:
        # $IS_JOKE: meta.funny > 10 and meta.cool <= 2
        is_joke = funny > 10 and cool <= 2
        # $IS_SERVICE: extraction.attitude != 'none' and not $IS_JOKE
        is_service = attitude != "none" and not is_joke
        # $IS_VOUCHED: meta.useful > 0 and meta.useful <= 50 and $IS_SERVICE
        is_vouched = useful > 0 and useful <= 50 and is_service
        if is_service:
            # N_SERVICE: count where $IS_SERVICE
            n_service += 1
            # N_WARM: count where $IS_SERVICE and extraction.attitude == 'warm'
            if attitude == "warm":
                n_warm += 1
            # N_RUDE: count where $IS_SERVICE and extraction.attitude == 'rude'
            if attitude == "rude":
                n_rude += 1
        # N_VOUCHED_RUDE: count where $IS_VOUCHED and extraction.attitude == 'rude'
        if is_vouched and attitude == "rude":
            n_vouched_rude += 1
        if not is_joke:
            # N_SLOW: count where not $IS_JOKE and extraction.attentiveness in ['slow', 'absent']
            if attentiveness in ("slow", "absent"):
                n_slow += 1
            # N_UNFIXED: count where not $IS_JOKE and extraction.order_error == 'unfixed'
            if order_error == "unfixed":
                n_unfixed += 1
            # N_RECOVERED: count where not $IS_JOKE and extraction.order_error == 'fixed' and extraction.manager_involved
            if order_error == "fixed" and manager_involved:
                n_recovered += 1
        if is_service:
            # N_NAMED_PRAISE: count where $IS_SERVICE and extraction.attitude == 'warm' and extraction.employee_named != ''
            if attitude == "warm" and employee_named != "":
                n_named_praise += 1
            # LOWEST_STARS: min of meta.stars where $IS_SERVICE, default 3
            if lowest_stars is None or stars < lowest_stars:
                lowest_stars = stars
            # HIGHEST_STARS: max of meta.stars where $IS_SERVICE, default 3
            if highest_stars is None or stars > highest_stars:
                highest_stars = stars
            # STAR_TOTAL: sum of meta.stars where $IS_SERVICE
            star_total += stars
            # VOICE_WEIGHT: sum of (1 if extraction.attitude == 'warm' else -1 if extraction.attitude == 'rude' else 0) * log(1 + max(meta.user_fans, 0)) where $IS_SERVICE
            voice_weight += (1 if attitude == "warm" else -1 if attitude == "rude" else 0) * math.log(
                1 + max(user_fans, 0)
            )

    # NET_ATTITUDE: (N_WARM - N_RUDE) / N_SERVICE if N_SERVICE > 0 else 0.0
    net_attitude = (n_warm - n_rude) / n_service if n_service > 0 else 0.0
    # EVIDENCE: min(1.0, sqrt(N_SERVICE) / 4)
    evidence = min(1.0, math.sqrt(n_service) / 4)
    # LOWEST_STARS, over no review
    if lowest_stars is None:
        lowest_stars = 3
    # HIGHEST_STARS, over no review
    if highest_stars is None:
        highest_stars = 3
    # STAR_SPREAD: HIGHEST_STARS - LOWEST_STARS
    star_spread = highest_stars - lowest_stars
    # MEAN_STARS: STAR_TOTAL / N_SERVICE if N_SERVICE > 0 else 3.0
    mean_stars = star_total / n_service if n_service > 0 else 3.0
    # RATING_GAP: abs(MEAN_STARS - context.stars)
    rating_gap = abs(mean_stars - context.stars)
    # REPRESENTATIVE: 1.0 if RATING_GAP <= 0.5; 0.9 if RATING_GAP <= 1.5; else 0.75
    representative: float
    if rating_gap <= 0.5:
        representative = 1.0
    elif rating_gap <= 1.5:
        representative = 0.9
    else:
        representative = 0.75
    # VOICE_POINTS: max(-5.0, min(5.0, VOICE_WEIGHT))
    voice_points = max(-5.0, min(5.0, voice_weight))
    # ATTITUDE_POINTS: 40 * NET_ATTITUDE * EVIDENCE * REPRESENTATIVE
    attitude_points = 40 * net_attitude * evidence * representative
    # CREDITS: min(10, 2 * N_NAMED_PRAISE) + min(6, 2 * N_RECOVERED)
    credits = min(10, 2 * n_named_praise) + min(6, 2 * n_recovered)
    # DEBITS: min(15, 3 * N_VOUCHED_RUDE) + min(12, 1.5 * N_SLOW) + min(16, 4 * N_UNFIXED) + 1.5 * STAR_SPREAD
    debits = min(15, 3 * n_vouched_rude) + min(12, 1.5 * n_slow) + min(16, 4 * n_unfixed) + 1.5 * star_spread
    # SERVICE_SCORE: max(0.0, min(100.0, 55 + ATTITUDE_POINTS + VOICE_POINTS + CREDITS - DEBITS))
    service_score = max(0.0, min(100.0, 55 + attitude_points + voice_points + credits - debits))
    # VERDICT: 'Not Rated' if N_SERVICE == 0; 'Excellent' if SERVICE_SCORE >= 75; 'Reliable' if SERVICE_SCORE >= 50; 'Uneven' if SERVICE_SCORE >= 30; else 'Poor'
    verdict: Verdict
    if n_service == 0:
        verdict = "Not Rated"
    elif service_score >= 75:
        verdict = "Excellent"
    elif service_score >= 50:
        verdict = "Reliable"
    elif service_score >= 30:
        verdict = "Uneven"
    else:
        verdict = "Poor"

    if noted is not None:
        noted.append(
            Steps(
                N_SERVICE=n_service,
                N_WARM=n_warm,
                N_RUDE=n_rude,
                N_VOUCHED_RUDE=n_vouched_rude,
                N_SLOW=n_slow,
                N_UNFIXED=n_unfixed,
                N_RECOVERED=n_recovered,
                N_NAMED_PRAISE=n_named_praise,
                NET_ATTITUDE=net_attitude,
                EVIDENCE=evidence,
                LOWEST_STARS=lowest_stars,
                HIGHEST_STARS=highest_stars,
                STAR_SPREAD=star_spread,
                STAR_TOTAL=star_total,
                MEAN_STARS=mean_stars,
                RATING_GAP=rating_gap,
                REPRESENTATIVE=representative,
                VOICE_WEIGHT=voice_weight,
                VOICE_POINTS=voice_points,
                ATTITUDE_POINTS=attitude_points,
                CREDITS=credits,
                DEBITS=debits,
                SERVICE_SCORE=service_score,
                VERDICT=verdict,
            )
        )
    return Result(
        n_service,
        net_attitude,
        n_named_praise,
        n_unfixed,
        star_spread,
        rating_gap,
        attitude_points,
        voice_points,
        service_score,
        verdict,
    )


def evidence(rows: Iterable[Row], context: Context) -> dict[str, list[int]]:
    """For every count, sum, max and min, the positions of the rows that went into it."""
    counted: dict[str, list[int]] = {
        "N_SERVICE": [],
        "N_WARM": [],
        "N_RUDE": [],
        "N_VOUCHED_RUDE": [],
        "N_SLOW": [],
        "N_UNFIXED": [],
        "N_RECOVERED": [],
        "N_NAMED_PRAISE": [],
        "LOWEST_STARS": [],
        "HIGHEST_STARS": [],
        "STAR_TOTAL": [],
        "VOICE_WEIGHT": [],
    }
    for position, (
        attitude,
        attentiveness,
        order_error,
        manager_involved,
        employee_named,
        _,
        useful,
        funny,
        cool,
        _,
    ) in enumerate(rows):
        # $IS_JOKE: meta.funny > 10 and meta.cool <= 2
        is_joke = funny > 10 and cool <= 2
        # $IS_SERVICE: extraction.attitude != 'none' and not $IS_JOKE
        is_service = attitude != "none" and not is_joke
        # $IS_VOUCHED: meta.useful > 0 and meta.useful <= 50 and $IS_SERVICE
        is_vouched = useful > 0 and useful <= 50 and is_service
        if is_service:
            counted["N_SERVICE"].append(position)
            if attitude == "warm":
                counted["N_WARM"].append(position)
            if attitude == "rude":
                counted["N_RUDE"].append(position)
        if is_vouched and attitude == "rude":
            counted["N_VOUCHED_RUDE"].append(position)
        if not is_joke:
            if attentiveness in ("slow", "absent"):
                counted["N_SLOW"].append(position)
            if order_error == "unfixed":
                counted["N_UNFIXED"].append(position)
            if order_error == "fixed" and manager_involved:
                counted["N_RECOVERED"].append(position)
        if is_service:
            if attitude == "warm" and employee_named != "":
                counted["N_NAMED_PRAISE"].append(position)
            counted["LOWEST_STARS"].append(position)
            counted["HIGHEST_STARS"].append(position)
            counted["STAR_TOTAL"].append(position)
            counted["VOICE_WEIGHT"].append(position)
    return counted


STEPS: Final = (
    "N_SERVICE",
    "N_WARM",
    "N_RUDE",
    "N_VOUCHED_RUDE",
    "N_SLOW",
    "N_UNFIXED",
    "N_RECOVERED",
    "N_NAMED_PRAISE",
    "NET_ATTITUDE",
    "EVIDENCE",
    "LOWEST_STARS",
    "HIGHEST_STARS",
    "STAR_SPREAD",
    "STAR_TOTAL",
    "MEAN_STARS",
    "RATING_GAP",
    "REPRESENTATIVE",
    "VOICE_WEIGHT",
    "VOICE_POINTS",
    "ATTITUDE_POINTS",
    "CREDITS",
    "DEBITS",
    "SERVICE_SCORE",
    "VERDICT",
)
INPUTS: Final[dict[str, tuple[str, ...]]] = {
    "extraction": (
        "attitude",
        "attentiveness",
        "order_error",
        "manager_involved",
        "employee_named",
    ),
    "meta": (
        "stars",
        "useful",
        "funny",
        "cool",
        "year",
        "month",
        "date",
        "user_fans",
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
ATTITUDE_VALUES: Final[dict[str, Attitude]] = {
    "none": "none",
    "warm": "warm",
    "indifferent": "indifferent",
    "rude": "rude",
}
ATTENTIVENESS_VALUES: Final[dict[str, Attentiveness]] = {
    "none": "none",
    "prompt": "prompt",
    "slow": "slow",
    "absent": "absent",
}
ORDER_ERROR_VALUES: Final[dict[str, OrderError]] = {"none": "none", "fixed": "fixed", "unfixed": "unfixed"}


def parse_row(row: JsonObject) -> Row:
    """Read a JSON row; a missing field, a wrong type or an unknown value raises DataError by name."""
    extraction = _object(row, "extraction")
    meta = _object(row, "meta")
    return Row(
        _choice(ATTITUDE_VALUES, extraction.get("attitude"), "extraction.attitude"),
        _choice(ATTENTIVENESS_VALUES, extraction.get("attentiveness"), "extraction.attentiveness"),
        _choice(ORDER_ERROR_VALUES, extraction.get("order_error"), "extraction.order_error"),
        (
            False
            if extraction.get("manager_involved") is None
            and _left_out(extraction, "extraction", "manager_involved", INPUTS)
            else _boolean(extraction.get("manager_involved"), "extraction.manager_involved")
        ),
        (
            ""
            if extraction.get("employee_named") is None
            and _left_out(extraction, "extraction", "employee_named", INPUTS)
            else _string(extraction.get("employee_named"), "extraction.employee_named")
        ),
        _number(meta.get("stars"), "meta.stars"),
        _integer(meta.get("useful"), "meta.useful"),
        _integer(meta.get("funny"), "meta.funny"),
        _integer(meta.get("cool"), "meta.cool"),
        _integer(meta.get("user_fans"), "meta.user_fans"),
    )


def parse_context(context: JsonObject) -> Context:
    """Read a JSON context; a missing field or a wrong type raises DataError by name."""
    _expect_object(context, "the context")
    return Context(
        _number(context.get("stars"), "context.stars"),
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
