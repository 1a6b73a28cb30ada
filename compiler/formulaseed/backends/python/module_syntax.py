"""Check that a module holds only the syntax, names and imports of its dialect, each in its place.

In: the tree of a module. Out: None, or the first piece that the dialect does not allow. Nothing runs when a module without
such a piece is imported, and the module can neither reach nor change anything outside of it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from formulaseed.backends.python.dialects import Dialect
from formulaseed.backends.python.names import FRAME_NAMES, PYTHON_NAMES

_SIGNS = (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)
"""The nodes without content of their own, such as `+`, which every dialect allows."""

_RESTRICTED = frozenset({ast.Attribute, ast.Subscript, ast.Call, ast.keyword, ast.NamedExpr})
"""The syntax that is allowed in some forms only."""

_IGNORE_WARNINGS = ["warnings.catch_warnings()", "warnings.simplefilter('ignore')"]
"""The only context manager, and the first statement inside."""

_PART_NAME = re.compile(r"part(_[0-9]+)?")
"""The name of the local for a part of a long formula."""

_NOT_TYPES = frozenset({"annotations"})
"""Imported names that are not types."""


class _Foreign(Exception):
    """The error for syntax that the emitter never writes; this module catches it."""

    def __init__(self, node: ast.AST | None, message: str) -> None:
        super().__init__(f"line {getattr(node, 'lineno', 1)}: {message}")


def find_foreign(tree: ast.Module, dialect: Dialect) -> str | None:
    """Return the line and the fault of the first part that the dialect does not allow, in words; None if none is."""
    try:
        _Checker(tree, dialect).check_module()
    except _Foreign as error:
        return str(error)
    except RecursionError:
        return "it nests too deeply"
    return None


@dataclass(frozen=True, slots=True)
class _FunctionScope:
    """The names of a function: its variables, the parts of its long formulas, and its object if it is a method."""

    variables: Collection[str]
    parts: Collection[int]
    """The identities (`id`) of the assignments to parts."""
    object: str
    """The name of the first argument of a method; empty for a function."""
    function: str

    def is_initialized(self, node: ast.expr) -> bool:
        """Return True if the node is the object that the function, an `__init__`, initializes."""
        return isinstance(node, ast.Name) and node.id == self.object and self.function == "__init__"


class _Checker:
    """The check of one module: its imports, constants, classes and functions.

    Every method that checks or defines raises `_Foreign` at the first piece that the dialect does not allow.
    """

    def __init__(self, tree: ast.Module, dialect: Dialect) -> None:
        """Note the statements of the module, without a docstring. Nothing is checked before `check_module`."""
        self.dialect = dialect
        self.callables = dialect.callables()
        self.methods = dialect.methods()
        self.body = tree.body[1:] if tree.body and is_docstring(tree.body[0]) else tree.body
        self.modules: set[str] = set()
        self.imports: set[str] = set()
        self.constants: set[str] = set()
        self.functions: set[str] = set()
        self.classes: dict[str, str] = {}
        """Maps each class to the name of its base."""
        self.fields: set[str] = set()
        """The fields of all classes."""

    def check_module(self) -> None:
        """Check the statements of the module, after registering all names that they define.

        Raises `_Foreign` at the first fault, or if the module does not import `annotations` from `__future__`.
        """
        for statement in self.body:
            self._define(statement)
        if "annotations" not in self.imports:
            raise _Foreign(None, "annotations are not to be evaluated")
        for statement in self.body:
            match statement:
                case ast.ClassDef():
                    self._check_class(statement)
                case ast.FunctionDef():
                    self._check_function(statement)
                case ast.Assign(value=value):
                    self._check_constant(value)
                case ast.AnnAssign(annotation=annotation, value=value):
                    self._check_annotation(annotation)
                    self._check_constant(value)

    # --- definitions

    def _define(self, statement: ast.stmt) -> None:
        """Register the names that a top-level statement defines.

        Raises `_Foreign` for a statement that defines none, for a class without one of the dialect's bases, and for a
        name that is taken. The value of an assignment is not checked here.
        """
        match statement:
            case ast.Import():
                self._define_module(statement)
            case ast.ImportFrom():
                self._define_imports(statement)
            case ast.Assign([ast.Name(name)]) | ast.AnnAssign(ast.Name(name), value=ast.expr()):
                self._define_name(statement, name, self.constants)
            case ast.FunctionDef(name):
                self._define_name(statement, name, self.functions)
            case ast.ClassDef(name, [ast.Name(base)], [], body, []) if base in self.dialect.bases:
                self._define_name(statement, name, set())
                self.classes[name] = base
                self._define_fields(body)
            case ast.ClassDef():
                raise _Foreign(statement, "a class is a plain record or error")
            case _:
                raise _Foreign(statement, "a module does nothing when it is imported")

    def _define_module(self, statement: ast.Import) -> None:
        """Register a module that is imported whole. Raises `_Foreign` if it is unknown, renamed, or not alone."""
        for name in statement.names:
            if len(statement.names) > 1 or name.name not in self.dialect.modules or name.asname:
                allowed = ", ".join(f"`{module}`" for module in self.dialect.modules)
                raise _Foreign(statement, f"only {allowed} may be imported so")
            self._define_name(statement, name.name, self.modules)

    def _define_imports(self, statement: ast.ImportFrom) -> None:
        """Register names that are imported from a module. Raises `_Foreign` for other names, or under other names."""
        members = self.dialect.imports.get(statement.module or "", frozenset())
        if statement.level or any(name.name not in members or name.asname for name in statement.names):
            message = f"the import from `{statement.module}` is not among those of generated modules"
            raise _Foreign(statement, message)
        for name in statement.names:
            self._define_name(statement, name.name, self.imports)

    def _define_fields(self, body: list[ast.stmt]) -> None:
        """Add the fields of a class to `self.fields`.

        Raises `_Foreign` for a name that begins with `_`, is in `FRAME_NAMES`, or is declared twice.
        """
        own_fields: set[str] = set()
        for statement in body:
            match statement:
                case ast.AnnAssign(ast.Name(name)):
                    if name.startswith("_") or name in FRAME_NAMES or name in own_fields:
                        raise _Foreign(statement, f"`{name}` is no field's name, or one that another has")
                    own_fields.add(name)
        self.fields |= own_fields

    def _define_name(self, node: ast.AST, name: str, kind: set[str]) -> None:
        """Add a name to the set `kind`. Raises `_Foreign` if the module defines it already, or it is Python's own."""
        if name in self.modules | self.imports | self.constants | self.functions | self.classes.keys():
            raise _Foreign(node, f"`{name}` is defined twice")
        if name in PYTHON_NAMES or name.startswith("__"):
            raise _Foreign(node, f"`{name}` is a name of Python's own")
        kind.add(name)

    # --- outside of functions

    def _check_constant(self, value: ast.expr | None) -> None:
        """Check that a value consists of literals, types and calls of them, or is None. Raises `_Foreign` if not."""
        for part in self._split_constant(value):
            self._check_constant(part)

    def _split_constant(self, value: ast.expr | None) -> Iterable[ast.expr | None]:
        """Return the parts of a constant that remain to be checked; none for a literal, a type, or no value.

        Raises `_Foreign` if the value is no constant.
        """
        match value:
            case None | ast.Constant() | ast.UnaryOp(ast.USub(), ast.Constant()):
                return ()
            case ast.Name(name) if self._is_type(name):
                return ()
            case ast.Tuple(items):
                return items
            case ast.Dict(keys, values) if None not in keys:
                return (*keys, *values)
            case ast.Subscript(ast.Name() as name, index):
                return (name, index)
            case ast.BinOp(left, ast.BitOr(), right):  # a union of types
                return (left, right)
            case ast.Attribute(ast.Name(name), "_fields") if self.classes.get(name) == "NamedTuple":
                return ()
            case ast.Call(ast.Name("frozenset"), [ast.Set(items)], []):
                for item in items:
                    if not isinstance(item, ast.Constant):
                        raise _Foreign(item, "a set holds literals")
                return ()
            case ast.Call(ast.Name("TypeVar"), arguments, keywords) if "TypeVar" in self.imports:
                return (*arguments, *(keyword.value for keyword in keywords))
            case ast.Call(ast.Name("Parameters"), [], []) if self.classes.get("Parameters") == "NamedTuple":
                return ()
            case _:
                raise _Foreign(value, "a module's constants are literals")

    def _is_type(self, name: str) -> bool:
        """Return True if the name may be a type: a builtin, an import, a constant or a class."""
        names: tuple[Collection[str], ...] = (self.callables, self.imports, self.constants, self.classes)
        return any(name in kind for kind in names) and name not in _NOT_TYPES

    def _check_annotation(self, annotation: ast.expr | None) -> None:
        """Check that an annotation is a plain type, or absent. Raises `_Foreign` if it is neither."""
        if annotation is None or (isinstance(annotation, ast.Name) and self._is_type(annotation.id)):
            return
        for node in ast.walk(annotation):
            if type(node) not in self.dialect.types and not isinstance(node, _SIGNS):
                raise _Foreign(node, "an annotation is a plain type")
            if isinstance(node, ast.Name) and not self._is_type(node.id):
                raise _Foreign(node, f"the name `{node.id}` is not defined in the module")

    def _check_class(self, node: ast.ClassDef) -> None:
        """Check a class: a record with fields or, with another base than `NamedTuple`, an error with an `__init__`.

        Raises `_Foreign` for anything else in its body but a docstring at the beginning.
        """
        base = self.classes[node.name]
        for index, statement in enumerate(node.body):
            match statement:
                case ast.Expr() if index == 0 and is_docstring(statement):
                    continue
                case ast.AnnAssign(ast.Name(), annotation, value) if base == "NamedTuple":
                    self._check_annotation(annotation)
                    self._check_constant(value)
                case ast.FunctionDef("__init__", decorator_list=[]) if base != "NamedTuple":
                    self._check_function(statement, is_method=True)
                case _:
                    raise _Foreign(statement, "a class is a plain record or error")

    # --- functions

    def _check_function(self, function: ast.FunctionDef, is_method: bool = False) -> None:
        """Check the signature, the names and the body of a function. Raises `_Foreign` at the first fault.

        `is_method` says that the first argument is the object, whose attributes an `__init__` may set.
        """
        arguments = self._check_arguments(function)
        nodes = list(self._checked_nodes(function))
        variables = self._check_names(function, nodes, {argument.arg for argument in arguments})
        parts = {id(part) for node in nodes for part in _find_parts(node)}
        scope = _FunctionScope(variables, parts, arguments[0].arg if is_method and arguments else "", function.name)
        for node in nodes:
            if type(node) in _RESTRICTED:
                self._check_form(node, scope)

    def _check_arguments(self, function: ast.FunctionDef) -> list[ast.arg]:
        """Check the signature of a function, and return its arguments, those with stars last.

        Raises `_Foreign` for decorators, for arguments by keyword or by position only, for starred ones that the
        dialect does not name, and for a default that is no constant.
        """
        signature = function.args
        variadic = [argument for argument in (signature.vararg, signature.kwarg) if argument is not None]
        is_foreign = any(argument.arg not in self.dialect.variadic_arguments for argument in variadic)
        if function.decorator_list or is_foreign or signature.kwonlyargs or signature.posonlyargs:
            raise _Foreign(function, "a function takes plain arguments, and is not decorated")
        for default in signature.defaults:
            if not isinstance(default, ast.Constant | ast.Name | ast.Tuple):
                raise _Foreign(default, "a default must be a literal or a name")
            self._check_constant(default)
        self._check_annotation(function.returns)
        arguments = [*signature.args, *variadic]
        for argument in arguments:
            self._check_annotation(argument.annotation)
        return arguments

    def _checked_nodes(self, function: ast.FunctionDef) -> Iterator[ast.AST]:
        """Yield every node of a function's body, except annotations, which are checked.

        Raises `_Foreign`, while iterating, for syntax, a caught exception or a context manager that the dialect does
        not have.
        """
        stack: list[ast.AST] = list(function.body)
        while stack:
            node = stack.pop()
            if type(node) not in self.dialect.syntax:
                raise _Foreign(node, f"`{type(node).__name__}` is not among the syntax of generated modules")
            yield node
            match node:
                case ast.AnnAssign(target, annotation, value):
                    self._check_annotation(annotation)
                    stack.append(target)
                    if value is not None:
                        stack.append(value)
                case ast.ExceptHandler(kind, name, body):
                    if kind is None or name or ast.unparse(kind) not in self.dialect.caught:
                        raise _Foreign(node, f"only {' and '.join(sorted(self.dialect.caught))} are caught")
                    stack += body
                case ast.With(items, body):
                    opening = [ast.unparse(part) for part in (*items, body[0])]
                    if "warnings" not in self.modules or opening != _IGNORE_WARNINGS:
                        raise _Foreign(node, "nothing but warnings is turned off")
                    stack += body[1:]
                case _:
                    stack += _iterate_children(node)

    def _check_names(self, function: ast.FunctionDef, nodes: list[ast.AST], arguments: set[str]) -> set[str]:
        """Return the names that a function assigns, its arguments excepted.

        Raises `_Foreign` if a name is undefined or hides another one, if an argument is changed, or if a module is used
        otherwise than before a dot.
        """
        stored = _find_stored_names(nodes)
        for variable in (*arguments, *stored):
            if not self._is_local(variable):
                raise _Foreign(function, f"`{variable}` is no name of a variable")
        bases = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
        names = [node for node in nodes if isinstance(node, ast.Name)]
        known = arguments | stored | self.functions | self.constants | self.classes.keys() | self.callables
        for name in names:
            if name.id in arguments and not isinstance(name.ctx, ast.Load):
                raise _Foreign(name, f"the argument `{name.id}` is changed")
            if name.id not in known and not (name.id in self.modules and id(name) in bases):
                raise _Foreign(name, f"the name `{name.id}` is not defined in the module")
        return stored - arguments

    def _is_local(self, name: str) -> bool:
        """Return True if a variable may have this name, and hides nothing that the module needs."""
        if name.startswith("_") and name != "_":
            return False
        hidden: tuple[Collection[str], ...] = (PYTHON_NAMES, self.modules, self.imports, self.constants, self.classes)
        return not any(name in names for names in hidden)

    def _check_form(self, node: ast.AST, scope: _FunctionScope) -> None:
        """Check a node of a kind that is allowed in some forms only; a node of any other kind passes.

        Raises `_Foreign` if the node has none of these forms.
        """
        match node:
            case ast.Attribute():
                self._check_attribute(node, scope)
            case ast.Subscript(value, _, context) if not isinstance(context, ast.Load):
                if not (self.dialect.can_set_items and isinstance(value, ast.Name) and value.id in scope.variables):
                    raise _Foreign(node, "an item is set")
            case ast.Call(ast.Name("type"), arguments, keywords):
                if len(arguments) != 1 or keywords:
                    raise _Foreign(node, "a class is made")
            case ast.Call(function):
                if not isinstance(function, ast.Name | ast.Attribute):
                    raise _Foreign(node, "only what has a name may be called")
            case ast.keyword(None):
                raise _Foreign(node, "arguments are unpacked")
            case ast.NamedExpr() if id(node) not in scope.parts:
                raise _Foreign(node, "only a part of a long formula is named on the way")

    def _check_attribute(self, node: ast.Attribute, scope: _FunctionScope) -> None:
        """Check that an attribute is known, and only set on an `__init__`'s own object. Raises `_Foreign` if not."""
        match node:
            case ast.Attribute(ast.Name(module), name, context) if module in self.dialect.modules:
                if name not in self.dialect.members(module) or not isinstance(context, ast.Load):
                    raise _Foreign(node, f"`{module}.{name}` is not among the functions of generated modules")
            case ast.Attribute(ast.Call(ast.Name("super"), [], []), "__init__", ast.Load()) if scope.object:
                return
            case ast.Attribute(value, name, context):
                if name not in self.fields and name not in self.methods:
                    raise _Foreign(node, f"the attribute `{name}` is not among those of generated modules")
                if not isinstance(context, ast.Load) and not scope.is_initialized(value):
                    raise _Foreign(node, f"the attribute `{name}` is set")


def is_docstring(statement: ast.stmt) -> bool:
    """Return True if the statement is a literal of any type, as a docstring is."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _find_parts(node: ast.AST) -> list[ast.expr]:
    """Return the parts of `(part := …, part_2 := …, value)[-1]`, computed before the value; none for other nodes."""
    match node:
        case ast.Subscript(ast.Tuple([*parts, _]), ast.UnaryOp(ast.USub(), ast.Constant(1))):
            return [part for part in parts if isinstance(part, ast.NamedExpr) and _PART_NAME.fullmatch(part.target.id)]
        case _:
            return []


def _find_stored_names(nodes: list[ast.AST]) -> set[str]:
    """Return the names that are assigned, except by statements such as `+=`, before which a name must have a value."""
    added = {id(node.target) for node in nodes if isinstance(node, ast.AugAssign)}
    names = [node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    return {name.id for name in names if id(name) not in added}


def _iterate_children(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes directly inside, except signs such as `+`."""
    return (child for child in ast.iter_child_nodes(node) if not isinstance(child, _SIGNS))
