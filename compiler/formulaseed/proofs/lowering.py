"""Lower the steps of a checked program to nodes: filters and parameters are replaced by their values, steps by their nodes.

In: a program and the domain of its inputs. Out: a node for each step, and the places at which an expression may fail.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from formulaseed.ir import nodes
from formulaseed.language import typed
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.operators import OPERATORS
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.language.types import Base
from formulaseed.proofs.nodes import Node, to_constant, walk
from formulaseed.proofs.pool import Pool
from formulaseed.proofs.world import Domain


class Lowering:
    """The nodes of a program's steps in a pool, which another program may share."""

    def __init__(self, pool: Pool, program: nodes.Program, domain: Domain) -> None:
        self.pool = pool
        self.domain = domain
        self.program = program
        self.steps: dict[str, Node] = {}
        self.filters: dict[str, Node] = {}

    def lower_all(self) -> None:
        """Lower every step, and make each node that is no constant an anchor of the pool."""
        for step in self.program.steps:
            self.lower_step(step)

    def lower_step(self, step: nodes.Step) -> Node:
        """Return the node of a step, whose dependencies have been lowered; note it in `steps` unless it is a filter."""
        pool = self.pool
        match step.operation:
            case nodes.Filter(condition):
                self.filters[step.name] = pool.truth(self.lower(condition))
                return self.filters[step.name]
            case nodes.Formula(expression):
                node = self.lower(expression)
            case nodes.Const(value):
                node = pool.constant(to_constant(value))
            case nodes.Case(rules, otherwise):
                arms = [part for condition, then in rules for part in (self._condition(condition), self._literal(then))]
                node = pool.switch(*arms, self._literal(otherwise))
            case nodes.Lookup() as lookup:
                node = self._lower_lookup(lookup, step.ty.base)
        self.set_step(step.name, node)
        return node

    def set_step(self, name: str, node: Node) -> None:
        """Use a node as the value of a step in the steps that follow."""
        if not node.is_constant:
            self.pool.anchors.setdefault(node)
        self.steps[name] = node

    def _lower_lookup(self, lookup: nodes.Lookup, base: Base) -> Node:
        """Return a lookup as a switch over its keys; those of `substring_max` are in falling order of their values."""
        pool = self.pool
        source = self.lower(lookup.source)
        table = list(lookup.table)
        if lookup.match == "substring_max":
            table.sort(key=lambda entry: float(entry[1]), reverse=True)
        arms: list[Node] = []
        for key, value in table:
            text = pool.constant(key)
            test = pool.equate(source, text) if lookup.match == "exact" else pool.contains(source, text)
            arms += (test, self._literal(value))
        return pool.switch(*arms, self._literal(lookup.default) if lookup.has_default else pool.failure("lookup", base))

    def _literal(self, value: object) -> Node:
        """Return a literal as a constant."""
        return self.pool.constant(to_constant(value))  # type: ignore[arg-type]  # literals of rules are values

    def _condition(self, expression: Expr) -> Node:
        """Return an expression that is tested for truth."""
        return self.pool.truth(self.lower(expression))

    def lower(self, expression: Expr) -> Node:
        """Return the node of an expression. Functions that the encoding does not know keep their name."""
        pool = self.pool
        match expression:
            case typed.Literal(value):
                return self._literal(value)
            case typed.Ref(symbol):
                return self._lower_symbol(symbol, expression)
            case typed.Present(operand):
                return pool.present(self.lower(operand))
            case typed.Unary(sign, operand):
                number = self.lower(operand)
                return pool.subtract_from_zero(number) if sign == "-" else number
            case typed.Binary(operator, left, right):
                return pool.compute(operator, self.lower(left), self.lower(right))
            case typed.Comparison():
                return self._lower_comparison(expression)
            case typed.Logical(word, operands):
                return self._lower_logical(word, [self.lower(operand) for operand in operands])
            case typed.Not(operand):
                return pool.negate(self._condition(operand))
            case typed.Conditional(condition, then, otherwise):
                return pool.switch(self._condition(condition), self.lower(then), self.lower(otherwise))
            case typed.Call(function, arguments):
                return self._lower_call(
                    function, [self.lower(argument) for argument in arguments], expression.info.ty.base
                )
            case typed.Aggregate():
                return self._lower_aggregate(expression)
        raise AssertionError("a list is an operand of a comparison")

    def _lower_symbol(self, symbol: Symbol, ref: typed.Ref) -> Node:
        """Return the value of a symbol: the node of a step, the condition of a filter, a parameter's value or an input."""
        match symbol.kind:
            case SymbolKind.STEP:
                return self.steps[symbol.name]
            case SymbolKind.FILTER:
                return self.filters[symbol.name]
            case SymbolKind.PARAMETER if symbol.name in self.domain.parameters:
                return self.pool.constant(self.domain.parameters[symbol.name])
        field = self.domain.fields[symbol]
        return self.pool.input(symbol, field.exact_base, nullable=field.nullable)

    def _lower_comparison(self, comparison: typed.Comparison) -> Node:
        """Return a chain of comparisons as the condition that all of them hold."""
        pool = self.pool
        left = self.lower(comparison.first)
        tests: list[Node] = []
        for operator, operand in zip(comparison.operators, comparison.rest, strict=True):
            if isinstance(operand, typed.List):
                test = pool.disjoin(*(pool.equate(left, self.lower(item)) for item in operand.items))
                tests.append(test if operator == "in" else pool.negate(test))
                continue
            right = self.lower(operand)
            if operator in ("in", "not in"):
                test = pool.contains(right, left)
                tests.append(test if operator == "in" else pool.negate(test))
            else:
                tests.append(pool.compare(operator, left, right))
            left = right
        return pool.conjoin(*tests)

    def _lower_logical(self, word: str, operands: list[Node]) -> Node:
        """Return `and` or `or` of the operands, whose value is one of them."""
        pool = self.pool
        if all(operand.base is Base.BOOLEAN and not operand.nullable for operand in operands):
            return pool.conjoin(*operands) if word == "and" else pool.disjoin(*operands)
        value = operands[-1]
        for operand in reversed(operands[:-1]):
            truth = pool.truth(operand)
            value = pool.switch(truth, value, operand) if word == "and" else pool.switch(truth, operand, value)
        return value

    def _lower_call(self, function: str, arguments: list[Node], base: Base) -> Node:
        """Return a call; functions that others express are replaced by these."""
        pool = self.pool
        entry = FUNCTIONS[function]
        first = arguments[0] if arguments else pool.number(0)
        if entry.replaces_null:
            return pool.switch(pool.is_null(first), arguments[1], first)
        if entry.operator:
            return pool.compute(entry.operator, *arguments)
        if entry.folds:
            total = pool.constant(to_constant(entry.empty_value))
            for argument in arguments:
                total = pool.compute(entry.folds, total, argument)
            return total
        if entry.is_conversion and first.base is Base.BOOLEAN:
            return pool.switch(first, pool.number(1), pool.number(0))
        match function:
            case "float":
                return first
            case "int":
                return pool.build("trunc", (first,))
            case "abs":
                return pool.build("max", (first, pool.subtract_from_zero(first)))
            case "clamp":
                return pool.build("max", (arguments[1], pool.build("min", (arguments[2], first))))
            case "round":
                return pool.round_decimals(first, int(arguments[1].value) if len(arguments) == 2 else 0)
        return pool.build(function, tuple(arguments), None, base)

    def _lower_aggregate(self, aggregate: typed.Aggregate) -> Node:
        """Return an aggregate; `any`, `all` and `mean` as comparisons or quotients of counts and sums."""
        pool = self.pool
        where = self._condition(aggregate.where) if aggregate.where is not None else pool.true
        operand = self.lower(aggregate.operand) if aggregate.operand is not None else None
        match aggregate.function, operand:
            case "any", Node():
                return pool.order(
                    pool.number(1), self._count(pool.conjoin(where, pool.truth(operand))), is_strict=False
                )
            case "all", Node():
                failing = pool.conjoin(where, pool.negate(pool.truth(operand)))
                return pool.order(self._count(failing), pool.number(0), is_strict=False)
            case "count", _:
                return self._count(where)
            case ("sum" | "count_distinct") as function, Node():
                base = operand.base if function == "sum" else Base.INTEGER
                return self.make_aggregate(function, where, operand, base)
            case ("max" | "min") as function, Node():
                value = self.make_aggregate(function, where, operand, operand.base)
            case "mean", Node():
                value = pool.compute("/", self.make_aggregate("sum", where, operand, operand.base), self._count(where))
            case function, _:
                return self.make_aggregate(function, where, operand, aggregate.info.ty.base)
        has_rows = pool.order(pool.number(1), self._count(where), is_strict=False)
        default = self._literal(aggregate.default.value if aggregate.default is not None else None)
        return pool.switch(has_rows, value, default)

    def _count(self, where: Node) -> Node:
        """Return the number of reviews for which a condition holds."""
        return self.make_aggregate("count", where, None, Base.INTEGER)

    def make_aggregate(self, function: str, where: Node, operand: Node | None, base: Base) -> Node:
        """Return the node of an aggregate; a subclass may use another value in its place."""
        return self.pool.aggregate(function, where, operand, base)


