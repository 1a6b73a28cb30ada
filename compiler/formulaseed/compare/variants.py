"""Evaluates restaurants with variants of a seed, and counts what differs from the original one.

In: a seed, and lines of rows, which are read once. Out: a `Variant` for each module or value of a parameter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from formulaseed.compare.expected import Expectation, Outputs, read_expectations, require_lines
from formulaseed.compare.pairing import Verdicts, compute_change, format_verdict, is_same, rank_numeric_outputs
from formulaseed.data.duplicates import Duplicates
from formulaseed.data.jsonl import InputLine
from formulaseed.data.results import Failures
from formulaseed.documents import FormulaSeed
from formulaseed.explanation.verdict import choose_verdict
from formulaseed.language.types import Value
from formulaseed.runtime.evaluator import GeneratedModule
from formulaseed.runtime.loading import compile_evaluator
from formulaseed.runtime.running import usable_rows


@dataclass(frozen=True, slots=True)
class Variant:
    """The effect of one number's other `value` on the restaurants.

    `flips` counts the restaurants with another result by their verdicts before and after; None is the verdict of one that
    fails. `changes` maps each numeric output that moves to its largest change and the `business_id` of that restaurant.
    `broken` has the restaurants that have an expected output with the original number only.
    """

    value: int | float
    flips: Mapping[Verdicts, int]
    changes: Mapping[str, tuple[float, str]]
    broken: tuple[str, ...]

    @property
    def flip_count(self) -> int:
        """The number of restaurants that have another verdict."""
        return sum(count for pair, count in self.flips.items() if None not in pair)

    @property
    def failure_count(self) -> int:
        """The number of restaurants that fail with this value but not with the original one, or the other way round."""
        return sum(count for pair, count in self.flips.items() if None in pair)

    def to_json(self) -> dict[str, Any]:
        """Return the variant as a JSON object of `--format json`, as docs/analysis.md describes it."""
        return {
            "value": self.value,
            "flipped": self.flip_count,
            "failing": self.failure_count,
            "flips": [{"old": old, "new": new, "restaurants": count} for (old, new), count in self.flips.items()],
            "changes": {name: {"change": change, "business_id": who} for name, (change, who) in self.changes.items()},
            "breaks": list(self.broken),
        }


@dataclass(frozen=True, slots=True)
class _BaselineRestaurant:
    """A restaurant with rows and context as a module's `evaluate` takes them, and its outputs with the original seed."""

    business_id: str
    rows: Any
    context: Any
    outputs: Outputs
    expectation: Expectation | None


class Baseline:
    """The restaurants, read once, with their outputs from the original seed; variants are compared with these.

    The modules of all variants take the same rows: the fields that a seed uses do not depend on its numbers. The constructor
    adds the restaurants and lines that cannot be read to `failures`. It raises `DataError` for a wrong parameter or output, an
    invalid line of `expected`, which is None to expect nothing, and an expected restaurant without rows.
    """

    def __init__(
        self,
        seed: FormulaSeed,
        lines: Iterable[InputLine],
        output: str | None,
        parameters: dict[str, Value],
        failures: Failures,
        duplicates: Duplicates,
        expected: Iterable[InputLine] | None,
    ) -> None:
        self.expectations = {} if expected is None else read_expectations(expected, [seed.program])
        verdict = choose_verdict(seed.program, output)
        self.evaluator = compile_evaluator(seed)
        self.parameters = parameters
        self.arguments = (self.evaluator.parse_parameters(parameters),) if parameters else ()
        self.verdict = verdict.name if verdict is not None else None
        self.numeric_outputs = rank_numeric_outputs(seed.program, seed.program.output, verdict, output)
        module = self.evaluator.module
        self.restaurants: list[_BaselineRestaurant] = []
        lines = require_lines(lines, self.expectations)
        for restaurant in usable_rows(self.evaluator, lines, failures, parameters or None, duplicates):
            business_id = restaurant.business_id
            rows = self.evaluator.parse_rows(restaurant.rows)
            context = module.parse_context(restaurant.context)
            outputs = _evaluate_outputs(module, self.arguments, rows, context)
            expectation = self.expectations.get(business_id)
            self.restaurants.append(_BaselineRestaurant(business_id, rows, context, outputs, expectation))

    def evaluate(self, value: int | float, module: GeneratedModule, arguments: tuple[Any, ...]) -> Variant:
        """Evaluate all restaurants with `module` and `arguments`; return the differences as the variant of `value`."""
        flips: Counter[Verdicts] = Counter()
        changes: dict[str, tuple[float, str]] = {}
        broken: list[str] = []
        for restaurant in self.restaurants:
            before = restaurant.outputs
            after = _evaluate_outputs(module, arguments, restaurant.rows, restaurant.context)
            verdicts = format_verdict(before, self.verdict), format_verdict(after, self.verdict)
            if verdicts[0] != verdicts[1]:
                flips[verdicts] += 1
            if restaurant.expectation is not None and restaurant.expectation.find_broken(before, after):
                broken.append(restaurant.business_id)
            if before is None or after is None:
                continue
            for name in self.numeric_outputs:
                change = compute_change(before[name], after[name])
                largest, _ = changes.get(name, (0.0, ""))
                if change is not None and abs(change) > abs(largest) and not is_same(before[name], after[name]):
                    changes[name] = change, restaurant.business_id
        return Variant(value, dict(flips), changes, tuple(broken))


def _evaluate_outputs(module: GeneratedModule, arguments: tuple[Any, ...], rows: Any, context: Any) -> Outputs:
    """Return a restaurant's outputs by name, or None if its evaluation fails."""
    try:
        return dict(zip(module.OUTPUT, module.evaluate(rows, context, *arguments), strict=True))
    except module.EvaluationError:
        return None
