"""Every rule over a program, and what the seed allows of their findings.

In: a program as written, and as checked; of one with errors, its sound steps. Out: warnings.
"""

from __future__ import annotations

from formulaseed.diagnostics.model import Diagnostic, Problems
from formulaseed.ir import nodes
from formulaseed.lint.keywords import lint_keywords
from formulaseed.lint.lookups import lint_lookups
from formulaseed.lint.outcomes import lint_outcomes
from formulaseed.lint.usage import lint_usage
from formulaseed.lint.years import lint_years
from formulaseed.syntax import surface
from formulaseed.syntax.surface import Allowance


def lint(written: surface.Program, program: nodes.Program, problems: Problems) -> None:
    lint_keywords(written.keywords, problems)
    lint_lookups(written, problems)
    lint_years(program, problems)
    lint_outcomes(program, problems)
    if not problems.has_errors:  # a misspelt name makes another look unused
        lint_usage(program, written, problems)


def allow(allowances: tuple[Allowance, ...], problems: Problems) -> None:
    """Take back the warnings that the seed allows; warn of an allowance that allows nothing."""
    needless = []
    taken: set[Diagnostic] = set()
    for allowance in allowances:
        matching = [d for d in problems.sorted() if d.severity == "warning" and _covers(allowance, d)]
        taken.update(matching)
        if not matching:
            needless.append(allowance)
    problems.discard(taken)
    if not problems.has_errors:
        for allowance in needless:
            code = allowance.code
            problems.add("FS620", code.span, f"`{code.text}` is not told here", "remove the allowance")


def _covers(allowance: Allowance, found: Diagnostic) -> bool:
    """Whether a warning is of the code, and stands in the object that holds the allowance."""
    inside = found.pointer == allowance.scope or found.pointer.startswith(f"{allowance.scope}/")
    return found.code == allowance.code.text and inside
