"""Write files atomically, and read them up to a limit: decompressed if the name ends in `.gz`, standard input for `-`."""

from __future__ import annotations

import errno
import glob
import json
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from formulaseed.errors import DataError, UnreadableError, reason_of
from formulaseed.limits import FILE_BYTES
from formulaseed.source.strict_json import JsonRefusal, refuse_constant

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]

BUFFER = 256 * 1024
"""The bytes that are read or written at once: lines of rows are about as long as Python's own buffer."""


def read_bytes(file: str | os.PathLike[str], most: int, *, regular: bool = False) -> tuple[bytes, Path | None]:
    """Return a file's bytes, at most one more than `most`, and its path; None if it cannot be written back.

    Raises `UnreadableError` if it cannot be opened or decompressed, for a named pipe that nothing writes to, and with
    `regular` for anything but a regular file.
    """
    name = os.fspath(file)
    path = Path(name) if name != "-" else None
    data = b""
    try:
        if path is not None:
            data = _read(path, most, regular)
        elif sys.stdin is not None:
            data = sys.stdin.buffer.read(most + 1)
    except (OSError, ValueError) as error:
        raise UnreadableError(f"cannot read {name}: {reason_of(error)}") from None
    if name.endswith(".gz") and len(data) <= most:
        return _decompress(name, data, most), None
    return data, path


def read_whole(file: str | os.PathLike[str], most: int, *, regular: bool = False) -> bytes:
    """Return a file's bytes. Raises `UnreadableError` as `read_bytes` does, and for a file of more than `most` bytes."""
    data, _ = read_bytes(file, most, regular=regular)
    if len(data) > most:
        raise UnreadableError(f"cannot read {os.fspath(file)}: it is larger than {shown_bytes(most)}")
    return data


def read_json(file: str | os.PathLike[str]) -> Any:
    """Return the JSON value in a file. Raises `UnreadableError` as `read_whole` does, `DataError` if it is not JSON."""
    return json_value(read_whole(file, FILE_BYTES), os.fspath(file))


def json_value(text: str | bytes, name: str) -> Any:
    """Return the value of a JSON text of this name. Raises `DataError` if it is not JSON."""
    try:
        text = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        return json.loads(text, parse_constant=refuse_constant)
    except json.JSONDecodeError as error:
        raise DataError(f"not JSON: {error.msg}", f"{name}:{error.lineno}:{error.colno}") from None
    except UnicodeDecodeError as error:
        raise DataError(f"not JSON: byte {error.start} is not UTF-8", name) from None
    except JsonRefusal as error:
        raise DataError(f"not JSON: {error}", name) from None
    except ValueError:  # Python refuses to read integers of thousands of digits
        raise DataError("a number has too many digits", name) from None
    except RecursionError:
        raise DataError("objects and lists are nested too deep", name) from None


def refuse_input(path: str, *inputs: str | None) -> None:
    """Raise `UnreadableError` if a file to be written is one of the inputs: files, folders or patterns of files."""
    target = Path(path)
    for source in inputs if target.exists() else ():
        names = [] if source is None else [source, *glob.glob(source, recursive=True)]
        if any(Path(name).exists() and (target.samefile(name) or target.parent.samefile(name)) for name in names):
            raise UnreadableError(f"cannot write {path}: it is one of the inputs")


def holds(path: Path, text: str) -> bool | None:
    """Return True if a file has exactly this text; None if there is no file. Raises `UnreadableError`."""
    if not path.exists():
        return None
    expected = text.encode()
    try:
        return _read(path, len(expected), regular=False) == expected
    except OSError as error:
        raise UnreadableError(f"cannot read {path}: {reason_of(error)}") from None


def replace_file(path: Path, text: str, *, through_link: bool = True) -> None:
    """Write a file as `replacing` does, compressed if it is a `.gz`. Raises `UnreadableError` if it cannot be written."""
    data = text.encode()
    if path.suffix == ".gz":
        import gzip

        data = gzip.compress(data, mtime=0)
    try:
        with replacing(path, through_link=through_link) as file:
            file.write(data)
    except OSError as error:
        raise UnreadableError(f"cannot write {path}: {reason_of(error)}") from None


