"""`diff --prove`: what two seeds have in common for all restaurants, and which verdicts can move."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from formulaseed.compare.diff import Difference, diff
from formulaseed.documents import load_seed
from formulaseed.errors import DataError, EvaluationError
from formulaseed.proofs.claims import SeedProof
from formulaseed.testing import reference_evaluate, restaurants, seeds
from helpers import IS_DEEP, TASKS, command, needs, places, tiny_seed, write_json
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

needs("z3", "prove")

G1A = json.loads((TASKS / "g1a_v2" / "seed.json").read_text(encoding="utf-8"))


def edited(**changes: Any) -> dict[str, Any]:
    """The allergy policy with changed keys of some steps, by their names."""
    seed = copy.deepcopy(G1A)
    for step in seed["compute"]:
        step.update(changes.get(step["name"], {}))
    return seed


def proof_of(difference: Difference) -> SeedProof:
    assert difference.proof is not None
    return difference.proof


def rules(*limits: float) -> dict[str, Any]:
    """The rules of the verdict with other limits."""
    words = ("Low Risk", "High Risk")
    listed: list[dict[str, Any]] = [
        {"when": f"< {limit}", "then": word} for limit, word in zip(limits, words, strict=True)
    ]
    return {"rules": [*listed, {"else": "Critical Risk"}]}


@pytest.mark.thorough
def test_a_threshold_moves_a_region() -> None:
    """A changed threshold moves exactly the scores between the old and the new one; no other move is possible."""
    difference = diff(G1A, edited(VERDICT=rules(5.0, 8.0)), prove=True)
    proof = proof_of(difference)
    assert {relation.status for relation in proof.relations if relation.name != "VERDICT"} == {"same"}
    assert [(move.old, move.new) for move in proof.moves if move.status != "impossible"] == [("High Risk", "Low Risk")]
    assert len(proof.moves) == 6
    assert "Exactly the restaurants with 4 <= FINAL_RISK_SCORE < 5 move, from High Risk to Low Risk." in difference.text
    assert difference.has_changed("verdicts")


@pytest.mark.thorough
def test_another_spelling_is_equal() -> None:
    """A reordered condition is the same expression, an inlined formula is proved equal; no verdict moves."""
    where = {
        "extraction.incident_severity": {"in": ["severe", "mild", "moderate"]},
        "extraction.account_type": "firsthand",
        "meta.year": {">": 2022},
    }
    difference = diff(G1A, edited(N_RECENT={"where": where}, TRUST_IMPACT={"expr": "3 - 3 * TRUST_SCORE"}), prove=True)
    proof = proof_of(difference)
    statuses = {relation.name: relation.status for relation in proof.relations}
    assert statuses.pop("TRUST_IMPACT") == "equal"
    assert statuses["N_TOTAL_INCIDENTS"] == "same"
    assert set(statuses.values()) == {"same", "equal"}
    assert proof.moves == []
    assert not difference.has_changed("verdicts")
    assert "No restaurant gets another VERDICT." in difference.text


def test_computed_constants_are_not_called_the_same() -> None:
    """0.1 + 0.2 is 0.3 in exact numbers, but not in those of a module: a restaurant shows it, and no claim is exact."""
    steps = [
        {"name": "SHARE", "op": "expr", "expr": "context.stars / 10"},
        {"name": "LEVEL", "op": "expr", "expr": "'high' if SHARE >= 0.1 + 0.2 else 'low'"},
        {"name": "PRICE", "op": "expr", "expr": "SHARE * (0.1 + 0.2)"},
        {"name": "TWICE", "op": "expr", "expr": "2 * PRICE"},
    ]
    changed = [
        steps[0],
        {**steps[1], "expr": "'high' if SHARE >= 0.3 else 'low'"},
        {**steps[2], "expr": "SHARE * 0.3"},
        steps[3],
    ]
    output = [step["name"] for step in steps]
    old, new = (tiny_seed(parameters={}, compute=own, output=output) for own in (steps, changed))
    proof = proof_of(diff(old, new, prove=True))
    statuses = {relation.name: relation.status for relation in proof.relations}
    assert statuses == {"SHARE": "same", "LEVEL": "differs", "PRICE": "equal", "TWICE": "equal"}
    assert [(move.old, move.new) for move in proof.moves if move.status == "possible"] == [("low", "high")]


def test_an_order_is_proved(tmp_path: Path) -> None:
    """A larger weight never lowers the score; the command fails if a verdict may move, and prints JSON."""
    steps: list[dict[str, Any]] = [
        {"name": "N", "op": "count", "where": {"extraction.mood": "bad"}},
        {"name": "SCORE", "op": "expr", "expr": "min(20, 2 * N)"},
        {
            "name": "VERDICT",
            "op": "case",
            "source": "SCORE",
            "rules": [{"when": "< 5", "then": "fine"}, {"else": "poor"}],
        },
    ]
    old = write_json(tmp_path / "old.json", tiny_seed(parameters={}, compute=steps, output=["SCORE", "VERDICT"]))
    steps[1] = {**steps[1], "expr": "min(20, 3 * N)"}
    new = write_json(tmp_path / "new.json", tiny_seed(parameters={}, compute=steps, output=["SCORE", "VERDICT"]))
    result = command("diff", old, new, "--prove", "--fail-on", "verdicts", "--format", "json").expect(1)
    proof = json.loads(result.out)["proof"]
    assert [(part["name"], part["status"], part["order"]) for part in proof["outputs"]] == [
        ("SCORE", "differs", "never lower"),
        ("VERDICT", "differs", None),
    ]
    assert [(move["from"], move["to"], move["status"]) for move in proof["moves"]] == [
        ("fine", "poor", "possible"),
        ("poor", "fine", "impossible"),
    ]
    witness = proof["moves"][0]["witness"]
    for side, path in (("old", old), ("new", new)):
        assert reference_evaluate(path, witness[side]["rows"], witness[side]["context"]) == witness[side]["steps"]
    assert len(witness["old"]["rows"]) == 2


def test_a_failure_of_one_seed_is_a_move() -> None:
    """A seed that no longer guards a division fails for a restaurant that the old seed evaluates."""
    steps = [{"name": "N", "op": "count"}, {"name": "S", "op": "expr", "expr": "10 / N if N > 0 else 10"}]
    old = tiny_seed(parameters={}, compute=steps, output=["S"])
    new = tiny_seed(parameters={}, compute=[steps[0], {**steps[1], "expr": "10 / N"}], output=["S"])
    difference = diff(old, new, prove=True)
    assert difference.has_changed("verdicts")
    assert "the new seed fails for a restaurant that the other one evaluates: possible" in difference.text


def test_two_settings_are_compared() -> None:
    """Each seed has its own parameters."""
    difference = diff(tiny_seed(), tiny_seed(), parameters_new={"LEAST": 3}, prove=True)
    assert [(move.old, move.new) for move in proof_of(difference).moves if move.status == "possible"] == [
        ("good", "few"),
        ("bad", "few"),
    ]


def test_fields_of_other_types_are_refused() -> None:
    """Proofs are about restaurants that both seeds accept; a field with another type has none."""
    step = {"name": "N", "op": "count", "where": {"extraction.score": 1}}
    other = {"name": "N", "op": "count", "where": {"extraction.score": "1"}}
    fields = [{"name": "score", "type": "string", "description": "Points given", "default": "0"}]
    old = tiny_seed(parameters={}, compute=[step], output=["N"])
    new = tiny_seed(parameters={}, compute=[other], output=["N"], extract={"fields": fields})
    with pytest.raises(DataError, match=r"`extraction\.score` has no value that both seeds accept"):
        diff(old, new, prove=True)


def test_a_verdict_without_listed_values_may_move() -> None:
    """A verdict that is any string has no list of moves; it may have moved unless it is proved equal."""
    steps = [{"name": "NAME", "op": "expr", "expr": "context.name if context.is_open == 1 else 'closed'"}]
    old = tiny_seed(parameters={}, compute=steps, output=["NAME"])
    new = tiny_seed(
        parameters={},
        compute=[{**steps[0], "expr": "context.name if context.is_open == 0 else 'closed'"}],
        output=["NAME"],
    )
    difference = diff(old, new, prove=True)
    assert difference.has_changed("verdicts")
    assert "No restaurant gets another" not in difference.text
    same = diff(old, old, prove=True)
    assert "No restaurant gets another NAME." in same.text
    assert not same.has_changed("verdicts")


def test_a_verdict_may_become_null() -> None:
    """Null is one of the values of a verdict that may be null."""
    steps = [{"name": "N", "op": "count"}, {"name": "KIND", "op": "expr", "expr": "'some' if N > 0 else 'none'"}]
    old = tiny_seed(parameters={}, compute=steps, output=["KIND"])
    new = tiny_seed(
        parameters={}, compute=[steps[0], {**steps[1], "expr": "'some' if N > 0 else None"}], output=["KIND"]
    )
    moves = [(move.old, move.new) for move in proof_of(diff(old, new, prove=True)).moves if move.status == "possible"]
    assert moves == [("none", None)]


# --- mutants


def mutants(seed: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Copies of a seed in which one number of a step has become larger by 1."""
    for position, (container, key) in enumerate(places(seed["compute"])):
        if isinstance(container[key], int | float) and not isinstance(container[key], bool):
            copied = copy.deepcopy(seed)
            inner, name = list(places(copied["compute"]))[position]
            inner[name] += 1
            yield copied


