"""Decide the order of the steps, and which aggregates share a pass over the rows.

Steps keep the seed's order, except aggregates that join an earlier pass, and the plain steps that such an aggregate needs.
Steps that may fail never overtake one another, so that a restaurant's error is always that of the first failing step in the
seed's order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from formulaseed.ir import nodes
from formulaseed.language.typed import SymbolKind


@dataclass(slots=True)
class Pass:
    """One loop over the rows and the aggregates that it computes, in the seed's order."""

    aggregates: list[nodes.Step] = field(default_factory=list)


ScheduleItem = Pass | nodes.Step
"""A pass, or a step's place in the order. An aggregate has both: its place comes after its pass."""


def schedule(steps: Sequence[nodes.Step], can_raise: Callable[[nodes.Step], bool]) -> list[ScheduleItem]:
    """Return passes and steps in the order of computation, without filters.

    An aggregate comes after its pass. `can_raise` returns True if the loop body of an aggregate, or another step as a
    whole, may raise.
    """
    return _Scheduler(can_raise, {step.name: step for step in steps}).run(steps)


class _Scheduler:
    """The passes and steps that are placed so far, with the facts that decide the place of the next step."""

    def __init__(self, can_raise: Callable[[nodes.Step], bool], by_name: dict[str, nodes.Step]) -> None:
        """Note which steps may raise, and the steps that each step uses. Nothing is placed before `run`."""
        self.raising = {name for name, step in by_name.items() if can_raise(step)}
        self.uses = {
            name: [s.name for s in step.symbols() if s.kind is SymbolKind.STEP] for name, step in by_name.items()
        }
        self.by_name = by_name
        self.items: list[ScheduleItem] = []

    def run(self, steps: Sequence[nodes.Step]) -> list[ScheduleItem]:
        """Place the steps one after the other, without filters, and return all items: the list `self.items`.

        An aggregate that needs a pass joins an earlier one if possible, else gets its own before it.
        """
        for step in steps:
            if isinstance(step.operation, nodes.Filter):
                continue
            if _needs_pass(step) and not self._join_pass(step):
                self.items.append(Pass([step]))
            self.items.append(step)
        return self.items

    def _join_pass(self, step: nodes.Step) -> bool:
        """Add the aggregate to the first pass that can take it; return False, with nothing changed, if none can.

        The steps that it needs are moved before that pass. An aggregate that may raise joins only a pass after all
        items that may fail.
        """
        places = {item.name: place for place, item in enumerate(self.items) if isinstance(item, nodes.Step)}
        first = self._place_after_failures() if step.name in self.raising else 0
        for index in range(first, len(self.items)):
            item = self.items[index]
            if isinstance(item, Pass):
                needed = self._find_steps_to_move(step, index, places)
                if needed is not None:
                    steps = [self.items[place] for place in sorted(needed)]
                    self.items = [other for place, other in enumerate(self.items) if place not in needed]
                    self.items[index:index] = steps
                    item.aggregates.append(step)
                    return True
        return False

    def _place_after_failures(self) -> int:
        """Return the first place after all items that may fail."""
        places = range(len(self.items) - 1, -1, -1)
        return next((place + 1 for place in places if self._may_fail(self.items[place])), 0)

    def _may_fail(self, item: ScheduleItem) -> bool:
        """Return True if computing the item may raise: a pass in its loop, an aggregate's own place by its total."""
        if isinstance(item, Pass):
            return any(aggregate.name in self.raising for aggregate in item.aggregates)
        if item.aggregate is not None:  # a total is checked here, after its pass
            return item.aggregate.may_overflow
        return item.name in self.raising

    def _find_steps_to_move(self, step: nodes.Step, index: int, places: Mapping[str, int]) -> set[int] | None:
        """Return the places of the steps that `step` needs before the pass at `index`; None if one cannot move.

        A step cannot move if it may raise, or needs a pass itself. The set is empty if all of them are before the pass
        already.
        """
        needed: set[int] = set()
        stack = list(self.uses[step.name])
        while stack:
            name = stack.pop()
            if places[name] < index:
                continue
            other = self.by_name[name]
            if _needs_pass(other) or name in self.raising:
                return None
            if places[name] not in needed:
                needed.add(places[name])
                stack.extend(self.uses[name])
        return needed


def _needs_pass(step: nodes.Step) -> bool:
    """Return True for an aggregate that must loop over the rows; a count of all reviews need not."""
    return step.aggregate is not None and step.aggregate.needs_pass
