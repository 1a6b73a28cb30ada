"""Computes the features of texts for classifiers: TF-IDF weights of words and pairs of adjacent words, and an embedding.

In: texts. Out: sparse matrices, a row for each text. Words are counted once; the weights are learned again from the rows of each
training, so that a fold's held-out reviews do not influence them. The embedding is the mean of static word vectors, which the
package wordllama ships; it covers words that no recorded review has. Both parts of a row have length 1. scikit-learn and
wordllama, of the extra `train`, are imported only here and in `classifying`, when they are used; nothing is downloaded.
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
_MAX_VOCABULARY = 100_000
"""The most words and pairs that are counted; of more, the most frequent ones."""
_BATCH_SIZE = 1_000
"""The number of texts whose words are counted at a time."""


@contextmanager
def use_one_thread() -> Iterator[None]:
    """Limit the block to one thread of computation, so that sums have the same bits everywhere.

    Raises `UnreadableError` if the extra `train` is not installed.
    """
    with require_extra("train", "training"):
        import sklearn  # noqa: F401
        import wordllama  # noqa: F401
        from threadpoolctl import threadpool_limits
    with threadpool_limits(1):
        yield


def check_training_installed() -> None:
    """Raise `UnreadableError` if the extra `train` is not installed."""
    with use_one_thread():
        pass


class WordCounter:
    """Counts words and pairs of adjacent words. Its vocabulary are those that occur in at least two of `texts`."""

    def __init__(self, texts: Sequence[str]) -> None:
        from sklearn.feature_extraction.text import CountVectorizer

        self._counter: Any = CountVectorizer(
            ngram_range=(1, 2), token_pattern=_WORD, min_df=2, max_features=_MAX_VOCABULARY, strip_accents="unicode"
        )
        try:
            self._counter.fit(texts)
        except ValueError:  # no word occurs in two texts
            self._counter = None

    def count(self, texts: Sequence[str]) -> Any:
        """Return a sparse matrix of counts, with a row for each text and a column for each word or pair.

        Words outside the vocabulary do not count. Without a vocabulary there is one column, of zeros.
        """
        from scipy.sparse import csr_matrix, vstack

        if self._counter is None or not texts:
            width = 1 if self._counter is None else len(self._counter.vocabulary_)
            return csr_matrix((len(texts), width))
        batches = (texts[start : start + _BATCH_SIZE] for start in range(0, len(texts), _BATCH_SIZE))
        return vstack([self._counter.transform(batch) for batch in batches]).tocsr()


class TfidfWeights:
    """TF-IDF weights over logarithmic counts, learned from the words that occur in at least two rows of `counts`."""

    def __init__(self, counts: Any) -> None:
        import numpy as np
        from sklearn.feature_extraction.text import TfidfTransformer

        self._columns = np.flatnonzero(counts.getnnz(axis=0) >= 2)
        self._transformer: Any = TfidfTransformer(sublinear_tf=True)
        if self.has_words:
            self._transformer.fit(counts[:, self._columns])

    @property
    def has_words(self) -> bool:
        """Whether any word occurs in at least two rows."""
        return len(self._columns) > 0

    def transform(self, counts: Any) -> Any:
        """Return a sparse matrix of weights, with a row for each row of `counts`.

        Only for weights with `has_words`: without words nothing was learned.
        """
        return self._transformer.transform(counts[:, self._columns])


def embed_texts(texts: Sequence[str]) -> Any:
    """Return a sparse matrix with the embedding of each text, a row of length 1; a text without a word has a row of zeros."""
    import numpy as np
    from scipy.sparse import csr_matrix

    model = _load_word_vectors()
    embeddings = np.zeros((len(texts), model.embedding.shape[1]))
    # one text at a time: the tokenizer would pad all texts of a batch to the longest one
    for row, text in zip(embeddings, texts, strict=True):
        encodable = text.encode("utf-8", "replace").decode()  # the tokenizer rejects unpaired surrogates
        if re.search(_WORD, encodable):
            tokens = model.tokenizer.encode(encodable, add_special_tokens=False).ids
            mean = model.embedding[tokens].mean(axis=0, dtype=float)
            row += mean / (np.linalg.norm(mean) or 1)
    return csr_matrix(embeddings)


@cache
def _load_word_vectors() -> Any:
    """Load the word vectors of the installed package `wordllama`, without a download."""
    import wordllama

    return wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
