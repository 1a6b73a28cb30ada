"""A stand-in for Anthropic's API on loopback: real HTTP, scripted answers, and a record of what was asked.

`with loopback(Script(...)) as server:` serves from a thread, `loopback(script, process=True)` from a process of its own
(the script is pickled: its functions must be found by import), `python tests/loopback.py --delay 0.2` until it is
stopped; the first line it prints is its URL. Each answers `GET /_seen` and `POST /_reset` besides the API.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import os
import pickle
import re
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from urllib.parse import parse_qs

from loopback_script import (
    LOST,
    MESSAGES,
    STREAMED,
    Ask,
    Json,
    Reply,
    Script,
    as_reply,
    cached_prefix,
    error,
    events,
    message,
    problem,
    prompt_tokens,
    share,
    user_text,
)

BATCHES = f"{MESSAGES}/batches"


@dataclass(frozen=True)
class Recorded:
    """One request as it arrived: `at` in seconds since the start or the last reset, `active` with itself in flight."""

    at: float
    method: str
    path: str
    headers: dict[str, str]
    body: Json
    text: str
    attempt: int
    active: int


@dataclass
class Batch:
    name: str
    requests: list[Json]
    created: datetime
    began: float
    ends: float
    canceled: float | None = None
    lines: list[bytes] | None = None
    counts: Counter[str] = field(default_factory=Counter)


class State:
    """The server's memory, and what each route answers as (status, JSON or bytes)."""

    def __init__(self, script: Script) -> None:
        self.batches: dict[str, Batch] = {}
        self.url = ""
        self.connections: set[Connection] = set()
        self.active = 0
        self.ids = 0
        self.reset(script)

    def reset(self, script: Script) -> None:
        """Forget what was seen, the cache and the counts of attempts; batches stay."""
        self.script = script
        self.queue = deque(script.queue)
        self.models = {one["id"]: one for one in script.models}
        self.requests: list[Recorded] = []
        self.attempts: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()
        self.paths: Counter[str] = Counter()
        self.cached: set[str] = set()
        self.peak, self.opened = self.active, len(self.connections)
        self.start = self.filled = time.monotonic()
        self.bucket = script.burst

    def seen(self, whole: bool) -> Json:
        totals = {"texts": self.attempts, "answered": self.answered, "outcomes": self.outcomes, "paths": self.paths}
        requests = [asdict(one) for one in self.requests] if whole else []
        return {"requests": requests, "peak": self.peak, "active": self.active, "connections": self.opened, **totals}

    def ask(self, method: str, path: str, headers: dict[str, str], body: Json, batch: bool = False) -> Ask:
        text = user_text(body) if path == MESSAGES else ""
        if not text:
            return Ask(method, path, headers, body, "", 0, batch)
        self.attempts[text] += 1
        cached = f"{body.get('model')}\0{cached_prefix(body)}" in self.cached
        return Ask(method, path, headers, body, text, self.attempts[text], batch, cached)

    def decide(self, ask: Ask) -> Reply:
        if ask.path == MESSAGES and self.script.rate is not None and not ask.batch and not self.admitted():
            return Reply("http_429", delay=0.0)
        if ask.path == MESSAGES and self.queue:
            return as_reply(self.queue.popleft())
        return self.script.decide(ask)

    def admitted(self) -> bool:
        """Take a token of the bucket, if there is one."""
        now = time.monotonic()
        self.bucket = min(self.script.burst, self.bucket + (now - self.filled) * (self.script.rate or 0.0))
        self.filled = now
        if self.bucket < 1:
            return False
        self.bucket -= 1
        return True

    def message(self, ask: Ask, reply: Reply) -> Json:
        self.cached.add(f"{ask.body['model']}\0{cached_prefix(ask.body)}")
        return message(self.script, ask, reply)

    def answer(self, ask: Ask, reply: Reply, query: str, size: int) -> tuple[int, Json]:
        """Status, and a JSON value, the lines of a JSONL file, or an `error`."""
        if not ask.headers.get("x-api-key") and not ask.headers.get("authorization"):
            return 401, "x-api-key header is required"
        if reply.status != 200:
            return reply.status, f"scripted {reply.fault}"
        if ask.path == BATCHES:
            return self.create_batch(ask.body, size) if ask.method == "POST" else self.list_batches(query)
        if ask.path.startswith(f"{BATCHES}/"):
            return self.batch(ask)
        if ask.path.startswith("/v1/models"):
            name = ask.path[len("/v1/models/") :]
            if not name:
                return 200, page(list(self.models.values()), query)
            return (200, self.models[name]) if name in self.models else (404, f"model: {name}")
        if ask.method != "POST" or ask.path not in (MESSAGES, f"{MESSAGES}/count_tokens"):
            return 404, "Not found"
        if size > self.script.max_body_bytes:
            return 413, "Request exceeds the maximum size"
        counted = ask.path != MESSAGES
        found = problem(
            {"max_tokens": 1, **ask.body} if counted and isinstance(ask.body, dict) else ask.body, self.models
        )
        if found is not None:
            return found
        if counted:
            return 200, {"input_tokens": prompt_tokens(ask.body)}
        return 200, self.message(ask, reply)

    def create_batch(self, body: Json, size: int) -> tuple[int, Json]:
        requests = body.get("requests") if isinstance(body, dict) else None
        if size > self.script.max_batch_bytes:
            return 413, "Request exceeds the maximum size"
        if not requests or len(requests) > self.script.max_batch_requests:
            return 400, f"requests: between 1 and {self.script.max_batch_requests} items"
        names = [str(one.get("custom_id")) for one in requests]
        if len(set(names)) < len(names) or not all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names):
            return 400, "requests: custom_id must be unique and match ^[a-zA-Z0-9_-]{1,64}$"
        now = time.monotonic()
        name = f"msgbatch_{len(self.batches) + 1:08d}"
        self.batches[name] = Batch(name, requests, datetime.now(UTC), now, now + self.script.batch_seconds)
        return 200, self.described(self.batches[name])

    def list_batches(self, query: str) -> tuple[int, Json]:
        return 200, page([self.described(one) for one in reversed(self.batches.values())], query)

    def batch(self, ask: Ask) -> tuple[int, Json]:
        name, _, action = ask.path[len(BATCHES) + 1 :].partition("/")
        found = self.batches.get(name)
        if found is None or (ask.method, action) not in (
            ("GET", ""),
            ("GET", "results"),
            ("POST", "cancel"),
            ("DELETE", ""),
        ):
            return 404, f"no batch: {name}"
        now = time.monotonic()
        if action == "cancel" and found.canceled is None and now < found.ends:
            found.canceled, found.ends = now, now + self.script.cancel_seconds
            return 200, {
                **self.described(found),
                "processing_status": "canceling",
                "results_url": None,
                "ended_at": None,
            }
        whole = self.described(found)
        if action == "results":
            return (200, found.lines) if found.lines is not None else (404, "the batch has not ended")
        if ask.method == "DELETE":
            if found.lines is None:
                return 400, "a batch cannot be deleted before it has ended"
            del self.batches[name]
            return 200, {"id": name, "type": "message_batch_deleted"}
        return 200, whole

    def described(self, batch: Batch) -> Json:
        """The batch as the API shows it; its requests are processed at the first look after its end."""
        ended = time.monotonic() >= batch.ends
        if ended and batch.lines is None:
            batch.lines = self.processed(batch)
        counts = {kind: batch.counts[kind] for kind in ("succeeded", "errored", "canceled", "expired")}
        moments = {
            "created_at": batch.created,
            "expires_at": batch.created + timedelta(hours=24),
            "ended_at": batch.created + timedelta(seconds=batch.ends - batch.began) if ended else None,
            "cancel_initiated_at": batch.canceled and batch.created + timedelta(seconds=batch.canceled - batch.began),
            "archived_at": None,
        }
        return {
            "id": batch.name,
            "type": "message_batch",
            "processing_status": "ended" if ended else "canceling" if batch.canceled else "in_progress",
            "request_counts": {"processing": 0 if ended else len(batch.requests), **counts},
            "results_url": f"{self.url}{BATCHES}/{batch.name}/results" if ended else None,
            **{key: moment and moment.isoformat() for key, moment in moments.items()},
        }

    def processed(self, batch: Batch) -> list[bytes]:
        lines = []
        done = 1.0
        if batch.canceled is not None:
            done = (batch.canceled - batch.began) / max(self.script.batch_seconds, 1e-9)
        for one in batch.requests:
            ask = self.ask("POST", MESSAGES, {}, one["params"], batch=True)
            reply = self.decide(ask)
            found = problem(ask.body, self.models)
            result: Json = {"type": reply.fault}
            if share(self.script.seed, "done", one["custom_id"]) >= done:
                result = {"type": "canceled"}
            elif found is not None or reply.status != 200:
                status, words = found or (reply.status, f"scripted {reply.fault}")
                result = {"type": "errored", "error": error(status, words)}
            elif reply.fault in LOST:
                result = {"type": "expired"}
            elif reply.fault not in ("expired", "canceled"):
                result = {"type": "succeeded", "message": self.message(ask, reply)}
                self.answered[ask.text] += 1
            batch.counts[result["type"]] += 1
            lines.append(json.dumps({"custom_id": one["custom_id"], "result": result}).encode() + b"\n")
        order = lines.copy()
        Random(self.script.seed).shuffle(lines)
        return lines if lines != order else lines[::-1]


