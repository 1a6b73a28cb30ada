"""Runs the queries of the SQL target, and compares their results with those of the module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from formulaseed import FormulaSeed, load_evaluator
from formulaseed.backends.sql.dialects import DIALECTS, DUCKDB, Dialect
from formulaseed.backends.sql.inputs import Tables, column_names, context_fields
from formulaseed.backends.sql.layout import RESERVED, QueryWriter
from formulaseed.backends.sql.steps import plan_query
from formulaseed.ir import nodes
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.language.types import Base
from scoring import Restaurants

_TYPES = {Base.INTEGER: pa.int64(), Base.NUMBER: pa.float64(), Base.BOOLEAN: pa.bool_()}


def flat_tables(seed: FormulaSeed, restaurants: Restaurants) -> tuple[pa.Table, pa.Table]:
    """Return the rows and the contexts with a column for each field that a step reads, as the module parses them."""
    module: Any = load_evaluator(seed).module
    program = seed.program
    names = _table_columns(program)
    rows = [(key, at, module.parse_row(row)) for key, (records, _) in restaurants.items() for at, row in enumerate(records)]
    columns = {"business_id": pa.array([key for key, _, _ in rows], pa.string())}
    columns["position"] = pa.array([at for _, at, _ in rows], pa.int64())
    for index, (kind, field) in enumerate(program.row_fields()):
        columns[names[Symbol(kind, field.name)]] = _array([row[index] for _, _, row in rows], field)
    contexts = {"business_id": pa.array([*restaurants], pa.string())}
    parsed = [module.parse_context(context) for _, context in restaurants.values()]
    for index, field in enumerate(context_fields(program)):
        contexts[names[Symbol(SymbolKind.CONTEXT, field.name)]] = _array([context[index] for context in parsed], field)
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
