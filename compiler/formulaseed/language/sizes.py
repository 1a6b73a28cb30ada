"""Measures formulas and files without parsing them, so that those over a limit are refused first.

In: the text of formulas, or a file. Out: the number of terms and symbols, or the part over a limit. Takes a few milliseconds
for a million characters: the text is classified as a whole. Terms are counted as the parser counts them in a formula that can be
parsed, in others roughly.
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
_KEYWORDS = (b"and", b"or", b"not", b"in", b"if", b"else")
_SPACES = b" \t\n\r"
_IN_WORDS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.") | frozenset(range(128, 256))
_WORDS = bytes(byte if byte in _IN_WORDS or byte == ord("(") else ord(" ") for byte in range(256))
"""Keeps words and opening brackets; the rest becomes space."""
_ALIKE = bytes(ord("w") if byte in _IN_WORDS else byte for byte in range(256))
"""Makes every character of a word a `w`."""
_OTHERS = bytes(byte for byte in range(256) if byte not in _IN_WORDS and byte not in _SPACES)


class Extent(NamedTuple):
    """The number of terms (names, numbers and strings), and of symbols, which include operators and brackets."""

    terms: int
    symbols: int


def extent(formulas: Iterable[str]) -> Extent:
    """Count the terms and symbols of all the formulas together."""
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


MIN_LARGE_TEXT = 50_000
"""A text of fewer characters is read at once, whatever it holds."""
_WITHOUT_FORMULAS = frozenset((
    "task_name", "version", "description", "parameters", "context", "filter", "filter_keywords", "extract",
    "extraction_fields", "extraction_prompt", "review_handling", "output", "output_fields", "properties", "allow",
    "reference", "$schema",
))  # fmt: skip
"""The keys of a seed, or of a file of rules, under which there are no formulas."""
_WITH_FORMULAS = ("examples", "syntax_patterns")
"""The keys of a formula reference under which there are formulas."""
_ENTRIES = frozenset(("table", "in", "then", "else", "default", "value", "values"))
"""The keys of a step under which there are values: each is one term."""
_FILTER_USE = re.compile(r"\$([^\W\d]\w*)")
_PROSE = frozenset(("name", "op", "description", "use_case", "sources", "allow"))


_SECTION_LIMITS = {
    "compute": limits.STEPS, "compute_dag": limits.STEPS, "output": limits.OUTPUTS, "output_fields": limits.OUTPUTS,
    "filter_keywords": limits.KEYWORDS, "extraction_fields": limits.FIELDS, "parameters": limits.PARAMETERS,
    "properties": limits.PROPERTIES,
}  # fmt: skip
_PART_LIMITS = {
    "keywords": limits.KEYWORDS, "fields": limits.FIELDS, "table": limits.TABLE_ENTRIES, "rules": limits.CASE_RULES,
}  # fmt: skip
"""The limits of sections, and of their parts."""


def too_many(source: Source) -> Diagnostic | None:
    """Find the first section of a large file that is over its limit, or report that all its formulas together are."""
    text = source.text
    if len(text) < MIN_LARGE_TEXT:
        return None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None  # the reader says why
    for key, value, most in _sections(document):
        if isinstance(value, list | dict) and len(value) > most:
            span = _span_of(source, re.escape(f'"{key}"'))
            return seed_catalogue.too_many(span, f"`{key}`", len(value), most)
    return _large_filter(document, source) or (_too_large(document, source) if len(text) > limits.FILE_TERMS else None)


def _sections(seed: Any) -> Iterator[tuple[str, Any, int]]:
    """Yield each section of a seed that has a limit, and each limited part of one: its key, its value and the limit."""
    for key, section in seed.items() if isinstance(seed, dict) else ():
        if key in _SECTION_LIMITS:
            yield key, section, _SECTION_LIMITS[key]
        parts: Any = ()
        if key == "compute":
            parts = section if isinstance(section, list) else ()
        elif key in ("filter", "extract"):
            parts = [section]
        for part in parts:
            if isinstance(part, dict):
                yield from ((name, part[name], most) for name, most in _PART_LIMITS.items() if name in part)


def _large_filter(document: Any, source: Source) -> Diagnostic | None:
    """Find the first filter that is over its limit by the uses of earlier filters alone, each counted in full."""
    sizes: dict[str, tuple[int, int]] = {}
    steps = document.get("compute") if isinstance(document, dict) else None
    for step in steps if isinstance(steps, list) else ():
        if not isinstance(step, dict) or step.get("op") != "define_filter" or not isinstance(step.get("name"), str):
            continue
        name = step["name"]
        used = [sizes[use] for text in _conditions_of(step) for use in _FILTER_USE.findall(text) if use in sizes]
        size = sum(size for size, _ in used)
        depth = max((depth for _, depth in used), default=0)
        if size > limits.FILTER_SIZE or depth >= limits.FILTER_NESTING:
            span = _span_of(source, rf'"name"\s*:\s*{re.escape(json.dumps(name, ensure_ascii=False))}')
            if size > limits.FILTER_SIZE:
                return seed_catalogue.filter_too_large(span, name, size)
            return seed_catalogue.filters_nested_too_deeply(span, depth + 1)
        sizes[name] = (max(size, 1), depth + 1)
    return None


def _conditions_of(step: dict[str, Any]) -> list[str]:
    """Return the texts of a filter that may use other filters: the keys of `where`, and `expr`."""
    where = step.get("where")
    expr = step.get("expr")
    return [*(where if isinstance(where, dict) else ()), *([expr] if isinstance(expr, str) else ())]


def _too_large(document: Any, source: Source) -> Diagnostic | None:
    """Report the formulas, conditions, tables and rules of the file if they are too large together, at the largest of them."""
    sizes = [(name, _extent_of(part)) for name, part in _parts(document)]
    for index, (noun, most) in enumerate((("term", limits.FILE_TERMS), ("symbol", limits.FILE_SYMBOLS))):
        total = sum(size[index] for _, size in sizes)
        if total > most:
            name, largest = max(sizes, key=lambda part: part[1][index])
            written = re.escape(json.dumps(name, ensure_ascii=False))
            span = _span_of(source, rf'"name"\s*:\s*{written}|{written}\s*:')
            return catalogue.file_too_large(span, noun, total, most, str(name), largest[index])
    return None


def _unwrap(document: Any) -> Any:
    """Return the innermost list or object that is not alone in another one."""
    while isinstance(document, list | dict) and len(document) == 1:
        (inner,) = document if isinstance(document, list) else document.values()
        if not isinstance(inner, list | dict):
            break
        document = inner
    return document


def _parts(document: Any) -> Iterator[tuple[str, Any]]:
    """Yield the steps, rules or examples of a document, with their names; also if it is wrapped in something else."""
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
            name = item.get("name") if isinstance(item, dict) else None
            yield name if isinstance(name, str) else place, item


def _extent_of(part: Any) -> Extent:
    """Return the size of a step: of its formulas, and a term for each condition, entry of a table, and result of a rule."""
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
    terms, symbols = extent(formulas) if formulas else (0, 0)
    return Extent(terms + values, symbols + values)


def _span_of(source: Source, pattern: str) -> Span:
    """Return the span of the first match of a pattern; an empty one at the beginning if there is none."""
    match = re.search(pattern, source.text)
    return Span(source, *(match.span() if match else (0, 0)))
