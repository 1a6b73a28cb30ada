"""Study one or two seeds over the restaurants of a domain: their nodes, restaurants that were tried, and a prover."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Literal, NamedTuple

from formulaseed.documents import FormulaSeed
from formulaseed.language.types import Value
from formulaseed.proofs.cells import CellBuilder
from formulaseed.proofs.claims import Witness
from formulaseed.proofs.lowering import Lowering
from formulaseed.proofs.nodes import Node
from formulaseed.proofs.pool import Pool
from formulaseed.proofs.prover import Prover
from formulaseed.proofs.runner import Candidate, Runner
from formulaseed.proofs.search import Score, Test, Trials
from formulaseed.proofs.world import join_domains, read_domain

Answer = Literal["possible", "impossible", "unknown"]


class Options(NamedTuple):
    """The options of a study: `prove` describes them."""

    effort: int = 1
    is_quick: bool = False
    is_wide: bool = False
    any_parameters: bool = False


class Study:
    """Seeds under study over the restaurants that all accept, each with its own parameters.

    `program` and `lowering` are those of the last seed.
    Raises `DataError` if no restaurant fits all seeds.
    """

    def __init__(
        self, seeds: Sequence[FormulaSeed], parameters: Sequence[Mapping[str, Value] | None], options: Options
    ) -> None:
        settings = [{} if options.any_parameters else values or {} for values in parameters]
        domains = [
            read_domain(seed.program, values, is_wide=options.is_wide, any_parameters=options.any_parameters)
            for seed, values in zip(seeds, settings, strict=True)
        ]
        self.domain = reduce(join_domains, domains)
        self.pool = Pool(self.domain)
        self.lowerings: list[Lowering] = []
        runners: list[Runner] = []
        for seed, own, values in zip(seeds, domains, settings, strict=True):
            self.lowerings.append(Lowering(self.pool, seed.program, self.domain._replace(parameters=own.parameters)))
            self.lowerings[-1].lower_all()
            runners.append(Runner(seed, self.domain, own, values))
        self.program = seeds[-1].program
        self.lowering = self.lowerings[-1]
        self.prover = Prover(self.pool, options.effort, is_quick=options.is_quick)
        self.trials = Trials(CellBuilder(self.pool), runners)

    def show(self, start: Candidate | None, holds: Test, name: str) -> tuple[Witness, ...]:
        """Return the smallest part of a candidate for which `holds` is true, by each seed; empty if it is not confirmed."""
        return self.trials.confirm(self.trials.shrink(start, holds), name)

    def settle(self, score: Score, condition: Node, name: str) -> tuple[Answer, tuple[Witness, ...]]:
        """Return whether some restaurant has the score 0, with a witness, by sampling, climbing and the solver.

        `condition` holds for the same restaurants. `name` says what the witness shows.
        """

        def holds(candidate: Candidate) -> bool:
            """Return True if a candidate reaches the goal."""
            return score(candidate) == 0

        start = self.trials.find(holds) or self.trials.climb_to(score)
        if start is None and self.prover.is_false(condition):
            return "impossible", ()
        witnesses = self.show(start, holds, name)
        return "possible" if witnesses else "unknown", witnesses
