"""A module's view to its text: the template, the helpers that it uses, and the formatter.

In: `ModuleView`. Out: Python source. The environment refuses every value that is not `Code`.
"""

from __future__ import annotations

import ast
from dataclasses import fields
from functools import cache

from formulaseed.backends.python import prelude
from formulaseed.backends.python.code import Code
from formulaseed.backends.python.plan import ModuleView
from formulaseed.resources import resource_folder

LINE_LENGTH = 120
_ALWAYS = ("JsonValue", "JsonObject", "EvaluationError", "DataError", "_object")


class RawTextError(TypeError):
    """A template was about to place text that no printer made. A bug of ours, never of a seed."""


def render_module(view: ModuleView) -> str:
    """The module's source, not yet formatted."""
    variables: dict[str, object] = {field.name: getattr(view, field.name) for field in fields(view)}
    texts = _code_in(view)
    helpers = _helpers(" ".join(texts), bool(view.parses_extraction or view.parses_meta))
    imports = _imports("\n".join([*texts, *helpers]), view)
    variables["prelude"] = tuple(Code(helper) for helper in helpers)
    variables["imports"] = tuple(Code(line) for line in imports)
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(resource_folder("templates")),
        undefined=StrictUndefined,
        finalize=_only_code,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
        keep_trailing_newline=True,
    )
    return environment.get_template("python/module.py.j2").render(variables)


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


def _code_in(value: object) -> list[str]:
    """Every piece of code of a view, for finding out which helpers it uses."""
    if isinstance(value, Code):
        return [value]
    if isinstance(value, tuple):
        return [text for item in value for text in _code_in(item)]
    if hasattr(value, "__dataclass_fields__"):
        return [text for name in value.__dataclass_fields__ for text in _code_in(getattr(value, name))]
    return []


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


def _helpers(code: str, reads_sections: bool) -> list[str]:
    """The source of the helpers that the code uses, and of those that these use. They stand last in the module, below what is to be reviewed."""
    parts = _prelude_parts()
    words = _words(code)
    wanted = {name for name in parts if name in words}
    wanted |= {name for name in _ALWAYS if name != "_object" or reads_sections}
    if "parse_parameters" in words or "PARAMETERS" in words:
        wanted.add("_known")
    while True:
        more = {name for wanted_name in wanted for name in parts[wanted_name][1] if name in parts} - wanted
        if not more:
            return [source for name, (source, _) in parts.items() if name in wanted]
        wanted |= more


def _imports(code: str, view: ModuleView) -> list[str]:
    words = _words(code)
    abstract = [name for name in ("Iterable", "Mapping", "Sequence") if name in words or name == "Iterable"]
    typing = ["Final", "NamedTuple", "TypeAlias"]
    typing += ["Literal"] if view.aliases else []
    typing += ["TypeVar"] if "TypeVar" in words else []
    lines = ["from __future__ import annotations", ""]
    lines += ["import math"] if "math" in words else []
    lines.append(f"from collections.abc import {', '.join(abstract)}")
    lines.append(f"from typing import {', '.join(sorted(typing))}")
    return lines


def _words(code: str) -> set[str]:
    import re

    return set(re.findall(r"[A-Za-z_]\w*", code))
