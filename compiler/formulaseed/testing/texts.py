"""The forms of formulas for texts."""

from __future__ import annotations

from formulaseed.language.operators import AND, CONDITIONAL, OR
from formulaseed.testing.writer import Piece, Writer, quoted


class TextForms(Writer):
    def text(self, depth: int) -> Piece:
        plain = [self._named_text, self._named_text, self._text_literal]
        return self.form(plain if depth <= 0 else [*plain, self._chosen_text, self._first_text], depth)

    def _text_literal(self, depth: int) -> Piece:
        return self.quoted()

    def _named_text(self, depth: int) -> Piece:
        if not self.named_texts:
            return self.quoted()
        variable = self.any_of(self.named_texts)
        instead = self.quoted() if variable.nullable else quoted("")
        found = self.use(variable, instead.text)
        if found.text == variable.text or variable.values is None:
            return found
        return Piece(found.text, found.precedence, (*variable.values, *(instead.values or ())))

    def _chosen_text(self, depth: int) -> Piece:
        then, otherwise = self.text(depth), self.text(depth)
        text = f"{then.at(OR)} if {self.tested(depth).at(OR)} else {otherwise.text}"
        return Piece(text, CONDITIONAL, _either(then, otherwise))

    def _first_text(self, depth: int) -> Piece:
        word, precedence = self.any_of([("or", OR), ("and", AND)])
        left, right = self.text(depth), self.text(depth)
        text = f"{left.at(precedence + 1)} {word} {right.at(precedence + 1)}"
        return Piece(text, precedence, _either(left, right))


def _either(left: Piece, right: Piece) -> tuple[str, ...] | None:
    if left.values is None or right.values is None:
        return None
    return tuple(dict.fromkeys(left.values + right.values))