@pytest.mark.thorough
@settings(max_examples=2_000 if IS_DEEP else 20, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_no_mutant_is_called_equal(data: st.DataObject) -> None:
    """If a proof says that an output is equal for all restaurants, no random restaurant has another value."""
    old = data.draw(seeds(max_steps=5))
    changed = list(mutants(old))
    assume(changed)
    new = data.draw(st.sampled_from(changed))
    try:
        difference = diff(old, new, prove=True)
    except Exception as error:  # the mutant is no seed
        assume(type(error).__name__ not in ("SeedError", "DataError"))
        raise
    proof = proof_of(difference)
    old_seed, new_seed = load_seed(old), load_seed(new)
    for _ in range(5):
        restaurant = data.draw(restaurants(old_seed))
        values: list[dict[str, Any]] = []
        for seed in (old_seed, new_seed):
            try:
                values.append(reference_evaluate(seed, restaurant.rows, restaurant.context))
            except (EvaluationError, DataError):
                break
        if len(values) < 2:
            continue
        for relation in proof.relations:
            before, after = values[0][relation.old_name], values[1][relation.name]
            if relation.status in ("same", "equal"):
                is_number = isinstance(before, int | float) and isinstance(after, int | float)
                assert before == after or (is_number and abs(before - after) <= 1e-6 * max(1, abs(before)))  # type: ignore[operator]
        if proof.verdict is not None:
            relation = next(part for part in proof.relations if part.name == proof.verdict)
            before, after = values[0][relation.old_name], values[1][proof.verdict]
            assert before == after or not all(
                move.status == "impossible" for move in proof.moves if (move.old, move.new) == (before, after)
            )
