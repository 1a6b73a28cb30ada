"""Value-for-money: Rates what guests feel they get for their money, against what a meal costs in the same city.

Compiled by formulaseed, emission style 2026-11, from tasks/value_for_money/seed.json.
The seed's version: 1.0.
Change the seed and compile it again: what is edited here is lost.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias, TypeVar

TASK_NAME: Final = "Value-for-money"
SEED_VERSION: Final[str | None] = "1.0"
SEED_SHA256: Final = "a54a70fc660aaf6aacbf14440eedd9d610ee7401ea5c0d5cd6fdbe3d2ac65e14"
BODY_SHA256: Final = "2a7d2627a99925da15b64d4d8315e1b196c39ea38ed23434c51a3ecb2d12cd4a"
KEYWORDS: Final[tuple[str, ...]] = (
    "price",
    "pricing",
    "$",
    "dollar",
    "cheap",
    "expensive",
    "affordable",
    "value",
    "worth",
    "portion",
    "bargain",
    "good deal",
    "great deal",
    "money",
    "rip off",
    "ripoff",
    "rip-off",
)
OUTPUT: Final = (
    "N_JUDGED",
    "N_OVERPRICED",
    "FAVORABLE_PERCENT",
    "AVERAGE_SPEND",
    "CITY_BASELINE",
    "GAP_STEPS",
    "IS_SPLURGE",
    "CONFIDENCE",
    "VALUE_SCORE",
    "VERDICT",
)

# values of PriceView: What the reviewer thinks of the prices
PriceView: TypeAlias = Literal[
    "none",  # No opinion on prices
    "bargain",  # Cheap for what it is ('great deal', 'so cheap', 'cannot beat the price')
    "fair",  # Priced about right ('reasonably priced', 'fair price', 'worth every penny')
    "pricey",  # On the high side, yet accepted ('a bit pricey', 'a little expensive but good')
    "overpriced",  # Not worth the money ('overpriced', 'not worth it', 'a rip off', 'waste of money')
]
# values of Portion: How much food there was
Portion: TypeAlias = Literal[
    "none",  # Portions not mentioned
    "generous",  # Large portions ('huge portions', 'had leftovers', 'enough for two')
    "adequate",  # About right ('decent size', 'good portion')
    "small",  # Too little ('tiny portions', 'left hungry', 'small for the price')
]
Verdict: TypeAlias = Literal[
    "Not Rated",
    "Great Value",
    "Fair Value",
    "Poor Value",
]


class Row(NamedTuple):
    """One relevant review: what was extracted from it, and its metadata."""

    price_view: PriceView
    portion: Portion
    amount_per_person: float  # Dollars spent per person, when the review states it or states a total and the number of guests ('$25 a person', 'sixty dollars for two'); 0 when it cannot be t…
    hidden_charges: bool  # True if the bill held charges that were not announced ('surprise service fee', 'charged for bread', 'automatic gratuity')
    would_pay_again: bool  # True if the reviewer would spend the money here again ('would gladly pay again', 'worth coming back for')
    stars: float
    useful: int


class Context(NamedTuple):
    """What the steps use of the restaurant itself."""

    city: str


class Parameters(NamedTuple):
    """The seed has no parameters."""


class Steps(NamedTuple):
    """Every step's value, in the seed's order."""

    N_JUDGED: int
    N_FAVORABLE: int
    N_OVERPRICED: int
    N_HIDDEN: int
    N_AGAIN: int
    N_PRICED: int
    SPEND_TOTAL: float
    AVERAGE_SPEND: float
    HIGHEST_SPEND: float
    CITY_BASELINE: float
    SPEND_GAP: float
    GAP_STEPS: int
    IS_SPLURGE: bool
    PLEASURE_POINTS: int
    PRICE_POINTS: float
    POINTS_PER_REVIEW: float
    EVIDENCE_STEPS: int
    CONFIDENCE: float
    HIDDEN_PENALTY: int
    FAVORABLE_PERCENT: float
    AGAIN_CREDIT: float
    RAW_SCORE: float
    VALUE_SCORE: float
    VERDICT: Verdict


class Result(NamedTuple):
    """What the seed returns."""

    N_JUDGED: int
    N_OVERPRICED: int
    FAVORABLE_PERCENT: float
    AVERAGE_SPEND: float
    CITY_BASELINE: float
    GAP_STEPS: int
    IS_SPLURGE: bool
    CONFIDENCE: float
    VALUE_SCORE: float
    VERDICT: Verdict


# the table of CITY_BASELINE, exact
CITY_BASELINE_TABLE: Final[dict[str, float]] = {
    "Philadelphia": 24.0,
    "New Orleans": 26.0,
    "Nashville": 25.0,
    "Tampa": 22.0,
    "Tucson": 18.0,
    "Indianapolis": 19.0,
    "Saint Louis": 20.0,
    "St. Louis": 20.0,
    "Reno": 21.0,
    "Santa Barbara": 32.0,
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
    n_judged = 0
    n_favorable = 0
    n_overpriced = 0
    n_hidden = 0
    n_again = 0
    n_priced = 0
    spend_total = 0.0
    highest_spend: float | None = None
    pleasure_points = 0
    price_points = 0.0
    for price_view, portion, amount_per_person, hidden_charges, would_pay_again, stars, useful in rows:
        # $IS_PRICE_TALK: extraction.price_view != 'none'
        is_price_talk = price_view != "none"
        # $IS_PRICED: extraction.amount_per_person > 0 and extraction.amount_per_person <= 500
        is_priced = amount_per_person > 0 and amount_per_person <= 500
        # N_JUDGED: count where $IS_PRICE_TALK
        if is_price_talk:
            n_judged += 1
        # N_FAVORABLE: count where extraction.price_view in ['bargain', 'fair']
        if price_view in ("bargain", "fair"):
            n_favorable += 1
        # N_OVERPRICED: count where extraction.price_view == 'overpriced'
        if price_view == "overpriced":
            n_overpriced += 1
        # N_HIDDEN: count where extraction.hidden_charges
        if hidden_charges:
            n_hidden += 1
        # N_AGAIN: count where $IS_PRICE_TALK and extraction.would_pay_again
        if is_price_talk and would_pay_again:
            n_again += 1
        if is_priced:
            # N_PRICED: count where $IS_PRICED
            n_priced += 1
            # SPEND_TOTAL: sum of extraction.amount_per_person where $IS_PRICED
            spend_total += amount_per_person
            # HIGHEST_SPEND: max of extraction.amount_per_person where $IS_PRICED, default 0
            if highest_spend is None or amount_per_person > highest_spend:
                highest_spend = amount_per_person
        if is_price_talk:
            # PLEASURE_POINTS: sum of int(meta.stars >= 4) * 2 + (1 if extraction.portion == 'generous' else -1 if extraction.portion == 'small' else 0) where $IS_PRICE_TALK
            pleasure_points += int(stars >= 4) * 2 + (1 if portion == "generous" else -1 if portion == "small" else 0)
            # PRICE_POINTS: sum of (2 if extraction.price_view == 'bargain' else 1 if extraction.price_view == 'fair' else -1 if extraction.price_view == 'pricey' else -3) * (1 + 0.5 * lo…
            price_points += (
                2 if price_view == "bargain" else 1 if price_view == "fair" else -1 if price_view == "pricey" else -3
            ) * (1 + 0.5 * math.log(1 + max(useful, 0)))

    # AVERAGE_SPEND: round(SPEND_TOTAL / N_PRICED, 2) if N_PRICED > 0 else 0.0
    average_spend = round(spend_total / n_priced, 2) if n_priced > 0 else 0.0
    # HIGHEST_SPEND, over no review
    if highest_spend is None:
        highest_spend = 0
    # CITY_BASELINE: lookup of context.city in 10 keys, exact, default 22.0
    city_baseline = CITY_BASELINE_TABLE.get(context.city, 22.0)
    # SPEND_GAP: AVERAGE_SPEND - CITY_BASELINE if N_PRICED > 0 else 0.0
    spend_gap = average_spend - city_baseline if n_priced > 0 else 0.0
    # GAP_STEPS: clamp(floor(SPEND_GAP / 5), -4, 4)
    gap_steps = max(-4, min(4, math.floor(spend_gap / 5)))
    # IS_SPLURGE: HIGHEST_SPEND > 2 * CITY_BASELINE
    is_splurge = highest_spend > 2 * city_baseline
    # POINTS_PER_REVIEW: (PLEASURE_POINTS + PRICE_POINTS) / N_JUDGED if N_JUDGED > 0 else 0.0
    points_per_review = (pleasure_points + price_points) / n_judged if n_judged > 0 else 0.0
    # EVIDENCE_STEPS: ceil(N_JUDGED / 4)
    evidence_steps = math.ceil(n_judged / 4)
    # CONFIDENCE: min(1.0, 0.25 * EVIDENCE_STEPS)
    confidence = min(1.0, 0.25 * evidence_steps)
    # HIDDEN_PENALTY: min(15, 5 * N_HIDDEN)
    hidden_penalty = min(15, 5 * n_hidden)
    # FAVORABLE_PERCENT: round(100 * N_FAVORABLE / N_JUDGED, 1) if N_JUDGED > 0 else 0.0
    favorable_percent = round(100 * n_favorable / n_judged, 1) if n_judged > 0 else 0.0
    # AGAIN_CREDIT: 10 * N_AGAIN / N_JUDGED if N_JUDGED > 0 else 0.0
    again_credit = 10 * n_again / n_judged if n_judged > 0 else 0.0
    # RAW_SCORE: 50 + 10 * POINTS_PER_REVIEW * CONFIDENCE + AGAIN_CREDIT - 3 * GAP_STEPS - HIDDEN_PENALTY
    raw_score = 50 + 10 * points_per_review * confidence + again_credit - 3 * gap_steps - hidden_penalty
    # VALUE_SCORE: round(clamp(RAW_SCORE, 0.0, 100.0), 1)
    value_score = round(max(0.0, min(100.0, raw_score)), 1)
    # VERDICT: 'Not Rated' if N_JUDGED == 0; 'Great Value' if VALUE_SCORE >= 70; 'Fair Value' if VALUE_SCORE >= 45; else 'Poor Value'
    verdict: Verdict
    if n_judged == 0:
        verdict = "Not Rated"
    elif value_score >= 70:
        verdict = "Great Value"
    elif value_score >= 45:
        verdict = "Fair Value"
    else:
        verdict = "Poor Value"

    if noted is not None:
        noted.append(
            Steps(
                N_JUDGED=n_judged,
                N_FAVORABLE=n_favorable,
                N_OVERPRICED=n_overpriced,
                N_HIDDEN=n_hidden,
                N_AGAIN=n_again,
                N_PRICED=n_priced,
                SPEND_TOTAL=spend_total,
                AVERAGE_SPEND=average_spend,
                HIGHEST_SPEND=highest_spend,
                CITY_BASELINE=city_baseline,
                SPEND_GAP=spend_gap,
                GAP_STEPS=gap_steps,
                IS_SPLURGE=is_splurge,
                PLEASURE_POINTS=pleasure_points,
                PRICE_POINTS=price_points,
                POINTS_PER_REVIEW=points_per_review,
                EVIDENCE_STEPS=evidence_steps,
                CONFIDENCE=confidence,
                HIDDEN_PENALTY=hidden_penalty,
                FAVORABLE_PERCENT=favorable_percent,
                AGAIN_CREDIT=again_credit,
                RAW_SCORE=raw_score,
                VALUE_SCORE=value_score,
                VERDICT=verdict,
            )
        )
    return Result(
        n_judged,
        n_overpriced,
        favorable_percent,
        average_spend,
        city_baseline,
        gap_steps,
        is_splurge,
        confidence,
        value_score,
        verdict,
    )


def evidence(rows: Iterable[Row], context: Context) -> dict[str, list[int]]:
    """For every count, sum, max and min, the positions of the rows that went into it."""
    counted: dict[str, list[int]] = {
        "N_JUDGED": [],
        "N_FAVORABLE": [],
        "N_OVERPRICED": [],
        "N_HIDDEN": [],
        "N_AGAIN": [],
        "N_PRICED": [],
        "SPEND_TOTAL": [],
        "HIGHEST_SPEND": [],
        "PLEASURE_POINTS": [],
        "PRICE_POINTS": [],
    }
    for position, (price_view, _, amount_per_person, hidden_charges, would_pay_again, _, _) in enumerate(rows):
        # $IS_PRICE_TALK: extraction.price_view != 'none'
        is_price_talk = price_view != "none"
        # $IS_PRICED: extraction.amount_per_person > 0 and extraction.amount_per_person <= 500
        is_priced = amount_per_person > 0 and amount_per_person <= 500
        if is_price_talk:
            counted["N_JUDGED"].append(position)
        if price_view in ("bargain", "fair"):
            counted["N_FAVORABLE"].append(position)
        if price_view == "overpriced":
            counted["N_OVERPRICED"].append(position)
        if hidden_charges:
            counted["N_HIDDEN"].append(position)
        if is_price_talk and would_pay_again:
            counted["N_AGAIN"].append(position)
        if is_priced:
            counted["N_PRICED"].append(position)
            counted["SPEND_TOTAL"].append(position)
            counted["HIGHEST_SPEND"].append(position)
        if is_price_talk:
            counted["PLEASURE_POINTS"].append(position)
            counted["PRICE_POINTS"].append(position)
    return counted


STEPS: Final = (
    "N_JUDGED",
    "N_FAVORABLE",
    "N_OVERPRICED",
    "N_HIDDEN",
    "N_AGAIN",
    "N_PRICED",
    "SPEND_TOTAL",
    "AVERAGE_SPEND",
    "HIGHEST_SPEND",
    "CITY_BASELINE",
    "SPEND_GAP",
    "GAP_STEPS",
    "IS_SPLURGE",
    "PLEASURE_POINTS",
    "PRICE_POINTS",
    "POINTS_PER_REVIEW",
    "EVIDENCE_STEPS",
    "CONFIDENCE",
    "HIDDEN_PENALTY",
    "FAVORABLE_PERCENT",
    "AGAIN_CREDIT",
    "RAW_SCORE",
    "VALUE_SCORE",
    "VERDICT",
)
INPUTS: Final[dict[str, tuple[str, ...]]] = {
    "extraction": (
        "price_view",
        "portion",
        "amount_per_person",
        "hidden_charges",
        "would_pay_again",
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
PRICE_VIEW_VALUES: Final[dict[str, PriceView]] = {
    "none": "none",
    "bargain": "bargain",
    "fair": "fair",
    "pricey": "pricey",
    "overpriced": "overpriced",
}
PORTION_VALUES: Final[dict[str, Portion]] = {
    "none": "none",
    "generous": "generous",
    "adequate": "adequate",
    "small": "small",
}


def parse_row(row: JsonObject) -> Row:
    """Read a JSON row; a missing field, a wrong type or an unknown value raises DataError by name."""
    extraction = _object(row, "extraction")
    meta = _object(row, "meta")
    return Row(
        _choice(PRICE_VIEW_VALUES, extraction.get("price_view"), "extraction.price_view"),
        _choice(PORTION_VALUES, extraction.get("portion"), "extraction.portion"),
        (
            0.0
            if extraction.get("amount_per_person") is None
            and _left_out(extraction, "extraction", "amount_per_person", INPUTS)
            else _number(extraction.get("amount_per_person"), "extraction.amount_per_person")
        ),
        (
            False
            if extraction.get("hidden_charges") is None
            and _left_out(extraction, "extraction", "hidden_charges", INPUTS)
            else _boolean(extraction.get("hidden_charges"), "extraction.hidden_charges")
        ),
        (
            False
            if extraction.get("would_pay_again") is None
            and _left_out(extraction, "extraction", "would_pay_again", INPUTS)
            else _boolean(extraction.get("would_pay_again"), "extraction.would_pay_again")
        ),
        _number(meta.get("stars"), "meta.stars"),
        _integer(meta.get("useful"), "meta.useful"),
    )


def parse_context(context: JsonObject) -> Context:
    """Read a JSON context; a missing field or a wrong type raises DataError by name."""
    _expect_object(context, "the context")
    return Context(
        _string(context.get("city"), "context.city"),
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
