"""Read the custom fields that a table of a database defines.

In: rows of the table, and what is known of the layout. Out: entities with custom fields, and what had to be left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from formulaseed.errors import DataError
from formulaseed.language.ast import is_name
from formulaseed.reference.model import CUSTOM_TYPES, DatabaseLayout, Entity, EntityField, Json
from formulaseed.source.strict_json import refuse_constant

MAX_LISTED_NAMES = 20
_DEFINITION_TABLES = (
    "custom_field_definition", "custom_field_definitions", "custom_field", "custom_fields", "field_definition",
    "field_definitions",
)  # fmt: skip
_DEFINITION_COLUMNS = {
    "entity": ("entity", "entity_type", "entity_name", "model", "table_name"),
    "key": ("field_key", "key", "field_name", "name"),
    "type": ("field_type", "data_type", "type"),
    "description": ("description", "help_text", "label"),
    "required": ("required", "is_required"),
    "options": ("options", "choices", "allowed_values"),
    "default": ("default_value", "default"),
    "active": ("is_active", "active"),
}
_TYPE_ALIASES = {
    "int": "integer", "bigint": "integer", "decimal": "number", "numeric": "number", "double": "number", "bool": "boolean",
    "checkbox": "boolean", "str": "string", "varchar": "string", "select": "enum", "dropdown": "enum", "choice": "enum",
    "multi_select": "multiselect", "timestamp": "datetime",
}  # fmt: skip


def find_definition_table(
    tables: Sequence[str], columns_of: Callable[[str], Iterable[str]], layout: DatabaseLayout
) -> str:
    """Return the table that defines custom fields: the one that the layout names, or else one with a usual name and columns.

    Returns an empty string if there is none. Raises `DataError` if the database has no table that the layout names.
    """
    if layout.custom_table:
        refuse_unknown_table(layout.custom_table, tables)
        return layout.custom_table
    for name in _DEFINITION_TABLES:
        if (
            name in tables
            and {"entity", "key", "type"} <= map_definition_columns(list(columns_of(name)), layout).keys()
        ):
            return name
    return ""


def map_definition_columns(columns: Sequence[str], layout: DatabaseLayout) -> dict[str, str]:
    """Return the column of a definition table for each meaning: the one in the layout, or one with a usual name.

    A meaning without a column is left out. A column that the layout names need not be in `columns`.
    """
    usual = {meaning: next((n for n in names if n in columns), "") for meaning, names in _DEFINITION_COLUMNS.items()}
    return {meaning: column for meaning, column in (usual | dict(layout.custom_columns)).items() if column}


def add_custom_fields(
    entities: Sequence[Entity],
    rows: Sequence[Mapping[str, Any]],
    names_by_table: Mapping[str, Sequence[str]],
    left_out: list[str],
) -> list[Entity]:
    """Return copies of the entities with the custom fields that active rows define; they replace those of the entities.

    The `entity` of a row is an entity, or a table, which stands for all of its entities in `names_by_table`. The
    first definition of a field wins. Adds to `left_out` the fields that no formula can name, and further definitions.
    """
    fields: dict[str, dict[str, EntityField]] = {entity.name: {} for entity in entities}
    for row in rows:
        owner = str(row["entity"])
        key = str(row["key"])
        if row.get("active", True) in (False, 0):
            continue
        names = [owner] if owner in fields else names_by_table.get(owner, ())
        if not names or not is_name(key):
            left_out.append(f"{owner}.custom_fields.{key}, which no formula can name")
            continue
        for name in names:
            if key in fields[name]:
                left_out.append(f"the second definition of {name}.custom_fields.{key}")
            fields[name].setdefault(key, _build_custom_field(key, row))
    return [replace(entity, custom_fields=tuple(fields[entity.name].values())) for entity in entities]


def _build_custom_field(key: str, row: Mapping[str, Any]) -> EntityField:
    """Return the custom field that a row defines, which can be null unless the row says that it is required.

    A field of an unknown type is `json`, which formulas cannot read.
    """
    kind = str(row["type"]).strip().lower()
    kind = _TYPE_ALIASES.get(kind, kind)
    options = _parse_json_value(row.get("options"))
    return EntityField(
        key,
        kind if kind in CUSTOM_TYPES else "json",
        str(row.get("description") or key.replace("_", " ").capitalize()),
        nullable=row.get("required") not in (True, 1),
        values=tuple(dict.fromkeys(map(_option_value, options))) if isinstance(options, list) else (),
        default=_parse_json_value(row.get("default")),
    )


def _option_value(option: Json) -> str:
    """Return the value of an option, which may be an object with a label, too; as JSON if it is not a string."""
    if isinstance(option, dict):
        option = option.get("value", option)
    return option if isinstance(option, str) else json.dumps(option, ensure_ascii=False)


def _parse_json_value(value: Any) -> Json:
    """Return a value of a JSON column, which some databases return as a string; a string that is not JSON as it is."""
    if value is None or isinstance(value, bool | int | float | list | dict):
        return value
    if not isinstance(value, str):
        return str(value)
    try:
        parsed: Json = json.loads(value, parse_constant=refuse_constant)
    except (ValueError, RecursionError):
        return value
    return parsed


def refuse_unknown_table(name: str, tables: Sequence[str]) -> None:
    """Raise `DataError` if the database has no table `name`."""
    if name not in tables:
        raise DataError(f"there is no table `{name}`; there are: {', '.join(tables[:MAX_LISTED_NAMES])}")
