"""A call of a model, its answer and its cost, as data, and the templates of prompts: nothing here knows of a network.

Source: the two-phase design's section on the LLM's part; the Messages API.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal

from formulaseed.data.records import UsageRecord
from formulaseed.errors import DataError
from formulaseed.resources import resource_folder

if TYPE_CHECKING:
    from jinja2 import Environment

Effort = Literal["low", "medium", "high", "xhigh", "max"]
EFFORTS: tuple[Effort, ...] = ("low", "medium", "high", "xhigh", "max")
_FRAME_BYTES = 1_000


@dataclass(frozen=True, slots=True)
class ModelCapabilities:
    """The optional features that a model supports; by default those of current models."""

    effort: bool = True
    thinking_off: bool = False
    structured: bool = True


@dataclass(frozen=True)
class Call:
    """One question to a model, whose answer is a JSON object of the given schema.

    `system` is the constant part, which the API caches; `user` is what differs, and `remark` follows it as a text of its own.
    `key` names the call, in batches too, where it must be under 64 letters and digits. `effort` and `thinking` are None where
    the model does not support them, and `schema` is empty where the prompt contains it.
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

    @cached_property
    def bytes(self) -> int:
        """The prompt's length in UTF-8 with the schema and the API's frame: an upper bound of its tokens."""
        texts = sum(len(text.encode()) for text in (self.system, self.user, self.remark))
        return texts + len(json.dumps(dict(self.schema))) + _FRAME_BYTES

    @cached_property
    def at_most(self) -> Usage:
        """An upper bound of what an answer costs: each byte of the prompt a token that is written to the cache."""
        return Usage(cache_write=self.bytes, output=self.max_tokens)


def params(call: Call) -> dict[str, Any]:
    """Return the call as `messages.create` takes it, and as a batch does."""
    schema = {"format": {"type": "json_schema", "schema": dict(call.schema)}} if call.schema else {}
    said = [{"type": "text", "text": text} for text in (call.user, call.remark)]
    output = {**schema, **({"effort": call.effort} if call.effort is not None else {})}
    return {
        "model": call.model,
        "max_tokens": call.max_tokens,
        "system": [{"type": "text", "text": call.system, "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": said if call.remark else call.user}],
        **({"output_config": output} if output else {}),
        **({"thinking": {"type": call.thinking}} if call.thinking is not None else {}),
    }


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens: uncached input, written to the cache, read from it, and output."""

    input: int = 0
    cache_write: int = 0
    cache_read: int = 0
    output: int = 0

    @classmethod
    def read(cls, value: Any) -> Usage:
        """Return the usage in a JSON object of one answer. Raises `DataError` for impossible numbers."""
        record = UsageRecord.read(value)
        return cls(record.input, record.cache_write, record.cache_read, record.output)

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(Usage)))

    def to_json(self) -> dict[str, int]:
        return {field.name: getattr(self, field.name) for field in fields(Usage)}

    @property
    def prompt(self) -> int:
        """All tokens of the prompt, cached or not."""
        return self.input + self.cache_write + self.cache_read


_NOTHING = Usage()


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request that went out. `status` is the HTTP status, or a word where there was none; `ms` how long it took."""

    key: str
    model: str
    status: str
    ms: int
    usage: Usage | None = None
    """None where nothing was charged."""
    request_id: str = ""
    number: int = 1
    """How many requests this call has taken, with this one."""
    id: int = 0
    """Its number in the ledger."""
    is_bound: bool = False
    """Whether the usage is only what it was at most: nobody knows what the API charges for it."""


class UnusableAnswer(DataError):
    """Raised for an answer that is not what was asked for, with the reason."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer: the text of all text blocks, the reason why the model stopped, the tokens used.

    `is_bound` is True if the answer does not state its usage in numbers; `usage` is then the upper bound of its call.
    """

    text: str
    stop_reason: str
    usage: Usage
    request_id: str = ""
    is_bound: bool = False

    @property
    def fault(self) -> str:
        """Why the text is not the whole answer; empty where it is."""
        return _STOPS.get(self.stop_reason, f"the model stopped: {self.stop_reason}")


_STOPS = {
    "end_turn": "",
    "stop_sequence": "",
    "max_tokens": "the answer was cut off at its longest length",
    "refusal": "the model refused to answer",
    "model_context_window_exceeded": "the prompt is too long for the model",
    "pause_turn": "the model paused in the middle of its answer",
    "tool_use": "the model asked for a tool, and there is none",
}


def answer_of(message: Any, request_id: str = "", at_most: Usage = _NOTHING) -> Answer:
    """Return the answer in a message, as JSON text or parsed. The first block need not be text: models may think first.

    `at_most` is its usage where it states none in numbers. Raises `ValueError` for what is not a message.
    """
    try:
        message = json.loads(message) if isinstance(message, bytes) else message
        usage = _stated_usage(message["usage"])
        return Answer(
            text=_encodable("".join(block["text"] for block in message["content"] if block["type"] == "text")),
            stop_reason=_encodable(str(message["stop_reason"] or "nothing said")),
            usage=at_most if usage is None else usage,
            request_id=request_id,
            is_bound=usage is None,
        )
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
        raise ValueError("the API's answer is not a message") from None


def _encodable(text: str) -> str:
    """Return a text that a file can hold: with half of a character (an unpaired surrogate) as its escape in JSON."""
    return text.encode(errors="backslashreplace").decode()


def _stated_usage(usage: Any) -> Usage | None:
    """Return the usage that a message states; None where its numbers cannot be those of an answer."""
    stated = {
        "input": usage.get("input_tokens"),
        "output": usage.get("output_tokens"),
        # absent or null where there is no cache
        "cache_write": usage.get("cache_creation_input_tokens") or 0,
        "cache_read": usage.get("cache_read_input_tokens") or 0,
    }
    try:
        return Usage.read(stated)
    except DataError:
        return None


def cost_text(cost: float | None) -> str:
    """Return a cost for people."""
    if cost is None:
        return "an unknown cost"
    is_tiny = 0 < cost < 0.0001
    if cost >= 1:
        return f"${cost:.2f}"
    return f"${cost:.6f}" if is_tiny else f"${cost:.4f}"


def total(costs: Sequence[float | None]) -> float | None:
    """Return the sum of costs; None where one is unknown."""
    return None if None in costs else sum(cost for cost in costs if cost is not None)


def prompt(name: str, **values: Any) -> str:
    """Render `templates/prompts/<name>.md.j2`. A value is text for a model, never code, and is inserted as it is."""
    return _environment().get_template(f"{name}.md.j2").render(**values).strip() + "\n"


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(resource_folder("templates") / "prompts"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
