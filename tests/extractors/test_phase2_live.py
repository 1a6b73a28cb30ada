"""The live carrier against a server on loopback: order, faults, limits of its own, and what is paid."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from asking import MODEL, Kitchen, restaurant, restaurants, seed
from formulaseed.llm.limiter import AdaptiveLimiter
from helpers import IS_DEEP, command, needs
from loopback import Loopback, loopback
from loopback_script import DAMAGED, MESSAGES, UNCOUNTED, Ask, Reply, Script, model

needs("anthropic", "llm")


def test_every_restaurant_comes_out_in_its_order_and_a_rerun_asks_nothing(kitchen: Kitchen, server: Loopback) -> None:
    """Answers come in any order; restaurants without reviews and with many keep their places."""
    server.reset(delay=(0.0, 0.05))
    contexts = [*restaurants(3, 7), restaurant("empty"), restaurant("big", *(f"Soup {n}" for n in range(300)))]
    contexts += [restaurant(f"none{n}") for n in range(50)] + [restaurant("last", "The last soup.")]
    kitchen.prepare(contexts)
    first = kitchen.run("--concurrency", 8)
    assert (first.status, [r["business_id"] for r in first.results]) == (0, [c["business_id"] for c in contexts])
    assert all(r["output"]["N"] == len(c["reviews"]) for r, c in zip(first.results, contexts, strict=True))
    seen = server.seen()
    assert seen["peak"] <= 8
    assert seen["paths"] == {f"/v1/models/{MODEL}": 1, MESSAGES: 322}
    assert len(seen["answered"]) == 322
    kitchen.run().expect(0, "paid $0.0000 for 0 calls", "the store saved 322 calls, $0.0", out=first.out)
    assert server.seen()["paths"] == seen["paths"]


FAULTS = (
    "http_429",
    "http_500",
    "http_529",
    "drop",
    "drop_body",
    "not_json",
    "missing_field",
    "unlisted",
    "max_tokens",
)
WAITS = ("http_500", "drop", "drop_body")
MANY = 5000 if IS_DEEP else 600


def one_in_ten(ask: Ask) -> str | None:
    """A fault for the first attempt at every tenth review; few of those after which the SDK waits half a second."""
    numbers = re.findall(r"\d+", ask.text)
    if ask.path != MESSAGES or ask.attempt > 1:
        return None
    place = int(numbers[1]) * 20 + int(numbers[0])
    fault = FAULTS[place // 10 % len(FAULTS)]
    return None if place % 10 else fault if fault not in WAITS or place % 50 == 0 else "http_429"


@pytest.mark.thorough
def test_many_reviews_with_faults_end_with_one_answer_each(tmp_path: Path) -> None:
    """One attempt in ten fails in one of nine ways; each review is answered, stored and counted once."""
    script = Script(rule=one_in_ten, keep=False, retry_after=0.01, retry_after_ms=True)
    with loopback(script, process=True) as server:
        kitchen = Kitchen(tmp_path, server).prepare(restaurants(MANY // 20, 20))
        done = kitchen.run("--concurrency", 64, "--quiet")
        seen = server.seen(False)
    assert done.status == 0, done.err[-2000:]
    assert sum(result["output"]["N"] for result in done.results) == MANY
    assert kitchen.sql("SELECT COUNT(*), COUNT(content) FROM answers") == [(MANY, MANY)]
    assert Counter(seen["texts"].values())[1] == MANY * 9 // 10
    assert len(seen["answered"]) == MANY
    status = dict(kitchen.sql("SELECT status, COUNT(*) FROM attempts GROUP BY status"))
    assert status["200"] == sum(seen["answered"].values())
    assert all(status[name] for name in ("429", "500", "529", "no answer"))
    assert sum(status.values()) == seen["paths"][MESSAGES]
    assert kitchen.sql("SELECT COUNT(*) FROM attempts WHERE status = '200' AND input IS NULL") == [(0,)]


@pytest.mark.parametrize(
    ("fault", "attempts", "reason"),
    [
        ("refusal", 5, "the model refused to answer"),
        ("max_tokens", 5, "the answer was cut off at its longest length"),
        ("not_json", 5, "the answer is not JSON: Expecting value"),
        ("missing_field", 5, "the answer lacks `mood`"),
        ("unlisted", 5, "in the answer `mood` must be one of good, bad, not 'not_in_the_list'"),
        ("wrong_type", 5, "in the answer `mood` must be of type enum, not {'nested': []}"),
        ("empty", 5, "the answer is not JSON: Expecting value"),
    ],
)  # fmt: skip
def test_an_answer_of_no_use_fails_its_review_and_is_remembered(
    kitchen: Kitchen, server: Loopback, fault: str, attempts: int, reason: str
) -> None:
    """It is asked again where that may help, then listed; later runs know it and do not pay again unless told to."""
    server.reset(rule=lambda ask: fault if "bad" in ask.text else None)
    kitchen.prepare([restaurant("a", "fine soup"), restaurant("b", "bad soup", "good soup")])
    done = kitchen.run().expect(3, f"failed: contexts.jsonl:2: b: review b-0: {reason}")
    assert done.by_id()["b"]["error"]["kind"] == "extraction"
    assert done.by_id()["b"]["reviews"] == {"total": 2, "relevant": 2, "extracted": 1, "failed": 1}
    assert done.by_id()["a"]["output"]["N"] == 1
    assert server.seen(False)["texts"][json.dumps({"review": "bad soup"})] == attempts
    server.reset(rule=None)
    again = kitchen.run("--on-error", "skip").expect(3, f"b-0: {reason}")
    assert again.by_id()["b"]["output"]["N"] == 1
    assert server.seen(False)["paths"] == {}
    for each in (done, again):
        assert "1 review failed for good, their answers being unusable: --retry-errors asks again\n" in each.err
    fixed = kitchen.run("--retry-errors")
    assert (fixed.status, fixed.by_id()["b"]["output"]["N"]) == (0, 2)
    assert server.seen(False)["paths"][MESSAGES] == 1


@pytest.mark.parametrize("kind", ["integer", "number"])
@pytest.mark.parametrize("digits", [310, 5000])
def test_an_integer_beyond_every_float_is_an_answer_of_no_use(
    kitchen: Kitchen, server: Loopback, kind: str, digits: int
) -> None:
    """From a model, from recorded extractions and after an import: one review fails, in words, and the others count."""
    huge = f'{{"mood": "good", "guests": {"9" * digits}}}'
    fields = [*seed()["extract"]["fields"], {"name": "guests", "type": kind, "description": "How many ate"}]
    steps = [{"name": "N", "op": "sum", "expr": "extraction.guests"}]
    server.reset(rule=lambda ask: Reply(text=huge) if "bad" in ask.text else None, answers=lambda *_: {"guests": 2})
    given = seed(extract={"fields": fields}, compute=steps, output=["N"])
    kitchen.prepare([restaurant("a", "fine soup", "bad soup")], given)
    asked = ("--quiet", "--on-error", "skip")
    done = kitchen.run(*asked)
    reason = "the answer is not JSON" if digits > 4300 else "in the answer `guests` must be a number between"
    assert (done.status, done.results[0]["output"]["N"]) == (3, 2)
    assert f"review a-1: {reason}" in done.err
    good, bad = ({"business_id": "a", "review_id": f"a-{n}", "fields": {"mood": "good", "guests": 2}} for n in range(2))
    lines = [json.dumps(good), json.dumps(bad).replace('"guests": 2', f'"guests": {"9" * digits}')]
    (kitchen.folder / "known.jsonl").write_text("\n".join(lines))
    recorded = ["--contexts", "contexts.jsonl", "--extractor", "recorded", "--extractions", "known.jsonl"]
    done = command("run", "seed.json", *recorded, "--on-error", "skip", cwd=kitchen.folder, env={})
    assert (done.status, done.results[0]["output"]["N"], "failed: known.jsonl:2: " in done.err) == (3, 2, True)
    exported = [*command("store", "export", "--store", kitchen.store, cwd=kitchen.folder, env={}).results]
    for line in exported:
        line["content"] = {"mood": "good", "guests": 0}
    text = "\n".join(map(json.dumps, exported)).replace('"guests": 0', f'"guests": {"9" * digits}', 1)
    (kitchen.folder / "moved.jsonl").write_text(text)
    moved = command("store", "import", "moved.jsonl", "--store", "b.sqlite", cwd=kitchen.folder, env={})
    assert moved.status == (3 if digits > 4300 else 0)
    server.reset(rule=None, answers=lambda *_: {"guests": 2})
    again = kitchen.run("--quiet", "--store", "b.sqlite")
    assert (again.status, again.results[0]["output"]["N"]) == (0, 2), "what does not fit is asked for anew"
    assert server.seen(False)["paths"][MESSAGES] == 1


ODD_STRINGS = {
    '{"mood": "good", "dish": "\\ud83d"}': "in the answer a string holds half of a character (an unpaired surrogate)",
    '{"mood": "good", "mood": "bad", "dish": "pho"}': "the answer is not JSON: duplicate key `mood`",
    '{"mood": "\\ud800", "dish": "pho"}': "in the answer `mood` must be one of good, bad, not '\\ud800'",
}


@pytest.mark.parametrize("options", [(), ("--batch", "--poll", 0.02)])
def test_an_answer_that_no_file_could_hold_is_of_no_use(
    kitchen: Kitchen, server: Loopback, options: tuple[object, ...]
) -> None:
    """Half of a character, a key twice: the review fails, in words, and the others count; so does a stop reason like that."""
    fields = [*seed()["extract"]["fields"], {"name": "dish", "type": "string", "description": "Which dish"}]
    kitchen.prepare(
        [restaurant("a", "fine", *map(str, range(len(ODD_STRINGS))), "stop")], seed(extract={"fields": fields})
    )

    def rule(ask: Ask) -> Reply | None:
        text = json.loads(ask.text)["review"] if ask.text else ""
        if text == "stop":
            return Reply(stop_reason="\ud800")
        return Reply(text=[*ODD_STRINGS][int(text)]) if text.isdigit() else None

    server.reset(rule=rule)
    done = kitchen.run("--on-error", "skip", *options)
    assert (done.status, done.results[0]["output"]["N"]) == (3, 1)
    for reason in (*ODD_STRINGS.values(), "the model stopped: \\ud800"):
        assert f": {reason}\n" in done.err
    assert kitchen.info()["spent_usd"] == pytest.approx(kitchen.billed())


def test_a_longer_answer_is_allowed_where_one_was_cut_off(kitchen: Kitchen, server: Loopback) -> None:
    server.reset(queue=("max_tokens",))
    kitchen.prepare([restaurant("a", "soup")])
    assert kitchen.run().status == 0
    first, second = (one.body["max_tokens"] for one in server.messages)
    assert second == 2 * first


def test_a_text_that_stands_twice_is_asked_once(kitchen: Kitchen, server: Loopback) -> None:
    """Also at the same time; and a text of no use is not asked again for its twin."""
    server.reset(rule=lambda ask: Reply("not_json" if "bad" in ask.text else "", delay=0.02))
    kitchen.prepare([restaurant(name, *["soup"] * 5, "bad", "bad") for name in "abc"])
    done = kitchen.run("--on-error", "skip", "--retry-errors")
    assert [r["output"]["N"] for r in done.results] == [5, 5, 5]
    assert sorted(server.seen(False)["texts"].values()) == [1, 5]


def test_what_is_not_sent_is_not_paid_for_again(kitchen: Kitchen, server: Loopback) -> None:
    """White space around reviews and in descriptions makes the same requests, and so makes none."""
    kitchen.prepare([restaurant("a", "soup", "broth")])
    first = kitchen.run()
    values = {"good": "Liked it ", "bad": " Hated\n  it"}
    field = {"name": "mood", "type": "enum", "values": values, "default": "bad"}
    kitchen.prepare([restaurant("a", "soup\n", "  broth")], seed(extract={"fields": [field]}, task_name="Soups-2"))
    again = kitchen.run().expect(0, "the store saved 2 calls")
    assert (first.status, len(server.messages)) == (0, 2)
    assert again.results[0]["output"] == first.results[0]["output"]


def test_the_first_call_goes_alone_so_that_the_others_find_its_prompt_cached(
    kitchen: Kitchen, server: Loopback
) -> None:
    """The constant part is marked; only the first call writes it to the cache."""
    server.reset(delay=0.05)
    kitchen.prepare(restaurants(1, 20))
    assert kitchen.run().status == 0
    assert [one.active for one in server.messages][:2] == [1, 1]
    assert server.messages[0].body["system"][0]["cache_control"] == {"type": "ephemeral"}
    written = kitchen.sql("SELECT COUNT(*), MIN(cache_write) > 0 FROM attempts WHERE cache_write > 0")
    assert written == [(1, 1)]


@pytest.mark.parametrize(
    ("status", "calls", "message"),
    [
        (401, 1, "the API answered 401: scripted http_401"),
        (402, 1, "the API answered 402: scripted http_402"),
        (403, 1, "the API answered 403: scripted http_403"),
        (404, 1, "the API answered 404: scripted http_404"),
        (400, 5, "the API answered 400: scripted http_400"),
    ],
)
def test_what_fails_every_call_ends_the_asking(
    kitchen: Kitchen, server: Loopback, status: int, calls: int, message: str
) -> None:
    """One clear line, no hail of calls; what is stored is still given out, and the exit status is 3."""
    kitchen.prepare([restaurant("known", "an old soup")])
    assert kitchen.run().status == 0
    server.reset(rule=lambda ask: f"http_{status}" if ask.path == MESSAGES else None)
    kitchen.prepare([*restaurants(40, 5), restaurant("known", "an old soup")])
    done = kitchen.run("--concurrency", 4)
    assert done.status == 3
    assert [line for line in done.err.splitlines() if line.startswith("stopped: ")] == [f"stopped: {message}"], (
        "the same command would not go on"
    )
    assert calls <= server.seen(False)["paths"][MESSAGES] <= calls + 3
    assert len(done.results) == 41
    assert done.results[-1]["output"]["N"] == 1
    assert "failed: contexts.jsonl:40: r39: 5 reviews (r39-0, r39-1, r39-2, …): it has not been asked about" in done.err
    message = "5 of 5 relevant reviews could not be extracted (r39-0, r39-1, r39-2, …)"
    assert done.results[39]["error"]["message"] == message


def test_a_review_that_the_api_refuses_as_too_long_stops_nothing_else(kitchen: Kitchen, server: Loopback) -> None:
    server.reset(rule=lambda ask: "http_400" if len(ask.text) > 30_000 else None)
    kitchen.prepare([restaurant("a", *("x" * 40_000 + str(n) for n in range(10)), "soup")])
    done = kitchen.run("--on-error", "skip")
    assert (done.status, done.results[0]["output"]["N"]) == (3, 1)
    assert "stopped" not in done.err


def test_a_server_that_is_gone_ends_the_asking_after_some_calls(kitchen: Kitchen) -> None:
    kitchen.prepare(restaurants(60, 5))
    done = kitchen.run("--retries", 0, ANTHROPIC_BASE_URL="http://127.0.0.1:9")
    assert done.status == 3
    assert "stopped: no connection to the API: All connection attempts failed; run the same command" in done.err
    assert kitchen.sql("SELECT COUNT(*) FROM attempts")[0][0] <= 32 + 16


KEY_IS_MISSING = r"formulaseed: the Anthropic client finds no credentials(: .+)?; set `ANTHROPIC_API_KEY`\n"
PACKAGE_IS_MISSING = "formulaseed: asking a model needs the extra `llm`; run `pip install 'formulaseed\\[llm\\]'`\n"
"""Patterns: the first is reported with the SDK's own words where it says more."""


