"""Define the table of diagnostics: a stable code, the severity and the name of the problem; `pages/` has a page for each."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from formulaseed.source.text import one_line

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""The severities, the worst first. A warning is likely a wrong result; a note is about style."""


class CodeEntry(NamedTuple):
    """A code such as `FS201`, the severity of its diagnostics, and the name of the problem, such as `unknown-name`."""

    code: str
    severity: Severity
    name: str


_TABLE = (
    # FS0: reading the file
    CodeEntry("FS001", "error", "invalid-json"),
    CodeEntry("FS002", "error", "invalid-utf8"),
    CodeEntry("FS003", "error", "file-too-large"),
    CodeEntry("FS004", "error", "nesting-too-deep"),
    CodeEntry("FS005", "error", "duplicate-key"),
    CodeEntry("FS006", "error", "number-out-of-range"),
    CodeEntry("FS007", "error", "invalid-character"),
    CodeEntry("FS008", "error", "not-a-seed"),
    # FS1: the syntax of formulas
    CodeEntry("FS101", "error", "invalid-formula"),
    CodeEntry("FS102", "error", "incomplete-formula"),
    CodeEntry("FS103", "error", "unsupported-syntax"),
    CodeEntry("FS104", "error", "formula-too-large"),
    # FS2: names and order
    CodeEntry("FS201", "error", "unknown-name"),
    CodeEntry("FS202", "error", "used-before-definition"),
    CodeEntry("FS203", "error", "duplicate-name"),
    CodeEntry("FS204", "error", "unknown-field"),
    CodeEntry("FS205", "error", "misused-filter"),
    CodeEntry("FS206", "error", "invalid-name"),
    CodeEntry("FS207", "error", "unknown-function"),
    # FS3: types and nulls
    CodeEntry("FS301", "error", "type-mismatch"),
    CodeEntry("FS302", "error", "unknown-enum-value"),
    CodeEntry("FS303", "error", "wrong-arguments"),
    CodeEntry("FS304", "error", "non-boolean-condition"),
    CodeEntry("FS305", "warning", "possibly-null"),
    CodeEntry("FS306", "error", "always-fails"),
    # FS4: per review or per restaurant
    CodeEntry("FS401", "error", "review-value-outside-aggregate"),
    # FS5: the rules of a seed
    CodeEntry("FS501", "error", "unknown-key"),
    CodeEntry("FS502", "error", "missing-key"),
    CodeEntry("FS503", "error", "wrong-json-type"),
    CodeEntry("FS504", "error", "unknown-operation"),
    CodeEntry("FS505", "error", "unknown-operator"),
    CodeEntry("FS506", "error", "case-without-else"),
    CodeEntry("FS507", "error", "missing-default"),
    CodeEntry("FS508", "error", "invalid-table"),
    CodeEntry("FS509", "error", "invalid-value"),
    CodeEntry("FS510", "error", "limit-exceeded"),
    CodeEntry("FS511", "error", "conflicting-keys"),
    CodeEntry("FS512", "error", "invalid-suppression"),
    # FS6: likely mistakes
    CodeEntry("FS601", "warning", "lookup-without-default"),
    CodeEntry("FS602", "warning", "unused-step"),
    CodeEntry("FS603", "warning", "constant-comparison"),
    CodeEntry("FS604", "warning", "possible-division-by-zero"),
    CodeEntry("FS605", "warning", "possible-domain-error"),
    CodeEntry("FS606", "warning", "possible-overflow"),
    CodeEntry("FS607", "warning", "unreachable-rule"),
    CodeEntry("FS608", "warning", "constant-result"),
    CodeEntry("FS609", "warning", "missing-bound"),
    CodeEntry("FS610", "warning", "constant-filter"),
    CodeEntry("FS611", "note", "unused-input"),
    CodeEntry("FS612", "note", "unused-enum-value"),
    CodeEntry("FS613", "warning", "hard-coded-year"),
    CodeEntry("FS614", "warning", "keyword-inside-word"),
    CodeEntry("FS615", "note", "keyword-misses-inflection"),
    CodeEntry("FS616", "warning", "keyword-never-matches"),
    CodeEntry("FS617", "note", "redundant-keyword"),
    CodeEntry("FS618", "warning", "overlapping-lookup-keys"),
    CodeEntry("FS619", "note", "redundant-lookup-entry"),
    CodeEntry("FS620", "note", "unused-suppression"),
    CodeEntry("FS621", "warning", "constant-aggregate"),
    CodeEntry("FS622", "warning", "identical-operands"),
    CodeEntry("FS623", "warning", "exact-match-in-list"),
    CodeEntry("FS624", "warning", "or-replaces-value"),
    CodeEntry("FS625", "warning", "inexact-comparison"),
    CodeEntry("FS627", "warning", "quoted-placeholder"),
    CodeEntry("FS628", "warning", "case-mismatch"),
    CodeEntry("FS629", "warning", "surrounding-space"),
    CodeEntry("FS630", "warning", "comparison-outside-range"),
    CodeEntry("FS631", "warning", "keys-alike"),
    # FS64: what a seed cites, compared with its policy by `check --policy`
    CodeEntry("FS641", "error", "sentence-not-in-policy"),
    CodeEntry("FS642", "warning", "value-not-in-policy"),
    CodeEntry("FS643", "warning", "uncited-sentence"),
    CodeEntry("FS644", "warning", "part-without-source"),
    # FS7: modules and other targets
    CodeEntry("FS701", "error", "modified-module"),
    CodeEntry("FS702", "error", "unsupported-by-target"),
    CodeEntry("FS703", "error", "inexact-in-dialect"),
    CodeEntry("FS704", "error", "column-clash"),
    CodeEntry("FS705", "error", "query-too-large"),
    CodeEntry("FS706", "warning", "often-handed-back"),
    # FS8: requests: patterns (FS80), structures (FS81) and shorthands (FS82), whose commands take warnings for errors
    CodeEntry("FS801", "error", "invalid-pattern"),
    CodeEntry("FS802", "error", "unsupported-pattern"),
    CodeEntry("FS803", "error", "pattern-too-slow"),
    CodeEntry("FS804", "error", "pattern-too-large"),
    CodeEntry("FS811", "error", "invalid-request-id"),
    CodeEntry("FS812", "warning", "id-group-mismatch"),
    CodeEntry("FS813", "warning", "group-structure-mismatch"),
    CodeEntry("FS814", "warning", "shorthand-mismatch"),
    CodeEntry("FS815", "error", "empty-string"),
    CodeEntry("FS816", "warning", "restatement-mismatch"),
    CodeEntry("FS817", "warning", "unused-key"),
    CodeEntry("FS818", "note", "bare-structure"),
    CodeEntry("FS819", "note", "misleading-name"),
    CodeEntry("FS821", "warning", "invalid-shorthand"),
    CodeEntry("FS822", "warning", "unknown-shorthand-operator"),
    CodeEntry("FS823", "warning", "shorthand-too-large"),
    # FS9: a bug of ours
    CodeEntry("FS901", "error", "internal-error"),
)

CODES = {entry.code: entry for entry in _TABLE}

POLICY_CODES = frozenset(code for code in CODES if code.startswith("FS64"))
"""The codes that only the comparison of a seed with its policy reports."""
SUPPRESSIBLE = tuple(code for code, entry in CODES.items() if entry.severity != "error" and not code.startswith("FS8"))
"""The warnings and notes that a seed can raise and suppress; those of requests are not among them."""


@cache
def read_page(code: str) -> str:
    """Read the page of a code, in Markdown: a heading, a paragraph, an example, and the text to write instead.

    Raises `FileNotFoundError` for an unknown code.
    """
    return (Path(__file__).parent / "pages" / f"{code}.md").read_text(encoding="utf-8")


def read_explanation(code: str) -> str:
    """Return the first paragraph of a code's page, on one line."""
    return one_line(read_page(code).split("\n\n")[1])


def read_headline(code: str) -> str:
    """Return the first sentence of a code's page."""
    return re.split(r"(?<=[.!?]) ", read_explanation(code))[0]
