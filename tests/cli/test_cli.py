"""The commands as people run them: real processes, real files, exit statuses."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import NamedTuple

import pytest
from formulaseed import load_seed
from formulaseed.diagnostics.codes import CODES
from helpers import (
    EXAMPLES,
    SEEDS,
    TASKS,
    Outcome,
    command,
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
G1A_CODES = ("FS615", "FS617", "FS612", "FS619")
"""The codes of the notes on the allergy task, in the order of the file."""


class Files(NamedTuple):
    """Files that no test changes, and the results of evaluating them."""

    folder: Path
    tiny: Path
    bad: Path
    module: Path
    rows: Path
    evaluated: Outcome
    traced: Outcome


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A small seed and its module, a seed with an unknown value and an unknown name, and rows of three restaurants.

    One restaurant is good, one has a single review, one has none, so that `SHARE` has no value.
    """
    folder = tmp_path_factory.mktemp("cli")
    tiny = write_json(folder / "tiny.json", tiny_seed())
    count = {"name": "N_ALL", "op": "count", "where": {"extraction.mood": "goood"}}
    steps = [count, {"name": "A", "op": "expr", "expr": "N_ALL + N_AL"}]
    bad = write_json(folder / "bad.json", tiny_seed(compute=steps, output=["A"]))
    assert formulaseed("compile", tiny, "--out", folder / "modules").status == 0
    good = [tiny_row("r1", score=3, stars=5), tiny_row("r2", score=1, stars=4), tiny_row("r3", "bad", 9, 1)]
    records = [tiny_rows("good", *good), tiny_rows("lone", tiny_row("r1", "bad")), tiny_rows("none")]
    rows = write_lines(folder / "rows.jsonl", *records)
    evaluate = ("evaluate", tiny, "--rows", rows)
    traced = formulaseed(*evaluate, "--trace", "--param", "LEAST=1")
    return Files(folder, tiny, bad, folder / "modules" / "tiny_1.py", rows, formulaseed(*evaluate), traced)


# --- check


def test_check_of_good_seeds_is_fine() -> None:
    """Every task of the project passes without a warning; the allergy task has notes."""
    done = formulaseed("check", *SEEDS)
    assert done.status == 0, done.out
    assert f"{WAITS}: no problems" in done.out
    assert f"{G1A}: 4 notes (see --notes)" in done.out
    assert done.out.count(": no problems") == len(SEEDS) - 1
    assert "warning[" not in done.out


def test_check_underlines_every_error_and_goes_on_after_an_unreadable_file(files: Files) -> None:
    """A missing file makes the status 2; both errors of the next seed are reported, each with its place and help."""
    done = formulaseed("check", files.folder / "absent.json", files.bad, WAITS)
    assert done.status == 2
    assert f"cannot read {files.folder / 'absent.json'}: No such file or directory" in done.err
    lines = done.out.splitlines()
    assert sum(line.startswith("error[") for line in lines) == 2
    assert lines[-2:] == [f"{files.bad}: 2 errors", f"{WAITS}: no problems"]
    number = next(number for number, line in enumerate(files.bad.read_text().splitlines(), 1) if "N_ALL + N_AL" in line)
    first = next(at for at, line in enumerate(lines) if line.startswith("error[FS201] unknown-name"))
    place, _, source, underline, help_line, more = lines[first + 1 : first + 7]
    assert place.startswith(f"  --> {files.bad}:{number}:")
    assert place.endswith("/compute/1/expr")
    assert source[underline.index("^") : underline.rindex("^") + 1] == "N_AL"
    assert help_line == "   = help: did you mean `N_ALL`?"
    assert more == "   = more: formulaseed rule FS201"
    assert formulaseed("check", files.bad).status == 1


def test_check_in_json_lists_every_diagnostic(files: Files) -> None:
    """One list over all seeds, also an empty one; each object has its code, its words and its place."""
    done = formulaseed("check", files.bad, G1A, "--format", "json")
    assert done.status == 1
    diagnostics = json.loads(done.out)
    assert [(d["code"], d["severity"], d["file"]) for d in diagnostics] == [
        ("FS302", "error", str(files.bad)),
        ("FS201", "error", str(files.bad)),
        *((code, CODES[code].severity, str(G1A)) for code in G1A_CODES),
    ]
    unknown = diagnostics[1]
    keys = "code severity message file pointer line column end_line end_column help"
    assert list(unknown) == keys.split()
    line = files.bad.read_text().splitlines()[unknown["line"] - 1]
    assert line[unknown["column"] - 1 : unknown["end_column"] - 1] == "N_AL"
    assert (unknown["pointer"], unknown["end_line"]) == ("/compute/1/expr", unknown["line"])
    assert formulaseed("check", WAITS, "--format", "json") == Outcome(0, "[]\n", "")


