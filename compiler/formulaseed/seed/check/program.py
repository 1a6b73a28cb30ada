"""Checks a surface program: every step in order, then the outputs and properties.

In: `surface.Program`. Out: `nodes.Program`, with the steps that have no error. Raises nothing for a user's mistake.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from formulaseed.diagnostics.catalogue import seed as catalogue
from formulaseed.diagnostics.catalogue import words as words_catalogue
from formulaseed.diagnostics.model import Problems, Suggestion
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.ir import nodes
from formulaseed.language import intervals, typed
from formulaseed.language.check.narrowing import Narrowing
from formulaseed.language.intervals import Range
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.language.types import BOOLEAN, Base, Info, Type
from formulaseed.seed import standard_fields, surface
from formulaseed.seed.check.scope import SeedScope
from formulaseed.seed.check.steps import NARROWING_SIZE, StepChecker


def check_program(program: surface.Program, problems: Problems) -> nodes.Program:
    """Return the typed program with the steps that have no error. Adds every error and warning to `problems`."""
    return _ProgramChecker(program, problems).run()


class _ProgramChecker:
    """A checker of one surface program."""

    def __init__(self, program: surface.Program, problems: Problems) -> None:
        """Prepare the scope and the step checker. Declared fields replace standard fields of the same name.

        Reports steps with the same name.
        """
        self.program = program
        self.problems = problems
        meta = {**standard_fields.META, **{f.name: f.ty for f in program.meta}}
        context = {**standard_fields.CONTEXT, **{f.name: f.ty for f in program.context}}
        self.inputs = {
            SymbolKind.EXTRACTION: {f.name: f.ty for f in program.fields},
            SymbolKind.META: meta,
            SymbolKind.CONTEXT: context,
            SymbolKind.PARAMETER: {p.name: p.ty for p in program.parameters},
        }
        self.partial: list[tuple[Expr, frozenset[Expr]]] = []
        """The aggregates so far that may have no value, each with the conditions on its reviews."""
        self.including: dict[typed.Aggregate, tuple[frozenset[Expr], int, tuple[Expr, ...]]] = {}
        """The conditions of each count, the number of `partial` it was compared with, and those whose reviews include its own."""
        self.scope = self._build_scope()
        self.scope.incomplete = program.incomplete
        self.scope.nameless = frozenset(step.name.text for step in program.nameless)
        self.scope.section = program.steps_key
        narrowing = Narrowing(self._find_small_condition, self._find_non_empty)
        self.scope.add_aggregate = self._add_aggregate
        self.steps = StepChecker(program, self.scope, narrowing)

    def _build_scope(self) -> SeedScope:
        """Return the scope of the program's names, made by `new_scope` for a rule file. Reports duplicate steps."""
        program = self.program
        if program.new_scope is not None:
            return program.new_scope(self.problems, self._number_steps())
        uses: dict[str, frozenset[str]] = {}
        for step in program.steps:
            uses[step.name.text] = uses.get(step.name.text, frozenset()).union(step.find_mentioned_names())
        return SeedScope(
            self.problems,
            self.inputs,
            _build_bounds(program),
            self._number_steps(),
            uses,
            frozenset(step.name.text for step in program.steps if step.is_filter),
            unclear=frozenset(step.name.text for step in program.steps if step.is_filter is None),
        )

    def run(self) -> nodes.Program:
        """Check all steps, outputs and properties; return the program with the steps that have no error.

        Every problem is reported. Steps without a name are checked only for their problems, and left out.
        """
        steps = []
        for step in self.program.steps:
            self.scope.current = step.name.text
            checked = self.steps.check(step)
            self.steps.report_constants()
            if checked is None:
                self.scope.broken.add(step.name.text)
                continue
            checked = self._add_words(checked, step)
            steps.append(checked)
            self._add(checked)
        for step in self.program.nameless:  # only to report what is wrong in them
            self.scope.current = step.name.text
            self.steps.check(step)
            self.steps.report_constants()
        self._check_output()
        return self._check_properties(self._build_program(tuple(steps)))

    def _add_words(self, step: nodes.Step, written: surface.Step) -> nodes.Step:
        """Return the checked step with the words for people of `written`. Reports `adverse` on a step without a number."""
        adverse = written.adverse
        if adverse is not None and not step.ty.is_numeric:
            self.problems.report(words_catalogue.adverse_of_no_number(adverse.span, step.name, step.ty.noun))
            adverse = None
        return replace(step, label=written.label, unit=written.unit, adverse=adverse.direction if adverse else None)

    def _add(self, step: nodes.Step) -> None:
        """Make a checked step known to the steps after it. If several steps have one name, the first is kept."""
        table = self.scope.filters if isinstance(step.operation, nodes.Filter) else self.scope.steps
        if step.name not in table and step.aggregate is not None:
            self._add_aggregate(step.aggregate, step)
        table.setdefault(step.name, step)

    def _add_aggregate(self, aggregate: typed.Aggregate, step: nodes.Step | None = None) -> None:
        """Add an aggregate to `partial` if it may have no value; ignore any other.

        `partial` has it as a reference to `step`, the step that consists of it, or as itself if `step` is None.
        """
        if aggregate.entry.empty_value is None:
            name = typed.Ref(Symbol(SymbolKind.STEP, step.name), aggregate.info) if step is not None else aggregate
            self.partial.append((name, self._expand_conjuncts(aggregate.where)))

    def _number_steps(self) -> dict[str, int]:
        """Return the index of each step by name, for duplicates that of the first. Reports the later ones."""
        places: dict[str, int] = {}
        for index, step in enumerate(self.program.steps):
            name = step.name
            if name.text in places:
                first = f"{self.program.steps_key}[{places[name.text]}]"
                self.problems.report(catalogue.duplicate_step(name.span, name.text, first))
            places.setdefault(name.text, index)
        return places

    # --- for narrowing

    def _find_small_condition(self, name: str) -> Expr | None:
        """Return the condition of a filter; None if it is unknown, has an error, or exceeds `NARROWING_SIZE`."""
        return self._find_filter_condition(name) if self.scope.sizes.get(name, 0) <= NARROWING_SIZE else None

    def _find_filter_condition(self, name: str) -> Expr | None:
        """Return the condition of a filter; None if it is unknown or has an error."""
        step = self.scope.filters.get(name)
        return step.operation.condition if step and isinstance(step.operation, nodes.Filter) else None

    def _find_non_empty(self, count: Expr) -> tuple[Expr, ...]:
        """Return the aggregates that have a value if `count` is 1 or more: their reviews include the counted ones.

        Returns none if `count` is no count. Considers the aggregates checked so far. Results are kept in `including`,
        and extended by later aggregates.
        """
        aggregate = self.scope.find_aggregate(count)
        if aggregate is None or not aggregate.entry.counts:
            return ()
        known = self.including.get(aggregate) or (self._expand_conjuncts(aggregate.where), 0, ())
        required, compared, including = known
        including += tuple(partial for partial, needed in self.partial[compared:] if needed <= required)
        self.including[aggregate] = (required, len(self.partial), including)
        return including

    def _expand_conjuncts(self, where: Expr | None) -> frozenset[Expr]:
        """Return the conjuncts of a condition, those of its filters in place of their names; an empty set for None.

        An unknown filter's name stays.
        """
        required: set[Expr] = set()
        followed: set[Expr] = set()
        stack = list(typed.conjuncts(where))
        while stack:
            part = stack.pop()
            inner = None
            if isinstance(part, typed.Ref) and part.symbol.kind is SymbolKind.FILTER:
                inner = self._find_filter_condition(part.symbol.name)
            if inner is None:
                required.add(part)
            elif part not in followed:
                followed.add(part)
                stack.extend(typed.conjuncts(inner))
        return frozenset(required)

    # --- the whole

    def _check_output(self) -> None:
        """Report outputs that are no steps with a value, and aggregates among them that need a default."""
        returned = {name.text for name in self.program.output}
        for name in self.program.output:
            step = self._find_step(name, returned)
            if step is not None and step.aggregate is not None and step.aggregate.needs_default:
                self.scope.report_default_needed(step.aggregate, step)

    def _find_step(self, name: surface.Named, named: Collection[str] = ()) -> nodes.Step | None:
        """Return the step with a value that an output or a property names; None if there is none.

        Reports a filter, a field or an unknown name, but not a step that has an error. A step in `named` is not
        suggested.
        """
        if name.text in self.scope.filter_names:
            self.problems.report(catalogue.filter_as_value(name.span, name.text, per_review=False))
        elif name.text in self.scope.steps:
            return self.scope.steps[name.text]
        elif name.text in self.inputs[SymbolKind.EXTRACTION] and name.text not in self.scope.broken:
            self.problems.report(catalogue.field_as_step(name.span, name.text))
        elif name.text not in self.scope.broken and "compute" not in self.program.incomplete:
            values = [step.name.text for step in self.program.steps if not step.is_filter]
            help = did_you_mean(name.text, values, noun="steps")
            if isinstance(help, Suggestion) and help.replacement in named:
                help = catalogue.KEY_IS_GIVEN.format(help.replacement)
            self.problems.report(catalogue.unknown_step(name.span, name.text, help))
        return None

    def _check_properties(self, program: nodes.Program) -> nodes.Program:
        """Return the program with its properties. Reports unknown, non-numeric and independent steps in them.

        A property with an unknown step is left out, and so is every property if any step has an error.
        """
        properties = []
        uses = program.uses() if self.program.properties else {}
        for claim in self.program.properties:
            names = [name for name in (claim.step, claim.variable) if name is not None]
            steps = [self._find_step(name) for name in names]
            for name, step in zip(names, steps, strict=True):
                if step is not None and not step.ty.is_numeric:
                    self.problems.report(catalogue.without_order(name.span, name.text, step.ty.noun))
            review = self._check_review(claim)
            if None in steps or self.scope.broken:  # a step that has errors may depend on anything
                continue
            if claim.variable is None:
                if review is not None:
                    properties.append(nodes.Property(claim.direction, claim.step.text, "", review))
                continue
            if claim.variable.text not in _find_all_uses(uses, claim.step.text):
                self.problems.report(catalogue.independent(claim.variable.span, claim.step.text, claim.variable.text))
            properties.append(nodes.Property(claim.direction, claim.step.text, claim.variable.text))
        return replace(program, properties=tuple(properties))

    def _check_review(self, claim: surface.Property) -> Expr | None:
        """Return the condition on the review that a property adds; None if it adds none, or with the problem reported."""
        if claim.variable is not None:
            return None
        if claim.review is None:
            return typed.Literal(True, Info(BOOLEAN, claim.span))
        name = surface.Named(claim.span, "a review")
        self.scope.current = name.text
        step = self.steps.check(surface.Step(name, claim.span, surface.Filter(claim.review), is_filter=True))
        self.steps.report_constants()
        return step.operation.condition if step and isinstance(step.operation, nodes.Filter) else None

    def _build_program(self, steps: tuple[nodes.Step, ...]) -> nodes.Program:
        """Return the typed program of the checked `steps`, without properties.

        Its `meta` and `context` include the standard fields. The record is empty without a formula reference.
        """
        program = self.program
        used = {symbol.name for step in steps for symbol in step.symbols()}
        return nodes.Program(
            task_name=program.task_name.text,
            version=program.version,
            description=program.description,
            keywords=tuple(keyword.text for keyword in program.keywords),
            fields=program.fields,
            meta=_merge_inputs(standard_fields.META, program.meta),
            context=_merge_inputs(standard_fields.CONTEXT, program.context),
            parameters=program.parameters,
            review_handling=program.review_handling,
            passes=program.passes,
            steps=steps,
            output=tuple(name.text for name in program.output),
            extraction_prompt=program.extraction_prompt,
            examples=program.examples,
            record=program.reference.record(used) if program.reference is not None else (),
            reference=program.reference,
        )


