"""Explain why restaurants got their verdicts: the rules, the steps behind them with their values, the reviews behind those.

In: a checked program with its evaluator, and restaurants' rows and contexts. Out: an `Explanation` of each. The values are the
interpreter's, and the evaluator tries changes; the texts of reviews are used only to quote them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

from formulaseed.data.results import Failures, error_record
from formulaseed.errors import DataError, EvaluationError
from formulaseed.explanation.attribution import AttributionFinder
from formulaseed.explanation.candidates import ObservedReviews, Row
from formulaseed.explanation.conditions import name_symbols
from formulaseed.explanation.counterfactuals import ChangeSearch
from formulaseed.explanation.evidence import EvidenceFinder
from formulaseed.explanation.explanation import Explanation
from formulaseed.explanation.model import Attribution, Fact, Failure, Missing, Rule, Step
from formulaseed.explanation.quotes import QuoteFinder
from formulaseed.explanation.reasons import Reasons
from formulaseed.explanation.record import EvaluationRecord
from formulaseed.explanation.sharing import prepare_sharing_evaluation
from formulaseed.explanation.verdict import choose_explained_step
from formulaseed.explanation.verdict_dependencies import VerdictDependencies
from formulaseed.ir import nodes
from formulaseed.ir.dependencies import find_dependencies, list_symbols, used_step_names
from formulaseed.ir.hoisting import hoist_aggregates
from formulaseed.ir.interpret import Evaluation, Observer, find_failure_span
from formulaseed.ir.labels import label_of
from formulaseed.ir.text import step_text
from formulaseed.language import typed
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.extracting import ExtractedRestaurant
from formulaseed.runtime.running import add_failure
from formulaseed.runtime.table_names import FindReasons

_KINDS = {nodes.Lookup: "lookup", nodes.Case: "case", nodes.Const: "constant", nodes.Formula: "formula"}
"""The kinds of operations; an aggregate is of the kind that its function is called."""


@dataclass
class Explainer:
    """An explainer of one output of a program for any restaurant. By default `choose_explained_step` chooses the output.

    Raises `DataError` if `output` is no output of the program.
    """

    program: nodes.Program
    evaluator: Evaluator
    output: str | None = None

    def __post_init__(self) -> None:
        self.verdict = choose_explained_step(self.program, self.output)
        self.dependencies = VerdictDependencies(self.program, self.verdict)
        self.hoisted = hoist_aggregates(self.program)
        # without filters; each aggregate inside a formula is a step of its own
        self.steps = {step.name: step for step in self.hoisted.steps if not isinstance(step.operation, nodes.Filter)}
        self.names = name_symbols(self.program, self.hoisted.steps)
        self.observed = ObservedReviews(self.dependencies.fields)
        self._definition = cache(lambda name: step_text(self.steps[name]))

    @cached_property
    def quotes(self) -> QuoteFinder:
        """The finder of quotes for the program's fields."""
        return QuoteFinder(self.program)

    def explain(
        self,
        business_id: str,
        rows: Sequence[Row],
        context: Mapping[str, Any],
        parameters: Mapping[str, Any] | None,
        run: Mapping[str, Any],
    ) -> Explanation:
        """Return the explanation of one restaurant, with the changes that would lead to another verdict.

        The added reviews that it proposes are taken from `observed`. `run` becomes its provenance; `parameters` override
        the seed's defaults. Raises `DataError` for data that the seed does not allow. If a step fails, the explanation
        is about that step: `error` is set, and there is no verdict.
        """
        parsed = self.evaluator.parse_rows(rows)  # its messages name the row and the review, unlike the interpreter's
        self.evaluator.check(parsed, context)
        evaluation = prepare_sharing_evaluation(self.program, rows, parsed, context, parameters)
        observer = evaluation.observer = Observer()
        error = self._evaluate(evaluation)
        record = EvaluationRecord(self.steps, evaluation, self.names)
        target = self.steps[self.verdict.name if error is None else str(error.step)]
        reached = find_dependencies(self.hoisted.program, target)
        evidence_finder = EvidenceFinder(record, observer, rows, self.quotes, reached)
        evidence = [*filter(None, map(evidence_finder.find, reached))]
        used = list_symbols(reached, evaluation.filters)
        lookups = [*filter(None, map(record.match, reached))]
        # as no review counts, or no key matches
        defaults = {part.step for part in evidence if part.is_default}
        defaults |= {match.step for match in lookups if match.key is None}
        because: list[str] = []
        rules: list[Rule] = []
        attribution: Attribution | None = None
        if error is None:
            because = Reasons(record, {part.step: part for part in evidence}).explain(target)
            decider, rules = record.follow_rules(target)
            finder = AttributionFinder(self.dependencies, self.evaluator, record, rows, parsed, context, parameters)
            attribution = finder.find(decider, rules)
        search = ChangeSearch(
            self.dependencies, self.evaluator, rows, parsed, context, parameters, self.observed, self.names
        )
        return Explanation(
            business_id=business_id,
            name=_restaurant_name(context),
            task=self.program.task_name,
            step=target.name,
            verdict=record.value_of(target.name),
            outputs={name: evaluation.results[name] for name in self.program.output if name in evaluation.results},
            error=error,
            because=because,
            missing=[*_find_missing_fields(used, evaluation)],
            facts=[*_find_facts(self.program, used, evaluation)],
            attribution=attribution,
            reasons=[] if attribution is None else attribution.select_reasons(),
            rules=rules,
            steps=[self._describe_step(record, step, defaults) for step in reached],
            lookups=lookups,
            evidence=evidence,
            reviews=len(rows),
            changes=search.find_changes(),
            run=dict(run),
        )

    def find_reasons(
        self, rows: Sequence[Row], context: Mapping[str, Any], parameters: Mapping[str, Any] | None, count: int
    ) -> list[dict[str, Any]]:
        """Return the reasons that the explanation of one restaurant would select, as JSON; empty if a step fails.

        `parameters` override the seed's defaults. Raises `DataError` for data that the seed does not allow.
        """
        parsed = self.evaluator.parse_rows(rows)
        evaluation = prepare_sharing_evaluation(self.program, rows, parsed, context, parameters)
        if self._evaluate(evaluation) is not None:
            return []
        record = EvaluationRecord(self.steps, evaluation, self.names)
        finder = AttributionFinder(self.dependencies, self.evaluator, record, rows, parsed, context, parameters)
        attribution = finder.find(*record.follow_rules(self.steps[self.verdict.name]))
        return [reason.model_dump() for reason in attribution.select_reasons(count)] if attribution is not None else []

    def _evaluate(self, evaluation: Evaluation) -> Failure | None:
        """Evaluate all steps into `evaluation`, up to the first that fails. Returns its failure, or None.

        The failure has the name of the seed's step and its place in the seed, None if that cannot be found.
        """
        for step in self.hoisted.steps:
            try:
                evaluation.evaluate_step(step)
            except EvaluationError as fault:
                name = self.hoisted.author(step)
                span = find_failure_span(self.program, name, fault.kind)
                place = f"{span.source.name}:{span.source.position(span.start)[0]}" if span is not None else None
                return Failure(step=name, kind=fault.kind, message=fault.message, place=place)
        return None

    def _describe_step(self, record: EvaluationRecord, step: nodes.Step, defaults: set[str]) -> Step:
        """Return a step as data. `defaults` are the names of all steps whose value is the seed's default.

        `with_values` is the formula with values in place of names or, for a case, the condition that holds.
        `from_defaults` has only steps in branches that were taken.
        """
        operation = step.operation
        uses = taken_uses = used_step_names(step)
        with_values = None
        if isinstance(operation, nodes.Formula) and step.aggregate is None:
            with_values = record.with_values(operation.expression)
            if not defaults.isdisjoint(uses):
                taken = {symbol.name for symbol in typed.symbols_in(record.resolve_conditionals(operation.expression))}
                taken_uses = [name for name in uses if name in taken]
        elif isinstance(operation, nodes.Case):
            with_values = next((rule.words for rule in record.rules(step) if rule.state == "taken"), None)
        return Step(
            name=step.name,
            label=label_of(step),
            kind=step.aggregate.function if step.aggregate is not None else _KINDS[type(operation)],
            value=record.value_of(step.name),
            definition=self._definition(step.name),
            with_values=with_values,
            uses=uses,
            is_default=step.name in defaults,
            from_defaults=[name for name in taken_uses if name in defaults],
        )


