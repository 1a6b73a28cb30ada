"""What a seed declares without effect: steps, fields and values that nothing uses, and entries of tables."""

from __future__ import annotations

from collections.abc import Iterator

from formulaseed.diagnostics.catalogue import lint as catalogue
from formulaseed.diagnostics.model import Problems
from formulaseed.ir import nodes
from formulaseed.language import typed
from formulaseed.language.printer import literal_text, value_text
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.seed import standard_fields, surface
from formulaseed.source.text import Span

_COMPARED_KEYS = 1_000
"""In a larger table keys are not compared with one another: the time grows with their square."""
_REST = (
    "none", "no", "na", "nothing", "unknown", "unclear", "undetermined", "unspecified", "unmentioned", "other", "others",
    "absent", "neutral", "irrelevant", "false", "never", "mixed_or_none",
)  # fmt: skip
"""Values that mean the absence of the others; a seed need not test for them."""


def lint_usage(program: nodes.Program, written: surface.Program, problems: Problems) -> None:
    used = program.used()
    _steps(program, used, problems)
    _inputs(written, used, problems)
    asked = _Asked(program)
    for field in written.fields:
        if Symbol(SymbolKind.EXTRACTION, field.name) in used:
            _values(field, written.declared_at[f"extraction.{field.name}"], asked, problems)


def _steps(program: nodes.Program, used: frozenset[Symbol], problems: Problems) -> None:
    for step in program.steps:
        is_filter = isinstance(step.operation, nodes.Filter)
        symbol = Symbol(SymbolKind.FILTER if is_filter else SymbolKind.STEP, step.name)
        if symbol not in used and step.name not in program.output and not step.part_of:
            problems.report(catalogue.unused_step(step.span, step.name, is_filter))


def _inputs(written: surface.Program, used: frozenset[Symbol], problems: Problems) -> None:
    for full_name, span in written.declared_at.items():
        space, _, name = full_name.partition(".")
        if Symbol(SymbolKind(space), name) not in used:
            problems.report(catalogue.unused_input(span, full_name, space == "extraction"))


def _values(field: nodes.ExtractionField, span: Span, asked: _Asked, problems: Problems) -> None:
    values = [value.name for value in field.values]
    if field.name in asked.as_a_whole or field.name == standard_fields.VALIDITY_FIELD:
        return
    missing = [value for value in values if (field.name, value) not in asked.values and not _is_rest(value)]
    if not missing or len(values) <= 2:  # of two, one is the absence of the other
        return
    problems.report(catalogue.unused_value(span, field.name, " or ".join(map(literal_text, missing[:4]))))


def _is_rest(value: str) -> bool:
    folded = value.casefold().replace(" ", "_").replace("-", "_")
    return folded in _REST or folded.startswith(("no_", "not_", "none_", "without_"))


class _Asked:
    """Which values of extraction fields the conditions of a program ask for.

    A condition that asks for the opposite, and a choice whose other branch is not 0, ask for all values that
    they do not name: such a field is asked as a whole, as is one that is used other than in a comparison with texts.
    """

    def __init__(self, program: nodes.Program) -> None:
        self.values: set[tuple[str, str]] = set()
        self.as_a_whole: set[str] = set()
        self.filters = {s.name: s.operation.condition for s in program.steps if isinstance(s.operation, nodes.Filter)}
        for step in program.steps:
            for expression in step.expressions():
                self._visit(expression)

    def _visit(self, expression: Expr) -> None:
        for node in typed.walk(expression):
            match node:
                case typed.Comparison(first, operators, rest):
                    self._comparison((first, *rest), operators)
                case typed.Not(operand):
                    self.as_a_whole.update(self._fields(operand))
                case typed.Conditional(condition, _, otherwise):
                    if not (isinstance(otherwise, typed.Literal) and not otherwise.value):
                        self.as_a_whole.update(self._fields(condition))
                case typed.Call(_, arguments):
                    self.as_a_whole.update(name for argument in arguments for name in _field(argument))

    def _comparison(self, operands: tuple[Expr, ...], operators: tuple[str, ...]) -> None:
        for left, operator, right in zip(operands, operators, operands[1:], strict=False):
            for one, other in ((left, right), (right, left)):
                for name in _field(one):
                    items = other.items if isinstance(other, typed.List) else (other,)
                    texts = [item.value for item in items if isinstance(item, typed.Literal)]
                    self.values.update((name, text) for text in texts if isinstance(text, str))
                    in_text = operator in ("in", "not in") and not isinstance(other, typed.List)
                    if operator in ("!=", "not in") or in_text or len(texts) < len(items):
                        self.as_a_whole.add(name)

    def _fields(self, condition: Expr) -> Iterator[str]:
        """The extraction fields that a condition tests, also through filters."""
        stack, seen = [condition], set[str]()
        while stack:
            for node in typed.walk(stack.pop()):
                yield from _field(node)
                symbol = node.symbol if isinstance(node, typed.Ref) else None
                if symbol is not None and symbol.kind is SymbolKind.FILTER and symbol.name not in seen:
                    seen.add(symbol.name)
                    stack.append(self.filters[symbol.name])


def _field(expression: Expr) -> Iterator[str]:
    if isinstance(expression, typed.Ref) and expression.symbol.kind is SymbolKind.EXTRACTION:
        yield expression.symbol.name


# --- tables of lookups: entries that others hide, and entries whose value is the default


def lint_lookups(written: surface.Program, problems: Problems) -> None:
    for step in written.steps:
        if isinstance(step.operation, surface.Lookup):
            _overlaps(step.operation, problems)
            _defaults(step.operation, problems)


def _overlaps(lookup: surface.Lookup, problems: Problems) -> None:
    if lookup.match == "exact" or len(lookup.table) > _COMPARED_KEYS:
        return
    for index, entry in enumerate(lookup.table):
        key = entry.key.text
        others = lookup.table[:index] if lookup.match == "substring_first" else lookup.table
        for other in others:
            shorter = other.key.text
            if other is entry or not shorter or shorter not in key or not _hides(other, entry, lookup.match):
                continue
            value = value_text(other.value.value) if lookup.match == "substring_max" else ""
            problems.report(catalogue.hidden_key(entry.key.span, key, shorter, value))
            break


def _hides(shorter: surface.Entry, entry: surface.Entry, match: str) -> bool:
    if match == "substring_first":
        return True
    high, low = shorter.value.value, entry.value.value
    return isinstance(high, int | float) and isinstance(low, int | float) and high >= low


def _defaults(lookup: surface.Lookup, problems: Problems) -> None:
    default = lookup.default.value if lookup.default is not None else None
    if default is None:
        return
    for entry in lookup.table:
        value = entry.value.value
        if value != default or isinstance(value, bool) is not isinstance(default, bool):
            continue
        is_exact = lookup.match == "exact"
        problems.report(catalogue.entry_is_default(entry.key.span, entry.key.text, value_text(value), is_exact))