def listed(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


@pytest.mark.parametrize("options", [(), ("--batch",), ("--max-usd", 1), ("--retry-errors",)])
@pytest.mark.parametrize("config", ["", "nowhere"])
def test_without_credentials_nothing_is_read_or_written(
    kitchen: Kitchen, options: tuple[object, ...], config: str
) -> None:
    """One line that names the variable, exit status 2: before the input, which is not even there, and before the store."""
    kitchen.prepare([])
    (kitchen.folder / "contexts.jsonl").unlink()
    (kitchen.folder / "seed.json").unlink()
    done = kitchen.run(*options, ANTHROPIC_API_KEY="", ANTHROPIC_CONFIG_DIR=config and str(kitchen.folder / config))
    assert (done.status, done.out, list(kitchen.folder.iterdir())) == (2, "", [])
    assert re.fullmatch(KEY_IS_MISSING, done.err), done.err


@pytest.mark.parametrize(
    "given",
    [
        {"ANTHROPIC_AUTH_TOKEN": "token"},
        {"ANTHROPIC_CUSTOM_HEADERS": "x-api-key: key", "ANTHROPIC_CONFIG_DIR": ""},
        {"ANTHROPIC_CONFIG_DIR": "profiles"},
    ],
)
def test_the_client_decides_where_credentials_come_from(kitchen: Kitchen, given: dict[str, str]) -> None:
    """A token, a header or a profile do as well as a key: the run gets as far as its input."""
    configs, secrets = kitchen.folder / "profiles" / "configs", kitchen.folder / "profiles" / "credentials"
    for folder in (configs, secrets):
        folder.mkdir(parents=True)
    profile = {"authentication": {"type": "user_oauth"}}
    (configs / "default.json").write_text(json.dumps(profile))
    kept = {"access_token": "token", "expires_at": 32503680000}
    (secrets / "default.json").write_text(json.dumps(kept))
    (secrets / "default.json").chmod(0o600)
    kitchen.prepare([restaurant("a", "soup")])
    (kitchen.folder / "contexts.jsonl").unlink()
    where = {name: str(kitchen.folder / value) if value == "profiles" else value for name, value in given.items()}
    kitchen.run(ANTHROPIC_API_KEY="", **where).expect(2, "cannot read contexts.jsonl")


def test_without_the_package_the_extra_is_named(
    kitchen: Kitchen, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The default install has no client; a run whose answers are all stored does without it, no other begins."""
    kitchen.prepare([restaurant("a", "soup")])
    monkeypatch.setitem(sys.modules, "anthropic", None)
    before = listed(kitchen.folder)
    done = kitchen.run()
    assert (done.status, done.out, listed(kitchen.folder)) == (2, "", before)
    assert re.fullmatch(PACKAGE_IS_MISSING, done.err)
    assert kitchen.run("--dry-run").status == 0
    monkeypatch.undo()
    assert kitchen.run(ANTHROPIC_BASE_URL=server.url).status == 0
    monkeypatch.setitem(sys.modules, "anthropic", None)
    again = kitchen.run()
    assert (again.status, again.results[0]["output"]["N"]) == (0, 1)
    kitchen.prepare([restaurant("a", "soup"), restaurant("b", "new soup")])
    before = listed(kitchen.folder)
    for options in ((), ("--batch",), ("--out", "results.jsonl")):
        done = kitchen.run(*options)
        assert (done.status, done.out, listed(kitchen.folder)) == (2, "", before)
        assert re.fullmatch(PACKAGE_IS_MISSING, done.err)


def test_without_credentials_what_is_stored_is_given_out(kitchen: Kitchen, server: Loopback) -> None:
    """A rerun needs no key; of a pipe, which is read once, what is not stored is reported when it comes."""
    kitchen.prepare([restaurant("a", "soup")])
    assert kitchen.run().status == 0
    again = kitchen.run(ANTHROPIC_API_KEY="")
    assert (again.status, again.results[0]["output"]["N"]) == (0, 1)
    kitchen.prepare([restaurant("a", "soup"), restaurant("b", "new soup")])
    os.mkfifo(kitchen.folder / "pipe")
    lines = (kitchen.folder / "contexts.jsonl").read_text()
    writer = subprocess.Popen([sys.executable, "-c", f"open('pipe', 'w').write({lines!r})"], cwd=kitchen.folder)
    arguments = ["run", "seed.json", "--contexts", "pipe", *kitchen.arguments()[4:]]
    done = command(*arguments, cwd=kitchen.folder, env=kitchen.environment(ANTHROPIC_API_KEY=""))
    assert writer.wait(30) == 0
    assert (done.status, done.by_id()["a"]["output"]["N"]) == (3, 1)
    assert "stopped: the Anthropic client finds no credentials" in done.err


@pytest.mark.thorough
def test_a_server_that_never_answers_meets_our_timeout_and_our_deadline(kitchen: Kitchen, server: Loopback) -> None:
    """Attempts have a timeout, the call a deadline; both are reported, and counted as perhaps paid."""
    server.reset(rule=lambda ask: "hang")
    kitchen.prepare([restaurant("a", "soup")])
    done = kitchen.run("--timeout", 0.15, "--retries", 0)
    assert "a-0: no answer in time" in done.err
    assert "1 attempt ended without an answer that states its cost: up to $0.00" in done.err
    done = kitchen.run("--timeout", 30, "--deadline", 0.3)
    assert "a-0: no answer within the deadline of 0.3 s (attempts: interrupted)" in done.err
    statuses = [row[0] for row in kitchen.sql("SELECT status FROM attempts WHERE is_bound ORDER BY id")]
    assert statuses == ["timeout", "interrupted"]


def test_a_retry_after_that_is_longer_than_the_deadline_is_not_waited_for(kitchen: Kitchen, server: Loopback) -> None:
    """The SDK would sleep as long as the server asks: the question has failed at once."""
    began = time.monotonic()
    server.reset(rule=lambda ask: Reply("http_429", retry_after=3600) if ask.path == MESSAGES else None)
    kitchen.prepare([restaurant("a", "soup")])
    done = kitchen.run("--deadline", 20)
    assert "a-0: the API answered 429 and asks to wait 3,600 s, beyond the deadline of 20 s" in done.err
    assert time.monotonic() - began < 10
    assert "1 call ended without a usable answer; run the same command to make them again\n" in done.err


def test_the_models_endpoint_is_a_courtesy(kitchen: Kitchen, server: Loopback) -> None:
    for fault in ("http_404", "hang"):
        server.reset(rule=lambda ask, fault=fault: fault if ask.path.startswith("/v1/models") else None)
        kitchen.prepare([restaurant("a", f"soup {fault}")])
        assert kitchen.run("--deadline", 2).status == 0


@pytest.mark.parametrize(
    ("known", "has_effort", "thinking"),
    [
        ({"effort": False, "thinking": ("disabled",)}, False, {"type": "disabled"}),
        ({"effort": True, "thinking": ("adaptive",)}, True, None),
    ],
)
def test_a_model_is_asked_for_what_it_knows(
    kitchen: Kitchen, server: Loopback, known: Any, has_effort: bool, thinking: Any
) -> None:
    """Effort and thinking are sent only to models that understand these."""
    server.reset(models=[model("own", **known)])
    kitchen.prepare([restaurant("a", "soup")])
    assert kitchen.run("--model", "own").status == 0
    body = server.messages[0].body
    assert ("effort" in body["output_config"], body.get("thinking")) == (has_effort, thinking)


def test_a_model_without_structured_answers_is_not_asked(kitchen: Kitchen, server: Loopback) -> None:
    server.reset(models=[model("plain", structured=False)])
    kitchen.prepare(restaurants(2, 3))
    done = kitchen.run("--model", "plain")
    assert (done.status, server.seen(False)["paths"].get(MESSAGES)) == (3, None)
    assert "stopped: the model plain does not support structured output; choose another --model" in done.err


def test_an_answer_that_is_no_message_fails_its_review(kitchen: Kitchen, server: Loopback) -> None:
    """A proxy in between may say 200 and send anything; a block of thoughts before the text is no fault."""
    server.reset(rule=lambda ask: "thinking")
    kitchen.prepare([restaurant("a", "soup")])
    assert kitchen.run().status == 0
    with loopback(lambda ask: None) as other:
        assert other.state is not None
        other.state.answer = lambda *_: (200, {"greeting": "hello"})  # type: ignore[method-assign]
        kitchen.server = other
        kitchen.prepare([restaurant("a", "another soup")])
        done = kitchen.run()
    assert (done.status, "a-0: the API's answer is not a message" in done.err) == (3, True)
    assert kitchen.sql("SELECT status FROM attempts ORDER BY id DESC LIMIT 1") == [("broken",)]


@pytest.mark.parametrize("fault", DAMAGED)
def test_a_damaged_answer_is_asked_for_again(kitchen: Kitchen, server: Loopback, fault: str) -> None:
    """A 200 that is no message, five times at most, and again in the next run; each may have cost its bound."""
    server.reset(rule=lambda ask: fault if ("once" in ask.text and ask.attempt == 1) or "always" in ask.text else None)
    kitchen.prepare([restaurant("a", "once", "always", "fine")])
    done = kitchen.run("--on-error", "skip")
    assert (done.status, done.results[0]["output"]["N"]) == (3, 2)
    assert "review a-1: the API's answer is not a message" in done.err
    assert "6 attempts ended without an answer that states its cost: up to $0.00" in done.err
    assert sorted(server.seen(False)["texts"].values()) == [1, 2, 5]
    server.reset(rule=None)
    again = kitchen.run()
    assert (again.status, again.results[0]["output"]["N"]) == (0, 3)
    assert server.seen(False)["paths"][MESSAGES] == 1


@pytest.mark.parametrize("fault", UNCOUNTED)
def test_an_answer_that_does_not_count_its_tokens_costs_what_it_may(
    kitchen: Kitchen, server: Loopback, fault: str
) -> None:
    """The answer is as good as any other; a limit of money holds all the same."""
    server.reset(rule=lambda ask: fault)
    kitchen.prepare(restaurants(4, 5))
    done = kitchen.run("--max-usd", 0.005, "--concurrency", 4)
    calls = server.seen(False)["paths"][MESSAGES]
    assert 1 < calls < 20
    assert (done.status, "stopped: it could cost more than the limit of $0.005" in done.err) == (3, True)
    assert f"paid $0.0000 for {calls} calls" in done.err
    found = re.search(
        rf"{calls} attempts ended without an answer that states its cost: up to \$([\d.]+) more", done.err
    )
    assert found is not None
    assert 0.003 < float(found[1]) <= 0.005
    assert len(kitchen.answers()) == calls
    assert kitchen.run().status == 0
    assert server.seen(False)["paths"][MESSAGES] == 20


KINDS = {
    "statuses": ("http_408", "http_429", "http_500", "http_503", "http_529"),
    "answers": ("not_json", "missing_field", "unlisted", "wrong_type", "max_tokens", "empty", "refusal"),
    "damage": (*DAMAGED, "drop", "drop_body"),
    "usage": tuple(UNCOUNTED),
}


@pytest.mark.parametrize("options", [("--concurrency", 64), ("--batch", "--poll", 0.02)])
@pytest.mark.parametrize(
    "kind", ["answers", *(pytest.param(kind, marks=pytest.mark.thorough) for kind in KINDS if kind != "answers")]
)
def test_the_reported_costs_are_the_billed_ones_whatever_goes_wrong(
    kitchen: Kitchen, server: Loopback, kind: str, options: tuple[object, ...]
) -> None:
    """One attempt in seven fails: after one more run all is there, and what was paid is what the server has charged.

    Where answers are lost, what they cost is not known: the rest is between nothing and the bound that is reported.
    """
    server.reset(faults={fault: 0.15 / len(KINDS[kind]) for fault in KINDS[kind]}, seed=3)
    kitchen.prepare(restaurants(6, 20))
    first, last = kitchen.run(*options), kitchen.run(*options)
    assert (last.status, sum(result["output"]["N"] for result in last.results)) == (0, 120)
    cost, found = kitchen.billed(), kitchen.info()
    assert found["spent_usd"] <= cost + 1e-12 <= found["spent_usd"] + found["unknown"]["at_most_usd"] + 2e-12
    is_known = kind in ("statuses", "answers") or (kind == "damage" and "--batch" in options)
    if is_known and found["unknown"]["calls"] == 0:
        assert found["spent_usd"] == pytest.approx(cost, rel=1e-9)
    assert is_known or found["unknown"]["calls"] > 0
    reported = [float(done.err.split("paid $")[1].split(" ")[0]) for done in (first, last)]
    assert sum(reported) == pytest.approx(found["spent_usd"], abs=1e-4)


def test_calls_slow_down_when_the_server_pushes_back_and_recover(
    kitchen: Kitchen, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fewer calls at a time after a 429, and more again after answers; all reviews are answered in the end."""
    widths = []

    def noted(method: Callable[[AdaptiveLimiter], None]) -> Callable[[AdaptiveLimiter], None]:
        def moved(limiter: AdaptiveLimiter) -> None:
            method(limiter)
            widths.append(limiter.width)

        return moved

    for name in ("slow", "recover"):
        monkeypatch.setattr(AdaptiveLimiter, name, noted(getattr(AdaptiveLimiter, name)))
    pushes_back = re.compile("Review 1?7 of")
    server.reset(
        rule=lambda ask: "http_429" if pushes_back.search(ask.text) and ask.attempt == 1 else None,
        retry_after=0.01, retry_after_ms=True,
    )  # fmt: skip
    kitchen.prepare(restaurants(5, 20))
    kitchen.run("--concurrency", 64).expect(0, "110 attempts in all")
    assert len(kitchen.answers()) == 100
    assert server.seen(False)["outcomes"] == {"ok": 100, "http_429": 10}
    assert min(widths) < 64
    assert min(widths) < widths[-1]


def test_rates_bound_how_fast_calls_go_out(kitchen: Kitchen, server: Loopback) -> None:
    kitchen.prepare(restaurants(2, 10))
    began = time.monotonic()
    assert kitchen.run("--requests-per-minute", 1200).status == 0
    assert time.monotonic() - began >= 19 * 0.05
    kitchen.store.unlink()
    server.reset()
    began = time.monotonic()
    assert kitchen.run("--tokens-per-minute", 600_000).status == 0
    taken = time.monotonic() - began
    tokens = (len(server.messages[0].body["system"][0]["text"]) + 1000) / 4
    assert taken >= 19 * tokens / 10_000 * 0.8
