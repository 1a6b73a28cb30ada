"""Trains a classifier for each field of a seed, and predicts the fields of reviews with calibrated probabilities.

In: recorded answers, each a review's text with field values. Out: for other texts a value of each field, and the probability
that the same value would have been recorded. The classifiers are logistic regressions with class weights over words and
embeddings. A number's classes are its values, or quarters of them if there are many. The same answers give the same bits in any
order.

For every answer, classifiers that have seen no answer of its restaurant predict each field. These held-out predictions calibrate
the probabilities (J. Platt, "Probabilistic Outputs for Support Vector Machines", 1999), and decide whether a number is predicted
better than by its median.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from math import exp, fsum, log
from statistics import median_low
from typing import Any, NamedTuple

from formulaseed.data.results import FieldValue
from formulaseed.extractors.agreement import format_value
from formulaseed.extractors.base import AskedField
from formulaseed.extractors.trained.features import TfidfWeights, WordCounter, embed_texts, use_one_thread
from formulaseed.source.printing import number_of

MIN_ANSWERS = 30
"""The least recorded answers of a field from which a classifier is trained."""
MAX_ANSWERS = 20_000
"""The most recorded answers from which classifiers are trained; of more, a sample is drawn."""
FOLDS = 5
_MAX_NUMBER_CLASSES = 8
"""A number with more different values is predicted by bins."""
_NUMBER_BINS = 4
_INVERSE_REGULARIZATION = 3.0
"""scikit-learn's C, for rows whose words and embedding have length 1 each."""
_BATCH_SIZE = 1_000
"""The number of texts that are predicted at a time."""
_MIN_PROBABILITY = 1e-6
"""Probabilities are kept this far from 0 and 1, so that their log-odds are finite."""


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """A review with the field values that were recorded for it."""

    business_id: str
    review_id: str
    text: str
    fields: Mapping[str, FieldValue]


class Prediction(NamedTuple):
    """A predicted value, and the probability that it is right."""

    value: FieldValue
    confidence: float


Predictions = dict[str, Prediction]
"""The predictions of a review by field; a field without a recorded answer has none."""


class ScoredValue(NamedTuple):
    """A value with the classifier's own probability, which is not calibrated."""

    value: FieldValue
    score: float
    is_blank: bool = False
    """Whether the review has no known word, so that the value is the field's usual one and the score is its share."""


class Classifier:
    """Predicts a field from rows of features.

    A classifier that could not be trained always predicts `usual`: the median of numbers, otherwise the most frequent value.
    `untrained_reason` says why; it is empty if the classifier was trained.
    """

    def __init__(self, weights: TfidfWeights, rows: Any, values: Sequence[FieldValue]) -> None:
        import numpy as np

        counts = Counter(map(format_value, values))
        self.usual: FieldValue = _find_usual(values)
        self._usual_share = (counts[format_value(self.usual)] + 1) / (len(values) + 2)
        self._classes, targets = _assign_classes(values)
        self.untrained_reason = ""
        if len(values) < MIN_ANSWERS:
            self.untrained_reason = f"{number_of(len(values), 'recorded answer')}, fewer than {MIN_ANSWERS}"
        elif len(counts) == 1:
            self.untrained_reason = "all recorded answers are the same"
        elif len(self._classes) == 1:
            self.untrained_reason = "nearly all recorded answers are the same"
        elif not weights.has_words:
            self.untrained_reason = "no word occurs in two reviews"
        else:
            self._model = _fit_regression(rows, np.array(targets))
            self._prior = np.bincount(targets) / len(targets)

    def predict(self, rows: Any) -> list[ScoredValue]:
        """Return a value for each row, with its score; always `usual` if the classifier is untrained.

        A row without any feature gets `usual`, too, and is marked as blank.
        """
        import numpy as np

        if self.untrained_reason:
            return [ScoredValue(self.usual, self._usual_share)] * int(rows.shape[0])
        balanced = self._model.predict_proba(rows)
        choices = balanced.argmax(axis=1)
        natural = balanced * self._prior  # classes weigh the same in training, but are not equally frequent
        scores = natural[np.arange(len(choices)), choices] / natural.sum(axis=1)
        values = [ScoredValue(self._classes[k], float(score)) for k, score in zip(choices, scores, strict=True)]
        for blank in np.flatnonzero(rows.getnnz(axis=1) == 0):
            values[blank] = ScoredValue(self.usual, self._usual_share, is_blank=True)
        return values


class Calibration:
    """Converts a classifier's scores into probabilities, by a logistic regression over scores whose outcome is known.

    Without both outcomes, or if higher scores are not right more often, every score has the share of right ones.
    """

    def __init__(self, scores: Sequence[float], is_right: Sequence[bool]) -> None:
        import numpy as np

        self._slope = 0.0
        self._intercept = _log_odds((sum(is_right) + 1) / (len(is_right) + 2))
        if len(set(is_right)) == 2 and len(set(scores)) > 1:
            column = np.array([[_log_odds(score)] for score in scores])
            model = _fit_regression(column, np.array(is_right), is_balanced=False)
            if model.coef_[0][0] > 0:
                self._slope = float(model.coef_[0][0])
                self._intercept = float(model.intercept_[0])

    def probability(self, score: float) -> float:
        """Return the probability that a value with this score is right."""
        return 1 / (1 + exp(-self._intercept - self._slope * _log_odds(score)))


