"""`--reasons`: results name the parts of the score that hurt, as explanations do, in every format and engine."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import formulaseed as library
import pytest
from explaining import choose, count, formula, make_seed
from formulaseed.errors import DataError, EvaluationError
from formulaseed.testing import contexts, rows
from helpers import EXAMPLES, SEEDS_V2, TASKS, command, formulaseed, write_lines
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

SEED = TASKS / "g1a_v2" / "seed.json"
ROWS = EXAMPLES / "rows-g1a_v2.jsonl"
NOISE = {
    "name": "noise", "type": "enum", "values": ["quiet", "loud"], "path": ["attributes", "NoiseLevel"], "nullable": True,
}  # fmt: skip


def noise_seed() -> dict[str, Any]:
    """A policy whose score is two points for each bad review, and three for a loud restaurant."""
    fields = [{"name": "bad", "type": "boolean", "default": False}]
    score = formula("SCORE", "2.0 * N + (3.0 if context.noise == 'loud' else 0.0)") | {"adverse": "higher"}
    steps = [count("N", {"extraction.bad": True}), score, choose("V", {"SCORE > 1": "high"}, "low")]
    return make_seed(steps, "V", fields=fields) | {"context": [NOISE]}


def explained_reasons(line: dict[str, Any], number: int) -> list[dict[str, Any]]:
    explanation = library.explain(SEED, line["rows"], line["context"], line["business_id"])
    return [reason.model_dump() for reason in explanation.select_reasons(number)]


def test_results_have_the_reasons_of_explanations() -> None:
    """Adverse parts only, the largest first, at most as many as asked for; as data, with the ids of reviews."""
    lines = [json.loads(line) for line in ROWS.read_text().splitlines()]
    results = command("evaluate", SEED, "--rows", ROWS, "--reasons", 2).expect(0).by_id()
    for line in lines[:4]:
        reasons = results[line["business_id"]]["reasons"]
        assert reasons == explained_reasons(line, 2)
        assert all(reason["change"] >= 0 for reason in reasons)
    assert {len(result["reasons"]) for result in results.values()} == {0, 1, 2}


@pytest.mark.parametrize("context", [{"noise": "loud"}, {"attributes": {"NoiseLevel": "u'loud'"}}])
def test_nested_facts_are_reasons(context: dict[str, Any]) -> None:
    """A fact counts wherever it is in the restaurant's object."""
    rows = [{"review_id": "r", "extraction": {"bad": True}}]
    reasons = library.explain(noise_seed(), rows, context, "b").select_reasons()
    assert [(reason.label, reason.change, reason.reviews) for reason in reasons] == [
        ("noise: loud", 3.0, []),
        ("n", 2.0, ["r"]),
    ]


def test_run_writes_reasons(tmp_path: Path) -> None:
    """JSON Lines hold a list, CSV its JSON, Parquet a list of structs."""
    outputs = [tmp_path / f"results.{suffix}" for suffix in ("jsonl", "csv", "parquet")]
    for out in outputs:
        command("run", SEED, "--contexts", EXAMPLES / "contexts.jsonl", "--extractor", "recorded", "--extractions",
                EXAMPLES / "extractions-g1a_v2.jsonl", "--reasons", 3, "--out", out).expect(0)  # fmt: skip
    expected = [json.loads(line)["reasons"] for line in outputs[0].read_text().splitlines()]
    assert any(expected)
    with outputs[1].open(newline="") as file:
        assert [json.loads(line["reasons"]) for line in csv.DictReader(file)] == expected
    parquet = pytest.importorskip("pyarrow.parquet")
    assert parquet.read_table(outputs[2]).column("reasons").to_pylist() == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--reasons", "5"], "5 is not in the range 1<=x<=4"),
        (["--reasons", "2", "--trace"], "--trace and --reasons both write `reasons`"),
        (["--reasons", "2", "--format", "table"], "--reasons goes with --format jsonl, csv or parquet"),
    ],
)
def test_wrong_usage_is_named(options: list[str], message: str) -> None:
    command("evaluate", SEED, "--rows", ROWS, *options).expect(2, message)


