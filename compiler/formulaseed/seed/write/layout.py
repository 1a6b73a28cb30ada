"""JSON as people like to read it: what fits on a line stands on one, the rest is broken up.

In: plain JSON values. Out: text that ends with a line break. Used by `fmt`.
"""

from __future__ import annotations

import json

from formulaseed.source.json_reader import Plain

WIDTH = 120


def layout(value: Plain) -> str:
    return _layout(value, 0, 0) + "\n"


def _layout(value: Plain, indent: int, used: int) -> str:
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value:
        return flat
    if indent > 0 and used + len(flat) <= WIDTH and not _is_section(value):
        return flat
    inner = " " * (indent + 2)
    if isinstance(value, dict):
        opening, closing = "{", "}"
        items = []
        for key, item in value.items():
            head = f"{json.dumps(key, ensure_ascii=False)}: "
            items.append(f"{inner}{head}{_layout(item, indent + 2, len(inner) + len(head) + 1)}")
    else:
        opening, closing = "[", "]"
        items = [f"{inner}{_layout(item, indent + 2, len(inner) + 1)}" for item in value]
    return f"{opening}\n" + ",\n".join(items) + f"\n{' ' * indent}{closing}"


def _is_section(value: dict[str, Plain] | list[Plain]) -> bool:
    """A list of objects is always broken up, so that one step or field stands on one line."""
    return isinstance(value, list) and any(isinstance(item, dict) and "name" in item for item in value)
