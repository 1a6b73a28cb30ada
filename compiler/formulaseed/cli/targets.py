"""What stands in the way of writing a module: a file that somebody else wrote, or that belongs to another seed.

In: where the module goes, its text and the file that it was made from. Out: why the target is left alone, or None.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from formulaseed.backends.python.identity import Identity, identity_of
from formulaseed.errors import UnreadableError, reason_of


@dataclass(frozen=True, slots=True)
class Obstacle:
    """`what` the target is, and `help`: what to do about it. `may_be_forced` says whether --force replaces it."""

    what: str
    help: str
    may_be_forced: bool = True

    def __str__(self) -> str:
        forced = ", or replace it with --force" if self.may_be_forced else ""
        return f"{self.what}; {self.help}, write to another folder with --out{forced}"


def obstacle_at(target: Path, source: str, made_from: Path | None) -> Obstacle | None:
    """Why a module is not written there; None where nothing is lost by it. Raises `UnreadableError`."""
    try:
        mode = target.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):  # the latter is told when the module is written
        return None
    except (OSError, ValueError) as error:
        raise UnreadableError(f"cannot write {target}: {reason_of(error)}") from None
    if stat.S_ISLNK(mode):
        return Obstacle("it is a symbolic link", "remove it")
    if not stat.S_ISREG(mode):
        what = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
        return Obstacle(f"it is {what}", "move it", may_be_forced=False)
    try:
        found = identity_of(target.read_bytes().decode("utf-8", "replace"))
    except OSError as error:
        raise UnreadableError(f"cannot read {target}: {reason_of(error)}") from None
    if found is None:
        return Obstacle("it is not a module that formulaseed generated", "move it")
    made = identity_of(source)
    if made is None or not _is_same(found, made, target, made_from):
        where = f"`{found.path}`, which is " if found.path else ""
        return Obstacle(f"it was generated from {where}`{found.name}`", "rename one of the two")
    return None


def _is_same(found: Identity, made: Identity, target: Path, made_from: Path | None) -> bool:
    """Whether a module was made from the same file: one of that name in the same place, or in a place where none is now."""
    if (found.kind, found.name) != (made.kind, made.name):
        return False
    if found.path in ("", made.path):
        return True
    near = [target.parent, *([made_from.parent] if made_from is not None else [])]
    folders = [folder for start in near for folder in (start.resolve(), *start.resolve().parents)]
    there = [folder / found.path for folder in folders if os.path.isfile(folder / found.path)]
    return not there or (made_from is not None and any(file.samefile(made_from) for file in there))
