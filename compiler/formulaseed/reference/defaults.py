"""Write the sections that a reference leaves open, patterns, examples and notes, with formulas over its own fields.

In: a `Reference`. Out: entries in the order of a published reference. Which field an example is about follows from its type, its
name and its description, so that the same reference always gives the same examples.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from formulaseed.diagnostics.model import Problems
from formulaseed.language.parser import parse_formula
from formulaseed.language.types import Type
from formulaseed.reference.kind import find_unlisted
from formulaseed.reference.model import CUSTOM, Example, Reference, SyntaxPattern
from formulaseed.source.json_reader import PlainText
from formulaseed.source.text import Source, Span


def build_default_patterns(reference: Reference) -> tuple[SyntaxPattern, ...]:
    """Return patterns for the reference's own fields, each with up to three examples.

    A pattern without an allowed example is left out.
    """
    formulas = _write_pattern_formulas(reference)
    patterns: list[SyntaxPattern] = []
    for name, syntax, meaning in _PATTERNS:
        examples = [formula for formula in formulas[name] if _is_allowed(formula, reference)]
        if examples:
            patterns.append(SyntaxPattern(name, syntax, meaning, tuple(examples[:3])))
    return tuple(patterns)


_PATTERNS = (
    ("arithmetic", "operand operator operand", "Standard operations on numbers"),
    ("comparison", "value operator value", "Compare two values"),
    ("field_access", "entity.field_name", "A field of an entity, by its dotted name"),
    ("nested_field_access", f"entity.{CUSTOM}.field_key", "A custom field of an entity"),
    ("function_call", "function_name(arg1, arg2, ...)", "Call a function"),
    ("ternary", "value_if_true if condition else value_if_false", "One of two values"),
    ("null_safety", "(value or default)", "A value in place of null"),
)


def _write_enum_tests(types: Mapping[str, Type]) -> list[str]:
    """Return a comparison with its first value for each enum, such as `condition == 'new'`."""
    return [f"{name} == {ty.values[0]!r}" for name, ty in types.items() if ty.values]


def _write_pattern_formulas(reference: Reference) -> dict[str, list[str]]:
    """Return formulas over the reference's fields for each of `_PATTERNS`, by name; none if no field fits."""
    types = _find_readable_types(reference)
    sizes = _find_measures(reference)["size"]
    numbers = [_guard(name, types) for name in sizes]
    enum_tests = _write_enum_tests(types)[:1]
    custom = [name for name in types if f".{CUSTOM}." in name]
    formulas = {
        "arithmetic": [f"{number} * 2" for number in numbers],
        "comparison": enum_tests,
        "field_access": [name for name in types if "." in name and name not in custom][:3],
        "nested_field_access": custom[:2],
        "ternary": [f"10 if {test} else 0" for test in enum_tests],
        "null_safety": [number for number in numbers if " or " in number][:1],
        "function_call": [],
    }
    if numbers:
        formulas["comparison"] = [f"{numbers[0]} >= 16", *enum_tests]
        formulas["function_call"] = [f"max({numbers[0]}, 1)"]
        formulas["ternary"] = formulas["ternary"] or [f"10 if {numbers[0]} > 100 else 0"]
    return formulas


_WORDS_BY_MEASURE = {
    "price": {"price", "cost", "fee", "usd", "eur", "gbp"},
    "score": {"mark", "score", "benchmark"},
    "size": {"gb", "tb", "mb", "kg", "capacity", "size", "weight", "count", "number", "core", "thread", "month", "day"},
}
"""The words, without a plural's s, by which a field's name or description shows what its numbers measure."""


def _find_measures(reference: Reference) -> dict[str, list[str]]:
    """Return the names of the numeric fields by what they measure, those that can be null last.

    A field's name decides, or else its description. A field of no measure, such as a key or a year, is left out; if no
    field has one, all but keys are sizes.
    """
    types = {name: ty for name, ty in _find_readable_types(reference).items() if ty.is_numeric}
    names = sorted((name for name in types if not name.endswith("_id")), key=lambda name: types[name].nullable)
    measures: dict[str, list[str]] = {measure: [] for measure in _WORDS_BY_MEASURE}
    for name in names:
        description = reference.descriptions[reference.resolve_name(name) or name]
        for text in (name.rpartition(".")[2], description):
            words = {word.removesuffix("s") for word in re.findall("[a-z]+", text.lower())}
            measure = next((key for key, own in _WORDS_BY_MEASURE.items() if own & words), None)
            if measure is not None:
                measures[measure].append(name)
                break
    return measures if any(measures.values()) else {**measures, "size": names}


