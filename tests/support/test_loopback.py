"""The stand-in for Anthropic's API, seen through the real SDK: what each script looks like from a client."""

from __future__ import annotations

import asyncio
import importlib
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import loopback_routes
import pytest
from helpers import needs
from loopback import Loopback, loopback
from loopback_routes import BATCHES
from loopback_script import ERRORS, Ask, Reply, Script, model

pytestmark = pytest.mark.thorough

needs("anthropic", "llm")

SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["kind", "sure", "stars"],
    "properties": {
        "kind": {"type": "string", "enum": ["mild", "severe", "none"]},
        "sure": {"type": "boolean"},
        "stars": {"type": "integer", "minimum": 1, "maximum": 5},
    },
}
SYSTEM = [{"type": "text", "text": "Read the review. " * 40, "cache_control": {"type": "ephemeral"}}]


def asked(text: str = "The soup was cold.", **more: Any) -> dict[str, Any]:
    """Parameters of a message as an extraction asks it."""
    output = {"format": {"type": "json_schema", "schema": SCHEMA}}
    user = [{"role": "user", "content": text}]
    return {"model": "claude-haiku-5-5", "max_tokens": 200, "messages": user, "output_config": output, **more}


def client(server: Loopback, **more: Any) -> Any:
    """A client without retries, and without reading certificates, which takes 50 ms."""
    plain = anthropic.DefaultHttpxClient(verify=False)
    return anthropic.Anthropic(base_url=server.url, api_key="k", http_client=plain, **{"max_retries": 0, **more})


def async_client(server: Loopback, **more: Any) -> Any:
    plain = anthropic.DefaultAsyncHttpxClient(verify=False)
    return anthropic.AsyncAnthropic(base_url=server.url, api_key="k", http_client=plain, **more)


def values(answer: Any) -> dict[str, Any]:
    return json.loads(next(block.text for block in answer.content if block.type == "text"))  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def running() -> Iterator[Loopback]:
    with loopback() as server:
        yield server


@pytest.fixture(scope="module", autouse=True)
def _sdk() -> None:
    """Import the package when the first test runs: it takes a second."""
    global anthropic
    import anthropic


@pytest.fixture
def server(running: Loopback) -> Loopback:
    """A server of the module's, with a fresh script for each test."""
    changes = {"delay": 0.0, "event_delay": 0.0, "faults": {}, "queue": (), "rule": None, "answers": None, "rate": None}
    running.reset(**changes, retry_after=None, retry_after_ms=False, batch_seconds=0.0, cancel_seconds=0.0)
    return running


