"""`Code`: text that may stand in a generated module, and the only makers of it from data.

Templates refuse anything else, so a seed's text reaches a module only as a literal or a comment made here.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from formulaseed.language.types import Value

COMMENT_WIDTH = 160
LINE_LENGTH = 120
COMMENT_LENGTH = 140
"""A line that is a comment."""
BETWEEN = "\n\n\n"
"""What stands between two parts of a module: its functions, its classes, and what is around them."""


class Code(str):
    """A piece of a module. Made by this package's printers, never from a seed's text directly."""

    __slots__ = ()


def literal(value: Value) -> Code:
    """A Python literal that evaluates to the value, on one line, in the quotes that black prefers."""
    text = repr(value).replace("e+", "e") if isinstance(value, float) else repr(value)
    if text.startswith("'"):
        double = text[1:-1].replace("\\'", "'").replace('"', '\\"')
        return Code(f'"{double}"' if double.count("\\") <= text.count("\\") else text)
    return Code(text)


def listed(head: str, items: Sequence[str], brackets: str = "()", tail: str = "", most: int = LINE_LENGTH) -> Code:
    """A list of names or literals behind `head`: on one line if it fits, else on full lines, which black is to leave."""
    is_tuple = brackets == "()" and not re.search(r"\w$", head)
    comma = "," if is_tuple and len(items) == 1 else ""
    line = f"{head}{brackets[0]}{', '.join(items)}{comma}{brackets[1]}{tail}"
    if len(line) <= most:
        return Code(line if len(line) <= LINE_LENGTH else f"{line}  # fmt: skip")
    margin = " " * (len(head) - len(head.lstrip()) + 4)
    lines = [f"{head}{brackets[0]}", margin]
    for item in items:
        if lines[-1] != margin and len(lines[-1]) + len(item) + 2 > LINE_LENGTH:
            lines.append(margin)
        lines[-1] += f"{'' if lines[-1] == margin else ' '}{item},"
    return Code("\n".join([*lines, f"{margin[4:]}{brackets[1]}{tail}  # fmt: skip"]))


def commented(code: str, comment: str, margin: int) -> list[Code]:
    """A line of code with a comment behind it or, if that is too long, above it."""
    if not comment or margin + len(code) + len(comment) + 4 <= LINE_LENGTH:
        return [Code(f"{code}  # {comment}" if comment else code)]
    return [*wrapped(comment, margin), Code(code)]


def wrapped(comment: str, margin: int) -> list[Code]:
    """A comment on as many lines as it takes; none of them can address a tool."""
    first, *others = textwrap.wrap(comment, COMMENT_LENGTH - margin - 4, break_on_hyphens=False)
    lines = [first, *(f"… {line}" if addresses_a_tool(line) else line for line in others)]
    return [Code(f"# {line}") for line in lines]


_TOOLS = r"\s*(?:noqa|type\s*:|fmt\s*:|mypy\s*:|pyright\s*:|ruff\s*:|isort\s*:|pylint\s*:|flake8|nosec|pragma|yapf)"
_DIRECTIVE = re.compile(f"#(?={_TOOLS})", re.IGNORECASE)
_ADDRESS = re.compile(rf"{_TOOLS}|[!#]|-\*-", re.IGNORECASE)  # `-*-` may declare an encoding


def addresses_a_tool(comment: str) -> bool:
    """Whether a comment that begins so could be taken for an order to a linter, a type checker or the like."""
    return _ADDRESS.match(comment) is not None


def comment_text(text: str, width: int = COMMENT_WIDTH) -> Code:
    """The text on one printable line, for use behind `# word: `; nothing in it can address a tool.

    The caller puts a word of its own in front, since most tools read a comment from its beginning.
    """
    if not text.isprintable():
        spaced = " ".join(text.split())
        text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in spaced)
    text = _DIRECTIVE.sub("#\\\\", text).rstrip()
    return Code(text if len(text) <= width else f"{text[: width - 1].rstrip()}…")


def docstring_text(text: str) -> Code:
    """The text as it may stand inside triple double quotes, on one line, not at its end."""
    line = comment_text(text)
    return Code(line.replace("\\", "\\\\").replace('"', "'"))
