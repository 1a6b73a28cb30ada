"""The operations of compute steps, one function each, and the table of them.

Source: the specification's section 3, Compute.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from formulaseed import limits
from formulaseed.diagnostics.model import Suggestion
from formulaseed.language import ast
from formulaseed.language.parser import parse_formula
from formulaseed.seed import surface
from formulaseed.seed.read.cases import lower_case
from formulaseed.seed.read.conditions import lower_conditions
from formulaseed.seed.read.shape import Shape
from formulaseed.seed.read.worded import all_of
from formulaseed.seed.surface import Broken, Formula, NoLiteral, Operation
from formulaseed.source.json_reader import JsonObject, JsonString, JsonValue
from formulaseed.source.text import Span

MATCH_MODES = ("exact", "substring_first", "substring_max")


@dataclass(frozen=True, slots=True)
class Lowering:
    """How an operation is read: its keys beside `name` and `op`, and the function that reads them."""

    keys: tuple[str, ...]
    lower: Callable[[JsonObject, Shape], Operation]


def step_keys(name: str) -> tuple[str, ...]:
    """The keys of a step with this operation."""
    return ("name", "op", *OPERATIONS[name].keys, "sources", "allow")


def lower_operation(name: str, step: JsonObject, shape: Shape) -> Operation:
    """The operation of a step whose keys were checked; where something in it is wrong, what of it can be checked."""
    shape.sources(step)
    return OPERATIONS[name].lower(step, shape)


def lower_unknown(step: JsonObject, shape: Shape) -> Operation:
    """What stands in a step whose operation is none, as far as its keys show how it is meant."""
    shape.meant(step, dict.fromkeys(ALL_STEP_KEYS))  # which of them are missing is not known
    likely = _likely_operation(step, shape)
    if likely is not None:
        return lower_operation(likely, step, shape)
    where = _where(step, shape)
    given = [(key, value) for key in ("field", "expr") if (value := shape.get(step, key)) is not None]
    values = [expression for key, value in given if (expression := _formula(value, f"`{key}`", shape))]
    texts = [value.value for _, value in given if isinstance(value, JsonString)]
    per_review = where is not None or shape.get(step, "field") is not None
    per_review = per_review or any(re.search(r"\$|\b(extraction|meta)\.", text) for text in texts)
    used = [ast.Comparison(value.span, value, ("==",), (ast.Invalid(value.span),)) for value in values]
    if not per_review:
        return Broken(tuple(Formula(value) for value in used))
    tested = all_of([*([where] if where else []), *used])
    return Broken((surface.Aggregate("count", None, tested),) if tested else ())


def _likely_operation(step: JsonObject, shape: Shape) -> str | None:
    """The operation that alone has the step's keys."""
    for name, keys in (
        ("define_filter", ("extraction", "meta", "context")),
        ("case", ("rules",)),
        ("lookup", ("table",)),
    ):
        if any(shape.get(step, key) is not None for key in keys):
            return name
    return None


def _formula(value: JsonValue | None, what: str, shape: Shape, *, is_condition: bool = False) -> ast.Expr | None:
    text = shape.text(value, what)
    return parse_formula(text, shape.problems, is_condition=is_condition) if text else None


def _where(step: JsonObject, shape: Shape) -> ast.Expr | None:
    where = shape.get(step, "where")
    return all_of(lower_conditions(where, "`where`", shape)) if where is not None else None


def _literal(value: JsonValue, what: str, shape: Shape) -> ast.Literal:
    return shape.literal(value, what) or NoLiteral(value.span, None)


def _default(step: JsonObject, shape: Shape) -> ast.Literal | None:
    default = shape.get(step, "default")
    return _literal(default, "`default`", shape) if default is not None else None


def _define_filter(step: JsonObject, shape: Shape) -> Operation:
    conditions: list[ast.Expr] = []
    given = [(key, shape.get(step, key)) for key in OPERATIONS["define_filter"].keys]
    for key, value in given:
        if value is None:
            continue
        if key == "expr":
            found = _formula(value, "`expr`", shape, is_condition=True)
            conditions += ast.conjuncts(found or ast.Invalid(value.span))
        else:
            conditions += lower_conditions(value, f"`{key}`", shape, None if key == "where" else key)
    condition = all_of(conditions)
    if all(value is None for _, value in given):
        place = Span(step.span.source, step.span.start, step.span.start + 1, step.span.pointer)
        help = 'add "extraction": {…}, "meta", "context", "where", or "expr": a condition as a formula'
        shape.problems.add("FS502", place, "the filter has no conditions", help)
    elif condition is None:
        shape.problems.add("FS502", step.span, "the filter tests nothing", "name a field and its value")
    return surface.Filter(condition) if condition else Broken()


def _count(step: JsonObject, shape: Shape) -> Operation:
    return surface.Aggregate("count", None, _where(step, shape))


def _sum(step: JsonObject, shape: Shape) -> Operation:
    value = shape.need(step, "expr", "the operation `sum`", '"expr": a formula such as "5 - meta.stars"')
    return surface.Aggregate("sum", _formula(value, "`expr`", shape) or ast.Invalid(step.span), _where(step, shape))


