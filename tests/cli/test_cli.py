"""The commands as people run them: real processes, real files, exit statuses."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from formulaseed import load_seed
from formulaseed.diagnostics.codes import CODES
from helpers import (
    EXAMPLES,
    ROOT,
    SEEDS,
    TASKS,
    Outcome,
    formulaseed,
    read_lines,
    tiny_row,
    tiny_rows,
    tiny_seed,
    write_json,
    write_lines,
)

WAITS = TASKS / "wait_times" / "seed.json"
G1A = TASKS / "g1a_v2" / "seed.json"
CONTEXTS = EXAMPLES / "contexts.jsonl"
WAIT_EXTRACTIONS = EXAMPLES / "extractions-wait_times.jsonl"
COMMANDS = (
    "check", "compile", "evaluate", "run", "draft", "validate", "agreement", "demo", "dump", "fmt", "schema", "migrate",
    "shorthand", "formula", "reference", "rule",
)  # fmt: skip

BAD_STEPS = [
    {"name": "N_ALL", "op": "count", "where": {"extraction.mood": "goood"}},
    {"name": "A", "op": "expr", "expr": "N_ALL + N_AL"},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the files lie that no test changes."""
    return tmp_path_factory.mktemp("cli")


@pytest.fixture(scope="module")
def tiny(folder: Path) -> Path:
    return write_json(folder / "tiny.json", tiny_seed())


@pytest.fixture(scope="module")
def bad(folder: Path) -> Path:
    """A seed with two errors: an enum value and a name that there are not."""
    return write_json(folder / "bad.json", tiny_seed(compute=BAD_STEPS, output=["A"]))


@pytest.fixture(scope="module")
def module(folder: Path, tiny: Path) -> Path:
    """The small seed's module."""
    assert formulaseed("compile", tiny, "--out", folder / "modules").status == 0
    return folder / "modules" / "tiny_1.py"


@pytest.fixture(scope="module")
def rows(folder: Path) -> Path:
    """Three restaurants: one good, one with a single review, one with none, for which `SHARE` has no value."""
    good = [tiny_row("r1", score=3, stars=5), tiny_row("r2", score=1, stars=4), tiny_row("r3", "bad", 9, 1)]
    lone = [tiny_row("r1", "bad")]
    records = [tiny_rows("good", *good), tiny_rows("lone", *lone), tiny_rows("none")]
    return write_lines(folder / "rows.jsonl", *records)


@pytest.fixture(scope="module")
def evaluated(tiny: Path, rows: Path) -> Outcome:
    return formulaseed("evaluate", tiny, "--rows", rows)


@pytest.fixture(scope="module")
def traced(tiny: Path, rows: Path) -> Outcome:
    return formulaseed("evaluate", tiny, "--rows", rows, "--trace", "--param", "LEAST=1")


# --- check


SPEC_DIAGNOSTICS = ("FS615", "FS617", "FS614", "FS612", "FS613", "FS602", "FS619", "FS609", "FS605")
"""What the specification's own example brings, in the order of the file."""


def test_check_of_good_seeds_is_fine() -> None:
    """Every task of the project passes, all but the specification's own without a warning; those change no status."""
    found = formulaseed("check", *SEEDS)
    assert found.status == 0, found.out
    assert f"{WAITS}: no problems" in found.out
    assert f"{G1A}: 5 warnings, 4 notes (see --notes)" in found.out
    assert found.out.count(": no problems") == len(SEEDS) - 1
    assert "warning[FS602] unused-step" in found.out


def test_check_reports_all_errors_with_the_place_underlined(bad: Path) -> None:
    """Both errors of a seed in one go, each with its line, what is wrong underlined, and help."""
    found = formulaseed("check", bad)
    assert found.status == 1
    lines = found.out.splitlines()
    assert sum(line.startswith("error[") for line in lines) == 2
    assert f"{bad}: 2 errors" in lines
    where = next(number for number, line in enumerate(bad.read_text().splitlines(), 1) if "N_ALL + N_AL" in line)
    at = lines.index(next(line for line in lines if line.startswith("error[FS201] unknown-name")))
    place, _, shown, underlined, help_line, more = lines[at + 1 : at + 7]
    assert place.startswith(f"  --> {bad}:{where}:")
    assert place.endswith("/compute/1/expr")
    assert shown[underlined.index("^") : underlined.rindex("^") + 1] == "N_AL"
    assert help_line == "   = help: did you mean `N_ALL`?"
    assert more == "   = more: formulaseed rule FS201"


