"""Files as the compiler sees them: read, with their faults told, and the little that every kind of file shares.

In: a path, standard input or values in memory. Out: a `Document`. Knows nothing of what a file holds.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from formulaseed import limits
from formulaseed.data.files import read_bytes
from formulaseed.diagnostics.model import Diagnostic, Problems, printable
from formulaseed.errors import FormulaSeedError, SeedError
from formulaseed.language.sizes import too_many
from formulaseed.source.json_reader import JsonValue, read_json
from formulaseed.source.text import Source, Span

_FAULT_CODES = {"syntax": "FS001", "depth": "FS004", "duplicate": "FS005", "number": "FS006", "text": "FS007"}


@dataclass(frozen=True)
class Document:
    """A file as it was read. `tree` is None where it is no JSON, and for a file of requests."""

    source: Source
    tree: JsonValue | None
    path: Path | None


def source_of(given: str | os.PathLike[str], problems: Problems) -> tuple[Source, Path | None]:
    """The text of a file, and its path where it can be written back. A text that cannot be used is told."""
    data, path = read_bytes(given, limits.SEED_BYTES)
    name = Path(given).as_posix() if os.fspath(given) != "-" else "<stdin>"
    if len(data) > limits.SEED_BYTES:
        source = Source(name, "")
        message = f"the file is larger than {limits.SEED_BYTES} bytes"
        problems.add("FS003", Span(source, 0, 0), message, "shorten it")
        return source, path
    try:
        return Source(name, data.decode("utf-8-sig")), path
    except UnicodeDecodeError as error:
        source = Source(name, data.decode("utf-8", "replace"))
        at = len(data[: error.start].decode("utf-8", "replace"))
        message = f"byte {error.start} of the file is not UTF-8"
        problems.add("FS002", Span(source, at, at + 1), message, "save the file as UTF-8")
        return source, path


def dumped(value: Mapping[str, Any], what: str = "seed", *, indent: int | None = 2) -> str:
    """The JSON text of a value given in memory. Raises `FormulaSeedError` where it has none."""
    try:
        text = json.dumps(value, indent=indent, ensure_ascii=False)
        is_too_long = indent is not None and len(text) > limits.SEED_BYTES
        return json.dumps(value, ensure_ascii=False) if is_too_long else text  # the limit is one of what it says
    except (TypeError, ValueError, RecursionError) as error:
        raise FormulaSeedError(f"the {what} is no JSON: {error}") from None


def is_too_long(source: Source, what: str, problems: Problems) -> bool:
    """Whether a text given in memory is longer than a file may be, which is reported."""
    if len(source.text) <= limits.SEED_BYTES:
        return False
    problems.add("FS003", Span(source, 0, 0), f"{what} is larger than {limits.SEED_BYTES} bytes", "shorten it")
    return True


def read_text(source: Source, path: Path | None, problems: Problems) -> Document:
    if is_too_long(source, "the seed", problems):
        return Document(source, None, path)
    over = too_many(source.text)
    if over is not None:
        problems.add("FS510", Span(source, over.start, over.end), over.message, over.help)
        return Document(source, None, path)
    tree, faults = read_json(source)
    for fault in faults:
        problems.add(_FAULT_CODES[fault.kind], fault.span, fault.message, fault.help)
    return Document(source, tree, path)


def report_internal_error(error: Exception, document: Document, problems: Problems) -> None:
    """A bug of ours must not look like a fault of the file, nor end in a traceback."""
    message = f"the compiler failed with {type(error).__name__}: {error}"
    problems.add("FS901", Span(document.source, 0, 0), message, "this is a bug of formulaseed: please report it")


def not_compiled(source: Source, code: str, message: str, help: str) -> SeedError:
    return SeedError([Diagnostic(code, "error", printable(message), Span(source, 0, 0), help)])


def refused_module(source: Source, what: str, found: Exception | str) -> SeedError:
    """Why no module is given: the one that was made nests deeper than Python reads, or something else was `found`."""
    too_many = isinstance(found, SyntaxError) and "too many" in found.msg
    if too_many or isinstance(found, RecursionError | MemoryError):
        message = f"the module made of {what} nests deeper than Python reads"
        return not_compiled(source, "FS104", message, "split the longest formulas into several")
    fault = found if isinstance(found, str) else f"the compiler failed with {type(found).__name__}: {found}"
    help = "this is a bug of formulaseed: please report it"
    return not_compiled(source, "FS901", f"the module made of {what} was refused: {fault}", help)


def shown_path(path: Path | None) -> str:
    """The path as a module's header names it: the same from every working directory and on every machine.

    Relative to the project that the seed lies in, which is the nearest folder above with a pyproject.toml
    or a .git; outside of one, the file's name alone.
    """
    if path is None:
        return ""
    absolute = path.resolve()
    for folder in absolute.parents:
        if (folder / "pyproject.toml").exists() or (folder / ".git").exists():
            return absolute.relative_to(folder).as_posix()
    return absolute.name
