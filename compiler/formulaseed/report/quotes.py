"""What of a review's text to show for the values that were extracted from it.

The extractor's own quote, where the rows have it; else the sentence that speaks for most of the values by its words, else
the first that has a keyword of the seed, else the first. Without a text there is none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from formulaseed.extractors.base import fields_of
from formulaseed.extractors.lexical import LexicalExtractor
from formulaseed.ir import nodes
from formulaseed.source.text import one_line

_BREAK = re.compile(r"(?<=[.!?])(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bDr\.)(?<!\bSt\.)\s+|\n+")
_MOST = 300
"""Characters of a quote; what is longer is cut."""
_READ = 60
"""Sentences of a review that are looked at."""


class QuoteFinder:
    """Finds the quotes of one program's reviews."""

    def __init__(self, program: nodes.Program) -> None:
        self._lexical = LexicalExtractor(fields_of(program))
        self._keywords = [re.compile(rf"\b{re.escape(word)}", re.IGNORECASE) for word in program.keywords]

    def quote(
        self, row: Mapping[str, Any], fields: Mapping[str, Any]
    ) -> tuple[str | None, Literal["extractor", "words"] | None]:
        """Return the words to show for these values of a row, and who chose them."""
        given = row.get("quotes")
        quoted = [q for name in fields if (q := _quoted(given.get(name)))] if isinstance(given, Mapping) else []
        if quoted:
            return " … ".join(dict.fromkeys(map(_cut, quoted))), "extractor"
        text = row.get("text")
        if not isinstance(text, str) or not text.strip():
            return None, None
        sentences = [part.strip() for part in _BREAK.split(text) if part.strip()][:_READ]
        return (_cut(max(sentences, key=lambda each: self._weight(each, fields))) if sentences else _cut(text)), "words"

    def _weight(self, sentence: str, fields: Mapping[str, Any]) -> tuple[float, bool]:
        weights = self._lexical.weights(sentence)
        spoken = sum(weights.get((name, value), 0.0) for name, value in fields.items())
        return spoken, any(keyword.search(sentence) for keyword in self._keywords)


def _quoted(found: object) -> str:
    """The words of a quote, unless they do not occur in the review."""
    if isinstance(found, Mapping):
        found = found.get("text") if found.get("verified", True) else None
    return found if isinstance(found, str) else ""


def _cut(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _MOST else line[: _MOST - 2] + " …"
