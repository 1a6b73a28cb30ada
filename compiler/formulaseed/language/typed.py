"""Defines typed expressions: every name is resolved, and every expression has a type.

Two expressions are equal if they say the same, wherever they are written; what is known of them (`info`) does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, replace
from enum import Enum

from formulaseed.language.aggregates import AGGREGATES, AggregateFunction
from formulaseed.language.info import Info
from formulaseed.language.types import Value
from formulaseed.source.text import tree_node, value_node


class SymbolKind(Enum):
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
    kind: SymbolKind
    name: str

    @property
    def is_per_review(self) -> bool:
        """True if each review has a value of its own."""
        return self.kind in (SymbolKind.EXTRACTION, SymbolKind.META, SymbolKind.FILTER)

    def __str__(self) -> str:
        """Return the symbol as formulas write it."""
        if self.kind in (SymbolKind.STEP, SymbolKind.FIELD):
            return self.name
        return f"${self.name}" if self.kind is SymbolKind.FILTER else f"{self.kind.value}.{self.name}"


def _info() -> Info:
    return field(compare=False)  # type: ignore[no-any-return]  # dataclasses types `field` as its value


@tree_node
class Literal:
    """Equal to a literal of the same type that is written alike: to Python 1, 1.0 and True are one value."""

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
    """`written` is how the author wrote it; empty where that is the symbol's own text."""

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
    """The operand, which is null for some inputs: then evaluation fails with the kind `null`."""

    operand: Expr
    info: Info = _info()


@value_node
class Unary:
    operator: str
    operand: Expr
    info: Info = _info()


@value_node
class Binary:
    """`is_safe`: the operands are such that Python's own operator cannot raise. `may_overflow`: it may give infinity."""

    operator: str
    left: Expr
    right: Expr
    info: Info = _info()
    is_safe: bool = field(default=True, compare=False)
    may_overflow: bool = field(default=False, compare=False)


@value_node
class Call:
    """`is_safe` as for `Binary`. No function gives infinity for finite arguments where it is safe."""

    function: str
    arguments: tuple[Expr, ...]
    info: Info = _info()
    is_safe: bool = field(default=True, compare=False)


@value_node
class Comparison:
    """`is_constant`: the conditions around it leave no doubt about the result, which a type checker would point out.

    `may_be_null` says then that the first operand may be null all the same.
    """

    first: Expr
    operators: tuple[str, ...]
    rest: tuple[Expr, ...]
    info: Info = _info()
    is_constant: bool = field(default=False, compare=False)
    may_be_null: bool = field(default=False, compare=False)


@value_node
class Logical:
    operator: str
    operands: tuple[Expr, ...]
    info: Info = _info()


@value_node
class Not:
    operand: Expr
    info: Info = _info()


@value_node
class Conditional:
    condition: Expr
    then: Expr
    otherwise: Expr
    info: Info = _info()


@value_node
class List:
    """The right side of `in`."""

    items: tuple[Expr, ...]
    info: Info = _info()


@value_node
class Aggregate:
    """One value of all reviews that match `where`: the entry `function` of the table of aggregates, applied to `operand`.

    `operand` is evaluated for each of these reviews; it may be None. `default` is the value over no reviews
    that the author states, or None. `may_overflow` says that the value may be too large for a number. `written` is how the
    author wrote the aggregate inside a formula; empty for a step of its own.
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
        """True if the value depends on the single rows, not only on their number."""
        return not (self.operand is None and self.where is None)

    @property
    def needs_default(self) -> bool:
        """True if the aggregate has no value over no reviews."""
        return self.default is None and self.entry.empty_value is None


Expr = Literal | Ref | Present | Unary | Binary | Call | Comparison | Logical | Not | Conditional | List | Aggregate


def children(expression: Expr) -> tuple[Expr, ...]:
    """Return the direct operands, in the order in which they are evaluated."""
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
    """Yield the expression and everything in it."""
    stack = [expression]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def aggregates_in(expression: Expr) -> list[Aggregate]:
    """Return the aggregates in an expression, each once, in the order of evaluation: those inside another one before it."""
    aggregates: dict[Aggregate, None] = {}
    for node in walk(expression):
        if isinstance(node, Aggregate) and node not in aggregates:
            for part in children(node):
                aggregates.update(dict.fromkeys(aggregates_in(part)))
            aggregates[node] = None
    return list(aggregates)


def map_operands(expression: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """Return the expression with each of its operands changed."""
    changed: dict[str, object] = {}
    for name in expression.__dataclass_fields__:
        part = getattr(expression, name)
        if isinstance(part, Expr):
            changed[name] = change(part)
        elif isinstance(part, tuple) and part and isinstance(part[0], Expr):
            changed[name] = tuple([change(operand) for operand in part])
    return replace(expression, **changed) if changed else expression  # type: ignore[arg-type]


def symbols_in(expression: Expr) -> Iterator[Symbol]:
    """Return an iterator of every symbol that the expression mentions, repeats included."""
    return (node.symbol for node in walk(expression) if isinstance(node, Ref))


def may_raise(expression: Expr) -> bool:
    """Return True if evaluating the expression may fail; a filter always may."""
    for node in walk(expression):
        match node:
            case Present() | Ref(Symbol(SymbolKind.FILTER)):
                return True
            case Binary() | Call() if not node.is_safe or (isinstance(node, Binary) and node.may_overflow):
                return True
    return False


def conjuncts(condition: Expr | None) -> tuple[Expr, ...]:
    """Return the conditions that `and` joins in a condition, also nested ones; none for None."""
    if condition is None:
        return ()
    if isinstance(condition, Logical) and condition.operator == "and":
        return tuple(part for operand in condition.operands for part in conjuncts(operand))
    return (condition,)
