"""Batches: how they are split, what becomes of each result, what is picked up, what is never paid twice."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from asking import MODEL, Kitchen, command, questionnaire, restaurant, restaurants, seed
from formulaseed.data.results import ReviewInput
from formulaseed.extractors.model.answers import AnswerCache, UsageStats
from formulaseed.extractors.model.asking import BatchRun
from formulaseed.extractors.model.store import Store
from formulaseed.llm.client import Limits
from formulaseed.llm.prices import read_prices
from helpers import needs_anthropic
from loopback import Loopback, loopback
from loopback_routes import BATCHES
from loopback_script import Ask, Script, model

needs_anthropic()

OPTIONS = ("--batch", "--poll", 0.02)


@pytest.fixture
def server() -> Iterator[Loopback]:
    with loopback(Script()) as running:
        yield running


@pytest.fixture
def kitchen(server: Loopback, tmp_path: Path) -> Kitchen:
    return Kitchen(tmp_path, server)


def sizes(server: Loopback) -> list[int]:
    """How many requests each batch had that was sent."""
    return [len(one.body["requests"]) for one in server.requests if one.path == BATCHES and one.method == "POST"]


def test_a_batch_gives_what_live_calls_give_at_half_the_price(kitchen: Kitchen, server: Loopback) -> None:
    """The same results from the same prompts; a rerun asks nothing, in either way."""
    kitchen.prepare([*restaurants(4, 5), restaurant("empty"), restaurant("twice", "soup", "soup")])
    live = kitchen.run()
    kitchen.store.rename(kitchen.folder / "live.sqlite")
    batch = kitchen.run(*OPTIONS)
    assert (batch.status, batch.out) == (0, live.out)
    assert sizes(server) == [21]
    bodies = [one.body for one in server.messages]
    sent = [one.body for one in server.requests if one.method == "POST" and one.path == BATCHES]
    params = [each["params"] for each in sent[0]["requests"]]
    assert Counter(json.dumps(one, sort_keys=True) for one in params) == Counter(
        json.dumps(one, sort_keys=True) for one in bodies
    )
    assert "sent 21 calls as msgbatch_" in batch.err
    costs = [float(one.err.split("paid $")[1].split(" ")[0]) for one in (live, batch)]
    assert costs[1] == pytest.approx(costs[0] / 2, abs=1e-4)
    for again in (kitchen.run(*OPTIONS), kitchen.run()):
        assert again.out == live.out
        assert "paid $0.0000 for 0 calls" in again.err
    assert sizes(server) == [21]


def test_results_come_in_any_order_and_what_failed_is_sent_again(kitchen: Kitchen, server: Loopback) -> None:
    """Expired, errored and useless ones go into the next batch; what cannot be helped is listed."""

    def rule(ask: Ask) -> str | None:
        for fault in ("expired", "http_500", "not_json", "refusal", "http_400", "canceled"):
            if fault in ask.text and (ask.attempt == 1 or "always" in ask.text):
                return fault
        return None

    server.reset(rule=rule)
    good = ["expired once", "http_500 once", "not_json once", "fine"]
    bad = ["expired always", "not_json always", "refusal", "http_400", "canceled"]
    kitchen.prepare([restaurant("a", *good, *bad)])
    done = kitchen.run(*OPTIONS, "--on-error", "skip")
    assert sizes(server) == [9, 5, 2]
    assert (done.status, done.results[0]["output"]["N"]) == (3, 4)
    assert [line for line in done.err.splitlines() if line.startswith("failed")] == [
        "failed: contexts.jsonl:1: a: review a-4: its call in a batch was expired",
        "failed: contexts.jsonl:1: a: review a-5: the answer is not JSON: Expecting value: line 1 column 1 (char 0)",
        "failed: contexts.jsonl:1: a: review a-6: the model refused to answer",
        "failed: contexts.jsonl:1: a: review a-7: the API could not answer: scripted http_400",
        "failed: contexts.jsonl:1: a: review a-8: its call in a batch was canceled",
    ]
    assert "; 5 reviews failed" in done.err
    server.reset(rule=None)
    again = kitchen.run(*OPTIONS)
    assert sizes(server) == [3]
    assert "3 reviews failed" not in again.err
    assert again.results[0]["reviews"]["failed"] == 2
    assert kitchen.run(*OPTIONS, "--retry-errors").results[0]["output"]["N"] == 9
    assert sizes(server) == [3, 2]


def run_of(
    kitchen: Kitchen, texts: list[str], monkeypatch: pytest.MonkeyPatch, **limits: int
) -> tuple[BatchRun, AnswerCache]:
    for name, most in limits.items():
        monkeypatch.setattr(f"formulaseed.extractors.model.asking.{name}", most)
    for name, value in kitchen.environment().items():
        monkeypatch.setenv(name, value)
    answers = AnswerCache(questionnaire(seed()), Store(kitchen.store), UsageStats(read_prices()))
    batch = BatchRun(answers, Limits(), poll=0.01)
    reviews = [ReviewInput("a", str(n), text) for n, text in enumerate(texts)]
    batch.ask(lambda: [reviews])
    assert not list(answers.unanswered([reviews]))
    return batch, answers


def test_batches_are_split_at_both_limits(kitchen: Kitchen, server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the number of requests, and by bytes; a request over the bytes goes alone."""
    run_of(kitchen, [f"soup {n}" for n in range(10)], monkeypatch, MOST_REQUESTS=4)
    assert sizes(server) == [4, 4, 2]
    texts = ["x" * 3000, "y" * 3000, "z" * 30_000, "w" * 3000]
    run_of(kitchen, texts, monkeypatch, MOST_BYTES=12_000)
    assert sizes(server)[3:] == [2, 1, 1]


