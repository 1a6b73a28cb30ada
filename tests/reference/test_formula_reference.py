"""Formula references: what they hold, where they come from, how their versions grow, how people and models read them."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sqlite3
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from formulaseed import compile_formula, pipeline
from formulaseed.diagnostics.model import Problems
from formulaseed.documents import analyse_formula, analyse_rules, load_reference
from formulaseed.errors import DataError, SeedError, UnreadableError
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.operators import OPERATORS
from formulaseed.pipeline import require_valid
from formulaseed.reference.database import reflect_database
from formulaseed.reference.document import build_document, compare_references, format_document, next_version
from formulaseed.reference.model import DatabaseLayout, Reference
from formulaseed.reference.read import lower_layout, lower_reference
from formulaseed.reference.rendering import estimate_tokens, render_markdown, render_prompt
from formulaseed.reference.restaurant import build_restaurant_reference
from formulaseed.runtime.loading import module_from_source
from formulaseed.source.json_reader import read_json
from formulaseed.source.text import Source
from formulaseed.testing.scalars import integers
from helpers import EXAMPLES, ROOT, TASKS, command, places, write_json
from hypothesis import given
from hypothesis import strategies as st

DATABASE = EXAMPLES / "listing.db"
LISTING_SCHEMA = EXAMPLES / "listing_schema.json"
REFERENCE = EXAMPLES / "formula_reference.json"
REAL = ROOT.parent / "shared" / "data" / "listing" / "formula_reference.json"
POSTGRES = os.environ.get("FORMULASEED_POSTGRES_URL", "")
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


def problems_of(value: object) -> tuple[list[str], Any]:
    """The codes of what is wrong with a reference, and what was read of it."""
    problems = Problems()
    tree, faults = read_json(Source("reference.json", json.dumps(value)))
    assert tree is not None
    assert not faults
    reference = lower_reference(tree, problems)
    lower_layout(tree, problems)
    return [d.code for d in problems.sorted()], reference


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
    assert list(document["entities"]) == [
        "listing", "cpu", "gpu", "ram_spec", "primary_storage", "secondary_storage", "ports_profile",
    ]  # fmt: skip
    for name, entity in document["entities"].items():
        assert entity.keys() - {"note"} == {"description", "access_pattern", "nullable", "fields"}
        assert entity["nullable"] is (name != "listing")
        assert entity["access_pattern"].startswith("Direct" if name == "listing" else f"{name}.")
        for key, field in entity["fields"].items():
            assert field.keys() - {"enum_type", "values", "default"} == {"type", "description", "nullable", "example"}
            assert field["example"] == f"{name}.{key}"
            assert ("values" in field) is (field["type"] == "enum")
    for entity, fields in document["custom_fields"].items():
        for field in fields:
            assert field.keys() - {"options", "default_value"} == {
                "field_key", "field_type", "description", "access_pattern", "required",
            }  # fmt: skip
            assert field["access_pattern"] == f"{entity}.custom_fields.{field['field_key']}"
    assert document["enums"]["Condition"] == {
        "description": "Listing item condition",
        "values": ["new", "refurb", "used"],
        "usage": "Used in listing.condition field",
    }
    assert document["operators"]["arithmetic"].keys() == OPERATORS.keys()
    assert document["functions"].keys() == FUNCTIONS.keys()
    for function in document["functions"].values():
        assert list(function) == ["signature", "description", "example", "returns"]
        assert function["returns"] in ("float", "integer", "any")
    for pattern in document["syntax_patterns"].values():
        assert list(pattern) == ["syntax", "description", "examples"]
    for example in document["examples"].values():
        assert list(example) == ["formula", "description", "use_case"]


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


# --- sources


def test_the_example_database_is_made_the_same(tmp_path: Path) -> None:
    """examples/make_listing.py writes the bytes that are committed."""
    sys.path.insert(0, str(EXAMPLES))
    try:
        import make_listing
    finally:
        sys.path.remove(str(EXAMPLES))
    copy = tmp_path / "listing.db"
    make_listing.make(copy)
    dumps = []
    for path in (DATABASE, copy):
        with contextlib.closing(sqlite3.connect(path)) as db:
            dumps.append(list(db.iterdump()))
    before, after = dumps
    assert before == after
    if sqlite3.sqlite_version_info >= (3, 40):
        assert copy.read_bytes() == DATABASE.read_bytes()


def test_a_schema_file() -> None:
    """The short form: types alone, the root by name; the rest follows."""
    published = build_document(load_reference(SCHEMA))
    assert published["entities"]["shop"]["access_pattern"] == "Direct field access (e.g., shop.price or just price)"
    assert published["entities"]["owner"]["note"] == "There may be no owner: then all its fields are null"
    assert published["entities"]["shop"]["fields"]["price"] == {
        "type": "float", "description": "", "nullable": False, "example": "shop.price",
    }  # fmt: skip


def test_the_restaurant_and_a_seed() -> None:
    """Without a source it is the restaurant's; of a seed its own fields and parameters are in it."""
    plain = json.loads(command("reference", "--generated-at").out)
    assert list(plain)[:2] == ["version", "generated_at"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", plain["generated_at"])
    assert list(plain["entities"]) == ["context", "meta"]
    of_seed = json.loads(command("reference", TASKS / "wait_times" / "seed.json").out)
    assert list(of_seed["entities"]) == ["context", "meta", "extraction", "param"]
    outcome = of_seed["entities"]["extraction"]["fields"]["outcome"]
    assert outcome["values"] == ["none", "stayed", "walked_out", "compensated"]
    fields = [field for entity in plain["entities"].values() for field in entity["fields"].values()]
    assert all(field["description"] for field in fields)


def make_database(path: Path, *statements: str) -> str:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return f"sqlite:///{path}"


def test_a_database_of_another_domain(tmp_path: Path) -> None:
    """Tables, types, checks, keys and definitions that are called otherwise, mapped by a schema file."""
    url = make_database(
        tmp_path / "farm.db",
        "CREATE TABLE fields_of_users (kind TEXT, code TEXT, sort TEXT, help TEXT, must INTEGER, picks TEXT)",
        "INSERT INTO fields_of_users VALUES ('herd', 'brand', 'select', 'Its brand', 1, '[\"a\", {\"value\": \"b\"}]')",
        "INSERT INTO fields_of_users VALUES ('herd', 'odd name', 'number', '', 0, NULL), ('barn', 'x', 'int', '', 0, NULL)",
        "CREATE TABLE farmer (farmer_id INTEGER PRIMARY KEY, born DATE, money NUMERIC(10, 2) DEFAULT 1.5, boss INTEGER)",
        "CREATE TABLE place (a INTEGER, b INTEGER, name VARCHAR(9) DEFAULT 'x''y', PRIMARY KEY (a, b))",
        "CREATE TABLE herd (id INTEGER PRIMARY KEY, head BIGINT NOT NULL, fed BOOLEAN NOT NULL DEFAULT 1, photo BLOB, "
        '"odd name" TEXT, secret TEXT, weight DOUBLE PRECISION, grade CHAR(1), '
        "owner_id INTEGER NOT NULL REFERENCES farmer, helper_id INTEGER REFERENCES farmer, mother_id INTEGER "
        "REFERENCES herd (id), pa INTEGER, pb INTEGER, FOREIGN KEY (pa, pb) REFERENCES place (a, b))",
    )
    schema = write_json(
        tmp_path / "farm.json",
        {
            "description": "Herds",
            "entities": {
                "herd": {"fields": {"head": {"type": "integer", "minimum": 0}}},
                "owner": {"description": "Who has it", "fields": {"money": {"type": "float"}}},
            },
            "enums": {"Grade": {"values": ["a", "b"], "usage": "Used in herd.grade field"}},
            "database": {
                "root": "herd",
                "entities": {"helper_id": "hand"},
                "exclude": ["secret", "farmer.boss"],
                "custom_fields": {
                    "table": "fields_of_users",
                    "columns": {
                        "entity": "kind", "key": "code", "type": "sort", "description": "help", "required": "must",
                        "options": "picks",
                    },
                },
            },
        },
    )  # fmt: skip
    done = command("reference", "--database", url, "--schema", schema)
    assert done.status == 0
    published = json.loads(done.out)
    assert published["description"] == "Herds"
    assert list(published["entities"]) == ["herd", "owner", "hand", "mother", "place"]
    herd = published["entities"]["herd"]["fields"]
    assert {name: field["type"] for name, field in herd.items()} == {
        "head": "integer", "fed": "boolean", "photo": "json", "weight": "float", "grade": "enum", "owner_id": "integer",
        "helper_id": "integer", "mother_id": "integer", "pa": "integer", "pb": "integer",
    }  # fmt: skip
    assert (herd["fed"]["default"], herd["grade"]["values"], herd["grade"]["enum_type"]) == (True, ["a", "b"], "Grade")
    owner = published["entities"]["owner"]
    assert (owner["description"], owner["nullable"]) == ("Who has it", False)
    assert {name: field["type"] for name, field in owner["fields"].items()} == {"born": "datetime", "money": "float"}
    assert published["entities"]["place"]["fields"]["name"]["default"] == "x'y"
    (brand,) = published["custom_fields"]["herd"]
    assert (brand["field_type"], brand["options"], brand["required"]) == ("enum", ["a", "b"], True)
    left_out = {line.split(": ")[1].split(",")[0] for line in done.err.splitlines()}
    assert left_out == {"herd.odd name", "mother.odd name", "herd.custom_fields.odd name", "barn.custom_fields.x"}


def test_a_foreign_key_to_a_table_that_there_is_not(tmp_path: Path) -> None:
    """Its entity is left out by name, and the rest of the database is read: SQLite lets tables be dropped."""
    statement = "CREATE TABLE item (id INTEGER PRIMARY KEY, n INTEGER, a_id REFERENCES gone)"
    done = command("reference", "--database", make_database(tmp_path / "x.db", statement))
    assert done.status == 0
    assert list(json.loads(done.out)["entities"]) == ["item"]
    assert done.err == "left out: the entity of item.a_id → gone, as there is no table `gone`\n"


def test_a_lookup_table_is_an_enum(tmp_path: Path) -> None:
    """The names in a table of ids and names are the values of an enum; a longer table, or one with more columns, is data."""
    url = make_database(
        tmp_path / "x.db",
        "CREATE TABLE breed (id INTEGER PRIMARY KEY, name TEXT NOT NULL)",
        "INSERT INTO breed VALUES (2, 'Jersey'), (1, 'Holstein')",
        "CREATE TABLE owner (id INTEGER PRIMARY KEY, name TEXT)",
        f"INSERT INTO owner VALUES {', '.join(f'({n}, {chr(39)}Owner {n}{chr(39)})' for n in range(60))}",
        "CREATE TABLE barn (id INTEGER PRIMARY KEY, name TEXT, built INTEGER)",
        "INSERT INTO barn VALUES (1, 'Old', 1900)",
        "CREATE TABLE cow (id INTEGER PRIMARY KEY, parity INTEGER NOT NULL, breed_id INTEGER NOT NULL "
        "REFERENCES breed, owner_id INTEGER REFERENCES owner, barn_id INTEGER REFERENCES barn)",
    )
    out = tmp_path / "reference.json"
    assert command("reference", "--database", url, "--out", out).status == 0
    entities = json.loads(out.read_text())["entities"]
    name = entities["breed"]["fields"]["name"]
    assert (name["type"], name["values"]) == ("enum", ["Holstein", "Jersey"])
    assert [entities[table]["fields"]["name"]["type"] for table in ("owner", "barn")] == ["string", "string"]
    wrong = command("formula", "1 if breed.name == 'Holstien' else 0", "--reference", out)
    assert "did you mean `'Holstein'`?" in wrong.err
    for example in json.loads(out.read_text())["examples"].values():
        values = {"cow": {"parity": 3}, "breed": {"name": "Jersey"}, "barn": {"built": 1990}}
        done = command("formula", example["formula"], "--reference", out, "--vars", json.dumps(values))
        assert done.status == 0, done.err


def test_views_and_definitions_for_a_table(tmp_path: Path) -> None:
    """A view may be the root where it is named, a broken one does no harm; a definition for a table is one for each entity."""
    url = make_database(
        tmp_path / "x.db",
        "CREATE TABLE drive (id INTEGER PRIMARY KEY, size INTEGER)",
        "CREATE TABLE box (first_id INTEGER REFERENCES drive, second_id INTEGER REFERENCES drive)",
        "CREATE TABLE custom_fields (entity TEXT, key TEXT, type TEXT)",
        "INSERT INTO custom_fields VALUES ('drive', 'speed', 'int')",
        "CREATE VIEW sizes AS SELECT size FROM drive",
        "CREATE VIEW broken AS SELECT gone FROM nowhere",
    )
    published = build_document(reflect_database(url, DatabaseLayout())[0])
    assert list(published["custom_fields"]) == ["first", "second"]
    view = build_document(reflect_database(url, DatabaseLayout(root="sizes"))[0])
    assert list(view["entities"]["sizes"]["fields"]) == ["size"]


# --- names that mean two things

SHOP = "CREATE TABLE shop (id INTEGER PRIMARY KEY, name TEXT NOT NULL, rank INTEGER, shop INTEGER NOT NULL)"
VALUES: dict[str, Any] = {
    "shop": {"rank": 4, "name": "x", "custom_fields": {"rank": 12}},
    "listing": {"shop": 7, "listing": 8, "null": 9, "in": 10, "max": 2, "custom_fields": {"shop": 5, "in": 6}},
    "parent": {"shop": 11, "in": 3},
    "max": None,
}


@pytest.fixture(scope="module")
def clashes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One domain whose names all mean two things, reflected from a database, and as a schema file."""
    folder = tmp_path_factory.mktemp("clashes")
    url = make_database(
        folder / "x.db",
        SHOP,
        "CREATE TABLE listing (id INTEGER PRIMARY KEY, shop INTEGER REFERENCES shop (id), shop_id INTEGER REFERENCES shop, "
        'listing INTEGER, parent_id INTEGER REFERENCES listing (id), "null" INTEGER NOT NULL, "in" INTEGER, '
        '"max" INTEGER NOT NULL, in_id INTEGER REFERENCES shop, max_id INTEGER REFERENCES shop, '
        "listing_id INTEGER REFERENCES listing (id))",
        "CREATE TABLE custom_field_definition (entity TEXT, field_key TEXT, field_type TEXT)",
        "INSERT INTO custom_field_definition VALUES ('listing', 'shop', 'number'), ('listing', 'in', 'number'), "
        "('shop', 'rank', 'number'), ('shop', 'rank', 'string')",
    )
    whole = {"type": "integer", "nullable": True}
    schema: dict[str, Any] = {
        "root": "listing",
        "entities": {
            "listing": {"fields": {"shop": whole, "listing": whole, "null": "integer", "in": whole, "max": "integer"}},
            "shop": {"nullable": True, "fields": {"name": "string", "rank": whole, "shop": "integer"}},
            "parent": {"nullable": True, "fields": {"shop": whole, "in": whole}},
            "max": {"nullable": True, "fields": {"rank": whole}},
        },
        "custom_fields": {
            "listing": [{"field_key": key, "field_type": "number"} for key in ("shop", "in")],
            "shop": [{"field_key": "rank", "field_type": "number"}],
        },
    }
    reflected = command("reference", "--database", url)
    assert reflected.status == 0
    advice = ": name it under `database.entities` of a schema file"
    assert reflected.err.splitlines()[:4] == [
        f"left out: the entity of listing.shop_id → shop, as another entity is called `shop`{advice}",
        f"left out: the entity of listing.in_id → shop, as no formula can name `in`{advice}",
        f"left out: the entity of listing.listing_id → listing, as another entity is called `listing`{advice}",
        "left out: the second definition of shop.custom_fields.rank",
    ]
    published = command("reference", "--schema", write_json(folder / "schema.json", schema))
    hidden = [
        f"hidden: listing.{name}, as `{name}` alone is {meaning}; write it with its prefix"
        for name, meaning in (
            ("shop", "the entity"), ("listing", "the entity"), ("null", "a word of the language"),
            ("in", "a word of the language"), ("max", "the entity"),
        )
    ]  # fmt: skip
    assert published.err.splitlines() == reflected.err.splitlines()[4:] == hidden
    for name, outcome in (("database", reflected), ("published", published)):
        (folder / f"{name}.json").write_text(outcome.out, encoding="utf-8")
    return {name: folder / f"{name}.json" for name in ("database", "published", "schema")}


@pytest.mark.parametrize("source", ["database", "published", "schema"])
def test_names_that_mean_two_things(source: str, clashes: dict[str, Path], tmp_path: Path) -> None:
    """An entity hides the root's field of its name, which its prefix reaches; interpreter and module read both right."""
    reference = load_reference(clashes[source])
    expected = {
        "listing.shop or 0": 7.0, "1 if shop else 0": 1.0, "shop.rank or 0": 4.0, "listing.listing or 0": 8.0,
        "listing.null * 2": 18.0, "listing.in or 0": 10.0, "max(listing.max, 1)": 2.0, "max.rank or 1": 1.0,
        "listing.custom_fields.shop or 0": 5.0, "listing.custom_fields.in or 0": 6.0, "parent.shop or 0": 11.0,
        "parent.in or 0": 3.0, "shop.custom_fields.rank or 0": 12.0, "2 if max else 3": 3.0,
    }  # fmt: skip
    for text, value in expected.items():
        assert compile_formula(text, reference=reference).evaluate(VALUES) == value, text
    rules = write_json(tmp_path / "rules.json", [{"name": f"r{n}", "formula": text} for n, text in enumerate(expected)])
    loaded = require_valid(analyse_rules(rules, reference))
    module: Any = module_from_source(pipeline.compile(loaded, formatted=False), "clashes")
    assert list(module.evaluate(module.parse_record(VALUES)).values()) == list(expected.values())


def test_a_hidden_field_is_never_read_without_its_prefix(clashes: dict[str, Path], tmp_path: Path) -> None:
    """A value under the name alone is the entity's: a number there is refused, not read as null."""
    formula = compile_formula("listing.shop or 0", reference=clashes["schema"])
    rules = write_json(tmp_path / "rules.json", [{"name": "r", "formula": "listing.shop or 0"}])
    loaded = require_valid(analyse_rules(rules, clashes["schema"]))
    module: Any = module_from_source(pipeline.compile(loaded, formatted=False), "hidden")
    for values, value in (({"listing.shop": 3}, 3.0), ({"shop": {"rank": 1}}, 0.0), ({"shop": None}, 0.0)):
        assert formula.evaluate(values) == value
    for read in (formula.evaluate, module.parse_record):
        with pytest.raises((DataError, module.DataError), match=r"^`shop` must be an object or null, not 7$"):
            read({"shop": 7})


@pytest.mark.parametrize("source", ["database", "schema"])
def test_what_a_clash_publishes_is_right(source: str, clashes: dict[str, Path]) -> None:
    """The reference says which fields need their prefix, for people and for models; all that it shows checks."""
    reference = load_reference(clashes[source])
    published = build_document(reference)
    needed = "only with its prefix: listing.shop, listing.listing, listing.null, listing.in, listing.max"
    assert published["entities"]["listing"]["access_pattern"].endswith(f"; {needed}")
    assert f"also without its prefix; {needed}\n" in render_prompt(published)
    assert needed in render_markdown(published)
    check_examples(reference)
    assert build_document(load_reference(published)) == published


def test_an_entity_that_is_always_there_hides_a_field() -> None:
    """A name that is such an entity has no value; the help names the field that it hides."""
    always = {"root": "a", "entities": {"a": {"fields": {"b": "integer"}}, "b": {"fields": {"c": "integer"}}}}
    (diagnostic,) = analyse_formula("b * 2", load_reference(always)).diagnostics
    assert (diagnostic.code, diagnostic.help) == (
        "FS204",
        "name one of its fields, such as `b.c`; the field of `a` is `a.b`",
    )


@pytest.mark.parametrize("name", ["in", "and", "not", "if", "true", "None", "null"])
def test_entities_are_no_words_of_the_language(name: str, tmp_path: Path) -> None:
    """No formula could name such an entity, or would mean a literal: a schema and a database are reported so."""
    assert problems_of({"entities": {name: {"fields": {"x": "integer"}}}})[0] == ["FS206"]
    url = make_database(tmp_path / "x.db", f'CREATE TABLE "{name}" (x INTEGER)')
    with pytest.raises(DataError, match=f"formulas cannot name the table `{name}`"):
        reflect_database(url, DatabaseLayout())


def test_an_entity_that_hides_a_field_is_a_major_change() -> None:
    """Formulas that name the field alone mean something else then."""
    before = {"root": "a", "entities": {"a": {"fields": {"b": "integer"}}}}
    after = {**before, "entities": {**before["entities"], "b": {"fields": {"c": "integer"}}}}  # type: ignore[dict-item]
    old, new = load_reference(before), load_reference(after)
    assert str(compare_references(old, build_document(old), new, build_document(new))) == "major: a.b needs its prefix"


@pytest.mark.parametrize(
    ("statements", "entities", "left_out"),
    [
        (("CREATE TABLE a (id INTEGER PRIMARY KEY, a INTEGER REFERENCES a (id))",), ["a"], ["another entity is called `a`"]),
        (("CREATE TABLE a (id INTEGER PRIMARY KEY, a_id INTEGER REFERENCES a (id))",), ["a"], ["another entity is called `a`"]),
        (("CREATE TABLE a (id INTEGER PRIMARY KEY, mother INTEGER REFERENCES a (id), father_id INTEGER REFERENCES a (id))",),
         ["a", "mother", "father"], []),
        (("CREATE TABLE b (id INTEGER PRIMARY KEY, x INTEGER, a_id INTEGER REFERENCES a (id))",
          "CREATE TABLE a (id INTEGER PRIMARY KEY, b_id INTEGER REFERENCES b (id), c INTEGER REFERENCES b (id))"),
         ["a", "b", "c"], []),
        (("CREATE TABLE b (id INTEGER PRIMARY KEY)",
          "CREATE TABLE a (b INTEGER REFERENCES b (id), FOREIGN KEY (b) REFERENCES b (id))"), ["a", "b"], []),
        (("CREATE TABLE b (x INTEGER, y INTEGER, PRIMARY KEY (x, y))",
          "CREATE TABLE a (p INTEGER, q INTEGER, r INTEGER, FOREIGN KEY (p, q) REFERENCES b (x, y), "
          "FOREIGN KEY (q, r) REFERENCES b (x, y))"), ["a", "b"], ["another entity is called `b`"]),
        (("CREATE TABLE b (id INTEGER PRIMARY KEY)", "CREATE TABLE a (custom_fields INTEGER REFERENCES b (id))",
          "CREATE TABLE custom_field (entity TEXT, key TEXT, type TEXT)",
          "INSERT INTO custom_field VALUES ('a', 'custom_fields', 'int'), ('custom_fields', 'x', 'int')"),
         ["a", "custom_fields"], []),
    ],
    ids=["itself", "itself by id", "two of itself", "a cycle", "one key twice", "two composite keys", "custom_fields"],
)  # fmt: skip
def test_keys_of_every_kind(statements: Any, entities: list[str], left_out: list[str], tmp_path: Path) -> None:
    """Keys to the table itself, two to one table, cycles: each is an entity, or is said to be none, and never lost."""
    reference, dropped = reflect_database(make_database(tmp_path / "x.db", *statements), DatabaseLayout(root="a"))
    published = build_document(reference)
    assert list(published["entities"]) == entities
    assert len(dropped) == len(left_out)
    for reason, message in zip(dropped, left_out, strict=True):
        assert message in reason
    assert build_document(load_reference(published)) == published
    assert render_prompt(published)


@pytest.mark.parametrize(
    ("statements", "layout", "message"),
    [
        ((), DatabaseLayout(), "the database has no tables"),
        (("CREATE TABLE a (x INT)", "CREATE TABLE b (x INT)"), DatabaseLayout(), "which table is the root?"),
        (("CREATE TABLE a (x INT)",), DatabaseLayout(root="b"), "there is no table `b`; there are: a"),
        (('CREATE TABLE "a b" (x INT)',), DatabaseLayout(), "formulas cannot name the table `a b`"),
        (("CREATE TABLE a (x INT)",), DatabaseLayout(custom_table="b"), "there is no table `b`"),
        (("CREATE TABLE a (x INT)", "CREATE TABLE d (k TEXT)"), DatabaseLayout(root="a", custom_table="d"),
         "which column of `d` is the entity of a custom field?"),
        (("CREATE TABLE a (x INT)", "CREATE TABLE d (k TEXT)"),
         DatabaseLayout(root="a", custom_table="d", custom_columns=(("entity", "z"),)), "the table `d` has no column `z`"),
    ],
)  # fmt: skip
def test_databases_that_are_unclear(statements: Any, layout: DatabaseLayout, message: str, tmp_path: Path) -> None:
    """An ambiguous or wrong layout is refused by name."""
    with pytest.raises(DataError, match=re.escape(message)):
        reflect_database(make_database(tmp_path / "x.db", *statements), layout)


def test_databases_that_cannot_be_read(tmp_path: Path) -> None:
    """No URL, no driver, no file, no database: one line each, and nothing is made."""
    (tmp_path / "text.db").write_text("no database at all, whatever it is called" * 100, encoding="utf-8")
    files = [f"sqlite:///{tmp_path}/{name}.db" for name in ("none", "text")]
    for url in ("", "nonsense", "sqlite", "what://host/x", *files):
        done = command("reference", "--database", url)
        assert done.status in (1, 2), url
        assert len(done.err.splitlines()) == 1
    assert not (tmp_path / "none.db").exists()
    with pytest.raises(UnreadableError):
        reflect_database(f"sqlite:///{tmp_path}/text.db", DatabaseLayout())
    secret = command("reference", "--database", "what://user:secret@host/x")
    assert "secret" not in secret.out + secret.err


def test_without_sqlalchemy(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the extra is not installed, the command says what to install."""
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(DataError, match=r"pip install 'formulaseed\[database\]'"):
        reflect_database(f"sqlite:///{DATABASE}", DatabaseLayout())


@pytest.mark.skipif(not POSTGRES, reason="FORMULASEED_POSTGRES_URL names no PostgreSQL server")
def test_postgresql() -> None:
    """The same code reads PostgreSQL: comments, enums of its own, JSON, custom fields."""
    import sqlalchemy

    engine = sqlalchemy.create_engine(POSTGRES)
    schema = f"formulaseed_{os.getpid()}"
    statements = (
        f"CREATE SCHEMA {schema}", f"SET search_path TO {schema}",
        "CREATE TYPE medium AS ENUM ('nvme', 'hdd')",
        "CREATE TABLE cpu (id serial PRIMARY KEY, cores integer, marks double precision NOT NULL)",
        "COMMENT ON TABLE cpu IS 'Processors'", "COMMENT ON COLUMN cpu.cores IS 'Number of cores'",
        "CREATE TABLE listing (id serial PRIMARY KEY, price numeric(10, 2) NOT NULL DEFAULT 1.5, kind medium, "
        "state text NOT NULL DEFAULT 'new', seen timestamptz, extra jsonb, tags text[], "
        "cpu_id integer REFERENCES cpu (id), ok boolean NOT NULL DEFAULT true)",
        "CREATE TABLE custom_field_definition (entity text, field_key text, field_type text, options jsonb, required boolean)",
        "INSERT INTO custom_field_definition VALUES ('cpu', 'grade', 'enum', '[\"a\", \"b\"]', true)",
    )  # fmt: skip
    try:
        with engine.begin() as connection:
            for statement in statements:
                connection.execute(sqlalchemy.text(statement))
        reference, dropped = reflect_database(POSTGRES, DatabaseLayout(schema=schema))
        published = build_document(reference)
    finally:
        with engine.begin() as connection:
            connection.execute(sqlalchemy.text(f"DROP SCHEMA IF EXISTS {schema} CASCADE"))
        engine.dispose()
    assert dropped == ()
    fields = published["entities"]["listing"]["fields"]
    assert {name: field["type"] for name, field in fields.items()} == {
        "price": "float", "kind": "enum", "state": "string", "seen": "datetime", "extra": "json", "tags": "json",
        "cpu_id": "integer", "ok": "boolean",
    }  # fmt: skip
    assert (fields["kind"]["enum_type"], fields["kind"]["values"]) == ("Medium", ["nvme", "hdd"])
    assert fields["state"]["default"] == "new"
    assert (fields["price"]["default"], fields["ok"]["default"]) == (1.5, True)
    assert published["entities"]["cpu"]["description"] == "Processors"
    assert published["entities"]["cpu"]["fields"]["cores"]["description"] == "Number of cores"
    assert published["custom_fields"]["cpu"][0]["options"] == ["a", "b"]


# --- versions


def replace_at(document: dict[str, Any], *path: str, to: object = None) -> dict[str, Any]:
    """A copy with the value at a path replaced, or removed."""
    copy = deepcopy(document)
    inner: Any = copy
    for key in path[:-1]:
        inner = inner[key]
    if to is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = to
    return copy


FIELD = {"type": "integer", "description": "", "nullable": False, "example": "cpu.new"}


@pytest.mark.parametrize(
    ("path", "to", "kind", "version"),
    [
        (("description",), "other words", "patch", "1.0.1"),
        (("entities", "cpu", "fields", "cores", "description"), "Cores", "patch", "1.0.1"),
        (("examples", "per_unit"), None, "patch", "1.0.1"),
        (("entities", "cpu", "fields", "new"), FIELD, "minor", "1.1.0"),
        (("entities", "extra"), {"description": "", "nullable": True, "fields": {}}, "minor", "1.1.0"),
        (("enums", "Condition", "values"), ["new", "refurb", "used", "old"], "patch", "1.0.1"),
        (("entities", "listing", "fields", "condition", "values"), ["new", "refurb", "used", "old"], "minor", "1.1.0"),
        (("entities", "cpu", "fields", "cores", "nullable"), False, "patch", "1.0.1"),
        (("entities", "listing", "fields", "seller", "nullable"), False, "minor", "1.1.0"),
        (("entities", "listing", "fields", "ram_gb", "nullable"), True, "major", "2.0.0"),
        (("entities", "cpu", "fields", "cores"), None, "major", "2.0.0"),
        (("entities", "cpu", "fields", "cores", "type"), "string", "major", "2.0.0"),
        (("entities", "listing", "fields", "condition", "values"), ["new", "used"], "major", "2.0.0"),
        (("entities", "gpu"), None, "major", "2.0.0"),
        (("custom_fields", "cpu"), None, "major", "2.0.0"),
        (("custom_fields", "listing"), [], "major", "2.0.0"),
    ],
)
def test_versions(path: Any, to: object, kind: str, version: str, document: dict[str, Any]) -> None:
    """A reworded reference gets a patch, one with something new a minor, one that may break a formula a major version."""
    after = load_reference(replace_at(document, *path, to=to))
    change = compare_references(load_reference(document), document, after, build_document(after))
    assert (change.kind, next_version("1.0.0", change.kind)) == (kind, version)
    assert change.reasons


def test_functions_count_too(document: dict[str, Any]) -> None:
    """A function or operator that the file does not have yet is new; one that is gone breaks formulas."""
    reference = load_reference(document)
    fewer = replace_at(replace_at(document, "functions", "log"), "operators", "comparison", "in")
    assert compare_references(reference, fewer, reference, document).reasons == ("in added", "log added")
    more = replace_at(document, "functions", "median", to={"signature": "median(a)"})
    assert str(compare_references(reference, more, reference, document)) == "major: median removed"


def test_out_writes_versions(tmp_path: Path) -> None:
    """--out writes a first version, leaves a current file alone, and says what has changed; --check only says it."""
    schema, out = tmp_path / "schema.json", tmp_path / "out" / "reference.json"
    arguments = ("reference", "--schema", write_json(schema, SCHEMA), "--out", out)
    missing = command(*arguments, "--check")
    assert (missing.status, missing.out) == (1, f"{out}: missing; run the command without --check\n")
    assert command(*arguments).out == f"{out}: version 1.0.0\n"
    written = out.read_bytes()
    assert command(*arguments).out == f"{out}: current, version 1.0.0\n"
    assert command(*arguments, "--generated-at").out == f"{out}: current, version 1.0.0\n"
    assert out.read_bytes() == written
    write_json(schema, replace_at(SCHEMA, "entities", "owner", "fields", "age"))
    stale = command(*arguments, "--check")
    assert (stale.status, stale.out) == (1, f"{out}: stale, 1.0.0 is to become 2.0.0 (major: owner.age removed)\n")
    assert out.read_bytes() == written
    assert command(*arguments).out == f"{out}: 1.0.0 became 2.0.0 (major: owner.age removed)\n"
    write_json(schema, replace_at(SCHEMA, "entities", "shop", "fields", "size", to="integer"))
    assert command(*arguments).out == f"{out}: 2.0.0 became 2.1.0 (minor: owner.age added, shop.size added)\n"


def test_out_keeps_what_is_no_reference(tmp_path: Path) -> None:
    """A file that holds something else is not overwritten."""
    other = write_json(tmp_path / "notes.json", {"notes": ["mine"]})
    before = other.read_bytes()
    done = command("reference", "--out", other)
    assert done.status == 1
    assert "the formula reference has no `entities`" in done.err
    assert other.read_bytes() == before


# --- for people and for models


def test_markdown(tmp_path: Path) -> None:
    """A table for each entity, in which nothing that the reference says is markup."""
    text = command("reference", "--schema", write_json(tmp_path / "s.json", SCHEMA), "--format", "markdown").out
    assert "| `owner.age` | integer | Age \\| in years |" in text
    assert "| `clamp(value, low, high)` |" in text
    assert text.count("\n# ") == 0
    assert text.startswith("# Formula reference\n")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert all(line.endswith("|") for line in rows)
    out = tmp_path / "reference.md"
    arguments = ("reference", "--schema", tmp_path / "s.json", "--format", "markdown", "--out", out)
    assert command(*arguments, "--check").status == 1
    assert command(*arguments).status == 0
    assert command(*arguments, "--check").status == 0
    assert out.read_text(encoding="utf-8") == text


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


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([], ["FS503"]),
        ({}, ["FS502"]),
        ({"entities": []}, ["FS503"]),
        ({"entities": {"a": 5}}, ["FS503"]),
        ({"entities": {"a": {}}}, ["FS502"]),
        ({"entities": {"a": {"fields": []}}}, ["FS503"]),
        ({"entities": {"a": {"fields": {"x": 5}}}}, ["FS503"]),
        ({"entities": {"a": {"fields": {"x": {}}}}}, ["FS502"]),
        ({"entities": {"a": {"fields": {"x": "text"}}}}, ["FS509"]),
        ({"entities": {"a": {"fields": {"x y": "integer"}}}}, ["FS206"]),
        ({"entities": {"a b": {"fields": {}}}}, ["FS206"]),
        ({"entities": {"a": {"fields": {}, "feilds": {}}}}, ["FS501"]),
        ({"entities": {"a": {"fields": {"x": {"type": "enum", "values": [1]}}}}}, ["FS503"]),
        ({"entities": {"a": {"fields": {}, "nullable": "yes"}}}, ["FS503"]),
        ({"entities": {"a": {"fields": {}}}, "root": "b"}, ["FS201"]),
        ({"entities": {"a": {"fields": {}}}, "custom_fields": {"b": []}}, ["FS201"]),
        ({"entities": {"a": {"fields": {}}}, "custom_fields": {"a": [{}]}}, ["FS502", "FS502"]),
        ({"entities": {"a": {"fields": {}}}, "custom_fields": {"a": [{"field_key": "x", "field_type": "number"}] * 2}},
         ["FS203"]),
        ({"entities": {"a": {"fields": {}}}, "version": "one"}, ["FS509"]),
        ({"entities": {"a": {"fields": {}}}, "enums": {"E": {}}}, ["FS502"]),
        ({"entities": {"a": {"fields": {}}}, "examples": {"e": {}}}, ["FS502"]),
        ({"entities": {"a": {"fields": {}}}, "extra": 1}, ["FS501"]),
        ({"entities": {"a": {"fields": {}}}, "database": {"tables": 1}}, ["FS501"]),
        ({"entities": {f"e{n}": {"fields": {}} for n in range(501)}}, ["FS510"]),
        ({"entities": {"a": {"fields": {f"f{n}": "integer" for n in range(20_001)}}}}, ["FS510"]),
    ],
    ids=lambda value: json.dumps(value)[:60],
)  # fmt: skip
def test_references_that_are_wrong(value: object, expected: list[str]) -> None:
    """Every deviation from the format is reported."""
    assert problems_of(value)[0] == expected


def test_checking_a_reference(tmp_path: Path) -> None:
    """`check` reads a reference too, and the formulas that it shows; there is nothing in it to compile."""
    ours = json.loads(command("check", REFERENCE, "--format", "json").out)
    assert {(d["code"], d["severity"]) for d in ours} == {("FS305", "warning")}
    examples = {
        "examples": {"e": {"formula": "prize * 2"}},
        "syntax_patterns": {"p": {"examples": ["owner.age", "1 +"]}},
    }
    path = write_json(tmp_path / "reference.json", {**SCHEMA, **examples, "extra": 1})
    reported = json.loads(command("check", path, "--format", "json").out)
    assert [(d["code"], d["pointer"]) for d in reported] == [
        ("FS204", "/examples/e/formula"),
        ("FS305", "/syntax_patterns/p/examples/0"),
        ("FS102", "/syntax_patterns/p/examples/1"),
        ("FS501", "/extra"),
    ]
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
    codes, reference = problems_of(value)
    assert "FS901" not in codes
    if reference is not None and not codes:
        published = build_document(reference)
        assert json.loads(format_document(published)) == published
        assert render_prompt(published)
        for text in ("ram_gb * 2", "cpu.cores if cpu else 0", "condition == 'new'"):
            assert "FS901" not in {d.code for d in analyse_formula(text, reference).diagnostics}


def test_a_broken_reference_is_reported_instead_of_the_formula(tmp_path: Path) -> None:
    """A formula over a reference with errors gets the reference's diagnostics."""
    path = write_json(tmp_path / "reference.json", {"entities": {"a": {"fields": {"x": "whole"}}}})
    done = command("formula", "x + 1", "--reference", path)
    assert (done.status, done.out) == (1, "")
    assert "error[FS509]" in done.err
    with pytest.raises(SeedError):
        load_reference(path)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--check"], ["seed.json", "--schema", "x.json"], ["--root", "a"], ["--format", "yaml"],
        ["--schema", "none.json"], ["none.json"],
    ],
)  # fmt: skip
def test_wrong_usage(arguments: list[str]) -> None:
    """Options that do not go together, and files that are not there, are reported with status 2."""
    assert command("reference", *arguments).status == 2
