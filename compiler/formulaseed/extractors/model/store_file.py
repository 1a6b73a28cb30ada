"""Opens the SQLite file of a store, to write or to read only, and migrates stores of earlier versions.

In: a path. Out: an open database of the latest version. A database of another application is refused and left unchanged.
Opening a file to read changes nothing on the disk, and creates no files beside it. Every later error is a `StoreError`.
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
"""`FSED` in ASCII. It distinguishes a store from the databases of other applications, also for the command `file`."""

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
    (
        "what servers other than Anthropic's own support",
        """
        CREATE TABLE servers (
            url TEXT NOT NULL, model TEXT NOT NULL, capabilities TEXT NOT NULL, PRIMARY KEY (url, model)
        ) WITHOUT ROWID
        """,
    ),
)
"""A name and the SQL statements of each migration. A file's `user_version` is the number of migrations that it has had."""

_RECOVERY_HELP = "`sqlite3 OLD .recover | sqlite3 NEW` copies what can be read into a new store"
_LOCK_TIMEOUT = 30.0
"""Seconds to wait for the lock of another process."""

DatabaseSchema = frozenset[tuple[str, str, tuple[str, ...]]]
"""The kind, the name and the columns of each table and index of a database."""


class StoreError(UnreadableError):
    """Raised for a store that cannot be read or written."""


