"""Render a reference as Markdown, for people, and as a prompt, for models.

In: the published document. Out: text. Markdown is escaped inside the cells of tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from formulaseed.reference.document import PREFIX_NOTE, format_line, list_fields
from formulaseed.source.text import end_sentence, join_sentences

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#])")


def render_markdown(document: dict[str, Any]) -> str:
    """Return the document as Markdown: a heading for each section, with a table or list below it.

    Enums, functions, patterns and examples have no heading if there are none.
    """
    lines = ["# Formula reference", "", _escape(document["description"]), "", f"Version {document['version']}.", ""]
    lines += ["## Entities", ""]
    for name, entity in document["entities"].items():
        lines += _format_entity(name, entity, list_fields(document, name))
    enums = [
        (_quote(name), _quote_all(e["values"]), _escape(e["description"])) for name, e in document["enums"].items()
    ]
    lines += _format_section("Enums", ("enum", "values", "meaning"), enums)
    lines += ["## Operators", ""]
    for kind, group in document["operators"].items():
        rows = [(_quote(symbol), _escape(meaning)) for symbol, meaning in group.items()]
        lines += [f"{kind.capitalize()}:", "", *_format_table(("operator", "meaning"), rows)]
    functions = [
        (_quote(f["signature"]), _escape(f["description"]), _quote(f["example"]), f["returns"])
        for f in document["functions"].values()
    ]
    lines += _format_section("Functions", ("function", "meaning", "example", "returns"), functions)
    patterns = [
        (_escape(name.replace("_", " ")), _quote(p["syntax"]), _escape(p["description"]), _quote_all(p["examples"]))
        for name, p in document["syntax_patterns"].items()
    ]
    lines += _format_section("Syntax", ("pattern", "syntax", "meaning", "examples"), patterns)
    examples = [
        (_quote(e["formula"]), _escape(e["description"]), _escape(e["use_case"])) for e in document["examples"].values()
    ]
    lines += _format_section("Examples", ("formula", "meaning", "use"), examples)
    lines += ["## Notes", ""]
    lines += [f"- {_escape(name.replace('_', ' '))}: {_escape(note)}" for name, note in document["notes"].items()]
    return "\n".join(lines) + "\n"


def _format_section(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a heading and a table; none if the table has no rows."""
    if not rows:
        return []
    return [f"## {title}", "", *_format_table(head, rows)]


def _format_entity(name: str, entity: dict[str, Any], fields: Iterable[dict[str, Any]]) -> Iterable[str]:
    """Return the lines of an entity: a heading, its description and access, and a table of its fields."""
    sentences = [entity["description"], f"Access: {entity['access_pattern']}", entity.get("note", "")]
    rows = [(_quote(field["example"]), _describe_type(field), _escape(field["description"])) for field in fields]
    about = join_sentences(map(_escape, sentences))
    return [f"### {_quote(name)}", "", end_sentence(about), "", *_format_table(("field", "type", "meaning"), rows)]


def _describe_type(field: dict[str, Any]) -> str:
    """Return the type of a field with its values, its bounds, and whether it can be null."""
    text: str = field["type"]
    if field.get("values"):
        text += f": {_quote_all(field['values'])}"
    if field.get("minimum") is not None:
        text += f" from {field['minimum']}"
    if field.get("maximum") is not None:
        text += f" to {field['maximum']}"
    return f"{text}, or null" if field["nullable"] else text


def _format_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table, with an empty line after it; none if there are no rows."""
    if not rows:
        return []
    return [*(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows)), ""]


def _escape(text: str) -> str:
    """Return the text on one line, with the characters of Markdown escaped."""
    return _SPECIAL.sub(r"\\\1", format_line(text))


def _quote(text: str) -> str:
    """Return the text on one line, as code inside a table."""
    line = format_line(text).replace("|", "\\|")
    return f"`` {line} ``" if "`" in line else f"`{line}`"


def _quote_all(texts: Sequence[str]) -> str:
    """Return the texts as code, separated by commas."""
    return ", ".join(map(_quote, texts))


# --- the prompt

_BYTES_PER_TOKEN = 3
_RULES = (
    "A formula is one expression in Python's syntax: no assignments, loops, imports, indexing or methods. Its result "
    "becomes a float (true is 1.0). `?` marks what may be null: guard it, `coalesce(x, 0)` or `x * 5 if entity else 0`."
)


def estimate_tokens(text: str) -> int:
    """Return an upper estimate of the tokens of a text: one for every three bytes of UTF-8."""
    return -(-len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN)


def render_prompt(document: dict[str, Any]) -> str:
    """Return the document as lines for a model: one for each operator group, entity, field, function and example."""
    functions = document["functions"].values()
    operators = " ".join(symbol for group in document["operators"].values() for symbol in group)
    signatures = "; ".join(function["signature"] for function in functions)
    lines = [_RULES, f"Operators: {operators}", f"Functions: {signatures}; a if condition else b"]
    for name in document["entities"]:
        lines += _describe_entity(name, document)
    lines += [f"{function['signature']}: {format_line(function['description'])}" for function in functions]
    for pattern in document["syntax_patterns"].values():
        lines.append(f"pattern {pattern['syntax']}: {'; '.join(map(format_line, pattern['examples']))}")
    for example in document["examples"].values():
        lines.append(f"example: {format_line(example['formula'])}  # {format_line(example['description'])}")
    return "\n".join(lines) + "\n"


def _describe_entity(name: str, document: dict[str, Any]) -> Iterable[str]:
    """Yield a line with an entity's name, description and access, then one for each of its fields."""
    entity = document["entities"][name]
    access = "dotted"
    if entity["access_pattern"].startswith("Direct"):
        _, note, hidden_names = entity["access_pattern"].partition(PREFIX_NOTE)
        access = f"also without its prefix{note}{format_line(hidden_names)}"
    yield f"[{name}{_null_mark(entity)}] {format_line(entity['description'])}; {access}"
    for field in list_fields(document, name):
        line = f"{field['example']}{_null_mark(field)}: {field['type']}"
        if field.get("values"):
            line += f" ({'|'.join(map(format_line, field['values']))})"
        if field["description"]:
            line += f"  # {format_line(field['description'])}"
        yield line


def _null_mark(part: dict[str, Any]) -> str:
    """Return `?` for an entity or field that may be null; an empty string for any other."""
    return "?" if part["nullable"] else ""
