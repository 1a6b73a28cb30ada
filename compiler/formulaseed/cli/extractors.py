"""Make the options of commands from the extractors' models, and an extractor from the options of a command."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin

import click
from pydantic.fields import FieldInfo

from formulaseed.cli.options import Decorator, flag_of, is_set, panel_option
from formulaseed.extractors.base import ExtractorOptions
from formulaseed.extractors.registry import EXTRACTORS, find_extractors_with, import_options, resolve_extractor

# `run` has these options for every extractor; the cascade has its own options of the same names
_SHARED_OPTIONS = ("sample", "sample_seed")


def extractor_options() -> list[Decorator]:
    """Return the decorators that add the options of all extractors to a command, in the order of the registry."""
    fields = {
        name: field
        for extractor in EXTRACTORS
        for name, field in import_options(extractor).model_fields.items()
        if name not in _SHARED_OPTIONS
    }
    return [_make_option(name, field) for name, field in fields.items()]


def make_extractor(extractor: str, values: Mapping[str, Any]) -> ExtractorOptions:
    """Make the extractor of this name with its options among `values`, the options of the current command.

    Raises `UsageError` if the user passed an option of another extractor, or left out one that this extractor needs.
    """
    options = import_options(extractor)
    for name in values.keys() - _SHARED_OPTIONS:
        classes = find_extractors_with(name)
        if classes and options not in classes and is_set(name):
            names = " or ".join(owner.name for owner in classes)
            raise click.UsageError(f"{flag_of(name)} goes with --extractor {names}")
    for name, field in options.model_fields.items():
        if field.is_required() and values[name] is None:
            raise click.UsageError(f"--extractor {extractor} needs {flag_of(name)} FILE")
    if not is_set("extractor"):
        return resolve_extractor(None)
    # an option without a value gets the default of the model: `--sample` has none as an option of a command
    return options(**{name: values[name] for name in options.model_fields if values.get(name) is not None})


def _make_option(name: str, field: FieldInfo) -> Decorator:
    """Return the decorator that adds the option for a field of the extractors' models to a command.

    Its help begins with the names of the extractors that have the field, unless several share an option of another
    panel.
    """
    classes = find_extractors_with(name)
    panel = classes[0].find_panel(name)
    help = field.description or ""
    if panel == "extractor" or len(classes) == 1:
        help = f"{', '.join(owner.name for owner in classes)}: {help[0].lower()}{help[1:]}"
    if field.annotation is bool:
        return panel_option(panel, flag_of(name), help, is_flag=True)
    kind, metavar = _choose_type(field)
    default = None if field.is_required() else field.default
    return panel_option(panel, flag_of(name), help, type=kind, metavar=metavar, default=default)


def _choose_type(field: FieldInfo) -> tuple[Any, str | None]:
    """Return the type of an option for click, with its bounds, and the metavar in the help, or None for click's default."""
    annotation: Any = field.annotation
    alternatives = [member for member in get_args(annotation) if member is not types.NoneType]
    if get_origin(annotation) in (Union, types.UnionType) and len(alternatives) == 1:
        [annotation] = alternatives  # None is the value of an option that is left out
    if get_origin(annotation) is Literal:
        return click.Choice(get_args(annotation)), None
    bounds = {
        name: getattr(bound, name) for bound in field.metadata for name in ("ge", "gt", "le") if hasattr(bound, name)
    }
    low = bounds.get("ge", bounds.get("gt"))
    high = bounds.get("le")
    if annotation is int:
        return click.IntRange(low, high), "N"
    if annotation is float:
        return click.FloatRange(low, high, min_open="gt" in bounds), "NUMBER"
    return str, "TEXT" if annotation is str else "FILE"
