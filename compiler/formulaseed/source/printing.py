"""Prints numbers with their nouns, and text without characters that are hidden or act on a terminal."""

from __future__ import annotations

import re


def number_of(count: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1: `1 review`, `2,000 reviews`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def printable(text: str) -> str:
    """Return the text with characters escaped that a terminal hides or acts on, such as line breaks; a tab becomes a space."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text.replace("\t", " "))


_HIDDEN_CHARACTERS = re.compile("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def escape_hidden_characters(text: str) -> str:
    """Return JSON with the same values in which characters are escaped that hide or reorder text in a terminal."""
    return _HIDDEN_CHARACTERS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def display_width(text: str) -> int:
    """Return the number of columns of the text in a terminal: a wide character has two, a combining one none."""
    if text.isascii():
        return len(text)
    import unicodedata

    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) > 0 for c in text)
