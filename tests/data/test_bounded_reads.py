"""No input makes a command read more than its limit: devices, pipes, folders, lines without an end."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from formulaseed import DataError, limits, validate_requests
from formulaseed.data import jsonl
from formulaseed.data.files import has_text, read_bytes, read_whole
from formulaseed.errors import UnreadableError
from helpers import ROOT, Outcome, formulaseed, tiny_row, tiny_rows, tiny_seed, write_json, write_lines

G1A = ROOT / "tasks" / "g1a_v2" / "seed.json"
MEMORY = 1024**3
"""The bytes that a command may use: twice a line at its limit, and Python."""
REQUESTS = "examples/requests.jsonl"
CONTEXTS = "examples/contexts.jsonl"


def run_bounded(*arguments: object, redirect: str = "") -> Outcome:
    return formulaseed(*arguments, memory=MEMORY, redirect=redirect)


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A named pipe that nothing writes to."""
    os.mkfifo(tmp_path / "pipe.py")
    return tmp_path / "pipe.py"


@pytest.mark.parametrize(
    "arguments",
    [
        ("evaluate", G1A, "--rows", "/dev/zero"), ("run", G1A, "--contexts", "/dev/zero"),
        ("run", G1A, "--restaurants", CONTEXTS, "--reviews", "/dev/zero"),
        ("validate", REQUESTS, "--restaurants", "/dev/zero"), ("evaluate", G1A, "--rows", "-"),
    ],
)  # fmt: skip
@pytest.mark.thorough
def test_a_line_without_an_end_ends_the_file(arguments: tuple[object, ...]) -> None:
    is_stdin = arguments[-1] == "-"
    done = run_bounded(*arguments, redirect="< /dev/zero" if is_stdin else "")
    name = "<stdin>" if is_stdin else "/dev/zero"
    assert (done.status, done.out) == (2, "")
    assert done.err.endswith(f"formulaseed: cannot read {name}: line 1 is longer than 64 MiB\n")


@pytest.mark.thorough
def test_a_compressed_line_is_bounded_as_it_is_decompressed(tmp_path: Path) -> None:
    """Two megabytes of two gigabytes: the lines before are evaluated."""
    seed = write_json(tmp_path / "seed.json", tiny_seed())
    path = tmp_path / "rows.jsonl.gz"
    first = write_lines(tmp_path / "first", tiny_rows("a", tiny_row("r1"))).read_bytes()
    path.write_bytes(gzip.compress(first) + gzip.compress(b" " * 2**26) * 32)
    assert path.stat().st_size < 3_000_000
    done = run_bounded("evaluate", seed, "--rows", path)
    assert (done.status, [line["business_id"] for line in done.results]) == (2, ["a"])
    assert f"cannot read {path}: line 2 is longer than 64 MiB" in done.err


def test_a_line_at_the_limit_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit includes the line end, except on the last line."""
    monkeypatch.setattr(jsonl, "LINE_BYTES", 1024**2)
    line = b'{"a": 1}'.ljust(1024**2 - 1) + b"\n"
    path = tmp_path / "lines"
    for data in (line * 2, line + line.rstrip(b"\n")):
        path.write_bytes(data)
        assert len(list(jsonl.read_lines(str(path)))) == 2
    path.write_bytes(line + b" " + line)
    with pytest.raises(UnreadableError, match="line 2 is longer than 1 MiB"):
        list(jsonl.read_lines(str(path)))


def whole_file_commands(path: object) -> Iterator[tuple[object, ...]]:
    """Yield commands that read a file as a whole."""
    yield "check", path
    yield "evaluate", path, "--rows", "examples/rows-g1a_v2.jsonl"
    yield "compile", path, "--stdout"
    yield "validate", path, "--restaurants", CONTEXTS
    yield "validate", REQUESTS, "--restaurants", CONTEXTS, "--social", path
    yield "formula", "1 + 1", "--vars", f"@{path}"
    yield "formula", "1 + 1", "--reference", path
    yield "run", G1A, "--contexts", CONTEXTS, "--extractor", "anthropic", "--dry-run", "--prices", path
    yield "draft", path, "--out", "-"


@pytest.mark.thorough
def test_devices_and_pipes_in_place_of_files(pipe: Path) -> None:
    """Each command ends at once with a message."""
    for path in ("/dev/zero", pipe, pipe.parent, pipe.parent / "absent"):
        for arguments in whole_file_commands(path):
            done = run_bounded(*arguments)
            assert done.status in (1, 2), arguments
            assert done.err or (arguments[0] == "check" and done.out), arguments


def test_a_module_is_a_regular_file(pipe: Path, tmp_path: Path) -> None:
    """Other files, and one that is too large, are refused before they are read."""
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "zero.py").symlink_to("/dev/zero")
    with open(tmp_path / "huge.py", "wb") as huge:
        huge.truncate(10 * limits.MODULE_BYTES)
    no_file = "it is not a regular file"
    for path, reason in (
        (pipe, no_file), (tmp_path / "zero.py", no_file), (tmp_path / "folder.py", "Is a directory"),
        (tmp_path / "huge.py", "it is larger than 16 MiB"), (tmp_path / "absent.py", "No such file or directory"),
    ):  # fmt: skip
        for arguments in (("evaluate", path, "--rows", "examples/rows-g1a_v2.jsonl"), ("run", path, "--contexts", "x")):
            done = run_bounded(*arguments)
            assert (done.status, done.err) == (2, f"formulaseed: cannot read {path}: {reason}\n")


@pytest.mark.thorough
def test_a_seed_may_come_through_a_pipe() -> None:
    """As the shell's process substitution gives it, also to commands that need the seed twice."""
    script = "sleep 0.2; cat tasks/g1a_v2/seed.json"
    command = (
        f'"{sys.executable}" -m formulaseed run <({script}) --contexts {CONTEXTS} --limit 1 --quiet --extractor lexical'
    )
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.count(b"\n")) == (0, 1), done.stderr


def test_a_file_is_read_up_to_the_limit(tmp_path: Path, pipe: Path) -> None:
    """Compressed or not; `has_text` reads no more than the text."""
    path, bomb = tmp_path / "file", tmp_path / "bomb.gz"
    path.write_bytes(b"x" * 1000)
    assert read_whole(path, 1000) == b"x" * 1000
    with pytest.raises(UnreadableError, match="it is larger than 999 bytes"):
        read_whole(path, 999)
    bomb.write_bytes(gzip.compress(b"x" * 50_000_000))
    tracemalloc.start()
    assert read_bytes(bomb, 100_000) == (b"x" * 100_001, None)
    assert read_bytes("/dev/zero", 1000)[0] == bytes(1001)
    assert [has_text(path, "x" * count) for count in (999, 1000, 1001)] == [False, True, False]
    assert has_text(Path("/dev/zero"), "x") is False
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()
    assert has_text(tmp_path / "absent", "") is None
    for unreadable in (tmp_path, pipe):
        with pytest.raises(UnreadableError, match="cannot read"):
            has_text(unreadable, "x")
        with pytest.raises(UnreadableError, match="cannot read"):
            read_bytes(unreadable, 10)
    for social in ("/dev/zero", pipe):
        with pytest.raises(DataError):
            validate_requests(ROOT / REQUESTS, restaurants=[], social=social)
