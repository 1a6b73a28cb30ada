"""Returns recorded extractions unchanged, and predicts the other reviews by classifiers that learn from these.

In: recorded extractions, and the reviews to extract, which have the texts of the recorded ones; a recorded line may have its own
`text`, so that the classifiers also learn from other restaurants. Training takes seconds, at the start. The memory depends only
on the number of recorded reviews.
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
from formulaseed.extractors.base import AskedField, Callbacks, SyncExtractor
from formulaseed.extractors.recorded import RecordedExtractor, RecordedOptions
from formulaseed.extractors.trained.classifying import MAX_ANSWERS, Classifiers, Predictions, RecordedAnswer
from formulaseed.extractors.trained.features import check_training_installed
from formulaseed.ir import nodes
from formulaseed.ir.nodes import ReviewHandling
from formulaseed.runtime.reviews import ReviewSource
from formulaseed.source.printing import number_of

if TYPE_CHECKING:
    from formulaseed.extractors.trained.measuring import FieldMeasure


class Trained(RecordedOptions):
    """The extractor that predicts reviews without a recorded extraction, by classifiers that learn from those with one."""

    name: ClassVar[str] = "trained"

    min_confidence: float = Field(
        0.0, ge=0, le=1, description="A review with a less probable value cannot be extracted."
    )

    if TYPE_CHECKING:

        def __init__(self, extractions: Lines, *, strict: bool = False, min_confidence: float = 0.0) -> None: ...

    def require(self) -> None:
        """Raise `UnreadableError` if the extra `train` is not installed."""
        check_training_installed()

    @contextmanager
    def open(
        self, program: nodes.Program, source: ReviewSource, failures: Failures, callbacks: Callbacks
    ) -> Iterator[TrainedExtractor]:
        """Open the extractor: read the recorded extractions, and train on those with a text. Raises as `learn`.

        Also raises `ArgumentError` if `source` cannot be read twice.
        """
        source.require_rereading("extractor", self.name)
        recorded, answers = self.learn(program, source, failures)
        yield TrainedExtractor(recorded, Classifiers(recorded.fields, answers), self.min_confidence)

    def learn(
        self, program: nodes.Program, source: ReviewSource, failures: Failures
    ) -> tuple[RecordedExtractor, list[RecordedAnswer]]:
        """Read the recorded extractions, and return them with the answers among them that have a text to learn from.

        Lines that cannot be used are added to `failures`. Raises `DataError` if no answer has a text, and `UnreadableError` if
        the extra `train` is not installed.
        """
        check_training_installed()
        recorded = self.read(program, failures, keeps_texts=True)
        answers = collect_answers(recorded, source.read_reviews(), program.review_handling)
        if not answers:
            raise DataError(
                "no recorded extraction has a review to learn from: in the contexts, or as `text` in its line"
            )
        return recorded, answers

    def measure(self, program: nodes.Program, source: ReviewSource) -> tuple[HeldOutExtractor, list[FieldMeasure]]:
        """Cross-validate on the recorded extractions: train on some restaurants, predict the others.

        Returns an extractor that has these predictions, and the measures of each field. Does not report lines that
        cannot be used. Raises as `learn`.
        """
        from formulaseed.extractors.trained.measuring import cross_validate, measure_fields

        recorded, answers = self.learn(program, source, Failures())
        predictions = cross_validate(recorded.fields, answers)
        return HeldOutExtractor(predictions), measure_fields(recorded.fields, answers, predictions)


def collect_answers(
    recorded: RecordedExtractor, restaurants: Iterable[Sequence[ReviewInput]], handling: ReviewHandling | None
) -> list[RecordedAnswer]:
    """Return the recorded extractions with values and a text: that of their review, otherwise that of their line.

    `restaurants` have the reviews. `handling` shortens the texts of lines; an answer is left out if the seed rejects so
    long a text.
    """
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
    """The open extractor: it returns recorded extractions, and predicts the other reviews.

    A review with a field whose confidence is below `min_confidence` fails. `counts` has the number of reviews by source:
    recorded, predicted, or left out since a prediction failed.
    """

    name = "trained"

    def __init__(self, recorded: RecordedExtractor, classifiers: Classifiers, min_confidence: float = 0.0) -> None:
        self._fields = recorded.fields
        self._recorded = recorded
        self._classifiers = classifiers
        self._min_confidence = min_confidence
        self.counts = {"recorded": 0, "predicted": 0, "left_out": 0}

    def extract(self, review: ReviewInput) -> Extraction:
        """Return the recorded or predicted extraction of a review, and count it."""
        return self._extract_batch([review])[0]

    def extract_all(self, restaurants: Iterable[Sequence[ReviewInput]]) -> Iterator[list[Extraction]]:
        """Yield the extractions of each restaurant's reviews, in their order, and count them as they are yielded."""
        return map(self._extract_batch, restaurants)

    def _extract_batch(self, reviews: Sequence[ReviewInput]) -> list[Extraction]:
        """Extract reviews in their order, and count them by source; predict those without a recorded extraction.

        A recorded extraction that failed is returned and not counted.
        """
        recorded = [self._recorded.find(review) for review in reviews]
        unknown = [review for review, extraction in zip(reviews, recorded, strict=True) if extraction is None]
        predictions = iter(self._classifiers.predict([review.text for review in unknown]))
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
        """Return an extraction with the predicted values; it fails if one is not certain enough, or has no value.

        Its source is `predicted`, or `left_out` if it fails.
        """
        weakest = min(predictions, key=lambda name: predictions[name].confidence, default=None)
        if weakest is not None and predictions[weakest].confidence < self._min_confidence:
            confidence = f"a confidence of {predictions[weakest].confidence:.2f}, less than {self._min_confidence:g}"
            return Extraction(review_id, None, f"`{weakest}` is predicted with {confidence}", source="left_out")
        try:
            return Extraction(review_id, complete_values(self._fields, predictions), source="predicted")
        except DataError as error:
            return Extraction(review_id, None, str(error), source="left_out")

    def summary(self) -> list[str]:
        """Return lines about the training data, the fields that are not learned, and the number of reviews by source.

        The reviews that were left out are mentioned only if there are any.
        """
        answers = self._classifiers.answers
        restaurants = number_of(len({answer.business_id for answer in answers}), "restaurant")
        limit = ", as many as are learned from" if len(answers) == MAX_ANSWERS else ""
        recorded, predicted, left_out = self.counts.values()
        failed = f", {left_out:,} left out" if left_out else ""
        return [
            f"trained: on {number_of(len(answers), 'recorded answer')} of {restaurants}{limit}",
            *(f"trained: {note}" for note in self._classifiers.notes()),
            f"trained: {recorded:,} reviews recorded, {predicted:,} predicted{failed}; "
            "`formulaseed agreement --extractor trained` measures how far to trust it",
        ]


def complete_values(fields: Sequence[AskedField], predictions: Predictions) -> dict[str, FieldValue]:
    """Return the predicted values by field; a field without a prediction has its value for nothing.

    A string that has no such value either is left out: the evaluation reports a missing value that it needs. Raises `DataError`
    for any other field without a value.
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
    """An extractor of the recorded reviews, with predictions by classifiers that have seen no answer of their restaurants."""

    name = "trained"

    def __init__(self, predictions: Mapping[tuple[str, str], Predictions]) -> None:
        self._predictions = predictions

    def extract(self, review: ReviewInput) -> Extraction:
        """Return the predicted values of a recorded review; an extraction that fails for any other review."""
        predictions = self._predictions.get((review.business_id, review.review_id))
        if predictions is None:
            return Extraction(review.review_id, None, "it is not relevant, so that it was not learned from")
        return Extraction(review.review_id, {name: prediction.value for name, prediction in predictions.items()})
