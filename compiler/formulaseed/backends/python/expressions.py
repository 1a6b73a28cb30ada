"""Checked expressions as Python code.

Where the checker has proved that an operation gives a finite value, Python's own operator is printed; elsewhere
a helper that raises with the step's name. Infinity may pass through `+`, `-` and `*` to the end of a formula,
since nothing finite comes out of it there, and is caught once, by the outermost operation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from formulaseed.backends.python.code import Code, literal, tuple_text
from formulaseed.backends.python.functions import BACKEND, default_flag, fault_name, helper_name
from formulaseed.backends.python.names import Names
from formulaseed.language import operators, typed
from formulaseed.language.functions import FUNCTIONS, TO_FLOAT
from formulaseed.language.operators import OPERATORS, Operation, Spelling
from formulaseed.language.printer import operand_precedences, parenthesized
from formulaseed.language.typed import Expr, Symbol
from formulaseed.language.types import BOOLEAN, Base

EMPTY: Mapping[Code, Code] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Printed:
    """Code of an expression.

    `pending`: its value may still be infinite. `raises`: evaluating it may raise. `floats`: its value is surely a
    float, never an integer: only a float can be infinite, a large integer fails on the way. `depth`: how many brackets
    stand inside one another.
    """

    code: Code
    precedence: int
    pending: bool = False
    raises: bool = False
    floats: bool = False
    depth: int = 0

    def at(self, least: int) -> Code:
        return Code(parenthesized(self.code, self.precedence, least))

    def depth_at(self, least: int) -> int:
        return self.depth if self.precedence >= least else self.depth + 1


class Parts:
    """The locals that parts of long formulas are computed into: one for each part, however often it is printed."""

    def __init__(self, scope: Names) -> None:
        self._scope = scope
        self._named: dict[int, tuple[Expr, Code]] = {}

    def local(self, part: Expr) -> Code:
        if id(part) not in self._named:
            self._named[id(part)] = part, self._scope.local("part")
        return self._named[id(part)][1]


class ExpressionPrinter:
    """Prints the expressions of one step.

    `names` has the code of every symbol that may occur, `constants` the name of a list by the list as it is printed.
    """

    def __init__(
        self, names: Mapping[Symbol, Printed], step: str, parts: Parts, constants: Mapping[Code, Code] = EMPTY
    ) -> None:
        self.names = names
        self.step = literal(step)
        self.parts = parts
        self.constants = constants
        self._native: typed.Call | None = None
        self._parted: dict[Code, tuple[list[Printed], Printed]] = {}
        """Code that computes parts first, as these and the operation on them that comes last."""

    def with_native(self, call: typed.Call) -> ExpressionPrinter:
        """Return a printer that writes this call as Python's own function, whose error is caught around it."""
        printer = ExpressionPrinter(self.names, "", self.parts, self.constants)
        printer.step, printer._native = self.step, call
        return printer

    def fault(self, call: typed.Call) -> Code:
        """The error of a call that Python refuses."""
        arguments = ", ".join(self.finished(argument).code for argument in call.arguments)
        return Code(f"{fault_name(FUNCTIONS[call.function])}({arguments}, {self.step})")

    def finished(self, expression: Expr, *, as_float: bool = False) -> Printed:
        """The expression as a value that is surely finite, or null, or no number; of numbers a float if `as_float`."""
        return self.settled(self.print(expression, as_float=as_float))

    def settled(self, printed: Printed) -> Printed:
        if not printed.pending:
            return printed
        before, last = self._parted.get(printed.code, ([], printed))
        code = Code(f"_finite({last.code}, {self.step})")
        checked = Printed(code, operators.ATOM, raises=True, floats=last.floats, depth=last.depth + 1)
        return self._after(before, checked)

    def print(self, expression: Expr, *, as_float: bool = False) -> Printed:
        """Print an expression; with `as_float` integers become floats where they are its value, which says the least."""
        if not as_float or expression.info.ty.base is Base.NULL:
            return self._print(expression)
        match expression:
            case typed.Literal(value) if isinstance(value, int):
                return self._print(replace(expression, value=float(value)))
            case typed.Conditional():
                return self._conditional(expression, as_float=True)
            case typed.Logical():
                return self._logical(expression, as_float=True)
            case typed.Call(name) if FUNCTIONS[name].chooses and not expression.info.ty.nullable:
                return self._call(expression, as_float=True)
            case typed.Call(TO_FLOAT.name, (argument,)) if (
                argument.info.ty.is_numeric and not argument.info.ty.nullable
            ):
                return self.print(argument, as_float=True)
        printed = self._print(expression)
        if printed.floats:
            return printed
        inner = self.settled(printed)
        name = "_float_or_null" if expression.info.ty.nullable else "float"
        return replace(
            inner, code=Code(f"{name}({inner.code})"), precedence=operators.ATOM, floats=True, depth=inner.depth + 1
        )

    def _print(self, expression: Expr) -> Printed:
        match expression:
            case typed.Literal(value):
                code = literal(value)
                precedence = operators.UNARY if code.startswith("-") else operators.ATOM
                return Printed(code, precedence, floats=isinstance(value, float))
            case typed.Ref(symbol):
                return self.names[symbol]
            case typed.Present(typed.Literal(None)):
                name = "string" if expression.info.ty.base is Base.STRING else "number"
                return Printed(Code(f"_null_{name}({self.step})"), operators.ATOM, raises=True, depth=1)
            case typed.Present(operand):
                name = literal(operand.text if isinstance(operand, typed.Ref) else "a value")
                inner = self.finished(operand)
                code = Code(f"_present({inner.code}, {name}, {self.step})")
                return Printed(code, operators.ATOM, raises=True, floats=inner.floats, depth=inner.depth + 1)
            case typed.Unary(sign, operand):
                inner = self.print(operand)
                least = (
                    operators.ATOM if inner.precedence == operators.POWER else operators.UNARY
                )  # as black writes powers
                code, depth = Code(f"{sign}{inner.at(least)}"), inner.depth_at(least)
                return replace(inner, code=code, precedence=operators.UNARY, depth=depth)
            case typed.Binary():
                return self._binary(expression)
            case typed.Call():
                return self._call(expression)
            case typed.Comparison():
                return self._comparison(expression)
            case typed.Logical():
                return self._logical(expression)
            case typed.Not(operand):
                return self._negation(operand)
            case typed.Conditional():
                return self._conditional(expression)
            case typed.Aggregate():
                raise AssertionError("aggregates are steps of their own")
            case typed.List(items):
                parts = [self.finished(item) for item in items]
                code = Code(tuple_text([part.code for part in parts]))
                code = self.constants.get(code, code)
                return Printed(code, operators.ATOM, raises=_any_raises(parts), depth=_deepest(parts) + 1)

    def _conditional(self, node: typed.Conditional, *, as_float: bool = False) -> Printed:
        test = self.finished(node.condition)
        yes, no = self.print(node.then, as_float=as_float), self.print(node.otherwise, as_float=as_float)
        if node.info.ty.nullable:  # the check for infinity does not take null
            yes, no = self.settled(yes), self.settled(no)
        code = Code(f"{yes.at(operators.OR)} if {test.at(operators.OR)} else {no.code}")
        pending, floats = yes.pending or no.pending, yes.floats and no.floats
        depth = max(_deepest([yes, test], operators.OR), no.depth)
        return Printed(code, operators.CONDITIONAL, pending, _any_raises([test, yes, no]), floats, depth)

    def _binary(self, node: typed.Binary) -> Printed:
        left, right = self.print(node.left), self.print(node.right)
        if left.pending and right.raises:
            left = self.settled(left)
        before, (left, right) = self._flat((node.left, node.right), [left, right])
        return self._after(before, self._operation(node, left, right))

    def _flat(self, operands: Sequence[Expr], printed: Sequence[Printed]) -> tuple[list[Printed], list[Printed]]:
        """What is to be computed before an operation, and its operands then: where one is deep, it becomes a part.

        So does one that may raise where parts of a later one follow, since the first fault is the one that is reported.
        """
        late = max(
            (n for n, each in enumerate(printed) if each.code in self._parted or each.depth > _DEEPEST), default=0
        )
        before: list[Printed] = []
        flat = []
        for place, (operand, each) in enumerate(zip(operands, printed, strict=True)):
            parts, last = self._parted.get(each.code, ([], each))
            before += parts
            if last.depth > _DEEPEST or (place < late and last.raises):
                local = self.parts.local(operand)
                before.append(replace(last, code=Code(f"{local} := {last.code}")))
                last = replace(last, code=local, precedence=operators.ATOM, raises=False, depth=0)
            flat.append(last)
        return before, flat

    def _after(self, before: list[Printed], printed: Printed) -> Printed:
        """The operation, with the parts that are computed before it: `(part := …, operation on part)[-1]`."""
        if not before:
            return printed
        parts = [*before, printed]
        code = Code(f"({', '.join(part.code for part in parts)})[-1]")
        self._parted[code] = before, printed
        return replace(printed, code=code, precedence=operators.ATOM, raises=True, depth=_deepest(parts) + 1)

    def _operation(self, node: typed.Binary, left: Printed, right: Printed) -> Printed:
        operator = OPERATORS[node.operator]
        floats = operator.is_float or left.floats or right.floats
        if not node.is_safe:
            return self._helper(operator, [left, right], node.info.ty.base is Base.INTEGER, floats)
        if operator.is_partial:
            right = self.settled(right)
            left = left if operator.is_float else self.settled(left)
        before, behind = operand_precedences(node.operator)
        sides = left.at(before), right.at(behind)
        space = "" if node.operator == "**" and all(map(_SIMPLE.fullmatch, sides)) else " "  # as black writes powers
        code = Code(f"{sides[0]}{space}{node.operator}{space}{sides[1]}")
        pending = left.pending or right.pending or node.may_overflow
        depth = max(left.depth_at(before), right.depth_at(behind))
        printed = Printed(code, operator.precedence, pending, left.raises or right.raises, floats, depth)
        return printed if floats else self.settled(printed)

    def _helper(self, operation: Operation, arguments: list[Printed], whole: bool, floats: bool) -> Printed:
        """A call of the helper that raises where the operation has no value."""
        spelling = operation.spellings.get(BACKEND, Spelling())
        name = (whole and spelling.whole_helper) or spelling.helper or helper_name(operation)
        settled = [self.settled(argument) for argument in arguments]
        inside = ", ".join(argument.code for argument in settled)
        code = Code(f"{name}({inside}, {self.step})")
        return Printed(code, operators.ATOM, raises=True, floats=floats, depth=_deepest(settled) + 1)

    def _call(self, node: typed.Call, *, as_float: bool = False) -> Printed:
        first = node.arguments[0]
        if (
            isinstance(first, typed.Literal)
            and first.info.ty == node.info.ty
            and FUNCTIONS[node.function].is_conversion
        ):
            return self.print(first)  # `float(2.5)` and `int(7)` are what they hold
        finished = [self.finished(argument, as_float=as_float) for argument in node.arguments]
        if FUNCTIONS[node.function].replaces_null:
            return self._coalesced(node, *finished)
        before, arguments = self._flat(node.arguments, finished)
        return self._after(before, self._called(node, arguments))

    def _coalesced(self, node: typed.Call, value: Printed, default: Printed) -> Printed:
        """`value if value is not None else default`; a value that is no name is computed before, once."""
        flag = default_flag(node)
        if flag is not None:
            return _flag_test(value, "is not False" if flag else "is True")
        before, value = self._parted.get(value.code, ([], value))
        if not _SIMPLE.fullmatch(value.code):
            local = self.parts.local(node.arguments[0])
            before = [*before, replace(value, code=Code(f"{local} := {value.code}"))]
            value = replace(value, code=local, precedence=operators.ATOM, raises=False, depth=0)
        code = Code(f"{value.code} if {value.code} is not None else {default.code}")
        raises, floats = value.raises or default.raises, value.floats and default.floats
        chosen = Printed(code, operators.CONDITIONAL, raises=raises, floats=floats, depth=default.depth)
        return self._after(before, chosen)

    def _called(self, node: typed.Call, arguments: list[Printed]) -> Printed:
        function = FUNCTIONS[node.function]
        if function.operator:
            left, right = node.arguments
            return self._operation(typed.Binary(function.operator, left, right, node.info, node.is_safe), *arguments)
        values = arguments[: len(function.parameters) - 1] if function.literal is not None else arguments
        is_number = node.info.ty.base is Base.NUMBER
        floats = function.is_float or (is_number and all(argument.floats for argument in values))
        if not node.is_safe and node is not self._native:
            return self._helper(function, arguments, not is_number, floats)
        if function.bounds and len(arguments) == 1:
            return arguments[0]
        spelling = function.spelling(BACKEND)
        raising = [argument for argument in arguments if argument.raises]
        text = spelling.in_order if spelling.in_order and len(raising) > 1 else spelling.text
        codes = [argument.code for argument in arguments]
        code = Code(text.format(", ".join(codes)) if "{}" in text else text.format(*codes))
        depth = _deepest(arguments) + text.count("(")
        return Printed(code, operators.ATOM, raises=bool(raising) or not node.is_safe, floats=floats, depth=depth)

    def _comparison(self, node: typed.Comparison) -> Printed:
        if node.is_constant and (_is_null_test(node) or isinstance(node.first, typed.Literal)):
            sides = [self.finished(side) for side in _sides(node) if not isinstance(side, typed.Literal)]
            return _after_all(sides, node.operators[0] in ("!=", "not in"))
        operands = [self.finished(operand) for operand in (node.first, *node.rest)]
        if node.is_constant:  # said of any text or number, or a type checker would object to what the seed says
            kind = {Base.INTEGER: "int", Base.NUMBER: "float"}.get(node.first.info.ty.base, "str")
            code, depth = f"{kind}({operands[0].code})", operands[0].depth + 1
            if kind == "float" and not operands[0].floats:  # which would round a large integer
                code, depth = f"max(({operands[0].code},))", operands[0].depth + 2
            if node.may_be_null:
                code, depth = f"(None if {operands[0].at(operators.ADDITIVE)} is None else {code})", depth + 1
            operands[0] = replace(operands[0], code=Code(code), precedence=operators.ATOM, depth=depth)
        parts: list[str] = [operands[0].at(operators.ADDITIVE)]
        for operator, operand, tree in zip(node.operators, operands[1:], node.rest, strict=True):
            parts += [_operator(operator, tree), operand.at(operators.ADDITIVE)]
        code = Code(" ".join(parts))
        depth = _deepest(operands, operators.ADDITIVE)
        return Printed(code, operators.COMPARISON, raises=_any_raises(operands), depth=depth)

    def _logical(self, node: typed.Logical, *, as_float: bool = False) -> Printed:
        """`and` and `or`; a value behind a test whether an entity is there as `value if entity else None`."""
        precedence = operators.AND if node.operator == "and" else operators.OR
        deciding = node.operator == "or"
        for place, operand in enumerate(node.operands):
            if isinstance(operand, typed.Literal) and operand.value is deciding and node.info.ty == BOOLEAN:
                before = [self.finished(each) for each in node.operands[:place]]
                return _after_all([_joined(node.operator, precedence, before)] if before else [], deciding)
        parts: list[Printed] = []
        for operand in reversed(node.operands):
            printed = self.finished(operand, as_float=as_float and operand.info.ty.is_numeric)
            if parts and node.operator == "and" and _tests_entity(operand, node):
                rest = _joined("and", precedence, parts)
                code = Code(f"{rest.at(operators.OR)} if {printed.at(operators.OR)} else None")
                depth = _deepest([rest, printed], operators.OR)
                printed = Printed(code, operators.CONDITIONAL, raises=_any_raises([rest, printed]), depth=depth)
                parts.clear()
            parts.insert(0, printed)
        return _joined(node.operator, precedence, parts)

    def _negation(self, operand: Expr) -> Printed:
        """`not` in its plainest form: `x not in y`, `x != y`, and nothing for `not not x`."""
        if isinstance(operand, typed.Comparison) and operand.operators in (("in",), ("not in",), ("==",), ("!=",)):
            return self.print(replace(operand, operators=(operators.NEGATED[operand.operators[0]],)))
        if isinstance(operand, typed.Not) and operand.operand.info.ty == BOOLEAN:
            return self.print(operand.operand)
        flag = default_flag(operand)
        if flag is not None:
            return _flag_test(self.finished(typed.children(operand)[0]), "is False" if flag else "is not True")
        inner = self.finished(operand)
        code, depth = Code(f"not {inner.at(operators.NOT)}"), inner.depth_at(operators.NOT)
        return Printed(code, operators.NOT, raises=inner.raises, depth=depth)


