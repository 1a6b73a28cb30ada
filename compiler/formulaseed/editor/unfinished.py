"""Reads the JSON before an offset, which may end anywhere: the string and the objects that are open there, and their keys."""

from __future__ import annotations

import re

_CONDITION_SPACES = ("extraction", "meta", "context")


def find_open_quote(beginning: str) -> int | None:
    """Return the offset of the quote of a string open at the end of `beginning`; None if no string is open."""
    quote: int | None = None
    is_escaped = False
    for offset, character in enumerate(beginning):
        if quote is not None and character == "\\" and not is_escaped:
            is_escaped = True
            continue
        if character == '"' and not is_escaped:
            quote = offset if quote is None else None
        is_escaped = False
    return quote


_LEXEME = re.compile(r'"(?:[^"\\\n]|\\.)*"|[{}\[\],:]')


def find_keys(head: str) -> list[str]:
    """Return the keys of the objects and lists open at the end of `head`, from the outermost, without empty ones."""
    keys: list[str] = []
    last = pending = ""
    for match in _LEXEME.finditer(head):
        token = match[0]
        if token[0] == '"':
            last = token[1:-1]
        elif token == ":":
            pending = last
        elif token in "{[":
            keys.append(pending)
            pending = ""
        elif token in "}]":
            keys[-1:] = []
            pending = ""
        else:
            pending = ""
    return [key for key in keys if key]


def find_operation(head: str, tail: str) -> str:
    """Return the value of `op` in the step that contains the end of `head`, the start of `tail`; empty without one."""
    step = head[head.rfind("{") :] + tail[: max(tail.find("}"), 0)]
    operations = re.findall(r'"op"\s*:\s*"(\w+)"', step)
    return operations[-1] if operations else ""


def find_field(key: str, head: str) -> str:
    """Return the full name of the field that a condition compares at `key`; just the key if no namespace is known."""
    around = find_keys(head)
    for name in reversed([*around, key]):
        if "." in name:
            return name
    if key in ("in", "!="):
        key = (around or [""])[-1]
    for name in reversed(around):
        if name in _CONDITION_SPACES:
            return f"{name}.{key}"
    return key
