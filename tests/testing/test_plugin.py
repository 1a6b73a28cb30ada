"""The pytest plugin, as a project that uses formulaseed meets it: a folder of seeds, one of modules, a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import forking
import pytest
from formulaseed.testing import plugin
from helpers import ROOT, SEEDS, formulaseed, write_json

pytest_plugins = ["pytester"]

CONFIGURED = """
[pytest]
testpaths = tests
filterwarnings = error
formulaseed_seeds = tasks/*/seed.json
formulaseed_generated = generated
"""


def small_seed(**changes: object) -> dict[str, Any]:
    steps = [{"name": "N", "op": "count"}, {"name": "TWICE", "op": "expr", "expr": "N * 2"}]
    return {"task_name": "Small", "extract": {"fields": []}, "compute": steps, "output": ["N", "TWICE"], **changes}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with one test, one seed and its module."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "tests").mkdir()
    (folder / "tests" / "test_own.py").write_text("def test_own(): pass\n")
    (folder / "pytest.ini").write_text(CONFIGURED)
    (folder / "pyproject.toml").touch()
    (folder / "tasks" / "small").mkdir(parents=True)
    write_json(folder / "tasks" / "small" / "seed.json", small_seed())
    assert formulaseed("compile", "tasks/small/seed.json", cwd=folder).status == 0
    return folder


@pytest.fixture
def project(template: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, in which pytest loads no plugin but those that are asked for."""
    shutil.copytree(template, pytester.path, dirs_exist_ok=True)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return pytester.path


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """Pytest with the plugin, whether or not this environment has it as an entry point."""
    folder = pytester.path
    given = ["-p", "formulaseed.testing.plugin", f"--basetemp={folder.parent / 'temporary'}", *arguments]
    done = forking.run(given, program="pytest", stdin=b"", folder=folder, environment=os.environ, seconds=60)
    out, err = done.stdout.decode(), done.stderr.decode()
    return pytest.RunResult(done.returncode, out.splitlines(), err.splitlines(), duration=0)


def collected(pytester: pytest.Pytester, *arguments: str) -> list[str]:
    """The ids of the tests that such a run has."""
    return [line for line in run(pytester, "--collect-only", "-q", *arguments).outlines if "::" in line]


SEED_TESTS = [f"tasks/small/seed.json::{name}" for name in ("check", "module", "agreement", "bounds", "order")]


# --- what is collected


def test_nothing_is_collected_unless_configured(project: Path, pytester: pytest.Pytester) -> None:
    """Without `formulaseed_seeds` the plugin changes no run, not even one in the seeds' folder."""
    (project / "pytest.ini").write_text("[pytest]\ntestpaths = tests\n")
    assert collected(pytester) == ["tests/test_own.py::test_own"]
    assert collected(pytester, "tasks") == []


def test_a_plain_run_tests_the_seeds_too(project: Path, pytester: pytest.Pytester) -> None:
    """Seeds outside of `testpaths` belong to a run that names no paths."""
    result = run(pytester, "-v")
    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(["tests/test_own.py::test_own PASSED*", *(f"{name} PASSED*" for name in SEED_TESTS)])


def test_a_run_with_paths_tests_only_these(project: Path, pytester: pytest.Pytester) -> None:
    """The usual ways to choose tests hold for seeds, and none is collected twice."""
    assert collected(pytester, "tests") == ["tests/test_own.py::test_own"]
    assert collected(pytester, "tasks") == SEED_TESTS
    assert collected(pytester, "tasks/small/seed.json::check") == SEED_TESTS[:1]
    assert sorted(collected(pytester, ".")) == sorted([*SEED_TESTS, "tests/test_own.py::test_own"])
    (project / "pytest.ini").write_text(CONFIGURED.replace("testpaths = tests", "testpaths = tests tasks"))
    assert collected(pytester) == ["tests/test_own.py::test_own", *SEED_TESTS]


def test_other_files_are_left_alone(project: Path, pytester: pytest.Pytester) -> None:
    """Only files that the patterns name are seeds."""
    write_json(project / "tasks" / "small" / "notes.json", {"a": 1})
    assert collected(pytester, "tasks") == SEED_TESTS


def test_a_pattern_without_files_is_an_error(project: Path, pytester: pytest.Pytester) -> None:
    """A mistyped pattern does not pass for a tested seed."""
    (project / "pytest.ini").write_text("[pytest]\nformulaseed_seeds = task/*/seed.json\n")
    result = run(pytester)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*formulaseed_seeds: no file is called task/*/seed.json in *"])


def test_workers_collect_the_same(project: Path, pytester: pytest.Pytester) -> None:
    """With pytest-xdist each seed's tests run once."""
    run(pytester, "-p", "xdist", "-n", "2", "-k", "not agreement").assert_outcomes(passed=5)


# --- what the tests say


def test_errors_fail_the_check_alone(project: Path, pytester: pytest.Pytester) -> None:
    """A seed with errors fails once, with its diagnostics and no traceback; its other tests are skipped."""
    write_json(project / "tasks" / "small" / "seed.json", small_seed(output=["TWICE", "M"]))
    result = run(pytester, "tasks")
    result.assert_outcomes(failed=1, skipped=4)
    result.stdout.fnmatch_lines(
        ["error[[]FS201] unknown-name: no step is called `M`", "  --> *seed.json:*", "1 error*"]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*collection.py*")


def test_warnings_are_a_section_of_the_report(project: Path, pytester: pytest.Pytester) -> None:
    """They fail nothing, and `-rP` shows them."""
    write_json(project / "tasks" / "small" / "seed.json", small_seed(output=["N"]))
    result = run(pytester, "tasks", "-rP", "-k", "check")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["warning[[]FS602] unused-step: the step `TWICE` is never used"])


def test_a_seed_that_is_no_json(project: Path, pytester: pytest.Pytester) -> None:
    (project / "tasks" / "small" / "seed.json").write_text("{")
    result = run(pytester, "tasks")
    result.assert_outcomes(failed=1, skipped=4)
    result.stdout.fnmatch_lines(["error[[]FS001] invalid-json: *"])


def test_a_stale_or_missing_module_fails(project: Path, pytester: pytest.Pytester) -> None:
    """The message says how to compile it again."""
    module = project / "generated" / "small.py"
    module.write_text(module.read_text(encoding="utf-8").replace("SEED_SHA256", "SEED_SHA256 ", 1), encoding="utf-8")
    compiled_again = "run `formulaseed compile tasks/small/seed.json --out generated`"
    result = run(pytester, "tasks", "-k", "module")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*small.py is not what tasks/small/seed.json compiles to; {compiled_again}"])
    module.unlink()
    result = run(pytester, "tasks")
    result.assert_outcomes(failed=1, passed=4)
    result.stdout.fnmatch_lines([f"*small.py is missing; {compiled_again}"])


def test_a_module_that_computes_something_else_fails(project: Path, pytester: pytest.Pytester) -> None:
    """The committed module is what is tested; rows, context and both results are shown."""
    other = small_seed(compute=[{"name": "N", "op": "count"}, {"name": "TWICE", "op": "expr", "expr": "N * 3"}])
    write_json(project / "tasks" / "small" / "seed.json", other)
    result = run(pytester, "tasks", "-k", "agreement")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "the module and the reference evaluator disagree",
            "  rows: [[]{*}]",
            '  module: {"TWICE": 2}',
            '  reference: {"TWICE": 3}',
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")


def test_each_declared_property_is_a_test(project: Path, pytester: pytest.Pytester) -> None:
    """A false claim fails with a restaurant and the steps that it moves."""
    properties = [{"increasing": "TWICE", "in": "N"}, {"decreasing": "TWICE", "in": "N"}]
    write_json(project / "tasks" / "small" / "seed.json", small_seed(properties=properties))
    result = run(pytester, "tasks", "-k", "TWICE", "-v")
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["*::TWICE-increasing-in-N PASSED*", "*::TWICE-decreasing-in-N FAILED*"])
    result.stdout.fnmatch_lines(["TWICE rises when N grows by 1", "  rows: *", '  after: {"N": 1, "TWICE": 2}'])


def test_a_module_that_is_none_fails(project: Path, pytester: pytest.Pytester) -> None:
    """What the compiler never writes is not imported."""
    (project / "generated" / "small.py").write_text("print('hello from the module')\n")
    result = run(pytester, "tasks", "-s")
    result.assert_outcomes(failed=4, passed=1)
    result.stdout.fnmatch_lines(["*FS701*"])
    result.stdout.no_fnmatch_line("hello from the module")


def test_without_a_folder_of_modules(project: Path, pytester: pytest.Pytester) -> None:
    """Where no modules are committed, the one that would be is compared with the reference."""
    shutil.rmtree(project / "generated")
    (project / "pytest.ini").write_text(CONFIGURED.replace("formulaseed_generated = generated", ""))
    result = run(pytester, "tasks", "-v")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["*::check PASSED*", "*::agreement PASSED*", "*::bounds PASSED*", "*::order PASSED*"])


def test_without_hypothesis(project: Path, pytester: pytest.Pytester) -> None:
    """The property tests are skipped and say why; the others run."""
    (project / "conftest.py").write_text("import sys\nsys.modules['hypothesis'] = None\n")
    result = run(pytester, "tasks", "-rs")
    result.assert_outcomes(passed=2, skipped=3)
    result.stdout.fnmatch_lines(["*needs the extra `testing`*"])


# --- the fixture


def test_the_fixture_loads_seeds_and_modules(project: Path, pytester: pytest.Pytester) -> None:
    """Paths begin at the root folder; one evaluator serves the whole run."""
    (project / "tests" / "test_own.py").write_text(
        "import os\n"
        "def test_own(formulaseed_evaluator, tmp_path):\n"
        "    os.chdir(tmp_path)\n"
        "    for path in ('tasks/small/seed.json', 'generated/small.py'):\n"
        "        evaluator = formulaseed_evaluator(path)\n"
        "        assert evaluator.evaluate([{}, {}], {}) == {'N': 2, 'TWICE': 4}\n"
        "        assert formulaseed_evaluator(path) is evaluator\n"
    )
    (project / "pytest.ini").write_text("[pytest]\n")
    run(pytester, "tests").assert_outcomes(passed=1)


# --- what it costs, and how it is found


def test_loading_the_plugin_imports_nothing_heavy() -> None:
    """Every run of every project in the environment loads it: two packages, two modules, no compiler, no Hypothesis."""
    source = (
        "import sys, pytest\nbefore = set(sys.modules)\nimport formulaseed.testing.plugin\n"
        "import json; print(json.dumps(sorted(set(sys.modules) - before - {'json'})))"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    imported = [name for name in json.loads(done.stdout) if not name.startswith("json.")]
    assert imported == ["formulaseed", "formulaseed.testing", "formulaseed.testing.plugin"]


def test_the_entry_point_is_the_plugin() -> None:
    """What an installation registers with pytest is this module."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"][
        "pytest11"
    ]
    assert EntryPoint("formulaseed", declared["formulaseed"], "pytest11").load() is plugin


def test_our_own_runs_collect_no_seeds(request: pytest.FixtureRequest) -> None:
    """This project tests its seeds in its own ways, and not a second time by the plugin."""
    assert SEEDS
    assert not request.config.pluginmanager.has_plugin("formulaseed-seeds")
