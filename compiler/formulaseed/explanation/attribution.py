"""Attribute the number that a verdict compares to groups of reviews and to facts of the restaurant; the parts add up to it.

The method is the Shapley value: a part's change is its effect averaged over all orders in which the parts could be added. Each
effect comes from evaluations with and without the part. Products need no rule of their own, and the parts sum to the number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from math import comb
from typing import Any, Literal

from formulaseed.errors import DataError, EvaluationError
from formulaseed.explanation.candidates import Row, review_name
from formulaseed.explanation.model import Attribution, AttributionPart, Rule
from formulaseed.explanation.record import EvaluationRecord
from formulaseed.explanation.verdict_dependencies import VerdictDependencies, find_limited_step, find_limits
from formulaseed.ir import nodes
from formulaseed.ir.labels import label_of
from formulaseed.language import typed
from formulaseed.language.typed import SymbolKind
from formulaseed.language.types import Base, Value
from formulaseed.pages.values import format_plain, is_number
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.extracting import read_used_context
from formulaseed.runtime.typed_rows import ParsedRows
from formulaseed.source.printing import number_of

_MAX_PLAYERS = 8  # each more doubles the evaluations
_MIN_PLAYERS = 3
_MAX_EVALUATED_REVIEWS = 2_000_000  # all evaluations together
_MAX_COMPARED_REVIEWS = 20  # of a group, to find the one that matters most
_MIN_COMPARED_REVIEWS = 3  # with fewer, none is evaluated
_NEGLIGIBLE = 1e-9  # smaller changes come from rounding alone
_NO_EFFECTS: Mapping[str, Any] = dict.fromkeys(("without", "verdict_without", "alone"))
"""The effects of limits, which are no part that could be left out or be alone."""


@dataclass(frozen=True, slots=True)
class _Player:
    """A part that can be left out: reviews at some `places`, or context fields whose neutral values are in `neutral`.

    `steps` are those that count the reviews, those of the label first.
    """

    label: str
    places: frozenset[int] = frozenset()
    neutral: Mapping[str, Value] = field(default_factory=dict)
    steps: Sequence[str] = ()

    @property
    def source(self) -> Literal["reviews", "facts", "limit"]:
        """The source of the part: reviews, facts or, without both, the limits and the rounding of the number."""
        if self.places:
            return "reviews"
        return "facts" if self.neutral else "limit"


@dataclass
class AttributionFinder:
    """The attribution of one restaurant's number. `dependencies` are those of the verdict, `record` has what lookups found.

    `parsed` has the rows as the evaluator parsed them.
    """

    dependencies: VerdictDependencies
    evaluator: Evaluator
    record: EvaluationRecord
    rows: Sequence[Row]
    parsed: ParsedRows
    context: Mapping[str, Any]
    parameters: Mapping[str, Any] | None

    def find(self, decider: str, rules: Sequence[Rule]) -> Attribution | None:
        """Return the attribution of the number that decides between the `rules`, which end with those of the step `decider`.

        Returns None if the rule that holds compares something else, and if an evaluation without some part fails.
        """
        steps = self.dependencies.steps_by_name
        compared = find_compared_number(steps[decider], steps)
        if compared is None or not _is_decided_by(rules, compared.name):
            return None
        self._number = find_limited_step(compared, steps).name
        try:
            self._positions = self.evaluator.positions(self.parsed, self.context, self.parameters)
            values = self.evaluator.trace(self.parsed, self.context, self.parameters)
            # a nested value would come back where its field is set to null
            self._facts = read_used_context(self.evaluator, self.dependencies.program, self.context)
            players = self._merge_smallest([*self._group_reviews(), *self._find_facts()])
            traces = self._trace_subsets(players)
            numbers = [self._read_number(trace) for trace in traces]
        except (DataError, EvaluationError):
            return None
        score = values[compared.name]
        unlimited = values[self._number]
        if not is_number(score) or not is_number(unlimited):
            return None
        parts: list[AttributionPart] = []
        for place, share in sorted(enumerate(compute_shares(numbers)), key=lambda player: -abs(player[1])):
            if abs(share) > _NEGLIGIBLE:
                rest = traces[-1 - (1 << place)]  # of all other players
                verdict = rest[decider] if rest[decider] != values[decider] else None
                effects = {"without": rest[compared.name], "verdict_without": verdict, "alone": numbers[1 << place]}
                parts.append(self._build_part(players[place], share, f"R{len(parts) + 1}", effects))
        low, high = find_limits(*compared.expressions())
        if score != unlimited:
            limits = _Player(_describe_limits(score, low, high))
            parts.append(self._build_part(limits, float(score) - float(unlimited)))
        return Attribution(
            step=compared.name,
            label=label_of(compared),
            unit=compared.unit,
            adverse=compared.adverse,
            highest=min((float(limit) for limit in high if is_number(limit)), default=None),
            base=numbers[0],
            value=float(score),
            uncounted=len(self.rows) - len({place for player in players for place in player.places}),
            parts=parts,
        )

    # --- the parts

    @cached_property
    def _conditional(self) -> dict[str, typed.Aggregate]:
        """The aggregates that the verdict depends on and that select reviews by a condition."""
        return {
            name: aggregate
            for name, aggregate in self.dependencies.aggregates.items()
            if aggregate.where is not None or aggregate.entry.takes == "condition"
        }

    def _group_reviews(self) -> Iterator[_Player]:
        """Yield a player for each group of reviews that the same conditional aggregates count; other reviews belong to none."""
        counted: dict[int, set[str]] = {}
        for name in self._conditional:
            for place in self._positions.get(name, ()):
                counted.setdefault(place, set()).add(name)
        groups: dict[frozenset[str], list[int]] = {}
        for place in sorted(counted):
            groups.setdefault(frozenset(counted[place]), []).append(place)
        for names, places in groups.items():
            steps = [name for name in self._conditional if name in names]
            labels = self.dependencies.list_labels(steps)
            steps.sort(key=lambda name: label_of(self.dependencies.steps_by_name[name]) not in labels)
            yield _Player(", ".join(labels), frozenset(places), steps=steps)

    def _find_facts(self) -> Iterator[_Player]:
        """Yield a player for each context field that a step uses and that can be taken away.

        The source of a lookup with a default becomes a string with no key, and a field that may be null becomes null. A
        field without such a neutral value, or one that has it already, stays in the base.
        """
        labels = self._label_lookup_sources()
        used = dict.fromkeys(symbol for step in self.dependencies.steps for symbol in step.symbols())
        fields = {declared.name: declared for declared in self.dependencies.program.context}
        for symbol in used:
            if symbol.kind is not SymbolKind.CONTEXT or self._facts.get(symbol.name) in (None, ""):
                continue
            declared = fields[symbol.name]
            neutral: Value = None
            label = labels.get(symbol.name, f"{label_of(declared)}: {format_plain(self._facts[symbol.name])}")
            if symbol.name in labels and declared.ty.base is Base.STRING:
                neutral = ""
            elif not declared.ty.nullable:
                continue
            player = _Player(label, neutral={symbol.name: neutral})
            # without these facts the number must have a value
            with suppress(DataError, EvaluationError):
                self._evaluate([player])
                yield player

    def _label_lookup_sources(self) -> dict[str, str]:
        """Return the labels of the fields in which lookups with a default found a key, by name."""
        labels: dict[str, str] = {}
        for step in self.dependencies.steps:
            if isinstance(step.operation, nodes.Lookup) and step.operation.has_default:
                match = self.record.match(self.record.steps[step.name])
                if match is not None and match.key is not None:
                    label = f"{label_of(step)}: {match.key}"
                    labels.update({symbol.name: label for symbol in typed.symbols_in(step.operation.source)})
        return labels

    def _merge_smallest(self, players: Sequence[_Player]) -> list[_Player]:
        """Return at most as many players as the reviews allow: those whose absence matters least become one.

        Of very many reviews, these are the smallest groups.
        """
        affordable = (_MAX_EVALUATED_REVIEWS // max(1, len(self.rows))).bit_length() - 1
        limit = max(_MIN_PLAYERS, min(_MAX_PLAYERS, affordable))
        if len(players) <= limit:
            return [*players]
        if len(players) * len(self.rows) <= _MAX_EVALUATED_REVIEWS:
            ranked = sorted(players, key=lambda player: -abs(self._whole - self._evaluate([player])))
        else:
            ranked = sorted(players, key=lambda player: -len(player.places))
        rest = ranked[limit - 1 :]
        merged = _Player(
            f"{number_of(len(rest), 'smaller part')} together",
            frozenset().union(*(player.places for player in rest)),
            {name: value for player in rest for name, value in player.neutral.items()},
        )
        return [*ranked[: limit - 1], merged]

    # --- the changes

    @cached_property
    def _whole(self) -> float:
        """The number with all players. Raises `DataError` or `EvaluationError` if it has no value."""
        return self._evaluate([])

    def _trace(self, left_out: Sequence[_Player]) -> Mapping[str, Any]:
        """Return the values of all steps without some players. Raises `DataError` or `EvaluationError`."""
        places = {place for player in left_out for place in player.places}
        context = {**self._facts, **{name: value for player in left_out for name, value in player.neutral.items()}}
        return self.evaluator.trace(self.parsed.copy_without(places), context, self.parameters)

    def _read_number(self, trace: Mapping[str, Any]) -> float:
        """Return the number among the values of all steps. Raises `DataError` if it is null."""
        number = trace[self._number]
        if not is_number(number):
            raise DataError(f"{self._number} is null without some reviews")
        return float(number)

    def _evaluate(self, left_out: Sequence[_Player]) -> float:
        """Return the number without some players. Raises `DataError` or `EvaluationError` if it then has no value."""
        return self._read_number(self._trace(left_out))

    def _trace_subsets(self, players: Sequence[_Player]) -> list[Mapping[str, Any]]:
        """Return the values of all steps for each subset of the players: with the player at `place` if the bit `place` is set.

        Raises `DataError` or `EvaluationError` if an evaluation fails.
        """
        return [
            self._trace([player for place, player in enumerate(players) if not subset >> place & 1])
            for subset in range(2 ** len(players))
        ]

    def _build_part(
        self, player: _Player, change: float, code: str = "", effects: Mapping[str, Any] = _NO_EFFECTS
    ) -> AttributionPart:
        """Return a player with its share, and the review that matters most, as data; `effects` has its other numbers."""
        places = sorted(player.places)
        names = [review_name(self.rows[place], place) for place in places]
        return AttributionPart(
            code=code,
            label=player.label,
            change=change,
            source=player.source,
            reviews=names,
            main_review=names[places.index(self._find_main_review(places))] if places else None,
            steps=[*player.steps],
            fields=[*player.neutral],
            **effects,
        )

    def _find_main_review(self, places: Sequence[int]) -> int:
        """Return the position of the review whose absence alone changes the number most, of the first ones of a group."""
        affordable = _MAX_EVALUATED_REVIEWS // (_MAX_PLAYERS * len(self.rows))
        candidates = places[: min(_MAX_COMPARED_REVIEWS, affordable)]
        if len(candidates) < _MIN_COMPARED_REVIEWS:
            return places[0]
        return max(candidates, key=lambda place: abs(self._whole - self._evaluate([_Player("", frozenset((place,)))])))


def compute_shares(values: Sequence[float]) -> list[float]:
    """Return the Shapley value of each player, from the number for each subset of players, numbered by bits."""
    count = len(values).bit_length() - 1
    shares = []
    for place in range(count):
        share = 0.0
        for subset in range(2**count):
            if not subset >> place & 1:
                size = subset.bit_count()
                share += (values[subset | 1 << place] - values[subset]) / (count * comb(count - 1, size))
        shares.append(share)
    return shares


def find_compared_number(verdict: nodes.Step, steps: Mapping[str, nodes.Step]) -> nodes.Step | None:
    """Return the number that the rules of a verdict compare most often, the first of equals; None if they compare no number."""
    used = Counter(
        symbol.name
        for condition, _ in verdict.rules()
        if condition is not None
        for symbol in dict.fromkeys(typed.symbols_in(condition))
        if symbol.kind is SymbolKind.STEP and steps[symbol.name].ty.is_numeric
    )
    return steps[used.most_common(1)[0][0]] if used else None


def _is_decided_by(rules: Sequence[Rule], number: str) -> bool:
    """Return True if the rule that holds compares the step `number`, or is the last one, which holds if no other does."""
    return any(
        rule.state == "taken" and (rule.condition is None or number in (side.left for side in rule.comparisons))
        for rule in rules
    )


def _describe_limits(score: float, low: Sequence[Value], high: Sequence[Value]) -> str:
    """Return in words what changed the number to `score`: its lower or upper limits, or else its rounding."""
    if score in high:
        return f"limited to {format_plain(score)}"
    return f"raised to {format_plain(score)}" if score in low else "rounded"
