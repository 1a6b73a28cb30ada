"""Runs that are killed or interrupted, in processes of their own: what was answered is never paid again."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from asking import Kitchen, command, restaurants
from helpers import needs_anthropic
from loopback import loopback
from loopback_routes import BATCHES
from loopback_script import MESSAGES, Script

needs_anthropic()

KILLS = 20
CALLS_AT_A_TIME = 8


def ended(kitchen: Kitchen, arguments: list[str], *ends: dict[str, Any]) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("killed.py"))],
        input=json.dumps({"arguments": arguments, "ends": ends}).encode(),
        cwd=kitchen.folder,
        env={**os.environ, **kitchen.environment()},
        capture_output=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    found: list[dict[str, Any]] = json.loads(done.stdout)
    crashed = [one["err"] for one in found if "Traceback" in one["err"]]
    assert not crashed, crashed[0]
    return found


def test_a_run_killed_at_twenty_moments_pays_each_review_once(tmp_path: Path) -> None:
    """But for the calls that were in flight; half of the ends are kills, half are Ctrl-C."""
    chance = random.Random(20)
    script = Script(
        delay=(0.01, 0.06), faults={"http_429": 0.03, "not_json": 0.03}, retry_after=0.01, retry_after_ms=True
    )
    moments: list[dict[str, Any]] = [{"after": 0.4 * chance.random()} for _ in range(5)]
    moments += [{"answers": chance.randint(1, 60)} for _ in range(KILLS - 5)]
    ends = [{"signal": "SIGINT" if n >= KILLS // 2 else "SIGKILL", **moment} for n, moment in enumerate(moments)]
    with loopback(script, process=True) as server:
        kitchen = Kitchen(tmp_path, server).prepare(restaurants(60, 20))
        found = ended(kitchen, kitchen.arguments("--concurrency", CALLS_AT_A_TIME, "--quiet"), *ends)
        assert {one["status"] for one in found} <= {-signal.SIGKILL, 130}
        killed = len(kitchen.answers())
        last = kitchen.run("--concurrency", 64, "--quiet")
        assert (last.status, sum(result["output"]["N"] for result in last.results)) == (0, 1200)
        seen = server.seen(False)
        again = kitchen.run()
        assert (again.out, server.seen(False)["paths"]) == (last.out, seen["paths"])
    assert 100 < killed < 1200, "the moments are such that most runs get somewhere, and none to the end"
    assert kitchen.sql("SELECT COUNT(*), COUNT(content) FROM answers") == [(1200, 1200)]
    per_review = kitchen.sql("SELECT COUNT(*) FROM attempts WHERE status = '200' GROUP BY key")
    stored_tries = sum(tries for _, tries in kitchen.answers().values())
    assert sum(count for (count,) in per_review) == stored_tries, (
        "every paid answer that arrived is in the ledger, and counts"
    )
    in_flight = sum(seen["answered"].values()) - stored_tries
    assert 0 <= in_flight <= KILLS * CALLS_AT_A_TIME
    interrupted = kitchen.sql("SELECT COUNT(*) FROM attempts WHERE status = 'interrupted'")[0][0]
    assert 0 < interrupted <= KILLS // 2 * CALLS_AT_A_TIME


def test_ctrl_c_says_what_is_kept_and_what_it_cost(tmp_path: Path) -> None:
    """The command ends at once, with status 130 and its closing lines."""
    with loopback(Script(delay=0.05)) as server:
        kitchen = Kitchen(tmp_path, server).prepare(restaurants(30, 20))
        [one] = ended(kitchen, kitchen.arguments("--concurrency", 4), {"signal": "SIGINT", "answers": 40})
    assert one["status"] == 130
    reported = one["err"].splitlines()
    assert "interrupted: the answers so far are stored; run the same command to continue" in reported
    stored = len(kitchen.answers())
    assert 0 < stored < 600
    calls = stored + kitchen.sql("SELECT COUNT(*) FROM attempts WHERE status = 'interrupted'")[0][0]
    assert any(line.startswith("paid $0.") and f" for {calls} calls (" in line for line in reported), reported


@pytest.mark.parametrize("how", ["SIGKILL", "SIGINT"])
def test_a_batch_that_was_sent_is_picked_up_again(tmp_path: Path, how: str) -> None:
    """Killed after its id is stored, the next run waits for it and sends nothing."""
    with loopback(Script(batch_seconds=3600.0)) as server:
        kitchen = Kitchen(tmp_path, server).prepare(restaurants(5, 4))
        arguments = kitchen.arguments("--batch", "--poll", 0.05)
        ends = [{"signal": how, "when": "sent 20 calls as"}, {"signal": how, "when": "waiting for 1 batch"}]
        for one in ended(kitchen, arguments, *ends):
            assert one["status"] == (-signal.SIGKILL if how == "SIGKILL" else 130)
        assert server.state is not None
        for batch in server.state.batches.known.values():
            batch.ends = batch.began
        done = kitchen.run("--batch", "--poll", 0.05)
        assert (done.status, sum(result["output"]["N"] for result in done.results)) == (0, 20)
        assert sum(one.method == "POST" and one.path == BATCHES for one in server.requests) == 1
    assert kitchen.sql("SELECT COUNT(*), COUNT(input) FROM attempts") == [(20, 20)]
    assert kitchen.sql("SELECT COUNT(*) FROM batched") == [(0,)]


def test_two_processes_share_a_store(tmp_path: Path) -> None:
    """Side by side from the store's first moment on: both end well, and each answer is stored once."""
    with loopback(Script(delay=0.01)) as server:
        kitchen = Kitchen(tmp_path, server).prepare(restaurants(20, 10))
        command_line = [sys.executable, "-m", "formulaseed", *kitchen.arguments("--quiet", "--out")]
        environment = {**os.environ, **kitchen.environment()}
        runs = [
            subprocess.Popen([*command_line, f"{n}.jsonl"], cwd=tmp_path, env=environment, stderr=subprocess.PIPE)
            for n in range(2)
        ]
        reported = [process.communicate(timeout=60)[1].decode() for process in runs]
        assert [process.returncode for process in runs] == [0, 0], reported
        assert len({(tmp_path / f"{n}.jsonl").read_bytes() for n in range(2)}) == 1
        assert kitchen.sql("SELECT COUNT(*), COUNT(content) FROM answers") == [(200, 200)]
        paid = server.seen(False)["paths"][MESSAGES]
        assert 200 <= paid == kitchen.sql("SELECT COUNT(*) FROM attempts WHERE status = '200'")[0][0]


