"""A key that is a typo of a field never leaves the field to its default: rows, contexts, files, both evaluators, `--strict`."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from formulaseed import DataError, compile_seed, load_evaluator, validate_requests
from formulaseed.language.inputs import _is_similar
from formulaseed.runtime.loading import module_from_source
from formulaseed.testing import reference_evaluate
from helpers import EXAMPLES, formulaseed, write_json, write_lines

Json = dict[str, Any]

SEED: Json = {
    "task_name": "Friendly-1",
    "parameters": {"LEAST": {"type": "integer", "default": 1}},
    "filter": {"keywords": []},
    "extract": {
        "fields": [
            {"name": "work_friendly", "type": "boolean", "default": False},
            {"name": "kind", "type": "enum", "values": ["cafe", "bar"], "default": "bar"},
            {"name": "score_1", "type": "integer", "default": 0},
            {"name": "score_2", "type": "integer", "default": 0},
            {"name": "ease", "type": "number"},
        ],
        "meta": [{"name": "age", "type": "number", "nullable": True}, {"name": "visits", "type": "integer", "nullable": True}],
    },
    "context": [{"name": "price_tier", "type": "integer", "nullable": True}],
    "compute": [
        {"name": "N", "op": "count", "where": {"extraction.work_friendly": True}},
        {"name": "CAFES", "op": "count", "where": {"extraction.kind": "cafe"}},
        {"name": "SCORE", "op": "sum", "expr": "extraction.score_1 + extraction.score_2 + extraction.ease"},
        {"name": "OLD", "op": "sum", "expr": "1 if (meta.age or 0) > 2 else 0"},
        {"name": "OFTEN", "op": "sum", "expr": "meta.visits or 0"},
        {"name": "TIER", "op": "expr", "expr": "(context.price_tier or 0) + param.LEAST"},
    ],
    "output": ["N", "CAFES", "SCORE", "OLD", "OFTEN", "TIER"],
}  # fmt: skip
VALUES: Json = {"work_friendly": True, "kind": "cafe", "score_1": 1, "score_2": 2, "ease": 0.5}
ROW: Json = {"review_id": "r1", "extraction": VALUES, "meta": {"age": 3.0, "visits": 4}}
CONTEXT: Json = {"price_tier": 2}
EVALUATOR = load_evaluator(SEED)


def without(record: Json, *names: str, **more: Any) -> Json:
    return {**{name: value for name, value in record.items() if name not in names}, **more}


def with_key(name: str, key: str) -> Json:
    """The row's extraction with another key for a field."""
    return {**ROW, "review_id": "r2", "extraction": without(VALUES, name, **{key: VALUES[name]})}


def refused(message: str, rows: list[Json], context: Json) -> None:
    """Module and reference evaluator refuse it, the module with this message."""
    with pytest.raises(DataError) as found:
        EVALUATOR.evaluate(rows, context)
    assert found.value.message == message
    with pytest.raises(DataError):
        reference_evaluate(SEED, rows, context)


def given(rows: list[Json], context: Json) -> Json:
    """What both give."""
    found = EVALUATOR.trace(rows, context)
    assert found == reference_evaluate(SEED, rows, context)
    return found


@pytest.mark.parametrize(
    "key",
    [
        "work_freindly", "Work_Friendly", "workFriendly", "work-friendly", "work friendly", "workfriendly", "work_frendly",
        "work_friendlly", "wrok_friendly", "work_friendlu", "ork_friendly", "work_friendlys", "owrk_friendly", "_work_friendly",
    ],
)  # fmt: skip
def test_a_typo_is_no_default(key: str) -> None:
    """Case, separators, or one letter left out, added, changed or swapped: refused with both names and what to do."""
    message = f"`extraction.work_friendly` is missing, but there is `{key}`: rename it, or give `work_friendly` as null"
    refused(message, [ROW, with_key("work_friendly", key)], CONTEXT)