class Clock:
    """A clock that a test moves, for the server's batches and rate."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(loopback_routes, "time", clock)
    return clock


def test_an_answer_fits_the_schema_and_follows_from_the_text_alone(server: Loopback) -> None:
    with client(server) as api:
        first, again = api.messages.create(**asked()), api.messages.create(**asked())
        others = {json.dumps(values(api.messages.create(**asked(f"Review {n}")))) for n in range(12)}
    assert values(first) == values(again)
    assert first.stop_reason == "end_turn"
    assert first._request_id.startswith("req_")
    assert set(values(first)) == {"kind", "sure", "stars"}
    assert values(first)["kind"] in ("mild", "severe", "none")
    assert 1 <= values(first)["stars"] <= 5
    assert len(others) > 6
    assert anthropic.types.Message.model_validate(first.model_dump()) == first


def test_a_script_can_give_the_values(server: Loopback) -> None:
    server.reset(answers=lambda text, schema: {"kind": "severe" if "cold" in text else "none"})
    with client(server) as api:
        assert [values(api.messages.create(**asked(text)))["kind"] for text in ("cold", "hot")] == ["severe", "none"]


def test_text_without_a_schema(server: Loopback) -> None:
    with client(server) as api:
        answer = api.messages.create(
            model="claude-sonnet-5-5", max_tokens=9, messages=[{"role": "user", "content": "Hi 👋"}]
        )
    assert answer.content[0].text == "Understood: Hi."


@pytest.mark.parametrize("fault", ["", "thinking", "max_tokens"])
def test_a_stream_adds_up_to_the_message(server: Loopback, fault: str) -> None:
    server.reset(rule=lambda ask: fault, event_delay=0.001)
    with client(server) as api:
        whole = api.messages.create(**asked("streamed"))
        with api.messages.stream(**asked("streamed")) as stream:
            pieces = list(stream.text_stream)
            final = stream.get_final_message()
    assert len(pieces) > 1 or fault == "max_tokens"
    assert [block.model_dump(exclude={"parsed_output"}) for block in final.content] == [
        b.model_dump() for b in whole.content
    ]
    assert (final.stop_reason, final.usage.output_tokens) == (whole.stop_reason, whole.usage.output_tokens)


def test_usage_counts_the_prefix_as_written_then_as_read(server: Loopback) -> None:
    """A prefix is readable for requests that arrive after a first answer, not for those beside it."""
    server.reset(delay=1.0)

    async def run() -> list[Any]:
        async with async_client(server) as api:
            both = await asyncio.gather(*(api.messages.create(**asked(text, system=SYSTEM)) for text in "ab"))
            after = await api.messages.create(**asked("c", system=SYSTEM))
            count = await api.messages.count_tokens(
                **{key: one for key, one in asked("c", system=SYSTEM).items() if key != "max_tokens"}
            )
            return [*both, after, count]

    first, beside, after, count = asyncio.run(run())
    written = first.usage.cache_creation_input_tokens
    assert written > 100
    assert (beside.usage.cache_creation_input_tokens, beside.usage.cache_read_input_tokens) == (written, 0)
    assert (after.usage.cache_creation_input_tokens, after.usage.cache_read_input_tokens) == (0, written)
    assert count.input_tokens == after.usage.input_tokens + written


def test_models_tell_what_they_can(server: Loopback) -> None:
    bare = model("claude-bare", structured=False, thinking=(), effort=False, batch=False)
    with client(server) as api:
        known = list(api.models.list(limit=2))
        one = api.models.retrieve("claude-haiku-5-5")
        with pytest.raises(anthropic.NotFoundError):
            api.models.retrieve("claude-unknown")
        with pytest.raises(anthropic.NotFoundError):
            api.messages.create(**asked(model="claude-unknown"))
        server.reset(models=[*Script().models, bare])
        with pytest.raises(anthropic.BadRequestError, match=r"output_config\.format"):
            api.messages.create(**asked(model="claude-bare"))
    assert [found.id for found in known] == [found["id"] for found in Script().models]
    assert one.capabilities.structured_outputs.supported
    assert one.capabilities.thinking.types.disabled.supported
    assert anthropic.types.ModelInfo.model_validate(one.model_dump()) == one


@pytest.mark.parametrize("status", ERRORS)
def test_each_status_is_the_right_exception(server: Loopback, status: int) -> None:
    classes = {
        400: anthropic.BadRequestError,
        401: anthropic.AuthenticationError,
        402: anthropic.PaymentRequiredError,
        403: anthropic.PermissionDeniedError,
        404: anthropic.NotFoundError,
        408: anthropic.RequestTimeoutError,
        409: anthropic.ConflictError,
        413: anthropic.ContentTooLargeError,
        429: anthropic.RateLimitError,
        500: anthropic.InternalServerError,
        503: anthropic.ServiceUnavailableError,
        504: anthropic.GatewayTimeoutError,
        529: anthropic.OverloadedError,
    }
    server.reset(queue=[f"http_{status}"])
    with client(server) as api, pytest.raises(classes[status]) as caught:
        api.messages.create(**asked())
    assert type(caught.value) is classes[status]
    assert caught.value.status_code == status
    assert caught.value.type == ERRORS[status]
    assert caught.value.request_id.startswith("req_")


@pytest.mark.parametrize("status", ERRORS)
def test_which_statuses_the_sdk_retries(server: Loopback, status: int) -> None:
    """408, 409, 429 and 5xx are tried again; the others are final."""
    server.reset(rule=lambda ask: Reply(f"http_{status}", headers={"retry-after-ms": "1"}) if ask.attempt < 3 else None)
    with client(server, max_retries=2) as api:
        if status in (408, 409, 429) or status >= 500:
            api.messages.create(**asked())
        else:
            with pytest.raises(anthropic.APIStatusError):
                api.messages.create(**asked())
    counts = [one.headers["x-stainless-retry-count"] for one in server.messages]
    assert counts == (["0", "1", "2"] if status in (408, 409, 429) or status >= 500 else ["0"])


@pytest.mark.parametrize("in_ms", [False, True])
@pytest.mark.parametrize("fault", ["http_429", "http_529"])
def test_retry_after_is_waited_for(server: Loopback, fault: str, in_ms: bool) -> None:
    """Left to itself the client asks again after half a second at most."""
    server.reset(queue=[fault], retry_after=0.6, retry_after_ms=in_ms)
    with client(server, max_retries=1) as api:
        api.messages.create(**asked())
    first, second = (one.at for one in server.messages)
    assert second - first >= 0.6


@pytest.mark.parametrize("fault", ["drop", "drop_body"])
def test_a_lost_connection(server: Loopback, fault: str) -> None:
    server.reset(queue=[fault])
    with client(server) as api:
        with pytest.raises(anthropic.APIConnectionError) as caught:
            api.messages.create(**asked())
        api.messages.create(**asked())
    assert not isinstance(caught.value, anthropic.APITimeoutError)
    assert server.seen()["outcomes"] == {fault: 1, "ok": 1}
    assert server.seen()["answered"] == {"The soup was cold.": 1}


def test_no_answer_is_a_timeout(server: Loopback) -> None:
    server.reset(queue=["hang"])
    with client(server, timeout=0.1) as api, pytest.raises(anthropic.APITimeoutError):
        api.messages.create(**asked())
    deadline = time.monotonic() + 30
    while server.seen()["active"] and time.monotonic() < deadline:
        time.sleep(0.01)
    assert server.seen()["outcomes"] == {"gone": 1}


def test_a_timeout_is_between_bytes_and_for_each_attempt(server: Loopback) -> None:
    """A slow stream outlives it; a silent server is asked again, each time for as long."""
    server.reset(queue=["", "hang", "hang"], event_delay=0.2)
    with client(server, timeout=1.0, max_retries=1) as api:
        began = time.monotonic()
        with api.messages.stream(**asked()) as stream:
            stream.until_done()
        assert time.monotonic() - began > 1.0
        with pytest.raises(anthropic.APITimeoutError):
            api.messages.create(**asked())
    assert [one.headers["x-stainless-retry-count"] for one in server.messages] == ["0", "0", "1"]


def test_middleware_sees_every_attempt(server: Loopback) -> None:
    """Once per attempt inside the retries: statuses as responses, lost connections as exceptions."""
    seen: list[tuple[int, object]] = []

    class Meter(anthropic.Middleware):  # type: ignore[name-defined,misc]
        async def handle_async(self, request: Any, call_next: Any) -> Any:
            try:
                response = await call_next(request)
            except anthropic.APIConnectionError as failure:
                seen.append((request.retries_taken, type(failure)))
                raise
            seen.append((request.retries_taken, response.status_code))
            return response

    async def run() -> Any:
        async with async_client(server, middleware=[Meter()], max_retries=3) as api:
            return await api.messages.create(**asked())

    quick = Reply("http_500", headers={"retry-after-ms": "1"})
    server.reset(queue=["drop", quick, "http_429"], retry_after=0.01)
    assert asyncio.run(run()).stop_reason == "end_turn"
    assert seen == [(0, anthropic.APIConnectionError), (1, 500), (2, 429), (3, 200)]


def test_a_stream_that_breaks(server: Loopback) -> None:
    """An error event is the SDK's exception; a lost connection is one of httpx2, which nothing retries."""
    import httpx2

    server.reset(queue=["stream_error", "drop_body"])
    with client(server, max_retries=2) as api:
        with pytest.raises(anthropic.APIStatusError, match="overloaded"), api.messages.stream(**asked()) as stream:
            stream.until_done()
        with pytest.raises(httpx2.RemoteProtocolError), api.messages.stream(**asked()) as stream:
            stream.until_done()
    assert len(server.messages) == 2


