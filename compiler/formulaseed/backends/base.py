"""Define the protocol of compilation targets, and list the targets.

A target is a package beside `python/` whose module `target` holds a `Backend` named `BACKEND`, and one line in `TARGETS`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

from formulaseed.ir import nodes
from formulaseed.ir.kind import KindName

if TYPE_CHECKING:  # a command that compiles seeds does not import the reader of requests
    from formulaseed.diagnostics.model import Diagnostic
    from formulaseed.requests.model import Requests

Construct = tuple[Literal["function", "operator", "aggregate", "operation"], str]
"""A row of one of the language's tables: the table, and the name in it."""

TARGETS = {"python": "formulaseed.backends.python.target", "sql": "formulaseed.backends.sql.target"}
"""The module of each target, imported when it is first used."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A checked program to compile, with the path and the hash of its file, which the header of the output states.

    `style` is one of the target's; None for the newest.
    """

    kind: KindName
    program: nodes.Program | Requests
    path: str
    sha256: str
    style: str | None = None


@dataclass(frozen=True, slots=True)
class Identity:
    """The source of a generated file: a document of this kind and name, at the path in the file's header.

    `path` is empty if the header states none. `tested` is the path, from the file's folder, of the module that the file
    tests; None for any file but generated tests.
    """

    kind: KindName
    name: str
    path: str
    tested: str | None = None


class Backend(Protocol):
    """A compiler of checked programs to one target.

    `suffix` ends the names of the target's files, such as `.py`. `kinds` are the kinds of documents that the target takes,
    `options` the options of the command `compile` that not every target has. A program with a row of the language's tables
    that is in `unsupported` is refused, with the row's name; every other row has a spelling.
    """

    suffix: str
    kinds: AbstractSet[KindName]
    options: AbstractSet[str] = frozenset()
    unsupported: AbstractSet[Construct] = frozenset()

    def configure(self, options: Mapping[str, Any]) -> Backend:
        """Return the target with these values of its own options, which may be none."""
        return self

    def find_problems(self, program: nodes.Program) -> list[Diagnostic]:
        """Return the errors of a program that the target does not express, beside those of `unsupported` rows."""
        return []

    @abstractmethod
    def emit(self, unit: Unit, *, formatted: bool) -> tuple[str, str | None]:
        """Return the output, and the first problem that its verification finds, or None if there is no problem.

        `formatted` says that lines which are too long are split.
        """

    def emit_companion(self, unit: Unit) -> tuple[str, str] | None:
        """Return the end of the name, and the text, of a file that belongs to the output; None if there is none."""
        return None

    @abstractmethod
    def identify(self, text: str) -> Identity | None:
        """Return the source that a file with this text was made from; None if this target has not written the text."""


def load_backend(target: str) -> Backend:
    """Import the module of the backend of `target`, and return the backend. Raises `KeyError` for an unknown target."""
    module = import_module(TARGETS[target])
    return cast(Backend, module.BACKEND)
