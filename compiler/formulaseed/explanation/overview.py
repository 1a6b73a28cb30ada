"""A run at a glance: how many restaurants have which verdict and which values, and the explanation of each.

In: restaurants with rows, one after the other. Out: what the page of a report shows. Nothing is kept of a restaurant but its
line of the table and its explanation, packed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from formulaseed.data.results import Failures, error_of
from formulaseed.diagnostics.model import number_of
from formulaseed.errors import DataError, EvaluationError
from formulaseed.explanation.article import article, shades
from formulaseed.explanation.counterfactuals import Search
from formulaseed.explanation.elements import Packing, visible
from formulaseed.explanation.explainer import Explainer
from formulaseed.explanation.model import Change, Explanation, Failure
from formulaseed.explanation.verdict import verdicts_of
from formulaseed.ir import nodes
from formulaseed.language.typed import SymbolKind
from formulaseed.language.types import Value
from formulaseed.pages.histogram import Histogram, histogram
from formulaseed.pages.values import format_plain, format_value
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.extracting import ExtractedRestaurant
from formulaseed.runtime.running import add_failure

MOST_REVIEWS = 40
"""So many reviews of a restaurant are in a report."""
FAILED = "failed"


def explained(
    explainer: Explainer,
    evaluator: Evaluator,
    restaurants: Iterable[ExtractedRestaurant],
    parameters: Mapping[str, Any] | None,
    failures: Failures,
) -> Iterator[Explanation]:
    """Explain restaurants. One whose data cannot be used has an `error`, and no steps.

    What had not failed before, and fails now, is added to `failures`.
    """
    for found in restaurants:
        said = _explained(explainer, evaluator, found, parameters)
        fault = said.error
        if fault is not None and found.error is None:
            add_failure(failures, found, _error_of(fault, evaluator))
        yield said


def _error_of(fault: Failure, evaluator: Evaluator) -> EvaluationError | DataError:
    if fault.step is None:
        return DataError(fault.message)
    return evaluator.located(EvaluationError(fault.step, fault.kind, fault.message))


def _explained(
    explainer: Explainer, evaluator: Evaluator, found: ExtractedRestaurant, parameters: Mapping[str, Any] | None
) -> Explanation:
    if found.error is not None:
        return _failed(explainer, found, found.error)
    search = Search(explainer.leading, evaluator, found.rows, found.context, parameters)
    given = (found.business_id, found.rows, found.context, parameters, found.run.to_json())
    try:
        evaluator.check(found.rows, found.context)  # the explainer's own reading names neither row nor review
        return explainer.explain(*given, search.changes())
    except DataError as error:
        return _failed(explainer, found, error_of(error))


def _failed(explainer: Explainer, found: ExtractedRestaurant, error: Mapping[str, str | None]) -> Explanation:
    name = found.context.get("name")
    return Explanation(
        business_id=found.business_id,
        name=name if isinstance(name, str) else None,
        task=explainer.program.task_name,
        step=explainer.verdict.name,
        verdict=None,
        outputs={},
        error=Failure(step=None, kind=error["kind"] or "", message=error["message"] or "", place=None),
        because=[],
        missing=[],
        rules=[],
        steps=[],
        lookups=[],
        evidence=[],
        reviews=len(found.rows),
        changes=[],
        run=found.run.to_json(),
    )


class TableRow(NamedTuple):
    """A restaurant's line of the table: `at` is its position in the data, `place` that of its verdict in the policy's order,
    where failed ones come last."""

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


class VerdictCount(NamedTuple):
    verdict: str
    place: int
    shade: str
    number: int
    share: float


@dataclass
class Overview:
    """Collects the restaurants of one run."""

    program: nodes.Program
    verdict: nodes.Step
    rows: list[TableRow] = field(default_factory=list)
    packing: Packing = field(default_factory=Packing)
    run: Mapping[str, Any] = field(default_factory=dict)
    _numbers: dict[str, list[tuple[float, str]]] = field(default_factory=dict)
    _anchors: set[str] = field(default_factory=set)

    @cached_property
    def verdicts(self) -> tuple[Value, ...]:
        """What the verdict may be, in the policy's order; none where it is a number that is computed, or any string."""
        return verdicts_of(self.verdict)

    @cached_property
    def shades(self) -> dict[Value, str]:
        return shades(self.verdicts)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The outputs that are numbers, but for the verdict."""
        steps = {step.name: step for step in self.program.steps}
        numeric = [name for name in self.program.output if steps[name].ty.is_numeric]
        return tuple(name for name in numeric if not (self.verdicts and name == self.verdict.name))

    @cached_property
    def column(self) -> int:
        """The place of the number that is shown at first: the one that the verdict's rules name most often, else the last."""
        named = Counter(symbol.name for symbol in self.verdict.symbols() if symbol.kind is SymbolKind.STEP)
        return max(range(len(self.columns)), key=lambda place: (named[self.columns[place]], place), default=0)

    def add(self, found: Explanation) -> None:
        """Add a restaurant."""
        self.packing.add(article(found, self.shades, MOST_REVIEWS))
        self.run = self.run or found.run
        failed = found.error is not None
        values = [None if failed else found.outputs.get(name) for name in self.columns]
        numbers = [float(value) if isinstance(value, int | float) else None for value in values]
        shade = FAILED if failed else self.shades.get(found.verdict, "other")
        for name, number in zip(self.columns, numbers, strict=True):
            if number is not None:
                self._numbers.setdefault(name, []).append((number, shade))
        change = found.changes[0] if found.changes else None
        self.rows.append(
            TableRow(
                at=len(self.rows),
                anchor=self._anchor(found.business_id),
                business_id=visible(found.business_id),
                name=visible(found.name or found.business_id),
                verdict=FAILED if failed else visible(format_plain(found.verdict)),
                place=len(self.verdicts) if failed else self._place(found.verdict),
                shade=shade,
                score=numbers[self.column] if numbers else None,
                numbers=tuple("" if failed else format_value(value) for value in values),
                reviews=found.reviews,
                change=visible(_change_text(change)) if change is not None else "",
                changed=change.number if change is not None and change.parameter is None else None,
            )
        )

    def _place(self, verdict: Value) -> int:
        return self.verdicts.index(verdict) if verdict in self.verdicts else -1

    def _anchor(self, business_id: str) -> str:
        """What names the restaurant in an address: its id, or that with a number where another line has it."""
        found, number = visible(business_id), 1
        while found in self._anchors:
            number += 1
            found = f"{visible(business_id)}~{number}"
        self._anchors.add(found)
        return found

    def counts(self) -> Iterator[VerdictCount]:
        """Yield how many restaurants have each verdict, in the policy's order; failed ones last."""
        numbers = Counter(row.place for row in self.rows)
        most = max(numbers.values(), default=1)
        for place, verdict in enumerate(self.verdicts):
            yield VerdictCount(
                visible(format_plain(verdict)), place, self.shades[verdict], numbers[place], numbers[place] / most
            )
        place = len(self.verdicts)
        if self.failed:
            yield VerdictCount(FAILED, place, FAILED, self.failed, self.failed / most)

    def by_score(self) -> list[TableRow]:
        """Return the restaurants, the highest number in the column that is shown at first; those without one last."""
        return sorted(self.rows, key=lambda row: (row.score is None, -(row.score or 0.0)))

    @property
    def failed(self) -> int:
        return sum(row.shade == FAILED for row in self.rows)

    def histograms(self) -> list[Histogram | None]:
        """Return the histogram of each column; None where no restaurant has a number."""
        order = [*dict.fromkeys([*self.shades.values(), "other"])]
        return [histogram(name, self._numbers.get(name, []), order) for name in self.columns]


def _change_text(change: Change) -> str:
    """The change in a few words, for the table."""
    if change.parameter is not None:
        return f"{change.parameter} {format_value(change.number)}: {format_plain(change.verdict)}"
    return f"{number_of(int(change.number), 'review')} {change.kind.split()[0]}: {format_plain(change.verdict)}"
