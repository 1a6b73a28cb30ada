"""The cache of answers: questions, the store and the usage put together, shared by live calls and batches.

In: reviews and answers. Out: extractions made of stored answers. Each answer is validated again whenever it is
taken out of the store, so a store from elsewhere can bring no value that a field does not have.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from formulaseed.data.results import NOT_ASKED, Extraction, ReviewInput
from formulaseed.extract.base import SyncExtractor
from formulaseed.extract.model.prompting import PromptSpec, Question, majority
from formulaseed.extract.model.store import Store, StoredAnswer
from formulaseed.extract.model.usage import UsageStats
from formulaseed.llm.calls import Answer, Attempt, UnusableAnswer, Usage

MAX_TRIES = 3
"""How often one question is asked where the answers are unusable."""


class AnswerCache:
    """Caches answers. A question whose answers are unusable is asked `MAX_TRIES` times over all runs.

    With `retry_errors` the unusable answers of earlier runs do not count.
    """

    def __init__(self, spec: PromptSpec, store: Store, usage: UsageStats, *, retry_errors: bool = False) -> None:
        self.spec = spec
        self.usage = usage
        self.store = store
        self._retry_errors = retry_errors
        self._retried: set[str] = set()

    def find(self, question: Question) -> StoredAnswer | None:
        """Return the stored answer to a question; None where it has to be asked."""
        stored = self.store.get(question.key)
        if stored is None:
            return None
        if stored.content is None:
            return stored if self._tries(question.key, stored) >= MAX_TRIES else None
        try:
            self.spec.values(stored.content, "")
        except UnusableAnswer:  # from elsewhere: a call's answer is validated before it is stored
            self.store.forget(question.key)
            return None
        return stored

    def tries(self, key: str) -> int:
        """Return how often a question without a usable answer was asked."""
        stored = self.store.get(key)
        return self._tries(key, stored) if stored is not None else 0

    def _tries(self, key: str, stored: StoredAnswer) -> int:
        return 0 if self._retry_errors and key not in self._retried else stored.tries

    def count_stored(self, stored: StoredAnswer) -> None:
        """Count an answer that did not have to be asked for."""
        self.usage.add_stored(self.spec.model, stored.usage, is_batch=stored.is_batch)

    def keep(self, key: str, answer: Answer, attempt: Attempt) -> StoredAnswer:
        """Store an answer and its attempt in one transaction."""
        with self.store.transaction():
            self.attempted(attempt)
            return self.read(key, answer)

    def read(self, key: str, answer: Answer, *, is_batch: bool = False) -> StoredAnswer:
        """Store an answer's content, or why it is unusable. A refusal is not asked about again."""
        tries = self.tries(key) + 1
        try:
            stored = StoredAnswer(self.spec.read(answer), "", answer.usage, is_batch, tries)
        except UnusableAnswer as error:
            tries = MAX_TRIES if answer.stop_reason == "refusal" else tries
            stored = StoredAnswer(None, str(error), answer.usage, is_batch, tries)
            if self._retry_errors:
                self._retried.add(key)
        self.store.put(key, self.spec.model, stored)
        return stored

    def attempted(self, attempt: Attempt, *, is_batch: bool = False) -> None:
        """Count an attempt, and write it into the ledger."""
        self.usage.add_attempt(attempt, is_batch=is_batch)
        self.store.note(attempt, is_batch=is_batch)

    def extraction(self, review: ReviewInput, passes: Sequence[StoredAnswer]) -> Extraction:
        """Return the review's values by the majority of its passes. One pass without values fails the review."""
        failed = [each.reason for each in passes if each.content is None]
        if failed:
            self.usage.failed += 1
            return Extraction(review.review_id, None, failed[0])
        if not passes:
            return Extraction(review.review_id, {})
        values = [self.spec.values(each.content, review.text) for each in passes]
        chosen = majority(values)
        self.usage.add_values(values, chosen)
        return Extraction(review.review_id, chosen.fields, quotes=chosen.quotes)


class StoredExtractor(SyncExtractor):
    """Extracts from the store alone. `failures` has the reason for each question without an answer, by its key.

    `asked` are the keys that this run has asked: any other answer was saved.
    """

    def __init__(
        self,
        answers: AnswerCache,
        asked: Collection[str] = (),
        failures: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.name = answers.spec.extractor
        self.prompt_sha256 = answers.spec.prompt_sha256
        self._answers = answers
        self._asked = asked
        self._failures = failures

    def extract(self, reviews: Sequence[ReviewInput]) -> list[Extraction]:
        return [self._one(review) for review in reviews]

    def _one(self, review: ReviewInput) -> Extraction:
        passes = []
        for question in self._answers.spec.questions(review):
            stored = self._answers.find(question)
            if stored is not None and question.key not in self._asked:
                self._answers.count_stored(stored)
            reason = self._failures.get(question.key, NOT_ASKED)
            passes.append(stored or StoredAnswer(None, reason, Usage()))
        return self._answers.extraction(review, passes)


def unanswered(
    answers: AnswerCache, restaurants: Iterable[Sequence[ReviewInput]], again: Collection[str] = ()
) -> Iterator[Question]:
    """Yield the questions that the store has no answer to, or whose keys are in `again`.

    In the order of the reviews; the same text twice is the same question twice.
    """
    for reviews in restaurants:
        for review in reviews:
            for question in answers.spec.questions(review):
                if question.key in again or answers.find(question) is None:
                    yield question
