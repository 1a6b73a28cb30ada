"""Each part of the compiler imports only the parts below it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest
from helpers import ROOT, TASKS

PACKAGE = ROOT / "compiler" / "formulaseed"

ORDER = (
    "limits", "resources", "source", "diagnostics", "errors", "language", "ir", "seed", "requests", "reference", "backends",
    "data", "pipeline", "documents", "runtime", "llm", "extractors", "draft", "pages", "explanation", "proofs", "compare",
    "editor", "api", "spark", "testing", "__init__", "cli", "__main__",
)  # fmt: skip
"""The layers, the lowest first. Each may import itself and those before it: at start-up, later, or for types alone."""

OWNERS: dict[str, tuple[str, ...]] = {
    "lark": ("language/tables.py", "requests/"),
    "jinja2": ("backends/python/render.py", "llm/calls.py", "pages/html.py"),
    "anthropic": ("llm/connecting.py",),
    "httpx2": ("llm/connecting.py",),
    "black": ("backends/python/render.py",),
    "hypothesis": ("testing/",),
    "pytest": ("testing/plugin.py", "testing/collection.py"),
    "pydantic": ("data/arguments.py", "data/expected.py", "data/records.py", "data/validation.py", "explanation/model.py",
                 "explanation/explanation.py", "extractors/", "proofs/claims.py", "cli/extractors.py"),
    "pydantic_core": ("draft/wire.py",),
    "msgspec": ("data/decoding.py", "data/encoding.py", "runtime/typed_rows.py"),
    "sqlglot": ("backends/sql/verify.py",),
    "pygls": ("editor/server.py",),
    "lsprotocol": ("editor/server.py",),
    "pyarrow": ("compare/results.py", "data/parquet.py", "data/scored.py", "runtime/"),
    "pyspark": ("runtime/spark.py",),
    "pandas": ("runtime/spark.py",),
    "duckdb": ("runtime/duck.py",),
    "sqlalchemy": ("reference/database.py",),
    **dict.fromkeys(("sklearn", "numpy", "threadpoolctl", "wordllama"), ("extractors/trained/",)),
    "scipy": ("extractors/trained/", "extractors/cascade.py"),
    "z3": ("proofs/cell_formulas.py",),
    "click": ("cli/",),
    "rich": ("cli/",),
}  # fmt: skip
"""The only places that may import a distribution; one that is not listed may be imported nowhere."""


class Import(NamedTuple):
    """One name that a module imports: `formulaseed.ir.nodes`, or a top-level name of another distribution."""

    file: Path
    line: int
    name: str

    @property
    def place(self) -> str:
        return f"{self.file.relative_to(PACKAGE).as_posix()}:{self.line}"


def read_imports(file: Path) -> Iterator[Import]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (Import(file, node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: a relative import"
            yield from (Import(file, node.lineno, full_name(node.module or "", alias.name)) for alias in node.names)


def full_name(module: str, name: str) -> str:
    """`from formulaseed.ir import nodes` imports a module; `from formulaseed.ir.nodes import Expr` a name of one."""
    if module.split(".")[0] != "formulaseed":
        return module
    path = PACKAGE.joinpath(*module.split(".")[1:], name)
    return f"{module}.{name}" if path.is_dir() or path.with_suffix(".py").is_file() else module


def layer_of(file: Path) -> str:
    return file.relative_to(PACKAGE).with_suffix("").parts[0]


def layer_of_import(name: str) -> str | None:
    """Return the layer of an imported name; None for another distribution's."""
    top, _, rest = name.partition(".")
    return (rest.partition(".")[0] or "__init__") if top == "formulaseed" else None


def module_name(file: Path) -> str:
    """Return the name by which a file of the package is imported."""
    parts = file.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(("formulaseed", *parts)).removesuffix(".__init__")


FILES = sorted(PACKAGE.rglob("*.py"))


@cache
def all_imports() -> tuple[Import, ...]:
    return tuple(entry for file in FILES for entry in read_imports(file))


def test_every_layer_has_its_place() -> None:
    """Every module belongs to a layer above, and every layer has one."""
    assert {layer_of(file) for file in FILES} == set(ORDER)


def test_the_docs_draw_the_layers() -> None:
    """Every layer is in a box of the diagram in docs/contributing.md, and the boxes are in this order."""
    diagram = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8").split("```mermaid")[1].split("```")[0]
    boxes = [text.split("<br/>")[0].split(" · ") for text in re.findall(r'\["(.*?)"\]', diagram)]
    assert [layer for box in boxes for layer in box] == [layer for layer in ORDER if not layer.startswith("__")]


@pytest.mark.parametrize("layer", ORDER)
def test_a_layer_imports_only_those_before_it(layer: str) -> None:
    """No import goes upwards, whenever it is executed, so there are no cycles between packages either."""
    allowed = (None, *ORDER[: ORDER.index(layer) + 1])
    own = (entry for entry in all_imports() if layer_of(entry.file) == layer)
    assert [f"{e.place} imports {e.name}" for e in own if layer_of_import(e.name) not in allowed] == []


def test_modules_import_each_other_in_one_direction() -> None:
    """Nor do imports that are executed later, or that are for types alone, make a cycle of modules."""
    names = {file: module_name(file) for file in FILES}
    imports: dict[str, set[str]] = {name: set() for name in names.values()}
    for entry in all_imports():
        if entry.name in imports and entry.name != names[entry.file]:
            imports[names[entry.file]].add(entry.name)
    assert any(imports.values())
    TopologicalSorter(imports).prepare()


def test_each_distribution_is_imported_in_one_place() -> None:
    """The parser generator, the templates, the formatter, the models and the command line each have one owner."""
    wrong = []
    for entry in all_imports():
        top = entry.name.split(".")[0]
        path = entry.file.relative_to(PACKAGE).as_posix()
        is_owned = any(
            path == owner or (owner.endswith("/") and path.startswith(owner)) for owner in OWNERS.get(top, ())
        )
        if top != "formulaseed" and top not in sys.stdlib_module_names and not is_owned:
            wrong.append(f"{entry.place} imports {top}")
    assert wrong == []


@pytest.mark.parametrize("arguments", [["--help"], ["check", str(TASKS / "wait_times" / "seed.json")]], ids=" ".join)
@pytest.mark.thorough
def test_commands_import_only_what_they_need(arguments: list[str]) -> None:
    """Asking for help parses and formats nothing; `check` needs no template, formatter, model or Lark."""
    source = (
        "import sys\nimport formulaseed.cli.main as main\n"
        f"sys.argv[1:] = {arguments!r}\n"
        "try:\n    main.main()\nexcept SystemExit:\n    pass\n"
        "heavy = ('lark', 'black', 'jinja2', 'pydantic', 'rich', 'anthropic')\n"
        "print(*[name for name in heavy if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "\n")
