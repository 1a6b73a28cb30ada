"""Defines typed expressions: every name is resolved, and every expression has a type.

Expressions are compared by content: their places in the source, and the facts about them (`info`), do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, replace
from enum import Enum

from formulaseed.language.aggregates import AGGREGATES, AggregateFunction
from formulaseed.language.types import Info, Value
from formulaseed.source.text import tree_node, value_node


class SymbolKind(Enum):
    """The namespaces of names; the value is the prefix in formulas, where there is one."""

    __hash__ = object.__hash__  # enumerations compute theirs in Python, and symbols are looked up often

    EXTRACTION = "extraction"
    META = "meta"
    CONTEXT = "context"
    PARAMETER = "param"
    FIELD = "field"
    """A field of a domain's entity, or a whole entity, by its full name."""
    STEP = "step"
    FILTER = "filter"


INPUT_KINDS = (SymbolKind.EXTRACTION, SymbolKind.META, SymbolKind.CONTEXT, SymbolKind.PARAMETER)
"""The namespaces of fields and parameters, whose values are inputs."""


@value_node
class Symbol:
    """A name that is resolved: a field, parameter, step or filter."""

    kind: SymbolKind
    name: str

    @property
    def is_per_review(self) -> bool:
        """True if the value differs from review to review."""
        return self.kind in (SymbolKind.EXTRACTION, SymbolKind.META, SymbolKind.FILTER)

    def __str__(self) -> str:
        """Return the symbol as formulas write it, such as `meta.stars` or `$IS_INCIDENT`."""
        if self.kind in (SymbolKind.STEP, SymbolKind.FIELD):
            return self.name
        if self.kind is SymbolKind.FILTER:
            return f"${self.name}"
        return f"{self.kind.value}.{self.name}"


def _info() -> Info:
    return field(compare=False)  # type: ignore[no-any-return]  # dataclasses types `field` as its value


@tree_node
class Literal:
    """A constant. Two are equal if their types and texts are: to Python, 1, 1.0 and True are one value."""

    value: Value
    info: Info = _info()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[type, str]:
        return type(self.value), repr(self.value)


@tree_node
class Ref:
    """A use of a symbol. `written` is the author's own text; empty if that is the text of the symbol."""

    symbol: Symbol
    info: Info = _info()
    written: str = field(default="", compare=False)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Ref) and self.symbol.name == other.symbol.name and self.symbol.kind is other.symbol.kind
        )

    def __hash__(self) -> int:
        return hash(self.symbol.name)

    @property
    def text(self) -> str:
        """The name as its author wrote it."""
        return self.written or str(self.symbol)


@value_node
class Present:
    """The operand, which may be null: evaluation then fails with a fault of the kind `null`."""

    operand: Expr
    info: Info = _info()


@value_node
class Unary:
    """A sign, `+` or `-`, before a number."""

    operator: str
    operand: Expr
    info: Info = _info()


@value_node
class Binary:
    """An arithmetic operator between two numbers.

    If `is_safe`, Python's own operator cannot raise for these operands. If `may_overflow`, the result may be infinite.
    """

    operator: str
    left: Expr
    right: Expr
    info: Info = _info()
    is_safe: bool = field(default=True, compare=False)
    may_overflow: bool = field(default=False, compare=False)


@value_node
class Call:
    """A call of a function. If `is_safe`, it cannot raise for these arguments, and the result is finite."""

    function: str
    arguments: tuple[Expr, ...]
    info: Info = _info()
    is_safe: bool = field(default=True, compare=False)


@value_node
class Comparison:
    """A comparison, or a chain of them: `first operators[0] rest[0] operators[1] rest[1] …`.

    If `is_constant`, a type checker of the generated code would report that the result is always the same. Then `may_be_null`
    says whether the first operand may be null all the same.
    """

    first: Expr
    operators: tuple[str, ...]
    rest: tuple[Expr, ...]
    info: Info = _info()
    is_constant: bool = field(default=False, compare=False)
    may_be_null: bool = field(default=False, compare=False)


@value_node
class Logical:
    """`and` or `or`, whose value is one of the operands, as in Python."""

    operator: str
    operands: tuple[Expr, ...]
    info: Info = _info()


@value_node
class Not:
    """The negation of a condition."""

    operand: Expr
    info: Info = _info()


