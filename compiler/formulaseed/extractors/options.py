"""Defines an extractor as a value: a frozen model of its options, which opens it.

In: options by name. Out: a model with bounds, defaults and descriptions, from which the options of commands, their help and the
table in `docs/running.md` are made. Nothing is read or sent before `open`.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError

from formulaseed.data.arguments import argument_error, unknown_option
from formulaseed.data.jsonl import Lines, is_lines, keep_lines
from formulaseed.data.results import Failures
from formulaseed.errors import ArgumentError, FormulaSeedError
from formulaseed.extractors.base import OpenExtractor
from formulaseed.ir import nodes
from formulaseed.runtime.reviews import ReviewSource


@dataclass(frozen=True, slots=True)
class Callbacks:
    """What a run reports to: `notify` takes a line about the run, `show_progress` how far it is, with every answer.

    A run without `show_progress` is quiet: it notifies only of what a user has to know.
    """

    notify: Callable[[str], None] = lambda _: None
    show_progress: Callable[[str], None] | None = None


class ExtractorOptions(BaseModel):
    """The options of an extractor. Raises `FormulaSeedError` for an unknown option, `ArgumentError` for a wrong value."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)

    name: ClassVar[str]
    """What `--extractor` and `extractor=` call it."""
    asks_model: ClassVar[bool] = False
    """Whether it costs money, and can be estimated."""
    positional: ClassVar[str] = ""
    """The option that may be passed without its name; empty if there is none."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        owner, fields = type(self).__name__, type(self).model_fields
        if len(arguments) == 1 and self.positional and self.positional not in options:
            options[self.positional] = arguments[0]
        elif arguments:
            raise FormulaSeedError(f"`{owner}` takes its options by name: {', '.join(fields) or 'it has none'}")
        unknown = next((name for name in options if name not in fields), None)
        if unknown is not None:
            raise unknown_option(owner, unknown, list(fields))
        for name, field in fields.items():
            if field.is_required() and options.get(name) is None:
                raise ArgumentError(name, f"of `{owner}` is missing: {field.description}")
        try:
            super().__init__(**options)
        except ValidationError as error:
            raise argument_error(str(error.errors()[0]["loc"][0]), error) from None

    @classmethod
    def panel_of(cls, option: str) -> str:
        """Return the panel of a command's help that shows an option."""
        return "extractor"

    def require(self) -> None:
        """Raise `UnreadableError` if a package or credentials are missing, before anything is read."""

    @abstractmethod
    def open(
        self, program: nodes.Program, source: ReviewSource, failures: Failures, callbacks: Callbacks
    ) -> AbstractContextManager[OpenExtractor]:
        """Open the extractor for the fields of a program.

        May read `source` several times, and add what it cannot use to `failures`. Raises `ArgumentError` for options that do
        not fit each other, the program or the source, and `DataError` for a file that cannot be used.
        """

    def estimate(self, program: nodes.Program, source: ReviewSource, callbacks: Callbacks) -> list[str]:
        """Return what a run would ask and what that would cost, for people. Raises `FormulaSeedError` if it asks no model."""
        raise FormulaSeedError(f"the extractor `{self.name}` asks no model: it costs nothing")


def _check_path(value: Any) -> Any:
    """Return a path as it is. Raises `ValueError` for anything else."""
    if not isinstance(value, str | os.PathLike):
        raise ValueError("a path")
    return value


def _check_lines(value: Any) -> Any:
    """Return lines that can be read as often as the value is used. Raises `ValueError` for anything else."""
    if not is_lines(value):
        raise ValueError("a path, a list of objects or a data frame")
    return keep_lines(value, "lines")


PathOption = Annotated[str | os.PathLike[str], PlainValidator(_check_path)]
LinesOption = Annotated[Lines, PlainValidator(_check_lines)]
Seconds = Annotated[float, Field(gt=0, le=604_800)]
