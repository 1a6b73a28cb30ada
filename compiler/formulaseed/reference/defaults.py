"""What a reference says where its source says nothing: syntax patterns over its own fields, and notes.

Every pattern here is a formula of the reference itself, so that it can be tried as it is.
"""

from __future__ import annotations

from collections.abc import Callable

from formulaseed.language.types import Base, Type
from formulaseed.reference.model import CUSTOM, Entity, Example, Reference, SyntaxPattern


def default_patterns(reference: Reference) -> tuple[SyntaxPattern, ...]:
    """Patterns whose examples name fields that there are."""
    numbers = _named(reference, lambda ty: ty.is_numeric)
    enums = {name: ty.values[0] for name, ty in _typed(reference) if ty.values}
    related = [name for name, _ in _typed(reference) if "." in name and f".{CUSTOM}." not in name]
    custom = [name for name, _ in _typed(reference) if f".{CUSTOM}." in name]
    quoted = [f"{name} == {value!r}" for name, value in enums.items()][:1]
    safe = [_safe(reference, name) for name in numbers]
    found = (
        _pattern(
            "arithmetic", "operand operator operand", "Standard operations on numbers", [f"{n} * 2" for n in safe]
        ),
        _pattern(
            "comparison", "value operator value", "Compare two values", [*(f"{n} >= 16" for n in safe[:1]), *quoted]
        ),
        _pattern("field_access", "entity.field_name", "A field of an entity, by its dotted name", related[:3]),
        _pattern("nested_field_access", f"entity.{CUSTOM}.field_key", "A custom field of an entity", custom[:2]),
        _pattern(
            "function_call", "function_name(arg1, arg2, ...)", "Call a function", [f"max({n}, 1)" for n in safe[:1]]
        ),
        _pattern(
            "ternary",
            "value_if_true if condition else value_if_false",
            "One of two values",
            [f"10 if {test} else 0" for test in (quoted or [f"{n} > 100" for n in safe[:1]])],
        ),
        _pattern("null_safety", "(value or default)", "A value in place of null", [n for n in safe if " or " in n][:1]),
    )
    return tuple(pattern for pattern in found if pattern.examples)


def default_examples(reference: Reference) -> tuple[Example, ...]:
    """Formulas over fields that there are, one for each of the common uses."""
    whole = _named(reference, lambda ty: ty.base is Base.INTEGER)
    numbers = [name for name in (*whole, *_named(reference, lambda ty: ty.is_numeric)) if not name.endswith("_id")]
    numbers = list(dict.fromkeys(numbers))
    plain = [name for name in numbers if _safe(reference, name) == name]
    guarded = [name for name in numbers if _safe(reference, name) != name]
    enums = [(name, ty.values[0]) for name, ty in _typed(reference) if ty.values]
    found = [
        Example("per_unit", f"{name} * 2.5", f"2.50 for each unit of {name}", "Simple per-unit pricing")
        for name in plain[:1]
    ]
    found += [
        Example(
            "tiered", f"{name} * 3.0 if {name} >= 16 else {name} * 2.5", "A higher price from 16 on", "Tiered pricing"
        )
        for name in plain[:1]
    ]
    found += [
        Example("null_safe", f"({name} or 0) / 1000 * 5.0", f"0 where there is no {name}", "Null handling")
        for name in guarded[:1]
    ]
    found += [
        Example("bounded", f"clamp(({name} or 0) / 1000 * 8.0, 0, 500)", "From 0 to 500", "Bounded valuation")
        for name in guarded[-1:]
    ]
    found += [
        Example(
            "feature_bonus", f"10 if {name} == {value!r} else 0", f"10 where {name} is {value}", "Feature-based bonuses"
        )
        for name, value in enums[:1]
    ]
    return tuple(found)


def default_notes(reference: Reference) -> tuple[tuple[str, str], ...]:
    """How formulas of this reference are read and evaluated."""
    root, direct = reference.root, next((n for n in _named(reference, lambda ty: True) if "." not in n), "")
    access = "Fields are reached by dotted names: entity.field."
    if root and direct:
        access = f"Fields of {root} stand alone ({direct}) or with prefix ({root}.{direct}); others are dotted: entity.field."
    return (
        (
            "null_safety",
            "A nullable field needs a guard where null has no meaning: (x or 0), or x * 5 if entity else 0.",
        ),
        ("type_coercion", "The result of a formula becomes a float; true is 1.0, false is 0.0."),
        (
            "operator_precedence",
            "As in Python: **, then unary + and -, then * / // %, then + -, then comparisons, then not, and, or, "
            "then a if condition else b.",
        ),
        ("field_access", access),
        (
            "limitations",
            "One expression: no assignments, loops, imports, indexing or methods. Texts know ==, != and in.",
        ),
    )


def _pattern(name: str, syntax: str, description: str, examples: list[str]) -> SyntaxPattern:
    return SyntaxPattern(name, syntax, description, tuple(examples[:3]))


def _ordered(reference: Reference) -> list[Entity]:
    return sorted(reference.entities, key=lambda entity: entity.name != reference.root)


def _typed(reference: Reference) -> list[tuple[str, Type]]:
    """Every field that formulas read, as they write it, with its type; the root's first."""
    names = [name for entity in _ordered(reference) for name in reference.names_of(entity.name)]
    types = [(reference.spelled(name), reference.types[name]) for name in names]
    return [(name, ty) for name, ty in types if ty is not None]


def _named(reference: Reference, wanted: Callable[[Type], bool]) -> list[str]:
    return [name for name, ty in _typed(reference) if wanted(ty)]


def _safe(reference: Reference, name: str) -> str:
    full = reference.full_name(name)
    ty = reference.type_of(full) if full is not None else None
    return f"({name} or 0)" if ty is not None and ty.nullable else name
