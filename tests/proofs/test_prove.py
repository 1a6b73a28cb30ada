"""`prove`: reach, failures, bounds and properties of one seed; each restaurant that is printed is confirmed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from formulaseed.documents import FormulaSeed, load_seed
from formulaseed.errors import DataError, EvaluationError
from formulaseed.proofs import cells, search
from formulaseed.proofs.claims import proof_schema
from formulaseed.proofs.proving import Proofs, prove
from formulaseed.runtime.loading import compile_evaluator
from formulaseed.seed.write.canonical import format_json
from formulaseed.testing import reference_evaluate
from golden_lines import check_text
from helpers import ROOT, SEEDS_V2, TASKS, command, needs, tiny_seed, write_json, write_lines
from jsonschema import Draft202012Validator

needs("z3", "prove")
SCHEMA = Draft202012Validator(proof_schema())


def evaluate(seed: FormulaSeed, witness: dict[str, Any]) -> dict[str, Any]:
    """The steps of a witness by both evaluators, which must agree; empty if they fail."""
    inputs = witness["rows"], witness["context"], witness["parameters"]
    results: list[Any] = []
    for run in (compile_evaluator(seed).trace, lambda *given: reference_evaluate(seed, *given)):
        try:
            results.append({"steps": dict(run(*inputs)), "error": None})
        except EvaluationError as error:
            results.append({"steps": {}, "error": {"step": error.step, "kind": error.kind}})
    assert results[0] == results[1]
    assert results[0] == {key: witness[key] for key in ("steps", "error")}
    return dict(witness["steps"])


def check_witnesses(seed: FormulaSeed, proofs: Proofs) -> None:
    """The JSON is as its schema says, and every restaurant in it shows what it is printed for."""
    known = proofs.json
    SCHEMA.validate(known)
    for claim in known["verdicts"]:
        assert (claim["witness"] is not None) == (claim["status"] == "reached")
        if claim["witness"]:
            assert evaluate(seed, claim["witness"])[claim["name"]] == claim["value"]
    for claim in known["rules"]:
        if claim["witness"]:
            assert evaluate(seed, claim["witness"])[claim["name"]] == claim["value"]
    for claim in known["failures"]:
        if claim["witness"]:
            evaluate(seed, claim["witness"])
            assert claim["witness"]["error"] == {"step": claim["name"], "kind": claim["kind"]}
    for claim in known["bounds"]:
        for end in (claim["low"], claim["high"]):
            if end["witness"]:
                assert evaluate(seed, end["witness"])[claim["name"]] == end["reached"]


@pytest.mark.parametrize("path", SEEDS_V2, ids=lambda path: path.parent.name)
@pytest.mark.thorough
def test_nothing_stays_unknown_about_the_tasks(
    path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    """Every rule of every task is reached, nothing fails, every number has a bound that is reached or none.

    The text is as written, but for the restaurants, which depend on the version of the solver.
    """
    monkeypatch.setattr(search, "SAMPLES", 1_500)
    seed = load_seed(path)
    proofs = prove(seed)
    known = proofs.json
    check_witnesses(seed, proofs)
    assert {claim["status"] for claim in (*known["rules"], *known["verdicts"])} == {"reached"}
    assert {claim["status"] for claim in known["failures"]} <= {"safe"}
    assert {end["status"] for claim in known["bounds"] for end in (claim["low"], claim["high"])} <= {
        "tight",
        "open",
        "bound",
    }
    assert all(claim["status"] == "proved" for claim in known["properties"])
    text = re.sub(r"(?<=a restaurant with ).*|(?<=no bound found, ).*(?= is reached)", "…", proofs.markdown)
    text = text.replace(str(path), path.relative_to(ROOT).as_posix())
    check_text(Path(__file__).parent / "texts" / f"{path.parent.name}.md", text, pytestconfig)


def small_seed(*steps: dict[str, Any], **more: Any) -> FormulaSeed:
    """A seed with two counts, and the steps; the last one is its output."""
    counts = [
        {"name": "N", "op": "count"},
        {"name": "N_GOOD", "op": "count", "where": {"extraction.mood": "good"}},
    ]
    return load_seed(tiny_seed(compute=[*counts, *steps], output=[steps[-1]["name"]], parameters={}, **more))


def test_a_dead_rule_is_found() -> None:
    """A rule that no restaurant reaches is proved to be unreachable; all others have a restaurant."""
    share = {"name": "SHARE", "op": "expr", "expr": "N_GOOD / N if N > 0 else 0"}
    rules = [{"when": "SHARE > 1", "then": "dead"}, {"when": "SHARE > 0.5", "then": "high"}, {"else": "low"}]
    seed = small_seed(share, {"name": "LEVEL", "op": "case", "rules": rules})
    proofs = prove(seed)
    check_witnesses(seed, proofs)
    assert [claim.status for claim in proofs.claims.rules] == ["unreachable", "reached", "reached"]
    assert "LEVEL: 'dead' if SHARE > 1: no restaurant gets it, as proved" in proofs.text
    assert "2 of the 3 rules of LEVEL decide for some restaurant. The others:" in proofs.text


@pytest.mark.parametrize(
    ("match", "tried", "dead"),
    [
        ("exact", ["Thai", "Thai Fusion", "Vegan", "Vegan Thai"], []),
        ("substring_first", ["Thai", "Thai Fusion", "Vegan", "Vegan Thai"], ["Thai Fusion", "Vegan Thai"]),
        ("substring_max", ["Thai Fusion", "Thai", "Vegan", "Vegan Thai"], ["Vegan Thai"]),
    ],
)
def test_a_dead_key_is_found(match: str, tried: list[str], dead: list[str]) -> None:
    """A key of a lookup behind one that matches the same strings is never reached; all others, and the default, are."""
    table = {"Thai": 1.0, "Thai Fusion": 3.0, "Vegan": 0.5, "Vegan Thai": 0.2}
    lookup = {"name": "L", "op": "lookup", "source": "context.categories", "match": match, "table": table}
    seed = small_seed({**lookup, "default": 0.0})
    proofs = prove(seed)
    check_witnesses(seed, proofs)
    claims = proofs.claims.rules
    assert [claim.value for claim in claims] == [*(table[key] for key in tried), 0.0]
    assert [claim.status for claim in claims] == [
        *("unreachable" if key in dead else "reached" for key in tried),
        "reached",
    ]
    for key in dead:
        assert f"L: {table[key]} if '{key}' in context.categories: no restaurant gets it, as proved" in proofs.text


def test_a_failure_has_a_restaurant() -> None:
    """A quotient that divides by zero fails for a restaurant; one that a condition guards cannot fail."""
    safe = {"name": "SAFE", "op": "expr", "expr": "N_GOOD / N if N_GOOD > 0 else 0"}
    seed = small_seed(safe, {"name": "BAD", "op": "expr", "expr": "N / N_GOOD + SAFE"})
    proofs = prove(seed)
    check_witnesses(seed, proofs)
    assert [(claim.name, claim.status) for claim in proofs.claims.failures] == [("SAFE", "safe"), ("BAD", "fails")]
    assert "BAD fails (division by zero) for a restaurant with no reviews" in proofs.text


def test_bounds_are_tighter_than_intervals() -> None:
    """A share is at most 1, which the checker's intervals do not know; a count has no bound."""
    seed = small_seed({"name": "SHARE", "op": "expr", "expr": "100 * N_GOOD / N if N > 0 else 0"})
    [claim] = prove(seed).claims.bounds
    assert (claim.low.status, claim.low.bound, claim.high.status, claim.high.bound) == ("tight", 0, "tight", 100)
    step = next(step for step in seed.program.steps if step.name == "SHARE")
    assert step.range is not None
    assert step.range.high > 1e9
    [claim] = prove(small_seed({"name": "TOTAL", "op": "expr", "expr": "N + 1"})).claims.bounds
    assert (claim.low.status, claim.high.status) == ("tight", "open")


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("increasing SCORE in N_GOOD", "proved"),
        ("decreasing SCORE in N_GOOD", "refuted"),
        ("increasing N in N", "proved"),
        ("decreasing N in N", "refuted"),
        ("never_lowers SCORE by GOOD", "proved"),
        ("never_lowers SCORE by BAD", "refuted"),
        ("never_raises N_GOOD by BAD", "proved"),
    ],
)
def test_properties_are_decided(text: str, status: str) -> None:
    """A step that grows, or one more review of a filter, moves a number only one way; else a restaurant shows it."""
    steps = [
        {"name": "GOOD", "op": "define_filter", "extraction": {"mood": "good"}},
        {"name": "BAD", "op": "define_filter", "extraction": {"mood": "bad"}},
        {"name": "SCORE", "op": "expr", "expr": "max(0, min(10, 2 * N_GOOD - (N - N_GOOD)))"},
    ]
    [claim] = prove(small_seed(*steps), properties=[text]).claims.properties
    assert claim.status == status
    assert (claim.witness is not None) == (status == "refuted")


