"""The pytest plugin in a project that uses formulaseed: a folder of seeds, one of modules, a process of its own."""

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
from helpers import ROOT, SEEDS, formulaseed, write_json, write_lines

pytest_plugins = ["pytester"]

CONFIGURATION = """
[pytest]
testpaths = tests
filterwarnings = error
formulaseed_seeds = tasks/*/seed.json
formulaseed_generated = generated
"""
SEED = "tasks/small/seed.json"
MODULE = "generated/small.py"
OWN_TEST = "tests/test_own.py::test_own"
SEED_TESTS = [f"{SEED}::{name}" for name in ("check", "module", "agreement", "bounds", "order")]


def small_seed(**changes: object) -> dict[str, Any]:
    steps = [{"name": "N", "op": "count"}, {"name": "TWICE", "op": "expr", "expr": "N * 2"}]
    return {"task_name": "Small", "extract": {"fields": []}, "compute": steps, "output": ["N", "TWICE"], **changes}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with one test, one seed and its module."""
    folder = tmp_path_factory.mktemp("project")
    for name, text in {"tests/test_own.py": "def test_own(): pass\n", "pytest.ini": CONFIGURATION}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (folder / "pyproject.toml").touch()
    (folder / SEED).parent.mkdir(parents=True)
    write_json(folder / SEED, small_seed())
    assert formulaseed("compile", SEED, cwd=folder).status == 0
    return folder


@pytest.fixture
def project(template: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the template, in which pytest loads only plugins that its arguments name."""
    shutil.copytree(template, pytester.path, dirs_exist_ok=True)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return pytester.path


def run(folder: Path, *arguments: str) -> pytest.RunResult:
    """Run pytest with the plugin, whether or not this environment has it as an entry point."""
    full = ["-p", "formulaseed.testing.plugin", f"--basetemp={folder.parent / 'temporary'}", *arguments]
    done = forking.run(full, program="pytest", stdin=b"", folder=folder, environment=os.environ, seconds=60)
    out, err = done.stdout.decode(), done.stderr.decode()
    return pytest.RunResult(done.returncode, out.splitlines(), err.splitlines(), duration=0)


def collect(folder: Path, *arguments: str) -> list[str]:
    """Return the ids of the tests that such a run has."""
    return [line for line in run(folder, "--collect-only", "-q", *arguments).outlines if "::" in line]


def test_nothing_is_collected_unless_configured(project: Path) -> None:
    """Without `formulaseed_seeds` the plugin changes no run, not even one in the seeds' folder."""
    (project / "pytest.ini").write_text("[pytest]\ntestpaths = tests\n")
    assert collect(project) == [OWN_TEST]
    assert collect(project, "tasks") == []


def test_only_the_files_of_the_patterns_are_seeds_and_none_is_collected_twice(project: Path) -> None:
    """Seeds outside of `testpaths` belong to a run that names no paths; the usual ways to choose tests hold for seeds."""
    write_json(project / "tasks" / "small" / "notes.json", {"a": 1})
    assert collect(project) == [OWN_TEST, *SEED_TESTS]
    assert collect(project, "tests") == [OWN_TEST]
    assert collect(project, "tasks") == SEED_TESTS
    assert collect(project, f"{SEED}::check") == SEED_TESTS[:1]
    assert sorted(collect(project, ".")) == sorted([*SEED_TESTS, OWN_TEST])
    (project / "pytest.ini").write_text(CONFIGURATION.replace("testpaths = tests", "testpaths = tests tasks"))
    assert collect(project) == [OWN_TEST, *SEED_TESTS]


