"""Measures formulas and files without parsing them, so that those over a limit are refused early.

In: the text of formulas, or a file. Out: the number of terms and symbols, or the part over a limit. Takes a few milliseconds
for a million characters: bytes are translated and counted for the whole text. The count of a valid formula is exact, that of any
other approximate.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from formulaseed import limits
from formulaseed.diagnostics.catalogue import seed as seed_catalogue
from formulaseed.diagnostics.catalogue import syntax as catalogue
from formulaseed.diagnostics.model import Diagnostic
from formulaseed.source.text import Source, Span

_STRING = re.compile(r"""'(?:[^'\\\n]|\\.)*+'?|"(?:[^"\\\n]|\\.)*+"?""")
_COMMENT = re.compile(
    rf"({_STRING.pattern})|#[^\r\n\x0b\x0c\x1c-\x1e\x85\u2028-\u202e\u2066-\u2069]*"
)  # the comment is that of the grammar
_KEYWORDS = (b"and", b"or", b"not", b"in", b"if", b"else")
_SPACES = b" \t\n\r"
_IN_WORDS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.") | frozenset(range(128, 256))
_WORDS = bytes(byte if byte in _IN_WORDS or byte == ord("(") else ord(" ") for byte in range(256))
"""Keeps words and opening brackets; the rest becomes space."""
_ALIKE = bytes(ord("w") if byte in _IN_WORDS else byte for byte in range(256))
"""Makes every character of a word a `w`."""
_SYMBOLS = bytes(byte for byte in range(256) if byte not in _IN_WORDS and byte not in _SPACES)
"""Every byte that is neither in a word nor a space."""


class Extent(NamedTuple):
    """The number of terms (names, numbers and strings), and of symbols, which include operators and brackets."""

    terms: int
    symbols: int


def blank_comments(formula: str) -> str:
    """Return a formula with spaces in place of its comments; a `#` in a string begins none."""
    if "#" not in formula:
        return formula
    return _COMMENT.sub(lambda match: match[1] or " " * len(match[0]), formula)


def measure(formulas: Iterable[str]) -> Extent:
    """Count the terms and symbols of all the formulas together.

    A string is one term; keywords, names before an opening parenthesis and comments are no terms.
    """
    text = blank_comments("\n".join(formulas))
    if "'" in text or '"' in text:
        text = _STRING.sub(" 1 ", text)
    written = text.encode("utf-8", "replace")
    words = written.translate(_WORDS).replace(b" ", b"  ").replace(b"(", b" ( ")
    words = b" " + words + b" "
    symbols = words.translate(_ALIKE).count(b" w") + len(written) - len(written.translate(None, _SYMBOLS))
    for keyword in _KEYWORDS:
        words = words.replace(b" %b " % keyword, b"  ")
    alike = words.translate(_ALIKE)
    return Extent(alike.count(b" w") - alike.count(b"w ("), symbols)


MIN_LARGE_TEXT = 50_000
"""A text of fewer characters is not measured: it is read quickly, whatever it contains."""
_WITHOUT_FORMULAS = frozenset((
    "task_name", "version", "description", "parameters", "context", "filter", "filter_keywords", "extract",
    "extraction_fields", "extraction_prompt", "review_handling", "output", "output_fields", "properties", "allow",
    "reference", "$schema",
))  # fmt: skip
"""The keys of a seed, or of a file of rules, under which there are no formulas."""
_WITH_FORMULAS = ("examples", "syntax_patterns")
"""The keys of a formula reference under which there are formulas."""
_ENTRIES = frozenset(("table", "in", "then", "else", "default", "value", "values"))
"""The keys of a step whose contents are values; each value counts as one term."""
_FILTER_USE = re.compile(r"\$([^\W\d]\w*)")
_PROSE = frozenset((
    "name", "op", "description", "use_case", "sources", "allow", "label", "unit", "because", "adverse",
))  # fmt: skip
"""The keys of a step that are not measured."""

_SECTION_LIMITS = {
    "compute": limits.STEPS, "compute_dag": limits.STEPS, "output": limits.OUTPUTS, "output_fields": limits.OUTPUTS,
    "filter_keywords": limits.KEYWORDS, "extraction_fields": limits.FIELDS, "parameters": limits.PARAMETERS,
    "properties": limits.PROPERTIES,
}  # fmt: skip
_PART_LIMITS = {
    "keywords": limits.KEYWORDS, "fields": limits.FIELDS, "table": limits.TABLE_ENTRIES, "rules": limits.CASE_RULES,
}  # fmt: skip
"""The limits of parts of sections."""


def find_excess(source: Source) -> Diagnostic | None:
    """Return the error of the first section of a large file that is over its limit, or of all its formulas together.

    Returns None if the file is within the limits, small, or not JSON. Filters are checked between the two.
    """
    text = source.text
    if len(text) < MIN_LARGE_TEXT:
        return None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None  # the reader says why
    for key, value, most in _sections(document):
        if isinstance(value, list | dict) and len(value) > most:
            span = _find_span(source, re.escape(f'"{key}"'))
            return seed_catalogue.too_many(span, f"`{key}`", len(value), most)
    diagnostic = _find_large_filter(document, source)
    if diagnostic is None and len(text) > limits.FILE_TERMS:
        diagnostic = _find_large_total(document, source)
    return diagnostic


