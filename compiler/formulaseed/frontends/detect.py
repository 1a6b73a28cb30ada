"""Which shape of seed a document has, and the front end that reads it.

In: the document's JSON tree. Out: the common program.
"""

from __future__ import annotations

from formulaseed.diagnostics.model import Problems
from formulaseed.frontends.keys import is_older
from formulaseed.frontends.older import lower_older_seed
from formulaseed.frontends.seed import lower_seed
from formulaseed.source.json_reader import JsonObject, JsonValue
from formulaseed.syntax import surface


def lower_document(document: JsonValue, problems: Problems) -> surface.Program | None:
    """Lower a seed of either shape; None where so little of it is there that nothing more can be said."""
    if not isinstance(document, JsonObject):
        problems.add("FS008", document.span, "a seed is a JSON object", 'begin with {"task_name": …}')
        return None
    if is_older([key.value for key in document.names()]):
        return lower_older_seed(document, problems)
    return lower_seed(document, problems)
