"""The wrong kind of file: each command gives one error, which says what the file is and what takes it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from formulaseed import DataError, SeedError, load_evaluator, load_requests, load_seed, run
from formulaseed.data.file_kinds import KINDS, KINDS_OF_TEXT, kind_of, kind_of_text
from formulaseed.documents import analyse, analyse_file
from helpers import EXAMPLES, ROOT, TASKS, Outcome, command, read_lines, tiny_row, tiny_rows, write_json

SEED = json.loads((TASKS / "g1a_v2" / "seed.json").read_text(encoding="utf-8"))
CONTEXTS = read_lines(EXAMPLES / "contexts.jsonl")[:2]
REQUESTS = read_lines(EXAMPLES / "requests.jsonl")[:2]
STEPS = {step["name"]: step for step in SEED["compute"]}


def lines(*values: object) -> str:
    return "".join(f"{json.dumps(value)}\n" for value in values)


FILES: dict[str, tuple[str, str | bytes]] = {
    "a seed": ("seed.json", json.dumps(SEED, indent=2)),
    "a file of several seeds": ("seeds.jsonl", lines(SEED, SEED)),
    "a file of requests": ("requests.jsonl", lines(*REQUESTS)),
    "a file of rules": ("rules.json", (EXAMPLES / "rules.json").read_text(encoding="utf-8")),
    "a formula reference": ("reference.json", (EXAMPLES / "formula_reference.json").read_text(encoding="utf-8")),
    "a file of contexts": ("contexts.jsonl", lines(*CONTEXTS)),
    "a JSON list of contexts": ("contexts.json", json.dumps(CONTEXTS, indent=2)),
    "a file of restaurants": ("restaurants.jsonl", lines(*(context["business"] for context in CONTEXTS))),
    "a file of reviews": ("reviews.jsonl", lines(*({"business_id": "a", **r} for r in CONTEXTS[0]["reviews"]))),
    "a file of rows": ("rows.jsonl", lines(*read_lines(EXAMPLES / "rows-g1a_v2.jsonl")[:3])),
    "a file of recorded extractions": ("recorded.jsonl", lines(*read_lines(EXAMPLES / "extractions-g1a_v2.jsonl")[:3])),
    "a file of results": ("results.jsonl", lines({
        "business_id": "a", "name": "A", "task": "T", "output": {"N": 1}, "run": {},
        "reviews": {"total": 1, "relevant": 1, "extracted": 1, "failed": 0}})),
    "a file of judgements": ("judgements.jsonl", lines(*read_lines(EXAMPLES / "judgements.jsonl")[:3])),
    "a social graph": ("social.json", (EXAMPLES / "social.json").read_text(encoding="utf-8")),
    "a generated module": ("module.py", (ROOT / "generated" / "g1a_v2.py").read_text(encoding="utf-8")),
    "Python": ("policy.py", "def evaluate(rows):\n    return 42\n"),
    "Markdown": ("task.md", (TASKS / "g1a_v2" / "task.md").read_text(encoding="utf-8")),
    "YAML": ("seed.yaml", "task_name: T\nfilter:\n  keywords: [a]\n"),
    "CSV": ("results.csv", "business_id,name,N\na,A,1\nb,B,2\n"),
    "plain text": ("note.txt", "Count severe incidents.\nTwo are a risk.\n"),
    "an Excel workbook": ("book.xlsx", b"PK\x03\x04\x14\x00\xff\xfe binary"),
    "Parquet": ("table.parquet", b"PAR1\x15\x00\xff"),
}  # fmt: skip
"""A file of each kind, by what messages call it."""

TAKES: dict[str, tuple[tuple[str, ...], set[str]]] = {
    "check": (("check", "{}"), {"a seed", "a file of requests", "a file of rules", "a formula reference"}),
    "compile": (("compile", "{}"), {"a seed", "a file of requests", "a file of rules"}),
    "fmt": (("fmt", "--check", "{}"), {"a seed", "a file of requests", "a file of rules"}),
    "evaluate": (("evaluate", "{}", "--rows", "rows.jsonl"), {"a seed", "a generated module"}),
    "run": (("run", "{}", "--contexts", "contexts.jsonl"), {"a seed", "a generated module"}),
    "migrate": (("migrate", "{}"), {"a seed"}),
    "graph": (("graph", "{}"), {"a seed"}),
    "validate": (("validate", "{}", "--restaurants", "contexts.jsonl"), {"a file of requests"}),
    "shorthand": (("shorthand", "--check", "{}"), {"a file of requests"}),
    "formula": (("formula", "--file", "{}", "--reference", "reference.json"), {"a file of rules"}),
    "reference": (("formula", "1 + 1", "--reference", "{}"), {"a formula reference"}),
    "rows": (("evaluate", "seed.json", "--rows", "{}"), {"a file of rows"}),
    "explained rows": (("explain", "seed.json", "--rows", "{}", "--id", "lotus-garden"), {"a file of rows"}),
    "covered rows": (("cover", "seed.json", "--rows", "{}"), {"a file of rows"}),
    "contexts": (("run", "seed.json", "--contexts", "{}"), {"a file of contexts", "a file of restaurants"}),
    "restaurants": (
        ("run", "seed.json", "--restaurants", "{}", "--reviews", "reviews.jsonl"),
        {"a file of restaurants", "a file of contexts"},
    ),
    "reviews": (("run", "seed.json", "--restaurants", "restaurants.jsonl", "--reviews", "{}"), {"a file of reviews"}),
    "extractions": (
        ("run", "seed.json", "--contexts", "contexts.jsonl", "--extractor", "recorded", "--extractions", "{}"),
        {"a file of recorded extractions"},
    ),
    "judgements": (
        ("validate", "requests.jsonl", "--restaurants", "contexts.jsonl", "--judgements", "{}"),
        {"a file of judgements"},
    ),
    "social": (
        ("validate", "requests.jsonl", "--restaurants", "contexts.jsonl", "--social", "{}"),
        {"a social graph"},
    ),
}
"""The commands by what they take, with `{}` for the file."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of each kind."""
    place = tmp_path_factory.mktemp("kinds")
    for name, content in FILES.values():
        (place / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return place


def errors_of(done: Outcome) -> list[str]:
    return re.findall(r"^(?:error\[FS\d+\] [\w-]+|formulaseed): (.*)$", done.out + done.err, re.M)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of restaurants opened, and never read
@pytest.mark.parametrize("reader", TAKES)
def test_the_wrong_kind_of_file_is_one_error(reader: str, folder: Path) -> None:
    """It names the kind, and a command or what to do; what a command takes gives no such error."""
    arguments, taken = TAKES[reader]
    for noun, (name, _) in FILES.items():
        if name.endswith((".parquet", ".py")) and noun not in taken:
            continue  # Parquet and modules are known by their names, and have errors of their own
        done = command(*(argument.format(name) for argument in arguments), cwd=folder)
        if noun in taken:
            assert " this is " not in done.out + done.err, (noun, done.err)
            assert f"cannot read {name}: it is" not in done.err, (noun, done.err)
            continue
        assert done.status in (1, 2), (noun, done.out, done.err)
        found = errors_of(done)
        assert len(found) == 1, (noun, found)
        if noun == "a file of several seeds" and found[0].startswith("cannot read"):
            noun = "a (seed|file of several seeds)"  # some read lines one by one
        laid_out = reader in ("contexts", "restaurants") and noun == "a JSON list of contexts"  # of the right kind
        expected = "it is one JSON document over several lines" if laid_out else rf"(this|it) is {noun}, "
        assert re.search(expected, found[0]), (noun, found)
        assert "failed:" not in done.err


def test_a_folder_and_an_empty_file(folder: Path, tmp_path: Path) -> None:
    """A folder cannot be read; an empty file is no document, and data without a line."""
    empty = tmp_path / "empty.json"
    empty.write_text(" \n")
    for arguments in (("check", tmp_path), ("evaluate", "seed.json", "--rows", tmp_path)):
        done = command(*arguments, cwd=folder)
        assert (done.status, errors_of(done)) == (2, [f"cannot read {tmp_path}: Is a directory"])
    for arguments in (("check", empty), ("compile", empty), ("evaluate", empty, "--rows", "rows.jsonl")):
        done = command(*arguments, cwd=folder)
        assert (done.status, errors_of(done)) == (1, ["the file is empty"])
    done = command("evaluate", "seed.json", "--rows", empty, cwd=folder)
    assert (done.status, "0 lines: 0 restaurants" in done.err) == (0, True)


SNIPPETS: dict[str, tuple[object, str]] = {
    **{name: (step, "put it into `compute`") for name, step in STEPS.items()},
    "a list of steps": (SEED["compute"], "put it into `compute`"),
    "the filter": ({"filter": SEED["filter"]}, 'put it beside the others: {"task_name": …, "extract": …, …}'),
    "what the filter holds": (SEED["filter"], 'put it into `filter`: {"keywords": […]}'),
    "the section `extract`": ({"extract": SEED["extract"]}, 'put it beside the others: {"task_name": …, "extract": …, …}'),
    "what `extract` holds": (SEED["extract"], "put it into `extract`"),
    "the section `output`": ({"output": SEED["output"]}, 'put it beside the others: {"task_name": …, "extract": …, …}'),
    "a field": (SEED["extract"]["fields"][0], "put it into the `fields` of `extract`"),
    "a list of fields": (SEED["extract"]["fields"], "put it into the `fields` of `extract`"),
    "a condition": ({"$IS_INCIDENT": True, "meta.year": {">=": 2023}}, "put it into the `where` of a step"),
    "a comparison": ({">=": 2020, "<": 2023}, 'put it into `where`: {"meta.year": {…}}'),
    "a rule of case": ({"when": "RECENT_RATIO > 0.7", "then": 1.3}, "put it into the `rules` of a step"),
    "an else": ({"else": 1.0}, "put it into the `rules` of a step"),
    "the rules of case": (STEPS["VERDICT"]["rules"], "put it into the `rules` of a step"),
    "a lookup table": (STEPS["CUISINE_MODIFIER"]["table"], "put it into the `table` of a step with the operation `lookup`"),
    "evidence": (REQUESTS[0]["structure"]["args"][0]["evidence"], 'put it into {"aspect": …, "evidence": {…}}'),
    "the review handling": (
        {"review_handling": {"max_length": 2000}},
        'put it beside the others: {"task_name": …, "extract": …, …}',
    ),
    "a section of a reference": ({"enums": {"Condition": {"values": ["new"]}}}, "put it beside its `entities`"),
    "a step of v1": (
        {"name": "n_mild", "formula": "len(extractions)"},
        "put a rule into a list, `[…]`, and a step into `compute_dag`",
    ),
}  # fmt: skip
"""What the specification prints as a snippet, and the help."""


@pytest.mark.parametrize("name", SNIPPETS)
def test_a_pasted_snippet_is_one_error(name: str, tmp_path: Path) -> None:
    """In a file, over one line or several, and in memory."""
    snippet, help = SNIPPETS[name]
    for indent in (None, 2):
        path = tmp_path / "seed.json"
        path.write_text(json.dumps(snippet, indent=indent), encoding="utf-8")
        (found,) = analyse_file(path).diagnostics
        assert (found.code, found.help) == ("FS008", help)
        assert found.message.endswith(", not a whole seed")
    if isinstance(snippet, dict):
        (found,) = analyse(snippet).diagnostics
        assert (found.code, found.help) == ("FS008", help)


def test_snippets_that_are_put_where_the_help_says_are_taken(tmp_path: Path) -> None:
    """A step, a field and a rule; the list of rules is a file of rules."""
    step, field = STEPS["N_MILD"], SEED["extract"]["fields"]
    seed = {"task_name": "T", "extract": {"fields": field}, "compute": [step], "output": ["N_MILD"]}
    assert not analyse_file(write_json(tmp_path / "seed.json", seed)).has_errors
    rules = write_json(tmp_path / "rules.json", [{"name": "double", "formula": "stars * 2"}])
    assert analyse_file(rules).kind.name == "rules"


def test_what_is_nearly_a_seed_is_checked_as_one(tmp_path: Path) -> None:
    """Missing and misspelt keys are reported as such."""
    for change in ({"task_nme": "T"}, {"filter": 1}, {"extract": []}):
        seed = {key: value for key, value in SEED.items() if key != "task_name"} | change
        assert "FS008" not in {d.code for d in analyse_file(write_json(tmp_path / "s.json", seed)).diagnostics}
    for seed in ({}, {"task_name": "T"}, {"task_name": "T", "rows": []}, {"unknown": "x"}):
        found = analyse_file(write_json(tmp_path / "s.json", seed)).diagnostics
        assert {d.code for d in found} <= {"FS501", "FS502"}


def test_no_kind_is_taken_for_another() -> None:
    """Of each file of the table; and every kind has an example there or among the snippets."""
    kinds = {noun: kind_of_text(text if isinstance(text, str) else text.decode("latin-1"), name)
             for noun, (name, text) in FILES.items()}  # fmt: skip
    assert {noun: kind and kind.noun for noun, kind in kinds.items()} == {noun: noun for noun in FILES}
    seen = {kind.name for kind in kinds.values() if kind} | {
        kind.name for value, _ in SNIPPETS.values() if (kind := kind_of(value))
    }
    assert {*KINDS, *KINDS_OF_TEXT} <= seen


@pytest.mark.parametrize("text", ['{"a": 1', "[1, 2", "", "  ", "null", "3", '"x"', "// comment", "{]"])
def test_what_is_not_certain_has_no_kind(text: str) -> None:
    assert kind_of_text(text, "seed.json") is None


def test_a_suffix_says_nothing_of_json(tmp_path: Path) -> None:
    """Documents have any name; the beginning of a file that is called JSON may be a mistake in it."""
    for name in ("seed.txt", "seed.md", "seed.yaml", "seed"):
        assert not analyse_file(write_json(tmp_path / name, SEED)).has_errors
    path = tmp_path / "seed.json"
    path.write_text("# a comment\n" + json.dumps(SEED), encoding="utf-8")
    (found,) = analyse_file(path).diagnostics
    assert found.message == "comments are not allowed in JSON"


def test_a_stray_line_fails_alone(tmp_path: Path) -> None:
    """A file that is called JSON Lines is read line by line, also where the first is not JSON."""
    rows = tmp_path / "rows.jsonl"
    rows.write_text("# rows\n" + (EXAMPLES / "rows-g1a_v2.jsonl").read_text(encoding="utf-8"), encoding="utf-8")
    done = command("evaluate", TASKS / "g1a_v2" / "seed.json", "--rows", rows)
    assert done.status == 3
    assert "14 restaurants, 0 failed; 1 line unreadable" in done.err


@pytest.mark.parametrize(
    "call",
    [
        lambda: load_seed({"name": "N", "op": "count"}),
        lambda: load_seed(EXAMPLES / "requests.jsonl"),
        lambda: load_seed(EXAMPLES / "rows-g1a_v2.jsonl"),
        lambda: load_requests(TASKS / "g1a_v2" / "seed.json"),
        lambda: load_evaluator(EXAMPLES / "contexts.jsonl"),
    ],
)
def test_documents_in_python(call: Callable[[], Any]) -> None:
    with pytest.raises(SeedError) as refused:
        call()
    assert [d.code for d in refused.value.diagnostics] == ["FS008"]


def test_data_in_python() -> None:
    """Of a path the help names a command, of a list of objects a function."""
    given: list[tuple[Any, str]] = [
        (EXAMPLES / "rows-g1a_v2.jsonl", "formulaseed evaluate SEED --rows "),
        ([tiny_rows("a", tiny_row("r1"))], "formulaseed.load_evaluator(seed).evaluate(rows, context)"),
    ]
    for contexts, help in given:
        with pytest.raises(DataError, match=re.escape(f"it is a file of rows, not a file of contexts; `{help}")):
            list(run(SEED, contexts))


def test_an_option_of_another_command_is_named(folder: Path) -> None:
    done = command("run", "seed.json", "--rows", "rows.jsonl", cwd=folder)
    assert done.status == 2
    assert done.err.endswith("It is an option of `diff`, `evaluate`, `score`.\n")
    done = command("evaluate", "seed.json", "--contexts", "contexts.jsonl", cwd=folder)
    assert "`run`, `extract`" in done.err.partition("It is an option of ")[2]
    assert "It is an option" not in command("evaluate", "seed.json", "--nonsense", cwd=folder).err


# --- what is written

OUTPUTS = (
    (("evaluate", "seed.json", "--rows", "rows.jsonl", "--out"), ".jsonl, .csv or .parquet, or pass --format"),
    (("run", "seed.json", "--contexts", "contexts.jsonl", "--out"), ".jsonl, .csv or .parquet, or pass --format"),
    (("run", "seed.json", "--contexts", "contexts.jsonl", "--rows-out"), ".jsonl or .parquet"),
    (("run", "seed.json", "--contexts", "contexts.jsonl", "--extractions-out"), ".jsonl"),
    (("extract", "seed.json", "--contexts", "contexts.jsonl", "--out"), ".jsonl or .parquet, or pass --format"),
    (("explain", "seed.json", "--rows", "rows.jsonl", "--id", "lotus-garden", "--out"),
     ".txt, .md, .html or .json, or pass --format"),
    (("report", "seed.json", "--rows", "rows.jsonl", "--out"), ".html"),
    (("validate", "requests.jsonl", "--restaurants", "contexts.jsonl", "--out"), ".jsonl"),
)  # fmt: skip


@pytest.mark.parametrize(("arguments", "formats"), OUTPUTS)
def test_an_unknown_suffix_is_refused(arguments: tuple[str, ...], formats: str, folder: Path) -> None:
    """Before anything is written; the formats that exist are listed."""
    for name in ("x.xlsx", "x.xlsx.gz", "x.pdf"):
        done = command(*arguments, name, cwd=folder)
        suffix = "xlsx" if "xlsx" in name else "pdf"
        option = arguments[-1]
        assert done.status == 2
        assert f"Error: {option} {name}: no format has the suffix `.{suffix}`; end the name in {formats}\n" in done.err
        assert not (folder / name).exists()


def test_names_that_are_taken(folder: Path, tmp_path: Path) -> None:
    """Names without a suffix, or with a number for one, are JSON Lines; --format decides for any name."""
    for name in ("results", "results.2026", "results.jsonl", "results.ndjson", "results.json.gz"):
        out = tmp_path / name
        assert command("evaluate", "seed.json", "--rows", "rows.jsonl", "--out", out, cwd=folder).status == 0, name
    out = tmp_path / "table.xlsx"
    done = command("evaluate", "seed.json", "--rows", "rows.jsonl", "--out", out, "--format", "csv", cwd=folder)
    assert done.status == 0
    assert out.read_text().startswith('"business_id"') or out.read_text().startswith("business_id")
    page = tmp_path / "page.md"
    explained = ("explain", "seed.json", "--rows", "rows.jsonl", "--id", "lotus-garden", "--out", page)
    assert command(*explained, cwd=folder).status == 0
    assert page.read_text(encoding="utf-8").startswith("# Lotus Garden")


# --- fmt


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("requests.jsonl", lines(*REQUESTS)),
        ("one.jsonl", lines(REQUESTS[0])),
        ("one.json", lines(REQUESTS[0])),
    ],
)
def test_fmt_keeps_one_request_a_line(name: str, text: str, tmp_path: Path) -> None:
    """Also a file of one; spaces and the order of keys change, the meaning does not."""
    path = tmp_path / name
    shuffled = [dict(reversed(json.loads(line).items())) for line in text.splitlines()]
    path.write_text("\n".join(json.dumps(value, separators=(",", ":")) for value in shuffled), encoding="utf-8")
    before = load_requests(path)
    assert command("fmt", path).out == f"{path}\n"
    assert path.read_text(encoding="utf-8") == text
    after = load_requests(path)
    assert [r.id for r in after.program.requests] == [r.id for r in before.program.requests]
    assert command("fmt", "--check", path).status == 0
    assert command("check", path).status == 0


