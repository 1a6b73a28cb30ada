"""Explains why restaurants got their verdicts: the rules, the steps behind them with their values, the reviews behind those.

In: a checked program with its evaluator, and restaurants' rows and contexts. Out: an `Explanation` of each. The values are the
interpreter's, and the evaluator tries changes; the texts of reviews are used only to quote them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from formulaseed.data.results import Failures, error_record
from formulaseed.errors import DataError, EvaluationError
from formulaseed.explanation.candidates import Row
from formulaseed.explanation.contributions import Contributions
from formulaseed.explanation.counterfactuals import Search
from formulaseed.explanation.evidence import EvidenceFinder
from formulaseed.explanation.explanation import Explanation
from formulaseed.explanation.model import Evidence, Failure, Match, Missing, Rule, Step
from formulaseed.explanation.quotes import QuoteFinder
from formulaseed.explanation.reasons import Reasons
from formulaseed.explanation.record import EvaluationRecord
from formulaseed.explanation.verdict import explained_step
from formulaseed.explanation.verdict_dependencies import VerdictDependencies
from formulaseed.ir import nodes
from formulaseed.ir.dependencies import filters_of, steps_used, upstream
from formulaseed.ir.hoisting import hoist
from formulaseed.ir.interpret import Evaluation, Observer, place_of, prepare
from formulaseed.ir.text import step_text
from formulaseed.language import typed
from formulaseed.language.typed import SymbolKind
from formulaseed.language.types import Value
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.extracting import ExtractedRestaurant
from formulaseed.runtime.running import add_failure


@dataclass
class Explainer:
    """Explains the restaurants of one program: an output of them, as `explained_step` chooses it.

    Raises `DataError` for a name that is no output.
    """

    program: nodes.Program
    evaluator: Evaluator
    output: str | None = None

    def __post_init__(self) -> None:
        self.verdict = explained_step(self.program, self.output)
        self.dependencies = VerdictDependencies(self.program, self.verdict)
        self.hoisted = hoist(self.program)
        self._definition = cache(lambda name: step_text(self.steps[name]))

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
    ) -> Explanation:
        """Return the explanation of one restaurant, with what would change its verdict.

        Raises `DataError` for data that the seed does not allow. If a step has no value, the explanation has an `error`.
        """
        evaluation, observer = prepare(self.program, rows, context, parameters), Observer()
        evaluation.observer = observer
        error = self._evaluate(evaluation)
        record = EvaluationRecord(self.steps, evaluation)
        target = self.steps[self.verdict.name if error is None else str(error.step)]
        reached = upstream(self.hoisted.program, target)
        finder = EvidenceFinder(record, observer, rows, self.quotes, reached)
        evidence = [part for part in map(finder.evidence, reached) if part is not None]
        lookups = [match for match in map(record.match, reached) if match is not None]
        defaults = _default_steps(evidence, lookups)
        verdict: Value = None
        because: list[str] = []
        rules: list[Rule] = []
        if error is None:
            contributions = Contributions(record, observer, reached, self.uses, self.hoisted.authors.keys())
            verdict = evaluation.results.get(target.name)
            because = Reasons(record, {part.step: part for part in evidence}, contributions).because(target)
            rules = record.rules(target)
        return Explanation(
            business_id=business_id,
            name=_name_in(context),
            task=self.program.task_name,
            step=target.name,
            verdict=verdict,
            outputs={name: evaluation.results[name] for name in self.program.output if name in evaluation.results},
            error=error,
            because=because,
            missing=[*_missing_fields(reached, evaluation)],
            rules=rules,
            steps=[self._step(record, step, defaults) for step in reached],
            lookups=lookups,
            evidence=evidence,
            reviews=len(rows),
            changes=Search(self.dependencies, self.evaluator, rows, context, parameters).changes(),
            run=dict(run),
        )

    def _evaluate(self, evaluation: Evaluation) -> Failure | None:
        """Evaluate all steps; return why one of them failed, or None if all have values."""
        for step in self.hoisted.steps:
            try:
                evaluation.step(step)
            except EvaluationError as fault:
                name = self.hoisted.author(step)
                place = place_of(self.program, name, fault.kind)
                line = f"{place.source.name}:{place.source.position(place.start)[0]}" if place is not None else None
                return Failure(step=name, kind=fault.kind, message=fault.message, place=line)
        return None

    def _step(self, record: EvaluationRecord, step: nodes.Step, defaults: set[str]) -> Step:
        """Return a step as data. `defaults` are the steps whose value is the seed's default."""
        operation = step.operation
        uses = taken_uses = self.uses[step.name]
        with_values = None
        if isinstance(operation, nodes.Formula) and step.aggregate is None:
            with_values = record.with_values(operation.expression)
            if not defaults.isdisjoint(uses):
                taken = {symbol.name for symbol in typed.symbols_in(record.taken(operation.expression))}
                taken_uses = [name for name in uses if name in taken]
        elif isinstance(operation, nodes.Case):
            with_values = next((rule.condition for rule in record.rules(step) if rule.state == "taken"), None)
        return Step(
            name=step.name,
            kind=_kind_of(step),
            value=record.value_of(step.name),
            definition=self._definition(step.name),
            with_values=with_values,
            uses=uses,
            is_default=step.name in defaults,
            from_defaults=[name for name in taken_uses if name in defaults],
        )


