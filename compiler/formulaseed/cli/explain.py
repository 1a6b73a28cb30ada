"""The commands that say why: `explain` for one restaurant, `report` for all; of rows, or of reviews to extract."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import click

from formulaseed.cli.extracting import extraction_options, make_job, open_job
from formulaseed.cli.extractors import flag_of, is_set
from formulaseed.cli.inputs import load, param_option, parameters_of
from formulaseed.cli.output import check_suffix, finish, format_of, progress, reported, say, write_out
from formulaseed.data.jsonl import LocatedRestaurant, read_lines
from formulaseed.data.results import Failures
from formulaseed.diagnostics.model import number_of
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.explanation.explain import Explainer
from formulaseed.explanation.explanation import Explanation
from formulaseed.explanation.overview import explained
from formulaseed.runtime.extracting import ExtractedRestaurant
from formulaseed.runtime.extracting import extract as extract_restaurants
from formulaseed.runtime.reviews import ReviewSource
from formulaseed.runtime.running import read_rows

_Use = Callable[[Explainer, Iterator[Explanation], Failures], None]
"""What becomes of the explanations of restaurants; what failed is in the failures when they have all come."""
_Known = Iterator[tuple[str, str, Any]]
"""Restaurants or their lines, each with its id and its place."""

_SUFFIXES = {".txt": "text", ".md": "markdown", ".html": "html", ".json": "json"}
_rows_option = click.option("--rows", help="Restaurants with extracted rows, JSON Lines; - for standard input.")
_output_option = click.option(
    "--output", metavar="NAME", help="The output to explain; by default the last that chooses by rules."
)


@click.command("explain")
@click.argument("seed", metavar="SEED|MODULE")
@_rows_option
@click.option("--id", "business_id", help="The restaurant; needed where there are several.")
@_output_option
@click.option("--format", "form", type=click.Choice(["text", "markdown", "html", "json"]),
              help="How to write it: as --out ends (.txt, .md, .html, .json), or text.")  # fmt: skip
@click.option("--out", type=click.Path(dir_okay=False), help="Where to write it; else it is printed.")
@param_option
@extraction_options
def explain(business_id: str | None, form: str | None, out: str | None, **given: Any) -> None:
    """Explain why a restaurant got its verdict, and what would change it.

    The verdict first, and the rule that gave it; the steps behind it with their values; the reviews behind those, with the
    words that they rest on where the rows hold texts (`extract --with-text`). With --contexts the reviews of this one
    restaurant are extracted first, as `run` does. Exit status 3 where the restaurant failed.
    """

    chosen = form or (format_of(out, _SUFFIXES) if out is not None else None) or "text"

    def write(_: Explainer, explanations: Iterator[Explanation], failures: Failures) -> None:
        for found in explanations:
            write_out(getattr(found, chosen), out)

    is_unique = given["restaurants"] is not None  # of two files a duplicate restaurant is refused

    _explain(write, lambda known: _only(known, business_id, reads_on=not is_unique), out, **given)


@click.command("report")
@click.argument("seed", metavar="SEED|MODULE")
@_rows_option
@click.option(
    "--out", type=click.Path(dir_okay=False), default="report.html", show_default=True, help="Where to write it."
)
@_output_option
@param_option
@extraction_options
def report(out: str, **given: Any) -> None:
    """Write a page of all restaurants: how many have which verdict, and why each of them has its own.

    The page needs no network. With --contexts reviews are extracted first, as `run` does. Exit status 3 where some
    restaurants failed: they are in the page, too.
    """
    from formulaseed.explanation.report import collect

    check_suffix(out, ".html", ".htm")

    def write(explainer: Explainer, explanations: Iterator[Explanation], failures: Failures) -> None:
        found = collect(explainer, explanations, failures)
        note = f"{number_of(found.restaurants, 'restaurant')}, {found.failed} failed"
        write_out(found.html, out, note)

    _explain(write, lambda known: known, out, **given)


def _explain(
    use: _Use, select: Callable[[_Known], _Known], out: str | None, *, seed: str, rows: str | None, output: str | None,
    params: tuple[str, ...], **shared: Any
) -> NoReturn:  # fmt: skip
    """Explain the restaurants of rows, or those whose reviews are extracted, and end the command."""
    if rows is None:
        if not any(shared[name] for name in ("contexts", "restaurants", "reviews")):
            raise click.UsageError("pass --rows FILE, --contexts FILE, or --restaurants FILE and --reviews FILE")
        job = make_job(seed, {"--out": out}, with_text=False, params=params, **shared)
        source = job.source = _SelectedSource(job.source, select)

        with open_job(job) as opened:
            explainer, failures = Explainer(job.program, output), opened.failures
            restaurants = source.read_restaurants(failures)
            found = extract_restaurants(source.evaluator, opened.extractor, restaurants, source.options, failures)
            noted = _noting(found, opened.count)
            use(explainer, explained(explainer, source.evaluator, noted, source.options.parameters, failures), failures)
        finish(opened.status)
    for name in shared:
        if is_set(name) and name not in ("allow_edited", "duplicates", "quiet"):
            raise click.UsageError(f"{flag_of(name)} goes with --contexts, not with --rows")
    loaded = load(seed, allow_edited=shared["allow_edited"])
    explainer, parameters = Explainer(loaded.program, output), parameters_of(loaded.evaluator, params)
    lines = (line for *_, line in select((line.business_id, line.place, line) for line in read_lines(rows, "rows")))
    with reported() as failures, progress("restaurant", quiet=shared["quiet"]) as shown:
        found = read_rows(loaded.evaluator, lines, failures, parameters, shared["duplicates"])
        noted = _noting(found, lambda _: shown.advance(lambda: "explained"))
        use(explainer, explained(explainer, loaded.evaluator, noted, parameters, failures), failures)
    finish(failures.status)


class _SelectedSource(ReviewSource):
    """The restaurants of another source that `select` chooses."""

    def __init__(self, source: ReviewSource, select: Callable[[_Known], _Known]) -> None:
        super().__init__(source.evaluator, source.contexts, source.reviews, source.options, source.duplicates)
        self._select = select

    def read_restaurants(self, failures: Failures | None = None) -> Iterator[LocatedRestaurant]:
        every = super().read_restaurants(failures)
        return (restaurant for *_, restaurant in self._select((each[2], each[0], each) for each in every))


def _noting(
    restaurants: Iterator[ExtractedRestaurant], note: Callable[[ExtractedRestaurant], None]
) -> Iterator[ExtractedRestaurant]:
    for restaurant in restaurants:
        yield restaurant
        note(restaurant)


def _only(known: _Known, business_id: str | None, *, reads_on: bool) -> _Known:
    """The first restaurant with this id; without one the only restaurant. Raises `UsageError` where there is none such.

    With `reads_on` others of the same id are looked for, and reported.
    """
    ids: list[str] = []
    first: list[tuple[str, str, Any]] = []
    for each in known:
        if each[0] == business_id:
            yield each
            others = [place for name, place, _ in known if name == business_id] if reads_on else []
            if others:
                same = f"{', '.join(others[:3])}{', …' if len(others) > 3 else ''}"
                say(f"warning: {each[1]} is explained; {business_id} is also in {same}", err=True)
            return
        ids.append(each[0])
        first = first or [each]
    if business_id is not None:
        help = did_you_mean(business_id, ids, what="restaurants", limit=5)
        raise click.UsageError(f"no restaurant has the id `{business_id}`; {help}")
    if len(ids) > 1:
        raise click.UsageError(f"there are {len(ids)} restaurants; pass --id, such as --id {ids[0]}")
    yield from first
