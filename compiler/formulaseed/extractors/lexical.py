"""Extracts typed fields from a review by its words alone, with no network and no model.

This is a heuristic for a first try. It searches each sentence for the phrases quoted in the values' descriptions ('friend told
me'), the things listed there in parentheses, and the words of the descriptions; a denied word ("no hives") or a supposed one
("if I had hives") weighs nothing. A number counts near the words of its field, a name if a quoted phrase leads to it, a review's
stars if the seed says `"hint": "stars"`. A field that no word speaks for has its `default`, otherwise its value for nothing, such
as `none`; a field with neither fails the review with a reason. No value is invented.

The heuristic does not recognize sarcasm or paraphrases. It reads a review's first 20,000 characters, in linear time.
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
from formulaseed.extractors import base, lexical_text
from formulaseed.ir import nodes
from formulaseed.runtime.reviews import ReviewSource
from formulaseed.source.printing import number_of


class Lexical(base.ExtractorOptions):
    """The extractor that uses words alone: a heuristic for a first try, which needs nothing and has no options."""

    name: ClassVar[str] = "lexical"
    is_named: ClassVar[bool] = True
    """Whether the user named the extractor."""

    @contextmanager
    def open(
        self, program: nodes.Program, source: ReviewSource, failures: Failures, callbacks: base.Callbacks
    ) -> Iterator[LexicalExtractor]:
        """Open the extractor for the fields of `program`; reads nothing of `source`."""
        yield LexicalExtractor(base.fields_of(program), is_named=self.is_named)


class DefaultLexical(Lexical):
    """The extractor of a run for which none was named; the run is in doubt unless words speak for half of the reviews."""

    is_named: ClassVar[bool] = False


CUE_KINDS = lexical_text.parse_words("phrases lists words denial supposition hearsay quantities names")
"""The kinds of evidence that a review's words give; `bench/lexical.py` measures the extractor without each of them."""
MIN_WEIGHT = 2.0
"""The least weight with which a sentence speaks for a value: that of a phrase, of a listed thing or of three words."""
_WEIGHTS = {"phrases": 3.0, "lists": 2.0, "words": 0.7}
_LIST = re.compile(r"\(([^()]*)\)")
_SEPARATOR = re.compile(r"[,;/]|\band\b|\bor\b")
ValueIndex = tuple[int, int]
"""The index of a field, and that of one of its values."""


class Cue(NamedTuple):
    """Word stems that speak for a value if a sentence has them in this order. `kind` is `phrases`, `lists` or `words`."""

    value: ValueIndex
    kind: str
    stems: tuple[str, ...]

    def find_end(self, words: list[lexical_text.Word], start: int) -> int | None:
        """Return the index of the cue's last word in `words`, if its first one is at `start`.

        Returns None if the other words do not follow in their order. Between two of them there may be one other word, but no
        comma or colon.
        """
        for stem in self.stems[1:]:
            following = [word.stem for word in words[start + 1 : start + 3]]
            if stem not in following:
                return None
            distance = following.index(stem)
            if lexical_text.PAUSE in following[:distance]:
                return None
            start += 1 + distance
        return start


Cues = Mapping[str, Sequence[Cue]]
"""The cues of all fields, by the first stem of each."""


@dataclass(slots=True)
class Score:
    """The weight of a review's words for one value: in the best sentence, in all sentences, and of denied words.

    `is_hearsay` says that the best sentence reports what somebody else says.
    """

    best: float = 0.0
    total: float = 0.0
    denied: float = 0.0
    is_hearsay: bool = False


def read_cues(field_index: int, values: Sequence[tuple[str, str]]) -> Iterator[Cue]:
    """Yield the cues of a field's values: quoted phrases, items in parentheses, and words of names and descriptions.

    A word that several values have is no cue, nor is a negator or a word of the task. A value without a description has
    its name in place of items.
    """
    unquoted = [lexical_text.QUOTED.sub(" ", description) for _, description in values]
    texts = [f"{name} {_LIST.sub(' ', text)}" for (name, _), text in zip(values, unquoted, strict=True)]
    words = [
        set(lexical_text.stem_content_words(text)) - lexical_text.TASK_WORDS - lexical_text.NEGATORS for text in texts
    ]
    value_counts = Counter(word for words_of_value in words for word in words_of_value)
    for index, (name, description) in enumerate(values):
        value = (field_index, index)
        phrases = filter(lexical_text.stem_content_words, lexical_text.QUOTED.findall(description))
        yield from (Cue(value, "phrases", lexical_text.stem_words(phrase)) for phrase in phrases)
        items = _split_lists(unquoted[index]) if description else [name]
        yield from (Cue(value, "lists", stems) for stems in map(lexical_text.stem_content_words, items) if stems)
        yield from (Cue(value, "words", (word,)) for word in sorted(words[index]) if value_counts[word] == 1)


