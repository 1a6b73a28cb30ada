"""Stores answers in an SQLite file, so that no answer is paid for twice.

The file has a row for each answer, by the question's key, and the ledger of the calls that were sent. Every answer is committed
when it arrives, so a run that is killed at any moment loses only the calls in flight.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from formulaseed.data.records import StoredAnswerLine
from formulaseed.extractors.model.ledger import Ledger
from formulaseed.extractors.model.store_file import Database, StoreError
from formulaseed.llm.calls import ModelCapabilities, Usage

_COLUMNS = (
    "key", "model", "content", "reason", "batch", "input", "cache_write", "cache_read", "output", "at", "tries",
)  # fmt: skip
"""The columns of an answer, and the keys of an exported one."""
# named, since SQLite rereads a table that another process has just altered only where a statement names columns
_INSERT = f"INTO answers ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
_REPLACE = f"ON CONFLICT (key) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _COLUMNS[1:])}"


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """An answer that was paid for: an object of values, or None and the reason why the answer is unusable.

    `tries` is the number of times that the question was asked until then.
    """

    content: dict[str, Any] | None
    reason: str
    usage: Usage
    is_batch: bool = False
    tries: int = 1


def default_path() -> Path:
    """Return the path of the store in the user's cache folder, which depends on the system; creates nothing."""
    home = Path(os.path.expanduser("~"))  # unlike `Path.home`, this raises nothing
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return base / "formulaseed" / "answers.sqlite"


class Store:
    """An open store. Every method raises `StoreError` if the file cannot be used. The arguments are those of `Database`.

    As a context manager, it closes the file at the end of the block, and raises `StoreError` if it was read without locks and has
    changed in the meantime.
    """

    def __init__(
        self, path: Path, *, must_exist: bool = False, read_only: bool = False, because: StoreError | None = None
    ) -> None:
        self.path = path
        self._db = Database(path, must_exist=must_exist, read_only=read_only, because=because)
        self.ledger = Ledger(self._db)
        self.transaction = self._db.transaction

    def close(self) -> None:
        """Release the claims of this process, and close the file."""
        try:
            self.ledger.close()
        finally:
            self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close()
        if kind is None:
            self._db.check_unchanged()

    # --- answers

    def get(self, key: str) -> StoredAnswer | None:
        """Return the answer to the question `key`, usable or not; None if there is none.

        The content of an unusable answer is None.
        """
        query = (
            "SELECT content, reason, input, cache_write, cache_read, output, batch, tries FROM answers WHERE key = ?"
        )
        with self._db.translate_errors():
            for row in self._db.fetch_all(query, (key,)):
                content = json.loads(row[0]) if row[0] is not None else None
                return StoredAnswer(content, row[1], Usage(*row[2:6]), bool(row[6]), row[7])
        return None

    def forget(self, key: str) -> None:
        """Delete an answer. Does nothing in a read-only store."""
        if not self._db.is_read_only:
            self._db.execute("DELETE FROM answers WHERE key = ?", (key,))

    def reject(self, key: str, reason: str) -> None:
        """Make an answer unusable, for this reason. Does nothing in a read-only store."""
        if not self._db.is_read_only:
            self._db.execute("UPDATE answers SET content = NULL, reason = ? WHERE key = ?", (reason, key))

    def put(self, key: str, model: str, stored: StoredAnswer) -> None:
        """Store an answer. Replaces an unusable answer to the same question, but never a usable one."""
        content = json.dumps(stored.content, ensure_ascii=False) if stored.content is not None else None
        tokens = stored.usage.to_json().values()
        values = (key, model, content, stored.reason, int(stored.is_batch), *tokens, time.time(), stored.tries)
        self._db.execute(f"INSERT {_INSERT} {_REPLACE} WHERE answers.content IS NULL", values)

    # --- servers

    def get_capabilities(self, url: str, model: str) -> ModelCapabilities | None:
        """Return what was learned of a model on a server; None if nothing was, or by another version."""
        rows = self._db.fetch_all("SELECT capabilities FROM servers WHERE url = ? AND model = ?", (url, model))
        with suppress(ValueError, TypeError):
            return ModelCapabilities(**json.loads(rows[0][0])) if rows else None
        return None

    def note_capabilities(self, url: str, model: str, capabilities: ModelCapabilities) -> None:
        """Store what was learned of a model on a server. Does nothing in a read-only store."""
        if not self._db.is_read_only:
            values = (url, model, json.dumps(asdict(capabilities)))
            self._db.execute("INSERT OR REPLACE INTO servers (url, model, capabilities) VALUES (?, ?, ?)", values)

    # --- management

    def info(self) -> dict[str, Any]:
        """Return the path, the version and the size of the store, and the numbers of its answers by model and batch.

        The size includes the files that SQLite keeps beside the store. Times are in seconds since 1970.
        """
        answers = self._db.fetch_all(
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
        """Yield every answer, usable or not, as a JSON object, ordered by key; its keys are `_COLUMNS`."""
        for row in self._db.fetch_each(f"SELECT {', '.join(_COLUMNS)} FROM answers ORDER BY key"):
            answer = dict(zip(_COLUMNS, row, strict=True))
            if answer["content"] is not None:
                with self._db.translate_errors():
                    answer["content"] = json.loads(answer["content"])
            yield answer

    def import_answer(self, line: dict[str, Any]) -> bool:
        """Add an exported answer; return False if the store already has an answer to its question, which it keeps.

        Raises `DataError` if the line is no exported answer.
        """
        answer = StoredAnswerLine.read(line)
        content = json.dumps(answer.content, ensure_ascii=False) if answer.content is not None else None
        values = tuple(content if name == "content" else getattr(answer, name) for name in _COLUMNS)
        return self._db.execute(f"INSERT OR IGNORE {_INSERT}", values).rowcount > 0

    def prune(self, *, before: float | None = None, model: str | None = None, unusable: bool = False) -> int:
        """Delete the answers that meet all conditions, compact the file, and return their number. The ledger is kept.

        `before` selects older answers, in seconds since 1970. A condition that is None or False selects all answers.
        """
        all_conditions = {"at < ?": before, "model = ?": model, "content IS NULL AND ?": unusable or None}
        conditions = {test: value for test, value in all_conditions.items() if value is not None}
        where = " AND ".join(conditions) or "1"
        deletion = self._db.execute(f"DELETE FROM answers WHERE {where}", list(conditions.values()))
        self._db.execute("VACUUM")
        return deletion.rowcount


def open_for_run(path: Path) -> Store:
    """Open a store to write. If that fails but the file can be read, open it to read only.

    In a store that is only read, asking a question raises the error that prevented writing. Raises `StoreError` if the file
    cannot be read either.
    """
    try:
        return Store(path)
    except StoreError as error:
        if not path.is_file():
            raise
        try:
            return Store(path, read_only=True, because=error)
        except StoreError:
            raise error from None
