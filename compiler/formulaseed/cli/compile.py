"""`formulaseed compile`: writes modules, and leaves alone what it did not generate from the same file."""

from __future__ import annotations

import os
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from formulaseed import pipeline
from formulaseed.backends.base import TARGETS
from formulaseed.cli.output import (
    check_current,
    each_file,
    emit,
    reference_option,
    replace_file,
    report_warnings,
    say,
    strict_option,
)
from formulaseed.errors import UnreadableError, reason_of
from formulaseed.loading import load_file

if TYPE_CHECKING:
    from formulaseed.backends.python.identity import Identity


@click.command("compile")
@click.argument("seeds", nargs=-1, required=True, metavar="SEED|REQUESTS|RULES...")
@click.option("--out", default="generated", show_default=True, help="The folder to write modules to.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 where a module is not current.")
@click.option("--force", is_flag=True, help="Replace files that formulaseed did not generate from the same file, too.")
@click.option("--stdout", is_flag=True, help="Print the module instead of writing it.")
@click.option("--target", type=click.Choice(TARGETS), default="python", show_default=True, help="What to compile to.")
@reference_option
@strict_option
def compile(seeds: tuple[str, ...], reference: str | None, strict: bool, target: str, out: str, **how: bool) -> None:
    """Compile seeds and files of requests or rules to standalone Python modules, `OUT/<task or file name>.py`.

    The same file gives the same bytes on every machine, so the modules can be committed and reviewed. A file that is
    no generated module, or that was generated from another file, is left alone: exit status 2.
    """
    from formulaseed.backends.python.names import module_name

    if how["check"] and how["stdout"]:
        raise click.UsageError("--check writes nothing and --stdout prints: pass one of the two")
    if how["force"] and (how["check"] or how["stdout"]):
        raise click.UsageError("--force is for writing modules: pass it without --check and --stdout")
    written: dict[Path, str] = {}

    def compile_one(seed: str) -> int:
        loaded = load_file(seed, strict=strict, reference=reference)
        source = pipeline.compile(loaded, target)
        report_warnings(loaded)
        if how["stdout"]:
            emit(source)
            return 0
        path = Path(out) / f"{module_name(loaded.name)}.py"
        if path in written:
            say(f"{seed}: {written[path]} has the same module, {path}; rename one of the tasks", err=True)
            return 1
        written[path] = seed
        obstacle = _obstacle_at(path, source, loaded.document.path)
        if how["check"]:
            if obstacle is not None:
                say(f"{path}: not what {seed} compiles to: {obstacle.what}")
                return 1
            return check_current(path, source, f"`formulaseed compile {seed}`", f"not what {seed} compiles to")
        if obstacle is not None and not (how["force"] and obstacle.may_be_forced):
            say(f"{path}: not overwritten: {obstacle}", err=True)
            return 2
        replace_file(path, source, through_link=False)
        say(str(path))
        return 0

    sys.exit(each_file(seeds, compile_one, "; not compiled"))


@dataclass(frozen=True, slots=True)
class _Obstacle:
    """What keeps a module from being written, and what to do about it. `may_be_forced` says whether --force replaces it."""

    what: str
    help: str
    may_be_forced: bool = True

    def __str__(self) -> str:
        forced = ", or replace it with --force" if self.may_be_forced else ""
        return f"{self.what}; {self.help}, write to another folder with --out{forced}"


def _obstacle_at(target: Path, source: str, made_from: Path | None) -> _Obstacle | None:
    """Return why a module must not be written there; None where nothing is lost by it. Raises `UnreadableError`."""
    from formulaseed.backends.python.identity import identity_of

    try:
        mode = target.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):  # the latter is reported when the module is written
        return None
    except (OSError, ValueError) as error:
        raise UnreadableError(f"cannot write {target}: {reason_of(error)}") from None
    if stat.S_ISLNK(mode):
        return _Obstacle("it is a symbolic link", "remove it")
    if not stat.S_ISREG(mode):
        what = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
        return _Obstacle(f"it is {what}", "move it", may_be_forced=False)
    try:
        found = identity_of(target.read_bytes().decode("utf-8", "replace"))
    except OSError as error:
        raise UnreadableError(f"cannot read {target}: {reason_of(error)}") from None
    if found is None:
        return _Obstacle("it is not a module that formulaseed generated", "move it")
    made = identity_of(source)
    if made is None or not _is_same(found, made, target, made_from):
        where = f"`{found.path}`, which is " if found.path else ""
        return _Obstacle(f"it was generated from {where}`{found.name}`", "rename one of the two")
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