class Classifiers:
    """Trained and calibrated classifiers of all `fields` but strings.

    `answers` are the recorded answers that they learned from, sorted; `held_out` has predictions for each of these.
    """

    def __init__(self, fields: Sequence[AskedField], answers: Iterable[RecordedAnswer]) -> None:
        sample = sorted(answers, key=_sampling_key)[:MAX_ANSWERS]
        self.answers = sorted(sample, key=lambda answer: (answer.business_id, answer.review_id))
        self.fields = tuple(field for field in fields if field.type != "string")
        self._strings = tuple(field for field in fields if field.type == "string")
        with use_one_thread():
            texts = [answer.text for answer in self.answers]
            self._counter = WordCounter(texts)
            self._counts = self._counter.count(texts)
            self._embeddings = embed_texts(texts)
            self._weights, self._classifiers = self._train([*range(len(texts))])
            self._folds = assign_folds(self.answers)
            self._held_out_values = self._predict_held_out()
            self._calibrations = {field.name: self._calibrate(field) for field in self.fields}

    def predict(self, texts: Sequence[str]) -> list[Predictions]:
        """Return the calibrated predictions for each of `texts`; a field without a recorded answer has none."""
        predictions: list[Predictions] = []
        for start in range(0, len(texts), _BATCH_SIZE):
            batch = texts[start : start + _BATCH_SIZE]
            rows = _stack_features(self._weights, self._counter.count(batch), embed_texts(batch))
            columns = {name: classifier.predict(rows) for name, classifier in self._classifiers.items()}
            for index in range(len(batch)):
                predictions.append(self._calibrate_values({name: values[index] for name, values in columns.items()}))
        return predictions

    @cached_property
    def held_out(self) -> list[Predictions]:
        """The predictions for each of `answers` by classifiers that have seen no answer of its restaurant."""
        return [self._calibrate_values(values) for values in self._held_out_values]

    def notes(self) -> list[str]:
        """Return a line for people about each field that no trained classifier predicts; strings come last."""
        notes = []
        for field in self.fields:
            classifier = self._classifiers.get(field.name)
            if classifier is None:
                notes.append(f"`{field.name}`: no recorded answer, so that it cannot be predicted")
            elif classifier.untrained_reason:
                usual = format_value(classifier.usual)
                notes.append(f"`{field.name}`: {classifier.untrained_reason}: it is always {usual}")
        for field in self._strings:
            usual = "left out" if field.for_nothing is None else format_value(field.for_nothing)
            notes.append(f"`{field.name}`: a string cannot be predicted: it is {usual} where it is not recorded")
        return notes

    def _train(self, indexes: Sequence[int]) -> tuple[TfidfWeights, dict[str, Classifier]]:
        """Return weights and a classifier of each field, learned from the answers at `indexes`.

        A field that none of these answers has gets no classifier.
        """
        weights = TfidfWeights(self._counts[indexes])
        rows = _stack_features(weights, self._counts[indexes], self._embeddings[indexes])
        answers = [self.answers[index] for index in indexes]
        classifiers = {}
        for field in self.fields:
            with_field = [row for row, answer in enumerate(answers) if field.name in answer.fields]
            if with_field:
                values = [answers[row].fields[field.name] for row in with_field]
                classifiers[field.name] = Classifier(weights, rows[with_field], values)
        return weights, classifiers

    def _predict_held_out(self) -> list[dict[str, ScoredValue]]:
        """Return, for each answer, the values by classifiers that learned from the other folds.

        They are not calibrated. If there is only one fold, every answer has an empty dict.
        """
        predictions: list[dict[str, ScoredValue]] = [{} for _ in self.answers]
        if len(set(self._folds)) == 1:
            return predictions
        for held_out_fold in sorted(set(self._folds)):
            held_out = [index for index, fold in enumerate(self._folds) if fold == held_out_fold]
            weights, classifiers = self._train([i for i, fold in enumerate(self._folds) if fold != held_out_fold])
            rows = _stack_features(weights, self._counts[held_out], self._embeddings[held_out])
            for name, classifier in classifiers.items():
                for index, value in zip(held_out, classifier.predict(rows), strict=True):
                    predictions[index][name] = value
        return predictions

    def _calibrate(self, field: AskedField) -> Calibration:
        """Return the calibration of a field by its held-out values.

        Changes a number whose held-out values are no closer than the median: its classifier and `_held_out_values` have the
        median from then on.
        """
        name = field.name
        classifier = self._classifiers.get(name)
        pairs = [
            (values, answer.fields[name])
            for values, answer in zip(self._held_out_values, self.answers, strict=True)
            if name in values and name in answer.fields
        ]
        if field.type in ("integer", "number") and classifier is not None and not classifier.untrained_reason:
            distance = fsum(abs(float(values[name].value) - float(recorded)) for values, recorded in pairs)
            if distance >= fsum(abs(float(classifier.usual) - float(recorded)) for _, recorded in pairs):
                classifier.untrained_reason = "its median is as close as what words predict"
                for values in self._held_out_values:
                    values[name] = ScoredValue(classifier.usual, 0.5)
        is_right = [format_value(values[name].value) == format_value(recorded) for values, recorded in pairs]
        return Calibration([values[name].score for values, _ in pairs], is_right)

    def _calibrate_values(self, values: Mapping[str, ScoredValue]) -> Predictions:
        """Return values with the probabilities that they are right; a blank value keeps its score."""
        return {
            name: Prediction(value, score if is_blank else self._calibrations[name].probability(score))
            for name, (value, score, is_blank) in values.items()
        }


