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


def count(where: object) -> dict[str, Any]:
    return {"op": "count", "where": where}


def case(*rules: object, **more: object) -> dict[str, Any]:
    return {"op": "case", "rules": [*rules], **more}


def choose(when: object, **more: object) -> dict[str, Any]:
    """Return a case with one rule before the last."""
    return case({"when": when, "then": 1}, {"else": 0}, **more)


def lookup(source: str, table: object = None, **more: object) -> dict[str, Any]:
    return {"op": "lookup", "source": source, "match": "exact", "table": table or {"a": 1}, "default": 0, **more}


def find_errors(seed: object) -> list[Diagnostic]:
    source = Source("seed.json", json.dumps(seed, ensure_ascii=False))
    return [d for d in analyse_text(source).diagnostics if d.severity == "error"]


def list_errors(seed: object) -> list[str]:
    """Return each error as its code and what it underlines, in the order of the file."""
    return [f"{d.code} {d.span.source.text[d.span.start : d.span.end].strip(chr(34))}" for d in find_errors(seed)]


WRONG = {"extraction.noisy": "lots", "meta.satrs": {">": 3}}
IN_WHERE = ["FS204 extraction.noisy", "FS204 meta.satrs"]
FOO, BAR = {"when": "FOO > 1", "then": 1}, {"when": "BAR > 1", "then": 2}
HIDING: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a formula that ends too early": ({"op": "sum", "expr": "nn +", "where": WRONG}, ["FS102 +", *IN_WHERE]),
    "an operation in capitals": ({"op": "Count", "where": WRONG}, ["FS504 Count", *IN_WHERE]),
    "a misspelt operation": ({"op": "cuont", "where": WRONG}, ["FS504 cuont", *IN_WHERE]),
    "an operation that is none": ({"op": "average", "field": "meta.yaer", "where": WRONG}, ["FS504 average"]),
    "an unknown operation over steps": ({"op": "hypotenuse", "expr": "N + FOO"}, ["FS504 hypotenuse"]),
    "an unknown operation over reviews": ({"op": "hypotenuse", "expr": "extraction.nigths + N"}, ["FS504 hypotenuse"]),
    "no operation": ({"where": WRONG}, ["FS502 {"]),
    "no operation, and rules": ({"rules": [FOO, {"else": "N"}]}, ["FS502 {"]),
    "a key from elsewhere": (
        {"op": "sum", "formula": "extraction.nigths", "where": WRONG}, ["FS501 formula", "FS204 extraction.nigths", *IN_WHERE]),
    "a key in the plural": ({"op": "max", "fields": "meta.yaer", "default": 0}, ["FS501 fields", "FS204 meta.yaer"]),
    "another word for the conditions": ({"op": "count", "filter": WRONG}, ["FS501 filter", *IN_WHERE]),
    "a field and a formula": (
        {"op": "max", "field": "meta.yaer", "expr": "meta.satrs", "default": "x"}, ["FS511 meta.satrs"]),
    "a match mode that is none": (
        lookup("context.category", {"a": 1, "b": "x"}, match="contains", default=[0]), ["FS509 contains", "FS503 [0]"]),
    "texts among numbers": (lookup("context.city", {"a": "x", "b": 1, "c": "y", "d": 2}), ["FS301 x", "FS301 y"]),
    "a table that is a list": (lookup("context.category", ["a"], default="N"), ['FS503 ["a"]']),
    "a source that is a number": (
        lookup("context.stars", {"a": "x", "b": "y"}, match="substring_max"), ["FS301 context.stars", "FS508 x", "FS508 y"]),
    "a case without else": (
        case({"when": "< BAR", "then": "N"}, source="FOO"),
        ["FS201 FOO", 'FS506 [{"when": "< BAR", "then": "N"}]', "FS201 BAR", "FS509 N"]),
    "a rule that ends too early": (
        case({"when": "N >", "then": 1}, FOO, {"when": "N < 'a'", "then": "b"}, {"else": 0}),
        ["FS102 >", "FS201 FOO", "FS301 'a'", "FS301 b"]),
    "no rule that can be read": (choose("<", source="FOO"), ["FS102 <"]),
    "rules in no list": ({"op": "case", "rules": FOO}, ['FS503 {"when": "FOO > 1", "then": 1}']),
    "a rule with `if`": (
        case({"if": "FOO > 1", "then": "N"}, {"otherwise": "N_LOUD"}),
        ["FS501 if", "FS201 FOO", "FS509 N", "FS501 otherwise", "FS509 N_LOUD"]),
    "rules behind `else`": (
        case({"else": 0}, FOO, BAR, {"else": 3}),
        ['FS506 {"when": "FOO > 1", "then": 1}', "FS201 FOO", "FS201 BAR", 'FS506 {"else": 3}']),
    "`else` in a rule": (case({**FOO, "then": "N", "else": "N"}), ["FS201 FOO", "FS509 N", "FS511 N"]),
    "`true` as the last rule": (case(FOO, {"when": True, "then": "N"}), ["FS503 true"]),
    "a rule without a source": (choose("> FOO"), ["FS101 > FOO"]),
    "conditions joined by `or`": (count({"or": [WRONG, {"$LOUD": True}]}), ["FS505 or"]),
    "an operator that is none": (
        count({"meta.satrs": {"gte": 3, "between": [1, 2]}, "extraction.noise": {"not in": ["lotz"]}}),
        ["FS505 gte", "FS505 between", "FS505 not in"]),
    "an operator in the key": (count({"meta.satrs >=": "a"}), ["FS505 meta.satrs >="]),
    "a namespace that is not needed": (
        {"op": "define_filter", "extraction": {"extraction.noise": "lotz"}}, ["FS204 extraction.noise", "FS302 lotz"]),
    "a field without its namespace": (count({"noise": "lotz"}), ["FS204 noise", "FS302 lotz"]),
    "a list in place of one value": (count({"extraction.noise": ["lots", "lotz"]}), ['FS503 ["lots", "lotz"]']),
    "a text in place of a list": (count({"extraction.noise": {"in": "lotz"}}), ["FS503 lotz"]),
    "nothing said of a field": (count({"meta.satrs": {}}), ["FS505 {}"]),
    "a wrong value behind an operator in a text": (count({"extraction.noise": "!= lotz"}), ["FS505 != lotz"]),
}  # fmt: skip
"""Each a step, and its errors: one for what is malformed, and those in its well-formed parts."""


