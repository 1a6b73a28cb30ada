"""A module's plan to its text: the template, the helpers that it uses, and the formatter.

In: the template's variables. Out: Python source. The environment refuses every value that is not `Code`.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from formulaseed.backends.python import prelude
from formulaseed.backends.python.code import BETWEEN, LINE_LENGTH, Code
from formulaseed.backends.python.functions import helper_sources
from formulaseed.backends.python.identity import sealed
from formulaseed.backends.python.plan import Variables
from formulaseed.ir import attributes
from formulaseed.language import inputs, json_values
from formulaseed.requests import evaluation
from formulaseed.resources import resource_folder

if TYPE_CHECKING:
    from jinja2 import Environment

_JSON = frozenset({"JsonValue", "JsonObject"})
"""Types that every module defines."""
_FROM = {
    "collections.abc": ("Iterable", "Mapping", "Sequence"),
    "typing": ("Final", "Literal", "NamedTuple", "TypeAlias", "TypeVar"),
}


@dataclass(frozen=True, slots=True)
class Template:
    """A template, the helpers that all of its modules define, and what all of them import.

    These do not depend on what a module uses, so that a step more or less changes no import.
    """

    name: str
    helpers: tuple[str, ...]
    imports: tuple[str, ...]


class RawTextError(TypeError):
    """A template was about to place text that no printer made. A bug of ours, never of a seed."""


def render(template: Template, plan: Variables, comment_free: Variables, *, formatted: bool = False) -> tuple[str, str]:
    """Return a module's source, in which lines that are too long are split if `formatted`, and its comment-free build.

    The helpers and imports in use are found in the latter, so that no description has a say in them.
    """
    helpers, imports = _needed(_rendered(comment_free, (), template), template)
    body, bare = (_rendered(each, imports, template) for each in (plan, comment_free))
    body = format_body(body) if formatted else body
    return _whole(body, helpers), _whole(bare, helpers)


def render_whole(name: str, variables: Variables) -> str:
    """Return a file that has no helpers of its own, in which lines that are too long are split."""
    source = _rendered(variables, (), Template(name, (), ()))
    return sealed(format_body(source) if needs_black(source) else source)


def _whole(body: str, helpers: str) -> str:
    return sealed(f"{body.rstrip()}\n\n\n{helpers}\n")


def _rendered(variables: Variables, imports: tuple[Code, ...], template: Template) -> str:
    return _environment().get_template(f"python/{template.name}.py.j2").render(variables, imports=imports)


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


_WHOLE = re.compile(r'\s*(?:#|"""|"(?:[^"\\]|\\.)*",  #)')
"""Lines that black does not split: comments, docstrings, a literal with a comment."""


def needs_black(source: str) -> bool:
    """Return whether a line has to be split: the rest is printed as black prints it, which takes long to import."""
    lines = [line for line in source.split("\n") if len(line) > LINE_LENGTH]
    return any(not (line.endswith("# fmt: skip") or _WHOLE.match(line)) for line in lines)


def format_body(source: str) -> str:
    """The source as black writes it, which sees only the functions, classes and constants in which a line is to be split."""
    parts = source.rstrip("\n").split(BETWEEN)
    return BETWEEN.join(_as_black(part) if needs_black(part) else part for part in parts) + "\n"


def _as_black(source: str) -> str:
    """The formatter's version is pinned to the emission style's year."""
    import black
    from black.mode import TargetVersion

    mode = black.Mode(line_length=LINE_LENGTH, target_versions={TargetVersion.PY311})
    return black.format_str(source, mode=mode).rstrip("\n")


def _only_code(value: object) -> object:
    if not isinstance(value, Code):
        raise RawTextError(f"a template placed {type(value).__name__} {str(value)[:60]!r}, which is no Code")
    return value


@dataclass(frozen=True, slots=True)
class _Helper:
    source: str
    uses: frozenset[str]
    is_block: bool
    """A function or a class, which stands between two blank lines."""


@cache
def _helpers() -> dict[str, _Helper]:
    """The definitions of the preludes, in the order of the files."""
    helpers: dict[str, _Helper] = {}
    for module in (json_values, prelude, attributes, evaluation, inputs):
        assert module.__file__ is not None
        helpers.update(_helpers_of(Path(module.__file__).read_text(encoding="utf-8")))
    return helpers


def _all_helpers() -> dict[str, _Helper]:
    """The same with those of functions, which stand behind those of operators."""
    helpers = _helpers()
    place = list(helpers).index("_present")
    items = list(helpers.items())
    return dict([*items[:place], *_helpers_of(helper_sources()).items(), *items[place:]])


def _helpers_of(source: str) -> dict[str, _Helper]:
    lines = source.splitlines()
    helpers: dict[str, _Helper] = {}
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
        text = "\n".join(lines[node.lineno - 1 : node.end_lineno])
        helpers[name] = _Helper(text, frozenset(used - {name}), isinstance(node, ast.FunctionDef | ast.ClassDef))
    return helpers


def _needed(body: str, template: Template) -> tuple[str, tuple[Code, ...]]:
    """The helpers that a module's body uses, with those that they use, and the imports of all of them."""
    known = _all_helpers()
    used: set[str] = set()
    variables: set[str] = set()
    for statement in ast.parse(body).body:
        found = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
        used |= {node.id for node in found if isinstance(node.ctx, ast.Load)}
        if isinstance(statement, ast.FunctionDef):
            variables |= {node.id for node in found if isinstance(node.ctx, ast.Store)}
    used -= variables
    wanted = {name for name in known if name in used} | _JSON | {*template.helpers}
    while True:
        names = {name for helper in wanted for name in known[helper].uses}
        more = (names & known.keys()) - wanted
        if not more:
            chosen = [helper for name, helper in known.items() if name in wanted]
            return _laid_out(chosen), tuple(Code(line) for line in _imports(used | names | {*template.imports}))
        wanted |= more


def _laid_out(helpers: list[_Helper]) -> str:
    text = helpers[0].source
    for before, helper in pairwise(helpers):
        text += ("\n\n\n" if before.is_block or helper.is_block else "\n") + helper.source
    return text


def _imports(used: set[str]) -> list[str]:
    lines = ["from __future__ import annotations", ""]
    lines += [f"import {name}" for name in ("ast", "datetime", "math", "re", "warnings") if name in used]
    for module, names in _FROM.items():
        found = [name for name in names if name in used]
        lines += [f"from {module} import {', '.join(found)}"] if found else []
    return lines
