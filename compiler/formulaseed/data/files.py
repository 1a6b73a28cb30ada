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
from contextlib import ExitStack, contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from formulaseed.errors import DataError, UnreadableError, reason_of
from formulaseed.limits import FILE_BYTES
from formulaseed.source.strict_json import JsonRefusal, refuse_constant

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]

BUFFER = 256 * 1024
"""The size of buffers, since lines of rows are about as long as Python's default buffer."""


def read_bytes(file: str | os.PathLike[str], max_bytes: int, *, regular: bool = False) -> tuple[bytes, Path | None]:
    """Return at most `max_bytes` + 1 bytes of a file, and its path; None for standard input and compressed files.

    `-` is standard input, and a name that ends in `.gz` is decompressed. Raises `UnreadableError` if the file cannot be
    opened or decompressed, for a named pipe that nothing writes to, and with `regular` for anything but a regular file.
    """
    name = os.fspath(file)
    path = Path(name) if name != "-" else None
    data = b""
    try:
        if path is not None:
            data = _read(path, max_bytes, regular)
        elif sys.stdin is not None:
            data = sys.stdin.buffer.read(max_bytes + 1)
    except (OSError, ValueError) as error:
        raise UnreadableError(f"cannot read {name}: {reason_of(error)}") from None
    if name.endswith(".gz") and len(data) <= max_bytes:
        return _decompress(name, data, max_bytes), None
    return data, path


def read_whole(file: str | os.PathLike[str], max_bytes: int, *, regular: bool = False) -> bytes:
    """Return a file's bytes. Raises `UnreadableError` as `read_bytes` does, and for more than `max_bytes` bytes.

    With `regular`, anything but a regular file is rejected, too.
    """
    data, _ = read_bytes(file, max_bytes, regular=regular)
    if len(data) > max_bytes:
        raise UnreadableError(f"cannot read {os.fspath(file)}: it is larger than {format_size(max_bytes)}")
    return data


def read_json(file: str | os.PathLike[str]) -> Any:
    """Return the JSON value in a file. Raises `UnreadableError` as `read_whole` does, `DataError` if it is not JSON."""
    return parse_json(read_whole(file, FILE_BYTES), os.fspath(file))


def parse_json(text: str | bytes, name: str) -> Any:
    """Return the value of a JSON text. Raises `DataError`, with the `name` of the text, if it is not JSON.

    NaN, infinity, numbers of thousands of digits and too deep nesting are rejected; of duplicate keys the last counts.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig")
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
    """Raise `UnreadableError` if the existing file `path`, to be written, is an input or directly in an input folder.

    `inputs` are files, folders or patterns of files; None is skipped.
    """
    target = Path(path)
    for source in inputs if target.exists() else ():
        names = [] if source is None else [source, *glob.glob(source, recursive=True)]
        if any(Path(name).exists() and (target.samefile(name) or target.parent.samefile(name)) for name in names):
            raise UnreadableError(f"cannot write {path}: it is one of the inputs")


def has_text(path: Path, text: str) -> bool | None:
    """Return whether a file has exactly this text; None if there is no file.

    Raises `UnreadableError` if it cannot be read.
    """
    if not path.exists():
        return None
    expected = text.encode()
    try:
        return _read(path, len(expected), regular=False) == expected
    except OSError as error:
        raise UnreadableError(f"cannot read {path}: {reason_of(error)}") from None


def replace_file(path: Path, content: str | bytes, *, through_link: bool = True) -> None:
    """Write `content` to a file, or replace it, as `open_replacement` does; compressed if its name ends in `.gz`.

    `through_link` is as there. Raises `UnreadableError` if the file cannot be written.
    """
    data = content.encode() if isinstance(content, str) else content
    if path.suffix == ".gz":
        import gzip

        data = gzip.compress(data, mtime=0)
    try:
        with open_replacement(path, through_link=through_link) as file:
            file.write(data)
    except OSError as error:
        raise UnreadableError(f"cannot write {path}: {reason_of(error)}") from None


@contextmanager
def open_replacement(path: Path, *, through_link: bool = True) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces the file at `path` if the block succeeds; otherwise it is removed.

    A reader sees the old file or the whole new one. With `through_link` the target of a link is replaced, otherwise the link
    itself. A pipe or a device is written to directly. Creates missing folders, and removes the temporary files of killed
    processes. Raises `UnreadableError` if the file cannot be opened or replaced.
    """
    with _translate_write_errors(path):
        path = Path(os.path.realpath(path)) if through_link else path
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = path.stat().st_mode if path.exists() and not path.is_symlink() else None
        temporary = lock = None
        if mode is not None and not stat.S_ISREG(mode):
            file: BinaryIO = path.open("wb")
        else:
            if mode is not None and not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            _remove_abandoned(path)
            temporary, file, lock = _create_temporary(path)
    try:
        with file:
            yield file
        if temporary is not None:
            with _translate_write_errors(path):
                if mode is not None:
                    temporary.chmod(stat.S_IMODE(mode))
                temporary.replace(path)
    except BaseException:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise
    finally:
        if lock is not None:  # held until the file has its final name
            os.close(lock)


