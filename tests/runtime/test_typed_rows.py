"""The decoder for types gives the values of the module's `parse_row`, and no row that the module would refuse."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from formulaseed import DataError, load_evaluator, load_seed
from formulaseed.data.decoding import decode_object
from formulaseed.data.jsonl import InputLine, read_lines
from formulaseed.data.records import RestaurantRows
from formulaseed.data.results import Failures
from formulaseed.documents import FormulaSeed
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.running import evaluate_lines
from formulaseed.runtime.typed_rows import ParsedRows, RowDecoder
from formulaseed.testing import rows, seeds
from helpers import EXAMPLES, TASKS, places, tiny_row, tiny_rows, tiny_seed, write_lines
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("msgspec")

Json = Any

VALUES: dict[str, Json] = {
    "task_name": "values",
    "extract": {
        "fields": [
            {"name": "level", "type": "integer", "minimum": 1, "maximum": 5},
            {"name": "share", "type": "number", "minimum": 0, "maximum": 9007199254740992},
            {"name": "any_share", "type": "number"},
            {"name": "open", "type": "boolean"},
            {"name": "dish", "type": "string"},
            {"name": "mood", "type": "enum", "values": ["good", "bad", "é \" : \\"], "default": "bad"},
        ],
        "meta": [
            {"name": "age_years", "type": "number", "nullable": True},
            {"name": "table", "type": "integer", "nullable": True},
            {"name": "waiter", "type": "string", "nullable": True},
        ],
    },
    "compute": [
        {"name": "A", "op": "sum", "expr": "extraction.level + extraction.share + extraction.any_share"},
        {"name": "B", "op": "count", "where": {"extraction.open": True, "extraction.dish": "pho", "extraction.mood": "good"}},
        {"name": "C", "op": "sum", "expr": "(meta.age_years or 0) + (meta.table or 0) + meta.year + meta.month + meta.stars"},
        {"name": "D", "op": "count", "where": {"meta.waiter": "Ana", "meta.date": {"!=": "2018-04-14"}}},
    ],
    "output": ["A", "B", "C", "D"],
}  # fmt: skip
"""Fields of every type, bounded, nullable, with a default; a date with its parts."""
POLICIES: dict[str, Any] = {
    "values": VALUES,
    "tiny": tiny_seed(),
    **{name: TASKS / name / "seed.json" for name in ("g1a_v2", "kitchen_hygiene")},
}
ROW: Json = {
    "review_id": "r:1", "extraction": {"level": 5, "share": 1, "any_share": 0.1, "open": True, "dish": "pho: 1", "mood": "good"},
    "meta": {"stars": 4, "year": 2018, "month": 4, "date": "2018-04-14 12:18:05", "age_years": None, "table": 7, "waiter": None},
}  # fmt: skip


@cache
def load(name: str) -> tuple[FormulaSeed, Evaluator]:
    seed = load_seed(POLICIES[name])
    return seed, load_evaluator(seed)


def examples(share: float) -> settings:
    """Return settings with a share of the profile's number of examples."""
    return settings(max_examples=max(1, round(settings.default.max_examples * share)))  # type: ignore[union-attr]


def encode_line(business_id: object, records: Json, extra_keys: Json = None, **options: Any) -> bytes:
    context = {"name": "Café: 1", "hours": {"Monday": "8:0-22:0"}}
    line = {"business_id": business_id, "context": context, "rows": records, **(extra_keys or {})}
    return json.dumps(line, **options).encode()


def create_decoder(evaluator: Evaluator, records: Json, extra_keys: Json = None) -> RowDecoder:
    """Return a decoder that has learned the keys of a line with these rows."""
    decoder = evaluator.row_decoder()
    assert decoder is not None
    decoder.learn(InputLine("rows.jsonl", 2, encode_line("learnt", records, extra_keys)))
    return decoder


