"""Pages for a browser: HTML that needs nothing else, in which everything that a seed or a review says is text."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from formulaseed.report.article import article
from formulaseed.report.elements import visible
from formulaseed.report.explanation import Explanation
from formulaseed.report.story import headline
from formulaseed.resources import resource_folder

if TYPE_CHECKING:
    from jinja2 import Environment


def explanation_page(found: Explanation) -> str:
    """Return an explanation as one page."""
    template = _environment().get_template("explanation.html.j2")
    return template.render(title=visible(headline(found)), policy="", article=article(found))


def explanation_fragment(found: Explanation) -> str:
    """Return an explanation as a notebook shows it, inside a page of its own."""
    return _environment().get_template("fragment.html.j2").render(article=article(found))


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(resource_folder("templates") / "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
