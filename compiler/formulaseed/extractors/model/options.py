"""Defines the base of the extractors that ask a model, and `anthropic`, which asks about every review."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from formulaseed.data.results import Failures, ReviewInput
from formulaseed.extractors.base import Callbacks, ExtractorOptions, LinesOption, OpenExtractor, PathOption, Seconds
from formulaseed.ir import nodes
from formulaseed.llm.calls import Effort
from formulaseed.runtime.reviews import ReviewSource

if TYPE_CHECKING:
    from formulaseed.extractors.model.answers import AnswerCache


class ModelOptions(ExtractorOptions):
    """The options of an extractor that asks a model. They open the store of answers, and estimate the cost of missing answers.

    Times are in seconds, costs in US dollars; None means no limit.
    """

    asks_model: ClassVar[bool] = True

    model: str = Field("claude-haiku-5-5", description="The model.")
    effort: Effort = Field("low", description="The model's effort.")
    concurrency: int = Field(16, ge=1, le=1000, description="Concurrent calls; fewer while the API pushes back.")
    examples: LinesOption | None = Field(
        None, description="Reviewed answers to show the model, JSON Lines, in place of the seed's."
    )
    store: PathOption | None = Field(
        None, description="Where answers are cached; by default in the user's cache folder."
    )
    retry_errors: bool = Field(False, description="Ask again where a stored answer is unusable.")
    timeout: Seconds = Field(60.0, description="Seconds for one attempt.")
    deadline: Seconds = Field(300.0, description="Seconds for one call with all of its attempts.")
    retries: int = Field(8, ge=0, le=20, description="Attempts after the first, for transient errors.")
    requests_per_minute: float | None = Field(None, gt=0, description="The most requests a minute.")
    tokens_per_minute: float | None = Field(None, gt=0, description="About the most prompt tokens a minute.")
    max_usd: float | None = Field(
        None, gt=0, description="Stop before the calls of this run can cost more, in US dollars."
    )
    prices: PathOption | None = Field(
        None, description="A file of prices, in place of those that come with this version."
    )

    @classmethod
    def find_panel(cls, option: str) -> str:
        """Return the name of the panel of a command's help that lists `option`: `cost` or `model`."""
        return "cost" if option in ("max_usd", "prices") else "model"

    @property
    def needs_all_answers(self) -> bool:
        """Whether every review needs an answer of the model, so that a missing answer is known before the run."""
        return True

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
