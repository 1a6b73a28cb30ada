"""What the stand-in for Anthropic's API answers: the script of a test, and the message that one request gets.

In: a request as `Ask`. Out: a `Reply` that says what becomes of the attempt, and the JSON of a message.
Nothing here touches a socket, so a script can be pickled and sent to a server in a process of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

Json = Any
MESSAGES = "/v1/messages"

ERRORS = {
    400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
    404: "not_found_error", 408: "timeout_error", 409: "conflict_error", 413: "request_too_large", 429: "rate_limit_error",
    500: "api_error", 503: "api_error", 504: "timeout_error", 529: "overloaded_error",
}  # fmt: skip
"""The `error.type` of each status that a fault `http_NNN` can name."""

LOST = {
    "drop": "the work is done, but the connection is closed before the answer",
    "drop_body": "the connection is closed in the middle of the answer's body",
    "hang": "no answer ever comes",
}
ODD = {
    "refusal": "stop_reason refusal",
    "max_tokens": "stop_reason max_tokens, the text cut in the middle",
    "not_json": "a text that is no JSON",
    "missing_field": "the last required field is missing",
    "unlisted": "an enum's value that is not in its list",
    "wrong_type": "the first field is an object",
    "extra_key": "a key that the schema does not have",
    "thinking": "a thinking block before the text: a right answer",
    "empty": "no content block",
}
DAMAGED = {
    "cut": "a body that is cut in its middle, whole by its length",
    "not_utf8": "a body of other bytes than UTF-8",
    "html": "a page in place of the message",
    "blank": "an empty body",
}
"""A 200 whose work is done and charged, and that is no message."""
UNCOUNTED = {
    "null_usage": "a usage whose numbers are null",
    "negative_usage": "a usage whose numbers are negative",
    "no_usage": "a message without its usage",
}
"""A right answer that does not say what it cost."""
BATCHED = {"expired": "the request expired in its batch", "canceled": "the request was canceled in its batch"}
FAULTS = {f"http_{status}" for status in ERRORS}.union(LOST, ODD, DAMAGED, UNCOUNTED, BATCHED)


@dataclass(frozen=True)
class Ask:
    """One attempt as it arrives. `text` is the last user message's; `attempt` counts from 1 for each text.

    `cached` says that an answer with the same marked prefix had begun when it arrived.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: Json
    text: str
    attempt: int
    batch: bool = False
    cached: bool = False


@dataclass(frozen=True)
class Reply:
    """What one attempt gets; by default the right answer. `None` means: as the script says."""

    fault: str = ""
    delay: float | None = None
    retry_after: float | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Json] | None = None
    text: str | None = None
    stop_reason: str | None = None

    def __post_init__(self) -> None:
        if self.fault and self.fault not in FAULTS:
            raise ValueError(f"no fault is called {self.fault!r}; known: {', '.join(sorted(FAULTS))}")

    @property
    def status(self) -> int:
        return int(self.fault[5:]) if self.fault.startswith("http_") else 200


def supported(answer: bool) -> Json:
    return {"supported": answer}


def model(
    name: str, *, structured: bool = True, thinking: Sequence[str] = ("adaptive", "disabled"), effort: bool = True
) -> Json:
    """The description of a model at `/v1/models`, with every capability that the SDK's type requires."""

    levels = ("low", "medium", "high", "xhigh", "max")
    kinds = {kind: supported(kind in thinking) for kind in ("adaptive", "between_tools", "disabled", "enabled")}
    capabilities = {
        **{key: supported(True) for key in ("batch", "citations", "code_execution", "image_input", "pdf_input")},
        "context_management": supported(False),
        "effort": {"supported": effort, **{level: supported(effort) for level in levels}},
        "server_tools": {**supported(False), "code_execution": supported(False), "web_search": supported(False)},
        "structured_outputs": supported(structured),
        "thinking": {**supported("adaptive" in thinking), "types": kinds},
    }
    dates = {"created_at": "2026-06-01T00:00:00Z", "deprecated_at": None, "retires_at": None}
    sizes = {"max_input_tokens": 200_000, "max_tokens": 64_000}
    names = {"id": name, "type": "model", "display_name": name, "lifecycle": "active", "line": None}
    return {**names, **dates, **sizes, "capabilities": capabilities}


def usual_models() -> list[Json]:
    return [model("claude-haiku-5-5"), model("claude-sonnet-5-5"), model("claude-opus-5-5", thinking=("adaptive",))]


