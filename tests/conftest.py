"""Options of the test run, and how long the property tests look.

`FORMULASEED_HYPOTHESIS=deep` tries many more examples, other ones each time; `brief`, for tests that run hundreds of
times, tries few, and looks for no smaller ones.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, settings

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example, HealthCheck.filter_too_much]
settings.register_profile(
    "fast", max_examples=100, deadline=None, derandomize=True, database=None, suppress_health_check=_SLOW
)
settings.register_profile(
    "brief", settings.get_profile("fast"), max_examples=10, phases=(Phase.explicit, Phase.generate)
)
settings.register_profile("deep", max_examples=5000, deadline=None, suppress_health_check=_SLOW, print_blob=True)
settings.load_profile(os.environ.get("FORMULASEED_HYPOTHESIS", "fast"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-cases", action="store_true", help="rewrite what tests/cases/ expects")
