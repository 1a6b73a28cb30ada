"""Runs that are killed or interrupted, in processes of their own: what was answered is never paid again."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import forking
import pytest
from asking import Kitchen, killed, questionnaire, restaurants, seed
from formulaseed.data.results import ReviewInput
from formulaseed.llm.calls import format_cost
from helpers import command, needs
from loopback import loopback
from loopback_routes import BATCHES
from loopback_script import Ask, Reply, Script

needs("anthropic", "llm")

KILLS = int(os.environ.get("FORMULASEED_KILLS", "6"))
"""So many times a run is ended in one test; more of them take longer, and tell more."""
CALLS_AT_A_TIME = 8
STATUSES = {"SIGKILL": -9, "SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129}


def ended(kitchen: Kitchen, arguments: list[str], *ends: dict[str, Any]) -> list[dict[str, Any]]:
    found = killed(arguments, *ends, folder=kitchen.folder, environment=kitchen.environment())
    crashed = [one["err"] for one in found if "Traceback" in one["err"]]
    assert not crashed, crashed[0]
    return found


def moments(chance: random.Random, most: int) -> list[dict[str, Any]]:
    """Signals of every kind at moments that have no pattern."""
    found: list[dict[str, Any]] = []
    for number in range(KILLS):
        name = ("SIGKILL", chance.choice(["SIGINT", "SIGTERM", "SIGHUP"]))[number % 2]
        found.append({"signal": name, **({"answers": chance.randint(1, most)} if number else {"after": 0.3})})
    return found


@pytest.mark.thorough
def test_a_run_ended_at_any_moment_pays_nothing_twice_but_what_was_in_flight(tmp_path: Path) -> None:
    """Killed, nothing but the calls in flight is lost, and these are reported; any other signal loses nothing at all.

    The server works on when a client has gone, and charges: what the store reports is what it has charged.
    """
    chance = random.Random(20)
    script = Script(
        delay=(0.01, 0.06), faults={"http_429": 0.03, "not_json": 0.03}, retry_after=0.01, retry_after_ms=True, works_on=True
    )  # fmt: skip
    each = 40 if KILLS > 8 else 20
    with loopback(script, process=True) as server:
        kitchen = Kitchen(tmp_path, server).prepare(restaurants(KILLS + 10, each))
        arguments = kitchen.arguments("--concurrency", CALLS_AT_A_TIME, "--quiet")
        ends = moments(chance, each)
        found = ended(kitchen, arguments, *ends)
        for end, one in zip(ends[1:], found[1:], strict=True):
            assert one["status"] == STATUSES[end["signal"]], one
        killed = len(kitchen.answers())
        last = kitchen.run("--concurrency", 64, "--quiet")
        count = (KILLS + 10) * each
        assert (last.status, sum(result["output"]["N"] for result in last.results)) == (0, count)
        seen, cost = server.seen(False), kitchen.billed()
        again = kitchen.run()
        assert (again.out, server.seen(False)["paths"]) == (last.out, seen["paths"])
    assert 0 < killed < count, "the moments are such that most runs get somewhere, and none to the end"
    lost = Counter(key for (key,) in kitchen.sql("SELECT key FROM attempts WHERE status = 'lost'"))
    assert 0 < sum(lost.values()) <= KILLS * CALLS_AT_A_TIME
    assert kitchen.sql("SELECT COUNT(*) FROM attempts WHERE is_bound AND status != 'lost'") == [(0,)]
    asked = questionnaire(seed())
    tries = {key: tries for key, (_, tries) in kitchen.answers().items()}
    twice = 0
    for text, times in seen["charged"].items():
        [question] = asked.build_questions(ReviewInput("", "", json.loads(text)["review"]))
        assert times <= tries[question.key] + lost[question.key], "only what was in flight is paid once more"
        twice += times - tries[question.key]
    assert twice <= sum(lost.values())
    reported = kitchen.info()
    assert (reported["unknown"]["calls"], reported["in_flight"]["calls"]) == (sum(lost.values()), 0)
    assert reported["spent_usd"] <= cost + 1e-9 <= reported["spent_usd"] + reported["unknown"]["at_most_usd"] + 2e-9
    paid = kitchen.sql("SELECT COUNT(*) FROM attempts WHERE status = '200'")[0][0]
    assert sum(seen["charged"].values()) - paid == twice
    if twice == 0:
        assert reported["spent_usd"] == pytest.approx(cost)


@pytest.mark.thorough
def test_a_signal_waits_for_the_calls_in_flight(tmp_path: Path) -> None:
    """One line says so; no new call is made, no answer is lost, and the closing lines say what it cost."""
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    with loopback(Script(delay=0.2, works_on=True)) as server:
        kitchen = Kitchen(tmp_path, server).prepare(restaurants(30, 20))
        found = ended(
            kitchen, kitchen.arguments("--concurrency", 4), *({"signal": name, "answers": 1} for name in names)
        )
        seen, cost = server.seen(False), kitchen.billed()
    paid = 0.0
    for name, one in zip(names, found, strict=True):
        assert one["status"] == STATUSES[name]
        waits = r"^no new calls; waiting up to 60 s for \d calls? in flight \(a second signal stops at once\)$"
        assert re.search(waits, one["err"], re.MULTILINE), one["err"]
        assert "interrupted: the answers so far are stored; run the same command to continue\n" in one["err"]
        paid += float(one["err"].split("paid $")[1].split(" ")[0])
    assert kitchen.sql("SELECT status, COUNT(*) FROM attempts GROUP BY status") == [("200", len(kitchen.answers()))]
    assert sum(seen["charged"].values()) == len(kitchen.answers())
    assert (paid, kitchen.info()["spent_usd"]) == (pytest.approx(cost, abs=2e-4), pytest.approx(cost))


def test_a_second_signal_stops_at_once(tmp_path: Path) -> None:
    """The calls in flight are given up, and count with what they may cost; a later run asks them again."""
    with loopback(Script(delay=30.0)) as server:
        kitchen = Kitchen(tmp_path, server).prepare(restaurants(1, 1))
        end = {"signal": "SIGTERM", "sent": 1, "again": "no new calls; waiting"}
        [one] = ended(kitchen, kitchen.arguments("--concurrency", 4), end)
    assert one["status"] == 143
    assert "1 attempt ended without an answer that states its cost: up to $0.00" in one["err"]
    assert kitchen.sql("SELECT status FROM attempts") == [("interrupted",)]


@pytest.mark.thorough
def test_a_batch_that_was_sent_is_picked_up_again(tmp_path: Path) -> None:
    """Ended after its id is stored, the next run waits for it and sends nothing; what it reads it has paid for."""
    with loopback(Script(batch_seconds=3600.0)) as server:
        kitchen = Kitchen(tmp_path, server).prepare(restaurants(5, 4))
        arguments = kitchen.arguments("--batch", "--poll", 0.05)
        ends = [{"signal": "SIGKILL", "when": "sent 20 calls as"}, {"signal": "SIGTERM", "when": "waiting for 1 batch"}]
        for end, one in zip(ends, ended(kitchen, arguments, *ends), strict=True):
            assert one["status"] == STATUSES[end["signal"]]
        assert kitchen.info()["open_batches"] == [{"id": "msgbatch_00000001", "calls": 20}]
        assert server.state is not None
        for batch in server.state.batches.known.values():
            batch.ends = batch.began
        done = kitchen.run("--batch", "--poll", 0.05)
        assert (done.status, sum(result["output"]["N"] for result in done.results)) == (0, 20)
        assert f"paid {format_cost(kitchen.billed())} for 20 calls" in done.err
        assert "the store saved 0 calls" in done.err
        assert sum(one.method == "POST" and one.path == BATCHES for one in server.requests) == 1
    assert kitchen.sql("SELECT COUNT(*), COUNT(input) FROM attempts") == [(20, 20)]


def started(kitchen: Kitchen, *options: object, stdout: int | None = None) -> Any:
    """The command in a process of its own."""
    environment = {**os.environ, **kitchen.environment()}
    return forking.start(kitchen.arguments(*options), folder=kitchen.folder, environment=environment, stdout=stdout)


def until(condition: Callable[[], object]) -> None:
    while not condition():
        time.sleep(0.02)


def slowly_created(ask: Ask) -> Reply | None:
    return Reply(delay=0.5) if ask.path == BATCHES and ask.method == "POST" else None


@pytest.mark.parametrize("name", ["SIGKILL", pytest.param("SIGINT", marks=pytest.mark.thorough)])
@pytest.mark.thorough
def test_a_batch_is_created_once_wherever_its_creation_is_cut_off(tmp_path: Path, name: str) -> None:
    """Killed, the next run finds it among the batches of the API; any other signal waits for its id."""
    with loopback(Script(rule=slowly_created, works_on=True)) as server:
        kitchen = Kitchen(tmp_path, server).prepare(restaurants(10, 30))
        first = started(kitchen, "--batch", "--poll", 0.05)
        until(lambda: BATCHES in server.seen(False)["paths"])
        first.send_signal(getattr(signal, name))
        err = first.communicate(timeout=60)[1].decode()
        assert first.returncode == STATUSES[name], err
        assert ("sent 300 calls as msgbatch_00000001" in err) == (name == "SIGINT")
        done = kitchen.run("--batch", "--poll", 0.05).expect(0, f"paid {format_cost(kitchen.billed())} for 300 calls")
        assert sum(result["output"]["N"] for result in done.results) == 300
        assert ("found msgbatch_00000001, whose creation was cut off: 300 calls" in done.err) == (name == "SIGKILL")
        seen = server.seen(False)
        assert sum(one.method == "POST" and one.path == BATCHES for one in server.requests) == 1
    assert (len(seen["charged"]), set(seen["charged"].values())) == (300, {1})


def together(kitchen: Kitchen, *options: object, count: int = 2) -> list[tuple[int, str]]:
    """Statuses and errors of the same command in several processes at the same time; its outputs are the same."""
    runs = [started(kitchen, *options, "--out", f"{n}.jsonl") for n in range(count)]
    reported = [process.communicate(timeout=100)[1].decode() for process in runs]
    assert len({(kitchen.folder / f"{n}.jsonl").read_bytes() for n in range(count)}) == 1, reported
    return [(process.returncode, err) for process, err in zip(runs, reported, strict=True)]


@pytest.mark.parametrize(
    "options", [("--concurrency", 8), pytest.param(("--batch", "--poll", 0.1), marks=pytest.mark.thorough)]
)
@pytest.mark.thorough
def test_two_processes_share_the_questions_of_a_store(tmp_path: Path, options: tuple[object, ...]) -> None:
    """Side by side from the store's first moment on: each question is paid once, by one of them."""
    with loopback(Script(delay=0.02, batch_seconds=0.5)) as server:
        kitchen = Kitchen(tmp_path, server).prepare(restaurants(30, 10))
        ends = together(kitchen, *options)
        assert [status for status, _ in ends] == [0, 0], ends
        seen = server.seen(False)
    assert (len(seen["charged"]), sum(seen["charged"].values())) == (300, 300)
    calls = [int(found[1]) for _, err in ends if (found := re.search(r" for (\d+) calls? \(", err))]
    saved = [int(found[1]) for _, err in ends if (found := re.search(r"the store saved (\d+) calls?,", err))]
    assert sum(calls) == 300
    assert [a + b for a, b in zip(calls, saved, strict=True)] == [300, 300]


