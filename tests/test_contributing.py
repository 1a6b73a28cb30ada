"""The worked examples of docs/contributing.md: each diff is applied to a copy of the sources, and does what the page says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import ROOT, tiny_seed

PAGE = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
DIFFS = dict(re.findall(r"## Add an? (\w+)\n.*?```diff\n(.*?)```", PAGE, re.S))


def apply(diff: str, root: Path) -> None:
    """Apply a diff whose hunks have no line numbers: each must fit at exactly one place."""
    for path, hunks in re.findall(r"^\+\+\+ b/(\S+)\n((?:(?!--- ).*\n)*)", diff, re.M):
        file = root / path
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        for hunk in re.split(r"^@@\n", hunks, flags=re.M)[1:]:
            lines = [(line[:1] or " ", line[1:]) for line in hunk.splitlines()]
            before = "".join(f"{line}\n" for sign, line in lines if sign != "+")
            after = "".join(f"{line}\n" for sign, line in lines if sign != "-")
            assert not file.exists() or text.count(before) == 1, f"{path}: {before}"
            text = text.replace(before, after) if before else after
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A copy of the sources that a diff can be applied to."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for name in ("compiler", "grammar", "templates", "tasks", "examples"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def run(sources: Path, program: str) -> str:
    """Run a program with these sources; return what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(sources / "compiler")}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def seed_with(step: dict[str, object]) -> str:
    seed = tiny_seed()
    seed["compute"].append(step)
    seed["output"] = [step["name"]]
    return repr(json.dumps(seed))


BOTH = """
import json
from formulaseed import load_evaluator
from formulaseed.testing import reference_evaluate
seed = json.loads({seed})
place = {{"is_open": 1}}
rows = [{{"extraction": {{"mood": "good"}}, "meta": {{"stars": stars}}}} for stars in (1, 4)]
print(load_evaluator(seed).evaluate(rows, place)["X"], reference_evaluate(seed, rows, place)["X"])
"""


def test_the_page_has_an_example_of_each_extension() -> None:
    assert set(DIFFS) == {"function", "aggregate", "operation", "target"}


def test_a_function(sources: Path) -> None:
    """The module and the reference evaluator compute it."""
    apply(DIFFS["function"], sources)
    assert run(sources, BOTH.format(seed=seed_with({"name": "X", "op": "expr", "expr": "trunc(N - 4.7)"}))) == "-2 -2\n"


def test_an_aggregate(sources: Path) -> None:
    """The module and the reference evaluator compute it, of a field and of a formula."""
    apply(DIFFS["aggregate"], sources)
    for expression, expected in (("meta.stars", "17.0 17.0\n"), ("meta.stars - 3", "5.0 5.0\n")):
        step = {"name": "X", "op": "sum_of_squares", "expr": expression}
        assert run(sources, BOTH.format(seed=seed_with(step))) == expected


def test_an_operation(sources: Path) -> None:
    """Its steps are those that it is lowered to."""
    apply(DIFFS["operation"], sources)
    step = {"name": "X", "op": "limit", "expr": "N * 20", "minimum": 0, "maximum": 30}
    assert run(sources, BOTH.format(seed=seed_with(step))) == "30 30\n"


def test_a_target(sources: Path) -> None:
    """The command and the function compile to it."""
    apply(DIFFS["target"], sources)
    (sources / "seed.json").write_text(json.dumps(tiny_seed()), encoding="utf-8")
    program = (
        "import sys\nfrom formulaseed import compile_seed\nfrom formulaseed.cli.main import main\n"
        f"print(compile_seed({str(sources / 'seed.json')!r}, target='outline'))\n"
        f"sys.argv[1:] = ['compile', {str(sources / 'seed.json')!r}, '--target', 'outline', '--stdout']\nmain()"
    )
    printed = run(sources, program)
    assert printed.count("N: integer = count\n") == 2
