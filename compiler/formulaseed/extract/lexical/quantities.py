"""Numbers near the words of a field, in the unit that it asks for; names where a quoted phrase leads to one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from formulaseed.extract.fields import Field
from formulaseed.extract.lexical.cues import TASK_WORDS, quoted
from formulaseed.extract.lexical.text import CHARACTERS, NEGATORS, content, stem, stems, word_set

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
_WORDS = {
    **{word: float(number) for number, word in enumerate(f"{_ONES}|{_TEENS}".split("|"), 1)},
    **{word: 10.0 * number for number, word in enumerate(_TENS.split("|"), 2)},
    **dict.fromkeys(("a", "an"), 1.0),
    **dict(half=0.5, couple=2.0),
}
_QUANTITY = re.compile(
    rf"""(?<![\w.,])(?P<dollars>\$[ ]?)?
    (?:(?P<digits>[0-9]{{1,9}}(?:,[0-9]{{3}})*(?:\.[0-9]{{1,2}})?)(?![0-9])
    |(?P<words>(?:{_TENS})[ -](?:{_ONES})|{_TENS}|{_TEENS}|{_ONES}|half|couple|an?)\b(?:[ ](?:an?|of)\b)?)
    (?P<half>[ ]and[ ]a[ ]half)?(?:[ -]?(?P<unit>min(?:ute)?|hr|hour|day|week|month|year|dollar|buck|cent)s?\b)?
    (?P<late_half>[ ]and[ ]a[ ]half)?""",
    re.IGNORECASE | re.VERBOSE,
)
_MOST = word_set("longest largest highest most")
_LEAST = word_set("shortest smallest lowest least")
_END = re.compile(r"[.!?\n]")


class NumberCues:
    """What a field asks of a number. A unit in its name is one of its words: "40 minutes" speaks for `wait_minutes`."""

    def __init__(self, field: Field) -> None:
        words = content(f"{field.name} {field.description}")
        self._field = field
        self._words = {*words} - _UNITS.keys() - TASK_WORDS
        self._unit = next((_UNITS[word] for word in words if word in _UNITS), None)
        self._is_unit_named = not _UNITS.keys().isdisjoint(content(field.name))
        self._asked = {*re.findall(r"\w+", field.description.lower())}

    def find(self, text: str) -> float | None:
        """The number that a review gives: the first, or the longest and the like if the field asks for it."""
        found = [number for number in self._numbers(text[:CHARACTERS]) if self._field.allows(number)]
        if not found:
            return None
        most, least = self._asked & _MOST, self._asked & _LEAST
        number = max(found) if most else min(found) if least else found[0]
        return round(number) if self._field.type == "integer" else number

    def _numbers(self, text: str) -> Iterator[float]:
        for match in _QUANTITY.finditer(text):
            unit = _UNITS.get("$" if match["dollars"] else stem((match["unit"] or "").lower()))
            before = stems(_END.split(text[max(0, match.start() - _NEAR) : match.start()])[-1])
            after = stems(_END.split(text[match.end() : match.end() + _NEAR])[0])
            is_near = (unit and self._is_unit_named) or not self._words.isdisjoint(before + after)
            if not is_near or not NEGATORS.isdisjoint(before[-3:]):
                continue
            number = _number(match)
            if unit and self._unit and unit[0] == self._unit[0]:
                yield number * unit[1] / self._unit[1]
            elif not unit and not self._unit and match["words"] not in ("a", "an"):
                yield number


def _number(match: re.Match[str]) -> float:
    halves = 0.5 if match["half"] or match["late_half"] else 0.0
    if match["digits"]:
        return float(match["digits"].replace(",", "")) + halves
    return sum(_WORDS[word] for word in re.split("[ -]", match["words"].lower())) + halves


def name_in(field: Field, text: str) -> str | None:
    """The name that follows what is before a name in a quoted phrase of the field: `ask for Maria`, `our server Tom`."""
    leads = [lead for phrase in quoted(field.description) if (lead := re.sub(r"(\s+[A-Z]\w+)+$", "", phrase)) != phrase]
    if not leads:
        return None
    pattern = rf"\b(?i:{'|'.join(map(re.escape, leads))})\s+([A-Z][\w&]*[a-z](?:\s[A-Z]\w*[a-z])?)"
    found = re.search(pattern, text[:CHARACTERS])
    return found[1] if found else None
