"""Random formulas, computed three ways: value, class of the value, kind and step of an error are the same.

The numbers at the end of each test make about 2,000 formulas in the normal run and 100,000 in the deep one, each for
several inputs. Where one disagrees, Hypothesis makes it and the other formulas of its seed small, and the message names it.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Any

import pytest
from formulaseed.documents import analyse, compile_seed
from formulaseed.ir.text import step_text
from formulaseed.testing.formulas import Piece, Variable
from formulaseed.testing.random_seeds import ConditionWriter
from formulaseed.testing.scalars import SHORT_STRINGS, STRINGS, integers, numbers
from guarded_formulas import GuardedWriter
from helpers import IS_DEEP, without_errors
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from third_evaluator import Fault, Restaurant, tree
from three_ways import Json, Ways, exact, remove_steps

DEPTH = 6
"""How deeply operators stand inside one another, at most."""


_EXAMPLES = 5000 if IS_DEEP else settings.default.max_examples  # type: ignore[union-attr]
"""How many stand for a share of 1: in the deep run more than other tests take."""


def examples(share: float) -> Callable[[Any], Any]:
    """So many examples, relative to that number."""
    return settings(max_examples=max(1, round(_EXAMPLES * share)))


def wanted(number: int) -> float:
    """So many formulas at least, which are meant for the normal profile, in the one that runs."""
    return number * _EXAMPLES / 100


class Writer(GuardedWriter):
    """Writes deep formulas that stay readable: some branches end early."""

    def form(self, forms: Any, depth: int) -> Piece:
        return super().form(forms, depth - self.choose((0, 0, 1, 2, 2)))


def drawn(draw: st.DrawFn, writer: Writer, kind: str) -> str:
    """A formula of a kind."""
    depth = draw(st.integers(1, DEPTH))
    forms = {
        "number": writer.number, "condition": writer.condition, "text": writer.string, "nullable": writer.number_or_null,
    }  # fmt: skip
    return forms[kind](depth).text


def sound(seed: Json, failing: set[str] | None = None) -> Ways:
    """Return the seed without the steps that can only fail; any other error is a mistake of the writer.

    Adds the names of these steps to `failing`, but for those that are refused although they have a value.
    """
    analysis = analyse(seed)
    while analysis.has_errors:
        errors = [d for d in analysis.diagnostics if d.severity == "error"]
        assert {d.code for d in errors} == {"FS306"}, [(d.code, d.message, d.pointer) for d in errors]
        names = {seed["compute"][int(d.pointer.split("/")[2])]["name"]: d for d in errors}
        if failing is not None:
            failing |= {name for name, d in names.items() if "the lower bound is above" not in d.message}
        seed = remove_steps(seed, [*names])
        analysis = analyse(seed)
    return Ways(seed, without_errors(analysis))


# --- formulas over the restaurant

PARAMETERS: dict[str, Json] = {
    "X": {"type": "integer", "default": 1}, "Y": {"type": "number", "default": 0.5},
    "K": {"type": "integer", "default": 3, "minimum": 1, "maximum": 10},
    "R": {"type": "number", "default": 0.5, "minimum": -1, "maximum": 1},
    "B": {"type": "boolean", "default": True}, "S": {"type": "string", "default": "a"},
}  # fmt: skip
CONTEXT_TYPES = {"number": "number", "integer": "integer", "flag": "boolean", "text": "string"}
CONTEXT = [{"name": name, "type": type_name, "nullable": True} for name, type_name in CONTEXT_TYPES.items()]
FIELDS: list[Json] = [
    {"name": "severity", "type": "enum", "values": ["none", "mild", "severe"]}, {"name": "amount", "type": "number"},
    {"name": "age", "type": "integer", "default": 0}, {"name": "flag", "type": "boolean"},
]  # fmt: skip
META_TYPES = {"price": "number", "visits": "integer", "note": "string"}
META: list[Json] = [{"name": name, "type": type_name, "nullable": True} for name, type_name in META_TYPES.items()]
BASE = [
    {"name": "F", "op": "define_filter", "where": {"extraction.flag": True, "meta.price": {"!=": None}}},
    {"name": "G", "op": "define_filter", "expr": "$F or extraction.severity == 'mild' and meta.visits != null"},
    {"name": "N", "op": "count"},
    {"name": "BEST", "op": "max", "field": "meta.stars"},
    {"name": "KIND", "op": "case", "rules": [{"when": "param.B", "then": "mild"}, {"else": "severe"}]},
    {"name": "LEVEL", "op": "case", "source": "param.X", "rules": [{"when": "> 2", "then": 0.5}, {"else": None}]},
]
"""Steps that cannot fail, for formulas to use."""

VARIABLES = [
    *[Variable(f"param.{name}", parameter["type"]) for name, parameter in PARAMETERS.items()],
    *[Variable(f"context.{field['name']}", str(field["type"]), nullable=True) for field in CONTEXT],
    Variable("context.review_count", "integer"),
    Variable("context.name", "string"),
    Variable("N", "integer"),
    Variable("BEST", "number", nullable=True, needs_guard=True, counted_by="N"),
    Variable("KIND", "string", ("mild", "severe")),
    Variable("LEVEL", "number", nullable=True),
]
REVIEWED = [
    Variable("extraction.severity", "string", ("none", "mild", "severe")),
    *[Variable(f"extraction.{field['name']}", field["type"]) for field in FIELDS[1:]],
    *[Variable(f"meta.{name}", type_name, nullable=True) for name, type_name in META_TYPES.items()],
    Variable("meta.stars", "number"),
    Variable("meta.useful", "integer"),
]
REVIEW = st.fixed_dictionaries({
    "extraction": st.fixed_dictionaries(
        {"severity": st.sampled_from(["none", "mild", "severe"]), "amount": numbers(), "flag": st.booleans()},
        optional={"age": st.none() | integers()},
    ),
    "meta": st.fixed_dictionaries(
        {"stars": numbers(), "useful": integers()},
        optional={"price": numbers(), "visits": st.none() | integers(), "note": STRINGS},
    ),
})  # fmt: skip
ARGUMENTS = st.tuples(
    st.lists(REVIEW, max_size=4),
    st.fixed_dictionaries(
        {
            "number": st.none() | numbers(), "integer": st.none() | integers(), "flag": st.none() | st.booleans(),
            "text": st.none() | STRINGS, "review_count": integers(least=0), "name": STRINGS,
        }
    ),
    st.fixed_dictionaries(
        {
            "X": integers(), "Y": numbers(), "K": st.integers(1, 10), "R": st.floats(-1, 1), "B": st.booleans(), "S": STRINGS,
        }
    ),
)  # fmt: skip


CONSTANTS = {"ZERO": 0, "TEN": 10, "NEGATIVE": -3, "HUGE": 1e200, "MODE": "strict", "DEBUG": False}
KNOWN = [
    *({"name": name, "op": "const", "value": value} for name, value in CONSTANTS.items()),
    {"name": "ALONE", "op": "case", "source": "param.X", "rules": [{"when": "> 5", "then": 0}, {"else": 0}]},
    {"name": "PRICE", "op": "lookup", "source": "context.name", "match": "exact", "table": {"Thai": 2.5}, "default": 0},
]
"""Steps whose values the checker knows."""
KNOWN_VARIABLES = [
    *[Variable(name, "integer") for name in ("ZERO", "TEN", "NEGATIVE", "ALONE")],
    *[Variable(name, "number") for name in ("HUGE", "PRICE")],
    *[Variable("MODE", "string", ("strict",)), Variable("DEBUG", "boolean")],
]


AGGREGATES: list[Json] = [{"op": "sum"}, {"op": "sum"}, {"op": "max", "default": 0}, {"op": "min"}]


class FailingWriter(Writer):
    """Writes formulas with operations that can only fail."""

    numbers = (
        *Writer.numbers,
        [("{n:*} / 0", "*"), ("log(0 - {E:*} * {E:*})", "()"), ("HUGE * HUGE", "*"), ("10 ** 200 * TEN ** 200", "*")],
    )

    def plain(self, depth: int) -> Piece:
        return Piece("None") if self.one_in(12) else super().plain(depth)


@st.composite
def formulas(draw: st.DrawFn, kind: str) -> Json:
    if kind == "failing":
        failing = FailingWriter(draw, [*KNOWN_VARIABLES, *KNOWN_VARIABLES, *VARIABLES])
        is_number = draw(st.booleans())
        text = drawn(draw, failing, "number" if is_number else "condition")
        return {"op": "expr", "expr": f"0 + ({text})" if is_number else f"1 if ({text}) else 2"}
    if kind == "review":
        parameters = [variable for variable in VARIABLES if variable.text.startswith("param.")]
        where = ConditionWriter(draw, parameters).where(REVIEWED, ["F", "G"])
        reviewed = Writer(draw, [*REVIEWED, *REVIEWED, *VARIABLES[:-4], VARIABLES[-2]], ["F", "G"])
        formula = drawn(draw, reviewed, draw(st.sampled_from(["number", "number", "number", "nullable"])))
        return {**draw(st.sampled_from(AGGREGATES)), "expr": formula, "where": where}
    writer = Writer(draw, VARIABLES)
    if kind == "case":
        rules = [{"when": drawn(draw, writer, "condition"), "then": draw(SHORT_STRINGS)} for _ in range(2)]
        return {"op": "case", "rules": [*rules, {"else": ""}]}
    return {"op": "expr", "expr": drawn(draw, writer, kind)}


def seed_of(steps: Sequence[Json]) -> Json:
    named = [{"name": f"F{place}", **step} for place, step in enumerate(steps)]
    return {
        "task_name": "T", "parameters": PARAMETERS, "context": CONTEXT, "extract": {"fields": FIELDS, "meta": META},
        "compute": [*BASE, *KNOWN, *named], "output": ["N"],
    }  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "share", "least"),
    [
        ("number", 1.6, 680), ("condition", 1.2, 560), ("nullable", 0.6, 250), ("text", 0.5, 220), ("case", 0.35, 130),
        ("failing", 1.2, 250),
    ],
)  # fmt: skip
def test_random_formulas(kind: str, share: float, least: int) -> None:
    """Each formula is a step that is computed for several inputs; one that is refused has a value for no input."""
    tried: Counter[str] = Counter()

    @examples(share)
    @given(st.tuples(*[formulas(kind)] * 5), st.lists(ARGUMENTS, min_size=1, max_size=8))
    def agree(steps: Sequence[Json], inputs: list[Any]) -> None:
        seed = seed_of(steps)
        failing: set[str] = set()
        ways = sound(seed, failing)
        for arguments in inputs:
            tried.update(outcome[0] for outcome in ways.assert_agree(arguments).values())
            if failing:
                values = Restaurant(seed, *arguments, frozenset()).values(apart=True)
                texts = {step["name"]: step for step in seed["compute"]}
                for name in failing:
                    assert isinstance(values[name], Fault), ("is refused", texts[name], arguments, values[name])
        if kind in ("number", "condition", "nullable", "text"):
            assert_printed(ways, inputs[:2])
        tried["refused"] += len(failing)
        tried["formulas"] += len(ways.seed["compute"]) - len(BASE + KNOWN)

    agree()
    print(tried)
    assert tried["formulas"] >= wanted(least)
    assert tried["refused"] or kind != "failing"


@pytest.mark.thorough
def test_random_formulas_for_each_review() -> None:
    """Each formula is summed up, or its extreme taken, over the reviews that match conditions and filters.

    A step that fails is left out of the next round, so that it hides none of the following ones.
    """
    tried: Counter[str] = Counter()

    @examples(1.1)
    @given(st.lists(formulas("review"), min_size=1, max_size=3), st.lists(ARGUMENTS, min_size=1, max_size=6))
    def agree(steps: Sequence[Json], inputs: list[Any]) -> None:
        ways = sound(seed_of(steps))
        tried["formulas"] += len(ways.seed["compute"]) - len(BASE + KNOWN)
        failing = {""}
        while failing:
            outcomes = [outcome for arguments in inputs for outcome in ways.assert_agree_in_order(arguments)]
            failing = {outcome[1] for outcome in outcomes if outcome[0] == "error"}
            ways = sound(remove_steps(ways.seed, sorted(failing)))

    agree()
    assert tried["formulas"] >= wanted(130)


def assert_printed(ways: Ways, inputs: list[Any]) -> None:
    """A checked tree printed and read again is equal; to Python, too, the text has the structure of the formula.

    Unless the checker put something else in place of a part: then the value is the same.
    """
    first = len(BASE + KNOWN)
    written, checked = ways.seed["compute"][first:], ways.loaded.program.steps[first:]
    printed = [{**step, "expr": step_text(program_step)} for step, program_step in zip(written, checked, strict=True)]
    again = Ways.load({**ways.seed, "compute": [*BASE, *KNOWN, *printed]})
    for before, after in zip(checked, again.loaded.program.steps[first:], strict=True):
        assert exact(before.operation) == exact(after.operation), step_text(before)
    pairs = zip(written, printed, strict=True)
    changed = [pair for pair in pairs if ast.dump(tree(pair[0]["expr"])) != ast.dump(tree(pair[1]["expr"]))]
    for arguments in inputs if changed else []:
        values, values_again = ways.third(arguments), again.third(arguments)
        for before, after in changed:
            assert values[before["name"]] == values_again[before["name"]], (before["expr"], after["expr"], arguments)


_FAULTS = ["log(param.Y)", "1 / param.X", "sqrt(context.number)", "param.K"]
_FORMS = [
    *(f"({{}}) {operator} ({{}})" for operator in ("+", "-", "*", "/", "//", "%", "**", "<", "==", "and", "or")),
    "pow({}, {})", "max({}, {}, {})", "min({}, {}, {})", "sum([{}, {}, {}])", "clamp({}, {}, {})", "({}) < ({}) <= ({})",
    "({}) in [{}, {}]", "({}) if ({}) > 0 else ({})", "clamp({}, 0, {})", "clamp({}, {}, 9)", "round(({}) + ({}), 2)",
]  # fmt: skip


@pytest.mark.thorough
def test_the_first_fault_is_reported() -> None:
    """Of operands that fail in different ways the one that Python comes to first, whichever they are."""
    formulas = [form.format(*faults) for form in _FORMS for faults in permutations(_FAULTS, form.count("{}"))]
    steps = [
        {"op": "case", "rules": [{"when": formula, "then": 1}, {"else": 2}]} if ") <" in formula or ") in" in formula
        else {"op": "expr", "expr": formula}
        for formula in formulas
    ]  # fmt: skip
    arguments = ([], {"review_count": 1, "name": ""}, {"X": 0, "Y": -1, "K": 3})
    found = sound(seed_of(steps)).assert_agree(arguments)
    kinds = Counter(outcome[2] for outcome in found.values() if outcome[0] == "error")
    assert min(kinds[kind] for kind in ("domain", "division_by_zero", "null")) > len(formulas) / 5


_TERMS = [
    ["param.X", "param.K", "context.review_count", "2", "1"],
    ["param.Y", "param.R", "param.X", "0.5", "1"],
    ["param.Y", "context.number", "context.integer", "sqrt(param.Y)", "1"],
]
_OPERATORS = ["+", "-", "*", "/", "//", "%", "**"]
_ONES = ([], {"review_count": 1, "name": "", "number": 1, "integer": 1}, dict.fromkeys("XYKR", 1))


def brackets(source: str) -> int:
    """How many brackets of a module stand inside one another."""
    depth = deepest = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        depth += (token.string in "([{") - (token.string in ")]}") if token.type == tokenize.OP else 0
        deepest = max(deepest, depth)
    return deepest


@st.composite
def long_formulas(draw: st.DrawFn, operators: Sequence[str]) -> str:
    """Two hundred terms in a row, or fifty brackets, each on the right of an operator."""
    parts = st.tuples(st.sampled_from(draw(st.sampled_from(_TERMS))), st.sampled_from(operators))
    if draw(st.booleans()):
        return (
            "".join(f"{term} {operator} " for term, operator in draw(st.lists(parts, min_size=200, max_size=220))) + "1"
        )
    drawn = draw(st.lists(parts, min_size=50, max_size=55))
    return "".join(f"{term} {operator} (" for term, operator in drawn) + "param.Y" + ")" * len(drawn)


@pytest.mark.thorough
@pytest.mark.parametrize("operators", [*([operator] for operator in _OPERATORS), _OPERATORS], ids=" ".join)
def test_long_formulas(operators: list[str]) -> None:
    """They compile, and no code of theirs nests deeper than a reader follows: Python reads two hundred brackets."""
    tried: Counter[str] = Counter()

    @settings(max_examples=8)
    @given(long_formulas(operators), st.lists(ARGUMENTS, max_size=8))
    def agree(formula: str, inputs: list[Any]) -> None:
        seed = seed_of([{"op": "expr", "expr": formula}])
        errors = {d.code for d in analyse(seed).diagnostics if d.severity == "error"}
        if errors:
            assert errors == {"FS306"}, formula
            reject()
        assert brackets(compile_seed(seed, formatted=False)) <= 15
        ways = Ways.load(seed)
        for arguments in [_ONES, *inputs]:
            tried[ways.assert_agree(arguments)["F0"][0]] += 1

    agree()
    assert tried["value"], tried


_NESTING_FORMS = [
    "{}", "-{}", "param.Y * {}", "{} * param.R", "{} / param.X", "{} / 3", "param.K ** {}", "context.integer + {}",
    "float({})", "abs({})", "floor({})", "sqrt({})", "sqrt(abs({}))", "round({} / 3, 2)", "max(param.X, {})", "clamp({}, 1, 2)",
    "coalesce(context.integer, {})", "float(max(param.K, {}))", "{} if param.B else 1", "1 if param.B else {}",
    "1 if {} > 2 else 0.5", "({} if {} > 2 else context.integer) + 1", "param.Y + (context.integer if {} > 2 else param.X)",
    "int({} > 2)", "int(({} > 2) == True)", "int(param.X < {} < 5)", "int(param.X in [1, {}])", "int({} > 2 and param.B)",
    "int(param.B or not {} > 2)", "int(not (param.B or {} > 2))", "int(coalesce(context.flag, {} > 2))",
    "int(coalesce(context.flag if {} > 2 else None, true))",
]  # fmt: skip


@pytest.mark.parametrize("form", _NESTING_FORMS)
@pytest.mark.thorough
def test_an_operand_of_more_than_ten_brackets_is_a_part(form: str) -> None:
    """The last formula without a part has exactly ten in the operand of `max`, and the first with one has the part's brackets.

    The values stay the same, and an operand that fails is evaluated before a part of a later one.
    """
    nested = [f"({'param.K - (' * depth}param.K{')' * depth})" for depth in range(7, 14)]
    steps = [{"op": "expr", "expr": f"max({form.replace('{}', operand)}, 1)"} for operand in nested]
    failing = {"op": "expr", "expr": f"1 / (param.K - 1) + max({form.replace('{}', nested[-1])}, 1) * log(param.K - 1)"}
    ways = sound(seed_of([*steps, failing]))
    lines = re.findall(r"^    f\d\b.*? = (.*)", ways.source, re.MULTILINE)[: len(nested)]
    first = next(place for place, line in enumerate(lines) if ":=" in line)
    assert [brackets(line) for line in lines[first - 1 : first + 1]] == [11, 12]
    outcomes = ways.assert_agree(_ONES)
    assert outcomes[f"F{len(nested)}"][2] == "division_by_zero"
    assert {outcome[0] for outcome in ways.assert_agree(([], _ONES[1], {**_ONES[2], "K": 3})).values()} == {"value"}
