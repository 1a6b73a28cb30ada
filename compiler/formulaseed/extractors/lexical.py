"""Extracts typed fields from a review by its words alone, with no network and no model.

It is a heuristic for a first try. It looks for the phrases quoted in the values' descriptions ('friend told me'), the
things listed there in parentheses, and their words, sentence by sentence; a denied word ("no hives") or a supposed one
("if I had hives") weighs nothing. Numbers count near the words of their field, names where a quoted phrase leads to
one, a review's stars where the seed says `"hint": "stars"`. Where nothing speaks for a field, it is its `default`, else
the value that says so itself; a field with neither fails the review by name. No value is made up.

It sees no sarcasm, nor anything said in other words, and reads a review's first 20,000 characters, in linear time.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import starmap
from types import MappingProxyType
from typing import ClassVar, NamedTuple

from formulaseed.data.results import Extraction, Failures, FieldValue, ReviewInput
from formulaseed.errors import DataError
from formulaseed.extractors.base import AskedField, SyncExtractor, fields_of, tied_text, unspoken_text
from formulaseed.extractors.lexical_text import (
    NEGATORS,
    PAUSE,
    QUOTED,
    TASK_WORDS,
    Sentence,
    Word,
    content,
    find_name,
    find_number,
    sentences,
    stems,
    word_set,
)
from formulaseed.extractors.options import Callbacks, ExtractorOptions
from formulaseed.ir import nodes
from formulaseed.runtime.reviews import ReviewSource
from formulaseed.source.printing import number_of


class Lexical(ExtractorOptions):
    """Extracts by words alone: a heuristic for a first try, which needs nothing and has no options."""

    name: ClassVar[str] = "lexical"

    @contextmanager
    def open(
        self, program: nodes.Program, source: ReviewSource, failures: Failures, callbacks: Callbacks
    ) -> Iterator[LexicalExtractor]:
        yield LexicalExtractor(fields_of(program))


KINDS = word_set("phrases lists words denial supposition hearsay quantities names")
"""The kinds of cues: `bench/lexical.py` measures the extractor without each."""
MIN_WEIGHT = 2.0
"""The weight from which a sentence speaks for a value: a phrase, a listed thing, three words."""
_WEIGHTS = {"phrases": 3.0, "lists": 2.0, "words": 0.7}
_LISTED = re.compile(r"\(([^()]*)\)")
_SEPARATOR = re.compile(r"[,;/]|\band\b|\bor\b")
Option = tuple[int, int]
"""The places of a field and of one of its values."""


class Cue(NamedTuple):
    """Stems that speak for a value if a sentence has them in this order."""

    option: Option
    kind: str
    stems: tuple[str, ...]

    def end(self, words: list[Word], start: int) -> int | None:
        """Return where the cue ends that begins at `start`; None if its words do not follow, with at most one other between."""
        for stem in self.stems[1:]:
            following = [word.stem for word in words[start + 1 : start + 3]]
            if stem not in following or PAUSE in following[: following.index(stem)]:
                return None
            start += 1 + following.index(stem)
        return start


Cues = Mapping[str, Sequence[Cue]]
"""The cues of all fields, by their first stem."""


@dataclass(slots=True)
class Score:
    """How much a review says for one value: the weight of its best sentence, of all, and of what it denies."""

    best: float = 0.0
    total: float = 0.0
    denied: float = 0.0
    is_hearsay: bool = False


def read_cues(place: int, options: Sequence[tuple[str, str]]) -> Iterator[Cue]:
    """Yield the cues of a field's values, from their names and descriptions; a word of several values speaks for none."""
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


def score_values(cues: Cues, text: Iterable[Sentence], kinds: Collection[str]) -> dict[Option, Score]:
    """Return how much a text says for each value that it has a cue of."""
    scores: dict[Option, Score] = defaultdict(Score)
    for words, is_hearsay in text:
        for option, weights in _weigh_cues(cues, words, kinds).items():
            score = scores[option]
            said = sum(weight for weight in weights.values() if weight > 0)
            if said > score.best:
                score.best, score.is_hearsay = said, is_hearsay
            score.total += said
            score.denied = max(score.denied, -min(weights.values()))
    return scores


