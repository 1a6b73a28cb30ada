"""Limits of files: what is promised is accepted, and what is over a limit is refused before it is parsed.

No test asks the clock: work is counted. `make bench` prints how long checking and refusing take.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from formulaseed import limits, load_requests
from formulaseed.data.documents import dump_json
from formulaseed.diagnostics.model import Problems
from formulaseed.documents import analyse, analyse_file, analyse_requests, compile_seed
from formulaseed.language.sizes import find_excess, measure
from formulaseed.language.tables import Parser
from formulaseed.seed.check.program import _ProgramChecker
from formulaseed.source.text import Source
from helpers import SEEDS, places, tiny_seed, write_json

Json = dict[str, Any]


def seed(*steps: Json, **changes: object) -> Json:
    """A seed whose last step is its output."""
    return tiny_seed(**{"compute": [{"name": "N", "op": "count"}, *steps], "output": [steps[-1]["name"]], **changes})


def formula(text: str, name: str = "A") -> Json:
    return {"name": name, "op": "expr", "expr": text}


def formulas(number: int, terms: int) -> list[Json]:
    return [formula(" + ".join(["N"] * terms), f"S{index}") for index in range(number)]


def lists(number: int, most: int = limits.LIST_ITEMS) -> list[Json]:
    """Counts with a list of values each."""
    where = {"extraction.score": {"in": list(range(most))}}
    return [{"name": f"S{index}", "op": "count", "where": where} for index in range(number)]


def as_rules(steps: list[Json]) -> list[Json]:
    return [{"name": step["name"], "formula": step["expr"]} for step in steps]


def errors(analysis: Any) -> list[str]:
    return [f"{d.code} {d.message}" for d in analysis.diagnostics if d.severity == "error"]


@pytest.fixture
def no_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parsing a formula, or giving every value its place, is a bug while this is in use: it gives FS901 or fails."""

    fail = Mock(side_effect=AssertionError("this was to be refused before it is read"))
    monkeypatch.setattr(Parser, "read", fail)
    monkeypatch.setattr("formulaseed.data.documents.read_json", fail)


# --- what is promised

ACCEPTED = {
    "200 terms": seed(formula(" + ".join(["N"] * 200))),
    "100 comparisons": seed(formula("int(" + " and ".join(f"N > {k}" for k in range(100)) + ")")),
    "40 brackets": seed(formula("(" * 40 + "N" + " + 1)" * 40)),
    "40 calls": seed(formula("max(" * 40 + "N" + ", 1)" * 40)),
    "40 conditions": seed(formula("".join(f"({k} if N > {k} else " for k in range(40)) + "0" + ")" * 40)),
    "a name of 255 characters": seed(formula("N", "A" * 255)),
    "500 rules": seed(
        {"name": "A", "op": "case", "rules": [*({"when": f"N > {900 - k}", "then": k} for k in range(499)), {"else": 0}]}
    ),
    "5,000 entries": seed(
        {"name": "A", "op": "lookup", "source": "context.categories", "match": "substring_max", "default": 0,
         "table": {f"k{k}y": k for k in range(5_000)}}
    ),
    "1,000 steps": seed(*(formula(f"S{k - 1} + 1" if k else "N", f"S{k}") for k in range(999))),
    "100,000 terms": seed(*lists(100)),
    "1 MiB": seed(formula("N"), description="x" * (1024 * 1024 - 1_000)),
}  # fmt: skip


LONG = ("100,000 terms", "5,000 entries", "500 rules")


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.thorough) if n in LONG else n for n in ACCEPTED])
@pytest.mark.thorough
def test_what_is_promised_is_accepted(name: str) -> None:
    """Each size that is promised has no error, and all but the two largest are compiled."""
    assert errors(analyse(ACCEPTED[name])) == []
    if name not in ("100,000 terms", "1,000 steps"):
        assert compile_seed(ACCEPTED[name], formatted=False)


