"""Random formulas that are well typed by construction.

A formula is written from the top down: what is wanted (a number, a condition, a text) is known first, then how
it is made, then its parts. `FormulaWriter` holds what may be named; `numbers`, `conditions` and `guards` hold
the forms that are too many for one place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hypothesis import strategies as st

from formulaseed.domain.builtins import AND, ATOM, CONDITIONAL, OR, UNARY
from formulaseed.testing.values import SHORT_TEXTS

DEPTH = 4
"""How deeply operators nest inside one another, at most."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A name that formulas may use. `kind` is a type's name, `values` what an enum holds.

    One that `needs_guard` has no value where no review matches, and may only be used behind a test; being 1 or
    more, the count `counted_by` is such a test as well.
    """

    text: str
    kind: str
    values: tuple[str, ...] | None = None
    nullable: bool = False
    per_review: bool = False
    needs_guard: bool = False
    counted_by: str = ""

    @property
    def is_numeric(self) -> bool:
        return self.kind in ("integer", "number")


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a formula. `values` are all that a text can be, None where it can be anything."""

    text: str
    precedence: int = ATOM
    values: tuple[str, ...] | None = None

    def at(self, least: int) -> str:
        return self.text if self.precedence >= least else f"({self.text})"

    @property
    def is_constant(self) -> bool:
        return not any(character.isalpha() or character == "_" for character in self.text)


def quoted(text: str) -> Piece:
    """A text as a literal."""
    quote = '"' if "'" in text else "'"
    escaped = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t").replace(quote, f"\\{quote}")
    return Piece(f"{quote}{escaped}{quote}", values=(text,))


@dataclass(slots=True)
class FormulaWriter:
    """Writes formulas over some variables and filters; filters and reviews' fields only where they have values."""

    draw: st.DrawFn
    variables: Sequence[Variable]
    filters: Sequence[str] = ()
    numeric: list[Variable] = field(init=False)
    flags: list[Variable] = field(init=False)
    texts: list[Variable] = field(init=False)
    nullables: list[Variable] = field(init=False)

    def __post_init__(self) -> None:
        self.numeric = [v for v in self.variables if v.is_numeric]
        self.flags = [v for v in self.variables if v.kind == "boolean"]
        self.texts = [v for v in self.variables if v.kind == "string"]
        self.nullables = [v for v in self.variables if v.nullable]

    # --- whole formulas

    def number(self, depth: int = DEPTH) -> Piece:
        from formulaseed.testing.numbers import FORMS, plain_number

        return self._form(FORMS, depth) if depth > 0 else plain_number(self, 0)

    def condition(self, depth: int = DEPTH) -> Piece:
        """True or false."""
        from formulaseed.testing.conditions import FORMS, plain_condition

        return self._form(FORMS, depth) if depth > 0 else plain_condition(self, 0)

    def tested(self, depth: int) -> Piece:
        """A condition, or a value that may be null, where it is asked whether something holds."""
        if self.nullables and self.one_in(8):
            return Piece(self.any_of(self.nullables).text)
        return self.condition(depth)

    def text(self, depth: int = DEPTH) -> Piece:
        forms = _TEXT_FORMS if depth > 0 else _TEXT_FORMS[:2]
        return self._form(forms, depth)

    def number_or_null(self, depth: int) -> Piece:
        """A number that is null now and then."""
        known = [v for v in self.nullables if v.is_numeric and not v.needs_guard]
        if known and self.one_in(2):
            return Piece(self.any_of(known).text)
        return Piece(
            f"{self.number(depth).at(OR)} if {self.tested(depth).at(OR)} else None"
            if self.one_in(2)
            else f"None if {self.tested(depth).at(OR)} else {self.number(depth).text}",
            CONDITIONAL,
        )

    # --- draws

    def any_of[T](self, choices: Sequence[T]) -> T:
        return self.draw(st.sampled_from(choices))

    def one_in(self, odds: int) -> bool:
        return self.draw(st.integers(0, odds - 1)) == odds - 1

    def _form(self, forms: Sequence[Callable[[FormulaWriter, int], Piece]], depth: int) -> Piece:
        return self.any_of(forms)(self, depth - 1)

    # --- names

    def use(self, variable: Variable, instead: str) -> Piece:
        """A variable where a value is needed: guarded, if it may be null, or now and then left to fail."""
        name = variable.text
        if not variable.nullable:
            return Piece(name, values=variable.values)
        if not variable.needs_guard and self.one_in(8):
            return Piece(name, values=variable.values)
        guards = _NUMBER_GUARDS if variable.is_numeric else _GUARDS
        guard = self.any_of([*guards, *(_COUNT_GUARDS if variable.counted_by else ())])
        text = guard.format(x=name, y=instead, n=variable.counted_by)
        return Piece(text, OR if guard == _GUARDS[0] else CONDITIONAL)


_GUARDS = (
    "{x} or {y}",
    "{x} if {x} != None else {y}",
    "{y} if {x} == None else {x}",
    "{x} if not ({x} == None) else {y}",
    "{x} if {x} else {y}",
    "{x} if None != {x} and True else {y}",
)
_NUMBER_GUARDS = (
    *_GUARDS,
    "{x} * 2 if {x} else {y}",
    "{x} - 1 if {x} != null else {y}",
    "{y} if {x} == None else -{x}",
)
_COUNT_GUARDS = ("{x} if {n} > 0 else {y}", "{x} * 2 if {n} != 0 else {y}", "{y} if {n} == 0 else {x}")


# --- texts


def _literal_text(writer: FormulaWriter, depth: int) -> Piece:
    return quoted(writer.draw(SHORT_TEXTS))


def _named_text(writer: FormulaWriter, depth: int) -> Piece:
    if not writer.texts:
        return _literal_text(writer, depth)
    variable = writer.any_of(writer.texts)
    instead = quoted(writer.draw(SHORT_TEXTS)) if variable.nullable else quoted("")
    found = writer.use(variable, instead.text)
    if found.text == variable.text:
        return found
    known = variable.values
    return Piece(found.text, found.precedence, (*known, *(instead.values or ())) if known is not None else None)


def _chosen_text(writer: FormulaWriter, depth: int) -> Piece:
    then, otherwise = writer.text(depth), writer.text(depth)
    text = f"{then.at(OR)} if {writer.tested(depth).at(OR)} else {otherwise.text}"
    return Piece(text, CONDITIONAL, _both(then, otherwise))


def _first_text(writer: FormulaWriter, depth: int) -> Piece:
    left, right = writer.text(depth), writer.text(depth)
    if writer.one_in(2):
        return Piece(f"{left.at(AND)} or {right.at(AND)}", OR, _both(left, right))
    return Piece(f"{left.at(AND + 1)} and {right.at(AND + 1)}", AND, _both(left, right))


def _both(left: Piece, right: Piece) -> tuple[str, ...] | None:
    if left.values is None or right.values is None:
        return None
    return tuple(dict.fromkeys(left.values + right.values))


_TEXT_FORMS = (_named_text, _literal_text, _named_text, _named_text, _chosen_text, _first_text)
_ = UNARY
