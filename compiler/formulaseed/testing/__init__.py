"""Property tests for seeds: Hypothesis strategies, the reference evaluator to compare with, and the tests of a module.

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

    from formulaseed.documents import FormulaSeed, SeedLike
    from formulaseed.language.types import Value
    from formulaseed.testing.collection import seed_tests
    from formulaseed.testing.inputs import Restaurant, contexts, parameters, restaurants, rows
    from formulaseed.testing.random_seeds import seeds

_PLACES = {
    "collection": ("seed_tests",),
    "inputs": ("Restaurant", "contexts", "parameters", "restaurants", "rows"),
    "random_seeds": ("seeds",),
}
"""The names that each module of this package offers, in addition to `reference_evaluate`."""
__all__ = ["Restaurant", "contexts", "parameters", "reference_evaluate", "restaurants", "rows", "seed_tests", "seeds"]


def reference_evaluate(
    seed: SeedLike | FormulaSeed,
    rows: Iterable[Mapping[str, Any]],
    context: Mapping[str, Any],
    parameters: Mapping[str, Value] | None = None,
    *,
    fixed: Mapping[str, Value] | None = None,
) -> dict[str, Value]:
    """Return every step's value by name, computed by a plain walk over the checked seed: slow and obviously right.

    A seed that is given as a path is read again only if the file has changed. `fixed` steps have the values that it gives
    and are not computed; those that use them are.

    Raises `SeedError` for a seed with errors, `DataError` for rows, a context or parameters that do not fit the
    seed, and `EvaluationError` for the first step that has no value.
    """
    from formulaseed.ir.interpret import interpret
    from formulaseed.testing.loaded import loaded_seed

    return interpret(loaded_seed(seed).program, rows, context, parameters, fixed=fixed)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    from formulaseed.errors import require_extra

    place = next((place for place, names in _PLACES.items() if name in names), None)
    if place is None:
        raise AttributeError(f"module 'formulaseed.testing' has no attribute {name!r}")
    with require_extra("testing", f"`formulaseed.testing.{name}`"):
        module = import_module(f"formulaseed.testing.{place}")
    return getattr(module, name)


def __dir__() -> list[str]:
    return __all__
