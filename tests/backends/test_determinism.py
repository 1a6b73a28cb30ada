"""The same seed gives the same module, to the byte, on every machine."""

from __future__ import annotations

import json
from pathlib import Path

import formulaseed as package
import pytest
from helpers import ROOT, SEEDS, formulaseed, tiny_seed, write_json

GENERATED = ROOT / "generated"
SURROUNDINGS: tuple[dict[str, str], ...] = (
    {},
    {"PYTHONHASHSEED": "0", "LC_ALL": "C", "TZ": "Asia/Tokyo"},
    {"PYTHONHASHSEED": "1", "LC_ALL": "tr_TR.ISO-8859-9", "LANG": "tr_TR", "COLUMNS": "40", "PYTHONOPTIMIZE": "2"},
)
"""Those of the tests, and others, with which each command starts anew."""


def test_surroundings_change_no_byte(tmp_path: Path) -> None:
    """Hash seed, locale, time zone, terminal width, optimisation, working directory: every task compiles alike."""
    folders = (ROOT, tmp_path, Path("/"))
    first, *others = [
        formulaseed("compile", *SEEDS, "--stdout", cwd=folder, env=surroundings)
        for folder, surroundings in zip(folders, SURROUNDINGS, strict=True)
    ]
    assert first.status == 0
    assert first.out.count("\nTASK_NAME: Final = ") == len(SEEDS)
    for other in others:
        assert other.out == first.out


@pytest.mark.skipif(not any(GENERATED.glob("*.py")), reason="generated/ holds no modules yet")
def test_generated_modules_are_current() -> None:
    """Each task's committed module is what its seed compiles to now, and there are no others."""
    found = formulaseed(
        "compile",
        *[seed.relative_to(ROOT) for seed in SEEDS],
        "examples/requests.jsonl",
        "examples/rules.json",
        "--check",
    )
    assert found.status == 0, found.out
    current = {line.removesuffix(": current") for line in found.out.splitlines()}
    assert {path.relative_to(ROOT).as_posix() for path in GENERATED.glob("*.py")} <= current


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
    """Two copies of a project give the same bytes; outside of a project the header names the file alone."""
    modules = []
    for copy in ("one", "other/deeper"):
        folder = tmp_path / copy / "tasks" / "tiny"
        folder.mkdir(parents=True)
        (tmp_path / copy / "pyproject.toml").touch()
        modules.append(package.compile_seed(write_json(folder / "seed.json", tiny_seed())))
    assert modules[0] == modules[1]
    assert "from tasks/tiny/seed.json." in modules[0]
    alone = package.compile_seed(write_json(tmp_path / "seed.json", tiny_seed()))
    assert "from seed.json." in alone
    assert str(tmp_path) not in alone


def test_a_small_change_is_a_small_diff() -> None:
    """Another threshold changes the lines that show it and the two hashes, no other."""
    changed = tiny_seed()
    changed["compute"][-1]["rules"][1]["when"] = "SHARE > 0.75 and context.is_open == 1"
    before = package.compile_seed(tiny_seed()).splitlines()
    after = package.compile_seed(changed).splitlines()
    assert len(before) == len(after)
    different = [old for old, new in zip(before, after, strict=True) if old != new]
    assert all("_SHA256" in line or "0.5" in line for line in different)
    assert len(different) <= 5
