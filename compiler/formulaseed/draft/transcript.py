"""Reads and writes the transcript of a draft, and asks for answers: every prompt, answer and diagnostic as readable JSON.

`session.json` contains the settings, `01-conditions.json` a call with its answer, `03-seed.diagnostics.json` the diagnostics of
the draft that an answer results in. A transcript contains no times, no names of machines and no API keys. Answers come from a
model, from a transcript, or from a model with a transcript that records them. Each source is a function `Ask`, so that a session
is the same for all.
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
from formulaseed.draft.wire import parse_json, read_answer
from formulaseed.errors import DataError, FormulaSeedError, UnreadableError
from formulaseed.llm import calls
from formulaseed.llm.client import Client
from formulaseed.llm.connecting import REFUSALS, CallFailed, Limits, NotAsked
from formulaseed.llm.interruption import run_interruptibly
from formulaseed.llm.limiter import CostBudget
from formulaseed.seed.write.canonical import format_json

Json = Any

_SETTINGS_FILE = "session.json"
MAX_TOKENS_OF_RETRY = 64_000
"""The maximum length of an answer that was cut off before."""
_OTHER_VERSION = "another version of formulaseed recorded it"


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a session. `task_name` is empty if the text names the task; `note` is a remark for readers."""

    model: str
    effort: calls.Effort | None
    max_repairs: int
    task_name: str = ""
    note: str = ""

    def to_json(self) -> dict[str, Json]:
        """Return the settings as `session.json` has them, without an empty note or name."""
        optional = {"note": self.note, "task_name": self.task_name}
        required = {name: getattr(self, name) for name in ("model", "effort", "max_repairs")}
        return {**{name: value for name, value in optional.items() if value}, **required}


@dataclass(frozen=True, slots=True)
class Exchange:
    """A call with its answer. `discarded` are the usages of its earlier answers, which were billed, too; None if unknown."""

    call: calls.ModelCall
    answer: calls.Answer
    discarded: tuple[calls.Usage | None, ...] = ()

    def check_call(self, name: str, call: calls.ModelCall) -> None:
        """Raise `DataError` if the recorded call differs from `call`, with the first line that differs."""
        if dict(self.call.schema) != dict(call.schema):
            raise DataError(f"step {name} is not the recorded one: its schema differs; {_OTHER_VERSION}")
        for title, recorded, current, reason in (
            ("instructions", self.call.system, call.system, _OTHER_VERSION),
            ("user message", self.call.user, call.user, "the task text or an earlier answer has changed since"),
        ):
            if recorded != current:
                lines = zip_longest(recorded.split("\n"), current.split("\n"))
                line = next(number for number, (a, b) in enumerate(lines, 1) if a != b)
                message = f"its {title} differs from line {line} on; {reason}"
                raise DataError(f"step {name} is not the recorded one: {message}")

    def to_json(self) -> dict[str, Json]:
        """Return the exchange as its file has it: the answer as JSON, or as lines of text if it is not JSON."""
        call, answer = self.call, self.answer
        try:
            content: dict[str, Json] = {"answer": parse_json(answer.text)}
        except calls.UnusableAnswer:
            content = {"answer_text": answer.text.split("\n")}
        discarded = {"discarded": [usage and usage.to_json() for usage in self.discarded]} if self.discarded else {}
        return {
            "step": call.key,
            **{name: getattr(call, name) for name in ("model", "effort", "max_tokens")},
            "system": call.system.split("\n"),
            "user": call.user.split("\n"),
            "schema": dict(call.schema),
            **content,
            "stop_reason": answer.stop_reason,
            "usage": answer.usage.to_json(),
            **discarded,
        }


def parse_exchange(data: Json) -> Exchange:
    """Return the exchange in the JSON of a file. Raises `DataError` if it is not an exchange."""
    try:
        step, model, system, user = _read_values(data, {"step": str, "model": str, "system": list, "user": list})
        schema, max_tokens = _read_values(data, {"schema": dict, "max_tokens": int})
        call = calls.ModelCall(step, model, "\n".join(system), "\n".join(user), schema, max_tokens, _read_effort(data))
        if "answer_text" in data:
            text = "\n".join(*_read_values(data, {"answer_text": list}))
        else:
            text = json.dumps(data["answer"], ensure_ascii=False, separators=(",", ":"))
        (stop_reason,) = _read_values(data, {"stop_reason": str})
        discarded = tuple(None if usage is None else calls.Usage.read(usage) for usage in data.get("discarded", ()))
        return Exchange(call, calls.Answer(text, stop_reason, calls.Usage.read(data["usage"])), discarded)
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"not a call of a draft: {error}") from None
    except DataError as error:
        raise DataError(f"not a call of a draft: its usage is wrong: {error}") from None


