"""How `run` and `evaluate` write results: a table on a terminal, JSON Lines, CSV, Parquet; sorted; and their summary."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import formulaseed
import pytest
from formulaseed.cli.results import results_table
from formulaseed.data.results import Provenance, Result, ResultCounts, ReviewCounts
from formulaseed.data.tabular import DETAILS, csv_line, csv_text
from formulaseed.source.printing import display_width
from formulaseed.testing import contexts, rows, seeds
from helpers import EXAMPLES, ROOT, TASKS, Outcome, on_terminal, tiny_row, tiny_rows, tiny_seed, write_json, write_lines
from helpers import formulaseed as shell
from hypothesis import example, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.thorough

G1A, ROWS = TASKS / "g1a_v2" / "seed.json", EXAMPLES / "rows-g1a_v2.jsonl"
EVALUATE = ("evaluate", "seed.json", "--rows", "rows.jsonl")
OUTPUT = ("N_GOOD", "TOTAL", "SHARE", "VERDICT")
EVIL = '=HYPERLINK("http://x","y")\x1b[31m\r\u202e\u200b,"\n@faked: b'
FORMULA_SIGNS = tuple("=+-@\t\r\n＝＋－＠")
has_pyarrow = pytest.mark.skipif(find_spec("pyarrow") is None, reason="the extra `parquet` is not installed")

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.none() | st.booleans() | st.integers(-(10**20), 10**20) | FLOATS | st.text()
OUTPUTS = st.none() | st.dictionaries(st.from_regex(r"[A-Z_]+", fullmatch=True), VALUES)
COUNTS = st.builds(
    ReviewCounts, *[st.integers(0, 9)] * 4, st.none() | st.integers(0, 9), st.none() | st.just({"asked": 3})
)


@given(
    st.builds(
        Result, st.text(), st.none() | st.text(), st.text(), st.none() | COUNTS, output=OUTPUTS, steps=OUTPUTS,
        error=st.none() | st.just({"step": "A", "kind": "domain", "message": "log(0)"}),
        quotes=st.none() | st.just({"r": {"mood": "said"}}),
        run=st.none() | st.builds(Provenance, st.text(), st.none(), st.dictionaries(st.text(), VALUES)),
    )
)  # fmt: skip
def test_a_line_is_the_json_of_its_values(result: Result) -> None:
    """With the order and the separators of Python's encoder."""
    assert result.to_line() == json.dumps(result.to_json(), ensure_ascii=False)


