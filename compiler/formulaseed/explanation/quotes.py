"""Choose a quote of a review's text for the values that were extracted from it.

It is the extractor's own quote if the row has one; otherwise the sentence whose words speak for the values; otherwise the
beginning of the text, which shows the subject of the review but not the evidence for the values. A row without a text has no
quote.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from formulaseed.data.results import FieldValue
from formulaseed.extractors.base import fields_of
from formulaseed.extractors.lexical import LexicalExtractor
from formulaseed.ir import nodes
from formulaseed.source.text import one_line

_BREAK = re.compile(r"(?<=[.!?])(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bDr\.)(?<!\bSt\.)\s+|\n+")
_MAX_QUOTE_CHARACTERS = 300
_MAX_BEGINNING_CHARACTERS = 400
_MAX_SEARCHED_SENTENCES = 60
_MAX_SEARCHED_CHARACTERS = 20_000
_CACHE_SIZE = 1_000  # reviews whose sentences are cached, as several steps need the same ones
_ELLIPSIS = " …"
QuotedBy = Literal["extractor", "words", "beginning", "whole"]


class Quote(NamedTuple):
    """A quote of a review, and who chose it. `core` has the words that prove a value; None if no words of the quote do."""

    text: str | None
    quoted_by: QuotedBy | None
    core: str | None = None


class QuoteFinder:
    """A finder of quotes for the fields of one program. It caches the sentences of reviews."""

    def __init__(self, program: nodes.Program) -> None:
        self._fields = {field.name: field for field in fields_of(program)}
        self._lexical = LexicalExtractor([*self._fields.values()])
        self._sentences = lru_cache(_CACHE_SIZE)(self._split_sentences)
        self._cores = lru_cache(_CACHE_SIZE)(self._find_core)

    def choose_quote(self, row: Mapping[str, Any], fields: Mapping[str, Any]) -> Quote:
        """Return a quote from a row for the values of `fields`; empty if the row has none.

        The extractor's quotes for these fields win, joined by `…`, unless they are marked as not verified. Otherwise
        it is the sentence whose words agree with the most values or, if no sentence does, the beginning of the text;
        the whole text if that is short. The core proves the first of the values that the quote proves.
        """
        quotes = row.get("quotes")
        words = [_quote_text(quotes.get(name)) for name in fields] if isinstance(quotes, Mapping) else []
        cut = [*dict.fromkeys(filter(None, map(_cut, words)))]
        if cut:
            return Quote(" … ".join(cut), "extractor", cut[0])
        text = row.get("text")
        if not isinstance(text, str) or not text.strip():
            return Quote(None, None)
        claims = {
            name: value for name, value in fields.items() if value is not None and self._fields[name].claims(value)
        }
        sentence = self._find_best_sentence(text, claims)
        if sentence is not None:
            line = one_line(sentence)
            spoken = self._lexical.find_spoken_values(line)
            cores = (self._cores(line, *claim) for claim in claims.items() if claim in spoken.items())
            core = next(cores, line)
            return Quote(cut_around(line, core, _MAX_QUOTE_CHARACTERS), "words", core)
        beginning = _cut(text, _MAX_BEGINNING_CHARACTERS)
        return Quote(beginning, "beginning" if beginning.endswith(_ELLIPSIS) else "whole")

    def _find_best_sentence(self, text: str, claims: Mapping[str, Any]) -> str | None:
        """Return the sentence whose words agree with most values; None if none agrees with more than it contradicts.

        Of equal sentences the first is returned.
        """
        if not claims:
            return None
        weights = [(_weigh(spoken, claims), sentence) for sentence, spoken in self._sentences(text)]
        weight, sentence = max(weights, key=lambda weighted: weighted[0], default=(0, ""))
        return sentence if weight > 0 else None

    def _find_core(self, sentence: str, name: str, value: FieldValue) -> str:
        """Return the fewest words of a sentence in which the lexical extractor finds `value` for the field `name`.

        It must find it in the whole sentence. Words are added in front as long as the result also occurs further
        ahead, where it could be denied ("no hives at first, then hives").
        """
        words = sentence.split(" ")

        def speak(first: int, last: int) -> bool:
            """Return True if the extractor finds the value in the words from `first` to before `last`."""
            return self._lexical.find_spoken_values(" ".join(words[first:last])).get(name) == value

        end = 1 + bisect_left(range(1, len(words) + 1), True, key=lambda last: speak(0, last))
        start = end - 1 - bisect_left(range(1, end + 1), True, key=lambda count: speak(end - count, end))
        while _find_words(words, words[start:end]) < start:
            start -= 1
        return " ".join(words[start:end])

    def _split_sentences(self, text: str) -> list[tuple[str, dict[str, FieldValue]]]:
        """Return the sentences of a text, each with what the lexical extractor would extract from it alone.

        Only the first `_MAX_SEARCHED_CHARACTERS` and `_MAX_SEARCHED_SENTENCES` are used.
        """
        parts = [part.strip() for part in _BREAK.split(text[:_MAX_SEARCHED_CHARACTERS])]
        sentences = [part for part in parts if part][:_MAX_SEARCHED_SENTENCES]
        return [(sentence, self._lexical.find_spoken_values(sentence)) for sentence in sentences]


def cut_around(quote: str, core: str, max_length: int) -> str:
    """Return whole words of a quote, its `core` and as many on both sides as fit into `max_length` characters.

    It has `…` where words are missing, unless only the core itself fits. A core that is too long is cut at its end.
    """
    words, inner = quote.split(" "), core.split(" ")
    start = _find_words(words, inner)
    end = start + len(inner)

    def write(first: int, last: int) -> str:
        """Return the words from `first` to before `last`, with `…` at each end that is not the quote's."""
        text = " ".join(words[first:last])
        text = f"… {text.removeprefix('… ')}" if first > 0 else text
        return f"{text.removesuffix(_ELLIPSIS)}{_ELLIPSIS}" if last < len(words) else text

    is_growing = len(write(start, end)) <= max_length
    if not is_growing:
        return _cut(core, max_length)
    while is_growing:
        is_growing = False
        if start > 0 and len(write(start - 1, end)) <= max_length:
            start, is_growing = start - 1, True
        if end < len(words) and len(write(start, end + 1)) <= max_length:
            end, is_growing = end + 1, True
    return write(start, end)


