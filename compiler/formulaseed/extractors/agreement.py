"""Measures the agreement of two extractions of the same reviews, field by field.

In: pairs of field values, recorded and predicted. Out: counts, accuracy, Cohen's kappa, and as the baseline the accuracy
of always predicting the most frequent recorded value. Nothing is read or written here.

Kappa is (p_o - p_e) / (1 - p_e): the observed agreement p_o, corrected for the agreement p_e that chance alone would
give two raters who each use the values as often as these two do (J. Cohen, "A Coefficient of Agreement for
Nominal Scales", Educational and Psychological Measurement 20, 1960). 1 is perfect, 0 is chance, less is
worse than chance. Values count as equal or not: a wait of 44 minutes agrees with one of 45 no more than with
one of 90.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from formulaseed.data.results import FieldValue
from formulaseed.diagnostics.render import format_table
from formulaseed.extractors.base import AskedField

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
