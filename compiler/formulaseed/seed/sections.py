"""Makes the sections of a seed's JSON attributes of the class of checked seeds."""

from __future__ import annotations

from typing import Any

from formulaseed.seed.read.sections import VERSION_KEY_PAIRS, is_v1

_EMPTY: dict[str, Any] = {"filter": {}, "filter_keywords": [], "extraction_prompt": ""}


def _section(key: str) -> property:
    """Return a property: a section of a seed as JSON values, empty if the seed leaves it out.

    The class has the seed's JSON as `data`, and its `task_name`. Reading the property raises `AttributeError` if the seed is of
    the version that does not have the key.
    """

    def read(seed: Any) -> Any:
        """Return the section. Raises `AttributeError` if it belongs to the other version."""
        if key in seed.data:
            return seed.data[key]
        for v1_key, v2_key in VERSION_KEY_PAIRS:
            own_key = v1_key if is_v1(seed.data) else v2_key
            if key in (v1_key, v2_key) and key != own_key:
                raise AttributeError(f"the seed {seed.task_name} has no `{key}`; its version of seeds has `{own_key}`")
        return _EMPTY[key]

    return property(read, doc=f"The section `{key}` of the seed, as JSON values.")


class SeedSections:
    """The sections of a seed's JSON as attributes: `filter`, `extract`, `compute` and `output`, or those of a seed v1."""

    filter = _section("filter")
    extract = _section("extract")
    compute = _section("compute")
    output = _section("output")
    filter_keywords = _section("filter_keywords")
    extraction_fields = _section("extraction_fields")
    extraction_prompt = _section("extraction_prompt")
    compute_dag = _section("compute_dag")
    output_fields = _section("output_fields")
