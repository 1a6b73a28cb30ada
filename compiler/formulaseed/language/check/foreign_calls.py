"""Calls of what is no function: told with what to write, for the functions of other languages the call rewritten.

In: a call's name and its checked arguments. Out: one diagnostic.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from formulaseed.diagnostics.model import Help
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.language import ast
from formulaseed.language.check.facts import Facts, is_present
from formulaseed.language.check.scope import Scope
from formulaseed.language.check.wording import called
from formulaseed.language.foreign_functions import CLOCK, form_of, help_for_method
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.operators import ATOM
from formulaseed.language.typed import Expr
from formulaseed.language.typed_text import text_at

_SHOWN = 80
"""A longer rewriting is not shown."""
_MODULES = ("math", "np", "numpy", "pd", "pandas", "statistics", "operator")
"""What the functions of other languages stand behind."""


def report_no_function(scope: Scope, name: ast.Name, arguments: Sequence[Expr], facts: Facts) -> None:
    """Tell of a call of what is no function. `arguments` are empty where they are not all known."""
    help: Help
    written = name.written or name.text
    module, _, last = name.text.rpartition(".")
    foreign = scope.words.functions.get(last.lower())
    is_method = bool(module) and module.lower() not in _MODULES and last.lower() not in CLOCK
    is_method = is_method and (last not in FUNCTIONS or scope.is_known(module))
    if scope.is_step(name.text):
        help = f"`{name.text}` is a step; write `{name.text} * (…)` to multiply"
    elif is_method:
        is_whole = not any(argument.info.ty.is_error for argument in arguments)
        texts = [text_at(argument, ATOM) for argument in arguments] if is_whole else []
        help = help_for_method(module, last, texts) if all(len(text) <= _SHOWN for text in texts) else ""
        help = help or f"functions are called by name, such as `{scope.words.call}`; texts are compared case included"
        scope.problems.add("FS103", name.span, f"values have no methods such as `{last}`", help)
        return
    elif module and last in FUNCTIONS:
        help = f"write `{last}`"
    elif foreign is None:
        help = did_you_mean(written, FUNCTIONS, what="functions", limit=20)
    else:
        help = _rewritten(last.lower(), arguments, facts) or foreign
        help = help or did_you_mean("", FUNCTIONS, what="functions", limit=20)
    scope.problems.add("FS207", name.span, f"there is no function `{written}`", help)


def _rewritten(name: str, arguments: Sequence[Expr], facts: Facts) -> str | None:
    """What a call of a function from elsewhere is here, where that is known and short."""
    if not arguments or any(argument.info.ty.is_error for argument in arguments):
        return None
    form = form_of(name, len(arguments))
    if form is None:
        return None
    first = arguments[0]
    if form.text.endswith(" None") and (not first.info.ty.nullable or is_present(first, facts)):
        return f"{called(first)} is never null here: remove the test"
    text = form.of([partial(text_at, argument) for argument in arguments])
    return f"write `{text}`" if len(text) <= _SHOWN else None
