"""Define options of commands: the panel of the help that each is in, its flag, and whether the user passed it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

PANELS = {
    "input": "Input",
    "extractor": "Extractor",
    "model": "Model, of the extractors anthropic and cascade",
    "cost": "Cost, of the extractors anthropic and cascade",
    "output": "Output",
}  # the titles of the panels, in the order of the help


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
        for option in reversed(options):
            command = option(command)
        return command

    return add


def flag_of(name: str) -> str:
    """Return the flag of the option with this parameter name: `--max-usd` for `max_usd`."""
    return f"--{name.replace('_', '-')}"


def is_set(name: str) -> bool:
    """Return True if the user passed the option with this parameter name to the current command."""
    return click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT


class PanelCommand(click.Command):
    """A command whose help shows its options in panels; options without a panel are in the one of the output."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a section of options for each panel to the formatter."""
        rows: dict[str, list[tuple[str, str]]] = {panel: [] for panel in PANELS}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx) if isinstance(option, click.Option) else None
            if record is not None:
                panel = option.panel if isinstance(option, PanelOption) else "output"
                rows[panel].append(record)
        for panel, records in rows.items():
            with formatter.section(PANELS[panel]):
                formatter.write_dl(records)
