"""A reference as the JSON that is published: the schema of formula references, keys in its order.

In: a `Reference`. Out: plain values, and their text. Operators and functions come from the table of the language; what
the reference leaves open (patterns, notes, what an entity's absence means) is filled in from its fields.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from formulaseed.diagnostics.model import Problems
from formulaseed.language import functions, operators
from formulaseed.language.parser import parse_formula
from formulaseed.language.types import Base, Type
from formulaseed.reference.model import CUSTOM, Entity, EnumType, Example, Field, Reference, SyntaxPattern
from formulaseed.reference.rules import find_unlisted
from formulaseed.source.json_reader import PlainText
from formulaseed.source.text import Source, Span

PREFIXED = "; only with its prefix: "
"""What is put before the fields of the root whose names alone mean something else."""


def reference_json(reference: Reference) -> dict[str, Any]:
    """Return the published document: plain values, the root entity first, its keys in the order of the schema."""
    entities = sorted(reference.entities, key=lambda entity: entity.name != reference.root)
    return {
        "version": reference.version,
        **({"generated_at": reference.generated_at} if reference.generated_at else {}),
        "description": reference.description or "What formulas may say: fields, operators, functions and syntax.",
        "entities": {entity.name: _entity(entity, reference) for entity in entities},
        "custom_fields": {
            entity.name: [_custom_field(field, entity) for field in entity.custom_fields]
            for entity in entities
            if entity.custom_fields
        },
        "enums": {enum.name: _record(_with_usage(enum, reference)) for enum in all_enums(reference)},
        "operators": _operators(reference),
        "functions": {name: _function(function) for name, function in reference.allowed_functions.items()},
        "syntax_patterns": {entry.name: _record(entry) for entry in reference.patterns or _default_patterns(reference)},
        "examples": {entry.name: _record(entry) for entry in reference.examples or _default_examples(reference)},
        "notes": dict(reference.notes or _default_notes(reference)),
    }


def list_fields(document: dict[str, Any], entity: str) -> Iterator[dict[str, Any]]:
    """Yield the published fields of an entity, then its custom fields, renamed to the keys of the others."""
    yield from document["entities"][entity]["fields"].values()
    for custom in document["custom_fields"].get(entity, ()):
        yield {
            "example": custom["access_pattern"],
            "type": custom["field_type"],
            "nullable": not custom["required"],
            "description": custom["description"],
            "values": custom.get("options"),
        }


def line_of(text: str) -> str:
    """Return the text on one line, without unprintable characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def document_text(document: dict[str, Any]) -> str:
    """Return the document as the JSON text that is written to a file."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def all_enums(reference: Reference) -> list[EnumType]:
    """Return the reference's enums, then those that only its fields name."""
    enums = {enum.name: enum for enum in reference.enums}
    for entity in reference.entities:
        for field in entity.fields:
            if field.enum_type and field.values and field.enum_type not in enums:
                enums[field.enum_type] = EnumType(field.enum_type, f"Values of {field.enum_type}", field.values)
    return list(enums.values())


def access_pattern(entity: Entity, reference: Reference) -> str:
    """Describe how formulas write an entity's fields: with its prefix, or directly for the root."""
    if entity.name != reference.root:
        return f"{entity.name}.field_name"
    full = (f"{entity.name}.{field.name}" for field in entity.fields)
    direct = next((name for name in full if name not in reference.hidden), "")
    example = f" (e.g., {direct} or just {reference.short_name(direct)})" if direct else ""
    prefixed = PREFIXED + ", ".join(reference.hidden) if reference.hidden else ""
    return f"Direct field access{example}{prefixed}"


def _entity(entity: Entity, reference: Reference) -> dict[str, Any]:
    absent = f"There may be no {entity.name}: then all its fields are null" if entity.nullable else ""
    return _without_none(
        description=entity.description,
        access_pattern=access_pattern(entity, reference),
        nullable=entity.nullable,
        note=entity.note or absent or None,
        fields={field.name: _field(field, entity) for field in entity.fields},
    )


def _field(field: Field, entity: Entity) -> dict[str, Any]:
    return _without_none(
        type=field.type,
        description=field.description,
        nullable=field.nullable,
        example=f"{entity.name}.{field.name}",
        enum_type=field.enum_type or None,
        values=list(field.values) or None,
        default=field.default,
        minimum=field.minimum,
        maximum=field.maximum,
    )


