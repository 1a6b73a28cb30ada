"""Evaluate candidates, restaurants that proofs make up, and confirm those that a proof shows with both evaluators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from formulaseed.documents import FormulaSeed
from formulaseed.errors import DataError, EvaluationError
from formulaseed.ir.interpret import interpret
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.language.types import Value
from formulaseed.proofs.world import Domain
from formulaseed.runtime.loading import compile_evaluator
from formulaseed.runtime.typed_rows import ParsedRows

Row = tuple[Value, ...]
"""The fields of a review, in the order of the domain."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A restaurant: its reviews, and the fields of the restaurant and the parameters that may vary, in the domain's order."""

    rows: tuple[Row, ...]
    shared: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The value of every step for a candidate, or the step and kind of its failure; then `values` is empty."""

    values: Mapping[str, Value]
    failure: tuple[str, str] | None = None


@dataclass(frozen=True)
class Witness:
    """A restaurant that both evaluators agree on: JSON rows, context and parameters, and the outcome."""

    candidate: Candidate
    rows: list[dict[str, Any]]
    context: dict[str, Any]
    parameters: dict[str, Any]
    outcome: Outcome

    def to_json(self, business_id: str) -> dict[str, Any]:
        """Return the inputs as a line of rows, which `evaluate` takes, with the values of all steps, or the failure."""
        failure = self.outcome.failure
        return {
            "business_id": business_id,
            "context": self.context,
            "rows": self.rows,
            "parameters": self.parameters,
            "steps": dict(self.outcome.values),
            "error": None if failure is None else {"step": failure[0], "kind": failure[1]},
        }


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
        context, parameters = self._write_shared(candidate)
        try:
            parsed = ParsedRows([self._parse(row) for row in candidate.rows])
            return Outcome(self._evaluator.trace(parsed, context, parameters))
        except EvaluationError as error:
            return Outcome({}, (error.step, error.kind))
        except DataError:
            return None

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

    def read_shared(self, candidate: Candidate) -> dict[Symbol, Value]:
        """Return the fields of a restaurant that the seed uses, and the parameters that vary, by symbol."""
        pairs = zip(self._shared_symbols, candidate.shared, strict=True)
        return {symbol: value for symbol, value in pairs if symbol in self._own.fields}

    def _write_shared(self, candidate: Candidate) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the context and the parameters of a candidate as JSON."""
        context: dict[str, Any] = {}
        parameters: dict[str, Any] = dict(self.parameters)
        for symbol, value in self.read_shared(candidate).items():
            section = parameters if symbol.kind is SymbolKind.PARAMETER else context
            section[symbol.name] = value
        return context, parameters

    def write_inputs(self, candidate: Candidate) -> tuple[list[dict[str, Any]], dict[str, Any], dict[str, Any]]:
        """Return the rows, the context and the parameters of a candidate as JSON."""
        rows = [self._write_row(row, f"r{number}") for number, row in enumerate(candidate.rows, 1)]
        return rows, *self._write_shared(candidate)

    def confirm(self, candidate: Candidate) -> Witness | None:
        """Evaluate a candidate with the module and the reference evaluator; None unless both agree on every step."""
        rows, context, parameters = self.write_inputs(candidate)
        outcomes: list[Outcome] = []
        evaluations: tuple[Callable[[], Mapping[str, Value]], ...] = (
            lambda: self._evaluator.trace(rows, context, parameters),
            lambda: interpret(self.program, rows, context, parameters),
        )
        for evaluate in evaluations:
            try:
                outcomes.append(Outcome(evaluate()))
            except EvaluationError as error:
                outcomes.append(Outcome({}, (error.step, error.kind)))
            except DataError:
                return None
        module, reference = outcomes
        if repr(dict(module.values)) != repr(dict(reference.values)) or module.failure != reference.failure:
            return None
        return Witness(candidate, rows, context, parameters, module)
