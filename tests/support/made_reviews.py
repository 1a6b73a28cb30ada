"""Reviews made up by a rule, so that the truth about them is known: what the trained extractor and the cascade learn from."""

from __future__ import annotations

import re
from random import Random
from typing import Any

SAID = {
    "rude": ("the waiter was rude to us", "such rude careless service", "they shouted and were rude"),
    "kind": ("the waiter was kind to us", "so kind and careful with us", "a kind host who smiled"),
    "none": ("we sat near the window", "it rained when we came", "parking took a while"),
}
_FILLER = re.findall(
    r"\w+",
    """soup rice noodle curry bread plate table lunch dinner street corner music price menu drink water green spicy warm cold
    plain large small quick slow evening friend cousin again maybe often never city river train market paper candle""",
)
FIELDS: list[dict[str, Any]] = [
    {"name": "staff", "type": "enum", "values": {"rude": "Was rude", "kind": "Was kind", "none": "Says nothing"}},
    {"name": "angry", "type": "boolean", "description": "Complains of the staff"},
]


def made_restaurants(count: int, reviews: int, *, seed: int = 0, is_drifting: bool = True) -> list[dict[str, Any]]:
    """Return restaurants of which each has words of its own and, when drifting, shares of the values of its own."""
    random, found = Random(seed), []
    for place in range(count):
        own = [f"dish{place}x{n}" for n in range(5)]
        shares = [1 + (place % 3 if is_drifting else 1), 1 + (place % 2), 2]
        written = []
        for number in range(reviews):
            value = random.choices([*SAID], shares)[0]
            words = [*random.choices(_FILLER, k=12), *random.choices(own, k=2)]
            text = f"{' '.join(words[:7])}. {random.choice(SAID[value])}. {' '.join(words[7:])}"
            written.append(
                {"review_id": f"p{place}-{number}", "text": text, "stars": 3.0, "useful": 0, "date": "2024-05-06"}
            )
        found.append({"business_id": f"p{place}", "business": {"name": f"Place {place}"}, "reviews": written})
    return found


def truth(text: str) -> dict[str, Any]:
    """The rule: what is right for a made-up review."""
    staff = next(name for name, phrases in SAID.items() if any(phrase in text for phrase in phrases))
    return {"staff": staff, "angry": staff == "rude"}


def answers(restaurants: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """The right recorded extractions of so many reviews, one restaurant after the other."""
    pairs = [(place["business_id"], review) for place in restaurants for review in place["reviews"]]
    return [
        {"business_id": place, "review_id": review["review_id"], "fields": truth(review["text"])}
        for place, review in pairs[:count]
    ]


def staff_seed(fields: list[dict[str, Any]] = FIELDS) -> dict[str, Any]:
    return {
        "task_name": "Staff-1",
        "extract": {"fields": fields},
        "compute": [{"name": "N_RUDE", "op": "count", "where": {"extraction.staff": "rude"}}, {"name": "N", "op": "count"}],
        "output": ["N_RUDE", "N"],
    }  # fmt: skip