@pytest.mark.parametrize(("step", "expected"), HIDING.values(), ids=HIDING)
def test_a_step(step: dict[str, Any], expected: list[str]) -> None:
    """Nothing in the step is hidden, nothing is reported of the steps that use it, and a missing name is one more error."""
    named = {"name": "X", **step}
    use = {"op": "expr", "expr": "X"} if step.get("op") != "define_filter" else count({"$X": True})
    used = seed_with(named, {"name": "Y", **use}, output=["Y"])
    assert sorted(list_errors(seed_with(named))) == sorted(list_errors(used)) == sorted(expected)
    assert sorted(list_errors(seed_with(step))) == sorted([*expected, "FS502 {"])


def test_two_steps_without_a_name() -> None:
    """The same mistake in both is reported of both; a step can be used whatever they are."""
    step = {"op": "sum", "expr": "extraction.nigths", "where": {"$IS_LOUD": True}}
    assert [(d.code, d.pointer) for d in find_errors(seed_with(step, step))] == [
        ("FS502", "/compute/3"), ("FS204", "/compute/3/expr"), ("FS502", "/compute/4"), ("FS204", "/compute/4/expr"),
    ]  # fmt: skip


def test_of_an_unknown_operation_nothing_follows() -> None:
    """It may be a filter or a value: neither use is an error."""
    uses = [{"name": "A", **count({"$X": True})}, {"name": "B", "op": "expr", "expr": "X + 1"}]
    assert list_errors(seed_with({"name": "X", "op": "hypotenuse"}, *uses, output=["A", "B"])) == ["FS504 hypotenuse"]
    filter_step = {"name": "X", "op": "filter", "extraction": {"noise": "lots"}}
    assert list_errors(seed_with(filter_step, uses[0], output=["A"])) == ["FS504 filter"]


