"""The transcript of one draft: every prompt, answer, usage and diagnostic, as JSON that people can read in a diff.

`session.json` holds the settings, `01-conditions.json` a call with its answer, `03-seed.diagnostics.json` the diagnostics
of the draft that it makes. It has no times, no names of machines and no API keys. Answers come from a model that is asked, from
a transcript, or from the first recorded into the second; all are one function, so that these are the same session.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from formulaseed.data.files import read_json, replace_file
from formulaseed.draft.prompts import MOST_TOKENS
from formulaseed.draft.wire import load, read_answer
from formulaseed.errors import DataError, FormulaSeedError
from formulaseed.llm.calls import EFFORTS, Answer, Call, Effort, ModelCapabilities, UnusableAnswer, Usage
from formulaseed.llm.client import CallFailed, Client, Limits, NotAsked
from formulaseed.llm.limiter import CostBudget, run_interruptibly
from formulaseed.seed.write.canonical import layout

Json = Any

_SESSION = "session.json"
_OTHER_VERSION = "another version of formulaseed recorded it"


@dataclass(frozen=True, slots=True)
class Settings:
    """What a session was started with. `note` is a remark on the transcript."""

    model: str
    effort: Effort | None
    max_repairs: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A call with its answer."""

    call: Call
    answer: Answer

    def must_be(self, name: str, call: Call) -> None:
        """Raise `DataError` where the recorded call differs from this one."""
        if dict(self.call.schema) != dict(call.schema):
            raise DataError(f"step {name} is not the recorded one: its schema differs; {_OTHER_VERSION}")
        for what, recorded, now, why in (
            ("instructions", self.call.system, call.system, _OTHER_VERSION),
            ("user message", self.call.user, call.user, "the task text or an earlier answer has changed since"),
        ):
            if recorded != now:
                lines = zip_longest(recorded.split("\n"), now.split("\n"))
                line = next(number for number, (a, b) in enumerate(lines, 1) if a != b)
                raise DataError(f"step {name} is not the recorded one: its {what} differs from line {line} on; {why}")

    def to_json(self) -> dict[str, Json]:
        """Return it as a file has it: the answer as JSON, or as lines of text where it is not JSON."""
        call, answer = self.call, self.answer
        try:
            said: dict[str, Json] = {"answer": load(answer.text)}
        except UnusableAnswer:
            said = {"answer_text": answer.text.split("\n")}
        return {
            "step": call.key,
            **{name: getattr(call, name) for name in ("model", "effort", "max_tokens")},
            "system": call.system.split("\n"),
            "user": call.user.split("\n"),
            "schema": dict(call.schema),
            **said,
            "stop_reason": answer.stop_reason,
            "usage": answer.usage.to_json(),
        }


def exchange_of(given: Json) -> Exchange:
    """Return the exchange in the JSON of a file. Raises `DataError` where it is not one."""
    try:
        step, model, system, user = _values(given, {"step": str, "model": str, "system": list, "user": list})
        schema, most, usage = _values(given, {"schema": dict, "max_tokens": int, "usage": dict})
        call = Call(step, model, "\n".join(system), "\n".join(user), schema, most, _effort(given))
        if "answer_text" in given:
            text = "\n".join(*_values(given, {"answer_text": list}))
        else:
            text = json.dumps(given["answer"], ensure_ascii=False, separators=(",", ":"))
        tokens = Usage(*_values(usage, dict.fromkeys(Usage().to_json(), int)))
        (stop,) = _values(given, {"stop_reason": str})
        return Exchange(call, Answer(text, stop, tokens))
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"not a call of a draft: {error}") from None


def _values(given: Json, kinds: Mapping[str, type]) -> list[Any]:
    for name, kind in kinds.items():
        if not isinstance(given[name], kind):
            raise TypeError(f"`{name}` is not of the type {kind.__name__}")
    return [given[name] for name in kinds]


