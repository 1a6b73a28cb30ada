"""Reflect a live database into a reference: its root table and related tables are entities, and a table defines custom fields.

In: a URL, and what is known of the layout. Out: a reference, and what had to be left out. Only reads. No other module uses
SQLAlchemy, which is imported when a database is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formulaseed.errors import DataError, UnreadableError, require_extra
from formulaseed.language.ast import RESERVED_WORDS, is_name
from formulaseed.reference import custom_fields
from formulaseed.reference.model import DatabaseLayout, Entity, EntityField, EnumType, Json, Reference
from formulaseed.source.printing import printable

if TYPE_CHECKING:
    from sqlalchemy import Connection, Inspector

_QUOTED_DEFAULT = re.compile(r"\(*'((?:[^']|'')*)'(?:::[\w \[\]\"]+)?\)*")
_COLUMN_COMMENT = re.compile(r"^\s*[\"`\[]?(\w+)[\"`\]]?\s[^\n]*?--[ \t]*(.*?)\s*$", re.MULTILINE)
_TABLE_COMMENT = re.compile(r"\([ \t]*--[ \t]*(.*?)\s*$", re.MULTILINE)
_LOCAL_KEY = re.compile(r"_id$|_key$")
_MAX_LOOKUP_ROWS = 50  # a table of ids and names with more rows is data, not a list of possible values
_NAMING_HINT = ": name it under `database.entities` of a schema file"


def reflect_database(url: str, layout: DatabaseLayout) -> tuple[Reference, tuple[str, ...]]:
    """Return the reference of a database, and a description of each part that was left out, with the reason.

    Columns and foreign keys are left out if no formula can write their names, or if their names clash. Raises
    `UnreadableError` if the database cannot be opened or read or its URL cannot be printed, `MissingExtraError` without
    SQLAlchemy, and `DataError` if the URL is invalid, a driver is missing or the layout is unclear.
    """
    with require_extra("database", "reading a database"):
        import sqlalchemy
        from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
    if not url.isprintable():
        raise UnreadableError(f"cannot read {printable(url)}: its name holds what cannot be printed")
    try:
        parsed = sqlalchemy.make_url(url)
    except ArgumentError:
        raise DataError("this is no database URL; write it like sqlite:///data.db or postgresql://host/name") from None
    safe_url = parsed.render_as_string(hide_password=True)
    path = parsed.database
    is_file = parsed.get_backend_name() == "sqlite" and path and path != ":memory:" and not path.startswith("file:")
    if path and is_file and not Path(path).is_file():  # SQLite would create an empty database
        raise UnreadableError(f"cannot read {path}: No such file or directory")
    try:
        engine = sqlalchemy.create_engine(parsed)
        try:
            with engine.connect() as connection:
                inspector = sqlalchemy.inspect(connection)
                return _Reflection(connection, inspector, layout, layout.schema or None).build_reference()
        finally:
            engine.dispose()
    except (ModuleNotFoundError, NoSuchModuleError) as error:
        raise DataError(f"there is no driver for {safe_url}: {_first_line(error)}") from None
    except (SQLAlchemyError, ValueError, OverflowError) as error:
        raise UnreadableError(f"cannot read {safe_url}: {_first_line(error)}") from None


def _first_line(error: BaseException) -> str:
    """Return the first line of the message of a driver's error; the name of its class if it has none."""
    cause = getattr(error, "orig", None) or error
    return (str(cause).strip().splitlines() or [type(cause).__name__])[0]