def test_what_a_broken_condition_would_exclude_is_not_warned_of() -> None:
    sum_step = {"name": "A", "op": "sum", "expr": "1 / meta.useful", "where": {"meta.useful": {"above": 0}}}
    rules = [{"when": "N ==", "then": 0}, {"when": "1 / N > 2", "then": 1}, {"else": 2}]
    seed = seed_with(sum_step, {"name": "B", **case(*rules)})
    diagnostics = analyse_text(Source("seed.json", json.dumps(seed))).diagnostics
    places = ("/compute/3", "/compute/4")
    assert {d.code for d in diagnostics if d.span.pointer.startswith(places)} == {"FS505", "FS102"}


def name_by_key(items: list[dict[str, Any]]) -> dict[str, Any]:
    """Return an object in place of a list of named objects."""
    return {item["name"]: {key: item[key] for key in item if key != "name"} for item in items}


UNKNOWN_FIELDS = {"name": "X", **count({"extraction.noise": "lotz", "extraction.nigths": 1})}
ENUM, LIST = {"name": "mood", "type": "enum", "values": "calm | loud"}, {"name": "sort", "type": ["a", "b"]}
MALFORMED: dict[str, tuple[dict[str, Any], list[tuple[str, str, str]]]] = {
    "fields in place of `extract`": (
        seed_with(UNKNOWN_FIELDS, extract=FIELDS), [("FS503", "/extract", 'write {"fields": […]}')]),
    "fields under their names": (
        seed_with(UNKNOWN_FIELDS, extract={"fields": name_by_key(FIELDS)}),
        [("FS503", "/extract/fields", 'write [{"name": …, "type": …}, …]')]),
    "fields under their names in place of `extract`": (
        seed_with(UNKNOWN_FIELDS, extract=name_by_key(FIELDS)),
        [("FS502", "/extract", 'add "fields": [{"name": …, "type": …}, …]')]),
    "parameters in a list": (
        seed_with({"name": "X", "op": "expr", "expr": "N * param.CUTT"}, parameters=[{"name": "CUT", "type": "number"}]),
        [("FS503", "/parameters", 'write {"AS_OF_YEAR": {"type": "integer", "default": 2025}}')]),
    "steps and declared fields under their names": (
        seed_with(compute=name_by_key(STEPS), context={"price": {"type": "integer"}}, output=["X", "N_LOUT"]),
        [("FS503", "/compute", 'write [{"name": …, "op": …}, …]'), ("FS503", "/context", 'write [{"name": …, "type": …}, …]')]),
    "a string or list in place of the other": (
        seed_with(filter=["loud", "loud"], extract={"fields": [*FIELDS, ENUM, LIST]}, output="N, NN"),
        [("FS503", "/extract/fields/3/values", 'write {"none": "…"} or ["none"]'),
         ("FS503", "/extract/fields/4/type", "write a string"),
         ("FS503", "/output", 'write ["SCORE"]'), ("FS503", "/filter", 'write {"keywords": ["loud"]}')]),
    "a filter of a misspelt operation is near where a filter is misspelt": (
        seed_with({"name": "is_new", "op": "filter", "meta": {"year": {">": 2020}}}, {"name": "X", **count({"$is_nwe": True})}),
        [("FS504", "/compute/3/op", str(list_foreign_operations()["filter"])),
         ("FS201", "/compute/4/where/$is_nwe", "did you mean `$is_new`?")]),
}  # fmt: skip


@pytest.mark.parametrize(("seed", "expected"), MALFORMED.values(), ids=MALFORMED)
def test_each_malformed_part_is_one_error(seed: dict[str, Any], expected: list[tuple[str, str, str]]) -> None:
    assert [(d.code, d.pointer, d.help) for d in find_errors(seed)] == expected