def test_results_that_break_off_are_read_on_and_counted_once(kitchen: Kitchen, server: Loopback) -> None:
    """The connection breaks in the middle of the results: what came is kept, and the rest is read at the next look."""
    kitchen.prepare(restaurants(10, 10))
    seen: list[str] = []

    def rule(ask: Ask) -> str | None:
        if not ask.path.endswith("/results"):
            return None
        seen.append(ask.path)
        return "drop_body" if len(seen) == 1 else None

    server.reset(rule=rule)
    done = kitchen.run(*OPTIONS)
    assert (done.status, len(seen), sizes(server)) == (0, 2, [100])
    assert kitchen.sql("SELECT COUNT(*) FROM attempts") == [(100,)]


def test_a_batch_that_may_have_been_made_is_not_made_again(kitchen: Kitchen, server: Loopback) -> None:
    """Where the answer to its creation is lost, the run stops and says so instead of sending it once more."""
    server.reset(rule=lambda ask: "drop" if ask.path == BATCHES else None)
    kitchen.prepare(restaurants(2, 2))
    done = kitchen.run(*OPTIONS)
    assert done.status == 3
    assert "while a batch was sent; the API may have it, so it is not sent again" in done.err
    assert sizes(server) == [4]
    gone = kitchen.run(*OPTIONS, "--retries", 0, ANTHROPIC_BASE_URL="http://127.0.0.1:9")
    assert (gone.status, "stopped: no connection to the API" in gone.err) == (3, True)


def test_a_batch_that_is_gone_is_asked_again(kitchen: Kitchen, server: Loopback) -> None:
    """Results are kept for a time only; then the API answers 404, and the questions are free again."""
    kitchen.prepare(restaurants(1, 3))
    Store(kitchen.store).close()
    asked = questionnaire(seed())
    kitchen.sql("INSERT INTO batches VALUES ('msgbatch_lost', ?, 0, NULL)", asked.id)
    review = "Review 0 of 0: the soup."
    kitchen.sql(
        "INSERT INTO batched VALUES (?, 'msgbatch_lost')", asked.questions(ReviewInput("r0", "r0-0", review))[0].key
    )
    done = kitchen.run(*OPTIONS)
    assert (done.status, sizes(server)) == (0, [2, 1])
    assert "msgbatch_lost does not exist any more; its questions are asked again" in done.err


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_refused_ends_the_run_in_one_line(kitchen: Kitchen, server: Loopback, status: int) -> None:
    """What is stored is given out."""
    kitchen.prepare([restaurant("known", "soup")])
    kitchen.run()
    server.reset(rule=lambda ask: f"http_{status}")
    kitchen.prepare([restaurant("known", "soup"), restaurant("new", "new soup")])
    done = kitchen.run(*OPTIONS)
    assert (done.status, done.results[0]["output"]["N"]) == (3, 1)
    assert f"stopped: the API answered {status}: scripted http_{status}; run the same" in done.err


def test_a_limit_of_money_holds_for_batches(kitchen: Kitchen, server: Loopback) -> None:
    """What could cost more is not sent, also beside a batch that is under way; a second run goes on."""
    kitchen.prepare(restaurants(10, 10))
    done = kitchen.run(*OPTIONS, "--max-usd", 0.005)
    [sent] = sizes(server)
    assert 0 < sent < 100
    assert (done.status, "stopped: it could cost more than the limit of $0.005" in done.err) == (3, True)
    assert float(done.err.split("paid $")[1].split(" ")[0]) <= 0.005
    assert len(kitchen.answers()) == sent
    assert kitchen.run(*OPTIONS).status == 0
    assert sum(sizes(server)) == 100


def test_batches_need_files_that_can_be_read_again(kitchen: Kitchen) -> None:
    """Standard input and pipes are read once."""
    kitchen.prepare([])
    environment = kitchen.environment()
    arguments = ["run", "seed.json", "--contexts", "-", "--extractor", "anthropic", "--batch"]
    done = command(*arguments, cwd=kitchen.folder, env=environment)
    assert (done.status, "--batch reads its input several times" in done.err) == (2, True)


def test_quiet_batches_say_only_what_came_of_it(kitchen: Kitchen, server: Loopback) -> None:
    """And a model that knows no effort is not sent any."""
    server.reset(models=[model("own", effort=False)])
    kitchen.prepare([restaurant("a", "soup")])
    done = kitchen.run(*OPTIONS, "--quiet", "--model", "own")
    assert done.err.splitlines()[0] == "1 restaurant, 0 failed; 1 of 1 review relevant, 1 extracted (anthropic, own)"
    assert (
        "effort"
        not in next(one for one in server.requests if one.path == BATCHES).body["requests"][0]["params"][
            "output_config"
        ]
    )
    assert MODEL not in done.err
