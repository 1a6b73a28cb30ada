"""What speaks for the values of a field: the phrases quoted in its descriptions, what they list, their words.

A cue is a sequence of stems that a sentence has in order, with few words between. The cues of all fields are in one
index by their first stem, so a sentence tries only those that may begin at one of its words.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from formulaseed.extract.fields import Field
from formulaseed.extract.lexical.text import FUNCTION_WORDS, NEGATORS, Sentence, Word, stem, tokens

KINDS = frozenset({"phrases", "loose phrases", "lists", "words", "names", "denial", "supposition", "speakers"})
"""The kinds of cues, each of which `bench/lexical.py` measures."""
SPOKEN = 2.0
"""The weight from which a sentence speaks for a value: a phrase, a listed thing, or two words."""
_WEIGHTS = {"phrases": 3.0, "loose phrases": 2.0, "lists": 2.0, "words": 1.0, "names": 1.0}
_GAPS = {"phrases": 1, "loose phrases": 2, "lists": 1}
"""How many other words may come between two of a cue."""

_QUOTED = re.compile(r"(?<!\w)['\"‘“]([^'\"‘’“”]+(?:['’]\w[^'\"‘’“”]*)*)['\"’”](?!\w)")
_LISTED = re.compile(r"\(([^()]*)\)")
_SEPARATOR = re.compile(r"[,;/]|\band\b|\bor\b")
_TASK_WORDS = frozenset(
    stem(word)
    for word in """true false yes mention describe review reviewer author state report say tell name number guest customer
    someone something anything restaurant place visit if actual""".split()
)


@dataclass(frozen=True, slots=True)
class Cue:
    """`option` is the place of the field and of the value that it speaks for."""

    option: tuple[int, int]
    kind: str
    stems: tuple[str, ...]

    def end(self, words: list[Word], start: int) -> int | None:
        """Where the cue ends if it begins at `start`."""
        at = start
        gap = _GAPS.get(self.kind, 0)
        for wanted in self.stems[1:]:
            following = range(at + 1, min(at + 2 + gap, len(words)))
            nearest = next((place for place in following if words[place].stem == wanted), None)
            if nearest is None:
                return None
            at = nearest
        return at

    @property
    def holds_negator(self) -> bool:
        return not NEGATORS.isdisjoint(self.stems)


@dataclass
class Score:
    """What a review says for one value: in its best sentence, in all, and what it denies."""

    best: float = 0.0
    total: float = 0.0
    denied: float = 0.0


def quoted(description: str) -> list[str]:
    return _QUOTED.findall(description)


def content(text: str) -> tuple[str, ...]:
    """The stems of a text that mean something."""
    found = (stem(token) for token in tokens(text) if token[0].isalnum())
    return tuple(each for each in found if each not in FUNCTION_WORDS)


def cues_of(option: tuple[int, int], name: str, description: str, kinds: Collection[str]) -> Iterable[Cue]:
    """The cues of one value."""
    for phrase in quoted(description):
        exact = tuple(stem(token) for token in tokens(phrase) if token[0].isalnum() or token == "$")
        loose = content(phrase)
        if loose and "phrases" in kinds:
            yield Cue(option, "phrases", exact)
        if len(loose) > 1 and loose != exact and "loose phrases" in kinds and NEGATORS.isdisjoint(exact):
            yield Cue(option, "loose phrases", loose)
    rest = _QUOTED.sub(" ", description)
    for items in _LISTED.findall(rest) if "lists" in kinds else ():
        for item in _SEPARATOR.split(items):
            if listed := content(item):
                yield Cue(option, "lists", listed)
    for kind, text in (("words", _LISTED.sub(" ", rest)), ("names", name.replace("_", " "))):
        if kind in kinds:
            yield from (Cue(option, kind, (word,)) for word in set(content(text)) - _TASK_WORDS - NEGATORS)


class Index:
    """The cues of all fields, by their first stem."""

    def __init__(self, cues: Iterable[Cue], kinds: Collection[str]) -> None:
        self._kinds = kinds
        self._by_stem: dict[str, list[Cue]] = defaultdict(list)
        listed = list(dict.fromkeys(cues))
        options: dict[tuple[int, str], set[int]] = defaultdict(set)
        for cue in listed:
            if len(cue.stems) == 1:
                options[cue.option[0], cue.stems[0]].add(cue.option[1])
        for cue in listed:  # a word of several values speaks for none of them
            if cue.kind in ("phrases", "loose phrases", "lists") or len(options[cue.option[0], cue.stems[0]]) == 1:
                self._by_stem[cue.stems[0]].append(cue)

    def scores(self, sentences: Iterable[Sentence]) -> dict[tuple[int, int], Score]:
        scores: dict[tuple[int, int], Score] = defaultdict(Score)
        for sentence in sentences:
            for option, (said, denied) in self._heard(sentence).items():
                score = scores[option]
                score.best = max(score.best, said)
                score.total += said if said >= SPOKEN else 0
                score.denied = max(score.denied, denied)
        return scores

    def _heard(self, sentence: Sentence) -> dict[tuple[int, int], tuple[float, float]]:
        """The weight of each value's cues in a sentence, said and denied; each stem counts once."""
        found: dict[tuple[int, int], dict[str, tuple[float, bool]]] = defaultdict(dict)
        words = sentence.words
        for start, word in enumerate(words):
            for cue in self._by_stem.get(word.stem, ()):
                end = cue.end(words, start)
                if end is None:
                    continue
                if word.supposed and "supposition" in self._kinds and cue.kind not in ("phrases",):
                    continue
                denied = "denial" in self._kinds and not cue.holds_negator and words[end].denied
                key = cue.stems[-1]
                before = found[cue.option].get(key, (0.0, True))
                found[cue.option][key] = max(before, (_WEIGHTS[cue.kind], denied))
        return {
            option: (
                sum(weight for weight, denied in each.values() if not denied),
                sum(weight for weight, denied in each.values() if denied),
            )
            for option, each in found.items()
        }
