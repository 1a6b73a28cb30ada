"""The live carrier against a server on loopback: order, faults, limits of its own, and what is paid."""

from __future__ import annotations

import json
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from asking import MODEL, Kitchen, restaurant, restaurants, seed
from formulaseed.llm.limiter import AdaptiveLimiter
from helpers import IS_DEEP, command, needs, write_json
from loopback import Loopback, loopback
from loopback_script import DAMAGED, MESSAGES, UNCOUNTED, Ask, Reply, Script, model

needs("anthropic", "llm")


def test_every_restaurant_comes_out_in_its_order_and_a_rerun_asks_nothing(kitchen: Kitchen, server: Loopback) -> None:
    """Answers come in any order; restaurants without reviews and with many keep their places."""
    server.reset(delay=(0.0, 0.05))
    contexts = [*restaurants(3, 7), restaurant("empty"), restaurant("big", *(f"Soup {n}" for n in range(80)))]
    contexts += [restaurant(f"none{n}") for n in range(50)] + [restaurant("last", "The last soup.")]
    first = kitchen.prepare(contexts).run("--concurrency", 8)
    assert (first.status, [r["business_id"] for r in first.results]) == (0, [c["business_id"] for c in contexts])
    assert all(r["output"]["N"] == len(c["reviews"]) for r, c in zip(first.results, contexts, strict=True))
    seen = server.seen()
    assert seen["peak"] <= 8
    assert (seen["paths"], len(seen["answered"])) == ({f"/v1/models/{MODEL}": 1, MESSAGES: 102}, 102)
    kitchen.run().expect(0, "paid $0.0000 for 0 calls", "the store saved 102 calls, $0.0", out=first.out)
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
        done = kitchen.run("--concurrency", 64, "--quiet").expect(0)
        seen = server.seen(False)
    assert sum(result["output"]["N"] for result in done.results) == len(seen["answered"]) == MANY
    assert kitchen.sql("SELECT COUNT(*), COUNT(content) FROM answers") == [(MANY, MANY)]
    assert Counter(seen["texts"].values())[1] == MANY * 9 // 10
    status = dict(kitchen.sql("SELECT status, COUNT(*) FROM attempts GROUP BY status"))
    assert (status["200"], sum(status.values())) == (sum(seen["answered"].values()), seen["paths"][MESSAGES])
    assert all(status[name] for name in ("429", "500", "529", "no answer"))
    assert kitchen.sql("SELECT COUNT(*) FROM attempts WHERE status = '200' AND input IS NULL") == [(0,)]


USELESS = {
    "refusal": "the model refused to answer",
    "max_tokens": "the answer was cut off at its longest length",
    "not_json": "the answer is not JSON: Expecting value",
    "missing_field": "the answer lacks `mood`",
    "unlisted": "in the answer `mood` must be one of good, bad, not 'not_in_the_list'",
    "wrong_type": "in the answer `mood` must be of type enum, not {'nested': []}",
    "empty": "the answer is not JSON: Expecting value",
}


@pytest.mark.parametrize("fault", USELESS)
@pytest.mark.thorough
def test_an_answer_of_no_use_fails_its_review_and_is_remembered(kitchen: Kitchen, server: Loopback, fault: str) -> None:
    """It is asked for five times, then listed; later runs know it and do not pay again unless told to."""
    server.reset(rule=lambda ask: fault if "bad" in ask.text else None)
    kitchen.prepare([restaurant("a", "fine soup"), restaurant("b", "bad soup", "good soup")])
    remark = "1 review failed for good, their answers being unusable: --retry-errors asks again\n"
    done = kitchen.run().expect(3, f"failed: contexts.jsonl:2: b: review b-0: {USELESS[fault]}", remark)
    good, bad = done.results
    assert (good["output"]["N"], bad["error"]["kind"]) == (1, "extraction")
    assert bad["reviews"] == {"total": 2, "relevant": 2, "extracted": 1, "failed": 1}
    assert server.seen(False)["texts"][json.dumps({"review": "bad soup"})] == 5
    server.reset(rule=None)
    again = kitchen.run("--on-error", "skip").expect(3, f"b-0: {USELESS[fault]}", remark)
    assert (again.by_id()["b"]["output"]["N"], server.seen(False)["paths"]) == (1, {})
    assert kitchen.run("--retry-errors").expect(0).by_id()["b"]["output"]["N"] == 2
    assert server.seen(False)["paths"][MESSAGES] == 1


