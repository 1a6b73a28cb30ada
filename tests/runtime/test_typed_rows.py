"""What is decoded by types is what the module's `parse_row` reads: the same values, and nothing that it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
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


@cache
def loaded(name: str) -> tuple[FormulaSeed, Evaluator]:
    seed = load_seed(POLICIES[name])
    return seed, load_evaluator(seed)


def examples(share: float) -> settings:
    """So many examples, relative to the profile's number."""
    return settings(max_examples=max(1, round(settings.default.max_examples * share)))  # type: ignore[union-attr]


def by_objects(evaluator: Evaluator, line: bytes) -> RestaurantRows:
    """The line's restaurant as the module reads it, each row by itself."""
    found = RestaurantRows.read(decode_object(line))
    try:
        return found._replace(rows=ParsedRows(map(evaluator.module.parse_row, found.rows)))
    except evaluator.module.DataError as error:
        raise DataError(str(error)) from None


def assert_same(evaluator: Evaluator, typed: RowDecoder, line: bytes) -> bool:
    """Whether the line is decoded by types; if so, it is as the module reads it, to the last bit."""
    found = typed.read(line)
    if found is None:
        return False
    expected = by_objects(evaluator, line)
    assert repr(found[:3]) == repr(expected[:3])
    assert found[3:] == expected[3:]
    return True


def line_of(business_id: object, found: Json, *, others: Json = None, **options: Any) -> bytes:
    context = {"name": "Café: 1", "hours": {"Monday": "8:0-22:0"}}
    return json.dumps(
        {"business_id": business_id, "context": context, "rows": found, **(others or {})}, **options
    ).encode()


def typed_for(evaluator: Evaluator, found: Json, others: Json = None) -> RowDecoder:
    typed = evaluator.row_decoder()
    assert typed is not None
    typed.learn(InputLine("rows.jsonl", 2, line_of("learnt", found, others=others)))
    return typed


@pytest.mark.parametrize("name", POLICIES)
@examples(0.2)
@given(data=st.data())
def test_rows_that_fit_are_the_ones_of_parse_row(name: str, data: st.DataObject) -> None:
    """Any rows that fit a seed, in any layout of JSON."""
    seed, evaluator = loaded(name)
    found = data.draw(rows(seed, min_size=1))
    options = data.draw(
        st.sampled_from([{}, {"ensure_ascii": False}, {"separators": (",", ":")}, {"separators": (" , ", " : ")}])
    )
    assert_same(evaluator, typed_for(evaluator, found), line_of("a", found, **options))


ODD = [
    "0", "-0", "-0.0", "1", "2.0", "5e0", "1e2", "0.5", "-1", "6", "2019", "4", "9007199254740991", "9007199254740992",
    "9007199254740993", "-9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
    "1" + "0" * 30, "1" + "0" * 99, "1e99", "1e100", "1e101", "1e400", "NaN", "true", "false", "null", '""', '"good"',
    '"go\\u006fd"', '"Good"', '"2018-04-14"', '"2018-04-14 12:18:05"', '"2019-02-30"', '"20180414"', '"5"', "[]", "[{}]", "{}",
    '{"a": 1, "a": 2}', '"\\ud800"', '"\x00"', "9" * 5000, '"a:b:c"', '"a\\u003ab"', '":", "cool": 3, "cool": ":"',
]  # fmt: skip
"""Values as they may be written in place of another."""


@pytest.mark.parametrize("name", POLICIES)
@examples(0.5)
@given(data=st.data())
def test_any_other_rows_are_left_to_the_module_or_the_same(name: str, data: st.DataObject) -> None:
    """One value, key or row of them changed: it is decoded as the module reads it, or not at all."""
    seed, evaluator = loaded(name)
    found = json.loads(json.dumps(data.draw(rows(seed, min_size=1))))
    typed = typed_for(evaluator, found)
    whole, key = data.draw(st.sampled_from([([found], 0), *places(found)]))
    change = data.draw(st.sampled_from(["value", "value", "value", "key", "gone", "twice", "more"]))
    text = data.draw(st.sampled_from(ODD))
    if change == "value" or not isinstance(whole, dict):
        whole[key] = "@@"
    elif change == "more":
        whole["@@"] = 1
        text = data.draw(st.sampled_from(['"more"', '"year"', '"month"', '"date"', '"meta"', f'"{key}"']))
    else:
        value = whole.pop(key)
        whole.update({"key": {f"{key}x": value}, "gone": {}, "twice": {"@@": value, key: value}}[change])
        text = json.dumps(key)
    line = line_of("a", found).replace(b'"@@"', text.encode())
    assert_same(evaluator, typed, line)


