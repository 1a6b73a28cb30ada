"""Input that is not what it should be: refused with its place and the reason, whatever it is, and nothing else lost."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from formulaseed import SeedError, limits, load_evaluator, load_seed
from formulaseed.testing import reference_evaluate
from helpers import Outcome, formulaseed, tiny_row, tiny_rows, tiny_seed, write_json, write_lines

SEED_BYTES = 2 * 1024 * 1024


# --- seeds


@dataclass(frozen=True)
class BadSeed:
    """A seed's bytes, and the code, line and column of what is wrong with it."""

    data: bytes
    code: str
    line: int = 1
    column: int = 1


def good(**changes: object) -> bytes:
    return json.dumps(tiny_seed(**changes), ensure_ascii=False).encode()


def having(key: str, text: bytes) -> bytes:
    """A good seed with another key on its second line, the value as given."""
    return b"{\n" + f'"{key}": '.encode() + text + b",\n" + good()[1:]


BAD_SEEDS = {
    "an empty file": BadSeed(b"", "FS001"),
    "only white space": BadSeed(b" \n\n  ", "FS001"),
    "a byte order mark alone": BadSeed(b"\xef\xbb\xbf", "FS001"),
    "prose": BadSeed(b"Count the soups.", "FS001"),
    "unfinished": BadSeed(b'{"task_name": "Tiny-1",\n  "compute": [', "FS001", 2, 14),
    "an unclosed text": BadSeed(b'{\n"task_name": "Tiny', "FS001", 2, 14),
    "a comma too many": BadSeed(b'{"output": ["N",\n]}', "FS001", 1, 16),
    "a comma missing": BadSeed(b'{"output": ["N" "M"]}', "FS001", 1, 17),
    "single quotes": BadSeed(b"{'task_name': 'Tiny'}", "FS001", 1, 2),
    "a comment": BadSeed(b'{\n  // tiny\n  "task_name": "Tiny"}', "FS001", 2, 3),
    "Python's True": BadSeed(having("x", b"True"), "FS001", 2, 6),
    "a line break in a text": BadSeed(having("description", b'"a\nb"'), "FS001", 2, 18),
    "a wrong escape": BadSeed(having("description", rb'"a\qb"'), "FS001", 2, 18),
    "a number like 01": BadSeed(having("x", b"01"), "FS001", 2, 6),
    "something behind the end": BadSeed(good() + b"\n}", "FS001", 2, 1),
    "two documents": BadSeed(good() + b"\n" + good(), "FS008"),
    "Latin-1": BadSeed('{"task_name":\n"Café"}'.encode("latin-1"), "FS002", 2, 5),
    "UTF-16": BadSeed(good().decode().encode("utf-16"), "FS002"),
    "zero bytes": BadSeed(b"\0" * 100, "FS001"),
    "too large": BadSeed(good() + b" " * SEED_BYTES, "FS003"),
    "lists 10,000 deep": BadSeed(having("x", b"[" * 10_000 + b"]" * 10_000), "FS004", 2, 70),
    "objects 10,000 deep": BadSeed(b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "FS004", 1, 326),
    "lists that never close": BadSeed(b"[" * 1_000_000, "FS004", 1, 66),
    "a key twice": BadSeed(having("task_name", b'"Other"'), "FS005", 3, 1),
    "NaN": BadSeed(having("x", b"NaN"), "FS006", 2, 6),
    "Infinity": BadSeed(having("x", b"-Infinity"), "FS006", 2, 6),
    "1e999": BadSeed(having("x", b"1e999"), "FS006", 2, 6),
    "an integer of 5,000 digits": BadSeed(having("x", b"9" * 5_000), "FS006", 2, 6),
    "an integer over 64 bits": BadSeed(having("x", b"9223372036854775808"), "FS006", 2, 6),
    "half a character": BadSeed(having("description", rb'"soup \ud83c"'), "FS007", 2, 16),
    "half a character in a key": BadSeed(having(r"\udc00", b"1"), "FS007", 2, 1),
    "a list": BadSeed(b'["N"]', "FS008"),
    "null": BadSeed(b"\n null", "FS008", 2, 2),
    "a text": BadSeed(b'"seed"', "FS008"),
    "a number": BadSeed(b"1", "FS008"),
    "seed v1 without fields": BadSeed(b'{"task_name": "Old",\n "filter_keywords": [], "compute_dag": []}', "FS502"),
    "both shapes at once": BadSeed(b'{"task_name": "Old",\n "compute_dag": [],\n "output": []}', "FS511", 3, 2),
    "an ellipsis in a list": BadSeed(b'{"output": ["N",\n ...]}', "FS001", 2, 2),
    "an ellipsis in an object": BadSeed(b'{"output": [],\n ...}', "FS001", 2, 2),
    "an empty object": BadSeed(b"{}", "FS502"),
    "steps that are no list": BadSeed(
        having("x", b"1").replace(b'"compute": [', b'"compute": 3, "y": [', 1), "FS503", 3, 0
    ),
    "a step that is a number": BadSeed(good(compute=[7]), "FS503", 1, 0),
}


