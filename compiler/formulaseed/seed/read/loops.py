"""Formulas of the older shape, as operations of the common program.

In: the steps as written, with `extractions`, loops and subscripts. Out: the steps of the common program, in which a
loop has become a count, a sum or an extreme. What cannot be placed is told where it stands, and the rest of the
formula is read on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from formulaseed.diagnostics.model import Problems
from formulaseed.language import ast
from formulaseed.language.types import Base
from formulaseed.seed import surface
from formulaseed.seed.mentions import mentioned_names
from formulaseed.seed.read.parts import Parts, enclosed
from formulaseed.seed.read.review_names import EXTRACTIONS, Inputs, ReviewNames
from formulaseed.seed.surface import Aggregate, Named
from formulaseed.source.text import Span

_EXAMPLES = {
    "sum": "sum(1 for e in extractions if …)",
    "len": "len([e for e in extractions if …])",
    "any": "any(e['field'] == 'value' for e in extractions)",
    "all": "all(e['field'] == 'value' for e in extractions)",
    "max": "max((e['field'] for e in extractions), default=0)",
    "min": "min((e['field'] for e in extractions), default=0)",
}
"""The functions that take a loop, with how they are written."""


@dataclass(frozen=True, slots=True)
class Written:
    """A step as its author wrote it; `formula` is None where it could not be read, which was told."""

    name: Named
    place: Span
    formula: ast.Expr | None


@dataclass(frozen=True, slots=True)
class _At:
    """Where an expression stands: in which loop, by its variable, and behind which conditions on the restaurant."""

    loop: str | None = None
    guards: tuple[ast.Expr, ...] = ()

    def behind(self, condition: ast.Expr | None) -> _At:
        return self if condition is None or self.loop else replace(self, guards=(*self.guards, condition))


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop over `extractions`, and its conditions in the terms of the common program."""

    node: ast.Comprehension
    conditions: list[ast.Expr]
    inside: _At

    def behind(self, tests: list[ast.Expr]) -> _Loop:
        """The loop over fewer reviews."""
        return replace(self, conditions=[*self.conditions, *tests])


_Lower = Callable[[ast.Expr, _At], ast.Expr]


