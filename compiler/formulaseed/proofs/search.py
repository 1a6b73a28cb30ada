"""Look for restaurants that reach a goal, by sampling and by climbing, and shrink each that a proof shows.

A candidate has values that the seed mentions, and those next to them. Everything is drawn from a generator with a fixed seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from formulaseed.language.types import Value
from formulaseed.proofs.cells import CellBuilder
from formulaseed.proofs.claims import Witness
from formulaseed.proofs.runner import Candidate, Outcome, Row, Runner
from formulaseed.proofs.world import FieldDomain

SAMPLES = 1_500
_CLIMBS = 6
_CLIMB_STEPS = 200
_MAX_ROWS = 8
_FAR_ROWS = 200
_MAX_SIMPLIFIED = 12
"""Reviews of a witness up to which each is simplified."""
_REPEATS = (1, 1, 2, 3, 10)
Outcomes = tuple[Outcome, ...]
"""The outcome of a candidate by each seed."""
Test = Callable[[Candidate], bool]
Score = Callable[[Candidate], float | None]
"""Return how good a candidate is, 0 if it reaches a goal, else less; None if it does not count."""


class Trials:
    """Restaurants tried on one or two seeds, always the same ones. `candidates` are random ones, which all seeds accept."""

    def __init__(self, builder: CellBuilder, runners: Sequence[Runner]) -> None:
        domain = builder.pool.domain
        self.runners = runners
        self._random = random.Random(0)
        self._fields = list(domain.rows())
        self._shared_fields = list(domain.shared())
        self._rows = [sorted(builder.list_samples(known), key=_rate_simplicity) for known in domain.rows()]
        self._shared = [sorted(builder.list_samples(known), key=_rate_simplicity) for known in domain.shared()]
        self._outcomes: dict[int, Outcomes] = {}
        self.candidates: list[Candidate] = []
        for candidate in self._sample():
            outcomes = self.run(candidate)
            if outcomes is not None:
                self._outcomes[id(candidate)] = outcomes
                self.candidates.append(candidate)

    def _sample(self) -> Iterator[Candidate]:
        """Yield the candidates of a first look: restaurants without reviews or with one, then random ones."""
        for _ in range(20):
            drawn = self._draw()
            yield drawn._replace(rows=())
            yield drawn._replace(rows=(self.draw_row(),))
        for _ in range(SAMPLES):
            yield self._draw()

    def run(self, candidate: Candidate) -> Outcomes | None:
        """Evaluate a candidate with each seed; None if one does not accept its data."""
        if id(candidate) in self._outcomes:
            return self._outcomes[id(candidate)]
        outcomes = [runner.run(candidate) for runner in self.runners]
        return None if None in outcomes else tuple(outcome for outcome in outcomes if outcome is not None)

    # --- random candidates

    def draw_row(self) -> Row:
        """Return a random review."""
        return tuple(self._random.choice(values) for values in self._rows)

    def _draw(self) -> Candidate:
        """Return a random restaurant, some of whose reviews are alike."""
        rows: list[Row] = []
        for _ in range(self._random.randrange(_MAX_ROWS)):
            rows += [self.draw_row()] * self._random.choice(_REPEATS)
        return Candidate(tuple(rows), tuple(self._random.choice(values) for values in self._shared))

    def _mutate(self, candidate: Candidate) -> Candidate:
        """Return a copy with one change: a review added, removed, repeated or changed, or a field of the restaurant changed."""
        rows = list(candidate.rows)
        choice = self._random.randrange(6 if self._shared else 5)
        if choice == 5:
            place = self._random.randrange(len(self._shared))
            value = self._change_value(self._shared_fields[place], candidate.shared[place], self._shared[place])
            return candidate._replace(shared=_put(candidate.shared, place, value))
        if not rows or choice == 0:
            rows += [self.draw_row()] * self._random.choice(_REPEATS)
        elif choice == 1:
            del rows[self._random.randrange(len(rows))]
        elif choice == 2 and len(rows) < _FAR_ROWS:
            rows += [self._random.choice(rows)] * self._random.choice((1, 2, 5, len(rows)))
        elif self._rows:
            old = self._random.choice(rows)
            place = self._random.randrange(len(self._rows))
            changed = _put(old, place, self._change_value(self._fields[place], old[place], self._rows[place]))
            rows = [changed if row == old else row for row in rows]
        return candidate._replace(rows=tuple(rows))

    def _change_value(self, known: FieldDomain, value: Value, values: Sequence[Value]) -> Value:
        """Return another value of a field, of a number often one next to it."""
        if self._random.randrange(2) and isinstance(value, int | float) and not isinstance(value, bool):
            moved = value + self._random.choice((-1, 1, 2, -2) if known.per_unit == 1 else (-1, 1, 0.5, -0.25))
            if known.low <= moved <= known.high:
                return moved
        if isinstance(value, str) and not known.values and known.symbol.name != "date":
            return f"{value}, {self._random.choice(values)}"
        return self._random.choice(values)

    # --- goals

    def find(self, holds: Test) -> Candidate | None:
        """Return the first of the random candidates for which `holds` is true; None if there is none."""
        return next((candidate for candidate in self.candidates if holds(candidate)), None)

    def climb_to(self, score: Score) -> Candidate | None:
        """Return a candidate that reaches a goal; None if no path leads there."""
        best = self.climb(self.candidates, score, lambda value: value == 0)
        return best[1] if best is not None and best[0] == 0 else None

    def climb(
        self, starts: Sequence[Candidate], score: Score, is_enough: Callable[[float], bool], steps: int = _CLIMB_STEPS
    ) -> tuple[float, Candidate] | None:
        """Return the highest score on a path of random changes from each of the best starts, and its candidate.

        `score` returns None for candidates that do not count; the result is None if none does. A path ends when a score
        `is_enough`.
        """
        best: tuple[float, Candidate] | None = None
        scored = [(value, place) for place, start in enumerate(starts) if (value := score(start)) is not None]
        for current, place in sorted(scored, reverse=True)[:_CLIMBS]:
            start = starts[place]
            for _ in range(steps):
                if best is None or current > best[0]:
                    best = (current, start)
                if is_enough(current):
                    return current, start
                changed = self._mutate(start)
                value = score(changed)
                if value is not None and value >= current:
                    current, start = value, changed
        return best

    def confirm(self, candidate: Candidate | None, name: str) -> tuple[Witness, ...]:
        """Return the witness of a candidate, called `name`, by each seed.

        Empty without a candidate, or unless both evaluators agree on all.
        """
        if candidate is None:
            return ()
        witnesses = [witness for runner in self.runners if (witness := runner.confirm(candidate, name)) is not None]
        return tuple(witnesses) if len(witnesses) == len(self.runners) else ()

    def shrink(self, start: Candidate | None, holds: Test) -> Candidate | None:
        """Return a candidate for which `holds` is still true, from which no single review can be removed.

        Fields that do not matter have the simplest value. None if `holds` is not true at the start, or there is no candidate.
        """
        if start is None or not holds(start):
            return None
        candidate = start
        size = max(1, len(candidate.rows) // 2)
        while size:
            place = 0
            while place < len(candidate.rows):
                fewer = candidate._replace(rows=candidate.rows[:place] + candidate.rows[place + size :])
                if holds(fewer):
                    candidate = fewer
                else:
                    place += size
            size //= 2

        def simplify(simpler: Candidate) -> Candidate:
            """Return a simpler candidate if `holds` is true for it, else the one that is known."""
            return simpler if holds(simpler) else candidate

        for place, values in enumerate(self._shared):
            candidate = simplify(candidate._replace(shared=_put(candidate.shared, place, values[0])))
        for number in range(len(candidate.rows) if len(candidate.rows) <= _MAX_SIMPLIFIED else 0):
            for place, values in enumerate(self._rows):
                row = _put(candidate.rows[number], place, values[0])
                candidate = simplify(candidate._replace(rows=_put(candidate.rows, number, row)))
        return simplify(candidate._replace(rows=tuple(sorted(candidate.rows, key=repr))))


def _put(values: tuple[Any, ...], place: int, value: Any) -> tuple[Any, ...]:
    """Return a copy of a tuple with another item at one place."""
    return (*values[:place], value, *values[place + 1 :])


def _rate_simplicity(value: Value) -> float:
    """Return the distance of a number from 0, and 0 for other values: smaller ones are simpler."""
    return abs(value) if isinstance(value, int | float) else 0
