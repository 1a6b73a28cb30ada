"""Processes that tests start have the default action of each signal, also under `nohup` and in the background of a script."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import forking
import pytest
from helpers import ROOT

SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="no /proc shows what a process ignores"),
]
ARE_IGNORED = "import json, signal; print(json.dumps([signal.getsignal(n) is signal.SIG_IGN for n in {}]))"


def test_a_started_process_ignores_no_signal() -> None:
    """Neither one that starts anew nor the one that commands are forked from."""
    program = ARE_IGNORED.format([int(number) for number in SIGNALS])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert json.loads(done.stdout) == [False] * len(SIGNALS)
    server = forking.Server()
    try:
        with open(f"/proc/{server.process.pid}/status", encoding="ascii") as file:
            (mask,) = [int(line.split()[1], 16) for line in file if line.startswith("SigIgn")]
    finally:
        server.close()
    assert not any(mask >> (number - 1) & 1 for number in SIGNALS)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_run_that_ignores_signals_starts_processes_that_do_not(workers: int) -> None:
    """Pytest itself, with and without workers, is started as `nohup` and a shell's `&` start it."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(workers), "-p", "no:cacheprovider"]
    command.append(f"{__file__}::test_a_started_process_ignores_no_signal")
    done = subprocess.run(
        ["sh", "-c", 'trap "" HUP INT QUIT TERM; exec "$@"', "sh", *command],
        cwd=ROOT, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
