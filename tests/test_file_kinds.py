"""A file of the wrong kind is one error, which names the kind and what takes it; so is a part of a seed that is pasted alone."""

from __future__ import annotations

import gzip
import json
import re
import time
from pathlib import Path

import click
import pytest
from formulaseed import SeedError, load_requests, load_seed
from formulaseed.cli.main import cli
from formulaseed.data.file_kinds import KINDS, KINDS_OF_TEXT, kind_of_text
from helpers import EXAMPLES, ROOT, TASKS, command, write_json

SEED = json.loads((TASKS / "g1a_v2" / "seed.json").read_text(encoding="utf-8"))
FILES = {
    "contexts.jsonl": (EXAMPLES / "contexts.jsonl").read_bytes(),
    "rows.jsonl": (EXAMPLES / "rows-g1a_v2.jsonl").read_bytes(),
    "recorded.jsonl": (EXAMPLES / "extractions-g1a_v2.jsonl").read_bytes(),
    "requests.jsonl": (EXAMPLES / "requests.jsonl").read_bytes(),
    "judgements.jsonl": (EXAMPLES / "judgements.jsonl").read_bytes(),
    "social.json": (EXAMPLES / "social.json").read_bytes(),
    "reference.json": (EXAMPLES / "formula_reference.json").read_bytes(),
    "seed.json": (TASKS / "g1a_v2" / "seed.json").read_bytes(),
    "module.py": (ROOT / "generated" / "g1a_v2.py").read_bytes(),
    "policy.md": (TASKS / "g1a_v2" / "task.md").read_bytes(),
    "seed.yaml": b"task_name: X\nfilter:\n  keywords: [a]\n",
    "table.csv": b"business_id,review_id,incident_severity\na,r1,none\n",
    "book.xlsx": b"PK\x03\x04\x14\x00\xff\xfe",
    "restaurants.jsonl": b'{"business_id": "a", "name": "A", "categories": "Thai"}\n',
    "reviews.jsonl": b'{"business_id": "a", "review_id": "r1", "stars": 5, "text": "Fine."}\n',
    "results.jsonl": b'{"business_id": "a", "name": "A", "task": "G1a-v2", "output": {"N": 1}, "reviews": {"total": 1}}\n',
}
V1 = {
    "task_name": "Old", "filter_keywords": ["a"], "extraction_fields": [{"name": "mood", "values": ["good", "bad"]}],
    "compute_dag": [{"name": "n", "formula": "sum(1 for e in extractions if e['mood'] == 'good')"}], "output_fields": ["n"],
}  # fmt: skip
NOUNS = {
    "contexts.jsonl": "a file of contexts", "rows.jsonl": "a file of rows", "recorded.jsonl": "a file of recorded extractions",
    "requests.jsonl": "a file of requests", "judgements.jsonl": "a file of judgements", "social.json": "a social graph",
    "reference.json": "a formula reference", "seed.json": "a seed", "module.py": "a generated module", "policy.md": "Markdown",
    "seed.yaml": "YAML", "table.csv": "CSV", "book.xlsx": "an Excel workbook", "results.jsonl": "a file of results",
    "restaurants.jsonl": "a file of restaurants", "reviews.jsonl": "a file of reviews",
}  # fmt: skip

