"""Classifiers of reviews, one for each field of a seed, with calibrated probabilities.

In: recorded answers, each a review's text with field values. Out: for other texts a value of each field, and the probability
that it is what would have been recorded. Logistic regression with class weights over words and meanings; numbers by their values,
or by quarters of them where there are many. The same answers give the same bits in whatever order they come.

Each field is predicted for every answer by classifiers that have seen none of its restaurant. From these predictions come the
probabilities (J. Platt, "Probabilistic Outputs for Support Vector Machines", 1999), and the decision whether a number is better
predicted than by the median.
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
from formulaseed.extractors.agreement import label
from formulaseed.extractors.base import AskedField
from formulaseed.extractors.trained.features import Weights, Words, meanings, one_thread
from formulaseed.source.printing import number_of

FEWEST = 30
"""Recorded answers of a field, of which fewer teach nothing."""
MOST = 20_000
"""Recorded answers that are learned from; of more a part is drawn."""
FOLDS = 5
_CLASSES, _BINS = 8, 4
"""A number with more different values than classes is predicted by bins."""
_STRENGTH = 3.0
"""The inverse strength of regularization; words and meaning have length 1 each."""
_BATCH = 1_000
"""Texts that are predicted at a time."""
_NEVER = 1e-6


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
"""By the field's name; a field of which nothing can be predicted is left out."""


class Scored(NamedTuple):
    """A value with the classifier's own probability, which is not calibrated."""

    value: FieldValue
    score: float
    is_blank: bool = False
    """Whether it is said of a review without a known word: the score is then how frequent the value is."""


class Classifier:
    """Predicts a field from rows of weights; always the same value where there is nothing to learn, and `why`."""

    def __init__(self, weights: Weights, rows: Any, values: Sequence[FieldValue]) -> None:
        import numpy as np

        counts = Counter(map(label, values))
        self.usual: FieldValue = _usual(values)
        self._share = (counts[label(self.usual)] + 1) / (len(values) + 2)
        self._classes, targets = _classes(values)
        self.why = ""
        if len(values) < FEWEST:
            self.why = f"{number_of(len(values), 'recorded answer')}, fewer than {FEWEST}"
        elif len(self._classes) == 1:
            self.why = (
                "all recorded answers are the same" if len(counts) == 1 else "nearly all recorded answers are the same"
            )
        elif not weights.any:
            self.why = "no word occurs in two reviews"
        else:
            self._model = _fitted(rows, np.array(targets))
            self._prior = np.bincount(targets) / len(targets)

    def predict(self, rows: Any) -> list[Scored]:
        """Return a value for each row."""
        import numpy as np

        if self.why:
            return [Scored(self.usual, self._share)] * int(rows.shape[0])
        balanced = self._model.predict_proba(rows)
        chosen = balanced.argmax(axis=1)
        natural = balanced * self._prior  # classes weigh the same in training, but are not equally frequent
        scores = natural[np.arange(len(chosen)), chosen] / natural.sum(axis=1)
        found = [Scored(self._classes[k], float(score)) for k, score in zip(chosen, scores, strict=True)]
        for blank in np.flatnonzero(rows.getnnz(axis=1) == 0):
            found[blank] = Scored(self.usual, self._share, is_blank=True)
        return found


class Calibration:
    """Turns a classifier's scores into probabilities, by what became of other scores."""

    def __init__(self, scores: Sequence[float], is_right: Sequence[bool]) -> None:
        import numpy as np

        self._slope, self._start = 0.0, _log_odds((sum(is_right) + 1) / (len(is_right) + 2))
        if len(set(is_right)) == 2 and len(set(scores)) > 1:
            column = np.array([[_log_odds(score)] for score in scores])
            model = _fitted(column, np.array(is_right), is_balanced=False)
            if model.coef_[0][0] > 0:
                self._slope, self._start = float(model.coef_[0][0]), float(model.intercept_[0])

    def of(self, score: float) -> float:
        """Return the probability."""
        return 1 / (1 + exp(-self._start - self._slope * _log_odds(score)))


