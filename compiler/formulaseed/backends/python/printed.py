"""Define printed code of expressions, with the facts that the code around it depends on, and join several pieces of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from formulaseed.backends.python.code import Code
from formulaseed.backends.python.names import Names
from formulaseed.language import operators
from formulaseed.language.printer import parenthesize
from formulaseed.language.typed import Expr

SIMPLE = re.compile(r"-?(?:[^\W\d]\w*(?:\.[^\W\d]\w*)*|[0-9][0-9.]*(?:e[+-]?[0-9]+)?)")
"""A name, an attribute or a number."""

MAX_DEPTH = 10
"""The brackets that may be nested below an operation: a reader follows no more, Python two hundred."""


@dataclass(frozen=True, slots=True)
class Printed:
    """Code of an expression.

    `may_be_infinite`: the value may be infinite, and no check has raised. `raises`: evaluating it may raise. `is_float`: the
    value is a float, never an integer: only a float can be infinite, a large integer is an error before. `depth`: the
    number of nested brackets.
    """

    code: Code
    precedence: int
    may_be_infinite: bool = False
    raises: bool = False
    is_float: bool = False
    depth: int = 0

    def code_at(self, precedence: int) -> Code:
        """Return the code as an operand of an operator with this precedence, in brackets if it binds less tightly."""
        return Code(parenthesize(self.code, self.precedence, precedence))

    def depth_at(self, precedence: int) -> int:
        """Return the depth of the code that `code_at` returns."""
        return self.depth if self.precedence >= precedence else self.depth + 1


class PartLocals:
    """The locals that parts of long formulas are computed into: one for each part, also if it is printed more than once."""

    def __init__(self, scope: Names) -> None:
        self._scope = scope
        self._locals: dict[int, tuple[Expr, Code]] = {}

    def local(self, part: Expr) -> Code:
        """Return the local of a part, the same for each call with this very node; a new part gets a free name."""
        if id(part) not in self._locals:
            self._locals[id(part)] = part, self._scope.add_local("part")
        return self._locals[id(part)][1]


def print_flag_test(flag: Printed, test: str) -> Printed:
    """Print a test of a boolean that may be null, such as `flag is not False`."""
    code = Code(f"{flag.code_at(operators.ADDITIVE)} {test}")
    return Printed(code, operators.COMPARISON, raises=flag.raises, depth=flag.depth_at(operators.ADDITIVE))


def print_after_all(parts: Sequence[Printed], result: bool) -> Printed:
    """Print the constant `result`, after code that is evaluated because it may raise; alone if `parts` is empty."""
    code = Code(f"({', '.join(part.code for part in parts)}, {result})[-1]" if parts else str(result))
    return Printed(code, operators.ATOM, raises=can_any_raise(parts), depth=max_depth(parts) + 1)


def join_printed(word: str, precedence: int, parts: Sequence[Printed]) -> Printed:
    """Join operands with `word`, `and` or `or`; a single one is returned as it is. `parts` must not be empty."""
    if len(parts) == 1:
        return parts[0]
    code = Code(f" {word} ".join(part.code_at(precedence + 1) for part in parts))
    is_float = all(part.is_float for part in parts)
    return Printed(
        code, precedence, raises=can_any_raise(parts), is_float=is_float, depth=max_depth(parts, precedence + 1)
    )


def can_any_raise(parts: Iterable[Printed]) -> bool:
    """Return True if evaluating one of the parts may raise."""
    return any(part.raises for part in parts)


def max_depth(parts: Iterable[Printed], precedence: int = 0) -> int:
    """Return the greatest depth of these operands of an operator; 0 if there are none."""
    return max((part.depth_at(precedence) for part in parts), default=0)
