"""Represents calls of a model, their answers and their costs as data, and renders prompts. It uses no network.

Source: the two-phase design's section on the LLM's part; the Messages API.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal

from formulaseed.data.records import UsageRecord
from formulaseed.errors import DataError
from formulaseed.resources import resource_folder

if TYPE_CHECKING:
    from jinja2 import Environment

Effort = Literal["low", "medium", "high", "xhigh", "max"]
EFFORTS: tuple[Effort, ...] = ("low", "medium", "high", "xhigh", "max")
_FRAME_BYTES = 1_000  # an upper bound of what the API adds to a prompt


@dataclass(frozen=True, slots=True)
class ModelCapabilities:
    """The optional features that a model and its server support; the defaults are those of current models.

    `thinking_off` is True if thinking can be disabled, `structured` if the API can enforce a schema, `caching` if prompts may
    be marked for the cache. `is_stated` is False if the server states nothing, so that it may ignore what it does not know.
    """

    effort: bool = True
    thinking_off: bool = False
    structured: bool = True
    caching: bool = True
    batches: bool = True
    is_stated: bool = True

    @property
    def enforces_schema(self) -> bool:
        """True if an answer that the API returns is sure to have the form of the schema."""
        return self.structured and self.is_stated

    def without_refused(self, message: str) -> ModelCapabilities | None:
        """Return the capabilities without the first feature that an error's `message` names; None if it names none."""
        for name, words in _REFUSED_WORDS.items():
            if getattr(self, name) and any(word in message for word in words):
                return replace(self, **{name: False})
        return None


_REFUSED_WORDS = {
    "structured": ("output_config", "output_format", "schema", "grammar"),
    "caching": ("cache_control",),
    "thinking_off": ("thinking",),
    "effort": ("output_config", "effort", "thinking"),
}
"""The words of which one is in a server's message if it rejects a request for the feature. The first feature is tried first."""


@dataclass(frozen=True)
class ModelCall:
    """One question to a model, whose answer is a JSON object that matches `schema`.

    `system` is the constant part of the prompt, which the API caches; `user` differs between calls, and a non-empty `remark`
    follows it as a second text. `key` names the call; in a batch it must be under 64 letters and digits. `effort` and
    `thinking` are None if the model does not support them, and `schema` is empty if the prompt contains the schema.
    """

    key: str
    model: str
    system: str
    user: str
    schema: Mapping[str, Any]
    max_tokens: int
    effort: Effort | None = "low"
    thinking: Literal["disabled"] | None = None
    remark: str = ""
    is_cached: bool = True
    """Whether the constant part of the prompt is marked for the API's cache."""

    @cached_property
    def bytes(self) -> int:
        """The length of the prompt in UTF-8, with the schema and the API's additions: an upper bound of its tokens."""
        text_bytes = sum(len(text.encode()) for text in (self.system, self.user, self.remark))
        return text_bytes + len(json.dumps(dict(self.schema))) + _FRAME_BYTES

    @cached_property
    def max_usage(self) -> Usage:
        """An upper bound of the tokens used: each byte of the prompt a token that is written to the cache."""
        return Usage(cache_write=self.bytes, output=self.max_tokens)


def build_request(call: ModelCall) -> dict[str, Any]:
    """Return the parameters of a request of the Messages API, as `messages.create` and batches take them.

    A schema, effort or thinking that the call does not have is left out.
    """
    content: str | list[dict[str, str]] = call.user
    if call.remark:
        content = [{"type": "text", "text": text} for text in (call.user, call.remark)]
    output: dict[str, Any] = {}
    if call.schema:
        output["format"] = {"type": "json_schema", "schema": dict(call.schema)}
    if call.effort is not None:
        output["effort"] = call.effort
    request: dict[str, Any] = {
        "model": call.model,
        "max_tokens": call.max_tokens,
        "system": call.system,
        "messages": [{"role": "user", "content": content}],
    }
    if call.is_cached:
        request["system"] = [{"type": "text", "text": call.system, "cache_control": {"type": "ephemeral"}}]
    if output:
        request["output_config"] = output
    if call.thinking is not None:
        request["thinking"] = {"type": call.thinking}
    return request


def adapt_call(call: ModelCall, capabilities: ModelCapabilities) -> ModelCall:
    """Return the call without features that the server lacks.

    Unless the API is sure to enforce the schema, the prompt also contains it; the answer is validated in any case.
    """
    effort = call.effort if capabilities.effort else None
    adapted = replace(call, effort=effort, is_cached=capabilities.caching)
    if capabilities.enforces_schema:
        return adapted
    schema = json.dumps(dict(call.schema), ensure_ascii=False)
    instruction = f"\nAnswer with one JSON object of this schema and nothing else:\n\n{schema}\n"
    return replace(adapted, system=call.system + instruction, schema=call.schema if capabilities.structured else {})


def strip_fence(answer: Answer) -> Answer:
    """Return an answer without the Markdown fence around its text, if there is one."""
    text = answer.text.strip()
    if text.startswith("```"):
        text = text.split("\n", 1)[-1].removesuffix("```").strip()
    return replace(answer, text=text)


