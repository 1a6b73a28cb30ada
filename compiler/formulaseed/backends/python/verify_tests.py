"""Generated tests are read again before they are written, as modules are.

In: their source. Out: None, or what does not belong. Tests run when they are imported, so the rule is narrow: no comment, and
besides literals nothing but the names, attributes, imports and syntax of the template, so that text of a seed is a literal.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator

from formulaseed.backends.python import identity

_SYNTAX = frozenset(
    {
        ast.Module, ast.Expr, ast.ImportFrom, ast.Import, ast.alias, ast.AnnAssign, ast.Assign, ast.FunctionDef, ast.arguments,
        ast.arg, ast.Try, ast.ExceptHandler, ast.Return, ast.For, ast.Assert, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.BinOp,
        ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.Constant, ast.Call, ast.keyword, ast.Starred, ast.ListComp,
        ast.DictComp, ast.comprehension, ast.Tuple, ast.Load, ast.Store, ast.Or, ast.Not, ast.USub, ast.Div, ast.Eq, ast.NotEq,
        ast.Lt, ast.LtE, ast.In, ast.Is,
    }
)  # fmt: skip
_TOP = (ast.Expr, ast.Import, ast.ImportFrom, ast.AnnAssign, ast.FunctionDef)
_IMPORTS = {
    "__future__": {"annotations"},
    "pathlib": {"Path"},
    "typing": {"Any", "Final"},
    "formulaseed": {"EvaluationError"},
    "formulaseed.testing": {
        "Restaurant", "growth", "load_module", "note_steps", "outcome", "raised", "reference_evaluate", "restaurants", "rounding",
    },
    "hypothesis": {"given", "settings", "strategies"},
}  # fmt: skip
_NAMES = frozenset(
    {
        "TASK_NAME", "SEED_SHA256", "BODY_SHA256", "HERE", "SEED", "MODULE", "__file__", "math", "st", "bool", "dict", "float",
        "int", "isinstance", "len", "list", "range", "str", "after", "before", "change", "more", "moved", "name", "order",
        "place", "restaurant", "result", "rows", "steps", *(name for names in _IMPORTS.values() for name in names),
    }
)  # fmt: skip
_ATTRIBUTES = frozenset(
    {
        "after", "before", "context", "evaluate", "falls", "inf", "isclose", "parameters", "parent", "permutations", "resolve",
        "rises", "rows", "trace",
    }
)  # fmt: skip
_TEST = re.compile(r"test_[a-z0-9_]+")


def verify_tests(source: str) -> str | None:
    """Return what is wrong with the tests, or None where they are as compiled."""
    if not all(line.isprintable() for line in source.split("\n")):
        return "there is something that cannot be seen"
    try:
        tree = ast.parse(source.encode())
        tokens = [*tokenize.generate_tokens(io.StringIO(source).readline)]
    except (SyntaxError, ValueError) as error:
        return f"it is no Python: {error}"
    if any(token.type == tokenize.COMMENT for token in tokens):
        return "it has a comment"
    if identity.stated_sha256(source) != identity.body_sha256(source):
        return "it does not state the hash of its own text"
    return next(_foreign(tree), None)


def _foreign(tree: ast.Module) -> Iterator[str]:
    """Yield what the template never writes."""
    yield from (f"a file of tests has no {type(node).__name__}" for node in tree.body if not isinstance(node, _TOP))
    for node in ast.walk(tree):
        match node:
            case ast.Import([ast.alias("math", None)]):
                continue
            case ast.ImportFrom(str(module), names, 0) if {each.name for each in names} <= _IMPORTS.get(module, set()):
                continue
            case ast.alias(name, alias) if alias != ("st" if name == "strategies" else None):
                yield f"`{name}` is imported under another name"
            case ast.Import() | ast.ImportFrom():
                yield f"the import `{ast.unparse(node)}` is not among those of tests"
            case ast.FunctionDef(name) if not _TEST.fullmatch(name):
                yield f"`{name}` is no name of a test"
            case ast.Name(name) | ast.arg(name) if name not in _NAMES:
                yield f"the name `{name}` is not among those of tests"
            case ast.Attribute(attr=name) if name not in _ATTRIBUTES:
                yield f"the attribute `{name}` is not among those of tests"
            case _ if type(node) not in _SYNTAX:
                yield f"`{type(node).__name__}` is not among the syntax of tests"
