"""Define what each phase of the compiler does with a formula reference, a file of rules, and one formula.

In: a text, or the JSON tree of a list of rules, and a reference. Out: a `surface.Program` with a step for each formula; every
deviation from the format is a diagnostic. The checker looks up the names, in the scope of the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from formulaseed import limits
from formulaseed.diagnostics.catalogue import reading as catalogue
from formulaseed.diagnostics.model import Diagnostic, Problems
from formulaseed.errors import SeedError
from formulaseed.ir import nodes
from formulaseed.ir.kind import Document, Kind
from formulaseed.language import ast
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.parser import parse_formula
from formulaseed.reference.model import Reference
from formulaseed.reference.read import lower_layout, lower_reference
from formulaseed.reference.scope import new_scope
from formulaseed.seed import kind as seeds
from formulaseed.seed import surface
from formulaseed.seed.check.program import check_program
from formulaseed.seed.read.shape import Shape, get_first_character
from formulaseed.seed.surface import Named
from formulaseed.source.json_reader import JsonArray, JsonObject, JsonString, JsonValue, PlainText
from formulaseed.source.text import Span

UNNAMED_FORMULA = "formula"
"""The name of a formula that is not in a file of rules, for errors."""


def lower_formula(text: JsonString, reference: Reference, problems: Problems) -> surface.Program:
    """Lower one formula, whose value may be a number or a string. A syntax error is reported, and gives a broken step."""
    expression = _parse(text, reference, problems)
    operation = surface.Formula(expression) if expression is not None else surface.Broken()
    name = Named(text.span, UNNAMED_FORMULA)
    return surface.Program(
        name,
        steps=(surface.Step(name, text.span, operation),),
        output=(name,),
        reference=reference,
        new_scope=partial(new_scope, reference),
    )


def find_formulas(document: JsonValue) -> Iterator[JsonString]:
    """Yield the formulas in a reference's JSON: those of its examples, and of its syntax patterns."""
    for section_key, key in (("examples", "formula"), ("syntax_patterns", "examples")):
        section = document.get(section_key) if isinstance(document, JsonObject) else None
        if not isinstance(section, JsonObject):
            continue
        for member in section.members:
            value = member.value.get(key) if isinstance(member.value, JsonObject) else None
            items = value.items if isinstance(value, JsonArray) else (value,)
            yield from (item for item in items if isinstance(item, JsonString))


def find_reference_path(document: JsonValue) -> JsonString | None:
    """Return the path at the key `reference` of a file of rules; None if there is no such string."""
    path = document.get("reference") if isinstance(document, JsonObject) else None
    return path if isinstance(path, JsonString) else None


def lower_rules(document: JsonValue, name: str, reference: Reference, problems: Problems) -> surface.Program | None:
    """Lower a file of rules: a list, or an object with the list at `rules`. Every fault is reported.

    Always returns a program, even one without rules. A rule without a valid name is checked, too, but is not part of
    the output; an item that is no object is left out.
    """
    shape = Shape(problems)
    description = ""
    listed: JsonValue | None = document
    if isinstance(document, JsonObject):
        shape.report_unknown_keys(document, ("reference", "description", "rules"), "a file of rules")
        shape.read_text(document.get("reference"), "`reference`")
        description = shape.read_string(document.get("description"), "`description`")
        listed = document.get("rules")
    items = shape.read_list(listed, "`rules`", limits.RULES)
    if isinstance(listed, JsonArray) and not listed.items:
        problems.report(catalogue.no_rules(listed.span))
    steps: list[surface.Step] = []
    nameless: list[surface.Step] = []
    places: dict[str, int] = {}
    for place, item in enumerate(items):
        section = shape.read_object(item, "a rule", 'an object such as {"name": "ram", "formula": "ram_gb * 2.5"}')
        if section is None:
            continue
        rule_name, operation, meaning = _read_rule(section, shape, reference)
        start = get_first_character(section.span)
        if rule_name is not None and _is_new_name(rule_name, problems, places):
            places[rule_name.value] = place
            steps.append(surface.Step(Named(rule_name.span, rule_name.value), start, operation, description=meaning))
        else:
            nameless.append(surface.Step(Named(start, f"rules[{place}]"), start, operation))
    return surface.Program(
        Named(document.span, name),
        description=description,
        steps=tuple(steps),
        steps_key=surface.RULES_KEY,
        nameless=tuple(nameless),
        output=tuple(step.name for step in steps),
        reference=reference,
        new_scope=partial(new_scope, reference),
        requires_numbers=True,
        span=document.span,
    )