@dataclass
class _Reflection:
    """The reflection of one database. `left_out` collects the parts that cannot be in the reference, with the reasons."""

    connection: Connection
    inspector: Inspector
    layout: DatabaseLayout
    schema: str | None
    left_out: list[str] = field(default_factory=list)
    enums: dict[str, EnumType] = field(default_factory=dict)

    def build_reference(self) -> tuple[Reference, tuple[str, ...]]:
        """Read the whole database; return its reference and what was left out. Raises `DataError` if the layout is unclear."""
        tables = sorted(self.inspector.get_table_names(self.schema))
        views = sorted(self.inspector.get_view_names(self.schema))
        definition_table = custom_fields.find_definition_table([*tables, *views], self.read_columns, self.layout)
        root = self.choose_root([table for table in tables if table != definition_table], views)
        about = f"Primary {_words(root).lower()} entity (root context)"
        entities = [self.read_entity(root, root, about, nullable=False, is_root=True)]
        names_by_table = {root: [root]}
        for name, table, nullable in self.read_related_entities(root, self.read_columns(root)):
            names_by_table.setdefault(table, []).append(name)
            about = f"{_title_case(name)} entity (foreign key relationship from {root})"
            entities.append(self.read_entity(name, table, about, nullable=nullable))
        if definition_table:
            rows = self.read_definitions(definition_table, list(self.read_columns(definition_table)))
            entities = custom_fields.add_custom_fields(entities, rows, names_by_table, self.left_out)
        description = f"What formulas over {root} may say: its fields, operators, functions and syntax."
        reference = Reference(tuple(entities), root, description=description, enums=tuple(self.enums.values()))
        return reference, tuple(dict.fromkeys(self.left_out))

    def read_columns(self, table: str) -> dict[str, Any]:
        """Return the reflected columns of a table by name."""
        return {column["name"]: column for column in self.inspector.get_columns(table, self.schema)}

    def choose_root(self, tables: list[str], views: list[str]) -> str:
        """Return the table or view that the layout names, or else the table with the most foreign keys.

        Raises `DataError` if there is no such table, several have the most keys, or formulas cannot write its name.
        """
        if not tables:
            raise DataError("the database has no tables")
        root = self.layout.root
        if root:
            custom_fields.refuse_unknown_table(root, [*tables, *views])
        else:
            keys = {table: len(self.inspector.get_foreign_keys(table, self.schema)) for table in tables}
            candidates = [table for table in tables if keys[table] == max(keys.values())]
            if len(candidates) > 1:
                names = ", ".join(candidates[: custom_fields.MAX_LISTED_NAMES])
                raise DataError(f"which table is the root? name it with --root: {names}")
            root = candidates[0]
        if not _can_name_entity(root):
            message = f"formulas cannot name the table `{root}`: use letters, digits and `_`, and no word of theirs"
            raise DataError(message)
        return root

    def read_related_entities(self, root: str, columns: Mapping[str, Any]) -> Iterator[tuple[str, str, bool]]:
        """Yield the name, the table and the nullability of each entity that a foreign key of the root leads to.

        They are in the order of the columns. A name in the layout is preferred to one made from the column. An entity
        that cannot be in the reference is added to `left_out` instead.
        """
        names_by_column = dict(self.layout.entities)
        places_by_name = {root: ""}
        order = {column: place for place, column in enumerate(columns)}
        keys = self.inspector.get_foreign_keys(root, self.schema)
        for key in sorted(keys, key=lambda key: [order.get(column, 0) for column in key["constrained_columns"]]):
            local = key["constrained_columns"]
            table = key["referred_table"]
            place = f"the entity of {root}.{', '.join(local)} → {table}"
            if key.get("referred_schema") not in (None, self.schema) or any(column not in columns for column in local):
                self.left_out.append(f"{place}, which is in another schema")
                continue
            if not self.inspector.has_table(table, self.schema):
                self.left_out.append(f"{place}, as there is no table `{table}`")
                continue
            default_name = _LOCAL_KEY.sub("", local[0]) if len(local) == 1 else table
            name = names_by_column.get(local[0]) or default_name
            if not _can_name_entity(name):
                self.left_out.append(f"{place}, as no formula can name `{name}`{_NAMING_HINT}")
            elif name not in places_by_name:
                places_by_name[name] = place
                yield name, table, any(bool(columns[column].get("nullable", True)) for column in local)
            elif places_by_name[name] != place:  # a key that is declared twice is not a clash
                self.left_out.append(f"{place}, as another entity is called `{name}`{_NAMING_HINT}")

    # --- one table

    def read_entity(self, name: str, table: str, description: str, *, nullable: bool, is_root: bool = False) -> Entity:
        """Return a table as an entity, without its primary key if that is one column, and without excluded columns.

        `nullable` says that the entity may be missing. A column that formulas cannot name is added to `left_out`.
        `description` is used if the table has no comment. The names of a lookup table become an enum, unless it is
        the root.
        """
        table_comment, comments = self.read_comments(table)
        keys = self.inspector.get_pk_constraint(table, self.schema).get("constrained_columns") or []
        excluded = {column.removeprefix(f"{table}.") for column in self.layout.exclude}
        if len(keys) == 1:
            excluded |= set(keys)
        fields: list[EntityField] = []
        columns = self.read_columns(table)
        names = {} if is_root else self.read_lookup_names(table, columns, keys)
        for column, reflected in columns.items():
            if column in excluded:
                continue
            if not is_name(column):
                self.left_out.append(f"{name}.{column}, which no formula can name")
                continue
            about = reflected.get("comment") or comments.get(column) or _title_case(column)
            fields.append(self.read_field(table, column, reflected, str(about), names.get(column, ())))
        return Entity(name, table_comment or description, nullable, fields=tuple(fields))

    def read_field(
        self, table: str, column: str, reflected: Any, about: str, looked_up_names: tuple[str, ...]
    ) -> EntityField:
        """Return a column as a field; an enum of `looked_up_names` if there are any. Registers the enum of the field."""
        kind = _find_field_kind(reflected["type"])
        values = looked_up_names or tuple(getattr(reflected["type"], "enums", None) or ())
        name = ""
        if kind == "enum" or looked_up_names:
            kind = "enum"
            name = self.register_enum(table, column, str(getattr(reflected["type"], "name", None) or ""), values, about)
        nullable = bool(reflected.get("nullable", True))
        return EntityField(column, kind, about, nullable, name, values, _parse_default(reflected.get("default"), kind))

    def register_enum(self, table: str, column: str, type_name: str, values: tuple[str, ...], about: str) -> str:
        """Add an enum to `enums`, and return its name; empty if every possible name has other values already.

        The name is that of the database's type if it is capitalized, or else made of the names of the type, column and table.
        """
        proper_name = type_name if type_name[:1].isupper() else ""
        for name in (proper_name, _camel_case(type_name or column), _camel_case(f"{table}_{column}")):
            if name and self.enums.setdefault(name, EnumType(name, about, values)).values == values:
                return name
        return ""

    def read_lookup_names(
        self, table: str, columns: Mapping[str, Any], keys: Sequence[str]
    ) -> dict[str, tuple[str, ...]]:
        """Return the name column of a lookup table with its names, in the order of the ids.

        A lookup table has an id, a string column without duplicates or nulls, and at most `_MAX_LOOKUP_ROWS` rows.
        Returns an empty mapping for any other table.
        """
        names = [column for column in columns if column not in keys]
        if len(keys) != 1 or len(names) != 1 or _find_field_kind(columns[names[0]]["type"]) != "string":
            return {}
        import sqlalchemy

        key: Any = sqlalchemy.column(keys[0])
        source = sqlalchemy.table(table, schema=self.schema)
        query: Any = sqlalchemy.select(sqlalchemy.column(names[0])).select_from(source).order_by(key)
        rows = self.connection.execute(query.limit(_MAX_LOOKUP_ROWS + 1)).scalars().all()
        values = tuple(dict.fromkeys(row for row in rows if isinstance(row, str) and row))
        if not 0 < len(values) == len(rows) <= _MAX_LOOKUP_ROWS:
            return {}
        return {names[0]: values}

    def read_comments(self, table: str) -> tuple[str, dict[str, str]]:
        """Return the comment of a table, empty if it has none, and the comments of its columns that are not reflected.

        SQLite stores no comments, so those in the text of the table's definition are read.
        """
        if self.connection.dialect.name != "sqlite":
            try:
                return self.inspector.get_table_comment(table, self.schema).get("text") or "", {}
            except NotImplementedError:  # SQLAlchemy does not support comments for this kind of database
                return "", {}
        import sqlalchemy

        query = sqlalchemy.text("SELECT sql FROM sqlite_master WHERE name = :name")
        definition = str(self.connection.execute(query, {"name": table}).scalar() or "")
        head, _, rest = definition.partition("\n")
        comment = _TABLE_COMMENT.search(head)
        return (comment[1] if comment else ""), dict(_COLUMN_COMMENT.findall(rest))

    def read_definitions(self, table: str, columns: list[str]) -> list[dict[str, Any]]:
        """Return the rows that define custom fields, keyed by meaning and sorted by entity and key.

        Raises `DataError` if the table lacks a column that the layout names, or one that is required.
        """
        import sqlalchemy

        columns_by_meaning = custom_fields.map_definition_columns(columns, self.layout)
        for column in columns_by_meaning.values():
            if column not in columns:
                names = ", ".join(columns[: custom_fields.MAX_LISTED_NAMES])
                raise DataError(f"the table `{table}` has no column `{column}`; it has: {names}")
        for meaning in ("entity", "key", "type"):
            if meaning not in columns_by_meaning:
                message = f"which column of `{table}` is the {meaning} of a custom field? map it in the schema file"
                raise DataError(message)
        labels: list[Any] = [sqlalchemy.column(column).label(meaning) for meaning, column in columns_by_meaning.items()]
        query = sqlalchemy.select(*labels).select_from(sqlalchemy.table(table, schema=self.schema))
        rows = self.connection.execute(query).mappings().all()
        return sorted((dict(row) for row in rows), key=lambda row: (str(row["entity"]), str(row["key"])))


