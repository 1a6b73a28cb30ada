"""Lower the steps of a checked program to nodes: filters and parameters are replaced by their values, steps by their nodes.

In: a program and the domain of its inputs. Out: a node for each step, and the places at which an expression may fail.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator

from formulaseed.ir import nodes
from formulaseed.language import typed
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.operators import OPERATORS
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.language.types import Base
from formulaseed.proofs.nodes import Node, pair_arms, walk
from formulaseed.proofs.pool import Pool
from formulaseed.proofs.world import Domain


class Lowering:
    """The nodes of a program's steps and filters in a pool, which another program may share.

    `change` may replace aggregates in an expression that consists of them.
    """

    def __init__(
        self, pool: Pool, program: nodes.Program, domain: Domain, change: Callable[[Node], Node] = lambda node: node
    ) -> None:
        self.pool = pool
        self.change = change
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
                self.filters[step.name] = self.lower_condition(condition)
                return self.filters[step.name]
            case nodes.Formula(expression):
                node = self.lower(expression)
            case nodes.Const(value):
                node = pool.literal(value)
            case nodes.Case() | nodes.Lookup():
                rules = step.choices()
                arms = [part for test, then in rules for part in (self.lower_condition(test), pool.literal(then))]
                node = pool.switch(*arms, pool.failure(step.ty.base))
        self.set_step(step.name, node)
        return node

    def set_step(self, name: str, node: Node) -> None:
        """Use a node as the value of a step in the steps that follow."""
        if not node.is_constant:
            self.pool.anchors.setdefault(node)
        self.steps[name] = node

    def lower_condition(self, expression: Expr | None) -> Node:
        """Return an expression that is tested for truth; without one, a condition that always holds."""
        return self.pool.true if expression is None else self.pool.truth(self.lower(expression))

    def lower(self, expression: Expr) -> Node:
        """Return the node of an expression. Functions that proofs do not know keep their name."""
        pool = self.pool
        match expression:
            case typed.Literal(value):
                return pool.literal(value)
            case typed.Ref(symbol):
                return self._lower_symbol(symbol)
            case typed.Present(operand):
                return pool.present(self.lower(operand))
            case typed.Unary(sign, operand):
                number = self.lower(operand)
                return pool.compute("-", pool.number(0), number) if sign == "-" else number
            case typed.Binary(operator, left, right):
                return pool.compute(operator, self.lower(left), self.lower(right))
            case typed.Comparison():
                return self._lower_comparison(expression)
            case typed.Logical(word, operands):
                return self._lower_logical(word, [self.lower(operand) for operand in operands])
            case typed.Not(operand):
                return pool.negate(self.lower_condition(operand))
            case typed.Conditional(condition, then, otherwise):
                return pool.switch(self.lower_condition(condition), self.lower(then), self.lower(otherwise))
            case typed.Call(function, arguments):
                parts = [self.lower(argument) for argument in arguments]
                if FUNCTIONS[function].is_conversion and parts[0].base is Base.BOOLEAN:
                    return pool.switch(parts[0], pool.number(1), pool.number(0))
                return pool.call(function, *parts, base=expression.info.ty.base)
            case typed.Aggregate():
                return self._lower_aggregate(expression)
        raise AssertionError("a list is an operand of a comparison")

    def _lower_symbol(self, symbol: Symbol) -> Node:
        """Return the value of a symbol: the node of a step, the condition of a filter, a parameter's value or an input."""
        match symbol.kind:
            case SymbolKind.STEP:
                return self.steps[symbol.name]
            case SymbolKind.FILTER:
                return self.filters[symbol.name]
            case SymbolKind.PARAMETER if symbol not in self.domain.fields:
                return self.pool.constant(self.domain.parameters[symbol.name])
        return self.pool.field(symbol)

    def _lower_comparison(self, comparison: typed.Comparison) -> Node:
        """Return a chain of comparisons as the condition that all of them hold."""
        pool = self.pool
        left = self.lower(comparison.first)
        tests: list[Node] = []
        for operator, operand in zip(comparison.operators, comparison.rest, strict=True):
            if isinstance(operand, typed.List):
                test = pool.either(*(pool.equate(left, self.lower(item)) for item in operand.items))
            else:
                right = self.lower(operand)
                test = pool.contains(right, left) if "in" in operator else pool.compare(operator, left, right)
                left = right
            tests.append(pool.negate(test) if operator == "not in" else test)
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

    def _lower_aggregate(self, aggregate: typed.Aggregate) -> Node:
        """Return an aggregate by its definition; one that has no value over no reviews is its default then."""
        where = self.lower_condition(aggregate.where)
        lower = self.lower_condition if aggregate.entry.takes == "condition" else self.lower
        operand = lower(aggregate.operand) if aggregate.operand is not None else self.pool.true
        if aggregate.entry.definition is not None:
            value: Node = aggregate.entry.definition(self.pool, where, operand)
        else:
            value = self.pool.unknown_aggregate(aggregate.function, where, operand, aggregate.info.ty.base)
        if aggregate.entry.empty_value is None:
            has_rows = self.pool.compare(">=", self.pool.count(where), self.pool.number(1))
            default = self.pool.literal(aggregate.default.value if aggregate.default else None)
            value = self.pool.switch(has_rows, value, default)
        return self.change(value)


def find_failures(pool: Pool, node: Node, stops: Container[Node]) -> Iterator[tuple[Node, ...]]:
    """Yield the conditions under which each operation of a node fails, apart from overflow; nodes in `stops` are left out.

    The last of the conditions is that of the operation itself, the others are those under which it is evaluated.
    """
    stack: list[tuple[Node, tuple[Node, ...]]] = [(node, ())]
    seen: set[tuple[Node, tuple[Node, ...]]] = set()
    while stack:
        current, path = stack.pop()
        if not current.may_fail or current in stops or (current, path) in seen:
            continue
        seen.add((current, path))
        yield from ((*path, *own) for own in _list_failures(pool, current) if not own[-1].holds(False))
        if current.op in ("and", "or"):
            for operand in current.args:
                stack.append((operand, path))
                path = (*path, operand if current.op == "and" else pool.negate(operand))
        elif current.op == "switch":
            for condition, value in pair_arms(current):
                stack += ((condition, path), (value, (*path, condition)))
                path = (*path, pool.negate(condition))
            stack.append((current.args[-1], path))
        elif current.op != "aggregate":
            stack += ((operand, path) for operand in current.args)


def may_fail(pool: Pool, node: Node) -> bool:
    """Return True if a step may fail itself, not only a step that it uses."""
    earlier = pool.list_earlier(node)
    own_aggregates = (part for part in walk(node, earlier) if part.op == "aggregate")
    return any(True for _ in find_failures(pool, node, earlier)) or any(part.may_fail for part in own_aggregates)


def _list_failures(pool: Pool, node: Node) -> Iterator[tuple[Node, ...]]:
    """Yield for each fault of an operation itself the conditions that all hold if the operation fails so, and else not."""
    if node.op == "fail":
        yield (pool.true,)
    elif node.op == "present":
        yield (pool.is_null(node.args[0]),)
    else:
        entry = OPERATORS.get(node.op) or FUNCTIONS.get(node.op)
        for failure in entry.failures if entry is not None else ():
            if failure.effect == "raises" and failure.kind != "overflow":
                known = failure.test or failure.only_if
                condition = pool.compare(known[1], node.args[known[0]], pool.number(known[2])) if known else pool.true
                # a condition that must hold for a failure may also hold without one, which no condition decides
                chance = () if failure.test else (pool.build("fails", node.args, failure.kind, Base.BOOLEAN),)
                yield (*chance, condition)
