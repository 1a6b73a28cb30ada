"""What several commands share: evaluators, parameters, reports of what failed."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from formulaseed.api import load_evaluator
from formulaseed.cli.seeds import tell_warnings
from formulaseed.diagnostics.model import printable
from formulaseed.errors import DataError
from formulaseed.pipeline import FormulaSeed, load_seed
from formulaseed.runtime.evaluator import Evaluator
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
        return load_evaluator(path)
    seed = load_seed(path)
    tell_warnings(seed)
    return load_evaluator(seed)


def seed_of(path: str) -> FormulaSeed:
    """The seed itself, also where its module is given: the header names it, and the hashes must agree."""
    if Path(path).suffix != ".py":
        return load_seed(path)
    from formulaseed.runtime.loading import module_from_file, seed_path_of

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
            click.echo(f"failed: {printable(line)}", err=True)


def finish(status: int) -> None:
    """End the command; what is still buffered is written first, so that a closed pipe is noticed here."""
    sys.stdout.flush()
    sys.exit(status)


def is_terminal() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
