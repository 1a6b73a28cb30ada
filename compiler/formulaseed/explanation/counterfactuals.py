"""Search counterfactuals of a verdict: the fewest reviews more or fewer, and the nearest value of a parameter, that change it.

In: an evaluator with one restaurant's rows and context. Out: changes, the smallest first. Each change was tried: the generated
module gives the other verdict. Each review is left out by itself; not all combinations are tried, so a smaller change may
exist.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, product
from typing import Any, Literal

from formulaseed.errors import DataError, EvaluationError
from formulaseed.explanation.candidates import Candidate, CandidateReviews, ObservedReviews, Row, review_name
from formulaseed.explanation.model import MAX_ADDED_REVIEWS, MAX_LEFT_OUT_REVIEWS, Change, ChangeKind, Effect
from formulaseed.explanation.parameter_search import ParameterSearch
from formulaseed.explanation.verdict import list_verdicts
from formulaseed.explanation.verdict_dependencies import VerdictDependencies
from formulaseed.language.typed import Symbol
from formulaseed.language.types import Value
from formulaseed.pages.values import format_value
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.typed_rows import ParsedRows
from formulaseed.source.printing import number_of

MAX_LISTED_WAYS = 5  # more are listed only if they are needed to have one for each verdict
_MAX_SINGLE_REVIEWS = 8  # listed, or named, reviews whose absence alone changes the verdict
_MAX_CANDIDATES = 60
_MIN_CANDIDATES = 3
_MAX_EVALUATED_REVIEWS = 300_000  # for each review more or fewer, all candidates together

_Values = Mapping[str, Value]
"""Every step's value, by name."""


