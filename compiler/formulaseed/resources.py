"""Find the grammar, the templates and the examples: beside `compiler/` in a checkout, otherwise in the wheel."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


@cache
def resource_folder(name: str) -> Path:
    """Return the folder `grammar`, `templates`, `tasks` or `examples`; it need not exist.

    The checkout takes precedence, because an editable install may contain an outdated copy.
    """
    root = _PACKAGE.parents[1]
    if (root / "pyproject.toml").is_file() and (root / name).is_dir():
        return root / name
    return _PACKAGE / "_resources" / name


def read_resource(folder: str, name: str) -> str:
    """Return the text of the file `name` in the resource folder `folder`. Raises `OSError` if it cannot be read."""
    return (resource_folder(folder) / name).read_text(encoding="utf-8")