def native_call(expression: Expr) -> typed.Call | None:
    """Return the only call in the expression that can fail and that Python refuses itself, with a `ValueError`."""
    calls = [node for node in typed.walk(expression) if isinstance(node, typed.Call) and not node.is_safe]
    if len(calls) != 1 or not FUNCTIONS[calls[0].function].spelling(BACKEND).is_refused:
        return None
    return calls[0]


_SIMPLE = re.compile(r"-?(?:[^\W\d]\w*(?:\.[^\W\d]\w*)*|[0-9][0-9.]*(?:e[+-]?[0-9]+)?)")
"""A name, an attribute or a number."""
_DEEPEST = 10
"""So many brackets may stand inside one another below an operation: a reader follows no more, Python two hundred."""


def _flag_test(flag: Printed, test: str) -> Printed:
    code, depth = Code(f"{flag.at(operators.ADDITIVE)} {test}"), flag.depth_at(operators.ADDITIVE)
    return Printed(code, operators.COMPARISON, raises=flag.raises, depth=depth)


def _after_all(parts: list[Printed], result: bool) -> Printed:
    """The result, after the parts have been computed, since they may raise."""
    code = Code(f"({', '.join(part.code for part in parts)}, {result})[-1]" if parts else str(result))
    return Printed(code, operators.ATOM, raises=_any_raises(parts), depth=_deepest(parts) + 1)


