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
from heapq import nsmallest
from math import ceil, exp, fsum, lgamma, log
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from formulaseed.data.results import NOT_ASKED, Extraction, ReviewInput
from formulaseed.diagnostics.model import number_of
from formulaseed.extractors.agreement import label
from formulaseed.extractors.base import AskedField, OpenExtractor
from formulaseed.extractors.model.options import ModelOptions
from formulaseed.extractors.options import Callbacks
from formulaseed.extractors.trained.classifying import Classifiers, Predictions, RecordedAnswer
from formulaseed.extractors.trained.extractor import with_untrained
from formulaseed.extractors.trained.features import require_training
from formulaseed.runtime.reviews import ReviewSource
from formulaseed.runtime.sampling import draw

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
        return CascadeExtractor(answers.spec.fields, ask, source.relevant, self, answers.spec.passes)

    def _estimate(self, answers: AnswerCache, source: ReviewSource) -> list[str]:
        from formulaseed.extractors.model.estimating import counted_by_api, estimate

        source.require_rereading("extractor", self.name)

        def of(reviews: Iterable[Sequence[ReviewInput]]) -> list[str]:
            return estimate(answers, reviews, answers.usage.prices, counted_by_api, may_batch=False)

        first = source.relevant(source.draw(self.sample, self.sample_seed))
        return [
            "at least, for the first sample:", *of(first), "at most, for every review:", *of(source.relevant())
        ]  # fmt: skip


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
    trained: Classifiers
    threshold: Threshold
    reached: int
    """Reviews that need not be asked about any more."""