@pytest.mark.parametrize("key", ["seed", "formula_seed", "Noise"])
def test_a_wrapped_seed(key: str) -> None:
    v1 = {
        "task_name": "T",
        "extraction_fields": [],
        "compute_dag": [{"name": "n", "formula": "1"}],
        "output_fields": ["n"],
    }
    for seed in (seed_with({"name": "X", "op": "expr", "expr": "FOO"}), v1):
        (error,) = find_errors({key: seed})
        help = f'write {{"task_name": …}} itself, without `{key}` around it'
        assert (error.code, error.pointer, error.help) == ("FS501", f"/{key}", help)


STEP_KEYS: list[tuple[dict[str, Any], str, str]] = [
    ({"id": "X", "op": "count"}, "id", "name"),
    ({"name": "X", "op": "expr", "value": "N + 1"}, "value", "expr"),
    ({"name": "X", "op": "const", "expr": "3"}, "expr", "value"),
    ({"name": "X", "op": "const", "formula": "3"}, "formula", "value"),
    ({"name": "X", "op": "sum", "field": "meta.stars"}, "field", "expr"),
    ({"name": "X", "op": "lookup", "field": "context.city", "match": "exact", "table": {"a": 1}, "default": 0},
     "field", "source"),
    ({"name": "X", **case({"when": "N > 1", "value": 1}, {"else": 0})}, "rules/0/value", "then"),
]  # fmt: skip
FIELD_KEYS: list[tuple[dict[str, Any], str, str]] = [
    ({"id": "a", "type": "integer"}, "id", "name"),
    ({"field": "a", "type": "integer"}, "field", "name"),
    ({"name": "a", "kind": "integer"}, "kind", "type"),
    ({"name": "a", "type": "enum", "options": ["x"]}, "options", "values"),
]


@pytest.mark.parametrize(("part", "key", "right"), STEP_KEYS + FIELD_KEYS, ids=json.dumps)
def test_a_key_from_elsewhere_is_one_error(part: dict[str, Any], key: str, right: str) -> None:
    """In a step and in a field; what uses the field is checked with it."""
    if "op" in part:
        seed, place = seed_with(part, output=["X"]), "/compute/3"
    else:
        use = {"name": "X", **count({"extraction.a": "x" if "options" in part else 3})}
        seed, place = seed_with(use, extract={"fields": [*FIELDS, part]}), "/extract/fields/3"
    (error,) = find_errors(seed)
    assert (error.code, error.pointer, error.help) == ("FS501", f"{place}/{key}", f"did you mean `{right}`?")


def test_a_key_that_is_there_is_not_asked_for() -> None:
    """A count with a field has its name already."""
    (error,) = find_errors(seed_with({"name": "X", "op": "count", "field": "meta.stars"}))
    assert (error.code, error.help.startswith("known keys")) == ("FS501", True)