@pytest.mark.parametrize("kind", ["integer", "number"])
@pytest.mark.parametrize("digits", [310, 5000])
@pytest.mark.thorough
def test_an_integer_beyond_every_float_is_of_no_use(kitchen: Kitchen, server: Loopback, kind: str, digits: int) -> None:
    """From a model, from recorded extractions and after an import: one review fails, in words, and the others count."""

    def huge(value: object) -> str:
        return json.dumps(value).replace('"guests": 0', f'"guests": {"9" * digits}')

    guests = {"name": "guests", "type": kind, "description": "How many ate"}
    steps = [{"name": "N", "op": "sum", "expr": "extraction.guests"}]
    server.reset(
        rule=lambda ask: Reply(text=huge({"mood": "good", "guests": 0})) if "bad" in ask.text else None,
        answers=lambda *_: {"guests": 2},
    )
    fields = [*seed()["extract"]["fields"], guests]
    kitchen.prepare(
        [restaurant("a", "fine soup", "bad soup")], seed(extract={"fields": fields}, compute=steps, output=["N"])
    )
    reason = "the answer is not JSON" if digits > 4300 else "in the answer `guests` must be a number between"
    done = kitchen.run("--quiet", "--on-error", "skip").expect(3, f"review a-1: {reason}")
    assert done.results[0]["output"]["N"] == 2
    lines = [
        {"business_id": "a", "review_id": f"a-{n}", "fields": {"mood": "good", "guests": 2 - 2 * n}} for n in (0, 1)
    ]
    (kitchen.folder / "known.jsonl").write_text("\n".join(map(huge, lines)))
    recorded = ["--contexts", "contexts.jsonl", "--extractor", "recorded", "--extractions", "known.jsonl"]
    done = command("run", "seed.json", *recorded, "--on-error", "skip", cwd=kitchen.folder)
    assert done.expect(3, "failed: known.jsonl:2: ").results[0]["output"]["N"] == 2
    good, bad = command("store", "export", "--store", kitchen.store, cwd=kitchen.folder).results
    good["content"], bad["content"] = ({"mood": "good", "guests": number} for number in (0, 2))
    (kitchen.folder / "moved.jsonl").write_text(f"{huge(good)}\n{json.dumps(bad)}")
    moved = command("store", "import", "moved.jsonl", "--store", "b.sqlite", cwd=kitchen.folder)
    moved.expect(3 if digits > 4300 else 0)
    server.reset(rule=None, answers=lambda *_: {"guests": 2})
    again = kitchen.run("--quiet", "--store", "b.sqlite").expect(0)
    assert again.results[0]["output"]["N"] == 4, "what does not fit is asked for anew"
    assert server.seen(False)["paths"][MESSAGES] == 1


ODD_STRINGS = {
    '{"mood": "good", "dish": "\\ud83d"}': "in the answer a string holds half of a character (an unpaired surrogate)",
    '{"mood": "good", "mood": "bad", "dish": "pho"}': "the answer is not JSON: duplicate key `mood`",
    '{"mood": "\\ud800", "dish": "pho"}': "in the answer `mood` must be one of good, bad, not '\\ud800'",
}