# --- compile


def test_compile_writes_modules_that_check_as_current(files: Files, tmp_path: Path) -> None:
    """A module is missing, then current, then not what its seed compiles to; --check and --stdout write nothing."""
    out = tmp_path / "new" / "modules"
    path = out / "tiny_1.py"
    missing = formulaseed("compile", files.tiny, "--out", out, "--check")
    assert (missing.status, f"{path}: missing" in missing.out) == (1, True)
    printed = formulaseed("compile", files.tiny, "--stdout", "--out", files.module.parent, cwd=tmp_path)
    assert (printed.status, printed.out) == (0, files.module.read_text(encoding="utf-8"))
    assert list(tmp_path.iterdir()) == []

    written = formulaseed("compile", files.tiny, WAITS, "--out", out)
    assert (written.status, written.out) == (0, f"{path}\n{out / 'wait_times.py'}\n")
    assert sorted(file.name for file in out.iterdir()) == ["tiny_1.py", "wait_times.py"]

    edited = path.read_text(encoding="utf-8").replace("> 0.5", "> 0.6")
    path.write_text(edited, encoding="utf-8")
    stale = formulaseed("compile", files.tiny, WAITS, "--out", out, "--check")
    assert stale.status == 1
    assert f"{path}: not what {files.tiny} compiles to" in stale.out
    assert f"{out / 'wait_times.py'}: current" in stale.out
    assert path.read_text(encoding="utf-8") == edited


def test_compile_leaves_out_what_it_cannot_compile(files: Files, tmp_path: Path) -> None:
    """A seed with errors, whose earlier module stays, and a task whose module has the name of another; not the others."""
    old = tmp_path / "tiny_1.py"
    old.write_text("# old\n")
    done = formulaseed("compile", files.bad, WAITS, "--out", tmp_path)
    assert (done.status, done.out) == (1, f"{tmp_path / 'wait_times.py'}\n")
    assert "error[FS201]" in done.err
    assert f"{files.bad}: 2 errors; not compiled" in done.err
    assert old.read_text() == "# old\n"
    other = write_json(tmp_path / "other.json", tiny_seed(task_name="tiny 1"))
    path = tmp_path / "out" / "tiny_1.py"
    shared = formulaseed("compile", files.tiny, other, "--out", path.parent)
    assert (shared.status, f"{other}: {files.tiny} has the same module, {path}; " in shared.err) == (1, True)
    assert '"Tiny-1"' in path.read_text()


# --- evaluate


def test_evaluate_gives_each_restaurant_its_outputs(files: Files) -> None:
    """Values as the seed computes them; without a value an error in its place, and status 3."""
    assert files.evaluated.status == 3
    good, lone, none = files.evaluated.results
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
    assert f"failed: {files.rows}:3: none: SHARE: division_by_zero: " in files.evaluated.err


def test_evaluate_reads_plain_packed_and_piped_rows_alike(files: Files, tmp_path: Path) -> None:
    """A file, a gzipped file to a file, and standard input, with the seed or its module: the same lines."""
    packed = tmp_path / "rows.jsonl.gz"
    packed.write_bytes(gzip.compress(files.rows.read_bytes()))
    out = tmp_path / "new" / "results.jsonl"
    written = formulaseed("evaluate", files.module, "--rows", packed, "--out", out)
    assert (written.status, written.out) == (3, "")
    assert out.read_text(encoding="utf-8") == files.evaluated.out
    piped = formulaseed("evaluate", files.module, "--rows", "-", stdin=files.rows.read_bytes())
    assert piped.out == files.evaluated.out
    assert "failed: <stdin>:3: none: " in piped.err


def test_a_seed_and_its_module_give_the_same_results(files: Files, tmp_path: Path) -> None:
    """evaluate takes the module in place of the seed, parameters and all; so does run, if it finds the module's seed."""
    evaluated = formulaseed("evaluate", files.module, "--rows", files.rows, "--trace", "--param", "LEAST=1")
    assert evaluated.out == files.traced.out
    arguments = ("--contexts", CONTEXTS, "--limit", "3", "--trace")
    assert formulaseed("run", files.module, *arguments).out == formulaseed("run", files.tiny, *arguments).out
    alone = tmp_path / "tiny_1.py"
    alone.write_bytes(files.module.read_bytes())
    refused = formulaseed("run", alone, *arguments)
    assert (refused.status, refused.out, "pass the seed instead" in refused.err) == (2, "", True)


