"""Where formula references come from: databases, schema files, the restaurant; and names in them that mean two things."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest
from formulaseed import compile_formula, pipeline
from formulaseed.documents import analyse_formula, analyse_rules, load_reference
from formulaseed.errors import DataError, UnreadableError
from formulaseed.pipeline import require_valid
from formulaseed.reference.database import reflect_database
from formulaseed.reference.document import build_document, compare_references
from formulaseed.reference.model import DatabaseLayout
from formulaseed.reference.rendering import render_markdown, render_prompt
from formulaseed.runtime.loading import module_from_source
from helpers import EXAMPLES, TASKS, command, write_json
from test_formula_reference import SCHEMA, check_examples, read_reference, replace_at

DATABASE = EXAMPLES / "listing.db"
DATABASES = Path(__file__).parent / "databases"
POSTGRES = os.environ.get("FORMULASEED_POSTGRES_URL", "")


def test_the_example_database_is_made_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """examples/make_listing.py writes the bytes that are committed."""
    monkeypatch.syspath_prepend(EXAMPLES)
    import make_listing

    copy = tmp_path / "listing.db"
    make_listing.make(copy)
    dumps = []
    for path in (DATABASE, copy):
        with contextlib.closing(sqlite3.connect(path)) as db:
            dumps.append(list(db.iterdump()))
    assert dumps[0] == dumps[1]
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


ID = "id INTEGER PRIMARY KEY"


ID = "id INTEGER PRIMARY KEY"


def make_database(path: Path, *statements: str) -> str:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(";".join(statements))
    return f"sqlite:///{path}"


def read_statements(name: str) -> str:
    return (DATABASES / f"{name}.sql").read_text(encoding="utf-8")


def test_a_database_of_another_domain(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """Tables, types, checks, keys and definitions that are called otherwise, mapped by a schema file."""
    url = make_database(tmp_path / "farm.db", read_statements("farm"))
    done = command("reference", "--database", url, "--schema", DATABASES / "farm.json")
    published = json.loads(done.out)
    sections = {name: published[name] for name in ("description", "entities", "custom_fields", "enums")}
    path = DATABASES / "farm_published.json"
    if pytestconfig.getoption("--update-cases"):
        write_json(path, {**sections, "messages": done.err.splitlines()})
    assert {**sections, "messages": done.err.splitlines()} == json.loads(path.read_text(encoding="utf-8"))
    assert done.status == 0


def test_a_foreign_key_to_a_table_that_there_is_not(tmp_path: Path) -> None:
    """Its entity is left out by name, and the rest of the database is read: SQLite lets tables be dropped."""
    statement = "CREATE TABLE item (id INTEGER PRIMARY KEY, n INTEGER, a_id REFERENCES gone)"
    done = command("reference", "--database", make_database(tmp_path / "x.db", statement))
    assert done.status == 0
    assert list(json.loads(done.out)["entities"]) == ["item"]
    assert done.err == "left out: the entity of item.a_id → gone, as there is no table `gone`\n"


def test_a_lookup_table_is_an_enum(tmp_path: Path) -> None:
    """The names in a table of ids and names are the values of an enum; a longer table, or one with more columns, is data."""
    out, url = tmp_path / "reference.json", make_database(tmp_path / "herds.db", read_statements("herds"))
    assert command("reference", "--database", url, "--out", out).status == 0
    published = json.loads(out.read_text())
    names = {table: published["entities"][table]["fields"]["name"] for table in ("breed", "owner", "barn")}
    assert {table: name["type"] for table, name in names.items()} == {
        "breed": "enum",
        "owner": "string",
        "barn": "string",
    }
    assert names["breed"]["values"] == ["Holstein", "Jersey"]
    wrong = command("formula", "1 if breed.name == 'Holstien' else 0", "--reference", out)
    assert "did you mean `'Holstein'`?" in wrong.err
    values = json.dumps({"cow": {"parity": 3}, "breed": {"name": "Jersey"}, "barn": {"built": 1990}})
    for example in published["examples"].values():
        done = command("formula", example["formula"], "--reference", out, "--vars", values)
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

VALUES: dict[str, Any] = {
    "shop": {"rank": 4, "name": "x", "custom_fields": {"rank": 12}},
    "listing": {"shop": 7, "listing": 8, "null": 9, "in": 10, "max": 2, "custom_fields": {"shop": 5, "in": 6}},
    "parent": {"shop": 11, "in": 3},
    "max": None,
}


HIDING: dict[str, Any] = {
    "root": "a", "entities": {"a": {"fields": {"b": "integer"}}, "b": {"fields": {"c": "integer"}}},
}  # fmt: skip


@pytest.fixture(scope="module")
def clashes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One domain whose names all mean two things, reflected from a database, and as a schema file."""
    folder, schema = tmp_path_factory.mktemp("clashes"), DATABASES / "clashes.json"
    reflected = command("reference", "--database", make_database(folder / "clashes.db", read_statements("clashes")))
    assert reflected.status == 0
    advice = ": name it under `database.entities` of a schema file"
    assert reflected.err.splitlines()[:4] == [
        f"left out: the entity of listing.shop_id → shop, as another entity is called `shop`{advice}",
        f"left out: the entity of listing.in_id → shop, as no formula can name `in`{advice}",
        f"left out: the entity of listing.listing_id → listing, as another entity is called `listing`{advice}",
        "left out: the second definition of shop.custom_fields.rank",
    ]
    published = command("reference", "--schema", schema)
    entity, word = "the entity", "a word of the language"
    meanings = {"shop": entity, "listing": entity, "null": word, "in": word, "max": entity}
    assert published.err.splitlines() == reflected.err.splitlines()[4:]
    assert published.err.splitlines() == [
        f"hidden: listing.{name}, as `{name}` alone is {meaning}; write it with its prefix"
        for name, meaning in meanings.items()
    ]
    paths = {"database": folder / "database.json", "published": folder / "published.json"}
    for path, outcome in zip(paths.values(), (reflected, published), strict=True):
        path.write_text(outcome.out, encoding="utf-8")
    return {**paths, "schema": schema}


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
    module = compile_formulas(tmp_path, reference, *expected)
    assert list(module.evaluate(module.parse_record(VALUES)).values()) == list(expected.values())