class FailurePlace(NamedTuple):
    """An operation that fails if all of `conditions` hold, with a fault of this kind. `node` is the operation."""

    node: Node
    conditions: tuple[Node, ...]
    kind: str


def find_failures(pool: Pool, node: Node) -> Iterator[FailurePlace]:
    """Yield the operations of a node that may fail, apart from overflow; operands that are anchors are left out.

    The last of the `conditions` is that of the operation itself, the others are those under which it is evaluated.
    """
    stack: list[tuple[Node, tuple[Node, ...]]] = [(node, ())]
    seen: set[tuple[Node, tuple[Node, ...]]] = set()
    while stack:
        current, path = stack.pop()
        if not current.may_fail or (current in pool.anchors and current is not node) or (current, path) in seen:
            continue
        seen.add((current, path))
        for kind, condition in _list_failures(pool, current):
            if not condition.holds(False):
                yield FailurePlace(current, (*path, condition), kind)
        if current.op in ("and", "or"):
            for operand in current.args:
                stack.append((operand, path))
                path = (*path, operand if current.op == "and" else pool.negate(operand))
        elif current.op == "switch":
            for condition, value in zip(current.args[:-1:2], current.args[1::2], strict=True):
                stack += ((condition, path), (value, (*path, condition)))
                path = (*path, pool.negate(condition))
            stack.append((current.args[-1], path))
        elif current.op != "aggregate":
            stack += ((operand, path) for operand in current.args)


def find_aggregates(pool: Pool, node: Node) -> list[Node]:
    """Return the aggregates in a node, also those in aggregates; operands that are anchors are left out, the node itself not."""
    return [part for part in walk(node, pool.anchors) if part.op == "aggregate"]


def _list_failures(pool: Pool, node: Node) -> Iterator[tuple[str, Node]]:
    """Yield the kind and the condition of each fault of an operation itself."""
    if node.op == "fail":
        yield node.value, pool.true
    elif node.op == "present":
        yield "null", pool.is_null(node.args[0])
    elif node.op == "**":
        base, exponent = node.args
        zero = pool.number(0)
        is_negative = pool.order(exponent, zero, is_strict=True)
        yield "division_by_zero", pool.conjoin(pool.equate(base, zero), is_negative)
        if exponent.base is not Base.INTEGER:
            yield "domain", pool.order(base, zero, is_strict=True)
    else:
        entry = OPERATORS.get(node.op) or FUNCTIONS.get(node.op)
        for failure in entry.failures if entry is not None else ():
            if failure.test is not None:
                place, sign, bound = failure.test
                yield failure.kind, pool.compare(sign, node.args[place], pool.number(bound))
