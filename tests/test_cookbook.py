"""The cookbook's parts of seeds are parts of seeds."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from formulaseed import check, load_evaluator
from helpers import ROOT

PARTS = re.findall(
    r"^## (.*?)\n.*?```json\n(.*?)```", (ROOT / "docs" / "cookbook.md").read_text(), re.MULTILINE | re.DOTALL
)


@pytest.mark.parametrize(("title", "steps"), PARTS, ids=[title for title, _ in PARTS])
def test_a_recipe_is_checked_and_computes(title: str, steps: str) -> None:
    """Its steps have no errors, and values over no reviews and over one."""
    compute: list[dict[str, Any]] = json.loads(steps)
    integer = {"type": "integer", "minimum": 0, "maximum": 3000}
    seed = {
        "task_name": "Recipe",
        "parameters": {"AS_OF_YEAR": {**integer, "default": 2025}, "LIMIT": {**integer, "default": 3}},
        "context": [{"name": "price_tier", "type": "integer", "nullable": True}],
        "extract": {"fields": [{"name": "mood", "type": "enum", "values": ["good", "bad", "none"]}]},
        "compute": compute,
        "output": [step["name"] for step in compute if step["op"] != "define_filter"],
    }
    assert [d.message for d in check(seed) if d.severity == "error"] == []
    evaluator = load_evaluator(seed)
    meta = {"stars": 1, "useful": 3, "year": 2024}
    for rows in ([], [{"review_id": "r", "extraction": {"mood": "bad"}, "meta": meta}]):
        assert set(evaluator.evaluate(rows, {"categories": "Thai, Bars", "price_tier": None})) == set(seed["output"])


def test_there_are_recipes() -> None:
    """The pattern above finds every block of the page."""
    assert len(PARTS) == (ROOT / "docs" / "cookbook.md").read_text().count("```json")
