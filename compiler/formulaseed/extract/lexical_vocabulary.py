"""The word lists by stem: which words are common, which belong together, which praise or blame."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

from formulaseed.extract import lexical_words as words
from formulaseed.extract.lexical_text import sentences, stem

_NAME_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[^\W_]+")


def _stems(listed: frozenset[str]) -> frozenset[str]:
    return frozenset(stem(word) for word in listed)


_COMMON = _stems(words.COMMON_WORDS)
_POSITIVE = _stems(words.POSITIVE_WORDS)
_NEGATIVE = _stems(words.NEGATIVE_WORDS)
_VALENCE = {word: (word in _POSITIVE) - (word in _NEGATIVE) for word in _POSITIVE | _NEGATIVE}


class DescriptionWord(NamedTuple):
    """A word of a description that carries meaning."""

    stem: str
    loud: bool  # written in capitals for emphasis, or a short form such as ER
    negated: bool


def is_common(word: str) -> bool:
    """Whether a stem may stand in any review about anything."""
    return word in _COMMON


def valence(word: str) -> int:
    """1 for a stem of praise, -1 for one of blame, else 0."""
    return _VALENCE.get(word, 0)


def _families() -> dict[str, tuple[str, ...]]:
    found: dict[str, set[str]] = defaultdict(set)
    for family in words.FAMILIES:
        stems = {stem(word) for word in family}
        for one in stems:
            found[one] |= stems - {one}
    return {one: tuple(sorted(filter(_agrees_with(one), stems))) for one, stems in found.items()}


def _agrees_with(word: str) -> Callable[[str], bool]:
    """ "Clean" and "dirty" are both about hygiene, but neither stands for the other."""
    return lambda other: valence(word) * valence(other) >= 0


_FAMILY_OF = _families()


def family_of(word: str) -> tuple[str, ...]:
    """The stems that can stand for this one, itself left out."""
    return _FAMILY_OF.get(word, ())


def name_words(name: str) -> list[str]:
    """The lower-case words of a field's or value's name: "walked_out", "firstDate"."""
    return [part.lower() for part in _NAME_WORDS.findall(name)]


def description_words(text: str) -> Iterator[DescriptionWord]:
    """The words of a description but for stop words and words about the task."""
    for sentence in sentences(text):
        for word in sentence:
            skipped = word.lower in words.STOP_WORDS or word.lower in words.TASK_WORDS
            if not skipped and word.lower[0].isalpha():
                yield DescriptionWord(word.stem, len(word.text) > 1 and word.text.isupper(), word.negated)


def content(text: str) -> list[str]:
    """The stems of those words, each once, in order."""
    return list(dict.fromkeys(word.stem for word in description_words(text)))
