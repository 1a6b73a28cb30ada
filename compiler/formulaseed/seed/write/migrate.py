"""Rewrites a seed v1 as a seed v2 that computes the same.

In: the JSON of the v1, and its checked program, without errors. Out: the JSON of the v2, and a list of parts that it lacks. A
loop inside a larger formula becomes a step of its own. Conditions that compare a field with a value become `where`, any other
condition on a review a filter with `expr`; one that uses a step goes into the formula of a count or sum.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from formulaseed.diagnostics.model import Problems
from formulaseed.ir import nodes
from formulaseed.ir.hoisting import hoist_aggregates
from formulaseed.language import ast, typed
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.operators import MIRRORED, NEGATED
from formulaseed.language.parser import parse_formula
from formulaseed.language.printer import expression_text
from formulaseed.language.sizes import blank_comments
from formulaseed.language.typed import Expr, SymbolKind
from formulaseed.language.types import INTEGER, Info, Value
from formulaseed.source.json_reader import JsonString, Plain, read_json
from formulaseed.source.text import Source, Span, claim_name

SUM = "sum"
Object = dict[str, Plain]
Entry = tuple[str, Plain]
"""One entry of a condition object: a field or filter, and its value or operators."""
_NAMESPACES = ("extraction.", "meta.", "context.")
_SAME_KEYS = ("task_name", "version", "description", "parameters", "context", "review_handling", "properties", "allow")


@dataclass(frozen=True, slots=True)
class UnsupportedPart:
    """A part of the seed v1 that v2 cannot express: its place, and the reason."""

    span: Span
    reason: str


@dataclass(slots=True)
class Migration:
    """A seed v2 made of a seed v1.

    The seed is incomplete if `not_moved` has any part. The parts in `left_out`, as text, have no effect on results.
    """

    seed: Object
    not_moved: list[UnsupportedPart] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def migrate(seed: Mapping[str, Any], program: nodes.Program) -> Migration:
    """Return the seed v1 `seed` rewritten as v2. `program` is the same seed, checked without errors.

    Parts that v2 cannot express are in `not_moved`; the prompt, the descriptions of steps and the comments in formulas
    are only named in `left_out`.
    """
    moved: Object = {key: seed[key] for key in _SAME_KEYS if key in seed}
    if program.keywords:
        moved["filter"] = {"keywords": list(program.keywords)}
    fields = seed["extraction_fields"]
    passes = {"passes": seed["passes"]} if "passes" in seed else {}
    moved["extract"] = {"fields": [{"name": field["name"], "type": "enum", **field} for field in fields], **passes}
    migration = Migration(moved)
    writer = _StepWriter(program, migration.not_moved)
    written = {step["name"]: step for step in seed["compute_dag"]}
    for step in hoist_aggregates(program).steps:
        writer.write_step(step)
        allowed = written.get(step.name, {}).get("allow")
        if allowed is not None:
            writer.steps[-1]["allow"] = allowed
    moved["compute"] = list(writer.steps)
    moved["output"] = list(program.output)
    migration.left_out += _list_left_out(program, written)
    return migration


def _list_left_out(program: nodes.Program, written: Mapping[str, Any]) -> Iterator[str]:
    """Yield the parts of a seed v1 that v2 has no place for. `written` has its steps by name."""
    if program.extraction_prompt:
        yield "`extraction_prompt`: the descriptions of fields and values say what to extract"
    described = [f"`{name}`" for name, step in written.items() if step.get("description")]
    if described:
        yield f"the descriptions of {', '.join(described)}: steps have none"
    commented = [f"`{name}`" for name, step in written.items() if blank_comments(step["formula"]) != step["formula"]]
    if commented:
        yield f"the comments in the formulas of {', '.join(commented)}, which are written anew"


class _StepWriter:
    """A writer of the steps of the seed v2 into `steps`. It adds what it cannot express to `not_moved`."""

    def __init__(self, program: nodes.Program, not_moved: list[UnsupportedPart]) -> None:
        self.not_moved = not_moved
        self.steps: list[Object] = []
        self.taken = {step.name for step in program.steps}
        self.name = ""

    def write_step(self, step: nodes.Step) -> None:
        """Add a step to `steps`, after the filters that it needs. Raises `AssertionError` for one not in v1."""
        self.name = step.name
        match step.operation:
            case nodes.Formula(typed.Aggregate() as aggregate):
                self._write_aggregate(aggregate, step.span)
            case nodes.Formula(expression):
                self._write_formula(expression, step.rules())
            case _:
                raise AssertionError("seed v1 has no other operations")

    def _add(self, op: str, **parts: Plain) -> None:
        """Add a step with the current name, the operation `op` and the keys `parts` to `steps`."""
        self.steps.append({"name": self.name, "op": op, **parts})

    def _write_aggregate(self, aggregate: typed.Aggregate, span: Span) -> None:
        """Add the step of an aggregate to `steps`; its condition becomes `where`, as far as it uses no step.

        The rest of the condition goes into the formula of a count, which becomes a sum, or of a sum. For any other
        function it is added to `not_moved`, and the step is written without it.
        """
        op = aggregate.function
        operand = aggregate.operand
        tests, rest = self._split_where(aggregate.where)
        if rest is not None and aggregate.entry.counts:
            op = SUM
            operand = typed.Conditional(rest, _build_number(1, rest), _build_number(0, rest), rest.info)
        elif rest is not None and operand is not None and op == SUM:
            operand = typed.Conditional(rest, operand, _build_number(0, rest), operand.info)
        elif rest is not None:
            reason = f"`{op}` over reviews where `{_format_formula(rest)}`: no condition on reviews can use a step"
            self.not_moved.append(UnsupportedPart(span, reason))
        value: Object = {}
        if operand is not None:
            is_name = isinstance(operand, typed.Ref) and operand.symbol.is_per_review
            value = {"field" if is_name and "field" in aggregate.entry.keys else "expr": _format_formula(operand)}
        default: Object = {"default": aggregate.default.value} if aggregate.default is not None else {}
        self._add(op, **value, **tests, **default)

    def _write_formula(self, expression: Expr, rules: Sequence[tuple[Expr | None, Value]]) -> None:
        """Add the step of a formula to `steps`: a `case` if it has `rules`, a `const` for a literal, else `expr`.

        Literals that could be read as formulas stay in an `expr`. The last of `rules` has the value if no other holds.
        """
        if rules and all(self._is_plain(value) for _, value in rules):
            *cases, (_, otherwise) = rules
            written: list[Plain] = [{"when": _format_formula(when), "then": value} for when, value in cases if when]
            self._add("case", rules=[*written, {"else": otherwise}])
        elif isinstance(expression, typed.Literal) and self._is_plain(expression.value):
            self._add("const", value=expression.value)
        else:
            self._add("expr", expr=_format_formula(expression))

    def _is_plain(self, value: Value) -> bool:
        """Return True if a literal cannot be mistaken for a formula: it has no name of a step or function in it."""
        words = re.findall(r"[A-Za-z_]\w*", value) if isinstance(value, str) else []
        return not any(word in self.taken or word in FUNCTIONS for word in words)

    # --- conditions

    def _split_where(self, where: Expr | None) -> tuple[Object, Expr | None]:
        """Return `where` as a key of a step, up to the first conjunct that uses a step, and the rest as a condition.

        The rest is None if no conjunct uses a step. Conjuncts that no condition object can express become filters in
        `steps`.
        """
        entries: list[Entry] = []
        parts = typed.conjuncts(where)
        for index, part in enumerate(parts):
            if any(symbol.kind is SymbolKind.STEP for symbol in typed.symbols_in(part)):
                rest = parts[index:]
                return self._build_where(entries), rest[0] if len(rest) == 1 else typed.Logical("and", rest, part.info)
            entries += _parse_entries(_format_formula(part)) or [(self._add_filter(expr=_format_formula(part)), True)]
        return self._build_where(entries), None

    def _build_where(self, entries: Sequence[Entry]) -> Object:
        """Return the entries as the key `where` of a step; an empty object for none.

        An entry that cannot join one of the same key goes into a new filter in `steps`.
        """
        merged: Object = {}
        for key, test in entries:
            if not _add_entry(merged, (key, test)):
                merged[self._add_filter(where={key: test})] = True
        return {"where": merged} if merged else {}

    def _add_filter(self, **parts: Plain) -> str:
        """Add a filter with a new name to `steps`, and return the key that tests it, such as `$N_WHERE`."""
        suffix = "_WHERE" if self.name.isupper() else "_where"
        name = claim_name(f"{self.name[:80]}{suffix}", self.taken)
        self.steps.append({"name": name, "op": "define_filter", **parts})
        return f"${name}"


def _build_number(value: int, beside: Expr) -> Expr:
    return typed.Literal(value, Info(INTEGER, beside.info.span))


def _format_formula(expression: Expr) -> str:
    """Return the expression as a formula of a seed v2, which names fields in full."""
    return expression_text(_expand_names(expression))


def _expand_names(expression: Expr) -> Expr:
    """Return an expression in which fields are written by their full names, not as in the v1 formula."""
    if isinstance(expression, typed.Ref):
        return replace(expression, written="")
    return typed.map_operands(expression, _expand_names)


# --- conditions as entries of a condition object


def _parse_entries(condition: str) -> list[Entry] | None:
    """Return the condition object's entries that mean the same as a condition; None if only a formula can."""
    text, _ = read_json(Source("<condition>", json.dumps(condition)))
    tree = parse_formula(text, Problems()) if isinstance(text, JsonString) else None
    return _build_entries(tree) if tree is not None else None


