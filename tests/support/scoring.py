"""Tables for tests of `score`, made from restaurants as JSON; and what the module makes of these one by one."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from formulaseed import DataError, EvaluationError, FormulaSeed, load_evaluator
from formulaseed.ir import nodes
from formulaseed.language.types import Base, Type

Restaurants = Mapping[str, tuple[Sequence[Mapping[str, Any]], Mapping[str, Any]]]
"""Rows and a context by restaurant."""

_TYPES = {Base.INTEGER: pa.int64(), Base.NUMBER: pa.float64(), Base.BOOLEAN: pa.bool_()}


def arrow_type(ty: Type) -> pa.DataType:
    return _TYPES.get(ty.base, pa.string())


def tables_of(program: nodes.Program, restaurants: Restaurants) -> tuple[pa.Table, pa.Table]:
    """The rows, their fields in structs, and the contexts; a struct has the fields that some row has."""
    rows = [(key, at, row) for key, (found, _) in restaurants.items() for at, row in enumerate(found)]
    columns = {"business_id": pa.array([key for key, _, _ in rows], pa.string())}
    columns["position"] = pa.array([at for _, at, _ in rows], pa.int64())
    for section, fields in (("extraction", program.fields), ("meta", program.meta)):
        columns[section] = struct_of([row[section] for _, _, row in rows], fields)
    contexts = struct_of([context for _, context in restaurants.values()], program.context).flatten()
    names = [each.name for each in _given([context for _, context in restaurants.values()], program.context)]
    keys = pa.array([*restaurants], pa.string())
    return pa.table(columns), pa.table({"business_id": keys, **dict(zip(names, contexts, strict=False))})


def _given(records: Sequence[Mapping[str, Any]], fields: Sequence[Any]) -> list[Any]:
    return [each for each in fields if not records or any(each.name in record for record in records)]


def struct_of(records: Sequence[Mapping[str, Any]], fields: Sequence[Any]) -> pa.StructArray:
    known = _given(records, fields)
    arrays = []
    for each in known:
        values = [record.get(each.name) for record in records]
        kind = arrow_type(each.ty)
        arrays.append(pa.array([float(v) if pa.types.is_floating(kind) and v is not None else v for v in values], kind))
    if not known:
        return pa.StructArray.from_arrays([pa.nulls(len(records))], ["nothing"])
    return pa.StructArray.from_arrays(arrays, [each.name for each in known])


def expected(
    seed: FormulaSeed, restaurants: Restaurants, parameters: Mapping[str, Any] | None = None, *, trace: bool = False
) -> dict[str, Any]:
    """What evaluation one by one gives: values by name, or the step and the kind of an error."""
    evaluator, found = load_evaluator(seed), dict[str, Any]()
    evaluate = functools.partial(evaluator.trace if trace else evaluator.evaluate, parameters=parameters)
    for key, (rows, context) in restaurants.items():
        try:
            values = evaluate(rows, context)
            large = [name for name, value in values.items() if type(value) is int and not -(2**63) <= value < 2**63]
            found[key] = {name: _typed(value) for name, value in values.items()}
            if large:
                found[key] = (large[0], "overflow", "its value has more than the 64 bits of a column")
        except EvaluationError as error:
            found[key] = (error.step, error.kind, error.message)
        except DataError:
            found[key] = (None, "data")
    return found


def _typed(value: Any) -> Any:
    """A value for comparison: -0.0 is 0.0, and a decimal is one, whether whole or not."""
    return (type(value) is bool, value)


def results_of(table: pa.Table, key: str = "business_id") -> dict[str, Any]:
    """A table of results in the shape of `expected`."""
    found: dict[str, Any] = {}
    for line in table.to_pylist():
        step, kind, message = line.pop("error_step"), line.pop("error_kind"), line.pop("error_message")
        line.pop("evidence", None)
        name = line.pop(key)
        if kind is None:
            found[name] = {each: _typed(value) for each, value in line.items()}
        else:
            assert set(line.values()) <= {None}
            found[name] = (None, "data") if kind == "data" else (step, kind, message)
    return found
