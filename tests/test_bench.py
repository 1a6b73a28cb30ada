"""The benchmarks, as far as they can be tested without timing anything."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from formulaseed import limits, validate_requests
from formulaseed.documents import analyse_requests
from formulaseed.language.sizes import find_excess
from formulaseed.source.text import Source

BENCH = Path(__file__).parents[1] / "bench"


@pytest.fixture(autouse=True)
def _on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(BENCH), *sys.path])


@pytest.mark.parametrize("name", sorted(path.stem for path in BENCH.glob("*.py")))
def test_every_benchmark_can_be_imported(name: str) -> None:
    """A benchmark names only what the package has."""
    assert importlib.import_module(name).__doc__


@pytest.mark.thorough
def test_the_data_of_the_matrix() -> None:
    """As many requests, restaurants and reviews as are asked for, without a fault, and the same at every run."""
    matrix = importlib.import_module("matrix")
    requests, places = matrix.requests_of(100), matrix.restaurants_of(50, 970)
    assert {d.code for d in analyse_requests(requests).diagnostics} <= {"FS819"}  # names stay, conditions change
    assert [request["id"] for request in requests] == [f"R{number:02}" for number in range(1, 101)]
    assert (len(places), sum(len(place["reviews"]) for place in places)) == (50, 970)
    validation = validate_requests(requests, restaurants=places)
    assert validation.failures == ()
    assert {value for row in validation.matrix.values() for value in row.values()} == {1, 0, -1}
    assert (requests, places) == (matrix.requests_of(100), matrix.restaurants_of(50, 970))
    assert requests != matrix.requests_of(100, seed=2)


def test_the_seeds_near_the_limits() -> None:
    """Those that are refused are refused for their size alone, as their names say; the other is within the limits."""
    seeds = importlib.import_module("compiling").large_seeds()
    found = {name: find_excess(Source("seed.json", text)) for name, text in seeds.items()}
    assert [name for name, over in found.items() if over is not None] == [name for name in seeds if "refused" in name]
    assert all(len(text) <= limits.SEED_BYTES for text in seeds.values())


def test_the_phases_that_are_timed_exist() -> None:
    """Each phase that is timed is a function of the compiler."""
    phases = importlib.import_module("compiling").PHASES
    assert [phase for phase, module, name in phases if not callable(getattr(module, name, None))] == []
