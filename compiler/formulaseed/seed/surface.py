"""Defines the surface program, to which seed v1, seed v2 and rule files are lowered.

Formulas and conditions are parsed, names are still strings, nothing is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Protocol

from formulaseed.diagnostics.model import Problems
from formulaseed.ir import nodes
from formulaseed.language import ast
from formulaseed.source.text import Span, tree_node

if TYPE_CHECKING:
    from formulaseed.seed.check.scope import SeedScope


@tree_node
class Named:
    """A name with the place where it was given."""

    span: Span
    text: str


@tree_node
class Filter:
    condition: ast.Expr


@tree_node
class Entry:
    key: Named
    value: ast.Literal


@tree_node
class Lookup:
    source: ast.Expr
    table: tuple[Entry, ...]
    match: str
    default: ast.Literal | None


@tree_node
class Formula:
    expression: ast.Expr


@tree_node
class Const:
    value: ast.Literal


@tree_node
class Rule:
    condition: ast.Expr
    then: ast.Literal


@tree_node
class Case:
    rules: tuple[Rule, ...]
    otherwise: ast.Literal


@tree_node
class NoLiteral(ast.Literal):
    """In place of a literal that is missing or wrong, which has been reported."""


@tree_node
class Broken:
    """A step that could not be lowered, which has been reported. Its name is known, so that its uses are no errors too."""


Operation = Filter | ast.Aggregate | Lookup | Formula | Const | Case | Broken


@tree_node
class Step:
    """A compute step, or a rule. `is_filter` is None where the operation is unknown: the step may be a filter or a value."""

    name: Named
    span: Span
    operation: Operation
    is_filter: bool | None = False
    description: str = ""
    sources: tuple[str, ...] = ()
    """Sentences of the policy that the step comes from, verbatim."""

    def mentioned_names(self) -> Iterator[str]:
        """Yield every bare or dotted name, and every filter's without its sign, in no particular order; repeats included."""
        parts = self.operation.rules if isinstance(self.operation, Case) else (self.operation,)
        for node in ast.walk(*(getattr(part, name) for part in parts for name in part.__dataclass_fields__)):
            if isinstance(node, ast.Name | ast.FilterName):
                yield node.text


@tree_node
class Property:
    """A claim: `step` is `increasing` or `decreasing` in `variable`, another step."""

    direction: str
    step: Named
    variable: Named


@tree_node
class Suppression:
    """A warning that the seed's author allows, with the reason. `scope` is the JSON Pointer of the object that it covers."""

    code: Named
    reason: str
    scope: str


class CheckingDomain(nodes.Domain, Protocol):
    """The entities of a domain, which can also check formulas over them."""

    def record(self, used: Iterable[str]) -> tuple[nodes.InputField, ...]:
        """Return the fields and entities among these full names, in the reference's order."""
        ...


@tree_node
class Program:
    task_name: Named
    version: str = ""
    description: str = ""
    keywords: tuple[Named, ...] = ()
    fields: tuple[nodes.ExtractionField, ...] = ()
    meta: tuple[nodes.InputField, ...] = ()
    context: tuple[nodes.InputField, ...] = ()
    """The declared fields, beside the standard ones."""
    parameters: tuple[nodes.Parameter, ...] = ()
    declared_at: Mapping[str, Span] = field(default_factory=dict)
    """Where the name of each field and parameter is declared, by namespace and name."""
    review_handling: nodes.ReviewHandling | None = None
    passes: int = 1
    extraction_prompt: str = ""
    """The extractor's prompt, with placeholders such as `{review_text}`; empty if the seed has none."""
    examples: tuple[nodes.ReviewedAnswer, ...] = ()
    steps: tuple[Step, ...] = ()
    steps_key: str = "compute"
    """The key of the steps in the document."""
    nameless: tuple[Step, ...] = ()
    """Steps without a usable name, which has been reported; named by their places."""
    output: tuple[Named, ...] = ()
    properties: tuple[Property, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    reference: CheckingDomain | None = None
    """The domain of steps that are formulas over its entities; then there are no reviews. None for a seed."""
    new_scope: Callable[[Problems, Mapping[str, int]], SeedScope] | None = field(default=None, compare=False)
    """Returns the scope in which such formulas are checked, given the place of each step."""
    gives_numbers: bool = False
    """Whether every step must be a number, as rules are."""
    incomplete: frozenset[str] = frozenset()
    """Sections and namespaces in which something could not be read, which has been reported: any name may be in there."""
    span: Span | None = field(default=None, compare=False)


def all_of(conditions: Sequence[ast.Expr]) -> ast.Expr | None:
    """Return the conjunction; None if there is nothing to test."""
    if len(conditions) <= 1:
        return conditions[0] if conditions else None
    return ast.Logical(conditions[0].span, "and", tuple(conditions))


def mapped(node: ast.Expr, change: Callable[..., ast.Expr], *context: object) -> ast.Expr:
    """Return the expression with each of its operands changed; `change` takes an operand and the context."""
    changed: dict[str, object] = {}
    for name in node.__dataclass_fields__:
        part = getattr(node, name)
        if isinstance(part, tuple) and part and not isinstance(part[0], str):
            changed[name] = tuple([change(operand, *context) for operand in part])
        elif isinstance(part, ast.Expr) and not isinstance(node, ast.Call):
            changed[name] = change(part, *context)
    return replace(node, **changed) if changed else node  # type: ignore[arg-type]
