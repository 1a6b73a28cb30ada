"""Collects a seed, rules or requests as tests: no errors, a current module with the properties of its file, expected outputs.

Requests have no property: their module has the functions that evaluate them here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from formulaseed import pipeline
from formulaseed.data.files import has_text
from formulaseed.data.jsonl import read_lines
from formulaseed.diagnostics.render import render_text, summarize
from formulaseed.documents import FormulaSeed, analyse_file, load_file, load_seed, read_style
from formulaseed.errors import FormulaSeedError, UnreadableError
from formulaseed.ir import nodes
from formulaseed.pages.values import format_value
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.loading import module_from_file, module_from_source
from formulaseed.source.printing import printable
from formulaseed.testing.naming import PROPERTIES, Failed, claim_name

if TYPE_CHECKING:
    from formulaseed.compare.expect import ExpectedOutputs


class SeedFile(pytest.File):
    """A seed, rules or requests: the tests are `check`, `module` (if a folder of modules is configured) and its properties."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield a test for the file's errors, its module, each property, and each line of expected.jsonl beside a seed.

        There is one for the module only if a folder is configured, and one for proofs only if that is. Every seed has the
        built-in properties, and those that it declares unless it has errors. A file of rules has only the property
        `agreement`, and requests have none. Each property's test is skipped without Hypothesis. Raises `CollectError` if
        expected.jsonl cannot be read.
        """
        yield SeedTest.from_parent(self, name="check", test=_check_seed)
        if self.config.getini("formulaseed_generated"):
            yield SeedTest.from_parent(self, name="module", test=_check_module)
        names = list(PROPERTIES[: {"rules": 1, "requests": 0}.get(self.analysis.kind.name)])
        if isinstance(self.analysis.program, nodes.Program):
            names += map(claim_name, self.analysis.program.properties)
        for name in names:
            yield SeedTest.from_parent(self, name=name, test=_check_property)
        if self.analysis.kind.name == "seed" and self.config.getini("formulaseed_prove"):
            yield SeedTest.from_parent(self, name="proofs", test=_check_proofs)
        if self.analysis.kind.name == "seed" and self.expected_path.is_file():
            try:
                ids = [line.business_id for line in read_lines(str(self.expected_path), "expected")]
            except UnreadableError as error:
                raise self.CollectError(str(error)) from None
            for business_id in ids:
                test = partial(_check_expectation, business_id)
                yield SeedTest.from_parent(self, name=f"expected-{printable(business_id)}", test=test)

    @cached_property
    def analysis(self) -> pipeline.Analysis[Any, Any]:
        """The file, checked, with its diagnostics."""
        return analyse_file(self.path)

    @property
    def display_path(self) -> str:
        """The seed's path relative to pytest's root folder, if it is in that folder."""
        root = self.config.rootpath
        return (self.path.relative_to(root) if self.path.is_relative_to(root) else self.path).as_posix()

    def load(self) -> pipeline.Compilable[Any]:
        """Return the checked file, read again. Skips the current test if it has errors.

        The test `check` reports the errors.
        """
        if self.analysis.errors:
            pytest.skip("the file has errors")
        return load_file(self.path)

    @property
    def expected_path(self) -> Path:
        """The file of expected outputs beside the seed, which may be missing."""
        return self.path.with_name("expected.jsonl")

    @cached_property
    def expected_outputs(self) -> ExpectedOutputs:
        """The outputs of the rows `formulaseed_rows`, by default rows.jsonl beside the seed, compared with the expected ones.

        Skips the current test if the seed has errors. Raises `DataError` for wrong rows or expected outputs.
        """
        from formulaseed.backends.python.names import module_name
        from formulaseed.compare.expect import expect

        seed = self.load()
        assert isinstance(seed, FormulaSeed)
        configured = self.config.getini("formulaseed_rows").replace("{name}", module_name(seed.name))
        rows = self.config.rootpath / configured if configured else self.path.with_name("rows.jsonl")
        return expect(seed, rows, self.expected_path)

    def module_path(self, seed: pipeline.Compilable[Any]) -> Path | None:
        """Return the path that the committed module should have; None if no folder of modules is configured."""
        from formulaseed.backends.python.names import module_name

        folder = self.config.getini("formulaseed_generated")
        return self.config.rootpath / folder / f"{module_name(seed.name)}.py" if folder else None


class SeedTest(pytest.Item):
    """One test of a seed, a function that raises if it fails."""

    def __init__(self, *, test: Callable[[SeedFile, SeedTest], None], **arguments: Any) -> None:
        super().__init__(**arguments)
        self._test = test

    def runtest(self) -> None:
        """Run the test. Raises `Failed`, or whatever else the function raises, if the test fails."""
        assert isinstance(self.parent, SeedFile)
        self._test(self.parent, self)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the message of a `Failed` or `FormulaSeedError`, and pytest's traceback for any other exception."""
        if isinstance(excinfo.value, Failed | FormulaSeedError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the seed's path, a line number, and the title of the test in reports."""
        return self.path, 0, f"{self.path.name}: {self.name}"


def _check_seed(file: SeedFile, test: SeedTest) -> None:
    """Raise `Failed` if the seed has errors; its warnings become a section of the test's report."""
    diagnostics = file.analysis.diagnostics
    if file.analysis.errors:
        raise Failed(f"{render_text(diagnostics)}\n{summarize(diagnostics)}")
    if diagnostics:
        test.add_report_section("call", "formulaseed", render_text(diagnostics))


def _check_module(file: SeedFile, test: SeedTest) -> None:
    """Raise `Failed` if the committed module is missing or not exactly what the seed compiles to.

    Skips the test if the seed has errors.
    """
    seed = file.load()
    path = file.module_path(seed)
    assert path is not None
    command = f"run `formulaseed compile {file.display_path} --out {file.config.getini('formulaseed_generated')}`"
    if not path.is_file():
        raise Failed(f"{path} is missing; {command}")
    if not has_text(path, pipeline.compile(seed, style=read_style(path))):
        raise Failed(f"{path} is not what {file.display_path} compiles to; {command}")


def _check_property(file: SeedFile, test: SeedTest) -> None:
    """Raise `Failed` unless the module has the property that the test is named for.

    The module is the committed one or, if there is none and for rules, what the file compiles to. Skips the test if the seed has
    errors or Hypothesis is not installed.
    """
    pytest.importorskip("hypothesis", reason="needs the extra `testing`: pip install 'formulaseed[testing]'")
    from formulaseed.testing.properties import property_tests
    from formulaseed.testing.records import check_agreement

    seed = file.load()
    path = file.module_path(seed)
    if not isinstance(seed, FormulaSeed):
        check_agreement(seed.program, module_from_source(pipeline.compile(seed), "tested"))
        return
    if path is not None and path.is_file():
        module = module_from_file(path)
    else:
        module = module_from_source(pipeline.compile(seed), "tested")
    property_tests(seed, Evaluator(module))[test.name]()


def _check_proofs(file: SeedFile, test: SeedTest) -> None:
    """Raise `Failed` if a declared property is refuted, or it is proved that no restaurant reaches a rule.

    Skips the test if the seed has errors or the solver is not installed.
    """
    pytest.importorskip("z3", reason="needs the extra `prove`: pip install 'formulaseed[prove]'")
    from formulaseed.proofs.proving import prove

    seed = file.load()
    assert isinstance(seed, FormulaSeed)  # the test is collected for seeds only
    proofs = prove(seed)
    is_refuted = any(claim.status == "refuted" for claim in proofs.claims.properties)
    if is_refuted or any(claim.status == "unreachable" for claim in proofs.claims.rules):
        raise Failed(proofs.text)


def _check_expectation(business_id: str, file: SeedFile, test: SeedTest) -> None:
    """Raise `Failed` if the restaurant fails, or has not its expected outputs; `DataError` for wrong rows or expected outputs."""
    comparison = file.expected_outputs
    if business_id in comparison.failed:
        raise Failed("\n".join(map(printable, comparison.failures.lines)))
    for entry in comparison.disagreements:
        if entry.business_id == business_id:
            expected = ", ".join(f"{name} {format_value(value['expected'])}" for name, value in entry.outputs.items())
            lines = (entry.reason, f"expected: {expected}", f"note: {entry.note}", entry.place)
            raise Failed("\n".join(map(printable, lines)))


def seed_tests(test_file: str, seed: str, module: str) -> Callable[[str], None]:
    """Return a test function that pytest calls once for each property of a generated module.

    `seed` and `module` are paths relative to the folder of `test_file`. Raises `SeedError` for a seed with errors and
    for a module that holds what the compiler never writes, `UnreadableError` if a file cannot be read.
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
