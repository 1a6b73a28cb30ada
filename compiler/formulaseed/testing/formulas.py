"""Generate random formulas, well typed by construction, over the operators and functions of the language's tables.

A formula is written from the top down: first its type (a number, a condition, a string), then its form, then its parts.
Most values are small and plain, some at the edges.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, ClassVar, TypeVar

from hypothesis import strategies as st

from formulaseed import limits
from formulaseed.language import operators
from formulaseed.language.functions import FUNCTIONS, Function
from formulaseed.language.operators import ADDITIVE, ATOM, COMPARISONS, CONDITIONAL, MEMBERSHIP, OPERATORS, OR, UNARY
from formulaseed.language.printer import literal_text, operand_precedences, parenthesize
from formulaseed.language.types import Base

JsonValue = str | int | float | bool | None
_Choice = TypeVar("_Choice")

DEPTH = 4
"""The maximum depth of nested operators."""

# --- values

EDGE_INTEGERS = (2**31, 2**53 - 1, 2**53, 2**53 + 1, 2**62 + 1, limits.INTEGER_MAX)
EDGE_NUMBERS = (5e-324, 1e-300, 1e-17, 0.1, 9007199254740993.0, 1e16, 1e99, limits.INPUT_MAX)

PLAIN_STRINGS = ("", "none", "mild", "severe", "Thai", "Bars", "Thai, Bars", "x", "X", "ß", "日本", "🍜")
HOSTILE_STRINGS = (
    "'", '"', "\\", "'''", '"""', "x\ny", "\t", "\r", "\x00", "\u2028", "{{ x }}", "{% raw %}", "# noqa", "# type: ignore",
    "None", "True", "1", "\\N{DIGIT ONE}", "\ufeff", "%s", "$A", " ", "e\u0301", "\\'", "fmt: off",
)  # fmt: skip
SHORT_STRINGS = st.one_of(st.sampled_from(PLAIN_STRINGS), st.sampled_from(PLAIN_STRINGS + HOSTILE_STRINGS))
STRINGS: st.SearchStrategy[str] = st.one_of(
    st.sampled_from(PLAIN_STRINGS),
    st.sampled_from(HOSTILE_STRINGS),
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=12),
)
"""Any string but one with an unpaired surrogate, which JSON cannot hold."""


def integers(
    hints: Collection[int] = (), least: int = -limits.INTEGER_MAX, most: int = limits.INTEGER_MAX
) -> st.SearchStrategy[int]:
    """Return integers between two bounds: plain ones, the hints and their neighbours, edges, any."""
    near = sorted({hint + step for hint in hints for step in (-1, 0, 1)})
    edges = [sign * edge for edge in EDGE_INTEGERS for sign in (1, -1)]
    pools = _sample_between(((0, 1, 2, 3, 4, 5, 7, 10, -1, -2, 100, 2023), near, near, edges), least, most)
    return st.one_of(*pools, st.integers(least, most))


def numbers(
    hints: Collection[float] = (), least: float = -limits.INPUT_MAX, most: float = limits.INPUT_MAX
) -> st.SearchStrategy[int | float]:
    """Return integers and floats between two bounds, chosen as `integers` are."""
    edges = [sign * edge for edge in EDGE_NUMBERS + EDGE_INTEGERS for sign in (1, -1)]
    plain = (0, 1, 2, 3, 5, 0.0, -0.0, 0.5, 1.0, 2.5, 4.75, -1.5, -2)
    pools = _sample_between((plain, [least, most], sorted(hints), edges), least, most)
    # The nearest floats may be outside of the bounds.
    low = float(least)
    high = float(most)
    low = math.nextafter(low, math.inf) if low < least else low
    high = math.nextafter(high, -math.inf) if high > most else high
    return st.one_of(*pools, *([st.floats(low, high, allow_nan=False)] if low <= high else []))


def _sample_between(pools: Sequence[Sequence[_Choice]], least: float, most: float) -> list[st.SearchStrategy[_Choice]]:
    """Return a strategy for each pool that has values between the bounds."""
    inside = [[value for value in pool if least <= value <= most] for pool in pools]  # type: ignore[operator]
    return [st.sampled_from(pool) for pool in inside if pool]


