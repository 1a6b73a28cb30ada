"""What a disagreement of two extractions does to verdicts: both sides are evaluated, and their outputs compared.

In: restaurants, each with the reviews that both sides have extracted. Out: for each output of the seed, in how many
restaurants it is the same, and how far numbers are apart. Only relevant reviews count, as in a run; both sides are evaluated
over the same ones.

The interval of a share is Wilson's score interval (E. B. Wilson, "Probable Inference, the Law of Succession, and Statistical
Inference", Journal of the American Statistical Association 22, 1927); that of a mean difference is a bootstrap percentile
interval over restaurants (B. Efron, "Bootstrap Methods: Another Look at the Jackknife", Annals of Statistics 7, 1979), drawn
with a fixed seed. Both cover 95 %.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from random import Random
from typing import Any

from formulaseed.data.results import Failures, FieldValue
from formulaseed.diagnostics.render import format_table
from formulaseed.errors import DataError, EvaluationError
from formulaseed.extractors.agreement import confusion_text, counted, label
from formulaseed.limits import NUMBER_MAX
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.source.printing import number_of

_Z = 1.959963984540054
_DRAWS, _FEWEST_DRAWS, _ALL_DRAWS = 2_000, 200, 1_000_000
"""Resamples of a bootstrap, the fewest of many restaurants, and the restaurants drawn in all."""
_SIDES = ("recorded", "predicted")
Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class ComparedReview:
    """A review with the fields that were recorded for it and those that were predicted."""

    review_id: str
    meta: Mapping[str, Any]
    recorded: Mapping[str, FieldValue]
    predicted: Mapping[str, FieldValue]
    is_relevant: bool


@dataclass(frozen=True, slots=True)
class ComparedRestaurant:
    """A restaurant with the reviews that both sides have; `relevant` counts its relevant reviews, compared or not."""

    place: str
    business_id: str
    context: Mapping[str, Any]
    reviews: Sequence[ComparedReview]
    relevant: int


@dataclass(frozen=True, slots=True)
class OutputAgreement:
    """How well the outputs of one name agree. Differences are those of numbers, without their sign; None for others."""

    output: str
    n: int
    equal: int
    share: float
    interval: Interval
    mean_difference: float | None
    difference_interval: Interval | None
    confusion: dict[str, dict[str, int]] | None
    """Restaurants by recorded and predicted value; None for numbers."""


@dataclass(frozen=True, slots=True)
class VerdictAgreement:
    """The agreement of the outputs. `reviews` of `relevant` ones were compared; `failed` restaurants had no outputs on a side."""

    restaurants: int
    failed: int
    reviews: int
    relevant: int
    outputs: tuple[OutputAgreement, ...]

    def text(self) -> str:
        """Return a plain text table, a line an output, and below it the confusions of outputs that are no numbers."""
        failed = f", {self.failed} failed" if self.failed else ""
        of = f"{self.reviews:,} of their {number_of(self.relevant, 'relevant review')}"
        lines = [f"{number_of(self.restaurants, 'restaurant')} evaluated with either side, over {of}{failed}"]
        rows: list[tuple[str, ...]] = [
            ("output", "n", "equal", "share", "95% from", "to", "difference", "95% from", "to")
        ]
        for one in self.outputs:
            numbers = (one.share, *one.interval, one.mean_difference, *(one.difference_interval or (None, None)))
            rows.append((one.output, str(one.n), str(one.equal), *("-" if x is None else f"{x:.3f}" for x in numbers)))
        tables = [format_table(rows)] if self.outputs else []
        tables += [confusion_text(one.output, one.confusion) for one in self.outputs if one.confusion]
        return "\n\n".join([*lines, *tables]) + "\n"


def compare(
    evaluator: Evaluator,
    restaurants: Iterable[ComparedRestaurant],
    parameters: Mapping[str, Any] | None,
    failures: Failures,
) -> VerdictAgreement:
    """Evaluate the restaurants with both sides, as far as any of their reviews were compared."""
    pairs: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = []
    number = failed = reviews = relevant = 0
    for restaurant in restaurants:
        compared = [review for review in restaurant.reviews if review.is_relevant]
        if not compared:
            continue
        number += 1
        reviews, relevant = reviews + len(compared), relevant + restaurant.relevant
        outputs = []
        for side in _SIDES:
            rows = [{"review_id": r.review_id, "extraction": getattr(r, side), "meta": r.meta} for r in compared]
            try:
                outputs.append(evaluator.evaluate(rows, restaurant.context, parameters))
            except (EvaluationError, DataError) as error:
                failures.add(f"{restaurant.place}: {restaurant.business_id}", f"with the {side} values {error}")
        if len(outputs) == len(_SIDES):
            pairs.append((outputs[0], outputs[1]))
        else:
            failed += 1
    found = tuple(_compared(name, [(a[name], b[name]) for a, b in pairs]) for name in evaluator.output if pairs)
    return VerdictAgreement(number, failed, reviews, relevant, found)


def wilson(equal: int, n: int) -> Interval:
    """Return the interval of a share. Raises `ZeroDivisionError` for none of none."""
    share, squared = equal / n, _Z * _Z
    center = share + squared / (2 * n)
    half = _Z * sqrt(share * (1 - share) / n + squared / (4 * n * n))
    low, high = ((center + sign * half) / (1 + squared / n) for sign in (-1, 1))
    return max(0.0, min(low, share)), min(1.0, max(high, share))  # of none or all an end is the share, but for rounding


def bootstrap(values: Sequence[float]) -> Interval:
    """Return the interval of the mean of some values."""
    draws = max(_FEWEST_DRAWS, min(_DRAWS, _ALL_DRAWS // len(values)))
    random, parts = Random(0), [value / len(values) for value in values]  # whose sum does not overflow
    means = sorted(fsum(random.choices(parts, k=len(parts))) for _ in range(draws))
    tail = draws // 40
    return means[tail], means[draws - 1 - tail]


def _compared(name: str, pairs: Sequence[tuple[Any, Any]]) -> OutputAgreement:
    labels = [(label(a), label(b)) for a, b in pairs]
    equal = sum(a == b for a, b in labels)
    differences = [float(min(abs(a - b), NUMBER_MAX)) for a, b in pairs if _is_number(a) and _is_number(b)]
    is_number = any(_is_number(value) for pair in pairs for value in pair)
    return OutputAgreement(
        name,
        len(pairs),
        equal,
        equal / len(pairs),
        wilson(equal, len(pairs)),
        fsum(x / len(differences) for x in differences) if differences else None,
        bootstrap(differences) if differences else None,
        None if is_number else counted(Counter(labels), {}),
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
