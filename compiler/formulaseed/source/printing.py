"""Print numbers with their nouns, and text of which nothing is hidden or acts on a terminal."""

from __future__ import annotations

import re


def number_of(count: int, noun: str) -> str:
    """Return a number with its noun: `1 review`, `2,000 reviews`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def printable(text: str) -> str:
    """Return the text on one line, with characters that a terminal acts on or hides escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text.replace("\t", " "))


_HIDDEN_CHARACTERS = re.compile("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def escape_hidden_characters(text: str) -> str:
    """Return JSON that says the same, with the characters escaped that hide or move text in a terminal."""
    return _HIDDEN_CHARACTERS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def display_width(text: str) -> int:
    """Return how many columns of a terminal the text takes: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    import unicodedata

    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) > 0 for c in text)
