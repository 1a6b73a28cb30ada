"""Formulas over the entities of a domain: every one of the documentation's, guards, wrong names, values, stages, limits."""

from __future__ import annotations

import ast
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from formulaseed import DataError, EvaluationError, Formula, FormulaSeedError, SeedError, compile_formula
from formulaseed.diagnostics.model import Diagnostic
from formulaseed.documents import analyse_formula, load_reference
from formulaseed.language.functions import FUNCTIONS
from formulaseed.reference.evaluation import STAGES, find_stage, summarize_stages
from formulaseed.reference.model import Reference
from golden_lines import check_lines
from helpers import EXAMPLES, ROOT, Outcome, command, formulaseed, write_json
from hypothesis import given
from hypothesis import strategies as st
from listing import BARE, DOCUMENTED, EMPTY_CPU, FULL, LISTINGS, REFUSED, TEXTS, Documented

REFERENCE = EXAMPLES / "formula_reference.json"
REAL = ROOT.parent / "shared" / "data" / "listing" / "formula_reference.json"


NAN = float("nan")
TYPOS: list[tuple[dict[str, Any], str, str]] = [
    ({"ram_bg": 600}, "ram_bg", "ram_gb"), ({"cpu": {"coers": 8}}, "cpu.coers", "cpu.cores"), ({"cpuu": None}, "cpuu", "cpu"),
    ({"cpu.coers": 8}, "cpu.coers", "cpu.cores"), ({"cpuu": {"cores": 8}}, "cpuu", "cpu"), ({"cores": 8}, "cores", "cpu.cores"),
    ({"cpu": {"ram_gb": 8}}, "cpu.ram_gb", "ram_gb"), ({"listing": {"ram_bg": 8}}, "listing.ram_bg", "listing.ram_gb"),
    *[(values, "listing.custom_fields.waranty", "listing.custom_fields.warranty_months")
      for values in ({"listing": {"custom_fields": {"waranty": 1}}}, {"listing.custom_fields.waranty": 1})],
    ({"custom_fields": {"waranty_months": 1}}, "custom_fields.waranty_months", "custom_fields.warranty_months"),
]  # fmt: skip
"""Values with a misspelt key, that key's name, and the one that is probably meant."""


@pytest.fixture(scope="module")
def listing() -> Reference:
    return load_reference(REFERENCE)


def refuse(text: str, reference: Reference | None = None, **options: Any) -> tuple[Diagnostic, ...]:
    """The diagnostics of a formula that has errors."""
    with pytest.raises(SeedError) as refusal:
        compile_formula(text, reference=reference, **options)
    return refusal.value.diagnostics


def outcome(formula: Formula, values: dict[str, Any]) -> float | str:
    try:
        return formula.evaluate(values)
    except EvaluationError as error:
        return error.kind


# --- the documentation


@pytest.mark.parametrize("documented", DOCUMENTED, ids=lambda documented: documented.formula)
def test_documented_formula(documented: Documented, listing: Reference) -> None:
    """A formula of the documentation gives its value, with everything there, with nulls and with zeros; never a guess."""
    formula = compile_formula(documented.formula, reference=listing)
    for values, expected in zip(LISTINGS, documented.values, strict=True):
        value = outcome(formula, values)
        assert isinstance(value, float | str)
        assert value == (expected if isinstance(expected, str) else pytest.approx(expected, rel=1e-9, abs=0.0))
    assert tuple(sorted({d.code for d in formula.diagnostics})) == documented.warnings
    assert all(d.severity == "warning" for d in formula.diagnostics)


def test_strings_and_assignments_of_the_documentation(listing: Reference) -> None:
    """A string field can be read alone, and null is no string; an assignment is refused, and so is the name it would define."""
    for text, value in TEXTS.items():
        formula = compile_formula(text, reference=listing)
        assert (formula.evaluate(FULL), outcome(formula, BARE)) == (value, "null")
    for text, expected in REFUSED.items():
        (fault,) = refuse(text, listing)
        assert (fault.code, find_stage(fault)) == expected


def test_warnings_are_errors_where_asked_for() -> None:
    """--strict refuses what is only a warning otherwise."""
    arguments = ["formula", "cpu.tdp_w * 2", "--reference", REFERENCE, "--vars", json.dumps(FULL)]
    assert command(*arguments).out == "210.0\n"
    strict = command(*arguments, "--strict")
    assert (strict.status, strict.out) == (1, "")
    assert "error[FS305] possibly-null: `cpu.tdp_w` may be null here" in strict.err


