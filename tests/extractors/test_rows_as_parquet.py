"""Rows as Parquet: `extract` and `run --rows-out` write them, `score` and `evaluate` read them as their JSON Lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pq = pytest.importorskip("pyarrow.parquet", reason="Parquet needs pyarrow")

from helpers import EXAMPLES, TASKS, command, read_lines, tiny_seed  # noqa: E402
from test_extract_command import AS_RECORDED, Soups, known, place, review  # noqa: E402

pytestmark = pytest.mark.thorough

G1A = TASKS / "g1a_v2" / "seed.json"
GIVEN = (G1A, "--contexts", EXAMPLES / "contexts.jsonl", *AS_RECORDED)
PATHS = [
    {"name": "noise", "type": "enum", "values": ["quiet", "loud"], "path": ["attributes", "NoiseLevel"], "nullable": True},
    {"name": "garage", "type": "boolean", "path": ["attributes", "BusinessParking", "garage"], "nullable": True},
]  # fmt: skip


@pytest.mark.parametrize(
    "options", [pytest.param((), marks=pytest.mark.thorough), ("--with-text",)], ids=["rows", "with text"]
)
def test_parquet_is_read_as_json_lines(options: tuple[str, ...], tmp_path: Path) -> None:
    """`evaluate` with steps and evidence, `score` on either engine: the same bytes; `run --rows-out` writes the same rows."""
    made = {}
    for form in ("jsonl", "parquet"):
        rows, beside = tmp_path / f"rows.{form}", tmp_path / f"beside.{form}"
        assert command("extract", *GIVEN, *options, "--out", rows).status == 0
        assert command("run", *GIVEN, *options, "--rows-out", beside, "--out", tmp_path / "results").status == 0
        assert rows.read_bytes() == beside.read_bytes()
        made[form] = [command("evaluate", G1A, "--rows", rows, "--trace").out]
        for engine in ("duckdb", "python") if form == "jsonl" else ("duckdb",):
            out = tmp_path / f"{engine}.jsonl"
            assert command("score", G1A, "--rows", rows, "--engine", engine, "--out", out).status == 0
            made[form].append(sorted(map(json.dumps, read_lines(out))))
    assert made["jsonl"][0] == made["parquet"][0] != ""
    assert made["jsonl"][1] == made["jsonl"][2] == made["parquet"][1] != []
    row = pq.read_table(tmp_path / "rows.parquet").column("rows")[0].as_py()[0]
    assert [*row] == ["review_id", "extraction", "meta", *(["text", "quotes", "reasons"] if options else [])]


def test_values_at_paths_have_columns_of_their_own(tmp_path: Path) -> None:
    """Whatever Yelp's attributes hold, the column has the field's value and its type; both readers find it there."""
    noises = [{"NoiseLevel": "u'loud'", "BusinessParking": "{'garage': True}"}, {"NoiseLevel": "None"}, None]
    lines = [place(name, review(f"r{name}"), attributes=each) for name, each in zip("abc", noises, strict=True)]
    steps = [{"name": "LOUD", "op": "expr", "expr": "1 if context.noise == 'loud' and context.garage else 0"}]
    compute = tiny_seed()["compute"] + steps
    soups = Soups(tmp_path, lines, [line for b in "abc" for line in known(b, f"r{b}")], context=PATHS, compute=compute,
                  output=["LOUD"])  # fmt: skip
    rows = tmp_path / "rows.parquet"
    assert soups("extract", "--out", rows).status == 0
    found = [line["context"]["noise"] for line in pq.read_table(rows).to_pylist()]
    assert found == ["loud", None, None]
    evaluated = command("evaluate", soups.seed, "--rows", rows).results
    assert [line["output"]["LOUD"] for line in evaluated] == [1, 0, 0]
    assert command("score", soups.seed, "--rows", rows, "--out", tmp_path / "out.jsonl").status == 0
    assert [line["LOUD"] for line in read_lines(tmp_path / "out.jsonl")] == [1, 0, 0]


def test_a_value_that_no_column_holds_fails_its_restaurant(tmp_path: Path) -> None:
    """Also where no step uses it, since it would be lost without a word. The others are written."""
    lines = [place("a", review("ra")), place("b", review("rb"), review_count="many")]
    soups = Soups(tmp_path, lines, [*known("a", "ra"), *known("b", "rb")])
    done = soups("extract", "--out", tmp_path / "rows.parquet")
    assert (done.status, "2 restaurants, 1 failed" in done.err) == (3, True), done.err
    assert "b: a Parquet column of the rows cannot hold a value: " in done.err
    assert [line["business_id"] for line in pq.read_table(tmp_path / "rows.parquet").to_pylist()] == ["a"]


def test_the_format_is_that_of_the_option_or_of_the_name(tmp_path: Path) -> None:
    """`--format` decides where it is given; compressed Parquet is refused before anything is done."""
    soups = Soups(tmp_path, [place("a", review("ra"))], known("a", "ra"))
    assert soups("extract", "--out", tmp_path / "rows", "--format", "parquet").status == 0
    assert len(pq.read_table(tmp_path / "rows")) == 1
    assert soups("extract", "--out", tmp_path / "rows.parquet", "--format", "jsonl").status == 0
    assert len(read_lines(tmp_path / "rows.parquet")) == 1
    done = soups("extract", "--out", tmp_path / "no.gz", "--format", "parquet")
    assert (done.status, "--format parquet needs --out FILE.parquet" in done.err) == (2, True)
    assert not (tmp_path / "no.gz").exists()


def test_no_restaurants(tmp_path: Path) -> None:
    soups = Soups(tmp_path, [], [])
    assert soups("extract", "--out", tmp_path / "rows.parquet").status == 0
    assert command("score", soups.seed, "--rows", tmp_path / "rows.parquet", "--out", tmp_path / "o.jsonl").status == 0
    assert read_lines(tmp_path / "o.jsonl") == []
