"""Makes `json.loads` refuse what other readers of JSON may understand differently."""

from __future__ import annotations

from typing import Any, NoReturn


class JsonRefusal(ValueError):
    """Raised for JSON that `json.loads` accepts, but other readers may understand differently."""


def refuse_constant(word: str) -> NoReturn:
    """Raise `JsonRefusal` for NaN and Infinity: the `parse_constant` of `json.loads` for text that others wrote."""
    raise JsonRefusal(f"`{word}` is not a JSON number")


def refuse_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of `pairs`, as the `object_pairs_hook` of `json.loads`.

    Raises `JsonRefusal` for a duplicate key.
    """
    unique = dict(pairs)
    if len(unique) < len(pairs):
        keys = [key for key, _ in pairs]
        raise JsonRefusal(f"duplicate key `{next(key for key in unique if keys.count(key) > 1)}`")
    return unique
