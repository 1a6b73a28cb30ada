"""Encode JSON as the standard library does, faster if msgspec is installed and surely gives the same text."""

from __future__ import annotations

import json
import json.encoder
import re
from collections.abc import Callable, Mapping
from functools import cache
from types import NoneType
from typing import Any

encode = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode
"""Returns the JSON of a value."""
encode_string: Callable[[str], str] = json.encoder.encode_basestring
"""Returns the JSON of a string, three times faster than `encode`."""

_PLAIN: dict[type, Callable[[Any], str]] = {
    str: encode, int: repr, float: repr, bool: {False: "false", True: "true"}.__getitem__, NoneType: lambda _: "null"
}  # fmt: skip
_has_exponent = re.compile("e(?<=[0-9]e)[0-9-]").search


def encode_plain(values: Mapping[str, Any]) -> str:
    """Return the JSON of strings, numbers, booleans and nulls by names that need no escapes, faster than `encode`."""
    try:
        return fast_encoder()(values) or encode(values)
    except Exception:  # such as an integer beyond 64 bits, or half of a character
        return encode(values)


@cache
def fast_encoder() -> Callable[[Mapping[str, Any]], str]:
    """Return an encoder for what `encode_plain` takes, of msgspec if it is installed; cached.

    The encoder returns an empty string if its text may differ from that of `encode`; that of msgspec may raise.
    """
    try:
        from msgspec.json import Encoder, format
    except ImportError:
        return _encode_by_type
    encode_fast = Encoder().encode

    def encode_quickly(values: Mapping[str, Any]) -> str:
        """Return the JSON by msgspec, or by `_encode_by_type` if the text has a null or an unusual number."""
        text = format(encode_fast(values), indent=0).decode()
        # msgspec writes null for NaN, and other digits than Python for numbers below 0.0001 and from 1e16 on.
        if "null" in text or ".0000" in text or _has_exponent(text):
            return _encode_by_type(values)
        return text

    return encode_quickly


def _encode_by_type(values: Mapping[str, Any]) -> str:
    """Return the JSON of values by names that need no escapes; "" if it may contain NaN or infinity."""
    parts = [f'"{name}": {_PLAIN.get(type(value), encode)(value)}' for name, value in values.items()]
    text = f"{{{', '.join(parts)}}}"
    return "" if "nan" in text or "inf" in text else text
