"""Values that Python itself cannot print, compare or convert: refused like any other that does not fit, everywhere.

Integers of 400 and of 5,000 digits, NaN and infinities, lists and objects that nest deeper than Python's recursion.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import formulaseed as package
import pytest
from formulaseed import (
    DataError,
    EvaluationError,
    FormulaSeedError,
    api,
    limits,
    load_evaluator,
    load_requests,
    load_seed,
)
from formulaseed.documents import analyse_rules, read_requests
from formulaseed.errors import UnreadableError
from formulaseed.extractors.base import AskedField, check_value
from formulaseed.language.json_values import _quote, _why_incomparable
from formulaseed.pipeline import require_valid
from formulaseed.requests.records import parse_background, parse_restaurant
from formulaseed.runtime.loading import module_from_source
from formulaseed.testing import contexts, reference_evaluate, rows
from helpers import EXAMPLES, SEEDS, command, places, read_lines, tiny_rows, tiny_seed, write_json, write_lines
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from listing import FULL

pytestmark = pytest.mark.thorough

HUGE = 10**5_000
REFERENCE = EXAMPLES / "formula_reference.json"


def deep(levels: int, *, objects: bool = False) -> Any:
    value: Any = {} if objects else []
    for _ in range(levels):
        value = {"a": value} if objects else [value]
    return value


EXTREMES = {
    "5,000 digits": HUGE, "less than that": -HUGE, "400 digits": 10**400, "in a list": [HUGE], "in an object": {"a": HUGE},
    "NaN": float("nan"), "infinity": float("inf"), "a list 100,000 deep": deep(100_000), "a long text": "x" * 1_000_000,
    "objects 100,000 deep": deep(100_000, objects=True), "a list 900 deep": deep(900), "a boolean": True, "null": None,
    "a list": [], "an object": {}, "a number": 3,
}  # fmt: skip


def each_replaced(value: Any) -> Iterator[Any]:
    """Copies of a value, in each of which one part, whether value, list or object, is one of the extremes."""
    for place in range(len(list(places(value)))):
        for extreme in EXTREMES.values():
            changed = copy.deepcopy(value)
            holder, key = list(places(changed))[place]
            holder[key] = extreme
            yield changed


def is_refused(refusals: tuple[type[Exception], ...], function: Callable[..., Any], *arguments: Any) -> bool:
    """Whether a call raises one of these exceptions; any other is this test's failure."""
    try:
        function(*arguments)
    except refusals as error:
        refusal = error
    else:
        return False
    assert len(str(refusal)) < 2_000 or isinstance(refusal, UnreadableError), "only a path is quoted whole"
    return True


# --- seeds


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.parent.name)
def test_rows_contexts_and_parameters(path: Any) -> None:
    """The module, the evaluator and the reference evaluator refuse any of them at any place, and all alike."""
    seed = load_seed(path)
    evaluator = load_evaluator(seed)
    module: Any = evaluator.module
    drawn = st.tuples(rows(seed, min_size=1, max_size=1, wild=True), contexts(seed, wild=True))
    defaults = {parameter.name: parameter.default for parameter in seed.program.parameters}
    (least_row,), context = find(drawn, lambda _: True, settings=settings(phases=[Phase.generate], database=None))
    row = {"extraction": {field.name: None for field in seed.program.fields}, **least_row}
    refused = 0
    for arguments in each_replaced([[row], context, {**defaults, "NONE": 1} if defaults else {}]):
        is_bad = is_refused((DataError, EvaluationError), evaluator.trace, *arguments)
        assert is_bad is is_refused((DataError, EvaluationError), reference_evaluate, seed, *arguments)
        is_refused((DataError, EvaluationError), evaluator.evidence, *arguments)
        refused += is_bad
    assert refused
    own = (module.DataError, module.EvaluationError)
    parsed = {"parse_row": row, "parse_context": context} | ({"parse_parameters": defaults} if defaults else {})
    for name, value in parsed.items():
        for changed in each_replaced(value):
            is_refused(own, getattr(module, name), changed)


