"""Keeps the ledger of a store: records each attempt before it is sent, with its maximal cost, and settles it at its end.

An attempt in flight is a claim on its question. The store has at most one claim on each; another process waits for its answer. A
process owns its claims by a lease, which it renews. The claims of a process that has ended, or has not renewed its lease, are
released; the outcome of its attempts is then unknown, and they count with their maximal cost. The questions of a batch are in
flight from before its creation, when it has no id yet, until any process has read its results. A batch whose creation was cut off
is unconfirmed until the API lists it: it stays in the ledger, since it may exist and be billed, also after its claims are
released.
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
"""The seconds after which a process that has not renewed its lease counts as ended."""

_TOKENS = "input, cache_write, cache_read, output"
_SUMS = "COUNT(*), COUNT(input), SUM(input), SUM(cache_write), SUM(cache_read), SUM(output)"
_OWNERS_WITH_CLAIMS = "SELECT DISTINCT owner FROM attempts WHERE status = 'sent' AND batch = 0"
_CLAIM = "SELECT owner, batch FROM attempts WHERE key = ? AND status = 'sent'"
_BEGIN = (
    f"INSERT INTO attempts (key, model, status, batch, in_batch, owner, is_bound, {_TOKENS}, ms, at) "
    "VALUES (?, ?, 'sent', ?, ?, ?, 1, ?, ?, ?, ?, 0, ?)"
)
_SETTLE = (
    "UPDATE attempts SET model = ?, status = ?, is_bound = ?, input = ?, cache_write = ?, cache_read = ?, output = ?, "
    "request_id = ?, ms = ?, at = ? WHERE id = ?"
)
_IS_UNANSWERED = "NOT EXISTS (SELECT 1 FROM answers WHERE answers.key = attempts.key AND content IS NOT NULL)"
_IS_CLAIMED = "EXISTS (SELECT 1 FROM attempts AS other WHERE other.key = attempts.key AND other.status = 'sent')"
_RENEW = "INSERT OR REPLACE INTO owners (id, host, pid, renewed) VALUES (?, ?, ?, ?)"


class AskedElsewhere(FormulaSeedError):
    """Raised for a question that another process or a batch is asking, or that another process has got answered."""


@dataclass(frozen=True, slots=True)
class Spending:
    """The number of attempts with one model, and the tokens that they used, or can have used at most.

    `usage` is None if no bound is known for some of them.
    """

    model: str
    is_batch: bool
    count: int
    usage: Usage | None


@dataclass(frozen=True, slots=True)
class OpenBatch:
    """A batch whose results have not all been read. `id` is None until its creation is confirmed.

    `at` is the time when its creation began, in seconds since 1970; `waiting` is the number of its calls without a result;
    `is_being_created` says that another running process is creating the batch.
    """

    number: int
    id: str | None
    at: float
    waiting: int
    is_being_created: bool = False


@dataclass(frozen=True, slots=True)
class UnconfirmedBatch:
    """A batch that may exist and be billed, since its creation was cut off and the API has not listed it yet.

    `at` is the time when its creation began, in seconds since 1970. `is_open` says that a run still looks for the batch, which
    claims its questions. `is_unanswered` says that one of its questions has no usable answer in the store.
    """

    number: int
    at: float
    spending: Spending
    is_open: bool
    is_unanswered: bool


class Ledger:
    """The attempts, owners and batches in a store. Every method raises `StoreError` if the store cannot be used."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._lease: _Lease | None = None
        self.lost: list[Spending] = []
        """The attempts in flight of ended processes, as far as this process has released their claims."""

    def close(self) -> None:
        """Release the claims of this process."""
        if self._lease is not None:
            self._lease.stop()
            with self._db.transaction():
                self._release_claims(self._lease.id)

    # --- calls

    def find_claim(self, key: str) -> Literal["", "process", "batch"]:
        """Return whether a batch or a running process is asking the question `key`; empty if neither is."""
        for owner, is_batch in self._db.fetch_all(_CLAIM, (key,)):
            if is_batch:
                return "batch"
            if self._is_running(owner):
                return "process"
        return ""

    def begin(self, call: ModelCall, is_needed: Callable[[], bool]) -> int:
        """Record an attempt before it is sent, which claims its question; return the attempt's number.

        Calls `is_needed` in the same transaction. Raises `AskedElsewhere` if another process or a batch is asking the question,
        or if `is_needed` returns False. Releases the claim of a process that has ended.
        """
        owner = self._register_owner()
        with self._db.transaction():
            for other_owner, is_batch in self._db.fetch_all(_CLAIM, (call.key,)):
                if is_batch or self._is_running(other_owner):
                    raise AskedElsewhere
                self.lost += self._release_claims(other_owner)
            if not is_needed():
                raise AskedElsewhere
            return self._db.execute(_BEGIN, _attempt_row(call, owner)).lastrowid or 0

    def settle(self, attempt: Attempt) -> None:
        """Record how an attempt ended and the tokens that it used; an attempt without usage costs nothing."""
        usage = (None,) * 4 if attempt.usage is None else tuple(attempt.usage.to_json().values())
        outcome = (attempt.model, attempt.status, int(attempt.is_bound), *usage)
        self._db.execute(_SETTLE, (*outcome, attempt.request_id, attempt.ms, time.time(), attempt.id))

    def release_ended_owners(self) -> None:
        """Release the claims of processes that have ended, and add their attempts in flight to `lost`."""
        if self._db.fetch_all(_OWNERS_WITH_CLAIMS):
            with self._db.transaction():
                for (owner,) in self._db.fetch_all(_OWNERS_WITH_CLAIMS):
                    if not self._is_running(owner):
                        self.lost += self._release_claims(owner)

    # --- batches

    def begin_batch(self, spec_id: str, calls: Sequence[ModelCall]) -> tuple[int, list[ModelCall]]:
        """Record a batch before it is created; return its number, and the calls whose questions nobody else is asking.

        Only these calls are in the batch. Records no batch and returns 0 if there are none. `spec_id` identifies the prompt
        specification, which alone can read the answers.
        """
        owner = self._register_owner()
        with self._db.transaction():
            free = [call for call in calls if not self._db.fetch_all(_CLAIM, (call.key,))]
            if not free:
                return 0, []
            values = (spec_id, owner, time.time())
            number = self._db.execute("INSERT INTO batches (asked, owner, at) VALUES (?, ?, ?)", values).lastrowid or 0
            for call in free:
                self._db.execute(_BEGIN, _attempt_row(call, owner, number))
        return number, free

    def confirm_batch(self, number: int, batch_id: str) -> None:
        """Record the id that the API has given a batch."""
        self._db.execute("UPDATE batches SET id = ? WHERE number = ?", (batch_id, number))

    def discard_batch(self, number: int) -> None:
        """Delete a batch that the API has refused, with its attempts."""
        with self._db.transaction():
            self._db.execute("DELETE FROM attempts WHERE in_batch = ? AND status = 'sent'", (number,))
            self._db.execute("DELETE FROM batches WHERE number = ?", (number,))

    def open_batches(self, spec_id: str | None = None) -> list[OpenBatch]:
        """Return the batches with unread results, the oldest first: those of one specification, or with None all."""
        query = (
            "SELECT number, id, at, (SELECT COUNT(*) FROM attempts WHERE in_batch = number AND status = 'sent'), owner "
            "FROM batches WHERE ended IS NULL AND asked = COALESCE(?, asked) ORDER BY number"
        )
        batches = []
        for number, batch_id, at, waiting, owner in self._db.fetch_all(query, (spec_id,)):
            is_being_created = batch_id is None and self._is_other_running(owner)
            batches.append(OpenBatch(number, batch_id, at, waiting, is_being_created))
        return batches

    def find_unconfirmed_batches(self, spec_id: str | None = None) -> list[UnconfirmedBatch]:
        """Return the batches whose creation was cut off and not confirmed since, the oldest first: of one specification, or all.

        Leaves out batches that another running process is creating.
        """
        query = "SELECT number, at, owner, ended FROM batches WHERE id IS NULL AND asked = COALESCE(?, asked) ORDER BY number"
        unconfirmed = []
        for number, at, owner, ended in self._db.fetch_all(query, (spec_id,)):
            is_open = ended is None
            if not (is_open and self._is_other_running(owner)):
                is_unanswered = self._has_attempt(_IS_UNANSWERED, number)
                for spending in self._sum_attempts("in_batch = ?", (number,)):
                    unconfirmed.append(UnconfirmedBatch(number, at, spending, is_open, is_unanswered))
        return unconfirmed

    def reopen_batches(self, spec_id: str, skip: Collection[int]) -> list[int]:
        """Claim the questions of a specification's unconfirmed batches again, to look for these batches; return their numbers.

        Leaves out batches in `skip`, batches whose questions all have answers, and batches with a question that is claimed.
        """
        closed = "SELECT number FROM batches WHERE id IS NULL AND ended IS NOT NULL AND asked = ? ORDER BY number"
        reopened = []
        with self._db.transaction():
            for (number,) in self._db.fetch_all(closed, (spec_id,)):
                is_finished = number in skip or not self._has_attempt(_IS_UNANSWERED, number)
                if is_finished or self._has_attempt(_IS_CLAIMED, number):
                    continue
                # no owner: the process that created it is not creating it now, even if it is still running
                self._db.execute("UPDATE batches SET ended = NULL, owner = '' WHERE number = ?", (number,))
                self._db.execute("UPDATE attempts SET status = 'sent' WHERE in_batch = ?", (number,))
                reopened.append(number)
        return reopened

    def _has_attempt(self, condition: str, number: int) -> bool:
        """Return whether an attempt of the batch `number` meets an SQL condition."""
        return bool(self._db.fetch_all(f"SELECT 1 FROM attempts WHERE in_batch = ? AND {condition} LIMIT 1", (number,)))

    def batch_ids(self) -> set[str]:
        """Return the ids of all batches that are in the ledger, open or ended."""
        return {row[0] for row in self._db.fetch_all("SELECT id FROM batches WHERE id IS NOT NULL")}

    def waiting_keys(self, number: int) -> set[str]:
        """Return the keys of the questions of a batch that have no result yet."""
        query = "SELECT key FROM attempts WHERE in_batch = ? AND status = 'sent'"
        return {row[0] for row in self._db.fetch_all(query, (number,))}

    @contextmanager
    def take_result(self, key: str, number: int) -> Iterator[Attempt | None]:
        """Open a transaction for storing one result of a batch; yields its attempt, or None if the result was stored before."""
        query = f"SELECT id, model, {_TOKENS} FROM attempts WHERE key = ? AND in_batch = ? AND status = 'sent'"
        with self._db.transaction():
            row = next(iter(self._db.fetch_all(query, (key, number))), None)
            if row is None:
                yield None
            else:
                attempt_id, model, *tokens = row
                bound = Usage(*tokens) if tokens[0] is not None else None
                yield Attempt(key, model, "sent", 0, bound, id=attempt_id, is_bound=True)

    def end_batch(self, number: int) -> list[Spending]:
        """Record that a batch will have no more results, and release its claims; return its attempts without a result.

        A batch without an id stays unconfirmed.
        """
        condition = "in_batch = ? AND status = 'sent'"
        with self._db.transaction():
            lost = self._sum_attempts(condition, (number,))
            self._db.execute("UPDATE batches SET ended = ? WHERE number = ?", (time.time(), number))
            self._db.execute(f"UPDATE attempts SET status = 'lost' WHERE {condition}", (number,))
        return lost

    # --- accounts

    def count_statuses(self) -> dict[str, int]:
        """Return the number of ended attempts by status, the most frequent first."""
        query = (
            "SELECT status, COUNT(*) FROM attempts WHERE status != 'sent' GROUP BY status "
            "ORDER BY COUNT(*) DESC, status"
        )
        return dict(self._db.fetch_all(query))

    def sum_known(self) -> list[Spending]:
        """Return the attempts whose usage the API has stated, by model and by whether they were in a batch."""
        return self._sum_attempts("input IS NOT NULL AND NOT is_bound")

    def sum_unknown(self) -> list[Spending]:
        """Return the attempts that the API may or may not charge for, with their bounds, by model and batch or not."""
        ended = [owner for (owner,) in self._db.fetch_all(_OWNERS_WITH_CLAIMS) if not self._is_running(owner)]
        marks = ", ".join("?" * len(ended))
        return self._sum_attempts(f"is_bound AND (status != 'sent' OR (batch = 0 AND owner IN ({marks})))", ended)

    def sum_in_flight(self) -> list[Spending]:
        """Return the calls that a running process waits for, and those of batches, with their bounds, by model."""
        running = [owner for (owner,) in self._db.fetch_all(_OWNERS_WITH_CLAIMS) if self._is_running(owner)]
        marks = ", ".join("?" * len(running))
        return self._sum_attempts(f"status = 'sent' AND (batch = 1 OR owner IN ({marks}))", running)

    def _sum_attempts(self, condition: str, values: Sequence[str | int] = ()) -> list[Spending]:
        """Return the sums of the attempts that meet an SQL condition, by model and by whether they were in a batch.

        A sum has no usage if one of its attempts has none.
        """
        query = f"SELECT model, batch, {_SUMS} FROM attempts WHERE {condition} GROUP BY model, batch ORDER BY 1, 2"
        return [
            Spending(model, bool(is_batch), count, Usage(*tokens) if count_with_usage == count else None)
            for model, is_batch, count, count_with_usage, *tokens in self._db.fetch_all(query, values)
        ]

    # --- owners

    def _register_owner(self) -> str:
        """Return this process's id as an owner. Raises `StoreError` if the store is read only.

        The first call starts its lease, and releases the claims of ended processes.
        """
        self._db.check_writable()
        if self._lease is None:
            lease = _Lease(self._db.path)
            self._db.execute(_RENEW, lease.row())
            lease.start()
            self._lease = lease
            self.release_ended_owners()
        return self._lease.id

    def _is_running(self, owner: str) -> bool:
        """Return whether the process of an owner is running and renews its lease; on another host, only the lease counts."""
        rows = self._db.fetch_all("SELECT host, pid, renewed FROM owners WHERE id = ?", (owner,))
        return any(
            renewed > time.time() - LEASE and (host != _host_id() or _is_process_running(pid, owner))
            for host, pid, renewed in rows
        )

    def _is_other_running(self, owner: str) -> bool:
        """Return whether `owner` is another process than this one, and running."""
        own_id = self._lease.id if self._lease is not None else ""
        return owner != own_id and self._is_running(owner)

    def _release_claims(self, owner: str) -> list[Spending]:
        """Delete an ended owner and its claims; return its attempts in flight, whose outcome is unknown."""
        condition = "status = 'sent' AND batch = 0 AND owner = ?"
        lost = self._sum_attempts(condition, (owner,))
        self._db.execute(f"UPDATE attempts SET status = 'lost' WHERE {condition}", (owner,))
        self._db.execute("DELETE FROM owners WHERE id = ?", (owner,))
        return lost