@pytest.mark.parametrize("options", [(), ("--batch", "--poll", 0.02)])
def test_an_answer_that_no_file_could_hold_is_useless(kitchen: Kitchen, server: Loopback, options: Any) -> None:
    """Half of a character, a key twice: the review fails, in words, and the others count; so does a stop reason like that."""
    fields = [*seed()["extract"]["fields"], {"name": "dish", "type": "string", "description": "Which dish"}]
    texts = ("fine", *map(str, range(len(ODD_STRINGS))), "stop")
    kitchen.prepare([restaurant("a", *texts)], seed(extract={"fields": fields}))

    def rule(ask: Ask) -> Reply | None:
        text = json.loads(ask.text)["review"] if ask.text else ""
        if text == "stop":
            return Reply(stop_reason="\ud800")
        return Reply(text=[*ODD_STRINGS][int(text)]) if text.isdigit() else None

    server.reset(rule=rule)
    reasons = (f": {reason}\n" for reason in (*ODD_STRINGS.values(), "the model stopped: \\ud800"))
    done = kitchen.run("--on-error", "skip", *options).expect(3, *reasons)
    assert done.results[0]["output"]["N"] == 1
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
    first = kitchen.prepare([restaurant("a", "soup", "broth")]).run().expect(0)
    field = {"name": "mood", "type": "enum", "values": {"good": "Liked it ", "bad": " Hated\n  it"}, "default": "bad"}
    kitchen.prepare([restaurant("a", "soup\n", "  broth")], seed(extract={"fields": [field]}, task_name="Soups-2"))
    again = kitchen.run().expect(0, "the store saved 2 calls")
    assert (len(server.messages), again.results[0]["output"]) == (2, first.results[0]["output"])


def test_the_first_call_goes_alone_and_the_others_find_its_prompt_cached(kitchen: Kitchen, server: Loopback) -> None:
    """The constant part is marked; only the first call writes it to the cache."""
    server.reset(delay=0.05)
    kitchen.prepare(restaurants(1, 20)).run().expect(0)
    assert [one.active for one in server.messages][:2] == [1, 1]
    assert server.messages[0].body["system"][0]["cache_control"] == {"type": "ephemeral"}
    written = kitchen.sql("SELECT COUNT(*), MIN(cache_write) > 0 FROM attempts WHERE cache_write > 0")
    assert written == [(1, 1)]


@pytest.mark.parametrize(("status", "calls"), [(401, 1), (402, 1), (403, 1), (404, 1), (400, 5)])
@pytest.mark.thorough
def test_what_fails_every_call_ends_the_asking(kitchen: Kitchen, server: Loopback, status: int, calls: int) -> None:
    """One clear line, no hail of calls; what is stored is still given out, and the exit status is 3."""
    known = restaurant("known", "an old soup")
    kitchen.prepare([known]).run().expect(0)
    server.reset(rule=lambda ask: f"http_{status}" if ask.path == MESSAGES else None)
    some = "(r39-0, r39-1, r39-2, …)"
    done = kitchen.prepare([*restaurants(40, 5), known]).run("--concurrency", 4)
    done.expect(3, f"failed: contexts.jsonl:40: r39: 5 reviews {some}: it has not been asked about")
    stops = [line for line in done.err.splitlines() if line.startswith("stopped: ")]
    assert stops == [f"stopped: the API answered {status}: scripted http_{status}"], "the same command would not go on"
    assert calls <= server.seen(False)["paths"][MESSAGES] <= calls + 3
    assert (len(done.results), done.results[-1]["output"]["N"]) == (41, 1)
    assert done.results[39]["error"]["message"] == f"5 of 5 relevant reviews could not be extracted {some}"


def test_a_review_that_the_api_refuses_as_too_long_stops_nothing_else(kitchen: Kitchen, server: Loopback) -> None:
    server.reset(rule=lambda ask: "http_400" if len(ask.text) > 30_000 else None)
    kitchen.prepare([restaurant("a", *("x" * 40_000 + str(n) for n in range(10)), "soup")])
    done = kitchen.run("--on-error", "skip")
    assert (done.status, done.results[0]["output"]["N"]) == (3, 1)
    assert "stopped" not in done.err


@pytest.mark.thorough
def test_a_server_that_is_gone_ends_the_asking_after_some_calls(kitchen: Kitchen) -> None:
    done = kitchen.prepare(restaurants(60, 5)).run("--retries", 0, ANTHROPIC_BASE_URL="http://127.0.0.1:9")
    assert done.status == 3
    assert "stopped: no connection to the API: All connection attempts failed; run the same command" in done.err
    assert kitchen.sql("SELECT COUNT(*) FROM attempts")[0][0] <= 32 + 16


KEY_IS_MISSING = r"formulaseed: the Anthropic client finds no credentials(: .+)?; set `ANTHROPIC_API_KEY`\n"
"""A pattern: it is reported with the SDK's own words where it says more."""
PACKAGE_IS_MISSING = "formulaseed: asking a model needs the extra `llm`; run `pip install 'formulaseed[llm]'`\n"


