"""Prove or refute properties: a number that never falls as another one grows, or as a review of a kind is added.

The steps are lowered a second time, with another value in place of the step that grows, or of each aggregate. Steps that do not
depend on the change are the same nodes; of the others it is proved one by one that they do not fall, or do not rise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.errors import DataError, EvaluationError
from formulaseed.ir import nodes
from formulaseed.ir.interpret import interpret
from formulaseed.ir.reviews import meets_condition
from formulaseed.language.printer import expression_text
from formulaseed.language.typed import Expr, Literal, Symbol, SymbolKind
from formulaseed.language.types import Value
from formulaseed.proofs.cell_formulas import Formula
from formulaseed.proofs.claims import Property as PropertyClaim
from formulaseed.proofs.encoding import Encoder
from formulaseed.proofs.goals import SeedStudy
from formulaseed.proofs.lowering import Lowering
from formulaseed.proofs.nodes import Node, to_interval, walk
from formulaseed.proofs.prover import Goal, assume_nothing
from formulaseed.proofs.runner import Candidate

_FORMS = '"increasing STEP in STEP", "decreasing STEP in STEP", "never_lowers STEP by FILTER" or "never_raises STEP by FILTER"'
_DIRECTIONS = {"increasing": ("in", 1), "decreasing": ("in", -1), "never_lowers": ("by", 1), "never_raises": ("by", -1)}
"""The word before the cause, and the sign of the change, by the first word of a property."""
_AMOUNTS = (1, 2, 10)
_FIRST_TRIALS = 40
_MAX_TRIALS = 400
_DRAWS = 25
_TOLERANCE = 1e-9


class Property(NamedTuple):
    """A claim: the number `step` must not fall, or for the `sign` -1 not rise, if `cause` grows or a review is added.

    `text` is the claim as a command takes it. `kind` is the condition that the added review meets; None if `cause` is a step.
    """

    text: str
    sign: int
    step: str
    cause: str
    kind: Expr | None = None


def read_property(claim: nodes.Property) -> Property:
    """Return a property that a seed declares."""
    cause = claim.variable
    if claim.review is not None:
        is_any = isinstance(claim.review, Literal)
        cause = "any review" if is_any else f"a review where {expression_text(claim.review)}"
    word, sign = _DIRECTIONS[claim.direction]
    return Property(f"{claim.direction} {claim.step} {word} {cause}", sign, claim.step, cause, claim.review)


def parse_property(text: str, program: nodes.Program) -> Property:
    """Return the property that a text states. Raises `DataError` if it has another form or names no step that fits."""
    words = text.split()
    if len(words) != 4 or words[2] != _DIRECTIONS.get(words[0], ("", 0))[0]:
        raise DataError(f"a property is {_FORMS}, not {text!r:.80}")
    direction, step, word, cause = words
    numbers = [known.name for known in program.steps if known.ty.is_numeric]
    kinds = program.filters()
    _check_name(step, numbers, "numeric steps")
    _check_name(cause, *((numbers, "numeric steps") if word == "in" else ([*kinds], "filters")))
    kind = kinds[cause] if word == "by" else None
    return Property(" ".join(words), _DIRECTIONS[direction][1], step, cause, kind)


def _check_name(name: str, known: list[str], noun: str) -> None:
    """Raise `DataError` unless a name is one of the known ones."""
    if name not in known:
        raise DataError(f"`{name}` is none of the {noun}; {did_you_mean(name, known, noun=noun)}")


class PropertyStudy(SeedStudy):
    """One seed under study, and its properties."""

    def decide(self, claim: Property) -> PropertyClaim:
        """Return whether a property holds: refuted by a restaurant, or proved, or unknown."""
        candidates = self.trials.candidates
        refuted = self._refute(claim, candidates[:_FIRST_TRIALS])
        if refuted is None and not self.prover.is_quick and self._prove(claim):
            return PropertyClaim(claim.text, "proved")
        refuted = refuted or self._refute(claim, candidates[_FIRST_TRIALS:_MAX_TRIALS])
        return refuted or PropertyClaim(claim.text, "unknown")

    # --- proofs

    def _prove(self, claim: Property) -> bool:
        """Return True if it is proved that the number does not move the wrong way."""
        grown: dict[Node, Node] = {}

        def grow(node: Node) -> Node:
            """Return a node with numbers in place of aggregates: those with one more review, which are noted in `grown`."""
            for part in walk(node):
                if part.op == "aggregate":
                    symbol = Symbol(SymbolKind.STEP, f"aggregate {part.number} grown")
                    grown[part] = self.pool.input(symbol, part.base, nullable=False)
            return self.pool.substitute(node, grown, {}, ())

        remembered = len(self.prover.lemmas)
        try:
            if claim.kind is None:
                return self._compare_steps(claim, Lowering(self.pool, self.program, self.domain))
            changed = Lowering(self.pool, self.program, self.domain, grow)
            return self._compare_steps(claim, changed, self._link_review(claim.kind, grown))
        finally:
            del self.prover.lemmas[remembered:]  # they hold for this change only

    def _compare_steps(self, claim: Property, changed: Lowering, assume: Goal = assume_nothing) -> bool:
        """Lower the steps with the change, and prove for each how it moves. Return True if the claim is proved."""
        for step in self.program.steps:
            node = changed.lower_step(step)
            if isinstance(step.operation, nodes.Filter):
                continue
            before = self.lowering.steps[step.name]
            if step.name == claim.cause and claim.kind is None:
                node = changed.steps[step.name] = self._raise(step, before)
            if step.name == claim.step:
                low, high = (before, node) if claim.sign == 1 else (node, before)
                return before is node or self.prover.prove_order(low, high, assume)
            if before is not node and node.base.is_numeric and not node.nullable:
                for low, high in ((before, node), (node, before)):
                    if self.prover.prove_order(low, high, assume):
                        break  # it is a lemma for later steps
        return False

    def _raise(self, step: nodes.Step, before: Node) -> Node:
        """Return a number of at least the value of a step, and at most its maximum; note lemmas about the number."""
        node = self.pool.input(Symbol(SymbolKind.STEP, f"{step.name} raised"), step.ty.base, nullable=False)
        interval = to_interval(step.range)
        self.pool.bounds.tighten(node, interval)
        self.prover.lemmas.append(((node,), self.pool.limit(node, interval, self.pool.number(1))))
        self.prover.lemmas.append(((before, node), self.pool.order(before, node, is_strict=False)))
        return node

    def _link_review(self, kind: Expr, grown: Mapping[Node, Node]) -> Goal:
        """Return the condition that the aggregates after the change are those with one more review of a kind."""
        count = self.count_kind(kind)

        def link(encoder: Encoder) -> Formula:
            """Return the condition: of each component, the review is in one of the cells that the kind allows."""
            parts: list[Formula] = []
            for component in encoder.components or ():
                known = [node for node in component.aggregates if node in grown]
                cells = component.cells
                if count in component.aggregates:
                    cells = tuple(cell for cell, _ in component.list_parts(count))
                choices = [
                    encoder.all_of(encoder.add_review(cell, a, encoder.term(a), encoder.term(grown[a])) for a in known)
                    for cell in cells
                ]
                parts.append(encoder.any_of(choices))
            return encoder.all_of(parts)

        return link

    # --- refutations

    def _refute(self, claim: Property, candidates: Sequence[Candidate]) -> PropertyClaim | None:
        """Return a refuted claim with a restaurant that moves the wrong way; None if no candidate does."""
        for candidate, amount in self._list_trials(claim, candidates):

            def is_wrong(smaller: Candidate, amount: int = amount) -> bool:
                """Return True if the number moves the wrong way, by more than rounding."""
                pair = self._move(claim, smaller, amount)
                return pair is not None and (pair[1] - pair[0]) * claim.sign < -_TOLERANCE * max(1, abs(pair[0]))

            smallest = self.trials.shrink(candidate, is_wrong)
            pair = self._move(claim, smallest, amount) if smallest is not None else None
            if smallest is None or pair is None:
                continue
            grown = self.trials.confirm(smallest, f"{claim.text}, one more review")
            before = smallest if claim.kind is None else smallest._replace(rows=smallest.rows[1:])
            witnesses = self.trials.confirm(before, claim.text)
            if not (witnesses and grown):
                return None
            added = grown[0] if claim.kind is not None else None
            return PropertyClaim(claim.text, "refuted", witnesses[0], *pair, amount or None, added)
        return None

    def _list_trials(self, claim: Property, candidates: Sequence[Candidate]) -> Iterator[tuple[Candidate, int]]:
        """Yield restaurants with an amount by which a step grows, or with 0 and one more review of the kind, the first one."""
        for candidate in candidates:
            if claim.kind is None:
                yield from ((candidate, amount) for amount in _AMOUNTS)
                continue
            grown = (candidate._replace(rows=(self.trials.draw_row(), *candidate.rows)) for _ in range(_DRAWS))
            first = next((more for more in grown if self._is_of_kind(claim.kind, more)), None)
            if first is not None:
                yield first, 0

    def _is_of_kind(self, kind: Expr, candidate: Candidate) -> bool:
        """Return True if the first review of a candidate meets a condition."""
        [runner] = self.trials.runners
        [row], context, parameters = runner.write_inputs(candidate._replace(rows=candidate.rows[:1]))
        return meets_condition(self.program, row, context, parameters, kind)

    def _move(self, claim: Property, candidate: Candidate, amount: int) -> tuple[float, float] | None:
        """Return the number before and after a change; None if a step fails, it is no number, or the change is not allowed."""
        before = candidate
        new: Value = None
        if claim.kind is None:
            new = self._grow_step(claim, candidate, amount)
        elif candidate.rows and self._is_of_kind(claim.kind, candidate):
            before = candidate._replace(rows=candidate.rows[1:])
            new = self.read_value(candidate, claim.step)
        old = self.read_value(before, claim.step)
        return (old, new) if isinstance(old, int | float) and isinstance(new, int | float) else None

    def _grow_step(self, claim: Property, candidate: Candidate, amount: int) -> Value:
        """Return the number if its cause is larger by an amount; None if a step fails, or the cause would be too large."""
        step = next(step for step in self.program.steps if step.name == claim.cause)
        value = self.read_value(candidate, step.name)
        if not isinstance(value, int | float) or (step.range is not None and value + amount > step.range.high):
            return None
        [runner] = self.trials.runners
        try:
            values = interpret(self.program, *runner.write_inputs(candidate), fixed={step.name: value + amount})
        except EvaluationError:
            return None
        return values[claim.step]
