"""Options of the test run, and how long the property tests look.

`FORMULASEED_HYPOTHESIS=deep` tries many more examples, other ones each time; `brief`, for tests that run hundreds of
times, tries few, and looks for no smaller ones. No test but those marked `live` ever sees a key or URL of an API.
"""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider
from hypothesis.internal.constants_ast import Constants


class Fresh(HypothesisProvider):
    """Makes each example anew: of those that Hypothesis makes by itself, five in six repeat most of an earlier one.

    No example depends on which modules are imported by now, whose literals it would use, and so on the order of tests.
    """

    _local_constants = Constants()


AVAILABLE_PROVIDERS["fresh"] = Fresh
_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example, HealthCheck.filter_too_much]
settings.register_profile(
    "fast",
    backend="fresh",
    max_examples=20,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=_SLOW,
)
settings.register_profile(
    "brief", settings.get_profile("fast"), max_examples=10, phases=(Phase.explicit, Phase.generate)
)
settings.register_profile(
    "deep", backend="fresh", max_examples=1000, deadline=None, suppress_health_check=_SLOW, print_blob=True
)
settings.load_profile(os.environ.get("FORMULASEED_HYPOTHESIS", "fast"))

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # a thread that waits for another one keeps a core busy
    os.environ.setdefault(name, "1")

gc.set_threshold(10_000, 50, 50)  # as in the command: to look for cycles as often as usual takes a tenth of the time


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-cases", action="store_true", help="rewrite what tests/cases/ expects")


@pytest.fixture(scope="session", autouse=True)
def _default_signals() -> None:
    """Give the processes that tests start the default action of each signal, whatever this run inherited.

    A run in the background of a script ignores SIGINT, and one under `nohup` SIGHUP, and a process inherits what its parent
    ignores. It does not inherit a handler: with one that does nothing, the run still ignores the signal.
    """
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else lambda *_: None)


@pytest.fixture(autouse=True)
def _no_api(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever credentials the machine has, a test gets none, and a URL where nothing listens.

    Nor does it get certificates: a client takes 20 ms to load them, and no server of the tests has one.
    """
    if request.node.get_closest_marker("live"):
        return
    for name in [name for name in os.environ if name.startswith("ANTHROPIC_")]:
        monkeypatch.delenv(name)
    nowhere = Path(tmp_path_factory.getbasetemp())
    (nowhere / "no-credentials").mkdir(exist_ok=True)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", str(nowhere / "no-credentials"))
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(nowhere / "no-credentials"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(nowhere / "cache"))
