"""The cascade: a model answers a sample, a classifier learns from it, and the model is asked where that is not enough.

In: reviews that can be read several times, and what asks a model. The first sample is drawn at random over the restaurants.
Then, in rounds: train on all answers; find the confidence from which predictions agree with the model as wanted; ask about the
least certain reviews below it, or draw more where there is none. At the end the certain ones are predicted, all others asked.

The wanted agreement holds for each field of the predicted reviews, with 95 % confidence. It is tested on the random answers
alone, each predicted by classifiers that have seen none of its restaurant; the others were chosen for being difficult. The tests
go from the strictest confidence to laxer ones and end with the first that fails (fixed-sequence testing), each by the exact
binomial bound (C. Clopper and E. Pearson, "The Use of Confidence or Fiducial Limits Illustrated in the Case of the Binomial",
Biometrika 26, 1934); the rounds share the 5 %.

Nothing is drawn that depends on time or order of answers: run again, it asks the same questions, whose answers are stored.
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
from formulaseed.extractors.agreement import label
from formulaseed.extractors.base import AskedField, OpenExtractor
from formulaseed.extractors.model.options import ModelOptions
from formulaseed.extractors.options import Callbacks
from formulaseed.extractors.trained.classifying import Classifiers, Predictions, RecordedAnswer
from formulaseed.extractors.trained.extractor import with_untrained
from formulaseed.extractors.trained.features import require_training
from formulaseed.runtime.reviews import ReviewSource
from formulaseed.runtime.sampling import draw
from formulaseed.source.printing import number_of

if TYPE_CHECKING:
    from formulaseed.extractors.model.answers import AnswerCache

ROUNDS = 3
_LEVEL = 0.05 / ROUNDS
_PART = 3
"""A round asks about one in so many of the reviews that are too uncertain: what it teaches may make others certain enough."""
_STEPS = 20
"""So many confidences are tried at most."""

Reviews = Callable[[], Iterable[Sequence[ReviewInput]]]


class Cascade(ModelOptions):
    """Asks a model about a sample, and about what a classifier that learns from its answers cannot predict."""

    name: ClassVar[str] = "cascade"

    sample: int = Field(300, ge=1, description="How many reviews the model is asked about at first.")
    sample_seed: int = Field(0, description="Another number draws another sample.")
    target_agreement: float = Field(
        0.95, ge=0.5, le=0.999, description="How often, at least, a predicted field must be what the model would say."
    )

    def require(self) -> None:
        super().require()
        require_training()

    @property
    def needs_all_answers(self) -> bool:
        return False  # which reviews are asked about depends on the answers

    def _ask(self, answers: AnswerCache, source: ReviewSource, callbacks: Callbacks) -> CascadeExtractor:
        from formulaseed.extractors.model.session import live_asker

        source.require_rereading("extractor", self.name)
        ask = live_asker(self, answers, callbacks)
        return CascadeExtractor(answers.spec.fields, ask, source.read_reviews, self, answers.spec.passes)

    def _estimated_parts(self, source: ReviewSource) -> Iterator[tuple[str, Iterator[list[ReviewInput]]]]:
        source.require_rereading("extractor", self.name)
        yield "at least, for the first sample:", source.read_reviews(source.draw(self.sample, self.sample_seed))
        yield "at most, for every review:", source.read_reviews()


@dataclass(frozen=True, slots=True)
class Threshold:
    """The least confidence that is enough. `field` agreed least: in `right` of `n` held-out answers, `bound` at least."""

    confidence: float
    field: str
    right: int
    n: int
    bound: float


@dataclass(frozen=True, slots=True)
class _Plan:
    classifiers: Classifiers
    threshold: Threshold
    reached: int
    """Reviews that need not be asked about any more."""


class CascadeExtractor(OpenExtractor):
    """Extracts with a model and what it teaches; `open_asker` provides what asks the model, again for each round."""

    def __init__(
        self,
        fields: Sequence[AskedField],
        open_asker: Callable[[], OpenExtractor],
        reviews: Reviews,
        options: Cascade,
        passes: int = 1,
    ) -> None:
        self._fields = tuple(fields)
        self._open_asker = open_asker
        self._reviews = reviews
        self._options = options
        self._passes = passes
        self._asker = open_asker()
        self.name = f"cascade:{options.model}"
        self.prompt_sha256 = self._asker.prompt_sha256
        self._answered: dict[int, tuple[ReviewInput, Extraction]] = {}
        """By the place of the review among all."""
        self._drawn: set[int] = set()
        self._total = 0
        self._plan: _Plan | None = None
        self._is_halted = False
        self._counts = {"asked": 0, "predicted": 0}

    @property
    def stopped(self) -> str:
        return self._asker.stopped

    @property
    def can_resume(self) -> bool:
        return self._asker.can_resume

    def extract_all(self, restaurants: Iterable[Sequence[ReviewInput]]) -> Iterator[list[Extraction]]:
        self._run_rounds()
        pending: deque[list[Extraction | None]] = deque()

        def unknown_reviews() -> Iterator[list[ReviewInput]]:
            start = 0
            for reviews in restaurants:
                known = self._extract_known(start, reviews)
                start += len(reviews)
                pending.append(known)
                yield [review for review, extraction in zip(reviews, known, strict=True) if extraction is None]

        self._is_halted = bool(self.stopped)
        if self._is_halted:
            answers: Iterator[list[Extraction]] = ([] for _ in unknown_reviews())
        else:
            answers = self._next_asker().extract_all(unknown_reviews())
        with _closed(answers):
            for answered in answers:
                missing = iter(answered)
                extractions = [extraction or _as_asked(next(missing)) for extraction in pending.popleft()]
                for extraction in extractions:
                    if extraction.source:
                        self._counts[extraction.source] += 1
                yield extractions

    def summary(self) -> list[str]:
        """Return what was asked, what that saved, and which agreement is to be expected."""
        asked_count, predicted = self._counts.values()
        saved = number_of(predicted * self._passes, "call")
        lines = [
            f"cascade: {number_of(asked_count, 'review')} asked about, {predicted:,} predicted, which saves {saved}"
        ]
        if self._plan is not None:
            least = self._plan.threshold
            lines.append(
                f"cascade: predictions agree with the model in {least.bound:.1%} or more of each field (95% confidence; "
                f"`{least.field}` agreed least: {least.right:,} of {least.n:,} held-out answers); "
                f"they have a confidence of {least.confidence:.2f} or more"
            )
        elif not self.stopped:
            lines.append(
                f"cascade: an agreement of {self._options.target_agreement:.0%} cannot be shown: asked about every review"
            )
        return lines

    def _run_rounds(self) -> None:
        """Ask and learn until there is a plan; without one every review has to be asked about."""
        if any(field.type == "string" for field in self._fields):
            return  # no classifier predicts it
        size = self._options.sample
        places: Collection[int] = self._draw(size)
        for number in range(1, ROUNDS + 1):
            self._ask(places)
            if self.stopped or len(self._answered) >= self._total:
                return
            classifiers = self._learn()
            threshold = None if classifiers is None else self._find_threshold(classifiers)
            is_last = number == ROUNDS
            if classifiers is not None and threshold is not None:
                uncertain = self._find_uncertain(classifiers, threshold)
                reached = self._total - len(uncertain)
                if self._plan is None or reached >= self._plan.reached:
                    self._plan = _Plan(classifiers, threshold, reached)
                if not uncertain or is_last:
                    return
                places = uncertain[: min(len(self._answered), 1 + len(uncertain) // _PART)]
            elif not is_last:
                size *= 2
                places = self._draw(size)

    def _draw(self, size: int) -> set[int]:
        """Return the places of a sample of this size; a larger sample contains a smaller one."""
        lengths: list[int] = []

        def measured_reviews() -> Iterator[Sequence[ReviewInput]]:
            for reviews in self._reviews():
                lengths.append(len(reviews))
                yield reviews

        sample = draw(measured_reviews(), size, self._options.sample_seed)
        starts = [0]
        for length in lengths:
            starts.append(starts[-1] + length)
        self._total = starts[-1]
        self._drawn = {starts[restaurant] + at for restaurant, places in sample.chosen.items() for at in places}
        return self._drawn

    def _ask(self, places: Collection[int]) -> None:
        """Ask about the reviews at these places that have not been asked about, and keep the answers."""
        new = set(places) - self._answered.keys()
        if not new:
            return
        pending: deque[list[tuple[int, ReviewInput]]] = deque()

        def new_reviews() -> Iterator[list[ReviewInput]]:
            start = 0
            for reviews in self._reviews():
                located = [(place, review) for place, review in enumerate(reviews, start) if place in new]
                start += len(reviews)
                if located:
                    pending.append(located)
                    yield [review for _, review in located]

        answers = self._next_asker().extract_all(new_reviews())
        with _closed(answers):
            for extractions in answers:
                for (place, review), extraction in zip(pending.popleft(), extractions, strict=True):
                    if extraction.failure != NOT_ASKED:
                        self._answered[place] = review, _as_asked(extraction)

    def _next_asker(self) -> OpenExtractor:
        """Open what asks the model in the next round. `stopped` and `can_resume` are those of the last one."""
        self._asker = self._open_asker()
        return self._asker

    def _learn(self) -> Classifiers | None:
        """Return classifiers that learned from all answers; None if there is no answer."""
        answers = [
            RecordedAnswer(review.business_id, f"{review.review_id}\0{place}", review.text, extraction.fields)
            for place, (review, extraction) in sorted(self._answered.items())
            if extraction.fields is not None
        ]
        return Classifiers(self._fields, answers) if answers else None

    def _find_threshold(self, classifiers: Classifiers) -> Threshold | None:
        """Return the least confidence that is enough; None if the sample does not show that any is."""
        held_out = []
        for answer, predictions in zip(classifiers.answers, classifiers.held_out, strict=True):
            is_drawn = int(answer.review_id.rpartition("\0")[2]) in self._drawn
            if is_drawn and len(predictions) == len(self._fields):
                agrees = {
                    name: label(prediction.value) == label(answer.fields[name])
                    for name, prediction in predictions.items()
                }
                held_out.append((agrees, confidence_of(predictions)))
        return threshold_for(held_out, self._options.target_agreement, _LEVEL)

    def _find_uncertain(self, classifiers: Classifiers, threshold: Threshold) -> list[int]:
        """Return the places of the reviews without an answer that are below the threshold, the least certain first."""
        confidences = array("d")
        for reviews in self._reviews():
            if reviews:
                predictions = classifiers.predict([review.text for review in reviews])
                confidences.extend(map(confidence_of, predictions))
        uncertain = [
            (confidence, place)
            for place, confidence in enumerate(confidences)
            if confidence < threshold.confidence and place not in self._answered
        ]
        return [place for _, place in sorted(uncertain)]

    def _extract_known(self, start: int, reviews: Sequence[ReviewInput]) -> list[Extraction | None]:
        """Return what is answered or predicted of a restaurant's reviews; None if the model has to be asked.

        `start` is the place of the first review. If nothing is asked any more, a review without an answer fails.
        """
        extractions: list[Extraction | None] = [
            self._answered[place][1] if place in self._answered else None
            for place in range(start, start + len(reviews))
        ]
        unknown = [at for at, extraction in enumerate(extractions) if extraction is None]
        if self._is_halted:
            for at in unknown:
                extractions[at] = Extraction(reviews[at].review_id, None, NOT_ASKED)
        elif self._plan is not None and unknown:
            predicted = self._plan.classifiers.predict([reviews[at].text for at in unknown])
            for at, predictions in zip(unknown, predicted, strict=True):
                if confidence_of(predictions) >= self._plan.threshold.confidence:
                    values = with_untrained(self._fields, predictions)
                    extractions[at] = Extraction(reviews[at].review_id, values, source="predicted")
        return extractions


@contextmanager
def _closed(answers: Iterator[list[Extraction]]) -> Iterator[None]:
    """End the tasks of an extractor at the end of a block, not when it is collected."""
    try:
        yield
    finally:
        if isinstance(answers, Generator):
            answers.close()


def _as_asked(extraction: Extraction) -> Extraction:
    """Return an extraction with its source; one that was not asked about has none."""
    return extraction if extraction.failure == NOT_ASKED else replace(extraction, source="asked")


def confidence_of(predictions: Predictions) -> float:
    """Return the confidence of a review: that of its least certain field."""
    return min((prediction.confidence for prediction in predictions.values()), default=0.0)


def threshold_for(held_out: Iterable[tuple[dict[str, bool], float]], target: float, level: float) -> Threshold | None:
    """Return the least confidence from which each field agrees as wanted; None where that cannot be shown.

    `held_out` says of predictions which fields agree, and their confidence; `level` is the probability of being wrong.
    """
    ranked = sorted(held_out, key=lambda pair: -pair[1])
    fewest = 2 * ceil(log(level) / log(target))
    found = None
    step = max(1, (len(ranked) - fewest) // _STEPS)
    sizes = [*range(fewest, len(ranked), step), len(ranked)] if len(ranked) >= fewest else []
    for size in sizes:
        confidence = ranked[size - 1][1]
        passing = [fields for fields, each in ranked if each >= confidence]
        right = {name: sum(fields[name] for fields in passing) for name in passing[0]}
        name, least = min(right.items(), key=lambda item: item[1], default=("", 0))
        bound = lower_bound(least, len(passing), level)
        if bound < target:
            break
        found = Threshold(confidence, name, least, len(passing), bound)
    return found


def lower_bound(right: int, n: int, level: float) -> float:
    """Return the exact lower bound of a share of which `right` of `n` were seen; it is wrong with the probability `level`."""
    from scipy.stats import binomtest

    return float(binomtest(right, n, alternative="greater").proportion_ci(1 - level, method="exact").low)
