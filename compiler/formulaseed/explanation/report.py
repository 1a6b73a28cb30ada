"""The report of a run: one page with the verdicts of all restaurants, and why each has its own.

In: a seed, and lines of rows. Out: a `Report`; `explanation.pages` lays it out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from formulaseed.arguments import validated
from formulaseed.data.duplicates import Duplicates
from formulaseed.data.jsonl import Lines, lines_of
from formulaseed.data.results import Failures
from formulaseed.explanation.explainer import Explainer
from formulaseed.explanation.model import Explanation
from formulaseed.explanation.overview import Overview, explained
from formulaseed.language.types import Value
from formulaseed.loading import FormulaSeed, SeedLike, load_seed
from formulaseed.runtime.loading import evaluator_of
from formulaseed.runtime.running import read_rows


@dataclass(frozen=True, slots=True)
class Report:
    """All restaurants of a run in one HTML page, `.html`, which needs no network.

    `failures` says which restaurants failed, and why; they are in the page, too.
    """

    html: str = field(repr=False)
    restaurants: int
    failed: int = 0
    failures: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        return self.html


@validated
def report(
    seed: SeedLike | FormulaSeed,
    rows: Lines,
    *,
    output: str | None = None,
    parameters: Mapping[str, Value] | None = None,
    duplicates: Duplicates = "fail",
) -> Report:
    """Explain every restaurant of a run in one page, as `formulaseed report` writes it.

    `rows` is a path to JSON Lines, the objects that they would hold, or a data frame; `extract` makes them of contexts.
    `output` is the output to explain, by default the last that chooses by rules. With `duplicates="first"` the first of a
    restaurant's rows with the same `review_id` counts; otherwise the restaurant fails. Raises `SeedError` for a seed with
    errors, and `DataError` for a file that cannot be opened, an unknown output, a wrong parameter, and if no restaurant can
    be read.
    """
    loaded, failures = load_seed(seed), Failures()
    evaluator, explainer = evaluator_of(loaded), Explainer(loaded.program, output)
    restaurants = read_rows(evaluator, lines_of(rows, "rows"), failures, parameters, duplicates)
    found = collect(explainer, explained(explainer, evaluator, restaurants, parameters, failures), failures)
    failures.refuse_nothing_read(found.restaurants)
    return found


def collect(explainer: Explainer, explanations: Iterable[Explanation], failures: Failures) -> Report:
    """Return the report of explanations, which are read to their end; what fails on the way is in `failures`."""
    from formulaseed.explanation.pages import report_page

    overview = Overview(explainer.program, explainer.verdict)
    for explanation in explanations:
        overview.add(explanation)
    html = report_page(overview, failures.lines)
    return Report(html, len(overview.rows), overview.failed, tuple(failures.lines))