def _find_words(words: Sequence[str], inner: Sequence[str]) -> int:
    """Return the first position of `inner` in `words`, or 0 if they are not there."""
    return next((place for place in range(len(words)) if words[place : place + len(inner)] == inner), 0)


def _weigh(spoken: Mapping[str, FieldValue], fields: Mapping[str, Any]) -> int:
    """Return the number of values that a sentence speaks for, minus the number that it speaks against."""
    return sum(1 if spoken[name] == value else -1 for name, value in fields.items() if name in spoken)


def _quote_text(quote: object) -> str:
    """Return the words of an extractor's quote; empty if it is invalid, or was not found in the review."""
    if isinstance(quote, Mapping):
        quote = quote.get("text") if quote.get("verified", True) else None
    return quote if isinstance(quote, str) else ""


def _cut(text: str, max_length: int = _MAX_QUOTE_CHARACTERS) -> str:
    """Return the text on one line of at most `max_length` characters.

    A longer text ends in `…`, after a whole word if that keeps more than half of it.
    """
    line = one_line(text[: 4 * max_length])
    if len(line) <= max_length and len(text) <= 4 * max_length:
        return line
    words, space, _ = line[: max_length - len(_ELLIPSIS) + 1].rpartition(" ")
    if not space or len(words) <= max_length // 2:
        words = line[: max_length - len(_ELLIPSIS)]
    return words + _ELLIPSIS
