"""Proofs of a loan policy and of an access policy: the same claims, about applicants and users."""

from __future__ import annotations

import json
from typing import Any

import pytest
from formulaseed.compare.diff import diff
from formulaseed.proofs.proving import prove
from helpers import EXAMPLES, needs

needs("z3", "prove")

LOAN, ACCESS = (json.loads((EXAMPLES / name).read_text(encoding="utf-8")) for name in ("loan.json", "access.json"))
CASES = [
    (
        LOAN,
        "POINTS >= 700 and N_REPAID == 0",
        {"never_lowers POINTS by REPAID": "refuted", "decreasing POINTS in N_DEFAULTED": "proved"},
    ),
    (
        ACCESS,
        "N_ADMINS > 0 and N_GRANTS == 0",
        {"never_raises ALLOWED by SUSPENSION": "proved", "never_lowers ALLOWED by GRANT": "proved"},
    ),
]


def decision(seed: dict[str, Any]) -> dict[str, Any]:
    """The step that decides."""
    return next(step for step in seed["compute"] if step["name"] == "DECISION")


@pytest.mark.parametrize(("seed", "dead", "properties"), CASES, ids=["loan", "access"])
def test_one_rule_is_dead_and_properties_are_decided(
    seed: dict[str, Any], dead: str, properties: dict[str, str]
) -> None:
    """All other rules have a restaurant, and no step can fail."""
    proofs = prove(seed, properties=[*properties])
    rules = decision(seed)["rules"]
    reached = {claim.rule: claim.status for claim in proofs.claims.rules if claim.name == "DECISION"}
    assert [rules[place or 0]["when"] for place, status in reached.items() if status == "unreachable"] == [dead]
    assert set(reached.values()) == {"reached", "unreachable"}
    assert all(claim.status == "safe" for claim in proofs.claims.failures)
    assert properties.items() <= {claim.text: claim.status for claim in proofs.claims.properties}.items()


def test_an_edit_of_an_access_policy() -> None:
    """Without the dead rule no decision moves; a wider rule that also forgets secret documents moves them both ways."""
    shorter, wider = (json.loads(json.dumps(ACCESS)) for _ in range(2))
    del decision(shorter)["rules"][3]
    assert "No restaurant gets another DECISION." in diff(ACCESS, shorter, prove=True).text
    decision(wider)["rules"][6]["when"] = "context.action != 'read' and context.level != 'secret' and N_EDITORS > 0"
    proof = diff(ACCESS, wider, prove=True).proof
    assert proof is not None
    assert {(move.old, move.new): move.status for move in proof.moves} == {
        ("deny", "allow"): "possible",
        ("allow", "deny"): "possible",
    }
