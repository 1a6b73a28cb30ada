"""Takes recorded reviews as they are, and predicts the others by classifiers that have learned from these.

In: recorded extractions, and the reviews to extract, which have the recorded ones' texts; a recorded line may have its own
`text`, so that answers of other restaurants teach, too. Training takes seconds, at the start. What is held in memory depends on
the recorded reviews alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from formulaseed.data.jsonl import Lines
from formulaseed.data.results import Extraction, Failures, FieldValue, ReviewInput, truncate_review
from formulaseed.errors import DataError
from formulaseed.extractors.base import AskedField, SyncExtractor
from formulaseed.extractors.options import Callbacks
from formulaseed.extractors.recorded import RecordedExtractor, RecordedOptions
from formulaseed.extractors.trained.classifying import MOST, Classifiers, Predictions, RecordedAnswer
from formulaseed.extractors.trained.features import require_training
from formulaseed.ir import nodes
from formulaseed.ir.nodes import ReviewHandling
from formulaseed.runtime.reviews import ReviewSource
from formulaseed.source.printing import number_of

if TYPE_CHECKING:
    from formulaseed.extractors.trained.measuring import FieldMeasure


class Trained(RecordedOptions):
    """Predicts the reviews that no recorded extraction has, by classifiers that learn from those that have one."""

    name: ClassVar[str] = "trained"

    min_confidence: float = Field(
        0.0, ge=0, le=1, description="A review with a less probable value cannot be extracted."
    )

    if TYPE_CHECKING:

        def __init__(self, extractions: Lines, *, strict: bool = False, min_confidence: float = 0.0) -> None: ...

    def require(self) -> None:
        require_training()

    @contextmanager
    def open(
        self, program: nodes.Program, source: ReviewSource, failures: Failures, callbacks: Callbacks
    ) -> Iterator[TrainedExtractor]:
        source.require_rereading("extractor", self.name)
        recorded, answers = self.learn(program, source, failures)
        yield TrainedExtractor(recorded, Classifiers(recorded.fields, answers), self.min_confidence)

    def learn(
        self, program: nodes.Program, source: ReviewSource, failures: Failures
    ) -> tuple[RecordedExtractor, list[RecordedAnswer]]:
        """Return the recorded extractions, and the answers among them that have a text to learn from.

        Raises `DataError` if no answer has one, and `UnreadableError` without the extra `train`.
        """
        require_training()
        recorded = self.read(program, failures, keeps_texts=True)
        answers = recorded_answers(recorded, source.read_reviews(), program.review_handling)
        if not answers:
            raise DataError(
                "no recorded extraction has a review to learn from: in the contexts, or as `text` in its line"
            )
        return recorded, answers

    def measure(self, program: nodes.Program, source: ReviewSource) -> tuple[HeldOutExtractor, list[FieldMeasure]]:
        """Return what predicts each recorded review by training on other restaurants, and how well. Raises as `learn`."""
        from formulaseed.extractors.trained.measuring import cross_validated, measures

        recorded, answers = self.learn(program, source, Failures())
        predictions = cross_validated(recorded.fields, answers)
        return HeldOutExtractor(predictions), measures(recorded.fields, answers, predictions)


def recorded_answers(
    recorded: RecordedExtractor, restaurants: Iterable[Sequence[ReviewInput]], handling: ReviewHandling | None
) -> list[RecordedAnswer]:
    """Return the recorded answers that have a text: that of their review or, if no restaurant has it, of their line."""
    answers: dict[tuple[str, str], RecordedAnswer] = {}
    for reviews in restaurants:
        for review in reviews:
            fields = recorded.extract(review).fields
            if fields is not None:
                key = review.business_id, review.review_id
                answers[key] = RecordedAnswer(*key, review.text, fields)
    for (business_id, review_id), whole in recorded.texts.items():
        text = truncate_review(whole, handling)
        fields = recorded.extract(ReviewInput(business_id, review_id, "")).fields
        if text is not None and fields is not None:
            answers.setdefault((business_id, review_id), RecordedAnswer(business_id, review_id, text, fields))
    return [*answers.values()]


class TrainedExtractor(SyncExtractor):
    """Takes recorded extractions, and predicts the other reviews. One that is predicted with less confidence fails.

    The confidence of a review is that of its least certain field. It counts the reviews of each kind.
    """

    name = "trained"

    def __init__(self, recorded: RecordedExtractor, classifiers: Classifiers, min_confidence: float = 0.0) -> None:
        self._fields = recorded.fields
        self._recorded = recorded
        self._classifiers = classifiers
        self._min_confidence = min_confidence
        self.counts = {"recorded": 0, "predicted": 0, "left_out": 0}

    def extract(self, review: ReviewInput) -> Extraction:
        return self._extract_together([review])[0]

    def extract_all(self, restaurants: Iterable[Sequence[ReviewInput]]) -> Iterator[list[Extraction]]:
        return map(self._extract_together, restaurants)

    def _extract_together(self, reviews: Sequence[ReviewInput]) -> list[Extraction]:
        """Extract reviews, predicting all that are not recorded at a time, and count them by their source."""
        recorded = [self._recorded.find(review) for review in reviews]
        unknown = [review for review, extraction in zip(reviews, recorded, strict=True) if extraction is None]
        predictions = iter(self._classifiers.predict([review.text for review in unknown]) if unknown else ())
        extractions = []
        for review, extraction in zip(reviews, recorded, strict=True):
            if extraction is None:
                extraction = self._predict(review.review_id, next(predictions))
            elif extraction.fields is not None:
                extraction = replace(extraction, source="recorded")
            if extraction.source:
                self.counts[extraction.source] += 1
            extractions.append(extraction)
        return extractions

    def _predict(self, review_id: str, predictions: Predictions) -> Extraction:
        """Return the predicted values; a review that is not certain enough, or lacks a value, is left out."""
        weakest = min(predictions, key=lambda name: predictions[name].confidence, default=None)
        if weakest is not None and predictions[weakest].confidence < self._min_confidence:
            confidence = f"a confidence of {predictions[weakest].confidence:.2f}, less than {self._min_confidence:g}"
            return Extraction(review_id, None, f"`{weakest}` is predicted with {confidence}", source="left_out")
        try:
            return Extraction(review_id, with_untrained(self._fields, predictions), source="predicted")
        except DataError as error:
            return Extraction(review_id, None, str(error), source="left_out")

    def summary(self) -> list[str]:
        """Return what was learned from, how many reviews are of which kind, and which fields are not learned."""
        answers = self._classifiers.answers
        places = number_of(len({answer.business_id for answer in answers}), "restaurant")
        drawn = ", as many as are learned from" if len(answers) == MOST else ""
        recorded, predicted, left_out = self.counts.values()
        left = f", {left_out:,} left out" if left_out else ""
        return [
            f"trained: on {number_of(len(answers), 'recorded answer')} of {places}{drawn}",
            *(f"trained: {note}" for note in self._classifiers.notes()),
            f"trained: {recorded:,} reviews recorded, {predicted:,} predicted{left}; "
            "`formulaseed agreement --extractor trained` measures how far to trust it",
        ]


def with_untrained(fields: Sequence[AskedField], predictions: Predictions) -> dict[str, FieldValue]:
    """Return the predicted values; a field of which nothing is predicted has its value for nothing.

    A string without one is left out, for the evaluation to report where it needs it. Raises `DataError` for another field.
    """
    values: dict[str, FieldValue] = {}
    for field in fields:
        value = predictions[field.name].value if field.name in predictions else field.for_nothing
        if value is not None:
            values[field.name] = value
        elif field.type != "string":
            raise DataError(f"`{field.name}` has no recorded answer to learn from, and no default")
    return values


class HeldOutExtractor(SyncExtractor):
    """Has for each recorded review what classifiers predict that have seen none of its restaurant."""

    name = "trained"

    def __init__(self, predictions: Mapping[tuple[str, str], Predictions]) -> None:
        self._predictions = predictions

    def extract(self, review: ReviewInput) -> Extraction:
        predictions = self._predictions.get((review.business_id, review.review_id))
        if predictions is None:
            return Extraction(review.review_id, None, "it is not relevant, so that it was not learned from")
        return Extraction(review.review_id, {name: prediction.value for name, prediction in predictions.items()})
