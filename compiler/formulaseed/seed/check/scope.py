"""What names mean at one step of a program: the four namespaces, the filters and the steps before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

from formulaseed.diagnostics.model import Help
from formulaseed.diagnostics.suggestions import did_you_mean, is_slip, meant, near, nearest, one_of
from formulaseed.ir import nodes
from formulaseed.language import ast, intervals, typed
from formulaseed.language.check.scope import QUOTED, Scope, error_at
from formulaseed.language.check.wording import with_default
from formulaseed.language.foreign_functions import help_for_method
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.intervals import Range
from formulaseed.language.typed import Info, Symbol, SymbolKind
from formulaseed.language.typed_text import value_text
from formulaseed.language.types import BOOLEAN, Base, Type, Value
from formulaseed.seed.check.cycles import circle, circles
from formulaseed.source.text import Span

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
_SPOKEN: dict[str, SymbolKind] = {
    **dict.fromkeys(
        (
            "business",
            "businesses",
            "biz",
            "restaurant",
            "restaurants",
            "item",
            "place",
            "shop",
            "store",
            "venue",
            "company",
        ),
        SymbolKind.CONTEXT,
    ),
    **dict.fromkeys(("review", "reviews", "rating", "ratings", "r", "rev", "row", "metadata"), SymbolKind.META),
    **dict.fromkeys(
        ("extractions", "extracted", "extract", "fields", "field", "e", "ext", "answer", "answers"),
        SymbolKind.EXTRACTION,
    ),
    **dict.fromkeys(("params", "parameter", "parameters", "config", "settings"), SymbolKind.PARAMETER),
}
"""What people call a namespace; never certain, as several may have a field of the name."""
_SHOWN = 6
"""A longer circle is not shown whole."""


@dataclass
class SeedScope(Scope):
    """The names that can be used in the step `current`.

    `inputs` maps a namespace to its fields; `places` maps every step's name to its index in `section`, `uses` to
    the names that it mentions. `broken` are the steps in which something is wrong that was told already, `unclear` those
    of them that may be filters or values, `incomplete` the namespaces in which something has no name; what is missing
    there may be that.
    """

    inputs: Mapping[SymbolKind, Mapping[str, Type]]
    bounds: Mapping[Symbol, Range]
    places: Mapping[str, int]
    uses: Mapping[str, frozenset[str]]
    filter_names: frozenset[str]
    steps: dict[str, nodes.Step] = field(default_factory=dict)
    filters: dict[str, nodes.Step] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    incomplete: frozenset[str] = frozenset()
    section: str = "compute"
    unclear: frozenset[str] = frozenset()
    calls: dict[str, Span] = field(default_factory=dict)
    """Where the extremes are written that are written as calls, by their steps."""
    sizes: dict[str, int] = field(default_factory=dict)
    depths: dict[str, int] = field(default_factory=dict)
    _in_circles: set[tuple[str, str]] = field(default_factory=set)
    """The uses that were told of as parts of a circle."""

    @cached_property
    def _circles(self) -> dict[str, int]:
        return circles(self.uses)

    def report_default_needed(self, step: nodes.Step, use: str, otherwise: str = "") -> None:
        """That an extreme without a default is used unguarded, once for the step; `otherwise` is what else would help."""
        if ("", "FS507", step.name) not in self._reported:
            self._reported.add(("", "FS507", step.name))
            named = f"`{step.name}`" if not step.part_of else "this"
            message = f"{named} has no value where no review matches, and {use}"
            call = self.calls.get(step.name)
            help = "give it a `default`" if call is None else f"write `{with_default(call)}`"
            self.problems.add("FS507", step.span if call is None else call, message, help + otherwise)

    def is_known(self, text: str) -> bool:
        """Whether the name means a step, whatever its state, or has a namespace."""
        return "." in text or text in self.places

    def is_step(self, text: str) -> bool:
        return text in self.places

    def results_of(self, step: str) -> Sequence[Value] | None:
        match self.steps[step].operation:
            case nodes.Const(value):
                return [value]
            case nodes.Case(rules, otherwise):
                return list(dict.fromkeys([*(then for _, then in rules), otherwise]))
            case _:
                return None

    def report_null_step(self, found: typed.Ref) -> None:
        name = found.symbol.name
        step = self.steps[name]
        if isinstance(step.operation, nodes.Aggregate) and step.operation.is_extreme and not step.operation.has_default:
            guard = ", or guard its use with a count of the same reviews"
            self.report_default_needed(step, f"`{self.current}` uses it", guard)
        else:
            help = f"write `({name} or 0)`, or `… if {name} != None else …`"
            self.report("FS305", found.info.span, f"`{name}` may be null here", help, name)

    def type_of(self, node: ast.Expr) -> Type | None:
        """Return the type of what a name stands for, None where that is not known; reports nothing."""
        if not isinstance(node, ast.Name):
            return None
        prefix, _, rest = node.text.partition(".")
        fields = next((fields for kind, fields in self.inputs.items() if rest and kind.value == prefix), None)
        step = self.steps.get(node.text)
        return fields.get(rest) if fields is not None else step.ty if step is not None else None

    @cached_property
    def declared_values(self) -> frozenset[str]:
        """The values of all fields: one that a field does not have may be meant for another."""
        return frozenset(
            value for fields in self.inputs.values() for ty in fields.values() for value in ty.values or ()
        )

    def names(self) -> Iterator[str]:
        """Everything that a bare name may be, and what it may be where its namespace was left out."""
        yield from self._values()
        for fields in self.inputs.values():
            yield from fields
        yield from FUNCTIONS

    def _values(self) -> Iterator[str]:
        """The other steps that have a value."""
        return (name for name in self.places if name not in self.filter_names and name != self.current)

    def _fields_called(self, name: str, first: SymbolKind | None, *, per_review: bool) -> list[str]:
        """The fields of that very name, with their namespaces: those that are most probably meant first."""
        usual = list(self.inputs) if per_review else [SymbolKind.CONTEXT, SymbolKind.PARAMETER, *self.inputs]
        order = dict.fromkeys(usual if first is None else [first, *usual])
        return [f"{kind.value}.{name}" for kind in order if name in self.inputs.get(kind, {})]

    def resolve(self, name: ast.Name, per_review: bool) -> typed.Expr:
        """A name or dotted name; of type error where it means nothing, which is told."""
        if "." in name.text:
            return self._field(name, per_review)
        text, span = name.text, name.span
        if text in self.steps:
            step = self.steps[text]
            return typed.Ref(Symbol(SymbolKind.STEP, text), Info(step.ty, span, step.range), name.written)
        if text in self.filter_names:
            help = (
                f"write `${text}`"
                if per_review
                else "count the reviews that match it in a step of its own, and use that"
            )
            self.report("FS205", span, f"`{text}` is a filter, not a value", help, text)
        elif text in self.places and text not in self.broken:
            self._too_early(text, span)
        elif text not in self.broken:
            self.report("FS201", span, f"no step is called `{text}`", self._help_for_bare(text, per_review), text)
        return error_at(span)

    def resolve_filter(self, name: ast.FilterName) -> typed.Expr:
        help: Help
        text, span = name.text, name.span
        if text in self.filters:
            return typed.Ref(Symbol(SymbolKind.FILTER, text), Info(BOOLEAN, span))
        if text in self.broken and (text in self.filter_names or text in self.unclear):
            pass
        elif text in self.filter_names:
            self._too_early(text, span)
        elif text in self.places:
            help = "`$` stands before the name of a `define_filter` step only"
            self.report("FS205", span, f"`{text}` is a value, not a filter", help, text)
        else:
            filters = self.filter_names | self.unclear
            others = [name for name in self.places if name in filters and name != self.current]
            elsewhere = [text] if self.incomplete or any(text in fields for fields in self.inputs.values()) else []
            help = did_you_mean(text, others, what="filters", prefix="$", others=elsewhere)
            self.report("FS201", span, f"no filter is called `${text}`", help, f"${text}")
        return error_at(span)

    def _field(self, name: ast.Name, per_review: bool) -> typed.Expr:
        text, span = name.text, name.span
        prefix, _, rest = text.partition(".")
        kinds = {kind.value: kind for kind in self.inputs}
        if prefix not in kinds:
            self.report(
                "FS204", span, f"`{prefix}` is no namespace", self._help_for_namespace(prefix, rest, per_review), text
            )
            return error_at(span)
        kind = kinds[prefix]
        fields = self.inputs[kind]
        if rest not in fields and prefix in self.incomplete:
            return error_at(span)
        if rest not in fields:
            help = self._help_for_field(kind, rest, name.implied, per_review)
            self.report("FS204", span, f"`{prefix}` has no field `{rest}`", help, text)
            return error_at(span)
        ty = fields[rest]
        if ty.is_error:
            return error_at(span)
        known = None
        if ty.is_numeric:
            known = intervals.INPUT_INTEGER if ty.base is Base.INTEGER else intervals.INPUT_NUMBER
            known = intervals.intersection(known, self.bounds.get(Symbol(kind, rest), known))
        return typed.Ref(Symbol(kind, rest), Info(ty, span, known), name.written)

    def _too_early(self, name: str, span: Span) -> None:
        if name == self.current:
            self.report("FS202", span, f"the step `{name}` uses itself", "use another step's value", name)
        elif self._circles[name] == self._circles.get(self.current):
            self._circle(name, span)
        else:
            help = f"move the step `{name}` ({self.section}[{self.places[name]}]) before this one"
            self.report("FS202", span, f"`{name}` is used before its step", help, name)

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
        self.report("FS202", span, message, f"break the circle: {help}", name)

    def filter_depth(self, condition: typed.Expr) -> int:
        """How many filters stand inside one another where the condition is a filter's."""
        used = [node.symbol for node in typed.walk(condition) if isinstance(node, typed.Ref)]
        return 1 + max((self.depths.get(s.name, 0) for s in used if s.kind is SymbolKind.FILTER), default=0)

    def filter_size(self, condition: typed.Expr) -> int:
        """The terms of a condition with the filters that it uses written out."""
        size = 0
        for node in typed.walk(condition):
            is_filter = isinstance(node, typed.Ref) and node.symbol.kind is SymbolKind.FILTER
            size += self.sizes.get(node.symbol.name, 1) if is_filter and isinstance(node, typed.Ref) else 1
        return size

    def _help_for_bare(self, text: str, per_review: bool) -> Help:
        self._suggestions -= 1
        if self._suggestions < 0:
            return "mend the unknown names above first"
        if text.lower() in ("true", "false", "null", "none"):
            return meant("None" if text.lower() in ("null", "none") else text.capitalize())
        steps = list(self._values())
        fields = self._fields_called(text, None, per_review=per_review)
        if fields:
            similar = [step for step in steps if is_slip(text, step, [step])]
            return one_of([*fields, *similar], certain=not self.incomplete)
        if text in FUNCTIONS:
            return f"`{text}` is a function: {FUNCTIONS[text].signature}"
        here = self.places.get(self.current, len(self.places))
        before = [name for name in steps if self.places[name] < here]
        others = [text] if self.incomplete else []
        close = nearest(text, before)
        if close is None:
            later = nearest(text, steps)
            if later is not None:
                return meant(
                    later, certain=is_slip(text, later, chain(self.names(), others)), more=" its step comes later"
                )
            if any(text in (ty.values or ()) for ty in self.inputs[SymbolKind.EXTRACTION].values()):
                return meant(value_text(text), certain=False, more=QUOTED)
        others += [name for name in self.names() if name not in self.places or self.places[name] >= here]
        return did_you_mean(text, before, what="steps defined before this one", others=others)

    def _help_for_namespace(self, prefix: str, rest: str, per_review: bool) -> Help:
        kinds = [kind.value for kind in self.inputs]
        close = nearest(prefix, kinds)
        is_typo = close is not None and is_slip(prefix, close, kinds) and not self.incomplete
        likely = _SPOKEN.get(prefix.lower(), SymbolKind(close) if close is not None else None)
        fields = self._fields_called(rest, likely, per_review=per_review)
        is_step = rest in self.places and rest not in self.filter_names and rest != self.current
        if is_step and (prefix in _SECTIONS or not fields):
            later = self.places[rest] > self.places.get(self.current, len(self.places))
            is_certain = prefix in _SECTIONS and not fields and not self.incomplete
            return one_of([rest, *fields], certain=is_certain, more=" its step comes later" if later else "")
        if is_typo and f"{close}.{rest}" in fields:
            return meant(f"{close}.{rest}", certain=len(fields) == 1 and not is_step)
        if fields:
            return one_of(fields)
        there = nearest(rest, self.inputs.get(likely, ())) if likely is not None else None
        if likely is not None and (there is not None or close is not None):
            return meant(f"{likely.value}.{there or rest}", certain=False)
        return did_you_mean(prefix, kinds, what="namespaces", others=[prefix])

    def _help_for_field(self, kind: SymbolKind, name: str, implied: bool, per_review: bool) -> Help:
        help: Help
        where = {
            SymbolKind.META: "extract.meta",
            SymbolKind.CONTEXT: "context",
            SymbolKind.PARAMETER: "parameters",
            SymbolKind.EXTRACTION: "extract.fields",
        }
        if "." in name:
            field, last = name.rsplit(".", 1)
            help = help_for_method(f"{kind.value}.{field}", last, []) if field in self.inputs[kind] else ""
            if help:
                return help
            is_named = kind is SymbolKind.PARAMETER
            declared = f'{{"{last}": {{"type": "string"}}}}' if is_named else f'{{"name": "{last}", "type": "string"}}'
            return f"a field has no parts: declare one in `{where[kind]}`, such as {declared}"
        own, prefix = self.inputs[kind], "" if implied else f"{kind.value}."
        elsewhere = self._fields_called(name, None, per_review=per_review)
        if elsewhere:
            close = nearest(name, own)
            similar = [f"{prefix}{close}"] if close is not None and is_slip(name, close, own) else []
            return one_of([*similar, *elsewhere])
        others = [name] if self.incomplete or name in self.places else []
        help = did_you_mean(name, own, what="fields", prefix=prefix, others=others)
        is_close = bool(near(name, own))
        return help if is_close else f"{help}; others are declared in `{where[kind]}`"
