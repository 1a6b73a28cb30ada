"""Cues: what a value's name and description tell an extractor to listen for, as tables from stems to values.

A description is read in its parts: phrases in quotes ('friend told me') weigh most, then examples in
parentheses, then its plain words. A word that many values use weighs little, a word that all use nothing.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from formulaseed.extract import lexical_words as words
from formulaseed.extract.lexical_text import sentences, stem
from formulaseed.extract.lexical_vocabulary import description_words, family_of, is_common, name_words, valence

PHRASE = 2.0  # a phrase that the description quotes
PHRASE_WORDS = 1.0  # its words apart from one another
EXAMPLE = 1.6  # a parenthesised example, shared among its words
NAME = 1.2  # the name, shared among its words
PROSE = 1.0  # any other word of a description
PROSE_BESIDE_QUOTES = 0.5  # its author has quoted what counts
EMPHASIS = 1.5  # CLAIMED
COMMON = 0.25  # of the weight of a rare word
COMMON_DEED = 0.6  # of that weight, where the description says that staff do it: "Staff asked"
RELATED = 0.8  # a word of the same family as the author's
EXAMPLE_ALONE = 0.5  # of an example's or phrase's weight, far from the topic
PROSE_ALONE = 0.3  # of a plain word's weight, far from the topic

# Each part ends where the next begins, and the bounds keep stray quotes and parentheses cheap.
_QUOTED = re.compile(r"(?<!\w)['\"‘“]((?:[^'\"‘’“”]|(?<=\w)['’](?=\w)){1,80})['\"’”](?!\w)")
_EXAMPLES = re.compile(r"\(([^()]{0,400})\)")
_ITEM_ENDS = re.compile(r"[,;/]|\bor\b|\band\b")
TURN = re.compile(r"\b[Bb](?:ut|UT)\b")
_DETERMINERS = frozenset("a an the my our your his her their this that these".split())


class Cue(NamedTuple):
    """One word's or phrase's vote for a value. Cues of one origin say the same thing and count once."""

    value: int
    weight: float
    alone: float
    part: int = 0  # of a description with a "but": which side of it
    negated: bool = False  # "never asked": counts where the review denies the word
    deed: bool = False  # what staff do; the writer's doing the same says nothing
    origin: int = 0

    def heard(self, topic: float) -> float:
        """The weight where this much of the topic is near."""
        return self.weight * (self.alone + (1.0 - self.alone) * topic)


class Phrase(NamedTuple):
    """A quoted phrase. A bare one ("I had") speaks only where the sentence is on the matter."""

    stems: tuple[str, ...]
    cue: Cue
    bare: bool


CueTable = dict[str, tuple[Cue, ...]]
PhraseTable = dict[str, tuple[Phrase, ...]]


def has_examples(description: str) -> bool:
    """Whether a description names anything to listen for word by word."""
    return bool(_QUOTED.search(description) or _EXAMPLES.search(description))


def phrase_stems(quoted: str) -> tuple[str, ...]:
    """A phrase's stems; "waited for our food" is also "waited for the food"."""
    found = [word for sentence in sentences(quoted) for word in sentence]
    kept = [word.stem for word in found if word.lower not in _DETERMINERS]
    return tuple(kept if len(kept) > 1 else [word.stem for word in found])


def quoted_phrases(description: str) -> list[str]:
    """The phrases that a description quotes."""
    return [str(phrase) for phrase in _QUOTED.findall(description)]