def _read_values(data: Json, types: Mapping[str, type]) -> list[Any]:
    """Return the values of the keys in `types`, in their order.

    Raises `KeyError` for a missing key, `TypeError` for a value of another type or if `data` is no object.
    """
    for name, type_ in types.items():
        if not isinstance(data[name], type_):
            raise TypeError(f"`{name}` is not of the type {type_.__name__}")
    return [data[name] for name in types]


def _read_effort(data: Json) -> calls.Effort | None:
    """Return the value of `effort`, which may be null. Raises `KeyError`, or `TypeError` for another value."""
    if data["effort"] not in (None, *calls.EFFORTS):
        raise TypeError("`effort` is not an effort")
    return data["effort"]  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Transcript:
    """A folder with the transcript of a draft."""

    folder: Path

    @property
    def holds_answers(self) -> bool:
        """True if the folder contains a recorded call."""
        return any(self.folder.glob("[0-9][0-9]-*.json"))

    def settings(self) -> Settings:
        """Read the settings of the session from the folder.

        Raises `UnreadableError` if the file cannot be read, `DataError` if it is malformed.
        """
        path = self.folder / _SETTINGS_FILE
        data = read_json(path)
        try:
            model, max_repairs = _read_values(data, {"model": str, "max_repairs": int})
            texts = _read_values({"task_name": "", "note": "", **data}, {"task_name": str, "note": str})
            return Settings(model, _read_effort(data), max_repairs, *texts)
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(f"not a session of a draft: {error}", str(path)) from None

    def exchange(self, name: str) -> Exchange | None:
        """Read the recorded call of this name with its answer; None if there is no file.

        Raises `UnreadableError` if the file cannot be read, `DataError` if it is malformed.
        """
        path = self.folder / f"{name}.json"
        if not path.exists():
            return None
        data = read_json(path)
        try:
            return parse_exchange(data)
        except DataError as error:
            raise error.at(str(path)) from None

    def write(self, file: str, value: Json) -> None:
        """Write a file of the folder atomically. Raises `UnreadableError` if that fails."""
        replace_file(self.folder / file, format_json(value))

    def keep(self, name: str, diagnostics: list[dict[str, Json]]) -> None:
        """Write the diagnostics of the draft that the answer `name` results in.

        Raises `UnreadableError` if the file cannot be written.
        """
        self.write(f"{name}.diagnostics.json", diagnostics)

    def set_aside(self, name: str) -> None:
        """Rename the file of a recorded call, so that the call can be made again and its usage is not lost.

        Raises `OSError` if the file does not exist.
        """
        number = len(self.discarded_usages(name)) + 1
        (self.folder / f"{name}.json").rename(self.folder / f"{name}.unused-{number}.json")

    def discarded_usages(self, name: str) -> tuple[calls.Usage | None, ...]:
        """Read the usage of each call of this name that was set aside; None for a damaged file."""
        usages: list[calls.Usage | None] = []
        while (path := self.folder / f"{name}.unused-{len(usages) + 1}.json").exists():
            try:
                usages.append(parse_exchange(read_json(path)).answer.usage)
            except DataError:
                usages.append(None)
        return tuple(usages)


LIMITS = Limits(concurrency=1, retries=4, timeout=180.0, deadline=1800.0)
"""A draft is one call after another; a long answer takes minutes."""
Ask = Callable[[str, calls.ModelCall], Exchange]
"""A function that returns a call with its answer, or raises `FormulaSeedError`. The names of calls sort in their order."""