def _stack_features(weights: TfidfWeights, counts: Any, embeddings: Any) -> Any:
    """Return a matrix with the weights of words beside the embeddings; the embeddings alone if there are no words."""
    from scipy.sparse import hstack

    if not weights.has_words:
        return embeddings
    return hstack([weights.transform(counts), embeddings]).tocsr()


def assign_folds(answers: Sequence[RecordedAnswer]) -> list[int]:
    """Return the fold of each answer. All answers of a restaurant are in one fold, unless there is only one restaurant.

    Folds are about equally large, and do not depend on the order of `answers`. There are at most `FOLDS`.
    """
    restaurants = {answer.business_id for answer in answers}
    groups = [answer.business_id if len(restaurants) > 1 else answer.review_id for answer in answers]
    sizes = [0] * FOLDS
    fold_of: dict[str, int] = {}
    for group, count in sorted(Counter(groups).items(), key=lambda item: (-item[1], item[0])):
        fold_of[group] = sizes.index(min(sizes))
        sizes[fold_of[group]] += count
    return [fold_of[group] for group in groups]


def _sampling_key(answer: RecordedAnswer) -> bytes:
    """Return a hash of the answer's ids; the answers with the smallest hashes are a random sample."""
    ids = f"{answer.business_id}\0{answer.review_id}"
    return blake2b(ids.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _find_usual(values: Sequence[FieldValue]) -> FieldValue:
    """Return the lower median if there are numbers among `values`, otherwise the most frequent value.

    Of equally frequent values, the alphabetically first one wins. Raises `ValueError` for no values.
    """
    numbers = [value for value in values if not isinstance(value, str | bool)]
    if numbers:
        return median_low(numbers)
    counts = Counter(map(format_value, values))
    return min(values, key=lambda value: (-counts[format_value(value)], format_value(value)))


def _assign_classes(values: Sequence[FieldValue]) -> tuple[list[FieldValue], list[int]]:
    """Return the classes of a classifier, each as a recorded value, and for each of `values` the index of its class.

    Each different value is a class. A number with more than `_MAX_NUMBER_CLASSES` values has up to four bins instead,
    each with its median as the class.
    """
    distinct = {format_value(value): value for value in values}
    numbers = sorted(value for value in values if not isinstance(value, str | bool))
    if not numbers or len(distinct) <= _MAX_NUMBER_CLASSES:
        names = sorted(distinct)
        indexes = {name: index for index, name in enumerate(names)}
        return [distinct[name] for name in names], [indexes[format_value(value)] for value in values]
    quantiles = {numbers[len(numbers) * part // _NUMBER_BINS] for part in range(1, _NUMBER_BINS)}
    edges = sorted(quantiles - {numbers[0]})
    bins: list[list[int | float]] = [[] for _ in range(len(edges) + 1)]
    for number in numbers:
        bins[bisect_right(edges, number)].append(number)
    return [median_low(numbers_in_bin) for numbers_in_bin in bins], [bisect_right(edges, value) for value in values]


def _fit_regression(rows: Any, targets: Any, *, is_balanced: bool = True) -> Any:
    """Return a new logistic regression that was fitted to `rows` and `targets`.

    `is_balanced` gives all classes the same weight, and applies `_INVERSE_REGULARIZATION`.
    """
    from sklearn.linear_model import LogisticRegression

    if is_balanced:
        model = LogisticRegression(C=_INVERSE_REGULARIZATION, class_weight="balanced", max_iter=2_000)
    else:
        model = LogisticRegression(max_iter=2_000)
    return model.fit(rows, targets)


def _log_odds(probability: float) -> float:
    """Return the logarithm of the odds, finite also for the probabilities 0 and 1."""
    probability = min(max(probability, _MIN_PROBABILITY), 1 - _MIN_PROBABILITY)
    return log(probability / (1 - probability))
