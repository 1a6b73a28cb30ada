"""Print the inputs of a query: its tables, their columns under the names of fields, and the checks of the values.

A row or context with a null, an unknown value or a number out of bounds fails its restaurant with the kind `data`; an integer
beyond 1e15, or a date in an unusual form, with `beyond`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from formulaseed import limits
from formulaseed.backends.sql.arithmetic import Arithmetic
from formulaseed.backends.sql.columns import INPUTS, Kind, Place, Printed
from formulaseed.backends.sql.dialects import Sql, number_literal
from formulaseed.ir import nodes
from formulaseed.language import intervals
from formulaseed.language.intervals import INPUT_INTEGER, INPUT_NUMBER, Range
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.language.types import Base, Type

MAX_INTEGER = 10**15
"""The largest integer of an input that SQL computes with."""
_INTEGERS = Range(-float(MAX_INTEGER), float(MAX_INTEGER))
_DATE = Symbol(SymbolKind.META, "date")
_DATE_PARTS = {Symbol(SymbolKind.META, "year"): "1, 4", Symbol(SymbolKind.META, "month"): "6, 2"}
"""The place and the length of the parts of a date that is a string."""
_KINDS: Mapping[Base, Kind] = {Base.INTEGER: "integer", Base.NUMBER: "float"}


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables that a query reads: names of tables, or SQL in brackets.

    `contexts` is None if restaurants are the keys of the rows. `columns` has the columns of fields whose names in the table are
    not those of `column_names`; None for a field that has no column.
    """

    rows: Sql
    contexts: Sql | None
    key: str = "business_id"
    order: str = "position"
    has_integer_order: bool = True
    is_typed: bool = False
    """Whether the columns of enums hold strings, VARCHAR or ENUM. They are then compared as they are, without a cast."""
    ids: str = ""
    """The column with the ids of reviews, which must be unique, too; empty if there is none."""
    columns: Mapping[Symbol, str | None] = field(default_factory=dict)
    dates: Mapping[str, str] = field(default_factory=dict)
    """The SQL of the `year` and `month` of a date, and of its `column`; empty without a column of dates."""


@dataclass(frozen=True, slots=True)
class Input:
    """A column of a table: the SQL that reads it, the SQL of its value from what was read, and two conditions.

    `is_valid` holds for valid values, `is_exact` for those that SQL knows exactly; they are empty if all are.
    """

    symbol: Symbol
    value: Printed
    read: Sql
    sql: Sql
    is_valid: str = ""
    is_exact: str = ""


def column_names(program: nodes.Program) -> dict[Symbol, str]:
    """Return the names of the columns that the steps read: those of the fields, with a prefix where two sections share one."""
    fields = program.row_fields()
    names = [item.name for _, item in fields]
    columns = {
        Symbol(kind, item.name): item.name if names.count(item.name) == 1 else f"{kind.value}_{item.name}"
        for kind, item in fields
    }
    return columns | {Symbol(SymbolKind.CONTEXT, item.name): item.name for item in context_fields(program)}


def context_fields(program: nodes.Program) -> list[nodes.InputField]:
    """Return the fields of the context that the steps read."""
    used = program.used()
    return [item for item in program.context if Symbol(SymbolKind.CONTEXT, item.name) in used]


