"""The store of answers: what it keeps, what it refuses, what comes in from elsewhere."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import forking
import pytest
from asking import MODEL, Kitchen, questionnaire, restaurant, restaurants, seed
from formulaseed.data.results import ReviewInput
from formulaseed.extractors.model.answers import AnswerCache, UsageStats
from formulaseed.extractors.model.store import Store, StoredAnswer, default_path
from formulaseed.extractors.model.store_file import MIGRATIONS, StoreError
from formulaseed.llm.calls import Answer, Attempt, ModelCall, Usage
from formulaseed.llm.prices import read_prices
from helpers import Outcome, command, needs, read_lines, write_lines
from loopback import loopback
from loopback_script import MESSAGES, Script

USAGE = Usage(10, 20, 30, 4)


def call(key: str) -> ModelCall:
    return ModelCall(key, MODEL, "", "", {}, 100)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "folder" / "s.sqlite") as opened:
        yield opened


def test_an_answer_of_use_is_never_replaced(store: Store) -> None:
    """One of no use is."""
    store.put("k", MODEL, StoredAnswer(None, "not JSON", USAGE))
    store.put("k", MODEL, StoredAnswer({"mood": "good"}, "", USAGE, tries=2))
    store.put("k", MODEL, StoredAnswer(None, "worse", USAGE, tries=3))
    assert store.get("k") == StoredAnswer({"mood": "good"}, "", USAGE, tries=2)
    assert store.get("other") is None
    store.forget("k")
    assert store.get("k") is None


def test_what_is_written_together_is_written_whole_or_not_at_all(store: Store) -> None:
    number = store.ledger.begin(call("k"), lambda: True)
    with contextlib.suppress(ZeroDivisionError), store.transaction():
        store.ledger.settle(Attempt("k", MODEL, "200", 5, USAGE, id=number))
        store.put("k", MODEL, StoredAnswer({}, "", USAGE))
        raise ZeroDivisionError
    assert (store.get("k"), store.ledger.count_statuses(), store.ledger.find_claim("k")) == (None, {}, "process")


def test_a_store_of_an_older_version_is_brought_up_to_date(tmp_path: Path) -> None:
    """Step by step, keeping what it holds; the file knows its version."""
    path = tmp_path / "old.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.executescript(MIGRATIONS[0][1])
        db.execute("INSERT INTO answers VALUES ('k', 'm', '{\"mood\": \"good\"}', '', 0, 1, 2, 3, 4, 5.0)")
        db.execute("PRAGMA user_version = 1")
        db.commit()
    with Store(path) as store:
        assert store.get("k") == StoredAnswer({"mood": "good"}, "", Usage(1, 2, 3, 4), tries=1)
        assert store.info()["version"] == len(MIGRATIONS)
    with contextlib.closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def broken(folder: Path, how: str) -> str:
    path = folder / "bad.sqlite"
    if how == "no database":
        path.write_bytes(b"This is a text, and no database at all." * 100)
    elif how == "newer":
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA user_version = 99")
    elif how == "folder":
        path.mkdir()
    elif how == "below a file":
        path.write_text("x")
        return str(path / "s.sqlite")
    elif how == "other tables":
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.execute("CREATE TABLE answers (x)")
            db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
    return str(path)


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("no database", "file is not a database"),
        ("newer", f"is of version 99, and this formulaseed knows versions up to {len(MIGRATIONS)}; upgrade"),
        ("folder", "is not a regular file"),
        ("below a file", "File exists"),
        ("other tables", "is an SQLite database, but not a store of formulaseed"),
    ],
)
def test_a_store_that_cannot_be_used_is_one_message(tmp_path: Path, how: str, reason: str) -> None:
    """Exit status 2, before anything is asked; the file is left as it was."""
    path = broken(tmp_path, how)
    kitchen = Kitchen(tmp_path).prepare([restaurant("a", "soup")])
    before = Path(path).read_bytes() if Path(path).is_file() else None
    done = kitchen.run("--store", path).expect(2)
    assert reason in done.err.splitlines()[-1]
    assert before is None or Path(path).read_bytes() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write whatever it wants")
def test_a_store_that_may_not_be_written_is_one_message(tmp_path: Path) -> None:
    Store(tmp_path / "s.sqlite").close()
    (tmp_path / "s.sqlite").chmod(0o444)
    done = Kitchen(tmp_path).prepare([restaurant("a", "soup")]).run("--store", "s.sqlite")
    assert (done.status, "readonly" in done.err) == (2, True)


@pytest.mark.thorough
def test_a_disk_that_is_full_ends_the_run_at_once(tmp_path: Path) -> None:
    """What cannot be kept is not asked for: the first failure to write ends it, with what was spent."""
    needs("anthropic", "llm")
    with loopback(Script(delay=0.01)) as server:
        kitchen = Kitchen(tmp_path, server).prepare(restaurants(300, 10))  # more answers than would fit
        done = subprocess.run(
            [sys.executable, "-m", "formulaseed", *kitchen.arguments("--quiet", "--concurrency", 4)],
            cwd=tmp_path, env={**os.environ, **kitchen.environment()}, capture_output=True, timeout=60, check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000)),
        )  # fmt: skip
        asked = server.seen(False)["paths"][MESSAGES]
    reported = done.stderr.decode()
    assert (done.returncode, "Traceback" in reported, "never retrieved" in reported) == (2, False, False), reported
    assert "formulaseed: the store answers.sqlite cannot be used: " in reported
    assert "paid $" in reported
    assert 5 < asked < 2900


def test_the_default_store_lies_in_the_users_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "platform", "linux")
    assert default_path() == tmp_path / "cache" / "formulaseed" / "answers.sqlite"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_path() == tmp_path / ".cache" / "formulaseed" / "answers.sqlite"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert default_path() == tmp_path / "Library" / "Caches" / "formulaseed" / "answers.sqlite"


def exported(path: Path, answers: int) -> list[dict[str, Any]]:
    with Store(path) as store:
        for n in range(answers):
            store.put(f"key{n}", MODEL, StoredAnswer({"mood": "good"}, "", USAGE))
        return list(store.export())


def test_answers_travel_from_store_to_store(tmp_path: Path) -> None:
    """Export, import, and what is known already stays; prune forgets what it is told to, and keeps the ledger."""
    lines = exported(tmp_path / "a.sqlite", 3)
    done = command("store", "export", "--store", "a.sqlite", "--out", "a.jsonl", cwd=tmp_path)
    assert (done.status, read_lines(tmp_path / "a.jsonl")) == (0, lines)
    for new, old in ((3, 0), (0, 3)):
        done = command("store", "import", "a.jsonl", "--store", "b.sqlite", cwd=tmp_path)
        assert (done.status, done.err) == (0, f"{new} new, {old} known already\n")
    with Store(tmp_path / "b.sqlite") as store:
        assert list(store.export()) == lines
        store.put("bad", MODEL, StoredAnswer(None, "not JSON", USAGE))
        store.put("own", "own-model", StoredAnswer({}, "", USAGE))
        number = store.ledger.begin(call("bad"), lambda: True)
        store.ledger.settle(Attempt("bad", MODEL, "200", 5, USAGE, id=number))
    info = json.loads(command("store", "info", "--store", "b.sqlite", "--format", "json", cwd=tmp_path).out)
    assert [(a["model"], a["usable"], a["unusable"]) for a in info["answers"]] == [(MODEL, 3, 1), ("own-model", 1, 0)]
    assert info["spent_usd"] == pytest.approx((10 + 20 * 1.25 + 3) * 0.1e-6 + 4 * 0.5e-6)
    for options, gone in (["--unusable"], 1), (["--model", "own-model"], 1), (["--older-than", 1], 0), (["--all"], 3):
        done = command("store", "prune", *options, "--store", "b.sqlite", cwd=tmp_path)
        assert (done.status, done.err) == (0, f"{gone} answer{'' if gone == 1 else 's'} deleted\n")
    with Store(tmp_path / "b.sqlite") as store:
        assert store.ledger.count_statuses() == {"200": 1}
    for wrong in ([], ["--all", "--unusable"]):
        assert command("store", "prune", *wrong, "--store", "b.sqlite", cwd=tmp_path).status == 2


def test_managing_a_store_that_is_not_there_makes_none(tmp_path: Path) -> None:
    for verb in ("info", "export"):
        done = command("store", verb, "--store", "nowhere.sqlite", cwd=tmp_path)
        assert (done.status, "there is no store at nowhere.sqlite" in done.err) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_imported_lines_that_are_none_are_listed_and_the_others_taken(tmp_path: Path) -> None:
    [good] = exported(tmp_path / "a.sqlite", 1)
    changes: list[dict[str, Any]] = [
        {"key": 5}, {"content": "text"}, {"content": []}, {"batch": True}, {"input": -1}, {"output": 10**30}, {"at": 1e999},
        {"tries": None}, {"input": 1.5}, {"model": None},
    ]  # fmt: skip
    lines: list[object] = [{**good, "key": f"k{n}", **change} for n, change in enumerate(changes)]
    write_lines(tmp_path / "in.jsonl", *lines, b'{"key": "x"', {}, {**good, "key": "fine", "unknown": 1})
    done = command("store", "import", "in.jsonl", "--store", "b.sqlite", cwd=tmp_path)
    assert (done.status, done.err.splitlines()[-1]) == (3, "1 new, 0 known already")
    assert len([line for line in done.err.splitlines() if line.startswith("failed: in.jsonl:")]) == len(lines) + 2
    assert command("store", "info", "--store", "b.sqlite", cwd=tmp_path).status == 0


@pytest.mark.parametrize(
    "content",
    [
        {"mood": "delighted"}, {"mood": None}, {"mood": ["good"]}, {}, {"mood": {"$ne": 1}}, {"stars": 5}, {"mood": "good "},
    ],
)  # fmt: skip
def test_an_imported_answer_that_does_not_fit_never_reaches_a_row(tmp_path: Path, content: dict[str, Any]) -> None:
    asked = questionnaire(seed())
    with Store(tmp_path / "s.sqlite") as store:
        answers = AnswerCache(asked, store, UsageStats(read_prices()))
        [question] = asked.build_questions(ReviewInput("a", "a-0", "soup"))
        line = {**exported(tmp_path / "o.sqlite", 1)[0], "key": question.key, "content": content}
        assert store.import_answer(line)
        assert answers.find(question) is None
        answers.store_answer(question.key, Answer('{"mood": "bad"}', "end_turn", USAGE))
        found = answers.find(question)
        assert found is not None
        assert answers.make_extraction(ReviewInput("a", "a-0", "soup"), [found]).fields == {"mood": "bad"}


def test_content_that_is_no_json_is_reported_as_a_broken_store(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        store.put("k", MODEL, StoredAnswer({}, "", USAGE))
        with contextlib.closing(sqlite3.connect(tmp_path / "s.sqlite")) as db:
            db.execute("UPDATE answers SET content = '{'")
            db.commit()
        with pytest.raises(StoreError, match="cannot be used"):
            store.get("k")


@pytest.mark.thorough
def test_stores_that_are_opened_at_the_same_time_wait_for_one_another(tmp_path: Path) -> None:
    """Making the file, turning on its journal and bringing it up to date are safe beside others who do the same."""
    source = (
        "import sys, pathlib\nfrom formulaseed.extractors.model.store import Store, StoredAnswer\n"
        "from formulaseed.llm.calls import Usage\n"
        "name = sys.argv[1]\nsys.stdin.read()\n"
        "with Store(pathlib.Path('s.sqlite')) as store:\n"
        "    for n in range(50):\n        store.put(f'{name}-{n}', 'm', StoredAnswer({}, '', Usage()))\n"
    )
    command_line = [sys.executable, "-c", source]
    processes = [
        subprocess.Popen([*command_line, str(n)], cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        for n in range(6)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
    reported = [process.stderr.read().decode() for process in processes if process.stderr is not None]
    for process in processes:
        process.wait(60)
        assert process.stderr is not None
        process.stderr.close()
    assert [process.returncode for process in processes] == [0] * 6, reported
    with Store(tmp_path / "s.sqlite") as store:
        assert store.info()["answers"][0]["usable"] == 300


@pytest.fixture
def damaged_store(tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """A store with one page of zeros in the middle of its answers; and the answers that it had, by key."""
    path = tmp_path / "damaged.sqlite"
    with Store(path) as store, store.transaction():
        for n in range(600):
            key = hashlib.sha256(str(n).encode()).hexdigest()[:48]
            store.put(key, MODEL, StoredAnswer({"mood": "good", "said": "x" * (n % 200)}, "", USAGE))
    with Store(path, read_only=True) as store:
        answers = {line["key"]: line for line in store.export()}
    data = bytearray(path.read_bytes())
    page = len(data) // 4096 // 2
    data[page * 4096 : (page + 1) * 4096] = bytes(4096)
    path.write_bytes(data)
    return path, answers


def test_a_damaged_store_is_refused_with_the_command_that_recovers_it(
    damaged_store: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    """Nothing is exported of it: half an export must not look like a whole one."""
    done = command("store", "export", "--store", damaged_store[0].name, "--out", "saved.jsonl", cwd=tmp_path)
    assert done.status == 2
    assert "`sqlite3 OLD .recover | sqlite3 NEW` copies what can be read into a new store" in done.err
    assert not (tmp_path / "saved.jsonl").exists()


def sqlite_can_recover() -> bool:
    """Return True if there is a command `sqlite3` that was built with `.recover`, which some distributions leave out."""
    if shutil.which("sqlite3") is None:
        return False
    return subprocess.run(["sqlite3", ":memory:", ".recover"], capture_output=True).returncode == 0


@pytest.mark.skipif(not sqlite_can_recover(), reason="needs a command sqlite3 with .recover")
def test_sqlite_recovers_what_can_be_read_of_a_damaged_store(
    damaged_store: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    """As documented: the recovered database is a store, and has all answers but those of the damaged page, unchanged."""
    path, answers = damaged_store
    recovered = subprocess.run(["sqlite3", path, ".recover"], capture_output=True, check=True)
    subprocess.run(["sqlite3", tmp_path / "new.sqlite"], input=recovered.stdout, check=True)
    with Store(tmp_path / "new.sqlite") as store:
        kept = list(store.export())
    assert len(answers) - 60 < len(kept) < len(answers)
    assert all(answers[line["key"]] == line for line in kept)


def test_a_complete_store_that_can_only_be_read_serves_reruns() -> None:
    """On a disk that is read only: the same results and `store info`; what is not stored is refused with the reason."""
    with tempfile.TemporaryDirectory() as name, loopback(Script()) as server:
        kitchen = Kitchen(Path(name), server).prepare(restaurants(2, 3))
        first = kitchen.run()
        kitchen.store.chmod(0o444)
        kitchen.folder.chmod(0o555)
        before = {path.name: path.stat().st_mtime_ns for path in kitchen.folder.iterdir()}

        def as_nobody(*arguments: object) -> Outcome:
            environment = {**os.environ, **kitchen.environment()}
            done = forking.run(
                [*map(str, arguments)],
                stdin=b"", folder=kitchen.folder, environment=environment, seconds=60, as_nobody=True,
            )  # fmt: skip
            return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())

        again = as_nobody(*kitchen.arguments("--quiet"))
        assert (again.status, again.out) == (0, first.out), again.err
        assert "the store saved 6 calls" in again.err
        info = as_nobody("store", "info", "--store", "answers.sqlite")
        assert (info.status, "6 answers" in info.out) == (0, True)
        more = as_nobody(*kitchen.arguments("--quiet", "--effort", "high"))
        assert more.status == 2
        assert re.search(r"^formulaseed: the store answers\.sqlite cannot be used: .*(readonly|unable)", more.err, re.M)
        assert "; it can be read, but it has not every answer, and takes no new ones\n" in more.err
        assert server.seen(False)["paths"][MESSAGES] == 6
        assert {path.name: path.stat().st_mtime_ns for path in kitchen.folder.iterdir()} == before
        kitchen.folder.chmod(0o755)