def _add_entry(conditions: Object, entry: Entry) -> bool:
    """Add an entry to `conditions`. Returns False, with nothing added, if its key has a value that it cannot join.

    Equal values join, and operators that differ.
    """
    key, test = entry
    known = conditions.get(key)
    if key not in conditions or known == test:
        conditions[key] = test
    elif isinstance(known, dict) and isinstance(test, dict) and not known.keys() & test.keys():
        conditions[key] = {**known, **test}
    else:
        return False
    return True


def _build_entries(condition: ast.Expr, truth: bool = True) -> list[Entry] | None:
    """Return entries that all hold exactly if the condition equals `truth`; None if only a formula can express it.

    A name is true or false in its entry; an `or` must test one field for values.
    """
    match condition:
        case ast.Not(_, operand):
            return _build_entries(operand, not truth)
        case ast.Name(_, text):
            return [(text, truth)]
        case ast.Logical(_, operator, operands) if (operator == "and") is truth:
            return _join_entries([_build_entries(operand, truth) for operand in operands])
        case ast.Logical(_, "or", operands):
            return _merge_alternatives([_build_entries(operand) for operand in operands])
        case ast.Comparison(span, first, operators, rest) if truth and len(operators) > 1:
            triples = zip((first, *rest), operators, rest, strict=False)
            pairs = [ast.Comparison(span, left, (sign,), (right,)) for left, sign, right in triples]
            return _join_entries([_build_entries(pair) for pair in pairs])
        case ast.Comparison(_, first, (operator,), (second,)):
            entry = _build_comparison_entry(first, operator, second, truth)
            if entry is None and operator in MIRRORED:
                entry = _build_comparison_entry(second, MIRRORED[operator], first, truth)
            return [entry] if entry is not None else None
    return None