# --- pieces of formulas


@dataclass(frozen=True, slots=True)
class Variable:
    """A name that formulas may use. `kind` is a type's name, `values` what an enum holds.

    One that `needs_guard` has no value where no review matches, and may only be used behind a test; the count `counted_by`
    being 1 or more is such a test as well.
    """

    text: str
    kind: str
    values: tuple[str, ...] | None = None
    nullable: bool = False
    needs_guard: bool = False
    counted_by: str = ""

    @property
    def is_numeric(self) -> bool:
        return self.kind in ("integer", "number")


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a formula. `values` are those that a string can have; None if it can have any."""

    text: str
    precedence: int = ATOM
    values: tuple[str, ...] | None = None

    def at(self, least: int) -> str:
        return parenthesize(self.text, self.precedence, least)

    @property
    def is_constant(self) -> bool:
        """True if there is no name in it, so that the checker reports an error in it."""
        return not any(character.isalpha() or character == "_" for character in self.text)


def quoted(text: str) -> Piece:
    """Return a string as a literal."""
    return Piece(literal_text(text), values=(text,))


@cache
def below(limit: int) -> st.SearchStrategy[int]:
    """Return integers from 0 up to the limit, made once: a strategy is slow to make and quick to draw from."""
    return st.integers(0, limit - 1)


class Chooser:
    """Draws choices."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw

    def any_of(self, choices: Sequence[_Choice]) -> _Choice:
        return choices[self.draw(below(len(choices)))]

    def one_in(self, odds: int) -> bool:
        return self.draw(below(odds)) == odds - 1


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
"""A template with the level of what it makes, a key of `_LEVELS`.

`{n}` is a place for a number, `{n:+}` for one with parentheses where an operand of `+` needs them. `FormulaWriter.places`
lists what the letters stand for; all places with one capital letter are filled with the same piece.
"""
Forms = Sequence[Sequence[Form | str]]
"""Groups of equally likely forms, or of names of methods that write one."""
_LEVELS = {
    "": CONDITIONAL, "or": OR, "and": operators.AND, "not": operators.NOT, "<": operators.COMPARISON, "+": ADDITIVE,
    "*": operators.MULTIPLICATIVE, "-": UNARY, "**": operators.POWER, "()": ATOM,
}  # fmt: skip
_LEVEL_NAMES = {level: name for name, level in _LEVELS.items()}
_PLACE = re.compile(r"\{(\w)(?::(\S+?))?\}")


def _binary(symbol: str) -> Form:
    """Return the form of an arithmetic operator: a divisor or a base is seldom 0, most exponents are small."""
    left, right = (_LEVEL_NAMES[level] for level in operand_precedences(symbol))
    operands = {"**": ("d", "e")}.get(symbol, ("n", "n") if symbol in "+-" else ("d", "d"))
    return f"{{{operands[0]}:{left}}} {symbol} {{{operands[1]}:{right}}}", _LEVEL_NAMES[OPERATORS[symbol].precedence]


def _calls(function: Function) -> list[Form]:
    """Return the calls of a function with each number of arguments, as a list if it takes one."""
    # The default is sometimes null, too, and an operand that may fail counts only if it is used.
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
        calls += [f"{function.name}({arguments})"] if function.list_argument != "must" else []
        calls += [f"{function.name}([{arguments}])"] if function.list_argument != "no" else []
    return [(call, "()") for call in calls]


def _joined(kind: str) -> list[Form]:
    """Return the forms that join values by `and` and `or`, and the one that chooses by a condition."""
    both = f"{{{kind}:not}}"
    either = f"{{{kind}:and}}"
    forms = [(" and ".join([both] * count), "and") for count in (2, 3)]
    forms += [(" or ".join([either] * count), "or") for count in (2, 3)]
    return [*forms, *[(f"{{{kind}:or}} if {{t:or}} else {{{kind}}}", "")] * 2]


