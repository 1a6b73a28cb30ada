"""Batches that may exist, since their creation was cut off and the API does not list them: none is forgotten."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import formulaseed
import pytest
from asking import Kitchen, questionnaire, restaurants, seed
from formulaseed.data.results import ReviewInput
from formulaseed.extractors import Anthropic
from formulaseed.extractors.model import batching
from formulaseed.extractors.model.answers import AnswerCache, UsageStats
from formulaseed.extractors.model.batching import BatchExtractor
from formulaseed.extractors.model.store import Store
from formulaseed.llm.calls import ModelCall, ModelCapabilities
from formulaseed.llm.connecting import Limits
from formulaseed.llm.prices import read_prices
from helpers import Outcome, command, needs
from loopback import Loopback, loopback
from loopback_routes import BATCHES
from loopback_script import MESSAGES, Ask, Script

needs("anthropic", "llm")

CALLS = 20
MAY_BE_BILLED = re.compile(
    r"^at most \$([\d.]+) may have been billed for (a batch|\d+ batches) whose creation was cut off: (.*)$", re.M
)


@pytest.fixture
def server() -> Iterator[Loopback]:
    with loopback(Script()) as running:
        yield running


@pytest.fixture
def kitchen(server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kitchen:
    """A kitchen with one restaurant of 20 reviews, whose batches are looked for once, without waiting."""
    monkeypatch.setattr(batching, "SECONDS_TO_APPEAR", 0.0)
    kitchen = Kitchen(tmp_path, server).prepare(restaurants(1, CALLS))
    for name, value in kitchen.environment().items():
        monkeypatch.setenv(name, value)
    return kitchen


def is_creation(ask: Ask) -> bool:
    return ask.path == BATCHES and ask.method == "POST"


def cut_off(server: Loopback, fault: str = "drop", *, times: int = 1_000, listed: bool = False) -> None:
    """Cut off the next creations of batches; unless `listed`, the list of batches is empty."""
    left = [times]

    def rule(ask: Ask) -> str | None:
        if is_creation(ask) and left[0] > 0:
            left[0] -= 1
            return fault
        return None

    assert server.state is not None
    answer = type(server.state).answer.__get__(server.state)

    def unlisted(ask: Ask, *rest: Any) -> tuple[int, Any]:
        status, found = answer(ask, *rest)
        if ask.path == BATCHES and ask.method == "GET":
            return 200, {"data": [], "has_more": False, "first_id": None, "last_id": None}
        return status, found

    server.state.answer = answer if listed else unlisted  # type: ignore[method-assign]
    server.reset(rule=rule)


def creations(server: Loopback) -> int:
    return sum(is_creation(Ask(one.method, one.path, {}, None, "", 0)) for one in server.requests)


def batch_calls() -> list[ModelCall]:
    """The calls of a kitchen's batch."""
    asked = questionnaire(seed())
    texts = [review["text"] for review in restaurants(1, CALLS)[0]["reviews"]]
    questions = [asked.build_questions(ReviewInput("", "", text))[0] for text in texts]
    return [asked.build_call(question, ModelCapabilities(thinking_off=True)) for question in questions]


def bound_of(calls: list[ModelCall]) -> float:
    """What a batch of these calls costs at most."""
    return sum(read_prices().max_cost(call, is_batch=True) or 0.0 for call in calls)


def billed(kitchen: Kitchen) -> float:
    """What the server has charged since it was reset, for batches that nobody has looked at, too."""
    assert kitchen.server is not None
    assert kitchen.server.state is not None
    kitchen.server.state.batches.finish(kitchen.server.state.script)
    return kitchen.billed()


def batch_run(kitchen: Kitchen, *options: object) -> Outcome:
    return kitchen.run("--batch", "--poll", 0.01, *options)


def may_be_billed(reported: str) -> tuple[float, int]:
    """The bound in the closing lines, and for how many batches."""
    lines = MAY_BE_BILLED.findall(reported)
    if not lines:
        return 0.0, 0
    assert "GET /v1/messages/batches" in reported
    [(bound, _, listed)] = lines
    batches = listed.split(", ")
    assert all(re.fullmatch(r"\d+ calls? at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", batch) for batch in batches)
    return float(bound), len(batches)


@pytest.mark.parametrize(
    "fault",
    ["html", "http_500", *(pytest.param(fault, marks=pytest.mark.thorough) for fault in ("drop", "drop_body", "cut"))],
)
def test_a_creation_that_is_always_cut_off_is_repeated_twice(kitchen: Kitchen, server: Loopback, fault: str) -> None:
    """The run ends with status 3 and says which batches may exist; a rerun looks for them and creates one more."""
    cut_off(server, fault)
    stop = "stopped: the creation of a batch was cut off 3 times in a row, and the API lists no such batch\n"
    failures = "20 reviews (r0-0, r0-1, r0-2, …): the creation of its batch was cut off"
    bound, count = may_be_billed(batch_run(kitchen).expect(3, stop, failures).err)
    assert (creations(server), count) == (3, 3)
    assert billed(kitchen) <= bound
    bound, count = may_be_billed(batch_run(kitchen).expect(3).err)
    assert (creations(server), count) == (4, 4)
    reported = command("store", "info", "--store", "answers.sqlite", cwd=kitchen.folder).out
    assert reported.count("unconfirmed: a batch whose creation was cut off, 20 calls at 2") == 4
    info = kitchen.info()
    assert len(info["unconfirmed_batches"]) == 4
    assert info["unknown"] == {"calls": 80, "at_most_usd": pytest.approx(bound, abs=1e-4)}


