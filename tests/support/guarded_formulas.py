"""Random formulas whose partial operations are guarded by tests of their operands, and seeds made of them.

The tests may prove that the operation cannot fail, which is what the compiler's intervals are tested with.
"""

from __future__ import annotations

from itertools import product
from typing import ClassVar

from formulaseed.language.operators import ATOM
from formulaseed.testing.formulas import POSITIVE, FormulaWriter, Piece
from formulaseed.testing.random_seeds import seeds
from hypothesis import strategies as st

_SAFE_WHERE_TRUE = (
    "{E} > {K}", "{E} >= {K}", "{E} > 0", "{E} != 0", "0 < {E}", "0 < {E} < {K}", "{K} <= {E} <= 1000", "0 != {E}",
    "not ({E} == 0)", "not {E} <= 0", "{E} in [{K}, 3]", "{E} == {K}", "{E} > 0 and {b}", "{b} and {E} != 0",
    "{E} < 0", "{E} <= -{K}", "{E} > {K} or {E} > 2", "{E} != {K}",
)  # fmt: skip
_SAFE_WHERE_FALSE = (
    "{E} == 0", "0 == {E}", "{E} <= {K}", "{E} < {K}", "not {E} > {K}", "{E} in [0, {K}]", "{E} == 0 or {b}",
    "{b} or {E} <= 0", "not ({E} > 0 and {b})", "{E} == {K}",
)  # fmt: skip
_USES = (
    "{a} / {E}", "{a} / {E}", "{a} // {E}", "{a} % {E}", "log({E})", "sqrt({E})", "{E} ** -1", "{a} / ({E} - {K})",
    "{a} / ({E} + {K})", "log({E} - {K})", "log({E} + 1)", "sqrt({E} - {K})", "{a} / abs({E})", "{a} / ({E} * 2)",
    "{a} / max({E}, {K})", "{a} / sqrt({E})", "{a} / {E} ** 2", "{a} // -{E}", "pow({E}, {K})", "{E} ** 0.5",
    "{a} / int({E})", "{a} % round({E})", "{a} / ({K} - {E})", "log({E} * {E})", "{a} / log({E} + 1)",
    "{a} / min({E}, {K})", "{a} / float({E})", "{a} / (3 * {E} - {K})", "{a} / ceil({E})", "{a} / floor({E} / 2)",
)  # fmt: skip
"""Partial operations on a value that one of these tests may prove to be safe."""
_UNGUARDED = [(use.replace("{E}", "{V}"), "+") for use in _USES]
_GUARDED = [
    *[(f"{use} if {test} else {{m}}", "") for use, test in product(_USES, _SAFE_WHERE_TRUE)],
    *[(f"{{m:or}} if {test} else {use}", "") for use, test in product(_USES, _SAFE_WHERE_FALSE)],
]
_GUARDED_CONDITIONS = [
    *[(f"({test}) and {use} > {{l}}", "and") for use, test in product(_USES, _SAFE_WHERE_TRUE)],
    *[(f"{test} or {use} <= {{l}}", "or") for use, test in product(_USES, _SAFE_WHERE_FALSE)],
]


class GuardedWriter(FormulaWriter):
    """Writes formulas whose partial operations are often guarded, or now and then left to fail."""

    numbers = (*FormulaWriter.numbers, _GUARDED, _GUARDED, _GUARDED, _UNGUARDED)
    conditions = (*FormulaWriter.conditions, _GUARDED_CONDITIONS)
    places: ClassVar = {
        **FormulaWriter.places,
        "a": lambda writer, _: Piece(writer.plain(0).as_operand(ATOM)),
        "b": lambda writer, depth: Piece(writer.condition(depth - 1).as_operand(ATOM)),
        "E": lambda writer, depth: Piece(writer.positive(min(depth, 1)).as_operand(ATOM)),
        "V": lambda writer, _: Piece(
            (writer.use(writer.choose(writer.numeric), "1") if writer.numeric else writer.plain(0)).as_operand(ATOM)
        ),
        "K": lambda writer, _: Piece(writer.choose(POSITIVE)),
    }


def guarded_seeds(max_steps: int = 10) -> st.SearchStrategy[dict[str, object]]:
    """Seeds as `formulaseed.testing` makes them, of such formulas."""
    return seeds(max_steps=max_steps, formulas=GuardedWriter)
