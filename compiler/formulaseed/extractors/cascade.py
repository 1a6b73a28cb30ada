"""Extracts by a cascade: a model answers a sample, classifiers learn from it, and the model answers the uncertain rest.

In: reviews that can be read several times, and an extractor that asks a model. The first sample is drawn at random over all
restaurants. Then each round trains on all answers and searches the lowest confidence with which predictions have the target
agreement with the model. If there is one, the round asks about the least certain reviews below it; if not, it draws a larger
sample. At the end the certain reviews are predicted, and the model is asked about all others.

Each field of the predicted reviews meets the target agreement with 95 % confidence. This is tested on the sampled answers alone,
each predicted by classifiers that have seen no answer of its restaurant, since the other answers were chosen for being difficult.
The tests go from the highest confidence to lower ones and end with the first that fails (fixed-sequence testing). Each uses the
exact binomial bound (C. Clopper and E. Pearson, "The Use of Confidence or Fiducial Limits Illustrated in the Case of the
Binomial", Biometrika 26, 1934); the rounds share the 5 %.

No draw depends on time or on the order of answers: a second run asks the same questions, whose answers are stored.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import ceil, log
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from formulaseed.data.results import NOT_ASKED, Extraction, ReviewInput
from formulaseed.extractors.agreement import format_value
from formulaseed.extractors.base import AskedField, Callbacks, OpenExtractor, ReviewReader
from formulaseed.extractors.model.options import ModelOptions
from formulaseed.extractors.trained.classifying import Classifiers, Predictions, RecordedAnswer
from formulaseed.extractors.trained.extractor import complete_values
from formulaseed.extractors.trained.features import check_training_installed
from formulaseed.runtime.extracting import draw
from formulaseed.runtime.reviews import ReviewSource
from formulaseed.source.printing import number_of

if TYPE_CHECKING:
    from formulaseed.extractors.model.answers import AnswerCache

ROUNDS = 3
_ERROR_LEVEL = 0.05 / ROUNDS
_UNCERTAIN_DIVISOR = 3
"""A round asks about a third of the uncertain reviews: after training on the answers, others may be certain enough."""
_MAX_TESTS = 20
"""The most confidences that are tested, about."""


class Cascade(ModelOptions):
    """The extractor that asks a model about a sample, and about reviews that classifiers trained on it cannot predict."""

    name: ClassVar[str] = "cascade"

    sample: int = Field(300, ge=1, description="How many reviews the model is asked about at first.")
    sample_seed: int = Field(0, description="Another number draws another sample.")
    target_agreement: float = Field(
        0.95, ge=0.5, le=0.999, description="How often, at least, a predicted field must be what the model would say."
    )

    def require(self) -> None:
        """Raise `UnreadableError` if the extra `train` is not installed, or if no call can be made and no answer is stored."""
        super().require()
        check_training_installed()

    @property
    def needs_all_answers(self) -> bool:
        """False: the answers decide which other reviews the model is asked about."""
        return False

    def _make_extractor(self, answers: AnswerCache, source: ReviewSource, callbacks: Callbacks) -> CascadeExtractor:
        """Return the cascade over `source`. Raises `ArgumentError` if `source` cannot be read twice."""
        from formulaseed.extractors.model.session import prepare_live_extractors

        source.require_rereading("extractor", self.name)
        ask = prepare_live_extractors(self, answers, callbacks)
        return CascadeExtractor(answers.spec.fields, ask, source.read_reviews, self, answers.spec.passes)

    def _estimate_parts(self, source: ReviewSource) -> Iterator[tuple[str, Iterator[list[ReviewInput]]]]:
        """Yield the first sample, then all reviews. Raises `ArgumentError` if `source` cannot be read twice."""
        source.require_rereading("extractor", self.name)
        yield "at least, for the first sample:", source.read_reviews(source.draw(self.sample, self.sample_seed))
        yield "at most, for every review:", source.read_reviews()


@dataclass(frozen=True, slots=True)
class Threshold:
    """The lowest confidence of predictions that meet the target agreement.

    `field` is the field that agreed least: in `right` of the `n` held-out answers with this confidence. `bound` is the lower
    confidence bound of that share.
    """

    confidence: float
    field: str
    right: int
    n: int
    bound: float


@dataclass(frozen=True, slots=True)
class _Plan:
    """The classifiers and the threshold that decide which reviews are predicted."""

    classifiers: Classifiers
    threshold: Threshold
    settled: int
    """The number of reviews that are answered, or certain enough to be predicted."""


class CascadeExtractor(OpenExtractor):
    """The open cascade. It calls `open_asker` for a new extractor that asks the model in each round."""

    def __init__(
        self,
        fields: Sequence[AskedField],
        open_asker: Callable[[], OpenExtractor],
        read_reviews: ReviewReader,
        options: Cascade,
        passes: int = 1,
    ) -> None:
        self._fields = tuple(fields)
        self._open_asker = open_asker
        self._read_reviews = read_reviews
        self._options = options
        self._passes = passes
        self._asker = open_asker()
        self.name = f"cascade:{options.model}"
        self.prompt_sha256 = self._asker.prompt_sha256
        self._answered: dict[int, tuple[ReviewInput, Extraction]] = {}
        """The reviews that were asked about with their extractions, by the review's index among all reviews."""
        self._drawn: set[int] = set()
        self._total = 0
        self._plan: _Plan | None = None
        self._is_halted = False
        self._counts = {"asked": 0, "predicted": 0}

    @property
    def stop_reason(self) -> str:
        """The reason why the model is asked nothing more; empty while the run goes on."""
        return self._asker.stop_reason

    @property
    def can_resume(self) -> bool:
        """Whether the same run would get further if it were started again."""
        return self._asker.can_resume

    def extract_all(self, restaurants: Iterable[Sequence[ReviewInput]]) -> Iterator[list[Extraction]]:
        """Run the rounds, then yield each restaurant's extractions: answers, predictions, and new answers of the model.

        If the run has stopped, reviews without an answer fail as not asked.
        """
        self._run_rounds()
        pending: deque[list[Extraction | None]] = deque()

        def read_unknown_reviews() -> Iterator[list[ReviewInput]]:
            """Yield each restaurant's reviews to ask about, and append its known extractions to `pending`."""
            start = 0
            for reviews in restaurants:
                known = self._extract_known(start, reviews)
                start += len(reviews)
                pending.append(known)
                yield [review for review, extraction in zip(reviews, known, strict=True) if extraction is None]

        self._is_halted = bool(self.stop_reason)
        if self._is_halted:
            answers: Iterator[list[Extraction]] = ([] for _ in read_unknown_reviews())
        else:
            answers = self._open_next_asker().extract_all(read_unknown_reviews())
        with _close_at_end(answers):
            for new_extractions in answers:
                missing = iter(new_extractions)
                extractions = [extraction or _mark_asked(next(missing)) for extraction in pending.popleft()]
                for extraction in extractions:
                    if extraction.source:
                        self._counts[extraction.source] += 1
                yield extractions

    def summary(self) -> list[str]:
        """Return lines about the asked and predicted reviews, the saved calls, and the expected agreement."""
        asked_count, predicted = self._counts.values()
        saved = number_of(predicted * self._passes, "call")
        lines = [
            f"cascade: {number_of(asked_count, 'review')} asked about, {predicted:,} predicted, which saves {saved}"
        ]
        if self._plan is not None:
            threshold = self._plan.threshold
            lines.append(
                f"cascade: predictions agree with the model in {threshold.bound:.1%} or more of each field (95% confidence; "
                f"`{threshold.field}` agreed least: {threshold.right:,} of {threshold.n:,} held-out answers); "
                f"they have a confidence of {threshold.confidence:.2f} or more"
            )
        elif not self.stop_reason:
            lines.append(
                f"cascade: an agreement of {self._options.target_agreement:.0%} cannot be shown: asked about every review"
            )
        return lines

    def _run_rounds(self) -> None:
        """Ask and train, round by round, and set `_plan`; it stays None if all reviews have to be asked about.

        Asks nothing if a field is a string. A round without a threshold doubles the sample. The plan that settles the
        most reviews is kept.
        """
        if any(field.type == "string" for field in self._fields):
            return  # no classifier predicts strings
        sample_size = self._options.sample
        indexes: Collection[int] = self._draw_sample(sample_size)
        for round_number in range(1, ROUNDS + 1):
            self._ask(indexes)
            if self.stop_reason or len(self._answered) >= self._total:
                return
            classifiers = self._train()
            threshold = self._find_threshold(classifiers) if classifiers is not None else None
            is_last = round_number == ROUNDS
            if classifiers is not None and threshold is not None:
                uncertain = self._find_uncertain(classifiers, threshold)
                settled = self._total - len(uncertain)
                if self._plan is None or settled >= self._plan.settled:
                    self._plan = _Plan(classifiers, threshold, settled)
                if not uncertain or is_last:
                    return
                indexes = uncertain[: min(len(self._answered), 1 + len(uncertain) // _UNCERTAIN_DIVISOR)]
            elif not is_last:
                sample_size *= 2
                indexes = self._draw_sample(sample_size)

    def _draw_sample(self, size: int) -> set[int]:
        """Draw `size` reviews into `_drawn`, and return their indexes; a larger sample contains a smaller one.

        Also sets `_total` to the number of all reviews.
        """
        lengths: list[int] = []

        def read_and_measure() -> Iterator[Sequence[ReviewInput]]:
            """Yield the reviews of each restaurant, and append their number to `lengths`."""
            for reviews in self._read_reviews():
                lengths.append(len(reviews))
                yield reviews

        sample = draw(read_and_measure(), size, self._options.sample_seed)
        starts = [0]
        for length in lengths:
            starts.append(starts[-1] + length)
        self._total = starts[-1]
        self._drawn = {starts[number] + index for number, indexes in sample.chosen.items() for index in indexes}
        return self._drawn

    def _ask(self, indexes: Collection[int]) -> None:
        """Ask about the reviews at `indexes` without an answer, and add answers, also failed ones, to `_answered`."""
        new = set(indexes) - self._answered.keys()
        if not new:
            return
        pending: deque[list[tuple[int, ReviewInput]]] = deque()

        def read_new_reviews() -> Iterator[list[ReviewInput]]:
            """Yield each restaurant's new reviews, if it has any, and append them with their indexes to `pending`."""
            start = 0
            for reviews in self._read_reviews():
                indexed = [(index, review) for index, review in enumerate(reviews, start) if index in new]
                start += len(reviews)
                if indexed:
                    pending.append(indexed)
                    yield [review for _, review in indexed]

        answers = self._open_next_asker().extract_all(read_new_reviews())
        with _close_at_end(answers):
            for extractions in answers:
                for (index, review), extraction in zip(pending.popleft(), extractions, strict=True):
                    if extraction.failure != NOT_ASKED:
                        self._answered[index] = review, _mark_asked(extraction)

    def _open_next_asker(self) -> OpenExtractor:
        """Open the extractor that asks the model in the next round. `stop_reason` and `can_resume` are its own from then on."""
        self._asker = self._open_asker()
        return self._asker

    def _train(self) -> Classifiers | None:
        """Return classifiers that learned from all answers with values; None if there are none.

        Each answer's review id ends with the review's index.
        """
        answers = [
            # the index makes duplicate ids distinct, and tells the sampled answers from the others
            RecordedAnswer(review.business_id, f"{review.review_id}\0{index}", review.text, extraction.fields)
            for index, (review, extraction) in sorted(self._answered.items())
            if extraction.fields is not None
        ]
        return Classifiers(self._fields, answers) if answers else None

    def _find_threshold(self, classifiers: Classifiers) -> Threshold | None:
        """Return the threshold that the sampled answers show to be enough; None if they show none.

        Only drawn reviews count that have a held-out prediction of every field.
        """
        held_out = []
        for answer, predictions in zip(classifiers.answers, classifiers.held_out, strict=True):
            is_drawn = int(answer.review_id.rpartition("\0")[2]) in self._drawn
            if is_drawn and len(predictions) == len(self._fields):
                agrees = {
                    name: format_value(prediction.value) == format_value(answer.fields[name])
                    for name, prediction in predictions.items()
                }
                held_out.append((agrees, review_confidence(predictions)))
        return find_threshold(held_out, self._options.target_agreement, _ERROR_LEVEL)

    def _find_uncertain(self, classifiers: Classifiers, threshold: Threshold) -> list[int]:
        """Return the indexes of the reviews without an answer below the threshold, the least certain first."""
        confidences = array("d")
        for reviews in self._read_reviews():
            if reviews:
                predictions = classifiers.predict([review.text for review in reviews])
                confidences.extend(map(review_confidence, predictions))
        uncertain = [
            (confidence, index)
            for index, confidence in enumerate(confidences)
            if confidence < threshold.confidence and index not in self._answered
        ]
        return [index for _, index in sorted(uncertain)]

    def _extract_known(self, start: int, reviews: Sequence[ReviewInput]) -> list[Extraction | None]:
        """Return the answer or prediction of each review of a restaurant; None for a review to ask the model about.

        `start` is the index of the first review among all. After a halt nothing is predicted, and a review without an
        answer fails.
        """
        extractions: list[Extraction | None] = [None] * len(reviews)
        unknown = []
        for offset in range(len(reviews)):
            if start + offset in self._answered:
                _, extractions[offset] = self._answered[start + offset]
            else:
                unknown.append(offset)
        if self._is_halted:
            for offset in unknown:
                extractions[offset] = Extraction(reviews[offset].review_id, None, NOT_ASKED)
        elif self._plan is not None and unknown:
            all_predictions = self._plan.classifiers.predict([reviews[offset].text for offset in unknown])
            for offset, predictions in zip(unknown, all_predictions, strict=True):
                if review_confidence(predictions) >= self._plan.threshold.confidence:
                    values = complete_values(self._fields, predictions)
                    extractions[offset] = Extraction(reviews[offset].review_id, values, source="predicted")
        return extractions


@contextmanager
def _close_at_end(answers: Iterator[list[Extraction]]) -> Iterator[None]:
    """Close an extractor's generator at the end of the block, which ends its tasks, instead of at garbage collection."""
    try:
        yield
    finally:
        if isinstance(answers, Generator):
            answers.close()


def _mark_asked(extraction: Extraction) -> Extraction:
    """Return the extraction with the source `asked`; unchanged if the model was not asked."""
    if extraction.failure == NOT_ASKED:
        return extraction
    return replace(extraction, source="asked")


def review_confidence(predictions: Predictions) -> float:
    """Return the confidence of a review: that of its least certain field; 0 without predictions."""
    return min((prediction.confidence for prediction in predictions.values()), default=0.0)


def find_threshold(held_out: Iterable[tuple[dict[str, bool], float]], target: float, level: float) -> Threshold | None:
    """Return the lowest confidence with which every field has the target agreement.

    Returns None if there are too few pairs, or if the agreement cannot be shown. Tests about 20 confidences from the
    highest down, until one fails. `held_out` are pairs of which fields of a prediction agree with the answer, and the
    prediction's confidence. `level` is the probability of a wrong result.
    """
    ranked = sorted(held_out, key=lambda pair: -pair[1])
    min_size = 2 * ceil(log(level) / log(target))  # twice the size at which the bound can reach the target at all
    if len(ranked) < min_size:
        return None
    threshold = None
    step = max(1, (len(ranked) - min_size) // _MAX_TESTS)
    for size in (*range(min_size, len(ranked), step), len(ranked)):
        min_confidence = ranked[size - 1][1]
        passing = [fields for fields, confidence in ranked if confidence >= min_confidence]
        right = {name: sum(fields[name] for fields in passing) for name in passing[0]}
        weakest, least_right = min(right.items(), key=lambda item: item[1], default=("", 0))
        bound = binomial_lower_bound(least_right, len(passing), level)
        if bound < target:
            break
        threshold = Threshold(min_confidence, weakest, least_right, len(passing), bound)
    return threshold


def binomial_lower_bound(right: int, n: int, level: float) -> float:
    """Return the exact lower confidence bound of a share, of which `right` of `n` were observed, at the error level `level`."""
    from scipy.stats import binomtest

    return float(binomtest(right, n, alternative="greater").proportion_ci(1 - level, method="exact").low)