class CascadeExtractor(OpenExtractor):
    """Extracts with a model and what it teaches; `open_asker` provides what asks the model, again for each round."""

    asks_model = True

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
        self._rounds()
        pending: deque[list[Extraction | None]] = deque()

        def left() -> Iterator[list[ReviewInput]]:
            place = 0
            for reviews in restaurants:
                found = self._without_asking(place, reviews)
                place += len(reviews)
                pending.append(found)
                yield [review for review, known in zip(reviews, found, strict=True) if known is None]

        self._is_halted = bool(self.stopped)
        with _ended(([] for _ in left()) if self._is_halted else self._next_asker().extract_all(left())) as answers:
            for asked in answers:
                given = iter(asked)
                found = [known or _asked(next(given)) for known in pending.popleft()]
                for extraction in found:
                    if extraction.source:
                        self._counts[extraction.source] += 1
                yield found

    def summary(self) -> list[str]:
        """Return what was asked, what that saved, and which agreement is to be expected."""
        asked, predicted = self._counts.values()
        saved = number_of(predicted * self._passes, "call")
        lines = [f"cascade: {number_of(asked, 'review')} asked about, {predicted:,} predicted, which saves {saved}"]
        if self._plan is not None:
            found = self._plan.threshold
            lines.append(
                f"cascade: predictions agree with the model in {found.bound:.1%} or more of each field (95% confidence; "
                f"`{found.field}` agreed least: {found.right:,} of {found.n:,} held-out answers); "
                f"they have a confidence of {found.confidence:.2f} or more"
            )
        elif not self.stopped:
            lines.append(
                f"cascade: an agreement of {self._options.target_agreement:.0%} cannot be shown: asked about every review"
            )
        return lines

    def _rounds(self) -> None:
        """Ask and learn until the plan is made; without one every review has to be asked about."""
        size = self._options.sample
        if any(field.type == "string" for field in self._fields):
            return  # which no classifier predicts
        wanted: Collection[int] = self._sampled(size)
        for number in range(1, ROUNDS + 1):
            self._ask(wanted)
            if self.stopped or len(self._answered) >= self._total:
                return
            trained = self._trained()
            threshold = None if trained is None else self._threshold(trained)
            if trained is not None and threshold is not None:
                confidences = self._confidences(trained)
                open_ = [place for place in range(self._total) if place not in self._answered]
                below = [place for place in open_ if confidences[place] < threshold.confidence]
                if self._plan is None or self._total - len(below) >= self._plan.reached:
                    self._plan = _Plan(trained, threshold, self._total - len(below))
                if not below or number == ROUNDS:
                    return
                most = min(len(self._answered), 1 + len(below) // _PART)
                wanted = nsmallest(most, below, key=lambda place: (confidences[place], place))
            elif number < ROUNDS:
                size *= 2
                wanted = self._sampled(size)

    def _sampled(self, size: int) -> set[int]:
        """The places of the first `size` reviews of the draw."""
        lengths: list[int] = []

        def counted() -> Iterator[Sequence[ReviewInput]]:
            for reviews in self._reviews():
                lengths.append(len(reviews))
                yield reviews

        sample = draw(counted(), size, self._options.sample_seed)
        starts = [0]
        for length in lengths:
            starts.append(starts[-1] + length)
        self._total = starts[-1]
        self._drawn = {starts[restaurant] + at for restaurant, places in sample.chosen.items() for at in places}
        return self._drawn

    def _ask(self, wanted: Collection[int]) -> None:
        """Ask about the reviews at these places that have not been asked about."""
        new = set(wanted) - self._answered.keys()
        if not new:
            return
        pending: deque[list[tuple[int, ReviewInput]]] = deque()

        def chosen() -> Iterator[list[ReviewInput]]:
            place = 0
            for reviews in self._reviews():
                found = [(place + at, review) for at, review in enumerate(reviews) if place + at in new]
                place += len(reviews)
                if found:
                    pending.append(found)
                    yield [review for _, review in found]

        with _ended(self._next_asker().extract_all(chosen())) as answers:
            for extractions in answers:
                for (place, review), extraction in zip(pending.popleft(), extractions, strict=True):
                    if extraction.failure != NOT_ASKED:
                        self._answered[place] = review, _asked(extraction)

    def _next_asker(self) -> OpenExtractor:
        self._asker = self._open_asker()
        return self._asker

    def _trained(self) -> Classifiers | None:
        """What the answers teach; None where there are none."""
        answers = [
            RecordedAnswer(review.business_id, f"{review.review_id}\0{place}", review.text, found.fields)
            for place, (review, found) in sorted(self._answered.items())
            if found.fields is not None
        ]
        return Classifiers(self._fields, answers) if answers else None

    def _threshold(self, trained: Classifiers) -> Threshold | None:
        held_out = [
            (
                {name: label(each.value) == label(answer.fields[name]) for name, each in found.items()},
                confidence_of(found),
            )
            for answer, found in zip(trained.answers, trained.held_out, strict=True)
            if int(answer.review_id.rpartition("\0")[2]) in self._drawn and len(found) == len(self._fields)
        ]
        return threshold_for(held_out, self._options.target_agreement, _LEVEL)

    def _confidences(self, trained: Classifiers) -> array[float]:
        found = array("d")
        for reviews in self._reviews():
            found.extend(map(confidence_of, trained.predict([review.text for review in reviews]) if reviews else ()))
        return found

    def _without_asking(self, start: int, reviews: Sequence[ReviewInput]) -> list[Extraction | None]:
        """What is known or predicted of a restaurant's reviews; None where the model has to be asked."""
        found: list[Extraction | None] = [
            self._answered[place][1] if place in self._answered else None
            for place in range(start, start + len(reviews))
        ]
        open_ = [at for at, known in enumerate(found) if known is None]
        if self._is_halted:
            for at in open_:
                found[at] = Extraction(reviews[at].review_id, None, NOT_ASKED)
        elif self._plan is not None and open_:
            for at, predictions in zip(
                open_, self._plan.trained.predict([reviews[at].text for at in open_]), strict=True
            ):
                if confidence_of(predictions) >= self._plan.threshold.confidence:
                    values = with_untrained(self._fields, predictions)
                    found[at] = Extraction(reviews[at].review_id, values, source="predicted")
        return found


@contextmanager
def _ended(answers: Iterator[list[Extraction]]) -> Iterator[Iterator[list[Extraction]]]:
    """End the tasks of an extractor here, not when it is collected."""
    try:
        yield answers
    finally:
        if isinstance(answers, Generator):
            answers.close()


def _asked(extraction: Extraction) -> Extraction:
    return extraction if extraction.failure == NOT_ASKED else replace(extraction, source="asked")


def confidence_of(predictions: Predictions) -> float:
    """Return the confidence of a review: that of its least certain field."""
    return min((each.confidence for each in predictions.values()), default=0.0)


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
    if right == 0:
        return 0.0
    low, high = 0.0, right / n
    for _ in range(50):
        share = (low + high) / 2
        low, high = (share, high) if _at_least(right, n, share) <= level else (low, share)
    return low


def _at_least(right: int, n: int, share: float) -> float:
    """The probability of so many or more of `n`, each with the probability `share`."""
    if share in (0.0, 1.0):
        return share
    yes, no = log(share), log(1 - share)
    return fsum(
        exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * yes + (n - k) * no) for k in range(right, n + 1)
    )