def test_an_output_is_a_verdict_by_its_first_value_that_is_not_null() -> None:
    counts = ResultCounts()
    for score, verdict in ((None, None), (2.5, "good"), (3, "good")):
        counts.add(None, None, {"SCORE": score, "VERDICT": verdict})
    assert counts.lines() == ["VERDICT: 2 good"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A seed, and rows of restaurants: good, few, with a hostile name, failing in a step, unusable, and unreadable."""
    write_json(tmp_path / "seed.json", tiny_seed())
    moods = [tiny_row(f"r{n}", "good" if n else "bad", 10**n, 1.5) for n in range(5)]
    evil = {**tiny_rows("evil", moods[1]), "context": {"name": EVIL, "is_open": 1}}
    nameless = {**tiny_rows("-id", *moods[1:3]), "context": {"is_open": 1}}
    lines = [tiny_rows("one", moods[0]), tiny_rows("many", *moods), evil, tiny_rows("empty"), {"business_id": "bad"}]
    write_lines(tmp_path / "rows.jsonl", *lines, b"{", nameless)
    return tmp_path


def evaluate(folder: Path, *options: object) -> Outcome:
    return shell(*EVALUATE, *options, cwd=folder)


def read_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


# --- on a terminal


@pytest.mark.parametrize("width", [30, 60, 80, 250])
def test_a_terminal_shows_a_table_that_fits(width: int, folder: Path) -> None:
    """The verdict, the errors and the sorting column remain; omitted columns are named."""
    table, err = on_terminal(*EVALUATE, "--sort", "TOTAL", columns=width, cwd=folder, err=False)
    lines = table.rstrip("\n").split("\n")
    assert all(display_width(line) <= width for line in lines)
    assert [line.split()[0] for line in lines[1:]] == ["many", "-id", "evil", "one", "empty", "bad"]
    assert all(c.isprintable() or c == "\n" for c in table), "the name is escaped"
    head = lines[0].split()
    if width > 60:
        assert {"business_id", "TOTAL", "VERDICT", "error"} <= set(head)
    omitted = [line for line in err.split("\n") if line.startswith("not shown")]
    if width == 250:
        assert (head, omitted) == (["business_id", "name", *OUTPUT, "reviews", "error"], [])
        assert lines[1].split()[3:] == ["4", "16665.000", "0.800", "good", "5"]
        assert lines[5].endswith("division_by_zero in SHARE")
    if width == 80:
        reason = "as 80 columns are too few: reviews, N_GOOD, SHARE, name; --format csv or jsonl has them"
        assert omitted == [f"not shown, {reason}"]


def test_the_summary_counts_verdicts_errors_and_lines(folder: Path) -> None:
    """On standard error with every format; the most frequent first."""
    errors = "errors: 1 division_by_zero in SHARE, 1 data"
    summary = ["VERDICT: 2 few, 2 good", errors, "7 lines: 6 restaurants, 2 failed; 1 line unreadable"]
    _, err = on_terminal(*EVALUATE, columns=200, cwd=folder, err=False)
    assert err.splitlines()[-3:] == summary
    for form in ("jsonl", "csv", "table"):
        done = evaluate(folder, "--format", form)
        assert (done.status, done.err.splitlines()[-3:]) == (3, summary)


@pytest.mark.parametrize("number", [12, 13])
def test_an_output_with_over_twelve_strings_is_no_verdict(number: int, tmp_path: Path) -> None:
    """Booleans are verdicts."""
    where = {"name": "WHERE", "op": "lookup", "source": "context.city", "match": "exact", "default": ""}
    table = {str(n): f"c{n}" for n in range(20)}
    compute = [
        {"name": "N", "op": "count"}, {**where, "table": table}, {"name": "BUSY", "op": "expr", "expr": "N > 0"},
    ]  # fmt: skip
    write_json(tmp_path / "seed.json", tiny_seed(compute=compute, output=["WHERE", "BUSY", "N"]))
    lines = [{"business_id": f"b{n}", "context": {"city": str(n)}, "rows": []} for n in range(number)]
    write_lines(tmp_path / "rows.jsonl", *lines)
    err = evaluate(tmp_path).err
    assert ("WHERE: 1 c0, 1 c1" in err, f"BUSY: {number} false\n" in err) == (number == 12, True)


def test_a_table_is_printed_after_the_progress_bar_is_removed(folder: Path) -> None:
    """With both streams on one terminal, the table and the summary come last, in whole lines."""
    ids = [f"b{n}" for n in range(3)]
    reviews = [{"review_id": "r", "text": "soup"}]
    write_lines(folder / "contexts.jsonl", *({"business_id": id, "is_open": 1, "reviews": reviews} for id in ids))
    recorded = [{"business_id": id, "review_id": "r", "fields": {"mood": "bad", "score": 1}} for id in ids]
    write_lines(folder / "recorded.jsonl", *recorded)
    write_json(folder / "seed.json", tiny_seed(compute=[{"name": "N", "op": "count"}], output=["N"]))
    options = ("--contexts", "contexts.jsonl", "--extractor", "recorded", "--extractions", "recorded.jsonl")
    screen, _ = on_terminal("run", "seed.json", *options, columns=100, cwd=folder)
    table = screen.rsplit("business_id", 1)[1]
    assert "\x1b" not in table
    assert table.splitlines()[1:4] == [f"{id}                 1        1" for id in ids]
    assert table.endswith("3 of 3 reviews relevant, 3 extracted (recorded)\n")


def test_programs_read_json_lines(folder: Path) -> None:
    """From a pipe, a dumb terminal, with `--trace`, and from a terminal with `--format jsonl`."""
    plain = evaluate(folder).out
    assert on_terminal(*EVALUATE, cwd=folder, err=False, TERM="dumb")[0] == plain
    assert on_terminal(*EVALUATE, "--format", "jsonl", cwd=folder, err=False)[0] == plain
    traced = on_terminal(*EVALUATE, "--trace", cwd=folder, err=False)[0]
    assert "steps" in json.loads(traced.splitlines()[0])


def test_a_table_in_a_file_or_a_pipe_has_every_column(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless `COLUMNS` limits its width; numbers are aligned to the right."""
    monkeypatch.delenv("COLUMNS", raising=False)  # pytest sets it if there are several workers
    wide = evaluate(folder, "--format", "table").out
    assert evaluate(folder, "--format", "table", "--out", "table.txt").out == ""
    assert (folder / "table.txt").read_text("utf-8") == wide
    lines = wide.splitlines()
    end = lines[0].index("N_GOOD") + len("N_GOOD")
    assert [line[:end].split()[-1] for line in lines[1:4]] == ["0", "4", "1"]
    narrow = shell("evaluate", G1A, "--rows", ROWS, "--format", "table", env={"COLUMNS": "80"}).out.splitlines()
    assert all(len(line) <= 80 for line in narrow)
    assert narrow[0].split() == ["business_id", "name", "FINAL_RISK_SCORE", "VERDICT"]


TEXTS = st.text(max_size=50) | st.sampled_from(["", "名" * 40, "e\u0301" * 40, EVIL])
CELLS = VALUES | TEXTS
RESULTS = st.builds(
    lambda id, name, counts, output, error, version: Result(
        id, name, "T", counts, None if error else output, error=error, run=Provenance("ab", version, {"P": 1})
    ),
    TEXTS, st.none() | TEXTS, st.sampled_from([None, ReviewCounts(9, 3, 2, 1)]),
    st.fixed_dictionaries(dict.fromkeys("ABC", CELLS)),
    st.sampled_from([None, None, {"step": "A", "kind": "null", "message": "m"}]), st.none() | TEXTS,
)  # fmt: skip


@given(st.lists(RESULTS, max_size=4), st.sampled_from([None, "A"]), st.none() | st.integers(1, 200))
def test_no_table_is_wider_than_its_terminal(results: list[Result], sort: str | None, width: int | None) -> None:
    """It has a line of printable characters for each restaurant."""
    text, omitted = results_table(results, ("A", "B", "C"), sort, width)
    lines = text.split("\n")
    assert len(lines) == len(results) + 1
    assert all(line.isprintable() for line in lines)
    if width is None:
        assert omitted == []
    else:
        assert all(display_width(line) <= width for line in lines)
        assert sort not in omitted


# --- sorted


@pytest.mark.parametrize("name", ["SHARE", "VERDICT"])
def test_results_are_sorted_by_an_output(name: str, folder: Path) -> None:
    """Numbers descend, strings ascend, results without a value come last; equal ones keep their order."""
    unsorted = evaluate(folder).results
    valued = [line for line in unsorted if "output" in line]
    valued.sort(key=lambda line: line["output"][name], reverse=name == "SHARE")  # stable in both directions
    ids = [line["business_id"] for line in (*valued, *(line for line in unsorted if "output" not in line))]
    assert [line["business_id"] for line in evaluate(folder, "--sort", name).results] == ids
    assert [row["business_id"] for row in read_csv(evaluate(folder, "--sort", name, "--format", "csv").out)] == ids


# --- files


@pytest.mark.parametrize(
    ("name", "start"),
    [("r.csv", b'"business_id","name"'), ("r.csv.gz", b'"business_id","name"'), ("r.jsonl", b'{"business_id"'),
     ("r.jsonl.gz", b'{"business_id"'), ("results", b'{"business_id"'), ("r.csv.1", b'{"business_id"')],
)  # fmt: skip
def test_the_suffix_selects_the_format(name: str, start: bytes, folder: Path) -> None:
    """Without a known suffix it is JSON Lines; `--format` takes precedence."""
    for options, beginning in (((), start), (("--format", "jsonl"), b'{"business_id"')):
        assert evaluate(folder, "--out", name, *options).status == 3
        data = (folder / name).read_bytes()
        assert (gzip.decompress(data) if name.endswith(".gz") else data).startswith(beginning)


def test_csv_has_the_values_of_json_lines(folder: Path) -> None:
    """Every digit; errors, counts and provenance in columns; hostile names as text in one cell."""
    lines = evaluate(folder, "--param", "LEAST=3").results
    table = read_csv(evaluate(folder, "--param", "LEAST=3", "--format", "csv").out)
    assert list(table[0]) == ["business_id", "name", *OUTPUT, *DETAILS]
    for row, line in zip(table, lines, strict=True):
        error, counts, run = line.get("error", {}), line.get("reviews", {}), line["run"]
        name = f"'{EVIL}" if line["name"] == EVIL else line["name"]
        values: list[Any] = [line["business_id"], name, *(line.get("output", {}).get(name) for name in OUTPUT)]
        values += [error.get(key) for key in ("step", "kind", "message")]
        values += [counts.get(key) for key in ("total", "relevant", "extracted", "failed", "sampled")]
        values += [run["seed_sha256"], run["seed_version"], json.dumps({"LEAST": 3}), None, None, "false", None]
        assert list(row.values()) == ["" if value is None else str(value) for value in values]


@given(st.text(max_size=20) | st.text("=+-@'\t\r\n＝a1_", max_size=8))
@example("-0M0b-XhtFagyLmsBtOe8w")
@example("'=1")
def test_no_string_in_a_csv_is_a_formula(text: str) -> None:
    """Identifiers stay as they are; without its mark, a string is the original; a reader finds it in one cell."""
    marked_text = csv_text(text)
    is_identifier = text != "" and all(c in "-_" or (c.isascii() and c.isalnum()) for c in text)
    assert marked_text[:1] not in FORMULA_SIGNS or is_identifier
    assert marked_text in (text, f"'{text}")
    is_marked = marked_text.startswith("'") and marked_text.lstrip("'")[:1] in FORMULA_SIGNS
    assert (marked_text[1:] if is_marked and marked_text.lstrip("'") else marked_text) == text
    [cells] = csv.reader(io.StringIO(csv_line([text, 1]), newline=""), strict=True)
    assert cells == [marked_text, "1"]


def test_null_is_an_empty_cell_and_booleans_are_those_of_json() -> None:
    assert csv_line([None, "", True, False, -1.5, 10**20]) == ',"",true,false,-1.5,100000000000000000000\n'


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--trace", "--format", "csv"), "--trace goes with --format jsonl: no csv holds the steps and their reviews"),
        (("--trace", "--out", "r.csv"), "--trace goes with --format jsonl"),
        (("--trace", "--format", "table"), "--trace goes with --format jsonl: no table holds"),
        (("--out", "r.parquet.gz", "--format", "parquet"), "--format parquet needs --out FILE.parquet; it is binary"),
        (("--format", "xlsx"), "'xlsx' is not one of 'table', 'jsonl', 'csv', 'parquet'"),
        (("--sort", "TOTALS", "--out", "r.jsonl"), "--sort takes an output, and there is no `TOTALS`; did you mean `TOTAL`?"),
    ],
)  # fmt: skip
def test_impossible_options_are_refused_before_anything_is_written(
    options: tuple[str, ...], reason: str, folder: Path
) -> None:
    done = evaluate(folder, *options)
    assert (done.status, done.out, reason in done.err) == (2, "", True), done.err
    assert not list(folder.glob("r.*"))