@pytest.mark.parametrize(
    "fault",
    ["refusal", "max_tokens", "not_json", "missing_field", "unlisted", "wrong_type", "extra_key", "thinking", "empty"],
)
def test_answers_that_are_odd(server: Loopback, fault: str) -> None:
    server.reset(queue=[fault])
    with client(server) as api:
        answer, right = api.messages.create(**asked()), api.messages.create(**asked())
    text = "".join(block.text for block in answer.content if block.type == "text")
    whole = values(right)
    if fault == "refusal":
        assert (answer.stop_reason, answer.stop_details.type, answer.content) == ("refusal", "refusal", [])
    elif fault == "empty":
        assert (answer.stop_reason, answer.content) == ("end_turn", [])
    elif fault in ("max_tokens", "not_json"):
        assert answer.stop_reason == ("max_tokens" if fault == "max_tokens" else "end_turn")
        with pytest.raises(ValueError):
            json.loads(text)
    elif fault == "thinking":
        assert [block.type for block in answer.content] == ["thinking", "text"]
        assert json.loads(text) == whole
    else:
        spoilt = {
            "missing_field": {key: whole[key] for key in ("kind", "sure")},
            "unlisted": {**whole, "kind": "not_in_the_list"},
            "wrong_type": {**whole, "kind": {"nested": []}},
            "extra_key": {**whole, "unasked": True},
        }
        assert json.loads(text) == spoilt[fault]


