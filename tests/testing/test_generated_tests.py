"""The tests of a module, and `compile --tests`: they pass for sound modules, and fail with a restaurant for others."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from formulaseed.documents import compile_seed, compile_tests, load_seed
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.loading import module_from_file
from formulaseed.testing import Restaurant
from formulaseed.testing.comparing import raised
from formulaseed.testing.naming import Failed
from formulaseed.testing.properties import property_tests
from guarded_formulas import guarded_seeds
from helpers import ROOT, TASKS, assert_black_unchanged, formulaseed, tiny_seed, write_json
from hostile_corpus import Entry, entries
from hypothesis import HealthCheck, Phase, given, settings

Json = dict[str, Any]

EXAMPLE = TASKS / "g1a_v2" / "seed.json"
COMMITTED = sorted((ROOT / "generated" / "tests").glob("test_*.py"))
FINE = [entry for entry in entries().values() if entry.is_fine and entry.seed is not None and len(entry.data) < 3_000]
HOSTILE = [entry for place, entry in enumerate(FINE) if "canary" in entry.entry or place % 6 == 0]
"""Those that a careless emitter would run, and some of the others."""

settings.register_profile("unshrunk", settings.get_profile("fast"), phases=[Phase.generate])
settings.register_profile("some", settings.get_profile("unshrunk"), max_examples=30)
settings.register_profile("shrunk", settings.get_profile("some"), phases=[Phase.generate, Phase.shrink])
settings.register_profile(
    "short", settings.get_profile("unshrunk"), max_examples=10, suppress_health_check=[*HealthCheck]
)


@contextlib.contextmanager
def profile(name: str) -> Iterator[None]:
    """What is decorated in here runs under this profile."""
    before = settings.get_current_profile_name()
    settings.load_profile(name)
    try:
        yield
    finally:
        settings.load_profile(before)


def written(folder: Path, seed: Json) -> Path:
    """Write a seed, its module and its tests; return the file of the tests."""
    loaded = load_seed(write_json(folder / "seed.json", seed))
    (folder / "module.py").write_text(compile_seed(loaded, formatted=False), encoding="utf-8")
    tests = folder / "test_module.py"
    tests.write_text(compile_tests(loaded, tests, folder / "module.py"), encoding="utf-8")
    return tests


def properties_of(seed: Path, module: Path, under: str = "short") -> dict[str, Callable[[], None]]:
    """Return the tests of a module by name, which run under this profile of Hypothesis."""

    def run(test: Callable[[], None]) -> None:
        with profile(under):
            test()

    tests = property_tests(load_seed(seed), Evaluator(module_from_file(module)))
    return {name: partial(run, test) for name, test in tests.items()}


def failure(test: Callable[[], None]) -> str:
    """Return what a failing test says."""
    with pytest.raises(Failed) as caught:
        test()
    return str(caught.value)


def claims(*properties: Json) -> Json:
    steps = [
        {"name": "N", "op": "count"},
        {"name": "N_MILD", "op": "count", "where": {"extraction.severity": "mild"}},
        {"name": "N_SEVERE", "op": "count", "where": {"extraction.severity": "severe"}},
        {"name": "WORST", "op": "max", "field": "meta.stars", "where": {"extraction.severity": "severe"}},
        {"name": "SHARE", "op": "expr", "expr": "N_SEVERE / N"},
        {"name": "TRUST", "op": "expr", "expr": "max(0.1, 1.0 - 0.2 * N_SEVERE)"},
        {"name": "SCORE", "op": "expr", "expr": "min(20, N_SEVERE * 3 - N_MILD + TRUST + (WORST or 0))"},
    ]
    field = {"name": "severity", "type": "enum", "values": ["none", "mild", "severe"]}
    return {
        "task_name": "Claims", "extract": {"fields": [field]}, "compute": steps, "output": ["SCORE", "SHARE"],
        "properties": list(properties),
    }  # fmt: skip


V1: Json = {
    "task_name": "Loops",
    "extraction_fields": [{"name": "kind", "values": ["a", "b"]}, {"name": "w", "type": "number"}],
    "compute_dag": [
        {"name": "n_a", "formula": "sum(1 for e in extractions if e['kind'] == 'a')"},
        {"name": "total", "formula": "sum(e['w'] * 0.1 for e in extractions if e['kind'] == 'a')"},
        {"name": "mixed", "formula": "n_a + sum(e['w'] * 0.3 for e in extractions if e['kind'] == 'b') * 2"},
        {"name": "above", "formula": "sum(1 if e['w'] > mixed else 0 for e in extractions)"},
        {"name": "mean", "formula": "total / len(extractions) if extractions else 0"},
        {"name": "apart", "formula": "sum(e['w'] * 0.7 - mean for e in extractions)"},
    ],
    "output_fields": ["above", "apart", "mixed"],
    "properties": [{"increasing": "mean", "in": "total"}],
}
"""Sums of floats inside formulas, which no step has as its value, and sums that depend on other ones."""


# --- for sound modules


def test_the_committed_tests_are_current() -> None:
    """They are what their seeds compile to, to the byte, and those of the specification's example are among them."""
    seeds = [f"tasks/{path.stem.removeprefix('test_')}/seed.json" for path in COMMITTED]
    found = formulaseed("compile", "--check", *seeds, "--tests", "generated/tests")
    assert found.status == 0, found.out
    assert "generated/tests/test_g1a_v2.py: current\n" in found.out


