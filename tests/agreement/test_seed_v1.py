"""The older shape of seeds: computed as Python computes it, refused by name where it cannot be placed."""

from __future__ import annotations

import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from formulaseed import EvaluationError, load_evaluator, load_seed
from formulaseed.diagnostics.render import render_text
from formulaseed.documents import SeedAnalysis, analyse, compile_seed
from formulaseed.ir.hoisting import hoist_aggregates
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.loading import module_from_source
from formulaseed.seed.write.migrate import migrate
from formulaseed.testing import reference_evaluate
from helpers import command, places, without_errors, write_json
from hypothesis import assume, given
from hypothesis import strategies as st
from seed_v1_cases import FIELDS, python_scope, v1_inputs, v1_seeds

pytestmark = pytest.mark.thorough

Json = Any
_FUNCTIONS = {
    "log": math.log, "sqrt": math.sqrt, "floor": math.floor, "ceil": math.ceil,
    "clamp": lambda value, low, high: max(low, min(high, value)),
}  # fmt: skip


def as_python(seed: Json, rows: list[Json], context: Json) -> tuple[Any, ...]:
    """Every step's value by `eval`, or the first step that has none."""
    scope = {**_FUNCTIONS, **python_scope(rows, context)}
    values = {}
    for step in seed["compute_dag"]:
        try:
            values[step["name"]] = eval(step["formula"], scope)
        except (ArithmeticError, ValueError):
            return ("error", step["name"])
        scope[step["name"]] = values[step["name"]]
    return ("values", values)


def outcome(evaluate: Any, *arguments: Any) -> tuple[Any, ...]:
    try:
        return ("values", evaluate(*arguments))
    except EvaluationError as error:
        return ("error", error.step)


def assert_same(found: tuple[Any, ...], expected: tuple[Any, ...]) -> None:
    assert found == expected
    if found[0] == "values":
        assert list(found[1]) == list(expected[1])
        for name, value in found[1].items():
            kinds = {type(value), type(expected[1][name])}
            assert len(kinds) == 1 or kinds == {int, float}, (name, value, expected[1][name])


@given(v1_seeds(), st.data())
def test_formulas_are_what_python_makes_of_them(seed: Json, data: st.DataObject) -> None:
    """Each step has the value that `eval` gives its formula; where that fails, so does the step, in both evaluators."""
    found = analyse(seed)
    errors = [d for d in found.diagnostics if d.severity == "error"]
    assert all(d.code == "FS306" for d in errors), (seed, [(d.code, d.pointer, d.message, d.help) for d in errors])
    assume(not errors)
    loaded = without_errors(found)
    module = Evaluator(module_from_source(compile_seed(loaded, formatted=False), "older"))
    for _ in range(4):
        rows, context = data.draw(v1_inputs)
        expected = as_python(seed, rows, context)
        assert_same(outcome(reference_evaluate, loaded, rows, context), expected)
        assert_same(outcome(module.trace, rows, context), expected)


GUARDED = (
    "sum(1 / e['n'] for e in extractions) if param.P > 3 else 1",
    "1 if param.P < 3 else sum(1 / e['n'] for e in extractions)",
    "param.P > 3 and sum(1 / e['n'] for e in extractions) > 1",
    "param.P < 3 or sum(1 / e['n'] for e in extractions) > 1",
    "3 < param.P < sum(1 / e['n'] for e in extractions)",
    "(param.P - 2) and sum(1 / e['n'] for e in extractions)",
    "sum(1 / e['n'] for e in extractions if e['flag']) if any(e['flag'] for e in extractions) else 2",
    "sum(1 for e in extractions if 1 / e['n'] > 0 if e['flag']) if sum(1 for e in extractions if e['flag']) > 0 else 0",
    "(max(10 / e['n'] for e in extractions) if extractions else 0) if param.P > 3 else 1",
    "max((1 / e['n'] for e in extractions if e['n'] < 9), default=param.P) if param.P > 3 else 1",
    "(sum(1 / e['n'] for e in extractions) if param.P > 3 else 1) if extractions else 0",
)