def test_check_in_json_lists_every_diagnostic(bad: Path) -> None:
    """One list over all seeds; each object has its code, its words and the place from line and column to the end."""
    found = formulaseed("check", bad, G1A, "--format", "json")
    assert found.status == 1
    diagnostics = json.loads(found.out)
    assert [(d["code"], d["severity"], d["file"]) for d in diagnostics] == [
        ("FS302", "error", str(bad)),
        ("FS201", "error", str(bad)),
        *((code, CODES[code].severity, str(G1A)) for code in SPEC_DIAGNOSTICS),
    ]
    unknown = diagnostics[1]
    assert list(unknown) == [
        "code", "severity", "message", "file", "pointer", "line", "column", "end_line", "end_column", "help",
    ]  # fmt: skip
    line = bad.read_text().splitlines()[unknown["line"] - 1]
    assert line[unknown["column"] - 1 : unknown["end_column"] - 1] == "N_AL"
    assert (unknown["pointer"], unknown["end_line"]) == ("/compute/1/expr", unknown["line"])


def test_check_in_json_of_nothing_wrong_is_an_empty_list() -> None:
    """A tool can read the output whatever comes out."""
    found = formulaseed("check", WAITS, "--format", "json")
    assert (found.status, json.loads(found.out), found.err) == (0, [], "")


def test_check_goes_on_after_a_file_that_cannot_be_read(bad: Path, folder: Path) -> None:
    """A missing file makes the status 2; the seeds behind it are checked all the same."""
    found = formulaseed("check", folder / "absent.json", bad, WAITS)
    assert found.status == 2
    assert f"cannot read {folder / 'absent.json'}: No such file or directory" in found.err
    assert "2 errors" in found.out
    assert f"{WAITS}: no problems" in found.out


# --- compile


def test_compile_writes_modules_that_check_as_current(tiny: Path, tmp_path: Path) -> None:
    """A module is missing, then current, then not what its seed compiles to; --check writes nothing."""
    out = tmp_path / "new" / "modules"
    module = out / "tiny_1.py"
    missing = formulaseed("compile", tiny, "--out", out, "--check")
    assert (missing.status, out.exists()) == (1, False)
    assert f"{module}: missing" in missing.out

    made = formulaseed("compile", tiny, WAITS, "--out", out)
    assert (made.status, made.out) == (0, f"{module}\n{out / 'wait_times.py'}\n")
    assert sorted(path.name for path in out.iterdir()) == ["tiny_1.py", "wait_times.py"]

    edited = module.read_text(encoding="utf-8").replace("> 0.5", "> 0.6")
    module.write_text(edited, encoding="utf-8")
    stale = formulaseed("compile", tiny, WAITS, "--out", out, "--check")
    assert stale.status == 1
    assert f"{module}: not what {tiny} compiles to" in stale.out
    assert f"{out / 'wait_times.py'}: current" in stale.out
    assert module.read_text(encoding="utf-8") == edited


def test_compile_to_standard_output_prints_the_same_module(tiny: Path, module: Path, tmp_path: Path) -> None:
    """--stdout prints what --out writes, and writes nothing."""
    printed = formulaseed("compile", tiny, "--stdout", "--out", module.parent, cwd=tmp_path)
    assert (printed.status, printed.out) == (0, module.read_text(encoding="utf-8"))
    assert list(tmp_path.iterdir()) == []


def test_compile_writes_no_module_of_a_bad_seed(bad: Path, tiny: Path, tmp_path: Path) -> None:
    """A seed with errors is reported and left out; an earlier module of it stays; the other seeds are compiled."""
    out = tmp_path / "out"
    out.mkdir()
    old = out / "tiny_1.py"
    old.write_text("# old\n")
    found = formulaseed("compile", bad, WAITS, "--out", out)
    assert (found.status, found.out) == (1, f"{out / 'wait_times.py'}\n")
    assert "error[FS201]" in found.err
    assert f"{bad}: 2 errors; not compiled" in found.err
    assert old.read_text() == "# old\n"


