"""What several commands share: evaluators, parameters, reports of what failed."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TextIO, TypeVar

import click

from formulaseed.api import load_evaluator
from formulaseed.cli.output import say
from formulaseed.cli.seeds import tell_warnings
from formulaseed.errors import DataError, FormulaSeedError
from formulaseed.pipeline import FormulaSeed, load_seed, locate
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.loading import module_from_file, seed_path_of
from formulaseed.runtime.results import Failures

F = TypeVar("F", bound=Callable[..., Any])


def param_option(function: F) -> F:
    """`--param NAME=VALUE`, any number of times."""
    decorated: F = click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="Give a parameter.")(
        function
    )
    return decorated


def evaluator_of(path: str) -> Evaluator:
    """The evaluator of a seed or of a module; a seed's warnings go to standard error."""
    if Path(path).suffix == ".py":
        module = module_from_file(Path(path))
        found = seed_path_of(module, Path(path))
        return Evaluator(module, partial(_locate_in, found, module.SEED_SHA256) if found is not None else None)
    seed = load_seed(path)
    tell_warnings(seed)
    return load_evaluator(seed)


def _locate_in(path: Path, sha256: str, step: str, kind: str) -> str:
    """The place of an error in the seed that a module's header names; empty where that is not the one it was made of."""
    here = Path.cwd()
    try:
        seed = load_seed(path.relative_to(here) if path.is_relative_to(here) else path)
    except FormulaSeedError:
        return ""
    return locate(seed, step, kind) if seed.sha256 == sha256 else ""


def seed_of(path: str) -> FormulaSeed:
    """The seed itself, also where its module is given: the header names it, and the hashes must agree."""
    if Path(path).suffix != ".py":
        return load_seed(path)
    module = module_from_file(Path(path))
    found = seed_path_of(module, Path(path))
    if found is None:
        raise click.UsageError(f"{path} names no seed that can be found from there; pass the seed instead")
    seed = load_seed(found)
    if seed.sha256 != module.SEED_SHA256:
        raise click.UsageError(f"{path} was compiled from another version of {found}; compile it again")
    return seed


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
