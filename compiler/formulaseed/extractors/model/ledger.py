"""The ledger of a store: each attempt is noted before it is sent, with what it costs at most, and settled after.

An attempt that is in flight is a claim on its question: the store has one at most for each, and another process waits for
its answer. The claim of an owner that has ended, or has not renewed its lease, is taken over; what became of its attempts
is then unknown, and they count with their bounds. The questions of a batch are in flight from before its creation, when
it has no id yet, until its results are read, whoever reads them. A batch whose creation was cut off is unconfirmed until
the API lists it: it stays in the ledger, since it may exist and be billed, also after its questions are free again.
"""

from __future__ import annotations

import os
import socket
import sqlite3
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from formulaseed.errors import FormulaSeedError
from formulaseed.extractors.model.store_file import Database
from formulaseed.llm.calls import Attempt, ModelCall, Usage

LEASE = 60.0
"""Seconds after which an owner that has not renewed its lease counts as ended."""

_TOKENS = "input, cache_write, cache_read, output"
_SUMS = "COUNT(*), COUNT(input), SUM(input), SUM(cache_write), SUM(cache_read), SUM(output)"
_CLAIM = "SELECT owner, batch FROM attempts WHERE key = ? AND status = 'sent'"
_NOTE = (
    f"INSERT INTO attempts (key, model, status, batch, in_batch, owner, is_bound, {_TOKENS}, ms, at) "
    "VALUES (?, ?, 'sent', ?, ?, ?, 1, ?, ?, ?, ?, 0, ?)"
)
_SETTLE = (
    "UPDATE attempts SET model = ?, status = ?, is_bound = ?, input = ?, cache_write = ?, cache_read = ?, output = ?, "
    "request_id = ?, ms = ?, at = ? WHERE id = ?"
)
_UNANSWERED = "NOT EXISTS (SELECT 1 FROM answers WHERE answers.key = attempts.key AND content IS NOT NULL)"
_CLAIMED = "EXISTS (SELECT 1 FROM attempts AS other WHERE other.key = attempts.key AND other.status = 'sent')"
_RENEW = "INSERT OR REPLACE INTO owners (id, host, pid, renewed) VALUES (?, ?, ?, ?)"


class AskedElsewhere(FormulaSeedError):
    """Raised for a question that another process asks now, or has had answered since."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Attempts of one model, and their tokens: all that they used or, where that is not known, at most.

    `usage` is None where it has no bound either.
    """

    model: str
    is_batch: bool
    count: int
    usage: Usage | None


@dataclass(frozen=True, slots=True)
class OpenBatch:
    """A batch whose results have not all been read. `id` is None until its creation is confirmed.

    `at` is when its creation began, in seconds since 1970; `is_being_created`: by a process that lives.
    """

    number: int
    id: str | None
    at: float
    waiting: int
    is_being_created: bool = False


@dataclass(frozen=True, slots=True)
class UnconfirmedBatch:
    """A batch that may exist and be billed, since its creation was cut off and the API has not listed it yet.

    `at` is when its creation began, in seconds since 1970. `is_open`: it is still looked for, and claims its questions.
    `is_unanswered`: a question of it has no usable answer in the store.
    """

    number: int
    at: float
    spent: Spent
    is_open: bool
    is_unanswered: bool


