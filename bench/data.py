"""Restaurants for the measurements, the same at every run: JSON rows as `formulaseed evaluate` reads them."""

from __future__ import annotations

import json
import random
from typing import Any

JsonRow = dict[str, Any]

CONTEXT: dict[str, Any] = {
    "name": "Lotus Garden",
    "categories": "Thai, Noodles, Restaurants",
    "city": "Philadelphia",
    "stars": 3.0,
    "review_count": 187,
}


def dated(rows: list[JsonRow]) -> list[JsonRow]:
    """The same rows with a date besides, which must agree with the year."""
    return [{**row, "meta": {**row["meta"], "date": f"{row['meta']['year']}-03-15"}} for row in rows]


def rows_of(count: int, seed: int = 1) -> list[JsonRow]:
    """That many relevant reviews; about 15 in 100 tell of an incident at first hand.

    They go through JSON text once, so that their texts are no constants of this process, just as in real data.
    """
    chance = random.Random(f"{seed}/{count}")
    rows: list[JsonRow] = json.loads(json.dumps([_row(chance, index) for index in range(count)]))
    return rows


def _row(chance: random.Random, index: int) -> JsonRow:
    if chance.random() < 0.15:
        severity, account = chance.choices(["mild", "moderate", "severe"], [5, 3, 2])[0], "firsthand"
    else:
        severity = chance.choices(["none", "mild", "severe"], [90, 7, 3])[0]
        account = chance.choices(["none", "secondhand", "hypothetical"], [70, 12, 18])[0]
    year = chance.randint(2010, 2025)
    return {
        "review_id": f"review-{index:04}",
        "extraction": {
            "incident_severity": severity,
            "account_type": account,
            "safety_interaction": chance.choices(["none", "positive", "negative", "betrayal"], [70, 15, 10, 5])[0],
        },
        "meta": {
            "stars": float(chance.randint(1, 5)),
            "useful": chance.randint(0, 12),
            "funny": chance.randint(0, 3),
            "cool": chance.randint(0, 3),
            "year": year,
        },
    }
