"""Measures the agreement of two extractions of the same reviews, field by field, and in the verdicts that they lead to.

In: pairs of field values, recorded and predicted. Out: counts, accuracy, Cohen's kappa, and as the baseline the accuracy
of always predicting the most frequent recorded value. Nothing is read or written here.

Kappa is (p_o - p_e) / (1 - p_e): the observed agreement p_o, corrected for the agreement p_e that chance alone would
give two raters who each use the values as often as these two do (J. Cohen, "A Coefficient of Agreement for
Nominal Scales", Educational and Psychological Measurement 20, 1960). 1 is perfect, 0 is chance, less is
worse than chance. Values count as equal or not: a wait of 44 minutes agrees with one of 45 no more than with
one of 90.

For each output of the seed, the number of restaurants in which it is the same is counted, and how far numbers differ. Only
relevant reviews count, as in a run; both sides are evaluated over the same reviews.

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
from formulaseed.extractors.base import AskedField
from formulaseed.limits import NUMBER_MAX
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.source.printing import number_of

Pair = tuple[Mapping[str, FieldValue], Mapping[str, FieldValue]]
"""One review's fields, as recorded and as predicted."""


@dataclass(frozen=True, slots=True)
class FieldAgreement:
    """The agreement of the predictions of one field with the recorded values."""

    field: str
    n: int
    """The number of reviews that have the field on both sides."""
    equal: int
    accuracy: float | None
    """equal / n; None without reviews."""
    kappa: float | None
    """Cohen's kappa; None without reviews, and if both sides always give one and the same value."""
    baseline: float | None
    """The accuracy of always predicting the most frequent recorded value; None without reviews."""
    confusion: dict[str, dict[str, int]] | None
    """The reviews by recorded and predicted value, in the values' order; None unless the field is an enum or boolean."""


def measure_agreement(fields: Sequence[AskedField], pairs: Sequence[Pair]) -> tuple[FieldAgreement, ...]:
    """Return the agreement on each field, in the order of `fields`; pairs that lack the field on a side do not count."""
    return tuple(_measure_field(field, pairs) for field in fields)


def render_agreement(agreements: Sequence[FieldAgreement]) -> str:
    """Return a plain text table with a line for each field, and below it the confusions.

    Only enums and booleans with a compared review have one.
    """
    rows: list[tuple[str, ...]] = [("field", "n", "equal", "accuracy", "kappa", "baseline")]
    for agreement in agreements:
        shares = map(format_share, (agreement.accuracy, agreement.kappa, agreement.baseline))
        rows.append((agreement.field, str(agreement.n), str(agreement.equal), *shares))
    tables = [format_table(rows)]
    tables += [
        format_confusion(agreement.field, agreement.confusion) for agreement in agreements if agreement.confusion
    ]
    return "\n\n".join(tables) + "\n"


def format_share(value: float | None) -> str:
    """Return a number with three decimals; `-` for None."""
    return "-" if value is None else f"{value:.3f}"


def _measure_field(field: AskedField, pairs: Sequence[Pair]) -> FieldAgreement:
    """Return the agreement on one field, over the pairs that have the field on both sides.

    Accuracy and baseline are None without such pairs. Kappa is None then, too, and if both sides always have one and
    the same value. Only enums and booleans get a confusion.
    """
    name = field.name
    labels = [(format_value(a[name]), format_value(b[name])) for a, b in pairs if name in a and name in b]
    n = len(labels)
    equal = sum(recorded == predicted for recorded, predicted in labels)
    recorded, predicted = (Counter(pair[side] for pair in labels) for side in (0, 1))
    order = {value: index for index, (value, _) in enumerate(field.values)}
    chance = sum(count * predicted[value] for value, count in recorded.items())
    return FieldAgreement(
        field=name,
        n=n,
        equal=equal,
        accuracy=equal / n if n else None,
        kappa=(n * equal - chance) / (n * n - chance)
        if n * n != chance
        else None,  # both parts times n squared: exact integers
        baseline=max(recorded.values()) / n if n else None,
        confusion=count_pairs(Counter(labels), order) if field.type in ("enum", "boolean") else None,
    )


def format_value(value: FieldValue | None) -> str:
    """Return the text by which values are compared: `true` for True, and `3` for 3 and 3.0.

    None becomes the text `None`.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def count_pairs(pairs: Counter[tuple[str, str]], order: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Return the counts of `pairs`, by recorded value and then by predicted value.

    Both levels are sorted by `order`; values that are not in it come last, in alphabetical order. Pairs that do not
    occur are left out.
    """
    counts: dict[str, dict[str, int]] = {}
    for recorded, predicted in sorted(
        pairs, key=lambda pair: [(order.get(value, len(order)), value) for value in pair]
    ):
        counts.setdefault(recorded, {})[predicted] = pairs[recorded, predicted]
    return counts


def format_confusion(field: str, confusion: dict[str, dict[str, int]]) -> str:
    """Return the counts as a plain text table below the field's name.

    Recorded values are down the side and predicted ones across the top. Both have all values of either side; a pair
    without a count has 0.
    """
    values = dict.fromkeys([*confusion, *(predicted for counts in confusion.values() for predicted in counts)])
    rows = [
        (recorded, *(str(confusion.get(recorded, {}).get(predicted, 0)) for predicted in values)) for recorded in values
    ]
    return f"{field}\n" + format_table([("recorded \\ predicted", *values), *rows])


# --- verdicts


