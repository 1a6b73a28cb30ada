"""A key that is a typo of a field never leaves the field to its default: rows, contexts, files, both evaluators, `--strict`."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from formulaseed import DataError, compile_seed, load_evaluator, validate_requests
from formulaseed.language.inputs import _is_similar
from formulaseed.runtime.loading import module_from_source
from formulaseed.testing import reference_evaluate
from helpers import EXAMPLES, command, formulaseed, write_json, write_lines

Json = dict[str, Any]

SEED: Json = json.loads((Path(__file__).parent / "friendly_seed.json").read_text(encoding="utf-8"))
VALUES: Json = {"work_friendly": True, "kind": "cafe", "score_1": 1, "score_2": 2, "ease": 0.5}
ROW: Json = {"review_id": "r1", "extraction": VALUES, "meta": {"age": 3.0, "visits": 4}}
CONTEXT: Json = {"price_tier": 2}
REVIEW: Json = {"review_id": "r1", "text": "nice", "stars": 4, "date": "2020-02-29"}
EVALUATOR = load_evaluator(SEED)


def without(record: Json, *names: str, **more: Any) -> Json:
    return {**{name: value for name, value in record.items() if name not in names}, **more}


def rename_field(name: str, key: str) -> Json:
    """Return the row with another key for a field of its extraction."""
    return {**ROW, "review_id": "r2", "extraction": without(VALUES, name, **{key: VALUES[name]})}


def refusal(rows: list[Json], context: Json) -> str:
    """Return the message with which the module refuses the input; the reference must refuse it, too."""
    with pytest.raises(DataError):
        reference_evaluate(SEED, rows, context)
    with pytest.raises(DataError) as caught:
        EVALUATOR.evaluate(rows, context)
    return caught.value.message


def evaluate_both(rows: list[Json], context: Json) -> Json:
    """Return the values of the steps, on which module and reference must agree."""
    values = EVALUATOR.trace(rows, context)
    assert values == reference_evaluate(SEED, rows, context)
    return values


@pytest.mark.parametrize(
    "key",
    [
        "work_freindly", "Work_Friendly", "workFriendly", "work-friendly", "work friendly", "workfriendly", "work_frendly",
        "work_friendlly", "wrok_friendly", "work_friendlu", "ork_friendly", "work_friendlys", "owrk_friendly", "_work_friendly",
    ],
)  # fmt: skip
def test_a_typo_does_not_select_the_default(key: str) -> None:
    """Case, separators, or one letter dropped, added, changed or swapped."""
    message = f"`extraction.work_friendly` is missing, but there is `{key}`: rename it, or give `work_friendly` as null"
    assert refusal([ROW, rename_field("work_friendly", key)], CONTEXT) == message


@pytest.mark.parametrize(
    "key", ["friendly", "work", "quiet", "work_friendly_reason", "work_friendly_2", "works_friendlies", "unfriendly"]
)
def test_a_less_similar_name_is_no_typo(key: str) -> None:
    """Names that differ by more than a letter, and those with other digits, leave the default."""
    assert evaluate_both([rename_field("work_friendly", key)], CONTEXT)["N"] == 0


def test_a_null_field_has_its_default_beside_a_typo() -> None:
    for value, expected in ((None, 0), (True, 1), (False, 0)):
        row = {**ROW, "extraction": {**VALUES, "work_friendly": value, "work_freindly": True}}
        assert evaluate_both([row], CONTEXT)["N"] == expected


def test_declared_names_are_no_typos_of_one_another() -> None:
    assert evaluate_both([{**ROW, "extraction": without(VALUES, "score_2")}], CONTEXT)["SCORE"] == 1.5
    fields = [{"name": name, "type": "integer", "default": 7} for name in ("star", "stars")]
    steps = [{"name": "S", "op": "sum", "expr": "extraction.star * 10 + extraction.stars"}]
    near = {**SEED, "extract": {"fields": fields}, "compute": steps, "output": ["S"]}
    row = {"extraction": {"stars": 1}}
    assert load_evaluator(near).evaluate([row], {}) == reference_evaluate(near, [row], {}) == {"S": 71}


@pytest.mark.parametrize(
    ("place", "key", "meta", "context"),
    [
        ("meta.visits", "visit", {"age": 1, "visit": 4}, CONTEXT),
        ("meta.age", "Age", {"Age": 1}, {}),
        ("context.price_tier", "priceTier", ROW["meta"], {"priceTier": 2}),
    ],
)
def test_a_typo_of_a_nullable_field_is_refused(place: str, key: str, meta: Json, context: Json) -> None:
    name = place.partition(".")[2]
    message = f"`{place}` is missing, but there is `{key}`: rename it, or give `{name}` as null"
    assert refusal([{**ROW, "meta": meta}], context) == message


def test_an_absent_nullable_field_is_null() -> None:
    """Short names are typos only if they differ in case."""
    assert evaluate_both([{**ROW, "meta": {"page": 1, "aged": 9}}], {"price": 1})["TIER"] == 1


@pytest.mark.parametrize(
    ("section", "key"),
    [("extraction", "extractions"), ("extraction", "Extraction"), ("extraction", "extration"), ("extraction", "extraction_2"),
     ("extraction", ""), ("extraction", "fields"), ("extraction", "values"), ("meta", "metadata"), ("meta", "Meta"),
     ("meta", "meta_data"), ("meta", "mete"), ("meta", ""), ("meta", "fields"), ("meta", "values")],
)  # fmt: skip
def test_a_missing_section_is_refused(section: str, key: str) -> None:
    """Under another key or absent; the message lists the keys. Beside the section, the other key is ignored."""
    other = {key: ROW[section]} if key else {}
    row = without(ROW, section, **other)
    keys = ", ".join(f"`{name}`" for name in row)
    assert refusal([row], CONTEXT) == f"`{section}` is missing; the row has {keys}"
    assert evaluate_both([{**ROW, **{name: {} for name in other}}], CONTEXT) == evaluate_both([ROW], CONTEXT)


def test_a_module_alone_refuses_typos() -> None:
    """`parse_row` and `parse_context` raise the module's own error."""
    module: Any = module_from_source(compile_seed(SEED), "friendly")
    assert module.parse_row(ROW) == (True, "cafe", 1, 2, 0.5, 3.0, 4)
    with pytest.raises(module.DataError, match="there is `work_freindly`"):
        module.parse_row(rename_field("work_friendly", "work_freindly"))
    with pytest.raises(module.DataError, match="there is `Price_tier`"):
        module.parse_context({"Price_tier": 1})


