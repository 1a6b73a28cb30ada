"""Writes programs as text: steps as one-line declarations, for comments, messages and dumps, and any tree, indented."""

from __future__ import annotations

from collections.abc import Mapping

from formulaseed.ir import nodes
from formulaseed.language import typed
from formulaseed.language.printer import expression_text, literal_text
from formulaseed.source.printing import number_of
from formulaseed.source.text import Source, Span


def step_text(step: nodes.Step) -> str:
    """Return the operation of a step in words, such as `count where $IS_INCIDENT and meta.year >= 2023`."""
    match step.operation:
        case nodes.Formula(typed.Aggregate() as aggregate):
            return aggregate_text(aggregate)
        case nodes.Filter(expression) | nodes.Formula(expression):
            return expression_text(expression)
        case nodes.Lookup(source, table, match, has_default, default):
            text = f"lookup of {expression_text(source)} in {number_of(len(table), 'key')}, {match}"
            return f"{text}, default {literal_text(default)}" if has_default else text
        case nodes.Const(value):
            return f"constant {literal_text(value)}"
        case nodes.Case(rules, otherwise):
            parts = [f"{literal_text(then)} if {expression_text(condition)}" for condition, then in rules]
            return "; ".join([*parts, f"else {literal_text(otherwise)}"])


def aggregate_text(aggregate: typed.Aggregate) -> str:
    """Return an aggregate in words, such as `max of meta.year where $IS_INCIDENT, default 2020`."""
    text = aggregate.function
    if aggregate.operand is not None:
        text += f" of {expression_text(aggregate.operand)}"
    if aggregate.where is not None:
        text += f" where {expression_text(aggregate.where)}"
    if aggregate.default is not None and aggregate.default.value is not None:
        text += f", default {literal_text(aggregate.default.value)}"
    return text


def dump_program(program: nodes.Program) -> str:
    """Return the inputs and steps of a program, one on each line, with their types and the ranges of numbers.

    Metadata and context are left out if no step uses them. Output and properties come last.
    """
    lines = [f"task {program.task_name}"]
    lines += [f"field extraction.{f.name}: {f.ty}" for f in program.fields]
    used = program.used()
    for kind, fields in ((typed.SymbolKind.META, program.meta), (typed.SymbolKind.CONTEXT, program.context)):
        lines += [f"field {kind.value}.{f.name}: {f.ty}" for f in fields if typed.Symbol(kind, f.name) in used]
    lines += [f"param {p.name}: {p.ty} = {p.default!r}" for p in program.parameters]
    for step in program.steps:
        sign = "$" if isinstance(step.operation, nodes.Filter) else ""
        bounds = ""
        if step.range is not None and step.ty.is_numeric:
            bounds = f" in [{step.range.low:g}, {step.range.high:g}]"
        lines.append(f"{sign}{step.name}: {step.ty}{bounds} = {step_text(step)}")
    lines.append(f"output {', '.join(program.output)}")
    for claim in program.properties:
        cause = f"in {claim.variable}" if claim.review is None else f"by review where {expression_text(claim.review)}"
        lines.append(f"property {claim.step} {claim.direction} {cause}")
    return "\n".join(lines) + "\n"


def dump_tree(tree: object) -> str:
    """Return a tree of dataclasses as indented text, with spans as line:column."""
    return "\n".join(_dump_lines(tree, 0, "")) + "\n"


def _dump_lines(value: object, depth: int, label: str) -> list[str]:
    """Return the lines of a value and all values in it, indented by two spaces for each level of `depth`.

    The first line begins with `label`, unless that is empty. A span is written as line and column, a source as its
    name.
    """
    lead = "  " * depth + (f"{label}: " if label else "")
    if isinstance(value, Span):
        line, column = value.source.position(value.start)
        return [f"{lead}{line}:{column}"]
    if isinstance(value, Source):
        return [f"{lead}{value.name}"]
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        if not value:
            return [f"{lead}()"]
        return [lead.rstrip(), *(line for item in value for line in _dump_lines(item, depth + 1, "-"))]
    if isinstance(value, Mapping):
        return [
            lead.rstrip(),
            *(line for name, item in value.items() for line in _dump_lines(item, depth + 1, str(name))),
        ]
    names = getattr(type(value), "__dataclass_fields__", None)
    if names is None:
        return [f"{lead}{value!r}"]
    lines = [f"{lead}{type(value).__name__}"]
    for name in names:
        lines += _dump_lines(getattr(value, name), depth + 1, name)
    return lines
