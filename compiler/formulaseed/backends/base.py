"""What a compilation target is, and which targets there are.

A target is a package beside `python/` whose module `target` holds a `Backend` named `BACKEND`, and one line in `TARGETS`.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Literal, Protocol

from formulaseed.ir import nodes

if TYPE_CHECKING:  # a command that compiles seeds does without what reads requests
    from formulaseed.requests.model import Requests

KindName = Literal["seed", "requests", "rules", "reference", "formula"]
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


class Backend(Protocol):
    """Compiles checked programs to one target.

    `kinds` are the kinds of documents that it takes; `unsupported` names the functions, operators and operations of the
    language's tables that it refuses, so that every other row has a spelling.
    """

    kinds: AbstractSet[KindName]
    unsupported: AbstractSet[str]

    def emit(self, unit: Unit, *, formatted: bool) -> tuple[str, str | None]:
        """Return the output and what its verification finds wrong with it; None where it is as it should be."""
        ...


def backend(target: str) -> Backend:
    """Return the backend of one of the `TARGETS`."""
    found: Backend = import_module(TARGETS[target]).BACKEND
    return found
