"""Warns of likely mistakes by running every lint over a program, and applies the seed's suppressions.

In: a program as written, and as checked; if it has errors, only its valid steps are. Out: warnings and notes; those of one code
that say the same of several keywords, values or inputs are merged.
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
    """Add warnings of likely mistakes to `problems`. `written` and `program` are the same seed, parsed and checked.

    Unused parts are only looked for if `problems` has no errors.
    """
    lint_keywords(written.keywords, problems)
    lint_lookups(written, program, problems)
    lint_years(program, problems)
    lint_comparisons(program, problems)
    lint_outcomes(program, problems)
    if not problems.has_errors:  # a misspelt name makes another look unused
        lint_usage(program, written, problems)


def suppress(suppressions: tuple[Suppression, ...], problems: Problems) -> None:
    """Remove the warnings that the seed suppresses from `problems`, and merge the rest by code.

    Errors are never removed. If there are none, suppressions that cover nothing are reported; otherwise errors may hide
    what they cover.
    """
    covered: dict[tuple[str, str], list[Diagnostic]] = {}
    warnings = [problem for problem in problems.sorted() if problem.severity != "error"] if suppressions else []
    for warning in warnings:
        for scope in _list_scopes(warning.pointer):
            covered.setdefault((warning.code, scope), []).append(warning)
    suppressed = [covered.get((suppression.code.text, suppression.scope), []) for suppression in suppressions]
    unused = [suppression.code for suppression, matches in zip(suppressions, suppressed, strict=True) if not matches]
    problems.discard(chain.from_iterable(suppressed))
    if not problems.has_errors:
        for code in unused:
            problems.report(catalogue.unused_suppression(code.span, code.text))
    problems.merge(catalogue.merge_by_code)


def _list_scopes(pointer: str) -> Iterator[str]:
    """Yield the JSON Pointers whose suppressions cover a warning at `pointer`: itself, and each object around it.

    The last one is empty, for the whole document.
    """
    yield pointer
    while pointer:
        pointer = pointer.rpartition("/")[0]
        yield pointer
