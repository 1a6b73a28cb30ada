"""The tests of a module pass if it is sound, and else fail with a restaurant; `compile --tests` writes them."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from formulaseed.documents import compile_seed, compile_tests, load_seed
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.loading import module_from_file
from formulaseed.testing import Restaurant
from formulaseed.testing.comparing import raise_step
from formulaseed.testing.naming import Failed
from formulaseed.testing.properties import property_tests
from guarded_formulas import guarded_seeds
from helpers import ROOT, TASKS, assert_black_unchanged, command, formulaseed, tiny_seed, write_json
from hostile_corpus import Entry, entries
from hypothesis import HealthCheck, Phase, given, settings

Json = dict[str, Any]

EXAMPLE = TASKS / "g1a_v2" / "seed.json"
SOUND = [entry for entry in entries().values() if entry.is_fine and entry.seed is not None and len(entry.data) < 3_000]
HOSTILE = [entry for number, entry in enumerate(SOUND) if "canary" in entry.entry or number % 6 == 0]
"""Seeds that a careless emitter would run, and some of the other ones."""

settings.register_profile("unshrunk", settings.get_profile("fast"), phases=[Phase.generate])
settings.register_profile("some", settings.get_profile("unshrunk"), max_examples=30)
settings.register_profile("shrunk", settings.get_profile("some"), phases=[Phase.generate, Phase.shrink])
settings.register_profile(
    "short", settings.get_profile("unshrunk"), max_examples=10, suppress_health_check=[*HealthCheck]
)


def find_failures(seed: Path, module: Path, profile: str) -> dict[str, str]:
    """Run all tests of a module, and return the message of each by its name; a test that passes has an empty one."""
    failures: dict[str, str] = {}
    previous = settings.get_current_profile_name()
    settings.load_profile(profile)
    try:
        for name, test in property_tests(load_seed(seed), Evaluator(module_from_file(module))).items():
            failures[name] = ""
            try:
                test()
            except Failed as failure:
                failures[name] = str(failure)
    finally:
        settings.load_profile(previous)
    return failures


def compile_and_test(folder: Path, seed: Json, profile: str) -> dict[str, str]:
    """Compile a seed, and run the tests of its module."""
    loaded = load_seed(write_json(folder / "seed.json", seed))
    (folder / "module.py").write_text(compile_seed(loaded, formatted=False), encoding="utf-8")
    return find_failures(folder / "seed.json", folder / "module.py", profile)


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


def test_the_committed_tests_are_current() -> None:
    """They are what their seeds compile to, to the byte, and those of the specification's example are among them."""
    committed = {path.stem.removeprefix("test_"): path for path in (ROOT / "generated" / "tests").glob("test_*.py")}
    assert "g1a_v2" in committed
    for name, path in committed.items():
        source = compile_tests(load_seed(TASKS / name / "seed.json"), path, ROOT / "generated" / f"{name}.py")
        assert path.read_text(encoding="utf-8") == source


AWKWARD = {
    "a step that fails, parameters": tiny_seed(
        properties=[{"increasing": "SHARE", "in": "N_GOOD"}, {"decreasing": "SHARE", "in": "N"}]),
    "values that may be missing": claims({"increasing": "SCORE", "in": "WORST"}),
    "sums inside formulas": V1,
    "names of Python and of the tests": {
        "task_name": "class", "extract": {"fields": []}, "output": ["error", "MODULE", "module"],
        "compute": [{"name": "error", "op": "count"}, {"name": "MODULE", "op": "expr", "expr": "error * 2"},
                    {"name": "module", "op": "expr", "expr": "MODULE + 1"}],
        "properties": [{"increasing": "module", "in": "error"}, {"increasing": "MODULE", "in": "error"}]},
}  # fmt: skip


@pytest.mark.parametrize("seed", AWKWARD.values(), ids=AWKWARD)
@pytest.mark.thorough
def test_a_sound_module_passes(seed: Json, tmp_path: Path) -> None:
    """Whatever the seed: if a step has no value for a restaurant, nothing is claimed of it."""
    failures = compile_and_test(tmp_path, seed, "some")
    assert [*failures.values()] == [""] * (3 + len(seed.get("properties", ())))


@pytest.mark.thorough
@settings(max_examples=4, suppress_health_check=[*HealthCheck])
@given(guarded_seeds())
def test_the_modules_of_random_seeds_pass(tmp_path_factory: pytest.TempPathFactory, seed: Json) -> None:
    """Bounds that are too narrow, or sums that are compared too strictly, would show."""
    assert not any(compile_and_test(tmp_path_factory.mktemp("random"), seed, "short").values())


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
@pytest.mark.thorough
def test_a_planted_bug_is_found(bug: str, project: Path) -> None:
    """Each kind of test finds what it is for, and shows the restaurant."""
    name = plant(project, bug)
    seed = project / "tasks" / "g1a_v2" / "seed.json"
    assert "\n  rows: [" in find_failures(seed, project / "generated" / "g1a_v2.py", "unshrunk")[name]


