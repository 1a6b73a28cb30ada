"""Provides the extractors as values with their options. Each is imported when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from formulaseed.extractors.cascade import Cascade
    from formulaseed.extractors.lexical import Lexical
    from formulaseed.extractors.model.options import Anthropic
    from formulaseed.extractors.recorded import Recorded
    from formulaseed.extractors.trained.extractor import Trained

__all__ = ["Anthropic", "Cascade", "Lexical", "Recorded", "Trained"]


def __getattr__(name: str) -> Any:
    """Import the options class of an extractor at its first use. Raises `AttributeError` for any other name."""
    from formulaseed.extractors.registry import EXTRACTORS, import_options

    names = {path.rpartition(".")[2]: extractor for extractor, path in EXTRACTORS.items()}
    if name not in names:
        raise AttributeError(f"module 'formulaseed.extractors' has no attribute {name!r}")
    return import_options(names[name])


def __dir__() -> list[str]:
    return __all__
