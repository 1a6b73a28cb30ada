"""`check --policy`: seeds of this repository agree with their policies; differences are reported, suppressed or known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers import SEEDS_V2, TASKS, command, formulaseed

CITED = sorted(path.parent.name for path in TASKS.glob("*/policy.json"))
SENTENCE = "A severe reaction weighs 15."


def write(folder: Path, *, notes: object = None, policy: str = SENTENCE, **changes: Any) -> tuple[Path, Path]:
    """Write a seed of one step, its policy and notes on it into a folder; return the paths of seed and policy."""
    step = {"name": "WEIGHT", "op": "const", "value": 15, "sources": [SENTENCE], **changes}
    seed = {"task_name": "Cited", "extract": {"fields": []}, "compute": [step], "output": ["WEIGHT"]}
    seed |= {"allow": {"FS608": "a constant is enough for these tests"}}
    (folder / "seed.json").write_text(json.dumps(seed), encoding="utf-8")
    (folder / "task.md").write_text(policy, encoding="utf-8")
    if notes is not None:
        (folder / "policy.json").write_text(json.dumps(notes), encoding="utf-8")
    return folder / "seed.json", folder / "task.md"


def codes(seed: Path, policy: Path, *options: object, status: int) -> list[str]:
    """Check a seed with its policy as the command does; return the codes that it prints as JSON."""
    outcome = command("check", seed, "--policy", policy, "--format", "json", *options).expect(status)
    return [diagnostic["code"] for diagnostic in json.loads(outcome.out)]


def test_all_tasks_are_compared() -> None:
    """All but the seed v1, whose format has no `sources`."""
    assert [path.parent.name for path in SEEDS_V2] == CITED


@pytest.mark.parametrize("task", CITED)
def test_tasks_agree_with_their_policies(task: str) -> None:
    """No gap is open, none is known that is closed, and every suppression is needed."""
    outcome = command("check", TASKS / task / "seed.json", "--policy", TASKS / task / "task.md", "--format", "json")
    assert (outcome.status, outcome.err) == (0, "")
    assert not [found for found in json.loads(outcome.out) if found["code"].startswith(("FS64", "FS620"))]


def test_a_changed_value_is_reported(tmp_path: Path) -> None:
    seed, policy = write(tmp_path, value=25)
    outcome = formulaseed("check", seed, "--policy", policy).expect(1)
    assert "FS642" in outcome.out
    assert "seed.json:1:" in outcome.out
    assert "1 warning" in outcome.out
    formulaseed("check", seed).expect(0)


def test_a_new_rule_of_the_policy_is_reported_there(tmp_path: Path) -> None:
    seed, policy = write(tmp_path, policy=f"{SENTENCE}\nReviews with one star count twice.")
    outcome = formulaseed("check", seed, "--policy", policy).expect(1)
    assert "task.md:2:1" in outcome.out
    assert "FS643" in outcome.out


def test_a_suppression_has_a_reason_and_a_use(tmp_path: Path) -> None:
    """It is not unused where there is no policy to compare with; with one, it is if it covers nothing."""
    allow = {"allow": {"FS642": "weighed anew"}}
    seed, policy = write(tmp_path, value=25, **allow)
    assert codes(seed, policy, status=0) == []
    command("check", seed, "--strict", "--notes").expect(0, out=f"{seed}: no problems\n")
    seed, policy = write(tmp_path, **allow)
    assert codes(seed, policy, status=1) == ["FS620"]


def test_known_gaps(tmp_path: Path) -> None:
    """They are those beside the policy, or of the baseline, so that a gap which a change lists is still reported."""
    known = "FS642 step WEIGHT: 25"
    seed, policy = write(tmp_path, value=25, notes={"gaps": [known]})
    assert codes(seed, policy, status=0) == []
    before = tmp_path / "before.json"
    before.write_text('{"gaps": []}', encoding="utf-8")
    assert codes(seed, policy, "--baseline", before, status=1) == ["FS642"]
    assert codes(seed, policy, "--baseline", tmp_path / "policy.json", status=0) == []
    seed, policy = write(tmp_path, notes={"gaps": [known]})
    command("check", seed, "--policy", policy).expect(0, f"closed, to be removed from `gaps`: {known}")


def test_notes_are_checked(tmp_path: Path) -> None:
    """Sentences that state no rule are in the policy; the file has the form that the documentation shows."""
    text = f"{SENTENCE} Higher is worse."
    seed, policy = write(tmp_path, policy=text, notes={"no_rule": ["Higher is **worse**."]})
    assert codes(seed, policy, status=0) == []
    for notes, code in (
        ({"no_rule": ["Higher is better."]}, "FS641"),
        ({"norule": []}, "FS501"),
        ({"gaps": "none"}, "FS503"),
        ({"gaps": [3]}, "FS503"),
        ([], "FS503"),
    ):
        seed, policy = write(tmp_path, policy=text, notes=notes)
        outcome = command("check", seed, "--policy", policy)
        assert (outcome.status, code in outcome.err) == (1, True), outcome


def test_wrong_usage(tmp_path: Path) -> None:
    seed, policy = write(tmp_path)
    command("check", seed, seed, "--policy", policy).expect(2, "pass one file")
    command("check", seed, "--baseline", policy).expect(2, "pass --policy too")
    command("check", TASKS / "g1a_v1" / "seed.json", "--policy", policy).expect(2, "pass a seed v2")
    command("check", "examples/requests.jsonl", "--policy", policy).expect(2, "pass a seed v2")
    command("check", seed, "--policy", tmp_path / "none.md").expect(2, "cannot read")
    policy.write_bytes(b"\xff")
    command("check", seed, "--policy", policy).expect(1, "not UTF-8")
    policy.write_text("# Title only\n", encoding="utf-8")
    command("check", seed, "--policy", policy).expect(1, "says nothing")


def test_a_seed_with_errors_is_not_compared(tmp_path: Path) -> None:
    seed, policy = write(tmp_path, op="const_", value=25)
    assert "FS642" not in codes(seed, policy, status=1)
