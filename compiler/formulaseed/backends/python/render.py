"""Render a module: its template, the helpers that it uses, and the formatter.

In: the template's variables. Out: Python source. The environment refuses every value that is not `Code`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from formulaseed.backends.python import prelude
from formulaseed.backends.python.code import BETWEEN, LINE_LENGTH, Code, fill, spread
from formulaseed.backends.python.functions import plan_helpers
from formulaseed.backends.python.identity import insert_hash
from formulaseed.backends.python.plan import Variables
from formulaseed.ir import attributes
from formulaseed.language import inputs, json_values
from formulaseed.requests import evaluation, records
from formulaseed.resources import resource_folder

if TYPE_CHECKING:
    from jinja2 import Environment

_JSON = frozenset({"JsonValue", "JsonObject"})
"""Types that every module defines."""
_IMPORTED = ("ast", "datetime", "math", "re", "warnings")
"""The modules that helpers import as a whole."""
_MEMBERS = {
    "collections.abc": ("Iterable", "Mapping", "Sequence"),
    "typing": ("Final", "Literal", "NamedTuple", "TypeAlias", "TypeVar"),
}


@dataclass(frozen=True, slots=True)
class Template:
    """A template, the helpers that all of its modules define, and what all of them import.

    They are the same for all modules of the template, so that a step more or less changes no import.
    """

    name: str
    helpers: tuple[str, ...]
    imports: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Imports:
    """The modules that a module imports as a whole, and the names that it imports from others, in order."""

    modules: tuple[Code, ...]
    members: tuple[tuple[Code, Code], ...]


class RawTextError(TypeError):
    """A template was about to place a string that no printer made: a bug of the compiler, never of a seed."""


def render(template: Template, plan: Variables, comment_free: Variables, *, formatted: bool = False) -> tuple[str, str]:
    """Return a module's source, in which lines that are too long are split if `formatted`, and its comment-free build.

    The helpers and imports in use are found in the latter, so that no description has a say in them.
    """
    bare_body = _render(template.name, comment_free)
    helpers, imports = _find_helpers(bare_body, template)
    body = _render(template.name, plan)
    body = format_body(body) if formatted else body
    header, bare_header = (_render("header", {**variables, "imports": imports}) for variables in (plan, comment_free))
    return _join(header, body, helpers), _join(bare_header, bare_body, helpers)


def _join(header: str, body: str, helpers: str) -> str:
    return insert_hash(f"{header}\n{body.rstrip()}\n\n\n{helpers}\n")


def _render(name: str, variables: Variables) -> str:
    return _environment().get_template(f"python/{name}.py.j2").render(variables)


@cache
def _environment() -> Environment:
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
    environment.globals.update(fill=_fill, spread=_spread)
    return environment


def _fill(
    head: str, items: Sequence[Code], brackets: str = "()", *, tail: str = "", names: Sequence[Code] = ()
) -> Code:
    """Lay out a list in brackets for a template, whose own words are `head`, with `{}` for each of `names`, and `tail`."""
    return fill(
        head.format(*map(_only_code, names)) if names else head, [_only_code(item) for item in items], brackets, tail
    )


def _spread(head: str, items: Sequence[Code]) -> Code:
    """Lay out a call or a tuple for a template, whose own words are `head`."""
    return spread(head, [_only_code(item) for item in items])


_UNSPLIT = re.compile(r'\s*(?:#|"""|"(?:[^"\\]|\\.)*",  #)')
"""Lines that black does not split: comments, docstrings, a literal with a comment."""


def needs_black(source: str) -> bool:
    """Return True if a line is too long: everything else is printed as black prints it, and black takes long to import."""
    lines = [line for line in source.split("\n") if len(line) > LINE_LENGTH]
    return any(not (line.endswith("# fmt: skip") or _UNSPLIT.match(line)) for line in lines)


def format_body(source: str) -> str:
    """Return the source as black writes it. Black sees only the functions, classes and constants in which a line is too long."""
    parts = source.rstrip("\n").split(BETWEEN)
    return BETWEEN.join(_format(part) if needs_black(part) else part for part in parts) + "\n"


