"""Reads files of several JSON values: one a line, a list, or one after another over any lines.

In: a `Source`. Out: values with spans, each with its faults, as `json_reader` reads a single one.
"""

from __future__ import annotations

from collections.abc import Iterator

from formulaseed.source.json_reader import JsonFault, JsonValue, _JsonReader, _UnreadableJson
from formulaseed.source.text import Source, Span


def read_json_line(source: Source, line: Span, depth: int) -> tuple[JsonValue | None, list[JsonFault]]:
    """Read the document on one line of a file, nested at most `depth` levels deep."""
    return _JsonReader(source, source.text[line.start : line.end], line.start, depth).read_document()


FaultyValue = tuple[JsonValue, list[JsonFault]]
"""A value with the faults inside it, after which reading went on."""


def read_json_values(source: Source, depth: int, most: int) -> tuple[list[FaultyValue], list[JsonFault]]:
    """Read a list of values, or values one after another, over any lines, each nested at most `depth` levels deep.

    Returns the values, and the faults outside of them; no values if the text is not JSON. Of more than `most` values, one
    more is returned, and what follows is not read.
    """
    return _JsonStreamReader(source, source.text, 0, depth).values(most)


def iter_json_lines(source: Source) -> Iterator[Span]:
    """Return the lines of a JSON Lines file that are not blank, without their line breaks."""
    start = 0
    while start < len(source.text):
        end = source.text.find("\n", start)
        end = len(source.text) if end == -1 else end
        if source.text[start:end].strip(" \t\r"):
            yield Span(source, start, end)
        start = end + 1


class _JsonStreamReader(_JsonReader):
    """Reads values until the end of the text."""

    def values(self, most: int) -> tuple[list[FaultyValue], list[JsonFault]]:
        """Read a list's items, or values one after another, as `read_json_values` does."""
        values: list[FaultyValue] = []
        at = self.skip_space(0)
        try:
            if self.text.startswith("[", at):
                for item in self.item_positions(at, "", "]"):
                    values.append(self.read_faulty_value(item, f"/{len(values)}"))
                    if len(values) > most:
                        return values, self.faults
                self.check_end()
            else:
                while at < len(self.text) and len(values) <= most:
                    values.append(self.read_faulty_value(at, ""))
                    at = self.skip_space(self.position)
        except _UnreadableJson as stop:
            return [], [*self.faults, stop.fault]
        return values, self.faults

    def read_faulty_value(self, start: int, pointer: str) -> FaultyValue:
        """Read a value, and keep its faults apart from `faults`. Raises `_Stop` if nothing more can be read."""
        outside = self.faults
        inside: list[JsonFault] = []
        self.faults = inside
        value = self.read_value(start, pointer, 0)
        self.faults = outside
        return value, inside