AWKWARD = {
    "a step that fails, parameters": tiny_seed(
        properties=[{"increasing": "SHARE", "in": "N_GOOD"}, {"decreasing": "SHARE", "in": "N"}]
    ),
    "values that may be missing": claims({"increasing": "SCORE", "in": "WORST"}),
    "sums inside formulas": V1,
    "names of Python and of the tests": {
        "task_name": "class",
        "extract": {"fields": []},
        "compute": [
            {"name": "error", "op": "count"},
            {"name": "MODULE", "op": "expr", "expr": "error * 2"},
            {"name": "module", "op": "expr", "expr": "MODULE + 1"},
        ],
        "output": ["error", "MODULE", "module"],
        "properties": [{"increasing": "module", "in": "error"}, {"increasing": "MODULE", "in": "error"}],
    },
}


@pytest.mark.parametrize("seed", AWKWARD.values(), ids=AWKWARD)
def test_a_sound_module_passes(seed: Json, tmp_path: Path) -> None:
    """Whatever the seed: where a step has no value for a restaurant, nothing is claimed of it."""
    path = written(tmp_path, seed)
    tests = properties_of(path.with_name("seed.json"), path.with_name("module.py"), "some")
    assert len(tests) == 3 + len(seed.get("properties", ()))
    for test in tests.values():
        test()


@settings(max_examples=4, suppress_health_check=[*HealthCheck])
@given(guarded_seeds())
def test_the_modules_of_random_seeds_pass(tmp_path_factory: pytest.TempPathFactory, seed: Json) -> None:
    """Bounds that are too narrow, or sums that are compared too strictly, would show."""
    folder = written(tmp_path_factory.mktemp("random"), seed).parent
    for test in properties_of(folder / "seed.json", folder / "module.py").values():
        test()


# --- planted bugs

