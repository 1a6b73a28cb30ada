"""Build expressions over exact numbers as nodes of a pool, in which equal expressions are one object.

A node is simplified when it is built, in ways that change no value: constants are computed, comparisons of whole numbers use `<=`
only, and the operands of commutative operations are sorted unless one of them may fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from math import ceil, floor
from typing import Any

from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.operators import NEGATED, OPERATORS
from formulaseed.language.typed import Symbol
from formulaseed.language.types import Base
from formulaseed.proofs.nodes import NO_FIELDS, ROUNDING, Constant, Node, Segment

_MAX_EXPONENT = 64
_WHOLE_RESULTS = ("//", "%", "+", "-", "*", "max", "min")
"""Operations whose result is a whole number if all operands are."""


class Pool:
    """The nodes of one or several programs. `anchors` are nodes that are values of steps, in the order of evaluation."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[Any, ...], Node] = {}
        self.anchors: dict[Node, None] = {}
        self.true = self.constant(True)
        self.false = self.constant(False)
        self._builders: dict[str, Callable[..., Node]] = {
            "and": self.conjoin, "or": self.disjoin, "not": self.negate, "switch": self.switch, "eq": self.equate,
            "lt": lambda a, b: self.order(a, b, is_strict=True), "le": lambda a, b: self.order(a, b, is_strict=False),
            "is_null": self.is_null, "present": self.present, "contains": self.contains, "max": self.extreme("max"),
            "min": self.extreme("min"),
        }  # fmt: skip

    def _intern(
        self,
        op: str,
        args: tuple[Node, ...],
        value: Any,
        base: Base,
        *,
        nullable: bool = False,
        fails: bool = False,
        fields: frozenset[Symbol] = NO_FIELDS,
    ) -> Node:
        """Return the node with this content, which is new if the pool has none. `fields` are those of a leaf."""
        key = (op, args, value, base)
        node = self._nodes.get(key)
        if node is None:
            if op != "aggregate":
                fields = fields.union(*(arg.fields for arg in args))
            may_fail = fails or any(arg.may_fail for arg in args)
            node = Node(len(self._nodes), op, args, value, base, nullable, fields, may_fail)
            self._nodes[key] = node
        return node

    def constant(self, value: Constant) -> Node:
        """Return a constant. A number without decimals is a whole number, whatever its type in the seed."""
        base = Base.NULL
        if isinstance(value, bool):
            base = Base.BOOLEAN
        elif isinstance(value, str):
            base = Base.STRING
        elif value is not None:
            base = Base.INTEGER if value.denominator == 1 else Base.NUMBER
        return self._intern("const", (), value, base, nullable=value is None)

    def number(self, value: int | Fraction) -> Node:
        """Return the constant of a number."""
        return self.constant(Fraction(value))

    def input(self, symbol: Symbol, base: Base, *, nullable: bool) -> Node:
        """Return the value of a field or parameter."""
        fields = frozenset({symbol}) if symbol.is_per_review else NO_FIELDS
        return self._intern("input", (), symbol, base, nullable=nullable, fields=fields)

    def segment(self, segment: Segment, base: Base) -> Node:
        """Return the value of a field of which only its segment is known."""
        return self._intern("segment", (), segment, base, fields=frozenset({segment.symbol}))

    def failure(self, kind: str, base: Base) -> Node:
        """Return an expression that always fails with a fault of this kind."""
        return self._intern("fail", (), kind, base, fails=True)

    def build(self, op: str, args: tuple[Node, ...], value: Any = None, base: Base = Base.NUMBER) -> Node:
        """Return the operation of these operands, simplified. `base` is used for operations that do not determine theirs."""
        builder = self._builders.get(op)
        if builder is not None:
            return builder(*args)
        if op in ROUNDING:
            return self.round_to_whole(op, *args)
        if op in OPERATORS:
            return self.compute(op, *args)
        if op == "round":
            return self.round_decimals(args[0], value)
        return self._intern(op, args, value, base, fails=op in FUNCTIONS and bool(FUNCTIONS[op].failures))

    def compute(self, op: str, left: Node, right: Node) -> Node:
        """Return an arithmetic operation of two numbers."""
        if left.holds(None) or right.holds(None):
            return self.failure("null", Base.NUMBER)
        if left.is_constant and right.is_constant:
            result = _fold(op, left.value, right.value)
            if result is not None:
                return self.number(result)
        unchanged = self._find_unchanged(op, left, right)
        if unchanged is not None:
            return unchanged
        if op in "+*" and right.number < left.number:  # floats commute, too
            left, right = right, left
        is_total = op in "+-*" or (op in ("/", "//", "%") and right.is_constant and right.value != 0)
        return self._intern(op, (left, right), None, _base_of(op, left, right), fails=not is_total)

    def _find_unchanged(self, op: str, left: Node, right: Node) -> Node | None:
        """Return the operand that is the result, such as x of x + 0, x * 1 and 0 of 0 * x; None if neither is."""
        neutral = Fraction(0) if op in "+-" else Fraction(1)
        if op in ("+", "-", "*", "/", "**") and right.holds(neutral):
            return left
        if op in "+*" and left.holds(neutral):
            return right
        is_zero = op == "*" and not (left.may_fail or right.may_fail)
        return next((operand for operand in (left, right) if is_zero and operand.holds(Fraction(0))), None)

    def subtract_from_zero(self, operand: Node) -> Node:
        """Return a number with the opposite sign."""
        return self.compute("-", self.number(0), operand)

    def round_to_whole(self, op: str, operand: Node) -> Node:
        """Return a number rounded to a whole one by `floor`, `ceil` or `trunc`."""
        if operand.base is Base.INTEGER:
            return operand
        if operand.is_constant and operand.value is not None:
            return self.number(ROUNDING[op](operand.value))
        return self._intern(op, (operand,), None, Base.INTEGER)

    def round_decimals(self, operand: Node, digits: int) -> Node:
        """Return a number rounded to `digits` decimal places, halves to even."""
        if operand.base is Base.INTEGER and digits >= 0:
            return operand
        if operand.is_constant and operand.value is not None:
            return self.number(round(operand.value, digits))
        return self._intern("round", (operand,), digits, Base.INTEGER if digits <= 0 else Base.NUMBER)

    def extreme(self, op: str) -> Callable[..., Node]:
        """Return a builder of `max` or `min` of several numbers."""
        choose = max if op == "max" else min

        def build(*operands: Node) -> Node:
            """Return the extreme of the operands, of which constants are joined."""
            if any(operand.holds(None) for operand in operands):
                return self.failure("null", Base.NUMBER)
            varying = list(dict.fromkeys(operand for operand in operands if not operand.is_constant))
            constants = [operand.value for operand in operands if operand.is_constant]
            if constants:
                varying.append(self.number(choose(constants)))
            if len(varying) == 1:
                return varying[0]
            if not any(operand.may_fail for operand in varying):
                varying.sort(key=lambda operand: operand.number)
            is_whole = all(operand.base is Base.INTEGER for operand in varying)
            return self._intern(op, tuple(varying), None, Base.INTEGER if is_whole else Base.NUMBER)

        return build

    def aggregate(self, function: str, where: Node, operand: Node | None, base: Base) -> Node:
        """Return an aggregate over the reviews for which `where` is true; over none, that of `max` and `min` is any number."""
        args = (where,) if operand is None else (where, operand)
        if where.holds(False) and function not in ("max", "min"):
            return self.number(0)
        return self._intern("aggregate", args, function, base)

    def is_null(self, operand: Node) -> Node:
        """Return the condition that a value is null."""
        if operand.is_constant:
            return self.constant(operand.value is None)
        if not operand.nullable:
            return self.false
        return self._intern("is_null", (operand,), None, Base.BOOLEAN)

    def present(self, operand: Node) -> Node:
        """Return a value, whose evaluation fails if it is null."""
        if not operand.nullable:
            return operand
        if operand.is_constant:
            return self.failure("null", Base.NUMBER)
        return self._intern("present", (operand,), None, operand.base, fails=True)

    def negate(self, condition: Node) -> Node:
        """Return the opposite of a condition."""
        if condition.is_constant:
            return self.constant(not condition.value)
        match condition.op:
            case "not":
                return condition.args[0]
            case "lt":
                return self.order(condition.args[1], condition.args[0], is_strict=False)
            case "le":
                return self.order(condition.args[1], condition.args[0], is_strict=True)
        return self._intern("not", (condition,), None, Base.BOOLEAN)

    def conjoin(self, *conditions: Node) -> Node:
        """Return the condition that all conditions hold; those after the first false one are not evaluated."""
        return self._join("and", conditions, self.true, self.false)

    def disjoin(self, *conditions: Node) -> Node:
        """Return the condition that one of the conditions holds; those after it are not evaluated."""
        return self._join("or", conditions, self.false, self.true)

    def _join(self, op: str, conditions: Iterable[Node], neutral: Node, absorbing: Node) -> Node:
        """Return `and` or `or` of the conditions, without those that are `neutral` and after one that is `absorbing`."""
        parts: dict[Node, None] = {}
        for condition in conditions:
            is_inlined = condition.op == op and condition not in self.anchors
            parts.update(dict.fromkeys(condition.args if is_inlined else (condition,)))
        parts.pop(neutral, None)
        operands = list(parts)
        may_fail = any(operand.may_fail for operand in operands)
        if absorbing in parts:
            operands = operands[: operands.index(absorbing) + 1]
            may_fail = any(operand.may_fail for operand in operands)
            if not may_fail:
                return absorbing
        if not may_fail:
            if any(operand.op == "not" and operand.args[0] in parts for operand in operands):
                return absorbing
            operands.sort(key=lambda operand: operand.number)
        if len(operands) < 2:
            return operands[0] if operands else neutral
        return self._intern(op, tuple(operands), None, Base.BOOLEAN)

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
            if node.is_constant and (node.value is None or (node.base is Base.BOOLEAN and not other.nullable)):
                return self._equate_constant(other, node.value)
        if left.nullable or right.nullable:
            return self._equate_nullable(left, right)
        if not (_may_be(left, right) and _may_be(right, left)):
            return self.false
        operands = sorted((left, right), key=lambda operand: operand.number)
        return self._intern("eq", tuple(operands), None, Base.BOOLEAN)

    def _equate_constant(self, node: Node, value: bool | None) -> Node:
        """Return the condition that a node is null, or a condition is true or false."""
        if value is None:
            return self.is_null(node)
        return node if value else self.negate(node)

    def _equate_nullable(self, left: Node, right: Node) -> Node:
        """Return the condition that both values are null, or neither is and they are equal."""
        nulls = self.is_null(left), self.is_null(right)
        values = self.equate(self.present(left), self.present(right))
        return self.disjoin(self.conjoin(*nulls), self.conjoin(*map(self.negate, nulls), values))

    def order(self, left: Node, right: Node, *, is_strict: bool) -> Node:
        """Return the condition that `left` is at most `right`, or below it if `is_strict`."""
        if left.holds(None) or right.holds(None):
            return self.failure("null", Base.BOOLEAN)
        if left is right and not left.may_fail:
            return self.constant(not is_strict)
        answer = _decide_order(left, right, is_strict=is_strict)
        if answer is not None:
            return self.constant(answer)
        if left.base is Base.INTEGER and right.is_constant:
            right, is_strict = self.number(ceil(right.value) - 1 if is_strict else floor(right.value)), False
        elif right.base is Base.INTEGER and left.is_constant:
            left, is_strict = self.number(floor(left.value) + 1 if is_strict else ceil(left.value)), False
        return self._intern("lt" if is_strict else "le", (left, right), None, Base.BOOLEAN)

    def compare(self, sign: str, left: Node, right: Node) -> Node:
        """Return the comparison of two values by an operator of the language, an equality or an order."""
        match sign:
            case "==":
                return self.equate(left, right)
            case "<" | "<=":
                return self.order(left, right, is_strict=sign == "<")
            case ">" | ">=":
                return self.order(right, left, is_strict=sign == ">")
        return self.negate(self.compare(NEGATED[sign], left, right))

    def contains(self, text: Node, part: Node) -> Node:
        """Return the condition that the string `part` occurs in the string `text`."""
        if text.holds(None) or part.holds(None):
            return self.failure("null", Base.BOOLEAN)
        if part.holds("") and not text.may_fail:
            return self.true
        if text.is_constant and part.is_constant:
            return self.constant(part.value in text.value)
        if text.op == "switch" and all(value.is_constant for value in text.args[1::2] + text.args[-1:]):
            return self.switch(*_map_values(text.args, lambda value: self.contains(value, part)))
        return self._intern("contains", (text, part), None, Base.BOOLEAN)

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
        if len(arms) == 2 and otherwise.base is Base.BOOLEAN and arms[1].is_constant and otherwise.is_constant:
            return arms[0] if arms[1].value else self.negate(arms[0])
        values = [*arms[1::2], otherwise]
        bases = {value.base for value in values if value.op != "fail"} - {Base.NULL}
        base = next(iter(bases), Base.NULL) if len(bases) < 2 else Base.NUMBER
        return self._intern("switch", (*arms, otherwise), None, base, nullable=any(value.nullable for value in values))

    def substitute(self, node: Node, replacements: Mapping[Node, Node], memo: dict[Node, Node]) -> Node:
        """Return a node with other nodes in place of some; `memo` caches results, and must be used for `replacements` only."""
        if node in replacements:
            return replacements[node]
        if not node.args or node.op == "aggregate" or not node.fields:
            return node
        if node not in memo:
            args = tuple(self.substitute(arg, replacements, memo) for arg in node.args)
            memo[node] = node if args == node.args else self.build(node.op, args, node.value, node.base)
        return memo[node]


