"""What speaks for a value: the phrases quoted in its description, the things listed there, its words.

A cue is a sequence of stems that a sentence has in order. All cues are in one index by their first stem, so each word
of a review tries those alone that may begin at it, over a bounded stretch of words.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from formulaseed.extract.lexical.text import NEGATORS, PAUSE, Sentence, Word, content, stem, stems, word_set

KINDS = word_set("phrases lists words denial supposition hearsay quantities names")
"""What is heeded; `bench/lexical.py` measures the extractor without each."""
SPEAKS = 2.0
"""The weight from which a sentence speaks for a value: a phrase, a listed thing, three words."""
_WEIGHTS = {"phrases": 3.0, "lists": 2.0, "words": 0.7}
_GAP = 1
"""How many other words may come between two words of a cue."""
_TASK = """true false yes mention describe review reviewer author state report say tell name number guest customer someone
something anything restaurant place visit actual"""
TASK_WORDS = frozenset(map(stem, word_set(_TASK)))
"""Words of the seed's author about the task, which speak for no value."""
_QUOTED = re.compile(r"(?<!\w)['\"‘“]([^'\"‘’“”]+(?:['’]\w[^'\"‘’“”]*)*)['\"’”](?!\w)")
_LISTED = re.compile(r"\(([^()]*)\)")
_SEPARATOR = re.compile(r"[,;/]|\band\b|\bor\b")

Option = tuple[int, int]
"""The places of a field and of one of its values."""


class Cue(NamedTuple):
    option: Option
    kind: str
    stems: tuple[str, ...]

    def end(self, words: list[Word], start: int) -> int | None:
        """Where the cue ends that begins at `start`; None if its other words do not follow."""
        for wanted in self.stems[1:]:
            following = [word.stem for word in words[start + 1 : start + 2 + _GAP]]
            if wanted not in following or PAUSE in following[: following.index(wanted)]:
                return None
            start += 1 + following.index(wanted)
        return start


@dataclass(slots=True)
class Score:
    """What a review says for one value: the weight of its best sentence and of all, and what it denies."""

    best: float = 0.0
    total: float = 0.0
    denied: float = 0.0
    is_hearsay: bool = False


def quoted(description: str) -> list[str]:
    """The phrases in quotes."""
    return _QUOTED.findall(description)


def cues_of(place: int, options: Sequence[tuple[str, str]]) -> Iterator[Cue]:
    """The cues of a field's values, from their names and descriptions; a word of several values speaks for none."""
    rests = [_QUOTED.sub(" ", description) for _, description in options]
    words = [
        set(content(f"{name} {_LISTED.sub(' ', rest)}")) - TASK_WORDS - NEGATORS
        for (name, _), rest in zip(options, rests, strict=True)
    ]
    values_of = Counter(word for own in words for word in own)
    for value, (name, description) in enumerate(options):
        option = (place, value)
        yield from (Cue(option, "phrases", stems(phrase)) for phrase in quoted(description) if content(phrase))
        items = [item for listed in _LISTED.findall(rests[value]) for item in _SEPARATOR.split(listed)]
        items += [] if description else [name]
        yield from (Cue(option, "lists", content(item)) for item in items if content(item))
        yield from (Cue(option, "words", (word,)) for word in sorted(words[value]) if values_of[word] == 1)


class Index:
    """The cues of all fields, by their first stem."""

    def __init__(self, cues: Iterable[Cue], kinds: Collection[str]) -> None:
        self._kinds = kinds
        self._by_stem: dict[str, list[Cue]] = defaultdict(list)
        for cue in dict.fromkeys(cue for cue in cues if cue.kind in kinds):
            self._by_stem[cue.stems[0]].append(cue)

    def scores(self, sentences: Iterable[Sentence]) -> dict[Option, Score]:
        """What is said for each value; 0 for one of which nothing is said."""
        scores: dict[Option, Score] = defaultdict(Score)
        for sentence in sentences:
            for option, weights in self._found(sentence).items():
                score = scores[option]
                said = sum(weight for weight in weights.values() if weight > 0)
                if said > score.best:
                    score.best, score.is_hearsay = said, sentence.is_hearsay
                score.total += said
                score.denied = max(score.denied, -min(weights.values()))
        return scores

    def _found(self, sentence: Sentence) -> dict[Option, dict[str, float]]:
        """The weights of each value's cues in a sentence, below 0 if denied, by their last stem: none counts twice."""
        found: dict[Option, dict[str, float]] = defaultdict(dict)
        for start, word in enumerate(sentence.words):
            for cue in self._by_stem.get(word.stem, ()):
                end = cue.end(sentence.words, start)
                if end is None or (word.is_supposed and "supposition" in self._kinds and cue.kind != "phrases"):
                    continue
                weight = _WEIGHTS[cue.kind]
                if sentence.words[end].is_denied and "denial" in self._kinds and NEGATORS.isdisjoint(cue.stems):
                    weight = -weight
                weights = found[cue.option]
                weights[cue.stems[-1]] = max(weight, weights.get(cue.stems[-1], weight))
        return found
