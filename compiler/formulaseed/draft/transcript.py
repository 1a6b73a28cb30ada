"""The transcript of one draft: every prompt, answer, usage and diagnostic, as JSON that people can read in a diff.

`session.json` holds the settings, `01-conditions.json` a call with its answer, `03-seed.diagnostics.json` the diagnostics
of the draft that it makes. It has no times, no names of machines and no API keys.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from formulaseed.data.files import read_json
from formulaseed.draft.wire import load
from formulaseed.errors import DataError, UnreadableError, reason_of
from formulaseed.llm.calls import EFFORTS, Answer, Call, Effort, UnusableAnswer, Usage
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
        pairs = (
            ("instructions", self.call.system, call.system, _OTHER_VERSION),
            ("user message", self.call.user, call.user, "the task text or an earlier answer has changed since"),
        )
        for what, recorded, now, why in pairs:
            if recorded != now:
                line = _first_difference(recorded, now)
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
        call = Call(
            key=_of(given["step"], str),
            model=_of(given["model"], str),
            system=_text(given["system"]),
            user=_text(given["user"]),
            schema=_of(given["schema"], dict),
            max_tokens=_of(given["max_tokens"], int),
            effort=_effort(given["effort"]),
        )
        text = given.get("answer_text")
        compact = json.dumps(given["answer"], ensure_ascii=False, separators=(",", ":")) if text is None else ""
        usage = Usage(**{name: _of(given["usage"][name], int) for name in Usage().to_json()})
        answer = Answer(_text(text) if text is not None else compact, _of(given["stop_reason"], str), usage)
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"not a call of a draft: {error}") from None
    return Exchange(call, answer)


def _text(lines: Json) -> str:
    return "\n".join(_of(line, str) for line in _of(lines, list))


def _of(value: Json, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is not of the type {kind.__name__}")
    return value


def _effort(value: Json) -> Effort | None:
    if value is not None and value not in EFFORTS:
        raise TypeError(f"{value!r} is not an effort")
    return value  # type: ignore[no-any-return]


def _first_difference(recorded: str, now: str) -> int:
    lines = zip(recorded.split("\n"), now.split("\n"), strict=False)
    return next((n for n, (a, b) in enumerate(lines, 1) if a != b), min(recorded.count("\n"), now.count("\n")) + 2)


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
            effort, repairs = _effort(given["effort"]), _of(given["max_repairs"], int)
            return Settings(_of(given["model"], str), effort, repairs, given.get("note", ""))
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(f"not a session of a draft: {error}", str(path)) from None

    def begin(self, settings: Settings) -> None:
        """Write the settings of the session."""
        note = {"note": settings.note} if settings.note else {}
        self.write(_SESSION, {**note, **{name: getattr(settings, name) for name in ("model", "effort", "max_repairs")}})

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
        self.write_text(file, layout(value))

    def keep(self, name: str, diagnostics: list[dict[str, Json]]) -> None:
        """Write the diagnostics of the draft that an answer makes."""
        self.write(f"{name}.diagnostics.json", diagnostics)

    def set_aside(self, name: str) -> None:
        """Rename a recorded call, so that it can be made again and nothing is lost."""
        number = 1
        while (aside := self.folder / f"{name}.unused-{number}.json").exists():
            number += 1
        (self.folder / f"{name}.json").rename(aside)

    def write_text(self, file: str, text: str) -> None:
        """Write a file atomically. Raises `UnreadableError` where it cannot be written."""
        path = self.folder / file
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f".{file}.tmp")
            temporary.write_text(text, encoding="utf-8", newline="\n")
            temporary.replace(path)
        except OSError as error:
            raise UnreadableError(f"cannot write {path}: {reason_of(error)}") from None
