"""Measures the agreement of two extractions of the same reviews, field by field.

In: pairs of field values, recorded and predicted. Out: counts, accuracy, Cohen's kappa, and as the baseline the accuracy
of always predicting the most frequent recorded value. Nothing is read or written here.

Kappa is (p_o - p_e) / (1 - p_e): the observed agreement p_o, corrected for the agreement p_e that chance alone would
give two raters who each use the values as often as these do (J. Cohen, "A Coefficient of Agreement for
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
    """How well predictions of one field agree with what was recorded."""

    field: str
    n: int
    """Reviews that have the field on both sides."""
    equal: int
    accuracy: float | None
    """equal / n; None without reviews."""
    kappa: float | None
    """Cohen's kappa; None without reviews, and where both sides always give one and the same value."""
    baseline: float | None
    """The accuracy of always predicting the most frequent recorded value."""
    confusion: dict[str, dict[str, int]] | None
    """Reviews by recorded and predicted value, for each pair that occurs, in the values' order; None for fields other
    than enum and boolean."""


def measure(fields: Sequence[AskedField], pairs: Sequence[Pair]) -> tuple[FieldAgreement, ...]:
    """Return the agreement on each field, in the fields' order; pairs without the field on either side do not count."""
    return tuple(_measure_field(field, pairs) for field in fields)


def render(agreements: Sequence[FieldAgreement]) -> str:
    """Return a plain text table, a line a field, and below it the confusions of each enum and boolean."""
    rows = [("field", "n", "equal", "accuracy", "kappa", "baseline")]
    for one in agreements:
        shares = ("-" if value is None else f"{value:.3f}" for value in (one.accuracy, one.kappa, one.baseline))
        rows.append((one.field, str(one.n), str(one.equal), *shares))  # type: ignore[arg-type]
    tables = [format_table(rows)]
    tables += [confusion_text(one.field, one.confusion) for one in agreements if one.confusion]
    return "\n\n".join(tables) + "\n"


def _measure_field(field: AskedField, pairs: Sequence[Pair]) -> FieldAgreement:
    name = field.name
    labels = [(label(a[name]), label(b[name])) for a, b in pairs if name in a and name in b]
    n, equal = len(labels), sum(recorded == predicted for recorded, predicted in labels)
    recorded, predicted = (Counter(pair[side] for pair in labels) for side in (0, 1))
    order = {value: place for place, (value, _) in enumerate(field.values)}
    chance = sum(count * predicted[value] for value, count in recorded.items())
    return FieldAgreement(
        field=name,
        n=n,
        equal=equal,
        accuracy=equal / n if n else None,
        kappa=(n * equal - chance) / (n * n - chance) if n * n != chance else None,  # multiplied by n squared: exact
        baseline=max(recorded.values()) / n if n else None,
        confusion=counted(Counter(labels), order) if field.type in ("enum", "boolean") else None,
    )


def label(value: FieldValue | None) -> str:
    """Return a value as text, so that True is not 1; 1.0 is the same as 1."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def counted(given: Counter[tuple[str, str]], order: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Return how often each pair of a recorded and a predicted value occurs; values without an order come last."""
    found: dict[str, dict[str, int]] = {}
    for pair in sorted(given, key=lambda pair: [(order.get(value, len(order)), value) for value in pair]):
        found.setdefault(pair[0], {})[pair[1]] = given[pair]
    return found


def confusion_text(field: str, confusion: dict[str, dict[str, int]]) -> str:
    """Return a square of counts: recorded values down the side, predicted ones across the top."""
    seen = dict.fromkeys([*confusion, *(predicted for counts in confusion.values() for predicted in counts)])
    rows = [(recorded, *(str(confusion.get(recorded, {}).get(given, 0)) for given in seen)) for recorded in seen]
    return f"{field}\n" + format_table([("recorded \\ predicted", *seen), *rows])
