"""Formats a file of requests, and keeps its kind: one request a line, a list, or one laid out after another."""

from __future__ import annotations

from collections.abc import Mapping
from json import dumps

from formulaseed import limits
from formulaseed.diagnostics.catalogue import reading
from formulaseed.diagnostics.model import Problems
from formulaseed.requests.read import KEYS, is_json_lines
from formulaseed.seed.write.canonical import layout
from formulaseed.source.json_reader import JsonValue, Plain, json_lines, plain, read_json_line, read_json_values
from formulaseed.source.text import Source


def formatted_requests(source: Source, problems: Problems) -> str:
    """Return the file with the keys of each request in the reference's order; reports what is not JSON."""
    are_lines = is_json_lines(source)
    values: list[JsonValue] = []
    if are_lines:
        read = [read_json_line(source, line, limits.REQUEST_DEPTH) for line in json_lines(source)]
        faults = [fault for _, found in read for fault in found]
        values = [value for value, _ in read if value is not None]
    else:
        pairs, faults = read_json_values(source, limits.REQUEST_DEPTH)
        faults = [*faults, *(fault for _, found in pairs for fault in found)]
        values = [value for value, _ in pairs]
    for fault in faults:
        problems.report(reading.invalid_json(fault))
    requests = [_ordered(plain(value)) for value in values]
    if are_lines:
        return "".join(f"{dumps(request, ensure_ascii=False)}\n" for request in requests)
    return layout(requests) if source.text.lstrip().startswith("[") else "".join(map(layout, requests))


def _ordered(request: Plain) -> Plain:
    if not isinstance(request, Mapping):
        return request
    return {key: request[key] for key in (*(key for key in KEYS if key in request), *request)}
