"""Read the hostile corpus: seeds that try to get code, or too much work, past the compiler, and the expected results.

hostile/seeds.jsonl has one entry on each line, hostile/base.json the honest seed that most of them change. An entry has an
`id`, a sentence `about` it, and one of two forms of a file:

    set     places of the base seed, as JSON Pointers in which a name selects an item of a list, each with its new
            value; `-` appends to a list, `+` appends several; `drop` lists places to remove
    text    the whole file, with an `encoding` if it is not UTF-8

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
    """Return the honest seed, with rows, a context and its values for them."""
    honest: dict[str, Any] = json.loads((FOLDER / "base.json").read_text(encoding="utf-8"))
    return honest


@dataclass(frozen=True)
class Entry:
    """One seed of the corpus."""

    entry: dict[str, Any]

    @property
    def id(self) -> str:
        return str(self.entry["id"])

    @cached_property
    def seed(self) -> dict[str, Any] | None:
        """The seed as a dictionary; None if the entry is the text of a file."""
        if "text" in self.entry:
            return None
        seed = copy.deepcopy(base()["seed"])
        seed["task_name"] = f"Hostile {self.id}"
        for pointer in self.entry.get("drop", ()):
            _change(seed, pointer, None, drop=True)
        for pointer, value in self.entry["set"].items():
            _change(seed, pointer, _build(value))
        return seed

    @cached_property
    def data(self) -> bytes:
        """The seed as a file, without escapes, except for halves of characters."""
        if self.seed is None:
            return str(_build({"*text": self.entry["text"]})).encode(self.entry.get("encoding", "utf-8"))
        try:
            return json.dumps(self.seed, indent=1, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            return json.dumps(self.seed, indent=1).encode()

    @property
    def errors(self) -> set[str]:
        return set(self.entry["expect"].get("errors", ()))

    @property
    def is_fine(self) -> bool:
        return bool(self.entry["expect"].get("fine"))

    @property
    def rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.entry.get("rows", base()["rows"])
        return rows

    @property
    def context(self) -> dict[str, Any]:
        return {**base()["context"], **self.entry.get("context", {})}

    @property
    def parameters(self) -> dict[str, Any] | None:
        return self.entry.get("parameters")

    @property
    def values(self) -> dict[str, Any]:
        """The expected value of every step, by name, for the entry's rows."""
        if self.seed is None:
            return dict(self.entry["expect"].get("values", {}))
        names = {step["name"] for step in self.seed["compute"]}
        values = {name: value for name, value in base()["values"].items() if name in names}
        return {**values, **self.entry["expect"].get("values", {})}

    @property
    def raises(self) -> list[str] | None:
        """The step that has no value, and the kind of its error; None if all steps have one."""
        return self.entry["expect"].get("raises")

    @property
    def canary(self) -> str | None:
        return self.entry.get("canary")


@cache
def entries() -> dict[str, Entry]:
    """Return the corpus by id."""
    lines = (FOLDER / "seeds.jsonl").read_text(encoding="utf-8").split("\n")
    corpus = [Entry(json.loads(line)) for line in lines if line]
    assert len({entry.id for entry in corpus}) == len(corpus), "two entries have one id"
    return {entry.id: entry for entry in corpus}


def texts_of(value: object) -> list[str]:
    """Return every string in a JSON value, keys included."""
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


def _build(value: Any, index: int | None = None) -> Any:
    """Return the value with its constructions carried out, and `{i}` replaced by the index."""
    match value:
        case {"*text": str(text)}:
            return _build(text, index)
        case {"*text": list(parts)}:
            return "".join(_build_string(part, index) for part in parts)
        case {"*list": [int(times), item]}:
            return [_build(item, i) for i in range(times)]
        case {"*object": [int(times), key, item]}:
            return {_build(key, i): _build(item, i) for i in range(times)}
        case dict():
            return {_build(key, index): _build(item, index) for key, item in value.items()}
        case list():
            return [part for item in value for part in _build_items(item, index)]
        case str() if index is not None:
            return re.sub(r"\{i([+-]\d+)?\}", lambda offset: str(index + int(offset[1] or 0)), value)
        case _:
            return value


def _build_string(part: Any, index: int | None) -> str:
    match part:
        case [int(times), text]:
            return times * str(_build(text, index))
        case {"*each": [int(times), text]}:
            return "".join(str(_build(text, i)) for i in range(times))
        case _:
            return str(_build(part, index))


def _build_items(item: Any, index: int | None) -> list[Any]:
    value = _build(item, index)
    return value if isinstance(item, dict) and "*list" in item else [value]
