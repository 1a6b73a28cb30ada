"""The lexical extractor: typed fields out of a review by its words alone, with no network and no model.

It is a heuristic for a first try. It looks for the phrases quoted in the values' descriptions ('friend told me'), the
things listed there in parentheses, and their words, sentence by sentence; a denied word ("no hives") or a supposed one
("if I had hives") weighs nothing. Numbers count near the words of their field, names where a quoted phrase leads to
one, a review's stars where the seed says `"hint": "stars"`. Where nothing speaks for a field, it is its `default`, else
the value that says so itself; a field with neither fails the review by name. No value is made up.

It sees no sarcasm, nor anything said in other words, and reads a review's first 20,000 characters, in linear time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from formulaseed.data.results import Extraction, FieldValue, ReviewInput
from formulaseed.diagnostics.model import number_of
from formulaseed.errors import DataError
from formulaseed.extract.base import Field, SyncExtractor
from formulaseed.extract.lexical.cues import (
    KINDS,
    QUOTED,
    SPEAKS,
    TASK_WORDS,
    Cue,
    Option,
    Score,
    content,
    cues_of,
    scores_of,
    sentences,
    stems,
    word_set,
)  # fmt: skip
from formulaseed.extract.lexical.quantities import name_in, number_in

_NOTHING = word_set("none no na null unknown unclear unspecified nothing unmentioned not_mentioned not_stated")
_OPENINGS = ("no ", "not ", "nothing ", "none ", "unknown", "unclear", "unspecified")
_PRAISE = frozenset(content("good positive great warm happy satisfied pleased praised liked"))
_BLAME = frozenset(content("bad negative poor rude unhappy dissatisfied displeased criticized disliked"))
_NO_FACTS: Mapping[str, object] = MappingProxyType({})


class LexicalExtractor(SyncExtractor):
    """Extracts the given fields by the given kinds of cues. It counts the reviews, and those that it spoke for."""

    name = "lexical"

    def __init__(self, fields: Sequence[Field], kinds: Collection[str] = KINDS) -> None:
        self._fields = tuple(fields)
        self._kinds = kinds
        self._nothing = [nothing_of(field) for field in fields]
        self._speakers = [self._speaker(place) if "hearsay" in kinds else None for place in range(len(fields))]
        self._cues: dict[str, list[Cue]] = {}
        for place, field in enumerate(fields):
            options = [(field.name, field.description)] if field.type == "boolean" else field.values
            for cue in dict.fromkeys(cues_of(place, options)):
                if cue.kind in kinds and options[cue.option[1]][0] != self._nothing[place]:
                    self._cues.setdefault(cue.stems[0], []).append(cue)
        self.reviews = self.spoken_for = 0

    def extract(self, review: ReviewInput) -> Extraction:
        try:
            return Extraction(review.review_id, self.values(review.text, review.facts))
        except DataError as error:
            return Extraction(review.review_id, None, str(error))

    def values(self, text: str, facts: Mapping[str, object] = _NO_FACTS) -> dict[str, FieldValue]:
        """Every field with a legal value. Raises `DataError` for a field that nothing speaks for."""
        spoken = self.spoken(text, facts)
        self.reviews += 1
        self.spoken_for += bool(spoken)
        found = {f.name: spoken.get(f.name, nothing) for f, nothing in zip(self._fields, self._nothing, strict=True)}
        silent = [f"`{name}`" for name, value in found.items() if value is None]
        if silent:
            fix = "give it a `default` or a value such as `none`, or use another extractor"
            raise DataError(f"no word of the review speaks for {', '.join(silent[:5])}; {fix}")
        return {name: value for name, value in found.items() if value is not None}

    def summary(self) -> list[str]:
        """For how many reviews words spoke, and what that is worth."""
        share = f"{self.spoken_for / max(1, self.reviews):.0%} of {number_of(self.reviews, 'review')}"
        return [
            f"lexical: spoke for {share}; elsewhere a field is its default, or its value for nothing",
            "lexical: a heuristic for a first try; `formulaseed agreement` measures how far to trust it",
        ]

    def spoken(self, text: str, facts: Mapping[str, object] = _NO_FACTS) -> dict[str, FieldValue]:
        """The fields that the review speaks for."""
        scores = scores_of(self._cues, sentences(text), self._kinds)
        best = [self._best(place, scores) for place in range(len(self._fields))]
        found: dict[str, FieldValue | None] = {}
        for place, field in enumerate(self._fields):
            value, speaker = best[place][0], self._speakers[place]
            if field.type in ("integer", "number") and "quantities" in self._kinds:
                value = number_in(field, text)
            elif field.type == "string" and "names" in self._kinds:
                value = name_in(field, text)
            elif speaker is not None:
                value = None if best[speaker[0]][0] is None else speaker[2 if best[speaker[0]][1] else 1]
            found[field.name] = _by_stars(field, facts.get("stars")) if value is None else value
        return {name: value for name, value in found.items() if value is not None}

    def _best(self, place: int, scores: Mapping[Option, Score]) -> tuple[FieldValue | None, bool]:
        """The value that most is said for, and whether by hearsay; None where two are equal."""
        field = self._fields[place]
        if field.type == "boolean":
            score = scores.get((place, 0), Score())
            return True if score.best >= SPEAKS else False if score.denied >= SPEAKS else None, score.is_hearsay
        said = [(score, value) for (at, value), score in scores.items() if at == place and score.best >= SPEAKS]
        ranked = sorted(((score.best, score.total, value) for score, value in said), reverse=True)
        if not ranked or (len(ranked) > 1 and ranked[0][:2] == ranked[1][:2]):
            return None, False
        return field.values[ranked[0][2]][0], scores[place, ranked[0][2]].is_hearsay

    def _speaker(self, place: int) -> tuple[int, str, str] | None:
        """Of an enum that asks who tells of an event: the event's field, the values for the first person and for hearsay.

        The event's field shares a word with its name or its value for nothing. None for any other field.
        """
        told = [(name, stems(" ".join(QUOTED.findall(about)))) for name, about in self._fields[place].values]
        hearsay = [name for name, phrases in told if {"hear", "tell"} & {*phrases}]
        own = [name for name, phrases in told if phrases[:1] == ("i",) and name not in hearsay]
        others = [*range(place), *range(place + 1, len(self._fields))]
        event = next((other for other in others if self._topic(other) & self._topic(place)), None)
        return None if event is None or not len(hearsay) == len(own) == 1 else (event, own[0], hearsay[0])

    def _topic(self, place: int) -> set[str]:
        field = self._fields[place]
        about = " ".join(about for name, about in field.values if name == self._nothing[place])
        return set(content(f"{field.name} {about}")) - TASK_WORDS if about else set()


def nothing_of(field: Field) -> FieldValue | None:
    """What a field is where nothing is said: its default, else the one value named or described so; None without."""
    named = [name for name, _ in field.values if name.lower() in _NOTHING]
    described = [name for name, about in field.values if about.lower().startswith(_OPENINGS)]
    found = next((names[0] for names in (named, described) if len(names) == 1), None)
    return found if field.default is None else field.default


def _by_stars(field: Field, stars: object) -> FieldValue | None:
    """What a review's stars say where the seed has them speak: few are blame, many praise, three neither."""
    if field.hint != "stars" or not isinstance(stars, int | float) or 2 < stars < 4:
        return None
    if field.type == "boolean":
        return stars >= 4
    chosen = [n for n, about in field.values if (_PRAISE if stars >= 4 else _BLAME) & {*content(f"{n} {about}")}]
    return chosen[0] if len(chosen) == 1 else None
