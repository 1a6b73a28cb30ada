"""Plan the columns of a query: of each step its value, and the kind of its fault.

In: a checked program. Out: columns with their places, which `layout` writes as common table expressions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from formulaseed.backends.sql.arithmetic import EXACT, clip, includes
from formulaseed.backends.sql.columns import Columns, Printed
from formulaseed.backends.sql.dialects import BIGINT, DOUBLE, Dialect, Sql, ascii_comment
from formulaseed.backends.sql.expressions import ExpressionPrinter
from formulaseed.backends.sql.faults import BEYOND, fault_if, fault_of_kind, first_fault, last_place
from formulaseed.backends.sql.grids import has_exact_sum
from formulaseed.backends.sql.inputs import Input, InputPrinter, Tables
from formulaseed.ir import nodes
from formulaseed.ir.hoisting import HoistedProgram, hoist_aggregates
from formulaseed.ir.labels import describe_step
from formulaseed.ir.sharing import share_filters
from formulaseed.language import intervals, typed
from formulaseed.language.intervals import Range
from formulaseed.language.operators import ADDITIVE, ATOM, COMPARISON
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.language.types import Base, Value

MAX_ROWS = 1e12
"""No restaurant has more rows, so that counts and sums of small integers need no check."""
_ROWS = Range(0.0, MAX_ROWS)
_ROW_FAULT = "row_fault"


@dataclass
class QueryPlan:
    """The columns of a program's query.

    `values` has the column of each step, `faults` the column of each fault with the step that it belongs to, in the order of
    evaluation.
    """

    program: nodes.Program
    tables: Tables
    columns: Columns
    rows: list[Input]
    contexts: list[Input]
    values: dict[str, Printed] = field(default_factory=dict)
    faults: list[tuple[str, Printed]] = field(default_factory=list)


def plan_query(
    program: nodes.Program,
    tables: Tables,
    dialect: Dialect,
    parameters: Mapping[str, Value] | None = None,
    reserved: tuple[str, ...] = (),
) -> QueryPlan:
    """Return the columns of a program's query. `parameters` replace defaults; no column has a name in `reserved`."""
    columns = Columns(dialect)
    for name in (tables.key, tables.order, *reserved):
        columns.claim(name)
    rows = [*InputPrinter(columns, 0, "").print_inputs(program, tables)]
    contexts = [*InputPrinter(columns, 1, "").print_inputs(program, tables)]
    hoisted = hoist_aggregates(program)
    hoisted = replace(hoisted, program=share_filters(hoisted.program))
    plan = QueryPlan(program, tables, columns, rows, contexts)
    _StepPlanner(plan, hoisted, parameters or {}).plan_steps()
    return plan


