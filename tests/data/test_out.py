"""Files that commands write: whole and at the end, or not at all, whatever was there before."""

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
CONTEXTS = EXAMPLES / "contexts.jsonl"


def broken(folder: Path, whole: Path) -> Path:
    """A compressed file that ends in its middle: some of its lines can be read."""
    packed = gzip.compress(whole.read_bytes() * 3)
    (folder / "broken.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    return folder / "broken.jsonl.gz"


@pytest.mark.parametrize(
    "arguments",
    [
        ["evaluate", SEED, "--rows", ROWS],
        ["run", SEED, "--contexts", CONTEXTS],
    ],
)
def test_a_command_that_breaks_off_leaves_the_old_results(tmp_path: Path, arguments: list[object]) -> None:
    """And nothing beside them; one that ends well replaces them."""
    out = tmp_path / "results.jsonl"
    out.write_text("old\n")
    done = formulaseed(*arguments[:-1], broken(tmp_path, Path(str(arguments[-1]))), "--out", out)
    assert (done.status, "cannot read" in done.err) == (2, True), done.err
    assert out.read_text() == "old\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.jsonl.gz", "results.jsonl"]
    done = formulaseed(*arguments, "--out", out)
    assert done.status == 0
    assert len(out.read_text().splitlines()) == 14
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.jsonl.gz", "results.jsonl"]


def temporaries(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.suffix == ".tmp"]


def half_written(folder: Path, out: str = "out.jsonl") -> tuple[subprocess.Popen[bytes], Path]:
    """A process that has written most of its results, and waits for more rows; with its temporary file."""
    before = set(temporaries(folder))
    command = [sys.executable, "-m", "formulaseed", "evaluate", str(SEED), "--rows", "-", "--out", out]
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdin is not None
    process.stdin.write(ROWS.read_bytes() * 100)
    process.stdin.flush()
    while True:
        assert process.poll() is None
        for path in set(temporaries(folder)) - before:
            if path.stat().st_size:
                return process, path


def end(process: subprocess.Popen[bytes], *, kill: bool = False) -> int:
    if kill:
        process.kill()
    process.communicate()
    return process.returncode


def test_a_command_that_is_killed_leaves_the_old_results(tmp_path: Path) -> None:
    """While it has written most of the new ones."""
    (tmp_path / "out.jsonl").write_text("old\n")
    process, _ = half_written(tmp_path)
    end(process, kill=True)
    assert (tmp_path / "out.jsonl").read_text() == "old\n"


def test_the_next_run_removes_what_killed_ones_left_and_nothing_else(tmp_path: Path) -> None:
    """Neither the file of a living run to the same target, nor that of a run to another one, nor a file of another name."""
    living, its_file = half_written(tmp_path)
    other, other_file = half_written(tmp_path, "out.jsonl.2.jsonl")
    end(other, kill=True)
    for _ in range(2):
        killed, left = half_written(tmp_path)
        assert set(temporaries(tmp_path)) == {its_file, other_file, left}, "the first one's is removed by the second"
        end(killed, kill=True)
    strangers = [
        tmp_path / name for name in (".out.jsonl.tmp", ".out.jsonl.1-0.tmp", ".out.jsonl.x-00000000.tmp", "out.tmp")
    ]
    for stranger in strangers:
        stranger.write_text("mine")
    (tmp_path / ".out.jsonl.1-00000000.tmp").symlink_to("out.tmp")
    (tmp_path / ".out.jsonl.2-00000000.tmp").mkdir()
    # a living process with the id of a killed one does not protect its file
    reused = tmp_path / f".out.jsonl.{os.getpid()}-00000000.tmp"
    reused.write_text("abandoned")
    done = formulaseed("evaluate", SEED, "--rows", ROWS, "--out", "out.jsonl", cwd=tmp_path)
    assert (done.status, len((tmp_path / "out.jsonl").read_text().splitlines())) == (0, 14)
    kept = {
        its_file,
        other_file,
        *strangers,
        tmp_path / ".out.jsonl.1-00000000.tmp",
        tmp_path / ".out.jsonl.2-00000000.tmp",
    }
    assert set(temporaries(tmp_path)) == kept
    assert end(living) == 0
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 1400
    assert set(temporaries(tmp_path)) == kept - {its_file}