_OWN_IDS: set[str] = set()
"""The ids of the owners in this process: one for each open store that has made claims."""


class _Lease:
    """The lease of this process as an owner. A thread renews it, since the process itself may wait for a pipe or a terminal."""

    def __init__(self, path: Path) -> None:
        self.id = uuid.uuid4().hex
        _OWN_IDS.add(self.id)
        self._uri = f"{path.resolve().as_uri()}?mode=rw"
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="lease", daemon=True)
        self.start = self._thread.start

    def row(self) -> tuple[str, str, int, float]:
        """Return the row of the table `owners` that renews the lease."""
        return self.id, _host_id(), os.getpid(), time.time()

    def stop(self) -> None:
        """End the lease, and wait for its thread."""
        _OWN_IDS.discard(self.id)
        self._is_over.set()
        self._thread.join()

    def _renew(self) -> None:
        """Renew the lease several times in `LEASE` seconds, until `stop` is called; passes over errors of SQLite."""
        while not self._is_over.wait(LEASE / 4):
            # a store that cannot be written is reported where an answer is stored
            with suppress(sqlite3.Error), closing(sqlite3.connect(self._uri, uri=True, isolation_level=None)) as db:
                db.execute(_RENEW, self.row())


def _attempt_row(call: ModelCall, owner: str, batch_number: int | None = None) -> tuple[object, ...]:
    """Return the values of the statement `_BEGIN`: the call with its maximal usage."""
    tokens = call.max_usage.to_json().values()
    return (call.key, call.model, int(batch_number is not None), batch_number, owner, *tokens, time.time())


def _host_id() -> str:
    """Return the id of the machine, or container, in which a process id identifies a process."""
    try:
        return f"{socket.gethostname()}/{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return socket.gethostname()


def _is_process_running(pid: int, owner: str) -> bool:
    """Return whether the process `pid` of an owner is running on this host; True if that cannot be determined."""
    if pid == os.getpid():  # in containers, different processes may have the number 1
        return owner in _OWN_IDS
    if os.name != "posix":  # on other systems `os.kill` would end the process
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # the process of another user
        return True
    return True
