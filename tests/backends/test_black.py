"""Test that modules are printed as black writes them, though black only formats parts with a line that is too long."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from case_files import CASES, blocks_of
from formulaseed import compile_seed
from formulaseed.testing import seeds
from helpers import ROOT, assert_black_unchanged, tiny_seed
from hypothesis import given, settings

MODULES = sorted((ROOT / "generated").rglob("*.py"))
GOOD = sorted((CASES / "good").glob("*.md"))
_SEEN: set[str] = set()
"""The functions and classes that black leaves unchanged; the helpers are the same in every module."""


def assert_parts_unchanged(source: str) -> None:
    """Assert that black changes none of the parts of a module that no earlier module had."""
    parts = [part for part in source.rstrip("\n").split("\n\n\n") if part not in _SEEN]
    assert_black_unchanged("\n\n\n".join(parts) + "\n")
    _SEEN.update(parts)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
@pytest.mark.thorough
def test_a_committed_module(path: Path) -> None:
    assert_black_unchanged(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
@pytest.mark.thorough
def test_the_module_of_a_case(path: Path, tmp_path: Path) -> None:
    (tmp_path / "seed.json").write_text(blocks_of(path)[0].body, encoding="utf-8")
    assert_parts_unchanged(compile_seed(tmp_path / "seed.json"))


def test_a_module_with_no_line_to_split() -> None:
    """A sign before a power, and a text that ends in blanks, are as black writes them, without black."""
    changed = tiny_seed(description="Soups ")
    changed["extract"]["fields"][0]["values"] = {"good": "Liked it ", "bad": " "}
    changed["compute"][1:] = [{"name": "LESS", "op": "expr", "expr": "-N ** 2 - -(N + 1) ** 2"}]
    source = compile_seed({**changed, "output": ["LESS"]})
    assert max(map(len, source.splitlines())) <= 120
    assert "-(n**2) - -((n + 1) ** 2)" in source
    assert_black_unchanged(source)


@given(seeds())
@settings(max_examples=8)
@pytest.mark.thorough
def test_the_module_of_any_seed(seed: Any) -> None:
    assert_parts_unchanged(compile_seed(seed))
