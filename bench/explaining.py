"""The explanation of one restaurant with many reviews: the command, from start-up to the first screen of text."""

from __future__ import annotations

import json
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from measure import run_apart
from tables import Line, table

SEED = Path(__file__).resolve().parents[1] / "tasks" / "g1a_v2" / "seed.json"
REVIEWS = (1_000, 10_000, 100_000)
SHARES = {"one review in 50 counts": 0.02, "every review counts": 1.0}
SEVERITIES = ("mild", "moderate", "severe")
ANSWERS = ("none", "positive", "negative", "betrayal")


def report() -> str:
    """Measure the explanation of restaurants with more and more reviews, and return the table."""
    lines = [Line(name, tuple(_seconds(count, share) for count in REVIEWS), "5") for name, share in SHARES.items()]
    note = "Their years, stars, votes and texts differ; the rows are read from a file."
    return table("Explain one restaurant, seconds", [f"{count:,} reviews" for count in REVIEWS], lines, [note])


def rows_of(count: int, share: float) -> list[dict[str, Any]]:
    """Rows of so many reviews, of which about this share tells of a reaction; the same at every run."""
    chance = random.Random(f"explaining/{count}/{share}")
    return [_row(chance, number, chance.random() < share) for number in range(count)]


def _row(chance: random.Random, number: int, is_incident: bool) -> dict[str, Any]:
    extraction = {"incident_severity": "none", "account_type": "none", "safety_interaction": "none"}
    if is_incident:
        extraction = {
            "incident_severity": chance.choice(SEVERITIES),
            "account_type": "firsthand",
            "safety_interaction": chance.choice(ANSWERS),
        }
    date = f"{chance.randint(2014, 2025)}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
    meta = {"stars": chance.randint(1, 5), "useful": int(chance.expovariate(0.5)), "date": date}
    text = f"Visit {number}. We asked about peanuts. My lips tingled for an hour. The waiter rolled his eyes."
    return {"review_id": f"r{number:06}", "extraction": extraction, "meta": meta, "text": text}


def _seconds(count: int, share: float) -> str:
    """CPU seconds of one run of the command."""
    line = {"business_id": "b", "context": {"categories": "Thai, Restaurants"}, "rows": rows_of(count, share)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        path.write_text(json.dumps(line) + "\n", encoding="utf-8")
        command = [sys.executable, "-m", "formulaseed", "explain", SEED, "--rows", path, "--id", "b", "--quiet"]
        return f"{run_apart(command).cpu:.1f}"
