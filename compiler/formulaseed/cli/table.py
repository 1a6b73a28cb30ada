"""Lays out results as a table for a terminal of some width: a line for each restaurant, numbers rounded to be compared.

Columns that do not fit are left out and named: the number of reviews first, then outputs that are numbers, the first ones
first, since those at the end are what they are for, then the restaurants' names. Verdicts (strings and booleans), the
output that is sorted by, and errors stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from formulaseed.data.results import Result
from formulaseed.diagnostics.render import format_table
from formulaseed.source.printing import display_width, printable

_GAP = 2
_MAX_STRING = 32
"""Columns of a terminal that a string takes at most; ids are not cut."""
_MIN_DECIMAL = 1e-3
_MAX_DECIMAL = 1e12
"""Numbers between them are shown with three decimals, the others by their magnitude."""


def results_table(
    results: Sequence[Result], outputs: Sequence[str], sort: str | None, width: int | None
) -> tuple[str, list[str]]:
    """Return a table of at most `width` columns of a terminal, None for any number, and the names of what is left out."""
    table = {
        "business_id": [printable(result.business_id) for result in results],
        "name": [_cut(printable(result.name or ""), _MAX_STRING) for result in results],
        **{name: [_output(result, name) for result in results] for name in outputs},
        "reviews": ["" if result.reviews is None else str(result.reviews.extracted) for result in results],
        "error": [_error(result) for result in results],
    }
    if not any(table["error"]):
        del table["error"]
    numbers = [name for name in outputs if name != sort and not _is_verdict(results, name)]
    left_out = []
    for name in ("reviews", *numbers, "name"):
        if width is None or _width(table) <= width:
            break
        del table[name]
        left_out.append(name)
    text = format_table([[*table], *zip(*table.values(), strict=True)])
    return text if width is None else "\n".join(_cut(line, width) for line in text.split("\n")), left_out


def _is_verdict(results: Iterable[Result], name: str) -> bool:
    return any(isinstance((result.output or {}).get(name), str | bool) for result in results)


def _output(result: Result, name: str) -> str:
    """Return a value as people read it; empty if the restaurant failed."""
    if result.output is None:
        return ""
    value = result.output[name]
    if isinstance(value, str):
        return _cut(printable(value), _MAX_STRING)
    if value is None or isinstance(value, bool):
        return "-" if value is None else str(value).lower()
    if value == 0 or _MIN_DECIMAL <= abs(value) < _MAX_DECIMAL:
        return str(value) if isinstance(value, int) else f"{value:.3f}"
    return f"{value:.3e}"


def _error(result: Result) -> str:
    error = result.error or {}
    return f"{error['kind']} in {error['step']}" if error.get("step") else error.get("kind") or ""


def _width(table: dict[str, list[str]]) -> int:
    widths = (max(map(display_width, [name, *cells])) for name, cells in table.items())
    return sum(widths) + _GAP * (len(table) - 1)


def _cut(text: str, width: int) -> str:
    if display_width(text) <= width:
        return text
    while display_width(text) >= width and text:
        text = text[:-1]
    return f"{text}…"
