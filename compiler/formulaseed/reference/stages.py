"""The five stages in which a formula is validated, and what became of each.

In: diagnostics, and whether the formula was evaluated. Out: a word for each stage. The stages are names for what the
phases of the compiler report: nothing is checked here.
"""

from __future__ import annotations

from collections.abc import Sequence

from formulaseed.diagnostics.model import Diagnostic

STAGES = ("syntax", "security", "fields", "types", "execution")
PASSED, WARNED, FAILED, NOT_REACHED = "passed", "warned", "failed", "not reached"

_STAGES = {
    "FS104": "security", "FS2": "fields", "FS305": "execution", "FS306": "execution", "FS3": "types",
    "FS6": "execution", "FS9": "execution",
}  # fmt: skip
"""The stage of each code, or of those that begin so: the first that fits."""


def stage_of(diagnostic: Diagnostic) -> str:
    """The stage that has found it."""
    if diagnostic.is_security:
        return "security"
    return next((stage for begin, stage in _STAGES.items() if diagnostic.code.startswith(begin)), "syntax")


def stages(diagnostics: Sequence[Diagnostic], *, is_evaluated: bool, has_failed: bool) -> dict[str, str]:
    """A word for each stage; behind one that failed, those that found nothing were not reached."""
    found: dict[str, str] = {}
    for stage in STAGES:
        severities = {d.severity for d in diagnostics if stage_of(d) == stage}
        if "error" in severities or (stage == "execution" and has_failed):
            found[stage] = FAILED
        elif FAILED in found.values() or (stage == "execution" and not is_evaluated and not severities):
            found[stage] = NOT_REACHED
        else:
            found[stage] = WARNED if severities else PASSED
    return found