def test_two_tasks_cannot_share_a_module(tiny: Path, tmp_path: Path) -> None:
    """Names that become the same file name are refused instead of one overwriting the other."""
    other = write_json(tmp_path / "other.json", tiny_seed(task_name="tiny 1"))
    found = formulaseed("compile", tiny, other, "--out", tmp_path / "out")
    assert found.status == 1
    assert str(tiny) in found.err
    assert str(other) in found.err
    assert "tiny_1.py" in found.err
    assert '"Tiny-1"' in (tmp_path / "out" / "tiny_1.py").read_text()


def test_compile_refuses_wrong_usage(tiny: Path) -> None:
    """An unknown target, no seed, and a folder that cannot be made end with status 2."""
    target = formulaseed("compile", tiny, "--target", "cobol")
    assert target.status == 2
    assert "cobol" in target.err
    assert "python" in target.err
    assert formulaseed("compile").status == 2
    blocked = formulaseed("compile", tiny, "--out", tiny)
    assert blocked.status == 2
    assert f"cannot write {tiny}" in blocked.err


# --- evaluate


def test_evaluate_gives_each_restaurant_its_outputs(evaluated: Outcome, rows: Path) -> None:
    """Values as the seed computes them; where there is none, an error in their place, and status 3."""
    assert evaluated.status == 3
    good, lone, none = evaluated.results
    assert good == {
        "business_id": "good",
        "name": "The good",
        "task": "Tiny-1",
        "output": {"N_GOOD": 2, "TOTAL": 19.0, "SHARE": pytest.approx(2 / 3), "VERDICT": "good"},
        "reviews": {"total": 3, "relevant": 3, "extracted": 3, "failed": 0},
        "run": {
            "seed_sha256": load_seed(tiny_seed()).sha256,
            "seed_version": None,
            "parameters": {"LEAST": 2},
            "extractor": None,
            "prompt_sha256": None,
        },
    }
    assert lone["run"] == none["run"] == good["run"]
    assert lone["output"] == {"N_GOOD": 0, "TOTAL": 0, "SHARE": 0.0, "VERDICT": "few"}
    assert "output" not in none
    assert (none["business_id"], none["name"]) == ("none", "The none")
    assert (none["error"]["step"], none["error"]["kind"]) == ("SHARE", "division_by_zero")
    assert f"failed: {rows}:3: none: SHARE: division_by_zero: " in evaluated.err


def test_evaluate_reads_plain_packed_and_piped_rows_alike(
    evaluated: Outcome, module: Path, rows: Path, tmp_path: Path
) -> None:
    """A file, a gzipped file to a file, and standard input, with the seed or its module: the same lines."""
    packed = tmp_path / "rows.jsonl.gz"
    packed.write_bytes(gzip.compress(rows.read_bytes()))
    out = tmp_path / "new" / "results.jsonl"
    written = formulaseed("evaluate", module, "--rows", packed, "--out", out)
    assert (written.status, written.out) == (3, "")
    assert out.read_text(encoding="utf-8") == evaluated.out
    piped = formulaseed("evaluate", module, "--rows", "-", stdin=rows.read_bytes())
    assert piped.out == evaluated.out
    assert "failed: <stdin>:3: none: " in piped.err


def test_a_seed_and_its_module_give_the_same_results(tiny: Path, module: Path, rows: Path, traced: Outcome) -> None:
    """evaluate and run take the module in place of the seed, parameters and all."""
    assert formulaseed("evaluate", module, "--rows", rows, "--trace", "--param", "LEAST=1").out == traced.out
    arguments = ("--contexts", CONTEXTS, "--limit", "3", "--trace")
    assert formulaseed("run", module, *arguments).out == formulaseed("run", tiny, *arguments).out


def test_trace_shows_every_step_and_the_reviews_behind_it(traced: Outcome) -> None:
    """--trace adds all steps in the seed's order, and for each aggregate the reviews that counted."""
    good, lone, none = traced.results
    assert list(good["steps"]) == ["N", "N_GOOD", "TOTAL", "SHARE", "VERDICT"]
    assert good["steps"]["N"] == 3
    assert {name: good["steps"][name] for name in good["output"]} == good["output"]
    assert good["evidence"] == {"N": ["r1", "r2", "r3"], "N_GOOD": ["r1", "r2"], "TOTAL": ["r1", "r2"]}
    assert lone["evidence"] == {"N": ["r1"], "N_GOOD": [], "TOTAL": []}
    assert not {"output", "steps", "evidence"} & set(none)


