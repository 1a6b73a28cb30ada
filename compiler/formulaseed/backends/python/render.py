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


def render_module(view: ModuleView) -> str:
    """The module's source, not yet formatted."""
    variables: dict[str, object] = {field.name: getattr(view, field.name) for field in fields(view)}
    template = _environment().get_template("python/module.py.j2")
    body = template.render(variables, imports=(), prelude=())
    helpers = _helpers(_loaded_names(body))
    whole = _loaded_names("\n".join([body, *helpers]))
    return template.render(
        variables,
        imports=tuple(Code(line) for line in _imports(whole)),
        prelude=tuple(Code(helper) for helper in helpers),
    )


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


def _loaded_names(source: str) -> set[str]:
    """Every name that the source reads, however often."""
    tree = ast.parse(source)
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def _helpers(used: set[str]) -> list[str]:
    """The source of the helpers that are used, and of those that these use. They stand last in the module."""
    parts = _prelude_parts()
    wanted = {name for name in parts if name in used} | _ALWAYS
    while True:
        more = {name for helper in wanted for name in parts[helper][1] if name in parts} - wanted
        if not more:
            return [source for name, (source, _) in parts.items() if name in wanted]
        wanted |= more


def _imports(used: set[str]) -> list[str]:
    lines = ["from __future__ import annotations", ""]
    lines += ["import math"] if "math" in used else []
    lines.append("from collections.abc import Iterable, Mapping, Sequence")
    typing = [name for name in ("Final", "Literal", "NamedTuple", "TypeAlias", "TypeVar") if name in used]
    lines.append(f"from typing import {', '.join(typing)}")
    return lines