def test_what_a_killed_process_has_claimed_is_taken_over(tmp_path: Path) -> None:
    """Another one that waits for its answers notices, reports what may have been charged, and asks itself."""
    with loopback(lambda ask: Reply(delay=3600.0 if ask.attempt == 1 else 0.0)) as server:
        kitchen = Kitchen(tmp_path, server).prepare(restaurants(1, 1))
        first = started(kitchen, "--quiet")
        until(lambda: server.seen(False)["texts"])
        second = started(kitchen, "--quiet")
        assert kitchen.info()["in_flight"]["calls"] == 1
        first.kill()
        first.communicate(timeout=60)
        out, err = second.communicate(timeout=60)
        assert (second.returncode, json.loads(out)["output"]["N"]) == (0, 1), err
    assert b"1 call in flight when an earlier run ended: up to $0.00" in err
    assert kitchen.sql("SELECT status FROM attempts ORDER BY id") == [("lost",), ("200",)]


@pytest.mark.thorough
def test_a_pipe_that_is_closed_ends_the_run_and_keeps_the_answers(tmp_path: Path) -> None:
    with loopback(Script(delay=0.005)) as server:
        kitchen = Kitchen(tmp_path, server).prepare(restaurants(2000, 1))  # more results than a pipe holds
        ours, its = os.pipe()
        process = started(kitchen, "--quiet", stdout=its)
        os.close(its)
        with open(ours, encoding="utf-8") as lines:
            assert json.loads(next(lines))["business_id"] == "r0"
        reported = process.communicate(timeout=60)[1].decode()
        assert process.returncode == 1
    assert "Traceback" not in reported
    assert "never retrieved" not in reported
    assert 0 < len(kitchen.answers()) < 2000


def test_a_store_of_another_run_is_looked_at_by_the_command(tmp_path: Path) -> None:
    with loopback(Script()) as server:
        kitchen = Kitchen(tmp_path, server).prepare(restaurants(1, 3))
        assert kitchen.run().status == 0
    reported = command("store", "info", "--store", "answers.sqlite", cwd=tmp_path).expect(0)
    assert "claude-haiku-5-5: 3 answers; " in reported.out
    assert "attempts: 3 200\n" in reported.out
