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
from formulaseed.reference.rules import unlisted
from formulaseed.source.json_reader import PlainText
from formulaseed.source.text import Source, Span

PREFIXED = "; only with its prefix: "
"""What is put before the fields of the root whose names alone mean something else."""


def reference_json(reference: Reference) -> dict[str, Any]:
    """The whole document."""
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
        "syntax_patterns": {each.name: _record(each) for each in reference.patterns or _default_patterns(reference)},
        "examples": {each.name: _record(each) for each in reference.examples or _default_examples(reference)},
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
    """The text on one line, with nothing in it that cannot be seen."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def document_text(document: dict[str, Any]) -> str:
    """The document as it is written to a file."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def all_enums(reference: Reference) -> list[EnumType]:
    """The reference's enums, with those that only its fields name."""
    enums = {enum.name: enum for enum in reference.enums}
    for entity in reference.entities:
        for field in entity.fields:
            if field.enum_type and field.values and field.enum_type not in enums:
                enums[field.enum_type] = EnumType(field.enum_type, f"Values of {field.enum_type}", field.values)
    return list(enums.values())


def access_pattern(entity: Entity, reference: Reference) -> str:
    """How formulas reach an entity's fields."""
    if entity.name != reference.root:
        return f"{entity.name}.field_name"
    full = (f"{entity.name}.{field.name}" for field in entity.fields)
    direct = next((name for name in full if name not in reference.hidden), "")
    shown = f" (e.g., {direct} or just {reference.spelled(direct)})" if direct else ""
    return f"Direct field access{shown}{PREFIXED + ', '.join(reference.hidden) if reference.hidden else ''}"


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


def _record(found: EnumType | SyntaxPattern | Example) -> dict[str, Any]:
    """What a section says of one of its entries, under the entry's name."""
    said = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(found).items()}
    return {key: value for key, value in said.items() if key != "name" and (value or key != "usage")}


def _with_usage(enum: EnumType, reference: Reference) -> EnumType:
    places = [f"{e.name}.{f.name}" for e in reference.entities for f in e.fields if f.enum_type == enum.name]
    used = f"Used in {' and '.join(places)} field{'s' if len(places) > 1 else ''}" if places else ""
    return replace(enum, usage=enum.usage or used)


def _operators(reference: Reference) -> dict[str, dict[str, str]]:
    """Return the operators that formulas may use, by kind, each with its description; a kind without any is left out."""
    allowed = {
        kind: {name: said for name, said in group.items() if reference.operators is None or name in reference.operators}
        for kind, group in operators.BY_KIND.items()
    }
    return {kind: group for kind, group in allowed.items() if group}


def _function(function: functions.Function) -> dict[str, str]:
    said = {key: getattr(function, key) for key in ("signature", "description", "example")}
    return {**said, "returns": "float" if function.returns == "number" else function.returns}


# --- what its source leaves open


def _default_patterns(reference: Reference) -> tuple[SyntaxPattern, ...]:
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
    patterns = []
    for name, syntax, meaning, formulas in rows:
        shown = [formula for formula in formulas if _is_allowed(formula, reference)]
        if shown:
            patterns.append(SyntaxPattern(name, syntax, meaning, tuple(shown[:3])))
    return tuple(patterns)


def _default_examples(reference: Reference) -> tuple[Example, ...]:
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
    return tuple(Example(*texts) for field, *texts in rows if field and _is_allowed(texts[1], reference))


def _is_allowed(formula: str, reference: Reference) -> bool:
    """Return whether the reference lists every function and operator of a formula."""
    text = PlainText(Span(Source("", formula), 0, len(formula)), formula)
    return not unlisted(parse_formula(text, Problems()), reference)


def _default_notes(reference: Reference) -> tuple[tuple[str, str], ...]:
    root, direct = reference.root, next((name for name in _typed(reference) if "." not in name), "")
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


def _typed(reference: Reference) -> dict[str, Type]:
    """Every field that formulas read, as they write it, with its type; the root's first."""
    entities = sorted(reference.entities, key=lambda entity: entity.name != reference.root)
    names = [name for entity in entities for name in reference.names_of(entity.name)]
    return {reference.spelled(name): ty for name in names if (ty := reference.types[name]) is not None}


# --- the version of a reference that has changed: what kind of change it is, and the number that follows

Kind = Literal["none", "patch", "minor", "major"]
Facts = dict[tuple[str, str], str]
_UNVERSIONED = ("version", "generated_at")
_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Change:
    """What has changed from one reference to another, in words, the gravest first."""

    kind: Kind
    reasons: tuple[str, ...] = ()

    def __str__(self) -> str:
        shown = ", ".join(self.reasons[:_SHOWN])
        more = f" and {len(self.reasons) - _SHOWN} more" if len(self.reasons) > _SHOWN else ""
        return f"{self.kind}: {shown}{more}" if shown else self.kind


def change(before: Reference, written: dict[str, Any], after: Reference, document: dict[str, Any]) -> Change:
    """The change from a reference as it was `written` in a file to another with its `document`.

    It is major if it can break a formula: something is gone, has another type, or may now be null. It is minor if
    something is new, and else, such as for a description, a patch.
    """
    old = _facts(before, written.get("functions", functions.FUNCTIONS), written.get("operators", operators.BY_KIND))
    new = _facts(after, document["functions"], document["operators"])
    major = [f"{name} removed" for _, name in old.keys() - new.keys()]
    changed = {
        key: f"{key[1]} is {new[key]}, was {old[key]}" for key in old.keys() & new.keys() if old[key] != new[key]
    }
    major += [said for key, said in changed.items() if new[key] != old[key].removesuffix(" or null")]
    hidden = [name for name in after.hidden if name in before.types and name not in before.hidden]
    major += [f"{name} needs its prefix" for name in hidden]
    if major:
        return Change("major", tuple(sorted(major)))
    minor = [f"{name} added" for _, name in new.keys() - old.keys()]
    minor += changed.values()
    if minor:
        return Change("minor", tuple(sorted(minor)))
    sections = [key for key in document.keys() | written.keys() if key not in _UNVERSIONED]
    differing = sorted(key for key in sections if document.get(key) != written.get(key))
    return Change("patch", tuple(f"{key} reworded" for key in differing)) if differing else Change("none")


def bumped(version: str, kind: Kind) -> str:
    """The version that follows a change of this kind."""
    major, minor, patch = map(int, version.split("."))
    if kind == "major":
        return f"{major + 1}.0.0"
    if kind == "minor":
        return f"{major}.{minor + 1}.0"
    return f"{major}.{minor}.{patch + 1}" if kind == "patch" else version


def _facts(reference: Reference, functions: Iterable[str], operators: Mapping[str, Iterable[str]]) -> Facts:
    """What formulas rely on: functions, operators, names with their types, values of enums, the root."""
    facts: Facts = {("entity", entity.name): "" for entity in reference.entities}
    facts |= {("function", name): "" for name in functions}
    facts |= {("operator", symbol): "" for group in operators.values() for symbol in group}
    if reference.root:
        facts["root", f"direct access to {reference.root}"] = ""
    for name, ty in reference.types.items():
        base = "unreadable" if ty is None else f"enum {ty.base.value}" if ty.values is not None else ty.base.value
        facts["field", name] = f"{base} or null" if ty is not None and ty.nullable else base
        for value in (ty.values if ty is not None else None) or ():
            facts["value", f"{name} value {value!r}"] = ""
    return facts
