"""Verify the source of a generated module before it is written or imported.

In: a module's source, the source of the same program without descriptions and comments (the bare module), and the dialect of
its kind. Out: None, or the first problem. Two rules: the module has only the syntax of its dialect (`module_syntax`); and
except for docstrings its tree is that of the bare module, so that no description has become code.
"""

from __future__ import annotations

import ast
from bisect import bisect
from itertools import accumulate
from typing import TypeAlias

from formulaseed.backends.python import identity
from formulaseed.backends.python.code import PART_SEPARATOR
from formulaseed.backends.python.dialects import SEEDS, Dialect
from formulaseed.backends.python.module_syntax import find_foreign, is_docstring

_Body: TypeAlias = ast.Module | ast.Interactive
"""A module, or statements of one that cannot begin with a docstring."""


def verify(source: str, bare: str, dialect: Dialect = SEEDS) -> str | None:
    """Return the first problem of a module, in words; None if it is as compiled.

    `bare` is the module compiled from the same seed without descriptions and comments: but for docstrings, the code of
    both must be equal. The other checks are characters that cannot be seen, Python's syntax, the dialect, and the stated
    hash. Raises `SyntaxError` or `RecursionError` if the module nests deeper than Python can read; any other syntax error
    is a problem.
    """
    for number, line in enumerate(source.split("\n"), 1):
        if not line.isprintable():
            return f"line {number}: there is something that cannot be seen"
    try:
        tree = _parse(source)
        pairs = _pair_trees(source, tree, bare)
    except (SyntaxError, ValueError) as error:
        if "too many" in str(error):  # nested parentheses: the seed is too deep, not the module wrong
            raise
        return f"it is no Python: {error}"
    fault = find_foreign(tree, dialect)
    if fault:
        return fault
    if identity.read_stated_hash(source) != identity.hash_body(source):
        return "it does not state the hash of its own text"
    if not all(_are_equal(_strip_docstrings(part), _strip_docstrings(bare_part)) for part, bare_part in pairs):
        return "its code depends on a description or a comment"
    return None


def has_same_code(source: str, other: str) -> bool:
    """Return True if two modules are the same program, whatever their docstrings, comments and hashes say.

    Raises `SyntaxError`, `ValueError` or `RecursionError` if Python cannot read one of them.
    """
    return _are_equal(_strip_docstrings(_parse(source)), _strip_docstrings(_parse(other)))


def verify_source(source: str, dialect: Dialect = SEEDS) -> str | None:
    """Return the first problem in the syntax of a module that was read from a file; None if there is none.

    Never raises: a text that Python cannot read is a problem. The module's hash is not checked.
    """
    try:
        tree = _parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"it is no Python: {error}"
    return find_foreign(tree, dialect)


def _parse(source: str) -> ast.Module:
    """Return the tree of the source as Python reads it from a file, whose first lines may name another encoding."""
    return ast.parse(source.encode())


def _pair_trees(source: str, tree: ast.Module, bare: str) -> list[tuple[_Body, _Body]]:
    """Return the pairs of trees to compare, of the source and of the bare module: of the whole, or of parts that differ.

    Parts are separated by two blank lines. Parts with the same text are left out if no statement of the source continues
    from one part to the next, and each other part of the bare module parses alone, which raises `SyntaxError` if it does
    not. Only the first part may begin with a docstring, and name an encoding.
    """
    parts = source.split(PART_SEPARATOR)
    bare_parts = bare.split(PART_SEPARATOR)
    starts = [*accumulate((part.count("\n") + len(PART_SEPARATOR) for part in parts), initial=1)]
    numbers = [bisect(starts, statement.lineno) for statement in tree.body]
    end_numbers = [bisect(starts, statement.end_lineno or 0) for statement in tree.body]
    if len(parts) != len(bare_parts) or numbers != end_numbers:
        return [(tree, _parse(bare))]
    pairs: list[tuple[_Body, _Body]] = []
    for number, (part, bare_part) in enumerate(zip(parts, bare_parts, strict=True), 1):
        if part != bare_part:
            statements = [statement for statement, place in zip(tree.body, numbers, strict=True) if place == number]
            if number == 1:
                pairs.append((ast.Module(statements, []), _parse(bare_part)))
            else:
                pairs.append((ast.Interactive(statements), ast.Interactive(ast.parse(bare_part).body)))
    return pairs


def _strip_docstrings(tree: _Body) -> _Body:
    """Remove the docstrings and the statement of the hash from a tree, which is changed, and return the same tree.

    Looks for functions and classes at the top level and in classes only.
    """
    tree.body = [statement for statement in tree.body if not _is_hash(statement)]
    stack: list[_Body | ast.stmt] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and node.body and is_docstring(node.body[0]):
            node.body = node.body[1:]
        if isinstance(node, _Body | ast.FunctionDef | ast.ClassDef):
            stack += node.body
    return tree


def _is_hash(statement: ast.stmt) -> bool:
    """Return True for the statement that states the module's hash, which must be annotated with `Final`."""
    match statement:
        case ast.AnnAssign(ast.Name(identity.HASH_CONSTANT), ast.Name("Final"), ast.Constant(str())):
            return True
        case _:
            return False


def _are_equal(left: ast.AST, right: ast.AST) -> bool:
    """Return True if two trees are equal, whatever their positions. Uses no recursion, since each `elif` nests."""
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
