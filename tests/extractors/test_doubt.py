"""A run for which no extractor was named: where words speak for too little, it says so and does not end well."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import formulaseed as package
import pytest
from formulaseed.extractors import Lexical
from helpers import TASKS, formulaseed, write_lines

SEED = TASKS / "g1a_v1" / "seed.json"
TEXTS = {"silent": ("I had HIVES from a peanut.", "I needed an EpiPen."), "none": ("Nice patio.",)}
DOUBT = "no extractor was named, and words speak for only 0 of 2 relevant reviews"


def write_contexts(folder: Path, texts: tuple[str, ...]) -> Path:
    reviews = [
        {"review_id": str(index), "text": text, "stars": 1, "date": "2024-01-01"} for index, text in enumerate(texts)
    ]
    return write_lines(folder / "contexts.jsonl", {"business_id": "a", "name": "A", "reviews": reviews})


@pytest.mark.parametrize("command", ["run", "extract"])
@pytest.mark.thorough
def test_words_that_nobody_chose_and_that_say_little_are_doubted(tmp_path: Path, command: str) -> None:
    """Status 3 and the first closing line, unless the lexical extractor was named, or there was nothing to extract."""
    contexts = write_contexts(tmp_path, TEXTS["silent"])
    done = formulaseed(command, SEED, "--contexts", contexts, "--quiet")
    assert (done.status, done.err.splitlines()[0]) == (3, f"warning: {DOUBT}: these results say little; "
        "name an extractor that reads (anthropic, recorded, …), or name lexical to accept them")  # fmt: skip
    named = formulaseed(command, SEED, "--contexts", contexts, "--quiet", "--extractor", "lexical")
    assert (named.status, "warning" in named.err, named.out) == (0, False, done.out)
    assert json.loads(done.out)["run"]["spoke_for"] == [0, 2]
    nothing = formulaseed(command, SEED, "--contexts", write_contexts(tmp_path, TEXTS["none"]), "--quiet")
    assert (nothing.status, "spoke_for" in nothing.out) == (0, False)


def test_python_lists_the_doubt_among_the_failures(tmp_path: Path) -> None:
    contexts = write_contexts(tmp_path, TEXTS["silent"])
    assert [line.startswith(f"extractor: {DOUBT}") for line in package.run(SEED, contexts).failures] == [True]
    for named in ("lexical", Lexical()):
        assert package.run(SEED, contexts, extractor=named).failures == ()


def test_sections_of_a_seed_are_attributes() -> None:
    """Under the keys of its version; those of the other version say which key to use."""
    data: dict[str, Any] = json.loads(SEED.read_text(encoding="utf-8"))
    v1 = package.load_seed({name: value for name, value in data.items() if name != "filter_keywords"} | {"passes": 3})
    v2 = package.load_seed(TASKS / "wait_times" / "seed.json")
    assert (v1.compute_dag, v1.output_fields, v1.extraction_fields) == tuple(
        data[key] for key in ("compute_dag", "output_fields", "extraction_fields")
    )
    assert (v1.filter_keywords, v1.program.passes) == ([], 3)
    assert {
        "filter": v2.filter,
        "extract": v2.extract,
        "compute": v2.compute,
        "output": v2.output,
    }.items() <= v2.data.items()
    with pytest.raises(AttributeError, match="has no `compute`; its version of seeds has `compute_dag`"):
        _ = v1.compute
    with pytest.raises(AttributeError, match="has no `filter_keywords`; its version of seeds has `filter`"):
        _ = v2.filter_keywords
