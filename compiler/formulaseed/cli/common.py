"""What several commands share: evaluators, parameters, reports of what failed."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO, TypeVar

import click

from formulaseed.api import load_evaluator
from formulaseed.cli.output import say
from formulaseed.cli.seeds import report_warnings
from formulaseed.data.results import Failures
from formulaseed.errors import DataError, UnreadableError
from formulaseed.ir import nodes
from formulaseed.loading import FormulaSeed, load_seed
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.modules import load_module

F = TypeVar("F", bound=Callable[..., Any])


def param_option(function: F) -> F:
    """`--param NAME=VALUE`, any number of times."""
    decorated: F = click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="Give a parameter.")(
        function
    )
    return decorated


def allow_edited_option(function: F) -> F:
    """`--allow-edited`."""
    help = "Run a module that is not as its seed compiles; the results say so."
    decorated: F = click.option("--allow-edited", is_flag=True, help=help)(function)
    return decorated


@dataclass(frozen=True, slots=True)
class Loaded:
    """A seed or a module as a command is given it. `absence` says why the seed itself is not at hand."""

    evaluator: Evaluator
    seed: FormulaSeed | None
    absence: str = ""

    @property
    def program(self) -> nodes.Program:
        """The seed's program. Raises `UsageError` for a module without its seed."""
        if self.seed is None:
            raise click.UsageError(self.absence)
        return self.seed.program


def load(path: str, *, strict: bool = False, allow_edited: bool = False) -> Loaded:
    """Load a seed or a module; what there is to know about either goes to standard error.

    Raises `UnreadableError` for a module that is not as compiled, unless that is allowed.
    """
    if Path(path).suffix != ".py":
        seed = load_seed(path)
        report_warnings(seed)
        return Loaded(load_evaluator(seed, strict=strict), seed)
    file = load_module(Path(path))
    found = _shown(file.seed_path) if file.seed_path is not None else ""
    if file.fault and not allow_edited:
        again = f"compile {found or 'its seed'} again"
        raise UnreadableError(f"{path} {file.fault}: {again}, or pass --allow-edited")
    if file.fault:
        say(f"{path} {file.fault}", err=True)
    if found and file.seed is None:
        say(f"{found} has changed since {path} was compiled", err=True)
    return Loaded(file.evaluator(strict=strict), file.seed, _absence(path, found))


def load_program(path: str) -> nodes.Program:
    """The program of a seed, also where its module is given: the header names it, and the hashes must agree."""
    if Path(path).suffix != ".py":
        return load_seed(path).program
    file = load_module(Path(path))
    found = _shown(file.seed_path) if file.seed_path is not None else ""
    return Loaded(file.evaluator(), file.seed, _absence(path, found)).program


def _absence(path: str, seed_path: str) -> str:
    if not seed_path:
        return f"{path} names no seed that can be found from there; pass the seed instead"
    return f"{path} was compiled from another version of {seed_path}; compile it again"


def _shown(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def parameters_of(evaluator: Evaluator, given: tuple[str, ...]) -> dict[str, Any] | None:
    """The `--param` options as values, held against what the seed declares."""
    if not given:
        return None
    values: dict[str, Any] = {}
    for text in given:
        name, separator, value = text.partition("=")
        if not separator or not name:
            raise click.UsageError(f"--param takes NAME=VALUE, not `{text}`")
        if name in values:
            raise click.UsageError(f"--param gives `{name}` twice")
        try:
            values[name] = json.loads(value)
        except ValueError:
            values[name] = value
    try:
        evaluator.parse_parameters(values)
    except DataError as error:
        raise click.UsageError(str(error)) from None
    return values


@contextmanager
def reported(failures: Failures) -> Iterator[None]:
    """List what failed when the work is over, also where it ends with an error."""
    try:
        yield
    finally:
        for line in failures.lines:
            say(f"failed: {line}", err=True)


def finish(status: int) -> None:
    """End the command; what is still buffered is written first, so that a closed pipe is noticed here."""
    sys.stdout.flush()
    sys.exit(status)


def is_terminal(stream: TextIO | None = None) -> bool:
    """Whether people look at what is written there, on standard error unless told otherwise."""
    return (stream or sys.stderr).isatty() and os.environ.get("TERM") != "dumb"