@dataclass(frozen=True)
class Script:
    """How the server behaves. Everything has a default: right answers, at once.

    Attributes:
        delay: seconds before an answer to POST /v1/messages begins, or a range of which each attempt gets its part.
        faults: share of attempts for each fault; which ones depends on the seed, the text and the attempt, on no order.
        queue: replies, or names of faults, for the next attempts at messages in turn; the rule and the shares come after.
        rule: asked for every request, messages or not; `None` leaves it to the shares.
        answers: (text, schema) to values laid over the filled ones.
        retry_after: seconds in the header of 429 and 529; `retry_after_ms` says it in milliseconds instead.
        cache_minimum: tokens below which a prefix with `cache_control` is silently not cached.
        batch_seconds: how long a batch is processed.
        keep: whether requests are kept with body and headers, or only counted.
        works_on: whether a request whose client has left is answered, and charged, all the same.
    """

    delay: float | tuple[float, float] = 0.0
    seed: int = 0
    faults: Mapping[str, float] = field(default_factory=dict)
    queue: Sequence[Reply | str] = ()
    rule: Callable[[Ask], Reply | str | None] | None = None
    answers: Callable[[str, Json], Mapping[str, Json] | None] | None = None
    retry_after: float | None = None
    retry_after_ms: bool = False
    models: Sequence[Json] = field(default_factory=usual_models)
    cache_minimum: int = 0
    batch_seconds: float = 0.0
    keep: bool = True
    works_on: bool = False

    def __post_init__(self) -> None:
        for fault in self.faults:
            Reply(fault)

    def decide(self, ask: Ask) -> Reply:
        """What an attempt gets that no scripted reply waits for."""
        found = self.rule(ask) if self.rule is not None else None
        if found is None and ask.path == MESSAGES:
            left = share(self.seed, ask.text, ask.attempt)
            for fault, part in self.faults.items():
                if (left := left - part) < 0:
                    found = fault if ask.batch or fault not in BATCHED else None
                    break
        return as_reply(found)

    def seconds(self, ask: Ask, reply: Reply) -> float:
        if reply.delay is not None:
            return reply.delay
        if ask.path != MESSAGES:
            return 0.0
        if isinstance(self.delay, int | float):
            return self.delay
        low, high = self.delay
        return low + (high - low) * share(self.seed, "delay", ask.text, ask.attempt)


def as_reply(found: Reply | str | None) -> Reply:
    return found if isinstance(found, Reply) else Reply(found or "")


def number(*parts: object) -> int:
    text = "\0".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big")


def share(*parts: object) -> float:
    return number(*parts) / 2**64


def texts(content: Json) -> str:
    """The text of a message's or a system prompt's content: a string, or blocks."""
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content or () if isinstance(block, dict))


def user_text(body: Json) -> str:
    """The last user message's text, of several blocks the first: what is asked; empty where the body has none."""
    messages = body.get("messages") if isinstance(body, dict) else None
    content = next((one.get("content") for one in reversed(messages or ()) if one.get("role") == "user"), "")
    return texts(content[:1] if isinstance(content, list) else content)


def tokens(text: str) -> int:
    return (len(text) + 3) // 4


def cached_prefix(body: Json) -> str:
    """The part of the system prompt up to its last `cache_control`; empty without one."""
    system = body.get("system") or ""
    marked = [n for n, block in enumerate(system) if isinstance(block, dict) and block.get("cache_control")]
    return texts(system[: marked[-1] + 1]) if marked else ""


def prompt_tokens(body: Json) -> int:
    """Tokens of the whole prompt, the schema's among them."""
    rest = "".join(texts(one.get("content")) for one in body["messages"])
    return tokens(texts(body.get("system") or "") + rest + (json.dumps(schema) if (schema := schema_of(body)) else ""))


def schema_of(body: Json) -> Json:
    return ((body.get("output_config") or {}).get("format") or {}).get("schema")