@pytest.mark.skipif(not REAL.is_file(), reason="the real formula reference is not here")
def test_the_real_reference() -> None:
    """Every example of a real reference checks and evaluates; its enums are known where they say that they are used."""
    reference = load_reference(REAL)
    assert (reference.root, len(reference.examples)) == ("listing", 10)
    cpu = {name: value for name, value in FULL["cpu"].items() if name != "custom_fields"}
    known = {**FULL, "cpu": cpu, "listing": {}}  # the file defines other custom fields
    for example in reference.examples:
        assert isinstance(compile_formula(example.formula, reference=REAL).evaluate(known), float)
    for text in [text for pattern in reference.patterns for text in pattern.examples]:
        if ".custom_fields." in text:  # the file's examples name custom fields that it does not define
            assert refuse(text, reference)[0].code == "FS204"
        else:
            assert compile_formula(text, reference=reference).evaluate(known) is not None
    assert refuse("condition == 'nwe'", reference)[0].help == "did you mean `'new'`?"


# --- guards, and what is refused


@pytest.mark.parametrize(
    "text",
    [
        "cpu.cores if cpu else 0", "cpu.cores if cpu != None else 0", "0 if cpu == None else cpu.cores + 1",
        "cpu and cpu.cores > 4 or False", "cpu.cores * 2 if cpu.cores else 0",
        "cpu.cores * 2 if cpu.cores != None else 0", "(cpu.cores or 0) * 2", "coalesce(cpu.cores, 1) * 2",
        "10 if cpu.cores != None and cpu.cores > 4 else 0", "1 if not cpu or cpu.cores > 4 else 0",
        "5 if cpu and not gpu else 0",
    ],
)  # fmt: skip
def test_guards_silence(text: str, listing: Reference) -> None:
    """A guard on the way, of the field or of its entity, and there is no warning of null."""
    assert [d.code for d in compile_formula(text, reference=listing).diagnostics] == []


def test_other_tests_are_no_guards(listing: Reference) -> None:
    """The test of something else, or the wrong way round, guards nothing; a null field of a present entity is an error."""
    for text in ("cpu.cores if gpu else 0", "cpu.cores * 2 if not cpu else 0", "cpu.cores if cpu.tdp_w else 0"):
        assert "FS305" in {d.code for d in analyse_formula(text, listing).diagnostics}
    formula = compile_formula("cpu.cores * 2 if cpu else 0", reference=listing)
    assert formula.evaluate(BARE) == 0.0
    with pytest.raises(EvaluationError, match=r"formula: null: cpu\.cores is null"):
        formula.evaluate(EMPTY_CPU)


def test_refused_formulas(listing: Reference, pytestconfig: pytest.Config) -> None:
    """Wrong names meet the nearest, wrong types, syntax and what no formula may do are refused: in which stage, where, why."""

    def describe(formula: str) -> dict[str, Any]:
        faults = [fault for fault in refuse(formula, listing) if fault.severity == "error"]
        places = [formula[fault.span.start : fault.span.end] for fault in faults]
        texts = [[fault.code, place, fault.message, fault.help] for fault, place in zip(faults, places, strict=True)]
        return {"stage": find_stage(faults[0]), "faults": texts}

    check_lines(Path(__file__).parent / "refused_formulas.jsonl", ("formula",), describe, pytestconfig)


