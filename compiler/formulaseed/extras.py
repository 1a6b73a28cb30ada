"""Imports the packages of optional extras, and names the extra to install if one of them is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from formulaseed.errors import UnreadableError


class MissingExtraError(UnreadableError, ImportError):
    """Raised if a package of an optional extra is not installed. The message names the extra to install."""


@contextmanager
def require_extra(extra: str, purpose: str) -> Iterator[None]:
    """Run a block that imports the packages of an extra.

    `purpose` is the subject of the message, such as "reading a database". Raises `MissingExtraError` if a package
    cannot be imported; a missing module of formulaseed itself is not caught.
    """
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "formulaseed":
            raise
        message = f"{purpose} needs the extra `{extra}`; run `pip install 'formulaseed[{extra}]'`"
        if not isinstance(error, ModuleNotFoundError):  # the package is installed, but cannot be loaded
            message += f" ({(str(error).splitlines() or ['it cannot be imported'])[0]})"
        raise MissingExtraError(message) from None