@contextmanager
def text_writer(path: str, *inputs: str | None) -> Iterator[TextIO]:
    """Open a file to write text to, compressed if its name ends in `.gz`, or standard output for `-`.

    The file replaces an old one if the block succeeds; otherwise the old one stays. Standard output stays open; it and
    pipes receive each line at once. Raises `UnreadableError` if the file cannot be written, or is one of the inputs.
    """
    if path == "-":
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(line_buffering=True)
        yield sys.stdout
        return
    refuse_input(path, *inputs)
    with ExitStack() as stack:
        binary: Any = stack.enter_context(open_replacement(Path(path)))
        is_read = not stat.S_ISREG(os.fstat(binary.fileno()).st_mode)
        if path.endswith(".gz"):
            import gzip

            binary = stack.enter_context(gzip.GzipFile(Path(path).stem, "wb", fileobj=binary, mtime=0))
        yield stack.enter_context(TextIOWrapper(binary, encoding="utf-8", newline="\n", line_buffering=is_read))


def _create_temporary(path: Path) -> tuple[Path, BinaryIO, int | None]:
    """Create a temporary file beside `path`; return its path, the open file, and a descriptor that holds its lock.

    The descriptor, which the caller must close, is None without `fcntl`.
    """
    while True:
        temporary = path.with_name(f".{path.name[:200]}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
        file = temporary.open("xb", buffering=BUFFER)
        if fcntl is None:
            return temporary, file, None
        lock = os.dup(file.fileno())  # it outlives `file`, which is closed before it gets its final name
        if _try_lock(lock) is not False and os.fstat(lock).st_nlink:
            return temporary, file, lock
        # another process took the file for an abandoned one before it was locked
        os.close(lock)
        file.close()
        temporary.unlink(missing_ok=True)


def _remove_abandoned(path: Path) -> None:
    """Remove the temporary files for `path` that no process has locked, since their processes were killed.

    Errors are ignored, and nothing is removed on a system without file locks.
    """
    pattern = re.compile(rf"\.{re.escape(path.name[:200])}\.\d+-[0-9a-f]{{8}}\.tmp")
    with suppress(OSError):  # a folder that cannot be listed
        for name in os.listdir(path.parent) if fcntl is not None else ():
            if pattern.fullmatch(name):
                _remove_if_abandoned(path.with_name(name))


def _remove_if_abandoned(temporary: Path) -> None:
    """Remove a temporary file, unless a process holds its lock or it cannot be locked. Errors are ignored."""
    with suppress(OSError):  # it is another user's, or gone by now
        descriptor = os.open(temporary, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if _try_lock(descriptor):
                temporary.unlink()
        finally:
            os.close(descriptor)


def _try_lock(descriptor: int) -> bool | None:
    """Lock an open file without waiting. Returns False if another process holds the lock, None without support."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


@contextmanager
def _translate_write_errors(path: Path) -> Iterator[None]:
    """Raise `UnreadableError` in place of an `OSError` or `ValueError` of a `with` block that writes to `path`."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise UnreadableError(f"cannot write {path}: {reason_of(error)}") from None


def format_size(count: int) -> str:
    """Return a number of bytes for messages, such as `64 MiB`."""
    return f"{count // 1024**2} MiB" if count >= 1024**2 else f"{count:,} bytes"


def _read(path: Path, max_bytes: int, regular: bool) -> bytes:
    """Return at most `max_bytes` + 1 bytes of a file. Raises `OSError`, also for a named pipe that nothing writes to.

    With `regular`, it is also raised for anything but a regular file.
    """
    if regular and not stat.S_ISREG(path.stat().st_mode):
        raise OSError(0, "Is a directory" if path.is_dir() else "it is not a regular file")
    with open(path, "rb", opener=_open) as file:
        data = file.read(max_bytes + 1)
        if not data and stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
            raise OSError(0, "it is a pipe without a writer")
    return data


def _open(path: str, flags: int) -> int:
    """Return a descriptor of an opened file, without waiting for a writer if it is a named pipe. Raises `OSError`."""
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    os.set_blocking(descriptor, True)
    return descriptor


def _decompress(name: str, data: bytes, max_bytes: int) -> bytes:
    """Return at most `max_bytes` + 1 bytes of decompressed `data`. Raises `UnreadableError` if it is not valid gzip."""
    import gzip
    import zlib
    from io import BytesIO

    try:
        with gzip.open(BytesIO(data), "rb") as packed:
            return packed.read(max_bytes + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableError(f"cannot read {name}: {error}") from None
