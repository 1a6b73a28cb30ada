"""A live database as a reference: tables reflected, foreign keys of the root as entities, custom fields from their table.

In: a URL, and what is known of the layout. Out: a reference, and what had to be left out. Reads only; the one place that
knows SQLAlchemy, which is imported when a database is asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formulaseed.errors import DataError, UnreadableError, require_extra
from formulaseed.language.ast import RESERVED_WORDS, is_name
from formulaseed.reference.model import CUSTOM_TYPES, DatabaseLayout, Entity, EnumType, Field, Json, Reference
from formulaseed.source.printing import printable
from formulaseed.source.strict_json import refuse_constant

if TYPE_CHECKING:
    from sqlalchemy import Connection, Inspector

_DEFAULT_TEXT = re.compile(r"\(*'((?:[^']|'')*)'(?:::[\w \[\]\"]+)?\)*")
_COMMENT = re.compile(r"^\s*[\"`\[]?(\w+)[\"`\]]?\s[^\n]*?--[ \t]*(.*?)\s*$", re.MULTILINE)
_TABLE_COMMENT = re.compile(r"\([ \t]*--[ \t]*(.*?)\s*$", re.MULTILINE)
_LOCAL_KEY = re.compile(r"_id$|_key$")
_LOOKUP_ROWS = 50
"""A table of an id and a name with more rows is data, not a list of what there is."""
_NAME_IT = ": name it under `database.entities` of a schema file"


def database_reference(url: str, layout: DatabaseLayout) -> tuple[Reference, tuple[str, ...]]:
    """Reflect a database. Raises `UnreadableError` where it cannot be opened, `DataError` where its layout is unclear.

    Returns also what is not in the reference, with the reason: names that no formula could spell, or that clash.
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
    shown = parsed.render_as_string(hide_password=True)
    path = parsed.database if parsed.get_backend_name() == "sqlite" else None
    if path and path != ":memory:" and not path.startswith("file:") and not Path(path).is_file():
        raise UnreadableError(f"cannot read {path}: No such file or directory")  # SQLite would make an empty database
    try:
        engine = sqlalchemy.create_engine(parsed)
        try:
            with engine.connect() as connection:
                inspector, schema = sqlalchemy.inspect(connection), layout.schema or None
                return _Reflection(connection, inspector, layout, schema).reflected()
        finally:
            engine.dispose()
    except (ModuleNotFoundError, NoSuchModuleError) as error:
        raise DataError(f"there is no driver for {shown}: {_said(error)}") from None
    except (SQLAlchemyError, ValueError, OverflowError) as error:
        raise UnreadableError(f"cannot read {shown}: {_said(error)}") from None


def _said(error: BaseException) -> str:
    """The first line of what a driver says."""
    cause = getattr(error, "orig", None) or error
    return (str(cause).strip().splitlines() or [type(cause).__name__])[0]


