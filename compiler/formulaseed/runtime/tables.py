"""Maps the columns of tables to the fields of a seed, before anything runs. Knows no engine.

In: names and kinds of columns, as an engine finds them. Out: the `Plan` of the partition function, and which column is read
as which. A missing column is refused with the nearest name, and one of a wrong type, all of them at once. Documentation:
docs/scale.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from formulaseed.data.duplicates import ID, Duplicates
from formulaseed.data.file_kinds import is_snippet, kind_of
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.errors import DataError
from formulaseed.ir import nodes
from formulaseed.language.inputs import _find_typo
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.language.types import Base
from formulaseed.runtime.evaluator import Evaluator

if TYPE_CHECKING:
    from formulaseed.runtime.batches import Plan
    from formulaseed.runtime.columns import Field

Columns = Mapping[tuple[str, ...], str]
"""The kinds of a table's columns by their names, members of structs by their paths.

A kind is `string`, `json` (a string of any JSON value), `integer`, `wide` (an integer of more than 64 bits), `number`,
`boolean`, `date`, `time`, `struct`, `null` or the engine's own name of any other type.
"""

KEY = "business_id"
ERRORS = ("error_step", "error_kind", "error_message")
RESTAURANTS, ORPHANS, NAMELESS, DUPLICATES = "restaurants", "orphans", "nameless", "duplicates"
OVERSIZED = "its value has more than the 64 bits of a column"
ORDER_KEY, REVIEW_KEY = "order_key", "review_key"
"""These are as in `batches` and `chunks`, which import pyarrow."""
_ORDERS = ("position", "review_id")
_KEYS = ("string", "integer", "wide", "date", "null")
_ORDERED = ("number", "time", "boolean")
"""The kinds of a key, and what an order key may be besides."""
_ACCEPTED = {
    "enum": ("string", "json", "null"),
    "string": ("string", "json", "null"),
    "integer": ("integer", "wide", "number", "null"),
    "number": ("number", "integer", "wide", "null"),
    "boolean": ("boolean", "null"),
    "date": ("string", "json", "date", "time", "null"),
    "json": ("struct", "json", "string", "null"),
}
_NOUNS = {
    "enum": "strings", "string": "strings", "integer": "integers", "number": "numbers", "boolean": "booleans",
    "date": "dates, or strings of ISO dates", "json": "structs or strings",
}  # fmt: skip
_PARTS = ("year", "month")


@dataclass(frozen=True, slots=True)
class Reading:
    """A column of a batch: the path of the column that it is read from, and the kinds of both; `values` are an enum's."""

    alias: str
    path: tuple[str, ...]
    kind: str
    wanted: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Mapped:
    """What is read from the rows and from the contexts, with the plan for the partition function.

    `whole_dates` says that dates are read to the second, since a step reads the date itself.
    """

    plan: Plan
    rows: tuple[Reading, ...]
    contexts: tuple[Reading, ...]
    whole_dates: bool


def map_columns(
    evaluator: Evaluator,
    program: nodes.Program,
    rows: Columns,
    contexts: Columns | None,
    *,
    key: str = KEY,
    order: str | None = None,
    trace: bool = False,
    parameters: Mapping[str, Any] | None = None,
    duplicates: Duplicates = "fail",
) -> Mapped:
    """Map the columns of both tables. Raises `DataError` for columns that are missing or of a wrong type."""
    from formulaseed.runtime.batches import Plan

    faults: list[str] = []
    order = order or next((name for name in _ORDERS if (name,) in rows), None)
    if order is None:
        faults.append(
            "the rows have neither `position` nor `review_id`: name the column that puts the rows of a restaurant in order"
            " with --order-by"
        )
    known: list[str]
    for table, columns in (("rows", rows), ("contexts", contexts)):
        known = [key, order] if table == "rows" and order is not None else [key]
        for name in known:
            kind = columns.get((name,)) if columns is not None else "null"
            if columns is not None and kind is None:
                faults.append(_missing(table, name, columns))
            elif kind not in (_KEYS if name == key else _KEYS + _ORDERED):
                use = "name restaurants" if name == key else "order rows"
                faults.append(f"the column `{name}` of the {table} cannot {use}: it holds {kind}")
    row_readings, row_fields = _Matcher("rows", rows, faults).rows(evaluator, program)
    ids = ORDER_KEY if order == ID else ""
    if not ids and rows.get((ID,)) in _KEYS:
        ids = REVIEW_KEY
        row_readings.append(Reading(REVIEW_KEY, (ID,), rows[ID,], "id"))
    context_fields = _context_fields(program)
    context_readings: list[Reading] = []
    if contexts is not None:
        context_readings, context_fields = _Matcher("contexts", contexts, faults).contexts(context_fields)
    elif context_fields:
        names = ", ".join(f"`{each.name}`" for each in context_fields)
        faults.append(f"the seed reads {names} of restaurants: give their table with --contexts")
    types = output_types(evaluator, program, trace)
    faults += _clashes(key, types, trace)
    if faults:
        kinds = (_other_kind(table, columns) for table, columns in (("rows", rows), ("contexts", contexts or {})))
        raise DataError(next(filter(None, kinds), "; ".join(faults)))
    assert order is not None
    given = dict(parameters or {})
    plan = Plan(
        key, order, tuple(row_fields), tuple(context_fields), contexts is not None, types, trace, given, ids, duplicates
    )
    is_whole = any(each.section == "meta" and each.name == "date" for each in row_fields)
    return Mapped(plan, tuple(row_readings), tuple(context_readings), is_whole)


