"""Test that the same seed gives the same module, to the byte, on every machine."""

from __future__ import annotations

import json
from pathlib import Path

import formulaseed as package
import pytest
from helpers import ROOT, SEEDS, command, formulaseed, tiny_seed, write_json

SURROUNDINGS = {
    ROOT: {},
    Path("/tmp"): {"PYTHONHASHSEED": "0", "LC_ALL": "C", "TZ": "Asia/Tokyo"},
    Path("/"): {
        "PYTHONHASHSEED": "1",
        "LC_ALL": "tr_TR.ISO-8859-9",
        "LANG": "tr_TR",
        "COLUMNS": "40",
        "PYTHONOPTIMIZE": "2",
    },
}
"""Working directories, and what is different in the environment there."""


@pytest.mark.thorough
def test_surroundings_change_no_byte() -> None:
    """Neither hash seed, locale, time zone, terminal width, optimisation nor working directory does."""
    outcomes = [formulaseed("compile", *SEEDS, "--stdout", cwd=folder, env=env) for folder, env in SURROUNDINGS.items()]
    assert [outcome.status for outcome in outcomes] == [0, 0, 0]
    assert outcomes[0].out.count("\nTASK_NAME: Final = ") == len(SEEDS)
    assert len({outcome.out for outcome in outcomes}) == 1


def test_generated_modules_are_current() -> None:
    """Each task's committed module is what its seed compiles to now, and there are no others."""
    seeds = [seed.relative_to(ROOT) for seed in SEEDS]
    done = command("compile", *seeds, "examples/requests.jsonl", "examples/rules.json", "--check")
    assert done.status == 0, done.out
    current = {line.removesuffix(": current") for line in done.out.splitlines()}
    assert {path.relative_to(ROOT).as_posix() for path in (ROOT / "generated").glob("*.py")} <= current


def test_layout_and_order_of_keys_do_not_matter(tmp_path: Path) -> None:
    """Only what a seed means counts: white space, escapes and the order of keys give the same module and hash."""
    seed = tiny_seed(description="Suppen für alle ☕")
    path = write_json(tmp_path / "seed.json", seed)
    expected = package.compile_seed(path)
    path.write_text(json.dumps(dict(reversed(seed.items())), indent="\t", ensure_ascii=True), encoding="utf-8-sig")
    assert package.compile_seed(path) == expected
    seed["parameters"]["LEAST"]["default"] = 3
    assert package.load_seed(write_json(path, seed)).sha256 not in expected


def test_the_header_names_the_seed_from_its_project(tmp_path: Path) -> None:
    seed = write_json(tmp_path / "tiny.json", tiny_seed())
    source = package.compile_seed(seed)
    assert "from tiny.json." in source
    assert str(tmp_path) not in source
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "tasks").mkdir()
    assert "from tasks/tiny.json." in package.compile_seed(seed.rename(tmp_path / "tasks" / "tiny.json"))


def test_a_small_change_is_a_small_diff() -> None:
    """Another threshold changes the lines that show it and the two hashes, no other."""
    changed = tiny_seed()
    changed["compute"][-1]["rules"][1]["when"] = "SHARE > 0.75 and context.is_open == 1"
    before, after = (package.compile_seed(seed).splitlines() for seed in (tiny_seed(), changed))
    different = [old for old, new in zip(before, after, strict=True) if old != new]
    assert all("_SHA256" in line or "0.5" in line for line in different)
    assert len(different) <= 5
