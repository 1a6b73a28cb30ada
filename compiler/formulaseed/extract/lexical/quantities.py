"""Numbers and names in a review, near the words of a field and in the unit that it asks for."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from formulaseed.extract.fields import Field
from formulaseed.extract.lexical.cues import TASK_WORDS, quoted
from formulaseed.extract.lexical.text import FUNCTION_WORDS, Sentence, Word, content, stems

_NEAR = 6
"""So many words may be between a number and a word of its field."""
_DIGITS = 9
"""A longer number is none of a review's quantities."""
_UNITS = {
    "minut": ("time", 1.0), "min": ("time", 1.0), "hour": ("time", 60.0), "hr": ("time", 60.0),
    "day": ("days", 1.0), "week": ("days", 7.0), "month": ("days", 30.0), "year": ("days", 365.0),
    "$": ("money", 1.0), "dollar": ("money", 1.0), "buck": ("money", 1.0), "cent": ("money", 0.01),
}  # fmt: skip
_SMALL = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen""".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_NUMBERS = {
    **{word: float(number) for number, word in enumerate(_SMALL)},
    **{word: 10.0 * number for number, word in enumerate(_TENS, 2)},
    **{"a": 1.0, "an": 1.0, "half": 0.5, "couple": 2.0},
}
_PICKS: dict[str, Callable[[Iterable[float]], float]] = {
    **dict.fromkeys(("longest", "largest", "highest", "most"), max),
    **dict.fromkeys(("shortest", "smallest", "lowest", "least"), min),
}

Quantity = tuple[int, float, tuple[str, float] | None]
"""Where a number is, the number, and its unit."""


class NumberCues:
    """What a field asks a number of. A unit that the field's name holds is one of its words."""

    def __init__(self, field: Field) -> None:
        self._field = field
        name, description = content(field.name.replace("_", " ")), content(field.description)
        self._unit = next((_UNITS[each] for each in (*name, *description) if each in _UNITS), None)
        self._is_named = any(each in _UNITS for each in name)
        self._words = frozenset((*name, *description)) - _UNITS.keys() - TASK_WORDS
        words = re.findall(r"\w+", field.description.lower())
        self._pick = next((_PICKS[word] for word in words if word in _PICKS), lambda found: next(iter(found)))

    def find(self, sentences: Sequence[Sentence]) -> float | None:
        """The number that the review gives, the first unless the field asks for the longest and the like."""
        found = [number for sentence in sentences for number in self._numbers(sentence.words)]
        if not found:
            return None
        number = self._pick(found)
        return round(number) if self._field.type == "integer" else number

    def _numbers(self, words: list[Word]) -> Iterator[float]:
        places = [at for at, word in enumerate(words) if word.stem in self._words]
        for at, number, unit in quantities(words):
            if unit is not None and self._unit is not None and unit[0] == self._unit[0]:
                number *= unit[1] / self._unit[1]
            elif unit is not None or self._unit is not None:
                continue
            is_near = any(0 < abs(place - at) <= _NEAR for place in places) or (unit is not None and self._is_named)
            if is_near and not words[at].is_denied and not words[at].is_supposed and self._field.allows(number):
                yield number


def quantities(words: list[Word]) -> Iterator[Quantity]:
    """The numbers of a sentence, in digits or words: "forty-five minutes", "an hour and a half", "$12.50"."""
    low = [word.text.lower() for word in words]
    at = 0
    while at < len(words):
        start, number = at, _number(words[at])
        at += 1
        if number is None:
            continue
        if low[start] in _TENS and low[at : at + 1] and low[at] in _SMALL[1:10]:
            number += _NUMBERS[low[at]]
            at += 1
        unit_at = at + (low[at : at + 1] in (["a"], ["an"], ["of"]) and low[start] in ("half", "couple"))
        if low[unit_at : unit_at + 3] == ["and", "a", "half"]:
            number, unit_at = number + 0.5, unit_at + 3
        unit = _UNITS.get(words[unit_at].stem) if unit_at < len(words) else None
        if unit is not None:
            at = unit_at + 1
            if low[at : at + 3] == ["and", "a", "half"]:
                number, at = number + 0.5, at + 3
        if start and low[start - 1] == "$":
            unit = _UNITS["$"]
        if unit is not None or low[start] not in ("a", "an", "half"):
            yield start, number, unit


def _number(word: Word) -> float | None:
    if not word.text[0].isdigit():
        return _NUMBERS.get(word.text.lower())
    digits = word.text.replace(",", "")
    return float(digits) if len(digits) <= _DIGITS and digits.count(".") <= 1 else None


class NameCues:
    """The quoted phrases of a string field that end in a name, such as `ask for Maria`: what is before it leads to one."""

    def __init__(self, field: Field) -> None:
        leads = [re.match(r"(.*?)((?:\s+[A-Z]\w+)+)$", phrase) for phrase in quoted(field.description)]
        self._leads = [_classed(stems(lead[1]), lead[1].split()) for lead in leads if lead and stems(lead[1])]

    def find(self, sentences: Sequence[Sentence]) -> str | None:
        """The first name that follows one of the phrases."""
        for words, _ in sentences:
            spoken = _classed([word.stem for word in words], [word.text for word in words])
            for start in range(len(words)):
                for lead in self._leads:
                    end = start + len(lead)
                    if spoken[start:end] == lead and (name := _name(words[end : end + 3])):
                        return name
        return None


def _classed(stems: Sequence[str], words: Sequence[str]) -> list[str]:
    """The words as they are written, but for those of one class."""
    return [stem if stem in FUNCTION_WORDS else word.lower() for stem, word in zip(stems, words, strict=True)]


def _name(words: Sequence[Word]) -> str:
    capitals = itertools.takewhile(lambda word: word.text[0].isupper() and not word.text.isupper(), words)
    return " ".join(word.text.removesuffix("'s").removesuffix("’s") for word in capitals if not word.text.startswith("I'"))
