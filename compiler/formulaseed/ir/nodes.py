"""Checked programs: every name is resolved, every expression has a type, nothing is left to guess.

Built by `check`, read by the interpreter and the backends. Two expressions are equal if they say the same,
wherever they stand; what is known of them (`info`) does not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from formulaseed.domain.ranges import Range
from formulaseed.domain.types import Type, Value
from formulaseed.source.text import Span
from formulaseed.source.tree import tree_node

if TYPE_CHECKING:
    from formulaseed.domain.reference import Reference


@tree_node
class Info:
    """What is known of an expression: its type, the range of its numbers, and where it was written.

    `is_constant` says that it is made of literals alone; then `constant` is its value.
    """

    ty: Type
    span: Span
    range: Range | None = None
    is_constant: bool = False
    constant: Value = None


class SymbolKind(Enum):
    EXTRACTION = "extraction"
    META = "meta"
    CONTEXT = "context"
    PARAMETER = "param"
    FIELD = "field"
    """A field of a domain's entity, or a whole entity, by its full name."""
    STEP = "step"
    FILTER = "filter"


INPUT_KINDS = (SymbolKind.EXTRACTION, SymbolKind.META, SymbolKind.CONTEXT, SymbolKind.PARAMETER)
"""What is given from outside: the namespaces of fields and parameters."""


@dataclass(frozen=True, slots=True)
class Symbol:
    kind: SymbolKind
    name: str

    @property
    def is_per_review(self) -> bool:
        """Whether each review has a value of its own."""
        return self.kind in (SymbolKind.EXTRACTION, SymbolKind.META, SymbolKind.FILTER)

    def __str__(self) -> str:
        """The symbol as formulas write it."""
        if self.kind in (SymbolKind.STEP, SymbolKind.FIELD):
            return self.name
        return f"${self.name}" if self.kind is SymbolKind.FILTER else f"{self.kind.value}.{self.name}"


def _info() -> Info:
    return field(compare=False)  # type: ignore[no-any-return]  # dataclasses types `field` as its value


@dataclass(frozen=True, slots=True, eq=False)
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


@dataclass(frozen=True, slots=True)
class Ref:
    """`written` is how the author wrote it; empty where that is the symbol's own text."""

    symbol: Symbol
    info: Info = _info()
    written: str = field(default="", compare=False)

    @property
    def text(self) -> str:
        return self.written or str(self.symbol)


@dataclass(frozen=True, slots=True)
class Present:
    """The operand, which is null for some inputs: then evaluation fails with the kind `null`."""

    operand: Expr
    info: Info = _info()


@dataclass(frozen=True, slots=True)
class Unary:
    operator: str
    operand: Expr
    info: Info = _info()


@dataclass(frozen=True, slots=True)
class Binary:
    """`is_safe`: the operands are such that Python's own operator cannot raise. `may_overflow`: it may give infinity."""

    operator: str
    left: Expr
    right: Expr
    info: Info = _info()
    is_safe: bool = field(default=True, compare=False)
    may_overflow: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    """`is_safe` as for `Binary`. No function gives infinity for finite arguments where it is safe."""

    function: str
    arguments: tuple[Expr, ...]
    info: Info = _info()
    is_safe: bool = field(default=True, compare=False)


@dataclass(frozen=True, slots=True)
class Comparison:
    """`is_decided`: conditions around it leave no doubt about the result, which a type checker would point out.

    `may_be_null` says then that the first operand may be null all the same.
    """

    first: Expr
    operators: tuple[str, ...]
    rest: tuple[Expr, ...]
    info: Info = _info()
    is_decided: bool = field(default=False, compare=False)
    may_be_null: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Logical:
    operator: str
    operands: tuple[Expr, ...]
    info: Info = _info()


@dataclass(frozen=True, slots=True)
class Not:
    operand: Expr
    info: Info = _info()


@dataclass(frozen=True, slots=True)
class Conditional:
    condition: Expr
    then: Expr
    otherwise: Expr
    info: Info = _info()


@dataclass(frozen=True, slots=True)
class List:
    """The right side of `in`."""

    items: tuple[Expr, ...]
    info: Info = _info()


Expr = Literal | Ref | Present | Unary | Binary | Call | Comparison | Logical | Not | Conditional | List


def children(expression: Expr) -> tuple[Expr, ...]:
    """The direct operands, in the order in which they are evaluated."""
    match expression:
        case Literal() | Ref():
            return ()
        case Present(operand) | Unary(_, operand) | Not(operand):
            return (operand,)
        case Binary(_, left, right):
            return (left, right)
        case Call(_, arguments):
            return arguments
        case Comparison(first, _, rest):
            return (first, *rest)
        case Logical(_, operands):
            return operands
        case Conditional(condition, then, otherwise):
            return (condition, then, otherwise)
        case List(items):
            return items


def walk(expression: Expr) -> Iterator[Expr]:
    """The expression and everything in it."""
    stack = [expression]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def symbols_in(expression: Expr) -> Iterator[Symbol]:
    """Every symbol that the expression mentions, repeats included."""
    return (node.symbol for node in walk(expression) if isinstance(node, Ref))