_BINARY = [_binary(symbol) for symbol in OPERATORS]
_CALLS = [call for function in FUNCTIONS.values() for call in _calls(function)]
_SIGNS = [("-{n:-}", "-"), ("-{n:-}", "-"), ("+{n:-}", "-")]
_NUMBERS: Forms = (
    ["plain"], *[_BINARY] * 4, *[_CALLS] * 3, _joined("n"), _joined("n"), _SIGNS, [("{o:and} or {l}", "or")],
)  # fmt: skip
_COMPARED = [(f"{{n:+}} {operator} {{m:+}}", "<") for operator in COMPARISONS]
_CHAINS = [
    (f"{{m:+}} {first} {{m:+}} {second} {{m:+}}{end}", "<")
    for first, second in product(("<", "<=", "==", *COMPARISONS), repeat=2)
    for end in ("", "", " < {m:+}", " in [{m}, {m}]")
]
_LISTED = [(f"{{n:+}} {word} [{items}]", "<") for word in MEMBERSHIP for items in ("{m}", "{m}, {m}", "{m}, {m}, {m}")]
_FLAGS_COMPARED = [(f"{{c:+}} {sign} {flag}", "<") for sign in ("==", "!=") for flag in ("True", "false", "{b:+}")]
_STRINGS_COMPARED = [
    (form, "<") for form in ("{x:+} == {y:+}", "{x:+} != {y:+}", "{x:+} in [{y}]", "{x:+} not in [{y}, {y}]")
]
_CONTAINED = [("{s:+} in {s:+}", "<"), ("{s:+} not in {s:+}", "<")]
_CONDITIONS: Forms = (
    _COMPARED, _COMPARED, ["_named_flag"], ["_strings_compared"], ["_strings_compared"], ["_null_tested"], *[_joined("c")] * 3,
    [("not {t:not}", "not")], _CHAINS, _LISTED, _CONTAINED, _FLAGS_COMPARED,
)  # fmt: skip
_STRING_CHOICES = [
    ("{x:and} or {y:and}", "or"),
    ("coalesce({x}, {y})", "()"),
    ("{x:not} and {y:not}", "and"),
    ("{x:or} if {t:or} else {y}", ""),
]
_STRINGS: Forms = (*[["_named_string"]] * 2, ["_string_literal"], *[["_one_of_two_strings"]] * 2)


