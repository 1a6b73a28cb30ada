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
class CodeEntry:
    code: str
    name: str
    severity: Severity = "error"


_ERRORS = {
    # FS0: reading the file
    "FS001": "invalid-json", "FS002": "invalid-utf8", "FS003": "file-too-large", "FS004": "nesting-too-deep",
    "FS005": "duplicate-key", "FS006": "number-out-of-range", "FS007": "invalid-character", "FS008": "not-a-seed",
    # FS1: the syntax of formulas
    "FS101": "invalid-formula", "FS102": "incomplete-formula", "FS103": "unsupported-syntax",
    "FS104": "formula-too-large",
    # FS2: names and order
    "FS201": "unknown-name", "FS202": "used-before-definition", "FS203": "duplicate-name", "FS204": "unknown-field",
    "FS205": "misused-filter", "FS206": "invalid-name", "FS207": "unknown-function",
    # FS3: types and nulls
    "FS301": "type-mismatch", "FS302": "unknown-enum-value", "FS303": "wrong-arguments",
    "FS304": "non-boolean-condition", "FS306": "always-fails",
    # FS4: per review or per restaurant
    "FS401": "review-value-outside-aggregate",
    # FS5: the rules of a seed
    "FS501": "unknown-key", "FS502": "missing-key", "FS503": "wrong-json-type", "FS504": "unknown-operation",
    "FS505": "unknown-operator", "FS506": "case-without-else", "FS507": "missing-default", "FS508": "invalid-table",
    "FS509": "invalid-value", "FS510": "limit-exceeded", "FS511": "conflicting-keys", "FS512": "invalid-suppression",
    # FS7: modules
    "FS701": "modified-module",
    # FS8: requests, and their patterns (FS80)
    "FS801": "invalid-pattern", "FS802": "unsupported-pattern", "FS803": "pattern-too-slow",
    "FS804": "pattern-too-large", "FS811": "invalid-request-id", "FS815": "empty-string",
    # FS9: a bug of ours
    "FS901": "internal-error",
}  # fmt: skip
_WARNINGS = {
    # FS3: types and nulls
    "FS305": "possibly-null",
    # FS6: likely mistakes
    "FS601": "lookup-without-default", "FS602": "unused-step", "FS603": "constant-comparison",
    "FS604": "possible-division-by-zero", "FS605": "possible-domain-error", "FS606": "possible-overflow",
    "FS607": "unreachable-rule", "FS608": "constant-result", "FS609": "missing-bound", "FS610": "constant-filter",
    "FS611": "unused-input", "FS612": "unused-enum-value", "FS613": "hard-coded-year", "FS614": "keyword-inside-word",
    "FS615": "keyword-misses-inflection", "FS616": "keyword-never-matches", "FS617": "redundant-keyword",
    "FS618": "overlapping-lookup-keys", "FS619": "redundant-lookup-entry", "FS620": "unused-suppression",
    "FS621": "constant-aggregate",
    # FS8: requests, and their shorthands (FS82), whose commands take these for errors
    "FS812": "id-group-mismatch", "FS813": "group-structure-mismatch", "FS814": "shorthand-mismatch",
    "FS816": "restatement-mismatch", "FS817": "unused-key", "FS821": "invalid-shorthand",
    "FS822": "unknown-shorthand-operator", "FS823": "shorthand-too-large",
}  # fmt: skip

CODES = {code: CodeEntry(code, name) for code, name in _ERRORS.items()}
CODES |= {code: CodeEntry(code, name, "warning") for code, name in _WARNINGS.items()}
CODES = dict(sorted(CODES.items()))

SEED_WARNINGS = tuple(code for code in sorted(_WARNINGS) if not code.startswith("FS8"))
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
