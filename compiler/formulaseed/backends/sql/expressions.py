"""Print checked expressions as SQL: a value for each, and the kind of its fault.

No expression raises an error in the engine: without a value it is NULL. Both operands of `and`, and all branches, are computed
whether they count or not; only the fault follows Python's order of evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from formulaseed.backends.sql.calls import FunctionPrinter
from formulaseed.backends.sql.columns import Printed
from formulaseed.backends.sql.dialects import COMMON, Sql
from formulaseed.backends.sql.faults import (
    fault_if,
    fault_of_kind,
    first_fault,
    last_place,
    negate,
    value_if,
)
from formulaseed.language import typed
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.operators import ADDITIVE, AND, ATOM, COMPARISON, NOT, OR
from formulaseed.language.typed import Expr, Symbol
from formulaseed.language.types import Base

TRUE = Printed(Sql("TRUE"))
FALSE = Printed(Sql("FALSE"))
_EQUALITIES = {"==": ("=", "IS NOT DISTINCT FROM", "IS NULL"), "!=": ("<>", "IS DISTINCT FROM", "IS NOT NULL")}
"""The SQL of an equality: of values, of values that may be null, and with null."""


class ExpressionPrinter(FunctionPrinter):
    """A printer of the expressions of one step. `resolve` returns the column of a symbol."""

    resolve: Callable[[Symbol], Printed]

    def print(self, node: Expr) -> Printed:
        """Print the value of an expression, and its fault."""
        if node.info.is_constant and node.info.constant is not None:
            return self.literal(node.info.constant, node.info.ty.base)
        match node:
            case typed.Literal(value):
                return self.literal(value, node.info.ty.base)
            case typed.Ref(symbol):
                return self.resolve(symbol)
            case typed.Present(operand):
                return self._print_present(self.print(operand))
            case typed.Unary(sign, operand):
                return self.print_sign(sign, self.print(operand))
            case typed.Binary(operator, left, right):
                return self.print_operation(operator, [self.print(left), self.print(right)], node)
            case typed.Call():
                return self._print_call(node)
            case typed.Comparison() | typed.Not():
                return self.print_truth(node)
            case typed.Logical(_, operands):
                return self._print_logical(node, [*operands])
            case typed.Conditional(condition, then, otherwise):
                return self._print_choice(self.print_truth(condition), self.print(then), self.print(otherwise), node)
            case typed.List() | typed.Aggregate():
                raise AssertionError("lists are printed by comparisons, and aggregates are steps")

    def print_truth(self, node: Expr) -> Printed:
        """Print the condition that the value of an expression is true for Python. It is NULL only if there is a fault."""
        if node.info.is_constant:
            return TRUE if node.info.constant else FALSE
        match node:
            case typed.Not(operand):
                inner = self.print_truth(operand)
                return replace(inner, sql=Sql(f"NOT {inner.at(NOT)}"), precedence=NOT, is_name=False)
            case typed.Comparison():
                return self._print_comparison(node)
            case typed.Logical(operator, operands):
                return self.join_conditions(operator, [self.print_truth(operand) for operand in operands])
        value = self.print(node)
        condition = value
        if node.info.ty.base is Base.NULL:
            condition = replace(value, sql=FALSE.sql)
        elif node.info.ty.base is not Base.BOOLEAN:
            zero = "0" if node.info.ty.is_numeric else "''"
            condition = Printed(
                Sql(f"{value.at(ADDITIVE)} <> {zero}"), COMPARISON, place=value.place, fault=value.fault
            )
        if node.info.ty.nullable and node.info.ty.base is not Base.NULL:
            condition = replace(condition, sql=Sql(f"COALESCE({condition.sql}, FALSE)"), precedence=ATOM, is_name=False)
        return condition

    def join_conditions(self, operator: str, conditions: Sequence[Printed]) -> Printed:
        """Print conditions joined by `and` or `or`. The fault of one counts only if those before do not decide."""
        precedence = AND if operator == "and" else OR
        fault: Printed | None = None
        for condition in reversed(conditions):
            if operator == "and":
                fault = first_fault(condition.fault, fault_if(condition, fault))
            else:
                fault = first_fault(condition.fault, fault_if(condition, None, fault))
        sql = Sql(f" {operator.upper()} ".join(condition.at(precedence + 1) for condition in conditions))
        return Printed(sql, precedence, place=last_place(conditions), fault=fault)

    def _print_present(self, value: Printed) -> Printed:
        """Print a value that may be null, which is a fault."""
        named = self.name(value)
        is_null = Printed(Sql(f"{named.at(ADDITIVE)} IS NULL"), COMPARISON, place=named.place)
        return replace(named, fault=first_fault(value.fault, fault_of_kind(is_null, "null")))

    def _print_logical(self, node: typed.Logical, operands: list[Expr]) -> Printed:
        """Print the operand that decides `and` or `or`, or the last one; of booleans, a condition."""
        if node.info.ty.base is Base.BOOLEAN and not node.info.ty.nullable:
            return self.print_truth(node)
        first, *rest = operands
        value = self.print(first)
        if not rest:
            return value
        named = self.name(value)
        truth = self._test_truth(named, first)
        rest_value = self._print_logical(node, rest)
        if node.operator == "and":
            return self._print_choice(truth, rest_value, named.without_fault(), node)
        return self._print_choice(truth, named.without_fault(), rest_value, node)

    def _test_truth(self, value: Printed, node: Expr) -> Printed:
        """Return the condition that a printed value is true."""
        base = node.info.ty.base
        test = value.sql
        if base is Base.NULL:
            test = FALSE.sql
        elif base is not Base.BOOLEAN:
            test = Sql(f"{value.at(ADDITIVE)} <> {'0' if node.info.ty.is_numeric else self.columns.dialect.string('')}")
        return Printed(Sql(f"COALESCE({test}, FALSE)"), place=value.place, fault=value.fault)

    def _print_choice(self, condition: Printed, then: Printed, otherwise: Printed, node: Expr) -> Printed:
        """Print `then` if the condition holds, else `otherwise`, with the fault of the one that counts."""
        condition = self.name_if_long(condition) if then.fault or otherwise.fault else condition
        fault = first_fault(condition.fault, fault_if(condition, then.fault, otherwise.fault))
        then, otherwise = self.as_text(then), self.as_text(otherwise)
        chosen = value_if(condition, then, otherwise.sql)
        place = last_place((condition, then, otherwise))
        return replace(self.merge(chosen, [then, otherwise], node), place=place, fault=fault)

    def _print_call(self, node: typed.Call) -> Printed:
        """Print a call of a function."""
        function = FUNCTIONS[node.function]
        arguments = [self.print(argument) for argument in node.arguments]
        if function.operator:
            return self.print_operation(function.operator, arguments, node)
        if not function.replaces_null:
            return self.print_function(function, arguments, node)
        value, default = (self.as_text(argument) for argument in arguments)
        value = self.name(value) if default.fault else value
        is_null = Printed(Sql(f"{value.at(ADDITIVE)} IS NULL"), COMPARISON, place=value.place)
        fault = first_fault(value.fault, fault_if(is_null, default.fault))
        sql = Sql(function.spellings[COMMON].text.format(value.sql, default.sql))
        chosen = Printed(sql, place=last_place((value, default)), fault=fault)
        return self.merge(chosen, [value, default], node)

    # --- comparisons

    def _print_comparison(self, node: typed.Comparison) -> Printed:
        """Print a comparison, or the conjunction of a chain, each side of which is evaluated once."""
        left = self.print(node.first)
        left_node = node.first
        links = []
        for operator, right_node in zip(node.operators, node.rest, strict=True):
            if isinstance(right_node, typed.List):
                right = left
                link = self._print_membership(left, left_node, operator, right_node)
            else:
                right = self.print(right_node)
                if len(node.operators) > 1:
                    right = self.name_if_long(right)
                link = self._print_pair(left, left_node, operator, right, right_node)
            links.append(link)
            # Its fault is that of the link before.
            left = right.without_fault()
            left_node = right_node
        return links[0] if len(links) == 1 else self.join_conditions("and", links)

    def _print_pair(self, left: Printed, left_node: Expr, operator: str, right: Printed, right_node: Expr) -> Printed:
        """Print one comparison of two values."""
        place = last_place((left, right))
        fault = first_fault(left.fault, right.fault)
        if operator in ("in", "not in"):
            text, part = self.as_text(right).sql, self.as_text(left).sql
            condition = Printed(Sql(f"CONTAINS({text}, {part})"), place=place, fault=fault)
            if text == part:  # DuckDB refuses a column twice
                condition = replace(condition, sql=Sql(f"{text} = {part}"), precedence=COMPARISON)
            return negate(condition) if operator == "not in" else condition
        if operator not in _EQUALITIES:
            sides = [self.as_text(side).at(ADDITIVE) for side in (left, right)]
            return Printed(Sql(f"{sides[0]} {operator} {sides[1]}"), COMPARISON, place=place, fault=fault)
        plain, distinct, null = _EQUALITIES[operator]
        for side, other in ((left_node, right), (right_node, left)):
            if side.info.ty.base is Base.NULL:
                return Printed(Sql(f"{other.at(ADDITIVE)} {null}"), COMPARISON, place=place, fault=fault)
        sign = distinct if left_node.info.ty.nullable or right_node.info.ty.nullable else plain
        if left.is_enum and right.is_enum:
            left, right = self.as_text(left), self.as_text(right)
        return Printed(Sql(f"{left.at(ADDITIVE)} {sign} {right.at(ADDITIVE)}"), COMPARISON, place=place, fault=fault)

    def _print_membership(self, value: Printed, node: Expr, operator: str, items: typed.List) -> Printed:
        """Print whether a value is in a list, in which null may be, too."""
        sources = [item for item in items.items if item.info.ty.base is not Base.NULL]
        printed = [self.print(item) for item in sources]
        fault = first_fault(value.fault, *(item.fault for item in printed))
        condition = Printed(FALSE.sql, place=last_place((value, *printed)), fault=fault)
        # Columns of two types ENUM, or an ENUM and another column, have only their texts in common.
        if any(item.is_enum for item in printed):
            value = self.as_text(value)
            printed = [self.as_text(item) for item in printed]
        if printed and node.info.ty.base is not Base.NULL:
            sql = Sql(f"{value.at(ADDITIVE)} IN ({', '.join(item.sql for item in printed)})")
            condition = replace(condition, sql=sql, precedence=COMPARISON)
        nulls = _list_null_tests(value, items, printed)
        if nulls or node.info.ty.nullable:
            condition = replace(condition, sql=Sql(f"COALESCE({condition.sql}, FALSE)"), precedence=ATOM)
        if nulls:
            condition = replace(condition, sql=Sql(" OR ".join([condition.sql, *nulls])), precedence=OR)
        return negate(condition) if operator == "not in" else condition


def _list_null_tests(value: Printed, items: typed.List, printed: Sequence[Printed]) -> list[str]:
    """Return the conditions that a value is null, and so is an item; `printed` are those that are no literal null."""
    is_null = f"{value.at(ADDITIVE)} IS NULL"
    sources = [item for item in items.items if item.info.ty.base is not Base.NULL]
    pairs = zip(printed, sources, strict=True)
    nulls = [f"({is_null} AND {item.at(ADDITIVE)} IS NULL)" for item, source in pairs if source.info.ty.nullable]
    return nulls + [is_null] * (len(sources) < len(items.items))
