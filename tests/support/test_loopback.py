"""The stand-in for Anthropic's API, seen through the real SDK: what each script looks like from a client."""

from __future__ import annotations

import asyncio
import importlib
import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import loopback_routes
import pytest
from helpers import needs
from loopback import Loopback, loopback
from loopback_script import ERRORS, Ask, Reply, Script, model

pytestmark = pytest.mark.thorough

needs("anthropic", "llm")

KINDS = ["mild", "severe", "none"]
PROPERTIES = {
    "kind": {"type": "string", "enum": KINDS}, "sure": {"type": "boolean"},
    "stars": {"type": "integer", "minimum": 1, "maximum": 5},
}  # fmt: skip
SCHEMA = {"type": "object", "additionalProperties": False, "required": [*PROPERTIES], "properties": PROPERTIES}
SYSTEM = [{"type": "text", "text": "Read the review. " * 40, "cache_control": {"type": "ephemeral"}}]
EXCEPTIONS = {
    400: "BadRequest", 401: "Authentication", 402: "PaymentRequired", 403: "PermissionDenied", 404: "NotFound",
    408: "RequestTimeout", 409: "Conflict", 413: "ContentTooLarge", 429: "RateLimit", 500: "InternalServer",
    503: "ServiceUnavailable", 504: "GatewayTimeout", 529: "Overloaded",
}  # fmt: skip
"""The SDK's exception for each status, without `Error`."""


def question(text: str = "The soup was cold.", **more: Any) -> dict[str, Any]:
    """Parameters of a message as an extraction sends them."""
    output = {"format": {"type": "json_schema", "schema": SCHEMA}}
    user = [{"role": "user", "content": text}]
    return {"model": "claude-haiku-5-5", "max_tokens": 200, "messages": user, "output_config": output, **more}


def client(server: Loopback, **more: Any) -> Any:
    """A client without retries, and without reading certificates, which takes 50 ms."""
    plain = anthropic.DefaultHttpxClient(verify=False)
    return anthropic.Anthropic(base_url=server.url, api_key="k", http_client=plain, **{"max_retries": 0, **more})


def async_client(server: Loopback) -> Any:
    return anthropic.AsyncAnthropic(
        base_url=server.url, api_key="k", http_client=anthropic.DefaultAsyncHttpxClient(verify=False)
    )


def text_of(answer: Any) -> str:
    return next((block.text for block in answer.content if block.type == "text"), "")


def values(answer: Any) -> dict[str, Any]:
    return json.loads(text_of(answer))  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def running() -> Iterator[Loopback]:
    """Import the SDK when the first test runs, which takes a second, and start a server."""
    global anthropic
    import anthropic

    with loopback() as server:
        yield server


@pytest.fixture
def server(running: Loopback) -> Loopback:
    """The module's server, with a fresh script for each test."""
    running.reset(**vars(Script()))
    return running


def test_an_answer_fits_the_schema_and_follows_from_the_text_alone(server: Loopback) -> None:
    with client(server) as api:
        first, again = api.messages.create(**question()), api.messages.create(**question())
        different = {json.dumps(values(api.messages.create(**question(f"Review {n}")))) for n in range(12)}
    assert values(first) == values(again)
    assert (first.stop_reason, first._request_id[:4]) == ("end_turn", "req_")
    assert set(values(first)) == {"kind", "sure", "stars"}
    assert values(first)["kind"] in KINDS
    assert 1 <= values(first)["stars"] <= 5
    assert len(different) > 6
    assert anthropic.types.Message.model_validate(first.model_dump()) == first


