"""Print calls of functions of numbers and strings as SQL, by their spellings in the table of functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from formulaseed.backends.sql.arithmetic import EXACT, EXACT_TEST, NARROW, Arithmetic, clip
from formulaseed.backends.sql.columns import Kind, Printed
from formulaseed.backends.sql.dialects import BIGINT, DOUBLE, Sql, number_literal
from formulaseed.backends.sql.faults import BEYOND, fault_of_kind, first_fault, kind_literal, last_place, value_if
from formulaseed.language import intervals
from formulaseed.language.functions import Function
from formulaseed.language.intervals import Range
from formulaseed.language.operators import ATOM, COMPARISON, MULTIPLICATIVE, NEGATED, OperandFacts, Operation
from formulaseed.language.typed import Expr
from formulaseed.language.types import Base

_SPLITTER = 2.0**27 + 1


class FunctionPrinter(Arithmetic):
    """A printer of calls for one step."""

    def print_function(self, function: Function, arguments: Sequence[Printed], node: Expr) -> Printed:
        """Print a call of a function that takes and returns no null."""
        value = arguments[0]
        fault = first_fault(*(argument.fault for argument in arguments))
        place = last_place(arguments)
        spelling = self.columns.dialect.find_spelling(function.spellings)
        template = spelling.text if spelling is not None else ""
        if function.selects:
            if len(arguments) == 1:
                return value
            sql = _spell_choice(template, [argument.sql for argument in arguments])
            known = function.range(*(argument.bounds for argument in arguments))
            chosen = self.merge(Printed(sql, place=place, fault=fault), arguments, node)
            return replace(chosen, range=known)
        if function.is_rounding:
            return self._print_rounding(function, arguments, template)
        value = self.as_text(value)
        known = function.range(value.range or intervals.COUNT)
        guarded = self._guard(function, replace(value, fault=fault), node)
        if not function.is_float and value.kind == "integer" and not value.is_wide:
            guarded = self.widen(guarded)
        sql = Sql(template.format(guarded.sql))
        kind: Kind = "float" if function.is_float else value.kind
        if kind == "other":
            return replace(guarded, sql=sql, kind="integer", range=clip(known, NARROW), precedence=ATOM, is_name=False)
        return self.finish(replace(guarded, sql=sql, precedence=ATOM, kind=kind, range=known, is_name=False))

    def _guard(self, function: Operation, value: Printed, node: Expr) -> Printed:
        """Return the argument of a function, NULL where the function has no value, with that fault."""
        for failure in function.failures:
            if failure.test is None or not failure.is_possible(
                OperandFacts((node.info,), (value.bounds,), value.bounds)
            ):
                continue
            _, sign, bound = failure.test
            fault = value.fault
            value = self.name(value)
            fails = Printed(Sql(f"{value.sql} {sign} {bound}"), COMPARISON, place=value.place)
            if not getattr(node, "is_safe", False):
                fault = first_fault(fault, fault_of_kind(fails, failure.kind))
            fits = Printed(Sql(f"{value.sql} {NEGATED[sign]} {bound}"), COMPARISON, place=value.place)
            value = replace(value_if(fits, value), fault=fault)
        return value

    def _print_rounding(self, function: Function, arguments: Sequence[Printed], template: str) -> Printed:
        """Print a conversion, or a number rounded to an integer or to decimal places."""
        value = arguments[0]
        if value.kind == "other":  # a boolean
            base = Base.NUMBER if function.is_float else Base.INTEGER
            sql = Sql(f"CASE WHEN {value.sql} THEN 1{'e0' * function.is_float} ELSE 0{'e0' * function.is_float} END")
            kind: Kind = "float" if base is Base.NUMBER else "integer"
            return replace(value, sql=sql, precedence=ATOM, kind=kind, range=Range(0.0, 1.0), is_name=False)
        if function.is_float:
            return self.convert(value, Base.NUMBER)
        if len(arguments) > 1:
            return self._round_to_digits(value, function, arguments[1])
        if value.kind == "integer":
            return value
        known = function.range(value.bounds)
        rounded = replace(value, sql=Sql(template.format(value.sql)), precedence=ATOM, is_name=False)
        return self.to_integer(rounded, known)

    def _round_to_digits(self, value: Printed, function: Function, digits: Printed) -> Printed:
        """Print a number rounded to decimal places, halves to even. SQL cannot round to places before the point."""
        places = int(digits.bounds.low)
        if value.kind == "integer" and places >= 0:
            return value
        known = clip(function.range(value.bounds, digits.bounds), intervals.ANY_NUMBER)
        if places < 0:
            sql = Sql(f"CAST(NULL AS {BIGINT if value.kind == 'integer' else DOUBLE})")
            fault = first_fault(value.fault, kind_literal(BEYOND))
            return replace(
                value, sql=sql, precedence=ATOM, range=clip(known, EXACT), fault=fault, is_name=False, is_wide=True
            )
        template = self.columns.dialect.decimals
        if not template:
            return replace(self._round_exactly(value, 10.0**places), range=known)
        sql = Sql(template.format(value.sql, places))
        return replace(value, sql=sql, precedence=ATOM, range=known, is_name=False)

    def _round_exactly(self, value: Printed, scale: float) -> Printed:
        """Print a number rounded to a multiple of 1 / `scale`, a power of ten.

        The product with the scale is exact as the sum of two floats, by Dekker's algorithm; the second one decides where
        the first is a tie. A product beyond 53 bits is a fault.
        """
        splitter = number_literal(_SPLITTER)
        high = scale * _SPLITTER - (scale * _SPLITTER - scale)
        s, s_high, s_low = map(number_literal, (scale, high, scale - high))
        x = self.name(value).without_fault()
        product = self._name_float(f"{x.at(MULTIPLICATIVE)} * {s}", x)
        wide = self._name_float(f"{x.at(MULTIPLICATIVE)} * {splitter}", x)
        x_high = self._name_float(f"{wide.sql} - ({wide.sql} - {x.sql})", wide)
        x_low = self._name_float(f"{x.sql} - {x_high.sql}", x_high)
        terms = f"{x_high.sql} * {s_high} - {product.sql} + {x_high.sql} * {s_low} + {x_low.sql} * {s_high}"
        error = self._name_float(f"{terms} + {x_low.sql} * {s_low}", x_low)
        dialect = self.columns.dialect
        floor = self._name_float(dialect.floor.format(product.sql), error)
        is_tie = f"{product.sql} - {floor.sql} = 0.5e0 AND {error.sql} <> 0"
        moved = f"{floor.sql} + CASE WHEN {error.sql} > 0 THEN 1e0 ELSE 0e0 END"
        rounded = f"CASE WHEN {is_tie} THEN {moved} ELSE {dialect.nearest.format(product.sql)} END / {s}"
        fits = Printed(Sql(f"ABS({product.sql}) {EXACT_TEST}"), COMPARISON, place=floor.place)
        exceeds = Printed(Sql(f"NOT {fits.sql}"), COMPARISON, place=floor.place)
        fault = first_fault(value.fault, fault_of_kind(exceeds, BEYOND))
        return replace(value_if(fits, replace(value, sql=Sql(rounded), place=floor.place)), fault=fault)

    def _name_float(self, sql: str, last: Printed) -> Printed:
        """Return a column for a float that is computed from columns, of which `last` has the last place."""
        return self.name(Printed(Sql(sql), kind="float", range=intervals.ANY_NUMBER, place=last.place))


def _spell_choice(template: str, codes: Sequence[str]) -> Sql:
    """Return a call that chooses one of its arguments, each of which it has once: DuckDB refuses a column twice."""
    if "{0}" not in template:
        distinct = list(dict.fromkeys(codes))
        return Sql(template.format(", ".join(distinct)) if len(distinct) > 1 else distinct[0])
    value, low, high = codes
    if value == high:
        return Sql(value if low == value else f"GREATEST({low}, {value})")
    return Sql(template.format(*codes))
