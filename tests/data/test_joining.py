"""Restaurants and reviews in two files, and Parquet in place of JSON Lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from formulaseed.data import joining
from formulaseed.data.jsonl import read_lines
from formulaseed.data.results import Failures
from helpers import ROOT, formulaseed, write_lines

REVIEW = {"user_id": "u", "stars": 4.0, "useful": 0, "funny": 0, "cool": 0, "date": "2020-01-02 03:04:05"}


def join(folder: Path) -> tuple[list[tuple[str, Any]], list[str]]:
    """Return each restaurant's place with the texts of its reviews or its error, and the failures."""
    failures = Failures()
    files = (read_lines(str(folder / name)) for name in ("restaurants.jsonl", "reviews.jsonl"))
    restaurants = [
        (place, str(record) if isinstance(record, Exception) else [review.text for review in record.reviews])
        for place, record, _ in joining.join_files(*files, failures)
    ]
    return restaurants, failures.lines


def test_reviews_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All, some or none of the reviews in memory: the same restaurants, order, failures and orphans."""
    reviews = [
        {**REVIEW, "review_id": f"r{at}", "business_id": f"b{at * 7 % 5}", "text": f"Nüsse {at}"} for at in range(40)
    ]
    reviews[11] = {"business_id": "b2", "review_id": "bad"}
    write_lines(tmp_path / "reviews.jsonl", *reviews)
    write_lines(tmp_path / "restaurants.jsonl", *({"business_id": f"b{at}", "name": "x"} for at in (3, 0, 2, 9)))
    expected = join(tmp_path)
    restaurants, failures = expected
    assert [len(texts) for _, texts in restaurants[:2]] == [8, 8]
    assert "a review of it cannot be used" in restaurants[2][1]
    assert restaurants[3][1] == []
    assert any("8 reviews name b1" in line for line in failures)
    for limit in (0, 2_000):
        monkeypatch.setattr(joining, "IN_MEMORY", limit)
        assert join(tmp_path) == expected


def test_parquet_in_place_of_json_lines(tmp_path: Path) -> None:
    """`run` and `evaluate` give the same results; a file that is no Parquet is named."""
    reader = pytest.importorskip("pyarrow.json", reason="reading Parquet needs pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    seed = ROOT / "tasks" / "g1a_v2" / "seed.json"
    for name, command, option in (
        ("contexts", "run --extractor lexical", "--contexts"),
        ("rows-g1a_v2", "evaluate", "--rows"),
    ):
        source, copy = ROOT / "examples" / f"{name}.jsonl", tmp_path / f"{name}.parquet"
        parquet.write_table(reader.read_json(source), copy)
        plain, packed = (formulaseed(*command.split(), seed, option, path) for path in (source, copy))
        assert (packed.status, packed.out) == (plain.status, plain.out)
        assert plain.status == 0, plain.err
    (tmp_path / "text.parquet").write_text("hello")
    refused = formulaseed("evaluate", seed, "--rows", tmp_path / "text.parquet")
    assert (refused.status, "text.parquet: " in refused.err) == (2, True)
