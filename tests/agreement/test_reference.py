"""The reference evaluator on data that does not fit, and on the edges of what does; the module decides alike."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from formulaseed import DataError, EvaluationError, load_evaluator
from formulaseed.testing import reference_evaluate

Json = dict[str, Any]

SEED: Json = {
    "task_name": "T",
    "parameters": {
        "LEAST": {"type": "integer", "default": 2, "minimum": 1, "maximum": 9},
        "SHARE": {"type": "number", "default": 0.5},
        "STRICT": {"type": "boolean", "default": False},
        "WORD": {"type": "string", "default": "a"},
    },
    "context": [
        {"name": "tier", "type": "integer", "nullable": True},
        {"name": "late", "type": "boolean"},
        {"name": "unused", "type": "integer"},
    ],
    "extract": {
        "fields": [
            {"name": "mood", "type": "enum", "values": ["calm", "angry"]},
            {"name": "minutes", "type": "integer", "default": 5},
            {"name": "amount", "type": "number"},
            {"name": "regular", "type": "boolean"},
            {"name": "note", "type": "string"},
        ]
    },
    "compute": [
        {"name": "N_CALM", "op": "count", "where": {"extraction.mood": "calm", "extraction.note": {"!=": "x"}}},
        {"name": "MINUTES", "op": "sum", "expr": "extraction.minutes"},
        {"name": "AMOUNT", "op": "sum", "expr": "extraction.amount", "where": {"extraction.regular": True}},
        {"name": "YEARS", "op": "max", "field": "meta.year", "default": 0},
        {"name": "MONTHS", "op": "max", "field": "meta.month", "default": 0},
        {"name": "TIER", "op": "expr", "expr": "context.tier or 0"},
        {"name": "LATE", "op": "expr", "expr": "context.late"},
        {"name": "STARS", "op": "expr", "expr": "context.stars + param.LEAST + param.SHARE"},
        {"name": "STRICT", "op": "expr", "expr": "param.STRICT or param.WORD == 'b'"},
        {"name": "CODE", "op": "lookup", "source": "context.city", "table": {"Reno": 1, "Mesa": 2}, "match": "exact"},
    ],
    "output": ["N_CALM", "MINUTES", "AMOUNT", "YEARS", "MONTHS", "TIER", "LATE", "STARS", "STRICT", "CODE"],
}
ROW: Json = {
    "review_id": "r",
    "extraction": {"mood": "calm", "minutes": 3, "amount": 1.5, "regular": True, "note": ""},
    "meta": {"year": 2020, "month": 5},
}
CONTEXT: Json = {"tier": 1, "late": False, "stars": 4, "city": "Reno"}
MODULE = load_evaluator(SEED)


def changed(base: Json, section: str, changes: Json) -> Json:
    """The base with other values in a section; those that are `...` are taken out."""
    made = copy.deepcopy(base)
    held = made[section] if section else made
    held.update(changes)
    for name in [name for name, value in held.items() if value is ...]:
        del held[name]
    return made


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"mood": "sad"}, "`extraction.mood` must be of type enum ('calm', 'angry'), not 'sad'"),
        ({"mood": ...}, "`extraction.mood` must be of type enum ('calm', 'angry'), not None"),
        ({"mood": 1}, "`extraction.mood` must be of type enum ('calm', 'angry'), not 1"),
        ({"minutes": 2.5}, "`extraction.minutes` must be of type integer, not 2.5"),
        ({"minutes": True}, "`extraction.minutes` must be of type integer, not True"),
        ({"minutes": "3"}, "`extraction.minutes` must be of type integer, not '3'"),
        ({"minutes": 2**63}, "`extraction.minutes` is out of range: 9223372036854775808"),
        ({"minutes": -(2**63)}, "`extraction.minutes` is out of range: -9223372036854775808"),
        ({"amount": 1.1e100}, "`extraction.amount` is out of range: 1.1e+100"),
        ({"amount": -1.1e100}, "`extraction.amount` is out of range: -1.1e+100"),
        ({"amount": False}, "`extraction.amount` must be of type number, not False"),
        ({"regular": 1}, "`extraction.regular` must be of type boolean, not 1"),
        ({"note": 1}, "`extraction.note` must be of type string, not 1"),
        ({"note": None}, "`extraction.note` must be of type string, not None"),
    ],
)
def test_extractions_that_do_not_fit(changes: Json, expected: str) -> None:
    refused([changed(ROW, "extraction", changes)], CONTEXT, {}, expected)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"year": "2020"}, "`meta.year` must be of type integer, not '2020'"),
        ({"year": None}, "`meta.year` must be of type integer, not None"),
        *[
            ({"year": ..., "month": ..., "date": date}, "`meta.date` must be an ISO date or date-time")
            for date in (
                5, "2020", "2020-1", "2020-1-1-1", "0000-01-01", "10000-01-1", "+020-01-01", "2020-00-01", "2020-13-01",
                "2020-ab-01", "2020-02-30", "2020-1-1x", "14-04-2018", "２０２０-01-01", "20200101", "2020-W15-6", "2020-105",
                "2020-01-01x", "2020-01-01 ", "2020-01-01T", "2020-01-01T12", "2020-01-01 24:00", "2020-01-01 12:60",
                "2020-01-01 12:00:61", "2020-01-01 12:00:00,5", "2020-01-01_12:00", "2020-01-01 12:00+5", "2020-01-01 12:00 Z",
                "2020-01-01 12:00+24:00", "never", "",
            )
        ],
        ({"date": "never"}, "`meta.date` must be an ISO date or date-time"),
        ({"date": "2019-05-01"}, "`meta.year` is not that of `meta.date`"),
        ({"date": "2020-06-01"}, "`meta.month` is not that of `meta.date`"),
        ({"month": ..., "date": "9999-05-01"}, "`meta.year` is not that of `meta.date`"),
        ({"month": True, "date": "2020-01-01"}, "`meta.month` must be of type integer, not True"),
    ],
)  # fmt: skip
def test_metadata_that_does_not_fit(changes: Json, expected: str) -> None:
    refused([changed(ROW, "meta", changes)], CONTEXT, {}, expected)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"tier": 1.5}, "`context.tier` must be of type integer or null, not 1.5"),
        ({"late": None}, "`context.late` must be of type boolean, not None"),
        ({"stars": ...}, "`context.stars` must be of type number, not None"),
        ({"stars": True}, "`context.stars` must be of type number, not True"),
        ({"city": 5}, "`context.city` must be of type string, not 5"),
    ],
)
def test_contexts_that_do_not_fit(changes: Json, expected: str) -> None:
    refused([ROW], changed(CONTEXT, "", changes), {}, expected)


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"MOST": 1}, "there is no parameter `MOST`"),
        ({"LEAST": 0}, "`param.LEAST` is out of bounds: 0"),
        ({"LEAST": 10}, "`param.LEAST` is out of bounds: 10"),
        ({"LEAST": 2.5}, "`param.LEAST` must be of type integer, not 2.5"),
        ({"LEAST": None}, "`param.LEAST` must be of type integer, not None"),
        ({"SHARE": "1"}, "`param.SHARE` must be of type number, not '1'"),
        ({"STRICT": 0}, "`param.STRICT` must be of type boolean, not 0"),
        ({"WORD": 0}, "`param.WORD` must be of type string, not 0"),
    ],
)
def test_parameters_that_do_not_fit(parameters: Json, expected: str) -> None:
    refused([ROW], CONTEXT, parameters, expected)


def refused(rows: list[Json], context: Json, parameters: Json, expected: str) -> None:
    with pytest.raises(DataError) as found:
        reference_evaluate(SEED, rows, context, parameters)
    assert found.value.message == expected
    with pytest.raises(DataError):
        MODULE.trace(rows, context, parameters)


@pytest.mark.parametrize(
    ("section", "changes", "expected"),
    [
        ("extraction", {}, {"N_CALM": 1, "MINUTES": 3, "AMOUNT": 1.5, "YEARS": 2020, "MONTHS": 5}),
        ("extraction", {"mood": "angry", "note": "x", "regular": False}, {"N_CALM": 0, "AMOUNT": 0.0}),
        ("extraction", {"minutes": ...}, {"MINUTES": 5}),
        ("extraction", {"minutes": None}, {"MINUTES": 5}),
        ("extraction", {"minutes": 4.0, "amount": 2}, {"MINUTES": 4, "AMOUNT": 2.0}),
        ("extraction", {"minutes": 2**63 - 1, "amount": 1e100}, {"MINUTES": 2**63 - 1, "AMOUNT": 1e100}),
        ("meta", {"year": ..., "month": ..., "date": "2018-04-14 12:18:05"}, {"YEARS": 2018, "MONTHS": 4}),
        ("meta", {"year": None, "month": None, "date": "0001-12-31"}, {"YEARS": 1, "MONTHS": 12}),
        ("meta", {"month": ..., "date": "2020-12-31T23:59Z"}, {"YEARS": 2020, "MONTHS": 12}),
        ("meta", {"year": 2020.0, "month": None, "date": "2020-02-29 00:00:00.5+05:30"}, {"YEARS": 2020, "MONTHS": 2}),
        ("meta", {"date": None}, {"YEARS": 2020, "MONTHS": 5}),
    ],
)
def test_rows_that_fit(section: str, changes: Json, expected: Json) -> None:
    given(expected, [changed(ROW, section, changes)], CONTEXT, {})


@pytest.mark.parametrize(
    ("changes", "parameters", "expected"),
    [
        ({"tier": ..., "unused": "any"}, {}, {"TIER": 0, "LATE": False, "STARS": 6.5, "STRICT": False, "CODE": 1}),
        ({"tier": None, "city": "Mesa"}, {"LEAST": 1, "SHARE": 1}, {"TIER": 0, "STARS": 6.0, "CODE": 2}),
        ({"tier": 7.0, "late": True}, {"LEAST": 9.0, "STRICT": True}, {"TIER": 7, "LATE": True, "STARS": 13.5, "STRICT": True}),
        ({}, {"WORD": "b"}, {"STRICT": True}),
    ],
)  # fmt: skip
def test_contexts_and_parameters_that_fit(changes: Json, parameters: Json, expected: Json) -> None:
    given(expected, [ROW], changed(CONTEXT, "", changes), parameters)


def given(expected: Json, rows: list[Json], context: Json, parameters: Json) -> None:
    """The evaluators give these values, of these types, among others."""
    for values in (reference_evaluate(SEED, rows, context, parameters), MODULE.trace(rows, context, parameters)):
        found = {name: values[name] for name in expected}
        assert (found, list(map(type, found.values()))) == (expected, list(map(type, expected.values())))


def test_rows_may_lack_what_is_not_asked_for() -> None:
    """A row without its sections is a row where nothing of them is used."""
    seed = {**SEED, "compute": [{"name": "N", "op": "count"}], "output": ["N"]}
    assert reference_evaluate(seed, [{}, {"meta": {"year": "x"}}], {}) == {"N": 2}


def test_a_key_that_is_not_found_is_an_error_with_the_text() -> None:
    with pytest.raises(EvaluationError) as found:
        reference_evaluate(SEED, [ROW], {**CONTEXT, "city": "Elko"})
    assert (found.value.step, found.value.kind, found.value.operands) == ("CODE", "lookup", ("Elko",))
    assert found.value.message == "no key of the table is found in 'Elko'"
