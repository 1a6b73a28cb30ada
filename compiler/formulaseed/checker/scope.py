"""What names mean at one step of a program: the four namespaces, the filters and the steps before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from formulaseed.diagnostics.model import Problems
from formulaseed.diagnostics.suggest import did_you_mean, nearest
from formulaseed.domain import ranges
from formulaseed.domain.builtins import FUNCTIONS
from formulaseed.domain.ranges import Range
from formulaseed.domain.types import BOOLEAN, ERROR, Base, Shape, Type
from formulaseed.ir import nodes
from formulaseed.ir.nodes import Info, Symbol, SymbolKind
from formulaseed.source.text import Span
from formulaseed.syntax import ast


@dataclass
class Scope:
    """`inputs` maps a namespace to its fields; `places` maps every step's name to its index in `compute`."""

    problems: Problems
    inputs: Mapping[SymbolKind, Mapping[str, Type]]
    bounds: Mapping[str, Range]
    places: Mapping[str, int]
    filter_names: frozenset[str]
    steps: dict[str, nodes.Step] = field(default_factory=dict)
    filters: dict[str, nodes.Step] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    current: str = ""

    def resolve(self, name: ast.Name) -> nodes.Expr:
        """A name or dotted name; of type error where it means nothing, which is told."""
        if "." in name.text:
            return self._field(name)
        text, span = name.text, name.span
        if text in self.steps:
            step = self.steps[text]
            return nodes.Ref(Symbol(SymbolKind.STEP, text), Info(step.ty, Shape.RESTAURANT, span, step.range))
        if text in self.filter_names:
            message = f"`{text}` is a filter, not a value"
            self.problems.add(
                "FS205", span, message, f"write `${text}` in a condition, or count the reviews that match"
            )
        elif text in self.places and text not in self.broken:
            self._too_early(text, span)
        elif text not in self.broken:
            self.problems.add("FS201", span, f"no step is called `{text}`", self._help_for_bare(text))
        return error_at(span)

    def resolve_filter(self, name: ast.FilterName) -> nodes.Expr:
        text, span = name.text, name.span
        if text in self.filters:
            return nodes.Ref(Symbol(SymbolKind.FILTER, text), Info(BOOLEAN, Shape.REVIEW, span))
        if text in self.broken:
            pass
        elif text in self.filter_names:
            self._too_early(text, span)
        elif text in self.places:
            message = f"`{text}` is a value, not a filter"
            self.problems.add("FS205", span, message, "`$` stands before the name of a `define_filter` step only")
        else:
            help = did_you_mean(text, self.filter_names, what="filters", prefix="$")
            self.problems.add("FS201", span, f"no filter is called `${text}`", help)
        return error_at(span)

    def _field(self, name: ast.Name) -> nodes.Expr:
        text, span = name.text, name.span
        prefix, _, rest = text.partition(".")
        kinds = {kind.value: kind for kind in self.inputs}
        if prefix not in kinds:
            help = did_you_mean(prefix, kinds, what="namespaces")
            self.problems.add("FS204", span, f"`{prefix}` is no namespace", help)
            return error_at(span)
        kind = kinds[prefix]
        fields = self.inputs[kind]
        if rest not in fields:
            self.problems.add("FS204", span, f"`{prefix}` has no field `{rest}`", self._help_for_field(prefix, rest))
            return error_at(span)
        ty = fields[rest]
        shape = Shape.REVIEW if kind in (SymbolKind.EXTRACTION, SymbolKind.META) else Shape.RESTAURANT
        known = None
        if ty.is_numeric:
            known = ranges.INPUT_INTEGER if ty.base is Base.INTEGER else ranges.INPUT_NUMBER
            if kind is SymbolKind.PARAMETER:
                known = ranges.intersection(known, self.bounds[rest])
        return nodes.Ref(Symbol(kind, rest), Info(ty, shape, span, known))

    def _too_early(self, name: str, span: Span) -> None:
        if name == self.current:
            self.problems.add("FS202", span, f"the step `{name}` uses itself", "use another step's value")
            return
        message = f"`{name}` is used before its step"
        help = f"move the step `{name}` (compute[{self.places[name]}]) before this one"
        self.problems.add("FS202", span, message, help)

    def _help_for_bare(self, text: str) -> str:
        for kind, fields in self.inputs.items():
            if text in fields:
                return f"did you mean `{kind.value}.{text}`?"
        if text in FUNCTIONS:
            return f"`{text}` is a function: {FUNCTIONS[text].signature}"
        close = nearest(text, self.places)
        if close is not None and close not in self.steps and close not in self.filter_names:
            return f"did you mean `{close}`? its step comes later"
        return did_you_mean(text, self.steps, what="steps defined before this one")

    def _help_for_field(self, prefix: str, name: str) -> str:
        for kind, fields in self.inputs.items():
            if name in fields:
                return f"did you mean `{kind.value}.{name}`?"
        known = self.inputs[SymbolKind(prefix)]
        help = did_you_mean(name, known, what="fields", prefix=f"{prefix}.")
        where = {"meta": "extract.meta", "context": "context", "param": "parameters", "extraction": "extract.fields"}
        return help if help.startswith("did") else f"{help}; others are declared in `{where[prefix]}`"


def error_at(span: Span) -> nodes.Expr:
    return nodes.Literal(None, Info(ERROR, Shape.RESTAURANT, span))