def assert_same(evaluator: Evaluator, decoder: RowDecoder, line: bytes) -> bool:
    """Return whether the line is decoded by types; if so, assert that the module reads the same, to the last bit."""
    decoded = decoder.read(line)
    if decoded is None:
        return False
    expected = RestaurantRows.read(decode_object(line))
    try:
        expected = expected._replace(rows=ParsedRows(map(evaluator.module.parse_row, expected.rows)))
    except evaluator.module.DataError as error:
        raise DataError(str(error)) from None
    assert repr(decoded[:3]) == repr(expected[:3])
    assert decoded[3:] == expected[3:]
    return True


def duplicate(row: Json) -> list[Json]:
    """Return the row, and another review with the same values."""
    return [row, {**row, "review_id": "r:2"}]


def with_meta(**changes: Json) -> Json:
    return {**ROW, "meta": {**ROW["meta"], **changes}}


def with_extraction(**changes: Json) -> Json:
    return {**ROW, "extraction": {**ROW["extraction"], **changes}}


# --- the same values as the module


@pytest.mark.parametrize("name", POLICIES)
@examples(0.2)
@given(data=st.data())
def test_valid_rows_are_those_of_parse_row(name: str, data: st.DataObject) -> None:
    """In any layout of JSON."""
    seed, evaluator = load(name)
    records = data.draw(rows(seed, min_size=1))
    layouts = [{}, {"ensure_ascii": False}, {"separators": (",", ":")}, {"separators": (" , ", " : ")}]
    line = encode_line("a", records, **data.draw(st.sampled_from(layouts)))
    assert_same(evaluator, create_decoder(evaluator, records), line)


ODD = [
    "0", "-0", "-0.0", "1", "2.0", "5e0", "1e2", "0.5", "-1", "6", "2019", "4", "9007199254740991", "9007199254740992",
    "9007199254740993", "-9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
    "1" + "0" * 30, "1" + "0" * 99, "1e99", "1e100", "1e101", "1e400", "NaN", "true", "false", "null", '""', '"good"',
    '"go\\u006fd"', '"Good"', '"2018-04-14"', '"2018-04-14 12:18:05"', '"2019-02-30"', '"20180414"', '"5"', "[]", "[{}]", "{}",
    '{"a": 1, "a": 2}', '"\\ud800"', '"\x00"', "9" * 5000, '"a:b:c"', '"a\\u003ab"', '":", "cool": 3, "cool": ":"',
]  # fmt: skip


@pytest.mark.parametrize("name", POLICIES)
@examples(0.5)
@given(data=st.data())
@pytest.mark.thorough
def test_changed_rows_are_those_of_parse_row_or_left_to_the_module(name: str, data: st.DataObject) -> None:
    """With one value, key or row replaced, dropped, duplicated or added."""
    seed, evaluator = load(name)
    records = json.loads(json.dumps(data.draw(rows(seed, min_size=1))))
    decoder = create_decoder(evaluator, records)
    parent, key = data.draw(st.sampled_from([([records], 0), *places(records)]))
    change = data.draw(st.sampled_from(["value", "value", "value", "key", "gone", "twice", "more"]))
    text = data.draw(st.sampled_from(ODD))
    if change == "value" or not isinstance(parent, dict):
        parent[key] = "@@"
    elif change == "more":
        parent["@@"] = 1
        text = data.draw(st.sampled_from(['"more"', '"year"', '"month"', '"date"', '"meta"', f'"{key}"']))
    else:
        value = parent.pop(key)
        parent.update({"key": {f"{key}x": value}, "gone": {}, "twice": {"@@": value, key: value}}[change])
        text = json.dumps(key)
    assert_same(evaluator, decoder, encode_line("a", records).replace(b'"@@"', text.encode()))


@examples(0.15)
@given(seed=seeds(max_steps=3), data=st.data())
def test_rows_of_random_seeds_are_those_of_parse_row(seed: Json, data: st.DataObject) -> None:
    loaded = load_seed(seed)
    evaluator = load_evaluator(loaded)
    records = data.draw(rows(loaded, min_size=1))
    assert_same(evaluator, create_decoder(evaluator, records), encode_line("a", records))


