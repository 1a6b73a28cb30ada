"""Render a module: its template, the helpers that it uses, and the formatter.

In: the template's variables. Out: Python source. The environment refuses every value that is not `Code`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from formulaseed.backends.python import prelude
from formulaseed.backends.python.code import LINE_LENGTH, PART_SEPARATOR, Code, fill, spread
from formulaseed.backends.python.functions import plan_helpers
from formulaseed.backends.python.identity import insert_hash
from formulaseed.backends.python.plan import Variables
from formulaseed.ir import attributes
from formulaseed.language import inputs, json_values
from formulaseed.requests import evaluation, records
from formulaseed.resources import resource_folder

if TYPE_CHECKING:
    from jinja2 import Environment

_JSON_TYPES = frozenset({"JsonValue", "JsonObject"})
"""The types that every module defines."""
_PUBLIC_HELPERS = _JSON_TYPES | {
    "EvaluationError", "DataError", "Truth", "Scalar", "Path", "SocialFilter", "Weight", "Restaurant", "Background",
    "parse_restaurant", "parse_background", "and_", "or_",
}  # fmt: skip
"""The helpers that a module offers to its callers; any other one gets an underscore in front of its name."""
_IMPORTED_MODULES = ("ast", "datetime", "math", "re", "warnings")
"""The modules that helpers import as a whole."""
_HELPER_MODULES = (json_values, prelude, attributes, records, evaluation, inputs)
"""Our modules with helpers, in the order of their definitions in a generated module."""
_IMPORTED_MEMBERS = {
    "collections.abc": ("Iterable", "Mapping", "Sequence"),
    "typing": ("Final", "Literal", "NamedTuple", "TypeAlias", "TypeVar"),
}


@dataclass(frozen=True, slots=True)
class Template:
    """A template, and the helpers and imports that all of its modules have, also if they use none of them.

    A step more or less then changes no import.
    """

    name: str
    helpers: tuple[str, ...]
    imports: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Imports:
    """The modules that a generated module imports as a whole, and pairs of a module and the names to import from it."""

    modules: tuple[Code, ...]
    members: tuple[tuple[Code, Code], ...]


class RawTextError(TypeError):
    """The error for a string that no printer made, and that a template was about to place: a bug of the compiler."""


def render(template: Template, plan: Variables, comment_free: Variables, *, formatted: bool = False) -> tuple[str, str]:
    """Return a module's source, in which lines that are too long are split if `formatted`, and its comment-free build.

    The comment-free build decides which helpers and imports are in use, so that no description can change them. Raises
    `RawTextError` if a variable that the template places is not `Code`.
    """
    bare_body = _render_template(template.name, comment_free)
    helpers, imports = _find_helpers(bare_body, template)
    body = _render_template(template.name, plan)
    if formatted:
        body = format_body(body)
    header, bare_header = (
        _render_template("header", {**variables, "imports": imports}) for variables in (plan, comment_free)
    )
    return _assemble(header, body, helpers), _assemble(bare_header, bare_body, helpers)


def _assemble(header: str, body: str, helpers: str) -> str:
    """Join the parts of a module, the helpers last, and insert the hash of the whole."""
    return insert_hash(f"{header}\n{body.rstrip()}\n\n\n{helpers}\n")


def _render_template(name: str, variables: Variables) -> str:
    """Return the text of a template of `templates/python`. Raises `RawTextError` if it places anything but `Code`."""
    return _environment().get_template(f"python/{name}.py.j2").render(variables)


@cache
def _environment() -> Environment:
    """Return the environment of the templates, always the same. It refuses unknown variables and raw text."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(resource_folder("templates")),
        undefined=StrictUndefined,
        finalize=_require_code,
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
    """Lay out a list in brackets as `fill` does, for a template that writes `head`, with `{}` for each of `names`.

    Raises `RawTextError` if an item or a name is not `Code`.
    """
    if names:
        head = head.format(*map(_require_code, names))
    return fill(head, [_require_code(item) for item in items], brackets, tail)


def _spread(head: str, items: Sequence[Code]) -> Code:
    """Lay out a call or a tuple as `spread` does, for a template that writes `head`. Raises `RawTextError` as `_fill` does."""
    return spread(head, [_require_code(item) for item in items])


_UNSPLIT_LINE = re.compile(r'\s*(?:#|"""|"(?:[^"\\]|\\.)*",  #)')
"""A line that black does not split: a comment, a docstring, or a literal with a comment."""


def needs_black(source: str) -> bool:
    """Return True if black must split a line that is too long.

    Comments, docstrings, commented literals and lines that end with `# fmt: skip` do not count. All other code is
    printed as black prints it, and black takes long to import.
    """
    lines = [line for line in source.split("\n") if len(line) > LINE_LENGTH]
    return any(not (line.endswith("# fmt: skip") or _UNSPLIT_LINE.match(line)) for line in lines)


def format_body(source: str) -> str:
    """Return the source as black writes it; black reads only functions, classes and constants with a line that is too long."""
    parts = source.rstrip("\n").split(PART_SEPARATOR)
    return PART_SEPARATOR.join(_run_black(part) if needs_black(part) else part for part in parts) + "\n"


