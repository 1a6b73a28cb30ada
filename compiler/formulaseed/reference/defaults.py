"""What a reference says where its source says nothing: syntax patterns over its own fields, examples, and notes.

Every pattern here is a formula of the reference itself, so that it can be tried as it is.
"""

from __future__ import annotations

from formulaseed.language.types import Base, Type
from formulaseed.reference.model import CUSTOM, Example, Reference, SyntaxPattern


def default_patterns(reference: Reference) -> tuple[SyntaxPattern, ...]:
    """Patterns whose examples name fields that there are."""
    typed = _typed(reference)
    safe = [f"({name} or 0)" if ty.nullable else name for name, ty in typed.items() if ty.is_numeric]
    related = [name for name in typed if "." in name and f".{CUSTOM}." not in name]
    custom = [name for name in typed if f".{CUSTOM}." in name]
    quoted = [f"{name} == {ty.values[0]!r}" for name, ty in typed.items() if ty.values][:1]
    tests = quoted or [f"{n} > 100" for n in safe[:1]]
    rows = (
        ("arithmetic", "operand operator operand", "Standard operations on numbers", [f"{n} * 2" for n in safe]),
        ("comparison", "value operator value", "Compare two values", [*(f"{n} >= 16" for n in safe[:1]), *quoted]),
        ("field_access", "entity.field_name", "A field of an entity, by its dotted name", related[:3]),
        ("nested_field_access", f"entity.{CUSTOM}.field_key", "A custom field of an entity", custom[:2]),
        ("function_call", "function_name(arg1, arg2, ...)", "Call a function", [f"max({n}, 1)" for n in safe[:1]]),
        ("ternary", "value_if_true if condition else value_if_false", "One of two values",
         [f"10 if {test} else 0" for test in tests]),
        ("null_safety", "(value or default)", "A value in place of null", [n for n in safe if " or " in n][:1]),
    )  # fmt: skip
    return tuple(SyntaxPattern(name, syntax, said, tuple(shown[:3])) for name, syntax, said, shown in rows if shown)


def default_examples(reference: Reference) -> tuple[Example, ...]:
    """Formulas over fields that there are, one for each of the common uses."""
    typed = _typed(reference)
    numbers = [name for name, ty in typed.items() if ty.is_numeric and not name.endswith("_id")]
    numbers.sort(key=lambda name: typed[name].base is not Base.INTEGER)
    plain = next((name for name in numbers if not typed[name].nullable), "")
    guarded = [name for name in numbers if typed[name].nullable] or [""]
    enum, value = next(((name, ty.values[0]) for name, ty in typed.items() if ty.values), ("", ""))
    first, last = guarded[0], guarded[-1]
    rows = (
        (plain, "per_unit", f"{plain} * 2.5", f"2.50 for each unit of {plain}", "Simple per-unit pricing"),
        (plain, "tiered", f"{plain} * 3.0 if {plain} >= 16 else {plain} * 2.5", "A higher price from 16 on", "Tiered pricing"),
        (first, "null_safe", f"({first} or 0) / 1000 * 5.0", f"0 where there is no {first}", "Null handling"),
        (last, "bounded", f"clamp(({last} or 0) / 1000 * 8.0, 0, 500)", "From 0 to 500", "Bounded valuation"),
        (enum, "feature_bonus", f"10 if {enum} == {value!r} else 0", f"10 where {enum} is {value}", "Feature-based bonuses"),
    )  # fmt: skip
    return tuple(Example(*texts) for field, *texts in rows if field)


def default_notes(reference: Reference) -> tuple[tuple[str, str], ...]:
    """How formulas of this reference are read and evaluated."""
    root, direct = reference.root, next((name for name in _typed(reference) if "." not in name), "")
    access = "Fields are reached by dotted names: entity.field."
    if root and direct:
        access = f"Fields of {root} stand alone ({direct}) or with prefix ({root}.{direct}); others are dotted: entity.field."
    return (
        ("null_safety", "A nullable field needs a guard where null has no meaning: (x or 0), or x * 5 if entity else 0."),
        ("type_coercion", "The result of a formula becomes a float; true is 1.0, false is 0.0."),
        ("operator_precedence", "As in Python: **, then unary + and -, then * / // %, then + -, then comparisons, then not, "
         "and, or, then a if condition else b."),
        ("field_access", access),
        ("limitations", "One expression: no assignments, loops, imports, indexing or methods. Texts know ==, != and in."),
    )  # fmt: skip


def _typed(reference: Reference) -> dict[str, Type]:
    """Every field that formulas read, as they write it, with its type; the root's first."""
    entities = sorted(reference.entities, key=lambda entity: entity.name != reference.root)
    names = [name for entity in entities for name in reference.names_of(entity.name)]
    return {reference.spelled(name): ty for name in names if (ty := reference.types[name]) is not None}
