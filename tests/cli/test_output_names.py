"""The name of an output file ends in a format of the command; another suffix is refused, and `.gz` compresses."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from helpers import EXAMPLES, TASKS, command, write_json

FILES = {
    "seed.json": TASKS / "g1a_v2" / "seed.json", "policy.md": TASKS / "g1a_v2" / "task.md",
    "contexts.jsonl": EXAMPLES / "contexts.jsonl", "rows.jsonl": EXAMPLES / "rows-g1a_v2.jsonl",
    "requests.jsonl": EXAMPLES / "requests.jsonl",
}  # fmt: skip
V1 = {
    "task_name": "Old", "filter_keywords": ["a"], "extraction_fields": [{"name": "mood", "values": ["good", "bad"]}],
    "compute_dag": [{"name": "n", "formula": "sum(1 for e in extractions if e['mood'] == 'good')"}], "output_fields": ["n"],
}  # fmt: skip
OUTPUTS = {
    "evaluate seed.json --rows rows.jsonl --out {}": (".jsonl, .csv or .parquet, or pass --format", ".csv"),
    "run seed.json --contexts contexts.jsonl --out {}": (".jsonl, .csv or .parquet, or pass --format", ".jsonl"),
    "run seed.json --contexts contexts.jsonl --out out.jsonl --rows-out {}": (".jsonl or .parquet", ".jsonl"),
    "run seed.json --contexts contexts.jsonl --out out.jsonl --extractions-out {}": (".jsonl", ".jsonl"),
    "extract seed.json --contexts contexts.jsonl --out {}": (".jsonl or .parquet, or pass --format", ".jsonl"),
    "report seed.json --rows rows.jsonl --out {}": (".html", ".html"),
    "explain seed.json --rows rows.jsonl --id lotus-garden --out {}": (
        ".txt, .md, .html or .json, or pass --format",
        ".md",
    ),
    "validate requests.jsonl --restaurants contexts.jsonl --out {}": (".jsonl", ".jsonl"),
    "validate requests.jsonl --restaurants contexts.jsonl --matrix {}": (".json", ".json"),
    "validate requests.jsonl --restaurants contexts.jsonl --conditions {}": (".json", ".json"),
    "graph seed.json --out {}": (".mmd or .dot", ".dot"),
    "reference --out {}": (".json, .md or .txt", ".md"),
    "schema --out {}": (".json", ".json"),
    "migrate old.json --out {}": (".json", ".json"),
    "draft policy.md --out {}": (".json", ""),
    "store export --out {}": (".jsonl", ""),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("folder")
    for name, path in FILES.items():
        (folder / name).write_bytes(path.read_bytes())
    return folder


@pytest.mark.parametrize("line", OUTPUTS)
def test_an_output_file_is_named_for_its_format(folder: Path, tmp_path: Path, line: str) -> None:
    """Another suffix is refused before anything is read, asked or written; with `.gz` the file is compressed."""
    suffixes, accepted = OUTPUTS[line]
    refused = command(*line.format(tmp_path / "x.xlsx").split(), cwd=folder)
    help = f"no format has the suffix `.xlsx`; end the name in {suffixes}"
    assert (refused.status, f"{tmp_path / 'x.xlsx'}: {help}" in refused.err) == (2, True)
    assert help in command(*line.format("x.xlsx.gz").split(), cwd=folder).err
    assert list(tmp_path.iterdir()) == []
    if accepted:
        write_json(folder / "old.json", V1)
        plain, packed = (tmp_path / f"x{accepted}{end}" for end in ("", ".gz"))
        for path in (plain, packed):
            done = command(*line.format(path).split(), cwd=folder)
            assert done.status in (0, 1), done.err
        assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()


def test_the_name_of_a_file_chooses_its_format(folder: Path, tmp_path: Path) -> None:
    """Results without a suffix, or with a number for one, are JSON Lines; --format decides for any name."""
    for line, suffix, beginning in (
        ("graph seed.json", ".mmd", "flowchart"), ("graph seed.json", ".dot", "digraph"), ("reference", ".md", "# "),
        ("reference", ".json", "{"), ("graph seed.json --format dot", ".mmd", "digraph"),
        ("explain seed.json --rows rows.jsonl --id lotus-garden", ".md", "# Lotus Garden"),
        ("evaluate seed.json --rows rows.jsonl --format csv", ".xlsx", '"business_id"'),
        *(("evaluate seed.json --rows rows.jsonl", suffix, '{"business_id"') for suffix in ("", ".2026", ".jsonl", ".ndjson")),
    ):  # fmt: skip
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}{suffix}"
        assert command(*line.split(), "--out", path, cwd=folder).status == 0
        assert path.read_text(encoding="utf-8").startswith(beginning), (line, suffix)
