"""What would change a verdict: the fewest reviews more or less, and the nearest value of a parameter.

In: an evaluator with one restaurant's rows and context. Out: changes, the smallest first. Each was found by trying, and
evaluated: the generated module gives the other verdict. A smaller one may exist where verdicts do not follow the number of
reviews steadily.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from formulaseed.diagnostics.model import number_of
from formulaseed.errors import DataError, EvaluationError
from formulaseed.ir import nodes
from formulaseed.language import typed
from formulaseed.language.operators import MIRRORED, NEGATED
from formulaseed.language.typed import Expr, SymbolKind
from formulaseed.language.types import Base, Value
from formulaseed.report import explanation as data
from formulaseed.report.explain import behind_limits, shown
from formulaseed.runtime.evaluator import Evaluator

MOST_MORE = 64
"""So many reviews more are tried."""
_SHOWN = 4
_ALL_TRIED = 8
_MOST_FEWER = 10
_CANDIDATES = 60
"""So many kinds of reviews are tried."""
Row = Mapping[str, Any]


@dataclass
class Search:
    """Tries changes of one restaurant's input. `verdict` is the output that is to change."""

    program: nodes.Program
    evaluator: Evaluator
    verdict: nodes.Step
    rows: Sequence[Row]
    context: Mapping[str, Any]
    parameters: Mapping[str, Any] | None = None
    _values: dict[str, Any] = field(default_factory=dict)

    def changes(self) -> list[data.Change]:
        """Return what leads to another verdict, the fewest reviews first; nothing if the restaurant has none."""
        before = self._trace(self.rows)
        if before is None:
            return []
        self._values = before
        found = [*self._fewer(), *self._more(), *self._parameters()]
        kept: dict[tuple[str, object], data.Change] = {}
        for change in sorted(found, key=lambda change: (change.kind == "parameter", change.number)):
            kept.setdefault((change.kind, change.verdict if change.kind != "parameter" else change.text), change)
        return list(kept.values())[:_SHOWN]

    # --- evaluation

    def _trace(self, rows: Sequence[Row], parameters: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
        """Every step's value; None where a step has none."""
        try:
            return self.evaluator.trace(rows, self.context, self.parameters if parameters is None else parameters)
        except (EvaluationError, DataError):
            return None

    def _turns(self, rows: Sequence[Row]) -> dict[str, Any] | None:
        """Every step's value if the verdict of these rows is another one."""
        found = self._trace(rows)
        return found if found is not None and found[self.verdict.name] != self._values[self.verdict.name] else None

    def _least(self, rows: Callable[[int], list[Row]], most: int) -> tuple[int, dict[str, Any] | None]:
        """Return the least number found whose rows turn the verdict, with the values then; small numbers are all tried."""
        last, number = 0, 1
        while number <= most:
            found = self._turns(rows(number))
            while found is not None and number - last > 1:
                middle = (last + number) // 2
                between = self._turns(rows(middle))
                last, number, found = (last, middle, between) if between is not None else (middle, number, found)
            if found is not None:
                return number, found
            last, number = number, number + 1 if number < _ALL_TRIED else number * 2
        return 0, None

    def _change(
        self, kind: data.ChangeKind, text: str, number: float, after: Mapping[str, Any], **what: Any
    ) -> data.Change:
        moved = [n for n in dict.fromkeys(self._decisive()) if n in after and after[n] != self._values[n]]
        counts = [name for name in moved if name not in self._compared][:_NAMED]
        names = [*counts, *(name for name in moved if name in self._compared)]
        effects = {name: (self._values[name], after[name]) for name in names}
        return data.Change(
            kind=kind, text=text, number=number, verdict=after[self.verdict.name], effects=effects, **what
        )

    def _decisive(self) -> Iterator[str]:
        """The counts of reviews, and what the verdict's rules compare."""
        yield from (s.name for s in self.program.steps if s.needs_pass and not s.part_of)
        yield from self._compared

    @cached_property
    def _compared(self) -> list[str]:
        named = [s for expression in self.verdict.expressions() for s in typed.symbols_in(expression)]
        return list(dict.fromkeys(s.name for s in named if s.kind is SymbolKind.STEP))

    # --- fewer reviews

    def _fewer(self) -> Iterator[data.Change]:
        """Leave out one review after the other: each time the one whose absence moves the deciding number most, one way."""
        for direction in (1, -1):
            out: list[int] = []
            while len(out) < _MOST_FEWER:
                found = self._next(out, direction)
                if found is None:
                    break
                place, after = found
                out.append(place)
                if after[self.verdict.name] != self._values[self.verdict.name]:
                    ids = [str(self.rows[at].get("review_id", f"rows[{at}]")) for at in out]
                    more = f", and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
                    text = f"without {number_of(len(ids), 'review')} ({', '.join(ids[:_NAMED])}{more})"
                    yield self._change("fewer reviews", text, len(ids), after, review_ids=ids)
                    break

    def _next(self, out: Sequence[int], direction: int) -> tuple[int, dict[str, Any]] | None:
        """The review to leave out next, with the values then; None if none moves the number that way."""
        kinds = {_key(row): place for place, row in enumerate(self.rows) if place not in out}
        before = self._score(self._trace(self._without(out)))
        best: tuple[float, int, dict[str, Any]] | None = None
        for place in [*kinds.values()][:_CANDIDATES]:
            after = self._trace(self._without([*out, place]))
            moved = (self._score(after) - before) * direction
            if after is not None and moved >= 0 and (best is None or moved > best[0]):
                best = moved, place, after
        return best[1:] if best is not None else None

    def _without(self, places: Sequence[int]) -> list[Row]:
        left_out = set(places)
        return [row for place, row in enumerate(self.rows) if place not in left_out]

    def _score(self, values: Mapping[str, Any] | None) -> float:
        """The number that the verdict's rules compare, 0 where there is none."""
        if values is None:
            return 0.0
        found = values.get(self._driver) if self._driver is not None else None
        return float(found) if isinstance(found, int | float) else 0.0

    @cached_property
    def _driver(self) -> str | None:
        """The number that the verdict's rules compare, without its limits, within which nothing would move it."""
        steps = {step.name: step for step in self.program.steps}
        for expression in self.verdict.expressions():
            for symbol in typed.symbols_in(expression):
                if symbol.kind is SymbolKind.STEP and steps[symbol.name].ty.is_numeric:
                    found = behind_limits(steps[symbol.name], steps)
                    return None if found.part_of else found.name
        return None

    # --- more reviews

    def _more(self) -> Iterator[data.Change]:
        """Add reviews of one kind: such as there are already, and such as each step over reviews asks for."""
        for text, row in [*self._kinds()][:_CANDIDATES]:
            number, after = self._least(self._with(row), MOST_MORE)
            if after is not None:
                text = f"with {number_of(number, 'more review')} {text}"
                yield self._change("more reviews", text, number, after, row=dict(row))

    def _with(self, row: Row) -> Callable[[int], list[Row]]:
        return lambda number: [*self.rows, *[row] * number]

    def _kinds(self) -> Iterator[tuple[str, Row]]:
        seen: set[str] = set()
        for step in self.program.steps:
            operation = step.operation
            if isinstance(operation, nodes.Aggregate) and operation.where is not None:
                wanted = self._wanted(operation.where)
                row = self._row_with(wanted) if wanted is not None else None
                if row is not None and _key(row) not in seen:
                    seen.add(_key(row))
                    yield f"where {', '.join(f'{name} is {shown(v)}' for (_, name), v in (wanted or {}).items())}", row
        for row in self.rows:
            if _key(row) not in seen:
                seen.add(_key(row))
                yield f"like {row.get('review_id', 'one of these')}", row

    def _wanted(self, where: Expr) -> dict[tuple[str, str], Value] | None:
        """The values of fields with which a review meets a condition; None if that is not plain to see."""
        wanted: dict[tuple[str, str], Value] = {}
        filters = {s.name: s.operation.condition for s in self.program.steps if isinstance(s.operation, nodes.Filter)}
        stack = list(typed.conjuncts(where))
        while stack:
            part, truth = stack.pop(0), True
            while isinstance(part, typed.Not):
                part, truth = part.operand, not truth
            if isinstance(part, typed.Ref) and part.symbol.kind is SymbolKind.FILTER:
                if not truth:
                    return None
                stack += typed.conjuncts(filters[part.symbol.name])
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
        """A review with these values, the rest as most reviews have it; the newest year unless one is wanted."""
        row: dict[str, dict[str, Any]] = {"extraction": {}, "meta": {}}
        for section, values in row.items():
            names = {name for each in self.rows for name in each.get(section) or {}}
            for name in sorted(names):
                common = Counter(repr((each.get(section) or {}).get(name)) for each in self.rows)
                text = common.most_common(1)[0][0]
                values[name] = next(v for each in self.rows if repr(v := (each.get(section) or {}).get(name)) == text)
        meta = row["meta"]
        years = [y for each in self.rows if isinstance(y := (each.get("meta") or {}).get("year"), int)]
        for each in self.program.fields:
            row["extraction"].setdefault(each.name, each.values[0].name if each.values else each.default)
        if not self.rows:
            meta |= {"stars": 3, "useful": 0, "funny": 0, "cool": 0, "year": 2025, "month": 1}
        meta.pop("date", None)
        if years:
            meta["year"] = max(years)
        for (section, name), value in wanted.items():
            row[section][name] = value
        year, month = meta.get("year"), meta.get("month")
        if isinstance(year, int) and 1 <= year <= 9999:
            meta["month"] = month if isinstance(month, int) and 1 <= month <= 12 else 1
            meta["date"] = f"{year:04}-{meta['month']:02}-01"
        return {"review_id": "(one more)", **row}

    # --- parameters

    def _parameters(self) -> Iterator[data.Change]:
        """Move each numeric parameter away from its value, to either side, up to its bounds."""
        for parameter in self.program.parameters:
            if not parameter.ty.is_numeric or not isinstance(parameter.default, int | float):
                continue
            start = (self.parameters or {}).get(parameter.name, parameter.default)
            is_whole = parameter.ty.base is Base.INTEGER
            for direction, bound in ((1, parameter.maximum), (-1, parameter.minimum)):
                found = self._crossing(parameter.name, start, direction, bound, is_whole)
                if found is not None:
                    value, after = found
                    text = f"with {parameter.name} {shown(value)} for {shown(start)}"
                    yield self._change("parameter", text, value, after, parameter=parameter.name)

    def _crossing(
        self, name: str, start: float, direction: int, bound: float | None, is_whole: bool
    ) -> tuple[float, dict[str, Any]] | None:
        """The nearest value found on one side that changes the verdict, with every step's value there."""

        def at(distance: float) -> float:
            value = start + direction * distance
            if bound is not None and (value - bound) * direction > 0:
                value = bound
            return round(value) if is_whole else value

        def turned(value: float) -> dict[str, Any] | None:
            found = self._trace(self.rows, {**(self.parameters or {}), name: value})
            return found if found is not None and found[self.verdict.name] != self._values[self.verdict.name] else None

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


_NAMED = 3


def _key(row: Row) -> str:
    """What is equal for two rows that count alike."""
    return repr([(section, sorted((row.get(section) or {}).items(), key=repr)) for section in ("extraction", "meta")])


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
