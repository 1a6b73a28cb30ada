"""The ledger of a store: who asks what, how attempts are settled, and what is known of those that were not."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from asking import MODEL
from formulaseed.extractors.model import ledger as module
from formulaseed.extractors.model.ledger import AskedElsewhere, Spending
from formulaseed.extractors.model.store import Store
from formulaseed.extractors.model.store_file import MIGRATIONS
from formulaseed.llm.calls import Attempt, ModelCall, Usage
from helpers import command

USAGE = Usage(10, 20, 30, 4)


def call(key: str, model: str = MODEL) -> ModelCall:
    return ModelCall(key, model, "system", "user", {}, 100)


def needed() -> bool:
    return True


def test_a_question_is_in_flight_once(tmp_path: Path) -> None:
    """Noted with its bound before it is sent, it is closed to all others until it is settled, and free again after."""
    with Store(tmp_path / "s.sqlite") as one, Store(tmp_path / "s.sqlite") as other:
        number = one.ledger.begin(call("k"), needed)
        assert (one.ledger.find_claim("k"), other.ledger.find_claim("k")) == ("process", "process")
        for store in (one, other):
            with pytest.raises(AskedElsewhere):
                store.ledger.begin(call("k"), needed)
        assert other.ledger.sum_in_flight() == [Spending(MODEL, False, 1, call("k").max_usage)]
        assert other.ledger.sum_known() == other.ledger.sum_unknown() == []
        one.ledger.settle(Attempt("k", MODEL, "200", 7, USAGE, "req_1", id=number))
        assert other.ledger.sum_known() == [Spending(MODEL, False, 1, USAGE)]
        assert (other.ledger.find_claim("k"), other.ledger.sum_in_flight()) == ("", [])
        with pytest.raises(AskedElsewhere):
            other.ledger.begin(call("k"), lambda: False)
        assert other.ledger.begin(call("k"), needed) > number


@pytest.mark.thorough
def test_what_an_owner_leaves_in_flight_is_lost_and_free(tmp_path: Path) -> None:
    """Where it ends in order, where its lease has run out, and where its process is gone."""
    path = tmp_path / "s.sqlite"
    with Store(path) as first:
        first.ledger.begin(call("ended"), needed)
    first = Store(path)
    first.ledger.begin(call("stopped"), needed)
    source = (
        "import sys, pathlib, os, signal\nfrom test_ledger import *\n"
        "Store(pathlib.Path(sys.argv[1])).ledger.begin(call('killed'), needed)\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", source, str(path)], env=environment, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    with Store(path) as second:
        assert (second.ledger.find_claim("killed"), second.ledger.find_claim("stopped")) == ("", "process")
        bound = call("k").max_usage
        assert second.ledger.sum_unknown() == [Spending(MODEL, False, 2, bound + bound)]
        second.ledger.begin(call("mine"), needed)
        assert second.ledger.lost == [Spending(MODEL, False, 1, bound)], "whose process is gone"
        with contextlib.closing(sqlite3.connect(path)) as db, db:
            db.execute("UPDATE owners SET renewed = renewed - ?", (module.LEASE,))
        second.ledger.begin(call("stopped"), needed)
        assert second.ledger.lost == [Spending(MODEL, False, 1, bound)] * 2, "whose lease has run out"
        assert second.ledger.count_statuses() == {"lost": 3}
    first.close()


def test_a_late_answer_is_settled_all_the_same(tmp_path: Path) -> None:
    """A process that was stopped for long finds its question taken over; what it has paid is in the accounts."""
    with Store(tmp_path / "s.sqlite") as slow, Store(tmp_path / "s.sqlite") as other:
        number = slow.ledger.begin(call("k"), needed)
        with contextlib.closing(sqlite3.connect(tmp_path / "s.sqlite")) as db, db:
            db.execute("UPDATE owners SET renewed = 0")
        mine = other.ledger.begin(call("k"), needed)
        for store, each in ((slow, number), (other, mine)):
            store.ledger.settle(Attempt("k", MODEL, "200", 1, USAGE, id=each))
        assert other.ledger.sum_known() == [Spending(MODEL, False, 2, USAGE + USAGE)]
        assert other.ledger.sum_unknown() == []


def test_a_lease_is_renewed_whatever_the_process_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread does it, while the process waits for a pipe or a terminal."""
    monkeypatch.setattr(module, "LEASE", 0.04)
    path = tmp_path / "s.sqlite"
    with Store(path) as store, contextlib.closing(sqlite3.connect(path, timeout=30)) as db:
        store.ledger.begin(call("k"), needed)
        [(first,)] = db.execute("SELECT renewed FROM owners")
        while db.execute("SELECT renewed FROM owners").fetchone()[0] < first + 0.1:
            pass