PLACES = {
    "check {}": {"seed.json", "requests.jsonl", "reference.json"},
    "compile {} --stdout": {"seed.json", "requests.jsonl", "reference.json"},
    "fmt {} --check": {"seed.json", "requests.jsonl"},
    "evaluate {} --rows rows.jsonl": {"seed.json", "module.py"},
    "run {} --contexts contexts.jsonl --out out.jsonl": {"seed.json", "module.py"},
    "cover {} --rows rows.jsonl": {"seed.json"},
    "diff seed.json {}": {"seed.json"},
    "graph {}": {"seed.json"},
    "migrate {}": {"seed.json"},
    "draft {} --dry-run": {"policy.md", "seed.yaml"},
    "evaluate seed.json --rows {}": {"rows.jsonl"},
    "explain seed.json --id lotus-garden --rows {}": {"rows.jsonl"},
    "score seed.json --out out.jsonl --rows {}": {"rows.jsonl", "restaurants.jsonl", "reviews.jsonl", "table.csv"},
    "run seed.json --out out.jsonl --contexts {}": {"contexts.jsonl", "restaurants.jsonl"},
    "run seed.json --out out.jsonl --contexts contexts.jsonl --extractor recorded --extractions {}": {"recorded.jsonl"},
    "run seed.json --out out.jsonl --restaurants contexts.jsonl --reviews {}": {"reviews.jsonl"},
    "validate {} --restaurants contexts.jsonl": {"requests.jsonl"},
    "validate requests.jsonl --restaurants {}": {"contexts.jsonl", "restaurants.jsonl"},
    "validate requests.jsonl --restaurants contexts.jsonl --judgements {}": {"judgements.jsonl"},
    "validate requests.jsonl --restaurants contexts.jsonl --social {}": {"social.json"},
    "shorthand --check {}": {"requests.jsonl"},
    "formula 1+1 --reference {}": {"reference.json"},
}
"""Commands with a place for a file, and the files that are not certainly wrong there."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kinds")
    for name, data in FILES.items():
        (folder / name).write_bytes(data)
    return folder


# two files are opened before one of them is read, so that the command can end with the other open
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("place", PLACES)
def test_a_file_of_the_wrong_kind_is_one_error(folder: Path, place: str) -> None:
    """It names the kind and what takes such a file; nothing is written."""
    if place.startswith("score"):
        pytest.importorskip("duckdb")
    for name in FILES.keys() - PLACES[place]:
        done = command(*place.format(name).split(), cwd=folder)
        said = done.out + done.err
        assert done.status in (1, 2), (name, said)
        if place.startswith("score") and not name.endswith(".jsonl"):  # tables are read by DuckDB
            assert "a table is a file that ends in" in said or "Malformed JSON" in said
            continue
        assert len([line for line in said.splitlines() if line.startswith(("error[", "formulaseed: "))]) == 1, said
        assert NOUNS[name] in said, (name, said)
        help = (KINDS | KINDS_OF_TEXT)[KIND_NAMES[name]].help
        assert any(help.format(shown) in said for shown in (name, "FILE")), (name, said)
        assert not (folder / "out.jsonl").exists()


KIND_NAMES = {
    **{f"{name}.jsonl": name for name in ("contexts", "rows", "requests", "judgements", "results", "restaurants", "reviews")},
    "recorded.jsonl": "extractions", "social.json": "social", "reference.json": "reference", "seed.json": "seed",
    "module.py": "module", "policy.md": "markdown", "seed.yaml": "yaml", "table.csv": "csv", "book.xlsx": "excel",
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_every_kind_is_recognised_with_valid_and_with_invalid_json(name: str) -> None:
    """A comma too many at the end of the first object changes nothing."""
    text = FILES[name].decode("utf-8", "replace")
    for shown in (text, f"\n {text}" if KIND_NAMES[name] in KINDS else text):
        kind = kind_of_text(shown, name)
        assert kind is not None
        assert kind.name == KIND_NAMES[name]
    if KIND_NAMES[name] in KINDS:
        _, end = json.JSONDecoder().raw_decode(text)
        broken = kind_of_text(text[: end - 1] + ",}", name)
        assert broken is not None
        assert broken.name == KIND_NAMES[name]


def test_the_kind_of_invalid_json_is_found_in_linear_time() -> None:
    for text in ("[" * 1_000_000, '{"' + '\\"' * 500_000, '{"a": {' * 200_000, '{"a":' + "x" * 1_000_000):
        start = time.perf_counter()
        assert kind_of_text(text, "seed.json") is None
        assert time.perf_counter() - start < 1


def test_help_names_commands_and_options_that_exist() -> None:
    with click.Context(cli) as context:
        for kind in (KINDS | KINDS_OF_TEXT).values():
            for line in re.findall(r"`formulaseed ([^`]*)`", kind.help):
                name, *arguments = line.split()
                found = cli.get_command(context, name)
                assert found is not None, line
                options = {option for each in found.params for option in each.opts}
                assert {word for word in arguments if word.startswith("--")} <= options, line


# --- parts of a seed


def parts() -> dict[str, tuple[object, str]]:
    """Return parts of a seed that documents print alone, each with its help."""
    steps = {f"step {step['name']}": (step, "put it into `compute`") for step in SEED["compute"]}
    beside = 'put it beside the others: {"task_name": …, "extract": …, …}'
    sections = {key: ({key: SEED[key]}, beside) for key in ("filter", "extract", "compute", "output")}
    case = next(step for step in SEED["compute"] if step["op"] == "case")
    lookup = next(step for step in SEED["compute"] if step["op"] == "lookup")
    count = next(step for step in SEED["compute"] if step["op"] == "count" and "where" in step)
    return steps | sections | {
        "steps": (SEED["compute"], "put it into `compute`"),
        "review_handling": ({"review_handling": {"max_length": 2000, "strategy": "truncate_head"}}, beside),
        "rules": (case["rules"], "put it into the `rules` of a step"),
        "rule": (case["rules"][0], "put it into the `rules` of a step"),
        "table": (lookup["table"], "put it into the `table` of a step with the operation `lookup`"),
        "where": (count["where"], "put it into the `where` of a step"),
        "comparison": ({">=": 2023}, 'put it into `where`: {"meta.year": {…}}'),
        "keywords": (SEED["filter"], 'put it into `filter`: {"keywords": […]}'),
        "fields": (SEED["extract"], "put it into `extract`"),
        "field": (SEED["extract"]["fields"][0], "put it into the `fields` of `extract`"),
        "v1 fields": ({"extraction_fields": [{"name": "a", "values": ["b"]}]}, beside),
        "enums of a reference": ({"enums": {"Condition": {"values": ["new"]}}}, "put it beside its `entities`"),
    }  # fmt: skip


@pytest.mark.parametrize("name", parts())
def test_a_part_of_a_seed_is_one_error_that_says_where_it_goes(tmp_path: Path, name: str) -> None:
    value, help = parts()[name]
    path = write_json(tmp_path / "part.json", value)
    for arguments in (("check", path), ("compile", path, "--out", tmp_path), ("fmt", path)):
        done = command(*arguments)
        assert done.status == 1
        said = done.out + done.err
        assert said.count("error[") == 1
        assert "error[FS008] not-a-seed: this is " in said
        assert ", not a whole seed\n" in said
        assert f"   = help: {help}\n" in said
    if isinstance(value, dict):
        with pytest.raises(SeedError) as raised:
            load_seed(value)
        assert [(d.code, d.help) for d in raised.value.diagnostics] == [("FS008", help)]


def test_values_of_another_kind_are_refused_by_the_api() -> None:
    context = json.loads(FILES["contexts.jsonl"].split(b"\n")[0])
    for load, value in ((load_seed, context), (load_requests, [context]), (load_requests, [SEED])):
        with pytest.raises(SeedError) as raised:
            load(value)
        assert [d.code for d in raised.value.diagnostics] == ["FS008"]


# --- names of output files

OUTPUTS = {
    "evaluate seed.json --rows rows.jsonl --out {}": (".jsonl, .csv or .parquet", ".csv"),
    "run seed.json --contexts contexts.jsonl --out {}": (".jsonl, .csv or .parquet", ".jsonl"),
    "run seed.json --contexts contexts.jsonl --out out.jsonl --rows-out {}": (".jsonl or .parquet", ".jsonl"),
    "run seed.json --contexts contexts.jsonl --out out.jsonl --extractions-out {}": (".jsonl", ".jsonl"),
    "extract seed.json --contexts contexts.jsonl --out {}": (".jsonl or .parquet", ".jsonl"),
    "report seed.json --rows rows.jsonl --out {}": (".html", ".html"),
    "explain seed.json --rows rows.jsonl --id lotus-garden --out {}": (".txt, .md, .html or .json", ".md"),
    "validate requests.jsonl --restaurants contexts.jsonl --out {}": (".jsonl", ".jsonl"),
    "validate requests.jsonl --restaurants contexts.jsonl --matrix {}": (".json", ".json"),
    "validate requests.jsonl --restaurants contexts.jsonl --conditions {}": (".json", ".json"),
    "graph seed.json --out {}": (".mmd, .dot or .svg", ".dot"),
    "reference --out {}": (".json, .md or .txt", ".md"),
    "schema --out {}": (".json", ".json"),
    "migrate old.json --out {}": (".json", ".json"),
    "draft policy.md --out {}": (".json", ""),
    "store export --out {}": (".jsonl", ""),
}


@pytest.mark.parametrize("line", OUTPUTS)
def test_an_output_file_is_named_for_its_format(folder: Path, tmp_path: Path, line: str) -> None:
    """Another suffix is refused before anything is read, asked or written; with `.gz` the file is compressed."""
    suffixes, accepted = OUTPUTS[line]
    refused = command(*line.format(tmp_path / "x.xlsx").split(), cwd=folder)
    assert refused.status == 2
    assert f"{tmp_path / 'x.xlsx'}: no format has the suffix `.xlsx`; end the name in {suffixes}" in refused.err
    assert list(tmp_path.iterdir()) == []
    if accepted:
        write_json(folder / "old.json", V1)
        plain, packed = (tmp_path / f"x{accepted}{end}" for end in ("", ".gz"))
        for path in (plain, packed):
            done = command(*line.format(path).split(), cwd=folder)
            assert done.status in (0, 1), done.err
        assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()


def test_the_name_of_a_file_chooses_its_format(folder: Path, tmp_path: Path) -> None:
    for line, suffix, beginning in (
        ("graph seed.json", ".mmd", "flowchart"), ("graph seed.json", ".dot", "digraph"), ("reference", ".md", "# "),
        ("reference", ".json", "{"), ("graph seed.json --format dot", ".mmd", "digraph"),
    ):  # fmt: skip
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}{suffix}"
        assert command(*line.split(), "--out", path, cwd=folder).status == 0
        assert path.read_text(encoding="utf-8").startswith(beginning), (line, suffix)


def test_a_reference_that_cannot_be_read_is_no_internal_error(tmp_path: Path) -> None:
    rules = write_json(tmp_path / "rules.json", {"rules": [{"name": "a", "formula": "1 + 1"}]})
    for given in (tmp_path, tmp_path / "absent.json"):
        done = command("check", rules, "--reference", given)
        assert (done.status, done.out) == (2, "")
        assert done.err.startswith(f"formulaseed: cannot read {given}: ")
