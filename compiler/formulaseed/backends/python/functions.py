"""The functions of the language in generated modules: helpers that raise, and the names that modules may use.

Made from the table of functions, so that a function is one entry there.
"""

from __future__ import annotations

import re

from formulaseed.language.functions import FUNCTIONS, Function
from formulaseed.language.operators import Operation

BACKEND = "python"
"""The key of our spellings in the tables."""

_HELPER = '''\
def {helper}({arguments}, step: str) -> float:
    """{description}."""
    {checks}
    return {spelled}
'''
_CHECK = """\
    if {argument} {sign} {bound}:
        raise EvaluationError(step, "{kind}", f"{fault}", ({arguments},))
"""


def helper_name(operation: Operation) -> str:
    return f"_{operation.name}"


def helper_sources() -> str:
    """The helpers of the functions that may fail, as source."""
    partial = [each for each in FUNCTIONS.values() if each.is_partial and not each.operator]
    return "\n\n".join(_helper(each) for each in partial)


def _helper(function: Function) -> str:
    names = function.parameters
    shown = f"{function.name}({', '.join(f'{{{name}!r}}' for name in names)})"
    checks = "".join(
        _CHECK.format(
            argument=names[failure.test[0]], sign=failure.test[1], bound=failure.test[2], kind=failure.kind,
            fault=failure.fault.format(shown=shown), arguments=", ".join(names),
        )
        for failure in function.failures
        if failure.test is not None
    )  # fmt: skip
    return _HELPER.format(
        helper=helper_name(function),
        arguments=", ".join(f"{name}: float" for name in names),
        description=function.spelling(BACKEND).doc or function.description,
        checks=checks.strip(),
        spelled=function.spelling(BACKEND).text.format(*names),
    )


def names_used() -> tuple[frozenset[str], frozenset[str]]:
    """Return the builtins, and the parts of `math`, that calls of functions are spelled with."""
    texts = " ".join(
        function.spelling(BACKEND).text for function in FUNCTIONS.values() if not (function.operator or function.folds)
    )
    return frozenset(re.findall(r"(?<![.\w])(\w+)\(", texts)), frozenset(re.findall(r"\bmath\.(\w+)", texts))
