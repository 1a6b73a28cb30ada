"""Helps that say what to type: what they say, typed, has not the problem any more that they were given for."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from formulaseed import check
from formulaseed.seed.operations import list_foreign_operations

FIELDS = [
    {"name": "noise", "type": "enum", "values": ["quiet", "lots"]},
    {"name": "harm", "type": "enum", "values": ["none", "mild", "severe"]},
    {"name": "note", "type": "string"},
    {"name": "size", "type": "integer"},
]


def seed_of(step: dict[str, Any], *others: dict[str, Any], fields: list[dict[str, Any]] = FIELDS) -> dict[str, Any]:
    """The seed with a step and the steps before it."""
    return {
        "task_name": "T",
        "parameters": {"Y": {"type": "integer", "default": 2020}},
        "context": [{"name": "tier", "type": "integer", "nullable": True}, {"name": "rank", "type": "number"}],
        "extract": {"fields": fields},
        "compute": [{"name": "N", "op": "count"}, {"name": "M", "op": "count"}, *others, {"name": "X", **step}],
        "output": ["X"],
    }


def helps(step: dict[str, Any], code: str, *others: dict[str, Any]) -> list[str]:
    """The helps of all diagnostics with a code, of the seed with a step and the steps before it."""
    return [d.help for d in check(seed_of(step, *others)) if d.code == code]


def expr(formula: str) -> dict[str, Any]:
    return {"op": "sum" if "extraction." in formula else "expr", "expr": formula}


CONDITIONS = {
    "extraction.noise": "extraction.noise == 'lots'",
    "extraction.harm": "extraction.harm != 'none'",
    "extraction.note": "extraction.note != ''",
    "extraction.size": "extraction.size != 0",
    "(N or M)": "(N or M) != 0",
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_what_is_no_condition(condition: str) -> None:
    """The test that is asked for names a value that there is, so that nothing else is wrong with it."""
    assert helps(expr(f"1 if {condition} else 0"), "FS304") == [f"write `{CONDITIONS[condition]}`"]
    for code in ("FS301", "FS302", "FS304"):
        assert helps(expr(f"1 if {CONDITIONS[condition]} else 0"), code) == []


def test_a_value_in_a_formula_is_shown_with_its_quotes() -> None:
    """In a formula a value stands in quotes of its own, in the JSON of a condition in those that are there."""
    assert helps(expr("1 if extraction.noise == 'Lots' else 0"), "FS302") == ["did you mean `'lots'`?"]
    assert helps(expr('1 if extraction.noise == "Lots" else 0'), "FS302") == ["did you mean `'lots'`?"]
    assert helps(expr("1 if extraction.noise == 'xyz' else 0"), "FS302") == ["values: `'quiet'`, `'lots'`"]
    assert helps({"op": "count", "where": {"extraction.noise": "Lots"}}, "FS302") == ["did you mean `lots`?"]


@pytest.mark.parametrize(
    "formula",
    [
        "log(context.tier)", "sqrt(context.tier)", "1 / context.tier", "N % (context.tier + 1)", "context.tier // context.rank",
        "log(context.tier + N)", "sqrt(context.rank)", "log(N)", "1 / (N - M)",
    ],
)  # fmt: skip
def test_guards_work(formula: str) -> None:
    """A guard that is offered keeps out what the warning was of, null too."""
    codes = ("FS604", "FS605", "FS305")
    found = [help for code in codes[:2] for help in helps(expr(formula), code)]
    guard = re.match("guard it: `([^`]*)`", found[0])
    assert guard
    assert [help for code in codes for help in helps(expr(guard[1]), code)] == []
    assert ("context.tier != None" in guard[1]) is ("context.tier" in formula)


@pytest.mark.parametrize("formula", ["A * 2", "A + N", "-A", "max(A, N)", "1 if A > N else 0"])
def test_a_number_in_quotes_is_reported_where_it_stands(formula: str) -> None:
    """A step that is a number in quotes is what is to be fixed, not the use of it."""
    step = {"name": "A", "op": "const", "value": "3"}
    assert helps(expr(formula), "FS301", step) == ["write 3 without quotes in `A`"]
    assert helps(expr(formula), "FS301", {**step, "value": 3}) == []


@pytest.mark.parametrize("section", ["steps", "compute", "output", "results", "foo"])
def test_a_step_behind_a_section(section: str) -> None:
    """A step is named alone."""
    assert helps(expr(f"{section}.N + 1"), "FS204") == ["did you mean `N`?"]
    assert helps(expr("context.N + 1"), "FS204") != ["did you mean `N`?"]
    assert helps(expr("N + 1"), "FS204") == []


def v1(*formulas: str) -> list[tuple[str, str]]:
    """What is underlined of a seed v1, and the help, for each error."""
    steps = [{"name": f"s{i}", "formula": formula} for i, formula in enumerate(formulas)]
    seed = {
        "task_name": "T",
        "extraction_fields": [{"name": "kind", "values": ["none", "mild"]}, {"name": "size", "type": "integer"}],
        "compute_dag": steps,
        "output_fields": [step["name"] for step in steps],
    }
    errors = [d for d in check(seed) if d.severity == "error"]
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
    """They are said in the terms of that shape; a rewriting is accepted there."""
    (found,) = v1(formula)
    assert found == V1[formula]
    rewriting = re.match("(?:write|did you mean) `([^`]*)`", found[1])
    if rewriting:
        call = re.escape(found[0]) + (r"\(.*?\)" if found[0] == "AND" else "")
        assert v1(re.sub(call, rewriting[1], formula)) == []


def test_a_step_of_seed_v1_behind_a_section() -> None:
    """A step is named alone there, too."""
    assert v1("len(extractions)", "steps.s0 + 1") == [("steps.s0", "did you mean `s0`?")]


def cycles(uses: dict[str, str]) -> list[str]:
    steps = [{"name": name, "op": "expr", "expr": formula} for name, formula in uses.items()]
    found = check({"task_name": "T", "extract": {"fields": []}, "compute": steps, "output": list(uses)})
    return [d.message for d in found if d.code == "FS202"]


def test_a_cycle_is_named_whole() -> None:
    """Every cycle once, with who uses whom in it."""
    assert cycles({"A": "B", "B": "C", "C": "A"}) == ["`A` uses `B`, `B` uses `C`, `C` uses `A`"]
    assert cycles({"A": "B + D", "B": "C", "C": "D", "D": "A"}) == [
        "`A` uses `B`, `B` uses `C`, `C` uses `D`, `D` uses `A`",
        "`A` uses `D`, `D` uses `A`",
    ]
    ring = {f"S{i}": f"S{(i + 1) % 9}" for i in range(9)}
    assert cycles(ring) == [
        "`S0` uses `S1`, `S1` uses `S2`, `S2` uses `S3`, `S3` uses `S4`, `S4` uses `S5`, …, `S8` uses `S0`"
    ]


def test_many_steps_that_all_use_one_another() -> None:
    """Cycles without end are reported soon, and each use once."""
    names = [f"S{i}" for i in range(40)]
    seed = {
        "task_name": "T",
        "extract": {"fields": []},
        "compute": [{"name": name, "op": "expr", "expr": " + ".join(names)} for name in names],
        "output": names,
    }
    assert {d.code for d in check(json.loads(json.dumps(seed)))} == {"FS202"}


NAMESPACES = [
    "business.stars", "biz.stars", "restaurant.name", "r.stars", "review.useful", "e.size", "extractions.size", "this.stars",
    "stars", "useful", "context.useful", "contxt.stars", "param.size",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMESPACES)
def test_a_namespace_that_is_offered_has_the_field(name: str) -> None:
    """Each of the candidates, typed, is a field."""
    (help,) = [help for code in ("FS201", "FS204") for help in helps({"op": "sum", "expr": name}, code)]
    offered = re.findall("`([^`]*)`", help)
    assert offered
    for each in offered:
        assert [helps({"op": "sum", "expr": each}, code) for code in ("FS201", "FS204")] == [[], []]


WHOLE = {
    "1 if N => 5 else 0": (("FS103",), "=>"),
    "1 if N =< 5 else 0": (("FS103",), "=<"),
    "{N} + 1": (("FS103",), "{N}"),
    "${N} + {{ M }}": (("FS103",), "${N}"),
    "5,5 * N": (("FS101",), "5,5"),
    "max(5,5) + (2,25)": (("FS101",), "2,25"),
    "1 if context.city == Rome else 0": (("FS201",), "Rome"),
    "1 if Rome != context.city else 0": (("FS201",), "Rome"),
    "1 if context.city in ['Oslo', Rome] else 0": (("FS201",), "Rome"),
    "1 if bar in context.name else 0": (("FS201",), "bar"),
    "1 if context.city == New York else 0": (("FS101",), "New York"),
    "1 if context.city in ['Rome', New York City] else 0": (("FS101",), "New York City"),
    "1 if 'bar' in context.name.lower() else 0": (("FS103",), "context.name.lower()"),
    "1 if context.name.upper() == 'BAR' else 0": (("FS103",), "context.name.upper()"),
    "1 if context.name.contains('bar') else 0": (("FS103",), "context.name.contains('bar')"),
    "1 if context.name.startswith('bar') else 0": (("FS103",), "context.name.startswith('bar')"),
    "1 if context.name.count('bar') else 0": (("FS103",), "context.name.count('bar')"),
    "1 if context.name.find('bar') >= 0 else 0": (("FS103",), "context.name.find('bar') >= 0"),
    "1 if context.city.equals('Rome') else 0": (("FS103",), "context.city.equals('Rome')"),
    "context.name.length()": (("FS103",), "context.name.length()"),
    "context.name.length": (("FS204",), "context.name.length"),
    "N.round(2) + M": (("FS103",), "N.round(2)"),
}
"""A formula with the codes of what is wrong with it, and the part of it that the help replaces."""


@pytest.mark.parametrize("formula", WHOLE)
def test_what_a_help_says_to_write(formula: str) -> None:
    """The first formula that the help names, in place of what is wrong; where another fault is left, again."""
    codes, part = WHOLE[formula]
    (help, *_) = [help for code in codes for help in helps(expr(formula), code)]
    found = re.search("(?:write|did you mean) `?([^`;]*[^`;,])", help)
    assert found
    written = formula.replace(part, found[1])
    if "{{" in formula:
        written = written.replace("{{ M }}", "M")
    assert [help for code in (*codes, "FS301", "FS304") for help in helps(expr(written), code)] == []


def test_case_is_said_to_matter() -> None:
    """What a method would have changed is to be spelled out."""
    for call in ("lower()", "lower().count('a')", "contains('a')", "startswith('a')"):
        for help in helps(expr(f"1 if context.name.{call} else 0"), "FS103"):
            assert help.endswith("; case matters")


@pytest.mark.parametrize("when", ["N = 5", "N > 1 and M = 5", "N => 5", "N =< 5", "N == 5,5", "{N} > 5"])
def test_a_condition_of_a_rule(when: str) -> None:
    """What stands for a comparison is reported with the comparison."""
    part = re.search(r"=>|=<|(?<!=)=(?!=)|5,5|\{N\}", when)
    assert part

    def found(condition: str, filtered: str) -> list[list[str]]:
        case = {"op": "case", "rules": [{"when": condition, "then": 1}, {"else": 0}]}
        of_filter = {"name": "F", "op": "define_filter", "expr": filtered}
        steps = ((case,), ({"op": "count", "where": {"$F": True}}, of_filter))
        return [
            [help for code in ("FS101", "FS103", "FS201") for help in helps(step[0], code, *step[1:])] for step in steps
        ]

    per_review = when.replace("N", "meta.useful").replace("M", "meta.cool")
    (help,), (same,) = found(when, per_review)
    written = re.match("write `?([^`,]*)", help)
    assert written
    assert same == help.replace("N", "meta.useful")
    assert found(when.replace(part.group(), written[1]), "True") == [[], []]


CONDITIONS_OF_FILTERS: dict[str, Any] = {
    "not in": {"extraction.harm": {"not in": ["mild", "none"]}},
    "contains": {"context.categories": {"contains": "Thai"}},
    "another field": {"meta.stars": {"<": "context.stars"}},
    "equal to another field": {"meta.stars": "context.stars"},
    "a formula": {"meta.year": {">=": "param.Y - 5"}},
}
"""Conditions that no object can say."""


@pytest.mark.parametrize("name", CONDITIONS_OF_FILTERS)
def test_the_filter_works(name: str) -> None:
    """The `define_filter` that the help shows as an example, under a name, in a seed that counts with it."""
    (help,) = helps({"op": "count", "where": CONDITIONS_OF_FILTERS[name]}, "FS505")
    step = {**json.JSONDecoder().raw_decode(help, help.index("{"))[0], "name": "F"}
    assert step["op"] == "define_filter"
    for code in ("FS501", "FS502", "FS505", "FS201", "FS204", "FS301", "FS304"):
        assert helps({"op": "count", "where": {"$F": True}}, code, step) == []


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("or", '"op": "define_filter", "expr": "'),
        ("$or", " or "),
        ("any", " or "),
        ("not", " or "),
        ("and", "one object"),
    ],
)
def test_joined_conditions(word: str, shown: str) -> None:
    """One error shows the form to write; what is joined is not looked at."""
    where: Any = {word: [{"extraction.nosie": "lots"}, {"meta.stars": {"<": 3}}]}
    found = [d for d in check(seed_of({"op": "count", "where": where})) if d.severity == "error"]
    assert [d.code for d in found] == ["FS505"]
    assert shown in found[0].help


STEPS = [{"name": name, "op": "count"} for name in ("N_MILD", "N_SEVERE", "TOTAL", "SCORE")]


@pytest.mark.parametrize("word", sorted(list_foreign_operations()))
def test_an_operation_from_elsewhere(word: str) -> None:
    """The help shows a whole step, or says that there is nothing like it; the step has no errors, and not the word's."""
    (help,) = helps({"op": word, "expr": "N"}, "FS504", *STEPS)
    assert help == str(list_foreign_operations()[word])
    shown = [json.JSONDecoder().raw_decode(help, at.start())[0] for at in re.finditer(r'\{"op"', help)]
    assert shown or help.startswith(("there is no", "there are no"))
    for step in shown:
        errors = [d for d in check(seed_of(step, *STEPS)) if d.severity == "error"]
        assert [(d.code, d.message) for d in errors if "is a filter, not a value" not in d.message] == []


