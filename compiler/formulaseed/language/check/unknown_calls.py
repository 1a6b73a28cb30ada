"""Calls of what is no function: functions of other languages are rewritten with their arguments.

In: a call's name and its checked arguments. Out: one diagnostic.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from typing import Any

from formulaseed.diagnostics.catalogue import expressions as catalogue
from formulaseed.diagnostics.model import Help, Problems
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.language import ast
from formulaseed.language.check.facts import Facts
from formulaseed.language.check.scope import Scope
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.hints import CALLS, CLOCK, FUNCTION_HELP, PLACES
from formulaseed.language.parser import parse_formula
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
    written = name.written or name.text
    module, _, last = name.text.rpartition(".")
    known = [] if any(argument.info.ty.is_error for argument in arguments) else arguments
    is_function = not module or module.lower() in _MODULES or last.lower() in CLOCK
    if not is_function and (last not in FUNCTIONS or scope.is_known(module)):
        shown = help_for_method(module, last, known)
        scope.problems.report(catalogue.method(name.span, last, scope.words, shown))
        return
    if scope.is_step(name.text):
        help = catalogue.STEP_CALLED.format(name.text)
    elif module and last in FUNCTIONS:
        help = f"write `{last}`"
    else:
        help = _help(last.lower(), known, scope, facts) or did_you_mean(
            "" if _is_elsewhere(last.lower()) else written, FUNCTIONS, what="functions", limit=20
        )
    scope.problems.report(catalogue.unknown_function(name.span, written, help))


def _help(name: str, arguments: Sequence[Expr], scope: Scope, facts: Facts) -> str:
    """The help for a function of another language; empty for any other name."""
    if name in FUNCTION_HELP:
        in_seed, alone = FUNCTION_HELP[name]
        return (in_seed if scope.words.in_seed else alone).format(name)
    forms = [template for call, template in CALLS.items() if call.partition("(")[0] == name]
    if not forms:
        return ""
    rewritten = _rewritten(name, arguments) if arguments else None
    if rewritten is not None and rewritten.endswith("= None"):
        first = arguments[0]
        if not facts.may_be_null(first):
            return catalogue.TEST_OF_PRESENT.format(called(first))
    return f"write `{rewritten if rewritten and len(rewritten) <= _SHOWN else forms[0]}`"


def _rewritten(name: str, arguments: Sequence[Any]) -> str | None:
    """What a call of a function of another language is here; None if that is not known."""
    for call, template in CALLS.items():
        function, _, rest = call.rstrip(")").partition("(")
        parameters = rest.split(", ")
        more = arguments[len(parameters) :]
        if function != name:
            continue
        tree = _parsed(template)
        is_joined = len(parameters) == 2 and isinstance(tree, ast.Logical | ast.Call)
        if len(parameters) > len(arguments) or (more and not is_joined):
            continue
        made = _substituted(tree, dict(zip(parameters, arguments, strict=False)))
        if isinstance(made, ast.Logical):
            made = replace(made, operands=(*made.operands, *more))
        elif isinstance(made, ast.Call):
            made = replace(made, arguments=(*made.arguments, *more))
        text = expression_text(made)
        return f"({text})" if isinstance(tree, ast.Logical) and tree.operator == "or" and name != "or" else text
    return None


def help_for_method(value: str, name: str, arguments: Sequence[Any]) -> str:
    """Return what to write for a method, such as `context.name.lower()`; empty if nothing is like it."""
    method, nowhere = f".{name.lower()}", Span(Source("", ""), 0, 0)
    operands = (ast.Name(nowhere, value), *arguments)
    text = _rewritten(method, operands) or _rewritten(name.lower(), operands)
    if text is None and name in FUNCTIONS:
        text = expression_text(ast.Call(nowhere, ast.Name(nowhere, name), operands))
    return catalogue.rewritten_method(text, is_number=method in PLACES) if text and len(text) <= _SHOWN else ""


@cache
def _parsed(template: str) -> ast.Expr:
    source = Source("", template)
    found = parse_formula(PlainText(Span(source, 0, len(template)), template), Problems())
    assert found is not None, template
    return found


def _substituted(node: Any, given: Mapping[str, Any]) -> Any:
    """A tree with the given expressions in place of names."""
    if isinstance(node, tuple):
        return tuple(_substituted(each, given) for each in node)
    if isinstance(node, ast.Name):
        return given.get(node.text, node)
    if not isinstance(node, ast.Expr):
        return node
    changed = {
        field.name: _substituted(getattr(node, field.name), given) for field in fields(node) if field.name != "name"
    }
    return replace(node, **changed)


def _is_elsewhere(name: str) -> bool:
    """Whether Python has such a function, so that it is no misspelt one of ours."""
    return name not in FUNCTIONS and (hasattr(builtins, name) or hasattr(math, name))
