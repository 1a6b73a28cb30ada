"""Test that a help works: what it says to write no longer has the problem that the help is for."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from formulaseed import check
from formulaseed.diagnostics.model import Diagnostic
from formulaseed.seed.operations import list_foreign_operations

FIELDS = [
    {"name": "noise", "type": "enum", "values": ["quiet", "lots"]},
    {"name": "harm", "type": "enum", "values": ["none", "mild", "severe"]},
    {"name": "note", "type": "string"},
    {"name": "size", "type": "integer"},
]


def seed_of(step: dict[str, Any], *first: dict[str, Any], fields: list[dict[str, Any]] = FIELDS) -> dict[str, Any]:
    """Return a seed with a step, and other steps before it."""
    return {
        "task_name": "T",
        "parameters": {"Y": {"type": "integer", "default": 2020}},
        "context": [{"name": "tier", "type": "integer", "nullable": True}, {"name": "rank", "type": "number"}],
        "extract": {"fields": fields},
        "compute": [{"name": "N", "op": "count"}, {"name": "M", "op": "count"}, *first, {"name": "X", **step}],
        "output": ["X"],
    }


def helps(step: dict[str, Any], codes: str, *first: dict[str, Any]) -> list[str]:
    """Return the helps of the diagnostics with one of the codes, for a seed with a step and other steps before it."""
    diagnostics = check(seed_of(step, *first))
    return [d.help for code in codes.split() for d in diagnostics if d.code == code]


def errors_of(seed: dict[str, Any]) -> list[Diagnostic]:
    return [d for d in check(seed) if d.severity == "error"]


COUNT_F = {"op": "count", "where": {"$F": True}}


def expr(formula: str) -> dict[str, Any]:
    return {"op": "sum" if "extraction." in formula else "expr", "expr": formula}


@pytest.mark.parametrize(
    "formula",
    [
        "log(context.tier)", "sqrt(context.tier)", "1 / context.tier", "N % (context.tier + 1)", "context.tier // context.rank",
        "log(context.tier + N)", "sqrt(context.rank)", "log(N)", "1 / (N - M)",
    ],
)  # fmt: skip
def test_guards_work(formula: str) -> None:
    """The guarded formula has no warning of the operation, nor of null."""
    guard = re.match("guard it: `([^`]*)`", helps(expr(formula), "FS604 FS605")[0])
    assert guard
    assert helps(expr(guard[1]), "FS604 FS605 FS305") == []
    assert ("context.tier != None" in guard[1]) is ("context.tier" in formula)


@pytest.mark.parametrize("formula", ["A * 2", "A + N", "-A", "max(A, N)", "1 if A > N else 0"])
def test_a_number_in_quotes_is_fixed_at_its_step(formula: str) -> None:
    step = {"name": "A", "op": "const", "value": "3"}
    assert helps(expr(formula), "FS301", step) == ["write 3 without quotes in `A`"]
    assert helps(expr(formula), "FS301", {**step, "value": 3}) == []


def errors_v1(*formulas: str) -> list[tuple[str, str]]:
    """Return the underlined text and the help of each error of a seed v1."""
    steps = [{"name": f"s{i}", "formula": formula} for i, formula in enumerate(formulas)]
    fields = [{"name": "kind", "values": ["none", "mild"]}, {"name": "size", "type": "integer"}]
    names = [step["name"] for step in steps]
    errors = errors_of({"task_name": "T", "extraction_fields": fields, "compute_dag": steps, "output_fields": names})
    return [(d.span.source.text[d.span.start : d.span.end], d.help) for d in errors]


V1 = {
    "len([e for e in extractions if e['date'] >= 2020])": ("e['date']", "use `e['year']` and `e['month']`"),
    "len([date for date in extractions if date['review_date'] > 1])": (
        "date['review_date']", "use `date['review_year']` and `date['review_month']`",
    ),
    "max(e['year'] for e in extractions)": (
        "max(e['year'] for e in extractions)", "write `max((e['year'] for e in extractions), default=0)`",
    ),
    "2 * min([r['size'] for r in extractions])": (
        "min([r['size'] for r in extractions])",
        "write `min([r['size'] for r in extractions], default=0)`, or guard its use with a count of the same reviews",
    ),
    "len([e for e in extractions if e['kind']])": ("e['kind']", "write `e['kind'] != 'none'`"),
    "len([e for e in extractions if e['kind'] == 'midl'])": ("'midl'", "did you mean `'mild'`?"),
    "len([e for e in extractions if e['size'] >== 3])": (">==", "write `>=`"),
    "len([e for e in extractions if AND(e['size'] > 3, e['year'] > 2020)])": (
        "AND", "write `e['size'] > 3 and e['year'] > 2020`",
    ),
}  # fmt: skip


@pytest.mark.parametrize("formula", V1)
def test_helps_for_seed_v1(formula: str) -> None:
    """The helps are in the syntax of seed v1, which accepts a rewritten formula."""
    (error,) = errors_v1(formula)
    assert error == V1[formula]
    rewriting = re.match("(?:write|did you mean) `([^`]*)`", error[1])
    if rewriting:
        call = re.escape(error[0]) + (r"\(.*?\)" if error[0] == "AND" else "")
        assert errors_v1(re.sub(call, rewriting[1], formula)) == []


def test_a_step_behind_a_section() -> None:
    """In seeds v1, too; a section that exists is another field's."""
    assert errors_v1("len(extractions)", "steps.s0 + 1") == [("steps.s0", "did you mean `s0`?")]
    assert helps(expr("context.N + 1"), "FS204") != ["did you mean `N`?"]