def test_a_reply_of_ones_own(server: Loopback) -> None:
    replies = [Reply(values={"stars": 4}), Reply(text="{}"), Reply(stop_reason="pause_turn"), Reply(delay=0.1)]
    server.reset(queue=replies)
    with client(server) as api:
        four, empty, paused = (api.messages.create(**asked()) for _ in range(3))
        began = time.monotonic()
        api.messages.create(**asked())
    assert time.monotonic() - began >= 0.1
    assert (values(four)["stars"], values(empty), paused.stop_reason) == (4, {}, "pause_turn")


def test_shares_follow_from_seed_text_and_attempt() -> None:
    script = Script(faults={"http_500": 0.2, "refusal": 0.1})
    asks = [Ask("POST", "/v1/messages", {}, {}, f"review {n}", 1) for n in range(1000)]
    found = Counter(script.decide(ask).fault for ask in asks)
    assert [script.decide(ask) for ask in asks] == [Script(faults=script.faults).decide(ask) for ask in asks]
    assert [script.decide(ask) for ask in asks] != [Script(faults=script.faults, seed=1).decide(ask) for ask in asks]
    assert 150 < found["http_500"] < 250
    assert 70 < found["refusal"] < 130
    with pytest.raises(ValueError, match="no fault is called 'http_999'"):
        Script(faults={"http_999": 1.0})


def test_a_limit_of_requests_a_second(server: Loopback, clock: Clock) -> None:
    server.reset(rate=50.0, burst=5)

    async def run() -> list[Any]:
        async with async_client(server, max_retries=0) as api:
            calls = (api.messages.create(**asked(f"r{n}")) for n in range(20))
            return await asyncio.gather(*calls, return_exceptions=True)

    for passed, ok in ((0.0, 5), (0.07, 3), (10.0, 5)):
        clock.now += passed
        refused = [type(found) for found in asyncio.run(run()) if isinstance(found, Exception)]
        assert refused == [anthropic.RateLimitError] * (20 - ok)
    assert server.seen()["outcomes"] == {"ok": 13, "http_429": 47}


def test_what_was_asked_is_recorded(server: Loopback) -> None:
    server.reset(delay=1.0)

    async def run() -> None:
        async with async_client(server) as api:
            await asyncio.gather(*(api.messages.create(**asked(text)) for text in ("x", "x", "y")))

    asyncio.run(run())
    seen = server.seen()
    assert (seen["peak"], seen["texts"], seen["paths"]) == (3, {"x": 2, "y": 1}, {"/v1/messages": 3})
    assert sorted((one.text, one.attempt) for one in server.messages) == [("x", 1), ("x", 2), ("y", 1)]
    assert server.messages[0].body["output_config"]["format"]["schema"] == SCHEMA
    assert server.messages[0].headers["authorization"] == "Bearer k"
    server.reset()
    assert server.requests == []


def test_what_the_api_refuses_whatever_the_script_says(server: Loopback) -> None:
    open_schema = {"format": {"type": "json_schema", "schema": {"type": "object", "properties": {}}}}
    with client(server) as api:
        for change in ({"output_config": open_schema}, {"messages": [{"role": "user", "content": ""}]}):
            with pytest.raises(anthropic.BadRequestError):
                api.messages.create(**asked(**change))
        with pytest.raises(anthropic.BadRequestError, match="thinking"):
            api.messages.create(**asked(model="claude-opus-5-5", thinking={"type": "disabled"}))
        with pytest.raises(anthropic.AuthenticationError):
            api.messages.create(**asked(), extra_headers={"authorization": anthropic.omit})


def test_a_rule_that_raises_is_seen_by_the_client(server: Loopback) -> None:
    server.reset(rule=lambda ask: ask.body["unknown"])
    with client(server) as api, pytest.raises(anthropic.BadRequestError, match="the stand-in failed: KeyError"):
        api.messages.create(**asked())
    assert server.seen()["active"] == 0


def in_batch(*texts: str) -> list[dict[str, Any]]:
    return [{"custom_id": f"id-{n}", "params": asked(text)} for n, text in enumerate(texts)]


