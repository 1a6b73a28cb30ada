"""Mistakes in formula references, in files of rules, and in the names of formulas over a reference."""

from __future__ import annotations

from collections.abc import Iterable

from formulaseed.diagnostics.model import Diagnostic, Help, diagnostic
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.source.text import Span

# --- references


def invalid_version(span: Span, example: str) -> Diagnostic:
    return diagnostic("FS509", span, "`version` is three numbers", f'write it like "{example}"')


def reserved_entity(span: Span, name: str) -> Diagnostic:
    message = f"`{name}` is a word of the formula language"
    return diagnostic("FS206", span, message, "use another name for the entity")


def unknown_entity(span: Span, name: str, known: Iterable[str]) -> Diagnostic:
    return diagnostic("FS201", span, f"no entity is called `{name}`", did_you_mean(name, known, what="entities"))


def duplicate_custom_field(span: Span, entity: str, key: str) -> Diagnostic:
    return diagnostic("FS203", span, f"duplicate custom field `{key}` of `{entity}`", "rename one of them")


# --- rules


def unreadable_reference(span: Span, why: str) -> Diagnostic:
    return diagnostic("FS509", span, f"the reference cannot be read: {why}", "name a file beside this")


def no_rules(span: Span) -> Diagnostic:
    return diagnostic("FS509", span, "the file holds no rule", 'write {"name": …, "formula": …}')


def invalid_rule_name(span: Span, most: int) -> Diagnostic:
    help = f"use up to {most} letters, digits, spaces and `_`, such as `basic_ram_valuation`"
    return diagnostic("FS206", span, "this cannot be the name of a rule", help)


def duplicate_rule(span: Span, name: str, place: int) -> Diagnostic:
    return diagnostic("FS203", span, f"duplicate rule `{name}`, first at rules[{place}]", "rename one of them")


# --- names in formulas


def unreadable_field(span: Span, name: str) -> Diagnostic:
    message = f"`{name}` is of a type that formulas do not read"
    return diagnostic("FS301", span, message, "use a field of numbers, strings or true and false")


def unknown_name(span: Span, what: str, name: str, help: Help) -> Diagnostic:
    """`what` says what is unknown, such as `no field is called`."""
    return diagnostic("FS204", span, f"{what} `{name}`", help)


def unknown_field(span: Span, entity: str, field: str, help: Help) -> Diagnostic:
    return diagnostic("FS204", span, f"`{entity}` has no field `{field}`", help)


def entity_without_value(span: Span, entity: str, example: str, hidden: str) -> Diagnostic:
    """`hidden` is the full name of the root's field that is called like the entity, or empty."""
    help = f"name one of its fields, such as `{example}`" if example else "it has no fields"
    if hidden:
        help += f"; the field of `{hidden.partition('.')[0]}` is `{hidden}`"
    return diagnostic("FS204", span, f"`{entity}` is an entity that is always there, and has no value", help)


FIX_FIRST = "fix the unknown names above first"