def explain_all(
    explainer: Explainer,
    restaurants: Iterable[ExtractedRestaurant],
    parameters: Mapping[str, Any] | None,
    failures: Failures,
) -> Iterator[Explanation]:
    """Yield the explanation of each restaurant. One whose data cannot be used has an `error`, and no steps.

    Adds to `failures` what fails now; a restaurant that had failed before is in it already.
    """
    evaluator = explainer.evaluator
    for restaurant in restaurants:
        if restaurant.error is not None:
            yield _failed_explanation(explainer, restaurant, restaurant.error)
            continue
        rows, context = restaurant.rows, restaurant.context
        try:
            evaluator.check(rows, context)  # the explainer's own reading names neither row nor review
            explanation = explainer.explain(restaurant.business_id, rows, context, parameters, restaurant.run.to_json())
        except DataError as error:
            explanation = _failed_explanation(explainer, restaurant, error_record(error))
            add_failure(failures, restaurant, error)
        fault = explanation.error
        if fault is not None and fault.step is not None:
            add_failure(failures, restaurant, evaluator.locate(EvaluationError(fault.step, fault.kind, fault.message)))
        yield explanation


def _failed_explanation(
    explainer: Explainer, restaurant: ExtractedRestaurant, error: Mapping[str, str | None]
) -> Explanation:
    return Explanation(
        business_id=restaurant.business_id,
        name=_name_in(restaurant.context),
        task=explainer.program.task_name,
        step=explainer.verdict.name,
        verdict=None,
        outputs={},
        error=Failure(step=None, kind=error["kind"] or "", message=error["message"] or "", place=None),
        because=[],
        missing=[],
        rules=[],
        steps=[],
        lookups=[],
        evidence=[],
        reviews=len(restaurant.rows),
        changes=[],
        run=restaurant.run.to_json(),
    )


def _name_in(context: Mapping[str, Any]) -> str | None:
    name = context.get("name")
    return name if isinstance(name, str) else None


def _missing_fields(steps: Sequence[nodes.Step], evaluation: Evaluation) -> Iterator[Missing]:
    """Yield the fields that are null, of the restaurant or of a review, among those that the steps and their filters use."""
    conditions = [condition for step in steps for condition in filters_of(step, evaluation.filters).values()]
    expressions = [*(expression for step in steps for expression in step.expressions()), *conditions]
    for symbol in dict.fromkeys(symbol for expression in expressions for symbol in typed.symbols_in(expression)):
        if symbol.kind is SymbolKind.CONTEXT and evaluation.shared[symbol] is None:
            yield Missing(name=str(symbol), reviews=None)
        elif symbol.kind is SymbolKind.META:
            number = sum(row[symbol] is None for row in evaluation.rows)
            if number:
                yield Missing(name=str(symbol), reviews=number)


def _default_steps(evidence: Sequence[Evidence], lookups: Sequence[Match]) -> set[str]:
    """Return the steps whose value is the seed's default, as no review counts or no key matches."""
    selections = {part.step for part in evidence if part.is_default}
    return selections | {match.step for match in lookups if match.key is None}


def _kind_of(step: nodes.Step) -> str:
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
