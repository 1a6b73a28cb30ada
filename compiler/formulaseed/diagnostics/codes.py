"""The table of diagnostics: a stable code, a name for the problem, a severity. Each has a page in explain/."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Code:
    code: str
    name: str
    severity: Severity = "error"


_TABLE = (
    # FS0: reading the file
    Code("FS001", "invalid-json"),
    Code("FS002", "not-utf8"),
    Code("FS003", "file-too-large"),
    Code("FS004", "nested-too-deeply"),
    Code("FS005", "duplicate-key"),
    Code("FS006", "number-out-of-range"),
    Code("FS007", "unusable-character"),
    Code("FS008", "not-a-seed"),
    # FS1: the syntax of formulas
    Code("FS101", "formula-syntax"),
    Code("FS102", "unfinished-formula"),
    Code("FS103", "not-in-the-language"),
    Code("FS104", "formula-too-large"),
    # FS2: names and order
    Code("FS201", "unknown-name"),
    Code("FS202", "used-before-definition"),
    Code("FS203", "duplicate-name"),
    Code("FS204", "unknown-field"),
    Code("FS205", "filter-misused"),
    Code("FS206", "invalid-name"),
    Code("FS207", "unknown-function"),
    # FS3: types and nulls
    Code("FS301", "type-mismatch"),
    Code("FS302", "unknown-enum-value"),
    Code("FS303", "wrong-arguments"),
    Code("FS304", "condition-not-boolean"),
    Code("FS305", "may-be-null", "warning"),
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
    Code("FS507", "default-needed"),
    Code("FS508", "invalid-table"),
    Code("FS509", "invalid-value"),
    Code("FS510", "too-many"),
    Code("FS511", "conflicting-keys"),
    Code("FS512", "invalid-allowance"),
    # FS6: likely mistakes
    Code("FS601", "lookup-without-default", "warning"),
    Code("FS602", "unused-step", "warning"),
    Code("FS603", "comparison-already-decided", "warning"),
    Code("FS604", "may-divide-by-zero", "warning"),
    Code("FS605", "may-be-outside-domain", "warning"),
    Code("FS606", "may-overflow", "warning"),
    Code("FS607", "rule-never-fires", "warning"),
    Code("FS608", "never-varies", "warning"),
    Code("FS609", "bounded-on-one-side", "warning"),
    Code("FS610", "filter-never-varies", "warning"),
    Code("FS611", "unused-input", "warning"),
    Code("FS612", "unused-enum-value", "warning"),
    Code("FS613", "year-that-ages", "warning"),
    Code("FS614", "keyword-inside-words", "warning"),
    Code("FS615", "keyword-misses-inflection", "warning"),
    Code("FS616", "keyword-never-matches", "warning"),
    Code("FS617", "keyword-adds-nothing", "warning"),
    Code("FS618", "lookup-keys-overlap", "warning"),
    Code("FS619", "lookup-entry-is-default", "warning"),
    Code("FS620", "allowance-not-needed", "warning"),
    Code("FS621", "aggregate-of-constant", "warning"),
    # FS7: modules
    Code("FS701", "module-not-as-compiled"),
    # FS8: requests
    Code("FS811", "request-id-format"),
    Code("FS812", "id-and-group-disagree", "warning"),
    Code("FS813", "group-pattern", "warning"),
    Code("FS814", "shorthand-disagrees", "warning"),
    Code("FS815", "empty-text"),
    Code("FS816", "restatement-disagrees", "warning"),
    Code("FS817", "key-without-effect", "warning"),
    # FS8: the patterns of requests
    Code("FS801", "pattern-syntax"),
    Code("FS802", "pattern-not-in-the-language"),
    Code("FS803", "pattern-takes-too-long"),
    Code("FS804", "pattern-too-large"),
    # FS82: the shorthand of requests; its commands take these for errors
    Code("FS821", "shorthand-syntax", "warning"),
    Code("FS822", "unknown-shorthand-operator", "warning"),
    Code("FS823", "shorthand-too-large", "warning"),
    # FS9: a bug of ours
    Code("FS901", "internal-error"),
)

CODES: dict[str, Code] = {entry.code: entry for entry in _TABLE}

SEED_WARNINGS: tuple[str, ...] = tuple(
    entry.code for entry in _TABLE if entry.severity == "warning" and not entry.code.startswith("FS8")
)
"""The warnings that a seed can give, and may suppress: those of requests are none of them."""
