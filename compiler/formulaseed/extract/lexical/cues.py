"""What speaks for a value: the phrases quoted in its description, the things listed there, its words.

A word of a review tries the cues alone that begin with its stem, over a bounded stretch of words.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from formulaseed.extract.lexical.text import NEGATORS, PAUSE, Sentence, Word, content, stem, stems, word_set

KINDS = word_set("phrases lists words denial supposition hearsay quantities names")
"""What is heeded: `bench/lexical.py` measures the extractor without each."""
SPEAKS = 2.0
"""The weight from which a sentence speaks for a value: a phrase, a listed thing, three words."""
_WEIGHTS = {"phrases": 3.0, "lists": 2.0, "words": 0.7}
_TASK = """true false yes mention describe review reviewer author state report say tell name number guest customer someone
something anything restaurant place visit actual"""
TASK_WORDS = frozenset(map(stem, word_set(_TASK)))
"""Words of the seed's author about the task, which speak for no value."""
QUOTED = re.compile(r"(?<!\w)['\"‘“]([^'\"‘’“”]{1,80}(?:['’]\w[^'\"‘’“”]{0,80}){0,3})['\"’”](?!\w)")
_LISTED = re.compile(r"\(([^()]*)\)")
_SEPARATOR = re.compile(r"[,;/]|\band\b|\bor\b")
Option = tuple[int, int]
"""The places of a field and of one of its values."""


class Cue(NamedTuple):
    option: Option
    kind: str
    stems: tuple[str, ...]

    def end(self, words: list[Word], start: int) -> int | None:
        """Where the cue ends that begins at `start`; None if its words do not follow, with one other between two."""
        for wanted in self.stems[1:]:
            following = [word.stem for word in words[start + 1 : start + 3]]
            if wanted not in following or PAUSE in following[: following.index(wanted)]:
                return None
            start += 1 + following.index(wanted)
        return start


Cues = Mapping[str, Sequence[Cue]]
"""The cues of all fields, by their first stem."""


@dataclass(slots=True)
class Score:
    """What a review says for one value: the weight of its best sentence, of all, and of what it denies."""

    best: float = 0.0
    total: float = 0.0
    denied: float = 0.0
    is_hearsay: bool = False


def cues_of(place: int, options: Sequence[tuple[str, str]]) -> Iterator[Cue]:
    """The cues of a field's values, from their names and descriptions; a word of several values speaks for none."""
    rests = [QUOTED.sub(" ", description) for _, description in options]
    texts = [f"{name} {_LISTED.sub(' ', rest)}" for (name, _), rest in zip(options, rests, strict=True)]
    words = [set(content(text)) - TASK_WORDS - NEGATORS for text in texts]
    values_of = Counter(word for own in words for word in own)
    for value, (name, description) in enumerate(options):
        option = (place, value)
        yield from (Cue(option, "phrases", stems(phrase)) for phrase in QUOTED.findall(description) if content(phrase))
        items = [item for listed in _LISTED.findall(rests[value]) for item in _SEPARATOR.split(listed)]
        items += [] if description else [name]
        yield from (Cue(option, "lists", content(item)) for item in items if content(item))
        yield from (Cue(option, "words", (word,)) for word in sorted(words[value]) if values_of[word] == 1)


def scores_of(cues: Cues, read: Iterable[Sentence], kinds: Collection[str]) -> dict[Option, Score]:
    """What is said for each value of which anything is said."""
    scores: dict[Option, Score] = defaultdict(Score)
    for words, is_hearsay in read:
        for option, weights in _found(cues, words, kinds).items():
            score = scores[option]
            said = sum(weight for weight in weights.values() if weight > 0)
            if said > score.best:
                score.best, score.is_hearsay = said, is_hearsay
            score.total += said
            score.denied = max(score.denied, -min(weights.values()))
    return scores


def _found(cues: Cues, words: list[Word], kinds: Collection[str]) -> dict[Option, dict[str, float]]:
    """The weights of each value's cues in a sentence, below 0 if denied, by their last stem: none counts twice."""
    found: dict[Option, dict[str, float]] = defaultdict(dict)
    for start, word in enumerate(words):
        for cue in cues.get(word.stem, ()):
            end = cue.end(words, start)
            if end is None or (word.is_supposed and "supposition" in kinds and cue.kind != "phrases"):
                continue
            is_denied = words[end].is_denied and "denial" in kinds and NEGATORS.isdisjoint(cue.stems)
            weight = -_WEIGHTS[cue.kind] if is_denied else _WEIGHTS[cue.kind]
            found[cue.option][cue.stems[-1]] = max(weight, found[cue.option].get(cue.stems[-1], weight))
    return found
