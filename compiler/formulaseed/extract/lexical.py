"""The lexical extractor: typed fields out of a review by its words alone, with no network and no model.

It is a heuristic. It weighs each sentence of a review against the words of a field: the values' names and
descriptions, the examples in parentheses and, most, the phrases quoted there ('I had', 'friend told me').
Words that few values share weigh more than words that many share, and a general table of word families lets
"hospital" answer for "ER". Negators ("no hives"), suppositions ("if I had", "afraid that"), lasting
conditions ("I have a severe allergy") and hearsay ("my friend told me") take a word's weight away, or give
it to the values that are about them. Where nothing speaks, a field keeps its default; without one, an enum
takes the value that stands for nothing (else its first), a boolean false, a number 0, a string nothing.

What it cannot see: sarcasm, who "they" are, events told in none of the field's words, anything that one has
to know about the world. It reads a review's first 20,000 characters. Measure it before relying on it, against
extractions that you trust: ``formulaseed agreement`` reports Cohen's kappa for each field.

Whatever a review says, it can only choose among a field's legal values, and in time linear in its length.
"""

from __future__ import annotations

from collections.abc import Sequence

from formulaseed.data.extractions import FieldValue
from formulaseed.extract.fields import Field
from formulaseed.extract.lexical_fields import FieldCues, cues_of
from formulaseed.extract.lexical_plain import find_name, find_number
from formulaseed.extract.lexical_scores import THRESHOLD, Review, all_scores, review_of
from formulaseed.extract.lexical_text import sentences


class LexicalExtractor:
    """Extracts the given fields from any text; its answers depend on the fields and the text only."""

    def __init__(self, fields: Sequence[Field]) -> None:
        """Makes the fields' cues ready, once for all reviews. An enum without values is a ValueError."""
        for field in fields:
            if field.type == "enum" and not field.values:
                raise ValueError(f"the enum field {field.name!r} has no values")
        self._cues = cues_of(fields)

    def extract(self, text: str) -> dict[str, FieldValue]:
        """Every field with a value legal for it; a number without one is left out."""
        review = review_of(sentences(text))
        scored = all_scores(self._cues, review)
        pairs = zip(self._cues, scored, strict=True)
        values = {cues.field.name: _value(cues, found, review) for cues, found in pairs}
        return {name: value for name, value in values.items() if value is not None}


def _value(cues: FieldCues, found: Sequence[float], review: Review) -> FieldValue | None:
    """The field's value; None for a number of which nothing is said, and whose bounds exclude 0."""
    match cues.field.type:
        case "enum":
            return _enum(cues, found)
        case "boolean":
            return found[0] > found[1] if max(found) >= THRESHOLD else bool(_resting(cues, False))
        case "integer":
            whole = find_number(cues, review.sentences)
            return _resting_number(cues, 0) if whole is None else round(whole)
        case "number":
            exact = find_number(cues, review.sentences)
            return _resting_number(cues, 0.0) if exact is None else exact
        case "string":
            return find_name(cues, review.sentences) or _resting(cues, "")


def _enum(cues: FieldCues, found: Sequence[float]) -> FieldValue:
    spoken = [value for value, score in enumerate(found) if score >= THRESHOLD]
    if not spoken:
        return _resting(cues, cues.field.values[cues.fallback or 0][0])
    best = max(spoken, key=lambda value: found[value])
    if cues.grades[best]:
        # Of mild and severe, both told, the graver one happened.
        best = max(spoken, key=lambda value: (cues.grades[value], found[value]))
    return cues.field.values[best][0]


def _resting_number(cues: FieldCues, zero: int | float) -> FieldValue | None:
    return _resting(cues, zero) if cues.field.allows(zero) or cues.field.default is not None else None


def _resting(cues: FieldCues, otherwise: FieldValue) -> FieldValue:
    """The seed's default for the field, or else the given value."""
    return otherwise if cues.field.default is None else cues.field.default
