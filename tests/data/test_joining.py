"""Restaurants and reviews in two files: what does not fit into memory gives the same as what does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from formulaseed.data import joining
from formulaseed.data.jsonl import read_lines
from formulaseed.data.results import Failures
from helpers import ROOT, formulaseed, write_lines

REVIEW = {"user_id": "u", "stars": 4.0, "useful": 0, "funny": 0, "cool": 0, "date": "2020-01-02 03:04:05"}


def joined(folder: Path) -> tuple[list[Any], list[str]]:
    failures = Failures()
    files = (read_lines(str(folder / name)) for name in ("restaurants.jsonl", "reviews.jsonl"))
    found = [
        (place, [review.text for review in restaurant.reviews] if not isinstance(restaurant, Exception) else str(restaurant))
        for place, restaurant, _ in joining.join_files(*files, failures)
    ]  # fmt: skip
    return found, failures.lines


def test_reviews_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All, some or none of the reviews in memory: the same restaurants, reviews in their order, failures and orphans."""
    reviews = [
        {**REVIEW, "review_id": f"r{at}", "business_id": f"b{at * 7 % 5}", "text": f"Nüsse {at}"} for at in range(40)
    ]
    reviews[11] = {"business_id": "b2", "review_id": "bad"}
    write_lines(tmp_path / "reviews.jsonl", *reviews)
    write_lines(tmp_path / "restaurants.jsonl", *({"business_id": f"b{at}", "name": "x"} for at in (3, 0, 2, 9)))
    expected = joined(tmp_path)
    assert [len(found) for _, found in expected[0][:2]] == [8, 8]
    assert "a review of it cannot be used" in expected[0][2][1]
    assert expected[0][3][1] == []
    assert any("8 reviews name b1" in line for line in expected[1])
    for limit in (0, 2_000):
        monkeypatch.setattr(joining, "IN_MEMORY", limit)
        assert joined(tmp_path) == expected


def test_parquet_in_place_of_json_lines(tmp_path: Path) -> None:
    """`run` and `evaluate` read Parquet with the columns of the JSON Lines: the same results; what is no Parquet is named."""
    reader = pytest.importorskip("pyarrow.json", reason="reading Parquet needs pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    seed = ROOT / "tasks" / "g1a_v2" / "seed.json"
    for name, command, option in (("contexts", "run", "--contexts"), ("rows-g1a_v2", "evaluate", "--rows")):
        source, made = ROOT / "examples" / f"{name}.jsonl", tmp_path / f"{name}.parquet"
        parquet.write_table(reader.read_json(source), made)
        for path, out in ((source, "a.jsonl"), (made, "b.jsonl")):
            outcome = formulaseed(command, seed, option, path, "--out", tmp_path / out)
            assert outcome.status == 0, outcome.err
        assert (tmp_path / "a.jsonl").read_text() == (tmp_path / "b.jsonl").read_text()
    (tmp_path / "text.parquet").write_text("hello")
    refused = formulaseed("evaluate", seed, "--rows", tmp_path / "text.parquet")
    assert refused.status == 2
    assert "text.parquet: " in refused.err
