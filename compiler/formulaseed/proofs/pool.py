"""Build expressions over exact numbers as nodes of a pool, in which equal expressions are one object.

A node is simplified when it is built, in ways that change no value and lose no failure: constants are computed, whole numbers are
compared by `<=` only, operands are sorted if that changes nothing. Operations with a definition in their table become that.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from fractions import Fraction
from itertools import takewhile
from math import ceil, floor
from typing import Any

from formulaseed.language.functions import FUNCTIONS, Function
from formulaseed.language.operators import OPERATORS
from formulaseed.language.typed import Symbol
from formulaseed.language.types import Base, Value
from formulaseed.proofs.intervals import Bounds
from formulaseed.proofs.nodes import NO_FIELDS, Constant, Interval, Node, Segment, is_apart, is_short, to_constant
from formulaseed.proofs.world import Domain

_MAX_PRODUCT = 8
"""The most factors of a power that becomes a product."""
_MAX_TABLE = 64
"""The largest exponent of a power of a constant."""


class Pool:
    """The `nodes` of programs by their content, their `bounds`, and `anchors`: values of steps in the order of evaluation."""

    def __init__(self, domain: Domain) -> None:
        self.nodes: dict[tuple[Any, ...], Node] = {}
        self.domain = domain
        self.bounds = Bounds(domain)
        self.anchors: dict[Node, None] = {}
        self.true = self.constant(True)
        self.false = self.constant(False)
        self._builders: dict[str, Callable[..., Node]] = {
            "and": self.conjoin, "or": self.disjoin, "not": self.negate, "switch": self.switch, "eq": self.equate,
            "lt": lambda a, b: self.order(a, b, is_strict=True), "le": lambda a, b: self.order(a, b, is_strict=False),
            "is_null": self.is_null, "present": self.present, "contains": self.contains,
        }  # fmt: skip

    def _intern(
        self, op: str, args: tuple[Node, ...], value: Any, base: Base, *, nullable: bool = False, fails: bool = False
    ) -> Node:
        """Return the node with this content, which is new if the pool has none."""
        key = (op, args, value, base)
        node = self.nodes.get(key)
        if node is None:
            symbol = getattr(value, "symbol", value)  # of a segment
            is_field = isinstance(symbol, Symbol) and symbol.is_per_review
            own = frozenset({symbol}) if is_field else NO_FIELDS
            fields = own.union(*(arg.fields for arg in args if op != "aggregate"))
            may_fail = fails or any(arg.may_fail for arg in args)
            node = Node(len(self.nodes), op, args, value, base, nullable, fields, may_fail)
            self.nodes[key] = node
        return node

    def list_earlier(self, node: Node) -> set[Node]:
        """Return the values of steps that are evaluated before a node, which may be the value of a step itself."""
        return set(takewhile(lambda anchor: anchor is not node, self.anchors))

    def _intern_condition(self, op: str, *args: Node) -> Node:
        """Return the node of a condition."""
        return self._intern(op, args, None, Base.BOOLEAN)

    def constant(self, value: Constant) -> Node:
        """Return a constant, whole if it has no decimals; of a number with too many digits, a node for any value."""
        base = Base.NULL
        if isinstance(value, bool):
            base = Base.BOOLEAN
        elif isinstance(value, str):
            base = Base.STRING
        elif value is not None:
            base = Base.INTEGER if value.denominator == 1 else Base.NUMBER
        op = "long" if isinstance(value, Fraction) and not is_short(value) else "const"
        return self._intern(op, (), value, base, nullable=value is None)

    def literal(self, value: Value) -> Node:
        """Return the constant of a value of a seed."""
        return self.constant(to_constant(value))

    def number(self, value: int | Fraction) -> Node:
        """Return the constant of a number."""
        return self.constant(Fraction(value))

    def input(self, symbol: Symbol, base: Base, *, nullable: bool) -> Node:
        """Return the value of a field or parameter."""
        return self._intern("input", (), symbol, base, nullable=nullable)

    def field(self, symbol: Symbol) -> Node:
        """Return the value of a field or parameter of the domain."""
        known = self.domain.fields[symbol]
        return self.input(symbol, known.base, nullable=known.nullable)

    def segment(self, segment: Segment, base: Base) -> Node:
        """Return the value of a field or step of which only its segment is known; a constant if that is one number."""
        low, high = segment.interval[:2]
        if low == high:
            return self.number(Fraction(low))
        return self._intern("segment", (), segment, base)

    def failure(self, base: Base) -> Node:
        """Return an expression that always fails."""
        return self._intern("fail", (), None, base, fails=True)

    def build(self, op: str, args: tuple[Node, ...], value: Any, base: Base) -> Node:
        """Return the operation of these operands, simplified. `base` is used for operations that do not determine theirs."""
        if op in self._builders:
            return self._builders[op](*args)
        if op in OPERATORS:
            return self.compute(op, *args)
        return self.call(op, *args, base=base) if op in FUNCTIONS else self._intern(op, args, value, base)

    def compute(self, operator: str, left: Node, right: Node) -> Node:
        """Return an arithmetic operation of two numbers."""
        entry = OPERATORS[operator]
        if left.holds(None) or right.holds(None):
            return self.failure(Base.NUMBER)
        if entry.definition is not None:
            return entry.definition(self, left, right)  # type: ignore[no-any-return]  # a term is a node
        if operator == "**":
            return self._raise(left, right)
        is_total = not entry.is_partial or (right.is_constant and right.value != 0)
        if left.is_constant and right.is_constant and is_total:
            return self.number(Fraction(entry.apply(left.value, right.value)))
        unchanged = self._find_unchanged(operator, left, right)
        if unchanged is not None:
            return unchanged
        if operator in "+*" and right.number < left.number:  # floats commute, too
            left, right = right, left
        is_whole = operator != "/" and left.base is right.base is Base.INTEGER
        base = Base.INTEGER if is_whole else Base.NUMBER
        return self._intern(operator, (left, right), None, base, fails=not is_total)

    def _find_unchanged(self, op: str, left: Node, right: Node) -> Node | None:
        """Return the operand that is the result, such as x of x + 0, x * 1 and 0 of 0 * x; None if neither is."""
        neutral = Fraction(0) if op in "+-" else Fraction(1)
        if right.holds(neutral):
            return left
        if op in "+*" and left.holds(neutral):
            return right
        if op == "-" and left.holds(Fraction(0)) and right.op == "-" and right.args[0] is left:
            return right.args[1]
        is_zero = op == "*" and not (left.may_fail or right.may_fail)
        return next((operand for operand in (left, right) if is_zero and operand.holds(Fraction(0))), None)

    def _raise(self, base: Node, exponent: Node) -> Node:
        """Return a power: a product for a small constant exponent, a table for a constant base and few exponents."""
        if exponent.holds(Fraction(0)) and not base.may_fail:
            return self.number(1)
        is_whole = exponent.is_constant and exponent.value.denominator == 1
        if is_whole and 0 < exponent.value * base.count_factors(self.anchors) <= _MAX_PRODUCT:
            half = self._raise(base, self.number(exponent.value // 2)) if exponent.value > 1 else self.number(1)
            square = self.compute("*", half, half)
            return self.compute("*", square, base) if exponent.value % 2 else square
        power = self._intern("**", (base, exponent), None, Base.NUMBER, fails=True)
        if not (base.is_constant and base.value > 0 and exponent.base is Base.INTEGER):
            return power
        low, high = self.bounds.bound(exponent)[:2]
        if low >= -_MAX_TABLE and high <= _MAX_TABLE:
            whole = range(int(low), int(high) + exponent.may_fail)
            arms = [node for n in whole for node in (self.equate(exponent, self.number(n)), self.number(base.value**n))]
            return self.switch(*arms, self.number(base.value ** int(high)))
        power = self.call("max", power, self.number(0))
        if base.value <= 1 and low >= 0:
            power = self.call("min", power, self.number(1))
        return power

    def call(self, function: str, *operands: Node, base: Base = Base.NUMBER) -> Node:
        """Return a call; `base` is that of its value if proofs do not know the function."""
        entry = FUNCTIONS[function]
        if entry.definition is not None:
            return entry.definition(self, *operands)  # type: ignore[no-any-return]  # a term is a node
        if any(operand.holds(None) for operand in operands):
            return self.failure(base)
        if entry.is_extreme:
            return self._select(entry, operands)
        if entry.rounds:
            return self._round(entry, *operands)
        return self._intern(function, operands, None, base, fails=bool(entry.failures))

    def _select(self, entry: Function, operands: Iterable[Node]) -> Node:
        """Return the extreme of the operands, of which constants are joined."""
        varying = list(dict.fromkeys(operand for operand in operands if not operand.is_constant))
        constants = [operand.value for operand in operands if operand.is_constant]
        if constants:
            varying.append(self.number(entry.apply(*constants) if len(constants) > 1 else constants[0]))
        if len(varying) == 1:
            return varying[0]
        if not any(operand.may_fail for operand in varying):
            varying.sort(key=lambda operand: operand.number)
        is_whole = all(operand.base is Base.INTEGER for operand in varying)
        return self._intern(entry.name, tuple(varying), None, Base.INTEGER if is_whole else Base.NUMBER)

    def _round(self, entry: Function, operand: Node, *digits: Node) -> Node:
        """Return a number rounded to a whole one, or to a constant number of decimal places."""
        places = int(digits[0].value) if digits else 0
        if operand.base is Base.INTEGER and places >= 0:
            return operand
        if operand.is_constant:
            return self.number(entry.apply(operand.value, *(places for _ in digits)))
        return self._intern(entry.name, (operand, *digits), None, Base.INTEGER if places <= 0 else Base.NUMBER)

    def total(self, where: Node, operand: Node) -> Node:
        """Return the sum of an operand over the reviews for which `where` is true."""
        is_nothing = where.holds(False) or (operand.holds(Fraction(0)) and not where.may_fail)
        return self.number(0) if is_nothing else self._intern("aggregate", (where, operand), "total", operand.base)

    def count(self, where: Node) -> Node:
        """Return the number of reviews for which `where` is true."""
        return self.total(where, self.number(1))

    def highest(self, where: Node, operand: Node) -> Node:
        """Return the largest value of an operand over the reviews for which `where` is true; over none, any number."""
        return self._intern("aggregate", (where, operand), "highest", operand.base)

    def unknown_aggregate(self, name: str, where: Node, operand: Node, base: Base = Base.NUMBER) -> Node:
        """Return the value of an aggregate of which nothing is known but its name and its operands."""
        return self._intern("aggregate", (where, operand), name, base)

    def is_null(self, operand: Node) -> Node:
        """Return the condition that a value is null."""
        if operand.is_constant:
            return self.constant(operand.value is None)
        if operand.nullable:
            return self._intern_condition("is_null", operand)
        return self.conjoin(self.equate(operand, operand), self.false) if operand.may_fail else self.false

    def present(self, operand: Node) -> Node:
        """Return a value, whose evaluation fails if it is null."""
        if not operand.nullable:
            return operand
        if operand.is_constant:
            return self.failure(Base.NUMBER)
        return self._intern("present", (operand,), None, operand.base, fails=True)

    def negate(self, condition: Node) -> Node:
        """Return the opposite of a condition."""
        if condition.is_constant:
            return self.constant(not condition.value)
        match condition.op:
            case "not":
                return condition.args[0]
            case "lt" | "le":
                return self.order(condition.args[1], condition.args[0], is_strict=condition.op == "le")
        return self._intern_condition("not", condition)

    def conjoin(self, *conditions: Node) -> Node:
        """Return the condition that all conditions hold; those after the first false one are not evaluated."""
        return self._join("and", conditions, self.true, self.false)

    def disjoin(self, *conditions: Node) -> Node:
        """Return the condition that one of the conditions holds; those after it are not evaluated."""
        return self._join("or", conditions, self.false, self.true)

    def either(self, *conditions: Node) -> Node:
        """Return the condition that one of the conditions holds, all of which are evaluated."""
        if any(condition.may_fail for condition in conditions):
            return self._intern_condition("either", *conditions)
        return self.disjoin(*conditions)

    def _join(self, op: str, conditions: Iterable[Node], neutral: Node, absorbing: Node) -> Node:
        """Return `and` or `or` of the conditions, without those that are `neutral` and after one that is `absorbing`."""
        parts: dict[Node, None] = {}
        for condition in conditions:
            is_inlined = condition.op == op and condition not in self.anchors
            parts.update(dict.fromkeys(condition.args if is_inlined else (condition,)))
        parts.pop(neutral, None)
        operands = list(parts)
        if absorbing in parts:
            operands = operands[: operands.index(absorbing) + 1]
        if not any(operand.may_fail for operand in operands):
            if absorbing in parts or any(part.op == "not" and part.args[0] in parts for part in operands):
                return absorbing
            operands.sort(key=lambda operand: operand.number)
        if len(operands) < 2:
            return operands[0] if operands else neutral
        return self._intern_condition(op, *operands)

    def truth(self, operand: Node) -> Node:
        """Return the condition that a value counts as true: it is not null, 0, "" or false."""
        if operand.nullable:
            return self.conjoin(self.negate(self.is_null(operand)), self.truth(self.present(operand)))
        if operand.base is Base.BOOLEAN:
            return operand
        return self.negate(self.equate(operand, self.constant("" if operand.base is Base.STRING else Fraction(0))))

    def equate(self, left: Node, right: Node) -> Node:
        """Return the condition that two values are equal, or both null."""
        if left.is_constant and right.is_constant:
            return self.constant(type(left.value) is type(right.value) and left.value == right.value)
        if left is right and not left.may_fail:
            return self.true
        for node, other in ((left, right), (right, left)):
            if node.holds(None):
                return self.is_null(other)
            if node.is_truth and not other.nullable:
                return other if node.value else self.negate(other)
        if left.nullable or right.nullable:
            return self._equate_nullable(left, right)
        if is_apart(left, right) or is_apart(right, left):
            return self.false
        return self._intern_condition("eq", *sorted((left, right), key=lambda operand: operand.number))

    def _equate_nullable(self, left: Node, right: Node) -> Node:
        """Return the condition that two values are equal, of which one may be null; both are evaluated in any case."""
        nulls = self.is_null(left), self.is_null(right)
        values = self.equate(self.present(left), self.present(right))
        evaluated = (self.conjoin(null, self.false) for null in nulls)
        return self.either(self.conjoin(*nulls), self.conjoin(*map(self.negate, nulls), values), *evaluated)

    def order(self, left: Node, right: Node, *, is_strict: bool) -> Node:
        """Return the condition that `left` is at most `right`, or below it if `is_strict`."""
        if left.holds(None) or right.holds(None):
            return self.failure(Base.BOOLEAN)
        if left is right and not left.may_fail:
            return self.constant(not is_strict)
        answer = left.interval.decide_order(right.interval, is_strict=is_strict)
        if answer is not None:
            return self.constant(answer)
        if left.base is Base.INTEGER and right.is_constant:
            right, is_strict = self.number(ceil(right.value) - 1 if is_strict else floor(right.value)), False
        elif right.base is Base.INTEGER and left.is_constant:
            left, is_strict = self.number(floor(left.value) + 1 if is_strict else ceil(left.value)), False
        return self._intern_condition("lt" if is_strict else "le", left, right)

    def limit(self, number: Node, interval: Interval, factor: Node) -> Node:
        """Return the condition that a number is between the ends of an interval, which are multiplied by `factor`."""
        tests: list[Node] = []
        if isinstance(interval.low, Fraction):
            tests.append(self.order(self.compute("*", factor, self.number(interval.low)), number, is_strict=False))
        if isinstance(interval.high, Fraction):
            tests.append(self.order(number, self.compute("*", factor, self.number(interval.high)), is_strict=False))
        return self.conjoin(*tests)

    def compare(self, sign: str, left: Node, right: Node) -> Node:
        """Return the comparison of two values by an operator of the language, an equality or an order."""
        if sign in ("==", "!="):
            is_equal = self.equate(left, right)
            return is_equal if sign == "==" else self.negate(is_equal)
        low, high = (left, right) if "<" in sign else (right, left)
        return self.order(low, high, is_strict="=" not in sign)

    def contains(self, text: Node, part: Node) -> Node:
        """Return the condition that the string `part` occurs in the string `text`."""
        if text.holds(None) or part.holds(None):
            return self.failure(Base.BOOLEAN)
        if part.holds("") and not text.may_fail:
            return self.true
        if text.is_constant and part.is_constant:
            return self.constant(part.value in text.value)
        return self._intern_condition("contains", text, part)

    def _list_arms(self, args: tuple[Node, ...]) -> tuple[list[Node], Node]:
        """Return the arguments of a switch without arms that are never chosen or change nothing, and its last value."""
        arms: list[Node] = []
        otherwise = args[-1]
        for condition, value in zip(args[:-1:2], args[1::2], strict=True):
            if condition.holds(True):
                otherwise = value
                break
            if not condition.holds(False):
                arms += (condition, value)
        if otherwise.op == "switch" and otherwise not in self.anchors:
            arms += otherwise.args[:-1]
            otherwise = otherwise.args[-1]
        while arms and arms[-1] is otherwise and not arms[-2].may_fail:
            del arms[-2:]
        return arms, otherwise

    def switch(self, *args: Node) -> Node:
        """Return the value after the first condition that is true: `args` are pairs of both, then the value if none is."""
        arms, otherwise = self._list_arms(args)
        if not arms:
            return otherwise
        if len(arms) == 2 and arms[1].is_truth and otherwise.is_truth and arms[1] is not otherwise:
            return arms[0] if arms[1].value else self.negate(arms[0])
        values = [*arms[1::2], otherwise]
        bases = {value.base for value in values if value.op != "fail"} - {Base.NULL}
        base = next(iter(bases), Base.NULL) if len(bases) < 2 else Base.NUMBER
        return self._intern("switch", (*arms, otherwise), None, base, nullable=any(value.nullable for value in values))

    def substitute(self, node: Node, new: Mapping[Node, Node], memo: dict[Node, Node], stops: Container[Node]) -> Node:
        """Return a node with nodes of `new` in place of those in it; those in `stops` stay, unless `new` has them.

        `memo` caches results, and must be used for these arguments only.
        """
        if node in new:
            return new[node]
        if not node.args or node.op == "aggregate":
            return node
        if node not in memo:
            args = tuple(
                arg if arg in stops and arg not in new else self.substitute(arg, new, memo, stops) for arg in node.args
            )
            memo[node] = node if args == node.args else self.build(node.op, args, node.value, node.base)
        return memo[node]
