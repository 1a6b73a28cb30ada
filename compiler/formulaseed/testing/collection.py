"""Collect a seed as tests: it has no errors, its module is current, and the module has the properties of its seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from formulaseed import pipeline
from formulaseed.data.files import holds
from formulaseed.diagnostics.render import render_text, summarize
from formulaseed.documents import FormulaSeed, SeedAnalysis, analyse, compile_seed, load_seed, read_style
from formulaseed.errors import FormulaSeedError
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.loading import module_from_file, module_from_source
from formulaseed.testing.naming import PROPERTIES, Failed, claim_name


class SeedFile(pytest.File):
    """A seed, whose tests are `check`, `module` (if a folder of modules is configured) and its properties."""

    def collect(self) -> Iterator[pytest.Item]:
        yield SeedTest.from_parent(self, name="check", test=_check)
        if self.config.getini("formulaseed_generated"):
            yield SeedTest.from_parent(self, name="module", test=_module_is_current)
        program = self.analysis.program
        claims = [claim_name(claim) for claim in program.properties] if program is not None else []
        for name in (*PROPERTIES, *claims):
            yield SeedTest.from_parent(self, name=name, test=_property)

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
        raise Failed(f"{render_text(diagnostics)}\n{summarize(diagnostics)}")
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
    if not holds(path, pipeline.compile(loaded, style=read_style(path))):
        raise Failed(f"{path} is not what {seed.shown} compiles to; {again}")


def _property(seed: SeedFile, test: SeedTest) -> None:
    """The committed module, or the one that would be committed, has the property that the test is named for."""
    pytest.importorskip("hypothesis", reason="needs the extra `testing`: pip install 'formulaseed[testing]'")
    from formulaseed.testing.properties import property_tests

    loaded = seed.loaded()
    path = seed.module_path(loaded)
    committed = path is not None and path.is_file()
    module = module_from_file(path) if path and committed else module_from_source(compile_seed(loaded), "tested")
    property_tests(loaded, Evaluator(module))[test.name]()


def seed_tests(test_file: str, seed: str, module: str) -> Callable[[str], None]:
    """Return a test function that pytest calls once for each property of a generated module.

    The paths of the seed and its module are relative to the folder of `test_file`. Raises `SeedError` for a seed with errors and
    for a module that holds what the compiler never writes, `DataError` if there is no module.
    """
    from formulaseed.testing.properties import property_tests

    folder = Path(test_file).resolve().parent
    tests = property_tests(load_seed(folder / seed), Evaluator(module_from_file(folder / module)))

    @pytest.mark.parametrize("name", tests)
    def test(name: str) -> None:
        try:
            tests[name]()
        except Failed as failure:
            pytest.fail(str(failure), pytrace=False)

    return test
