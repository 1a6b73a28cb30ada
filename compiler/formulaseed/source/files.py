"""The bytes of a file, so many at most: unpacked where its name ends in `.gz`, of standard input for `-`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from formulaseed.errors import UnreadableError, reason_of


def read_bytes(given: str | os.PathLike[str], most: int) -> tuple[bytes, Path | None]:
    """What a file holds, cut off after `most` bytes and one more, and its path where it can be written back as it is.

    Raises `UnreadableError` where it cannot be opened or unpacked.
    """
    name = os.fspath(given)
    path = Path(name) if name != "-" else None
    try:
        if path is None:
            data = sys.stdin.buffer.read(most + 1) if sys.stdin is not None else b""
        else:
            with path.open("rb") as file:
                data = file.read(most + 1)
    except (OSError, ValueError) as error:
        raise UnreadableError(f"cannot read {name}: {reason_of(error)}") from None
    if name.endswith(".gz") and len(data) <= most:
        return _unpacked(name, data, most), None
    return data, path


def _unpacked(name: str, data: bytes, most: int) -> bytes:
    import gzip
    import zlib
    from io import BytesIO

    try:
        with gzip.open(BytesIO(data), "rb") as packed:
            return packed.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableError(f"cannot read {name}: {error}") from None