def test_an_output_with_the_name_of_a_column_is_refused(tmp_path: Path) -> None:
    """In CSV there would be two such columns; JSON Lines and tables are possible."""
    write_json(tmp_path / "seed.json", tiny_seed(compute=[{"name": "name", "op": "count"}], output=["name"]))
    write_lines(tmp_path / "rows.jsonl", tiny_rows("a"))
    done = evaluate(tmp_path, "--format", "csv")
    assert (done.status, "the output `name` has the name of a column of every table" in done.err) == (2, True)
    assert evaluate(tmp_path).status == evaluate(tmp_path, "--format", "table").status == 0


# --- Parquet


def read_parquet(source: Any) -> Any:
    import pyarrow.parquet as pq

    return pq.read_table(source)


@has_pyarrow
def test_parquet_has_the_values_of_json_lines(folder: Path) -> None:
    """Typed columns, nulls for a restaurant that failed, and the provenance in the file's metadata."""
    assert evaluate(folder, "--out", "r.parquet", "--param", "LEAST=3").status == 3
    lines = evaluate(folder, "--param", "LEAST=3").results
    table = read_parquet(folder / "r.parquet")
    assert [str(table.schema.field(name).type) for name in OUTPUT] == ["int64", "double", "double", "string"]
    for row, line in zip(table.to_pylist(), lines, strict=True):
        assert (row["business_id"], row["name"]) == (line["business_id"], line["name"])
        output = line.get("output", dict.fromkeys(OUTPUT))
        assert {name: row[name] for name in output} == output
        assert row["error_kind"] == line.get("error", {}).get("kind")
        assert row["reviews_extracted"] == line.get("reviews", {}).get("extracted")
    run = lines[0]["run"]
    assert json.loads(table.schema.metadata[b"formulaseed"]) == {
        "task": "Tiny-1", **{name: run[name] for name in ("seed_sha256", "seed_version", "parameters")},
    }  # fmt: skip


