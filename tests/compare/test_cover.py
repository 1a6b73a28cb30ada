"""What rows reach of a seed is what evaluating them one by one shows; what they do not reach comes first."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import formulaseed as library
import pytest
from formulaseed.compare.cover import Coverage, _find_parts, cover
from formulaseed.errors import EvaluationError
from formulaseed.ir import nodes
from formulaseed.ir.interpret import interpret
from formulaseed.testing import contexts, rows, seeds
from helpers import EXAMPLES, SEEDS, TASKS, formulaseed, tiny_row, tiny_rows, tiny_seed, write_json, write_lines
from hypothesis import given, settings
from hypothesis import strategies as st

G1A = TASKS / "g1a_v2" / "seed.json"
ROWS = EXAMPLES / "rows-g1a_v2.jsonl"


def find_counts(coverage: Coverage, kind: str, name: str) -> dict[str, int]:
    return {item.text: item.count for item in coverage.items if (item.kind, item.name) == (kind, name)}


def test_the_example_is_covered_as_its_results_say() -> None:
    """Verdicts, keys, counts and filters occur as often as the interpreter's values say that they do."""
    lines = [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]
    program = library.load_seed(G1A).program
    steps = [interpret(program, line["rows"], line["context"]) for line in lines]
    coverage = cover(G1A, ROWS)
    verdicts = Counter(values["VERDICT"] for values in steps)
    assert list(find_counts(coverage, "rule", "VERDICT").values()) == [
        verdicts[name] for name in ("Low Risk", "High Risk", "Critical Risk")
    ]
    for name in ("N_MILD", "N_SEVERE", "N_RECENT", "N_BETRAYAL"):
        holds, fails = find_counts(coverage, "condition", name).values()
        assert holds == sum(values[name] for values in steps)  # type: ignore[misc]
        assert holds + fails == coverage.reviews == 114
    assert next(iter(find_counts(coverage, "filter", "IS_INCIDENT").values())) == sum(
        v["N_TOTAL_INCIDENTS"] for v in steps
    )  # type: ignore[misc]
    modifiers = Counter(values["CUISINE_MODIFIER"] for values in steps)
    assert find_counts(coverage, "key", "CUISINE_MODIFIER")["'Thai': 2.0"] == modifiers[2.0]
    assert sum(find_counts(coverage, "key", "CUISINE_MODIFIER").values()) == len(lines) == coverage.restaurants
    answers = Counter(row["extraction"]["account_type"] for line in lines for row in line["rows"])
    assert find_counts(coverage, "value", "extraction.account_type") == {
        f"'{name}'": n for name, n in answers.items()
    } | {"'none'": answers["none"]}


@pytest.mark.thorough
@settings(max_examples=25)
@given(st.data())
def test_counts_add_up(data: st.DataObject) -> None:
    """Each case that is evaluated takes one way, each lookup one key, each condition of a count is counted by it."""
    seed = library.load_seed(data.draw(seeds()))
    one_rows, context = data.draw(rows(seed)), data.draw(contexts(seed))
    line = {"business_id": "r", "context": context, "rows": one_rows}
    coverage = cover(seed, [line])
    try:
        values = interpret(seed.program, one_rows, context)
    except EvaluationError:
        assert len(coverage.failures.lines) == 1
        return
    assert not coverage.failures.lines
    for step in seed.program.steps:
        if isinstance(step.operation, nodes.Case) and step.operation.rules:
            assert sum(find_counts(coverage, "rule", step.name).values()) == 1
        if isinstance(step.operation, nodes.Lookup):
            assert sum(find_counts(coverage, "key", step.name).values()) == 1
        aggregate = step.aggregate
        if aggregate is not None and aggregate.where is not None:
            named = [item.count for item in coverage.items if (item.kind, item.name) == ("condition", step.name)]
            assert sum(named) == len(one_rows)
            assert aggregate.function != "count" or values[step.name] == named[0]


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.parent.name)
def test_each_part_is_counted_alone(path: Path) -> None:
    """No two parts share what is counted, and each has its place."""
    parts = [*_find_parts(library.load_seed(path))]
    assert len({part.key for part in parts}) == len(parts) > 5
    assert all(0 < part.span.start < part.span.end for part in parts)


def build_branching_seed() -> dict[str, Any]:
    seed = tiny_seed(context=[{"name": "tier", "type": "integer", "nullable": True}])
    seed["compute"][3]["expr"] = "(N_GOOD / N if N > 0 else 0) + (context.tier or 7)"
    return seed


def build_tiered(business_id: str, tier: int | None, *reviews: object) -> dict[str, Any]:
    line = tiny_rows(business_id, *reviews)
    return {**line, "context": {**line["context"], "tier": tier}}


