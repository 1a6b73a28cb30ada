"""Numbers near the words of a field, in the unit that it asks for; names where a quoted phrase leads to one."""

from __future__ import annotations

import re

from formulaseed.extract.base import Field
from formulaseed.extract.lexical.cues import CHARACTERS, NEGATORS, QUOTED, TASK_WORDS, content, stem, stems

_NEAR = 40
"""So many characters may be between a number and a word of its field."""
_UNITS = {
    "min": ("time", 1.0), "minut": ("time", 1.0), "hr": ("time", 60.0), "hour": ("time", 60.0),
    "day": ("days", 1.0), "week": ("days", 7.0), "month": ("days", 30.0), "year": ("days", 365.0),
    "$": ("money", 1.0), "dollar": ("money", 1.0), "buck": ("money", 1.0), "cent": ("money", 0.01),
}  # fmt: skip
_ONES = "one|two|three|four|five|six|seven|eight|nine"
_TEENS = "ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen"
_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_WORDS = {"a": 1.0, "an": 1.0, "half": 0.5, "couple": 2.0} | {
    **{word: float(number) for number, word in enumerate(f"{_ONES}|{_TEENS}".split("|"), 1)},
    **{word: 10.0 * number for number, word in enumerate(_TENS.split("|"), 2)},
}
_QUANTITY = re.compile(
    rf"""(?<![\w.,])(?P<dollars>\$[ ]?)?
    (?:(?P<digits>[0-9]{{1,6}}(?:,[0-9]{{3}}){{0,2}}(?:\.[0-9]{{1,2}})?)(?!,?[0-9])
    |(?P<words>(?:{_TENS})[ -](?:{_ONES})|{_TENS}|{_TEENS}|{_ONES}|half|couple|an?)\b(?:[ ](?:an?|of)\b)?)
    (?P<half>[ ]and[ ]a[ ]half)?(?:[ -]?(?P<unit>min(?:ute)?|hr|hour|day|week|month|year|dollar|buck|cent)s?\b)?
    (?P<late_half>[ ]and[ ]a[ ]half)?""",
    re.IGNORECASE | re.VERBOSE,
)
_MOST = frozenset(content("longest largest highest biggest"))
_NAME = r"[A-Z][\w&]*[a-z](?: [A-Z]\w*[a-z])?"
_LED = re.compile(rf"(.+?)(?: {_NAME})+")
_END = re.compile(r"[.!?\n]")


def number_in(field: Field, text: str) -> float | None:
    """The first number that a review gives, or the longest and the like if the field asks for it.

    A unit in the field's name is one of its words: "40 minutes" speaks for `wait_minutes`.
    """
    words = content(f"{field.name} {field.description}")
    unit = next((_UNITS[word] for word in words if word in _UNITS), None)
    is_named = not _UNITS.keys().isdisjoint(content(field.name))
    cues = {*words} - _UNITS.keys() - TASK_WORDS
    found: list[float] = []
    for match in _QUANTITY.finditer(text[:CHARACTERS]):
        given = _UNITS.get("$" if match["dollars"] else stem((match["unit"] or "").lower()))
        if (given and given[0]) != (unit and unit[0]) or (not given and match[0].lower() in ("a", "an")):
            continue
        before = stems(_END.split(text[max(0, match.start() - _NEAR) : match.start()])[-1])
        after = stems(_END.split(text[match.end() : match.end() + _NEAR])[0])
        is_near = (given and is_named) or not cues.isdisjoint(before + after)
        number = _number(match) * (given[1] / unit[1] if given and unit else 1.0)
        if is_near and NEGATORS.isdisjoint(before[-3:]) and field.allows(number):
            found.append(number)
    chosen = next(iter(found), None) if _MOST.isdisjoint(words) else max(found, default=None)
    return round(chosen) if chosen is not None and field.type == "integer" else chosen


def _number(match: re.Match[str]) -> float:
    digits, words = match["digits"], (match["words"] or "").lower()
    number = float(digits.replace(",", "")) if digits else sum(_WORDS[word] for word in re.split("[ -]", words))
    return number + (0.5 if match["half"] or match["late_half"] else 0.0)


def name_in(field: Field, text: str) -> str | None:
    """The name that follows what is before a name in a quoted phrase of the field: `ask for Maria`, `our server Tom`."""
    leads = [re.escape(found[1]) for phrase in QUOTED.findall(field.description) if (found := _LED.fullmatch(phrase))]
    found = re.search(rf"\b(?i:{'|'.join(leads)})\s+({_NAME})", text[:CHARACTERS]) if leads else None
    return found[1] if found else None
