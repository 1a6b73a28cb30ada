"""The lexical extractor: typed fields out of a review by its words alone, with no network and no model.

It is a heuristic for a first try. It looks for the phrases quoted in the values' descriptions ('friend told me'), the
things listed there in parentheses, and their words, sentence by sentence; a denied word ("no hives") or a supposed one
("if I had hives") weighs nothing. Numbers count near the words of their field, names where a quoted phrase leads to
one, a review's stars where the seed says `"hint": "stars"`. Where nothing speaks for a field, it is its `default`, else
the value that says so itself; a field with neither fails the review by name. No value is made up.

What it cannot see: sarcasm, who "they" are, anything told in other words. It reads a review's first 20,000 characters,
in time linear in them. `formulaseed agreement` measures it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from formulaseed.data.extractions import FieldValue
from formulaseed.errors import DataError
from formulaseed.extract.fields import Field
from formulaseed.extract.lexical.cues import KINDS, SPEAKS, TASK_WORDS, Index, Option, Score, cues_of, quoted
from formulaseed.extract.lexical.quantities import NameCues, NumberCues
from formulaseed.extract.lexical.text import content, sentences, stems
from formulaseed.wording import number_of

_NOTHING = frozenset("none no na null unknown unclear unspecified nothing unmentioned not_mentioned not_stated".split())
_OPENINGS = ("no ", "not ", "nothing ", "none ", "unknown", "unclear", "unspecified")
_PRAISE = frozenset(content("good positive great warm happy satisfied pleased praised liked"))
_BLAME = frozenset(content("bad negative poor rude unhappy dissatisfied displeased criticized disliked"))
_NO_FACTS: Mapping[str, object] = MappingProxyType({})


class LexicalExtractor:
    """Extracts the given fields from any text; its answers depend on the fields, the text and the facts only.

    `kinds` are the kinds of cues that it heeds. It counts the reviews, and those that it spoke for.
    """

    def __init__(self, fields: Sequence[Field], kinds: Collection[str] = KINDS) -> None:
        self._fields = tuple(fields)
        self._kinds = kinds
        self._nothing = [nothing_of(field) for field in fields]
        self._speakers = self._speaker_fields() if "hearsay" in kinds else {}
        self._numbers = {f.name: NumberCues(f) for f in fields if f.type in ("integer", "number")}
        self._names = {f.name: NameCues(f) for f in fields if f.type == "string"}
        cues = [cue for place, field in enumerate(fields) for cue in cues_of(place, _options(field))]
        nothing = {
            (place, value)
            for place, field in enumerate(fields)
            for value, (name, _) in enumerate(field.values)
            if name == self._nothing[place]
        }
        self._index = Index((cue for cue in cues if cue.option not in nothing), kinds)
        self.reviews = self.spoken_for = 0

    def extract(self, text: str, facts: Mapping[str, object] = _NO_FACTS) -> dict[str, FieldValue]:
        """Every field with a legal value. Raises `DataError` for a field that nothing speaks for."""
        spoken = self.spoken(text, facts)
        self.reviews += 1
        self.spoken_for += bool(spoken)
        resting = {field.name: nothing for field, nothing in zip(self._fields, self._nothing, strict=True)}
        silent = [f"`{name}`" for name, nothing in resting.items() if nothing is None and name not in spoken]
        if silent:
            fix = "give it a `default` or a value such as `none`, or use another extractor"
            raise DataError(f"no word of the review speaks for {', '.join(silent)}; {fix}")
        found = {**resting, **spoken}
        return {name: value for name, value in found.items() if value is not None}

    def summary(self) -> list[str]:
        """For how many reviews words spoke, and what that is worth."""
        share = self.spoken_for / self.reviews if self.reviews else 0.0
        return [
            f"lexical: words spoke for {self.spoken_for:,} of {number_of(self.reviews, 'review')} ({share:.0%}); "
            "elsewhere a field is its default, or its value for nothing",
            "lexical: a heuristic for a first try; `formulaseed agreement` measures how far to trust it",
        ]

    def spoken(self, text: str, facts: Mapping[str, object] = _NO_FACTS) -> dict[str, FieldValue]:
        """The fields that the review speaks for."""
        read = list(sentences(text))
        scores = self._index.scores(read)
        best = [self._best(place, scores) for place in range(len(self._fields))]
        found: dict[str, FieldValue | None] = {}
        for place, field in enumerate(self._fields):
            if field.name in self._numbers:
                found[field.name] = self._numbers[field.name].find(read) if "quantities" in self._kinds else None
            elif field.name in self._names:
                found[field.name] = self._names[field.name].find(read) if "names" in self._kinds else None
            elif field.type == "boolean":
                score = scores.get((place, 0), Score())
                found[field.name] = True if score.best >= SPEAKS else False if score.denied >= SPEAKS else None
            elif place in self._speakers:
                event, firsthand, hearsay = self._speakers[place]
                value, is_hearsay = best[event]
                found[field.name] = None if value is None else hearsay if is_hearsay else firsthand
            else:
                found[field.name] = best[place][0]
            if found[field.name] is None and field.hint == "stars":
                found[field.name] = _by_stars(field, facts.get("stars"))
        return {name: value for name, value in found.items() if value is not None}

    def _best(self, place: int, scores: Mapping[Option, Score]) -> tuple[str | None, bool]:
        """The value of an enum that most is said for, and whether by hearsay; None where two are equal."""
        values = self._fields[place].values
        said = [(scores.get((place, value), Score()), name) for value, (name, _) in enumerate(values)]
        ranked = sorted((s for s in said if s[0].best >= SPEAKS), key=lambda s: (s[0].best, s[0].total), reverse=True)
        if not ranked:
            return None, False
        (first, name), *others = ranked
        is_tie = bool(others) and (first.best, first.total) == (others[0][0].best, others[0][0].total)
        return (None, False) if is_tie else (name, first.is_hearsay)

    def _speaker_fields(self) -> dict[int, tuple[int, str, str]]:
        """The fields that ask who tells of an event ('I had', 'friend told me'), by their places.

        Each with the place of the field of that event, whose name or value for nothing shares a word with its own, and
        with its values for the first person and for hearsay.
        """
        found = {}
        for place, field in enumerate(self._fields):
            told = [(name, [stems(phrase) for phrase in quoted(about)]) for name, about in field.values]
            hearsay = [name for name, phrases in told if any({"hear", "tell"} & {*phrase} for phrase in phrases)]
            own = [name for name, phrases in told if name not in hearsay and any(p[:1] == ("i",) for p in phrases)]
            topics = [
                (len(self._topic(place) & self._topic(other)), -other)
                for other, each in enumerate(self._fields)
                if each.type == "enum" and other != place
            ]
            shared, other = max(topics, default=(0, 0))
            if len(hearsay) == len(own) == 1 and shared:
                found[place] = (-other, own[0], hearsay[0])
        return found

    def _topic(self, place: int) -> set[str]:
        field = self._fields[place]
        about = " ".join(about for name, about in field.values if name == self._nothing[place])
        return set(content(f"{field.name.replace('_', ' ')} {about}")) - TASK_WORDS


def nothing_of(field: Field) -> FieldValue | None:
    """What a field is where nothing is said: its default, else the one value named or described so; None without."""
    if field.default is not None:
        return field.default
    named = [name for name, _ in field.values if name.lower() in _NOTHING]
    described = [name for name, description in field.values if description.lower().startswith(_OPENINGS)]
    return next((names[0] for names in (named, described) if len(names) == 1), None)


def _options(field: Field) -> Sequence[tuple[str, str]]:
    return [(field.name, field.description)] if field.type == "boolean" else field.values


def _by_stars(field: Field, stars: object) -> FieldValue | None:
    """What a review's stars say: few are blame, many praise, three neither."""
    if isinstance(stars, bool) or not isinstance(stars, int | float) or not (stars <= 2 or stars >= 4):
        return None
    if field.type == "boolean":
        return stars >= 4
    words = _PRAISE if stars >= 4 else _BLAME
    chosen = [name for name, about in field.values if words & {*content(f"{name.replace('_', ' ')} {about}")}]
    return chosen[0] if len(chosen) == 1 else None