def test_a_script_can_give_the_answer(server: Loopback) -> None:
    """By a function, by replies of its own, and without a schema."""
    server.reset(answers=lambda text, schema: {"kind": "severe" if "cold" in text else "none"})
    with client(server) as api:
        kinds = [values(api.messages.create(**question(text)))["kind"] for text in ("cold", "hot")]
        plain = {key: value for key, value in question("Hi 👋").items() if key != "output_config"}
        understood = api.messages.create(**plain).content[0].text
        replies = [Reply(values={"stars": 4}), Reply(text="{}"), Reply(stop_reason="pause_turn"), Reply(delay=0.1)]
        server.reset(queue=replies)
        four, empty, paused = (api.messages.create(**question()) for _ in range(3))
        began = time.monotonic()
        api.messages.create(**question())
    assert time.monotonic() - began >= 0.1
    assert (kinds, understood) == (["severe", "none"], "Understood: Hi.")
    assert (values(four)["stars"], values(empty), paused.stop_reason) == (4, {}, "pause_turn")


@pytest.mark.parametrize("fault", ["", "thinking", "max_tokens"])
def test_a_stream_adds_up_to_the_message(server: Loopback, fault: str) -> None:
    server.reset(rule=lambda ask: fault)
    with client(server) as api:
        whole = api.messages.create(**question("streamed"))
        with api.messages.stream(**question("streamed")) as stream:
            final = stream.get_final_message()
    blocks = [block.model_dump(exclude={"parsed_output"}) for block in final.content]
    assert blocks == [block.model_dump() for block in whole.content]
    assert (final.stop_reason, final.usage.output_tokens) == (whole.stop_reason, whole.usage.output_tokens)


def test_usage_counts_the_prefix_as_written_then_as_read(server: Loopback) -> None:
    """A prefix is readable for requests that arrive after a first answer, not for those beside it."""
    server.reset(delay=1.0)

    async def run() -> list[Any]:
        async with async_client(server) as api:
            both = await asyncio.gather(*(api.messages.create(**question(text, system=SYSTEM)) for text in "ab"))
            after = await api.messages.create(**question("c", system=SYSTEM))
            prompt = {key: value for key, value in question("c", system=SYSTEM).items() if key != "max_tokens"}
            return [*both, after, await api.messages.count_tokens(**prompt)]

    first, beside, after, count = asyncio.run(run())
    written = first.usage.cache_creation_input_tokens
    assert written > 100
    assert (beside.usage.cache_creation_input_tokens, beside.usage.cache_read_input_tokens) == (written, 0)
    assert (after.usage.cache_creation_input_tokens, after.usage.cache_read_input_tokens) == (0, written)
    assert count.input_tokens == after.usage.input_tokens + written


def test_models_tell_what_they_can(server: Loopback) -> None:
    server.reset(models=[*Script().models, model("claude-bare", structured=False, effort=False)])
    with client(server) as api:
        known = api.models.retrieve("claude-haiku-5-5")
        with pytest.raises(anthropic.NotFoundError):
            api.models.retrieve("claude-unknown")
        with pytest.raises(anthropic.NotFoundError):
            api.messages.create(**question(model="claude-unknown"))
        with pytest.raises(anthropic.BadRequestError, match=r"output_config\.format"):
            api.messages.create(**question(model="claude-bare"))
    assert known.capabilities.structured_outputs.supported
    assert known.capabilities.thinking.types.disabled.supported
    assert anthropic.types.ModelInfo.model_validate(known.model_dump()) == known


@pytest.mark.parametrize("status", ERRORS)
def test_each_status_is_the_right_exception(server: Loopback, status: int) -> None:
    """408, 409, 429 and 5xx are tried again; the others are final."""
    server.reset(rule=lambda ask: Reply(f"http_{status}", headers={"retry-after-ms": "1"}))
    with client(server, max_retries=1) as api, pytest.raises(anthropic.APIStatusError) as caught:
        api.messages.create(**question())
    assert type(caught.value).__name__ == f"{EXCEPTIONS[status]}Error"
    assert (caught.value.status_code, caught.value.type) == (status, ERRORS[status])
    assert len(server.messages) == (2 if status in (408, 409, 429) or status >= 500 else 1)


