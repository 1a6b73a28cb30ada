"""Formulas of seed v1 as operations of the surface program.

In: the steps as written, with `extractions`, loops and subscripts. Out: surface steps, in which a loop has become an
aggregate. What has no meaning is reported, and the rest of the formula is read on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from formulaseed.diagnostics.catalogue import seed as catalogue
from formulaseed.diagnostics.model import Diagnostic, Problems
from formulaseed.language import ast
from formulaseed.language.types import Base, Type
from formulaseed.seed import surface
from formulaseed.seed.read.v1_names import EXTRACTIONS, ReviewNames
from formulaseed.seed.read.v1_parts import Parts, enclosed
from formulaseed.seed.surface import Aggregate, Named
from formulaseed.source.text import Span


@dataclass(frozen=True, slots=True)
class Written:
    """A step as its author wrote it; `formula` is None if it could not be parsed, which has been reported."""

    name: Named
    place: Span
    formula: ast.Expr | None


@dataclass(frozen=True, slots=True)
class _At:
    """Where an expression is: in which loop, by its variable, and behind which conditions on the restaurant."""

    loop: str | None = None
    guards: tuple[ast.Expr, ...] = ()

    def behind(self, condition: ast.Expr | None) -> _At:
        return self if condition is None or self.loop else replace(self, guards=(*self.guards, condition))


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop over `extractions`, and its conditions as the surface program has them."""

    node: ast.Comprehension
    conditions: list[ast.Expr]
    inside: _At

    def behind(self, tests: list[ast.Expr]) -> _Loop:
        """The loop over fewer reviews."""
        return replace(self, conditions=[*self.conditions, *tests])


_Lower = Callable[[ast.Expr, _At], ast.Expr]