def test_a_pipe_that_is_closed_ends_the_run_and_keeps_the_answers(tmp_path: Path) -> None:
    """`… | head -1` ends what is under way without a traceback."""
    with loopback(Script(delay=0.005)) as server:
        kitchen = Kitchen(tmp_path, server).prepare(restaurants(2000, 1))  # more results than a pipe holds
        process = subprocess.Popen(
            [sys.executable, "-m", "formulaseed", *kitchen.arguments("--quiet")],
            cwd=tmp_path, env={**os.environ, **kitchen.environment()}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        assert json.loads(process.stdout.readline())["business_id"] == "r0"
        process.stdout.close()
        reported = process.stderr.read().decode()
        process.stderr.close()
        assert process.wait(60) == 1
    assert "Traceback" not in reported
    assert "never retrieved" not in reported
    assert 0 < len(kitchen.answers()) < 2000


def test_a_store_of_another_run_is_looked_at_by_the_command(tmp_path: Path) -> None:
    """`store info` tells what killed runs left behind."""
    with loopback(Script()) as server:
        kitchen = Kitchen(tmp_path, server).prepare(restaurants(1, 3))
        assert kitchen.run().status == 0
    reported = command("store", "info", "--store", "answers.sqlite", cwd=tmp_path, env={})
    assert reported.status == 0
    assert "claude-haiku-5-5: 3 answers; " in reported.out
    assert "attempts: 3 200\n" in reported.out