class Database:
    """The open database of a store. Every method raises `StoreError` if the file cannot be used.

    With `read_only`, it changes nothing on the disk, and is empty if there is no file. `because` is the error that prevented
    writing, if the store is read for want of a writable one. With `must_exist`, a missing file raises `StoreError`.
    """

    def __init__(
        self, path: Path, *, must_exist: bool = False, read_only: bool = False, because: StoreError | None = None
    ) -> None:
        self.path = path
        self.is_read_only = read_only
        self._because = because
        self._file: StoreFile | None = None
        with self.translate_errors():
            if must_exist and not path.exists():
                raise StoreError(f"there is no store at {path}")
            self._file = open_to_read(path) if read_only else open_to_write(path)
            self.version = self._file.version
            self._db = self._file.db

    def close(self) -> None:
        """Close the file."""
        with self.translate_errors():
            self._db.close()

    def check_unchanged(self) -> None:
        """Raise `StoreError` if another process has written into a file that is read without locks."""
        if self._file is not None and self._file.has_changed():
            raise StoreError(f"{self.path} has changed while it was read; run the command again")

    def check_writable(self) -> None:
        """Raise `StoreError` if the database is read only."""
        if not self.is_read_only:
            return
        if self._because is None:
            raise StoreError(f"the store {self.path} is only read")
        raise StoreError(f"{self._because}; it can be read, but it has not every answer, and takes no new ones")

    def execute(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Execute a statement, and return its cursor. Outside of `transaction` it is committed at once."""
        with self.translate_errors():
            return self._db.execute(statement, values)

    def fetch_all(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return all rows of a query."""
        with self.translate_errors():
            return self._db.execute(query, values).fetchall()

    def fetch_each(self, query: str) -> Iterator[Any]:
        """Yield the rows of a query one by one, without holding all in memory; nothing runs until it is iterated."""
        cursor = self.execute(query)
        while True:
            with self.translate_errors():
                row = cursor.fetchone()
            if row is None:
                return
            yield row

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit the statements of the block together; undo all of them if the block raises."""
        with self.translate_errors(), transaction(self._db):
            yield

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Raise `StoreError` for the errors of SQLite, the system and JSON in the block.

        The help for a damaged file says how to recover it. If a file that is read without locks has changed, the error says that.
        """
        try:
            yield
        except (sqlite3.Error, OSError, ValueError, OverflowError, RecursionError) as error:
            self.check_unchanged()
            is_damaged = getattr(error, "sqlite_errorname", "").startswith("SQLITE_CORRUPT")
            recovery_help = f"; {_RECOVERY_HELP}" if is_damaged else ""
            raise StoreError(f"the store {self.path} cannot be used: {error}{recovery_help}") from None


@dataclass(frozen=True, slots=True)
class StoreFile:
    """A store file's open connection, and the file's version on disk.

    `state` is the file's size and modification time if it is read without locks; None otherwise.
    """

    db: sqlite3.Connection
    version: int
    path: Path
    state: tuple[int, int] | None = None

    def has_changed(self) -> bool:
        """Return whether another process has written into the file while it was read without locks."""
        return self.state is not None and _read_state(self.path) != self.state


def open_to_write(path: Path) -> StoreFile:
    """Open or create a store and its folder, and migrate the store. Raises `StoreError` for a file that is no store.

    Errors of SQLite and the system are raised untranslated.
    """
    if path.exists():
        _check_is_file(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path, timeout=_LOCK_TIMEOUT, isolation_level=None)
    try:
        _check_version(db, path)
        _enable_write_ahead(db)
        db.execute("PRAGMA synchronous = NORMAL")
        _migrate(db)
    except BaseException:
        db.close()
        raise
    return StoreFile(db, len(MIGRATIONS), path)


def open_to_read(path: Path) -> StoreFile:
    """Open a store without changing it; an empty one in memory if there is no file.

    A store of an earlier version is copied into memory and migrated there. A file that is not in use is read without locks, since
    SQLite would create files beside it. Raises `StoreError` for a file that is no store.
    """
    if not path.exists():
        return StoreFile(_open_in_memory(len(MIGRATIONS)), len(MIGRATIONS), path)
    _check_is_file(path)
    real_path = Path(os.path.realpath(path))
    uri = f"{real_path.as_uri()}?mode=ro"
    state = None
    if not _is_in_use(real_path):
        state = _read_state(real_path)
        uri += "&immutable=1"
    db = sqlite3.connect(uri, timeout=_LOCK_TIMEOUT, isolation_level=None, uri=True)
    try:
        version = _check_version(db, path)
        if version == len(MIGRATIONS):
            return StoreFile(db, version, real_path, state)
        copy = sqlite3.connect(":memory:", isolation_level=None)
        db.backup(copy)
        db.close()
        _migrate(copy)
        return StoreFile(copy, version, real_path, state)
    except BaseException:
        db.close()
        raise


@contextmanager
def transaction(db: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    """Commit the statements of the block together; undo all of them if it raises. A `DEFERRED` block reads one state of `db`."""
    db.execute(f"BEGIN {kind}")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _check_is_file(path: Path) -> None:
    """Raise `StoreError` if the path is no regular file."""
    if not path.is_file():
        raise StoreError(f"{path} is not a regular file, and cannot be a store")


def _is_in_use(path: Path) -> bool:
    """Return whether another process has the file open, or a killed one has left data beside it that SQLite has to read."""
    write_ahead_log, journal, shared_memory = (
        path.with_name(f"{path.name}{end}") for end in ("-wal", "-journal", "-shm")
    )
    if any(file.exists() and file.stat().st_size for file in (write_ahead_log, journal)):
        return True
    return write_ahead_log.exists() and shared_memory.exists()


def _read_state(path: Path) -> tuple[int, int]:
    """Return the file's size and its modification time in nanoseconds; -1 for both if it was deleted."""
    try:
        status = path.stat()
    except OSError:
        return -1, -1
    return status.st_size, status.st_mtime_ns


def _check_version(db: sqlite3.Connection, path: Path) -> int:
    """Return the version of the store, 0 for an empty one. Raises `StoreError` for other databases and later versions.

    Stores of the first releases have no application id; they are recognized by their tables.
    """
    with transaction(db, "DEFERRED"):
        application = _read_pragma(db, "application_id")
        version = _read_pragma(db, "user_version")
        schema = _read_schema(db)
    is_ours = application == APPLICATION_ID
    if version > len(MIGRATIONS) and (is_ours or (application == 0 and not schema)):
        known = f"this formulaseed knows versions up to {len(MIGRATIONS)}"
        raise StoreError(f"{path} is of version {version}, and {known}; upgrade formulaseed or use another --store")
    is_unmarked = application == 0 and version <= len(MIGRATIONS) and schema == _find_schema(version)
    if not is_ours and not is_unmarked:
        raise StoreError(f"{path} is an SQLite database, but not a store of formulaseed; use another --store")
    return version


def _enable_write_ahead(db: sqlite3.Connection) -> None:
    """Switch the database to write-ahead logging.

    Waits for another process that does the same, since SQLite does not. Raises `sqlite3.OperationalError` after the timeout.
    """
    deadline = time.monotonic() + _LOCK_TIMEOUT
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def _migrate(db: sqlite3.Connection, target: int = len(MIGRATIONS)) -> None:
    """Migrate a database to the version `target`, each step in a transaction, and mark the file as a store.

    Does nothing for a store of that version or a later one. Raises `sqlite3.Error` if the file cannot be written.
    """
    while _read_pragma(db, "user_version") < target:
        with transaction(db):
            version = _read_pragma(db, "user_version")  # another process may have been faster
            if version < target:
                for statement in MIGRATIONS[version][1].split(";"):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {version + 1}")
                db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    if _read_pragma(db, "application_id") != APPLICATION_ID:
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _open_in_memory(version: int) -> sqlite3.Connection:
    """Open an empty store of this version in memory."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    _migrate(db, version)
    return db


@cache
def _find_schema(version: int) -> DatabaseSchema:
    """Return the schema of a store of this version; empty if there is no such version."""
    if not 0 <= version <= len(MIGRATIONS):
        return frozenset()
    with closing(_open_in_memory(version)) as db:
        return _read_schema(db)


def _read_schema(db: sqlite3.Connection) -> DatabaseSchema:
    """Return the kind, name and column names of each table and index of a database, without those of SQLite itself."""
    entries = db.execute("SELECT type, name FROM sqlite_master WHERE name NOT GLOB 'sqlite_*'").fetchall()
    query = "SELECT name FROM pragma_table_info(?)"
    return frozenset((kind, name, tuple(row[0] for row in db.execute(query, (name,)))) for kind, name in entries)


def _read_pragma(db: sqlite3.Connection, pragma: str) -> int:
    """Return the value of a pragma that is a number, such as `user_version`."""
    number: int = db.execute(f"PRAGMA {pragma}").fetchone()[0]
    return number