WITHOUT_PARTS = {**ROW, "meta": {k: v for k, v in ROW["meta"].items() if k not in ("year", "month")}}
COUNTS = {"total": 9, "relevant": 3, "extracted": 2, "failed": 1}
RUN = {"extractor": "lexical", "seed_sha256": "0" * 64, "edited": False, "sample": {"size": 3}}


@pytest.mark.parametrize(
    ("row", "extra_keys"),
    [
        (ROW, {}), (WITHOUT_PARTS, {}), ({**WITHOUT_PARTS, "note": "more", "cool": 3}, {}),
        ({**ROW, "meta": {**WITHOUT_PARTS["meta"], "year": 2018, "cool": 3}}, {}),
        (ROW, {"reviews": COUNTS, "run": RUN}), (ROW, {"reviews": None}), (ROW, {"run": RUN, "note": ["a: b"]}),
    ],
)  # fmt: skip
def test_ordinary_lines_are_decoded_by_types(row: Json, extra_keys: Json) -> None:
    """With a date and its parts or without them, other keys, colons, nulls, and the origin of the rows."""
    _, evaluator = load("values")
    decoder = create_decoder(evaluator, duplicate(row), extra_keys)
    assert assert_same(evaluator, decoder, encode_line("a", duplicate(row), extra_keys))
    assert not extra_keys or decoder.read(encode_line("a", duplicate(row))) is None


@pytest.mark.parametrize("fields", ["mood", "score", "stars", "stars year", "mood score", ""])
def test_seeds_that_use_some_fields_decode_them_by_types(fields: str) -> None:
    values: Json = {"mood": "good", "score": 1, "stars": 5, "year": 2018}
    sections = {"mood": "extraction", "score": "extraction", "stars": "meta", "year": "meta"}
    wheres = [{f"{sections[name]}.{name}": values[name]} for name in fields.split()]
    steps = [{"name": f"N{at}", "op": "count", "where": where} for at, where in enumerate(wheres)]
    compute = [*steps, {"name": "N", "op": "count"}]
    evaluator = load_evaluator(tiny_seed(compute=compute, output=[step["name"] for step in compute]))
    row = {**tiny_row("r"), "meta": {"stars": 5, "year": 2018}}
    decoder = create_decoder(evaluator, [row])
    line = encode_line("a", duplicate(row))
    assert assert_same(evaluator, decoder, line)
    decoded = decoder.read(line)
    assert decoded is not None
    assert set(evaluator.evaluate(decoded.rows, decoded.context).values()) == {2}


# --- left to the module


@pytest.mark.parametrize(
    "row",
    [
        with_meta(year=2019), with_meta(month=5), with_meta(date="2018-02-30"), with_meta(date=None), with_meta(year=True),
        with_meta(stars=True), with_meta(stars=2**53), with_extraction(mood=None), with_extraction(level=6),
        with_extraction(level=5.0), with_extraction(share=-0.5), with_extraction(dish=None), with_extraction(more={"a": 1}),
        {**ROW, "extraction": {k: v for k, v in ROW["extraction"].items() if k != "open"}},
        {k: v for k, v in ROW.items() if k != "review_id"}, ROW,
    ],
)  # fmt: skip
def test_other_rows_are_left_to_the_module(row: Json) -> None:
    """Dates that disagree, other types, values out of bounds, nulls that are defaults, other keys, duplicate ids.

    Also after the date has been decoded in another line.
    """
    _, evaluator = load("values")
    decoder = create_decoder(evaluator, [ROW])
    assert assert_same(evaluator, decoder, encode_line("a", duplicate(ROW)))
    assert decoder.read(encode_line("a", [ROW, row])) is None