@dataclass
class ChangeSearch:
    """The search for changes of one restaurant's input. `dependencies` are those of the verdict that is to change.

    `parsed` has the rows as the evaluator parsed them, `observed` the reviews of the run, and `names` the words for fields
    and parameters.
    """

    dependencies: VerdictDependencies
    evaluator: Evaluator
    rows: Sequence[Row]
    parsed: ParsedRows
    context: Mapping[str, Any]
    parameters: Mapping[str, Any] | None
    observed: ObservedReviews
    names: Mapping[Symbol, str]
    _values: _Values = field(default_factory=dict)

    def find_changes(self) -> list[Change]:
        """Return a selection of changes that lead to another verdict: the fewest reviews first, parameters last.

        Empty if the evaluation fails. Sets `_values`. Evaluates the restaurant many times.
        """
        values = self._trace(self.parsed)
        if values is None:
            return []
        self._values = values
        fewer = [*self._try_fewer()]
        more = self._try_more({change.verdict for change in fewer})
        return _select_changes(sorted([*fewer, *more, *self._try_parameters()], key=self._sort_key))

    def _sort_key(self, change: Change) -> tuple[bool, float, int]:
        """Return a key that sorts by kind, parameters last, then by `number`, then by distance of the verdicts."""
        order = list_verdicts(self.dependencies.verdict)
        places = [order.index(verdict) for verdict in (change.verdict, self._verdict) if verdict in order] or [0]
        return change.kind == "parameter", change.number, abs(places[0] - places[-1])

    # --- evaluation

    def _trace(self, rows: ParsedRows, parameters: Mapping[str, Any] | None = None) -> _Values | None:
        """Return every step's value with these rows; None if evaluation fails. `parameters` are by default the restaurant's."""
        if parameters is None:
            parameters = self.parameters
        try:
            return self.evaluator.trace(rows, self.context, parameters)
        except (EvaluationError, DataError):
            return None

    def _read_verdict(self, values: _Values) -> Value:
        """Return the verdict among the values of steps."""
        return values[self.dependencies.verdict.name]

    @cached_property
    def _verdict(self) -> Value:
        """The restaurant's verdict as it is."""
        return self._read_verdict(self._values)

    def _is_other_verdict(self, values: _Values | None) -> bool:
        """Return True if there are values, and their verdict is not the restaurant's."""
        return values is not None and self._read_verdict(values) != self._verdict

    def _max_worth_trying(self, fewest: Mapping[Value, int], limit: int) -> int:
        """Return the largest number of reviews, up to `limit`, that may give a smaller change to some other verdict.

        `fewest` has the fewest reviews that are known to lead to each verdict. If the possible verdicts are not
        known, the result is one less than the smallest of these.
        """
        other_verdicts = [verdict for verdict in list_verdicts(self.dependencies.verdict) if verdict != self._verdict]
        known = [fewest.get(verdict, limit + 1) for verdict in other_verdicts]
        return max(known or [min(fewest.values(), default=limit + 1)]) - 1

    def _build_change(
        self, kind: ChangeKind, text: str, number: float, rows: ParsedRows, after: _Values, **details: Any
    ) -> Change:
        """Return the data of a change to `rows`, or of a parameter to `number`, which gives the values `after`.

        `details` are further attributes of `Change`. Its `effects` are the decisive steps whose values differ from
        before.
        """
        parameters = self.parameters
        if "parameter" in details:
            parameters = {**(parameters or {}), details["parameter"]: number}
        effects = {
            name: Effect(
                before=self._values[name], after=after[name], default=self._find_default(name, rows, after, parameters)
            )
            for name in self.dependencies.decisive_steps
            if name in after and after[name] != self._values[name]
        }
        return Change(
            kind=kind, text=text, number=number, verdict=self._read_verdict(after), effects=effects, **details
        )

    def _find_default(
        self, name: str, rows: ParsedRows, after: _Values, parameters: Mapping[str, Any] | None
    ) -> Literal["before", "after"] | None:
        """Return "before" or "after": the first side of a change where a step has its default because no review counts.

        Returns None if neither side has the default, if the step is no aggregate that the verdict depends on, and if
        its function has a value without reviews, as a count has.
        """
        aggregate = self.dependencies.aggregates.get(name)
        if aggregate is None or aggregate.entry.empty_value is not None:
            return None
        default = aggregate.default.value if aggregate.default is not None else None
        if self._values[name] == default and not self._positions_by_step.get(name):
            return "before"
        if after[name] == default and not self.evaluator.positions(rows, self.context, parameters).get(name):
            return "after"
        return None

    @cached_property
    def _positions_by_step(self) -> dict[str, list[int]]:
        """The positions of the reviews that each step over reviews counts."""
        return self.evaluator.positions(self.parsed, self.context, self.parameters)

    @cached_property
    def _max_candidates(self) -> int:
        """The maximum of candidates to try, which is lower for a restaurant with many reviews."""
        affordable = _MAX_EVALUATED_REVIEWS // max(1, len(self.rows))
        return max(_MIN_CANDIDATES, min(_MAX_CANDIDATES, affordable))

    @cached_property
    def _positions_by_kind(self) -> dict[tuple[Any, ...], list[int]]:
        """The positions of reviews, grouped so that equal reviews are tried once; those counted most come first."""
        times_counted = Counter(
            place for name in self.dependencies.aggregates for place in self._positions_by_step.get(name, ())
        )
        kinds: dict[tuple[Any, ...], list[int]] = {}
        for place in sorted(range(len(self.rows)), key=lambda place: -times_counted[place]):
            kinds.setdefault(self.parsed[place], []).append(place)
        return kinds

    def _format_names(self, places: Sequence[int]) -> str:
        """Return the ids of the reviews at some positions in a list, which is cut after `_MAX_SINGLE_REVIEWS`."""
        names = ", ".join(review_name(self.rows[place], place) for place in places[:_MAX_SINGLE_REVIEWS])
        more = len(places) - _MAX_SINGLE_REVIEWS
        return f"{names} and {more} more" if more > 0 else names

    # --- fewer reviews

    def _try_fewer(self) -> Iterator[Change]:
        """Yield changes that leave out reviews: first single ones that change the verdict, then several together.

        Of equal reviews one is tried, and the text of the change names all of them. For several together, each of the
        `drivers` is moved up and then down.
        """
        fewest: dict[Value, int] = {}
        for place, values in self._values_without_one.items():
            if values is None or not self._is_other_verdict(values):
                continue
            fewest[self._read_verdict(values)] = 1
            alike = self._positions_by_kind[self.parsed[place]]
            noun = "review" if len(alike) == 1 else "one of the reviews"
            yield self._build_removal(f"{noun} {self._format_names(alike)}", [place], values)
        for driver, direction in product(self.dependencies.drivers or [""], (1, -1)):
            yield from self._try_fewer_towards(driver, direction, fewest)

    def _try_fewer_towards(self, driver: str, direction: int, fewest: dict[Value, int]) -> Iterator[Change]:
        """Yield changes that leave out several reviews, in each round the one that moves the number `driver` most.

        `direction` is 1 for up, and -1 for down. Reviews that a new verdict does not need stay in. Yields a change
        only if it needs fewer reviews than `fewest` has for its verdict, and then updates `fewest`.
        """
        left_out: list[int] = []
        values: _Values = self._values
        while len(left_out) < self._max_worth_trying(fewest, MAX_LEFT_OUT_REVIEWS):
            best = self._choose_left_out(left_out, values, driver, direction)
            if best is None:
                return
            place, values = best
            left_out.append(place)
            verdict = self._read_verdict(values)
            if not self._is_other_verdict(values) or len(left_out) >= fewest.get(verdict, MAX_LEFT_OUT_REVIEWS + 1):
                continue
            needed, after = self._minimize(left_out, values)
            fewest[verdict] = len(needed)
            noun = "reviews" if len(needed) > 1 else "review"
            yield self._build_removal(f"{noun} {self._format_names(needed)}", needed, after)

    def _build_removal(self, reviews: str, places: Sequence[int], after: _Values) -> Change:
        """Return the data of a change that leaves out the reviews at `places`, which are `reviews` in words."""
        ids = [review_name(self.rows[place], place) for place in places]
        text = f"if {reviews} did not count"
        rows = self.parsed.copy_without(places)
        return self._build_change("fewer reviews", text, len(places), rows, after, review_ids=ids)

    @cached_property
    def _values_without_one(self) -> dict[int, _Values | None]:
        """Every step's value without one review of each kind, by its position; None if the evaluation then fails."""
        places = islice((places[0] for places in self._positions_by_kind.values()), self._max_candidates)
        return {place: self._trace(self.parsed.copy_without([place])) for place in places}

    def _choose_left_out(
        self, left_out: Sequence[int], values: _Values, driver: str, direction: int
    ) -> tuple[int, _Values] | None:
        """Return the position of the next review to leave out besides `left_out`, and the values without them.

        The review is the one whose absence moves `driver` most from `values` in `direction`, possibly by 0; the first
        of equals. Returns None if each one moves it the other way or makes the evaluation fail.
        """
        first_left = (
            next((place for place in places if place not in left_out), None)
            for places in self._positions_by_kind.values()
        )
        candidates = (place for place in first_left if place is not None)
        best: tuple[float, int, _Values] | None = None
        for place in islice(candidates, self._max_candidates):
            after = (
                self._trace(self.parsed.copy_without([*left_out, place]))
                if left_out
                else self._values_without_one[place]
            )
            moved = (_as_number(after, driver) - _as_number(values, driver)) * direction
            if after is not None and moved >= 0 and (best is None or moved > best[0]):
                best = moved, place, after
        return None if best is None else best[1:]

    def _minimize(self, left_out: Sequence[int], after: _Values) -> tuple[list[int], _Values]:
        """Return the reviews of `left_out` whose absence the verdict in `after` needs, and the values without them."""
        needed = [*left_out]
        for place in left_out:
            rest = [other for other in needed if other != place]
            if not rest:
                continue
            values = self._trace(self.parsed.copy_without(rest))
            if values is not None and self._read_verdict(values) == self._read_verdict(after):
                needed = rest
                after = values
        return needed, after

    # --- more reviews

    def _try_more(self, reached: Set[Value]) -> Iterator[Change]:
        """Yield changes that add copies of one candidate review, with the smallest numbers that change the verdict.

        Skips candidates that the seed does not allow or that equal an earlier one; stops after `_max_candidates`. A
        later candidate must need fewer copies for a verdict than the earlier ones. One whose values no review of the run
        has counts only for verdicts that neither the earlier ones nor the changes to `reached` lead to.
        For a restaurant with many reviews, a candidate is skipped if `MAX_ADDED_REVIEWS` copies do not change the verdict.
        """
        reviews = CandidateReviews(self.dependencies, self.rows, self._positions_by_step, self.observed, self.names)
        tried: set[tuple[Any, ...]] = set()
        settled = reached
        fewest: dict[Value, int] = {}
        for candidate in reviews.make_candidates([places[0] for places in self._positions_by_kind.values()]):
            try:
                [parsed] = self.evaluator.parse_rows([candidate.row])
            except DataError:  # the seed does not allow what a condition requires
                continue
            if parsed in tried:
                continue
            tried.add(parsed)
            if candidate.is_observed:
                settled = reached | fewest.keys()
            else:
                fewest |= dict.fromkeys(settled, 0)
            last: Value = self._verdict
            numbers = range(1, self._max_worth_trying(fewest, MAX_ADDED_REVIEWS) + 1)
            if self._max_candidates < _MAX_CANDIDATES:  # of many reviews each evaluation is expensive
                most = self._trace(self._add_rows(parsed, MAX_ADDED_REVIEWS))
                numbers = numbers if self._is_other_verdict(most) else range(0)
            for number in numbers:
                after = self._trace(self._add_rows(parsed, number))
                if after is None or self._read_verdict(after) == last:
                    continue
                last = self._read_verdict(after)
                if last != self._verdict and number < fewest.get(last, MAX_ADDED_REVIEWS + 1):
                    fewest[last] = number
                    yield self._build_added(reviews.describe(candidate), candidate, parsed, number, after)
            if len(tried) == self._max_candidates:
                return

    def _build_added(
        self, text: str, candidate: Candidate, row: tuple[Any, ...], number: int, after: _Values
    ) -> Change:
        """Return the data of a change that adds `number` copies of a candidate, which is `text` in words."""
        rows = self._add_rows(row, number)
        positions = self.evaluator.positions(rows, self.context, self.parameters)
        conditional = [name for name, aggregate in self.dependencies.aggregates.items() if aggregate.entry.counts]
        counting = [name for name in conditional if len(rows) - 1 in positions.get(name, ())]
        return self._build_change(
            "more reviews", f"with {number_of(number, 'new review')} {text}", number, rows, after,
            row=dict(candidate.row), like=candidate.source or None, counts=self.dependencies.list_labels(counting),
            is_copy=bool(candidate.source) and not candidate.set, is_observed=candidate.is_observed,
        )  # fmt: skip

    def _add_rows(self, row: tuple[Any, ...], number: int) -> ParsedRows:
        """Return the restaurant's rows with `number` copies of a row added."""
        return ParsedRows([*self.parsed, *[row] * number])

    # --- parameters

    def _try_parameters(self) -> Iterator[Change]:
        """Yield the change of each numeric parameter to the nearest value, above and below, that changes the verdict.

        Skips parameters without a numeric default.
        """
        for parameter in self.dependencies.program.parameters:
            if not parameter.ty.is_numeric or not isinstance(parameter.default, int | float):
                continue
            start = (self.parameters or {}).get(parameter.name, parameter.default)
            for direction in (1, -1):

                def is_turned(value: float, name: str = parameter.name) -> bool:
                    """Return True if the verdict is another one with `value` for the parameter `name`."""
                    return self._is_other_verdict(self._trace(self.parsed, {**(self.parameters or {}), name: value}))

                value = ParameterSearch(parameter, start, direction, is_turned).find_nearest()
                if value is None:
                    continue
                after = self._trace(self.parsed, {**(self.parameters or {}), parameter.name: value})
                assert after is not None  # it has another verdict
                name = f"“{parameter.label}” ({parameter.name})" if parameter.label else parameter.name
                text = f"if {name} were {format_value(value)} instead of {format_value(start)}"
                yield self._build_change("parameter", text, value, self.parsed, after, parameter=parameter.name)


def _select_changes(changes: Sequence[Change]) -> list[Change]:
    """Return the changes to list, in the order of `changes`, which must be sorted by size.

    Considers the smallest change of each kind to each verdict, with it all single reviews up to `_MAX_SINGLE_REVIEWS`. Lists
    the first for each verdict, then others up to `MAX_LISTED_WAYS`.
    """
    ways: dict[tuple[object, ...], list[Change]] = {}
    for change in changes:
        way = ways.setdefault((change.kind, change.verdict, change.parameter), [])
        if not way or (change.review_ids and change.number == way[0].number == 1 and len(way) < _MAX_SINGLE_REVIEWS):
            way.append(change)
    first = {way[0].verdict: way for way in reversed(ways.values())}
    more = [way for way in ways.values() if first[way[0].verdict] is not way]
    listed = [*first.values(), *more[: max(0, MAX_LISTED_WAYS - len(first))]]
    return [change for way in ways.values() if way in listed for change in way]


def _as_number(values: _Values | None, name: str) -> float:
    """Return the value of a step as a float; 0 if it is no number, or there are no values."""
    value = (values or {}).get(name)
    return float(value) if isinstance(value, int | float) else 0.0