class Classifiers:
    """Classifiers of some fields, trained on recorded answers; `held_out` has a prediction for each of `answers`."""

    def __init__(self, fields: Sequence[AskedField], answers: Iterable[RecordedAnswer]) -> None:
        known = sorted(answers, key=_draw)[:MOST]
        self.answers = sorted(known, key=lambda answer: (answer.business_id, answer.review_id))
        self.fields = tuple(field for field in fields if field.type != "string")
        self._untrained = tuple(field for field in fields if field.type == "string")
        with one_thread():
            texts = [answer.text for answer in self.answers]
            self._words = Words(texts)
            self._counts, self._meanings = self._words.count(texts), meanings(texts)
            self._weights, self._classifiers = self._learn([*range(len(texts))])
            self._folds = folds_of(self.answers)
            scored = self._scored_by_others()
            self._calibrations = {field.name: self._calibrate(field, scored) for field in self.fields}
        self._scored = scored

    def predict(self, texts: Sequence[str]) -> list[Predictions]:
        """Return what each of the texts says, field by field."""
        found: list[Predictions] = []
        for start in range(0, len(texts), _BATCH):
            batch = texts[start : start + _BATCH]
            rows = _rows(self._weights, self._words.count(batch), meanings(batch))
            scored = {name: each.predict(rows) for name, each in self._classifiers.items()}
            found += [self._calibrated({name: each[at] for name, each in scored.items()}) for at in range(len(batch))]
        return found

    @cached_property
    def held_out(self) -> list[Predictions]:
        """For each answer, what classifiers predict that have seen none of its restaurant."""
        return [self._calibrated(scored) for scored in self._scored]

    def notes(self) -> list[str]:
        """Return what people must know of the fields that are not learned."""
        found = []
        for field in self.fields:
            classifier = self._classifiers.get(field.name)
            if classifier is None:
                found.append(f"`{field.name}`: no recorded answer, so that it cannot be predicted")
            elif classifier.why:
                found.append(f"`{field.name}`: {classifier.why}: it is always {label(classifier.usual)}")
        for field in self._untrained:
            usual = "left out" if field.for_nothing is None else label(field.for_nothing)
            found.append(f"`{field.name}`: a string cannot be predicted: it is {usual} where it is not recorded")
        return found

    def _learn(self, places: Sequence[int]) -> tuple[Weights, dict[str, Classifier]]:
        weights = Weights(self._counts[places])
        rows = _rows(weights, self._counts[places], self._meanings[places])
        found = {}
        for field in self.fields:
            having = [at for at, place in enumerate(places) if field.name in self.answers[place].fields]
            values = [self.answers[places[at]].fields[field.name] for at in having]
            if values:
                found[field.name] = Classifier(weights, rows[having], values)
        return weights, found

    def _scored_by_others(self) -> list[dict[str, Scored]]:
        scored: list[dict[str, Scored]] = [{} for _ in self.answers]
        for fold in sorted(set(self._folds)) if len(set(self._folds)) > 1 else ():
            inside = [place for place, each in enumerate(self._folds) if each == fold]
            weights, classifiers = self._learn([place for place, each in enumerate(self._folds) if each != fold])
            rows = _rows(weights, self._counts[inside], self._meanings[inside])
            for name, classifier in classifiers.items():
                for place, found in zip(inside, classifier.predict(rows), strict=True):
                    scored[place][name] = found
        return scored

    def _calibrate(self, field: AskedField, scored: Sequence[dict[str, Scored]]) -> Calibration:
        """Calibrate a field's scores; a number that is not predicted better than by its median is the median from now on."""
        name, classifier = field.name, self._classifiers.get(field.name)
        known = [
            (s, a.fields[name]) for s, a in zip(scored, self.answers, strict=True) if name in s and name in a.fields
        ]
        if field.type in ("integer", "number") and classifier is not None and not classifier.why:
            missed = fsum(abs(float(s[name].value) - float(value)) for s, value in known)
            if missed >= fsum(abs(float(classifier.usual) - float(value)) for _, value in known):
                classifier.why = "its median is as close as what words predict"
                for each in scored:
                    each[name] = Scored(classifier.usual, 0.5)
        is_right = [label(s[name].value) == label(value) for s, value in known]
        return Calibration([s[name].score for s, _ in known], is_right)

    def _calibrated(self, scored: Mapping[str, Scored]) -> Predictions:
        return {
            name: Prediction(value, score if is_blank else self._calibrations[name].of(score))
            for name, (value, score, is_blank) in scored.items()
        }


def _rows(weights: Weights, counts: Any, meanings: Any) -> Any:
    from scipy.sparse import hstack

    return hstack([weights.of(counts), meanings]).tocsr() if weights.any else meanings


def folds_of(answers: Sequence[RecordedAnswer]) -> list[int]:
    """Return the fold of each answer: answers of one restaurant are in one fold; where there is one restaurant, it is cut up."""
    places = {answer.business_id for answer in answers}
    groups = [answer.business_id if len(places) > 1 else answer.review_id for answer in answers]
    sizes = [0] * FOLDS
    fold_of: dict[str, int] = {}
    for group, count in sorted(Counter(groups).items(), key=lambda item: (-item[1], item[0])):
        fold_of[group] = sizes.index(min(sizes))
        sizes[fold_of[group]] += count
    return [fold_of[group] for group in groups]


def _draw(answer: RecordedAnswer) -> bytes:
    ids = f"{answer.business_id}\0{answer.review_id}"
    return blake2b(ids.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _usual(values: Sequence[FieldValue]) -> FieldValue:
    """The median of numbers, else the commonest value."""
    numbers = [value for value in values if not isinstance(value, str | bool)]
    if numbers:
        return median_low(numbers)
    counts = Counter(map(label, values))
    return min(values, key=lambda value: (-counts[label(value)], label(value)))


def _classes(values: Sequence[FieldValue]) -> tuple[list[FieldValue], list[int]]:
    """What a classifier tells apart, each as a recorded value, and the place of each value's class."""
    different = {label(value): value for value in values}
    numbers = sorted(value for value in values if not isinstance(value, str | bool))
    if not numbers or len(different) <= _CLASSES:
        names = sorted(different)
        place_of = {name: place for place, name in enumerate(names)}
        return [different[name] for name in names], [place_of[label(value)] for value in values]
    edges = sorted({numbers[len(numbers) * part // _BINS] for part in range(1, _BINS)} - {numbers[0]})
    bins: list[list[int | float]] = [[] for _ in range(len(edges) + 1)]
    for number in numbers:
        bins[bisect_right(edges, number)].append(number)
    return [median_low(each) for each in bins], [bisect_right(edges, value) for value in values]


def _fitted(rows: Any, targets: Any, *, is_balanced: bool = True) -> Any:
    from sklearn.linear_model import LogisticRegression

    strength, weight = (_STRENGTH, "balanced") if is_balanced else (1.0, None)
    return LogisticRegression(C=strength, class_weight=weight, max_iter=2_000).fit(rows, targets)


def _log_odds(share: float) -> float:
    share = min(max(share, _NEVER), 1 - _NEVER)
    return log(share / (1 - share))
