"""Warns of likely mistakes in a program: parts without effect, constant results, scores bounded on one side, old years."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeGuard

from formulaseed.diagnostics.catalogue import lint as catalogue
from formulaseed.diagnostics.model import Problems
from formulaseed.ir import nodes
from formulaseed.language import ast, typed
from formulaseed.language.check.narrowing import list_items
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.intervals import describe, is_remote
from formulaseed.language.printer import expression_text, literal_text, value_text
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.language.types import Base, Value
from formulaseed.seed import standard_fields, surface
from formulaseed.seed.lint.comparisons import find_category_lists, lint_case_of_keys, list_pairs_from_both_sides
from formulaseed.source.text import Span

_Years = dict[Symbol, tuple[int, Span]]
"""The constant steps that are a year, each with the year and its place."""
_INPUTS = (SymbolKind.EXTRACTION, SymbolKind.META, SymbolKind.CONTEXT, SymbolKind.PARAMETER)
FIRST_PRESENT_YEAR = 2020
"""An earlier year that is subtracted from a year of the data is the beginning of a count of years, not the present."""

_PARTIAL = ("FS305", "FS601", "FS604", "FS605", "FS606")
"""Warnings of operations that may have no value."""
MAX_COMPARED_KEYS = 1_000
"""In a larger table keys are not compared with one another: the time grows with their square."""
_WORDS_FOR_ABSENCE = (
    "none", "no", "na", "nothing", "unknown", "unclear", "undetermined", "unspecified", "unmentioned", "other", "others",
    "absent", "neutral", "irrelevant", "false", "never", "mixed_or_none",
)  # fmt: skip
"""Values that mean the absence of the others; a seed need not test for them."""


# --- results that are constant, and scores that are bounded on one side only


def lint_outcomes(program: nodes.Program, problems: Problems) -> None:
    """Warn of steps whose results are constant, and of scores that are bounded on one side only.

    A constant that depends on no data is reported only if it is an output. Bounds are checked for outputs and for steps
    that a case uses.
    """
    years = find_year_symbols(program)
    present = {Symbol(SymbolKind.PARAMETER, parameter.name) for parameter in program.parameters}
    tested: set[Symbol] = set()
    for step in program.steps:
        if isinstance(step.operation, nodes.Const):
            present.add(Symbol(SymbolKind.STEP, step.name))
        elif isinstance(step.operation, nodes.Case):
            tested.update(step.symbols())
    for step, depends, only in find_outcomes(program):
        is_output = step.name in program.output
        if (only is not None or not depends) and (depends or is_output):
            value = value_text(only) if only is not None else ""
            problems.report(catalogue.constant_result(step.span, step.name, value, depends))
        if is_output or Symbol(SymbolKind.STEP, step.name) in tested:
            _lint_bounds(step, years, present, problems)


def find_outcomes(program: nodes.Program) -> Iterator[tuple[nodes.Step, bool, Value]]:
    """Yield each step that is no filter, True if it depends on data, and its only value, None if it has several."""
    varying: set[str] = set()
    for step in program.steps:
        if isinstance(step.operation, nodes.Filter):
            continue
        depends = bool(step.aggregates()) or any(s.kind in _INPUTS or s.name in varying for s in step.symbols())
        only = _find_only_value(step)
        if depends and only is None:
            varying.add(step.name)
        yield step, depends, only


def _find_only_value(step: nodes.Step) -> Value:
    """Return the one value that the step can have, or None if there may be more, or if it may be null."""
    match step.operation:
        case nodes.Const(value):
            return value
        case nodes.Case(rules, otherwise):
            return _find_common_value([*(then for _, then in rules), otherwise])
        case nodes.Lookup(_, table, _, has_default, default):
            return _find_common_value([*(value for _, value in table), *([default] if has_default else [])])
        case nodes.Formula(expression) if expression.info.is_constant:
            return expression.info.constant
    known = step.range
    if step.ty.nullable or known is None or known.low != known.high or not known.is_bounded:
        return None  # a range that ends at the largest number was cut off there
    if step.ty.base is Base.BOOLEAN:
        return bool(known.low)
    return int(known.low) if known.low.is_integer() else known.low


def _find_common_value(values: list[Value]) -> Value:
    """Return the value that all of `values` have, or None if they differ in value or type."""
    return values[0] if len({(type(value), value) for value in values}) == 1 else None


def _lint_bounds(step: nodes.Step, years: set[Symbol], present: set[Symbol], problems: Problems) -> None:
    """Warn of a score that `max` or `min` bounds on one side while the other is open.

    Rounding around the call is ignored. A difference between a year in `years` and one in `present` is no score.
    """
    if not isinstance(step.operation, nodes.Formula) or step.range is None:
        return
    call = step.operation.expression
    while isinstance(call, typed.Call) and FUNCTIONS[call.function].is_rounding:
        call = call.arguments[0]
    if not isinstance(call, typed.Call) or not FUNCTIONS[call.function].bounds:
        return
    bounds = [argument for argument in call.arguments if argument.info.is_constant]
    if all(argument in bounds or _is_age(argument, years, present) for argument in call.arguments):
        return
    if bounds and is_remote(step.range.low) != is_remote(step.range.high):
        bound = expression_text(bounds[0])
        is_above = FUNCTIONS[call.function].bounds == "below"
        problems.report(catalogue.missing_bound(step.span, step.name, describe(step.range), bound, is_above=is_above))


def _is_age(argument: Expr, years: set[Symbol], present: set[Symbol]) -> bool:
    """Return True if a value is a year minus a year, of which at least one is in `years`, those of the data.

    The other may be a literal or one of `present`, the constants and parameters.
    """
    match argument:
        case typed.Binary(left=left, operator="-", right=right):
            symbols = [symbol for side in (left, right) if (symbol := _find_input(side)) is not None]
            literals = [side for side in (left, right) if isinstance(side, typed.Literal) and is_year(side.value)]
            is_of_data = not years.isdisjoint(symbols) and (years | present).issuperset(symbols)
            return is_of_data and len(symbols) + len(literals) == 2
        case _:
            return False


# --- hard-coded years that are the present: the results mean something else every year


def lint_years(program: nodes.Program, problems: Problems) -> None:
    """Warn of a hard-coded year that a year of the data is subtracted from or must reach, in a formula or a filter.

    A year that closes a period, as in `meta.year < 2023`, is not reported.
    """
    years = find_year_symbols(program)
    constants: _Years = {}
    for step in program.steps:
        match step.operation:
            case nodes.Const(int(value)) if is_year(value):
                constants[Symbol(SymbolKind.STEP, step.name)] = (value, step.span)
        for expression in step.expressions():
            for year, span, use in _find_hard_coded_years(expression, years, constants):
                problems.report(catalogue.hard_coded_year(span, year, use))


def find_year_symbols(program: nodes.Program) -> set[Symbol]:
    """Return the symbols that are a year of the data: `meta.year`, and steps that select or repeat one."""
    years = {Symbol(SymbolKind.META, "year")}
    for step in program.steps:
        match step.operation:
            case nodes.Formula(expression) if _find_input(expression) in years:
                years.add(Symbol(SymbolKind.STEP, step.name))
    return years


def _find_input(expression: Expr) -> Symbol | None:
    """Return the symbol that an expression is, or that an aggregate such as `max` selects; None for any other."""
    if isinstance(expression, typed.Aggregate) and expression.entry.selects:
        expression = expression.operand or expression
    return expression.symbol if isinstance(expression, typed.Ref) else None


def is_year(value: Value) -> TypeGuard[int]:
    """Return True if a value is an integer, not a boolean, from `FIRST_YEAR` to `LAST_YEAR`."""
    return type(value) is int and standard_fields.FIRST_YEAR <= value <= standard_fields.LAST_YEAR


def _find_hard_coded_years(expression: Expr, years: set[Symbol], constants: _Years) -> Iterator[tuple[int, Span, str]]:
    """Yield each year that is taken for the present, with its place and the text of the comparison or subtraction.

    `years` are the symbols of years of the data, `constants` the steps that are a year.
    """
    everything = list(typed.walk(expression))
    mentioning = _find_mentioning_nodes(everything, years)
    if not mentioning:
        return
    chains = [node for node in everything if isinstance(node, typed.Comparison)]
    for one, sign, other in _find_open_periods(chains):
        if _find_input(one) in years:
            use = f"{expression_text(one)} {sign} {expression_text(other)}"
            yield from ((year, span, use) for year, span in _find_years(other, constants))
    for node in everything:
        if isinstance(node, typed.Binary) and node.operator == "-":
            use = expression_text(node)
            yield from ((year, span, use) for year, span in _find_present_years(node, mentioning, constants))


def _find_open_periods(chains: Sequence[typed.Comparison]) -> list[tuple[Expr, str, Expr]]:
    """Return value, operator and bound of the comparisons by `>` and `>=` of values without an upper bound."""
    pairs = [pair for chain in chains for pair in list_pairs_from_both_sides(chain)]
    closed = {one for one, sign, _ in pairs if sign in ("<", "<=")}
    return [pair for pair in pairs if pair[1] in (">", ">=") and pair[0] not in closed]


def _find_present_years(node: typed.Binary, mentioning: set[int], constants: _Years) -> list[tuple[int, Span]]:
    """Return the year that is the present in `2024 - meta.year` or in `meta.year - 2024`, in a list; else none.

    In the second form only from `FIRST_PRESENT_YEAR` on. `mentioning` has the ids of the nodes with a year of the data.
    """
    is_left, is_right = (id(side) in mentioning for side in (node.left, node.right))
    if is_left and not is_right:
        return [(year, span) for year, span in _find_years(node.right, constants) if year >= FIRST_PRESENT_YEAR]
    return _find_years(node.left, constants) if is_right else []


def _find_mentioning_nodes(everything: Sequence[Expr], years: set[Symbol]) -> set[int]:
    """Return the ids of the nodes that contain one of `years`. In `everything` each node must come before its parts.

    A year inside an aggregate counts only if the aggregate selects a value.
    """
    mentioning: set[int] = set()
    for node in reversed(everything):
        # a count of a year's reviews is no year
        is_closed = isinstance(node, typed.Aggregate) and not node.entry.selects
        parts = () if is_closed else typed.children(node)
        if _find_input(node) in years or any(id(part) in mentioning for part in parts):
            mentioning.add(id(node))
    return mentioning


def _find_years(expression: Expr, constants: _Years) -> list[tuple[int, Span]]:
    """Return the year that a literal or a constant step is, with its place, as a list; empty for any other value."""
    if isinstance(expression, typed.Literal) and is_year(expression.value):
        return [(expression.value, expression.info.span)]
    if isinstance(expression, typed.Ref) and expression.symbol in constants:
        return [constants[expression.symbol]]
    return []


# --- steps, fields and values that nothing uses


def lint_usage(program: nodes.Program, written: surface.Program, problems: Problems) -> None:
    """Warn of steps, fields and parameters that nothing uses, and of enum values that no condition tests.

    Outputs count as used. The validity field's values are passed over; at most four values of a field are named.
    """
    used = program.used()
    failing = {_get_step_pointer(d.span) for d in problems.sorted() if d.code in _PARTIAL}
    for step in program.steps:
        is_filter = isinstance(step.operation, nodes.Filter)
        symbol = Symbol(SymbolKind.FILTER if is_filter else SymbolKind.STEP, step.name)
        if symbol not in used and step.name not in program.output:
            may_fail = _get_step_pointer(step.span) in failing
            problems.report(catalogue.unused_step(step.span, step.name, is_filter, may_fail))
    for full_name, span in written.declared_at.items():
        space, _, name = full_name.partition(".")
        if Symbol(SymbolKind(space), name) not in used:
            problems.report(catalogue.unused_input(span, full_name, space == "extraction"))
    tested = _TestedValues(program)
    for field in written.fields:
        if Symbol(SymbolKind.EXTRACTION, field.name) in used and field.name != standard_fields.VALIDITY_FIELD:
            unused = tested.find_untested(field)
            if unused:
                span = written.declared_at[f"extraction.{field.name}"]
                problems.report(catalogue.unused_value(span, field.name, " or ".join(map(literal_text, unused[:4]))))


def _get_step_pointer(span: Span) -> str:
    """Return the first two parts of the JSON Pointer of a place: the pointer to its step."""
    return "/".join(span.pointer.split("/")[:3])


def _means_absence(value: str) -> bool:
    """Return True if a value such as `none` or `not_mentioned` means the absence of the others. Case is ignored."""
    folded = value.casefold().replace(" ", "_").replace("-", "_")
    return folded in _WORDS_FOR_ABSENCE or folded.startswith(("no_", "not_", "none_", "without_"))


class _TestedValues:
    """The values of extraction fields that the conditions of a program test.

    A negated condition, and a choice whose other branch is not 0, test all values that they do not name: such a field is tested
    as a whole, as is one that is used elsewhere than in a comparison with strings.
    """

    def __init__(self, program: nodes.Program) -> None:
        self.values: set[tuple[str, str]] = set()
        self.as_a_whole: set[str] = set()
        self.filters = program.filters()
        for step in program.steps:
            for node in (node for expression in step.expressions() for node in typed.walk(expression)):
                match node:
                    case typed.Comparison():
                        self._add_comparison(node)
                    case typed.Not(operand):
                        self.as_a_whole.update(self._find_fields(operand))
                    case typed.Conditional(condition, _, otherwise):
                        if not (isinstance(otherwise, typed.Literal) and not otherwise.value):
                            self.as_a_whole.update(self._find_fields(condition))
                    case typed.Call(_, arguments):
                        self.as_a_whole.update(name for argument in arguments for name in _find_field(argument))

    def find_untested(self, field: nodes.ExtractionField) -> list[str]:
        """Return the values that no condition tests; none for a field tested as a whole, or with only two values.

        Values that mean absence, such as `none`, need no test and are left out.
        """
        # of two values, one is the absence of the other
        if field.name in self.as_a_whole or len(field.values) <= 2:
            return []
        values = [value.name for value in field.values]
        return [value for value in values if (field.name, value) not in self.values and not _means_absence(value)]

    def _add_comparison(self, chain: typed.Comparison) -> None:
        """Add the strings that fields are compared with to `values`, and fields tested otherwise to `as_a_whole`."""
        for left, operator, right in zip((chain.first, *chain.rest), chain.operators, chain.rest, strict=False):
            for one, other in ((left, right), (right, left)):
                for name in _find_field(one):
                    values = list_items(other)
                    texts = [item.value for item in values if isinstance(item, typed.Literal)]
                    self.values.update((name, text) for text in texts if isinstance(text, str))
                    in_text = operator in ("in", "not in") and not isinstance(other, typed.List)
                    if operator in ("!=", "not in") or in_text or len(texts) < len(values):
                        self.as_a_whole.add(name)

    def _find_fields(self, condition: Expr) -> Iterator[str]:
        """Yield the extraction fields that a condition mentions, also through filters. A field may be repeated."""
        stack = [condition]
        seen: set[str] = set()
        while stack:
            for node in typed.walk(stack.pop()):
                yield from _find_field(node)
                symbol = node.symbol if isinstance(node, typed.Ref) else None
                if symbol is not None and symbol.kind is SymbolKind.FILTER and symbol.name not in seen:
                    seen.add(symbol.name)
                    stack.append(self.filters[symbol.name])


def _find_field(expression: Expr) -> Iterator[str]:
    """Yield the name of the extraction field that an expression is; nothing for any other expression."""
    if isinstance(expression, typed.Ref) and expression.symbol.kind is SymbolKind.EXTRACTION:
        yield expression.symbol.name


# --- tables of lookups: entries that others hide, and entries whose value is the default


def lint_lookups(written: surface.Program, program: nodes.Program, problems: Problems) -> None:
    """Warn of keys of lookups that others hide, that differ in case alone, or that give the default.

    If the source lists categories, also warns of an exact match, and of keys in other case than Yelp's.
    """
    lists = {str(symbol) for symbol in find_category_lists(program)}
    for step in written.steps:
        if isinstance(step.operation, surface.Lookup):
            source = step.operation.source
            is_list = isinstance(source, ast.Name) and source.text in lists
            if is_list:
                _lint_exact_match(step.operation, problems)
            lint_case_of_keys(step.operation, is_list, problems)
            _lint_overlaps(step.operation, problems)
            _lint_defaults(step.operation, problems)


def _lint_exact_match(lookup: surface.Lookup, problems: Problems) -> None:
    """Warn of an exact match with a list of categories, unless a key of the table has a comma, as such a list has."""
    if lookup.match == "exact" and not any("," in entry.key.text for entry in lookup.table):
        problems.report(catalogue.exact_match_in_list(lookup.source.span, expression_text(lookup.source)))


def _lint_overlaps(lookup: surface.Lookup, problems: Problems) -> None:
    """Warn of keys that never decide, as they contain a key that is preferred. Passes over exact or large tables."""
    if lookup.match == "exact" or len(lookup.table) > MAX_COMPARED_KEYS:
        return
    is_first = lookup.match == "substring_first"
    for index, entry in enumerate(lookup.table):
        key = entry.key.text
        low = entry.value.value
        for other in lookup.table[:index] if is_first else lookup.table:
            shorter = other.key.text
            high = other.value.value
            if other is entry or not shorter or shorter not in key:
                continue
            if is_first or (isinstance(high, int | float) and isinstance(low, int | float) and high >= low):
                problems.report(
                    catalogue.hidden_key(entry.key.span, key, shorter, "" if is_first else value_text(high))
                )
                break


def _lint_defaults(lookup: surface.Lookup, problems: Problems) -> None:
    """Warn of each entry of a table whose value is the default; do nothing without a default."""
    default = lookup.default.value if lookup.default is not None else None
    is_exact = lookup.match == "exact"
    for entry in lookup.table if default is not None else ():
        value = entry.value.value
        if value == default and isinstance(value, bool) is isinstance(default, bool):
            problems.report(catalogue.entry_is_default(entry.key.span, entry.key.text, value_text(value), is_exact))
