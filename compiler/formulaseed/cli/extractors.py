"""Makes the options of extractors from their models, and an extractor from the options that a command got."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

import click
from click.core import ParameterSource

from formulaseed.cli.panels import Decorator, panel_option
from formulaseed.extractors.options import ExtractorOptions
from formulaseed.extractors.registry import EXTRACTORS, find_extractors_with, import_options

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo


_OF_ANY = ("sample", "sample_seed")
"""Options of `run` with any extractor, which the cascade has as its own."""


def extractor_options() -> list[Decorator]:
    """Return a command's option for each option of an extractor, in the order of the registry."""
    fields = {
        name: field
        for extractor in EXTRACTORS
        for name, field in import_options(extractor).model_fields.items()
        if name not in _OF_ANY
    }
    return [_option(name, field) for name, field in fields.items()]


def make_extractor(extractor: str, values: Mapping[str, Any]) -> ExtractorOptions:
    """Return an extractor with its options among the `values` of a command's options.

    Raises `UsageError` if one of them is of another extractor, and if one that this extractor needs is missing.
    """
    options = import_options(extractor)
    for name in values.keys() - _OF_ANY:
        classes = find_extractors_with(name)
        if classes and options not in classes and is_set(name):
            names = " or ".join(each.name for each in classes)
            raise click.UsageError(f"{flag_of(name)} goes with --extractor {names}")
    for name, field in options.model_fields.items():
        if field.is_required() and values[name] is None:
            raise click.UsageError(f"--extractor {extractor} needs {flag_of(name)} FILE")
    # a value that is not given is the model's default, since `--sample` has none as an option
    return options(**{name: values[name] for name in options.model_fields if values.get(name) is not None})


def is_set(name: str) -> bool:
    """Return whether an option of the current command was given, and is not its default."""
    return click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT


def flag_of(name: str) -> str:
    """Return the flag of an option with this name."""
    return f"--{name.replace('_', '-')}"


def _option(name: str, field: FieldInfo) -> Decorator:
    classes = find_extractors_with(name)
    panel, help = classes[0].find_panel(name), field.description or ""
    if panel == "extractor" or len(classes) == 1:
        help = f"{', '.join(each.name for each in classes)}: {help[0].lower()}{help[1:]}"
    if field.annotation is bool:
        return panel_option(panel, flag_of(name), help, is_flag=True)
    kind, metavar = _type_of(field)
    default = None if field.is_required() else field.default
    return panel_option(panel, flag_of(name), help, type=kind, metavar=metavar, default=default)


def _type_of(field: FieldInfo) -> tuple[Any, str | None]:
    """Return click's type of an option, with its bounds, and how help shows a value; None for click's own way."""
    annotation: Any = field.annotation
    alternatives = [each for each in get_args(annotation) if each is not types.NoneType]
    if get_origin(annotation) in (Union, types.UnionType) and len(alternatives) == 1:
        [annotation] = alternatives  # None is an option that is not given
    if get_origin(annotation) is Literal:
        return click.Choice(get_args(annotation)), None
    bounds = {
        name: getattr(each, name) for each in field.metadata for name in ("ge", "gt", "le") if hasattr(each, name)
    }
    low, high = bounds.get("ge", bounds.get("gt")), bounds.get("le")
    if annotation is int:
        return click.IntRange(low, high), "N"
    if annotation is float:
        return click.FloatRange(low, high, min_open="gt" in bounds), "NUMBER"
    return str, "TEXT" if annotation is str else "FILE"
