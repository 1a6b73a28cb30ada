"""The keys of a seed's objects and the words that some of them take: what a seed is read by, and its JSON Schema."""

from __future__ import annotations

from formulaseed.domain.types import BOOLEAN, INTEGER, NUMBER, STRING, Type

TOP_KEYS = (
    "task_name", "version", "description", "parameters", "context", "filter", "extract",
    "review_handling", "compute", "output", "allow", "$schema",
)  # fmt: skip
OLDER_KEYS = ("filter_keywords", "extraction_fields", "extraction_prompt", "compute_dag", "output_fields")
FILTER_KEYS = ("keywords", "allow")
EXTRACT_KEYS = ("fields", "meta", "passes", "validity")
FIELD_KEYS = ("name", "type", "values", "description", "default", "allow")
DECLARED_KEYS = ("name", "type", "nullable", "description", "allow")
PARAMETER_KEYS = ("type", "default", "minimum", "maximum", "description", "allow")
REVIEW_HANDLING_KEYS = ("max_length", "strategy")

SCALARS: dict[str, Type] = {"integer": INTEGER, "number": NUMBER, "boolean": BOOLEAN, "string": STRING}
FIELD_TYPES = ("enum", *SCALARS)
STRATEGIES = ("truncate_head", "truncate_tail", "truncate_middle", "reject")
