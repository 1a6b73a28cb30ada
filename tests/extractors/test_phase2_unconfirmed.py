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
    return Kitchen(tmp_path, server).prepare(restaurants(1, CALLS))


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


def may_be_billed(done: Outcome) -> tuple[float, int]:
    """The bound in the closing lines, and for how many batches."""
    found = MAY_BE_BILLED.search(done.err)
    if found is None:
        return 0.0, 0
    assert "GET /v1/messages/batches" in done.err
    listed = found[3].split(", ")
    assert all(re.fullmatch(r"\d+ calls? at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", each) for each in listed)
    return float(found[1]), len(listed)


@pytest.mark.parametrize(
    "fault",
    ["html", "http_500", *(pytest.param(fault, marks=pytest.mark.thorough) for fault in ("drop", "drop_body", "cut"))],
)
def test_a_creation_that_is_always_cut_off_is_repeated_twice(kitchen: Kitchen, server: Loopback, fault: str) -> None:
    """The run ends with status 3 and says which batches may exist; a rerun looks for them and creates one more."""
    cut_off(server, fault)
    done = batch_run(kitchen)
    assert (done.status, creations(server)) == (3, 3)
    assert (
        "stopped: the creation of a batch was cut off 3 times in a row, and the API lists no such batch\n" in done.err
    )
    assert "20 reviews (r0-0, r0-1, r0-2, …): the creation of its batch was cut off" in done.err
    bound, count = may_be_billed(done)
    assert count == 3
    assert billed(kitchen) <= bound
    again = batch_run(kitchen)
    assert (again.status, creations(server), may_be_billed(again)[1]) == (3, 4, 4)
    reported = command("store", "info", "--store", "answers.sqlite", cwd=kitchen.folder).out
    assert reported.count("unconfirmed: a batch whose creation was cut off, 20 calls at 2") == 4
    assert len(kitchen.info()["unconfirmed_batches"]) == 4
    assert kitchen.info()["unknown"] == {"calls": 80, "at_most_usd": pytest.approx(may_be_billed(again)[0], abs=1e-4)}


@pytest.mark.parametrize("share", [0.3, 1.0, 1.5, 2.2, 3.5])
def test_unconfirmed_creations_count_against_the_limit(kitchen: Kitchen, server: Loopback, share: float) -> None:
    """Whatever the limit is, as a share of a batch's bound: all runs with it together cost no more."""
    most = share * bound_of(batch_calls())
    cut_off(server)
    for _ in range(3):
        done = batch_run(kitchen, "--max-usd", most).expect(3)
        assert 0 < may_be_billed(done)[0] <= most + 1e-4
        assert 0 < billed(kitchen) <= most
    assert creations(server) <= 3 + 2, "one in each further run at most"
    live = kitchen.run("--max-usd", most / 2).expect(3, "stopped: it could cost more than the limit of")
    assert may_be_billed(live)[1] == may_be_billed(done)[1]
    assert not server.messages


def test_the_wait_before_a_repetition_grows(
    kitchen: Kitchen, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch is looked for during one minute, then two, then four, by a clock that only sleeping moves."""
    monkeypatch.setattr(batching, "SECONDS_TO_APPEAR", 60.0)
    for name, value in kitchen.environment().items():
        monkeypatch.setenv(name, value)
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
    assert created == [0.0, 60.0, 180.0]
    assert moment == [420.0]
    assert (run.stop_reason != "", run.can_resume) == (True, False)


def test_a_batch_that_is_listed_later_is_found_by_a_rerun(kitchen: Kitchen, server: Loopback) -> None:
    """Its results are read and nothing is sent; the other batches still count, in this run and in no later one."""
    cut_off(server)
    batch_run(kitchen)
    cut_off(server, listed=True)
    found = batch_run(kitchen).expect(0, "found msgbatch_0000000")
    assert creations(server) == 0
    assert re.search(r"^paid \$0\.0000[1-9]\d* for 20 calls \(", found.err, re.MULTILINE)
    assert may_be_billed(found)[1] == 2
    kitchen.prepare(restaurants(2, CALLS))
    other = batch_run(kitchen, "--max-usd", 0.05)
    assert (other.status, may_be_billed(other)) == (0, (0.0, 0)), "its questions have their answers"


def test_a_repetition_that_succeeds_counts_beside_what_was_cut_off(
    kitchen: Kitchen, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The closing lines have both, and so has the cost that `formulaseed.run` returns."""
    for name, value in kitchen.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(kitchen.folder)
    cut_off(server, times=2)
    lines: list[str] = []
    outcome = formulaseed.run(
        "seed.json", "contexts.jsonl", extractor=Anthropic(batch=True, poll=0.01, store="a.sqlite"), notify=lines.append
    )
    assert (outcome.failures, creations(server)) == ((), 3)
    bound, count = may_be_billed(Outcome(0, "", "\n".join(lines)))
    assert count == 2
    assert outcome.usd is not None
    assert billed(kitchen) <= outcome.usd == pytest.approx(bound + billed(kitchen) / 3, abs=1e-4)


def test_a_server_without_a_list_of_batches_lists_none(kitchen: Kitchen, server: Loopback) -> None:
    posts: list[Ask] = []

    def rule(ask: Ask) -> str | None:
        posts.extend([ask] if is_creation(ask) else [])
        if ask.path == BATCHES and ask.method == "GET":
            return "http_404"
        return "drop" if is_creation(ask) and len(posts) == 1 else None

    server.reset(rule=rule)
    done = batch_run(kitchen)
    assert (done.status, len(posts), may_be_billed(done)[1]) == (0, 2, 1)


def test_a_creation_that_a_kill_cut_off_counts_in_the_next_run(kitchen: Kitchen, server: Loopback) -> None:
    """It was recorded before it was sent, so the next run looks for it, and counts it where it is not listed."""
    calls = batch_calls()
    bound = bound_of(calls)
    with Store(kitchen.store) as store:
        store.ledger.begin_batch(questionnaire(seed()).id, calls)
    done = batch_run(kitchen, "--max-usd", 0.9 * bound)
    assert (done.status, creations(server), may_be_billed(done)) == (3, 0, (pytest.approx(bound, abs=1e-4), 1))
    done = batch_run(kitchen, "--max-usd", 2.5 * bound)
    assert (done.status, creations(server), may_be_billed(done)[1]) == (0, 1, 1)


@pytest.mark.parametrize("share", [10.0, 1.5])
def test_a_batch_that_is_gone_at_once_is_not_sent_for_ever(kitchen: Kitchen, server: Loopback, share: float) -> None:
    """The API answers 404 to each look at it: a question is sent three times, as far as the limit allows."""
    server.reset(rule=lambda ask: "http_404" if ask.path.startswith(f"{BATCHES}/") else None)
    most = share * bound_of(batch_calls())
    done = batch_run(kitchen, "--max-usd", most)
    assert (done.status, creations(server)) == (3, 3 if share > 3 else 2)
    found = re.search(r"(\d+) attempts ended without an answer that states its cost: up to \$([\d.]+) more", done.err)
    assert found is not None
    assert billed(kitchen) <= float(found[2]) <= most + 1e-4
    assert server.seen(False)["billed"]["batch_calls"] == int(found[1])
    assert server.seen(False)["paths"].get(MESSAGES) is None
