"""What names mean at one step of a program: the four namespaces, the filters and the steps before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from formulaseed import limits
from formulaseed.checker.circles import circle, circles
from formulaseed.checker.wording import OF_SEEDS, Words, with_default
from formulaseed.diagnostics.model import Problems
from formulaseed.diagnostics.suggest import did_you_mean, is_slip, meant, nearest
from formulaseed.domain import ranges
from formulaseed.domain.builtins import FUNCTIONS
from formulaseed.domain.ranges import Range
from formulaseed.domain.types import BOOLEAN, ERROR, Base, Type
from formulaseed.ir import nodes
from formulaseed.ir.nodes import Info, Symbol, SymbolKind
from formulaseed.source.text import Span
from formulaseed.syntax import ast

_SECTIONS = (
    "compute",
    "compute_dag",
    "step",
    "steps",
    "output",
    "outputs",
    "result",
    "results",
    "seed",
    "self",
    "this",
)
"""What a step's name is taken to stand behind."""
_SHOWN = 6
"""A longer circle is not shown whole."""


@dataclass
class Scope:
    """The names that can be used in the step `current`.

    `inputs` maps a namespace to its fields; `places` maps every step's name to its index in `section`, `uses` to
    the names that it mentions. `broken` are the steps in which something is wrong that was told already, `unclear` those
    of them that may be filters or values, `incomplete` the namespaces in which something has no name; what is missing
    there may be that.
    """

    problems: Problems
    inputs: Mapping[SymbolKind, Mapping[str, Type]]
    bounds: Mapping[str, Range]
    places: Mapping[str, int]
    uses: Mapping[str, frozenset[str]]
    filter_names: frozenset[str]
    steps: dict[str, nodes.Step] = field(default_factory=dict)
    filters: dict[str, nodes.Step] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    current: str = ""
    incomplete: frozenset[str] = frozenset()
    section: str = "compute"
    unclear: frozenset[str] = frozenset()
    words: Words = OF_SEEDS
    calls: dict[str, Span] = field(default_factory=dict)
    """Where the extremes are written that are written as calls, by their steps."""
    sizes: dict[str, int] = field(default_factory=dict)
    depths: dict[str, int] = field(default_factory=dict)
    _suggestions: int = limits.SUGGESTIONS
    _told: set[tuple[str, str, str]] = field(default_factory=set)
    _in_circles: set[tuple[str, str]] = field(default_factory=set)
    """The uses that were told of as parts of a circle."""

    @cached_property
    def _circles(self) -> dict[str, int]:
        return circles(self.uses)

    def tell(self, code: str, span: Span, message: str, help: str, name: str) -> None:
        """A problem with a name, once in a step however often the step mentions it."""
        key = (self.current, code, name)
        if key not in self._told:
            self._told.add(key)
            self.problems.add(code, span, message, help)

    def tell_default_needed(self, step: nodes.Step, use: str, otherwise: str = "") -> None:
        """That an extreme without a default is used unguarded, once for the step; `otherwise` is what else would help."""
        if ("", "FS507", step.name) not in self._told:
            self._told.add(("", "FS507", step.name))
            named = f"`{step.name}`" if not step.part_of else "this"
            message = f"{named} has no value where no review matches, and {use}"
            call = self.calls.get(step.name)
            help = "give it a `default`" if call is None else f"write `{with_default(call)}`"
            self.problems.add("FS507", step.span if call is None else call, message, help + otherwise)

    def is_known(self, text: str) -> bool:
        """Whether the name means a step, whatever its state, or has a namespace."""
        return "." in text or text in self.places

    def is_entity(self, found: nodes.Expr) -> bool:
        """Whether this is a whole entity, or several joined: there or not, and no value besides."""
        return False

    def is_implied(self, found: nodes.Expr, present: frozenset[nodes.Expr]) -> bool:
        """Whether what is known to be there says that this is, too."""
        return False

    def resolve(self, name: ast.Name, per_review: bool) -> nodes.Expr:
        """A name or dotted name; of type error where it means nothing, which is told."""
        if "." in name.text:
            return self._field(name)
        text, span = name.text, name.span
        if text in self.steps:
            step = self.steps[text]
            return nodes.Ref(Symbol(SymbolKind.STEP, text), Info(step.ty, span, step.range), name.written)
        if text in self.filter_names:
            help = (
                f"write `${text}`"
                if per_review
                else "count the reviews that match it in a step of its own, and use that"
            )
            self.tell("FS205", span, f"`{text}` is a filter, not a value", help, text)
        elif text in self.places and text not in self.broken:
            self._too_early(text, span)
        elif text not in self.broken:
            self.tell("FS201", span, f"no step is called `{text}`", self._help_for_bare(text, per_review), text)
        return error_at(span)

    def resolve_filter(self, name: ast.FilterName) -> nodes.Expr:
        text, span = name.text, name.span
        if text in self.filters:
            return nodes.Ref(Symbol(SymbolKind.FILTER, text), Info(BOOLEAN, span))
        if text in self.broken and (text in self.filter_names or text in self.unclear):
            pass
        elif text in self.filter_names:
            self._too_early(text, span)
        elif text in self.places:
            help = "`$` stands before the name of a `define_filter` step only"
            self.tell("FS205", span, f"`{text}` is a value, not a filter", help, text)
        else:
            filters = self.filter_names | self.unclear
            others = [name for name in self.places if name in filters and name != self.current]
            help = did_you_mean(text, others, what="filters", prefix="$")
            self.tell("FS201", span, f"no filter is called `${text}`", help, f"${text}")
        return error_at(span)

    def _field(self, name: ast.Name) -> nodes.Expr:
        text, span = name.text, name.span
        prefix, _, rest = text.partition(".")
        kinds = {kind.value: kind for kind in self.inputs}
        if prefix not in kinds:
            self.tell("FS204", span, f"`{prefix}` is no namespace", self._help_for_namespace(prefix, rest), text)
            return error_at(span)
        kind = kinds[prefix]
        fields = self.inputs[kind]
        if rest not in fields and prefix in self.incomplete:
            return error_at(span)
        if rest not in fields:
            help = self._help_for_field(kind, rest, name.implied)
            self.tell("FS204", span, f"`{prefix}` has no field `{rest}`", help, text)
            return error_at(span)
        ty = fields[rest]
        if ty.is_error:
            return error_at(span)
        known = None
        if ty.is_numeric:
            known = ranges.INPUT_INTEGER if ty.base is Base.INTEGER else ranges.INPUT_NUMBER
            if kind is SymbolKind.PARAMETER:
                known = ranges.intersection(known, self.bounds[rest])
        return nodes.Ref(Symbol(kind, rest), Info(ty, span, known), name.written)

    def _too_early(self, name: str, span: Span) -> None:
        if name == self.current:
            self.tell("FS202", span, f"the step `{name}` uses itself", "use another step's value", name)
        elif self._circles[name] == self._circles.get(self.current):
            self._circle(name, span)
        else:
            help = f"move the step `{name}` ({self.section}[{self.places[name]}]) before this one"
            self.tell("FS202", span, f"`{name}` is used before its step", help, name)

    def _circle(self, name: str, span: Span) -> None:
        """Tell that this step and that one use each other, with those between them, once for all of these."""
        if (self.current, name) in self._in_circles:
            return
        self._suggestions -= 1
        around = circle(self.current, name, self.uses) if self._suggestions >= 0 else [self.current, name]
        pairs = list(zip(around, [*around[1:], self.current], strict=True))
        self._in_circles.update(pairs)
        message, help = f"`{self.current}` and `{name}` use each other", "compute one of them without the other"
        if len(pairs) > 2:
            uses = [f"`{a}` uses `{b}`" for a, b in pairs]
            message = ", ".join(uses if len(uses) <= _SHOWN else [*uses[: _SHOWN - 1], "…", uses[-1]])
            help = "compute one of them without the next"
        self.tell("FS202", span, message, f"break the circle: {help}", name)

    def filter_depth(self, condition: nodes.Expr) -> int:
        """How many filters stand inside one another where the condition is a filter's."""
        used = [node.symbol for node in nodes.walk(condition) if isinstance(node, nodes.Ref)]
        return 1 + max((self.depths.get(s.name, 0) for s in used if s.kind is SymbolKind.FILTER), default=0)

    def filter_size(self, condition: nodes.Expr) -> int:
        """The terms of a condition with the filters that it uses written out."""
        size = 0
        for node in nodes.walk(condition):
            is_filter = isinstance(node, nodes.Ref) and node.symbol.kind is SymbolKind.FILTER
            size += self.sizes.get(node.symbol.name, 1) if is_filter and isinstance(node, nodes.Ref) else 1
        return size

    def _help_for_bare(self, text: str, per_review: bool) -> str:
        self._suggestions -= 1
        if self._suggestions < 0:
            return "mend the unknown names above first"
        if text.lower() in ("true", "false", "null", "none"):
            return meant("None" if text.lower() in ("null", "none") else text.capitalize())
        order = list(self.inputs) if per_review else [SymbolKind.CONTEXT, SymbolKind.PARAMETER, *self.inputs]
        for kind in order:
            if text in self.inputs[kind]:
                return meant(f"{kind.value}.{text}")
        if text in FUNCTIONS:
            return f"`{text}` is a function: {FUNCTIONS[text].signature}"
        here = self.places.get(self.current, len(self.places))
        before = [name for name, place in self.places.items() if place < here and name not in self.filter_names]
        close = nearest(text, before)
        if close is None:
            steps = [name for name in self.places if name not in self.filter_names]
            later = nearest(text, steps)
            if later is not None and later != self.current:
                return meant(later, certain=is_slip(text, later, steps), more=" its step comes later")
            if any(text in (ty.values or ()) for ty in self.inputs[SymbolKind.EXTRACTION].values()):
                return meant(f"'{text}'", more=" a text stands in quotes")
        return did_you_mean(text, before, what="steps defined before this one")

    def _help_for_namespace(self, prefix: str, rest: str) -> str:
        if rest in self.places and rest not in self.filter_names and (prefix in _SECTIONS or self._is_no_field(rest)):
            later = self.places[rest] > self.places.get(self.current, len(self.places))
            return meant(rest, certain=prefix in _SECTIONS, more=" its step comes later" if later else "")
        for kind, fields in self.inputs.items():
            if rest in fields:
                return meant(f"{kind.value}.{rest}")
        kinds = [kind.value for kind in self.inputs]
        close = nearest(prefix, kinds)
        if close is not None:
            return meant(f"{close}.{rest}", certain=is_slip(prefix, close, kinds))
        return did_you_mean(prefix, kinds, what="namespaces")

    def _is_no_field(self, name: str) -> bool:
        return not any(name in fields for fields in self.inputs.values())

    def _help_for_field(self, kind: SymbolKind, name: str, implied: bool) -> str:
        where = {
            SymbolKind.META: "extract.meta",
            SymbolKind.CONTEXT: "context",
            SymbolKind.PARAMETER: "parameters",
            SymbolKind.EXTRACTION: "extract.fields",
        }
        if "." in name:
            last = name.rsplit(".", 1)[1]
            is_named = kind is SymbolKind.PARAMETER
            declared = f'{{"{last}": {{"type": "string"}}}}' if is_named else f'{{"name": "{last}", "type": "string"}}'
            return f"a field has no parts: declare one in `{where[kind]}`, such as {declared}"
        for other, fields in self.inputs.items():
            if name in fields:
                return meant(f"{other.value}.{name}", certain=not implied)
        help = did_you_mean(name, self.inputs[kind], what="fields", prefix="" if implied else f"{kind.value}.")
        return help if help.startswith("did") else f"{help}; others are declared in `{where[kind]}`"


def error_at(span: Span) -> nodes.Expr:
    return nodes.Literal(None, Info(ERROR, span))
