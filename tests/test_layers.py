"""Which part of the compiler may import which: lower layers know nothing of upper ones."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from helpers import ROOT, TASKS

PACKAGE = ROOT / "compiler" / "formulaseed"
COMPILER = {"source", "diagnostics", "domain", "syntax", "ir", "frontends", "checker", "lint", "backends"}

ALLOWED: dict[str, set[str]] = {
    "limits": set(),
    "wording": set(),
    "resources": set(),
    "errors": set(),
    "source": {"limits", "errors"},
    "diagnostics": {"source", "wording", "limits"},
    "domain": {"limits"},
    "syntax": {"domain", "diagnostics", "source", "resources", "limits"},
    "ir": {"source", "domain", "errors", "limits", "wording"},
    "frontends": {"syntax", "domain", "diagnostics", "source", "limits", "ir.requests"},
    "checker": {"syntax", "ir", "domain", "diagnostics", "source", "limits", "wording"},
    "lint": {"syntax", "ir", "domain", "diagnostics", "source", "wording"},
    "backends": {"ir", "domain", "resources", "limits", "wording"},
    "llm": {"source.files", "errors", "limits", "resources"},
    "reference": {"domain", "ir.nodes", "ir.values", "errors", "limits", "wording"},
    "documents": {"frontends.sizes", "diagnostics", "source", "errors", "limits"},
    "formulas": COMPILER | {"documents", "reference", "runtime.formula", "errors", "limits"},
    "draft": {
        "llm",
        "pipeline",
        "diagnostics",
        "domain",
        "source",
        "errors",
        "limits",
        "wording",
        "frontends.keys",
        "frontends.canonical",
        "frontends.layout",
    },
    "extract": {
        "domain.json_values",
        "domain.typos",
        "ir",
        "llm",
        "errors",
        "limits",
        "runtime.jsonl",
        "runtime.records",
        "wording",
    },
    "runtime": {
        "extract",
        "ir",
        "domain.json_values",
        "domain.types",
        "domain.typos",
        "domain.dates",
        "source.files",
        "errors",
        "limits",
        "wording",
    },
    "pipeline": COMPILER | {"documents", "formulas", "errors", "limits"},
    "modules": {"pipeline", "backends.python.seal", "backends.python.verify", "runtime", "errors"},
    "api": {"pipeline", "modules", "formulas", "runtime", "diagnostics", "errors"},
    "testing": COMPILER | {"pipeline", "api", "runtime", "errors", "limits"},
    "cli": COMPILER
    | {
        "pipeline",
        "documents",
        "formulas",
        "reference",
        "api",
        "modules",
        "runtime",
        "extract",
        "draft",
        "llm",
        "errors",
        "limits",
    }
    | {"resources", "__init__", "wording"},
    "__init__": {"api", "diagnostics", "errors", "pipeline", "runtime"},
    "__main__": {"cli"},
}
"""What each layer may import, as layers or as single modules; itself always."""

LAZY: dict[str, set[str]] = {
    "runtime": {
        "backends.python.identity",
        "backends.python.verify",
        "diagnostics",
        "domain.reference",
        "source",
    },
    "errors": {"diagnostics"},
    "reference": {"source"},
}
"""What it may import besides, but only inside functions or for type checkers."""

OWNERS = {
    "lark": ("syntax/",),
    "jinja2": ("backends/python/render.py", "llm/prompts.py"),
    "anthropic": ("llm/client.py",),
    "black": ("backends/python/render.py",),
    "hypothesis": ("testing/",),
    "pytest": ("testing/plugin.py", "testing/collection.py"),
    "pydantic": ("runtime/records.py",),
    "sqlalchemy": ("reference/database.py",),
    "click": ("cli/",),
    "rich": ("cli/",),
}
"""The only places that may import a distribution; one that is not listed may be imported nowhere."""


@dataclass(frozen=True)
class Import:
    """One name that a module imports: `formulaseed.ir.nodes`, or a top-level name of another distribution."""

    file: Path
    line: int
    name: str
    lazy: bool

    @property
    def place(self) -> str:
        return f"{self.file.relative_to(PACKAGE).as_posix()}:{self.line}"


def layer_of(file: Path) -> str:
    return file.relative_to(PACKAGE).with_suffix("").parts[0]


def imports_of(file: Path) -> Iterator[Import]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    eager = set()
    stack: list[ast.AST] = list(tree.body)
    while stack:  # everything that runs when the module is imported
        node = stack.pop()
        eager.add(node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        stack.extend(ast.iter_child_nodes(node))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: a relative import"
            names = [full_name(node.module or "", alias.name) for alias in node.names]
        else:
            continue
        for name in names:
            yield Import(file, node.lineno, name, node not in eager)


def full_name(module: str, name: str) -> str:
    """`from formulaseed.ir import nodes` imports a module; `from formulaseed.ir.nodes import Expr` a name of one."""
    if module.split(".")[0] != "formulaseed":
        return module
    path = PACKAGE.joinpath(*module.split(".")[1:], name)
    return f"{module}.{name}" if path.is_dir() or path.with_suffix(".py").is_file() else module


FILES = sorted(PACKAGE.rglob("*.py"))
IMPORTS = [found for file in FILES for found in imports_of(file)]


def is_allowed(name: str, allowed: set[str]) -> bool:
    return any(name == entry or name.startswith(f"{entry}.") for entry in allowed)


def test_every_layer_has_its_place() -> None:
    """Whatever stands in the package is in the table above: a new layer says what it may import."""
    assert {layer_of(file) for file in FILES} <= set(ALLOWED)


@pytest.mark.parametrize("layer", sorted(ALLOWED))
def test_a_layer_imports_only_what_it_may(layer: str) -> None:
    """No import goes upwards or sideways."""
    wrong = []
    for found in IMPORTS:
        top, _, rest = found.name.partition(".")
        if top != "formulaseed" or layer_of(found.file) != layer:
            continue
        allowed = ALLOWED[layer] | {layer} | (LAZY.get(layer, set()) if found.lazy else set())
        if not is_allowed(rest or "__init__", allowed):
            wrong.append(f"{found.place} imports {found.name}")
    assert wrong == []


def test_the_three_stages_know_nothing_of_one_another() -> None:
    """Front ends, the checker and the back ends meet only in the types between them, lazily or not."""
    stages = {"frontends", "checker", "lint", "backends"}
    for found in IMPORTS:
        layer = layer_of(found.file)
        if layer in stages:
            others = {f"formulaseed.{stage}" for stage in stages - {layer}}
            assert not is_allowed(found.name, others), f"{found.place} imports {found.name}"


def test_each_distribution_is_imported_in_one_place() -> None:
    """The parser generator, the templates, the formatter, the models and the command line each have one owner."""
    wrong = []
    for found in IMPORTS:
        top = found.name.split(".")[0]
        if top == "formulaseed" or top in sys.stdlib_module_names:
            continue
        where = found.file.relative_to(PACKAGE).as_posix()
        if not any(
            where == owner or (owner.endswith("/") and where.startswith(owner)) for owner in OWNERS.get(top, ())
        ):
            wrong.append(f"{found.place} imports {top}")
    assert wrong == []


def test_commands_import_only_what_they_need() -> None:
    """Importing the package and asking for help parse and format nothing; check needs no template, formatter or model."""
    seed = str(TASKS / "wait_times" / "seed.json")
    heavy = ("lark", "black", "jinja2", "pydantic", "rich", "anthropic")
    for arguments, allowed in ((["--help"], set()), (["check", seed], {"lark"})):
        source = (
            "import sys\nimport formulaseed.cli.main as main\n"
            f"sys.argv[1:] = {arguments!r}\n"
            "try:\n    main.main()\nexcept SystemExit:\n    pass\n"
            f"print(*[name for name in {heavy!r} if name in sys.modules], file=sys.stderr)\n"
        )
        done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert set(done.stderr.split()) <= allowed
