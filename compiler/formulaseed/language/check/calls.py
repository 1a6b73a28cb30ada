"""Checks the arguments of calls: their number, whether they are in a list, and that a literal is one where it is required."""

from __future__ import annotations

from collections.abc import Sequence

from formulaseed.diagnostics.catalogue import expressions as catalogue
from formulaseed.diagnostics.model import Diagnostic, Problems
from formulaseed.language import ast
from formulaseed.language.functions import Function
from formulaseed.language.typed import Expr


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
