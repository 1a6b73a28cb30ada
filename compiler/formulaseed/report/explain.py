"""Why a restaurant got its verdict: the rules, the steps behind them with their values, and the reviews behind those.

In: a checked program and one restaurant's rows and context. Out: an `Explanation`. The values are the interpreter's; the
texts of reviews are used only to show what a value rests on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeGuard, cast

from formulaseed.diagnostics.model import number_of
from formulaseed.errors import DataError, EvaluationError
from formulaseed.ir import nodes
from formulaseed.ir.interpret import Evaluation, place_of, prepare
from formulaseed.ir.text import step_text
from formulaseed.language import typed
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.operators import Fault
from formulaseed.language.printer import expression_text, value_text
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.language.types import Value
from formulaseed.report import explanation as data
from formulaseed.report.quotes import QuoteFinder

Row = Mapping[str, Any]
_DIGITS = 4


def shown(value: Value) -> str:
    """A value as people read it: a number with four digits behind the point at most."""
    if isinstance(value, float):
        return f"{value:.{_DIGITS}f}".rstrip("0").rstrip(".") if abs(value) < 1e15 else repr(value)
    return value_text(value)


def verdict_step(program: nodes.Program, output: str | None = None) -> nodes.Step:
    """Return the output to explain: the named one, else the last that chooses by rules, else the last.

    Raises `DataError` for a name that is no output.
    """
    outputs = {name: next(step for step in program.steps if step.name == name) for name in program.output}
    if output is not None:
        if output not in outputs:
            raise DataError(f"the seed has no output `{output}`; there are: {', '.join(outputs)}")
        return outputs[output]
    with_rules = [step for step in outputs.values() if step.rules()]
    return (with_rules or list(outputs.values()))[-1]


@dataclass
class Explainer:
    """Explains the restaurants of one program: an output of them, as `verdict_step` chooses it."""

    program: nodes.Program
    output: str | None = None

    def __post_init__(self) -> None:
        self.verdict = verdict_step(self.program, self.output)

    @cached_property
    def steps(self) -> dict[str, nodes.Step]:
        return {step.name: step for step in self.program.steps if not isinstance(step.operation, nodes.Filter)}

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
    ) -> data.Explanation:
        """Return the explanation of one restaurant. `changes` are what leads to another verdict. Raises `DataError`."""
        evaluation = prepare(self.program, rows, context, parameters)
        error: data.Failure | None = None
        for step in self.program.steps:
            try:
                evaluation.step(step)
            except EvaluationError as fault:
                place = place_of(self.program, fault.step, fault.kind)
                line = f"{place.source.name}:{place.source.position(place.start)[0]}" if place is not None else None
                error = data.Failure(step=fault.step, kind=fault.kind, message=fault.message, place=line)
                break
        one = _Restaurant(self, evaluation, rows)
        target = self.verdict if error is None else self.steps[str(error.step)]
        name = context.get("name")
        return data.Explanation(
            business_id=business_id,
            name=name if isinstance(name, str) else None,
            task=self.program.task_name,
            step=target.name,
            verdict=evaluation.results.get(target.name) if error is None else None,
            outputs={n: evaluation.results[n] for n in self.program.output if n in evaluation.results},
            error=error,
            because=one.because(target) if error is None else [],
            rules=one.rules(target) if error is None else [],
            steps=one.tree(target),
            lookups=[match for step in one.reached(target) if (match := one.match(step)) is not None],
            evidence=[found for step in one.reached(target) if (found := one.evidence(step)) is not None],
            reviews=len(rows),
            changes=list(changes),
            run=dict(run),
        )


@dataclass
class _Restaurant:
    """One restaurant's values, and what they rest on."""

    explainer: Explainer
    evaluation: Evaluation
    rows: Sequence[Row]

    @property
    def steps(self) -> dict[str, nodes.Step]:
        return self.explainer.steps

    def value_of(self, name: str) -> Value:
        found: Value = self.evaluation.shared.get(Symbol(SymbolKind.STEP, name))
        return found

    def uses(self, step: nodes.Step) -> list[str]:
        """The steps that a step uses, each once, those of the conditions on its reviews included."""
        named = [s.name for s in step.symbols() if s.kind is SymbolKind.STEP]
        return list(dict.fromkeys(named))

    def reached(self, target: nodes.Step) -> list[nodes.Step]:
        """The step and those that it uses, directly or not: each before those that it uses, as far as they have values."""
        found: dict[str, None] = {}
        stack = [target.name]
        while stack:
            name = stack.pop()
            found.pop(name, None)
            found[name] = None
            stack.extend(reversed(self.uses(self.steps[name])))
        return [self.steps[name] for name in found]

    # --- the tree

    def tree(self, target: nodes.Step) -> list[data.Step]:
        return [self._step(step) for step in self.reached(target)]

    def _step(self, step: nodes.Step) -> data.Step:
        operation = step.operation
        with_values = None
        if isinstance(operation, nodes.Formula):
            with_values = self.with_values(operation.expression)
        elif isinstance(operation, nodes.Case):
            with_values = next((rule.condition for rule in self.rules(step) if rule.state == "taken"), None)
        return data.Step(
            name=step.name,
            kind=_kind(operation),
            value=self.value_of(step.name),
            definition=step_text(step),
            with_values=with_values,
            uses=self.uses(step),
        )

    def with_values(self, expression: Expr) -> str | None:
        """The formula with values in place of names; None if it has no name, or is one."""
        if isinstance(expression, typed.Ref | typed.Literal) or not any(typed.symbols_in(expression)):
            return None
        return expression_text(self._substituted(expression))

    def _substituted(self, node: Expr) -> Expr:
        if isinstance(node, typed.Ref):
            value = self._value(node)
            text = f"({shown(value)})" if isinstance(value, int | float) and value < 0 else shown(value)
            return replace(node, written=text)
        return typed.mapped(node, self._substituted)

    def _value(self, node: Expr) -> Value:
        try:
            found: Value = self.evaluation.value(node, {})
        except (Fault, KeyError):  # what the failed step needed
            return None
        return found

    # --- rules

    def rules(self, step: nodes.Step) -> list[data.Rule]:
        found: list[data.Rule] = []
        is_taken = False
        for condition, result in step.rules():
            holds = condition is None or bool(self._value(condition))
            state: data.State = "not reached" if is_taken else "taken" if holds else "false"
            is_taken = is_taken or holds
            text = expression_text(condition) if condition is not None else None
            comparisons = [*self.comparisons(condition)] if condition is not None else []
            found.append(data.Rule(condition=text, result=result, state=state, comparisons=comparisons))
        return found

    def comparisons(self, condition: Expr) -> Iterator[data.Comparison]:
        """The comparisons of a condition with the values of their sides, in its order."""
        for node in typed.walk(condition):
            if not isinstance(node, typed.Comparison) or len(node.operators) != 1:
                continue
            left, right = self._value(node.first), self._listed(node.rest[0])
            yield data.Comparison(
                left=expression_text(node.first),
                operator=node.operators[0],
                right=expression_text(node.rest[0]),
                left_value=left,
                right_value=right,
                holds=bool(self._value(node)),
                distance=abs(left - right) if _is_number(left) and _is_number(right) else None,
            )

    def _listed(self, node: Expr) -> Any:
        return [self._value(item) for item in node.items] if isinstance(node, typed.List) else self._value(node)

    # --- lookups

    def match(self, step: nodes.Step) -> data.Match | None:
        operation = step.operation
        if not isinstance(operation, nodes.Lookup):
            return None
        text = str(self._value(operation.source) or "")
        keys = [key for key, _ in operation.table if (key == text if operation.match == "exact" else key in text)]
        values, value = dict(operation.table), self.value_of(step.name)
        key = next((key for key in keys if values[key] == value), None)
        return data.Match(
            step=step.name,
            source=expression_text(operation.source),
            text=text,
            key=key,
            start=text.find(key) if key is not None else None,
            value=value,
            other_keys=[other for other in keys if other != key],
        )

    # --- reviews

    def evidence(self, step: nodes.Step) -> data.Evidence | None:
        operation = step.operation
        if not isinstance(operation, nodes.Aggregate):
            return None
        conditions = [*self._conditions(operation.where)]
        counted: list[int] = []
        excluded: dict[str, list[str]] = {}
        for place, row in enumerate(self.evaluation.rows):
            failed = next((text for text, condition in conditions if not self._holds(condition, row)), None)
            if failed is None:
                counted.append(place)
            else:
                excluded.setdefault(failed, []).append(self._id(place))
        if operation.is_extreme and operation.expression is not None:
            best = self.value_of(step.name)
            at_best = [p for p in counted if self._of_row(operation.expression, self.evaluation.rows[p]) == best]
            others = [self._id(place) for place in counted if place not in at_best]
            if others and at_best:
                excluded[f"{expression_text(operation.expression)} == {shown(best)}"] = others
                counted = at_best
        named = [s for e in step.expressions() for s in self._symbols(e) if s.kind is SymbolKind.EXTRACTION]
        fields = list(dict.fromkeys(symbol.name for symbol in named))
        return data.Evidence(
            step=step.name,
            value=self.value_of(step.name),
            condition=expression_text(operation.where) if operation.where is not None else None,
            number=len(counted),
            reviews=[self._review(place, fields) for place in counted] if operation.where is not None else [],
            excluded=[data.Exclusion(condition=c, number=len(ids), review_ids=ids) for c, ids in excluded.items()],
        )

    def _conditions(self, where: Expr | None) -> Iterator[tuple[str, Expr]]:
        """What a review must meet, with the conditions of filters in place of their names."""
        for part in typed.conjuncts(where):
            inner = self.evaluation.filters.get(part.symbol.name) if _is_filter(part) else None
            if inner is not None:
                yield from self._conditions(inner)
            else:
                yield expression_text(part), part

    def _symbols(self, expression: Expr) -> Iterator[Symbol]:
        for symbol in typed.symbols_in(expression):
            yield symbol
            if symbol.kind is SymbolKind.FILTER:
                yield from self._symbols(self.evaluation.filters[symbol.name])

    def _holds(self, condition: Expr, row: Mapping[Symbol, Any]) -> bool:
        return bool(self._of_row(condition, row))

    def _of_row(self, expression: Expr, row: Mapping[Symbol, Any]) -> Any:
        try:
            return self.evaluation.value(expression, dict(row))
        except Fault:
            return None

    def _id(self, place: int) -> str:
        given = self.rows[place].get("review_id")
        return given if isinstance(given, str) else f"rows[{place}]"

    def _review(self, place: int, fields: Sequence[str]) -> data.Review:
        row = self.rows[place]
        meta, extraction = row.get("meta") or {}, row.get("extraction") or {}
        asked = {name: extraction.get(name) for name in fields}
        quote, quoted_by = self.explainer.quotes.quote(row, asked)
        stars, date = meta.get("stars"), meta.get("date")
        if not isinstance(date, str):
            date = str(meta["year"]) if isinstance(meta.get("year"), int) else None
        return data.Review(
            review_id=self._id(place),
            date=date,
            stars=stars if isinstance(stars, int | float) and not isinstance(stars, bool) else None,
            fields=asked,
            quote=quote,
            quoted_by=quoted_by,
        )

    # --- the reasons

    def because(self, target: nodes.Step) -> list[str]:
        """The reasons in sentences: the rule that was taken, what its score is made of, and the largest part of that."""
        sentences = [self._rule_sentence(target)] if target.rules() else []
        name = self._deciding(target)
        while name is not None and len(sentences) < _SENTENCES:
            sentence, name = self._made_of(self.steps[name])
            sentences.append(sentence)
        return sentences

    def _rule_sentence(self, target: nodes.Step) -> str:
        said = f"{target.name} is {shown(self.value_of(target.name))}"
        rules = self.rules(target)
        taken = next(rule for rule in rules if rule.state == "taken")
        decided = [c for c in taken.comparisons if c.holds] if taken.condition is not None else []
        if taken.condition is not None:
            earlier = [c for rule in rules[: rules.index(taken)] for c in rule.comparisons if not c.holds]
            same = [c for c in earlier if c.left in {each.left for each in decided}]
            reasons = _compared([*same, *decided]) or [f"`{taken.condition}` holds"]
            return f"{said} because {' and '.join(reasons)}."
        reasons = _compared([c for rule in rules for c in rule.comparisons if not c.holds])
        return f"{said} because no other rule holds" + (f": {'; '.join(reasons[:_REASONS])}." if reasons else ".")

    def _deciding(self, target: nodes.Step) -> str | None:
        """The number that the rule compares which was taken, else the one that most rules do; a number decides itself."""
        if target.ty.is_numeric and not target.rules():
            return target.name
        states = zip(target.rules(), self.rules(target), strict=True)
        conditions = [(condition, rule.state == "taken") for (condition, _), rule in states if condition is not None]
        named = [
            (is_taken, symbol.name)
            for condition, is_taken in conditions
            for symbol in typed.symbols_in(condition)
            if symbol.kind is SymbolKind.STEP and self.steps[symbol.name].ty.is_numeric
        ]
        taken = [name for is_taken, name in named if is_taken]
        counted = Counter(taken or [name for _, name in named])
        return counted.most_common(1)[0][0] if counted else None

    def _made_of(self, step: nodes.Step) -> tuple[str, str | None]:
        """What a step is made of, in a sentence, and the step to go on with, which is the largest part."""
        operation, said = step.operation, f"{step.name} is {shown(self.value_of(step.name))}"
        if isinstance(operation, nodes.Aggregate):
            found = self.evidence(step)
            number = found.number if found is not None else 0
            where = f" where {expression_text(operation.where)}" if operation.where is not None else ""
            return f"{said}: {number_of(number, 'review')} of {len(self.rows)}{where}.", None
        if not isinstance(operation, nodes.Formula):
            return f"{said}: {step_text(step)}.", None
        inner = self._moving(operation.expression)
        single = inner.symbol.name if isinstance(inner, typed.Ref) and inner.symbol.kind is SymbolKind.STEP else None
        if single is not None:
            whole = shown(self.value_of(single))
            is_cut = self.value_of(single) != self.value_of(step.name)
            why = f"the limit for {single}, which is {whole}" if is_cut else f"which is {single} within its limits"
            return f"{said}, {why}.", single
        terms = [(sign * float(value), node) for sign, node in _terms(inner) if _is_number(value := self._value(node))]
        terms = sorted((each for each in terms if each[0]), key=lambda each: (each[0] < 0, -abs(each[0])))
        if len(terms) > 1:
            return f"{said}: {_sum_text(terms)}.", self._step_in(terms[0][1])
        product = [*_factors(terms[0][1] if terms else inner)]
        if len(product) > 1 and all(_is_number(self._value(node)) for node in product):
            return f"{said}: {' times '.join(self._named(node) for node in product)}.", self._step_in(*product)
        return f"{said}: {self.with_values(inner) or expression_text(inner)}.", self._step_in(inner)

    def _moving(self, node: Expr) -> Expr:
        """What a formula comes down to: the branch that was taken, the one argument of limits and rounding that varies."""
        while True:
            if isinstance(node, typed.Present):
                node = node.operand
            elif isinstance(node, typed.Conditional):
                node = node.then if self._value(node.condition) else node.otherwise
            elif isinstance(node, typed.Call) and _is_limit(node):
                node = next(each for each in node.arguments if not each.info.is_constant)
            else:
                return node

    def _named(self, node: Expr) -> str:
        text, value = expression_text(node), shown(self._value(node))
        return text if node.info.is_constant else f"{text} {value}"

    def _step_in(self, *parts: Expr) -> str | None:
        """The first step in these that is no constant."""
        named = [s.name for part in parts for s in typed.symbols_in(part) if s.kind is SymbolKind.STEP]
        return next((name for name in named if not isinstance(self.steps[name].operation, nodes.Const)), None)


