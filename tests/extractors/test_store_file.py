"""Which files are stores of answers: other databases are left alone, and looking at a store changes nothing."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from asking import MODEL, Kitchen, restaurant
from formulaseed.extractors.model.store import Store, StoredAnswer
from formulaseed.extractors.model.store_file import APPLICATION_ID, MIGRATIONS, StoreError
from formulaseed.llm.calls import Usage
from helpers import formulaseed, needs, write_lines

USAGE = Usage(10, 20, 30, 4)
NOT_OURS = "is an SQLite database, but not a store of formulaseed"
READING = (["info"], ["info", "--format", "json"], ["export"])
WRITING = (["prune", "--all"], ["import", "in.jsonl"])


def snapshot(folder: Path) -> dict[str, tuple[str, int]]:
    """Every file of a folder: its content and when it was written."""
    return {
        path.name: (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in folder.iterdir()
        if path.is_file()
    }


def pragma(path: Path, name: str) -> int:
    with contextlib.closing(sqlite3.connect(path)) as db:
        found: int = db.execute(f"PRAGMA {name}").fetchone()[0]
    return found


def filled(path: Path, answers: int = 2) -> Path:
    """A store with some answers, as a run leaves one."""
    with Store(path) as store:
        for n in range(answers):
            store.put(f"k{n}", MODEL, StoredAnswer({"mood": "good"}, "", USAGE))
    return path


def first_release(path: Path, version: int = len(MIGRATIONS)) -> Path:
    """A store as the first release made it: without an application id."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        for _, statements in MIGRATIONS[:version]:
            db.executescript(statements)
        db.execute(f"PRAGMA user_version = {version}")
        values = "'k', 'm', '{\"mood\": \"good\"}', '', 0, 1, 2, 3, 4, 5.0"
        columns = "key, model, content, reason, batch, input, cache_write, cache_read, output, at"
        db.execute(f"INSERT INTO answers ({columns}) VALUES ({values})")
        db.commit()
    return path


def table_of_another(db: sqlite3.Connection) -> None:
    db.execute("CREATE TABLE bookmarks (url TEXT)")


def our_names_with_other_columns(db: sqlite3.Connection) -> None:
    for table in ("answers", "attempts", "batches", "batched"):
        db.execute(f"CREATE TABLE {table} (x)")
    db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


def one_table_more(db: sqlite3.Connection) -> None:
    for _, statements in MIGRATIONS:
        db.executescript(statements)
    db.execute("CREATE TABLE more (x)")
    db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


def empty_but_marked(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA application_id = 1234")


def table_with_a_version(db: sqlite3.Connection) -> None:
    table_of_another(db)
    db.execute("PRAGMA user_version = 75")


@pytest.mark.parametrize(
    "make", [table_of_another, our_names_with_other_columns, one_table_more, empty_but_marked, table_with_a_version]
)
def test_a_database_of_another_application_is_left_alone(tmp_path: Path, make: Any) -> None:
    """By every command that takes a store: exit status 2, one line, and not a byte of the folder changes."""
    write_lines(tmp_path / "in.jsonl")
    kitchen = Kitchen(tmp_path).prepare([restaurant("a", "soup")])
    with contextlib.closing(sqlite3.connect(tmp_path / "other.sqlite")) as db:
        make(db)
        db.commit()
    before = snapshot(tmp_path)
    for arguments in (*READING, *WRITING):
        done = formulaseed("store", *arguments, "--store", "other.sqlite", cwd=tmp_path)
        assert (done.status, done.out) == (2, ""), arguments
        assert done.err == f"formulaseed: other.sqlite {NOT_OURS}; use another --store\n"
        assert snapshot(tmp_path) == before
    for options in (["--dry-run"], []):
        needs("anthropic", "llm")
        done = kitchen.run("--store", "other.sqlite", *options)
        assert (done.status, NOT_OURS in done.err) == (2, True)
        assert snapshot(tmp_path) == before


def test_stores_are_marked_as_such(tmp_path: Path) -> None:
    assert pragma(filled(tmp_path / "s.sqlite"), "application_id") == APPLICATION_ID
    assert APPLICATION_ID.to_bytes(4, "big") == b"FSED"


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS) + 1))
def test_stores_of_the_first_release_are_known_by_their_tables(tmp_path: Path, version: int) -> None:
    """They are read as they are, whatever their version, and marked when something is written."""
    path = first_release(tmp_path / "old.sqlite", version)
    before = snapshot(tmp_path)
    reported = formulaseed("store", "info", "--store", path, "--format", "json")
    assert (reported.status, json.loads(reported.out)["version"], reported.err) == (0, version, "")
    [line] = formulaseed("store", "export", "--store", path).results
    assert (line["key"], line["content"], line["tries"]) == ("k", {"mood": "good"}, 1)
    assert snapshot(tmp_path) == before
    Store(path).close()
    assert (pragma(path, "application_id"), pragma(path, "user_version")) == (APPLICATION_ID, len(MIGRATIONS))
    with Store(path) as store:
        assert store.get("k") == StoredAnswer({"mood": "good"}, "", Usage(1, 2, 3, 4), tries=1)


