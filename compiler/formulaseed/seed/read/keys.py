"""The keys of a seed's objects and the words that some of them take: what a seed is read by, and its JSON Schema."""

from __future__ import annotations

from collections.abc import Collection

from formulaseed.language.types import BOOLEAN, INTEGER, NUMBER, STRING, Type

TOP_KEYS = (
    "task_name", "version", "description", "parameters", "context", "filter", "extract",
    "review_handling", "compute", "output", "allow", "$schema",
)  # fmt: skip
OLDER_TOP_KEYS = (
    "task_name", "version", "description", "parameters", "context", "filter_keywords", "extraction_fields",
    "extraction_prompt", "review_handling", "compute_dag", "output_fields", "allow", "$schema",
)  # fmt: skip
OLDER_STEP_KEYS = ("name", "formula", "description", "allow")
NEWER_KEYS = {
    "filter_keywords": "filter",
    "extraction_fields": "extract",
    "extraction_prompt": "extract",
    "compute_dag": "compute",
    "output_fields": "output",
}
"""The keys that only the older shape has, each with the one that says it in the newer shape."""
OLDER_KEYS = {
    "filter": "filter_keywords",
    "extract": "extraction_fields",
    "compute": "compute_dag",
    "output": "output_fields",
}
"""The keys that only the newer shape has, each with the one that says it in the older shape."""
WRITTEN = {
    "filter_keywords": '"filter": {"keywords": […]}',
    "extraction_fields": '"extract": {"fields": […]}',
    "filter": '"filter_keywords": […]',
    "extract": '"extraction_fields": […]',
}
"""How the other shape writes what these keys of one shape say, where it is more than another key."""
FILTER_KEYS = ("keywords", "allow")
EXTRACT_KEYS = ("fields", "meta", "passes", "validity")
FIELD_KEYS = (
    "name", "type", "values", "description", "default", "minimum", "maximum", "evidence", "hint", "sources", "allow",
)  # fmt: skip
DECLARED_KEYS = ("name", "type", "values", "nullable", "description", "allow")
CONTEXT_FIELD_KEYS = (*DECLARED_KEYS, "path")
PARAMETER_KEYS = ("type", "default", "minimum", "maximum", "description", "allow")
REVIEW_HANDLING_KEYS = ("max_length", "strategy")

HINTS = ("stars",)

SCALARS: dict[str, Type] = {"integer": INTEGER, "number": NUMBER, "boolean": BOOLEAN, "string": STRING}
FIELD_TYPES = ("enum", *SCALARS)
STRATEGIES = ("truncate_head", "truncate_tail", "truncate_middle", "reject")


def is_older(keys: Collection[str]) -> bool:
    """Whether a document with these keys is of the older shape: it has one of its own, and no `compute`."""
    return "compute" not in keys and any(key in keys for key in NEWER_KEYS)