RING = {f"S{i}": f"S{(i + 1) % 9}" for i in range(9)}
MANY = [f"S{i}" for i in range(40)]
CYCLES: list[tuple[dict[str, str], list[str] | None]] = [
    ({"A": "B", "B": "C", "C": "A"}, ["`A` uses `B`, `B` uses `C`, `C` uses `A`"]),
    ({"A": "B + D", "B": "C", "C": "D", "D": "A"},
     ["`A` uses `B`, `B` uses `C`, `C` uses `D`, `D` uses `A`", "`A` uses `D`, `D` uses `A`"]),
    (RING, ["`S0` uses `S1`, `S1` uses `S2`, `S2` uses `S3`, `S3` uses `S4`, `S4` uses `S5`, …, `S8` uses `S0`"]),
    (dict.fromkeys(MANY, " + ".join(MANY)), None),
]  # fmt: skip
"""The formulas of steps, and the messages; of steps that all use one another there are many."""


@pytest.mark.parametrize(("uses", "messages"), CYCLES, ids=["three", "two cycles", "ring", "many"])
def test_a_cycle_is_named_whole(uses: dict[str, str], messages: list[str] | None) -> None:
    steps = [{"name": name, "op": "expr", "expr": formula} for name, formula in uses.items()]
    errors = errors_of({"task_name": "T", "extract": {"fields": []}, "compute": steps, "output": list(uses)})
    assert {d.code for d in errors} == {"FS202"}
    assert messages is None or [d.message for d in errors] == messages


PARTS = {
    "1 if extraction.noise else 0": ("FS304", "extraction.noise"), "1 if extraction.harm else 0": ("FS304", "extraction.harm"),
    "1 if extraction.note else 0": ("FS304", "extraction.note"), "1 if extraction.size else 0": ("FS304", "extraction.size"),
    "1 if (N or M) else 0": ("FS304", "(N or M)"), "steps.N + 1": ("FS204", "steps.N"), "compute.N + 1": ("FS204", "compute.N"),
    "output.N + 1": ("FS204", "output.N"), "results.N + 1": ("FS204", "results.N"), "foo.N + 1": ("FS204", "foo.N"),
    "1 if N => 5 else 0": ("FS103", "=>"), "1 if N =< 5 else 0": ("FS103", "=<"), "{N} + 1": ("FS103", "{N}"),
    "${N} + {{ M }}": ("FS103", "${N}"), "5,5 * N": ("FS101", "5,5"), "max(5,5) + (2,25)": ("FS101", "2,25"),
    "1 if context.city == Rome else 0": ("FS201", "Rome"), "1 if Rome != context.city else 0": ("FS201", "Rome"),
    "1 if context.city in ['Oslo', Rome] else 0": ("FS201", "Rome"), "1 if bar in context.name else 0": ("FS201", "bar"),
    "1 if context.city == New York else 0": ("FS101", "New York"),
    "1 if context.city in ['Rome', New York City] else 0": ("FS101", "New York City"),
    "1 if 'bar' in context.name.lower() else 0": ("FS103", "context.name.lower()"),
    "1 if context.name.upper() == 'BAR' else 0": ("FS103", "context.name.upper()"),
    "1 if context.name.contains('bar') else 0": ("FS103", "context.name.contains('bar')"),
    "1 if context.name.startswith('bar') else 0": ("FS103", "context.name.startswith('bar')"),
    "1 if context.name.count('bar') else 0": ("FS103", "context.name.count('bar')"),
    "1 if context.name.find('bar') >= 0 else 0": ("FS103", "context.name.find('bar') >= 0"),
    "1 if context.city.equals('Rome') else 0": ("FS103", "context.city.equals('Rome')"),
    "context.name.length()": ("FS103", "context.name.length()"), "context.name.length": ("FS204", "context.name.length"),
    "N.round(2) + M": ("FS103", "N.round(2)"),
}  # fmt: skip
"""A formula with the code of its mistake, and the part that the help replaces."""


@pytest.mark.parametrize("formula", PARTS)
def test_the_formula_in_a_help_works(formula: str) -> None:
    code, part = PARTS[formula]
    replacement = re.search("(?:write|did you mean) `?([^`;]*[^`;,])", helps(expr(formula), code)[0])
    assert replacement
    written = formula.replace(part, replacement[1]).replace("{{ M }}", "M")
    assert helps(expr(written), f"{code} FS301 FS302 FS304") == []


