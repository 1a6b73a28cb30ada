"""Formula references: what they hold, how their versions grow, how people and models read them, what is refused."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from formulaseed.diagnostics.model import Diagnostic, Problems
from formulaseed.documents import analyse_formula, load_reference
from formulaseed.errors import SeedError
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.operators import OPERATORS
from formulaseed.reference.document import build_document, compare_references, format_document, next_version
from formulaseed.reference.model import Reference
from formulaseed.reference.read import lower_layout, lower_reference
from formulaseed.reference.rendering import estimate_tokens, render_prompt
from formulaseed.reference.restaurant import build_restaurant_reference
from formulaseed.source.json_reader import read_json
from formulaseed.source.text import Source
from formulaseed.testing.scalars import integers
from golden_lines import check_lines
from helpers import EXAMPLES, ROOT, command, places, write_json
from hypothesis import given
from hypothesis import strategies as st

DATABASE = EXAMPLES / "listing.db"
LISTING_SCHEMA = EXAMPLES / "listing_schema.json"
REFERENCE = EXAMPLES / "formula_reference.json"
REAL = ROOT.parent / "shared" / "data" / "listing" / "formula_reference.json"
HERE = Path(__file__).parent
TOP_KEYS = [
    "version", "description", "entities", "custom_fields", "enums", "operators", "functions", "syntax_patterns",
    "examples", "notes",
]  # fmt: skip
SCHEMA: dict[str, Any] = {
    "root": "shop",
    "entities": {
        "shop": {"fields": {"price": "float", "name": {"type": "string", "nullable": True}}},
        "owner": {"nullable": True, "fields": {"age": {"type": "integer", "description": "Age | in years"}}},
    },
}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """The published reference of the example's database."""
    published: dict[str, Any] = json.loads(REFERENCE.read_text(encoding="utf-8"))
    return published


def read_reference(value: object) -> tuple[tuple[Diagnostic, ...], Reference | None]:
    """What is wrong with a reference, and what was read of it."""
    problems = Problems()
    tree, faults = read_json(Source("reference.json", json.dumps(value)))
    assert tree is not None
    assert not faults
    reference = lower_reference(tree, problems)
    lower_layout(tree, problems)
    return problems.sorted(), reference


# --- what it holds


def test_the_example_is_current() -> None:
    """examples/formula_reference.json is what the example's database and its schema file give."""
    sources = ("--database", f"sqlite:///{DATABASE}", "--schema", LISTING_SCHEMA)
    done = command("reference", *sources, "--out", REFERENCE, "--check")
    assert (done.status, done.out) == (0, f"{REFERENCE}: current, version 1.1.1\n")


def test_the_schema_of_references(document: dict[str, Any]) -> None:
    """Every section has the keys and the forms that references are documented with."""
    assert list(document) == TOP_KEYS
    assert re.fullmatch(r"\d+\.\d+\.\d+", document["version"])
    drives = ["primary_storage", "secondary_storage"]
    assert list(document["entities"]) == ["listing", "cpu", "gpu", "ram_spec", *drives, "ports_profile"]
    for name, entity in document["entities"].items():
        assert entity.keys() - {"note"} == {"description", "access_pattern", "nullable", "fields"}
        assert entity["nullable"] is (name != "listing")
        assert entity["access_pattern"].startswith("Direct" if name == "listing" else f"{name}.")
        for key, field in entity["fields"].items():
            assert field.keys() - {"enum_type", "values", "default"} == {"type", "description", "nullable", "example"}
            assert field["example"] == f"{name}.{key}"
            assert ("values" in field) is (field["type"] == "enum")
    keys = {"field_key", "field_type", "description", "access_pattern", "required"}
    for entity, fields in document["custom_fields"].items():
        for field in fields:
            assert field.keys() - {"options", "default_value"} == keys
            assert field["access_pattern"] == f"{entity}.custom_fields.{field['field_key']}"
    condition = {"description": "Listing item condition", "values": ["new", "refurb", "used"]}
    assert document["enums"]["Condition"] == {**condition, "usage": "Used in listing.condition field"}
    assert document["operators"]["arithmetic"].keys() == OPERATORS.keys()
    assert document["functions"].keys() == FUNCTIONS.keys()
    assert {function["returns"] for function in document["functions"].values()} <= {"float", "integer", "any"}
    for section, names in {
        "functions": ["signature", "description", "example", "returns"],
        "syntax_patterns": ["syntax", "description", "examples"],
        "examples": ["formula", "description", "use_case"],
    }.items():
        assert all(list(entry) == names for entry in document[section].values())


@pytest.mark.skipif(not REAL.is_file(), reason="the real formula reference is not here")
def test_the_keys_are_those_of_a_real_reference(document: dict[str, Any]) -> None:
    """A published reference has the keys of a real reference, section by section; so has the real one read and published."""
    real = json.loads(REAL.read_text(encoding="utf-8"))
    again = build_document(load_reference(REAL))
    for ours in (document, again):
        assert ours.keys() == real.keys() - {"generated_at"}
        assert ours["entities"].keys() == real["entities"].keys()
        assert ours["operators"].keys() == real["operators"].keys()
        for kind in real["operators"]:
            assert ours["operators"][kind].keys() >= real["operators"][kind].keys()
        assert ours["functions"].keys() >= real["functions"].keys()
    for section in ("custom_fields", "examples", "notes", "enums"):
        assert again[section] == real[section]
    for name, entity in real["entities"].items():
        assert again["entities"][name]["fields"].keys() == entity["fields"].keys()
    for function in real["functions"].values():
        assert analyse_formula(function["example"], load_reference(REAL)).program is not None


