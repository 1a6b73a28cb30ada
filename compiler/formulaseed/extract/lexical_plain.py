"""Numbers and names: the fields whose value stands in the review itself.

A number counts where a sentence gives it in the field's unit or beside one of the field's cues; a name is
a run of capitalised words near such a cue. None means that nothing was found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from formulaseed.extract import lexical_words as words
from formulaseed.extract.lexical_cues import phrase_stems, quoted_phrases
from formulaseed.extract.lexical_fields import FieldCues
from formulaseed.extract.lexical_numbers import is_unit, quantities, unit_of
from formulaseed.extract.lexical_text import Sentence, Word, sentences
from formulaseed.extract.lexical_vocabulary import content, name_words

NAME_REACH = 4  # words between a cue and the name
NAME_WORDS_LIMIT = 4
NAME_LIMIT = 80  # characters


def find_number(cues: FieldCues, review: Sequence[Sentence]) -> float | None:
    """The number that the sentences give best; of several equally good ones the largest."""
    unit, size = unit_of(_asked(cues))
    best: tuple[float, float] | None = None
    for sentence in review:
        support = _support(cues, sentence)
        for quantity in quantities([word.stem for word in sentence]):
            bare = quantity.unit is None
            if quantity.unit != unit and not (bare and unit == "money"):
                continue
            if not sentence[quantity.start].real or (bare and not support):
                continue
            offer = (support, quantity.value / size)
            if cues.field.allows(round(offer[1]) if cues.field.type == "integer" else offer[1]):
                best = max(best, offer) if best else offer
    return best[1] if best else None


def _asked(cues: FieldCues) -> list[str]:
    return content(" ".join(name_words(cues.field.name))) + content(cues.field.description)


def _support(cues: FieldCues, sentence: Sentence) -> float:
    """1 where the sentence has a cue of the field beside the unit itself, else 0."""
    own = (word.stem for word in sentence if not is_unit(word.stem))
    return float(any(stem in cues.cues for stem in own))


def find_name(cues: FieldCues, review: Sequence[Sentence]) -> str | None:
    """The capitalised phrase that stands nearest after a cue, or before it where none follows."""
    heard = _name_cues(cues)
    best: tuple[int, str] | None = None
    for sentence in review:
        places = [index for index, word in enumerate(sentence) if word.stem in heard]
        for start, end in _names(sentence):
            after = [start - place for place in places if place < start]
            before = [place - end + 1 + NAME_REACH for place in places if place >= end]
            distance = min(after + before, default=None)
            if distance is not None and distance <= 2 * NAME_REACH and (best is None or distance < best[0]):
                best = (distance, " ".join(word.text for word in sentence[start:end])[:NAME_LIMIT])
    return best[1] if best else None


def _name_cues(cues: FieldCues) -> frozenset[str]:
    """The stems beside which a name is looked for: the field's words and its phrases', but for names."""
    quoted = quoted_phrases(cues.field.description)
    named = {word.stem for phrase in quoted for s in sentences(phrase) for word in s if word.text[:1].isupper()}
    framing = {stem for phrase in quoted for stem in phrase_stems(phrase)}
    return frozenset((set(_asked(cues)) | framing | set(cues.cues)) - named)


def _names(sentence: Sentence) -> Iterator[tuple[int, int]]:
    """Where runs of capitalised words start and end; the first word of a sentence is capitalised anyway."""
    start = 1
    while start < len(sentence):
        end = start
        while end < len(sentence) and end - start < NAME_WORDS_LIMIT and _is_name(sentence[end]):
            end += 1
        if end > start:
            yield start, end
        start = end + 1


def _is_name(word: Word) -> bool:
    shouted = len(word.text) > 1 and word.text.isupper()
    return word.text[:1].isupper() and not shouted and word.lower not in words.STOP_WORDS
