"""Generates random seeds without errors, to test a compiler with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from formulaseed.documents import analyse
from formulaseed.seed import standard_fields
from formulaseed.seed.read.sections import STRATEGIES
from formulaseed.testing import declarations
from formulaseed.testing.declarations import SCALARS, JsonObject, choose_distinct
from formulaseed.testing.formulas import DEPTH, Chooser, FormulaWriter, Variable, integers_below, string_literal
from formulaseed.testing.scalars import SHORT_STRINGS, STRINGS, JsonValue, integers, numbers

_PLAIN_NAMES = ("A", "B", "C", "N_MILD", "SCORE", "VERDICT", "IS_RECENT", "TOTAL", "X1", "X2", "Y", "Z")
_NAMES = (*_PLAIN_NAMES, *_PLAIN_NAMES, *declarations.HOSTILE_NAMES)
_TASK_NAMES = ("T", "G1a-v2", "über task 1", "1st", "class", "a.b c", "Über", "花生 1", "test")
_KINDS = ("number", "boolean", "string")
_LITERALS: dict[str, st.SearchStrategy[Any]] = {**SCALARS, "number": st.one_of(integers(), numbers())}
_KEYS: st.SearchStrategy[str] = st.one_of(
    st.sampled_from(["Thai", "Bars", "Thai, Bars", "x", "none", "mild"]), SHORT_STRINGS.filter(bool)
)
_NUMERIC_WHENS = ("< {n:+}", "<= {n:+}", "> {n:+}", "== {n:+}", "!= {n:+}", "in [1, {n}]", "< {n:+} < 20")
_WHENS = {
    "integer": _NUMERIC_WHENS, "number": _NUMERIC_WHENS, "boolean": ("== True", "!= false"),
    "string": ("== {x}", "!= {x}", "in [{x}]", "not in [{x}, {x}]", "in {x}"),
}  # fmt: skip
_ORDER_OPERATORS = ((">",), (">=",), ("<",), ("<=",), (">=", "<"), (">", "<="), ("!=",), ("!=", ">"))


def seeds(*, max_steps: int = 10, formulas: type[FormulaWriter] = FormulaWriter) -> st.SearchStrategy[JsonObject]:
    """Return a strategy for seeds without errors, as JSON objects, with all operations, operators and functions.

    A seed has at most `max_steps` steps, and maybe one more. `formulas` is the class that writes the formulas. The
    evaluation of a seed may fail for some rows, for example with a division by zero.
    """
    return _seeds(max_steps, formulas)


@st.composite
def _seeds(draw: st.DrawFn, max_steps: int, formulas: type[FormulaWriter]) -> JsonObject:
    """Draw a seed without errors. Raises `AssertionError`, a bug of this package, if the checker finds one in it."""
    chooser = Chooser(draw)
    seed: JsonObject = {"task_name": chooser.choose(_TASK_NAMES)}
    if chooser.one_in(2):
        seed["description"] = draw(STRINGS)
    if keywords := draw(st.lists(SHORT_STRINGS.filter(str.strip), max_size=3, unique=True)):
        seed["filter"] = {"keywords": keywords}
    seed["parameters"], parameters = declarations.declare_parameters(chooser)
    seed["context"], inputs = declarations.declare_fields(chooser, "context")
    fields, reviews = declarations.declare_fields(chooser, "extraction")
    metas, meta_variables = declarations.declare_fields(chooser, "meta")
    validity = chooser.one_in(6)
    if validity:
        values = tuple(value for value, _ in standard_fields.VALIDITY_VALUES)
        reviews.append(Variable(f"extraction.{standard_fields.VALIDITY_FIELD}", "string", values))
    seed["extract"] = {"fields": fields, "meta": metas, "validity": validity}
    if chooser.one_in(6):
        seed["version"] = draw(STRINGS)
        seed["extract"]["passes"] = draw(st.integers(1, 9))
        seed["extract"]["examples"] = [declarations.draw_example(chooser, fields)]
        seed["review_handling"] = {"max_length": 100, "strategy": chooser.choose([*STRATEGIES])}
    writer = StepWriter(draw, formulas, [*reviews, *meta_variables], [*inputs, *parameters], parameters)
    step_count = draw(st.integers(1, max_steps))
    for name in choose_distinct(chooser, _NAMES, step_count, step_count):
        writer.write(name)
    if chooser.one_in(4):
        chooser.choose(writer.steps)["sources"] = draw(declarations.SOURCES)
    names = [v.text for v in writer.values if not v.needs_guard]
    if not names:
        writer.steps.append({"name": "FIRST", "op": "const", "value": 1})
    seed["compute"] = writer.steps
    seed["output"] = choose_distinct(chooser, names or ["FIRST"], 1, 4)
    if chooser.one_in(3):
        declarations.add_words(chooser, seed, [variable.text for variable in writer.values if variable.is_numeric])
    _assume_valid(seed)
    return seed


def _assume_valid(seed: JsonObject) -> None:
    """Make Hypothesis drop a seed with an operation that can only fail. Raises `AssertionError` for any other error.

    Any other error is a bug of this package, and the assertion has the seed and its errors.
    """
    errors = [d for d in analyse(seed).diagnostics if d.severity == "error"]
    bugs = [(d.code, d.pointer, d.message) for d in errors if d.code != "FS306"]
    assert not bugs, (seed, bugs)
    assume(not errors)


# --- conditions


class ConditionWriter(Chooser):
    """A writer of random condition objects for `define_filter` and `where`, which compare with literals or parameters."""

    def __init__(self, draw: st.DrawFn, parameters: Sequence[Variable]) -> None:
        super().__init__(draw)
        self.parameters = parameters

    def where(self, variables: Sequence[Variable], filters: Sequence[str], least: int = 0) -> JsonObject:
        """Draw a condition object with `least` to 3 tests of the variables and filters; empty if there are neither.

        Its keys are names with a prefix. Fewer tests result if the same subject is drawn twice.
        """
        subjects: list[Variable | str] = [*variables, *filters]
        tests: JsonObject = {}
        if not subjects:
            return tests
        positions = [
            self.draw(integers_below(len(subjects))) for _ in range(least + self.draw(integers_below(4 - least)))
        ]
        for subject in [subjects[position] for position in dict.fromkeys(positions)]:
            if isinstance(subject, str):
                tests[f"${subject}"] = self.one_in(2)
            else:
                tests[subject.text] = self._draw_test(subject)
        return tests

    def _draw_test(self, variable: Variable) -> Any:
        """Draw the value of a variable's key in a condition object: a literal, the name of a parameter, or tests.

        Only a nullable variable is compared with None.
        """
        if variable.nullable and self.one_in(3):
            return self.choose([None, {"!=": None}])
        forms: list[tuple[str, ...]] = [("equal",), ("!=",), ("in",), ("in",)]
        if variable.is_numeric:
            forms += [self.choose(_ORDER_OPERATORS)] * 2
        operators = self.choose(forms)
        if operators == ("equal",):
            return self._draw_operand(variable)
        if operators == ("in",):
            items = [self._draw_operand(variable) for _ in range(1 + self.draw(integers_below(3)))]
            return {"in": [*items, None] if variable.nullable and self.one_in(4) else items}
        tests = {operator: self._draw_operand(variable) for operator in operators}
        if variable.nullable and self.one_in(2):
            tests["!="] = None
        return tests

    def _draw_operand(self, variable: Variable) -> Any:
        """Draw a literal of the variable's type, one of its values if they are known, or the name of a parameter.

        The parameter can be compared with the variable.
        """
        comparable = [p for p in self.parameters if p.kind == variable.kind or (p.is_numeric and variable.is_numeric)]
        if comparable and self.one_in(6):
            return self.choose(comparable).text
        if variable.values:
            return self.choose(variable.values)
        return self.draw(_LITERALS["number" if variable.is_numeric else variable.kind])


# --- steps


class StepWriter(Chooser):
    """A writer of the steps of one random seed.

    `reviews` are the variables that have a value for each review, `inputs` those of the restaurant. Each call of `write` adds to
    `steps`, and to `filters`, `values` (steps as variables) or `counts` (steps with their conditions).
    """

    def __init__(
        self,
        draw: st.DrawFn,
        formulas: type[FormulaWriter],
        reviews: Sequence[Variable],
        inputs: Sequence[Variable],
        parameters: Sequence[Variable],
    ) -> None:
        super().__init__(draw)
        self.formulas = formulas
        self.reviews = reviews
        self.inputs = inputs
        self.conditions = ConditionWriter(draw, parameters)
        self.filters: list[str] = []
        self.values: list[Variable] = []
        self.counts: list[tuple[str, JsonObject]] = []
        self.steps: list[JsonObject] = []

    def write(self, name: str) -> None:
        """Append a step with this name and a random operation to `steps`.

        Adds its variable to `values`, unless it is a filter.
        """
        operations: list[Callable[[str], Variable | None]] = [
            self._add_expr, self._add_count, self._add_expr, self._add_sum, self._add_expr, self._add_extreme,
            self._add_lookup, self._add_case, self._add_const, self._add_filter, self._add_count, self._add_expr,
            self._add_sum, self._add_flag, self._add_distinct,
        ]  # fmt: skip
        if variable := self.choose(operations)(name):
            self.values.append(variable)

    # each of the methods below appends a step of its operation, and returns the variable of the step unless it is a filter

    def _add(self, name: str, op: str, **parts: Any) -> None:
        """Append a step to `steps`."""
        self.steps.append({"name": name, "op": op, **parts})

    def _draw_where(self, least: int = 0) -> JsonObject:
        """Draw a condition object with at least `least` tests, over fields of reviews and filters, sometimes inputs."""
        subjects = [*self.reviews]
        if self.one_in(4):
            subjects += self.inputs
        return self.conditions.where(subjects, self.filters, least)

    def _create_review_writer(self, values: Sequence[Variable]) -> FormulaWriter:
        """Return a writer of formulas that have a value for each review."""
        return self.formulas(self.draw, [*self.reviews, *self.reviews, *self.inputs, *values], self.filters)

    def _add_filter(self, name: str) -> None:
        """Append a filter, by a formula or by conditions, and add its name to `filters`."""
        if self.one_in(3):
            self._add(name, "define_filter", expr=self._create_review_writer(()).condition_or_null(DEPTH - 1).text)
        else:
            parts: dict[str, JsonObject] = {}
            for key, test in self._draw_where(1).items():
                space, _, name_in_space = key.partition(".")
                if name_in_space and space != "param" and self.one_in(2):
                    parts.setdefault(space, {})[name_in_space] = test
                else:
                    parts.setdefault("where", {})[key] = test
            self._add(name, "define_filter", **parts)
        self.filters.append(name)

    def _add_count(self, name: str) -> Variable:
        """Append a count, with or without conditions, and add it to `counts`. Returns its variable."""
        where = self._draw_where()
        self._add(name, "count")
        if where or self.one_in(2):
            self.steps[-1]["where"] = where
        self.counts.append((name, where))
        return Variable(name, "integer")

    def _add_sum(self, name: str) -> Variable:
        """Append a sum of a formula over some reviews, and return its variable."""
        writer = self._create_review_writer(self.values)
        write = writer.number_or_null if writer.nullables and self.one_in(6) else writer.number
        self._add(name, "sum", expr=write(DEPTH - 1).text, where=self._draw_where())
        return Variable(name, "number")

    def _add_extreme(self, name: str) -> Variable:
        """Append a maximum, minimum or mean of a field or a formula, and return its variable.

        The reviews are often among those that an earlier step counts. Without a default, the variable may be null and
        needs a guard.
        """
        where = self._draw_where()
        counted_by = ""
        if self.counts and self.one_in(2):
            counted_by, count_where = self.choose(self.counts)
            where = {key: test for key, test in count_where.items() if not self.one_in(3)}
        numeric = [v for v in self.reviews if v.is_numeric]
        parts: JsonObject = {"where": where}
        if numeric and self.one_in(2):
            parts["field"] = self.choose(numeric).text
        else:
            parts["expr"] = self._create_review_writer(self.values).number(DEPTH - 1).text
        has_default = bool(counted_by) == self.one_in(3)
        if has_default:
            parts["default"] = self.draw(_LITERALS["number"])
        self._add(name, self.choose(["max", "min", "mean"]), **parts)
        return Variable(name, "number", nullable=not has_default, needs_guard=not has_default, counted_by=counted_by)

    def _add_flag(self, name: str) -> Variable:
        """Append an `any` or `all` of a condition over some reviews, and return its variable."""
        condition = self._create_review_writer(()).condition_or_null(DEPTH - 1)
        self._add(name, self.choose(["any", "all"]), expr=condition.text, where=self._draw_where())
        return Variable(name, "boolean")

    def _add_distinct(self, name: str) -> Variable:
        """Append a count of a field's distinct values over some reviews, and return its variable."""
        self._add(name, "count_distinct", field=self.choose(self.reviews).text, where=self._draw_where())
        return Variable(name, "integer")

    def _create_writer(self) -> FormulaWriter:
        """Return a writer of formulas over the steps so far and the restaurant's inputs."""
        return self.formulas(self.draw, [*self.values, *self.values, *self.inputs])

    def _add_expr(self, name: str) -> Variable:
        """Append a formula that is a number, a boolean or a string, and return its variable.

        Only a number may be null.
        """
        writer = self._create_writer()
        kind, write, depth = self.choose(
            [
                ("number", writer.number_or_null, DEPTH - 1),
                ("number", writer.number, DEPTH),
                ("number", writer.number, DEPTH),
                ("boolean", writer.condition, DEPTH),
                ("string", writer.string, DEPTH - 1),
            ]
        )
        piece = write(depth)
        self._add(name, "expr", expr=piece.text)
        return Variable(name, kind, piece.values, nullable=write == writer.number_or_null)

    def _draw_literals(self, least: int, most: int) -> tuple[str, list[JsonValue]]:
        """Return a kind, and between `least` and `most` literals of that kind."""
        kind = self.choose(_KINDS)
        return kind, [self.draw(_LITERALS[kind]) for _ in range(least + self.draw(integers_below(most - least + 1)))]

    def _add_const(self, name: str) -> Variable:
        """Append a constant, and return its variable."""
        kind, values = self._draw_literals(1, 1)
        self._add(name, "const", value=values[0])
        return _build_variable(name, kind, values)

    def _add_lookup(self, name: str) -> Variable:
        """Append a lookup of a string in a table, or a constant if there is no string to look up. Returns the variable.

        The lookup may have no default, and then fails for other strings.
        """
        strings = [v for v in (*self.inputs, *self.values) if v.kind == "string"]
        sources = [v for v in strings if v.values is None or any(v.values)]
        if not sources:
            return self._add_const(name)
        source = self.choose(sources)
        kind, values = self._draw_literals(2, 5)
        modes = ["exact", "substring_first"]
        if kind == "number":
            modes += ["substring_max", "substring_max"]
        mode = self.choose(modes)
        table = {self._draw_key(source, mode): value for value in values}
        default: JsonObject = {}
        if not self.one_in(4):
            default["default"] = None if self.one_in(6) else values[-1]
        self._add(name, "lookup", source=source.text, table=table, match=mode, **default)
        return _build_variable(name, kind, [*table.values(), *default.values()])

    def _draw_key(self, source: Variable, match: str) -> str:
        """Draw a key of a table that matches a value of `source`, or any key if its values are not known.

        `match` is the mode of the lookup: for `exact` the key is a value, otherwise the end of one.
        """
        if source.values is None:
            return self.draw(_KEYS)
        key = self.choose([value for value in source.values if value])
        return key if match == "exact" else key[self.draw(integers_below(len(key))) :]

    def _add_case(self, name: str) -> Variable:
        """Append a `case` whose results are literals of one kind, and return its variable.

        Its rules test any conditions, or a source; its last rule is an `else`, and one result may be null.
        """
        kind, values = self._draw_literals(1, 4)
        writer = self._create_writer()
        sources = [v for v in writer.variables if not v.needs_guard]
        if len(values) > 1 and self.one_in(6):
            values[self.choose([-1, -2])] = None
        parts: JsonObject = {}
        whens = [writer.condition_or_null(DEPTH - 1).text for _ in values[1:]]
        if sources and self.one_in(2):
            source = self.choose(sources)
            parts["source"] = source.text
            whens = [self._draw_when(writer, source) for _ in whens]
        rules = [{"when": when, "then": value} for when, value in zip(whens, values, strict=False)]
        self._add(name, "case", **parts, rules=[*rules, {"else": values[-1]}])
        return _build_variable(name, kind, values)

    def _draw_when(self, writer: FormulaWriter, source: Variable) -> str:
        """Draw the test of a rule without its left operand, which is the `source` of the `case`."""
        forms = _WHENS[source.kind]
        if source.nullable and self.one_in(3):
            forms = ("== None", "!= None")
        value = string_literal(self.choose(source.values) if source.values else self.draw(SHORT_STRINGS))
        text = writer.fill((self.choose(forms), "<"), 1, x=value).text
        if self.one_in(4):
            text += f" {self.choose(['and', 'or'])} ({writer.condition(1).text})"
        return text


def _build_variable(name: str, kind: str, values: Sequence[JsonValue]) -> Variable:
    """Return the variable of the step `name`, whose values are these literals; nullable if None is among them."""
    strings = tuple(value for value in values if isinstance(value, str))
    return Variable(name, kind, tuple(dict.fromkeys(strings)) if kind == "string" else None, nullable=None in values)
