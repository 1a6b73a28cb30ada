"""The lexical extractor: typed fields out of a review by its words alone, with no network and no model.

It is a heuristic for a first try. It looks for the phrases quoted in the values' descriptions ('I had', 'friend told
me'), the things listed there in parentheses, and their words, sentence by sentence; a negator ("no hives") takes a
word's weight away, a supposition ("if I had") too. Numbers count near the words of their field, names where a quoted
phrase leads to one. Where no word speaks for a field, it takes the field's `default`, or the value that says that
nothing is said; a field with neither fails the review by name. Nothing is ever guessed.

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

_NOTHING = frozenset("none no na null unknown unclear unspecified nothing unmentioned not_mentioned not_stated".split())
_OPENINGS = ("no ", "not ", "nothing ", "none ", "unknown", "unclear", "unspecified")
_POSITIVE = frozenset("good positive great warm happy satisfied better pleased favorable".split())
_NEGATIVE = frozenset("bad negative poor rude unhappy dissatisfied worse displeased unfavorable".split())


class LexicalExtractor:
    """Extracts the given fields from any text; its answers depend on the fields, the text and the stars only.

    `kinds` are the cues that it heeds.
    """

    def __init__(self, fields: Sequence[Field], kinds: Collection[str] = KINDS) -> None:
        self._fields = tuple(fields)
        self._kinds = kinds
        self._nothing = [nothing_of(field) for field in fields]
        self._speakers = self._speakers_of(fields) if "hearsay" in kinds else {}
        cues = [cue for place, field in enumerate(fields) for cue in cues_of(place, _options(field)) if field.type == "boolean" or field.values[cue.option[1]][0] != self._nothing[place]]
        self._index = Index(cues, kinds)
        self._finders = {
            field.name: NameCues(field) if field.type == "string" else NumberCues(field)
            for field in fields
            if field.type in ("string", "integer", "number")
        }
        self.reviews = self.spoken_for = 0

    def extract(self, text: str, facts: Mapping[str, object] = MappingProxyType({})) -> dict[str, FieldValue]:
        """Every field with a legal value. Raises `DataError` for a field that nothing speaks for."""
        spoken = self.spoken(text, facts)
        self.reviews += 1
        self.spoken_for += bool(spoken)
        found = {field.name: spoken.get(field.name, nothing) for field, nothing in zip(self._fields, self._nothing, strict=True)}
        silent = [f"`{name}`" for name, value in found.items() if value is None]
        if silent:
            raise DataError(
                f"no word of the review speaks for {', '.join(silent)}; give the field a `default` or a value "
                "such as `none`, or use another extractor"
            )
        return {name: value for name, value in found.items() if value is not None}

    def summary(self) -> list[str]:
        """How often words spoke, and what that is worth."""
        share = self.spoken_for / self.reviews if self.reviews else 0
        return [
            f"lexical: words spoke for {self.spoken_for:,} of {self.reviews:,} reviews ({share:.0%}); "
            "where none does, a field is its `default` or its value for nothing",
            "lexical: a heuristic for a first try; measure it with `formulaseed agreement` before relying on it",
        ]

    def spoken(self, text: str, facts: Mapping[str, object] = MappingProxyType({})) -> dict[str, FieldValue]:
        """The fields that the review speaks for."""
        read = list(sentences(text))
        scores = self._index.scores(read)
        best = [self._best(place, field, scores) for place, field in enumerate(self._fields)]
        found: dict[str, FieldValue | None] = {}
        for place, field in enumerate(self._fields):
            if field.name in self._finders:
                found[field.name] = self._finders[field.name].find(read)
            elif field.type == "boolean":
                score = scores.get((place, 0), Score())
                found[field.name] = True if score.best >= SPEAKS else False if score.denied >= SPEAKS else None
            elif place in self._speakers:
                event, firsthand, hearsay = self._speakers[place]
                value, is_hearsay = best[event]
                if value not in (None, self._nothing[event]):
                    found[field.name] = hearsay if is_hearsay else firsthand
            else:
                found[field.name] = best[place][0]
        return {name: value for name, value in found.items() if value is not None}

    def _best(self, place: int, field: Field, scores: Mapping[Option, Score]) -> tuple[str | None, bool]:
        """The value of an enum that most is said for, and whether by hearsay; None where two are equal."""
        ranked = sorted(
            ((score.best, score.total, value, score.is_hearsay) for value, _ in enumerate(field.values) if (score := scores.get((place, value))) and score.best >= SPEAKS),
            reverse=True,
        )
        if not ranked or (len(ranked) > 1 and ranked[0][:2] == ranked[1][:2]):
            return None, False
        return field.values[ranked[0][2]][0], ranked[0][3]

    def _speakers_of(self, fields):
        """The enum fields that ask who tells of another field's event"""
        found = {}
        for place, field in enumerate(fields):
            hearsay = [v for v, d in field.values if v in ("secondhand","hearsay") or any(set(stems(p)) & {"hear", "tell"} for p in quoted(d))]
            first = [v for v, d in field.values if v in ("firsthand","personal") or any(p.lower().startswith("i ") for p in quoted(d)) and v not in hearsay]
            if len(hearsay) != 1 or not first: continue
            own = _topic(field, self._nothing[place])
            others = [(len(own & _topic(o, self._nothing[i])), -i) for i, o in enumerate(fields) if o.type == "enum" and i != place and self._nothing[i] is not None]
            if others and max(others)[0]:
                found[place] = (-max(others)[1], first[0], hearsay[0])
        return found


def _topic(field, nothing):
    return set(content(field.name.replace("_"," "))) | {w for v, d in field.values if v == nothing for w in content(d)} - TASK_WORDS

def nothing_of(field: Field) -> FieldValue | None:
    """What a field is where nothing is said: its default, else the value named or described so, if there is one."""
    if field.default is not None:
        return field.default
    named = [name for name, _ in field.values if name.lower() in _NOTHING]
    described = [name for name, description in field.values if description.lower().startswith(_OPENINGS)]
    return next((each[0] for each in (named, described) if len(each) == 1), None)

def _options(field):
    return [(field.name, field.description)] if field.type == "boolean" else field.values
