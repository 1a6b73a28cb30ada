"""Loads seeds for tests, and caches them by the content of their files."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from formulaseed import limits
from formulaseed.data.files import read_bytes
from formulaseed.documents import FormulaSeed, SeedLike, load_seed


def load_cached_seed(seed: SeedLike | FormulaSeed) -> FormulaSeed:
    """Load a checked seed, from a cache if it is the path of a file with the same content as before.

    Raises the errors of `load_seed`, such as `SeedError` for a seed with errors.
    """
    if not isinstance(seed, str | os.PathLike) or os.fspath(seed) == "-":
        return load_seed(seed)
    data, _ = read_bytes(seed, limits.SEED_BYTES)
    return _load_content(os.fspath(seed), Path.cwd(), data)


@lru_cache(maxsize=16)
def _load_content(path: str, folder: Path, data: bytes) -> FormulaSeed:
    """Load the seed at a path; `folder`, which `path` may be relative to, and `data`, its content, are keys of the cache."""
    return load_seed(path)
