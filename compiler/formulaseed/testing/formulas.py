"""Random formulas: well typed by construction, over the operators and functions of the language's tables.

A formula is written from the top down: what is wanted (a number, a condition, a string) is known first, then how it is
made, then its parts. Most values are small and plain, some at the edges.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from hypothesis import strategies as st

from formulaseed import limits
from formulaseed.language.functions import FUNCTIONS, Function
from formulaseed.language.operators import (
    ADDITIVE,
    AND,
    ATOM,
    COMPARISON,
    COMPARISONS,
    CONDITIONAL,
    MEMBERSHIP,
    NOT,
    OPERATORS,
    OR,
    POWER,
    UNARY,
)  # fmt: skip
from formulaseed.language.types import Base

JsonValue = str | int | float | bool | None
_Choice = TypeVar("_Choice")

DEPTH = 4
"""How deeply operators are nested, at most."""

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
    pools = _inside(((0, 1, 2, 3, 4, 5, 7, 10, -1, -2, 100, 2023), near, near, edges), least, most)
    return st.one_of(*pools, st.integers(least, most))


def numbers(
    hints: Collection[float] = (), least: float = -limits.INPUT_MAX, most: float = limits.INPUT_MAX
) -> st.SearchStrategy[int | float]:
    """Return integers and floats between two bounds, chosen as `integers` are."""
    edges = [sign * edge for edge in EDGE_NUMBERS + EDGE_INTEGERS for sign in (1, -1)]
    plain = (0, 1, 2, 3, 5, 0.0, -0.0, 0.5, 1.0, 2.5, 4.75, -1.5, -2)
    pools = _inside((plain, [least, most], sorted(hints), edges), least, most)
    low, high = float(least), float(most)
    low = math.nextafter(low, math.inf) if low < least else low
    high = math.nextafter(high, -math.inf) if high > most else high
    return st.one_of(*pools, *([st.floats(low, high, allow_nan=False)] if low <= high else []))


def _inside(pools: Sequence[Sequence[_Choice]], least: float, most: float) -> list[st.SearchStrategy[_Choice]]:
    kept = [[value for value in pool if least <= value <= most] for pool in pools]  # type: ignore[operator]
    return [st.sampled_from(pool) for pool in kept if pool]


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
    """A piece of a formula. `values` are all that a string can be, None where it can be anything."""

    text: str
    precedence: int = ATOM
    values: tuple[str, ...] | None = None

    def at(self, least: int) -> str:
        return self.text if self.precedence >= least else f"({self.text})"

    @property
    def is_constant(self) -> bool:
        """Whether it names nothing, so that an error in it is reported when it is checked."""
        return not any(character.isalpha() or character == "_" for character in self.text)


def quoted(text: str) -> Piece:
    """Return a string as a literal."""
    quote = '"' if "'" in text else "'"
    escaped = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t").replace(quote, f"\\{quote}")
    return Piece(f"{quote}{escaped}{quote}", values=(text,))


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


_PLAIN = ("1", "2", "3", "0", "5", "10", "100", "2023", "0.5", "1.0", "2.5", "0.1", "0.0", "1e-9", "4.", ".25")
_EDGES = (*(str(edge) for edge in EDGE_INTEGERS), "1e16", "9007199254740993.0", "1e100", "1e200", "1e308", "5e-324")
_POSITIVE = ("1", "2", "3", "0.5", "7", "1e-9", "1e16")
_EXPONENTS = ("2", "3", "0", "1", "0.5", "-1", "2.0", "-2", "64", "1.5", "1000")
_DIGITS = ("2", "0", "1", "-2", "15", "-15")

_GUARDS = (
    "{x} or {y}", "{x} if {x} != None else {y}", "{y} if {x} == None else {x}", "{x} if not ({x} == None) else {y}",
    "{x} if {x} else {y}", "{x} if None != {x} and True else {y}",
)  # fmt: skip
_NUMBER_GUARDS = (
    *_GUARDS, "{x} * 2 if {x} else {y}", "{x} - 1 if {x} != null else {y}", "{y} if {x} == None else -{x}",
)  # fmt: skip
_COUNT_GUARDS = ("{x} if {n} > 0 else {y}", "{x} * 2 if {n} != 0 else {y}", "{y} if {n} == 0 else {x}")
_SAFE_WHERE_TRUE = (
    "{e} > {k}", "{e} >= {k}", "{e} > 0", "{e} != 0", "0 < {e}", "0 < {e} < {k}", "{k} <= {e} <= 1000", "0 != {e}",
    "not ({e} == 0)", "not {e} <= 0", "{e} in [{k}, 3]", "{e} == {k}", "{e} > 0 and {c}", "{c} and {e} != 0",
    "{e} < 0", "{e} <= -{k}", "{e} > {k} or {e} > 2", "{e} != {k}",
)  # fmt: skip
_SAFE_WHERE_FALSE = (
    "{e} == 0", "0 == {e}", "{e} <= {k}", "{e} < {k}", "not {e} > {k}", "{e} in [0, {k}]", "{e} == 0 or {c}",
    "{c} or {e} <= 0", "not ({e} > 0 and {c})", "{e} == {k}",
)  # fmt: skip
_USES = (
    "{a} / {e}", "{a} / {e}", "{a} // {e}", "{a} % {e}", "log({e})", "sqrt({e})", "{e} ** -1", "{a} / ({e} - {k})",
    "{a} / ({e} + {k})", "log({e} - {k})", "log({e} + 1)", "sqrt({e} - {k})", "{a} / abs({e})", "{a} / ({e} * 2)",
    "{a} / max({e}, {k})", "{a} / sqrt({e})", "{a} / {e} ** 2", "{a} // -{e}", "pow({e}, {k})", "{e} ** 0.5",
    "{a} / int({e})", "{a} % round({e})", "{a} / ({k} - {e})", "log({e} * {e})", "{a} / log({e} + 1)",
    "{a} / min({e}, {k})", "{a} / float({e})", "{a} / (3 * {e} - {k})", "{a} / ceil({e})", "{a} / floor({e} / 2)",
)  # fmt: skip
"""Partial operations on a value that a guard may prove to be safe."""


class FormulaWriter(Chooser):
    """Writes formulas of every kind over some variables and filters; `depth` bounds the nesting."""

    def __init__(self, draw: st.DrawFn, variables: Sequence[Variable], filters: Sequence[str] = ()) -> None:
        super().__init__(draw)
        self.variables = variables
        self.filters = filters
        self.numeric = [v for v in variables if v.is_numeric]
        self.flags = [v for v in variables if v.kind == "boolean"]
        self.named_strings = [v for v in variables if v.kind == "string"]
        self.nullables = [v for v in variables if v.nullable]

    def form(self, forms: Sequence[Callable[[int], Piece]], depth: int) -> Piece:
        return self.any_of(forms)(depth - 1)

    def use(self, variable: Variable, instead: str) -> Piece:
        """A variable where a value is needed: guarded if it may be null, or now and then left to fail."""
        name = variable.text
        if not variable.nullable or (not variable.needs_guard and self.one_in(8)):
            return Piece(name, values=variable.values)
        guards = _NUMBER_GUARDS if variable.is_numeric else _GUARDS
        guard = self.any_of([*guards, *(_COUNT_GUARDS if variable.counted_by else ())])
        text = guard.format(x=name, y=instead, n=variable.counted_by)
        return Piece(text, OR if guard == _GUARDS[0] else CONDITIONAL)

    def tested(self, depth: int) -> Piece:
        """A condition, or a value that may be null, where its truth is tested."""
        if self.nullables and self.one_in(8):
            return Piece(self.any_of(self.nullables).text)
        return self.condition(depth)

    def _conditional(self, then: Piece, otherwise: Piece, depth: int) -> Piece:
        return Piece(f"{then.at(OR)} if {self.tested(depth).at(OR)} else {otherwise.text}", CONDITIONAL)

    def _joined(self, kind: Callable[[int], Piece], depth: int, count: int) -> Piece:
        """Operands joined by `and` or `or`."""
        word, precedence = self.any_of([("and", AND), ("or", OR)])
        return Piece(f" {word} ".join(kind(depth).at(precedence + 1) for _ in range(count)), precedence)

    # --- numbers

    def number(self, depth: int) -> Piece:
        if depth <= 0:
            return self._plain(depth)
        forms = [
            self._plain, self._binary, self._binary, self._binary, self._binary, self._call, self._call, self._call,
            self._chosen_number, self._negative, self._first_number, self._guarded, self._guarded, self._unguarded,
            self._or_zero,
        ]  # fmt: skip
        return self.form(forms, depth)

    def number_or_null(self, depth: int) -> Piece:
        """A number that is null now and then."""
        known = [v for v in self.nullables if v.is_numeric and not v.needs_guard]
        if known and self.one_in(2):
            return Piece(self.any_of(known).text)
        number, null = self.number(depth), Piece("None")
        return self._conditional(*((null, number) if self.one_in(2) else (number, null)), depth)

    def _plain(self, depth: int) -> Piece:
        if self.numeric and not self.one_in(3):
            variable = self.any_of(self.numeric)
            return self.use(variable, self.any_of(_PLAIN[:9]) if variable.nullable else "")
        return Piece(self.any_of(_EDGES if self.one_in(10) else _PLAIN))

    def _not_constant_zero(self, depth: int) -> Piece:
        """A number that is not plainly 0 or less, which the checker refuses as a divisor or in a logarithm."""
        found = self.number(depth)
        return Piece(self.any_of(_POSITIVE)) if found.is_constant else found

    def _binary(self, depth: int) -> Piece:
        operator = self.any_of(list(OPERATORS.values()))
        symbol, precedence = operator.name, operator.precedence
        if precedence == POWER:
            base = self._not_constant_zero(depth)
            exponent = self.any_of(_EXPONENTS) if not self.one_in(5) else self.number(depth - 1).at(UNARY)
            return Piece(f"{base.at(ATOM)} {symbol} {exponent}", precedence)
        left = self.number(depth)
        right = self.number(depth) if precedence == ADDITIVE else self._not_constant_zero(depth)
        return Piece(f"{left.at(precedence)} {symbol} {right.at(precedence + 1)}", precedence)

    def _negative(self, depth: int) -> Piece:
        return Piece(f"{self.any_of(['-', '-', '+'])}{self.number(depth).at(UNARY)}", UNARY)

    def _call(self, depth: int) -> Piece:
        """A call of any function, with arguments of the types that it takes."""
        function = self.any_of(list(FUNCTIONS.values()))
        if function.is_variadic:
            count = self.any_of([2, 3, 1, 0] if function.of_none is not None else [2, 2, 3])
        else:
            count = function.least + self.draw(below(function.optional + 1))
        inside = ", ".join(self._argument(function, place, depth) for place in range(count))
        as_list = function.list_argument == "must" or (function.list_argument != "no" and self.one_in(3))
        return Piece(f"{function.name}([{inside}])" if as_list else f"{function.name}({inside})")

    def _argument(self, function: Function, place: int, depth: int) -> str:
        if place >= function.least and not function.is_variadic:
            return self.any_of(_DIGITS)
        kind = self.any_of(sorted(base.value for base in function.takes - {Base.INTEGER}))
        if kind != "number":
            return (self.condition(depth) if kind == "boolean" else self.string(depth)).text
        if place == 0:
            return self._not_constant_zero(depth).text
        is_exponent = function.most == 2 and not self.one_in(5)
        return self.any_of(_EXPONENTS) if is_exponent else self.number(depth - 1).text

    def _chosen_number(self, depth: int) -> Piece:
        return self._conditional(self.number(depth), self.number(depth), depth)

    def _first_number(self, depth: int) -> Piece:
        return self._joined(self.number, depth, self.any_of([2, 2, 3]))

    def _or_zero(self, depth: int) -> Piece:
        return Piece(f"{self.number_or_null(depth).at(AND)} or {self.any_of(_PLAIN[:9])}", OR)

    def _unguarded(self, depth: int) -> Piece:
        """A value used where it may well fail."""
        if not self.numeric or not self.one_in(3):
            return self._guarded(depth)
        value = self.use(self.any_of(self.numeric), "1")
        return Piece(self._used(value, self.any_of(_POSITIVE)), ADDITIVE)

    def _guarded(self, depth: int) -> Piece:
        """A value used behind a test of it, which may prove that the use cannot fail."""
        use, test, is_safe_if_true = self._guard(depth)
        instead = self.number(depth - 1)
        if is_safe_if_true:
            return Piece(f"{use} if {test} else {instead.text}", CONDITIONAL)
        return Piece(f"{instead.at(OR)} if {test} else {use}", CONDITIONAL)

    def _guarded_condition(self, depth: int) -> Piece:
        """The same with `and` and `or`."""
        use, test, is_safe_if_true = self._guard(depth)
        compared = f"{use} {self.any_of(['>', '<=', '=='])} {self.any_of(_PLAIN)}"
        return Piece(f"({test}) and {compared}", AND) if is_safe_if_true else Piece(f"{test} or {compared}", OR)

    def _guard(self, depth: int) -> tuple[str, str, bool]:
        """A use of a value, a test of the value, and whether the use is safe where the test is true."""
        value, bound = self._not_constant_zero(min(depth, 1)), self.any_of(_POSITIVE)
        test = self.any_of(_SAFE_WHERE_TRUE + _SAFE_WHERE_FALSE)
        condition = test.format(e=value.at(ATOM), k=bound, c=self.condition(depth - 1).at(ATOM))
        return self._used(value, bound), condition, test in _SAFE_WHERE_TRUE

    def _used(self, value: Piece, bound: str) -> str:
        return self.any_of(_USES).format(e=value.at(ATOM), k=bound, a=self._plain(0).at(ATOM))

    # --- strings

    def string(self, depth: int) -> Piece:
        plain = [self._named_string, self._named_string, self._string_literal]
        return self.form(plain if depth <= 0 else [*plain, self._chosen_string, self._first_string], depth)

    def _string_literal(self, depth: int) -> Piece:
        return quoted(self.draw(SHORT_STRINGS))

    def _named_string(self, depth: int) -> Piece:
        if not self.named_strings:
            return self._string_literal(depth)
        variable = self.any_of(self.named_strings)
        instead = self._string_literal(depth) if variable.nullable else quoted("")
        found = self.use(variable, instead.text)
        if found.text == variable.text or variable.values is None:
            return found
        return Piece(found.text, found.precedence, (*variable.values, *(instead.values or ())))

    def _chosen_string(self, depth: int) -> Piece:
        then, otherwise = self.string(depth), self.string(depth)
        return Piece(self._conditional(then, otherwise, depth).text, CONDITIONAL, _either(then, otherwise))

    def _first_string(self, depth: int) -> Piece:
        pair = [self.string(depth), self.string(depth)]
        parts = iter(pair)
        joined = self._joined(lambda _: next(parts), depth, 2)
        return Piece(joined.text, joined.precedence, _either(*pair))

    # --- conditions

    def condition(self, depth: int) -> Piece:
        plain = [self._compared, self._compared, self._named_flag, self._strings_compared]
        if depth <= 0:
            return self.form(plain, depth)
        forms = [
            *plain, self._negated, self._all_or_any, self._all_or_any, self._chain, self._listed, self._string_listed,
            self._contained, self._null_tested, self._chosen_condition, self._flags_compared, self._guarded_condition,
        ]  # fmt: skip
        return self.form(forms, depth)

    def _comparison(self, left: Piece, operators: Sequence[str], right: str) -> Piece:
        return Piece(f"{left.at(ADDITIVE)} {self.any_of(operators)} {right}", COMPARISON)

    def _named_flag(self, depth: int) -> Piece:
        if self.filters and self.one_in(2):
            return Piece(f"${self.any_of(self.filters)}")
        if self.flags:
            return self.use(self.any_of(self.flags), self.any_of(["False", "true"]))
        return self._compared(depth)

    def _null_tested(self, depth: int) -> Piece:
        if not self.nullables:
            return self._compared(depth)
        name = Piece(self.any_of(self.nullables).text)
        operands = (name, "None") if self.one_in(2) else (Piece("null"), name.text)
        return self._comparison(operands[0], _EQUALITY, operands[1])

    def _compared(self, depth: int) -> Piece:
        return self._comparison(self.number(depth), COMPARISONS, self.number(depth - 1).at(ADDITIVE))

    def _chain(self, depth: int) -> Piece:
        parts = [self.number(depth - 1).at(ADDITIVE)]
        for _ in range(self.any_of([2, 2, 3])):
            parts += [self.any_of(["<", "<=", "==", *COMPARISONS]), self.number(depth - 1).at(ADDITIVE)]
        if self.one_in(4):
            parts += [self.any_of(_MEMBERSHIP), self._list(depth)]
        return Piece(" ".join(parts), COMPARISON)

    def _listed(self, depth: int) -> Piece:
        return self._comparison(self.number(depth), _MEMBERSHIP, self._list(depth))

    def _list(self, depth: int) -> str:
        return f"[{', '.join(self.number(depth - 1).text for _ in range(self.any_of([2, 1, 3])))}]"

    def _strings_compared(self, depth: int) -> Piece:
        left = self.string(depth)
        return self._comparison(left, _EQUALITY, self._comparable(left, depth).at(ADDITIVE))

    def _string_listed(self, depth: int) -> Piece:
        left = self.string(depth)
        items = ", ".join(self._comparable(left, 0).text for _ in range(self.any_of([2, 1, 3])))
        return self._comparison(left, _MEMBERSHIP, f"[{items}]")

    def _contained(self, depth: int) -> Piece:
        return self._comparison(self.string(depth), _MEMBERSHIP, self.string(depth).at(ADDITIVE))

    def _comparable(self, left: Piece, depth: int) -> Piece:
        """A string that can be equal to the left one."""
        found = self.string(depth)
        if left.values is None or found.values is None or set(left.values) & set(found.values):
            return found
        return quoted(self.any_of(left.values))

    def _flags_compared(self, depth: int) -> Piece:
        right = self.any_of(["True", "False", "true", ""]) or self.condition(depth - 1).at(ADDITIVE)
        return self._comparison(self.condition(depth), _EQUALITY, right)

    def _negated(self, depth: int) -> Piece:
        return Piece(f"not {self.tested(depth).at(NOT)}", NOT)

    def _all_or_any(self, depth: int) -> Piece:
        return self._joined(self.condition, depth, self.any_of([2, 2, 3]))

    def _chosen_condition(self, depth: int) -> Piece:
        return self._conditional(self.condition(depth), self.condition(depth), depth)


_MEMBERSHIP = tuple(MEMBERSHIP)
_EQUALITY = ("==", "!=")


def _either(left: Piece, right: Piece) -> tuple[str, ...] | None:
    if left.values is None or right.values is None:
        return None
    return tuple(dict.fromkeys(left.values + right.values))
