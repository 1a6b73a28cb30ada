"""Which format a file is in (a seed, or requests as JSON Lines), and which shape a seed has."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from formulaseed.diagnostics.catalogue import reading as catalogue
from formulaseed.diagnostics.model import Problems
from formulaseed.seed import surface
from formulaseed.seed.read.keys import OLDER_TOP_KEYS, TOP_KEYS, is_older
from formulaseed.seed.read.v1 import lower_older_seed
from formulaseed.seed.read.v2 import lower_seed
from formulaseed.source.json_reader import JsonArray, JsonObject, JsonValue, Member, json_lines
from formulaseed.source.text import Source

_REQUEST = {"gold_restaurant", "structure", "shorthand", "scenario"}
_SEED = {"task_name", "compute", "extract", "output", "compute_dag"}
_SEED_KEYS = {*TOP_KEYS, *OLDER_TOP_KEYS}
_ENDINGS = (".jsonl", ".jsonl.gz", ".ndjson")


def lower_document(document: JsonValue, problems: Problems) -> surface.Program | None:
    """Lower a seed of either shape; None where so little of it is there that nothing more can be said."""
    only = document.items[0] if isinstance(document, JsonArray) and len(document.items) == 1 else None
    if isinstance(only, JsonObject) and len({key.value for key in only.names()} & _SEED_KEYS) >= 2:
        problems.report(catalogue.not_a_seed(document.span, is_wrapped=True))
        return lower_document(only, problems)
    if not isinstance(document, JsonObject):
        problems.report(catalogue.not_a_seed(document.span, is_wrapped=False))
        return None
    wrapped = _wrapped(document)
    if wrapped is not None:
        problems.report(catalogue.wrapped_seed(wrapped.key.span, wrapped.key.value))
        return lower_document(wrapped.value, problems)
    if is_older([key.value for key in document.names()]):
        return lower_older_seed(document, problems)
    return lower_seed(document, problems)


def _wrapped(document: JsonObject) -> Member | None:
    """The one key of a document that holds the seed where it alone should stand."""
    if len(document.members) != 1:
        return None
    (member,) = document.members
    inner = {key.value for key in member.value.names()} if isinstance(member.value, JsonObject) else set()
    return member if len(inner & _SEED_KEYS) >= 2 and member.key.value not in _SEED_KEYS else None


def holds_requests(source: Source) -> bool:
    """Whether the text is rather one of requests than a seed: by the file's name, else by its first line's keys.

    A request that is laid out over several lines is one too, so that it is told as what it is.
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