@contextmanager
def replacing(path: Path, *, through_link: bool = True) -> Iterator[BinaryIO]:
    """Open a file beside this one, which takes its place once everything inside has succeeded.

    A reader sees the old file or the whole new one; if something fails, the old one stays. A link stays a link, and its
    target is written; otherwise the file replaces the link. A pipe or a device is written to as it is. Removes the files
    that killed processes left beside it. Raises `UnreadableError` if the file cannot be opened or replaced.
    """
    with _writing(path):
        path = Path(os.path.realpath(path)) if through_link else path
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = path.stat().st_mode if path.exists() and not path.is_symlink() else None
        beside = lock = None
        if mode is not None and not stat.S_ISREG(mode):
            file: BinaryIO = path.open("wb")
        else:
            if mode is not None and not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            _remove_abandoned(path)
            beside, file, lock = _create_beside(path)
    try:
        with file:
            yield file
        if beside is not None:
            with _writing(path):
                if mode is not None:
                    beside.chmod(stat.S_IMODE(mode))
                beside.replace(path)
    except BaseException:
        if beside is not None:
            beside.unlink(missing_ok=True)
        raise
    finally:
        if lock is not None:  # held until the file has its final name
            os.close(lock)


def _create_beside(path: Path) -> tuple[Path, BinaryIO, int | None]:
    """Create a temporary file beside a path; return its path, the open file, and a descriptor that holds its lock, if any."""
    while True:
        beside = path.with_name(f".{path.name[:200]}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
        file = beside.open("xb", buffering=BUFFER)
        if fcntl is None:
            return beside, file, None
        lock = os.dup(file.fileno())  # it outlives `file`, which is closed before it gets its final name
        if _try_lock(lock) is not False and os.fstat(lock).st_nlink:
            return beside, file, lock
        # another process took the file for an abandoned one before it was locked
        os.close(lock)
        file.close()
        beside.unlink(missing_ok=True)


def _remove_abandoned(path: Path) -> None:
    """Remove the temporary files beside a path whose processes have ended: those that no process has locked."""
    temporary = re.compile(rf"\.{re.escape(path.name[:200])}\.\d+-[0-9a-f]{{8}}\.tmp")
    with suppress(OSError):  # a folder that cannot be listed
        for name in os.listdir(path.parent) if fcntl is not None else ():
            if temporary.fullmatch(name):
                _remove_if_abandoned(path.with_name(name))


def _remove_if_abandoned(beside: Path) -> None:
    with suppress(OSError):  # it is another user's, or gone by now
        descriptor = os.open(beside, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if _try_lock(descriptor):
                beside.unlink()
        finally:
            os.close(descriptor)


def _try_lock(descriptor: int) -> bool | None:
    """Lock an open file; return False if another process holds the lock, None if the file system has no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise UnreadableError(f"cannot write {path}: {reason_of(error)}") from None


def shown_bytes(count: int) -> str:
    """Return a limit for people: `64 MiB`."""
    return f"{count // 1024**2} MiB" if count >= 1024**2 else f"{count:,} bytes"


def _read(path: Path, most: int, regular: bool) -> bytes:
    if regular and not stat.S_ISREG(path.stat().st_mode):
        raise OSError(0, "Is a directory" if path.is_dir() else "it is not a regular file")
    with open(path, "rb", opener=_open) as file:
        data = file.read(most + 1)
        if not data and stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
            raise OSError(0, "it is a pipe without a writer")
    return data


def _open(path: str, flags: int) -> int:
    """Open a file without blocking on a named pipe that has no writer."""
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    os.set_blocking(descriptor, True)
    return descriptor


def _decompress(name: str, data: bytes, most: int) -> bytes:
    """Decompress at most one byte more than `most`. Raises `UnreadableError`."""
    import gzip
    import zlib
    from io import BytesIO

    try:
        with gzip.open(BytesIO(data), "rb") as packed:
            return packed.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableError(f"cannot read {name}: {error}") from None
