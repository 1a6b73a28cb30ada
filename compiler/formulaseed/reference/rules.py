"""Plain formulas over the entities of a domain, as a `surface.Program`: one alone, or a file of rules.

In: a text, or the JSON tree of a list of rules, and the reference that says what names mean. Out: the program, a step a
formula; every deviation from the format is a diagnostic. Names are not looked up here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from formulaseed import limits
from formulaseed.diagnostics.catalogue import reading as catalogue
from formulaseed.diagnostics.model import Diagnostic, Problems
from formulaseed.language import ast
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.parser import parse_formula
from formulaseed.reference.model import Reference
from formulaseed.reference.scope import new_scope
from formulaseed.seed import surface
from formulaseed.seed.read.shape import Shape, first_character
from formulaseed.seed.surface import Named
from formulaseed.source.json_reader import JsonArray, JsonObject, JsonString, JsonValue

NAME = "formula"
"""What a formula without a name of its own is called in errors."""


def lower_formula(text: JsonString, reference: Reference, problems: Problems) -> surface.Program:
    """Lower one formula; its value may be a string, too."""
    expression = _parsed(text, reference, problems)
    operation = surface.Formula(expression) if expression is not None else surface.Broken()
    name = Named(text.span, NAME)
    return surface.Program(
        name,
        steps=(surface.Step(name, text.span, operation),),
        output=(name,),
        reference=reference,
        new_scope=partial(new_scope, reference),
    )


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
    shape, description = Shape(problems), ""
    listed: JsonValue | None = document
    if isinstance(document, JsonObject):
        shape.keys(document, ("reference", "description", "rules"), "a file of rules")
        shape.text(document.get("reference"), "`reference`")
        description = shape.string(document.get("description"), "`description`")
        listed = document.get("rules")
    items = shape.list(listed, "`rules`", limits.RULES)
    if isinstance(listed, JsonArray) and not listed.items:
        problems.report(catalogue.no_rules(listed.span))
    steps: list[surface.Step] = []
    nameless: list[surface.Step] = []
    places: dict[str, int] = {}
    for place, item in enumerate(items):
        section = shape.object(item, "a rule", 'an object such as {"name": "ram", "formula": "ram_gb * 2.5"}')
        if section is None:
            continue
        named, operation, described = _rule(section, shape, reference)
        at = first_character(section.span)
        if named is not None and _is_new_name(named, problems, places):
            places[named.value] = place
            steps.append(surface.Step(Named(named.span, named.value), at, operation, description=described))
        else:  # it is checked all the same
            nameless.append(surface.Step(Named(at, f"rules[{place}]"), at, operation))
    return surface.Program(
        Named(document.span, name),
        description=description,
        steps=tuple(steps),
        steps_key="rules",
        nameless=tuple(nameless),
        output=tuple(step.name for step in steps),
        reference=reference,
        new_scope=partial(new_scope, reference),
        requires_numbers=True,
        span=document.span,
    )


def _rule(
    section: JsonObject, shape: Shape, reference: Reference
) -> tuple[JsonString | None, surface.Formula | surface.Broken, str]:
    """Read a rule: its name, None if there is no string; its formula, and its description."""
    shape.keys(section, ("name", "formula", "description"), "a rule")
    name = shape.text(shape.need(section, "name", "the rule", '"name": such as "ram"'), "`name`")
    formula = shape.need(section, "formula", "the rule", '"formula": such as "ram_gb * 2.5"')
    text = shape.text(formula, "`formula`")
    description = shape.string(section.get("description"), "`description`")
    expression = _parsed(text, reference, shape.problems) if text is not None else None
    return name, surface.Formula(expression) if expression is not None else surface.Broken(), description


def _parsed(text: JsonString, reference: Reference, problems: Problems) -> ast.Expr | None:
    """Parse a formula, and report each function and operator in it that the reference does not list."""
    expression = parse_formula(text, problems)
    for found in find_unlisted(expression, reference):
        problems.report(found)
    return expression


def find_unlisted(expression: ast.Expr | None, reference: Reference) -> list[Diagnostic]:
    """Return one diagnostic for each function and operator of a formula that the reference does not list."""
    functions, operators = reference.allowed_functions, reference.operators
    found: dict[str, Diagnostic] = {}
    for node in ast.walk(expression):
        name = node.name if isinstance(node, ast.Call) else None
        if name is not None and name.text in FUNCTIONS and name.text not in functions:
            found.setdefault(name.text, catalogue.unlisted_function(name.span, name.text, functions))
        for operator in _operators(node) if operators is not None else ():
            if operators is not None and operator not in operators:
                found.setdefault(operator, catalogue.unlisted_operator(node.span, operator, operators))
    return list(found.values())


def _operators(node: ast.Expr) -> tuple[str, ...]:
    """Return the operators that an expression applies to its operands."""
    match node:
        case ast.Binary(operator=operator) | ast.Unary(operator=operator) | ast.Logical(operator=operator):
            return (operator,)
        case ast.Comparison(operators=operators):
            return operators
        case ast.Not():
            return ("not",)
        case _:
            return ()


def _is_new_name(text: JsonString, problems: Problems, places: Mapping[str, int]) -> bool:
    """Whether a rule's name is printable, on one line, and no other's."""
    name = text.value
    if not (0 < len(name) <= limits.NAME_CHARACTERS and name.isprintable() and name == name.strip()):
        problems.report(catalogue.invalid_rule_name(text.span, limits.NAME_CHARACTERS))
        return False
    if name in places:
        problems.report(catalogue.duplicate_rule(text.span, name, places[name]))
    return name not in places
