"""Compile a Formula Seed, a scoring policy over reviews, to a reviewable Python module.

Each public name is imported at its first use, so that `import formulaseed` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from formulaseed import extractors as extractors
    from formulaseed.api import check, compile_formula, explain, load_evaluator, score, validate_requests
    from formulaseed.compare.cover import Coverage, cover
    from formulaseed.compare.diff import Difference, diff
    from formulaseed.compare.expect import ExpectedOutputs, expect
    from formulaseed.compare.results import ResultsDifference, diff_results
    from formulaseed.compare.sensitivity import Sensitivity, sensitivity
    from formulaseed.diagnostics.model import Diagnostic
    from formulaseed.documents import FormulaSeed, RequestsFile, compile_seed, load_requests, load_seed
    from formulaseed.errors import DataError, EvaluationError, FormulaSeedError, SeedError
    from formulaseed.explanation.explanation import Explanation
    from formulaseed.explanation.report import Report, report
    from formulaseed.extractors.phase2 import Outcome, extract, run
    from formulaseed.proofs.proving import Proofs, prove
    from formulaseed.reference.evaluation import Formula
    from formulaseed.requests.validate import RequestResult, Validation
    from formulaseed.runtime.evaluator import Evaluator

__version__ = "0.1.0"

_PUBLIC_NAMES = {
    "api": ("check", "compile_formula", "explain", "load_evaluator", "score", "validate_requests"),
    "diagnostics.model": ("Diagnostic",),
    "errors": ("DataError", "EvaluationError", "FormulaSeedError", "SeedError"),
    "documents": ("FormulaSeed", "RequestsFile", "compile_seed", "load_requests", "load_seed"),
    "extractors.phase2": ("Outcome", "extract", "run"),
    "proofs.proving": ("Proofs", "prove"),
    "reference.evaluation": ("Formula",),
    "compare.cover": ("Coverage", "cover"),
    "compare.diff": ("Difference", "diff"),
    "compare.expect": ("ExpectedOutputs", "expect"),
    "compare.results": ("ResultsDifference", "diff_results"),
    "explanation.explanation": ("Explanation",),
    "explanation.report": ("Report", "report"),
    "compare.sensitivity": ("Sensitivity", "sensitivity"),
    "requests.validate": ("RequestResult", "Validation"),
    "runtime.evaluator": ("Evaluator",),
}  # fmt: skip
_MODULES = {name: f"formulaseed.{module}" for module, names in _PUBLIC_NAMES.items() for name in names}

__all__ = [
    "Coverage", "DataError", "Diagnostic", "Difference", "EvaluationError", "Evaluator", "ExpectedOutputs", "Explanation",
    "Formula", "FormulaSeed", "FormulaSeedError", "Outcome", "Proofs", "Report", "RequestResult", "RequestsFile",
    "ResultsDifference", "SeedError",
    "Sensitivity", "Validation", "__version__", "check", "compile_formula", "compile_seed", "cover",
    "diff", "diff_results", "expect", "explain", "extract", "load_evaluator", "load_requests", "load_seed", "prove", "report",
    "run", "score", "sensitivity", "validate_requests",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a public name at its first use. Raises `AttributeError` for any other name.

    The first use of a name of `documents` or `extractors.phase2` also gives the class in it its HTML for notebooks.
    """
    if name not in _MODULES and name != "extractors":
        raise AttributeError(f"module 'formulaseed' has no attribute {name!r}")
    import importlib

    if name == "extractors":  # a package, whose values `run` and `extract` take
        return importlib.import_module("formulaseed.extractors")
    module = importlib.import_module(_MODULES[name])
    # the pages of notebooks belong to a layer above the classes, so the classes get them here
    if module.__name__ == "formulaseed.documents":
        module.FormulaSeed._repr_html_ = _seed_html
    elif module.__name__ == "formulaseed.extractors.phase2":
        module.Outcome._repr_html_ = _outcome_html
    return getattr(module, name)


def _seed_html(seed: FormulaSeed) -> str:
    """Return the HTML of a seed for notebooks: its steps as a table."""
    from formulaseed.pages.notebook import seed_html

    return seed_html(seed)


def _outcome_html(outcome: Outcome) -> str:
    """Return the HTML of results or rows for notebooks: a table."""
    from formulaseed.pages.notebook import outcome_html

    return outcome_html(outcome, outcome.failures)


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
