"""Pages for a browser: HTML that needs nothing else, in which everything that a seed or a review says is text."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from formulaseed.diagnostics.model import number_of
from formulaseed.errors import UnreadableError
from formulaseed.explanation import charts
from formulaseed.explanation.article import article, made_with
from formulaseed.explanation.drawing import Drawing
from formulaseed.explanation.elements import visible
from formulaseed.explanation.explanation import Explanation
from formulaseed.explanation.graph import computation
from formulaseed.explanation.overview import Overview
from formulaseed.explanation.story import headline
from formulaseed.language.types import Value
from formulaseed.resources import resource_folder

if TYPE_CHECKING:
    from jinja2 import Environment

MOST_DRAWN = 300
"""Steps of a computation that is drawn in a page."""


def explanation_page(found: Explanation) -> str:
    """Return an explanation as one page."""
    template = _environment().get_template("explanation.html.j2")
    values = {step.name: step.value for step in found.steps}
    drawing = _drawing(found, values) if found.steps else None
    return template.render(title=visible(headline(found)), policy="", article=article(found), drawing=drawing)


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
        drawing=_drawing(found.example, {}) if found.example is not None else None,
        rows=found.by_score(),
        data=_inert(found.packing.to_json()),
        script=script,
    )


class _Drawing(NamedTuple):
    """The graph of a computation, or why there is none."""

    svg: str = ""
    absence: str = ""


def _drawing(found: Explanation, values: Mapping[str, Value]) -> _Drawing:
    """Draw a computation, with values of steps; a browser fills in those that are not given."""
    if len(found.steps) > MOST_DRAWN:
        return _Drawing(
            absence=f"These are {len(found.steps)} steps, too many for a page; formulaseed graph draws them."
        )
    try:
        return _Drawing(Drawing(computation(found), with_values=True).svg(values))
    except UnreadableError as error:
        return _Drawing(absence=str(error))


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
