"""Scores: how strongly a review's sentences speak for each value of a field.

Comes in: a review read by ``lexical_text`` and a field's cues. Goes out: one score a value. Only words that
the writer asserts count in full; a sentence counts by how much of the field's topic stands in or near it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from formulaseed.extract import lexical_words as words
from formulaseed.extract.lexical_cues import Cue, Phrase
from formulaseed.extract.lexical_fields import ROOT, FieldCues
from formulaseed.extract.lexical_numbers import quantities
from formulaseed.extract.lexical_text import Sentence, Word
from formulaseed.extract.lexical_vocabulary import is_common, valence
from formulaseed.extract.lexical_words import Stance

THRESHOLD = 0.6
"""Below it nothing speaks for a value."""

FAR_TOPIC = 0.6  # of the topic's words elsewhere in the review
LEANING = 0.75  # a sentence of praise or blame on the topic
LEANING_TOPIC = 0.5  # how much of the topic must stand near it
LEANING_LIMIT = 2
TOLD = 1.4  # the matter told in a value's stance
TOLD_ALONE = 0.7  # of that, far from the topic
TOPIC_TOLD = 0.6  # the matter named by its topic only
QUANTITY = 1.5  # a quantity inside a value's range
PART = 0.4  # what either side of a "but" needs
PHRASE_GAP = 2  # words that may stand between two words of a quoted phrase
WRITERS_DEED = 0.2  # of a cue for what staff do, done by the writer
# How much of a word's weight stands, by who says what of it.
_REALITY: dict[Stance, float] = {
    "plain": 1.0, "first": 1.0, "other": 1.0, "unreal": 0.1, "asked": 0.1, "background": 0.15,
}  # fmt: skip
_STANCE_ORIGIN, _QUANTITY_ORIGIN = -1, -2


@dataclass(frozen=True, slots=True)
class Review:
    """A review's sentences, and which of them praise (1) or blame (-1)."""

    sentences: tuple[Sentence, ...]
    leanings: tuple[int, ...]


def review_of(sentences: tuple[Sentence, ...]) -> Review:
    """Reads each sentence's praise and blame once for all fields."""
    return Review(sentences, tuple(_leaning(sentence) for sentence in sentences))


def all_scores(fields: Sequence[FieldCues], review: Review) -> list[list[float]]:
    """Each field's scores; who told a thing counts only where the linked fields heard one."""
    found = [scores(cues, review) for cues in fields]
    for index, cues in enumerate(fields):
        if cues.linked and max(max(found[other]) for other in cues.linked) < THRESHOLD:
            real = (score if stance == "unreal" else 0.0 for score, stance in zip(found[index], cues.stances))
            found[index] = list(real)
    return found


def scores(cues: FieldCues, review: Review) -> list[float]:
    """The score of each of a field's values; the fallback's stays 0."""
    coverage = _Coverage(cues, review)
    evidence = _Evidence(cues.count)
    for index, sentence in enumerate(review.sentences):
        near = coverage.near(index)
        _hear_words(cues, sentence, near, evidence)
        _hear_phrases(cues, sentence, near, evidence)
        if cues.tells_stance:
            _hear_stances(cues, sentence, near, evidence)
    _hear_ranges(cues, review, coverage, evidence)
    found = evidence.totals(cues.parts)
    if any(cues.polarity):
        _lean(cues, found, coverage.leaning(review.leanings))
    elif not cues.tells_stance:
        _hear_topic(cues, review, found)
    return found


def _leaning(sentence: Sentence) -> int:
    total = 0
    for index, word in enumerate(sentence):
        if _REALITY[word.stance] < 1.0:
            continue
        worth = valence(word.stem)
        total += -worth if word.negated else worth
        total -= _is_refusal(sentence, index)
    return (total > 0) - (total < 0)


def _is_refusal(sentence: Sentence, index: int) -> bool:
    """ "They would not check": somebody else's unwillingness."""
    word = sentence[index]
    if word.lower != "not" or word.by_writer or not index or sentence[index - 1].lower not in words.MODALS:
        return False
    return index + 1 < len(sentence) and sentence[index + 1].lower not in words.PRAISING_VERBS


def _lean(cues: FieldCues, found: list[float], leaning: float) -> None:
    """Moves the values that lean by the review's praise and blame; one with a "but" must have been heard."""
    for value, side in enumerate(cues.polarity):
        if side and (found[value] or cues.parts[value] == 1):
            found[value] = max(0.0, found[value] + side * leaning)


class _Coverage:
    """How much of a field's topic stands in, near and far from each sentence: shares of its weight."""

    def __init__(self, cues: FieldCues, review: Review) -> None:
        bits = cues.topic_bits
        self._weights = cues.topic_weights
        self._total = sum(cues.topic_weights)
        self._masks = [0] * len(review.sentences)
        union = 0
        for index, sentence in enumerate(review.sentences):
            for word in sentence:
                self._masks[index] |= bits.get(word.stem[:ROOT], 0)
            union |= self._masks[index]
        self.all = self._share(union)

    def within(self, index: int) -> float:
        """In the sentence or one beside it."""
        mask = 0
        for near in self._masks[max(0, index - 1) : index + 2]:
            mask |= near
        return self._share(mask)

    def near(self, index: int) -> float:
        """As ``within``, where the rest of the review counts a little less."""
        return max(self.within(index), FAR_TOPIC * self.all)

    def leaning(self, leanings: Sequence[int]) -> float:
        """The praise and blame of the sentences on or beside the topic."""
        total = 0.0
        for index, leaning in enumerate(leanings):
            near = self.near(index) if self._masks[index] else self.within(index)
            if leaning and near >= LEANING_TOPIC:
                total += leaning * near
        return max(-LEANING_LIMIT, min(LEANING_LIMIT, total)) * LEANING

    def _share(self, mask: int) -> float:
        if not self._total:
            return 1.0
        if not mask:
            return 0.0
        return sum(weight for bit, weight in enumerate(self._weights) if mask >> bit & 1) / self._total


