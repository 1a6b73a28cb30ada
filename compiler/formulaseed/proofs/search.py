"""Look for restaurants that reach a goal, by sampling and by climbing, and confirm each with both evaluators.

A candidate has values that the seed mentions, and those next to them. Everything is drawn from a generator with a fixed seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from formulaseed.documents import FormulaSeed
from formulaseed.errors import DataError, EvaluationError
from formulaseed.ir.interpret import interpret
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.language.types import Value
from formulaseed.proofs.cells import CellBuilder
from formulaseed.proofs.world import Domain
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.loading import compile_evaluator
from formulaseed.runtime.typed_rows import ParsedRows

SAMPLES = 1_500
_CLIMBS = 6
_CLIMB_STEPS = 200
_MAX_ROWS = 8
_FAR_ROWS = 200
_MAX_SIMPLIFIED = 12
"""Reviews of a witness up to which each is simplified."""
_REPEATS = (1, 1, 2, 3, 10)
Row = tuple[tuple[Symbol, Value], ...]
"""The fields of a review, each with its value."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A restaurant: its reviews, the fields of the restaurant, and parameters that are not the defaults."""

    rows: tuple[Row, ...]
    shared: tuple[tuple[Symbol, Value], ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The value of every step for a candidate, or the step and kind of its failure; then `values` is empty."""

    values: Mapping[str, Value]
    failure: tuple[str, str] | None = None


@dataclass(frozen=True)
class Witness:
    """A restaurant that both evaluators agree on: JSON rows, context and parameters, and the outcome."""

    candidate: Candidate
    rows: list[dict[str, Any]]
    context: dict[str, Any]
    parameters: dict[str, Any]
    outcome: Outcome

    def to_json(self, business_id: str) -> dict[str, Any]:
        """Return the inputs as a line of rows, which `evaluate` takes, with the values of all steps, or the failure."""
        failure = self.outcome.failure
        return {
            "business_id": business_id,
            "context": self.context,
            "rows": self.rows,
            "parameters": self.parameters,
            "steps": dict(self.outcome.values),
            "error": None if failure is None else {"step": failure[0], "kind": failure[1]},
        }


@dataclass
class Runner:
    """One seed, ready to evaluate candidates."""

    seed: FormulaSeed
    domain: Domain
    parameters: Mapping[str, Value] = field(default_factory=dict)
    evaluator: Evaluator = field(init=False)
    _rows: dict[Row, Any] = field(default_factory=dict)
    _parsed: dict[int, tuple[Row, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Compile the seed."""
        self.evaluator = compile_evaluator(self.seed)

    def run(self, candidate: Candidate) -> Outcome | None:
        """Evaluate a candidate with the module; None if the module does not accept its data."""
        context, parameters = self._write_shared(candidate)
        try:
            rows = ParsedRows([self._parse(row) for row in candidate.rows])
            return Outcome(self.evaluator.trace(rows, context, parameters))
        except EvaluationError as error:
            return Outcome({}, (error.step, error.kind))
        except DataError:
            return None

    def _parse(self, row: Row) -> Any:
        """Return the module's tuple of a review. Raises `DataError`."""
        known = self._parsed.get(id(row))  # hashing a review is slow, and most are the same objects
        if known is None or known[0] is not row:
            if row not in self._rows:
                [self._rows[row]] = self.evaluator.parse_rows([self._write_row(row, "r1")])
            known = (row, self._rows[row])
            self._parsed[id(row)] = known
        return known[1]

    def _write_row(self, row: Row, review_id: str) -> dict[str, Any]:
        """Return a review as JSON, with the fields that the seed uses."""
        written: dict[str, Any] = {"review_id": review_id, "extraction": {}, "meta": {}}
        for symbol, value in row:
            if symbol in self.domain.fields:
                written[symbol.kind.value][symbol.name] = value
        return written

    def _write_shared(self, candidate: Candidate) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the context and the parameters of a candidate as JSON."""
        context: dict[str, Any] = {}
        parameters: dict[str, Any] = dict(self.parameters)
        for symbol, value in candidate.shared:
            if symbol in self.domain.fields:
                section = parameters if symbol.kind is SymbolKind.PARAMETER else context
                section[symbol.name] = value
        return context, parameters

    def write_inputs(self, candidate: Candidate) -> tuple[list[dict[str, Any]], dict[str, Any], dict[str, Any]]:
        """Return the rows, the context and the parameters of a candidate as JSON."""
        rows = [self._write_row(row, f"r{number}") for number, row in enumerate(candidate.rows, 1)]
        return rows, *self._write_shared(candidate)

    def confirm(self, candidate: Candidate) -> Witness | None:
        """Evaluate a candidate with the module and the reference evaluator; None unless both agree on every step."""
        rows, context, parameters = self.write_inputs(candidate)
        outcomes: list[Outcome] = []
        evaluations: tuple[Callable[[], Mapping[str, Value]], ...] = (
            lambda: self.evaluator.trace(rows, context, parameters),
            lambda: interpret(self.seed.program, rows, context, parameters),
        )
        for evaluate in evaluations:
            try:
                outcomes.append(Outcome(evaluate()))
            except EvaluationError as error:
                outcomes.append(Outcome({}, (error.step, error.kind)))
            except DataError:
                return None
        module, reference = outcomes
        if repr(dict(module.values)) != repr(dict(reference.values)) or module.failure != reference.failure:
            return None
        return Witness(candidate, rows, context, parameters, module)


class Sampler:
    """A source of random candidates, always the same for the same seed."""

    def __init__(self, domain: Domain, builder: CellBuilder) -> None:
        self._domain = domain
        self.random = random.Random(0)
        self._rows = [
            sorted(classes, key=_rate_simplicity)
            for classes in builder.list_row_values([field.symbol for field in domain.rows()])
        ]
        self._shared: list[tuple[Symbol, list[Value]]] = []
        for known in domain.shared():
            pairs = [((known.symbol, value),) for value in builder.list_shared_values(known)]
            self._shared.append((known.symbol, [pair[0][1] for pair in sorted(pairs, key=_rate_simplicity)]))

    def draw_row(self) -> Row:
        """Return a random review."""
        return tuple(pair for classes in self._rows for pair in self.random.choice(classes))

    def draw(self) -> Candidate:
        """Return a random restaurant, some of whose reviews are alike."""
        rows: list[Row] = []
        for _ in range(self.random.randrange(_MAX_ROWS)):
            rows += [self.draw_row()] * self.random.choice(_REPEATS)
        return Candidate(tuple(rows), tuple((symbol, self.random.choice(values)) for symbol, values in self._shared))

    def mutate(self, candidate: Candidate) -> Candidate:
        """Return a copy with one change: a review added, removed, repeated or changed, or a field of the restaurant changed."""
        rows = list(candidate.rows)
        choice = self.random.randrange(6 if self._shared else 5)
        if choice == 5:
            place = self.random.randrange(len(self._shared))
            symbol, values = self._shared[place]
            shared = list(candidate.shared)
            shared[place] = (symbol, self.random.choice(values))
            return replace(candidate, shared=tuple(shared))
        if not rows or choice == 0:
            rows += [self.draw_row()] * self.random.choice(_REPEATS)
        elif choice == 1:
            del rows[self.random.randrange(len(rows))]
        elif choice == 2 and len(rows) < _FAR_ROWS:
            rows += [self.random.choice(rows)] * self.random.choice((1, 2, 5, len(rows)))
        else:
            place = self.random.randrange(len(rows))
            classes = self.random.choice(self._rows) if self._rows else [()]
            changed = dict(self.random.choice(classes))
            if self.random.randrange(2):
                changed = self._shift(dict(rows[place]), changed)
            row = tuple((symbol, changed.get(symbol, value)) for symbol, value in rows[place])
            rows = [row if other == rows[place] or n == place else other for n, other in enumerate(rows)]
        return replace(candidate, rows=tuple(rows))

    def _shift(self, row: Mapping[Symbol, Value], changed: Mapping[Symbol, Value]) -> dict[Symbol, Value]:
        """Return the fields of a review that would be changed, with numbers next to their present values instead."""
        shifted: dict[Symbol, Value] = dict(changed)
        for symbol, value in row.items():
            known = self._domain.fields[symbol]
            if (
                symbol in changed
                and len(changed) == 1
                and isinstance(value, int | float)
                and not isinstance(value, bool)
            ):
                step = (
                    self.random.choice((-1, 1, 2, -2))
                    if known.per_unit == 1
                    else self.random.choice((-1, 1, 0.5, -0.25))
                )
                moved = value + step
                if known.low <= moved <= known.high:
                    shifted[symbol] = moved
        return shifted

    def simplify(self, candidate: Candidate) -> Iterator[Callable[[Candidate], Candidate]]:
        """Yield changes that give a field its simplest value, for each kind of review of a candidate, and for the restaurant."""
        for place, (symbol, values) in enumerate(self._shared):
            pair = (symbol, values[0])
            yield lambda c, place=place, pair=pair: replace(c, shared=(*c.shared[:place], pair, *c.shared[place + 1 :]))  # type: ignore[misc]
        for number in range(len(candidate.rows) if len(candidate.rows) <= _MAX_SIMPLIFIED else 0):
            for classes in self._rows:
                yield lambda c, number=number, simplest=dict(classes[0]): _change_row(c, number, simplest)  # type: ignore[misc]


def _rate_simplicity(values: Sequence[tuple[Symbol, Value]]) -> float:
    """Return the distance of a single number from 0, and 0 for other values: smaller ones are simpler."""
    value = values[0][1] if len(values) == 1 else None
    return abs(value) if isinstance(value, int | float) else 0


def _change_row(candidate: Candidate, number: int, values: Mapping[Symbol, Value]) -> Candidate:
    """Return a candidate with other values of some fields in one review."""
    rows = list(candidate.rows)
    rows[number] = tuple((symbol, values.get(symbol, value)) for symbol, value in rows[number])
    return replace(candidate, rows=tuple(rows))


def climb(
    sampler: Sampler,
    starts: Sequence[Candidate],
    score: Callable[[Candidate], float | None],
    is_enough: Callable[[float], bool],
    steps: int = _CLIMB_STEPS,
) -> Candidate | None:
    """Return the candidate with the highest score on a path of random changes from each of the best starts; None without a score.

    `score` returns None for candidates that do not count. A path ends when a score `is_enough`.
    """
    best: tuple[float, Candidate] | None = None
    scored = [(value, place) for place, start in enumerate(starts) if (value := score(start)) is not None]
    for current, place in sorted(scored, reverse=True)[:_CLIMBS]:
        start = starts[place]
        for _ in range(steps):
            if best is None or current > best[0]:
                best = (current, start)
            if is_enough(current):
                return start
            changed = sampler.mutate(start)
            value = score(changed)
            if value is not None and value >= current:
                current, start = value, changed
    return best[1] if best is not None else None


def shrink(sampler: Sampler, candidate: Candidate, holds: Callable[[Candidate], bool]) -> Candidate:
    """Return a candidate for which `holds` is still true, from which no single review can be removed.

    Fields that do not matter have the simplest value of the sampler.
    """
    size = max(1, len(candidate.rows) // 2)
    while True:
        place = 0
        while place < len(candidate.rows):
            fewer = replace(candidate, rows=candidate.rows[:place] + candidate.rows[place + size :])
            if holds(fewer):
                candidate = fewer
            else:
                place += size
        if size == 1:
            break
        size //= 2
    for simpler in sampler.simplify(candidate):
        changed = simpler(candidate)
        if changed != candidate and holds(changed):
            candidate = changed
    rows = tuple(sorted(candidate.rows, key=repr))
    in_order = replace(candidate, rows=rows)
    return in_order if holds(in_order) else candidate


def sample(sampler: Sampler, extra: Iterable[Candidate] = ()) -> list[Candidate]:
    """Return the candidates of a first look: restaurants without reviews or with one, then random ones."""
    candidates = list(extra)
    for _ in range(20):
        drawn = sampler.draw()
        candidates.append(replace(drawn, rows=()))
        candidates.append(replace(drawn, rows=(sampler.draw_row(),)))
    candidates += (sampler.draw() for _ in range(SAMPLES))
    return candidates