@pytest.mark.thorough
def test_a_seed_in_memory_is_as_long_as_its_json() -> None:
    """It is read with line breaks, unless these alone would make it too long for a file."""
    small, large = ({"values": [[[[[[[1]]]]]]] * number} for number in (10, 30_000))
    assert dump_json(small) == json.dumps(small, indent=2)
    assert len(json.dumps(large)) < 1024 * 1024 < limits.SEED_BYTES < len(json.dumps(large, indent=2))
    assert dump_json(large) == json.dumps(large)


# --- the terms of a file

TOO_LARGE = limits.FILE_TERMS // 100 + 1


def older(steps: list[Json]) -> Json:
    return {
        "task_name": "T", "filter_keywords": ["soup"], "extraction_fields": [], "extraction_prompt": "{review}",
        "compute_dag": as_rules(steps), "output_fields": ["S0"],
    }  # fmt: skip


REFUSED: dict[str, Any] = {
    "formulas": seed(*formulas(TOO_LARGE, 100)),
    "formulas over their own limit": seed(*formulas(299, 700)),
    "the older shape": older(formulas(TOO_LARGE, 100)),
    "under their names": {**tiny_seed(), "compute": {s["name"]: s for s in formulas(TOO_LARGE, 100)}},
    "under another key": {"task_name": "T", "steps": formulas(TOO_LARGE, 100), "output": ["S0"]},
    "a wrapped seed": {"seed": seed(*formulas(TOO_LARGE, 100))},
    "a seed in a list": [seed(*formulas(TOO_LARGE, 100))],
    "values of conditions": seed(*lists(TOO_LARGE // 10 + 1)),
    "tables": seed(
        *({"name": f"S{k}", "op": "lookup", "source": "context.name", "match": "exact", "default": 0,
           "table": {f"k{entry}": 1 for entry in range(10_000)}} for k in range(12))
    ),
    "rules of cases": seed(
        *({"name": f"S{k}", "op": "case", "rules": [*({"when": f"N > {v}", "then": v} for v in range(900)), {"else": 0}]}
          for k in range(45))
    ),
    "conditions in words": seed(
        *({"name": f"S{k}", "op": "count", "where": [f"extraction.score > {v}" for v in range(60)]} for k in range(1_000))
    ),
    "a file of rules": {"rules": as_rules(formulas(999, 120))},
    "a list of rules": as_rules(formulas(999, 120)),
    "a formula reference": {
        "entities": {"listing": {"fields": {}}},
        "examples": {f"e{k}": {"formula": " + ".join(["listing.a"] * 100)} for k in range(TOO_LARGE)},
    },
    "symbols": seed(*(formula("-" * 1_500 + "N", f"S{k}") for k in range(300))),
}  # fmt: skip


@pytest.mark.usefixtures("no_parser")
@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.thorough
def test_too_many_terms_are_refused_before_anything_is_parsed(name: str, tmp_path: Path) -> None:
    """Sections that are each within their limits, but not all together: one diagnostic, whatever holds them."""
    path = tmp_path / "seed.json"
    path.write_text(json.dumps(REFUSED[name]), encoding="utf-8")
    (error,) = analyse_file(path).diagnostics
    assert (error.code, error.message.startswith("the file has ")) == ("FS510", True)
    if not isinstance(REFUSED[name], list):
        (error,) = analyse(REFUSED[name]).diagnostics
        assert error.code == ("FS008" if name in ("a file of rules", "a formula reference") else "FS510")


def nested_filters(number: int, most: int, text: str = "") -> dict[str, Any]:
    """A seed in which each filter uses the ones before it, as many as `most`."""
    steps: list[dict[str, Any]] = [{"name": "F0", "op": "define_filter", "extraction": {"mood": "good"}}]
    for k in range(1, number):
        used = [f"$F{j}" for j in range(max(0, k - most), k)]
        body = {"expr": " or ".join(used)} if text else {"where": dict.fromkeys(used, True)}
        steps.append({"name": f"F{k}", "op": "define_filter", **body})
    field = {"name": "mood", "type": "enum", "values": ["good", "bad"]}
    return seed(*steps, description="-" * 50_000, extract={"fields": [field]})


@pytest.mark.usefixtures("no_parser")
@pytest.mark.parametrize("form", ["", "expr"])
@pytest.mark.parametrize(
    ("number", "most", "message"),
    [
        (400, 60, "with the filters that it uses, `F14` has 8192 terms, more than 5000"),
        (102, 1, "101 filters use one another, more than 100"),
    ],
)
def test_filters_too_large_by_their_uses_are_refused_unparsed(number: int, most: int, message: str, form: str) -> None:
    """Filters of filters grow with every level: what is over the limit is refused before any is read."""
    (error,) = analyse(nested_filters(number, most, form)).diagnostics
    assert (error.code, error.message) == ("FS510", message)


def test_the_diagnostic_names_both_numbers_and_the_largest_step() -> None:
    """It is at the step with the most terms, and names that step."""
    steps = formulas(TOO_LARGE, 100)
    steps[7]["expr"] += " + N" * 23
    (error,) = analyse(seed(*steps)).diagnostics
    assert error.message == "the file has 110,123 terms in all, more than 110,000; most of them, 123, in `S7`"
    assert error.span.source.text[error.span.start : error.span.end] == '"name": "S7"'
    (symbols,) = analyse(REFUSED["symbols"]).diagnostics
    assert symbols.message == "the file has 450,300 symbols in all, more than 400,000; most of them, 1,501, in `S0`"


PROSE = "one two three " * 10_000
VALUES = {f"v{k}": PROSE[:150] for k in range(1_000)}
PROSE_FIELD = {"name": "mood", "type": "enum", "values": VALUES, "description": PROSE}
THOUSAND = formulas(1_000, 100)
FITTING = formulas(limits.FILE_TERMS // 100, 100)
WITHIN: dict[str, Any] = {
    "100,000 terms": seed(*THOUSAND),
    "100,000 terms of the older shape": {"task_name": "T", "compute_dag": as_rules(THOUSAND)},
    "100,000 terms of rules": {"rules": as_rules(THOUSAND)},
    "100,000 terms of a list of rules": as_rules(THOUSAND),
    "exactly the limit": seed(*FITTING),
    "filters with few uses": nested_filters(13, 60),
    "filters in a chain": nested_filters(100, 1),
    "prose": seed(*({**formula("N", f"S{k}"), "description": PROSE[:1_400]} for k in range(700)), description=PROSE,
                  extract={"fields": [PROSE_FIELD]}),
}  # fmt: skip


@pytest.mark.parametrize("name", WITHIN)
def test_a_file_within_its_limits_passes_before_parsing(name: str) -> None:
    """Whatever its shape; of filters only the uses count, and descriptions and values of fields are no terms."""
    assert find_excess(Source("seed.json", json.dumps(WITHIN[name]))) is None


def test_one_term_over_the_limit_is_refused() -> None:
    over = seed(*FITTING, formula("N", "LAST"), output=["S0"])
    assert find_excess(Source("seed.json", json.dumps(over))) is not None


def test_formulas_over_their_limit_are_refused_unparsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a file within its limit each formula is reported, and the parser sees none of them."""
    parse = Mock()
    monkeypatch.setattr(Parser, "read", parse)
    steps = [*formulas(100, 700), formula("N" * (limits.FORMULA_CHARACTERS + 1), "LONG"), formula("(" * 61, "DEEP")]
    codes = [d.code for d in analyse(seed(*steps)).diagnostics if d.severity == "error"]
    assert (codes, parse.call_count) == (["FS104"] * 102, 0)


# --- terms are counted without parsing


SYMBOLS = re.compile(
    r"""(?P<word>(?:and|or|not|in|if|else)\b|[A-Za-z_]\w*(?=\s*\())"""
    r"""|(?P<term>'(?:[^'\\]|\\.)*+'?|"(?:[^"\\]|\\.)*+"?|\$?[A-Za-z_][\w.]*|[0-9.]+)|\S"""
)
"""The symbols of a formula, one by one."""


def count_terms(text: str) -> int:
    return [match.lastgroup for match in SYMBOLS.finditer(text)].count("term")


@pytest.mark.parametrize(
    "text",
    [
        "", "a", "a+b", "not(a) or not not b", "max(a, b) if not (x in ['a b', \"c\"]) and y else 0", "$F and extraction.x",
        "'it''s' + \"it's\" + 'a\\'b c'", "''+''", "round(-x ** 2, 1)", "in_x + iff + notes", "x not in ['and', 'or']",
        "sum(1 for e in extractions if e['kind'] == 'a') / 2", "1.5 <= a < 2", "\"a'b\"",
    ],
)  # fmt: skip
def test_terms_of_a_formula(text: str) -> None:
    """Names, numbers and strings, but no functions and no words of the language; and all symbols."""
    terms, symbols = measure([text])
    assert symbols >= terms == count_terms(text)


def test_terms_of_real_formulas() -> None:
    """For every formula of the tasks, alone and together, the terms are those that are counted one by one."""
    seeds = [json.loads(path.read_text(encoding="utf-8")) for path in SEEDS]
    texts = [part[key] for seed in seeds for part, key in places(seed) if key in ("expr", "formula", "when")]
    assert len(texts) > 100
    for text in texts:
        assert measure([text]).terms == count_terms(text), text
    assert measure(texts).terms == sum(map(count_terms, texts))
    # a string that is not closed hides nothing of the next formula
    assert measure(["'", "a + b", '"', "c"]).terms == 5


# --- work that grows with the steps, and no faster


@pytest.mark.thorough
def test_extremes_are_compared_with_a_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many guards name the count: each condition is written out once for its step."""
    expand = Mock(side_effect=_ProgramChecker._expand_conjuncts)
    monkeypatch.setattr(_ProgramChecker, "_expand_conjuncts", lambda *arguments: expand(*arguments))
    where = [{"where": {"extraction.score": {">": k}}} for k in range(30)]
    steps = [
        *({"name": f"N{k}", "op": "count", **where[k]} for k in range(30)),
        *({"name": f"M{k}", "op": "max", "field": "extraction.score", "default": 0, **where[k]} for k in range(30)),
        *(formula(" + ".join(f"(M{k} if N{k} > 0 else 0)" for k in range(30)), f"E{n}") for n in range(30)),
    ]
    assert errors(analyse(seed(*steps))) == []
    assert expand.call_count <= 60


def test_an_extreme_behind_the_guard_is_known_to_have_a_value() -> None:
    """Also where it is computed after the count was asked of another one."""
    first, later = ({"name": name, "op": "max", "field": "extraction.score"} for name in ("FIRST", "LATER"))
    used = formula("FIRST if N > 0 else 0", "USED")
    assert errors(analyse(seed(first, used, later, formula("LATER if N > 0 else 0")))) == []
    (unguarded,) = errors(analyse(seed(first, used, later, formula("LATER + 1"))))
    assert unguarded.startswith("FS507 `LATER` has no value")


def test_suppressions_are_found_without_comparing_each_with_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """The diagnostics are sorted once for all suppressions, and taken back by code and place."""
    sort = Mock(side_effect=Problems.sorted)
    monkeypatch.setattr(Problems, "sorted", lambda self: sort(self))
    steps = [{"name": f"S{k}", "op": "count", "allow": {"FS602": "later"}} for k in range(50)]
    pointers = {d.code: d.pointer for d in analyse(seed(*steps)).diagnostics if d.code in ("FS602", "FS620")}
    assert pointers == {"FS602": "/compute/0/name", "FS620": "/compute/50/allow/FS602"}
    assert sort.call_count <= 3


# --- files of requests


def request(number: int, evidence: list[Json], shorthand: str = "AND(a, b)") -> Json:
    args = [{"aspect": f"a{k}", "evidence": piece} for k, piece in enumerate(evidence)]
    return {
        "id": f"R{number:02d}", "group": f"G{(number - 1) // 10 + 1:02d}", "scenario": "Reader", "text": "Books",
        "shorthand": shorthand, "structure": {"op": "AND", "args": args}, "gold_restaurant": "lotus",
    }  # fmt: skip


def matching(pattern: str) -> Json:
    return {"kind": "review_text", "pattern": pattern}


def size_errors(lines: list[Json]) -> list[tuple[str, int]]:
    """The codes of size, with their lines."""
    return [(d.code, d.line) for d in analyse_requests(lines).diagnostics if d.code in ("FS510", "FS804", "FS823")]


def test_patterns_of_a_file_have_a_limit_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are behind it are refused, one by one, and are not parsed; another file begins anew."""
    assert limits.FILE_PATTERN_PARTS >= 100 * limits.PATTERN_CHARACTERS
    monkeypatch.setattr(limits, "FILE_PATTERN_PARTS", 34)
    lines = [request(number, [matching("coffee"), matching("date|tea")]) for number in (1, 2)]
    assert size_errors(lines) == []
    over = [*lines, request(3, [matching("tea"), matching("(")])]
    assert size_errors(over) == [("FS804", 3)] * 2
    assert size_errors(lines) == []


def test_repeats_inside_one_another_count_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The steps of a pattern are counted in no time, however its repeats are nested."""
    nested = [matching("(((a{9}b){9}c){9}d)")]
    assert size_errors([request(1, nested)]) == []
    assert size_errors([request(1, [matching("(" * 12 + "a" + "){0,9}" * 12)])]) == [("FS804", 1)]
    monkeypatch.setattr(limits, "FILE_PATTERN_PARTS", 2_500)
    assert size_errors([request(1, nested), request(2, nested)]) == [("FS804", 2)]


def test_shorthands_of_a_file_have_a_limit_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are behind it are not compared, which is a warning: the requests are sound."""
    assert limits.FILE_SHORTHAND_TERMS >= 100 * limits.SHORTHAND_TERMS
    monkeypatch.setattr(limits, "FILE_SHORTHAND_TERMS", 9)
    facts = [{"kind": "item_meta", "path": ["attributes", f"A{k}"], "true": "True"} for k in range(3)]
    lines = [request(number, facts, "AND(a, b, c)") for number in (1, 2, 3)]
    assert size_errors(lines) == []
    analysis = analyse_requests([*lines, request(4, facts, "OR(a, b"), request(5, facts, "a")])
    warnings = [("FS823", "warning", line) for line in (4, 5)]
    assert [(d.code, d.severity, d.line) for d in analysis.diagnostics if d.code != "FS819"] == warnings
    assert (len(analysis.parsed or ()), analysis.has_errors) == (5, False)


def test_a_file_of_too_many_lines_is_refused_unread(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The number is that of the lines with something on them."""
    monkeypatch.setattr("formulaseed.requests.read.read_json_line", None)
    path = tmp_path / "requests.jsonl"
    path.write_text("1\n \n\n" * 100_000, encoding="utf-8")
    (error,) = analyse_file(path).diagnostics
    assert (error.code, error.message) == ("FS510", "the file has 100000 entries, more than 1000")


def test_requests_in_memory_are_no_longer_than_a_file() -> None:
    """A list of requests is held to the size of a file, too."""
    long = request(1, [matching("tea")]) | {"text": "x" * limits.SEED_BYTES}
    (error,) = analyse_requests([long]).diagnostics
    assert error.code == "FS003"
    assert load_requests([long | {"text": "x" * (limits.SEED_BYTES // 2)}]).program.requests


def test_unknown_names_of_many_examples_are_suggested_up_to_a_number(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The limit of letters holds for all examples of a reference, not for each anew."""
    monkeypatch.setattr(limits, "SUGGESTION_LETTERS", 2_000)
    fields = {f"field_{k}": {"type": "float", "description": "A field"} for k in range(40)}
    examples = {f"e{k}": {"formula": f"listing.feild_{k} * 2", "description": "Doubled"} for k in range(40)}
    document = {"version": "1.0.0", "entities": {"listing": {"fields": fields}}, "examples": examples}
    path = write_json(tmp_path / "reference.json", document)
    helps = [d.help for d in analyse_file(path).diagnostics if d.code == "FS204"]
    assert len(helps) == 40
    assert (helps[0], helps[-1]) == ("did you mean `listing.field_0`?", "fix the unknown names above first")