def test_trace_shows_every_step_and_the_reviews_behind_it(files: Files) -> None:
    """--trace adds all steps, and the reviews that each aggregate counted; --param LEAST=1 changes one verdict."""
    good, lone, none = files.traced.results
    assert list(good["steps"]) == ["N", "N_GOOD", "TOTAL", "SHARE", "VERDICT"]
    assert good["steps"]["N"] == 3
    assert (
        {name: good["steps"][name] for name in good["output"]} == good["output"] == files.evaluated.results[0]["output"]
    )
    assert good["evidence"] == {"N": ["r1", "r2", "r3"], "N_GOOD": ["r1", "r2"], "TOTAL": ["r1", "r2"]}
    assert lone["evidence"] == {"N": ["r1"], "N_GOOD": [], "TOTAL": []}
    assert lone["output"]["VERDICT"] == "bad"
    assert not {"output", "steps", "evidence"} & set(none)


# --- run


def test_run_with_recorded_extractions_equals_their_evaluation() -> None:
    """Recorded values give what the rows of the examples give, but for the counts, the extractor and the recorded quotes."""
    extractions = EXAMPLES / "extractions-g1a_v2.jsonl"
    recorded = ("--extractor", "recorded", "--extractions", extractions, "--trace")
    ran = formulaseed("run", G1A, "--contexts", CONTEXTS, *recorded)
    evaluated = formulaseed("evaluate", G1A, "--rows", EXAMPLES / "rows-g1a_v2.jsonl", "--trace")
    assert (ran.status, evaluated.status) == (0, 0)
    quotes: list[dict[str, object]] = []
    for result, expected in zip(ran.results, evaluated.results, strict=True):
        counts = result.pop("reviews")
        assert counts["relevant"] == counts["extracted"] == expected.pop("reviews")["extracted"]
        assert (result["run"].pop("extractor"), expected["run"].pop("extractor")) == ("recorded", None)
        quotes += (quote for fields in result.pop("quotes", {}).values() for quote in fields.values())
        assert result == expected
        assert result["output"]["VERDICT"] in ("Low Risk", "High Risk", "Critical Risk")
    assert "14 restaurants, 0 failed; 114 of 215 reviews relevant, 114 extracted (recorded)" in ran.err
    assert [quote["verified"] for quote in quotes] == [True] * 72


def test_run_joins_restaurants_and_reviews(tmp_path: Path) -> None:
    """Two files joined by business_id give what the one file gives; --limit takes the first restaurants."""
    contexts = read_lines(CONTEXTS)
    restaurants = [{**c["business"], "business_id": c["business_id"]} for c in contexts]
    reviews = [{**review, "business_id": c["business_id"]} for c in contexts for review in c["reviews"]]
    reviews.sort(key=lambda review: review["date"])
    joined = formulaseed(
        *("run", WAITS, "--restaurants", write_lines(tmp_path / "restaurants.jsonl", *restaurants)),
        *("--reviews", write_lines(tmp_path / "reviews.jsonl", *reviews), "--trace"),
    )
    whole = formulaseed("run", WAITS, "--contexts", "-", "--trace", stdin=CONTEXTS.read_bytes())
    assert (joined.status, whole.status, len(whole.results)) == (0, 0, 14)
    assert joined.out == whole.out
    out = tmp_path / "results.jsonl"
    limited = formulaseed("run", WAITS, "--contexts", CONTEXTS, "--limit", 2, "--out", out)
    assert (limited.status, limited.out, "2 restaurants, 0 failed" in limited.err) == (0, "", True)
    assert [result["business_id"] for result in read_lines(out)] == ["lotus-garden", "saigon-lantern"]