def _sides(node: typed.Comparison) -> tuple[Expr, ...]:
    """The sides of a comparison of two, a list's items one by one."""
    (right,) = node.rest
    return (node.first, *(right.items if isinstance(right, typed.List) else (right,)))


def _is_null_test(node: typed.Comparison) -> bool:
    first, *others = [isinstance(side, typed.Literal) and side.value is None for side in _sides(node)]
    return first or all(others)


def _joined(word: str, precedence: int, parts: list[Printed]) -> Printed:
    if len(parts) == 1:
        return parts[0]
    code = Code(f" {word} ".join(part.at(precedence + 1) for part in parts))
    floats, depth = all(part.floats for part in parts), _deepest(parts, precedence + 1)
    return Printed(code, precedence, raises=_any_raises(parts), floats=floats, depth=depth)


def _tests_entity(operand: Expr, whole: typed.Logical) -> bool:
    """Whether an operand of `and` is an entity, whose true or null is no value of the whole's type."""
    return operand.info.ty.base is Base.BOOLEAN and whole.info.ty.base not in (Base.BOOLEAN, Base.NULL)


def _operator(operator: str, right: Expr) -> str:
    """`is` where Python's style guides ask for it: with None, and with True and False for what may be null."""
    if isinstance(right, typed.Literal) and (right.value is None or isinstance(right.value, bool)):
        return {"==": "is", "!=": "is not"}[operator]
    return operator


def _any_raises(parts: list[Printed]) -> bool:
    return any(part.raises for part in parts)


def _deepest(parts: Iterable[Printed], least: int = 0) -> int:
    return max((part.depth_at(least) for part in parts), default=0)