FILTER, FORMULA = 'write an object such as {"meta.year": {">=": 2020}}', 'write a formula such as "N > 3 and M < 2"'
HELPS: dict[str, tuple[dict[str, Any], str, str]] = {
    "an operator in a text": (count({"extraction.noise": "!= lots"}), "FS505", 'write {"!=": …}'),
    "a number behind it": (count({"meta.stars": ">= 3.5"}), "FS505", 'write {">=": 3.5}'),
    "equality in a text": (count({"extraction.noise": "== lots"}), "FS505", "write the value without an operator"),
    "a namespace twice": (count({"extraction.extraction.noise": "lots"}), "FS204", "did you mean `extraction.noise`?"),
    "a step tested by reviews": (
        count({"N": {">": 2}}), "FS205",
        "test it in a `case` or an `expr`, or compare with it in the formula of a `sum`, such as `int(meta.stars > N)`"),
    "a step with a sign": (choose("> 3", source="$N"), "FS509", "write `N`"),
    "a field with a sign": (lookup("$context.city"), "FS509", "write `context.city`"),
    "not_in": (
        count({"extraction.noise": {"not_in": ["lots"]}}), "FS505",
        'define a filter: {"name": "…", "op": "define_filter", "expr": "meta.year not in [2020, 2021]"}'),
    "at least": (count({"meta.stars": {"≥": 3}}), "FS505", "write `>=`"),
    "at most": (count({"meta.stars": {"≤": 3}}), "FS505", "write `<=`"),
    "unequal": (count({"meta.stars": {"≠": 3}}), "FS505", "write `!=`"),
    "between": (count({"meta.stars": {"between": [2, 4]}}), "FS505", 'write {">=": 2020, "<=": 2023}'),
    "a comparison in words": (count("extraction.noise == 'lots'"), "FS503", FILTER),
    "words joined by `and`": (count("$IS_LOUD and meta.stars != 3"), "FS503", FILTER),
    "words joined by `or`": (count("extraction.noise == 'lots' or meta.stars > 3"), "FS503", FILTER),
    "a filter alone": (count("$IS_LOUD"), "FS503", FILTER),
    "words that say nothing": (count("lots and lots of noise"), "FS503", FILTER),
    "a list of words": (count(["$IS_LOUD", "nigths > 3"]), "FS503", FILTER),
    "a list of a filter": (count(["$IS_LOUD"]), "FS503", FILTER),
    "an empty object in a list": (count([{}]), "FS503", FILTER),
    "a date after an operator": (count({"meta.date": "> 2019"}), "FS505", "use `meta.year` and `meta.month`"),
    "dates in an order": (
        count({"meta.date": {">=": "2020-01-01", "<": "2021-01-01"}}), "FS301", "use `meta.year` and `meta.month`"),
    "a parameter as a text": (count({"meta.stars": {">=": "CUT"}}), "FS301", "write `param.CUT`"),
    "a step as a value": (
        count({"meta.stars": {">=": "N"}}), "FS301",
        "compare them in a formula, such as the `expr` of a `sum`: `int(meta.stars > LIMIT)`"),
    "a condition in an object": (choose({"N": {">": 3}}), "FS503", FORMULA),
    "a comparison in an object": (choose({">": 3}, source="N"), "FS503", 'write a comparison such as "> 3"'),
    "a filter in a rule": (choose({"$IS_LOUD": True}), "FS503", FORMULA),
    "an assignment to the source": (choose("N = 3", source="N"), "FS101", "leave `N` out: write `== 3`"),
    "the source in a list": (choose("N in [1, 2]", source="N"), "FS101", "leave `N` out: write `in [1, 2]`"),
    "a negative number alone": (choose("-3", source="N"), "FS101", "write a comparison: `== -3`, or `< -3`"),
    "a number alone": (choose("4", source="N"), "FS101", "write a comparison: `== 4`, or `< 4`"),
    "a text alone": (choose("York", source="context.city"), "FS101", "write `== 'York'` if it is a string"),
    "the source before its comparison": (choose("N > 3", source="N"), "FS101", "leave `N` out: write `> 3`"),
    "rules in an object": (
        {"op": "case", "source": "N", "rules": {"> 4": "High", "else": "Low"}}, "FS503",
        'write [{"when": "N > 2", "then": "many"}, {"else": "few"}]'),
    "a field in a list": ({"op": "max", "field": ["meta.year"], "default": 0}, "FS503", "write a string"),
}  # fmt: skip


@pytest.mark.parametrize(("step", "code", "help"), HELPS.values(), ids=HELPS)
def test_one_error_with_the_help_that_fixes_it(step: dict[str, Any], code: str, help: str) -> None:
    (error,) = find_errors(seed_with({"name": "X", **step}, output=["X"]))
    assert (error.code, error.help) == (code, help)


