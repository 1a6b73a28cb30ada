"""A model's answers match their schemas, become a seed, and are repaired."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from drafts import BAD_SEED, CONDITIONS, G1A, GOOD, GRAPH, REPAIR, answers_of, change_seed, good_seed, repair, step_of
from formulaseed.documents import compile_seed, load_seed
from formulaseed.draft import wire
from formulaseed.draft.acceptance import find_losses
from formulaseed.draft.checking import check_draft
from formulaseed.draft.conversion import apply_repair, assemble_draft, convert_draft
from formulaseed.draft.prompts import format_values
from formulaseed.draft.report import write_report
from formulaseed.draft.session import DraftResult, RepairAttempt, repair_values
from formulaseed.ir.text import dump_program
from formulaseed.llm.calls import UnusableAnswer
from formulaseed.llm.prices import read_prices
from formulaseed.seed.read.words import WORD_KEYS
from formulaseed.seed.write.canonical import canonicalize, format_json
from helpers import SEEDS_V2, places
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

# --- schemas


SCHEMAS = {"conditions": wire.CONDITIONS, "graph": wire.GRAPH, "seed": wire.SEED, "repair": wire.REPAIR}


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_the_schemas_are_those_of_structured_output(schema: dict[str, Any]) -> None:
    """Closed objects whose keys are all required, at most sixteen unions, no recursion, every reference defined."""
    objects = [value for value in _values(schema) if value.get("type") == "object"]
    assert all(o["additionalProperties"] is False and o["required"] == list(o["properties"]) for o in objects)
    uses = [value["$ref"] for value in _values({k: v for k, v in schema.items() if k != "$defs"}) if "$ref" in value]
    assert _unions(schema, schema["$defs"]) <= 16
    seen = []
    while uses:
        name = uses.pop().removeprefix("#/$defs/")
        seen.append(name)
        assert len(seen) < 100, "a definition leads to itself"
        uses += [value["$ref"] for value in _values(schema["$defs"][name]) if "$ref" in value]
    assert set(seen) == set(schema["$defs"])
    assert len(json.dumps(schema)) < 8_500


def _unions(schema: Any, definitions: dict[str, Any]) -> int:
    """Count the unions of a schema with every reference written out."""
    if isinstance(schema, list):
        return sum(_unions(item, definitions) for item in schema)
    if not isinstance(schema, dict):
        return 0
    if "$ref" in schema:
        return _unions(definitions[schema["$ref"].removeprefix("#/$defs/")], definitions)
    inner = sum(_unions(item, definitions) for key, item in schema.items() if key != "$defs")
    return inner + ("anyOf" in schema)


def _values(schema: Any) -> list[dict[str, Any]]:
    return [s for s in [schema, *(holder[key] for holder, key in places(schema))] if isinstance(s, dict)]


@pytest.mark.parametrize(
    ("schema", "answer"), [*zip(SCHEMAS.values(), (CONDITIONS, GRAPH, BAD_SEED, REPAIR), strict=True)], ids=SCHEMAS
)
@pytest.mark.thorough
def test_an_answer_is_checked_against_its_schema(schema: dict[str, Any], answer: dict[str, Any]) -> None:
    assert wire.read_answer(json.dumps(answer), schema) == answer
    count = len(list(places(answer)))
    assert count > 20
    for number in range(min(count, 60)):
        spoilt = copy.deepcopy(answer)
        holder, key = list(places(spoilt))[number]
        holder[key] = {"nested": [None]}
        with pytest.raises(UnusableAnswer, match="does not match its schema"):
            wire.read_answer(json.dumps(spoilt), schema)
        if isinstance(holder, dict) and key not in WORD_KEYS:
            del holder[key]
            with pytest.raises(UnusableAnswer, match="does not match its schema"):
                wire.read_answer(json.dumps(spoilt), schema)


def test_words_for_people_may_be_left_out() -> None:
    """Where no schema is enforced, an answer without labels and reasons is usable, and the seed has none."""
    steps = [{key: value for key, value in step.items() if key not in WORD_KEYS} for step in good_seed()["steps"]]
    steps = [{**step, "rules": [{"when": r["when"], "then": r["then"]} for r in step["rules"]]} if "rules" in step else step
             for step in steps]  # fmt: skip
    answer = wire.read_answer(json.dumps({**good_seed(), "steps": steps}), wire.SEED)
    text, _ = convert_draft(assemble_draft(CONDITIONS, answer), G1A)
    assert not any(key in item for item in json.loads(text)["compute"] for key in WORD_KEYS)
    text, _ = convert_draft(assemble_draft(CONDITIONS, good_seed()), G1A)
    verdict = json.loads(text)["compute"][-1]
    assert (verdict["label"], [rule["because"][:22] for rule in verdict["rules"]]) == (
        "verdict", ["the risk score is unde", "the risk score is at l", "the risk score is 8 or"]
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    ["", "no", "[]", "3", "null", '{"steps": NaN}', '{"a": 1, "a": 1}', '{"a": "\\ud800"}', "9" * 50, '{"a": 1e999}',
     "[" * 100_000, "[" * 20 + "]" * 20, '"' + "x" * 2_000_001 + '"'],
    ids=lambda text: text[:20],
)  # fmt: skip
def test_what_is_no_answer_is_refused(text: str) -> None:
    with pytest.raises(UnusableAnswer, match="the answer"):
        wire.read_answer(text, wire.GRAPH)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"expr": 3}, r"`steps\[9\]\.expr\.expr` must be a string"),
        ({"op": "eval"}, r"`steps\[9\]` has an unknown `op`"),
    ],
)
def test_steps_are_checked_against_the_schema_of_their_operation(change: dict[str, Any], message: str) -> None:
    """The message is about the operation's own keys, not about all of them."""
    with pytest.raises(UnusableAnswer, match=message):
        wire.read_answer(json.dumps(change_seed("TRUST_RAW", **change)), wire.SEED)


