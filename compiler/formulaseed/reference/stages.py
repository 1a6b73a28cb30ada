"""The five stages in which a formula is validated, and what became of each.

In: diagnostics, and whether the formula was evaluated. Out: a word for each stage. The stages are names for what the
phases of the compiler report: nothing is checked here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from formulaseed.diagnostics.model import Diagnostic
from formulaseed.source.text import Span

STAGES = ("syntax", "security", "fields", "types", "execution")
PASSED, WARNED, FAILED, NOT_REACHED = "passed", "warned", "failed", "not reached"

_SECURITY = (
    ("FS104", r""),
    ("FS1", r"\b__\w+__\b"),
    ("FS2", r"\b__\w+__\b"),
    ("FS101", r"^[bBuU]?[fF]\s*['\"]"),
    (
        "FS103",
        r"\b(?:lambda|for|while|def|import|return|class|yield|await|async|with|del|exec|try|select)\b|:=|[\[{};]",
    ),
    ("FS103", r"\.\s*[A-Za-z_]"),
    ("FS207", r"\b(?:eval|exec|compile|open|input|print|[gs]etattr|delattr|hasattr|globals|locals|vars|dir|type)\b"),
)
"""What formulas may not contain, as codes with what is read there: sizes beyond the limits, Python's inner names,
computed strings, statements, loops, indexing, methods, and the functions that reach beyond values."""

_EXECUTION = ("FS305", "FS306", "FS6", "FS9")
_FIELDS = ("FS2",)
_TYPES = ("FS3",)


def stage_of(diagnostic: Diagnostic) -> str:
    """The stage that has found it."""
    code, read = diagnostic.code, _read(diagnostic.span)
    if any(code.startswith(begin) and re.search(pattern, read, re.IGNORECASE) for begin, pattern in _SECURITY):
        return "security"
    if code.startswith(_EXECUTION):
        return "execution"
    if code.startswith(_FIELDS):
        return "fields"
    return "types" if code.startswith(_TYPES) else "syntax"


def _read(span: Span) -> str:
    """Return the text at fault with the word before it, such as `lambda` before a colon."""
    text = span.source.text
    before = re.search(r"\w*\s*$", text[max(0, span.start - 40) : span.start])
    return f"{before.group() if before else ''}{text[span.start : span.end]}"


def stages(diagnostics: Sequence[Diagnostic], *, is_evaluated: bool, has_failed: bool) -> dict[str, str]:
    """A word for each stage; behind one that failed, those that found nothing were not reached."""
    found: dict[str, str] = {}
    broken = False
    for stage in STAGES:
        severities = {d.severity for d in diagnostics if stage_of(d) == stage}
        if stage == "execution" and has_failed:
            severities.add("error")
        if "error" in severities:
            found[stage], broken = FAILED, True
        elif broken or (stage == "execution" and not is_evaluated and "warning" not in severities):
            found[stage] = NOT_REACHED
        else:
            found[stage] = WARNED if "warning" in severities else PASSED
    return found