class _Evidence:
    """The best weight heard from each origin: a cue said ten times says what it said once."""

    def __init__(self, count: int) -> None:
        self._best: list[dict[int, tuple[float, int]]] = [{} for _ in range(count)]

    def add(self, cue: Cue, weight: float) -> None:
        heard = self._best[cue.value]
        if weight > heard.get(cue.origin, (0.0, 0))[0]:
            heard[cue.origin] = (weight, cue.part)

    def totals(self, parts: Sequence[int]) -> list[float]:
        """The sum for each value; one told with a "but" needs something heard from either side."""
        found: list[float] = []
        for heard, count in zip(self._best, parts, strict=True):
            sides = [0.0] * count
            for weight, part in heard.values():
                sides[part] += weight
            found.append(sum(sides) if count == 1 or min(sides) >= PART else 0.0)
        return found


def _hear_words(cues: FieldCues, sentence: Sentence, near: float, evidence: _Evidence) -> None:
    table = cues.cues
    denies = cues.field.type == "boolean"
    for word in sentence:
        for cue in table.get(word.stem, ()):
            if word.negated != cue.negated:
                if not denies:
                    continue
                cue = cue._replace(value=1)
            weight = cue.heard(near) * _reality(cues, cue.value, word)
            evidence.add(cue, weight * WRITERS_DEED if cue.deed and word.by_writer else weight)


def _reality(cues: FieldCues, value: int, word: Word) -> float:
    if word.stance == "unreal" and (cues.hears_unreal or cues.stances[value] == "unreal"):
        return 1.0
    return _REALITY[word.stance]


def _hear_phrases(cues: FieldCues, sentence: Sentence, near: float, evidence: _Evidence) -> None:
    for start, word in enumerate(sentence):
        for phrase in cues.phrases.get(word.stem, ()):
            if not _stands(phrase, sentence, start):
                continue
            cue = phrase.cue
            weight = cue.weight * _matter(cues, sentence) if phrase.bare else cue.heard(near)
            if word.negated and not phrase.bare:
                if cues.field.type != "boolean":
                    continue
                cue = cue._replace(value=1)
            evidence.add(cue, weight * _reality(cues, cue.value, word))


def _matter(cues: FieldCues, sentence: Sentence) -> float:
    """How far a sentence is about the matter at all: "I had hives", not "I had the soup"."""
    return min(1.0, sum(cues.matter.get(word.stem, 0.0) for word in sentence if not word.negated)) / 2


def _stands(phrase: Phrase, sentence: Sentence, start: int) -> bool:
    """Whether the phrase's words stand from here on, in order, almost side by side."""
    at = start
    for wanted in phrase.stems[1:]:
        window = sentence[at + 1 : at + 2 + PHRASE_GAP]
        step = next((offset for offset, word in enumerate(window, 1) if word.stem == wanted), None)
        if step is None:
            return False
        at += step
    return True


def _hear_stances(cues: FieldCues, sentence: Sentence, near: float, evidence: _Evidence) -> None:
    """Adds, for the values about who tells it, how much of the matter this sentence tells in their stance."""
    told: dict[Stance, dict[str, float]] = {}
    for word in sentence:
        weight = cues.matter.get(word.stem, 0.0)
        if word.stem in cues.topic or (word.stance == "unreal" and word.stem[:ROOT] in cues.topic_bits):
            weight = max(weight, TOPIC_TOLD)
        if weight and not word.negated:
            told.setdefault(word.stance, {})[word.stem] = weight
    for stance, heard in told.items():
        # A review is of its writer's own meal where it names nobody else.
        weight = TOLD * min(1.0, sum(heard.values())) * (0.8 if stance == "plain" else 1.0)
        for value, wanted in enumerate(cues.stances):
            if wanted == stance or (wanted == "first" and stance == "plain"):
                cue = Cue(value, weight, TOLD_ALONE, origin=_STANCE_ORIGIN)
                evidence.add(cue, cue.heard(near))


def _hear_topic(cues: FieldCues, review: Review, found: list[float]) -> None:
    """A sentence that asserts all that the fallback denies rules it out; the first other value then stands."""
    if cues.fallback is None or len(cues.topic) < 2 or all(is_common(word) for word in cues.topic):
        return
    first = next((value for value in range(cues.count) if value != cues.fallback), None)
    if first is None or max(found) >= THRESHOLD:
        return
    every = (1 << len(cues.topic)) - 1
    for sentence in review.sentences:
        mask = 0
        for word in sentence:
            if word.real:
                mask |= cues.topic_bits.get(word.stem[:ROOT], 0)
        if mask == every:
            found[first] = THRESHOLD
            return


def _hear_ranges(cues: FieldCues, review: Review, coverage: _Coverage, evidence: _Evidence) -> None:
    """Gives the value whose range holds the largest quantity of the sentences on the topic."""
    units = {stated.unit for stated in cues.ranges if stated}
    if not units or not review.sentences:
        return
    found = [
        quantity
        for index, sentence in enumerate(review.sentences)
        if coverage.near(index) > 0
        for quantity in quantities([word.stem for word in sentence])
        if quantity.unit in units
    ]
    largest = max(found, key=lambda quantity: quantity.value, default=None)
    if largest is None:
        return
    for value, stated in enumerate(cues.ranges):
        if stated and stated.unit == largest.unit and stated.low <= largest.value <= stated.high:
            evidence.add(Cue(value, QUANTITY, 1.0, origin=_QUANTITY_ORIGIN), QUANTITY)
            return
