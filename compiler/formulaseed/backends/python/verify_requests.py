"""The second lock for modules made of requests, as `verify` is for those of seeds.

In: a module's source, and the source that the same program gives with every description and comment left out.
Out: None, or what does not belong. Two rules. The module's tree holds only the syntax, names and imports that
the emitter uses. And but for docstrings it is the tree of the bare module, so no description became code.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_STATEMENTS = (
    ast.Module, ast.Expr, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.FunctionDef,
    ast.ClassDef, ast.Return, ast.If, ast.For, ast.Raise, ast.Try, ast.ExceptHandler,
)  # fmt: skip
_EXPRESSIONS = (
    ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Dict, ast.Compare, ast.Call, ast.Constant, ast.Attribute,
    ast.Subscript, ast.Name, ast.Tuple, ast.GeneratorExp, ast.JoinedStr, ast.FormattedValue, ast.Slice, ast.List,
)  # fmt: skip
_PARTS = (
    ast.arguments, ast.arg, ast.keyword, ast.alias, ast.comprehension, ast.expr_context, ast.boolop, ast.operator,
    ast.unaryop, ast.cmpop,
)  # fmt: skip
_ALLOWED_NODES = frozenset(_STATEMENTS + _EXPRESSIONS)

_BUILTINS = frozenset(
    {
        "abs", "any", "bool", "dict", "enumerate", "float", "int", "isinstance", "len", "list", "max", "min",
        "repr", "round", "str", "super", "tuple", "Exception", "OverflowError", "ValueError",
    }
)  # fmt: skip
_METHODS = frozenset(
    {
        "append", "bit_length", "casefold", "ceil", "floor", "get", "is_integer", "isdecimal", "items", "join", "kind", "log",
        "message", "operands", "pow", "split", "sqrt", "step", "_fields", "__init__",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Dialect:
    """What one kind of generated module may hold beside the common syntax."""

    modules: frozenset[str]
    imports: Mapping[str, frozenset[str]]
    builtins: frozenset[str]
    attributes: frozenset[str]
    nodes: frozenset[type[ast.AST]] = frozenset()
    decorators: frozenset[str] = frozenset()


_COMMON = {"__future__": frozenset({"annotations"})}

REQUESTS = Dialect(
    frozenset({"ast", "re", "warnings"}),
    {
        **_COMMON,
        "collections.abc": frozenset({"Callable", "Iterable", "Mapping", "Sequence"}),
        "functools": frozenset({"cached_property"}),
        "typing": frozenset({"Final", "Literal", "NamedTuple", "TypeAlias"}),
    },
    _BUILTINS
    | {
        "all", "dict", "frozenset", "range", "reversed", "set", "sorted", "sum", "MemoryError", "RecursionError", "SyntaxError",
        "TypeError",
    },
    _METHODS
    | {
        "IGNORECASE", "Pattern",
        "catch_warnings", "clear", "compile", "finditer", "follow", "fullmatch", "head", "known", "literal_eval",
        "match", "open", "open_few", "opened", "opened_few", "passes", "place", "program", "search", "simplefilter", "start",
        "startswith", "test", "values", "waiting",
    },
    frozenset({ast.DictComp, ast.ListComp, ast.SetComp, ast.With, ast.withitem, ast.Continue, ast.Set, ast.Starred}),
    frozenset({"cached_property"}),
)  # fmt: skip


def verify(source: str, bare: str, dialect: Dialect = REQUESTS) -> str | None:
    """What is wrong with the module, or None where it is as compiled."""
    try:
        tree, bare_tree = ast.parse(source), ast.parse(bare)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"it is no Python: {error}"
    fault = foreign(tree, dialect)
    if fault:
        return fault
    if not _same(_without_docstrings(tree), _without_docstrings(bare_tree)):
        return "its code depends on a description or a comment"
    return None


def verify_source(source: str, dialect: Dialect = REQUESTS) -> str | None:
    """The first rule alone, for a module that was read from a file."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"it is no Python: {error}"
    return foreign(tree, dialect)