@pytest.mark.parametrize(
    ("condition", "is_constant"),
    [
        (2.5, True), ({"!=": 2.5}, True), ({"in": [2.5, 0.25]}, True),
        (2, False), (2.0, False), ({"in": [2.5, 3]}, False), ({">": 2.5}, False),
    ],
)  # fmt: skip
def test_an_integer_is_never_a_fraction(condition: object, is_constant: bool) -> None:
    """A comparison with fractions alone is constant; one with a whole number, or an order, is not."""
    seed = seed_with({"name": "X", **count({"extraction.nights": condition})}, output=["X"])
    diagnostics = analyse_text(Source("seed.json", json.dumps(seed))).diagnostics
    messages = [d.message for d in diagnostics if d.code in ("FS603", "FS610")]
    assert ["`extraction.nights` is an integer" in message for message in messages] == [True] * is_constant


def test_what_is_under_a_key_of_the_other_version_is_not_looked_at() -> None:
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
    moods = {"fields": [*FIELDS, {"name": "mood", "type": "enum", "values": {"calm": "x"}}]}
    text = json.dumps(seed_with({"name": "X", **lookup("context.name", match="substring_max")}, extract=moods))
    for once in ('"calm": "x"', '"a": 1', '"CUT": {"type": "number", "default": 0.5}'):
        assert once in text
        text = text.replace(once, f"{once}, {once}")
    errors = analyse_text(Source("seed.json", text)).diagnostics
    assert [d.code for d in errors if d.code != "FS602"] == ["FS005"] * 3


@pytest.mark.parametrize(
    ("keywords", "form"),
    [(["wait", "slow"], '["wait", "slow"]'), ("wait", '["wait"]'), ([], '["waiter"]'), ([1, "a"], '["waiter"]'),
     (["long" * 50], '["waiter"]')],
)  # fmt: skip
def test_the_keywords_of_a_filter_that_is_no_object_are_shown_in_one(keywords: Any, form: str) -> None:
    """The form to write has the user's own keywords where all are strings and there is room for them."""
    assert [d.help for d in find_errors(seed_with(filter=keywords))] == [f'write {{"keywords": {form}}}']


def test_a_long_text_is_not_repeated_in_full() -> None:
    """What a message quotes is cut short where no one would read it; nothing else is cut."""
    long = "N" * 100_000
    (error,) = find_errors(seed_with(output=[long]))
    assert error.message == f"no step is called `{'N' * 80}…`"
    steps = [{"op": "expr", "expr": f"N + {long}"}, {"op": long}, count({long: 1})]
    for error in find_errors(seed_with(*({"name": f"X{place}", **step} for place, step in enumerate(steps)))):
        assert max(len(error.message), len(error.help)) < 1_100
    problems, quoted, words = Problems(), "b" * 2000, "words " * 20
    problems.report(
        diagnostic("FS201", Span(Source("s", ""), 0, 0), f"`a` {words}`{quoted}` end", f"`{quoted}`, `c` and `d`")
    )
    (error,) = problems.sorted()
    assert (error.message, error.help) == (f"`a` {words}`{'b' * 80}…` end", f"`{'b' * 80}…`, `c` and `d`")


MANY_ALTERNATIVES = " and ".join(["(meta.stars > 0" + " or meta.stars > -1" * 49 + ")"] * 9)
LARGE_FIELDS = [{"name": f"f{n}", "type": "enum", "values": "\t" + "a," * 499} for n in range(500)]
LARGE = {
    "values in texts": seed_with(extract={"fields": LARGE_FIELDS}),
    "fields in `extract`": seed_with(extract={f"a{n}": {"type": 0} for n in range(40_000)}),
    "formulas in a list": seed_with(
        {"name": "X", **count([" and ".join(f"meta.stars + {n} > 0" for n in range(140))] * 64)}
    ),
    "alternatives in a list": seed_with({"name": "X", **count([MANY_ALTERNATIVES] * 64)}),
}


@pytest.mark.parametrize("seed", LARGE.values(), ids=LARGE)
@pytest.mark.thorough
def test_a_large_seed_is_checked_in_time(seed: dict[str, Any]) -> None:
    """What is wrong in a hundred places takes no more time than what is right there."""
    before = time.process_time()
    assert find_errors(seed)
    assert time.process_time() - before < 15
