"""Write the report of a run: one page with the verdicts of all restaurants, and the explanation of each.

In: a seed, and rows, one restaurant after the other. Out: a `Report`. Of each restaurant only its line of the table,
its numbers and its compressed explanation stay in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from formulaseed.data.arguments import validate_arguments
from formulaseed.data.duplicates import Duplicates
from formulaseed.data.jsonl import Lines, open_lines
from formulaseed.data.results import Failures
from formulaseed.documents import FormulaSeed, SeedLike, load_seed
from formulaseed.explanation.explainer import Explainer, explain_all
from formulaseed.explanation.explanation import Explanation
from formulaseed.explanation.model import Change
from formulaseed.explanation.text import build_page_blocks, describe_run
from formulaseed.explanation.verdict import assign_shades, list_verdicts
from formulaseed.explanation.waterfall import list_limits
from formulaseed.ir import nodes
from formulaseed.ir.labels import map_labels
from formulaseed.language.typed import SymbolKind
from formulaseed.language.types import Value
from formulaseed.pages.histogram import build_histogram
from formulaseed.pages.html import PackedParts, as_html, render_report, visible
from formulaseed.pages.values import format_plain, format_value
from formulaseed.runtime.loading import compile_evaluator
from formulaseed.runtime.running import read_rows
from formulaseed.source.printing import number_of
from formulaseed.source.text import claim_name

MAX_REVIEWS = 40  # of one restaurant in a report
_FAILED = "failed"  # in place of a verdict, and the CSS class of its colour


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


@validate_arguments
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
    failures = Failures()
    loaded = load_seed(seed)
    explainer = Explainer(loaded.program, compile_evaluator(loaded), output)
    restaurants = read_rows(explainer.evaluator, open_lines(rows, "rows"), failures, parameters, duplicates)
    page = make_report(explainer, explain_all(explainer, restaurants, parameters, failures), failures)
    failures.require_restaurants(page.restaurants)
    return page


def make_report(explainer: Explainer, explanations: Iterable[Explanation], failures: Failures) -> Report:
    """Return the report of all explanations. `failures` is read after them, since iterating over them may add to it."""
    overview = _Overview(explainer.program, explainer.verdict)
    for explanation in explanations:
        overview.add(explanation)
    return Report(overview.render(failures.lines), len(overview.rows), overview.failed, tuple(failures.lines))


# --- the page


class _TableRow(NamedTuple):
    """A restaurant's line of the table.

    `at` is its position in the data, `place` that of its verdict in the policy's order, where failed ones come last,
    and -1 for a verdict without a place. `shade` is the CSS class of the verdict's colour. `numbers` are the cells of
    the columns, and `score` is the number in the initial column. `change` describes the smallest change to another
    verdict, and `changed` is the number of reviews that it takes; see `_count_changed_reviews`.
    """

    at: int
    anchor: str
    business_id: str
    name: str
    verdict: str
    place: int
    shade: str
    score: float | None
    numbers: tuple[str, ...]
    reviews: int
    change: str
    changed: float | None


class _VerdictCount(NamedTuple):
    """The number of restaurants with a verdict; `share` is its ratio to the number of the most common verdict.

    `place` and `shade` are as in `_TableRow`.
    """

    verdict: str
    place: int
    shade: str
    number: int
    share: float


@dataclass
class _Overview:
    """The collected table rows and explanations of one run's restaurants.

    `verdict` is the step that computes the verdict. `run` describes the run, as the explanations do.
    """

    program: nodes.Program
    verdict: nodes.Step
    rows: list[_TableRow] = field(default_factory=list)
    run: Mapping[str, Any] = field(default_factory=dict)
    _articles: PackedParts = field(default_factory=PackedParts)
    _numbers: dict[str, list[tuple[float, str]]] = field(default_factory=dict)
    _limits: dict[str, set[float]] = field(default_factory=dict)
    _anchors: set[str] = field(default_factory=set)

    @cached_property
    def verdicts(self) -> tuple[Value, ...]:
        """The possible verdicts, in the policy's order; empty for a number that is computed, or an arbitrary string."""
        return list_verdicts(self.verdict)

    @cached_property
    def shades(self) -> dict[Value, str]:
        """The CSS classes of the verdicts' colours."""
        return assign_shades(self.verdicts)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The outputs that are numbers, except the verdict."""
        steps = {step.name: step for step in self.program.steps}
        numeric = [name for name in self.program.output if steps[name].ty.is_numeric]
        return tuple(name for name in numeric if not (self.verdicts and name == self.verdict.name))

    @cached_property
    def column(self) -> int:
        """The index in `columns` of the initial column; 0 if there are no columns.

        It is the one that the verdict's rules name most often, of several the last.
        """
        named = Counter(symbol.name for symbol in self.verdict.symbols() if symbol.kind is SymbolKind.STEP)
        return max(range(len(self.columns)), key=lambda place: (named[self.columns[place]], place), default=0)

    @property
    def failed(self) -> int:
        """The number of restaurants without a verdict."""
        return sum(row.shade == _FAILED for row in self.rows)

    def add(self, explanation: Explanation) -> None:
        """Add a restaurant to the table, the histograms and the page's explanations.

        A failed restaurant gets the verdict `failed` and no numbers. The first `run` that is not empty becomes that
        of the page.
        """
        self._articles.add(as_html(build_page_blocks(explanation, self.shades, MAX_REVIEWS)))
        self.run = self.run or explanation.run
        verdict = shade = _FAILED
        place = len(self.verdicts)
        texts = ["" for _ in self.columns]
        numbers: list[float | None] = [None for _ in self.columns]
        if explanation.error is None:
            verdict = format_plain(explanation.verdict)
            shade = self.shades.get(explanation.verdict, "other")
            # a verdict outside the policy's list has no place
            place = self.verdicts.index(explanation.verdict) if explanation.verdict in self.verdicts else -1
            values = [explanation.outputs.get(name) for name in self.columns]
            texts = [format_value(value) for value in values]
            numbers = [float(value) if isinstance(value, int | float) else None for value in values]
        for name, number in zip(self.columns, numbers, strict=True):
            if number is not None:
                self._numbers.setdefault(name, []).append((number, shade))
                limits = set(list_limits(explanation.rules, name))
                # a limit that is not the same for all restaurants is none of the histogram's
                self._limits[name] = self._limits.get(name, limits) & limits
        self.rows.append(
            _TableRow(
                at=len(self.rows),
                anchor=claim_name(visible(explanation.business_id), self._anchors, "~"),
                business_id=explanation.business_id,
                name=explanation.name or explanation.business_id,
                verdict=verdict,
                place=place,
                shade=shade,
                score=numbers[self.column] if numbers else None,
                numbers=tuple(texts),
                reviews=explanation.reviews,
                change=_summarize_change(explanation.changes),
                changed=_count_changed_reviews(explanation.changes),
            )
        )

    def render(self, failures: Iterable[str]) -> str:
        """Return the HTML page; `failures` are lines about the restaurants that failed.

        The table has the highest score first, and restaurants without a score last.
        """
        restaurants = f"{number_of(len(self.rows), 'restaurant')}, {self.failed} failed"
        labels = map_labels(self.program)
        titles = [labels.get(name, name) for name in self.columns]
        order = [*dict.fromkeys([*self.shades.values(), "other"])]
        histograms = [
            build_histogram(title, self._numbers.get(name, []), order, self._limits.get(name, ()))
            for name, title in zip(self.columns, titles, strict=True)
        ]
        return render_report(
            title=self.program.task_name,
            about="; ".join([restaurants, *(" ".join(pair) for pair in describe_run(self.run))]),
            step=labels.get(self.verdict.name, self.verdict.name),
            counts=[*self._count_verdicts()],
            columns=titles,
            column=self.column,
            histograms=histograms,
            failures=[*failures],
            rows=sorted(self.rows, key=lambda row: (row.score is None, -(row.score or 0.0))),
            articles=self._articles.to_base64(),
        )

    def _count_verdicts(self) -> Iterator[_VerdictCount]:
        """Yield how many restaurants have each possible verdict, in the policy's order, then how many failed.

        A verdict of no restaurant has the number 0; if none failed, that line is left out. Verdicts outside the
        policy's list are not counted.
        """
        numbers = Counter(row.place for row in self.rows)
        most = max(numbers.values(), default=1)
        for place, verdict in enumerate(self.verdicts):
            number = numbers[place]
            yield _VerdictCount(format_plain(verdict), place, self.shades[verdict], number, number / most)
        if self.failed:
            yield _VerdictCount(_FAILED, len(self.verdicts), _FAILED, self.failed, self.failed / most)


def _summarize_change(changes: Sequence[Change]) -> str:
    """Return the smallest change, which is the first one, such as `2 reviews more: severe`; empty if there is none."""
    if not changes:
        return ""
    change = changes[0]
    verdict = format_plain(change.verdict)
    if change.parameter is not None:
        return f"{change.parameter} {format_value(change.number)}: {verdict}"
    return f"{number_of(int(change.number), 'review')} {change.kind.split()[0]}: {verdict}"


def _count_changed_reviews(changes: Sequence[Change]) -> float | None:
    """Return how many reviews the smallest change adds or leaves out.

    Returns None if it changes a parameter, or if there is no change.
    """
    return changes[0].number if changes and changes[0].parameter is None else None
