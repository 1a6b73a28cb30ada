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
from formulaseed.extractors.model.store_file import StoreError
from formulaseed.llm.calls import Answer, Attempt, ModelCall, Usage
from formulaseed.llm.limiter import read_prices
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


@pytest.mark.parametrize(
    ("platform", "cache", "folder"),
    [("linux", "cache", "cache"), ("linux", "", ".cache"), ("darwin", "", "Library/Caches")],
)
def test_the_default_store_lies_in_the_users_cache_folder(
    platform: str, cache: str, folder: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", cache and str(tmp_path / cache))
    monkeypatch.setattr(sys, "platform", platform)
    assert default_path() == tmp_path / folder / "formulaseed" / "answers.sqlite"


def exported(path: Path, answers: int) -> list[dict[str, Any]]:
    with Store(path) as store:
        for n in range(answers):
            store.put(f"key{n}", MODEL, StoredAnswer({"mood": "good"}, "", USAGE))
        return list(store.export())


def test_answers_travel_from_store_to_store(tmp_path: Path) -> None:
    """Export, import, and what is known already stays; prune forgets what it is told to, and keeps the ledger."""

    def manage(*arguments: object) -> Outcome:
        return command("store", *arguments, cwd=tmp_path)

    lines = exported(tmp_path / "a.sqlite", 3)
    manage("export", "--store", "a.sqlite", "--out", "a.jsonl").expect(0)
    assert read_lines(tmp_path / "a.jsonl") == lines
    for new, old in ((3, 0), (0, 3)):
        assert manage("import", "a.jsonl", "--store", "b.sqlite").err == f"{new} new, {old} known already\n"
    with Store(tmp_path / "b.sqlite") as store:
        assert list(store.export()) == lines
        store.put("bad", MODEL, StoredAnswer(None, "not JSON", USAGE))
        store.put("own", "own-model", StoredAnswer({}, "", USAGE))
        number = store.ledger.begin(call("bad"), lambda: True)
        store.ledger.settle(Attempt("bad", MODEL, "200", 5, USAGE, id=number))
    info = json.loads(manage("info", "--store", "b.sqlite", "--format", "json").out)
    assert [(a["model"], a["usable"], a["unusable"]) for a in info["answers"]] == [(MODEL, 3, 1), ("own-model", 1, 0)]
    assert info["spent_usd"] == pytest.approx((10 + 20 * 1.25 + 3) * 0.1e-6 + 4 * 0.5e-6)
    for options, gone in (["--unusable"], 1), (["--model", "own-model"], 1), (["--older-than", 1], 0), (["--all"], 3):
        done = manage("prune", *options, "--store", "b.sqlite").expect(0)
        assert done.err == f"{gone} answer{'' if gone == 1 else 's'} deleted\n"
    with Store(tmp_path / "b.sqlite") as store:
        assert store.ledger.count_statuses() == {"200": 1}
    for wrong in ([], ["--all", "--unusable"]):
        manage("prune", *wrong, "--store", "b.sqlite").expect(2)


def test_imported_lines_that_are_none_are_listed_and_the_others_taken(tmp_path: Path) -> None:
    [good] = exported(tmp_path / "a.sqlite", 1)
    changes: list[dict[str, Any]] = [
        {"key": 5}, {"content": "text"}, {"content": []}, {"batch": True}, {"input": -1}, {"output": 10**30}, {"at": 1e999},
        {"tries": None}, {"input": 1.5}, {"model": None},
    ]  # fmt: skip
    lines: list[object] = [{**good, "key": f"k{n}", **change} for n, change in enumerate(changes)]
    write_lines(tmp_path / "in.jsonl", *lines, b'{"key": "x"', {}, {**good, "key": "fine", "unknown": 1})
    *failures, last = (
        command("store", "import", "in.jsonl", "--store", "b.sqlite", cwd=tmp_path).expect(3).err.splitlines()
    )
    assert last == "1 new, 0 known already"
    assert sum(line.startswith("failed: in.jsonl:") for line in failures) == len(lines) + 2
    command("store", "info", "--store", "b.sqlite", cwd=tmp_path).expect(0)


ODD_CONTENTS = [
    {"mood": "delighted"}, {"mood": None}, {"mood": ["good"]}, {}, {"mood": {"$ne": 1}}, {"stars": 5}, {"mood": "good "},
]  # fmt: skip


def test_an_imported_answer_that_does_not_fit_never_reaches_a_row(tmp_path: Path) -> None:
    """It counts as none, and is asked for anew."""
    asked, [good] = questionnaire(seed()), exported(tmp_path / "o.sqlite", 1)
    with Store(tmp_path / "s.sqlite") as store:
        answers = AnswerCache(asked, store, UsageStats(read_prices()))
        for n, content in enumerate(ODD_CONTENTS):
            review = ReviewInput("a", "a-0", f"soup {n}")
            [question] = asked.build_questions(review)
            assert store.import_answer({**good, "key": question.key, "content": content})
            assert answers.find(question) is None, content
            answers.store_answer(question.key, Answer('{"mood": "bad"}', "end_turn", USAGE))
            stored = answers.find(question)
            assert stored is not None
            assert answers.make_extraction(review, [stored]).fields == {"mood": "bad"}


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
    line = [sys.executable, "-c", source]
    processes = [subprocess.Popen([*line, str(n)], cwd=tmp_path, stdin=subprocess.PIPE) for n in range(6)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
    assert [process.wait(60) for process in processes] == [0] * 6
    with Store(tmp_path / "s.sqlite") as store:
        assert store.info()["answers"][0]["usable"] == 300


Damaged = tuple[Path, dict[str, Any]]


@pytest.fixture
def damaged_store(tmp_path: Path) -> Damaged:
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


def test_a_damaged_store_is_refused_with_the_command_that_recovers_it(damaged_store: Damaged, tmp_path: Path) -> None:
    """Nothing is exported of it: half an export must not look like a whole one."""
    advice = "`sqlite3 OLD .recover | sqlite3 NEW` copies what can be read into a new store"
    command("store", "export", "--store", damaged_store[0], "--out", tmp_path / "saved.jsonl").expect(2, advice)
    assert not (tmp_path / "saved.jsonl").exists()


def sqlite_can_recover() -> bool:
    """Return True if there is a command `sqlite3` that was built with `.recover`, which some distributions leave out."""
    if shutil.which("sqlite3") is None:
        return False
    return subprocess.run(["sqlite3", ":memory:", ".recover"], capture_output=True).returncode == 0


@pytest.mark.skipif(not sqlite_can_recover(), reason="needs a command sqlite3 with .recover")
def test_sqlite_recovers_what_can_be_read_of_a_damaged_store(damaged_store: Damaged, tmp_path: Path) -> None:
    """As documented: the recovered database is a store, and has all answers but those of the damaged page, unchanged."""
    path, answers = damaged_store
    recovered = subprocess.run(["sqlite3", path, ".recover"], capture_output=True, check=True)
    subprocess.run(["sqlite3", tmp_path / "new.sqlite"], input=recovered.stdout, check=True)
    with Store(tmp_path / "new.sqlite") as store:
        saved = {line["key"]: line for line in store.export()}
    assert len(answers) - 60 < len(saved) < len(answers)
    assert saved.items() <= answers.items()


def test_a_complete_store_that_can_only_be_read_serves_reruns() -> None:
    """On a disk that is read only: the same results and `store info`; what is not stored is refused with the reason."""
    with tempfile.TemporaryDirectory() as name, loopback(Script()) as server:
        kitchen = Kitchen(Path(name), server).prepare(restaurants(2, 3))
        first = kitchen.run()
        kitchen.store.chmod(0o444)
        kitchen.folder.chmod(0o555)
        before = {path.name: path.stat().st_mtime_ns for path in kitchen.folder.iterdir()}
        environment = {**os.environ, **kitchen.environment()}

        def as_nobody(*arguments: str) -> Outcome:
            done = forking.run(
                arguments, stdin=b"", folder=kitchen.folder, environment=environment, seconds=60, as_nobody=True
            )
            return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())

        as_nobody(*kitchen.arguments("--quiet")).expect(0, "the store saved 6 calls", out=first.out)
        assert "6 answers" in as_nobody("store", "info", "--store", "answers.sqlite").expect(0).out
        more = as_nobody(*kitchen.arguments("--quiet", "--effort", "high"))
        more.expect(2, "; it can be read, but it has not every answer, and takes no new ones\n")
        assert re.search(r"^formulaseed: the store answers\.sqlite cannot be used: .*(readonly|unable)", more.err, re.M)
        assert server.seen(False)["paths"][MESSAGES] == 6
        assert {path.name: path.stat().st_mtime_ns for path in kitchen.folder.iterdir()} == before
        kitchen.folder.chmod(0o755)
