"""Measures what a trained extractor would predict for restaurants that it has not seen.

In: recorded answers. Each fold of restaurants is predicted by what was trained, and calibrated, on the others. Out: for each
field accuracy, the mean F1 of its values, Cohen's kappa, both also of always saying the commonest value, and the expected
calibration error: how far the probabilities are from the shares that are right, in ten equal bins (M. Naeini, G. Cooper and
M. Hauskrecht, "Obtaining Well Calibrated Probabilities Using Bayesian Binning", AAAI 2015). The intervals cover 95 %: percentiles
of a bootstrap over restaurants, drawn with a fixed seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from formulaseed.data.results import FieldValue
from formulaseed.diagnostics.render import format_table
from formulaseed.extractors.agreement import label
from formulaseed.extractors.base import AskedField
from formulaseed.extractors.trained.classifying import Classifiers, Prediction, Predictions, RecordedAnswer, folds_of

_DRAWS = 200
_BINS = 10


@dataclass(frozen=True, slots=True)
class Measured:
    """A share with its interval."""

    value: float
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True)
class FieldMeasure:
    """How well a field is predicted for restaurants that were not learned from; `n` answers of so many `restaurants`."""

    field: str
    n: int
    restaurants: int
    accuracy: Measured
    baseline_accuracy: float
    """That of always saying the commonest value; so is the F1."""
    macro_f1: Measured
    baseline_macro_f1: float
    kappa: Measured
    calibration_error: Measured


def cross_validated(
    fields: Sequence[AskedField], answers: Sequence[RecordedAnswer]
) -> dict[tuple[str, str], Predictions]:
    """Return for each answer what is predicted by training on the restaurants of other folds."""
    answers = sorted(answers, key=lambda answer: (answer.business_id, answer.review_id))
    fold_of = folds_of(answers)
    found: dict[tuple[str, str], Predictions] = {}
    for fold in sorted(set(fold_of)) if len(set(fold_of)) > 1 else ():
        pairs = [*zip(answers, fold_of, strict=True)]
        trained = Classifiers(fields, [answer for answer, each in pairs if each != fold])
        inside = [answer for answer, each in pairs if each == fold]
        for answer, predictions in zip(inside, trained.predict([each.text for each in inside]), strict=True):
            found[answer.business_id, answer.review_id] = predictions
    return found


def measures(
    fields: Sequence[AskedField],
    answers: Sequence[RecordedAnswer],
    predictions: Mapping[tuple[str, str], Predictions],
) -> list[FieldMeasure]:
    """Return the measures of each field that has predictions."""
    found = []
    for field in fields:
        known = sorted(
            (answer.business_id, answer.review_id, answer.fields[field.name], predicted[field.name])
            for answer in answers
            if field.name in answer.fields
            and field.name in (predicted := predictions.get((answer.business_id, answer.review_id), {}))
        )
        if known:
            places = [place for place, _, _, _ in known]
            found.append(_measure(field, places, [value for _, _, value, _ in known], [p for *_, p in known]))
    return found


def _measure(
    field: AskedField, places: Sequence[str], values: Sequence[FieldValue], predictions: Sequence[Prediction]
) -> FieldMeasure:
    import numpy as np

    names = sorted({*map(label, values), *(label(each.value) for each in predictions)})
    at = {name: place for place, name in enumerate(names)}
    true = np.array([at[label(value)] for value in values])
    given = np.array([at[label(each.value)] for each in predictions])
    usual = np.full_like(true, np.bincount(true).argmax())
    confidence = np.array([each.confidence for each in predictions])
    _, place = np.unique(places, return_inverse=True)
    count = int(place.max()) + 1
    draws, random = [np.ones(count)], np.random.Generator(np.random.PCG64(0))
    draws += [np.bincount(random.integers(0, count, count), minlength=count) for _ in range(_DRAWS if count > 1 else 0)]
    rows = [
        (*_agreement(true, given, w[place], len(names)), _error(true == given, confidence, w[place])) for w in draws
    ]
    point, drawn = rows[0], np.array(rows[1:] or rows)
    low, high = np.quantile(drawn, (0.025, 0.975), axis=0)
    measured = [Measured(float(p), (float(a), float(b))) for p, a, b in zip(point, low, high, strict=True)]
    usual_accuracy, usual_f1, _ = _agreement(true, usual, draws[0][place], len(names))
    accuracy, f1, kappa, error = measured
    return FieldMeasure(field.name, len(values), count, accuracy, usual_accuracy, f1, usual_f1, kappa, error)


def _agreement(recorded: Any, predicted: Any, weights: Any, size: int) -> tuple[float, float, float]:
    """Return accuracy, the mean F1 of the values that are recorded, and Cohen's kappa, which is 0 if both always say the same."""
    import numpy as np
    from sklearn.metrics import f1_score

    total = weights.sum()
    recorded_counts, predicted_counts = np.bincount(recorded, weights, size), np.bincount(predicted, weights, size)
    accuracy = (weights * (recorded == predicted)).sum() / total
    chance = (recorded_counts * predicted_counts).sum() / total**2
    labels = np.flatnonzero(recorded_counts)
    f1 = f1_score(recorded, predicted, labels=labels, average="macro", sample_weight=weights, zero_division=0)
    return float(accuracy), float(f1), float((accuracy - chance) / (1 - chance)) if chance < 1 else 0.0


def _error(is_right: Any, confidence: Any, weights: Any) -> float:
    import numpy as np

    bins = np.minimum((confidence * _BINS).astype(int), _BINS - 1)
    return float(abs(np.bincount(bins, weights * (is_right - confidence))).sum() / weights.sum())


def render(found: Sequence[FieldMeasure]) -> str:
    """Return a plain text table, a line a field."""

    def shown(one: Measured) -> str:
        return f"{one.value:.3f} ({one.interval[0]:.3f} to {one.interval[1]:.3f})"

    rows: list[tuple[str, ...]] = [
        ("field", "n", "accuracy", "baseline", "macro-F1", "baseline", "kappa", "calibration error")
    ]
    for one in found:
        accuracy = shown(one.accuracy), f"{one.baseline_accuracy:.3f}"
        f1 = shown(one.macro_f1), f"{one.baseline_macro_f1:.3f}"
        rows.append((one.field, str(one.n), *accuracy, *f1, shown(one.kappa), shown(one.calibration_error)))
    return format_table(rows) + "\n"
