"""The SQL target: files, options, names, refusals, output verification, and models of dbt."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jinja2
import pytest

sqlglot = pytest.importorskip("sqlglot", reason="queries are parsed again")
duckdb = pytest.importorskip("duckdb", reason="queries run on duckdb")

import pyarrow as pa  # noqa: E402
from formulaseed import compile_seed, load_seed  # noqa: E402
from formulaseed.backends.sql import target  # noqa: E402
from formulaseed.backends.sql.dialects import DIALECTS, DUCKDB, SPARK  # noqa: E402
from formulaseed.backends.sql.verify import verify  # noqa: E402
from formulaseed.documents import FormulaSeedError, SeedError  # noqa: E402
from formulaseed.language.functions import FUNCTIONS  # noqa: E402
from helpers import ROOT, TASKS, command, tiny_seed, write_json  # noqa: E402
from sql_queries import run_query  # noqa: E402

G1A = TASKS / "g1a_v2" / "seed.json"
DATED = {
    "task_name": "T",
    "extract": {"fields": []},
    "compute": [
        {"name": "N", "op": "count", "where": {"meta.date": {"in": ["2021-03-04"]}}},
        {"name": "M", "op": "sum", "expr": "meta.month"},
    ],
    "output": ["N", "M"],
}
HOSTILE = "'; DROP TABLE rows; --\n/* {{ evil }} {% raw %} \u202e */ \\' \x00"


def compile_sql(folder: Path, *arguments: object) -> Any:
    return command("compile", "seed.json", "--target", "sql", *arguments, cwd=folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_json(tmp_path / "seed.json", tiny_seed())
    return tmp_path


def test_a_query_is_written_and_known_again(folder: Path) -> None:
    """Under the name of the dialect; it is current until the seed or the query changes, and no other file is replaced."""
    assert compile_sql(folder).out == "generated/tiny_1.duckdb.sql\n"
    path = folder / "generated" / "tiny_1.duckdb.sql"
    assert compile_sql(folder, "--check").status == 0
    assert compile_sql(folder, "--dialect", "spark").out == "generated/tiny_1.spark.sql\n"
    assert command("compile", path, "--check", "--target", "sql", cwd=folder).status == 0
    path.write_text(path.read_text() + "-- edited\n")
    assert compile_sql(folder, "--check").status == 1
    path.write_text("SELECT 1\n")
    refused = compile_sql(folder)
    assert (refused.status, "not a file that formulaseed generated" in refused.err) == (2, True)


def test_options_name_tables_and_add_steps(folder: Path) -> None:
    text = compile_sql(folder, "--stdout", "--rows", "shop.rows", "--contexts", "places", "--steps").out
    assert 'FROM "shop"."rows"' in text
    assert 'FROM "places"' in text
    assert '"N_GOOD" END AS "N_GOOD"' in text
    for arguments in (("--rows", 'a"b'), ("--style", "2027-01"), ("--dialect", "oracle")):
        assert compile_sql(folder, *arguments).status == 2
    assert command("compile", "seed.json", "--dialect", "spark", cwd=folder).status == 2


def test_a_dialect_is_one_of_the_sql_target() -> None:
    assert compile_seed(tiny_seed(), target="sql", dialect="spark") != compile_seed(tiny_seed(), target="sql")
    with pytest.raises(FormulaSeedError, match="no option dialect"):
        compile_seed(tiny_seed(), dialect="spark")


def steps_of(*steps: dict[str, Any], output: list[str] | None = None, **parts: Any) -> dict[str, Any]:
    names = [step["name"] for step in steps]
    return {"task_name": "T", "extract": {"fields": []}, "compute": [*steps], "output": output or names, **parts}


@pytest.mark.parametrize("name", ["score", "business_id", "Error_Kind"])
def test_outputs_that_differ_in_case_alone_are_refused(name: str) -> None:
    seed = steps_of({"name": "SCORE", "op": "count"}, {"name": name, "op": "count"})
    with pytest.raises(SeedError) as refused:
        compile_seed(seed, target="sql")
    assert {problem.code for problem in refused.value.diagnostics} == {"FS704"}


def test_names_that_clash_inside_get_a_number() -> None:
    """Steps that differ in case, and fields with the names of the key, the order key and columns of ours."""
    fields = [{"name": name, "type": "integer", "description": "x"} for name in ("position", "is_valid", "row_count")]
    steps = [{"name": name, "op": "sum", "expr": f"extraction.{field}"} for name, field in
             (("Total", "position"), ("TOTAL", "is_valid"), ("total", "row_count"))]  # fmt: skip
    seed = load_seed(steps_of(*steps, output=["Total"], extract={"fields": fields}))
    rows = [{"extraction": {"position": 5, "is_valid": 7, "row_count": at}, "meta": {}} for at in (3, 4)]
    assert run_query(seed, {"a": (rows, {})}, steps=False)["a"] == {"Total": (False, 10)}


def test_no_string_of_a_seed_becomes_code() -> None:
    """Not in a comment, a literal, or an enum; the value passes through unchanged."""
    fields = [{"name": "mood", "type": "enum", "values": {HOSTILE: HOSTILE, "x": "y"}, "description": HOSTILE}]
    steps = [
        {"name": "N", "op": "count", "where": {"extraction.mood": HOSTILE}, "label": "a -- b"},
        {"name": "V", "op": "case", "rules": [{"when": "N > 0", "then": HOSTILE}, {"else": "no"}]},
    ]
    seed = load_seed(steps_of(*steps, extract={"fields": fields}, description=HOSTILE))
    rows = [{"extraction": {"mood": HOSTILE}, "meta": {}}]
    assert run_query(seed, {"a": (rows, {})})["a"] == {"N": (False, 1), "V": (False, HOSTILE)}
    for dialect in DIALECTS:
        text = compile_seed(seed, target="sql", dialect=dialect)
        assert all(line.isprintable() for line in text.split("\n"))
        for line in text.split("\n"):
            assert line.partition("-- ")[2].isascii()


def test_the_parts_of_a_date_agree_with_it() -> None:
    """The module refuses a month that is not that of the date, and takes a missing one from it; a query hands both back."""
    dates = ["2021-03-04", "2021-03-04", "2021-03-04", "2021-03-04T10:00:00", None]
    lines = [
        {"business_id": f"b{at}", "position": 0, "date": date, "month": month}
        for at, (date, month) in enumerate(zip(dates, (3, 4, None, 3, 3), strict=True))
    ]
    with duckdb.connect() as connection:
        connection.register("rows", pa.Table.from_pylist(lines))
        connection.register("contexts", pa.table({"business_id": [line["business_id"] for line in lines]}))
        results = connection.sql(f"SELECT * FROM ({compile_seed(DATED, target='sql')}) ORDER BY 1").fetchall()
    assert results[0] == ("b0", 1, 3, None, None)
    assert [line[-1] for line in results[1:]] == ["beyond", "beyond", "beyond", "data"]


FOREIGN = {
    "SELECT 1; SELECT 2": "not one statement",
    "DROP TABLE rows": "not a SELECT",
    "SELECT x FROM other": "reads the table",
    "SELECT READ_TEXT('x') FROM rows": "calls READ_TEXT",
    "SELECT (SELECT 1) FROM rows": "Subquery",
    "SELECT x FROM rows UNION SELECT y FROM rows": "not a SELECT",
    "SELECT ( FROM rows": "it is no DuckDB",
}


@pytest.mark.parametrize(("text", "problem"), FOREIGN.items(), ids=FOREIGN)
def test_a_query_of_another_kind_is_refused(text: str, problem: str) -> None:
    fault = verify(text, text, DUCKDB, ("rows",))
    assert fault is not None
    assert problem in fault


def test_a_comment_that_changes_the_code_is_refused() -> None:
    assert verify("SELECT 1 -- x\nFROM rows", "SELECT 1 FROM rows", DUCKDB, ("rows",)) is None
    assert (
        verify("SELECT 1 -- x\n+ 1 FROM rows", "SELECT 1 FROM rows", DUCKDB, ("rows",))
        == "its code depends on a comment"
    )


def test_a_query_that_does_not_verify_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "verify", lambda *_: "for this test")
    with pytest.raises(SeedError, match="for this test"):
        compile_seed(tiny_seed(), target="sql")


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_each_function_has_sql_or_is_refused(dialect: Any) -> None:
    for function in FUNCTIONS.values():
        is_spelled = dialect.find_spelling(function.spellings) is not None
        is_refused = ("function", function.name) in dialect.inexact
        assert is_spelled or is_refused or function.operator or function.folds or function.name == "float", (
            function.name
        )


@pytest.mark.parametrize("call", ["log(N + 1)", "pow(N + 1, 0.5)", "(N + 1) ** 2"])
def test_spark_refuses_what_it_computes_with_other_bits(call: str) -> None:
    seed = steps_of({"name": "N", "op": "count"}, {"name": "X", "op": "expr", "expr": call})
    assert compile_seed(seed, target="sql")
    with pytest.raises(SeedError) as refused:
        compile_seed(seed, target="sql", dialect="spark")
    (problem,) = refused.value.diagnostics
    assert (problem.code, problem.span.source.text[problem.span.start : problem.span.end]) == ("FS703", call)


def test_strings_are_literals_of_the_dialect() -> None:
    assert DUCKDB.string("it's \\ \x00") == "('it''s \\ ' || CHR(0) || '')"
    assert SPARK.string("it's \\ \x00") == "'it\\'s \\\\ \\u0000'"
    assert (DUCKDB.quote_path('a."b"'), SPARK.quote_name("`")) == ('"a"."""b"""', "````")


@pytest.mark.parametrize("path", sorted((ROOT / "generated" / "sql").glob("*.sql")), ids=lambda path: path.name)
def test_generated_queries_are_current(path: Path) -> None:
    """Each step is under its declaration, and the header lists all steps."""
    text = path.read_text(encoding="utf-8")
    name, dialect, _ = path.name.split(".")
    seed = load_seed(TASKS / name / "seed.json")
    assert compile_seed(seed, target="sql", dialect=dialect) == text
    for step in seed.program.steps:
        assert text.count(f"{step.name}: ") >= 1
        assert re.search(rf"^--   .*\b{step.name}\b", text, re.MULTILINE)


def test_a_small_change_of_a_seed_is_a_small_change_of_its_query() -> None:
    """A threshold changes the line of its step, with the comment above, and the hash in the header."""
    seed = json.loads(G1A.read_text(encoding="utf-8"))
    before = compile_seed(seed, target="sql").splitlines()
    text = json.dumps(seed).replace("FINAL_RISK_SCORE < 4.0", "FINAL_RISK_SCORE < 4.5").replace('"< 4.0"', '"< 4.5"')
    after = compile_seed(json.loads(text), target="sql").splitlines()
    changed = [line for line, old in zip(after, before, strict=True) if line != old]
    assert 1 <= len(changed) <= 3


def test_a_model_of_dbt_passes_its_unit_test(tmp_path: Path) -> None:
    """The model reads references, and gives the expected lines for the rows of its properties."""
    import yaml

    done = command("compile", G1A, "--target", "sql", "--dbt", "--out", tmp_path, "--rows", "shop.rows")
    assert (done.status, len(done.out.splitlines())) == (0, 2)
    model = jinja2.Template((tmp_path / "g1a_v2.sql").read_text()).render(ref=lambda *names: "_".join(names))
    properties = yaml.safe_load((tmp_path / "g1a_v2.yml").read_text())
    (unit,) = properties["unit_tests"]
    assert [given["input"] for given in unit["given"]] == ["ref('shop', 'rows')", "ref('contexts')"]
    types = {column["name"]: column["data_type"] for column in properties["models"][0]["columns"]}
    with duckdb.connect() as connection:
        for name, given in zip(("shop_rows", "contexts"), unit["given"], strict=True):
            connection.register(name, pa.Table.from_pylist(given["rows"]))
        relation = connection.sql(model)
        assert dict(zip(relation.columns, map(str, relation.types), strict=True)) == types
        lines = sorted(relation.to_arrow_table().to_pylist(), key=lambda line: line["business_id"])
    assert lines == unit["expect"]["rows"]


def test_no_string_opens_a_tag_of_jinja(folder: Path) -> None:
    rules = [{"when": "N > 0", "then": "{{ evil }} {% raw %}"}, {"else": "no"}]
    seed = steps_of({"name": "N", "op": "count"}, {"name": "V", "op": "case", "rules": rules}, description="{{ evil }}")
    write_json(folder / "seed.json", seed)
    assert compile_sql(folder, "--dbt").status == 0
    for suffix in ("sql", "yml"):
        text = jinja2.Template((folder / "generated" / f"t.{suffix}").read_text()).render(ref=lambda name: name)
        assert "evil" in text
    assert compile_sql(folder, "--dbt", "--check").status == 0
