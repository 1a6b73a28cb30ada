"""Prove or refute properties: a number that never falls as another one grows, or as a review of a kind is added.

The steps are lowered a second time, with another value in place of the step that grows, or of each aggregate. Steps that do not
depend on the change are the same nodes; of the others it is proved one by one that they do not fall, or do not rise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.errors import DataError, EvaluationError
from formulaseed.ir import nodes
from formulaseed.ir.interpret import interpret, prepare_evaluation
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.language.types import Base, Value
from formulaseed.proofs.cells import Cell
from formulaseed.proofs.claims import PropertyClaim
from formulaseed.proofs.encoding import Encoder, Formula
from formulaseed.proofs.goals import Study
from formulaseed.proofs.intervals import Interval
from formulaseed.proofs.lowering import Lowering
from formulaseed.proofs.nodes import Node, to_fraction
from formulaseed.proofs.prover import Goal, at_most
from formulaseed.proofs.search import Candidate, Witness, shrink

_FORMS = '"increasing STEP in STEP", "decreasing STEP in STEP", "never_lowers STEP by FILTER" or "never_raises STEP by FILTER"'
_WORDS = {"increasing": "in", "decreasing": "in", "never_lowers": "by", "never_raises": "by"}
_AMOUNTS = (1, 2, 10)
_MAX_TRIALS = 400
_DRAWS = 25
_TOLERANCE = 1e-9


class Property(NamedTuple):
    """A claim: the number `step` moves in a `direction` as the step `cause` grows, or with a review of the filter `cause`."""

    direction: str
    step: str
    cause: str

    @property
    def text(self) -> str:
        """The property as a command takes it."""
        return f"{self.direction} {self.step} {_WORDS[self.direction]} {self.cause}"

    @property
    def sign(self) -> int:
        """1 if the number must not fall, -1 if it must not rise."""
        return 1 if self.direction in ("increasing", "never_lowers") else -1

    @property
    def adds_review(self) -> bool:
        """True if the change is another review, not a larger step."""
        return _WORDS[self.direction] == "by"


def parse_property(text: str, program: nodes.Program) -> Property:
    """Return the property that a text states. Raises `DataError` if it has another form or names no step that fits."""
    words = text.split()
    if len(words) != 4 or words[0] not in _WORDS or words[2] != _WORDS[words[0]]:
        raise DataError(f"a property is {_FORMS}, not {text!r:.80}")
    steps = {step.name: step for step in program.steps}
    numbers = [name for name, step in steps.items() if step.ty.is_numeric]
    filters = [name for name, step in steps.items() if isinstance(step.operation, nodes.Filter)]
    for name, known, noun in (
        (words[1], numbers, "numeric steps"),
        (words[3], *((filters, "filters") if words[2] == "by" else (numbers, "numeric steps"))),
    ):
        if name not in known:
            raise DataError(f"`{name}` is none of the {noun}; {did_you_mean(name, known, noun=noun)}")
    return Property(words[0], words[1], words[3])


@dataclass
class PropertyProver:
    """A prover of the properties of one seed."""

    study: Study

    def decide(self, claim: Property) -> PropertyClaim:
        """Return whether a property holds: refuted by a restaurant, or proved, or unknown."""
        refuted = self._refute(claim)
        if refuted is not None:
            return refuted
        is_proved = not self.study.is_quick and self._prove(claim)
        return PropertyClaim(claim.text, "proved" if is_proved else "unknown")

    # --- proofs

    def _prove(self, claim: Property) -> bool:
        """Return True if it is proved that the number does not move the wrong way."""
        study = self.study
        changed = _GrownReviews(study) if claim.adds_review else Lowering(study.pool, study.program, study.domain)
        link = self._link_review(claim, changed) if isinstance(changed, _GrownReviews) else None
        remembered = len(study.prover.lemmas)
        try:
            return self._compare_steps(claim, changed, link)
        finally:
            del study.prover.lemmas[remembered:]  # they hold for this change only

    def _compare_steps(self, claim: Property, changed: Lowering, link: Goal | None) -> bool:
        """Lower the steps with the change, and prove for each how it moves. Return True if the claim is proved."""
        study = self.study
        for step in study.program.steps:
            node = changed.lower_step(step)
            if step.name == claim.cause and not claim.adds_review:
                node = self._raise(step, changed)
            if isinstance(step.operation, nodes.Filter):
                continue
            before = study.lowering.steps[step.name]
            if step.name == claim.step:
                return before is node or self._is_ordered(before, node, claim.sign, link)
            if before is node or not node.is_numeric or node.nullable:
                continue
            for sign in (1, -1):
                low, high = (before, node) if sign == 1 else (node, before)
                if step.name == claim.cause or self._is_ordered(before, node, sign, link):
                    study.prover.lemmas.append(((low, high), at_most(low, high)))
                    break
        return False

    def _is_ordered(self, before: Node, after: Node, sign: int, link: Goal | None) -> bool:
        """Return True if it is proved that a number does not fall, or with the `sign` -1 does not rise."""

        def goal(encoder: Encoder) -> Formula:
            """Return the condition that the number moves the wrong way."""
            old, new = encoder.term(before), encoder.term(after)
            moved = new < old if sign == 1 else new > old
            return encoder.all_of([moved, link(encoder)]) if link is not None else moved

        return self.study.prover.is_impossible(goal, [before, after], worlds=("relaxed",))

    def _raise(self, step: nodes.Step, changed: Lowering) -> Node:
        """Use a number of at least the value of a step, and at most its maximum, in place of the step; return its node."""
        study = self.study
        node = study.pool.input(Symbol(SymbolKind.STEP, f"{step.name} raised"), step.ty.base, nullable=False)
        if step.range is not None:
            study.prover.bounds.tighten(node, Interval(to_fraction(step.range.low), to_fraction(step.range.high)))
            high = to_fraction(step.range.high)
            study.prover.lemmas.append(((node,), lambda encoder: encoder.term(node) <= encoder.real(high)))
        changed.steps[step.name] = node
        return node

    def _link_review(self, claim: Property, changed: _GrownReviews) -> Goal:
        """Return the condition that the aggregates after the change are those with one more review of the claim's kind."""
        kind = self.study.count_kind(claim.cause)

        def link(encoder: Encoder) -> Formula:
            """Return the condition: of each component, the review is in one of the cells that the kind allows."""
            parts: list[Formula] = []
            for component in encoder.cells.components or ():
                known = [node for node in component.aggregates if node in changed.grown]
                cells = [
                    cell
                    for cell in component.cells
                    if kind not in cell.residuals or not cell.residuals[kind][0].holds(False)
                ]
                choices = (
                    encoder.all_of(_add_review(encoder, cell, node, changed.grown) for node in known) for cell in cells
                )
                parts.append(encoder.any_of(choices))
            return encoder.all_of(parts)

        return link

    # --- refutations

    def _refute(self, claim: Property) -> PropertyClaim | None:
        """Return a refuted claim with a restaurant that moves the wrong way; None if no sample does."""
        trials = self.study.samples[:_MAX_TRIALS]
        for candidate, outcome in trials:
            if outcome.failure is not None:
                continue
            for change in self._list_changes(claim, candidate):
                if self._moves_wrong(claim, candidate, change):
                    return self._show(claim, candidate, change)
        return None

    def _list_changes(self, claim: Property, candidate: Candidate) -> Iterator[int | Candidate]:
        """Yield amounts by which a step grows, or candidates with one more review of the kind."""
        if not claim.adds_review:
            yield from _AMOUNTS
            return
        for _ in range(_DRAWS):
            grown = replace(candidate, rows=(self.study.sampler.draw_row(), *candidate.rows))
            if self._is_of_kind(claim.cause, grown):
                yield grown
                return

    def _is_of_kind(self, name: str, candidate: Candidate) -> bool:
        """Return True if the first review of a candidate meets a filter; False also if the filter fails for it."""
        rows, context, parameters = self.study.runner.write_inputs(candidate)
        evaluation = prepare_evaluation(self.study.program, rows[:1], context, parameters)
        for step in self.study.program.steps:
            if isinstance(step.operation, nodes.Filter):
                evaluation.filters[step.name] = step.operation.condition
        try:
            return bool(evaluation.evaluate(evaluation.filters[name], evaluation.rows[0]))
        except Exception:  # a filter that needs the value of a step
            return False

    def _moves_wrong(self, claim: Property, candidate: Candidate, change: int | Candidate) -> bool:
        """Return True if the number moves the wrong way, by more than rounding."""
        pair = self._values(claim, candidate, change)
        if pair is None:
            return False
        before, after = pair
        return (after - before) * claim.sign < -_TOLERANCE * max(1, abs(before))

    def _values(self, claim: Property, candidate: Candidate, change: int | Candidate) -> tuple[float, float] | None:
        """Return the number before and after a change; None if a step fails or it is no number."""
        study = self.study
        before = study.runner.run(candidate)
        if before is None or before.failure is not None:
            return None
        after: Mapping[str, Value]
        if isinstance(change, Candidate):
            outcome = study.runner.run(change)
            after = outcome.values if outcome is not None else {}
        else:
            step = next(step for step in study.program.steps if step.name == claim.cause)
            value = before.values[claim.cause]
            if not isinstance(value, int | float) or (step.range is not None and value + change > step.range.high):
                return None
            rows, context, parameters = study.runner.write_inputs(candidate)
            try:
                after = interpret(study.program, rows, context, parameters, fixed={claim.cause: value + change})
            except EvaluationError:
                return None
        old, new = before.values.get(claim.step), after.get(claim.step)
        if not isinstance(old, int | float) or not isinstance(new, int | float):
            return None
        return old, new

    def _show(self, claim: Property, candidate: Candidate, change: int | Candidate) -> PropertyClaim | None:
        """Return the refuted claim with the smallest restaurant that shows it; None if the evaluators do not agree on it."""

        def grow(smaller: Candidate) -> int | Candidate:
            """Return the change of a smaller restaurant."""
            return replace(smaller, rows=(change.rows[0], *smaller.rows)) if isinstance(change, Candidate) else change

        smallest = shrink(self.study.sampler, candidate, lambda c: self._moves_wrong(claim, c, grow(c)))
        pair = self._values(claim, smallest, grow(smallest))
        witness = self.study.runner.confirm(smallest)
        if pair is None or witness is None:
            return None
        added: Witness | None = None
        changed = grow(smallest)
        if isinstance(changed, Candidate):
            added = self.study.runner.confirm(changed)
            if added is None:
                return None
        amount = 0 if isinstance(changed, Candidate) else changed
        return PropertyClaim(claim.text, "refuted", witness, *pair, added, amount)


