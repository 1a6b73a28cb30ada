"""Which format a file is in: a seed, or requests as JSON Lines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from formulaseed.source.json_reader import json_lines
from formulaseed.source.text import Source

_REQUEST = {"gold_restaurant", "structure", "shorthand", "scenario"}
_SEED = {"task_name", "compute", "extract", "output", "compute_dag"}
_ENDINGS = (".jsonl", ".jsonl.gz", ".ndjson")


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
