"""The pytest plugin: seeds as tests, and a fixture that loads evaluators.

It does nothing until `formulaseed_seeds` is configured or the fixture is used, and imports nothing before.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from formulaseed.runtime.evaluator import Evaluator
    from formulaseed.testing.collection import SeedFile


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("formulaseed_seeds", "the seeds to test, as patterns of paths: tasks/*/seed.json", type="args")
    parser.addini("formulaseed_generated", "the folder with the seeds' generated modules, which must be current")


def pytest_configure(config: pytest.Config) -> None:
    patterns: list[str] = config.getini("formulaseed_seeds")
    if patterns:
        seeds = {path: None for pattern in patterns for path in _matches(config.rootpath, pattern)}
        config.pluginmanager.register(_Seeds(seeds), "formulaseed-seeds")
        if config.args_source is config.ArgsSource.TESTPATHS:  # nothing was asked for: the seeds are tests as well
            visited = [Path(argument).absolute() for argument in config.args]
            config.args += [str(seed) for seed in seeds if not any(map(seed.is_relative_to, visited))]


def _matches(root: Path, pattern: str) -> list[Path]:
    """Return the files of a pattern. Raises `UsageError` if there are none."""
    paths = sorted(root.glob(pattern))
    if not paths:
        raise pytest.UsageError(f"formulaseed_seeds: no file is called {pattern} in {root}")
    return paths


class _Seeds:
    """Collects the configured seeds, and no other file."""

    def __init__(self, seeds: dict[Path, None]) -> None:
        self.seeds = seeds

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> SeedFile | None:
        if file_path not in self.seeds:
            return None
        from formulaseed.testing.collection import SeedFile

        return SeedFile.from_parent(parent, path=file_path)


@pytest.fixture(scope="session")
def formulaseed_evaluator(pytestconfig: pytest.Config) -> Callable[[str | Path], Evaluator]:
    """Loads the evaluator of a seed or a generated module, once a run; its path begins at pytest's root folder."""
    from formulaseed.api import load_evaluator

    loaded: dict[Path, Evaluator] = {}

    def load(path: str | Path) -> Evaluator:
        place = pytestconfig.rootpath / path
        if place not in loaded:
            loaded[place] = load_evaluator(place)
        return loaded[place]

    return load