@dataclass
class _Reflection:
    connection: Connection
    inspector: Inspector
    layout: DatabaseLayout
    schema: str | None
    left_out: list[str] = field(default_factory=list)
    enums: dict[str, EnumType] = field(default_factory=dict)

    def reflected(self) -> tuple[Reference, tuple[str, ...]]:
        tables = sorted(self.inspector.get_table_names(self.schema))
        views = sorted(self.inspector.get_view_names(self.schema))
        found = find_definitions([*tables, *views], self.columns, self.layout)
        root = self.root([table for table in tables if table != found], views)
        columns, places = self.columns(root), {root: [root]}
        entities = [
            self.entity(
                root, root, f"Primary {_words(root).lower()} entity (root context)", nullable=False, is_root=True
            )
        ]
        for name, table, nullable in self.related(root, columns):
            places.setdefault(table, []).append(name)
            about = f"{_title(name)} entity (foreign key relationship from {root})"
            entities.append(self.entity(name, table, about, nullable=nullable))
        if found:
            rows = self.definitions(found, list(self.columns(found)))
            entities = custom_fields(entities, rows, places, self.left_out)
        description = f"What formulas over {root} may say: its fields, operators, functions and syntax."
        made = Reference(tuple(entities), root, description=description, enums=tuple(self.enums.values()))
        return made, tuple(dict.fromkeys(self.left_out))

    def columns(self, table: str) -> dict[str, Any]:
        return {column["name"]: column for column in self.inspector.get_columns(table, self.schema)}

    def root(self, tables: list[str], views: list[str]) -> str:
        """The table or view that the layout names, else the table with the most foreign keys."""
        if not tables:
            raise DataError("the database has no tables")
        named = self.layout.root
        if named:
            _refuse_unknown_table(named, [*tables, *views])
        else:
            keys = {table: len(self.inspector.get_foreign_keys(table, self.schema)) for table in tables}
            most = [table for table in tables if keys[table] == max(keys.values())]
            if len(most) > 1:
                raise DataError(f"which table is the root? name it with --root: {', '.join(most[:20])}")
            named = most[0]
        if not _names_an_entity(named):
            message = f"formulas cannot name the table `{named}`: use letters, digits and `_`, and no word of theirs"
            raise DataError(message)
        return named

    def related(self, root: str, columns: Mapping[str, Any]) -> Iterator[tuple[str, str, bool]]:
        """Yield the entities that the root's foreign keys lead to: name, table, whether there may be none."""
        named, seen = dict(self.layout.entities), {root: ""}
        order = {column: place for place, column in enumerate(columns)}
        keys = self.inspector.get_foreign_keys(root, self.schema)
        for key in sorted(keys, key=lambda key: [order.get(column, 0) for column in key["constrained_columns"]]):
            local, table = key["constrained_columns"], key["referred_table"]
            place = f"the entity of {root}.{', '.join(local)} → {table}"
            if key.get("referred_schema") not in (None, self.schema) or any(column not in columns for column in local):
                self.left_out.append(f"{place}, which is in another schema")
                continue
            if not self.inspector.has_table(table, self.schema):
                self.left_out.append(f"{place}, as there is no table `{table}`")
                continue
            column = local[0]
            name = named.get(column) or (_LOCAL_KEY.sub("", column) if len(local) == 1 else table)
            if not _names_an_entity(name):
                self.left_out.append(f"{place}, as no formula can name `{name}`{_NAME_IT}")
            elif name not in seen:
                seen[name] = place
                yield name, table, any(bool(columns[each].get("nullable", True)) for each in local)
            elif seen[name] != place:  # a key that is declared twice is one
                self.left_out.append(f"{place}, as another entity is called `{name}`{_NAME_IT}")

    # --- one table

    def entity(self, name: str, table: str, description: str, *, nullable: bool, is_root: bool = False) -> Entity:
        said, comments = self.comments(table)
        keys = self.inspector.get_pk_constraint(table, self.schema).get("constrained_columns") or []
        hidden = set(keys) if len(keys) == 1 else set()
        hidden |= {each.removeprefix(f"{table}.") for each in self.layout.exclude}
        fields, columns = [], self.columns(table)
        names = {} if is_root else self.looked_up_names(table, columns, keys)
        for column, reflected in columns.items():
            if column in hidden:
                continue
            if not is_name(column):
                self.left_out.append(f"{name}.{column}, which no formula can name")
                continue
            about = reflected.get("comment") or comments.get(column) or _title(column)
            fields.append(self.field(table, column, reflected, str(about), names.get(column, ())))
        return Entity(name, said or description, nullable, fields=tuple(fields))

    def field(self, table: str, column: str, reflected: Any, about: str, looked_up_names: tuple[str, ...]) -> Field:
        """Return a column as a field. One with names from a lookup table is an enum of these names."""
        kind = _kind(reflected["type"])
        values = looked_up_names or tuple(getattr(reflected["type"], "enums", None) or ())
        name = ""
        if kind == "enum" or looked_up_names:
            kind = "enum"
            name = self.enum(table, column, str(getattr(reflected["type"], "name", None) or ""), values, about)
        nullable = bool(reflected.get("nullable", True))
        return Field(column, kind, about, nullable, name, values, _default(reflected.get("default"), kind))

    def enum(self, table: str, column: str, called: str, values: tuple[str, ...], about: str) -> str:
        """The name of an enum: its own where it has a proper one, else the column's; one name has one list of values."""
        proper = called if called[:1].isupper() else ""
        for name in (proper, _camel(called or column), _camel(f"{table}_{column}")):
            if name and self.enums.setdefault(name, EnumType(name, about, values)).values == values:
                return name
        return ""

    def looked_up_names(
        self, table: str, columns: Mapping[str, Any], keys: Sequence[str]
    ) -> dict[str, tuple[str, ...]]:
        """Return the name column of a lookup table, one of an id and a name, with its names in the order of the ids.

        Empty if the table is no lookup table.
        """
        names = [column for column in columns if column not in keys]
        if len(keys) != 1 or len(names) != 1 or _kind(columns[names[0]]["type"]) != "string":
            return {}
        import sqlalchemy

        source = sqlalchemy.table(table, schema=self.schema)
        query: Any = (
            sqlalchemy.select(sqlalchemy.column(names[0])).select_from(source).order_by(sqlalchemy.column(keys[0]))
        )
        rows = self.connection.execute(query.limit(_LOOKUP_ROWS + 1)).scalars().all()
        values = tuple(dict.fromkeys(row for row in rows if isinstance(row, str) and row))
        return {names[0]: values} if 0 < len(values) == len(rows) <= _LOOKUP_ROWS else {}

    def comments(self, table: str) -> tuple[str, dict[str, str]]:
        """Return the comment of a table, and in SQLite, which stores none, those of its columns in its definition."""
        if self.connection.dialect.name != "sqlite":
            try:
                return self.inspector.get_table_comment(table, self.schema).get("text") or "", {}
            except (
                NotImplementedError
            ):  # SQLAlchemy's dialect of this database knows no comments: there are none to read
                return "", {}
        import sqlalchemy

        query = sqlalchemy.text("SELECT sql FROM sqlite_master WHERE name = :name")
        written = str(self.connection.execute(query, {"name": table}).scalar() or "")
        said = _TABLE_COMMENT.search(written.split("\n", 1)[0])
        return said[1] if said else "", dict(_COMMENT.findall(written.partition("\n")[2]))

    def definitions(self, table: str, columns: list[str]) -> list[dict[str, Any]]:
        """The rows that define custom fields, their columns by what they mean."""
        import sqlalchemy

        known = definition_columns(columns, self.layout)
        for column in known.values():
            if column not in columns:
                raise DataError(f"the table `{table}` has no column `{column}`; it has: {', '.join(columns[:20])}")
        for needed in ("entity", "key", "type"):
            if needed not in known:
                message = f"which column of `{table}` is the {needed} of a custom field? map it in the schema file"
                raise DataError(message)
        chosen: list[Any] = [sqlalchemy.column(column).label(meaning) for meaning, column in known.items()]
        query = sqlalchemy.select(*chosen).select_from(sqlalchemy.table(table, schema=self.schema))
        rows = self.connection.execute(query).mappings().all()
        return sorted((dict(row) for row in rows), key=lambda row: (str(row["entity"]), str(row["key"])))