def test_a_pattern_without_files_is_an_error(project: Path) -> None:
    """A mistyped pattern does not pass for a tested seed."""
    (project / "pytest.ini").write_text("[pytest]\nformulaseed_seeds = task/*/seed.json\n")
    result = run(project)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*formulaseed_seeds: no file is called task/*/seed.json in *"])


@pytest.mark.thorough
def test_a_plain_run_passes(project: Path) -> None:
    """With pytest-xdist each seed's tests run once, too."""
    result = run(project, "-v")
    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines([f"{name} PASSED*" for name in (OWN_TEST, *SEED_TESTS)])
    run(project, "-p", "xdist", "-n", "2", "-k", "not agreement").assert_outcomes(passed=5)


AGAIN = f"run `formulaseed compile {SEED} --out generated`"
TRIPLE = [{"name": "N", "op": "count"}, {"name": "TWICE", "op": "expr", "expr": "N * 3"}]
CLAIMS = [{"increasing": "TWICE", "in": "N"}, {"decreasing": "TWICE", "in": "N"}]
CASES: dict[str, tuple[str, str | dict[str, Any] | None, str, dict[str, int], list[str]]] = {
    "a seed with errors fails once": (
        SEED, small_seed(output=["TWICE", "M"]), "", {"failed": 1, "skipped": 4},
        ["error[[]FS201] unknown-name: no step is called `M`", "  --> *seed.json:*", "1 error*"],
    ),
    "a seed that is no JSON": (SEED, "{", "", {"failed": 1, "skipped": 4}, ["error[[]FS001] invalid-json: *"]),
    "warnings are a section of the report": (
        SEED, small_seed(output=["N"]), "-rP -k check", {"passed": 1},
        ["warning[[]FS602] unused-step: the step `TWICE` is never used"],
    ),
    "a stale module": (
        SEED, small_seed(description="Other"), "-k module", {"failed": 1}, [f"*small.py is not what {SEED} compiles to; {AGAIN}"],
    ),
    "a missing module": (MODULE, None, "-k module", {"failed": 1}, [f"*small.py is missing; {AGAIN}"]),
    "a module that computes something else": (
        SEED, small_seed(compute=TRIPLE), "-k agreement", {"failed": 1},
        ["the module and the reference evaluator disagree", "  rows: [[]{*}]",
         '  module: {"TWICE": 2}', '  reference: {"TWICE": 3}'],
    ),
    "a module that the compiler never writes is not imported": (
        MODULE, "print('hello from the module')\n", "-s", {"failed": 4, "passed": 1}, ["*FS701*"],
    ),
    "each declared property is a test": (
        SEED, small_seed(properties=CLAIMS), "-k TWICE -v", {"failed": 1, "passed": 1},
        ["*::TWICE-increasing-in-N PASSED*", "*::TWICE-decreasing-in-N FAILED*", "TWICE rises when N grows by 1",
         "  rows: *", '  after: {"N": 1, "TWICE": 2}'],
    ),
    "so is each about one more review": (
        SEED, small_seed(properties=[{"never_lowers": "TWICE", "review": {}}, {"never_raises": "TWICE", "review": {}}]),
        "-k TWICE -v", {"failed": 1, "passed": 1},
        ["*::TWICE-never_lowers-by-True PASSED*", "*::TWICE-never_raises-by-True FAILED*",
         "TWICE rises when a review is added", "  rows: *", "  review: *", '  after: {"N": 1, "TWICE": 2}'],
    ),
    "without a folder of modules the compiled one is tested": (
        "pytest.ini", CONFIGURATION.replace("formulaseed_generated = generated", ""), "-v", {"passed": 4},
        [f"*::{name} PASSED*" for name in ("check", "agreement", "bounds", "order")],
    ),
    "without Hypothesis the property tests are skipped": (
        "conftest.py", "import sys\nsys.modules['hypothesis'] = None\n", "-rs", {"passed": 2, "skipped": 3},
        ["*needs the extra `testing`*"],
    ),
}  # fmt: skip
"""A file with its new content (None: deleted), options of a run, its outcomes and lines that it prints, in their order."""


@pytest.mark.parametrize(("file", "content", "options", "outcomes", "lines"), CASES.values(), ids=CASES)
@pytest.mark.thorough
def test_a_run_reports(
    file: str, content: object, options: str, outcomes: dict[str, int], lines: list[str], project: Path
) -> None:
    if content is None:
        (project / file).unlink()
    else:
        (project / file).write_text(content if isinstance(content, str) else json.dumps(content))
    result = run(project, "tasks", *options.split())
    result.assert_outcomes(**outcomes)
    result.stdout.fnmatch_lines(lines)
    for line in ("*Traceback*", "*collection.py:*: Failed*", "hello from the module"):
        result.stdout.no_fnmatch_line(line)


def test_rules_and_requests_are_collected(project: Path) -> None:
    """Both have the tests of their kind; rules with errors fail once."""
    for name in ("rules.json", "formula_reference.json", "requests.jsonl"):
        shutil.copy(ROOT / "examples" / name, project / name)
    (project / "pytest.ini").write_text(CONFIGURATION.replace("tasks/*/seed.json", "rules.json requests.jsonl"))
    assert formulaseed("compile", "rules.json", "requests.jsonl", cwd=project).status == 0
    result = run(project, "-v", "rules.json", "requests.jsonl")
    result.assert_outcomes(passed=5)
    (project / "rules.json").write_text('[{"name": "a", "formula": "ram * 2"}]')
    run(project, "rules.json").assert_outcomes(failed=1, skipped=2)


ROW: dict[str, Any] = {"extraction": {}, "meta": {}}
EXPECTED = f"{SEED}::expected-"


def write_expected(project: Path, *lines: object, rows: str = "tasks/small/rows.jsonl") -> None:
    write_lines(
        project / rows, *({"business_id": name, "context": {}, "rows": [ROW] * len(name)} for name in ("a", "bb"))
    )
    write_lines(project / "tasks/small/expected.jsonl", *lines)