class InputPrinter(Arithmetic):
    """A printer of the inputs of one table. `date` is the column of dates with which their parts must agree, if there is one."""

    date: str

    def print_inputs(self, program: nodes.Program, tables: Tables) -> Iterator[Input]:
        """Yield the fields of rows (level 0) or of contexts (level 1) that the steps read."""
        names = column_names(program)
        self.date = ""
        fields: list[tuple[SymbolKind, nodes.ExtractionField | nodes.InputField]] = [*program.row_fields()]
        if self.level == 1:
            fields = [(SymbolKind.CONTEXT, item) for item in context_fields(program)]
        columns = {
            symbol: self.columns.claim(names[symbol]) for symbol in (Symbol(kind, item.name) for kind, item in fields)
        }
        if _DATE in columns and not tables.dates:
            self.date = self.columns.dialect.quote_name(columns[_DATE])
        for kind, item in fields:
            symbol = Symbol(kind, item.name)
            column = tables.columns.get(symbol, names[symbol])
            dates = tables.dates if kind is SymbolKind.META else {}
            yield self._print_input(symbol, item, columns[symbol], column, dates, is_typed=tables.is_typed)

    def _print_input(
        self,
        symbol: Symbol,
        item: nodes.ExtractionField | nodes.InputField,
        name: str,
        column: str | None,
        dates: Mapping[str, str],
        *,
        is_typed: bool,
    ) -> Input:
        """Print a field under the column `name`, read from `column`; None if the table does not have it."""
        dialect = self.columns.dialect
        ty = item.ty
        default = item.default if isinstance(item, nodes.ExtractionField) else None
        is_optional = ty.nullable or default is not None
        is_enum = is_typed and ty.values is not None and not is_optional and column is not None
        read = self._print_read(symbol, ty, column, dates, is_enum=is_enum)
        quoted = dialect.quote_name(name)
        known = _find_range(item)
        valid, exact = self._print_tests(item, quoted)
        sql = quoted
        if known is not None:
            sql = Sql(f"CASE WHEN {self._print_between(quoted, known, ty)} THEN {quoted} END")
        if default is not None:
            sql = Sql(f"COALESCE({sql}, {self.convert(self.literal(default, ty.base), ty.base).sql})")
        if symbol == _DATE and not dates:
            exact = dialect.is_day.format(quoted)
        elif symbol in _DATE_PARTS and self.date:
            # The module takes a missing part from the date, and refuses another one.
            valid, exact = "", f"{quoted} = TRY_CAST(SUBSTRING({self.date}, {_DATE_PARTS[symbol]}) AS BIGINT)"
        if is_optional:
            valid, exact = (f"({quoted} IS NULL OR {test})" if test else "" for test in (valid, exact))
        value = Printed(
            quoted,
            kind=_KINDS.get(ty.base, "other"),
            range=known,
            place=INPUTS if self.level == 1 else Place(0, 0, 0),
            is_name=True,
            is_wide=ty.base is Base.INTEGER,
            is_enum=is_enum,
        )
        return Input(symbol, value, Sql(read), sql, valid, exact)

    def _print_read(
        self, symbol: Symbol, ty: Type, column: str | None, dates: Mapping[str, str], *, is_enum: bool
    ) -> str:
        """Return the SQL that reads a field: its column, or a part of the date, with which the column must agree."""
        dialect = self.columns.dialect
        read = f"CAST(NULL AS {dialect.type_of(ty.base)})"
        if column is not None:
            read = dialect.quote_name(column)
            read = read if is_enum else f"{dialect.try_cast}({read} AS {dialect.type_of(ty.base)})"
        if symbol.kind is not SymbolKind.META or symbol.name not in dates:
            return read
        part = dates[symbol.name]
        agrees = f"{part} IS NOT NULL AND COALESCE({read} = {part}, TRUE)"
        return f"CASE WHEN {dates['column']} IS NULL THEN {read} WHEN {agrees} THEN {part} ELSE {MAX_INTEGER + 1} END"

    def _print_tests(self, item: nodes.ExtractionField | nodes.InputField, raw: str) -> tuple[str, str]:
        """Return the conditions that a value is valid, and that it is exact in SQL; the second is empty if it always is."""
        ty = item.ty
        if ty.values is not None:
            return f"{raw} IN ({', '.join(map(self.columns.dialect.string, ty.values))})", ""
        if not ty.is_numeric:
            return ("" if ty.nullable else f"{raw} IS NOT NULL"), ""
        bounds = _find_bounds(item)
        if ty.base is Base.NUMBER:
            return self._print_between(raw, bounds, ty), ""
        valid = f"{raw} IS NOT NULL" if bounds == INPUT_INTEGER else self._print_between(raw, bounds, ty)
        return valid, self._print_between(raw, _INTEGERS, ty)

    def _print_between(self, raw: str, bounds: Range, ty: Type) -> str:
        """Return the condition that a number is within the bounds; NaN and null are not."""
        low, high = bounds.low, bounds.high
        if ty.base is Base.INTEGER:
            low, high = max(int(low), -limits.INTEGER_MAX), min(int(high), limits.INTEGER_MAX)
        return f"{raw} BETWEEN {number_literal(low)} AND {number_literal(high)}"


def _find_bounds(item: nodes.ExtractionField | nodes.InputField) -> Range:
    """Return the bounds of the valid values of a numeric field."""
    bounds = INPUT_INTEGER if item.ty.base is Base.INTEGER else INPUT_NUMBER
    if isinstance(item, nodes.ExtractionField):
        low = bounds.low if item.minimum is None else max(bounds.low, intervals.point(item.minimum).low)
        high = bounds.high if item.maximum is None else min(bounds.high, intervals.point(item.maximum).high)
        bounds = Range(low, high)
    return bounds


def _find_range(item: nodes.ExtractionField | nodes.InputField) -> Range | None:
    """Return the range of a numeric field in SQL; None for any other field."""
    if not item.ty.is_numeric:
        return None
    bounds = _find_bounds(item)
    if item.ty.base is Base.NUMBER:
        return bounds
    low = min(max(bounds.low, _INTEGERS.low), _INTEGERS.high)
    return Range(low, max(low, min(bounds.high, _INTEGERS.high)))