def output_types(evaluator: Evaluator, program: nodes.Program, trace: bool) -> tuple[tuple[str, str], ...]:
    """Return the outputs, or every step, with the types of their columns."""
    names = evaluator.module.STEPS if trace else evaluator.output
    of_step = {step.name: step.ty for step in program.steps}
    kinds = {Base.INTEGER: "integer", Base.NUMBER: "number", Base.BOOLEAN: "boolean"}
    return tuple((name, kinds.get(of_step[name].base, "string")) for name in names)


def _clashes(key: str, outputs: Iterable[tuple[str, str]], trace: bool) -> Iterable[str]:
    taken = {key, *ERRORS, *(("evidence",) if trace else ())}
    for name, _ in outputs:
        if name in taken:
            yield f"`{name}` has the name of another column of the results"
        taken.add(name)


def _other_kind(table: str, columns: Columns) -> str:
    """Return of what kind of file a table is that lacks columns; empty if it may be one of rows or of contexts."""
    kind = kind_of(dict.fromkeys(path[0] for path in columns))
    if kind is None or is_snippet(kind) or kind.name in ("rows", "reviews", "restaurants", table):
        return ""
    return f"the {table} are {kind.noun}; {kind.help.format('FILE')}"


def _missing(table: str, name: str, columns: Columns) -> str:
    known = [".".join(path) for path in columns]
    return f"the {table} have no column `{name}`; {did_you_mean(name, known, noun='columns')}"


def _kind(ty: Any) -> str:
    if ty.values is not None:
        return "enum"
    return {Base.INTEGER: "integer", Base.NUMBER: "number", Base.BOOLEAN: "boolean"}.get(ty.base, "string")


def _field(section: str, found: nodes.ExtractionField | nodes.InputField) -> Field:
    from formulaseed.runtime.columns import Field

    kind, default = _kind(found.ty), None
    optional = found.ty.nullable
    low = high = None
    if isinstance(found, nodes.ExtractionField):
        default, low, high = found.default, found.minimum, found.maximum
        optional = optional or default is not None
        default = float(default) if kind == "number" and default is not None else default
    path = found.path if isinstance(found, nodes.InputField) else ()
    return Field(
        found.name, section, kind, None, found.ty.values or (), low, high, optional, default, path
    )  # fmt: skip


def _context_fields(program: nodes.Program) -> list[Field]:
    used = program.used()
    return [_field("context", each) for each in program.context if Symbol(SymbolKind.CONTEXT, each.name) in used]


class _Matcher:
    """Finds the columns of one table; what is wrong is added to `faults`."""

    def __init__(self, table: str, columns: Columns, faults: list[str]) -> None:
        self._table = table
        self._columns = columns
        self._faults = faults
        self._readings: list[Reading] = []

    def rows(self, evaluator: Evaluator, program: nodes.Program) -> tuple[list[Reading], list[Field]]:
        """Return what is read for `Row`, and its fields with their columns."""
        row: Any = evaluator.module
        fields = [_field(kind.value, each) for kind, each in program.row_fields()]
        spelled = dict(zip(((each.section, each.name) for each in fields), row.Row._fields, strict=True))
        names = [each.name for each in fields]
        dated = [each for each in fields if each.section == "meta" and each.name in (*_PARTS, "date")]
        date = next((path for path in self._paths("meta", "date") if path in self._columns), None) if dated else None
        if date is not None:
            self._read("date", date, "date")
        found = []
        for index, each in enumerate(fields):
            if each in dated and each.name == "date":
                if date is None:
                    self._faults.append(_missing(self._table, "date", self._columns))
                found.append(replace(each, column="date"))
                continue
            flat = (spelled[each.section, each.name], *((each.name,) if names.count(each.name) == 1 else ()))
            paths = [path for name in dict.fromkeys(flat) for path in self._paths(each.section, name, each.name)]
            at = next((path for path in paths if path in self._columns), None)
            if at is None and each in dated and date is not None:
                found.append(each)
            else:
                found.append(self._matched(each, at, f"r{index}", known=names))
        return self._readings, found

    def contexts(self, fields: Sequence[Field]) -> tuple[list[Reading], list[Field]]:
        """Return what is read for `Context`, and its fields with their columns."""
        names = [each.name for each in fields]
        found = []
        for index, each in enumerate(fields):
            at = next((path for path in self._paths("context", each.name) if path in self._columns), None)
            root = (each.path[0],) if each.path else ()
            if at is None and root and root in self._columns:
                found.append(self._matched(replace(each, kind="json"), root, f"c{index}", known=names))
            else:
                found.append(self._matched(each, at, f"c{index}", known=names))
        return self._readings, found

    def _paths(self, section: str, name: str, own: str = "") -> list[tuple[str, ...]]:
        """Where a field may be: in the struct of its section, if there is one, else under its name."""
        if self._columns.get((section,)) == "struct":
            return [(section, own or name)]
        return [(name,)]

    def _matched(self, each: Field, at: tuple[str, ...] | None, alias: str, known: Collection[str]) -> Field:
        if at is not None:
            self._read(alias, at, each.kind, each.values)
            return replace(each, column=alias)
        names = [path[-1] for path in self._columns]
        typo = _find_typo(each.name, names, known) if each.optional else None
        if typo is not None:
            self._faults.append(f"the {self._table} have no column `{each.name}`, but there is `{typo}`: rename it")
        elif not each.optional:
            self._faults.append(_missing(self._table, each.name, self._columns))
        return each

    def _read(self, alias: str, path: tuple[str, ...], wanted: str, values: tuple[str, ...] = ()) -> None:
        kind = self._columns[path]
        if kind not in _ACCEPTED[wanted]:
            name = ".".join(path)
            self._faults.append(f"the column `{name}` of the {self._table} must hold {_NOUNS[wanted]}, not {kind}")
        is_plain = wanted == "enum" and kind != "null" and not any("\0" in value for value in values)
        self._readings.append(Reading(alias, path, kind, wanted, values if is_plain else ()))