class FormulaWriter(Chooser):
    """Writes formulas of every kind over some variables and filters; `depth` bounds the nesting."""

    numbers: ClassVar[Forms] = _NUMBERS
    conditions: ClassVar[Forms] = _CONDITIONS
    places: ClassVar[dict[str, Callable[[Any, int], Piece]]] = {
        "n": lambda writer, depth: writer.number(depth),
        "m": lambda writer, depth: writer.number(depth - 1),
        "d": lambda writer, depth: writer.positive(depth),
        "e": lambda writer, depth: writer.exponent(depth),
        "i": lambda writer, _: Piece(writer.any_of(_DIGITS), UNARY),
        "l": lambda writer, _: Piece(writer.any_of(PLAIN[:9])),
        "o": lambda writer, depth: writer.number_or_null(depth),
        "c": lambda writer, depth: writer.condition(depth),
        "b": lambda writer, depth: writer.condition(depth - 1),
        "t": lambda writer, depth: writer.tested(depth),
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
        """Return a piece of one of the forms, or made by the method of that name."""
        chosen = self.any_of(self.any_of(groups))
        return getattr(self, chosen)(depth - 1) if isinstance(chosen, str) else self.fill(chosen, depth - 1)

    def fill(self, form: Form, depth: int, **pieces: Piece) -> Piece:
        """Return the form with `pieces` in the places of their letters, and new pieces in all other places."""

        def fill_place(place: re.Match[str]) -> str:
            letter = place[1]
            piece = pieces.get(letter) or self.places[letter](self, depth)
            if letter.isupper():
                pieces[letter] = piece
            return piece.at(_LEVELS[place[2] or ""])

        return Piece(_PLACE.sub(fill_place, form[0]), _LEVELS[form[1]])

    def use(self, variable: Variable, instead: str) -> Piece:
        """Return a variable as a value: guarded if it may be null, or sometimes left to fail."""
        name = variable.text
        if not variable.nullable or (not variable.needs_guard and self.one_in(8)):
            return Piece(name, values=variable.values)
        guards = _NUMBER_GUARDS if variable.is_numeric else _GUARDS
        guard = self.any_of([*guards, *(_COUNT_GUARDS if variable.counted_by else ())])
        text = guard.format(x=name, y=instead, n=variable.counted_by)
        return Piece(text, OR if guard == _GUARDS[0] else CONDITIONAL)

    def tested(self, depth: int) -> Piece:
        """Return a condition, or sometimes a value that may be null and whose truth is tested."""
        if self.nullables and self.one_in(8):
            return Piece(self.any_of(self.nullables).text)
        return self.condition(depth)

    # --- numbers

    def number(self, depth: int) -> Piece:
        return self.form(self.numbers, depth) if depth > 0 else self.plain(depth)

    def number_or_null(self, depth: int) -> Piece:
        """Return a number that is sometimes null."""
        known = [v for v in self.nullables if v.is_numeric and not v.needs_guard]
        if known and self.one_in(2):
            return Piece(self.any_of(known).text)
        return self.fill((self.any_of(["None if {t:or} else {n}", "{n:or} if {t:or} else None"]), ""), depth)

    def positive(self, depth: int) -> Piece:
        """Return a number that is not a constant of 0 or less, which the checker refuses as a divisor or in a logarithm."""
        number = self.number(depth)
        return Piece(self.any_of(POSITIVE)) if number.is_constant else number

    def exponent(self, depth: int) -> Piece:
        return self.number(depth - 1) if self.one_in(5) else Piece(self.any_of(_EXPONENTS), UNARY)

    def plain(self, depth: int) -> Piece:
        if self.numeric and not self.one_in(3):
            variable = self.any_of(self.numeric)
            return self.use(variable, self.any_of(PLAIN[:9]) if variable.nullable else "")
        return Piece(self.any_of(_EDGES if self.one_in(10) else PLAIN))

    # --- strings

    def string(self, depth: int) -> Piece:
        return self.form(_STRINGS if depth > 0 else _STRINGS[:3], depth)

    def _string_literal(self, depth: int) -> Piece:
        return quoted(self.draw(SHORT_STRINGS))

    def _named_string(self, depth: int) -> Piece:
        if not self.named_strings:
            return self._string_literal(depth)
        variable = self.any_of(self.named_strings)
        instead = self._string_literal(depth) if variable.nullable else quoted("")
        piece = self.use(variable, instead.text)
        if piece.text == variable.text or variable.values is None:
            return piece
        return Piece(piece.text, piece.precedence, (*variable.values, *(instead.values or ())))

    def _one_of_two_strings(self, depth: int) -> Piece:
        x = self.string(depth)
        y = self.string(depth)
        piece = self.fill(self.any_of(_STRING_CHOICES), depth, x=x, y=y)
        values = None if x.values is None or y.values is None else x.values + y.values
        return Piece(piece.text, piece.precedence, values)

    # --- conditions

    def condition(self, depth: int) -> Piece:
        return self.form(self.conditions if depth > 0 else _CONDITIONS[:4], depth)

    def _named_flag(self, depth: int) -> Piece:
        if self.filters and self.one_in(2):
            return Piece(f"${self.any_of(self.filters)}")
        if self.flags:
            return self.use(self.any_of(self.flags), self.any_of(["False", "true"]))
        return self.fill(self.any_of(_COMPARED), depth)

    def _null_tested(self, depth: int) -> Piece:
        if not self.nullables:
            return self.fill(self.any_of(_COMPARED), depth)
        form = self.any_of(["{x} == None", "{x} != None", "null == {x}", "null != {x}"])
        return self.fill((form, "<"), depth, x=Piece(self.any_of(self.nullables).text))

    def _strings_compared(self, depth: int) -> Piece:
        """Compare two strings that can be equal."""
        x = self.string(depth)
        y = self.string(depth)
        if x.values is not None and y.values is not None and not set(x.values) & set(y.values):
            y = quoted(self.any_of(x.values))
        return self.fill(self.any_of(_STRINGS_COMPARED), depth, x=x, y=y)
