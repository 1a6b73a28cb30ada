"""Which repairs of a draft are accepted: those that fix it, and name all that they drop."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from drafts import (
    CONDITIONS,
    GRAPH,
    TASK,
    changed_seed,
    draft,
    good_seed,
    repair,
    replies,
    step_of,
)
from formulaseed.draft.acceptance import find_losses
from formulaseed.draft.checking import CheckedDraft, check_draft
from formulaseed.draft.conversion import apply_repair, assemble_draft, list_parts
from formulaseed.draft.task import read_task
from helpers import needs
from hypothesis import given, settings
from hypothesis import strategies as st
from loopback import Loopback, loopback

G1A = read_task(TASK.read_bytes())
Json = Any


def broken(name: str, **values: Json) -> CheckedDraft:
    """The good draft with one step broken."""
    found = check_draft(assemble_draft(CONDITIONS, changed_seed(name, **values)), G1A)
    assert found.errors
    return found


@cache
def bad() -> CheckedDraft:
    """The good draft with a misspelt name in one step."""
    return broken("TRUST_RAW", expr="1.0 + (N_POSITIVE * 0.1) - (N_NEGATIV * 0.2) - (N_BETRAYAL * 0.5)")


def fixed(name: str = "TRUST_RAW", **values: Json) -> Json:
    """A step of the good draft, changed."""
    return {**step_of(good_seed(), name), **values}


def refused(before: CheckedDraft, answer: Json) -> tuple[str, ...]:
    after = check_draft(apply_repair(before.draft, answer), G1A)
    return find_losses(before.draft, after.draft, answer, G1A)


def because(*names: str) -> list[dict[str, str]]:
    return [{"name": name, "why": "it is not needed"} for name in names]


STEPS = [step["name"] for step in good_seed()["steps"]]


# --- what is accepted


def test_the_good_step_is_accepted() -> None:
    """It fixes the misspelt name, and nothing else is changed."""
    assert refused(bad(), repair(fixed())) == ()


def test_layout_and_moves_lose_nothing() -> None:
    """All steps again, with other white space and numbers written otherwise, in another place."""
    spaced = fixed(expr="1 + (N_POSITIVE*0.10)-(N_NEGATIVE * 0.2)\n - (N_BETRAYAL * 0.50)")
    others = [{**step, **({"expr": f" {step['expr']} "} if "expr" in step else {})} for step in good_seed()["steps"]]
    answer = repair(spaced, *(step for step in others if step["name"] != "TRUST_RAW"))
    assert refused(bad(), answer) == ()
    assert refused(bad(), repair(fixed(), before="TRUST_SCORE")) == ()


def test_a_number_may_move_into_another_step() -> None:
    """What was a number inside a formula becomes a step of its own."""
    weight = {"name": "BETRAYAL_WEIGHT", "op": "const", "value": 0.5, "sources": [34]}
    split = fixed(expr="1.0 + (N_POSITIVE * 0.1) - (N_NEGATIVE * 0.2) - (N_BETRAYAL * BETRAYAL_WEIGHT)")
    answer = repair(weight, split)
    answer["steps"][0]["before"] = "TRUST_RAW"
    assert refused(bad(), answer) == ()


def test_a_step_may_get_another_name() -> None:
    """With the reason why the old one goes."""
    seed = good_seed()
    step_of(seed, "TRUST_RAW")["name"] = "TRUST-RAW"
    step_of(seed, "TRUST_SCORE")["expr"] = "max(0.1, min(1.0, TRUST - RAW))"
    before = check_draft(assemble_draft(CONDITIONS, seed), G1A)
    answer = {**repair(fixed(), fixed("TRUST_SCORE")), "removed": because("TRUST-RAW")}
    answer["steps"][0]["before"] = "TRUST_SCORE"
    assert refused(before, answer) == ()
    unexplained = {**answer, "removed": [{"name": "TRUST-RAW", "why": ""}]}
    assert "the step TRUST-RAW is gone without the reason" in refused(before, unexplained)


def test_a_change_that_drops_nothing_is_for_people_to_review() -> None:
    """Also of a part that no problem is about: it is in the diff of the report."""
    assert refused(bad(), repair(fixed(), fixed("TRUST_SCORE", expr="max(0.1, TRUST_RAW)"))) == ()
    assert refused(bad(), {**repair(fixed()), "reading": [{**CONDITIONS["reading"], "validity": True}]}) == ()


# --- what is refused


def unexplained(answer: Json) -> Json:
    """The answer without its reasons."""
    empty = [{**loss, "why": " "} for loss in answer["removed"]]
    return {**answer, "removed": empty, "losses": [{**loss, "why": ""} for loss in answer["losses"]]}


@pytest.mark.parametrize("name", ["N_OLD", "MILD_WEIGHT", "account_type"])
def test_a_part_may_go_with_the_reason_only(name: str) -> None:
    """A step or a field; a reason of white space is none."""
    answer = {**repair(fixed()), "removed": because(name)}
    assert not [reason for reason in refused(bad(), answer) if f" {name} is gone" in reason]
    assert [reason for reason in refused(bad(), unexplained(answer)) if f" {name} is gone without the reason" in reason]


def test_an_output_may_go_with_the_reason_only() -> None:
    answer = {**repair(fixed()), "output": good_seed()["output"][1:], "losses": because("N_TOTAL_INCIDENTS")}
    assert refused(bad(), answer) == ()
    assert refused(bad(), unexplained(answer)) == ("the output N_TOTAL_INCIDENTS is gone without the reason",)


def test_a_sentence_may_lose_its_citations_with_the_reason_only() -> None:
    """A sentence that only removed parts cite goes with them."""
    uncited = [
        number
        for number in step_of(good_seed(), "TRUST_RAW")["sources"]
        if sum(number in part["sources"] for _, part in list_parts(bad().draft)) == 1
    ]
    assert uncited
    answer = {**repair(fixed(sources=[1])), "losses": because(*(f"sentence {number}" for number in uncited))}
    assert refused(bad(), answer) == ()
    assert refused(bad(), unexplained(answer)) == tuple(
        f"no part cites sentence {number} any more, without the reason" for number in uncited
    )
    gone = {**repair(), "removed": because("TRUST_RAW")}
    assert not [reason for reason in refused(bad(), gone) if "sentence" in reason]


@pytest.mark.parametrize("name", ["15", "15.0", "1500%", "the weight 15"])
def test_a_number_may_go_with_the_reason_only(name: str) -> None:
    """However it is written; 0 and 1 need none."""
    seed = good_seed()
    step_of(seed, "SEVERE_WEIGHT")["value"] = 17
    before = check_draft(assemble_draft(CONDITIONS, seed), G1A)
    answer = {**repair(fixed("SEVERE_WEIGHT", value=1)), "losses": because(name.replace("15", "17"))}
    assert refused(before, unexplained(answer)) == ("the number 17 is gone without the reason",)
    assert refused(before, answer) == ()


def gutted() -> Json:
    """A repair that keeps one step and names all else but the numbers."""
    only = {"name": "VERDICT", "op": "const", "value": "Low Risk", "sources": [59]}
    dropped = [name for name in STEPS if name != "VERDICT"]
    losses = because("FINAL_RISK_SCORE", *(f"sentence {n}" for n in range(1, 60)), "4", "8")
    return {**repair(only), "removed": because(*dropped), "losses": losses, "output": ["VERDICT"]}


def test_a_gutted_seed_is_refused() -> None:
    assert "the number 15 is gone without the reason" in refused(bad(), gutted())


@settings(max_examples=20)
@given(st.sets(st.sampled_from(STEPS), min_size=1))
def test_no_step_goes_without_the_reason(names: set[str]) -> None:
    answer = unexplained({**repair(), "removed": because(*sorted(names))})
    assert {f"the step {name} is gone without the reason" for name in names} <= {*refused(bad(), answer)}


# --- as a command

needs("anthropic", "llm")


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with loopback() as running:
        yield running


BROKEN = changed_seed("TRUST_RAW", expr="1.0 + (N_POSITIVE * 0.1) - (N_NEGATIV * 0.2) - (N_BETRAYAL * 0.5)")


def test_a_gutted_seed_is_refused_and_the_next_repair_is_told_why(server: Loopback, tmp_path: Path) -> None:
    """The reasons are in the next prompt; the honest repair is accepted, and the report has both with their diffs."""
    server.reset(queue=replies(CONDITIONS, GRAPH, BROKEN, gutted(), repair(fixed())))
    done = draft(server, "--out", tmp_path / "seed.json", "--transcript", tmp_path / "t")
    assert done.status == 0, done.err
    told = json.loads(server.messages[4].text)["rejected"]
    assert "the number 15 is gone without the reason" in told["refused"]
    report = (tmp_path / "t" / "report.md").read_text()
    assert "- 1: 1 error; then 0 errors; refused: the number " in report
    assert re.search(r"; and \d+ more", report)
    assert '  -{"name": "VERDICT", "op": "case"' in report
    assert "- 2: 1 error; then 0 errors; accepted. fixed" in report
    assert "04-repair: refused: the number " in done.err
    assert "05-repair: accepted" in done.err
    assert len(json.loads((tmp_path / "seed.json").read_text())["compute"]) == 34
    again = draft(None, "--replay", tmp_path / "t", "--out", "-")
    assert (again.status, again.out) == (0, (tmp_path / "seed.json").read_text())


def test_a_draft_that_only_gutting_would_fix_is_kept(server: Loopback, tmp_path: Path) -> None:
    """Exit status 3, and the draft as it was; a repair equal to the last one ends the rounds."""
    server.reset(queue=replies(CONDITIONS, GRAPH, BROKEN, gutted(), gutted(), repair(fixed())))
    out = tmp_path / "seed.json"
    done = draft(server, "--out", out, "--transcript", tmp_path / "t", "--max-repairs", 9)
    assert (done.status, out.exists(), len(server.messages)) == (3, False, 5)
    assert "the same repair again, so no other is asked for" in done.err
    kept = json.loads((tmp_path / "seed.draft.json").read_text())
    assert [step["name"] for step in kept["compute"]] == STEPS
    assert f"{tmp_path / 'seed.draft.json'}: 1 error; no seed is written" in done.err


def test_what_an_accepted_repair_gives_up_is_reported(server: Loopback, tmp_path: Path) -> None:
    """Each with its reason, for the people who review the seed."""
    answer = {**repair(fixed(expr="1.0 + (N_POSITIVE * 0.1) - (N_BETRAYAL * 0.5)")),
              "losses": [{"name": "0.2", "why": "the text\nnames no such share"}]}  # fmt: skip
    server.reset(queue=replies(CONDITIONS, GRAPH, BROKEN, answer))
    done = draft(server, "--out", "-", "--transcript", tmp_path / "t")
    assert done.status == 0, done.err
    assert "## Given up by repairs\n\n- 0.2: the text\\nnames no such share\n" in done.err


def test_a_diff_ends_no_block(server: Loopback, tmp_path: Path) -> None:
    """Whatever a description says, the report's block of code goes on behind it."""
    field = {**copy.deepcopy(CONDITIONS["fields"][0]), "name": "extra", "description": "```\n# Heading\n````"}
    server.reset(queue=replies(CONDITIONS, GRAPH, BROKEN, {**repair(fixed()), "fields": [field]}))
    done = draft(server, "--out", "-", "--transcript", tmp_path / "t")
    assert done.status == 0, done.err
    lines = (tmp_path / "t" / "report.md").read_text().splitlines()
    assert lines.count("  `````diff") == lines.count("  `````") == 1
    assert not any(line.startswith("# Heading") for line in lines)
