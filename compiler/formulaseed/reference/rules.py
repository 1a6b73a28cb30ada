"""Plain formulas over the entities of a domain, as a `surface.Program`: one alone, or a file of rules.

In: a text, or the JSON tree of a list of rules, and the reference that says what names mean. Out: the program, a step a
formula; every deviation from the format is a diagnostic. Names are not looked up here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from formulaseed import limits
from formulaseed.diagnostics.catalogue import reading as catalogue
from formulaseed.diagnostics.model import Problems
from formulaseed.language.parser import parse_formula
from formulaseed.seed import surface
from formulaseed.seed.read.shape import Shape, first_character
from formulaseed.seed.surface import Named
from formulaseed.source.json_reader import JsonArray, JsonObject, JsonString, JsonValue

if TYPE_CHECKING:
    from formulaseed.reference.model import Reference

NAME = "formula"
"""What a formula without a name of its own is called in errors."""

_RULE_KEYS = ("name", "formula", "description")
_FILE_KEYS = ("reference", "description", "rules")


def lower_formula(text: JsonString, reference: Reference, problems: Problems) -> surface.Program:
    """Lower one formula; its value may be a string, too."""
    expression = parse_formula(text, problems)
    operation = surface.Formula(expression) if expression is not None else surface.Broken()
    name = Named(text.span, NAME)
    return surface.Program(name, steps=(surface.Step(name, text.span, operation),), output=(name,), reference=reference)


def formulas_shown(document: JsonValue) -> Iterator[JsonString]:
    """The formulas that a reference shows: its examples', and those of its syntax patterns."""
    for section, key in (("examples", "formula"), ("syntax_patterns", "examples")):
        found = document.get(section) if isinstance(document, JsonObject) else None
        for member in found.members if isinstance(found, JsonObject) else ():
            shown = member.value.get(key) if isinstance(member.value, JsonObject) else None
            items = shown.items if isinstance(shown, JsonArray) else (shown,)
            yield from (item for item in items if isinstance(item, JsonString))


def reference_named(document: JsonValue) -> JsonString | None:
    """The path of the reference that a file of rules names."""
    named = document.get("reference") if isinstance(document, JsonObject) else None
    return named if isinstance(named, JsonString) else None


def lower_rules(document: JsonValue, name: str, reference: Reference, problems: Problems) -> surface.Program | None:
    """Lower a file of rules; None where it holds no list of them."""
    return _Rules(reference, Shape(problems)).program(document, name)


class _Rules:
    def __init__(self, reference: Reference, shape: Shape) -> None:
        self.reference = reference
        self.shape = shape
        self.places: dict[str, int] = {}

    def program(self, document: JsonValue, name: str) -> surface.Program | None:
        description = ""
        if isinstance(document, JsonObject):
            self.shape.keys(document, _FILE_KEYS, "a file of rules")
            self.shape.text(document.get("reference"), "`reference`")
            description = self.shape.string(document.get("description"), "`description`")
            listed = document.get("rules")
        else:
            listed = document
        items = self.shape.list(listed, "`rules`", limits.RULES)
        if isinstance(listed, JsonArray) and not listed.items:
            self.shape.problems.report(catalogue.no_rules(listed.span))
        steps = []
        for place, item in enumerate(items):
            section = self.shape.object(item, "a rule", 'an object such as {"name": "ram", "formula": "ram_gb * 2.5"}')
            if section is not None and (step := self.step(section, place)) is not None:
                steps.append(step)
        return surface.Program(
            Named(document.span, name),
            description=description,
            steps=tuple(steps),
            steps_key="rules",
            output=tuple(step.name for step in steps),
            reference=self.reference,
            gives_numbers=True,
            span=document.span,
        )

    def step(self, section: JsonObject, place: int) -> surface.Step | None:
        shape = self.shape
        shape.keys(section, _RULE_KEYS, "a rule")
        name = self.name(shape.text(shape.need(section, "name", "the rule", '"name": such as "ram"'), "`name`"), place)
        example = '"formula": such as "ram_gb * 2.5"'
        formula = shape.text(shape.need(section, "formula", "the rule", example), "`formula`")
        description = shape.string(section.get("description"), "`description`")
        expression = parse_formula(formula, shape.problems) if formula is not None else None
        if name is None:
            return None
        operation = surface.Formula(expression) if expression is not None else surface.Broken()
        return surface.Step(name, first_character(section.span), operation, description=description)

    def name(self, text: JsonString | None, place: int) -> Named | None:
        """A rule's name: printable, on one line, and no other's."""
        if text is None:
            return None
        name, problems = text.value, self.shape.problems
        if not (0 < len(name) <= limits.NAME_CHARACTERS and name.isprintable() and name == name.strip()):
            problems.report(catalogue.invalid_rule_name(text.span, limits.NAME_CHARACTERS))
            return None
        if name in self.places:
            problems.report(catalogue.duplicate_rule(text.span, name, self.places[name]))
            return None
        self.places[name] = place
        return Named(text.span, name)
