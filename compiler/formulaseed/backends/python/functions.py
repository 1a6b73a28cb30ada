"""The functions of the language in generated modules: helpers that raise, and the names that modules may use.

Made from the table of functions, so that a function is one entry there.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from formulaseed.language import typed
from formulaseed.language.aggregates import AGGREGATES
from formulaseed.language.functions import FUNCTIONS, Function
from formulaseed.language.operators import Operation
from formulaseed.language.typed import Expr
from formulaseed.language.types import BOOLEAN

BACKEND = "python"
"""The key of our spellings in the tables."""

_HELPER = '''\
def {helper}({arguments}, step: str) -> float:
    """{description}."""
    if {test}:
        raise {fault_name}({names}, step)
    return {spelled}


def {fault_name}({arguments}, step: str) -> EvaluationError:
    """The error of a value that the function refuses."""
    return EvaluationError(step, "{kind}", f"{fault}", ({names},))
'''


def helper_name(operation: Operation) -> str:
    return f"_{operation.name}"


def helper_sources() -> str:
    """The helpers of the functions that may fail, as source."""
    partial = [each for each in FUNCTIONS.values() if each.is_partial and not each.operator]
    return "\n\n".join(_helper(each) for each in partial)


def fault_name(function: Function) -> str:
    return f"_{function.name}_fault"


def _helper(function: Function) -> str:
    names = function.parameters
    shown = f"{function.name}({', '.join(f'{{{name}!r}}' for name in names)})"
    ((failure, (place, sign, bound)),) = ((each, each.test) for each in function.failures if each.test is not None)
    return _HELPER.format(
        helper=helper_name(function),
        fault_name=fault_name(function),
        arguments=", ".join(f"{name}: float" for name in names),
        names=", ".join(names),
        description=function.spelling(BACKEND).doc or function.description,
        test=f"{names[place]} {sign} {bound}",
        kind=failure.kind,
        fault=failure.fault.format(shown=shown),
        spelled=function.spelling(BACKEND).text.format(*names),
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
    texts = [each.spelling(BACKEND).text for each in FUNCTIONS.values() if not (each.operator or each.folds)]
    for aggregate in AGGREGATES.values():
        spelling = aggregate.spellings[BACKEND]
        texts += [spelling.update, spelling.test, spelling.result, spelling.is_empty, spelling.of_all]
        texts += [text for each in spelling.accumulators for text in (each.start, each.type)]
    text = " ".join(texts)
    return NamesUsed(
        frozenset(re.findall(r"(?<![.\w{])(\w+)[(\[]", text)),
        frozenset(re.findall(r"\bmath\.(\w+)", text)),
        frozenset(re.findall(r"\}\.(\w+)\(", text)),
    )
