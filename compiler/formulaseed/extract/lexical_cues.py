"""Cues: what a value's name and description tell an extractor to listen for, as tables from stems to values.

A description is read in its parts: phrases in quotes ('friend told me') weigh most, then examples in
parentheses, then its plain words. A word that many values use weighs little, a word that all use nothing.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from formulaseed.extract import lexical_speech as speech
from formulaseed.extract import lexical_words as words
from formulaseed.extract.lexical_numbers import is_number
from formulaseed.extract.lexical_text import sentences, stem
from formulaseed.extract.lexical_vocabulary import description_words, family_of, is_common, name_words

NUMBER = "#"
"""Stands for every number, in digits or spelled."""

MINIMAL_HEAD = 3  # words that a phrase's head needs to be heard without the rest
PHRASE = 2.0  # a phrase that the description quotes
PHRASE_WORDS = 1.0  # its words apart from one another
EXAMPLE = 1.6  # a parenthesised example, shared among its words
NAME = 1.2  # the name, shared among its words
PROSE = 1.0  # any other word of a description
PROSE_BESIDE_QUOTES = 0.4  # the same in a field of one value, where its author has quoted what counts
EMPHASIS = 1.5  # CLAIMED
COMMON = 0.25  # of the weight of a rare word
COMMON_ON_TOPIC = 0.75  # the same, in a sentence that has the whole topic
COMMON_DEED = 0.6  # the same, where the description says that staff do it: "Staff asked"
RELATED = 0.8  # a word of the same family as the author's
EXAMPLE_ALONE = 0.5  # of an example's or phrase's weight, far from the topic
PROSE_ALONE = 0.3  # of a plain word's weight, far from the topic

# Each part ends where the next begins, and the bounds keep stray quotes and parentheses cheap.
_QUOTED = re.compile(r"(?<!\w)['\"‘“]((?:[^'\"‘’“”]|(?<=\w)['’](?=\w)){1,80})['\"’”](?!\w)")
_EXAMPLES = re.compile(r"\(([^()]{0,400})\)")
_ITEM_ENDS = re.compile(r"[,;/]|\bor\b|\band\b")
TURN = re.compile(r"\b[Bb](?:ut|UT)\b")
_ANY_NUMBER = frozenset((NUMBER,))
_STOPS = frozenset(stem(word) for word in words.STOP_WORDS)
_STAFF = frozenset(stem(word) for word in speech.STAFF)
_UNHEARD = words.word_set("a an the my our your his her their this that these so very really completely totally")


class Cue(NamedTuple):
    """One word's or phrase's vote for a value. Cues of one origin say the same thing and count once."""

    value: int
    weight: float
    alone: float
    part: int = 0  # of a description with a "but": which side of it
    negated: bool = False  # "never asked": counts where the review denies the word
    deed: bool = False  # what staff do; the writer's doing the same says nothing
    common: bool = False  # any review may have the word
    origin: int = 0

    def heard(self, near: float, here: float) -> float:
        """The weight where these shares of the topic stand near the sentence, and in it."""
        weight = self.weight * (self.alone + (1.0 - self.alone) * near)
        if not self.common:
            return weight
        least = COMMON_DEED if self.deed else COMMON
        return weight * max(least, COMMON_ON_TOPIC * here)


class Phrase(NamedTuple):
    """A quoted phrase. A bare one ("I had") speaks only where the sentence is on the matter."""

    words: tuple[frozenset[str], ...]
    """For each word the stems that can stand for it: its family, and any number for a number."""
    cue: Cue
    bare: bool
    telling: int
    """How many words at its head are half of it or more, up to a word that carries meaning."""
    denies: bool
    """It has a negator of its own: "not worth it"."""

    def share(self, matched: int) -> float:
        """How much is said by so many words of its head."""
        return matched / len(self.words) if matched == len(self.words) or matched >= self.telling else 0.0


Item = TypeVar("Item")
CueTable = dict[str, tuple[Cue, ...]]
PhraseTable = dict[str, tuple[Phrase, ...]]


def has_examples(description: str) -> bool:
    """Whether a description names anything to listen for word by word."""
    return bool(_QUOTED.search(description) or _EXAMPLES.search(description))


def phrase_stems(quoted: str) -> tuple[str, ...]:
    """A phrase's stems; "waited for our food" is also "waited for the food", "so rude" is "rude"."""
    found = [word for sentence in sentences(quoted) for word in sentence]
    return tuple(word.stem for word in found if word.lower not in _UNHEARD)


def quoted_phrases(description: str) -> list[str]:
    """The phrases that a description quotes."""
    return [str(phrase) for phrase in _QUOTED.findall(description)]


