"""Every rule over a program, and what the seed allows of their findings.

In: a program as written, and as checked; of one with errors, its sound steps. Out: warnings.
"""

from __future__ import annotations

from collections.abc import Iterator

from formulaseed.diagnostics.model import Diagnostic, Problems
from formulaseed.ir import nodes
from formulaseed.seed import surface
from formulaseed.seed.lint.keywords import lint_keywords
from formulaseed.seed.lint.lookups import lint_lookups
from formulaseed.seed.lint.outcomes import lint_outcomes
from formulaseed.seed.lint.usage import lint_usage
from formulaseed.seed.lint.years import lint_years
from formulaseed.seed.surface import Allowance


def lint(written: surface.Program, program: nodes.Program, problems: Problems) -> None:
    lint_keywords(written.keywords, problems)
    lint_lookups(written, problems)
    lint_years(program, problems)
    lint_outcomes(program, problems)
    if not problems.has_errors:  # a misspelt name makes another look unused
        lint_usage(program, written, problems)


def allow(allowances: tuple[Allowance, ...], problems: Problems) -> None:
    """Take back the warnings that the seed allows; warn of an allowance that allows nothing."""
    if not allowances:
        return
    covered: dict[tuple[str, str], list[Diagnostic]] = {}
    for found in problems.sorted():
        for scope in _scopes(found.pointer) if found.severity == "warning" else ():
            covered.setdefault((found.code, scope), []).append(found)
    of_each = [(allowance, covered.get((allowance.code.text, allowance.scope), [])) for allowance in allowances]
    needless = [allowance for allowance, matching in of_each if not matching]
    problems.discard(found for _, matching in of_each for found in matching)
    if not problems.has_errors:
        for allowance in needless:
            code = allowance.code
            problems.add("FS620", code.span, f"`{code.text}` is not told here", "remove the allowance")


def _scopes(pointer: str) -> Iterator[str]:
    """The places whose allowances cover a warning: its own, and those of the objects around it."""
    yield pointer
    while pointer:
        pointer = pointer.rpartition("/")[0]
        yield pointer