@examples(0.15)
@given(seed=seeds(max_steps=3), data=st.data())
def test_random_seeds_decode_rows_as_their_modules_read_them(seed: Json, data: st.DataObject) -> None:
    """Fields of all kinds with random names and bounds."""
    found = load_seed(seed)
    evaluator = load_evaluator(found)
    drawn = data.draw(rows(found, min_size=1))
    assert_same(evaluator, typed_for(evaluator, drawn), line_of("a", drawn))


PLAIN = {
    "review_id": "r:1", "extraction": {"level": 5, "share": 1, "any_share": 0.1, "open": True, "dish": "pho: 1", "mood": "good"},
    "meta": {"stars": 4, "year": 2018, "month": 4, "date": "2018-04-14 12:18:05", "age_years": None, "table": 7, "waiter": None},
}  # fmt: skip


def twice(row: Json) -> list[Json]:
    """The row, and another review that says the same."""
    return [row, {**row, "review_id": "r:2"}]


WITHOUT = {**PLAIN, "meta": {k: v for k, v in PLAIN["meta"].items() if k not in ("year", "month")}}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "row", [PLAIN, WITHOUT, {**PLAIN, "note": "more", "meta": {**WITHOUT["meta"], "year": 2018, "cool": 3}}]
)
def test_ordinary_rows_are_decoded_by_types(row: Json) -> None:
    """With a date and its parts, without them, with other keys, strings with colons, values that are null."""
    _, evaluator = loaded("values")
    assert assert_same(evaluator, typed_for(evaluator, [row]), line_of("a", twice(row)))


@pytest.mark.parametrize(
    "wheres",
    [
        ["extraction.mood"],
        ["extraction.score"],
        ["meta.stars"],
        ["meta.stars", "meta.year"],
        ["extraction.mood", "extraction.score"],
        [],
    ],
)
def test_seeds_that_use_a_part_of_the_rows_decode_them_by_types(wheres: list[str]) -> None:
    """One field or several of a section, all fields of it or some, or none at all."""
    values: Json = {"extraction.mood": "good", "extraction.score": 1, "meta.stars": 5, "meta.year": 2018}
    steps = [{"name": f"N{at}", "op": "count", "where": {w: values[w]}} for at, w in enumerate(wheres)]
    compute = [*steps, {"name": "N", "op": "count"}]
    evaluator = load_evaluator(tiny_seed(compute=compute, output=[step["name"] for step in compute]))
    row = {**tiny_row("r"), "meta": {"stars": 5, "year": 2018}}
    typed = typed_for(evaluator, [row])
    assert assert_same(evaluator, typed, line_of("a", twice(row)))
    found = typed.read(line_of("a", twice(row)))
    assert found is not None
    assert set(evaluator.evaluate(found.rows, found.context).values()) == {2}


COUNTS = {"total": 9, "relevant": 3, "extracted": 2, "failed": 1}
RUN = {"extractor": "lexical", "seed_sha256": "0" * 64, "edited": False, "sample": {"size": 3}}


@pytest.mark.parametrize("others", [{"reviews": COUNTS, "run": RUN}, {"reviews": None}, {"run": RUN, "note": ["a: b"]}])
def test_what_a_line_says_of_how_its_rows_came_about_is_kept(others: Json) -> None:
    """The counts of reviews, and what they were extracted with, as `extract` writes them."""
    _, evaluator = loaded("values")
    typed = typed_for(evaluator, twice(PLAIN), others)
    assert assert_same(evaluator, typed, line_of("a", twice(PLAIN), others=others))
    assert typed.read(line_of("a", twice(PLAIN))) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"reviews": {**COUNTS, "extracted": 1}}, {"reviews": {**COUNTS, "failed": True}}, {"reviews": 3},
        {"run": {"extractor": 1}}, {"run": {**RUN, "edited": 0}},
    ],
)  # fmt: skip
def test_a_line_that_is_wrong_about_its_rows_is_left_to_the_module(wrong: Json) -> None:
    """It is refused as ever."""
    _, evaluator = loaded("values")
    others = {"reviews": COUNTS, "run": RUN}
    typed = typed_for(evaluator, twice(PLAIN), others)
    assert typed.read(line_of("a", twice(PLAIN), others=others)) is not None
    assert typed.read(line_of("a", twice(PLAIN), others={**others, **wrong})) is None


