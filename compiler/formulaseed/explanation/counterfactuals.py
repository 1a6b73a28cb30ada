"""Searches what would change a verdict: the fewest reviews more or fewer, and the nearest value of a parameter.

In: an evaluator with one restaurant's rows and context. Out: changes, the smallest first. Each change was tried: the generated
module gives the other verdict. Each review is left out by itself; not all combinations are tried, so a smaller change may
exist.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, product
from typing import Any, Literal

from formulaseed.errors import DataError, EvaluationError
from formulaseed.explanation.candidates import CandidateReviews, Row, name_of
from formulaseed.explanation.model import (
    MAX_ADDED_REVIEWS,
    MAX_LEFT_OUT_REVIEWS,
    Change,
    ChangeKind,
    Effect,
)
from formulaseed.explanation.parameter_search import ParameterSearch
from formulaseed.explanation.verdict import verdicts_of
from formulaseed.explanation.verdict_dependencies import VerdictDependencies
from formulaseed.language.types import Value
from formulaseed.pages.values import format_value
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.typed_rows import ParsedRows
from formulaseed.source.printing import number_of

_MAX_OTHER_CHANGES = 4
"""At most so many changes are listed in all, unless more are needed to have one for each verdict."""
_MAX_SINGLE_REVIEWS = 8
"""At most so many reviews are listed, or named, whose absence alone changes the verdict."""
_ALL_TRIED_UP_TO = 8
"""All numbers of added reviews up to this one are tried, then its doubles."""
_MAX_CANDIDATES = 60
_MIN_CANDIDATES = 3
_MAX_EVALUATED_REVIEWS = 300_000
"""At most so many reviews are evaluated for each review more or fewer, all candidates together."""

_Values = Mapping[str, Any]
"""Every step's value, by name."""