def test_a_review_that_was_not_extracted_fails_its_restaurant_or_is_skipped(files: Files, tmp_path: Path) -> None:
    """By default its restaurant has an error; with --on-error skip the rest counts; both report it, with status 3."""
    reviews = [{"review_id": f"r{n}", "text": text, "stars": 4} for n, text in enumerate(["SOUP!", "a Soup", "tea"])]
    contexts = write_lines(
        tmp_path / "contexts.jsonl",
        {"business_id": "a", "business": {"name": "A", "is_open": 1}, "reviews": reviews},
        {"business_id": "b", "name": "B", "is_open": 0, "reviews": reviews[:1]},
    )
    known = ({"business_id": id, "review_id": "r0", "fields": {"mood": "good", "score": 2}} for id in "ab")
    extractions = write_lines(tmp_path / "extractions.jsonl", *known)
    arguments = ("run", files.tiny, "--contexts", contexts, "--extractor", "recorded", "--extractions", extractions)
    counts = {"total": 3, "relevant": 2, "extracted": 1, "failed": 1}

    failed = formulaseed(*arguments, "--param", "LEAST=1")
    a, b = failed.results
    assert (failed.status, a["reviews"]) == (3, counts)
    assert (a["name"], a["error"]["step"], a["error"]["kind"]) == ("A", None, "extraction")
    assert "1 of 2 relevant reviews" in a["error"]["message"]
    assert "r1" in a["error"]["message"]
    assert b["output"] == {"N_GOOD": 1, "TOTAL": 8.0, "SHARE": 1.0, "VERDICT": "bad"}
    assert f"failed: {contexts}:1: a: review r1: no extraction is recorded for it" in failed.err
    assert "2 restaurants, 1 failed" in failed.err

    skipped = formulaseed(*arguments, "--on-error", "skip", "--trace")
    a, _ = skipped.results
    assert (skipped.status, a["reviews"], a["output"]["N_GOOD"], a["evidence"]["N"]) == (3, counts, 1, ["r0"])
    assert "a: review r1: " in skipped.err


# --- agreement


def test_agreement_measures_the_lexical_extractor(tmp_path: Path) -> None:
    """A line a field, as text and as JSON; extractions that cannot be used are listed with status 3."""
    arguments = ("agreement", WAITS, "--contexts", CONTEXTS, "--extractions")
    text = formulaseed(*arguments, WAIT_EXTRACTIONS)
    data = formulaseed(*arguments, WAIT_EXTRACTIONS, "--format", "json")
    assert (text.status, data.status) == (0, 0)
    fields = json.loads(data.out)
    assert [field["field"] for field in fields] == ["wait_kind", "wait_minutes", "outcome", "blames_staffing"]
    assert "78 reviews with a recorded extraction" in text.out
    for field in fields:
        line = next(line for line in text.out.splitlines() if line.split()[:1] == [field["field"]])
        assert line.split()[1:4] == ["78", str(field["equal"]), f"{field['accuracy']:.3f}"]
        assert field["n"] == 78
    lines = read_lines(WAIT_EXTRACTIONS)[:5]
    lines[1]["fields"]["outcome"] = "ran away"
    extractions = write_lines(tmp_path / "extractions.jsonl", *lines)
    partial = formulaseed(*arguments, extractions)
    assert (partial.status, "4 reviews with a recorded extraction" in partial.out) == (3, True)
    assert f"failed: {extractions}:2: `outcome` must be one of" in partial.err


# --- dump, fmt, rule


def test_dump_shows_each_phase(files: Files) -> None:
    """The document, the common program, the typed program, the plan; for a phase that failed the errors, with status 1."""
    dumps = {}
    for phase in ("read", "parse", "check", "plan"):
        done = formulaseed("dump", files.tiny, "--after", phase)
        assert done.status == 0
        dumps[phase] = done.out
    assert dumps["read"].startswith("JsonObject")
    assert "N_GOOD / N" in dumps["read"]
    assert dumps["parse"].startswith("Program")
    assert "N_GOOD / N" not in dumps["parse"]
    assert "field extraction.mood: enum ('good', 'bad')" in dumps["check"]
    assert dumps["plan"].startswith("header:\n  Code generated by formulaseed")
    assert "n_good" in dumps["plan"]
    assert formulaseed("dump", files.tiny).out == dumps["check"]
    assert formulaseed("dump", files.bad, "--after", "parse").status == 0
    failed = formulaseed("dump", files.bad, "--after", "check")
    assert (failed.status, failed.out, "error[FS201]" in failed.err) == (1, "", True)


def test_fmt_lays_a_seed_out_once_and_for_all(files: Files, tmp_path: Path) -> None:
    """The first run rewrites, the next finds nothing to do; the module stays the same to the byte."""
    shuffled = dict(reversed(tiny_seed().items()))
    seed = tmp_path / "tiny.json"
    seed.write_text(json.dumps(shuffled), encoding="utf-8")
    check = formulaseed("fmt", seed, "--check")
    assert (check.status, f"{seed}: would be reformatted" in check.out) == (1, True)
    assert json.loads(seed.read_text()) == shuffled
    assert formulaseed("fmt", seed).out == f"{seed}\n"
    text = seed.read_text(encoding="utf-8")
    assert list(json.loads(text)) == ["task_name", "parameters", "filter", "extract", "compute", "output"]
    assert '    {"name": "N_GOOD", "op": "count", "where": {"extraction.mood": "good"}},\n' in text
    assert formulaseed("fmt", seed, "--check") == Outcome(0, "", "")
    formulaseed("compile", seed, "--out", tmp_path / "modules")
    assert (tmp_path / "modules" / "tiny_1.py").read_bytes() == files.module.read_bytes()


