"""Lists the extractors by name, and resolves the argument `extractor`. A new extractor is one entry here."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from formulaseed.errors import ArgumentError
from formulaseed.extractors.base import ExtractorOptions

EXTRACTORS = {
    "lexical": "formulaseed.extractors.lexical.Lexical",
    "recorded": "formulaseed.extractors.recorded.Recorded",
    "trained": "formulaseed.extractors.trained.extractor.Trained",
    "anthropic": "formulaseed.extractors.model.options.Anthropic",
    "cascade": "formulaseed.extractors.cascade.Cascade",
}
"""The dotted path of each extractor's options class, by the extractor's name."""


@cache
def import_options(name: str) -> type[ExtractorOptions]:
    """Import and return the options class of the extractor called `name`. Raises `KeyError` for an unknown name."""
    module, _, attribute = EXTRACTORS[name].rpartition(".")
    options: type[ExtractorOptions] = getattr(import_module(module), attribute)
    return options


def resolve_extractor(value: object) -> ExtractorOptions:
    """Return the options that `value` stands for: options are returned as they are, a name means all defaults.

    None means that the user named no extractor: the lexical one, with doubts. Raises `ArgumentError` for any other value, and
    for the name of an extractor that has an option without a default.
    """
    if value is None:
        from formulaseed.extractors.lexical import DefaultLexical

        return DefaultLexical()
    if isinstance(value, ExtractorOptions):
        return value
    if not isinstance(value, str) or value not in EXTRACTORS:
        *names, last = map(repr, EXTRACTORS)
        known = f"{', '.join(names)} or {last}, or a value of `formulaseed.extractors`"
        raise ArgumentError("extractor", f"must be {known}, not {value!r:.80}")
    options = import_options(value)
    missing = [name for name, field in options.model_fields.items() if field.is_required()]
    if missing:
        needed = ", ".join(f"{name}=…" for name in missing)
        raise ArgumentError(
            "extractor", f"{value!r} needs options: write `formulaseed.extractors.{options.__name__}({needed})`"
        )
    return options()


def find_extractors_with(option: str) -> list[type[ExtractorOptions]]:
    """Return the options classes that have a field called `option`, in the order of the registry."""
    classes = map(import_options, EXTRACTORS)
    return [options for options in classes if option in options.model_fields]


def suggest_extractor(option: str) -> str:
    """Return the help for an option that was passed to `run` or `extract` although an extractor has it.

    The help says how to pass `option` to the first such extractor. It is empty if no extractor has the option.
    """
    classes = find_extractors_with(option)
    if not classes:
        return ""
    return f"write `extractor=formulaseed.extractors.{classes[0].__name__}({option}=…)`"
