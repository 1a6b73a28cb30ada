"""Load seeds for tests: each file is read and checked once."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from formulaseed import limits
from formulaseed.data.files import read_bytes
from formulaseed.documents import FormulaSeed, SeedLike, load_seed


def loaded_seed(seed: SeedLike | FormulaSeed) -> FormulaSeed:
    """Return the checked seed; that of a path is kept for as long as the file has the same content.

    Raises what `load_seed` raises.
    """
    if not isinstance(seed, str | os.PathLike) or os.fspath(seed) == "-":
        return load_seed(seed)
    data, _ = read_bytes(seed, limits.SEED_BYTES)
    return _seed_of(os.fspath(seed), Path.cwd(), data)


@lru_cache(maxsize=16)
def _seed_of(path: str, folder: Path, data: bytes) -> FormulaSeed:
    return load_seed(path)