def objects(schema: Json) -> Iterator[Json]:
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for part in schema.values():
            yield from objects(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from objects(part)


def problem(body: Json, models: Mapping[str, Json]) -> tuple[int, str] | None:
    """Status and message of a request that the API refuses whatever the script says."""
    missing = [key for key in ("model", "max_tokens", "messages") if not (isinstance(body, dict) and body.get(key))]
    if missing:
        return 400, f"{missing[0]}: Field required"
    if body["model"] not in models:
        return 404, f"model: {body['model']}"
    if not user_text(body):
        return 400, "messages: text content blocks must be non-empty"
    able = models[body["model"]]["capabilities"]
    thinking = (body.get("thinking") or {}).get("type")
    if thinking and not able["thinking"]["types"].get(thinking, {}).get("supported"):
        return 400, f"thinking.type: {thinking} is not supported by this model"
    if (body.get("output_config") or {}).get("effort") and not able["effort"]["supported"]:
        return 400, "output_config.effort: not supported by this model"
    schema = schema_of(body)
    if schema is not None and not able["structured_outputs"]["supported"]:
        return 400, "output_config.format: not supported by this model"
    if any(one.get("additionalProperties") is not False for one in objects(schema)):
        return 400, "output_config.format.schema: 'additionalProperties' must be explicitly set to false"
    return None


def filled(schema: Json, text: str, path: str, root: Json) -> Json:
    """A value that the schema admits, chosen by a hash of the text and of the value's place."""
    if "$ref" in schema:
        return filled(root["$defs"][schema["$ref"].rpartition("/")[2]], text, path, root)
    if "const" in schema:
        return schema["const"]
    choose = number(path, text)
    if "enum" in schema:
        return schema["enum"][choose % len(schema["enum"])]
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return filled(options[choose % len(options)], text, f"{path}|", root)
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = kind[choose % len(kind)]
    if kind == "object":
        return {key: filled(one, text, f"{path}.{key}", root) for key, one in schema.get("properties", {}).items()}
    if kind == "array":
        count = max(choose % 3, schema.get("minItems", 0))
        return [filled(schema.get("items", {}), text, f"{path}[{n}]", root) for n in range(count)]
    if kind == "boolean":
        return choose % 2 == 0
    if kind in ("integer", "number"):
        low = schema.get("minimum", 0)
        value = low + choose % (schema.get("maximum", low + 10) - low + 1)
        return value if kind == "integer" else float(value)
    return None if kind == "null" else quotation(text, choose)


def quotation(text: str, choose: int) -> str:
    """A few consecutive words of the text, as they stand in it; of its longest string, if it is a JSON object."""
    if text.startswith("{"):
        try:
            text = max((one for one in json.loads(text).values() if isinstance(one, str)), key=len, default=text)
        except ValueError:
            pass
    words = [found.span() for found in re.finditer(r"\w+", text)]
    if not words:
        return text
    first = choose % len(words)
    return text[words[first][0] : words[min(first + 4, len(words) - 1)][1]]


def spoilt(values: Json, schema: Json, fault: str) -> Json:
    """The answer with the fault in it; unchanged where the schema gives it no place."""
    properties = schema.get("properties", {})
    if fault == "missing_field":
        return {key: values[key] for key in list(values)[:-1]}
    if fault == "extra_key":
        return {**values, "unasked": True}
    if fault == "wrong_type":
        return {**values, next(iter(values)): {"nested": []}} if values else values
    listed = [key for key, one in properties.items() if "enum" in one]
    return {**values, listed[0]: "not_in_the_list"} if fault == "unlisted" and listed else values


def answer(script: Script, ask: Ask, reply: Reply) -> tuple[list[Json], str, Json]:
    """Content blocks, stop reason and stop details of the message."""
    if reply.fault == "empty":
        return [], reply.stop_reason or "end_turn", None
    if reply.fault == "refusal":
        return [], "refusal", {"type": "refusal", "category": None, "explanation": "scripted"}
    schema = schema_of(ask.body)
    if schema is None:
        text = f"Understood: {quotation(ask.text, number(ask.text))}."
    else:
        values = filled(schema, ask.text, "", schema)
        if isinstance(values, dict):
            given = reply.values or (script.answers(ask.text, schema) if script.answers is not None else None)
            values = spoilt({**values, **(given or {})}, schema, reply.fault)
        text = json.dumps(values, ensure_ascii=False)
    if reply.text is not None:
        text = reply.text
    stop = reply.stop_reason or "end_turn"
    if reply.fault == "max_tokens":
        text, stop = text[: len(text) // 2], "max_tokens"
    if reply.fault == "not_json":
        text = f"Sure! Here is what the review says: {text[1:]}"
    blocks = [{"type": "text", "text": text, "citations": None}]
    if reply.fault == "thinking":
        blocks.insert(0, {"type": "thinking", "thinking": "Let me read the review.", "signature": "c2lnbmF0dXJl"})
    return blocks, stop, None


def message(script: Script, ask: Ask, reply: Reply) -> Json:
    """The whole `Message`, as it is answered, streamed or put into a batch's results."""
    content, stop, details = answer(script, ask, reply)
    prefix = tokens(cached_prefix(ask.body))
    if prefix < script.cache_minimum:
        prefix = 0
    thought = sum(tokens(one["thinking"]) for one in content if one["type"] == "thinking")
    created = 0 if ask.cached else prefix
    usage = {
        "input_tokens": prompt_tokens(ask.body) - prefix,
        "cache_creation_input_tokens": created,
        "cache_read_input_tokens": prefix - created,
        "cache_creation": {"ephemeral_5m_input_tokens": created, "ephemeral_1h_input_tokens": 0},
        "output_tokens": max(1, thought + sum(tokens(one.get("text", "")) for one in content)),
        "output_tokens_details": {"thinking_tokens": thought},
        "service_tier": "batch" if ask.batch else "standard",
    }
    name = f"msg_{number('message', ask.text, ask.attempt):016x}"
    ending = {"stop_reason": stop, "stop_sequence": None, "stop_details": details}
    fixed = {"id": name, "type": "message", "role": "assistant"}
    return {**fixed, "model": ask.body["model"], "content": content, **ending, "usage": usage}


def without_usage(message: Json, fault: str) -> Json:
    """The message as it is sent, where the fault is in its usage."""
    if fault == "no_usage":
        return {key: value for key, value in message.items() if key != "usage"}
    if fault in UNCOUNTED:
        wrong = None if fault == "null_usage" else -1
        return {**message, "usage": {**message["usage"], "input_tokens": wrong, "output_tokens": wrong}}
    return message


def damaged(body: bytes, fault: str) -> bytes:
    """The body as it is sent."""
    html = b"<html><body>Please log in</body></html>"
    changed = {"cut": body[: len(body) // 2], "not_utf8": b"\xff\xfe" + body, "html": html, "blank": b""}
    return changed.get(fault, body)


def error(status: int, message: str, request_id: str | None = None) -> Json:
    return {"type": "error", "error": {"type": ERRORS[status], "message": message}, "request_id": request_id}
