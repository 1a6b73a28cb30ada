"""Every expression over a small alphabet as Python's trees, and which of them the type rules allow.

Written from docs/language.md alone; imports nothing of formulaseed.

A tree's size is the number of its tokens without brackets and commas; `if … else` is two.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

KINDS: dict[str, frozenset[str]] = {
    "x": frozenset({"integer"}), "y": frozenset({"number"}), "b": frozenset({"flag"}), "n": frozenset({"number", "null"}),
}  # fmt: skip
"""What the names can be."""


@dataclass(frozen=True)
class Alphabet:
    """What trees are made of: names and literals, functions of one and of two arguments, operators."""

    leaves: tuple[str, ...]
    calls: tuple[str, ...]
    calls_of_two: tuple[str, ...]
    arithmetic: tuple[ast.operator, ...]
    in_text: bool
    """Whether `in` also looks in what is no list."""

    @cache  # noqa: B019 - there are two alphabets
    def trees(self, size: int) -> tuple[ast.expr, ...]:
        """Every tree of this size."""
        return tuple(self._trees(size))

    def _trees(self, size: int) -> Iterator[ast.expr]:
        if size == 1:
            yield from (ast.parse(leaf, mode="eval").body for leaf in self.leaves)
            return
        for (operand,) in self._operands(size - 1, 1):
            yield from (ast.UnaryOp(sign, operand) for sign in (ast.USub(), ast.Not()))
            yield from (ast.Call(ast.Name(name, ast.Load()), [operand], []) for name in self.calls)
        for left, right in self._operands(size - 1, 2):
            yield from (ast.BinOp(left, sign, right) for sign in self.arithmetic)
            yield from (ast.Compare(left, [sign], [right]) for sign in _COMPARISONS)
            yield from (ast.BoolOp(word, [left, right]) for word in _WORDS)
            yield from (ast.Call(ast.Name(name, ast.Load()), [left, right], []) for name in self.calls_of_two)
            yield ast.Compare(left, [ast.In()], [ast.List([right], ast.Load())])
            if self.in_text:
                yield ast.Compare(left, [ast.In()], [right])
        for left, *items in self._operands(size - 1, 3):
            yield ast.Compare(left, [ast.In()], [ast.List(items, ast.Load())])
        for first, second, third in self._operands(size - 2, 3):
            yield ast.IfExp(second, first, third)
            yield from (ast.BoolOp(word, [first, second, third]) for word in _WORDS)
            yield from (ast.Compare(first, [a, b], [second, third]) for a in _COMPARISONS for b in _COMPARISONS)

    def _operands(self, size: int, parts: int) -> Iterator[tuple[ast.expr, ...]]:
        """Trees with so many tokens in all."""
        for sizes in _splits(size, parts):
            yield from product(*(self.trees(each) for each in sizes))


_COMPARISONS = (ast.Lt(), ast.Eq())
_WORDS = (ast.And(), ast.Or())

WIDE = Alphabet(
    ("0", "2", "x", "y", "b", "n", "'s'", "None"),
    ("abs", "log", "sqrt", "int"),
    ("max",),
    (ast.Add(), ast.Sub(), ast.Mult(), ast.Div(), ast.FloorDiv(), ast.Mod(), ast.Pow()),
    True,
)
NARROW = Alphabet(("0", "2", "x", "n", "b", "None"), ("log",), (), (ast.Sub(), ast.Div(), ast.Pow()), False)


def _splits(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """The ways to give so many tokens to so many parts."""
    if parts == 1 and total > 0:
        yield (total,)
    elif parts > 1:
        for first in range(1, total - parts + 2):
            for rest in _splits(total - first, parts - 1):
                yield (first, *rest)


# --- the type rules

_NUMBERS = frozenset({"integer", "number"})
_NULL = frozenset({"null"})


class Refused(Exception):
    """The type rules do not allow it."""


def kinds(node: ast.expr) -> frozenset[str]:
    """What the values can be: integer, number, flag, text, null. Raises `Refused` for what is ill typed.

    What conditions prove is left out: a value that may be null is taken to be so everywhere.
    """
    match node:
        case ast.Name(name):
            return KINDS[name]
        case ast.Constant(value):
            names = {int: "integer", float: "number", bool: "flag", str: "text", type(None): "null"}
            return frozenset({names[type(value)]})
        case ast.UnaryOp(ast.Not(), operand):
            _condition(kinds(operand))
            return frozenset({"flag"})
        case ast.UnaryOp(_, operand):
            return _number(operand)
        case ast.BinOp(left, sign, right):
            found = _number(left) | _number(right)
            return frozenset({"number"}) if isinstance(sign, ast.Div | ast.Pow) or "number" in found else found
        case ast.Call(ast.Name("int"), [argument]) if kinds(argument) - _NULL == {"flag"}:
            return frozenset({"integer"})
        case ast.Call(ast.Name(name), arguments):
            found = frozenset().union(*map(_number, arguments))
            return frozenset({{"log": "number", "sqrt": "number", "int": "integer"}.get(name, max(found))})
        case ast.Compare(left, signs, rights):
            before = kinds(left)
            for sign, right in zip(signs, rights, strict=True):
                before = _compared(before, sign, right)
            return frozenset({"flag"})
        case ast.BoolOp(word, operands):
            parts = [kinds(operand) for operand in operands]
            if isinstance(word, ast.Or):  # null never is what `or` gives, unless it stands last
                parts = [*(part - _NULL for part in parts[:-1]), parts[-1]]
            return _joined(*parts)
        case ast.IfExp(test, then, otherwise):
            _condition(kinds(test))
            return _joined(kinds(then), kinds(otherwise))
    raise AssertionError(ast.dump(node))


def _condition(found: frozenset[str]) -> None:
    """True or false; of what may be null it is asked whether it is there."""
    if found != {"flag"} and "null" not in found:
        raise Refused("no condition")


def _number(node: ast.expr) -> frozenset[str]:
    return _numeric(kinds(node))


def _numeric(found: frozenset[str]) -> frozenset[str]:
    """What a number can be; null is none for certain, and fails where it is evaluated."""
    found -= _NULL
    if not found <= _NUMBERS:
        raise Refused("no number")
    return frozenset({max(found, default="integer")})  # "integer" < "number"


def _joined(*parts: frozenset[str]) -> frozenset[str]:
    """Values of one type, and null."""
    found = frozenset().union(*parts)
    if len(found - _NULL - _NUMBERS) + bool(found & _NUMBERS) > 1:
        raise Refused("different types")
    return found - {"integer"} if "number" in found else found


def _compared(left: frozenset[str], sign: ast.cmpop, right: ast.expr) -> frozenset[str]:
    """What the right side can be where a chain goes on: what was ordered is there."""
    if isinstance(sign, ast.Lt):
        _numeric(left)
        return _number(right)
    if isinstance(sign, ast.Eq):
        return _equal(left, kinds(right))
    if isinstance(right, ast.List):
        for item in right.elts:
            _equal(left, kinds(item))
        return frozenset()
    found = kinds(right)
    if not (left | found) - _NULL <= {"text"}:
        raise Refused("no text")
    return found - _NULL


def _equal(a: frozenset[str], b: frozenset[str]) -> frozenset[str]:
    """Values of one type; null may be looked for anywhere."""
    _joined(a, b)
    return b
