"""Renders blocks and pages as HTML by the templates in `templates/pages/`.

A page needs no other file and no network. What a seed or data say is escaped by Jinja: it is only ever text between tags.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from gzip import GzipFile
from hashlib import sha256
from io import BytesIO
from typing import TYPE_CHECKING

from formulaseed.pages.blocks import Block, Card, Item, Line, Title, parts_of
from formulaseed.resources import resource_folder

if TYPE_CHECKING:
    from jinja2 import Environment

_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, those that reverse the writing direction of what follows, and halves of characters."""
_SEPARATOR = re.compile(r"^(: |, )")


def as_html(blocks: Iterable[Block]) -> str:
    """Return the blocks as a part of a page, without a style."""
    return render_template("blocks.html.j2", blocks=[*blocks]).strip()


def as_fragment(blocks: Iterable[Block]) -> str:
    """Return the blocks as a notebook shows them, with their style."""
    return render_template("fragment.html.j2", blocks=[*blocks])


def as_page(title: str, blocks: Iterable[Block]) -> str:
    """Return the blocks as a page of their own."""
    listed = [*blocks]
    has_title = any(isinstance(block, Title) for block in listed)
    return render_template("document.html.j2", title=title, has_title=has_title, blocks=listed, policy="")


def render_template(name: str, **values: object) -> str:
    """Render a template of `templates/pages/`."""
    return _environment().get_template(name).render(**values)


def render_report(**values: object) -> str:
    """Render the page of a report, whose policy allows its own script and no other."""
    script = render_template("report.js")
    fingerprint = b64encode(sha256(script.encode()).digest()).decode()
    return render_template("report.html.j2", script=script, policy=f"; script-src 'sha256-{fingerprint}'", **values)


class PackedParts:
    """Compresses parts of pages that are alike as they are added; a browser unpacks them when one is opened."""

    def __init__(self) -> None:
        self._packed = BytesIO()
        self._file = GzipFile(fileobj=self._packed, mode="wb", mtime=0)
        self._separator = "["

    def add(self, html: str) -> None:
        """Add a part."""
        self._file.write(f"{self._separator}{json.dumps(html)}".encode())
        self._separator = ","

    def to_base64(self) -> str:
        """Return a JSON list of all parts, compressed by gzip; no part can be added any more."""
        self._file.write(b"[]" if self._separator == "[" else b"]")
        self._file.close()
        return b64encode(self._packed.getvalue()).decode()


def visible(text: str) -> str:
    """Return a string with characters that hide or move what is beside them as escapes."""
    return _HIDDEN.sub(lambda match: ascii(match[0])[1:-1], text)


@dataclass(slots=True)
class _Branch:
    """An item of a list with those below it."""

    item: Item | Card
    below: list[_Branch] = field(default_factory=list)


def _nest(items: Sequence[Item | Card]) -> list[_Branch]:
    """Return the items as trees, by their depths."""
    top: list[_Branch] = []
    levels = [top]
    for item in items:
        branch = _Branch(item)
        del levels[item.depth + 1 :]
        levels[-1].append(branch)
        levels.append(branch.below)
    return top


def _continuation(detail: Line) -> Line:
    """Return what continues a line, without the punctuation that separates the two."""
    parts = parts_of(detail)
    return (_SEPARATOR.sub("", parts[0]), *parts[1:]) if parts else ()


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(resource_folder("templates") / "pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        continuation=_continuation,
        kind=lambda block: type(block).__name__,
        nest=_nest,
        parts=parts_of,
        visible=visible,
    )
    return environment
