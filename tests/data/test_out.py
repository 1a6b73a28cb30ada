"""Files that commands write: complete at the end, or not at all, whatever was there before."""

from __future__ import annotations

import gzip
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from formulaseed.data.files import open_replacement, text_writer
from formulaseed.errors import UnreadableError
from helpers import EXAMPLES, TASKS, formulaseed

SEED = TASKS / "g1a_v2" / "seed.json"
ROWS = EXAMPLES / "rows-g1a_v2.jsonl"
EVALUATE = [sys.executable, "-m", "formulaseed", "evaluate", str(SEED), "--rows", "-", "--out"]


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("command", "option", "source"),
    [("evaluate", "--rows", ROWS), ("run --extractor lexical", "--contexts", EXAMPLES / "contexts.jsonl")],
)
def test_a_command_that_fails_leaves_the_old_results(command: str, option: str, source: Path, tmp_path: Path) -> None:
    """And no other file; one that succeeds replaces them."""
    truncated = tmp_path / "truncated.jsonl.gz"
    data = gzip.compress(source.read_bytes() * 3)
    truncated.write_bytes(data[: len(data) // 2])
    out = tmp_path / "results.jsonl"
    out.write_text("old\n")
    done = formulaseed(*command.split(), SEED, option, truncated, "--out", out)
    assert (done.status, "cannot read" in done.err, out.read_text()) == (2, True, "old\n"), done.err
    assert names_in(tmp_path) == ["results.jsonl", "truncated.jsonl.gz"]
    assert formulaseed(*command.split(), SEED, option, source, "--out", out).status == 0
    assert len(out.read_text().splitlines()) == 14
    assert names_in(tmp_path) == ["results.jsonl", "truncated.jsonl.gz"]


def temporaries(folder: Path) -> set[Path]:
    return {path for path in folder.iterdir() if path.suffix == ".tmp"}


def start_writing(folder: Path, out: str = "out.jsonl") -> tuple[subprocess.Popen[bytes], Path]:
    """Start a process that has written most of its results and waits for more rows; return its temporary file, too."""
    before = temporaries(folder)
    process = subprocess.Popen([*EVALUATE, out], cwd=folder, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdin is not None
    process.stdin.write(ROWS.read_bytes() * 100)
    process.stdin.flush()
    while True:
        assert process.poll() is None
        for path in temporaries(folder) - before:
            if path.stat().st_size:
                return process, path


def kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


@pytest.mark.thorough
def test_a_killed_command_leaves_the_old_results(tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").write_text("old\n")
    process, _ = start_writing(tmp_path)
    kill(process)
    assert (tmp_path / "out.jsonl").read_text() == "old\n"


@pytest.mark.thorough
def test_the_next_run_removes_only_the_files_of_killed_runs(tmp_path: Path) -> None:
    """Not the file of a living run to the same target, of a run to another target, or of another name."""
    living, living_file = start_writing(tmp_path)
    other, other_file = start_writing(tmp_path, "out.jsonl.2.jsonl")
    kill(other)
    for _ in range(2):
        killed, abandoned = start_writing(tmp_path)
        assert temporaries(tmp_path) == {living_file, other_file, abandoned}, "the second run removes the first's file"
        kill(killed)
    strangers = {
        tmp_path / name for name in (".out.jsonl.tmp", ".out.jsonl.1-0.tmp", ".out.jsonl.x-00000000.tmp", "out.tmp")
    }
    for path in strangers:
        path.write_text("mine")
    link, folder = tmp_path / ".out.jsonl.1-00000000.tmp", tmp_path / ".out.jsonl.2-00000000.tmp"
    link.symlink_to("out.tmp")
    folder.mkdir()
    # a living process with the id of a killed one does not protect its file
    (tmp_path / f".out.jsonl.{os.getpid()}-00000000.tmp").write_text("abandoned")
    done = formulaseed("evaluate", SEED, "--rows", ROWS, "--out", "out.jsonl", cwd=tmp_path)
    assert (done.status, len((tmp_path / "out.jsonl").read_text().splitlines())) == (0, 14)
    remaining = {living_file, other_file, *strangers, link, folder}
    assert temporaries(tmp_path) == remaining
    living.communicate()
    assert living.returncode == 0
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 1400
    assert temporaries(tmp_path) == remaining - {living_file}


def test_many_processes_write_the_same_file(tmp_path: Path) -> None:
    """No process removes the unfinished file of another."""
    source = (
        "import pathlib, sys\nfrom formulaseed.data.files import replace_file\n"
        "for number in range(300):\n    replace_file(pathlib.Path('out'), sys.argv[1] * 1000)\n"
    )
    commands = [[sys.executable, "-c", source, letter] for letter in "abcd"]
    processes = [subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE) for command in commands]
    errors = [process.communicate()[1].decode() for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, errors
    assert names_in(tmp_path) == ["out"]
    assert len(set((tmp_path / "out").read_text())) == 1


def test_a_file_keeps_its_mode_and_its_links(tmp_path: Path) -> None:
    """A new file has the mode that the user's mask leaves."""
    real, link, new = tmp_path / "real", tmp_path / "link", tmp_path / "made" / "new.gz"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to("real")
    with text_writer(str(link)) as file:
        file.write("new")
        assert real.read_text() == "old"
    assert link.is_symlink()
    assert (real.read_text(), stat.S_IMODE(real.stat().st_mode)) == ("new", 0o640)
    mask = os.umask(0o027)
    try:
        with text_writer(str(new)) as file:
            file.write("packed")
    finally:
        os.umask(mask)
    assert (gzip.decompress(new.read_bytes()), stat.S_IMODE(new.stat().st_mode)) == (b"packed", 0o640)


def test_pipes_and_devices_are_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen(["cat", "pipe"], cwd=tmp_path, stdout=subprocess.PIPE)
    done = formulaseed("evaluate", SEED, "--rows", ROWS, "--out", "pipe", cwd=tmp_path)
    lines = reader.communicate(timeout=60)[0].splitlines()
    assert (done.status, len(lines)) == (0, 14)
    assert json.loads(lines[0])["business_id"]
    assert formulaseed("evaluate", SEED, "--rows", ROWS, "--out", "/dev/null").status == 0
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.thorough
@pytest.mark.parametrize("out", ["-", "pipe"])
def test_a_reader_receives_each_line_at_once(tmp_path: Path, out: str) -> None:
    """From standard output and from a pipe, while the command waits for more rows."""
    os.mkfifo(tmp_path / "pipe")
    process = subprocess.Popen(
        [*EVALUATE, out], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    with process, process.stdout if out == "-" else (tmp_path / "pipe").open("rb") as results:  # type: ignore[union-attr]
        assert process.stdin is not None
        for row in ROWS.read_bytes().splitlines(keepends=True)[:3]:
            process.stdin.write(row)
            process.stdin.flush()
            assert json.loads(results.readline())["business_id"] == json.loads(row)["business_id"]
        process.stdin.close()
    assert process.returncode == 0


def test_a_compressed_file_is_compressed_as_a_whole(tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl.gz"
    assert formulaseed("evaluate", SEED, "--rows", ROWS, "--out", out).status == 0
    data = out.read_bytes()
    assert len(data) < 1.05 * len(gzip.compress(gzip.decompress(data)))


def test_an_unwritable_file_is_one_message(tmp_path: Path) -> None:
    """And an exception while a file is written leaves the old one."""
    path = tmp_path / "file"
    path.write_text("x")
    for out, reason in ((tmp_path, "Is a directory"), (path / "out", "File exists"), ("\0", "null")):
        with pytest.raises(UnreadableError, match=f"cannot write .*{reason}"), text_writer(str(out)):
            pass
    with pytest.raises(KeyError), open_replacement(path) as file:  # noqa: PT012
        file.write(b"half")
        raise KeyError
    assert (names_in(tmp_path), path.read_text()) == (["file"], "x")
