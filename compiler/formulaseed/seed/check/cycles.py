"""Which steps use one another in a circle: the strongly connected parts of what uses what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


def circles(uses: Mapping[str, frozenset[str]]) -> dict[str, int]:
    """A number for each name; two names have the same one if each uses the other, directly or through others.

    Tarjan's algorithm, in time proportional to the uses, without recursion.
    """
    found: dict[str, int] = {}
    reached: dict[str, int] = {}
    """The order in which the names were come to, lowered to that of the earliest one that they lead back to."""
    open_names: list[str] = []
    for root in uses:
        work: list[tuple[str, int, Iterator[str]]] = (
            [] if root in reached else [_entered(root, uses, reached, open_names)]
        )
        while work:
            name, place, rest = work[-1]
            inner = next(rest, None)
            if inner is None:
                work.pop()
                if reached[name] == place:
                    while name not in found:
                        found[open_names.pop()] = place
                if work and name not in found:
                    outer = work[-1][0]
                    reached[outer] = min(reached[outer], reached[name])
            elif inner in uses and inner not in reached:
                work.append(_entered(inner, uses, reached, open_names))
            elif inner in uses and inner not in found:
                reached[name] = min(reached[name], reached[inner])
    return found


def _entered(
    name: str, uses: Mapping[str, frozenset[str]], reached: dict[str, int], open_names: list[str]
) -> tuple[str, int, Iterator[str]]:
    place = reached[name] = len(reached)
    open_names.append(name)
    return name, place, iter(uses[name])


def circle(first: str, second: str, uses: Mapping[str, frozenset[str]]) -> list[str]:
    """The shortest circle that begins with the use of `second` in `first`: the names in order, each using the next.

    The two are in the same circle.
    """
    came_from = {second: first}
    layer = [second]
    while first not in came_from:
        reached = [(inner, outer) for outer in layer for inner in sorted(uses.get(outer, ()))]
        layer = []
        for inner, outer in reached:
            if inner not in came_from:
                came_from[inner] = outer
                layer.append(inner)
    found = [came_from[first]]
    while found[-1] != first:
        found.append(came_from[found[-1]])
    return found[::-1]
