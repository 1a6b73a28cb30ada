"""What would change a verdict: the fewest reviews more or less, and the nearest value of a parameter.

In: an evaluator with one restaurant's rows and context. Out: changes, the smallest first. Each was found by trying, and
evaluated: the generated module gives the other verdict. Each review is left out by itself; of the combinations not all are
tried, so that a smaller one may exist.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, product
from typing import Any, Literal

from formulaseed.diagnostics.model import number_of
from formulaseed.errors import DataError, EvaluationError
from formulaseed.explanation import model as data
from formulaseed.explanation.candidates import Additions, Row, name_of
from formulaseed.explanation.model import MAX_ADDED_REVIEWS, MAX_LEFT_OUT_REVIEWS
from formulaseed.explanation.verdict import verdicts_of
from formulaseed.explanation.verdict_dependencies import Leading
from formulaseed.language.types import Base, Value
from formulaseed.pages.values import format_value
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.typed_rows import ParsedRows

_SHOWN = 4
_ALL_TRIED = 8
_CANDIDATES = 60
"""So many kinds of reviews are tried, fewer where a restaurant has many reviews."""
_READ = 300_000
"""Reviews that are evaluated for each review more or less, all candidates together."""
_IDS = 8
"""So many reviews are named."""
_Values = Mapping[str, Any]
"""Every step's value, by name."""


