"""Load the inputs of commands that evaluate: seeds and modules, parameters, prices."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from formulaseed.api import load_evaluator
from formulaseed.cli.output import report_warnings, say
from formulaseed.documents import FormulaSeed, load_seed
from formulaseed.errors import DataError, UnreadableError
from formulaseed.ir import nodes
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.loading import describe_missing_seed, load_module

if TYPE_CHECKING:
    from formulaseed.explanation.explainer import VerdictReasons
    from formulaseed.llm.limiter import Prices


@dataclass(frozen=True, slots=True)
class Loaded:
    """A seed or a module that a command evaluates. `absence` says why a module's seed is not available."""

    evaluator: Evaluator
    seed: FormulaSeed | None
    absence: str = ""

    @property
    def known_seed(self) -> FormulaSeed:
        """The seed. Raises `UsageError` for a module whose seed is not available."""
        if self.seed is None:
            raise click.UsageError(self.absence)
        return self.seed

    @property
    def program(self) -> nodes.Program:
        """The seed's program. Raises `UsageError` for a module whose seed is not available."""
        return self.known_seed.program

    def make_reasons(self, count: int | None, parameters: Mapping[str, Any] | None) -> VerdictReasons | None:
        """Return the reasons for results, at most `count`; None if that is None. Raises `UsageError` as `program` does."""
        if count is None:
            return None
        from formulaseed.explanation.explainer import VerdictReasons

        return VerdictReasons(self.program, count, parameters)


def load(path: str, *, strict: bool = False, allow_edited: bool = False) -> Loaded:
    """Load a seed, or a generated module if `path` ends in `.py`, and print warnings about it on standard error.

    With `strict` its evaluator refuses rows with unknown extractions or metadata. Raises `SeedError` for a seed with
    errors, `UnreadableError` for a file that cannot be opened and, without `allow_edited`, for a module that is not as
    compiled. A module is loaded even if its seed is missing or has changed.
    """
    if Path(path).suffix != ".py":
        seed = load_seed(path)
        report_warnings(seed)
        return Loaded(load_evaluator(seed, strict=strict), seed)
    file = load_module(Path(path))
    seed_path = _shorten_path(file.seed_path)
    if file.fault and not allow_edited:
        raise UnreadableError(f"{path} {file.fault}: compile {seed_path or 'its seed'} again, or pass --allow-edited")
    if file.fault:
        say(f"{path} {file.fault}", err=True)
    if not seed_path:
        absence = f"{path} {describe_missing_seed(file.header_path, file.path)}; pass the seed instead"
    elif file.new_name:
        from formulaseed.backends.python.names import module_name

        module = f"{module_name(file.new_name)}.py"
        absence = f"{seed_path} is now called `{file.new_name}`, which compiles to {module}; delete {path}"
    else:
        absence = f"{path} was compiled from another version of {seed_path}; compile it again"
    if seed_path and file.seed is None:
        new_name = f": it is now called `{file.new_name}`" if file.new_name else ""
        say(f"{seed_path} has changed since {path} was compiled{new_name}", err=True)
    return Loaded(file.evaluator(strict=strict), file.seed, absence)


def _shorten_path(path: Path | None) -> str:
    """Return a path relative to the working directory if it is inside; an empty string for None."""
    if path is None:
        return ""
    folder = Path.cwd()
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path)


def parameters_of(evaluator: Evaluator, options: tuple[str, ...]) -> dict[str, Any] | None:
    """Parse the values of `--param` options, `NAME=VALUE`, to a dictionary; None without options.

    A value that is not JSON is a string. Raises `UsageError` for another form, a duplicate name, or a value that the
    seed does not allow.
    """
    if not options:
        return None
    values: dict[str, Any] = {}
    for text in options:
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


def prices_for(model: str, path: str | None, max_usd: float | None) -> Prices:
    """Read prices from the file `path`, by default those of this version.

    Raises `UsageError` if costs are limited by `max_usd` but there is no price of the model, `UnreadableError` if the
    file cannot be read, `DataError` if it is not a file of prices.
    """
    from formulaseed.llm.limiter import read_prices

    prices = read_prices(path)
    if max_usd is not None and model not in prices.models:
        raise click.UsageError(f"--max-usd needs a price, and there is none for {model}; --prices FILE gives one")
    return prices
