"""Which format a file is in (a seed, or requests as JSON Lines), and which version a seed has."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from formulaseed.diagnostics.catalogue import seed as catalogue
from formulaseed.diagnostics.model import Problems
from formulaseed.seed import surface
from formulaseed.seed.read.sections import V1_KEYS, V2_KEYS, is_v1
from formulaseed.seed.read.v1 import lower_v1
from formulaseed.seed.read.v2 import lower_v2
from formulaseed.source.json_reader import JsonArray, JsonObject, JsonValue, json_lines
from formulaseed.source.text import Source

_REQUEST = {"gold_restaurant", "structure", "shorthand", "scenario"}
_SEED = {"task_name", "compute", "extract", "output", "compute_dag"}
_ENDINGS = (".jsonl", ".jsonl.gz", ".ndjson")


def lower_document(document: JsonValue, problems: Problems) -> surface.Program | None:
    """Lower a seed of either version; None if the document is none, or so little of it that nothing more can be said."""
    if isinstance(document, JsonArray) and len(document.items) == 1 and _is_seed(document.items[0]):
        problems.report(catalogue.no_seed(document.span, "`[` and `]`"))
        return None
    if not isinstance(document, JsonObject):
        problems.report(catalogue.no_seed(document.span, ""))
        return None
    wrapper = document.members[0] if len(document.members) == 1 else None
    if wrapper is not None and _is_seed(wrapper.value) and wrapper.key.value not in {*V1_KEYS, *V2_KEYS}:
        problems.report(catalogue.wrapped_seed(wrapper.key.span, wrapper.key.value))
        return None
    lower = lower_v1 if is_v1([key.value for key in document.names()]) else lower_v2
    return lower(document, problems)


def _is_seed(value: JsonValue) -> bool:
    """Return whether a value has the keys of a seed."""
    return isinstance(value, JsonObject) and len({key.value for key in value.names()} & {*V1_KEYS, *V2_KEYS}) >= 2


def holds_requests(source: Source) -> bool:
    """Return whether the text is requests rather than a seed: by the file's name, else by the keys of its first line.

    A request that is laid out over several lines counts too, so that it is reported as what it is.
    """
    if source.name.endswith(_ENDINGS):
        return True
    first = next(json_lines(source), None)
    value = _loaded(source.text[first.start : first.end]) if first is not None else None
    if value is None:
        value = _loaded(source.text)
    return isinstance(value, Mapping) and bool(_REQUEST & set(value)) and not _SEED & set(value)


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
