"""Random compute steps: one method for each operation, and what later steps may make of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st

from formulaseed.language.operators import ADDITIVE
from formulaseed.testing.formulas import DEPTH, FormulaWriter
from formulaseed.testing.values import SHORT_TEXTS, JsonValue, integers, numbers
from formulaseed.testing.where import ConditionWriter, Where
from formulaseed.testing.writer import Variable, below

Step = dict[str, Any]
_Choice = TypeVar("_Choice")
_KINDS = ("number", "boolean", "string")
_NUMBERS = st.one_of(integers(), numbers())
_LITERALS: dict[str, st.SearchStrategy[Any]] = {"number": _NUMBERS, "boolean": st.booleans(), "string": SHORT_TEXTS}
_KEYS: st.SearchStrategy[str] = st.one_of(
    st.sampled_from(["Thai", "Bars", "Thai, Bars", "x", "none", "mild"]), SHORT_TEXTS.filter(bool)
)


class StepWriter:
    """Writes the steps of one seed, one after the other.

    `reviews` are the variables that have a value for each review, `inputs` those of the restaurant, `values` the
    steps so far.
    """

    def __init__(
        self, draw: st.DrawFn, reviews: Sequence[Variable], inputs: Sequence[Variable], parameters: Sequence[Variable]
    ) -> None:
        self.draw = draw
        self.reviews = list(reviews)
        self.inputs = list(inputs)
        self.parameters = list(parameters)
        self.conditions = ConditionWriter(draw, parameters)
        self.filters: list[str] = []
        self.values: list[Variable] = []
        self.counts: list[tuple[str, Where]] = []
        self.steps: list[Step] = []

    def write(self, name: str) -> None:
        """One more step, of any operation."""
        operations: list[Callable[[str], Variable | None]] = [
            self._expr, self._count, self._expr, self._sum, self._expr, self._extreme, self._lookup, self._case, self._const,
            self._filter, self._count, self._expr, self._sum,
        ]  # fmt: skip
        made = self._any_of(operations)(name)
        if made is not None:
            self.values.append(made)

    def _add(self, name: str, op: str, **parts: Any) -> None:
        self.steps.append({"name": name, "op": op, **parts})

    # --- over the reviews

    def _where(self, least: int = 0) -> Where:
        subjects = self.reviews if not self._one_in(4) else [*self.reviews, *self.inputs, *self.parameters]
        return self.conditions.where(subjects, self.filters, least)

    def _per_review(self) -> FormulaWriter:
        everything = [*self.reviews, *self.reviews, *self.inputs, *self.parameters, *self.values]
        return FormulaWriter(self.draw, everything, self.filters)

    def _filter(self, name: str) -> None:
        if self._one_in(3):
            everything = [*self.reviews, *self.reviews, *self.inputs, *self.parameters]
            self._add(
                name, "define_filter", expr=FormulaWriter(self.draw, everything, self.filters).tested(DEPTH - 1).text
            )
            self.filters.append(name)
            return
        where = self._where(1)
        parts: dict[str, Where] = {}
        for key, test in where.items():
            space, _, bare = key.partition(".")
            if bare and space != "param" and self._one_in(2):
                parts.setdefault(space, {})[bare] = test
            else:
                parts.setdefault("where", {})[key] = test
        self._add(name, "define_filter", **parts)
        self.filters.append(name)

    def _count(self, name: str) -> Variable:
        where = self._where()
        self._add(name, "count", **({"where": where} if where or self._one_in(2) else {}))
        self.counts.append((name, where))
        return Variable(name, "integer")

    def _sum(self, name: str) -> Variable:
        writer = self._per_review()
        formula = (writer.number_or_null if writer.nullables and self._one_in(6) else writer.number)(DEPTH - 1)
        where = self._where()
        self._add(name, "sum", expr=formula.text, **({"where": where} if where else {}))
        return Variable(name, "number")

    def _extreme(self, name: str) -> Variable:
        writer = self._per_review()
        where, counted_by = self._where(), ""
        if self.counts and self._one_in(2):
            counted_by, counted = self._any_of(self.counts)
            where = {key: test for key, test in counted.items() if not self._one_in(3)}
        named = [v for v in self.reviews if v.is_numeric]
        parts: Step = {"where": where} if where else {}
        if named and self._one_in(2):
            parts["field"] = self._any_of(named).text
        else:
            parts["expr"] = writer.number(DEPTH - 1).text
        has_default = bool(counted_by) if self._one_in(3) else not counted_by
        if has_default:
            parts["default"] = self.draw(_NUMBERS)
        self._add(name, self._any_of(["max", "min"]), **parts)
        return Variable(name, "number", nullable=not has_default, needs_guard=not has_default, counted_by=counted_by)

    # --- over the restaurant

    def _writer(self) -> FormulaWriter:
        return FormulaWriter(self.draw, [*self.values, *self.values, *self.inputs, *self.parameters])

    def _expr(self, name: str) -> Variable:
        writer, kind = self._writer(), self._any_of(["number", *_KINDS, "nullable"])
        if kind == "nullable":
            self._add(name, "expr", expr=writer.number_or_null(DEPTH - 1).text)
            return Variable(name, "number", nullable=True)
        if kind == "string":
            found = writer.text(DEPTH - 1)
            self._add(name, "expr", expr=found.text)
            return Variable(name, "string", found.values)
        formula = writer.condition(DEPTH) if kind == "boolean" else writer.number(DEPTH)
        self._add(name, "expr", expr=formula.text)
        return Variable(name, kind)

    def _literals(self, least: int, most: int) -> tuple[str, list[JsonValue]]:
        """Literals of one kind."""
        kind = self._any_of(_KINDS)
        count = least + self.draw(below(most - least + 1))
        return kind, [self.draw(_LITERALS[kind]) for _ in range(count)]

    def _const(self, name: str) -> Variable:
        kind, (value,) = self._literals(1, 1)
        self._add(name, "const", value=value)
        return _made(name, kind, [value])

    def _lookup(self, name: str) -> Variable | None:
        known = [v for v in (*self.inputs, *self.parameters, *self.values) if v.kind == "string"]
        sources = [v for v in known if v.values is None or any(v.values)]
        if not sources:
            return self._const(name)
        source = self._any_of(sources)
        kind, values = self._literals(2, 5)
        match = self._any_of(["exact", "substring_first", *(["substring_max"] * 2 if kind == "number" else ())])
        table = {self._key(source, match): value for value in values}
        parts: Step = {"source": source.text, "table": table, "match": match}
        results = list(table.values())
        if not self._one_in(4):
            parts["default"] = None if self._one_in(6) else values[-1]
            results.append(parts["default"])
        self._add(name, "lookup", **parts)
        return _made(name, kind, results)

    def _key(self, source: Variable, match: str) -> str:
        """A key that can be found in the source."""
        if source.values is None:
            return self.draw(_KEYS)
        key = self._any_of([value for value in source.values if value])
        return key if match == "exact" else key[self.draw(below(len(key))) :]

    def _case(self, name: str) -> Variable:
        kind, values = self._literals(1, 4)
        writer = self._writer()
        sources = [v for v in writer.variables if not v.needs_guard]
        source = self._any_of(sources) if sources and self._one_in(2) else None
        if len(values) > 1 and self._one_in(6):
            values[-2 if self._one_in(2) else -1] = None
        rules: list[Step] = [
            {"when": self._continued(writer, source) if source else writer.tested(DEPTH - 1).text, "then": value}
            for value in values[:-1]
        ]
        rules.append({"else": values[-1]})
        self._add(name, "case", **({"source": source.text} if source else {}), rules=rules)
        return _made(name, kind, values)

    def _continued(self, writer: FormulaWriter, source: Variable) -> str:
        """What a rule says of the case's source, which stands in front."""
        text = self._compared(writer, source)
        return f"{text} {self._any_of(['and', 'or'])} ({writer.condition(1).text})" if self._one_in(4) else text

    def _compared(self, writer: FormulaWriter, source: Variable) -> str:
        if source.nullable and self._one_in(3):
            return self._any_of(["== None", "!= None"])
        if source.is_numeric:
            operand = writer.number(1).at(ADDITIVE)
            return self._any_of(["< {x}", "<= {x}", "> {x}", "== {x}", "!= {x}", "in [1, {x}]", "< {x} < 20"]).format(
                x=operand
            )
        if source.kind == "boolean":
            return f"{self._any_of(['==', '!='])} {self._any_of(['True', 'false'])}"
        values = source.values or self.draw(st.lists(SHORT_TEXTS, min_size=1, max_size=2))
        operand = writer.equal_to(values).text
        return self._any_of(["== {x}", "!= {x}", "in [{x}]", "not in [{x}, {x}]", "in {x}"]).replace("{x}", operand)

    # --- draws

    def _any_of(self, choices: Sequence[_Choice]) -> _Choice:
        return choices[self.draw(below(len(choices)))]

    def _one_in(self, odds: int) -> bool:
        return self.draw(below(odds)) == odds - 1


def _made(name: str, kind: str, values: Sequence[JsonValue]) -> Variable:
    texts = tuple(value for value in values if isinstance(value, str))
    return Variable(name, kind, tuple(dict.fromkeys(texts)) if kind == "string" else None, nullable=None in values)
