"""A stand-in for Anthropic's API on loopback: real HTTP, scripted answers, and a record of what was asked.

From a thread, or from a process of its own (the script is pickled: its functions must be found by import):

    with loopback(lambda ask: "http_500" if ask.attempt == 1 else None) as server: ...
    with loopback(Script(delay=0.2, faults={"http_529": 0.03, "refusal": 0.01}), process=True) as server: ...

A client needs `base_url=server.url` (or ANTHROPIC_BASE_URL) and any API key. `server.seen()` and `server.requests` tell
what was asked, `server.reset(delay=0)` forgets it and changes the script; the same over HTTP, for other processes:
`GET /_seen` (`?requests=0`: totals only) and `POST /_reset` with the changes as JSON.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from loopback_routes import Recorded, State
from loopback_script import DAMAGED, LOST, MESSAGES, Ask, Json, Reply, Script, damaged, error


class Connection(asyncio.Protocol):
    """One connection that is kept alive; a request at a time, as the SDK's client sends them."""

    transport: asyncio.Transport

    def __init__(self, state: State, connections: set[Connection]) -> None:
        self.state, self.connections = state, connections
        self.loop = asyncio.get_running_loop()
        self.buffer = bytearray()
        self.need = 0  # bytes of the request that is arriving; 0 while its head is incomplete
        self.timer: asyncio.TimerHandle | None = None
        self.waiting: tuple[Ask, Reply, str] | None = None
        self.busy = self.counted = False
        self.epoch = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.connections.add(self)
        self.state.open += 1
        self.state.opened += 1

    def connection_lost(self, exc: Exception | None) -> None:
        self.connections.discard(self)
        self.state.open -= 1
        if self.timer is not None:
            self.timer.cancel()
        if self.busy and self.waiting is not None and self.state.script.works_on:
            self.state.answer(*self.waiting)
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
            self.guarded(self.handle, body)

    def guarded(self, step: Callable[..., None], *args: Any) -> None:
        """A script's function that raises is seen by the client, as a status that it does not retry."""
        try:
            step(*args)
        except Exception as failure:
            self.send(400, f"the stand-in failed: {failure!r}")

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
        self.counted, self.epoch = path == MESSAGES, state.start
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
            return self.reply(ask, reply, query)
        self.waiting = (ask, reply, query)
        self.timer = self.loop.call_later(seconds, self.guarded, self.reply, *self.waiting)
        return None

    def reply(self, ask: Ask, reply: Reply, query: str) -> None:
        self.waiting = None
        status, found = self.state.answer(ask, reply, query)
        if reply.fault == "drop":
            self.done("drop")
            return self.transport.close()
        headers = dict(reply.headers)
        after = self.state.script.retry_after if reply.retry_after is None else reply.retry_after
        if status in (429, 529) and after is not None:
            in_ms = self.state.script.retry_after_ms
            headers["retry-after-ms" if in_ms else "retry-after"] = f"{after * 1000 if in_ms else after:g}"
        if status == 200 and self.counted:
            lost = reply.fault in {**LOST, **DAMAGED}
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
            body = damaged(json.dumps(found).encode(), fault)
        head = self.head_of(status, request_id, kind, headers or {}, f"content-length: {len(body)}")
        if fault == "drop_body":
            self.transport.write(head + body[: len(body) // 2])
            self.done(fault)
            return self.transport.close()
        self.transport.write(head + body)
        return self.done(fault or ("ok" if status == 200 else f"http_{status}"))

    def stream(self, whole: Json, fault: str, headers: dict[str, str]) -> None:
        """Send the answer as server-sent events, cut in its middle if the fault says so."""
        parts = [chunk(event["type"], event) for event in events(whole)]
        is_cut = fault == "drop_body"
        parts = parts[: len(parts) // 2] if is_cut else [*parts, b"0\r\n\r\n"]
        head = self.head_of(200, self.request_id(), "text/event-stream", headers, "transfer-encoding: chunked")
        self.transport.write(head + b"".join(parts))
        if is_cut:
            self.transport.close()
        self.done(fault or "ok")

    def request_id(self) -> str:
        self.state.ids += 1
        return f"req_{self.state.ids:012d}"

    def head_of(self, status: int, request_id: str, kind: str, headers: dict[str, str], length: str) -> bytes:
        lines = [f"HTTP/1.1 {status} Scripted", f"content-type: {kind}", f"request-id: {request_id}", length]
        return "\r\n".join([*lines, *(f"{key}: {value}" for key, value in headers.items()), "\r\n"]).encode()

    def done(self, outcome: str) -> None:
        if self.counted and self.epoch == self.state.start:  # not from before a reset
            self.state.outcomes[outcome] += 1
        self.state.active -= self.counted
        self.busy = self.counted = False
        self.timer = None
        if self.buffer and not self.transport.is_closing():
            self.step()


def events(whole: Json) -> Iterator[Json]:
    """The events of a stream that add up to the message."""
    usage = whole["usage"]
    start: Json = {"content": [], "stop_reason": None, "stop_details": None, "usage": {**usage, "output_tokens": 1}}
    yield {"type": "message_start", "message": {**whole, **start}}
    yield {"type": "ping"}
    for index, block in enumerate(whole["content"]):
        kind = block["type"]
        empty = {**block, kind: ""} if kind == "text" else {**block, kind: "", "signature": ""}
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for at in range(0, len(block[kind]), 24):
            delta = {"type": f"{kind}_delta", kind: block[kind][at : at + 24]}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        if kind == "thinking":
            delta = {"type": "signature_delta", "signature": block["signature"]}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    delta = {key: whole[key] for key in ("stop_reason", "stop_sequence", "stop_details")}
    yield {"type": "message_delta", "delta": delta, "usage": {k: usage[k] for k in usage if k.endswith("tokens")}}
    yield {"type": "message_stop"}


def chunk(kind: str, data: Json) -> bytes:
    text = f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode()
    return b"%x\r\n%b\r\n" % (len(text), text)


async def serve(state: State, port: int, ready: Callable[[asyncio.Event], None]) -> None:
    """Serve on loopback until the event that `ready` gets is set; then close every connection."""
    stop = asyncio.Event()
    connections: set[Connection] = set()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(state, connections), "127.0.0.1", port, backlog=2048)
    state.url = "http://127.0.0.1:{1}".format(*server.sockets[0].getsockname())
    ready(stop)
    await stop.wait()
    server.close()
    for one in list(connections):
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
            response = connection.getresponse()
            found = json.loads(response.read())
            if response.status != 200:
                raise ValueError(found["error"]["message"])
            return found
        finally:
            connection.close()

    def seen(self, requests: bool = True) -> Json:
        """Requests, `peak` concurrency, `connections`, and totals: `texts`, `answered`, `outcomes`, `paths`, `billed`, `charged`.

        `texts` counts attempts for each user text, `answered` those that got their answer whole, `outcomes` what became of
        the attempts at messages ("ok", a fault, "gone": the client left), `billed` the calls whose work was done, with their
        tokens, `charged` these for each text. Without a delay the peak is 1.
        """
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
        done = threading.Event()
        self.loop.call_soon_threadsafe(self.state.reset, replace(self.state.script, **changes))
        self.loop.call_soon_threadsafe(done.set)
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
    command, sent = [sys.executable, __file__], pickle.dumps(sys.path) + pickle.dumps(script)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(sent)
        child.stdin.flush()
        try:
            if not (url := child.stdout.readline().decode().strip()):
                raise RuntimeError("the server did not start: its own message is on standard error")
            yield Loopback(url)
        finally:
            child.stdin.close()
            child.wait()


def main() -> None:
    """Serve the script that comes pickled on standard input, and end with it."""
    sys.path[:] = pickle.load(sys.stdin.buffer)
    state = State(pickle.load(sys.stdin.buffer))
    threading.Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(0)), daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(state, 0, lambda stop: print(state.url, flush=True)))


if __name__ == "__main__":
    main()
