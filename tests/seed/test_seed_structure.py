"""A malformed object is one problem, with the form to write; it hides no other object, and nothing that follows is reported."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from formulaseed.diagnostics.model import Diagnostic, Problems, diagnostic
from formulaseed.documents import analyse_text
from formulaseed.seed.operations import list_foreign_operations
from formulaseed.source.text import Source, Span

FIELDS: list[dict[str, Any]] = [
    {"name": "noise", "type": "enum", "values": ["none", "some", "lots"]},
    {"name": "nights", "type": "integer"},
    {"name": "slept", "type": "boolean"},
]
STEPS: list[dict[str, Any]] = [
    {"name": "IS_LOUD", "op": "define_filter", "extraction": {"noise": "lots"}},
    {"name": "N", "op": "count"},
    {"name": "N_LOUD", "op": "count", "where": {"$IS_LOUD": True}},
]


def seed_with(*steps: object, **changes: object) -> dict[str, Any]:
    seed: dict[str, Any] = {
        "task_name": "Noise",
        "parameters": {"CUT": {"type": "number", "default": 0.5}},
        "extract": {"fields": FIELDS},
        "compute": [*STEPS, *steps],
        "output": ["N", "N_LOUD"],
    }
    return {**seed, **changes}


def find_errors(seed: object) -> list[Diagnostic]:
    source = Source("seed.json", json.dumps(seed, ensure_ascii=False))
    return [d for d in analyse_text(source).diagnostics if d.severity == "error"]


def list_errors(seed: object) -> list[str]:
    """Return each error as its code and what it underlines, in the order of the file."""
    return [f"{d.code} {d.span.source.text[d.span.start : d.span.end].strip(chr(34))}" for d in find_errors(seed)]


WRONG_WHERE = {"extraction.noisy": "lots", "meta.satrs": {">": 3}}
IN_WHERE = ["FS204 extraction.noisy", "FS204 meta.satrs"]
HIDING: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a formula that ends too early": ({"op": "sum", "expr": "nn +", "where": WRONG_WHERE}, ["FS102 +", *IN_WHERE]),
    "an operation in capitals": ({"op": "Count", "where": WRONG_WHERE}, ["FS504 Count", *IN_WHERE]),
    "a misspelt operation": ({"op": "cuont", "where": WRONG_WHERE}, ["FS504 cuont", *IN_WHERE]),
    "an operation that is none": ({"op": "average", "field": "meta.yaer", "where": WRONG_WHERE}, ["FS504 average"]),
    "an unknown operation over steps": ({"op": "hypotenuse", "expr": "N + FOO"}, ["FS504 hypotenuse"]),
    "an unknown operation over reviews": ({"op": "hypotenuse", "expr": "extraction.nigths + N"}, ["FS504 hypotenuse"]),
    "no operation": ({"where": WRONG_WHERE}, ["FS502 {"]),
    "no operation, and rules": ({"rules": [{"when": "FOO > 1", "then": 1}, {"else": "N"}]}, ["FS502 {"]),
    "a key from elsewhere": (
        {"op": "sum", "formula": "extraction.nigths", "where": WRONG_WHERE},
        ["FS501 formula", "FS204 extraction.nigths", *IN_WHERE],
    ),
    "a key in the plural": ({"op": "max", "fields": "meta.yaer", "default": 0}, ["FS501 fields", "FS204 meta.yaer"]),
    "another word for the conditions": ({"op": "count", "filter": WRONG_WHERE}, ["FS501 filter", *IN_WHERE]),
    "a field and a formula": (
        {"op": "max", "field": "meta.yaer", "expr": "meta.satrs", "default": "x"},
        ["FS511 meta.satrs"],
    ),
    "a match mode that is none": (
        {
            "op": "lookup",
            "source": "context.category",
            "match": "contains",
            "table": {"a": 1, "b": "x"},
            "default": [0],
        },
        ["FS509 contains", "FS503 [0]"],
    ),
    "texts among numbers": (
        {
            "op": "lookup",
            "source": "context.city",
            "match": "exact",
            "table": {"a": "x", "b": 1, "c": "y", "d": 2},
            "default": 0,
        },
        ["FS301 x", "FS301 y"],
    ),
    "a table that is a list": (
        {"op": "lookup", "source": "context.category", "match": "exact", "table": ["a"], "default": "N"},
        ['FS503 ["a"]'],
    ),
    "a source that is a number": (
        {
            "op": "lookup",
            "source": "context.stars",
            "match": "substring_max",
            "table": {"a": "x", "b": "y"},
            "default": 0,
        },
        ["FS301 context.stars", "FS508 x", "FS508 y"],
    ),
    "a case without else": (
        {"op": "case", "source": "FOO", "rules": [{"when": "< BAR", "then": "N"}]},
        ["FS201 FOO", 'FS506 [{"when": "< BAR", "then": "N"}]', "FS201 BAR", "FS509 N"],
    ),
    "a rule that ends too early": (
        {
            "op": "case",
            "rules": [
                {"when": "N >", "then": 1},
                {"when": "FOO > 3", "then": 2},
                {"when": "N < 'a'", "then": "b"},
                {"else": 0},
            ],
        },
        ["FS102 >", "FS201 FOO", "FS301 'a'", "FS301 b"],
    ),
    "no rule that can be read": (
        {"op": "case", "source": "FOO", "rules": [{"when": "<", "then": 1}, {"else": 0}]},
        ["FS102 <"],
    ),
    "rules in no list": (
        {"op": "case", "rules": {"when": "FOO > 1", "then": "N"}},
        ['FS503 {"when": "FOO > 1", "then": "N"}'],
    ),
    "a rule with `if`": (
        {"op": "case", "rules": [{"if": "FOO > 1", "then": "N"}, {"otherwise": "N_LOUD"}]},
        ["FS501 if", "FS201 FOO", "FS509 N", "FS501 otherwise", "FS509 N_LOUD"],
    ),
    "rules behind `else`": (
        {
            "op": "case",
            "rules": [{"else": 0}, {"when": "FOO > 1", "then": 1}, {"when": "BAR > 1", "then": 2}, {"else": 3}],
        },
        ['FS506 {"when": "FOO > 1", "then": 1}', "FS201 FOO", "FS201 BAR", 'FS506 {"else": 3}'],
    ),
    "`else` in a rule": (
        {"op": "case", "rules": [{"when": "FOO > 1", "then": "N", "else": "N"}]},
        ["FS201 FOO", "FS509 N", "FS511 N"],
    ),
    "`true` as the last rule": (
        {"op": "case", "rules": [{"when": "FOO > 1", "then": 1}, {"when": True, "then": "N"}]},
        ["FS503 true"],
    ),
    "a rule without a source": ({"op": "case", "rules": [{"when": "> FOO", "then": 1}, {"else": 0}]}, ["FS101 > FOO"]),
    "conditions joined by `or`": ({"op": "count", "where": {"or": [WRONG_WHERE, {"$LOUD": True}]}}, ["FS505 or"]),
    "an operator that is none": (
        {
            "op": "count",
            "where": {"meta.satrs": {"gte": 3, "between": [1, 2]}, "extraction.noise": {"not in": ["lotz"]}},
        },
        ["FS505 gte", "FS505 between", "FS505 not in"],
    ),
    "an operator in the key": ({"op": "count", "where": {"meta.satrs >=": "a"}}, ["FS505 meta.satrs >="]),
    "a namespace that is not needed": (
        {"op": "define_filter", "extraction": {"extraction.noise": "lotz"}},
        ["FS204 extraction.noise", "FS302 lotz"],
    ),
    "a field without its namespace": ({"op": "count", "where": {"noise": "lotz"}}, ["FS204 noise", "FS302 lotz"]),
    "a list in place of one value": (
        {"op": "count", "where": {"extraction.noise": ["lots", "lotz"]}},
        ['FS503 ["lots", "lotz"]'],
    ),
    "a text in place of a list": ({"op": "count", "where": {"extraction.noise": {"in": "lotz"}}}, ["FS503 lotz"]),
    "nothing said of a field": ({"op": "count", "where": {"meta.satrs": {}}}, ["FS505 {}"]),
}
"""Each a step, and its errors: one for what is malformed, and those in its well-formed parts."""


@pytest.mark.parametrize("name", HIDING)
def test_a_step(name: str) -> None:
    """Nothing in the step is hidden, and nothing is reported of the steps that use it."""
    step, expected = HIDING[name]
    assert sorted(list_errors(seed_with({"name": "X", **step}))) == sorted(expected)
    is_filter = step.get("op") == "define_filter"
    use = {"name": "Y", "op": "count", "where": {"$X": True}} if is_filter else {"name": "Y", "op": "expr", "expr": "X"}
    assert sorted(list_errors(seed_with({"name": "X", **step}, use, output=["Y"]))) == sorted(expected)


@pytest.mark.parametrize("name", HIDING)
def test_a_step_without_a_name(name: str) -> None:
    step, expected = HIDING[name]
    errors = list_errors(seed_with(step))
    assert sorted(errors) == sorted([*expected, "FS502 {"])


def test_two_steps_without_a_name() -> None:
    """The same mistake in both is reported of both; a step can be used whatever they are."""
    step = {"op": "sum", "expr": "extraction.nigths", "where": {"$IS_LOUD": True}}
    errors = find_errors(seed_with(step, step))
    assert [(d.code, d.pointer) for d in errors] == [
        ("FS502", "/compute/3"),
        ("FS204", "/compute/3/expr"),
        ("FS502", "/compute/4"),
        ("FS204", "/compute/4/expr"),
    ]


def test_of_an_unknown_operation_nothing_follows() -> None:
    """It may be a filter or a value: neither use is an error."""
    uses = [{"name": "A", "op": "count", "where": {"$X": True}}, {"name": "B", "op": "expr", "expr": "X + 1"}]
    assert list_errors(seed_with({"name": "X", "op": "hypotenuse"}, *uses, output=["A", "B"])) == ["FS504 hypotenuse"]
    filter_step = {"name": "X", "op": "filter", "extraction": {"noise": "lots"}}
    assert list_errors(seed_with(filter_step, uses[0], output=["A"])) == ["FS504 filter"]


def test_what_a_broken_condition_would_exclude_is_not_warned_of() -> None:
    """Where a guard cannot be read, nothing is said of what it may guard."""
    steps = [
        {"name": "A", "op": "sum", "expr": "1 / meta.useful", "where": {"meta.useful": {"above": 0}}},
        {
            "name": "B",
            "op": "case",
            "rules": [{"when": "N ==", "then": 0}, {"when": "1 / N > 2", "then": 1}, {"else": 2}],
        },
    ]
    source = Source("seed.json", json.dumps(seed_with(*steps)))
    codes = {
        d.code for d in analyse_text(source).diagnostics if d.span.pointer.startswith(("/compute/3", "/compute/4"))
    }
    assert codes == {"FS505", "FS102"}


def test_malformed_sections_are_one_error() -> None:
    """A list in place of `extract`, an object in place of a list: one error with the form to write, and nothing that follows."""
    count = {"name": "X", "op": "count", "where": {"extraction.noise": "lotz", "extraction.nigths": 1}}
    (error,) = find_errors(seed_with(count, extract=FIELDS))
    assert (error.code, error.pointer, error.help) == ("FS503", "/extract", 'write {"fields": […]}')
    named = {str(field["name"]): {key: field[key] for key in field if key != "name"} for field in FIELDS}
    (error,) = find_errors(seed_with(count, extract={"fields": named}))
    assert (error.code, error.pointer) == ("FS503", "/extract/fields")
    assert error.help == 'write [{"name": …, "type": …}, …]'
    (error,) = find_errors(seed_with(count, extract=named))
    assert (error.code, error.pointer) == ("FS502", "/extract")
    assert error.help == 'add "fields": [{"name": …, "type": …}, …]'
    (error,) = find_errors(
        seed_with({"name": "X", "op": "expr", "expr": "N * param.CUTT"}, parameters=[{"name": "CUT", "type": "number"}])
    )
    assert (error.code, error.pointer) == ("FS503", "/parameters")
    assert error.help == 'write {"AS_OF_YEAR": {"type": "integer", "default": 2025}}'


def test_steps_and_declared_fields_under_their_names() -> None:
    """An object in place of a list, for steps and the fields of the context: one error each."""
    steps = {step["name"]: {key: step[key] for key in step if key != "name"} for step in STEPS}
    errors = find_errors(seed_with(compute=steps, context={"price": {"type": "integer"}}, output=["X", "N_LOUT"]))
    assert [(d.code, d.pointer) for d in errors] == [("FS503", "/compute"), ("FS503", "/context")]
    assert errors[0].help == 'write [{"name": …, "op": …}, …]'


def test_a_seed_in_a_list() -> None:
    (error,) = find_errors([seed_with({"name": "X", "op": "expr", "expr": "FOO"})])
    assert (error.code, error.help) == ("FS008", 'write {"task_name": …} itself, without `[` and `]`')


@pytest.mark.parametrize("key", ["seed", "formula_seed", "Noise"])
def test_a_wrapped_seed(key: str) -> None:
    """One error says to unwrap it."""
    (error,) = find_errors({key: seed_with({"name": "X", "op": "expr", "expr": "FOO"})})
    assert (error.code, error.help) == ("FS501", f'write {{"task_name": …}} itself, without `{key}` around it')
    v1 = {
        "task_name": "T",
        "extraction_fields": [],
        "compute_dag": [{"name": "n", "formula": "1"}],
        "output_fields": ["n"],
    }
    assert list_errors({key: v1}) == [f"FS501 {key}"]


@pytest.mark.parametrize(
    ("step", "key", "right"),
    [
        ({"id": "X", "op": "count"}, "id", "name"),
        ({"name": "X", "op": "expr", "value": "N + 1"}, "value", "expr"),
        ({"name": "X", "op": "const", "expr": "3"}, "expr", "value"),
        ({"name": "X", "op": "const", "formula": "3"}, "formula", "value"),
        ({"name": "X", "op": "sum", "field": "meta.stars"}, "field", "expr"),
        (
            {"name": "X", "op": "lookup", "field": "context.city", "match": "exact", "table": {"a": 1}, "default": 0},
            "field",
            "source",
        ),
        ({"name": "X", "op": "case", "rules": [{"when": "N > 1", "value": 1}, {"else": 0}]}, "value", "then"),
    ],
)
def test_a_key_from_elsewhere_is_one_error(step: dict[str, Any], key: str, right: str) -> None:
    (error,) = find_errors(seed_with(step, output=["X"]))
    assert (error.code, error.help) == ("FS501", f"did you mean `{right}`?")
    assert error.pointer.endswith(key)


@pytest.mark.parametrize(
    ("field", "key", "right"),
    [
        ({"id": "a", "type": "integer"}, "id", "name"),
        ({"field": "a", "type": "integer"}, "field", "name"),
        ({"name": "a", "kind": "integer"}, "kind", "type"),
        ({"name": "a", "type": "enum", "options": ["x"]}, "options", "values"),
    ],
)
def test_a_key_from_elsewhere_in_a_field(field: dict[str, Any], key: str, right: str) -> None:
    """What uses the field is checked with it."""
    value = "x" if "options" in field else 3
    step = {"name": "X", "op": "count", "where": {"extraction.a": value}}
    (error,) = find_errors(seed_with(step, extract={"fields": [*FIELDS, field]}))
    assert (error.code, error.help) == ("FS501", f"did you mean `{right}`?")
    assert error.pointer.endswith(key)


def test_a_key_that_is_there_is_not_asked_for() -> None:
    """A count with a field has its name already."""
    (error,) = find_errors(seed_with({"name": "X", "op": "count", "field": "meta.stars"}))
    assert error.code == "FS501"
    assert error.help.startswith("known keys")


def where(**conditions: object) -> dict[str, Any]:
    return {"name": "X", "op": "count", "where": conditions}


def choose(when: object, source: str = "") -> dict[str, Any]:
    """Return a case with one rule."""
    rules = [{"when": when, "then": 1}, {"else": 0}]
    return {"name": "X", "op": "case", "rules": rules, **({"source": source} if source else {})}


HELPS: dict[str, tuple[dict[str, Any], str, str]] = {
    "an operator in a text": (where(**{"extraction.noise": "!= lots"}), "FS505", 'write {"!=": …}'),
    "a number behind it": (where(**{"meta.stars": ">= 3.5"}), "FS505", 'write {">=": 3.5}'),
    "equality in a text": (where(**{"extraction.noise": "== lots"}), "FS505", "write the value without an operator"),
    "a namespace twice": (
        where(**{"extraction.extraction.noise": "lots"}),
        "FS204",
        "did you mean `extraction.noise`?",
    ),
    "a step tested by reviews": (
        where(N={">": 2}),
        "FS205",
        "test it in a `case` or an `expr`, or compare with it in the formula of a `sum`, such as `int(meta.stars > N)`",
    ),
    "a step with a sign": (choose("> 3", "$N"), "FS509", "write `N`"),
    "a field with a sign": (
        {"name": "X", "op": "lookup", "source": "$context.city", "match": "exact", "table": {"a": 1}, "default": 0},
        "FS509",
        "write `context.city`",
    ),
    "not_in": (
        where(**{"extraction.noise": {"not_in": ["lots"]}}),
        "FS505",
        'define a filter: {"name": "…", "op": "define_filter", "expr": "meta.year not in [2020, 2021]"}',
    ),
    "at least": (where(**{"meta.stars": {"≥": 3}}), "FS505", "write `>=`"),
    "at most": (where(**{"meta.stars": {"≤": 3}}), "FS505", "write `<=`"),
    "unequal": (where(**{"meta.stars": {"≠": 3}}), "FS505", "write `!=`"),
    "between": (where(**{"meta.stars": {"between": [2, 4]}}), "FS505", 'write {">=": 2020, "<=": 2023}'),
    "a list of filters": (
        {"name": "X", "op": "count", "where": ["$IS_LOUD"]},
        "FS503",
        'write an object such as {"meta.year": {">=": 2020}}',
    ),
    "a date after an operator": (where(**{"meta.date": "> 2019"}), "FS505", "use `meta.year` and `meta.month`"),
    "a parameter as a text": (where(**{"meta.stars": {">=": "CUT"}}), "FS301", "write `param.CUT`"),
    "a step as a value": (
        where(**{"meta.stars": {">=": "N"}}),
        "FS301",
        "compare them in a formula, such as the `expr` of a `sum`: `int(meta.stars > LIMIT)`",
    ),
    "a condition in an object": (choose({"N": {">": 3}}), "FS503", 'write a formula such as "N > 3 and M < 2"'),
    "a comparison in an object": (choose({">": 3}, "N"), "FS503", 'write a comparison such as "> 3"'),
    "a filter in a rule": (choose({"$IS_LOUD": True}), "FS503", 'write a formula such as "N > 3 and M < 2"'),
    "an assignment to the source": (choose("N = 3", "N"), "FS101", "leave `N` out: write `== 3`"),
    "the source in a list": (choose("N in [1, 2]", "N"), "FS101", "leave `N` out: write `in [1, 2]`"),
    "a negative number alone": (choose("-3", "N"), "FS101", "write a comparison: `== -3`, or `< -3`"),
    "rules in an object": (
        {"name": "X", "op": "case", "source": "N", "rules": {"> 4": "High", "else": "Low"}},
        "FS503",
        'write [{"when": "N > 2", "then": "many"}, {"else": "few"}]',
    ),
    "a number alone": (choose("4", "N"), "FS101", "write a comparison: `== 4`, or `< 4`"),
    "a text alone": (choose("York", "context.city"), "FS101", "write `== 'York'` if it is a string"),
    "the source before its comparison": (choose("N > 3", "N"), "FS101", "leave `N` out: write `> 3`"),
    "a field in a list": ({"name": "X", "op": "max", "field": ["meta.year"], "default": 0}, "FS503", "write a string"),
    "dates in an order": (
        where(**{"meta.date": {">=": "2020-01-01", "<": "2021-01-01"}}),
        "FS301",
        "use `meta.year` and `meta.month`",
    ),
}


@pytest.mark.parametrize("name", HELPS)
def test_one_error_with_the_help_that_fixes_it(name: str) -> None:
    step, code, help = HELPS[name]
    (error,) = find_errors(seed_with(step, output=["X"]))
    assert (error.code, error.help) == (code, help)


def test_keywords_of_the_other_version() -> None:
    (error,) = find_errors(seed_with(filter_keywords=["noise"]))
    assert (error.code, error.help) == ("FS511", 'write "filter": {"keywords": […]}')


def test_a_value_behind_an_operator_is_not_lost_to_a_fix() -> None:
    """What is wrong in the text behind an operator is reported once the operator is where it belongs: no fix drops it."""
    assert list_errors(seed_with(where(**{"extraction.noise": "!= lotz"}))) == ["FS505 != lotz"]


@pytest.mark.parametrize(
    ("condition", "is_constant"),
    [
        (2.5, True),
        ({"!=": 2.5}, True),
        ({"in": [2.5, 0.25]}, True),
        (2, False),
        (2.0, False),
        ({"in": [2.5, 3]}, False),
        ({">": 2.5}, False),
    ],
)
def test_an_integer_is_never_a_fraction(condition: object, is_constant: bool) -> None:
    """A comparison with fractions alone is constant; one with a whole number, or an order, is not."""
    source = Source("seed.json", json.dumps(seed_with(where(**{"extraction.nights": condition}), output=["X"])))
    messages = [d.message for d in analyse_text(source).diagnostics if d.code in ("FS603", "FS610")]
    assert ["`extraction.nights` is an integer" in message for message in messages] == [True] * is_constant


@pytest.mark.parametrize(
    "words",
    [
        "extraction.noise == 'lots'",
        "$IS_LOUD and meta.stars != 3",
        "extraction.noise == 'lots' or meta.stars > 3",
        "$IS_LOUD",
        "lots and lots of noise",
        ["$IS_LOUD", "nigths > 3"],
        [{}],
    ],
)
def test_conditions_in_words_are_one_error(words: object) -> None:
    """The help shows the object to write; the words are not looked at."""
    (error,) = find_errors(seed_with({"name": "X", "op": "count", "where": words}))
    assert (error.code, error.help) == ("FS503", 'write an object such as {"meta.year": {">=": 2020}}')


def test_sections_under_the_keys_of_the_other_version() -> None:
    """Each key is one error, and what is under it is not looked at."""
    seed = seed_with(extraction_fields=[{"name": "noise", "type": "enums", "values": ["lots"]}], output_fields=["NN"])
    del seed["extract"], seed["output"]
    seed["filter_keywords"] = ["loud", "loud"]
    assert sorted(list_errors(seed)) == ["FS511 extraction_fields", "FS511 filter_keywords", "FS511 output_fields"]
    v1 = {
        "task_name": "T",
        "filter": {"keywords": ["loud", "loud"]},
        "extract": {"fields": [{"name": "noise", "values": {"lots": "x"}}]},
        "extraction_prompt": "Read: {review_text}",
        "compute_dag": [{"name": "n", "formula": "sum(1 for e in extractions if e['noise'] == 'lotz')"}],
        "output": ["n", "m"],
    }
    assert sorted(list_errors(v1)) == ["FS511 extract", "FS511 filter", "FS511 output"]


def test_a_duplicate_key_is_reported_once() -> None:
    """The JSON reader reports it; enum values, table entries and parameters do not report it again."""
    seed = seed_with(
        {
            "name": "X",
            "op": "lookup",
            "source": "context.name",
            "match": "substring_max",
            "table": {"a": 1},
            "default": 0,
        },
        extract={"fields": [*FIELDS, {"name": "mood", "type": "enum", "values": {"calm": "x"}}]},
    )
    text = json.dumps(seed)
    for once in ('"calm": "x"', '"a": 1', '"CUT": {"type": "number", "default": 0.5}'):
        assert once in text
        text = text.replace(once, f"{once}, {once}")
    errors = analyse_text(Source("seed.json", text)).diagnostics
    assert [d.code for d in errors if d.code != "FS602"] == ["FS005", "FS005", "FS005"]


def test_a_filter_of_a_misspelt_operation_is_near() -> None:
    """What is meant to be a filter is proposed where a filter is misspelt."""
    errors = find_errors(
        seed_with({"name": "is_new", "op": "filter", "meta": {"year": {">": 2020}}}, where(**{"$is_nwe": True}))
    )
    assert [(d.code, d.help) for d in errors] == [
        ("FS504", str(list_foreign_operations()["filter"])),
        ("FS201", "did you mean `$is_new`?"),
    ]


def test_a_string_or_list_in_place_of_the_other() -> None:
    """Each is one error with the form to write."""
    fields = [{"name": "mood", "type": "enum", "values": "calm | loud"}, {"name": "sort", "type": ["a", "b"]}]
    seed = seed_with(filter=["loud", "loud"], extract={"fields": [*FIELDS, *fields]}, output="N, NN")
    assert [(d.code, d.pointer, d.help) for d in find_errors(seed)] == [
        ("FS503", "/extract/fields/3/values", 'write {"none": "…"} or ["none"]'),
        ("FS503", "/extract/fields/4/type", "write a string"),
        ("FS503", "/output", 'write ["SCORE"]'),
        ("FS503", "/filter", 'write {"keywords": ["loud"]}'),
    ]


@pytest.mark.parametrize(
    ("keywords", "form"),
    [(["wait", "slow"], '["wait", "slow"]'), ("wait", '["wait"]'), ([], '["waiter"]'), ([1, "a"], '["waiter"]'),
     (["long" * 50], '["waiter"]')],
)  # fmt: skip
def test_the_keywords_of_a_filter_that_is_no_object_are_shown_in_one(keywords: Any, form: str) -> None:
    """The form to write has the user's own keywords where all are strings and there is room for them."""
    assert [d.help for d in find_errors(seed_with(filter=keywords))] == [f'write {{"keywords": {form}}}']


