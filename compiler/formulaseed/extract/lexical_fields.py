"""Fields made ready: each field's cues, its topic, and what its values are about.

Comes in: the fields of a Formula Seed. Goes out: one ``FieldCues`` a field. All of it is made from the
author's own words and from general word lists; no field or value is known here by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from dataclasses import field as data_field

from formulaseed.extract import lexical_speech as speech
from formulaseed.extract import lexical_words as words
from formulaseed.extract.fields import Field
from formulaseed.extract.lexical_cues import (
    COMMON,
    RELATED,
    TURN,
    CueCollector,
    CueTable,
    PhraseTable,
    has_examples,
)
from formulaseed.extract.lexical_numbers import Range, range_of
from formulaseed.extract.lexical_speech import Stance
from formulaseed.extract.lexical_text import sentences, stem
from formulaseed.extract.lexical_vocabulary import (
    content,
    description_words,
    family_of,
    is_common,
    name_words,
    valence,
)

# Of a cue's weight, far from the topic, where the topic is one word or none: "quiet" implies "noise".
NARROW_ALONE = 0.8
ROOT = 6  # letters by which a topic is recognised: "allergy" and "allergic" are one topic

BOOLEAN_VALUES = 2
"""A boolean is scored as two values: what speaks for it, then what speaks against it."""


@dataclass(slots=True)
class FieldCues:
    """What to listen for, for one field."""

    field: Field
    count: int
    """How many values are scored."""
    cues: CueTable = data_field(default_factory=dict)
    phrases: PhraseTable = data_field(default_factory=dict)
    own_words: tuple[str, ...] = ()
    """The author's stems among the cues, without their families."""
    fallback: int | None = None
    """The value that stands where nothing speaks."""
    parts: tuple[int, ...] = ()
    """How many sides of a "but" each value's description has; all must be heard."""
    topic: tuple[str, ...] = ()
    topic_weights: tuple[float, ...] = ()
    topic_bits: dict[str, int] = data_field(default_factory=dict)
    """Roots of the topic's words and their families, each with the bit of its concept."""
    topic_known: bool = False
    """A fallback says what the topic is; otherwise the field's own name stands in for it."""
    polarity: tuple[int, ...] = ()
    """Which way each value leans, where the field sets good against bad."""
    stances: tuple[Stance | None, ...] = ()
    """Who tells each value, where the field is about that."""
    matter: dict[str, float] = data_field(default_factory=dict)
    """For such a field: the stems that say that something was told at all."""
    linked: tuple[int, ...] = ()
    """And the fields, by index, that say what."""
    grades: tuple[int, ...] = ()
    ranges: tuple[Range | None, ...] = ()
    hears_unreal: bool = False
    """The field asks for intentions: "would return"."""

    @property
    def tells_stance(self) -> bool:
        """Whether the field is about who tells a thing."""
        return any(self.stances)


def cues_of(fields: Sequence[Field]) -> tuple[FieldCues, ...]:
    """The cues of all fields, which also explain one another."""
    found = tuple(_field_cues(field) for field in fields)
    for cues in found:
        _borrow_cues(cues, [other for other in found if other is not cues])
    for cues in found:
        _link_matter(cues, found)
    return found


def _is_fallback(value: str, description: str) -> bool:
    """Whether a value stands for nothing having been said: by its name, or as it opens and quotes nothing."""
    named, opening = name_words(value), name_words(description)[:1]
    if named and (named[0] in words.EMPTY_NAMES or (named[0] == "not" and len(named) > 1)):
        return True
    return bool(opening) and opening[0] in words.EMPTY_OPENINGS and not has_examples(description)


def _field_cues(field: Field) -> FieldCues:
    is_enum = field.type == "enum"
    values = field.values if is_enum else ((field.name, field.description),)
    fallbacks = [index for index, value in enumerate(values) if is_enum and _is_fallback(*value)]
    cues = FieldCues(field, len(values) if is_enum else BOOLEAN_VALUES)
    cues.fallback = fallbacks[0] if fallbacks else None
    topic = content(values[fallbacks[0]][1]) if fallbacks else []
    cues.stances = _stances(values, fallbacks) if is_enum else (None,) * cues.count
    alone = NARROW_ALONE if len(topic) < 2 and not cues.tells_stance else 0.0
    collector = CueCollector(len(values), _unsaying(topic), alone, cues.tells_stance)
    parts = [1] * cues.count
    for index, (value, description) in enumerate(values):
        if index not in fallbacks:
            collector.add_name(index, value)
            parts[index] = collector.add_description(index, description)
    cues.cues, cues.phrases = collector.tables()
    cues.own_words = collector.own_words()
    cues.parts = tuple(parts)
    cues.topic_known = bool(topic)
    _set_topic(cues, topic or _topic_of(field))
    cues.polarity = _polarities(values, fallbacks) if is_enum else (0,) * cues.count
    cues.grades = tuple(_grade(value) for value, _ in values)
    cues.ranges = tuple(range_of([word.stem for s in sentences(text) for word in s]) for _, text in values)
    told = " ".join((field.name, field.description, *(description for _, description in values)))
    cues.hears_unreal = not speech.INTENTIONS.isdisjoint(name_words(told))
    return cues


