"""The folder of one draft: every prompt, answer, usage and diagnostic, as JSON that people can read in a diff.

`session.json` holds the settings, `01-conditions.json` a call with its answer, `03-seed.diagnostics.json` what the
compiler said of what it makes. There are no times and no names of machines in it, and no keys.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from formulaseed.data.files import read_whole
from formulaseed.draft.answers import Unusable, load
from formulaseed.errors import DataError, UnreadableError, reason_of
from formulaseed.limits import FILE_BYTES
from formulaseed.llm.calls import EFFORTS, Answer, Call, Effort, Usage
from formulaseed.seed.write.canonical import layout

Json = Any

_SESSION = "session.json"
_OTHER_VERSION = "another version of formulaseed recorded it"


@dataclass(frozen=True, slots=True)
class Settings:
    """What a session was started with. `note` says what else is to know of the transcript."""

    model: str
    effort: Effort | None
    max_repairs: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """A call with its answer."""

    call: Call
    answer: Answer

    def must_be(self, name: str, call: Call) -> None:
        """Raise `DataError` where the recorded call says something else than this one."""
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
        call, usage = self.call, self.answer.usage
        return {
            "step": call.key,
            "model": call.model,
            "effort": call.effort,
            "max_tokens": call.max_tokens,
            "system": call.system.split("\n"),
            "user": call.user.split("\n"),
            "schema": dict(call.schema),
            **_answer_to_json(self.answer.text),
            "stop_reason": self.answer.stop_reason,
            "usage": {
                "input": usage.input,
                "cache_write": usage.cache_write,
                "cache_read": usage.cache_read,
                "output": usage.output,
            },
        }


def record_of(given: Json) -> Record:
    """The record in the JSON of a file. Raises `DataError` where it is none."""
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
        answer = Answer(
            text=_text(text) if text is not None else _dumped(given["answer"]),
            stop_reason=_of(given["stop_reason"], str),
            usage=Usage(**{name: _of(given["usage"][name], int) for name in ("input", "cache_write", "cache_read", "output")}),
        )  # fmt: skip
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"no call of a draft: {error}") from None
    return Record(call, answer)


def _answer_to_json(text: str) -> dict[str, Json]:
    """The answer as JSON, which is all that is read of it; one that is none as lines of text."""
    try:
        return {"answer": load(text)}
    except Unusable:
        return {"answer_text": text.split("\n")}


def _dumped(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _text(lines: Json) -> str:
    return "\n".join(_of(line, str) for line in _of(lines, list))


def _of(value: Json, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is not of the type {kind.__name__}")
    return value


def _effort(value: Json) -> Effort | None:
    if value is not None and value not in EFFORTS:
        raise TypeError(f"{value!r} is no effort")
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
        """How the session was started. Raises `UnreadableError`, or `DataError` where the file is not as written here."""
        given = self._read(_SESSION)
        try:
            return Settings(
                _of(given["model"], str),
                _effort(given["effort"]),
                _of(given["max_repairs"], int),
                given.get("note", ""),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(f"no session of a draft: {error}", str(self.folder / _SESSION)) from None

    def begin(self, settings: Settings) -> None:
        """Write down what the session works with."""
        note = {"note": settings.note} if settings.note else {}
        values = {"model": settings.model, "effort": settings.effort, "max_repairs": settings.max_repairs}
        self.write_text(_SESSION, layout({**note, **values}))

    def record(self, name: str) -> Record | None:
        """The call of this name with its answer, if there is one."""
        file = f"{name}.json"
        if not (self.folder / file).exists():
            return None
        try:
            return record_of(self._read(file))
        except DataError as error:
            raise error.at(str(self.folder / file)) from None

    def write(self, name: str, record: Record) -> None:
        self.write_text(f"{name}.json", layout(record.to_json()))

    def write_diagnostics(self, name: str, diagnostics: list[dict[str, Json]]) -> None:
        self.write_text(f"{name}.diagnostics.json", layout(list(diagnostics)))

    def put_aside(self, name: str) -> None:
        """Give a recorded call another name, so that it can be made anew and nothing is lost."""
        number = 1
        while (aside := self.folder / f"{name}.unused-{number}.json").exists():
            number += 1
        (self.folder / f"{name}.json").rename(aside)

    def write_text(self, file: str, text: str) -> None:
        """Write a file in one go. Raises `UnreadableError` where that cannot be done."""
        path = self.folder / file
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f".{file}.tmp")
            temporary.write_text(text, encoding="utf-8", newline="\n")
            temporary.replace(path)
        except OSError as error:
            raise UnreadableError(f"cannot write {path}: {reason_of(error)}") from None

    def _read(self, file: str) -> Json:
        path = self.folder / file
        try:
            return json.loads(read_whole(path, FILE_BYTES).decode())
        except (ValueError, RecursionError) as error:
            raise DataError(f"no JSON: {error}", str(path)) from None