def test_parameters_are_given_by_name(evaluated: Outcome, traced: Outcome) -> None:
    """--param replaces a default: with LEAST=1 a single review is enough for a verdict."""
    assert evaluated.by_id()["lone"]["output"]["VERDICT"] == "few"
    assert traced.by_id()["lone"]["output"]["VERDICT"] == "bad"
    assert traced.by_id()["good"]["output"] == evaluated.by_id()["good"]["output"]


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        (["LEAST"], "NAME=VALUE"),
        (["MOST=3"], "there is no parameter `MOST`"),
        (["LEAST=0"], "`param.LEAST` must be from 1 to 10, not 0"),
        (["LEAST=true"], "`param.LEAST`"),
        (["LEAST=NaN"], "`param.LEAST`"),
        (["LEAST=2", "LEAST=3"], "`LEAST` twice"),
    ],
)
def test_a_wrong_parameter_is_wrong_usage(module: Path, rows: Path, given: list[str], reported: str) -> None:
    """Unknown, out of bounds, of another type, given twice, or no NAME=VALUE: status 2, nothing evaluated."""
    found = formulaseed("evaluate", module, "--rows", rows, *(part for text in given for part in ("--param", text)))
    assert (found.status, found.out) == (2, "")
    assert reported in found.err


def test_a_seed_without_parameters_takes_none(rows: Path) -> None:
    """A parameter for a seed that declares none is wrong usage."""
    found = formulaseed("evaluate", G1A, "--rows", rows, "--param", "LEAST=3")
    assert (found.status, found.out) == (2, "")
    assert "has no parameters" in found.err


def test_example_rows_give_verdicts() -> None:
    """The example in the documentation works as it stands: fourteen restaurants, each with a verdict."""
    found = formulaseed("evaluate", "tasks/g1a_v2/seed.json", "--rows", "examples/rows-g1a_v2.jsonl")
    assert found.status == 0
    assert len(found.results) == 14
    assert {result["output"]["VERDICT"] for result in found.results} <= {"Low Risk", "High Risk", "Critical Risk"}


# --- run


def test_run_with_recorded_extractions_equals_their_evaluation() -> None:
    """Filtering, looking recorded values up and evaluating gives what the ready-made rows give, but for the counts and
    the extractor."""
    extractions = EXAMPLES / "extractions-g1a_v2.jsonl"
    ran = formulaseed(
        "run", G1A, "--contexts", CONTEXTS, "--extractor", "recorded", "--extractions", extractions, "--trace"
    )
    evaluated = formulaseed("evaluate", G1A, "--rows", EXAMPLES / "rows-g1a_v2.jsonl", "--trace")
    assert (ran.status, evaluated.status) == (0, 0)
    for result, expected in zip(ran.results, evaluated.results, strict=True):
        counts = result.pop("reviews")
        assert counts["relevant"] == counts["extracted"] == expected.pop("reviews")["extracted"]
        assert (result["run"].pop("extractor"), expected["run"].pop("extractor")) == ("recorded", None)
        assert result == expected
    assert "14 restaurants, 0 failed; 114 of 215 reviews relevant, 114 extracted (recorded)" in ran.err


def test_run_joins_restaurants_and_reviews(tmp_path: Path) -> None:
    """Two files joined by business_id, reviews shuffled between restaurants, give what the one file gives."""
    contexts = read_lines(CONTEXTS)
    restaurants = [{**c["business"], "business_id": c["business_id"]} for c in contexts]
    reviews = [{**review, "business_id": c["business_id"]} for c in contexts for review in c["reviews"]]
    reviews.sort(key=lambda review: review["date"])
    joined = formulaseed(
        *("run", WAITS, "--restaurants", write_lines(tmp_path / "restaurants.jsonl", *restaurants)),
        *("--reviews", write_lines(tmp_path / "reviews.jsonl", *reviews), "--trace"),
    )
    whole = formulaseed("run", WAITS, "--contexts", "-", "--trace", stdin=CONTEXTS.read_bytes())
    assert (joined.status, whole.status) == (0, 0)
    assert len(whole.results) == 14
    assert joined.out == whole.out


