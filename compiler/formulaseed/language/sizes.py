"""How large formulas and files are, without parsing them, so that what is over a limit is refused first.

In: the text of formulas, or a file. Out: how many terms and symbols there are, or what is over a limit. Takes a few milliseconds
for a million characters: the text is classified as a whole. Terms are counted as the parser counts them in a formula that can be
parsed, in others roughly.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from formulaseed import limits
from formulaseed.diagnostics.catalogue import expressions as catalogue
from formulaseed.diagnostics.catalogue import seed as seed_catalogue
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


_LARGE = 50_000
"""A text of fewer characters is read at once, whatever it holds."""
_WITHOUT_FORMULAS = frozenset((
    "task_name", "version", "description", "parameters", "context", "filter", "filter_keywords", "extract",
    "extraction_fields", "extraction_prompt", "review_handling", "output", "output_fields", "properties", "allow",
    "reference", "$schema",
))  # fmt: skip
"""The keys of a seed, or of a file of rules, under which there are no formulas."""
_WITH_FORMULAS = ("examples", "syntax_patterns")
"""The keys of a formula reference under which there are."""
_ENTRIES = frozenset(("table", "in", "then", "else", "default", "value", "values"))
"""The keys of a step under which there are values: each is one term."""
_FILTER_USE = re.compile(r"\$([^\W\d]\w*)")
_PROSE = frozenset(("name", "op", "description", "use_case", "sources", "allow"))


_MOST = {
    "compute": limits.STEPS, "compute_dag": limits.STEPS, "output": limits.OUTPUTS, "output_fields": limits.OUTPUTS,
    "filter_keywords": limits.KEYWORDS, "extraction_fields": limits.FIELDS, "parameters": limits.PARAMETERS,
    "properties": limits.PROPERTIES,
}  # fmt: skip
_MOST_INSIDE = {
    "keywords": limits.KEYWORDS, "fields": limits.FIELDS, "table": limits.TABLE_ENTRIES, "rules": limits.CASE_RULES,
}  # fmt: skip
"""The limits of sections, and of what is in them."""


def too_many(source: Source) -> Diagnostic | None:
    """Find the first section of a large file that is over its limit, or report that all its formulas together are."""
    text = source.text
    if len(text) < _LARGE:
        return None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None  # the reader says why
    for key, value, most in _sections(document):
        if isinstance(value, list | dict) and len(value) > most:
            span = _place(source, re.escape(f'"{key}"'))
            return seed_catalogue.too_many(span, f"`{key}`", len(value), most)
    return _large_filter(document, source) or (_too_large(document, source) if len(text) > limits.FILE_TERMS else None)


def _sections(seed: Any) -> Iterator[tuple[str, Any, int]]:
    for key, section in seed.items() if isinstance(seed, dict) else ():
        if key in _MOST:
            yield key, section, _MOST[key]
        parts = section if key == "compute" else [section] if key in ("filter", "extract") else ()
        for part in parts if isinstance(parts, list) else ():
            inside = part if isinstance(part, dict) else {}
            yield from ((name, inside[name], most) for name, most in _MOST_INSIDE.items() if name in inside)


def _large_filter(document: Any, source: Source) -> Diagnostic | None:
    """Find the first filter that is over its limit by the uses of earlier filters alone, each counted in full."""
    sizes: dict[str, tuple[int, int]] = {}
    steps = document.get("compute") if isinstance(document, dict) else None
    for step in steps if isinstance(steps, list) else ():
        if not isinstance(step, dict) or step.get("op") != "define_filter" or not isinstance(step.get("name"), str):
            continue
        where, expr = step.get("where"), step.get("expr")
        texts = [*(where if isinstance(where, dict) else ()), *([expr] if isinstance(expr, str) else ())]
        used = [sizes[name] for text in texts for name in _FILTER_USE.findall(text) if name in sizes]
        size, depth = sum(size for size, _ in used), max((depth for _, depth in used), default=0)
        if size > limits.FILTER_SIZE or depth >= limits.FILTER_NESTING:
            name = step["name"]
            span = _place(source, rf'"name"\s*:\s*{re.escape(json.dumps(name, ensure_ascii=False))}')
            if size > limits.FILTER_SIZE:
                return seed_catalogue.filter_too_large(span, name, size)
            return seed_catalogue.filters_nested_too_deeply(span, depth + 1)
        sizes[step["name"]] = max(size, 1), depth + 1
    return None


def _too_large(document: Any, source: Source) -> Diagnostic | None:
    """Whether the formulas, conditions, tables and rules of the file are too large together, and where most of it is."""
    sizes = [(name, _extent_of(part)) for name, part in _parts(document)]
    for index, (what, most) in enumerate((("term", limits.FILE_TERMS), ("symbol", limits.FILE_SYMBOLS))):
        total = sum(size[index] for _, size in sizes)
        if total > most:
            name, largest = max(sizes, key=lambda each: each[1][index])
            written = re.escape(json.dumps(name, ensure_ascii=False))
            span = _place(source, rf'"name"\s*:\s*{written}|{written}\s*:')
            return catalogue.file_too_large(span, what, total, most, str(name), largest[index])
    return None


def _parts(document: Any) -> Iterator[tuple[str, Any]]:
    """The steps, rules or examples of a document, with their names; also where it is wrapped in something else."""
    while isinstance(document, list | dict) and len(document) == 1:
        (inner,) = document if isinstance(document, list) else document.values()
        if not isinstance(inner, list | dict):
            break
        document = inner
    sections = list(document.items()) if isinstance(document, dict) else [("rules", document)]
    if isinstance(document, dict) and "entities" in document:
        sections = [(key, section) for key, section in sections if key in _WITH_FORMULAS]
    for key, section in sections:
        if key in _WITHOUT_FORMULAS:
            continue
        items = [(key, section)]
        if isinstance(section, list):
            items = [(f"{key}[{place}]", item) for place, item in enumerate(section)]
        elif isinstance(section, dict):
            items = list(section.items())
        for place, item in items:
            name = item.get("name") if isinstance(item, dict) else None
            yield name if isinstance(name, str) else place, item


def _extent_of(part: Any) -> Extent:
    """The size of a step: of its formulas, and a term for each condition, entry of a table, and result of a rule."""
    formulas: list[str] = []
    values = 0
    stack = [part]
    while stack:
        found = stack.pop()
        if isinstance(found, str):
            formulas.append(found)
        elif isinstance(found, list):
            stack += found
        elif isinstance(found, dict):
            for key, inner in found.items():
                if key in _ENTRIES:
                    values += len(inner) if isinstance(inner, list | dict) else 1
                elif key not in _PROSE:
                    stack.append(inner)
        else:
            values += 1
    terms, symbols = extent(formulas) if formulas else (0, 0)
    return Extent(terms + values, symbols + values)


def _place(source: Source, pattern: str) -> Span:
    """Where the pattern first matches; the beginning where it does not."""
    found = re.search(pattern, source.text)
    return Span(source, *(found.span() if found else (0, 0)))