def _weigh_cues(cues: Cues, words: list[Word], kinds: Collection[str]) -> dict[Option, dict[str, float]]:
    """Return the weights of each value's cues in a sentence, below 0 if denied, by their last stem: none counts twice."""
    weights: dict[Option, dict[str, float]] = defaultdict(dict)
    for start, word in enumerate(words):
        for cue in cues.get(word.stem, ()):
            end = cue.end(words, start)
            if end is None or (word.is_supposed and "supposition" in kinds and cue.kind != "phrases"):
                continue
            is_denied = words[end].is_denied and "denial" in kinds and NEGATORS.isdisjoint(cue.stems)
            weight = -_WEIGHTS[cue.kind] if is_denied else _WEIGHTS[cue.kind]
            last = cue.stems[-1]
            weights[cue.option][last] = max(weight, weights[cue.option].get(last, weight))
    return weights


_PRAISE = frozenset(content("good positive great warm happy satisfied pleased praised liked"))
_BLAME = frozenset(content("bad negative poor rude unhappy dissatisfied displeased criticized disliked"))
_NO_FACTS: Mapping[str, object] = MappingProxyType({})


class LexicalExtractor(SyncExtractor):
    """Extracts the given fields by the given kinds of cues. It counts the reviews, and those that it spoke for."""

    name = "lexical"

    def __init__(self, fields: Sequence[AskedField], kinds: Collection[str] = KINDS) -> None:
        self._fields = tuple(fields)
        self._kinds = kinds
        self._nothing = [field.for_nothing for field in fields]
        self._speakers = [self._speaker(place) if "hearsay" in kinds else None for place in range(len(fields))]
        self._cues: dict[str, list[Cue]] = {}
        for place, field in enumerate(fields):
            options = [(field.name, field.description)] if field.type == "boolean" else field.values
            for cue in dict.fromkeys(read_cues(place, options)):
                if cue.kind in kinds and options[cue.option[1]][0] != self._nothing[place]:
                    self._cues.setdefault(cue.stems[0], []).append(cue)
        self.reviews = self.spoken_for = 0
        self._tied: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        """The reviews that speak for several values of a field alike, by the field and these values."""

    def extract(self, review: ReviewInput) -> Extraction:
        try:
            return Extraction(review.review_id, self.values(review.text, review.facts, review.review_id))
        except DataError as error:
            return Extraction(review.review_id, None, str(error))

    def values(self, text: str, facts: Mapping[str, object] = _NO_FACTS, review_id: str = "") -> dict[str, FieldValue]:
        """Return a legal value of every field, and count the review. Raises `DataError` for a field that nothing speaks for."""
        scores = score_values(self._cues, sentences(text), self._kinds)
        spoken = self._spoken(scores, text, facts)
        self.reviews += 1
        self.spoken_for += bool(spoken)
        for place, field in enumerate(self._fields):
            tied = self._foremost(place, scores) if field.name not in spoken else []
            if len(tied) > 1:
                values = tuple(field.values[value][0] for value in sorted(tied))
                self._tied.setdefault((field.name, values), []).append(review_id)
        pairs = zip(self._fields, self._nothing, strict=True)
        chosen = {field.name: spoken.get(field.name, nothing) for field, nothing in pairs}
        silent = [field for field in self._fields if chosen[field.name] is None]
        if silent:
            raise DataError(unspoken_text(silent))
        return {name: value for name, value in chosen.items() if value is not None}

    def summary(self) -> list[str]:
        """Return for how many reviews words spoke, which reviews speak for several values, and how far to trust it."""
        if not self.reviews:
            return []
        share = f"{self.spoken_for / self.reviews:.0%} of {number_of(self.reviews, 'review')}"
        return [
            f"lexical: spoke for {share}; elsewhere a field is its default, or its value for nothing",
            *starmap(tied_text, sorted(self._tied.items(), key=lambda item: -len(item[1]))[:5]),
            "lexical: a heuristic for a first try; `formulaseed agreement` measures how far to trust it",
        ]

    def weights(self, text: str) -> dict[tuple[str, FieldValue], float]:
        """Return how much the words of a text speak for each value of a field; a value that none speaks for is left out."""
        scores = score_values(self._cues, sentences(text), self._kinds)
        totals: dict[tuple[str, FieldValue], float] = {}
        for (place, value), score in scores.items():
            field = self._fields[place]
            if score.total > 0:
                totals[field.name, True if field.type == "boolean" else field.values[value][0]] = score.total
        return totals

    def spoken(self, text: str, facts: Mapping[str, object] = _NO_FACTS) -> dict[str, FieldValue]:
        """Return the values of the fields that a text speaks for."""
        return self._spoken(score_values(self._cues, sentences(text), self._kinds), text, facts)

    def _spoken(self, scores: Mapping[Option, Score], text: str, facts: Mapping[str, object]) -> dict[str, FieldValue]:
        best = [self._best(place, scores) for place in range(len(self._fields))]
        spoken: dict[str, FieldValue] = {}
        for place, field in enumerate(self._fields):
            value, speaker = best[place][0], self._speakers[place]
            if field.type in ("integer", "number") and "quantities" in self._kinds:
                value = find_number(field, text)
            elif field.type == "string" and "names" in self._kinds:
                value = find_name(field, text)
            elif speaker is not None:
                event, own, hearsay = speaker
                event_value, is_hearsay = best[event]
                value = None if event_value is None else hearsay if is_hearsay else own
            if value is None:
                value = _read_stars(field, facts.get("stars"))
            if value is not None:
                spoken[field.name] = value
        return spoken

    def _best(self, place: int, scores: Mapping[Option, Score]) -> tuple[FieldValue | None, bool]:
        """Return the value that most is said for, and whether by hearsay; None if there is none, or several alike."""
        field = self._fields[place]
        if field.type == "boolean":
            score = scores.get((place, 0), Score())
            if score.best >= MIN_WEIGHT:
                return True, score.is_hearsay
            return (False if score.denied >= MIN_WEIGHT else None), score.is_hearsay
        foremost = self._foremost(place, scores)
        if len(foremost) != 1:
            return None, False
        return field.values[foremost[0]][0], scores[place, foremost[0]].is_hearsay

    def _foremost(self, place: int, scores: Mapping[Option, Score]) -> list[int]:
        """Return the places of the values of an enum that most is said for: none, one, or several alike."""
        ranks = {
            value: (score.best, score.total)
            for (at, value), score in scores.items()
            if at == place and score.best >= MIN_WEIGHT
        }
        highest = max(ranks.values(), default=None)
        return [value for value, rank in ranks.items() if rank == highest]

    def _speaker(self, place: int) -> tuple[int, str, str] | None:
        """Return an event's field and the values of the first person and of hearsay, if this field asks who tells of the event.

        The event's field shares a word with the name or the value for nothing of this one. None for any other field.
        """
        quoted = [(name, stems(" ".join(QUOTED.findall(about)))) for name, about in self._fields[place].values]
        hearsay = [name for name, phrases in quoted if {"hear", "tell"} & {*phrases}]
        own = [name for name, phrases in quoted if phrases[:1] == ("i",) and name not in hearsay]
        places = (other for other in range(len(self._fields)) if other != place)
        event = next((other for other in places if self._topic(other) & self._topic(place)), None)
        if event is None or len(hearsay) != 1 or len(own) != 1:
            return None
        return event, own[0], hearsay[0]

    def _topic(self, place: int) -> set[str]:
        """Return the words of a field's name and of its value for nothing; none if that has no description."""
        field = self._fields[place]
        about = " ".join(about for name, about in field.values if name == self._nothing[place])
        return set(content(f"{field.name} {about}")) - TASK_WORDS if about else set()


def _read_stars(field: AskedField, stars: object) -> FieldValue | None:
    """Return what a review's stars say if the seed lets them speak: few are blame, many praise, three neither (None)."""
    if field.hint != "stars" or not isinstance(stars, int | float) or 2 < stars < 4:
        return None
    if field.type == "boolean":
        return stars >= 4
    words = _PRAISE if stars >= 4 else _BLAME
    values = [name for name, description in field.values if words & {*content(f"{name} {description}")}]
    return values[0] if len(values) == 1 else None