def test_a_batch_from_creation_to_results(server: Loopback, clock: Clock) -> None:
    odd = {"b": "http_500", "c": "expired", "d": "http_400", "e": "refusal", "f": "canceled"}
    server.reset(batch_seconds=2.0, rule=lambda ask: odd.get(ask.text))
    with client(server) as api:
        batch = api.messages.batches.create(requests=in_batch(*"abcdef"))
        assert (batch.processing_status, batch.results_url, batch.request_counts.processing) == ("in_progress", None, 6)
        with pytest.raises(anthropic.AnthropicError, match="results_url"):
            api.messages.batches.results(batch.id)
        clock.now += 2.0
        ended = api.messages.batches.retrieve(batch.id)
        results = list(api.messages.batches.results(batch.id))
        alone = api.messages.create(**asked("a"))
        assert next(one.id for one in api.messages.batches.list(limit=1)) == batch.id
        api.messages.batches.delete(batch.id)
        with pytest.raises(anthropic.NotFoundError):
            api.messages.batches.retrieve(batch.id)
    assert ended.processing_status == "ended"
    counts = {"succeeded": 2, "errored": 2, "expired": 1, "canceled": 1, "processing": 0}
    assert ended.request_counts.model_dump() == counts
    assert [one.custom_id for one in results] != [f"id-{n}" for n in range(6)]
    by_id = {one.custom_id: one.result for one in results}
    assert values(by_id["id-0"].message) == values(alone)
    assert by_id["id-0"].message.usage.service_tier == "batch"
    assert [by_id[f"id-{n}"].error.error.type for n in (1, 3)] == ["api_error", "invalid_request_error"]
    assert by_id["id-2"].type == "expired"
    assert by_id["id-4"].message.stop_reason == "refusal"


def test_a_batch_that_is_canceled(server: Loopback, clock: Clock) -> None:
    server.reset(batch_seconds=4.0, cancel_seconds=1.0)
    with client(server) as api:
        batch = api.messages.batches.create(requests=in_batch(*(f"t{n}" for n in range(40))))
        clock.now += 1.0
        assert api.messages.batches.cancel(batch.id).processing_status == "canceling"
        assert api.messages.batches.retrieve(batch.id).processing_status == "canceling"
        clock.now += 1.0
        ended = api.messages.batches.retrieve(batch.id)
        kinds = Counter(one.result.type for one in api.messages.batches.results(batch.id))
    assert ended.processing_status == "ended"
    assert kinds["succeeded"] > 0
    assert kinds["canceled"] > 0
    assert kinds["succeeded"] + kinds["canceled"] == 40


def test_limits_of_a_batch(server: Loopback) -> None:
    server.reset(max_batch_requests=2, max_batch_bytes=3000)
    with client(server) as api:
        api.messages.batches.create(requests=in_batch("a", "b"))
        with pytest.raises(anthropic.BadRequestError, match="requests"):
            api.messages.batches.create(requests=in_batch("a", "b", "c"))
        with pytest.raises(anthropic.ContentTooLargeError):
            api.messages.batches.create(requests=in_batch("a" * 3000))
        with pytest.raises(anthropic.BadRequestError, match="custom_id"):
            api.messages.batches.create(requests=in_batch("a") * 2)
    server.reset(max_batch_requests=100_000, max_batch_bytes=10**9)


def test_a_batch_created_though_its_answer_is_lost(server: Loopback) -> None:
    """The SDK tries again and nothing tells the server that it is the same: two batches."""
    posts = iter(["drop"])
    server.reset(rule=lambda ask: next(posts, None) if (ask.method, ask.path) == ("POST", BATCHES) else None)
    with client(server, max_retries=1) as api:
        before = len(list(api.messages.batches.list(limit=100)))
        api.messages.batches.create(requests=in_batch("a"))
        assert len(list(api.messages.batches.list(limit=100))) == before + 2


def test_in_a_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its functions are found by import there; the module is a small one, so that the process starts at once."""
    (tmp_path / "two_stars.py").write_text("def answers(text, schema):\n    return {'stars': 2}\n")
    monkeypatch.syspath_prepend(tmp_path)
    script = Script(queue=["http_500"], answers=importlib.import_module("two_stars").answers)
    with loopback(script, process=True) as server, client(server, max_retries=1) as api:
        assert values(api.messages.create(**asked()))["stars"] == 2
        assert server.seen(requests=False)["outcomes"] == {"http_500": 1, "ok": 1}
        with pytest.raises(ValueError, match="no_fault"):
            server.reset(faults={"no_fault": 1.0})
        server.reset(faults={"refusal": 1.0}, queue=[])
        assert server.requests == []
        assert api.messages.create(**asked()).stop_reason == "refusal"


def test_from_the_command_line() -> None:
    command = [
        sys.executable,
        str(Path(__file__).parent / "loopback.py"),
        "--delay",
        "0.05",
        "--faults",
        '{"refusal": 1.0}',
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        try:
            with client(Loopback(child.stdout.readline().strip())) as api:
                assert api.messages.create(**asked()).stop_reason == "refusal"
        finally:
            child.terminate()
