"""Decide the order of the steps, and which aggregates share a pass over the rows.

Steps keep the seed's order but for aggregates that join an earlier pass and the plain steps that such an
aggregate needs. Steps that may fail never overtake one another, so that the error a restaurant gets is always
that of the first failing step in the seed's order.
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


Item = Pass | nodes.Step
"""A pass, or a step's place in the order; an aggregate has both, its place comes after its pass."""


def schedule(steps: Sequence[nodes.Step], raises: Callable[[nodes.Step], bool]) -> list[Item]:
    """Return passes and steps in the order of computation, without filters.

    `raises` returns True if the loop body of an aggregate, or another step as a whole, may raise.
    """
    return _Scheduler(raises, {step.name: step for step in steps}).run(steps)


class _Scheduler:
    def __init__(self, raises: Callable[[nodes.Step], bool], by_name: dict[str, nodes.Step]) -> None:
        self.raising = {name for name, step in by_name.items() if raises(step)}
        self.uses = {
            name: [s.name for s in step.symbols() if s.kind is SymbolKind.STEP] for name, step in by_name.items()
        }
        self.by_name = by_name
        self.items: list[Item] = []

    def run(self, steps: Sequence[nodes.Step]) -> list[Item]:
        for step in steps:
            if isinstance(step.operation, nodes.Filter):
                continue
            if _needs_pass(step) and not self._join(step):
                self.items.append(Pass([step]))
            self.items.append(step)
        return self.items

    def _join(self, step: nodes.Step) -> bool:
        """Add the aggregate to the first pass that can take it; return False if none can."""
        places = {item.name: place for place, item in enumerate(self.items) if isinstance(item, nodes.Step)}
        first = self._place_after_failures() if step.name in self.raising else 0
        for index in range(first, len(self.items)):
            item = self.items[index]
            if isinstance(item, Pass):
                needed = self._missing(step, index, places)
                if needed is not None:
                    moved = [self.items[i] for i in sorted(needed)]
                    self.items = [other for i, other in enumerate(self.items) if i not in needed]
                    self.items[index:index] = moved
                    item.aggregates.append(step)
                    return True
        return False

    def _place_after_failures(self) -> int:
        """Return the first place after everything that may fail."""
        places = range(len(self.items) - 1, -1, -1)
        return next((place + 1 for place in places if self._may_fail(self.items[place])), 0)

    def _may_fail(self, item: Item) -> bool:
        if isinstance(item, Pass):
            return any(aggregate.name in self.raising for aggregate in item.aggregates)
        if item.aggregate is not None:  # a total is checked here, after its pass
            return item.aggregate.may_overflow
        return item.name in self.raising

    def _missing(self, step: nodes.Step, index: int, places: Mapping[str, int]) -> set[int] | None:
        """Return the places of the steps to move before the pass at `index`; None if one of them cannot move."""
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
    return step.aggregate is not None and step.aggregate.needs_pass
