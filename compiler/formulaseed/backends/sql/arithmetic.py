"""Print numbers as SQL: literals, operators and functions, each with the checks that Python's arithmetic needs.

Integers are exact up to 53 bits. Where the ranges of the operands do not prove that, they are computed as floats, and a result
beyond is a fault of the kind `beyond`. Facts from guards prove nothing here, since a column is computed without its guard.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from formulaseed import limits
from formulaseed.backends.sql.columns import Columns, Kind, Printed
from formulaseed.backends.sql.dialects import BIGINT, DOUBLE, Sql, number_literal
from formulaseed.backends.sql.faults import BEYOND, fault_of_kind, first_fault, kind_literal, last_place, value_if
from formulaseed.language import intervals
from formulaseed.language.intervals import Range
from formulaseed.language.operators import (
    ADDITIVE,
    ATOM,
    COMPARISON,
    OPERATORS,
    UNARY,
)
from formulaseed.language.printer import operand_precedences
from formulaseed.language.typed import Expr
from formulaseed.language.types import Base, Value

EXACT = Range(-(intervals.MAX_EXACT - 1), intervals.MAX_EXACT - 1)
"""The integers that are exact in SQL."""
NARROW = Range(-(2.0**31), 2.0**31 - 1)
"""The integers of the type INTEGER, which literals and expressions of literals have."""
EXACT_TEST = f"< {number_literal(intervals.MAX_EXACT)}"
_FINITE_TEST = f"<= {number_literal(limits.NUMBER_MAX)}"
_MAX_POWERS = 20
"""The number of exponents of a power that is printed as a table."""
_TABLE_EXPONENTS = Range(-1_000.0, 1_000.0)
_MAX_INLINE = 40
"""The characters of an expression that may be written twice."""


def includes(outer: Range, inner: Range) -> bool:
    """Return True if every number of `inner` is in `outer`."""
    return outer.low <= inner.low and inner.high <= outer.high


def clip(known: Range, to: Range) -> Range:
    """Return the part of a range within another; the other one if they do not meet."""
    low = max(known.low, to.low)
    high = min(known.high, to.high)
    return Range(low, high) if low <= high else to


@dataclass
class Arithmetic:
    """A printer of numbers for one step, at a level: 0 for reviews, 1 for restaurants.

    `hint` begins the names of the columns that parts of the step need.
    """

    columns: Columns
    level: int
    hint: str

    def name(self, value: Printed) -> Printed:
        """Return a reference to the value, which becomes a column unless it is one or a literal; faults stay."""
        return value if value.is_name else self.columns.add(f"{self.hint}_part", value, self.level)

    def name_if_long(self, value: Printed) -> Printed:
        """Return the value if it is short enough to be written twice, otherwise a reference to a column."""
        return value if len(value.sql) <= _MAX_INLINE else self.name(value)

    def as_text(self, value: Printed) -> Printed:
        """Return a value of a type ENUM as a string; any other as it is."""
        if not value.is_enum:
            return value
        cast = Sql(f"CAST({value.sql} AS {self.columns.dialect.string_type})")
        return replace(value, sql=cast, precedence=ATOM, is_enum=False, is_name=False)

    def literal(self, value: Value, base: Base) -> Printed:
        """Return a literal of the type `base`. An integer beyond 53 bits is a fault."""
        if value is None:
            return Printed(Sql("NULL"), is_name=True)
        if isinstance(value, bool):
            return Printed(Sql(str(value).upper()), is_name=True)
        if isinstance(value, str):
            return Printed(self.columns.dialect.string(value), is_name=True)
        kind: Kind = "integer"
        if isinstance(value, float):
            kind = "float"
        elif base is Base.NUMBER:
            kind = "mixed"
        if kind != "float" and not includes(EXACT, intervals.point(value)):
            null = Sql(f"CAST(NULL AS {DOUBLE if kind == 'mixed' else BIGINT})")
            return Printed(null, kind=kind, range=EXACT, fault=kind_literal(BEYOND), is_name=True, is_wide=True)
        known = intervals.point(value)
        return Printed(
            number_literal(value if kind == "integer" else float(value)),
            UNARY if value < 0 else ATOM,
            kind,
            known,
            is_name=True,
            is_wide=not includes(NARROW, known),
        )

    def convert(self, value: Printed, base: Base) -> Printed:
        """Return a value as one of the type `base`: an integer as BIGINT, a number as DOUBLE, an enum as a string."""
        if value.sql == "NULL":
            return replace(value, sql=Sql(f"CAST(NULL AS {self.columns.dialect.type_of(base)})"), is_wide=True)
        if base is Base.NUMBER and re.fullmatch(r"-?\d+", value.sql):
            return self.literal(float(value.sql), base)
        if base is Base.NUMBER and value.kind == "integer":
            return replace(
                value, sql=Sql(f"CAST({value.sql} AS {DOUBLE})"), precedence=ATOM, kind="float", is_name=False
            )
        if base is Base.NUMBER:
            return replace(value, kind="float")
        if base is Base.INTEGER and not value.is_wide:
            return self.widen(value)
        return self.as_text(value)

    def widen(self, value: Printed) -> Printed:
        """Return an integer as BIGINT."""
        if value.is_wide:
            return value
        return replace(value, sql=Sql(f"CAST({value.sql} AS {BIGINT})"), precedence=ATOM, is_name=False, is_wide=True)

    def merge(self, chosen: Printed, parts: Sequence[Printed], node: Expr) -> Printed:
        """Return a value that is one of the parts, with the kind and the range that include those of all parts."""
        numbers = [part for part in parts if part.range is not None]
        if not node.info.ty.is_numeric or not numbers:
            return replace(chosen, kind="other", range=None, is_wide=False)
        known = numbers[0].bounds
        for part in numbers[1:]:
            known = intervals.union(known, part.bounds)
        kinds = {part.kind for part in numbers}
        kind: Kind = kinds.pop() if len(kinds) == 1 else "mixed"
        is_wide = kind == "integer" and any(part.is_wide for part in numbers)
        return replace(chosen, kind=kind, range=known, is_wide=is_wide, is_name=False)

    # --- checks of results

    def finish(self, raw: Printed) -> Printed:
        """Return a computed number, NULL with a fault if it is too large. An integer must be computed as a float.

        Its range and kind say what it may be.
        """
        is_whole = raw.kind in ("integer", "mixed")
        if is_whole and includes(EXACT, raw.bounds):
            return raw
        if raw.kind == "float" and raw.bounds.is_bounded:
            return raw
        named = self.name(raw)
        test = EXACT_TEST if is_whole else _FINITE_TEST
        fits = Printed(Sql(f"ABS({named.sql}) {test}"), COMPARISON, place=named.place)
        exceeds = Printed(Sql(f"NOT {fits.sql}"), COMPARISON, place=named.place)
        fault = fault_of_kind(exceeds, BEYOND if is_whole else "overflow")
        value = named
        if raw.kind == "integer":
            value = replace(named, sql=Sql(f"CAST({named.sql} AS {BIGINT})"), is_wide=True)
        known = clip(raw.bounds, EXACT if is_whole else intervals.ANY_NUMBER)
        return replace(value_if(fits, value), range=known, fault=first_fault(raw.fault, fault))

    def to_integer(self, value: Printed, known: Range) -> Printed:
        """Return a float without decimals as BIGINT; a fault if it is beyond 53 bits."""
        if includes(EXACT, known):
            sql = Sql(f"CAST({value.sql} AS {BIGINT})")
            return replace(value, sql=sql, precedence=ATOM, kind="integer", range=known, is_wide=True, is_name=False)
        return self.finish(replace(value, kind="integer", range=known))

    # --- operators

    def print_sign(self, sign: str, value: Printed) -> Printed:
        """Print a sign before a number."""
        if sign == "+":
            return value
        if value.kind == "integer" and not value.is_wide and not includes(NARROW, intervals.negate(value.bounds)):
            value = self.widen(value)
        operand = f"({value.sql})" if value.sql.startswith("-") else value.at(ATOM)
        return replace(
            value, sql=Sql(f"-{operand}"), precedence=UNARY, range=intervals.negate(value.bounds), is_name=False
        )

    def print_operation(self, operator: str, operands: Sequence[Printed], node: Expr) -> Printed:
        """Print an arithmetic operation on two numbers; `node` says whether it may fail where it is evaluated."""
        left, right = operands
        entry = OPERATORS[operator]
        is_whole = node.info.ty.base is Base.INTEGER
        kind: Kind = "integer" if is_whole else "float"
        if not is_whole and not entry.is_float and "float" not in (left.kind, right.kind):
            kind = "mixed"
        known = self._find_range(operator, left, right)
        fault = first_fault(left.fault, right.fault)
        if entry.refuses_zero(1) and right.bounds.may_be_zero:
            right = self.name_if_long(right)
            is_zero = Printed(Sql(f"{right.at(ADDITIVE)} = 0"), COMPARISON, place=right.place)
            if not getattr(node, "is_safe", False):
                fault = first_fault(fault, fault_of_kind(is_zero, "division_by_zero"))
            zero = number_literal(0 if right.kind == "integer" else 0.0)
            right = replace(right, sql=Sql(f"NULLIF({right.sql}, {zero})"), precedence=ATOM)
        base = Printed(Sql(""), kind=kind, range=known, place=last_place((left, right)), fault=fault)
        left, right = left.without_fault(), right.without_fault()
        if operator == "**":
            table = self._print_power_table(base, left, right)
            if table is None:
                self.columns.powers.append(node)
            return table or self._print_power(base, left, right)
        if operator in ("//", "%"):
            return self._print_quotient(operator, base, left, right)
        if is_whole and not includes(EXACT, known):
            left = replace(left, sql=Sql(f"CAST({left.sql} AS {DOUBLE})"), precedence=ATOM)
        return self.finish(self._join(operator, base, left, right))

    def _join(self, symbol: str, base: Printed, left: Printed, right: Printed, operator: str = "") -> Printed:
        """Return `base` with the SQL of an operator between two operands; as BIGINT if INTEGER is too small.

        `operator` is the operator of the language if that is not the symbol.
        """
        before, behind = operand_precedences(operator or symbol)
        is_wide = left.is_wide or right.is_wide
        if (
            base.kind == "integer"
            and not is_wide
            and not includes(NARROW, base.bounds)
            and includes(EXACT, base.bounds)
        ):
            left = self.widen(left)
            is_wide = True
        sql = Sql(f"{left.at(before)} {symbol} {right.at(behind)}")
        return replace(base, sql=sql, precedence=OPERATORS[operator or symbol].precedence, is_wide=is_wide)

    @staticmethod
    def _find_range(operator: str, left: Printed, right: Printed) -> Range:
        """Return the range of a result from those of the operands, for a divisor that is not 0."""
        divisor = right.bounds
        if operator in ("/", "//") and right.kind == "integer" and divisor.may_be_zero:
            # The quotient is then between the dividend and its negative: the divisor is at least 1, up to its sign.
            ends = [left.bounds.low, left.bounds.high]
            if divisor.low < 0:
                ends += [-left.bounds.low, -left.bounds.high]
            return Range(min(0.0, *ends) - (operator == "//"), max(0.0, *ends))
        return OPERATORS[operator].range(left.bounds, divisor)

    def _print_power_table(self, base: Printed, left: Printed, right: Printed) -> Printed | None:
        """Print a power of a constant as a table of Python's own results; None if it may have many exponents, or fail."""
        known = right.bounds
        if left.bounds.low != left.bounds.high or right.kind != "integer" or not includes(_TABLE_EXPONENTS, known):
            return None
        if known.high - known.low >= _MAX_POWERS:
            return None
        number = left.bounds.low if left.kind == "float" else int(left.bounds.low)
        exponents = range(int(known.low), int(known.high) + 1)
        try:
            values = [number**exponent for exponent in exponents]
        except ArithmeticError:
            return None
        if any(isinstance(value, int) and abs(value) >= intervals.MAX_EXACT for value in values):
            return None
        results = [self.literal(value, Base.INTEGER if base.kind == "integer" else Base.NUMBER) for value in values]
        whens = [f"WHEN {number} THEN {result.sql}" for number, result in zip(exponents, results, strict=True)]
        sql = Sql("\n  ".join([f"CASE {right.sql}", *whens]) + "\nEND")
        is_wide = any(result.is_wide for result in results)
        return replace(base, sql=sql, range=Range(float(min(values)), float(max(values))), is_wide=is_wide)

    def _print_power(self, base: Printed, left: Printed, right: Printed) -> Printed:
        """Print a power, with the faults of a base that is 0 or negative."""
        left, right = self.name_if_long(left), self.name_if_long(right)
        place = last_place((left, right))
        faults = [base.fault]
        if left.bounds.may_be_zero and right.bounds.low < 0:
            sql = Sql(f"{left.at(ADDITIVE)} = 0 AND {right.at(ADDITIVE)} < 0")
            faults.append(fault_of_kind(Printed(sql, place=place), "division_by_zero"))
        if left.bounds.low < 0 and right.kind != "integer":
            sql = Sql(f"{left.at(ADDITIVE)} < 0 AND {right.at(ADDITIVE)} <> FLOOR({right.sql})")
            faults.append(fault_of_kind(Printed(sql, place=place), "domain"))
        known = base.bounds
        if len(faults) > 1 and faults[-1] is not base.fault:
            known = Range(-float("inf"), float("inf"))
        exponent = right.sql if right.sql != left.sql else f"{right.sql} + 0"  # DuckDB refuses a column twice
        raw = replace(base, sql=Sql(f"POWER({left.sql}, {exponent})"), range=known, fault=first_fault(*faults))
        return self.to_integer(raw, known) if raw.kind == "integer" else self.finish(raw)

    def _print_quotient(self, operator: str, base: Printed, left: Printed, right: Printed) -> Printed:
        """Print a quotient rounded down, or its remainder, which in Python has the sign of the divisor."""
        symbol = self.columns.dialect.integer_division
        is_whole = base.kind == "integer"
        same_sign = left.bounds.low >= 0 and right.bounds.low >= 0
        if same_sign and (is_whole or operator == "%"):
            known = clip(base.bounds, EXACT) if is_whole else base.bounds
            return self._join(symbol if operator == "//" else "%", replace(base, range=known), left, right, operator)
        if not is_whole:
            left, right = (
                replace(side, sql=Sql(f"CAST({side.sql} AS {DOUBLE})"), precedence=ATOM)
                if side.kind == "integer"
                else side
                for side in (left, right)
            )
        left, right = self.name(left), self.name(right)
        value = replace(base, fault=None, range=Range(-abs(right.bounds.low), abs(right.bounds.high)))
        cut = self.name(
            self._join("%", replace(value, range=intervals.ANY_NUMBER if not is_whole else EXACT), left, right)
        )
        if same_sign:
            remainder = cut
            moves = None
        else:
            sql = Sql(f"{cut.sql} <> 0 AND ({cut.sql} < 0) <> ({right.at(ADDITIVE)} < 0)")
            moves = Printed(sql, place=last_place((cut, right)))
            moved = self._join("+", replace(cut, place=moves.place), cut, right)
            remainder = value_if(moves, moved, cut.sql)
        if operator == "%":
            return replace(remainder, range=base.bounds, kind=base.kind, fault=base.fault, is_wide=cut.is_wide)
        if is_whole:
            remainder = self.name(remainder)
            difference = self._join("-", replace(base, range=EXACT, place=remainder.place), left, remainder)
            known = clip(base.bounds, EXACT)
            return self._join(symbol, replace(base, place=difference.place, range=known), difference, right, operator)
        difference = self._join("-", replace(value, place=cut.place), left, cut)
        quotient = self._join("/", value, difference, right)
        if moves is not None:
            step = value_if(moves, Printed(Sql("1e0")), "0e0")
            quotient = self._join("-", replace(value, place=step.place), quotient, step)
        quotient = self.name(quotient)
        floor = self.name(replace(quotient, sql=Sql(self.columns.dialect.floor.format(quotient.sql)), is_name=False))
        is_short = Printed(Sql(f"{quotient.sql} - {floor.sql} > 0.5e0"), COMPARISON, place=floor.place)
        raised = value_if(is_short, replace(floor, sql=Sql(f"{floor.sql} + 1e0")), floor.sql)
        return self.finish(replace(raised, kind=base.kind, range=base.bounds, fault=base.fault, is_wide=False))
