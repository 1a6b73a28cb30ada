"""Verify a generated module, which is read again before it is written or imported.

In: a module's source, the source that the same program gives with every description and comment left out, and the
dialect of its kind. Out: None, or what does not belong. Two rules. The module has only the syntax of its dialect
(`module_syntax`). And but for docstrings its tree is that of the bare module, so no description became code.
"""

from __future__ import annotations

import ast
from bisect import bisect
from itertools import accumulate
from typing import TypeAlias

from formulaseed.backends.python import identity
from formulaseed.backends.python.code import BETWEEN
from formulaseed.backends.python.dialects import SEEDS, Dialect
from formulaseed.backends.python.module_syntax import find_foreign

_Body: TypeAlias = ast.Module | ast.Interactive
"""A module, or statements of one, without its docstring."""


def verify(source: str, bare: str, dialect: Dialect = SEEDS) -> str | None:
    """Return what is wrong with the module; None if it is as compiled.

    Raises `SyntaxError` or `RecursionError` if it nests deeper than Python can read.
    """
    for number, line in enumerate(source.split("\n"), 1):
        if not line.isprintable():
            return f"line {number}: there is something that cannot be seen"
    try:
        tree = _parse(source)
        pairs = _pairs(source, tree, bare)
    except (SyntaxError, ValueError) as error:
        if "too many" in str(error):
            raise
        return f"it is no Python: {error}"
    fault = find_foreign(tree, dialect)
    if fault:
        return fault
    if identity.read_stated_hash(source) != identity.hash_body(source):
        return "it does not state the hash of its own text"
    if not all(_same(_without_docstrings(part), _without_docstrings(bare_part)) for part, bare_part in pairs):
        return "its code depends on a description or a comment"
    return None


def has_same_code(source: str, other: str) -> bool:
    """Return True if two modules are the same program, whatever their docstrings and comments say."""
    return _same(_without_docstrings(_parse(source)), _without_docstrings(_parse(other)))


def verify_source(source: str, dialect: Dialect = SEEDS) -> str | None:
    """Check only the syntax of a module that was read from a file; return what is wrong, or None."""
    try:
        tree = _parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"it is no Python: {error}"
    return find_foreign(tree, dialect)


def _parse(source: str) -> ast.Module:
    """Return the tree of the source as Python reads it from a file, whose first lines may name another encoding."""
    return ast.parse(source.encode())


def _pairs(source: str, tree: ast.Module, bare: str) -> list[tuple[_Body, _Body]]:
    """Return the trees of the source and of the bare module to compare, as a whole or part by part.

    Parts are separated by two blank lines. Parts with the same text need not be compared if no statement of the source
    continues from one part to the next, and the other parts of the bare module parse alone: then all of its parts do.
    Only the first part may begin with a docstring, and name an encoding.
    """
    parts = source.split(BETWEEN)
    bare_parts = bare.split(BETWEEN)
    starts = [*accumulate((part.count("\n") + len(BETWEEN) for part in parts), initial=1)]
    numbers = [bisect(starts, statement.lineno) for statement in tree.body]
    end_numbers = [bisect(starts, statement.end_lineno or 0) for statement in tree.body]
    if len(parts) != len(bare_parts) or numbers != end_numbers:
        return [(tree, _parse(bare))]
    pairs: list[tuple[_Body, _Body]] = []
    for number, (part, bare_part) in enumerate(zip(parts, bare_parts, strict=True), 1):
        if part != bare_part:
            statements = [statement for statement, own in zip(tree.body, numbers, strict=True) if own == number]
            if number == 1:
                pairs.append((ast.Module(statements, []), _parse(bare_part)))
            else:
                pairs.append((ast.Interactive(statements), ast.Interactive(ast.parse(bare_part).body)))
    return pairs


def _without_docstrings(tree: _Body) -> _Body:
    """Remove the docstrings and the hash of the text from a tree, and return it.

    Functions and classes are in a module and in its classes only.
    """
    tree.body = [statement for statement in tree.body if not _is_seal(statement)]
    stack: list[_Body | ast.stmt] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:]
        if isinstance(node, _Body | ast.FunctionDef | ast.ClassDef):
            stack += node.body
    return tree


def _is_seal(statement: ast.stmt) -> bool:
    """Return True for the statement of the module's hash."""
    match statement:
        case ast.AnnAssign(ast.Name(identity.HASH_CONSTANT), ast.Name("Final"), ast.Constant(str())):
            return True
        case _:
            return False


def _same(left: ast.AST, right: ast.AST) -> bool:
    """Return True if two trees are equal, whatever their positions; without recursion, as each `elif` nests."""
    stack: list[tuple[object, object]] = [(left, right)]
    while stack:
        a, b = stack.pop()
        if a is b:
            continue
        if type(a) is not type(b):
            return False
        if isinstance(a, ast.AST):
            stack += [(getattr(a, name, None), getattr(b, name, None)) for name in a._fields]
        elif isinstance(a, list) and isinstance(b, list):
            if len(a) != len(b):
                return False
            stack += zip(a, b, strict=True)
        elif a != b:
            return False
    return True
