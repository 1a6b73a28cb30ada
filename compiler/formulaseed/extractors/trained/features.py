"""What a classifier sees of a review: the TF-IDF weights of its words and of its pairs of neighbouring words.

In: texts. Out: sparse matrices, a row for each text. Words are counted once; weights are learned anew from the rows of each
training, so that a fold's held-out reviews have no part in them. scikit-learn, of the extra `train`, is imported here and in
`classifying` alone, when it is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from formulaseed.errors import UnreadableError

_WORD = r"\w+(?:['’]\w+)?"
_MOST_WORDS = 100_000
"""Different words and pairs that are counted, the most frequent ones."""
_BATCH = 1_000
"""Texts whose words are counted at a time."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute in one thread, so that sums have the same bits everywhere. Raises `UnreadableError` without scikit-learn."""
    try:
        import sklearn  # noqa: F401
        from threadpoolctl import threadpool_limits
    except ImportError:
        message = "training needs the package `scikit-learn`; run `pip install 'formulaseed[train]'`"
        raise UnreadableError(message) from None
    with threadpool_limits(1):
        yield


class Words:
    """Counts the words and pairs that occur in at least two of the given texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        from sklearn.feature_extraction.text import CountVectorizer

        self._counter: Any = CountVectorizer(
            ngram_range=(1, 2), token_pattern=_WORD, min_df=2, max_features=_MOST_WORDS, strip_accents="unicode"
        )
        try:
            self._counter.fit(texts)
        except ValueError:  # no word occurs in two of them
            self._counter = None

    def count(self, texts: Sequence[str]) -> Any:
        """Return the counts, a row for each text."""
        from scipy.sparse import csr_matrix, vstack

        if self._counter is None or not texts:
            width = 1 if self._counter is None else len(self._counter.vocabulary_)
            return csr_matrix((len(texts), width))
        batches = (texts[start : start + _BATCH] for start in range(0, len(texts), _BATCH))
        return vstack([self._counter.transform(batch) for batch in batches]).tocsr()


class Weights:
    """TF-IDF weights with the logarithm of the counts, learned from the words that occur in two of the given rows."""

    def __init__(self, counts: Any) -> None:
        import numpy as np
        from sklearn.feature_extraction.text import TfidfTransformer

        self._columns = np.flatnonzero(counts.getnnz(axis=0) >= 2)
        self._weights: Any = TfidfTransformer(sublinear_tf=True).fit(counts[:, self._columns]) if self.any else None

    @property
    def any(self) -> bool:
        """Whether there is a word to go by."""
        return len(self._columns) > 0

    def of(self, counts: Any) -> Any:
        """Return the weights, a row for each row of counts."""
        return self._weights.transform(counts[:, self._columns])