class LiveTransport:
    """A connection to the API, whose `ask` is an `Ask`. `notify` is called with notices for people.

    `answered` are the calls that were billed, by name; `broken` counts the attempts that may have been billed in addition.
    """

    def __init__(self, budget: CostBudget, notify: Callable[[str], None]) -> None:
        self._budget = budget
        self._notify = notify
        self._runner = asyncio.Runner()
        self._client: Client | None = None
        self._capabilities: calls.ModelCapabilities | None = None
        self.answered: dict[str, Exchange] = {}
        self.broken = 0

    def ask(self, name: str, call: calls.ModelCall) -> Exchange:
        """Ask the model, which is paid, and add the exchange to `answered`.

        Raises `FormulaSeedError` without an answer, and `Interrupted` at a signal.
        """
        try:
            self.answered[name] = run_interruptibly(self._runner, self._ask(name, call))
            return self.answered[name]
        except NotAsked as error:
            raise FormulaSeedError(f"{'nothing more is asked: ' if error.is_final else ''}{error}") from None

    def close(self) -> None:
        """Close the connection and its event loop. Raises `Interrupted` at a signal."""
        if self._client is not None:
            run_interruptibly(self._runner, self._client.aclose())
        self._runner.close()

    def _count_attempt(self, attempt: calls.Attempt) -> None:
        """Add an attempt without an answer to `broken` if it may have been billed."""
        self.broken += attempt.is_bound

    async def _ask(self, name: str, call: calls.ModelCall) -> Exchange:
        """Ask with the schema as a parameter or, if the model or the API does not support it, in the prompt.

        The first call connects; its client and capabilities are kept for later calls. An effort that the model does not
        support is left out. If the API refuses the schema, asks a second time, and notifies. Raises `CallFailed`
        without an answer, also `NotAsked` over the budget.
        """
        client = self._client = self._client or Client(LIMITS, self._budget, on_attempt=self._count_attempt)
        capabilities = self._capabilities = self._capabilities or await client.capabilities(call.model)
        try:
            answer, _ = await client.ask(calls.adapt_call(call, capabilities))
        except CallFailed as error:
            learned = capabilities.without_refused(str(error)) if error.status in REFUSALS else None
            # Anthropic's own API may refuse a schema for its size, and nothing else
            if learned is None or not (client.is_foreign or learned.structured < capabilities.structured):
                raise
            way = "with the schema in the prompt" if learned.structured < capabilities.structured else "without that"
            self._notify(f"{name}: {error}; asked again {way}")
            self._capabilities = learned
            return await self._ask(name, call)
        # nothing is lost without an enforced schema: the session validates every answer
        return Exchange(call, answer if capabilities.enforces_schema else calls.strip_fence(answer))


def replay_answers(transcript: Transcript) -> Ask:
    """Return an `Ask` that reads the answers of a transcript, and raises `DataError` if a call differs from the recorded one."""

    def ask(name: str, call: calls.ModelCall) -> Exchange:
        """Return the recorded exchange. Raises `DataError` if there is none, or its call differs."""
        exchange = transcript.exchange(name)
        if exchange is None:
            raise DataError(f"the transcript has no answer to step {name}", str(transcript.folder))
        exchange.check_call(name, call)
        return exchange

    return ask


def record_answers(inner: Ask, transcript: Transcript, settings: Settings, notify: Callable[[str], None]) -> Ask:
    """Return an `Ask` that reads the answers in a transcript, and gets the others from `inner` and records them at once.

    An unusable recorded answer, or a damaged file, is set aside and asked for again; a notice says so. As later prompts contain
    earlier answers, a recorded call that differs is set aside, too, if an answer is new; otherwise it raises `DataError`.
    """
    is_new = False

    def read_recorded(name: str, call: calls.ModelCall) -> Exchange | None:
        """Return the recorded exchange; None if there is none, or it was set aside.

        Raises `DataError` if its call differs and no answer is new yet, and `UnreadableError`.
        """
        has_file = False
        try:
            exchange = transcript.exchange(name)
            has_file = exchange is not None
            if exchange is not None:
                exchange.check_call(name, call)
            return exchange
        except UnreadableError:
            raise
        except DataError as error:
            # a readable call that differs while no answer is new: the text or the program has changed
            if has_file and not is_new:
                raise
            notify(f"{error}; it is asked for again")
            transcript.set_aside(name)
            return None

    def ask(name: str, call: calls.ModelCall) -> Exchange:
        """Return the recorded exchange if it is usable; otherwise ask `inner`, and write the answer and the settings.

        An answer that was cut off is asked for again with twice the tokens, up to `MAX_TOKENS_OF_RETRY`.
        """
        nonlocal is_new
        recorded = read_recorded(name, call)
        if recorded is not None:
            with suppress(calls.UnusableAnswer):
                read_answer(recorded.answer.text, recorded.call.schema)
                if not recorded.answer.fault:
                    return recorded
            transcript.set_aside(name)
            # an answer that was cut off is asked for with more room
            if recorded.answer.stop_reason == "max_tokens":
                call = replace(call, max_tokens=min(MAX_TOKENS_OF_RETRY, 2 * recorded.call.max_tokens))
        exchange = inner(name, call)
        is_new = True
        exchange = replace(exchange, discarded=(*exchange.discarded, *transcript.discarded_usages(name)))
        transcript.write(_SETTINGS_FILE, settings.to_json())
        transcript.write(f"{name}.json", exchange.to_json())
        return exchange

    return ask
