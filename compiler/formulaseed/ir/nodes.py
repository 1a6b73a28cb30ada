"""Defines checked programs, in which every name is resolved and every expression has a type.

The checkers of documents build them; the interpreter and the backends read them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, Protocol

from formulaseed.language import typed
from formulaseed.language.intervals import Range
from formulaseed.language.typed import Expr, Symbol, SymbolKind, symbols_in
from formulaseed.language.types import BOOLEAN, STRING, Info, Type, Value
from formulaseed.source.text import Span, tree_node

Rule = tuple[Expr | None, Value]
"""A condition and a value, which is chosen if the condition is the first that is true; the condition None is `else`."""


@tree_node
class Filter:
    """A named condition on single reviews."""

    condition: Expr


@tree_node
class Lookup:
    """A lookup of a string in a table by `match`: `exact`, `substring_first` or `substring_max`.

    If no key matches, the value is `default`; without a default, evaluation fails.
    """

    source: Expr
    table: tuple[tuple[str, str | int | float | bool], ...]
    match: str
    has_default: bool
    default: Value

    @property
    def entries(self) -> list[tuple[str, str | int | float | bool]]:
        """The table in an order in which the first key that matches decides: for `substring_max`, the highest value first."""
        entries: list[tuple[str, Any]] = list(self.table)
        return sorted(entries, key=lambda entry: entry[1], reverse=True) if self.match == "substring_max" else entries

    def rules(self) -> Iterator[Rule]:
        """Yield each of the `entries` as a rule that compares its key with the source, then the default if there is one."""
        span = self.source.info.span
        for key, value in self.entries:
            literal = typed.Literal(key, Info(STRING, span, is_constant=True, constant=key))
            sides = (self.source, "==", literal) if self.match == "exact" else (literal, "in", self.source)
            left, operator, right = sides
            yield typed.Comparison(left, (operator,), (right,), Info(BOOLEAN, span)), value
        if self.has_default:
            yield None, self.default


@tree_node
class Formula:
    """A formula, or an aggregate that is a step of its own."""

    expression: Expr


@tree_node
class Const:
    """A constant."""

    value: Value


@tree_node
class Case:
    """Rules in order, each a condition with a value. The value is that of the first condition that is true, or `otherwise`.

    `because` has for each rule, and last for `else`, a sentence for people, or None.
    """

    rules: tuple[tuple[Expr, Value], ...]
    otherwise: Value
    because: tuple[str | None, ...]


Operation = Filter | Lookup | Formula | Const | Case
Adverse = Literal["higher", "lower"]


@tree_node
class Step:
    """A step of a program: a filter, or a value. `range` is None unless the value is a number.

    `sources` are the sentences of the policy that the step follows. `label` and `unit` are words for people, None if the seed
    has none. `adverse` says of a number whether a higher or a lower value speaks against a restaurant; None if the seed does not.
    """

    name: str
    operation: Operation
    ty: Type
    range: Range | None
    span: Span
    description: str = ""
    sources: tuple[str, ...] = ()
    label: str | None = None
    unit: str | None = None
    adverse: Adverse | None = None

    @property
    def aggregate(self) -> typed.Aggregate | None:
        """The aggregate that the step consists of; None for any other step."""
        whole = self.operation.expression if isinstance(self.operation, Formula) else None
        return whole if isinstance(whole, typed.Aggregate) else None

    def aggregates(self) -> list[typed.Aggregate]:
        """Return every aggregate in the step, each once, in the order of evaluation."""
        return [aggregate for expression in self.expressions() for aggregate in typed.aggregates_in(expression)]

    def expressions(self) -> tuple[Expr, ...]:
        """Return the outermost expressions of the step, in the order of evaluation; none for a constant."""
        match self.operation:
            case Filter(only) | Lookup(only) | Formula(only):
                return (only,)
            case Const():
                return ()
            case Case(rules=rules):
                return tuple(condition for condition, _ in rules)

    def rules(self) -> tuple[Rule, ...]:
        """Return the rules of a step that chooses among literals: pairs of condition and value, None for `else`.

        A case has rules, and also a formula that is a chain of conditional expressions, as in seeds v1. Any other step
        has none.
        """
        if isinstance(self.operation, Case):
            return (*self.operation.rules, (None, self.operation.otherwise))
        rules: list[Rule] = []
        rest = self.operation.expression if isinstance(self.operation, Formula) else None
        while isinstance(rest, typed.Conditional) and isinstance(rest.then, typed.Literal):
            rules.append((rest.condition, rest.then.value))
            rest = rest.otherwise
        return (*rules, (None, rest.value)) if rules and isinstance(rest, typed.Literal) else ()

    def choices(self) -> tuple[Rule, ...]:
        """Return the rules of a step that chooses among literals by rules, or by the keys of a lookup."""
        return tuple(self.operation.rules()) if isinstance(self.operation, Lookup) else self.rules()

    def reasons(self) -> tuple[str | None, ...]:
        """Return the sentence `because` of each of the `rules`, in their order; None for a rule without one."""
        if isinstance(self.operation, Case):
            return self.operation.because
        return (None,) * len(self.rules())

    def symbols(self) -> Iterator[Symbol]:
        """Yield every symbol that the step mentions, repeats included."""
        for expression in self.expressions():
            yield from symbols_in(expression)


EvidenceRule = Literal[False, True, "required"]


@tree_node
class EnumValue:
    """A value of an enum, with its meaning."""

    name: str
    description: str


@tree_node
class ExtractionField:
    """A field that an extractor reads from a review.

    If `evidence` is set, a model also quotes the review; if it is "required", an answer without a quote from the review is
    invalid. If `reason` is set, a model explains the value first. `minimum` and `maximum` bound a number, both inclusive.
    `hint` is "stars" if the lexical extractor may also read the stars of a review. `label` and `unit` are words for people,
    None if the seed has none.
    """

    name: str
    ty: Type
    description: str
    values: tuple[EnumValue, ...]
    default: Value
    evidence: EvidenceRule = False
    minimum: int | float | None = None
    maximum: int | float | None = None
    hint: str | None = None
    reason: bool = False
    label: str | None = None
    unit: str | None = None


@tree_node
class ReviewedAnswer:
    """A review with the answer of people, as an example for a model. Values, quotes and reasons are by the name of the field."""

    text: str
    fields: Mapping[str, str | int | float | bool]
    quotes: Mapping[str, str]
    reasons: Mapping[str, str]


@tree_node
class InputField:
    """A field of `meta.*` or `context.*`, or a field of a domain, by its full name.

    `path` are the keys that lead to its value in the business object; empty if the key is the name. `label` and `unit` are
    words for people, None if there are none.
    """

    name: str
    ty: Type
    description: str
    values: tuple[EnumValue, ...] = ()
    path: tuple[str, ...] = ()
    label: str | None = None
    unit: str | None = None


@tree_node
class Parameter:
    """A number or other value that callers may set. `minimum` and `maximum` bound a number, both inclusive.

    `label` and `unit` are words for people, None if the seed has none.
    """

    name: str
    ty: Type
    default: Value
    minimum: int | float | None
    maximum: int | float | None
    description: str
    label: str | None = None
    unit: str | None = None


@tree_node
class Property:
    """A claim that tests and proofs check: as `variable` grows, `step` does not fall (`increasing`) or rise (`decreasing`).

    If `variable` is empty, a review that meets `review` is added: `step` does not fall (`never_lowers`) or rise (`never_raises`).
    """

    direction: str
    step: str
    variable: str
    review: Expr | None = None

    @property
    def sign(self) -> int:
        """1 if the step must not fall, -1 if it must not rise."""
        return 1 if self.direction in ("increasing", "never_lowers") else -1


@tree_node
class ReviewHandling:
    """The rule for long reviews: the length in characters from which they are cut, and how."""

    max_length: int
    strategy: str


class Domain(Protocol):
    """The entities that a program's formulas are over, as a formula reference describes them."""

    @property
    def root(self) -> str:
        """The entity whose fields need no prefix; empty if there is none."""

    def short_name(self, full_name: str) -> str:
        """Return the name of a field as formulas write it: a field of the root without its prefix, if that is unambiguous."""

    def direct_path(self, full_name: str) -> tuple[str, ...]:
        """Return the keys that lead to a field of the root in a flat record; empty if an entity has that name."""

    def similar(self, full_name: str) -> tuple[str, ...]:
        """Return the names of other fields and entities for which a part of `full_name` may be a typo."""