@dataclass(frozen=True, slots=True)
class Usage:
    """Numbers of tokens: uncached input, input written to the cache, input read from the cache, and output."""

    input: int = 0
    cache_write: int = 0
    cache_read: int = 0
    output: int = 0

    @classmethod
    def read(cls, value: Any) -> Usage:
        """Return the usage in a JSON object with these four keys. Raises `DataError` for impossible numbers."""
        record = UsageRecord.read(value)
        return cls(record.input, record.cache_write, record.cache_read, record.output)

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(Usage)))

    def to_json(self) -> dict[str, int]:
        """Return the usage as a JSON object, which `read` reads."""
        return {field.name: getattr(self, field.name) for field in fields(Usage)}

    @property
    def prompt(self) -> int:
        """The tokens of the prompt, cached or not."""
        return self.input + self.cache_write + self.cache_read


_NO_USAGE = Usage()


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request that was sent for a call.

    `status` is the HTTP status, or a word if there was no response, such as "timeout"; `ms` is the duration in milliseconds.
    """

    key: str
    model: str
    status: str
    ms: int
    usage: Usage | None = None
    """The tokens that are charged; None if nothing is."""
    request_id: str = ""
    number: int = 1
    """The number of this attempt among those of its call, from 1."""
    id: int = 0
    """The number of this attempt in the ledger of the store."""
    is_bound: bool = False
    """True if `usage` is only an upper bound, since it is unknown what the API charges."""


class UnusableAnswer(DataError):
    """Raised for an answer that is incomplete or does not match its schema, with the reason."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of a model: the text of all text blocks, the reason why the model stopped, the tokens used.

    `is_bound` is True if the answer does not state its usage in numbers; `usage` is then the upper bound of its call.
    """

    text: str
    stop_reason: str
    usage: Usage
    request_id: str = ""
    is_bound: bool = False

    @property
    def fault(self) -> str:
        """The reason why the text is not the whole answer; empty if it is."""
        return _FAULT_BY_STOP_REASON.get(self.stop_reason, f"the model stopped: {self.stop_reason}")


_FAULT_BY_STOP_REASON = {
    "end_turn": "",
    "stop_sequence": "",
    "max_tokens": "the answer was cut off at its longest length",
    "refusal": "the model refused to answer",
    "model_context_window_exceeded": "the prompt is too long for the model",
    "pause_turn": "the model paused in the middle of its answer",
    "tool_use": "the model asked for a tool, and there is none",
}


def parse_answer(message: Any, request_id: str = "", max_usage: Usage = _NO_USAGE) -> Answer:
    """Return the answer in a message of the API, which is JSON as bytes, or already parsed.

    If the message states no `usage` in numbers, that of the answer is `max_usage`, and the answer `is_bound`. Raises
    `ValueError` for a value that is not a message.
    """
    try:
        message = json.loads(message) if isinstance(message, bytes) else message
        usage = _parse_usage(message.get("usage") or {})
        return Answer(
            # models may think before they answer, so that the first block need not be a text
            text=_escape_surrogates("".join(block["text"] for block in message["content"] if block["type"] == "text")),
            stop_reason=_escape_surrogates(str(message["stop_reason"] or "nothing said")),
            usage=max_usage if usage is None else usage,
            request_id=request_id,
            is_bound=usage is None,
        )
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
        raise ValueError("the API's answer is not a message") from None


async def collect_message(events: AsyncIterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the message in the events of a stream, with all of its text in one block.

    It lacks a usage that the server does not state. Raises `ValueError` if the stream ends before the message does.
    """
    message: dict[str, Any] = {}
    usage: dict[str, Any] = {}
    text = ""
    is_complete = False
    async for event in events:
        stated = event.get("usage") or event.get("message", {}).get("usage") or {}
        usage |= {name: count for name, count in stated.items() if count is not None}
        if event["type"] == "content_block_start" and event["content_block"]["type"] == "text":
            text += event["content_block"]["text"]
        elif event["type"] == "content_block_delta" and event["delta"]["type"] == "text_delta":
            text += event["delta"]["text"]
        elif event["type"] == "message_delta":
            message |= event["delta"]
        is_complete = event["type"] == "message_stop"
    if not is_complete:
        raise ValueError("the API's answer ends in its middle")
    return {**message, "content": [{"type": "text", "text": text}], "usage": usage}


def _escape_surrogates(text: str) -> str:
    """Return the text with unpaired surrogates as escapes, since UTF-8 cannot encode them."""
    return text.encode(errors="backslashreplace").decode()


def _parse_usage(usage: Any) -> Usage | None:
    """Return the usage that a message states; None if input or output is missing, or a number is impossible."""
    counts = {
        "input": usage.get("input_tokens"),
        "output": usage.get("output_tokens"),
        # absent or null if the server has no cache
        "cache_write": usage.get("cache_creation_input_tokens") or 0,
        "cache_read": usage.get("cache_read_input_tokens") or 0,
    }
    try:
        return Usage.read(counts)
    except DataError:
        return None


def format_cost(cost: float | None) -> str:
    """Return a cost in US dollars as text, the smaller the more decimals; None is an unknown cost."""
    if cost is None:
        return "an unknown cost"
    if cost >= 1:
        return f"${cost:.2f}"
    return f"${cost:.6f}" if 0 < cost < 0.0001 else f"${cost:.4f}"


def sum_costs(costs: Sequence[float | None]) -> float | None:
    """Return the sum of costs; None if one of them is unknown."""
    return None if None in costs else sum(cost for cost in costs if cost is not None)


def render_prompt(name: str, **values: Any) -> str:
    """Render `templates/prompts/<name>.md.j2`. Values are inserted without escaping, since a prompt is text for a model."""
    return _create_environment().get_template(f"{name}.md.j2").render(**values).strip() + "\n"


@cache
def _create_environment() -> Environment:
    """Return the environment of the prompt templates, in which an undefined name raises an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(resource_folder("templates") / "prompts"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
