"""Define the syntax, names and imports that each kind of generated module may have: those that its emitter uses.

There are two kinds: the modules of seeds and rules, and those of requests. `module_syntax` checks modules against them.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from formulaseed.backends.python.functions import find_spelled_names

Syntax = frozenset[type[ast.AST]]
NameSet = frozenset[str]


@dataclass(frozen=True, slots=True)
class Dialect:
    """The syntax and the names of one kind of module; `module_syntax` has the rules that hold for every kind."""

    syntax: Syntax
    """The nodes in bodies of functions."""
    types: Syntax
    """The nodes in annotations."""
    modules: Mapping[str, NameSet]
    """The modules that may be imported as a whole, with the parts that may be used."""
    imports: Mapping[str, NameSet]
    """The names that may be imported from each module."""
    builtins: NameSet
    attributes: NameSet
    """The attributes that are not fields of the module's own classes."""
    bases: NameSet
    """The bases of records and errors."""
    caught: NameSet
    """The exceptions that handlers catch, as code."""
    can_set_items: bool = False
    """True if functions may set items of their own variables."""
    variadic_arguments: NameSet = frozenset()
    """The names that `*args` and `**kwargs` may have."""
    has_formulas: bool = False
    """True if the functions of formulas may be called."""

    def members(self, module: str) -> NameSet:
        """Return the parts that may be used of a module that is imported as a whole."""
        if self.has_formulas and module == "math":
            return self.modules[module] | find_spelled_names().math
        return self.modules[module]

    def methods(self) -> NameSet:
        """Return the attributes that may be used, except the fields of the module's own classes."""
        if self.has_formulas:
            return self.attributes | find_spelled_names().methods
        return self.attributes

    def callables(self) -> NameSet:
        """Return the builtins that functions may use."""
        if self.has_formulas:
            return self.builtins | find_spelled_names().builtins
        return self.builtins


_SYNTAX: Syntax = frozenset(
    {
        ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.If, ast.For, ast.Raise, ast.Try,
        ast.ExceptHandler, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Dict, ast.Compare, ast.Call, ast.Constant,
        ast.Attribute, ast.Subscript, ast.Name, ast.Tuple, ast.GeneratorExp, ast.JoinedStr, ast.FormattedValue, ast.Slice,
        ast.List, ast.comprehension,
    }
)  # fmt: skip
_TYPES: Syntax = frozenset({ast.Name, ast.Constant, ast.Subscript, ast.Tuple, ast.BinOp})
_BUILTINS = frozenset(
    {
        "any", "bool", "dict", "enumerate", "float", "int", "isinstance", "len", "list", "max", "min", "repr", "str", "tuple",
        "ValueError",
    }
)  # fmt: skip
_PRINT_ERRORS = "(ValueError, RecursionError)"
"""The exceptions of printing a value."""
_ATTRIBUTES = frozenset({"append", "casefold", "get", "items"})

_SEED_ATTRIBUTES = frozenset(
    {
        "bit_length", "fromisoformat", "is_integer", "isascii", "isdecimal", "join", "kind", "message", "month", "operands",
        "replace", "startswith", "step", "year",
    }
)  # fmt: skip
EARLIER_ATTRIBUTES = frozenset({"split"})
"""The attributes of modules of earlier releases, which did not state their hash; users may still allow these to run."""
_ATTRIBUTE_MODULES: Mapping[str, NameSet] = {
    "ast": frozenset({"literal_eval"}),
    "warnings": frozenset(),  # used in one `with` statement only, which is compared as a whole
}
"""The modules that read the attributes of Yelp's restaurants."""
_ATTRIBUTE_ERRORS = "(ValueError, SyntaxError, TypeError, MemoryError, RecursionError)"
"""The exceptions of reading an attribute."""

_ROW_ERRORS = "(KeyError, TypeError, OverflowError)"
"""The exceptions of the straight reader of rows."""

SEEDS = Dialect(
    syntax=_SYNTAX | {ast.NamedExpr, ast.Pass, ast.With},
    types=_TYPES,
    modules={
        **_ATTRIBUTE_MODULES,
        "datetime": frozenset({"datetime"}),
        "math": frozenset({"pow"}),
        "re": frozenset({"fullmatch"}),
    },
    imports={
        "__future__": frozenset({"annotations"}),
        "collections.abc": frozenset({"Iterable", "Mapping", "Sequence"}),
        "typing": frozenset({"Final", "Literal", "NamedTuple", "TypeAlias", "TypeVar"}),
    },
    builtins=_BUILTINS | {"frozenset", "range", "sorted", "super", "type", "Exception"},
    attributes=_ATTRIBUTES | _SEED_ATTRIBUTES | EARLIER_ATTRIBUTES,
    bases=frozenset({"NamedTuple", "Exception", "ValueError"}),
    caught=frozenset({"OverflowError", "ValueError", _PRINT_ERRORS, _ATTRIBUTE_ERRORS, _ROW_ERRORS}),
    has_formulas=True,
)

REQUESTS = Dialect(
    syntax=_SYNTAX | {ast.keyword, ast.ListComp, ast.SetComp, ast.Set, ast.With},
    types=_TYPES | {ast.List},
    modules={**_ATTRIBUTE_MODULES, "re": frozenset({"IGNORECASE", "compile", "fullmatch"})},
    imports={
        "__future__": frozenset({"annotations"}),
        "collections.abc": frozenset({"Mapping", "Sequence"}),
        "typing": frozenset({"Final", "Literal", "NamedTuple", "TypeAlias"}),
    },
    builtins=_BUILTINS | {"all", "frozenset", "range", "set", "sorted", "sum"},
    attributes=(_ATTRIBUTES - {"append"}) | {"search", "split", "startswith", "values"},
    bases=frozenset({"NamedTuple", "ValueError"}),
    caught=frozenset({_PRINT_ERRORS, _ATTRIBUTE_ERRORS}),
    can_set_items=True,
    variadic_arguments=frozenset({"rules", "values"}),
)
