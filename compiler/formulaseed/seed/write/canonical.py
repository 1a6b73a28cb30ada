"""The canonical form of a seed: the specification's order of keys, the author's order of everything else.

Two seeds with one canonical form mean the same. The order of tables, values and conditions is kept, since it
can matter and is the author's. `fmt` writes this form; its hash stands in the generated module. `$schema` tells
editors how to help and says nothing of the policy: `fmt` keeps it, the hash leaves it out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from formulaseed.seed.read.keys import OLDER_STEP_KEYS, OLDER_TOP_KEYS, is_older
from formulaseed.source.json_reader import Plain

_TOP = (
    "$schema", "task_name", "version", "description", "parameters", "context", "filter", "extract", "review_handling",
    "compute", "output", "allow",
)  # fmt: skip
_EXTRACT = ("fields", "meta", "passes", "validity")
_FIELD = (
    "name", "type", "nullable", "description", "values", "path", "default", "evidence", "hint", "minimum", "maximum",
    "sources", "allow",
)  # fmt: skip
_STEP = (
    "name", "op", "extraction", "meta", "context", "source", "field", "expr", "value", "table", "match", "where",
    "rules", "default", "sources", "allow",
)  # fmt: skip
_RULE = ("when", "then", "else")


def canonical(seed: Plain) -> Plain:
    """The seed with its keys in its shape's order; unknown keys keep theirs, behind."""
    if not isinstance(seed, dict):
        return seed
    if is_older(seed):
        return _older(seed)
    top = _ordered(seed, _TOP)
    if isinstance(top.get("extract"), dict):
        extract = _ordered(top["extract"], _EXTRACT)
        for key in ("fields", "meta"):
            extract = _each(extract, key, _FIELD)
        top["extract"] = extract
    top = _each(_inputs(top), "compute", _STEP)
    steps = top.get("compute")
    if isinstance(steps, list):
        top["compute"] = [_each(step, "rules", _RULE) if isinstance(step, dict) else step for step in steps]
    return top


def _older(seed: dict[str, Plain]) -> dict[str, Plain]:
    top = _each(_ordered(seed, ("$schema", *OLDER_TOP_KEYS)), "extraction_fields", _FIELD)
    return _each(_inputs(top), "compute_dag", OLDER_STEP_KEYS)


def _inputs(top: dict[str, Plain]) -> dict[str, Plain]:
    """The declared fields and parameters, which both shapes have."""
    parameters = top.get("parameters")
    if isinstance(parameters, dict):
        top = {**top, "parameters": {name: _ordered(body, _FIELD) for name, body in parameters.items()}}
    return _each(top, "context", _FIELD)


def sha256(seed: Plain) -> str:
    """The hash, in hex, of the canonical form without `$schema` and white space, in UTF-8."""
    import hashlib

    meant = {key: value for key, value in seed.items() if key != "$schema"} if isinstance(seed, dict) else seed
    text = json.dumps(canonical(meant), ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _ordered(value: Plain, keys: Sequence[str]) -> dict[str, Plain]:
    if not isinstance(value, dict):
        return value  # type: ignore[return-value]  # of the wrong shape: left as it is
    known = {key: value[key] for key in keys if key in value}
    return {**known, **{key: item for key, item in value.items() if key not in known}}


def _each(value: dict[str, Plain], key: str, keys: Sequence[str]) -> dict[str, Plain]:
    items = value.get(key)
    if isinstance(items, list):
        return {**value, key: [_ordered(item, keys) for item in items]}
    return value
