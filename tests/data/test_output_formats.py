"""How `run` and `evaluate` write results: a table on a terminal, JSON Lines, CSV, Parquet; sorted; and what they sum up."""

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
from formulaseed.cli.table import results_table
from formulaseed.data.results import Provenance, Result, ResultCounts, ReviewCounts
from formulaseed.data.tabular import DETAILS, csv_line, csv_text
from formulaseed.source.printing import display_width
from formulaseed.testing import contexts, rows, seeds
from helpers import EXAMPLES, ROOT, TASKS, Outcome, on_terminal, tiny_row, tiny_rows, tiny_seed, write_json, write_lines
from helpers import formulaseed as shell
from hypothesis import example, given, settings
from hypothesis import strategies as st

G1A, ROWS = TASKS / "g1a_v2" / "seed.json", EXAMPLES / "rows-g1a_v2.jsonl"
EVIL = '=HYPERLINK("http://x","y")\x1b[31m\r\u202e\u200b,"\n@faked: b'
has_pyarrow = pytest.mark.skipif(find_spec("pyarrow") is None, reason="the extra `parquet` is not installed")


PLAIN = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False)
)
COUNTS = st.builds(
    ReviewCounts, *[st.integers(0, 9)] * 4, st.none() | st.integers(0, 9), st.none() | st.just({"asked": 3})
)


@given(
    st.builds(
        Result, st.text(), st.none() | st.text(), st.text(), st.none() | COUNTS,
        output=st.none() | st.dictionaries(st.from_regex(r"[A-Z_]+", fullmatch=True), PLAIN),
        steps=st.none() | st.dictionaries(st.from_regex(r"[A-Z_]+", fullmatch=True), PLAIN),
        error=st.none() | st.just({"step": "A", "kind": "domain", "message": "log(0)"}),
        quotes=st.none() | st.just({"r": {"mood": "said"}}),
        run=st.none() | st.builds(Provenance, st.text(), st.none(), st.dictionaries(st.text(), PLAIN)),
    )
)  # fmt: skip
def test_a_line_is_the_json_of_its_values(result: Result) -> None:
    """In the order and with the separators of Python's own encoder, whatever the values are."""
    assert result.to_line() == json.dumps(result.to_json(), ensure_ascii=False)


