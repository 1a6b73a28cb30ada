"""Questions, the store of answers and the tally, put together: what both carriers share.

In: reviews and answers. Out: extractions made of stored answers. What an answer says is read anew whenever it is
taken out of the store, so a store from elsewhere can bring no value that a field does not have.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from formulaseed.data.extractions import NOT_ASKED, Extraction, ReviewText
from formulaseed.extract.base import SyncExtractor
from formulaseed.extract.model.prompting import PromptSpec, Question, Unusable
from formulaseed.extract.model.store import Store, StoredAnswer
from formulaseed.extract.model.usage import UsageStats
from formulaseed.extract.passes import majority
from formulaseed.llm.calls import Answer, Usage
from formulaseed.llm.client import Attempt

ASKED_AT_MOST = 3
"""So often one question is asked where the answers are of no use."""


class AnswerCache:
    """A question whose answers are of no use is asked `ASKED_AT_MOST` times, over all runs; then that is remembered.

    `retry_errors`: what earlier runs remember of that kind counts as nothing.
    """

    def __init__(self, asked: PromptSpec, store: Store, tally: UsageStats, *, retry_errors: bool = False) -> None:
        self.asked = asked
        self.tally = tally
        self.store = store
        self._retry_errors = retry_errors
        self._asked_anew: set[str] = set()

    def find(self, question: Question) -> StoredAnswer | None:
        """The stored answer to a question, None where it has to be asked."""
        stored = self.store.get(question.key)
        if stored is None:
            return None
        if stored.content is None:
            return stored if self._tries(question.key, stored) >= ASKED_AT_MOST else None
        try:
            self.asked.values(stored.content, "")
        except Unusable:  # it is from elsewhere: what was asked for under this key was read before it was stored
            self.store.forget(question.key)
            return None
        return stored

    def tries(self, key: str) -> int:
        """How often a question was asked that has no answer of use."""
        stored = self.store.get(key)
        return self._tries(key, stored) if stored is not None else 0

    def _tries(self, key: str, stored: StoredAnswer) -> int:
        return 0 if self._retry_errors and key not in self._asked_anew else stored.tries

    def spared(self, stored: StoredAnswer) -> None:
        """Count an answer that did not have to be asked for."""
        self.tally.spared(self.asked.model, stored.usage, is_batch=stored.is_batch)

    def keep(self, key: str, answer: Answer, attempt: Attempt) -> StoredAnswer:
        """Store what an answer says, or why it is of no use, and what it took, as one."""
        with self.store.together():
            self.attempted(attempt)
            return self.read(key, answer)

    def read(self, key: str, answer: Answer, *, is_batch: bool = False) -> StoredAnswer:
        """Store what an answer says, or why it is of no use. A refusal is not asked about again."""
        tries = self.tries(key) + 1
        try:
            stored = StoredAnswer(self.asked.read(answer), "", answer.usage, is_batch, tries)
        except Unusable as error:
            tries = ASKED_AT_MOST if answer.stop_reason == "refusal" else tries
            stored = StoredAnswer(None, str(error), answer.usage, is_batch, tries)
            if self._retry_errors:
                self._asked_anew.add(key)
        self.store.put(key, self.asked.model, stored)
        return stored

    def attempted(self, attempt: Attempt, *, is_batch: bool = False) -> None:
        """Count an attempt, and write it into the ledger."""
        self.tally.attempt(attempt, is_batch=is_batch)
        self.store.note(attempt, is_batch=is_batch)

    def extraction(self, review: ReviewText, passes: Sequence[StoredAnswer]) -> Extraction:
        """The review's values by the majority of its passes. One pass without values is a failure of the review."""
        failed = [each.reason for each in passes if each.content is None]
        if failed:
            self.tally.failed += 1
            return Extraction(review.review_id, None, failed[0])
        if not passes:
            return Extraction(review.review_id, {})
        values = [self.asked.values(each.content, review.text) for each in passes]
        if len(values) > 1:
            self.tally.agreement.add(values)
        chosen = majority(values)
        self.tally.quoted(chosen.quotes)
        return Extraction(review.review_id, chosen.fields, quotes=chosen.quotes)


class StoredExtractor(SyncExtractor):
    """Takes what the store holds. `failures` says why a question has no answer there, by its key.

    `asked` are the keys that this run has asked: what else is found was spared.
    """

    def __init__(
        self,
        answers: AnswerCache,
        asked: Collection[str] = (),
        failures: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.name = answers.asked.extractor
        self.prompt_sha256 = answers.asked.prompt_sha256
        self._answers = answers
        self._asked = asked
        self._failures = failures

    def extract(self, reviews: Sequence[ReviewText]) -> list[Extraction]:
        return [self._one(review) for review in reviews]

    def _one(self, review: ReviewText) -> Extraction:
        passes = []
        for question in self._answers.asked.questions(review):
            reason = self._failures.get(question.key, NOT_ASKED)
            stored = self._answers.find(question)
            if stored is not None and question.key not in self._asked:
                self._answers.spared(stored)
            passes.append(stored or StoredAnswer(None, reason, Usage()))
        return self._answers.extraction(review, passes)


def unanswered(
    answers: AnswerCache, restaurants: Iterable[Sequence[ReviewText]], again: Collection[str] = ()
) -> Iterator[Question]:
    """The questions that the store has no answer to, or that are to be asked again, by their keys.

    In the order of the reviews; the same text twice is the same question twice.
    """
    for reviews in restaurants:
        for review in reviews:
            for question in answers.asked.questions(review):
                if question.key in again or answers.find(question) is None:
                    yield question
