"""Test that templates have all statements of modules, and place nothing but `Code`."""

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


def string_constants(tree: ast.Module) -> list[str]:
    """Return the string constants of a file, without its docstrings."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, documented)]
    bare = {id(statement.value) for body in bodies for statement in body if isinstance(statement, ast.Expr)}
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in bare]
    return [node.value for node in constants if isinstance(node.value, str)]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_no_string_of_the_backend_is_a_statement(path: Path) -> None:
    """Python code prints expressions and assignments; templates have all other statements of modules."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert [text for text in string_constants(tree) if STATEMENT.match(text)] == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_a_layout_function_takes_words_of_the_template(path: Path) -> None:
    """The first argument of `fill` and `spread`, which is not checked to be `Code`, is a literal of the template."""
    tree = render._environment().parse(path.read_text(encoding="utf-8"))
    for call in tree.find_all(nodes.Call):
        if isinstance(call.node, nodes.Name) and call.node.name in ("fill", "spread"):
            assert isinstance(call.args[0], nodes.Const)
            assert all(isinstance(argument, nodes.Const) for argument in call.args[2:])
            assert all(isinstance(option.value, nodes.Const) for option in call.kwargs if option.key == "tail")


def test_a_layout_function_refuses_a_raw_string() -> None:
    environment = render._environment()
    assert environment.from_string("{{ spread('f', items) }}").render(items=[Code("x")]) == "f(x)"
    calls = ("spread('f', items)", "fill('f', items)", "fill('{}', [], names=items)", "items[0]")
    for call in calls:
        with pytest.raises(render.RawTextError):
            environment.from_string(f"{{{{ {call} }}}}").render(items=["x"])
