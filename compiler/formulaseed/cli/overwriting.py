"""What keeps `compile` from writing a file: something else is there, or what was generated from another document.

A file that a target has written states what it was made from, and the target reads that again: `Backend.identify`.
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
    """What keeps a file from being written, what to do about it, and whether --force replaces it."""

    what: str
    help: str
    may_be_forced: bool = True


def obstacle_at(path: Path, source: str, made_from: Path | None, backend: Backend) -> Obstacle | None:
    """Return why a generated file must not be written there; None where nothing is lost by it. Raises `UnreadableError`."""
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):  # the latter is reported when the file is written
        return None
    except (OSError, ValueError) as error:
        raise UnreadableError(f"cannot write {path}: {reason_of(error)}") from None
    if stat.S_ISLNK(mode):
        return Obstacle("it is a symbolic link", "remove it")
    if not stat.S_ISREG(mode):
        what = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
        return Obstacle(f"it is {what}", "move it", may_be_forced=False)
    try:
        present = _identity_at(path, backend)
    except OSError as error:
        raise UnreadableError(f"cannot read {path}: {reason_of(error)}") from None
    if present is None:
        return Obstacle("it is not a file that formulaseed generated", "move it")
    if not _is_same(present, backend.identify(source), path, made_from):
        where = f"`{present.path}`, which is " if present.path else ""
        return Obstacle(f"it was generated from {where}`{present.name}`", "rename one of the two")
    return None


def report_former(former: Path, path: Path, source: str, made_from: Path | None, backend: Backend) -> None:
    """Say that a file of the same document is left under the name that an earlier release gave it, for people to delete."""
    try:
        present = _identity_at(former, backend)
    except OSError:  # there is none
        return
    if present is not None and _is_same(present, backend.identify(source), former, made_from):
        say(f"{former}: an earlier module of the same file, which is now {path}: delete it", err=True)


def _identity_at(path: Path, backend: Backend) -> Identity | None:
    """Return what a file was generated from; None if it was not. Raises `OSError`."""
    return backend.identify(path.read_bytes().decode("utf-8", "replace"))


def _is_same(present: Identity, new: Identity | None, path: Path, made_from: Path | None) -> bool:
    """Return whether the file at a path was generated from the same document as the new one.

    It was if that has the same name and is in the same place, or in a place where none is now.
    """
    if new is None or (present.kind, present.name) != (new.kind, new.name):
        return False
    if present.path in ("", new.path):
        return True
    folders = [path.parent, *([made_from.parent] if made_from is not None else [])]
    existing = [file for folder in folders for file in candidate_paths(present.path, folder) if os.path.isfile(file)]
    return not existing or (made_from is not None and any(file.samefile(made_from) for file in existing))
