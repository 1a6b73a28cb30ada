"""Renders a seed, and results, as parts of an HTML page for a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from formulaseed.ir.text import step_text
from formulaseed.pages.blocks import Code, Item, Items, Paragraph, Table, sentence
from formulaseed.pages.html import as_html
from formulaseed.pages.values import format_plain

if TYPE_CHECKING:
    from formulaseed.documents import FormulaSeed

_MAX_LISTED = 100


def seed_html(seed: FormulaSeed) -> str:
    """Return the seed's steps as a table, in their order: each with its type and its computation."""
    rows = [(Code(step.name), str(step.ty), Code(step_text(step))) for step in seed.program.steps]
    return as_html([sentence(Code(seed.task_name)), Table(("step", "type", "computation"), rows)])


def outcome_html(lines: Sequence[Mapping[str, Any]], failures: Sequence[str]) -> str:
    """Return the restaurants as a table: their results, or how many rows they have; and what failed as a list."""
    names = list(dict.fromkeys(name for line in lines for name in line.get("output", ())))
    are_results = any("output" in line or "error" in line for line in lines)
    table = Table(
        ("restaurant", *(names if are_results else ("rows",))), [_row(line, names) for line in lines[:_MAX_LISTED]]
    )
    left_out = [Paragraph(f"and {len(lines) - _MAX_LISTED:,} more")] if len(lines) > _MAX_LISTED else []
    failed = [Items([Item(failure) for failure in failures[:_MAX_LISTED]])] if failures else []
    return as_html([table, *left_out, *failed])


def _row(line: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    restaurant = str(line.get("name") or line.get("business_id", ""))
    if error := line.get("error"):
        return [restaurant, f"{error['step']}: {error['message']}", *[""] * (len(names) - 1)]
    if output := line.get("output"):
        return [restaurant, *(format_plain(output.get(name)) for name in names)]
    return [restaurant, f"{len(line.get('rows', ())):,}"]
