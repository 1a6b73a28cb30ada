"""The reference evaluator on data that does not fit, and on the edges of what does; the module decides alike."""

from __future__ import annotations

import math
from functools import partial
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


def change(base: Json, section: str, changes: Json) -> Json:
    """Return a copy of `base` with other values in a section; those that are `...` are removed."""
    changed = {**(base[section] if section else base), **changes}
    values = {name: value for name, value in changed.items() if value is not ...}
    return {**base, section: values} if section else values


MISFITS: dict[str, list[tuple[Json, str]]] = {
    "extraction": [
        ({"mood": "sad"}, "must be of type enum ('calm', 'angry'), not 'sad'"),
        ({"mood": ...}, "must be of type enum ('calm', 'angry'), not None"),
        ({"mood": 1}, "must be of type enum ('calm', 'angry'), not 1"),
        ({"minutes": 2.5}, "must be of type integer, not 2.5"),
        ({"minutes": True}, "must be of type integer, not True"),
        ({"minutes": "3"}, "must be of type integer, not '3'"),
        ({"minutes": 2**63}, "is out of range: 9223372036854775808"),
        ({"minutes": -(2**63)}, "is out of range: -9223372036854775808"),
        ({"amount": 1.1e100}, "is out of range: 1.1e+100"),
        ({"amount": -1.1e100}, "is out of range: -1.1e+100"),
        ({"amount": False}, "must be of type number, not False"),
        ({"regular": 1}, "must be of type boolean, not 1"),
        ({"note": 1}, "must be of type string, not 1"),
        ({"note": None}, "must be of type string, not None"),
    ],
    "meta": [
        ({"year": "2020"}, "must be of type integer, not '2020'"),
        ({"year": None}, "must be of type integer, not None"),
        *[
            ({"date": date, "year": ..., "month": ...}, "must be an ISO date or date-time")
            for date in (
                5, "2020", "2020-1", "2020-1-1-1", "0000-01-01", "10000-01-1", "+020-01-01", "2020-00-01", "2020-13-01",
                "2020-ab-01", "2020-02-30", "2020-1-1x", "14-04-2018", "２０２０-01-01", "20200101", "2020-W15-6", "2020-105",
                "2020-01-01x", "2020-01-01 ", "2020-01-01T", "2020-01-01T12", "2020-01-01 24:00", "2020-01-01 12:60",
                "2020-01-01 12:00:61", "2020-01-01 12:00:00,5", "2020-01-01_12:00", "2020-01-01 12:00+5", "2020-01-01 12:00 Z",
                "2020-01-01 12:00+24:00", "never", "",
            )
        ],
        ({"date": "never"}, "must be an ISO date or date-time"),
        ({"year": 2020, "date": "2019-05-01"}, "is not that of `meta.date`"),
        ({"month": 5, "date": "2020-06-01"}, "is not that of `meta.date`"),
        ({"year": 2020, "month": ..., "date": "9999-05-01"}, "is not that of `meta.date`"),
        ({"month": True, "date": "2020-01-01"}, "must be of type integer, not True"),
    ],
    "context": [
        ({"tier": 1.5}, "must be of type integer or null, not 1.5"),
        ({"late": None}, "must be of type boolean, not None"),
        ({"stars": ...}, "must be of type number, not None"),
        ({"stars": True}, "must be of type number, not True"),
        ({"stars": math.nan}, "is out of range: nan"),
        ({"city": 5}, "must be of type string, not 5"),
    ],
    "param": [
        ({"LEAST": 0}, "is out of bounds: 0"),
        ({"LEAST": 10}, "is out of bounds: 10"),
        ({"LEAST": 2.5}, "must be of type integer, not 2.5"),
        ({"LEAST": None}, "must be of type integer, not None"),
        ({"SHARE": "1"}, "must be of type number, not '1'"),
        ({"STRICT": 0}, "must be of type boolean, not 0"),
        ({"WORD": 0}, "must be of type string, not 0"),
    ],
}  # fmt: skip
"""Changes of a section, and the end of the message, which begins with the first field that is changed."""


@pytest.mark.parametrize(
    ("section", "changes", "expected"), [(section, *misfit) for section in MISFITS for misfit in MISFITS[section]]
)
@pytest.mark.thorough
def test_values_that_do_not_fit(section: str, changes: Json, expected: str) -> None:
    """The reference evaluator names the field; the module refuses the same values."""
    row = change(ROW, section, changes) if section in ROW else ROW
    context = change(CONTEXT, "", changes) if section == "context" else CONTEXT
    arguments = ([row], context, changes if section == "param" else {})
    with pytest.raises(DataError) as error:
        reference_evaluate(SEED, *arguments)
    assert error.value.message == f"`{section}.{next(iter(changes))}` {expected}"
    with pytest.raises(DataError):
        MODULE.trace(*arguments)


@pytest.mark.parametrize("evaluate", [MODULE.trace, partial(reference_evaluate, SEED)])
def test_unknown_parameters_are_refused(evaluate: Any) -> None:
    """A parameter that the seed does not declare is named."""
    with pytest.raises(DataError, match="there is no parameter `MOST`"):
        evaluate([ROW], CONTEXT, {"MOST": 1})


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
    assert_values(expected, [change(ROW, section, changes)], CONTEXT, {})


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
    assert_values(expected, [ROW], change(CONTEXT, "", changes), parameters)


def assert_values(expected: Json, rows: list[Json], context: Json, parameters: Json) -> None:
    """Both evaluators return these values, of these types, among others."""
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
