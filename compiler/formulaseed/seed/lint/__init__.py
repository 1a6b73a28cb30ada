"""Warns of likely mistakes by every rule over a program, and applies the seed's suppressions.

In: a program as written, and as checked; of one with errors, its sound steps. Out: warnings and notes, of a code that
says the same of several keywords, values or inputs a single one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from formulaseed.diagnostics.catalogue import lint as catalogue
from formulaseed.diagnostics.model import Diagnostic, Problems
from formulaseed.ir import nodes
from formulaseed.seed import surface
from formulaseed.seed.lint.comparisons import lint_comparisons
from formulaseed.seed.lint.keywords import lint_keywords
from formulaseed.seed.lint.program import lint_lookups, lint_outcomes, lint_usage, lint_years
from formulaseed.seed.surface import Suppression


def lint(written: surface.Program, program: nodes.Program, problems: Problems) -> None:
    """Report likely mistakes in a program, which is given as written and as checked."""
    lint_keywords(written.keywords, problems)
    lint_lookups(written, program, problems)
    lint_years(program, problems)
    lint_comparisons(program, problems)
    lint_outcomes(program, problems)
    if not problems.has_errors:  # a misspelt name makes another look unused
        lint_usage(program, written, problems)


def suppress(suppressions: tuple[Suppression, ...], problems: Problems) -> None:
    """Discard the warnings that the seed suppresses, note suppressions that cover nothing, and merge the rest by code."""
    covered: dict[tuple[str, str], list[Diagnostic]] = {}
    for warning in problems.sorted() if suppressions else ():
        for scope in _scopes(warning.pointer) if warning.severity != "error" else ():
            covered.setdefault((warning.code, scope), []).append(warning)
    suppressed = [covered.get((suppression.code.text, suppression.scope), []) for suppression in suppressions]
    unused = [suppression.code for suppression, warnings in zip(suppressions, suppressed, strict=True) if not warnings]
    problems.discard(chain.from_iterable(suppressed))
    for code in unused if not problems.has_errors else ():
        problems.report(catalogue.unused_suppression(code.span, code.text))
    problems.merge(catalogue.merge_by_code)


def _scopes(pointer: str) -> Iterator[str]:
    """Yield the places whose suppressions cover a warning: its own, and those of the objects around it."""
    yield pointer
    while pointer:
        pointer = pointer.rpartition("/")[0]
        yield pointer