def test_fmt_sort_puts_steps_behind_those_that_they_use(tmp_path: Path) -> None:
    """A seed with its steps in reverse order passes after --sort, and only then; a cycle is reported and stays."""
    backwards = tiny_seed()
    backwards["compute"].reverse()
    seed = write_json(tmp_path / "seed.json", backwards)
    assert "error[FS202]" in formulaseed("check", seed).out
    for arguments in (("fmt", "--sort"), ("check",), ("fmt", "--sort", "--check")):
        assert formulaseed(*arguments, seed).status == 0
    names = [step["name"] for step in json.loads(seed.read_text())["compute"]]
    assert (sorted(names), names[4]) == (["N", "N_GOOD", "SHARE", "TOTAL", "VERDICT"], "VERDICT")

    cycle = [{"name": "A", "op": "expr", "expr": "B + 1"}, {"name": "B", "op": "expr", "expr": "A + 1"}]
    text = write_json(seed, tiny_seed(compute=cycle, output=["A"])).read_text()
    done = formulaseed("fmt", "--sort", seed)
    assert (done.status, "`A` uses `B`, `B` uses `A`" in done.err, seed.read_text()) == (1, True, text)


def test_fmt_leaves_what_is_no_json_alone(tmp_path: Path) -> None:
    """Nothing is written over a file that cannot be understood, and the other files are done."""
    broken, tidy = tmp_path / "broken.json", tmp_path / "tidy.json"
    broken.write_text('{"task_name": ')
    tidy.write_text(json.dumps(tiny_seed()))
    done = formulaseed("fmt", broken, tidy)
    assert (done.status, "error[FS001]" in done.err, done.out) == (1, True, f"{tidy}\n")
    assert broken.read_text() == '{"task_name": '


def test_rule_explains_a_code_by_number_and_by_name() -> None:
    """FS201, fs201 and unknown-name are one page."""
    page = command("rule", "FS201")
    assert (page.status, "FS201" in page.out, "unknown-name" in page.out) == (0, True, True)
    assert command("rule", "fs201").out == command("rule", "unknown-name").out == page.out


# --- surroundings


@pytest.mark.parametrize("arguments", [("evaluate", "--rows", "rows.jsonl"), ("compile", "--stdout")])
@pytest.mark.thorough
def test_output_is_utf8_whatever_the_terminal_says(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """Results, modules and messages are the same bytes in a terminal of another encoding."""
    write_lines(tmp_path / "rows.jsonl", tiny_rows("café", tiny_row("ß", "übel")), tiny_rows("ø", tiny_row("r")))
    seed = write_json(tmp_path / "seed.json", tiny_seed(description="Für Suppen ☕"))
    latin, utf8 = (
        formulaseed(*arguments, seed, cwd=tmp_path, env=environment)
        for environment in ({"PYTHONIOENCODING": "latin-1"}, None)
    )
    assert latin == utf8


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_closed_and_full_streams_are_met_calmly(files: Files) -> None:
    """No standard output, no standard input, a pipe whose reader has gone, a full disk: a status, never a crash."""
    arguments = ("evaluate", files.module, "--rows")
    assert formulaseed(*arguments, files.rows, redirect=">&-").status == 3
    assert formulaseed(*arguments, "-", redirect="<&-").status == 2
    assert formulaseed(*arguments, files.rows, redirect=">/dev/full").status == 2
    gone = formulaseed("evaluate", G1A, "--rows", EXAMPLES / "rows-g1a_v2.jsonl", redirect="| true")
    assert gone.out == ""
    full = formulaseed(*arguments, files.rows, "--out", "/dev/full")
    assert (full.status, "No space left on device" in full.err) == (2, True)


def test_results_never_overwrite_what_is_read(files: Files, tmp_path: Path) -> None:
    """Neither an input that is also the --out nor older results are lost when the command cannot do its work."""
    own, older = tmp_path / "own.jsonl", tmp_path / "older.jsonl"
    own.write_bytes(files.rows.read_bytes())
    older.write_text("older results\n")
    for source, out in ((own, own), (tmp_path / "absent.jsonl", older)):
        before = out.read_bytes()
        assert formulaseed("evaluate", files.module, "--rows", source, "--out", out).status == 2
        assert out.read_bytes() == before
