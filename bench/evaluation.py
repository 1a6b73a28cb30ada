"""The generated module of G1a-v2 against what people do today, at 5, 30 and 200 relevant reviews."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from baselines import (
    Baseline,
    cached_eval,
    eval_strings,
    one_pass_a_count,
    pydantic_dicts,
    pydantic_models,
    simpleeval_parsed,
)
from data import CONTEXT, JsonRow, dated, rows_of
from formulaseed import load_evaluator
from formulaseed.runtime.evaluator import Evaluator
from hand_written import hand_merged, hand_written
from measure import Call, shortest
from tables import Line, table

SEED = Path(__file__).resolve().parents[1] / "tasks" / "g1a_v2" / "seed.json"
SIZES = (5, 30, 200)

HAND = "hand-written loop over dictionaries, conditions merged with care"
MODELS = "pydantic models, hand-written loop"
SIMPLEEVAL = "simpleeval, parsed before"
EVALUATE = "generated: evaluate"
TRACE = "generated: trace, all 33 values"
CHECKED = "generated: parse_row, parse_context, evaluate"
DATED = "generated: the same, a date besides the year"
EVALUATOR = "generated: Evaluator.evaluate, outputs by name"

BASELINES: dict[str, Baseline] = {
    HAND: hand_merged,
    "hand-written, one condition for each count": hand_written,
    "one sum(1 for …) a count": one_pass_a_count,
    "eval of code compiled before": cached_eval,
    "eval of strings": eval_strings,
}
CHECKING: dict[str, Baseline] = {
    MODELS: pydantic_models,
    "pydantic typed dictionaries, hand-written loop": pydantic_dicts,
}

AIMS = {EVALUATE: "0.75 anywhere", CHECKED: "1.8, 2.8, 3.6, below pydantic"}


def report() -> str:
    """Compare the generated module with what people do today, and return the tables."""
    evaluator = load_evaluator(SEED)
    simple = simpleeval_parsed()
    baselines = {**BASELINES, **({SIMPLEEVAL: simple} if simple else {})}
    _assert_agreement(evaluator, {**baselines, **CHECKING})
    seconds = _seconds(evaluator, {**baselines, **CHECKING})
    ratios = {name: {size: seconds[name][size] / seconds[HAND][size] for size in SIZES} for name in seconds}
    plain = [_line(name, ratios, AIMS.get(name, "")) for name in (EVALUATE, TRACE, *baselines)]
    if simple is None:
        plain.append(Line(SIMPLEEVAL, ("-", "-", "-"), "not installed"))
    checked = [_line(name, ratios, AIMS.get(name, "")) for name in (CHECKED, DATED, EVALUATOR, *CHECKING)]
    columns = [f"{size} rows" for size in SIZES]
    hand = ", ".join(f"{seconds[HAND][size] * 1e6:.1f} µs at {size}" for size in SIZES)
    return "\n".join(
        [
            table("Evaluating G1a-v2, rows already read", columns, plain, [f"1.00 is {hand} rows"]),
            table("The same with rows checked first, from JSON values", columns, checked),
        ]
    )


def _line(name: str, ratios: Mapping[str, Mapping[int, float]], aim: str) -> Line:
    return Line(name, tuple(f"{ratios[name][size]:.2f}" for size in SIZES), aim)


def _seconds(evaluator: Evaluator, baselines: Mapping[str, Baseline]) -> dict[str, dict[int, float]]:
    """CPU seconds of every contender at every size; all take turns with all."""
    calls: dict[tuple[str, int], Call] = {}
    for size in SIZES:
        rows = rows_of(size)
        contenders: dict[str, Call] = {name: partial(function, rows, CONTEXT) for name, function in baselines.items()}
        for name, call in {**contenders, **_generated(evaluator, rows)}.items():
            calls[name, size] = call
    best = shortest(calls, rounds=120, sample=0.001)
    return {name: {size: best[name, size] for size in SIZES} for name, _ in calls}


def _generated(evaluator: Evaluator, rows: list[JsonRow]) -> dict[str, Call]:
    module = evaluator.module
    evaluate, trace, parse_row, parse_context = module.evaluate, module.trace, module.parse_row, module.parse_context
    read, context, with_dates = [parse_row(row) for row in rows], parse_context(CONTEXT), dated(rows)
    return {
        EVALUATE: partial(evaluate, read, context),
        TRACE: partial(trace, read, context),
        CHECKED: lambda: evaluate([parse_row(row) for row in rows], parse_context(CONTEXT)),
        DATED: lambda: evaluate([parse_row(row) for row in with_dates], parse_context(CONTEXT)),
        EVALUATOR: partial(evaluator.evaluate, rows, CONTEXT),
    }


def _assert_agreement(evaluator: Evaluator, baselines: Mapping[str, Baseline]) -> None:
    """Every contender gives every value of the generated module, to the last bit."""
    for size in (0, 1, 2, *SIZES):
        for seed in range(20):
            rows: list[Any] = rows_of(size, seed)
            for context in (CONTEXT, {**CONTEXT, "categories": "Bakeries"}):
                expected = evaluator.trace(rows, context)
                outputs = {name: expected[name] for name in evaluator.output}
                assert evaluator.evaluate(rows, context) == outputs, f"evaluate disagrees with trace at {size} rows"
                for name, function in baselines.items():
                    assert function(rows, context) == expected, f"{name} disagrees at {size} rows, seed {seed}"
