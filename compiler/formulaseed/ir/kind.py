"""Defines kinds of document: the functions that the phases of the compiler call for a seed, a file of requests, and others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Literal, TypeVar

from formulaseed.diagnostics.model import Diagnostic, Problems
from formulaseed.source.json_reader import JsonValue, Plain, plain_value
from formulaseed.source.text import Source

KindName = Literal["seed", "requests", "rules", "reference", "formula"]
Parsed = TypeVar("Parsed")
Checked = TypeVar("Checked")


@dataclass(frozen=True)
class Document:
    """A file that was read. `tree` is None if the kind of file is not one JSON value, as requests, or the JSON is invalid."""

    source: Source
    tree: JsonValue | None
    path: Path | None

    @property
    def name(self) -> str:
        """The name of the file without its ending."""
        return Path(self.source.name.strip("<>")).name.split(".")[0]


def _skip_lint(parsed: Parsed | None, checked: Checked | None, problems: Problems) -> None:
    """Report nothing, for a kind of document without warnings."""


def _read_tree(document: Document) -> Plain:
    """Return the JSON value of a document. Raises `AssertionError` if its `tree` is None."""
    assert document.tree is not None
    return plain_value(document.tree)


def _keep_text(document: Document, parsed: Parsed | None, diagnostics: tuple[Diagnostic, ...]) -> str:
    """Return the text of the document as it is, for a kind whose parts have no order."""
    return document.source.text


@dataclass(frozen=True)
class Kind(Generic[Parsed, Checked]):
    """A kind of document. Each phase takes the result of the phase before it, and reports problems to a `Problems`.

    If `is_json`, the file is read as one JSON value. `data` returns the value whose SHA-256 identifies the document, and
    `in_order` the text of the document with its parts in the order of their dependencies.
    """

    name: KindName
    parse: Callable[[Document, Problems], Parsed | None]
    check: Callable[[Document, Parsed, Problems], Checked | None]
    lint: Callable[[Parsed | None, Checked | None, Problems], None] = _skip_lint
    is_json: bool = True
    data: Callable[[Document], Plain] = _read_tree
    in_order: Callable[[Document, Parsed | None, tuple[Diagnostic, ...]], str] = _keep_text
