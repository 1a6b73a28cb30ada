"""Repairs of a draft are accepted if they fix it, and name all that they drop."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from drafts import CONDITIONS, G1A, GOOD, GRAPH, Drafting, change_seed, repair, step_of
from formulaseed.draft.acceptance import find_losses
from formulaseed.draft.checking import CheckedDraft, check_draft
from formulaseed.draft.conversion import apply_repair, assemble_draft, list_parts
from helpers import needs
from hypothesis import given, settings
from hypothesis import strategies as st

Json = Any

STEPS = [step["name"] for step in GOOD[2]["steps"]]
BROKEN_SEED = change_seed("TRUST_RAW", expr="1.0 + (N_POSITIVE * 0.1) - (N_NEGATIV * 0.2) - (N_BETRAYAL * 0.5)")
BROKEN = check_draft(assemble_draft(CONDITIONS, BROKEN_SEED), G1A)
assert BROKEN.errors == 1


def step(name: str = "TRUST_RAW", **values: Json) -> Json:
    """Return a step of the good seed, changed."""
    return {**step_of(GOOD[2], name), **values}


def losses(answer: Json, before: CheckedDraft = BROKEN) -> tuple[str, ...]:
    after = check_draft(apply_repair(before.draft, answer), G1A)
    return find_losses(before.draft, after.draft, answer, G1A)


def explain(*names: str) -> list[dict[str, str]]:
    return [{"name": name, "why": "it is not needed"} for name in names]


def without_reasons(answer: Json) -> Json:
    """Return the repair with reasons of white space."""
    return {**answer, **{key: [{**loss, "why": " "} for loss in answer[key]] for key in ("removed", "losses")}}


# --- what is accepted

SPACED = step(expr="1 + (N_POSITIVE*0.10)-(N_NEGATIVE * 0.2)\n - (N_BETRAYAL * 0.50)")
OTHERS = [{**one, **({"expr": f" {one['expr']} "} if "expr" in one else {})} for one in GOOD[2]["steps"]]
WEIGHT = {"name": "BETRAYAL_WEIGHT", "op": "const", "value": 0.5, "sources": [34]}
WITH_WEIGHT = step(expr="1.0 + (N_POSITIVE * 0.1) - (N_NEGATIVE * 0.2) - (N_BETRAYAL * BETRAYAL_WEIGHT)")
ACCEPTED = {
    "only the misspelt name is fixed": repair(step()),
    "white space and numbers written otherwise": repair(SPACED, *(one for one in OTHERS if one["name"] != "TRUST_RAW")),
    "another place": repair(step(), before="TRUST_SCORE"),
    "a number becomes a step of its own": repair(WEIGHT, WITH_WEIGHT),
    "another step is changed, too": repair(step(), step("TRUST_SCORE", expr="max(0.1, TRUST_RAW)")),
    "another reading": {**repair(step()), "reading": [{**CONDITIONS["reading"], "validity": True}]},
}


@pytest.mark.parametrize("answer", ACCEPTED.values(), ids=ACCEPTED)
def test_a_change_that_drops_nothing_is_accepted(answer: Json) -> None:
    assert losses(answer) == ()


def test_a_step_may_get_another_name_with_the_reason() -> None:
    seed = change_seed("TRUST_RAW", name="TRUST-RAW")
    step_of(seed, "TRUST_SCORE")["expr"] = "max(0.1, min(1.0, TRUST - RAW))"
    before = check_draft(assemble_draft(CONDITIONS, seed), G1A)
    answer = {**repair(step(), step("TRUST_SCORE")), "removed": explain("TRUST-RAW")}
    answer["steps"][0]["before"] = "TRUST_SCORE"
    assert losses(answer, before) == ()
    assert "the step TRUST-RAW is gone without the reason" in losses(without_reasons(answer), before)


# --- what is refused


@pytest.mark.parametrize("name", ["N_OLD", "MILD_WEIGHT", "account_type"])
def test_a_part_may_go_with_the_reason_only(name: str) -> None:
    answer = {**repair(step()), "removed": explain(name)}
    assert not [reason for reason in losses(answer) if f" {name} is gone" in reason]
    assert [reason for reason in losses(without_reasons(answer)) if f" {name} is gone without the reason" in reason]


def test_an_output_may_go_with_the_reason_only() -> None:
    answer = {**repair(step()), "output": GOOD[2]["output"][1:], "losses": explain("N_TOTAL_INCIDENTS")}
    assert losses(answer) == ()
    assert losses(without_reasons(answer)) == ("the output N_TOTAL_INCIDENTS is gone without the reason",)


def test_a_sentence_may_lose_its_citations_with_the_reason_only() -> None:
    """A sentence that only removed parts cite goes with them."""
    cited = [number for _, part in list_parts(BROKEN.draft) for number in part["sources"]]
    uncited = [number for number in step()["sources"] if cited.count(number) == 1]
    assert uncited
    answer = {**repair(step(sources=[1])), "losses": explain(*(f"sentence {number}" for number in uncited))}
    assert losses(answer) == ()
    messages = [f"no part cites sentence {number} any more, without the reason" for number in uncited]
    assert losses(without_reasons(answer)) == tuple(messages)
    assert not [reason for reason in losses({**repair(), "removed": explain("TRUST_RAW")}) if "sentence" in reason]


@pytest.mark.parametrize("name", ["17", "17.0", "1700%", "the weight 17"])
def test_a_number_may_go_with_the_reason_only(name: str) -> None:
    """However it is written; 0 and 1 need none."""
    before = check_draft(assemble_draft(CONDITIONS, change_seed("SEVERE_WEIGHT", value=17)), G1A)
    answer = {**repair(step("SEVERE_WEIGHT", value=1)), "losses": explain(name)}
    assert losses(without_reasons(answer), before) == ("the number 17 is gone without the reason",)
    assert losses(answer, before) == ()


GUTTED = {
    **repair({"name": "VERDICT", "op": "const", "value": "Low Risk", "sources": [59]}),
    "removed": explain(*(name for name in STEPS if name != "VERDICT")),
    "losses": explain("FINAL_RISK_SCORE", *(f"sentence {n}" for n in range(1, 60)), "4", "8"),
    "output": ["VERDICT"],
}
"""A repair that keeps one step and names all else but the numbers."""


@pytest.mark.thorough
@settings(max_examples=20)
@given(st.sets(st.sampled_from(STEPS), min_size=1))
def test_no_step_goes_without_the_reason(names: set[str]) -> None:
    answer = without_reasons({**repair(), "removed": explain(*sorted(names))})
    assert {f"the step {name} is gone without the reason" for name in names} <= {*losses(answer)}


# --- as a command

needs("anthropic", "llm")


@pytest.mark.thorough
def test_a_gutted_seed_is_refused_and_the_next_prompt_says_why(drafting: Drafting) -> None:
    """The honest repair is accepted, and the report has both with their diffs."""
    drafting.run(CONDITIONS, GRAPH, BROKEN_SEED, GUTTED, repair(step())).expect(
        0, "04-repair: refused: the number ", "05-repair: accepted"
    )
    assert "the number 15 is gone without the reason" in drafting.asked(4)["rejected"]["refused"]
    report = drafting.report
    assert "- 1: 1 error; then 0 errors; refused: the number " in report
    assert re.search(r"; and \d+ more", report)
    assert '  -{"name": "VERDICT", "label": "verdict", "op": "case"' in report
    assert "- 2: 1 error; then 0 errors; accepted. fixed" in report
    assert len(json.loads(drafting.seed.read_text())["compute"]) == 34
    assert drafting.replay().out == drafting.seed.read_text()


def test_a_draft_that_only_gutting_would_fix_is_kept(drafting: Drafting) -> None:
    """Exit status 3, and the draft as it was; a repair equal to the last one ends the rounds."""
    repairs = (GUTTED, GUTTED, repair(step()))
    done = drafting.run(CONDITIONS, GRAPH, BROKEN_SEED, *repairs, options=["--max-repairs", 9])
    assert (done.status, drafting.seed.exists(), len(drafting.server.messages)) == (3, False, 5)
    assert "the same repair again, so no other is asked for" in done.err
    path = drafting.folder / "seed.draft.json"
    assert [one["name"] for one in json.loads(path.read_text())["compute"]] == STEPS
    assert f"{path}: 1 error; no seed is written" in done.err


def test_the_report_contains_what_an_accepted_repair_drops_and_changes(drafting: Drafting) -> None:
    """Each loss with its reason; no line of a diff ends the block of code that it is in."""
    field = {**CONDITIONS["fields"][0], "name": "extra", "label": "", "description": "```\n# Heading\n````"}
    reasons = [{"name": "0.2", "why": "the text\nnames no such share"}]
    changed = step(expr="1.0 + (N_POSITIVE * 0.1) - (N_BETRAYAL * 0.5)")
    answer = {**repair(changed), "losses": reasons, "fields": [field]}
    done = drafting.run(CONDITIONS, GRAPH, BROKEN_SEED, answer)
    assert done.status == 0, done.err
    assert "## Given up by repairs\n\n- 0.2: the text\\nnames no such share\n" in done.err
    lines = drafting.report.splitlines()
    assert lines.count("  `````diff") == lines.count("  `````") == 1
    assert not any(line.startswith("# Heading") for line in lines)
