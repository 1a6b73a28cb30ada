"""Date-night: Says how well a restaurant suits an evening for two, judged by guests who spent one there.

Compiled by formulaseed, emission style 2026-11, from tasks/date_night/seed.json.
The seed's version: 1.0.
Change the seed and compile it again: what is edited here is lost.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias, TypeVar

TASK_NAME: Final = "Date-night"
SEED_VERSION: Final[str | None] = "1.0"
SEED_SHA256: Final = "add145cb76a9275d71f833eb5188a104af6f17774135554b3acf3eda1e1e68d6"
BODY_SHA256: Final = "5c3a14a4cde2b21ca13761b5ebfe8d20e1c67472a3069e16d1f6f149cfcf26aa"
KEYWORDS: Final[tuple[str, ...]] = (
    "date night",
    "first date",
    "a date",
    "our date",
    "romantic",
    "romance",
    "anniversary",
    "valentine",
    "candle",
    "intimate",
    "cozy",
    "cozier",
    "coziest",
    "boyfriend",
    "girlfriend",
    "husband",
    "wife",
    "fianc",
    "proposed",
    "special occasion",
)
OUTPUT: Final = (
    "n_dates",
    "romance_share",
    "smooth_share",
    "setting",
    "best_for",
    "date_score",
    "verdict",
)

# values of Occasion: The kind of evening for two that the reviewer spent here
Occasion: TypeAlias = Literal[
    "none",  # Not a visit as a couple or on a date
    "date",  # An ordinary evening for two ('date night', 'dinner with my boyfriend', 'my wife and I came for dinner')
    "first_date",  # A first date or one of the first ('our first date', 'met someone for a first date')
    "celebration",  # An occasion worth marking ('our anniversary', 'for Valentine', 'he proposed here')
]
# values of Mood: The atmosphere as the reviewer felt it
Mood: TypeAlias = Literal[
    "none",  # Atmosphere not described
    "romantic",  # Warm, intimate or special ('so romantic', 'cozy and intimate', 'perfect for a date')
    "ordinary",  # Pleasant without being special ('nice enough', 'casual atmosphere')
    "spoiled",  # Something ruined the evening ('ruined our night', 'killed the mood', 'not romantic at all')
]
Setting: TypeAlias = Literal[
    "counter",
    "sports bar",
    "wine bar",
    "cocktail bar",
    "tapas room",
    "bistro",
    "trattoria",
    "steakhouse",
    "sushi room",
    "cafe",
    "pub",
    "restaurant",
]
BestFor: TypeAlias = Literal[
    "celebrations",
    "first dates",
    "an evening for two",
    "no occasion on record",
]
Verdict: TypeAlias = Literal[
    "No Evidence",
    "Book It",
    "Worth a Try",
    "Look Elsewhere",
]


class Row(NamedTuple):
    """One relevant review: what was extracted from it, and its metadata."""

    occasion: Occasion
    mood: Mood
    too_loud: bool  # True if noise got in the way of talking ('too loud', 'had to shout', 'could not hear each other')
    felt_rushed: bool  # True if the guests felt hurried along ('felt rushed', 'dropped the check before dessert', 'wanted the table back')
    soft_light: bool  # True if the lighting is praised ('candlelit', 'dim lighting', 'candles on the table')
    would_return: bool  # True if the reviewer means to come back ('we will be back', 'coming back next year')


class Context(NamedTuple):
    """What the steps use of the restaurant itself."""

    categories: str


class Parameters(NamedTuple):
    """The seed has no parameters."""


class Steps(NamedTuple):
    """Every step's value, in the seed's order."""

    n_dates: int
    n_first_dates: int
    n_celebrations: int
    n_romantic: int
    n_spoiled: int
    n_loud: int
    n_smooth: int
    n_onlookers: int
    n_soft_light: int
    n_return: int
    romance_share: float
    smooth_share: float
    spoiled_share: float
    confidence: float
    mood_points: float
    setting: Setting
    setting_points: float
    nightcap: float
    ambience_credit: float
    return_credit: float
    noise_penalty: float
    raw_score: float
    date_score: float
    best_for: BestFor
    verdict: Verdict


class Result(NamedTuple):
    """What the seed returns."""

    n_dates: int
    romance_share: float
    smooth_share: float
    setting: Setting
    best_for: BestFor
    date_score: float
    verdict: Verdict


# the table of setting, substring_first
SETTING_TABLE: Final[dict[str, Setting]] = {
    "Fast Food": "counter",
    "Food Court": "counter",
    "Buffets": "counter",
    "Sports Bars": "sports bar",
    "Wine Bars": "wine bar",
    "Cocktail Bars": "cocktail bar",
    "Tapas": "tapas room",
    "French": "bistro",
    "Italian": "trattoria",
    "Steakhouses": "steakhouse",
    "Sushi Bars": "sushi room",
    "Coffee & Tea": "cafe",
    "Pubs": "pub",
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
    n_dates = 0
    n_first_dates = 0
    n_celebrations = 0
    n_romantic = 0
    n_spoiled = 0
    n_loud = 0
    n_smooth = 0
    n_onlookers = 0
    n_soft_light = 0
    n_return = 0
    for occasion, mood, too_loud, felt_rushed, soft_light, would_return in rows:
        # $is_date: extraction.occasion != 'none'
        is_date = occasion != "none"
        # $is_quiet_date: not extraction.too_loud and $is_date
        is_quiet_date = not too_loud and is_date
        # $is_smooth_date: $is_quiet_date and not extraction.felt_rushed and extraction.mood != 'spoiled'
        is_smooth_date = is_quiet_date and not felt_rushed and mood != "spoiled"
        # n_dates: count where $is_date
        if is_date:
            n_dates += 1
        # n_first_dates: count where extraction.occasion == 'first_date'
        if occasion == "first_date":
            n_first_dates += 1
        # n_celebrations: count where extraction.occasion == 'celebration'
        if occasion == "celebration":
            n_celebrations += 1
        if is_date:
            # n_romantic: count where $is_date and extraction.mood == 'romantic'
            if mood == "romantic":
                n_romantic += 1
            # n_spoiled: count where $is_date and extraction.mood == 'spoiled'
            if mood == "spoiled":
                n_spoiled += 1
            # n_loud: count where $is_date and not $is_quiet_date
            if not is_quiet_date:
                n_loud += 1
        # n_smooth: count where $is_smooth_date
        if is_smooth_date:
            n_smooth += 1
        # n_onlookers: count where not $is_date and extraction.mood == 'romantic'
        if not is_date and mood == "romantic":
            n_onlookers += 1
        # n_soft_light: count where extraction.soft_light and not extraction.too_loud
        if soft_light and not too_loud:
            n_soft_light += 1
        # n_return: count where $is_date and extraction.would_return
        if is_date and would_return:
            n_return += 1

    # romance_share: n_romantic / n_dates if n_dates > 0 else 0.0
    romance_share = n_romantic / n_dates if n_dates > 0 else 0.0
    # smooth_share: n_smooth / max(n_dates, 1)
    smooth_share = n_smooth / max(n_dates, 1)
    # spoiled_share: n_spoiled / max(n_dates, 1)
    spoiled_share = n_spoiled / max(n_dates, 1)
    # confidence: min(1.0, log(n_dates + 1) / 2)
    confidence = min(1.0, math.log(n_dates + 1) / 2)
    # mood_points: (4 * romance_share + 2 * smooth_share - 5 * spoiled_share) * confidence
    mood_points = (4 * romance_share + 2 * smooth_share - 5 * spoiled_share) * confidence
    # setting: lookup of context.categories in 13 keys, substring_first, default 'restaurant'
    setting: Setting = _substring_first(SETTING_TABLE, context.categories, "restaurant")
    # setting_points: 1.5 if setting in ['wine bar', 'cocktail bar', 'bistro']; 1.0 if setting in ['tapas room', 'trattoria', 'steakhouse', 'sushi room']; -2.0 if setting in ['count…
    setting_points: float
    if setting in ("wine bar", "cocktail bar", "bistro"):
        setting_points = 1.5
    elif setting in ("tapas room", "trattoria", "steakhouse", "sushi room"):
        setting_points = 1.0
    elif setting in ("counter", "sports bar"):
        setting_points = -2.0
    else:
        setting_points = 0.0
    # nightcap: 0.5 if 'Bars' in context.categories and 'Nightlife' in context.categories else 0.0
    nightcap = 0.5 if "Bars" in context.categories and "Nightlife" in context.categories else 0.0
    # ambience_credit: min(1.0, 0.1 * n_soft_light + 0.1 * n_onlookers)
    ambience_credit = min(1.0, 0.1 * n_soft_light + 0.1 * n_onlookers)
    # return_credit: min(1.0, 0.2 * n_return)
    return_credit = min(1.0, 0.2 * n_return)
    # noise_penalty: min(2.0, 0.5 * n_loud)
    noise_penalty = min(2.0, 0.5 * n_loud)
    # raw_score: 4.0 + mood_points + setting_points + nightcap + ambience_credit + return_credit - noise_penalty
    raw_score = 4.0 + mood_points + setting_points + nightcap + ambience_credit + return_credit - noise_penalty
    # date_score: round(clamp(raw_score, 0.0, 10.0), 1)
    date_score = round(max(0.0, min(10.0, raw_score)), 1)
    # best_for: 'celebrations' if n_celebrations > 0 and n_celebrations >= n_first_dates; 'first dates' if n_first_dates > 0; 'an evening for two' if n_dates > 0; else 'no occ…
    best_for: BestFor
    if n_celebrations > 0 and n_celebrations >= n_first_dates:
        best_for = "celebrations"
    elif n_first_dates > 0:
        best_for = "first dates"
    elif n_dates > 0:
        best_for = "an evening for two"
    else:
        best_for = "no occasion on record"
    # verdict: 'No Evidence' if n_dates == 0; 'Book It' if date_score >= 7.5; 'Worth a Try' if date_score >= 5.0; else 'Look Elsewhere'
    verdict: Verdict
    if n_dates == 0:
        verdict = "No Evidence"
    elif date_score >= 7.5:
        verdict = "Book It"
    elif date_score >= 5.0:
        verdict = "Worth a Try"
    else:
        verdict = "Look Elsewhere"

    if noted is not None:
        noted.append(
            Steps(
                n_dates=n_dates,
                n_first_dates=n_first_dates,
                n_celebrations=n_celebrations,
                n_romantic=n_romantic,
                n_spoiled=n_spoiled,
                n_loud=n_loud,
                n_smooth=n_smooth,
                n_onlookers=n_onlookers,
                n_soft_light=n_soft_light,
                n_return=n_return,
                romance_share=romance_share,
                smooth_share=smooth_share,
                spoiled_share=spoiled_share,
                confidence=confidence,
                mood_points=mood_points,
                setting=setting,
                setting_points=setting_points,
                nightcap=nightcap,
                ambience_credit=ambience_credit,
                return_credit=return_credit,
                noise_penalty=noise_penalty,
                raw_score=raw_score,
                date_score=date_score,
                best_for=best_for,
                verdict=verdict,
            )
        )
    return Result(
        n_dates,
        romance_share,
        smooth_share,
        setting,
        best_for,
        date_score,
        verdict,
    )


def evidence(rows: Iterable[Row], context: Context) -> dict[str, list[int]]:
    """For every count, sum, max and min, the positions of the rows that went into it."""
    counted: dict[str, list[int]] = {
        "n_dates": [],
        "n_first_dates": [],
        "n_celebrations": [],
        "n_romantic": [],
        "n_spoiled": [],
        "n_loud": [],
        "n_smooth": [],
        "n_onlookers": [],
        "n_soft_light": [],
        "n_return": [],
    }
    for position, (occasion, mood, too_loud, felt_rushed, soft_light, would_return) in enumerate(rows):
        # $is_date: extraction.occasion != 'none'
        is_date = occasion != "none"
        # $is_quiet_date: not extraction.too_loud and $is_date
        is_quiet_date = not too_loud and is_date
        # $is_smooth_date: $is_quiet_date and not extraction.felt_rushed and extraction.mood != 'spoiled'
        is_smooth_date = is_quiet_date and not felt_rushed and mood != "spoiled"
        if is_date:
            counted["n_dates"].append(position)
        if occasion == "first_date":
            counted["n_first_dates"].append(position)
        if occasion == "celebration":
            counted["n_celebrations"].append(position)
        if is_date:
            if mood == "romantic":
                counted["n_romantic"].append(position)
            if mood == "spoiled":
                counted["n_spoiled"].append(position)
            if not is_quiet_date:
                counted["n_loud"].append(position)
        if is_smooth_date:
            counted["n_smooth"].append(position)
        if not is_date and mood == "romantic":
            counted["n_onlookers"].append(position)
        if soft_light and not too_loud:
            counted["n_soft_light"].append(position)
        if is_date and would_return:
            counted["n_return"].append(position)
    return counted


STEPS: Final = (
    "n_dates",
    "n_first_dates",
    "n_celebrations",
    "n_romantic",
    "n_spoiled",
    "n_loud",
    "n_smooth",
    "n_onlookers",
    "n_soft_light",
    "n_return",
    "romance_share",
    "smooth_share",
    "spoiled_share",
    "confidence",
    "mood_points",
    "setting",
    "setting_points",
    "nightcap",
    "ambience_credit",
    "return_credit",
    "noise_penalty",
    "raw_score",
    "date_score",
    "best_for",
    "verdict",
)
INPUTS: Final[dict[str, tuple[str, ...]]] = {
    "extraction": (
        "occasion",
        "mood",
        "too_loud",
        "felt_rushed",
        "soft_light",
        "would_return",
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
OCCASION_VALUES: Final[dict[str, Occasion]] = {
    "none": "none",
    "date": "date",
    "first_date": "first_date",
    "celebration": "celebration",
}
MOOD_VALUES: Final[dict[str, Mood]] = {
    "none": "none",
    "romantic": "romantic",
    "ordinary": "ordinary",
    "spoiled": "spoiled",
}


def parse_row(row: JsonObject) -> Row:
    """Read a JSON row; a missing field, a wrong type or an unknown value raises DataError by name."""
    extraction = _object(row, "extraction")
    return Row(
        _choice(OCCASION_VALUES, extraction.get("occasion"), "extraction.occasion"),
        _choice(MOOD_VALUES, extraction.get("mood"), "extraction.mood"),
        (
            False
            if extraction.get("too_loud") is None and _left_out(extraction, "extraction", "too_loud", INPUTS)
            else _boolean(extraction.get("too_loud"), "extraction.too_loud")
        ),
        (
            False
            if extraction.get("felt_rushed") is None and _left_out(extraction, "extraction", "felt_rushed", INPUTS)
            else _boolean(extraction.get("felt_rushed"), "extraction.felt_rushed")
        ),
        (
            False
            if extraction.get("soft_light") is None and _left_out(extraction, "extraction", "soft_light", INPUTS)
            else _boolean(extraction.get("soft_light"), "extraction.soft_light")
        ),
        (
            False
            if extraction.get("would_return") is None and _left_out(extraction, "extraction", "would_return", INPUTS)
            else _boolean(extraction.get("would_return"), "extraction.would_return")
        ),
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


_Found = TypeVar("_Found")
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


def _substring_first(table: Mapping[str, _Found], source: str, default: _Default) -> _Found | _Default:
    """The value of the first key, in the table's order, that occurs in the source."""
    for key, value in table.items():
        if key in source:
            return value
    return default


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