@pytest.mark.parametrize("share", [0.3, 1.0, 1.5, 2.2, 3.5])
@pytest.mark.thorough
def test_unconfirmed_creations_count_against_the_limit(kitchen: Kitchen, server: Loopback, share: float) -> None:
    """Whatever the limit is, as a share of a batch's bound: all runs with it together cost no more."""
    most = share * bound_of(batch_calls())
    cut_off(server)
    for _ in range(3):
        bound, count = may_be_billed(batch_run(kitchen, "--max-usd", most).expect(3).err)
        assert 0 < bound <= most + 1e-4
        assert 0 < billed(kitchen) <= most
    assert creations(server) <= 3 + 2, "one in each further run at most"
    live = kitchen.run("--max-usd", most / 2).expect(3, "stopped: it could cost more than the limit of")
    assert (may_be_billed(live.err)[1], server.messages) == (count, [])


def test_waits_before_repetitions_grow(kitchen: Kitchen, server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch is looked for during one minute, then two, then four, by a clock that only sleeping moves."""
    monkeypatch.setattr(batching, "SECONDS_TO_APPEAR", 60.0)
    moment, created = [0.0], []

    async def sleep(seconds: float) -> None:
        moment[0] += seconds

    def rule(ask: Ask) -> str | None:
        created.extend([moment[0]] if is_creation(ask) else [])
        return "drop" if is_creation(ask) else None

    cut_off(server)
    server.reset(rule=rule)
    with Store(kitchen.store) as store:
        [(now,)] = kitchen.sql("SELECT unixepoch()")
        answers = AnswerCache(questionnaire(seed()), store, UsageStats(read_prices()))
        reviews = [[ReviewInput("a", "0", "soup")]]
        run = BatchExtractor(answers, Limits(), lambda: reviews, poll=30.0, clock=lambda: now + moment[0], sleep=sleep)
        run.ask()
    assert (created, moment) == ([0.0, 60.0, 180.0], [420.0])
    assert (run.stop_reason != "", run.can_resume) == (True, False)


def test_a_batch_that_is_listed_later_is_found_by_a_rerun(kitchen: Kitchen, server: Loopback) -> None:
    """Its results are read and nothing is sent; the other batches still count, in this run and in no later one."""
    cut_off(server)
    batch_run(kitchen)
    cut_off(server, listed=True)
    rerun = batch_run(kitchen).expect(0, "found msgbatch_0000000").err
    assert (creations(server), may_be_billed(rerun)[1]) == (0, 2)
    assert re.search(r"^paid \$0\.0000[1-9]\d* for 20 calls \(", rerun, re.MULTILINE)
    kitchen.prepare(restaurants(2, CALLS))
    later = batch_run(kitchen, "--max-usd", 0.05).expect(0)
    assert may_be_billed(later.err) == (0.0, 0), "its questions have their answers"


def test_a_repetition_counts_beside_what_was_cut_off(kitchen: Kitchen, server: Loopback) -> None:
    """The closing lines have both, and so has the cost that `formulaseed.run` returns."""
    cut_off(server, times=2)
    lines: list[str] = []
    asker = Anthropic(batch=True, poll=0.01, store=kitchen.store)
    outcome = formulaseed.run(seed(), restaurants(1, CALLS), extractor=asker, notify=lines.append)
    bound, count = may_be_billed("\n".join(lines))
    assert (outcome.failures, creations(server), count) == ((), 3, 2)
    assert outcome.usd is not None
    assert billed(kitchen) <= outcome.usd == pytest.approx(bound + billed(kitchen) / 3, abs=1e-4)


def test_a_server_without_a_list_of_batches_lists_none(kitchen: Kitchen, server: Loopback) -> None:
    cut_off(server, times=1, listed=True)
    cut = server.state.script.rule  # type: ignore[union-attr]
    server.reset(rule=lambda ask: "http_404" if ask.path == BATCHES and ask.method == "GET" else cut(ask))
    done = batch_run(kitchen).expect(0)
    assert (creations(server), may_be_billed(done.err)[1]) == (2, 1)


def test_a_creation_that_a_kill_cut_off_counts_in_the_next_run(kitchen: Kitchen, server: Loopback) -> None:
    """It was recorded before it was sent, so the next run looks for it, and counts it where it is not listed."""
    calls = batch_calls()
    with Store(kitchen.store) as store:
        store.ledger.begin_batch(questionnaire(seed()).id, calls)
    bound, near = bound_of(calls), pytest.approx(bound_of(calls), abs=1e-4)
    done = batch_run(kitchen, "--max-usd", 0.9 * bound).expect(3)
    assert (creations(server), may_be_billed(done.err)) == (0, (near, 1))
    done = batch_run(kitchen, "--max-usd", 2.5 * bound).expect(0)
    assert (creations(server), may_be_billed(done.err)[1]) == (1, 1)


@pytest.mark.parametrize("share", [10.0, 1.5])
def test_a_batch_that_is_gone_at_once_is_not_sent_for_ever(kitchen: Kitchen, server: Loopback, share: float) -> None:
    """The API answers 404 to each look at it: a question is sent three times, as far as the limit allows."""
    server.reset(rule=lambda ask: "http_404" if ask.path.startswith(f"{BATCHES}/") else None)
    most = share * bound_of(batch_calls())
    done = batch_run(kitchen, "--max-usd", most).expect(3)
    assert creations(server) == (3 if share > 3 else 2)
    unknown = r"(\d+) attempts ended without an answer that states its cost: up to \$([\d.]+) more"
    [(count, bound)] = re.findall(unknown, done.err)
    assert billed(kitchen) <= float(bound) <= most + 1e-4
    assert server.seen(False)["billed"]["batch_calls"] == int(count)
    assert server.seen(False)["paths"].get(MESSAGES) is None
