"""The common program: what every input format is lowered to.

Formulas and conditions are parsed, names are still text, nothing is checked against anything. A format
differs from another only until it has become this.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from formulaseed.domain.types import Type, Value
from formulaseed.source.text import Span
from formulaseed.syntax import ast


@dataclass(frozen=True, slots=True)
class Named:
    """A name with the place where it was given."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class EnumValue:
    name: Named
    description: str


@dataclass(frozen=True, slots=True)
class ExtractionField:
    """A field that the extractor fills for each review. `default` is None where the seed states none."""

    name: Named
    type: Type
    description: str
    values: tuple[EnumValue, ...] = ()
    default: Value = None


@dataclass(frozen=True, slots=True)
class DeclaredField:
    """A further field of `meta.*` or `context.*`."""

    name: Named
    type: Type
    description: str = ""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value given at evaluation. The bounds are inclusive."""

    name: Named
    type: Type
    default: Value
    minimum: int | float | None
    maximum: int | float | None
    description: str


@dataclass(frozen=True, slots=True)
class Filter:
    condition: ast.Expr


@dataclass(frozen=True, slots=True)
class Count:
    where: ast.Expr | None


@dataclass(frozen=True, slots=True)
class Sum:
    expression: ast.Expr
    where: ast.Expr | None


@dataclass(frozen=True, slots=True)
class Extreme:
    """`max` or `min` over the reviews that match. `default` is None where the seed states none."""

    largest: bool
    expression: ast.Expr
    where: ast.Expr | None
    default: ast.Literal | None


@dataclass(frozen=True, slots=True)
class Entry:
    key: Named
    value: ast.Literal


@dataclass(frozen=True, slots=True)
class Lookup:
    source: ast.Expr
    table: tuple[Entry, ...]
    match: str
    default: ast.Literal | None


@dataclass(frozen=True, slots=True)
class Formula:
    expression: ast.Expr


@dataclass(frozen=True, slots=True)
class Const:
    value: ast.Literal


@dataclass(frozen=True, slots=True)
class Rule:
    condition: ast.Expr
    then: ast.Literal


@dataclass(frozen=True, slots=True)
class Case:
    rules: tuple[Rule, ...]
    otherwise: ast.Literal


@dataclass(frozen=True, slots=True)
class Broken:
    """A step that could not be lowered; told already. Its name is known, so that uses of it are not errors too."""


Operation = Filter | Count | Sum | Extreme | Lookup | Formula | Const | Case | Broken


@dataclass(frozen=True, slots=True)
class Step:
    name: Named
    span: Span
    operation: Operation
    is_filter: bool = False


@dataclass(frozen=True, slots=True)
class ReviewHandling:
    """How a long review is cut before it is extracted; `max_length` in characters."""

    max_length: int
    strategy: str


@dataclass(frozen=True, slots=True)
class Program:
    task_name: Named
    version: str = ""
    description: str = ""
    keywords: tuple[str, ...] = ()
    fields: tuple[ExtractionField, ...] = ()
    meta: tuple[DeclaredField, ...] = ()
    context: tuple[DeclaredField, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    review_handling: ReviewHandling | None = None
    passes: int = 1
    steps: tuple[Step, ...] = ()
    output: tuple[Named, ...] = ()
    incomplete: frozenset[str] = frozenset()
    """Sections and namespaces in which something has no usable name, which was told."""
    span: Span | None = field(default=None, compare=False)