# --- values


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "`ram_gb` is missing; it must be an integer"),
        ({"ram_gb": None}, "`ram_gb` is missing; it must be an integer"),
        *[({"ram_gb": value}, f"`ram_gb` must be of type integer, not {value!r}") for value in ("32", True, 1.5, NAN, [32])],
        ({"ram_gb": 2**70}, f"`ram_gb` is out of range: {2**70}"),
        ({"ram_gb": 1, "listing": {"ram_gb": 2}}, "`ram_gb` and `listing.ram_gb` are one field, and their values differ"),
        ({"ram_gb": 1, "cpu": 5}, "`cpu` must be an object or null, not 5"),
        ({"ram_gb": 1, "cpu": {"cores": "8"}}, "`cpu.cores` must be of type integer or null, not '8'"),
        ({"ram_gb": 1, "condition": "broken"}, "`condition` must be of type enum ('new', 'refurb', 'used'), not 'broken'"),
        ({"ram_gb": 1, "cpu.cores": 8, "cpu": 3}, "`cpu.cores` is given, and `cpu` is no object"),
        ({"ram_gb": 1, "cpu.cores": 8, "cpu": {"cores": 9}}, "`cpu.cores` is given twice, with different values"),
        *[({"ram_gb": 1, **values}, f"`{name}` is no field; did you mean `{nearest}`?") for values, name, nearest in TYPOS],
        ({"gpu": {"custom_fields": {"x": 1}}}, "`gpu.custom_fields.x` is no field; `gpu.custom_fields` has no parts"),
        ({"cpu": {"cores": {"count": 8}}}, "`cpu.cores.count` is no field; `cpu.cores` has no parts"),
        ({"cpu.cores.count": 8}, "`cpu.cores.count` is no field; `cpu.cores` has no parts"),
        ({5: 1}, "5 is no name of a field"),
        ({"zzz": 1}, "`zzz` is no field; fields: `title`, `price_usd`, `price_date`, `condition`, `status`, `ram_gb`, "
         "`primary_storage_gb`, `secondary_storage_gb` and 15 more"),
    ],
)  # fmt: skip
def test_values_that_do_not_fit(values: dict[Any, Any], message: str, listing: Reference) -> None:
    """What the reference does not say is refused by name; a typo in a name never becomes a null that a guard hides."""
    text = "ram_gb + (cpu.cores or 0) + (listing.custom_fields.warranty_months or 0) if condition == 'new' else 1"
    with pytest.raises(DataError) as refusal:
        compile_formula(text, reference=listing).evaluate({"condition": "new", **values})
    assert str(refusal.value) == message


@pytest.mark.parametrize("values", [5, "ram_gb", [("ram_gb", 1)], {1: 2}, {"cpu": {3: 4}}])
def test_values_that_are_none(values: Any, listing: Reference) -> None:
    """Values that are no object, or have keys that are no names, are refused."""
    with pytest.raises(DataError):
        compile_formula("ram_gb", reference=listing).evaluate(values)


def test_a_field_of_the_root_in_either_place(listing: Reference) -> None:
    """Direct and prefixed values are one and the same, as are dotted keys and entities as objects."""
    formula = compile_formula("listing.ram_gb + (cpu.cores or 0)", reference=listing)
    for values in (
        {"ram_gb": 16, "cpu": {"cores": 4}},
        {"listing": {"ram_gb": 16}, "cpu.cores": 4},
        {"listing.ram_gb": 16, "cpu": {"cores": 4}, "title": object()},
        {"ram_gb": 16, "listing": {"ram_gb": 16}, "cpu": {"cores": 4.0}},
    ):
        assert formula.evaluate(values) == 20.0
    assert formula.fields == ("ram_gb", "cpu.cores")


def test_names_that_the_formula_does_not_use(listing: Reference) -> None:
    """Any field of the reference may be given whether it is used or not; what a JSON field holds is not checked."""
    values = {**FULL, "other_urls": {"any": {"thing": 1}}, "gpu": None, "gpu.custom_fields": None, "custom_fields": {}}
    assert compile_formula("price_usd", reference=listing).evaluate(values) == 899.0
    everything = dict.fromkeys(listing.types)
    assert compile_formula("1 + 1", reference=listing).evaluate(everything) == 2.0
    nested = {"cpu": {"custom_fields.efficiency_rating": 3}}
    assert compile_formula("cpu.custom_fields.efficiency_rating", reference=listing).evaluate(nested) == 3.0


def test_the_command_refuses_unknown_names(tmp_path: Path) -> None:
    """--vars is held to the reference of a formula and of a file of rules, once for all of them."""
    fields = {"weight_kg": {"type": "float", "nullable": True}}
    path = write_json(tmp_path / "reference.json", {"entities": {"parcel": {"fields": fields}}})
    rules = write_json(tmp_path / "rules.json", [{"name": n, "formula": "weight_kg or 0"} for n in "ab"])
    message = "formulaseed: `weigth_kg` is no field; did you mean `weight_kg`?\n"
    values = ("--vars", '{"weigth_kg": 600}')
    for formulas in (("(weight_kg or 0) * 2",), ("--file", rules)):
        done = command("formula", *formulas, "--reference", path, *values)
        assert (done.status, done.out, done.err.count(message)) == (1, "", 1)
    reported = json.loads(command("formula", "--file", rules, "--reference", path, *values, "--format", "json").out)
    assert (reported["values"], set(reported["failed"])) == ({}, {"a", "b"})
    assert reported["stages"]["execution"] == "failed"
    own = command("formula", "(weight_kg or 0) * 2", *values)
    assert (own.status, "error[FS204]" in own.err) == (1, True)


