"""The store of answers: an SQLite file, so that nothing is paid twice.

One row per answer, by the question's key, beside the ledger of what was sent for it. Every answer is committed when it
comes, so a run killed at any moment loses only what was in flight.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from formulaseed.data.records import StoredAnswerLine
from formulaseed.extractors.model.ledger import Ledger
from formulaseed.extractors.model.store_file import Database, StoreError
from formulaseed.llm.calls import Usage

_COLUMNS = (
    "key", "model", "content", "reason", "batch", "input", "cache_write", "cache_read", "output", "at", "tries",
)  # fmt: skip
"""The columns of an answer, and the keys of an exported one."""
# named, since SQLite rereads a table that another process has just altered only where a statement names columns
_INSERT = f"INTO answers ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
_REPLACE = f"ON CONFLICT (key) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _COLUMNS[1:])}"


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

    A `read_only` one changes nothing on the disk, and is empty where there is no file; `because` of what, where it should
    have been written.
    """

    def __init__(
        self, path: Path, *, must_exist: bool = False, read_only: bool = False, because: StoreError | None = None
    ) -> None:
        self.path = path
        self._db = Database(path, must_exist=must_exist, read_only=read_only, because=because)
        self.ledger = Ledger(self._db)
        self.transaction = self._db.transaction

    def close(self) -> None:
        try:
            self.ledger.close()
        finally:
            self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close()
        if kind is None:
            self._db.must_be_unchanged()

    # --- answers

    def get(self, key: str) -> StoredAnswer | None:
        query = (
            "SELECT content, reason, input, cache_write, cache_read, output, batch, tries FROM answers WHERE key = ?"
        )
        with self._db.guarded():
            for row in self._db.rows(query, (key,)):
                content = json.loads(row[0]) if row[0] is not None else None
                return StoredAnswer(content, row[1], Usage(*row[2:6]), bool(row[6]), row[7])
        return None

    def forget(self, key: str) -> None:
        """Delete an answer. A read-only store keeps it."""
        if not self._db.is_read_only:
            self._db.execute("DELETE FROM answers WHERE key = ?", (key,))

    def reject(self, key: str, reason: str) -> None:
        """Make a usable answer an unusable one. A read-only store keeps it."""
        if not self._db.is_read_only:
            self._db.execute("UPDATE answers SET content = NULL, reason = ? WHERE key = ?", (reason, key))

    def put(self, key: str, model: str, stored: StoredAnswer) -> None:
        """Store an answer. A usable one is never replaced."""
        content = json.dumps(stored.content, ensure_ascii=False) if stored.content is not None else None
        tokens = stored.usage.to_json().values()
        values = (key, model, content, stored.reason, int(stored.is_batch), *tokens, time.time(), stored.tries)
        self._db.execute(f"INSERT {_INSERT} {_REPLACE} WHERE answers.content IS NULL", values)

    # --- management

    def info(self) -> dict[str, Any]:
        """Return what is in the store, by model."""
        answers = self._db.rows(
            "SELECT model, batch, COUNT(content), COUNT(*) - COUNT(content), SUM(input), SUM(cache_write), "
            "SUM(cache_read), SUM(output), MIN(at), MAX(at) FROM answers GROUP BY model, batch ORDER BY model, batch"
        )
        files = [self.path.with_name(self.path.name + end) for end in ("", "-wal", "-shm")]
        return {
            "path": str(self.path),
            "version": self._db.version,
            "bytes": sum(file.stat().st_size for file in files if file.exists()),
            "answers": [
                {
                    "model": row[0], "batch": bool(row[1]), "usable": row[2], "unusable": row[3],
                    "usage": Usage(*row[4:8]), "first": row[8], "last": row[9],
                }
                for row in answers
            ],
        }  # fmt: skip

    def export(self) -> Iterator[dict[str, Any]]:
        """Yield every answer as an object, ordered by key."""
        for row in self._db.stream(f"SELECT {', '.join(_COLUMNS)} FROM answers ORDER BY key"):
            answer = dict(zip(_COLUMNS, row, strict=True))
            if answer["content"] is not None:
                with self._db.guarded():
                    answer["content"] = json.loads(answer["content"])
            yield answer

    def take(self, line: dict[str, Any]) -> bool:
        """Import an exported answer; return whether it was new. Raises `DataError` for what is not one."""
        answer = StoredAnswerLine.read(line)
        content = json.dumps(answer.content, ensure_ascii=False) if answer.content is not None else None
        values = tuple(content if name == "content" else getattr(answer, name) for name in _COLUMNS)
        return self._db.execute(f"INSERT OR IGNORE {_INSERT}", values).rowcount > 0

    def prune(self, *, before: float | None = None, model: str | None = None, unusable: bool = False) -> int:
        """Delete the answers that meet every given condition; return their number. The ledger is kept."""
        tests = {"at < ?": before, "model = ?": model, "content IS NULL AND ?": unusable or None}
        given = {test: value for test, value in tests.items() if value is not None}
        done = self._db.execute(f"DELETE FROM answers WHERE {' AND '.join(given) or '1'}", list(given.values()))
        self._db.execute("VACUUM")
        return done.rowcount


def opened_for_run(path: Path) -> Store:
    """Open a store to write, or to read where it can only be read: then a question that has to be asked raises why."""
    try:
        return Store(path)
    except StoreError as error:
        if not path.is_file():
            raise
        try:
            return Store(path, read_only=True, because=error)
        except StoreError:
            raise error from None
