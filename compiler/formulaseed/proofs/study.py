"""Study one or two seeds over the restaurants of a domain: their nodes, restaurants that were tried, and a prover."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from formulaseed.documents import FormulaSeed
from formulaseed.language.types import Value
from formulaseed.proofs.lowering import Lowering
from formulaseed.proofs.nodes import Node
from formulaseed.proofs.pool import Pool
from formulaseed.proofs.prover import Goal, Prover
from formulaseed.proofs.runner import Candidate, Runner, Witness
from formulaseed.proofs.search import Measure, Test, Trials
from formulaseed.proofs.world import Domain

Answer = Literal["possible", "impossible", "unknown"]


class Study:
    """Seeds under study, each with its own domain and parameters. With `is_quick`, nothing is asked of the solver."""

    def __init__(
        self,
        seeds: Sequence[FormulaSeed],
        domain: Domain,
        own_domains: Sequence[Domain],
        parameters: Sequence[Mapping[str, Value] | None],
        *,
        effort: int = 1,
        is_quick: bool = False,
    ) -> None:
        self.domain = domain
        self.is_quick = is_quick
        self.pool = Pool(domain)
        self.lowerings: list[Lowering] = []
        for seed, own in zip(seeds, own_domains, strict=True):
            lowering = Lowering(self.pool, seed.program, replace(domain, parameters=own.parameters))
            lowering.lower_all()
            self.lowerings.append(lowering)
        self.prover = Prover(self.pool, effort)
        settings = zip(seeds, own_domains, parameters, strict=True)
        runners = [Runner(seed, domain, own, values or {}) for seed, own, values in settings]
        self.trials = Trials(self.prover.create_builder(points=True), runners)

    def is_impossible(self, goal: Goal, roots: Sequence[Node], **options: Any) -> bool:
        """Return True if it is proved that a goal holds for no restaurant, as `Prover.is_impossible` does."""
        return not self.is_quick and self.prover.is_impossible(goal, roots, **options)

    def show(self, start: Candidate | None, holds: Test) -> tuple[Witness, ...]:
        """Return the smallest part of a candidate for which `holds` is true, by each seed; empty if it is not confirmed."""
        return self.trials.confirm(self.trials.shrink(start, holds))

    def settle(self, measure: Measure, goal: Goal, roots: Sequence[Node]) -> tuple[Answer, tuple[Witness, ...]]:
        """Return whether some restaurant has the distance 0, with a witness, by sampling, climbing and the solver.

        `goal` is the same condition in formulas, and `roots` are the nodes that it reads.
        """

        def holds(candidate: Candidate) -> bool:
            """Return True if a candidate reaches the goal."""
            return measure(candidate) == 0

        start = self.trials.find(holds) or self.trials.climb_to(measure)
        if start is None and self.is_impossible(goal, roots):
            return "impossible", ()
        if start is None and not self.is_quick:
            start = self.prover.propose(goal, roots)
        witnesses = self.show(start, holds)
        return "possible" if witnesses else "unknown", witnesses
