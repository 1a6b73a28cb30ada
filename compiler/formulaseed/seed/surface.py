"""Defines the surface program, the tree to which seed v1, seed v2 and rule files are lowered.

In this tree formulas and conditions are parsed, names are still strings, and nothing is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Protocol

from formulaseed.diagnostics.model import Problems
from formulaseed.ir import nodes
from formulaseed.language import ast
from formulaseed.language.types import Value
from formulaseed.source.text import Span, tree_node

if TYPE_CHECKING:
    from formulaseed.seed.check.scope import SeedScope


RULES_KEY = "rules"
"""The key of the steps in a file of rules."""


@tree_node
class Named:
    """A name, and the place in the file where it is written."""

    span: Span
    text: str


@tree_node
class Filter:
    """The operation of a filter: a condition on a review."""

    condition: ast.Expr


@tree_node
class Entry:
    """A key of a lookup's table with its value."""

    key: Named
    value: ast.Literal


@tree_node
class Lookup:
    """The operation that looks a string up in a table. `default` is None if the seed has none."""

    source: ast.Expr
    table: tuple[Entry, ...]
    match: str
    default: ast.Literal | None


@tree_node
class Formula:
    """The operation that computes a formula over earlier steps."""

    expression: ast.Expr


@tree_node
class Const:
    """The operation whose value is a literal."""

    value: ast.Literal


@tree_node
class Rule:
    """A rule of a case: the result `then` if `condition` holds. `because` is a sentence for people, or None."""

    condition: ast.Expr
    then: ast.Literal
    because: str | None = None


@tree_node
class Case:
    """The operation that returns the result of the first rule that holds, or else `otherwise`.

    `else_because` is the sentence for people of the `else` rule, or None.
    """

    rules: tuple[Rule, ...]
    otherwise: ast.Literal
    else_because: str | None = None


@tree_node
class NoLiteral(ast.Literal):
    """A placeholder for a literal that is missing or wrong, which has been reported."""


@tree_node
class Broken:
    """A placeholder for an operation that could not be lowered, which has been reported.

    The step is kept for its name, so that uses of the step are not reported as well.
    """


Operation = Filter | ast.Aggregate | Lookup | Formula | Const | Case | Broken


@tree_node
class Adverse:
    """The key `adverse` of a step: whether a higher or a lower value speaks against the restaurant."""

    span: Span
    direction: nodes.Adverse


@tree_node
class Step:
    """A compute step of a seed, or a formula of a rule file.

    `is_filter` is None if the operation is unknown, so that the step may be a filter or a value. `sources` are the sentences
    of the policy that the step comes from, verbatim. `label`, `unit` and `adverse` are None if the seed has none.
    """

    name: Named
    span: Span
    operation: Operation
    is_filter: bool | None = False
    description: str = ""
    sources: tuple[str, ...] = ()
    label: str | None = None
    unit: str | None = None
    adverse: Adverse | None = None

    def find_mentioned_names(self) -> Iterator[str]:
        """Yield every name in the operation, bare or dotted, in no fixed order and with repeats; `$F` as `F`."""
        for node in self._walk():
            if isinstance(node, ast.Name | ast.FilterName):
                yield node.text

    def find_literals(self) -> Iterator[tuple[Value, Span]]:
        """Yield every literal of the operation with its place, in no fixed order, and the keys of its table."""
        for node in self._walk():
            if isinstance(node, ast.Literal) and not isinstance(node, NoLiteral):
                yield node.value, node.span
        if isinstance(self.operation, Lookup):
            yield from ((entry.key.text, entry.key.span) for entry in self.operation.table)

    def _walk(self) -> Iterator[ast.Expr]:
        """Yield every expression in the operation, in no fixed order."""
        parts: list[Operation | Rule | Entry] = [self.operation]
        if isinstance(self.operation, Case):
            parts += self.operation.rules
        elif isinstance(self.operation, Lookup):
            parts += self.operation.table
        yield from ast.walk(*(getattr(part, name) for part in parts for name in part.__dataclass_fields__))


