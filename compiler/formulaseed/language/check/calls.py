"""Checks calls: the number of arguments, whether they are in a list, and that a literal is one where it is required.

Calls of unknown functions are reported, and those of functions of other languages rewritten as formulas.
"""

from __future__ import annotations

import builtins
import math
import re
from collections.abc import Sequence
from dataclasses import replace

from formulaseed.diagnostics.catalogue import expressions as catalogue
from formulaseed.diagnostics.model import Diagnostic, Help, Problems
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.language import ast, hints
from formulaseed.language.check.scope import Facts, Scope
from formulaseed.language.functions import FUNCTIONS, Function
from formulaseed.language.parser import parse_formula, parse_v1_formula
from formulaseed.language.printer import expression_text, quote
from formulaseed.language.typed import Expr
from formulaseed.source.json_reader import PlainText
from formulaseed.source.text import Source, Span


def unpack_arguments(node: ast.Call, function: Function, problems: Problems) -> tuple[ast.Expr, ...] | None:
    """Return the arguments of a call, or the items of its only argument if that is a list that `function` takes.

    Returns None, with the problem reported, if their number is wrong or the function needs a list and has none.
    """
    arguments = node.arguments
    least = function.min_arguments
    if function.list_argument != "no" and len(arguments) == 1 and isinstance(arguments[0], ast.List):
        arguments = arguments[0].items
        least = int(function.empty_value is None)
    elif function.list_argument == "must":
        problems.report(_explain_needed_list(node, function))
        return None
    if len(arguments) >= least and (function.max_arguments is None or len(arguments) <= function.max_arguments):
        return arguments
    if node.arguments and not arguments:
        problems.report(catalogue.empty_arguments(node.span, function.example))
    else:
        help = function.hints.get(len(arguments)) or catalogue.LIKE.format(function.example)
        count = len(arguments)
        problems.report(
            catalogue.wrong_count(node.span, function.name, function.min_arguments, function.max_arguments, count, help)
        )
    return None


def _explain_needed_list(node: ast.Call, function: Function) -> Diagnostic:
    """Return the diagnostic of a call without the one list that its function takes.

    It shows the arguments as a list, unless one of them is itself a list.
    """
    spans = [argument.span for argument in node.arguments]
    texts = [span.source.text[span.start : span.end] for span in spans]
    if any(isinstance(argument, ast.List) for argument in node.arguments):
        texts = []
    are_plain = all(isinstance(argument, ast.Name | ast.Literal | ast.Call) for argument in node.arguments)
    return catalogue.needs_list(node.span, function.name, texts, are_plain=are_plain, example=function.example)


def check_literal(function: Function, arguments: Sequence[Expr], problems: Problems) -> bool:
    """Return False, and report it, if the last argument must be a literal integer within bounds and is not.

    Returns True if the function requires no literal, or if the last parameter has no argument.
    """
    if function.literal is None or len(arguments) < len(function.parameters):
        return True
    low, high = function.literal
    info = arguments[-1].info
    if info.is_constant and isinstance(info.constant, int) and low <= info.constant <= high:
        return True
    problems.report(
        catalogue.not_literal(info.span, function.name, function.parameters[-1], (low, high), function.example)
    )
    return False


# --- unknown functions


_MAX_REWRITTEN_CALL = 80
"""A longer rewritten call is not proposed."""
_MODULES = ("math", "np", "numpy", "pd", "pandas", "statistics", "operator")


def report_unknown_function(scope: Scope, name: ast.Name, arguments: Sequence[Expr], facts: Facts) -> None:
    """Report a call of a name that is not a function. `arguments` is empty if not all of them could be checked.

    A method call, such as `x.lower()`, has a diagnostic of its own. A forbidden function is marked as a matter of
    security.
    """
    module, _, last = name.text.rpartition(".")
    known = arguments
    if any(argument.info.ty.is_error for argument in arguments):
        known = []
    is_function = not module or module.lower() in _MODULES or last.lower() in hints.CLOCK_FUNCTIONS
    if not is_function and (last not in FUNCTIONS or scope.is_known(module)):
        help = help_for_method(module, last, list(map(expression_text, known)))
        scope.problems.report(catalogue.method_call(name.span, last, scope.words, help))
        return
    problem = catalogue.unknown_function(name.span, name.text, _help_for_function(scope, name, known, facts))
    is_security = last.lower() in hints.FORBIDDEN_FUNCTIONS or ast.has_inner_name(name.text)
    scope.problems.report(replace(problem, is_security=is_security))