class _StepPlanner:
    """Adds the columns of the steps to a plan."""

    def __init__(self, plan: QueryPlan, hoisted: HoistedProgram, parameters: Mapping[str, Value]) -> None:
        self._plan = plan
        self._columns = plan.columns
        self._hoisted = hoisted
        self._filters = {step.name: step for step in hoisted.steps if isinstance(step.operation, nodes.Filter)}
        self._symbols = {item.symbol: item.value for item in (*plan.rows, *plan.contexts)}
        printer = self._make_printer("", 1)
        for parameter in plan.program.parameters:
            value = parameters.get(parameter.name, parameter.default)
            if parameter.ty.base is Base.NUMBER and isinstance(value, int):
                value = float(value)
            self._symbols[Symbol(SymbolKind.PARAMETER, parameter.name)] = printer.literal(value, parameter.ty.base)
        self._constants: dict[Symbol, Printed] = {}
        """The literals of constant steps, for columns of reviews."""

    def plan_steps(self) -> None:
        """Add the columns of all steps, in the order of the seed, and those of the filters that they use."""
        for step in self._hoisted.steps:
            if isinstance(step.operation, nodes.Filter):
                continue
            author = self._hoisted.authors.get(step.name, step.name)
            comments = self._describe(step)
            if step.aggregate is not None:
                value = self._plan_aggregate(step, step.aggregate, author, comments)
            else:
                value = self._add_value(step.name, self._print_step(step), step.ty.base, author, comments)
            self._plan.values[step.name] = value
            self._symbols[Symbol(SymbolKind.STEP, step.name)] = value

    def _describe(self, step: nodes.Step) -> tuple[Sql, ...]:
        """Return the comment of a step: its name with its operation in words."""
        if self._hoisted.is_part(step):
            return (ascii_comment(f"part of {self._hoisted.authors[step.name]}"),)
        sign = "$" if isinstance(step.operation, nodes.Filter) else ""
        return (ascii_comment(f"{sign}{step.name}: {describe_step(step)}"),)

    def _make_printer(self, name: str, level: int) -> ExpressionPrinter:
        """Return a printer of the expressions of the step `name`, over reviews (0) or for the restaurant (1)."""
        printer = ExpressionPrinter(self._columns, level, name)
        printer.resolve = self._resolve_constants if level == 0 else self._resolve
        return printer

    def _resolve(self, symbol: Symbol) -> Printed:
        """Return the column of a symbol; that of a filter is added when it is first used."""
        if symbol not in self._symbols and symbol.kind is SymbolKind.FILTER:
            step = self._filters[symbol.name]
            assert isinstance(step.operation, nodes.Filter)
            condition = self._make_printer(step.name, 0).print_truth(step.operation.condition)
            column = self._columns.add(step.name, condition, 0, self._describe(step))
            fault = condition.fault
            if fault is not None:
                fault = self._columns.add(f"{step.name}_fault", fault, 0)
            self._symbols[symbol] = replace(column, fault=fault)
        return self._symbols[symbol]

    def _resolve_constants(self, symbol: Symbol) -> Printed:
        """Return the literal of a constant step, since columns of reviews would wait for that of a restaurant."""
        return self._constants.get(symbol) or self._resolve(symbol)

    def _add_value(
        self, name: str, value: Printed, base: Base, author: str, comments: tuple[Sql, ...], level: int = 1
    ) -> Printed:
        """Add the columns of a step's value and fault, and return a reference to the value."""
        printer = self._make_printer(name, level)
        self._add_fault(name, author, value.fault)
        return self._columns.add(name, printer.convert(value.without_fault(), base), level, comments)

    def _add_fault(self, name: str, author: str, fault: Printed | None) -> None:
        """Add the column of a fault of the step `author`; does nothing for None."""
        if fault is not None:
            self._plan.faults.append((author, self._columns.add(f"{name}_fault", fault, 1)))

    # --- steps over values of the restaurant

    def _print_step(self, step: nodes.Step) -> Printed:
        """Print the value of a step that is no aggregate, with its fault."""
        printer = self._make_printer(step.name, 1)
        match step.operation:
            case nodes.Formula(expression):
                return printer.print(expression)
            case nodes.Const(value):
                literal = self._print_value(printer, value, step.ty.base)
                self._constants[Symbol(SymbolKind.STEP, step.name)] = literal
                return literal
            case nodes.Lookup():
                return self._print_lookup(printer, step.operation, step.ty.base)
            case nodes.Case():
                return self._print_case(printer, step.operation, step.ty.base)
        raise AssertionError("filters have no value")

    def _print_value(self, printer: ExpressionPrinter, value: Value, base: Base) -> Printed:
        """Return a literal result of a step, of the type of the step."""
        if base is Base.NUMBER and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        return printer.literal(value, base)

    def _choose(
        self, printer: ExpressionPrinter, tests: list[tuple[Printed, Value]], otherwise: Value, base: Base
    ) -> Printed:
        """Print the first value whose test holds, or `otherwise`; an integer beyond 53 bits makes the step a fault."""
        results = [self._print_value(printer, value, base) for value in (*(value for _, value in tests), otherwise)]
        whens = [f"WHEN {test.sql} THEN {result.sql}" for (test, _), result in zip(tests, results[:-1], strict=True)]
        lines = "\n  ".join(["CASE", *whens, f"ELSE {results[-1].sql}"])
        numbers = [result for result in results if result.range is not None]
        known = None
        for result in numbers:
            known = result.bounds if known is None else intervals.union(known, result.bounds)
        kind = numbers[0].kind if numbers else "other"
        place = last_place(result for result in (*(test for test, _ in tests), *results))
        fault = next((result.fault for result in results if result.fault is not None), None)
        sql = Sql(f"{lines}\nEND") if tests else results[-1].sql
        return Printed(sql, ATOM, kind, known, place, fault)

    def _print_lookup(self, printer: ExpressionPrinter, lookup: nodes.Lookup, base: Base) -> Printed:
        """Print a lookup in a table; with `substring_max` in the order of the values, highest first."""
        source = printer.name(printer.print(lookup.source))
        string = self._columns.dialect.string
        text = printer.as_text(source).sql
        template = f"{source.sql} = {{}}" if lookup.match == "exact" else f"CONTAINS({text}, {{}})"
        tests = []
        for key, result in lookup.entries:
            sql = Sql(template.replace("{}", string(key)))
            tests.append((Printed(sql, COMPARISON, place=source.place), result))
        value = self._choose(printer, [*tests], lookup.default, base)
        fault = first_fault(source.fault, value.fault)
        if not lookup.has_default:
            value = printer.name(replace(value, fault=None))
            is_missing = Printed(Sql(f"{value.sql} IS NULL"), COMPARISON, place=value.place)
            fault = first_fault(fault, fault_of_kind(is_missing, "lookup"))
        return replace(value, fault=fault)

    def _print_case(self, printer: ExpressionPrinter, case: nodes.Case, base: Base) -> Printed:
        """Print rules, whose first true condition chooses the value."""
        conditions = [printer.print_truth(condition) for condition, _ in case.rules]
        fault: Printed | None = None
        if any(condition.fault for condition in conditions):
            conditions = [printer.name_if_long(condition) for condition in conditions]
            for condition in reversed(conditions):
                fault = first_fault(condition.fault, fault_if(condition, None, fault))
        values = [value for _, value in case.rules]
        chosen = self._choose(printer, list(zip(conditions, values, strict=True)), case.otherwise, base)
        return replace(chosen, fault=first_fault(fault, chosen.fault))

    # --- aggregates

    def _plan_aggregate(
        self, step: nodes.Step, aggregate: typed.Aggregate, author: str, comments: tuple[Sql, ...]
    ) -> Printed:
        """Add the columns of an aggregate, and return a reference to its value."""
        printer = self._make_printer(step.name, 0)
        entry = aggregate.entry
        where = printer.print_truth(aggregate.where) if aggregate.where is not None else None
        operand: Printed | None = None
        if aggregate.operand is not None:
            is_condition = entry.takes == "condition"
            operand = printer.print_truth(aggregate.operand) if is_condition else printer.print(aggregate.operand)
        self._add_row_fault(step.name, author, where, operand)
        filter = f" FILTER (WHERE {where.sql})" if where is not None else ""
        parts = [part for part in (where, operand) if part is not None]
        template = self._columns.dialect.conditional_count
        sql = "COUNT(*)" if where is None else template.format(where=where.sql)
        count = Printed(Sql(sql), kind="integer", range=_ROWS, is_wide=True)
        count = replace(count, place=last_place([count, *parts]))
        if operand is None:
            total = replace(count, sql=Sql(entry.query.format(count=count.sql)))
            return self._columns.add_total(step.name, total, "0", comments)
        if entry.depends_on_order:
            return self._plan_sum(step, aggregate, author, comments, replace(operand, place=count.place), filter, count)
        return self._plan_choice(step, aggregate, author, comments, replace(operand, place=count.place), filter)

    def _add_row_fault(self, name: str, author: str, where: Printed | None, operand: Printed | None) -> None:
        """Add the fault of the first row, in their order, for which the condition or the operand has one."""
        fault = operand.fault if operand is not None else None
        if where is not None:
            fault = first_fault(where.fault, fault_if(where, fault))
        if fault is not None:
            column = self._columns.add(f"{name}_{_ROW_FAULT}", fault, 0)
            # The order of the rows matters only between faults of several kinds.
            template = "MAX({fault})" if len(fault.kinds) == 1 else self._columns.dialect.first_fault
            sql = template.format(fault=column.sql, order=self._order)
            total = self._columns.add_total(f"{name}_fault", Printed(Sql(sql), place=column.place), "")
            self._plan.faults.append((author, total))

    @property
    def _order(self) -> Sql:
        return self._columns.dialect.quote_name(self._plan.tables.order)

    def _plan_sum(
        self,
        step: nodes.Step,
        aggregate: typed.Aggregate,
        author: str,
        comments: tuple[Sql, ...],
        operand: Printed,
        filter: str,
        count: Printed,
    ) -> Printed:
        """Add a sum in the order of the rows, or a mean: the sum divided by the number of rows."""
        dialect = self._columns.dialect
        is_mean = not aggregate.entry.keeps_integers
        is_whole = operand.kind == "integer"
        known = intervals.multiply(operand.bounds, _ROWS)
        template = dialect.integer_sum if is_whole else dialect.ordered_sum
        if not is_whole and aggregate.operand is not None and has_exact_sum(aggregate.operand, MAX_ROWS):
            template = "SUM({value}){filter}"
        sql = template.format(value=operand.at(ATOM) if is_whole else operand.sql, order=self._order, filter=filter)
        is_exact = is_whole and includes(EXACT, known)
        if is_whole:
            sql = f"CAST({sql} AS {BIGINT if is_exact else DOUBLE})"
        needs_check = not is_exact if is_whole else not known.is_bounded
        total = Printed(
            Sql(sql), kind="integer" if is_whole else "float", range=known, place=operand.place, is_wide=is_exact
        )
        name = f"{step.name}_total" if is_mean or needs_check else step.name
        default = "0" if is_exact else "0e0"
        total = self._columns.add_total(name, total, default, () if name != step.name else comments)
        if name == step.name:
            return total
        printer = self._make_printer(step.name, 1)
        value = printer.finish(total)
        if not is_mean:
            return self._add_value(step.name, value, step.ty.base, author, comments)
        self._add_fault(f"{step.name}_total", author, value.fault)
        number = self._columns.add_total(f"{step.name}_number", count, "0")
        mean = self._print_mean(printer, aggregate, value, number)
        own_range = clip(aggregate.entry.range(operand.bounds), intervals.ANY_NUMBER)
        mean = replace(mean, range=intervals.union(own_range, mean.bounds))
        return self._add_value(step.name, mean, Base.NUMBER, author, comments)

    def _print_mean(
        self, printer: ExpressionPrinter, aggregate: typed.Aggregate, total: Printed, number: Printed
    ) -> Printed:
        """Print a total divided by a number of rows, or the default of the aggregate; its range is that of the default."""
        sql = f"{total.at(ADDITIVE)} / NULLIF({number.sql}, 0)"
        known = Range(0.0, 0.0)
        default = aggregate.default.value if aggregate.default is not None else None
        if isinstance(default, int | float):
            literal = self._print_value(printer, default, Base.NUMBER)
            sql = f"COALESCE({sql}, {literal.sql})"
            known = literal.bounds
        return Printed(Sql(sql), ATOM, "float", known, last_place((total, number)))

    def _plan_choice(
        self,
        step: nodes.Step,
        aggregate: typed.Aggregate,
        author: str,
        comments: tuple[Sql, ...],
        operand: Printed,
        filter: str,
    ) -> Printed:
        """Add an aggregate that does not depend on the order of the rows."""
        printer = self._make_printer(step.name, 1)
        entry = aggregate.entry
        base = step.ty.base
        default: Printed | None = None
        value = aggregate.default.value if aggregate.default is not None else entry.empty_value
        if value is not None:
            default = self._print_value(printer, value, base)
        if entry.selects:
            operand = printer.convert(operand, base)
        sql = Sql(f"{entry.query.format(value=operand.sql)}{filter}")
        total = replace(operand, sql=sql, fault=None, is_enum=False)
        if base is Base.INTEGER and not entry.selects:
            total = replace(total, kind="integer", range=_ROWS, is_wide=True)
        if default is not None and default.range is not None and total.range is not None:
            total = replace(total, range=intervals.union(total.bounds, default.bounds))
        if (
            default is not None and default.fault is not None
        ):  # an integer beyond 53 bits, for a restaurant without rows
            column = self._columns.add_total(f"{step.name}_total", total, "")
            is_empty = Printed(Sql(f"{column.sql} IS NULL"), COMPARISON, place=column.place)
            fault = fault_of_kind(is_empty, BEYOND)
            return self._add_value(step.name, replace(column, fault=fault), base, author, comments)
        return self._columns.add_total(step.name, total, default.sql if default is not None else "", comments)
