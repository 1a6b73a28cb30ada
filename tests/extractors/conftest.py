"""Provides the fixtures of tests that ask a model: a server on loopback, and a folder for runs against it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from asking import Kitchen
from loopback import Loopback, loopback
from loopback_script import Script


@pytest.fixture(scope="module")
def running() -> Iterator[Loopback]:
    """Start one server for all tests of a module."""
    with loopback(Script()) as server:
        yield server


@pytest.fixture
def server(running: Loopback) -> Loopback:
    """Return the module's server with the default script, and hardly any wait before a repeated call."""
    running.reset(**vars(Script(retry_after=0.01, retry_after_ms=True)))
    return running


@pytest.fixture
def kitchen(server: Loopback, tmp_path: Path) -> Kitchen:
    """Return a folder for runs against the server."""
    return Kitchen(tmp_path, server)
