"""`init`: the project that it writes passes its own checks, and is never written over another."""

from __future__ import annotations

import os
from pathlib import Path

import forking
import pytest
from helpers import EXAMPLES, formulaseed


def files_in(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.thorough
def test_a_new_project_passes_its_own_checks(tmp_path: Path) -> None:
    """Its seed has no problem, its module is current, its tests pass, and the commands of its README give a verdict and why."""
    assert formulaseed("init", tmp_path).status == 0
    assert files_in(tmp_path) == {
        "README.md", "pyproject.toml", ".pre-commit-config.yaml", ".github/workflows/policies.yml", "data/contexts.jsonl",
        "data/extractions.jsonl", "tasks/my_policy/task.md", "tasks/my_policy/seed.json", "tests/test_policies.py",
        "generated/my_policy.py",
    }  # fmt: skip
    for arguments in (("check", "--strict"), ("fmt", "--check"), ("compile", "--check")):
        assert formulaseed(*arguments, "tasks/my_policy/seed.json", cwd=tmp_path).status == 0
    data = ("--contexts", "data/contexts.jsonl")
    recorded = ("--extractor", "recorded", "--extractions", "data/extractions.jsonl")
    for extractor in ((), recorded):
        ran = formulaseed("run", "generated/my_policy.py", *data, *extractor, cwd=tmp_path)
        verdicts = {name: result["output"]["VERDICT"] for name, result in ran.by_id().items()}
        assert (ran.status, verdicts) == (0, {"quiet-cup": "good", "beat-bar": "bad", "corner-table": "unknown"})
    done = forking.run(["-q"], program="pytest", stdin=b"", folder=tmp_path, environment=os.environ, seconds=100)
    assert done.returncode == 0, done.stdout
    assert b"7 passed" in done.stdout


def test_what_exists_is_not_overwritten(tmp_path: Path) -> None:
    """One file in the way: status 2, its name, and nothing written."""
    (tmp_path / "README.md").write_text("mine")
    refused = formulaseed("init", tmp_path)
    assert (refused.status, "README.md" in refused.err) == (2, True)
    assert files_in(tmp_path) == {"README.md"}


def test_an_example_comes_along(tmp_path: Path) -> None:
    """Its seed, module and data are copied; an unknown one is refused with those there are."""
    assert formulaseed("init", tmp_path, "--example", "g1a_v2").status == 0
    rows = "examples/rows-g1a_v2.jsonl"
    assert formulaseed("evaluate", "generated/g1a_v2.py", "--rows", rows, cwd=tmp_path).status == 0
    unknown = formulaseed("init", tmp_path / "other", "--example", "g1a")
    assert (unknown.status, "`g1a_v2`" in unknown.err) == (2, True)
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("arguments", [("init", ".", "--example", "formulas"), ("demo", "formulas", "--out", ".")])
@pytest.mark.thorough
def test_the_database_of_formulas_comes_along(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """The bytes of the database are those of the example, and the first command of the page of references reads it."""
    assert formulaseed(*arguments, cwd=tmp_path).status == 0
    for name in ("listing.db", "listing_schema.json"):
        assert (tmp_path / "examples" / name).read_bytes() == (EXAMPLES / name).read_bytes()
    pytest.importorskip("sqlalchemy", reason="the extra `database` is not installed")
    database = ("--database", "sqlite:///examples/listing.db", "--schema", "examples/listing_schema.json")
    done = formulaseed("reference", *database, cwd=tmp_path)
    assert (done.status, '"listing": {' in done.out) == (0, True)
