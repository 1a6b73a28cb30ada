"""Invalid input is reported with its place and the reason, and costs no valid restaurant its result."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from formulaseed import SeedError, limits, load_evaluator, load_seed
from formulaseed.testing import reference_evaluate
from helpers import Outcome, command, formulaseed, tiny_row, tiny_rows, tiny_seed, write_json, write_lines

# --- seeds


def encode_seed(**changes: object) -> bytes:
    return json.dumps(tiny_seed(**changes), ensure_ascii=False).encode()


def insert_key(key: str, value: bytes) -> bytes:
    """Return a valid seed with another key on its second line, the value as it is."""
    return b"{\n" + f'"{key}": '.encode() + value + b",\n" + encode_seed()[1:]


BAD_SEEDS: dict[str, tuple[bytes, str, int, int]] = {  # bytes, code, line and column; 0 for any column
    "an empty file": (b"", "FS001", 1, 1),
    "only white space": (b" \n\n  ", "FS001", 1, 1),
    "a byte order mark alone": (b"\xef\xbb\xbf", "FS001", 1, 1),
    "an unclosed string": (b'{\n"task_name": "Tiny', "FS001", 2, 14),
    "a wrong escape": (insert_key("description", rb'"a\qb"'), "FS001", 2, 18),
    "a number like 01": (insert_key("x", b"01"), "FS001", 2, 6),
    "text after the end": (encode_seed() + b"\n}", "FS001", 2, 1),
    "two documents": (encode_seed() + b"\n" + encode_seed(), "FS008", 1, 1),
    "Latin-1": ('{"task_name":\n"Café"}'.encode("latin-1"), "FS002", 2, 5),
    "UTF-16": (encode_seed().decode().encode("utf-16"), "FS002", 1, 1),
    "zero bytes": (b"\0" * 100, "FS001", 1, 1),
    "too large": (encode_seed() + b" " * 2 * 1024 * 1024, "FS003", 1, 1),
    "lists 10,000 deep": (insert_key("x", b"[" * 10_000 + b"]" * 10_000), "FS004", 2, 70),
    "objects 10,000 deep": (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "FS004", 1, 326),
    "lists that never close": (b"[" * 1_000_000, "FS004", 1, 66),
    "an integer of 5,000 digits": (insert_key("x", b"9" * 5_000), "FS006", 2, 6),
    "half a character in a key": (insert_key(r"\udc00", b"1"), "FS007", 2, 1),
    "null": (b"\n null", "FS008", 2, 2),
    "a string": (b'"seed"', "FS008", 1, 1),
    "a number": (b"1", "FS008", 1, 1),
    "keys of v1 and v2": (b'{"task_name": "Old",\n "compute_dag": [],\n "output": []}', "FS511", 3, 2),
    "steps that are no list": (
        insert_key("x", b"1").replace(b'"compute": [', b'"compute": 3, "y": [', 1), "FS503", 3, 0,
    ),
    "a step that is a number": (encode_seed(compute=[7]), "FS503", 1, 0),
}  # fmt: skip


@pytest.fixture(scope="module")
def bad_seeds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("seeds")
    paths = {name: folder / f"seed{number}.json" for number, name in enumerate(BAD_SEEDS)}
    for name, path in paths.items():
        path.write_bytes(BAD_SEEDS[name][0])
    return paths


def test_bad_seeds_are_reported_with_their_places(bad_seeds: dict[str, Path]) -> None:
    done = command("check", *bad_seeds.values(), "--format", "json")
    assert (done.status, done.err) == (1, "")
    diagnostics = json.loads(done.out)
    for name, (_, code, line, column) in BAD_SEEDS.items():
        own = [entry for entry in diagnostics if (entry["file"], entry["code"]) == (str(bad_seeds[name]), code)]
        assert (own[0]["severity"], own[0]["line"]) == ("error", line), name
        assert column in (0, own[0]["column"]), name
        assert "" not in (own[0]["message"], own[0]["help"]), name


def test_a_bad_seed_is_never_compiled(bad_seeds: dict[str, Path]) -> None:
    done = command("compile", *bad_seeds.values(), "--stdout")
    assert (done.status, done.out, done.err.count("; not compiled\n")) == (1, "", len(bad_seeds))
    assert all(f"\n{path}: " in done.err for path in bad_seeds.values())


def test_every_command_reports_a_bad_seed_alike(bad_seeds: dict[str, Path], tmp_path: Path) -> None:
    """`fmt` leaves the file as it was."""
    path = bad_seeds["lists 10,000 deep"]
    rows = write_lines(tmp_path / "rows.jsonl")
    for arguments in (("evaluate", path, "--rows", rows), ("dump", path), ("fmt", path)):
        done = command(*arguments)
        assert (done.status, done.out, "error[FS004]" in done.err) == (1, "", True)
    assert path.read_bytes() == BAD_SEEDS["lists 10,000 deep"][0]


def test_an_unreadable_seed_is_status_2(tmp_path: Path) -> None:
    """A missing file, a folder and an empty name are each reported."""
    for name, *options in (("check",), ("compile", "--stdout"), ("fmt",)):
        done = command(name, tmp_path / "absent.json", tmp_path, "", *options)
        assert (done.status, done.out, done.err.count("cannot read")) == (2, "", 3)
        assert f"cannot read {tmp_path / 'absent.json'}: No such file or directory" in done.err
        assert f"cannot read {tmp_path}: Is a directory" in done.err


@pytest.mark.thorough
def test_filters_that_use_one_another_have_a_limit() -> None:
    """At the limit the checker, the module and the reference agree; one more filter is an error."""

    def nest_filters(number: int) -> dict[str, Any]:
        wheres = [{f"$F{i - 1}": i % 2 == 0, "meta.stars": {"<": i + 9}} for i in range(1, number)]
        filters = [{"name": f"F{i}", "op": "define_filter", "where": where} for i, where in enumerate(wheres, 1)]
        first = {"name": "F0", "op": "define_filter", "extraction": {"mood": "good"}}
        count = {"name": "N", "op": "count", "where": {f"$F{number - 1}": True}}
        return tiny_seed(compute=[first, *filters, count], output=["N"])

    seed = load_seed(nest_filters(limits.FILTER_NESTING))
    rows = [tiny_row("r1"), tiny_row("r2", "bad")]
    assert load_evaluator(seed).evaluate(rows, {}) == reference_evaluate(seed, rows, {}) == {"N": 1}
    with pytest.raises(SeedError, match="FS510 101 filters use one another"):
        load_seed(nest_filters(limits.FILTER_NESTING + 1))


# --- lines of rows and contexts


class BadLine(NamedTuple):
    """A line, a part of its message, and the id of its result if it has one."""

    line: object
    message: str
    business_id: str = ""


def change_row(**changes: object) -> dict[str, Any]:
    return {**tiny_row("r1"), **changes}


def bad_field(business_id: str, name: str, value: object) -> BadLine:
    """Return a line of which one row has a wrong value of the extraction."""
    row = change_row(extraction={"mood": "good", "score": 1, name: value})
    return BadLine(tiny_rows(business_id, row), f"`extraction.{name}`", business_id)


def bad_stars(business_id: str, value: object) -> BadLine:
    return BadLine(tiny_rows(business_id, change_row(meta={"stars": value})), "`meta.stars`", business_id)


NO_ID = {"extraction": {"mood": "good", "score": 1}, "meta": {"stars": 5}}
HUGE = json.dumps(bad_field("1e999", "score", "X").line).replace('"X"', "1e999").encode()
IDS = {
    "no review_id": BadLine(tiny_rows("no id", NO_ID), "`review_id`", "no id"),
    "a number for review_id": BadLine(tiny_rows("id 3", change_row(review_id=3)), "`review_id`", "id 3"),
}  # fmt: skip
"""Lines that only fail with `--trace`, whose evidence names reviews."""
BAD_ROWS: dict[str, BadLine] = {
    "not JSON": BadLine(b"{'business_id': 1}", "not JSON"),
    "half a line": BadLine(b'{"business_id": "half", "rows": [', "not JSON"),
    "a list": BadLine([1], "a line must hold an object"),
    "null": BadLine(None, "a line must hold an object"),
    "NaN": BadLine(b'{"business_id": "nan", "context": {"is_open": NaN}, "rows": []}', "`NaN`"),
    "-Infinity": BadLine(b'{"business_id": "inf", "context": {"is_open": -Infinity}, "rows": []}', "`-Infinity`"),
    "a duplicate key": BadLine(b'{"business_id": "twice", "rows": [], "rows": []}', "duplicate key `rows`"),
    "a duplicate key in a row": BadLine(b'{"business_id": "x", "rows": [{"meta": {"a": 1, "a": 5}}]}', "duplicate key `a`"),
    "Latin-1": BadLine('{"business_id": "Café", "rows": []}'.encode("latin-1"), "not UTF-8"),
    "too deep": BadLine(b"[" * 100_000, "too deep"),
    "5,000 digits": BadLine(b'{"business_id": "digits", "rows": [' + b"9" * 5000 + b"]}", "digits"),
    "half a character": BadLine(rb'{"business_id": "half \ud83c", "rows": []}', ""),
    "half a character in the context": BadLine(rb'{"business_id": "x", "context": {"name": "\udc00"}, "rows": []}', ""),
    "no business_id": BadLine({"rows": []}, "`business_id`"),
    "an empty business_id": BadLine({"business_id": "", "rows": []}, "`business_id`"),
    "a number for business_id": BadLine({"business_id": 7, "rows": []}, "`business_id`"),
    "no rows": BadLine({"business_id": "no rows"}, "`rows`", "no rows"),
    "rows no list": BadLine({"business_id": "rows", "rows": {"0": {}}}, "`rows`", "rows"),
    "a row no object": BadLine({"business_id": "row", "rows": [{}, 3]}, "`rows[1]`", "row"),
    "a context no object": BadLine({"business_id": "ctx", "context": [], "rows": []}, "`context`", "ctx"),
    "no context": BadLine({"business_id": "no ctx", "rows": [tiny_row("r1")]}, "`context.is_open`", "no ctx"),
    "an extraction no object": BadLine(tiny_rows("ex", change_row(extraction="good")), "`extraction`", "ex"),
    "a missing field": BadLine(tiny_rows("gone", change_row(extraction={"score": 1})), "`extraction.mood`", "gone"),
    "an unknown value": bad_field("enum", "mood", "Good"),
    "a null field": bad_field("null", "mood", None),
    "a list for an enum": bad_field("list", "mood", ["good"]),
    "true for an integer": bad_field("bool", "score", True),
    "a string for an integer": bad_field("text", "score", "1"),
    "1.5 for an integer": bad_field("float", "score", 1.5),
    "65 bits": bad_field("65", "score", 2**64),
    "1e999 for an integer": BadLine(HUGE, "`extraction.score`", "1e999"),
    "a string for a number": bad_stars("stars", "5"),
    "true for a number": bad_stars("true", True),
    "a number beyond all data": bad_stars("1e101", 1e101),
    "no metadata": BadLine(tiny_rows("meta", change_row(meta={})), "`meta.stars`", "meta"),
    "a value in the wrong section": BadLine(
        tiny_rows("section", {"mood": "good", "stars": 3, "extraction": {}, "meta": {}}), "`extraction.mood`", "section",
    ),
    "a wrong context": BadLine(
        {"business_id": "open", "context": {"is_open": "yes"}, "rows": [tiny_row("r1")]}, "`context.is_open`", "open",
    ),
    "no value for a step": BadLine(tiny_rows("zero"), "SHARE: division_by_zero", "zero"),
    **IDS,
}  # fmt: skip


def review(**changes: object) -> dict[str, Any]:
    return {"review_id": "r1", "text": "Good soup", "stars": 4, "date": "2020-02-29 12:00:00", **changes}


def context(business_id: str, *reviews: object, **changes: object) -> dict[str, Any]:
    return {"business_id": business_id, "name": f"The {business_id}", "is_open": 1, "reviews": list(reviews), **changes}


def bad_review(business_id: str, message: str, **changes: object) -> BadLine:
    return BadLine(context(business_id, review(**changes)), message, business_id)


BAD_CONTEXTS: dict[str, BadLine] = {
    "not JSON": BadLine(b'{"business_id": "json",', "not JSON"),
    "no business_id": BadLine({"reviews": []}, "`business_id`"),
    "reviews no list": BadLine(context("list", reviews={}), "`reviews`", "list"),
    "reviews null": BadLine(context("null", reviews=None), "`reviews`", "null"),
    "business no object": BadLine(context("business", business=3), "`business`", "business"),
    "no text": BadLine(context("text", {"review_id": "r1"}), "`reviews[0].text`", "text"),
    "null for a text": BadLine(context("no text", review(), review(text=None)), "`reviews[1].text`", "no text"),
    "no review_id": BadLine(context("id", {"text": "soup"}), "`reviews[0].review_id`", "id"),
    "a review no object": BadLine(context("object", "Good soup"), "`reviews[0]`", "object"),
    "a string for the context": BadLine(context("open", review(), is_open="1"), "`context.is_open`", "open"),
    "half a character": BadLine(json.dumps(context("half", review(), name="\ud83c")).encode(), ""),
    "a number for review_id": bad_review("id 3", "`reviews[0].review_id`", review_id=3),
    "a user no object": bad_review("user", "`reviews[0].user`", user="Ann"),
    "a number for a date": bad_review("date 3", "`reviews[0].date`", date=20200229),
    "a date in words": bad_review("words", "date", date="yesterday"),
    "a date of another order": bad_review("order", "date", date="29-02-2020"),
    "a thirteenth month": bad_review("month", "date", date="2020-13-01"),
    "an impossible day": bad_review("day", "date", date="2021-02-29"),
    "no date": bad_review("no date", "`meta.year`", date=None),
    "a string for the stars": bad_review("stars", "`meta.stars`", stars="4"),
}  # fmt: skip
FILES: dict[str, tuple[dict[str, BadLine], list[dict[str, Any]]]] = {
    "rows": (BAD_ROWS, [tiny_rows("first", tiny_row("r1")), tiny_rows("last", tiny_row("r1"))]),
    "contexts": (BAD_CONTEXTS, [context("first", review()), context("last", review(), review(review_id="r2", text="tea"))]),
}  # fmt: skip
"""The bad lines of each kind of file, and two good ones."""


class Run(NamedTuple):
    """A run over good and bad lines: the line number of each bad one, and the outcomes without and with `--trace`."""

    file: Path
    line_numbers: dict[str, int]
    outcomes: tuple[Outcome, Outcome]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """Runs over the bad lines between the two good ones; the seed for contexts needs the date of each review."""
    folder = tmp_path_factory.mktemp("lines")
    dated = tiny_seed()
    dated["extract"]["fields"][0]["default"] = "good"
    for part in ("year", "month"):
        dated["compute"].append({"name": f"LAST_{part.upper()}", "op": "max", "field": f"meta.{part}", "default": 0})
        dated["output"].append(f"LAST_{part.upper()}")
    seeds = {"rows": tiny_seed(), "contexts": dated}
    runs = {}
    for kind, name in (("rows", "evaluate"), ("contexts", "run")):
        bad_lines, (first, last) = FILES[kind]
        records: list[object] = [first]
        line_numbers = {}
        for line, bad in bad_lines.items():
            records.append(bad.line)
            line_numbers[line] = len(records)
            if len(records) % 10 == 0:
                records.append(b"")  # blank lines are no records, but are counted
        path = write_lines(folder / f"{kind}.jsonl", *records, last)
        arguments = (name, write_json(folder / f"{kind}.json", seeds[kind]), f"--{kind}", path)
        runs[kind] = Run(path, line_numbers, (command(*arguments), command(*arguments, "--trace")))
    return runs


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, (lines, _) in FILES.items() for name in lines])
def test_a_bad_line_is_reported_by_file_line_and_field(kind: str, name: str, runs: dict[str, Run]) -> None:
    """If the restaurant's id is known, its result has the error and no output."""
    bad, run = FILES[kind][0][name], runs[kind]
    error_of = ("SHARE", "division_by_zero") if name == "no value for a step" else (None, "data")
    for done in run.outcomes:
        start = f"failed: {run.file}:{run.line_numbers[name]}: "
        lines = [line for line in done.err.splitlines() if line.startswith(start)]
        result = done.by_id().get(bad.business_id)
        if name in IDS and kind == "rows" and done is run.outcomes[0]:
            assert (lines, result is not None and "output" in result) == ([], True)
            continue
        assert [(bad.message in line, len(line) < 600) for line in lines] == [(True, True)]
        if bad.business_id:
            assert result is not None
            assert not {"output", "steps", "evidence"} & set(result)
            error = result["error"]
            assert (list(error), error["step"], error["kind"]) == (["step", "kind", "message"], *error_of)
            assert bad.message.split(": ")[-1] in f"{error['kind']} {error['message']}"


