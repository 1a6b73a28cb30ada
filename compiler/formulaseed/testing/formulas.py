"""Generates random formulas, well typed by construction, over the operators and functions of the language's tables.

A formula is written from the top down: first its type (a number, a condition, a string), then its form, then its parts.
Most values are small and plain, some at the edges.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, ClassVar, TypeVar

from hypothesis import strategies as st

from formulaseed.language import operators
from formulaseed.language.functions import FUNCTIONS, Function
from formulaseed.language.operators import ADDITIVE, ATOM, COMPARISONS, CONDITIONAL, MEMBERSHIP, OPERATORS, OR, UNARY
from formulaseed.language.printer import literal_text, operand_precedences, parenthesize
from formulaseed.language.types import Base
from formulaseed.testing.scalars import EDGE_INTEGERS, SHORT_STRINGS

_Choice = TypeVar("_Choice")

DEPTH = 4
"""The maximum depth of nested operators."""

# --- pieces of formulas


@dataclass(frozen=True, slots=True)
class Variable:
    """A name that formulas may use. `kind` is the name of its type; `values` are those of an enum, or None.

    A variable that `needs_guard` has no value if no review matches, and may only be used after a test. The count `counted_by`
    is at least 1 if the variable has a value, so that a test of the count is also a guard.
    """

    text: str
    kind: str
    values: tuple[str, ...] | None = None
    nullable: bool = False
    needs_guard: bool = False
    counted_by: str = ""

    @property
    def is_numeric(self) -> bool:
        """True for the kinds `integer` and `number`."""
        return self.kind in ("integer", "number")


@dataclass(frozen=True, slots=True)
class Piece:
    """A formula that can be a part of another one. `values` are those that a string may have; None if it may have any."""

    text: str
    precedence: int = ATOM
    values: tuple[str, ...] | None = None

    def as_operand(self, least: int) -> str:
        """Return the text, in parentheses if its precedence is lower than `least`."""
        return parenthesize(self.text, self.precedence, least)

    @property
    def is_constant(self) -> bool:
        """True if the piece contains no name, so that the checker computes it and reports an error in it."""
        return not any(character.isalpha() or character == "_" for character in self.text)


def string_literal(text: str) -> Piece:
    """Return a string as a literal of a formula."""
    return Piece(literal_text(text), values=(text,))


@cache
def integers_below(limit: int) -> st.SearchStrategy[int]:
    """Return a strategy for integers from 0 to `limit` - 1, cached since it is slow to create."""
    return st.integers(0, limit - 1)


class Chooser:
    """A source of random choices, which Hypothesis controls."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw

    def choose(self, choices: Sequence[_Choice]) -> _Choice:
        """Draw one of the choices, all equally likely."""
        return choices[self.draw(integers_below(len(choices)))]

    def one_in(self, odds: int) -> bool:
        """Draw True in one of `odds` cases, else False."""
        return self.draw(integers_below(odds)) == odds - 1


PLAIN = ("1", "2", "3", "0", "5", "10", "100", "2023", "0.5", "1.0", "2.5", "0.1", "0.0", "1e-9", "4.", ".25")
_EDGES = (*(str(edge) for edge in EDGE_INTEGERS), "1e16", "9007199254740993.0", "1e100", "1e200", "1e308", "5e-324")
POSITIVE = ("1", "2", "3", "0.5", "7", "1e-9", "1e16")
_EXPONENTS = ("2", "3", "0", "1", "0.5", "-1", "2.0", "-2", "64", "1.5", "1000")
_DIGITS = ("2", "0", "1", "-2", "15", "-15")

_GUARDS = (
    "{x} or {y}", "coalesce({x}, {y})", "{x} if {x} != None else {y}", "{y} if {x} == None else {x}",
    "{x} if not ({x} == None) else {y}", "{x} if {x} else {y}", "{x} if None != {x} and True else {y}",
)  # fmt: skip
_NUMBER_GUARDS = (
    *_GUARDS, "{x} * 2 if {x} else {y}", "{x} - 1 if {x} != null else {y}", "{y} if {x} == None else -{x}",
)  # fmt: skip
_COUNT_GUARDS = ("{x} if {n} > 0 else {y}", "{x} * 2 if {n} != 0 else {y}", "{y} if {n} == 0 else {x}")

# --- forms of formulas

