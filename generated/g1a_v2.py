"""G1a-v2

Compiled by formulaseed, emission style 2026-11, from tasks/g1a_v2/seed.json.
Change the seed and compile it again: what is edited here is lost.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias, TypeVar

TASK_NAME: Final = "G1a-v2"
SEED_VERSION: Final[str | None] = None
SEED_SHA256: Final = "5f8d0b3bd5058c9f52adb7bf1fdabc975dc6225715aa39d7476959772221b286"
BODY_SHA256: Final = "0ff8c4b9dea4362ddfe68e1daa8cbef250ff48ce792fb8c97a469c20f479ac23"
KEYWORDS: Final[tuple[str, ...]] = (
    "allergy",
    "allergic",
    "peanut",
    "nut",
    "anaphylaxis",
    "epipen",
)
OUTPUT: Final = (
    "N_TOTAL_INCIDENTS",
    "TRUST_SCORE",
    "ADJUSTED_INCIDENT_SCORE",
    "TRAJECTORY_MULTIPLIER",
    "RECENCY_DECAY",
    "CREDIBILITY_FACTOR",
    "CUISINE_IMPACT",
    "INCIDENT_IMPACT",
    "TRUST_IMPACT",
    "POSITIVE_CREDIT",
    "FINAL_RISK_SCORE",
    "VERDICT",
)

IncidentSeverity: TypeAlias = Literal[
    "none",  # No allergic reaction described
    "mild",  # Minor symptoms (stomach upset, mild discomfort)
    "moderate",  # Visible symptoms (hives, swelling, needed medication)
    "severe",  # Life-threatening (anaphylaxis, EpiPen, ER visit)
]
AccountType: TypeAlias = Literal[
    "none",  # No incident mentioned
    "firsthand",  # Personal experience ('I had', 'my child experienced')
    "secondhand",  # Reported by someone else ('I heard', 'friend told me')
    "hypothetical",  # Concern without actual incident
]
SafetyInteraction: TypeAlias = Literal[
    "none",  # No staff interaction about allergies
    "positive",  # Staff asked about allergies AND successfully accommodated
    "negative",  # Staff dismissive or refused to accommodate
    "betrayal",  # Staff CLAIMED safe BUT customer still had reaction
]
Verdict: TypeAlias = Literal[
    "Low Risk",
    "High Risk",
    "Critical Risk",
]


class Row(NamedTuple):
    """One relevant review: what was extracted from it, and its metadata."""

    incident_severity: IncidentSeverity
    account_type: AccountType
    safety_interaction: SafetyInteraction
    stars: float
    useful: int
    year: int


class Context(NamedTuple):
    """What the steps use of the restaurant itself."""

    categories: str


class Parameters(NamedTuple):
    """The seed has no parameters."""


class Steps(NamedTuple):
    """Every step's value, in the seed's order."""

    N_MILD: int
    N_MODERATE: int
    N_SEVERE: int
    N_TOTAL_INCIDENTS: int
    N_POSITIVE: int
    N_NEGATIVE: int
    N_BETRAYAL: int
    N_ALLERGY_REVIEWS: int
    TRUST_RAW: float
    TRUST_SCORE: float
    MILD_WEIGHT: float
    MODERATE_WEIGHT: float
    SEVERE_WEIGHT: int
    ADJUSTED_INCIDENT_SCORE: float
    N_RECENT: int
    N_OLD: int
    RECENT_RATIO: float
    TRAJECTORY_MULTIPLIER: float
    CUISINE_MODIFIER: float
    SILENCE_PENALTY: float
    CUISINE_IMPACT: float
    MOST_RECENT_YEAR: int
    INCIDENT_AGE: int
    RECENCY_DECAY: float
    TOTAL_WEIGHT: float
    CREDIBILITY_FACTOR: float
    INCIDENT_IMPACT: float
    TRUST_IMPACT: float
    POSITIVE_CREDIT: float
    BASE_RISK: float
    RAW_RISK: float
    FINAL_RISK_SCORE: float
    VERDICT: Verdict


class Result(NamedTuple):
    """What the seed returns."""

    N_TOTAL_INCIDENTS: int
    TRUST_SCORE: float
    ADJUSTED_INCIDENT_SCORE: float
    TRAJECTORY_MULTIPLIER: float
    RECENCY_DECAY: float
    CREDIBILITY_FACTOR: float
    CUISINE_IMPACT: float
    INCIDENT_IMPACT: float
    TRUST_IMPACT: float
    POSITIVE_CREDIT: float
    FINAL_RISK_SCORE: float
    VERDICT: Verdict


# the table of CUISINE_MODIFIER, substring_max
CUISINE_MODIFIER_TABLE: Final[dict[str, float]] = {
    "Thai": 2.0,
    "Vietnamese": 1.8,
    "Chinese": 1.5,
    "Asian Fusion": 1.5,
    "Indian": 1.3,
    "Japanese": 1.2,
    "Korean": 1.2,
    "Mexican": 1.0,
    "Italian": 0.5,
    "American": 0.5,
    "Pizza": 0.5,
}


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
    n_mild = 0
    n_moderate = 0
    n_severe = 0
    n_positive = 0
    n_negative = 0
    n_betrayal = 0
    n_allergy_reviews = 0
    n_recent = 0
    n_old = 0
    most_recent_year: int | None = None
    total_weight = 0.0
    for incident_severity, account_type, safety_interaction, stars, useful, year in rows:
        # $IS_INCIDENT: extraction.account_type == 'firsthand' and extraction.incident_severity in ['mild', 'moderate', 'severe']
        is_incident = account_type == "firsthand" and incident_severity in ("mild", "moderate", "severe")
        if account_type == "firsthand":
            # N_MILD: count where extraction.incident_severity == 'mild' and extraction.account_type == 'firsthand'
            if incident_severity == "mild":
                n_mild += 1
            # N_MODERATE: count where extraction.incident_severity == 'moderate' and extraction.account_type == 'firsthand'
            if incident_severity == "moderate":
                n_moderate += 1
            # N_SEVERE: count where extraction.incident_severity == 'severe' and extraction.account_type == 'firsthand'
            if incident_severity == "severe":
                n_severe += 1
        # N_POSITIVE: count where extraction.safety_interaction == 'positive'
        if safety_interaction == "positive":
            n_positive += 1
        # N_NEGATIVE: count where extraction.safety_interaction == 'negative'
        if safety_interaction == "negative":
            n_negative += 1
        # N_BETRAYAL: count where extraction.safety_interaction == 'betrayal'
        if safety_interaction == "betrayal":
            n_betrayal += 1
        # N_ALLERGY_REVIEWS: count
        n_allergy_reviews += 1
        if is_incident:
            # N_RECENT: count where $IS_INCIDENT and meta.year >= 2023
            if year >= 2023:
                n_recent += 1
            # N_OLD: count where $IS_INCIDENT and meta.year < 2023
            if year < 2023:
                n_old += 1
            # MOST_RECENT_YEAR: max of meta.year where $IS_INCIDENT, default 2020
            if most_recent_year is None or year > most_recent_year:
                most_recent_year = year
            # TOTAL_WEIGHT: sum of 5 - meta.stars + log(meta.useful + 1) where $IS_INCIDENT
            total_weight += 5 - stars + _log(useful + 1, "TOTAL_WEIGHT")

    # N_TOTAL_INCIDENTS: N_MILD + N_MODERATE + N_SEVERE
    n_total_incidents = n_mild + n_moderate + n_severe
    # TRUST_RAW: 1.0 + N_POSITIVE * 0.1 - N_NEGATIVE * 0.2 - N_BETRAYAL * 0.5
    trust_raw = 1.0 + n_positive * 0.1 - n_negative * 0.2 - n_betrayal * 0.5
    # TRUST_SCORE: max(0.1, min(1.0, TRUST_RAW))
    trust_score = max(0.1, min(1.0, trust_raw))
    # MILD_WEIGHT: 2 * (1.5 - TRUST_SCORE)
    mild_weight = 2 * (1.5 - trust_score)
    # MODERATE_WEIGHT: 5 * (1.3 - 0.3 * TRUST_SCORE)
    moderate_weight = 5 * (1.3 - 0.3 * trust_score)
    # SEVERE_WEIGHT: constant 15
    severe_weight: int = 15
    # ADJUSTED_INCIDENT_SCORE: N_MILD * MILD_WEIGHT + N_MODERATE * MODERATE_WEIGHT + N_SEVERE * SEVERE_WEIGHT
    adjusted_incident_score = n_mild * mild_weight + n_moderate * moderate_weight + n_severe * severe_weight
    # RECENT_RATIO: N_RECENT / N_TOTAL_INCIDENTS if N_TOTAL_INCIDENTS > 0 else 0
    recent_ratio = n_recent / n_total_incidents if n_total_incidents > 0 else 0
    # TRAJECTORY_MULTIPLIER: 1.3 if RECENT_RATIO > 0.7; 0.7 if RECENT_RATIO < 0.3 and N_TOTAL_INCIDENTS > 0; else 1.0
    trajectory_multiplier: float
    if recent_ratio > 0.7:
        trajectory_multiplier = 1.3
    elif recent_ratio < 0.3 and n_total_incidents > 0:
        trajectory_multiplier = 0.7
    else:
        trajectory_multiplier = 1.0
    # CUISINE_MODIFIER: lookup of context.categories in 11 keys, substring_max, default 1.0
    cuisine_modifier = _substring_max(CUISINE_MODIFIER_TABLE, context.categories, 1.0)
    # SILENCE_PENALTY: CUISINE_MODIFIER * 0.5 if N_ALLERGY_REVIEWS == 0 else 0
    silence_penalty = cuisine_modifier * 0.5 if n_allergy_reviews == 0 else 0
    # CUISINE_IMPACT: CUISINE_MODIFIER * 0.5 + SILENCE_PENALTY
    cuisine_impact = cuisine_modifier * 0.5 + silence_penalty
    # MOST_RECENT_YEAR, over no review
    if most_recent_year is None:
        most_recent_year = 2020
    # INCIDENT_AGE: 2025 - MOST_RECENT_YEAR
    incident_age = 2025 - most_recent_year
    # RECENCY_DECAY: max(0.3, 1.0 - INCIDENT_AGE * 0.15)
    recency_decay = max(0.3, 1.0 - incident_age * 0.15)
    # CREDIBILITY_FACTOR: TOTAL_WEIGHT / N_TOTAL_INCIDENTS if N_TOTAL_INCIDENTS > 0 else 1.0
    credibility_factor = total_weight / n_total_incidents if n_total_incidents > 0 else 1.0
    # INCIDENT_IMPACT: ADJUSTED_INCIDENT_SCORE * TRAJECTORY_MULTIPLIER * RECENCY_DECAY * CREDIBILITY_FACTOR
    incident_impact = adjusted_incident_score * trajectory_multiplier * recency_decay * credibility_factor
    # TRUST_IMPACT: (1.0 - TRUST_SCORE) * 3.0
    trust_impact = (1.0 - trust_score) * 3.0
    # POSITIVE_CREDIT: N_POSITIVE * TRUST_SCORE * 0.5
    positive_credit = n_positive * trust_score * 0.5
    # BASE_RISK: constant 2.0
    base_risk: float = 2.0
    # RAW_RISK: BASE_RISK + INCIDENT_IMPACT + TRUST_IMPACT + CUISINE_IMPACT - POSITIVE_CREDIT
    raw_risk = base_risk + incident_impact + trust_impact + cuisine_impact - positive_credit
    # FINAL_RISK_SCORE: max(0.0, min(20.0, RAW_RISK))
    final_risk_score = max(0.0, min(20.0, raw_risk))
    # VERDICT: 'Low Risk' if FINAL_RISK_SCORE < 4.0; 'High Risk' if FINAL_RISK_SCORE < 8.0; else 'Critical Risk'
    verdict: Verdict
    if final_risk_score < 4.0:
        verdict = "Low Risk"
    elif final_risk_score < 8.0:
        verdict = "High Risk"
    else:
        verdict = "Critical Risk"

    if noted is not None:
        noted.append(
            Steps(
                N_MILD=n_mild,
                N_MODERATE=n_moderate,
                N_SEVERE=n_severe,
                N_TOTAL_INCIDENTS=n_total_incidents,
                N_POSITIVE=n_positive,
                N_NEGATIVE=n_negative,
                N_BETRAYAL=n_betrayal,
                N_ALLERGY_REVIEWS=n_allergy_reviews,
                TRUST_RAW=trust_raw,
                TRUST_SCORE=trust_score,
                MILD_WEIGHT=mild_weight,
                MODERATE_WEIGHT=moderate_weight,
                SEVERE_WEIGHT=severe_weight,
                ADJUSTED_INCIDENT_SCORE=adjusted_incident_score,
                N_RECENT=n_recent,
                N_OLD=n_old,
                RECENT_RATIO=recent_ratio,
                TRAJECTORY_MULTIPLIER=trajectory_multiplier,
                CUISINE_MODIFIER=cuisine_modifier,
                SILENCE_PENALTY=silence_penalty,
                CUISINE_IMPACT=cuisine_impact,
                MOST_RECENT_YEAR=most_recent_year,
                INCIDENT_AGE=incident_age,
                RECENCY_DECAY=recency_decay,
                TOTAL_WEIGHT=total_weight,
                CREDIBILITY_FACTOR=credibility_factor,
                INCIDENT_IMPACT=incident_impact,
                TRUST_IMPACT=trust_impact,
                POSITIVE_CREDIT=positive_credit,
                BASE_RISK=base_risk,
                RAW_RISK=raw_risk,
                FINAL_RISK_SCORE=final_risk_score,
                VERDICT=verdict,
            )
        )
    return Result(
        n_total_incidents,
        trust_score,
        adjusted_incident_score,
        trajectory_multiplier,
        recency_decay,
        credibility_factor,
        cuisine_impact,
        incident_impact,
        trust_impact,
        positive_credit,
        final_risk_score,
        verdict,
    )


def evidence(rows: Iterable[Row], context: Context) -> dict[str, list[int]]:
    """For every count, sum, max and min, the positions of the rows that went into it."""
    counted: dict[str, list[int]] = {
        "N_MILD": [],
        "N_MODERATE": [],
        "N_SEVERE": [],
        "N_POSITIVE": [],
        "N_NEGATIVE": [],
        "N_BETRAYAL": [],
        "N_ALLERGY_REVIEWS": [],
        "N_RECENT": [],
        "N_OLD": [],
        "MOST_RECENT_YEAR": [],
        "TOTAL_WEIGHT": [],
    }
    for position, (incident_severity, account_type, safety_interaction, _, _, year) in enumerate(rows):
        # $IS_INCIDENT: extraction.account_type == 'firsthand' and extraction.incident_severity in ['mild', 'moderate', 'severe']
        is_incident = account_type == "firsthand" and incident_severity in ("mild", "moderate", "severe")
        if account_type == "firsthand":
            if incident_severity == "mild":
                counted["N_MILD"].append(position)
            if incident_severity == "moderate":
                counted["N_MODERATE"].append(position)
            if incident_severity == "severe":
                counted["N_SEVERE"].append(position)
        if safety_interaction == "positive":
            counted["N_POSITIVE"].append(position)
        if safety_interaction == "negative":
            counted["N_NEGATIVE"].append(position)
        if safety_interaction == "betrayal":
            counted["N_BETRAYAL"].append(position)
        counted["N_ALLERGY_REVIEWS"].append(position)
        if is_incident:
            if year >= 2023:
                counted["N_RECENT"].append(position)
            if year < 2023:
                counted["N_OLD"].append(position)
            counted["MOST_RECENT_YEAR"].append(position)
            counted["TOTAL_WEIGHT"].append(position)
    return counted


STEPS: Final = (
    "N_MILD",
    "N_MODERATE",
    "N_SEVERE",
    "N_TOTAL_INCIDENTS",
    "N_POSITIVE",
    "N_NEGATIVE",
    "N_BETRAYAL",
    "N_ALLERGY_REVIEWS",
    "TRUST_RAW",
    "TRUST_SCORE",
    "MILD_WEIGHT",
    "MODERATE_WEIGHT",
    "SEVERE_WEIGHT",
    "ADJUSTED_INCIDENT_SCORE",
    "N_RECENT",
    "N_OLD",
    "RECENT_RATIO",
    "TRAJECTORY_MULTIPLIER",
    "CUISINE_MODIFIER",
    "SILENCE_PENALTY",
    "CUISINE_IMPACT",
    "MOST_RECENT_YEAR",
    "INCIDENT_AGE",
    "RECENCY_DECAY",
    "TOTAL_WEIGHT",
    "CREDIBILITY_FACTOR",
    "INCIDENT_IMPACT",
    "TRUST_IMPACT",
    "POSITIVE_CREDIT",
    "BASE_RISK",
    "RAW_RISK",
    "FINAL_RISK_SCORE",
    "VERDICT",
)
INPUTS: Final[dict[str, tuple[str, ...]]] = {
    "extraction": (
        "incident_severity",
        "account_type",
        "safety_interaction",
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
INCIDENT_SEVERITY_VALUES: Final[dict[str, IncidentSeverity]] = {
    "none": "none",
    "mild": "mild",
    "moderate": "moderate",
    "severe": "severe",
}
ACCOUNT_TYPE_VALUES: Final[dict[str, AccountType]] = {
    "none": "none",
    "firsthand": "firsthand",
    "secondhand": "secondhand",
    "hypothetical": "hypothetical",
}
SAFETY_INTERACTION_VALUES: Final[dict[str, SafetyInteraction]] = {
    "none": "none",
    "positive": "positive",
    "negative": "negative",
    "betrayal": "betrayal",
}


def parse_row(row: JsonObject) -> Row:
    """Read a JSON row; a missing field, a wrong type or an unknown value raises DataError by name."""
    extraction = _object(row, "extraction")
    meta = _object(row, "meta")
    return Row(
        _choice(INCIDENT_SEVERITY_VALUES, extraction.get("incident_severity"), "extraction.incident_severity"),
        _choice(ACCOUNT_TYPE_VALUES, extraction.get("account_type"), "extraction.account_type"),
        _choice(SAFETY_INTERACTION_VALUES, extraction.get("safety_interaction"), "extraction.safety_interaction"),
        _number(meta.get("stars"), "meta.stars"),
        _integer(meta.get("useful"), "meta.useful"),
        _integer(_date_part(meta, "year"), "meta.year"),
    )


def parse_context(context: JsonObject) -> Context:
    """Read a JSON context; a missing field or a wrong type raises DataError by name."""
    _expect_object(context, "the context")
    return Context(
        _string(context.get("categories"), "context.categories"),
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
_Default = TypeVar("_Default")
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


def _log(value: float, step: str) -> float:
    """The natural logarithm; of 0 or less it is an error."""
    if value <= 0:
        raise EvaluationError(step, "domain", f"log({value!r}): the logarithm needs a number above 0", (value,))
    return math.log(value)


def _substring_max(table: Mapping[str, _Number], source: str, default: _Default) -> _Number | _Default:
    """The highest value among the keys that occur in the source."""
    best: _Number | None = None
    for key, value in table.items():
        if key in source and (best is None or value > best):
            best = value
    return default if best is None else best


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


def _choice(values: Mapping[str, _Value], value: JsonValue, place: str) -> _Value:
    found = values.get(value) if isinstance(value, str) else None
    if found is None:
        raise _refused(place, f"one of {', '.join(values)}", value)
    return found


def _string(value: JsonValue, place: str) -> str:
    if isinstance(value, str):
        return value
    raise _refused(place, "a text", value)


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