def compile_formulas(folder: Path, reference: Any, *formulas: str) -> Any:
    """The module of formulas as rules."""
    rules = [{"name": f"r{number}", "formula": text} for number, text in enumerate(formulas)]
    loaded = require_valid(analyse_rules(write_json(folder / "rules.json", rules), reference))
    return module_from_source(pipeline.compile(loaded, formatted=False), "rules")


def test_a_hidden_field_is_never_read_without_its_prefix(clashes: dict[str, Path], tmp_path: Path) -> None:
    """A value under the name alone is the entity's: a number there is refused, not read as null."""
    formula = compile_formula("listing.shop or 0", reference=clashes["schema"])
    module = compile_formulas(tmp_path, clashes["schema"], "listing.shop or 0")
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
    (fault,) = analyse_formula("b * 2", load_reference(HIDING)).diagnostics
    assert (fault.code, fault.help) == ("FS204", "name one of its fields, such as `b.c`; the field of `a` is `a.b`")


@pytest.mark.parametrize("name", ["in", "and", "not", "if", "true", "None", "null"])
def test_entities_are_no_words_of_the_language(name: str, tmp_path: Path) -> None:
    """No formula could name such an entity, or would mean a literal: a schema and a database are reported so."""
    assert [fault.code for fault in read_reference({"entities": {name: {"fields": {"x": "integer"}}}})[0]] == ["FS206"]
    url = make_database(tmp_path / "x.db", f'CREATE TABLE "{name}" (x INTEGER)')
    with pytest.raises(DataError, match=f"formulas cannot name the table `{name}`"):
        reflect_database(url, DatabaseLayout())


def test_an_entity_that_hides_a_field_is_a_major_change() -> None:
    """Formulas that name the field alone mean something else then."""
    old, new = load_reference(replace_at(HIDING, "entities/b")), load_reference(HIDING)
    assert str(compare_references(old, build_document(old), new, build_document(new))) == "major: a.b needs its prefix"


