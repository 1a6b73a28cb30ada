"""Literals of a seed, such as the results of a case: their common type, and what is none.

In: literals as written. Out: their type and range; None where they have none in common, which is told.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from formulaseed.language import ast, intervals
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.intervals import Range
from formulaseed.language.types import ERROR, Base, Type, join, type_of
from formulaseed.seed import surface
from formulaseed.seed.check.scope import SeedScope


def joined_type(literals: Sequence[ast.Literal], what: str, scope: SeedScope) -> Type | None:
    """The common type of literals, or None, which is told. What is none, and was told, fits to all."""
    given = [literal for literal in literals if not isinstance(literal, surface.NoLiteral)]
    formulas = [literal for literal in given if isinstance(literal.value, str) and _is_formula(literal.value, scope)]
    for literal in formulas:
        message = f"`{literal.value}` is a formula, and {what} are literals"
        help = "compute it in an `expr` step, with `a if condition else b` where it depends on something"
        scope.problems.add("FS509", literal.span, message, help)
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
    """Tell of the literals that are of another type than the most of them."""
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
        message = f"{what} are of different types: {place} {expected}, and this is {type_of(literal.value).noun}"
        scope.problems.add("FS301", literal.span, message, f"write {expected} here, or change the others")
    return True


def _is_formula(text: str, scope: SeedScope) -> bool:
    """Whether a text that stands for a value was meant to be computed: it is made of known names and operators."""
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
