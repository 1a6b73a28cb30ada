"""Defines the options of the extractors that ask a model, and `anthropic`, which asks it about each review."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from formulaseed.data.results import Failures, ReviewInput
from formulaseed.extractors.base import OpenExtractor
from formulaseed.extractors.options import Callbacks, ExtractorOptions, LinesOption, PathOption, Seconds
from formulaseed.ir import nodes
from formulaseed.llm.calls import Effort
from formulaseed.runtime.reviews import ReviewSource

if TYPE_CHECKING:
    from formulaseed.extractors.model.answers import AnswerCache


class ModelOptions(ExtractorOptions):
    """The options of the extractors that ask a model. Times are seconds, costs US dollars; None is no limit."""

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
    def panel_of(cls, option: str) -> str:
        return "cost" if option in ("max_usd", "prices") else "model"

    @property
    def needs_all_answers(self) -> bool:
        """Whether each review needs an answer of the model."""
        return True

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
