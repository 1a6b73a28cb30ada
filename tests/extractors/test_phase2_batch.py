"""Batches: how they are split, what becomes of each result, what is picked up, what is never paid twice."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from asking import MODEL, Kitchen, questionnaire, restaurant, restaurants, seed
from formulaseed.data.results import ReviewInput
from formulaseed.extractors.model import batching
from formulaseed.extractors.model.store import Store
from formulaseed.llm.batches import BatchClient
from formulaseed.llm.calls import ModelCall, ModelCapabilities
from formulaseed.llm.connecting import Limits
from formulaseed.llm.limiter import CostBudget, read_prices
from helpers import Outcome, command, needs
from loopback import Loopback, loopback
from loopback_routes import BATCHES
from loopback_script import Ask, Script, model

pytestmark = pytest.mark.thorough

needs("anthropic", "llm")


@pytest.fixture
def server() -> Iterator[Loopback]:
    with loopback(Script()) as running:
        yield running


@pytest.fixture
def kitchen(server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kitchen:
    kitchen = Kitchen(tmp_path, server)
    for name, value in kitchen.environment().items():
        monkeypatch.setenv(name, value)
    return kitchen


def fail_first(is_meant: Callable[[Ask], bool], fault: str, times: int = 1) -> tuple[Callable[[Ask], Any], list[Ask]]:
    """A rule that gives the fault for the first requests that are meant; and the list of these requests."""
    seen: list[Ask] = []

    def rule(ask: Ask) -> str | None:
        seen.extend([ask] if is_meant(ask) else [])
        return fault if is_meant(ask) and len(seen) <= times else None

    return rule, seen


def sizes(server: Loopback) -> list[int]:
    """How many requests each batch had that was sent."""
    return [len(one.body["requests"]) for one in server.requests if created(one)]


def batch_run(kitchen: Kitchen, *options: object) -> Outcome:
    return kitchen.run("--batch", "--poll", 0.02, *options)


def calls_about(*texts: str) -> list[ModelCall]:
    """The calls of the kitchen's seed for these reviews."""
    asked = questionnaire(seed())
    questions = [asked.build_questions(ReviewInput("", "", text))[0] for text in texts]
    return [asked.build_call(question, ModelCapabilities(thinking_off=True)) for question in questions]


def note_batch(kitchen: Kitchen, batch_id: str, calls: list[ModelCall]) -> None:
    """Note in the store that the calls were sent as this batch."""
    with Store(kitchen.store) as store:
        number, free = store.ledger.begin_batch(questionnaire(seed()).id, calls)
        assert free == calls
        store.ledger.confirm_batch(number, batch_id)


def test_a_batch_gives_what_live_calls_give_at_half_the_price(kitchen: Kitchen, server: Loopback) -> None:
    """The same results from the same prompts; a rerun asks nothing, in either way."""
    live = kitchen.prepare([*restaurants(4, 5), restaurant("empty"), restaurant("twice", "soup", "soup")]).run()
    kitchen.store.rename(kitchen.folder / "live.sqlite")
    batch = batch_run(kitchen).expect(0, "sent 21 calls as msgbatch_", out=live.out)
    [sent] = [one.body["requests"] for one in server.requests if created(one)]
    bodies = ([one["params"] for one in sent], [one.body for one in server.messages])
    in_batch, one_by_one = (sorted(json.dumps(body, sort_keys=True) for body in some) for some in bodies)
    assert (in_batch, len(sent)) == (one_by_one, 21)
    costs = [float(one.err.split("paid $")[1].split(" ")[0]) for one in (live, batch)]
    assert costs[1] == pytest.approx(costs[0] / 2, abs=1e-4)
    for again in (batch_run(kitchen), kitchen.run()):
        again.expect(0, "paid $0.0000 for 0 calls", out=live.out)
    assert sizes(server) == [21]


