"""Reports calls of unknown functions, and rewrites calls of functions of other languages as formulas.

In: the name of a call and its checked arguments. Out: one diagnostic.
"""

from __future__ import annotations

import builtins
import math
import re
from collections.abc import Sequence
from dataclasses import replace

from formulaseed.diagnostics.catalogue import expressions as catalogue
from formulaseed.diagnostics.model import Help, Problems
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.language import ast
from formulaseed.language.check.facts import Facts
from formulaseed.language.check.scope import Scope
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.hints import (
    CLOCK_FUNCTIONS,
    FORBIDDEN_FUNCTIONS,
    FOREIGN_CALLS,
    FUNCTION_HELP,
    POSITION_METHODS,
)
from formulaseed.language.parser import parse_formula, parse_v1_formula
from formulaseed.language.printer import expression_text, quote
from formulaseed.language.typed import Expr
from formulaseed.source.json_reader import PlainText
from formulaseed.source.text import Source, Span

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
    is_function = not module or module.lower() in _MODULES or last.lower() in CLOCK_FUNCTIONS
    if not is_function and (last not in FUNCTIONS or scope.is_known(module)):
        help = help_for_method(module, last, list(map(expression_text, known)))
        scope.problems.report(catalogue.method_call(name.span, last, scope.words, help))
        return
    problem = catalogue.unknown_function(name.span, name.text, _help_for_function(scope, name, known, facts))
    is_security = last.lower() in FORBIDDEN_FUNCTIONS or ast.has_inner_name(name.text)
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
    forms = [template for call, template in FOREIGN_CALLS.items() if call.partition("(")[0] == name]
    if not forms:
        return FUNCTION_HELP.get(name, "")
    rewritten = _rewrite_call(name, list(map(expression_text, arguments)))
    if rewritten.endswith("= None") and not facts.may_be_null(arguments[0]):
        return catalogue.TEST_OF_PRESENT.format(quote(arguments[0]))
    return f"write `{rewritten or forms[0]}`"


def _rewrite_call(name: str, arguments: Sequence[str]) -> str:
    """Return a call of a function of another language as a formula, by the first form in the table that fits.

    Returns an empty string if no formula replaces it, or if that is too long.
    """
    for call, template in FOREIGN_CALLS.items():
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
        catalogue.help_for_string_method(text, is_number=method in POSITION_METHODS)
        if 0 < len(text) <= _MAX_REWRITTEN_CALL
        else ""
    )