def check_examples(reference: Reference) -> None:
    """Assert that every formula in a published reference has no errors: of examples, patterns and functions."""
    document = build_document(reference)
    formulas = [example["formula"] for example in document["examples"].values()]
    formulas += [text for pattern in document["syntax_patterns"].values() for text in pattern["examples"]]
    formulas += [function["example"] for function in document["functions"].values()]
    assert formulas
    for text in formulas:
        assert analyse_formula(text, reference).program is not None, text


def test_every_example_of_a_reference_is_a_formula(document: dict[str, Any]) -> None:
    """Examples of every source check, and a reference that is read and published again is the same."""
    for source in (REFERENCE, SCHEMA):
        check_examples(load_reference(source))
    check_examples(build_restaurant_reference())
    assert build_document(load_reference(REFERENCE)) == document


# --- versions


def replace_at(document: dict[str, Any], path: str, to: object = None) -> dict[str, Any]:
    """A copy with the value at a path replaced, or removed."""
    copy = deepcopy(document)
    *above, last = path.split("/")
    inner: Any = copy
    for key in above:
        inner = inner[key]
    if to is None:
        del inner[last]
    else:
        inner[last] = to
    return copy


def test_versions(document: dict[str, Any], pytestconfig: pytest.Config) -> None:
    """A reworded reference gets a patch, one with something new a minor, one that may break a formula a major version."""

    def describe(path: str, to: object) -> dict[str, str]:
        after = load_reference(replace_at(document, path, to))
        change = compare_references(load_reference(document), document, after, build_document(after))
        return {"change": str(change), "version": next_version("1.0.0", change.kind)}

    check_lines(HERE / "changes.jsonl", ("path", "to"), describe, pytestconfig)


def test_functions_count_too(document: dict[str, Any]) -> None:
    """A function or operator that the file does not have yet is new; one that is gone breaks formulas."""
    reference = load_reference(document)
    fewer = replace_at(replace_at(document, "functions/log"), "operators/comparison/in")
    assert compare_references(reference, fewer, reference, document).reasons == ("in added", "log added")
    more = replace_at(document, "functions/median", {"signature": "median(a)"})
    assert str(compare_references(reference, more, reference, document)) == "major: median removed"


def test_out_writes_versions(tmp_path: Path) -> None:
    """--out writes a first version, leaves a current file alone, and says what has changed; --check only says it."""
    schema, out = tmp_path / "schema.json", tmp_path / "out" / "reference.json"

    def publish(document: dict[str, Any], *options: str) -> tuple[int, str]:
        done = command("reference", "--schema", write_json(schema, document), "--out", out, *options)
        return done.status, done.out.removeprefix(f"{out}: ")

    assert publish(SCHEMA, "--check") == (1, "missing; run the command without --check\n")
    assert publish(SCHEMA) == (0, "version 1.0.0\n")
    written = out.read_bytes()
    assert publish(SCHEMA) == publish(SCHEMA, "--generated-at") == (0, "current, version 1.0.0\n")
    ageless = replace_at(SCHEMA, "entities/owner/fields/age")
    change = "(major: owner.age removed)\n"
    assert publish(ageless, "--check") == (1, f"stale, 1.0.0 is to become 2.0.0 {change}")
    assert out.read_bytes() == written
    assert publish(ageless) == (0, f"1.0.0 became 2.0.0 {change}")
    sized = replace_at(SCHEMA, "entities/shop/fields/size", "integer")
    assert publish(sized) == (0, "2.0.0 became 2.1.0 (minor: owner.age added, shop.size added)\n")
    assert publish({**sized, "version": "9.0.0"}) == (0, "current, version 2.1.0\n"), "the version of the file decides"
    out.unlink()
    assert publish({**sized, "version": "9.0.0"}) == (0, "version 9.0.0\n")


def test_out_keeps_what_is_no_reference(tmp_path: Path) -> None:
    """A file that holds something else is not overwritten."""
    notes = write_json(tmp_path / "notes.json", {"notes": ["mine"]})
    before = notes.read_bytes()
    done = command("reference", "--out", notes)
    assert (done.status, "the formula reference has no `entities`" in done.err) == (1, True)
    assert notes.read_bytes() == before


# --- for people and for models


