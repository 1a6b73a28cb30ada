"""Format a file of requests in its layout: one request a line, a list, or one laid out after another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from json import dumps

from formulaseed import limits
from formulaseed.diagnostics.catalogue import reading
from formulaseed.diagnostics.model import Problems
from formulaseed.requests.read import KEYS, is_json_lines
from formulaseed.seed.write.canonical import format_json
from formulaseed.source.json_reader import JsonFault, JsonValue, Plain, plain_value
from formulaseed.source.json_streams import iter_json_lines, read_json_line, read_json_values
from formulaseed.source.text import Source


def format_requests(source: Source, problems: Problems) -> str:
    """Return the text of the file with the keys of each request in the order of `KEYS`.

    A file with one request a line stays one, without empty lines. Any other file is laid out like a seed. Faults of the
    JSON are reported to `problems`; a request that cannot be read is left out.
    """
    are_lines = is_json_lines(source)
    faults: list[JsonFault] = []
    pairs: Sequence[tuple[JsonValue | None, list[JsonFault]]]
    if are_lines:
        pairs = [read_json_line(source, line, limits.REQUEST_DEPTH) for line in iter_json_lines(source)]
    else:
        pairs, faults = read_json_values(source, limits.REQUEST_DEPTH, limits.REQUESTS)
    for fault in [*faults, *(fault for _, inner_faults in pairs for fault in inner_faults)]:
        problems.report(reading.invalid_json(fault))
    requests = [_order_keys(plain_value(value)) for value, _ in pairs if value is not None]
    if are_lines:
        return "".join(f"{dumps(request, ensure_ascii=False)}\n" for request in requests)
    if source.text.lstrip().startswith("["):
        return format_json(requests)
    return "".join(map(format_json, requests))


def _order_keys(request: Plain) -> Plain:
    """Return a copy of a request with known keys first, in the order of `KEYS`; a value that is no object as it is."""
    if not isinstance(request, Mapping):
        return request
    return {key: request[key] for key in (*(key for key in KEYS if key in request), *request)}