_NORMAL_QUANTILE = 1.959963984540054
"""The 97.5 % quantile of the standard normal distribution."""
_MAX_RESAMPLES = 2_000
_MIN_RESAMPLES = 200
_MAX_DRAWN_VALUES = 1_000_000
"""The values that all resamples of a bootstrap have together, unless there are fewer than `_MIN_RESAMPLES` of them then."""
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
    """The agreement of the outputs of one name: `equal` of `n` restaurants, a share with its confidence interval.

    `mean_difference` is the mean absolute difference of numbers; it and its interval are None if no restaurant has two numbers.
    """

    output: str
    n: int
    equal: int
    share: float
    interval: Interval
    mean_difference: float | None
    difference_interval: Interval | None
    confusion: dict[str, dict[str, int]] | None
    """The number of restaurants by recorded and predicted value; None for numbers."""


@dataclass(frozen=True, slots=True)
class VerdictAgreement:
    """The agreement of all outputs over `restaurants`, of which `failed` could not be evaluated on one side or both.

    `reviews` were compared; their restaurants have `relevant` relevant reviews in all.
    """

    restaurants: int
    failed: int
    reviews: int
    relevant: int
    outputs: tuple[OutputAgreement, ...]

    def text(self) -> str:
        """Return a title, a plain text table with a line for each output, and the confusions.

        Outputs that are numbers have no confusion. Without outputs there is only the title.
        """
        failed = f", {self.failed} failed" if self.failed else ""
        reviews = f"{self.reviews:,} of their {number_of(self.relevant, 'relevant review')}"
        title = f"{number_of(self.restaurants, 'restaurant')} evaluated with either side, over {reviews}{failed}"
        rows: list[tuple[str, ...]] = [
            ("output", "n", "equal", "share", "95% from", "to", "difference", "95% from", "to")
        ]
        for output in self.outputs:
            differences = (output.mean_difference, *(output.difference_interval or (None, None)))
            numbers = map(format_share, (output.share, *output.interval, *differences))
            rows.append((output.output, str(output.n), str(output.equal), *numbers))
        tables = [format_table(rows)] if self.outputs else []
        tables += [format_confusion(output.output, output.confusion) for output in self.outputs if output.confusion]
        return "\n\n".join([title, *tables]) + "\n"


def compare_verdicts(
    evaluator: Evaluator,
    restaurants: Iterable[ComparedRestaurant],
    parameters: Mapping[str, Any] | None,
    failures: Failures,
) -> VerdictAgreement:
    """Evaluate each restaurant with the recorded and with the predicted values, and return the agreement.

    `parameters` are the seed's, None for its defaults. Skips restaurants without a relevant review that both sides
    have. A restaurant that cannot be evaluated with one side is added to `failures`, and counts as failed. Without a
    restaurant that has both, there are no outputs.
    """
    pairs: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = []
    evaluated = failed = reviews = relevant = 0
    for restaurant in restaurants:
        compared = [review for review in restaurant.reviews if review.is_relevant]
        if not compared:
            continue
        evaluated += 1
        reviews += len(compared)
        relevant += restaurant.relevant
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
    names = evaluator.output if pairs else ()
    agreements = tuple(_measure_output(name, [(a[name], b[name]) for a, b in pairs]) for name in names)
    return VerdictAgreement(evaluated, failed, reviews, relevant, agreements)


def wilson_interval(equal: int, n: int) -> Interval:
    """Return Wilson's 95 % interval of the share `equal / n`. Raises `ZeroDivisionError` if `n` is 0."""
    share = equal / n
    squared = _NORMAL_QUANTILE * _NORMAL_QUANTILE
    center = share + squared / (2 * n)
    half = _NORMAL_QUANTILE * sqrt(share * (1 - share) / n + squared / (4 * n * n))
    low, high = ((center + sign * half) / (1 + squared / n) for sign in (-1, 1))
    # at a share of 0 or 1 one end is the share itself, which rounding must not exclude
    return max(0.0, min(low, share)), min(1.0, max(high, share))


def bootstrap_interval(values: Sequence[float]) -> Interval:
    """Return the 95 % bootstrap percentile interval of the mean of `values`; the same values give the same interval.

    Raises `ZeroDivisionError` if there are none.
    """
    resamples = max(_MIN_RESAMPLES, min(_MAX_RESAMPLES, _MAX_DRAWN_VALUES // len(values)))
    random = Random(0)
    parts = [value / len(values) for value in values]  # divided first, so that the sum does not overflow
    means = sorted(fsum(random.choices(parts, k=len(parts))) for _ in range(resamples))
    tail = resamples // 40
    return means[tail], means[resamples - 1 - tail]


def _measure_output(name: str, pairs: Sequence[tuple[Any, Any]]) -> OutputAgreement:
    """Return the agreement of one output over its pairs of values. Raises `ZeroDivisionError` without pairs.

    The difference is over the pairs of two numbers, each difference at most `NUMBER_MAX`; None without any. An output
    with a number on either side has no confusion.
    """
    labels = [(format_value(a), format_value(b)) for a, b in pairs]
    equal = sum(a == b for a, b in labels)
    differences = [float(min(abs(a - b), NUMBER_MAX)) for a, b in pairs if _is_number(a) and _is_number(b)]
    mean_difference = difference_interval = None
    if differences:
        mean_difference = fsum(difference / len(differences) for difference in differences)
        difference_interval = bootstrap_interval(differences)
    is_number = any(_is_number(value) for pair in pairs for value in pair)
    return OutputAgreement(
        name,
        len(pairs),
        equal,
        equal / len(pairs),
        wilson_interval(equal, len(pairs)),
        mean_difference,
        difference_interval,
        None if is_number else count_pairs(Counter(labels), {}),
    )


def _is_number(value: Any) -> bool:
    """Return whether `value` is an integer or a float, and no boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool)