class CueCollector:
    """Gathers a field's cues value by value, then weighs words by how few values use them."""

    def __init__(self, excluded: frozenset[str], alone: float, bare_phrases: bool) -> None:
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
            self._phrases.append(Phrase(tuple(map(stem, named)), self._placed(Cue(value, NAME, EXAMPLE_ALONE)), False))
        for word in description_words(" ".join(named)):
            self._add(word.stem, Cue(value, NAME / len(named), PROSE_ALONE))

    def add_description(self, value: int, text: str) -> int:
        """Listens for what the description says; returns how many parts it has around its "but"."""
        pieces = TURN.split(text)
        prose = PROSE_BESIDE_QUOTES if _QUOTED.search(text) else PROSE
        for part, piece in enumerate(pieces):
            for quoted in quoted_phrases(piece):
                self._add_phrase(quoted, Cue(value, PHRASE, EXAMPLE_ALONE, part))
            rest = _QUOTED.sub(" ", piece)
            for examples in _EXAMPLES.findall(rest):
                for item in _ITEM_ENDS.split(examples):
                    self._add_shared(item, Cue(value, EXAMPLE, EXAMPLE_ALONE, part))
            self._add_prose(_EXAMPLES.sub(" ", rest), Cue(value, prose, PROSE_ALONE, part))
        return len(pieces)

    def tables(self, values: int) -> tuple[CueTable, PhraseTable]:
        """The cues by stem and the phrases by first stem, for a field of so many values."""
        cues: dict[str, list[Cue]] = defaultdict(list)
        for (word, _), found in self._direct.items():
            best = _best_of_each_value(found)
            if not len(best) == values > 1:  # a word of every value tells none from another
                cues[word] += [cue._replace(weight=cue.weight / len(best)) for cue in best]
        self._widen(cues)
        phrases: dict[str, list[Phrase]] = defaultdict(list)
        for phrase in self._phrases:
            phrases[phrase.stems[0]].append(phrase)
        return {w: tuple(found) for w, found in cues.items()}, {w: tuple(found) for w, found in phrases.items()}

    def _widen(self, cues: dict[str, list[Cue]]) -> None:
        """Adds the families of the words; a family member that the author uses keeps the author's value."""
        own = {word for word, _ in self._direct} | self._excluded
        related: dict[str, list[Cue]] = defaultdict(list)
        for word in list(cues):
            for member in family_of(word):
                if member not in own:
                    dimmed = is_common(member) and not is_common(word)
                    related[member] += [_related(cue, dimmed) for cue in cues[word]]
        for member, found in related.items():
            best = _best_of_each_value(found)
            cues[member] += [cue._replace(weight=cue.weight / len(best)) for cue in best]

    def _add_prose(self, text: str, cue: Cue) -> None:
        by_staff = next((word.lower in words.STAFF for s in sentences(text) for word in s), False)
        for word in description_words(text):
            weight = cue.weight * (EMPHASIS if word.loud else 1.0)
            self._add(word.stem, cue._replace(weight=weight, negated=word.negated, deed=by_staff))

    def _add_shared(self, item: str, cue: Cue) -> None:
        """An example of several words: each has its share of the weight, the rare ones most of it."""
        listed = list(description_words(item))
        total = sum(COMMON if is_common(word.stem) else 1.0 for word in listed)
        for word in listed:
            self._add(word.stem, cue._replace(weight=cue.weight / total, negated=word.negated))

    def _add_phrase(self, quoted: str, cue: Cue) -> None:
        stems = phrase_stems(quoted)
        if not stems:
            return
        bare = self._bare_phrases and _is_bare(quoted)
        self._phrases.append(Phrase(stems, self._placed(cue), bare))
        if not bare:
            self._add_shared(quoted, cue._replace(weight=PHRASE_WORDS))

    def _add(self, word: str, cue: Cue) -> None:
        if word in self._excluded:
            return
        if is_common(word):
            # "Staff asked" means the asking; "positive staff" does not mean the staff.
            deed = cue.deed and not valence(word)
            cue = cue._replace(weight=cue.weight * (COMMON_DEED if deed else COMMON))
        self._direct[word, cue.negated].append(self._placed(cue))

    def _placed(self, cue: Cue) -> Cue:
        self._origins += 1
        return cue._replace(origin=self._origins, alone=max(cue.alone, self._alone))


def _related(cue: Cue, dimmed: bool) -> Cue:
    common = COMMON_DEED if cue.deed else COMMON
    return cue._replace(weight=cue.weight * RELATED * (common if dimmed else 1.0))


def _is_bare(quoted: str) -> bool:
    """'I had', 'my child experienced': somebody and a common verb, nothing about the matter."""
    return all(
        word.lower in words.STOP_WORDS or word.lower in words.PERSONS or is_common(word.stem)
        for sentence in sentences(quoted)
        for word in sentence
    )


def _best_of_each_value(cues: Iterable[Cue]) -> list[Cue]:
    best: dict[int, Cue] = {}
    for cue in cues:
        if cue.value not in best or cue.weight > best[cue.value].weight:
            best[cue.value] = cue
    return list(best.values())