class FormulaReader:
    """Reads the formulas of one seed, in their order."""

    def __init__(
        self,
        types: Mapping[str, Type],
        is_complete: bool,
        written: Sequence[Written],
        returned: Sequence[str],
        problems: Problems,
    ) -> None:
        self.written = written
        self.problems = problems
        self.names = ReviewNames(types, is_complete, {step.name.text for step in written}, problems)
        taken = {*self.names.steps, *returned}
        for step in written:
            if step.formula is not None:
                taken.update(surface.Step(step.name, step.place, surface.Formula(step.formula)).mentioned_names())
        self.parts = Parts(types, taken, problems)
        self.owner = ""

    def steps(self) -> tuple[surface.Step, ...]:
        """The steps, each behind its parts."""
        for step in self.written:
            self.owner = self.names.step = step.name.text
            operation = self._operation(step.formula) if step.formula is not None else surface.Broken()
            self.parts.add(step.name, step.place, operation)
        return self.parts.used_steps()

    def _operation(self, formula: ast.Expr) -> surface.Operation:
        found = self._whole(formula, _At())
        return found if isinstance(found, Aggregate) else surface.Formula(found)

    def _whole(self, node: ast.Expr, at: _At) -> Aggregate | ast.Expr:
        """An expression, or the aggregate that it is."""
        match node:
            case ast.Call():
                found = self._aggregate(node, at)
                return found if found is not None else self._call(node, at)
            case ast.Conditional():
                return self._conditional(node, at)
            case _:
                return self.lower(node, at)

    def _value(self, found: Aggregate | ast.Expr, node: ast.Expr) -> ast.Expr:
        return (
            self.parts.value_of(found, node.span, self.owner, enclosed(node)) if isinstance(found, Aggregate) else found
        )

    # --- expressions

    def lower(self, node: ast.Expr, at: _At) -> ast.Expr:
        """An expression whose value is needed."""
        match node:
            case ast.Literal() | ast.Invalid():
                return node
            case ast.Name():
                return self.names.name(node, at.loop)
            case ast.FilterName():
                return self._report(catalogue.filter_in_v1(node.span))
            case ast.Subscript():
                return self.names.subscript(node, at.loop)
            case ast.Unary(span, operator, operand):
                return ast.Unary(span, operator, self.lower(operand, at))
            case ast.Binary(span, operator, left, right):
                return ast.Binary(span, operator, self.lower(left, at), self.lower(right, at))
            case ast.Not(span, operand):
                return ast.Not(span, self.condition(operand, at))
            case ast.Comparison():
                return self._comparison(node, at)
            case ast.Logical():
                return self._logical(node, at, self.lower)
            case ast.List(span, items):
                return ast.List(span, tuple([self.lower(item, at) for item in items]))
            case ast.Call() | ast.Conditional():
                return self._value(self._whole(node, at), node)
            case ast.Comprehension():
                self._loop(node, at)
                return self._report(catalogue.bare_loop(node.span))
            case ast.Keyword(_, name, value):
                self.lower(value, at)
                return self._report(catalogue.named_argument(name.span))

    def condition(self, node: ast.Expr, at: _At) -> ast.Expr:
        """Lower an expression of which only the truth matters: a list is true that is not empty."""
        match node:
            case ast.Name(span, text) if text == EXTRACTIONS != at.loop:
                return self._compared(Aggregate("count", None, None), span, "len(extractions)")
            case ast.Comprehension(span, is_list=True) if at.loop is None:
                loop = self._loop(node, at)
                return self._there_are(loop, span, at, _counting(loop.node)) if loop else ast.Invalid(span)
            case ast.Logical():
                return self._logical(node, at, self.condition)
            case _:
                return self.lower(node, at)

    def _comparison(self, node: ast.Comparison, at: _At) -> ast.Expr:
        """Lower a chain: what is after the first pair is only evaluated if that holds."""
        first = self.lower(node.first, at)
        rest: list[ast.Expr] = []
        for operand in node.rest:
            before = ast.Comparison(node.span, first, node.operators[: len(rest)], tuple(rest)) if rest else None
            rest.append(self.lower(operand, at.behind(before)))
        return ast.Comparison(node.span, first, node.operators, tuple(rest))

    def _logical(self, node: ast.Logical, at: _At, lower: _Lower) -> ast.Expr:
        operands = []
        for operand in node.operands:
            operands.append(lower(operand, at))
            at = at.behind(self.parts.test(operands[-1], node.operator == "and"))
        return ast.Logical(node.span, node.operator, tuple(operands))

    def _conditional(self, node: ast.Conditional, at: _At) -> Aggregate | ast.Expr:
        """`max(…) if extractions else 0` is the extreme with a default."""
        condition = self.condition(node.condition, at)
        when_true, when_false = self.parts.test(condition, True), self.parts.test(condition, False)
        then = self._whole(node.then, at.behind(when_true))
        otherwise = self._whole(node.otherwise, at.behind(when_false))
        for guard, found, other in ((when_true, then, otherwise), (when_false, otherwise, then)):
            extreme = self._with_default(guard, found, other, at)
            if extreme is not None:
                return extreme
        return ast.Conditional(
            node.span, condition, self._value(then, node.then), self._value(otherwise, node.otherwise)
        )

    def _with_default(
        self, guard: ast.Expr | None, found: Aggregate | ast.Expr, other: Aggregate | ast.Expr, at: _At
    ) -> Aggregate | None:
        """An extreme that is asked for where there are such reviews, and a literal where there are none, as one."""
        if (
            guard is None
            or not isinstance(found, Aggregate)
            or found.function not in ("max", "min")
            or found.default is not None
        ):
            return None
        default = _folded(other) if isinstance(other, ast.Expr) else None
        if not isinstance(default, ast.Literal) or isinstance(default.value, bool | str):
            return None
        return replace(found, default=default) if self.parts.asks_for(guard, found.where, at.guards) else None

    def _call(self, node: ast.Call, at: _At) -> ast.Expr:
        method = self.names.method(node, at.loop)
        if method is not None:
            return method
        return ast.Call(node.span, node.name, tuple([self.lower(argument, at) for argument in node.arguments]))

    # --- loops

    def _aggregate(self, node: ast.Call, at: _At) -> Aggregate | ast.Expr | None:
        """Return what a call makes of the reviews: an aggregate, or an expression of one; None for any other call."""
        name = node.name.text
        if name not in catalogue.LOOPS or not node.arguments:
            return None
        first, *others = node.arguments
        if name == "len" and isinstance(first, ast.Name) and first.text == EXTRACTIONS != at.loop and not others:
            return Aggregate("count", None, None)
        over, default = _over_and_default(first)
        if over is None:
            return self._without_loop(node, at) if name in ("any", "all") else None
        loop = self._loop(over, at)
        default = self.lower(default, at) if default is not None else None
        has_default = default is not None
        for argument in others:
            if isinstance(argument, ast.Keyword) and argument.name.text == "default" and default is None:
                default = self.lower(argument.value, at)
            else:
                loop = self._no_loop(catalogue.loop_arguments(argument.span, name))
        if default is not None and (name in ("len", "any", "all") or (name == "sum" and not has_default)):
            loop = self._no_loop(catalogue.loop_arguments(default.span, name))
        return self._made(name, loop, _folded(default), node, at) if loop is not None else ast.Invalid(node.span)

    def _without_loop(self, node: ast.Call, at: _At) -> ast.Expr:
        for argument in node.arguments:
            self.lower(argument.value if isinstance(argument, ast.Keyword) else argument, at)
        return self._report(catalogue.takes_loop(node.span, node.name.text))

    def _loop(self, node: ast.Comprehension, at: _At) -> _Loop | None:
        """Return the loop with its conditions read; None if it has no meaning here, which is reported."""
        inside = _At(loop=node.variable.text)
        conditions = [self.condition(condition, inside) for condition in node.conditions]
        flat = [part for condition in conditions for part in ast.conjuncts(condition)]
        loop: _Loop | None = _Loop(node, flat, inside)
        source = node.source
        if at.loop is not None:
            loop = self._no_loop(catalogue.nested_loop(node.span))
        if "." in node.variable.text or not (isinstance(source, ast.Name) and source.text == EXTRACTIONS != at.loop):
            name = source.text if isinstance(source, ast.Name) else ""
            loop = self._no_loop(catalogue.loop_over_other(source.span, name))
        if loop is None:
            self._element(node.element, inside)
        return loop

    def _element(self, element: ast.Expr, inside: _At) -> ast.Expr | None:
        """Return what is before `for`; None for the review itself."""
        if isinstance(element, ast.Name) and element.text == inside.loop:
            return None
        return self.lower(element, inside)

    def _made(self, name: str, loop: _Loop, default: ast.Expr | None, call: ast.Call, at: _At) -> Aggregate | ast.Expr:
        if name == "len":
            return self._length(loop, at)
        if name == "sum":
            return self._sum(loop, default, at)
        if name in ("max", "min"):
            return self._extreme(name, loop, default, call, at)
        test = self.condition(loop.node.element, loop.inside)
        tested = enclosed(loop.node.element)
        if name == "any":
            return self._there_are(loop.behind(ast.conjuncts(test)), call.span, at, _counting(loop.node, tested))
        negated = loop.behind([ast.Not(test.span, test)])
        return self._there_are(negated, call.span, at, _counting(loop.node, f"not {tested}"), "==")

    def _sum(self, loop: _Loop, default: ast.Expr | None, at: _At) -> Aggregate | ast.Expr:
        if default is not None and not (isinstance(default, ast.Literal) and default.value == 0):
            return self._report(catalogue.loop_arguments(default.span, "sum"))
        element = self.lower(loop.node.element, loop.inside)
        if self.parts.kind(element) is Base.BOOLEAN:
            is_true = isinstance(element, ast.Literal) and element.value
            return self._count(loop if is_true else loop.behind([element]), at)
        if isinstance(element, ast.Literal) and element.value == 1 and isinstance(element.value, int):
            return self._count(loop, at)
        return Aggregate("sum", element, self.parts.condition(at.guards, loop.conditions, element, loop.node.span))

    def _extreme(
        self, name: str, loop: _Loop, default: ast.Expr | None, call: ast.Call, at: _At
    ) -> Aggregate | ast.Expr:
        element = self.lower(loop.node.element, loop.inside)
        if self.parts.kind(element) is Base.BOOLEAN:
            return self._report(catalogue.boolean_extreme(loop.node.element.span, name))
        where = self.parts.condition(at.guards, loop.conditions, element, call.span)
        if default is None or isinstance(default, ast.Literal):
            return Aggregate(name, element, where, default, call.span)
        found = self._value(Aggregate(name, element, where, None, call.span), call)
        some = self._compared(Aggregate("count", None, where), call.span, _counting(loop.node))
        return ast.Conditional(call.span, some, found, default)

    def _length(self, loop: _Loop, at: _At) -> Aggregate | ast.Expr:
        element = self._element(loop.node.element, loop.inside)
        is_field = isinstance(element, ast.Name) and bool(element.written)
        if not loop.node.is_list or not (element is None or is_field or isinstance(element, ast.Literal | ast.Invalid)):
            return self._report(catalogue.takes_loop(loop.node.span, "len"))
        return self._count(loop, at)

    def _count(self, loop: _Loop, at: _At) -> Aggregate:
        return Aggregate("count", None, self.parts.condition(at.guards, loop.conditions, None, loop.node.span))

    def _there_are(self, loop: _Loop, span: Span, at: _At, written: str, operator: str = ">") -> ast.Expr:
        """Return the condition that some reviews match, or with `==` that none does; `written` is how to count them."""
        return self._compared(self._count(loop, at), span, written, operator)

    def _compared(self, counted: Aggregate, span: Span, written: str, operator: str = ">") -> ast.Expr:
        number = self.parts.value_of(counted, span, self.owner, written)
        return ast.Comparison(span, number, (operator,), (ast.Literal(span, 0),))

    def _no_loop(self, found: Diagnostic) -> _Loop | None:
        self.problems.report(found)
        return None

    def _report(self, found: Diagnostic) -> ast.Invalid:
        self.problems.report(found)
        return ast.Invalid(found.span)


def _over_and_default(argument: ast.Expr | None) -> tuple[ast.Comprehension | None, ast.Expr | None]:
    """Return the loop of an argument, and the value over no reviews in `[… for …] or [0]`."""
    if isinstance(argument, ast.Comprehension):
        return argument, None
    match argument:
        case ast.Logical(_, "or", (ast.Comprehension(is_list=True) as loop, ast.List(_, (single,)))):
            return loop, single
        case _:
            return None, None


def _folded(default: ast.Expr | None) -> ast.Expr | None:
    """A number with its sign as one literal."""
    match default:
        case ast.Unary(span, sign, ast.Literal(_, int() | float() as number)) if not isinstance(number, bool):
            return ast.Literal(span, -number if sign == "-" else number)
        case _:
            return default


def _counting(node: ast.Comprehension, *tests: str) -> str:
    """A formula that counts the reviews of a loop, with further conditions."""
    variable = node.variable.text
    conditions = "".join(f" if {test}" for test in (*(enclosed(c) for c in node.conditions), *tests))
    return f"len([{variable} for {variable} in extractions{conditions}])" if conditions else "len(extractions)"
