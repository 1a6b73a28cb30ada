"""Comparisons of the standard fields with values that data does not have, which types and ranges cannot prove.

A category compared with the list of all, one written in other case than Yelp's, and a number beyond a field's usual range.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from formulaseed.diagnostics.catalogue import lint as catalogue
from formulaseed.diagnostics.catalogue.seed import as_filter
from formulaseed.diagnostics.model import Problems
from formulaseed.ir import nodes
from formulaseed.language import ast, intervals, typed
from formulaseed.language.check.facts import items
from formulaseed.language.intervals import Range, described
from formulaseed.language.operators import MIRRORED
from formulaseed.language.printer import expression_text, literal_text, value_text
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.seed import surface
from formulaseed.seed.standard_fields import RANGES

_CATEGORIES = "context.categories"
_ACRONYM = 3
"""A category of at most so many capitals may be written in capitals, such as `BBQ`."""
_WORD_START = re.compile(r"(?<![^\W_])(?<!\w['’])[a-z]")


def lint_comparisons(program: nodes.Program, problems: Problems) -> None:
    """Warn of comparisons with a category, and with a number that a standard field does not have."""
    lists = {Symbol(SymbolKind.CONTEXT, "categories")}
    ranges = {_symbol(name): known for name, known in RANGES.items()}
    for step in program.steps:
        for expression in step.expressions():
            for node in typed.walk(expression):
                if isinstance(node, typed.Comparison):
                    _category(node, lists, problems)
                    _beyond_range(node, ranges, problems)
        symbol = Symbol(SymbolKind.STEP, step.name)
        match step.operation:
            case nodes.Formula(typed.Ref(source)) if source in lists:
                lists.add(symbol)
            case nodes.Formula(typed.Ref(source)) if source in ranges:
                ranges[symbol] = ranges[source]
            case nodes.Formula(typed.Aggregate(operand=typed.Ref(source), default=None) as aggregate) if (
                source in ranges
            ):
                if aggregate.entry.selects:
                    ranges[symbol] = ranges[source]


def _symbol(name: str) -> Symbol:
    space, _, bare = name.partition(".")
    return Symbol(SymbolKind(space), bare)


def _pairs(node: typed.Comparison) -> Iterator[tuple[Expr, str, Expr]]:
    yield from zip((node.first, *node.rest), node.operators, node.rest, strict=False)


# --- numbers


def _beyond_range(node: typed.Comparison, ranges: dict[Symbol, Range], problems: Problems) -> None:
    """Warn of a comparison that the usual range of a field leaves in no doubt; nothing is proved from such a range."""
    if node.is_constant:
        return  # reported with what is known for certain
    for left, operator, right in _pairs(node):
        for field, sign, other in ((left, operator, right), (right, MIRRORED.get(operator, ""), left)):
            known = ranges.get(field.symbol) if isinstance(field, typed.Ref) else None
            if known is None or not sign:
                continue
            for item in items(other):
                value, name = item.info.constant, expression_text(field)
                if isinstance(value, bool) or not isinstance(value, int | float):
                    continue
                is_member = sign in ("in", "not in")
                result = intervals.compared("==" if is_member else sign, known, intervals.exactly(value))
                if result is None or (is_member and result):
                    continue
                text = f"{name} {'==' if is_member else sign} {value_text(value)}"
                span = item.info.span if is_member else node.info.span
                problems.report(catalogue.beyond_range(span, name, described(known), text, result))


# --- categories


def _category(node: typed.Comparison, lists: set[Symbol], problems: Problems) -> None:
    for left, operator, right in _pairs(node):
        left_is_list, right_is_list = _is_list(left, lists), _is_list(right, lists)
        if operator in ("in", "not in") and right_is_list:
            text = _string(left)
            if text and titled(text) != text:
                problems.report(catalogue.other_case(left.info.span, text, titled(text)))
        elif operator in ("==", "!=", "in", "not in") and (left_is_list or right_is_list):
            source, others = (left, items(right)) if left_is_list else (right, items(left))
            texts = [_string(other) for other in others]
            # several categories, or none, are compared with the whole on purpose
            if all(texts) and not any("," in text for text in texts):
                _whole_list(node, source, operator, texts, others[0], problems)


def _whole_list(
    node: typed.Comparison, source: Expr, operator: str, texts: list[str], literal: Expr, problems: Problems
) -> None:
    is_negated = operator in ("!=", "not in")
    name, word, joint = expression_text(source), "not in" if is_negated else "in", " and " if is_negated else " or "
    formula = joint.join(f"{literal_text(titled(text))} {word} {name}" for text in texts)
    span, enclosed = node.info.span, f"({formula})" if len(texts) > 1 else formula
    if span.source.text.startswith('"', span.start):  # the key of a condition object
        help = as_filter(formula)
    elif source.info.span.pointer != literal.info.span.pointer:  # the `source` of a case
        help = f"drop `source` and write `{formula}`"
    else:
        help = f"write `{enclosed}`"
    problems.report(catalogue.compared_with_list(span, name, operator, help))


def _is_list(found: Expr, lists: set[Symbol]) -> bool:
    """Return whether this is the list of categories, also with a value for a missing one."""
    match found:
        case typed.Ref(symbol):
            return symbol in lists
        case typed.Present(operand):
            return _is_list(operand, lists)
        case typed.Logical("or", (first, _)):
            return _is_list(first, lists)
        case _:
            return False


def _string(found: Expr) -> str:
    return found.value if isinstance(found, typed.Literal) and isinstance(found.value, str) else ""


def titled(text: str) -> str:
    """Return a category as Yelp writes it, if it is all in small letters or capitals; else the text itself."""
    is_upper = text.isupper() and len(text) > _ACRONYM
    if not (text.islower() or is_upper):
        return text
    return _WORD_START.sub(lambda match: match[0].upper(), text.lower())


# --- keys of tables


def lint_case_of_keys(lookup: surface.Lookup, problems: Problems) -> None:
    """Warn of keys that no category has as they are written, and of keys that only their case tells apart."""
    source = lookup.source.text if isinstance(lookup.source, ast.Name) else ""
    keys = {entry.key.text for entry in lookup.table}
    first: dict[str, surface.Entry] = {}
    for entry in lookup.table:
        key, span = entry.key.text, entry.key.span
        if source == _CATEGORIES and titled(key) != key:
            problems.report(catalogue.other_case(span, key, "" if titled(key) in keys else titled(key)))
            continue
        other = first.setdefault(key.casefold(), entry)
        if other is not entry and other.value.value != entry.value.value:
            problems.report(catalogue.keys_alike(span, key, other.key.text))