def test_run_stops_at_the_limit_and_writes_to_a_file(tmp_path: Path) -> None:
    """--limit takes the first restaurants; standard output stays empty with --out; the summary counts them."""
    out = tmp_path / "results.jsonl"
    found = formulaseed("run", WAITS, "--contexts", CONTEXTS, "--limit", 2, "--out", out)
    assert (found.status, found.out) == (0, "")
    assert [result["business_id"] for result in read_lines(out)] == ["lotus-garden", "saigon-lantern"]
    assert "2 restaurants, 0 failed" in found.err


def test_a_review_that_was_not_extracted_fails_its_restaurant_or_is_skipped(tiny: Path, tmp_path: Path) -> None:
    """By default its restaurant has an error; with --on-error skip the rest counts; either way it is reported, status 3."""
    reviews = [{"review_id": f"r{n}", "text": text, "stars": 4} for n, text in enumerate(["SOUP!", "a Soup", "tea"])]
    contexts = write_lines(
        tmp_path / "contexts.jsonl",
        {"business_id": "a", "business": {"name": "A", "is_open": 1}, "reviews": reviews},
        {"business_id": "b", "name": "B", "is_open": 0, "reviews": reviews[:1]},
    )
    fields = {"mood": "good", "score": 2}
    extractions = write_lines(
        tmp_path / "extractions.jsonl",
        {"business_id": "a", "review_id": "r0", "fields": fields},
        {"business_id": "b", "review_id": "r0", "fields": fields},
    )
    arguments = ("run", tiny, "--contexts", contexts, "--extractor", "recorded", "--extractions", extractions)

    failed = formulaseed(*arguments, "--param", "LEAST=1")
    a, b = failed.results
    assert failed.status == 3
    assert (a["name"], a["error"]["step"], a["error"]["kind"]) == ("A", None, "extraction")
    assert "1 of 2 relevant reviews" in a["error"]["message"]
    assert "r1" in a["error"]["message"]
    assert a["reviews"] == {"total": 3, "relevant": 2, "extracted": 1, "failed": 1}
    assert b["output"] == {"N_GOOD": 1, "TOTAL": 8.0, "SHARE": 1.0, "VERDICT": "bad"}
    assert f"failed: {contexts}:1: a: review r1: no extraction is recorded for it" in failed.err
    assert "2 restaurants, 1 failed" in failed.err

    skipped = formulaseed(*arguments, "--on-error", "skip", "--trace")
    a, _ = skipped.results
    assert skipped.status == 3
    assert a["output"]["N_GOOD"] == 1
    assert a["reviews"] == {"total": 3, "relevant": 2, "extracted": 1, "failed": 1}
    assert a["evidence"]["N"] == ["r0"]
    assert "a: review r1: " in skipped.err


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--contexts", CONTEXTS, "--reviews", CONTEXTS],
        ["--restaurants", CONTEXTS],
        ["--contexts", CONTEXTS, "--extractor", "recorded"],
        ["--contexts", CONTEXTS, "--extractions", WAIT_EXTRACTIONS],
        ["--contexts", CONTEXTS, "--extractor", "oracle"],
        ["--contexts", CONTEXTS, "--limit", "-1"],
        ["--contexts", CONTEXTS, "--param", "MOST=1"],
        ["--contexts", "absent.jsonl"],
    ],
)
def test_run_refuses_options_that_do_not_go_together(tiny: Path, arguments: list[object]) -> None:
    """Wrong usage ends with status 2 before anything is evaluated."""
    found = formulaseed("run", tiny, *arguments)
    assert (found.status, found.out) == (2, "")
    assert found.err


def test_run_with_a_module_needs_its_seed(module: Path, tmp_path: Path) -> None:
    """A module whose seed is not there, or has changed, is refused with what to do."""
    alone = tmp_path / "modules" / "tiny_1.py"
    alone.parent.mkdir()
    alone.write_bytes(module.read_bytes())
    gone = formulaseed("run", alone, "--contexts", CONTEXTS)
    assert (gone.status, gone.out) == (2, "")
    assert "pass the seed instead" in gone.err
    write_json(tmp_path / "tiny.json", tiny_seed(filter={"keywords": ["broth"]}))
    changed = formulaseed("run", alone, "--contexts", CONTEXTS)
    assert (changed.status, changed.out) == (2, "")
    assert "compile it again" in changed.err


# --- agreement