def test_results_come_in_any_order_and_what_failed_is_sent_again(kitchen: Kitchen, server: Loopback) -> None:
    """Expired, errored and useless ones go into the next batch, three in a run; what cannot be helped is listed."""

    def rule(ask: Ask) -> str | None:
        for fault in ("expired", "http_500", "not_json", "refusal", "http_400", "canceled"):
            if fault in ask.text and (ask.attempt == 1 or "always" in ask.text):
                return fault
        return None

    server.reset(rule=rule)
    good = ["expired once", "http_500 once", "not_json once", "fine"]
    bad = {
        "expired always": "its call in a batch was expired",
        "not_json always": "the answer is not JSON: Expecting value: line 1 column 1 (char 0)",
        "refusal always": "the model refused to answer",
        "http_400": "the API could not answer: scripted http_400",
        "canceled": "its call in a batch was canceled",
    }
    done = kitchen.prepare([restaurant("a", *good, *bad)]).run("--batch", "--poll", 0.02, "--on-error", "skip")
    done.expect(3, "9 of 9 reviews relevant, 4 extracted, 5 failed")
    assert (sizes(server), done.results[0]["output"]["N"]) == ([9, 6, 3], 4)
    failures = [f"failed: contexts.jsonl:1: a: review a-{n}: {reason}" for n, reason in enumerate(bad.values(), 4)]
    assert [line for line in done.err.splitlines() if line.startswith("failed")] == failures
    batch_run(kitchen)
    server.reset(rule=None)
    again = batch_run(kitchen)
    assert (sizes(server), again.results[0]["reviews"]["failed"]) == ([1], 2)
    assert batch_run(kitchen, "--retry-errors").results[0]["output"]["N"] == 9
    assert sizes(server) == [1, 2]


