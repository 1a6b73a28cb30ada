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
    enums = [(_code(name), _codes(e["values"]), _text(e["description"])) for name, e in document["enums"].items()]
    lines += _section("Enums", ("enum", "values", "meaning"), enums)
    lines += ["## Operators", ""]
    for kind, group in document["operators"].items():
        rows = [(_code(symbol), _text(meaning)) for symbol, meaning in group.items()]
        lines += [f"{kind.capitalize()}:", "", *_table(("operator", "meaning"), rows)]
    functions = [
        (_code(f["signature"]), _text(f["description"]), _code(f["example"]), f["returns"])
        for f in document["functions"].values()
    ]
    lines += _section("Functions", ("function", "meaning", "example", "returns"), functions)
    patterns = [
        (_text(name.replace("_", " ")), _code(p["syntax"]), _text(p["description"]), _codes(p["examples"]))
        for name, p in document["syntax_patterns"].items()
    ]
    lines += _section("Syntax", ("pattern", "syntax", "meaning", "examples"), patterns)
    examples = [
        (_code(e["formula"]), _text(e["description"]), _text(e["use_case"])) for e in document["examples"].values()
    ]
    lines += _section("Examples", ("formula", "meaning", "use"), examples)
    lines += ["## Notes", ""]
    lines += [f"- {_text(name.replace('_', ' '))}: {_text(note)}" for name, note in document["notes"].items()]
    return "\n".join(lines) + "\n"


def _section(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"## {title}", "", *_table(head, rows)] if rows else []


def _entity(name: str, entity: dict[str, Any], fields: Sequence[dict[str, Any]]) -> Iterable[str]:
    said = [entity["description"], f"Access: {entity['access_pattern']}", entity.get("note", "")]
    rows = [(_code(field["example"]), _kind(field), _text(field["description"])) for field in fields]
    about = ". ".join(_text(part) for part in said if part)
    return [f"### {_code(name)}", "", f"{about}.", "", *_table(("field", "type", "meaning"), rows)]


def _kind(field: dict[str, Any]) -> str:
    kind = f"{field['type']}: {_codes(field['values'])}" if field.get("values") else field["type"]
    return f"{kind}, or null" if field["nullable"] else kind


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [*(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows)), ""] if rows else []


def _text(text: str) -> str:
    """Text on one line, in which nothing is markup."""
    return _SPECIAL.sub(r"\\\1", line_of(text))


def _code(text: str) -> str:
    line = line_of(text).replace("|", "\\|")
    return f"`` {line} ``" if "`" in line else f"`{line}`"


def _codes(texts: Sequence[str]) -> str:
    return ", ".join(map(_code, texts))
