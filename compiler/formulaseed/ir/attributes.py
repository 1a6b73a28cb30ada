"""Values of a business object, as Yelp writes attributes: `"u'free'"`, `"True"`, `"{'casual': True}"`.

Standard library only: the functions are copied as they are into generated modules that read attributes.
"""

import ast
import warnings

from formulaseed.language.json_values import JsonObject, JsonValue

_ATTRIBUTE_CHARACTERS = 2_000


def _attribute_at(record: JsonObject, path: tuple[str, ...]) -> JsonValue:
    """The value at a path, the first string on the way read as Yelp writes attributes; None where there is none."""
    found: JsonValue = record
    was_read = False
    for key in path:
        if isinstance(found, str) and not was_read:
            found, was_read = _read_attribute(found), True
        found = found.get(key) if isinstance(found, dict) else None
    return _read_attribute(found) if isinstance(found, str) and not was_read else found


def _read_attribute(text: str) -> JsonValue:
    """What a string of Yelp's attributes says: `True`, `u'free'`, `{'casual': True}`; any other is itself."""
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
