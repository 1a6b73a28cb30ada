"""Lowers formulas of seed v1 to expressions over aggregates.

In: the steps as written, with `extractions`, loops, `e['field']`, `context.x` and `param.X`. Out: the same steps, in which a
loop has become an aggregate. A part without a meaning is reported, and the rest of the formula is still read. Unknown bare names
are left to the checker, which suggests similar ones.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from formulaseed.diagnostics.catalogue import seed as catalogue
from formulaseed.diagnostics.catalogue import seed_v1 as v1_catalogue
from formulaseed.diagnostics.model import Diagnostic, Help, Problems
from formulaseed.diagnostics.suggestions import did_you_mean, find_closest, suggest
from formulaseed.language import ast
from formulaseed.language.types import Type
from formulaseed.seed import surface
from formulaseed.seed.surface import map_operands
from formulaseed.source.text import Span, one_line, value_node

EXTRACTIONS = "extractions"


def lower_formulas(
    written: Sequence[surface.Step], types: Mapping[str, Type], is_complete: bool, problems: Problems
) -> tuple[surface.Step, ...]:
    """Return the steps with loops in their formulas lowered to aggregates. Reports parts without a meaning.

    A formula that is one loop becomes an operation like those of a seed v2. `types` are those of fields and parameters;
    some may be missing unless `is_complete`. Other operations are kept.
    """
    reader = _FormulaReader(types, is_complete, {step.name.text for step in written}, problems)
    steps = []
    for step in written:
        reader.reported.clear()
        operation = step.operation
        if isinstance(operation, surface.Formula):
            lowered = reader.lower(operation.expression, None)
            operation = lowered if isinstance(lowered, ast.Aggregate) else surface.Formula(lowered)
        steps.append(replace(step, operation=operation))
    return tuple(steps)


@value_node
class _FormulaReader:
    """A reader of the formulas of seed v1. `types` has fields and parameters by their full names."""

    types: Mapping[str, Type]
    is_complete: bool
    steps: set[str]
    problems: Problems
    reported: set[str] = field(default_factory=set)
    """The names with a problem in this step: each is reported once."""

    def lower(self, node: ast.Expr, loop: str | None, is_condition: bool = False) -> ast.Expr:
        """Lower an expression inside the loop with the variable `loop`; None outside a loop.

        With `is_condition` a list is true if it is not empty. A part without a meaning is reported, and becomes
        `ast.Invalid`.
        """
        match node:
            case ast.Name(span, text) if is_condition and text == EXTRACTIONS != loop:
                return _build_existence_test([], span, "len(extractions)")
            case ast.Name():
                return self._lower_name(node, loop)
            case ast.FilterName(span):
                return self._report(v1_catalogue.filter_in_v1(span))
            case ast.Subscript():
                return self._lower_subscript(node, loop)
            case ast.Call():
                return self._lower_call(node, loop)
            case ast.Conditional(span, condition, then, otherwise):
                test = self.lower(condition, loop, True)
                return ast.Conditional(span, test, self.lower(then, loop), self.lower(otherwise, loop))
            case ast.Not():
                return map_operands(node, self.lower, loop, True)
            case ast.Logical():
                return map_operands(node, self.lower, loop, is_condition)
            case ast.Comprehension(is_list=True) if is_condition and loop is None:
                return self._lower_existence_test(node)
            case ast.Comprehension(span):
                return self._report(v1_catalogue.bare_loop(span))
            case ast.Keyword(_, name):
                return self._report(v1_catalogue.named_argument(name.span))
            case _:
                return map_operands(node, self.lower, loop)

    def _lower_existence_test(self, node: ast.Comprehension) -> ast.Expr:
        """Lower a list of reviews that is a condition, which is true if the list is not empty."""
        conditions = self._lower_conditions(node, None)
        if conditions is None:
            return ast.Invalid(node.span)
        return _build_existence_test(conditions, node.span, _format_count(node))

    def _lower_call(self, node: ast.Call, loop: str | None) -> ast.Expr:
        """Lower a call: one of a loop, such as `sum(… for …)`, becomes an aggregate, and `len(extractions)` a count.

        `any` and `all` without a loop and methods of a review are reported. Any other call keeps its lowered arguments.
        """
        name = node.name.text
        if name in v1_catalogue.LOOPS and node.arguments:
            first = node.arguments[0]
            is_all = isinstance(first, ast.Name) and first.text == EXTRACTIONS != loop
            if is_all and name == "len" and len(node.arguments) == 1:
                return ast.Aggregate(node.span, "count", None, None, written=_get_source_text(node))
            comprehension, default = _split_default(first)
            if comprehension is not None:
                return self._lower_loop(node, comprehension, default, loop)
            if name in ("any", "all"):
                return self._report(v1_catalogue.takes_loop(node.span, name))
        return self._lower_method(node, loop) or map_operands(node, self.lower, loop)

    # --- loops

    def _lower_loop(
        self, node: ast.Call, over: ast.Comprehension, default: ast.Expr | None, loop: str | None
    ) -> ast.Expr:
        """Lower a call of the loop `over`; `ast.Invalid`, with the problem reported, if it has no meaning.

        `default` is that of `[… for …] or [0]`; `loop` is the variable of the loop around the call, None without one.
        `any` and `all` become comparisons of a count with 0. A default that is computed becomes the other branch of a
        conditional.
        """
        name = node.name.text
        default, refused = self._lower_default(node, default, loop)
        conditions = self._lower_conditions(over, loop)
        for argument in refused:
            self._report(v1_catalogue.loop_arguments(argument.span, name))
        if conditions is None or refused:
            return ast.Invalid(node.span)
        if name == "len":
            return self._lower_length(node, over, conditions)
        element = self.lower(over.element, over.variable.text, name in ("any", "all"))
        if name == "any":
            count = _format_count(over, _get_source_text(over.element))
            return _build_existence_test([*conditions, *ast.conjuncts(element)], node.span, count)
        if name == "all":
            count = _format_count(over, f"not {_get_source_text(over.element)}")
            return _build_existence_test([*conditions, ast.Not(element.span, element)], node.span, count, "==")
        aggregate = ast.Aggregate(
            node.span, name, element, surface.join_conjuncts(conditions), written=_get_source_text(node)
        )
        if name == "sum":
            is_count = isinstance(element, ast.Literal) and element.value == 1 and isinstance(element.value, int)
            return replace(aggregate, function="count", expression=None) if is_count else aggregate
        if default is None or isinstance(default, ast.Literal):
            return replace(aggregate, default=default)
        there_are = _build_existence_test(conditions, node.span, _format_count(over))
        return ast.Conditional(node.span, there_are, aggregate, default)

    def _lower_default(
        self, node: ast.Call, default: ast.Expr | None, loop: str | None
    ) -> tuple[ast.Expr | None, list[ast.Expr]]:
        """Return the lowered value over no reviews, None if there is none, and the arguments that are not allowed.

        `default` is the value in `[… for …] or [0]`, None without one; `default=` of `max` and `min` also counts. `sum`
        may only have the default 0. The caller reports these arguments.
        """
        name = node.name.text
        refused = [default] if default is not None and name in ("len", "any", "all") else []
        for argument in node.arguments[1:]:
            match argument:
                case ast.Keyword(_, ast.Name(_, "default"), value) if name in ("max", "min") and default is None:
                    default = value
                case _:
                    refused.append(argument)
        if default is None:
            return None, refused
        default = _fold_sign(self.lower(default, loop))
        if name == "sum" and not (isinstance(default, ast.Literal) and default.value == 0):
            refused.append(default)
        return default, refused

    def _lower_conditions(self, node: ast.Comprehension, loop: str | None) -> list[ast.Expr] | None:
        """Return the conditions of a loop, split at each `and`; None, with a report, if it is nested or not over `extractions`.

        `loop` is the variable of the loop around this one, None if there is none. The conditions are lowered in any
        case, so that their problems are reported.
        """
        variable = node.variable.text
        source = node.source
        conditions = [self.lower(condition, variable, True) for condition in node.conditions]
        over = source.text if isinstance(source, ast.Name) else ""
        if loop is not None:
            self._report(v1_catalogue.nested_loop(node.span))
        if "." in variable or not over == EXTRACTIONS != loop:
            self._report(v1_catalogue.loop_over_other(source.span, over))
        elif loop is None:
            return [part for condition in conditions for part in ast.conjuncts(condition)]
        return None

    def _lower_length(self, node: ast.Call, over: ast.Comprehension, conditions: list[ast.Expr]) -> ast.Expr:
        """Return the count that `len([… for …])` is; `ast.Invalid`, with a report, if its elements are computed.

        An element that is a field is lowered only to report its problems.
        """
        if not over.is_list or not isinstance(over.element, ast.Name | ast.Subscript | ast.Literal):
            return self._report(v1_catalogue.takes_loop(over.span, "len"))
        if not (isinstance(over.element, ast.Name) and over.element.text == over.variable.text):
            self.lower(over.element, over.variable.text)
        return ast.Aggregate(
            node.span, "count", None, surface.join_conjuncts(conditions), written=_get_source_text(node)
        )

    # --- names

    def _find_field(self, name: str) -> str | None:
        """Return the full name of a review's field, such as `extraction.kind` or `meta.stars`; None if there is none.

        Metadata may have `review_` in front; an extraction field of the same name comes first.
        """
        names = (f"extraction.{name}", f"meta.{name}", f"meta.{name.removeprefix('review_')}")
        return next((full for full in names if full in self.types), None)

    def _lower_name(self, node: ast.Name, loop: str | None) -> ast.Expr:
        """Return a name in place of a value; `ast.Invalid`, with the problem reported, if it is no single value.

        That is the variable of the loop around it, `loop`, the list of reviews, or a review's field without a loop
        variable. An unknown bare name is returned for the checker to report.
        """
        text = node.text
        span = node.span
        head, _, rest = text.partition(".")
        if head == loop:
            return self._report(v1_catalogue.review_as_value(span, text, f"{head}['{rest or '…'}']"))
        if text == EXTRACTIONS:
            return self._report(v1_catalogue.list_as_value(span))
        if rest:
            return self._lower_dotted_name(node, head, rest, loop)
        if text not in self.steps and self._find_field(text) is not None:
            return self._report(catalogue.unknown_step(span, text, self._build_field_help(text, loop)), text)
        return node

    def _lower_dotted_name(self, node: ast.Name, space: str, rest: str, loop: str | None) -> ast.Expr:
        """Return a name in `context` or `param`; `ast.Invalid`, with a report, for any other namespace.

        A field of a review in these namespaces is reported, too. Other unknown names in them are left to the checker.
        """
        is_field = self._find_field(rest) is not None
        spaces = ("context", "param")
        if space in spaces:
            if node.text in self.types or not is_field:
                return node
            help = self._build_field_help(rest, loop)
            return self._report(catalogue.unknown_field(node.span, f"`{space}`", rest, help), node.text)
        close = find_closest(space, spaces)
        if close is not None:
            help = suggest(f"{close}.{rest}", certain=False)
        elif is_field:
            help = self._build_field_help(rest, loop)
        elif rest in self.steps:
            help = suggest(rest, certain=False)
        else:
            help = did_you_mean(space, spaces, noun="namespaces")
        return self._report(catalogue.unknown_namespace(node.span, space, help), node.text)

    def _lower_subscript(self, node: ast.Subscript, loop: str | None) -> ast.Expr:
        """Return the field that `e['field']` reads, if `e` is `loop`; otherwise `ast.Invalid`, with a report."""
        value = node.value
        index = node.index
        key = index.value if isinstance(index, ast.Literal) and isinstance(index.value, str) else None
        name = value.text if isinstance(value, ast.Name) else ""
        if name == loop and key is not None:
            return self._lower_field(node, key, name)
        if key is not None and name and name not in ("context", "param", EXTRACTIONS):
            help = f"write `{loop}['{key}']`" if loop is not None else v1_catalogue.LOOP_HELP.format(name)
            return self._report(v1_catalogue.no_loop_variable(node.value.span, name, help), name)
        instead = f"{name}.{key or 'name'}" if name in ("context", "param") else "e['field']"
        return self._report(v1_catalogue.not_indexable(node.span, instead))

    def _lower_field(self, node: ast.Subscript, name: str, loop: str) -> ast.Expr:
        """Return the name of the field that `loop['name']` reads; `ast.Invalid` if there is no such field.

        An unknown field is reported, unless some of the seed's fields could not be read.
        """
        full_name = self._find_field(name)
        if full_name is not None:
            return ast.Name(node.span, full_name, written=f"{loop}['{name}']")
        if not self.is_complete:
            return ast.Invalid(node.span)
        known = [full.partition(".")[2] for full in self.types if full.startswith(("extraction.", "meta."))]
        help = did_you_mean(name, known, noun="fields", limit=20)
        self._report(catalogue.unknown_field(node.index.span, "a review", name, help), name)
        return ast.Invalid(node.span)

    def _lower_method(self, node: ast.Call, loop: str | None) -> ast.Expr | None:
        """Report a method of a review, and return the expression to use; None, without a report, for any other call.

        `e.get('n')` is read as `e['n']`; any other method is `ast.Invalid`.
        """
        head, _, method = node.name.text.partition(".")
        if head != loop or not method:
            return None
        key, *fallback = node.arguments or (None,)
        if method != "get" or not isinstance(key, ast.Literal) or not isinstance(key.value, str) or len(fallback) > 1:
            return self._report(v1_catalogue.method_of_review(node.name.span, method, f"{head}['field']"))
        full_name = self._find_field(key.value)
        # a declared field always has a value; what an absent one gives is said by its `default`, not by the formula
        is_same = full_name is not None and (not fallback or full_name.startswith("meta."))
        self._report(v1_catalogue.get_of_review(node.span, f"{head}['{key.value}']", is_same=is_same))
        return self._lower_field(ast.Subscript(node.span, ast.Name(node.name.span, head), key), key.value, head)

    def _build_field_help(self, name: str, loop: str | None) -> Help:
        """Return the help for a bare name of a review's field: how to write it with the loop variable."""
        return f"write `{loop}['{name}']`" if loop is not None else v1_catalogue.FIELD_HELP.format(name)

    def _report(self, problem: Diagnostic, name: str = "") -> ast.Invalid:
        """Report a problem, and return `ast.Invalid`. With a `name`, reports only its first problem in a step."""
        if not name or name not in self.reported:
            self.reported.add(name)
            self.problems.report(problem)
        return ast.Invalid(problem.span)