def page(whole: list[Json], query: str) -> Json:
    asked = {key: values[0] for key, values in parse_qs(query).items()}
    names = [one["id"] for one in whole]
    limit = int(asked.get("limit", 20))
    if "before_id" in asked:
        end = names.index(asked["before_id"])
        part, more = whole[max(0, end - limit) : end], end > limit
    else:
        begin = names.index(asked["after_id"]) + 1 if "after_id" in asked else 0
        part, more = whole[begin : begin + limit], begin + limit < len(whole)
    ends = {"first_id": part[0]["id"], "last_id": part[-1]["id"]} if part else {"first_id": None, "last_id": None}
    return {"data": part, "has_more": more, **ends}


class Connection(asyncio.Protocol):
    """One connection that is kept alive; a request at a time, as the SDK's client sends them."""

    transport: asyncio.Transport

    def __init__(self, state: State, loop: asyncio.AbstractEventLoop) -> None:
        self.state, self.loop = state, loop
        self.buffer = bytearray()
        self.need = 0  # bytes of the request that is arriving; 0 while its head is incomplete
        self.timer: asyncio.TimerHandle | None = None
        self.busy = self.counted = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.state.connections.add(self)
        self.state.opened += 1

    def connection_lost(self, exc: Exception | None) -> None:
        self.state.connections.discard(self)
        if self.timer is not None:
            self.timer.cancel()
        if self.busy:
            self.done("gone")

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if not self.busy:
            self.step()

    def step(self) -> None:
        if not self.need:
            head = self.buffer.find(b"\r\n\r\n") + 4
            if head < 4:
                return
            first, *lines = self.buffer[: head - 4].decode("latin-1").split("\r\n")
            self.headers = {key.lower(): value for key, _, value in (line.partition(": ") for line in lines)}
            self.method, self.target, _ = first.split(" ")
            self.head, self.need = head, head + int(self.headers.get("content-length", 0))
        if len(self.buffer) >= self.need:
            body = bytes(self.buffer[self.head : self.need])
            del self.buffer[: self.need]
            self.need = 0
            self.busy = True
            self.handle(body)

    def handle(self, raw: bytes) -> None:
        state = self.state
        path, _, query = self.target.partition("?")
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            return self.send(400, "the request body is not valid JSON")
        if path == "/_seen":
            return self.send(200, state.seen(query != "requests=0"))
        if path == "/_reset":
            state.reset(replace(state.script, **(body or {})))
            return self.send(200, {})
        ask = state.ask(self.method, path, self.headers, body)
        reply = state.decide(ask)
        self.counted = path == MESSAGES
        state.active += self.counted
        state.peak = max(state.peak, state.active)
        state.paths[path] += 1
        if state.script.keep:
            at = time.monotonic() - state.start
            one = Recorded(at, self.method, path, self.headers, body, ask.text, ask.attempt, state.active)
            state.requests.append(one)
        if reply.fault == "hang":
            return None
        seconds = state.script.seconds(ask, reply)
        if seconds <= 0:
            return self.reply(ask, reply, query, len(raw))
        self.timer = self.loop.call_later(seconds, self.reply, ask, reply, query, len(raw))
        return None

    def reply(self, ask: Ask, reply: Reply, query: str, size: int) -> None:
        status, found = self.state.answer(ask, reply, query, size)
        if reply.fault == "drop":
            self.done("drop")
            return self.transport.close()
        headers = dict(reply.headers)
        after = self.state.script.retry_after if reply.retry_after is None else reply.retry_after
        if status in (429, 529) and after is not None:
            in_ms = self.state.script.retry_after_ms
            headers["retry-after-ms" if in_ms else "retry-after"] = f"{after * 1000 if in_ms else after:g}"
        if status == 200 and self.counted:
            lost = reply.fault in LOST or reply.fault in STREAMED
            self.state.answered[ask.text] += not lost
            if ask.body.get("stream"):
                return self.stream(found, reply.fault, headers)
        return self.send(status, found, headers, reply.fault)

    def send(self, status: int, found: Json, headers: dict[str, str] | None = None, fault: str = "") -> None:
        """A whole answer; half of its body if the fault says so."""
        request_id = self.request_id()
        kind = "application/json"
        if status != 200:
            found = error(status, found, request_id)
        if isinstance(found, list):
            body, kind = b"".join(found), "application/x-jsonl"
        else:
            body = json.dumps(found).encode()
        head = self.head_of(status, request_id, kind, headers or {}, f"content-length: {len(body)}")
        if fault == "drop_body":
            self.transport.write(head + body[: len(body) // 2])
            self.done(fault)
            return self.transport.close()
        self.transport.write(head + body)
        return self.done(fault or ("ok" if status == 200 else f"http_{status}"))

    def stream(self, whole: Json, fault: str, headers: dict[str, str]) -> None:
        """The answer as server-sent events, cut in its middle if the fault says so."""
        request_id = self.request_id()
        parts = [chunk(one["type"], one) for one in events(whole)]
        if fault in ("drop_body", "stream_error"):
            parts = parts[: len(parts) // 2]
        if fault == "stream_error":
            parts.append(chunk("error", error(529, "scripted stream_error", request_id)))
        close = fault == "drop_body"
        parts.append(b"" if close else b"0\r\n\r\n")
        self.transport.write(self.head_of(200, request_id, "text/event-stream", headers, "transfer-encoding: chunked"))
        self.write_parts(deque(parts), fault or "ok", close)

    def write_parts(self, parts: deque[bytes], outcome: str, close: bool) -> None:
        wait = self.state.script.event_delay
        while parts:
            self.transport.write(parts.popleft())
            if wait and parts:
                self.timer = self.loop.call_later(wait, self.write_parts, parts, outcome, close)
                return
        if close:
            self.transport.close()
        self.done(outcome)

    def request_id(self) -> str:
        self.state.ids += 1
        return f"req_{self.state.ids:012d}"

    def head_of(self, status: int, request_id: str, kind: str, headers: dict[str, str], length: str) -> bytes:
        lines = [f"HTTP/1.1 {status} Scripted", f"content-type: {kind}", f"request-id: {request_id}", length]
        return "\r\n".join([*lines, *(f"{key}: {value}" for key, value in headers.items()), "\r\n"]).encode()

    def done(self, outcome: str) -> None:
        if self.counted:
            self.state.outcomes[outcome] += 1
        self.state.active -= self.counted
        self.busy = self.counted = False
        self.timer = None
        if self.buffer and not self.transport.is_closing():
            self.step()


def chunk(kind: str, data: Json) -> bytes:
    text = f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode()
    return b"%x\r\n%b\r\n" % (len(text), text)


async def serve(state: State, port: int, ready: Callable[[asyncio.Event], None]) -> None:
    """Serve on loopback until the event that `ready` gets is set; then close every connection."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    server = await loop.create_server(lambda: Connection(state, loop), "127.0.0.1", port, backlog=2048)
    state.url = "http://127.0.0.1:{1}".format(*server.sockets[0].getsockname())
    ready(stop)
    await stop.wait()
    server.close()
    for one in list(state.connections):
        one.transport.abort()
    await asyncio.sleep(0)


class Loopback:
    """A running server, as a test sees it; every look at it goes over HTTP, wherever it runs."""

    def __init__(self, url: str, state: State | None = None, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self.url = url
        self.state, self.loop = state, loop

    def call(self, method: str, path: str, body: Json = None) -> Json:
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=60)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def seen(self, requests: bool = True) -> Json:
        """Requests, `peak` concurrency, `connections`, and totals: `texts`, `answered`, `outcomes`, `paths`."""
        return self.call("GET", "/_seen" if requests else "/_seen?requests=0")

    @property
    def requests(self) -> list[Recorded]:
        return [Recorded(**one) for one in self.seen()["requests"]]

    @property
    def messages(self) -> list[Recorded]:
        return [one for one in self.requests if one.path == MESSAGES]

    def reset(self, **changes: Any) -> None:
        """Forget what was seen, and change the script's attributes; functions only if the server is a thread."""
        if self.state is None or self.loop is None:
            self.call("POST", "/_reset", changes)
            return
        done, state = threading.Event(), self.state
        self.loop.call_soon_threadsafe(lambda: (state.reset(replace(state.script, **changes)), done.set()))
        done.wait()


@contextmanager
def loopback(
    script: Script | Callable[[Ask], Reply | str | None] | None = None, *, process: bool = False
) -> Iterator[Loopback]:
    """A server for the length of the block; a function in place of a script is its `rule`."""
    chosen = script if isinstance(script, Script) else Script(rule=script)
    with in_process(chosen) if process else in_thread(chosen) as server:
        yield server


@contextmanager
def in_thread(script: Script) -> Iterator[Loopback]:
    state, began = State(script), threading.Event()
    stops: list[Callable[[], None]] = []

    def ready(stop: asyncio.Event) -> None:
        server.url, server.loop = state.url, asyncio.get_running_loop()
        stops.append(stop.set)
        began.set()

    server = Loopback("", state)
    thread = threading.Thread(target=lambda: asyncio.run(serve(state, 0, ready)), name="loopback", daemon=True)
    thread.start()
    began.wait()
    try:
        yield server
    finally:
        assert server.loop is not None
        server.loop.call_soon_threadsafe(*stops)
        thread.join()


@contextmanager
def in_process(script: Script) -> Iterator[Loopback]:
    """The child ends with its standard input, so also when this process is killed."""
    command = [sys.executable, __file__, "--pickled"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(pickle.dumps(sys.path) + pickle.dumps(script))
        child.stdin.flush()
        try:
            yield Loopback(child.stdout.readline().decode().strip())
        finally:
            child.stdin.close()
            child.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--pickled", action="store_true", help="read the script from standard input, end with it")
    options = [one.name for one in fields(Script) if one.name not in ("rule", "answers", "queue")]
    for name in options:
        parser.add_argument(f"--{name.replace('_', '-')}", type=json.loads, metavar="JSON", default=argparse.SUPPRESS)
    given = vars(parser.parse_args())
    if given["pickled"]:
        sys.path[:] = pickle.load(sys.stdin.buffer)
        script = pickle.load(sys.stdin.buffer)
        threading.Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(0)), daemon=True).start()
    else:
        script = Script(**{name: given[name] for name in options if name in given})
    state = State(script)
    try:
        asyncio.run(serve(state, given["port"], lambda stop: print(state.url, flush=True)))
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
