"""Resolves names at one step of a program: the four namespaces, the filters and the steps before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import chain

from formulaseed import limits
from formulaseed.diagnostics.catalogue import seed as catalogue
from formulaseed.diagnostics.model import Help, Suggestion
from formulaseed.diagnostics.suggestions import (
    did_you_mean,
    find_close_matches,
    find_closest,
    is_typo,
    suggest,
    suggest_any,
)
from formulaseed.ir import nodes
from formulaseed.language import ast, intervals, typed
from formulaseed.language.check.scope import QUOTED, build_error
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.intervals import Range
from formulaseed.language.printer import value_text
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.language.types import BOOLEAN, ERROR, Base, Info, Type
from formulaseed.seed.check.step_scope import StepScope
from formulaseed.source.text import Span

LATER = " its step comes later"
_SECTIONS = (
    "compute", "compute_dag", "step", "steps", "output", "outputs", "result", "results", "seed", "self", "this",
)  # fmt: skip
"""Words that people write in front of a step's name as if they were a namespace."""
_OTHER_WORDS = {
    SymbolKind.CONTEXT: "business businesses biz restaurant restaurants item place shop store venue company",
    SymbolKind.META: "review reviews rating ratings r rev row metadata",
    SymbolKind.EXTRACTION: "extractions extracted extract fields field e ext answer answers",
    SymbolKind.PARAMETER: "params parameter parameters config settings",
}
_OTHER_NAMESPACES = {word: kind for kind, words in _OTHER_WORDS.items() for word in words.split()}
"""Other words for a namespace; never unambiguous, as several namespaces may have a field of the name."""
_OF_REVIEWS = ("extraction.", "meta.")
_DECLARED_IN = {
    SymbolKind.META: "extract.meta",
    SymbolKind.CONTEXT: "context",
    SymbolKind.PARAMETER: "parameters",
    SymbolKind.EXTRACTION: "extract.fields",
}