def test_what_is_no_row_context_or_parameters() -> None:
    """Values that are no list of objects, or no object, are refused by name in place of a traceback."""
    seed = load_seed(tiny_seed())
    evaluator = load_evaluator(seed)
    for extreme in (HUGE, deep(100_000), "x", True, [HUGE], 5):
        for arguments in (([extreme], {}), ([], extreme), (extreme, {}), ([], {}, extreme)):
            for function in (evaluator.evaluate, evaluator.evidence):
                assert is_refused((DataError,), function, *arguments), arguments
            assert is_refused((DataError,), reference_evaluate, seed, *arguments)


def test_integers_of_5000_digits_in_files(tmp_path: Any) -> None:
    """JSON can hold what Python cannot read: a bad line among others."""
    seed = write_json(tmp_path / "seed.json", tiny_seed())
    large = json.dumps(tiny_rows("b2", {"meta": {"stars": 9}})).replace("9", "9" * 5_000).encode()
    rows_file = write_lines(tmp_path / "rows.jsonl", tiny_rows("b1"), large)
    done = command("evaluate", seed, "--rows", rows_file)
    assert (done.status, f"{rows_file}:2" in done.err) == (3, True)


def test_recorded_answers() -> None:
    """An extracted number beyond all bounds is refused as one that is a little beyond them."""
    for kind in ("integer", "number"):
        for value in (HUGE, -HUGE, 10**400, float("inf"), float("nan"), [HUGE], deep(100_000)):
            with pytest.raises(DataError, match="`n` must be"):
                check_value(AskedField("n", kind), value)  # type: ignore[arg-type]


# --- formulas


def test_values_of_formulas() -> None:
    """Fields, entities, custom fields, whole values: each is refused, or not used."""
    texts = ("title", "(cpu.cores or 0) + ram_gb", "listing.custom_fields.warranty_months or 0", "1 if cpu else 0")
    formulas = [package.compile_formula(text, reference=REFERENCE) for text in texts]
    whole = {**FULL, "title": "x", "custom_fields": {"warranty_months": 12}, "listing.ram_gb": 32}
    for values in (*each_replaced(whole), *EXTREMES.values()):
        for formula in formulas:
            is_refused((DataError, EvaluationError), formula.evaluate, values)
    for one, other in ((deep(100_000), deep(100_000)), (HUGE, HUGE), (deep(900), 5)):
        for values in ({"ram_gb": one, "listing": {"ram_gb": other}}, {"cpu": {"cores": one}, "cpu.cores": other}):
            assert is_refused((DataError,), formulas[1].evaluate, {"ram_gb": 1, **values})


def test_variables_of_formulas() -> None:
    """The same of what declares variables, and of their values."""
    declared = {"x": {"type": "enum", "values": ["a"], "nullable": True, "description": "d"}, "y": {"z": 1}, "v": 1}
    for variables in (*each_replaced(declared), *EXTREMES.values(), [HUGE], {HUGE: 1}):
        is_refused((FormulaSeedError,), lambda given: package.compile_formula("v + 1", variables=given), variables)
    formula = package.compile_formula("x + 1", variables={"x": HUGE})
    with pytest.raises(DataError, match="`x` is out of range: an integer of thousands of digits"):
        formula.evaluate({"x": HUGE})


def test_records_of_rules() -> None:
    """A module of rules refuses them, too."""
    rules = require_valid(analyse_rules(EXAMPLES / "rules.json"))
    module: Any = module_from_source(package.pipeline.compile(rules, formatted=False), "extreme_rules")
    whole = {**FULL, "ports_profile": {"has_ethernet": True}, "custom_fields": {"warranty_months": 12}}
    own = (module.DataError, module.EvaluationError)
    for record in each_replaced(whole):
        is_refused(own, lambda given: module.evaluate(module.parse_record(given)), record)
    both = {**whole, "ram_gb": deep(100_000), "listing": {"ram_gb": deep(100_000)}}
    assert is_refused(own, module.parse_record, both)


# --- requests