@has_pyarrow
def test_an_integer_of_over_64_bits_fails_its_restaurant(tmp_path: Path) -> None:
    steps = [{"name": "N", "op": "count"}, {"name": "BIG", "op": "expr", "expr": "N * 2 ** 62"}]
    write_json(tmp_path / "seed.json", tiny_seed(compute=steps, output=["N", "BIG"]))
    lines = [tiny_rows(f"b{n}", *(tiny_row(f"r{i}") for i in range(n))) for n in (1, 2, 0)]
    write_lines(tmp_path / "rows.jsonl", *lines)
    done = evaluate(tmp_path, "--out", "r.parquet")
    assert done.status == 3
    assert "failed: b1" not in done.err
    assert "errors: 1 overflow in BIG\n3 lines: 3 restaurants, 1 failed\n" in done.err
    assert "failed: b2: BIG: overflow: its value has more than the 64 bits of a Parquet column" in done.err
    table = read_parquet(tmp_path / "r.parquet").select(["N", "BIG", "error_kind"])
    assert [tuple(row.values()) for row in table.to_pylist()] == [
        (1, 2**62, None), (None, None, "overflow"), (0, 0, None),
    ]  # fmt: skip


@has_pyarrow
def test_parquet_is_written_to_a_pipe_but_not_to_a_terminal(folder: Path) -> None:
    """A file without results has its columns, too."""
    arguments = [*EVALUATE, "--format", "parquet"]
    program = [sys.executable, "-m", "formulaseed", *arguments]
    done = subprocess.run(program, cwd=folder, capture_output=True, check=False)
    assert (done.returncode, read_parquet(io.BytesIO(done.stdout)).num_rows) == (3, 6)
    write_lines(folder / "rows.jsonl")
    assert evaluate(folder, "--out", "r.parquet").status == 0
    assert read_parquet(folder / "r.parquet").column_names[:3] == ["business_id", "name", "N_GOOD"]
    screen, err = on_terminal(*arguments, cwd=folder, err=False)
    assert (screen, "--format parquet needs --out FILE.parquet" in err) == ("", True)


