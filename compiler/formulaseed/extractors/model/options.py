"""Defines the options of the extractors that ask a model, and `anthropic`, which asks it about each review."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from formulaseed.data.results import Failures, ReviewInput
from formulaseed.extractors.base import OpenExtractor
from formulaseed.extractors.model.settings import ModelSettings
from formulaseed.extractors.options import Callbacks, Seconds
from formulaseed.ir import nodes
from formulaseed.runtime.reviews import ReviewSource

if TYPE_CHECKING:
    from formulaseed.extractors.model.answers import AnswerCache


class ModelOptions(ModelSettings):
    """An extractor that asks a model: it opens the answers, and estimates what asking for them would cost."""

    def require(self) -> None:
        from formulaseed.extractors.model.session import require_session

        require_session(self)

    @contextmanager
    def open(
        self, program: nodes.Program, source: ReviewSource, failures: Failures, callbacks: Callbacks
    ) -> Iterator[OpenExtractor]:
        from formulaseed.extractors.model.session import open_answers

        with open_answers(self, program, source, callbacks) as answers:
            extractor = self._ask(answers, source, callbacks)
            try:
                yield extractor
            finally:
                extractor.costs = answers.lines()
                extractor.usd = answers.usage.upper_bound
                extractor.unanswered = answers.usage.unanswered

    @abstractmethod
    def _ask(self, answers: AnswerCache, source: ReviewSource, callbacks: Callbacks) -> OpenExtractor:
        """Return what extracts by these answers, and asks about what has none. Raises `ArgumentError`."""

    def estimate(self, program: nodes.Program, source: ReviewSource, callbacks: Callbacks) -> list[str]:
        from formulaseed.extractors.model.estimating import count_by_api, estimate
        from formulaseed.extractors.model.session import open_answers

        lines = []
        with open_answers(self, program, source, callbacks, is_dry=True) as answers:
            for title, reviews in self._estimated_parts(source):
                may_batch = "batch" in type(self).model_fields
                part = estimate(answers, reviews, answers.usage.prices, count_by_api, may_batch=may_batch)
                lines += [title, *part] if title else part
        return lines

    def _estimated_parts(self, source: ReviewSource) -> Iterator[tuple[str, Iterator[list[ReviewInput]]]]:
        """Yield the reviews that a run may ask about, with a title if there are several estimates."""
        yield "", source.read_reviews()


class Anthropic(ModelOptions):
    """Asks a model of Anthropic about each review, live or in batches."""

    name: ClassVar[str] = "anthropic"

    batch: bool = Field(False, description="The Message Batches API, at half the price, within a day.")
    poll: Seconds = Field(30.0, description="Seconds between two polls of a batch.")

    def _ask(self, answers: AnswerCache, source: ReviewSource, callbacks: Callbacks) -> OpenExtractor:
        from formulaseed.extractors.model.batching import BatchExtractor
        from formulaseed.extractors.model.session import limits_of, live_asker

        is_quiet = callbacks.show_progress is None
        if self.batch:
            source.require_rereading("batch")
            notify = (lambda _: None) if is_quiet else callbacks.notify
            limits = limits_of(self)
            return BatchExtractor(
                answers, limits, source.read_reviews, most_usd=self.max_usd, poll=self.poll, notify=notify
            )
        is_counted = source.can_reread and not is_quiet
        total = sum(1 for _ in answers.unanswered(source.read_reviews())) if is_counted else None
        return live_asker(self, answers, callbacks, total)()