@pytest.mark.parametrize("formula", GUARDED)
def test_a_loop_fails_only_where_it_is_asked_for(formula: str) -> None:
    """A loop is computed before its formula, and yet divides by zero only where Python would come to it."""
    rows = [{"extraction": {"n": 0, "flag": False}, "meta": {}}]
    expected = as_python(one_step(formula, 2), rows, {})
    assert expected[0] == "values"
    assert_same(outcome(reference_evaluate, one_step(formula, 2), rows, {}), expected)
    assert_same(outcome(load_evaluator(one_step(formula, 2)).trace, rows, {}), expected)
    assert outcome(reference_evaluate, one_step(formula, 2), [], {})[0] == "values"


@pytest.mark.parametrize("value", [None, 0, 2])
def test_a_condition_that_may_be_null_guards_a_loop(value: int | None) -> None:
    """A loop behind a value that is null or 0 is not asked for, and so does not fail."""
    seed = one_step("sum(1 / e['n'] for e in extractions) if context.p else 5")
    seed["context"] = [{"name": "p", "type": "integer", "nullable": True}]
    rows = [{"extraction": {"n": 0}}]
    expected = ("error", "s") if value else ("values", {"s": 5})
    for evaluate in (partial(reference_evaluate, seed), load_evaluator(seed).trace):
        assert outcome(evaluate, rows, {"p": value}) == expected


# --- as a seed of the newer shape


@given(v1_seeds(), st.data())
def test_a_migrated_seed_computes_the_same(seed: Json, data: st.DataObject) -> None:
    """Every step of the author has the same value or fails alike; what could not be moved is named."""
    found = analyse(seed)
    assume(not found.has_errors)
    older = without_errors(found)
    migration = migrate(seed, older.program)
    for item in migration.not_moved:
        assert "where" in item.reason
        assert item.span.pointer.startswith("/compute_dag/")
    assume(not migration.not_moved)
    newer = without_errors(analyse(migration.seed))
    for _ in range(4):
        rows, context = data.draw(v1_inputs)
        before = outcome(reference_evaluate, older, rows, context)
        after = outcome(reference_evaluate, newer, rows, context)
        if before[0] == "values":
            after = (after[0], {name: after[1][name] for name in before[1]} if after[0] == "values" else after[1])
            assert_same(after, before)
        else:  # the part of a step that fails is a step of its own now
            authors = hoist_aggregates(older.program).authors
            assert (after[0], authors.get(after[1], after[1])) == before


MIGRATED = {
    "sum(1 for e in extractions if e['kind'] == 'mild' and e['n'] >= 2 and e['n'] < 5)": [
        {"name": "s", "op": "count", "where": {"extraction.kind": "mild", "extraction.n": {">=": 2, "<": 5}}}
    ],
    "sum(e['x'] * 2 for e in extractions if e['kind'] in ['mild', 'none'] if not e['flag'])": [
        {"name": "s", "op": "sum", "expr": "extraction.x * 2",
         "where": {"extraction.kind": {"in": ["mild", "none"]}, "extraction.flag": False}},
    ],
    "sum(e['flag'] for e in extractions if 2020 <= e['year'] < param.P)": [
        {"name": "s", "op": "count",
         "where": {"meta.year": {">=": 2020, "<": "param.P"}, "extraction.flag": True}},
    ],
    "max([e['stars'] for e in extractions if e['n'] != 1 if e['n'] != 2] or [-1])": [
        {"name": "s_where", "op": "define_filter", "where": {"extraction.n": {"!=": 2}}},
        {"name": "s", "op": "max", "field": "meta.stars", "where": {"extraction.n": {"!=": 1}, "$s_where": True}, "default": -1},
    ],
    "min((e['x'] - 1 for e in extractions if e['flag'] or e['kind'] in ['none']), default=None) or 0": [
        {"name": "s_min_where", "op": "define_filter", "expr": "extraction.flag or extraction.kind in ['none']"},
        {"name": "s_min", "op": "min", "expr": "extraction.x - 1", "where": {"$s_min_where": True}, "default": None},
        {"name": "s", "op": "expr", "expr": "s_min or 0"},
    ],
    "sum(1 for e in extractions if e['flag'] and e['n'] > e['x'])": [
        {"name": "s_where", "op": "define_filter", "expr": "extraction.n > extraction.x"},
        {"name": "s", "op": "count", "where": {"extraction.flag": True, "$s_where": True}},
    ],
    "sum(1 for e in extractions if e['kind'] not in ['mild', 'none'] and not (e['flag'] and e['n'] == 2))": [
        {"name": "s_where", "op": "define_filter", "expr": "extraction.kind not in ['mild', 'none']"},
        {"name": "s_where_2", "op": "define_filter", "expr": "not (extraction.flag and extraction.n == 2)"},
        {"name": "s", "op": "count", "where": {"$s_where": True, "$s_where_2": True}},
    ],
    "'a b' if len(extractions) > 2 else 'c' if not extractions else 'd'": [
        {"name": "n_extractions", "op": "count"},
        {"name": "s", "op": "case", "rules": [
            {"when": "n_extractions > 2", "then": "a b"}, {"when": "not n_extractions > 0", "then": "c"}, {"else": "d"}]},
    ],
    "'s' if param.P > 2 else 't'": [{"name": "s", "op": "expr", "expr": "'s' if param.P > 2 else 't'"}],
    "5": [{"name": "s", "op": "const", "value": 5}],
}  # fmt: skip