@pytest.mark.parametrize(
    "key", ["friendly", "work", "quiet", "work_friendly_reason", "work_friendly_2", "works_friendlies", "unfriendly"]
)
def test_another_name_is_no_typo(key: str) -> None:
    """Names that differ by more, and those with other digits, leave the default."""
    assert given([with_key("work_friendly", key)], CONTEXT)["N"] == 0


def test_null_says_that_nothing_is_meant() -> None:
    """A field that is given as null has its default, whatever keys are beside it; one that is given is itself."""
    for value, expected in ((None, 0), (True, 1), (False, 0)):
        row = {**ROW, "extraction": {**VALUES, "work_friendly": value, "work_freindly": True}}
        assert given([row], CONTEXT)["N"] == expected


def test_declared_names_are_no_typos_of_one_another() -> None:
    """`score_1` may be there without `score_2`, and names that the seed declares may be as near as they like."""
    assert given([{**ROW, "extraction": without(VALUES, "score_2")}], CONTEXT)["SCORE"] == 1.5
    fields = [{"name": name, "type": "integer", "default": 7} for name in ("star", "stars")]
    steps = [{"name": "S", "op": "sum", "expr": "extraction.star * 10 + extraction.stars"}]
    near = {**SEED, "extract": {"fields": fields}, "compute": steps, "output": ["S"]}
    row = {"extraction": {"stars": 1}}
    assert load_evaluator(near).evaluate([row], {}) == reference_evaluate(near, [row], {}) == {"S": 71}


def test_nullable_fields_are_no_different() -> None:
    """Metadata and the context: a typo is refused, an absent field is null; short names count as typos in case alone."""
    refused(
        "`meta.visits` is missing, but there is `visit`: rename it, or give `visits` as null",
        [{**ROW, "meta": {"age": 1, "visit": 4}}],
        CONTEXT,
    )
    refused(
        "`meta.age` is missing, but there is `Age`: rename it, or give `age` as null", [{**ROW, "meta": {"Age": 1}}], {}
    )
    refused("`context.price_tier` is missing, but there is `priceTier`: rename it, or give `price_tier` as null",
            [ROW], {"priceTier": 2})  # fmt: skip
    assert given([{**ROW, "meta": {"page": 1, "aged": 9}}], {"price": 1})["TIER"] == 1


@pytest.mark.parametrize(
    ("section", "key"),
    [("extraction", "extractions"), ("extraction", "Extraction"), ("extraction", "extration"), ("extraction", "extraction_2"),
     ("meta", "metadata"), ("meta", "Meta"), ("meta", "meta_data"), ("meta", "mete")],
)  # fmt: skip
def test_a_section_under_another_name_is_not_left_out(section: str, key: str) -> None:
    """A row's section is missing where another key holds it, and the message lists the keys; beside the section it is ignored."""
    row = without(ROW, section, **{key: ROW[section]})
    refused(f"`{section}` is missing; the row has {', '.join(f'`{name}`' for name in row)}", [row], CONTEXT)
    assert given([{**ROW, key: {}}], CONTEXT) == given([ROW], CONTEXT)


def test_a_module_alone_does_the_same() -> None:
    """`parse_row` and `parse_context` of the module itself refuse them with the module's own error."""
    module: Any = module_from_source(compile_seed(SEED), "friendly")
    assert module.parse_row(ROW) == (True, "cafe", 1, 2, 0.5, 3.0, 4)
    with pytest.raises(module.DataError, match="there is `work_freindly`"):
        module.parse_row(with_key("work_friendly", "work_freindly"))
    with pytest.raises(module.DataError, match="there is `Price_tier`"):
        module.parse_context({"Price_tier": 1})


