"""Runs the queries of the SQL target, and compares their results with those of the module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from formulaseed import EvaluationError, FormulaSeed
from formulaseed.backends.sql.dialects import DUCKDB, Dialect
from formulaseed.backends.sql.inputs import Tables, column_names, context_fields
from formulaseed.backends.sql.layout import RESERVED, QueryWriter
from formulaseed.backends.sql.steps import plan_query
from formulaseed.ir import nodes
from formulaseed.ir.inputs import read_row, read_section
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.language.types import Base
from formulaseed.testing import reference_evaluate
from scoring import Restaurants

_TYPES = {Base.INTEGER: pa.int64(), Base.NUMBER: pa.float64(), Base.BOOLEAN: pa.bool_()}


def flat_tables(seed: FormulaSeed, restaurants: Restaurants) -> tuple[pa.Table, pa.Table]:
    """Return the rows and the contexts with a column for each field that a step reads, as the reference evaluator reads them."""
    program = seed.program
    used = program.used()
    names = _table_columns(program)
    rows = [
        (key, at, read_row(program, row, used))
        for key, (records, _) in restaurants.items()
        for at, row in enumerate(records)
    ]
    columns = {"business_id": pa.array([key for key, _, _ in rows], pa.string())}
    columns["position"] = pa.array([at for _, at, _ in rows], pa.int64())
    for kind, field in program.row_fields():
        symbol = Symbol(kind, field.name)
        columns[names[symbol]] = _array([row[symbol] for _, _, row in rows], field)
    contexts = {"business_id": pa.array([*restaurants], pa.string())}
    parsed = [
        read_section(program, SymbolKind.CONTEXT, program.context, context, used) for _, context in restaurants.values()
    ]
    for item in context_fields(program):
        symbol = Symbol(SymbolKind.CONTEXT, item.name)
        contexts[names[symbol]] = _array([context[symbol] for context in parsed], item)
    return pa.table(columns), pa.table(contexts)


def _table_columns(program: nodes.Program) -> dict[Symbol, str]:
    """Return the columns of the fields, under names that are not those of other columns."""
    return {symbol: f"c{index} {name}" for index, (symbol, name) in enumerate(column_names(program).items())}


def _array(values: list[Any], field: nodes.ExtractionField | nodes.InputField) -> pa.Array:
    if field.ty.base is Base.NUMBER:
        values = [value if value is None else float(value) for value in values]
    return pa.array(values, _TYPES.get(field.ty.base, pa.string()))


def write_query(
    seed: FormulaSeed, parameters: Mapping[str, Any] | None = None, dialect: Dialect = DUCKDB, *, steps: bool = False
) -> str:
    """Return the query of a seed over the tables `rows` and `contexts`, with its outputs or all steps."""
    program = seed.program
    tables = Tables(dialect.quote_name("rows"), dialect.quote_name("contexts"), columns=_table_columns(program))
    plan = plan_query(program, tables, dialect, parameters, RESERVED)
    names = [step.name for step in program.steps if not isinstance(step.operation, nodes.Filter)]
    return QueryWriter(plan, names if steps else program.output).write()


def read_query_results(table: pa.Table) -> dict[str, Any]:
    """Return the results of a query in the form of `expected_results`, errors without a message."""
    results = dict[str, Any]()
    for line in table.to_pylist():
        step, kind = line.pop("error_step"), line.pop("error_kind")
        key = line.pop("business_id")
        results[key] = {name: (type(value) is bool, value) for name, value in line.items()}
        if kind is not None:
            assert set(line.values()) <= {None}
            results[key] = (step, kind)
    return results


def find_wrong(results: Mapping[str, Any], expected: Mapping[str, Any]) -> dict[str, Any]:
    """Return the pairs of results that differ; a restaurant that is handed back is not compared."""
    wrong = {}
    for key, value in expected.items():
        wanted = value[:2] if isinstance(value, tuple) else value
        found = results.get(key)
        if found != wanted and not (isinstance(found, tuple) and found[1] == "beyond"):
            wrong[key] = found, value
    return wrong


def run_query(
    seed: FormulaSeed, restaurants: Restaurants, parameters: Mapping[str, Any] | None = None, *, steps: bool = False
) -> dict[str, Any]:
    """Return the results of the query of a seed on DuckDB; `parameters` replace defaults."""
    import duckdb

    rows, contexts = flat_tables(seed, restaurants)
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        connection.register("contexts", contexts)
        return read_query_results(connection.sql(write_query(seed, parameters, steps=steps)).to_arrow_table())


def evaluate_restaurants(
    seed: FormulaSeed, restaurants: Restaurants, parameters: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return every step of the reference evaluator, or the step and kind of the error, by restaurant."""
    results = dict[str, Any]()
    for key, (rows, context) in restaurants.items():
        try:
            values = reference_evaluate(seed, rows, context, parameters)
            results[key] = {name: (type(value) is bool, value) for name, value in values.items()}
            large = [name for name, value in values.items() if type(value) is int and not -(2**63) <= value < 2**63]
            if large:
                results[key] = (large[0], "overflow")
        except EvaluationError as error:
            results[key] = (error.step, error.kind)
    return results
