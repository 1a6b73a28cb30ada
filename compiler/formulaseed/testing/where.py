"""Random condition objects, as `define_filter` and `where` hold them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from formulaseed.testing.values import SHORT_TEXTS, integers, numbers
from formulaseed.testing.writer import Variable

Where = dict[str, Any]

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
        chosen = self.draw(st.lists(st.sampled_from(subjects), min_size=least, max_size=3, unique=True)) if subjects else []
        return {
            f"${subject}" if isinstance(subject, str) else subject.text: (
                self.draw(st.booleans()) if isinstance(subject, str) else self.test(subject)
            )
            for subject in chosen
        }

    def test(self, variable: Variable) -> Any:
        """What is said of one variable."""
        if variable.nullable and self._one_in(3):
            return self.draw(st.sampled_from([None, {"!=": None}]))
        tests = {"in": self._list} if not variable.is_numeric else {"in": self._list, "order": self._order}
        form = self.draw(st.sampled_from(["equal", "unequal", *tests, *tests]))
        if form == "equal":
            return self._operand(variable)
        if form == "unequal":
            return {"!=": self._operand(variable)}
        return tests[form](variable)

    def _order(self, variable: Variable) -> Any:
        operators = self.draw(st.sampled_from(_ORDERS))
        test = {operator: self._operand(variable) for operator in operators}
        if variable.nullable and self._one_in(2):
            return {"!=": None, **{operator: value for operator, value in test.items() if operator != "!="}}
        return test

    def _list(self, variable: Variable) -> Any:
        items = [self._operand(variable) for _ in range(self.draw(st.integers(1, 3)))]
        if variable.nullable and self._one_in(4):
            items.append(None)
        return {"in": items}

    def _operand(self, variable: Variable) -> Any:
        known = [p for p in self.parameters if p.kind == variable.kind or (p.is_numeric and variable.is_numeric)]
        if known and self._one_in(6):
            return self.draw(st.sampled_from(known)).text
        if variable.is_numeric:
            return self.draw(_NUMBERS)
        if variable.kind == "boolean":
            return self.draw(st.booleans())
        return self.draw(st.sampled_from(variable.values) if variable.values else SHORT_TEXTS)

    def _one_in(self, odds: int) -> bool:
        return self.draw(st.integers(0, odds - 1)) == odds - 1
