"""Property tests for seeds: Hypothesis strategies, and the reference evaluator to compare with.

    from hypothesis import given
    from formulaseed.testing import contexts, reference_evaluate, rows

    @given(rows("seed.json"), contexts("seed.json"))
    def test_score_is_bounded(rows, context):
        assert 0 <= reference_evaluate("seed.json", rows, context)["SCORE"] <= 20

Needs the package `hypothesis`, which no other part of formulaseed imports. Each name is imported when it is first
used: pytest loads the plugin in this folder in every run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from formulaseed.testing.inputs import contexts, parameters, rows
    from formulaseed.testing.random_seeds import seeds
    from formulaseed.testing.reference import reference_evaluate

_HOMES = {
    "contexts": "formulaseed.testing.inputs",
    "parameters": "formulaseed.testing.inputs",
    "reference_evaluate": "formulaseed.testing.reference",
    "rows": "formulaseed.testing.inputs",
    "seeds": "formulaseed.testing.random_seeds",
}

__all__ = ["contexts", "parameters", "reference_evaluate", "rows", "seeds"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'formulaseed.testing' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