@pytest.mark.parametrize(
    "change",
    [
        lambda row: row["meta"].update(year=2019),
        lambda row: row["meta"].update(month=5),
        lambda row: row["meta"].update(date="2018-02-30"),
        lambda row: row["meta"].update(date=None),
        lambda row: row["meta"].update(year=True),
        lambda row: row["meta"].update(stars=True),
        lambda row: row["meta"].update(stars=2**53),
        lambda row: row["extraction"].update(mood=None),
        lambda row: row["extraction"].update(level=6),
        lambda row: row["extraction"].update(level=5.0),
        lambda row: row["extraction"].update(share=-0.5),
        lambda row: row["extraction"].update(dish=None),
        lambda row: row["extraction"].update(others={"a": 1}),
        lambda row: row["extraction"].pop("open"),
        lambda row: row.pop("review_id"),
    ],
)
def test_everything_else_is_left_to_the_module(change: Callable[[Json], object]) -> None:
    """Dates that disagree, values of other types or out of bounds, nulls that are defaults, other keys."""
    _, evaluator = loaded("values")
    row = json.loads(json.dumps(PLAIN))
    change(row)
    assert typed_for(evaluator, [PLAIN]).read(line_of("a", [PLAIN, row])) is None


@pytest.mark.parametrize(
    "line",
    [
        line_of("", []),
        line_of(1, []),
        line_of("@", [PLAIN]).replace(b"@", b"\\u003a" * 3).replace(b'"stars": 4', b'"stars": 4, "stars": 4'),
        line_of("a", None),
        b'{"business_id": "a", "rows": []}',
        b'{"business_id": "a", "context": {}, "rows": [], "more": 1}',
        b'{"business_id": "a", "context": [], "rows": []}',
        b'{"business_id": "a", "context": {"name": 1, "name": 2}, "rows": []}',
        b'{"business_id": "a", "business_id": "b", "context": {}, "rows": []}',
        b"\xef\xbb\xbf" + line_of("a", []),
        b"",
    ],
)
def test_lines_of_another_form_are_left_to_the_module(line: bytes) -> None:
    """Without an id, a context or rows, with other keys, with duplicate ones."""
    _, evaluator = loaded("values")
    assert typed_for(evaluator, [PLAIN]).read(line) is None


def test_a_date_that_was_seen_is_compared_with_its_parts_again() -> None:
    """In each row: the same date with another year is no date that is known."""
    _, evaluator = loaded("values")
    typed = typed_for(evaluator, [PLAIN])
    assert assert_same(evaluator, typed, line_of("a", twice(PLAIN)))
    for other in ({"year": 2019}, {"month": 5}, {"date": "2018-04-31"}):
        assert typed.read(line_of("a", [PLAIN, {**PLAIN, "meta": {**PLAIN["meta"], **other}}])) is None


def test_a_strict_evaluator_and_a_module_of_its_own_read_every_row_themselves() -> None:
    """`strict` looks at the keys, and what an edited module reads is for the module to say."""
    assert load_evaluator(VALUES, strict=True).row_decoder() is None
    assert Evaluator(loaded("values")[1].module).row_decoder() is None
    assert load_evaluator(TASKS.parent / "generated" / "g1a_v2.py").row_decoder() is not None


@pytest.mark.parametrize("trace", [False, True])
def test_results_are_those_of_the_module(trace: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples, and what they come to without the decoder by types."""
    evaluator, read = load_evaluator(TASKS / "g1a_v2" / "seed.json"), []
    take = RowDecoder.read
    monkeypatch.setattr(RowDecoder, "read", lambda typed, line: read.append(take(typed, line)) or read[-1])

    def evaluated() -> list[str]:
        lines = read_lines(str(EXAMPLES / "rows-g1a_v2.jsonl"))
        return [result.to_line() for result in evaluate_lines(evaluator, lines, Failures(), trace=trace)]

    found = evaluated()
    assert len([each for each in read if each is not None]) == (0 if trace else len(found) - 1)
    monkeypatch.setattr(Evaluator, "row_decoder", lambda evaluator: None)
    assert found == evaluated()


def test_a_failing_step_is_reported_as_ever(tmp_path: Any) -> None:
    """A restaurant whose step has no value fails alone, with its step and place."""
    lines = [tiny_rows("a", tiny_row("r")), tiny_rows("none"), tiny_rows("b", tiny_row("r", "bad"))]
    failures = Failures()
    path = write_lines(tmp_path / "rows.jsonl", *lines)
    results = [*evaluate_lines(load_evaluator(tiny_seed()), read_lines(str(path)), failures)]
    assert [result.error and result.error["kind"] for result in results] == [None, "division_by_zero", None]
    assert [line.split(": ")[:3] for line in failures.lines] == [[f"{path}:2", "none", "SHARE"]]


def test_keys_are_learnt_so_often_and_no_more() -> None:
    """A file whose lines all have other keys is not slowed down for ever."""
    _, evaluator = loaded("tiny")
    typed = evaluator.row_decoder()
    assert typed is not None
    for number in range(20):
        row = {**tiny_row("r"), f"key{number}": 1}
        line = line_of("a", [row])
        assert typed.read(line) is None
        typed.learn(InputLine("rows.jsonl", 2, line))
        assert (typed.read(line) is not None) == (number < 10)