def _map_values(args: tuple[Node, ...], change: Callable[[Node], Node]) -> list[Node]:
    """Return the arguments of a switch with `change` applied to its values."""
    last = len(args) - 1
    return [change(arg) if place % 2 == 1 or place == last else arg for place, arg in enumerate(args)]


def _base_of(op: str, left: Node, right: Node) -> Base:
    """Return INTEGER if the result of an operation is always a whole number, else NUMBER."""
    is_whole = op in _WHOLE_RESULTS or (op == "**" and right.is_constant and right.value >= 0)
    return Base.INTEGER if is_whole and left.base is right.base is Base.INTEGER else Base.NUMBER


def _may_be(node: Node, other: Node) -> bool:
    """Return False if the node is never equal to the other one, which is a constant; True if it may be."""
    if not other.is_constant:
        return True
    if node.op == "segment":
        return bool(node.value.may_equal(other.value))
    return not (node.base is Base.INTEGER and other.base is Base.NUMBER)


def _decide_order(left: Node, right: Node, *, is_strict: bool) -> bool | None:
    """Return whether a constant or segment is at most, or below, a constant or segment; None if it depends."""
    if left.is_constant and right.is_constant:
        return bool(left.value < right.value if is_strict else left.value <= right.value)
    answer: bool | None = None
    if left.op == "segment" and right.is_constant:
        answer = left.value.is_below(right.value, is_strict=is_strict)
    if right.op == "segment" and left.is_constant:
        answer = right.value.mirror().is_below(-left.value, is_strict=is_strict)
    return answer


def _fold(op: str, left: Fraction, right: Fraction) -> Fraction | None:
    """Return the exact result of an operation of two constants; None if it has none or is too large to compute."""
    if op == "**":
        if right.denominator != 1 or abs(right) > _MAX_EXPONENT or (left == 0 and right < 0):
            return None
        power = left ** int(right)
        return power if isinstance(power, Fraction) else Fraction(power)
    if op in ("/", "//", "%") and right == 0:
        return None
    return Fraction(OPERATORS[op].apply(left, right))