@pytest.fixture(scope="module")
def bad_seeds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("seeds")
    paths = {name: folder / f"seed{number}.json" for number, name in enumerate(BAD_SEEDS)}
    for name, path in paths.items():
        path.write_bytes(BAD_SEEDS[name].data)
    return paths


@pytest.fixture(scope="module")
def reported(bad_seeds: dict[str, Path]) -> dict[str, list[dict[str, Any]]]:
    """What `check` tells of all of them in one go, by seed."""
    found = formulaseed("check", *bad_seeds.values(), "--format", "json")
    assert found.status == 1
    assert found.err == ""
    diagnostics = json.loads(found.out)
    return {name: [d for d in diagnostics if d["file"] == str(path)] for name, path in bad_seeds.items()}


@pytest.mark.parametrize("name", BAD_SEEDS)
def test_a_bad_seed_is_reported_with_its_place(name: str, reported: dict[str, list[dict[str, Any]]]) -> None:
    """Each kind of bad seed has its code, and the diagnostic points at the line and column at fault."""
    expected = BAD_SEEDS[name]
    found = next((d for d in reported[name] if d["code"] == expected.code), None)
    assert found is not None, reported[name]
    assert found["severity"] == "error"
    assert found["message"]
    assert found["help"]
    assert found["line"] == expected.line
    if expected.column:
        assert found["column"] == expected.column


def test_a_bad_seed_is_never_compiled(bad_seeds: dict[str, Path]) -> None:
    """compile gives no module for any of them, says so for each, and ends with status 1."""
    found = formulaseed("compile", *bad_seeds.values(), "--stdout")
    assert (found.status, found.out) == (1, "")
    assert found.err.count("; not compiled\n") == len(bad_seeds)
    for path in bad_seeds.values():
        assert f"\n{path}: " in found.err


def test_every_command_refuses_a_bad_seed_alike(bad_seeds: dict[str, Path], tmp_path: Path) -> None:
    """evaluate, dump and fmt end with status 1 and the same code as check; fmt leaves the file as it was."""
    path = bad_seeds["lists 10,000 deep"]
    data = path.read_bytes()
    rows = write_lines(tmp_path / "rows.jsonl")
    for arguments in (("evaluate", path, "--rows", rows), ("dump", path), ("fmt", path)):
        found = formulaseed(*arguments)
        assert (found.status, found.out) == (1, "")
        assert "error[FS004]" in found.err
    assert path.read_bytes() == data