def _split_lists(description: str) -> list[str]:
    """Return the items that a description lists in parentheses."""
    return [item for items in _LIST.findall(description) for item in _SEPARATOR.split(items)]


def score_values(
    cues: Cues, sentences: Iterable[lexical_text.Sentence], kinds: Collection[str]
) -> dict[ValueIndex, Score]:
    """Return the score of each value that a cue occurs for; other values are left out.

    With `denial` in `kinds`, a denied cue counts as denied, not for the value; with `supposition`, a supposed one
    counts only if it is a phrase.
    """
    scores: dict[ValueIndex, Score] = defaultdict(Score)
    for words, is_hearsay in sentences:
        for value, weights in _weigh_cues(cues, words, kinds).items():
            score = scores[value]
            affirmed = sum(weight for weight in weights.values() if weight > 0)
            if affirmed > score.best:
                score.best = affirmed
                score.is_hearsay = is_hearsay
            score.total += affirmed
            score.denied = max(score.denied, -min(weights.values()))
    return scores


def _weigh_cues(
    cues: Cues, words: list[lexical_text.Word], kinds: Collection[str]
) -> dict[ValueIndex, dict[str, float]]:
    """Return the weights of the cues in a sentence, by value and by the cue's last stem.

    The weight is negative if the cue is denied. Of several cues with the same last stem, the greatest weight counts.
    With `supposition` in `kinds` a supposed cue counts only if it is a phrase; without `denial` no cue is denied.
    """
    weights: dict[ValueIndex, dict[str, float]] = defaultdict(dict)
    for start, word in enumerate(words):
        for cue in cues.get(word.stem, ()):
            end = cue.find_end(words, start)
            if end is None or (word.is_supposed and "supposition" in kinds and cue.kind != "phrases"):
                continue
            weight = _WEIGHTS[cue.kind]
            # a cue with a negator of its own, such as 'never again', is not denied by it
            if words[end].is_denied and "denial" in kinds and lexical_text.NEGATORS.isdisjoint(cue.stems):
                weight = -weight
            last = cue.stems[-1]
            weights[cue.value][last] = max(weight, weights[cue.value].get(last, weight))
    return weights


_PRAISE = frozenset(lexical_text.stem_content_words("good positive great warm happy satisfied pleased praised liked"))
_BLAME = frozenset(
    lexical_text.stem_content_words("bad negative poor rude unhappy dissatisfied displeased criticized disliked")
)
_NO_FACTS: Mapping[str, object] = MappingProxyType({})


class _Narrators(NamedTuple):
    """The values of a field that says who reports an event, and the index of the event's field."""

    event_index: int
    first_person: str
    hearsay: str


