"""Pages for a browser: HTML that needs nothing else, in which everything that a seed or a review says is text."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from formulaseed.diagnostics.model import number_of
from formulaseed.explanation.article import article, made_with
from formulaseed.explanation.elements import visible
from formulaseed.explanation.model import Explanation
from formulaseed.explanation.overview import Overview
from formulaseed.explanation.story import headline
from formulaseed.pages import histogram as charts
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


def report_page(found: Overview, failures: Sequence[str]) -> str:
    """Return the report of a run as one page; `failures` are the lines that say what failed."""
    environment = _environment()
    script = environment.get_template("report.js").render()
    fingerprint = b64encode(sha256(script.encode()).digest()).decode()
    restaurants = f"{number_of(len(found.rows), 'restaurant')}, {found.failed} failed"
    return environment.get_template("report.html.j2").render(
        title=visible(found.program.task_name),
        policy=f"; script-src 'sha256-{fingerprint}'",
        about=visible("; ".join([restaurants, *(" ".join(pair) for pair in made_with(found.run))])),
        step=visible(found.verdict.name),
        counts=[*found.counts()],
        columns=[*map(visible, found.columns)],
        column=found.column,
        histograms=found.histograms(),
        width=charts.WIDTH,
        height=charts.HEIGHT,
        failures=[*map(visible, failures)],
        rows=found.by_score(),
        data=_inert(found.packing.to_json()),
        script=script,
    )


_SPECIAL = str.maketrans({character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"})


def _inert(value: Any) -> str:
    """JSON that no browser takes for markup, whatever its strings hold."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_SPECIAL)


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