def test_a_long_text_is_not_repeated_in_full() -> None:
    """What a message quotes is cut short where no one would read it."""
    long = "N" * 100_000
    (error,) = find_errors(seed_with(output=[long]))
    assert error.message == f"no step is called `{'N' * 80}…`"
    seed = seed_with({"name": "X", "op": "expr", "expr": f"N + {long}"}, {"name": "Y", "op": long}, where(**{long: 1}))
    for error in find_errors(seed):
        assert len(error.message) < 1_100
        assert len(error.help) < 1_100


def test_quotations_are_cut_and_nothing_else() -> None:
    long = "b" * 2000
    problems = Problems()
    problems.report(
        diagnostic("FS201", Span(Source("s", ""), 0, 0), f"`a` {'words ' * 20}`{long}` end", f"`{long}`, `c` and `d`")
    )
    (error,) = problems.sorted()
    assert error.message == f"`a` {'words ' * 20}`{'b' * 80}…` end"
    assert error.help == f"`{'b' * 80}…`, `c` and `d`"


LARGE = {
    "values in texts": seed_with(
        extract={"fields": [{"name": f"f{n}", "type": "enum", "values": "\t" + "a," * 499} for n in range(500)]}
    ),
    "fields in `extract`": seed_with(extract={f"a{n}": {"type": 0} for n in range(40_000)}),
    "formulas in a list": seed_with(
        where_in_words := {
            "name": "X",
            "op": "count",
            "where": [" and ".join(f"meta.stars + {n} > 0" for n in range(140))] * 64,
        }
    ),
    "alternatives in a list": seed_with(
        {**where_in_words, "where": [" and ".join(["(meta.stars > 0" + " or meta.stars > -1" * 49 + ")"] * 9)] * 64}
    ),
}


@pytest.mark.parametrize("name", LARGE)
def test_a_large_seed_is_checked_in_time(name: str) -> None:
    """What is wrong in a hundred places takes no more time than what is right there."""
    before = time.process_time()
    assert find_errors(LARGE[name])
    assert time.process_time() - before < 15
