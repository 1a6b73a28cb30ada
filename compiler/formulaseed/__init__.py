"""formulaseed: compiles a Formula Seed, a scoring policy over reviews, to a reviewable Python module.

The public names; each is imported when it is first used, so that `import formulaseed` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from formulaseed.api import (
        check,
        compile_formula,
        compile_seed,
        load_evaluator,
        load_requests,
        load_seed,
        validate_requests,
    )
    from formulaseed.diagnostics.model import Diagnostic
    from formulaseed.errors import DataError, EvaluationError, FormulaSeedError, SeedError
    from formulaseed.loading import FormulaSeed, RequestsFile
    from formulaseed.reference.evaluation import Formula
    from formulaseed.requests.validate import RequestResult, Validation
    from formulaseed.runtime.evaluator import Evaluator

__version__ = "0.1.0"

_HOMES = {
    "DataError": "formulaseed.errors",
    "Diagnostic": "formulaseed.diagnostics.model",
    "EvaluationError": "formulaseed.errors",
    "Evaluator": "formulaseed.runtime.evaluator",
    "Formula": "formulaseed.reference.evaluation",
    "FormulaSeed": "formulaseed.loading",
    "FormulaSeedError": "formulaseed.errors",
    "RequestResult": "formulaseed.requests.validate",
    "RequestsFile": "formulaseed.loading",
    "SeedError": "formulaseed.errors",
    "Validation": "formulaseed.requests.validate",
    "check": "formulaseed.api",
    "compile_formula": "formulaseed.api",
    "compile_seed": "formulaseed.api",
    "load_evaluator": "formulaseed.api",
    "load_requests": "formulaseed.api",
    "load_seed": "formulaseed.api",
    "validate_requests": "formulaseed.api",
}

__all__ = [
    "DataError",
    "Diagnostic",
    "EvaluationError",
    "Evaluator",
    "Formula",
    "FormulaSeed",
    "FormulaSeedError",
    "RequestResult",
    "RequestsFile",
    "SeedError",
    "Validation",
    "__version__",
    "check",
    "compile_formula",
    "compile_seed",
    "load_evaluator",
    "load_requests",
    "load_seed",
    "validate_requests",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'formulaseed' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