@value_node
class Conditional:
    """A conditional expression: `then if condition else otherwise`."""

    condition: Expr
    then: Expr
    otherwise: Expr
    info: Info = _info()


@value_node
class List:
    """A list of values on the right side of `in`."""

    items: tuple[Expr, ...]
    info: Info = _info()


@value_node
class Aggregate:
    """The aggregate `function`, an entry of the table, of `operand` over the reviews that match `where`.

    Without a `where`, it is over all reviews; without an `operand`, it depends on their number only. `default` is the value
    over no reviews, or None if the author states none. If `may_overflow`, the value may be too large for a number.
    `written` is the author's text of an aggregate inside a formula; empty for an aggregate that is a step.
    """

    function: str
    operand: Expr | None
    where: Expr | None
    default: Literal | None
    info: Info = _info()
    may_overflow: bool = field(default=False, compare=False)
    written: str = field(default="", compare=False)

    @property
    def entry(self) -> AggregateFunction:
        """The entry of the table. Raises `KeyError` if there is none."""
        return AGGREGATES[self.function]

    @property
    def needs_pass(self) -> bool:
        """True if the value depends on the content of the rows, not only on their number."""
        return not (self.operand is None and self.where is None)

    @property
    def needs_default(self) -> bool:
        """True if the aggregate has no value over no reviews, neither its own nor a `default`."""
        return self.default is None and self.entry.empty_value is None


Expr = Literal | Ref | Present | Unary | Binary | Call | Comparison | Logical | Not | Conditional | List | Aggregate


def children(expression: Expr) -> tuple[Expr, ...]:
    """Return the direct operands of an expression, in the order of evaluation; a default is none of them."""
    match expression:
        case Literal() | Ref():
            return ()
        case Present(operand) | Unary(_, operand) | Not(operand):
            return (operand,)
        case Binary(_, left, right):
            return (left, right)
        case Call(_, operands) | Logical(_, operands) | List(operands):
            return operands
        case Comparison(first, _, rest):
            return (first, *rest)
        case Conditional(condition, then, otherwise):
            return (condition, then, otherwise)
        case Aggregate(_, operand, where):
            return tuple(part for part in (where, operand) if part is not None)


def walk(expression: Expr) -> Iterator[Expr]:
    """Yield the expression and all expressions in it, each before its operands."""
    stack = [expression]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def aggregates_in(expression: Expr) -> list[Aggregate]:
    """Return the aggregates in an expression, each once, in the order of evaluation.

    An inner aggregate comes before the outer one.
    """
    aggregates: dict[Aggregate, None] = {}
    for node in walk(expression):
        if isinstance(node, Aggregate) and node not in aggregates:
            for part in children(node):
                aggregates.update(dict.fromkeys(aggregates_in(part)))
            aggregates[node] = None
    return list(aggregates)


def map_operands(expression: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """Return a copy of the expression with `change` applied to each direct operand.

    Returns the expression itself if it has none.
    """
    changed: dict[str, object] = {}
    for name in expression.__dataclass_fields__:
        part = getattr(expression, name)
        if isinstance(part, Expr):
            changed[name] = change(part)
        elif isinstance(part, tuple) and part and isinstance(part[0], Expr):
            changed[name] = tuple([change(operand) for operand in part])
    if not changed:
        return expression
    return replace(expression, **changed)  # type: ignore[arg-type]


def symbols_in(expression: Expr) -> Iterator[Symbol]:
    """Return an iterator of every symbol that the expression mentions, repeats included."""
    return (node.symbol for node in walk(expression) if isinstance(node, Ref))


def may_raise(expression: Expr) -> bool:
    """Return True if evaluating the expression may fail. A filter is always taken to fail."""
    for node in walk(expression):
        match node:
            case Present() | Ref(Symbol(SymbolKind.FILTER)):
                return True
            case Binary() | Call() if not node.is_safe or (isinstance(node, Binary) and node.may_overflow):
                return True
    return False


def conjuncts(condition: Expr | None) -> tuple[Expr, ...]:
    """Return the operands of `and` in a condition, also of nested ones.

    Returns the condition alone if it is no `and`, and an empty tuple for None.
    """
    if condition is None:
        return ()
    if isinstance(condition, Logical) and condition.operator == "and":
        return tuple(part for operand in condition.operands for part in conjuncts(operand))
    return (condition,)