@pytest.mark.parametrize("in_ms", [False, True])
def test_retry_after_is_waited_for(server: Loopback, in_ms: bool) -> None:
    """Left to itself the client asks again after half a second at most."""
    server.reset(queue=["http_529"], retry_after=0.6, retry_after_ms=in_ms)
    with client(server, max_retries=1) as api:
        api.messages.create(**question())
    first, second = (request.at for request in server.messages)
    assert second - first >= 0.6


@pytest.mark.parametrize("fault", ["drop", "drop_body"])
def test_a_lost_connection(server: Loopback, fault: str) -> None:
    server.reset(queue=[fault])
    with client(server) as api:
        with pytest.raises(anthropic.APIConnectionError) as caught:
            api.messages.create(**question())
        api.messages.create(**question())
    assert not isinstance(caught.value, anthropic.APITimeoutError)
    assert server.seen()["outcomes"] == {fault: 1, "ok": 1}
    assert server.seen()["answered"] == {"The soup was cold.": 1}


def test_no_answer_is_a_timeout(server: Loopback) -> None:
    server.reset(queue=["hang"])
    with client(server, timeout=0.1) as api, pytest.raises(anthropic.APITimeoutError):
        api.messages.create(**question())
    deadline = time.monotonic() + 30
    while server.seen()["active"] and time.monotonic() < deadline:
        time.sleep(0.01)
    assert server.seen()["outcomes"] == {"gone": 1}


@pytest.mark.parametrize(
    "fault",
    ["refusal", "max_tokens", "not_json", "missing_field", "unlisted", "wrong_type", "extra_key", "thinking", "empty"],
)
def test_answers_that_are_odd(server: Loopback, fault: str) -> None:
    server.reset(queue=[fault])
    with client(server) as api:
        answer, right = api.messages.create(**question()), values(api.messages.create(**question()))
    assert answer.stop_reason == (fault if fault in ("refusal", "max_tokens") else "end_turn")
    blocks = {"refusal": [], "empty": [], "thinking": ["thinking", "text"]}.get(fault, ["text"])
    assert [block.type for block in answer.content] == blocks
    if fault in ("max_tokens", "not_json"):
        with pytest.raises(ValueError):
            values(answer)
    elif "text" in blocks:
        spoilt = {
            "missing_field": {key: right[key] for key in ("kind", "sure")},
            "unlisted": {**right, "kind": "not_in_the_list"},
            "wrong_type": {**right, "kind": {"nested": []}},
            "extra_key": {**right, "unasked": True},
            "thinking": right,
        }
        assert values(answer) == spoilt[fault]


def test_shares_follow_from_seed_text_and_attempt() -> None:
    script = Script(faults={"http_500": 0.2, "refusal": 0.1})
    asks = [Ask("POST", "/v1/messages", {}, {}, f"review {n}", 1) for n in range(1000)]
    replies = [script.decide(ask) for ask in asks]
    counts = Counter(reply.fault for reply in replies)
    assert replies == [Script(faults=script.faults).decide(ask) for ask in asks]
    assert replies != [Script(faults=script.faults, seed=1).decide(ask) for ask in asks]
    assert 150 < counts["http_500"] < 250
    assert 70 < counts["refusal"] < 130
    with pytest.raises(ValueError, match="no fault is called 'http_999'"):
        Script(faults={"http_999": 1.0})


def test_requests_are_recorded(server: Loopback) -> None:
    server.reset(delay=1.0)

    async def run() -> None:
        async with async_client(server) as api:
            await asyncio.gather(*(api.messages.create(**question(text)) for text in ("x", "x", "y")))

    asyncio.run(run())
    seen = server.seen()
    assert (seen["peak"], seen["texts"], seen["paths"]) == (3, {"x": 2, "y": 1}, {"/v1/messages": 3})
    assert sorted((request.text, request.attempt) for request in server.messages) == [("x", 1), ("x", 2), ("y", 1)]
    assert server.messages[0].body["output_config"]["format"]["schema"] == SCHEMA
    assert server.messages[0].headers["authorization"] == "Bearer k"
    server.reset()
    assert server.requests == []