def listed(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


@pytest.mark.parametrize("options", [(), ("--batch",), ("--max-usd", 1), ("--retry-errors",)])
@pytest.mark.parametrize("config", ["", "nowhere"])
def test_without_credentials_nothing_is_read_or_written(kitchen: Kitchen, options: Any, config: str) -> None:
    """One line that names the variable, exit status 2: before the input, which is not even there, and before the store."""
    folder = config and str(kitchen.folder / config)
    done = kitchen.run(*options, ANTHROPIC_API_KEY="", ANTHROPIC_BASE_URL="", ANTHROPIC_CONFIG_DIR=folder).expect(
        2, out=""
    )
    assert re.fullmatch(KEY_IS_MISSING, done.err), done.err
    assert [*kitchen.folder.iterdir()] == []


@pytest.mark.parametrize(
    "variables",
    [
        {"ANTHROPIC_AUTH_TOKEN": "token"},
        {"ANTHROPIC_CUSTOM_HEADERS": "x-api-key: key", "ANTHROPIC_CONFIG_DIR": ""},
        {"ANTHROPIC_CONFIG_DIR": "profiles"},
    ],
)
def test_the_client_decides_where_credentials_come_from(kitchen: Kitchen, variables: dict[str, str]) -> None:
    """A token, a header or a profile do as well as a key: the run gets as far as its input."""
    profiles = {
        "configs": {"authentication": {"type": "user_oauth"}},
        "credentials": {"access_token": "token", "expires_at": 32503680000},
    }
    for name, content in profiles.items():
        (kitchen.folder / "profiles" / name).mkdir(parents=True)
        write_json(kitchen.folder / "profiles" / name / "default.json", content).chmod(0o600)
    kitchen.prepare([])
    (kitchen.folder / "contexts.jsonl").unlink()
    kitchen.run(ANTHROPIC_API_KEY="", **variables).expect(2, "cannot read contexts.jsonl")


def test_without_the_package_the_extra_is_named(kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default install has no client; a run whose answers are all stored does without it, no other begins."""

    def refuse(*options: object) -> None:
        before = listed(kitchen.folder)
        done = kitchen.run(*options).expect(2, out="")
        assert (done.err, listed(kitchen.folder)) == (PACKAGE_IS_MISSING, before)

    kitchen.prepare([restaurant("a", "soup")])
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "anthropic", None)
        refuse()
        kitchen.run("--dry-run").expect(0)
    first = kitchen.run().expect(0)
    monkeypatch.setitem(sys.modules, "anthropic", None)
    kitchen.run().expect(0, out=first.out)
    kitchen.prepare([restaurant("a", "soup"), restaurant("b", "new soup")])
    for options in ((), ("--batch",), ("--out", "results.jsonl")):
        refuse(*options)


def test_without_credentials_what_is_stored_is_given_out(kitchen: Kitchen, server: Loopback) -> None:
    """A rerun needs no key; of a pipe, which is read once, what is not stored is reported when it comes."""
    first = kitchen.prepare([restaurant("a", "soup")]).run().expect(0)
    kitchen.run(ANTHROPIC_API_KEY="", ANTHROPIC_BASE_URL="").expect(0, out=first.out)
    kitchen.prepare([restaurant("a", "soup"), restaurant("b", "new soup")])
    done = kitchen.run_piped(ANTHROPIC_API_KEY="", ANTHROPIC_BASE_URL="")
    done.expect(3, "stopped: the Anthropic client finds no credentials")
    assert done.by_id()["a"]["output"]["N"] == 1


@pytest.mark.thorough
def test_a_server_that_never_answers_meets_our_timeout_and_our_deadline(kitchen: Kitchen, server: Loopback) -> None:
    """Attempts have a timeout, the call a deadline; both are reported, and counted as perhaps paid."""
    server.reset(rule=lambda ask: "hang")
    kitchen.prepare([restaurant("a", "soup")])
    unknown = "1 attempt ended without an answer that states its cost: up to $0.00"
    kitchen.run("--timeout", 0.15, "--retries", 0).expect(3, "a-0: no answer in time", unknown)
    late = "a-0: no answer within the deadline of 0.3 s (attempts: interrupted)"
    kitchen.run("--timeout", 30, "--deadline", 0.3).expect(3, late)
    statuses = kitchen.sql("SELECT status FROM attempts WHERE is_bound ORDER BY id")
    assert statuses == [("timeout",), ("interrupted",)]


def test_a_retry_after_that_is_longer_than_the_deadline_is_not_waited_for(kitchen: Kitchen, server: Loopback) -> None:
    """The SDK would sleep as long as the server asks: the question has failed at once."""
    began = time.monotonic()
    server.reset(rule=lambda ask: Reply("http_429", retry_after=3600) if ask.path == MESSAGES else None)
    kitchen.prepare([restaurant("a", "soup")]).run("--deadline", 20).expect(
        3,
        "a-0: the API answered 429 and asks to wait 3,600 s, beyond the deadline of 20 s",
        "1 call ended without a usable answer; run the same command to make them again\n",
    )
    assert time.monotonic() - began < 10


@pytest.mark.thorough
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
    kitchen.prepare([restaurant("a", "soup")]).run("--model", "own").expect(0)
    body = server.messages[0].body
    assert ("effort" in body["output_config"], body.get("thinking")) == (has_effort, thinking)


def test_a_model_without_structured_answers_finds_the_schema_in_the_prompt(kitchen: Kitchen, server: Loopback) -> None:
    server.reset(
        models=[model("plain", structured=False)], rule=lambda ask: Reply(text='```json\n{"mood": "good"}\n```')
    )
    kitchen.prepare(restaurants(2, 3)).run("--model", "plain").expect(0)
    for message in server.messages:
        assert "format" not in message.body.get("output_config", {})
        assert "Answer with one JSON object of this schema" in message.body["system"][0]["text"]


def test_an_answer_that_is_no_message_fails_its_review(kitchen: Kitchen, server: Loopback) -> None:
    """A proxy in between may say 200 and send anything; a block of thoughts before the text is no fault."""
    server.reset(rule=lambda ask: "thinking")
    kitchen.prepare([restaurant("a", "soup")]).run().expect(0)
    with loopback(lambda ask: None) as other:
        assert other.state is not None
        other.state.answer = lambda *_: (200, {"greeting": "hello"})  # type: ignore[method-assign]
        kitchen.server = other
        kitchen.prepare([restaurant("a", "another soup")]).run().expect(3, "a-0: the API's answer is not a message")
    assert kitchen.sql("SELECT status FROM attempts ORDER BY id DESC LIMIT 1") == [("broken",)]


@pytest.mark.parametrize("fault", DAMAGED)
@pytest.mark.thorough
def test_a_damaged_answer_is_asked_for_again(kitchen: Kitchen, server: Loopback, fault: str) -> None:
    """A 200 that is no message, five times at most, and again in the next run; each may have cost its bound."""
    server.reset(rule=lambda ask: fault if ("once" in ask.text and ask.attempt == 1) or "always" in ask.text else None)
    unknown = "6 attempts ended without an answer that states its cost: up to $0.00"
    done = kitchen.prepare([restaurant("a", "once", "always", "fine")]).run("--on-error", "skip")
    done.expect(3, "review a-1: the API's answer is not a message", unknown)
    assert done.results[0]["output"]["N"] == 2
    assert sorted(server.seen(False)["texts"].values()) == [1, 2, 5]
    server.reset(rule=None)
    assert kitchen.run().expect(0).results[0]["output"]["N"] == 3
    assert server.seen(False)["paths"][MESSAGES] == 1


@pytest.mark.parametrize("fault", UNCOUNTED)
@pytest.mark.thorough
def test_an_answer_without_its_tokens_may_cost_its_bound(kitchen: Kitchen, server: Loopback, fault: str) -> None:
    """The answer is as good as any other; a limit of money holds all the same."""
    server.reset(rule=lambda ask: fault)
    done = kitchen.prepare(restaurants(4, 5)).run("--max-usd", 0.005, "--concurrency", 4)
    calls = server.seen(False)["paths"][MESSAGES]
    done.expect(3, "stopped: it could cost more than the limit of $0.005", f"paid $0.0000 for {calls} calls")
    unknown = rf"{calls} attempts ended without an answer that states its cost: up to \$([\d.]+) more"
    [bound] = re.findall(unknown, done.err)
    assert 0.003 < float(bound) <= 0.005
    assert 1 < calls == len(kitchen.answers()) < 20
    kitchen.run().expect(0)
    assert server.seen(False)["paths"][MESSAGES] == 20


KINDS = {
    "statuses": ("http_408", "http_429", "http_500", "http_503", "http_529"),
    "answers": ("not_json", "missing_field", "unlisted", "wrong_type", "max_tokens", "empty", "refusal"),
    "damage": (*DAMAGED, "drop", "drop_body"),
    "usage": tuple(UNCOUNTED),
}


@pytest.mark.parametrize("options", [("--concurrency", 64), ("--batch", "--poll", 0.02)])
@pytest.mark.parametrize("kind", [k if k == "answers" else pytest.param(k, marks=pytest.mark.thorough) for k in KINDS])
@pytest.mark.thorough
def test_reported_costs_are_the_billed_ones(kitchen: Kitchen, server: Loopback, kind: str, options: Any) -> None:
    """One attempt in seven fails: after one more run all is there, and what was paid is what the server has charged.

    Where answers are lost, what they cost is not known: the rest is between nothing and the bound that is reported.
    """
    server.reset(faults={fault: 0.15 / len(KINDS[kind]) for fault in KINDS[kind]}, seed=3)
    kitchen.prepare(restaurants(6, 20))
    first, last = kitchen.run(*options), kitchen.run(*options).expect(0)
    assert sum(result["output"]["N"] for result in last.results) == 120
    cost, info = kitchen.billed(), kitchen.info()
    spent, unknown = info["spent_usd"], info["unknown"]
    assert spent <= cost + 1e-12 <= spent + unknown["at_most_usd"] + 2e-12
    is_known = kind in ("statuses", "answers") or (kind == "damage" and "--batch" in options)
    if is_known and unknown["calls"] == 0:
        assert spent == pytest.approx(cost, rel=1e-9)
    assert is_known or unknown["calls"] > 0
    reported = [float(done.err.split("paid $")[1].split(" ")[0]) for done in (first, last)]
    assert sum(reported) == pytest.approx(spent, abs=1e-4)


def test_calls_slow_down_and_recover(kitchen: Kitchen, server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer calls at a time after a 429, and more again after answers; all reviews are answered in the end."""
    widths = []

    def noted(method: Callable[[AdaptiveLimiter], None]) -> Callable[[AdaptiveLimiter], None]:
        def moved(limiter: AdaptiveLimiter) -> None:
            method(limiter)
            widths.append(limiter.width)

        return moved

    for name in ("slow", "recover"):
        monkeypatch.setattr(AdaptiveLimiter, name, noted(getattr(AdaptiveLimiter, name)))
    pushed_back = re.compile("Review 1?7 of")
    server.reset(rule=lambda ask: "http_429" if pushed_back.search(ask.text) and ask.attempt == 1 else None)
    kitchen.prepare(restaurants(5, 20)).run("--concurrency", 64).expect(0, "110 attempts in all")
    assert (len(kitchen.answers()), server.seen(False)["outcomes"]) == (100, {"ok": 100, "http_429": 10})
    assert min(widths) < 64
    assert min(widths) < widths[-1]


@pytest.mark.thorough
def test_rates_bound_how_fast_calls_go_out(kitchen: Kitchen, server: Loopback) -> None:
    kitchen.prepare(restaurants(2, 10))

    def seconds(*options: object) -> float:
        began = time.monotonic()
        kitchen.run(*options).expect(0)
        return time.monotonic() - began

    assert seconds("--requests-per-minute", 1200) >= 19 * 0.05
    kitchen.store.unlink()
    tokens = (len(server.messages[0].body["system"][0]["text"]) + 1000) / 4
    assert seconds("--tokens-per-minute", 600_000) >= 19 * tokens / 10_000 * 0.8
