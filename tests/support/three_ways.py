"""Three evaluations of one seed: the reference evaluator's, the generated module's, the third evaluator's.

Each computes every step apart, so that a step that fails hides none of the following ones: the steps under test use no
other step that can fail.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import CodeType, ModuleType
from typing import Any, cast
from unittest import mock

import third_evaluator
from formulaseed import EvaluationError, FormulaSeed, load_seed
from formulaseed.backends.python.plan import plan_module
from formulaseed.backends.python.render import render
from formulaseed.backends.python.target import SEED_TEMPLATE
from formulaseed.ir import interpret, nodes
from formulaseed.language.types import Base
from formulaseed.runtime.evaluator import Evaluator, GeneratedModule
from formulaseed.testing import reference_evaluate

Json = Any
Arguments = tuple[list[Json], Json, Json]
"""Rows, a context, parameters."""

Outcome = tuple[str, ...]
"""What a step comes to: the class and the text of its value, or the kind of its error."""


def shown(found: object) -> Outcome:
    """A value so that 1, 1.0, True and -0.0 differ, or an error's step and kind."""
    if isinstance(found, Exception):
        step, kind = found.step, found.kind  # type: ignore[attr-defined]
        return ("error", step, kind)
    return ("value", type(found).__name__, repr(found))


class _Apart(interpret.Evaluation):
    """The reference evaluator, with an error in the place of a value."""

    def evaluate_step(self, step: nodes.Step) -> None:
        try:
            super().evaluate_step(step)
        except EvaluationError as error:
            self.results[step.name] = error  # type: ignore[assignment]


_COMPUTE = re.compile(r"^def _compute\(.*?(?=^[a-zA-Z_@])", re.MULTILINE | re.DOTALL)
"""The function of a generated module that computes the steps."""


def imported(code: CodeType) -> ModuleType:
    module = ModuleType("formulaseed_generated.tried")
    exec(code, module.__dict__)
    return module


def put_apart(module: ModuleType, source: str) -> None:
    """Make a generated module put an error in the place of a value; its expressions are untouched."""
    (text,) = _COMPUTE.findall(source)
    tree = ast.parse(text)
    (steps,) = tree.body
    assert isinstance(steps, ast.FunctionDef)
    steps.body = [_caught(statement) for statement in steps.body]
    exec(compile(tree, module.__name__, "exec"), module.__dict__)


def _caught(statement: ast.stmt) -> ast.stmt:
    if not isinstance(statement, ast.Assign | ast.AnnAssign | ast.If):
        return statement
    names = (node for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    target = next(names, None)
    if target is None:
        return statement
    noted: list[ast.stmt] = [ast.Assign([target], ast.Name("failed", ast.Load()))]
    handler = ast.ExceptHandler(ast.Name("EvaluationError", ast.Load()), "failed", noted)
    ast.fix_missing_locations(ast.copy_location(handler, statement))
    return ast.copy_location(ast.Try([statement], [handler], [], []), statement)


@dataclass(frozen=True)
class Ways:
    """One seed, ready to be evaluated three ways."""

    seed: Json
    loaded: FormulaSeed

    @staticmethod
    def of(seed: Json) -> Ways:
        return Ways(seed, load_seed(seed))

    @cached_property
    def source(self) -> str:
        """What `compile_seed` gives, but for the verifier's look at it, which takes as long as all the rest."""
        plan, _ = plan_module(self.loaded.program, path="", sha256=self.loaded.sha256)
        return render(SEED_TEMPLATE, plan, plan)[0]

    @cached_property
    def _code(self) -> CodeType:
        return compile(self.source, "formulaseed_generated.tried", "exec", dont_inherit=True)

    @cached_property
    def module(self) -> Evaluator:
        return Evaluator(cast(GeneratedModule, imported(self._code)))

    @cached_property
    def parts(self) -> Evaluator:
        """The module that computes every step apart."""
        module = imported(self._code)
        put_apart(module, self.source)
        return Evaluator(cast(GeneratedModule, module))

    @cached_property
    def decimals(self) -> frozenset[str]:
        return frozenset(step.name for step in self.loaded.program.steps if step.ty.base is Base.NUMBER)

    def reference(self, arguments: Arguments) -> dict[str, Outcome]:
        with mock.patch.object(interpret, "Evaluation", _Apart):
            return _all_shown(reference_evaluate(self.loaded, *arguments))

    def generated(self, arguments: Arguments) -> dict[str, Outcome]:
        return _all_shown(self.parts.trace(*arguments))

    def third(self, arguments: Arguments) -> dict[str, Outcome]:
        return _all_shown(third_evaluator.Restaurant(self.seed, *arguments, self.decimals).values(apart=True))

    def assert_agree(self, arguments: Arguments, *, whole: bool = True) -> dict[str, Outcome]:
        """All three give the same values, of the same classes, or the same errors at the same steps.

        So does the module as it stands, with `whole`.
        """
        expected, generated, third = self.reference(arguments), self.generated(arguments), self.third(arguments)
        texts = {step["name"]: step for step in self.seed["compute"]}
        for name, outcome in expected.items():
            found = {"reference": outcome, "generated": generated[name], "third": third[name]}
            assert len(set(found.values())) == 1, (texts[name], arguments, found)
        assert list(expected) == list(generated) == list(third)
        if whole:
            self._assert_whole(expected, arguments)
        return expected

    def assert_agree_in_order(self, arguments: Arguments) -> list[Outcome]:
        """The same for steps as they are computed: all three give every value, or the error of the first step that fails."""
        third = third_evaluator.Restaurant(self.seed, *arguments, self.decimals)
        found = {
            "reference": _tried(lambda: reference_evaluate(self.loaded, *arguments)),
            "generated": _tried(lambda: self.module.trace(*arguments)),
            "third": _tried(third.values),
        }
        assert len(set(found.values())) == 1, (self.seed["compute"], arguments, found)
        return [outcome for _, outcome in found["third"]]

    def _assert_whole(self, expected: Mapping[str, Outcome], arguments: Arguments) -> None:
        """The module as it stands gives the values, or the error of the first step that fails."""
        first = next(((name, outcome) for name, outcome in expected.items() if outcome[0] == "error"), None)
        found = _tried(lambda: self.module.trace(*arguments))
        assert found == (tuple(expected.items()) if first is None else (first,))


def _tried(evaluate: Callable[[], Mapping[str, object]]) -> tuple[tuple[str, Outcome], ...]:
    """What the steps come to, by name, or the first error alone."""
    try:
        return tuple(_all_shown(evaluate()).items())
    except (EvaluationError, third_evaluator.Fault) as error:
        return ((error.step, shown(error)),)


def _all_shown(values: Mapping[str, object]) -> dict[str, Outcome]:
    return {name: shown(found) for name, found in values.items()}


def without(seed: Json, names: Sequence[str]) -> Json:
    """The seed without some steps."""
    kept = [step for step in seed["compute"] if step["name"] not in names]
    return {**seed, "compute": kept, "output": [step["name"] for step in kept if step["op"] != "define_filter"][-1:]}


def exact(tree: Any) -> Any:
    """A tree without places and what is known of it, in which 1, 1.0 and True differ."""
    if hasattr(tree, "__dataclass_fields__"):
        names = [name for name in tree.__dataclass_fields__ if name not in ("info", "span")]
        return (type(tree).__name__, *(exact(getattr(tree, name)) for name in names))
    if isinstance(tree, tuple):
        return tuple(exact(item) for item in tree)
    return (type(tree).__name__, repr(tree)) if not isinstance(tree, str) else tree
