"""The arguments of calls: how many a function takes, as a list or one by one, and where a literal is required."""

from __future__ import annotations

from collections.abc import Sequence

from formulaseed.diagnostics.catalogue import expressions as catalogue
from formulaseed.diagnostics.model import Problems
from formulaseed.language import ast
from formulaseed.language.functions import Function
from formulaseed.language.typed import Expr


def unpack_arguments(node: ast.Call, function: Function, problems: Problems) -> tuple[ast.Expr, ...] | None:
    """Return the arguments of a call, those of a list one by one; None, with the problem reported, if their number is wrong."""
    arguments, least = node.arguments, function.least
    if function.list_argument != "no" and len(arguments) == 1 and isinstance(arguments[0], ast.List):
        arguments = arguments[0].items
        least = 0 if function.of_none is not None else 1
    elif function.list_argument == "must":
        texts = [each.span.source.text[each.span.start : each.span.end] for each in arguments]
        if any(isinstance(each, ast.List) for each in arguments):
            texts = []
        are_plain = all(isinstance(each, ast.Name | ast.Literal | ast.Call) for each in arguments)
        found = catalogue.needs_list(node.span, function.name, texts, are_plain=are_plain, example=function.example)
        problems.report(found)
        return None
    if len(arguments) >= least and (function.most is None or len(arguments) <= function.most):
        return arguments
    if node.arguments and not arguments:
        problems.report(catalogue.empty_arguments(node.span, function.example))
    else:
        help = function.hints.get(len(arguments)) or catalogue.LIKE.format(function.example)
        found = catalogue.wrong_count(node.span, function.name, function.least, function.most, len(arguments), help)
        problems.report(found)
    return None


def has_literal(function: Function, arguments: Sequence[Expr], problems: Problems) -> bool:
    """Return whether the last argument is a literal integer within bounds, if the function asks for one; report it if not."""
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
