"""Evaluates a seed in three ways: by the reference evaluator, the generated module and the third evaluator.

Each step is evaluated on its own, so that a step that fails hides none of the following ones: the steps under test use no
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
"""The result of a step: the class and the text of its value, or the kind of its error."""


def describe_outcome(value: object) -> Outcome:
    """Return the type and the text of a value, so that 1, 1.0, True and -0.0 differ, or the step and kind of an error."""
    if isinstance(value, Exception):
        return ("error", value.step, value.kind)  # type: ignore[attr-defined]
    return ("value", type(value).__name__, repr(value))


class _Apart(interpret.Evaluation):
    """The reference evaluator, with an error in the place of a value."""

    def evaluate_step(self, step: nodes.Step) -> None:
        try:
            super().evaluate_step(step)
        except EvaluationError as error:
            self.results[step.name] = error  # type: ignore[assignment]


_COMPUTE = re.compile(r"^def _compute\(.*?(?=^[a-zA-Z_@])", re.MULTILINE | re.DOTALL)
"""The function of a generated module that computes the steps."""


def import_code(code: CodeType) -> ModuleType:
    """Return a module in which the code was executed."""
    module = ModuleType("formulaseed_generated.tried")
    exec(code, module.__dict__)
    return module


def separate_steps(module: ModuleType, source: str) -> None:
    """Change a generated module so that an error takes the place of a value; its expressions stay."""
    (text,) = _COMPUTE.findall(source)
    tree = ast.parse(text)
    (steps,) = tree.body
    assert isinstance(steps, ast.FunctionDef)
    steps.body = [_catch_fault(statement) for statement in steps.body]
    exec(compile(tree, module.__name__, "exec"), module.__dict__)


def _catch_fault(statement: ast.stmt) -> ast.stmt:
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
    def load(seed: Json) -> Ways:
        return Ways(seed, load_seed(seed))

    @cached_property
    def source(self) -> str:
        """The text of `compile_seed`, without verification, which takes as long as all the rest."""
        plan, _ = plan_module(self.loaded.program, path="", sha256=self.loaded.sha256)
        return render(SEED_TEMPLATE, plan, plan)[0]

    @cached_property
    def _code(self) -> CodeType:
        return compile(self.source, "formulaseed_generated.tried", "exec", dont_inherit=True)

    @cached_property
    def module(self) -> Evaluator:
        return Evaluator(cast(GeneratedModule, import_code(self._code)))

    @cached_property
    def parts(self) -> Evaluator:
        """The module that evaluates every step on its own."""
        module = import_code(self._code)
        separate_steps(module, self.source)
        return Evaluator(cast(GeneratedModule, module))

    @cached_property
    def decimals(self) -> frozenset[str]:
        return frozenset(step.name for step in self.loaded.program.steps if step.ty.base is Base.NUMBER)

    def reference(self, arguments: Arguments) -> dict[str, Outcome]:
        with mock.patch.object(interpret, "Evaluation", _Apart):
            return describe_outcomes(reference_evaluate(self.loaded, *arguments))

    def generated(self, arguments: Arguments) -> dict[str, Outcome]:
        return describe_outcomes(self.parts.trace(*arguments))

    def third(self, arguments: Arguments) -> dict[str, Outcome]:
        return describe_outcomes(third_evaluator.Restaurant(self.seed, *arguments, self.decimals).values(apart=True))

    def assert_agree(self, arguments: Arguments, *, whole: bool = True) -> dict[str, Outcome]:
        """Return the outcomes, which are the same for all three: values of the same classes, or errors at the same steps.

        With `whole`, so are those of the unchanged module.
        """
        expected, generated, third = self.reference(arguments), self.generated(arguments), self.third(arguments)
        texts = {step["name"]: step for step in self.seed["compute"]}
        for name, outcome in expected.items():
            outcomes = {"reference": outcome, "generated": generated[name], "third": third[name]}
            assert len(set(outcomes.values())) == 1, (texts[name], arguments, outcomes)
        assert list(expected) == list(generated) == list(third)
        if whole:
            self._assert_whole(expected, arguments)
        return expected

    def assert_agree_in_order(self, arguments: Arguments) -> list[Outcome]:
        """Return all values, or the error of the first step that fails, which are the same for all three."""
        third = third_evaluator.Restaurant(self.seed, *arguments, self.decimals)
        outcomes = {
            "reference": evaluate_steps(lambda: reference_evaluate(self.loaded, *arguments)),
            "generated": evaluate_steps(lambda: self.module.trace(*arguments)),
            "third": evaluate_steps(third.values),
        }
        assert len(set(outcomes.values())) == 1, (self.seed["compute"], arguments, outcomes)
        return [outcome for _, outcome in outcomes["third"]]

    def _assert_whole(self, expected: Mapping[str, Outcome], arguments: Arguments) -> None:
        """The unchanged module returns the values, or raises the error of the first step that fails."""
        first = next(((name, outcome) for name, outcome in expected.items() if outcome[0] == "error"), None)
        assert evaluate_steps(lambda: self.module.trace(*arguments)) == (
            tuple(expected.items()) if first is None else (first,)
        )


def evaluate_steps(evaluate: Callable[[], Mapping[str, object]]) -> tuple[tuple[str, Outcome], ...]:
    """Return the outcomes of all steps with their names, or only the error of the first step that fails."""
    try:
        return tuple(describe_outcomes(evaluate()).items())
    except (EvaluationError, third_evaluator.Fault) as error:
        return ((error.step, describe_outcome(error)),)


def describe_outcomes(values: Mapping[str, object]) -> dict[str, Outcome]:
    return {name: describe_outcome(value) for name, value in values.items()}


def remove_steps(seed: Json, names: Sequence[str]) -> Json:
    """Return the seed without some steps, none of which is its output."""
    return {**seed, "compute": [step for step in seed["compute"] if step["name"] not in names]}


def exact(tree: Any) -> Any:
    """Return a tree as tuples without spans and facts, in which 1, 1.0 and True differ."""
    if hasattr(tree, "__dataclass_fields__"):
        names = [name for name in tree.__dataclass_fields__ if name not in ("info", "span")]
        return (type(tree).__name__, *(exact(getattr(tree, name)) for name in names))
    if isinstance(tree, tuple):
        return tuple(exact(item) for item in tree)
    return (type(tree).__name__, repr(tree)) if not isinstance(tree, str) else tree