_SENTENCES, _REASONS = 5, 3
_WORDS = {
    "<": "under", "<=": "at most", ">": "over", ">=": "at least", "==": "equal to", "!=": "other than", "in": "one of",
    "not in": "none of",
}  # fmt: skip


def _compared(comparisons: Sequence[data.Comparison]) -> list[str]:
    """Comparisons in words, those of one value together, such as `SCORE is 9.2, not under 4 and not under 8`."""
    found: dict[str, dict[str, None]] = {}
    for each in comparisons:
        value, limit = each.right_value, each.right
        text = limit if isinstance(value, list) or limit == value_text(value) else f"{limit}, which is {shown(value)}"
        subject = f"{each.left} is {shown(each.left_value)}"
        found.setdefault(subject, {})[f"{'' if each.holds else 'not '}{_WORDS[each.operator]} {text}"] = None
    return [f"{subject}, {' and '.join(said)}" for subject, said in found.items()]


def behind_limits(step: nodes.Step, steps: Mapping[str, nodes.Step]) -> nodes.Step:
    """Return the step whose value a step has but for limits and rounding: `RAW` for `max(0, min(20, RAW))`."""
    while isinstance(step.operation, nodes.Formula):
        found = step.operation.expression
        while isinstance(found, typed.Present) or (isinstance(found, typed.Call) and _is_limit(found)):
            inside = (found.operand,) if isinstance(found, typed.Present) else found.arguments
            found = next(each for each in inside if not each.info.is_constant)
        if not isinstance(found, typed.Ref) or found.symbol.kind is not SymbolKind.STEP:
            break
        step = steps[found.symbol.name]
    return step