def test_one_letter_is_every_edit_and_no_other() -> None:
    """On all words of three letters: the same as the distance of Damerau and Levenshtein, from four letters on."""
    words = {n: ["".join(word) for word in itertools.product("abc", repeat=n)] for n in (3, 4, 5)}
    assert not any(_is_similar(name, key) for name in words[3] for key in (*words[3], *words[4]) if name != key)
    for name in words[4]:
        for key in (*words[3], *words[4], *words[5]):
            assert _is_similar(name, key) is (key == name or key in one_edit(name)), (name, key)


def one_edit(word: str) -> set[str]:
    places = range(len(word) + 1)
    added = {word[:i] + letter + word[i:] for i in places for letter in "abc"}
    left_out = {word[:i] + word[i + 1 :] for i in places}
    other = {word[:i] + letter + word[i + 1 :] for i in places[:-1] for letter in "abc"}
    swapped = {word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in places[:-2]}
    return added | left_out | other | swapped


def test_keys_that_no_json_has_are_refused() -> None:
    """Python's rows may have them; what comes of it is a `DataError` or a value, nothing else."""
    for key in (1, None, ("work_friendly",), 2.5):
        row = {**ROW, "extraction": {**without(VALUES, "work_friendly"), key: True}}
        with pytest.raises(DataError):
            EVALUATOR.evaluate([row], CONTEXT)
        assert reference_evaluate(SEED, [row], CONTEXT)["N"] == 0
        found = validate_requests(EXAMPLES / "requests.jsonl", restaurants=[{key: 1, "business_id": "a"}])  # type: ignore[dict-item]
        assert len(found.failures) == 1


# --- strict


def test_strict_knows_the_seeds_names_alone() -> None:
    """Every other key of extraction and meta is refused; unused and standard fields, and keys beside them, are not."""
    strict = load_evaluator(SEED, strict=True)
    fine = {**ROW, "text": "x", "meta": {**ROW["meta"], "stars": 1, "date": "2020-01-01"}}
    assert strict.evaluate([fine], {**CONTEXT, "anything": 1}) == EVALUATOR.evaluate([ROW], CONTEXT)
    for section, known in (("extraction", ", ".join(VALUES)), ("meta", "stars, useful")):
        row = {**ROW, "review_id": "r2", section: {**ROW[section], "mood_": 1}}
        with pytest.raises(DataError) as found:
            strict.evaluate([ROW, row], CONTEXT)
        assert found.value.where == "rows[1] (review r2)"
        assert found.value.message.startswith(f"the seed has no field `{section}.mood_`; there are: {known}")
        EVALUATOR.evaluate([row], CONTEXT)


def test_strict_as_a_command(tmp_path: Path) -> None:
    """`evaluate --strict`, with a seed and with a module, fails the restaurant whose rows have another key."""
    seed = write_json(tmp_path / "seed.json", SEED)
    other = {**ROW, "meta": {**ROW["meta"], "mood": 1}}
    rows = write_lines(tmp_path / "rows.jsonl", *[{"business_id": b, "context": CONTEXT, "rows": [r]}
                                                 for b, r in (("a", ROW), ("b", other))])  # fmt: skip
    formulaseed("compile", seed, "--out", tmp_path)
    for given in (seed, tmp_path / "friendly_1.py"):
        done = formulaseed("evaluate", given, "--rows", rows, "--strict")
        assert done.status == 3
        assert "the seed has no field `meta.mood`" in done.by_id()["b"]["error"]["message"]
        assert "output" in done.by_id()["a"]
        assert formulaseed("evaluate", given, "--rows", rows).status == 0


# --- files


REVIEW: Json = {"review_id": "r1", "text": "nice", "stars": 4, "date": "2020-02-29"}


def evaluated(tmp_path: Path, command: str, option: str, *lines: Json) -> tuple[list[Json], str]:
    path = write_lines(tmp_path / "lines.jsonl", *lines)
    done = formulaseed(command, write_json(tmp_path / "seed.json", SEED), option, path)
    assert done.status == 3
    return done.results, done.err