# --- without a reference


@given(st.from_regex(r"[0-9._eE+-]{1,8}", fullmatch=True))
def test_numbers_are_read_as_python_reads_them(text: str) -> None:
    """Underscores between digits are ignored, and nowhere else allowed; a leading zero is refused, also in a fraction."""
    if not re.fullmatch(r"(?!0[0-9_])[0-9.][0-9_.]*([eE][+-]?[0-9][0-9_]*)?", text):
        return
    try:
        expected = ast.literal_eval(text)
    except SyntaxError:
        refuse(text)
        return
    if isinstance(expected, int) or math.isfinite(expected):
        assert compile_formula(text).evaluate() == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [("1__000", 1000), ("1_", 1), ("1_.5", 1.5), ("007", 7), ("0x1F", 31), ("0o17", 15), ("0b101", 5), ("1,000", 1000)],
)
def test_other_spellings_of_numbers(text: str, value: float) -> None:
    """They are refused with the number to write, which is read."""
    (diagnostic,) = refuse(f"{text} * 2")
    assert (diagnostic.code, diagnostic.help) == ("FS101", f"write {value}")


def test_variables() -> None:
    """Names with types, names with values, or names alone stand for a reference."""
    assert compile_formula("a * b", variables=["a", "b"]).evaluate({"a": 2, "b": 3}) == 6.0
    assert compile_formula("a // 2", variables={"a": "integer"}).evaluate({"a": 5}) == 2.0
    assert compile_formula("a + b.c", variables={"a": 1, "b": {"c": 2.5}}).evaluate({"a": 1, "b": {"c": 1}}) == 2.0
    kind = {"type": "enum", "values": ["x", "y"], "nullable": True}
    assert compile_formula("1 if kind == 'x' else 0", variables={"kind": kind}).evaluate({}) == 0.0
    assert refuse("1 if kind == 'z' else 0", variables={"kind": kind})[0].code == "FS302"
    assert refuse("a + c", variables=["a"])[0].message == "no field is called `c`"


def test_dotted_variables() -> None:
    """Values that are given with dots and as objects make one entity."""
    done = command("formula", "a.b + a.c", "--vars", '{"a.b": 1, "a": {"c": 2}}')
    assert (done.status, done.out) == (0, "3.0\n")
    within = compile_formula("ram_gb + rate", reference=REFERENCE, variables={"listing": {"rate": "number"}})
    assert within.evaluate({"listing": {"ram_gb": 1, "rate": 2}}) == 3.0


@pytest.mark.parametrize(
    "variables",
    [
        {"listing": {"custom_fields": {"warranty_months": "number"}}}, {"listing.custom_fields.warranty_months": "number"},
        {"listing": {"custom_fields": {"warranty_months": 12}}}, ["listing.custom_fields.warranty_months"],
    ],
)  # fmt: skip
def test_custom_fields_of_variables(variables: Any) -> None:
    """Custom fields are declared as a reference has them, as objects or with dots, and from values too."""
    formula = compile_formula("listing.custom_fields.warranty_months * 2", variables=variables)
    assert formula.diagnostics == ()
    for values in (
        {"listing": {"custom_fields": {"warranty_months": 3}}},
        {"listing.custom_fields.warranty_months": 3},
    ):
        assert formula.evaluate(values) == 6.0
    with pytest.raises(DataError, match=r"did you mean `listing\.custom_fields\.warranty_months`"):
        formula.evaluate({"listing.custom_fields.waranty_months": 3})