class Ledger:
    """The attempts, owners and batches in a store. Every method raises `StoreError` where it cannot be used."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._presence: _Presence | None = None
        self.lost: list[Spent] = []
        """The attempts that were in flight when other processes ended, as far as this one has found them."""

    def close(self) -> None:
        """Give up what this process has claimed."""
        if self._presence is not None:
            self._presence.stop()
            with self._db.transaction():
                self._bury(self._presence.id)

    # --- calls

    def claim_on(self, key: str) -> Literal["", "process", "batch"]:
        """Return who asks this question now: a living process, a batch, or nobody."""
        for owner, batch in self._db.rows(_CLAIM, (key,)):
            if batch or self._lives(owner):
                return "batch" if batch else "process"
        return ""

    def begin(self, call: ModelCall, is_needed: Callable[[], bool]) -> int:
        """Note an attempt before it is sent; return its number.

        Raises `AskedElsewhere` where another process, or a batch, asks the question now, or where it `is_needed` no more.
        """
        owner = self._owner()
        with self._db.transaction():
            for other, batch in self._db.rows(_CLAIM, (call.key,)):
                if batch or self._lives(other):
                    raise AskedElsewhere
                self.lost += self._bury(other)
            if not is_needed():
                raise AskedElsewhere
            return self._db.execute(_NOTE, _noted(call, owner)).lastrowid or 0

    def settle(self, attempt: Attempt) -> None:
        """Note how an attempt ended, and what it cost: nothing where it has no usage."""
        usage = (None,) * 4 if attempt.usage is None else tuple(attempt.usage.to_json().values())
        ended = (attempt.model, attempt.status, int(attempt.is_bound), *usage)
        self._db.execute(_SETTLE, (*ended, attempt.request_id, attempt.ms, time.time(), attempt.id))

    def recover(self) -> None:
        """Find the attempts that were in flight when other processes ended."""
        found = "SELECT DISTINCT owner FROM attempts WHERE status = 'sent' AND batch = 0"
        if self._db.rows(found):
            with self._db.transaction():
                for (owner,) in self._db.rows(found):
                    if not self._lives(owner):
                        self.lost += self._bury(owner)

    # --- batches

    def begin_batch(self, asked: str, calls: Sequence[ModelCall]) -> tuple[int, list[ModelCall]]:
        """Note a batch before it is created; return its number, and the calls that nobody else has asked.

        `asked` is the id of the specification, which alone can read the answers.
        """
        owner = self._owner()
        with self._db.transaction():
            free = [call for call in calls if not self._db.rows(_CLAIM, (call.key,))]
            if not free:
                return 0, []
            values = (asked, owner, time.time())
            number = self._db.execute("INSERT INTO batches (asked, owner, at) VALUES (?, ?, ?)", values).lastrowid or 0
            for call in free:
                self._db.execute(_NOTE, _noted(call, owner, number))
        return number, free

    def created(self, number: int, batch: str) -> None:
        """Note the id of a batch."""
        self._db.execute("UPDATE batches SET id = ? WHERE number = ?", (batch, number))

    def not_created(self, number: int) -> None:
        """Forget a batch that the API never had."""
        with self._db.transaction():
            self._db.execute("DELETE FROM attempts WHERE in_batch = ? AND status = 'sent'", (number,))
            self._db.execute("DELETE FROM batches WHERE number = ?", (number,))

    def open_batches(self, asked: str | None = None) -> list[OpenBatch]:
        """Return the batches whose results have not all been read, the oldest first: one specification's, or all."""
        query = (
            "SELECT number, id, at, (SELECT COUNT(*) FROM attempts WHERE in_batch = number AND status = 'sent'), owner "
            "FROM batches WHERE ended IS NULL AND asked = COALESCE(?, asked) ORDER BY number"
        )
        found = []
        for number, batch, at, waiting, owner in self._db.rows(query, (asked,)):
            is_elsewhere = batch is None and owner != self._own and self._lives(owner)
            found.append(OpenBatch(number, batch, at, waiting, is_elsewhere))
        return found

    def unconfirmed_batches(self, asked: str | None = None) -> list[UnconfirmedBatch]:
        """Return the batches whose creation was cut off and not confirmed since, the oldest first: one specification's, or all.

        Leaves out batches that a living process is creating now.
        """
        query = "SELECT number, at, owner, ended FROM batches WHERE id IS NULL AND asked = COALESCE(?, asked) ORDER BY number"
        unconfirmed = []
        for number, at, owner, ended in self._db.rows(query, (asked,)):
            is_being_created = ended is None and owner != self._own and self._lives(owner)
            if not is_being_created:
                is_unanswered = self._has(_UNANSWERED, number)
                for spent in self._sums("in_batch = ?", (number,)):
                    unconfirmed.append(UnconfirmedBatch(number, at, spent, ended is None, is_unanswered))
        return unconfirmed

    def reopen(self, asked: str, known: Collection[int]) -> list[int]:
        """Claim the questions of a specification's unconfirmed batches again, to look for these batches; return their numbers.

        Skips batches in `known`, batches whose questions all have answers, and batches that share a question with a claim.
        """
        closed = "SELECT number FROM batches WHERE id IS NULL AND ended IS NOT NULL AND asked = ? ORDER BY number"
        reopened = []
        with self._db.transaction():
            for (number,) in self._db.rows(closed, (asked,)):
                if number in known or not self._has(_UNANSWERED, number) or self._has(_CLAIMED, number):
                    continue
                # no owner: the process that created it is not creating it now, even if it is still running
                self._db.execute("UPDATE batches SET ended = NULL, owner = '' WHERE number = ?", (number,))
                self._db.execute("UPDATE attempts SET status = 'sent' WHERE in_batch = ?", (number,))
                reopened.append(number)
        return reopened

    def _has(self, condition: str, number: int) -> bool:
        """Return whether an attempt of a batch meets a condition."""
        return bool(self._db.rows(f"SELECT 1 FROM attempts WHERE in_batch = ? AND {condition} LIMIT 1", (number,)))

    def batch_ids(self) -> set[str]:
        """Return the ids of all batches that the store has known."""
        return {row[0] for row in self._db.rows("SELECT id FROM batches WHERE id IS NOT NULL")}

    def keys_of(self, number: int) -> set[str]:
        """Return the questions of a batch that have no result yet."""
        query = "SELECT key FROM attempts WHERE in_batch = ? AND status = 'sent'"
        return {row[0] for row in self._db.rows(query, (number,))}

    @contextmanager
    def result_of(self, key: str, number: int) -> Iterator[Attempt | None]:
        """Take one result of a batch in a transaction; yields its attempt, None where it was taken before."""
        query = f"SELECT id, model, {_TOKENS} FROM attempts WHERE key = ? AND in_batch = ? AND status = 'sent'"
        with self._db.transaction():
            row = next(iter(self._db.rows(query, (key, number))), None)
            if row is None:
                yield None
            else:
                bound = None if row[2] is None else Usage(*row[2:])
                yield Attempt(key, row[1], "sent", 0, bound, id=row[0], is_bound=True)

    def end_batch(self, number: int) -> list[Spent]:
        """Note that nothing more is to be expected of a batch; return the attempts without a result, which are lost.

        Their questions are free again. Without an id, the batch stays unconfirmed.
        """
        condition = "in_batch = ? AND status = 'sent'"
        with self._db.transaction():
            lost = self._sums(condition, (number,))
            self._db.execute("UPDATE batches SET ended = ? WHERE number = ?", (time.time(), number))
            self._db.execute(f"UPDATE attempts SET status = 'lost' WHERE {condition}", (number,))
        return lost

    # --- accounts

    def by_status(self) -> dict[str, int]:
        """Return how many attempts ended in which way, the most frequent first."""
        query = (
            "SELECT status, COUNT(*) FROM attempts WHERE status != 'sent' GROUP BY status "
            "ORDER BY COUNT(*) DESC, status"
        )
        return dict(self._db.rows(query))

    def spent(self) -> list[Spent]:
        """Return the attempts that stated their usage, by model and by whether they were in a batch."""
        return self._sums("input IS NOT NULL AND NOT is_bound")

    def unknown(self) -> list[Spent]:
        """Return the attempts of which nobody knows whether the API charges for them, with their bounds."""
        sent = self._db.rows("SELECT DISTINCT owner FROM attempts WHERE status = 'sent' AND batch = 0")
        ended = [owner for (owner,) in sent if not self._lives(owner)]
        marks = ", ".join("?" * len(ended))
        return self._sums(f"is_bound AND (status != 'sent' OR (batch = 0 AND owner IN ({marks})))", ended)

    def in_flight(self) -> list[Spent]:
        """Return the calls that a living process waits for, and those of batches, with their bounds."""
        sent = self._db.rows("SELECT DISTINCT owner FROM attempts WHERE status = 'sent' AND batch = 0")
        living = [owner for (owner,) in sent if self._lives(owner)]
        marks = ", ".join("?" * len(living))
        return self._sums(f"status = 'sent' AND (batch = 1 OR owner IN ({marks}))", living)

    def _sums(self, condition: str, values: Sequence[str | int] = ()) -> list[Spent]:
        query = f"SELECT model, batch, {_SUMS} FROM attempts WHERE {condition} GROUP BY model, batch ORDER BY 1, 2"
        return [
            Spent(model, bool(batch), count, Usage(*tokens) if known == count else None)
            for model, batch, count, known, *tokens in self._db.rows(query, values)
        ]

    # --- owners

    @property
    def _own(self) -> str:
        return self._presence.id if self._presence is not None else ""

    def _owner(self) -> str:
        """Return this process's id as an owner, which others can see from the first time on."""
        self._db.must_be_writable()
        if self._presence is None:
            presence = _Presence(self._db.path)
            self._db.execute(_RENEW, presence.row())
            presence.start()
            self._presence = presence
            self.recover()
        return self._presence.id

    def _lives(self, owner: str) -> bool:
        found = self._db.rows("SELECT host, pid, renewed FROM owners WHERE id = ?", (owner,))
        return any(
            renewed > time.time() - LEASE and (host != _host() or _is_running(pid, owner))
            for host, pid, renewed in found
        )

    def _bury(self, owner: str) -> list[Spent]:
        """Settle what an owner that has ended left in flight: nobody knows what became of it."""
        condition = "status = 'sent' AND batch = 0 AND owner = ?"
        lost = self._sums(condition, (owner,))
        self._db.execute(f"UPDATE attempts SET status = 'lost' WHERE {condition}", (owner,))
        self._db.execute("DELETE FROM owners WHERE id = ?", (owner,))
        return lost