def _refuse_unknown_table(name: str, tables: Sequence[str]) -> None:
    if name not in tables:
        raise DataError(f"there is no table `{name}`; there are: {', '.join(tables[:20])}")


def _names_an_entity(name: str) -> bool:
    return is_name(name) and name not in RESERVED_WORDS


def _kind(ty: object) -> str:
    from sqlalchemy import types

    kinds: tuple[tuple[type | tuple[type, ...], str], ...] = (
        (types.Boolean, "boolean"), (types.Enum, "enum"), (types.Integer, "integer"), (types.JSON, "json"),
        ((types.Numeric, types.Float), "float"), ((types.DateTime, types.Date, types.Time), "datetime"),
        ((types.String, types.Uuid), "string"),
    )  # fmt: skip
    return next((kind for known, kind in kinds if isinstance(ty, known)), "json")


def _default(written: object, kind: str) -> Json:
    """A column's default where it is a literal."""
    text = str(written).strip() if written is not None else ""
    quoted = _DEFAULT_TEXT.fullmatch(text)
    value = quoted[1].replace("''", "'") if quoted else text.strip("()")
    if kind == "boolean" and value.lower() in ("true", "false", "1", "0"):
        return value.lower() in ("true", "1")
    if kind in ("integer", "float") and re.fullmatch(r"-?[0-9]{1,15}(\.[0-9]{1,15})?", value):
        return int(value) if kind == "integer" and "." not in value else float(value)
    return value if quoted and kind in ("string", "enum", "datetime") else None


