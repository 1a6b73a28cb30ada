"""A command that is forked does what one does that starts anew, and nothing of it is left for the next."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import forking
import pytest
from helpers import EXAMPLES, ROOT, formulaseed, tiny_row, tiny_rows, tiny_seed, write_json, write_lines

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="this system starts every command anew")

G1A = ROOT / "tasks" / "g1a_v2" / "seed.json"
ROWS = EXAMPLES / "rows-g1a_v2.jsonl"


@pytest.mark.thorough
@pytest.mark.parametrize(
    "arguments",
    [(), ("--version",), ("check", G1A), ("evaluate", G1A, "--rows", ROWS), ("chekc",), ("check", "absent.json"),
     ("evaluate", G1A, "--rows", "-"), ("check", G1A, "--strict", "--format", "json"), ("run", "--help")],
    ids=lambda arguments: " ".join(str(a).rpartition("/")[2] for a in arguments),
)  # fmt: skip
def test_a_forked_command_is_like_a_started_one(arguments: tuple[object, ...], tmp_path: Path) -> None:
    """Status and both outputs, with another folder, variables, and standard input."""
    write_json(tmp_path / "seed.json", tiny_seed())
    environment = {**os.environ, "COLUMNS": "50", "NO_COLOR": "1", "ODD": "\udcff"}
    stdin = ROWS.read_bytes()[:200_000]
    command = [sys.executable, "-m", "formulaseed", *map(str, arguments)]
    started = subprocess.run(
        command, input=stdin, capture_output=True, cwd=tmp_path, env=environment, timeout=60, check=False
    )
    forked = forking.run([*map(str, arguments)], stdin=stdin, folder=tmp_path, environment=environment, seconds=60)
    assert (forked.returncode, forked.stdout, forked.stderr) == (started.returncode, started.stdout, started.stderr)


def test_nothing_is_left_for_the_next_one(tmp_path: Path) -> None:
    """Neither variables, nor the folder, nor what was read."""
    seed = write_json(tmp_path / "seed.json", tiny_seed())
    rows = write_lines(tmp_path / "rows.jsonl", tiny_rows("a", tiny_row("r", score=2)))
    first = formulaseed("evaluate", "seed.json", "--rows", "rows.jsonl", cwd=tmp_path, env={"FORMULASEED_DEBUG": "1"})
    assert first.results[0]["output"]["TOTAL"] == 10
    changed = tiny_seed()
    changed["compute"][2]["expr"] = "extraction.score"
    write_json(seed, changed)
    assert formulaseed("evaluate", seed, "--rows", rows).results[0]["output"]["TOTAL"] == 2
    assert formulaseed("evaluate", "seed.json", "--rows", "rows.jsonl").status == 2


def test_a_command_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    """The next one works."""
    os.mkfifo(tmp_path / "pipe.jsonl")
    arguments = ["evaluate", str(G1A), "--rows", "pipe.jsonl"]
    began = time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired):
        forking.run(arguments, stdin=b"", folder=tmp_path, environment=os.environ, seconds=0.3)
    assert time.monotonic() - began < 30
    with pytest.raises(OSError, match="No such device"):  # nobody has it open for reading
        os.open(tmp_path / "pipe.jsonl", os.O_WRONLY | os.O_NONBLOCK)
    assert formulaseed("--version").status == 0


def test_standard_input_that_is_not_read() -> None:
    """More than a pipe holds is no reason to wait."""
    assert formulaseed("--version", stdin=b"x" * 1_000_000).status == 0


def test_variables_of_the_interpreter_start_one() -> None:
    """A hash seed has its effect only when Python starts."""
    assert forking.for_the_interpreter({"PYTHONHASHSEED": "1", "LC_ALL": "C", "HOME": "/"}) == {
        "PYTHONHASHSEED": "1", "LC_ALL": "C"
    }  # fmt: skip
    assert formulaseed("--version", env={"PYTHONHASHSEED": "1"}) == formulaseed("--version")
