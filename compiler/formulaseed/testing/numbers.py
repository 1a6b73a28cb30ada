"""The forms of formulas for numbers: every operator and function, and values used behind guards."""

from __future__ import annotations

from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.operators import ADDITIVE, AND, ATOM, CONDITIONAL, MULTIPLICATIVE, OR, POWER, UNARY
from formulaseed.language.types import Base
from formulaseed.testing.values import EDGE_INTEGERS
from formulaseed.testing.writer import Piece, Writer

_PLAIN = ("1", "2", "3", "0", "5", "10", "100", "2023", "0.5", "1.0", "2.5", "0.1", "0.0", "1e-9", "4.", ".25")
_EDGES = (*(str(edge) for edge in EDGE_INTEGERS), "1e16", "9007199254740993.0", "1e100", "1e200", "1e308", "5e-324")
_POSITIVE = ("1", "2", "3", "0.5", "7", "1e-9", "1e16")
_EXPONENTS = ("2", "3", "0", "1", "0.5", "-1", "2.0", "-2", "64", "1.5", "1000")

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

_NUMERIC = tuple(each for each in FUNCTIONS.values() if Base.NUMBER in each.takes)


class NumberForms(Writer):
    def number(self, depth: int) -> Piece:
        if depth <= 0:
            return self._plain()
        forms = [
            self._leaf, self._arithmetic, self._arithmetic, self._call, self._call_of_one, self._chosen, self._arithmetic,
            self._negative, self._quotient, self._power, self._first, self._flag, self._length, self._guarded, self._guarded,
            self._risky, self._or_zero,
        ]  # fmt: skip
        return self.form(forms, depth)

    def number_or_null(self, depth: int) -> Piece:
        """A number that is null now and then."""
        known = [v for v in self.nullables if v.is_numeric and not v.needs_guard]
        if known and self.one_in(2):
            return Piece(self.any_of(known).text)
        number, test = self.number(depth), self.tested(depth)
        if self.one_in(2):
            return Piece(f"None if {test.at(OR)} else {number.text}", CONDITIONAL)
        return Piece(f"{number.at(OR)} if {test.at(OR)} else None", CONDITIONAL)

    # --- leaves

    def _leaf(self, depth: int) -> Piece:
        return self._plain()

    def _plain(self) -> Piece:
        if self.numeric and not self.one_in(3):
            variable = self.any_of(self.numeric)
            return self.use(variable, self.any_of(_PLAIN[:9]) if variable.nullable else "")
        return Piece(self.any_of(_EDGES if self.one_in(10) else _PLAIN))

    def _not_constant_zero(self, depth: int) -> Piece:
        """A number that is not plainly 0 or less, which the checker would refuse below a line or in a logarithm."""
        found = self.number(depth)
        return Piece(self.any_of(_POSITIVE)) if found.is_constant else found

    # --- operators

    def _arithmetic(self, depth: int) -> Piece:
        symbol, precedence = self.any_of([("+", ADDITIVE), ("-", ADDITIVE), ("*", MULTIPLICATIVE)])
        left, right = self.number(depth), self.number(depth)
        return Piece(f"{left.at(precedence)} {symbol} {right.at(precedence + 1)}", precedence)

    def _quotient(self, depth: int) -> Piece:
        symbol = self.any_of(["/", "//", "%"])
        left, right = self.number(depth), self._not_constant_zero(depth)
        return Piece(f"{left.at(MULTIPLICATIVE)} {symbol} {right.at(UNARY)}", MULTIPLICATIVE)

    def _power(self, depth: int) -> Piece:
        base = self._not_constant_zero(depth)
        exponent = self.any_of(_EXPONENTS) if not self.one_in(5) else self.number(depth - 1).at(UNARY)
        if self.one_in(3):
            return Piece(f"pow({base.text}, {exponent})")
        return Piece(f"{base.at(ATOM)} ** {exponent}", POWER)

    def _negative(self, depth: int) -> Piece:
        return Piece(f"{self.any_of(['-', '-', '+'])}{self.number(depth).at(UNARY)}", UNARY)

    # --- calls

    def _call_of_one(self, depth: int) -> Piece:
        function = self.any_of([each for each in _NUMERIC if each.least == 1 and not each.is_variadic])
        argument = self._not_constant_zero(depth) if function.is_partial else self.number(depth)
        if function.literal is not None and self.one_in(2):
            low, high = function.literal
            return Piece(f"{function.name}({argument.text}, {self.any_of(['2', '0', '1', '-2', str(high), str(low)])})")
        return Piece(f"{function.name}({argument.text})")

    def _call(self, depth: int) -> Piece:
        """A call with several arguments, or a list."""
        function = self.any_of(
            [each for each in _NUMERIC if (each.is_variadic or each.least > 1) and not each.operator]
        )
        takes_list = function.list_argument != "no"
        if not takes_list:
            value, *others = [self.number(depth).text, *(self.number(depth - 1).text for _ in function.parameters[1:])]
            if self.one_in(2):
                others = [
                    self.any_of(["0", "0.0", "1", "-5"]),
                    *(self.any_of(["1", "20.0", "100"]) for _ in others[1:]),
                ]
            return Piece(f"{function.name}({', '.join([value, *others])})")
        count = self.any_of([2, 2, 3] if function.of_none is None else [2, 3, 1, 0])
        inside = ", ".join(self.number(depth).text for _ in range(count))
        is_listed = function.list_argument == "must" or self.one_in(3)
        return Piece(f"{function.name}([{inside}])" if is_listed else f"{function.name}({inside})")

    def _flag(self, depth: int) -> Piece:
        return Piece(f"{self.any_of(['int', 'float'])}({self.condition(depth).text})")

    def _length(self, depth: int) -> Piece:
        return Piece(f"len({self.text(depth).text})")

    # --- choices

    def _chosen(self, depth: int) -> Piece:
        then, test, otherwise = self.number(depth), self.tested(depth), self.number(depth)
        return Piece(f"{then.at(OR)} if {test.at(OR)} else {otherwise.text}", CONDITIONAL)

    def _first(self, depth: int) -> Piece:
        word, precedence = self.any_of([("or", OR), ("and", AND)])
        parts = [self.number(depth).at(precedence + 1) for _ in range(self.any_of([2, 2, 3]))]
        return Piece(f" {word} ".join(parts), precedence)

    def _or_zero(self, depth: int) -> Piece:
        return Piece(f"{self.number_or_null(depth).at(AND)} or {self.any_of(_PLAIN[:9])}", OR)

    # --- guards

    def _risky(self, depth: int) -> Piece:
        """A value used where it may well fail, with no guard in sight."""
        if not self.numeric or not self.one_in(3):
            return self._guarded(depth)
        value = self.use(self.any_of(self.numeric), "1")
        return Piece(self._used(value, self.any_of(_POSITIVE)), ADDITIVE)

    def _guarded(self, depth: int) -> Piece:
        """A value used behind a test of it, which may prove that the use cannot fail."""
        value, bound = self._not_constant_zero(min(depth, 1)), self.any_of(_POSITIVE)
        use, instead = self._used(value, bound), self.number(depth - 1)
        test = self.any_of(_SAFE_WHERE_TRUE + _SAFE_WHERE_FALSE)
        condition = test.format(e=value.at(ATOM), k=bound, c=self.condition(depth - 1).at(ATOM))
        if test in _SAFE_WHERE_TRUE:
            return Piece(f"{use} if {condition} else {instead.text}", CONDITIONAL)
        return Piece(f"{instead.at(OR)} if {condition} else {use}", CONDITIONAL)

    def guarded_condition(self, depth: int) -> Piece:
        """The same with `and` and `or`."""
        value, bound = self._not_constant_zero(min(depth, 1)), self.any_of(_POSITIVE)
        compared = f"{self._used(value, bound)} {self.any_of(['>', '<=', '=='])} {self.any_of(_PLAIN)}"
        test = self.any_of(_SAFE_WHERE_TRUE + _SAFE_WHERE_FALSE)
        condition = test.format(e=value.at(ATOM), k=bound, c=self.condition(depth - 1).at(ATOM))
        if test in _SAFE_WHERE_TRUE:
            return Piece(f"({condition}) and {compared}", AND)
        return Piece(f"{condition} or {compared}", OR)

    def _used(self, value: Piece, bound: str) -> str:
        return self.any_of(_USES).format(e=value.at(ATOM), k=bound, a=self._plain().at(ATOM))