@dataclass
class Search:
    """Tries changes of one restaurant's input, with what is `leading` to the verdict that is to change."""

    leading: Leading
    evaluator: Evaluator
    rows: Sequence[Row]
    context: Mapping[str, Any]
    parameters: Mapping[str, Any] | None = None
    _parsed: ParsedRows = field(default_factory=ParsedRows)
    _values: _Values = field(default_factory=dict)

    def changes(self) -> list[data.Change]:
        """Return what leads to another verdict, the fewest reviews first; nothing if the restaurant has none."""
        try:
            self._parsed = self.evaluator.parsed_rows(self.rows)
        except DataError:
            return []
        before = self._trace(self._parsed)
        if before is None:
            return []
        self._values = before
        found = [*self._fewer(), *self._more(), *self._parameters()]
        kept: dict[tuple[str, object], data.Change] = {}
        for change in sorted(found, key=self._size):
            kept.setdefault((change.kind, change.text if _is_single(change) else change.verdict), change)
        first = {change.verdict: change for change in reversed(kept.values())}
        more = [change for change in kept.values() if first[change.verdict] is not change]
        alone = [change for change in more if change.kind == "fewer reviews" and _is_single(change)][:_IDS]
        others = [change for change in more if all(change is not each for each in alone)]
        listed = [*first.values(), *alone, *others[: max(0, _SHOWN - len(first))]]
        return [change for change in kept.values() if any(change is each for each in listed)]

    def _size(self, change: data.Change) -> tuple[bool, float, int]:
        """How large a change is: in reviews or as a value, then by how far apart the policy's order has the verdicts."""
        order = verdicts_of(self.leading.verdict)
        places = [order.index(each) for each in (change.verdict, self._verdict(self._values)) if each in order]
        return change.kind == "parameter", change.number, abs(places[0] - places[-1]) if places else 0

    # --- evaluation

    def _trace(self, rows: ParsedRows, parameters: Mapping[str, Any] | None = None) -> _Values | None:
        """Every step's value; None where a step has none."""
        try:
            return self.evaluator.trace(rows, self.context, self.parameters if parameters is None else parameters)
        except (EvaluationError, DataError):
            return None

    def _turns(self, rows: ParsedRows, parameters: Mapping[str, Any] | None = None) -> _Values | None:
        """Every step's value if the verdict of these rows is another one."""
        found = self._trace(rows, parameters)
        return found if found is not None and self._verdict(found) != self._verdict(self._values) else None

    def _verdict(self, values: _Values) -> Value:
        found: Value = values[self.leading.verdict.name]
        return found

    def _worth(self, fewest: Mapping[Value, int], most: int) -> int:
        """So many reviews are worth trying: fewer than lead to each other verdict already."""
        others = [verdict for verdict in verdicts_of(self.leading.verdict) if verdict != self._verdict(self._values)]
        known = [fewest.get(verdict, most + 1) for verdict in others] or [min(fewest.values(), default=most + 1)]
        return max(known) - 1

    def _turning(self, row: tuple[Any, ...], fewest: Mapping[Value, int]) -> Iterator[tuple[int, _Values]]:
        """Yield the numbers of such rows more, as far as they are worth trying, at which the verdict is found to turn, with
        the values then. Small numbers are all tried."""
        last: tuple[int, _Values | None] = 0, self._values
        number = 1
        while number <= self._worth(fewest, MAX_ADDED_REVIEWS):
            found = number, self._trace(self._with(row, number))
            yield from self._between(row, last, found)
            last, number = found, number + 1 if number < _ALL_TRIED else number * 2

    def _between(
        self, row: tuple[Any, ...], low: tuple[int, _Values | None], high: tuple[int, _Values | None]
    ) -> Iterator[tuple[int, _Values]]:
        """Yield where the verdict turns from one number of rows more up to another, as far as halving finds it."""
        if high[1] is None or (low[1] is not None and self._verdict(low[1]) == self._verdict(high[1])):
            return
        if high[0] - low[0] == 1:
            yield high[0], high[1]
            return
        number = (low[0] + high[0]) // 2
        middle = number, self._trace(self._with(row, number))
        yield from self._between(row, low, middle)
        yield from self._between(row, middle, high)

    def _change(
        self, kind: data.ChangeKind, text: str, number: float, rows: ParsedRows, after: _Values, **what: Any
    ) -> data.Change:
        given = {**(self.parameters or {}), what["parameter"]: number} if "parameter" in what else self.parameters
        effects = {
            name: data.Effect(
                before=self._values[name], after=after[name], default=self._default(name, rows, after, given)
            )
            for name in self.leading.telling
            if name in after and after[name] != self._values[name]
        }
        return data.Change(kind=kind, text=text, number=number, verdict=self._verdict(after), effects=effects, **what)

    def _default(
        self, name: str, rows: ParsedRows, after: _Values, parameters: Mapping[str, Any] | None
    ) -> Literal["before", "after"] | None:
        """Which value of a step is its default as no review counts; it is evaluated only if it may be."""
        aggregate = self.leading.aggregates.get(name)
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
    def _candidates(self) -> int:
        return max(3, min(_CANDIDATES, _READ // max(1, len(self.rows))))

    @cached_property
    def _kinds(self) -> dict[tuple[Any, ...], list[int]]:
        """The reviews that count alike, by what they are read as; those first that most steps count."""
        times = Counter(place for name in self.leading.aggregates for place in self._counted.get(name, ()))
        found: dict[tuple[Any, ...], list[int]] = {}
        for place in sorted(range(len(self.rows)), key=lambda place: -times[place]):
            found.setdefault(self._parsed[place], []).append(place)
        return found

    # --- fewer reviews

    @cached_property
    def _alone(self) -> dict[int, _Values | None]:
        """Every step's value without one review, for the first of each kind, by its place."""
        places = islice((places[0] for places in self._kinds.values()), self._candidates)
        return {place: self._trace(self._without([place])) for place in places}

    def _fewer(self) -> Iterator[data.Change]:
        """Leave out one review after the other: each time the one whose absence moves a deciding number most, one way."""
        fewest: dict[Value, int] = {}
        for place, alone in self._alone.items():
            if alone is not None and self._verdict(alone) != self._verdict(self._values):
                fewest[self._verdict(alone)] = 1
                alike = [name_of(self.rows[at], at) for at in self._kinds[self._parsed[place]]]
                more = f" and {len(alike) - _IDS} more" if len(alike) > _IDS else ""
                one = "if review" if len(alike) == 1 else "if one of the reviews"
                text = f"{one} {', '.join(alike[:_IDS])}{more} did not count"
                yield self._change("fewer reviews", text, 1, self._without([place]), alone, review_ids=alike[:1])
        for driver, direction in product(self.leading.drivers or [""], (1, -1)):
            out: list[int] = []
            before: _Values = self._values
            while len(out) < self._worth(fewest, MAX_LEFT_OUT_REVIEWS):
                found = self._next(out, before, driver, direction)
                if found is None:
                    break
                place, before = found
                out.append(place)
                verdict = self._verdict(before)
                if verdict == self._verdict(self._values) or len(out) >= fewest.get(verdict, MAX_LEFT_OUT_REVIEWS + 1):
                    continue
                needed, after = self._needed(out, before)
                fewest[verdict] = len(needed)
                ids = [name_of(self.rows[at], at) for at in needed]
                more = f" and {len(ids) - _IDS} more" if len(ids) > _IDS else ""
                text = f"if review{'s' if len(ids) > 1 else ''} {', '.join(ids[:_IDS])}{more} did not count"
                yield self._change("fewer reviews", text, len(ids), self._without(needed), after, review_ids=ids)

    def _needed(self, out: Sequence[int], after: _Values) -> tuple[list[int], _Values]:
        """Of the reviews that are left out those without which the verdict would not be the same, with the values then."""
        needed = [*out]
        for place in out:
            rest = [each for each in needed if each != place]
            found = self._trace(self._without(rest)) if rest else None
            if found is not None and self._verdict(found) == self._verdict(after):
                needed, after = rest, found
        return needed, after

    def _next(self, out: Sequence[int], before: _Values, driver: str, direction: int) -> tuple[int, _Values] | None:
        """The review to leave out next, with the values then; None if none moves the number that way."""
        left = (next((place for place in places if place not in out), None) for places in self._kinds.values())
        best: tuple[float, int, _Values] | None = None
        for place in islice((place for place in left if place is not None), self._candidates):
            after = self._trace(self._without([*out, place])) if out else self._alone[place]
            moved = (_number(after, driver) - _number(before, driver)) * direction
            if after is not None and moved >= 0 and (best is None or moved > best[0]):
                best = moved, place, after
        return best[1:] if best is not None else None

    def _without(self, places: Sequence[int]) -> ParsedRows:
        rows = ParsedRows(self._parsed)
        for place in sorted(places, reverse=True):
            del rows[place]
        return rows

    # --- more reviews

    def _more(self) -> Iterator[data.Change]:
        """Add reviews of one kind: such as each step over reviews asks for, and such as there are already."""
        additions = Additions(self.leading, self.rows, self._counted)
        seen: set[tuple[Any, ...]] = set()
        fewest: dict[Value, int] = {}
        for addition in additions.rows([places[0] for places in self._kinds.values()]):
            try:
                [parsed] = self.evaluator.parsed_rows([addition.row])
            except DataError:  # the seed does not allow what a condition asks for
                continue
            if parsed in seen:
                continue
            seen.add(parsed)
            for number, after in self._turning(parsed, fewest):
                verdict = self._verdict(after)
                if verdict != self._verdict(self._values) and number < fewest.get(verdict, MAX_ADDED_REVIEWS + 1):
                    fewest[verdict] = number
                    text = f"with {number_of(number, 'more review')} {additions.text(addition)}"
                    rows = self._with(parsed, number)
                    yield self._change("more reviews", text, number, rows, after, row=dict(addition.row))
            if len(seen) == self._candidates:
                return

    def _with(self, row: tuple[Any, ...], number: int) -> ParsedRows:
        return ParsedRows([*self._parsed, *[row] * number])

    # --- parameters

    def _parameters(self) -> Iterator[data.Change]:
        """Move each numeric parameter away from its value, to either side, up to its bounds."""
        for parameter in self.leading.program.parameters:
            if not parameter.ty.is_numeric or not isinstance(parameter.default, int | float):
                continue
            start = (self.parameters or {}).get(parameter.name, parameter.default)
            is_whole = parameter.ty.base is Base.INTEGER
            for direction, bound in ((1, parameter.maximum), (-1, parameter.minimum)):
                found = self._crossing(parameter.name, start, direction, bound, is_whole)
                if found is not None:
                    value, after = found
                    text = f"with {parameter.name} {format_value(value)} for {format_value(start)}"
                    yield self._change("parameter", text, value, self._parsed, after, parameter=parameter.name)

    def _crossing(
        self, name: str, start: float, direction: int, bound: float | None, is_whole: bool
    ) -> tuple[float, _Values] | None:
        """The nearest value found on one side that changes the verdict, with every step's value there."""

        def at(distance: float) -> float:
            value = start + direction * distance
            if bound is not None and (value - bound) * direction > 0:
                value = bound
            return round(value) if is_whole else value

        def turned(value: float) -> _Values | None:
            return self._turns(self._parsed, {**(self.parameters or {}), name: value})

        low, high = 0.0, 1.0 if is_whole else max(abs(start), 1.0) / 64
        for _ in range(24):
            if turned(at(high)) is not None:
                break
            if bound is not None and at(high) == bound:
                return None
            low, high = high, high * 2
        else:
            return None
        while (high - low > 1) if is_whole else (high - low > max(abs(start), 1.0) * 1e-6):
            middle = (low + high) / 2 if not is_whole else (low + high) // 2
            low, high = (low, middle) if turned(at(middle)) is not None else (middle, high)
        for digits in range(0 if is_whole else 1, 7):  # the shortest decimal that still does it
            scale = 10.0**digits
            rounded = (math.ceil if direction > 0 else math.floor)(at(high) * scale) / scale
            rounded = int(rounded) if is_whole else rounded
            if (bound is None or (rounded - bound) * direction <= 0) and abs(rounded - at(high)) < abs(
                high
            ) / 10 + is_whole:
                after = turned(rounded)
                if after is not None:
                    return rounded, after
        after = turned(at(high))
        return (at(high), after) if after is not None else None


def _number(values: _Values | None, name: str) -> float:
    """The value of a step, 0 where it is no number."""
    found = values.get(name) if values is not None else None
    return float(found) if isinstance(found, int | float) else 0.0


def _is_single(change: data.Change) -> bool:
    """Whether it is one of several changes of its kind that are listed apart: one review less, a parameter."""
    return change.kind == "parameter" or (change.kind == "fewer reviews" and change.number == 1)
