"""`Code`: strings that a template may place in a generated module, and the only functions that make them from data.

Templates refuse anything else, so a seed's text reaches a module only as a literal or a comment made here.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from formulaseed.language.types import Value

COMMENT_WIDTH = 160
LINE_LENGTH = 120
COMMENT_LENGTH = 140
"""The length of a line that is a comment."""
BETWEEN = "\n\n\n"
"""What is between two parts of a module: its functions, its classes, and the statements around them."""


class Code(str):
    """A piece of a module. Made by this package's printers, never from a seed's text directly."""

    __slots__ = ()


def literal(value: Value) -> Code:
    """Return a Python literal of the value, on one line, in the quotes that black prefers."""
    text = repr(value).replace("e+", "e") if isinstance(value, float) else repr(value)
    if text.startswith("'"):
        double = text[1:-1].replace("\\'", "'").replace('"', '\\"')
        return Code(f'"{double}"' if double.count("\\") <= text.count("\\") else text)
    return Code(text)


def tuple_text(items: Sequence[str]) -> str:
    """Return a tuple of printed items, on one line."""
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def fill(head: str, items: Sequence[str], brackets: str = "()", tail: str = "") -> Code:
    """Return `head` with printed items in brackets: on one line if they fit, else on full lines, which black is to leave."""
    is_tuple = brackets == "()" and not re.search(r"\w$", head)
    comma = "," if is_tuple and len(items) == 1 else ""
    line = f"{head}{brackets[0]}{', '.join(items)}{comma}{brackets[1]}{tail}"
    if len(line) <= LINE_LENGTH:
        return Code(line)
    margin = " " * (len(head) - len(head.lstrip()) + 4)
    lines = [f"{head}{brackets[0]}", margin]
    for item in items:
        if lines[-1] != margin and len(lines[-1]) + len(item) + 2 > LINE_LENGTH:
            lines.append(margin)
        lines[-1] += f"{'' if lines[-1] == margin else ' '}{item},"
    return Code("\n".join([*lines, f"{margin[4:]}{brackets[1]}{tail}  # fmt: skip"]))


def spread(head: str, items: Sequence[str]) -> Code:
    """Return a call, or a tuple after `head `, as black writes it: on one line if that fits, else one line for each item."""
    line = f"{head}{tuple_text(items)}" if head.endswith(" ") else f"{head}({', '.join(items)})"
    if len(line) <= LINE_LENGTH:
        return Code(line)
    margin = " " * (len(head) - len(head.lstrip()))
    return Code("\n".join([f"{head}(", *(f"{margin}    {item}," for item in items), f"{margin})"]))


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A line of code with a comment behind it or, if that is too long, lines of comment above it. `code` may be empty."""

    code: Code
    behind: Code = Code("")
    above: tuple[Code, ...] = ()


def annotate(code: str, comment: str, margin: int) -> CodeLine:
    """Return a line of code that is indented by `margin` characters, with a comment; none if `comment` is empty."""
    if not comment or margin + len(code) + len(comment) + 4 <= LINE_LENGTH:
        return CodeLine(Code(code), Code(comment))
    return CodeLine(Code(code), above=wrap(comment, margin))


def wrap(comment: str, margin: int) -> tuple[Code, ...]:
    """Return a comment as one line or more; none of them can be taken for an order to a tool."""
    first, *rest = textwrap.wrap(comment, COMMENT_LENGTH - margin - 4, break_on_hyphens=False)
    return (Code(first), *(Code(f"… {line}" if addresses_a_tool(line) else line) for line in rest))


_TOOLS = r"\s*(?:noqa|type\s*:|fmt\s*:|mypy\s*:|pyright\s*:|ruff\s*:|isort\s*:|pylint\s*:|flake8|nosec|pragma|yapf)"
_DIRECTIVE = re.compile(f"#(?={_TOOLS})", re.IGNORECASE)
_ADDRESS = re.compile(rf"{_TOOLS}|[!#]|-\*-", re.IGNORECASE)  # `-*-` may declare an encoding


def addresses_a_tool(comment: str) -> bool:
    """Return True if a linter, a type checker or the like could take the comment for an order."""
    return _ADDRESS.match(comment) is not None


def comment_text(text: str, width: int = COMMENT_WIDTH) -> Code:
    """Return the text on one printable line, for use after `# word: `; nothing in it can address a tool.

    The caller puts a word of its own in front, since most tools read a comment from its beginning.
    """
    if not text.isprintable():
        spaced = " ".join(text.split())
        text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in spaced)
    text = _DIRECTIVE.sub("#\\\\", text).rstrip()
    return Code(text if len(text) <= width else f"{text[: width - 1].rstrip()}…")


def docstring_text(text: str) -> Code:
    """Return the text on one line, for use inside triple double quotes, but not at their end."""
    line = comment_text(text)
    return Code(line.replace("\\", "\\\\").replace('"', "'"))
