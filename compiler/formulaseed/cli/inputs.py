"""What commands load to evaluate: seeds and modules, parameters, prices."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from formulaseed.api import load_evaluator
from formulaseed.cli.output import report_warnings, say
from formulaseed.cli.panels import panel_option
from formulaseed.data.duplicates import DUPLICATES
from formulaseed.documents import FormulaSeed, load_seed
from formulaseed.errors import DataError, UnreadableError
from formulaseed.ir import nodes
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.loading import describe_missing_seed, load_module

if TYPE_CHECKING:
    from formulaseed.llm.prices import Prices

param_option = panel_option("input", "--param", "Give a parameter.", name="params", multiple=True, metavar="NAME=VALUE")
allow_edited_option = panel_option(
    "input", "--allow-edited", "Run a module that is not as its seed compiles; the results say so.", is_flag=True
)
duplicates_option = panel_option(
    "input", "--duplicates",
    "A review_id that a restaurant has twice fails the restaurant, or the first review with it counts.",
    type=click.Choice(DUPLICATES), default="fail",
)  # fmt: skip


def rows_option(*, required: bool) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the option `--rows`; with it come hidden ones for contexts, which name the two commands to run."""

    def add(command: Callable[..., None]) -> Callable[..., None]:
        for name in ("--contexts", "--restaurants", "--reviews"):
            command = click.option(name, hidden=True, expose_value=False, callback=_refuse_contexts)(command)
        help = "Restaurants with extracted rows, JSON Lines; - for standard input."
        return click.option("--rows", required=required, help=help)(command)

    return add


def _refuse_contexts(context: click.Context, option: click.Parameter, value: str | None) -> None:
    """Raise `UsageError` if contexts are passed to a command that takes rows."""
    if value is None:
        return
    given = f"--contexts {value}" if option.name == "contexts" else "--restaurants FILE --reviews FILE"
    with_text = " --with-text" if context.info_name in ("explain", "report") else ""
    extracted, command = (
        ("OLD", "diff OLD NEW") if context.info_name == "diff" else ("SEED", f"{context.info_name} SEED")
    )
    raise click.UsageError(
        f"`{context.info_name}` takes extracted rows; run `formulaseed extract {extracted} {given}{with_text} --out rows.jsonl`, "
        f"then `formulaseed {command} --rows rows.jsonl`"
    )


@dataclass(frozen=True, slots=True)
class Loaded:
    """A seed or a module given to a command. `absence` says why a module's seed is not available."""

    evaluator: Evaluator
    seed: FormulaSeed | None
    absence: str = ""

    @property
    def known_seed(self) -> FormulaSeed:
        """The seed. Raises `UsageError` for a module without it."""
        if self.seed is None:
            raise click.UsageError(self.absence)
        return self.seed

    @property
    def program(self) -> nodes.Program:
        """The seed's program. Raises `UsageError` for a module without its seed."""
        return self.known_seed.program


def load(path: str, *, strict: bool = False, allow_edited: bool = False) -> Loaded:
    """Load a seed or a module; warnings about either go to standard error.

    Raises `UnreadableError` for a module that is not as compiled, unless that is allowed.
    """
    if Path(path).suffix != ".py":
        seed = load_seed(path)
        report_warnings(seed)
        return Loaded(load_evaluator(seed, strict=strict), seed)
    file = load_module(Path(path))
    at, here = file.seed_path, Path.cwd()
    found = "" if at is None else str(at.relative_to(here) if at.is_relative_to(here) else at)
    if file.fault and not allow_edited:
        again = f"compile {found or 'its seed'} again"
        raise UnreadableError(f"{path} {file.fault}: {again}, or pass --allow-edited")
    if file.fault:
        say(f"{path} {file.fault}", err=True)
    if not found:
        absence = f"{path} {describe_missing_seed(file.header_path, file.path)}; pass the seed instead"
    else:
        absence, renamed = f"{path} was compiled from another version of {found}; compile it again", ""
        if file.new_name:
            from formulaseed.backends.python.names import module_name

            renamed = f": it is now called `{file.new_name}`"
            module = f"{module_name(file.new_name)}.py"
            absence = f"{found} is now called `{file.new_name}`, which compiles to {module}; delete {path}"
        if file.seed is None:
            say(f"{found} has changed since {path} was compiled{renamed}", err=True)
    return Loaded(file.evaluator(strict=strict), file.seed, absence)


def parameters_of(evaluator: Evaluator, given: tuple[str, ...]) -> dict[str, Any] | None:
    """Return the `--param` options as values, validated against the seed's declarations."""
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


def prices_for(model: str, path: str | None, max_usd: float | None) -> Prices:
    """Read the prices. Raises `UsageError` for a limit of costs without the model's price."""
    from formulaseed.llm.prices import read_prices

    prices = read_prices(path)
    if max_usd is not None and model not in prices.models:
        raise click.UsageError(f"--max-usd needs a price, and there is none for {model}; --prices FILE gives one")
    return prices
