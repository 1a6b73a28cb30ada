"""The commands that say why: `explain` for one restaurant, `report` for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import click

from formulaseed.cli.inputs import (
    allow_edited_option,
    duplicates_option,
    load,
    param_option,
    parameters_of,
    rows_option,
)
from formulaseed.cli.output import check_suffix, finish, format_of, progress, reported, say, write_out
from formulaseed.data.duplicates import Duplicates
from formulaseed.data.jsonl import InputLine, read_lines
from formulaseed.data.results import Failures
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.explanation.explainer import Explainer, explain_all
from formulaseed.explanation.explanation import Explanation
from formulaseed.explanation.report import make_report
from formulaseed.runtime.running import read_rows
from formulaseed.source.printing import number_of

_MAX_LISTED_PLACES = 3
_SUFFIXES = {".txt": "text", ".md": "markdown", ".html": "html", ".json": "json"}

_SHARED_OPTIONS = (
    rows_option(required=True),
    click.option("--output", metavar="NAME", help="The output to explain; by default the last that chooses by rules."),
    param_option,
    duplicates_option,
    allow_edited_option,
    click.option("--quiet", is_flag=True, help="Show no progress."),
)


def _shared_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that `explain` and `report` share, for `_open_explanations`."""
    for option in reversed(_SHARED_OPTIONS):
        command = option(command)
    return command


@click.command("explain")
@click.argument("seed", metavar="SEED|MODULE")
@_shared_options
@click.option("--id", "business_id", help="The restaurant; needed where there are several.")
@click.option("--format", "form", type=click.Choice(["text", "markdown", "html", "json"]),
              help="How to write it: as --out ends (.txt, .md, .html, .json), or text.")  # fmt: skip
@click.option("--out", type=click.Path(dir_okay=False), help="Where to write it; else it is printed.")
def explain(business_id: str | None, form: str | None, out: str | None, **shared: Any) -> None:
    """Explain why a restaurant got its verdict, and what would change it.

    The verdict first, and the rule that gave it; the steps behind it with their values; the reviews behind those, with the
    words that they rest on where the rows hold texts (`extract --with-text`). Exit status 3 where the restaurant failed.
    """
    chosen = form or (format_of(out, _SUFFIXES) if out is not None else None) or "text"
    with _open_explanations(lambda lines: _select_line(lines, business_id), **shared) as (_, explanations, failures):
        for explanation in explanations:
            write_out(getattr(explanation, chosen), out)
    finish(failures.status)


@click.command("report")
@click.argument("seed", metavar="SEED|MODULE")
@click.option(
    "--out", type=click.Path(dir_okay=False), default="report.html", show_default=True, help="Where to write it."
)
@_shared_options
def report(out: str, **shared: Any) -> None:
    """Write a page of all restaurants: how many have which verdict, and why each of them has its own.

    The page needs no network. Exit status 3 where some restaurants failed: they are in the page, too.
    """
    check_suffix(out, ".html", ".htm")
    with _open_explanations(iter, **shared) as (explainer, explanations, failures):
        page = make_report(explainer, explanations, failures)
        write_out(page.html, out, f"{number_of(page.restaurants, 'restaurant')}, {page.failed} failed")
    finish(failures.status)


class _Explanations(NamedTuple):
    """The explanations of restaurants as they come, who makes them, and what has failed so far."""

    explainer: Explainer
    explanations: Iterator[Explanation]
    failures: Failures


@contextmanager
def _open_explanations(
    select: Callable[[Iterator[InputLine]], Iterator[InputLine]], *, seed: str, rows: str, output: str | None,
    params: tuple[str, ...], duplicates: Duplicates, allow_edited: bool, quiet: bool
) -> Iterator[_Explanations]:  # fmt: skip
    """Explain the restaurants of the lines that `select` chooses; what failed is reported at the end of the block.

    Raises `UsageError` for options that do not fit.
    """
    loaded = load(seed, allow_edited=allow_edited)
    parameters = parameters_of(loaded.evaluator, params)
    explainer = Explainer(loaded.program, loaded.evaluator, output)
    with reported() as failures, progress("restaurant", quiet=quiet) as bar:
        lines = select(read_lines(rows, "rows"))
        restaurants = read_rows(loaded.evaluator, lines, failures, parameters, duplicates)
        explanations = explain_all(explainer, restaurants, parameters, failures)

        def advancing() -> Iterator[Explanation]:
            for explanation in explanations:
                yield explanation
                bar.advance(lambda: "explained")

        yield _Explanations(explainer, advancing(), failures)


def _select_line(lines: Iterator[InputLine], business_id: str | None) -> Iterator[InputLine]:
    """Yield the first line of the restaurant with this id, or without an id the only line.

    Warns of other lines with the same id. Raises `UsageError` if there is no such line, or several without an id.
    """
    first: InputLine | None = None
    ids: list[str] = []
    for line in lines:
        if line.business_id == business_id:
            yield line
            _warn_of_repeats(line, lines)
            return
        ids.append(line.business_id)
        first = first or line
    if business_id is not None:
        help = did_you_mean(business_id, ids, what="restaurants", limit=5)
        raise click.UsageError(f"no restaurant has the id `{business_id}`; {help}")
    if len(ids) > 1:
        raise click.UsageError(f"there are {len(ids)} restaurants; pass --id, such as --id {ids[0]}")
    if first is not None:
        yield first


def _warn_of_repeats(line: InputLine, rest: Iterator[InputLine]) -> None:
    """Warn if one of the other lines, which are read to their end, is of the same restaurant."""
    places = [other.place for other in rest if other.business_id == line.business_id]
    if places:
        more = ", …" if len(places) > _MAX_LISTED_PLACES else ""
        listed = ", ".join(places[:_MAX_LISTED_PLACES])
        say(f"warning: {line.place} is explained; {line.business_id} is also in {listed}{more}", err=True)
