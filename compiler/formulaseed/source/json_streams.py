"""Reads files of several JSON values: one a line, a list, or one after another over any lines.

In: a `Source`. Out: values with spans, each with its faults, as `json_reader` reads a single one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from formulaseed.source.json_reader import JsonFault, JsonValue, _JsonReader, _UnreadableJson
from formulaseed.source.text import Source, Span


def read_json_line(source: Source, line: Span, depth: int) -> tuple[JsonValue | None, list[JsonFault]]:
    """Read the value on one line of a file, nested at most `depth` levels deep. Returns None and the faults if it is not JSON."""
    return _JsonReader(source, source.text[line.start : line.end], line.start, depth).read_document()


FaultyValue = tuple[JsonValue, list[JsonFault]]
"""A value with the faults in it, after which the next value can be read."""


def read_json_values(source: Source, depth: int, most: int) -> tuple[list[FaultyValue], list[JsonFault]]:
    """Read the items of a list, or values one after another, over any lines, each nested at most `depth` levels deep.

    Returns the values, each with its own faults, and the faults outside of them. If the text is not JSON, there are no
    values. Stops after `most` + 1 values, so that the caller can see that there are too many.
    """
    return _JsonStreamReader(source, source.text, 0, depth).read_values(most)


def iter_json_lines(source: Source) -> Iterator[Span]:
    """Yield the spans of the lines of a JSON Lines file that are not blank, without their line feeds."""
    for match in re.finditer("[^\n]+", source.text):
        if match[0].strip(" \t\r"):
            yield Span(source, match.start(), match.end())


class _JsonStreamReader(_JsonReader):
    """A reader of several values in one text."""

    def read_values(self, most: int) -> tuple[list[FaultyValue], list[JsonFault]]:
        """Read the items of a list, or values one after another. Returns them, and the faults outside of them.

        Returns no values if the text is not JSON, and at most `most` + 1.
        """
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
        """Read a value, and return it with its own list of faults, which are not added to `faults`.

        Raises `_UnreadableJson` if nothing more can be read.
        """
        outside = self.faults
        inside: list[JsonFault] = []
        self.faults = inside
        value = self.read_value(start, pointer, 0)
        self.faults = outside
        return value, inside
