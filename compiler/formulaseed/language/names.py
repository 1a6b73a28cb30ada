"""The names that formulas can use."""

from __future__ import annotations

import re

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def is_name(text: str) -> bool:
    """Whether formulas can name something so: ASCII letters, digits and `_`, not beginning with a digit."""
    return _NAME.fullmatch(text) is not None


RESERVED_WORDS = frozenset(
    {"and", "or", "not", "in", "if", "else", "True", "False", "None", "true", "false", "none", "null"}
)
"""Words of the formula language; no step can be called so."""
