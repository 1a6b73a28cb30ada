"""The reviews behind a step over reviews: those that count, and by which conditions the others do not.

In: one restaurant's evaluation, with its rows. Out: `Evidence`. The texts of reviews are used only to quote them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeGuard, cast

from formulaseed.explanation import explanation as data
from formulaseed.explanation.additions import Row, name_of
from formulaseed.explanation.definitions import filters_of
from formulaseed.explanation.evaluated import Evaluated
from formulaseed.explanation.quotes import QuoteFinder
from formulaseed.explanation.values import is_number, shown
from formulaseed.ir import nodes
from formulaseed.language import typed
from formulaseed.language.printer import expression_text
from formulaseed.language.typed import Expr, Symbol, SymbolKind

_NEAR = 5
"""So many reviews that one condition leaves out are said in words."""
_FIELDS = (SymbolKind.EXTRACTION, SymbolKind.META)
_SHOWN_ANYWAY = frozenset(Symbol(SymbolKind.META, name) for name in ("stars", "date", "year", "month"))
"""Metadata that is shown of every review."""


@dataclass
class EvidenceFinder:
    """Finds the evidence of one restaurant's `steps`; a condition of several steps is tested once."""

    found: Evaluated
    rows: Sequence[Row]
    quotes: QuoteFinder
    steps: Sequence[nodes.Step]
    terms: dict[str, dict[int, Any]] = field(default_factory=dict)
    """What the reviews that count are to a step: what they add to a sum, or have for a maximum; None to a count."""
    _met: dict[str, list[bool]] = field(default_factory=dict)
    _counted: dict[frozenset[Symbol], set[int]] = field(default_factory=dict)

    def evidence(self, step: nodes.Step) -> data.Evidence | None:
        """Return the reviews behind a step; None where it is no step over reviews."""
        operation = step.operation
        if not isinstance(operation, nodes.Aggregate):
            return None
        filters = self.found.evaluation.filters
        conditions = dict(self._conditions(operation.where, set()))
        met = [self._all_met(*each) for each in conditions.items()]
        counted: list[int] = []
        excluded: dict[tuple[str, ...], list[int]] = {}
        for place in range(len(self.rows)):
            unmet = tuple(text for text, each in zip(conditions, met, strict=True) if not each[place])
            if unmet:
                excluded.setdefault(unmet, []).append(place)
            else:
                counted.append(place)
        value = self.found.value_of(step.name)
        amounts = self.terms[step.name] = dict(self._amounts(operation.expression, counted))
        listed = [p for p in counted if amounts[p] == value] if operation.is_extreme else counted
        fields, is_listed = self._fields(step), operation.where is not None or operation.is_extreme
        groups = sorted(excluded.items(), key=lambda group: -len(group[1]))
        return data.Evidence(
            step=step.name,
            function=cast(data.AggregateKind, operation.function),
            value=value,
            of=expression_text(operation.expression) if operation.expression is not None else None,
            condition=expression_text(operation.where) if operation.where is not None else None,
            filters={name: expression_text(each) for name, each in filters_of(step, filters).items()},
            number=len(counted),
            is_default=operation.is_extreme and not counted,
            reviews=[self._review(p, fields, amounts.get(p)) for p in listed if is_listed],
            excluded=[self._exclusion(unmet, places, conditions) for unmet, places in groups],
        )

    def _exclusion(self, unmet: Sequence[str], places: Sequence[int], conditions: Mapping[str, Expr]) -> data.Exclusion:
        near: Iterator[str] = iter(())
        if len(unmet) == 1 < len(conditions):
            missed = conditions[unmet[0]]
            elsewhere = self._counted_by(frozenset(typed.symbols_in(missed)))
            near = (
                f"{name_of(self.rows[place], place)}: {self._instead(missed, place)}"
                for place in places
                if place not in elsewhere
            )
        return data.Exclusion(
            conditions=[*unmet],
            number=len(places),
            review_ids=[name_of(self.rows[place], place) for place in places],
            near=[*islice(near, _NEAR)],
        )

    def _counted_by(self, fields: frozenset[Symbol]) -> set[int]:
        """The places of the reviews that some step counts by one of these fields."""
        if fields not in self._counted:
            self._counted[fields] = set()
            for step in self.steps:
                where = step.operation.where if isinstance(step.operation, nodes.Aggregate) else None
                conditions = dict(self._conditions(where, set()))
                if not fields.isdisjoint(symbol for each in conditions.values() for symbol in typed.symbols_in(each)):
                    met = zip(*(self._all_met(*each) for each in conditions.items()), strict=True)
                    self._counted[fields].update(place for place, each in enumerate(met) if all(each))
        return self._counted[fields]

    def _instead(self, condition: Expr, place: int) -> str:
        """What a review has instead of meeting a condition."""
        row = self.found.evaluation.rows[place]
        if isinstance(condition, typed.Comparison) and len(condition.operators) == 1:
            first = condition.first.operand if isinstance(condition.first, typed.Present) else condition.first
            if isinstance(first, typed.Ref) and first.symbol.kind in _FIELDS:
                operator, limit = condition.operators[0], expression_text(condition.rest[0])
                has = f"{_field_name(first.symbol)} is {shown(row.get(first.symbol))}"
                return (
                    has
                    if operator in ("!=", "not in")
                    else f"{has}, not {'' if operator == '==' else f'{operator} '}{limit}"
                )
        return f"{expression_text(condition)} does not hold"

    def _conditions(self, where: Expr | None, seen: set[str]) -> Iterator[tuple[str, Expr]]:
        """What a review must meet, with the conditions of filters in place of their names."""
        for part in typed.conjuncts(where):
            if not _is_filter(part):
                yield expression_text(part), part
            elif part.symbol.name not in seen:
                seen.add(part.symbol.name)
                yield from self._conditions(self.found.evaluation.filters[part.symbol.name], seen)

    def _all_met(self, text: str, condition: Expr) -> list[bool]:
        """For each review, whether it meets a condition."""
        if text not in self._met:
            self._met[text] = [bool(self.found.value_in(condition, row)) for row in self.found.evaluation.rows]
        return self._met[text]

    def _amounts(self, expression: Expr | None, places: Sequence[int]) -> Iterator[tuple[int, Any]]:
        """What reviews add to a sum, or have for a maximum or a minimum."""
        for place in places:
            row = self.found.evaluation.rows[place]
            yield place, self.found.value_in(expression, row) if expression is not None else None

    def _fields(self, step: nodes.Step) -> list[Symbol]:
        """The fields of reviews that a step reads, itself or by filters."""
        filters = filters_of(step, self.found.evaluation.filters)
        named = [s for e in (*step.expressions(), *filters.values()) for s in typed.symbols_in(e)]
        return [s for s in dict.fromkeys(named) if s.kind in _FIELDS and s not in _SHOWN_ANYWAY]

    def _review(self, place: int, fields: Sequence[Symbol], amount: Any) -> data.Review:
        row, read = self.rows[place], self.found.evaluation.rows[place]
        meta = row.get("meta") or {}
        asked = {symbol.name: read.get(symbol) for symbol in fields if symbol.kind is SymbolKind.EXTRACTION}
        quote, quoted_by = self.quotes.quote(row, asked)
        stars, date = meta.get("stars"), meta.get("date")
        if not isinstance(date, str):
            date = str(meta["year"]) if isinstance(meta.get("year"), int) else None
        return data.Review(
            review_id=name_of(self.rows[place], place),
            date=date,
            stars=stars if is_number(stars) else None,
            fields={_field_name(symbol): read.get(symbol) for symbol in fields},
            amount=amount if is_number(amount) else None,
            quote=quote,
            quoted_by=quoted_by,
        )


def _field_name(symbol: Symbol) -> str:
    return symbol.name if symbol.kind is SymbolKind.EXTRACTION else str(symbol)


def _is_filter(part: Expr) -> TypeGuard[typed.Ref]:
    return isinstance(part, typed.Ref) and part.symbol.kind is SymbolKind.FILTER
