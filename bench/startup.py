"""What a command costs from the shell: wall time above `python -c pass`, with byte code in place as users have it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measure import children_cpu
from tables import Line, table

ROOT = Path(__file__).resolve().parents[1]
PYTHON = sys.executable
COMMAND = str(Path(PYTHON).with_name("formulaseed"))
SEED = "tasks/g1a_v2/seed.json"
ROWS = "examples/rows-g1a_v2.jsonl"
BARE = "python -c pass"
ROUNDS = 10

COMMANDS: dict[str, tuple[list[str], str]] = {
    BARE: ([PYTHON, "-c", "pass"], ""),
    "formulaseed --help": ([COMMAND, "--help"], "80 above"),
    f"formulaseed check {SEED}": ([COMMAND, "check", SEED], "165 CPU above"),
    f"formulaseed compile --stdout {SEED}": ([COMMAND, "compile", "--stdout", SEED], "280 CPU above"),
    f"formulaseed evaluate {SEED} --rows …": ([COMMAND, "evaluate", SEED, "--rows", ROWS], ""),
    "formulaseed evaluate generated/g1a_v2.py --rows …": (
        [COMMAND, "evaluate", "generated/g1a_v2.py", "--rows", ROWS],
        "",
    ),
}


def report() -> str:
    """Measure commands from the shell, and return the table."""
    wall = dict.fromkeys(COMMANDS, float("inf"))
    cpu = dict.fromkeys(COMMANDS, float("inf"))
    with tempfile.TemporaryDirectory() as cache:
        environment = _environment(cache)
        for number in range(ROUNDS + 1):
            for name, (command, _) in COMMANDS.items():
                times = _run(command, environment)
                if number:  # the first round writes the byte code
                    wall[name], cpu[name] = min(wall[name], times[0]), min(cpu[name], times[1])
    lines = [
        Line(name, (_ms(wall[name]), _ms(wall[name] - wall[BARE]), _ms(cpu[name]), _ms(cpu[name] - cpu[BARE])), aim)
        for name, (_, aim) in COMMANDS.items()
    ]
    return table("Start-up in ms, wall and CPU time", ["ms", "above", "CPU", "above"], lines)


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.0f}"


def _environment(cache: str) -> dict[str, str]:
    """This environment without what changes how Python starts, its byte code in a folder of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "PYTHONPYCACHEPREFIX": cache}


def _run(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Wall and CPU seconds of one run."""
    before, started = children_cpu(), time.perf_counter()
    subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - started, children_cpu() - before
