"""Literals of a seed, such as the results of a case: their common type and range.

In: literals as written. Out: their type, or None if they have none in common, which is reported.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from formulaseed.diagnostics.catalogue import seed as catalogue
from formulaseed.language import ast, intervals
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.intervals import Range
from formulaseed.language.types import ERROR, Base, Type, join, type_of
from formulaseed.seed import surface
from formulaseed.seed.check.scope import SeedScope


def joined_type(literals: Sequence[ast.Literal], what: str, scope: SeedScope) -> Type | None:
    """Return the common type of literals; None if there is none, which is reported. A missing literal fits any type."""
    given = [literal for literal in literals if not isinstance(literal, surface.NoLiteral)]
    formulas = [literal for literal in given if isinstance(literal.value, str) and _is_formula(literal.value, scope)]
    for literal in formulas:
        scope.problems.report(catalogue.formula_as_literal(literal.span, str(literal.value), what))
    if formulas or not given:
        return None
    if _are_mixed(given, what, scope):
        return None
    return _common(given)


def _common(given: Sequence[ast.Literal]) -> Type:
    joined = type_of(given[0].value)
    for literal in given[1:]:
        joined = join(joined, type_of(literal.value)) or ERROR
    return joined


def _are_mixed(given: Sequence[ast.Literal], what: str, scope: SeedScope) -> bool:
    """Report the literals whose type is not that of most of them."""
    sorts: dict[Base, list[ast.Literal]] = {}
    for literal in given:
        ty = type_of(literal.value)
        if literal.value is not None:
            sorts.setdefault(Base.NUMBER if ty.is_numeric else ty.base, []).append(literal)
    if len(sorts) <= 1:
        return False
    most = max(sorts.values(), key=len)
    expected = _common(most).noun
    place = "first" if most is next(iter(sorts.values())) else "mostly"
    for literal in (literal for sort in sorts.values() if sort is not most for literal in sort):
        found = type_of(literal.value).noun
        scope.problems.report(catalogue.mixed_literals(literal.span, what, f"{place} {expected}", found))
    return True


def _is_formula(text: str, scope: SeedScope) -> bool:
    """Return whether a string in place of a value is a formula: it is made of known names and operators."""
    words = re.findall(r"[A-Za-z_][\w.]*", text)
    if not words or re.search(r"[^\w.\s()+*/%-]", text):
        return False
    kinds = {kind.value: fields for kind, fields in scope.inputs.items()}
    dotted = [word.split(".", 1) for word in words if "." in word]
    bare = [word for word in words if "." not in word]
    known = all(len(parts) == 2 and parts[1] in kinds.get(parts[0], {}) for parts in dotted)
    return known and all(word in scope.places or (word in FUNCTIONS and "(" in text) for word in bare)


def given_value(literal: ast.Literal) -> str | int | float | bool:
    assert literal.value is not None
    return literal.value


def is_no_number(literal: ast.Literal) -> bool:
    return literal.value is not None and (isinstance(literal.value, bool) or not isinstance(literal.value, int | float))


def literal_range(literals: Sequence[ast.Literal]) -> Range | None:
    known: Range | None = None
    for literal in literals:
        value = literal.value
        if value is None:
            continue
        if not isinstance(value, int | float):
            return None
        this = intervals.exactly(value)
        known = this if known is None else intervals.union(known, this)
    return known
