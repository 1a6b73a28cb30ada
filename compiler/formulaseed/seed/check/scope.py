"""What names mean at one step of a program: the four namespaces, the filters and the steps before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import chain

from formulaseed import limits
from formulaseed.diagnostics.catalogue import seed as catalogue
from formulaseed.diagnostics.model import Help, Suggestion
from formulaseed.diagnostics.suggestions import close_matches, closest, did_you_mean, is_typo, suggest, suggest_any
from formulaseed.ir import nodes
from formulaseed.language import ast, intervals, typed
from formulaseed.language.check.rounding import exactness_of
from formulaseed.language.check.scope import QUOTED, Scope, error_at
from formulaseed.language.check.wording import with_default
from formulaseed.language.exactness import Exactness, of_value
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.info import Info
from formulaseed.language.intervals import Range
from formulaseed.language.printer import value_text
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.language.types import BOOLEAN, ERROR, Base, Type, Value
from formulaseed.source.text import Span

LATER = " its step comes later"
_SECTIONS = (
    "compute", "compute_dag", "step", "steps", "output", "outputs", "result", "results", "seed", "self", "this",
)  # fmt: skip
"""What is written in front of a step's name as if it were a namespace."""
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
class SeedScope(Scope):
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
    steps: dict[str, nodes.Step] = field(default_factory=dict)
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
    _exactness: dict[str, Exactness] = field(default_factory=dict)
    _default_needed: set[typed.Aggregate] = field(default_factory=set)
    _reported_cycles: set[frozenset[str]] = field(default_factory=set)

    @cached_property
    def _cycles(self) -> dict[tuple[str, str], list[str]]:
        """For each use of a later step that is part of a cycle: the names in it, each using the next, the first the last.

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

    def report_default_needed(self, aggregate: typed.Aggregate, step: nodes.Step | None, user: str = "") -> None:
        """Report, once for the aggregate, that it has no value over no reviews and is used unguarded.

        `step` is the one that it is the whole of. `user` is the step that uses it; empty if it is an output.
        """
        if aggregate not in self._default_needed:
            self._default_needed.add(aggregate)
            is_call = bool(aggregate.written)
            span = aggregate.info.span if is_call or step is None else step.span
            rewritten = with_default(aggregate.info.span) if is_call else ""
            self.problems.report(catalogue.default_needed(span, step.name if step is not None else "", user, rewritten))

    def aggregate_of(self, value: typed.Expr) -> typed.Aggregate | None:
        """Return the aggregate whose value this is, itself or that of a step; None if it is none."""
        step = self._step_of(value)
        if step is not None:
            return step.aggregate
        value = value.operand if isinstance(value, typed.Present) else value
        return value if isinstance(value, typed.Aggregate) else None

    def is_known(self, text: str) -> bool:
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

    def is_part(self, part: typed.Expr, whole: typed.Expr) -> bool:
        """Whether a value is a term of a sum of which nothing is negative, or counts some of the reviews that it all counts."""
        found, counted = self._step_of(part), self.aggregate_of(part)
        known = part.info.range if found is None else found.range
        if (found is None and counted is None) or known is None or known.low < 0:
            return False
        terms, seen, is_part = [whole], set[typed.Expr](), False
        while terms:
            term = terms.pop()
            if isinstance(term, typed.Present):
                terms.append(term.operand)
            elif isinstance(term, typed.Binary) and term.operator == "+":
                terms += (term.left, term.right)
            elif term.info.range is None or term.info.range.low < 0:
                return False
            elif term not in seen and (isinstance(term, typed.Ref | typed.Aggregate)):
                seen.add(term)
                step, aggregate = self._step_of(term), self.aggregate_of(term)
                is_part = is_part or (step is not None and step is found) or _counts_some(counted, aggregate)
                if step is not None and isinstance(step.operation, nodes.Formula) and aggregate is None:
                    terms.append(step.operation.expression)
        return is_part

    def _step_of(self, expression: typed.Expr) -> nodes.Step | None:
        """The step whose value this is."""
        expression = expression.operand if isinstance(expression, typed.Present) else expression
        if not isinstance(expression, typed.Ref) or expression.symbol.kind is not SymbolKind.STEP:
            return None
        return self.steps.get(expression.symbol.name)

    def report_missing_default(self, expression: typed.Expr) -> bool:
        aggregate = self.aggregate_of(expression)
        if aggregate is None or not aggregate.needs_default:
            return False
        self.report_default_needed(aggregate, self._step_of(expression), self.current)
        return True

    def exactness_of_step(self, step: str) -> Exactness:
        stack = [step]
        while stack:  # not recursive: a long chain of steps may use one another
            name = stack[-1]
            numbers = [s.name for s in self.steps[name].symbols() if s.kind is SymbolKind.STEP]
            missing = [used for used in numbers if used not in self._exactness]
            if missing:
                stack += missing
            else:
                self._exactness[stack.pop()] = self._exactness_of(self.steps[name])
        return self._exactness[step]

    def _exactness_of(self, step: nodes.Step) -> Exactness:
        match step.operation:
            case _ if step.ty.base is not Base.NUMBER:
                return Exactness.EXACT
            case nodes.Formula(expression):
                return exactness_of(expression, self._exactness.__getitem__)
            case nodes.Const(value):
                return of_value(value)
            case nodes.Lookup(table=table, default=default):
                return max(of_value(value) for value in (*(value for _, value in table), default))
            case nodes.Case(rules, otherwise):
                return max(of_value(value) for value in (*(then for _, then in rules), otherwise))
            case _:
                raise AssertionError(f"{type(step.operation).__name__} gives no number")

    def type_of(self, node: ast.Expr) -> Type | None:
        """Return the type of what a name refers to, None if that is not known; reports nothing."""
        if not isinstance(node, ast.Name):
            return None
        prefix, _, rest = node.text.partition(".")
        fields = next((fields for kind, fields in self.inputs.items() if rest and kind.value == prefix), None)
        step = self.steps.get(node.text)
        return fields.get(rest) if fields is not None else step.ty if step is not None else None

    @cached_property
    def declared_values(self) -> frozenset[str]:
        """The values of all fields: one that a field does not have may be another's."""
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
        """Return the fields of that very name, with their namespaces: the most likely first."""
        usual = list(self.inputs) if per_review else [SymbolKind.CONTEXT, SymbolKind.PARAMETER, *self.inputs]
        order = dict.fromkeys(usual if first is None else [first, *usual])
        return [f"{kind.value}.{name}" for kind in order if name in self.inputs.get(kind, {})]

    def resolve(self, name: ast.Name, per_review: bool) -> typed.Expr:
        """Resolve a name or dotted name; to an error type if it has no meaning, which is reported."""
        if "." in name.text:
            return self._field(name, per_review)
        text, span = name.text, name.span
        if text in self.steps:
            step = self.steps[text]
            return typed.Ref(Symbol(SymbolKind.STEP, text), Info(step.ty, span, step.range), name.written)
        if text in self.filter_names:
            self.report_once(catalogue.filter_as_value(span, text, per_review), text)
        elif text in self.places and text not in self.broken:
            self._too_early(text, span)
        elif text not in self.broken and not self._may_be_nameless(text):
            self.report_once(catalogue.unknown_step(span, text, self._help_for_bare(text, per_review)), text)
        return error_at(span)

    def resolve_filter(self, name: ast.FilterName) -> typed.Expr:
        text, span = name.text, name.span
        if text in self.filters:
            return typed.Ref(Symbol(SymbolKind.FILTER, text), Info(BOOLEAN, span))
        if text in self.broken and (text in self.filter_names or text in self.unclear):
            return error_at(span)
        if text in self.filter_names:
            self._too_early(text, span)
        elif text in self.places:
            self.report_once(catalogue.value_as_filter(span, text), text)
        elif not self._may_be_nameless(text):
            filters = self.filter_names | self.unclear
            others = [name for name in self.places if name in filters and name != self.current]
            fields = self._fields_called(text, None, per_review=True)
            help = did_you_mean(text, others, what="filters", prefix="$", others=[text] if self.incomplete else [])
            help = _suggested(fields) if fields and closest(text, others) is None else help
            if isinstance(help, Suggestion) and self._is_later(help.replacement.removeprefix("$")):
                help = replace(help, text=f"{help.text}{LATER}")
            self.report_once(catalogue.unknown_filter(span, text, help), f"${text}")
        return error_at(span)

    def _is_later(self, name: str) -> bool:
        here = self.places.get(self.current, len(self.places))
        return self.places.get(name, -1) > here

    def _may_be_nameless(self, name: str) -> bool:
        """Whether a name, which no field has, may be that of another step, whose own could not be read."""
        is_alone = self.nameless == {self.current}
        return "compute" in self.incomplete and not is_alone and not self._fields_called(name, None, per_review=True)

    def _field(self, name: ast.Name, per_review: bool) -> typed.Expr:
        text, span = name.text, name.span
        prefix, _, rest = text.partition(".")
        kinds = {kind.value: kind for kind in self.inputs}
        if prefix not in kinds:
            help = self._help_for_namespace(prefix, rest, per_review)
            self.report_once(catalogue.unknown_namespace(span, prefix, help), text)
            return error_at(span)
        kind = kinds[prefix]
        fields = self.inputs[kind]
        if rest not in fields and prefix not in self.incomplete:
            help = self._help_for_field(kind, rest, name.implied, per_review)
            self.report_once(catalogue.unknown_field(span, f"`{prefix}`", rest, help), text)
        ty = fields.get(rest, ERROR)
        if ty.is_error:
            return error_at(span)
        known = None
        if ty.is_numeric:
            known = intervals.INPUT_INTEGER if ty.base is Base.INTEGER else intervals.INPUT_NUMBER
            known = intervals.intersection(known, self.bounds.get(Symbol(kind, rest), known))
        return typed.Ref(Symbol(kind, rest), Info(ty, span, known), name.written)

    def _too_early(self, name: str, span: Span) -> None:
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

    def filter_size(self, condition: typed.Expr) -> int:
        """Return the number of terms of a condition, those of its filters included."""
        filters = [symbol.name for symbol in typed.symbols_in(condition) if symbol.kind is SymbolKind.FILTER]
        return sum(1 for _ in typed.walk(condition)) + sum(self.sizes.get(name, 1) - 1 for name in filters)

    def _help_for_bare(self, text: str, per_review: bool) -> Help:
        self._suggestions -= 1
        if self._suggestions < 0:
            return catalogue.FIX_OTHERS_FIRST
        if text.lower() in ("true", "false", "null", "none"):
            return suggest("None" if text.lower() in ("null", "none") else text.capitalize())
        steps = list(self._values())
        fields = self._fields_called(text, None, per_review=per_review)
        if fields:
            similar = [step for step in steps if is_typo(text, step, [step])]
            if not (per_review or similar) and all(name.startswith(_OF_REVIEWS) for name in fields):
                return catalogue.OF_REVIEWS.format(fields[0])
            return _suggested([*fields, *similar], certain=not self.incomplete)
        if text in FUNCTIONS:
            return f"`{text}` is a function: {FUNCTIONS[text].signature}"
        here = self.places.get(self.current, len(self.places))
        before = [name for name in steps if self.places[name] < here]
        others = [text] if self.incomplete else []
        if closest(text, before) is None:
            later = closest(text, steps)
            if later is not None:
                is_certain = is_typo(text, later, chain(self.names(), others))
                return suggest(later, certain=is_certain, more=LATER)
            if any(text in (ty.values or ()) for ty in self.inputs[SymbolKind.EXTRACTION].values()):
                return suggest(value_text(text), certain=False, more=QUOTED)
        others += [name for name in self.names() if name not in self.places or self.places[name] >= here]
        return did_you_mean(text, before, what="steps defined before this one", others=others)

    def _help_for_namespace(self, prefix: str, rest: str, per_review: bool) -> Help:
        kinds = [kind.value for kind in self.inputs]
        close = closest(prefix, kinds)
        is_close = close is not None and is_typo(prefix, close, kinds) and not self.incomplete
        likely = _OTHER_NAMESPACES.get(prefix.lower(), SymbolKind(close) if close is not None else None)
        fields = self._fields_called(rest, likely, per_review=per_review)
        is_step = rest in self.places and rest not in self.filter_names and rest != self.current
        if is_step and (prefix in _SECTIONS or not fields):
            later = self.places[rest] > self.places.get(self.current, len(self.places))
            is_certain = prefix in _SECTIONS and not fields and not self.incomplete
            return suggest_any([rest, *fields], certain=is_certain, more=" its step comes later" if later else "")
        if is_close and f"{close}.{rest}" in fields:
            return suggest(f"{close}.{rest}", certain=len(fields) == 1 and not is_step)
        if fields:
            return _suggested(fields)
        there = closest(rest, self.inputs.get(likely, ())) if likely is not None else None
        if likely is not None and (there is not None or close is not None):
            return suggest(f"{likely.value}.{there or rest}", certain=False)
        return did_you_mean(prefix, kinds, what="namespaces", others=[prefix])

    def _help_for_field(self, kind: SymbolKind, name: str, implied: bool, per_review: bool) -> Help:
        if "." in name:
            if name in self._fields_called(name.partition(".")[2], None, per_review=True):
                return suggest(name, certain=False)
            from formulaseed.language.check.unknown_calls import help_for_method

            field, last = name.rsplit(".", 1)
            method = help_for_method(f"{kind.value}.{field}", last, []) if field in self.inputs[kind] else ""
            return method or catalogue.field_without_parts(last, _DECLARED_IN[kind], kind is SymbolKind.PARAMETER)
        own, prefix = self.inputs[kind], "" if implied else f"{kind.value}."
        elsewhere = self._fields_called(name, None, per_review=per_review)
        if elsewhere:
            close = closest(name, own)
            similar = [f"{prefix}{close}"] if close is not None and is_typo(name, close, own) else []
            return suggest_any([*similar, *elsewhere])
        others = [name] if self.incomplete or name in self.places else []
        help = did_you_mean(name, own, what="fields", prefix=prefix, others=others)
        return help if close_matches(name, own) else f"{help}; others are declared in `{_DECLARED_IN[kind]}`"


def _counts_some(part: typed.Aggregate | None, whole: typed.Aggregate | None) -> bool:
    """Whether one count counts only reviews that another one counts, too: under the same conditions, or more of them."""
    if part is None or whole is None or not (part.entry.counts and whole.entry.counts):
        return False
    return _conjuncts(whole.where) <= _conjuncts(part.where)


def _conjuncts(where: typed.Expr | None) -> set[typed.Expr]:
    return set() if where is None else set(typed.conjuncts(where))


def _suggested(names: Sequence[str], *, certain: bool = False) -> Help:
    """The help that suggests these names, and says what a review's and a restaurant's are where one is of either."""
    are_both = {f"{kind.value}." for kind in (SymbolKind.META, SymbolKind.CONTEXT)} <= {
        name[: name.find(".") + 1] for name in names
    }
    return suggest_any(names, certain=certain, more=catalogue.NAMESPACES if are_both else "")