def test_rows_and_contexts_under_another_name_are_bad_lines(tmp_path: Path) -> None:
    """`row`, `contexts`, `review`, none at all: each restaurant has an error, not a verdict over nothing."""
    lines = [
        {"business_id": "a", "context": CONTEXT, "row": [ROW]},
        {"business_id": "b", "contexts": CONTEXT, "rows": [ROW]},
        {"business_id": "c", "context": CONTEXT},
    ]
    results, _ = evaluated(tmp_path, "evaluate", "--rows", *lines)
    assert [line["error"]["message"] for line in results] == [
        "`rows` is missing, but there is `row`: rename it",
        "`context` is missing, but there is `contexts`: rename it",
        "`rows` is missing",
    ]
    contexts = [
        {"business_id": "a", "review": [REVIEW]},
        {"business_id": "b", "bussiness": {"price_tier": 3}, "reviews": []},
        {"business_id": "c", "business": {"name": "C"}},
        {"business_id": "d", "reviews": [without(REVIEW, "date", Date="2020-01-01")]},
        {"business_id": "e", "reviews": None},
    ]
    results, _ = evaluated(tmp_path, "run", "--contexts", *contexts)
    assert [line["error"]["message"] for line in results] == [
        "`reviews` is missing, but there is `review`: rename it",
        "`business` is missing, but there is `bussiness`: rename it",
        "`reviews` is missing",
        "`reviews[0]` `date` is missing, but there is `Date`: rename it",
        "`reviews` must be a list",
    ]


def test_restaurants_of_a_file_of_their_own_have_no_reviews(tmp_path: Path) -> None:
    """With `--reviews` beside them, the restaurants' lines need none; a restaurant without reviews has none."""
    seed = write_json(
        tmp_path / "seed.json", without(SEED, "context", compute=[{"name": "N", "op": "count"}], output=["N"])
    )
    places = write_lines(tmp_path / "places.jsonl", {"business_id": "a"}, {"business_id": "b"})
    reviews = write_lines(tmp_path / "reviews.jsonl", {**REVIEW, "business_id": "a"})
    recorded = write_lines(tmp_path / "recorded.jsonl", {"business_id": "a", "review_id": "r1", "fields": VALUES})
    done = formulaseed("run", seed, "--restaurants", places, "--reviews", reviews,
                       "--extractor", "recorded", "--extractions", recorded)  # fmt: skip
    assert (done.status, [line["output"]["N"] for line in done.results]) == (0, [1, 0])


def test_recorded_extractions_are_no_different(tmp_path: Path) -> None:
    """`field` for `fields` and a typo of a field make the line unusable; other fields do with `--strict`."""
    seed = write_json(tmp_path / "seed.json", SEED)
    contexts = write_lines(tmp_path / "contexts.jsonl", {"business_id": "a", "reviews": [REVIEW]})
    for line, strict, reported in (
        (
            {"fields": without(VALUES, "kind", Kind="cafe")},
            False,
            "`kind` is missing, but there is `Kind`: rename it, or",
        ),
        ({"field": VALUES}, False, "`fields` is missing, but there is `field`: rename it"),
        ({"fields": {**VALUES, "mood": 1}}, False, ""),
        ({"fields": {**VALUES, "mood": 1}}, True, "the seed has no field `mood`; there are: work_friendly, kind"),
    ):
        lines = write_lines(tmp_path / "recorded.jsonl", {"business_id": "a", "review_id": "r1", **line})
        options = ["--extractor", "recorded", "--extractions", lines, *(["--strict"] if strict else [])]
        done = formulaseed("run", seed, "--contexts", contexts, *options)
        assert done.status == (3 if reported else 0)
        assert reported in done.err
        assert ("1 restaurant, 1 failed; 1 line unreadable; " in done.err) is bool(reported)


def test_the_examples_hold_to_their_seed() -> None:
    """The rows of the examples have no key that the seed does not know."""
    done = formulaseed("evaluate", "tasks/g1a_v2/seed.json", "--rows", "examples/rows-g1a_v2.jsonl", "--strict")
    assert (done.status, done.err.splitlines()[-1]) == (0, "14 lines: 14 restaurants, 0 failed")


