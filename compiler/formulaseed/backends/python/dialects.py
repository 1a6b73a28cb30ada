"""What each kind of generated module may hold: the syntax, names and imports that its emitter uses, and no others.

Two kinds: the modules of seeds, and those of requests. `verify` holds modules against them.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from formulaseed.backends.python.functions import names_used

Syntax = frozenset[type[ast.AST]]
Names = frozenset[str]


@dataclass(frozen=True, slots=True)
class Dialect:
    """One kind of module. The rules that hold for every kind are those of `verify`."""

    syntax: Syntax
    """What the bodies of functions are made of."""
    types: Syntax
    """What annotations are made of."""
    modules: Mapping[str, Names]
    """What may be imported as a whole, each with the parts of it that may be used."""
    imports: Mapping[str, Names]
    """What may be imported from where."""
    builtins: Names
    attributes: Names
    """Those that are no field of the module's own classes."""
    bases: Names
    """What records and errors are made of."""
    caught: Names
    """What handlers catch, as it is written."""
    sets_items: bool = False
    """Whether functions set items of their own variables."""
    rest: Names = frozenset()
    """What any further arguments are called, where a function takes them."""
    has_formulas: bool = False
    """Whether the functions of formulas are called."""

    def parts(self, module: str) -> Names:
        """The parts that may be used of a module that is imported as a whole."""
        own = self.modules[module]
        return own | names_used().math if self.has_formulas and module == "math" else own

    def methods(self) -> Names:
        """The attributes that are no field of the module's own classes."""
        return self.attributes | names_used().methods if self.has_formulas else self.attributes

    def callables(self) -> Names:
        """The builtins that functions may use."""
        return self.builtins | names_used().builtins if self.has_formulas else self.builtins


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
"""What printing a value raises."""
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
"""What reading an attribute may raise."""

_UNEXPECTED = "(KeyError, TypeError, OverflowError)"
"""What reading a row the straight way may raise."""

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