def test_what_cannot_be_read_is_status_2(tmp_path: Path) -> None:
    """A missing file, a folder and an empty name: each is reported, status 2."""
    for arguments in (("check",), ("compile", "--stdout"), ("fmt",)):
        found = formulaseed(arguments[0], tmp_path / "absent.json", tmp_path, "", *arguments[1:])
        assert (found.status, found.out) == (2, "")
        assert f"cannot read {tmp_path / 'absent.json'}: No such file or directory" in found.err
        assert f"cannot read {tmp_path}: Is a directory" in found.err
        assert found.err.count("cannot read") == 3


# --- rows


@dataclass(frozen=True)
class BadLine:
    """A line, what is reported of it, and the id under which its restaurant has an error among the results."""

    line: object
    reported: str
    business_id: str = ""
    kind: str = "data"
    only_trace: bool = False


def row(**changes: object) -> dict[str, Any]:
    """A good row with parts replaced."""
    return {**tiny_row("r1"), **changes}


def fields(**values: object) -> dict[str, Any]:
    return row(extraction={"mood": "good", "score": 1, **values})


def meta(**values: object) -> dict[str, Any]:
    return row(meta={"stars": 4, **values})


def packed(text: str) -> bytes:
    return text.encode()


BAD_ROWS = {
    "not JSON": BadLine(packed("{'business_id': 1}"), "not JSON"),
    "half a line": BadLine(packed('{"business_id": "half", "rows": ['), "not JSON"),
    "a list": BadLine([1], "a line must hold an object"),
    "null": BadLine(None, "a line must hold an object"),
    "NaN": BadLine(packed('{"business_id": "nan", "context": {"is_open": NaN}, "rows": []}'), "`NaN`"),
    "-Infinity": BadLine(
        packed('{"business_id": "inf", "context": {"is_open": -Infinity}, "rows": []}'), "`-Infinity`"
    ),
    "a key twice": BadLine(packed('{"business_id": "twice", "rows": [], "rows": []}'), "duplicate key `rows`"),
    "a key twice inside": BadLine(
        packed('{"business_id": "inside", "rows": [{"meta": {"stars": 1, "stars": 5}}]}'), "duplicate key `stars`"
    ),
    "Latin-1": BadLine('{"business_id": "Café", "rows": []}'.encode("latin-1"), "not UTF-8"),
    "too deep": BadLine(b"[" * 100_000, "too deep"),
    "5,000 digits": BadLine(b'{"business_id": "digits", "rows": [' + b"9" * 5000 + b"]}", "digits"),
    "half a character": BadLine(packed(r'{"business_id": "half \ud83c", "rows": []}'), ""),
    "half a character inside": BadLine(
        packed(r'{"business_id": "x", "context": {"name": "\udc00", "is_open": 1}, "rows": []}'), ""
    ),
    "no business_id": BadLine({"rows": []}, "`business_id`"),
    "an empty business_id": BadLine({"business_id": "", "rows": []}, "`business_id`"),
    "a number for business_id": BadLine({"business_id": 7, "rows": []}, "`business_id`"),
    "no rows": BadLine({"business_id": "no rows"}, "`rows`", "no rows"),
    "rows no list": BadLine({"business_id": "rows", "rows": {"0": {}}}, "`rows`", "rows"),
    "a row no object": BadLine({"business_id": "row", "rows": [{}, 3]}, "`rows[1]`", "row"),
    "a context no object": BadLine({"business_id": "ctx", "context": [], "rows": []}, "`context`", "ctx"),
    "no context": BadLine({"business_id": "no ctx", "rows": [row()]}, "`context.is_open`", "no ctx"),
    "an extraction no object": BadLine(tiny_rows("ex", row(extraction="good")), "`extraction`", "ex"),
    "an unknown value": BadLine(tiny_rows("enum", fields(mood="Good")), "`extraction.mood`", "enum"),
    "a missing field": BadLine(tiny_rows("gone", row(extraction={"score": 1})), "`extraction.mood`", "gone"),
    "a null field": BadLine(tiny_rows("null", fields(mood=None)), "`extraction.mood`", "null"),
    "a list for an enum": BadLine(tiny_rows("list", fields(mood=["good"])), "`extraction.mood`", "list"),
    "true for an integer": BadLine(tiny_rows("bool", fields(score=True)), "`extraction.score`", "bool"),
    "a text for an integer": BadLine(tiny_rows("text", fields(score="1")), "`extraction.score`", "text"),
    "1.5 for an integer": BadLine(tiny_rows("float", fields(score=1.5)), "`extraction.score`", "float"),
    "65 bits": BadLine(tiny_rows("65", fields(score=2**64)), "`extraction.score`", "65"),
    "1e999 for an integer": BadLine(
        packed(json.dumps(tiny_rows("1e999", fields(score="X"))).replace('"X"', "1e999")), "`extraction.score`", "1e999"
    ),
    "a text for a number": BadLine(tiny_rows("stars", meta(stars="5")), "`meta.stars`", "stars"),
    "true for a number": BadLine(tiny_rows("true", meta(stars=True)), "`meta.stars`", "true"),
    "a number beyond all data": BadLine(tiny_rows("1e101", meta(stars=1e101)), "`meta.stars`", "1e101"),
    "no metadata": BadLine(tiny_rows("meta", row(meta={})), "`meta.stars`", "meta"),
    "a value in the wrong section": BadLine(
        tiny_rows("section", {"mood": "good", "stars": 3, "extraction": {}, "meta": {}}), "`extraction.mood`", "section"
    ),
    "a wrong context": BadLine(
        {"business_id": "open", "context": {"is_open": "yes"}, "rows": [row()]}, "`context.is_open`", "open"
    ),
    "no value for a step": BadLine(tiny_rows("zero"), "SHARE: division_by_zero", "zero", "division_by_zero"),
    "no review_id": BadLine(
        tiny_rows("no id", {k: v for k, v in row().items() if k != "review_id"}),
        "`review_id`",
        "no id",
        only_trace=True,
    ),
    "a number for review_id": BadLine(tiny_rows("id 3", row(review_id=3)), "`review_id`", "id 3", only_trace=True),
}