def test_good_lines_survive_bad_ones(runs: dict[str, Run]) -> None:
    outputs = {
        "rows": {"N_GOOD": 1, "TOTAL": 5.0, "SHARE": 1.0, "VERDICT": "few"}, "contexts": {"LAST_YEAR": 2020, "LAST_MONTH": 2},
    }  # fmt: skip
    for kind, (bad_lines, _) in FILES.items():
        known = {"first", "last"} | {bad.business_id for bad in bad_lines.values() if bad.business_id}
        for done in runs[kind].outcomes:
            results = done.by_id()
            assert (done.status, set(results), len(done.results)) == (3, known, len(known))
            assert all(outputs[kind].items() <= results[id]["output"].items() for id in ("first", "last"))
    counts = runs["contexts"].outcomes[0].by_id()["last"]["reviews"]
    assert counts == {"total": 2, "relevant": 1, "extracted": 1, "failed": 0}


def test_a_truncated_gzip_file_is_read_up_to_its_end(tmp_path: Path) -> None:
    """Status 2; the restaurants before the end are written, and bad lines before it are reported."""
    seed = write_json(tmp_path / "seed.json", tiny_seed())
    lines = [tiny_rows(f"r{number}", change_row(note=f"{number * 7919:x}")) for number in range(2000)]
    data = gzip.compress(write_lines(tmp_path / "rows.jsonl", b"{bad", *lines).read_bytes())
    truncated = tmp_path / "rows.jsonl.gz"
    truncated.write_bytes(data[: len(data) // 2])
    done = formulaseed("evaluate", seed, "--rows", truncated)
    assert (done.status, done.results[0]["business_id"], 0 < len(done.results) < 2000) == (2, "r0", True)
    for message in (f"cannot read {truncated} from line ", f"failed: {truncated}:1: not JSON"):
        assert message in done.err


@pytest.mark.parametrize("file", ["absent.jsonl", ".", "broken.gz"])
def test_unreadable_rows_are_status_2(file: str, tmp_path: Path) -> None:
    (tmp_path / "broken.gz").write_bytes(b"\x1f\x8b\x08rest")
    seed = write_json(tmp_path / "seed.json", tiny_seed())
    done = formulaseed("evaluate", seed, "--rows", tmp_path / file)
    assert (done.status, done.out) == (2, "")
    assert f"cannot read {tmp_path / file}" in done.err


def test_bad_lines_of_restaurants_and_reviews_in_two_files_are_reported(tmp_path: Path) -> None:
    """Reviews without a text, without a restaurant, of an unknown one, no JSON; a duplicate restaurant."""
    tiny = tiny_seed()
    tiny["extract"]["fields"][0]["default"] = "good"
    ids: list[dict[str, str]] = [
        {"business_id": "a"},
        {},
        {"business_id": "b"},
        {"business_id": "a", "name": "A again"},
    ]
    restaurants = write_lines(tmp_path / "restaurants.jsonl", *({"name": "A", "is_open": 1, **id} for id in ids))
    reviews = write_lines(
        tmp_path / "reviews.jsonl",
        review(business_id="a"), review(business_id="a", review_id="r2", text=None), review(review_id="r3"),
        review(business_id="c", review_id="r4"), b"{", review(business_id="b", review_id="r5"),
        review(business_id="c", review_id="r6"),
    )  # fmt: skip
    seed = write_json(tmp_path / "seed.json", tiny)
    done = command("run", seed, "--restaurants", restaurants, "--reviews", reviews)
    for place, message in (
        (f"{reviews}:2", "`text` "), (f"{reviews}:3", "`business_id` "), (f"{reviews}:5", "not JSON"),
        (f"{reviews}:4", "2 reviews name c,"), (f"{restaurants}:2", "`business_id` "), (f"{restaurants}:4", ""),
    ):  # fmt: skip
        assert f"failed: {place}: {message}" in done.err
    results = [result for result in done.results if "output" in result and result["name"] != "A again"]
    assert (done.status, [(result["business_id"], result["reviews"]["total"]) for result in results]) == (3, [("b", 1)])


# --- recorded extractions


def recorded(review_id: str, **values: object) -> dict[str, Any]:
    return {"business_id": review_id, "review_id": review_id, "fields": {"mood": "good", "score": 1, **values}}


BAD_EXTRACTIONS: list[tuple[object, str]] = [
    (b"{", "not JSON"), ({"business_id": "a", "fields": {}}, "`review_id`"),
    ({"business_id": "a", "review_id": "x", "fields": []}, "`fields`"),
    (recorded("unlisted", mood="so-so"), "`mood` must be one of good, bad"), (recorded("bool", score=True), "`score`"),
    (recorded("text", score="1"), "`score`"), (recorded("float", score=1.5), "`score`"),
    (recorded("good", mood="bad"), "duplicate extraction"),
]  # fmt: skip


def test_a_bad_recorded_extraction_fails_only_its_restaurant(tmp_path: Path) -> None:
    """Its line and field are reported; of two records of a review the first counts."""
    seed = write_json(tmp_path / "seed.json", tiny_seed())
    failing = ["unlisted", "bool", "text", "float", "absent"]
    contexts = write_lines(tmp_path / "contexts.jsonl", *[context(i, review(review_id=i)) for i in ["good", *failing]])
    lines = [line for line, _ in BAD_EXTRACTIONS]
    extractions = write_lines(tmp_path / "extractions.jsonl", recorded("good"), *lines)
    done = command("run", seed, "--contexts", contexts, "--extractor", "recorded", "--extractions", extractions)
    for number, (_, message) in enumerate(BAD_EXTRACTIONS, 2):
        start = f"failed: {extractions}:{number}: "
        assert [message in line for line in done.err.splitlines() if line.startswith(start)] == [True], message
    results = done.by_id()
    assert (done.status, results.pop("good")["output"]["N_GOOD"], set(results)) == (3, 1, set(failing))
    for business_id, result in results.items():
        assert (result["error"]["kind"], "output" in result) == ("extraction", False)
        assert business_id in result["error"]["message"]


# --- files


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        (json.dumps([{"business_id": "a", "reviews": []}], indent=2), "jq -c '.[]'"),
        (json.dumps({"business_id": "a", "reviews": []}, indent=2), "jq -c ."),
        ('\ufeff[{\n  "business_id": "a"\n}]', "jq -c '.[]'"),
    ],
)
def test_a_document_over_several_lines_is_one_message(text: str, fix: str, tmp_path: Path) -> None:
    """The message says how to write one object a line, instead of reporting each line as no JSON."""
    (tmp_path / "contexts.json").write_text(text, encoding="utf-8")
    seed = write_json(tmp_path / "seed.json", tiny_seed())
    done = formulaseed("run", seed, "--contexts", "contexts.json", cwd=tmp_path)
    reason = f"it is one JSON document over several lines; write one object a line, as `{fix}` does"
    assert (done.status, done.out) == (2, "")
    assert done.err.splitlines()[-1] == f"formulaseed: cannot read contexts.json: {reason}"


def test_a_restaurant_with_two_lines_is_a_warning(tmp_path: Path) -> None:
    """Both lines have a result; `explain` says which of them it explains."""
    seed = write_json(tmp_path / "seed.json", tiny_seed())
    write_lines(tmp_path / "rows.jsonl", *(tiny_rows(name, tiny_row("r1")) for name in "abaa"))
    done = command("evaluate", seed, "--rows", "rows.jsonl", cwd=tmp_path)
    assert (done.status, [result["business_id"] for result in done.results]) == (0, [*"abaa"])
    warning = "duplicate business_id a in rows.jsonl:1 and rows.jsonl:3, and 1 more such line; each line has a result"
    assert f"warning: {warning}\n" in done.err
    done = command("explain", seed, "--rows", "rows.jsonl", "--id", "a", cwd=tmp_path)
    warning = "rows.jsonl:1 is explained; a is also in rows.jsonl:3, rows.jsonl:4"
    assert (done.status, done.err.endswith(f"\nwarning: {warning}\n")) == (0, True)