@pytest.mark.parametrize("section", ["extraction", "meta"])
@pytest.mark.parametrize("other", [{}, {"fields": VALUES}, {"values": VALUES}])
def test_a_row_without_a_section_is_refused(section: str, other: Json) -> None:
    """A section that the seed reads must be there, whatever stands in the row instead of it."""
    row = without(ROW, section, **other)
    refused(f"`{section}` is missing; the row has {', '.join(f'`{name}`' for name in row)}", [row], CONTEXT)


PATHS: Json = {
    "task_name": "Paths-1",
    "filter": {"keywords": []},
    "extract": {"fields": []},
    "context": [
        {"name": "noise_level", "type": "enum", "values": ["quiet", "loud"], "nullable": True,
         "path": ["attributes", "NoiseLevel"]},
        {"name": "garage", "type": "boolean", "path": ["attributes", "BusinessParking", "garage"], "nullable": True},
    ],
    "compute": [
        {"name": "LOUD", "op": "expr", "expr": "context.noise_level == 'loud'"},
        {"name": "GARAGE", "op": "expr", "expr": "context.garage or False"},
    ],
    "output": ["LOUD", "GARAGE"],
}  # fmt: skip
AT_PATHS = load_evaluator(PATHS)


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ({"attributes": {"NoiseLevl": "u'loud'"}}, "`attributes.NoiseLevel` is missing, but there is `NoiseLevl`"),
        ({"atributes": {"NoiseLevel": "u'loud'"}}, "`attributes` is missing, but there is `atributes`"),
        (
            {"attributes": {"NoiseLevel": "u'loud'", "BusinessParking": "{'garge': True}"}},
            "`attributes.BusinessParking.garage` is missing, but there is `garge`",
        ),
        ({"attributes": "x"}, "`attributes` must be an object or null, not 'x'"),
        ({"attributes": []}, "`attributes` must be an object or null, not []"),
        (
            {"attributes": {"NoiseLevel": "u'loud'", "BusinessParking": "{'garage': True"}},
            "`attributes.BusinessParking` must be an object or null",
        ),
    ],
)
def test_a_path_that_leads_to_nothing_by_mistake_is_refused(context: Json, message: str) -> None:
    """A misspelt key on a path, or a value in which there are no keys, is not taken for null."""
    with pytest.raises(DataError) as found:
        AT_PATHS.evaluate([], context)
    assert found.value.message.startswith(message)
    with pytest.raises(DataError):
        reference_evaluate(PATHS, [], context)


@pytest.mark.parametrize(
    "context",
    [{}, {"attributes": None}, {"attributes": {}}, {"attributes": {"NoiseLevel": None, "BusinessParking": "None"}}],
)
def test_a_path_may_lead_to_nothing(context: Json) -> None:
    """A key that is absent with nothing like it beside, and null, are null."""
    found = AT_PATHS.evaluate([], context)
    assert found == reference_evaluate(PATHS, [], context) == {"LOUD": False, "GARAGE": False}


@pytest.mark.parametrize("value", [5, None, [], "x", True, 1.5])
def test_modules_refuse_what_is_no_object(value: Any) -> None:
    """The parsers of a module raise its `DataError` for every JSON value."""
    module: Any = EVALUATOR.module
    for parse in (module.parse_row, module.parse_context, module.parse_parameters):
        with pytest.raises(module.DataError, match="must be an object"):
            parse(value)


@pytest.mark.parametrize("name", [1, None, 2.5, ("LEAST",)])
def test_parameters_without_a_name_are_refused(name: Any) -> None:
    """What no JSON object has as a key is an unknown parameter, too."""
    with pytest.raises(DataError, match="there is no parameter"):
        EVALUATOR.evaluate([ROW], CONTEXT, {name: 2})
