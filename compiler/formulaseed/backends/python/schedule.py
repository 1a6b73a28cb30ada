"""In which order the steps are computed, and which aggregates share a pass over the rows.

Steps keep the seed's order but for aggregates that join an earlier pass and the plain steps that such an
aggregate needs. Steps that may fail never overtake one another, so that the error a restaurant gets is always
that of the first failing step in the seed's order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from formulaseed.ir import nodes
from formulaseed.ir.nodes import SymbolKind


@dataclass(slots=True)
class Pass:
    """One loop over the rows and the aggregates that it computes, in the seed's order."""

    aggregates: list[nodes.Step] = field(default_factory=list)


Item = Pass | nodes.Step
"""A pass, or a step's place in the order; an aggregate has both, its place comes after its pass."""


def schedule(steps: Sequence[nodes.Step], raises: Callable[[nodes.Step], bool]) -> list[Item]:
    """Passes and steps in the order of computation. Filters are left out.

    `raises` tells of an aggregate whether its loop body may raise, of another step whether it may at all.
    """
    return _Scheduler(raises, {step.name: step for step in steps}).run(steps)


class _Scheduler:
    def __init__(self, raises: Callable[[nodes.Step], bool], by_name: dict[str, nodes.Step]) -> None:
        self.raises = raises
        self.by_name = by_name
        self.items: list[Item] = []

    def run(self, steps: Sequence[nodes.Step]) -> list[Item]:
        for step in steps:
            if isinstance(step.operation, nodes.Filter):
                continue
            if step.is_aggregate and not self._join(step):
                self.items.append(Pass([step]))
            self.items.append(step)
        return self.items

    def _join(self, step: nodes.Step) -> bool:
        """Let the aggregate join the first pass that can take it."""
        for index, item in enumerate(self.items):
            if isinstance(item, Pass) and self._may_join(step, index, item):
                needed = self._missing(step, index)
                if needed is not None:
                    moved = [self.items[i] for i in needed]
                    self.items = [other for i, other in enumerate(self.items) if i not in needed]
                    self.items[index:index] = moved
                    item.aggregates.append(step)
                    return True
        return False

    def _may_join(self, step: nodes.Step, index: int, target: Pass) -> bool:
        if not self.raises(step):
            return True
        overtaken = [aggregate for aggregate in target.aggregates if self.raises(aggregate)]
        return not overtaken and not any(self._may_fail(item) for item in self.items[index + 1 :])

    def _may_fail(self, item: Item) -> bool:
        if isinstance(item, Pass):
            return any(self.raises(aggregate) for aggregate in item.aggregates)
        if isinstance(item.operation, nodes.Sum):  # its total is looked at here, after its pass
            return item.operation.may_overflow
        return not item.is_aggregate and self.raises(item)

    def _missing(self, step: nodes.Step, index: int) -> set[int] | None:
        """Places of the steps to move before the pass at `index`; None where one of them cannot move."""
        available = {item.name for item in self.items[:index] if isinstance(item, nodes.Step)}
        places = {item.name: i for i, item in enumerate(self.items) if isinstance(item, nodes.Step)}
        needed: set[int] = set()
        stack = list(self._uses(step))
        while stack:
            name = stack.pop()
            if name in available:
                continue
            other = self.by_name[name]
            if other.is_aggregate or self.raises(other):
                return None
            if places[name] not in needed:
                needed.add(places[name])
                stack.extend(self._uses(other))
        return needed

    def _uses(self, step: nodes.Step) -> list[str]:
        return [symbol.name for symbol in step.symbols() if symbol.kind is SymbolKind.STEP]