def _find_all_uses(uses: Mapping[str, frozenset[str]], name: str) -> set[str]:
    """Return the names of the steps and filters that the step `name` uses, directly or through others.

    Raises `KeyError` if `uses` lacks one of them.
    """
    reached: set[str] = set()
    stack = [name]
    while stack:
        used = uses[stack.pop()] - reached
        stack += used
        reached |= used
    return reached


def _merge_inputs(standard: Mapping[str, Type], declared: Sequence[nodes.InputField]) -> tuple[nodes.InputField, ...]:
    """Return the standard fields and the declared ones; a declaration of a standard field takes its place."""
    fields = {name: nodes.InputField(name, ty, "") for name, ty in standard.items()}
    return tuple((fields | {field.name: field for field in declared}).values())


def _build_bounds(program: surface.Program) -> dict[Symbol, Range]:
    """Return the range of each numeric extraction field and parameter."""
    ranges: dict[Symbol, Range] = {}
    for kind, bounded in ((SymbolKind.EXTRACTION, program.fields), (SymbolKind.PARAMETER, program.parameters)):
        ranges |= {Symbol(kind, item.name): _build_range(item) for item in bounded if item.ty.is_numeric}
    return ranges


def _build_range(bounded: nodes.ExtractionField | nodes.Parameter) -> Range:
    """Return the range of a numeric field or parameter: its bounds, or those of all inputs where it has none.

    Bounds that are exchanged are ignored.
    """
    any_value = intervals.INPUT_INTEGER if bounded.ty.base is Base.INTEGER else intervals.INPUT_NUMBER
    low = any_value.low if bounded.minimum is None else intervals.round_down(bounded.minimum)
    high = any_value.high if bounded.maximum is None else -intervals.round_down(-bounded.maximum)
    return Range(low, high) if low <= high else any_value
