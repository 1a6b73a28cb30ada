"""The pages of explain/, one for each code."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent / "explain"


@cache
def page(code: str) -> str:
    """The page of a code, in Markdown: a heading, some sentences, an example, what to write instead."""
    return (_FOLDER / f"{code}.md").read_text(encoding="utf-8")


def explanation(code: str) -> str:
    """The sentences of a page, as one paragraph."""
    _, text, *_ = page(code).split("\n\n")
    return " ".join(text.split())


def headline(code: str) -> str:
    """The first of these sentences."""
    first, *_ = re.split(r"(?<=[.!?]) ", explanation(code))
    return first