@pytest.mark.parametrize("value", [5, None, [], "x", True, 1.5])
def test_a_module_refuses_values_that_are_no_object(value: Any) -> None:
    module: Any = EVALUATOR.module
    for parse in (module.parse_row, module.parse_context, module.parse_parameters):
        with pytest.raises(module.DataError, match="must be an object"):
            parse(value)


@pytest.mark.parametrize("key", [1, None, ("work_friendly",), 2.5])
@pytest.mark.thorough
def test_keys_that_no_json_has_are_refused(key: Any) -> None:
    """Python's objects may have them: in rows, parameters and restaurants."""
    row = {**ROW, "extraction": {**without(VALUES, "work_friendly"), key: True}}
    with pytest.raises(DataError):
        EVALUATOR.evaluate([row], CONTEXT)
    with pytest.raises(DataError, match="there is no parameter"):
        EVALUATOR.evaluate([ROW], CONTEXT, {key: 2})
    assert reference_evaluate(SEED, [row], CONTEXT)["N"] == 0
    requests = validate_requests(EXAMPLES / "requests.jsonl", restaurants=[{key: 1, "business_id": "a"}])
    assert len(requests.failures) == 1


def edit_once(word: str) -> set[str]:
    """Return the words at a distance of one edit, in the letters a, b and c."""
    places = range(len(word) + 1)
    insertions = {word[:i] + letter + word[i:] for i in places for letter in "abc"}
    deletions = {word[:i] + word[i + 1 :] for i in places}
    replacements = {word[:i] + letter + word[i + 1 :] for i in places[:-1] for letter in "abc"}
    swaps = {word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in places[:-2]}
    return insertions | deletions | replacements | swaps


def test_similar_names_are_those_at_the_distance_of_one_edit() -> None:
    """On all short words in three letters; names of three letters are similar to no other."""
    words = {n: ["".join(word) for word in itertools.product("abc", repeat=n)] for n in (3, 4, 5)}
    assert not any(_is_similar(name, key) for name in words[3] for key in (*words[3], *words[4]) if name != key)
    for name in words[4]:
        similar = edit_once(name) | {name}
        for key in (*words[3], *words[4], *words[5]):
            assert _is_similar(name, key) is (key in similar), (name, key)


# --- paths


GARAGE_TYPO = {"NoiseLevel": "u'loud'", "BusinessParking": "{'garge': True}"}
NO_DICTIONARY = {"NoiseLevel": "u'loud'", "BusinessParking": "{'garage': True"}


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"NoiseLevl": "u'loud'"}, "`attributes.NoiseLevel` is missing, but there is `NoiseLevl`"),
        (GARAGE_TYPO, "`attributes.BusinessParking.garage` is missing, but there is `garge`"),
        ("x", "`attributes` must be an object or null, not 'x'"), ([], "`attributes` must be an object or null, not []"),
        (NO_DICTIONARY, "`attributes.BusinessParking` must be an object or null"),
    ],
)  # fmt: skip
def test_a_broken_path_is_refused(attributes: Any, message: str) -> None:
    """A misspelt key on a path, and a value that has no keys, are not null."""
    assert refusal([], {"attributes": attributes}).startswith(message)
    atributes = refusal([], {"atributes": attributes})
    assert atributes.startswith("`attributes` is missing, but there is `atributes`")


@pytest.mark.parametrize(
    "context",
    [{}, {"attributes": None}, {"attributes": {}}, {"attributes": {"NoiseLevel": None, "BusinessParking": "None"}}],
)
def test_an_absent_path_is_null(context: Json) -> None:
    values = evaluate_both([], context)
    assert (values["LOUD"], values["GARAGE"]) == (False, False)