@dataclass
class SeedScope(StepScope):
    """The names that can be used in the step `current`.

    `inputs` maps a namespace to its fields; `places` maps every step's name to its index in `section`, `uses` to
    the names that it mentions. `broken` are the steps with an error, `unclear` those of them that may be filters or
    values, `incomplete` the namespaces in which something could not be read: a missing name may be that. `nameless` are
    the places of steps without a name.
    """

    inputs: Mapping[SymbolKind, Mapping[str, Type]]
    bounds: Mapping[Symbol, Range]
    places: Mapping[str, int]
    uses: Mapping[str, frozenset[str]]
    filter_names: frozenset[str]
    filters: dict[str, nodes.Step] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    incomplete: frozenset[str] = frozenset()
    section: str = "compute"
    unclear: frozenset[str] = frozenset()
    add_aggregate: Callable[[typed.Aggregate], None] = lambda aggregate: None
    """Makes an aggregate inside a formula known to what is checked after it."""
    sizes: dict[str, int] = field(default_factory=dict)
    depths: dict[str, int] = field(default_factory=dict)
    nameless: frozenset[str] = frozenset()
    _reported_cycles: set[frozenset[str]] = field(default_factory=set)

    @cached_property
    def _cycles(self) -> dict[tuple[str, str], list[str]]:
        """The cycles, by a step and a later step that it uses: the names in a cycle, each using the next, the last the first.

        At most `limits.SUGGESTIONS` cycles are looked for.
        """
        graph = {name: (names & self.places.keys()) - {name} for name, names in self.uses.items()}
        cycles: dict[tuple[str, str], list[str]] = {}
        for _ in range(limits.SUGGESTIONS):
            try:
                TopologicalSorter(graph).prepare()
            except CycleError as error:
                cycle = error.args[1][:0:-1]
                for start, user in enumerate(cycle):
                    around = [*cycle[start:], *cycle[:start]]
                    if self.places[around[1]] > self.places[user]:
                        cycles[user, around[1]] = around
                        graph[user] -= {around[1]}
            else:
                break
        return cycles

    def is_known(self, text: str) -> bool:
        """Return True if `text` is a step's name, or has a namespace."""
        return "." in text or text in self.places

    def is_step(self, text: str) -> bool:
        """Return True if `text` is the name of any step of the program, also of a later one."""
        return text in self.places

    def type_of(self, node: ast.Expr) -> Type | None:
        """Return the type of a field, parameter or earlier step; None for an unknown name and for anything else.

        Reports nothing. Only a step that was checked without an error is known.
        """
        if not isinstance(node, ast.Name):
            return None
        prefix, _, rest = node.text.partition(".")
        kind = self._namespaces.get(prefix)
        if kind is not None and rest:
            return self.inputs[kind].get(rest)
        step = self.steps.get(node.text)
        return step.ty if step is not None else None

    @cached_property
    def _namespaces(self) -> dict[str, SymbolKind]:
        return {kind.value: kind for kind in self.inputs}

    @cached_property
    def declared_values(self) -> frozenset[str]:
        """The values of all fields: one that a field does not have may be another's."""
        return frozenset(
            value for fields in self.inputs.values() for ty in fields.values() for value in ty.values or ()
        )

    def names(self) -> Iterator[str]:
        """Yield the names that a formula can contain: steps with values, bare names of fields, and functions."""
        yield from self._list_values()
        for fields in self.inputs.values():
            yield from fields
        yield from FUNCTIONS

    def _list_values(self) -> Iterator[str]:
        """Return an iterator of the names of the steps with a value, also later ones, without the current step."""
        return (name for name in self.places if name not in self.filter_names and name != self.current)

    def _find_fields(self, name: str, first: SymbolKind | None, *, per_review: bool) -> list[str]:
        """Return the full names of the fields with the bare name `name`, the most likely namespace first.

        That is `first`, if given. Unless `per_review`, `context` and `param` come before the fields of reviews.
        """
        usual = list(self.inputs) if per_review else [SymbolKind.CONTEXT, SymbolKind.PARAMETER, *self.inputs]
        order = dict.fromkeys(usual if first is None else [first, *usual])
        return [f"{kind.value}.{name}" for kind in order if name in self.inputs.get(kind, {})]

    def resolve(self, name: ast.Name, per_review: bool) -> typed.Expr:
        """Return the reference to a field or step; an error expression, with one report, if it has no value here.

        Reported are an unknown name, a filter, and the current or a later step, but not a step that has an error itself
        or a name that may be that of a nameless step. `per_review` is True in a condition or formula on single reviews.
        """
        if "." in name.text:
            return self._resolve_field(name, per_review)
        text = name.text
        span = name.span
        if text in self.steps:
            step = self.steps[text]
            return typed.Ref(Symbol(SymbolKind.STEP, text), Info(step.ty, span, step.range), name.written)
        if text in self.filter_names:
            self.report_once(catalogue.filter_as_value(span, text, per_review), text)
        elif text in self.places and text not in self.broken:
            self._report_early_use(text, span)
        elif text not in self.broken and not self._may_be_nameless(text):
            self.report_once(catalogue.unknown_step(span, text, self._build_bare_name_help(text, per_review)), text)
        return build_error(span)

    def resolve_filter(self, name: ast.FilterName) -> typed.Expr:
        """Return the reference to a filter; an error expression, with the problem reported once, if there is none.

        Only earlier filters can be used. A filter that has an error itself, and a name that a nameless step may have,
        are not reported.
        """
        text = name.text
        span = name.span
        if text in self.filters:
            return typed.Ref(Symbol(SymbolKind.FILTER, text), Info(BOOLEAN, span))
        if text in self.broken and (text in self.filter_names or text in self.unclear):
            return build_error(span)
        if text in self.filter_names:
            self._report_early_use(text, span)
        elif text in self.places:
            self.report_once(catalogue.value_as_filter(span, text), text)
        elif not self._may_be_nameless(text):
            self.report_once(catalogue.unknown_filter(span, text, self._build_filter_help(text)), f"${text}")
        return build_error(span)

    def _build_filter_help(self, name: str) -> Help:
        """Return the help for an unknown filter: a similar filter, else the fields that have the name.

        A similar filter that is defined later is suggested with a note.
        """
        filters = self.filter_names | self.unclear
        known = [step for step in self.places if step in filters and step != self.current]
        fields = self._find_fields(name, None, per_review=True)
        help = did_you_mean(name, known, noun="filters", prefix="$", rivals=[name] if self.incomplete else [])
        if fields and find_closest(name, known) is None:
            return _suggest_fields(fields)
        if isinstance(help, Suggestion) and self._is_later(help.replacement.removeprefix("$")):
            return replace(help, text=f"{help.text}{LATER}")
        return help

    @property
    def _here(self) -> int:
        """The index of the current step; the number of all steps if it has no name."""
        return self.places.get(self.current, len(self.places))

    def _is_later(self, name: str) -> bool:
        """Return True if `name` is a step after the current one; False if it is no step."""
        return self.places.get(name, -1) > self._here

    def _may_be_nameless(self, name: str) -> bool:
        """Return True if `name`, which no step has, may be the name of a step whose name could not be read.

        Returns False if a field has the name, or if the current step is the only one without a name.
        """
        is_alone = self.nameless == {self.current}
        return "compute" in self.incomplete and not is_alone and not self._find_fields(name, None, per_review=True)

    def _resolve_field(self, name: ast.Name, per_review: bool) -> typed.Expr:
        """Return the reference to a name with a namespace, with its range if it is a number.

        Reports an unknown namespace or field once, and returns an error expression. A field is not reported if its
        namespace is incomplete. `per_review` only decides which fields are suggested.
        """
        text = name.text
        span = name.span
        prefix, _, rest = text.partition(".")
        kind = self._namespaces.get(prefix)
        if kind is None:
            help = self._build_namespace_help(prefix, rest, per_review)
            self.report_once(catalogue.unknown_namespace(span, prefix, help), text)
            return build_error(span)
        fields = self.inputs[kind]
        if rest not in fields and prefix not in self.incomplete:
            help = self._build_field_help(kind, rest, name.implied, per_review)
            self.report_once(catalogue.unknown_field(span, f"`{prefix}`", rest, help), text)
        ty = fields.get(rest, ERROR)
        if ty.is_error:
            return build_error(span)
        known = None
        if ty.is_numeric:
            known = intervals.INPUT_INTEGER if ty.base is Base.INTEGER else intervals.INPUT_NUMBER
            known = intervals.intersection(known, self.bounds.get(Symbol(kind, rest), known))
        return typed.Ref(Symbol(kind, rest), Info(ty, span, known), name.written)

    def _report_early_use(self, name: str, span: Span) -> None:
        """Report the use of the step `name` where it has no value yet: a use of itself, a cycle, or a later step.

        Each cycle of steps is reported once.
        """
        if name == self.current:
            problem = catalogue.uses_itself(span, name)
        elif (self.current, name) in self._cycles:
            cycle = self._cycles[self.current, name]
            if frozenset(cycle) in self._reported_cycles:
                return
            self._reported_cycles.add(frozenset(cycle))
            problem = catalogue.cycle(span, cycle)
        else:
            problem = catalogue.used_too_early(span, name, f"{self.section}[{self.places[name]}]")
        self.report_once(problem, name)

    def measure_filter(self, condition: typed.Expr) -> int:
        """Return the number of terms of a condition, with those of its filters in place of their names."""
        filters = [symbol.name for symbol in typed.symbols_in(condition) if symbol.kind is SymbolKind.FILTER]
        return sum(1 for _ in typed.walk(condition)) + sum(self.sizes.get(name, 1) - 1 for name in filters)

    def _build_bare_name_help(self, text: str, per_review: bool) -> Help:
        """Return the help for an unknown bare name: a literal, fields or a function of the name, else a similar step.

        Finding suggestions takes time, so each call uses up one of a limited number; later names get a fixed text.
        `per_review` decides which fields come first, and whether fields of reviews can be suggested.
        """
        self._suggestions -= 1
        if self._suggestions < 0:
            return catalogue.FIX_OTHERS_FIRST
        if text.lower() in ("true", "false", "null", "none"):
            return suggest("None" if text.lower() in ("null", "none") else text.capitalize())
        fields = self._find_fields(text, None, per_review=per_review)
        if fields:
            similar = [step for step in self._list_values() if is_typo(text, step, [step])]
            if not (per_review or similar) and all(name.startswith(_OF_REVIEWS) for name in fields):
                return catalogue.OF_REVIEWS.format(fields[0])
            return _suggest_fields([*fields, *similar], certain=not self.incomplete)
        if text in FUNCTIONS:
            return f"`{text}` is a function: {FUNCTIONS[text].signature}"
        return self._suggest_step(text)

    def _suggest_step(self, name: str) -> Help:
        """Return the help for an unknown step: a similar earlier step, else a later one, else a quoted enum value.

        If nothing is similar, the help lists earlier steps.
        """
        steps = list(self._list_values())
        before = [step for step in steps if self.places[step] < self._here]
        unread = [name] if self.incomplete else []
        if find_closest(name, before) is None:
            later = find_closest(name, steps)
            if later is not None:
                is_certain = is_typo(name, later, chain(self.names(), unread))
                return suggest(later, certain=is_certain, more=LATER)
            if any(name in (ty.values or ()) for ty in self.inputs[SymbolKind.EXTRACTION].values()):
                return suggest(value_text(name), certain=False, more=QUOTED)
        other_names = [known for known in self.names() if known not in self.places or self.places[known] >= self._here]
        return did_you_mean(name, before, noun="steps defined before this one", rivals=[*unread, *other_names])

    def _build_namespace_help(self, prefix: str, rest: str, per_review: bool) -> Help:
        """Return the help for an unknown namespace `prefix` before the name `rest`.

        Suggests a step or the fields of the name `rest`, else a similar namespace. A prefix such as `steps` puts a step
        first. `per_review` decides which fields come first.
        """
        close = find_closest(prefix, self._namespaces)
        is_close = close is not None and is_typo(prefix, close, self._namespaces) and not self.incomplete
        likely = _OTHER_NAMESPACES.get(prefix.lower(), SymbolKind(close) if close is not None else None)
        fields = self._find_fields(rest, likely, per_review=per_review)
        is_step = rest in self._list_values()
        if is_step and (prefix in _SECTIONS or not fields):
            is_certain = prefix in _SECTIONS and not fields and not self.incomplete
            return suggest_any([rest, *fields], certain=is_certain, more=LATER if self._is_later(rest) else "")
        if is_close and f"{close}.{rest}" in fields:
            return suggest(f"{close}.{rest}", certain=len(fields) == 1 and not is_step)
        if fields:
            return _suggest_fields(fields)
        return self._suggest_namespace(prefix, rest, close, likely)

    def _suggest_namespace(self, prefix: str, rest: str, close: str | None, likely: SymbolKind | None) -> Help:
        """Return the help for an unknown namespace: a similar field of the `likely` one, else the known namespaces.

        `close` is the namespace with a similar spelling, if any; it is then suggested even without a similar field.
        """
        if likely is not None:
            similar = find_closest(rest, self.inputs.get(likely, ()))
            if similar is not None or close is not None:
                return suggest(f"{likely.value}.{similar or rest}", certain=False)
        return did_you_mean(prefix, self._namespaces, noun="namespaces", rivals=[prefix])

    def _build_field_help(self, kind: SymbolKind, name: str, implied: bool, per_review: bool) -> Help:
        """Return the help for an unknown field of a namespace; `implied` means that the namespace is not written.

        For a dotted name: the field after the first dot, a method, or advice on parts. Else the field of that name in
        another namespace comes before a similar field of this one. `per_review` decides which namespaces come first.
        """
        if "." in name:
            if name in self._find_fields(name.partition(".")[2], None, per_review=True):
                return suggest(name, certain=False)
            from formulaseed.language.check.calls import help_for_method

            field, last = name.rsplit(".", 1)
            method = help_for_method(f"{kind.value}.{field}", last, []) if field in self.inputs[kind] else ""
            return method or catalogue.help_for_parts(last, _DECLARED_IN[kind], kind is SymbolKind.PARAMETER)
        own = self.inputs[kind]
        prefix = "" if implied else f"{kind.value}."
        elsewhere = self._find_fields(name, None, per_review=per_review)
        if elsewhere:
            close = find_closest(name, own)
            similar = [f"{prefix}{close}"] if close is not None and is_typo(name, close, own) else []
            return suggest_any([*similar, *elsewhere])
        unread = [name] if self.incomplete or name in self.places else []
        help = did_you_mean(name, own, noun="fields", prefix=prefix, rivals=unread)
        return help if find_close_matches(name, own) else f"{help}; others are declared in `{_DECLARED_IN[kind]}`"


def _suggest_fields(names: Sequence[str], *, certain: bool = False) -> Help:
    """Return the help that suggests these names; `certain` says that a single one is a safe fix.

    The help explains namespaces if both a review and a restaurant have the field.
    """
    are_both = {f"{kind.value}." for kind in (SymbolKind.META, SymbolKind.CONTEXT)} <= {
        name[: name.find(".") + 1] for name in names
    }
    return suggest_any(names, certain=certain, more=catalogue.NAMESPACES if are_both else "")