def test_custom_fields_of_values_and_beside_a_reference() -> None:
    grade = {"type": "enum", "values": ["a", "b"], "nullable": True}
    formula = compile_formula("1 if x.custom_fields.g == 'a' else 0", variables={"x": {"custom_fields": {"g": grade}}})
    assert (formula.evaluate({}), formula.evaluate({"x": {"custom_fields": {"g": "a"}}})) == (0.0, 1.0)
    for values in ('{"a": {"custom_fields": {"b": 3, "c": "x"}}}', '{"a.custom_fields.b": 3}'):
        assert command("formula", "a.custom_fields.b * 2", "--vars", values).out == "6.0\n"
    rate = {"listing.custom_fields.rate": "number"}
    beside = compile_formula("ram_gb + listing.custom_fields.rate", reference=REFERENCE, variables=rate)
    assert beside.evaluate({"ram_gb": 1, "listing.custom_fields.rate": 2}) == 3.0


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"true": 5}, "`true` cannot be the name of a variable: it is a word of the formula language"),
        (["in"], "`in` cannot be the name of a variable: it is a word of the formula language"),
        ({"cpu": 5}, "`cpu` is an entity of the reference, and is given as a value"),
        ({"listing": "number"}, "`listing` is an entity of the reference, and is given as a value"),
        ({"ram_gb": {"x": 1}}, "`ram_gb` is a field of the reference, and is given as an object"),
    ],
)
def test_variables_that_would_mean_something_else(variables: Any, message: str, listing: Reference) -> None:
    """A variable is not called like a word of the language, an entity, or a field that is something else."""
    with pytest.raises(DataError) as refusal:
        compile_formula("1", reference=listing, variables=variables)
    assert str(refusal.value) == message


def test_only_declared_variables_have_values(listing: Reference) -> None:
    """Without a reference only the declared variables are known; otherwise they are further names of its root."""
    assert compile_formula("variables * a", variables=["variables", "a"]).evaluate({"variables": 3, "a": 2}) == 6.0
    with pytest.raises(DataError, match=r"`c` is no field; fields: `a`, `b`$"):
        compile_formula("a", variables=["a", "b"]).evaluate({"a": 1, "c": 2})
    formula = compile_formula("ram_gb * rate", reference=listing, variables={"rate": "number"})
    assert formula.evaluate({"ram_gb": 4, "rate": 2.5}) == 10.0


@pytest.mark.parametrize(
    "variables",
    ["abc", 5, {"a b": 1}, {"a": object()}, {1: "integer"}, {"a": "whole"}, {"a": {"b": {"c": {}}}}, [None], [[]]],
)
def test_variables_that_are_none(variables: Any) -> None:
    with pytest.raises(DataError):
        compile_formula("1", variables=variables)


def test_the_restaurant_is_the_domain_where_none_is_given() -> None:
    """With neither reference nor variables, names are the restaurant's fields."""
    assert compile_formula("5 - stars + context.review_count").evaluate({"stars": 4.5, "review_count": 10}) == 10.5
    assert refuse("starts")[0].help == "did you mean `stars`?"


@pytest.mark.parametrize(
    ("text", "reference"),
    [(5, None), (None, None), (b"1", None), ("1", 5), ("1", [1]), ("1", {"entities": {object}}), ("1", {1: object()})],
)
def test_what_is_no_formula(text: Any, reference: Any) -> None:
    """Arguments of another type are refused with one of our exceptions."""
    with pytest.raises(FormulaSeedError):
        compile_formula(text, reference=reference)


# --- the command


def test_the_command_prints_the_value() -> None:
    """The value stands alone on standard output, as JSON; warnings on standard error."""
    done = formulaseed("formula", "cpu.cores * 2", "--reference", REFERENCE, "--vars", '{"cpu": {"cores": 8}}')
    assert (done.status, done.out, "warning[FS305]" in done.err) == (0, "16.0\n", True)
    assert command("formula", "1 + 2").out == "3.0\n"
    assert command("formula", "'a' if x > 1 else 'b'", "--vars", '{"x": 5}').out == '"a"\n'


def test_the_command_checks_where_there_are_no_values() -> None:
    """A formula that reads fields is only checked without --vars."""
    stages = "no problems; syntax passed, security passed, fields passed, types passed, execution not reached\n"
    assert command("formula", "ram_gb * 2", "--reference", REFERENCE) == Outcome(0, "", stages)


