"""The steps of a seed in dependency order, each behind those that it uses; otherwise the author's order."""

from __future__ import annotations

from formulaseed.diagnostics.model import Problems
from formulaseed.source.json_reader import Plain
from formulaseed.syntax import surface
from formulaseed.syntax.mentions import mentioned_names


def sorted_steps(seed: Plain, program: surface.Program, problems: Problems) -> Plain:
    """The seed with its `compute` sorted; unchanged where steps use one another in a circle, which is told."""
    assert isinstance(seed, dict)
    compute = seed["compute"]
    assert isinstance(compute, list)
    places = {step.name.text: index for index, step in enumerate(program.steps)}
    uses = [sorted({places[name] for name in mentioned_names(step) if name in places}) for step in program.steps]
    order: list[int] = []
    done: set[int] = set()
    while len(order) < len(uses):
        ready = next((i for i in range(len(uses)) if i not in done and all(u in done for u in uses[i])), None)
        if ready is None:
            first = next(i for i in range(len(uses)) if i not in done)
            step = program.steps[first]
            message = f"`{step.name.text}` and the steps that it uses depend on one another"
            problems.add("FS202", step.name.span, message, "break the circle: compute one of them without the others")
            return seed
        order.append(ready)
        done.add(ready)
    return {**seed, "compute": [compute[index] for index in order]}