def test_each_line_of_expected_outputs_is_a_test(project: Path) -> None:
    """A failure says what is expected, the reason for what is there instead, and the line; a run may name one."""
    note = {"note": "the panel"}
    write_expected(
        project, {"business_id": "a", "output": {"N": 1}}, {"business_id": "bb", "output": {"TWICE": 5}, **note}
    )
    assert collect(project, "tasks") == [*SEED_TESTS, f"{EXPECTED}a", f"{EXPECTED}bb"]
    result = run(project, "-v", "tasks", "-k", "expected")
    result.assert_outcomes(passed=1, failed=1, deselected=5)
    result.stdout.fnmatch_lines(["“twice” is 4: *", "expected: TWICE 5", "note: the panel", "*expected.jsonl:2"])
    result.stdout.no_fnmatch_line("*Traceback*")
    run(project, f"{EXPECTED}a").assert_outcomes(passed=1)


def test_the_rows_of_expected_outputs_may_be_elsewhere(project: Path) -> None:
    """`{name}` stands for the name of the seed's module."""
    configuration = CONFIGURATION + "formulaseed_rows = data/{name}.jsonl\n"
    (project / "pytest.ini").write_text(configuration)
    (project / "data").mkdir()
    write_expected(project, {"business_id": "a", "output": {"N": 1}}, rows="data/small.jsonl")
    run(project, f"{EXPECTED}a").assert_outcomes(passed=1)
    (project / "data/small.jsonl").unlink()
    result = run(project, f"{EXPECTED}a")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["cannot read *data/small.jsonl: No such file or directory"])


@pytest.mark.thorough
def test_proofs_are_a_test_if_configured(project: Path) -> None:
    """It passes if every rule is reached, and fails with the proofs if no restaurant reaches one."""
    pytest.importorskip("z3")
    (project / "pytest.ini").write_text(CONFIGURATION + "formulaseed_prove = true\n")
    run(project, f"{SEED}::proofs").assert_outcomes(passed=1)
    rules = [{"when": "TWICE + N == 1", "then": "odd"}, {"else": "even"}]
    steps = [*small_seed()["compute"], {"name": "KIND", "op": "case", "rules": rules}]
    write_json(project / SEED, small_seed(compute=steps, output=["KIND"]))
    result = run(project, f"{SEED}::proofs")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*KIND: 'odd' if *: no restaurant gets it, as proved"])


@pytest.mark.thorough
def test_faults_of_expected_outputs_fail(project: Path) -> None:
    """An unknown output and a restaurant without rows fail with the message of `expect`; a seed with errors skips them."""
    for line, message in (
        ({"business_id": "a", "output": {"M": 1}}, "*expected.jsonl:1: `output.M` is no output of the seed; *"),
        ({"business_id": "b", "output": {"N": 1}}, "*expected.jsonl:1: `business_id` 'b' has no rows; *"),
    ):
        write_expected(project, line)
        result = run(project, "tasks", "-k", "expected")
        result.assert_outcomes(failed=1, deselected=5)
        result.stdout.fnmatch_lines([message])
    (project / "tasks/small/expected.jsonl").write_bytes(b"\x1f\x8bx")
    result = run(project, "tasks")
    result.stdout.fnmatch_lines(["*cannot read *expected.jsonl*"])
    result.stdout.no_fnmatch_line("*Traceback*")
    write_expected(project, {"business_id": "a", "output": {"N": 1}})
    write_json(project / SEED, small_seed(output=["TWICE", "M"]))
    run(project, "tasks", "-k", "expected").assert_outcomes(skipped=1, deselected=5)


def test_a_restaurant_that_fails_is_a_failure(project: Path) -> None:
    write_json(
        project / SEED,
        small_seed(compute=[{"name": "N", "op": "count"}, {"name": "TWICE", "op": "expr", "expr": "2 / (N - 1)"}]),
    )
    write_expected(project, {"business_id": "a", "output": {"N": 1}})
    result = run(project, "tasks", "-k", "expected")
    result.assert_outcomes(failed=1, deselected=5)
    result.stdout.fnmatch_lines(["*rows.jsonl:1: a: TWICE: division_by_zero: *"])


def test_the_fixture_loads_seeds_and_modules(project: Path) -> None:
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
    run(project, "tests").assert_outcomes(passed=1)


def test_loading_the_plugin_imports_nothing_heavy() -> None:
    """Every run of every project in the environment loads it: two packages, two modules, no compiler, no Hypothesis."""
    source = (
        "import sys, pytest\nbefore = set(sys.modules)\nimport formulaseed.testing.plugin\n"
        "import json; print(json.dumps(sorted(set(sys.modules) - before - {'json'})))"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    imported = [name for name in json.loads(done.stdout) if not name.startswith("json.")]
    assert imported == ["formulaseed", "formulaseed.testing", "formulaseed.testing.plugin"]


def test_an_installation_registers_the_plugin() -> None:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    entry_point = pyproject["project"]["entry-points"]["pytest11"]["formulaseed"]
    assert EntryPoint("formulaseed", entry_point, "pytest11").load() is plugin


def test_our_own_runs_collect_no_seeds(request: pytest.FixtureRequest) -> None:
    """This project tests its seeds in its own ways, and not a second time by the plugin."""
    assert SEEDS
    assert not request.config.pluginmanager.has_plugin("formulaseed-seeds")
