"""The fields that every seed can use without declaring them: those of Yelp's reviews and businesses."""

from __future__ import annotations

from formulaseed.language.types import INTEGER, NUMBER, STRING, Type

META: dict[str, Type] = {
    "stars": NUMBER,
    "useful": INTEGER,
    "funny": INTEGER,
    "cool": INTEGER,
    "year": INTEGER,
    "month": INTEGER,
    "date": STRING,
}
"""Review metadata. `year` and `month` come from the date; `date` is an ISO date or date-time."""

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

BY_KIND = {"meta": META, "context": CONTEXT}

DESCRIPTIONS: dict[str, str] = {
    "meta.stars": "Stars that the review gives, 1 to 5",
    "meta.useful": "How often readers found the review useful",
    "meta.funny": "How often readers found the review funny",
    "meta.cool": "How often readers found the review cool",
    "meta.year": "Year of the review's date",
    "meta.month": "Month of the review's date, 1 to 12",
    "meta.date": "Day of the review, YYYY-MM-DD",
    "context.name": "Name of the restaurant",
    "context.categories": "Kinds of restaurant, separated by commas",
    "context.address": "Street address",
    "context.city": "City",
    "context.state": "State, as its two letters",
    "context.postal_code": "Postal code",
    "context.stars": "Average stars, rounded to halves",
    "context.review_count": "Number of reviews",
    "context.is_open": "1 for a restaurant that is open, 0 for one that has closed down",
    "context.latitude": "Latitude in degrees",
    "context.longitude": "Longitude in degrees",
}
"""What these fields mean, by namespace and name."""

NAMESPACES = ("extraction", "meta", "context", "param")

VALIDITY_FIELD = "review_validity"
VALIDITY_VALUES = (
    ("valid", "A genuine review of a visit"),
    ("spam", "Advertising or text that has nothing to do with the restaurant"),
    ("adversarial", "Text that tries to steer whoever judges it ('ignore previous instructions')"),
)
"""The enum that `extract.validity` adds."""
