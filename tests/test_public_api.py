"""The public names: each is itself after everything was imported, works, names a wrong argument, and prints short."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from pathlib import Path
from types import ModuleType
from typing import Any

import formulaseed
import pandas
import polars
import pyarrow
import pytest
from formulaseed import DataError, FormulaSeedError
from formulaseed.extractors import Anthropic, Recorded
from formulaseed.extractors.registry import EXTRACTORS, import_options
from helpers import EXAMPLES, TASKS, write_lines

COUNTING: dict[str, Any] = {
    "task_name": "Counting", "extract": {"fields": [{"name": "n", "type": "integer", "default": 0}]},
    "compute": [{"name": "N", "op": "count"}], "output": ["N"],
}  # fmt: skip
SEED = TASKS / "g1a_v2" / "seed.json"
CONTEXTS = EXAMPLES / "contexts.jsonl"
RECORDED = Recorded(EXAMPLES / "extractions-g1a_v2.jsonl")
REQUESTS = EXAMPLES / "requests.jsonl"
OPTIONAL = ("formulaseed.runtime.spark", "formulaseed.spark")
"""Modules that need a package which may not be installed."""
FUNCTIONS = {name for name in formulaseed.__all__ if name.islower() and not name.startswith("_")}
REVIEW = {"review_id": "r1", "text": "Good soup", "stars": 4, "useful": 0, "date": "2024-01-02"}


def context(business_id: str, *reviews: dict[str, Any]) -> dict[str, Any]:
    return {"business_id": business_id, "name": business_id.title(), "is_open": 1, "reviews": [*reviews]}


@pytest.fixture(scope="module")
def lines() -> list[dict[str, Any]]:
    return formulaseed.extract(SEED, CONTEXTS, extractor=RECORDED)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    line = {"business_id": "a", "N": 1, "error_step": None, "error_kind": None, "error_message": None}
    return write_lines(tmp_path_factory.mktemp("results") / "results.jsonl", line)


@pytest.fixture(scope="module")
def objects(lines: list[dict[str, Any]], results: Path) -> dict[str, Any]:
    """An object of each public class that functions return, by the name of the function that made it."""
    first, rows = lines[0], lines[:3]
    return {
        "check": formulaseed.check(SEED)[0],
        "compile_formula": formulaseed.compile_formula("1 + 2"),
        "compile_seed": formulaseed.compile_seed(SEED),
        "cover": formulaseed.cover(SEED, rows),
        "diff": formulaseed.diff(SEED, SEED, rows),
        "diff_results": formulaseed.diff_results(results, results, key="business_id"),
        "expect": formulaseed.expect(
            SEED, rows, [{"business_id": first["business_id"], "output": {"VERDICT": "Low Risk"}}]
        ),
        "explain": formulaseed.explain(SEED, first["rows"], first["context"], first["business_id"]),
        "extract": lines,
        "load_evaluator": formulaseed.load_evaluator(SEED),
        "load_requests": formulaseed.load_requests(REQUESTS),
        "load_seed": formulaseed.load_seed(SEED),
        "prove": formulaseed.prove(COUNTING, quick=True),
        "report": formulaseed.report(SEED, rows),
        "run": formulaseed.run(SEED, CONTEXTS, extractor=RECORDED),
        "score": formulaseed.score(SEED, rows, engine="python"),
        "sensitivity": formulaseed.sensitivity(COUNTING, [{"business_id": "a", "context": {}, "rows": []}]),
        "validate_requests": formulaseed.validate_requests(REQUESTS, restaurants=CONTEXTS),
    }


def test_every_name_is_itself_after_every_module_was_imported() -> None:
    """Python binds an imported package on its parent: none has the name of a public object."""
    for module in pkgutil.walk_packages(formulaseed.__path__, "formulaseed."):
        if not module.name.startswith(OPTIONAL) and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in formulaseed.__all__:
        value = getattr(formulaseed, name)
        assert not isinstance(value, ModuleType), name
        assert name == "__version__" or callable(value), name


def test_every_function_works(objects: dict[str, Any]) -> None:
    """Each function of `__all__` returns something on shipped data."""
    assert set(objects) == FUNCTIONS
    assert objects["report"].restaurants == objects["cover"].restaurants == 3
    assert len(objects["run"]) == len(objects["extract"]) == 14


def test_objects_print_on_one_short_line(objects: dict[str, Any]) -> None:
    for name in set(objects) - {"compile_seed", "extract", "run", "score"}:  # a string, lists, and a table
        text = repr(objects[name])
        assert len(text) <= 200, name
        assert "\n" not in text, name
        assert " object at 0x" not in text, name
    assert repr(objects["check"]).startswith("<Diagnostic ")


WRONG_ARGUMENTS: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
    ("score", (SEED, []), {"engine": "foo"}, "`engine` must be 'duckdb' or 'python', not 'foo'"),
    ("run", (SEED, CONTEXTS), {"max_usd": 3},
     "`run` has no option `max_usd`; write `extractor=formulaseed.extractors.Anthropic(max_usd=…)`"),
    ("run", (SEED, CONTEXTS), {"extracter": "lexical"}, "`run` has no option `extracter`; did you mean `extractor`?"),
    ("extract", (SEED, CONTEXTS), {"with_text": "yes"}, "`with_text` must be a valid boolean, not 'yes'"),
    ("diff", (SEED,), {}, "`diff`: missing a required argument: 'new'"),
    ("diff", (SEED, SEED), {"duplicates": "last"}, "`duplicates` must be 'fail' or 'first', not 'last'"),
    ("explain", (SEED, [], {}, 5), {}, "`business_id` must be a valid string, not 5"),
    ("sensitivity", (SEED, []), {"by": 0}, "`by` must be greater than 0, not 0"),
    ("expect", (SEED, []), {}, "`expect`: missing a required argument: 'expected'"),
    ("cover", (SEED, []), {"parameters": [1]}, "`parameters` must be "),
    ("report", (SEED, []), {"output": 1}, "`output` must be a valid string, not 1"),
    ("load_evaluator", (SEED,), {"strict": 1}, "`strict` must be a valid boolean, not 1"),
    ("compile_formula", (5,), {}, "`text` must be a valid string, not 5"),
    ("compile_seed", (SEED,), {"target": 3}, "`target` must be a valid string, not 3"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "arguments", "options", "message"), WRONG_ARGUMENTS, ids=lambda value: str(value)[:30]
)
def test_a_wrong_argument_is_named(name: str, arguments: Any, options: Any, message: str) -> None:
    """With the values that it may have, and its own; an unknown option with the nearest known one."""
    with pytest.raises(FormulaSeedError) as error:
        getattr(formulaseed, name)(*arguments, **options)
    assert str(error.value).startswith(message), str(error.value)


@pytest.mark.parametrize("name", ["diff", "cover", "expect", "sensitivity", "report"])
def test_contexts_in_place_of_rows_are_refused_with_the_function_that_makes_rows(name: str) -> None:
    """No command is named to those who have objects in memory."""
    help = r"it is a file of contexts, not a file of rows; `formulaseed\.extract\(seed, contexts\)` makes rows$"
    seeds = (SEED, SEED) if name == "diff" else (SEED,)
    expected = {"expected": [{"business_id": "a", "output": {"VERDICT": "Low Risk"}}]} if name == "expect" else {}
    with pytest.raises(DataError, match=help):
        getattr(formulaseed, name)(*seeds, [context("a")], **expected)


class Nothing:
    """An object that no function takes."""


REQUIRED: dict[str, Any] = {
    **dict.fromkeys(("seed", "old", "new", "seed_or_path"), COUNTING), "rows": [], "contexts": [], "restaurants": [],
    "text": "1", "context": {}, "business_id": "a", "requests": REQUESTS, "key": "business_id",
    "expected": [{"business_id": "a", "output": {"N": 0}}],
}  # fmt: skip
"""A value of each argument without a default."""


@pytest.mark.thorough
def test_no_argument_is_accepted_unseen(results: Path) -> None:
    """Each parameter of each function refuses an object that is nothing: an error of ours, before or while it is read."""
    for name in FUNCTIONS:
        function = getattr(formulaseed, name)
        parameters = inspect.signature(function).parameters
        arguments = {
            key: REQUIRED[key] for key, parameter in parameters.items() if parameter.default is parameter.empty
        }
        if name == "diff_results":
            arguments |= {"old": results, "new": results}
        if name == "score":
            arguments["rows"] = pyarrow.table({"business_id": ["a"], "n": [1], "review_id": ["r"]})
        if name == "expect":
            arguments["rows"] = [{"business_id": "a", "context": {}, "rows": []}]
        function(**arguments)
        for argument in parameters:
            with pytest.raises(FormulaSeedError):
                function(**{**arguments, argument: Nothing()})
    for extractor in EXTRACTORS:
        options = import_options(extractor)
        required = {"extractions": []} if "extractions" in options.model_fields else {}
        for name in options.model_fields:
            with pytest.raises(FormulaSeedError, match=f"`{name}` must be "):
                options(**{**required, name: Nothing()})


def test_an_extractor_is_a_value() -> None:
    """Each has its public name, is equal to one with the same options, cannot be changed, and can be used twice."""
    for name in EXTRACTORS:
        options = import_options(name)
        assert getattr(formulaseed.extractors, options.__name__) is options
        assert options.name == name
    assert {import_options(name).__name__ for name in EXTRACTORS} == set(formulaseed.extractors.__all__)
    careful = Anthropic(max_usd=5)
    assert careful == Anthropic(max_usd=5.0) != Anthropic()
    with pytest.raises(ValueError, match="frozen"):
        careful.model = "x"  # type: ignore[misc]
    recorded = Recorded(iter([{"business_id": "a", "review_id": "r1", "fields": {"n": 3}}]))
    first, second = (formulaseed.extract(COUNTING, [context("a", REVIEW)], extractor=recorded) for _ in range(2))
    assert first == second
    assert first[0]["rows"][0]["extraction"] == {"n": 3}


def test_data_frames_are_read_as_files_are() -> None:
    """pandas, polars and Arrow, for `run` and `extract`; a frame of something else is an error, not an empty result."""
    contexts = [context("anna", REVIEW), context("bert", REVIEW)]
    expected = formulaseed.run(COUNTING, contexts, extractor="lexical")
    assert len(expected) == 2
    for frame in (pandas.DataFrame(contexts), polars.DataFrame(contexts), pyarrow.Table.from_pylist(contexts)):
        assert formulaseed.run(COUNTING, frame, extractor="lexical") == expected
        assert len(formulaseed.extract(COUNTING, frame, extractor="lexical")) == 2
    two_kinds = pandas.DataFrame([{"x": 1}, {"x": "y"}])
    duplicate_columns = pandas.DataFrame([[1, 2]], columns=["a", "a"])
    for other in (pandas.DataFrame([{"x": 1}]), two_kinds, duplicate_columns, pandas.Series([1])):
        with pytest.raises(DataError):
            formulaseed.run(COUNTING, other, extractor="lexical")


def test_data_frames_can_be_read_twice() -> None:
    """A sample is drawn before anything is extracted: of two frames, and of a reader, which can be read only once."""
    restaurants = [{"business_id": place, "name": place.title(), "is_open": 1} for place in ("anna", "bert")]
    reviews = [
        {"business_id": place, "review_id": f"{place}-{number}", "text": "Good soup", "stars": 4}
        for place in ("anna", "bert") for number in range(3)
    ]  # fmt: skip
    expected = formulaseed.run(COUNTING, restaurants, reviews=reviews, sample=4)
    assert sum(line["output"]["N"] for line in expected) == 4
    from_list = pyarrow.Table.from_pylist
    for frame in (pandas.DataFrame, polars.DataFrame, from_list, lambda lines: from_list(lines).to_reader()):
        assert formulaseed.run(COUNTING, frame(restaurants), reviews=frame(reviews), sample=4) == expected


def test_the_first_of_two_equal_reviews_is_kept_on_request() -> None:
    """Otherwise the restaurant fails, with both named; the others are scored."""
    contexts = [context("twice", REVIEW, REVIEW), context("once", REVIEW)]
    twice, once = formulaseed.run(COUNTING, contexts, extractor="lexical", duplicates="first")
    assert twice["reviews"]["total"] == once["reviews"]["total"] == 1
    failing = formulaseed.run(COUNTING, contexts, extractor="lexical")
    assert [line["business_id"] for line in failing if "output" in line] == ["once"]
    assert len(failing.failures) == 1
    assert "reviews[0] and reviews[1] have the same `review_id`, 'r1'" in failing.failures[0]


def test_explain_counts_no_review_twice() -> None:
    """Like every other function: the rows are refused, or the first of them counts."""
    row = {"review_id": "r1", "extraction": {"n": 1}, "meta": {}}
    message = r"rows\[0\] and rows\[1\] have the same `review_id`, 'r1'.*`duplicates='first'`"
    with pytest.raises(DataError, match=message):
        formulaseed.explain(COUNTING, [row, row], {}, "a")
    assert formulaseed.explain(COUNTING, [row, row], {}, "a", duplicates="first").outputs == {"N": 1}
