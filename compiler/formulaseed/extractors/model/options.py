"""Asks a model, live or in batches: the options of `anthropic`, and what it has in common with `cascade`.

In: options and a program. Out: an open extractor, whose answers are in the store. Where no call can be made, a run is possible as
long as the store has every answer.
"""

from __future__ import annotations

import os
import time
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from formulaseed.data.jsonl import lines_of
from formulaseed.data.results import Failures
from formulaseed.diagnostics.model import number_of
from formulaseed.errors import ArgumentError, DataError, FormulaSeedError
from formulaseed.extractors.base import OpenExtractor, fields_of
from formulaseed.extractors.options import Callbacks, ExtractorOptions, LinesOption, PathOption, Seconds
from formulaseed.ir import nodes
from formulaseed.llm.calls import Effort, cost_text
from formulaseed.runtime.reviews import ReviewSource

if TYPE_CHECKING:
    from formulaseed.extractors.model.answers import AnswerCache, UsageStats
    from formulaseed.extractors.model.asking import LiveExtractor
    from formulaseed.extractors.model.examples import ReviewKey
    from formulaseed.extractors.model.prompting import PromptSpec
    from formulaseed.extractors.model.store import Store
    from formulaseed.llm.connecting import Limits
    from formulaseed.llm.prices import Prices


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

    def require(self) -> None:
        """Raise `NotReady` if no call can be made, and the store has no answer either.

        Raises `FormulaSeedError` inside a running event loop, and `ArgumentError` for a limit of costs without a price.
        """
        from formulaseed.llm.connecting import NotReady, must_be_ready

        _refuse_running_loop()
        self._read_prices()
        try:
            must_be_ready()
        except NotReady:
            with self._open_store(read_only=True) as store:
                if not store.info()["answers"]:
                    raise

    @contextmanager
    def open(
        self, program: nodes.Program, source: ReviewSource, failures: Failures, callbacks: Callbacks
    ) -> Iterator[OpenExtractor]:
        from formulaseed.extractors.model.store import opened_for_run

        if source.can_reread:
            source.keep()
        prices = self._read_prices()
        spec = self._prompt(program, source, callbacks)
        self._require_answers(spec, prices, source)
        with opened_for_run(self._store_path()) as store:
            answers = self._cache(spec, prices, store)
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
        if source.can_reread:
            source.keep()
        prices = self._read_prices()
        spec = self._prompt(program, source, callbacks)
        with self._open_store(read_only=True) as store:
            return self._estimate(self._cache(spec, prices, store), source)

    @abstractmethod
    def _estimate(self, answers: AnswerCache, source: ReviewSource) -> list[str]:
        """Return what a run would ask that these answers do not have, and what that would cost."""

    def _read_prices(self) -> Prices:
        """Read the prices. Raises `ArgumentError` for a limit of costs without the model's price."""
        from formulaseed.llm.prices import read_prices

        prices = read_prices(Path(self.prices) if self.prices is not None else None)
        if self.max_usd is not None and self.model not in prices.models:
            raise ArgumentError(
                "max_usd",
                f"needs a price, and there is none for {self.model}; the option `prices` takes a file with one",
            )
        return prices

    def _prompt(self, program: nodes.Program, source: ReviewSource, callbacks: Callbacks) -> PromptSpec:
        """Return what is asked about each review, with the examples of the option or of the seed."""
        from formulaseed.extractors.model.examples import reviewed_answers, texts_of
        from formulaseed.extractors.model.prompting import PromptSpec

        def find_texts(keys: Collection[ReviewKey]) -> dict[ReviewKey, str]:
            if not source.can_reread:
                raise ArgumentError(
                    "examples", "has lines without a `text`, which are looked up in the contexts: pass files, no pipes"
                )
            return texts_of(source.restaurants(), keys)

        fields, examples = fields_of(program), program.examples
        if self.examples is not None:
            lines = lines_of(self.examples, "examples")
            file = os.fsdecode(self.examples) if isinstance(self.examples, str | os.PathLike) else "`examples`"
            examples = reviewed_answers(lines, fields, program.review_handling, find_texts)
            if not examples:
                raise DataError(f"{file} has no reviewed answer")
            callbacks.notify(f"examples: {number_of(len(examples), 'reviewed answer')} of {file}")
        return PromptSpec(
            fields,
            model=self.model,
            effort=self.effort,
            passes=program.passes,
            own_prompt=program.extraction_prompt,
            examples=examples,
        )

    def _require_answers(self, spec: PromptSpec, prices: Prices, source: ReviewSource) -> None:
        """Raise `NotReady` if no call can be made, and the store lacks an answer that is sure to be needed."""
        from formulaseed.llm.connecting import NotReady, must_be_ready

        try:
            must_be_ready()
        except NotReady:
            if not source.can_reread or not self._needs_all_answers():
                return
            with self._open_store(read_only=True) as store:
                if next(self._cache(spec, prices, store).unanswered(source.relevant()), None) is not None:
                    raise

    def _needs_all_answers(self) -> bool:
        return True

    def _store_path(self) -> Path:
        from formulaseed.extractors.model.store import default_path

        return Path(self.store) if self.store is not None else default_path()

    def _open_store(self, *, read_only: bool) -> Store:
        from formulaseed.extractors.model.store import Store

        return Store(self._store_path(), read_only=read_only)

    def _cache(self, spec: PromptSpec, prices: Prices, store: Store) -> AnswerCache:
        from formulaseed.extractors.model.answers import AnswerCache, UsageStats

        return AnswerCache(spec, store, UsageStats(prices), retry_errors=self.retry_errors)

    def _limits(self) -> Limits:
        from dataclasses import fields

        from formulaseed.llm.connecting import Limits

        return Limits(**{field.name: getattr(self, field.name) for field in fields(Limits)})

    def _live_asker(
        self, answers: AnswerCache, callbacks: Callbacks, total: int | None = None
    ) -> Callable[[], LiveExtractor]:
        """Return what opens an extractor that asks live, each time with an event loop of its own but one budget."""
        from formulaseed.extractors.model.asking import LiveExtractor
        from formulaseed.llm.limiter import CostBudget

        answers.unconfirmed()
        budget = CostBudget(answers.usage.prices, self.max_usd, answers.usage.unconfirmed_usd)
        on_answer = _show_speed(answers.usage, total, callbacks.show_progress)

        def ask() -> LiveExtractor:
            budget.use_in_new_loop()
            return LiveExtractor(answers, self._limits(), budget, on_answer, callbacks.notify)

        return ask