@pytest.mark.parametrize(
    "line",
    [
        encode_line("", []), encode_line(1, []), encode_line("a", None), b"", b"\xef\xbb\xbf" + encode_line("a", []),
        encode_line("@", [ROW]).replace(b"@", b"\\u003a" * 3).replace(b'"stars": 4', b'"stars": 4, "stars": 4'),
        b'{"business_id": "a", "rows": []}', b'{"business_id": "a", "context": [], "rows": []}',
        b'{"business_id": "a", "context": {}, "rows": [], "more": 1}',
        b'{"business_id": "a", "context": {"name": 1, "name": 2}, "rows": []}',
        b'{"business_id": "a", "business_id": "b", "context": {}, "rows": []}',
    ],
)  # fmt: skip
def test_other_lines_are_left_to_the_module(line: bytes) -> None:
    """Without an id, a context or rows, with other keys, with duplicate ones."""
    _, evaluator = load("values")
    assert create_decoder(evaluator, [ROW]).read(line) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"reviews": {**COUNTS, "extracted": 1}}, {"reviews": {**COUNTS, "failed": True}}, {"reviews": 3},
        {"run": {"extractor": 1}}, {"run": {**RUN, "edited": 0}},
    ],
)  # fmt: skip
def test_lines_with_a_wrong_origin_are_left_to_the_module(wrong: Json) -> None:
    _, evaluator = load("values")
    extra_keys = {"reviews": COUNTS, "run": RUN}
    decoder = create_decoder(evaluator, duplicate(ROW), extra_keys)
    assert decoder.read(encode_line("a", duplicate(ROW), {**extra_keys, **wrong})) is None


def test_strict_evaluators_and_edited_modules_read_every_row_themselves() -> None:
    assert load_evaluator(VALUES, strict=True).row_decoder() is None
    assert Evaluator(load("values")[1].module).row_decoder() is None
    assert load_evaluator(TASKS.parent / "generated" / "g1a_v2.py").row_decoder() is not None


def test_keys_are_learned_at_most_ten_times() -> None:
    """A file whose lines all have other keys is not slowed down."""
    _, evaluator = load("tiny")
    decoder = evaluator.row_decoder()
    assert decoder is not None
    for number in range(20):
        line = encode_line("a", [{**tiny_row("r"), f"key{number}": 1}])
        assert decoder.read(line) is None
        decoder.learn(InputLine("rows.jsonl", 2, line))
        assert (decoder.read(line) is not None) == (number < 10)


# --- results


@pytest.mark.parametrize("trace", [False, True])
def test_results_are_those_of_the_module(trace: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluator = load_evaluator(TASKS / "g1a_v2" / "seed.json")
    decoded: list[RestaurantRows | None] = []
    read = RowDecoder.read
    monkeypatch.setattr(RowDecoder, "read", lambda decoder, line: decoded.append(read(decoder, line)) or decoded[-1])

    def evaluate() -> list[str]:
        lines = read_lines(str(EXAMPLES / "rows-g1a_v2.jsonl"))
        return [result.to_line() for result in evaluate_lines(evaluator, lines, Failures(), trace=trace)]

    results = evaluate()
    assert sum(restaurant is not None for restaurant in decoded) == (0 if trace else len(results) - 1)
    monkeypatch.setattr(Evaluator, "row_decoder", lambda evaluator: None)
    assert results == evaluate()


def test_a_failing_step_is_reported_with_its_place(tmp_path: Path) -> None:
    lines = [tiny_rows("a", tiny_row("r")), tiny_rows("none"), tiny_rows("b", tiny_row("r", "bad"))]
    failures = Failures()
    path = write_lines(tmp_path / "rows.jsonl", *lines)
    results = [*evaluate_lines(load_evaluator(tiny_seed()), read_lines(str(path)), failures)]
    assert [result.error and result.error["kind"] for result in results] == [None, "division_by_zero", None]
    assert [line.split(": ")[:3] for line in failures.lines] == [[f"{path}:2", "none", "SHARE"]]
