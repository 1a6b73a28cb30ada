"""Calls of what is no function: functions of other languages are rewritten with their arguments.

In: a call's name and its checked arguments. Out: one diagnostic.
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
from formulaseed.language.hints import CALLS, CLOCK, FORBIDDEN, FUNCTION_HELP, PLACES
from formulaseed.language.parser import parse_formula, parse_v1_formula
from formulaseed.language.printer import called, expression_text
from formulaseed.language.typed import Expr
from formulaseed.source.json_reader import PlainText
from formulaseed.source.text import Source, Span

_SHOWN = 80
"""A longer rewriting is not shown."""
_MODULES = ("math", "np", "numpy", "pd", "pandas", "statistics", "operator")


def report_unknown_function(scope: Scope, name: ast.Name, arguments: Sequence[Expr], facts: Facts) -> None:
    """Report a call of what is no function. `arguments` are empty where they are not all known."""
    help: Help
    module, _, last = name.text.rpartition(".")
    known = [] if any(argument.info.ty.is_error for argument in arguments) else arguments
    is_function = not module or module.lower() in _MODULES or last.lower() in CLOCK
    if not is_function and (last not in FUNCTIONS or scope.is_known(module)):
        shown = help_for_method(module, last, list(map(expression_text, known)))
        scope.problems.report(catalogue.method(name.span, last, scope.words, shown))
        return
    if scope.is_step(name.text):
        help = catalogue.STEP_CALLED.format(name.text)
    elif module and last in FUNCTIONS:
        help = f"write `{last}`"
    else:
        is_elsewhere = hasattr(builtins, last.lower()) or hasattr(
            math, last.lower()
        )  # so it is no misspelt one of ours
        typed_name = "" if is_elsewhere and last.lower() not in FUNCTIONS else name.text
        help = _help(last.lower(), known, facts) or did_you_mean(
            typed_name, scope.functions, what="functions", limit=20
        )
    found = catalogue.unknown_function(name.span, name.text, help)
    scope.problems.report(replace(found, is_security=last.lower() in FORBIDDEN or ast.has_inner_name(name.text)))


def _help(name: str, arguments: Sequence[Expr], facts: Facts) -> str:
    """The help for a function of another language; empty for any other name."""
    forms = [template for call, template in CALLS.items() if call.partition("(")[0] == name]
    if not forms:
        return FUNCTION_HELP.get(name, "")
    rewritten = _rewritten(name, list(map(expression_text, arguments)))
    if rewritten.endswith("= None") and not facts.may_be_null(arguments[0]):
        return catalogue.TEST_OF_PRESENT.format(called(arguments[0]))
    return f"write `{rewritten or forms[0]}`"


def _rewritten(name: str, arguments: Sequence[str]) -> str:
    """What a call of a function of another language is here; empty if that is not known, or long."""
    for call, template in CALLS.items():
        function, _, rest = call.rstrip(")").partition("(")
        parameters = rest.split(", ")
        if function != name or len(arguments) < len(parameters):
            continue
        if more := [f"more{place}" for place in range(len(arguments) - len(parameters))]:
            joint = re.search(rf"{parameters[0]}( and | or |, ){parameters[-1]}", template)
            if joint is None:
                continue
            template = template.replace(joint[0], joint[1].join([*parameters, *more]))
        given = dict(zip([*parameters, *more], arguments, strict=True))
        text = "".join(f"({given[word]})" if word in given else word for word in re.split(r"\b", template))
        written = PlainText(Span(Source("", text), 0, len(text)), text)
        found = parse_formula(written, Problems()) or parse_v1_formula(written, Problems())
        if found is None:
            return ""
        text = expression_text(found)
        is_or = isinstance(found, ast.Logical) and found.operator == "or" and name != "or"
        return "" if len(text) > _SHOWN else f"({text})" if is_or else text
    return ""


def help_for_method(value: str, name: str, arguments: Sequence[str]) -> str:
    """Return what to write for a method, such as `context.name.lower()`; empty if nothing is like it."""
    method = f".{name.lower()}"
    text = _rewritten(method, [value, *arguments]) or _rewritten(name.lower(), [value, *arguments])
    if not text and name in FUNCTIONS:
        text = f"{name}({', '.join([value, *arguments])})"
    return catalogue.rewritten_method(text, is_number=method in PLACES) if 0 < len(text) <= _SHOWN else ""
