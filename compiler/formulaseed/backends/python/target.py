"""The Python target: plan, render, verify, for each kind of document."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from formulaseed.backends.base import Backend, Identity, Unit
from formulaseed.backends.python import identity
from formulaseed.backends.python.bounds import ProvedBounds
from formulaseed.backends.python.dialects import REQUESTS, SEEDS, Dialect
from formulaseed.backends.python.plan import plan_module
from formulaseed.backends.python.render import Template, render
from formulaseed.backends.python.requests_plan import plan_requests
from formulaseed.backends.python.rules_plan import plan_rules
from formulaseed.backends.python.verify import verify
from formulaseed.ir.kind import KindName

_SEED_HELPERS = ("EvaluationError", "DataError")
_REQUESTS_HELPERS = ("Truth", "Restaurant", "Background", "parse_restaurant", "parse_background", "DataError")
"""The helpers that every module of a template defines, whether its code uses them or not."""


@dataclass(frozen=True, slots=True)
class _Module:
    """The planner, template and dialect for the modules of one kind of document.

    `plan` returns the variables of the template, and those of the comment-free build.
    """

    plan: Callable[..., Any]
    template: Template
    dialect: Dialect


SEED_TEMPLATE = Template("module", _SEED_HELPERS, ("Mapping", "Sequence"))
_MODULES: dict[KindName, _Module] = {
    "seed": _Module(plan_module, SEED_TEMPLATE, SEEDS),
    "requests": _Module(plan_requests, Template("requests", _REQUESTS_HELPERS, ("Mapping",)), REQUESTS),
    "rules": _Module(plan_rules, Template("rules", _SEED_HELPERS, ("Mapping", "Sequence")), SEEDS),
}


@dataclass(eq=False)
class PythonBackend(Backend):
    """The target `python`: standalone modules that need the standard library only.

    A seed's module states the bounds that are `proved`, if any.
    """

    proved: ProvedBounds | None = None
    suffix = ".py"
    kinds = frozenset(_MODULES)
    options = frozenset({"style", "tests", "prove"})

    def configure(self, options: Mapping[str, Any]) -> PythonBackend:
        """Return the target with the bounds of the option `prove`, or the target itself without the option."""
        return replace(self, proved=options["prove"]) if "prove" in options else self

    def emit(self, unit: Unit, *, formatted: bool) -> tuple[str, str | None]:
        """Return the module's source, and the first problem that its verification finds; None if there is none.

        If `formatted`, lines that are too long are split. The newest style is taken if the unit states none. Raises
        `SyntaxError` or `RecursionError` if the module nests deeper than Python can read, and `KeyError` for a kind
        that this target does not take.
        """
        module = _MODULES[unit.kind]
        options = {} if self.proved is None else {"proved": self.proved}
        style = unit.style or identity.STYLES[-1]
        plans = module.plan(unit.program, path=unit.path, sha256=unit.sha256, style=style, **options)
        source, comment_free = render(module.template, *plans, formatted=formatted)
        return source, verify(source, comment_free, module.dialect)

    def identify(self, text: str) -> Identity | None:
        """Return the source that a module, or the tests of one, was made from; None for any other text."""
        return identity.read_identity(text)


BACKEND = PythonBackend()
