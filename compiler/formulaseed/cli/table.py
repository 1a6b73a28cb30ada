"""Lay out results as a table for a terminal of some width: a line for each restaurant, with rounded numbers.

Columns that do not fit are left out: first the number of reviews, then outputs that are numbers, from the first on because
the last ones are the final scores, then the restaurants' names. Verdicts (strings and booleans), the output that the rows are
sorted by, and errors stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from formulaseed.data.results import Result
from formulaseed.diagnostics.render import format_table
from formulaseed.source.printing import display_width, printable

_GAP = 2
_MAX_STRING_WIDTH = 32  # in columns of the terminal; ids are not cut
# numbers in this range are shown with three decimals, the others in scientific notation
_MIN_DECIMAL = 1e-3
_MAX_DECIMAL = 1e12


def results_table(
    results: Sequence[Result], outputs: Sequence[str], sort: str | None, width: int | None
) -> tuple[str, list[str]]:
    """Return the results as a table, and the names of the columns that were left out to make it fit.

    The table is at most `width` columns of a terminal wide; None means no limit. `outputs` are the names of the
    outputs, `sort` the one that the results are sorted by, if any. First `reviews` is left out, then numbers, then
    `name`, but never `sort` and verdicts; if that is not enough, lines are cut.
    """
    table = {
        "business_id": [printable(result.business_id) for result in results],
        "name": [cut(printable(result.name or ""), _MAX_STRING_WIDTH) for result in results],
        **{name: [_format_output(result, name) for result in results] for name in outputs},
        "reviews": ["" if result.reviews is None else str(result.reviews.extracted) for result in results],
        "error": [_format_error(result) for result in results],
    }
    if not any(table["error"]):
        del table["error"]
    numbers = [name for name in outputs if name != sort and not _is_verdict(results, name)]
    left_out = []
    for name in ("reviews", *numbers, "name"):
        if width is None or _table_width(table) <= width:
            break
        del table[name]
        left_out.append(name)
    text = format_table([[*table], *zip(*table.values(), strict=True)])
    if width is not None:
        text = "\n".join(cut(line, width) for line in text.split("\n"))
    return text, left_out


def _is_verdict(results: Iterable[Result], name: str) -> bool:
    """Return True if the output has a string or a boolean in at least one result."""
    return any(isinstance((result.output or {}).get(name), str | bool) for result in results)


def _format_output(result: Result, name: str) -> str:
    """Return the text of an output's value: a number rounded, a long string cut, `-` for None.

    The text is empty if the restaurant failed.
    """
    if result.output is None:
        return ""
    value = result.output[name]
    if isinstance(value, str):
        return cut(printable(value), _MAX_STRING_WIDTH)
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    if value == 0 or _MIN_DECIMAL <= abs(value) < _MAX_DECIMAL:
        return str(value) if isinstance(value, int) else f"{value:.3f}"
    return f"{value:.3e}"


def _format_error(result: Result) -> str:
    """Return the kind of a result's error, with its step if there is one; empty without an error."""
    error = result.error or {}
    if error.get("step"):
        return f"{error['kind']} in {error['step']}"
    return error.get("kind") or ""


def _table_width(table: dict[str, list[str]]) -> int:
    """Return the columns of a terminal that the table takes, with the gaps between its columns."""
    widths = (max(map(display_width, [name, *cells])) for name, cells in table.items())
    return sum(widths) + _GAP * (len(table) - 1)


def cut(text: str, width: int) -> str:
    """Return the text in at most `width` columns of a terminal; an ellipsis ends a text that was cut."""
    if display_width(text) <= width:
        return text
    total = 0
    for position, character in enumerate(text):
        total += display_width(character)
        if total >= width:
            return f"{text[:position]}…"
    return text
