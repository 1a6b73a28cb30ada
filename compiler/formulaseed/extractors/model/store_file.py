"""The file of a store: which SQLite databases are stores of formulaseed, and the two ways to open one.

In: a path. Out: an open database of the latest version. A database of another application is refused and left unchanged;
opening to read changes nothing on the disk, not even beside the file. Whatever then goes wrong is a `StoreError`.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from formulaseed.errors import UnreadableError

APPLICATION_ID = 0x46534544
"""`FSED`: by which SQLite and `file` distinguish a store from the databases of other applications."""

MIGRATIONS: tuple[tuple[str, str], ...] = (
    (
        "answers, attempts, batches",
        """
        CREATE TABLE answers (
            key TEXT PRIMARY KEY, model TEXT NOT NULL, content TEXT, reason TEXT NOT NULL DEFAULT '',
            batch INTEGER NOT NULL DEFAULT 0,
            input INTEGER NOT NULL, cache_write INTEGER NOT NULL, cache_read INTEGER NOT NULL, output INTEGER NOT NULL,
            at REAL NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE attempts (
            id INTEGER PRIMARY KEY, key TEXT NOT NULL, model TEXT NOT NULL, status TEXT NOT NULL,
            batch INTEGER NOT NULL DEFAULT 0,
            input INTEGER, cache_write INTEGER, cache_read INTEGER, output INTEGER,
            request_id TEXT NOT NULL DEFAULT '', ms INTEGER NOT NULL, at REAL NOT NULL
        );
        CREATE TABLE batches (id TEXT PRIMARY KEY, asked TEXT NOT NULL, at REAL NOT NULL, ended REAL);
        CREATE TABLE batched (key TEXT NOT NULL, batch TEXT NOT NULL, PRIMARY KEY (key, batch)) WITHOUT ROWID;
        CREATE INDEX batched_of ON batched (batch);
        """,
    ),
    (
        "how often a question without a usable answer was asked",
        "ALTER TABLE answers ADD COLUMN tries INTEGER NOT NULL DEFAULT 1",
    ),
    (
        "attempts that are noted before they are sent, by whom, and what they cost at most; batches before they have an id",
        """
        ALTER TABLE attempts ADD COLUMN owner TEXT NOT NULL DEFAULT '';
        ALTER TABLE attempts ADD COLUMN in_batch INTEGER;
        ALTER TABLE attempts ADD COLUMN is_bound INTEGER NOT NULL DEFAULT 0;
        UPDATE attempts SET is_bound = 1
            WHERE batch = 0 AND status IN ('timeout', 'no connection', 'interrupted', 'broken');
        CREATE TABLE owners (
            id TEXT PRIMARY KEY, host TEXT NOT NULL, pid INTEGER NOT NULL, renewed REAL NOT NULL
        ) WITHOUT ROWID;
        ALTER TABLE batches RENAME TO old_batches;
        CREATE TABLE batches (
            number INTEGER PRIMARY KEY, id TEXT UNIQUE, asked TEXT NOT NULL, owner TEXT NOT NULL DEFAULT '',
            at REAL NOT NULL, ended REAL
        );
        INSERT INTO batches (id, asked, at, ended) SELECT id, asked, at, ended FROM old_batches ORDER BY at, id;
        DROP TABLE old_batches;
        INSERT INTO attempts (key, model, status, batch, ms, at, in_batch, is_bound)
            SELECT key, '', 'sent', 1, 0, at, number, 1 FROM batched JOIN batches ON batch = id
            WHERE ended IS NULL GROUP BY key;
        DROP TABLE batched;
        CREATE UNIQUE INDEX in_flight ON attempts (key) WHERE status = 'sent';
        CREATE INDEX waiting ON attempts (in_batch) WHERE status = 'sent'
        """,
    ),
)
"""What each version of the file adds to the one before, by name. The version is the file's `user_version`."""

_RECOVERY_HELP = "`sqlite3 OLD .recover | sqlite3 NEW` copies what can be read into a new store"
_SECONDS_TO_WAIT = 30.0
"""For the lock of another process."""

Shape = frozenset[tuple[str, str, tuple[str, ...]]]
"""The tables and indexes of a database: the kind of each, its name and its columns."""


class StoreError(UnreadableError):
    """Raised for a store that cannot be read or written."""


class Database:
    """The open file of a store. Every method raises `StoreError` where it cannot be used.

    A `read_only` one changes nothing on the disk, and is empty where there is no file; `because` of what, where it should
    have been written.
    """

    def __init__(
        self, path: Path, *, must_exist: bool = False, read_only: bool = False, because: StoreError | None = None
    ) -> None:
        self.path = path
        self.is_read_only = read_only
        self._because = because
        self._file: Opened | None = None
        with self.guarded():
            if must_exist and not path.exists():
                raise StoreError(f"there is no store at {path}")
            self._file = opened_to_read(path) if read_only else opened_to_write(path)
            self.version = self._file.version
            self._db = self._file.db

    def close(self) -> None:
        with self.guarded():
            self._db.close()

    def must_be_unchanged(self) -> None:
        """Raise `StoreError` where another process has written into a file that is read without locks."""
        if self._file is not None and self._file.has_changed():
            raise StoreError(f"{self.path} has changed while it was read; run the command again")

    def must_be_writable(self) -> None:
        """Raise `StoreError` where nothing can be written, also not what is in memory only."""
        if self.is_read_only:
            if self._because is None:
                raise StoreError(f"the store {self.path} is only read")
            raise StoreError(f"{self._because}; it can be read, but it has not every answer, and takes no new ones")

    def execute(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        with self.guarded():
            return self._db.execute(statement, values)

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return all rows of a query."""
        with self.guarded():
            return self._db.execute(statement, values).fetchall()

    def stream(self, statement: str) -> Iterator[Any]:
        """Yield the rows of a query one by one, without holding all of them in memory."""
        cursor = self.execute(statement)
        while True:
            with self.guarded():
                row = cursor.fetchone()
            if row is None:
                return
            yield row

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write everything inside, or nothing of it."""
        with self.guarded(), transaction(self._db):
            yield

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Turn what SQLite and the system raise into `StoreError`."""
        try:
            yield
        except (sqlite3.Error, OSError, ValueError, OverflowError, RecursionError) as error:
            self.must_be_unchanged()
            is_damaged = getattr(error, "sqlite_errorname", "").startswith("SQLITE_CORRUPT")
            help = f"; {_RECOVERY_HELP}" if is_damaged else ""
            raise StoreError(f"the store {self.path} cannot be used: {error}{help}") from None


@dataclass(frozen=True, slots=True)
class Opened:
    """An open store file. `version` is that of the file; `state` its size and time where it is read without locks."""

    db: sqlite3.Connection
    version: int
    path: Path
    state: tuple[int, int] | None = None

    def has_changed(self) -> bool:
        """Whether another process has written into the file while it was read without locks."""
        return self.state is not None and _state(self.path) != self.state


def opened_to_write(path: Path) -> Opened:
    """Open or create a store, and migrate it. Raises `StoreError` for any other file."""
    if path.exists():
        _refuse_other_files(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path, timeout=_SECONDS_TO_WAIT, isolation_level=None)
    try:
        _version_of_store(db, path)
        _write_ahead(db)
        db.execute("PRAGMA synchronous = NORMAL")
        _migrate(db)
    except BaseException:
        db.close()
        raise
    return Opened(db, len(MIGRATIONS), path)


def opened_to_read(path: Path) -> Opened:
    """Open a store without changing it; where there is no file, an empty one in memory.

    A file that is not in use is read without locks, since SQLite would leave files beside it.
    """
    if not path.exists():
        return Opened(_in_memory(len(MIGRATIONS)), len(MIGRATIONS), path)
    _refuse_other_files(path)
    real = Path(os.path.realpath(path))
    state = None if _is_in_use(real) else _state(real)
    uri = f"{real.as_uri()}?mode=ro{'&immutable=1' if state is not None else ''}"
    db = sqlite3.connect(uri, timeout=_SECONDS_TO_WAIT, isolation_level=None, uri=True)
    try:
        version = _version_of_store(db, path)
        if version == len(MIGRATIONS):
            return Opened(db, version, real, state)
        copy = sqlite3.connect(":memory:", isolation_level=None)
        db.backup(copy)
        db.close()
        _migrate(copy)
        return Opened(copy, version, real, state)
    except BaseException:
        db.close()
        raise


@contextmanager
def transaction(db: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    """Commit everything inside, or nothing; a `DEFERRED` one reads one state of the database."""
    db.execute(f"BEGIN {kind}")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _refuse_other_files(path: Path) -> None:
    if not path.is_file():
        raise StoreError(f"{path} is not a regular file, and cannot be a store")


def _is_in_use(path: Path) -> bool:
    """Whether another process has the file open, or a killed one has left something to read beside it."""
    beside = [path.with_name(f"{path.name}{end}") for end in ("-wal", "-journal", "-shm")]
    journals = [file for file in beside[:2] if file.exists()]
    return any(file.stat().st_size for file in journals) or (beside[0] in journals and beside[2].exists())


def _state(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:  # deleted since
        return -1, -1
    return found.st_size, found.st_mtime_ns


def _version_of_store(db: sqlite3.Connection, path: Path) -> int:
    """Return the version of the store, 0 for an empty one. Raises `StoreError` for other databases and later versions.

    Stores of the first releases have no application id; they are recognised by their tables.
    """
    with transaction(db, "DEFERRED"):
        application, version, shape = _number(db, "application_id"), _number(db, "user_version"), _shape(db)
    is_ours = application == APPLICATION_ID
    if version > len(MIGRATIONS) and (is_ours or (application == 0 and not shape)):
        known = f"this formulaseed knows versions up to {len(MIGRATIONS)}"
        raise StoreError(f"{path} is of version {version}, and {known}; upgrade formulaseed or use another --store")
    is_unmarked = application == 0 and version <= len(MIGRATIONS) and shape == _shape_of(version)
    if not is_ours and not is_unmarked:
        raise StoreError(f"{path} is an SQLite database, but not a store of formulaseed; use another --store")
    return version


def _write_ahead(db: sqlite3.Connection) -> None:
    """Switch to write-ahead logging; SQLite itself does not wait for another process that does the same."""
    until = time.monotonic() + _SECONDS_TO_WAIT
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.05)


def _migrate(db: sqlite3.Connection, to: int = len(MIGRATIONS)) -> None:
    """Migrate a database to a version, step by step, and mark it as a store."""
    while _number(db, "user_version") < to:
        with transaction(db):
            at = _number(db, "user_version")  # another process may have been faster
            if at < to:
                for statement in MIGRATIONS[at][1].split(";"):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {at + 1}")
                db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    if _number(db, "application_id") != APPLICATION_ID:
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _in_memory(version: int) -> sqlite3.Connection:
    db = sqlite3.connect(":memory:", isolation_level=None)
    _migrate(db, version)
    return db


@cache
def _shape_of(version: int) -> Shape:
    if not 0 <= version <= len(MIGRATIONS):
        return frozenset()
    with closing(_in_memory(version)) as db:
        return _shape(db)


def _shape(db: sqlite3.Connection) -> Shape:
    named = db.execute("SELECT type, name FROM sqlite_master WHERE name NOT GLOB 'sqlite_*'").fetchall()
    query = "SELECT name FROM pragma_table_info(?)"
    return frozenset((kind, name, tuple(row[0] for row in db.execute(query, (name,)))) for kind, name in named)


def _number(db: sqlite3.Connection, pragma: str) -> int:
    number: int = db.execute(f"PRAGMA {pragma}").fetchone()[0]
    return number