@dataclass(frozen=True, slots=True)
class VerdictReasons:
    """The reasons that results have: at most `count`, of the program's verdict. Other processes can get copies."""

    program: nodes.Program
    count: int
    parameters: Mapping[str, Any] | None

    def start(self, evaluator: Evaluator) -> FindReasons:
        """Return a function that maps a restaurant's rows and context, both JSON, to the reasons of its verdict as JSON."""
        explainer = Explainer(self.program, evaluator)
        return partial(explainer.find_reasons, parameters=self.parameters, count=self.count)


def explain_all(
    explainer: Explainer,
    restaurants: Iterable[ExtractedRestaurant],
    parameters: Mapping[str, Any] | None,
    failures: Failures,
) -> Iterator[Explanation]:
    """Yield the explanation of each restaurant, with an `error` and no steps if its data cannot be used.

    Adds failures of the explanation to `failures`, while the result is iterated over. A restaurant whose extraction
    failed must be in `failures` already.
    """
    evaluator = explainer.evaluator
    for restaurant in _observe(explainer.observed, restaurants):
        _, business_id, context, rows, _, run, data_error = restaurant
        if data_error is not None:
            yield _explain_failure(explainer, restaurant, data_error)
            continue
        try:
            explanation = explainer.explain(business_id, rows, context, parameters, run.to_json())
        except DataError as error:
            explanation = _explain_failure(explainer, restaurant, error_record(error))
            add_failure(failures, restaurant, error)
        fault = explanation.error
        if fault is not None and fault.step is not None:
            add_failure(failures, restaurant, evaluator.locate(EvaluationError(fault.step, fault.kind, fault.message)))
        yield explanation


