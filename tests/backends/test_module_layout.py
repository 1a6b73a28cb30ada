"""Test what the person who approves a module reads: bounds, the policy, chains, named lists, comments that are sentences."""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path
from typing import Any

import pytest
from formulaseed import compile_seed, load_evaluator
from formulaseed.source.text import end_sentence, join_sentences
from formulaseed.testing import reference_evaluate
from helpers import ROOT, tiny_seed

MONTHS = {"meta.month": {"in": [11, 12, 1, 2]}}
COUNT = {"name": "N", "op": "count"}
DARK = {"name": "DARK", "op": "define_filter", "where": MONTHS}


def make_seed(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a seed with these steps, the last of which is its output."""
    fields = [{"name": "mood", "type": "enum", "values": {"good": "Liked", "fair": "So-so", "bad": "Disliked"}}]
    extract = {"fields": fields, "meta": [{"name": "fans", "type": "integer", "nullable": True}]}
    return {"task_name": "T", "extract": extract, "compute": [*steps], "output": [steps[-1]["name"]], **more}


def make_rows(*months: int, fans: int | None = None) -> list[dict[str, Any]]:
    moods = ("good", "fair", "bad")
    meta = {"stars": 3, "year": 2020, "fans": fans}
    return [{"extraction": {"mood": moods[month % 3]}, "meta": {**meta, "month": month}} for month in months]


def assert_agrees(seed: dict[str, Any], *tables: list[dict[str, Any]]) -> None:
    """Assert that the module and the reference evaluator give the same values for each table of rows."""
    evaluator = load_evaluator(seed)
    for rows in tables:
        assert evaluator.trace(rows, {}) == reference_evaluate(seed, rows, {})


def cut_out(source: str, start: str) -> str:
    """Return the text of a function or class of a module, after `start`."""
    return source.split(start)[1].split("\n\n\n")[0]


def test_a_chain_of_conditional_expressions_is_an_if_statement() -> None:
    """Branches are in the order of the formula, also for a value that is chosen among further values."""
    verdict = "'c' if N > 3 else ('a' if N == 1 else 'b') if N > 0 else 'none'"
    ratio = {"name": "X", "op": "expr", "expr": "(1 / N if N > 1 else N) if N > 0 else N / 2"}
    seed = make_seed(COUNT, {"name": "VERDICT", "op": "expr", "expr": verdict}, ratio)
    computed = cut_out(compile_seed(seed), "def _compute(")
    assert " else " not in computed
    assert computed.count("elif") == 1
    assert "    x = float(n)\n" in computed.replace("        x", "    x")
    assert_agrees(seed, *(make_rows(*[1] * count) for count in range(6)))
    single = make_seed(COUNT, {"name": "X", "op": "expr", "expr": "1 / N if N > 0 else 0"})
    assert "    x = 1 / n if n > 0 else 0.0\n" in compile_seed(single)


def test_a_condition_that_repeats_a_filter_is_tested_once() -> None:
    """The operand of an aggregate uses the filter's local, but makes no local for a filter that no aggregate uses."""
    expr = "3 if meta.month in [11, 12, 1, 2] else 2"
    seed = make_seed(
        DARK,
        {"name": "N_DARK", "op": "count", "where": {"$DARK": True}},
        {"name": "W", "op": "sum", "expr": f"({expr})"},
        {"name": "ANY", "op": "any", "expr": "not meta.month in [11, 12, 1, 2] and extraction.mood == 'good'"},
    )
    assert cut_out(compile_seed(seed), "def _compute(").count("month in MONTHS") == 1
    assert_agrees(seed, make_rows(), make_rows(1, 5), make_rows(12, 6, 3))
    unused = make_seed(DARK, {"name": "W", "op": "sum", "expr": expr, "where": {"extraction.mood": "bad"}})
    assert " dark = " not in compile_seed(unused)
    assert_agrees(unused, make_rows(1, 5, 11))


def test_a_list_of_values_is_named_once() -> None:
    """The name is at the top of the module; short lists and values of an enum stay in their conditions."""
    moods = {"extraction.mood": {"in": ["good", "fair", "bad"]}}
    seed = make_seed(
        {**COUNT, "where": MONTHS},
        {"name": "M", "op": "count", "where": {"meta.month": {"in": [5, 6, 7]}, **moods}},
        {"name": "K", "op": "sum", "expr": "1 if meta.month in [11, 12, 1, 2] or meta.month in [3, 4] else 0"},
        {"name": "IN", "op": "expr", "expr": "(N + M + K) in [1, 2, 3, 4]"},
    )
    source = compile_seed(seed)
    assert "\nMONTHS: Final = (11, 12, 1, 2)\nMONTHS_2: Final = (5, 6, 7)\nINS: Final = (1, 2, 3, 4)\n" in source
    assert "(11, 12, 1, 2)" not in cut_out(source, "def _compute(")
    assert "month in (3, 4)" in source
    assert_agrees(seed, make_rows(), make_rows(1, 5, 11), make_rows(3, 4, 6, 12))


def test_outputs_have_their_bounds() -> None:
    """The bounds are those of the checker; a value without bounds has no comment."""
    formulas = {"SCORE": "max(0.5, min(20.0, N * 2.5))", "LOSS": "-N", "IS_HIGH": "SCORE > 3"}
    steps = [COUNT, *({"name": name, "op": "expr", "expr": text} for name, text in formulas.items())]
    steps.append({"name": "SUM", "op": "sum", "expr": "meta.cool"})
    source = compile_seed(make_seed(*steps, output=[step["name"] for step in steps]))
    fields = ("N: int  # 0 or more", "SCORE: float  # 0.5 to 20", "LOSS: int  # 0 or less", "IS_HIGH: bool", "SUM: int")
    assert "".join(f"    {field}\n" for field in fields) in cut_out(source, "class Result") + "\n"


def test_the_policy_is_beside_its_steps() -> None:
    """Sentences are above the declaration of a step or filter; the version is in the first lines."""
    count = {**COUNT, "where": {"$DARK": True}, "sources": ["Count the dark visits.", "Each one counts."]}
    dark = {**DARK, "sources": ["Winter is dark."]}
    source = compile_seed(make_seed(dark, count, version="3.1", description="Says how dark it was."))
    assert source.split("\n")[2] == "T, version 3.1. Says how dark it was."
    assert (
        '    # policy: "Winter is dark."\n    # $DARK: meta.month in [11, 12, 1, 2]\n'
        '    # policy: "Count the dark visits."\n    # policy: "Each one counts."\n    N: int  # count where $DARK\n'
    ) in source


@pytest.mark.parametrize(
    "sentence",
    ['"""\nimport os\n"""', "# type: ignore", "x\u2028import os", "{{ 7 }} {% raw %}", "\\", "'" * 3, "a" * 900],
)
@pytest.mark.thorough
def test_a_sentence_of_the_policy_is_only_a_comment(sentence: str) -> None:
    seed = tiny_seed()
    plain = compile_seed(seed)
    seed["compute"][0]["sources"] = [sentence]
    added = [line for line in compile_seed(seed).split("\n") if line not in plain.split("\n")]
    assert [line for line in added if not line.startswith(("    # ", "SEED_SHA256", "BODY_SHA256"))] == []
    assert any("policy: " in line for line in added)


ENDS = ("", ".", "?", "!", "…")
DOUBLED = re.compile(r"[.!?…]\.(?: |$)")
"""A full stop after another mark."""


def make_described_seed(end: str) -> dict[str, Any]:
    """Return a seed whose descriptions end in one way, and whose formulas begin with a sign."""
    bounds = ({"minimum": 1, "maximum": 100}, {"minimum": 1}, {"maximum": 9}, {})
    parameter = {"type": "integer", "default": 3, "description": f"Used if it is unknown{end}"}
    moods = {"a": f"good{end}", "b": f"bad{end}"}
    fields = [
        {"name": "mood", "type": "enum", "description": f"How it was{end}", "values": moods},
        {"name": "tone", "type": "integer", "description": f"-1 where it was bad{end}"},
    ]
    steps = [
        {"name": "IS_BAD", "op": "define_filter", "expr": "-extraction.tone > 0 and extraction.mood == 'b'"},
        {"name": "N", "op": "count", "where": {"$IS_BAD": True}},
        {"name": "LOSS", "op": "expr", "expr": "-N * (param.P0 + param.P1 + param.P2 + param.P3)"},
        {"name": "LONG", "op": "expr", "expr": f"-N {' '.join(f'- {number} * LOSS' for number in range(2, 30))}"},
    ]
    return {
        "task_name": "T", "version": "1.0", "description": f"A policy{end}",
        "parameters": {f"P{number}": {**parameter, **some} for number, some in enumerate(bounds)},
        "extract": {"fields": fields}, "compute": steps, "output": ["LOSS", "LONG"],
    }  # fmt: skip


def find_comments(source: str) -> list[str]:
    """Return the comments and the docstrings, line by line."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    texts = [t.string for t in tokens if t.type == tokenize.COMMENT or '"""' in t.string]
    return [line.strip().strip('"') for text in texts for line in text.splitlines()]


@pytest.mark.parametrize("end", ENDS)
def test_a_comment_has_one_mark_at_the_end_of_a_sentence(end: str) -> None:
    """The next sentence begins after the description's own mark, or after a full stop."""
    lines = find_comments(compile_seed(make_described_seed(end)))
    assert [line for line in lines if DOUBLED.search(line)] == []
    for rest in ("From 1 to 100", "At least 1", "At most 9"):
        assert f"# Used if it is unknown{end or '.'} {rest}" in lines


def test_a_formula_that_begins_with_a_sign_is_shown_as_any_other() -> None:
    """Its name is before it once: as the name of the field, or of the filter."""
    source = compile_seed(make_described_seed("."))
    for text in (
        "    LOSS: int  # -N * (param.P0 + param.P1 + param.P2 + param.P3)\n",
        "    tone: int  # -1 where it was bad.\n", "    # -N - 2 * LOSS", "    # $IS_BAD: -extraction.tone > 0",
    ):  # fmt: skip
        assert text in source
    assert "`LOSS`" not in source


@pytest.mark.parametrize("path", sorted((ROOT / "generated").rglob("*.py")), ids=lambda path: path.stem)
def test_the_modules_of_the_project_have_such_comments(path: Path) -> None:
    """No mark is doubled, and no line names its field twice."""
    source = path.read_text(encoding="utf-8")
    assert [line for line in find_comments(source) if DOUBLED.search(line) and "..." not in line] == []
    assert re.findall(r"^ *(\w+): \w+  # `\1`:.*$", source, re.MULTILINE) == []


def test_sentences_are_joined() -> None:
    assert (end_sentence("A"), join_sentences(("A", "", "B.", "C?", "D"))) == ("A.", "A. B. C? D")
    assert join_sentences(("", "")) == ""
