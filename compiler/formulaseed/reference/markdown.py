"""A reference as Markdown, for people.

In: the published document. Out: text; whatever is in a cell is escaped for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from formulaseed.reference.document import line_of, listed_fields

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#])")


def reference_markdown(document: dict[str, Any]) -> str:
    """The whole document."""
    lines = ["# Formula reference", "", _text(document["description"]), "", f"Version {document['version']}.", ""]
    lines += ["## Entities", ""]
    for name, entity in document["entities"].items():
        lines += _entity(name, entity, [field for field, _ in listed_fields(document, name)])
    if document["enums"]:
        rows = [
            (_code(name), _codes(enum["values"]), _text(enum["description"]))
            for name, enum in document["enums"].items()
        ]
        lines += ["## Enums", "", *_table(("enum", "values", "meaning"), rows)]
    lines += ["## Operators", ""]
    for kind, group in document["operators"].items():
        lines += [
            f"{kind.capitalize()}:",
            "",
            *_table(("operator", "meaning"), [(_code(s), _text(d)) for s, d in group.items()]),
        ]
    functions = [
        (_code(f["signature"]), _text(f["description"]), _code(f["example"]), f["returns"])
        for f in document["functions"].values()
    ]
    lines += ["## Functions", "", *_table(("function", "meaning", "example", "returns"), functions)]
    patterns = [
        (_text(name.replace("_", " ")), _code(p["syntax"]), _text(p["description"]), _codes(p["examples"]))
        for name, p in document["syntax_patterns"].items()
    ]
    lines += ["## Syntax", "", *_table(("pattern", "syntax", "meaning", "examples"), patterns)]
    examples = [
        (_code(e["formula"]), _text(e["description"]), _text(e["use_case"])) for e in document["examples"].values()
    ]
    if examples:
        lines += ["## Examples", "", *_table(("formula", "meaning", "use"), examples)]
    lines += [
        "## Notes",
        "",
        *(f"- {_text(name.replace('_', ' '))}: {_text(n)}" for name, n in document["notes"].items()),
    ]
    return "\n".join(lines) + "\n"


def _entity(name: str, entity: dict[str, Any], fields: Sequence[dict[str, Any]]) -> Iterable[str]:
    said = [entity["description"], f"Access: {entity['access_pattern']}", entity.get("note", "")]
    rows = [(_code(field["example"]), _kind(field), _text(field["description"])) for field in fields]
    about = ". ".join(_text(part) for part in said if part)
    return [f"### {_code(name)}", "", f"{about}.", "", *_table(("field", "type", "meaning"), rows)]


def _kind(field: dict[str, Any]) -> str:
    kind = f"{field['type']}: {_codes(field['values'])}" if field.get("values") else field["type"]
    return f"{kind}, or null" if field["nullable"] else kind


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    lines = [head, ["---"] * len(head), *rows]
    return [*(f"| {' | '.join(line)} |" for line in lines), ""]


def _text(text: str) -> str:
    """Text on one line, in which nothing is markup."""
    return _SPECIAL.sub(r"\\\1", line_of(text))


def _code(text: str) -> str:
    line = line_of(text).replace("|", "\\|")
    return f"`` {line} ``" if "`" in line else f"`{line}`"


def _codes(texts: Sequence[str]) -> str:
    return ", ".join(map(_code, texts))
