"""What speaks for a value: the phrases quoted in its description, the things listed there, its words.

A review is read as sentences of words, each with its stem, and whether its clause denies it or only supposes it. A word
tries the cues alone that begin with its stem, over a bounded stretch of words.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

CHARACTERS = 20_000
"""What is read of a review."""
SENTENCE, DENIED = 60, 6
"""Words of a sentence, of which a longer one is read in parts; words that a negator reaches, at most to its clause's end."""
PAUSE = ","
"""The stem of commas and colons, which no cue reaches across."""


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


FUNCTION_WORDS = word_set(
    """i me the and or but so as at by for from in into of off on onto out over to too up down with about after again all any
    before if then there here when while until than be have do not no will would can could should just very really what per
    which who it each even few get got how more most much now only other own same some such where why also still yet might"""
)
NEGATORS = word_set("no not never without nobody none nothing neither nor hardly rarely")
_CONTRASTS = word_set("but although though however yet because then so until except")
_SUPPOSING = word_set(
    "if would could might may should afraid scared worry worried fear nervous hope unless wish carry carries"
)
_TELLING = word_set("tell hear say read report")
_TELLERS = word_set("friend sister brother cousin neighbor coworker someon somebody peopl review")
_SAME = {
    word: line.split()[0]
    for line in """i we he she they you|me us him her them|the a an my our your his their this that its one|tell told
    say said says|hear heard|swell swollen|throw threw thrown|feel felt|break broke broken|take took taken|give gave given
    eat ate|sit sat|pay paid|leave left|go went gone|come came|bring brought|keep kept|find found|swear swore
    good better best|mouse mice|fly flies|child children|be was were is are am been being|have has had having
    do did does|anaphylaxis anaphylactic""".replace("\n", "|").split("|")
    for word in line.split()
}
"""Words that take each other's place, by the first of their line."""
_ENDINGS = ("ing", "edly", "ed", "ies", "es", "s", "ively", "ive", "ly", "ic", "y", "e")
_TOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|[0-9]+(?:[.,][0-9]+)*|[$.,;:!?()\n]")
_ENDS = frozenset(".;!?()\n")


class Word(NamedTuple):
    stem: str
    is_denied: bool
    is_supposed: bool


Sentence = tuple[list[Word], bool]
"""Its words, and whether somebody else tells it: "my friend told me"."""


def stem(word: str) -> str:
    """The word in lower case, without its ending."""
    word = word.removesuffix("'s")
    word = _SAME.get(word, word)
    if word in FUNCTION_WORDS or word.endswith("ss"):
        return word
    word = word.removesuffix(next((end for end in _ENDINGS if word.endswith(end) and len(word) - len(end) >= 3), ""))
    is_doubled = len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sl"
    return word[:-1] if is_doubled or (len(word) > 3 and word[-1] == "e") else word


def stems(text: str) -> tuple[str, ...]:
    """The stems of a phrase, without its marks."""
    return tuple(stem(token) for token in _tokens(text) if token[0].isalnum() or token == "$")


def content(text: str) -> tuple[str, ...]:
    """The stems of a phrase that mean something."""
    return tuple(each for each in stems(text.replace("_", " ")) if each not in FUNCTION_WORDS and each.isalpha())


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of a review, as far as it is read."""
    words: list[Word] = []
    denied, is_supposed = 0, False
    for token in _tokens(text[:CHARACTERS] + "\n"):
        if words and (token in _ENDS or len(words) == SENTENCE):
            said = {word.stem for word in words}
            yield words, not (said.isdisjoint(_TELLING) or said.isdisjoint(_TELLERS))
            words, denied, is_supposed = [], 0, False
        if token in _ENDS:
            continue
        is_break = token in ",:" or token in _CONTRASTS
        words.append(Word(PAUSE if token in ",:" else stem(token), denied > 0 and not is_break, is_supposed))
        denied = DENIED if token in NEGATORS else 0 if is_break else max(0, denied - 1)
        is_supposed = is_supposed or token in _SUPPOSING


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text.lower().replace("’", "'").replace("n't", " not").replace("cannot", "can not"))


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
