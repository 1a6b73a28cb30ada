"""Flattens results to columns, for CSV and Parquet: one for each output, error, count of reviews and value of the provenance.

In: results. Out: cells, and lines of CSV. A CSV is for spreadsheets, and names of restaurants are hostile: see `csv_text`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from formulaseed.data.results import Result
from formulaseed.errors import FormulaSeedError

Cell = str | int | float | bool | None

IDENTITY = ("business_id", "name")
DETAILS = {
    **dict.fromkeys(("error_step", "error_kind", "error_message"), str),
    **dict.fromkeys(
        ("reviews_total", "reviews_relevant", "reviews_extracted", "reviews_failed", "reviews_sampled"), int
    ),
    **dict.fromkeys(("run_seed_sha256", "run_seed_version", "run_parameters"), str),
    **dict.fromkeys(("run_extractor", "run_prompt_sha256"), str),
    "run_edited": bool,
    "run_sample": str,
}
"""The columns after those of the outputs: what JSON Lines have in an object, by its path. `run_parameters` and `run_sample`
are JSON."""

_FORMULA = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")
"""The beginning of a text that a spreadsheet may take for a formula, or that is marked as a text already."""
_IDENTIFIER = re.compile("[A-Za-z0-9_-]+")


def column_names(outputs: Sequence[str], has_reasons: bool = False) -> tuple[str, ...]:
    """Return the names of the columns; the last one is `reasons` if `has_reasons` is true.

    Raises `FormulaSeedError` for an output that is called like another column.
    """
    names = (*IDENTITY, *outputs, *DETAILS, *(("reasons",) if has_reasons else ()))
    for name in outputs:
        if names.count(name) > 1:
            raise FormulaSeedError(f"the output `{name}` has the name of a column of every table: write JSON Lines")
    return names


def result_cells(result: Result, outputs: Iterable[str]) -> list[Cell]:
    """Return a result's cells, in the order of `column_names`; None for a value that the result does not have."""
    output = result.output or {}
    error = result.error or {}
    reviews = result.reviews
    run = result.run
    cells: list[Cell] = [result.business_id, result.name, *(output.get(name) for name in outputs)]
    cells += [error.get("step"), error.get("kind"), error.get("message")]
    if reviews is None:
        cells += [None] * 5
    else:
        cells += [reviews.total, reviews.relevant, reviews.extracted, reviews.failed, reviews.sampled]
    if run is None:
        return cells + [None] * 7
    cells += [
        run.seed_sha256,
        run.seed_version,
        json_cell(run.parameters),
        run.extractor,
        run.prompt_sha256,
        run.edited,
    ]
    return [*cells, None if run.sample is None else json_cell(run.sample)]


def csv_line(cells: Iterable[Cell]) -> str:
    """Return a line of CSV with its line end: strings in quotes, numbers with all their digits, nothing for None."""
    return ",".join(map(_format_csv_cell, cells)) + "\n"


def csv_text(text: str) -> str:
    """Return a string as a CSV holds it, with `'` before what a spreadsheet would take for a formula.

    Identifiers of letters, digits, `_` and `-` stay as they are: Yelp's begin with `-` now and then, and no formula that
    does anything can be written in them. A text with such a mark of its own gets another one, so that removing one mark
    gives the text back.
    """
    return f"'{text}" if _FORMULA.match(text) and not _IDENTIFIER.fullmatch(text) else text


def _format_csv_cell(value: Cell) -> str:
    """Return a value as a CSV cell: a string in quotes, `true` or `false`, digits of a number, nothing for None.

    A string that a spreadsheet would take for a formula begins with `'`.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"{}"'.format(csv_text(value).replace('"', '""'))
    return repr(value)


def json_cell(value: object) -> str:
    """Return a value that is no cell, such as an object, as JSON."""
    return json.dumps(value, ensure_ascii=False)
