"""Write nodes as formulas of the solver z3, whose models include every restaurant: without a model, there is no restaurant.

Each step and aggregate is a variable with a definition, so that a query can leave definitions out: it then has more models, and
an answer that there is none still holds. Numbers are exact. A model is never believed: `search` evaluates what it proposes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import reduce
from itertools import count, pairwise
from typing import Any

from formulaseed.errors import require_extra
from formulaseed.language.types import Base
from formulaseed.proofs.cell_formulas import CellFormulas
from formulaseed.proofs.cells import Component
from formulaseed.proofs.intervals import Bounds, Interval, approximate
from formulaseed.proofs.lowering import find_failures
from formulaseed.proofs.nodes import Constant, Node, walk
from formulaseed.proofs.pool import Pool
from formulaseed.proofs.world import Domain, FieldDomain

Formula = Any
"""An expression of z3, which has no types."""
MAX_TABLE = 64
_TANGENTS = tuple(Fraction(2) ** power for power in range(-3, 12))


class Encoder:
    """The formulas of a pool's nodes.

    With `is_whole`, numbers of reviews are integers; otherwise they are real numbers, 0 or at least 1, which is faster to decide.
    `components` are None if there are too many cells; aggregates are then only bounded.
    """

    def __init__(
        self,
        pool: Pool,
        domain: Domain,
        bounds: Bounds,
        components: Sequence[Component] | None,
        *,
        is_whole: bool,
    ) -> None:
        with require_extra("prove", "a proof"):
            import z3
        self.z3 = z3
        self.context: Any = z3.Context()
        self.pool = pool
        self._domain = domain
        self.bounds = bounds
        self.is_whole = is_whole
        self._terms: dict[Node, Formula] = {}
        self._nulls: dict[Node, Formula] = {}
        self._axioms: dict[Node, list[Formula]] = {}
        self._strings: dict[str, int] = {}
        self._fresh = count()
        self.cells = CellFormulas(self, components)
        self.domain_axioms: list[Formula] = []
        self._writers: dict[str, Callable[..., Formula]] = {
            "and": z3.And, "or": z3.Or, "not": z3.Not, "present": lambda a: a,
            "eq": lambda a, b: a == b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
            "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
            "max": lambda *parts: reduce(lambda a, b: z3.If(a >= b, a, b), parts),
            "min": lambda *parts: reduce(lambda a, b: z3.If(a <= b, a, b), parts),
        }  # fmt: skip
        self._list_domain_axioms()

    # --- variables

    def make_number(self, name: str, *, is_whole: bool = False) -> Formula:
        """Return a new variable for a number."""
        if is_whole and self.is_whole:
            return self.z3.ToReal(self.z3.Int(name, self.context))
        return self.z3.Real(name, self.context)

    def make_boolean(self, name: str) -> Formula:
        """Return a new variable for a condition."""
        return self.z3.Bool(name, self.context)

    def real(self, value: Fraction | int) -> Formula:
        """Return an exact number."""
        return self.z3.RealVal(str(Fraction(value)), self.context)

    def all_of(self, parts: Iterable[Formula]) -> Formula:
        """Return the condition that all parts hold."""
        return self.z3.And([self.z3.BoolVal(True, self.context), *parts])

    def any_of(self, parts: Iterable[Formula]) -> Formula:
        """Return the condition that a part holds."""
        return self.z3.Or([self.z3.BoolVal(False, self.context), *parts])

    def _list_domain_axioms(self) -> None:
        """Add the ranges of the fields of restaurants, and that the cells of each component make up all reviews."""
        axioms = self.domain_axioms
        axioms += self.cells.list_axioms()
        for known in self._domain.shared():
            node = self.pool.input(known.symbol, known.exact_base, nullable=known.nullable)
            axioms += self._bound_input(self.term(node), known)

    def _bound_input(self, variable: Formula, known: FieldDomain) -> Iterator[Formula]:
        """Yield the conditions that a field of the restaurant has a value of its domain."""
        if known.base is Base.STRING and known.values:
            yield self.any_of(variable == self._number_string(str(value)) for value in known.values)
        elif known.base in (Base.INTEGER, Base.NUMBER):
            yield variable >= self.real(known.low)
            yield variable <= self.real(known.high)
            if known.per_unit is not None and self.is_whole:
                yield variable * known.per_unit == self.z3.ToReal(self.z3.Int(f"w_{known.symbol}", self.context))

    def _number_string(self, text: str) -> int:
        """Return the number that stands for a string."""
        return self._strings.setdefault(text, len(self._strings))

    def string_of(self, number: int) -> str | None:
        """Return the string that a number stands for; None if it is none of the seed."""
        return next((text for text, known in self._strings.items() if known == number), None)

    # --- terms

    def is_variable(self, node: Node) -> bool:
        """Return True if a node has a variable of its own, which its definition restricts."""
        if node.op == "input":
            return False  # the domain restricts it, also if a step is nothing but a field
        if node in self.pool.anchors or node.op in ("aggregate", "fail", "contains", "len"):
            return True
        if node.op in ("floor", "ceil", "trunc", "round", "log", "sqrt", "**", "//", "%"):
            return True
        return node.op == "/" and not node.args[1].is_constant

    def term(self, node: Node) -> Formula:
        """Return the formula of a value; of a value that is null it is arbitrary."""
        if node not in self._terms:
            if self.is_variable(node):
                self._terms[node] = self._make_variable(node, f"v{node.number}")
            else:
                self._terms[node] = self._write(node)
        return self._terms[node]

    def _make_variable(self, node: Node, name: str) -> Formula:
        """Return a new variable of a node's type."""
        if node.base is Base.BOOLEAN:
            return self.make_boolean(name)
        if node.base is Base.STRING:
            return self.z3.Int(name, self.context)
        is_exactly_whole = node.base is Base.INTEGER and node.op in ("floor", "ceil", "trunc", "round", "//")
        return self.make_number(name, is_whole=is_exactly_whole)

    def null(self, node: Node) -> Formula:
        """Return the condition that a value is null."""
        if not node.nullable:
            return self.z3.BoolVal(False, self.context)
        if node not in self._nulls:
            if node.op == "input" or node in self.pool.anchors:
                self._nulls[node] = self.make_boolean(f"null{node.number}")
            else:
                self._nulls[node] = self._write_null(node)
        return self._nulls[node]

    def _write_null(self, node: Node) -> Formula:
        """Return the condition that the value of an operation is null, by its operands."""
        if node.op == "switch":
            return self._choose(node, self.null)
        return self.z3.BoolVal(node.holds(None), self.context)

    def _choose(self, node: Node, write: Callable[[Node], Formula]) -> Formula:
        """Return what `write` returns for the value that a switch chooses."""
        *arms, otherwise = node.args
        result = write(otherwise)
        for condition, value in reversed(list(zip(arms[::2], arms[1::2], strict=True))):
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
        """Return an operation by the formulas of its operands; it must have no variable of its own unless it is an anchor."""
        match node.op:
            case "const":
                return self.constant(node.value)
            case "input":
                return self._make_variable(node, str(node.value))
            case "switch":
                anything = self._make_variable(node, f"any{node.number}")
                return self._choose(node, lambda value: anything if value.holds(None) else self.term(value))
            case "is_null":
                return self.null(node.args[0])
        if node.op == "/" and node.args[1].is_constant and node.args[1].value:
            return self.term(node.args[0]) * self.real(1 / node.args[1].value)
        if node.op in self._writers:
            return self._writers[node.op](*(self.term(arg) for arg in node.args))
        return self._make_variable(node, f"free{node.number}")

    # --- definitions

    def define(self, node: Node) -> list[Formula]:
        """Return the conditions on the variable of a node; empty if it has no variable, or none are known."""
        if node not in self._axioms:
            self._axioms[node] = list(self._list_axioms(node)) if self.is_variable(node) else []
        return self._axioms[node]

    def list_bounds(self, node: Node) -> list[Formula]:
        """Return the known bounds of a number as conditions."""
        if not node.is_numeric or not self.is_variable(node):
            return []
        interval = self.bounds.bound(node)
        return list(self.limit(self.term(node), interval))

    def limit(self, variable: Formula, interval: Interval) -> Iterator[Formula]:
        """Yield the conditions that a number is in an interval."""
        if isinstance(interval.low, Fraction):
            yield variable >= self.real(interval.low)
        if isinstance(interval.high, Fraction):
            yield variable <= self.real(interval.high)
        if interval.nonzero:
            yield variable != 0

    def _list_axioms(self, node: Node) -> Iterator[Formula]:
        """Yield the conditions on the variable of a node by the variables of its operands."""
        variable = self.term(node)
        match node.op:
            case "aggregate":
                yield from self.cells.define(node, variable)
            case "/" if not node.args[1].is_constant:
                dividend, divisor = map(self.term, node.args)
                yield self.z3.Implies(divisor != 0, variable * divisor == dividend)
            case "floor" | "ceil" | "trunc" | "round":
                yield from self._define_rounding(node, variable, self.term(node.args[0]))
            case "//" | "%":
                yield from self._define_division(node, variable)
            case "log":
                yield from self._define_logarithm(variable, self.term(node.args[0]))
            case "sqrt":
                operand = self.term(node.args[0])
                yield variable >= 0
                yield self.z3.Implies(operand >= 0, variable * variable == operand)
            case "**":
                yield from self._define_power(node, variable)
            case "contains" | "fail" | "len":
                pass
            case _:
                yield variable == self._write(node)
                if node.nullable:
                    yield self.null(node) == self._write_null(node)

    def compare_quotient(self, node: Node, limits: Sequence[Fraction]) -> Iterator[Formula]:
        """Yield that a quotient with a positive divisor is beyond each limit if the dividend is beyond limit * divisor."""
        if node.op != "/" or node.args[1].is_constant:
            return
        quotient = self.term(node)
        dividend, divisor = map(self.term, node.args)
        for limit in limits:
            product = divisor * self.real(limit)
            both = self.z3.And(
                (quotient > self.real(limit)) == (dividend > product),
                (quotient < self.real(limit)) == (dividend < product),
            )
            yield self.z3.Implies(divisor > 0, both)

    def _define_rounding(self, node: Node, variable: Formula, operand: Formula) -> Iterator[Formula]:
        """Yield the conditions on a rounded number; of halves, both neighbours are possible."""
        if node.op == "floor":
            yield self.z3.And(variable <= operand, operand < variable + 1)
        elif node.op == "ceil":
            yield self.z3.And(variable >= operand, operand > variable - 1)
        elif node.op == "trunc":
            up = self.z3.And(variable >= operand, operand > variable - 1)
            yield self.z3.If(operand >= 0, self.z3.And(variable <= operand, operand < variable + 1), up)
        else:
            half = self.real(Fraction(1, 2) / Fraction(10) ** node.value)
            yield self.z3.And(variable - half <= operand, operand <= variable + half)
            if self.is_whole and node.value > 0:
                scaled = self.z3.Int(f"k{node.number}", self.context)
                yield variable * 10**node.value == self.z3.ToReal(scaled)

    def _define_division(self, node: Node, variable: Formula) -> Iterator[Formula]:
        """Yield the conditions on a quotient rounded down, or a remainder, by a constant; by other numbers it has only bounds."""
        dividend, divisor = node.args
        if not divisor.is_constant or not divisor.value:
            return
        modulus = self.real(divisor.value)
        quotient = variable
        if node.op == "%":
            quotient = self.make_number(f"q{node.number}", is_whole=True)
            yield variable == self.term(dividend) - quotient * modulus
        rest = self.term(dividend) - quotient * modulus
        yield self.z3.And(rest >= 0, rest < modulus) if divisor.value > 0 else self.z3.And(rest <= 0, rest > modulus)

    def _define_logarithm(self, variable: Formula, operand: Formula) -> Iterator[Formula]:
        """Yield lines that a logarithm of a positive number is below (tangents) or above (secants), and its sign."""
        lines = []
        for point in _TANGENTS:
            high = self.real(approximate(math.log(point), 1))
            lines.append(variable <= high + (operand - self.real(point)) * self.real(1 / point))
        for left, right in pairwise(_TANGENTS):
            low = approximate(math.log(left), -1)
            slope = (approximate(math.log(right), -1) - low) / (right - left)
            is_between = self.z3.And(operand >= self.real(left), operand <= self.real(right))
            secant = variable >= self.real(low) + (operand - self.real(left)) * self.real(slope)
            lines.append(self.z3.Implies(is_between, secant))
        lines.append(
            self.z3.Implies(operand >= self.real(right), variable >= self.real(approximate(math.log(right), -1)))
        )
        lines += ((operand == 1) == (variable == 0), (operand > 1) == (variable > 0))
        yield self.z3.Implies(operand > 0, self.z3.And(lines))

    def _define_power(self, node: Node, variable: Formula) -> Iterator[Formula]:
        """Yield the conditions on a power: a product for a small whole exponent, a table for a constant base."""
        base, exponent = node.args
        if exponent.is_constant and exponent.value.denominator == 1 and 0 <= exponent.value <= 8:
            yield variable == reduce(lambda a, b: a * b, [self.term(base)] * int(exponent.value), self.real(1))
        elif base.is_constant and exponent.base is Base.INTEGER:
            yield from self._tabulate_power(variable, base.value, exponent)
        if base.is_constant and base.value > 0:
            yield variable > 0

    def _tabulate_power(self, variable: Formula, base: Fraction, exponent: Node) -> Iterator[Formula]:
        """Yield that a power is one of a table, or between two of it, if its whole exponent has few values."""
        interval = self.bounds.bound(exponent)
        if not interval.is_finite or interval.size > MAX_TABLE:
            return
        powers = {n: base**n for n in range(int(interval.low), int(interval.high) + 1) if base or n >= 0}
        cases = [self.z3.And(self.term(exponent) == n, variable == self.real(power)) for n, power in powers.items()]
        if not self.is_whole and powers:
            between = (variable >= self.real(min(powers.values())), variable <= self.real(max(powers.values())))
            cases.append(self.all_of(between))
        yield self.any_of(cases)

    # --- failures and strings

    def fails(self, node: Node) -> Formula:
        """Return the condition that evaluating a step fails, apart from the steps that it uses and from overflow."""
        failures = [self.all_of(map(self.term, place.conditions)) for place in find_failures(self.pool, node)]
        for aggregate in walk(node, self.pool.anchors):
            if aggregate.op == "aggregate":
                failures += self.cells.list_failures(aggregate)
        return self.any_of(failures)

    def list_contained(self, text: Node) -> list[tuple[str, Formula]]:
        """Return the strings that conditions look for in a string, each with the condition that it occurs."""
        nodes = [
            node for node in self._terms if node.op == "contains" and node.args[0] is text and node.args[1].is_constant
        ]
        return [(node.args[1].value, self.term(node)) for node in nodes]

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
