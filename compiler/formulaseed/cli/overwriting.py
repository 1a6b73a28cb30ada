"""Find out whether `compile` may overwrite a file, or whether something else would be lost.

A generated file states the document that it was generated from; `Backend.identify` reads that.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NamedTuple

from formulaseed.backends.base import Backend, Identity
from formulaseed.cli.output import say
from formulaseed.data.documents import candidate_paths
from formulaseed.errors import UnreadableError, reason_of


class Obstacle(NamedTuple):
    """The reason not to overwrite a file, the help for it, and whether --force overwrites the file nevertheless."""

    reason: str
    help: str
    may_be_forced: bool = True


def find_obstacle(path: Path, source: str, document: Path | None, backend: Backend) -> Obstacle | None:
    """Return the reason not to write the generated text `source` to `path`; None if the file may be written.

    Only a new file, or a regular file that was generated from the same document, may be written. `document` is the file
    that `source` was generated from, if any. Raises `UnreadableError` if an existing file cannot be read.
    """
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):  # writing the file reports a parent that is no directory
        return None
    except (OSError, ValueError) as error:
        raise UnreadableError(f"cannot write {path}: {reason_of(error)}") from None
    if stat.S_ISLNK(mode):
        return Obstacle("it is a symbolic link", "remove it")
    if not stat.S_ISREG(mode):
        kind = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
        return Obstacle(f"it is {kind}", "move it", may_be_forced=False)
    try:
        existing = _read_identity(path, backend)
    except OSError as error:
        raise UnreadableError(f"cannot read {path}: {reason_of(error)}") from None
    if existing is None:
        return Obstacle("it is not a file that formulaseed generated", "move it")
    if not _is_same_document(existing, backend.identify(source), path, document):
        prefix = f"`{existing.path}`, which is " if existing.path else ""
        return Obstacle(f"it was generated from {prefix}`{existing.name}`", "rename one of the two")
    return None


def report_former(former: Path, path: Path, source: str, document: Path | None, backend: Backend) -> None:
    """Print advice to delete the file `former` if it was generated from the same document as `source`, for `path`.

    `former` is the name that an earlier release gave the file. Prints nothing if the file is missing or cannot be read.
    """
    try:
        identity = _read_identity(former, backend)
    except OSError:  # there is no such file
        return
    if identity is not None and _is_same_document(identity, backend.identify(source), former, document):
        say(f"{former}: an earlier module of the same file, which is now {path}: delete it", err=True)


def _read_identity(path: Path, backend: Backend) -> Identity | None:
    """Return the document that a file was generated from; None if the file was not generated.

    Raises `OSError` if the file cannot be read.
    """
    return backend.identify(path.read_bytes().decode("utf-8", "replace"))


def _is_same_document(existing: Identity, new: Identity | None, path: Path, document: Path | None) -> bool:
    """Return True if the file at `path`, with the identity `existing`, was generated from the file `document`.

    The two identities must have the same kind and name; False if `new` is None. Their paths may differ if the path of
    `existing` leads to `document`, or to no file any more.
    """
    if new is None or (existing.kind, existing.name) != (new.kind, new.name):
        return False
    if existing.path in ("", new.path):
        return True
    folders = [path.parent]
    if document is not None:
        folders.append(document.parent)
    files = [file for folder in folders for file in candidate_paths(existing.path, folder) if os.path.isfile(file)]
    return not files or (document is not None and any(file.samefile(document) for file in files))