Form = tuple[str, str]
"""A template of a formula, and the level of its precedence, a key of `_LEVELS`.

`{n}` is a place for a number, and `{n:+}` a place for a number with parentheses if an operand of `+` needs them.
`FormulaWriter.places` maps the letters to what they mean. All places with the same capital letter have the same piece.
"""
Forms = Sequence[Sequence[Form | str]]
"""Groups of equally likely forms, or of names of methods that write one."""
_LEVELS = {
    "": CONDITIONAL, "or": OR, "and": operators.AND, "not": operators.NOT, "<": operators.COMPARISON, "+": ADDITIVE,
    "*": operators.MULTIPLICATIVE, "-": UNARY, "**": operators.POWER, "()": ATOM,
}  # fmt: skip
_LEVEL_NAMES = {level: name for name, level in _LEVELS.items()}
_PLACE = re.compile(r"\{(\w)(?::(\S+?))?\}")


def _build_binary_form(symbol: str) -> Form:
    """Return the form of the arithmetic operator `symbol`; divisors are seldom 0, and exponents mostly small."""
    left, right = (_LEVEL_NAMES[level] for level in operand_precedences(symbol))
    operands = {"**": ("d", "e"), "+": ("n", "n"), "-": ("n", "n")}.get(symbol, ("d", "d"))
    return f"{{{operands[0]}:{left}}} {symbol} {{{operands[1]}:{right}}}", _LEVEL_NAMES[OPERATORS[symbol].precedence]


def _build_call_forms(function: Function) -> list[Form]:
    """Return forms of calls of a function, for each type and number of its arguments.

    If the function may take a list, there are also forms with the arguments in a list.
    """
    # the default is sometimes null, too, and an operand that may fail matters only if it is used
    if function.replaces_null:
        return [(f"{function.name}({{o}}, {default})", "()") for default in ("{l}", "{m}", "{d}")]
    kinds = [{Base.BOOLEAN: "c", Base.STRING: "s"}.get(base, "d") for base in Base if base in function.takes]
    counts = range(0 if function.empty_value is not None else function.min_arguments, (function.max_arguments or 3) + 1)
    calls = []
    for kind, count in product(kinds, counts):
        rest = "m"
        if function.max_arguments == 2:
            rest = "i" if function.literal else "e"
        places = [kind, *[rest] * (count - 1)][:count]
        arguments = ", ".join(f"{{{place}}}" for place in places)
        if function.list_argument != "must":
            calls.append(f"{function.name}({arguments})")
        if function.list_argument != "no":
            calls.append(f"{function.name}([{arguments}])")
    return [(call, "()") for call in calls]


def _build_logical_forms(kind: str) -> list[Form]:
    """Return forms that combine values of a kind, a letter of `FormulaWriter.places`, by `and`, `or` and `if`."""
    both = f"{{{kind}:not}}"
    either = f"{{{kind}:and}}"
    forms = [(" and ".join([both] * count), "and") for count in (2, 3)]
    forms += [(" or ".join([either] * count), "or") for count in (2, 3)]
    return [*forms, *[(f"{{{kind}:or}} if {{t:or}} else {{{kind}}}", "")] * 2]


_BINARY = [_build_binary_form(symbol) for symbol in OPERATORS]
_CALLS = [call for function in FUNCTIONS.values() for call in _build_call_forms(function)]
_SIGNS = [("-{n:-}", "-"), ("-{n:-}", "-"), ("+{n:-}", "-")]
_NUMBERS: Forms = (
    ["plain"], *[_BINARY] * 4, *[_CALLS] * 3, *[_build_logical_forms("n")] * 2, _SIGNS, [("{o:and} or {l}", "or")],
)  # fmt: skip
_COMPARISONS = [(f"{{n:+}} {operator} {{m:+}}", "<") for operator in COMPARISONS]
_CHAINS = [
    (f"{{m:+}} {first} {{m:+}} {second} {{m:+}}{end}", "<")
    for first, second in product(("<", "<=", "==", *COMPARISONS), repeat=2)
    for end in ("", "", " < {m:+}", " in [{m}, {m}]")
]
_MEMBERSHIPS = [
    (f"{{n:+}} {word} [{items}]", "<") for word in MEMBERSHIP for items in ("{m}", "{m}, {m}", "{m}, {m}, {m}")
]
_FLAG_COMPARISONS = [(f"{{c:+}} {sign} {flag}", "<") for sign in ("==", "!=") for flag in ("True", "false", "{b:+}")]
_STRING_COMPARISONS = [
    (form, "<") for form in ("{x:+} == {y:+}", "{x:+} != {y:+}", "{x:+} in [{y}]", "{x:+} not in [{y}, {y}]")
]
_CONTAINMENTS = [("{s:+} in {s:+}", "<"), ("{s:+} not in {s:+}", "<")]
_CONDITIONS: Forms = (
    _COMPARISONS, _COMPARISONS, ["_flag"], ["_string_comparison"], ["_string_comparison"], ["_null_test"],
    *[_build_logical_forms("c")] * 3, [("not {t:not}", "not")], _CHAINS, _MEMBERSHIPS, _CONTAINMENTS, _FLAG_COMPARISONS,
)  # fmt: skip
_STRING_CHOICES = [
    ("{x:and} or {y:and}", "or"),
    ("coalesce({x}, {y})", "()"),
    ("{x:not} and {y:not}", "and"),
    ("{x:or} if {t:or} else {y}", ""),
]
_STRINGS: Forms = (*[["_string_variable"]] * 2, ["_string_literal"], *[["_one_of_two_strings"]] * 2)


