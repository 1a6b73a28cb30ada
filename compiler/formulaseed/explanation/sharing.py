"""Evaluate conditions and operands once for reviews with equal values, so that restaurants with many reviews are explained fast.

In: rows, also as the evaluator parsed them. Out: an evaluation of the interpreter, with the same values and the same record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from formulaseed.explanation.candidates import Row
from formulaseed.ir import nodes
from formulaseed.ir.inputs import SymbolValues
from formulaseed.ir.interpret import Evaluation, prepare_evaluation
from formulaseed.language import typed
from formulaseed.language.typed import Expr, Symbol, SymbolKind
from formulaseed.runtime.typed_rows import ParsedRows

_Result = TypeVar("_Result")


def prepare_sharing_evaluation(
    program: nodes.Program,
    rows: Sequence[Row],
    parsed: ParsedRows,
    context: Mapping[str, Any],
    parameters: Mapping[str, Any] | None,
) -> Evaluation:
    """Return an evaluation as `prepare_evaluation` does, in which rows that are equal in `parsed` share results."""
    places = {values: place for place, values in enumerate(parsed)}
    evaluation = prepare_evaluation(program, [rows[place] for place in places.values()], context, parameters)
    by_values = dict(zip(places, evaluation.rows, strict=True))
    return SharingEvaluation(evaluation.shared, [by_values[values] for values in parsed])


class SharingEvaluation(Evaluation):
    """An evaluation whose `rows` may have the same dictionary several times."""

    def map_rows(self, function: Callable[[SymbolValues], _Result], uses: Sequence[Expr]) -> Iterator[_Result]:
        """Yield the result of `function` for each row. Calls it once for rows with equal values of the fields in `uses`."""
        fields = self._find_fields(uses)
        by_values: dict[tuple[Any, ...], _Result] = {}
        by_row: dict[int, _Result] = {}  # by the id of the dictionary, which is read faster than its values
        for row in self.rows:
            key = id(row)
            if key not in by_row:
                values = tuple([row[symbol] for symbol in fields])
                if values not in by_values:
                    by_values[values] = function(row)
                by_row[key] = by_values[values]
            yield by_row[key]

    def _find_fields(self, expressions: Sequence[Expr]) -> list[Symbol]:
        """Return the fields of reviews that expressions read, also through filters."""
        symbols: dict[Symbol, None] = {}
        stack = [*expressions]
        while stack:
            for symbol in typed.symbols_in(stack.pop()):
                if symbol.kind is SymbolKind.FILTER and symbol not in symbols:
                    stack.append(self.filters[symbol.name])
                symbols[symbol] = None
        return [symbol for symbol in symbols if symbol.kind in (SymbolKind.EXTRACTION, SymbolKind.META)]
