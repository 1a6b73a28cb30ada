"""A module's view to its text: the template, the helpers that it uses, and the formatter.

In: `ModuleView`. Out: Python source. The environment refuses every value that is not `Code`.
"""

from __future__ import annotations

import ast
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING

from formulaseed.backends.python import prelude
from formulaseed.backends.python.code import Code
from formulaseed.backends.python.plan import ModuleView
from formulaseed.resources import resource_folder

if TYPE_CHECKING:
    from jinja2 import Environment

LINE_LENGTH = 120
_ALWAYS = frozenset({"JsonValue", "JsonObject", "EvaluationError", "DataError"})


class RawTextError(TypeError):
    """A template was about to place text that no printer made. A bug of ours, never of a seed."""


def render_module(view: ModuleView, bare: ModuleView) -> tuple[str, str]:
    """The sources of a module and of its bare twin, not yet formatted.

    What they need of helpers and imports is found in the twin, so that no description has a say in it.
    """
    helpers, imports = _needed(_rendered(bare, (), ()))
    return _rendered(view, helpers, imports), _rendered(bare, helpers, imports)


def _rendered(view: ModuleView, helpers: tuple[Code, ...], imports: tuple[Code, ...]) -> str:
    variables: dict[str, object] = {field.name: getattr(view, field.name) for field in fields(view)}
    return _environment().get_template("python/module.py.j2").render(variables, prelude=helpers, imports=imports)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(resource_folder("templates")),
        undefined=StrictUndefined,
        finalize=_only_code,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
        keep_trailing_newline=True,
    )


def format_source(source: str) -> str:
    """The source as black writes it; the formatter's version is pinned to the emission style's year."""
    import black
    from black.mode import TargetVersion

    mode = black.Mode(line_length=LINE_LENGTH, target_versions={TargetVersion.PY311})
    return black.format_str(source, mode=mode)


def _only_code(value: object) -> object:
    if not isinstance(value, Code):
        raise RawTextError(f"a template placed {type(value).__name__} {str(value)[:60]!r}, which is no Code")
    return value


@cache
def _prelude_parts() -> dict[str, tuple[str, frozenset[str]]]:
    """The prelude's definitions: source and the names that each uses, in the order of the file."""
    path = prelude.__file__
    with open(path, encoding="utf-8") as file:
        source = file.read()
    parts: dict[str, tuple[str, frozenset[str]]] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            name = node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name = node.target.id
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
        else:
            continue
        used = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
        parts[name] = (ast.get_source_segment(source, node) or "", frozenset(used - {name}))
    return parts


def _needed(body: str) -> tuple[tuple[Code, ...], tuple[Code, ...]]:
    """The helpers that a module's body uses, with those that they use, and the imports of all of them."""
    parts = _prelude_parts()
    used = {
        node.id for node in ast.walk(ast.parse(body)) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    wanted = {name for name in parts if name in used} | _ALWAYS
    while True:
        names = {name for helper in wanted for name in parts[helper][1]}
        more = (names & parts.keys()) - wanted
        if not more:
            helpers = tuple(Code(source) for name, (source, _) in parts.items() if name in wanted)
            return helpers, tuple(Code(line) for line in _imports(used | names))
        wanted |= more


def _imports(used: set[str]) -> list[str]:
    lines = ["from __future__ import annotations", ""]
    lines += ["import math"] if "math" in used else []
    lines.append("from collections.abc import Iterable, Mapping, Sequence")
    typing = [name for name in ("Final", "Literal", "NamedTuple", "TypeAlias", "TypeVar") if name in used]
    lines.append(f"from typing import {', '.join(typing)}")
    return lines