def _build_existence_test(conditions: list[ast.Expr], span: Span, written: str, operator: str = ">") -> ast.Expr:
    """Return the condition that some reviews meet `conditions`, or with the operator `==` that none does.

    `written` is the formula that counts these reviews, for messages.
    """
    counted = ast.Aggregate(span, "count", None, surface.join_conjuncts(conditions), written=written)
    return ast.Comparison(span, counted, (operator,), (ast.Literal(span, 0),))


def _split_default(argument: ast.Expr | None) -> tuple[ast.Comprehension | None, ast.Expr | None]:
    """Return the loop of an argument and the default of `[… for …] or [0]`, each None if there is none."""
    match argument:
        case ast.Comprehension():
            return argument, None
        case ast.Logical(_, "or", (ast.Comprehension(is_list=True) as loop, ast.List(_, (single,)))):
            return loop, single
        case _:
            return None, None


def _format_count(node: ast.Comprehension, *tests: str) -> str:
    """Return a formula that counts the reviews of a loop that also meet `tests`; `len(extractions)` for all."""
    variable = node.variable.text
    conditions = "".join(f" if {test}" for test in (*(_get_source_text(c) for c in node.conditions), *tests))
    return f"len([{variable} for {variable} in extractions{conditions}])" if conditions else "len(extractions)"


def _get_source_text(node: ast.Expr) -> str:
    """Return an expression as the author wrote it, on one line, in parentheses if it needs them as an operand."""
    text: str = json.loads(f'"{node.span.source.text[node.span.start : node.span.end]}"')
    line = one_line(text)
    return f"({line})" if isinstance(node, ast.Logical | ast.Conditional) else line


def _fold_sign(default: ast.Expr) -> ast.Expr:
    """Return a number with a sign as one literal; any other expression itself."""
    match default:
        case ast.Unary(span, sign, ast.Literal(_, int() | float() as number)) if not isinstance(number, bool):
            return ast.Literal(span, -number if sign == "-" else number)
        case _:
            return default
