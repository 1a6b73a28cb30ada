"""The layout of modules is in `templates/python`, and templates place nothing but `Code`."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from formulaseed.backends.python import render
from formulaseed.backends.python.code import Code
from helpers import ROOT
from jinja2 import nodes

PYTHON = ROOT / "compiler" / "formulaseed" / "backends" / "python"
SOURCES = [
    path for path in sorted(PYTHON.glob("*.py")) if not path.stem.startswith("verify") and path.stem != "prelude"
]
TEMPLATES = sorted((ROOT / "templates" / "python").glob("*.j2"))
STATEMENT = re.compile(
    r"(?: {4})*(?:def|class|for|if|elif|else|try|except|finally|with|while|match|return|raise|import|from|pass|del|async)\b"
)


def strings(tree: ast.Module) -> list[str]:
    """The string constants of a file, without its docstrings."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, documented)]
    bare = {id(statement.value) for body in bodies for statement in body if isinstance(statement, ast.Expr)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare
    ]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_no_string_of_the_backend_is_a_statement(path: Path) -> None:
    """Python code prints expressions and assignments; every other statement of a module is written in a template."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert [text for text in strings(tree) if STATEMENT.match(text)] == []


def test_the_templates_have_the_statements() -> None:
    """Each kind of statement that modules have is in a template as it is in the module."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in TEMPLATES)
    for start in (
        "def evaluate(",
        "class Row(",
        "for {{",
        "if{%",
        "elif",
        "else:",
        "try:",
        "except ValueError:",
        "return ",
    ):
        assert start in text


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_a_layout_function_takes_words_of_the_template(path: Path) -> None:
    """The first argument of `fill` and `spread`, which is not checked to be `Code`, is a literal of the template."""
    tree = render._environment().parse(path.read_text(encoding="utf-8"))
    for call in tree.find_all(nodes.Call):
        if isinstance(call.node, nodes.Name) and call.node.name in ("fill", "spread"):
            assert isinstance(call.args[0], nodes.Const)
            assert all(isinstance(each, nodes.Const) for each in call.args[2:])
            assert all(isinstance(each.value, nodes.Const) for each in call.kwargs if each.key == "tail")


def test_a_layout_function_refuses_a_raw_string() -> None:
    """As the templates themselves do."""
    environment = render._environment()
    assert environment.from_string("{{ spread('f', items) }}").render(items=[Code("x")]) == "f(x)"
    for template in (
        "{{ spread('f', items) }}",
        "{{ fill('f', items) }}",
        "{{ fill('{}', [], names=items) }}",
        "{{ items[0] }}",
    ):
        with pytest.raises(render.RawTextError):
            environment.from_string(template).render(items=["x"])
