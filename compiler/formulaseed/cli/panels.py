"""Lays out the help of a command with many options in panels, a section for each purpose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

PANELS = {
    "input": "Input",
    "extractor": "Extractor",
    "model": "Model, of the extractors anthropic and cascade",
    "cost": "Cost, of the extractors anthropic and cascade",
    "output": "Output",
}
"""The titles of panels, in the order of the help."""


class PanelOption(click.Option):
    """An option that knows its panel."""

    def __init__(self, *arguments: Any, panel: str, **attributes: Any) -> None:
        super().__init__(*arguments, **attributes)
        self.panel = panel


def panel_option(panel: str, flag: str, help: str, *, name: str = "", **attributes: Any) -> Decorator:
    """Return the decorator that gives a command an option; a default that is not None is shown.

    The command's parameter is `name`, by default that of the flag.
    """
    if attributes.get("default") is not None:
        attributes["show_default"] = True
    return click.option(flag, *([name] if name else []), cls=PanelOption, panel=panel, help=help, **attributes)


class PanelCommand(click.Command):
    """A command whose help shows its options in panels; those without a panel are about the output."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows: dict[str, list[tuple[str, str]]] = {panel: [] for panel in PANELS}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx) if isinstance(option, click.Option) else None
            if record is not None:
                rows[option.panel if isinstance(option, PanelOption) else "output"].append(record)
        for panel, records in rows.items():
            with formatter.section(PANELS[panel]):
                formatter.write_dl(records)
