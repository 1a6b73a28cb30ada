"""Restaurants with many reviews: equal ones are evaluated once, with the results of single evaluations; few are described."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from explaining import G1A, LINES, choose, count, make_seed
from formulaseed import explain, load_evaluator, load_seed
from formulaseed.errors import EvaluationError
from formulaseed.explanation.model import MAX_REVIEWS_PER_STEP
from formulaseed.explanation.sharing import prepare_sharing_evaluation
from formulaseed.ir.hoisting import hoist_aggregates
from formulaseed.ir.interpret import Evaluation, Observer, prepare_evaluation
from formulaseed.testing import restaurants, seeds
from helpers import TASKS
from hypothesis import given
from hypothesis import strategies as st

SEEDS = [G1A, TASKS / "wait_times" / "seed.json"]


def repeat_rows(rows: list[dict[str, Any]], times: int) -> list[dict[str, Any]]:
    """Return the rows several times, each with an id of its own."""
    return [{**row, "review_id": f"r{turn}-{place}"} for turn in range(times) for place, row in enumerate(rows)]


def count_evaluations(rows: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how many expressions of rows the interpreter evaluates for an explanation."""
    evaluated = 0
    evaluate = Evaluation._evaluate

    def count_one(self: Evaluation, expression: Any, row: dict[Any, Any]) -> Any:
        nonlocal evaluated
        evaluated += bool(row)
        return evaluate(self, expression, row)

    with monkeypatch.context() as patch:
        patch.setattr(Evaluation, "_evaluate", count_one)
        explain(G1A, rows, LINES["lotus-garden"]["context"], "b")
    return evaluated


def test_more_reviews_with_the_same_values_take_no_more_evaluations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their number depends on the different values of reviews alone; another value takes more of them."""
    rows = LINES["lotus-garden"]["rows"][:5]
    few, many = (count_evaluations(repeat_rows(rows, times), monkeypatch) for times in (1, 10))
    assert few == many > 0
    other = {**copy.deepcopy(rows[0]), "review_id": "other"}
    other["meta"] = {"stars": 1, "useful": 77, "year": 1999}
    other["extraction"] |= {"incident_severity": "severe", "account_type": "firsthand"}
    assert count_evaluations([*rows, other], monkeypatch) > few


def record(evaluation: Evaluation, program: Any) -> tuple[Any, ...]:
    """Evaluate all steps, up to the first that fails; return all that the evaluation and its observer know then."""
    observer = evaluation.observer = Observer()
    failure = None
    try:
        for step in program.steps:
            evaluation.evaluate_step(step)
    except EvaluationError as error:
        failure = str(error)
    return failure, evaluation.results, evaluation.aggregates, observer.counts, observer.unmet, observer.terms


@pytest.mark.thorough
@given(st.data())
def test_shared_results_are_those_of_single_evaluations(data: st.DataObject) -> None:
    """Values, failures and the record of which review meets what are equal, for random seeds and the same reviews repeated."""
    seed = load_seed(data.draw(st.one_of(st.sampled_from(SEEDS), seeds())))
    rows, context = data.draw(restaurants(seed))[:2]
    rows = repeat_rows(rows, data.draw(st.integers(1, 3)))
    parsed = load_evaluator(seed).parse_rows(rows)
    program = hoist_aggregates(seed.program)
    sharing = prepare_sharing_evaluation(seed.program, rows, parsed, context, None)
    assert len({id(row) for row in sharing.rows}) == len(set(parsed))
    assert record(sharing, program) == record(prepare_evaluation(seed.program, rows, context), program)


def test_a_step_describes_a_limited_number_of_reviews() -> None:
    """How many more there are is data, and the text adds them to those that it leaves out itself."""
    rows = [{"review_id": f"r{place}", "meta": {"stars": 1}} for place in range(MAX_REVIEWS_PER_STEP + 7)]
    seed = make_seed([count("N", {"meta.stars": {"<": 3}}), choose("V", {"N > 0": "some"}, "none")], "V")
    explanation = explain(seed, rows, {}, "b")
    [evidence] = explanation.evidence
    assert (evidence.number, len(evidence.reviews), evidence.unlisted) == (len(rows), MAX_REVIEWS_PER_STEP, 7)
    assert f"and {len(rows) - 5} more" in explanation.steps_text
    few = explain(seed, rows[:MAX_REVIEWS_PER_STEP], {}, "b").evidence[0]
    assert (len(few.reviews), few.unlisted) == (MAX_REVIEWS_PER_STEP, 0)
