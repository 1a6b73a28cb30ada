"""Define the protocol of compilation targets, and list the targets.

A target is a package beside `python/` whose module `target` holds a `Backend` named `BACKEND`, and one line in `TARGETS`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Literal, Protocol, cast

from formulaseed.ir import nodes
from formulaseed.ir.kind import KindName

if TYPE_CHECKING:  # a command that compiles seeds does without what reads requests
    from formulaseed.requests.model import Requests

Construct = tuple[Literal["function", "operator", "aggregate", "operation"], str]
"""A row of one of the language's tables, by its name there."""

TARGETS = {"python": "formulaseed.backends.python.target"}
"""The module of each target, imported when it is first used."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A checked program to compile, with the path and the hash of its file as the output's header states them.

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

    `path` is empty if the header states none. `tested` is the path, from the file's folder, of the module that generated
    tests are of; None for any other file.
    """

    kind: KindName
    name: str
    path: str
    tested: str | None = None


class Backend(Protocol):
    """Compiles checked programs to one target.

    `suffix` ends the names of its files, as `.py` does. `kinds` are the kinds of documents that it takes, `options` the
    options of the command `compile` that not every target has. Programs with a row of the language's tables that is in
    `unsupported` are refused by name; every other row has a spelling.
    """

    suffix: str
    kinds: AbstractSet[KindName]
    options: AbstractSet[str] = frozenset()
    unsupported: AbstractSet[Construct] = frozenset()

    @abstractmethod
    def emit(self, unit: Unit, *, formatted: bool) -> tuple[str, str | None]:
        """Return the output and what its verification finds wrong with it; None where it is as it should be."""

    @abstractmethod
    def identify(self, text: str) -> Identity | None:
        """Return what a file with this text was made from; None for a text that this target has not written."""


def load_backend(target: str) -> Backend:
    """Return the backend of one of the `TARGETS`."""
    module = import_module(TARGETS[target])
    return cast(Backend, module.BACKEND)