# --- conversion and repair


def test_a_draft_becomes_the_seed_of_the_specification() -> None:
    """Numbers of sentences become sentences, a field is no formula, and empty parts go."""
    text, faults = convert_draft(assemble_draft(CONDITIONS, GOOD[2]), G1A)
    seed = json.loads(text)
    steps = {step["name"]: step for step in seed["compute"]}
    assert faults == []
    assert "where" not in steps["N_ALLERGY_REVIEWS"]
    assert (steps["MOST_RECENT_YEAR"]["field"], steps["MOST_RECENT_YEAR"]["default"]) == ("meta.year", 2020)
    texts = {sentence.text for sentence in G1A.sentences}
    for part in (*seed["compute"], *seed["extract"]["fields"]):
        assert part["sources"]
        assert set(part["sources"]) <= texts
    assert load_seed(seed).task_name == "G1a-v2"


@pytest.mark.parametrize("path", SEEDS_V2, ids=lambda path: path.parent.name)
@pytest.mark.thorough
def test_answers_can_express_every_seed_of_the_project(path: Path) -> None:
    task_seed = json.loads(path.read_text(encoding="utf-8"))
    task_seed.pop("properties", None)
    loaded = load_seed(task_seed)
    conditions, seed = answers_of(task_seed)
    for answer, schema in ((conditions, wire.CONDITIONS), (seed, wire.SEED)):
        assert wire.read_answer(json.dumps(answer), schema) == answer
    checked = check_draft(assemble_draft(conditions, seed), replace(G1A, name=loaded.task_name))
    assert checked.errors == 0, checked.faults
    assert checked.analysis.program is not None
    assert dump_program(checked.analysis.program) == dump_program(loaded.program)


def test_a_nullable_input_is_declared_where_it_belongs() -> None:
    """Among the context or the metadata; the seed that uses it has no defects."""
    declared = {"type": "integer", "values": [], "path": [], "nullable": True, "description": "", "sources": [1]}
    inputs = [{**declared, "of": "context", "name": "price_tier"}, {**declared, "of": "meta", "name": "fans"}]
    where = [{"subject": "meta.fans", "test": "is", "values": [3]}]
    steps = [
        {"name": "N", "op": "count", "where": where, "sources": [1]},
        {"name": "A", "op": "expr", "expr": "(context.price_tier or 0) + N", "sources": [1]},
    ]
    draft = assemble_draft({**CONDITIONS, "inputs": inputs}, {**GOOD[2], "steps": steps, "output": ["A"]})
    checked = check_draft(draft, G1A)
    assert not any(checked.defects), checked.faults
    seed = json.loads(checked.text)
    written = {"type": "integer", "nullable": True, "sources": [G1A.sentences[0].text]}
    assert seed["context"] == [{"name": "price_tier", **written}]
    assert seed["extract"]["meta"] == [{"name": "fans", **written}]


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ([("meta.stars", "!=", [1]), ("meta.stars", "!=", [2])], "`meta.stars` is tested with `!=` beside"),
        ([("meta.stars", ">", [1]), ("meta.stars", "is", [2])], "`meta.stars` is tested with `is` beside"),
        ([("meta.stars", "is", [])], "`is` of `meta.stars` takes one value, and there are 0"),
        ([("meta.stars", ">", [1, 2])], "`>` of `meta.stars` takes one value, and there are 2"),
    ],
)
def test_what_a_seed_cannot_say_is_a_fault(conditions: list[tuple[str, str, list[int]]], message: str) -> None:
    """Nothing of a draft is dropped in silence: it counts as an error, and goes back to the model."""
    where = [{"subject": subject, "test": test, "values": values} for subject, test, values in conditions]
    checked = check_draft(assemble_draft(CONDITIONS, change_seed("N_MILD", where=where)), G1A)
    assert checked.errors == 1
    assert message in repair_values(checked, G1A, None)["diagnostics"][0]["message"]


