"""The store of answers: an SQLite file, so that nothing is paid twice.

One row per answer, by the question's key; one row in the ledger for every attempt, failed ones too; the batches in
progress. Every answer is committed when it comes, so a run killed at any moment loses only what was in flight.
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
from formulaseed.extractors.model.store_file import StoreError, opened_to_read, opened_to_write, transaction
from formulaseed.llm.calls import Attempt, Usage

_COLUMNS: dict[str, tuple[type, ...]] = {
    "key": (str,), "model": (str,), "content": (dict, type(None)), "reason": (str,), "batch": (int,), "input": (int,),
    "cache_write": (int,), "cache_read": (int,), "output": (int,), "at": (int, float), "tries": (int,),
}  # fmt: skip
"""The columns of an answer, and the types that an exported one has in JSON."""
# named, since SQLite rereads a table that another process has just altered only where a statement names columns
_INSERT = f"INTO answers ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
_REPLACE = f"ON CONFLICT (key) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in list(_COLUMNS)[1:])}"
_MOST = 10**12
"""The largest number in an exported answer."""


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """An answer: an object of values, or None and the reason why it is unusable. Either was paid for.

    `tries` is how often the question was asked until then.
    """

    content: dict[str, Any] | None
    reason: str
    usage: Usage
    is_batch: bool = False
    tries: int = 1


def default_path() -> Path:
    """Return the path of the store in the user's cache folder."""
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

    A `read_only` one changes nothing on the disk, and is empty where there is no file.
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
        query = (
            "SELECT content, reason, input, cache_write, cache_read, output, batch, tries FROM answers WHERE key = ?"
        )
        with self._guarded():
            row = self._db.execute(query, (key,)).fetchone()
            if row is None:
                return None
            content = json.loads(row[0]) if row[0] is not None else None
            return StoredAnswer(content, row[1], Usage(*row[2:6]), bool(row[6]), row[7])

    def forget(self, key: str) -> None:
        """Delete an answer. A read-only store keeps it."""
        if not self._is_read_only:
            with self._guarded():
                self._db.execute("DELETE FROM answers WHERE key = ?", (key,))

    def reject(self, key: str, reason: str) -> None:
        """Make a usable answer an unusable one. A read-only store keeps it."""
        if not self._is_read_only:
            with self._guarded():
                self._db.execute("UPDATE answers SET content = NULL, reason = ? WHERE key = ?", (reason, key))

    def put(self, key: str, model: str, stored: StoredAnswer) -> None:
        """Store an answer. A usable one is never replaced."""
        content = json.dumps(stored.content, ensure_ascii=False) if stored.content is not None else None
        tokens = stored.usage.to_json().values()
        values = (key, model, content, stored.reason, int(stored.is_batch), *tokens, time.time(), stored.tries)
        with self._guarded():
            self._db.execute(f"INSERT {_INSERT} {_REPLACE} WHERE answers.content IS NULL", values)

    # --- the ledger

    def note(self, attempt: Attempt, *, is_batch: bool = False) -> None:
        """Write an attempt into the ledger."""
        tokens = attempt.usage.to_json().values() if attempt.usage else (None,) * 4
        about = (attempt.key, attempt.model, attempt.status, is_batch)
        values = (*about, *tokens, attempt.request_id, attempt.ms, time.time())
        names = "key, model, status, batch, input, cache_write, cache_read, output, request_id, ms, at"
        with self._guarded():
            self._db.execute(f"INSERT INTO attempts ({names}) VALUES ({', '.join('?' * len(values))})", values)

    # --- batches

    def open_batches(self, asked: str | None = None) -> list[str]:
        """Return the ids of the batches whose results have not been read, the oldest first: one specification's, or all."""
        query = "SELECT id FROM batches WHERE ended IS NULL AND asked = COALESCE(?, asked) ORDER BY at, id"
        with self._guarded():
            return [row[0] for row in self._db.execute(query, (asked,))]

    def is_batched(self, key: str) -> bool:
        """Whether a batch in progress asks this question."""
        with self._guarded():
            return self._db.execute("SELECT 1 FROM batched WHERE key = ?", (key,)).fetchone() is not None

    def begin_batch(self, batch: str, asked: str, keys: Iterable[str]) -> None:
        """Note a batch of these questions; `asked` is the id of the specification, which alone can read its answers."""
        with self.transaction():
            values = (batch, asked, time.time())
            self._db.execute("INSERT OR IGNORE INTO batches (id, asked, at) VALUES (?, ?, ?)", values)
            pairs = ((key, batch) for key in keys)
            self._db.executemany("INSERT OR IGNORE INTO batched (key, batch) VALUES (?, ?)", pairs)

    @contextmanager
    def result_of(self, key: str, batch: str) -> Iterator[bool]:
        """Take one result of a batch in a transaction; yields False where it was taken before."""
        with self.transaction():
            done = self._db.execute("DELETE FROM batched WHERE key = ? AND batch = ?", (key, batch))
            yield done.rowcount > 0

    def end_batch(self, batch: str) -> None:
        """Note that all results of the batch have been read, or that it has none."""
        with self.transaction():
            self._db.execute("UPDATE batches SET ended = ? WHERE id = ?", (time.time(), batch))
            self._db.execute("DELETE FROM batched WHERE batch = ?", (batch,))

    # --- management

    def info(self) -> dict[str, Any]:
        """Return what is in the store, by model."""
        by_status = "SELECT status, COUNT(*) FROM attempts GROUP BY status ORDER BY COUNT(*) DESC, status"
        with self._guarded():
            answers = self._db.execute(
                "SELECT model, batch, COUNT(content), COUNT(*) - COUNT(content), SUM(input), SUM(cache_write), "
                "SUM(cache_read), SUM(output), MIN(at), MAX(at) FROM answers GROUP BY model, batch ORDER BY model, batch"
            ).fetchall()
            attempts = dict(self._db.execute(by_status).fetchall())
        files = [self.path.with_name(self.path.name + end) for end in ("", "-wal", "-shm")]
        return {
            "path": str(self.path),
            "version": self._file.version,
            "bytes": sum(file.stat().st_size for file in files if file.exists()),
            "answers": [
                {
                    "model": row[0], "batch": bool(row[1]), "usable": row[2], "unusable": row[3],
                    "usage": Usage(*row[4:8]), "first": row[8], "last": row[9],
                }
                for row in answers
            ],
            "attempts": attempts,
            "open_batches": self.open_batches(),
        }  # fmt: skip

    def spent(self) -> list[tuple[str, bool, int, Usage]]:
        """Return the answered attempts of the ledger and their tokens, by model and by whether they were in a batch."""
        with self._guarded():
            rows = self._db.execute(
                "SELECT model, batch, COUNT(*), SUM(input), SUM(cache_write), SUM(cache_read), SUM(output) FROM attempts "
                "WHERE input IS NOT NULL GROUP BY model, batch ORDER BY model, batch"
            )
            return [(row[0], bool(row[1]), row[2], Usage(*row[3:])) for row in rows]

    def export(self) -> Iterator[dict[str, Any]]:
        """Yield every answer as an object, in the order of their keys."""
        with self._guarded():
            for row in self._db.execute(f"SELECT {', '.join(_COLUMNS)} FROM answers ORDER BY key"):
                line = dict(zip(_COLUMNS, row, strict=True))
                yield {**line, "content": json.loads(line["content"]) if line["content"] is not None else None}

    def take(self, line: dict[str, Any]) -> bool:
        """Import an exported answer; return whether it was new. Raises `DataError` for what is not one."""
        for name, kinds in _COLUMNS.items():
            value = line.get(name)
            if type(value) not in kinds or (isinstance(value, int | float) and not 0 <= value <= _MOST):
                raise DataError(f"`{name}` is missing or not that of an exported answer")
        content = json.dumps(line["content"], ensure_ascii=False) if line["content"] is not None else None
        with self._guarded():
            values = tuple({**line, "content": content}[name] for name in _COLUMNS)
            done = self._db.execute(f"INSERT OR IGNORE {_INSERT}", values)
        return done.rowcount > 0

    def prune(self, *, before: float | None = None, model: str | None = None, unusable: bool = False) -> int:
        """Delete the answers that meet every given condition; return their number. The ledger is kept."""
        tests = {"at < ?": before, "model = ?": model, "content IS NULL AND ?": unusable or None}
        given = {test: value for test, value in tests.items() if value is not None}
        with self._guarded():
            done = self._db.execute(f"DELETE FROM answers WHERE {' AND '.join(given) or '1'}", list(given.values()))
            self._db.execute("VACUUM")
        return done.rowcount

    # --- the file

    @contextmanager
    def transaction(self) -> Iterator[None]:
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
