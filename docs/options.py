"""Writes the table of the extractors' options in docs/running.md, made from their models: `python docs/options.py`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, get_args, get_origin

from formulaseed.extractors.registry import EXTRACTORS, find_extractors_with, import_options
from pydantic.fields import FieldInfo

PAGE = Path(__file__).with_name("running.md")
_TABLE = re.compile(r"^\| option \| .*?\n(?=\n)", re.MULTILINE | re.DOTALL)


def with_table(page: str) -> str:
    """Return the page with the table of options as it should be."""
    fields = {name: field for each in EXTRACTORS for name, field in import_options(each).model_fields.items()}
    rows = [
        f"| `{name}` | {', '.join(each.name for each in find_extractors_with(name))} | {_values(field)} | {_default(field)} | "
        f"{field.description} |\n"
        for name, field in fields.items()
    ]
    table = "| option | extractors | values | default | |\n|---|---|---|---|---|\n" + "".join(rows)
    return _TABLE.sub(lambda _: table, page, count=1)


def _values(field: FieldInfo) -> str:
    """Return the choices or the bounds of an option; empty if it has neither."""
    if get_origin(field.annotation) is Literal:
        return ", ".join(map(str, get_args(field.annotation)))
    bounds = {
        name: getattr(each, name) for each in field.metadata for name in ("ge", "gt", "le") if hasattr(each, name)
    }
    low = f"from {bounds['ge']:,}" if "ge" in bounds else f"above {bounds['gt']:,}" if "gt" in bounds else ""
    return f"{low} to {bounds['le']:,}" if "le" in bounds else low


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if field.default is None:
        return ""
    if isinstance(field.default, bool):
        return str(field.default).lower()
    return f"`{field.default}`" if isinstance(field.default, str) else f"{field.default:g}"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
