"""Plan the helpers of functions in generated modules, and find the Python names in the spellings of the tables.

Reads the table of functions alone, so that a new function is one entry there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from formulaseed.backends.python.code import Code
from formulaseed.language import typed
from formulaseed.language.aggregates import AGGREGATES
from formulaseed.language.functions import FUNCTIONS, Function
from formulaseed.language.operators import Operation
from formulaseed.language.typed import Expr
from formulaseed.language.types import BOOLEAN

SPELLING_KEY = "python"
"""The key of the spellings in Python, in the tables of the language."""


@dataclass(frozen=True, slots=True)
class FunctionHelper:
    """The helper of a function that has no value for some arguments, as `templates/python/functions.py.j2` writes it out."""

    helper: Code
    fault_name: Code
    parameters: Code
    arguments: Code
    doc: Code
    test: Code
    kind: Code
    message: Code
    value: Code


def helper_name(operation: Operation) -> Code:
    """Return the name of the helper that a generated module calls for a partial operation."""
    return Code(f"_{operation.name}")


def fault_name(function: Function) -> Code:
    """Return the name of the helper that makes the error of a function."""
    return Code(f"_{function.name}_fault")


def plan_helpers() -> list[FunctionHelper]:
    """Return the helpers of the functions that may fail, except those that are operators in another spelling."""
    return [_plan_helper(function) for function in FUNCTIONS.values() if function.is_partial and not function.operator]


def _plan_helper(function: Function) -> FunctionHelper:
    """Return the helper of a function that may fail, which must have exactly one failure with a test.

    Raises `ValueError` if it has none, or more than one.
    """
    names = function.parameters
    spelling = function.spelling(SPELLING_KEY)
    call = f"{function.name}({', '.join(f'{{{name}!r}}' for name in names)})"
    ((failure, (place, sign, bound)),) = ((fault, fault.test) for fault in function.failures if fault.test is not None)
    return FunctionHelper(
        helper=helper_name(function),
        fault_name=fault_name(function),
        parameters=Code(", ".join(f"{name}: float" for name in names)),
        arguments=Code(", ".join(names)),
        doc=Code(spelling.doc or function.description),
        test=Code(f"{names[place]} {sign} {bound}"),
        kind=Code(failure.kind),
        message=Code(failure.fault.format(shown=call)),
        value=Code(spelling.text.format(*names)),
    )


def find_boolean_default(node: Expr) -> bool | None:
    """Return the literal default of a `coalesce` of a boolean: True or False; None for any other node."""
    if not isinstance(node, typed.Call) or not FUNCTIONS[node.function].replaces_null or node.info.ty != BOOLEAN:
        return None
    match node.arguments[1]:
        case typed.Literal(bool(default)):
            return default
    return None


def find_native_call(expression: Expr) -> typed.Call | None:
    """Return the only call that can fail, if Python refuses it with a `ValueError`; otherwise None.

    Returns None, too, if no call of the expression can fail, or several can.
    """
    calls = [node for node in typed.walk(expression) if isinstance(node, typed.Call) and not node.is_safe]
    if len(calls) != 1 or not FUNCTIONS[calls[0].function].spelling(SPELLING_KEY).is_refused:
        return None
    return calls[0]


class SpelledNames(NamedTuple):
    """The names of builtins, of parts of `math` and of methods that functions and aggregates are spelled with."""

    builtins: frozenset[str]
    math: frozenset[str]
    methods: frozenset[str]


def find_spelled_names() -> SpelledNames:
    """Find the names of Python in the spellings of all functions and aggregates.

    Functions that are operators or are folded are left out.
    """
    texts = [
        function.spelling(SPELLING_KEY).text
        for function in FUNCTIONS.values()
        if not (function.operator or function.folds)
    ]
    for aggregate in AGGREGATES.values():
        spelling = aggregate.spellings[SPELLING_KEY]
        texts += [spelling.update, spelling.test, spelling.result, spelling.is_empty, spelling.shortcut]
        texts += [text for entry in spelling.accumulators for text in (entry.start, entry.type)]
    text = " ".join(texts)
    return SpelledNames(
        frozenset(re.findall(r"(?<![.\w{])(\w+)[(\[]", text)),
        frozenset(re.findall(r"\bmath\.(\w+)", text)),
        frozenset(re.findall(r"\}\.(\w+)\(", text)),
    )
