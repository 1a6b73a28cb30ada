"""Warns of comparisons of the standard fields with values that data does not have, which types and ranges cannot prove.

A category compared with the list of all, one in other case than Yelp's, a number beyond a field's usual range, and a string
that begins or ends with white space.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from formulaseed.diagnostics.catalogue import lint as catalogue
from formulaseed.diagnostics.catalogue.seed import help_with_filter
from formulaseed.diagnostics.model import Help, Problems, Suggestion
from formulaseed.ir import nodes
from formulaseed.language import intervals, typed
from formulaseed.language.check.narrowing import list_items
from formulaseed.language.check.partial_operations import add_parentheses
from formulaseed.language.intervals import Range, describe
from formulaseed.language.operators import MIRRORED
from formulaseed.language.printer import expression_text, literal_text, operand_text, value_text
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.seed import surface
from formulaseed.seed.standard_fields import CATEGORIES, RANGES

MAX_ACRONYM = 3
"""A category of at most this many letters may be written in capitals, such as `BBQ`."""
_WORD_START = re.compile(r"(?<![^\W_])(?<!\w['’])[a-z]")


def lint_comparisons(program: nodes.Program, problems: Problems) -> None:
    """Warn of comparisons of categories, of numbers outside the range of a standard field, and of space in strings.

    A step that repeats or selects a field has the field's range. Comparisons already reported as constant are skipped
    for ranges.
    """
    certain = problems.find_places("FS603")
    lists = find_category_lists(program)
    ranges = {_parse_symbol(name): known for name, known in RANGES.items()}
    for step in program.steps:
        for expression in step.expressions():
            for node in typed.walk(expression):
                if isinstance(node, typed.Comparison):
                    _lint_category(node, lists, problems)
                    if not node.is_constant and node.info.span not in certain:
                        _lint_range(node, ranges, problems)
            _lint_space(expression, problems)
        symbol = Symbol(SymbolKind.STEP, step.name)
        match step.operation:
            case nodes.Formula(typed.Ref(source)) if source in ranges:
                ranges[symbol] = ranges[source]
            case nodes.Formula(typed.Aggregate(operand=typed.Ref(source), default=None) as aggregate) if (
                aggregate.entry.selects and source in ranges
            ):
                ranges[symbol] = ranges[source]


def find_category_lists(program: nodes.Program) -> set[Symbol]:
    """Return the symbols of the list of categories and of steps that repeat it, also with a replacement for null."""
    lists = {_parse_symbol(CATEGORIES)}
    for step in program.steps:
        if isinstance(step.operation, nodes.Formula) and _is_list(step.operation.expression, lists):
            lists.add(Symbol(SymbolKind.STEP, step.name))
    return lists


def _parse_symbol(name: str) -> Symbol:
    """Return the symbol of a full name such as `meta.stars`. Raises `ValueError` for an unknown namespace."""
    space, _, bare = name.partition(".")
    return Symbol(SymbolKind(space), bare)


def _list_pairs(node: typed.Comparison) -> Iterator[tuple[Expr, str, Expr]]:
    """Yield the comparisons of a chain: left side, operator, right side."""
    yield from zip((node.first, *node.rest), node.operators, node.rest, strict=False)


def list_pairs_from_both_sides(node: typed.Comparison) -> Iterator[tuple[Expr, str, Expr]]:
    """Yield each comparison of a chain from either side: `a < b`, then `b > a`.

    The operator of the second is empty if it has no mirror image, as for `in`.
    """
    for left, operator, right in _list_pairs(node):
        yield left, operator, right
        yield right, MIRRORED.get(operator, ""), left


# --- numbers


def _lint_range(node: typed.Comparison, ranges: dict[Symbol, Range], problems: Problems) -> None:
    """Warn of a comparison that is constant by the range of a field in `ranges`, a range that data usually has.

    A comparison that is always true is passed over if the number is inside the range, as in `meta.stars <= 5`.
    """
    for side, sign, other in list_pairs_from_both_sides(node):
        field = side.operand if isinstance(side, typed.Present) else side
        known = ranges.get(field.symbol) if isinstance(field, typed.Ref) else None
        if known is None or not sign:
            continue
        is_member = sign in ("in", "not in")
        for item in list_items(other):
            value = item.info.constant
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            operator = "==" if is_member else sign
            result = intervals.compare(operator, known, intervals.point(value))
            if result is not False and (result is None or is_member or known.low <= value <= known.high):
                continue  # such as `meta.stars <= 5` in the last of several conditions
            name = expression_text(field)
            text = f"{name} {operator} {value_text(value)}"
            span = item.info.span if is_member else node.info.span
            problems.report(catalogue.beyond_range(span, name, describe(known), text, result))


# --- categories


def _lint_category(node: typed.Comparison, lists: set[Symbol], problems: Problems) -> None:
    """Warn of a category in other case than Yelp's, and of one that is compared with the list of all.

    `lists` are the symbols of such lists. Several categories in one string, and the empty string, may be compared with
    a list.
    """
    for left, operator, right in _list_pairs(node):
        is_left = _is_list(left, lists)
        is_right = _is_list(right, lists)
        if operator in ("in", "not in") and is_right:
            text = _get_string(left)
            if text and format_title_case(text) != text:
                problems.report(catalogue.other_case(left.info.span, text, format_title_case(text), is_there=False))
        elif operator in ("==", "!=", "in", "not in") and (is_left or is_right):
            source, literals = (left, list_items(right)) if is_left else (right, list_items(left))
            texts = [_get_string(literal) for literal in literals]
            # several categories, or none, are compared with the whole on purpose
            if all(texts) and not any("," in text for text in texts):
                _report_whole_list(node, source, operator, texts, literals[0], problems)


def _report_whole_list(
    node: typed.Comparison, source: Expr, operator: str, texts: list[str], literal: Expr, problems: Problems
) -> None:
    """Report that `source`, a list of categories, is compared as a whole with `texts`. The help says what to write.

    It can be applied as a fix only if the comparison is a single one in a formula. `literal` is the first of the
    categories.
    """
    word, joint = ("not in", " and ") if operator in ("!=", "not in") else ("in", " or ")
    name = expression_text(source)
    categories = f"coalesce({name}, '')" if source.info.ty.nullable else operand_text(source)
    formula = joint.join(f"{literal_text(format_title_case(text))} {word} {categories}" for text in texts)
    span = node.info.span
    help: Help
    if span.source.text.startswith('"', span.start):  # the key of a condition object
        help = help_with_filter(formula)
    elif source.info.span.pointer != literal.info.span.pointer:  # the `source` of a case
        help = f"drop `source` and write `{formula}`"
    else:
        formula = add_parentheses(formula, span) if len(texts) > 1 else formula
        help = f"write `{formula}`"
        if len(node.rest) == 1:
            help = Suggestion(help, json.dumps(formula, ensure_ascii=False)[1:-1], "unsafe", is_verbatim=True)
    problems.report(catalogue.comparison_with_list(span, name, operator, help))


def _is_list(expression: Expr, lists: set[Symbol]) -> bool:
    """Return True if an expression is one of `lists`, the category lists, also with a replacement for null."""
    match expression:
        case typed.Ref(symbol):
            return symbol in lists
        case typed.Present(operand) | typed.Logical("or", (operand, _)) | typed.Call("coalesce", (operand, _)):
            return _is_list(operand, lists)
        case _:
            return False


def _get_string(expression: Expr) -> str:
    """Return the content of a string literal; empty for any other expression."""
    return expression.value if isinstance(expression, typed.Literal) and isinstance(expression.value, str) else ""


def format_title_case(text: str) -> str:
    """Return a category as Yelp writes it, if it is all in small letters or capitals; otherwise unchanged.

    A string of at most `MAX_ACRONYM` capitals, such as `BBQ`, is unchanged, too.
    """
    is_upper = text.isupper() and len(text) > MAX_ACRONYM
    if not (text.islower() or is_upper):
        return text
    return _WORD_START.sub(lambda match: match[0].upper(), text.lower())


# --- strings


def _lint_space(expression: Expr, problems: Problems) -> None:
    """Warn of strings with white space around them; strings searched for in another, such as `' bar'`, may have it.

    Strings of nothing but white space are passed over.
    """
    nodes = list(typed.walk(expression))
    searched = {
        id(left)
        for node in nodes
        if isinstance(node, typed.Comparison)
        for left, operator, right in _list_pairs(node)
        if operator in ("in", "not in") and not isinstance(right, typed.List)
    }
    for node in nodes:
        text = _get_string(node)
        if text.strip() not in ("", text) and id(node) not in searched:
            problems.report(catalogue.surrounding_space(node.info.span, text, "the string"))


# --- keys of tables


def lint_case_of_keys(lookup: surface.Lookup, is_list: bool, problems: Problems) -> None:
    """Warn of keys with different values that differ in case only, and of categories in other case than Yelp's.

    The latter only if `is_list`, which means that the source lists categories; such a key is not compared with the
    others.
    """
    keys = {entry.key.text for entry in lookup.table}
    first: dict[str, surface.Entry] = {}
    for entry in lookup.table:
        key = entry.key.text
        span = entry.key.span
        if is_list and format_title_case(key) != key:
            problems.report(
                catalogue.other_case(span, key, format_title_case(key), is_there=format_title_case(key) in keys)
            )
            continue
        other = first.setdefault(key.casefold(), entry)
        if other.value.value != entry.value.value:
            problems.report(catalogue.keys_alike(span, key, other.key.text))
