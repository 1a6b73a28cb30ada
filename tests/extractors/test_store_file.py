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
from typing import Any

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


def pragma(path: Path, name: str) -> Any:
    with contextlib.closing(sqlite3.connect(path)) as db:
        return db.execute(f"PRAGMA {name}").fetchone()[0]


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


SCHEMA = ";\n".join(statements for _, statements in MIGRATIONS)
OUR_VERSION = f"PRAGMA user_version = {len(MIGRATIONS)};"
OTHERS = {
    "a table of another": "CREATE TABLE bookmarks (url TEXT);",
    "our names with other columns": OUR_VERSION
    + "".join(f"CREATE TABLE {table} (x);" for table in ("answers", "attempts", "batches", "batched")),
    "one table more": f"{SCHEMA}; CREATE TABLE more (x); {OUR_VERSION}",
    "empty but marked": "PRAGMA application_id = 1234;",
    "a table with a version": "CREATE TABLE bookmarks (url TEXT); PRAGMA user_version = 75;",
}


@pytest.mark.parametrize("statements", OTHERS.values(), ids=OTHERS)
@pytest.mark.thorough
def test_a_database_of_another_application_is_left_alone(tmp_path: Path, statements: str) -> None:
    """By every command that takes a store: exit status 2, one line, and not a byte of the folder changes."""
    needs("anthropic", "llm")
    write_lines(tmp_path / "in.jsonl")
    kitchen = Kitchen(tmp_path).prepare([restaurant("a", "soup")])
    with contextlib.closing(sqlite3.connect(tmp_path / "other.sqlite")) as db:
        db.executescript(statements)
    before = snapshot(tmp_path)
    for arguments in (*READING, *WRITING):
        done = formulaseed("store", *arguments, "--store", "other.sqlite", cwd=tmp_path).expect(2, out="")
        assert done.err == f"formulaseed: other.sqlite {NOT_OURS}; use another --store\n"
        assert snapshot(tmp_path) == before
    for options in (["--dry-run"], []):
        kitchen.run("--store", "other.sqlite", *options).expect(2, NOT_OURS)
        assert snapshot(tmp_path) == before


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS) + 1))
@pytest.mark.thorough
def test_stores_of_the_first_release_are_known_by_their_tables(tmp_path: Path, version: int) -> None:
    """They are read as they are, whatever their version, and marked and brought up to date when something is written."""
    path = first_release(tmp_path / "old.sqlite", version)
    before = snapshot(tmp_path)
    reported = formulaseed("store", "info", "--store", path, "--format", "json").expect(0)
    assert (json.loads(reported.out)["version"], reported.err) == (version, "")
    [line] = formulaseed("store", "export", "--store", path).results
    assert (line["key"], line["content"], line["tries"]) == ("k", {"mood": "good"}, 1)
    assert snapshot(tmp_path) == before
    with Store(path) as store:
        assert store.get("k") == StoredAnswer({"mood": "good"}, "", Usage(1, 2, 3, 4), tries=1)
        assert store.info()["version"] == len(MIGRATIONS)
    facts = [pragma(path, name) for name in ("application_id", "user_version", "journal_mode")]
    assert facts == [int.from_bytes(b"FSED", "big"), len(MIGRATIONS), "wal"]
    assert pragma(filled(tmp_path / "new.sqlite"), "application_id") == facts[0] == APPLICATION_ID


def test_a_store_of_a_newer_release_is_left_to_it(tmp_path: Path) -> None:
    path = filled(tmp_path / "s.sqlite")
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")
    refusal = f"is of version 99, and this formulaseed knows versions up to {len(MIGRATIONS)}; upgrade"
    for arguments in READING:
        formulaseed("store", *arguments, "--store", path).expect(2, refusal)
    Kitchen(tmp_path).prepare([restaurant("a", "soup")]).run("--store", path).expect(2, refusal)


def test_looking_at_a_store_changes_nothing(tmp_path: Path) -> None:
    filled(tmp_path / "s.sqlite")
    before = snapshot(tmp_path)
    for arguments in READING:
        formulaseed("store", *arguments, "--store", "s.sqlite", cwd=tmp_path).expect(0)
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
    with Store(filled(tmp_path / "s.sqlite")) as running:
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


@pytest.mark.thorough
def test_a_dry_run_makes_no_store(tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path).prepare([restaurant("a", "soup")])
    before = snapshot(tmp_path)
    assert "calls to make: 1\n" in kitchen.run("--dry-run", "--store", "new/answers.sqlite").expect(0).out
    assert (snapshot(tmp_path), (tmp_path / "new").exists()) == (before, False)


@pytest.mark.parametrize("arguments", [["run"], *READING, *WRITING], ids=" ".join)
@pytest.mark.thorough
def test_what_is_no_database_is_refused_in_words(tmp_path: Path, arguments: list[str]) -> None:
    """A text, a directory, a pipe: exit status 2 and one line; nothing is made or changed."""
    kitchen = Kitchen(tmp_path).prepare([])
    write_lines(tmp_path / "in.jsonl")
    (tmp_path / "text").write_text("no database at all\n" * 100)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    before, makes_one = snapshot(tmp_path), arguments[0] in ("run", "import")
    reasons = {
        "text": "the store text cannot be used: file is not a database",
        "folder": "folder is not a regular file, and cannot be a store",
        "pipe": "pipe is not a regular file, and cannot be a store",
        "in.jsonl/x": "File exists" if makes_one else "there is no store at in.jsonl/x",
        **({} if makes_one else {"nowhere.sqlite": "there is no store at nowhere.sqlite"}),
    }
    for name, reason in reasons.items():
        if arguments == ["run"]:
            done = kitchen.run("--store", name)
        else:
            done = formulaseed("store", *arguments, "--store", name, cwd=tmp_path)
        done.expect(2, reason, out="")
        assert (done.err.count("\n"), snapshot(tmp_path)) == (1, before), done.err