class _GrownReviews(Lowering):
    """A lowering in which each aggregate is a number of its own: its value with one more review. `grown` maps them."""

    def __init__(self, study: Study) -> None:
        super().__init__(study.pool, study.program, study.domain)
        self.grown: dict[Node, Node] = {}

    def make_aggregate(self, function: str, where: Node, operand: Node | None, base: Base) -> Node:
        """Return the number that stands for an aggregate with one more review."""
        aggregate = super().make_aggregate(function, where, operand, base)
        if aggregate.is_constant:
            return aggregate
        symbol = Symbol(SymbolKind.STEP, f"aggregate {aggregate.number} grown")
        self.grown[aggregate] = self.pool.input(symbol, aggregate.base, nullable=False)
        return self.grown[aggregate]


def _add_review(encoder: Encoder, cell: Cell, aggregate: Node, grown: Mapping[Node, Node]) -> Formula:
    """Return the condition that an aggregate grew by one review of a cell."""
    before, after = encoder.term(aggregate), encoder.term(grown[aggregate])
    where, operand = cell.residuals[aggregate]
    if where.holds(False):
        return after == before
    if aggregate.value == "count":
        grows = after == before + 1
    elif aggregate.value == "count_distinct":
        grows = encoder.all_of([after >= before, after <= before + 1])
    elif operand is None or aggregate.value not in ("sum", "max", "min"):
        return encoder.all_of([])
    else:
        value, limits = encoder.cells.value_of_review(operand)
        if aggregate.value == "sum":
            changed = after == before + value
        else:
            is_beyond = value > before if aggregate.value == "max" else value < before
            is_first = encoder.term(encoder.pool.aggregate("count", aggregate.args[0], None, Base.INTEGER)) == 0
            is_extreme = encoder.any_of([is_beyond, is_first])
            changed = encoder.z3.If(is_extreme, after == value, after == before)
        grows = encoder.all_of([changed, *limits])
    if where.holds(True):
        return grows
    return encoder.z3.If(encoder.term(where), grows, after == before)