def test_markdown(tmp_path: Path) -> None:
    """A table for each entity, in which nothing that the reference says is markup."""
    schema, out = write_json(tmp_path / "s.json", SCHEMA), tmp_path / "reference.md"
    text = command("reference", "--schema", schema, "--format", "markdown").out
    assert "| `owner.age` | integer | Age \\| in years |" in text
    assert "| `clamp(value, low, high)` |" in text
    assert (text.startswith("# Formula reference\n"), text.count("\n# ")) == (True, 0)
    assert all(line.endswith("|") for line in text.splitlines() if line.startswith("|"))
    options = ([*fixed, "--out", out] for fixed in (["--check"], [], ["--check"]))
    statuses = [command("reference", "--schema", schema, "--format", "markdown", *option).status for option in options]
    assert (statuses, out.read_text(encoding="utf-8")) == ([1, 0, 0], text)


def test_a_prompt_has_a_line_for_each_entity_field_function_and_example(document: dict[str, Any]) -> None:
    """Fields with their values and meanings, `?` where they may be null; nothing is left out."""
    text = render_prompt(document)
    lines = text.splitlines()
    assert "listing.condition: enum (new|refurb|used)  # Listing item condition" in lines
    assert "listing.custom_fields.cosmetic_grade?: enum (mint|good|worn)  # Physical appearance of the device" in lines
    entities = document["entities"].values()
    custom = sum(map(len, document["custom_fields"].values()))
    sections = sum(len(document[name]) for name in ("functions", "syntax_patterns", "examples"))
    fields = sum(len(entity["fields"]) for entity in entities)
    assert len(lines) == 3 + len(entities) + fields + custom + sections
    done = command("reference", "--schema", REFERENCE, "--format", "prompt")
    assert (done.out, done.err) == (text, f"about {estimate_tokens(text)} tokens\n")


# --- wrong and hostile references


def test_references_that_are_wrong(pytestconfig: pytest.Config) -> None:
    """Every deviation from the format is reported at its place."""

    def describe(reference: object) -> dict[str, Any]:
        return {"faults": [[fault.code, fault.pointer, fault.message] for fault in read_reference(reference)[0]]}

    check_lines(HERE / "wrong_references.jsonl", ("reference",), describe, pytestconfig)
    many_entities = {"entities": {f"e{n}": {"fields": {}} for n in range(501)}}
    many_fields = {"entities": {"a": {"fields": {f"f{n}": "integer" for n in range(20_001)}}}}
    for large in (many_entities, many_fields):
        assert [fault.code for fault in read_reference(large)[0]] == ["FS510"]


def test_checking_a_reference(tmp_path: Path) -> None:
    """`check` reads a reference too, and the formulas that it shows; there is nothing in it to compile."""
    ours = json.loads(command("check", REFERENCE, "--format", "json").out)
    assert {(d["code"], d["severity"]) for d in ours} == {("FS305", "warning")}
    shown = {"examples": {"e": {"formula": "prize * 2"}}, "syntax_patterns": {"p": {"examples": ["owner.age", "1 +"]}}}
    path = write_json(tmp_path / "reference.json", {**SCHEMA, **shown, "extra": 1})
    reported = json.loads(command("check", path, "--format", "json").out)
    assert [(d["code"], d["pointer"]) for d in reported] == [
        ("FS204", "/examples/e/formula"), ("FS305", "/syntax_patterns/p/examples/0"),
        ("FS102", "/syntax_patterns/p/examples/1"), ("FS501", "/extra"),
    ]  # fmt: skip
    compiled = command("compile", REFERENCE, "--stdout")
    assert (compiled.status, compiled.out) == (1, "")
    assert "error[FS008] not-a-seed: this is a formula reference, which contains no rules to compile" in compiled.err


@given(st.data())
def test_any_damage_to_a_reference_is_reported(data: st.DataObject) -> None:
    """With any of its values replaced by any other a reference is read or refused, published, and used by formulas."""
    value = json.loads(REFERENCE.read_text(encoding="utf-8"))
    for _ in range(data.draw(st.integers(1, 3))):
        holder, key = data.draw(st.sampled_from(list(places(value))))
        empty = st.sampled_from([None, True, False, [], {}, [{}]])
        holder[key] = deepcopy(data.draw(empty | integers() | st.text(max_size=5)))
    faults, reference = read_reference(value)
    assert "FS901" not in {fault.code for fault in faults}
    if reference is not None and not faults:
        published = build_document(reference)
        assert json.loads(format_document(published)) == published
        assert render_prompt(published)
        for text in ("ram_gb * 2", "cpu.cores if cpu else 0", "condition == 'new'"):
            assert "FS901" not in {d.code for d in analyse_formula(text, reference).diagnostics}


def test_a_broken_reference_is_reported_instead_of_the_formula(tmp_path: Path) -> None:
    """A formula over a reference with errors gets the reference's diagnostics."""
    path = write_json(tmp_path / "reference.json", {"entities": {"a": {"fields": {"x": "whole"}}}})
    done = command("formula", "x + 1", "--reference", path)
    assert (done.status, done.out, "error[FS509]" in done.err) == (1, "", True)
    with pytest.raises(SeedError):
        load_reference(path)


@pytest.mark.parametrize(
    "arguments",
    ["--check", "seed.json --schema x.json", "--root a", "--format yaml", "--schema none.json", "none.json"],
)
def test_wrong_usage(arguments: str) -> None:
    """Options that do not go together, and files that are not there, are reported with status 2."""
    assert command("reference", *arguments.split()).status == 2