def test_agreement_measures_the_lexical_extractor() -> None:
    """A line a field over all recorded reviews, as text and, with the same numbers, as JSON."""
    arguments = ("agreement", WAITS, "--contexts", CONTEXTS, "--extractions", WAIT_EXTRACTIONS)
    text, data = formulaseed(*arguments), formulaseed(*arguments, "--format", "json")
    assert (text.status, data.status) == (0, 0)
    fields = json.loads(data.out)
    assert [(field["field"], field["n"]) for field in fields] == [
        ("wait_kind", 78), ("wait_minutes", 78), ("outcome", 78), ("blames_staffing", 78),
    ]  # fmt: skip
    assert "78 reviews with a recorded extraction" in text.out
    for field in fields:
        line = next(line for line in text.out.splitlines() if line.split()[:1] == [field["field"]])
        assert line.split()[1:4] == [str(field["n"]), str(field["equal"]), f"{field['accuracy']:.3f}"]


def test_agreement_reports_extractions_that_it_cannot_use(tmp_path: Path) -> None:
    """Bad lines are listed with status 3, the rest is measured."""
    lines = read_lines(WAIT_EXTRACTIONS)[:5]
    lines[1]["fields"]["outcome"] = "ran away"
    extractions = write_lines(tmp_path / "extractions.jsonl", *lines)
    found = formulaseed("agreement", WAITS, "--contexts", CONTEXTS, "--extractions", extractions)
    assert found.status == 3
    assert "4 reviews with a recorded extraction" in found.out
    assert f"failed: {extractions}:2: `outcome` must be one of" in found.err


# --- dump, fmt, rule


def test_dump_shows_each_phase(tiny: Path) -> None:
    """The document, the common program, the typed program and the module's plan, each recognised by its own words."""
    shown = {}
    for phase in ("read", "parse", "check", "plan"):
        found = formulaseed("dump", tiny, "--after", phase)
        assert found.status == 0
        shown[phase] = found.out
    assert shown["read"].startswith("JsonObject")
    assert "N_GOOD / N" in shown["read"]
    assert shown["parse"].startswith("Program")
    assert "N_GOOD / N" not in shown["parse"]
    assert "field extraction.mood: enum ('good', 'bad')" in shown["check"]
    assert shown["plan"].startswith("header:\n  Code generated by formulaseed")
    assert "n_good" in shown["plan"]
    assert formulaseed("dump", tiny).out == shown["check"]


def test_dump_of_a_bad_seed_shows_how_far_it_came(bad: Path) -> None:
    """What was parsed can be seen; a phase that the seed did not pass tells why, with status 1."""
    assert formulaseed("dump", bad, "--after", "parse").status == 0
    found = formulaseed("dump", bad, "--after", "check")
    assert (found.status, found.out) == (1, "")
    assert "error[FS201]" in found.err


def test_fmt_lays_a_seed_out_once_and_for_all(module: Path, tmp_path: Path) -> None:
    """The first run rewrites, the next finds nothing to do; the module stays the same to the byte."""
    shuffled = dict(reversed(tiny_seed().items()))
    seed = tmp_path / "tiny.json"
    seed.write_text(json.dumps(shuffled), encoding="utf-8")
    check = formulaseed("fmt", seed, "--check")
    assert check.status == 1
    assert f"{seed}: would be reformatted" in check.out
    assert json.loads(seed.read_text()) == shuffled
    assert formulaseed("fmt", seed).out == f"{seed}\n"
    text = seed.read_text(encoding="utf-8")
    assert list(json.loads(text)) == ["task_name", "parameters", "filter", "extract", "compute", "output"]
    assert '    {"name": "N_GOOD", "op": "count", "where": {"extraction.mood": "good"}},\n' in text
    again = formulaseed("fmt", seed, "--check")
    assert (again.status, again.out) == (0, "")
    formulaseed("compile", seed, "--out", tmp_path / "modules")
    assert (tmp_path / "modules" / "tiny_1.py").read_bytes() == module.read_bytes()


