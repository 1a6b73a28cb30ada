"""Transports of answers: a model that is asked, a recorded transcript, or a recorder around the first.

All are one function, so that a live run, a replay and a resumed run are the same session.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace

from formulaseed.draft.prompts import MOST_TOKENS
from formulaseed.draft.transcript import Exchange, Settings, Transcript
from formulaseed.draft.wire import read_answer
from formulaseed.errors import DataError, FormulaSeedError
from formulaseed.llm.calls import Answer, Call, UnusableAnswer
from formulaseed.llm.client import CallFailed, Client, Limits, ModelCapabilities
from formulaseed.llm.loop import InterruptibleLoop
from formulaseed.llm.prices import Budget

LIMITS = Limits(concurrency=1, retries=4, timeout=180.0, deadline=1800.0)
"""A draft is one call after another; a long answer takes minutes."""
_TOO_LARGE = ("grammar", "schema", "output_config")
"""One of these words is in the API's message where it rejects a schema."""


Ask = Callable[[str, Call], Exchange]
"""Returns the call of this name with its answer. Names are in the order of the calls. Raises `FormulaSeedError`."""


@dataclass
class LiveTransport:
    """Asks a model. `notify` is called with notices."""

    budget: Budget
    notify: Callable[[str], None]

    def __post_init__(self) -> None:
        self._loop = InterruptibleLoop()
        self._client: Client | None = None
        self._capabilities: dict[str, ModelCapabilities] = {}

    def ask(self, name: str, call: Call) -> Exchange:
        return self._loop.run(self._ask(name, call))

    def close(self) -> None:
        if self._client is not None:
            self._loop.run(self._client.aclose())
        self._loop.close()

    async def _ask(self, name: str, call: Call) -> Exchange:
        client = self._client = self._client or Client(LIMITS, self.budget.attempted)
        able = self._capabilities.get(call.model) or await client.capabilities(call.model)
        self._capabilities[call.model] = able
        known = call if able.effort else replace(call, effort=None)
        if able.structured:
            try:
                return Exchange(call, await self._paid(client, known))
            except CallFailed as error:
                if error.status != 400 or not any(word in str(error) for word in _TOO_LARGE):
                    raise
                self.notify(f"{name}: {error}; asked again with the schema in the prompt")
                self._capabilities[call.model] = replace(able, structured=False)
        return Exchange(call, await self._paid(client, with_schema_in_prompt(known)))

    async def _paid(self, client: Client, call: Call) -> Answer:
        if not await self.budget.reserve(call):
            prefix = "nothing more is asked: " if self.budget.has_price(call) else ""
            raise FormulaSeedError(prefix + self.budget.refusal(call))
        try:
            async with client.turn(call):
                answer, attempt = await client.ask(call)
            self.budget.attempted(attempt)
        finally:
            self.budget.settle(call)
        return answer if call.schema else replace(answer, text=_unfenced(answer.text))


def with_schema_in_prompt(call: Call) -> Call:
    """Return the call for a model without structured output; its answer is validated here in any case."""
    schema = json.dumps(dict(call.schema), ensure_ascii=False)
    words = f"\nAnswer with one JSON object of this schema and nothing else:\n\n{schema}\n"
    return replace(call, system=call.system + words, schema={})


def _unfenced(text: str) -> str:
    """The text without a Markdown fence around it."""
    text = text.strip()
    return text.split("\n", 1)[-1].removesuffix("```").strip() if text.startswith("```") else text


def replaying(transcript: Transcript) -> Ask:
    """Return what answers from a transcript alone; a call that is not the recorded one is refused."""

    def ask(name: str, call: Call) -> Exchange:
        exchange = transcript.exchange(name)
        if exchange is None:
            raise DataError(f"the transcript has no answer to step {name}", str(transcript.folder))
        exchange.must_be(name, call)
        return exchange

    return ask


def recording(inner: Ask, transcript: Transcript, settings: Settings) -> Ask:
    """Return what writes each answer into a transcript as soon as it comes; what is recorded already is not asked again.

    An unusable recorded answer is set aside and asked again: with more room where it was cut off.
    """

    def ask(name: str, call: Call) -> Exchange:
        found = transcript.exchange(name)
        if found is not None:
            found.must_be(name, call)
            if _is_usable(found):
                return found
            transcript.set_aside(name)
            if found.answer.stop_reason == "max_tokens":
                call = replace(call, max_tokens=min(MOST_TOKENS, 2 * found.call.max_tokens))
        exchange = inner(name, call)
        transcript.begin(settings)
        transcript.write(f"{name}.json", exchange.to_json())
        return exchange

    return ask


def _is_usable(exchange: Exchange) -> bool:
    try:
        read_answer(exchange.answer.text, exchange.call.schema)
    except UnusableAnswer:
        return False
    return not exchange.answer.fault
