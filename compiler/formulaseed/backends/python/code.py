"""`Code`: text that may stand in a generated module, and the only makers of it from data.

Templates refuse anything else, so a seed's text reaches a module only as a literal or a comment made here.
"""

from __future__ import annotations

import re

from formulaseed.language.types import Value

COMMENT_WIDTH = 160


class Code(str):
    """A piece of a module. Made by this package's printers, never from a seed's text directly."""

    __slots__ = ()


def literal(value: Value) -> Code:
    """A Python literal that evaluates to the value, on one line."""
    return Code(repr(value))


_TOOLS = r"\s*(?:noqa|type\s*:|fmt\s*:|mypy\s*:|pyright\s*:|ruff\s*:|isort\s*:|pylint\s*:|flake8|nosec|pragma|yapf)"
_DIRECTIVE = re.compile(f"#(?={_TOOLS})", re.IGNORECASE)
_ADDRESS = re.compile(f"{_TOOLS}|[!#-]", re.IGNORECASE)


def addresses_a_tool(comment: str) -> bool:
    """Whether a comment that begins so could be taken for an order to a linter, a type checker or the like."""
    return _ADDRESS.match(comment) is not None


def comment_text(text: str) -> Code:
    """The text on one printable line, for use behind `# word: `; nothing in it can address a tool.

    The caller puts a word of its own in front, since most tools read a comment from its beginning.
    """
    if not text.isprintable():
        spaced = " ".join(text.split())
        text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in spaced)
    text = _DIRECTIVE.sub("#\\\\", text)
    return Code(text if len(text) <= COMMENT_WIDTH else f"{text[: COMMENT_WIDTH - 1].rstrip()}…")


def docstring_text(text: str) -> Code:
    """The text as it may stand inside triple double quotes, on one line, not at its end."""
    line = comment_text(text)
    return Code(line.replace("\\", "\\\\").replace('"', "'"))