def may_raise(expression: Expr) -> bool:
    """Whether evaluating it may fail; of a filter it is taken to be so."""
    for node in walk(expression):
        match node:
            case Present() | Ref(Symbol(SymbolKind.FILTER)):
                return True
            case Binary() | Call() if not node.is_safe or (isinstance(node, Binary) and node.may_overflow):
                return True
    return False


def conjuncts(condition: Expr | None) -> tuple[Expr, ...]:
    """What must hold for the condition to hold, as a flat list."""
    if condition is None:
        return ()
    if isinstance(condition, Logical) and condition.operator == "and":
        return tuple(part for operand in condition.operands for part in conjuncts(operand))
    return (condition,)


@tree_node
class Filter:
    condition: Expr


@tree_node
class Count:
    where: Expr | None


@tree_node
class Sum:
    expression: Expr
    where: Expr | None
    may_overflow: bool


@tree_node
class Extreme:
    """The largest or smallest value over the matching reviews, over none the default.

    Without one that is null, and has to be guarded; a default that is null was meant to be.
    """

    largest: bool
    expression: Expr
    where: Expr | None
    default: int | float | None
    has_default: bool


@tree_node
class Lookup:
    """`match` is `exact`, `substring_first` or `substring_max`. Without a default a miss is an error."""

    source: Expr
    table: tuple[tuple[str, str | int | float | bool], ...]
    match: str
    has_default: bool
    default: Value


@tree_node
class Formula:
    expression: Expr


@tree_node
class Const:
    value: Value


@tree_node
class Case:
    rules: tuple[tuple[Expr, Value], ...]
    otherwise: Value


Aggregate = Count | Sum | Extreme
Operation = Filter | Count | Sum | Extreme | Lookup | Formula | Const | Case


@tree_node
class Step:
    """A compute step. `range` bounds its value where it is a number.

    `part_of` names the step in whose formula its author wrote it: nobody sees it but as a part of that one.
    """

    name: str
    operation: Operation
    ty: Type
    range: Range | None
    span: Span
    part_of: str = ""
    description: str = ""

    @property
    def owner(self) -> str:
        """The step that its author knows it by, which errors name."""
        return self.part_of or self.name

    @property
    def is_aggregate(self) -> bool:
        return isinstance(self.operation, Count | Sum | Extreme)

    def expressions(self) -> tuple[Expr, ...]:
        """Every expression of the step, in the order of evaluation."""
        match self.operation:
            case Filter(condition):
                return (condition,)
            case Count(where):
                return (where,) if where else ()
            case Sum(expression, where) | Extreme(_, expression, where):
                return (where, expression) if where else (expression,)
            case Lookup(source):
                return (source,)
            case Formula(expression):
                return (expression,)
            case Const():
                return ()
            case Case(rules):
                return tuple(condition for condition, _ in rules)

    def symbols(self) -> Iterator[Symbol]:
        """Every symbol that the step mentions, repeats included."""
        for expression in self.expressions():
            yield from symbols_in(expression)


@tree_node
class EnumValue:
    name: str
    description: str


@tree_node
class ExtractionField:
    """`evidence`: a quote from the review is asked for. `minimum` and `maximum` bound a number, both inclusive."""

    name: str
    ty: Type
    description: str
    values: tuple[EnumValue, ...]
    default: Value
    evidence: bool = False
    minimum: int | float | None = None
    maximum: int | float | None = None


@tree_node
class InputField:
    """A field of `meta.*` or `context.*`, or of a domain's record by its full name.

    `path` leads to its value in the business object; empty for a field under its own name.
    """

    name: str
    ty: Type
    description: str
    values: tuple[EnumValue, ...] = ()
    path: tuple[str, ...] = ()


@tree_node
class Parameter:
    name: str
    ty: Type
    default: Value
    minimum: int | float | None
    maximum: int | float | None
    description: str


@tree_node
class ReviewHandling:
    max_length: int
    strategy: str


@tree_node
class Program:
    """A checked seed. `steps` include filters; `meta` and `context` hold standard and declared fields."""

    task_name: str
    version: str
    description: str
    keywords: tuple[str, ...]
    fields: tuple[ExtractionField, ...]
    meta: tuple[InputField, ...]
    context: tuple[InputField, ...]
    parameters: tuple[Parameter, ...]
    review_handling: ReviewHandling | None
    passes: int
    steps: tuple[Step, ...]
    output: tuple[str, ...]
    extraction_prompt: str = ""
    record: tuple[InputField, ...] = ()
    """The fields in use where the steps are formulas over the entities of a domain."""
    reference: Reference | None = None
    """What names mean in that domain."""

    def inputs(self, kind: SymbolKind) -> tuple[str, ...]:
        """The names of all fields or parameters of one of the `INPUT_KINDS`, used or not."""
        fields: dict[SymbolKind, Iterable[ExtractionField | InputField | Parameter]] = {
            SymbolKind.EXTRACTION: self.fields,
            SymbolKind.META: self.meta,
            SymbolKind.CONTEXT: self.context,
            SymbolKind.PARAMETER: self.parameters,
        }
        return tuple(field.name for field in fields[kind])

    def spelled(self, field: str) -> str:
        """The full name of a record's field as formulas rather write it: one of the root without its prefix."""
        return self.reference.spelled(field) if self.reference is not None else field

    def used(self) -> frozenset[Symbol]:
        """Every symbol that some step mentions."""
        return frozenset(symbol for step in self.steps for symbol in step.symbols())