def test_fmt_sort_puts_steps_behind_those_that_they_use(tmp_path: Path) -> None:
    """A seed whose steps stand the wrong way round passes after --sort, and only then."""
    backwards = tiny_seed()
    backwards["compute"].reverse()
    seed = write_json(tmp_path / "seed.json", backwards)
    refused = formulaseed("check", seed)
    assert refused.status == 1
    assert "error[FS202]" in refused.out
    assert formulaseed("fmt", "--sort", seed).status == 0
    assert formulaseed("check", seed).status == 0
    assert formulaseed("fmt", "--sort", "--check", seed).status == 0
    names = [step["name"] for step in json.loads(seed.read_text())["compute"]]
    assert sorted(names) == ["N", "N_GOOD", "SHARE", "TOTAL", "VERDICT"]
    assert names.index("VERDICT") == 4


def test_fmt_sort_reports_a_cycle(tmp_path: Path) -> None:
    """Steps that use one another cannot be sorted; the file stays as it is."""
    cycle = [{"name": "A", "op": "expr", "expr": "B + 1"}, {"name": "B", "op": "expr", "expr": "A + 1"}]
    seed = write_json(tmp_path / "seed.json", tiny_seed(compute=cycle, output=["A"]))
    text = seed.read_text()
    found = formulaseed("fmt", "--sort", seed)
    assert found.status == 1
    assert "`A` uses `B`, `B` uses `A`" in found.err
    assert seed.read_text() == text


def test_fmt_leaves_what_is_no_json_alone(tmp_path: Path) -> None:
    """Nothing is written over a file that cannot be understood, and the other files are done."""
    broken, tidy = tmp_path / "broken.json", tmp_path / "tidy.json"
    broken.write_text('{"task_name": ')
    tidy.write_text(json.dumps(tiny_seed()))
    found = formulaseed("fmt", broken, tidy)
    assert found.status == 1
    assert "error[FS001]" in found.err
    assert broken.read_text() == '{"task_name": '
    assert found.out == f"{tidy}\n"


def test_rule_explains_a_code_by_number_and_by_name() -> None:
    """FS201, fs201 and unknown-name are one page."""
    page = formulaseed("rule", "FS201")
    assert page.status == 0
    assert "FS201" in page.out
    assert "unknown-name" in page.out
    assert formulaseed("rule", "fs201").out == page.out
    assert formulaseed("rule", "unknown-name").out == page.out


def test_rule_of_an_unknown_code_suggests_one() -> None:
    """A code that there is not is wrong usage, and the nearest one is named."""
    found = formulaseed("rule", "FS2O1")
    assert (found.status, found.out) == (2, "")
    assert "FS201" in found.err


# --- the command itself


def test_help_lists_the_commands() -> None:
    """--help, -h and no arguments at all show every command."""
    found = formulaseed("--help")
    assert found.status == 0
    for command in COMMANDS:
        assert f"\n  {command} " in found.out
    assert formulaseed("-h").out == found.out
    bare = formulaseed()
    assert bare.status == 2
    assert found.out.strip() in (bare.out + bare.err)


