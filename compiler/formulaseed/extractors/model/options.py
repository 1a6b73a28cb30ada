"""Defines the base of the extractors that ask a model, and `anthropic`, which asks about every review."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from formulaseed.data.results import Failures, ReviewInput
from formulaseed.extractors.base import Callbacks, OpenExtractor, Seconds
from formulaseed.extractors.model.settings import ModelSettings
from formulaseed.ir import nodes
from formulaseed.runtime.reviews import ReviewSource

if TYPE_CHECKING:
    from formulaseed.extractors.model.answers import AnswerCache


class ModelOptions(ModelSettings):
    """The options of an extractor that asks a model. They open the store of answers, and estimate the cost of missing answers."""

    def require(self) -> None:
        """Raise `NotReady` if no call can be made and no answer is stored, and other errors as `check_session` does."""
        from formulaseed.extractors.model.session import check_session

        check_session(self)

    @contextmanager
    def open(
        self, program: nodes.Program, source: ReviewSource, failures: Failures, callbacks: Callbacks
    ) -> Iterator[OpenExtractor]:
        """Open the store and the extractor; at the end set what the run has cost, and close the store.

        Raises `NotReady` if no call can be made, and the store lacks an answer that is sure to be needed.
        """
        from formulaseed.extractors.model.session import open_answers

        with open_answers(self, program, source, callbacks) as answers:
            extractor = self._make_extractor(answers, source, callbacks)
            try:
                yield extractor
            finally:
                extractor.cost_lines = answers.closing_lines()
                extractor.usd = answers.usage.max_total_usd
                extractor.unanswered = answers.usage.unanswered

    @abstractmethod
    def _make_extractor(self, answers: AnswerCache, source: ReviewSource, callbacks: Callbacks) -> OpenExtractor:
        """Return an extractor that uses stored `answers`, and asks the model for missing ones.

        Raises `ArgumentError` for options that do not fit the source.
        """

    def estimate(self, program: nodes.Program, source: ReviewSource, callbacks: Callbacks) -> list[str]:
        """Return lines for people: how many calls a run would make, and what they would cost in US dollars.

        Each of several estimates has its title before it. Only reads the store; the API counts tokens for free, if it
        can be reached.
        """
        from formulaseed.extractors.model.estimating import count_tokens_by_api, estimate_cost
        from formulaseed.extractors.model.session import open_answers

        lines = []
        with open_answers(self, program, source, callbacks, is_dry=True) as answers:
            may_batch = "batch" in type(self).model_fields
            for title, reviews in self._estimate_parts(source):
                if title:
                    lines.append(title)
                lines += estimate_cost(answers, reviews, answers.usage.prices, count_tokens_by_api, may_batch=may_batch)
        return lines

    def _estimate_parts(self, source: ReviewSource) -> Iterator[tuple[str, Iterator[list[ReviewInput]]]]:
        """Yield the reviews of each estimate, with its title; the title is empty if there is one estimate."""
        yield "", source.read_reviews()


class Anthropic(ModelOptions):
    """The extractor that asks a model of Anthropic about every review, live or in batches."""

    name: ClassVar[str] = "anthropic"

    batch: bool = Field(False, description="The Message Batches API, at half the price, within a day.")
    poll: Seconds = Field(30.0, description="Seconds between two polls of a batch.")

    def _make_extractor(self, answers: AnswerCache, source: ReviewSource, callbacks: Callbacks) -> OpenExtractor:
        """Return an extractor that asks in batches or live. Raises `ArgumentError` for batches if `source` is read only once."""
        from formulaseed.extractors.model.batch_or_live import BatchOrLiveExtractor
        from formulaseed.extractors.model.session import make_limits, prepare_live_extractors

        is_quiet = callbacks.show_progress is None
        if self.batch:
            source.require_rereading("batch")
            notify = (lambda _: None) if is_quiet else callbacks.notify
            limits = make_limits(self)
            return BatchOrLiveExtractor(
                answers,
                limits,
                source.read_reviews,
                max_usd=self.max_usd,
                poll=self.poll,
                notify=notify,
                open_live=lambda: prepare_live_extractors(self, answers, callbacks)(),
                notify_of_live=callbacks.notify,
            )
        total = None
        if source.can_reread and not is_quiet:
            total = sum(1 for _ in answers.find_unanswered(source.read_reviews()))
        return prepare_live_extractors(self, answers, callbacks, total)()
