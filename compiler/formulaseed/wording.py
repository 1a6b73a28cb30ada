"""Numbers in sentences, for messages, reports and comments."""

from __future__ import annotations


def number_of(count: int, what: str) -> str:
    """A number with its noun: `1 review`, `2,000 reviews`."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
