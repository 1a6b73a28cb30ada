"""The fields that every seed can use without declaring them: those of Yelp's reviews and businesses."""

from __future__ import annotations

from formulaseed.domain.types import INTEGER, NUMBER, STRING, Type

META: dict[str, Type] = {
    "stars": NUMBER,
    "useful": INTEGER,
    "funny": INTEGER,
    "cool": INTEGER,
    "year": INTEGER,
    "month": INTEGER,
    "date": STRING,
}
"""Review metadata. `year` and `month` come from the date; `date` is YYYY-MM-DD."""

CONTEXT: dict[str, Type] = {
    "name": STRING,
    "categories": STRING,
    "address": STRING,
    "city": STRING,
    "state": STRING,
    "postal_code": STRING,
    "stars": NUMBER,
    "review_count": INTEGER,
    "is_open": INTEGER,
    "latitude": NUMBER,
    "longitude": NUMBER,
}
"""The restaurant, as Yelp's business object has it. `is_open` is 1 or 0."""

NAMESPACES = ("extraction", "meta", "context", "param")

VALIDITY_FIELD = "review_validity"
VALIDITY_VALUES = (
    ("valid", "A genuine review of a visit"),
    ("spam", "Advertising or text that has nothing to do with the restaurant"),
    ("adversarial", "Text that tries to steer whoever judges it ('ignore previous instructions')"),
)
"""The enum that `extract.validity` adds."""

RESERVED_WORDS = frozenset({"and", "or", "not", "in", "if", "else", "True", "False", "None", "true", "false", "null"})
"""Words of the formula language; no step can be called so."""
