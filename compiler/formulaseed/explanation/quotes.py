"""What of a review's text to show for the values that were extracted from it.

The extractor's own quote, where the rows have it; else the sentence whose words speak for the values; else the beginning of
the text, which says what the review is about but not what the values rest on. Without a text there is none.
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
_MOST, _BEGINNING = 300, 400
"""Characters of a quote and of a beginning; what is longer is cut."""
_READ, _CHARACTERS = 60, 20_000
"""Sentences and characters of a review that are looked at."""
_REMEMBERED = 1_000
"""Reviews of which it is kept what their sentences say: several steps ask for the same one."""
QuotedBy = Literal["extractor", "words", "beginning", "whole"]


class QuoteFinder:
    """Finds the quotes of one program's reviews."""

    def __init__(self, program: nodes.Program) -> None:
        self._fields = {field.name: field for field in fields_of(program)}
        self._lexical = LexicalExtractor([*self._fields.values()])
        self._spoken = lru_cache(_REMEMBERED)(self._read)

    def quote(self, row: Mapping[str, Any], fields: Mapping[str, Any]) -> tuple[str | None, QuotedBy | None]:
        """Return what to show for these values of a row, and what it is."""
        given = row.get("quotes")
        quoted = [q for name in fields if (q := _quoted(given.get(name)))] if isinstance(given, Mapping) else []
        if quoted:
            return " … ".join(dict.fromkeys(map(_cut, quoted))), "extractor"
        text = row.get("text")
        if not isinstance(text, str) or not text.strip():
            return None, None
        said = {n: value for n, value in fields.items() if value is not None and self._fields[n].claims(value)}
        weights = [(_weight(spoken, said), sentence) for sentence, spoken in self._spoken(text)] if said else []
        weight, sentence = max(weights, key=lambda each: each[0], default=(0, ""))
        if weight > 0:
            return _cut(sentence), "words"
        beginning = _cut(text, _BEGINNING)
        return beginning, "beginning" if beginning.endswith(_CUT) else "whole"

    def _read(self, text: str) -> list[tuple[str, dict[str, FieldValue]]]:
        """The sentences of a text, each with what the lexical extractor would extract from it alone."""
        sentences = [part.strip() for part in _BREAK.split(text[:_CHARACTERS]) if part.strip()][:_READ]
        return [(sentence, self._lexical.spoken(sentence)) for sentence in sentences]


def _weight(spoken: Mapping[str, FieldValue], fields: Mapping[str, Any]) -> int:
    """For how many values a sentence speaks, less those against which it does."""
    return sum(1 if spoken[name] == value else -1 for name, value in fields.items() if name in spoken)


def _quoted(found: object) -> str:
    """The words of a quote, unless they do not occur in the review."""
    if isinstance(found, Mapping):
        found = found.get("text") if found.get("verified", True) else None
    return found if isinstance(found, str) else ""


_CUT = " …"


def _cut(text: str, most: int = _MOST) -> str:
    """The text on one line, cut at a space."""
    line = one_line(text[: 4 * most])
    if len(line) <= most and len(text) <= 4 * most:
        return line
    whole, space, _ = line[: most - len(_CUT) + 1].rpartition(" ")
    return (whole if space and len(whole) > most // 2 else line[: most - len(_CUT)]) + _CUT