def _observe(observed: ObservedReviews, restaurants: Iterable[ExtractedRestaurant]) -> Iterator[ExtractedRestaurant]:
    """Yield all restaurants, after adding the reviews of the first ones to `observed`, which are read ahead."""
    rest = iter(restaurants)
    first: list[ExtractedRestaurant] = []
    for restaurant in rest:
        first.append(restaurant)
        observed.add(restaurant.rows)
        if observed.is_full:
            break
    yield from first
    yield from rest


def _explain_failure(
    explainer: Explainer, restaurant: ExtractedRestaurant, error: Mapping[str, str | None]
) -> Explanation:
    """Return an explanation that has nothing but the `error` of a restaurant whose data cannot be used."""
    return Explanation(
        business_id=restaurant.business_id,
        name=_restaurant_name(restaurant.context),
        task=explainer.program.task_name,
        step=explainer.verdict.name,
        verdict=None,
        error=Failure(step=None, kind=error["kind"] or "", message=error["message"] or "", place=None),
        attribution=None,
        reviews=len(restaurant.rows),
        run=restaurant.run.to_json(),
    )


def _restaurant_name(context: Mapping[str, Any]) -> str | None:
    """Return the restaurant's name; None if the context has none."""
    name = context.get("name")
    return name if isinstance(name, str) else None


def _find_missing_fields(used: Sequence[Symbol], evaluation: Evaluation) -> Iterator[Missing]:
    """Yield the fields among the `used` names that are null: of the restaurant, and the metadata of reviews.

    A field of reviews has the number of reviews that lack it; a field of the restaurant has None.
    """
    for symbol in used:
        if symbol.kind is SymbolKind.CONTEXT and evaluation.shared[symbol] is None:
            yield Missing(name=str(symbol), reviews=None)
        elif symbol.kind is SymbolKind.META and (number := sum(row[symbol] is None for row in evaluation.rows)):
            yield Missing(name=str(symbol), reviews=number)


def _find_facts(program: nodes.Program, used: Sequence[Symbol], evaluation: Evaluation) -> Iterator[Fact]:
    """Yield the fields of the restaurant, then the parameters, among the `used` names, with their values."""
    for kind, declared in ((SymbolKind.CONTEXT, program.context), (SymbolKind.PARAMETER, program.parameters)):
        for item in declared:
            symbol = Symbol(kind, item.name)
            if symbol in used:
                yield Fact(name=str(symbol), label=label_of(item), value=evaluation.shared[symbol])
