"""Files of the wrong kind are one error, which names the kind; the suffix of an output file is that of its format."""

from __future__ import annotations

import gzip
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from formulaseed import DataError, SeedError, load_evaluator, load_requests, load_seed, run
from formulaseed.cli.main import cli
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
    "a file of expected outputs": ("expected.jsonl", (TASKS / "g1a_v2" / "expected.jsonl").read_text(encoding="utf-8")),
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

TAKES = {
    "check {}": "a seed, a file of requests, a file of rules, a formula reference",
    "compile {}": "a seed, a file of requests, a file of rules",
    "fmt --check {}": "a seed, a file of requests, a file of rules",
    "evaluate {} --rows rows.jsonl": "a seed, a generated module",
    "run {} --contexts contexts.jsonl": "a seed, a generated module",
    "migrate {}": "a seed",
    "draft {} --dry-run": "Markdown, plain text",
    "graph {}": "a seed",
    "validate {} --restaurants contexts.jsonl": "a file of requests",
    "shorthand --check {}": "a file of requests",
    "formula --file {} --reference reference.json": "a file of rules",
    "formula 1+1 --reference {}": "a formula reference",
    "evaluate seed.json --rows {}": "a file of rows",
    "explain seed.json --rows {} --id lotus-garden": "a file of rows",
    "cover seed.json --rows {}": "a file of rows",
    "expect seed.json --rows rows.jsonl --expected {}": "a file of expected outputs",
    "run seed.json --contexts {}": "a file of contexts, a file of restaurants",
    "run seed.json --restaurants {} --reviews reviews.jsonl": "a file of restaurants, a file of contexts",
    "run seed.json --restaurants restaurants.jsonl --reviews {}": "a file of reviews",
    "run seed.json --contexts contexts.jsonl --extractor recorded --extractions {}": "a file of recorded extractions",
    "validate requests.jsonl --restaurants contexts.jsonl --judgements {}": "a file of judgements",
    "validate requests.jsonl --restaurants contexts.jsonl --social {}": "a social graph",
}
"""The kinds that commands take, by command line with `{}` for the file."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of each kind."""
    place = tmp_path_factory.mktemp("kinds")
    for name, content in FILES.values():
        (place / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return place


def errors_of(done: Outcome) -> list[str]:
    return re.findall(r"^(?:error\[FS\d+\] [\w-]+|formulaseed): (.*)$", done.out + done.err, re.M)


def text_of(noun: str) -> str:
    content = FILES[noun][1]
    return content if isinstance(content, str) else content.decode("latin-1")


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of restaurants opened, and never read
@pytest.mark.parametrize("line", TAKES)
def test_the_wrong_kind_of_file_is_one_error(line: str, folder: Path) -> None:
    """It names the kind, and a command or what to do; what a command takes gives no such error."""
    taken = TAKES[line].split(", ")
    for noun, (name, _) in FILES.items():
        if name.endswith((".parquet", ".py")) and noun not in taken and not line.startswith("draft"):
            continue  # Parquet and modules are known by their names, and have errors of their own
        if noun == "YAML" and line.startswith("draft"):
            continue  # a policy in words may begin with YAML
        done = command(*line.format(name).split(), cwd=folder)
        if noun in taken:
            assert " this is " not in done.out + done.err, (noun, done.err)
            assert f"cannot read {name}: it is" not in done.err, (noun, done.err)
            continue
        assert done.status in (1, 2), (noun, done.out, done.err)
        (error,) = errors_of(done)
        expected = rf"(this|it) is {noun}, "
        if noun == "a file of several seeds" and error.startswith("cannot read"):
            expected = "it is a (seed|file of several seeds), "  # some read lines one by one
        elif noun == "a JSON list of contexts" and "a file of contexts" in taken:
            expected = "it is one JSON document over several lines"  # of the right kind
        assert re.search(expected, error), (noun, error)
        assert "failed:" not in done.err


def test_a_folder_and_an_empty_file(folder: Path, tmp_path: Path) -> None:
    """A folder cannot be read; an empty file is no document, and data without a line."""
    empty = tmp_path / "empty.json"
    empty.write_text(" \n")
    for line, path, status, error in (
        ("check {}", tmp_path, 2, f"cannot read {tmp_path}: Is a directory"),
        ("evaluate seed.json --rows {}", tmp_path, 2, f"cannot read {tmp_path}: Is a directory"),
        ("check {}", empty, 1, "the file is empty"),
        ("compile {}", empty, 1, "the file is empty"),
        ("evaluate {} --rows rows.jsonl", empty, 1, "the file is empty"),
    ):
        done = command(*line.format(path).split(), cwd=folder)
        assert (done.status, errors_of(done)) == (status, [error])
    done = command("evaluate", "seed.json", "--rows", empty, cwd=folder)
    assert (done.status, "0 lines: 0 restaurants" in done.err) == (0, True)


@pytest.mark.thorough
def test_tables_of_another_kind_are_named(folder: Path, tmp_path: Path) -> None:
    """One sentence, not one for each column that is missing."""
    pytest.importorskip("duckdb")
    score = ("score", "seed.json", "--out", tmp_path / "out.jsonl", "--rows")
    for noun in ("a file of contexts", "a file of requests", "a file of recorded extractions"):
        done = command(*score, FILES[noun][0], cwd=folder)
        assert (done.status, "column" in done.err) == (1, False)
        assert f"formulaseed: the rows are {noun}; `formulaseed " in done.err
    assert command(*score, "rows.jsonl", cwd=folder).status == 0


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
    path = tmp_path / "seed.json"
    for indent in (None, 2):
        path.write_text(json.dumps(snippet, indent=indent), encoding="utf-8")
        (error,) = analyse_file(path).diagnostics
        assert (error.code, error.help) == ("FS008", help)
        assert error.message.endswith(", not a whole seed")
    if isinstance(snippet, dict):
        (error,) = analyse(snippet).diagnostics
        assert (error.code, error.help) == ("FS008", help)


def test_a_seed_is_no_snippet(tmp_path: Path) -> None:
    """Snippets that are put where the help says are taken; missing and misspelt keys of a seed are reported as such."""

    def codes_of(value: object) -> set[str]:
        return {d.code for d in analyse_file(write_json(tmp_path / "seed.json", value)).diagnostics}

    field = SEED["extract"]["fields"]
    seed = {"task_name": "T", "extract": {"fields": field}, "compute": [STEPS["N_MILD"]], "output": ["N_MILD"]}
    assert not {code for code in codes_of(seed) if code < "FS6"}
    assert codes_of([{"name": "double", "formula": "stars * 2"}]) == set()
    for change in ({"task_nme": "T"}, {"filter": 1}, {"extract": []}):
        assert "FS008" not in codes_of({key: value for key, value in SEED.items() if key != "task_name"} | change)
    for part in ({}, {"task_name": "T"}, {"task_name": "T", "rows": []}, {"unknown": "x"}):
        assert codes_of(part) <= {"FS501", "FS502"}


# --- how a kind is recognised


def test_no_kind_is_taken_for_another() -> None:
    """Each file of the table is of its own kind; and every kind has an example there or among the snippets."""
    kinds = {noun: kind_of_text(text_of(noun), name) for noun, (name, _) in FILES.items()}
    assert {noun: kind and kind.noun for noun, kind in kinds.items()} == {noun: noun for noun in FILES}
    examples = [*kinds.values(), *(kind_of(value) for value, _ in SNIPPETS.values())]
    assert {*KINDS, *KINDS_OF_TEXT} <= {kind.name for kind in examples if kind is not None}


@pytest.mark.parametrize("noun", FILES)
def test_invalid_json_is_of_the_kind_that_its_keys_say(noun: str) -> None:
    """A comma too many, or the end of the file within the first object, changes nothing."""
    name, text = FILES[noun][0], text_of(noun)
    kind = kind_of_text(text, name)
    assert kind is not None
    if kind.name in KINDS and text.startswith("{") and noun != "a file of several seeds":
        _, end = json.JSONDecoder().raw_decode(text)
        for broken in (text[: end - 1] + ",}", "[" + text[: end - 1] + ",}", text[: end - 1]):
            assert kind_of_text(broken, name) is kind


UNCERTAIN = ['{"a": 1', "[1, 2", "", "  ", "null", "3", '"x"', "// comment", "{]"]
LONG = ["[" * 1_000_000, '{"' + '\\"' * 500_000, '{"a": {' * 200_000, '{"a":' + "x" * 1_000_000]


@pytest.mark.parametrize("text", [*UNCERTAIN, *LONG], ids=lambda text: text[:8])
def test_what_is_not_certain_has_no_kind(text: str) -> None:
    """Deciding that takes linear time."""
    start = time.perf_counter()
    assert kind_of_text(text, "seed.json") is None
    assert time.perf_counter() - start < 1


def test_help_names_commands_and_options_that_exist() -> None:
    with click.Context(cli) as context:
        for kind in (KINDS | KINDS_OF_TEXT).values():
            for line in re.findall(r"`formulaseed ([^`]*)`", kind.help):
                name, *arguments = line.split()
                named = cli.get_command(context, name)
                assert named is not None, line
                options = {option for parameter in named.params for option in parameter.opts}
                assert {word for word in arguments if word.startswith("--")} <= options, line


def test_a_suffix_says_nothing_of_json(tmp_path: Path) -> None:
    """Documents have any name; the beginning of a file that is called JSON may be a mistake in it."""
    for name in ("seed.txt", "seed.md", "seed.yaml", "seed"):
        assert not analyse_file(write_json(tmp_path / name, SEED)).has_errors
    path = tmp_path / "seed.json"
    path.write_text("# a comment\n" + json.dumps(SEED), encoding="utf-8")
    (error,) = analyse_file(path).diagnostics
    assert error.message == "comments are not allowed in JSON"


def test_a_stray_line_fails_alone(folder: Path, tmp_path: Path) -> None:
    """A file that is called JSON Lines is read line by line, also if the first line is not JSON."""
    rows = tmp_path / "rows.jsonl"
    rows.write_text("# rows\n" + text_of("a file of rows"), encoding="utf-8")
    done = command("evaluate", "seed.json", "--rows", rows, cwd=folder)
    assert (done.status, "3 restaurants, 0 failed; 1 line unreadable" in done.err) == (3, True)


def test_a_fault_of_json_in_requests_is_the_only_error(tmp_path: Path) -> None:
    """Nothing is missing from a seed that it is not."""
    text = json.dumps(REQUESTS[0], indent=2)
    placeholder = json.dumps({**REQUESTS[0], "structure": {}}, indent=2).replace("{}", "{ ... }")
    path = tmp_path / "request.json"
    for broken, line in (
        (text[:-2] + ",\n}", text.count("\n")), (text[:-20], text.count("\n")), (placeholder, 7),
        ('{"op": "AND" | "OR", "args": [ ... ]}', 1), (f"[{text}, {text}", text.count("\n") * 2 + 1),
    ):  # fmt: skip
        path.write_text(broken)
        diagnostics = json.loads(command("check", path, "--format", "json").out)
        assert (diagnostics[-1]["code"], diagnostics[-1]["line"]) == ("FS001", line)
        assert all("seed" not in d["message"] for d in diagnostics)


def test_a_reference_that_cannot_be_read_is_no_internal_error(tmp_path: Path) -> None:
    rules = write_json(tmp_path / "rules.json", {"rules": [{"name": "a", "formula": "1 + 1"}]})
    for path in (tmp_path, tmp_path / "absent.json"):
        done = command("check", rules, "--reference", path)
        assert (done.status, done.out) == (2, "")
        assert done.err.startswith(f"formulaseed: cannot read {path}: ")


# --- Python


@pytest.mark.parametrize(
    "call",
    [
        lambda: load_seed({"name": "N", "op": "count"}),
        lambda: load_seed(CONTEXTS[0]),
        lambda: load_seed(EXAMPLES / "requests.jsonl"),
        lambda: load_seed(EXAMPLES / "rows-g1a_v2.jsonl"),
        lambda: load_requests(TASKS / "g1a_v2" / "seed.json"),
        lambda: load_requests([CONTEXTS[0]]),
        lambda: load_requests([SEED]),
        lambda: load_evaluator(EXAMPLES / "contexts.jsonl"),
    ],
)
def test_documents_of_another_kind_are_refused_in_python(call: Callable[[], Any]) -> None:
    with pytest.raises(SeedError) as error:
        call()
    assert [d.code for d in error.value.diagnostics] == ["FS008"]


@pytest.mark.parametrize(
    ("contexts", "help"),
    [
        (EXAMPLES / "rows-g1a_v2.jsonl", "formulaseed evaluate SEED --rows "),
        ([tiny_rows("a", tiny_row("r1"))], "formulaseed.load_evaluator(seed).evaluate(rows, context)"),
    ],
)
def test_the_help_for_data_in_python(contexts: Any, help: str) -> None:
    """For a path the help names a command, for a list of objects a function."""
    with pytest.raises(DataError, match=re.escape(f"it is a file of rows, not a file of contexts; `{help}")):
        list(run(SEED, contexts))


def test_an_option_of_another_command_is_named(folder: Path) -> None:
    done = command("run", "seed.json", "--rows", "rows.jsonl", cwd=folder)
    assert done.status == 2
    assert done.err.endswith("It is an option of `compile`, `diff`, `expect`.\n")
    done = command("evaluate", "seed.json", "--contexts", "contexts.jsonl", cwd=folder)
    assert "`run`, `extract`" in done.err.partition("It is an option of ")[2]
    assert "It is an option" not in command("evaluate", "seed.json", "--nonsense", cwd=folder).err


# --- names of output files

V1 = {
    "task_name": "Old", "filter_keywords": ["a"], "extraction_fields": [{"name": "mood", "values": ["good", "bad"]}],
    "compute_dag": [{"name": "n", "formula": "sum(1 for e in extractions if e['mood'] == 'good')"}], "output_fields": ["n"],
}  # fmt: skip
OUTPUTS = {
    "evaluate seed.json --rows rows.jsonl --out {}": (".jsonl, .csv or .parquet, or pass --format", ".csv"),
    "run seed.json --contexts contexts.jsonl --extractor lexical --out {}": (
        ".jsonl, .csv or .parquet, or pass --format",
        ".jsonl",
    ),
    "run seed.json --contexts contexts.jsonl --extractor lexical --out out.jsonl --rows-out {}": (
        ".jsonl or .parquet",
        ".jsonl",
    ),
    "run seed.json --contexts contexts.jsonl --extractor lexical --out out.jsonl --extractions-out {}": (
        ".jsonl",
        ".jsonl",
    ),
    "extract seed.json --contexts contexts.jsonl --extractor lexical --out {}": (
        ".jsonl or .parquet, or pass --format",
        ".jsonl",
    ),
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
    "draft task.md --out {}": (".json", ""),
    "store export --out {}": (".jsonl", ""),
}


@pytest.mark.parametrize("line", OUTPUTS)
@pytest.mark.thorough
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


@pytest.mark.thorough
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


# --- fmt


def shuffle(requests: list[dict[str, Any]]) -> str:
    """Return requests, one a line, with other white space and another order of keys."""
    return "\n".join(json.dumps(dict(reversed(request.items())), separators=(",", ":")) for request in requests)


@pytest.mark.parametrize(
    ("name", "text", "beginning"),
    [
        ("requests.jsonl", shuffle(REQUESTS), lines(*REQUESTS)),
        ("one.jsonl", shuffle(REQUESTS[:1]), lines(REQUESTS[0])),
        ("one.json", shuffle(REQUESTS[:1]), lines(REQUESTS[0])),
        ("list.json", json.dumps(REQUESTS), "[\n"),
        ("list.json", json.dumps(REQUESTS, indent=4), "[\n"),
        ("objects.json", "\n".join(json.dumps(request, indent=4) for request in REQUESTS), "{\n"),
    ],
)
def test_fmt_keeps_the_layout_of_requests(name: str, text: str, beginning: str, tmp_path: Path) -> None:
    """One request a line, also in a file of one, a list, or several lines each; the meaning stays, too."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    before = load_requests(path)
    assert command("fmt", path).out == f"{path}\n"
    assert path.read_text(encoding="utf-8").startswith(beginning)
    after = load_requests(path)
    assert [request.id for request in after.program.requests] == [request.id for request in before.program.requests]
    assert after.sha256 == before.sha256 or text.startswith('{"gold_restaurant":')  # the hash is of keys in their order
    assert command("fmt", "--check", path).status == command("check", path).status == 0


def test_fmt_prints_what_it_cannot_write_back_and_sorts_seeds_alone(folder: Path, tmp_path: Path) -> None:
    packed = tmp_path / "seed.json.gz"
    data = gzip.compress(json.dumps(SEED).encode())
    packed.write_bytes(data)
    assert json.loads(command("fmt", packed).out) == SEED
    assert packed.read_bytes() == data
    done = command("fmt", "--sort", "requests.jsonl", cwd=folder)
    assert (done.status, "--sort is for seeds" in done.err) == (2, True)
