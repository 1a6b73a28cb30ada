"""One real call of a model, where there is a key for it: `pytest -m live`. Nothing else here ever leaves the machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from asking import restaurant, seed
from helpers import formulaseed, needs, write_json, write_lines


@pytest.mark.live
@pytest.mark.skipif(not os.environ.get("ANTHROPIC_API_KEY"), reason="ANTHROPIC_API_KEY is not set")
def test_a_real_model_answers_in_the_fields_of_a_seed(tmp_path: Path) -> None:
    needs("anthropic", "llm")
    write_json(tmp_path / "seed.json", seed())
    write_lines(tmp_path / "contexts.jsonl", restaurant("a", "The soup was wonderful, we loved every spoon of it."))
    arguments = ["run", "seed.json", "--contexts", "contexts.jsonl", "--extractor", "anthropic", "--store", "s.sqlite"]
    first = formulaseed(*arguments, "--max-usd", "0.05", cwd=tmp_path)
    assert (first.status, first.results[0]["output"]) == (0, {"N_GOOD": 1, "N": 1}), first.err
    again = formulaseed(*arguments, cwd=tmp_path)
    assert (again.out, "for 0 calls" in again.err) == (first.out, True)