@pytest.mark.parametrize("indent", [None, 4])
def test_fmt_keeps_a_list_and_requests_laid_out(indent: int | None, tmp_path: Path) -> None:
    path = tmp_path / "requests.json"
    for text, opening in (
        (json.dumps(REQUESTS, indent=indent), "["),
        ("\n".join(json.dumps(request, indent=4) for request in REQUESTS), "{"),
    ):
        path.write_text(text, encoding="utf-8")
        before = load_requests(path).sha256
        assert command("fmt", path).status == 0
        assert path.read_text(encoding="utf-8").startswith(f"{opening}\n")
        assert load_requests(path).sha256 == before
        assert command("fmt", "--check", path).status == 0


def test_fmt_prints_what_it_cannot_write_back(tmp_path: Path) -> None:
    """Standard input, and the text of a compressed file."""
    import gzip

    packed = tmp_path / "seed.json.gz"
    data = gzip.compress(json.dumps(SEED).encode())
    packed.write_bytes(data)
    done = command("fmt", packed)
    assert json.loads(done.out) == SEED
    assert packed.read_bytes() == data


def test_fmt_sorts_seeds_alone(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    path.write_text(lines(*REQUESTS), encoding="utf-8")
    done = command("fmt", "--sort", path)
    assert (done.status, "--sort is for seeds" in done.err) == (2, True)