def test_a_number_is_no_verdict_where_the_first_one_is_null() -> None:
    """Nor is a string overlooked whose first value is."""
    counted = ResultCounts()
    for output in (
        {"SCORE": None, "VERDICT": None},
        {"SCORE": 2.5, "VERDICT": "good"},
        {"SCORE": 3, "VERDICT": "good"},
    ):
        counted.add(None, None, output)
    assert counted.lines() == ["VERDICT: 2 good"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A seed, and rows of restaurants: good, few, with a hostile name, failing in a step, unusable, and unreadable."""
    write_json(tmp_path / "seed.json", tiny_seed())
    moods = [tiny_row(f"r{n}", "good" if n else "bad", 10**n, 1.5) for n in range(5)]
    evil = {**tiny_rows("evil", moods[1]), "context": {"name": EVIL, "is_open": 1}}
    write_lines(
        tmp_path / "rows.jsonl",
        tiny_rows("one", moods[0]), tiny_rows("many", *moods), evil, tiny_rows("empty"), {"business_id": "bad"}, b"{",
        {**tiny_rows("-id", *moods[1:3]), "context": {"is_open": 1}},
    )  # fmt: skip
    return tmp_path


def evaluate(folder: Path, *options: object) -> Outcome:
    return shell("evaluate", "seed.json", "--rows", "rows.jsonl", *options, cwd=folder)


# --- on a terminal


@pytest.mark.parametrize("width", [30, 60, 80, 250])
def test_a_terminal_gets_a_table_that_fits(width: int, folder: Path) -> None:
    """Of its width at most; the verdict, the errors and what is sorted by stay, and what is left out is named."""
    shown, err = on_terminal(
        "evaluate", "seed.json", "--rows", "rows.jsonl", "--sort", "TOTAL", columns=width, cwd=folder, err=False
    )
    lines = shown.rstrip("\n").split("\n")
    assert all(display_width(line) <= width for line in lines)
    assert len(lines) == 7
    assert [line.split()[0] for line in lines[1:]] == ["many", "-id", "evil", "one", "empty", "bad"]
    assert all(c.isprintable() or c == "\n" for c in shown), "the name is escaped"
    head = lines[0].split()
    if width > 60:
        assert [name in head for name in ("business_id", "TOTAL", "VERDICT", "error")] == [True] * 4
    left_out = [line for line in err.split("\n") if line.startswith("not shown")]
    if width == 250:
        assert (head, left_out) == (
            ["business_id", "name", "N_GOOD", "TOTAL", "SHARE", "VERDICT", "reviews", "error"],
            [],
        )
        assert lines[1].split()[3:] == ["4", "16665.000", "0.800", "good", "5"]
        assert lines[5].endswith("division_by_zero in SHARE")
    if width == 80:
        assert left_out == [
            "not shown, as 80 columns are too few: reviews, N_GOOD, SHARE, name; --format csv or jsonl has them"
        ]


def test_the_summary_counts_verdicts_errors_and_lines(folder: Path) -> None:
    """On standard error, whatever the format: most frequent first; unreadable lines are counted, too."""
    expected = ["VERDICT: 2 few, 2 good", "errors: 1 division_by_zero in SHARE, 1 data"]
    closing = "7 lines: 6 restaurants, 2 failed; 1 line unreadable"
    _, err = on_terminal("evaluate", "seed.json", "--rows", "rows.jsonl", columns=200, cwd=folder, err=False)
    assert err.splitlines()[-3:] == [*expected, closing]
    for form in ("jsonl", "csv", "table"):
        done = evaluate(folder, "--format", form)
        assert (done.status, done.err.splitlines()[-3:]) == (3, [*expected, closing])


def test_an_output_with_many_values_is_no_verdict(tmp_path: Path) -> None:
    """Twelve different strings are shown, thirteen are none of the summary's business; booleans are verdicts."""
    steps = [
        {
            "name": "WHERE",
            "op": "lookup",
            "source": "context.city",
            "table": {str(n): f"c{n}" for n in range(20)},
            "match": "exact",
            "default": "",
        },
        {"name": "BUSY", "op": "expr", "expr": "N > 0"},
    ]
    seed = tiny_seed(compute=[{"name": "N", "op": "count"}, *steps], output=["WHERE", "BUSY", "N"])
    write_json(tmp_path / "seed.json", seed)
    for number in (12, 13):
        lines = [{"business_id": f"b{n}", "context": {"city": str(n)}, "rows": []} for n in range(number)]
        write_lines(tmp_path / "rows.jsonl", *lines)
        err = evaluate(tmp_path).err
        assert ("WHERE: 1 c0, 1 c1" in err, f"BUSY: {number} false\n" in err) == (number == 12, True)


def test_a_table_is_printed_after_the_bar_is_gone(folder: Path) -> None:
    """With both streams on one terminal: the last that is seen is the table, in whole lines, and the summary."""
    lines = [{"business_id": f"b{n}", "is_open": 1, "reviews": [{"review_id": "r", "text": "soup"}]} for n in range(3)]
    write_lines(folder / "contexts.jsonl", *lines)
    recorded = [{"business_id": f"b{n}", "review_id": "r", "fields": {"mood": "bad", "score": n}} for n in range(3)]
    write_lines(folder / "recorded.jsonl", *recorded)
    seed = tiny_seed(compute=[{"name": "N", "op": "count"}], output=["N"])
    write_json(folder / "seed.json", seed)
    given_ = ("--contexts", "contexts.jsonl", "--extractor", "recorded", "--extractions", "recorded.jsonl")
    shown, _ = on_terminal("run", "seed.json", *given_, columns=100, cwd=folder)
    last = shown.rsplit("business_id", 1)[1]
    assert "\x1b" not in last, "the bar is gone before the table is there"
    assert last.splitlines()[1:4] == [f"b{n}                 1        1" for n in range(3)]
    assert last.endswith("3 of 3 reviews relevant, 3 extracted (recorded)\n")


def test_json_lines_stay_where_a_program_reads_or_asks(folder: Path) -> None:
    """A pipe, a dumb terminal, `--trace`, and a terminal that is told to."""
    plain = evaluate(folder).out
    given_ = ("evaluate", "seed.json", "--rows", "rows.jsonl")
    assert on_terminal(*given_, cwd=folder, err=False, TERM="dumb")[0] == plain
    assert on_terminal(*given_, "--format", "jsonl", cwd=folder, err=False)[0] == plain
    traced = on_terminal(*given_, "--trace", cwd=folder, err=False)[0]
    assert "steps" in json.loads(traced.splitlines()[0])


def test_a_table_in_a_file_or_a_pipe_is_as_wide_as_it_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left out, unless `COLUMNS` says how wide it may be; a column of numbers is aligned to the right."""
    monkeypatch.delenv("COLUMNS", raising=False)  # with several workers it is set
    wide = evaluate(folder, "--format", "table").out
    assert evaluate(folder, "--format", "table", "--out", "table.txt").out == ""
    assert (folder / "table.txt").read_text("utf-8") == wide
    lines = wide.splitlines()
    end = lines[0].index("N_GOOD") + len("N_GOOD")
    assert [line[:end].split()[-1] for line in lines[1:4]] == ["0", "4", "1"]
    narrow = shell("evaluate", G1A, "--rows", ROWS, "--format", "table", env={"COLUMNS": "80"})
    assert all(len(line) <= 80 for line in narrow.out.splitlines())
    assert narrow.out.splitlines()[0].split() == ["business_id", "name", "FINAL_RISK_SCORE", "VERDICT"]


TEXTS = st.text(max_size=50) | st.sampled_from(["", "名" * 40, "e\u0301" * 40, EVIL])
VALUES: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)


@st.composite
def results(draw: st.DrawFn) -> list[Result]:
    """Results of three outputs of any kind, some of them failed."""
    found = []
    for _ in range(draw(st.integers(0, 4))):
        output = {name: draw(VALUES) for name in "ABC"}
        error = draw(st.sampled_from([None, None, {"step": "A", "kind": "null", "message": "m"}]))
        made_with = Provenance("ab", draw(st.none() | TEXTS), {"P": 1})
        reviews = draw(st.sampled_from([None, ReviewCounts(9, 3, 2, 1)]))
        base = (draw(TEXTS), draw(st.none() | TEXTS), "T", reviews)
        found.append(Result(*base, None if error else output, error=error, run=made_with))
    return found


@given(results(), st.sampled_from([None, "A"]), st.none() | st.integers(1, 200))
def test_no_table_is_wider_than_its_terminal(found: list[Result], sort: str | None, width: int | None) -> None:
    """Whatever its values are; it has a line for each restaurant, each of printable characters."""
    text, left_out = results_table(found, ("A", "B", "C"), sort, width)
    lines = text.split("\n")
    assert len(lines) == len(found) + 1
    assert all(line.isprintable() for line in lines)
    if width is None:
        assert left_out == []
    else:
        assert all(display_width(line) <= width for line in lines)
        assert sort not in left_out


# --- sorted


@pytest.mark.parametrize(
    ("name", "order"),
    [
        ("SHARE", ["many", "evil", "-id", "one", "empty", "bad"]),
        ("VERDICT", ["one", "evil", "many", "-id", "empty", "bad"]),
    ],
)
def test_results_are_sorted_by_an_output(name: str, order: list[str], folder: Path) -> None:
    """Numbers from the largest, strings by the alphabet, without a value last; those that are equal stay in order."""
    found = evaluate(folder, "--sort", name).results
    ranks = [order.index(line["business_id"]) for line in found]
    values = [line.get("output", {}).get(name) for line in found]
    known = [value for value in values if value is not None]
    assert known == sorted(known, reverse=name == "SHARE")
    assert values == known + [None] * (len(values) - len(known))
    assert sorted(ranks) == list(range(6))
    unsorted = [line["business_id"] for line in evaluate(folder).results]
    groups = [
        [line["business_id"] for line in found if line.get("output", {}).get(name) == v] for v in dict.fromkeys(values)
    ]
    assert all(group == sorted(group, key=unsorted.index) for group in groups)
    rows = list(csv.DictReader(io.StringIO(evaluate(folder, "--sort", name, "--format", "csv").out)))
    assert [row["business_id"] for row in rows] == [line["business_id"] for line in found]


def test_sorting_by_nothing_that_is_there_is_refused(folder: Path) -> None:
    """Before anything is written; the help names the outputs."""
    done = evaluate(folder, "--sort", "TOTALS", "--out", "results.jsonl")
    assert (done.status, "--sort takes an output, and there is no `TOTALS`; did you mean `TOTAL`?" in done.err) == (
        2,
        True,
    )
    assert not (folder / "results.jsonl").exists()


# --- files


@pytest.mark.parametrize(
    ("name", "start"),
    [("r.csv", b'"business_id","name"'), ("r.csv.gz", b'"business_id","name"'), ("r.jsonl", b'{"business_id"'),
     ("r.jsonl.gz", b'{"business_id"'), ("results", b'{"business_id"'), ("r.csv.1", b'{"business_id"')],
)  # fmt: skip
def test_the_format_is_that_of_the_name(name: str, start: bytes, folder: Path) -> None:
    """`.csv` and `.parquet`, compressed or not; JSON Lines without a suffix; `--format` decides where it is given."""
    assert evaluate(folder, "--out", name).status == 3
    written = (folder / name).read_bytes()
    assert (gzip.decompress(written) if name.endswith(".gz") else written).startswith(start)
    assert evaluate(folder, "--out", name, "--format", "jsonl").status == 3
    plain = (folder / name).read_bytes()
    assert (gzip.decompress(plain) if name.endswith(".gz") else plain).startswith(b'{"business_id"')


def test_csv_has_what_json_lines_have(folder: Path) -> None:
    """Every digit; errors, counts and provenance in columns; hostile names as text in one cell."""
    lines = evaluate(folder, "--param", "LEAST=3").results
    written = evaluate(folder, "--param", "LEAST=3", "--format", "csv").out
    rows = list(csv.DictReader(io.StringIO(written, newline="")))
    assert list(rows[0]) == ["business_id", "name", "N_GOOD", "TOTAL", "SHARE", "VERDICT", *DETAILS]
    assert len(rows) == len(lines)
    for row, line in zip(rows, lines, strict=True):
        assert row["business_id"] == line["business_id"]
        assert row["name"] == ("'" if line["name"] == EVIL else "") + (line["name"] or "")
        output = line.get("output", dict.fromkeys(("N_GOOD", "TOTAL", "SHARE", "VERDICT"), ""))
        assert [row[name] for name in output] == [str(value) for value in output.values()]
        assert [row[f"error_{key}"] for key in ("step", "kind", "message")] == [
            line.get("error", {}).get(key) or "" for key in ("step", "kind", "message")
        ]
        counts = line.get("reviews", {})
        assert [row[f"reviews_{key}"] for key in ("total", "failed")] == [
            str(counts.get(k, "")) for k in ("total", "failed")
        ]
        assert json.loads(row["run_parameters"]) == line["run"]["parameters"] == {"LEAST": 3}
        assert (row["run_seed_sha256"], row["run_edited"]) == (line["run"]["seed_sha256"], "false")


@given(st.text(max_size=20) | st.text("=+-@'\t\r\n＝a1_", max_size=8))
@example("-0M0b-XhtFagyLmsBtOe8w")
@example("'=1")
def test_no_text_in_a_csv_is_a_formula(text: str) -> None:
    """It begins as none does, or is an identifier; without its mark it is what it was; a reader finds it in one cell."""
    written = csv_text(text)
    is_identifier = text != "" and all(c in "-_" or (c.isascii() and c.isalnum()) for c in text)
    assert written[:1] not in tuple("=+-@\t\r\n＝＋－＠") or is_identifier
    assert written in (text, f"'{text}")
    marked = written.startswith("'") and written.lstrip("'")[:1] in tuple("=+-@\t\r\n＝＋－＠")
    assert (written[1:] if marked and written.lstrip("'") else written) == text
    [cells] = csv.reader(io.StringIO(csv_line([text, 1]), newline=""), strict=True)
    assert cells == [written, "1"]


def test_null_is_no_empty_string(tmp_path: Path) -> None:
    """The first is nothing, the second two quotes; booleans are as in JSON."""
    assert csv_line([None, "", True, False, -1.5, 10**20]) == ',"",true,false,-1.5,100000000000000000000\n'


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--trace", "--format", "csv"), "--trace goes with --format jsonl: no csv holds the steps and their reviews"),
        (("--trace", "--out", "r.csv"), "--trace goes with --format jsonl"),
        (("--trace", "--format", "table"), "--trace goes with --format jsonl: no table holds"),
        (("--out", "r.parquet.gz", "--format", "parquet"), "--format parquet needs --out FILE.parquet; it is binary"),
        (("--format", "xlsx"), "'xlsx' is not one of 'table', 'jsonl', 'csv', 'parquet'"),
    ],
)
def test_what_cannot_be_written_is_refused_before_anything_is(
    options: tuple[str, ...], reason: str, folder: Path
) -> None:
    """Exit status 2, and no file."""
    done = evaluate(folder, *options)
    assert (done.status, done.out, reason in done.err) == (2, "", True), done.err
    assert not list(folder.glob("r.*"))


def test_an_output_called_like_a_column_is_refused(tmp_path: Path) -> None:
    """In CSV there would be two columns of the name; JSON Lines and tables have no such trouble."""
    write_json(tmp_path / "seed.json", tiny_seed(compute=[{"name": "name", "op": "count"}], output=["name"]))
    write_lines(tmp_path / "rows.jsonl", tiny_rows("a"))
    done = evaluate(tmp_path, "--format", "csv")
    assert (done.status, "the output `name` has the name of a column of every table" in done.err) == (2, True)
    assert evaluate(tmp_path).status == evaluate(tmp_path, "--format", "table").status == 0


# --- Parquet


def parquet(path: Path) -> Any:
    import pyarrow.parquet as pq

    return pq.read_table(path)


@has_pyarrow
def test_parquet_has_what_json_lines_have(folder: Path) -> None:
    """Typed columns, nulls where a restaurant failed, and the seed with its parameters in the file's metadata."""
    done = evaluate(folder, "--out", "r.parquet", "--param", "LEAST=3")
    lines = evaluate(folder, "--param", "LEAST=3").results
    table = parquet(folder / "r.parquet")
    assert done.status == 3
    kinds = {field.name: str(field.type) for field in table.schema}
    assert [kinds[name] for name in ("N_GOOD", "TOTAL", "SHARE", "VERDICT")] == ["int64", "double", "double", "string"]
    for row, line in zip(table.to_pylist(), lines, strict=True):
        assert (row["business_id"], row["name"]) == (line["business_id"], line["name"])
        output = line.get("output", dict.fromkeys(("N_GOOD", "TOTAL", "SHARE", "VERDICT")))
        assert {name: row[name] for name in output} == output
        assert row["error_kind"] == line.get("error", {}).get("kind")
        assert row["reviews_extracted"] == line.get("reviews", {}).get("extracted")
    known = json.loads(table.schema.metadata[b"formulaseed"])
    run = lines[0]["run"]
    assert known == {"task": "Tiny-1", **{name: run[name] for name in ("seed_sha256", "seed_version", "parameters")}}


@has_pyarrow
def test_an_integer_that_is_too_large_for_parquet_is_a_failure(tmp_path: Path) -> None:
    """It is listed, and its restaurant has the error in place of its outputs; the others are written."""
    steps = [{"name": "N", "op": "count"}, {"name": "BIG", "op": "expr", "expr": "N * 2 ** 62"}]
    write_json(tmp_path / "seed.json", tiny_seed(compute=steps, output=["N", "BIG"]))
    write_lines(
        tmp_path / "rows.jsonl", *(tiny_rows(f"b{n}", *(tiny_row(f"r{i}") for i in range(n))) for n in (1, 2, 0))
    )
    done = evaluate(tmp_path, "--out", "r.parquet")
    assert done.status == 3
    assert "failed: b1" not in done.err
    assert "errors: 1 overflow in BIG\n3 lines: 3 restaurants, 1 failed\n" in done.err
    assert "failed: b2: BIG: overflow: its value has more than the 64 bits of a Parquet column" in done.err
    rows = parquet(tmp_path / "r.parquet").to_pylist()
    assert [(row["N"], row["BIG"], row["error_kind"]) for row in rows] == [
        (1, 2**62, None),
        (None, None, "overflow"),
        (0, 0, None),
    ]


@has_pyarrow
def test_parquet_is_written_to_a_pipe_and_without_restaurants(folder: Path) -> None:
    """As a file is; a file of no results has its columns, too. A terminal gets no binary."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arguments = [
        sys.executable,
        "-m",
        "formulaseed",
        "evaluate",
        "seed.json",
        "--rows",
        "rows.jsonl",
        "--format",
        "parquet",
    ]
    done = subprocess.run(arguments, cwd=folder, capture_output=True, check=False)
    assert (done.returncode, pq.read_table(pa.BufferReader(done.stdout)).num_rows) == (3, 6)
    write_lines(folder / "rows.jsonl")
    assert evaluate(folder, "--out", "r.parquet").status == 0
    assert parquet(folder / "r.parquet").column_names[:3] == ["business_id", "name", "N_GOOD"]
    shown, err = on_terminal(*arguments[3:], cwd=folder, err=False)
    assert (shown, "--format parquet needs --out FILE.parquet" in err) == ("", True)


def test_without_pyarrow_the_command_says_what_to_install(folder: Path) -> None:
    """Exit status 2, before anything is read or written."""
    (folder / "pyarrow.py").write_text("raise ImportError('not here')")
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", ""), str(ROOT / "compiler")])
    done = shell(
        "evaluate", "seed.json", "--rows", "nowhere", "--out", "r.parquet", cwd=folder, env={"PYTHONPATH": path}
    )
    assert done.status == 2
    assert "Parquet needs the extra `parquet`; run `pip install 'formulaseed[parquet]'`" in done.err
    assert not (folder / "r.parquet").exists()


@settings(max_examples=settings.default.max_examples // 4)  # type: ignore[union-attr]
@given(seeds(), st.data())
def test_every_output_has_the_type_of_its_column(seed: dict[str, Any], data: st.DataObject) -> None:
    """For every seed, a value is null or of the type that the module declares, exactly: no column has to convert it."""
    evaluator = formulaseed.load_evaluator(seed)
    kinds = evaluator.output_types()
    assert [*kinds] == [*evaluator.output]
    assert set(kinds.values()) <= {str, int, float, bool}
    for _ in range(3):
        try:
            found = evaluator.evaluate(data.draw(rows(seed)), data.draw(contexts(seed)))
        except formulaseed.EvaluationError:
            continue
        assert {name: type(value) for name, value in found.items() if value is not None}.items() <= kinds.items()
