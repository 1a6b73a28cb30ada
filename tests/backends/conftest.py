"""Define the fixture of tests that break the emitter of modules on purpose."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from formulaseed.backends.python import render


@pytest.fixture
def broken() -> Iterator[pytest.MonkeyPatch]:
    """A patch during which templates are loaded anew, and after which they are again."""
    render._environment.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        yield patch
    render._environment.cache_clear()
