"""`cover --prove`: a rule that no restaurant at hand reaches has a restaurant that does, or is proved to have none."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from formulaseed.compare.cover import Coverage, cover
from helpers import command, needs, tiny_row, tiny_rows, tiny_seed, write_json, write_lines

needs("z3", "prove")

RULES = [
    {"when": "N_GOOD > N", "then": "dead"},
    {"when": "N_GOOD == 3", "then": "three"},
    {"when": "context.is_open == 0", "then": "closed"},
    {"else": "other"},
]
COUNTS = [{"name": "N", "op": "count"}, {"name": "N_GOOD", "op": "count", "where": {"extraction.mood": "good"}}]
SEED = tiny_seed(compute=[*COUNTS, {"name": "KIND", "op": "case", "rules": RULES}], output=["KIND"], parameters={})
ROWS = [tiny_rows("a", tiny_row("a"))]
DEAD, THREE, CLOSED = "'dead' if N_GOOD > N", "'three' if N_GOOD == 3", "'closed' if context.is_open == 0"


def missed(coverage: Coverage) -> list[str]:
    """The rules that none of the restaurants reaches."""
    return [item.text for item in coverage.items if item.kind == "rule" and not item.count]


def test_each_missed_rule_has_a_restaurant_or_none() -> None:
    """The proposed restaurants, added to the rows, reach their rules; what is proved of all restaurants stays unreached."""
    coverage = cover(SEED, ROWS, prove=True)
    items = [item for item in coverage.json["items"] if "proof" in item]
    assert missed(coverage) == [item["text"] for item in items] == [DEAD, THREE, CLOSED]
    assert [item["proof"]["status"] for item in items] == ["unreachable", "reached", "reached"]
    assert f"KIND: {DEAD}: there is none, as proved" in coverage.text
    assert f"KIND: {THREE}: a restaurant with 3 reviews" in coverage.text
    witnesses = [item["proof"]["witness"] for item in items if item["proof"]["witness"]]
    assert missed(cover(SEED, [*ROWS, *witnesses])) == [DEAD]


def test_the_branches_of_a_chain_are_rules() -> None:
    """A formula that chooses among literals, as in seeds v1, has rules, too; its last branch is one."""
    chain = "'dead' if N_GOOD > N else 'some' if N > 0 else 'none'"
    seed = tiny_seed(compute=[*COUNTS, {"name": "KIND", "op": "expr", "expr": chain}], output=["KIND"], parameters={})
    proofs = cover(seed, ROWS, prove=True).proofs
    assert {item.text: proof.json["status"] for item, proof in proofs.items()} == {
        "'dead' if N_GOOD > N": "unreachable",
        "'none' unless N > 0": "reached",
    }
    witnesses = [proof.json["witness"] for proof in proofs.values() if proof.json["witness"]]
    assert [item.text for item in cover(seed, [*ROWS, *witnesses], prove=True).proofs] == ["'dead' if N_GOOD > N"]


def test_the_solver_is_needed_for_missed_rules_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the option nothing is proved; without the solver an error says what to install, unless nothing is missed."""
    seed, rows = write_json(tmp_path / "seed.json", SEED), write_lines(tmp_path / "rows.jsonl", *ROWS)
    assert "proof" not in command("cover", seed, "--rows", rows, "--format", "json").expect(0).out
    done = command("cover", seed, "--rows", rows, "--prove", "--format", "json").expect(0)
    assert sum("proof" in item for item in json.loads(done.out)["items"]) == 3
    monkeypatch.setitem(sys.modules, "z3", None)
    command("cover", seed, "--rows", rows, "--prove").expect(2, "pip install 'formulaseed[prove]'")
    steps = [COUNTS[0], {"name": "KIND", "op": "case", "rules": [{"when": "N == 1", "then": "one"}, {"else": "more"}]}]
    other = tiny_seed(compute=steps, output=["KIND"], parameters={})
    assert cover(other, [*ROWS, tiny_rows("b")], prove=True).proofs == {}
