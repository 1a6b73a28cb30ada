"""Helps followed to the letter: what a diagnostic says to write has not its problem any more, and no other."""

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


def written(found: Diagnostic) -> str:
    """The text of the file with the replacement that a diagnostic proposes."""
    assert found.suggestion is not None
    text, span = found.span.source.text, found.span
    return text[: span.start] + found.suggestion.replacement + text[span.end :]


def step_of(found: Diagnostic) -> tuple[str, ...]:
    return tuple(found.pointer.split("/")[:3])


def troubles(before: list[Diagnostic], followed: Diagnostic, after: list[Diagnostic]) -> list[str]:
    """What is wrong after a help was followed: the same problem, or another one that was not there.

    Behind an error nothing is checked that depends on it, so that others may appear elsewhere once it is gone.
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
    return [f"{followed.brief}\n  {followed.help}\n    {each.brief}" for each in (*same, *new)]


@pytest.mark.parametrize("path", sorted(CASES.glob("*/*.md")), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_replacement(path: Path, tmp_path: Path) -> None:
    """In every case, bad or good, each replacement that a diagnostic has."""
    blocks = blocks_of(path)
    file = FILES[blocks[0].kind]
    for block in blocks:
        if block.kind in BESIDE:
            (tmp_path / BESIDE[block.kind]).write_text(block.body, encoding="utf-8")
    found: list[str] = []
    with contextlib.chdir(tmp_path):
        Path(file).write_text(blocks[0].body, encoding="utf-8")
        before = list(analyse_file(file).diagnostics)
        for each in (d for d in before if d.suggestion is not None):
            Path(file).write_text(written(each), encoding="utf-8")
            found += troubles(before, each, list(analyse_file(file).diagnostics))
    assert not found, "\n".join(found)


# --- null, `or` and equality: in every place of a formula


def seed_of(*steps: Json) -> Json:
    """A seed with fields that may be null, and these steps after two counts and a sum of decimals."""
    first = [
        {"name": "N", "op": "count"},
        {"name": "M", "op": "count", "where": {"meta.stars": {">": 3}}},
        {"name": "SUM", "op": "sum", "expr": "meta.stars * 0.1"},
    ]
    return {
        "task_name": "T",
        "context": [
            {"name": "flag", "type": "boolean", "nullable": True},
            {"name": "noise", "type": "enum", "values": ["quiet", "loud"], "nullable": True},
            {"name": "nickname", "type": "string", "nullable": True},
            {"name": "categories", "type": "string", "nullable": True},
            {"name": "tier", "type": "integer", "nullable": True},
            {"name": "rank", "type": "number", "nullable": True},
        ],
        "extract": {"fields": [], "meta": [{"name": "visits", "type": "integer", "nullable": True}]},
        "compute": [*first, *steps],
        "output": ["N", "M", "SUM", *(step["name"] for step in steps if step["op"] != "define_filter")],
    }


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
FORMS = ("{}", "({})", "1 if M > 1 else ({})", "({}) if M > 1 else 0", "1 if M > 1 else {}", "{} if M > 1 else 0")
CHOSEN = {"FS305": FORMS, "FS624": FORMS, "FS625": ("{}", "not ({})", "not {}", "N > 1 and {}", "1 if {} else 2")}


@pytest.mark.parametrize(("code", "form"), [(code, form) for code, forms in CHOSEN.items() for form in forms])
def test_what_to_write_in_a_formula(code: str, form: str) -> None:
    """Whatever the formula is a part of, the replacement is what the help shows, and fits there."""
    for operand in OPERANDS[code]:
        step = {"name": "X", "op": "expr", "expr": form.format(operand)}
        before = reported(step)
        if any(d.severity == "error" for d in before):  # such a form does not take such a value
            continue
        followed = [d for d in before if d.code == code]
        assert followed or form != "{}", step["expr"]
        for each in followed:
            assert each.suggestion is not None, step["expr"]
            assert f"`{each.suggestion.replacement}`" in each.help
            after = [d for d in check(json.loads(written(each))) if d.severity in WARNINGS]
            assert troubles(before, each, after) == [], step["expr"]


def step_in(help: str) -> Json:
    """The step that a help shows."""
    step: Json = json.JSONDecoder().raw_decode(help, help.index("{"))[0]
    return {**step, "name": "OWN"}


@pytest.mark.parametrize("source", ["context.categories", "context.noise", "context.nickname"])
@pytest.mark.parametrize("match", ["exact", "substring_first", "substring_max"])
def test_the_source_of_a_lookup(source: str, match: str) -> None:
    """It is a name, so that the help shows a step of its own."""
    keys = {"quiet": 1} if source == "context.noise" else {"Thai, Bars": 1}
    lookup = {"name": "X", "op": "lookup", "source": source, "match": match, "table": keys, "default": 0}
    (found,) = reported(lookup)
    assert found.code == "FS305"
    assert found.suggestion is None
    assert reported(step_in(found.help), {**lookup, "source": "OWN"}) == []


@pytest.mark.parametrize(
    ("source", "when"), [("context.tier", "> 3"), ("context.tier", "!= 3"), ("context.noise", "!= 'loud'")]
)
def test_the_source_of_a_case(source: str, when: str) -> None:
    """So is that of a case."""
    case = {"name": "X", "op": "case", "source": source, "rules": [{"when": when, "then": 1}, {"else": 0}]}
    (found,) = reported(case)
    assert found.suggestion is None
    assert reported(step_in(found.help), {**case, "source": "OWN"}) == []


def test_a_rounded_source_of_a_case() -> None:
    """A rule with a tolerance names what it tests."""
    case = {"name": "X", "op": "case", "source": "SUM", "rules": [{"when": "== 0.3", "then": 1}, {"else": 0}]}
    (found,) = reported(case)
    (condition,) = re.findall("`(abs.*?)`", found.help)
    assert reported({"name": "X", "op": "case", "rules": [{"when": condition, "then": 1}, {"else": 0}]}) == []


def test_the_field_of_an_extreme() -> None:
    """`field` takes a name; `expr` takes what the help shows."""
    extreme = {"name": "X", "op": "max", "field": "meta.visits", "default": 0}
    (found,) = reported(extreme)
    (key,) = re.findall('write ("expr": ".*?") in place', found.help)
    del extreme["field"]
    assert reported({**extreme, **json.loads(f"{{{key}}}")}) == []


@pytest.mark.parametrize("where", [{"context.flag": {"!=": True}}, {"context.noise": {"!=": "loud"}}])
def test_a_condition_object(where: Json) -> None:
    """What excludes null and a value needs a filter, which the help shows."""
    count = {"name": "X", "op": "count", "where": where}
    (found,) = reported(count)
    assert reported(step_in(found.help), {**count, "where": {"$OWN": True}}) == []


def test_a_lookup_without_match() -> None:
    """The match that is proposed fits the source: a list of categories equals none of them."""
    for source, expected in (("context.categories", "substring_first"), ("context.city", "exact")):
        lookup = {"name": "X", "op": "lookup", "source": source, "table": {"Thai": 1}, "default": 0}
        seed = {**seed_of(lookup), "context": []}
        (found,) = [d for d in check(seed) if d.code == "FS502"]
        (key,) = re.findall('add ("match": ".*?")', found.help)
        assert json.loads(f"{{{key}}}") == {"match": expected}
        fixed = {**seed, "compute": [*seed["compute"][:-1], {**lookup, "match": expected}]}
        assert [d.code for d in check(fixed) if d.severity in WARNINGS] == []