def _sections(seed: Any) -> Iterator[tuple[str, Any, int]]:
    """Yield the key, the value and the limit of each section of a seed, or part of one, that has a limit.

    Yields nothing if the seed is not an object.
    """
    if not isinstance(seed, dict):
        return
    for key, section in seed.items():
        if key in _SECTION_LIMITS:
            yield key, section, _SECTION_LIMITS[key]
        parts: list[Any] = []
        if key == "compute" and isinstance(section, list):
            parts = section
        elif key in ("filter", "extract"):
            parts = [section]
        for part in parts:
            if isinstance(part, dict):
                yield from ((name, part[name], most) for name, most in _PART_LIMITS.items() if name in part)


def _find_large_filter(document: Any, source: Source) -> Diagnostic | None:
    """Return the error of the first filter that is too large, or nested too deeply, by its uses of earlier filters.

    Returns None if there is none. A filter that is used counts with its own size each time.
    """
    sizes: dict[str, tuple[int, int]] = {}
    steps = document.get("compute") if isinstance(document, dict) else None
    for step in steps if isinstance(steps, list) else ():
        if not isinstance(step, dict) or step.get("op") != "define_filter" or not isinstance(step.get("name"), str):
            continue
        name = step["name"]
        used = [sizes[use] for text in _condition_texts(step) for use in _FILTER_USE.findall(text) if use in sizes]
        size = sum(size for size, _ in used)
        depth = max((depth for _, depth in used), default=0)
        if size > limits.FILTER_SIZE or depth >= limits.FILTER_NESTING:
            span = _find_span(source, rf'"name"\s*:\s*{re.escape(json.dumps(name, ensure_ascii=False))}')
            if size > limits.FILTER_SIZE:
                return seed_catalogue.filter_too_large(span, name, size)
            return seed_catalogue.filters_nested_too_deeply(span, depth + 1)
        sizes[name] = (max(size, 1), depth + 1)
    return None


def _condition_texts(step: dict[str, Any]) -> list[str]:
    """Return the texts of a filter that may use other filters: the keys of `where`, and `expr`."""
    texts: list[str] = []
    if isinstance(where := step.get("where"), dict):
        texts += where
    if isinstance(expr := step.get("expr"), str):
        texts.append(expr)
    return texts


def _find_large_total(document: Any, source: Source) -> Diagnostic | None:
    """Return the error of formulas, conditions, tables and rules that are too large together, at the largest step.

    Returns None if they are within the limits. Terms are counted before symbols.
    """
    sizes = [(name, _measure_part(part)) for name, part in _parts(document)]
    for index, (noun, most) in enumerate((("term", limits.FILE_TERMS), ("symbol", limits.FILE_SYMBOLS))):
        total = sum(size[index] for _, size in sizes)
        if total > most:
            name, largest = max(sizes, key=lambda part: part[1][index])
            written = re.escape(json.dumps(name, ensure_ascii=False))
            span = _find_span(source, rf'"name"\s*:\s*{written}|{written}\s*:')
            return catalogue.file_too_large(span, noun, total, most, str(name), largest[index])
    return None


def _unwrap(document: Any) -> Any:
    """Return the document without outer lists and objects whose only content is one list or object."""
    while isinstance(document, list | dict) and len(document) == 1:
        (inner,) = document.values() if isinstance(document, dict) else document
        if not isinstance(inner, list | dict):
            break
        document = inner
    return document


def _parts(document: Any) -> Iterator[tuple[str, Any]]:
    """Yield the steps, rules or examples of a document, each with its name, or else its key or place.

    Sections that contain no formulas are skipped.
    """
    document = _unwrap(document)
    sections = document if isinstance(document, dict) else {"rules": document}
    is_reference = "entities" in sections
    for key, section in sections.items():
        if key in _WITHOUT_FORMULAS or (is_reference and key not in _WITH_FORMULAS):
            continue
        items: Iterable[tuple[str, Any]] = [(key, section)]
        if isinstance(section, list):
            items = ((f"{key}[{place}]", item) for place, item in enumerate(section))
        elif isinstance(section, dict):
            items = section.items()
        for place, item in items:
            if isinstance(item, dict) and isinstance(item.get("name"), str):
                place = item["name"]
            yield place, item


def _measure_part(part: Any) -> Extent:
    """Return the size of a step: its formulas, and one term and symbol for each entry of a table or other value.

    Names, descriptions and other prose are not counted.
    """
    formulas: list[str] = []
    values = 0
    stack = [part]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            formulas.append(value)
        elif isinstance(value, list):
            stack += value
        elif isinstance(value, dict):
            for key, inner in value.items():
                if key in _ENTRIES:
                    values += len(inner) if isinstance(inner, list | dict) else 1
                elif key not in _PROSE:
                    stack.append(inner)
        else:
            values += 1
    terms, symbols = measure(formulas)
    return Extent(terms + values, symbols + values)


def _find_span(source: Source, pattern: str) -> Span:
    """Return the span of the first match of a pattern; an empty span at the beginning of the text if there is none."""
    match = re.search(pattern, source.text)
    return Span(source, 0, 0) if match is None else Span(source, *match.span())
