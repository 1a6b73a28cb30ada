"""Read the files that are compiled, and report errors of their encoding and JSON.

In: a path, standard input or values in memory. Out: a `Document`, of any kind.
"""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from formulaseed import limits
from formulaseed.data.file_kinds import KINDS_OF_TEXT, FileKind, is_snippet, kind_of_text, list_kinds
from formulaseed.data.files import read_bytes
from formulaseed.diagnostics.catalogue import reading as catalogue
from formulaseed.diagnostics.model import Problems
from formulaseed.errors import FormulaSeedError, SeedError
from formulaseed.ir.kind import Document
from formulaseed.language.sizes import find_excess
from formulaseed.source.json_reader import read_json
from formulaseed.source.text import Source


def read_source(file: str | os.PathLike[str], problems: Problems) -> tuple[Source, Path | None]:
    """Read a file; return its text, and its path, or None for standard input and compressed files.

    A file that is too large (the text is then empty), not UTF-8 or recognised as another format is reported in
    `problems`. Raises `UnreadableError` if the file cannot be opened.
    """
    data, path = read_bytes(file, limits.SEED_BYTES)
    name = Path(file).as_posix() if os.fspath(file) != "-" else "<stdin>"
    if len(data) > limits.SEED_BYTES:
        source = Source(name, "")
        problems.report(catalogue.file_too_large(source, "the file"))
        return source, path
    try:
        return Source(name, data.decode("utf-8-sig")), path
    except UnicodeDecodeError as error:
        source = Source(name, data.decode("utf-8", "replace"))
        kind = kind_of_text(source.text, name)
        if kind is not None and kind.name in KINDS_OF_TEXT:
            problems.report(catalogue.not_json(source, kind.noun, kind.help.format(name)))
            return source, path
        at = len(data[: error.start].decode("utf-8", "replace"))
        problems.report(catalogue.invalid_utf8(source, at, error.start))
        return source, path


def is_of_kind(source: Source, kind: FileKind | None, kinds: Collection[str], problems: Problems) -> bool:
    """Return whether a document that was recognised as `kind` may be read as one of `kinds`.

    An unknown kind, None, may always be. If a document may not, an error with help is reported in `problems`.
    """
    if kind is None or kind.name in kinds:
        return True
    help = kind.help.format(source.name)
    if kind.name in KINDS_OF_TEXT:
        problems.report(catalogue.not_json(source, kind.noun, help))
    else:
        wanted = "a whole seed" if is_snippet(kind) else list_kinds(kinds)
        problems.report(catalogue.wrong_kind(source, kind.noun, wanted, help))
    return False


def dump_json(value: Mapping[str, Any], subject: str = "seed", *, indent: int | None = 2) -> str:
    """Return the JSON text of a value in memory, on one line if the indented text exceeds the limit of a seed.

    Raises `FormulaSeedError`, which calls the value the `subject`, if it is not JSON.
    """
    try:
        text = json.dumps(value, indent=indent, ensure_ascii=False)
        if indent is not None and len(text) > limits.SEED_BYTES:  # indentation does not count towards the limit
            return json.dumps(value, ensure_ascii=False)
        return text
    except (TypeError, ValueError, RecursionError) as error:
        raise FormulaSeedError(f"the {subject} is not JSON: {error}") from None


def read_text(source: Source, path: Path | None, problems: Problems) -> Document:
    """Read the JSON of a text. Faults, or a limit that the text exceeds, are reported in `problems`.

    `path` is that of the file, None for other sources. The document's `tree` is None if nothing is usable; after faults
    it may be incomplete.
    """
    if len(source.text) > limits.SEED_BYTES:  # a text given in memory; files are measured as they are read
        problems.report(catalogue.file_too_large(source, "the seed"))
        return Document(source, None, path)
    over = find_excess(source)
    if over is not None:
        problems.report(over)
        return Document(source, None, path)
    tree, faults = read_json(source)
    for fault in faults:
        problems.report(catalogue.invalid_json(fault))
    return Document(source, tree, path)


def report_internal_error(error: Exception, document: Document, problems: Problems) -> None:
    """Report an unexpected exception in `problems` as a bug of formulaseed.

    Prints its traceback if FORMULASEED_DEBUG is 1.
    """
    _print_traceback(error)
    problems.report(catalogue.internal_error(document.source, catalogue.describe_failure(error)))


def module_error(source: Source, subject: str, reason: Exception | str) -> SeedError:
    """Return, not raise, the error for a module that is not written; `subject` names the document.

    If `reason` is an exception of too deep nesting or too little memory, the seed is at fault. Any other `reason` is a
    bug of formulaseed; the traceback of an exception is printed if FORMULASEED_DEBUG is 1.
    """
    is_too_deep = isinstance(reason, SyntaxError) and "too many" in reason.msg
    if is_too_deep or isinstance(reason, RecursionError | MemoryError):
        return SeedError([catalogue.module_too_deep(source, subject)])
    if isinstance(reason, Exception):
        _print_traceback(reason)
        reason = catalogue.describe_failure(reason)
    return SeedError([catalogue.internal_error(source, catalogue.WAS_REFUSED.format(subject, reason))])


def _print_traceback(error: Exception) -> None:
    """Print the traceback if FORMULASEED_DEBUG is 1."""
    if os.environ.get("FORMULASEED_DEBUG") == "1":
        traceback.print_exception(error)


def portable_path(path: Path | None, folder: Path | None = None) -> str:
    """Return the path that a module's header names: the same from every working directory and on every machine.

    The path is relative to the project of the seed: the nearest folder above it with a pyproject.toml or a .git.
    Outside of a project it is relative to `folder`, that of the module, and the file's name if `folder` is None. Empty
    if `path` is None.
    """
    if path is None:
        return ""
    absolute = path.resolve()
    for project in absolute.parents:
        if (project / "pyproject.toml").exists() or (project / ".git").exists():
            return absolute.relative_to(project).as_posix()
    if folder is None:
        return absolute.name
    try:
        return Path(os.path.relpath(absolute, folder.resolve())).as_posix()
    except ValueError:  # Windows: they are on two drives
        return absolute.name


def candidate_paths(path: str, folder: Path) -> list[Path]:
    """Return the paths that `path`, from the header of a generated file in `folder`, may mean, the likeliest first.

    A path that begins with `../` is relative to the folder; any other to it or to a folder above it. The files need not
    exist.
    """
    here = folder.resolve()
    folders = [here] if path.startswith("../") else [here, *here.parents]
    return [above / path for above in folders]
