"""Where the checker stops looking: what it concludes up to a limit, and no longer concludes beyond it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from formulaseed import check, limits
from formulaseed.diagnostics.model import Problems, diagnostic
from formulaseed.documents import analyse
from formulaseed.source.text import Source, Span
from helpers import tiny_seed

Json = dict[str, Any]


def reported(code: str, *steps: Json) -> list[str]:
    """The help of every diagnostic of the code."""
    seed = {
        "task_name": "T",
        "parameters": {"X": {"type": "integer", "default": 1, "minimum": 0}, "FLAG": {"type": "boolean", "default": True}},
        "extract": {"fields": [{"name": "minutes", "type": "integer"}]},
        "compute": [*steps],
        "output": [steps[-1]["name"]],
    }  # fmt: skip
    return [str(d.help) for d in analyse(seed).diagnostics if d.code == code]


def formula(text: str) -> Json:
    return {"name": "RESULT", "op": "expr", "expr": text}


def nest_alternatives(depth: int) -> str:
    """Return alternatives, each of which shows that X is not 0, and each of which stands in another one."""
    text = "param.X > 1"
    for place in range(1, depth):
        text = f"param.X > {place + 1} or param.FLAG and ({text})"
    return text


def list_alternatives(number: int) -> str:
    return " or ".join(f"param.X == {value + 1}" for value in range(number))


@pytest.mark.parametrize("depth", [1, 5, 50])
def test_alternatives_in_alternatives_and_beside_one_another(depth: int) -> None:
    for tests in (nest_alternatives(depth), list_alternatives(depth * 6 - 4)):
        assert reported("FS604", formula(f"1 / param.X if {tests} else 0")) == []


def filters(number: int) -> list[Json]:
    """The last one holds where the minutes are not 0, as one of as many alternatives in one another shows."""
    steps: list[Json] = [{"name": "F0", "op": "define_filter", "where": {"extraction.minutes": {">": 0}}}]
    for place in range(number):
        neither = {"extraction.minutes": {"<=": place + 1}, f"$F{place}": False}
        steps.append({"name": f"G{place}", "op": "define_filter", "where": neither})
        steps.append({"name": f"F{place + 1}", "op": "define_filter", "where": {f"$G{place}": False}})
    return steps


@pytest.mark.parametrize("depth", [1, 4, 30])
def test_alternatives_in_filters(depth: int) -> None:
    last = {"name": "RESULT", "op": "sum", "expr": "1 / extraction.minutes", "where": {f"$F{depth}": True}}
    assert reported("FS604", *filters(depth), last) == []


@pytest.mark.parametrize(("terms", "is_known"), [(200, True), (201, False)])
def test_terms_of_a_filter(terms: int, is_known: bool) -> None:
    """A comparison with a list has a term for itself, one for the field, one for the list and one for each value."""
    listed = {"extraction.minutes": {"in": list(range(1, terms - 2))}}
    is_listed = {"name": "IS_LISTED", "op": "define_filter", "where": listed}
    share = {"name": "RESULT", "op": "sum", "expr": "1 / extraction.minutes", "where": {"$IS_LISTED": True}}
    assert bool(reported("FS604", is_listed, share)) is not is_known


def test_unknown_names_get_suggestions_up_to_a_number() -> None:
    assert limits.SUGGESTIONS == 30
    wrong = [{"name": f"A{place}", "op": "expr", "expr": f"UNKNOWN_{place}"} for place in range(32)]
    is_general = [help == "fix the unknown names above first" for help in reported("FS201", *wrong)]
    assert is_general == [False] * 30 + [True] * 2


def test_the_first_of_very_many_problems_are_reported() -> None:
    """Each with its place; the last says how many others there are. What has errors that are not reported is no seed."""
    names = [" + ".join(f"UNKNOWN_{step}_{place}" for place in range(100)) for step in range(60)]
    steps = [{"name": f"S{n}", "op": "expr", "expr": text} for n, text in enumerate(names)]
    diagnostics = check(tiny_seed(compute=steps, output=["S0"]))
    assert len(diagnostics) == limits.DIAGNOSTICS + 1
    last = diagnostics[-1]
    assert (last.code, last.severity, last.pointer) == ("FS510", "error", "/compute/50/expr")
    assert re.fullmatch(r"1,0\d\d more problems after the first 5,000", last.message)
    source, problems = Source("seed.json", "x" * 5001), Problems()
    for number in range(5001):
        code = "FS602" if number < 5000 else "FS201"
        problems.report(diagnostic(code, Span(source, number, number + 1), "is wrong", "write it"))
    assert problems.has_errors
