"""A property that is proved is broken by no random restaurant, and a bound is exceeded by none."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from exact import exact_values
from formulaseed.documents import load_seed
from formulaseed.ir import nodes
from formulaseed.proofs.proving import prove
from formulaseed.testing import restaurants, seeds
from helpers import IS_DEEP, needs
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

needs("z3", "prove")

_TOLERANCE = Fraction(1, 10**6)


def draw_properties(data: st.DataObject, program: nodes.Program) -> list[str]:
    """Some properties of numeric steps: in another step, or by a filter."""
    numbers = [step.name for step in program.steps if step.ty.is_numeric and not step.ty.nullable]
    filters = [step.name for step in program.steps if isinstance(step.operation, nodes.Filter)]
    uses = program.uses()
    pairs = [(name, cause) for name in numbers for cause in uses[name] if cause in numbers]
    texts = [
        f"{data.draw(st.sampled_from(['increasing', 'decreasing']))} {name} in {cause}" for name, cause in pairs[:3]
    ]
    words = st.sampled_from(["never_lowers", "never_raises"])
    return texts + [f"{data.draw(words)} {name} by {cause}" for name in numbers[-2:] for cause in filters[:1]]


def falls(before: dict[str, Any], after: dict[str, Any], name: str, sign: int) -> bool:
    """Whether a number moves against the sign, by more than rounding."""
    old, new = before.get(name), after.get(name)
    if not isinstance(old, Fraction) or not isinstance(new, Fraction):
        return False
    return (new - old) * sign < -_TOLERANCE * max(1, abs(old))


@pytest.mark.thorough
@settings(max_examples=2_000 if IS_DEEP else 10, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_no_proved_property_is_broken(data: st.DataObject) -> None:
    """Growing the step, or adding a review that the filter counts, moves the number as proved, in exact arithmetic."""
    seed = load_seed(data.draw(seeds(max_steps=6)))
    program = seed.program
    texts = draw_properties(data, program)
    assume(texts)
    proved = [
        claim.text.split() for claim in prove(seed, properties=texts).claims.properties if claim.status == "proved"
    ]
    for _ in range(4):
        place = data.draw(restaurants(seed))
        before, failure = exact_values(program, place.rows, place.context, {})
        for direction, name, word, cause in proved:
            sign = 1 if direction in ("increasing", "never_lowers") else -1
            if failure is not None:
                continue
            if word == "in":
                step = next(step for step in program.steps if step.name == cause)
                value = before[cause]
                grown = value + data.draw(st.integers(1, 20))
                if step.range is not None and grown > step.range.high:
                    continue
                after, failed = exact_values(program, place.rows, place.context, {}, {cause: grown})
            else:
                [more] = (
                    data.draw(st.lists(st.sampled_from(place.rows), min_size=1, max_size=1)) if place.rows else [None]
                )
                if more is None or not counts(seed.program, more, place.context, cause):
                    continue
                rows = [*place.rows, {**more, "review_id": "one more"}]
                after, failed = exact_values(program, rows, place.context, {})
            if failed is None:
                assert not falls(before, after, name, sign), (direction, name, word, cause, place, before, after)


def counts(program: nodes.Program, row: dict[str, Any], context: dict[str, Any], name: str) -> bool:
    """Whether a review meets a filter; a filter that fails, or needs a step, counts as not met."""
    from formulaseed.ir.interpret import prepare_evaluation

    evaluation = prepare_evaluation(program, [row], context)
    for step in program.steps:
        if isinstance(step.operation, nodes.Filter):
            evaluation.filters[step.name] = step.operation.condition
    try:
        return bool(evaluation.evaluate(evaluation.filters[name], evaluation.rows[0]))
    except Exception:  # any failure
        return False
