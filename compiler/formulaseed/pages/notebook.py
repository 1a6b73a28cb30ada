"""Renders a seed, and results, as tables in HTML for a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from formulaseed.ir.text import step_text
from formulaseed.pages.blocks import Block, InlineCode, Items, ListItem, Paragraph, Table, sentence
from formulaseed.pages.html import as_html
from formulaseed.pages.values import format_plain

if TYPE_CHECKING:
    from formulaseed.documents import FormulaSeed

_MAX_LISTED_RESTAURANTS = 100


def seed_html(seed: FormulaSeed) -> str:
    """Return a table of the seed's steps in their order, each with its type and its computation."""
    rows = [(InlineCode(step.name), str(step.ty), InlineCode(step_text(step))) for step in seed.program.steps]
    return as_html([sentence(InlineCode(seed.task_name)), Table(("step", "type", "computation"), rows)])


def outcome_html(lines: Sequence[Mapping[str, Any]], failures: Sequence[str]) -> str:
    """Return a table of restaurants, and the failures as a list, in HTML; of both at most the first 100.

    `lines` are lines of a results file or of an extractions file. The table has the outputs or the error of each
    restaurant, or the number of its rows.
    """
    output_names = list(dict.fromkeys(name for line in lines for name in line.get("output", ())))
    are_results = any("output" in line or "error" in line for line in lines)
    columns = ["restaurant", *(output_names if are_results else ["rows"])]
    rows = [_build_restaurant_row(line, output_names) for line in lines[:_MAX_LISTED_RESTAURANTS]]
    blocks: list[Block] = [Table(columns, rows)]
    if len(lines) > len(rows):
        blocks.append(Paragraph(f"and {len(lines) - len(rows):,} more"))
    if failures:
        blocks.append(Items([ListItem(failure) for failure in failures[:_MAX_LISTED_RESTAURANTS]]))
    return as_html(blocks)


def _build_restaurant_row(line: Mapping[str, Any], output_names: Sequence[str]) -> list[str]:
    """Return the cells of a restaurant: its name or id, then its error, its outputs, or its number of rows.

    `output_names` are the columns of outputs.
    """
    restaurant = str(line.get("name") or line.get("business_id", ""))
    if error := line.get("error"):
        return [restaurant, f"{error['step']}: {error['message']}", *[""] * (len(output_names) - 1)]
    if output := line.get("output"):
        return [restaurant, *(format_plain(output.get(name)) for name in output_names)]
    return [restaurant, f"{len(line.get('rows', ())):,}"]
