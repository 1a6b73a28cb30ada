"""The table of diagnostics: a stable code, the name of the problem, the severity, and a page of `pages/` for each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from formulaseed.source.text import one_line

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Code:
    code: str
    name: str
    severity: Severity = "error"


_TABLE = (
    # FS0: reading the file
    Code("FS001", "invalid-json"),
    Code("FS002", "invalid-utf8"),
    Code("FS003", "file-too-large"),
    Code("FS004", "nesting-too-deep"),
    Code("FS005", "duplicate-key"),
    Code("FS006", "number-out-of-range"),
    Code("FS007", "invalid-character"),
    Code("FS008", "not-a-seed"),
    # FS1: the syntax of formulas
    Code("FS101", "invalid-formula"),
    Code("FS102", "incomplete-formula"),
    Code("FS103", "unsupported-syntax"),
    Code("FS104", "formula-too-large"),
    # FS2: names and order
    Code("FS201", "unknown-name"),
    Code("FS202", "used-before-definition"),
    Code("FS203", "duplicate-name"),
    Code("FS204", "unknown-field"),
    Code("FS205", "misused-filter"),
    Code("FS206", "invalid-name"),
    Code("FS207", "unknown-function"),
    # FS3: types and nulls
    Code("FS301", "type-mismatch"),
    Code("FS302", "unknown-enum-value"),
    Code("FS303", "wrong-arguments"),
    Code("FS304", "non-boolean-condition"),
    Code("FS305", "possibly-null", "warning"),
    Code("FS306", "always-fails"),
    # FS4: per review or per restaurant
    Code("FS401", "review-value-outside-aggregate"),
    # FS5: the rules of a seed
    Code("FS501", "unknown-key"),
    Code("FS502", "missing-key"),
    Code("FS503", "wrong-json-type"),
    Code("FS504", "unknown-operation"),
    Code("FS505", "unknown-operator"),
    Code("FS506", "case-without-else"),
    Code("FS507", "missing-default"),
    Code("FS508", "invalid-table"),
    Code("FS509", "invalid-value"),
    Code("FS510", "limit-exceeded"),
    Code("FS511", "conflicting-keys"),
    Code("FS512", "invalid-suppression"),
    # FS6: likely mistakes
    Code("FS601", "lookup-without-default", "warning"),
    Code("FS602", "unused-step", "warning"),
    Code("FS603", "constant-comparison", "warning"),
    Code("FS604", "possible-division-by-zero", "warning"),
    Code("FS605", "possible-domain-error", "warning"),
    Code("FS606", "possible-overflow", "warning"),
    Code("FS607", "unreachable-rule", "warning"),
    Code("FS608", "constant-result", "warning"),
    Code("FS609", "missing-bound", "warning"),
    Code("FS610", "constant-filter", "warning"),
    Code("FS611", "unused-input", "warning"),
    Code("FS612", "unused-enum-value", "warning"),
    Code("FS613", "hard-coded-year", "warning"),
    Code("FS614", "keyword-inside-word", "warning"),
    Code("FS615", "keyword-misses-inflection", "warning"),
    Code("FS616", "keyword-never-matches", "warning"),
    Code("FS617", "redundant-keyword", "warning"),
    Code("FS618", "overlapping-lookup-keys", "warning"),
    Code("FS619", "redundant-lookup-entry", "warning"),
    Code("FS620", "unused-suppression", "warning"),
    Code("FS621", "constant-aggregate", "warning"),
    # FS7: modules
    Code("FS701", "modified-module"),
    # FS8: requests
    Code("FS811", "invalid-request-id"),
    Code("FS812", "id-group-mismatch", "warning"),
    Code("FS813", "group-structure-mismatch", "warning"),
    Code("FS814", "shorthand-mismatch", "warning"),
    Code("FS815", "empty-string"),
    Code("FS816", "restatement-mismatch", "warning"),
    Code("FS817", "unused-key", "warning"),
    # FS8: the patterns of requests
    Code("FS801", "invalid-pattern"),
    Code("FS802", "unsupported-pattern"),
    Code("FS803", "pattern-too-slow"),
    Code("FS804", "pattern-too-large"),
    # FS82: the shorthand of requests; its commands take these for errors
    Code("FS821", "invalid-shorthand", "warning"),
    Code("FS822", "unknown-shorthand-operator", "warning"),
    Code("FS823", "shorthand-too-large", "warning"),
    # FS9: a bug of ours
    Code("FS901", "internal-error"),
)

CODES: dict[str, Code] = {entry.code: entry for entry in _TABLE}

SEED_WARNINGS: tuple[str, ...] = tuple(
    entry.code for entry in _TABLE if entry.severity == "warning" and not entry.code.startswith("FS8")
)
"""The warnings that a seed can raise and suppress; those of requests are not among them."""


@cache
def page(code: str) -> str:
    """Return the page of a code, in Markdown: a heading, a paragraph, an example, what to write instead."""
    return (Path(__file__).parent / "pages" / f"{code}.md").read_text(encoding="utf-8")


def explanation(code: str) -> str:
    """Return the paragraph of a page, on one line."""
    return one_line(page(code).split("\n\n")[1])


def headline(code: str) -> str:
    """Return the first sentence of that paragraph."""
    return re.split(r"(?<=[.!?]) ", explanation(code))[0]
