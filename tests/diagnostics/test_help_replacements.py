"""Test that the text after the replacement of a diagnostic has neither the same problem nor a new one."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from case_files import BESIDE, CASES, FILES, blocks_of
from formulaseed import check
from formulaseed.diagnostics.model import Diagnostic
from formulaseed.documents import analyse_file

Json = dict[str, Any]
WARNINGS = ("warning", "error")


def replace_text(diagnostic: Diagnostic) -> str:
    """Return the text of the file with the replacement of a diagnostic, which must have one."""
    assert diagnostic.suggestion is not None
    span = diagnostic.span
    text = span.source.text
    return text[: span.start] + diagnostic.suggestion.replacement + text[span.end :]


def step_of(diagnostic: Diagnostic) -> tuple[str, ...]:
    return tuple(diagnostic.pointer.split("/")[:3])


def find_problems(before: list[Diagnostic], followed: Diagnostic, after: list[Diagnostic]) -> list[str]:
    """Return the problems after a help was followed: the same one again, and new ones.

    An error hides other problems, so that these may appear elsewhere after its fix.
    """
    place = followed.span.start
    same = [d for d in after if (d.code, d.message, d.span.start) == (followed.code, followed.message, place)]
    if followed.severity == "error":
        known = {(d.code, d.span.start) for d in before}
        new = [d for d in after if d.severity == "error" and d.span.start == place and (d.code, place) not in known]
        new = [d for d in new if not (d.code == "FS202" and "its step comes later" in followed.help)]
    else:  # a name is reported once in a step, and next where it is used again
        there = {(d.code, step_of(d)) for d in before}
        new = [d for d in after if d.severity in WARNINGS and (d.code, step_of(d)) not in there]
    return [f"{followed.brief}\n  {followed.help}\n    {problem.brief}" for problem in (*same, *new)]


@pytest.mark.parametrize("path", sorted(CASES.glob("*/*.md")), ids=lambda path: f"{path.parent.name}/{path.stem}")
@pytest.mark.thorough
def test_every_replacement(path: Path, tmp_path: Path) -> None:
    blocks = blocks_of(path)
    file = FILES[blocks[0].kind]
    for block in blocks:
        if block.kind in BESIDE:
            (tmp_path / BESIDE[block.kind]).write_text(block.body, encoding="utf-8")
    problems: list[str] = []
    with contextlib.chdir(tmp_path):
        Path(file).write_text(blocks[0].body, encoding="utf-8")
        before = list(analyse_file(file).diagnostics)
        for diagnostic in (d for d in before if d.suggestion is not None):
            Path(file).write_text(replace_text(diagnostic), encoding="utf-8")
            problems += find_problems(before, diagnostic, list(analyse_file(file).diagnostics))
    assert not problems, "\n".join(problems)


# --- null, `or` and equality: in every place of a formula


NOISE = {"name": "noise", "type": "enum", "values": ["quiet", "loud"], "nullable": True}
NULLABLE = {"flag": "boolean", "nickname": "string", "categories": "string", "tier": "integer", "rank": "number"}


def seed_of(*steps: Json) -> Json:
    """Return a seed with fields that may be null, and the steps after two counts and a sum of decimals."""
    counts = [{"name": "N", "op": "count"}, {"name": "M", "op": "count", "where": {"meta.stars": {">": 3}}}]
    steps = (*counts, {"name": "SUM", "op": "sum", "expr": "meta.stars * 0.1"}, *steps)
    return {
        "task_name": "T",
        "context": [NOISE, *({"name": name, "type": kind, "nullable": True} for name, kind in NULLABLE.items())],
        "extract": {"fields": [], "meta": [{"name": "visits", "type": "integer", "nullable": True}]},
        "compute": [*steps], "output": [step["name"] for step in steps if step["op"] != "define_filter"],
    }  # fmt: skip


def reported(*steps: Json) -> list[Diagnostic]:
    return [d for d in check(seed_of(*steps)) if d.severity in WARNINGS]


OPERANDS = {
    "FS305": (
        "context.tier + 1", "context.tier * context.rank", "len(context.nickname)", "'a' in context.nickname",
        "context.tier > 3", "context.tier != 3", "context.tier != N", "context.tier != context.rank",
        "context.noise != 'quiet'", "context.noise not in ['quiet']", "not context.flag", "context.flag != true",
        "not (context.noise == 'quiet')", "1 if context.flag else 2", "1 if context.nickname else 2",
        "context.flag or N > 3", "1 if N > 3 and context.flag else 2", "1 if N > 3 and (context.flag or M > 3) else 2",
        "(context.tier if N > 3 else context.rank) * 2", "-context.tier", "max(context.tier, 3)", "log(context.tier)",
        "N / context.tier",
    ),
    "FS624": (
        "context.tier or 5", "N or 5", "N - 1 or 5", "(N - 1) or (M + 2)", "context.tier or N or 5", "context.nickname or 'a'",
        "context.name or 'a'", "context.flag or true", "context.tier or None", "context.tier or context.rank",
        "context.tier or (N - 1) or 5", "(context.tier if N > 3 else context.rank) or 5",
    ),
    "FS625": (
        "SUM == 0.3", "SUM != 0.3", "0.3 == SUM", "SUM in [0.1, 0.3]", "SUM not in [0.1, SUM * 2]", "SUM - M == N - 0.1 * M",
        "SUM == context.rank", "log(N + 1) == 1.5",
    ),
}  # fmt: skip
PLACES = ("{}", "({})", "1 if M > 1 else ({})", "({}) if M > 1 else 0", "1 if M > 1 else {}", "{} if M > 1 else 0")
PLACES_BY_CODE = {
    "FS305": PLACES, "FS624": PLACES, "FS625": ("{}", "not ({})", "not {}", "N > 1 and {}", "1 if {} else 2"),
}  # fmt: skip


@pytest.mark.parametrize(("code", "form"), [(code, form) for code, forms in PLACES_BY_CODE.items() for form in forms])
@pytest.mark.thorough
def test_the_replacement_fits_in_every_place_of_a_formula(code: str, form: str) -> None:
    for operand in OPERANDS[code]:
        step = {"name": "X", "op": "expr", "expr": form.format(operand)}
        before = reported(step)
        if any(d.severity == "error" for d in before):  # such a form does not take such a value
            continue
        followed = [d for d in before if d.code == code]
        assert followed or form != "{}", step["expr"]
        for diagnostic in followed:
            assert diagnostic.suggestion is not None, step["expr"]
            assert f"`{diagnostic.suggestion.replacement}`" in diagnostic.help
            after = [d for d in check(json.loads(replace_text(diagnostic))) if d.severity in WARNINGS]
            assert find_problems(before, diagnostic, after) == [], step["expr"]


def step_in(help: str) -> Json:
    """Return the step in a help, under the name `OWN`."""
    step: Json = json.JSONDecoder().raw_decode(help, help.index("{"))[0]
    return {**step, "name": "OWN"}


LOOKUPS = [
    {"op": "lookup", "source": source, "match": match, "table": {key: 1}, "default": 0}
    for source, key in (
        ("context.categories", "Thai, Bars"),
        ("context.noise", "quiet"),
        ("context.nickname", "Thai, Bars"),
    )
    for match in ("exact", "substring_first", "substring_max")
]
RULES = [
    {"op": "case", "source": source, "rules": [{"when": when, "then": 1}, {"else": 0}]}
    for source, when in (("context.tier", "> 3"), ("context.tier", "!= 3"), ("context.noise", "!= 'loud'"))
]


@pytest.mark.parametrize("step", LOOKUPS + RULES, ids=str)
def test_the_source_of_a_lookup_or_a_case(step: Json) -> None:
    """`source` takes a name, so that the help shows a step of its own."""
    (diagnostic,) = reported({"name": "X", **step})
    assert (diagnostic.code, diagnostic.suggestion) == ("FS305", None)
    assert reported(step_in(diagnostic.help), {"name": "X", **step, "source": "OWN"}) == []


def test_a_rounded_source_of_a_case() -> None:
    """A rule with a tolerance is a whole condition, without a source."""
    case = {"name": "X", "op": "case", "source": "SUM", "rules": [{"when": "== 0.3", "then": 1}, {"else": 0}]}
    (diagnostic,) = reported(case)
    (condition,) = re.findall("`(abs.*?)`", diagnostic.help)
    assert reported({"name": "X", "op": "case", "rules": [{"when": condition, "then": 1}, {"else": 0}]}) == []


def test_the_field_of_an_extreme() -> None:
    """`field` takes a name; `expr` takes what the help shows."""
    extreme = {"name": "X", "op": "max", "field": "meta.visits", "default": 0}
    (diagnostic,) = reported(extreme)
    (key,) = re.findall('write ("expr": ".*?") in place', diagnostic.help)
    del extreme["field"]
    assert reported({**extreme, **json.loads(f"{{{key}}}")}) == []


@pytest.mark.parametrize("where", [{"context.flag": {"!=": True}}, {"context.noise": {"!=": "loud"}}])
def test_a_condition_object(where: Json) -> None:
    """A condition that excludes null and a value needs a filter, which the help shows."""
    count = {"name": "X", "op": "count", "where": where}
    (diagnostic,) = reported(count)
    assert reported(step_in(diagnostic.help), {**count, "where": {"$OWN": True}}) == []


def test_a_lookup_without_match() -> None:
    """The proposed match fits the source: no category equals a list of categories."""
    for source, expected in (("context.categories", "substring_first"), ("context.city", "exact")):
        lookup = {"name": "X", "op": "lookup", "source": source, "table": {"Thai": 1}, "default": 0}
        seed = {**seed_of(lookup), "context": []}
        (diagnostic,) = [d for d in check(seed) if d.code == "FS502"]
        (key,) = re.findall('add ("match": ".*?")', diagnostic.help)
        assert json.loads(f"{{{key}}}") == {"match": expected}
        fixed = {**seed, "compute": [*seed["compute"][:-1], {**lookup, "match": expected}]}
        assert [d.code for d in check(fixed) if d.severity in WARNINGS] == []
