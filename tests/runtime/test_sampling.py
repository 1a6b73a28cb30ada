"""`run --sample`: which reviews are drawn, what the results of a sample say, and the extractions that it writes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from asking import restaurant
from formulaseed.data.results import ReviewInput
from formulaseed.runtime.sampling import draw
from helpers import EXAMPLES, TASKS, Outcome, formulaseed, read_lines, write_json, write_lines
from hypothesis import given
from hypothesis import strategies as st

SEED = TASKS / "g1a_v2" / "seed.json"
CONTEXTS = EXAMPLES / "contexts.jsonl"
RECORDED = EXAMPLES / "extractions-g1a_v2.jsonl"
COUNTS = st.lists(st.integers(0, 9), max_size=12)


def create_reviews(counts: list[int]) -> list[list[ReviewInput]]:
    return [[ReviewInput(f"b{place}", f"r{n}", "") for n in range(count)] for place, count in enumerate(counts)]


def draw_ids(restaurants: list[list[ReviewInput]], size: int, seed: int) -> frozenset[tuple[str, str]]:
    """Return the ids of the drawn reviews."""
    chosen = draw(restaurants, size, seed).chosen
    reviews = [restaurants[place][position] for place, positions in chosen.items() for position in positions]
    return frozenset((review.business_id, review.review_id) for review in reviews)


@given(COUNTS, st.integers(1, 60), st.integers(0, 3))
def test_a_sample_is_spread(counts: list[int], size: int, seed: int) -> None:
    """It has `size` reviews, or all; no restaurant has two more than another that has some left."""
    sample = draw(create_reviews(counts), size, seed)
    drawn = [len(sample.chosen.get(place, ())) for place in range(len(counts))]
    assert sum(drawn) == sample.size == min(size, sum(counts))
    assert sample.population == sum(counts)
    unfinished = [number for number, count in zip(drawn, counts, strict=True) if number < count]
    assert max(drawn, default=0) <= min(unfinished, default=99) + 1


@given(COUNTS, st.integers(1, 60), st.randoms(use_true_random=False))
def test_the_order_of_the_file_does_not_matter(counts: list[int], size: int, random: Any) -> None:
    """A larger sample contains a smaller one."""
    restaurants = create_reviews(counts)
    ids = draw_ids(restaurants, size, 7)
    shuffled = [random.sample(reviews, len(reviews)) for reviews in random.sample(restaurants, len(restaurants))]
    assert draw_ids(shuffled, size, 7) == ids
    assert draw_ids(restaurants, size + 5, 7) >= ids


def test_another_seed_draws_another_sample() -> None:
    restaurants = create_reviews([20] * 20)
    samples = [draw_ids(restaurants, 40, seed) for seed in (0, 0, 1, 2)]
    assert samples[0] == samples[1]
    assert len(set(samples)) == 3


def run(*options: object, recorded: Path = RECORDED, cwd: Path = EXAMPLES) -> Outcome:
    arguments = ("--contexts", CONTEXTS, "--extractor", "recorded", "--extractions", recorded)
    return formulaseed("run", SEED, *arguments, *options, cwd=cwd)


@pytest.fixture(scope="module")
def whole() -> Outcome:
    """The run without a sample."""
    return run()


def test_results_name_their_sample(whole: Outcome, tmp_path: Path) -> None:
    """Each has the counts of its sampled reviews; a restaurant without sampled reviews has no result."""
    out = tmp_path / "reviewed.jsonl"
    done = run("--sample", 30, "--extractions-out", out, "--with-text")
    assert done.status == 0, done.err
    assert "sample: 30 of 114 relevant reviews, of 14 restaurants (seed 0); each result rests on" in done.err
    by_restaurant = Counter(line["business_id"] for line in read_lines(out))
    assert by_restaurant.total() == sum(result["reviews"]["sampled"] for result in done.results) == 30
    results = whole.by_id()
    for result in done.results:
        assert result["run"]["sample"] == {"reviews": 30, "of": 114, "seed": 0}
        counts = result["reviews"]
        assert list(counts) == ["total", "relevant", "extracted", "failed", "sampled"]
        assert counts["sampled"] == counts["extracted"] == by_restaurant[result["business_id"]] > 0
        assert result["output"]["N_TOTAL_INCIDENTS"] <= counts["sampled"] <= counts["relevant"]
        assert counts["relevant"] == results[result["business_id"]]["reviews"]["relevant"]
    assert len(run("--sample", 5, "--sample-seed", 3).results) == 5 < len(results)
    assert all("sample" not in result["run"] and "sampled" not in result["reviews"] for result in results.values())


def test_a_sample_of_all_reviews_gives_the_same_outputs(whole: Outcome) -> None:
    """Except that restaurants without a relevant review have no result."""
    drawn, results = run("--sample", 1000).by_id(), whole.by_id()
    assert {name: results[name]["output"] for name in drawn} == {name: one["output"] for name, one in drawn.items()}
    assert all(results[name]["reviews"]["relevant"] == 0 for name in set(results) - set(drawn))


@pytest.mark.thorough
def test_written_extractions_give_the_same_results(whole: Outcome, tmp_path: Path) -> None:
    """With texts or without."""
    out = tmp_path / "written.jsonl"
    for options in ((), ("--with-text",)):
        run("--extractions-out", out, *options)
        assert run("--strict", recorded=out).out == whole.out
    texts = {review["review_id"]: review["text"] for line in read_lines(CONTEXTS) for review in line["reviews"]}
    lines = read_lines(out)
    assert len(lines) == 114
    assert all(line["text"] == texts[line["review_id"]] for line in lines)


def test_a_sample_of_the_lexical_extractor(tmp_path: Path) -> None:
    """A review that the seed rejects is not drawn; bad lines are failures."""
    seed = {
        "task_name": "T",
        "review_handling": {"max_length": 10, "strategy": "reject"},
        "extract": {"fields": [{"name": "mood", "type": "enum", "values": ["none", "good"]}]},
        "compute": [{"name": "N", "op": "count"}],
        "output": ["N"],
    }
    write_json(tmp_path / "seed.json", seed)
    contexts = [restaurant("a", "soup", "far too long a soup"), b"{", restaurant("b"), restaurant("c", "tea", "milk")]
    write_lines(tmp_path / "contexts.jsonl", *contexts)
    arguments = ("run", "seed.json", "--contexts", "contexts.jsonl", "--sample", 2)
    done = formulaseed(*arguments, cwd=tmp_path)
    results = [(result["business_id"], result["output"]["N"], result["reviews"]["relevant"]) for result in done.results]
    assert (done.status, results) == (3, [("a", 1, 2), ("c", 1, 2)])
    assert "sample: 2 of 3 relevant reviews, of 2 restaurants" in done.err
    assert done.err.count("failed: ") == 1
    empty = formulaseed(*arguments, "--limit", 0, cwd=tmp_path)
    assert (empty.status, empty.out) == (0, "")


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
@pytest.mark.thorough
def test_impossible_options_are_refused(options: tuple[object, ...], message: str, tmp_path: Path) -> None:
    done = run(*options, cwd=tmp_path)
    assert (done.status, message in done.err) == (2, True), done.err
