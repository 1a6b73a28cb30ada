"""Plan the helpers of functions in generated modules, and list the names that functions and aggregates are spelled with.

Made from the table of functions, so that a function is one entry there.
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

BACKEND = "python"
"""The key of our spellings in the tables."""


@dataclass(frozen=True, slots=True)
class Helper:
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


def plan_helpers() -> list[Helper]:
    """Return the helpers of the functions that may fail. Source: the table of functions, never a seed."""
    return [_plan_helper(function) for function in FUNCTIONS.values() if function.is_partial and not function.operator]


def _plan_helper(function: Function) -> Helper:
    names = function.parameters
    spelling = function.spelling(BACKEND)
    call = f"{function.name}({', '.join(f'{{{name}!r}}' for name in names)})"
    ((failure, (place, sign, bound)),) = ((fault, fault.test) for fault in function.failures if fault.test is not None)
    return Helper(
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


def default_flag(node: Expr) -> bool | None:
    """Return the literal that `coalesce` gives a boolean in place of null; None if the node is anything else."""
    if not isinstance(node, typed.Call) or not FUNCTIONS[node.function].replaces_null or node.info.ty != BOOLEAN:
        return None
    default = node.arguments[1]
    return default.value if isinstance(default, typed.Literal) and isinstance(default.value, bool) else None


class NamesUsed(NamedTuple):
    """The names that functions and aggregates are spelled with."""

    builtins: frozenset[str]
    math: frozenset[str]
    methods: frozenset[str]


def names_used() -> NamesUsed:
    """Return the builtins, the parts of `math` and the methods that functions and aggregates are spelled with."""
    texts = [
        function.spelling(BACKEND).text for function in FUNCTIONS.values() if not (function.operator or function.folds)
    ]
    for aggregate in AGGREGATES.values():
        spelling = aggregate.spellings[BACKEND]
        texts += [spelling.update, spelling.test, spelling.result, spelling.is_empty, spelling.shortcut]
        texts += [text for entry in spelling.accumulators for text in (entry.start, entry.type)]
    text = " ".join(texts)
    return NamesUsed(
        frozenset(re.findall(r"(?<![.\w{])(\w+)[(\[]", text)),
        frozenset(re.findall(r"\bmath\.(\w+)", text)),
        frozenset(re.findall(r"\}\.(\w+)\(", text)),
    )
