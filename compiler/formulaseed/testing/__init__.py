"""Offers what property tests of seeds need: Hypothesis strategies, a reference evaluator, and the tests of a module.

    from hypothesis import given
    from formulaseed.testing import contexts, reference_evaluate, rows

    @given(rows("seed.json"), contexts("seed.json"))
    def test_score_is_bounded(rows, context):
        assert 0 <= reference_evaluate("seed.json", rows, context)["SCORE"] <= 20

The strategies need the package `hypothesis`, which no other part of formulaseed imports. Each name is imported when it is first
used, since pytest loads the plugin in this folder in every run.
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
    from formulaseed.testing.records import entities

_NAMES_BY_MODULE = {
    "collection": ("seed_tests",),
    "records": ("entities",),
    "inputs": ("Restaurant", "contexts", "parameters", "restaurants", "rows"),
    "random_seeds": ("seeds",),
}
"""The public names of each module of this package; `reference_evaluate` is defined here."""
__all__ = [
    "Restaurant", "contexts", "entities", "parameters", "reference_evaluate", "restaurants", "rows", "seed_tests", "seeds",
]  # fmt: skip


def reference_evaluate(
    seed: SeedLike | FormulaSeed,
    rows: Iterable[Mapping[str, Any]],
    context: Mapping[str, Any],
    parameters: Mapping[str, Value] | None = None,
    *,
    fixed: Mapping[str, Value] | None = None,
) -> dict[str, Value]:
    """Return every step's value by name, computed by a plain walk over the checked seed, which is slow and simple.

    If `seed` is a path, the file is read again only after it has changed. `fixed` maps names of steps to values that they have
    without being computed; the steps that use them are computed.

    Raises `SeedError` for a seed with errors, `DataError` for rows, a context or parameters that do not fit the
    seed, and `EvaluationError` for the first step that has no value.
    """
    from formulaseed.ir.interpret import interpret
    from formulaseed.testing.loaded import load_cached_seed

    return interpret(load_cached_seed(seed).program, rows, context, parameters, fixed=fixed)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    from formulaseed.errors import require_extra

    module_name = next((module for module, names in _NAMES_BY_MODULE.items() if name in names), None)
    if module_name is None:
        raise AttributeError(f"module 'formulaseed.testing' has no attribute {name!r}")
    with require_extra("testing", f"`formulaseed.testing.{name}`"):
        module = import_module(f"formulaseed.testing.{module_name}")
    return getattr(module, name)


def __dir__() -> list[str]:
    return __all__
