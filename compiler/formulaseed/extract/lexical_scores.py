"""Scores: how strongly a review's sentences speak for each value of a field.

Comes in: a review read by ``lexical_text`` and a field's cues. Goes out: one score a value. Only words that
the writer asserts count in full; a sentence counts by how much of the field's topic stands in or near it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from formulaseed.extract import lexical_speech as speech
from formulaseed.extract.lexical_cues import NUMBER, Cue, Phrase
from formulaseed.extract.lexical_fields import ROOT, FieldCues
from formulaseed.extract.lexical_numbers import is_number, quantities
from formulaseed.extract.lexical_speech import Stance
from formulaseed.extract.lexical_text import Sentence, Word
from formulaseed.extract.lexical_vocabulary import is_common, valence

THRESHOLD = 0.6
"""Below it nothing speaks for a value."""

FAR_TOPIC = 0.6  # of the topic's words elsewhere in the review
LEANING = 0.75  # a sentence of praise or blame on the topic
LEANING_TOPIC = 0.5  # how much of the topic must stand near it
LEANING_LIMIT = 2
TOLD = 1.4  # the matter told in a value's stance
TOLD_ALONE = 0.7  # of that, far from the topic
FEARED_ALONE = 0.4  # the same, for what did not happen
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
    """A review's sentences, and how far each of them praises (up to 2) or blames (down to -2)."""

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
            pairs = zip(found[index], cues.stances, strict=True)
            found[index] = [score if stance == "unreal" else 0.0 for score, stance in pairs]
    return found


def scores(cues: FieldCues, review: Review) -> list[float]:
    """The score of each of a field's values; the fallback's stays 0."""
    coverage = _Coverage(cues, review)
    evidence = _Evidence(cues.count)
    for index, sentence in enumerate(review.sentences):
        near = coverage.near(index)
        here = coverage.here(index) if cues.topic_known else 0.0
        _hear_words(cues, sentence, near, here, evidence)
        if cues.phrases:
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
    return max(-LEANING_LIMIT, min(LEANING_LIMIT, total))


def _is_refusal(sentence: Sentence, index: int) -> bool:
    """ "They would not check": somebody else's unwillingness."""
    word = sentence[index]
    if word.lower != "not" or word.by_writer or not index or sentence[index - 1].lower not in speech.MODALS:
        return False
    return index + 1 < len(sentence) and sentence[index + 1].lower not in speech.PRAISING_VERBS


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

    def here(self, index: int) -> float:
        """In the sentence itself."""
        return self._share(self._masks[index])

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


def _hear_words(cues: FieldCues, sentence: Sentence, near: float, here: float, evidence: _Evidence) -> None:
    table = cues.cues
    denies = cues.field.type == "boolean"
    for word in sentence:
        for cue in table.get(word.stem, ()):
            if word.negated != cue.negated:
                if not denies:
                    continue
                cue = cue._replace(value=1)
            weight = cue.heard(near, here) * _reality(cues, cue.value, word)
            evidence.add(cue, weight * WRITERS_DEED if cue.deed and word.by_writer else weight)


def _reality(cues: FieldCues, value: int, word: Word) -> float:
    if word.stance == "unreal" and (cues.hears_unreal or cues.stances[value] == "unreal"):
        return 1.0
    return _REALITY[word.stance]


def _hear_phrases(cues: FieldCues, sentence: Sentence, near: float, evidence: _Evidence) -> None:
    table = cues.phrases
    for start, word in enumerate(sentence):
        for phrase in table.get(NUMBER if is_number(word.stem) else word.stem, ()):
            matched, last = _matched(phrase, sentence, start)
            share = phrase.share(matched)
            if not share:
                continue
            cue = phrase.cue
            weight = cue.weight * _matter(cues, sentence) if phrase.bare else cue.heard(near, near)
            negated = word.negated or (sentence[last].negated and not phrase.denies)
            if negated and not phrase.bare:
                if cues.field.type != "boolean":
                    continue
                cue = cue._replace(value=1)
            evidence.add(cue, weight * share * _reality(cues, cue.value, word))


def _matter(cues: FieldCues, sentence: Sentence) -> float:
    """How far a sentence is about the matter at all: "I had hives", not "I had the soup"."""
    return min(1.0, sum(cues.matter.get(word.stem, 0.0) for word in sentence if not word.negated)) / 2


def _matched(phrase: Phrase, sentence: Sentence, start: int) -> tuple[int, int]:
    """How many of the phrase's words stand from here on, almost side by side, and where the last one is."""
    at = start
    for matched, wanted in enumerate(phrase.words[1:], 1):
        window = sentence[at + 1 : at + 2 + PHRASE_GAP]
        step = next((offset for offset, word in enumerate(window, 1) if _is_one_of(word.stem, wanted)), None)
        if step is None:
            return matched, at
        at += step
    return len(phrase.words), at


def _is_one_of(word: str, wanted: frozenset[str]) -> bool:
    return word in wanted or (NUMBER in wanted and is_number(word))


def _hear_stances(cues: FieldCues, sentence: Sentence, near: float, evidence: _Evidence) -> None:
    """For the values about who tells it: adds how much of the matter this sentence tells in their stance."""
    told: dict[Stance, dict[str, float]] = {}
    for word in sentence:
        weight = cues.matter.get(word.stem, 0.0)
        feared = word.stance == "unreal" and word.stem[:ROOT] in cues.topic_bits
        if feared or word.stem in cues.topic:
            weight = max(weight, TOPIC_TOLD)
        if weight and not word.negated:
            told.setdefault(word.stance, {})[word.stem] = weight
    for stance, heard in told.items():
        # A review is of its writer's own meal where it names nobody else.
        weight = TOLD * min(1.0, sum(heard.values())) * (0.8 if stance == "plain" else 1.0)
        for value, wanted in enumerate(cues.stances):
            if wanted == stance or (wanted == "first" and stance == "plain"):
                alone = FEARED_ALONE if stance == "unreal" else TOLD_ALONE
                cue = Cue(value, weight, alone, origin=_STANCE_ORIGIN)
                evidence.add(cue, cue.heard(near, near))


def _hear_topic(cues: FieldCues, review: Review, found: list[float]) -> None:
    """Where a sentence asserts all that the fallback denies, the first other value stands at least."""
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
        if quantity.unit in units and sentence[quantity.start].real
    ]
    largest = max(found, key=lambda quantity: quantity.value, default=None)
    if largest is None:
        return
    for value, stated in enumerate(cues.ranges):
        if stated and stated.unit == largest.unit and stated.low <= largest.value <= stated.high:
            evidence.add(Cue(value, QUANTITY, 1.0, origin=_QUANTITY_ORIGIN), QUANTITY)
            return
