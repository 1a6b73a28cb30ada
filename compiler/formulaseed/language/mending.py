"""A formula as it is read on: what is foreign in it replaced by how it is written here.

In: a formula's text and replacements. Out: the text with them, in which every place still knows where it stands in the
file. So one foreign operator hides no other, and what is wrong besides is told where its author wrote it.
"""

from __future__ import annotations

from collections.abc import Sequence

from formulaseed.source.json_reader import JsonString
from formulaseed.source.text import Span, tree_node


@tree_node
class MendedText(JsonString):
    """`value` is the text as it is read, `written` as its author wrote it.

    `origins` says for every character of `value`, and for its end, where it stands in `written`.
    """

    written: JsonString
    origins: Sequence[int]

    def inside(self, start: int, end: int) -> Span:
        return self.written.inside(self.origins[start], self.origins[end])

    def original(self, start: int, end: int) -> str:
        """What the author wrote there."""
        return self.written.value[self.origins[start] : self.origins[end]]

    def mended(self, start: int, end: int, instead: str) -> MendedText:
        """The text with the characters `start` to `end` replaced."""
        value, origins = self.value, self.origins
        places = (*origins[:start], *(origins[start],) * len(instead), *origins[end:])
        return MendedText(self.span, value[:start] + instead + value[end:], self.written, places)

    def is_mended(self, start: int, end: int) -> bool:
        """Whether any of these characters is not the author's, or none is left of a text that had some."""
        is_empty = start == end and self.value != self.written.value
        return is_empty or self.value[start:end] != self.original(start, end)


def unmended(text: JsonString) -> MendedText:
    """A text as it was written."""
    return MendedText(text.span, text.value, text, range(len(text.value) + 1))
