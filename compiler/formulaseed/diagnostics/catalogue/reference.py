"""Mistakes in formula references, in files of rules, and in the names of formulas over a reference."""

from __future__ import annotations

from collections.abc import Iterable

from formulaseed.diagnostics.catalogue import fixed, of_one, of_two
from formulaseed.diagnostics.model import Diagnostic, Help, diagnostic
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.source.text import Span

# --- references

invalid_version = of_one("FS509", "`version` is three numbers", 'write it like "{0}"')
reserved_entity = of_one("FS206", "`{0}` is a word of the formula language", "use another name for the entity")
duplicate_custom_field = of_two("FS203", "duplicate custom field `{1}` of `{0}`", "rename one of them")


def unknown_entity(span: Span, name: str, known: Iterable[str]) -> Diagnostic:
    return diagnostic("FS201", span, f"no entity is called `{name}`", did_you_mean(name, known, what="entities"))


# --- rules

unreadable_reference = of_one("FS509", "the reference cannot be read: {0}", "name a file beside this")
no_rules = fixed("FS509", "the file holds no rule", 'write {"name": …, "formula": …}')
invalid_rule_name = of_one(
    "FS206",
    "this cannot be the name of a rule",
    "use up to {0} letters, digits, spaces and `_`, such as `basic_ram_valuation`",
)
duplicate_rule = of_two("FS203", "duplicate rule `{0}`, first at rules[{1}]", "rename one of them")


# --- names in formulas

unreadable_field = of_one(
    "FS301", "`{0}` is of a type that formulas do not read", "use a field of numbers, strings or true and false"
)


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
