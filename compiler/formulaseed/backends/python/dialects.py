"""Define the syntax, names and imports that each kind of generated module may have: those that its emitter uses.

Two kinds: the modules of seeds, and those of requests. `module_syntax` checks modules against them.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from formulaseed.backends.python.functions import find_spelled_names

Syntax = frozenset[type[ast.AST]]
Names = frozenset[str]


@dataclass(frozen=True, slots=True)
class Dialect:
    """One kind of module. The rules that hold for every kind are those of `verify`."""

    syntax: Syntax
    """The nodes in bodies of functions."""
    types: Syntax
    """The nodes in annotations."""
    modules: Mapping[str, Names]
    """The modules that may be imported as a whole, with the parts that may be used."""
    imports: Mapping[str, Names]
    """The names that may be imported from each module."""
    builtins: Names
    attributes: Names
    """The attributes that are not fields of the module's own classes."""
    bases: Names
    """The bases of records and errors."""
    caught: Names
    """The exceptions that handlers catch, as code."""
    sets_items: bool = False
    """True if functions may set items of their own variables."""
    rest: Names = frozenset()
    """The names of further arguments, if a function takes any number."""
    has_formulas: bool = False
    """True if the functions of formulas may be called."""

    def parts(self, module: str) -> Names:
        """Return the parts that may be used of a module that is imported as a whole."""
        own = self.modules[module]
        return own | find_spelled_names().math if self.has_formulas and module == "math" else own

    def methods(self) -> Names:
        """Return the attributes that are not fields of the module's own classes."""
        return self.attributes | find_spelled_names().methods if self.has_formulas else self.attributes

    def callables(self) -> Names:
        """Return the builtins that functions may use."""
        return self.builtins | find_spelled_names().builtins if self.has_formulas else self.builtins


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
_UNPRINTABLE = "(ValueError, RecursionError)"
"""The exceptions of printing a value."""
_ATTRIBUTES = frozenset({"append", "casefold", "get", "items"})

_SEED_ATTRIBUTES = frozenset(
    {
        "bit_length", "fromisoformat", "is_integer", "isascii", "isdecimal", "join", "kind", "message", "month", "operands",
        "replace", "startswith", "step", "year",
    }
)  # fmt: skip
EARLIER = frozenset({"split"})
"""Attributes that modules of seeds had before they stated their hash; they may still be allowed to run."""
_ATTRIBUTE_READING: Mapping[str, Names] = {
    "ast": frozenset({"literal_eval"}),
    "warnings": frozenset(),  # in its one place only, which is taken as a whole
}
_UNREADABLE = "(ValueError, SyntaxError, TypeError, MemoryError, RecursionError)"
"""The exceptions of reading an attribute."""

_UNEXPECTED = "(KeyError, TypeError, OverflowError)"
"""The exceptions of reading a row by the fast path."""

SEEDS = Dialect(
    syntax=_SYNTAX | {ast.NamedExpr, ast.Pass, ast.With},
    types=_TYPES,
    modules={
        **_ATTRIBUTE_READING,
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
    attributes=_ATTRIBUTES | _SEED_ATTRIBUTES | EARLIER,
    bases=frozenset({"NamedTuple", "Exception", "ValueError"}),
    caught=frozenset({"OverflowError", "ValueError", _UNPRINTABLE, _UNREADABLE, _UNEXPECTED}),
    has_formulas=True,
)

REQUESTS = Dialect(
    syntax=_SYNTAX | {ast.keyword, ast.ListComp, ast.SetComp, ast.Set, ast.With},
    types=_TYPES | {ast.List},
    modules={
        **_ATTRIBUTE_READING,
        "re": frozenset({"IGNORECASE", "compile", "fullmatch"}),
    },
    imports={
        "__future__": frozenset({"annotations"}),
        "collections.abc": frozenset({"Mapping", "Sequence"}),
        "typing": frozenset({"Final", "Literal", "NamedTuple", "TypeAlias"}),
    },
    builtins=_BUILTINS | {"all", "frozenset", "range", "set", "sorted", "sum"},
    attributes=(_ATTRIBUTES - {"append"}) | {"search", "split", "startswith", "values"},
    bases=frozenset({"NamedTuple", "ValueError"}),
    caught=frozenset({_UNPRINTABLE, _UNREADABLE}),
    sets_items=True,
    rest=frozenset({"rules", "values"}),
)
