"""What a classifier sees of a review: the TF-IDF weights of its words and of its pairs of neighbouring words, and its meaning.

In: texts. Out: sparse matrices, a row for each text. Words are counted once; weights are learned anew from the rows of each
training, so that a fold's held-out reviews have no part in them. The meaning is the mean of static vectors, which the package
wordllama ships; it tells of words that no recorded review has. Both have length 1. scikit-learn and wordllama, of the extra
`train`, are imported here and in `classifying` alone, when they are used; nothing is downloaded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from formulaseed.errors import require_extra

_WORD = r"\w+(?:['’]\w+)?"
_MOST_WORDS = 100_000
"""Different words and pairs that are counted, the most frequent ones."""
_BATCH = 1_000
"""Texts whose words are counted at a time."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute in one thread, so that sums have the same bits everywhere. Raises `UnreadableError` without the extra `train`."""
    with require_extra("train", "training"):
        import sklearn  # noqa: F401
        import wordllama  # noqa: F401
        from threadpoolctl import threadpool_limits
    with threadpool_limits(1):
        yield


def require_training() -> None:
    """Raise `UnreadableError` if the extra `train` is not installed, before anything is read or asked."""
    with one_thread():
        pass


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


def meanings(texts: Sequence[str]) -> Any:
    """Return the meaning of each text, a row of length 1; zeros for a text without a word."""
    import numpy as np
    from scipy.sparse import csr_matrix

    model = _vectors()
    found = np.zeros((len(texts), model.embedding.shape[1]))
    for row, text in zip(found, texts, strict=True):  # one by one: together all would be as long as the longest
        whole = text.encode("utf-8", "replace").decode()  # half a character has no code
        if re.search(_WORD, whole):
            tokens = model.tokenizer.encode(whole, add_special_tokens=False).ids
            mean = model.embedding[tokens].mean(axis=0, dtype=float)
            row += mean / (np.linalg.norm(mean) or 1)
    return csr_matrix(found)


@cache
def _vectors() -> Any:
    import wordllama

    return wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