def _custom_field(field: Field, entity: Entity) -> dict[str, Any]:
    return _without_none(
        field_key=field.name,
        field_type=field.type,
        description=field.description,
        access_pattern=f"{entity.name}.{CUSTOM}.{field.name}",
        required=not field.nullable,
        options=list(field.values) or None,
        default_value=field.default,
    )


def _without_none(**keys: Any) -> dict[str, Any]:
    return {key: value for key, value in keys.items() if value is not None}


def _record(entry: EnumType | SyntaxPattern | Example) -> dict[str, Any]:
    """Return an entry of a section without its name, which is its key there, and without an empty usage."""
    record = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(entry).items()}
    return {key: value for key, value in record.items() if key != "name" and (value or key != "usage")}


def _with_usage(enum: EnumType, reference: Reference) -> EnumType:
    """Return a copy of the enum; an empty `usage` lists the fields that have its type."""
    places = [f"{e.name}.{f.name}" for e in reference.entities for f in e.fields if f.enum_type == enum.name]
    if enum.usage or not places:
        return enum
    plural = "s" if len(places) > 1 else ""
    return replace(enum, usage=f"Used in {' and '.join(places)} field{plural}")


def _operators(reference: Reference) -> dict[str, dict[str, str]]:
    """Return the operators that formulas may use, by kind, each with its description; a kind without any is left out."""
    if reference.operators is None:
        return {kind: dict(group) for kind, group in operators.OPERATORS_BY_KIND.items()}
    listed = reference.operators
    allowed = {
        kind: {name: meaning for name, meaning in group.items() if name in listed}
        for kind, group in operators.OPERATORS_BY_KIND.items()
    }
    return {kind: group for kind, group in allowed.items() if group}


def _function(function: functions.Function) -> dict[str, str]:
    entry = {key: getattr(function, key) for key in ("signature", "description", "example")}
    return {**entry, "returns": "float" if function.returns == "number" else function.returns}


# --- what its source leaves open


def _default_patterns(reference: Reference) -> tuple[SyntaxPattern, ...]:
    """Return patterns for the reference's own fields; a pattern without an allowed example is left out."""
    patterns = []
    for name, syntax, meaning in _PATTERNS:
        formulas = _pattern_formulas(name, _types_as_written(reference))
        examples = [formula for formula in formulas if _is_allowed(formula, reference)]
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


def _pattern_formulas(pattern: str, types: dict[str, Type]) -> list[str]:
    """Return formulas that show a syntax pattern. Raises `ValueError` if it is none of `_PATTERNS`."""
    numbers = [f"({name} or 0)" if ty.nullable else name for name, ty in types.items() if ty.is_numeric]
    enum_tests = [f"{name} == {ty.values[0]!r}" for name, ty in types.items() if ty.values][:1]
    match pattern:
        case "arithmetic":
            return [f"{number} * 2" for number in numbers]
        case "comparison":
            return [*(f"{number} >= 16" for number in numbers[:1]), *enum_tests]
        case "field_access":
            return [name for name in types if "." in name and f".{CUSTOM}." not in name][:3]
        case "nested_field_access":
            return [name for name in types if f".{CUSTOM}." in name][:2]
        case "function_call":
            return [f"max({number}, 1)" for number in numbers[:1]]
        case "ternary":
            return [f"10 if {test} else 0" for test in enum_tests or [f"{number} > 100" for number in numbers[:1]]]
        case "null_safety":
            return [number for number in numbers if " or " in number][:1]
    raise ValueError(f"no syntax pattern is called {pattern}")


def _default_examples(reference: Reference) -> tuple[Example, ...]:
    """Return allowed formulas over the reference's own fields, one for each common use."""
    typed = _types_as_written(reference)
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
    return tuple(Example(*texts) for field, *texts in rows if field and _is_allowed(texts[1], reference))


def _is_allowed(formula: str, reference: Reference) -> bool:
    """Return whether the reference lists every function and operator of a formula."""
    text = PlainText(Span(Source("", formula), 0, len(formula)), formula)
    return not find_unlisted(parse_formula(text, Problems()), reference)


def _default_notes(reference: Reference) -> tuple[tuple[str, str], ...]:
    root = reference.root
    direct = next((name for name in _types_as_written(reference) if "." not in name), "")
    access = "Fields are reached by dotted names: entity.field."
    if root and direct:
        access = f"Fields of {root} stand alone ({direct}) or with prefix ({root}.{direct}); others are dotted: entity.field."
    return (
        ("null_safety", "A nullable field needs a guard where null has no meaning: coalesce(x, 0), or x * 5 if entity else 0."),
        ("type_coercion", "The result of a formula becomes a float; true is 1.0, false is 0.0."),
        ("operator_precedence", "As in Python: **, then unary + and -, then * / // %, then + -, then comparisons, then not, "
         "and, or, then a if condition else b."),
        ("field_access", access),
        ("limitations", "One expression: no assignments, loops, imports, indexing or methods. Texts know ==, != and in."),
    )  # fmt: skip


