"""Which repairs of a draft are accepted: those that fix it and lose nothing, whatever a lazy or hostile model answers."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
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
from formulaseed.draft.acceptance import refusals
from formulaseed.draft.checking import CheckedDraft, check
from formulaseed.draft.conversion import drafted, repaired
from formulaseed.draft.task import read_task
from helpers import needs
from hypothesis import given, settings
from hypothesis import strategies as st
from loopback import Loopback, loopback

G1A = read_task(TASK.read_bytes())
Json = Any


def broken(name: str, **values: Json) -> CheckedDraft:
    """The good draft with one step broken."""
    found = check(drafted(CONDITIONS, changed_seed(name, **values)), G1A)
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
    after = check(repaired(before.draft, answer), G1A)
    return refusals(before, after, answer, G1A)


def because(*names: str) -> list[dict[str, str]]:
    return [{"name": name, "why": "it is not needed"} for name in names]


CONST = {"op": "const", "value": 0, "sources": [36]}
STEPS = [step["name"] for step in good_seed()["steps"]]


# --- what is accepted


def test_the_good_step_is_accepted() -> None:
    """It fixes the misspelt name, and nothing else is changed."""
    assert refused(bad(), repair(fixed())) == ()


def test_layout_and_moves_change_nothing() -> None:
    """All steps again, with other white space and numbers written otherwise, in another place."""
    spaced = fixed(expr="1 + (N_POSITIVE*0.10)-(N_NEGATIVE * 0.2)\n - (N_BETRAYAL * 5e-1)")
    others = [{**step, **({"expr": f" {step['expr']} "} if "expr" in step else {})} for step in good_seed()["steps"]]
    answer = repair(spaced, *(step for step in others if step["name"] != "TRUST_RAW"))
    assert refused(bad(), answer) == ()
    assert refused(bad(), repair(fixed(), before="TRUST_SCORE")) == ()


def test_what_is_wrong_may_go() -> None:
    """A value that a diagnostic points at need not be named."""
    wrong = [{"subject": "extraction.safety_interaction", "test": "is", "values": ["lie"]}]
    assert refused(broken("N_BETRAYAL", where=wrong), repair(fixed("N_BETRAYAL"))) == ()
    assert refused(broken("CREDIBILITY_FACTOR", expr="TOTAL_WEIGHT / 0"), repair(fixed("CREDIBILITY_FACTOR"))) == ()


def test_a_missing_step_may_be_added() -> None:
    """What an unknown name stands for becomes a step of its own, with the numbers that were inside."""
    new = {"name": "N_NEGATIV", "op": "expr", "expr": "N_NEGATIVE", "sources": [34]}
    answer = repair(new)
    answer["steps"][0]["before"] = "TRUST_RAW"
    assert refused(bad(), answer) == ()
    weight = {"name": "BETRAYAL_WEIGHT", "op": "const", "value": 0.5, "sources": [34]}
    split = fixed(expr="1.0 + (N_POSITIVE * 0.1) - (N_NEGATIVE * 0.2) - (N_BETRAYAL * BETRAYAL_WEIGHT)")
    answer = repair(weight, split)
    answer["steps"][0]["before"] = "TRUST_RAW"
    assert refused(bad(), answer) == ()


def test_a_step_may_get_another_name() -> None:
    """With the reason, where its name is the problem; whoever uses it follows, and changes nothing else."""
    seed = good_seed()
    step_of(seed, "TRUST_RAW")["name"] = "TRUST-RAW"
    step_of(seed, "TRUST_SCORE")["expr"] = "max(0.1, min(1.0, TRUST - RAW))"
    before = check(drafted(CONDITIONS, seed), G1A)
    answer = {**repair(fixed(), fixed("TRUST_SCORE")), "removed": because("TRUST-RAW")}
    answer["steps"][0]["before"] = "TRUST_SCORE"
    assert refused(before, answer) == (
        "from - on TRUST_SCORE has another order or other operators, without the reason",
    )
    answer["losses"] = [{"name": "-", "why": "it was a part of the name"}]
    assert refused(before, answer) == ()
    unsaid = {**answer, "removed": [{"name": "TRUST-RAW", "why": ""}]}
    assert refused(before, unsaid)[0] == "it takes out TRUST-RAW without the reason"


def test_numbers_and_names_may_go_with_the_reason() -> None:
    """Of a part with a problem only; without the reason, or with none but white space, they may not."""
    shorter = repair(fixed(expr="1.0 + (N_POSITIVE * 0.1) - (N_BETRAYAL * 0.5)"))
    assert refused(bad(), shorter) == ("0.2 of TRUST_RAW is gone without the reason",)  # what was misspelt is nothing
    for name in ("0.2", "0.20", "20%", "the weight 0.2"):
        assert refused(bad(), {**shorter, "losses": because(name)}) == ()
    assert refused(bad(), {**shorter, "losses": [{"name": "0.2", "why": " "}]}) != ()
    less = repair(fixed(expr="1.0 - (N_NEGATIVE * 0.2) - (N_BETRAYAL * 0.5)"))
    assert refused(bad(), less) == (
        "0.1 of TRUST_RAW is gone without the reason",
        "TRUST_RAW does not depend on N_POSITIVE any more, without the reason",
    )
    assert refused(bad(), {**less, "losses": because("0.1", "N_POSITIVE")}) == ()


def test_neighbours_may_follow() -> None:
    """A value that a condition asks for is added to its field; a maximum gets the default that its use needs."""
    where = [{"subject": "extraction.safety_interaction", "test": "is", "values": ["ignored"]}]
    before = check(drafted(CONDITIONS, changed_seed("N_NEGATIVE", where=where)), G1A)
    field = copy.deepcopy(next(f for f in CONDITIONS["fields"] if f["name"] == "safety_interaction"))
    field["values"].append({"value": "ignored", "meaning": "Staff ignored the question"})
    assert refused(before, {**repair(), "fields": [field]}) == ()
    field["values"] = field["values"][1:]
    assert refused(before, {**repair(), "fields": [field]}) != ()
    assert "extraction.safety_interaction by more" in refused(before, {**repair(), "fields": [field]})[0]

    undefined = check(drafted(CONDITIONS, changed_seed("MOST_RECENT_YEAR", default=[])), G1A)
    assert undefined.errors
    assert refused(undefined, repair(fixed("MOST_RECENT_YEAR"))) == ()


def test_validity_may_be_wanted() -> None:
    """A step that asks for it is a problem while the reading does not."""
    where = [{"subject": "extraction.review_validity", "test": "is", "values": ["valid"]}]
    before = check(drafted(CONDITIONS, changed_seed("N_ALLERGY_REVIEWS", where=where)), G1A)
    assert before.errors == 1
    reading = {**CONDITIONS["reading"], "validity": True}
    assert refused(before, {**repair(), "reading": [reading]}) == ()
    assert refused(before, {**repair(), "reading": [{**reading, "passes": 3}]}) != ()
    assert refused(bad(), {**repair(fixed()), "reading": [reading]}) == (
        "it changes the reading, which no problem is about",
    )


def test_an_assumption_may_bring_a_number() -> None:
    """One that neither the text nor the draft has; the assumption states it."""
    answer = repair(fixed(expr="1.0 + (N_POSITIVE * 0.1) - (N_NEGATIVE * 0.2) - (N_BETRAYAL * 0.5) + 0.037"))
    assert refused(bad(), answer) == (
        "0.037 in TRUST_RAW is neither in the text nor in the draft, and no assumption states it",
    )
    note = {"text": "A share of 3.7% is added for rounding.", "sources": [34]}
    assert refused(bad(), {**answer, "assumptions": [note]}) == ()


# --- what is refused


def gutted() -> Json:
    only = {"name": "VERDICT", "op": "const", "value": "Low Risk", "sources": [59]}
    others = [name for name in STEPS if name != "VERDICT"]
    losses = because(*others, "FINAL_RISK_SCORE", *(f"sentence {n}" for n in range(1, 60)), "4", "8", "High Risk")
    return {**repair(only), "removed": because(*others), "losses": losses, "output": ["VERDICT"]}


def without(step: str, **values: Json) -> Json:
    return {**repair(fixed()), "removed": because(step), **values}


VERDICT = step_of(good_seed(), "VERDICT")
HOSTILE: dict[str, tuple[Callable[[], Json], str]] = {
    "the seed is gutted": (gutted, "it takes out IS_INCIDENT, which no problem is about"),
    "the step is const 0": (lambda: repair({**CONST, "name": "TRUST_RAW"}), "0.1 of TRUST_RAW is gone"),
    "the step is const 0, with reasons": (
        lambda: {**repair({**CONST, "name": "TRUST_RAW"}),
                 "losses": because("0.1", "0.2", "0.5", "N_POSITIVE", "N_BETRAYAL", "sentence 34", "sentence 36")},
        "TRUST_RAW would be the same for every restaurant",
    ),
    "the step is multiplied by 0": (
        lambda: repair(fixed(expr=f"0 * ({fixed()['expr']})")), "TRUST_RAW would be the same for every restaurant"
    ),
    "a branch is never taken": (
        lambda: repair(fixed(expr=f"({fixed()['expr']}) if N_POSITIVE < 0 else 1")), "this is always false"
    ),
    "a weight is changed": (
        lambda: repair(fixed(), fixed("SEVERE_WEIGHT", value=1)), "it changes SEVERE_WEIGHT, which no problem is about"
    ),
    "a weight beside it is changed, with the reason": (
        lambda: {**repair(fixed(), fixed("TRUST_SCORE", expr="max(0.5, min(1.0, TRUST_RAW))")), "losses": because("0.1")},
        "it changes TRUST_SCORE by more than the problems beside it need",
    ),
    "a sign beside it is changed": (
        lambda: repair(fixed(), fixed("TRUST_SCORE", expr="max(-0.1, min(1.0, TRUST_RAW))")), "it changes TRUST_SCORE by more"
    ),
    "a rule is dropped": (
        lambda: repair(fixed(), {**VERDICT, "rules": VERDICT["rules"][:1]}), "it changes VERDICT, which no problem is about"
    ),
    "an entry of a table is dropped": (
        lambda: repair(fixed(), fixed("CUISINE_MODIFIER", table=fixed("CUISINE_MODIFIER")["table"][1:])),
        "it changes CUISINE_MODIFIER",
    ),
    "a step that nothing is wrong with is taken out": (lambda: without("N_OLD"), "it takes out N_OLD"),
    "the step itself is taken out": (lambda: without("TRUST_RAW", steps=[]), "0.1 of TRUST_RAW is gone"),
    "an output is dropped": (
        lambda: {**repair(fixed()), "output": good_seed()["output"][1:], "losses": because("N_TOTAL_INCIDENTS")},
        "it does not return N_TOTAL_INCIDENTS any more, and no problem is about that",
    ),
    "a keyword is dropped": (lambda: {**repair(fixed()), "keywords": ["allergy"]}, "it changes the keywords"),
    "a filter is widened": (
        lambda: repair(fixed(), fixed("IS_INCIDENT", where=fixed("IS_INCIDENT")["where"][:1])), "it changes IS_INCIDENT"
    ),
    "a sentence is not cited": (
        lambda: repair(fixed(sources=[1])), "any more, without the reason"
    ),
    "the meaning of a value is changed": (
        lambda: {**repair(fixed()), "fields": [{**CONDITIONS["fields"][0], "description": "Anything at all"}]},
        "it changes extraction.incident_severity, which no problem is about",
    ),
    "all is named, and all of it is said to be wrong": (
        lambda: {**repair(fixed(expr="N_POSITIVE * 0.1"), fixed("SEVERE_WEIGHT", value=0.1)),
                 "losses": because("1", "0.2", "0.5", "15", "N_BETRAYAL")},
        "it changes SEVERE_WEIGHT, which no problem is about",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_what_loses_something_is_refused(what: str) -> None:
    """Although each has fewer errors than the draft, and gives reasons."""
    make, reason = HOSTILE[what]
    before = bad()
    answer = make()
    assert any(reason in found for found in refused(before, answer)), refused(before, answer)


@pytest.mark.parametrize("name", ["MILD_WEIGHT", "TRUST_IMPACT", "RECENT_RATIO", "RAW_RISK", "POSITIVE_CREDIT"])
def test_no_step_becomes_constant_or_goes_by_naming_all_that_is_lost(name: str) -> None:
    """Also one that names nothing but what is misspelt; taking it out moves the error, and fixes nothing."""
    good = fixed(name)
    before = broken(name, expr=re.sub(r"[A-Z]\w+", r"\g<0>_", good["expr"], count=1))
    everything = because(*STEPS, *re.findall(r"[\d.]+", json.dumps(good_seed())), *(f"sentence {n}" for n in range(70)))
    for step in ({**CONST, "name": name, "sources": good["sources"]}, {**good, "expr": f"0 * ({good['expr']})"},
                 {**good, "expr": f"max(2, min(2, {good['expr']}))"}):  # fmt: skip
        assert f"{name} would be the same for every restaurant" in refused(
            before, {**repair(step), "losses": everything}
        )
    gone = refused(before, {**repair(), "removed": because(name), "losses": everything})
    assert f"it takes out {name}, and that fixes nothing" in gone
    assert refused(before, repair(good)) == ()


@pytest.mark.parametrize(
    "expr",
    [
        "1.0 + (N_POSITIVE * 0.5) - (N_NEGATIVE * 0.2) - (N_BETRAYAL * 0.1)",
        "1.0 + (N_BETRAYAL * 0.1) - (N_NEGATIVE * 0.2) - (N_POSITIVE * 0.5)",
        "1.0 - (N_POSITIVE * 0.1) - (N_NEGATIVE * 0.2) - (N_BETRAYAL * 0.5)",
        "1.0 + (N_POSITIVE * 0.1) + (N_NEGATIVE * 0.2) - (N_BETRAYAL * 0.5)",
        "1.0 + (N_POSITIVE * 0.1) - (N_NEGATIVE / 0.2) - (N_BETRAYAL * 0.5)",
    ],
)
def test_nothing_is_exchanged(expr: str) -> None:
    """In the part with the problem, too: weights stay with their names, and signs are what they were."""
    [reason] = refused(bad(), repair(fixed(expr=expr)))
    assert reason.endswith(" on TRUST_RAW has another order or other operators, without the reason"), reason


def test_no_result_is_exchanged() -> None:
    """The rules of a case keep their order, their comparisons and what they give."""
    before = broken("VERDICT", source="FINAL_RISK")
    low, high = VERDICT["rules"]
    exchanged = [{**low, "then": high["then"]}, {**high, "then": low["then"]}]
    turned = [{**low, "when": "> 4.0"}, high]
    for rules in (exchanged, turned, [high, low]):
        assert any("another order" in each for each in refused(before, repair({**VERDICT, "rules": rules})))
    assert refused(before, repair(VERDICT)) == ()
    where = step_of(good_seed(), "N_RECENT")["where"]
    early = broken("N_RECENT", where=[{**where[0], "subject": "$IS_INCIDEN"}, where[1]])
    other = repair(fixed("N_RECENT", where=[where[0], {**where[1], "test": "<"}]))
    assert refused(early, other) == ("from >= on N_RECENT has another order or other operators, without the reason",)
    assert refused(early, repair(fixed("N_RECENT"))) == ()


def test_numbers_cannot_be_parked() -> None:
    """In a step that the part does not use."""
    parked = {"name": "PARKED", "op": "const", "value": 0.2, "sources": [34]}
    answer = repair(parked, fixed(expr="1.0 + (N_POSITIVE * 0.1) - N_NEGATIVE - (N_BETRAYAL * 0.5)"))
    assert "0.2 of TRUST_RAW is gone without the reason" in refused(bad(), answer)
    used = repair(parked, fixed(expr="1.0 + (N_POSITIVE * 0.1) - (N_NEGATIVE * PARKED) - (N_BETRAYAL * 0.5)"))
    used["steps"][0]["before"] = "TRUST_RAW"
    assert refused(bad(), used) == ()


def test_a_problem_everywhere_does_not_help() -> None:
    """Where each step has an error, none of them may become constant, and what is not named is missed."""
    seed = good_seed()
    for step in seed["steps"]:
        if step.get("expr"):
            step["expr"] += " + NOTHING"
    before = check(drafted(CONDITIONS, seed), G1A)
    zeros = [{**CONST, "name": step["name"], "sources": step["sources"]} for step in seed["steps"] if step.get("expr")]
    found = refused(before, repair(*zeros))
    assert "FINAL_RISK_SCORE would be the same for every restaurant" in found
    assert any("15" not in each and "is gone without the reason" in each for each in found)


def leaves(value: Json) -> Iterator[tuple[Json, Json]]:
    """Where the numbers, the strings and the truths of a step are, but for its name and its sources."""
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        if isinstance(value[key], dict | list):
            yield from leaves(value[key]) if key != "sources" else ()
        elif key != "name":
            yield value, key


UNCONCERNED = [
    name for name in STEPS if name not in ("TRUST_RAW", "TRUST_SCORE", "N_POSITIVE", "N_BETRAYAL", "N_NEGATIVE")
]


@settings(max_examples=40)
@given(st.sampled_from(UNCONCERNED), st.data())
def test_any_change_of_a_part_that_nothing_is_wrong_with_is_refused(name: str, data: st.DataObject) -> None:
    """Any value, any token, any operation: whatever the answer says of it."""
    step = copy.deepcopy(step_of(good_seed(), name))
    places = [*leaves(step)]
    if not places:
        return
    holder, key = data.draw(st.sampled_from(places))
    old = holder[key]
    new = data.draw(st.sampled_from([0, 1, "N_MILD", "0", "Low Risk", "<", "const", "", 2.5, f"{old} "]))
    if key == "op" or type(new) is not type(old):
        return
    holder[key] = new
    answer = {**repair(fixed(), step), "losses": because(*map(str, [old, *STEPS]))}
    before = bad()
    is_same = isinstance(old, str) and key in ("expr", "source", "subject", "when") and old.split() == str(new).split()
    found = refused(before, answer)
    assert (found == ()) == (is_same or old == new), (name, key, old, new, found)


@settings(max_examples=10)
@given(st.sets(st.sampled_from(STEPS), min_size=1))
def test_no_step_can_be_taken_out_by_naming_it(names: set[str]) -> None:
    """But the one with the problem, if nothing of it is lost."""
    answer = {**repair(), "removed": because(*sorted(names)), "losses": because(*STEPS)}
    assert refused(bad(), answer)


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
    assert "it takes out IS_INCIDENT, which no problem is about" in told["refused"]
    assert len(told["refused"]) > 40
    report = (tmp_path / "t" / "report.md").read_text()
    assert "- 1: 1 error; then 0 errors; refused: it takes out IS_INCIDENT, which no problem is about; " in report
    assert re.search(r"; and \d+ more", report)
    assert '  -{"name": "VERDICT", "op": "case"' in report
    assert "- 2: 1 error; then 0 errors; accepted. fixed" in report
    assert "04-repair: refused: it takes out IS_INCIDENT" in done.err
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
