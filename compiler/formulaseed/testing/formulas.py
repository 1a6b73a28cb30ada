"""Random formulas of every kind, well typed by construction; here the forms that are true or false."""

from __future__ import annotations

from collections.abc import Sequence

from formulaseed.language.operators import ADDITIVE, AND, COMPARISON, COMPARISONS, CONDITIONAL, NOT, OR
from formulaseed.testing.numbers import NumberForms
from formulaseed.testing.texts import TextForms
from formulaseed.testing.writer import Piece, quoted

DEPTH = 4
"""How deeply operators stand inside one another, at most."""


class FormulaWriter(NumberForms, TextForms):
    """Writes formulas of every kind."""

    def condition(self, depth: int) -> Piece:
        plain = [self._compared, self._compared, self._named_flag, self._texts_compared]
        if depth <= 0:
            return self.form(plain, depth)
        forms = [
            *plain, self._negated, self._joined, self._joined, self._chain, self._listed, self._text_listed, self._contained,
            self._null_tested, self._chosen_condition, self._flags_compared, self.guarded_condition,
        ]  # fmt: skip
        return self.form(forms, depth)

    # --- names

    def _named_flag(self, depth: int) -> Piece:
        if self.filters and self.one_in(2):
            return Piece(f"${self.any_of(self.filters)}")
        if self.flags:
            return self.use(self.any_of(self.flags), self.any_of(["False", "true"]))
        return self._compared(depth)

    def _null_tested(self, depth: int) -> Piece:
        if not self.nullables:
            return self._compared(depth)
        name, operator = self.any_of(self.nullables).text, self.any_of(["==", "!="])
        return Piece(self.any_of([f"{name} {operator} None", f"null {operator} {name}"]), COMPARISON)

    # --- numbers

    def _compared(self, depth: int) -> Piece:
        left, right = self.number(depth), self.number(depth - 1)
        return Piece(f"{left.at(ADDITIVE)} {self.any_of(COMPARISONS)} {right.at(ADDITIVE)}", COMPARISON)

    def _chain(self, depth: int) -> Piece:
        parts = [self.number(depth - 1).at(ADDITIVE)]
        for _ in range(self.any_of([2, 2, 3])):
            parts += [self.any_of(["<", "<=", "==", *COMPARISONS]), self.number(depth - 1).at(ADDITIVE)]
        if self.one_in(4):
            parts += [self.any_of(["in", "not in"]), self._list(depth)]
        return Piece(" ".join(parts), COMPARISON)

    def _listed(self, depth: int) -> Piece:
        left = self.number(depth).at(ADDITIVE)
        return Piece(f"{left} {self.any_of(['in', 'not in'])} {self._list(depth)}", COMPARISON)

    def _list(self, depth: int) -> str:
        return f"[{', '.join(self.number(depth - 1).text for _ in range(self.any_of([2, 1, 3])))}]"

    # --- texts

    def _texts_compared(self, depth: int) -> Piece:
        left = self.text(depth)
        right = self._comparable(left, depth)
        return Piece(f"{left.at(ADDITIVE)} {self.any_of(['==', '!='])} {right.at(ADDITIVE)}", COMPARISON)

    def _text_listed(self, depth: int) -> Piece:
        left = self.text(depth)
        items = ", ".join(self._comparable(left, 0).text for _ in range(self.any_of([2, 1, 3])))
        return Piece(f"{left.at(ADDITIVE)} {self.any_of(['in', 'not in'])} [{items}]", COMPARISON)

    def _contained(self, depth: int) -> Piece:
        left, right = self.text(depth), self.text(depth)
        return Piece(f"{left.at(ADDITIVE)} {self.any_of(['in', 'not in'])} {right.at(ADDITIVE)}", COMPARISON)

    def _comparable(self, left: Piece, depth: int) -> Piece:
        """A text that can be equal to the left one."""
        found = self.text(depth)
        if left.values is None or found.values is None or set(left.values) & set(found.values):
            return found
        return self.equal_to(left.values)

    def equal_to(self, values: Sequence[str]) -> Piece:
        """One of some texts."""
        return quoted(self.any_of(values))

    # --- conditions

    def _flags_compared(self, depth: int) -> Piece:
        left, operator = self.condition(depth), self.any_of(["==", "!="])
        right = self.any_of(["True", "False", "true", ""]) or self.condition(depth - 1).at(ADDITIVE)
        return Piece(f"{left.at(ADDITIVE)} {operator} {right}", COMPARISON)

    def _negated(self, depth: int) -> Piece:
        return Piece(f"not {self.tested(depth).at(NOT)}", NOT)

    def _joined(self, depth: int) -> Piece:
        word, precedence = self.any_of([("and", AND), ("or", OR)])
        parts = [self.condition(depth).at(precedence + 1) for _ in range(self.any_of([2, 2, 3]))]
        return Piece(f" {word} ".join(parts), precedence)

    def _chosen_condition(self, depth: int) -> Piece:
        then, test, otherwise = self.condition(depth), self.tested(depth), self.condition(depth)
        return Piece(f"{then.at(OR)} if {test.at(OR)} else {otherwise.text}", CONDITIONAL)
