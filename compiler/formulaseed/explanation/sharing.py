"""Evaluate conditions and operands once for reviews with equal values, so that restaurants with many reviews are explained fast.

In: rows, also as the evaluator parsed them. Out: an evaluation of the interpreter, with the same values and the same record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import itemgetter
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
    symbols = [Symbol(kind, field.name) for kind, field in program.row_fields()]
    return SharingEvaluation(evaluation.shared, [by_values[row] for row in parsed], parsed=parsed, symbols=symbols)


@dataclass
class SharingEvaluation(Evaluation):
    """An evaluation that shares results. `parsed` has the same values as `rows`, in the order of `symbols`."""

    parsed: Sequence[tuple[Any, ...]] = ()
    symbols: Sequence[Symbol] = ()

    def map_rows(self, function: Callable[[SymbolValues], _Result], uses: Sequence[Expr]) -> Iterator[_Result]:
        """Yield the result of `function` for each row. Calls it once for rows with equal values of the fields in `uses`."""
        used = self._find_symbols(uses)
        places = [place for place, symbol in enumerate(self.symbols) if symbol in used]
        keys: Iterable[Any] = map(itemgetter(*places), self.parsed) if places else repeat(())
        results: dict[Any, _Result] = {}
        for key, row in zip(keys, self.rows, strict=False):
            if key not in results:
                results[key] = function(row)
            yield results[key]

    def _find_symbols(self, expressions: Sequence[Expr]) -> set[Symbol]:
        """Return the names in expressions, also those that their filters use."""
        symbols = {symbol for expression in expressions for symbol in typed.symbols_in(expression)}
        filters = [self.filters[symbol.name] for symbol in symbols if symbol.kind is SymbolKind.FILTER]
        return symbols | self._find_symbols(filters) if filters else symbols