def test_the_api_refuses_whatever_the_script_says(server: Loopback) -> None:
    """Also where the script's rule raises."""
    open_schema = {"format": {"type": "json_schema", "schema": {"type": "object", "properties": {}}}}
    with client(server) as api:
        for change, message in (
            ({"output_config": open_schema}, "additionalProperties"),
            ({"messages": [{"role": "user", "content": ""}]}, "non-empty"),
            ({"model": "claude-opus-5-5", "thinking": {"type": "disabled"}}, "thinking"),
        ):
            with pytest.raises(anthropic.BadRequestError, match=message):
                api.messages.create(**question(**change))
        with pytest.raises(anthropic.AuthenticationError):
            api.messages.create(**question(), extra_headers={"authorization": anthropic.omit})
        server.reset(rule=lambda ask: ask.body["unknown"])
        with pytest.raises(anthropic.BadRequestError, match="the stand-in failed: KeyError"):
            api.messages.create(**question())
    assert server.seen()["active"] == 0


def test_a_batch_from_creation_to_results(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(loopback_routes, "time", SimpleNamespace(monotonic=lambda: now[0]))
    odd = {"b": "http_500", "c": "expired", "d": "http_400", "e": "refusal", "f": "canceled"}
    server.reset(batch_seconds=2.0, rule=lambda ask: odd.get(ask.text))
    requests = [{"custom_id": f"id-{n}", "params": question(text)} for n, text in enumerate("abcdef")]
    with client(server) as api:
        batch = api.messages.batches.create(requests=requests)
        assert (batch.processing_status, batch.results_url, batch.request_counts.processing) == ("in_progress", None, 6)
        with pytest.raises(anthropic.AnthropicError, match="results_url"):
            api.messages.batches.results(batch.id)
        now[0] += 2.0
        ended = api.messages.batches.retrieve(batch.id)
        results = list(api.messages.batches.results(batch.id))
        alone = api.messages.create(**question("a"))
        again = api.messages.batches.create(requests=requests[:1])
        assert [one.id for one in api.messages.batches.list(limit=1)] == [again.id, batch.id]
        with pytest.raises(anthropic.BadRequestError, match="custom_id"):
            api.messages.batches.create(requests=requests[:1] * 2)
    assert ended.processing_status == "ended"
    counts = {"succeeded": 2, "errored": 2, "expired": 1, "canceled": 1, "processing": 0}
    assert ended.request_counts.model_dump() == counts
    assert [one.custom_id for one in results] != [f"id-{n}" for n in range(6)]
    by_id = {one.custom_id: one.result for one in results}
    assert values(by_id["id-0"].message) == values(alone)
    assert by_id["id-0"].message.usage.service_tier == "batch"
    assert [by_id[f"id-{n}"].error.error.type for n in (1, 3)] == ["api_error", "invalid_request_error"]
    assert (by_id["id-2"].type, by_id["id-4"].message.stop_reason) == ("expired", "refusal")


def test_in_a_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, running: Loopback) -> None:
    """Its functions are found by import there; the module is a small one, so that the process starts at once."""
    (tmp_path / "two_stars.py").write_text("def answers(text, schema):\n    return {'stars': 2}\n")
    monkeypatch.syspath_prepend(tmp_path)
    script = Script(queue=["http_500"], answers=importlib.import_module("two_stars").answers)
    with loopback(script, process=True) as server, client(server, max_retries=1) as api:
        assert values(api.messages.create(**question()))["stars"] == 2
        assert server.seen(requests=False)["outcomes"] == {"http_500": 1, "ok": 1}
        with pytest.raises(ValueError, match="no_fault"):
            server.reset(faults={"no_fault": 1.0})
        server.reset(faults={"refusal": 1.0}, queue=[])
        assert server.requests == []
        assert api.messages.create(**question()).stop_reason == "refusal"
