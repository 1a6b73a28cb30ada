"""Maps the columns of tables to the fields of a seed before anything runs, for every engine.

In: names and kinds of columns, from an engine. Out: the `Plan` of the partition function, and the columns to read. All
missing and mistyped columns are reported at once, a missing one with the nearest name. Documentation: docs/scale.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from formulaseed.data.duplicates import ID, Duplicates
from formulaseed.data.file_kinds import is_snippet, kind_of
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.errors import DataError
from formulaseed.ir import nodes
from formulaseed.language.inputs import _find_typo
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.language.types import Base
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.table_names import DATE, DEFAULT_KEY, ERROR_COLUMNS, ORDER, REASONS, REVIEW, FindReasons

if TYPE_CHECKING:
    from formulaseed.runtime.batches import Plan
    from formulaseed.runtime.columns import TableField

Columns = Mapping[tuple[str, ...], str]
"""The kinds of a table's columns by their names, members of structs by their paths.

A kind is `string`, `json` (a string of any JSON value), `integer`, `wide` (an integer of more than 64 bits), `number`,
`boolean`, `date`, `time`, `uuid`, `struct`, `null` or the engine's own name of any other type.
"""

_DEFAULT_ORDERS = ("position", "review_id")
_NO_ORDER = (
    "the rows have neither `position` nor `review_id`: name the column that puts the rows of a restaurant in order"
    " with --order-by"
)
_KEY_KINDS = ("string", "integer", "wide", "date", "uuid", "null")
_ORDER_KINDS = (*_KEY_KINDS, "number", "time", "boolean")
_ACCEPTED_KINDS = {
    "enum": ("string", "uuid", "json", "null"),
    "string": ("string", "uuid", "json", "null"),
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
_KINDS = {Base.INTEGER: "integer", Base.NUMBER: "number", Base.BOOLEAN: "boolean"}


class ReasonSource(Protocol):
    """The reasons of verdicts, at most `count` for each; can be pickled for another process."""

    @property
    def count(self) -> int:
        """The maximum number of reasons."""

    def start(self, evaluator: Evaluator) -> FindReasons:
        """Return a function that finds the reasons of a restaurant that `evaluator` has evaluated."""


@dataclass(frozen=True, slots=True)
class ScoreOptions:
    """The options of scoring tables."""

    parameters: Mapping[str, Any] | None = None
    key: str = DEFAULT_KEY
    order: str | None = None
    """The column that orders the rows of a restaurant; None for `position` or `review_id`."""
    trace: bool = False
    jobs: int = 1
    """The number of processes."""
    memory: str | None = None
    """The memory limit of DuckDB, such as `4GB`; None for its default."""
    database: str | None = None
    """A DuckDB file; rows and contexts are then names of its tables."""
    duplicates: Duplicates = "fail"
    reasons: ReasonSource | None = None
    """The reasons that results have; None for none."""
    fingerprint: bool = False
    """Whether results have the column `fingerprint`; they also do with `since`."""
    since: str | Path | None = None
    """A Parquet file of results with fingerprints; restaurants that have not changed since are not evaluated again."""
    backend: Literal["module", "sql"] | None = None
    """What computes the steps: the generated module, or a query of DuckDB where it can; None for the faster one that can."""

    @property
    def details(self) -> tuple[str, ...]:
        """The names of the columns after those of errors, without the fingerprint."""
        names = {"evidence": self.trace, REASONS: self.reasons is not None}
        return tuple(name for name, is_present in names.items() if is_present)


@dataclass(frozen=True, slots=True)
class BatchColumn:
    """A column of a batch, with the column of the user's table that it is read from."""

    alias: str
    """The name in the batch."""
    path: tuple[str, ...]
    """The name in the table, with the name of the member if it is in a struct."""
    source_kind: str
    """The kind of the table's column, as in `Columns`."""
    target_kind: str
    """The kind of the batch's column, as `TableField` has it; also `date`, and `id` for ids of reviews."""
    values: tuple[str, ...] = ()
    """The values of an enum, if the engine may cast the column to an enum."""


@dataclass(frozen=True, slots=True)
class TableMapping:
    """The columns to read from the rows and from the contexts, with the plan of the partition function."""

    plan: Plan
    rows: tuple[BatchColumn, ...]
    contexts: tuple[BatchColumn, ...]
    whole_dates: bool
    """Whether dates are read to the second, since a step reads the date itself, not only its year or month."""
    reasons: ReasonSource | None = None


