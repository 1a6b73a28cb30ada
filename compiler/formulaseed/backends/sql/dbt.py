"""Write the properties of a dbt model: its columns with their types, and a unit test of example rows.

In: a checked program. Out: YAML, in which every string is in the form of JSON. The results of the example are those of the
reference evaluator.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from formulaseed.backends.sql.dialects import Dialect
from formulaseed.backends.sql.inputs import column_names, context_fields
from formulaseed.errors import DataError, EvaluationError
from formulaseed.ir import nodes
from formulaseed.ir.interpret import interpret
from formulaseed.ir.labels import describe_step
from formulaseed.language import typed
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.language.types import Base

_ROWS = 4
"""The number of rows of the example restaurant."""
_YEAR = 2021
_PARTS: Mapping[SymbolKind, str] = {SymbolKind.EXTRACTION: "extraction", SymbolKind.META: "meta"}
Record = dict[str, Any]


def quote_yaml(value: object) -> str:
    """Return a value as JSON that is also YAML; characters that cannot be seen, and tags of Jinja, are escaped."""
    text = json.dumps(value, ensure_ascii=False)
    text = "".join(c if c.isprintable() else f"\\U{ord(c):08X}" for c in text)
    return re.sub(r"\{(?=[{%#])", r"\\u007b", text) if isinstance(value, str) else text


def write_properties(
    program: nodes.Program, model: str, tables: tuple[str, str], outputs: Sequence[str], dialect: Dialect, header: str
) -> str:
    """Return the YAML of the model of a program, which begins with the comment `header`."""
    steps = {step.name: step for step in program.steps}
    lines = [f"# {header}", "version: 2", "models:", f"  - name: {quote_yaml(model)}"]
    lines += [f"    description: {quote_yaml(program.description)}", "    columns:"]
    lines += [
        "      - name: business_id",
        f"        data_type: {dialect.string_type}",
        "        data_tests: [unique, not_null]",
    ]
    for name in outputs:
        step = steps[name]
        lines += [f"      - name: {quote_yaml(name)}", f"        description: {quote_yaml(describe_step(step))}"]
        lines.append(f"        data_type: {dialect.type_of(step.ty.base)}")
    for name in ("error_step", "error_kind"):
        lines += [f"      - name: {name}", f"        data_type: {dialect.string_type}"]
    lines += [
        "unit_tests:",
        f"  - name: {quote_yaml(f'{model}_example')}",
        f"    model: {quote_yaml(model)}",
        "    given:",
    ]
    rows = [_build_row(program, at) for at in range(_ROWS)]
    context = {item.name: _choose_value(program, SymbolKind.CONTEXT, item, 0) for item in context_fields(program)}
    names = column_names(program)
    flat_rows = [
        {"business_id": "a", "position": at} | {names[symbol]: value for symbol, value in row.items()}
        for at, row in enumerate(rows)
    ]
    for table, records in zip(tables, (flat_rows, [{"business_id": key} | context for key in "ab"]), strict=True):
        lines += [f"      - input: {print_reference(table)}", "        rows:", *_list_records(records)]
    nested = [_nest(row) for row in rows]
    expected = [
        _evaluate(program, key, records_of_key, context, outputs) for key, records_of_key in (("a", nested), ("b", []))
    ]
    lines += ["    expect:", "      rows:", *(line[2:] for line in _list_records(expected))]
    return "\n".join(lines) + "\n"


def print_reference(table: str) -> str:
    """Return the call of dbt that refers to a table, whose name may begin with that of its package."""
    return f"ref({', '.join(map(repr, table.split('.')))})"


def _list_records(records: Sequence[Record]) -> Iterator[str]:
    """Yield a line for each record."""
    for record in records:
        members = ", ".join(f"{quote_yaml(name)}: {quote_yaml(value)}" for name, value in record.items())
        yield f"          - {{{members}}}"


def _build_row(program: nodes.Program, at: int) -> dict[Symbol, Any]:
    """Return the values of the fields of a row that the steps read."""
    return {Symbol(kind, item.name): _choose_value(program, kind, item, at) for kind, item in program.row_fields()}


def _nest(row: Mapping[Symbol, Any]) -> Record:
    """Return a row as the reference evaluator reads it."""
    record: Record = {part: {} for part in _PARTS.values()}
    for symbol, value in row.items():
        record[_PARTS[symbol.kind]][symbol.name] = value
    return record


def _choose_value(
    program: nodes.Program, kind: SymbolKind, item: nodes.ExtractionField | nodes.InputField, at: int
) -> Any:
    """Return a value of a field for the row `at`: each of an enum in turn, small numbers, a string that the seed mentions."""
    if item.ty.values:
        return item.ty.values[(at + 1) % len(item.ty.values)]
    if item.ty.base is Base.BOOLEAN:
        return at % 2 == 0
    if not item.ty.is_numeric:
        return (
            f"{_YEAR + at}-{1 + at:02}-04"
            if (kind, item.name) == (SymbolKind.META, "date")
            else _find_string(program, Symbol(kind, item.name))
        )
    number: int | float = _YEAR + at if item.name == "year" else 1 + at
    if isinstance(item, nodes.ExtractionField):
        number = max(number, item.minimum if item.minimum is not None else number)
        number = min(number, item.maximum if item.maximum is not None else number)
    return float(number) if item.ty.base is Base.NUMBER else int(number)


def _find_string(program: nodes.Program, symbol: Symbol) -> str:
    """Return the first key of a table in which the symbol is looked up; empty without such a table."""
    for step in program.steps:
        if isinstance(step.operation, nodes.Lookup) and symbol in typed.symbols_in(step.operation.source):
            return step.operation.table[0][0] if step.operation.table else ""
    return ""


def _evaluate(
    program: nodes.Program, key: str, rows: Sequence[Record], context: Record, outputs: Sequence[str]
) -> Record:
    """Return the line of the result of a restaurant."""
    blank: Record = dict.fromkeys(outputs)
    try:
        values = interpret(program, rows, context)
    except EvaluationError as error:
        return {"business_id": key, **blank, "error_step": error.step, "error_kind": error.kind}
    except DataError:
        return {"business_id": key, **blank, "error_step": None, "error_kind": "data"}
    return {"business_id": key, **{name: values[name] for name in outputs}, "error_step": None, "error_kind": None}
