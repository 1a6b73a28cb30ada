"""What all the texts of one file may have together, where each of them has a limit of its own.

In: a number, and what each text takes of it. Out: whether there is enough left. Texts that belong to no file take freely.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Allotment:
    """So many of something for one file: inside `of` each text takes its part, until nothing is left."""

    def __init__(self, name: str) -> None:
        self._left: ContextVar[list[int] | None] = ContextVar(name, default=None)

    @contextmanager
    def of(self, most: int) -> Iterator[None]:
        token = self._left.set([most])
        try:
            yield
        finally:
            self._left.reset(token)

    def take(self, number: int) -> bool:
        """Take so many; whether there were as many left."""
        left = self._left.get()
        if left is None:
            return True
        left[0] -= number
        return left[0] >= 0