def test_batches_are_split_at_both_limits(kitchen: Kitchen, server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the number of requests, and by bytes; a request over the bytes goes alone."""
    monkeypatch.setattr(batching, "MAX_BATCH_REQUESTS", 4)
    monkeypatch.setattr(batching, "MAX_BATCH_BYTES", 12_000)
    batch_run(kitchen.prepare(restaurants(1, 10))).expect(0)
    batch_run(kitchen.prepare([restaurant("a", "x" * 3000, "y" * 3000, "z" * 30_000, "w" * 3000)])).expect(0)
    assert sizes(server) == [4, 4, 2, 2, 1, 1]


def test_results_that_break_off_are_read_on_and_counted_once(kitchen: Kitchen, server: Loopback) -> None:
    """The connection breaks in the middle of the results: what came is kept, and the rest is read at the next look."""
    rule, seen = fail_first(lambda ask: ask.path.endswith("/results"), "drop_body")
    server.reset(rule=rule)
    batch_run(kitchen.prepare(restaurants(10, 10))).expect(0)
    assert (len(seen), sizes(server)) == (2, [100])
    assert kitchen.sql("SELECT COUNT(*) FROM attempts") == [(100,)]


def created(ask: Ask) -> bool:
    return ask.path == BATCHES and ask.method == "POST"


RARE = [pytest.param(fault, marks=pytest.mark.thorough) for fault in ("drop", "cut", "blank", "not_utf8")]


@pytest.mark.parametrize("fault", ["drop_body", "html", *RARE])
def test_a_batch_whose_creation_was_cut_off_is_found(kitchen: Kitchen, server: Loopback, fault: str) -> None:
    """The answer with its id is lost or damaged: among the batches of the API it is known by time, size and its calls' ids."""
    kitchen.prepare(restaurants(2, 2))
    for options in (("--model", "claude-sonnet-5-5"), ("--effort", "high")):
        batch_run(kitchen, *options, "--store", "other.sqlite").expect(0)
    server.reset(rule=lambda ask: fault if created(ask) else None)
    done = batch_run(kitchen).expect(0, "found msgbatch_00000003, whose creation was cut off: 4 calls")
    assert re.search("the API may have it; it is looked for|its answer cannot be read: .*; it is looked for", done.err)
    assert (sizes(server), server.seen(False)["billed"]["batch_calls"]) == ([4], 4)


@pytest.mark.parametrize("fault", ["http_500", "http_504"])
def test_a_batch_that_was_never_created_is_sent_again(
    kitchen: Kitchen, server: Loopback, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """The API may take a while to show it; then its calls are free again, and the first creation counts with its bound."""
    monkeypatch.setattr(batching, "SECONDS_TO_APPEAR", 0.0)
    rule, posts = fail_first(created, fault)
    server.reset(rule=rule)
    message = "the API lists no batch of 4 calls whose creation was cut off\nsent 4 calls as"
    batch_run(kitchen.prepare(restaurants(2, 2))).expect(0, message)
    counts = kitchen.sql("SELECT status, is_bound, COUNT(*) FROM attempts GROUP BY status ORDER BY status")
    assert (len(posts), counts) == (2, [("lost", 1, 4), ("succeeded", 0, 4)])


def test_a_wait_survives_a_server_that_is_away(kitchen: Kitchen, server: Loopback) -> None:
    """It says so, looks less and less often, and goes on; only what cannot pass ends it."""
    rule, _ = fail_first(lambda ask: ask.path.startswith(f"{BATCHES}/"), "http_503", times=3)
    server.reset(rule=rule)
    done = batch_run(kitchen.prepare(restaurants(2, 2)), "--retries", 0).expect(0, "the API answers again")
    assert done.err.count("the API answered 503: scripted http_503; the batches go on without us") == 3
    assert sizes(server) == [4]


def without_some_results(server: Loopback, times: int) -> None:
    """Let the results of batches end early, without an error, when they are read for the first time."""
    assert server.state is not None
    whole = server.state.answer
    left = [times]

    def answer(ask: Ask, *rest: Any) -> tuple[int, Any]:
        status, found = whole(ask, *rest)
        if ask.path.endswith("/results") and left[0] > 0:
            left[0] -= 1
            return status, found[: len(found) // 2]
        return status, found

    server.state.answer = answer  # type: ignore[method-assign]


def test_results_that_end_early_are_not_the_whole(kitchen: Kitchen, server: Loopback) -> None:
    """The counts of the batch say how many there are: the missing ones are read again, and not asked again."""
    without_some_results(server, 7)
    kitchen.prepare(restaurants(10, 10))
    part = "has 100 results, and 50 could be read"
    batch_run(kitchen).expect(0, f"msgbatch_00000001 {part}; they are read again")
    assert (sizes(server), server.seen(False)["billed"]["batch_calls"]) == ([100], 100)
    without_some_results(server, 1000)
    kitchen.store.unlink()
    batch_run(kitchen).expect(3, f"stopped: msgbatch_00000002 {part}; run the same")
    server.state.answer = type(server.state).answer.__get__(server.state)  # type: ignore[union-attr, method-assign]
    batch_run(kitchen).expect(0)
    assert sizes(server) == [100, 100]


def test_a_batch_that_is_gone_is_asked_again(kitchen: Kitchen, server: Loopback) -> None:
    """Results are kept for a time only; then the API answers 404, and the questions are free again; it may be charged."""
    note_batch(kitchen, "msgbatch_lost", calls_about("Review 0 of 0: the soup."))
    gone = "msgbatch_lost does not exist any more; its questions are asked again"
    batch_run(kitchen.prepare(restaurants(1, 3))).expect(0, gone)
    assert sizes(server) == [2, 1]
    reported = command("store", "info", "--store", "answers.sqlite", cwd=kitchen.folder).out
    assert "attempts: 3 succeeded, 1 lost\n" in reported
    assert "unknown: 1 attempt without an answer that states its cost, $0.00" in reported


def test_an_answer_of_a_batch_is_either_paid_or_saved(kitchen: Kitchen, server: Loopback) -> None:
    """A run that reads the results of another one's batch has paid for them; they have saved it nothing."""
    calls = calls_about(*(f"Review {i} of {n}: the soup." for n in range(2) for i in range(5)))

    async def create() -> str:
        async with contextlib.aclosing(BatchClient(Limits(), CostBudget(read_prices(), None))) as client:
            return await client.create_batch(calls)

    note_batch(kitchen, asyncio.run(create()), calls)
    done = batch_run(kitchen.prepare(restaurants(2, 5))).expect(0)
    assert sizes(server) == [10]
    assert re.search(r"^paid \$0\.0000\d+ for 10 calls .* the store saved 0 calls, \$0\.0000$", done.err, re.MULTILINE)
    batch_run(kitchen).expect(0, "paid $0.0000 for 0 calls")


def test_a_live_run_leaves_the_questions_of_a_batch_to_it(kitchen: Kitchen, server: Loopback) -> None:
    """They are paid for already; the reviews fail with what to do."""
    note_batch(kitchen, "msgbatch_1", calls_about("soup", "broth"))
    done = kitchen.prepare([restaurant("a", "soup", "another", "broth")]).run("--on-error", "skip")
    done.expect(3, "a: 2 reviews (a-0, a-2): it is in a batch in progress; `--batch` waits for it")
    assert done.results[0]["output"]["N"] == 1
    reported = command("store", "info", "--store", "answers.sqlite", cwd=kitchen.folder).out
    assert "in progress: msgbatch_1, 2 calls\n" in reported


@pytest.mark.parametrize("fault", ["null_usage", "negative_usage", "no_usage"])
def test_a_result_without_its_usage_costs_what_it_may(kitchen: Kitchen, server: Loopback, fault: str) -> None:
    """The bound of its call, which is reported apart."""
    server.reset(rule=lambda ask: fault if ask.batch and ask.attempt == 1 and "0 of 0" in ask.text else None)
    kitchen.prepare(restaurants(1, 3))
    batch_run(kitchen).expect(0, "1 attempt ended without an answer that states its cost: up to $0.00")
    assert sizes(server) == [3]
    assert kitchen.sql("SELECT COUNT(*), SUM(is_bound) FROM attempts") == [(sum(sizes(server)), 1)]


def test_what_no_batch_can_get_is_sent_once(kitchen: Kitchen, server: Loopback) -> None:
    kitchen.prepare(restaurants(1, 3))
    batch_run(kitchen, "--model", "claude-none").expect(3, "the API could not answer: model: claude-none")
    assert sizes(server) == [3]


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_refused_ends_the_run_in_one_line(kitchen: Kitchen, server: Loopback, status: int) -> None:
    kitchen.prepare([restaurant("known", "soup")]).run()
    server.reset(rule=lambda ask: f"http_{status}")
    done = batch_run(kitchen.prepare([restaurant("known", "soup"), restaurant("new", "new soup")]))
    done.expect(3, f"stopped: the API answered {status}: scripted http_{status}\n")  # the same command would not go on
    assert done.results[0]["output"]["N"] == 1


def test_a_limit_of_money_splits_batches(kitchen: Kitchen, server: Loopback) -> None:
    """What could cost more waits for what the calls before have cost; the limit holds, and a second run goes on."""
    kitchen.prepare(restaurants(10, 10))
    done = batch_run(kitchen, "--max-usd", 0.0005).expect(3, "stopped: it could cost more than the limit of $0.0005")
    first = sizes(server)
    assert len(first) > 2
    assert 50 < sum(first) < 100
    assert 0.0001 < float(done.err.split("paid $")[1].split(" ")[0]) <= 0.0005
    assert len(kitchen.answers()) == sum(first)
    assert batch_run(kitchen).status == 0
    assert sum(sizes(server)) == 100
    kitchen.store.unlink()
    server.reset()
    enough = batch_run(kitchen, "--max-usd", 0.01)
    assert (enough.status, sum(sizes(server))) == (0, 100), "although its calls could cost more than that together"
    assert len(sizes(server)) > 1


def test_batches_need_files_that_can_be_read_again(kitchen: Kitchen) -> None:
    arguments = ["run", "seed.json", "--contexts", "-", "--extractor", "anthropic", "--batch"]
    command(*arguments, cwd=kitchen.prepare([]).folder).expect(2, "--batch reads its input several times")


def test_quiet_batches_say_only_what_came_of_it(kitchen: Kitchen, server: Loopback) -> None:
    """And a model that knows no effort is not sent any."""
    server.reset(models=[model("own", effort=False)])
    done = batch_run(kitchen.prepare([restaurant("a", "soup")]), "--quiet", "--model", "own")
    assert done.err.splitlines()[0] == "1 restaurant, 0 failed; 1 of 1 review relevant, 1 extracted (anthropic, own)"
    [[sent]] = [one.body["requests"] for one in server.requests if created(one)]
    assert "effort" not in sent["params"]["output_config"]
    assert MODEL not in done.err