def _guard(name: str, types: Mapping[str, Type]) -> str:
    """Return a field as an operand: `(name or 0)` if it can be null."""
    return f"({name} or 0)" if types[name].nullable else name


def build_default_examples(reference: Reference) -> tuple[Example, ...]:
    """Return formulas over the reference's own fields, one for each common use.

    A use is left out if no field measures what it needs, or if the reference does not allow its formula.
    """
    types = _find_readable_types(reference)
    measures = _find_measures(reference)
    size, score, price = (next(iter(measures[measure]), "") for measure in ("size", "score", "price"))
    unit, mark, cost = (_guard(name, types) if name else "" for name in (size, score, price))
    null = next((name for name in measures["size"] if types[name].nullable), "")
    enum, value = next(((name, ty.values[0]) for name, ty in types.items() if ty.values), ("", ""))
    rows = (
        (size, "per_unit", f"{unit} * 2.5", f"2.50 for each unit of {size}", "Simple per-unit pricing"),
        (size, "tiered", f"{unit} * 3.0 if {unit} >= 16 else {unit} * 2.5", "A higher price from 16 on", "Tiered pricing"),
        (null, "null_safe", f"({null} or 0) * 0.5", f"0 where there is no {null}", "Null handling"),
        (score, "bounded", f"clamp({mark} / 1000 * 8.0, 0, 500)", f"8 for each 1000 of {score}, up to 500", "Bounded valuation"),
        (price, "share_of_price", f"round({cost} * 0.15, 2)", f"15 % of {price}", "Shares of a price"),
        (enum, "feature_bonus", f"10 if {enum} == {value!r} else 0", f"10 where {enum} is {value}", "Feature-based bonuses"),
    )  # fmt: skip
    # An empty field means that the reference has no field of this kind.
    return tuple(Example(*texts) for field, *texts in rows if field and _is_allowed(texts[1], reference))


def _is_allowed(formula: str, reference: Reference) -> bool:
    """Return True if the reference allows every function and operator of a formula."""
    text = PlainText(Span(Source("", formula), 0, len(formula)), formula)
    return not find_unlisted(parse_formula(text, Problems()), reference)


def build_default_notes(reference: Reference) -> tuple[tuple[str, str], ...]:
    """Return notes on null, types, precedence, access and limitations; one shows a field of the root."""
    root = reference.root
    direct = next((name for name in _find_readable_types(reference) if "." not in name), "")
    access = "Fields are reached by dotted names: entity.field."
    if root and direct:
        access = f"Fields of {root} stand alone ({direct}) or with prefix ({root}.{direct}); others are dotted: entity.field."
    return (
        (
            "null_safety",
            "A nullable field needs a guard where null has no meaning: coalesce(x, 0), or x * 5 if entity else 0.",
        ),
        ("type_coercion", "The result of a formula becomes a float; true is 1.0, false is 0.0."),
        (
            "operator_precedence",
            "As in Python: **, then unary + and -, then * / // %, then + -, then comparisons, then not, "
            "and, or, then a if condition else b.",
        ),
        ("field_access", access),
        (
            "limitations",
            "One expression: no assignments, loops, imports, indexing or methods. Texts know ==, != and in.",
        ),
    )


def _find_readable_types(reference: Reference) -> dict[str, Type]:
    """Return the types of the fields that formulas can read, by the names that formulas write; the root's fields first."""
    entities = sorted(reference.entities, key=lambda entity: entity.name != reference.root)
    names = [name for entity in entities for name in reference.field_names(entity.name)]
    return {reference.short_name(name): ty for name in names if (ty := reference.types[name]) is not None}