def test_many_processes_write_the_same_file_at_once(tmp_path: Path) -> None:
    """None takes another's unfinished file for an abandoned one."""
    source = (
        "import pathlib, sys\nfrom formulaseed.data.files import replace_file\n"
        "for number in range(300):\n    replace_file(pathlib.Path('out'), sys.argv[1] * 1000)\n"
    )
    commands = [[sys.executable, "-c", source, letter] for letter in "abcd"]
    processes = [subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE) for command in commands]
    reported = [process.communicate()[1].decode() for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, reported
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert len(set((tmp_path / "out").read_text())) == 1


def test_a_file_keeps_its_mode_and_its_links(tmp_path: Path) -> None:
    """A link leads to the new file; a new one has the mode that the user's mask leaves."""
    (tmp_path / "real").write_text("old")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "link").symlink_to("real")
    with text_writer(str(tmp_path / "link")) as file:
        file.write("new")
        assert (tmp_path / "real").read_text() == "old"
    assert (tmp_path / "link").is_symlink()
    assert ((tmp_path / "real").read_text(), stat.S_IMODE((tmp_path / "real").stat().st_mode)) == ("new", 0o640)
    before = os.umask(0o027)
    try:
        with text_writer(str(tmp_path / "made" / "new.gz")) as file:
            file.write("packed")
    finally:
        os.umask(before)
    assert gzip.decompress((tmp_path / "made" / "new.gz").read_bytes()) == b"packed"
    assert stat.S_IMODE((tmp_path / "made" / "new.gz").stat().st_mode) == 0o640


def test_a_pipe_and_a_device_are_written_to_as_they_are(tmp_path: Path) -> None:
    """Nobody can take their place."""
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen(["cat", "pipe"], cwd=tmp_path, stdout=subprocess.PIPE)
    done = formulaseed("evaluate", SEED, "--rows", ROWS, "--out", "pipe", cwd=tmp_path)
    out = reader.communicate(timeout=60)[0]
    assert (done.status, len(out.splitlines())) == (0, 14)
    assert json.loads(out.splitlines()[0])["business_id"]
    assert formulaseed("evaluate", SEED, "--rows", ROWS, "--out", "/dev/null").status == 0
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.parametrize("out", ["-", "pipe"])
def test_who_reads_meanwhile_has_each_line_at_once(tmp_path: Path, out: str) -> None:
    """From standard output and from a pipe, while the command waits for more rows."""
    os.mkfifo(tmp_path / "pipe")
    command = [sys.executable, "-m", "formulaseed", "evaluate", str(SEED), "--rows", "-", "--out", out]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
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
    """Not line by line."""
    assert formulaseed("evaluate", SEED, "--rows", ROWS, "--out", tmp_path / "results.jsonl.gz").status == 0
    found = (tmp_path / "results.jsonl.gz").read_bytes()
    assert len(found) < 1.05 * len(gzip.compress(gzip.decompress(found)))


def test_what_cannot_be_written_is_one_message(tmp_path: Path) -> None:
    """Before anything is evaluated."""
    (tmp_path / "file").write_text("x")
    for out, reason in ((tmp_path, "Is a directory"), (tmp_path / "file" / "out", "File exists"), ("\0", "null")):
        with pytest.raises(UnreadableError, match=f"cannot write .*{reason}"), text_writer(str(out)):
            pass

    def half() -> None:
        with open_replacement(tmp_path / "file") as file:
            file.write(b"half")
            raise KeyError

    with pytest.raises(KeyError):
        half()
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("file", "x")]
