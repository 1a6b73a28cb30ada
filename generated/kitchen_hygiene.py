"""Kitchen-hygiene: Rates the hygiene risk of a restaurant from what its guests saw and what happened to them afterwards.

Compiled by formulaseed, emission style 2026-11, from tasks/kitchen_hygiene/seed.json.
The seed's version: 1.0.
Change the seed and compile it again: what is edited here is lost.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias, TypeVar

TASK_NAME: Final = "Kitchen-hygiene"
SEED_VERSION: Final[str | None] = "1.0"
SEED_SHA256: Final = "8a696dd8f2b2b999adaf3f3e5e2812abae119262f28c93f5b8a6311506dbc108"
BODY_SHA256: Final = "2ebc8faadc6be906056c8ed15432d338a301edab8338897d759e9a96427604a2"
KEYWORDS: Final[tuple[str, ...]] = (
    "clean",
    "dirty",
    "dirtier",
    "filthy",
    "filthier",
    "hygien",
    "sanitary",
    "sticky",
    "roach",
    "mouse",
    "mice",
    "rats",
    "rodent",
    "bug",
    "flies",
    "mold",
    "hair in",
    "food poisoning",
    "sick",
    "undercooked",
    "raw chicken",
    "glove",
    "restroom",
    "bathroom",
    "health inspector",
    "health department",
)
OUTPUT: Final = (
    "N_JUDGED",
    "N_ISSUES",
    "N_PEST",
    "N_ILL",
    "ISSUE_PERCENT",
    "WORST_CASE",
    "YEARS_SINCE_ISSUE",
    "HYGIENE_RISK",
    "NEEDS_VISIT",
    "VERDICT",
)

# values of HygieneIssue: The gravest hygiene problem that the review describes at this restaurant
HygieneIssue: TypeAlias = Literal[
    "none",  # No hygiene problem described
    "surfaces",  # Dirty tables, floors, dishes or cutlery ('the table was sticky', 'dirty silverware', 'filthy floor')
    "restroom",  # Dirty or unstocked restroom ('the bathroom was disgusting', 'no soap in the restroom')
    "foreign_object",  # Something in the food that does not belong there ('found a hair in my food', 'piece of plastic in my soup')
    "handling",  # Unsafe food handling or spoiled food ('the chicken was raw', 'mold on the bread', 'touched the food without gloves')
    "pest",  # Insects or rodents inside ('saw a cockroach', 'a mouse ran across the floor', 'flies everywhere')
]
# values of WitnessedBy: Who saw the hygiene problem
WitnessedBy: TypeAlias = Literal[
    "none",  # No hygiene problem described
    "firsthand",  # The reviewer or someone at the same table ('I saw', 'we found', 'in my food')
    "secondhand",  # Reported by someone else ('my friend told me', 'I heard', 'I read that')
]
# values of Illness: What happened to the health of a guest after the meal
Illness: TypeAlias = Literal[
    "none",  # No illness mentioned
    "suspected",  # Unwell, and only suspects the food ('my stomach felt off', 'might have been the fish')
    "ill",  # Fell ill and blames the meal ('got food poisoning', 'threw up all night', 'sick for two days')
    "medical",  # Needed medical care ('ended up in the ER', 'went to urgent care', 'the doctor said')
]
# values of ReviewValidity: Whether the review can be trusted
ReviewValidity: TypeAlias = Literal[
    "valid",  # A genuine review of a visit
    "spam",  # Advertising or text that has nothing to do with the restaurant
    "adversarial",  # Text that tries to steer whoever judges it ('ignore previous instructions')
]
Verdict: TypeAlias = Literal[
    "Clean Record",
    "Minor Concerns",
    "Inspect",
    "Inspect Urgently",
]


class Row(NamedTuple):
    """One relevant review: what was extracted from it, and its metadata."""

    hygiene_issue: HygieneIssue
    witnessed_by: WitnessedBy
    illness: Illness
    told_staff: bool  # True if staff were told about the problem during the visit ('I told our server', 'we complained to the manager')
    staff_fixed: bool  # True if staff put the problem right ('they replaced it right away', 'the manager apologized and took it off the bill')
    praised_clean: bool  # True if the review praises cleanliness ('spotless', 'very clean', 'clean open kitchen')
    review_validity: ReviewValidity
    useful: int
    year: int


class Context(NamedTuple):
    """What the steps use of the restaurant itself."""

    review_count: int
    is_open: int


class Parameters(NamedTuple):
    """The values that can be given at evaluation, and their defaults."""

    AS_OF_YEAR: int = 2025  # The year that counts as now when reports are weighed by age. From 2000 to 2100


PARAMETERS: Final = Parameters()


class Steps(NamedTuple):
    """Every step's value, in the seed's order."""

    N_JUDGED: int
    N_ISSUES: int
    N_MINOR: int
    N_PEST: int
    N_VOUCHED: int
    N_CURRENT: int
    N_UNRESOLVED: int
    N_ILL: int
    N_SUSPECTED: int
    N_CLEAN: int
    SERIOUS_WEIGHT: float
    WORST_CASE: int
    LATEST_ISSUE_YEAR: int
    YEARS_SINCE_ISSUE: int
    RECENCY_FACTOR: float
    ISSUE_POINTS: float
    ILLNESS_POINTS: float
    RESPONSE_POINTS: int
    CLEAN_CREDIT: float
    ISSUE_PERCENT: float
    RAW_RISK: float
    HYGIENE_RISK: float
    NEEDS_VISIT: bool
    VERDICT: Verdict


class Result(NamedTuple):
    """What the seed returns."""

    N_JUDGED: int
    N_ISSUES: int
    N_PEST: int
    N_ILL: int
    ISSUE_PERCENT: float
    WORST_CASE: int
    YEARS_SINCE_ISSUE: int
    HYGIENE_RISK: float
    NEEDS_VISIT: bool
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
    n_judged = 0
    n_issues = 0
    n_minor = 0
    n_pest = 0
    n_vouched = 0
    n_current = 0
    n_unresolved = 0
    n_ill = 0
    n_suspected = 0
    n_clean = 0
    serious_weight = 0.0
    worst_case: int | None = None
    latest_issue_year: int | None = None
    for (
        hygiene_issue,
        witnessed_by,
        illness,
        told_staff,
        staff_fixed,
        praised_clean,
        review_validity,
        useful,
        year,
    ) in rows:
        # $IS_VALID: extraction.review_validity == 'valid'
        is_valid = review_validity == "valid"
        # $IS_ISSUE: extraction.hygiene_issue != 'none' and extraction.witnessed_by == 'firsthand' and $IS_VALID
        is_issue = hygiene_issue != "none" and witnessed_by == "firsthand" and is_valid
        # $IS_SERIOUS: extraction.hygiene_issue in ['handling', 'pest'] and $IS_ISSUE
        is_serious = hygiene_issue in ("handling", "pest") and is_issue
        # $IS_VOUCHED: meta.useful >= 3 and $IS_SERIOUS
        is_vouched = useful >= 3 and is_serious
        # $IS_CURRENT: meta.year >= param.AS_OF_YEAR and context.is_open == 1 and $IS_SERIOUS
        is_current = year >= parameters.AS_OF_YEAR and context.is_open == 1 and is_serious
        # N_JUDGED: count where $IS_VALID
        if is_valid:
            n_judged += 1
        if is_issue:
            # N_ISSUES: count where $IS_ISSUE
            n_issues += 1
            # N_MINOR: count where $IS_ISSUE and not $IS_SERIOUS
            if not is_serious:
                n_minor += 1
        # N_PEST: count where $IS_SERIOUS and extraction.hygiene_issue == 'pest'
        if is_serious and hygiene_issue == "pest":
            n_pest += 1
        # N_VOUCHED: count where $IS_VOUCHED
        if is_vouched:
            n_vouched += 1
        # N_CURRENT: count where $IS_CURRENT
        if is_current:
            n_current += 1
        # N_UNRESOLVED: count where $IS_ISSUE and extraction.told_staff and not extraction.staff_fixed
        if is_issue and told_staff and not staff_fixed:
            n_unresolved += 1
        if is_valid:
            # N_ILL: count where $IS_VALID and extraction.illness in ['ill', 'medical']
            if illness in ("ill", "medical"):
                n_ill += 1
            # N_SUSPECTED: count where $IS_VALID and extraction.illness == 'suspected' and context.review_count >= 25
            if illness == "suspected" and context.review_count >= 25:
                n_suspected += 1
            # N_CLEAN: count where $IS_VALID and extraction.praised_clean and extraction.hygiene_issue == 'none'
            if praised_clean and hygiene_issue == "none":
                n_clean += 1
        # SERIOUS_WEIGHT: sum of clamp(1.0 - 0.2 * (param.AS_OF_YEAR - meta.year), 0.2, 1.0) where $IS_SERIOUS
        if is_serious:
            serious_weight += max(0.2, min(1.0, 1.0 - 0.2 * (parameters.AS_OF_YEAR - year)))
        if is_issue:
            # WORST_CASE: max of (3 if extraction.hygiene_issue == 'pest' else 2 if extraction.hygiene_issue == 'handling' else 1) + (2 if extraction.illness in ['ill', 'medical'] else…
            worst_case_candidate = (3 if hygiene_issue == "pest" else 2 if hygiene_issue == "handling" else 1) + (
                2 if illness in ("ill", "medical") else 0
            )
            if worst_case is None or worst_case_candidate > worst_case:
                worst_case = worst_case_candidate
            # LATEST_ISSUE_YEAR: max of meta.year where $IS_ISSUE, default 2000
            if latest_issue_year is None or year > latest_issue_year:
                latest_issue_year = year

    # WORST_CASE, over no review
    if worst_case is None:
        worst_case = 0
    # LATEST_ISSUE_YEAR, over no review
    if latest_issue_year is None:
        latest_issue_year = 2000
    # YEARS_SINCE_ISSUE: max(0, param.AS_OF_YEAR - LATEST_ISSUE_YEAR)
    years_since_issue = max(0, parameters.AS_OF_YEAR - latest_issue_year)
    # RECENCY_FACTOR: 1.0 if YEARS_SINCE_ISSUE <= 1; 0.7 if YEARS_SINCE_ISSUE <= 3; else 0.4
    recency_factor: float
    if years_since_issue <= 1:
        recency_factor = 1.0
    elif years_since_issue <= 3:
        recency_factor = 0.7
    else:
        recency_factor = 0.4
    # ISSUE_POINTS: 9 * SERIOUS_WEIGHT + 2 * N_VOUCHED + 2.5 * N_MINOR * RECENCY_FACTOR
    issue_points = 9 * serious_weight + 2 * n_vouched + 2.5 * n_minor * recency_factor
    # ILLNESS_POINTS: 6 * N_ILL + 1.5 * N_SUSPECTED
    illness_points = 6 * n_ill + 1.5 * n_suspected
    # RESPONSE_POINTS: min(8, 2 * N_UNRESOLVED)
    response_points = min(8, 2 * n_unresolved)
    # CLEAN_CREDIT: min(10.0, 0.5 * N_CLEAN)
    clean_credit = min(10.0, 0.5 * n_clean)
    # ISSUE_PERCENT: round(100 * N_ISSUES / N_JUDGED, 1) if N_JUDGED > 0 else 0.0
    issue_percent = round(100 * n_issues / n_judged, 1) if n_judged > 0 else 0.0
    # RAW_RISK: ISSUE_POINTS + ILLNESS_POINTS + RESPONSE_POINTS + 2 * WORST_CASE - CLEAN_CREDIT
    raw_risk = issue_points + illness_points + response_points + 2 * worst_case - clean_credit
    # HYGIENE_RISK: max(0.0, min(100.0, RAW_RISK))
    hygiene_risk = max(0.0, min(100.0, raw_risk))
    # NEEDS_VISIT: N_CURRENT > 0 or HYGIENE_RISK >= 60
    needs_visit = n_current > 0 or hygiene_risk >= 60
    # VERDICT: 'Clean Record' if HYGIENE_RISK < 10; 'Minor Concerns' if HYGIENE_RISK < 30; 'Inspect' if HYGIENE_RISK < 60; else 'Inspect Urgently'
    verdict: Verdict
    if hygiene_risk < 10:
        verdict = "Clean Record"
    elif hygiene_risk < 30:
        verdict = "Minor Concerns"
    elif hygiene_risk < 60:
        verdict = "Inspect"
    else:
        verdict = "Inspect Urgently"

    if noted is not None:
        noted.append(
            Steps(
                N_JUDGED=n_judged,
                N_ISSUES=n_issues,
                N_MINOR=n_minor,
                N_PEST=n_pest,
                N_VOUCHED=n_vouched,
                N_CURRENT=n_current,
                N_UNRESOLVED=n_unresolved,
                N_ILL=n_ill,
                N_SUSPECTED=n_suspected,
                N_CLEAN=n_clean,
                SERIOUS_WEIGHT=serious_weight,
                WORST_CASE=worst_case,
                LATEST_ISSUE_YEAR=latest_issue_year,
                YEARS_SINCE_ISSUE=years_since_issue,
                RECENCY_FACTOR=recency_factor,
                ISSUE_POINTS=issue_points,
                ILLNESS_POINTS=illness_points,
                RESPONSE_POINTS=response_points,
                CLEAN_CREDIT=clean_credit,
                ISSUE_PERCENT=issue_percent,
                RAW_RISK=raw_risk,
                HYGIENE_RISK=hygiene_risk,
                NEEDS_VISIT=needs_visit,
                VERDICT=verdict,
            )
        )
    return Result(
        n_judged,
        n_issues,
        n_pest,
        n_ill,
        issue_percent,
        worst_case,
        years_since_issue,
        hygiene_risk,
        needs_visit,
        verdict,
    )


def evidence(rows: Iterable[Row], context: Context, parameters: Parameters = PARAMETERS) -> dict[str, list[int]]:
    """For every count, sum, max and min, the positions of the rows that went into it."""
    counted: dict[str, list[int]] = {
        "N_JUDGED": [],
        "N_ISSUES": [],
        "N_MINOR": [],
        "N_PEST": [],
        "N_VOUCHED": [],
        "N_CURRENT": [],
        "N_UNRESOLVED": [],
        "N_ILL": [],
        "N_SUSPECTED": [],
        "N_CLEAN": [],
        "SERIOUS_WEIGHT": [],
        "WORST_CASE": [],
        "LATEST_ISSUE_YEAR": [],
    }
    for position, (
        hygiene_issue,
        witnessed_by,
        illness,
        told_staff,
        staff_fixed,
        praised_clean,
        review_validity,
        useful,
        year,
    ) in enumerate(rows):
        # $IS_VALID: extraction.review_validity == 'valid'
        is_valid = review_validity == "valid"
        # $IS_ISSUE: extraction.hygiene_issue != 'none' and extraction.witnessed_by == 'firsthand' and $IS_VALID
        is_issue = hygiene_issue != "none" and witnessed_by == "firsthand" and is_valid
        # $IS_SERIOUS: extraction.hygiene_issue in ['handling', 'pest'] and $IS_ISSUE
        is_serious = hygiene_issue in ("handling", "pest") and is_issue
        # $IS_VOUCHED: meta.useful >= 3 and $IS_SERIOUS
        is_vouched = useful >= 3 and is_serious
        # $IS_CURRENT: meta.year >= param.AS_OF_YEAR and context.is_open == 1 and $IS_SERIOUS
        is_current = year >= parameters.AS_OF_YEAR and context.is_open == 1 and is_serious
        if is_valid:
            counted["N_JUDGED"].append(position)
        if is_issue:
            counted["N_ISSUES"].append(position)
            if not is_serious:
                counted["N_MINOR"].append(position)
        if is_serious and hygiene_issue == "pest":
            counted["N_PEST"].append(position)
        if is_vouched:
            counted["N_VOUCHED"].append(position)
        if is_current:
            counted["N_CURRENT"].append(position)
        if is_issue and told_staff and not staff_fixed:
            counted["N_UNRESOLVED"].append(position)
        if is_valid:
            if illness in ("ill", "medical"):
                counted["N_ILL"].append(position)
            if illness == "suspected" and context.review_count >= 25:
                counted["N_SUSPECTED"].append(position)
            if praised_clean and hygiene_issue == "none":
                counted["N_CLEAN"].append(position)
        if is_serious:
            counted["SERIOUS_WEIGHT"].append(position)
        if is_issue:
            counted["WORST_CASE"].append(position)
            counted["LATEST_ISSUE_YEAR"].append(position)
    return counted


STEPS: Final = (
    "N_JUDGED",
    "N_ISSUES",
    "N_MINOR",
    "N_PEST",
    "N_VOUCHED",
    "N_CURRENT",
    "N_UNRESOLVED",
    "N_ILL",
    "N_SUSPECTED",
    "N_CLEAN",
    "SERIOUS_WEIGHT",
    "WORST_CASE",
    "LATEST_ISSUE_YEAR",
    "YEARS_SINCE_ISSUE",
    "RECENCY_FACTOR",
    "ISSUE_POINTS",
    "ILLNESS_POINTS",
    "RESPONSE_POINTS",
    "CLEAN_CREDIT",
    "ISSUE_PERCENT",
    "RAW_RISK",
    "HYGIENE_RISK",
    "NEEDS_VISIT",
    "VERDICT",
)
INPUTS: Final[dict[str, tuple[str, ...]]] = {
    "extraction": (
        "hygiene_issue",
        "witnessed_by",
        "illness",
        "told_staff",
        "staff_fixed",
        "praised_clean",
        "review_validity",
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
    "param": ("AS_OF_YEAR",),
}
HYGIENE_ISSUE_VALUES: Final[dict[str, HygieneIssue]] = {
    "none": "none",
    "surfaces": "surfaces",
    "restroom": "restroom",
    "foreign_object": "foreign_object",
    "handling": "handling",
    "pest": "pest",
}
WITNESSED_BY_VALUES: Final[dict[str, WitnessedBy]] = {
    "none": "none",
    "firsthand": "firsthand",
    "secondhand": "secondhand",
}
ILLNESS_VALUES: Final[dict[str, Illness]] = {
    "none": "none",
    "suspected": "suspected",
    "ill": "ill",
    "medical": "medical",
}
REVIEW_VALIDITY_VALUES: Final[dict[str, ReviewValidity]] = {
    "valid": "valid",
    "spam": "spam",
    "adversarial": "adversarial",
}


def parse_row(row: JsonObject) -> Row:
    """Read a JSON row; a missing field, a wrong type or an unknown value raises DataError by name."""
    extraction = _object(row, "extraction")
    meta = _object(row, "meta")
    return Row(
        _choice(HYGIENE_ISSUE_VALUES, extraction.get("hygiene_issue"), "extraction.hygiene_issue"),
        _choice(WITNESSED_BY_VALUES, extraction.get("witnessed_by"), "extraction.witnessed_by"),
        _choice(ILLNESS_VALUES, extraction.get("illness"), "extraction.illness"),
        (
            False
            if extraction.get("told_staff") is None and _left_out(extraction, "extraction", "told_staff", INPUTS)
            else _boolean(extraction.get("told_staff"), "extraction.told_staff")
        ),
        (
            False
            if extraction.get("staff_fixed") is None and _left_out(extraction, "extraction", "staff_fixed", INPUTS)
            else _boolean(extraction.get("staff_fixed"), "extraction.staff_fixed")
        ),
        (
            False
            if extraction.get("praised_clean") is None and _left_out(extraction, "extraction", "praised_clean", INPUTS)
            else _boolean(extraction.get("praised_clean"), "extraction.praised_clean")
        ),
        (
            "valid"
            if extraction.get("review_validity") is None
            and _left_out(extraction, "extraction", "review_validity", INPUTS)
            else _choice(REVIEW_VALIDITY_VALUES, extraction.get("review_validity"), "extraction.review_validity")
        ),
        _integer(meta.get("useful"), "meta.useful"),
        _integer(_date_part(meta, "year"), "meta.year"),
    )


def parse_context(context: JsonObject) -> Context:
    """Read a JSON context; a missing field or a wrong type raises DataError by name."""
    _expect_object(context, "the context")
    return Context(
        _integer(context.get("review_count"), "context.review_count"),
        _integer(context.get("is_open"), "context.is_open"),
    )


def parse_parameters(record: JsonObject) -> Parameters:
    """Read parameters given as JSON, the defaults where none is given; anything out of bounds raises DataError."""
    _known(record, INPUTS["param"])
    return Parameters(
        (
            _bounded(_integer(record.get("AS_OF_YEAR"), "param.AS_OF_YEAR"), 2000, 2100, "param.AS_OF_YEAR")
            if "AS_OF_YEAR" in record
            else PARAMETERS.AS_OF_YEAR
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