@dataclass
class Search:
    """Tries changes of one restaurant's input. `dependencies` are those of the verdict that is to change."""

    dependencies: VerdictDependencies
    evaluator: Evaluator
    rows: Sequence[Row]
    context: Mapping[str, Any]
    parameters: Mapping[str, Any] | None = None
    _parsed: ParsedRows = field(default_factory=ParsedRows)
    _values: _Values = field(default_factory=dict)

    def changes(self) -> list[Change]:
        """Return changes that lead to another verdict, the smallest first; none if the restaurant has no verdict."""
        try:
            self._parsed = self.evaluator.parse_rows(self.rows)
        except DataError:
            return []
        values = self._trace(self._parsed)
        if values is None:
            return []
        self._values = values
        changes = sorted([*self._fewer(), *self._more(), *self._parameters()], key=self._size)
        return _select_changes(changes)

    def _size(self, change: Change) -> tuple[bool, float, int]:
        """Return how large a change is: in reviews or as a value, then by how far apart the policy's order has the verdicts."""
        order = verdicts_of(self.dependencies.verdict)
        places = [order.index(verdict) for verdict in (change.verdict, self._verdict) if verdict in order]
        return change.kind == "parameter", change.number, abs(places[0] - places[-1]) if places else 0

    # --- evaluation

    def _trace(self, rows: ParsedRows, parameters: Mapping[str, Any] | None = None) -> _Values | None:
        """Return every step's value with these rows; None if a step has none. `parameters` are by default the given ones."""
        try:
            return self.evaluator.trace(rows, self.context, self.parameters if parameters is None else parameters)
        except (EvaluationError, DataError):
            return None

    def _verdict_in(self, values: _Values) -> Value:
        verdict: Value = values[self.dependencies.verdict.name]
        return verdict

    @cached_property
    def _verdict(self) -> Value:
        """The restaurant's verdict as it is."""
        return self._verdict_in(self._values)

    def _is_other(self, values: _Values | None) -> bool:
        """Whether there is a verdict, and it is not the restaurant's."""
        return values is not None and self._verdict_in(values) != self._verdict

    def _max_worth_trying(self, fewest: Mapping[Value, int], limit: int) -> int:
        """Return how many reviews are worth trying: fewer than lead to each other verdict already, `fewest`."""
        others = [verdict for verdict in verdicts_of(self.dependencies.verdict) if verdict != self._verdict]
        known = [fewest.get(verdict, limit + 1) for verdict in others]
        return max(known or [min(fewest.values(), default=limit + 1)]) - 1

    def _change(
        self, kind: ChangeKind, text: str, number: float, rows: ParsedRows, after: _Values, **details: Any
    ) -> Change:
        """Return a change to `rows`, or of a parameter, which gives the values `after`."""
        parameters = self.parameters
        if "parameter" in details:
            parameters = {**(parameters or {}), details["parameter"]: number}
        effects = {
            name: Effect(
                before=self._values[name], after=after[name], default=self._default(name, rows, after, parameters)
            )
            for name in self.dependencies.decisive_steps
            if name in after and after[name] != self._values[name]
        }
        return Change(kind=kind, text=text, number=number, verdict=self._verdict_in(after), effects=effects, **details)

    def _default(
        self, name: str, rows: ParsedRows, after: _Values, parameters: Mapping[str, Any] | None
    ) -> Literal["before", "after"] | None:
        """Return which value of a step is its default, as no review counts; None if neither is."""
        aggregate = self.dependencies.aggregates.get(name)
        if aggregate is None or aggregate.entry.over_none is not None:
            return None
        default = aggregate.default.value if aggregate.default is not None else None
        if self._values[name] == default and not self._counted.get(name):
            return "before"
        if after[name] == default and not self.evaluator.positions(rows, self.context, parameters).get(name):
            return "after"
        return None

    @cached_property
    def _counted(self) -> dict[str, list[int]]:
        """The positions of the reviews that each step over reviews counts."""
        return self.evaluator.positions(self._parsed, self.context, self.parameters)

    @cached_property
    def _max_candidates(self) -> int:
        affordable = _MAX_EVALUATED_REVIEWS // max(1, len(self.rows))
        return max(_MIN_CANDIDATES, min(_MAX_CANDIDATES, affordable))

    @cached_property
    def _kinds(self) -> dict[tuple[Any, ...], list[int]]:
        """The positions of the reviews that are read alike; those first that most steps count."""
        times_counted = Counter(place for name in self.dependencies.aggregates for place in self._counted.get(name, ()))
        kinds: dict[tuple[Any, ...], list[int]] = {}
        for place in sorted(range(len(self.rows)), key=lambda place: -times_counted[place]):
            kinds.setdefault(self._parsed[place], []).append(place)
        return kinds

    def _names(self, places: Sequence[int]) -> str:
        """Return the ids of the reviews at some positions; those over `_MAX_SINGLE_REVIEWS` are counted."""
        names = ", ".join(name_of(self.rows[place], place) for place in places[:_MAX_SINGLE_REVIEWS])
        more = len(places) - _MAX_SINGLE_REVIEWS
        return f"{names} and {more} more" if more > 0 else names

    # --- fewer reviews

    def _fewer(self) -> Iterator[Change]:
        """Yield the reviews whose absence changes the verdict: each by itself, then several together."""
        fewest: dict[Value, int] = {}
        for place, values in self._values_without_one.items():
            if values is None or not self._is_other(values):
                continue
            fewest[self._verdict_in(values)] = 1
            alike = self._kinds[self._parsed[place]]
            one = "if review" if len(alike) == 1 else "if one of the reviews"
            text = f"{one} {self._names(alike)} did not count"
            ids = [name_of(self.rows[alike[0]], alike[0])]
            yield self._change("fewer reviews", text, 1, self._without([place]), values, review_ids=ids)
        for driver, direction in product(self.dependencies.drivers or [""], (1, -1)):
            yield from self._fewer_towards(driver, direction, fewest)

    def _fewer_towards(self, driver: str, direction: int, fewest: dict[Value, int]) -> Iterator[Change]:
        """Leave out one review after the other, each time the one that moves the number `driver` most in a direction.

        Updates `fewest`, the fewest reviews that lead to each verdict.
        """
        left_out: list[int] = []
        values: _Values = self._values
        while len(left_out) < self._max_worth_trying(fewest, MAX_LEFT_OUT_REVIEWS):
            best = self._next_left_out(left_out, values, driver, direction)
            if best is None:
                return
            place, values = best
            left_out.append(place)
            verdict = self._verdict_in(values)
            if not self._is_other(values) or len(left_out) >= fewest.get(verdict, MAX_LEFT_OUT_REVIEWS + 1):
                continue
            needed, after = self._needed(left_out, values)
            fewest[verdict] = len(needed)
            text = f"if review{'s' if len(needed) > 1 else ''} {self._names(needed)} did not count"
            ids = [name_of(self.rows[place], place) for place in needed]
            yield self._change("fewer reviews", text, len(needed), self._without(needed), after, review_ids=ids)

    @cached_property
    def _values_without_one(self) -> dict[int, _Values | None]:
        """Every step's value without one review, for the first of each kind, by its position."""
        places = islice((places[0] for places in self._kinds.values()), self._max_candidates)
        return {place: self._trace(self._without([place])) for place in places}

    def _next_left_out(
        self, left_out: Sequence[int], values: _Values, driver: str, direction: int
    ) -> tuple[int, _Values] | None:
        """Return the review to leave out next, with the values then; None if none moves the number in that direction."""
        first_left = (
            next((place for place in places if place not in left_out), None) for places in self._kinds.values()
        )
        candidates = (place for place in first_left if place is not None)
        best: tuple[float, int, _Values] | None = None
        for place in islice(candidates, self._max_candidates):
            after = self._trace(self._without([*left_out, place])) if left_out else self._values_without_one[place]
            moved = (_number(after, driver) - _number(values, driver)) * direction
            if after is not None and moved >= 0 and (best is None or moved > best[0]):
                best = moved, place, after
        return best[1:] if best is not None else None

    def _needed(self, left_out: Sequence[int], after: _Values) -> tuple[list[int], _Values]:
        """Return the reviews of `left_out` that the verdict `after` needs left out, with the values then."""
        needed = [*left_out]
        for place in left_out:
            rest = [other for other in needed if other != place]
            values = self._trace(self._without(rest)) if rest else None
            if values is not None and self._verdict_in(values) == self._verdict_in(after):
                needed, after = rest, values
        return needed, after

    def _without(self, places: Sequence[int]) -> ParsedRows:
        rows = ParsedRows(self._parsed)
        for place in sorted(places, reverse=True):
            del rows[place]
        return rows

    # --- more reviews

    def _more(self) -> Iterator[Change]:
        """Yield the smallest numbers of candidate reviews of one kind that change the verdict."""
        reviews = CandidateReviews(self.dependencies, self.rows, self._counted)
        tried: set[tuple[Any, ...]] = set()
        fewest: dict[Value, int] = {}
        for candidate in reviews.candidates([places[0] for places in self._kinds.values()]):
            try:
                [parsed] = self.evaluator.parse_rows([candidate.row])
            except DataError:  # the seed does not allow what a condition requires
                continue
            if parsed in tried:
                continue
            tried.add(parsed)
            for number, after in self._turning_numbers(parsed, fewest):
                verdict = self._verdict_in(after)
                if self._is_other(after) and number < fewest.get(verdict, MAX_ADDED_REVIEWS + 1):
                    fewest[verdict] = number
                    text = f"with {number_of(number, 'more review')} {reviews.describe(candidate)}"
                    rows = self._with(parsed, number)
                    yield self._change("more reviews", text, number, rows, after, row=dict(candidate.row))
            if len(tried) == self._max_candidates:
                return

    def _with(self, row: tuple[Any, ...], number: int) -> ParsedRows:
        return ParsedRows([*self._parsed, *[row] * number])

    def _turning_numbers(self, row: tuple[Any, ...], fewest: Mapping[Value, int]) -> Iterator[tuple[int, _Values]]:
        """Yield the numbers of added rows at which the verdict is found to turn, with the values then.

        Only numbers that are worth trying, below those in `fewest`.
        """
        last: tuple[int, _Values | None] = 0, self._values
        number = 1
        while number <= self._max_worth_trying(fewest, MAX_ADDED_REVIEWS):
            tried = number, self._trace(self._with(row, number))
            yield from self._turns_between(row, last, tried)
            last, number = tried, number + 1 if number < _ALL_TRIED_UP_TO else number * 2

    def _turns_between(
        self, row: tuple[Any, ...], low: tuple[int, _Values | None], high: tuple[int, _Values | None]
    ) -> Iterator[tuple[int, _Values]]:
        """Yield where the verdict turns from one number of added rows to another, as far as halving finds it."""
        if high[1] is None or (low[1] is not None and self._verdict_in(low[1]) == self._verdict_in(high[1])):
            return
        if high[0] - low[0] == 1:
            yield high[0], high[1]
            return
        number = (low[0] + high[0]) // 2
        middle = number, self._trace(self._with(row, number))
        yield from self._turns_between(row, low, middle)
        yield from self._turns_between(row, middle, high)

    # --- parameters

    def _parameters(self) -> Iterator[Change]:
        """Yield the nearest value of each numeric parameter, on either side, that changes the verdict."""
        for parameter in self.dependencies.program.parameters:
            if not parameter.ty.is_numeric or not isinstance(parameter.default, int | float):
                continue
            start = (self.parameters or {}).get(parameter.name, parameter.default)
            for direction in (1, -1):

                def is_turned(value: float, name: str = parameter.name) -> bool:
                    return self._is_other(self._trace(self._parsed, {**(self.parameters or {}), name: value}))

                value = ParameterSearch(parameter, start, direction, is_turned).nearest()
                if value is None:
                    continue
                after = self._trace(self._parsed, {**(self.parameters or {}), parameter.name: value})
                assert after is not None  # it has another verdict
                text = f"with {parameter.name} {format_value(value)} for {format_value(start)}"
                yield self._change("parameter", text, value, self._parsed, after, parameter=parameter.name)