def test_a_seed_declares_what_one_more_review_does() -> None:
    """Reviews are given by conditions, also on fields that no step uses; `{}` is any review."""
    kinds: dict[str, dict[str, Any]] = {
        "never_lowers": {"extraction.mood": "good"},
        "never_raises": {"extraction.mood": {"!=": "good"}, "meta.useful": {">": 2}},
    }
    declared = [{way: "SCORE", "review": review} for way, review in kinds.items()]
    score = {"name": "SCORE", "op": "expr", "expr": "max(0, min(10, 3 * N_GOOD - N))"}
    seed = small_seed(score, properties=[*declared, {"never_lowers": "SCORE", "review": {}}])
    proofs = prove(seed)
    check_witnesses(seed, proofs)
    assert [(claim.text, claim.status) for claim in proofs.claims.properties] == [
        ("never_lowers SCORE by a review where extraction.mood == 'good'", "proved"),
        ("never_raises SCORE by a review where extraction.mood != 'good' and meta.useful > 2", "proved"),
        ("never_lowers SCORE by any review", "refuted"),
    ]
    assert "SCORE by any review: refuted. SCORE goes from" in proofs.text


def test_the_flaw_of_a_policy_is_found() -> None:
    """In the allergy policy, one more firsthand reaction can lower the risk."""
    seed = load_seed(TASKS / "g1a_v2" / "seed.json")
    [claim] = prove(seed, properties=["never_lowers FINAL_RISK_SCORE by IS_INCIDENT"], quick=True).claims.properties
    assert claim.status == "refuted"
    assert claim.witness is not None
    assert claim.added is not None
    before, after = (w.steps["FINAL_RISK_SCORE"] for w in (claim.witness, claim.added))
    assert (before, after) == (claim.before, claim.after)
    assert claim.after < claim.before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rising SCORE in N", "a property is"),
        ("increasing SCORE in M", "`M` is none of the numeric steps"),
        ("never_lowers SCORE by N", "`N` is none of the filters"),
        ("increasing\nSCORE", "a property is"),
    ],
)
def test_a_wrong_property_is_refused(text: str, message: str) -> None:
    """A text that is no property, or names no step that fits, is refused by name."""
    with pytest.raises(DataError, match=message):
        prove(small_seed({"name": "SCORE", "op": "expr", "expr": "N + 1"}), properties=[text])


