"""Helps that say what to type: what they say, typed, has not the problem any more that they were given for."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from formulaseed import check

FIELDS = [
    {"name": "noise", "type": "enum", "values": ["quiet", "lots"]},
    {"name": "harm", "type": "enum", "values": ["none", "mild", "severe"]},
    {"name": "note", "type": "string"},
    {"name": "size", "type": "integer"},
]


def helps(step: dict[str, Any], code: str, *others: dict[str, Any]) -> list[str]:
    """The helps of all diagnostics with a code, of the seed with a step and the steps before it."""
    seed = {
        "task_name": "T",
        "context": [{"name": "tier", "type": "integer", "nullable": True}, {"name": "rank", "type": "number"}],
        "extract": {"fields": FIELDS},
        "compute": [{"name": "N", "op": "count"}, {"name": "M", "op": "count"}, *others, {"name": "X", **step}],
        "output": ["X"],
    }
    return [d.help for d in check(seed) if d.code == code]


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
def test_a_number_in_quotes_is_told_where_it_stands(formula: str) -> None:
    """A step that is a number in quotes is what is to be mended, not the use of it."""
    step = {"name": "A", "op": "const", "value": "3"}
    assert helps(expr(formula), "FS301", step) == ["write 3 without quotes in `A`"]
    assert helps(expr(formula), "FS301", {**step, "value": 3}) == []


@pytest.mark.parametrize("section", ["steps", "compute", "output", "results", "foo"])
def test_a_step_behind_a_section(section: str) -> None:
    """A step is named alone."""
    assert helps(expr(f"{section}.N + 1"), "FS204") == ["did you mean `N`?"]
    assert helps(expr("context.N + 1"), "FS204") != ["did you mean `N`?"]
    assert helps(expr("N + 1"), "FS204") == []


def older(*formulas: str) -> list[tuple[str, str]]:
    """What is underlined of a seed of the older shape, and the help, for each error."""
    steps = [{"name": f"s{i}", "formula": formula} for i, formula in enumerate(formulas)]
    seed = {
        "task_name": "T",
        "extraction_fields": [{"name": "kind", "values": ["none", "mild"]}, {"name": "size", "type": "integer"}],
        "compute_dag": steps,
        "output_fields": [step["name"] for step in steps],
    }
    errors = [d for d in check(seed) if d.severity == "error"]
    return [(d.span.source.text[d.span.start : d.span.end], d.help) for d in errors]


OLDER = {
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


@pytest.mark.parametrize("formula", OLDER)
def test_helps_for_the_older_shape(formula: str) -> None:
    """They are said in the terms of that shape; a rewriting is accepted there."""
    (found,) = older(formula)
    assert found == OLDER[formula]
    rewriting = re.match("(?:write|did you mean) `([^`]*)`", found[1])
    if rewriting:
        call = re.escape(found[0]) + (r"\(.*?\)" if found[0] == "AND" else "")
        assert older(re.sub(call, rewriting[1], formula)) == []


def test_a_step_of_the_older_shape_behind_a_section() -> None:
    """A step is named alone there, too."""
    assert older("len(extractions)", "steps.s0 + 1") == [("steps.s0", "did you mean `s0`?")]


def circles(uses: dict[str, str]) -> list[str]:
    steps = [{"name": name, "op": "expr", "expr": formula} for name, formula in uses.items()]
    found = check({"task_name": "T", "extract": {"fields": []}, "compute": steps, "output": list(uses)})
    return [d.message for d in found if d.code == "FS202"]


def test_a_circle_is_named_whole() -> None:
    """Every circle once, with who uses whom in it."""
    assert circles({"A": "B", "B": "C", "C": "A"}) == ["`A` uses `B`, `B` uses `C`, `C` uses `A`"]
    assert circles({"A": "B + D", "B": "C", "C": "D", "D": "A"}) == [
        "`A` uses `B`, `B` uses `C`, `C` uses `D`, `D` uses `A`",
        "`A` and `D` use each other",
    ]
    ring = {f"S{i}": f"S{(i + 1) % 9}" for i in range(9)}
    assert circles(ring) == [
        "`S0` uses `S1`, `S1` uses `S2`, `S2` uses `S3`, `S3` uses `S4`, `S4` uses `S5`, …, `S8` uses `S0`"
    ]


def test_many_steps_that_all_use_one_another() -> None:
    """Circles without end are told soon, and each use once."""
    names = [f"S{i}" for i in range(40)]
    seed = {
        "task_name": "T",
        "extract": {"fields": []},
        "compute": [{"name": name, "op": "expr", "expr": " + ".join(names)} for name in names],
        "output": names,
    }
    assert {d.code for d in check(json.loads(json.dumps(seed)))} == {"FS202"}