def _select_changes(changes: Sequence[Change]) -> list[Change]:
    """Return the changes to list, in their order: the smallest of each kind, of those the first for each verdict, the reviews
    that change it alone, and some others."""
    smallest: dict[tuple[str, object], Change] = {}
    for change in changes:
        smallest.setdefault((change.kind, change.text if _is_single(change) else change.verdict), change)
    first = {change.verdict: change for change in reversed(smallest.values())}
    more = [change for change in smallest.values() if first[change.verdict] is not change]
    single = [change for change in more if change.kind == "fewer reviews" and _is_single(change)]
    listed = {id(change) for change in (*first.values(), *single[:_MAX_SINGLE_REVIEWS])}
    rest = [change for change in more if id(change) not in listed]
    listed.update(id(change) for change in rest[: max(0, _MAX_OTHER_CHANGES - len(first))])
    return [change for change in smallest.values() if id(change) in listed]


def _is_single(change: Change) -> bool:
    """Whether a change is one of several of its kind that are listed by themselves: one review fewer, a parameter."""
    return change.kind == "parameter" or (change.kind == "fewer reviews" and change.number == 1)


def _number(values: _Values | None, name: str) -> float:
    """Return the value of a step; 0 if it is no number."""
    value = values.get(name) if values is not None else None
    return float(value) if isinstance(value, int | float) else 0.0