def test_the_command_ends_by_the_properties(tmp_path: Path) -> None:
    """Status 0 if all hold, 1 if one is refuted, 3 if one is unknown."""
    seed = tiny_seed(
        parameters={},
        compute=[{"name": "N", "op": "count"}, {"name": "M", "op": "expr", "expr": "N * 2"}],
        output=["M"],
    )
    path = write_json(tmp_path / "seed.json", seed)
    command("prove", path, "--property", "increasing M in N").expect(0)
    command("prove", path, "--property", "decreasing M in N").expect(1)
    command("prove", path, "--property", "increasing M in N", "--quick").expect(3)
    command("prove", path, "--property", "growing M").expect(1, "a property is")


def list_witnesses(value: Any) -> Iterator[dict[str, Any]]:
    """Every restaurant in the JSON of proofs."""
    if isinstance(value, dict) and "business_id" in value:
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from list_witnesses(part)


def test_the_restaurants_of_the_json_are_lines_of_rows(tmp_path: Path) -> None:
    """`evaluate` takes each as it is and gives what it says; the module does, too."""
    share = {"name": "SHARE", "op": "expr", "expr": "N_GOOD / N if N > 1 else 1 / N"}
    verdict = {"name": "LEVEL", "op": "case", "rules": [{"when": "SHARE > 0.5", "then": "high"}, {"else": "low"}]}
    counts = [{"name": "N", "op": "count"}, {"name": "N_GOOD", "op": "count", "where": {"extraction.mood": "good"}}]
    seed = tiny_seed(compute=[*counts, share, verdict], output=["SHARE", "LEVEL"], parameters={})
    path = write_json(tmp_path / "seed.json", seed)
    claims = ("--property", "decreasing SHARE in N_GOOD")
    known = json.loads(command("prove", path, *claims, "--format", "json").expect(1).out)
    SCHEMA.validate(known)
    witnesses = {witness["business_id"]: witness for witness in list_witnesses(known)}
    assert {"LEVEL high", "LEVEL rule 1 high", "SHARE fails", "SHARE lowest", claims[1]} <= witnesses.keys()
    rows = write_lines(tmp_path / "rows.jsonl", *witnesses.values())
    command("compile", path, "--out", tmp_path).expect(0)
    for source in (path, next(tmp_path.glob("*.py"))):
        lines = command("evaluate", source, "--rows", rows).expect(3).out.splitlines()
        results = {result["business_id"]: result for result in map(json.loads, lines)}
        assert results.keys() == witnesses.keys()
        for name, witness in witnesses.items():
            if witness["error"] is None:
                assert results[name]["output"] == {step: witness["steps"][step] for step in ("SHARE", "LEVEL")}
            else:
                assert witness["error"].items() <= results[name]["error"].items()


