"""Renders blocks and pages as HTML by the templates in `templates/pages/`.

A page needs no other file and no network. Jinja escapes every string of a seed or of data, so that none becomes markup.
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

from formulaseed.pages.blocks import Block, Card, Line, ListItem, Table, Title, line_parts
from formulaseed.resources import resource_folder

if TYPE_CHECKING:
    from jinja2 import Environment

_HIDDEN_CHARACTER = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, characters that reverse the writing direction, and unpaired surrogates."""
_NAME_BREAK = re.compile(r"(?<=_)(?=\w)|(?<=[a-z]\.)(?=[a-z])")
"""The places at which a browser may break a long name: after an underscore, and after a namespace."""
_LEADING_SEPARATOR = re.compile(r"^(: |, )")


def as_html(blocks: Iterable[Block]) -> str:
    """Return the blocks as a part of a page, without a style sheet."""
    return render_template("blocks.html.j2", blocks=[*blocks]).strip()


def as_fragment(blocks: Iterable[Block]) -> str:
    """Return the blocks as a part of a page with its own style sheet, for notebooks."""
    return render_template("fragment.html.j2", blocks=[*blocks])


def as_page(title: str, blocks: Iterable[Block]) -> str:
    """Return the blocks as a complete HTML page. Its heading is `title`, unless a `Title` block is among the blocks.

    Tables that are sortable bring along the script that sorts them, the only one that may run in the page.
    """
    all_blocks = [*blocks]
    values = {"title": title, "has_title": any(isinstance(block, Title) for block in all_blocks), "blocks": all_blocks}
    if any(isinstance(block, Table) and block.is_sortable for block in all_blocks):
        return _render_with_script("document.html.j2", "tables.js", **values)
    return render_template("document.html.j2", script="", policy="", **values)


def render_template(name: str, **values: object) -> str:
    """Render a template of `templates/pages/`; strings are escaped.

    Raises Jinja's `UndefinedError` if the template uses a value that is not passed, `TemplateNotFound` for an unknown
    name.
    """
    return _create_environment().get_template(name).render(**values)


def render_report(**values: object) -> str:
    """Render the page of a report; `values` are those of its template. Only the page's own script may run in it."""
    return _render_with_script("report.html.j2", "report.js", **values)


def _render_with_script(name: str, script_name: str, **values: object) -> str:
    """Render the template `name` with a script of the templates, the only one that may run in the page."""
    script = render_template(script_name)
    fingerprint = b64encode(sha256(script.encode()).digest()).decode()
    return render_template(name, script=script, policy=f"; script-src 'sha256-{fingerprint}'", **values)


class PackedParts:
    """Collects parts of a page, compressed together because they are alike; the page's script unpacks them in the browser."""

    def __init__(self) -> None:
        self._packed = BytesIO()
        self._file = GzipFile(fileobj=self._packed, mode="wb", mtime=0)
        self._separator = "["

    def add(self, html: str) -> None:
        """Compress a part and append it."""
        self._file.write(f"{self._separator}{json.dumps(html)}".encode())
        self._separator = ","

    def to_base64(self) -> str:
        """Return the JSON array of all parts, compressed by gzip, in Base64. Call it once: `add` fails afterwards."""
        self._file.write(b"[]" if self._separator == "[" else b"]")
        self._file.close()
        return b64encode(self._packed.getvalue()).decode()


def visible(text: str) -> str:
    """Return a string with Python's escapes in place of characters that are invisible or reorder the text around them."""
    return _HIDDEN_CHARACTER.sub(lambda match: ascii(match[0])[1:-1], text)


@dataclass(slots=True)
class _Branch:
    """An item of a list with its children."""

    item: ListItem | Card
    below: list[_Branch] = field(default_factory=list)


def _nest(items: Sequence[ListItem | Card]) -> list[_Branch]:
    """Return the items as trees: the parent of an item is the last item before it with a smaller depth.

    Items without a parent are the roots; the order stays.
    """
    top: list[_Branch] = []
    levels = [top]
    for item in items:
        branch = _Branch(item)
        del levels[item.depth + 1 :]
        levels[-1].append(branch)
        levels.append(branch.below)
    return top


def _strip_separator(detail: Line) -> Line:
    """Return the detail of a list item without its leading colon or comma, since a page prints it on a line of its own."""
    parts = line_parts(detail)
    return (*(_LEADING_SEPARATOR.sub("", part) for part in parts[:1]), *parts[1:])


@cache
def _create_environment() -> Environment:
    """Return Jinja's environment for pages, with escaping and the filters that templates use; cached."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(resource_folder("templates") / "pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        continuation=_strip_separator,
        kind=lambda block: type(block).__name__,
        name_parts=lambda text: _NAME_BREAK.split(visible(text)),
        nest=_nest,
        parts=line_parts,
        visible=visible,
    )
    return environment
