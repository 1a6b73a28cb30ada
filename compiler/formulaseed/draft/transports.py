"""Who brings an answer: a model that is asked, a recorded transcript, or one in front of the other.

All are one Protocol, so that a live run, a replay and a run that goes on where it stopped are the same session.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from formulaseed.draft.answers import Unusable, read_answer
from formulaseed.draft.prompts import MOST_TOKENS
from formulaseed.draft.transcript import Exchange, Settings, Transcript
from formulaseed.errors import DataError, FormulaSeedError
from formulaseed.llm.budget import Budget
from formulaseed.llm.calls import Answer, Call
from formulaseed.llm.client import CallFailed, Client, Limits, ModelCapabilities
from formulaseed.llm.loop import InterruptibleLoop

Json = Any

LIMITS = Limits(concurrency=1, retries=4, timeout=180.0, deadline=1800.0)
"""A draft is one call after another; a long answer takes minutes."""
_TOO_LARGE = ("grammar", "schema", "output_config")
"""One of these words is in the API's message where it refuses a schema."""


class Transport(Protocol):
    """Brings answers to calls, which are named in the order in which they are made."""

    def ask(self, name: str, call: Call) -> Exchange:
        """The call with its answer. Raises `FormulaSeedError` where there is none."""

    def keep(self, name: str, diagnostics: list[dict[str, Json]]) -> None:
        """Hear what the compiler says of the draft that an answer makes."""


@dataclass
class LiveTransport:
    """Asks a model. `notify` hears what is worth knowing on the way."""

    budget: Budget
    notify: Callable[[str], None]

    def __post_init__(self) -> None:
        self._loop = InterruptibleLoop()
        self._client: Client | None = None
        self._abilities: dict[str, ModelCapabilities] = {}

    def ask(self, name: str, call: Call) -> Exchange:
        return self._loop.run(self._ask(name, call))

    def keep(self, name: str, diagnostics: list[dict[str, Json]]) -> None:
        """Nothing is kept here."""

    def close(self) -> None:
        if self._client is not None:
            self._loop.run(self._client.aclose())
        self._loop.close()

    async def _ask(self, name: str, call: Call) -> Exchange:
        client = self._client = self._client or Client(LIMITS, self.budget.attempted)
        able = self._abilities.get(call.model) or await client.abilities(call.model)
        self._abilities[call.model] = able
        known = call if able.effort else replace(call, effort=None)
        if not able.structured:
            return Exchange(call, await self._paid(client, in_words(known)))
        try:
            return Exchange(call, await self._paid(client, known))
        except CallFailed as error:
            if error.status != 400 or not any(word in str(error) for word in _TOO_LARGE):
                raise
            self.notify(f"{name}: {error}; asked once more with the schema in the prompt")
            self._abilities[call.model] = replace(able, structured=False)
            return Exchange(call, await self._paid(client, in_words(known)))

    async def _paid(self, client: Client, call: Call) -> Answer:
        if not await self.budget.reserve(call):
            told = "nothing more is asked: " if self.budget.has_price(call) else ""
            raise FormulaSeedError(told + self.budget.refusal(call))
        try:
            async with client.turn(call):
                answer, attempt = await client.ask(call)
            self.budget.attempted(attempt)
        finally:
            self.budget.settle(call)
        return answer if call.schema else replace(answer, text=_unfenced(answer.text))


def in_words(call: Call) -> Call:
    """The call for a model that cannot be held to a schema: its prompt says it, and the answer is checked here as ever."""
    schema = json.dumps(dict(call.schema), ensure_ascii=False)
    words = f"\nAnswer with one JSON object of this schema and nothing else:\n\n{schema}\n"
    return replace(call, system=call.system + words, schema={})


def _unfenced(text: str) -> str:
    """The text without the fence that models like to put around JSON."""
    text = text.strip()
    return text.split("\n", 1)[-1].removesuffix("```").strip() if text.startswith("```") else text


@dataclass
class ReplayTransport:
    """Answers from a transcript, and nothing else; a call that is not the recorded one is refused."""

    transcript: Transcript

    def ask(self, name: str, call: Call) -> Exchange:
        record = self.transcript.record(name)
        if record is None:
            raise DataError(f"the transcript has no answer to step {name}", str(self.transcript.folder))
        record.must_be(name, call)
        return record

    def keep(self, name: str, diagnostics: list[dict[str, Json]]) -> None:
        """What the compiler says is told anew in each replay."""


@dataclass
class RecordingTransport:
    """Writes each answer into a transcript as soon as it is there; what it holds already is not asked for again.

    `inner` asks. A recorded answer that is of no use is put aside, and asked for anew: with more room where it was cut off.
    """

    inner: Transport
    transcript: Transcript
    settings: Settings

    def ask(self, name: str, call: Call) -> Exchange:
        found = self.transcript.record(name)
        if found is not None:
            found.must_be(name, call)
            if _is_useful(found):
                return found
            self.transcript.put_aside(name)
            if found.answer.stop_reason == "max_tokens":
                call = replace(call, max_tokens=min(MOST_TOKENS, 2 * found.call.max_tokens))
        record = self.inner.ask(name, call)
        self.transcript.begin(self.settings)
        self.transcript.write(name, record)
        return record

    def keep(self, name: str, diagnostics: list[dict[str, Json]]) -> None:
        self.transcript.write_diagnostics(name, diagnostics)


def _is_useful(record: Exchange) -> bool:
    if record.answer.fault:
        return False
    try:
        read_answer(record.answer.text, record.call.schema)
    except Unusable:
        return False
    return True