class Anthropic(ModelOptions):
    """Asks a model of Anthropic about each review, live or in batches."""

    name: ClassVar[str] = "anthropic"

    batch: bool = Field(False, description="The Message Batches API, at half the price, within a day.")
    poll: Seconds = Field(30.0, description="Seconds between two polls of a batch.")

    def _ask(self, answers: AnswerCache, source: ReviewSource, callbacks: Callbacks) -> OpenExtractor:
        is_quiet = callbacks.show_progress is None
        if not self.batch:
            is_counted = source.can_reread and not is_quiet
            total = sum(1 for _ in answers.unanswered(source.relevant())) if is_counted else None
            return self._live_asker(answers, callbacks, total)()
        from formulaseed.extractors.model.batching import BatchExtractor

        source.require_rereading("batch")
        return BatchExtractor(
            answers, self._limits(), source.relevant, most_usd=self.max_usd, poll=self.poll,
            notify=(lambda _: None) if is_quiet else callbacks.notify,
        )  # fmt: skip

    def _estimate(self, answers: AnswerCache, source: ReviewSource) -> list[str]:
        from formulaseed.extractors.model.estimating import counted_by_api, estimate

        return estimate(answers, source.relevant(), answers.usage.prices, counted_by_api)


def _show_speed(usage: UsageStats, total: int | None, show: Callable[[str], None] | None) -> Callable[[bool], None]:
    """Return what is called with every answer, and whether it is usable.

    It shows how fast answers come, what they cost and, if their `total` is known, how long the rest will take.
    """
    if show is None:
        return lambda _: None
    start, answered, failed = time.monotonic(), 0, 0

    def count(is_usable: bool) -> None:
        nonlocal answered, failed
        answered, failed = answered + is_usable, failed + (not is_usable)
        rate = (answered + failed) / max(1e-6, time.monotonic() - start)
        note = f"{answered:,} of {total:,} answers" if total is not None else number_of(answered, "answer")
        if failed:
            note += f", {failed:,} failed"
        if total is not None:
            note += f", {_duration(max(0, total - answered - failed) / rate)} left"
        show(f"{note}, {rate:.1f}/s, {cost_text(usage.paid)}")

    return count


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _refuse_running_loop() -> None:
    """Raise `FormulaSeedError` inside a running event loop, which the calls would block."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    reason = "a model cannot be asked from inside a running event loop"
    raise FormulaSeedError(f"{reason}; write `await asyncio.to_thread(formulaseed.run, …)`")