@dataclass(frozen=True)
class Ran:
    """A run over good and bad lines: where each bad one stands, and how it ended."""

    file: Path
    lines: dict[str, int]
    plain: Outcome
    trace: Outcome


def run_over(tmp_path: Path, bad_lines: dict[str, BadLine], good_lines: list[dict[str, Any]], *command: object) -> Ran:
    """Write the bad lines between the good ones and give the file to the command, as its last argument."""
    records: list[object] = [good_lines[0]]
    lines: dict[str, int] = {}
    for name, bad in bad_lines.items():
        records.append(bad.line)
        lines[name] = len(records)
        if len(records) % 10 == 0:
            records.append(b"")  # blank lines are no records, but count
    records += good_lines[1:]
    path = write_lines(tmp_path / "lines.jsonl", *records)
    return Ran(path, lines, formulaseed(*command, path), formulaseed(*command[:-1], "--trace", command[-1], path))


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder = tmp_path_factory.mktemp("rows")
    seed = write_json(folder / "seed.json", tiny_seed())
    return run_over(folder, BAD_ROWS, [tiny_rows("first", row()), tiny_rows("last", row())], "evaluate", seed, "--rows")


@pytest.mark.parametrize("name", BAD_ROWS)
def test_a_bad_line_of_rows_is_reported_by_file_line_and_field(name: str, evaluated: Ran) -> None:
    """Standard error names the line and the field; where the restaurant is known, its result has an error, no output."""
    bad, place = BAD_ROWS[name], f"failed: {evaluated.file}:{evaluated.lines[name]}: "
    for found in (evaluated.plain, evaluated.trace):
        lines = [line for line in found.err.splitlines() if line.startswith(place)]
        result = found.by_id().get(bad.business_id)
        if bad.only_trace and found is evaluated.plain:
            assert not lines
            assert result is not None
            assert "output" in result
            continue
        assert len(lines) == 1
        assert bad.reported in lines[0]
        assert len(lines[0]) < 600
        if not bad.business_id:
            continue
        assert result is not None
        assert not {"output", "steps", "evidence"} & set(result)
        assert set(result["error"]) == {"step", "kind", "message"}
        assert result["error"]["kind"] == bad.kind
        assert (result["error"]["step"] is None) == (bad.kind == "data")
        assert bad.reported.split(": ")[-1] in f"{result['error']['kind']} {result['error']['message']}"


