"""Chooses what to show of a review's text for the values that were extracted from it.

It is the extractor's own quote if the rows have it; else the sentence whose words speak for the values; else the beginning of
the text, which says what the review is about but not what the values rest on. A row without a text has no quote.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal

from formulaseed.data.results import FieldValue
from formulaseed.extractors.base import fields_of
from formulaseed.extractors.lexical import LexicalExtractor
from formulaseed.ir import nodes
from formulaseed.source.text import one_line

_BREAK = re.compile(r"(?<=[.!?])(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bDr\.)(?<!\bSt\.)\s+|\n+")
_MAX_QUOTE = 300
_MAX_BEGINNING = 400
"""Characters; a longer quote or beginning is cut."""
_MAX_SENTENCES = 60
_MAX_CHARACTERS = 20_000
"""Sentences and characters of a review that are searched."""
_CACHE_SIZE = 1_000
"""Reviews whose searched sentences are cached, as several steps need the same one."""
_CUT = " …"
QuotedBy = Literal["extractor", "words", "beginning", "whole"]


class QuoteFinder:
    """Finds the quotes of one program's reviews."""

    def __init__(self, program: nodes.Program) -> None:
        self._fields = {field.name: field for field in fields_of(program)}
        self._lexical = LexicalExtractor([*self._fields.values()])
        self._sentences = lru_cache(_CACHE_SIZE)(self._split)

    def quote(self, row: Mapping[str, Any], fields: Mapping[str, Any]) -> tuple[str | None, QuotedBy | None]:
        """Return what to show for these values of a row, and who chose it; None for both if the row has no text."""
        quotes = row.get("quotes")
        if isinstance(quotes, Mapping):
            words = (_text_of_quote(quotes.get(name)) for name in fields)
            quoted = dict.fromkeys(_cut(text) for text in words if text)
            if quoted:
                return " … ".join(quoted), "extractor"
        text = row.get("text")
        if not isinstance(text, str) or not text.strip():
            return None, None
        sentence = self._best_sentence(text, fields)
        if sentence is not None:
            return _cut(sentence), "words"
        beginning = _cut(text, _MAX_BEGINNING)
        return beginning, "beginning" if beginning.endswith(_CUT) else "whole"

    def _best_sentence(self, text: str, fields: Mapping[str, Any]) -> str | None:
        """Return the sentence that speaks for the most values; None if none speaks for more than against which it does."""
        claims = {
            name: value for name, value in fields.items() if value is not None and self._fields[name].claims(value)
        }
        if not claims:
            return None
        weights = [(_weight(spoken, claims), sentence) for sentence, spoken in self._sentences(text)]
        weight, sentence = max(weights, key=lambda weighted: weighted[0], default=(0, ""))
        return sentence if weight > 0 else None

    def _split(self, text: str) -> list[tuple[str, dict[str, FieldValue]]]:
        """Return the sentences of a text, each with what the lexical extractor would extract from it alone."""
        parts = [part.strip() for part in _BREAK.split(text[:_MAX_CHARACTERS])]
        sentences = [part for part in parts if part][:_MAX_SENTENCES]
        return [(sentence, self._lexical.find_spoken_values(sentence)) for sentence in sentences]


def _weight(spoken: Mapping[str, FieldValue], fields: Mapping[str, Any]) -> int:
    """Return for how many values a sentence speaks, less those against which it speaks."""
    return sum(1 if spoken[name] == value else -1 for name, value in fields.items() if name in spoken)


def _text_of_quote(quote: object) -> str:
    """Return the words of a quote; empty if it is none, or does not occur in the review."""
    if isinstance(quote, Mapping):
        quote = quote.get("text") if quote.get("verified", True) else None
    return quote if isinstance(quote, str) else ""


def _cut(text: str, max_length: int = _MAX_QUOTE) -> str:
    """Return the text on one line; a longer one is cut at a space if there is one in its second half."""
    line = one_line(text[: 4 * max_length])
    if len(line) <= max_length and len(text) <= 4 * max_length:
        return line
    words, space, _ = line[: max_length - len(_CUT) + 1].rpartition(" ")
    if not space or len(words) <= max_length // 2:
        words = line[: max_length - len(_CUT)]
    return words + _CUT
