"""Print checked expressions as Python code.

If the checker has proved that an operation gives a finite value, Python's own operator is printed; otherwise a helper
that raises with the step's name. Infinity may pass through `+`, `-` and `*` to the end of a formula, since nothing finite
comes out of it there, and is caught once, by the outermost operation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from formulaseed.backends.python.code import Code, literal, tuple_text
from formulaseed.backends.python.functions import SPELLING_KEY, fault_name, find_boolean_default, helper_name
from formulaseed.backends.python.printed import (
    MAX_DEPTH,
    SIMPLE,
    PartLocals,
    Printed,
    can_any_raise,
    join_printed,
    max_depth,
    print_after_all,
    print_flag_test,
)
from formulaseed.language import operators, typed
from formulaseed.language.functions import FUNCTIONS, TO_FLOAT, Function
from formulaseed.language.operators import OPERATORS, Operation, Spelling
from formulaseed.language.printer import operand_precedences
from formulaseed.language.typed import Expr, Symbol
from formulaseed.language.types import BOOLEAN, Base

NO_CONSTANTS: Mapping[Code, Code] = MappingProxyType({})


class ExpressionPrinter:
    """A printer of the expressions of one step.

    `names` has the code of every symbol that may occur, `step` is the name for errors, `parts` the locals for parts of long
    formulas, and `constants` has the name of a list by the list as it is printed.
    """

    def __init__(
        self,
        names: Mapping[Symbol, Printed],
        step: str,
        parts: PartLocals,
        constants: Mapping[Code, Code] = NO_CONSTANTS,
    ) -> None:
        self.names = names
        self.step = literal(step)
        self.parts = parts
        self.constants = constants
        self._native: typed.Call | None = None
        self._parted: dict[Code, tuple[list[Printed], Printed]] = {}
        """Maps code that computes parts first to these parts and the operation on them that comes last."""

    def replace_native(self, call: typed.Call) -> ExpressionPrinter:
        """Return a printer that prints `call` as Python's own function; the caller prints a handler of its `ValueError`."""
        printer = ExpressionPrinter(self.names, "", self.parts, self.constants)
        printer.step = self.step
        printer._native = call
        return printer

    def print_fault(self, call: typed.Call) -> Code:
        """Print the expression that makes the error of a call that Python refuses."""
        arguments = ", ".join(self.print_finite(argument).code for argument in call.arguments)
        return Code(f"{fault_name(FUNCTIONS[call.function])}({arguments}, {self.step})")

    def print_finite(self, expression: Expr, *, as_float: bool = False) -> Printed:
        """Print an expression, with a check that raises if its value is infinite; with `as_float`, an integer as a float."""
        return self.ensure_finite(self.print(expression, as_float=as_float))

    def ensure_finite(self, printed: Printed) -> Printed:
        """Add a check that raises if the value is infinite; return `printed` itself if it cannot be infinite."""
        if not printed.may_be_infinite:
            return printed
        before, last = self._parted.get(printed.code, ([], printed))
        code = Code(f"_finite({last.code}, {self.step})")
        checked = Printed(code, operators.ATOM, raises=True, is_float=last.is_float, depth=last.depth + 1)
        return self._prepend_parts(before, checked)

    def print(self, expression: Expr, *, as_float: bool = False) -> Printed:
        """Print an expression, whose value may be infinite; with `as_float`, an integer as a float."""
        if not as_float or expression.info.ty.base is Base.NULL:
            return self._print(expression)
        match expression:
            case typed.Literal(value) if isinstance(value, int):
                return self._print(replace(expression, value=float(value)))
            case typed.Conditional():
                return self._print_conditional(expression, as_float=True)
            case typed.Logical():
                return self._print_logical(expression, as_float=True)
            case typed.Call(name) if FUNCTIONS[name].chooses and not expression.info.ty.nullable:
                return self._print_call(expression, as_float=True)
            case typed.Call(TO_FLOAT.name, (argument,)) if (
                argument.info.ty.is_numeric and not argument.info.ty.nullable
            ):
                return self.print(argument, as_float=True)
        printed = self._print(expression)
        if printed.is_float:
            return printed
        inner = self.ensure_finite(printed)
        name = "_float_or_null" if expression.info.ty.nullable else "float"
        return replace(
            inner, code=Code(f"{name}({inner.code})"), precedence=operators.ATOM, is_float=True, depth=inner.depth + 1
        )

    def _print(self, expression: Expr) -> Printed:
        """Print an expression by its kind; integers stay integers. Raises `AssertionError` for an aggregate."""
        match expression:
            case typed.Literal(value):
                code = literal(value)
                precedence = operators.UNARY if code.startswith("-") else operators.ATOM
                return Printed(code, precedence, is_float=isinstance(value, float))
            case typed.Ref(symbol):
                return self.names[symbol]
            case typed.Present():
                return self._print_presence(expression)
            case typed.Unary():
                return self._print_unary(expression)
            case typed.Binary():
                return self._print_binary(expression)
            case typed.Call():
                return self._print_call(expression)
            case typed.Comparison():
                return self._print_comparison(expression)
            case typed.Logical():
                return self._print_logical(expression)
            case typed.Not(operand):
                return self._print_negation(operand)
            case typed.Conditional():
                return self._print_conditional(expression)
            case typed.Aggregate():
                raise AssertionError("aggregates are steps of their own")
            case typed.List():
                return self._print_list(expression)

    def _print_list(self, node: typed.List) -> Printed:
        """Print a list as a tuple, or as the name of the constant in `self.constants` that holds it."""
        items = [self.print_finite(item) for item in node.items]
        code = Code(tuple_text([item.code for item in items]))
        code = self.constants.get(code, code)
        return Printed(code, operators.ATOM, raises=can_any_raise(items), depth=max_depth(items) + 1)

    def _print_presence(self, node: typed.Present) -> Printed:
        """Print an operand with a check that raises if it is null; a literal null is printed as the error."""
        if isinstance(node.operand, typed.Literal) and node.operand.value is None:
            kind = "string" if node.info.ty.base is Base.STRING else "number"
            return Printed(Code(f"_null_{kind}({self.step})"), operators.ATOM, raises=True, depth=1)
        name = literal(node.operand.text if isinstance(node.operand, typed.Ref) else "a value")
        inner = self.print_finite(node.operand)
        code = Code(f"_present({inner.code}, {name}, {self.step})")
        return Printed(code, operators.ATOM, raises=True, is_float=inner.is_float, depth=inner.depth + 1)

    def _print_unary(self, node: typed.Unary) -> Printed:
        """Print a sign before an operand, in brackets if it binds less tightly, or is a power."""
        inner = self.print(node.operand)
        # Black writes a power in brackets after a sign.
        precedence = operators.ATOM if inner.precedence == operators.POWER else operators.UNARY
        code = Code(f"{node.operator}{inner.code_at(precedence)}")
        return replace(inner, code=code, precedence=operators.UNARY, depth=inner.depth_at(precedence))

    def _print_conditional(self, node: typed.Conditional, *, as_float: bool = False) -> Printed:
        """Print `a if test else b`, both as floats if `as_float`; checked for infinity if the whole may be null."""
        test = self.print_finite(node.condition)
        then = self.print(node.then, as_float=as_float)
        otherwise = self.print(node.otherwise, as_float=as_float)
        # The check for infinity does not take null.
        if node.info.ty.nullable:
            then = self.ensure_finite(then)
            otherwise = self.ensure_finite(otherwise)
        code = Code(f"{then.code_at(operators.OR)} if {test.code_at(operators.OR)} else {otherwise.code}")
        may_be_infinite = then.may_be_infinite or otherwise.may_be_infinite
        is_float = then.is_float and otherwise.is_float
        depth = max(max_depth([then, test], operators.OR), otherwise.depth)
        raises = can_any_raise([test, then, otherwise])
        return Printed(code, operators.CONDITIONAL, may_be_infinite, raises, is_float, depth)

    def _print_binary(self, node: typed.Binary) -> Printed:
        """Print an arithmetic operation; operands that nest deeper than `MAX_DEPTH` become parts."""
        left = self.print(node.left)
        right = self.print(node.right)
        if left.may_be_infinite and right.raises:
            left = self.ensure_finite(left)
        before, (left, right) = self._flatten((node.left, node.right), [left, right])
        return self._prepend_parts(before, self._print_operation(node, left, right))

    def _flatten(self, operands: Sequence[Expr], printed: Sequence[Printed]) -> tuple[list[Printed], list[Printed]]:
        """Return the parts to compute before an operation, and its operands, in which locals replace the deep ones.

        An operand that may raise also becomes a part if a later operand does: the first error must be reported.
        """
        deep = [n for n, code in enumerate(printed) if code.code in self._parted or code.depth > MAX_DEPTH]
        before: list[Printed] = []
        flat = []
        for index, (operand, code) in enumerate(zip(operands, printed, strict=True)):
            parts, last = self._parted.get(code.code, ([], code))
            before += parts
            if last.depth > MAX_DEPTH or (last.raises and deep and index < deep[-1]):
                local = self.parts.local(operand)
                before.append(replace(last, code=Code(f"{local} := {last.code}")))
                last = replace(last, code=local, precedence=operators.ATOM, raises=False, depth=0)
            flat.append(last)
        return before, flat

    def _prepend_parts(self, before: list[Printed], printed: Printed) -> Printed:
        """Print `(part := …, operation on part)[-1]`, and remember its parts; `printed` itself if `before` is empty."""
        if not before:
            return printed
        parts = [*before, printed]
        code = Code(f"({', '.join(part.code for part in parts)})[-1]")
        self._parted[code] = before, printed
        return replace(printed, code=code, precedence=operators.ATOM, raises=True, depth=max_depth(parts) + 1)

    def _print_operation(self, node: typed.Binary, left: Printed, right: Printed) -> Printed:
        """Print an arithmetic operation on printed operands: Python's operator if it is safe, else the helper that raises."""
        operator = OPERATORS[node.operator]
        is_float = operator.is_float or left.is_float or right.is_float
        if not node.is_safe:
            return self._print_helper(operator, [left, right], node.info.ty.base is Base.INTEGER, is_float)
        if operator.is_partial:
            right = self.ensure_finite(right)
            if not operator.is_float:
                left = self.ensure_finite(left)
        left_precedence, right_precedence = operand_precedences(node.operator)
        sides = left.code_at(left_precedence), right.code_at(right_precedence)
        # Black writes no spaces in a power of simple operands.
        space = "" if node.operator == "**" and all(map(SIMPLE.fullmatch, sides)) else " "
        code = Code(f"{sides[0]}{space}{node.operator}{space}{sides[1]}")
        may_be_infinite = left.may_be_infinite or right.may_be_infinite or node.may_overflow
        depth = max(left.depth_at(left_precedence), right.depth_at(right_precedence))
        printed = Printed(code, operator.precedence, may_be_infinite, left.raises or right.raises, is_float, depth)
        return printed if is_float else self.ensure_finite(printed)

    def _print_helper(self, operation: Operation, arguments: list[Printed], is_whole: bool, is_float: bool) -> Printed:
        """Print a call of the helper that raises if there is no value; `is_whole` chooses the one for integers."""
        spelling = operation.spellings.get(SPELLING_KEY, Spelling())
        name = (is_whole and spelling.whole_helper) or spelling.helper or helper_name(operation)
        checked = [self.ensure_finite(argument) for argument in arguments]
        codes = ", ".join(argument.code for argument in checked)
        code = Code(f"{name}({codes}, {self.step})")
        return Printed(code, operators.ATOM, raises=True, is_float=is_float, depth=max_depth(checked) + 1)

    def _print_call(self, node: typed.Call, *, as_float: bool = False) -> Printed:
        """Print a call, of floats if `as_float`; `float(2.5)` becomes `2.5`, and deep arguments become parts."""
        first = node.arguments[0]
        is_literal = isinstance(first, typed.Literal) and first.info.ty == node.info.ty
        # `float(2.5)` and `int(7)` are their arguments.
        if is_literal and FUNCTIONS[node.function].is_conversion:
            return self.print(first)
        printed = [self.print_finite(argument, as_float=as_float) for argument in node.arguments]
        if FUNCTIONS[node.function].replaces_null:
            return self._print_coalesce(node, *printed)
        before, arguments = self._flatten(node.arguments, printed)
        return self._prepend_parts(before, self._print_applied(node, arguments))

    def _print_coalesce(self, node: typed.Call, value: Printed, default: Printed) -> Printed:
        """Print `value if value is not None else default`, or a flag test if the default is a boolean literal."""
        flag = find_boolean_default(node)
        if flag is not None:
            return print_flag_test(value, "is not False" if flag else "is True")
        before, value = self._parted.get(value.code, ([], value))
        if not SIMPLE.fullmatch(value.code):
            local = self.parts.local(node.arguments[0])
            before = [*before, replace(value, code=Code(f"{local} := {value.code}"))]
            value = replace(value, code=local, precedence=operators.ATOM, raises=False, depth=0)
        code = Code(f"{value.code} if {value.code} is not None else {default.code}")
        raises = value.raises or default.raises
        is_float = value.is_float and default.is_float
        choice = Printed(code, operators.CONDITIONAL, raises=raises, is_float=is_float, depth=default.depth)
        return self._prepend_parts(before, choice)

    def _print_applied(self, node: typed.Call, arguments: list[Printed]) -> Printed:
        """Print a call on printed arguments: its operator, its own spelling if it is safe, else the helper that raises."""
        function = FUNCTIONS[node.function]
        if function.operator:
            left, right = node.arguments
            operation = typed.Binary(function.operator, left, right, node.info, node.is_safe)
            return self._print_operation(operation, *arguments)
        values = arguments
        if function.literal is not None:  # the last argument is an option, not an operand
            values = arguments[: len(function.parameters) - 1]
        is_number = node.info.ty.base is Base.NUMBER
        is_float = function.is_float or (is_number and all(argument.is_float for argument in values))
        if not node.is_safe and node is not self._native:
            return self._print_helper(function, arguments, not is_number, is_float)
        if function.bounds and len(arguments) == 1:
            return arguments[0]
        code, template = _spell_call(function, arguments)
        raises = can_any_raise(arguments) or not node.is_safe
        depth = max_depth(arguments) + template.count("(")
        return Printed(code, operators.ATOM, raises=raises, is_float=is_float, depth=depth)

    def _print_comparison(self, node: typed.Comparison) -> Printed:
        """Print a comparison. A constant one is printed as its value, or in a form that a type checker accepts."""
        if node.is_constant and (_is_null_test(node) or isinstance(node.first, typed.Literal)):
            sides = [self.print_finite(side) for side in _list_sides(node) if not isinstance(side, typed.Literal)]
            return print_after_all(sides, node.operators[0] in ("!=", "not in"))
        operands = [self.print_finite(operand) for operand in (node.first, *node.rest)]
        if node.is_constant:
            operands[0] = _erase_type(node, operands[0])
        parts: list[str] = [operands[0].code_at(operators.ADDITIVE)]
        for operator, printed, operand in zip(node.operators, operands[1:], node.rest, strict=True):
            parts += [_spell_operator(operator, operand), printed.code_at(operators.ADDITIVE)]
        code = Code(" ".join(parts))
        depth = max_depth(operands, operators.ADDITIVE)
        return Printed(code, operators.COMPARISON, raises=can_any_raise(operands), depth=depth)

    def _print_logical(self, node: typed.Logical, *, as_float: bool = False) -> Printed:
        """Print `and` and `or`, with `as_float` numbers as floats; `entity and x` becomes `x if entity else None`.

        A literal that decides the result is the last operand; those before it are evaluated for their errors.
        """
        precedence = operators.AND if node.operator == "and" else operators.OR
        deciding_value = node.operator == "or"
        for index, operand in enumerate(node.operands):
            if isinstance(operand, typed.Literal) and operand.value is deciding_value and node.info.ty == BOOLEAN:
                before = [self.print_finite(earlier) for earlier in node.operands[:index]]
                evaluated = [join_printed(node.operator, precedence, before)] if before else []
                return print_after_all(evaluated, deciding_value)
        parts: list[Printed] = []
        for operand in reversed(node.operands):
            printed = self.print_finite(operand, as_float=as_float and operand.info.ty.is_numeric)
            if parts and node.operator == "and" and _tests_entity(operand, node):
                rest = join_printed("and", precedence, parts)
                code = Code(f"{rest.code_at(operators.OR)} if {printed.code_at(operators.OR)} else None")
                depth = max_depth([rest, printed], operators.OR)
                printed = Printed(code, operators.CONDITIONAL, raises=can_any_raise([rest, printed]), depth=depth)
                parts.clear()
            parts.insert(0, printed)
        return join_printed(node.operator, precedence, parts)

    def _print_negation(self, operand: Expr) -> Printed:
        """Print `not` in its plainest form: `x not in y`, `x != y`, and `x` for `not not x`."""
        if isinstance(operand, typed.Comparison) and operand.operators in (("in",), ("not in",), ("==",), ("!=",)):
            return self.print(replace(operand, operators=(operators.NEGATED[operand.operators[0]],)))
        if isinstance(operand, typed.Not) and operand.operand.info.ty == BOOLEAN:
            return self.print(operand.operand)
        flag = find_boolean_default(operand)
        if flag is not None:
            return print_flag_test(self.print_finite(typed.children(operand)[0]), "is False" if flag else "is not True")
        inner = self.print_finite(operand)
        code = Code(f"not {inner.code_at(operators.NOT)}")
        return Printed(code, operators.NOT, raises=inner.raises, depth=inner.depth_at(operators.NOT))