def _join_entries(parts: Sequence[list[Entry] | None]) -> list[Entry] | None:
    """Return the entries of all parts, or None if one of the parts is None."""
    if None in parts:
        return None
    return [entry for entries in parts for entry in entries or ()]


def _build_comparison_entry(subject: ast.Expr, operator: str, value: ast.Expr, truth: bool) -> Entry | None:
    """Return the entry that holds exactly if the comparison equals `truth`; None if no entry can express it.

    The left side must be a field with its namespace, the right side a parameter or a literal, or a list of these for
    `in`.
    """
    if not (isinstance(subject, ast.Name) and subject.text.startswith(_NAMESPACES)):
        return None
    operator = operator if truth else NEGATED[operator]
    items = value.items if isinstance(value, ast.List) else (value,)
    if operator == "not in" or isinstance(value, ast.List) is not (operator == "in") or not all(map(_is_value, items)):
        return None
    values = [_read_value(item) for item in items]
    if operator == "==":
        return subject.text, values[0]
    return subject.text, {operator: values if operator == "in" else values[0]}


def _merge_alternatives(parts: Sequence[list[Entry] | None]) -> list[Entry] | None:
    """Return one `in` entry with the values of all parts; None unless all parts test the same field for values.

    Each part must have one entry, which tests for equality or has `in`.
    """
    values: list[Plain] = []
    fields: set[str] = set()
    for entries in parts:
        if entries is None or len(entries) != 1:
            return None
        ((name, test),) = entries
        listed = test.get("in") if isinstance(test, dict) else [test]
        if not isinstance(listed, list):
            return None
        fields.add(name)
        values += listed
    return [(fields.pop(), {"in": values})] if len(fields) == 1 else None


def _is_value(node: ast.Expr) -> bool:
    """Return True if a condition object can hold a node: a parameter, or a literal that is not read as anything else.

    A string with a dot, or one that begins with an operator, could be read so.
    """
    if isinstance(node, ast.Name):
        return node.text.startswith("param.")
    if not isinstance(node, ast.Literal):
        return False
    return not isinstance(node.value, str) or ("." not in node.value and not re.match(r"\s*[<>=!]", node.value))


def _read_value(node: ast.Expr) -> Plain:
    """Return the literal's value, or the parameter's name. Raises `AssertionError` for any other node."""
    assert isinstance(node, ast.Name | ast.Literal)
    return node.text if isinstance(node, ast.Name) else node.value
