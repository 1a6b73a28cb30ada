"""A first look at a large file: refuses what is over a limit before every value is given its place.

In: the text. Out: what is too many, or None. Reads with the standard library, which is fast and knows no places;
a text that it cannot read is left to the reader that says why.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from formulaseed import limits
from formulaseed.diagnostics.catalogue import reading as catalogue
from formulaseed.diagnostics.model import Diagnostic
from formulaseed.language.extent import Extent, extent
from formulaseed.source.text import Source, Span

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
_PROSE = frozenset(("name", "op", "description", "use_case", "sources", "allow"))


def too_many(source: Source) -> Diagnostic | None:
    """Return the first section of a large text that is over its limit, or that all its formulas together are."""
    text = source.text
    if len(text) < _LARGE:
        return None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    for key, value, most in _sections(document):
        if isinstance(value, list | dict) and len(value) > most:
            return catalogue.too_many_entries(_place(source, re.escape(f'"{key}"')), key, len(value), most)
    return _too_large(document, source) if len(text) > limits.FILE_TERMS else None


def _sections(seed: Any) -> Iterator[tuple[str, Any, int]]:
    if not isinstance(seed, dict):
        return
    for key in ("compute", "compute_dag"):
        yield key, seed.get(key), limits.STEPS
    for key in ("output", "output_fields"):
        yield key, seed.get(key), limits.OUTPUTS
    yield "filter_keywords", seed.get("filter_keywords"), limits.KEYWORDS
    yield "extraction_fields", seed.get("extraction_fields"), limits.FIELDS
    yield "parameters", seed.get("parameters"), limits.PARAMETERS
    for section, key, most in (("filter", "keywords", limits.KEYWORDS), ("extract", "fields", limits.FIELDS)):
        if isinstance(seed.get(section), dict):
            yield key, seed[section].get(key), most
    steps = seed.get("compute")
    for step in steps if isinstance(steps, list) else ():
        if isinstance(step, dict):
            yield "table", step.get("table"), limits.TABLE_ENTRIES
            yield "rules", step.get("rules"), limits.CASE_RULES


def _too_large(document: Any, source: Source) -> Diagnostic | None:
    """Return whether the formulas, conditions, tables and rules of the file are too large together, and where most is."""
    sizes = [(name, _extent_of(part)) for name, part in _parts(document)]
    for index, (what, most) in enumerate((("term", limits.FILE_TERMS), ("symbol", limits.FILE_SYMBOLS))):
        total = sum(size[index] for _, size in sizes)
        if total > most:
            name, largest = max(sizes, key=lambda each: each[1][index])
            written = re.escape(json.dumps(name, ensure_ascii=False))
            span = _place(source, rf'"name"\s*:\s*{written}|{written}\s*:')
            return catalogue.too_many_terms(span, total, what, most, largest[index], name)
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
    """Return where the pattern first matches; the beginning if it does not."""
    found = re.search(pattern, source.text)
    return Span(source, *(found.span() if found else (0, 0)))
