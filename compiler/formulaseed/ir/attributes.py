"""Read values of a business object, whose attributes are written as in Python: `"u'free'"`, `"True"`, `"{'casual': True}"`.

The functions are copied unchanged into generated modules that read attributes; standard library only.
"""

import ast
import warnings

from formulaseed.language.json_values import JsonObject, JsonValue

_ATTRIBUTE_CHARACTERS = 2_000


def _attribute_at_path(record: JsonObject, path: tuple[str, ...]) -> JsonValue:
    """Return the value at a path, whose first string is parsed as an attribute; None if it leads to nothing."""
    value: JsonValue = record
    is_parsed = False
    for key in path:
        if isinstance(value, str) and not is_parsed:
            value = _read_attribute(value)
            is_parsed = True
        value = value.get(key) if isinstance(value, dict) else None
    return _read_attribute(value) if isinstance(value, str) and not is_parsed else value


def _read_attribute(text: str) -> JsonValue:
    """Parse a string of Yelp's attributes: `True`, `u'free'`, `{'casual': True}`. Return any other as it is."""
    if text in ("True", "False", "None"):
        return text == "True" if text != "None" else None
    if not text.startswith(("{", "'", '"', "u'", 'u"')) or len(text) > _ATTRIBUTE_CHARACTERS:
        return text
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value: JsonValue = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text
    return value if isinstance(value, str | dict) else text
