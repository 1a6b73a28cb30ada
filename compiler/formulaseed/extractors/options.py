"""Defines an extractor as a value: a frozen model of its options, which opens the extractor.

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
    """The functions that a run reports to.

    `notify` receives a line about the run; `show_progress` receives, after every answer, a line that says how far the run is. A
    run without `show_progress` is quiet: it passes only lines to `notify` that a user has to know.
    """

    notify: Callable[[str], None] = lambda _: None
    show_progress: Callable[[str], None] | None = None


class ExtractorOptions(BaseModel):
    """The options of an extractor, as a value that opens it.

    Raises `FormulaSeedError` for an unknown option, `ArgumentError` for a wrong value or a missing one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)

    name: ClassVar[str]
    """The name that `--extractor` and `extractor=` take."""
    asks_model: ClassVar[bool] = False
    """Whether the extractor asks a model, so that it costs money and has an estimate."""
    positional: ClassVar[str] = ""
    """The option that may be passed without its name; empty if there is none."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        owner = type(self).__name__
        fields = type(self).model_fields
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
    def find_panel(cls, option: str) -> str:
        """Return the name of the panel of a command's help that lists `option`."""
        return "extractor"

    def require(self) -> None:
        """Raise `UnreadableError` if a package or credentials are missing. Callers check this before they read anything."""

    @abstractmethod
    def open(
        self, program: nodes.Program, source: ReviewSource, failures: Failures, callbacks: Callbacks
    ) -> AbstractContextManager[OpenExtractor]:
        """Return a context manager that opens the extractor for the fields of `program`, and closes it at the end.

        May read `source` several times, and add lines that cannot be used to `failures`. Raises `ArgumentError` for options
        that do not fit each other, the program or the source, and `DataError` for a file that cannot be used.
        """

    def estimate(self, program: nodes.Program, source: ReviewSource, callbacks: Callbacks) -> list[str]:
        """Return lines for people: how many calls a run would make, and what they would cost in US dollars.

        Raises `FormulaSeedError` for an extractor that asks no model.
        """
        raise FormulaSeedError(f"the extractor `{self.name}` asks no model: it costs nothing")


def _check_path(value: Any) -> Any:
    """Return a path unchanged. Raises `ValueError` for any other value."""
    if not isinstance(value, str | os.PathLike):
        raise ValueError("a path")
    return value


def _check_lines(value: Any) -> Any:
    """Return `value` as lines that can be read repeatedly. Raises `ValueError` if it is no path, list or data frame."""
    if not is_lines(value):
        raise ValueError("a path, a list of objects or a data frame")
    return keep_lines(value, "lines")


PathOption = Annotated[str | os.PathLike[str], PlainValidator(_check_path)]
LinesOption = Annotated[Lines, PlainValidator(_check_lines)]
Seconds = Annotated[float, Field(gt=0, le=604_800)]
