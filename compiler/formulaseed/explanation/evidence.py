"""Find the reviews behind a step over reviews: those that count, and the conditions that the others do not meet.

In: one restaurant's evaluation, with its rows. Out: `Evidence`. The texts of reviews are used only to quote them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

from formulaseed.explanation.candidates import Row, review_name
from formulaseed.explanation.model import MAX_REVIEWS_PER_STEP, Evidence, Exclusion, Review
from formulaseed.explanation.quotes import QuoteFinder
from formulaseed.explanation.record import EvaluationRecord
from formulaseed.ir import nodes
from formulaseed.ir.dependencies import find_filters, list_symbols
from formulaseed.ir.interpret import Observer
from formulaseed.language import typed
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.pages.values import is_number

_MAX_NEAR_REVIEWS = 5  # described reviews that one condition alone leaves out
_REVIEW_FIELDS = (SymbolKind.EXTRACTION, SymbolKind.META)
_COMMON_FIELDS = frozenset(Symbol(SymbolKind.META, name) for name in ("stars", "date", "year", "month"))
"""Metadata that every `Review` has, so that it is not repeated among the fields of a step."""


@dataclass
class EvidenceFinder:
    """A finder of the reviews behind one restaurant's `steps`, from the observer's record of its evaluation."""

    record: EvaluationRecord
    observer: Observer
    rows: Sequence[Row]
    quotes: QuoteFinder
    steps: Sequence[nodes.Step]
    _positions_by_fields: dict[frozenset[Symbol], set[int]] = field(default_factory=dict)

    def find(self, step: nodes.Step) -> Evidence | None:
        """Return the evidence of an aggregate step; None if the step is no aggregate or was not evaluated.

        Its reviews are those with the selected value for a maximum or minimum, and else those that meet the condition; without a
        condition none is listed, only their number.
        """
        aggregate = step.aggregate
        if aggregate is None or aggregate not in self.observer.unmet:
            return None
        counted, excluded = self._split_reviews(aggregate)
        value = self.record.value_of(step.name)
        terms = self.observer.terms[aggregate]
        listed: list[int] = []
        if aggregate.entry.selects:
            listed = [place for place in counted if terms.get(place) == value]
        elif aggregate.where is not None:
            listed = counted
        fields = self._find_fields(step)
        filters = find_filters(step, self.record.evaluation.filters)
        return Evidence(
            step=step.name,
            function=aggregate.function,
            value=value,
            of=self._describe_operand(aggregate),
            condition=self.record.words.describe(aggregate.where) if aggregate.where is not None else None,
            filters={
                self.record.names[Symbol(SymbolKind.FILTER, name)]: self.record.words.describe(condition)
                for name, condition in filters.items()
            },
            number=len(counted),
            is_default=aggregate.entry.empty_value is None and not counted,
            reviews=[self._build_review(place, fields, terms.get(place)) for place in listed[:MAX_REVIEWS_PER_STEP]],
            unlisted=len(listed[MAX_REVIEWS_PER_STEP:]),
            excluded=excluded,
        )

    def _describe_operand(self, aggregate: typed.Aggregate) -> str | None:
        """Return in words what an aggregate takes of each review; None for a count."""
        if aggregate.operand is None:
            return None
        takes_condition = aggregate.entry.takes == "condition"
        words = self.record.words
        return words.describe(aggregate.operand) if takes_condition else words.name(aggregate.operand)

    def _split_reviews(self, aggregate: typed.Aggregate) -> tuple[list[int], list[Exclusion]]:
        """Return the positions of the reviews that count, and exclusions with the reviews that do not.

        Reviews that fail the same conditions share an exclusion; the largest comes first.
        """
        groups = self.observer.unmet[aggregate]
        conditions = self.record.evaluation.list_conjuncts(aggregate.where)
        largest_first = sorted(groups.items(), key=lambda group: -len(group[1]))
        exclusions = [self._build_exclusion(unmet, places, len(conditions)) for unmet, places in largest_first if unmet]
        if conditions == [aggregate.where]:
            exclusions = [exclusion.model_copy(update={"conditions": []}) for exclusion in exclusions]
        return groups.get((), []), exclusions

    def _build_exclusion(self, unmet: Sequence[Expr], places: Sequence[int], count: int) -> Exclusion:
        """Return the exclusion of the reviews at `places`, which fail the conditions `unmet` of all `count`.

        If one condition of several fails, `near` describes at most `_MAX_NEAR_REVIEWS` of them, without reviews that
        some step counts by a condition on the same fields. Otherwise `near` is empty.
        """
        near: Iterator[str] = iter(())
        words = self.record.words
        if len(unmet) == 1 < count:
            elsewhere = self._find_counted_by(frozenset(typed.symbols_in(unmet[0])))
            near = (
                f"{self._names[place]}: {words.describe_failure(unmet[0], self.record.evaluation.rows[place].get)}"
                for place in places
                if place not in elsewhere
            )
        return Exclusion(
            conditions=[words.describe(condition, holds=False) for condition in unmet],
            number=len(places),
            review_ids=[self._names[place] for place in places],
            near=[*islice(near, _MAX_NEAR_REVIEWS)],
        )

    @cached_property
    def _names(self) -> list[str]:
        """The names of all reviews."""
        return [review_name(row, place) for place, row in enumerate(self.rows)]

    def _find_counted_by(self, fields: frozenset[Symbol]) -> set[int]:
        """Return the positions of the reviews that any step counts by a condition on `fields`. Caches the result."""
        if fields not in self._positions_by_fields:
            places: set[int] = set()
            for step in self.steps:
                if step.aggregate is None or step.aggregate not in self.observer.unmet:
                    continue
                conditions = self.record.evaluation.list_conjuncts(step.aggregate.where)
                if any(not fields.isdisjoint(typed.symbols_in(condition)) for condition in conditions):
                    places.update(self.observer.unmet[step.aggregate].get((), ()))
            self._positions_by_fields[fields] = places
        return self._positions_by_fields[fields]

    def _find_fields(self, step: nodes.Step) -> list[Symbol]:
        """Return the fields of reviews that a step or its filters read, without `_COMMON_FIELDS`."""
        symbols = list_symbols([step], self.record.evaluation.filters)
        return [symbol for symbol in symbols if symbol.kind in _REVIEW_FIELDS and symbol not in _COMMON_FIELDS]

    def _build_review(self, place: int, fields: Sequence[Symbol], amount: Any) -> Review:
        """Return the review at a position as data, with the values of `fields` and a quote for extracted ones.

        `amount` is its term in the aggregate; anything but a number becomes None. The date may be a year only.
        """
        row = self.rows[place]
        values = self.record.evaluation.rows[place]
        meta = row.get("meta") or {}
        extracted = {symbol.name: values.get(symbol) for symbol in fields if symbol.kind is SymbolKind.EXTRACTION}
        quote = self.quotes.choose_quote(row, extracted)
        stars = meta.get("stars")
        useful = meta.get("useful")
        date = None
        if isinstance(meta.get("date"), str):
            date = meta["date"]
        elif isinstance(meta.get("year"), int):
            date = str(meta["year"])
        return Review(
            review_id=self._names[place],
            date=date,
            stars=stars if is_number(stars) else None,
            useful=useful if is_number(useful) else None,
            fields={self.record.names[symbol].strip("“”"): values.get(symbol) for symbol in fields},
            amount=amount if is_number(amount) else None,
            quote=quote.text,
            quoted_by=quote.quoted_by,
            core=quote.core,
        )
