"""The benchmarks, as far as they can be tested without timing anything."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[1] / "bench"


@pytest.fixture(autouse=True)
def _on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(BENCH), *sys.path])


@pytest.mark.parametrize("name", sorted(path.stem for path in BENCH.glob("*.py")))
def test_every_benchmark_can_be_imported(name: str) -> None:
    """A benchmark names only what the package has."""
    assert importlib.import_module(name).__doc__


def test_the_phases_that_are_timed_exist() -> None:
    """Each phase that is timed is a function of the compiler."""
    phases = importlib.import_module("compiling").PHASES
    assert [phase for phase, module, name in phases if not callable(getattr(module, name, None))] == []
