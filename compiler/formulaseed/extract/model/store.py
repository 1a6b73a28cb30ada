"""The store of answers: an SQLite file, so that nothing is paid twice.

One row an answer, by the question's key; one row in the ledger for every attempt, failed ones too; the batches
under way. Every answer is committed when it comes, so a run killed at any moment loses what was in flight at most.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from formulaseed.errors import DataError
from formulaseed.extract.model.store_file import MIGRATIONS, StoreError, opened_to_read, opened_to_write, transaction
from formulaseed.llm.calls import Usage
from formulaseed.llm.client import Attempt

__all__ = ["MIGRATIONS", "Store", "StoreError", "StoredAnswer", "default_path"]

_EXPORTED: dict[str, tuple[type, ...]] = {
    "key": (str,), "model": (str,), "content": (dict, type(None)), "reason": (str,), "batch": (int,), "input": (int,),
    "cache_write": (int,), "cache_read": (int,), "output": (int,), "at": (int, float), "tries": (int,),
}  # fmt: skip
"""What an exported answer has, and the types that JSON gives it."""
_MOST = 10**12
"""Of any number in it."""


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """An answer: an object of values, or None and the reason why it is of no use. Either was paid for.

    `tries` is how often the question was asked until then.
    """

    content: dict[str, Any] | None
    reason: str
    usage: Usage
    is_batch: bool = False
    tries: int = 1


def default_path() -> Path:
    """The store in the user's cache folder."""
    home = Path(os.path.expanduser("~"))  # which never fails, as `Path.home` may
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return base / "formulaseed" / "answers.sqlite"


