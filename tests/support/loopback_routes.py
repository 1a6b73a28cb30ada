"""What each route of the stand-in for Anthropic's API answers, and what the server remembers.

In: a request and what its script decided. Out: (status, JSON), where the JSON of an error is its message and that of a
batch's results their lines. Nothing here touches a socket.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from urllib.parse import parse_qs

from loopback_script import (
    BATCHED,
    LOST,
    MESSAGES,
    Ask,
    Json,
    Reply,
    Script,
    as_reply,
    cached_prefix,
    error,
    message,
    problem,
    prompt_tokens,
    user_text,
    without_usage,
)

BATCHES = f"{MESSAGES}/batches"
KINDS = ("succeeded", "errored", "canceled", "expired")


@dataclass
class Batch:
    """One batch; its times are seconds of the monotonic clock, but for `created`."""

    name: str
    requests: list[Json]
    created: datetime
    began: float
    ends: float
    lines: list[bytes] | None = None
    counts: Counter[str] = field(default_factory=Counter)

    def moment(self, at: float) -> str:
        return (self.created + timedelta(seconds=at - self.began)).isoformat()

    def described(self, url: str) -> Json:
        """The batch as the API shows it: all of its requests count as processing until it has ended."""
        ended = self.lines is not None
        return {
            "id": self.name,
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "request_counts": {
                "processing": 0 if ended else len(self.requests),
                **{kind: self.counts[kind] for kind in KINDS},
            },
            "results_url": f"{url}{BATCHES}/{self.name}/results" if ended else None,
            "created_at": self.moment(self.began),
            "expires_at": self.moment(self.began + 24 * 3600),
            "ended_at": self.moment(self.ends) if ended else None,
            "cancel_initiated_at": None,
            "archived_at": None,
        }


class Batches:
    """All batches of a server; `attempt` gives what becomes of one request: its result."""

    def __init__(self, attempt: Callable[[Json], Json]) -> None:
        self.attempt = attempt
        self.known: dict[str, Batch] = {}
        self.made = 0

    def answer(self, script: Script, url: str, ask: Ask, query: str) -> tuple[int, Json]:
        name, _, action = ask.path[len(BATCHES) :].lstrip("/").partition("/")
        self.finish(script)
        if not name:
            if ask.method == "POST":
                return self.create(script, url, ask.body)
            return 200, page([one.described(url) for one in reversed(self.known.values())], query)
        batch = self.known.get(name)
        if batch is None:
            return 404, f"no batch: {name}"
        if ask.method != "GET" or action not in ("", "results"):
            return 404, "Not found"
        if not action:
            return 200, batch.described(url)
        return (200, batch.lines) if batch.lines is not None else (404, "the batch has not ended")

    def create(self, script: Script, url: str, body: Json) -> tuple[int, Json]:
        requests = body.get("requests") if isinstance(body, dict) else None
        if not requests:
            return 400, "requests: at least 1 item"
        names = [str(one.get("custom_id")) for one in requests]
        if len(set(names)) < len(names) or not all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names):
            return 400, "requests: custom_id must be unique and match ^[a-zA-Z0-9_-]{1,64}$"
        self.made += 1
        now = time.monotonic()
        name = f"msgbatch_{self.made:08d}"
        batch = self.known[name] = Batch(name, requests, datetime.now(UTC), now, now + script.batch_seconds)
        return 200, batch.described(url)

    def finish(self, script: Script) -> None:
        """Process what has ended by now: at the first look at any batch, since no client can see the difference."""
        now = time.monotonic()
        for batch in self.known.values():
            if batch.lines is None and now >= batch.ends:
                batch.lines = self.processed(script, batch)

    def processed(self, script: Script, batch: Batch) -> list[bytes]:
        """Return the lines of the results, never in the order of the requests."""
        lines = []
        for request in batch.requests:
            result = self.attempt(request["params"])
            batch.counts[result["type"]] += 1
            lines.append(json.dumps({"custom_id": request["custom_id"], "result": result}).encode() + b"\n")
        shuffled = Random(script.seed).sample(lines, len(lines))
        return shuffled if shuffled != lines else lines[::-1]


def page(whole: list[Json], query: str) -> Json:
    """Return the part of a list that `limit` and `after_id` ask for."""
    options = {key: values[0] for key, values in parse_qs(query).items()}
    names = [batch["id"] for batch in whole]
    begin = names.index(options["after_id"]) + 1 if "after_id" in options else 0
    end = begin + int(options.get("limit", 20))
    first, last = (names[begin], names[min(end, len(names)) - 1]) if begin < len(names) else (None, None)
    return {"data": whole[begin:end], "has_more": end < len(whole), "first_id": first, "last_id": last}


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


class State:
    """The server's memory, and what each route answers as (status, JSON or bytes)."""

    def __init__(self, script: Script) -> None:
        self.batches = Batches(self.attempt)
        self.url = ""
        self.open = 0
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
        self.billed: Counter[str] = Counter()
        self.charged: Counter[str] = Counter()
        self.cached: set[str] = set()
        self.peak, self.opened = self.active, self.open
        self.start = time.monotonic()

    def seen(self, whole: bool) -> Json:
        totals = {name: getattr(self, name) for name in ("answered", "outcomes", "paths", "billed", "charged")}
        totals["texts"] = self.attempts
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
        if ask.path == MESSAGES and self.queue:
            return as_reply(self.queue.popleft())
        return self.script.decide(ask)

    def message(self, ask: Ask, reply: Reply) -> Json:
        """The message, whose work is done and charged: `billed` has its tokens, those of batches under names of their own."""
        self.cached.add(f"{ask.body['model']}\0{cached_prefix(ask.body)}")
        found = message(self.script, ask, reply)
        self.charged[ask.text] += 1
        kind = "batch_" if ask.batch else ""
        self.billed[f"{kind}calls"] += 1
        for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"):
            self.billed[f"{kind}{name}"] += found["usage"][name]
        return without_usage(found, reply.fault)

    def attempt(self, params: Json) -> Json:
        """The result of a request in a batch."""
        ask = self.ask("POST", MESSAGES, {}, params, batch=True)
        reply = self.decide(ask)
        found = problem(params, self.models)
        if found is not None or reply.status != 200:
            return {"type": "errored", "error": error(*(found or (reply.status, f"scripted {reply.fault}")))}
        if reply.fault in BATCHED:
            return {"type": reply.fault}
        if reply.fault in LOST:
            return {"type": "expired"}
        self.answered[ask.text] += 1
        return {"type": "succeeded", "message": self.message(ask, reply)}

    def answer(self, ask: Ask, reply: Reply, query: str) -> tuple[int, Json]:
        """Status, and a JSON value, the lines of a JSONL file, or an `error`."""
        if not ask.headers.get("x-api-key") and not ask.headers.get("authorization"):
            return 401, "x-api-key header is required"
        if reply.status != 200:
            return reply.status, f"scripted {reply.fault}"
        if ask.path == BATCHES or ask.path.startswith(f"{BATCHES}/"):
            return self.batches.answer(self.script, self.url, ask, query)
        if ask.path.startswith("/v1/models"):
            name = ask.path[len("/v1/models/") :]
            return (200, self.models[name]) if name in self.models else (404, f"model: {name}")
        if ask.method != "POST" or ask.path not in (MESSAGES, f"{MESSAGES}/count_tokens"):
            return 404, "Not found"
        counted = ask.path != MESSAGES
        body = {"max_tokens": 1, **ask.body} if counted and isinstance(ask.body, dict) else ask.body
        found = problem(body, self.models)
        if found is not None:
            return found
        if counted:
            return 200, {"input_tokens": prompt_tokens(ask.body)}
        return 200, self.message(ask, reply)
