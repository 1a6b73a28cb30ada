"""Random condition objects, as `define_filter` and `where` hold them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st

from formulaseed.testing.values import SHORT_TEXTS, integers, numbers
from formulaseed.testing.writer import Variable, below

Where = dict[str, Any]
_Choice = TypeVar("_Choice")

_ORDERS = ((">",), (">=",), ("<",), ("<=",), (">=", "<"), (">", "<="), ("!=",), ("!=", ">"))
_NUMBERS = st.one_of(integers(), numbers())


class ConditionWriter:
    """Writes conditions on some variables, each against literals or parameters of its kind."""

    def __init__(self, draw: st.DrawFn, parameters: Sequence[Variable]) -> None:
        self.draw = draw
        self.parameters = parameters

    def where(self, variables: Sequence[Variable], filters: Sequence[str], least: int = 0) -> Where:
        """A condition object with prefixed names. `least` is 1 where it must test something."""
        subjects: list[Variable | str] = [*variables, *filters]
        places = (
            [self.draw(below(len(subjects))) for _ in range(least + self.draw(below(4 - least)))] if subjects else []
        )
        chosen = [subjects[place] for place in dict.fromkeys(places)]
        return {
            f"${subject}" if isinstance(subject, str) else subject.text: (
                self._one_in(2) if isinstance(subject, str) else self.test(subject)
            )
            for subject in chosen
        }

    def test(self, variable: Variable) -> Any:
        """What is said of one variable."""
        if variable.nullable and self._one_in(3):
            return {"!=": None} if self._one_in(2) else None
        tests = {"in": self._list} if not variable.is_numeric else {"in": self._list, "order": self._order}
        form = self._any_of(["equal", "unequal", *tests, *tests])
        if form == "equal":
            return self._operand(variable)
        if form == "unequal":
            return {"!=": self._operand(variable)}
        return tests[form](variable)

    def _order(self, variable: Variable) -> Any:
        operators = self._any_of(_ORDERS)
        test = {operator: self._operand(variable) for operator in operators}
        if variable.nullable and self._one_in(2):
            return {"!=": None, **{operator: value for operator, value in test.items() if operator != "!="}}
        return test

    def _list(self, variable: Variable) -> Any:
        items = [self._operand(variable) for _ in range(1 + self.draw(below(3)))]
        if variable.nullable and self._one_in(4):
            items.append(None)
        return {"in": items}

    def _operand(self, variable: Variable) -> Any:
        known = [p for p in self.parameters if p.kind == variable.kind or (p.is_numeric and variable.is_numeric)]
        if known and self._one_in(6):
            return self._any_of(known).text
        if variable.is_numeric:
            return self.draw(_NUMBERS)
        if variable.kind == "boolean":
            return self._one_in(2)
        return self._any_of(variable.values) if variable.values else self.draw(SHORT_TEXTS)

    def _any_of(self, choices: Sequence[_Choice]) -> _Choice:
        return choices[self.draw(below(len(choices)))]

    def _one_in(self, odds: int) -> bool:
        return self.draw(below(odds)) == odds - 1
