"""`Code`: strings that a template may place in a generated module, and the only functions that make them from data.

Templates refuse anything else, so a seed's text reaches a module only as a literal or a comment made here.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from formulaseed.language.types import Value

MAX_COMMENT_TEXT = 160
"""The characters after which a description is cut off."""
LINE_LENGTH = 120
COMMENT_LENGTH = 140
"""The length of a line that is a comment."""
PART_SEPARATOR = "\n\n\n"
"""The text between two parts of a module: its functions, its classes, and the statements around them."""


class Code(str):
    """A piece of a module. Only printers of this package make it, never directly from a seed's text."""

    __slots__ = ()


def literal(value: Value) -> Code:
    """Return a Python literal of the value, on one line.

    A string is in the quotes that black prefers: double ones, unless they need more backslashes. An exponent has no
    plus sign.
    """
    text = repr(value)
    if isinstance(value, float):
        return Code(text.replace("e+", "e"))
    if not text.startswith("'"):
        return Code(text)
    double_quoted = '"' + text[1:-1].replace("\\'", "'").replace('"', '\\"') + '"'
    # As black: double quotes, unless they need more backslashes.
    return Code(double_quoted if double_quoted.count("\\") <= text.count("\\") else text)


def tuple_text(items: Sequence[str]) -> str:
    """Return a tuple of printed items, on one line."""
    comma = "," if len(items) == 1 else ""
    return f"({', '.join(items)}{comma})"


def fill(head: str, items: Sequence[str], brackets: str = "()", tail: str = "") -> Code:
    """Return `head`, printed items in brackets, and `tail`: on one line if that fits, else with items on full lines.

    The full lines end with a comment by which black leaves them as they are. Spaces before `head` are the margin. A
    single item in round brackets gets a comma, unless `head` ends with a name: it is a tuple then, not a call.
    """
    opening, closing = brackets[0], brackets[1]
    is_tuple = brackets == "()" and not re.search(r"\w$", head)
    comma = "," if is_tuple and len(items) == 1 else ""
    line = f"{head}{opening}{', '.join(items)}{comma}{closing}{tail}"
    if len(line) <= LINE_LENGTH:
        return Code(line)
    margin = " " * (len(head) - len(head.lstrip()) + 4)
    lines = [f"{head}{opening}", margin]
    for item in items:
        if lines[-1] == margin:
            lines[-1] += f"{item},"
        elif len(lines[-1]) + len(item) + 2 <= LINE_LENGTH:
            lines[-1] += f" {item},"
        else:
            lines.append(f"{margin}{item},")
    return Code("\n".join([*lines, f"{margin[4:]}{closing}{tail}  # fmt: skip"]))


def spread(head: str, items: Sequence[str]) -> Code:
    """Return a call of `head` as black writes it: on one line if that fits, else with one line for each item.

    If `head` ends with a space, a tuple follows it in place of arguments. Spaces before `head` are the margin.
    """
    line = f"{head}({', '.join(items)})"
    if head.endswith(" "):
        line = f"{head}{tuple_text(items)}"
    if len(line) <= LINE_LENGTH:
        return Code(line)
    margin = " " * (len(head) - len(head.lstrip()))
    return Code("\n".join([f"{head}(", *(f"{margin}    {item}," for item in items), f"{margin})"]))


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A line of code with a comment `behind` it or, if that is too long, lines of comment `above` it.

    `code` is empty for a comment alone.
    """

    code: Code
    behind: Code = Code("")
    above: tuple[Code, ...] = ()


def annotate(code: str, comment: str, margin: int) -> CodeLine:
    """Return a line of code with its comment: behind it if that fits, else wrapped in the lines above it.

    The code will be indented by `margin` characters. An empty `comment` gives no comment.
    """
    if not comment or margin + len(code) + len(comment) + 4 <= LINE_LENGTH:
        return CodeLine(Code(code), Code(comment))
    return CodeLine(Code(code), above=wrap(comment, margin))


def wrap(comment: str, margin: int) -> tuple[Code, ...]:
    """Return a comment, which will be indented by `margin` characters, as one or more lines.

    A line after the first that could address a tool begins with `…`; the first is not checked. Raises `ValueError` if
    `comment` is blank.
    """
    first, *rest = textwrap.wrap(comment, COMMENT_LENGTH - margin - 4, break_on_hyphens=False)
    return (Code(first), *(Code(f"… {line}" if addresses_a_tool(line) else line) for line in rest))


_TOOL_NAMES = (
    r"\s*(?:noqa|type\s*:|fmt\s*:|mypy\s*:|pyright\s*:|ruff\s*:|isort\s*:|pylint\s*:|flake8|nosec|pragma|yapf)"
)
_INNER_DIRECTIVE = re.compile(f"#(?={_TOOL_NAMES})", re.IGNORECASE)
_DIRECTIVE = re.compile(rf"{_TOOL_NAMES}|[!#]|-\*-", re.IGNORECASE)  # `-*-` may declare an encoding


def addresses_a_tool(comment: str) -> bool:
    """Return True if a linter, a type checker or the like could take the comment for a directive."""
    return _DIRECTIVE.match(comment) is not None


def comment_text(text: str, width: int = MAX_COMMENT_TEXT) -> Code:
    """Return the text on one printable line of at most `width` characters, in which no inner `#` begins a directive.

    A longer text is cut off, and ends with `…`; characters that cannot be printed become escapes. The beginning may
    still be a directive: a caller checks `addresses_a_tool`, and puts a word of its own in front.
    """
    if not text.isprintable():
        spaced = " ".join(text.split())
        text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in spaced)
    text = _INNER_DIRECTIVE.sub("#\\\\", text).rstrip()
    return Code(text if len(text) <= width else f"{text[: width - 1].rstrip()}…")


def docstring_text(text: str) -> Code:
    """Return the text on one line of at most 160 characters, for use inside triple double quotes, but not at their end."""
    line = comment_text(text)
    return Code(line.replace("\\", "\\\\").replace('"', "'"))
