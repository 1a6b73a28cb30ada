"""Likely mistakes: every rule over a program, and the suppression of what they report.

In: a program as written, and as checked; of one with errors, its sound steps. Out: warnings and notes, of a code that
says the same of several keywords, values or inputs a single one.
"""

from __future__ import annotations

from collections.abc import Iterator

from formulaseed.diagnostics.catalogue import lint as catalogue
from formulaseed.diagnostics.model import Diagnostic, Problems
from formulaseed.ir import nodes
from formulaseed.seed import surface
from formulaseed.seed.lint.comparisons import lint_comparisons
from formulaseed.seed.lint.keywords import lint_keywords
from formulaseed.seed.lint.program import lint_lookups, lint_outcomes, lint_usage, lint_years
from formulaseed.seed.surface import Suppression


def lint(written: surface.Program, program: nodes.Program, problems: Problems) -> None:
    lint_keywords(written.keywords, problems)
    lint_lookups(written, problems)
    lint_years(program, problems)
    lint_comparisons(program, problems)
    lint_outcomes(program, problems)
    if not problems.has_errors:  # a misspelt name makes another look unused
        lint_usage(program, written, problems)


def suppress(suppressions: tuple[Suppression, ...], problems: Problems) -> None:
    """Take back what the seed suppresses, note a suppression that covers nothing, and merge what is left by its code."""
    covered: dict[tuple[str, str], list[Diagnostic]] = {}
    for found in problems.sorted() if suppressions else ():
        for scope in _scopes(found.pointer) if found.severity != "error" else ():
            covered.setdefault((found.code, scope), []).append(found)
    of_each = [(each, covered.get((each.code.text, each.scope), [])) for each in suppressions]
    needless = [each.code for each, matching in of_each if not matching]
    problems.discard(found for _, matching in of_each for found in matching)
    for code in needless if not problems.has_errors else ():
        problems.report(catalogue.unused_suppression(code.span, code.text))
    problems.merge(catalogue.merged)


def _scopes(pointer: str) -> Iterator[str]:
    """Yield the places whose suppressions cover a warning: its own, and those of the objects around it."""
    yield pointer
    while pointer:
        pointer = pointer.rpartition("/")[0]
        yield pointer