def test_restaurants_reviews_and_judgements(monkeypatch: pytest.MonkeyPatch) -> None:
    """The module of requests and the validator refuse what no text can be compared with, and compute the rest."""
    requests = load_requests(EXAMPLES / "requests.jsonl")
    evaluator = api.requests_evaluator(read_requests(requests), requests.program.requests)
    monkeypatch.setattr(api, "requests_evaluator", lambda *_: evaluator)  # which would be compiled anew each time
    module: Any = module_from_source(
        package.pipeline.compile(load_requests(requests), formatted=False), "extreme_requests"
    )
    (restaurant,) = read_lines(EXAMPLES / "contexts.jsonl")[:1]
    review = {
        "review_id": "r1", "text": "good coffee", "stars": 5, "date": "2018-04-14", "useful": 1,
        "user": {"name": "Ann", "fans": 3, "elite": "2018", "average_stars": 4.2, "review_count": 5},
    }  # fmt: skip
    judgement = {"review_id": "r1", "aspect": "coffee", "judgement": "positive"}
    whole = [{**restaurant, "reviews": [review]}, [judgement], {"friend_graph": {"Ann": ["Bob"]}}]
    own = (module.DataError,)
    refused = 0
    for given_restaurant, judgements, graph in each_replaced(whole):
        lines = judgements if isinstance(judgements, list) else [None]
        if all(isinstance(each, dict) for each in (given_restaurant, graph, *lines)):
            refused += is_refused(own, evaluated, module, given_restaurant, judgements, graph)
        is_refused((FormulaSeedError,), validated, requests, given_restaurant, judgements, graph)
    assert refused


def evaluated(module: Any, restaurant: Any, judgements: Any, graph: Any) -> Any:
    return module.evaluate(module.parse_restaurant(restaurant), module.parse_background(judgements, graph))


def validated(requests: Any, restaurant: Any, judgements: Any, graph: Any) -> Any:
    return package.validate_requests(requests, restaurants=[restaurant], judgements=judgements, social=graph)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"attributes": {"WiFi": HUGE}}, "`attributes` holds a number beyond 1e100"),
        ({"business": {"categories": deep(100)}}, "`categories` nests more than 64 levels deep"),
        ({"reviews": [{"review_id": "r", "text": "t", "user": {"fans": 10**400}}]},
         "`reviews[0].user` holds a number beyond 1e100"),
        ({"reviews": [{"review_id": "r", "text": "t", "user": {"name": ["Ann"]}}]},
         "`reviews[0].user.name` must be a string, not ['Ann']"),
    ],
)  # fmt: skip
def test_requests_name_what_they_refuse(value: Any, message: str) -> None:
    """The refusal says which field, and the validator says the same of its line."""
    with pytest.raises(DataError) as found:
        parse_restaurant({"business_id": "b", **value})
    assert str(found.value) == message
    result = package.validate_requests(
        EXAMPLES / "requests.jsonl", restaurants=[{"business_id": "b", "reviews": [], **value}]
    )
    assert len(result.failures) == 1
    assert message.split("` ")[1].split(",")[0] in result.failures[0]


def test_judgements_are_texts() -> None:
    """A judgement of a review 5 is not one of the review `5`."""
    line = {"review_id": "5", "aspect": "coffee", "judgement": "positive"}
    assert parse_background([line]).judgements == {("5", "coffee"): "positive"}
    for key in line:
        with pytest.raises(DataError, match=r"`judgements\[1\]` must have the strings"):
            parse_background([line, {**line, key: 5}])


# --- how they are quoted


def test_quotes_are_short() -> None:
    """Whatever the value, a message quotes 80 characters of it at most."""
    assert _quote([32]) == "[32]"
    assert _quote("x" * 100) == "'" + "x" * 79
    assert _quote(HUGE) == "an integer of thousands of digits"
    assert _quote([HUGE]) == _quote(deep(100_000)) == "a value too large to print"


@given(st.sampled_from(list(EXTREMES.values())))
def test_whatever_is_readable_has_a_text(value: Any) -> None:
    """What is let through is printed and compared; the bounds are those of the limits."""
    if not _why_incomparable(value):
        assert isinstance(str(value), str)
    assert _why_incomparable(int(limits.INPUT_MAX)) == _why_incomparable(deep(limits.JSON_DEPTH - 1)) == ""
    assert _why_incomparable(int(limits.INPUT_MAX) * 2)
    assert _why_incomparable(deep(limits.JSON_DEPTH))