def map_columns(
    evaluator: Evaluator, program: nodes.Program, rows: Columns, contexts: Columns | None, options: ScoreOptions
) -> TableMapping:
    """Map the columns of both tables. Of the options, key, order, trace, parameters and duplicates matter.

    Without an order, it is `position` or else `review_id`. `contexts` is None without such a table. Raises `DataError`
    with every column that is missing or of a wrong type, and for a table of another kind of data.
    """
    from formulaseed.runtime.batches import Plan

    order = options.order or next((name for name in _DEFAULT_ORDERS if (name,) in rows), None)
    faults = _check_keys(rows, contexts, options.key, order)
    row_columns, row_fields = _ColumnMatcher("rows", rows, faults).match_rows(evaluator, program)
    ids = ORDER if order == ID else ""
    if not ids and rows.get((ID,)) in _KEY_KINDS:
        ids = REVIEW
        row_columns.append(BatchColumn(REVIEW, (ID,), rows[ID,], "id"))
    context_columns, context_fields = _map_contexts(program, contexts, faults)
    types = output_types(evaluator, program, options.trace)
    faults += _find_name_clashes(options, types)
    if faults:
        # a table of another kind of data lacks most columns, and has one message instead
        other_kind = _describe_other_kind("rows", rows) or _describe_other_kind("contexts", contexts or {})
        raise DataError(other_kind or "; ".join(faults))
    assert order is not None
    plan = Plan(
        options.key,
        order,
        tuple(row_fields),
        tuple(context_fields),
        contexts is not None,
        types,
        options.trace,
        dict(options.parameters or {}),
        ids,
        options.duplicates,
        options.reasons is not None,
    )
    whole_dates = any(field.section == "meta" and field.name == DATE for field in row_fields)
    return TableMapping(plan, tuple(row_columns), tuple(context_columns), whole_dates, options.reasons)


def _map_contexts(
    program: nodes.Program, contexts: Columns | None, faults: list[str]
) -> tuple[list[BatchColumn], list[TableField]]:
    """Return the columns to read for the contexts, and the fields that steps use.

    Messages about missing columns are added to `faults`, also if `contexts` is None and some step needs them.
    """
    used = program.used()
    fields = [
        _table_field("context", field) for field in program.context if Symbol(SymbolKind.CONTEXT, field.name) in used
    ]
    if contexts is not None:
        return _ColumnMatcher("contexts", contexts, faults).match_contexts(fields)
    if fields:
        names = ", ".join(f"`{field.name}`" for field in fields)
        faults.append(f"the seed reads {names} of restaurants: give their table with --contexts")
    return [], fields


def output_types(evaluator: Evaluator, program: nodes.Program, trace: bool) -> tuple[tuple[str, str], ...]:
    """Return the outputs, or with `trace` every step, with the types of their columns."""
    names = evaluator.module.STEPS if trace else evaluator.output
    step_types = {step.name: step.ty for step in program.steps}
    return tuple((name, _KINDS.get(step_types[name].base, "string")) for name in names)


def _check_keys(rows: Columns, contexts: Columns | None, key: str, order: str | None) -> list[str]:
    """Return a message for each key or order column that is missing or of a wrong kind, and if there is no order.

    `order` is None if it is neither an option nor a default column; `contexts` is None without such a table.
    """
    messages = []
    uses: list[tuple[str, Columns, str, str, tuple[str, ...]]] = [("rows", rows, key, "name restaurants", _KEY_KINDS)]
    if order is None:
        messages.append(_NO_ORDER)
    else:
        uses.append(("rows", rows, order, "order rows", _ORDER_KINDS))
    if contexts is not None:
        uses.append(("contexts", contexts, key, "name restaurants", _KEY_KINDS))
    for table, columns, name, use, kinds in uses:
        kind = columns.get((name,))
        if kind is None:
            messages.append(_describe_missing(table, name, columns))
        elif kind not in kinds:
            messages.append(f"the column `{name}` of the {table} cannot {use}: it holds {kind}")
    return messages


