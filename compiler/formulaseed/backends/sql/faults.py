"""Print the faults of expressions, in Python's order of evaluation.

A fault is an expression of strings: the kind of the first fault, or NULL. `beyond` is the kind of a value that SQL cannot
compute exactly; the module must evaluate the restaurant.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from formulaseed.backends.sql.columns import Place, Printed
from formulaseed.backends.sql.dialects import Sql
from formulaseed.language.operators import ATOM, COMPARISON, NOT, OR

BEYOND = "beyond"
DATA = "data"
NO_FAULT = Printed(Sql("NULL"))


def last_place(parts: Iterable[Printed | None]) -> Place:
    """Return the place from which all of the parts, one at least, can be read."""
    return max(part.place for part in parts if part is not None)


def kind_literal(kind: str) -> Printed:
    """Return the fault of this kind, which always occurs."""
    return Printed(Sql(f"'{kind}'"), kinds=frozenset((kind,)))


def first_fault(*faults: Printed | None) -> Printed | None:
    """Return the first fault that occurs; None if there are none. Those that are None are left out."""
    present = [fault for fault in faults if fault is not None]
    if len(present) < 2:
        return present[0] if present else None
    sql = Sql(f"COALESCE({', '.join(fault.sql for fault in present)})")
    return Printed(sql, place=last_place(present), kinds=_join_kinds(*present))


def fault_if(condition: Printed, fault: Printed | None, otherwise: Printed | None = None) -> Printed | None:
    """Return `fault` if the condition holds, else the fault `otherwise`; None if there is neither.

    A condition that is NULL does not hold.
    """
    if fault is None and otherwise is None:
        return None
    if fault is None:
        assert otherwise is not None
        condition = Printed(Sql(f"{condition.at(COMPARISON + 1)} IS NOT TRUE"), COMPARISON, place=condition.place)
        fault, otherwise = otherwise, None
    tail = f" ELSE {otherwise.sql}" if otherwise is not None else ""
    sql = Sql(f"CASE WHEN {condition.at(OR)} THEN {fault.sql}{tail} END")
    place = last_place((condition, fault, otherwise))
    return Printed(sql, ATOM, place=place, kinds=_join_kinds(fault, otherwise))


def _join_kinds(*faults: Printed | None) -> frozenset[str]:
    """Return the kinds that one of the faults may have."""
    return frozenset().union(*(fault.kinds for fault in faults if fault is not None))


def fault_of_kind(condition: Printed, kind: str) -> Printed:
    """Return a fault of this kind that occurs if the condition holds."""
    fault = fault_if(condition, kind_literal(kind))
    assert fault is not None
    return fault


def value_if(condition: Printed, value: Printed, otherwise: str = "") -> Printed:
    """Return the value if the condition holds, else NULL or the SQL `otherwise`."""
    tail = f" ELSE {otherwise}" if otherwise else ""
    sql = Sql(f"CASE WHEN {condition.at(OR)} THEN {value.sql}{tail} END")
    return replace(value, sql=sql, precedence=ATOM, place=last_place((condition, value)), is_name=False)


def negate(condition: Printed) -> Printed:
    """Return the negation of a condition."""
    return replace(condition, sql=Sql(f"NOT {condition.at(NOT)}"), precedence=NOT, is_name=False)
