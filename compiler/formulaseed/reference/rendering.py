"""Renders a reference as Markdown, for people, and as a prompt, for models.

In: the published document. Out: text. Markdown is escaped inside the cells of tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from formulaseed.reference.document import PREFIXED, line_of, list_fields
from formulaseed.source.text import end_sentence, join_sentences

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#])")


def reference_markdown(document: dict[str, Any]) -> str:
    """The whole document."""
    lines = ["# Formula reference", "", _text(document["description"]), "", f"Version {document['version']}.", ""]
    lines += ["## Entities", ""]
    for name, entity in document["entities"].items():
        lines += _entity_section(name, entity, list_fields(document, name))
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


def _entity_section(name: str, entity: dict[str, Any], fields: Iterable[dict[str, Any]]) -> Iterable[str]:
    said = [entity["description"], f"Access: {entity['access_pattern']}", entity.get("note", "")]
    rows = [(_code(field["example"]), _kind(field), _text(field["description"])) for field in fields]
    about = join_sentences(_text(part) for part in said)
    return [f"### {_code(name)}", "", end_sentence(about), "", *_table(("field", "type", "meaning"), rows)]


def _kind(field: dict[str, Any]) -> str:
    kind = f"{field['type']}: {_codes(field['values'])}" if field.get("values") else field["type"]
    least, most = field.get("minimum"), field.get("maximum")
    if least is not None or most is not None:
        ends = (f"from {least}" if least is not None else "", f"to {most}" if most is not None else "")
        kind = f"{kind} {' '.join(filter(None, ends))}"
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


# --- the prompt

_BYTES_PER_TOKEN = 3
_RULES = (
    "A formula is one expression in Python's syntax: no assignments, loops, imports, indexing or methods. Its result "
    "becomes a float (true is 1.0). `?` marks what may be null: guard it, `coalesce(x, 0)` or `x * 5 if entity else 0`."
)


def estimate_tokens(text: str) -> int:
    """Return an upper estimate of the tokens of a text: one for every three bytes of UTF-8."""
    return -(-len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN)


def reference_prompt(document: dict[str, Any]) -> str:
    """Return the document as lines for a model: one for each operator group, entity, field, function and example."""
    functions = document["functions"].values()
    operators = " ".join(symbol for group in document["operators"].values() for symbol in group)
    signatures = "; ".join(function["signature"] for function in functions)
    lines = [_RULES, f"Operators: {operators}", f"Functions: {signatures}; a if condition else b"]
    for name in document["entities"]:
        lines += _entity_lines(name, document)
    lines += [f"{function['signature']}: {line_of(function['description'])}" for function in functions]
    for pattern in document["syntax_patterns"].values():
        lines.append(f"pattern {pattern['syntax']}: {'; '.join(map(line_of, pattern['examples']))}")
    for example in document["examples"].values():
        lines.append(f"example: {line_of(example['formula'])}  # {line_of(example['description'])}")
    return "\n".join(lines) + "\n"


def _entity_lines(name: str, document: dict[str, Any]) -> Iterable[str]:
    """Yield the head of an entity, then a line for each of its fields."""
    entity = document["entities"][name]
    access = "dotted"
    if entity["access_pattern"].startswith("Direct"):
        _, prefixed, hidden = entity["access_pattern"].partition(PREFIXED)
        access = f"also without its prefix{prefixed}{line_of(hidden)}"
    yield f"[{name}{_null_mark(entity)}] {line_of(entity['description'])}; {access}"
    for field in list_fields(document, name):
        values = f" ({'|'.join(map(line_of, field['values']))})" if field.get("values") else ""
        meaning = f"  # {line_of(field['description'])}" if field["description"] else ""
        yield f"{field['example']}{_null_mark(field)}: {field['type']}{values}{meaning}"


def _null_mark(part: dict[str, Any]) -> str:
    return "?" if part["nullable"] else ""