def _read_rule(
    section: JsonObject, shape: Shape, reference: Reference
) -> tuple[JsonString | None, surface.Formula | surface.Broken, str]:
    """Return the name of a rule, None if there is no string, its formula and its description; report faults.

    A formula that is missing or invalid is `Broken`.
    """
    shape.report_unknown_keys(section, ("name", "formula", "description"), "a rule")
    name = shape.require_text(section, "name", "the rule", '"name": such as "ram"')
    text = shape.require_text(section, "formula", "the rule", '"formula": such as "ram_gb * 2.5"')
    description = shape.read_string(section.get("description"), "`description`")
    expression = _parse(text, reference, shape.problems) if text is not None else None
    if expression is None:
        return name, surface.Broken(), description
    return name, surface.Formula(expression), description


def _parse(text: JsonString, reference: Reference, problems: Problems) -> ast.Expr | None:
    """Parse a formula, and report each function and operator in it that the reference does not allow.

    Returns None, with an error reported, if its syntax is invalid.
    """
    expression = parse_formula(text, problems)
    for diagnostic in find_unlisted(expression, reference):
        problems.report(diagnostic)
    return expression


def find_unlisted(expression: ast.Expr | None, reference: Reference) -> list[Diagnostic]:
    """Return one diagnostic for each function and operator of a formula that the reference does not allow.

    Empty if `expression` is None. A function that the language does not have is not reported here.
    """
    functions = reference.available_functions
    operators = reference.operators
    diagnostics: dict[str, Diagnostic] = {}
    for node in ast.walk(expression):
        name = node.name if isinstance(node, ast.Call) else None
        if name is not None and name.text in FUNCTIONS and name.text not in functions:
            diagnostics.setdefault(name.text, catalogue.function_not_listed(name.span, name.text, functions))
        if operators is None:
            continue
        for operator in _list_operators(node):
            if operator not in operators:
                diagnostics.setdefault(operator, catalogue.operator_not_listed(node.span, operator, operators))
    return list(diagnostics.values())


def _list_operators(node: ast.Expr) -> tuple[str, ...]:
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
    """Return True if a rule's name is printable, not blank, and not in `places`; otherwise report it, and return False.

    Spaces around a name and more than `limits.NAME_CHARACTERS` are refused, too. `places` maps earlier names to their
    index.
    """
    name = text.value
    if not (0 < len(name) <= limits.NAME_CHARACTERS and name.isprintable() and name == name.strip()):
        problems.report(catalogue.invalid_rule_name(text.span, limits.NAME_CHARACTERS))
        return False
    if name in places:
        problems.report(catalogue.duplicate_rule(text.span, name, places[name]))
    return name not in places


FindReference = Callable[[Document, Problems], Reference]
"""Return the reference whose fields a file of rules uses. It may raise `SeedError`, or report problems."""


def formula_kind(reference: Reference) -> Kind[surface.Program, nodes.Program]:
    """Return how one formula is parsed and checked that uses the fields of this reference."""
    return Kind("formula", partial(_parse_formula, reference), seeds.check, is_json=False)


def _parse_formula(reference: Reference, document: Document, problems: Problems) -> surface.Program | None:
    """Lower a document that is one formula; None, with an error reported, if it has half of a surrogate pair."""
    source = document.source
    # Only the start is searched, as a formula may have no more characters.
    if any("\ud800" <= c <= "\udfff" for c in source.text[: limits.FORMULA_CHARACTERS]):
        problems.report(catalogue.half_a_character(Span(source, 0, 0)))
        return None
    return lower_formula(PlainText(Span(source, 0, len(source.text)), source.text), reference, problems)


def rules_kind(find_reference: FindReference) -> Kind[surface.Program, nodes.Program]:
    """Return how a file of rules is parsed and checked, with the reference that `find_reference` returns for it."""
    return Kind("rules", partial(_parse_rules, find_reference), seeds.check)


def _parse_rules(find_reference: FindReference, document: Document, problems: Problems) -> surface.Program | None:
    """Lower a file of rules; None, with the errors reported, if it is not JSON or its reference cannot be read."""
    if document.tree is None:
        return None
    try:
        reference = find_reference(document, problems)
    except SeedError as error:
        for diagnostic in error.diagnostics:
            problems.report(diagnostic)
        return None
    return lower_rules(document.tree, document.name, reference, problems)


def _parse_reference(document: Document, problems: Problems) -> Reference | None:
    """Lower a reference; None, with errors reported, if it cannot be read."""
    return lower_reference(document.tree, problems)


def _check_reference(document: Document, reference: Reference, problems: Problems) -> None:
    """Check the example formulas in a reference, and its database section; a reference gives no checked program."""
    assert document.tree is not None
    lower_layout(document.tree, problems)
    for text in find_formulas(document.tree):
        check_program(lower_formula(text, reference, problems), problems)


KIND: Kind[Reference, None] = Kind("reference", _parse_reference, _check_reference)
