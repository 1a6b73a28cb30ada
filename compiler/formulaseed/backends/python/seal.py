"""The hash that a module states of itself, by which an edit is noticed.

In: a module's text. Out: the same text with its hash, or whether it is intact. `BODY_SHA256` is the SHA-256 of the
module's UTF-8 text without the one line that states it, line ends as `\\n`.
"""

from __future__ import annotations

import hashlib
import re

NAME = "BODY_SHA256"
_LINE = re.compile(rf'^{NAME}: Final = "([^"\n]*)"\n', re.MULTILINE)


def sealed(source: str) -> str:
    """The module with its hash in the place that the template keeps for it."""
    return _LINE.sub(f'{NAME}: Final = "{body_sha256(source)}"\n', source, count=1)


def body_sha256(source: str) -> str:
    """The hash of a module's text, whatever it states."""
    return hashlib.sha256(_LINE.sub("", source, count=1).encode()).hexdigest()


def stated_sha256(source: str) -> str:
    """The hash that a module states; empty where it states none."""
    found = _LINE.search(source)
    return found[1] if found is not None else ""
