"""The JSON Schema of seeds: it accepts what the compiler accepts, and refuses what it can see is wrong."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
from case_files import blocks_of
from formulaseed import load_seed
from formulaseed.documents import analyse, analyse_text, compile_seed
from formulaseed.seed.json_schema import build_seed_schema
from formulaseed.seed.operations import OPERATIONS, list_step_keys
from formulaseed.seed.read.sections import is_v1
from formulaseed.seed.write.canonical import canonicalize, format_json
from formulaseed.source.text import Source
from formulaseed.testing import seeds
from helpers import ROOT, SEEDS_V2, command, places, tiny_seed
from hypothesis import assume, given
from hypothesis import strategies as st
from jsonschema import Draft7Validator

Json = Any

SCHEMA = build_seed_schema()
VALIDATOR = Draft7Validator(SCHEMA)

PLACED = {"FS008", "FS501", "FS502", "FS503", "FS504", "FS508", "FS511", "FS512"}
"""Codes of which the schema sees every fault, and where: these are about keys and types of JSON."""
SEEN = PLACED | {"FS505", "FS506"}
"""Codes of which it sees most: a condition that names another field, or what follows `else`, is beyond a schema."""


def find_refused(seed: Json) -> list[str]:
    """The places of what the schema refuses, as JSON Pointers."""
    return [
        "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in error.absolute_path)
        for error in VALIDATOR.iter_errors(seed)
    ]


def list_codes(seed: Json) -> set[str]:
    return {d.code for d in analyse(seed).diagnostics if d.severity == "error"}


def is_v2(text: str) -> bool:
    """Return whether a text is JSON, and of the shape that the schema is about."""
    try:
        return not is_v1(json.loads(text))
    except ValueError:
        return False


def read_cases(folder: str) -> dict[str, str]:
    """Return the texts of the seeds v2 of the good or the bad cases, by the name of the case."""
    documents = {path.stem: blocks_of(path)[0] for path in sorted((ROOT / "tests" / "cases" / folder).glob("*.md"))}
    return {name: block.body for name, block in documents.items() if block.kind == "json seed" and is_v2(block.body)}


VALID = read_cases("good") | {path.parent.name: path.read_text(encoding="utf-8") for path in SEEDS_V2}
BAD = read_cases("bad")


def test_the_schema_is_a_schema() -> None:
    """It is valid against its metaschema, and every part of it is used; the repository holds it as `make generate` writes it."""
    Draft7Validator.check_schema(SCHEMA)
    assert set(re.findall(r'"#/definitions/(\w+)"', json.dumps(SCHEMA))) == set(SCHEMA["definitions"])
    assert (ROOT / "grammar" / "formula-seed.schema.json").read_text(encoding="utf-8") == format_json(SCHEMA)


def test_every_key_is_explained() -> None:
    """Wherever the schema names a key, an editor has something to show for it."""
    unexplained = []
    stack: list[tuple[str, Json, bool]] = [("", SCHEMA, False)]
    while stack:
        place, node, is_names = stack.pop()
        for key, inner in node.items() if isinstance(node, dict) else enumerate(node):
            if isinstance(inner, dict | list) and key not in ("examples", "default"):
                stack.append((f"{place}/{key}", inner, key == "properties" and not is_names))
        if is_names or not isinstance(node, dict):
            continue
        for key, inner in (node.get("properties") or {}).items():
            constrained = place.endswith(("/then", "/if", "/else")) or "/anyOf/" in place
            referred = isinstance(inner, dict) and "$ref" in inner
            if isinstance(inner, dict) and not constrained and not referred and "description" not in inner:
                unexplained.append(f"{place}/{key}")
    assert unexplained == []


def test_every_operation_offers_its_keys() -> None:
    """Each operation has a branch of its own, with the keys that the compiler reads and no others."""
    step = SCHEMA["definitions"]["step"]
    branches = {branch["if"]["properties"]["op"]["const"]: branch["then"] for branch in step["allOf"]}
    assert {name: set(branch["properties"]) for name, branch in branches.items()} == {
        name: set(list_step_keys(operation)) for name, operation in OPERATIONS.items()
    }
    assert not any(branch["additionalProperties"] for branch in branches.values())
    assert [choice["const"] for choice in step["properties"]["op"]["oneOf"]] == list(OPERATIONS)


@pytest.mark.parametrize("text", VALID.values(), ids=VALID)
def test_seeds_that_compile_are_valid(text: str) -> None:
    """Those of the tasks and of the good cases."""
    assert find_refused(json.loads(text)) == []


@given(seeds())
def test_random_seeds_are_valid(seed: Json) -> None:
    assert find_refused(seed) == []


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_bad_cases(text: str) -> None:
    """A fault of the structure is refused at its place; what the schema refuses, the compiler refuses too."""
    refused = set(find_refused(json.loads(text)))
    diagnostics = analyse_text(Source("seed.json", text)).diagnostics
    assert refused or not {d.code for d in diagnostics} & SEEN
    assert not refused or any(d.severity == "error" for d in diagnostics)
    foreign = {d.pointer for d in diagnostics if d.code == "FS511"}  # the schema does not look at what stands in these
    for diagnostic in diagnostics:
        pointer = diagnostic.pointer
        if diagnostic.code in PLACED and "/".join(pointer.split("/")[:2]) not in foreign:
            assert refused & {pointer, pointer.rpartition("/")[0]}, (diagnostic.code, diagnostic.message)


def test_each_structural_code_has_a_case() -> None:
    """The claim above is about every code that it lists."""
    assert {d.code for text in BAD.values() for d in analyse_text(Source("seed.json", text)).diagnostics} >= SEEN


_KEYS = st.sampled_from(
    [
        "name", "op", "where", "expr", "field", "default", "rules", "source", "table", "match", "value", "when", "then", "else",
        "otherwise", "keywords", "fields", "meta", "context", "extraction", "type", "values", "nullable", "minimum", "passes",
        "validity", "allow", "description", "version", "$schema", "in", ">=", "==", "$A", "meta.year", "year", "and", "", "note",
    ]
)  # fmt: skip
_VALUES = st.sampled_from(
    [
        None, True, False, 0, 3, -1.5, "", "x", "count", "case", "avg", "> 3", "enum", "else", [], [1], ["x"], [None], {},
        {"FS602": "wanted"}, {"FS602": " "}, {"FS201": "no"}, {"FS999": "?"},
        {"in": []}, {"in": [1]}, {">=": 1}, {"x": 1}, [{}], [{"else": 1}],
    ]
).map(copy.deepcopy)  # fmt: skip


def mutate(draw: st.DataObject, seed: Json) -> None:
    """Remove, rename, add or retype something, anywhere."""
    holder, key = draw.draw(st.sampled_from(list(places(seed))))
    change = draw.draw(st.sampled_from(["remove", "rename", "add", "retype"]))
    if change == "remove":
        del holder[key]
    elif change == "retype":
        holder[key] = draw.draw(_VALUES)
    elif isinstance(holder, list):
        holder.append(draw.draw(_VALUES))
    else:
        holder[draw.draw(_KEYS)] = draw.draw(_VALUES) if change == "add" else holder.pop(key)


@given(seeds(max_steps=4), st.data())
def test_schema_and_compiler_agree_on_structure(seed: Json, data: st.DataObject) -> None:
    """What the schema accepts has none of the faults that are about keys and JSON types; what it refuses has errors."""
    for _ in range(data.draw(st.integers(1, 2))):
        assume(seed)
        mutate(data, seed)
    refused, reported = find_refused(seed), list_codes(seed)
    if reported & PLACED:
        assert refused, reported
    if refused:
        assert reported, refused


def test_a_seed_may_name_the_schema() -> None:
    """`$schema`, a text, is for editors: the hash and the module stay, `fmt` keeps it, in front."""
    plain, named = tiny_seed(), {**tiny_seed(), "$schema": "../formula-seed.schema.json"}
    assert find_refused(named) == []
    assert load_seed(named).sha256 == load_seed(plain).sha256
    assert compile_seed(named) == compile_seed(plain)
    assert next(iter(canonicalize(named))) == "$schema"
    assert list_codes({**plain, "$schema": 7}) == {"FS503"}


def test_the_command_prints_writes_and_checks_the_schema(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    for arguments, expected in (
        ((), (0, format_json(SCHEMA))),
        (("--out", path), (0, f"{path}\n")),
        (("--check", path), (0, f"{path}: current\n")),
        (("--check", tmp_path / "missing.json"), (2, "")),
        (("--out", path / "s.json"), (2, "")),
        (("--out", path, "--check", path), (2, "")),
    ):
        done = command("schema", *arguments)
        assert (done.status, done.out) == expected
    assert path.read_text(encoding="utf-8") == format_json(SCHEMA)
    path.write_text(format_json({**SCHEMA, "title": "Seed"}), encoding="utf-8")
    stale = command("schema", "--check", path)
    assert (stale.status, "stale" in stale.out) == (1, True)