@pytest.mark.parametrize("when", ["N = 5", "N > 1 and M = 5", "N => 5", "N =< 5", "N == 5,5", "{N} > 5"])
def test_a_condition_of_a_rule(when: str) -> None:
    """A wrong sign or number in a rule has the same help as in a filter, and the help works."""
    part = re.search(r"=>|=<|(?<!=)=(?!=)|5,5|\{N\}", when)
    assert part

    def helps_of(condition: str, filtered: str) -> list[list[str]]:
        case = {"op": "case", "rules": [{"when": condition, "then": 1}, {"else": 0}]}
        filter_step = {"name": "F", "op": "define_filter", "expr": filtered}
        return [helps(case, "FS101 FS103 FS201"), helps(COUNT_F, "FS101 FS103 FS201", filter_step)]

    per_review = when.replace("N", "meta.useful").replace("M", "meta.cool")
    (help,), (filter_help,) = helps_of(when, per_review)
    replacement = re.match("write `?([^`,]*)", help)
    assert replacement
    assert filter_help == help.replace("N", "meta.useful")
    assert helps_of(when.replace(part.group(), replacement[1]), "True") == [[], []]


@pytest.mark.parametrize(
    "where",
    [{"extraction.harm": {"not in": ["mild", "none"]}}, {"context.categories": {"contains": "Thai"}},
     {"meta.stars": {"<": "context.stars"}}, {"meta.stars": "context.stars"}, {"meta.year": {">=": "param.Y - 5"}}],
    ids=str,
)  # fmt: skip
def test_the_filter_in_a_help_works(where: Any) -> None:
    """A condition that no object can express has a filter as its help."""
    (help,) = helps({"op": "count", "where": where}, "FS505")
    step = {**json.JSONDecoder().raw_decode(help, help.index("{"))[0], "name": "F"}
    assert step["op"] == "define_filter"
    assert helps(COUNT_F, "FS501 FS502 FS505 FS201 FS204 FS301 FS304", step) == []


STEPS = [{"name": name, "op": "count"} for name in ("N_MILD", "N_SEVERE", "TOTAL", "SCORE")]


@pytest.mark.parametrize("word", sorted(list_foreign_operations()))
@pytest.mark.thorough
def test_an_operation_from_elsewhere(word: str) -> None:
    """The help shows whole steps without errors, or says that there is nothing similar."""
    (help,) = helps({"op": word, "expr": "N"}, "FS504", *STEPS)
    assert help == str(list_foreign_operations()[word])
    steps = [json.JSONDecoder().raw_decode(help, at.start())[0] for at in re.finditer(r'\{"op"', help)]
    assert steps or help.startswith(("there is no", "there are no"))
    for step in steps:
        errors = errors_of(seed_of(step, *STEPS))
        assert [d.brief for d in errors if "is a filter, not a value" not in d.message] == []


DECLARED = ["<15 min", ">= 4", "= 1", "!= x", "meta.stars", "param.Y", "N"]


@pytest.mark.parametrize("value", DECLARED)
def test_declared_values_mean_themselves(value: str) -> None:
    """A declared value may look like an operator, a field or a parameter."""
    field = {"name": "wait", "type": "enum", "values": [*DECLARED, "none"]}
    for where in (value, {"!=": value}, {"in": [value, "none"]}):
        assert errors_of(seed_of({"op": "count", "where": {"extraction.wait": where}}, fields=[*FIELDS, field])) == []
    assert errors_of(seed_of(expr(f"int(extraction.wait == '{value}')"), fields=[*FIELDS, field])) == []


@pytest.mark.parametrize("value", DECLARED[:4])
def test_a_value_of_a_case_means_itself(value: str) -> None:
    """A string that a case gives is a key of a table, and in quotes an operand of another case."""
    rules = [{"when": f"N == {n}", "then": text} for n, text in enumerate(DECLARED[:4])]
    band = {"name": "BAND", "op": "case", "rules": [*rules, {"else": "none"}]}
    lookup = {"op": "lookup", "source": "BAND", "match": "exact", "table": {value: 1}, "default": 0}

    assert errors_of(seed_of(lookup, band)) == []
    help = f"write `== '{value}'`"
    for when, expected in (
        (f"== '{value}'", []),
        (f"in ['{value}', 'none']", []),
        (value, [help]),
        (f"== {value}", [help]),
    ):
        case = {"op": "case", "source": "BAND", "rules": [{"when": when, "then": 1}, {"else": 0}]}
        assert [d.help for d in errors_of(seed_of(case, band))] == expected


def test_a_string_that_is_compared_as_it_is() -> None:
    """A string that begins with an order means itself, since nothing orders strings; before a number it is an error."""
    for subject, written, code, expected in (
        ("context.name", "> 5", "FS505", []),
        ("extraction.noise", "<15 min", "FS302", ["values: `quiet`, `lots`"]),
        ("context.name", "!= Bar", "FS505", ['write {"!=": …}']),
        ("meta.stars", "=> 3", "FS505", ['write {">=": 3}']),
        ("meta.stars", "= 3", "FS505", ["write 3 without an operator"]),
        ("meta.stars", "<> 3", "FS505", ['write {"!=": 3}']),
        ("meta.stars", "> many", "FS505", ['write {">": …}']),
    ):
        assert helps({"op": "count", "where": {subject: written}}, code) == expected
