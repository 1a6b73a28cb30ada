"""Output verification: a module is read again before it is written or imported.

In: a module's source, the source that the same program gives with every description and comment left out, and the
dialect of its kind. Out: None, or what does not belong. Two rules. The module's tree holds only the syntax, names and
imports of the dialect, each in its place: nothing runs when it is imported, nothing outside of it can be reached or
changed. And but for docstrings it is the tree of the bare module, so no description became code.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeAlias

from formulaseed.backends.python import identity
from formulaseed.backends.python.code import BETWEEN
from formulaseed.backends.python.dialects import SEEDS, Dialect
from formulaseed.backends.python.names import FRAME_NAMES, PYTHON_NAMES

_SIGNS = (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)

_PLACED = frozenset({ast.Attribute, ast.Subscript, ast.Call, ast.keyword, ast.NamedExpr})
"""Syntax that is allowed in some forms only."""

_QUIET = ["warnings.catch_warnings()", "warnings.simplefilter('ignore')"]
"""The one context and the first statement in it."""

_PART = re.compile(r"part(_[0-9]+)?")
"""What a part of a long formula is called."""

_Body: TypeAlias = ast.Module | ast.Interactive
"""A module, or statements of one, without its docstring."""

_NO_TYPES = frozenset({"annotations"})
"""What is imported from somewhere and is no type."""


class _Foreign(Exception):
    """Something that the emitter never writes; raised and caught in this module alone."""

    def __init__(self, node: ast.AST | None, message: str) -> None:
        super().__init__(f"line {getattr(node, 'lineno', 1)}: {message}")


def verify(source: str, bare: str, dialect: Dialect = SEEDS) -> str | None:
    """What is wrong with the module, or None where it is as compiled.

    Raises what Python raises where the module nests deeper than Python reads.
    """
    for number, line in enumerate(source.split("\n"), 1):
        if not line.isprintable():
            return f"line {number}: there is something that cannot be seen"
    try:
        tree = _parsed(source)
        pairs = _pairs(source, tree, bare)
    except (SyntaxError, ValueError) as error:
        if "too many" in str(error):
            raise
        return f"it is no Python: {error}"
    fault = foreign(tree, dialect)
    if fault:
        return fault
    if identity.stated_sha256(source) != identity.body_sha256(source):
        return "it does not state the hash of its own text"
    if not all(_same(_code(part), _code(bare_part)) for part, bare_part in pairs):
        return "its code depends on a description or a comment"
    return None


def has_code_of(source: str, other: str) -> bool:
    """Whether two modules are one program, whatever their docstrings and comments say."""
    return _same(_code(_parsed(source)), _code(_parsed(other)))


def verify_source(source: str, dialect: Dialect = SEEDS) -> str | None:
    """The first rule alone, for a module that was read from a file."""
    try:
        tree = _parsed(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"it is no Python: {error}"
    return foreign(tree, dialect)


def _parsed(source: str) -> ast.Module:
    """The tree of the source as Python reads it from a file, where its first lines may name another encoding."""
    return ast.parse(source.encode())


def _pairs(source: str, tree: ast.Module, bare: str) -> list[tuple[_Body, _Body]]:
    """What is to be compared: the tree of the source with that of the bare module, as a whole or part by part.

    Parts stand between two blank lines. Those of one text need not be compared, if no statement of the source goes on from one
    part to the next, and those of another text are whole by themselves in the bare module: then all of its parts are.
    Only the first part may begin with a docstring, and name an encoding.
    """
    parts, bare_parts = source.split(BETWEEN), bare.split(BETWEEN)
    starts = [*accumulate((part.count("\n") + len(BETWEEN) for part in parts), initial=1)]
    places = [(bisect(starts, each.lineno), bisect(starts, each.end_lineno or 0)) for each in tree.body]
    if len(parts) != len(bare_parts) or any(first != last for first, last in places):
        return [(tree, _parsed(bare))]
    pairs: list[tuple[_Body, _Body]] = []
    for number, (part, bare_part) in enumerate(zip(parts, bare_parts, strict=True), 1):
        if part != bare_part:
            mine = [each for each, (place, _) in zip(tree.body, places, strict=True) if place == number]
            if number == 1:
                pairs.append((ast.Module(mine, []), _parsed(bare_part)))
            else:
                pairs.append((ast.Interactive(mine), ast.Interactive(ast.parse(bare_part).body)))
    return pairs


def foreign(tree: ast.Module, dialect: Dialect = SEEDS) -> str | None:
    """Syntax, a name or an import that the emitter never uses, or None."""
    try:
        _Verifier(tree, dialect).module()
    except _Foreign as found:
        return str(found)
    except RecursionError:
        return "it nests too deeply"
    return None


@dataclass(frozen=True, slots=True)
class _Own:
    """What is a function's own: its variables, and the object whose method it is, by the name that this has there."""

    variables: Collection[str]
    parts: Collection[int]
    """The parts of long formulas, by identity."""
    object: str
    function: str

    def makes(self, node: ast.expr) -> bool:
        """Whether this is the object that the function makes."""
        return isinstance(node, ast.Name) and node.id == self.object and self.function == "__init__"