def test_the_command_names_the_stages() -> None:
    """--format json holds the value, a word for each of the five stages, and diagnostics that name theirs."""
    done = command("formula", "ram_gbs * 2", "--reference", REFERENCE, "--format", "json")
    reported = json.loads(done.out)
    words = ["passed", "passed", "failed", "not reached", "not reached"]
    assert (done.status, [*reported["stages"].items()]) == (1, [*zip(STAGES, words, strict=True)])
    diagnostics = [(d["code"], d["stage"], d["help"]) for d in reported["diagnostics"]]
    assert diagnostics == [("FS204", "fields", "did you mean `ram_gb`?")]
    fine = json.loads(command("formula", "1 + 1", "--format", "json").out)
    assert (fine["value"], set(fine["stages"].values())) == (2.0, {"passed"})
    fails = command("formula", "1 / x", "--vars", '{"x": 0}', "--format", "json")
    assert (fails.status, json.loads(fails.out)["stages"]["execution"]) == (1, "failed")


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["1", "--vars", "{"], 1), (["1", "--vars", "[1]"], 1), (["1", "--vars", '{"x": NaN}'], 1),
        (["1", "--vars", "@none.json"], 2), (["1", "--vars", "[" * 100_000], 1), (["1", "--reference", "none.json"], 2),
        (["x", "--vars", '{"x": {"y": {"z": {}}}}'], 1), (["x", "--vars", '{"x": 5, "x.y": 1}'], 1),
        (["x.y + 1", "--vars", '{"x.y": 1, "x": 5}'], 1), (["x.y", "--vars", '{"x.y.z": 1}'], 1),
        (["x", "--vars", '{"x": "a", "": 1}'], 1), ([], 2), (["1", "--file", "x.json"], 2),
        (["--file", "none.json"], 2), ([""], 1), (["1 +"], 1), (["\udcff"], 1), (["9**9**9"], 1), (["(" * 500], 1),
        (["1" * 20_000], 1),
    ],
    ids=str,
)  # fmt: skip
def test_the_command_on_bad_input(arguments: list[str], status: int) -> None:
    """Whatever is wrong is reported with the right exit status, and without a traceback."""
    done = formulaseed("formula", *arguments)
    assert done.status == status
    assert done.err


def test_stages_behind_a_failure_are_not_reached() -> None:
    """Without diagnostics all pass; what failed at evaluation is the execution; to be too long is no matter of syntax."""
    assert set(summarize_stages((), is_evaluated=True, has_failed=False).values()) == {"passed"}
    assert summarize_stages((), is_evaluated=True, has_failed=True)["execution"] == "failed"
    assert summarize_stages((), is_evaluated=False, has_failed=False)["execution"] == "not reached"
    assert find_stage(refuse("1" * 20_000)[0]) == "security"


# --- anything at all

NAMES = st.sampled_from(["ram_gb", "price_usd", "cpu.cores", "cpu", "condition", "listing.ram_gb", "cpu.nope", "x"])
TOKENS = "+ - * / // ** % ( ) if else and or not , == < 1 0 2.5 'new' None True [ ] $ ."
PIECES = NAMES | st.sampled_from(TOKENS.split()) | st.sampled_from([f"{name}(" for name in FUNCTIONS])


REFERENCE_READ = load_reference(REFERENCE)


@given(st.lists(PIECES, max_size=20).map(" ".join), st.sampled_from(LISTINGS))
def test_any_formula_has_a_value_or_a_reason(text: str, values: dict[str, Any]) -> None:
    """Whatever pieces are put together, there is a float or text, or one of our exceptions."""
    analysis = analyse_formula(text, REFERENCE_READ)
    assert "FS901" not in {d.code for d in analysis.diagnostics}
    if analysis.program is not None:
        value = outcome(Formula(text, analysis.program), values)
        assert isinstance(value, str) or math.isfinite(value)


def test_a_file_of_rules_as_values(tmp_path: Path) -> None:
    """--file checks and evaluates each rule by itself: one that has no value does not keep others from theirs."""
    formulas = {"ram": "ram_gb * 2.5", "share": "100 / ram_gb"}
    rules = write_json(tmp_path / "rules.json", [{"name": name, "formula": text} for name, text in formulas.items()])
    done = command("formula", "--file", rules, "--reference", REFERENCE, "--vars", json.dumps(BARE))
    assert (done.status, json.loads(done.out)) == (1, {"ram": 0.0})
    assert f"formulaseed: share: division_by_zero: 100 / 0 ({rules}:8:17)" in done.err
