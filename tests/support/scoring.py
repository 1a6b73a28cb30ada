"""Tables for tests of `score`, from restaurants as JSON, and the results that the evaluator gives for each of them."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from formulaseed import DataError, EvaluationError, FormulaSeed, load_evaluator
from formulaseed.ir import nodes
from formulaseed.language.types import Base

Restaurants = Mapping[str, tuple[Sequence[Mapping[str, Any]], Mapping[str, Any]]]
"""Rows and a context by restaurant."""

_TYPES = {Base.INTEGER: pa.int64(), Base.NUMBER: pa.float64(), Base.BOOLEAN: pa.bool_()}


def build_tables(program: nodes.Program, restaurants: Restaurants) -> tuple[pa.Table, pa.Table]:
    """Return the rows, their fields in structs, and the contexts; each with the fields that some record has."""
    rows = [(key, at, row) for key, (records, _) in restaurants.items() for at, row in enumerate(records)]
    columns = {"business_id": pa.array([key for key, _, _ in rows], pa.string())}
    columns["position"] = pa.array([at for _, at, _ in rows], pa.int64())
    for section, fields in (("extraction", program.fields), ("meta", program.meta)):
        arrays = _build_columns([row[section] for _, _, row in rows], fields) or {"nothing": pa.nulls(len(rows))}
        columns[section] = pa.StructArray.from_arrays([*arrays.values()], [*arrays])
    contexts = _build_columns([context for _, context in restaurants.values()], program.context)
    return pa.table(columns), pa.table({"business_id": pa.array([*restaurants], pa.string()), **contexts})


def _build_columns(records: Sequence[Mapping[str, Any]], fields: Sequence[Any]) -> dict[str, pa.Array]:
    columns = {}
    for field in fields:
        if not records or any(field.name in record for record in records):
            values = [record.get(field.name) for record in records]
            if field.ty.base is Base.NUMBER:
                values = [value if value is None else float(value) for value in values]
            columns[field.name] = pa.array(values, _TYPES.get(field.ty.base, pa.string()))
    return columns


def expected_results(
    seed: FormulaSeed, restaurants: Restaurants, parameters: Mapping[str, Any] | None = None, *, trace: bool = False
) -> dict[str, Any]:
    """Return the values of each restaurant by name, or the step, kind and message of its error; no message for bad data."""
    evaluator = load_evaluator(seed)
    evaluate = functools.partial(evaluator.trace if trace else evaluator.evaluate, parameters=parameters)
    results = dict[str, Any]()
    for key, (rows, context) in restaurants.items():
        try:
            values = evaluate(rows, context)
            large = [name for name, value in values.items() if type(value) is int and not -(2**63) <= value < 2**63]
            results[key] = {name: _comparable(value) for name, value in values.items()}
            if large:
                results[key] = (large[0], "overflow", "its value has more than the 64 bits of a column")
        except EvaluationError as error:
            results[key] = (error.step, error.kind, error.message)
        except DataError:
            results[key] = (None, "data")
    return results


def _comparable(value: Any) -> Any:
    """Return a value that differs for True and 1, but not for 1 and 1.0, or 0.0 and -0.0."""
    return (type(value) is bool, value)


def read_results(table: pa.Table) -> dict[str, Any]:
    """Return a table of results in the form of `expected_results`."""
    results = dict[str, Any]()
    for line in table.to_pylist():
        step, kind, message = (line.pop(f"error_{part}") for part in ("step", "kind", "message"))
        line.pop("evidence", None)
        key = line.pop("business_id")
        if kind is None:
            results[key] = {name: _comparable(value) for name, value in line.items()}
        else:
            assert set(line.values()) <= {None}
            results[key] = (None, "data") if kind == "data" else (step, kind, message)
    return results


def tiny_tables(count: int = 3) -> tuple[pa.Table, pa.Table]:
    """Return two rows for each of `count` restaurants, and their contexts, for `mood_seed`."""
    ids = [f"b{at}" for at in range(count)]
    rows = {
        "business_id": [id for id in ids for _ in range(2)],
        "position": [0, 1] * count,
        "mood": ["good", "bad"] * count,
        "score": [1] * 2 * count,
        "stars": [5.0] * 2 * count,
    }
    return pa.table(rows), pa.table({"business_id": ids})


def change_value(table: pa.Table, name: str, at: int, value: Any) -> pa.Table:
    values = table.column(name).to_pylist()
    values[at] = value
    return table.set_column(table.column_names.index(name), name, pa.array(values))


def mood_seed() -> dict[str, Any]:
    fields = [
        {"name": "mood", "type": "enum", "values": {"good": "x", "bad": "y"}, "description": "m"},
        {"name": "score", "type": "integer", "description": "s"},
    ]
    compute = [
        {"name": "GOOD", "op": "count", "where": {"extraction.mood": "good"}},
        {"name": "TOTAL", "op": "sum", "expr": "extraction.score + meta.stars"},
    ]
    extract = {"fields": fields}
    return {
        "task_name": "moods",
        "filter": {"keywords": []},
        "extract": extract,
        "compute": compute,
        "output": ["GOOD", "TOTAL"],
    }