@tree_node
class Program:
    """A checked seed, or a formula over a domain. `steps` include filters; `meta` and `context` hold all known fields."""

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
    properties: tuple[Property, ...] = ()
    extraction_prompt: str = ""
    examples: tuple[ReviewedAnswer, ...] = ()
    record: tuple[InputField, ...] = ()
    """The fields of a domain that the steps use; empty for a seed."""
    reference: Domain | None = None
    """The domain; None for a seed."""

    def inputs(self, kind: SymbolKind) -> tuple[str, ...]:
        """Return the names of all fields or parameters of one of the `INPUT_KINDS`, used or not.

        Raises `KeyError` for any other kind.
        """
        fields: dict[SymbolKind, Iterable[ExtractionField | InputField | Parameter]] = {
            SymbolKind.EXTRACTION: self.fields,
            SymbolKind.META: self.meta,
            SymbolKind.CONTEXT: self.context,
            SymbolKind.PARAMETER: self.parameters,
        }
        return tuple(field.name for field in fields[kind])

    def short_name(self, field: str) -> str:
        """Return the full name of a domain's field as formulas write it: a field of the root without its prefix."""
        if self.reference is None:
            return field
        return self.reference.short_name(field)

    def uses(self) -> dict[str, frozenset[str]]:
        """Return for each step, by its name, the names of the steps and filters that it mentions."""
        kinds = (SymbolKind.STEP, SymbolKind.FILTER)
        return {step.name: frozenset(s.name for s in step.symbols() if s.kind in kinds) for step in self.steps}

    def filters(self) -> dict[str, Expr]:
        """Return the condition of each filter, by its name."""
        return {step.name: step.operation.condition for step in self.steps if isinstance(step.operation, Filter)}

    def used(self) -> frozenset[Symbol]:
        """Return every symbol that some step mentions."""
        return frozenset(symbol for step in self.steps for symbol in step.symbols())

    def row_fields(self) -> list[tuple[SymbolKind, ExtractionField | InputField]]:
        """Return the fields of a row that some step mentions, in the order of a module's `Row`."""
        used = self.used()
        namespaces = ((SymbolKind.EXTRACTION, self.fields), (SymbolKind.META, self.meta))
        return [(kind, field) for kind, fields in namespaces for field in fields if Symbol(kind, field.name) in used]
