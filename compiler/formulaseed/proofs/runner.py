"""Evaluate candidates, restaurants that proofs make up, and confirm those that a proof shows with both evaluators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from formulaseed.documents import FormulaSeed
from formulaseed.errors import DataError, EvaluationError
from formulaseed.ir.interpret import interpret
from formulaseed.language.typed import SymbolKind
from formulaseed.language.types import Value
from formulaseed.proofs.claims import Failure, Witness
from formulaseed.proofs.world import Domain
from formulaseed.runtime.loading import compile_evaluator
from formulaseed.runtime.typed_rows import ParsedRows

Row = tuple[Value, ...]
"""The fields of a review, in the order of the domain."""


class Candidate(NamedTuple):
    """A restaurant: its reviews, and the fields of the restaurant and the parameters that may vary, in the domain's order."""

    rows: tuple[Row, ...]
    shared: tuple[Value, ...]


class Outcome(NamedTuple):
    """The value of every step for a candidate, or its failure; then `values` is empty."""

    values: dict[str, Value]
    failure: Failure | None = None


class Runner:
    """One seed, ready to evaluate candidates of a domain, of which it reads the fields of its `own` domain."""

    def __init__(self, seed: FormulaSeed, domain: Domain, own: Domain, parameters: Mapping[str, Value]) -> None:
        self.program = seed.program
        self.parameters = parameters
        self._own = own
        self._row_symbols = [known.symbol for known in domain.rows()]
        self._shared_symbols = [known.symbol for known in domain.shared()]
        self._evaluator = compile_evaluator(seed)
        self._parsed: dict[Row, Any] = {}

    def run(self, candidate: Candidate) -> Outcome | None:
        """Evaluate a candidate with the module; None if the module does not accept its data."""
        shared = self.write_shared(candidate)
        return _evaluate(lambda: self._evaluator.trace(ParsedRows(map(self._parse, candidate.rows)), *shared))

    def _parse(self, row: Row) -> Any:
        """Return the module's tuple of a review. Raises `DataError`."""
        if row not in self._parsed:
            [self._parsed[row]] = self._evaluator.parse_rows([self._write_row(row, "r1")])
        return self._parsed[row]

    def _write_row(self, row: Row, review_id: str) -> dict[str, Any]:
        """Return a review as JSON, with the fields that the seed uses; the year and month are those of the date."""
        written: dict[str, Any] = {"review_id": review_id, "extraction": {}, "meta": {}}
        for symbol, value in zip(self._row_symbols, row, strict=True):
            if symbol in self._own.fields:
                written[symbol.kind.value][symbol.name] = value
        if "date" in written["meta"]:
            for part in ("year", "month"):
                written["meta"].pop(part, None)
        return written

    def write_shared(self, candidate: Candidate) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the context and the parameters of a candidate as JSON."""
        context: dict[str, Any] = {}
        parameters: dict[str, Any] = dict(self.parameters)
        for symbol, value in zip(self._shared_symbols, candidate.shared, strict=True):
            if symbol in self._own.fields:
                section = parameters if symbol.kind is SymbolKind.PARAMETER else context
                section[symbol.name] = value
        return context, parameters

    def write_inputs(self, candidate: Candidate) -> tuple[list[dict[str, Any]], dict[str, Any], dict[str, Any]]:
        """Return the rows, the context and the parameters of a candidate as JSON."""
        rows = [self._write_row(row, f"r{number}") for number, row in enumerate(candidate.rows, 1)]
        return rows, *self.write_shared(candidate)

    def confirm(self, candidate: Candidate, name: str) -> Witness | None:
        """Evaluate a candidate with the module and the reference evaluator; None unless both agree on every step.

        `name` says what the restaurant shows.
        """
        rows, context, parameters = self.write_inputs(candidate)
        outcome = _evaluate(lambda: self._evaluator.trace(rows, context, parameters))
        reference = _evaluate(lambda: interpret(self.program, rows, context, parameters))
        if outcome is None or repr(outcome) != repr(reference):
            return None
        return Witness(name, context, rows, parameters, outcome.values, outcome.failure)


def _evaluate(evaluate: Callable[[], dict[str, Value]]) -> Outcome | None:
    """Return the outcome of an evaluation; None if the data are not accepted."""
    try:
        return Outcome(evaluate())
    except EvaluationError as error:
        return Outcome({}, Failure(error.step, error.kind))
    except DataError:
        return None