class Store:
    """An open store. Every method raises `StoreError` where the file cannot be used.

    One that is `read_only` changes nothing on the disk, and is empty where there is no file.
    """

    def __init__(self, path: Path, *, must_exist: bool = False, read_only: bool = False) -> None:
        self.path = path
        self._is_read_only = read_only
        self._has_changed: Callable[[], bool] = lambda: False
        with self._guarded():
            if must_exist and not path.exists():
                raise StoreError(f"there is no store at {path}")
            self._file = opened_to_read(path) if read_only else opened_to_write(path)
        self._db = self._file.db
        self._has_changed = self._file.has_changed

    def close(self) -> None:
        with self._guarded():
            self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close()
        if kind is None and self._has_changed():
            raise self._changed()

    # --- answers

    def get(self, key: str) -> StoredAnswer | None:
        with self._guarded():
            row = self._db.execute(
                "SELECT content, reason, input, cache_write, cache_read, output, batch, tries FROM answers WHERE key = ?",
                (key,),
            ).fetchone()
            if row is None:
                return None
            content = json.loads(row[0]) if row[0] is not None else None
        return StoredAnswer(content, row[1], Usage(*row[2:6]), bool(row[6]), row[7])

    def forget(self, key: str) -> None:
        """Drop an answer. A store that is only read keeps it."""
        if self._is_read_only:
            return
        with self._guarded():
            self._db.execute("DELETE FROM answers WHERE key = ?", (key,))

    def put(self, key: str, model: str, stored: StoredAnswer) -> None:
        """Keep an answer. One that is of use is never replaced."""
        usage = stored.usage
        content = json.dumps(stored.content, ensure_ascii=False) if stored.content is not None else None
        values = (
            key, model, content, stored.reason, int(stored.is_batch),
            usage.input, usage.cache_write, usage.cache_read, usage.output, time.time(), stored.tries,
        )  # fmt: skip
        with self._guarded():
            self._db.execute(
                # named, since SQLite looks again at a table that another process has just altered for a name alone
                "INSERT INTO answers (key, model, content, reason, batch, input, cache_write, cache_read, output, at, tries) "
                f"VALUES ({', '.join('?' * len(values))}) ON CONFLICT (key) DO UPDATE SET "
                "content = excluded.content, reason = excluded.reason, model = excluded.model, batch = excluded.batch, "
                "input = excluded.input, cache_write = excluded.cache_write, cache_read = excluded.cache_read, "
                "output = excluded.output, at = excluded.at, tries = excluded.tries WHERE answers.content IS NULL",
                values,
            )

    # --- the ledger

    def note(self, attempt: Attempt, *, is_batch: bool = False) -> None:
        """Write an attempt into the ledger."""
        usage = attempt.usage
        tokens = (usage.input, usage.cache_write, usage.cache_read, usage.output) if usage else (None,) * 4
        with self._guarded():
            self._db.execute(
                "INSERT INTO attempts (key, model, status, batch, input, cache_write, cache_read, output, request_id, "
                "ms, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (attempt.key, attempt.model, attempt.status, int(is_batch), *tokens, attempt.request_id, attempt.ms,
                 time.time()),
            )  # fmt: skip

    # --- batches

    def open_batches(self, asked: str | None = None) -> list[str]:
        """The ids of the batches whose results have not been read, oldest first; those of one questionnaire, or all."""
        query = "SELECT id FROM batches WHERE ended IS NULL AND asked = COALESCE(?, asked) ORDER BY at, id"
        with self._guarded():
            return [row[0] for row in self._db.execute(query, (asked,))]

    def is_batched(self, key: str) -> bool:
        """Whether a batch under way asks this question."""
        with self._guarded():
            return self._db.execute("SELECT 1 FROM batched WHERE key = ?", (key,)).fetchone() is not None

    def begin_batch(self, batch: str, asked: str, keys: Iterable[str]) -> None:
        """A batch of these questions is under way; `asked` names the questionnaire, which alone can read its answers."""
        with self.together():
            self._db.execute(
                "INSERT OR IGNORE INTO batches (id, asked, at) VALUES (?, ?, ?)", (batch, asked, time.time())
            )
            self._db.executemany(
                "INSERT OR IGNORE INTO batched (key, batch) VALUES (?, ?)", ((key, batch) for key in keys)
            )

    @contextmanager
    def result_of(self, key: str, batch: str) -> Iterator[bool]:
        """Take one result of a batch: what is written inside is written as one. False where that was done before."""
        with self.together():
            done = self._db.execute("DELETE FROM batched WHERE key = ? AND batch = ?", (key, batch))
            yield done.rowcount > 0

    def end_batch(self, batch: str) -> None:
        """All results of the batch have been read, or there are none to be had."""
        with self.together():
            self._db.execute("UPDATE batches SET ended = ? WHERE id = ?", (time.time(), batch))
            self._db.execute("DELETE FROM batched WHERE batch = ?", (batch,))

    # --- looking after it

    def info(self) -> dict[str, Any]:
        """How much of what is in the store, by model."""
        with self._guarded():
            answers = self._db.execute(
                "SELECT model, batch, COUNT(content), COUNT(*) - COUNT(content), SUM(input), SUM(cache_write), "
                "SUM(cache_read), SUM(output), MIN(at), MAX(at) FROM answers GROUP BY model, batch ORDER BY model, batch"
            ).fetchall()
            attempts = self._db.execute(
                "SELECT status, COUNT(*) FROM attempts GROUP BY status ORDER BY COUNT(*) DESC, status"
            ).fetchall()
        return {
            "path": str(self.path),
            "version": self._file.version,
            "bytes": sum(file.stat().st_size for file in self._files() if file.exists()),
            "answers": [
                {
                    "model": row[0], "batch": bool(row[1]), "usable": row[2], "unusable": row[3],
                    "usage": Usage(*row[4:8]), "first": row[8], "last": row[9],
                }
                for row in answers
            ],
            "attempts": dict(attempts),
            "open_batches": self.open_batches(),
        }  # fmt: skip

    def spent(self) -> list[tuple[str, bool, int, Usage]]:
        """The answered attempts of the ledger and their tokens, by model and by whether a batch carried them."""
        with self._guarded():
            rows = self._db.execute(
                "SELECT model, batch, COUNT(*), SUM(input), SUM(cache_write), SUM(cache_read), SUM(output) FROM attempts "
                "WHERE input IS NOT NULL GROUP BY model, batch ORDER BY model, batch"
            )
            return [(row[0], bool(row[1]), row[2], Usage(*row[3:])) for row in rows]

    def export(self) -> Iterator[dict[str, Any]]:
        """Every answer as an object, in the order of their keys."""
        with self._guarded():
            for row in self._db.execute(f"SELECT {', '.join(_EXPORTED)} FROM answers ORDER BY key"):
                line = dict(zip(_EXPORTED, row, strict=True))
                yield {**line, "content": json.loads(line["content"]) if line["content"] is not None else None}

    def take(self, line: dict[str, Any]) -> bool:
        """Take over an exported answer; whether it was new. Raises `DataError` for what is none."""
        for name, kinds in _EXPORTED.items():
            value = line.get(name)
            if type(value) not in kinds or (isinstance(value, int | float) and not 0 <= value <= _MOST):
                raise DataError(f"`{name}` is missing, or is none of an exported answer")
        content = json.dumps(line["content"], ensure_ascii=False) if line["content"] is not None else None
        with self._guarded():
            done = self._db.execute(
                f"INSERT OR IGNORE INTO answers ({', '.join(_EXPORTED)}) VALUES ({', '.join('?' * len(_EXPORTED))})",
                tuple({**line, "content": content}[name] for name in _EXPORTED),
            )
        return done.rowcount > 0

    def prune(self, *, before: float | None = None, model: str | None = None, unusable: bool = False) -> int:
        """Forget the answers that meet every given condition; how many those were. The ledger is kept."""
        tests = [("at < ?", before)] if before is not None else []
        tests += [("model = ?", model)] if model is not None else []  # type: ignore[list-item]
        where = " AND ".join([test for test, _ in tests] + (["content IS NULL"] if unusable else []))
        with self._guarded():
            done = self._db.execute(f"DELETE FROM answers WHERE {where or '1'}", [value for _, value in tests])
            self._db.execute("VACUUM")
        return done.rowcount

    # --- the file

    def _files(self) -> list[Path]:
        return [self.path.with_name(self.path.name + end) for end in ("", "-wal", "-shm")]

    @contextmanager
    def together(self) -> Iterator[None]:
        """Write everything inside, or nothing of it."""
        with self._guarded(), transaction(self._db):
            yield

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, ValueError, OverflowError, RecursionError) as error:
            if self._has_changed():
                raise self._changed() from None
            raise StoreError(f"the store {self.path} cannot be used: {error}") from None

    def _changed(self) -> StoreError:
        return StoreError(f"{self.path} has changed while it was read; run the command again")