@pytest.mark.thorough
def test_the_default_profile(project: Path) -> None:
    """As users run it: a bug is shown with the smallest restaurant and the steps that differ, and the other tests pass."""
    plant(project, "a threshold")
    (project / "pytest.ini").write_text("[pytest]\n")
    arguments = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "generated/tests"]
    variables = {name: value for name, value in os.environ.items() if name != "CI"}
    environment = {**variables, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(arguments, cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert "1 failed, 2 passed" in done.stdout
    for line in ("  rows: [", '  module: {"VERDICT": "Low Risk"}\n', '  reference: {"VERDICT": "High Risk"}\n'):
        assert f"\n{line}" in done.stdout
    assert "Traceback" not in done.stdout


@pytest.mark.thorough
def test_a_true_claim_passes_and_a_false_one_is_refuted(tmp_path: Path) -> None:
    """The restaurant, the raised step and each step that it moved are shown; a step at the end of its range is not raised."""
    true = [("increasing", "SCORE", "N_SEVERE"), ("decreasing", "SCORE", "N_MILD"), ("increasing", "SHARE", "N_SEVERE"),
            ("increasing", "SCORE", "TRUST")]  # fmt: skip
    false = [("increasing", "SCORE", "N_MILD"), ("decreasing", "SCORE", "N_SEVERE")]
    seed = claims(*({way: step, "in": name} for way, step, name in true + false))
    failures = compile_and_test(tmp_path, seed, "shrunk")
    refuted = {
        "SCORE-increasing-in-N_MILD": ("SCORE falls when N_MILD grows by 1", '"N_MILD": 1', '"SCORE": 0.0'),
        "SCORE-decreasing-in-N_SEVERE": ("SCORE rises when N_SEVERE grows by 1", '"N_SEVERE": 1', '"SHARE": 1.0'),
    }
    assert {name for name, message in failures.items() if message} == refuted.keys()
    for name, (title, *parts) in refuted.items():
        first, *lines = failures[name].splitlines()
        assert first == title
        assert [line.split(":")[0].strip() for line in lines] == ["rows", "context", "parameters", "before", "after"]
        assert all(part in lines[-1] for part in parts), lines


def test_raising_a_step_changes_what_uses_it() -> None:
    """The value stays in the step's range, and a step without a value is not raised."""
    seed = load_seed(claims())
    row = {"extraction": {"severity": "severe"}, "meta": {"stars": 1}}
    change = raise_step(seed, Restaurant([row], {}, {}), "N_SEVERE", 2)
    moved = {name: change.after[name] for name, value in change.before.items() if change.after[name] != value}
    assert (moved.keys(), moved["N_SEVERE"]) == ({"N_SEVERE", "SHARE", "TRUST", "SCORE"}, 3)
    assert (change.rises("SCORE"), change.falls("TRUST"), change.rises("N")) == (True, True, False)
    assert raise_step(seed, Restaurant([row], {}, {}), "TRUST", 100.0).after["TRUST"] == 1.0
    assert raise_step(seed, Restaurant([{**row, "extraction": {"severity": "none"}}], {}, {}), "WORST", 1.0) == ({}, {})
    assert raise_step(seed, Restaurant([], {}, {}), "N_SEVERE", 1) == ({}, {}), "without rows `SHARE` has no value"


def test_properties_survive_migration(tmp_path: Path) -> None:
    out = tmp_path / "new.json"
    assert command("migrate", write_json(tmp_path / "old.json", V1), "--out", out).status == 0
    assert json.loads(out.read_text(encoding="utf-8"))["properties"] == V1["properties"]


@pytest.mark.parametrize("entry", HOSTILE, ids=lambda entry: entry.id)
@pytest.mark.thorough
def test_a_hostile_seed_is_only_named_by_its_tests(entry: Entry, tmp_path: Path) -> None:
    """Whatever the seed contains, the file has a docstring, an import and one call with two paths."""
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
        call = ast.parse(source).body[2].value  # type: ignore[attr-defined]
        assert [ast.literal_eval(path) for path in call.args[1:]] == [f'{folder.name}/s""".json', "it.py"]


@pytest.mark.thorough
def test_the_tests_are_written_beside_the_module(tmp_path: Path) -> None:
    """From anywhere, with paths relative to their folder; --check knows them, and foreign files are left alone."""
    (tmp_path / "tasks").mkdir()
    seed = write_json(tmp_path / "tasks" / "seed.json", tiny_seed())
    out = tmp_path / "out"
    arguments = ("compile", seed, "--out", out, "--tests", out / "tests")
    tests = out / "tests" / "test_tiny_1.py"
    missing = f"{tests}: missing; run `formulaseed compile {seed} --out {out} --tests {tests.parent}`\n"
    assert command(*arguments, "--check").out.endswith(missing)
    assert command(*arguments).out == f"{out / 'tiny_1.py'}\n{tests}\n"
    source = tests.read_bytes()
    assert source.endswith(b'test_tiny_1 = seed_tests(__file__, "../../tasks/seed.json", "../tiny_1.py")\n')
    tests.unlink()
    assert command("compile", "seed.json", "--out", "../out", "--tests", "../out/tests", cwd=seed.parent).status == 0
    assert (tests.read_bytes(), command(*arguments, "--check").status) == (source, 0)
    tests.write_text("def test_mine(): pass\n")
    assert command(*arguments, "--check").status == 1
    done = command(*arguments)
    assert (done.status, tests.read_text()) == (2, "def test_mine(): pass\n")
    assert "not overwritten: it is not a file that formulaseed generated" in done.err


def test_requests_and_a_seed_that_is_no_file_have_no_tests(tmp_path: Path) -> None:
    """Nor has --stdout."""
    for file, text in (("examples/requests.jsonl", b""), ("-", json.dumps(tiny_seed()).encode())):
        done = formulaseed("compile", file, "--out", tmp_path, "--tests", tmp_path, stdin=text)
        assert (done.status, "no tests: they are for seeds in files that are not compressed" in done.err) == (2, True)
    assert "--tests writes a file" in formulaseed("compile", EXAMPLE, "--tests", tmp_path, "--stdout").err
