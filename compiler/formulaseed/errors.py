"""The exceptions that leave this package, and nothing else does.

FormulaSeedError
├── SeedError         the seed has errors; carries every diagnostic
├── EvaluationError   a step could not be computed for one restaurant
└── DataError         a row, context, review or extraction is not what it should be
    └── UnreadableError   a file that cannot be opened
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from formulaseed.diagnostics.model import Diagnostic


Operands = tuple[float | str | None, ...]


class FormulaSeedError(Exception):
    """Base of every exception that formulaseed raises on purpose."""


class SeedError(FormulaSeedError):
    """A seed, or a module said to be compiled from one, that has errors.

    `diagnostics` holds all of them, warnings too, in the order of the file.
    """

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)
        errors = [d for d in self.diagnostics if d.severity == "error"]
        super().__init__("\n".join(d.brief for d in errors))


class EvaluationError(FormulaSeedError):
    """A step that cannot be computed from the given rows and context.

    `step` is the step's name in the seed; `kind` is one of `division_by_zero`, `domain`, `overflow`,
    `null`, `lookup`, `type`; `message` names the values at fault, which `operands` holds: for an overflow that
    was noticed in a result there are none. `place` tells where in the seed that is, as `file:line:column`, and
    is empty where no seed is at hand.
    """

    def __init__(self, step: str, kind: str, message: str, operands: Operands = (), place: str = "") -> None:
        self.step = step
        self.kind = kind
        self.message = message
        self.operands = operands
        self.place = place
        super().__init__(f"{step}: {kind}: {message}")


class DataError(FormulaSeedError):
    """Input data that cannot be used. `where` names the file, line or row, as far as it is known."""

    def __init__(self, message: str, where: str = "") -> None:
        self.message = message
        self.where = where
        super().__init__(f"{where}: {message}" if where else message)

    def at(self, where: str) -> DataError:
        """The same fault with an outer place put before the inner one."""
        return DataError(self.message, f"{where}: {self.where}" if self.where else where)


class UnreadableError(DataError):
    """A file that cannot be opened, read or written at all."""


def reason_of(error: OSError | ValueError) -> str:
    """What the system says of a file, in a few words."""
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)