def test_without_pyarrow_the_command_names_the_extra(folder: Path) -> None:
    """Before anything is read or written."""
    (folder / "pyarrow.py").write_text("raise ImportError('not here')")
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", ""), str(ROOT / "compiler")])
    options = ("evaluate", "seed.json", "--rows", "nowhere", "--out", "r.parquet")
    done = shell(*options, cwd=folder, env={"PYTHONPATH": path})
    message = "Parquet needs the extra `parquet`; run `pip install 'formulaseed[parquet]'`"
    assert (done.status, message in done.err, (folder / "r.parquet").exists()) == (2, True, False)


@settings(max_examples=settings.default.max_examples // 4)  # type: ignore[union-attr]
@given(seeds(), st.data())
def test_every_output_has_the_type_of_its_column(seed: dict[str, Any], data: st.DataObject) -> None:
    """A value is null or exactly of the type that the module declares, so that no column has to convert it."""
    evaluator = formulaseed.load_evaluator(seed)
    kinds = evaluator.output_types()
    assert [*kinds] == [*evaluator.output]
    assert set(kinds.values()) <= {str, int, float, bool}
    for _ in range(3):
        try:
            values = evaluator.evaluate(data.draw(rows(seed)), data.draw(contexts(seed)))
        except formulaseed.EvaluationError:
            continue
        assert {name: type(value) for name, value in values.items() if value is not None}.items() <= kinds.items()