_HERE: set[str] = set()
"""The owners of this process."""


class _Presence:
    """The lease of this process: a thread renews it, since the process itself may wait for a pipe or a terminal."""

    def __init__(self, path: Path) -> None:
        self.id = uuid.uuid4().hex
        _HERE.add(self.id)
        self._uri = f"{path.resolve().as_uri()}?mode=rw"
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="lease", daemon=True)
        self.start = self._thread.start

    def row(self) -> tuple[str, str, int, float]:
        return self.id, _host(), os.getpid(), time.time()

    def stop(self) -> None:
        _HERE.discard(self.id)
        self._is_over.set()
        self._thread.join()

    def _renew(self) -> None:
        while not self._is_over.wait(LEASE / 4):
            # a store that cannot be written is reported where an answer is stored
            with suppress(sqlite3.Error), closing(sqlite3.connect(self._uri, uri=True, isolation_level=None)) as db:
                db.execute(_RENEW, self.row())


def _noted(call: ModelCall, owner: str, batch: int | None = None) -> tuple[object, ...]:
    tokens = call.max_usage.to_json().values()
    return (call.key, call.model, int(batch is not None), batch, owner, *tokens, time.time())


def _host() -> str:
    """Where a process id means the same process: this machine, or this container of it."""
    try:
        return f"{socket.gethostname()}/{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return socket.gethostname()


def _is_running(pid: int, owner: str) -> bool:
    if pid == os.getpid():  # in a container every process may be number 1
        return owner in _HERE
    if os.name != "posix":  # where this would end the process
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        return True
    return True
