"""Why a restaurant got its verdict: the rules, the steps behind them with their values, and the reviews behind those.

In: a checked program and one restaurant's rows and context. Out: an `Explanation`. The values are the interpreter's; the
texts of reviews are used only to quote them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from formulaseed.errors import EvaluationError
from formulaseed.explanation import model as data
from formulaseed.explanation.candidates import Row
from formulaseed.explanation.contributions import Counts
from formulaseed.explanation.evidence import EvidenceFinder
from formulaseed.explanation.explanation import Explanation
from formulaseed.explanation.quotes import QuoteFinder
from formulaseed.explanation.reasons import Reasons
from formulaseed.explanation.record import Evaluated
from formulaseed.explanation.verdict import explained_step
from formulaseed.explanation.verdict_dependencies import Leading
from formulaseed.ir import nodes
from formulaseed.ir.dependencies import filters_of, steps_used, upstream
from formulaseed.ir.hoisting import hoist
from formulaseed.ir.interpret import Evaluation, Observer, place_of, prepare
from formulaseed.ir.text import step_text
from formulaseed.language import typed
from formulaseed.language.typed import SymbolKind


@dataclass
class Explainer:
    """Explains the restaurants of one program: an output of them, as `explained_step` chooses it."""

    program: nodes.Program
    output: str | None = None

    def __post_init__(self) -> None:
        self.verdict = explained_step(self.program, self.output)
        self.leading = Leading(self.program, self.verdict)
        self.hoisted = hoist(self.program)
        self._said = cache(lambda name: step_text(self.steps[name]))

    @cached_property
    def steps(self) -> dict[str, nodes.Step]:
        """The steps by name, each aggregate inside a formula as one of its own."""
        return {step.name: step for step in self.hoisted.steps if not isinstance(step.operation, nodes.Filter)}

    @cached_property
    def uses(self) -> dict[str, list[str]]:
        """The steps that each step names."""
        return {name: steps_used(step) for name, step in self.steps.items()}

    @cached_property
    def quotes(self) -> QuoteFinder:
        return QuoteFinder(self.program)

    def explain(
        self,
        business_id: str,
        rows: Sequence[Row],
        context: Mapping[str, Any],
        parameters: Mapping[str, Any] | None,
        run: Mapping[str, Any],
        changes: Sequence[data.Change] = (),
    ) -> Explanation:
        """Return the explanation of one restaurant. `changes` are what leads to another verdict. Raises `DataError`."""
        evaluation, observer = prepare(self.program, rows, context, parameters), Observer()
        evaluation.observer = observer
        error = self._evaluate(evaluation)
        found = Evaluated(self.steps, evaluation)
        target = self.steps[self.verdict.name if error is None else str(error.step)]
        reached = upstream(self.hoisted.program, target)
        finder = EvidenceFinder(found, observer, rows, self.quotes, reached)
        evidence = {step.name: each for step in reached if (each := finder.evidence(step)) is not None}
        lookups = {step.name: match for step in reached if (match := found.match(step)) is not None}
        defaults = {name for name, each in evidence.items() if each.is_default}
        defaults |= {name for name, each in lookups.items() if each.key is None}
        counts = Counts(found, observer, reached, self.uses, self.hoisted.authors.keys())
        name = context.get("name")
        return Explanation(
            business_id=business_id,
            name=name if isinstance(name, str) else None,
            task=self.program.task_name,
            step=target.name,
            verdict=evaluation.results.get(target.name) if error is None else None,
            outputs={n: evaluation.results[n] for n in self.program.output if n in evaluation.results},
            error=error,
            because=Reasons(found, evidence, counts).because(target) if error is None else [],
            missing=[*_missing(reached, evaluation)],
            rules=found.rules(target) if error is None else [],
            steps=[_step(found, step, self._said(step.name), self.uses[step.name], defaults) for step in reached],
            lookups=[*lookups.values()],
            evidence=[*evidence.values()],
            reviews=len(rows),
            changes=list(changes),
            run=dict(run),
        )

    def _evaluate(self, evaluation: Evaluation) -> data.Failure | None:
        """Evaluate all steps; return why one of them failed, if so."""
        for step in self.hoisted.steps:
            try:
                evaluation.step(step)
            except EvaluationError as fault:
                name = self.hoisted.author(step)
                place = place_of(self.program, name, fault.kind)
                line = f"{place.source.name}:{place.source.position(place.start)[0]}" if place is not None else None
                return data.Failure(step=name, kind=fault.kind, message=fault.message, place=line)
        return None


def _missing(steps: Sequence[nodes.Step], evaluation: Evaluation) -> Iterator[data.Missing]:
    """Yield the fields that are null, of the restaurant or of a review, among those that the steps and their filters use."""
    conditions = [condition for step in steps for condition in filters_of(step, evaluation.filters).values()]
    expressions = [expression for step in steps for expression in step.expressions()]
    for symbol in dict.fromkeys(symbol for each in (*expressions, *conditions) for symbol in typed.symbols_in(each)):
        if symbol.kind is SymbolKind.CONTEXT and evaluation.shared[symbol] is None:
            yield data.Missing(name=str(symbol), reviews=None)
        elif symbol.kind is SymbolKind.META and (number := sum(row[symbol] is None for row in evaluation.rows)):
            yield data.Missing(name=str(symbol), reviews=number)


def _step(found: Evaluated, step: nodes.Step, definition: str, uses: list[str], defaults: set[str]) -> data.Step:
    operation = step.operation
    with_values, used = None, uses
    if isinstance(operation, nodes.Formula) and step.aggregate is None:
        with_values = found.with_values(operation.expression)
        if not defaults.isdisjoint(uses):
            taken = {symbol.name for symbol in typed.symbols_in(found.taken(operation.expression))}
            used = [name for name in uses if name in taken]
    elif isinstance(operation, nodes.Case):
        with_values = next((rule.condition for rule in found.rules(step) if rule.state == "taken"), None)
    return data.Step(
        name=step.name,
        kind=_kind(step),
        value=found.value_of(step.name),
        definition=definition,
        with_values=with_values,
        uses=uses,
        is_default=step.name in defaults,
        from_defaults=[name for name in used if name in defaults],
    )


def _kind(step: nodes.Step) -> str:
    match step.operation:
        case nodes.Formula(typed.Aggregate(function)):
            return function
        case nodes.Lookup():
            return "lookup"
        case nodes.Case():
            return "case"
        case nodes.Const():
            return "constant"
        case nodes.Formula():
            return "formula"
        case nodes.Filter():
            raise AssertionError("filters are not explained as steps")