class CueCollector:
    """Gathers a field's cues value by value, then weighs words by how few values use them."""

    def __init__(self, values: int, excluded: frozenset[str], alone: float, bare_phrases: bool) -> None:
        self._values = values
        self._excluded = excluded  # the topic's words: they speak for no value
        self._alone = alone
        self._bare_phrases = bare_phrases
        self._direct: dict[tuple[str, bool], list[Cue]] = defaultdict(list)
        self._phrases: list[Phrase] = []
        self._origins = 0

    def add_name(self, value: int, name: str) -> None:
        """Listens for the name's words, and for all of them in a row."""
        named = name_words(name)
        if len(named) > 1:
            cue = self._placed(Cue(value, NAME, EXAMPLE_ALONE))
            self._phrases.append(_phrase(tuple(map(stem, named)), cue))
        for word in description_words(" ".join(named)):
            self._add(word.stem, Cue(value, NAME / len(named), PROSE_ALONE))

    def add_description(self, value: int, text: str) -> int:
        """Listens for what the description says; returns how many parts it has around its "but"."""
        pieces = TURN.split(text)
        prose = PROSE_BESIDE_QUOTES if self._values == 1 and _QUOTED.search(text) else PROSE
        for part, piece in enumerate(pieces):
            for quoted in quoted_phrases(piece):
                self._add_phrase(quoted, Cue(value, PHRASE, EXAMPLE_ALONE, part))
            rest = _QUOTED.sub(" ", piece)
            for examples in _EXAMPLES.findall(rest):
                for item in _ITEM_ENDS.split(examples):
                    self._add_shared(item, Cue(value, EXAMPLE, EXAMPLE_ALONE, part))
            self._add_prose(_EXAMPLES.sub(" ", rest), Cue(value, prose, PROSE_ALONE, part))
        return len(pieces)

    def tables(self) -> tuple[CueTable, PhraseTable]:
        """The cues by stem and the phrases by first stem."""
        cues: dict[str, list[Cue]] = defaultdict(list)
        for (word, _), found in self._direct.items():
            best = _best_of_each_value(found)
            if not len(best) == self._values > 1:  # a word of every value tells none from another
                cues[word] += [cue._replace(weight=cue.weight / len(best)) for cue in best]
        self._widen(cues)
        phrases: dict[str, list[Phrase]] = defaultdict(list)
        for phrase in self._phrases:
            for first in sorted(phrase.words[0]):
                phrases[first].append(phrase)
        return _frozen(cues), _frozen(phrases)

    def own_words(self) -> tuple[str, ...]:
        """The stems that the author uses, in order."""
        return tuple(dict.fromkeys(word for word, _ in self._direct))

    def _widen(self, cues: dict[str, list[Cue]]) -> None:
        """Adds the families of the words; a family member that the author uses keeps the author's value."""
        own = {word for word, _ in self._direct} | self._excluded
        related: dict[str, list[Cue]] = defaultdict(list)
        for word in list(cues):
            for member in family_of(word):
                if member not in own:
                    related[member] += [_related(cue, is_common(member)) for cue in cues[word]]
        for member, found in related.items():
            best = _best_of_each_value(found)
            cues[member] += [cue._replace(weight=cue.weight / len(best)) for cue in best]

    def _add_prose(self, text: str, cue: Cue) -> None:
        by_staff = next((word.lower in speech.STAFF for s in sentences(text) for word in s), False)
        for word in description_words(text):
            weight = cue.weight * (EMPHASIS if word.loud else 1.0)
            self._add(word.stem, cue._replace(weight=weight, negated=word.negated, deed=by_staff))

    def _add_shared(self, item: str, cue: Cue) -> None:
        """An example of several words: each has its share of the weight, the rare ones most of it."""
        listed = list(description_words(item))
        total = sum(COMMON if is_common(word.stem) else 1.0 for word in listed)
        for word in listed:
            self._add(word.stem, cue._replace(weight=cue.weight / max(1.0, total), negated=word.negated))

    def _add_phrase(self, quoted: str, cue: Cue) -> None:
        stems = phrase_stems(quoted)
        if not stems:
            return
        bare = self._bare_phrases and _is_bare(quoted)
        self._phrases.append(_phrase(stems, self._placed(cue), bare))
        if not bare:
            self._add_shared(quoted, cue._replace(weight=PHRASE_WORDS))

    def _add(self, word: str, cue: Cue) -> None:
        if word in self._excluded:
            return
        if is_common(word):
            # "Staff asked" means the asking; "positive staff" does not mean the staff.
            cue = cue._replace(common=True, deed=cue.deed and word not in _STAFF)
        self._direct[word, cue.negated].append(self._placed(cue))

    def _placed(self, cue: Cue) -> Cue:
        self._origins += 1
        return cue._replace(origin=self._origins, alone=max(cue.alone, self._alone))


def _frozen(table: dict[str, list[Item]]) -> dict[str, tuple[Item, ...]]:
    return {word: tuple(found) for word, found in table.items()}


def _phrase(stems: tuple[str, ...], cue: Cue, bare: bool = False) -> Phrase:
    telling = max(MINIMAL_HEAD, (len(stems) + 1) // 2)
    while telling < len(stems) and stems[telling - 1] in _STOPS:
        telling += 1
    denies = not speech.NEGATORS.isdisjoint(stems)
    return Phrase(tuple(_stand_ins(word) for word in stems), cue, bare, telling, denies)


def _stand_ins(word: str) -> frozenset[str]:
    return _ANY_NUMBER if is_number(word) else frozenset((word, *family_of(word)))


def _related(cue: Cue, common: bool) -> Cue:
    return cue._replace(weight=cue.weight * RELATED, common=cue.common or common)


def _is_bare(quoted: str) -> bool:
    """'I had', 'my child experienced': somebody and a common verb, nothing about the matter."""
    return all(
        word.lower in words.STOP_WORDS or word.lower in speech.PERSONS or is_common(word.stem)
        for sentence in sentences(quoted)
        for word in sentence
    )


def _best_of_each_value(cues: Iterable[Cue]) -> list[Cue]:
    best: dict[int, Cue] = {}
    for cue in cues:
        rival = best.get(cue.value, cue)
        chosen = cue if cue.weight > rival.weight else rival
        best[cue.value] = chosen._replace(alone=max(cue.alone, rival.alone))
    return list(best.values())