def one_step(formula: str, default: int = 2024) -> Json:
    return {
        "task_name": "One",
        "parameters": {"P": {"type": "integer", "default": default}},
        "extraction_fields": FIELDS,
        "compute_dag": [{"name": "s", "formula": formula}],
        "output_fields": ["s"],
    }


@pytest.mark.parametrize("formula", MIGRATED)
def test_a_formula_becomes_the_operation_that_says_it(formula: str) -> None:
    """Comparisons with values become `where`, other conditions a filter's formula, a chain of verdicts a case."""
    seed = one_step(formula)
    migration = migrate(seed, load_seed(seed).program)
    assert migration.seed["compute"] == MIGRATED[formula]
    assert not migration.not_moved
    load_seed(migration.seed)


def test_what_cannot_be_moved_is_reported_and_nothing_is_written(tmp_path: Path) -> None:
    """An extreme over reviews compared with a step ends with status 1, its place and the condition; other seeds are written."""
    old = one_step("max((e['n'] for e in extractions if e['n'] > k), default=0)")
    old["compute_dag"].insert(0, {"name": "k", "formula": "len(extractions)"})
    seed = write_json(tmp_path / "old.json", old)
    refused = command("migrate", seed, "--out", tmp_path / "new.json")
    assert (refused.status, refused.out) == (1, "")
    assert f"{seed}:" in refused.err
    assert "not migrated: `max` over reviews where `extraction.n > k`" in refused.err
    assert not (tmp_path / "new.json").exists()

    good = {**one_step("len(extractions)"), "extraction_prompt": "Read {review_text}", "filter_keywords": ["soup"]}
    write_json(seed, good)
    printed, written = command("migrate", seed), command("migrate", seed, "--out", tmp_path / "new.json")
    assert (printed.status, written.status) == (0, 0)
    assert (tmp_path / "new.json").read_text() == printed.out
    assert "left out: `extraction_prompt`" in printed.err
    assert json.loads(printed.out)["filter"] == {"keywords": ["soup"]}
    assert command("fmt", "--check", tmp_path / "new.json").status == 0
    again = command("migrate", tmp_path / "new.json")
    assert (again.status, again.out) == (1, "")
    assert "is a v2 seed already" in again.err


# --- like any other seed


def test_parts_are_not_visible() -> None:
    """A loop inside a formula is in no list of steps, no trace and no evidence, and its errors name the author's step."""
    seed = one_step("sum(1 / e['n'] for e in extractions) / len(extractions)")
    evaluator = load_evaluator(seed)
    rows = [{"review_id": "r", "extraction": {"n": 2}}]
    assert evaluator.module.STEPS == ("s",)
    assert evaluator.trace(rows, {}) == {"s": 0.5} == reference_evaluate(seed, rows, {})
    assert evaluator.evidence(rows, {}) == {}
    for bad in ([], [{"extraction": {"n": 0}}]):
        for evaluate in (evaluator.trace, partial(reference_evaluate, seed)):
            with pytest.raises(EvaluationError) as caught:
                evaluate(bad, {})
            assert (caught.value.step, caught.value.kind) == ("s", "division_by_zero")
    rows = [{"review_id": f"r{n}", "extraction": {"n": n}} for n in range(3)]
    alone = load_evaluator(one_step("sum(1 for e in extractions if e['n'] > 0)"))
    assert alone.evidence(rows, {}) == {"s": ["r1", "r2"]}, "a step that is one loop has evidence"