def _unsaying(topic: Sequence[str]) -> frozenset[str]:
    """The words that speak for no value: the topic's, and the common ones of their families."""
    related = (member for word in topic for member in family_of(word) if is_common(member))
    return frozenset((*topic, *related))


def _topic_of(field: Field) -> list[str]:
    """The topic of a field whose fallback names none: its own name, and an enum's own description."""
    found = content(" ".join(name_words(field.name)))
    return found + content(field.description) if field.type == "enum" else found


def _set_topic(cues: FieldCues, topic: Iterable[str]) -> None:
    cues.topic = tuple(dict.fromkeys(topic))
    cues.topic_weights = tuple(COMMON if is_common(word) else 1.0 for word in cues.topic)
    cues.topic_bits = {}
    for bit, word in enumerate(cues.topic):
        for member in (word, *family_of(word)):
            cues.topic_bits.setdefault(member[:ROOT], 1 << bit)


def _grade(value: str) -> int:
    return max((words.GRADES.get(word, 0) for word in name_words(value)), default=0)


def _polarities(values: Sequence[tuple[str, str]], fallbacks: Sequence[int]) -> tuple[int, ...]:
    """Each value's leaning; nobody's in a field of only good or only bad values."""
    found = [0 if index in fallbacks else _polarity(*value) for index, value in enumerate(values)]
    return tuple(found) if 1 in found and -1 in found else (0,) * len(found)


def _polarity(value: str, description: str) -> int:
    """Which way a value leans: by its name, else by its description, where after a "but" the end decides."""
    named = sum(valence(stem(word)) for word in name_words(value))
    told = 0
    for word in description_words(TURN.split(description)[-1]):
        told += -valence(word.stem) if word.negated else valence(word.stem)
    score = named or told
    return (score > 0) - (score < 0)


def _stances(values: Sequence[tuple[str, str]], fallbacks: Sequence[int]) -> tuple[Stance | None, ...]:
    """Each value's teller, where the field tells them apart; one such value alone is a coincidence."""
    found = tuple(None if index in fallbacks else _stance(*value) for index, value in enumerate(values))
    return found if len(set(found) - {None}) > 1 else (None,) * len(found)


def _stance(value: str, description: str) -> Stance | None:
    told = {*name_words(value), *name_words(description)}
    best: tuple[int, Stance | None] = (0, None)
    for stance, known in speech.STANCE_WORDS.items():
        best = max(best, (len(told & known), stance), key=lambda pair: pair[0])
    return best[1]


def _borrow_cues(cues: FieldCues, others: Sequence[FieldCues]) -> None:
    """A cue that is another field's topic ("reaction") stands for that field's cues ("hives")."""
    explained = [other for other in others if other.topic_known and not other.tells_stance]
    for word in cues.own_words:
        found = cues.cues.get(word, ())
        for other in explained:
            if is_common(word) or word not in other.topic:
                continue
            for borrowed in other.cues:
                if borrowed not in cues.cues and not is_common(borrowed):
                    cues.cues[borrowed] = tuple(cue._replace(weight=cue.weight * RELATED) for cue in found)


def _link_matter(cues: FieldCues, fields: Sequence[FieldCues]) -> None:
    """Who tells it matters only where something is told: what the fields linked by name listen for.

    "No incident mentioned" is linked to ``incident_severity``; without such a link, to all fields.
    """
    if not cues.tells_stance:
        return
    telling = [index for index, other in enumerate(fields) if not other.tells_stance]
    cues.linked = tuple(index for index in telling if _is_named_after(fields[index], cues)) or tuple(telling)
    linked = [fields[index] for index in cues.linked]
    for other in linked:
        for word, found in other.cues.items():
            weight = min(1.0, max((cue.weight for cue in found if not cue.negated), default=0.0))
            cues.matter[word] = max(cues.matter.get(word, 0.0), weight)
    if linked and all(is_common(word) for word in cues.topic):
        _set_topic(cues, [word for other in linked for word in other.topic])
        # Any word of a borrowed topic is on the topic.
        cues.topic_weights, cues.topic_bits = (1.0,), dict.fromkeys(cues.topic_bits, 1)


def _is_named_after(other: FieldCues, cues: FieldCues) -> bool:
    return not {stem(word) for word in name_words(other.field.name)}.isdisjoint(cues.topic)
