"""Checked expressions as Python code.

Where the checker has proved that an operation gives a finite value, Python's own operator is printed; elsewhere
a helper that raises with the step's name. Infinity may pass through `+`, `-` and `*` to the end of a formula,
since nothing finite comes out of it there, and is caught once, by the outermost operation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from formulaseed.backends.python.code import Code, literal
from formulaseed.domain import builtins
from formulaseed.domain.builtins import FUNCTIONS, OPERATORS
from formulaseed.domain.types import BOOLEAN, Base
from formulaseed.ir import nodes
from formulaseed.ir.nodes import Expr, Symbol


@dataclass(frozen=True, slots=True)
class Printed:
    """Code of an expression.

    `pending`: its value may still be infinite. `raises`: evaluating it may raise. `floats`: its value is surely a
    float, never an integer: only a float can be infinite, a large integer fails on the way.
    """

    code: Code
    precedence: int
    pending: bool = False
    raises: bool = False
    floats: bool = False

    def at(self, least: int) -> Code:
        return self.code if self.precedence >= least else Code(f"({self.code})")


class ExpressionPrinter:
    """Prints the expressions of one step; `names` gives the code of every symbol that may occur."""

    def __init__(self, names: Mapping[Symbol, Printed], step: str) -> None:
        self.names = names
        self.step = literal(step)
        self._unchained: set[int] = set()
        """The operations of chains that cannot be one call."""
        self._operands: dict[int, Printed] = {}
        """What was printed for such a chain, so that nothing is printed over and over."""

    def finished(self, expression: Expr) -> Printed:
        """The expression as a value that is surely finite, or null, or no number."""
        return self.settled(self.print(expression))

    def settled(self, printed: Printed) -> Printed:
        if not printed.pending:
            return printed
        return Printed(Code(f"_finite({printed.code}, {self.step})"), builtins.ATOM, raises=True, floats=printed.floats)

    def print(self, expression: Expr) -> Printed:
        known = self._operands.get(id(expression))
        return known if known is not None else self._print(expression)

    def _print(self, expression: Expr) -> Printed:
        match expression:
            case nodes.Literal(value):
                code = literal(value)
                precedence = builtins.UNARY if code.startswith("-") else builtins.ATOM
                return Printed(code, precedence, floats=isinstance(value, float))
            case nodes.Ref(symbol):
                return self.names[symbol]
            case nodes.Present(operand):
                name = literal(operand.text if isinstance(operand, nodes.Ref) else "a value")
                inner = self.finished(operand)
                code = Code(f"_present({inner.code}, {name}, {self.step})")
                return Printed(code, builtins.ATOM, raises=True, floats=inner.floats)
            case nodes.Unary(sign, operand):
                inner = self.print(operand)
                return replace(inner, code=Code(f"{sign}{inner.at(builtins.UNARY)}"), precedence=builtins.UNARY)
            case nodes.Binary():
                return self._binary(expression)
            case nodes.Call():
                return self._call(expression)
            case nodes.Comparison():
                return self._comparison(expression)
            case nodes.Logical(word, operands):
                precedence = builtins.AND if word == "and" else builtins.OR
                parts = [self.finished(operand) for operand in operands]
                code = Code(f" {word} ".join(part.at(precedence + 1) for part in parts))
                return Printed(code, precedence, raises=_any_raises(parts), floats=all(part.floats for part in parts))
            case nodes.Not(operand):
                return self._negation(operand)
            case nodes.Conditional(condition, then, otherwise):
                test, yes, no = self.finished(condition), self.print(then), self.print(otherwise)
                if expression.info.ty.nullable:  # the check for infinity does not take null
                    yes, no = self.settled(yes), self.settled(no)
                code = Code(f"{yes.at(builtins.OR)} if {test.at(builtins.OR)} else {no.code}")
                pending, floats = yes.pending or no.pending, yes.floats and no.floats
                return Printed(code, builtins.CONDITIONAL, pending, _any_raises([test, yes, no]), floats)
            case nodes.List(items):
                parts = [self.finished(item) for item in items]
                inside = ", ".join(part.code for part in parts)
                code = Code(f"({inside},)" if len(parts) == 1 else f"({inside})")
                return Printed(code, builtins.ATOM, raises=_any_raises(parts))

    def _binary(self, node: nodes.Binary) -> Printed:
        chain = _chain(node) if id(node) not in self._unchained else []
        if len(chain) > _LONGEST_NESTED:
            printed = self._chained(node, chain)
            if printed is not None:
                return printed
            self._unchained.update(map(id, chain))
        operator = OPERATORS[node.operator]
        left, right = self.print(node.left), self.print(node.right)
        if not node.is_safe:
            floats = node.operator == "/" or left.floats or right.floats
            return replace(
                self._helper(operator.helper, [left, right], node.info.ty.base is Base.INTEGER), floats=floats
            )
        if node.operator in ("+", "-", "*"):
            if left.pending and right.raises:
                left = self.settled(left)
        else:
            right = self.settled(right)
            if node.operator != "/" or right.raises:
                left = self.settled(left)
        precedence = operator.precedence
        if node.operator == "**":
            code = f"{left.at(builtins.ATOM)} ** {right.at(builtins.UNARY)}"
        else:
            code = f"{left.at(precedence)} {node.operator} {right.at(precedence + 1)}"
        pending = left.pending or right.pending or node.may_overflow
        floats = node.operator == "/" or left.floats or right.floats
        printed = Printed(Code(code), precedence, pending, left.raises or right.raises, floats)
        return printed if floats else self.settled(printed)

    def _chained(self, node: nodes.Binary, chain: list[nodes.Binary]) -> Printed | None:
        """A long chain of one operator as one call, since Python reads no two hundred calls inside one another.

        None where the operators can stand side by side, and where an operand fails in its turn.
        """
        operands = []
        for operand in (chain[-1].left, *(each.right for each in reversed(chain))):
            self._operands[id(operand)] = self.print(operand)
            operands.append(self.finished(operand))
        floats = node.operator == "/" or any(operand.floats for operand in operands)
        nests = not floats if node.operator == "*" else any(not each.is_safe for each in chain)
        if not nests or _any_raises(operands[1:]):
            return None
        inside = ", ".join(operand.code for operand in operands)
        code = Code(f"_{_CHAINS[node.operator]}(({inside}), {self.step})")
        return Printed(code, builtins.ATOM, raises=True, floats=floats)

    def _helper(self, name: str | None, arguments: list[Printed], whole: bool) -> Printed:
        if name == "power" and whole:
            name = "whole_power"
        inside = ", ".join(self.settled(argument).code for argument in arguments)
        return Printed(Code(f"_{name}({inside}, {self.step})"), builtins.ATOM, raises=True)

    def _call(self, node: nodes.Call) -> Printed:
        arguments = [self.print(argument) for argument in node.arguments]
        first = node.arguments[0]
        if isinstance(first, nodes.Literal) and type(first.value).__name__ == node.function:
            return arguments[0]  # `float(2.5)` and `int(7)` are what they hold
        function = FUNCTIONS[node.function]
        if not node.is_safe:
            floats = node.function in ("log", "sqrt") or any(argument.floats for argument in arguments)
            return replace(self._helper(function.helper, arguments, node.info.ty.base is Base.INTEGER), floats=floats)
        settled = [self.settled(argument) for argument in arguments]
        raises = _any_raises(settled)
        codes = [argument.code for argument in settled]
        floats = node.function in ("log", "sqrt", "float") or (
            node.info.ty.base is Base.NUMBER
            and all(argument.floats for argument in (settled[:1] if node.function == "round" else settled))
        )
        if node.function == "clamp":
            value, low, high = codes
            return Printed(Code(f"max({low}, min({high}, {value}))"), builtins.ATOM, raises=raises, floats=floats)
        if node.function == "pow":
            code = Code(f"{settled[0].at(builtins.ATOM)} ** {settled[1].at(builtins.UNARY)}")
            return Printed(code, builtins.POWER, raises=raises, floats=any(argument.floats for argument in settled))
        if node.function in ("max", "min") and len(codes) == 1:
            return settled[0]
        name = f"math.{node.function}" if node.function in ("log", "sqrt", "floor", "ceil") else node.function
        return Printed(Code(f"{name}({', '.join(codes)})"), builtins.ATOM, raises=raises, floats=floats)

    def _comparison(self, node: nodes.Comparison) -> Printed:
        operands = [self.finished(operand) for operand in (node.first, *node.rest)]
        if node.is_decided:  # said of any text or number, or a type checker would object to what the seed says
            kind = {Base.INTEGER: "int", Base.NUMBER: "float"}.get(node.first.info.ty.base, "str")
            code = f"{kind}({operands[0].code})"
            if node.may_be_null:
                code = f"(None if {operands[0].at(builtins.ADDITIVE)} is None else {code})"
            operands[0] = replace(operands[0], code=Code(code), precedence=builtins.ATOM)
        parts: list[str] = [operands[0].at(builtins.ADDITIVE)]
        for operator, operand, tree in zip(node.operators, operands[1:], node.rest, strict=True):
            parts += [_operator(operator, tree), operand.at(builtins.ADDITIVE)]
        return Printed(Code(" ".join(parts)), builtins.COMPARISON, raises=_any_raises(operands))

    def _negation(self, operand: Expr) -> Printed:
        """`not` in its plainest form: `x not in y`, `x != y`, and nothing for `not not x`."""
        if isinstance(operand, nodes.Comparison) and operand.operators in (("in",), ("not in",), ("==",), ("!=",)):
            return self.print(replace(operand, operators=(builtins.NEGATED[operand.operators[0]],)))
        if isinstance(operand, nodes.Not) and operand.operand.info.ty == BOOLEAN:
            return self.print(operand.operand)
        inner = self.finished(operand)
        return Printed(Code(f"not {inner.at(builtins.NOT)}"), builtins.NOT, raises=inner.raises)


_CHAINS = {"*": "multiplied", "/": "divided", "//": "floor_divided", "%": "reduced"}
"""The helpers for long chains of an operator."""
_LONGEST_NESTED = 40


def _chain(node: nodes.Binary) -> list[nodes.Binary]:
    """The operation and those on its left that say the same in a row, the outermost first; none for other operators."""
    found: list[nodes.Binary] = []
    left: Expr = node
    while node.operator in _CHAINS and isinstance(left, nodes.Binary) and left.operator == node.operator:
        found.append(left)
        left = left.left
    return found


def _operator(operator: str, right: Expr) -> str:
    """`is` where Python's style guides ask for it: with None, and with True and False for what may be null."""
    if isinstance(right, nodes.Literal) and (right.value is None or isinstance(right.value, bool)):
        return {"==": "is", "!=": "is not"}[operator]
    return operator


def _any_raises(parts: list[Printed]) -> bool:
    return any(part.raises for part in parts)