def foreign(tree: ast.Module, dialect: Dialect = REQUESTS) -> str | None:
    """Syntax, a name or an import that the emitter never uses, or None."""
    everything = list(ast.walk(tree))
    defined = set(_defined(everything))
    fields = set(_members(tree))
    for node in everything:
        if type(node) not in _ALLOWED_NODES | dialect.nodes and not isinstance(node, _PARTS):
            return _at(node, f"`{type(node).__name__}` is not among the syntax of generated modules")
        fault = _foreign_node(node, defined, fields, dialect)
        if fault is not None:
            return _at(node, fault)
    classes = [statement for statement in tree.body if isinstance(statement, ast.ClassDef)]
    for statement in [*tree.body, *(inner for each in classes for inner in each.body)]:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and not _is_plain(statement.value):
            return _at(statement, "a module's constants are literals")
        if isinstance(statement, ast.Expr) and not isinstance(statement.value, ast.Constant):
            return _at(statement, "a module does nothing when it is imported")
        if isinstance(statement, ast.If | ast.For | ast.Raise | ast.Return | ast.Try | ast.AugAssign):
            return _at(statement, "a module does nothing when it is imported")
    return None


def _foreign_node(node: ast.AST, defined: set[str], fields: set[str], dialect: Dialect) -> str | None:
    if isinstance(node, ast.Name):
        if node.id not in defined and node.id not in dialect.builtins:
            return f"the name `{node.id}` is not defined in the module"
    elif isinstance(node, ast.Attribute):
        if node.attr not in fields and node.attr not in dialect.attributes:
            return f"the attribute `{node.attr}` is not among those of generated modules"
    elif isinstance(node, ast.Call):
        if not isinstance(node.func, ast.Name | ast.Attribute):
            return "only what has a name may be called"
    elif isinstance(node, ast.Import):
        if any(a.name not in dialect.modules or a.asname for a in node.names):
            return f"only {', '.join(f'`{name}`' for name in sorted(dialect.modules))} may be imported so"
    elif isinstance(node, ast.ImportFrom):
        allowed = dialect.imports.get(node.module or "", frozenset())
        if node.level or any(a.name not in allowed or a.asname for a in node.names):
            return f"the import from `{node.module}` is not among those of generated modules"
    elif isinstance(node, ast.FunctionDef | ast.ClassDef):
        if any(not isinstance(d, ast.Name) or d.id not in dialect.decorators for d in node.decorator_list):
            return "decorators do not belong in generated modules"
        if isinstance(node, ast.FunctionDef) and not all(_is_plain(default) for default in node.args.defaults):
            return "a default must be a literal or a name"
    return None


_MAKERS = frozenset({"TypeVar", "Parameters"})


def _is_plain(value: ast.expr | None) -> bool:
    """A literal, a type, or a call that only makes one: nothing that takes time or can fail when imported."""
    match value:
        case None | ast.Constant() | ast.Name():
            return True
        case ast.Tuple(elts):
            return all(_is_plain(item) for item in elts)
        case ast.Dict(keys, values):
            return all(_is_plain(item) for item in (*keys, *values))
        case ast.UnaryOp(ast.USub(), ast.Constant()):
            return True
        case ast.Subscript(ast.Name(), index):
            return _is_plain(index)
        case ast.List(elts):  # the arguments of `Callable`
            return all(_is_plain(item) for item in elts)
        case ast.BinOp(left, ast.BitOr(), right):  # a union of types
            return _is_plain(left) and _is_plain(right)
        case ast.Call(ast.Name(name), args, keywords):
            return name in _MAKERS and all(_is_plain(item) for item in (*args, *(k.value for k in keywords)))
        case _:
            return False


def _defined(everything: list[ast.AST]) -> Iterator[str]:
    for node in everything:
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                yield node.id
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.ExceptHandler) and node.name:
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.name for alias in node.names)


def _members(tree: ast.Module) -> Iterator[str]:
    """The fields and methods of the module's classes."""
    for node in tree.body:
        for item in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                yield item.target.id
            elif isinstance(item, ast.FunctionDef):
                yield item.name


def _without_docstrings(tree: ast.Module) -> ast.Module:
    """The same tree; functions and classes stand in a module and in its classes only."""
    stack: list[ast.Module | ast.stmt] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:]
            stack += node.body
    return tree


def _same(left: object, right: object) -> bool:
    """Whether two trees are equal but for places; without recursion, since an `elif` nests."""
    stack = [(left, right)]
    while stack:
        a, b = stack.pop()
        if type(a) is not type(b):
            return False
        if isinstance(a, ast.AST) and isinstance(b, ast.AST):
            stack += [(getattr(a, name, None), getattr(b, name, None)) for name in a._fields]
        elif isinstance(a, list) and isinstance(b, list):
            if len(a) != len(b):
                return False
            stack += list(zip(a, b, strict=True))
        elif a != b:
            return False
    return True


def _at(node: ast.AST, message: str) -> str:
    return f"line {getattr(node, 'lineno', 1)}: {message}"
