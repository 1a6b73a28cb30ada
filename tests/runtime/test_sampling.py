"""`run --sample`: which reviews are drawn, what the results of a sample say, and the extractions that it writes."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from asking import restaurant
from formulaseed.data.results import ReviewInput
from formulaseed.runtime.sampling import Sample, draw
from helpers import EXAMPLES, TASKS, Outcome, formulaseed, write_json, write_lines
from hypothesis import given
from hypothesis import strategies as st

SEED = TASKS / "g1a_v2" / "seed.json"
CONTEXTS = EXAMPLES / "contexts.jsonl"
RECORDED = EXAMPLES / "extractions-g1a_v2.jsonl"
COUNTS = st.lists(st.integers(0, 9), max_size=12)


def reviews(counts: list[int]) -> list[list[ReviewInput]]:
    return [[ReviewInput(f"b{place}", f"r{n}", "") for n in range(count)] for place, count in enumerate(counts)]


def ids(sample: Sample, restaurants: list[list[ReviewInput]]) -> set[tuple[str, str]]:
    found = ((restaurants[place][n]) for place, chosen in sample.chosen.items() for n in chosen)
    return {(review.business_id, review.review_id) for review in found}


@given(COUNTS, st.integers(1, 60), st.integers(0, 3))
def test_a_sample_is_spread(counts: list[int], size: int, seed: int) -> None:
    """As many as wanted, or all; no restaurant has two more than another that has some left."""
    sample = draw(reviews(counts), size, seed)
    drawn = [len(sample.chosen.get(place, ())) for place in range(len(counts))]
    assert (sum(drawn), sample.population) == (min(size, sum(counts)), sum(counts)) == (sample.size, sample.population)
    left = [number for number, count in zip(drawn, counts, strict=True) if number < count]
    assert max(drawn, default=0) <= min(left, default=99) + 1


@given(COUNTS, st.integers(1, 60), st.randoms(use_true_random=False))
def test_the_order_of_the_file_draws_nothing(counts: list[int], size: int, random: Any) -> None:
    """The same ids are drawn from the same reviews in any order; a larger sample contains a smaller one."""
    given_reviews = reviews(counts)
    first = ids(draw(given_reviews, size, 7), given_reviews)
    shuffled = [random.sample(each, len(each)) for each in random.sample(given_reviews, len(given_reviews))]
    assert ids(draw(shuffled, size, 7), shuffled) == first
    assert ids(draw(given_reviews, size + 5, 7), given_reviews) >= first


def test_another_seed_draws_another_sample() -> None:
    """And the same one the same."""
    restaurants = reviews([20] * 20)
    drawn = [frozenset(ids(draw(restaurants, 40, seed), restaurants)) for seed in (0, 0, 1, 2)]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) == 3


def run(*options: object) -> Outcome:
    return formulaseed(
        "run", SEED, "--contexts", CONTEXTS, "--extractor", "recorded", "--extractions", RECORDED, *options
    )


def test_results_say_that_they_rest_on_a_sample(tmp_path: Path) -> None:
    """Each has the counts of its sampled reviews and the draw; a restaurant without sampled reviews has no result."""
    out = tmp_path / "reviewed.jsonl"
    done = run("--sample", 30, "--extractions-out", out, "--with-text")
    assert done.status == 0, done.err
    assert "sample: 30 of 114 relevant reviews, of 14 restaurants (seed 0); each result rests on" in done.err
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(lines) == sum(result["reviews"]["sampled"] for result in done.results) == 30
    by_restaurant = Counter(line["business_id"] for line in lines)
    for result in done.results:
        assert result["run"]["sample"] == {"reviews": 30, "of": 114, "seed": 0}
        counts = result["reviews"]
        assert list(counts) == ["total", "relevant", "extracted", "failed", "sampled"]
        assert counts["sampled"] == counts["extracted"] == by_restaurant[result["business_id"]] > 0
        assert result["output"]["N_TOTAL_INCIDENTS"] <= counts["sampled"] <= counts["relevant"]
    whole = run().by_id()
    assert set(by_restaurant) <= set(whole)
    assert len(run("--sample", 5, "--sample-seed", 3).results) == 5 < len(whole)
    assert all("sample" not in result["run"] and "sampled" not in result["reviews"] for result in whole.values())
    assert whole[lines[0]["business_id"]]["reviews"]["relevant"] == done.results[0]["reviews"]["relevant"]


def test_a_sample_of_all_is_all(tmp_path: Path) -> None:
    """The same outputs as without, but for the restaurants that have no relevant review."""
    drawn, whole = run("--sample", 1000).by_id(), run().by_id()
    assert {name: whole[name]["output"] for name in drawn} == {name: one["output"] for name, one in drawn.items()}
    assert all(whole[name]["reviews"]["relevant"] == 0 for name in set(whole) - set(drawn))


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    """Extractions that a run wrote give the same results as that run, with texts or without."""
    first = run()
    for options in ((), ("--with-text",)):
        out = tmp_path / "written.jsonl"
        run("--extractions-out", out, *options)
        again = formulaseed(
            "run", SEED, "--contexts", CONTEXTS, "--extractor", "recorded", "--extractions", out, "--strict"
        )
        assert again.out == first.out
    texts = {r["review_id"]: r["text"] for c in _contexts() for r in c["reviews"]}
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(lines) == 114
    assert all(line["text"] == texts[line["review_id"]] for line in lines)


def _contexts() -> list[Any]:
    return [json.loads(line) for line in CONTEXTS.read_text(encoding="utf-8").splitlines()]


def test_a_sample_of_the_lexical_extractor(tmp_path: Path) -> None:
    """Of reviews that the seed lets through: one that it rejects is not drawn; bad lines are failures as ever."""
    given_seed = {
        "task_name": "T",
        "review_handling": {"max_length": 10, "strategy": "reject"},
        "extract": {"fields": [{"name": "mood", "type": "enum", "values": ["none", "good"]}]},
        "compute": [{"name": "N", "op": "count"}],
        "output": ["N"],
    }
    write_json(tmp_path / "seed.json", given_seed)
    contexts = [restaurant("a", "soup", "far too long a soup"), b"{", restaurant("b"), restaurant("c", "tea", "milk")]
    write_lines(tmp_path / "contexts.jsonl", *contexts)
    done = formulaseed("run", "seed.json", "--contexts", "contexts.jsonl", "--sample", 2, cwd=tmp_path)
    assert done.status == 3
    assert [(r["business_id"], r["output"]["N"], r["reviews"]["relevant"]) for r in done.results] == [
        ("a", 1, 2),
        ("c", 1, 2),
    ]
    assert "sample: 2 of 3 relevant reviews, of 2 restaurants" in done.err
    assert done.err.count("failed: ") == 1
    nobody = formulaseed("run", "seed.json", "--contexts", "contexts.jsonl", "--sample", 2, "--limit", 0, cwd=tmp_path)
    assert (nobody.status, nobody.out) == (0, "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--sample", 0), "0 is not in the range"),
        (("--with-text",), "--with-text goes with --extractions-out"),
        (("--extractions-out", "-"), "--out and --extractions-out need two files"),
        (("--extractions-out", CONTEXTS), "it is one of the inputs"),
        (("--extractions-out", "x.jsonl", "--out", "./x.jsonl"), "--out and --extractions-out need two files"),
        (("--sample", 3, "--contexts", "-"), "--sample reads its input several times"),
    ],
)
def test_what_cannot_be_done_is_refused(options: tuple[object, ...], message: str, tmp_path: Path) -> None:
    """Before anything is extracted."""
    command = ("run", SEED, "--contexts", CONTEXTS, "--extractor", "recorded", "--extractions", RECORDED)
    done = formulaseed(*command, *options, cwd=tmp_path)
    assert (done.status, message in done.err) == (2, True), done.err