def test_the_name_of_a_part_is_taken_by_nothing_in_the_seed() -> None:
    """Neither a step, a mention nor an output of that name is mistaken for the part."""
    seed = one_step("len(extractions) * 2 + n_extractions")
    messages = [d.message for d in analyse(seed).diagnostics if d.severity == "error"]
    assert messages == ["no step is called `n_extractions`"]
    seed["compute_dag"].insert(0, {"name": "n_extractions", "formula": "7"})
    assert load_evaluator(seed).evaluate([{}], {}) == {"s": 9}


def test_one_aggregate_is_computed_once() -> None:
    """Steps that say the same of the reviews share it, also with a step that says it alone."""
    seed = one_step("sum(e['n'] for e in extractions) / 2")
    seed["compute_dag"] += [
        {"name": "t", "formula": "sum(r['n'] for r in extractions) / 4 + len(extractions)"},
        {"name": "u", "formula": "len([x for x in extractions]) / 2"},
    ]
    hoisted = hoist_aggregates(load_seed(seed).program)
    assert [(step.name, hoisted.author(step)) for step in hoisted.steps] == [
        ("s_sum", "s"), ("s", "s"), ("n_extractions", "t"), ("t", "t"), ("u", "u"),
    ]  # fmt: skip


def test_the_prompt_is_carried_and_reaches_no_module() -> None:
    """The program has the extraction prompt as it was written; the module does not."""
    prompt = 'Look: {review_text}\nAnswer {"n": 1} or {{n}}'
    seed = {**one_step("len(extractions)"), "extraction_prompt": prompt}
    assert load_seed(seed).program.extraction_prompt == prompt
    assert "Look" not in compile_seed(seed)


def test_layout_and_hash(tmp_path: Path) -> None:
    """`fmt` puts keys into the older shape's order, sorts its steps, and does not change the hash."""
    seed = one_step("t + len(extractions)")
    seed["compute_dag"].append({"formula": "2", "name": "t"})
    path = write_json(tmp_path / "seed.json", dict(reversed(seed.items())))
    assert "FS202" in command("check", path).out
    assert command("fmt", "--sort", path).status == 0
    found = json.loads(path.read_text())
    assert list(found) == ["task_name", "parameters", "extraction_fields", "compute_dag", "output_fields"]
    assert [list(step) for step in found["compute_dag"]] == [["name", "formula"]] * 2
    assert [step["name"] for step in found["compute_dag"]] == ["t", "s"]
    assert load_seed(found).sha256 == load_seed(dict(reversed(found.items()))).sha256
    for phase in ("read", "parse", "check", "plan"):
        assert command("dump", path, "--after", phase).status == 0


# --- limits


def test_too_much_of_it_is_refused_at_once() -> None:
    """Steps, loops, terms and brackets are counted in the older shape too."""
    many = one_step("1")
    many["compute_dag"] = [{"name": f"s{n}", "formula": "1"} for n in range(2001)]
    assert "FS510" in {d.code for d in analyse(many).diagnostics}
    loops = one_step("1")
    loops["compute_dag"] = [
        {"name": f"s{n}", "formula": " + ".join(f"len([e for e in extractions if e['n'] == {n * 50 + k}])" for k in range(50))}
        for n in range(41)
    ]  # fmt: skip
    assert [d.message for d in analyse(loops).diagnostics if d.code == "FS510"] == [
        "the formulas hold more than 2000 different loops"
    ]
    for formula in (
        " + ".join(["len(extractions)"] * 700),
        "(" * 70 + "1" + ")" * 70,
        "e" + "[0]" * 300,
        "sum(" * 61 + "1" + " for e in extractions)" * 61,
        "not " * 500 + "extractions",
    ):
        assert {d.code for d in analyse(one_step(formula)).diagnostics} == {"FS104"}