def _find_name_clashes(options: ScoreOptions, outputs: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield a message for each output that has the name of the key, an error column, a further column or another output."""
    names = {options.key, *ERROR_COLUMNS, *options.details}
    for name, _ in outputs:
        if name in names:
            yield f"`{name}` has the name of another column of the results"
        names.add(name)


def _describe_other_kind(table: str, columns: Columns) -> str:
    """Return the message for a table whose columns show another kind of data; empty if they fit or are unknown."""
    kind = kind_of(dict.fromkeys(path[0] for path in columns))
    if kind is None or is_snippet(kind) or kind.name in ("rows", "reviews", "restaurants", table):
        return ""
    return f"the {table} are {kind.noun}; {kind.help.format('FILE')}"


def _describe_missing(table: str, name: str, columns: Columns) -> str:
    """Return the message for a missing column, with the nearest name or a list of the columns there are."""
    known = [".".join(path) for path in columns]
    return f"the {table} have no column `{name}`; {did_you_mean(name, known, noun='columns')}"


def _table_field(section: str, field: nodes.ExtractionField | nodes.InputField) -> TableField:
    """Return a field of the seed for the partition function, without a column yet.

    It is optional if the seed's field is nullable or has a default.
    """
    from formulaseed.runtime.columns import TableField

    kind = _KINDS.get(field.ty.base, "string") if field.ty.values is None else "enum"
    values = field.ty.values or ()
    optional = field.ty.nullable
    if isinstance(field, nodes.InputField):
        return TableField(field.name, section, kind, None, values, optional=optional, path=field.path)
    default = field.default
    if default is not None:
        optional = True
        if kind == "number":
            default = float(default)
    return TableField(field.name, section, kind, None, values, field.minimum, field.maximum, optional, default)


class _ColumnMatcher:
    """Matches fields with the columns of one table; messages about missing and mistyped columns are added to `faults`."""

    def __init__(self, table: str, columns: Columns, faults: list[str]) -> None:
        self._table = table
        self._columns = columns
        self._faults = faults
        self._batch_columns: list[BatchColumn] = []

    def match_rows(self, evaluator: Evaluator, program: nodes.Program) -> tuple[list[BatchColumn], list[TableField]]:
        """Return the columns to read for the rows, and the fields of the module's `Row` with their columns.

        Year and month come from a column of dates if there is one. Missing and mistyped columns are added to `faults`.
        """
        module: Any = evaluator.module
        fields = [_table_field(kind.value, field) for kind, field in program.row_fields()]
        names = [field.name for field in fields]
        has_dates = False
        if any(field.is_date_part for field in fields):
            date_path = self._find_path("meta", DATE, (DATE,))
            if date_path is not None:
                has_dates = True
                self._add_column(DATE, date_path, "date")
        matched = []
        for index, (field, attribute) in enumerate(zip(fields, module.Row._fields, strict=True)):
            if field.is_date_part and field.name == DATE:
                if not has_dates:
                    self._faults.append(_describe_missing(self._table, DATE, self._columns))
                matched.append(replace(field, column=DATE))
                continue
            # the attribute of `Row` has a prefix if sections share the field's name
            columns = (attribute, field.name) if names.count(field.name) == 1 else (attribute,)
            path = self._find_path(field.section, field.name, columns)
            if path is None and field.is_date_part and has_dates:
                matched.append(field)  # its values come from the dates
            else:
                matched.append(self._match(field, path, f"r{index}", names))
        return self._batch_columns, matched

    def match_contexts(self, fields: Sequence[TableField]) -> tuple[list[BatchColumn], list[TableField]]:
        """Return the columns to read for the contexts, and the `fields` with their columns.

        A nested field without its own column is read from the column around it. Missing and mistyped columns are added
        to `faults`.
        """
        names = [field.name for field in fields]
        matched = []
        for index, field in enumerate(fields):
            path = self._find_path("context", field.name, (field.name,))
            root = field.path[:1]
            # without a column of its own, a nested value is read from the column that has the object around it
            if path is None and root and root in self._columns:
                path = root
                field = replace(field, kind="json")
            matched.append(self._match(field, path, f"c{index}", names))
        return self._batch_columns, matched

    def _find_path(self, section: str, name: str, columns: Sequence[str]) -> tuple[str, ...] | None:
        """Return the path of a field's column: in the struct of its section, else the first of `columns` that exists.

        Returns None if the table has no such column. If there is such a struct, `columns` are not tried.
        """
        if self._columns.get((section,)) == "struct":
            paths: list[tuple[str, ...]] = [(section, name)]
        else:
            paths = [(column,) for column in columns]
        return next((path for path in paths if path in self._columns), None)

    def _match(self, field: TableField, path: tuple[str, ...] | None, alias: str, known: Collection[str]) -> TableField:
        """Return the field with the column at `path`, under the name `alias`, which is added to the columns to read.

        If `path` is None, the field is returned as it is. A message is then added to `faults` if the field is required,
        or if a column that is none of the `known` fields resembles its name.
        """
        if path is not None:
            self._add_column(alias, path, field.kind, field.values)
            return replace(field, column=alias)
        names = [path[-1] for path in self._columns]
        typo = _find_typo(field.name, names, known) if field.optional else None
        if typo is not None:
            self._faults.append(f"the {self._table} have no column `{field.name}`, but there is `{typo}`: rename it")
        elif not field.optional:
            self._faults.append(_describe_missing(self._table, field.name, self._columns))
        return field

    def _add_column(self, alias: str, path: tuple[str, ...], target_kind: str, values: tuple[str, ...] = ()) -> None:
        """Add a column to read, under the name `alias`; a message about a wrong kind is added to `faults`."""
        kind = self._columns[path]
        if kind not in _ACCEPTED_KINDS[target_kind]:
            name = ".".join(path)
            noun = _NOUNS[target_kind]
            self._faults.append(f"the column `{name}` of the {self._table} must hold {noun}, not {kind}")
        can_cast = target_kind == "enum" and kind != "null" and not any("\0" in value for value in values)
        self._batch_columns.append(BatchColumn(alias, path, kind, target_kind, values if can_cast else ()))
