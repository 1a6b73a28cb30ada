"""Reads the words for people in a seed: labels, units, and the reasons of rules.

In: objects of a seed. Out: strings on one line, or None; a string that is too long, not printable or a repeated label is
reported, and read as None.
"""

from __future__ import annotations

from formulaseed import limits
from formulaseed.diagnostics.catalogue import seed as catalogue
from formulaseed.diagnostics.catalogue import words as words_catalogue
from formulaseed.seed import surface
from formulaseed.seed.read.shape import Shape
from formulaseed.source.json_reader import JsonObject
from formulaseed.source.text import value_node


@value_node
class WordKey:
    """A key whose value is a string for people, of at most `most` characters."""

    doc: str
    most: int
    examples: tuple[str, ...]


WORD_KEYS = {
    "label": WordKey(
        "A short name for people, in place of the name.", limits.LABEL_CHARACTERS, ("firsthand moderate reactions",)
    ),
    "unit": WordKey("The unit of the value, as people write it after a number.", limits.UNIT_CHARACTERS, ("points",)),
    "because": WordKey(
        "Why the rule gives this value, for people.", limits.BECAUSE_CHARACTERS, ("three or more severe reactions",)
    ),
}
ADVERSE = {
    "higher": "The higher the number, the worse for the restaurant.",
    "lower": "The lower the number, the worse for the restaurant.",
}
"""The values of the key `adverse` of a step, with what they mean."""


def read_words(section: JsonObject, key: str, shape: Shape) -> str | None:
    """Return the string of one of the `WORD_KEYS`; None if it is absent or, with the problem reported, unusable."""
    text = shape.read_text(shape.get(section, key), f"`{key}`")
    if text is None:
        return None
    most = WORD_KEYS[key].most
    if len(text.value) > most:
        shape.problems.report(words_catalogue.long_words(text.span, key, len(text.value), most))
        return None
    if not text.value or not text.value.isprintable() or text.value != text.value.strip():
        shape.problems.report(words_catalogue.unprintable_words(text.span, key))
        return None
    return text.value


def read_adverse(section: JsonObject, shape: Shape) -> surface.Adverse | None:
    """Return the key `adverse` of a step; None if it is absent or, with the problem reported, another word."""
    text = shape.read_text(shape.get(section, "adverse"), "`adverse`")
    direction = shape.read_choice(text, "adverse direction", ADVERSE)
    if text is None or direction is None:
        return None
    return surface.Adverse(text.span, "higher" if direction == "higher" else "lower")


class LabelReader:
    """A reader of labels and units, which reports a label that two things of one kind have."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self._taken: set[tuple[str, str]] = set()

    def read(self, section: JsonObject, kind: str) -> tuple[str | None, str | None]:
        """Return the label and the unit of a step, field or parameter, the `kind`; None for each that it lacks.

        Reports a label that another of the kind has, whatever the case of its letters.
        """
        label = read_words(section, "label", self.shape)
        if label is not None:
            key = (kind, label.casefold())
            if key in self._taken:
                written = self.shape.get(section, "label")
                assert written is not None  # it has just been read
                self.shape.problems.report(catalogue.duplicate(written.span, "label", label))
            self._taken.add(key)
        return label, read_words(section, "unit", self.shape)
