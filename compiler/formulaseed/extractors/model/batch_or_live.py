"""Asks about reviews in batches or, if the server has none, in a call for each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from formulaseed.data.results import Extraction, ReviewInput
from formulaseed.extractors.base import SyncExtractor
from formulaseed.extractors.model.answers import AnswerCache
from formulaseed.extractors.model.asking import LiveExtractor
from formulaseed.extractors.model.batching import BatchExtractor
from formulaseed.llm.batches import NoBatches
from formulaseed.llm.calls import ModelCapabilities


class BatchOrLiveExtractor(BatchExtractor):
    """A batch extractor that asks live on a server without batches. `notify_of_live` is called with a line if it does.

    `open_live` opens the live extractor. The other options are those of `BatchExtractor`.
    """

    def __init__(
        self,
        answers: AnswerCache,
        *arguments: Any,
        open_live: Callable[[], LiveExtractor],
        notify_of_live: Callable[[str], None],
        **options: Any,
    ) -> None:
        super().__init__(answers, *arguments, **options)
        self._open_live = open_live
        self._notify_of_live = notify_of_live

    def extract_all(self, restaurants: Iterable[Sequence[ReviewInput]]) -> Iterator[list[Extraction]]:
        """Ask all questions in batches, then yield the extractions; or ask live. A server is tried for batches once."""
        key = (os.environ.get("ANTHROPIC_BASE_URL", ""), "")
        known = self._answers.store.get_capabilities(*key)
        if known is None or known.batches:
            try:
                self.ask()
            except NoBatches:
                self._answers.store.note_capabilities(*key, ModelCapabilities(batches=False, is_stated=False))
            else:
                yield from SyncExtractor.extract_all(self, restaurants)
                return
        self._notify_of_live("the server has no batches: each review is asked about in a call of its own")
        live = self._open_live()
        try:
            yield from live.extract_all(restaurants)
        finally:
            self.stop_reason = live.stop_reason
            self.can_resume = live.can_resume