def test_the_schema_of_proofs_is_published() -> None:
    """The committed one is current, describes every key, and refuses what is missing or unknown."""
    committed = ROOT / "grammar" / "proof.schema.json"
    assert committed.read_text(encoding="utf-8") == format_json(proof_schema())
    for part in (SCHEMA.schema, *SCHEMA.schema["$defs"].values()):
        assert [name for name, key in part["properties"].items() if not {"description", "$ref"} & {*key}] == []
    known = prove(small_seed({"name": "M", "op": "expr", "expr": "N * 2"}), quick=True).json
    for wrong in ({**known, "more": 1}, {name: value for name, value in known.items() if name != "bounds"}):
        assert not SCHEMA.is_valid(wrong)
    again = command("schema", "--of", "proof", "--check", committed)
    assert (again.status, again.out) == (0, f"{committed}: current\n")


def test_the_output_is_the_same_each_time() -> None:
    """Effort is counted in the solver's units and choices are seeded, so that two runs print the same."""
    seed = load_seed(TASKS / "g1a_v1" / "seed.json")
    assert prove(seed, any_parameters=True).text == prove(seed, any_parameters=True).text


def test_the_domain_may_be_wide() -> None:
    """With `wide`, stars may be any number, also the largest that the module accepts."""
    steps = [{"name": "BEST", "op": "max", "field": "meta.stars", "default": 0}]
    narrow, wide = (prove(small_seed(*steps), wide=wide).claims.bounds[0] for wide in (False, True))
    assert (narrow.high.status, narrow.high.bound) == ("tight", 5)
    assert (wide.high.status, wide.high.bound) == ("tight", 10**100)


def test_a_step_may_be_a_nullable_field() -> None:
    """A step that is nothing but a field can be null, and both branches of a test for null are reached."""
    context = [{"name": "tier", "type": "integer", "nullable": True}]
    rules = [{"when": "TIER == None", "then": "none"}, {"else": "some"}]
    steps = [{"name": "TIER", "op": "expr", "expr": "context.tier"}, {"name": "KIND", "op": "case", "rules": rules}]
    proofs = prove(small_seed(*steps, context=context))
    assert [claim.status for claim in proofs.claims.verdicts] == ["reached", "reached"]


@pytest.mark.parametrize(
    "text",
    [
        "((((0.12345678901234567 ** 8) ** 8) ** 8) ** 8) ** 8",
        "((((context.stars / 7.123456789) ** 8) ** 8) ** 8) ** 8",
        "context.stars" + " * 1e-300" * 30,
        "1 / -param.LIMIT ** 64",
        "param.LIMIT ** min(64, context.review_count)",
    ],
)
def test_numbers_with_thousands_of_digits_are_not_computed(text: str) -> None:
    parameters = {"LIMIT": {"type": "number", "minimum": 0, "maximum": 1e100, "default": 1e100}}
    seed = tiny_seed(parameters=parameters, compute=[{"name": "X", "op": "expr", "expr": text}], output=["X"])
    [bounds] = prove(seed).json["bounds"]
    assert bounds["low"]["status"] != "open"


def test_too_many_cells_are_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without cells, aggregates are only bounded: fewer claims are proved, none is wrong, and the text says so."""
    monkeypatch.setattr(cells, "MAX_CELLS", 1)
    seed = small_seed({"name": "SHARE", "op": "expr", "expr": "100 * N_GOOD / N if N > 0 else 0"})
    proofs = prove(seed, properties=["increasing SHARE in N_GOOD"])
    check_witnesses(seed, proofs)
    assert "too many kinds to follow" in proofs.text
    assert proofs.claims.bounds[0].high.status == "unknown"
