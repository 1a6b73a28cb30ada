"""Define the exceptions that this package raises; no others escape.

FormulaSeedError
├── ArgumentError     an argument of a function, or an option of a command, does not fit
├── SeedError         the seed has errors; carries every diagnostic
├── EvaluationError   a step cannot be computed for a restaurant
└── DataError         a row, context, review or extraction is invalid
    └── UnreadableError   a file cannot be opened
        └── MissingExtraError   a package of an optional extra is not installed
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from formulaseed.diagnostics.model import Diagnostic


Operands = tuple[float | str | None, ...]


class FormulaSeedError(Exception):
    """Base of every exception that formulaseed raises on purpose."""


class ArgumentError(FormulaSeedError):
    """Raised for an argument of a function that does not fit; a command names its option instead.

    `reason` follows the argument's name in the message, such as "must be greater than 0, not -1".
    """

    def __init__(self, argument: str, reason: str) -> None:
        self.argument = argument
        self.reason = reason
        super().__init__(f"`{argument}` {reason}")


class SeedError(FormulaSeedError):
    """Raised when a seed, or a module compiled from one, has errors.

    `diagnostics` holds all of them, and the warnings, in the order of the file.
    """

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)
        errors = [d for d in self.diagnostics if d.severity == "error"]
        super().__init__("\n".join(d.brief for d in errors))


class EvaluationError(FormulaSeedError):
    """Raised when a step cannot be computed from the given rows and context.

    `step` is the step's name in the seed; `kind` is one of `division_by_zero`, `domain`, `overflow`,
    `null`, `lookup`, `type`; `message` names the `operands`, which are empty for an overflow that was detected
    in a result. `place` is the place in the seed, as `file:line:column`, or empty if the seed is not available.
    """

    def __init__(self, step: str, kind: str, message: str, operands: Operands = (), place: str = "") -> None:
        self.step = step
        self.kind = kind
        self.message = message
        self.operands = operands
        self.place = place
        super().__init__(f"{step}: {kind}: {message}")


class DataError(FormulaSeedError):
    """Raised when input data is invalid. `where` names the file, line or row; empty if unknown."""

    def __init__(self, message: str, where: str = "") -> None:
        self.message = message
        self.where = where
        super().__init__(f"{where}: {message}" if where else message)

    def at(self, where: str) -> DataError:
        """Return a copy of the error with the outer place `where`, such as a file, before its own place."""
        return DataError(self.message, f"{where}: {self.where}" if self.where else where)


class UnreadableError(DataError):
    """Raised when a file cannot be opened, read or written at all."""


class MissingExtraError(UnreadableError, ImportError):
    """Raised if a package of an optional extra is not installed. The message names the extra to install."""


@contextmanager
def require_extra(extra: str, purpose: str) -> Iterator[None]:
    """Run a block that imports the packages of an optional extra, and name the extra if one is missing.

    `purpose` is the subject of the message, such as "reading a database". Raises `MissingExtraError` if a package
    cannot be imported, with the reason if it is installed; a missing module of formulaseed itself stays an
    `ImportError`.
    """
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "formulaseed":
            raise
        message = f"{purpose} needs the extra `{extra}`; run `pip install 'formulaseed[{extra}]'`"
        # the package is installed, but cannot be loaded: the reason helps
        if not isinstance(error, ModuleNotFoundError):
            reason = str(error).splitlines() or ["it cannot be imported"]
            message += f" ({reason[0]})"
        raise MissingExtraError(message) from None


def reason_of(error: OSError | ValueError) -> str:
    """Return the operating system's words for the error, without the file's name; the whole message if it has none."""
    return (isinstance(error, OSError) and error.strerror) or str(error)