def _help_for_function(scope: Scope, name: ast.Name, arguments: Sequence[Expr], facts: Facts) -> Help:
    """Return the help for an unknown function, by the first that applies.

    It names a step of this name, the function without its module, a rewritten call, a similar function, or up to 20
    functions.
    """
    module, _, last = name.text.rpartition(".")
    if scope.is_step(name.text):
        return catalogue.STEP_CALLED.format(name.text)
    if module and last in FUNCTIONS:
        return f"write `{last}`"
    if help := _help_for_foreign_call(last.lower(), arguments, facts):
        return help
    # a function of Python is not a typo of another function
    is_elsewhere = hasattr(builtins, last.lower()) or hasattr(math, last.lower())
    typo = "" if is_elsewhere and last.lower() not in FUNCTIONS else name.text
    return did_you_mean(typo, scope.functions, noun="functions", limit=20)


def _help_for_foreign_call(name: str, arguments: Sequence[Expr], facts: Facts) -> str:
    """Return the help for a function of another language: the call rewritten, or its general form if that fails.

    Returns an empty string for any other name.
    """
    forms = [template for call, template in hints.FOREIGN_CALLS.items() if call.partition("(")[0] == name]
    if not forms:
        return hints.FUNCTION_HELP.get(name, "")
    rewritten = _rewrite_call(name, list(map(expression_text, arguments)))
    if rewritten.endswith("= None") and not facts.may_be_null(arguments[0]):
        return catalogue.TEST_OF_PRESENT.format(quote(arguments[0]))
    return f"write `{rewritten or forms[0]}`"


def _rewrite_call(name: str, arguments: Sequence[str]) -> str:
    """Return a call of a function of another language as a formula, by the first form in the table that fits.

    Returns an empty string if no formula replaces it, or if that is too long.
    """
    for call, template in hints.FOREIGN_CALLS.items():
        function, _, rest = call.rstrip(")").partition("(")
        parameters = rest.split(", ")
        if function != name or len(arguments) < len(parameters):
            continue
        if more := [f"more{place}" for place in range(len(arguments) - len(parameters))]:
            joint = re.search(rf"{parameters[0]}( and | or |, ){parameters[-1]}", template)
            if joint is None:
                continue
            template = template.replace(joint[0], joint[1].join([*parameters, *more]))
        values = dict(zip([*parameters, *more], arguments, strict=True))
        text = "".join(f"({values[word]})" if word in values else word for word in re.split(r"\b", template))
        written = PlainText(Span(Source("", text), 0, len(text)), text)
        formula = parse_formula(written, Problems()) or parse_v1_formula(written, Problems())
        if formula is None:
            return ""
        text = expression_text(formula)
        if len(text) > _MAX_REWRITTEN_CALL:
            return ""
        if isinstance(formula, ast.Logical) and formula.operator == "or" and name != "or":
            return f"({text})"
        return text
    return ""


def help_for_method(value: str, name: str, arguments: Sequence[str]) -> str:
    """Return the help for a call of the method `name` of `value`, such as `x.lower()`.

    Returns an empty string if no formula replaces it, or if that is too long.
    """
    method = f".{name.lower()}"
    text = _rewrite_call(method, [value, *arguments]) or _rewrite_call(name.lower(), [value, *arguments])
    if not text and name in FUNCTIONS:
        text = f"{name}({', '.join([value, *arguments])})"
    return (
        catalogue.help_for_string_method(text, is_number=method in hints.POSITION_METHODS)
        if 0 < len(text) <= _MAX_REWRITTEN_CALL
        else ""
    )