def _extreme(largest: bool) -> Callable[[JsonObject, Shape], Operation]:
    name = "max" if largest else "min"

    def lower(step: JsonObject, shape: Shape) -> Operation:
        where, default = _where(step, shape), _default(step, shape)
        field, formula = shape.get(step, "field"), shape.get(step, "expr")
        if field is not None and formula is not None:
            message = f"`{name}` takes `field` or `expr`, not both"
            shape.problems.add("FS511", formula.span, message, "keep one of the two")
        if field is None and formula is None:
            shape.need(step, "field", f"the operation `{name}`", '"field": "meta.year", or "expr": a formula')
        values = [_formula(formula, "`expr`", shape)] if formula is not None else []
        values += [_field(field, shape)] if field is not None else []
        made = [surface.Aggregate(name, value or ast.Invalid(step.span), where, default) for value in values or [None]]
        return made[0] if len(made) == 1 and not isinstance(default, NoLiteral) else Broken(tuple(made))

    return lower


def _field(value: JsonValue | None, shape: Shape) -> ast.Expr | None:
    text = shape.text(value, "`field`")
    if text is None:
        return None
    return _single_name(text, "`field`", "write a field such as `meta.year`; a formula goes into `expr`", shape)


def _single_name(text: JsonString, what: str, help: str, shape: Shape) -> ast.Expr | None:
    bare = text.value[1:]
    if re.fullmatch(r"\$[A-Za-z_][\w.]*", text.value) and text.value not in shape.spelled.get(bare, ()):
        message = f"`$` stands before filters, and {what} takes a value"
        is_safe = bare in shape.steps or bare in shape.types
        shape.problems.add(
            "FS509", text.span, message, Suggestion(f"write `{bare}`", bare, "safe" if is_safe else "unsafe")
        )
        return ast.Name(text.span, bare)
    expression = parse_formula(text, shape.problems)
    if expression is None or isinstance(expression, ast.Name):
        return expression
    shape.problems.add("FS509", text.span, f"{what} must be one name", help)
    return None


def _source(step: JsonObject, shape: Shape) -> ast.Expr | None:
    """What the step's `source` names; None where it has none."""
    value = shape.get(step, "source")
    text = shape.text(value, "`source`")
    help = "compute the value in a step of its own and name that"
    found = _single_name(text, "`source`", help, shape) if text else None
    return found or (ast.Invalid(value.span) if value is not None else None)


def _lookup(step: JsonObject, shape: Shape) -> Operation:
    shape.need(step, "source", "the operation `lookup`", '"source": such as "context.categories"')
    source = _source(step, shape) or ast.Invalid(step.span)
    match = shape.text(shape.need(step, "match", "the operation `lookup`", '"match": "exact"'), "`match`")
    mode = shape.choice(match, "match mode", MATCH_MODES) if match else None
    value = shape.need(step, "table", "the operation `lookup`", '"table": {"Thai": 2.0, …}')
    table = shape.object(value, "`table`", '{"Thai": 2.0, …}') if value is not None else None
    entries = _table(table, shape) if table else ()
    made = surface.Lookup(source, entries, mode or "substring_first", _default(step, shape))
    literals = [*(entry.value for entry in entries), *([made.default] if made.default else [])]
    sound = mode is not None and bool(entries) and not any(isinstance(literal, NoLiteral) for literal in literals)
    return made if sound else Broken((made,))


def _table(table: JsonObject, shape: Shape) -> tuple[surface.Entry, ...]:
    """The entries; none where nothing can be said of them."""
    if len(table.members) > limits.TABLE_ENTRIES:
        shape.too_many(table.span, "`table`", len(table.members), limits.TABLE_ENTRIES)
        return ()
    if not table.members:
        shape.problems.add("FS508", table.span, "the table is empty", 'write entries such as "Thai": 2.0')
    entries: dict[str, surface.Entry] = {}
    for member in table.members:
        value = _literal(member.value, "a table's value", shape)
        if member.key.value == "":
            help = "every text contains the empty one; remove the entry, or use `default`"
            shape.problems.add("FS508", member.key.span, "the table has an empty key", help)
            value = NoLiteral(value.span, None)
        elif value.value is None and not isinstance(value, NoLiteral):
            shape.problems.add("FS508", value.span, "a table's value cannot be null", "write a number or a text")
            value = NoLiteral(value.span, None)
        entry = surface.Entry(surface.Named(member.key.span, member.key.value), value)
        entries.setdefault(member.key.value, entry)  # a key that stands twice was told by the reader
    return tuple(entries.values())


def _expr(step: JsonObject, shape: Shape) -> Operation:
    value = shape.need(step, "expr", "the operation `expr`", '"expr": a formula such as "N_MILD * 2"')
    expression = _formula(value, "`expr`", shape)
    return Formula(expression) if expression else Broken()


def _const(step: JsonObject, shape: Shape) -> Operation:
    value = shape.need(step, "value", "the operation `const`", '"value": a number, a text, true or false')
    literal = shape.literal(value, "`value`") if value is not None else None
    return surface.Const(literal) if literal else Broken()


def _case(step: JsonObject, shape: Shape) -> Operation:
    return lower_case(step, _source(step, shape), shape)


OPERATIONS: dict[str, Lowering] = {
    "define_filter": Lowering(("extraction", "meta", "context", "where", "expr"), _define_filter),
    "count": Lowering(("where",), _count),
    "sum": Lowering(("expr", "where"), _sum),
    "max": Lowering(("field", "expr", "where", "default"), _extreme(largest=True)),
    "min": Lowering(("field", "expr", "where", "default"), _extreme(largest=False)),
    "lookup": Lowering(("source", "table", "match", "default"), _lookup),
    "expr": Lowering(("expr",), _expr),
    "const": Lowering(("value",), _const),
    "case": Lowering(("source", "rules", "default"), _case),
}
ALL_STEP_KEYS = tuple(dict.fromkeys(key for name in OPERATIONS for key in step_keys(name)))