@tree_node
class Property:
    """A claim of the seed: how the step `step` moves (the direction) as another step, `variable`, grows, or with one more review.

    `variable` is None if a review is added; `review` is then the condition that it meets, None if that is any review.
    """

    span: Span
    direction: str
    step: Named
    variable: Named | None
    review: ast.Expr | None = None


@tree_node
class Suppression:
    """A warning that the author suppresses, with the reason. `scope` is the JSON Pointer of the object that it covers."""

    code: Named
    reason: str
    scope: str


class CheckingDomain(nodes.Domain, Protocol):
    """The entities of a formula reference, over which formulas can be checked."""

    def record(self, used: Iterable[str]) -> tuple[nodes.InputField, ...]:
        """Return the fields and entities whose full names are in `used`, in the reference's order."""
        ...


@tree_node
class Program:
    """A whole seed or rule file, parsed but not checked."""

    task_name: Named
    version: str = ""
    description: str = ""
    keywords: tuple[Named, ...] = ()
    fields: tuple[nodes.ExtractionField, ...] = ()
    meta: tuple[nodes.InputField, ...] = ()
    context: tuple[nodes.InputField, ...] = ()
    """The declared fields of the restaurant, without the standard ones."""
    parameters: tuple[nodes.Parameter, ...] = ()
    declared_at: Mapping[str, Span] = field(default_factory=dict)
    """The place of each declared field's and parameter's name, by namespace and name, such as `extraction.kind`."""
    review_handling: nodes.ReviewHandling | None = None
    passes: int = 1
    extraction_prompt: str = ""
    """The extractor's prompt, with placeholders such as `{review_text}`; empty if the seed has none."""
    examples: tuple[nodes.ReviewedAnswer, ...] = ()
    steps: tuple[Step, ...] = ()
    steps_key: str = "compute"
    """The key of the steps in the document."""
    nameless: tuple[Step, ...] = ()
    """Steps without a usable name, which has been reported; their names are their places, such as `compute[3]`."""
    output: tuple[Named, ...] = ()
    properties: tuple[Property, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    reference: CheckingDomain | None = None
    """The formula reference whose entities the formulas read, in a rule file, which has no reviews; None for a seed."""
    new_scope: Callable[[Problems, Mapping[str, int]], SeedScope] | None = field(default=None, compare=False)
    """A function that returns the scope of a rule file's formulas, given the index of each step; None for a seed."""
    requires_numbers: bool = False
    """True if every step must be a number or boolean, as in a rule file."""
    incomplete: frozenset[str] = frozenset()
    """Sections and namespaces in which something could not be read, which has been reported: an unknown name may be there."""
    span: Span | None = field(default=None, compare=False)


def join_conjuncts(conditions: Sequence[ast.Expr]) -> ast.Expr | None:
    """Return the conjunction of `conditions`, a single one itself, or None if there are none."""
    if not conditions:
        return None
    if len(conditions) == 1:
        return conditions[0]
    return ast.Logical(conditions[0].span, "and", tuple(conditions))


def map_operands(node: ast.Expr, change: Callable[..., ast.Expr], *arguments: object) -> ast.Expr:
    """Return a copy of `node` in which each operand is replaced by `change(operand, *arguments)`.

    Only the direct operands are changed. The name of a called function is not an operand. Without operands `node`
    itself is returned.
    """
    operands: dict[str, object] = {}
    for name in node.__dataclass_fields__:
        part = getattr(node, name)
        if isinstance(part, tuple) and part and not isinstance(part[0], str):
            operands[name] = tuple([change(operand, *arguments) for operand in part])
        elif isinstance(part, ast.Expr) and not isinstance(node, ast.Call):
            operands[name] = change(part, *arguments)
    return replace(node, **operands) if operands else node  # type: ignore[arg-type]
