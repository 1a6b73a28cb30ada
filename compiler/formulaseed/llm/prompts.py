"""Prompts: templates with values put into them. A value is text for a model, never code, and is placed as it is."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from formulaseed.resources import resource_folder

if TYPE_CHECKING:
    from jinja2 import Environment


def prompt(name: str, **values: Any) -> str:
    """The prompt `templates/prompts/<name>.md.j2`, without the white space around it."""
    return _environment().get_template(f"{name}.md.j2").render(**values).strip() + "\n"


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(resource_folder("templates") / "prompts"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
