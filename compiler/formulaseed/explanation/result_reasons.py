"""Find the reasons of verdicts for results, without the rest of the explanations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from formulaseed.explanation.explainer import Explainer
from formulaseed.ir import nodes
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.table_names import FindReasons


@dataclass(frozen=True, slots=True)
class VerdictReasons:
    """The reasons that results have: at most `count`, of the program's verdict. Other processes can get copies."""

    program: nodes.Program
    count: int
    parameters: Mapping[str, Any] | None

    def start(self, evaluator: Evaluator) -> FindReasons:
        """Return a function that maps a restaurant's rows and context, both JSON, to its reasons as JSON objects."""
        explainer = Explainer(self.program, evaluator)

        def find_reasons(rows: Sequence[Mapping[str, Any]], context: Mapping[str, Any]) -> list[dict[str, Any]]:
            """Return the reasons, the largest first; empty if a step fails or the verdict compares no single number."""
            reasons = explainer.find_reasons(rows, context, self.parameters, self.count)
            return [reason.model_dump() for reason in reasons]

        return find_reasons
