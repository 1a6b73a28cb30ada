"""Fixtures of the tests of drafting: a stand-in for the API, and a folder to draft in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from drafts import RECORDED, TASK, Drafting
from helpers import formulaseed
from loopback import Loopback, loopback


@pytest.fixture(scope="session")
def server() -> Iterator[Loopback]:
    with loopback() as running:
        yield running


@pytest.fixture
def drafting(server: Loopback, tmp_path: Path) -> Drafting:
    server.reset()
    return Drafting(server, tmp_path)


@pytest.fixture(scope="session")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the seed and the transcript that a replay of the hand-written transcript writes."""
    folder = tmp_path_factory.mktemp("replayed")
    where = ("--out", folder / "seed.json", "--transcript", folder / "t")
    done = formulaseed("draft", TASK, "--replay", RECORDED, *where)
    assert (done.status, done.out) == (0, f"{folder / 'seed.json'}: 5 warnings, 4 notes\n"), done.err
    return folder
