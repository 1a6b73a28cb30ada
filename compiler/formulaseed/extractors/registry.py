"""Lists the extractors by name, and finds the one that an argument names. A new extractor is one entry here."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from formulaseed.errors import ArgumentError
from formulaseed.extractors.options import ExtractorOptions

EXTRACTORS = {
    "lexical": "formulaseed.extractors.lexical.Lexical",
    "recorded": "formulaseed.extractors.recorded.Recorded",
    "trained": "formulaseed.extractors.trained.extractor.Trained",
    "anthropic": "formulaseed.extractors.model.options.Anthropic",
    "cascade": "formulaseed.extractors.cascade.Cascade",
}
"""The class of each extractor's options."""


@cache
def options_class(name: str) -> type[ExtractorOptions]:
    """Return the class of an extractor's options."""
    module, _, attribute = EXTRACTORS[name].rpartition(".")
    found: type[ExtractorOptions] = getattr(import_module(module), attribute)
    return found


def extractor_of(value: object) -> ExtractorOptions:
    """Return an extractor's options as they are, and for a bare name its defaults.

    Raises `ArgumentError` for anything else, and for the name of an extractor that has options without a default.
    """
    if isinstance(value, ExtractorOptions):
        return value
    if not isinstance(value, str) or value not in EXTRACTORS:
        *names, last = map(repr, EXTRACTORS)
        known = f"{', '.join(names)} or {last}, or a value of `formulaseed.extractors`"
        raise ArgumentError("extractor", f"must be {known}, not {value!r:.80}")
    options = options_class(value)
    missing = [name for name, field in options.model_fields.items() if field.is_required()]
    if missing:
        needed = ", ".join(f"{name}=…" for name in missing)
        raise ArgumentError(
            "extractor", f"{value!r} needs options: write `formulaseed.extractors.{options.__name__}({needed})`"
        )
    return options()


def classes_with(option: str) -> list[type[ExtractorOptions]]:
    """Return the extractors that have an option, in the order of the registry."""
    classes = map(options_class, EXTRACTORS)
    return [options for options in classes if option in options.model_fields]


def find_home(option: str) -> str:
    """Return how to write an option of `run` and `extract` that belongs to an extractor; empty if none has it."""
    classes = classes_with(option)
    return f"write `extractor=formulaseed.extractors.{classes[0].__name__}({option}=…)`" if classes else ""