class FormulaWriter(Chooser):
    """A writer of random formulas over some variables and filters.

    A method that is named for a kind of formula, such as `number`, draws and returns one; `depth` bounds its nesting. A subclass
    may add forms to `numbers` and `conditions`, and letters to `places`.
    """

    numbers: ClassVar[Forms] = _NUMBERS
    conditions: ClassVar[Forms] = _CONDITIONS
    places: ClassVar[dict[str, Callable[[Any, int], Piece]]] = {
        "n": lambda writer, depth: writer.number(depth),
        "m": lambda writer, depth: writer.number(depth - 1),
        "d": lambda writer, depth: writer.positive(depth),
        "e": lambda writer, depth: writer.exponent(depth),
        "i": lambda writer, _: Piece(writer.choose(_DIGITS), UNARY),
        "l": lambda writer, _: Piece(writer.choose(PLAIN[:9])),
        "o": lambda writer, depth: writer.number_or_null(depth),
        "c": lambda writer, depth: writer.condition(depth),
        "b": lambda writer, depth: writer.condition(depth - 1),
        "t": lambda writer, depth: writer.condition_or_null(depth),
        "s": lambda writer, depth: writer.string(depth),
    }

    def __init__(self, draw: st.DrawFn, variables: Sequence[Variable], filters: Sequence[str] = ()) -> None:
        super().__init__(draw)
        self.variables = variables
        self.filters = filters
        self.numeric = [v for v in variables if v.is_numeric]
        self.flags = [v for v in variables if v.kind == "boolean"]
        self.named_strings = [v for v in variables if v.kind == "string"]
        self.nullables = [v for v in variables if v.nullable]

    def form(self, groups: Forms, depth: int) -> Piece:
        """Draw a form of one of the groups, and return a piece of that form, nested less deep than `depth`.

        A form that is a string is the name of a method to call.
        """
        chosen = self.choose(self.choose(groups))
        if isinstance(chosen, str):
            piece: Piece = getattr(self, chosen)(depth - 1)
            return piece
        return self.fill(chosen, depth - 1)

    def fill(self, form: Form, depth: int, **pieces: Piece) -> Piece:
        """Return the form with `pieces` in the places of their letters, and newly drawn pieces in all other places.

        The places of a capital letter share one piece.
        """

        def fill_place(place: re.Match[str]) -> str:
            """Return the text of a place's piece, in parentheses if needed.

            Saves a capital letter's piece in `pieces`.
            """
            letter = place[1]
            piece = pieces.get(letter) or self.places[letter](self, depth)
            if letter.isupper():
                pieces[letter] = piece
            return piece.as_operand(_LEVELS[place[2] or ""])

        return Piece(_PLACE.sub(fill_place, form[0]), _LEVELS[form[1]])

    def use(self, variable: Variable, default: str) -> Piece:
        """Return a variable as a value; if it may be null, in a guard that replaces null by the text `default`.

        In some cases a variable that needs no guard is returned without one.
        """
        name = variable.text
        if not variable.nullable or (not variable.needs_guard and self.one_in(8)):
            return Piece(name, values=variable.values)
        guards = [*(_NUMBER_GUARDS if variable.is_numeric else _GUARDS)]
        if variable.counted_by:
            guards += _COUNT_GUARDS
        guard = self.choose(guards)
        text = guard.format(x=name, y=default, n=variable.counted_by)
        return Piece(text, OR if guard == _GUARDS[0] else CONDITIONAL)

    def condition_or_null(self, depth: int) -> Piece:
        """Return a condition, or in some cases a variable that may be null, of any type.

        For places that accept null as false.
        """
        if self.nullables and self.one_in(8):
            return Piece(self.choose(self.nullables).text)
        return self.condition(depth)

    # --- numbers

    def number(self, depth: int) -> Piece:
        """Return a number that is not null; without `depth` left, a variable or a literal."""
        return self.form(self.numbers, depth) if depth > 0 else self.plain(depth)

    def number_or_null(self, depth: int) -> Piece:
        """Return a number that is sometimes null."""
        known = [v for v in self.nullables if v.is_numeric and not v.needs_guard]
        if known and self.one_in(2):
            return Piece(self.choose(known).text)
        return self.fill((self.choose(["None if {t:or} else {n}", "{n:or} if {t:or} else None"]), ""), depth)

    def positive(self, depth: int) -> Piece:
        """Return a number to divide by or to take a logarithm of; a constant is always more than 0.

        The checker rejects other constants. A number with a variable may still be 0 or less.
        """
        number = self.number(depth)
        return Piece(self.choose(POSITIVE)) if number.is_constant else number

    def exponent(self, depth: int) -> Piece:
        """Return a number for the right side of `**`, which is usually a small constant."""
        if self.one_in(5):
            return self.number(depth - 1)
        return Piece(self.choose(_EXPONENTS), UNARY)

    def plain(self, depth: int) -> Piece:
        """Return a numeric variable, guarded if it may be null, or a literal; `depth` is not used."""
        if self.numeric and not self.one_in(3):
            variable = self.choose(self.numeric)
            return self.use(variable, self.choose(PLAIN[:9]) if variable.nullable else "")
        return Piece(self.choose(_EDGES if self.one_in(10) else PLAIN))

    # --- strings

    def string(self, depth: int) -> Piece:
        """Return a string that is not null."""
        return self.form(_STRINGS if depth > 0 else _STRINGS[:3], depth)

    def _string_literal(self, depth: int) -> Piece:
        """Return a short random string as a literal; `depth` is not used."""
        return string_literal(self.draw(SHORT_STRINGS))

    def _string_variable(self, depth: int) -> Piece:
        """Return a string variable, or a literal if there is none."""
        if not self.named_strings:
            return self._string_literal(depth)
        variable = self.choose(self.named_strings)
        default = self._string_literal(depth) if variable.nullable else string_literal("")
        piece = self.use(variable, default.text)
        if piece.text == variable.text or variable.values is None:
            return piece
        return Piece(piece.text, piece.precedence, (*variable.values, *(default.values or ())))

    def _one_of_two_strings(self, depth: int) -> Piece:
        """Return a form that chooses between two strings. Its `values` are those of both, or None if unknown."""
        x = self.string(depth)
        y = self.string(depth)
        piece = self.fill(self.choose(_STRING_CHOICES), depth, x=x, y=y)
        if x.values is None or y.values is None:
            return piece
        return Piece(piece.text, piece.precedence, x.values + y.values)

    # --- conditions

    def condition(self, depth: int) -> Piece:
        """Return a boolean that is not null."""
        return self.form(self.conditions if depth > 0 else _CONDITIONS[:4], depth)

    def _flag(self, depth: int) -> Piece:
        """Return a filter or a boolean variable, or a comparison if there is neither."""
        if self.filters and self.one_in(2):
            return Piece(f"${self.choose(self.filters)}")
        if self.flags:
            return self.use(self.choose(self.flags), self.choose(["False", "true"]))
        return self.fill(self.choose(_COMPARISONS), depth)

    def _null_test(self, depth: int) -> Piece:
        """Return a test of a variable that may be null, or a comparison if there is none."""
        if not self.nullables:
            return self.fill(self.choose(_COMPARISONS), depth)
        form = self.choose(["{x} == None", "{x} != None", "null == {x}", "null != {x}"])
        return self.fill((form, "<"), depth, x=Piece(self.choose(self.nullables).text))

    def _string_comparison(self, depth: int) -> Piece:
        """Return a comparison of two strings that may be equal, since the checker rejects others."""
        x = self.string(depth)
        y = self.string(depth)
        if x.values is not None and y.values is not None and not set(x.values) & set(y.values):
            y = string_literal(self.choose(x.values))
        return self.fill(self.choose(_STRING_COMPARISONS), depth, x=x, y=y)