def test_a_repair_replaces_adds_moves_and_removes() -> None:
    """Parts are named; what is not named stays as it is, where it is."""
    draft = assemble_draft(CONDITIONS, GOOD[2])
    new = {"name": "EXTRA", "op": "const", "value": 2, "sources": [55]}
    answer = repair({**step_of(GOOD[2], "BASE_RISK"), "value": 2.5}, new)
    answer["steps"][1]["before"] = "RAW_RISK"
    answer |= {
        "removed": [{"name": name, "why": "wrong"} for name in ("N_OLD", "account_type")],
        "output": ["VERDICT"],
        "fields": [{**CONDITIONS["fields"][0], "name": "new"}],
    }
    repaired = apply_repair(draft, answer)
    steps = {step["name"]: step for step in repaired["steps"]}
    expected = [step["name"] for step in draft["steps"] if step["name"] != "N_OLD"]
    expected.insert(expected.index("RAW_RISK"), "EXTRA")
    assert [*steps] == [step["name"] for step in repaired["steps"]] == expected
    assert [field["name"] for field in repaired["fields"]] == ["incident_severity", "safety_interaction", "new"]
    assert (repaired["output"], repaired["keywords"]) == (["VERDICT"], draft["keywords"])
    assert steps["BASE_RISK"]["value"] == 2.5
    assert all(steps[step["name"]] == step for step in draft["steps"] if step["name"] not in ("N_OLD", "BASE_RISK"))


@pytest.mark.parametrize(
    "seed", [change_seed("TRUST_RAW", expr="NOTHING", sources=[]), {**GOOD[2], "output": ["NOTHING"]}]
)
def test_all_sentences_go_back_if_a_wrong_part_cites_none(seed: dict[str, Any]) -> None:
    checked = check_draft(assemble_draft(CONDITIONS, seed), G1A)
    assert checked.errors
    assert len(repair_values(checked, G1A, None)["sentences"]) == len(G1A.sentences)


def test_a_part_that_cites_no_sentence_goes_back() -> None:
    """It is no error, but a draft without it is better: a seed's parts come from somewhere."""
    seed = change_seed("TRUST_RAW", sources=[])
    step_of(seed, "RAW_RISK")["sources"] = [777]
    checked = check_draft(assemble_draft(CONDITIONS, seed), G1A)
    assert (checked.errors, any(checked.defects)) == (0, True)
    assert str(checked.defects) == "0 errors, 2 parts without a sentence"
    reported = [one["part"] for one in repair_values(checked, G1A, None)["diagnostics"] if "cites no" in one["message"]]
    assert reported == ["step TRUST_RAW", "step RAW_RISK"]
    better = check_draft(apply_repair(checked.draft, repair(step_of(GOOD[2], "RAW_RISK"))), G1A)
    assert better.defects < checked.defects


def answers(schema: dict[str, Any], definitions: dict[str, Any]) -> SearchStrategy[Any]:
    """Answers of a schema, with names that often meet, and texts that no policy has."""
    if "$ref" in schema:
        return answers(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in schema:
        return st.one_of([answers(choice, definitions) for choice in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema["type"]:
        case "object":
            return st.fixed_dictionaries({k: answers(v, definitions) for k, v in schema["properties"].items()})
        case "array":
            return st.lists(answers(schema["items"], definitions), max_size=3)
        case "string":
            return st.sampled_from(TEXTS) | st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
        case "integer":
            return st.integers(-2, 70) | st.integers(-(10**30), 10**30)
        case "number":
            return st.floats(allow_nan=False, allow_infinity=False) | st.integers(-3, 3)
    return st.booleans()


TEXTS = [
    "",
    "A",
    "B",
    "$A",
    "A + 1",
    "meta.stars",
    "extraction.A",
    "A > 0",
    "< 3",
    "context.categories",
    "N_MILD",
    "1/0",
    "\x00",
]
ANY_ANSWERS = st.fixed_dictionaries({name: answers(schema, schema["$defs"]) for name, schema in SCHEMAS.items()})


@given(ANY_ANSWERS)
@pytest.mark.thorough
def test_any_answers_end_in_a_seed_or_in_diagnostics(drawn: dict[str, Any]) -> None:
    """Any answers of the schemas are converted, checked, fixed, traced and reported; a seed without errors compiles."""
    for name, schema in SCHEMAS.items():
        assert wire.read_answer(json.dumps(drawn[name]), schema) == drawn[name]
    first = check_draft(assemble_draft(drawn["conditions"], drawn["seed"]), G1A)
    second = check_draft(apply_repair(first.draft, drawn["repair"]), G1A)
    for checked in (first, second):
        losses = find_losses(first.draft, checked.draft, drawn["repair"], G1A)
        assert (checked is second) or not losses, "a draft is no worse than itself"
        json.loads(format_values(repair_values(checked, G1A, RepairAttempt(drawn["repair"], second, losses))))
        assert "FS901" not in [d.code for d in checked.analysis.diagnostics]
        assert format_json(canonicalize(json.loads(checked.text))) == checked.text
        if not checked.errors:
            compile_seed(json.loads(checked.text))
    notes = tuple(drawn["seed"]["assumptions"])
    text = write_report(DraftResult(G1A, drawn["graph"], second, (), notes, notes), {}, read_prices())
    assert text.splitlines()[0].startswith("# Draft of")