def test_good_lines_of_rows_survive_the_bad_ones(evaluated: Ran) -> None:
    """The first and the last restaurant are there as if alone; no other has an output; status 3."""
    for found in (evaluated.plain, evaluated.trace):
        assert found.status == 3
        known = {bad.business_id for bad in BAD_ROWS.values() if bad.business_id}
        assert set(found.by_id()) == {"first", "last"} | known
        assert len(found.results) == len(known) + 2
        for business_id in ("first", "last"):
            output = found.by_id()[business_id]["output"]
            assert output == {"N_GOOD": 1, "TOTAL": 5.0, "SHARE": 1.0, "VERDICT": "few"}


def test_a_truncated_gzip_is_unreadable_and_still_reports_all_it_found(tmp_path: Path) -> None:
    """Status 2; the restaurants before the break are written, and bad lines before it are reported."""
    seed = write_json(tmp_path / "seed.json", tiny_seed())
    lines = [tiny_rows(f"r{number}", row(note=f"{number * 7919:x}")) for number in range(2000)]
    plain = write_lines(tmp_path / "rows.jsonl", b"{bad", *lines)
    broken = tmp_path / "rows.jsonl.gz"
    data = gzip.compress(plain.read_bytes())
    broken.write_bytes(data[: len(data) // 2])
    found = formulaseed("evaluate", seed, "--rows", broken)
    assert found.status == 2
    assert f"cannot read {broken} from line " in found.err
    assert found.results[0]["business_id"] == "r0"
    assert 0 < len(found.results) < 2000
    assert f"failed: {broken}:1: not JSON" in found.err


@pytest.mark.parametrize("file", ["absent.jsonl", ".", "broken.gz"])
def test_rows_that_cannot_be_read_are_status_2(file: str, tmp_path: Path) -> None:
    """A missing file, a folder, and a gzip file with only its magic number."""
    (tmp_path / "broken.gz").write_bytes(b"\x1f\x8b\x08rest")
    seed = write_json(tmp_path / "seed.json", tiny_seed())
    found = formulaseed("evaluate", seed, "--rows", tmp_path / file)
    assert (found.status, found.out) == (2, "")
    assert f"cannot read {tmp_path / file}" in found.err


# --- contexts


def review(**changes: object) -> dict[str, Any]:
    return {"review_id": "r1", "text": "Good soup", "stars": 4, "date": "2020-02-29 12:00:00", **changes}


def context(business_id: str, *reviews: object, **changes: object) -> dict[str, Any]:
    return {"business_id": business_id, "name": f"The {business_id}", "is_open": 1, "reviews": list(reviews), **changes}


BAD_CONTEXTS = {
    "not JSON": BadLine(b'{"business_id": "json",', "not JSON"),
    "no business_id": BadLine({"reviews": []}, "`business_id`"),
    "reviews no list": BadLine(context("list", reviews={}), "`reviews`", "list"),
    "reviews null": BadLine(context("null", reviews=None), "`reviews`", "null"),
    "business no object": BadLine(context("business", business=3), "`business`", "business"),
    "no text": BadLine(context("text", {"review_id": "r1"}), "`reviews[0].text`", "text"),
    "null for a text": BadLine(context("no text", review(), review(text=None)), "`reviews[1].text`", "no text"),
    "no review_id": BadLine(context("id", {"text": "soup"}), "`reviews[0].review_id`", "id"),
    "a number for review_id": BadLine(context("id 3", review(review_id=3)), "`reviews[0].review_id`", "id 3"),
    "a review no object": BadLine(context("object", "Good soup"), "`reviews[0]`", "object"),
    "a user no object": BadLine(context("user", review(user="Ann")), "`reviews[0].user`", "user"),
    "a number for a date": BadLine(context("date 3", review(date=20200229)), "`reviews[0].date`", "date 3"),
    "a date in words": BadLine(context("words", review(date="yesterday")), "date", "words"),
    "a date of another order": BadLine(context("order", review(date="29-02-2020")), "date", "order"),
    "a thirteenth month": BadLine(context("month", review(date="2020-13-01")), "date", "month"),
    "a day that is none": BadLine(context("day", review(date="2021-02-29")), "date", "day"),
    "no date": BadLine(context("no date", review(date=None)), "`meta.year`", "no date"),
    "a text for the stars": BadLine(context("stars", review(stars="4")), "`meta.stars`", "stars"),
    "a text for the context": BadLine(context("open", review(), is_open="1"), "`context.is_open`", "open"),
    "half a character": BadLine(json.dumps(context("half", review(), name="\ud83c")).encode(), "", ""),
}


@pytest.fixture(scope="module")
def dated_seed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small seed with a step that needs the year of each review."""
    seed = tiny_seed()
    seed["extract"]["fields"][0]["default"] = "good"
    seed["compute"].append({"name": "LAST_YEAR", "op": "max", "field": "meta.year", "default": 0})
    seed["compute"].append({"name": "LAST_MONTH", "op": "max", "field": "meta.month", "default": 0})
    seed["output"] += ["LAST_YEAR", "LAST_MONTH"]
    return write_json(tmp_path_factory.mktemp("dated") / "seed.json", seed)


@pytest.fixture(scope="module")
def contexts_run(dated_seed: Path, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    good_lines = [context("first", review()), context("last", review(), review(review_id="r2", text="tea"))]
    return run_over(tmp_path_factory.mktemp("contexts"), BAD_CONTEXTS, good_lines, "run", dated_seed, "--contexts")


@pytest.mark.parametrize("name", BAD_CONTEXTS)
def test_a_bad_context_is_reported_by_file_line_and_field(name: str, contexts_run: Ran) -> None:
    """Standard error names the line and the field; where the restaurant is known, its result has an error, no output."""
    bad, place = BAD_CONTEXTS[name], f"failed: {contexts_run.file}:{contexts_run.lines[name]}: "
    for found in (contexts_run.plain, contexts_run.trace):
        lines = [line for line in found.err.splitlines() if line.startswith(place)]
        assert len(lines) == 1
        assert bad.reported in lines[0]
        if bad.business_id:
            result = found.by_id()[bad.business_id]
            assert not {"output", "steps", "evidence"} & set(result)
            assert result["error"]["kind"] == "data"
            assert bad.reported in result["error"]["message"]


def test_good_contexts_survive_the_bad_ones(contexts_run: Ran) -> None:
    """Status 3; the first and the last restaurant have their outputs, the date's year and month among them."""
    for found in (contexts_run.plain, contexts_run.trace):
        assert found.status == 3
        with_output = {result["business_id"]: result for result in found.results if "output" in result}
        assert set(with_output) == {"first", "last"}
        assert with_output["last"]["reviews"] == {"total": 2, "relevant": 1, "extracted": 1, "failed": 0}
        for result in with_output.values():
            assert (result["output"]["LAST_YEAR"], result["output"]["LAST_MONTH"]) == (2020, 2)


# --- restaurants and reviews in files of their own


def test_bad_reviews_of_a_file_of_their_own_are_reported(tmp_path: Path) -> None:
    """Reviews without a text, without a restaurant, of an unknown one, no JSON at all; a duplicate restaurant."""
    tiny = tiny_seed()
    tiny["extract"]["fields"][0]["default"] = "good"
    seed = write_json(tmp_path / "seed.json", tiny)
    restaurants = write_lines(
        tmp_path / "restaurants.jsonl",
        {"business_id": "a", "name": "A", "is_open": 1},
        {"name": "nobody", "is_open": 1},
        {"business_id": "b", "name": "B", "is_open": 1},
        {"business_id": "a", "name": "A again", "is_open": 1},
    )
    reviews = write_lines(
        tmp_path / "reviews.jsonl",
        review(business_id="a"),
        review(business_id="a", review_id="r2", text=None),
        review(review_id="r3"),
        review(business_id="c", review_id="r4"),
        b"{",
        review(business_id="b", review_id="r5"),
        review(business_id="c", review_id="r6"),
    )
    found = formulaseed("run", seed, "--restaurants", restaurants, "--reviews", reviews)
    assert found.status == 3
    assert f"failed: {reviews}:2: `text` " in found.err
    assert f"failed: {reviews}:3: `business_id` " in found.err
    assert f"failed: {reviews}:5: not JSON" in found.err
    orphans = next(line for line in found.err.splitlines() if line.startswith(f"failed: {reviews}:4: "))
    assert "2 reviews" in orphans
    assert " c," in orphans
    assert f"failed: {restaurants}:2: `business_id` " in found.err
    assert f"failed: {restaurants}:4: " in found.err
    with_output = [result for result in found.results if "output" in result]
    assert [(r["business_id"], r["name"], r["reviews"]["total"]) for r in with_output if r["name"] != "A again"] == [
        ("b", "B", 1),
    ]  # fmt: skip


# --- recorded extractions


def recorded(review_id: str, **values: object) -> dict[str, Any]:
    return {"business_id": review_id, "review_id": review_id, "fields": {"mood": "good", "score": 1, **values}}


BAD_EXTRACTIONS: dict[str, tuple[object, str]] = {
    "not JSON": (b"{", "not JSON"),
    "no review_id": ({"business_id": "a", "fields": {}}, "`review_id`"),
    "fields no object": ({"business_id": "a", "review_id": "x", "fields": []}, "`fields`"),
    "a value that is not listed": (recorded("unlisted", mood="so-so"), "`mood` must be one of good, bad"),
    "true for an integer": (recorded("bool", score=True), "`score`"),
    "a text for an integer": (recorded("text", score="1"), "`score`"),
    "1.5 for an integer": (recorded("float", score=1.5), "`score`"),
    "a second time": (recorded("good", mood="bad"), "duplicate extraction"),
}


@pytest.fixture(scope="module")
def recorded_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    folder = tmp_path_factory.mktemp("recorded")
    seed = write_json(folder / "seed.json", tiny_seed())
    ids = ["good", "unlisted", "bool", "text", "float", "absent"]
    contexts = write_lines(folder / "contexts.jsonl", *[context(i, review(review_id=i)) for i in ids])
    extractions = write_lines(folder / "extractions.jsonl", recorded("good"), *[x for x, _ in BAD_EXTRACTIONS.values()])
    arguments = ("--contexts", contexts, "--extractor", "recorded", "--extractions", extractions)
    return extractions, formulaseed("run", seed, *arguments)


@pytest.mark.parametrize("name", BAD_EXTRACTIONS)
def test_a_bad_recorded_extraction_is_reported_by_line_and_field(name: str, recorded_run: tuple[Path, Outcome]) -> None:
    """A value that the seed does not list, a wrong type, a second record of one review: file, line and reason."""
    extractions, found = recorded_run
    number = list(BAD_EXTRACTIONS).index(name) + 2
    line = next(line for line in found.err.splitlines() if line.startswith(f"failed: {extractions}:{number}: "))
    assert BAD_EXTRACTIONS[name][1] in line


def test_a_bad_recorded_extraction_fails_its_restaurant_alone(recorded_run: tuple[Path, Outcome]) -> None:
    """The review with a good record counts, first record first; every other restaurant has an error."""
    _, found = recorded_run
    assert found.status == 3
    results = found.by_id()
    assert results.pop("good")["output"]["N_GOOD"] == 1
    assert set(results) == {"unlisted", "bool", "text", "float", "absent"}
    for business_id, result in results.items():
        assert result["error"]["kind"] == "extraction"
        assert business_id in result["error"]["message"]
        assert "output" not in result


def test_filters_in_one_another_have_a_limit() -> None:
    """As many as the limit are followed by the checker, the module and the reference alike; one more is refused."""

    def nested(number: int) -> dict[str, Any]:
        first = {"name": "F0", "op": "define_filter", "extraction": {"mood": "good"}}
        more = [
            {"name": f"F{i}", "op": "define_filter", "where": {f"$F{i - 1}": i % 2 == 0, "meta.stars": {"<": i + 9}}}
            for i in range(1, number)
        ]
        count = {"name": "N", "op": "count", "where": {f"$F{number - 1}": True}}
        return tiny_seed(compute=[first, *more, count], output=["N"])

    most = load_seed(nested(limits.FILTER_NESTING))
    rows = [tiny_row("r1"), tiny_row("r2", "bad")]
    found = load_evaluator(most).evaluate(rows, {})
    assert found == reference_evaluate(most, rows, {})
    assert found == {"N": 1}
    with pytest.raises(SeedError, match="FS510 101 filters use one another"):
        load_seed(nested(limits.FILTER_NESTING + 1))


DOCUMENTS = {
    "a list": (json.dumps([{"business_id": "a", "reviews": []}], indent=2), "jq -c '.[]'"),
    "an object": (json.dumps({"business_id": "a", "reviews": []}, indent=2), "jq -c ."),
    "a list of JavaScript, behind a byte order mark": ('\ufeff[{\n  "business_id": "a"\n}]', "jq -c '.[]'"),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_over_several_lines_is_one_message(name: str, tmp_path: Path) -> None:
    """Each of its lines would be one that is not JSON; the message says how to write one object a line."""
    text, fix = DOCUMENTS[name]
    (tmp_path / "contexts.json").write_text(text, encoding="utf-8")
    seed = write_json(tmp_path / "seed.json", tiny_seed())
    done = formulaseed("run", seed, "--contexts", "contexts.json", cwd=tmp_path)
    what = "it is one JSON document over several lines; write one object a line"
    assert (done.status, done.out) == (2, "")
    assert done.err.splitlines()[-1] == f"formulaseed: cannot read contexts.json: {what}, as `{fix}` does"


def test_a_restaurant_with_two_lines_is_reported(tmp_path: Path) -> None:
    """Both have a result; it is no failure. `explain` says which of the two it explains."""
    seed = write_json(tmp_path / "seed.json", tiny_seed())
    lines = [tiny_rows(name, tiny_row("r1")) for name in ("a", "b", "a", "a")]
    write_lines(tmp_path / "rows.jsonl", *lines)
    done = formulaseed("evaluate", seed, "--rows", "rows.jsonl", cwd=tmp_path)
    assert (done.status, [result["business_id"] for result in done.results]) == (0, ["a", "b", "a", "a"])
    where = "duplicate business_id a in rows.jsonl:1 and rows.jsonl:3, and 1 more such line; each line has a result"
    assert f"warning: {where}\n" in done.err
    done = formulaseed("explain", seed, "--rows", "rows.jsonl", "--id", "a", cwd=tmp_path)
    assert done.status == 0
    assert done.err.endswith("\nwarning: rows.jsonl:1 is explained; a is also in rows.jsonl:3, rows.jsonl:4\n")
