"""Neighborhood-rivals: Shows how a restaurant fares when its guests compare it with the places nearby.

Compiled by formulaseed, emission style 2026-11, from tasks/neighborhood_rivals/seed.json.
The seed's version: 1.0.
Change the seed and compile it again: what is edited here is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias, TypeVar

TASK_NAME: Final = "Neighborhood-rivals"
SEED_VERSION: Final[str | None] = "1.0"
SEED_SHA256: Final = "8ac6951934118d9bb38a0b2055b0ae9ab9f38c88e556e5740660fb0982192217"
BODY_SHA256: Final = "62b5e460b977233f6a8911432864d288d77274dddc685f82de2270669213f91d"
KEYWORDS: Final[tuple[str, ...]] = (
    "better than",
    "worse than",
    "best in",
    "compared to",
    "comparison",
    "as good as",
    "instead of",
    "prefer",
    "down the street",
    "next door",
    "around the corner",
    "across the street",
    "neighborhood",
    "competition",
    "other place",
    "elsewhere",
)
OUTPUT: Final = (
    "N_COMPARED",
    "N_WON",
    "N_LOST",
    "N_NAMED",
    "STANDING",
    "MEAN_SWING",
    "TRADE_DENSITY",
    "RIVALRY_SCORE",
    "ADVICE",
    "VERDICT",
)

# values of Comparison: How this restaurant comes off when the review compares it with another place nearby
Comparison: TypeAlias = Literal[
    "none",  # No comparison with another place
    "better",  # This restaurant is the better one ('better than the place next door', 'best in the neighborhood', 'beats every other spot')
    "equal",  # No difference that matters ('just as good as', 'about the same as')
    "worse",  # The other place is the better one ('not as good as', 'prefer the one down the street', 'go elsewhere instead')
]
# values of Basis: What the comparison rests on mainly
Basis: TypeAlias = Literal[
    "none",  # No comparison, or no reason given
    "food",  # Taste, quality or choice of the food ('better pizza', 'fresher fish')
    "price",  # Prices or portions ('cheaper than', 'more for your money')
    "service",  # Staff or speed ('friendlier staff', 'faster than')
    "convenience",  # Location, hours or parking ('easier to park', 'closer to home', 'open later than')
]
Standing: TypeAlias = Literal[
    "untested",
    "ahead",
    "behind",
    "level",
]
Advice: TypeAlias = Literal[
    "Defend the lead",
    "Find an edge",
    "Close the gap",
    "Gather more comparisons",
]
Verdict: TypeAlias = Literal[
    "No Contest",
    "Early Signals",
    "Neighborhood Leader",
    "Holding Ground",
    "Losing Ground",
]


class Row(NamedTuple):
    """One relevant review: what was extracted from it, and its metadata."""

    comparison: Comparison
    basis: Basis
    rival_named: str  # Name of the other place as the review writes it ('better than Rosa Pizza', 'prefer Corner Grill'); empty when it is not named
    switched_here: bool  # True if the reviewer now comes here in place of a rival ('my new go-to', 'we used to go to', 'will never go back to the other place')


class Context(NamedTuple):
    """What the steps use of the restaurant itself."""

    categories: str


class Parameters(NamedTuple):
    """The seed has no parameters."""


class Steps(NamedTuple):
    """Every step's value, in the seed's order."""

    N_COMPARED: int
    N_WON: int
    N_LOST: int
    N_NAMED: int
    N_NAMED_LOST: int
    N_SWITCHED: int
    MARGIN: int
    STANDING: Standing
    STANDING_POINTS: int
    ADVICE: Advice
    SWING: float
    MEAN_SWING: float
    FULL_FIVES: int
    LEFT_OVER: int
    EVIDENCE: float
    IS_THIN: bool
    NAMED_LOSS_FACTOR: float
    SWITCH_CREDIT: int
    TRADE_DENSITY: float
    PRESSURE: float
    CROWDING_POINTS: float
    RAW_SCORE: float
    RIVALRY_SCORE: float
    VERDICT: Verdict


class Result(NamedTuple):
    """What the seed returns."""

    N_COMPARED: int
    N_WON: int
    N_LOST: int
    N_NAMED: int
    STANDING: Standing
    MEAN_SWING: float
    TRADE_DENSITY: float
    RIVALRY_SCORE: float
    ADVICE: Advice
    VERDICT: Verdict


# the table of STANDING_POINTS, exact
STANDING_POINTS_TABLE: Final[dict[str, int]] = {
    "ahead": 12,
    "level": 0,
    "behind": -12,
}
# the table of ADVICE, exact
ADVICE_TABLE: Final[dict[str, Advice]] = {
    "ahead": "Defend the lead",
    "level": "Find an edge",
    "behind": "Close the gap",
}
# the table of TRADE_DENSITY, substring_max
TRADE_DENSITY_TABLE: Final[dict[str, float]] = {
    "Coffee & Tea": 1.6,
    "Pizza": 1.5,
    "Sandwiches": 1.4,
    "Pubs": 1.4,
    "Chinese": 1.3,
    "Mexican": 1.3,
    "Sushi Bars": 1.2,
    "Ethiopian": 0.6,
    "Russian": 0.5,
    "Fondue": 0.4,
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
    n_compared = 0
    n_won = 0
    n_lost = 0
    n_named = 0
    n_named_lost = 0
    n_switched = 0
    swing = 0.0
    for comparison, basis, rival_named, switched_here in rows:
        # $IS_COMPARED: extraction.comparison != 'none'
        is_compared = comparison != "none"
        # $IS_NAMED: $IS_COMPARED and extraction.rival_named != ''
        is_named = is_compared and rival_named != ""
        # N_COMPARED: count where $IS_COMPARED
        if is_compared:
            n_compared += 1
        # N_WON: count where extraction.comparison == 'better'
        if comparison == "better":
            n_won += 1
        # N_LOST: count where extraction.comparison == 'worse'
        if comparison == "worse":
            n_lost += 1
        if is_named:
            # N_NAMED: count where $IS_NAMED
            n_named += 1
            # N_NAMED_LOST: count where $IS_NAMED and extraction.comparison == 'worse'
            if comparison == "worse":
                n_named_lost += 1
        # N_SWITCHED: count where extraction.switched_here and extraction.comparison != 'worse'
        if switched_here and comparison != "worse":
            n_switched += 1
        # SWING: sum of (1 if extraction.comparison == 'better' else -1 if extraction.comparison == 'worse' else 0) * (1.5 if extraction.basis in ['food', 'price'] else 1.0) *…
        if is_compared:
            swing += (
                (1 if comparison == "better" else -1 if comparison == "worse" else 0)
                * (1.5 if basis in ("food", "price") else 1.0)
                * (1 + 0.5 * int(is_named))
            )

    # MARGIN: N_WON - N_LOST
    margin = n_won - n_lost
    # STANDING: 'untested' if not (N_WON > 0 or N_LOST > 0); 'ahead' if MARGIN >= 2 or N_LOST == 0; 'behind' if MARGIN <= -2 or N_WON == 0; else 'level'
    standing: Standing
    if not (n_won > 0 or n_lost > 0):
        standing = "untested"
    elif margin >= 2 or n_lost == 0:
        standing = "ahead"
    elif margin <= -2 or n_won == 0:
        standing = "behind"
    else:
        standing = "level"
    # STANDING_POINTS: lookup of STANDING in 3 keys, exact, default 0
    standing_points = STANDING_POINTS_TABLE.get(standing, 0)
    # ADVICE: lookup of STANDING in 3 keys, exact, default 'Gather more comparisons'
    advice: Advice = ADVICE_TABLE.get(standing, "Gather more comparisons")
    # MEAN_SWING: SWING / N_COMPARED if N_COMPARED > 0 else 0.0
    mean_swing = swing / n_compared if n_compared > 0 else 0.0
    # FULL_FIVES: N_COMPARED // 5
    full_fives = n_compared // 5
    # LEFT_OVER: N_COMPARED % 5
    left_over = n_compared % 5
    # EVIDENCE: min(1.0, 0.4 * FULL_FIVES + 0.05 * LEFT_OVER)
    evidence = min(1.0, 0.4 * full_fives + 0.05 * left_over)
    # IS_THIN: 0 < N_COMPARED <= 3
    is_thin = 0 < n_compared <= 3
    # NAMED_LOSS_FACTOR: 0.85 ** min(N_NAMED_LOST, 6)
    named_loss_factor = 0.85 ** min(n_named_lost, 6)
    # SWITCH_CREDIT: min(10, 2 * N_SWITCHED)
    switch_credit = min(10, 2 * n_switched)
    # TRADE_DENSITY: lookup of context.categories in 10 keys, substring_max, default 1.0
    trade_density = _substring_max(TRADE_DENSITY_TABLE, context.categories, 1.0)
    # PRESSURE: 3.0 if STANDING == 'ahead'; 8.0 if STANDING == 'behind'; else 5.0
    pressure: float
    if standing == "ahead":
        pressure = 3.0
    elif standing == "behind":
        pressure = 8.0
    else:
        pressure = 5.0
    # CROWDING_POINTS: TRADE_DENSITY * PRESSURE
    crowding_points = trade_density * pressure
    # RAW_SCORE: (55 + 20 * MEAN_SWING * EVIDENCE + STANDING_POINTS + SWITCH_CREDIT) * NAMED_LOSS_FACTOR - CROWDING_POINTS
    raw_score = (
        55 + 20 * mean_swing * evidence + standing_points + switch_credit
    ) * named_loss_factor - crowding_points
    # RIVALRY_SCORE: max(0.0, min(100.0, RAW_SCORE))
    rivalry_score = max(0.0, min(100.0, raw_score))
    # VERDICT: 'No Contest' if STANDING == 'untested'; 'Early Signals' if IS_THIN; 'Neighborhood Leader' if RIVALRY_SCORE >= 65; 'Holding Ground' if RIVALRY_SCORE >= 40; else…
    verdict: Verdict
    if standing == "untested":
        verdict = "No Contest"
    elif is_thin:
        verdict = "Early Signals"
    elif rivalry_score >= 65:
        verdict = "Neighborhood Leader"
    elif rivalry_score >= 40:
        verdict = "Holding Ground"
    else:
        verdict = "Losing Ground"

    if noted is not None:
        noted.append(
            Steps(
                N_COMPARED=n_compared,
                N_WON=n_won,
                N_LOST=n_lost,
                N_NAMED=n_named,
                N_NAMED_LOST=n_named_lost,
                N_SWITCHED=n_switched,
                MARGIN=margin,
                STANDING=standing,
                STANDING_POINTS=standing_points,
                ADVICE=advice,
                SWING=swing,
                MEAN_SWING=mean_swing,
                FULL_FIVES=full_fives,
                LEFT_OVER=left_over,
                EVIDENCE=evidence,
                IS_THIN=is_thin,
                NAMED_LOSS_FACTOR=named_loss_factor,
                SWITCH_CREDIT=switch_credit,
                TRADE_DENSITY=trade_density,
                PRESSURE=pressure,
                CROWDING_POINTS=crowding_points,
                RAW_SCORE=raw_score,
                RIVALRY_SCORE=rivalry_score,
                VERDICT=verdict,
            )
        )
    return Result(
        n_compared,
        n_won,
        n_lost,
        n_named,
        standing,
        mean_swing,
        trade_density,
        rivalry_score,
        advice,
        verdict,
    )


def evidence(rows: Iterable[Row], context: Context) -> dict[str, list[int]]:
    """For every count, sum, max and min, the positions of the rows that went into it."""
    counted: dict[str, list[int]] = {
        "N_COMPARED": [],
        "N_WON": [],
        "N_LOST": [],
        "N_NAMED": [],
        "N_NAMED_LOST": [],
        "N_SWITCHED": [],
        "SWING": [],
    }
    for position, (comparison, _, rival_named, switched_here) in enumerate(rows):
        # $IS_COMPARED: extraction.comparison != 'none'
        is_compared = comparison != "none"
        # $IS_NAMED: $IS_COMPARED and extraction.rival_named != ''
        is_named = is_compared and rival_named != ""
        if is_compared:
            counted["N_COMPARED"].append(position)
        if comparison == "better":
            counted["N_WON"].append(position)
        if comparison == "worse":
            counted["N_LOST"].append(position)
        if is_named:
            counted["N_NAMED"].append(position)
            if comparison == "worse":
                counted["N_NAMED_LOST"].append(position)
        if switched_here and comparison != "worse":
            counted["N_SWITCHED"].append(position)
        if is_compared:
            counted["SWING"].append(position)
    return counted


STEPS: Final = (
    "N_COMPARED",
    "N_WON",
    "N_LOST",
    "N_NAMED",
    "N_NAMED_LOST",
    "N_SWITCHED",
    "MARGIN",
    "STANDING",
    "STANDING_POINTS",
    "ADVICE",
    "SWING",
    "MEAN_SWING",
    "FULL_FIVES",
    "LEFT_OVER",
    "EVIDENCE",
    "IS_THIN",
    "NAMED_LOSS_FACTOR",
    "SWITCH_CREDIT",
    "TRADE_DENSITY",
    "PRESSURE",
    "CROWDING_POINTS",
    "RAW_SCORE",
    "RIVALRY_SCORE",
    "VERDICT",
)
INPUTS: Final[dict[str, tuple[str, ...]]] = {
    "extraction": (
        "comparison",
        "basis",
        "rival_named",
        "switched_here",
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
COMPARISON_VALUES: Final[dict[str, Comparison]] = {
    "none": "none",
    "better": "better",
    "equal": "equal",
    "worse": "worse",
}
BASIS_VALUES: Final[dict[str, Basis]] = {
    "none": "none",
    "food": "food",
    "price": "price",
    "service": "service",
    "convenience": "convenience",
}


def parse_row(row: JsonObject) -> Row:
    """Read a JSON row; a missing field, a wrong type or an unknown value raises DataError by name."""
    extraction = _object(row, "extraction")
    return Row(
        _choice(COMPARISON_VALUES, extraction.get("comparison"), "extraction.comparison"),
        _choice(BASIS_VALUES, extraction.get("basis"), "extraction.basis"),
        (
            ""
            if extraction.get("rival_named") is None and _left_out(extraction, "extraction", "rival_named", INPUTS)
            else _string(extraction.get("rival_named"), "extraction.rival_named")
        ),
        (
            False
            if extraction.get("switched_here") is None and _left_out(extraction, "extraction", "switched_here", INPUTS)
            else _boolean(extraction.get("switched_here"), "extraction.switched_here")
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