def test_a_failed_restaurant_has_no_reasons(tmp_path: Path) -> None:
    """Its line has the error alone; in a table the reasons are null."""
    rows = write_lines(
        tmp_path / "rows.jsonl", {"business_id": "b", "context": {}, "rows": [{"extraction": {"bad": 1}}]}
    )
    seed = tmp_path / "seed.json"
    seed.write_text(json.dumps(noise_seed()))
    [result] = command("evaluate", seed, "--rows", rows, "--reasons", 1).expect(3).results
    assert "reasons" not in result
    out = tmp_path / "out.jsonl"
    command("score", seed, "--rows", rows, "--reasons", 1, "--engine", "python", "--out", out).expect(3)
    assert json.loads(out.read_text())["reasons"] is None


@pytest.mark.thorough
@pytest.mark.parametrize("path", SEEDS_V2, ids=lambda path: path.parent.name)
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_engines_agree_with_explanations(path: Path, data: st.DataObject) -> None:
    """For any restaurants of any task, a table's reasons are those of the explanations; failed ones have none."""
    pytest.importorskip("duckdb")
    from scoring import build_tables

    seed = library.load_seed(path)
    evaluator = library.load_evaluator(seed)
    records = data.draw(st.lists(st.tuples(rows(seed), contexts(seed)), min_size=1, max_size=3))
    for row_list, _ in records:
        for position, row in enumerate(row_list):  # which names a row of a table without ids
            row["review_id"] = str(position)
    lines = [
        {"business_id": f"b{at}", "context": context, "rows": row_list}
        for at, (row_list, context) in enumerate(records)
    ]
    expected: dict[str, Any] = {}
    for line in lines:
        try:
            evaluator.evaluate(line["rows"], line["context"])
            explanation = library.explain(seed, line["rows"], line["context"], "b", evaluator=evaluator)
            expected[line["business_id"]] = [reason.model_dump() for reason in explanation.select_reasons(3)]
        except (DataError, EvaluationError):
            expected[line["business_id"]] = None
    tables = build_tables(seed.program, {line["business_id"]: (line["rows"], line["context"]) for line in lines})
    for results in (library.score(seed, lines, engine="python", reasons=3), library.score(seed, *tables, reasons=3)):
        assert {line["business_id"]: line["reasons"] for line in results.to_pylist()} == expected


@pytest.mark.thorough
def test_processes_and_earlier_results_change_no_reason(tmp_path: Path) -> None:
    """Any engine and number of processes finds the same; --since evaluates all again if there may be other reasons."""
    pytest.importorskip("duckdb")
    outputs = {}
    for name, options in {
        "one": ["--fingerprint"], "two": ["--jobs", 2], "python": ["--engine", "python"],
        "since": ["--since", tmp_path / "one.parquet"],
    }.items():  # fmt: skip
        out = tmp_path / f"{name}.parquet"
        outputs[name] = formulaseed("score", SEED, "--rows", ROWS, "--reasons", 2, "--out", out, *options).expect(0)
    parquet = pytest.importorskip("pyarrow.parquet")
    tables = [
        {line["business_id"]: line["reasons"] for line in parquet.read_table(tmp_path / f"{name}.parquet").to_pylist()}
        for name in outputs
    ]
    assert any(tables[0].values())
    assert all(table == tables[0] for table in tables)
    assert "14 unchanged, 0 evaluated" in outputs["since"].err
    more = ["score", SEED, "--rows", ROWS, "--since", tmp_path / "one.parquet", "--out", tmp_path / "more.parquet"]
    formulaseed(*more, "--reasons", 3).expect(0, "0 unchanged, 14 evaluated")
    formulaseed(*more).expect(1, "pass --key, --trace and --reasons as they were for it")
