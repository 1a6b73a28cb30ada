"""The second lock: a module is read again before it is written or imported.

In: a module's source, and the source that the same program gives with every description and comment left out.
Out: None, or what does not belong. Two rules. The module's tree holds only the syntax, names and imports that
the emitter uses, each in its place: nothing runs when it is imported, nothing outside of it can be reached or
changed. And but for docstrings it is the tree of the bare module, so no description became code.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from formulaseed.backends.python.names import FRAME_NAMES, PYTHON_NAMES

_STATEMENTS = (
    ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.If, ast.For, ast.Raise, ast.Try,
    ast.ExceptHandler,
)  # fmt: skip
_EXPRESSIONS = (
    ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Dict, ast.Compare, ast.Call, ast.Constant, ast.Attribute,
    ast.Subscript, ast.Name, ast.Tuple, ast.GeneratorExp, ast.JoinedStr, ast.FormattedValue, ast.Slice, ast.List,
    ast.comprehension, ast.keyword,
)  # fmt: skip
_ALLOWED_NODES = frozenset(_STATEMENTS + _EXPRESSIONS)
_TYPES = frozenset({ast.Name, ast.Constant, ast.Subscript, ast.Tuple, ast.BinOp})
_SIGNS = (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)

_PLACED = frozenset({ast.Attribute, ast.Subscript, ast.Call, ast.keyword, ast.ExceptHandler})
"""Syntax that is allowed in some forms only."""

_IMPORTS = {
    "__future__": {"annotations"},
    "collections.abc": {"Iterable", "Mapping", "Sequence"},
    "typing": {"Final", "Literal", "NamedTuple", "TypeAlias", "TypeVar"},
}
_BASES = frozenset({"NamedTuple", "Exception", "ValueError"})
_BUILTINS = frozenset(
    {
        "abs", "any", "bool", "dict", "enumerate", "float", "int", "isinstance", "len", "list", "max", "min", "repr",
        "round", "str", "super", "tuple", "Exception", "OverflowError", "ValueError",
    }
)  # fmt: skip
_METHODS = frozenset(
    {
        "append", "bit_length", "casefold", "get", "is_integer", "isdecimal", "items", "join", "kind", "message",
        "operands", "split", "step",
    }
)  # fmt: skip
_MATH = frozenset({"ceil", "floor", "log", "pow", "sqrt"})


class _Foreign(Exception):
    """Something that the emitter never writes; raised and caught in this module alone."""

    def __init__(self, node: ast.AST | None, message: str) -> None:
        super().__init__(f"line {getattr(node, 'lineno', 1)}: {message}")


def verify(source: str, bare: str) -> str | None:
    """What is wrong with the module, or None where it is as compiled."""
    for number, line in enumerate(source.split("\n"), 1):
        if not line.isprintable():
            return f"line {number}: there is something that cannot be seen"
    try:
        tree, bare_tree = _parsed(source), _parsed(bare)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"it is no Python: {error}"
    fault = foreign(tree)
    if fault:
        return fault
    if not _same(_without_docstrings(tree), _without_docstrings(bare_tree)):
        return "its code depends on a description or a comment"
    return None


def verify_source(source: str) -> str | None:
    """The first rule alone, for a module that was read from a file."""
    try:
        tree = _parsed(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"it is no Python: {error}"
    return foreign(tree)


def _parsed(source: str) -> ast.Module:
    """The tree of the source as Python reads it from a file, where its first lines may name another encoding."""
    return ast.parse(source.encode())


def foreign(tree: ast.Module) -> str | None:
    """Syntax, a name or an import that the emitter never uses, or None."""
    try:
        _Verifier(tree).module()
    except _Foreign as found:
        return str(found)
    except RecursionError:
        return "it nests too deeply"
    return None


class _Verifier:
    """Holds one module against what the emitter writes: imports, constants, records, errors and functions."""

    def __init__(self, tree: ast.Module) -> None:
        self.body = tree.body[1:] if tree.body and _is_text(tree.body[0]) else tree.body
        self.imports: set[str] = set()
        self.constants: set[str] = set()
        self.functions: set[str] = set()
        self.classes: dict[str, str] = {}
        """Each class with the name of its base."""
        self.fields: set[str] = set()

    def module(self) -> None:
        for statement in self.body:
            self._defined(statement)
        if "annotations" not in self.imports:
            raise _Foreign(None, "annotations are not to be evaluated")
        for statement in self.body:
            match statement:
                case ast.ClassDef():
                    self._class(statement)
                case ast.FunctionDef():
                    self._function(statement)
                case ast.Assign(value=value):
                    self._constant(value)
                case ast.AnnAssign(annotation=annotation, value=value):
                    self._annotation(annotation)
                    self._constant(value)

    # --- what is defined

    def _defined(self, statement: ast.stmt) -> None:
        """Note what a statement of the module defines."""
        match statement:
            case ast.Import(names):
                if [(name.name, name.asname) for name in names] != [("math", None)]:
                    raise _Foreign(statement, "only `math` may be imported so")
                self._name(statement, "math", self.imports)
            case ast.ImportFrom(module, names, level):
                allowed = _IMPORTS.get(module or "", set())
                if level or any(name.name not in allowed or name.asname for name in names):
                    raise _Foreign(statement, f"the import from `{module}` is not among those of generated modules")
                for name in names:
                    self._name(statement, name.name, self.imports)
            case ast.Assign([ast.Name(name)]) | ast.AnnAssign(ast.Name(name), value=ast.expr()):
                self._name(statement, name, self.constants)
            case ast.FunctionDef(name):
                self._name(statement, name, self.functions)
            case ast.ClassDef(name, [ast.Name(base)], [], body, []) if base in _BASES:
                self._name(statement, name, set())
                self.classes[name] = base
                for inner in body:
                    if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name):
                        self._field(inner, inner.target.id)
            case ast.ClassDef():
                raise _Foreign(statement, "a class is a plain record or error")
            case _:
                raise _Foreign(statement, "a module does nothing when it is imported")

    def _name(self, node: ast.AST, name: str, kind: set[str]) -> None:
        if name in self.imports | self.constants | self.functions | self.classes.keys():
            raise _Foreign(node, f"`{name}` is defined twice")
        if name in PYTHON_NAMES or name.startswith("__"):
            raise _Foreign(node, f"`{name}` is a name of Python's own")
        kind.add(name)

    def _field(self, node: ast.AST, name: str) -> None:
        if name.startswith("_") or name in FRAME_NAMES:
            raise _Foreign(node, f"`{name}` is no field's name")
        self.fields.add(name)

    # --- what stands outside of functions

    def _constant(self, value: ast.expr | None) -> None:
        """A literal, a type, or a call that only makes one: nothing that takes time or can fail when imported."""
        match value:
            case None | ast.Constant() | ast.UnaryOp(ast.USub(), ast.Constant()):
                return
            case ast.Name(name) if self._is_type(name):
                return
            case ast.Tuple(items):
                for item in items:
                    self._constant(item)
            case ast.Dict(keys, values) if None not in keys:
                for part in (*keys, *values):
                    self._constant(part)
            case ast.Subscript(ast.Name() as name, index):
                self._constant(name)
                self._constant(index)
            case ast.Call(ast.Name("TypeVar"), arguments, keywords) if "TypeVar" in self.imports:
                for part in (*arguments, *(keyword.value for keyword in keywords)):
                    self._constant(part)
            case ast.Call(ast.Name("Parameters"), [], []) if self.classes.get("Parameters") == "NamedTuple":
                return
            case _:
                raise _Foreign(value, "a module's constants are literals")

    def _is_type(self, name: str) -> bool:
        known: tuple[Collection[str], ...] = (_BUILTINS, self.imports, self.constants, self.classes)
        return any(name in names for names in known)

    def _annotation(self, annotation: ast.expr | None) -> None:
        if annotation is None or (isinstance(annotation, ast.Name) and self._is_type(annotation.id)):
            return
        for node in ast.walk(annotation):
            if type(node) not in _TYPES and not isinstance(node, _SIGNS):
                raise _Foreign(node, "an annotation is a plain type")
            if (
                isinstance(node, ast.Name)
                and node.id not in _BUILTINS | self.imports | self.constants | self.classes.keys()
            ):
                raise _Foreign(node, f"the name `{node.id}` is not defined in the module")

    def _class(self, node: ast.ClassDef) -> None:
        for place, statement in enumerate(node.body):
            match statement:
                case ast.Expr() if place == 0 and _is_text(statement):
                    continue
                case ast.AnnAssign(ast.Name(), annotation, value) if self.classes[node.name] == "NamedTuple":
                    self._annotation(annotation)
                    self._constant(value)
                case ast.FunctionDef("__init__") if self.classes[node.name] != "NamedTuple":
                    self._function(statement, is_method=True)
                case _:
                    raise _Foreign(statement, "a class is a plain record or error")

    # --- functions

    def _function(self, function: ast.FunctionDef, is_method: bool = False) -> None:
        given = function.args
        if function.decorator_list or given.vararg or given.kwarg or given.kwonlyargs or given.posonlyargs:
            raise _Foreign(function, "a function takes plain arguments, and is not decorated")
        for default in given.defaults:
            if not isinstance(default, ast.Constant | ast.Name | ast.Tuple):
                raise _Foreign(default, "a default must be a literal or a name")
            self._constant(default)
        self._annotation(function.returns)
        for argument in given.args:
            self._annotation(argument.annotation)
        nodes = list(self._inside(function))
        arguments = {argument.arg for argument in given.args}
        bases = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
        added = {id(node.target) for node in nodes if isinstance(node, ast.AugAssign)}
        kept = {id(node.targets[0]) for node in nodes if isinstance(node, ast.Assign) and _keeps(node)}
        names = [node for node in nodes if isinstance(node, ast.Name)]
        stored = {name.id for name in names if isinstance(name.ctx, ast.Store) and id(name) not in added}
        for variable in (*arguments, *stored):
            if not self._is_local(variable):
                raise _Foreign(function, f"`{variable}` is no name of a variable")
        known = arguments | stored | self.functions | self.constants | self.classes.keys() | _BUILTINS
        for name in names:
            if name.id in arguments and not isinstance(name.ctx, ast.Load) and id(name) not in kept:
                raise _Foreign(name, f"the argument `{name.id}` is changed")
            if name.id not in known and not (name.id == "math" and "math" in self.imports and id(name) in bases):
                raise _Foreign(name, f"the name `{name.id}` is not defined in the module")
        for node in nodes:
            if type(node) in _PLACED:
                self._node(node, is_method)

    def _inside(self, function: ast.FunctionDef) -> Iterator[ast.AST]:
        """Every node of a function's body; annotations are held against their own rule."""
        stack: list[ast.AST] = list(function.body)
        while stack:
            node = stack.pop()
            if type(node) not in _ALLOWED_NODES:
                raise _Foreign(node, f"`{type(node).__name__}` is not among the syntax of generated modules")
            yield node
            if isinstance(node, ast.AnnAssign):
                self._annotation(node.annotation)
                stack += [node.target] if node.value is None else [node.target, node.value]
            else:
                stack += _children(node)

    def _is_local(self, name: str) -> bool:
        """Whether a variable may have this name, which then hides nothing that the module needs."""
        if name.startswith("_") and name != "_":
            return False
        return name not in PYTHON_NAMES and not self._is_type(name)

    def _node(self, node: ast.AST, is_method: bool) -> None:
        match node:
            case ast.Attribute(ast.Name("math"), name):
                if name not in _MATH:
                    raise _Foreign(node, f"`math.{name}` is not among the functions of generated modules")
            case ast.Attribute(ast.Call(ast.Name("super"), [], []), "__init__", ast.Load()) if is_method:
                return
            case ast.Attribute(value, name, context):
                if name not in self.fields and name not in _METHODS:
                    raise _Foreign(node, f"the attribute `{name}` is not among those of generated modules")
                if not isinstance(context, ast.Load) and not (is_method and isinstance(value, ast.Name)):
                    raise _Foreign(node, f"the attribute `{name}` is set")
            case ast.Subscript(_, _, context) if not isinstance(context, ast.Load):
                raise _Foreign(node, "an item is set")
            case ast.Call(function):
                if not isinstance(function, ast.Name | ast.Attribute):
                    raise _Foreign(node, "only what has a name may be called")
            case ast.keyword(None):
                raise _Foreign(node, "arguments are unpacked")
            case ast.ExceptHandler(kind):
                if not isinstance(kind, ast.Name) or kind.id != "OverflowError" or node.name:
                    raise _Foreign(node, "only an overflow is caught")


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _keeps(node: ast.Assign) -> bool:
    """`rows = tuple(rows)`, which keeps the rows for a second pass over them."""
    match node:
        case ast.Assign([ast.Name("rows")], ast.Call(ast.Name("tuple"), [ast.Name("rows")], [])):
            return True
        case _:
            return False


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


def _same(left: ast.AST, right: ast.AST) -> bool:
    """Whether two trees are equal but for places; without recursion, since an `elif` nests."""
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


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes directly inside, signs such as `+` left out."""
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, list):
            for item in value:
                if isinstance(item, ast.AST) and not isinstance(item, _SIGNS):
                    yield item
        elif isinstance(value, ast.AST) and not isinstance(value, _SIGNS):
            yield value
