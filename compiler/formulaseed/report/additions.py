"""Reviews to add to a restaurant's: such as a step over reviews asks for, and such as there are already.

In: a program and one restaurant's rows. Out: rows, each with what it is in words. What no step asks for is assumed, and said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from formulaseed.ir import nodes
from formulaseed.language import typed
from formulaseed.language.operators import MIRRORED, NEGATED
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.language.types import Value
from formulaseed.report.definitions import filters_of
from formulaseed.report.values import plain, shown

_NAMED = 8
"""So many fields of a row are named."""
Row = Mapping[str, Any]


@dataclass
class Additions:
    """Makes rows to add to those that are `given`; `behind` are the steps that lead to the verdict."""

    program: nodes.Program
    behind: Sequence[nodes.Step]
    given: Sequence[Row]

    @cached_property
    def _filters(self) -> dict[str, Expr]:
        steps = self.program.steps
        return {step.name: step.operation.condition for step in steps if isinstance(step.operation, nodes.Filter)}

    def rows(self, like: Iterable[int]) -> Iterator[tuple[str, Row]]:
        """Yield rows with what they are: such as a step asks for, and what is assumed of them; and such as there are."""
        for step in self.program.steps:
            operation = step.operation
            wanted = (
                self._wanted(operation.where) if isinstance(operation, nodes.Aggregate) and operation.where else None
            )
            if wanted is not None:
                row = self._row_with(wanted)
                asked = ", ".join(f"{name} is {shown(value)}" for (_, name), value in wanted.items())
                rest = self._fields_of(row, wanted)
                yield f"where {asked}" + (f" (assumed: {rest})" if rest else ""), row
        for place in like:
            row = self.given[place]
            about, rest = f"like {row.get('review_id', 'one of these')}", self._fields_of(row)
            yield f"{about} ({rest})" if rest else about, row

    def _fields_of(self, row: Row, but: Container[tuple[str, str]] = ()) -> str:
        """The fields of a row on which the verdict depends, in words."""
        named = [key for key in self._fields if key not in but]
        listed = ", ".join(f"{name} {plain((row.get(section) or {}).get(name))}" for section, name in named[:_NAMED])
        return f"{listed} and {len(named) - _NAMED} more" if len(named) > _NAMED else listed

    @cached_property
    def _fields(self) -> list[tuple[str, str]]:
        """The fields of reviews that lead to the verdict, each with its section of a row."""
        conditions = (each for step in self.behind for each in filters_of(step, self._filters).values())
        named = [*conditions, *(each for step in self.behind for each in step.expressions())]
        used = {symbol for each in named for symbol in typed.symbols_in(each)}
        return [(kind.value, each.name) for kind, each in self.program.row_fields() if Symbol(kind, each.name) in used]

    def _wanted(self, where: Expr) -> dict[tuple[str, str], Value] | None:
        """The values of fields with which a review meets a condition; None if that is not plain to see."""
        wanted: dict[tuple[str, str], Value] = {}
        stack = list(typed.conjuncts(where))
        while stack:
            part, truth = stack.pop(0), True
            while isinstance(part, typed.Not):
                part, truth = part.operand, not truth
            if isinstance(part, typed.Ref) and part.symbol.kind is SymbolKind.FILTER:
                if not truth:
                    return None
                stack += typed.conjuncts(self._filters[part.symbol.name])
                continue
            if isinstance(part, typed.Ref) and part.symbol.is_per_review:
                wanted[part.symbol.kind.value, part.symbol.name] = truth
                continue
            found = _solved(part, truth)
            if found is None:
                return None
            wanted.update(found)
        return wanted

    def _row_with(self, wanted: Mapping[tuple[str, str], Value]) -> Row:
        """A review with these values, the rest as is assumed of a review."""
        row = {section: dict(values) for section, values in self._common_row.items()}
        for (section, name), value in wanted.items():
            row[section][name] = value
        meta = row["meta"]
        year, month = meta.get("year"), meta.get("month")
        if isinstance(year, int) and 1 <= year <= 9999:
            meta["month"] = month if isinstance(month, int) and 1 <= month <= 12 else 1
            meta["date"] = f"{year:04}-{meta['month']:02}-01"
        return {"review_id": "(one more)", **row}

    @cached_property
    def _common_row(self) -> dict[str, dict[str, Any]]:
        """What is assumed of a review: what most reviews have, and the newest year."""
        row: dict[str, dict[str, Any]] = {"extraction": {}, "meta": {}}
        for section, values in row.items():
            given = [each.get(section) or {} for each in self.given]
            for name in sorted({name for each in given for name in each}):
                common = {repr(each.get(name)): each.get(name) for each in given}
                values[name] = common[Counter(repr(each.get(name)) for each in given).most_common(1)[0][0]]
        for each in self.program.fields:
            row["extraction"].setdefault(each.name, each.values[0].name if each.values else each.default)
        meta = row["meta"]
        if not self.given:
            meta |= {"stars": 3, "useful": 0, "funny": 0, "cool": 0, "year": 2025, "month": 1}
        meta.pop("date", None)
        years = [year for each in self.given if (year := _year(each.get("meta") or {})) is not None]
        return {**row, "meta": meta | ({"year": max(years)} if years else {})}


def _year(meta: Mapping[str, Any]) -> int | None:
    year, date = meta.get("year"), meta.get("date")
    if isinstance(year, int):
        return year
    return int(date[:4]) if isinstance(date, str) and date[:4].isdecimal() else None


def _solved(part: Expr, truth: bool) -> dict[tuple[str, str], Value] | None:
    """Values with which a comparison of a field with literals is true, or false; None for any other condition."""
    if not isinstance(part, typed.Comparison) or len(part.operators) != 1:
        return None
    field_, operator, other = part.first, part.operators[0], part.rest[0]
    if not isinstance(field_, typed.Ref):
        if operator not in MIRRORED or not isinstance(other, typed.Ref):
            return None
        field_, operator, other = other, MIRRORED[operator], field_
    if not field_.symbol.is_per_review:
        return None
    operator = operator if truth else NEGATED[operator]
    items = other.items if isinstance(other, typed.List) else (other,)
    values = [item.info.constant for item in items if item.info.is_constant]
    if len(values) < len(items):
        return None
    name = field_.symbol.kind.value, field_.symbol.name
    first = values[0]
    if operator in ("==", "in", ">=", "<="):
        return {name: first}
    if operator in (">", "<") and isinstance(first, int | float):
        return {name: first + (1 if operator == ">" else -1)}
    known = [value for value in field_.info.ty.values or () if value not in values]
    return {name: known[0]} if known else None