def test_a_store_of_a_newer_release_is_left_to_it(tmp_path: Path) -> None:
    path = filled(tmp_path / "s.sqlite")
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")
    for arguments in READING:
        done = formulaseed("store", *arguments, "--store", path)
        assert (done.status, "is of version 99, and this formulaseed knows versions up to" in done.err) == (2, True)


def test_looking_at_a_store_changes_nothing(tmp_path: Path) -> None:
    filled(tmp_path / "s.sqlite")
    before = snapshot(tmp_path)
    for arguments in READING:
        assert formulaseed("store", *arguments, "--store", "s.sqlite", cwd=tmp_path).status == 0
    assert snapshot(tmp_path) == before


def test_a_store_that_may_not_be_written_can_be_looked_at() -> None:
    """The file and its folder belong to somebody else, and may only be read."""
    source = (
        "import sys, pathlib, json, os, urllib.parse\nsys.path[:0] = json.loads(sys.argv[2])\n"
        "from formulaseed.extractors.model.store import Store\n"
        "if os.geteuid() == 0:\n    os.setgid(65534)\n    os.setuid(65534)\n"
        "with Store(pathlib.Path(sys.argv[1]), must_exist=True, read_only=True) as store:\n"
        "    print(len(list(store.export())), store.info()['answers'][0]['usable'])\n"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        filled(folder / "s.sqlite").chmod(0o444)
        folder.chmod(0o555)
        command = [sys.executable, "-c", source, str(folder / "s.sqlite"), json.dumps(sys.path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stdout) == (0, "2 2\n"), done.stderr
        assert [path.name for path in folder.iterdir()] == ["s.sqlite"]
        folder.chmod(0o755)


def test_a_store_that_a_run_writes_to_shows_what_it_has_written(tmp_path: Path) -> None:
    filled(tmp_path / "s.sqlite")
    with Store(tmp_path / "s.sqlite") as running:
        running.put("new", MODEL, StoredAnswer({"mood": "bad"}, "", USAGE))
        reported = formulaseed("store", "export", "--store", tmp_path / "s.sqlite")
        assert [line["key"] for line in reported.results] == ["k0", "k1", "new"]


def test_a_store_that_is_rewritten_while_it_is_read_is_said_to_be(tmp_path: Path) -> None:
    """What was read may be half old and half new: whoever reads on or ends is notified; reading it again is right."""
    path = filled(tmp_path / "s.sqlite")
    reading, ending = Store(path, read_only=True), Store(path, read_only=True)
    filled(path, 400)
    for use in (reading.info, lambda: ending.__exit__(None)):
        with pytest.raises(StoreError, match=r"has changed while it was read; run the command again"):
            use()
    reading.close()
    with Store(path, read_only=True) as again:
        assert again.info()["answers"][0]["usable"] == 400


def test_a_dry_run_makes_no_store(tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path).prepare([restaurant("a", "soup")])
    before = snapshot(tmp_path)
    done = kitchen.run("--dry-run", "--store", "new/answers.sqlite")
    assert (done.status, "calls to make: 1\n" in done.out) == (0, True)
    assert snapshot(tmp_path) == before
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("arguments", [*READING, *WRITING])
def test_what_is_no_database_is_refused_in_words(tmp_path: Path, arguments: list[str]) -> None:
    write_lines(tmp_path / "in.jsonl")
    (tmp_path / "text").write_text("no database at all\n" * 100)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    reasons = {
        "text": "the store text cannot be used: file is not a database",
        "folder": "folder is not a regular file, and cannot be a store",
        "pipe": "pipe is not a regular file, and cannot be a store",
        "in.jsonl/x": "there is no store at in.jsonl/x" if arguments[0] != "import" else "File exists",
    }
    for name, reason in reasons.items():
        done = formulaseed("store", *arguments, "--store", name, cwd=tmp_path)
        assert (done.status, done.out, done.err.count("\n")) == (2, "", 1), done.err
        assert reason in done.err