def test_help_has_sections_and_panels() -> None:
    """Commands in the order of a first day; the options of `run` and `extract` by their purpose, each once."""
    titles = re.findall(r"^(\w+):$", formulaseed("--help").out, re.MULTILINE)
    assert titles == ["Options", "Policy", "Running", "Understanding", "Requests", "Formulas", "Tools"]
    for command in ("run", "extract"):
        text = formulaseed(command, "--help").out
        panels = dict(re.findall(r"^(\w+)[^\n]*:\n(.*?)(?=^\w|\Z)", text, re.MULTILINE | re.DOTALL))
        assert [*panels][-5:] == ["Input", "Extractor", "Model", "Cost", "Output"]
        options = re.findall(r"^  (--[\w-]+)", text, re.MULTILINE)
        assert len(options) == len(set(options)) > 30
        for panel, option in {
            "Input": "sample",
            "Extractor": "min-confidence",
            "Model": "batch",
            "Cost": "max-usd",
        }.items():
            assert f"  --{option} " in panels[panel]
        assert "SEED" not in panels["Output"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_listed_command_has_help(command: str) -> None:
    """A command's own --help says how it is called."""
    found = formulaseed(command, "--help")
    assert found.status == 0
    assert found.out.startswith(f"Usage: formulaseed {command} ")


def test_version_names_the_release() -> None:
    """--version prints the distribution's version."""
    found = formulaseed("--version")
    assert found.status == 0
    version = next(line for line in (ROOT / "pyproject.toml").read_text().splitlines() if line.startswith("version"))
    assert version.split('"')[1] in found.out


def test_an_unknown_command_is_met_with_the_nearest() -> None:
    """A typo gets a suggestion; something else the list; both are wrong usage."""
    found = formulaseed("evalute")
    assert found.status == 2
    assert "there is no command `evalute`; did you mean `evaluate`?" in found.err
    other = formulaseed("brew")
    assert other.status == 2
    assert "`compile`" in other.err
    assert formulaseed("check", "--brew", WAITS).status == 2


# --- surroundings


@pytest.mark.parametrize("command", ["evaluate", "compile"])
def test_output_is_utf8_whatever_the_terminal_says(command: str, tmp_path: Path) -> None:
    """Results, modules and messages are the same bytes in a terminal of another encoding."""
    rows = write_lines(tmp_path / "rows.jsonl", tiny_rows("café", tiny_row("ß", "übel")), tiny_rows("ø", tiny_row("r")))
    seed = write_json(tmp_path / "seed.json", tiny_seed(description="Für Suppen ☕"))
    arguments = [command, seed, *(["--rows", rows] if command == "evaluate" else ["--stdout"])]
    assert formulaseed(*arguments, env={"PYTHONIOENCODING": "latin-1"}) == formulaseed(*arguments)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_reported(module: Path, rows: Path) -> None:
    """Results that cannot be written end the command with a message and status 2."""
    found = formulaseed("evaluate", module, "--rows", rows, "--out", "/dev/full")
    assert found.status == 2
    assert "No space left on device" in found.err


def test_closed_and_full_streams_are_met_calmly(module: Path, rows: Path) -> None:
    """No standard output, no standard input, a pipe whose reader has gone, a full disk: a status, never a crash."""
    arguments = ("evaluate", module, "--rows")
    assert formulaseed(*arguments, rows, redirect=">&-").status == 3
    assert formulaseed(*arguments, "-", redirect="<&-").status == 2
    assert formulaseed(*arguments, rows, redirect=">/dev/full").status == 2
    gone = formulaseed("evaluate", G1A, "--rows", EXAMPLES / "rows-g1a_v2.jsonl", redirect="| true")
    assert gone.out == ""


def test_results_never_overwrite_what_is_read(module: Path, rows: Path, tmp_path: Path) -> None:
    """Neither the input given as --out as well nor older results are lost where the command cannot do its work."""
    own, older = tmp_path / "own.jsonl", tmp_path / "older.jsonl"
    own.write_bytes(rows.read_bytes())
    assert formulaseed("evaluate", module, "--rows", own, "--out", own).status == 2
    assert own.read_bytes() == rows.read_bytes()
    older.write_text("older results\n")
    assert formulaseed("evaluate", module, "--rows", tmp_path / "absent.jsonl", "--out", older).status == 2
    assert older.read_text() == "older results\n"


def test_a_module_that_is_not_as_compiled_is_refused(module: Path, rows: Path, tmp_path: Path) -> None:
    """What the compiler never writes is not run: an import, a call, a division at import, a name of another type."""
    changed = tmp_path / "changed.py"
    for line in ("import os", "X = 1 // 0", "evaluate = 3", "OUTPUT = (1,)", "X = )"):
        changed.write_text(f"{module.read_text(encoding='utf-8')}\n{line}\n", encoding="utf-8")
        found = formulaseed("evaluate", changed, "--rows", rows)
        assert (found.status, found.out) == (1, ""), line
        assert "error[FS701]" in found.err, line


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("formulaseed exp", "plain,explain"),
        ("formulaseed check --stat", "plain,--statistics"),
        ("formulaseed check --format s", "plain,sarif"),
        ("formulaseed check tas", "file,tas"),
        ("formulaseed run x.json --contexts ex", "file,ex"),
        ("formulaseed formula ab", ""),
    ],
)
def test_a_shell_completes(typed: str, expected: str) -> None:
    """Commands, options, their values and files, but no texts; and each shell is given its script."""
    at = len(typed.split()) - 1
    env = {"_FORMULASEED_COMPLETE": "bash_complete", "COMP_WORDS": typed, "COMP_CWORD": str(at)}
    assert formulaseed(env=env).out.strip() == expected
    for shell in ("zsh", "fish"):
        assert "_FORMULASEED_COMPLETE" in formulaseed(env={"_FORMULASEED_COMPLETE": f"{shell}_source"}).out