def test_guards_are_branches() -> None:
    """`if` and `or` have two branches each, and those that are not evaluated are not counted."""
    guarded = "N_GOOD / N if N > 0"
    both = cover(build_branching_seed(), [build_tiered("a", 1, tiny_row("a")), build_tiered("b", None)])
    assert find_counts(both, "branch", "SHARE") == {guarded: 1, "0 unless N > 0": 1, "context.tier if context.tier": 1,
                                               "7 unless context.tier": 1}  # fmt: skip
    one = cover(
        build_branching_seed(), [build_tiered("a", 1, tiny_row("a")), build_tiered("b", 2, tiny_row("b", "bad"))]
    )
    assert find_counts(one, "branch", "SHARE")["0 unless N > 0"] == 0
    assert find_counts(one, "value", "extraction.mood") == {"'good'": 1, "'bad'": 1}


def build_row(review_id: str, **meta: object) -> dict[str, Any]:
    return {**tiny_row(review_id), "meta": meta}


def test_null_is_a_value() -> None:
    """Of a field that may be null, whatever its type, null is counted; `coalesce` has a branch for it, 0 is none."""
    seed = tiny_seed()
    seed["compute"] += [
        {"name": "TIER", "op": "expr", "expr": "coalesce(context.tier, 2) + int(coalesce(context.flag, false))"},
        {"name": "SUM", "op": "sum", "expr": "coalesce(meta.visits, 1)"},
    ]
    seed["context"] = [
        {"name": "tier", "type": "integer", "nullable": True},
        {"name": "flag", "type": "boolean", "nullable": True},
        {"name": "unused", "type": "boolean", "nullable": True},
    ]
    seed["extract"]["meta"] = [{"name": "visits", "type": "integer", "nullable": True}]
    lines = [
        {"business_id": "a", "context": {"flag": True}, "rows": [build_row("r", stars=5)]},
        {"business_id": "b", "context": {"tier": 0}, "rows": [build_row(name, stars=5, visits=0) for name in "abc"]},
    ]
    coverage = cover(seed, [{**line, "context": {"is_open": 1, **line["context"]}} for line in lines])
    assert find_counts(coverage, "value", "context.tier") == {"null": 1}
    assert find_counts(coverage, "value", "context.flag") == {"true": 1, "false": 0, "null": 1}
    assert find_counts(coverage, "value", "meta.visits") == {"null": 1}
    assert find_counts(coverage, "value", "context.unused") == {}
    assert find_counts(coverage, "branch", "SUM") == {
        "meta.visits if meta.visits != None": 3,
        "1 if meta.visits == None": 1,
    }
    assert find_counts(coverage, "branch", "TIER") == {
        "context.tier if context.tier != None": 1,
        "2 if context.tier == None": 1,
        "context.flag if context.flag != None": 1,
        "False if context.flag == None": 1,
    }


def test_what_is_never_reached_comes_first() -> None:
    """With its place in the file; in text, Markdown and HTML, of which the command prints a page."""
    coverage = cover(G1A, ROWS)
    assert coverage.reached_count == len(coverage.items) - 4
    page = formulaseed("cover", G1A, "--rows", ROWS, "--format", "html").out
    assert page == coverage.html
    assert f"<h1>Coverage of {G1A}</h1>" in page
    for text in (coverage.text, coverage.markdown, coverage._repr_html_(), page):
        plain = text.replace("<wbr>", "").replace("&gt;", ">")
        assert plain.index("RECENT_RATIO > 0.7") < plain.index("Reached")
    assert f"{G1A}:240:19" in coverage.text
    missed = [item for item in coverage.items if item.kind == "rule" and not item.count]
    assert G1A.read_text(encoding="utf-8")[missed[0].span.start :].startswith("RECENT_RATIO > 0.7")


def test_json_is_plain() -> None:
    values = json.loads(json.dumps(cover(G1A, ROWS).json))
    assert set(values) == {"seed", "restaurants", "reviews", "reached", "total", "percent", "items", "failures"}
    assert values["reached"] == sum(item["count"] > 0 for item in values["items"])
    assert set(values["items"][0]) == {"kind", "name", "text", "count", "place"}


def test_no_restaurants() -> None:
    """Nothing is reached."""
    assert cover(G1A, []).percent == 0


def test_the_command(tmp_path: Path) -> None:
    """Exit status 1 under the limit, 3 where restaurants fail; these count as far as they come."""
    seed = write_json(tmp_path / "seed.json", tiny_seed())
    lines = write_lines(tmp_path / "rows.jsonl", tiny_rows("a", tiny_row("a"), tiny_row("b", "bad")), tiny_rows("b"))
    done = formulaseed("cover", seed, "--rows", lines, "--format", "json")
    assert done.status == 3
    assert "failed:" in done.err
    assert json.loads(done.out)["restaurants"] == 2
    assert formulaseed("cover", seed, "--rows", lines, "--fail-under", "100").status == 1
    assert formulaseed("cover", G1A, "--rows", ROWS, "--fail-under", "90", "--format", "markdown").status == 0
    assert formulaseed("cover", G1A, "--rows", ROWS, "--fail-under", "101").status == 2
    assert formulaseed("cover", G1A).status == 2
