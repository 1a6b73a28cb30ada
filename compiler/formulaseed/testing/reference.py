"""The reference evaluator as one function."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from formulaseed.ir.interpret import interpret
from formulaseed.language.types import Value
from formulaseed.loading import FormulaSeed, SeedLike, load_seed


def reference_evaluate(
    seed: SeedLike | FormulaSeed,
    rows: Iterable[Mapping[str, Any]],
    context: Mapping[str, Any],
    parameters: Mapping[str, Value] | None = None,
) -> dict[str, Value]:
    """Every step's value by name, computed by a plain walk over the checked seed: slow and obviously right.

    Raises `SeedError` for a seed with errors, `DataError` for rows, a context or parameters that do not fit the
    seed, and `EvaluationError` for the first step that has no value.
    """
    return interpret(load_seed(seed).program, rows, context, parameters)
