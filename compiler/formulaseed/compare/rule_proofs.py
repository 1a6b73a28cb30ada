"""Prove of rules that no restaurant at hand reaches whether any does. In: a seed and rules. Out: words and JSON."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from formulaseed.documents import FormulaSeed
from formulaseed.language.types import Value


class RuleProof(NamedTuple):
    """A restaurant that reaches a rule, or that there is none, or that neither is known: in words, and as JSON."""

    text: str
    json: dict[str, Any]


def prove_rules(
    seed: FormulaSeed, rules: Collection[tuple[str, int | None]], parameters: Mapping[str, Value] | None
) -> dict[tuple[str, int | None], RuleProof]:
    """Return the proofs of some rules of a seed, each given by the name of its step and its position.

    Raises `MissingExtraError` if the solver is not installed, unless there are no rules.
    """
    if not rules:
        return {}
    from formulaseed.proofs.proving import prove
    from formulaseed.proofs.report import describe_witness

    proofs = prove(seed, parameters=parameters)
    result: dict[tuple[str, int | None], RuleProof] = {}
    for claim, claim_json in zip(proofs.claims.rules, proofs.json["rules"], strict=True):
        if (claim.name, claim.rule) in rules:
            text = "not known whether there is one"
            if claim.witness is not None:
                text = f"a restaurant with {describe_witness(seed.program, claim.witness)}"
            elif claim.status == "unreachable":
                text = "there is none, as proved, so that the rule can be deleted"
            json = {"status": claim.status, "witness": claim_json["witness"]}
            result[claim.name, claim.rule] = RuleProof(text, json)
    return result
