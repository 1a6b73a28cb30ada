"""Property tests for seeds: Hypothesis strategies, and the reference evaluator to compare with.

    from hypothesis import given
    from formulaseed.testing import contexts, reference_evaluate, rows

    @given(rows("seed.json"), contexts("seed.json"))
    def test_score_is_bounded(rows, context):
        assert 0 <= reference_evaluate("seed.json", rows, context)["SCORE"] <= 20

The strategies need the package `hypothesis`, which no other part of formulaseed imports. Each is imported when it is
first used: pytest loads the plugin in this folder in every run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from formulaseed.language.types import Value
    from formulaseed.loading import FormulaSeed, SeedLike
    from formulaseed.testing.inputs import contexts, parameters, rows
    from formulaseed.testing.random_seeds import seeds

__all__ = ["contexts", "parameters", "reference_evaluate", "rows", "seeds"]


def reference_evaluate(
    seed: SeedLike | FormulaSeed,
    rows: Iterable[Mapping[str, Any]],
    context: Mapping[str, Any],
    parameters: Mapping[str, Value] | None = None,
) -> dict[str, Value]:
    """Return every step's value by name, computed by a plain walk over the checked seed: slow and obviously right.

    Raises `SeedError` for a seed with errors, `DataError` for rows, a context or parameters that do not fit the
    seed, and `EvaluationError` for the first step that has no value.
    """
    from formulaseed.ir.interpret import interpret
    from formulaseed.loading import load_seed

    return interpret(load_seed(seed).program, rows, context, parameters)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'formulaseed.testing' has no attribute {name!r}")
    from formulaseed.testing import inputs, random_seeds

    return getattr(random_seeds if name == "seeds" else inputs, name)


def __dir__() -> list[str]:
    return __all__
