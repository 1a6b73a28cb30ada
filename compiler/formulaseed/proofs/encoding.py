"""Write nodes as formulas of the solver z3, whose models include every restaurant: without a model, there is no restaurant.

Each step and aggregate is a variable with a definition, so that a query can leave definitions out: it then has more models, and
an answer that there is none still holds. Numbers are exact. A model is never believed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import reduce
from itertools import pairwise

from formulaseed.language.definitions import Curve
from formulaseed.language.functions import Function
from formulaseed.language.types import Base
from formulaseed.proofs.cell_formulas import CellFormulas, Formula
from formulaseed.proofs.cells import Component
from formulaseed.proofs.lowering import find_failures
from formulaseed.proofs.nodes import Constant, Node, pair_arms, walk
from formulaseed.proofs.pool import Pool
from formulaseed.proofs.world import FieldDomain


class Encoder(CellFormulas):
    """The formulas of a pool's nodes."""

    def __init__(self, pool: Pool, components: Sequence[Component] | None, *, is_whole: bool) -> None:
        super().__init__(pool, components, is_whole=is_whole)
        self._terms: dict[Node, Formula] = {}
        self._nulls: dict[Node, Formula] = {}
        self._axioms: dict[Node, list[Formula]] = {}
        self._strings: dict[str, int] = {}
        z3 = self.z3
        self._writers: dict[str, Callable[..., Formula]] = {
            "and": z3.And, "or": z3.Or, "either": z3.Or, "not": z3.Not, "present": lambda a: a,
            "eq": lambda a, b: a == b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
            "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
        }  # fmt: skip
        self.domain_axioms: list[Formula] = list(self.list_cell_axioms())
        for known in pool.domain.shared():
            self.domain_axioms += self._bound_input(self.term(pool.field(known.symbol)), known)

    # --- variables

    def _bound_input(self, variable: Formula, known: FieldDomain) -> Iterator[Formula]:
        """Yield the conditions that a field of the restaurant has a value of its domain."""
        if known.base is Base.STRING and known.values:
            yield self.any_of(variable == self._number_string(str(value)) for value in known.values)
        elif known.base.is_numeric:
            yield self.all_of([variable >= self.real(known.low), variable <= self.real(known.high)])
            if known.per_unit is not None and self.is_whole:
                yield variable * known.per_unit == self.make_number(f"w_{known.symbol}", is_whole=True)

    def _number_string(self, text: str) -> int:
        """Return the number that stands for a string."""
        return self._strings.setdefault(text, len(self._strings))

    def is_variable(self, node: Node) -> bool:
        """Return True if a node has a variable of its own, which its definition restricts."""
        if node.op == "input":
            return False  # the domain restricts it, also if a step is nothing but a field
        if node in self.pool.anchors or node.op == "aggregate":
            return True
        is_curved = node.function is not None and not node.function.is_extreme
        return is_curved or (node.op == "/" and not node.args[1].is_constant)

    def term(self, node: Node) -> Formula:
        """Return the formula of a value; of a value that is null it is arbitrary."""
        if node not in self._terms:
            self._terms[node] = self._make_variable(node) if self.is_variable(node) else self._write(node)
        return self._terms[node]

    def _make_variable(self, node: Node, prefix: str = "v") -> Formula:
        """Return a new variable of a node's type."""
        name = f"{prefix}{node.number}"
        if node.base is Base.BOOLEAN:
            return self.z3.Bool(name, self.context)
        if node.base is Base.STRING:
            return self.z3.Int(name, self.context)
        is_rounded = node.function is not None and node.function.rounds != ""
        return self.make_number(name, is_whole=is_rounded and node.base is Base.INTEGER)

    def null(self, node: Node) -> Formula:
        """Return the condition that a value is null."""
        if not node.nullable:
            return self.z3.BoolVal(False, self.context)
        if node not in self._nulls:
            variable = self.z3.Bool(f"null{node.number}", self.context)
            has_variable = node.op == "input" or node in self.pool.anchors
            self._nulls[node] = variable if has_variable else self._write_null(node)
        return self._nulls[node]

    def _write_null(self, node: Node) -> Formula:
        """Return the condition that the value of an operation is null, by its operands."""
        return self._choose(node, self.null) if node.op == "switch" else self.z3.BoolVal(node.holds(None), self.context)

    def _choose(self, node: Node, write: Callable[[Node], Formula]) -> Formula:
        """Return what `write` returns for the value that a switch chooses."""
        result = write(node.args[-1])
        for condition, value in reversed(pair_arms(node)):
            result = self.z3.If(self.term(condition), write(value), result)
        return result

    def constant(self, value: Constant) -> Formula:
        """Return a constant, which is not null."""
        if isinstance(value, bool):
            return self.z3.BoolVal(value, self.context)
        if isinstance(value, str):
            return self.z3.IntVal(self._number_string(value), self.context)
        return self.real(value or 0)

    def _write(self, node: Node) -> Formula:
        """Return an operation by the formulas of its operands; one that proofs do not know is any value."""
        match node.op:
            case "const":
                return self.constant(node.value)
            case "switch":
                # null stands for any value: bounds of the switch say nothing about it
                anything = self._make_variable(node, "any")
                return self._choose(node, lambda value: anything if value.holds(None) else self.term(value))
            case "is_null":
                return self.null(node.args[0])
            case "/" if node.args[1].is_constant and node.args[1].value:
                return self.term(node.args[0]) * self.real(1 / node.args[1].value)
        if node.op in self._writers:
            return self._writers[node.op](*map(self.term, node.args))
        function = node.function
        if function is not None and function.is_extreme:
            return reduce(lambda a, b: self._select(function, a, b), map(self.term, node.args))
        return self._make_variable(node)

    def _select(self, function: Function, left: Formula, right: Formula) -> Formula:
        """Return the larger of two numbers, or the smaller if a constant operand is the upper bound of the result."""
        return self.z3.If(left >= right if function.bounds == "below" else left <= right, left, right)

    # --- definitions

    def define(self, node: Node) -> list[Formula]:
        """Return the conditions on the variable of a node; empty if it has no variable, or none are known."""
        if node not in self._axioms:
            self._axioms[node] = list(self._list_axioms(node)) if self.is_variable(node) else []
        return self._axioms[node]

    def _list_axioms(self, node: Node) -> Iterator[Formula]:
        """Yield the conditions on the variable of a node by the variables of its operands."""
        variable = self.term(node)
        function = node.function
        if node.op == "aggregate":
            yield from self.define_aggregate(node, variable)
        elif node.op == "/" and not node.args[1].is_constant:
            dividend, divisor = map(self.term, node.args)
            yield self.z3.Implies(divisor != 0, variable * divisor == dividend)
        elif function is not None and function.rounds:
            yield from self._define_rounding(function, node, variable)
        elif function is not None and function.curve is not None:
            yield from self._define_curve(function.curve, variable, self.term(node.args[0]))
        elif function is None or function.is_extreme:
            yield variable == self._write(node)
            if node.nullable:
                yield self.null(node) == self._write_null(node)

    def compare_quotient(self, node: Node, limits: Sequence[Fraction]) -> Iterator[Formula]:
        """Yield that a quotient with a positive divisor is beyond each limit if the dividend is beyond limit * divisor."""
        if node.op != "/" or node.args[1].is_constant:
            return
        quotient = self.term(node)
        dividend, divisor = map(self.term, node.args)
        for limit in map(self.real, limits):
            product = divisor * limit
            both = self.z3.And((quotient > limit) == (dividend > product), (quotient < limit) == (dividend < product))
            yield self.z3.Implies(divisor > 0, both)

    def _define_rounding(self, function: Function, node: Node, variable: Formula) -> Iterator[Formula]:
        """Yield the conditions on a rounded number; of halves, both neighbours are possible."""
        operand, *digits = map(self.term, node.args)
        if function.rounds == "down":
            yield self.z3.And(variable <= operand, operand < variable + 1)
            return
        places = int(node.args[1].value) if digits else 0
        half = self.real(Fraction(1, 2) / Fraction(10) ** places)
        yield self.z3.And(variable - half <= operand, operand <= variable + half)
        if places > 0:
            yield variable * 10**places == self.make_number(f"k{node.number}", is_whole=True)

    def _define_curve(self, curve: Curve, variable: Formula, operand: Formula) -> Iterator[Formula]:
        """Yield lines that a value is below (tangents) or above (secants), for operands above 0, and its sign."""
        lines = [(operand == curve.root) == (variable == 0), (operand > curve.root) == (variable > 0)]
        lows = [Fraction(curve.bound(point, -1)) for point in curve.points]
        for point in curve.points:
            high = self.real(Fraction(curve.bound(point, 1)))
            lines.append(variable <= high + (operand - self.real(point)) * self.real(curve.slope(point)))
        for (left, low), (right, end) in pairwise(zip(curve.points, lows, strict=True)):
            is_between = self.z3.And(operand >= self.real(left), operand <= self.real(right))
            secant = (operand - self.real(left)) * self.real((end - low) / (right - left))
            lines.append(self.z3.Implies(is_between, variable >= self.real(low) + secant))
        lines.append(self.z3.Implies(operand >= self.real(curve.points[-1]), variable >= self.real(lows[-1])))
        is_defined = operand >= 0 if isinstance(curve.at_zero, Fraction) else operand > 0
        yield self.z3.Implies(is_defined, self.z3.And(lines))

    # --- failures and strings

    def fails(self, node: Node) -> Formula:
        """Return the condition that evaluating a step fails, apart from the steps that it uses and from overflow."""
        earlier = self.pool.list_earlier(node)
        failures = [self.all_of(map(self.term, conditions)) for conditions in find_failures(self.pool, node, earlier)]
        for aggregate in walk(node, earlier):
            if aggregate.op == "aggregate" and aggregate.may_fail:
                failures += self.list_failures(aggregate, earlier)
        return self.any_of(failures)

    def list_string_axioms(self) -> Iterator[Formula]:
        """Yield which keys occur in each string: in a known one, and in a key that occurs, the keys that are parts of it."""
        by_text: dict[Node, dict[str, Formula]] = {}
        for node in self._terms:
            if node.op == "contains" and node.args[1].is_constant:
                by_text.setdefault(node.args[0], {})[node.args[1].value] = self.term(node)
        for text, keys in by_text.items():
            for known, number in list(self._strings.items()):
                occurring = [flag if key in known else self.z3.Not(flag) for key, flag in keys.items()]
                yield self.z3.Implies(self.term(text) == number, self.z3.And(occurring))
            for key, flag in keys.items():
                parts = [other for part, other in keys.items() if part != key and part in key]
                if parts:
                    yield self.z3.Implies(flag, self.z3.And(parts))