def _words(name: str) -> str:
    return " ".join(part for part in name.split("_") if part)


def _title(name: str) -> str:
    return _words(name).title()


def _camel(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"\W+|_", name) if part)


# --- custom fields, from the rows that define them

_TABLES = (
    "custom_field_definition", "custom_field_definitions", "custom_field", "custom_fields", "field_definition",
    "field_definitions",
)  # fmt: skip
_COLUMNS = {
    "entity": ("entity", "entity_type", "entity_name", "model", "table_name"),
    "key": ("field_key", "key", "field_name", "name"),
    "type": ("field_type", "data_type", "type"),
    "description": ("description", "help_text", "label"),
    "required": ("required", "is_required"),
    "options": ("options", "choices", "allowed_values"),
    "default": ("default_value", "default"),
    "active": ("is_active", "active"),
}
_ALIASES = {
    "int": "integer", "bigint": "integer", "decimal": "number", "numeric": "number", "double": "number", "bool": "boolean",
    "checkbox": "boolean", "str": "string", "varchar": "string", "select": "enum", "dropdown": "enum", "choice": "enum",
    "multi_select": "multiselect", "timestamp": "datetime",
}  # fmt: skip


def find_definitions(tables: Sequence[str], columns_of: Callable[[str], Iterable[str]], layout: DatabaseLayout) -> str:
    """The table that defines custom fields: the one that the layout names, else one that is called so; or none."""
    if layout.custom_table:
        _refuse_unknown_table(layout.custom_table, tables)
        return layout.custom_table
    for name in _TABLES:
        if name in tables and {"entity", "key", "type"} <= definition_columns(list(columns_of(name)), layout).keys():
            return name
    return ""


def definition_columns(columns: Sequence[str], layout: DatabaseLayout) -> dict[str, str]:
    """What each column of a table of definitions means, as far as it is mapped or called so."""
    found = {meaning: next((n for n in names if n in columns), "") for meaning, names in _COLUMNS.items()}
    found |= dict(layout.custom_columns)
    return {meaning: column for meaning, column in found.items() if column}


def custom_fields(
    entities: Sequence[Entity],
    rows: Sequence[Mapping[str, Any]],
    places: Mapping[str, Sequence[str]],
    left_out: list[str],
) -> list[Entity]:
    """The entities with the custom fields that the rows define, for an entity or for a table and all of its `places`."""
    defined: dict[str, dict[str, Field]] = {entity.name: {} for entity in entities}
    for row in rows:
        entity, key = str(row["entity"]), str(row["key"])
        if row.get("active", True) in (False, 0):
            continue
        named = [entity] if entity in defined else places.get(entity, ())
        if not named or not is_name(key):
            left_out.append(f"{entity}.custom_fields.{key}, which no formula can name")
            continue
        for each in named:
            if key in defined[each]:
                left_out.append(f"the second definition of {each}.custom_fields.{key}")
            defined[each].setdefault(key, _custom_field(key, row))
    return [replace(entity, custom_fields=tuple(defined[entity.name].values())) for entity in entities]


def _custom_field(key: str, row: Mapping[str, Any]) -> Field:
    kind = str(row["type"]).strip().lower()
    kind = _ALIASES.get(kind, kind)
    options = _read(row.get("options"))
    return Field(
        key,
        kind if kind in CUSTOM_TYPES else "json",
        str(row.get("description") or key.replace("_", " ").capitalize()),
        nullable=row.get("required") not in (True, 1),
        values=tuple(dict.fromkeys(map(_option, options))) if isinstance(options, list) else (),
        default=_read(row.get("default")),
    )


def _option(option: Json) -> str:
    """An option's value, where it has a label too."""
    value = option.get("value", option) if isinstance(option, dict) else option
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _read(value: Any) -> Json:
    """A value of a JSON column, which some databases give as text."""
    if not isinstance(value, str):
        return value if value is None or isinstance(value, bool | int | float | list | dict) else str(value)
    try:
        found: Json = json.loads(value, parse_constant=refuse_constant)
    except (ValueError, RecursionError):
        return value
    return found
