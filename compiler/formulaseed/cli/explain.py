"""Define the commands that explain verdicts: `explain` for one restaurant, `report` for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import click

from formulaseed.cli import options
from formulaseed.cli.inputs import load, parameters_of
from formulaseed.cli.output import finish, report_failures, say, show_progress, write_out
from formulaseed.data.duplicates import Duplicates
from formulaseed.data.jsonl import InputLine, read_lines
from formulaseed.data.results import Failures
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.explanation.candidates import ObservedReviews
from formulaseed.explanation.explainer import Explainer, explain_all
from formulaseed.explanation.explanation import Explanation
from formulaseed.explanation.report import make_report
from formulaseed.runtime.running import read_rows
from formulaseed.source.printing import number_of

_MAX_LISTED_PLACES = 3
_SUFFIXES = {".txt": "text", ".md": "markdown", ".html": "html", ".json": "json"}

_shared_options = options.add_options(
    options.rows_option(required=True),
    click.option("--output", metavar="NAME", help="The output to explain; by default the last that chooses by rules."),
    options.param_option,
    options.duplicates_option,
    options.allow_edited_option,
    click.option("--quiet", is_flag=True, help="Show no progress."),
)
"""Add the options that `explain` and `report` share to a command; `_open_explanations` takes their values."""


@click.command("explain")
@click.argument("seed", metavar="SEED|MODULE")
@_shared_options
@click.option("--id", "business_id", help="The restaurant; needed where there are several.")
@click.option("--steps", "with_steps", is_flag=True, help="In text, show the computation and the reviews as well.")
@click.option("--format", "form", type=click.Choice(["text", "markdown", "html", "json"]),
              help="How to write it: as --out ends (.txt, .md, .html, .json), or text.")  # fmt: skip
@click.option("--out", type=click.Path(dir_okay=False), help="Where to write it; else it is printed.")
def explain(business_id: str | None, with_steps: bool, form: str | None, out: str | None, **shared: Any) -> None:
    """Explain why a restaurant got its verdict, and what would change it.

    The verdict first, its score as a sum of reasons that cite reviews, and what would lead to another verdict. --steps adds
    the steps behind it with their values, and the reviews behind those. Quotes need rows with texts (`extract --with-text`).
    Exit status 3 where the restaurant failed.
    """
    form = options.choose_format(form, out, _SUFFIXES, "text")

    def select(lines: Iterator[InputLine], observed: ObservedReviews) -> Iterator[InputLine]:
        """Return the line of the restaurant to explain."""
        return _select_line(_observe_lines(lines, observed), business_id)

    with _open_explanations(select, **shared) as (_, explanations, failures):
        for explanation in explanations:
            write_out(getattr(explanation, "steps_text" if with_steps and form == "text" else form), out)
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
    options.check_suffix(out, ".html", ".htm")
    with _open_explanations(lambda lines, _: lines, **shared) as (explainer, explanations, failures):
        page = make_report(explainer, explanations, failures)
        write_out(page.html, out, f"{number_of(page.restaurants, 'restaurant')}, {page.failed} failed")
    finish(failures.status)


class _Explanations(NamedTuple):
    """An iterator that explains one restaurant at a time, its explainer, and the failures so far."""

    explainer: Explainer
    explanations: Iterator[Explanation]
    failures: Failures


@contextmanager
def _open_explanations(
    select: Callable[[Iterator[InputLine], ObservedReviews], Iterator[InputLine]],
    *,
    seed: str,
    rows: str,
    output: str | None,
    params: tuple[str, ...],
    duplicates: Duplicates,
    allow_edited: bool,
    quiet: bool,
) -> Iterator[_Explanations]:
    """Provide explanations of the restaurants in the lines of `rows` that `select` chooses.

    They are computed as the block iterates, with progress on standard error unless `quiet`; failures are printed at the
    end of the block. `output` is the output to explain, by default the last that chooses by rules; `allow_edited`
    permits a module that is not as compiled. Raises `DataError` if there is no such output, and as `load` and
    `parameters_of` do.
    """
    loaded = load(seed, allow_edited=allow_edited)
    parameters = parameters_of(loaded.evaluator, params)
    explainer = Explainer(loaded.program, loaded.evaluator, output)
    with report_failures() as failures, show_progress("restaurant", quiet=quiet) as bar:
        lines = select(read_lines(rows, "rows"), explainer.observed)
        restaurants = read_rows(loaded.evaluator, lines, failures, parameters, duplicates)
        explanations = explain_all(explainer, restaurants, parameters, failures)

        def count_explanations() -> Iterator[Explanation]:
            """Yield the explanations as they are computed, and count each on the progress bar."""
            for explanation in explanations:
                yield explanation
                bar.advance(lambda: "explained")

        yield _Explanations(explainer, count_explanations(), failures)


def _observe_lines(lines: Iterator[InputLine], observed: ObservedReviews) -> Iterator[InputLine]:
    """Yield all lines, and add the reviews of each to `observed`."""
    for line in lines:
        rows = line.content.get("rows") if isinstance(line.content, dict) else None
        if isinstance(rows, list):
            observed.add(rows)
        yield line


def _select_line(lines: Iterator[InputLine], business_id: str | None) -> Iterator[InputLine]:
    """Yield the first line of the restaurant with the id `business_id`, or if that is None the only line.

    Reads all lines, and prints a warning if others have the same id. Raises `UsageError` if no line has the id, or
    there are several lines and no id. No lines and no id yield nothing.
    """
    first: InputLine | None = None
    ids: list[str] = []
    for line in lines:
        if line.business_id == business_id:
            _warn_of_repeats(line, lines)
            yield line
            return
        ids.append(line.business_id)
        first = first or line
    if business_id is not None:
        help = did_you_mean(business_id, ids, noun="restaurants", limit=5)
        raise click.UsageError(f"no restaurant has the id `{business_id}`; {help}")
    if len(ids) > 1:
        raise click.UsageError(f"there are {len(ids)} restaurants; pass --id, such as --id {ids[0]}")
    if first is not None:
        yield first


def _warn_of_repeats(line: InputLine, rest: Iterator[InputLine]) -> None:
    """Print a warning if a line of `rest`, which is read to its end, has the restaurant of `line`."""
    places = [repeat.place for repeat in rest if repeat.business_id == line.business_id]
    if places:
        listing = ", ".join(places[:_MAX_LISTED_PLACES])
        if len(places) > _MAX_LISTED_PLACES:
            listing += ", …"
        say(f"warning: {line.place} is explained; {line.business_id} is also in {listing}", err=True)