# --- strict


def test_strict_refuses_unknown_keys_of_extraction_and_meta() -> None:
    """Unused and standard fields, and keys elsewhere, are allowed."""
    strict = load_evaluator(SEED, strict=True)
    row = {**ROW, "text": "x", "meta": {**ROW["meta"], "stars": 1, "date": "2020-01-01"}}
    assert strict.evaluate([row], {**CONTEXT, "anything": 1}) == EVALUATOR.evaluate([ROW], CONTEXT)
    for section, known in (("extraction", ", ".join(VALUES)), ("meta", "stars, useful")):
        row = {**ROW, "review_id": "r2", section: {**ROW[section], "mood_": 1}}
        with pytest.raises(DataError) as caught:
            strict.evaluate([ROW, row], CONTEXT)
        assert caught.value.where == "rows[1] (review r2)"
        assert caught.value.message.startswith(f"the seed has no field `{section}.mood_`; there are: {known}")
        EVALUATOR.evaluate([row], CONTEXT)


@pytest.mark.thorough
def test_strict_as_a_command(tmp_path: Path) -> None:
    """With a seed and with a module; the project's examples have no unknown key."""
    seed = write_json(tmp_path / "seed.json", SEED)
    rows = {"a": ROW, "b": {**ROW, "meta": {**ROW["meta"], "mood": 1}}}
    lines = [{"business_id": business_id, "context": CONTEXT, "rows": [row]} for business_id, row in rows.items()]
    path = write_lines(tmp_path / "rows.jsonl", *lines)
    command("compile", seed, "--out", tmp_path)
    for policy in (seed, tmp_path / "friendly_1.py"):
        done = command("evaluate", policy, "--rows", path, "--strict")
        results = done.by_id()
        assert (done.status, "output" in results["a"]) == (3, True)
        assert "the seed has no field `meta.mood`" in results["b"]["error"]["message"]
        assert command("evaluate", policy, "--rows", path).status == 0
    done = command("evaluate", "tasks/g1a_v2/seed.json", "--rows", "examples/rows-g1a_v2.jsonl", "--strict")
    assert (done.status, done.err.splitlines()[-1]) == (0, "14 lines: 14 restaurants, 0 failed")


# --- files


@pytest.mark.parametrize(
    ("command", "lines"),
    [
        (("evaluate", "--rows"), {
            "`rows` is missing, but there is `row`: rename it": {"context": CONTEXT, "row": [ROW]},
            "`context` is missing, but there is `contexts`: rename it": {"contexts": CONTEXT, "rows": [ROW]},
            "`rows` is missing": {"context": CONTEXT},
        }),
        (("run", "--contexts"), {
            "`reviews` is missing, but there is `review`: rename it": {"review": [REVIEW]},
            "`business` is missing, but there is `bussiness`: rename it": {"bussiness": {"price_tier": 3}, "reviews": []},
            "`reviews` is missing": {"business": {"name": "C"}},
            "`reviews[0]` `date` is missing, but there is `Date`: rename it": {
                "reviews": [without(REVIEW, "date", Date="2020-01-01")],
            },
            "`reviews` must be a list": {"reviews": None},
        }),
    ],
)  # fmt: skip
def test_a_typo_of_a_line_is_an_error_of_its_restaurant(
    command: tuple[str, str], lines: dict[str, Json], tmp_path: Path
) -> None:
    path = write_lines(tmp_path / "lines.jsonl", *({"business_id": "a", **line} for line in lines.values()))
    done = formulaseed(command[0], write_json(tmp_path / "seed.json", SEED), command[1], path)
    assert (done.status, [result["error"]["message"] for result in done.results]) == (3, list(lines))


@pytest.mark.parametrize(
    ("line", "strict", "message"),
    [
        ({"fields": without(VALUES, "kind", Kind="cafe")}, (), "`kind` is missing, but there is `Kind`: rename it, or"),
        ({"field": VALUES}, (), "`fields` is missing, but there is `field`: rename it"),
        ({"fields": {**VALUES, "mood": 1}}, (), ""),
        ({"fields": {**VALUES, "mood": 1}}, ("--strict",), "the seed has no field `mood`; there are: work_friendly, kind"),
    ],
)  # fmt: skip
def test_a_typo_of_a_recorded_extraction_makes_its_line_unusable(
    line: Json, strict: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    seed = write_json(tmp_path / "seed.json", SEED)
    contexts = write_lines(tmp_path / "contexts.jsonl", {"business_id": "a", "reviews": [REVIEW]})
    lines = write_lines(tmp_path / "recorded.jsonl", {"business_id": "a", "review_id": "r1", **line})
    options = ("--extractor", "recorded", "--extractions", lines, *strict)
    done = formulaseed("run", seed, "--contexts", contexts, *options)
    assert (done.status, message in done.err) == (3 if message else 0, True)
    assert ("1 restaurant, 1 failed; 1 line unreadable; " in done.err) is bool(message)
