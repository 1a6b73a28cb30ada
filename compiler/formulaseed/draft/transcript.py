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
from formulaseed.errors import DataError, FormulaSeedError, UnreadableError
from formulaseed.llm.calls import EFFORTS, Answer, Attempt, Effort, ModelCall, ModelCapabilities, UnusableAnswer, Usage
from formulaseed.llm.client import Client
from formulaseed.llm.connecting import Limits
from formulaseed.llm.failures import CallFailed, NotAsked
from formulaseed.llm.interruption import run_interruptibly
from formulaseed.llm.limiter import CostBudget
from formulaseed.seed.write.canonical import layout

Json = Any

_SESSION = "session.json"
_OTHER_VERSION = "another version of formulaseed recorded it"


@dataclass(frozen=True, slots=True)
class Settings:
    """What a session was started with. `task_name` is empty where the text names the task; `note` is a remark."""

    model: str
    effort: Effort | None
    max_repairs: int
    task_name: str = ""
    note: str = ""

    def to_json(self) -> dict[str, Json]:
        optional = {"note": self.note, "task_name": self.task_name}
        started = {name: getattr(self, name) for name in ("model", "effort", "max_repairs")}
        return {**{name: value for name, value in optional.items() if value}, **started}


@dataclass(frozen=True, slots=True)
class Exchange:
    """A call with its answer. `discarded` are the tokens of earlier answers to it, which were billed too; None if unknown."""

    call: ModelCall
    answer: Answer
    discarded: tuple[Usage | None, ...] = ()

    def must_be(self, name: str, call: ModelCall) -> None:
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
            **({"discarded": [each and each.to_json() for each in self.discarded]} if self.discarded else {}),
        }


def exchange_of(given: Json) -> Exchange:
    """Return the exchange in the JSON of a file. Raises `DataError` where it is not one."""
    try:
        step, model, system, user = _values(given, {"step": str, "model": str, "system": list, "user": list})
        schema, most = _values(given, {"schema": dict, "max_tokens": int})
        call = ModelCall(step, model, "\n".join(system), "\n".join(user), schema, most, _effort(given))
        if "answer_text" in given:
            text = "\n".join(*_values(given, {"answer_text": list}))
        else:
            text = json.dumps(given["answer"], ensure_ascii=False, separators=(",", ":"))
        (stop,) = _values(given, {"stop_reason": str})
        discarded = tuple(None if each is None else Usage.read(each) for each in given.get("discarded", ()))
        return Exchange(call, Answer(text, stop, Usage.read(given["usage"])), discarded)
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"not a call of a draft: {error}") from None
    except DataError as error:
        raise DataError(f"not a call of a draft: its usage is wrong: {error}") from None


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
            named = _values({"task_name": "", "note": "", **given}, {"task_name": str, "note": str})
            return Settings(model, _effort(given), repairs, *named)
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
        (self.folder / f"{name}.json").rename(self.folder / f"{name}.unused-{len(self.unused(name)) + 1}.json")

    def unused(self, name: str) -> tuple[Usage | None, ...]:
        """Return the tokens of the calls of this name that were set aside; None for a damaged file."""
        found: list[Usage | None] = []
        while (path := self.folder / f"{name}.unused-{len(found) + 1}.json").exists():
            try:
                found.append(exchange_of(read_json(path)).answer.usage)
            except DataError:
                found.append(None)
        return tuple(found)


LIMITS = Limits(concurrency=1, retries=4, timeout=180.0, deadline=1800.0)
"""A draft is one call after another; a long answer takes minutes."""
_TOO_LARGE = ("grammar", "schema", "output_config")
"""One of these words is in the API's message where it rejects a schema."""
Ask = Callable[[str, ModelCall], Exchange]
"""Returns the call of this name with its answer. Names are in the order of the calls. Raises `FormulaSeedError`."""


class LiveTransport:
    """Asks a model. `notify` is called with notices.

    `answered` are the calls that were billed, and `broken` counts the attempts that ended without an answer.
    """

    def __init__(self, budget: CostBudget, notify: Callable[[str], None]) -> None:
        self._budget = budget
        self._notify = notify
        self._runner = asyncio.Runner()
        self._client: Client | None = None
        self._able: ModelCapabilities | None = None
        self.answered: dict[str, Exchange] = {}
        self.broken = 0

    def ask(self, name: str, call: ModelCall) -> Exchange:
        try:
            self.answered[name] = run_interruptibly(self._runner, self._ask(name, call))
            return self.answered[name]
        except NotAsked as error:
            raise FormulaSeedError(f"{'nothing more is asked: ' if error.is_final else ''}{error}") from None

    def close(self) -> None:
        if self._client is not None:
            run_interruptibly(self._runner, self._client.aclose())
        self._runner.close()

    def _attempted(self, attempt: Attempt) -> None:
        self.broken += attempt.is_bound

    async def _ask(self, name: str, call: ModelCall) -> Exchange:
        client = self._client = self._client or Client(LIMITS, self._budget, on_attempt=self._attempted)
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

    def ask(name: str, call: ModelCall) -> Exchange:
        exchange = transcript.exchange(name)
        if exchange is None:
            raise DataError(f"the transcript has no answer to step {name}", str(transcript.folder))
        exchange.must_be(name, call)
        return exchange

    return ask


def recording(inner: Ask, transcript: Transcript, settings: Settings, notify: Callable[[str], None]) -> Ask:
    """Return what writes each answer into a transcript as soon as it comes; what is recorded already is not asked again.

    An unusable recorded answer is set aside and asked again, with more room where it was cut off; so are one in a damaged
    file, and those after it that rest on another answer than the new one.
    """
    is_new = False

    def recorded(name: str, call: ModelCall) -> Exchange | None:
        """The recorded call of this name; None where it is damaged, or rests on another answer than this one."""
        try:
            found = transcript.exchange(name)
        except UnreadableError:
            raise
        except DataError as error:
            aside(name, error)
            return None
        try:
            if found is not None:
                found.must_be(name, call)
        except DataError as error:
            if not is_new:
                raise
            aside(name, error)
            return None
        return found

    def aside(name: str, error: DataError) -> None:
        notify(f"{error}; it is asked for again")
        transcript.set_aside(name)

    def ask(name: str, call: ModelCall) -> Exchange:
        nonlocal is_new
        found = recorded(name, call)
        if found is not None:
            with suppress(UnusableAnswer):
                read_answer(found.answer.text, found.call.schema)
                if not found.answer.fault:
                    return found
            transcript.set_aside(name)
            if found.answer.stop_reason == "max_tokens":
                call = replace(call, max_tokens=min(MOST_TOKENS, 2 * found.call.max_tokens))
        exchange = inner(name, call)
        is_new = True
        exchange = replace(exchange, discarded=(*exchange.discarded, *transcript.unused(name)))
        transcript.write(_SESSION, settings.to_json())
        transcript.write(f"{name}.json", exchange.to_json())
        return exchange

    return ask