DECLARED = ["<15 min", ">= 4", "= 1", "!= x", "meta.stars", "param.Y", "N"]


@pytest.mark.parametrize("value", DECLARED)
def test_declared_values_mean_themselves(value: str) -> None:
    """A value that looks like an operator, a field or a parameter is one all the same, where the field declares it."""
    field = {"name": "wait", "type": "enum", "values": [*DECLARED, "none"]}
    for where in (value, {"!=": value}, {"in": [value, "none"]}):
        for step in (
            {"op": "count", "where": {"extraction.wait": where}},
            {"op": "sum", "expr": f"int(extraction.wait == '{value}')"},
        ):
            assert [d for d in check(seed_of(step, fields=[*FIELDS, field])) if d.severity == "error"] == []


@pytest.mark.parametrize("value", DECLARED[:4])
def test_what_a_step_may_be_means_itself(value: str) -> None:
    """So does a string that a case gives, in a table and in the rules of another; without its quotes it is reported."""
    rules = [{"when": f"N == {n}", "then": each} for n, each in enumerate(DECLARED[:4])]
    band = {"name": "BAND", "op": "case", "rules": [*rules, {"else": "none"}]}
    lookup = {"op": "lookup", "source": "BAND", "match": "exact", "table": {value: 1}, "default": 0}

    def errors(step: dict[str, Any]) -> list[str]:
        return [d.help for d in check(seed_of(step, band)) if d.severity == "error"]

    def case(when: str) -> dict[str, Any]:
        return {"op": "case", "source": "BAND", "rules": [{"when": when, "then": 1}, {"else": 0}]}

    for sound in (lookup, case(f"== '{value}'"), case(f"in ['{value}', 'none']")):
        assert errors(sound) == []
    for when in (value, f"== {value}"):
        assert errors(case(when)) == [f"write `== '{value}'`"]


def test_a_string_that_is_compared_as_it_is() -> None:
    """Nothing orders strings, so one that begins with an order means itself; an operator before a number is reported."""
    assert helps({"op": "count", "where": {"context.name": "> 5"}}, "FS505") == []
    assert helps({"op": "count", "where": {"extraction.noise": "<15 min"}}, "FS302") == ["values: `quiet`, `lots`"]
    assert helps({"op": "count", "where": {"context.name": "!= Bar"}}, "FS505") == ['write {"!=": …}']
    numbers = {"=> 3": 'write {">=": 3}', "= 3": "write 3 without an operator", "<> 3": 'write {"!=": 3}'}
    for written, help in {**numbers, "> many": 'write {">": …}'}.items():
        assert helps({"op": "count", "where": {"meta.stars": written}}, "FS505") == [help]