def _effort(given: Json) -> Effort | None:
    if given["effort"] not in (None, *EFFORTS):
        raise TypeError("`effort` is not an effort")
    return given["effort"]  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Transcript:
    """A transcript's folder."""

    folder: Path

    @property
    def holds_answers(self) -> bool:
        return any(self.folder.glob("[0-9][0-9]-*.json"))

    def settings(self) -> Settings:
        """Return how the session was started. Raises `UnreadableError`, and `DataError` for a malformed file."""
        path = self.folder / _SESSION
        given = read_json(path)
        try:
            model, repairs = _values(given, {"model": str, "max_repairs": int})
            return Settings(model, _effort(given), repairs, given.get("note", ""))
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(f"not a session of a draft: {error}", str(path)) from None

    def exchange(self, name: str) -> Exchange | None:
        """Return the call of this name with its answer, if there is one."""
        path = self.folder / f"{name}.json"
        if not path.exists():
            return None
        given = read_json(path)
        try:
            return exchange_of(given)
        except DataError as error:
            raise error.at(str(path)) from None

    def write(self, file: str, value: Json) -> None:
        """Write a file atomically. Raises `UnreadableError` where it cannot be written."""
        replace_file(self.folder / file, layout(value))

    def keep(self, name: str, diagnostics: list[dict[str, Json]]) -> None:
        """Write the diagnostics of the draft that an answer makes."""
        self.write(f"{name}.diagnostics.json", diagnostics)

    def set_aside(self, name: str) -> None:
        """Rename a recorded call, so that it can be made again and nothing is lost."""
        number = 1
        while (aside := self.folder / f"{name}.unused-{number}.json").exists():
            number += 1
        (self.folder / f"{name}.json").rename(aside)


LIMITS = Limits(concurrency=1, retries=4, timeout=180.0, deadline=1800.0)
"""A draft is one call after another; a long answer takes minutes."""
_TOO_LARGE = ("grammar", "schema", "output_config")
"""One of these words is in the API's message where it rejects a schema."""
Ask = Callable[[str, Call], Exchange]
"""Returns the call of this name with its answer. Names are in the order of the calls. Raises `FormulaSeedError`."""


class LiveTransport:
    """Asks a model. `notify` is called with notices."""

    def __init__(self, budget: CostBudget, notify: Callable[[str], None]) -> None:
        self._budget = budget
        self._notify = notify
        self._runner = asyncio.Runner()
        self._client: Client | None = None
        self._able: ModelCapabilities | None = None

    def ask(self, name: str, call: Call) -> Exchange:
        try:
            return run_interruptibly(self._runner, self._ask(name, call))
        except NotAsked as error:
            raise FormulaSeedError(f"{'nothing more is asked: ' if error.is_final else ''}{error}") from None

    def close(self) -> None:
        if self._client is not None:
            run_interruptibly(self._runner, self._client.aclose())
        self._runner.close()

    async def _ask(self, name: str, call: Call) -> Exchange:
        client = self._client = self._client or Client(LIMITS, self._budget)
        able = self._able = self._able or await client.capabilities(call.model)
        known = call if able.effort else replace(call, effort=None)
        if able.structured:
            try:
                return Exchange(call, (await client.ask(known))[0])
            except CallFailed as error:
                if error.status != 400 or not any(word in str(error) for word in _TOO_LARGE):
                    raise
                self._notify(f"{name}: {error}; asked again with the schema in the prompt")
                self._able = replace(able, structured=False)
        # the answer is validated here in any case
        schema = json.dumps(dict(call.schema), ensure_ascii=False)
        words = f"\nAnswer with one JSON object of this schema and nothing else:\n\n{schema}\n"
        answer, _ = await client.ask(replace(known, system=call.system + words, schema={}))
        text = answer.text.strip()
        text = text.split("\n", 1)[-1].removesuffix("```").strip() if text.startswith("```") else text
        return Exchange(call, replace(answer, text=text))


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
            with suppress(UnusableAnswer):
                read_answer(found.answer.text, found.call.schema)
                if not found.answer.fault:
                    return found
            transcript.set_aside(name)
            if found.answer.stop_reason == "max_tokens":
                call = replace(call, max_tokens=min(MOST_TOKENS, 2 * found.call.max_tokens))
        exchange = inner(name, call)
        about = {"note": settings.note} if settings.note else {}
        started = {name: getattr(settings, name) for name in ("model", "effort", "max_repairs")}
        transcript.write(_SESSION, about | started)
        transcript.write(f"{name}.json", exchange.to_json())
        return exchange

    return ask
