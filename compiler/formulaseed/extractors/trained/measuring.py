"""Measures how well a trained extractor predicts restaurants that it has not seen, by cross-validation.

In: recorded answers. Each fold of restaurants is predicted by classifiers that were trained and calibrated on the other folds.
Out: for each field accuracy and the mean F1 of its values, each also of always predicting the most frequent value, Cohen's kappa,
and the expected calibration error, which is the distance of the confidences from the shares of right predictions, in ten equal
bins (M. Naeini, G. Cooper and M. Hauskrecht, "Obtaining Well Calibrated Probabilities Using Bayesian Binning", AAAI 2015). The
intervals cover 95 %: percentiles of a bootstrap over restaurants, drawn with a fixed seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from formulaseed.data.results import FieldValue
from formulaseed.diagnostics.render import format_table
from formulaseed.extractors.agreement import format_value
from formulaseed.extractors.base import AskedField
from formulaseed.extractors.trained import classifying

_RESAMPLES = 200
_CALIBRATION_BINS = 10


@dataclass(frozen=True, slots=True)
class MeasuredShare:
    """A measured value with its 95 % interval."""

    value: float
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True)
class FieldMeasure:
    """The quality of the predictions of a field for unseen restaurants, measured on `n` answers of `restaurants` restaurants.

    The baselines are the accuracy and the F1 of always predicting the most frequent value.
    """

    field: str
    n: int
    restaurants: int
    accuracy: MeasuredShare
    baseline_accuracy: float
    macro_f1: MeasuredShare
    baseline_macro_f1: float
    kappa: MeasuredShare
    calibration_error: MeasuredShare


def cross_validate(
    fields: Sequence[AskedField], answers: Sequence[classifying.RecordedAnswer]
) -> dict[tuple[str, str], classifying.Predictions]:
    """Return predictions for each answer by classifiers that were trained on the other folds of restaurants.

    The keys are the ids of the restaurant and the review. The result is empty if all answers are in one fold.
    """
    answers = sorted(answers, key=lambda answer: (answer.business_id, answer.review_id))
    folds = classifying.assign_folds(answers)
    predictions: dict[tuple[str, str], classifying.Predictions] = {}
    if len(set(folds)) == 1:
        return predictions
    for held_out_fold in sorted(set(folds)):
        pairs = [*zip(answers, folds, strict=True)]
        classifiers = classifying.Classifiers(fields, [answer for answer, fold in pairs if fold != held_out_fold])
        held_out = [answer for answer, fold in pairs if fold == held_out_fold]
        for answer, prediction in zip(held_out, classifiers.predict([a.text for a in held_out]), strict=True):
            predictions[answer.business_id, answer.review_id] = prediction
    return predictions


def measure_fields(
    fields: Sequence[AskedField],
    answers: Sequence[classifying.RecordedAnswer],
    predictions: Mapping[tuple[str, str], classifying.Predictions],
) -> list[FieldMeasure]:
    """Return the measures of each field that has a prediction for an answer, in the order of `fields`.

    Answers without the field or without its prediction do not count; a field without any is left out.
    """
    measures = []
    for field in fields:
        known = sorted(
            (answer.business_id, answer.review_id, answer.fields[field.name], predicted[field.name])
            for answer in answers
            if field.name in answer.fields
            and field.name in (predicted := predictions.get((answer.business_id, answer.review_id), {}))
        )
        if known:
            restaurants = [business_id for business_id, _, _, _ in known]
            values = [value for _, _, value, _ in known]
            measures.append(_measure_field(field, restaurants, values, [prediction for *_, prediction in known]))
    return measures


def _measure_field(
    field: AskedField,
    restaurants: Sequence[str],
    values: Sequence[FieldValue],
    predictions: Sequence[classifying.Prediction],
) -> FieldMeasure:
    """Return the measures of a field; `restaurants`, `values` and `predictions` belong to the same answers, in order.

    The intervals are bootstrapped over restaurants, always by the same draws. With a single restaurant, they have no
    width.
    """
    import numpy as np

    predicted_values = [prediction.value for prediction in predictions]
    names = sorted({*map(format_value, values), *map(format_value, predicted_values)})
    codes = {name: code for code, name in enumerate(names)}
    recorded = np.array([codes[format_value(value)] for value in values])
    predicted = np.array([codes[format_value(value)] for value in predicted_values])
    most_frequent = np.full_like(recorded, np.bincount(recorded).argmax())
    confidence = np.array([prediction.confidence for prediction in predictions])
    _, restaurant_of_answer = np.unique(restaurants, return_inverse=True)
    count = int(restaurant_of_answer.max()) + 1
    random = np.random.Generator(np.random.PCG64(0))
    # the weight of each restaurant: 1 for the point estimate, then how often each resample has drawn it
    weightings = [np.ones(count)]
    if count > 1:
        draws = (random.integers(0, count, count) for _ in range(_RESAMPLES))
        weightings += [np.bincount(draw, minlength=count) for draw in draws]
    rows = []
    for weighting in weightings:
        weights = weighting[restaurant_of_answer]
        error = _measure_calibration(recorded == predicted, confidence, weights)
        rows.append((*_measure_agreement(recorded, predicted, weights, len(names)), error))
    bounds = np.quantile(np.array(rows[1:] or rows), (0.025, 0.975), axis=0)
    accuracy, f1, kappa, calibration_error = (
        MeasuredShare(float(value), (float(low), float(high)))
        for value, low, high in zip(rows[0], *bounds, strict=True)
    )
    baseline_accuracy, baseline_f1, _ = _measure_agreement(
        recorded, most_frequent, weightings[0][restaurant_of_answer], len(names)
    )
    return FieldMeasure(
        field.name, len(values), count, accuracy, baseline_accuracy, f1, baseline_f1, kappa, calibration_error
    )


def _measure_agreement(recorded: Any, predicted: Any, weights: Any, size: int) -> tuple[float, float, float]:
    """Return the accuracy, the mean F1 of the values that are recorded, and Cohen's kappa of weighted answers.

    `recorded` and `predicted` are codes below `size`. Kappa is 0 if both sides always have the same one value.
    """
    import numpy as np
    from sklearn.metrics import f1_score

    total = weights.sum()
    recorded_counts = np.bincount(recorded, weights, size)
    predicted_counts = np.bincount(predicted, weights, size)
    accuracy = (weights * (recorded == predicted)).sum() / total
    chance = (recorded_counts * predicted_counts).sum() / total**2
    labels = np.flatnonzero(recorded_counts)
    f1 = f1_score(recorded, predicted, labels=labels, average="macro", sample_weight=weights, zero_division=0)
    kappa = float((accuracy - chance) / (1 - chance)) if chance < 1 else 0.0
    return float(accuracy), float(f1), kappa


def _measure_calibration(is_right: Any, confidence: Any, weights: Any) -> float:
    """Return the expected calibration error of weighted answers: 0 if confidences equal the shares that are right.

    Confidences are sorted into `_CALIBRATION_BINS` bins of equal width.
    """
    import numpy as np

    bins = np.minimum((confidence * _CALIBRATION_BINS).astype(int), _CALIBRATION_BINS - 1)
    return float(abs(np.bincount(bins, weights * (is_right - confidence))).sum() / weights.sum())


def render_measures(measures: Sequence[FieldMeasure]) -> str:
    """Return a plain text table with a line for each field, and 95 % intervals in parentheses."""

    def format_measure(measure: MeasuredShare) -> str:
        """Return a measure with its interval in brackets, with three decimals."""
        low, high = measure.interval
        return f"{measure.value:.3f} ({low:.3f} to {high:.3f})"

    rows: list[tuple[str, ...]] = [
        ("field", "n", "accuracy", "baseline", "macro-F1", "baseline", "kappa", "calibration error")
    ]
    for measure in measures:
        rows.append((
            measure.field, str(measure.n),
            format_measure(measure.accuracy), f"{measure.baseline_accuracy:.3f}",
            format_measure(measure.macro_f1), f"{measure.baseline_macro_f1:.3f}",
            format_measure(measure.kappa), format_measure(measure.calibration_error),
        ))  # fmt: skip
    return format_table(rows) + "\n"
