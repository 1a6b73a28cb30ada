"""Fewer random restaurants than in use: the seeds of these tests are small."""

from __future__ import annotations

import pytest
from formulaseed.proofs import search


@pytest.fixture(autouse=True)
def few_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sample fewer restaurants."""
    monkeypatch.setattr(search, "SAMPLES", 150)
