"""Requests: AND/OR structures with evidence, their shorthand, three-valued logic and validation.

The functions of the requests document are names of this package, each imported at its first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from formulaseed.requests.functions import evaluate_condition as evaluate_condition
    from formulaseed.requests.functions import evaluate_structure as evaluate_structure
    from formulaseed.requests.functions import reduce_tv as reduce_tv
    from formulaseed.requests.functions import validate_request as validate_request

__all__ = ["evaluate_condition", "evaluate_structure", "reduce_tv", "validate_request"]


def __getattr__(name: str) -> Any:
    """Import a function of the requests document at its first use. Raises `AttributeError` for any other name."""
    if name not in __all__:
        raise AttributeError(f"module 'formulaseed.requests' has no attribute {name!r}")
    from formulaseed.requests import functions

    return getattr(functions, name)
