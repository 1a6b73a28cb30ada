"""Collect a seed as three tests: it has no errors, its module is current, and module and reference evaluator agree."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from formulaseed import pipeline
from formulaseed.data.files import holds
from formulaseed.diagnostics.render import render_text, summary
from formulaseed.errors import FormulaSeedError
from formulaseed.loading import FormulaSeed, SeedAnalysis, analyse, compile_seed, load_seed, style_at
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.loading import module_from_file, module_from_source

if TYPE_CHECKING:
    from formulaseed.testing.inputs import Restaurant

Outcome = dict[str, Any]


class Failed(Exception):
    """A failure of a seed's test, shown without a traceback."""


class SeedFile(pytest.File):
    """A seed, whose tests are `check`, `module` (where a folder of modules is configured) and `agreement`."""

    def collect(self) -> Iterator[pytest.Item]:
        for name, test in (("check", _check), ("module", _module_is_current), ("agreement", _agreement)):
            if name != "module" or self.config.getini("formulaseed_generated"):
                yield SeedTest.from_parent(self, name=name, test=test)

    @cached_property
    def analysis(self) -> SeedAnalysis:
        return analyse(self.path)

    @property
    def shown(self) -> str:
        """The seed's path as commands are given it."""
        root = self.config.rootpath
        return (self.path.relative_to(root) if self.path.is_relative_to(root) else self.path).as_posix()

    def loaded(self) -> FormulaSeed:
        """The checked seed. Its errors are reported by `check`, not by every test."""
        if self.analysis.errors:
            pytest.skip("the seed has errors")
        return load_seed(self.path)

    def module_path(self, seed: FormulaSeed) -> Path | None:
        from formulaseed.backends.python.names import module_name

        folder = self.config.getini("formulaseed_generated")
        return self.config.rootpath / folder / f"{module_name(seed.task_name)}.py" if folder else None


class SeedTest(pytest.Item):
    """One test of a seed."""

    def __init__(self, *, test: Callable[[SeedFile, SeedTest], None], **arguments: Any) -> None:
        super().__init__(**arguments)
        self._test = test

    def runtest(self) -> None:
        assert isinstance(self.parent, SeedFile)
        self._test(self.parent, self)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, Failed | FormulaSeedError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"{self.path.name}: {self.name}"


def _check(seed: SeedFile, test: SeedTest) -> None:
    """The seed has no errors; its warnings are a section of the report."""
    diagnostics = seed.analysis.diagnostics
    if seed.analysis.errors:
        raise Failed(f"{render_text(diagnostics)}\n{summary(diagnostics)}")
    if diagnostics:
        test.add_report_section("call", "formulaseed", render_text(diagnostics))


def _module_is_current(seed: SeedFile, test: SeedTest) -> None:
    """The committed module is what the seed compiles to, to the byte."""
    loaded = seed.loaded()
    path = seed.module_path(loaded)
    assert path is not None
    again = f"run `formulaseed compile {seed.shown} --out {seed.config.getini('formulaseed_generated')}`"
    if not path.is_file():
        raise Failed(f"{path} is missing; {again}")
    if not holds(path, pipeline.compile(loaded, style=style_at(path))):
        raise Failed(f"{path} is not what {seed.shown} compiles to; {again}")


def _agreement(seed: SeedFile, test: SeedTest) -> None:
    """On rows, contexts and parameters made by Hypothesis, the module gives what the reference evaluator gives."""
    pytest.importorskip("hypothesis", reason="needs the extra `testing`: pip install 'formulaseed[testing]'")
    from hypothesis import HealthCheck, Phase, given, settings

    from formulaseed.testing import outcome, reference_evaluate, restaurants

    loaded = seed.loaded()
    path = seed.module_path(loaded)
    committed = path is not None and path.is_file()
    module = module_from_file(path) if path and committed else module_from_source(compile_seed(loaded), "tested")
    evaluator = Evaluator(module)

    # Which part of an example matters, and which does not, is what the difference shows.
    phases = [phase for phase in settings().phases if phase is not Phase.explain]

    @settings(deadline=None, phases=phases, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
    @given(restaurants(loaded, wild=True))
    def agree(restaurant: Restaurant) -> None:
        actual = outcome(evaluator.trace, *restaurant)
        expected = outcome(reference_evaluate, loaded, *restaurant)
        if actual != expected:
            raise Failed(_describe_difference(restaurant, actual, expected))

    agree()


def _describe_difference(restaurant: Restaurant, actual: Outcome, expected: Outcome) -> str:
    names = [name for name in {**expected, **actual} if actual.get(name, ...) != expected.get(name, ...)]
    parts: dict[str, Any] = restaurant._asdict()
    for evaluator, outcome in (("module", actual), ("reference", expected)):
        parts[evaluator] = {name: outcome[name] for name in names if name in outcome}
    lines = [f"  {name}: {json.dumps(part, ensure_ascii=False)}" for name, part in parts.items()]
    return "\n".join(["the module and the reference evaluator disagree", *lines])
