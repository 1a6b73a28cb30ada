"""Custom fields from the rows that define them: which table and columns those are, and what a row says.

In: rows of a table of definitions, as any database gives them. Out: entities with their custom fields; a definition that
cannot be used is noted, with its name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from formulaseed.errors import DataError
from formulaseed.language.ast import is_name
from formulaseed.reference.model import CUSTOM_TYPES, DatabaseLayout, Entity, Field, Json
from formulaseed.source.json_reader import refuse_constant

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
        if layout.custom_table not in tables:
            raise DataError(f"there is no table `{layout.custom_table}`; there are: {', '.join(tables[:20])}")
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
            defined[each].setdefault(key, _field(key, row))
    return [replace(entity, custom_fields=tuple(defined[entity.name].values())) for entity in entities]


def _field(key: str, row: Mapping[str, Any]) -> Field:
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