def _types_as_written(reference: Reference) -> dict[str, Type]:
    """Return the types of the fields that formulas can read, by the names that formulas write; the root's first."""
    entities = sorted(reference.entities, key=lambda entity: entity.name != reference.root)
    names = [name for entity in entities for name in reference.names_of(entity.name)]
    return {reference.short_name(name): ty for name in names if (ty := reference.types[name]) is not None}


# --- the version of a reference that has changed: what kind of change it is, and the number that follows

Kind = Literal["none", "patch", "minor", "major"]
Facts = dict[tuple[str, str], str]
_UNVERSIONED = {"version", "generated_at"}
_MAX_LISTED_REASONS = 4


@dataclass(frozen=True, slots=True)
class Change:
    """The kind of change from one reference to another, with its reasons in words."""

    kind: Kind
    reasons: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.reasons:
            return self.kind
        rest = len(self.reasons) - _MAX_LISTED_REASONS
        more = f" and {rest} more" if rest > 0 else ""
        return f"{self.kind}: {', '.join(self.reasons[:_MAX_LISTED_REASONS])}{more}"


def change(before: Reference, written: dict[str, Any], after: Reference, document: dict[str, Any]) -> Change:
    """Return the change from a reference as it was `written` in a file to another with its `document`.

    It is major if it can break a formula: something is gone, has another type, or may now be null. It is minor if
    something is new, and else, such as for a description, a patch.
    """
    old = _facts(
        before, written.get("functions", functions.FUNCTIONS), written.get("operators", operators.OPERATORS_BY_KIND)
    )
    new = _facts(after, document["functions"], document["operators"])
    hidden = [name for name in after.hidden if name in before.types and name not in before.hidden]
    major = [*_breaking_changes(old, new), *(f"{name} needs its prefix" for name in hidden)]
    if major:
        return Change("major", tuple(sorted(major)))
    minor = [f"{name} added" for _, name in new.keys() - old.keys()]
    minor += _changed_facts(old, new).values()
    if minor:
        return Change("minor", tuple(sorted(minor)))
    sections = (document.keys() | written.keys()) - _UNVERSIONED
    differing = sorted(key for key in sections if document.get(key) != written.get(key))
    return Change("patch" if differing else "none", tuple(f"{key} reworded" for key in differing))


def _changed_facts(old: Facts, new: Facts) -> dict[tuple[str, str], str]:
    """Return a reason for each fact that is in both, with another value."""
    return {key: f"{key[1]} is {new[key]}, was {old[key]}" for key in old.keys() & new.keys() if old[key] != new[key]}


def _breaking_changes(old: Facts, new: Facts) -> Iterator[str]:
    """Yield a reason for each fact that is gone or has changed, unless the change is only that it is no longer null."""
    yield from (f"{name} removed" for _, name in old.keys() - new.keys())
    for key, reason in _changed_facts(old, new).items():
        if new[key] != old[key].removesuffix(" or null"):
            yield reason


def next_version(version: str, kind: Kind) -> str:
    """Return the version that follows a change of this kind; the same one for `none`."""
    major, minor, patch = map(int, version.split("."))
    if kind == "major":
        return f"{major + 1}.0.0"
    if kind == "minor":
        return f"{major}.{minor + 1}.0"
    if kind == "patch":
        return f"{major}.{minor}.{patch + 1}"
    return version


def _facts(reference: Reference, functions: Iterable[str], operators: Mapping[str, Iterable[str]]) -> Facts:
    """Return what formulas rely on, with types where there are any: functions, operators, fields, values, the root."""
    facts: Facts = {("entity", entity.name): "" for entity in reference.entities}
    facts |= {("function", name): "" for name in functions}
    facts |= {("operator", symbol): "" for group in operators.values() for symbol in group}
    if reference.root:
        facts["root", f"direct access to {reference.root}"] = ""
    for name, ty in reference.types.items():
        if ty is None:
            facts["field", name] = "unreadable"
            continue
        base = ty.base.value if ty.values is None else f"enum {ty.base.value}"
        facts["field", name] = f"{base} or null" if ty.nullable else base
        for value in ty.values or ():
            facts["value", f"{name} value {value!r}"] = ""
    return facts
