"""Define the options that commands share, their panels in the help, and the formats of output files by suffix."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from formulaseed.data.duplicates import DUPLICATES

_Format = TypeVar("_Format", bound=str)
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

PANELS = {
    "input": "Input",
    "extractor": "Extractor",
    "model": "Model, of the extractors anthropic and cascade",
    "cost": "Cost, of the extractors anthropic and cascade",
    "output": "Output",
}  # the titles of the panels, in the order of the help
_SUFFIX = re.compile(r"\.[A-Za-z]\w*$")


class PanelOption(click.Option):
    """An option of a command with the panel that its help belongs to."""

    def __init__(self, *arguments: Any, panel: str, **attributes: Any) -> None:
        super().__init__(*arguments, **attributes)
        self.panel = panel


def panel_option(panel: str, flag: str, help: str, *, name: str = "", **attributes: Any) -> Decorator:
    """Return a decorator that adds an option to a command; the help shows a default other than None.

    The command's parameter is called `name`, by default like the flag. `attributes` are those of `click.option`.
    """
    if attributes.get("default") is not None:
        attributes["show_default"] = True
    names = (flag, name) if name else (flag,)
    return click.option(*names, cls=PanelOption, panel=panel, help=help, **attributes)


def add_options(*options: Decorator) -> Decorator:
    """Return a decorator that adds several options to a command; its help shows them in this order."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        """Add the options to `command`, the last first, since click lists them in reverse."""
        for option in reversed(options):
            command = option(command)
        return command

    return add


def refuse(*cases: tuple[object, str]) -> None:
    """Raise `UsageError` with the message of the first case whose condition is true; nothing without such a case."""
    for is_wrong, message in cases:
        if is_wrong:
            raise click.UsageError(message)


def flag_of(name: str) -> str:
    """Return the flag of the option with this parameter name: `--max-usd` for `max_usd`."""
    return f"--{name.replace('_', '-')}"


def is_set(name: str) -> bool:
    """Return True if the user passed the option with this parameter name to the current command."""
    return click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT


class PanelCommand(click.Command):
    """A command whose help shows its options in panels; options without a panel are in the one of the output."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a section of options for each panel to the formatter; hidden options are left out."""
        rows: dict[str, list[tuple[str, str]]] = {panel: [] for panel in PANELS}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx) if isinstance(option, click.Option) else None
            if record is not None:
                panel = option.panel if isinstance(option, PanelOption) else "output"
                rows[panel].append(record)
        for panel, records in rows.items():
            with formatter.section(PANELS[panel]):
                formatter.write_dl(records)


# --- shared options

format_option = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How to print it."
)
strict_option = click.option("--strict", is_flag=True, help="Treat warnings as errors.")
benchmark_option = click.option(
    "--benchmark", is_flag=True, help="Take requests for those of the benchmark: their ids are R01 to R100."
)
reference_option = click.option(
    "--reference", metavar="FILE", help="The formula reference of rules: what their names mean."
)
param_option = panel_option("input", "--param", "Give a parameter.", name="params", multiple=True, metavar="NAME=VALUE")
allow_edited_option = panel_option(
    "input", "--allow-edited", "Run a module that is not as its seed compiles; the results say so.", is_flag=True
)
duplicates_option = panel_option(
    "input", "--duplicates",
    "A review_id that a restaurant has twice fails the restaurant, or the first review with it counts.",
    type=click.Choice(DUPLICATES), default="fail",
)  # fmt: skip


def rows_option(*, required: bool) -> Decorator:
    """Return a decorator that adds the option `--rows` to a command; the user must pass it if `required`.

    It also adds hidden options for contexts, which end the command with the advice to extract first.
    """
    help = "Restaurants with extracted rows, JSON Lines; - for standard input."
    contexts = (
        click.option(name, hidden=True, expose_value=False, callback=_refuse_contexts)
        for name in ("--contexts", "--restaurants", "--reviews")
    )
    return add_options(click.option("--rows", required=required, help=help), *contexts)


def _refuse_contexts(context: click.Context, option: click.Parameter, value: str | None) -> None:
    """Raise `UsageError` if the user passed contexts (`value` is not None) to a command that takes rows."""
    if value is None:
        return
    command = context.info_name
    seed = "OLD" if command == "diff" else "SEED"
    seeds = "OLD NEW" if command == "diff" else "SEED"
    inputs = f"--contexts {value}" if option.name == "contexts" else "--restaurants FILE --reviews FILE"
    if command in ("explain", "report"):
        inputs += " --with-text"
    raise click.UsageError(
        f"`{command}` takes extracted rows; run `formulaseed extract {seed} {inputs} --out rows.jsonl`, "
        f"then `formulaseed {command} {seeds} --rows rows.jsonl`"
    )


# --- formats of output files


def format_of(
    out: str, suffixes: Mapping[str, _Format], option: str = "--out", alternative: str = ", or pass --format"
) -> _Format | None:
    """Return the format of an output file by its suffix; None for standard output and for a name without a suffix.

    Case and a final `.gz` do not matter. `suffixes` are the formats by suffix. Raises `UsageError` for a suffix without
    a format; the message names `option`, lists the first suffix of each format, and ends with `alternative`.
    """
    name = out.lower().removesuffix(".gz")
    for suffix, form in suffixes.items():
        if name.endswith(suffix):
            return form
    unknown = _SUFFIX.search(os.path.basename(name))
    if unknown is None:
        return None
    first_suffixes: dict[_Format, str] = {}
    for suffix, form in suffixes.items():
        first_suffixes.setdefault(form, suffix)
    *names, last = first_suffixes.values()
    choices = f"{', '.join(names)} or {last}" if names else last
    raise click.UsageError(
        f"{option} {out}: no format has the suffix `{unknown[0]}`; end the name in {choices}{alternative}"
    )


def choose_format(form: str | None, out: str | None, suffixes: Mapping[str, str], default: str) -> str:
    """Return the format that the user chose: `form`, else by the suffix of the file `out`, else `default`.

    Raises `UsageError` if `form` is None and the suffix of `out` has no format.
    """
    if form is None and out is not None:
        form = format_of(out, suffixes)
    return form or default


def check_suffix(out: str | None, *suffixes: str, option: str = "--out") -> None:
    """Raise `UsageError` if the output file `out` has a suffix, but none of `suffixes`.

    The message proposes the first. Standard output, a name without a suffix, and None are accepted; a final `.gz` does
    not matter.
    """
    if out is not None:
        format_of(out, dict.fromkeys(suffixes, ""), option, "")
