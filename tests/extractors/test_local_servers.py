"""Servers of the Messages API that have little else: no key, no list of models, no batches, no token counts, no usage."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from asking import Kitchen, restaurants
from formulaseed.llm.calls import ModelCapabilities
from helpers import TASKS, command

pytest.importorskip("anthropic", reason="asking a model needs anthropic")
ANSWERS = ['{"mood": "good"}', '```json\n{"mood": "good"}\n```']


class LocalServer(ThreadingHTTPServer):
    """A server that refuses the keys of requests in `refused`, and answers everything else with `text`."""

    def __init__(self, refused: tuple[str, ...] = (), text: str = ANSWERS[0]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.refused, self.text = refused, text
        self.seen: list[tuple[str, int]] = []
        self.bodies: list[dict[str, Any]] = []

    def handle_error(self, *_: object) -> None:
        """Say nothing: clients may go away."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: LocalServer

    def do_GET(self) -> None:
        self.answer(404, {"error": "not found"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path.split("?")[0] != "/v1/messages":
            return self.answer(404, {"error": "not found"})
        self.server.bodies.append(body)
        wrong = next((word for word in self.server.refused if word in json.dumps(body)), None)
        if wrong is not None:
            return self.answer(400, {"type": "error", "error": {"message": f"{wrong}: extra inputs are not permitted"}})
        message = {"type": "message", "id": "m", "model": "qwen3", "role": "assistant", "stop_reason": "end_turn"}
        content = [{"type": "text", "text": self.server.text}]
        if body.get("stream"):
            return self.stream({**message, "content": []})
        return self.answer(200, {**message, "content": content})

    def stream(self, message: dict[str, Any]) -> None:
        """Answer with server-sent events, without a usage."""
        events = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": self.server.text}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
            {"type": "message_stop"},
        ]
        text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        self.send_data(200, "text/event-stream", text.encode())

    def answer(self, status: int, value: object) -> None:
        self.send_data(status, "application/json", json.dumps(value).encode())

    def send_data(self, status: int, kind: str, data: bytes) -> None:
        self.server.seen.append((self.path.split("?")[0], status))
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def local(request: pytest.FixtureRequest) -> Iterator[LocalServer]:
    with LocalServer(*getattr(request, "param", ())) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def run(kitchen: Kitchen, server: LocalServer, *options: object) -> Any:
    return kitchen.run("--model", "qwen3", *options, ANTHROPIC_API_KEY="", ANTHROPIC_BASE_URL=server.url)


@pytest.mark.parametrize(
    "local", [(), (("output_config",),), (("output_config", "cache_control"), ANSWERS[1])], indirect=True
)
@pytest.mark.thorough
def test_what_a_server_lacks_is_replaced_and_remembered(kitchen: Kitchen, local: LocalServer) -> None:
    """One refused call for each feature that it lacks, once; no key, no cost; the schema is in the prompt."""
    kitchen.prepare(restaurants(2, 3))
    run(kitchen, local).expect(0, "6 extracted (anthropic, qwen3)", "paid $0.0000 for")
    refused = [status for path, status in local.seen if path == "/v1/messages" and status == 400]
    # without output_config neither the schema nor the effort can be stated
    assert len(refused) == 2 * ("output_config" in local.refused) + ("cache_control" in local.refused)
    assert "Answer with one JSON object of this schema" in json.dumps(local.bodies[-1]["system"])
    local.seen.clear()
    kitchen.prepare(restaurants(3, 3))
    run(kitchen, local).expect(0, "the store saved 6 calls")
    assert local.seen == [("/v1/messages", 200)] * 3


@pytest.mark.parametrize("local", [(("max_tokens",),)], indirect=True)
def test_another_refusal_is_an_error_in_the_words_of_the_server(kitchen: Kitchen, local: LocalServer) -> None:
    kitchen.prepare(restaurants(1, 1))
    run(kitchen, local).expect(3, "max_tokens: extra inputs are not permitted")


@pytest.mark.parametrize("local", [((), "I think it was good.")], indirect=True)
def test_an_answer_that_is_no_json_is_no_value(kitchen: Kitchen, local: LocalServer) -> None:
    kitchen.prepare(restaurants(1, 1))
    run(kitchen, local).expect(3, "the answer is not JSON")


def test_without_batches_each_review_is_a_call(kitchen: Kitchen, local: LocalServer) -> None:
    """The server is tried for batches once."""
    for count in (1, 2):
        kitchen.prepare(restaurants(count, 2))
        line = "the server has no batches: each review is asked about in a call of its own"
        run(kitchen, local, "--batch").expect(0, line)
    assert [path for path, _ in local.seen].count("/v1/messages/batches") == 1


@pytest.mark.thorough
def test_extract_cascade_and_an_estimate_work_too(kitchen: Kitchen, local: LocalServer) -> None:
    kitchen.prepare(restaurants(2, 3))
    assert "calls to make: 6" in run(kitchen, local, "--dry-run").expect(0).out
    run(kitchen, local, "--extractor", "cascade").expect(0, "6 extracted (cascade, qwen3)")


@pytest.mark.parametrize("local", [(("output_config", "cache_control"), ANSWERS[1])], indirect=True)
def test_a_draft_is_asked_for_too(local: LocalServer, tmp_path: Path) -> None:
    """What does not match the schema of the step is said; the call got as far as that."""
    environment = {"ANTHROPIC_BASE_URL": local.url, "ANTHROPIC_API_KEY": ""}
    task = Path(shutil.copy(TASKS / "g1a_v2" / "task.md", tmp_path))
    done = command("draft", task, "--out", tmp_path / "seed.json", "--model", "qwen3", env=environment, cwd=tmp_path)
    assert (done.status, "step 01-conditions: " in done.err) == (1, True), done.err
    assert [status for _, status in local.seen if status == 200] != []


def test_only_features_that_a_message_names_are_left_out() -> None:
    every = ModelCapabilities()
    assert every.without_refused("max_tokens: too large") is None
    assert every.without_refused("effort: unknown") == ModelCapabilities(effort=False)
    assert every.without_refused("output_config: unknown") == ModelCapabilities(structured=False)
    assert ModelCapabilities(structured=False).without_refused("output_config: unknown") == ModelCapabilities(
        structured=False, effort=False
    )