def test_conditions_before_many_loops_are_limited() -> None:
    """A formula cannot multiply itself: loops that can fail take the conditions before them along."""
    formula = "0"
    for n in range(40):
        formula = f"sum({n}/e['n'] for e in extractions) if param.P > {n} else {formula}"
    assert not analyse(one_step(formula)).has_errors
    test = " + ".join(["param.P"] * 90)
    for n in range(70):
        formula = f"sum({n}/e['n'] for e in extractions) if {test} > {n} else {formula}"
    assert {d.code for d in analyse(one_step(formula)).diagnostics} == {"FS104"}


_TOKENS = (
    "sum(", "len(", "max(", "any(", "all(", "[", "]", "(", ")", ",", "1", "0", "e", "e['n']", "e['kind']", "e[",
    "'n'", "for", "e in", "in", "extractions", "if", "else", "or", "and", "not", "==", "=", "default=", "default",
    "s", "t", "param.P", "context.name", "+", "/", ".", "'", '"', "lambda", "x", "for e in extractions", "[0]",
    ".get(", "{", ":", "f'", "None", "True", "$F", "*", "for x in x",
)  # fmt: skip


@given(st.lists(st.sampled_from(_TOKENS), max_size=16), st.sampled_from(["", " "]))
def test_any_text_as_a_formula_gives_diagnostics_alone(tokens: list[str], between: str) -> None:
    """Nothing but diagnostics comes of a formula that is none, whatever it is made of."""
    assert_only_diagnostics(one_step(between.join(tokens)))


@st.composite
def damaged(draw: st.DrawFn) -> Json:
    """A seed of the older shape with parts taken out, exchanged, replaced or cut."""
    seed = json.loads(json.dumps(draw(v1_seeds(max_steps=3))))
    for _ in range(draw(st.integers(1, 3))):
        holder, key = draw(st.sampled_from(list(places(seed))))
        change = draw(st.sampled_from(["delete", "exchange", "retype", "replace"]))
        if change == "delete":
            del holder[key]
        elif change == "exchange":
            other, other_key = draw(st.sampled_from(list(places(seed))))
            holder[key] = json.loads(json.dumps(other[other_key]))
        elif change == "retype" and isinstance(holder[key], str):
            at = draw(st.integers(0, len(holder[key])))
            holder[key] = holder[key][:at] + draw(st.text(max_size=3)) + holder[key][at + draw(st.integers(0, 3)) :]
        else:
            scraps = [None, True, 1, 2.5, "x", [], {}, "compute", [None], {"name": "s"}, "extractions", 10**40]
            holder[key] = draw(st.sampled_from(scraps))
        assume(seed)
    return seed


@given(damaged())
def test_damaged_seeds_give_diagnostics_alone(seed: Json) -> None:
    """Damage of any kind is reported; what passes compiles, and what migrates has no errors."""
    found = assert_only_diagnostics(seed)
    if found.program is not None and not found.has_errors and "compute_dag" in seed and "compute" not in seed:
        compile_seed(seed, formatted=False)
        moved = migrate(seed, found.program)
        assert moved.not_moved or not analyse(moved.seed).has_errors


def assert_only_diagnostics(seed: Json) -> SeedAnalysis:
    found = analyse(seed)
    render_text(found.diagnostics)
    for diagnostic in found.diagnostics:
        assert diagnostic.code != "FS901", diagnostic.message
        assert diagnostic.help
        assert (diagnostic.line, diagnostic.column) <= (diagnostic.end_line, diagnostic.end_column)
    assert found.has_errors or found.program is not None
    return found


def test_what_is_certain_is_fixed(tmp_path: Path) -> None:
    """`check --fix` corrects a field, a value, a step and a placeholder that are misspelt, and leaves the rest as it was."""
    seed = one_step("sum(1 for e in extractions if e[\"kinds\"] == 'mild' or e['kind'] == 'severre') + teh_total")
    seed["compute_dag"].insert(0, {"name": "the_total", "formula": "len(extractions)"})
    path = write_json(tmp_path / "seed.json", {**seed, "extraction_prompt": "Read {review_texts}"})
    text = path.read_text()
    assert command("check", "--fix", path).status == 0
    for wrong, right in (("kinds", "kind"), ("severre", "severe"), ("teh_total", "the_total"), ("texts}", "text}")):
        text = text.replace(wrong, right)
    assert path.read_text() == text