def _can_name_entity(name: str) -> bool:
    """Return True if formulas can write `name` as the name of an entity."""
    return is_name(name) and name not in RESERVED_WORDS


def _find_field_kind(ty: object) -> str:
    """Return the type of a field for an SQLAlchemy type; `json`, which formulas cannot read, for an unknown type."""
    from sqlalchemy import types

    kinds: tuple[tuple[type | tuple[type, ...], str], ...] = (
        (types.Boolean, "boolean"), (types.Enum, "enum"), (types.Integer, "integer"), (types.JSON, "json"),
        ((types.Numeric, types.Float), "float"), ((types.DateTime, types.Date, types.Time), "datetime"),
        ((types.String, types.Uuid), "string"),
    )  # fmt: skip
    return next((kind for python_type, kind in kinds if isinstance(ty, python_type)), "json")


def _parse_default(default: object, kind: str) -> Json:
    """Return the default of a column, given as SQL; None if it is no literal of its type."""
    text = "" if default is None else str(default).strip()
    quoted = _QUOTED_DEFAULT.fullmatch(text)
    value = text.strip("()")
    if quoted:
        value = quoted[1].replace("''", "'")
    if kind == "boolean" and value.lower() in ("true", "false", "1", "0"):
        return value.lower() in ("true", "1")
    if kind in ("integer", "float") and re.fullmatch(r"-?[0-9]{1,15}(\.[0-9]{1,15})?", value):
        return int(value) if kind == "integer" and "." not in value else float(value)
    if quoted and kind in ("string", "enum", "datetime"):
        return value
    return None


def _words(name: str) -> str:
    """Return the words of a name with underscores, separated by spaces."""
    return " ".join(part for part in name.split("_") if part)


def _title_case(name: str) -> str:
    """Return the words of a name with underscores, each capitalized."""
    return _words(name).title()


def _camel_case(name: str) -> str:
    """Return a name in camel case; underscores and other separators are removed."""
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"\W+|_", name) if part)
