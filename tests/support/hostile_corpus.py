"""The hostile corpus: seeds that try to get code, or too much work, past the compiler, and what must become of each.

hostile/seeds.jsonl holds one entry a line, hostile/base.json the honest seed that most of them change. An entry has an
`id`, says what it is `about`, and gives a file in one of two ways:

    set     places of the base seed, as JSON Pointers in which an item of a list goes by its name, each with its new
            value; `-` appends to a list, `+` appends several, `null` behind `drop` removes
    text    the whole file, with an `encoding` where it is not UTF-8

Values may be built: `{"*text": ["ab", [3, "c"], {"*each": [2, "{i}"]}]}` is `abccc01`, `{"*list": [2, "S{i}"]}` is two texts,
inside a list two items of it, and `{"*object": [2, "k{i}", 0]}` has two keys; `{i+1}` counts along. `expect` is
`{"errors": [codes]}`, exactly those, or `{"fine": true}`: then the module gives the base's values, but for those in `values`,
over the base's rows, context and parameters, but for those of the entry; or raises what `raises` says, a step and a
kind. A `canary` names the careless way of making code that would have run the entry's payload.
"""

from __future__ import annotations

import copy
import json
import re
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "hostile"


@cache
def base() -> dict[str, Any]:
    """The honest seed, with rows, a context and the values that it gives for them."""
    read: dict[str, Any] = json.loads((FOLDER / "base.json").read_text(encoding="utf-8"))
    return read


@dataclass(frozen=True)
class Entry:
    """One seed of the corpus."""

    given: dict[str, Any]

    @property
    def id(self) -> str:
        return str(self.given["id"])

    @cached_property
    def seed(self) -> dict[str, Any] | None:
        """The seed as a dictionary; None where the entry is the text of a file."""
        if "text" in self.given:
            return None
        seed = copy.deepcopy(base()["seed"])
        seed["task_name"] = f"Hostile {self.id}"
        for pointer in self.given.get("drop", ()):
            _change(seed, pointer, None, drop=True)
        for pointer, value in self.given["set"].items():
            _change(seed, pointer, _built(value))
        return seed

    @cached_property
    def data(self) -> bytes:
        """The seed as a file; characters stand in it as they are, but for halves of one, which only an escape can say."""
        if self.seed is None:
            return str(_built({"*text": self.given["text"]})).encode(self.given.get("encoding", "utf-8"))
        try:
            return json.dumps(self.seed, indent=1, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            return json.dumps(self.seed, indent=1).encode()

    @property
    def errors(self) -> set[str]:
        return set(self.given["expect"].get("errors", ()))

    @property
    def is_fine(self) -> bool:
        return bool(self.given["expect"].get("fine"))

    @property
    def rows(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.given.get("rows", base()["rows"])
        return found

    @property
    def context(self) -> dict[str, Any]:
        return {**base()["context"], **self.given.get("context", {})}

    @property
    def parameters(self) -> dict[str, Any] | None:
        return self.given.get("parameters")

    @property
    def values(self) -> dict[str, Any]:
        """What every step must come to, by name, for the entry's rows."""
        if self.seed is None:
            return dict(self.given["expect"].get("values", {}))
        names = {step["name"] for step in self.seed["compute"]}
        kept = {name: value for name, value in base()["values"].items() if name in names}
        return {**kept, **self.given["expect"].get("values", {})}

    @property
    def raises(self) -> list[str] | None:
        """The step that has no value, and why; None where all have one."""
        return self.given["expect"].get("raises")

    @property
    def canary(self) -> str | None:
        return self.given.get("canary")


@cache
def entries() -> dict[str, Entry]:
    """The corpus by id."""
    lines = (FOLDER / "seeds.jsonl").read_text(encoding="utf-8").split("\n")
    found = [Entry(json.loads(line)) for line in lines if line]
    assert len({entry.id for entry in found}) == len(found), "two entries have one id"
    return {entry.id: entry for entry in found}


def texts_of(value: object) -> list[str]:
    """Every text in a JSON value, keys included."""
    match value:
        case str():
            return [value]
        case dict():
            return [text for pair in value.items() for part in pair for text in texts_of(part)]
        case list():
            return [text for item in value for text in texts_of(item)]
        case _:
            return []


def _change(seed: Any, pointer: str, value: Any, *, drop: bool = False) -> None:
    *path, last = [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]
    place = seed
    for token in path:
        place = place[_key(place, token)]
    if drop:
        del place[_key(place, last)]
    elif isinstance(place, list) and last in "-+":
        place.extend([value] if last == "-" else value)
    else:
        place[_key(place, last)] = value


def _key(place: Any, token: str) -> Any:
    if isinstance(place, dict):
        return token
    names = [item.get("name") if isinstance(item, dict) else None for item in place]
    return names.index(token) if token in names else int(token)


def _built(value: Any, index: int | None = None) -> Any:
    """The value with what is to be built in it built, and `{i}` counted."""
    match value:
        case {"*text": str(text)}:
            return _built(text, index)
        case {"*text": list(parts)}:
            return "".join(_built_text(part, index) for part in parts)
        case {"*list": [int(times), item]}:
            return [_built(item, i) for i in range(times)]
        case {"*object": [int(times), key, item]}:
            return {_built(key, i): _built(item, i) for i in range(times)}
        case dict():
            return {_built(key, index): _built(item, index) for key, item in value.items()}
        case list():
            return [part for item in value for part in _built_items(item, index)]
        case str() if index is not None:
            return re.sub(r"\{i([+-]\d+)?\}", lambda found: str(index + int(found[1] or 0)), value)
        case _:
            return value


def _built_text(part: Any, index: int | None) -> str:
    match part:
        case [int(times), text]:
            return times * str(_built(text, index))
        case {"*each": [int(times), text]}:
            return "".join(str(_built(text, i)) for i in range(times))
        case _:
            return str(_built(part, index))


def _built_items(item: Any, index: int | None) -> list[Any]:
    built = _built(item, index)
    is_many = isinstance(item, dict) and "*list" in item
    return built if is_many else [built]