class _Verifier:
    """Holds one module against what the emitter writes: imports, constants, records, errors and functions."""

    def __init__(self, tree: ast.Module, dialect: Dialect) -> None:
        self.dialect = dialect
        self.callables = dialect.callables()
        self.methods = dialect.methods()
        self.body = tree.body[1:] if tree.body and _is_text(tree.body[0]) else tree.body
        self.modules: set[str] = set()
        self.imports: set[str] = set()
        self.constants: set[str] = set()
        self.functions: set[str] = set()
        self.classes: dict[str, str] = {}
        """Each class with the name of its base; empty where it has none."""
        self.fields: set[str] = set()
        """The fields and methods of the classes."""

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
                for name in names:
                    if len(names) > 1 or name.name not in self.dialect.modules or name.asname:
                        allowed = ", ".join(f"`{module}`" for module in self.dialect.modules)
                        raise _Foreign(statement, f"only {allowed} may be imported so")
                    self._name(statement, name.name, self.modules)
            case ast.ImportFrom(module, names, level):
                parts = self.dialect.imports.get(module or "", frozenset())
                if level or any(name.name not in parts or name.asname for name in names):
                    raise _Foreign(statement, f"the import from `{module}` is not among those of generated modules")
                for name in names:
                    self._name(statement, name.name, self.imports)
            case ast.Assign([ast.Name(name)]) | ast.AnnAssign(ast.Name(name), value=ast.expr()):
                self._name(statement, name, self.constants)
            case ast.FunctionDef(name):
                self._name(statement, name, self.functions)
            case ast.ClassDef(name, [ast.Name(base)], [], body, []) if base in self.dialect.bases:
                self._members(statement, name, base, body)
            case ast.ClassDef():
                raise _Foreign(statement, "a class is a plain record or error")
            case _:
                raise _Foreign(statement, "a module does nothing when it is imported")

    def _members(self, node: ast.ClassDef, name: str, base: str, body: list[ast.stmt]) -> None:
        """Note a class with its fields, and with its methods where it is an object's."""
        self._name(node, name, set())
        self.classes[name] = base
        members: set[str] = set()
        for inner in body:
            match inner:
                case ast.AnnAssign(ast.Name(field)):
                    self._field(inner, field, members)
        self.fields |= members

    def _name(self, node: ast.AST, name: str, kind: set[str]) -> None:
        if name in self.modules | self.imports | self.constants | self.functions | self.classes.keys():
            raise _Foreign(node, f"`{name}` is defined twice")
        if name in PYTHON_NAMES or name.startswith("__"):
            raise _Foreign(node, f"`{name}` is a name of Python's own")
        kind.add(name)

    def _field(self, node: ast.AST, name: str, members: set[str]) -> None:
        if name.startswith("_") or name in FRAME_NAMES or name in members:
            raise _Foreign(node, f"`{name}` is no field's name, or one that another has")
        members.add(name)

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
            case ast.BinOp(left, ast.BitOr(), right):  # of types
                self._constant(left)
                self._constant(right)
            case ast.Attribute(ast.Name(name), "_fields") if self.classes.get(name) == "NamedTuple":
                return
            case ast.Call(ast.Name("frozenset"), [ast.Set(items)], []):
                for item in items:
                    if not isinstance(item, ast.Constant):
                        raise _Foreign(item, "a set holds literals")
            case ast.Call(ast.Name("TypeVar"), arguments, keywords) if "TypeVar" in self.imports:
                for part in (*arguments, *(keyword.value for keyword in keywords)):
                    self._constant(part)
            case ast.Call(ast.Name("Parameters"), [], []) if self.classes.get("Parameters") == "NamedTuple":
                return
            case _:
                raise _Foreign(value, "a module's constants are literals")

    def _is_type(self, name: str) -> bool:
        known: tuple[Collection[str], ...] = (self.callables, self.imports, self.constants, self.classes)
        return any(name in names for names in known) and name not in _NO_TYPES

    def _annotation(self, annotation: ast.expr | None) -> None:
        if annotation is None or (isinstance(annotation, ast.Name) and self._is_type(annotation.id)):
            return
        for node in ast.walk(annotation):
            if type(node) not in self.dialect.types and not isinstance(node, _SIGNS):
                raise _Foreign(node, "an annotation is a plain type")
            if isinstance(node, ast.Name) and not self._is_type(node.id):
                raise _Foreign(node, f"the name `{node.id}` is not defined in the module")

    def _class(self, node: ast.ClassDef) -> None:
        base = self.classes[node.name]
        for place, statement in enumerate(node.body):
            match statement:
                case ast.Expr() if place == 0 and _is_text(statement):
                    continue
                case ast.AnnAssign(ast.Name(), annotation, value) if base == "NamedTuple":
                    self._annotation(annotation)
                    self._constant(value)
                case ast.FunctionDef("__init__", decorator_list=[]) if base != "NamedTuple":
                    self._function(statement, is_method=True)
                case _:
                    raise _Foreign(statement, "a class is a plain record or error")

    # --- functions

    def _function(self, function: ast.FunctionDef, is_method: bool = False) -> None:
        given = function.args
        rest = [argument for argument in (given.vararg, given.kwarg) if argument is not None]
        has_others = any(argument.arg not in self.dialect.rest for argument in rest)
        if function.decorator_list or has_others or given.kwonlyargs or given.posonlyargs:
            raise _Foreign(function, "a function takes plain arguments, and is not decorated")
        for default in given.defaults:
            if not isinstance(default, ast.Constant | ast.Name | ast.Tuple):
                raise _Foreign(default, "a default must be a literal or a name")
            self._constant(default)
        self._annotation(function.returns)
        takes = [*given.args, *rest]
        for argument in takes:
            self._annotation(argument.annotation)
        nodes = list(self._inside(function))
        arguments = {argument.arg for argument in takes}
        bases = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
        added = {id(node.target) for node in nodes if isinstance(node, ast.AugAssign)}
        names = [node for node in nodes if isinstance(node, ast.Name)]
        stored = {name.id for name in names if isinstance(name.ctx, ast.Store) and id(name) not in added}
        for variable in (*arguments, *stored):
            if not self._is_local(variable):
                raise _Foreign(function, f"`{variable}` is no name of a variable")
        known = arguments | stored | self.functions | self.constants | self.classes.keys() | self.callables
        for name in names:
            if name.id in arguments and not isinstance(name.ctx, ast.Load):
                raise _Foreign(name, f"the argument `{name.id}` is changed")
            if name.id not in known and not (name.id in self.modules and id(name) in bases):
                raise _Foreign(name, f"the name `{name.id}` is not defined in the module")
        parts = {id(part) for node in nodes for part in _parts(node)}
        own = _Own(stored - arguments, parts, given.args[0].arg if is_method and given.args else "", function.name)
        for node in nodes:
            if type(node) in _PLACED:
                self._node(node, own)

    def _inside(self, function: ast.FunctionDef) -> Iterator[ast.AST]:
        """Every node of a function's body; annotations have a rule of their own."""
        stack: list[ast.AST] = list(function.body)
        while stack:
            node = stack.pop()
            if type(node) not in self.dialect.syntax:
                raise _Foreign(node, f"`{type(node).__name__}` is not among the syntax of generated modules")
            yield node
            match node:
                case ast.AnnAssign(target, annotation, value):
                    self._annotation(annotation)
                    stack += [target] if value is None else [target, value]
                case ast.ExceptHandler(kind, name, body):
                    if kind is None or name or ast.unparse(kind) not in self.dialect.caught:
                        raise _Foreign(node, f"only {' and '.join(sorted(self.dialect.caught))} are caught")
                    stack += body
                case ast.With(items, body):
                    if "warnings" not in self.modules or [ast.unparse(part) for part in (*items, body[0])] != _QUIET:
                        raise _Foreign(node, "nothing but warnings is turned off")
                    stack += body[1:]
                case _:
                    stack += _children(node)

    def _is_local(self, name: str) -> bool:
        """Whether a variable may have this name, which then hides nothing that the module needs."""
        if name.startswith("_") and name != "_":
            return False
        hidden: tuple[Collection[str], ...] = (PYTHON_NAMES, self.modules, self.imports, self.constants, self.classes)
        return not any(name in names for names in hidden)

    def _node(self, node: ast.AST, own: _Own) -> None:
        match node:
            case ast.Attribute(ast.Name(module), name, context) if module in self.dialect.modules:
                if name not in self.dialect.parts(module) or not isinstance(context, ast.Load):
                    raise _Foreign(node, f"`{module}.{name}` is not among the functions of generated modules")
            case ast.Attribute(ast.Call(ast.Name("super"), [], []), "__init__", ast.Load()) if own.object:
                return
            case ast.Attribute(value, name, context):
                if name not in self.fields and name not in self.methods:
                    raise _Foreign(node, f"the attribute `{name}` is not among those of generated modules")
                if not isinstance(context, ast.Load) and not own.makes(value):
                    raise _Foreign(node, f"the attribute `{name}` is set")
            case ast.Subscript(value, _, context) if not isinstance(context, ast.Load):
                if not (self.dialect.sets_items and isinstance(value, ast.Name) and value.id in own.variables):
                    raise _Foreign(node, "an item is set")
            case ast.Call(ast.Name("type"), arguments, keywords):
                if len(arguments) != 1 or keywords:
                    raise _Foreign(node, "a class is made")
            case ast.Call(function):
                if not isinstance(function, ast.Name | ast.Attribute):
                    raise _Foreign(node, "only what has a name may be called")
            case ast.keyword(None):
                raise _Foreign(node, "arguments are unpacked")
            case ast.NamedExpr() if id(node) not in own.parts:
                raise _Foreign(node, "only a part of a long formula is named on the way")


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _parts(node: ast.AST) -> list[ast.expr]:
    """The parts of `(part := …, part_2 := …, value)[-1]`, which computes them before the value."""
    match node:
        case ast.Subscript(ast.Tuple([*parts, _]), ast.UnaryOp(ast.USub(), ast.Constant(1))):
            return [part for part in parts if isinstance(part, ast.NamedExpr) and _PART.fullmatch(part.target.id)]
        case _:
            return []


def _code(tree: _Body) -> _Body:
    """The same tree without docstrings and without the hash of the text.

    Functions and classes stand in a module and in its classes only.
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
    match statement:
        case ast.AnnAssign(ast.Name(identity.HASH), ast.Name("Final"), ast.Constant(str())):
            return True
        case _:
            return False


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