class LexicalExtractor(base.SyncExtractor):
    """The open extractor of some fields, which uses some kinds of cues.

    `is_named` is False if the user named no extractor; the run may be in `doubt` then. `reviews` counts the extracted
    reviews; `spoken_for` counts those whose words speak for a value of a field.
    """

    name = "lexical"

    def __init__(
        self, fields: Sequence[base.AskedField], kinds: Collection[str] = CUE_KINDS, *, is_named: bool = True
    ) -> None:
        self._fields = tuple(fields)
        self._is_named = is_named
        self._kinds = kinds
        self._nothing = [field.for_nothing for field in fields]
        self._narrators: list[_Narrators | None] = [None] * len(fields)
        if "hearsay" in kinds:
            self._narrators = [self._find_narrators(index) for index in range(len(fields))]
        self._cues: dict[str, list[Cue]] = {}
        for index, field in enumerate(fields):
            values = [(field.name, field.description)] if field.type == "boolean" else field.values
            for cue in dict.fromkeys(read_cues(index, values)):
                if cue.kind in kinds and values[cue.value[1]][0] != self._nothing[index]:
                    self._cues.setdefault(cue.stems[0], []).append(cue)
        self.reviews = 0
        self.spoken_for = 0
        self._ties: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        """The ids of the reviews that speak equally for several values of a field, by the field and these values."""

    def extract(self, review: ReviewInput) -> Extraction:
        """Return the review's values; the extraction fails if a field has no value."""
        spoken_before = self.spoken_for
        values: dict[str, FieldValue] | None = None
        failure = ""
        try:
            values = self.extract_values(review.text, review.facts, review.review_id)
        except DataError as error:
            failure = str(error)
        return Extraction(review.review_id, values, failure, is_spoken_for=self.spoken_for > spoken_before)

    def extract_values(
        self, text: str, facts: Mapping[str, object] = _NO_FACTS, review_id: str = ""
    ) -> dict[str, FieldValue]:
        """Return an allowed value for every field. Counts the review, and remembers its ties for `summary`.

        `facts` may have the review's `stars`. Raises `DataError` if no word speaks for a field that has no value for nothing.
        """
        scores = score_values(self._cues, lexical_text.split_sentences(text), self._kinds)
        spoken = self._choose_values(scores, text, facts)
        self.reviews += 1
        self.spoken_for += bool(spoken)
        for index, field in enumerate(self._fields):
            if field.name not in spoken:
                tie = self._find_foremost(index, scores)
                if len(tie) > 1:
                    values = tuple(field.values[value][0] for value in sorted(tie))
                    self._ties.setdefault((field.name, values), []).append(review_id)
        defaults = {field.name: value for field, value in zip(self._fields, self._nothing, strict=True)}
        values_or_none = {**defaults, **spoken}
        unspoken = [field for field in self._fields if values_or_none[field.name] is None]
        if unspoken:
            raise DataError(base.describe_unspoken(unspoken))
        return {name: value for name, value in values_or_none.items() if value is not None}

    @property
    def doubt(self) -> str:
        """The reason for doubt if no extractor was named and words speak for less than half of the reviews, or empty."""
        if self._is_named or 2 * self.spoken_for >= self.reviews:
            return ""
        spoken_for = f"{self.spoken_for} of {number_of(self.reviews, 'relevant review')}"
        return (
            f"no extractor was named, and words speak for only {spoken_for}: these results say little; "
            "name an extractor that reads (anthropic, recorded, …), or name lexical to accept them"
        )

    def summary(self) -> list[str]:
        """Return lines about the share of reviews with words for a value, ties, and how to measure the extractor.

        They have the five ties with the most reviews. Returns no lines if no review was extracted.
        """
        if not self.reviews:
            return []
        share = f"{self.spoken_for / self.reviews:.0%} of {number_of(self.reviews, 'review')}"
        return [
            f"lexical: spoke for {share}; elsewhere a field is its default, or its value for nothing",
            *starmap(base.describe_tie, sorted(self._ties.items(), key=lambda item: -len(item[1]))[:5]),
            "lexical: a heuristic for a first try; `formulaseed agreement` measures how far to trust it",
        ]

    def find_spoken_values(self, text: str, facts: Mapping[str, object] = _NO_FACTS) -> dict[str, FieldValue]:
        """Return the values that a text speaks for, by field; leaves out the fields that it says nothing about.

        Unlike `extract_values` it raises nothing, and counts nothing for `summary`.
        """
        return self._choose_values(
            score_values(self._cues, lexical_text.split_sentences(text), self._kinds), text, facts
        )

    def _choose_values(
        self, scores: Mapping[ValueIndex, Score], text: str, facts: Mapping[str, object]
    ) -> dict[str, FieldValue]:
        """Return the values that a text with these scores speaks for, by field; leaves out the other fields.

        Numbers and names are read from `text`, and a field that says who reports an event follows the event's field.
        Stars in `facts` decide only where nothing else does.
        """
        best = [self._find_best(index, scores) for index in range(len(self._fields))]
        spoken: dict[str, FieldValue] = {}
        for index, field in enumerate(self._fields):
            value: FieldValue | None = best[index][0]
            narrators = self._narrators[index]
            if field.type in ("integer", "number") and "quantities" in self._kinds:
                value = lexical_text.find_number(field, text)
            elif field.type == "string" and "names" in self._kinds:
                value = lexical_text.find_name(field, text)
            elif narrators is not None:
                event_value, is_hearsay = best[narrators.event_index]
                value = None
                if event_value is not None:
                    value = narrators.hearsay if is_hearsay else narrators.first_person
            if value is None:
                value = _read_stars(field, facts.get("stars"))
            if value is not None:
                spoken[field.name] = value
        return spoken

    def _find_best(self, index: int, scores: Mapping[ValueIndex, Score]) -> tuple[FieldValue | None, bool]:
        """Return the best value of the enum or boolean at `index`, and whether the words that decide are hearsay.

        The value is None if no score is high enough, or if several values tie; the second result means nothing then. A
        boolean is True if its words are affirmed often enough, else False if they are denied often enough.
        """
        field = self._fields[index]
        if field.type == "boolean":
            score = scores.get((index, 0), Score())
            if score.best >= MIN_WEIGHT:
                return True, score.is_hearsay
            is_false = score.denied >= MIN_WEIGHT
            return (False if is_false else None), score.is_hearsay
        foremost = self._find_foremost(index, scores)
        if len(foremost) != 1:
            return None, False
        return field.values[foremost[0]][0], scores[index, foremost[0]].is_hearsay

    def _find_foremost(self, index: int, scores: Mapping[ValueIndex, Score]) -> list[int]:
        """Return the indexes of the values with the best score of the enum at `index`: none, one, or several that tie.

        The best sentence decides, then the total of all sentences. A value whose best sentence is below `MIN_WEIGHT`
        does not count.
        """
        ranks = {
            value: (score.best, score.total)
            for (field_index, value), score in scores.items()
            if field_index == index and score.best >= MIN_WEIGHT
        }
        highest = max(ranks.values(), default=None)
        return [value for value, rank in ranks.items() if rank == highest]

    def _find_narrators(self, index: int) -> _Narrators | None:
        """Return the values and the event of the field at `index` if it says who reports an event; None otherwise.

        Such a field has one value that quotes somebody who heard or was told of the event, and one that quotes "I …". The event's
        field shares a word with this field's name or the description of its value for nothing.
        """
        quotes = [
            (name, lexical_text.stem_words(" ".join(lexical_text.QUOTED.findall(description))))
            for name, description in self._fields[index].values
        ]
        hearsay = [name for name, stems in quotes if {"hear", "tell"} & {*stems}]
        first_person = [name for name, stems in quotes if stems[:1] == ("i",) and name not in hearsay]
        other_indexes = (other for other in range(len(self._fields)) if other != index)
        topic = self._find_topic(index)
        event_index = next((other for other in other_indexes if self._find_topic(other) & topic), None)
        if event_index is None or len(hearsay) != 1 or len(first_person) != 1:
            return None
        return _Narrators(event_index, first_person[0], hearsay[0])

    def _find_topic(self, index: int) -> set[str]:
        """Return the stems of a field's name and of its value for nothing; none if that value has no description."""
        field = self._fields[index]
        description = " ".join(description for name, description in field.values if name == self._nothing[index])
        if not description:
            return set()
        return set(lexical_text.stem_content_words(f"{field.name} {description}")) - lexical_text.TASK_WORDS


def _read_stars(field: base.AskedField, stars: object) -> FieldValue | None:
    """Return the value that a review's stars suggest if the field has the hint `stars`; None if they suggest none.

    Up to 2 stars are blame, 4 or more are praise, which is True for a boolean. An enum has the value if only one of its
    values has words for that.
    """
    if field.hint != "stars" or not isinstance(stars, int | float) or 2 < stars < 4:
        return None
    if field.type == "boolean":
        return stars >= 4
    words = _PRAISE if stars >= 4 else _BLAME
    values = [
        name
        for name, description in field.values
        if words & {*lexical_text.stem_content_words(f"{name} {description}")}
    ]
    return values[0] if len(values) == 1 else None