def _sum_text(terms: Sequence[tuple[float, Expr]]) -> str:
    parts: list[str] = []
    for value, node in terms:
        text = expression_text(node)
        named = text if node.info.is_constant else f"{text} {shown(abs(value))}"
        parts.append((" - " if value < 0 else " + " if parts else "") + named)
    return "".join(parts).strip()


def _terms(node: Expr, sign: int = 1) -> Iterator[tuple[int, Expr]]:
    """The terms of a sum, each with its sign."""
    match node:
        case typed.Present(operand):
            yield from _terms(operand, sign)
        case typed.Binary("+" | "-" as operator, left, right):
            yield from _terms(left, sign)
            yield from _terms(right, -sign if operator == "-" else sign)
        case typed.Unary("-", operand):
            yield from _terms(operand, -sign)
        case _:
            yield sign, node


def _factors(node: Expr) -> Iterator[Expr]:
    if isinstance(node, typed.Binary) and node.operator == "*":
        yield from _factors(node.left)
        yield from _factors(node.right)
    else:
        yield node


def _is_limit(call: typed.Call) -> bool:
    function = FUNCTIONS[call.function]
    moving = [each for each in call.arguments if not each.info.is_constant]
    return (function.selects or function.is_rounding) and len(moving) == 1


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_filter(part: Expr) -> TypeGuard[typed.Ref]:
    return isinstance(part, typed.Ref) and part.symbol.kind is SymbolKind.FILTER


def _kind(operation: nodes.Operation) -> data.Kind:
    match operation:
        case nodes.Aggregate(function):
            return cast(data.Kind, function)
        case nodes.Lookup():
            return "lookup"
        case nodes.Case():
            return "case"
        case nodes.Const():
            return "constant"
        case _:
            return "formula"
