"""A call of a model and its answer, as data: nothing here knows of a network.

Source: the two-phase design's section on the LLM's part; the Messages API.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Effort = Literal["low", "medium", "high", "xhigh", "max"]
_FRAME_BYTES = 1_000
EFFORTS: tuple[Effort, ...] = ("low", "medium", "high", "xhigh", "max")


@dataclass(frozen=True, slots=True)
class Call:
    """One question to a model, whose answer is a JSON object of the given schema.

    `system` is the constant part, which the API caches; `user` is what differs. `key` names the call, in
    batches too, where it has to be of letters and digits, under 64 of them. `effort` and `thinking` are None where
    the model knows no such thing, and `schema` is empty where its prompt says it. `max_tokens` bounds what the answer may cost.
    """

    key: str
    model: str
    system: str
    user: str
    schema: Mapping[str, Any]
    max_tokens: int
    effort: Effort | None = "low"
    thinking: Literal["disabled"] | None = None

    @property
    def bytes(self) -> int:
        """How long the prompt is in UTF-8, with the schema and what the API puts around it; no prompt has more tokens."""
        return len(self.system.encode()) + len(self.user.encode()) + len(json.dumps(dict(self.schema))) + _FRAME_BYTES


def params(call: Call) -> dict[str, Any]:
    """The call as `messages.create` takes it, and as a batch does."""
    output: dict[str, Any] = {}
    if call.schema:
        output["format"] = {"type": "json_schema", "schema": dict(call.schema)}
    if call.effort is not None:
        output["effort"] = call.effort
    made: dict[str, Any] = {
        "model": call.model,
        "max_tokens": call.max_tokens,
        "system": [{"type": "text", "text": call.system, "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": call.user}],
    }
    if output:
        made["output_config"] = output
    if call.thinking is not None:
        made["thinking"] = {"type": call.thinking}
    return made


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one answer: read anew, written to the cache, read from it, and put out."""

    input: int = 0
    cache_write: int = 0
    cache_read: int = 0
    output: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.cache_write + other.cache_write,
            self.cache_read + other.cache_read,
            self.output + other.output,
        )

    @property
    def prompt(self) -> int:
        """All tokens of the prompt, cached or not."""
        return self.input + self.cache_write + self.cache_read


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: the text of all text blocks, why the model stopped, what it took."""

    text: str
    stop_reason: str
    usage: Usage
    request_id: str = ""

    @property
    def fault(self) -> str:
        """Why the text is not the whole answer; empty where it is."""
        return (
            "" if self.stop_reason in _WHOLE else _STOPS.get(self.stop_reason, f"the model stopped: {self.stop_reason}")
        )


_WHOLE = ("end_turn", "stop_sequence")
_STOPS = {
    "max_tokens": "the answer was cut off at its longest length",
    "refusal": "the model refused to answer",
    "model_context_window_exceeded": "the prompt is too long for the model",
    "pause_turn": "the model paused in the middle of its answer",
    "tool_use": "the model asked for a tool, and there is none",
}


_TOKENS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


def answer_of(message: Any, request_id: str = "") -> Answer:
    """The answer in a message, as JSON text or read already. The first block need not be text: models may think before.

    Raises `ValueError` for what is no message.
    """
    try:
        message = json.loads(message) if isinstance(message, bytes) else message
        usage = message["usage"]
        return Answer(
            text="".join(block["text"] for block in message["content"] if block["type"] == "text"),
            stop_reason=str(message["stop_reason"] or "nothing said"),
            usage=Usage(*(int(usage.get(name) or 0) for name in _TOKENS)),
            request_id=request_id,
        )
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
        raise ValueError("what the API answered is no message") from None
