"""The reviews behind a step over reviews: those that count, and by which conditions the others do not.

In: one restaurant's evaluation, with its rows. Out: `Evidence`. The texts of reviews are used only to quote them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from formulaseed.explanation import model as data
from formulaseed.explanation.candidates import Row, name_of
from formulaseed.explanation.quotes import QuoteFinder
from formulaseed.explanation.record import Evaluated
from formulaseed.ir import nodes
from formulaseed.ir.dependencies import filters_of
from formulaseed.ir.interpret import Observer
from formulaseed.language import typed
from formulaseed.language.printer import expression_text
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.pages.values import format_value, is_number

_NEAR = 5
"""So many reviews that one condition leaves out are said in words."""
_FIELDS = (SymbolKind.EXTRACTION, SymbolKind.META)
_SHOWN_ANYWAY = frozenset(Symbol(SymbolKind.META, name) for name in ("stars", "date", "year", "month"))
"""Metadata that is shown of every review."""


@dataclass
class EvidenceFinder:
    """Finds the evidence of one restaurant's `steps` in what the evaluation's observer noted."""

    found: Evaluated
    observer: Observer
    rows: Sequence[Row]
    quotes: QuoteFinder
    steps: Sequence[nodes.Step]
    _counted: dict[frozenset[Symbol], set[int]] = field(default_factory=dict)

    def evidence(self, step: nodes.Step) -> data.Evidence | None:
        """Return the reviews behind a step; None if it is no aggregate, or was not reached."""
        aggregate = step.aggregate
        if aggregate is None or aggregate not in self.observer.met:
            return None
        entry, met = aggregate.entry, self.observer.met[aggregate]
        conditions = {expression_text(condition): condition for condition in (met[0] if met else ())}
        counted: list[int] = []
        excluded: dict[tuple[str, ...], list[int]] = {}
        for place, row in enumerate(met):
            unmet = tuple(text for text, condition in conditions.items() if not row[condition])
            if unmet:
                excluded.setdefault(unmet, []).append(place)
            else:
                counted.append(place)
        value, terms = self.found.value_of(step.name), self.observer.terms[aggregate]
        listed = [p for p in counted if terms.get(p) == value] if entry.selects else counted
        fields, is_listed = self._fields(step), aggregate.where is not None or entry.selects
        groups = sorted(excluded.items(), key=lambda group: -len(group[1]))
        return data.Evidence(
            step=step.name,
            function=aggregate.function,
            value=value,
            of=expression_text(aggregate.operand) if aggregate.operand is not None else None,
            condition=expression_text(aggregate.where) if aggregate.where is not None else None,
            filters={n: expression_text(each) for n, each in filters_of(step, self.found.evaluation.filters).items()},
            number=len(counted),
            is_default=entry.over_none is None and not counted,
            reviews=[self._review(p, fields, terms.get(p)) for p in listed if is_listed],
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
                met = self.observer.met.get(step.aggregate, []) if step.aggregate is not None else []
                if met and not fields.isdisjoint(symbol for each in met[0] for symbol in typed.symbols_in(each)):
                    self._counted[fields].update(place for place, each in enumerate(met) if all(each.values()))
        return self._counted[fields]

    def _instead(self, condition: Expr, place: int) -> str:
        """Return the comparison that a review fails, with its actual value."""
        row = self.found.evaluation.rows[place]
        if isinstance(condition, typed.Comparison) and len(condition.operators) == 1:
            first = condition.first.operand if isinstance(condition.first, typed.Present) else condition.first
            if isinstance(first, typed.Ref) and first.symbol.kind in _FIELDS:
                operator, limit = condition.operators[0], expression_text(condition.rest[0])
                has = f"{_field_name(first.symbol)} is {format_value(row.get(first.symbol))}"
                return (
                    has
                    if operator in ("!=", "not in")
                    else f"{has}, not {'' if operator == '==' else f'{operator} '}{limit}"
                )
        return f"{expression_text(condition)} does not hold"

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