class FormulaReader:
    """Reads the formulas of one seed, in their order."""

    def __init__(self, inputs: Inputs, written: Sequence[Written], returned: Sequence[str], problems: Problems) -> None:
        self.written = written
        self.problems = problems
        self.names = ReviewNames(inputs, {step.name.text for step in written}, problems)
        taken = {*self.names.steps, *returned}
        for step in written:
            if step.formula is not None:
                taken.update(mentioned_names(surface.Step(step.name, step.place, surface.Formula(step.formula))))
        self.parts = Parts(inputs, taken, problems)
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
                return self.names.filter(node)
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
                message = "a loop has no value of its own"
                return self._invalid(node.span, message, "put it into `sum`, `min`, `max`, `any`, `all` or `len`")
            case ast.Keyword(span, name, value):
                self.lower(value, at)
                help = "give them by position, such as `round(x, 2)`"
                return self._invalid(name.span, "arguments have no names here", help)

    def condition(self, node: ast.Expr, at: _At) -> ast.Expr:
        """An expression of which only the truth is asked: a list is true that is not empty."""
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
        """Of a chain, what stands behind the first pair is only asked where that holds."""
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
        foreign = self.names.function(node, at.loop)
        if foreign is not None:
            return foreign
        return ast.Call(node.span, node.name, tuple([self.lower(argument, at) for argument in node.arguments]))

    # --- loops

    def _aggregate(self, node: ast.Call, at: _At) -> Aggregate | ast.Expr | None:
        """What a call makes of the reviews: an aggregate, or an expression of one; None for any other call."""
        name = node.name.text
        if name not in _EXAMPLES:
            return None
        positional = [a for a in node.arguments if not isinstance(a, ast.Keyword)]
        keywords = [a for a in node.arguments if isinstance(a, ast.Keyword)]
        first = positional[0] if positional else None
        if (
            name == "len"
            and isinstance(first, ast.Name)
            and first.text == EXTRACTIONS != at.loop
            and len(node.arguments) == 1
        ):
            return Aggregate("count", None, None)
        over, default = _over_and_default(first)
        if over is None:
            if name not in ("any", "all"):
                return None
            for argument in node.arguments:
                self.lower(argument.value if isinstance(argument, ast.Keyword) else argument, at)
            return self._invalid(node.span, f"`{name}` takes a loop", f"write `{_EXAMPLES[name]}`", "FS303")
        loop = self._loop(over, at)
        help = f"write `{_EXAMPLES[name]}`"
        if default is not None:
            default = self.lower(default, at)
            if name in ("len", "any", "all"):
                loop = self._no_loop(default.span, f"`{name}` takes one list alone", help)
        for keyword in keywords:
            value = self.lower(keyword.value, at)
            if keyword.name.text == "default" and name in ("max", "min") and default is None:
                default = value
            else:
                message = f"`{name}` of a loop takes no `{keyword.name.text}`"
                loop = self._no_loop(keyword.name.span, message, help)
        if len(positional) > 1:
            help = "add it outside: `10 + sum(…)`" if name == "sum" else help
            loop = self._no_loop(positional[1].span, f"`{name}` takes one loop alone", help)
        return self._made(name, loop, _folded(default), node, at) if loop is not None else ast.Invalid(node.span)

    def _loop(self, node: ast.Comprehension, at: _At) -> _Loop | None:
        """The loop with its conditions read; None where it cannot be placed, which is told."""
        variable, source = node.variable, node.source
        inside = _At(loop=variable.text)
        conditions = [self.condition(condition, inside) for condition in node.conditions]
        flat = [part for condition in conditions for part in ast.conjuncts(condition)]
        loop: _Loop | None = _Loop(node, flat, inside)
        if at.loop is not None:
            help = "give the inner loop a step of its own before this one, and use that"
            loop = self._no_loop(node.span, "a loop cannot stand inside another", help)
        if "." in variable.text:
            loop = self._no_loop(variable.span, "a loop's variable is one name", "write `for e in extractions`")
        if not isinstance(source, ast.Name):
            help = "write `for e in extractions`, with conditions behind `if`"
            loop = self._no_loop(source.span, "a loop runs over `extractions` alone", help)
        elif source.text != EXTRACTIONS or at.loop == EXTRACTIONS:
            message = f"there is no list `{source.text}`"
            loop = self._no_loop(source.span, message, "loops run over `extractions`", "FS201")
        if loop is None:
            self._element(node.element, inside)
        return loop

    def _element(self, element: ast.Expr, inside: _At) -> ast.Expr | None:
        """What stands before `for`; None for the review itself."""
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
            return self._invalid(default.span, "a sum over nothing is 0", "add what is to be added in the formula")
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
            help = f"write `{_EXAMPLES['any' if name == 'max' else 'all']}`"
            message = f"`{name}` takes numbers, and this is true or false"
            return self._invalid(loop.node.element.span, message, help, "FS301")
        where = self.parts.condition(at.guards, loop.conditions, element, call.span)
        if default is None or isinstance(default, ast.Literal):
            return Aggregate(name, element, where, default, call.span)
        found = self._value(Aggregate(name, element, where, None, call.span), call)
        some = self._compared(Aggregate("count", None, where), call.span, _counting(loop.node))
        return ast.Conditional(call.span, some, found, default)

    def _length(self, loop: _Loop, at: _At) -> Aggregate | ast.Expr:
        element = self._element(loop.node.element, loop.inside)
        if not loop.node.is_list:
            return self._invalid(loop.node.span, "`len` takes a list", f"write `{_EXAMPLES['len']}`")
        if not (element is None or isinstance(element, ast.Literal | ast.Invalid) or _is_field(element)):
            help = f"write `{_EXAMPLES['len']}`"
            return self._invalid(loop.node.element.span, "`len` counts reviews, whatever stands here", help)
        return self._count(loop, at)

    def _count(self, loop: _Loop, at: _At) -> Aggregate:
        return Aggregate("count", None, self.parts.condition(at.guards, loop.conditions, None, loop.node.span))

    def _there_are(self, loop: _Loop, span: Span, at: _At, written: str, operator: str = ">") -> ast.Expr:
        """The condition that some reviews match, or with `==` that none does; `written` is how to count them."""
        return self._compared(self._count(loop, at), span, written, operator)

    def _compared(self, counted: Aggregate, span: Span, written: str, operator: str = ">") -> ast.Expr:
        number = self.parts.value_of(counted, span, self.owner, written)
        return ast.Comparison(span, number, (operator,), (ast.Literal(span, 0),))

    def _no_loop(self, span: Span, message: str, help: str, code: str = "FS103") -> _Loop | None:
        self.problems.add(code, span, message, help)
        return None

    def _invalid(self, span: Span, message: str, help: str, code: str = "FS103") -> ast.Invalid:
        self.problems.add(code, span, message, help)
        return ast.Invalid(span)


def _over_and_default(argument: ast.Expr | None) -> tuple[ast.Comprehension | None, ast.Expr | None]:
    """The loop of an argument, and in `[… for …] or [0]` what stands for nothing."""
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


def _is_field(node: ast.Expr) -> bool:
    return isinstance(node, ast.Name) and bool(node.written)
