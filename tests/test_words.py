"""The words of STYLE that say nothing are no names, and no docstring opens with a pronoun: both make a stranger stop."""

from __future__ import annotations

import ast

import pytest
from helpers import ROOT

VAGUE_NAMES = frozenset(["found", "each", "given", "what", "others", "shown", "kept", "made", "asked", "told"])
OPENERS = frozenset(["What", "Where", "Which", "Of", "So", "How", "As"])
SOURCES = sorted((ROOT / "compiler").rglob("*.py"))


@pytest.mark.parametrize("package", sorted({path.parent.name for path in SOURCES}))
def test_names_and_docstrings_say_what_they_are(package: str) -> None:
    """No variable or parameter has a vague name, and docstrings begin with a verb or a noun."""
    for path in (path for path in SOURCES if path.parent.name == package):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_bound = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            name = node.arg if isinstance(node, ast.arg) else node.id if is_bound else None
            assert name not in VAGUE_NAMES, f"{path}:{node.lineno}: `{name}` says nothing"
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
                opener = (ast.get_docstring(node) or "-").split()[0].strip("`'\",.")
                assert opener not in OPENERS, (
                    f"{path}: the docstring of {getattr(node, 'name', path.stem)} opens with it"
                )
