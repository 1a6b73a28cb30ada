"""The five stages in which a formula is validated, and what became of each.

In: diagnostics, and whether the formula was evaluated. Out: a word for each stage. The stages are names for what the
phases of the compiler tell: nothing is checked here.
"""

from __future__ import annotations

from collections.abc import Sequence

from formulaseed.diagnostics.model import Diagnostic

STAGES = ("syntax", "security", "fields", "types", "execution")
PASSED, WARNED, FAILED, NOT_REACHED = "passed", "warned", "failed", "not reached"

_SECURITY = ("FS103", "FS104", "FS207")
"""What formulas may not contain: syntax beyond the language, sizes beyond the limits, unknown functions."""

_EXECUTION = ("FS305", "FS306", "FS6", "FS9")
_FIELDS = ("FS2",)
_TYPES = ("FS3",)


def stage_of(diagnostic: Diagnostic) -> str:
    """The stage that has found it."""
    code = diagnostic.code
    if code.startswith(_SECURITY):
        return "security"
    if code.startswith(_EXECUTION):
        return "execution"
    if code.startswith(_FIELDS):
        return "fields"
    return "types" if code.startswith(_TYPES) else "syntax"


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
