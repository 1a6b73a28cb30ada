"""Values of a business object, as Yelp writes attributes: `"u'free'"`, `"True"`, `"{'casual': True}"`."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping
from typing import Any

from formulaseed import limits

_WORDS = {"True": True, "False": False, "None": None}
_LITERAL = ("{", "'", '"', "u'", 'u"')


def value_at(business: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """The value at a path, a string parsed once as Yelp writes attributes; None where there is none."""
    found: Any = business
    parsed = False
    for key in path:
        if isinstance(found, str) and not parsed:
            found, parsed = parse_attribute(found), True
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if parsed or not isinstance(found, str) else parse_attribute(found)


def parse_attribute(text: str) -> Any:
    """What a string of Yelp's attributes says: `True`, `u'free'`, `{'casual': True}`; other strings are themselves."""
    if text in _WORDS:
        return _WORDS[text]
    if not text.startswith(_LITERAL) or len(text) > limits.ATTRIBUTE_CHARACTERS:
        return text
    try:
        with warnings.catch_warnings():  # the parser warns of odd escapes
            warnings.simplefilter("ignore")
            value = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text
    return value if isinstance(value, str | dict) else text
