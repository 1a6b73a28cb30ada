"""Plugs into pytest: collects seeds as tests, and offers a fixture that loads evaluators.

It imports and does nothing until `formulaseed_seeds` is configured or the fixture is used.
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
    """Register the settings of this plugin."""
    parser.addini(
        "formulaseed_seeds", "the seeds, rules and requests to test, as patterns: tasks/*/seed.json", type="args"
    )
    parser.addini(
        "formulaseed_rows", "rows for the expected.jsonl beside a seed, with {name} for the name of its module"
    )
    parser.addini("formulaseed_prove", "whether to prove what each seed declares, for all restaurants", type="bool")
    parser.addini("formulaseed_generated", "the folder with the seeds' generated modules, which must be current")


def pytest_configure(config: pytest.Config) -> None:
    """Register the configured seeds as tests of this run, if there are any.

    Raises `UsageError` for a pattern without files. If pytest has no arguments, seeds outside of its configured folders
    are added to them.
    """
    patterns: list[str] = config.getini("formulaseed_seeds")
    if patterns:
        seeds = {path: None for pattern in patterns for path in _find_seeds(config.rootpath, pattern)}
        config.pluginmanager.register(_Seeds(seeds), "formulaseed-seeds")
        # a run without arguments visits the configured folders; seeds outside of them are tests, too
        if config.args_source is config.ArgsSource.TESTPATHS:
            folders = [Path(argument).absolute() for argument in config.args]
            config.args += [str(seed) for seed in seeds if not any(map(seed.is_relative_to, folders))]


def _find_seeds(root: Path, pattern: str) -> list[Path]:
    """Return the files that match a pattern, sorted. Raises `UsageError` if there are none."""
    paths = sorted(root.glob(pattern))
    if not paths:
        raise pytest.UsageError(f"formulaseed_seeds: no file is called {pattern} in {root}")
    return paths


class _Seeds:
    """A plugin that collects the configured seeds, and no other file."""

    def __init__(self, seeds: dict[Path, None]) -> None:
        self.seeds = seeds

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> SeedFile | None:
        """Return the collector of a seed; None for any other file."""
        if file_path not in self.seeds:
            return None
        from formulaseed.testing.collection import SeedFile

        return SeedFile.from_parent(parent, path=file_path)


@pytest.fixture(scope="session")
def formulaseed_evaluator(pytestconfig: pytest.Config) -> Callable[[str | Path], Evaluator]:
    """Return a function that loads the evaluator of a seed or a generated module, once in a run.

    Its argument is a path relative to pytest's root folder.
    """
    from formulaseed.api import load_evaluator

    evaluators: dict[Path, Evaluator] = {}

    def load(path: str | Path) -> Evaluator:
        """Return the evaluator of the seed or module at `path`, loaded at the first call with it."""
        full_path = pytestconfig.rootpath / path
        if full_path not in evaluators:
            evaluators[full_path] = load_evaluator(full_path)
        return evaluators[full_path]

    return load
