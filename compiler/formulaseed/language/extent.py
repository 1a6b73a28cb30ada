"""How large formulas are, counted without parsing them.

In: the text of formulas. Out: how many terms and symbols they have. Takes a few milliseconds for a million characters:
the text is classified as a whole, never symbol by symbol. Terms are counted as the parser counts them, in formulas that
can be parsed; in others roughly.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_STRING = re.compile(r"""'(?:[^'\\\n]|\\.)*+'?|"(?:[^"\\\n]|\\.)*+"?""")
_KEYWORDS = (b"and", b"or", b"not", b"in", b"if", b"else")
_SPACES = b" \t\n\r"
_IN_WORDS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.") | frozenset(range(128, 256))
_WORDS = bytes(byte if byte in _IN_WORDS or byte == ord("(") else ord(" ") for byte in range(256))
"""Keeps words and opening brackets; the rest becomes space."""
_ALIKE = bytes(ord("w") if byte in _IN_WORDS else byte for byte in range(256))
"""Makes every character of a word a `w`."""
_OTHERS = bytes(byte for byte in range(256) if byte not in _IN_WORDS and byte not in _SPACES)


class Extent(NamedTuple):
    """What formulas have of terms (names, numbers and strings), and of symbols, operators and brackets included."""

    terms: int
    symbols: int


def extent(formulas: Iterable[str]) -> Extent:
    """Count what all the formulas together have."""
    text = "\n".join(formulas)
    if "'" in text or '"' in text:
        text = _STRING.sub(" 1 ", text)
    written = text.encode("utf-8", "replace")
    words = written.translate(_WORDS).replace(b" ", b"  ").replace(b"(", b" ( ")
    words = b" " + words + b" "
    symbols = words.translate(_ALIKE).count(b" w") + len(written) - len(written.translate(None, _OTHERS))
    for keyword in _KEYWORDS:
        words = words.replace(b" %b " % keyword, b"  ")
    alike = words.translate(_ALIKE)
    return Extent(alike.count(b" w") - alike.count(b"w ("), symbols)
