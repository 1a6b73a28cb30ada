"""The steps of a seed in dependency order, each behind those that it uses; otherwise the author's order."""

from __future__ import annotations

from formulaseed.diagnostics.model import Problems
from formulaseed.seed import surface
from formulaseed.seed.mentions import mentioned_names
from formulaseed.source.json_reader import Plain


def dependency_order(program: surface.Program) -> tuple[list[int], surface.Step | None]:
    """The places of the steps in the order in which they can be computed; or how far that goes, and who is stuck."""
    steps = program.written_steps()
    places = {step.name.text: index for index, step in enumerate(steps)}
    parts = {step.name.text: step for step in program.steps if step.part_of}
    uses = [{places[name] for name in _mentioned(step, parts) if name in places} for step in steps]
    order: list[int] = []
    done: set[int] = set()
    while len(order) < len(uses):
        ready = next((i for i in range(len(uses)) if i not in done and uses[i] <= done), None)
        if ready is None:
            return order, steps[next(i for i in range(len(uses)) if i not in done)]
        order.append(ready)
        done.add(ready)
    return order, None


def sorted_steps(seed: Plain, program: surface.Program, problems: Problems) -> Plain:
    """The seed with its steps sorted; unchanged where steps use one another in a circle, which is told."""
    assert isinstance(seed, dict)
    compute = seed[program.steps_key]
    assert isinstance(compute, list)
    order, stuck = dependency_order(program)
    if stuck is not None:
        message = f"`{stuck.name.text}` and the steps that it uses depend on one another"
        problems.add("FS202", stuck.name.span, message, "break the circle: compute one of them without the others")
        return seed
    return {**seed, program.steps_key: [compute[index] for index in order]}


def _mentioned(step: surface.Step, parts: dict[str, surface.Step]) -> set[str]:
    """The names that a step mentions, also in its parts."""
    found: set[str] = set()
    stack = [step]
    while stack:
        for name in mentioned_names(stack.pop()):
            if name not in found:
                found.add(name)
                stack += [parts[name]] if name in parts else []
    return found
