"""What the phases do with each kind of document; here seeds and requests, in `formulas` what is over a formula reference."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from formulaseed.backends.base import KindName
from formulaseed.data.documents import Document, dumped, is_of_kind, is_too_long, read_text, source_of
from formulaseed.diagnostics.model import Diagnostic, Problems
from formulaseed.errors import FormulaSeedError
from formulaseed.ir import nodes
from formulaseed.seed import surface
from formulaseed.seed.write.autofix import applicable, with_steps_sorted
from formulaseed.source.json_reader import Plain, plain
from formulaseed.source.text import Source

if TYPE_CHECKING:  # a command that reads one kind of document alone does without what reads another
    from formulaseed.requests.model import Line, Requests

Parsed = TypeVar("Parsed")
Checked = TypeVar("Checked")


def _tree_data(document: Document) -> Plain:
    assert document.tree is not None
    return plain(document.tree)


@dataclass(frozen=True)
class Kind(Generic[Parsed, Checked]):
    """A kind of document: each phase takes what the one before it gives, and reports what is wrong to `Problems`.

    `data` gives the values that the document's SHA-256 is of, `in_order` the text with its parts in dependency order, and
    `definitions` the program whose definitions a safe fix must not contradict.
    """

    name: KindName
    parse: Callable[[Document, Problems], Parsed | None]
    check: Callable[[Document, Parsed, Problems], Checked | None]
    lint: Callable[[Parsed | None, Checked | None, Problems], None] = lambda parsed, checked, problems: None
    read: Callable[[Source, Path | None, Problems], Document] = read_text
    data: Callable[[Document], Plain] = _tree_data
    in_order: Callable[[Document, Parsed | None, tuple[Diagnostic, ...]], str] = lambda found, _, __: found.source.text
    fixes: Callable[[tuple[Diagnostic, ...], Parsed | None], list[Diagnostic]] = lambda all, _: applicable(all, None)


def read_given(
    given: str | os.PathLike[str] | Mapping[str, Any], what: str, problems: Problems, kinds: tuple[str, ...] = ()
) -> Document:
    """Read a file or a dictionary of one of the kinds, by default `what`. Raises `UnreadableError` if it cannot be opened."""
    kinds = kinds or (what,)
    if isinstance(given, Mapping):
        source, path = Source(f"<{what}>", dumped(given, what)), None
        is_sound = is_of_kind(source, kinds, problems, given)
    elif isinstance(given, str | os.PathLike):
        source, path = source_of(given, problems)
        is_sound = not problems.has_errors and is_of_kind(source, kinds, problems)
    else:
        raise FormulaSeedError(f"a {what} is a path or a dictionary, not {type(given).__name__}")
    return read_text(source, path, problems) if is_sound else Document(source, None, path)


def document_name(document: Document) -> str:
    """Return the name of a document's file without its ending."""
    return Path(document.source.name.strip("<>")).name.split(".")[0]


# --- seeds


def _parse_seed(document: Document, problems: Problems) -> surface.Program | None:
    from formulaseed.seed.read.seed import lower_document

    return lower_document(document.tree, problems) if document.tree is not None else None


def _check_seed(document: Document, program: surface.Program, problems: Problems) -> nodes.Program:
    from formulaseed.seed.check.program import check_program

    return check_program(program, problems)


def _lint_seed(written: surface.Program | None, checked: nodes.Program | None, problems: Problems) -> None:
    from formulaseed.seed.lint import lint, suppress

    if written is not None and checked is not None:
        lint(written, checked, problems)
    suppress(written.suppressions if written is not None else (), problems)


def _steps_in_order(document: Document, program: surface.Program | None, diagnostics: tuple[Diagnostic, ...]) -> str:
    text = document.source.text
    if document.tree is None or program is None or all(d.code != "FS202" for d in diagnostics):
        return text
    return with_steps_sorted(text, document.tree, program)


SEED = Kind("seed", _parse_seed, _check_seed, _lint_seed, in_order=_steps_in_order, fixes=applicable)


# --- requests


def _parse_requests(document: Document, problems: Problems, benchmark: bool = False) -> tuple[Line, ...] | None:
    from formulaseed.requests.read import lower_requests

    if is_too_long(document.source, "the text of all requests", problems):
        return None
    return lower_requests(document.source, problems, benchmark=benchmark)


def _check_requests(document: Document, lines: tuple[Line, ...], problems: Problems) -> Requests:
    from formulaseed.requests.model import Request, Requests

    return Requests(document_name(document), tuple(line for line in lines if isinstance(line, Request)))


def _lines_data(document: Document) -> Plain:
    from formulaseed.requests.read import request_values

    return request_values(document.source)


def unread(source: Source, path: Path | None, problems: Problems) -> Document:
    """Return a document that is not JSON as a whole."""
    return Document(source, None, path)


REQUESTS = Kind("requests", _parse_requests, _check_requests, read=unread, data=_lines_data)
OF_BENCHMARK = replace(REQUESTS, parse=partial(_parse_requests, benchmark=True))
"""Requests whose ids have the benchmark's form, R01 to R100."""
