"""Define what each phase of the compiler does with a file of requests."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from formulaseed import limits
from formulaseed.diagnostics.catalogue import reading as catalogue
from formulaseed.diagnostics.model import Problems
from formulaseed.ir.kind import Document, Kind
from formulaseed.source.json_reader import Plain

if TYPE_CHECKING:  # commands that read only seeds do not import the reader of requests
    from formulaseed.requests.model import Line, Requests


def _parse(document: Document, problems: Problems, benchmark: bool = False) -> tuple[Line, ...] | None:
    """Lower the requests of a document; None, with an error reported, if the file is too large.

    With `benchmark` ids must have the benchmark's form.
    """
    from formulaseed.requests.read import lower_requests

    if len(document.source.text) > limits.SEED_BYTES:
        problems.report(catalogue.file_too_large(document.source, "the text of all requests"))
        return None
    return lower_requests(document.source, problems, benchmark=benchmark)


def _check(document: Document, lines: tuple[Line, ...], problems: Problems) -> Requests:
    """Return the requests without errors; invalid lines, already reported, are left out. Reports nothing."""
    from formulaseed.requests.model import Request, Requests

    return Requests(document.name, tuple(line for line in lines if isinstance(line, Request)))


def _data(document: Document) -> Plain:
    """Return the requests of a document, which must have been read without errors, as plain values."""
    from formulaseed.requests.read import read_request_values

    return read_request_values(document.source)


KIND = Kind("requests", _parse, _check, is_json=False, data=_data)
BENCHMARK_KIND = replace(KIND, parse=partial(_parse, benchmark=True))
"""Requests whose ids have the benchmark's form, R01 to R100."""
