"""Pages for a browser: HTML that needs nothing else, in which everything that a seed or a review says is text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from formulaseed.report.blocks import Block, Heading, Items, Paragraph, Table
from formulaseed.report.explanation import Explanation
from formulaseed.report.story import blocks, headline
from formulaseed.resources import resource_folder

if TYPE_CHECKING:
    from jinja2 import Environment


def explanation_page(found: Explanation) -> str:
    """Return an explanation as one page."""
    template = _environment().get_template("explanation.html.j2")
    return template.render(title=headline(found), parts=[*map(_view, blocks(found))])


def explanation_fragment(found: Explanation) -> str:
    """Return an explanation as a notebook shows it, inside a page of its own."""
    module: Any = _environment().get_template("blocks.html.j2").module
    return str(module.show([*map(_view, blocks(found))]))


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(resource_folder("templates") / "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _view(block: Block) -> dict[str, Any]:
    """A block as the template reads it."""
    match block:
        case Heading(text, level):
            return {"kind": "Heading", "text": text, "level": level}
        case Paragraph(text):
            return {"kind": "Paragraph", "text": text}
        case Items(items):
            return {"kind": "Items", "tree": _tree(items)}
        case Table(columns, rows, marked):
            return {"kind": "Table", "columns": columns, "rows": rows, "marked": marked}


def _tree(items: Sequence[tuple[int, str]]) -> list[dict[str, Any]]:
    """A list by depth as nested lists."""
    roots: list[dict[str, Any]] = []
    levels = [roots]
    for depth, text in items:
        node: dict[str, Any] = {"text": text, "inner": []}
        del levels[depth + 1 :]
        levels[-1].append(node)
        levels.append(node["inner"])
    return roots