def test_a_batch_is_noted_before_it_has_an_id(tmp_path: Path) -> None:
    """Its questions are closed to others until its results are read; whoever takes one result takes it alone."""
    with Store(tmp_path / "s.sqlite") as one, Store(tmp_path / "s.sqlite") as other:
        one.ledger.begin(call("live"), needed)
        number, free = one.ledger.begin_batch("asked", [call("a"), call("b"), call("live")])
        assert [each.key for each in free] == ["a", "b"]
        assert other.ledger.begin_batch("asked", [call("a")]) == (0, [])
        [batch] = other.ledger.open_batches("asked")
        assert (batch.id, batch.waiting, batch.is_being_created) == (None, 2, True)
        assert other.ledger.open_batches("another") == []
        one.ledger.confirm_batch(number, "msgbatch_1")
        [batch] = other.ledger.open_batches()
        assert (batch.id, batch.is_being_created, other.ledger.batch_ids()) == ("msgbatch_1", False, {"msgbatch_1"})
        assert (other.ledger.waiting_keys(number), other.ledger.find_claim("a")) == ({"a", "b"}, "batch")
        with other.ledger.take_result("a", number) as sent:
            assert sent is not None
            assert (sent.usage, sent.is_bound) == (call("a").max_usage, True)
            other.ledger.settle(Attempt("a", MODEL, "succeeded", 1, USAGE, id=sent.id))
        with one.ledger.take_result("a", number) as again:
            assert again is None
        one.ledger.end_batch(number)
        assert one.ledger.open_batches() == []
        assert other.ledger.sum_unknown() == [Spending(MODEL, True, 1, call("b").max_usage)], "its result never came"
        unmade, _ = one.ledger.begin_batch("asked", [call("c")])
        one.ledger.discard_batch(unmade)
        assert (other.ledger.find_claim("c"), other.ledger.open_batches()) == ("", [])


def test_the_ledger_of_an_older_store_is_kept(tmp_path: Path) -> None:
    """Attempts that may have been charged count as unknown, without a bound; a batch in progress stays in progress."""
    path = tmp_path / "old.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as db:
        for _, statements in MIGRATIONS[:2]:
            db.executescript(statements)
        db.execute("PRAGMA user_version = 2")
        for status, tokens in (("200", 5), ("429", None), ("timeout", None), ("no connection", None)):
            values = ("k", MODEL, status, 0, tokens, tokens, tokens, tokens, "", 1, 1.0)
            names = "key, model, status, batch, input, cache_write, cache_read, output, request_id, ms, at"
            db.execute(f"INSERT INTO attempts ({names}) VALUES ({', '.join('?' * len(values))})", values)
        db.execute("INSERT INTO batches VALUES ('msgbatch_1', 'asked', 5.0, NULL), ('msgbatch_0', 'asked', 1.0, 2.0)")
        db.execute("INSERT INTO batched VALUES ('a', 'msgbatch_1'), ('b', 'msgbatch_1'), ('b', 'msgbatch_0')")
        db.commit()
    with Store(path) as store:
        assert store.ledger.sum_known() == [Spending(MODEL, False, 1, Usage(5, 5, 5, 5))]
        assert store.ledger.sum_unknown() == [Spending(MODEL, False, 2, None)]
        [batch] = store.ledger.open_batches("asked")
        assert (batch.id, batch.waiting) == ("msgbatch_1", 2)
        with store.ledger.take_result("a", batch.number) as sent:
            assert sent is not None
            assert sent.usage is None
    reported = command("store", "info", "--store", path, "--format", "json", cwd=tmp_path)
    assert json.loads(reported.out)["unknown"] == {"calls": 2, "at_most_usd": None}