def _format(source: str) -> str:
    """Format a part of a module. The version of black is pinned to the year of the emission style."""
    import black
    from black.mode import TargetVersion

    mode = black.Mode(line_length=LINE_LENGTH, target_versions={TargetVersion.PY311})
    return black.format_str(source, mode=mode).rstrip("\n")


def _only_code(value: object) -> Code:
    """Return the value. Raises `RawTextError` if it is not `Code`."""
    if not isinstance(value, Code):
        raise RawTextError(f"a template placed {type(value).__name__} {str(value)[:60]!r}, which is no Code")
    return value


@dataclass(frozen=True, slots=True)
class _Helper:
    source: str
    uses: frozenset[str]
    is_block: bool
    """True for a function or a class, which has two blank lines before and after it."""


@cache
def _static_helpers() -> dict[str, _Helper]:
    """Return the definitions of the preludes by name, in the order of the files."""
    helpers: dict[str, _Helper] = {}
    for module in (json_values, prelude, attributes, records, evaluation, inputs):
        assert module.__file__ is not None
        helpers.update(_parse_helpers(Path(module.__file__).read_text(encoding="utf-8")))
    return helpers


def _all_helpers() -> dict[str, _Helper]:
    """Return the definitions of the preludes with the helpers of functions, which come after those of operators."""
    items = list(_static_helpers().items())
    index = list(_static_helpers()).index("_present")
    return dict([*items[:index], *_parse_helpers(render_function_helpers()).items(), *items[index:]])


def render_function_helpers() -> str:
    """Return the source of the helpers of functions."""
    return _environment().get_template("python/functions.py.j2").render(functions=plan_helpers())


def _parse_helpers(source: str) -> dict[str, _Helper]:
    """Return the functions, classes and constants that a module defines, by name."""
    lines = source.splitlines()
    helpers: dict[str, _Helper] = {}
    for node in ast.parse(source).body:
        match node:
            case ast.FunctionDef(name) | ast.ClassDef(name):
                is_block = True
            case ast.AnnAssign(ast.Name(name)) | ast.Assign([ast.Name(name)]):
                is_block = False
            case _:
                continue
        text = "\n".join(lines[node.lineno - 1 : node.end_lineno])
        helpers[name] = _Helper(text, frozenset(_names_in(node)) - {name}, is_block)
    return helpers


def _names_in(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _find_helpers(body: str, template: Template) -> tuple[str, Imports]:
    """Return the source of the helpers that a module's body uses, directly or through others, and the imports of all of them."""
    helpers = _all_helpers()
    used = _used_names(body)
    needed = (helpers.keys() & used) | _JSON | {*template.helpers}
    while True:
        mentioned = {name for helper in needed for name in helpers[helper].uses}
        missing = (mentioned & helpers.keys()) - needed
        if not missing:
            source = _lay_out([helper for name, helper in helpers.items() if name in needed])
            return source, _imports(used | mentioned | {*template.imports})
        needed |= missing


def _used_names(body: str) -> set[str]:
    """Return the names that a module's body reads, except those of variables of its functions."""
    used: set[str] = set()
    variables: set[str] = set()
    for statement in ast.parse(body).body:
        names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
        used.update(node.id for node in names if isinstance(node.ctx, ast.Load))
        if isinstance(statement, ast.FunctionDef):
            variables.update(node.id for node in names if isinstance(node.ctx, ast.Store))
    return used - variables


def _lay_out(helpers: list[_Helper]) -> str:
    text = helpers[0].source
    for before, helper in pairwise(helpers):
        text += ("\n\n\n" if before.is_block or helper.is_block else "\n") + helper.source
    return text


def _imports(used: set[str]) -> Imports:
    members = []
    for module, names in _MEMBERS.items():
        imported = [name for name in names if name in used]
        if imported:
            members.append((Code(module), Code(", ".join(imported))))
    return Imports(tuple(Code(name) for name in _IMPORTED if name in used), tuple(members))