def _run_black(source: str) -> str:
    """Return a part of a module as black writes it, without a line end; the code is that of Python 3.11."""
    import black
    from black.mode import TargetVersion

    mode = black.Mode(line_length=LINE_LENGTH, target_versions={TargetVersion.PY311})
    return black.format_str(source, mode=mode).rstrip("\n")


def _require_code(value: object) -> Code:
    """Return the value. Raises `RawTextError` if it is not `Code`."""
    if not isinstance(value, Code):
        raise RawTextError(f"a template placed {type(value).__name__} {str(value)[:60]!r}, which is no Code")
    return value


@dataclass(frozen=True, slots=True)
class _HelperSource:
    """The source of a helper, and the names that it uses."""

    source: str
    uses: frozenset[str]
    is_block: bool
    """True for a function or a class, which has two blank lines before and after it."""


@cache
def _load_static_helpers() -> dict[str, _HelperSource]:
    """Return the helpers of our modules by their names in a generated module, in the order of the files.

    All but the public ones get an underscore in front of their names. The result is kept: callers must not change it.
    """
    sources = [Path(str(module.__file__)).read_text(encoding="utf-8") for module in _HELPER_MODULES]
    private = {name for source in sources for name in _parse_helpers(source) if name[0] != "_"} - _PUBLIC_HELPERS
    helpers: dict[str, _HelperSource] = {}
    for source in sources:
        helpers.update(_parse_helpers(_hide_names(source, private)))
    return helpers


def _hide_names(source: str, names: Collection[str]) -> str:
    """Put an underscore in front of `names`: of constants, of functions that are called, and of names in backticks.

    Names behind a dot are left as they are.
    """
    functions = "|".join(name for name in names if not name.isupper())
    constants = "|".join(name for name in names if name.isupper())
    return re.sub(rf"(?<![\w.])(?=(?:{functions})[(`]|(?:{constants})\b)", "_", source)


def _load_helpers() -> dict[str, _HelperSource]:
    """Return all helpers by name. Those of functions, such as `sqrt`, come after those of operators."""
    items = list(_load_static_helpers().items())
    index = list(_load_static_helpers()).index("_present")
    return dict([*items[:index], *_parse_helpers(render_function_helpers()).items(), *items[index:]])


def render_function_helpers() -> str:
    """Return the source of the helpers of functions, made from the table of functions."""
    return _environment().get_template("python/functions.py.j2").render(functions=plan_helpers())


def _parse_helpers(source: str) -> dict[str, _HelperSource]:
    """Return the functions, classes and constants that a module defines, by name, in the order of the source.

    Other statements, such as imports, are skipped.
    """
    lines = source.splitlines()
    helpers: dict[str, _HelperSource] = {}
    for node in ast.parse(source).body:
        match node:
            case ast.FunctionDef(name) | ast.ClassDef(name):
                is_block = True
            case ast.AnnAssign(ast.Name(name)) | ast.Assign([ast.Name(name)]):
                is_block = False
            case _:
                continue
        text = "\n".join(lines[node.lineno - 1 : node.end_lineno])
        helpers[name] = _HelperSource(text, frozenset(_find_names(node)) - {name}, is_block)
    return helpers


def _find_names(node: ast.AST) -> set[str]:
    """Return every name that occurs in a tree, read or assigned."""
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _find_helpers(body: str, template: Template) -> tuple[str, Imports]:
    """Return the source of the helpers that a module needs, and the imports of the whole module.

    It needs the helpers that its body uses, the types of JSON, those that all modules of the template have, and those
    that helpers use. They keep the order of the files.
    """
    helpers = _load_helpers()
    used = _find_used_names(body)
    needed = (helpers.keys() & used) | _JSON_TYPES | {*template.helpers}
    while True:
        mentioned = {name for helper in needed for name in helpers[helper].uses}
        missing = (mentioned & helpers.keys()) - needed
        if not missing:
            source = _lay_out([helper for name, helper in helpers.items() if name in needed])
            return source, _plan_imports(used | mentioned | {*template.imports})
        needed |= missing


def _find_used_names(body: str) -> set[str]:
    """Return the names that a module's body reads, except those that any of its functions assigns."""
    used: set[str] = set()
    variables: set[str] = set()
    for statement in ast.parse(body).body:
        names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
        used.update(node.id for node in names if isinstance(node.ctx, ast.Load))
        if isinstance(statement, ast.FunctionDef):
            variables.update(node.id for node in names if isinstance(node.ctx, ast.Store))
    return used - variables


def _lay_out(helpers: list[_HelperSource]) -> str:
    """Join at least one helper, with two blank lines around functions and classes, as black does."""
    text = helpers[0].source
    for before, helper in pairwise(helpers):
        text += ("\n\n\n" if before.is_block or helper.is_block else "\n") + helper.source
    return text


def _plan_imports(used: set[str]) -> Imports:
    """Return the imports of the names in use, in a fixed order; a module without such a name is left out."""
    members = []
    for module, names in _IMPORTED_MEMBERS.items():
        imported = [name for name in names if name in used]
        if imported:
            members.append((Code(module), Code(", ".join(imported))))
    return Imports(tuple(Code(name) for name in _IMPORTED_MODULES if name in used), tuple(members))
