"""A reference as Markdown, for people, and as a prompt for models, in as few tokens as are allowed.

In: the published document. Out: text. Whatever is in a cell of a table is escaped for one. The tokens of a prompt are
estimated at one for every three bytes of UTF-8, which is more than tokenizers need for such text; what does not fit is
left out by rank, and said on the last line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from formulaseed.reference.document import PREFIXED, line_of, listed_fields
from formulaseed.source.text import end_sentence, join_sentences

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#])")


def reference_markdown(document: dict[str, Any]) -> str:
    """The whole document."""
    lines = ["# Formula reference", "", _text(document["description"]), "", f"Version {document['version']}.", ""]
    lines += ["## Entities", ""]
    for name, entity in document["entities"].items():
        lines += _entity_section(name, entity, [field for field, _ in listed_fields(document, name)])
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


def _entity_section(name: str, entity: dict[str, Any], fields: Sequence[dict[str, Any]]) -> Iterable[str]:
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

BYTES_PER_TOKEN = 3
_RULES = (
    "A formula is one expression in Python's syntax: no assignments, loops, imports, indexing or methods. Its result "
    "becomes a float (true is 1.0). `?` marks what may be null: guard it, `coalesce(x, 0)` or `x * 5 if entity else 0`."
)
_ENTITIES, _FIELDS, _RELATED, _EXAMPLES, _CUSTOM, _FUNCTIONS, _PATTERNS, _UNREADABLE, _MEANINGS = range(1, 10)
"""The ranks: the lower, the later something is left out."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A line of the prompt; `what` says what it is where it is left out, 0 ranks what never is.

    With `goes_on` it continues the line before, and is there only if that one is.
    """

    rank: int
    text: str
    what: str = ""
    goes_on: bool = False


class BudgetError(ValueError):
    """Raised for a budget in which not even the rules fit; `needed` tokens would."""

    def __init__(self, needed: int) -> None:
        self.needed = needed
        super().__init__(f"the prompt needs {needed} tokens at least")


def estimated_tokens(text: str) -> int:
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def reference_prompt(document: dict[str, Any], most: int | None = None) -> str:
    """The prompt, within `most` estimated tokens. Raises `BudgetError` where that is too few."""
    pieces = _pieces(document)
    everything = _assembled(pieces, set(range(len(pieces))))
    if most is None or estimated_tokens(everything) <= most:
        return everything
    kept = {index for index, piece in enumerate(pieces) if piece.rank == 0}
    reserve = estimated_tokens(_left_out(pieces, kept))
    used = sum(len(pieces[index].text.encode()) + 1 for index in kept)
    needed = -(-used // BYTES_PER_TOKEN) + reserve
    if needed > most:
        raise BudgetError(needed)
    room = (most - reserve) * BYTES_PER_TOKEN - used
    for index in sorted(range(len(pieces)), key=lambda i: (pieces[i].rank, i)):
        size = len(pieces[index].text.encode()) + 1
        if index not in kept and size <= room and (not pieces[index].goes_on or index - 1 in kept):
            kept.add(index)
            room -= size
    return _assembled(pieces, kept)


def _assembled(pieces: list[_Piece], kept: set[int]) -> str:
    chosen = [piece for index, piece in enumerate(pieces) if index in kept]
    lines = "".join(piece.text if piece.goes_on else f"\n{piece.text}" for piece in chosen)
    left = _left_out(pieces, kept)
    return f"{lines}\n{left}\n".lstrip() if left else f"{lines}\n".lstrip()


def _left_out(pieces: list[_Piece], kept: set[int]) -> str:
    missing = Counter(piece.what for index, piece in enumerate(pieces) if index not in kept)
    if not missing:
        return ""
    return "Left out for brevity: " + ", ".join(f"{number} {what}" for what, number in sorted(missing.items())) + "."


def _pieces(document: dict[str, Any]) -> list[_Piece]:
    operators = " ".join(symbol for group in document["operators"].values() for symbol in group)
    signatures = "; ".join(function["signature"] for function in document["functions"].values())
    always = (_RULES, f"Operators: {operators}", f"Functions: {signatures}; a if condition else b")
    pieces = [_Piece(0, text) for text in always]
    for name in document["entities"]:
        pieces += _entity(name, document)
    for function in document["functions"].values():
        text = f"{function['signature']}: {line_of(function['description'])}"
        pieces.append(_Piece(_FUNCTIONS, text, "descriptions of functions"))
    for pattern in document["syntax_patterns"].values():
        text = f"pattern {pattern['syntax']}: {'; '.join(map(line_of, pattern['examples']))}"
        pieces.append(_Piece(_PATTERNS, text, "syntax patterns"))
    for example in document["examples"].values():
        text = f"example: {line_of(example['formula'])}  # {line_of(example['description'])}"
        pieces.append(_Piece(_EXAMPLES, text, "examples"))
    return pieces


def _entity(name: str, document: dict[str, Any]) -> list[_Piece]:
    """The fields of an entity, a line each, with their meanings, which can be left out alone."""
    entity = document["entities"][name]
    is_root = entity["access_pattern"].startswith("Direct")
    head = f"[{name}{'?' if entity['nullable'] else ''}] {line_of(entity['description'])}"
    _, only, hidden = entity["access_pattern"].partition(PREFIXED)
    access = f"also without its prefix{only}{line_of(hidden)}" if is_root else "dotted"
    pieces = [_Piece(_ENTITIES, f"{head}; {access}", "entities")]
    for field, is_custom in listed_fields(document, name):
        values = f" ({'|'.join(map(line_of, field['values']))})" if field.get("values") else ""
        text = f"{field['example']}{'?' if field['nullable'] else ''}: {field['type']}{values}"
        rank = _UNREADABLE if field["type"] == "json" else _FIELDS if is_root else _RELATED
        pieces.append(_Piece(_CUSTOM, text, "custom fields") if is_custom else _Piece(rank, text, "fields"))
        if field["description"]:
            pieces.append(_Piece(_MEANINGS, f"  # {line_of(field['description'])}", "descriptions of fields", True))
    return pieces