@pytest.mark.parametrize(
    ("statements", "entities", "left_out"),
    [
        ([f"CREATE TABLE a ({ID}, a INTEGER REFERENCES a (id))"], "a", ["another entity is called `a`"]),
        ([f"CREATE TABLE a ({ID}, a_id INTEGER REFERENCES a (id))"], "a", ["another entity is called `a`"]),
        ([f"CREATE TABLE a ({ID}, mother INTEGER REFERENCES a (id), father_id INTEGER REFERENCES a (id))"],
         "a mother father", []),
        ([f"CREATE TABLE b ({ID}, x INTEGER, a_id INTEGER REFERENCES a (id))",
          f"CREATE TABLE a ({ID}, b_id INTEGER REFERENCES b (id), c INTEGER REFERENCES b (id))"], "a b c", []),
        ([f"CREATE TABLE b ({ID})", "CREATE TABLE a (b INTEGER REFERENCES b (id), FOREIGN KEY (b) REFERENCES b (id))"],
         "a b", []),
        (["CREATE TABLE b (x INTEGER, y INTEGER, PRIMARY KEY (x, y))",
          "CREATE TABLE a (p INTEGER, q INTEGER, r INTEGER, FOREIGN KEY (p, q) REFERENCES b (x, y), "
          "FOREIGN KEY (q, r) REFERENCES b (x, y))"], "a b", ["another entity is called `b`"]),
        ([f"CREATE TABLE b ({ID})", "CREATE TABLE a (custom_fields INTEGER REFERENCES b (id))",
          "CREATE TABLE custom_field (entity TEXT, key TEXT, type TEXT)",
          "INSERT INTO custom_field VALUES ('a', 'custom_fields', 'int'), ('custom_fields', 'x', 'int')"],
         "a custom_fields", []),
    ],
    ids=["itself", "itself by id", "two of itself", "a cycle", "one key twice", "two composite keys", "custom_fields"],
)  # fmt: skip
def test_keys_of_every_kind(statements: list[str], entities: str, left_out: list[str], tmp_path: Path) -> None:
    """Keys to the table itself, two to one table, cycles: each is an entity, or is said to be none, and never lost."""
    reference, dropped = reflect_database(make_database(tmp_path / "x.db", *statements), DatabaseLayout(root="a"))
    published = build_document(reference)
    assert list(published["entities"]) == entities.split()
    assert [message in reason for reason, message in zip(dropped, left_out, strict=True)] == [True] * len(left_out)
    assert build_document(load_reference(published)) == published
    assert render_prompt(published)


@pytest.mark.parametrize(
    ("tables", "layout", "message"),
    [
        ([], {}, "the database has no tables"), (["a (x INT)", "b (x INT)"], {}, "which table is the root?"),
        (["a (x INT)"], {"root": "b"}, "there is no table `b`; there are: a"),
        (['"a b" (x INT)'], {}, "formulas cannot name the table `a b`"),
        (["a (x INT)"], {"custom_table": "b"}, "there is no table `b`"),
        (["a (x INT)", "d (k TEXT)"], {"root": "a", "custom_table": "d"},
         "which column of `d` is the entity of a custom field?"),
        (["a (x INT)", "d (k TEXT)"], {"root": "a", "custom_table": "d", "custom_columns": (("entity", "z"),)},
         "the table `d` has no column `z`"),
    ],
)  # fmt: skip
def test_databases_that_are_unclear(tables: list[str], layout: Any, message: str, tmp_path: Path) -> None:
    """An ambiguous or wrong layout is refused by name."""
    url = make_database(tmp_path / "x.db", *(f"CREATE TABLE {table}" for table in tables))
    with pytest.raises(DataError, match=re.escape(message)):
        reflect_database(url, DatabaseLayout(**layout))


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
    try:
        with engine.begin() as connection:
            prepare = (f"CREATE SCHEMA {schema}", f"SET search_path TO {schema}")
            for statement in (*prepare, *read_statements("postgresql").split(";\n")):
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
    assert [fields[name].get("default") for name in ("state", "price", "ok")] == ["new", 1.5, True]
    cpu = published["entities"]["cpu"]
    assert (cpu["description"], cpu["fields"]["cores"]["description"]) == ("Processors", "Number of cores")
    assert published["custom_fields"]["cpu"][0]["options"] == ["a", "b"]