def _spell_call(function: Function, arguments: Sequence[Printed]) -> tuple[Code, str]:
    """Return a call in the function's own spelling, and the template of that spelling, which has `{}` for arguments."""
    spelling = function.spelling(SPELLING_KEY)
    template = spelling.text
    if spelling.in_order and sum(argument.raises for argument in arguments) > 1:  # the first error must be reported
        template = spelling.in_order
    codes = [argument.code for argument in arguments]
    if "{}" in template:
        codes = [Code(", ".join(codes))]
    return Code(template.format(*codes)), template


def _erase_type(node: typed.Comparison, first: Printed) -> Printed:
    """Print the first side of a constant comparison so that a type checker takes it for any number or string.

    A type checker that knows the value of the side objects to a comparison that is always true, or never.
    """
    kind = {Base.INTEGER: "int", Base.NUMBER: "float"}.get(node.first.info.ty.base, "str")
    code = f"{kind}({first.code})"
    depth = first.depth + 1
    # `float` would round a large integer.
    if kind == "float" and not first.is_float:
        code = f"max(({first.code},))"
        depth += 1
    if node.may_be_null:
        code = f"(None if {first.code_at(operators.ADDITIVE)} is None else {code})"
        depth += 1
    return replace(first, code=Code(code), precedence=operators.ATOM, depth=depth)


def _list_sides(node: typed.Comparison) -> tuple[Expr, ...]:
    """Return both sides of a comparison with one operator, with the items of a list one by one."""
    (right,) = node.rest
    return (node.first, *right.items) if isinstance(right, typed.List) else (node.first, right)


def _is_null_test(node: typed.Comparison) -> bool:
    """Return True if the first side is null, or the second is null, or a list of nulls or empty."""
    first, *items = [isinstance(side, typed.Literal) and side.value is None for side in _list_sides(node)]
    return first or all(items)


def _tests_entity(operand: Expr, whole: typed.Logical) -> bool:
    """Return True if an operand of `and` is an entity, whose true or null is not a value of the type of `whole`."""
    return operand.info.ty.base is Base.BOOLEAN and whole.info.ty.base not in (Base.BOOLEAN, Base.NULL)


def _spell_operator(operator: str, right: Expr) -> str:
    """Return the operator in Python: `is` with None, True and False, as its style guides require."""
    if isinstance(right, typed.Literal) and (right.value is None or isinstance(right.value, bool)):
        return {"==": "is", "!=": "is not"}[operator]
    return operator
