"""Defines the fields that every seed can use without declaring them: those of Yelp's reviews and businesses."""

from __future__ import annotations

import math

from formulaseed.language.intervals import Range
from formulaseed.language.types import INTEGER, NUMBER, STRING, Type

FIRST_YEAR = 1990
LAST_YEAR = 2100  # an integer from the first to the last year may be a year

_FIELDS: dict[str, tuple[Type, str]] = {
    "meta.stars": (NUMBER, "Stars that the review gives, 1 to 5"),
    "meta.useful": (INTEGER, "How often readers found the review useful"),
    "meta.funny": (INTEGER, "How often readers found the review funny"),
    "meta.cool": (INTEGER, "How often readers found the review cool"),
    "meta.year": (INTEGER, "Year of the review's date"),
    "meta.month": (INTEGER, "Month of the review's date, 1 to 12"),
    "meta.date": (STRING, "Day of the review, YYYY-MM-DD"),
    "context.name": (STRING, "Name of the restaurant"),
    "context.categories": (STRING, "Kinds of restaurant, separated by commas"),
    "context.address": (STRING, "Street address"),
    "context.city": (STRING, "City"),
    "context.state": (STRING, "State, as its two letters"),
    "context.postal_code": (STRING, "Postal code"),
    "context.stars": (NUMBER, "Average stars, rounded to halves"),
    "context.review_count": (INTEGER, "Number of reviews"),
    "context.is_open": (INTEGER, "1 for a restaurant that is open, 0 for one that has closed down"),
    "context.latitude": (NUMBER, "Latitude in degrees"),
    "context.longitude": (NUMBER, "Longitude in degrees"),
}
META = {name[5:]: ty for name, (ty, _) in _FIELDS.items() if name.startswith("meta.")}
"""Review metadata. `year` and `month` come from the date; `date` is an ISO date or date-time."""
CONTEXT = {name[8:]: ty for name, (ty, _) in _FIELDS.items() if name.startswith("context.")}
"""The restaurant, as Yelp's business object has it. `is_open` is 1 or 0."""
CATEGORIES = "context.categories"
"""The field that lists several categories in one string."""
FIELDS_BY_NAMESPACE = {"meta": META, "context": CONTEXT}
DESCRIPTIONS = {name: description for name, (_, description) in _FIELDS.items()}
"""The meanings of these fields, by namespace and name."""
RANGES = {
    "meta.stars": Range(1, 5),
    "meta.year": Range(FIRST_YEAR, LAST_YEAR),
    "meta.month": Range(1, 12),
    "context.stars": Range(1, 5),
    "context.review_count": Range(0, math.inf),
    "context.is_open": Range(0, 1),
    "context.latitude": Range(-90, 90),
    "context.longitude": Range(-180, 180),
}
"""The ranges of these fields in Yelp's data. Rows with other values are accepted: only lints use the ranges, no proofs."""

NAMESPACES = ("extraction", "meta", "context", "param")

VALIDITY_FIELD = "review_validity"
VALIDITY_VALUES = (
    ("valid", "A genuine review of a visit"),
    ("spam", "Advertising or text that has nothing to do with the restaurant"),
    ("adversarial", "Text that tries to steer whoever judges it ('ignore previous instructions')"),
)
"""The enum that `extract.validity` adds."""