BUGS = {
    "a weight": ("n_negative * 0.2", "n_negative * 0.3", "agreement"),
    "a threshold": ("final_risk_score < 4.0", "final_risk_score < 5.0", "agreement"),
    "a bound": ("min(20.0, raw_risk)", "min(90.0, raw_risk)", "bounds"),
    "a verdict": ('verdict = "Critical Risk"', 'verdict = "Critical"', "bounds"),
    "the last row": ("or year > most_recent_year", "or year > 0", "order"),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the specification's example with its module and its tests."""
    for name in ("generated/g1a_v2.py", "generated/tests/test_g1a_v2.py", "tasks/g1a_v2/seed.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def plant(project: Path, bug: str) -> str:
    """Edit the module; return the name of the test that finds out."""
    module = project / "generated" / "g1a_v2.py"
    before, after, test = BUGS[bug]
    source = module.read_text(encoding="utf-8")
    assert source.count(before) == 1
    module.write_text(source.replace(before, after), encoding="utf-8")
    return test


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(bug: str, project: Path) -> None:
    """Each kind of test finds what it is for, and shows the restaurant."""
    name = plant(project, bug)
    tests = properties_of(project / "tasks" / "g1a_v2" / "seed.json", project / "generated" / "g1a_v2.py", "unshrunk")
    assert "\n  rows: [" in failure(tests[name])


def test_the_default_profile(project: Path) -> None:
    """As users run it: a bug is shown with the smallest restaurant and the steps that differ, and the other tests pass."""
    plant(project, "a threshold")
    (project / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "generated/tests"]
    paths = os.pathsep.join(sys.path)
    environment = {**{name: value for name, value in os.environ.items() if name != "CI"}, "PYTHONPATH": paths}
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert "1 failed, 2 passed" in done.stdout
    lines = done.stdout.splitlines()
    assert any(line.startswith("  rows: [") for line in lines)
    assert '  module: {"VERDICT": "Low Risk"}' in lines
    assert '  reference: {"VERDICT": "High Risk"}' in lines
    assert "Traceback" not in done.stdout


# --- claims


def test_a_true_claim_passes_and_a_false_one_is_refuted(tmp_path: Path) -> None:
    """The restaurant, what was raised and each step that it moved are shown; a step at the end of its range is not raised."""
    path = written(
        tmp_path,
        claims(
            {"increasing": "SCORE", "in": "N_SEVERE"},
            {"decreasing": "SCORE", "in": "N_MILD"},
            {"increasing": "SCORE", "in": "N_MILD"},
            {"decreasing": "SCORE", "in": "N_SEVERE"},
            {"increasing": "SHARE", "in": "N_SEVERE"},
            {"increasing": "SCORE", "in": "TRUST"},
        ),
    )
    refuted = {
        "SCORE-increasing-in-N_MILD": ("SCORE falls when N_MILD grows by 1", '"N_MILD": 1', '"SCORE": 0.0'),
        "SCORE-decreasing-in-N_SEVERE": ("SCORE rises when N_SEVERE grows by 1", '"N_SEVERE": 1', '"SHARE": 1.0'),
    }
    for name, test in properties_of(path.with_name("seed.json"), path.with_name("module.py"), "shrunk").items():
        if name in refuted:
            lines = failure(test).splitlines()
            assert lines[0] == refuted[name][0]
            assert [line.partition(":")[0].strip() for line in lines[1:]] == [
                "rows", "context", "parameters", "before", "after",
            ]  # fmt: skip
            assert all(part in lines[-1] for part in refuted[name][1:]), lines
        else:
            test()


def test_what_raising_a_step_changes() -> None:
    """The step and those that use it; the value stays in the step's range, and a step without a value is not raised."""
    seed = load_seed(claims())
    row = {"extraction": {"severity": "severe"}, "meta": {"stars": 1}}
    change = raised(seed, Restaurant([row], {}, {}), "N_SEVERE", 2)
    moved = {name for name, value in change.before.items() if change.after[name] != value}
    assert moved == {"N_SEVERE", "SHARE", "TRUST", "SCORE"}
    assert change.after["N_SEVERE"] == 3
    assert change.rises("SCORE")
    assert change.falls("TRUST")
    assert not change.rises("N")
    trust = raised(seed, Restaurant([row], {}, {}), "TRUST", 100.0)
    assert trust.after["TRUST"] == 1.0
    assert raised(seed, Restaurant([{**row, "extraction": {"severity": "none"}}], {}, {}), "WORST", 1.0) == ({}, {})
    assert raised(seed, Restaurant([], {}, {}), "N_SEVERE", 1) == ({}, {}), "without rows `SHARE` has no value"


def test_properties_survive_migration(tmp_path: Path) -> None:
    """The names of steps are the same in a seed v2."""
    out = tmp_path / "new.json"
    assert formulaseed("migrate", write_json(tmp_path / "old.json", V1), "--out", out).status == 0
    assert json.loads(out.read_text(encoding="utf-8"))["properties"] == V1["properties"]


# --- what the file contains


@pytest.mark.parametrize("entry", HOSTILE, ids=lambda entry: entry.id)
def test_a_hostile_seed_reaches_its_tests_in_paths_alone(entry: Entry, tmp_path: Path) -> None:
    """Whatever the seed says, the file has a docstring, an import and one call with two paths."""
    loaded = load_seed(write_json(tmp_path / "seed.json", {**(entry.seed or {}), "properties": []}))
    source = compile_tests(loaded, tmp_path / "test_it.py", tmp_path / "it.py")
    assert source.partition("\n")[2] == (
        '\nfrom formulaseed.testing import seed_tests\n\ntest_it = seed_tests(__file__, "seed.json", "it.py")\n'
    )


def test_hostile_paths_are_literals(tmp_path: Path) -> None:
    """A folder may have any name, and any length; black changes nothing."""
    for name in ("a'b\"c\\n{{x}}\n\u2028#", "long" * 40):
        folder = tmp_path / name
        folder.mkdir()
        loaded = load_seed(write_json(folder / 's""".json', tiny_seed()))
        source = compile_tests(loaded, tmp_path / "test_it.py", tmp_path / "it.py")
        assert_black_unchanged(source)
        docstring, _, assignment = ast.parse(source).body
        assert isinstance(docstring, ast.Expr)
        assert isinstance(assignment, ast.Assign)
        assert isinstance(assignment.value, ast.Call)
        assert [ast.literal_eval(path) for path in assignment.value.args[1:]] == [f'{folder.name}/s""".json', "it.py"]


# --- the command


def test_the_tests_are_written_beside_the_module(tmp_path: Path) -> None:
    """From anywhere, with paths relative to their folder; --check knows them, and foreign files are left alone."""
    (tmp_path / "tasks").mkdir()
    seed = write_json(tmp_path / "tasks" / "seed.json", tiny_seed())
    places = ("--out", tmp_path / "out", "--tests", tmp_path / "out" / "tests")
    tests = tmp_path / "out" / "tests" / "test_tiny_1.py"
    assert formulaseed("compile", seed, *places, "--check").out.endswith(
        f"{tests}: missing; run `formulaseed compile {seed} --out {tmp_path / 'out'} --tests {tests.parent}`\n"
    )
    assert formulaseed("compile", seed, *places).out == f"{tmp_path / 'out' / 'tiny_1.py'}\n{tests}\n"
    first = tests.read_bytes()
    assert first.endswith(b'test_tiny_1 = seed_tests(__file__, "../../tasks/seed.json", "../tiny_1.py")\n')
    tests.unlink()
    assert (
        formulaseed("compile", "seed.json", "--out", "../out", "--tests", "../out/tests", cwd=seed.parent).status == 0
    )
    assert tests.read_bytes() == first
    assert formulaseed("compile", seed, *places, "--check").status == 0
    tests.write_text("def test_mine(): pass\n")
    assert formulaseed("compile", seed, *places, "--check").status == 1
    found = formulaseed("compile", seed, *places)
    assert found.status == 2
    assert "not overwritten: it is not a file that formulaseed generated" in found.err
    assert tests.read_text() == "def test_mine(): pass\n"


def test_what_has_no_tests(tmp_path: Path) -> None:
    """Requests, a seed that is no file, and --stdout."""
    arguments = ("--out", tmp_path, "--tests", tmp_path)
    for given_file, text in (("examples/requests.jsonl", b""), ("-", json.dumps(tiny_seed()).encode())):
        found = formulaseed("compile", given_file, *arguments, stdin=text)
        assert found.status == 2
        assert "no tests: they are for seeds in files that are not compressed" in found.err
    assert "--tests writes a file" in formulaseed("compile", EXAMPLE, "--tests", tmp_path, "--stdout").err
