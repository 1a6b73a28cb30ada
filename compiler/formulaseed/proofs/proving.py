"""Prove what holds for every restaurant of a seed, as a document: text, Markdown, HTML and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from formulaseed.data.arguments import validate_arguments
from formulaseed.documents import FormulaSeed, SeedLike, load_seed
from formulaseed.explanation.conditions import join_words
from formulaseed.explanation.verdict import choose_verdict
from formulaseed.ir import nodes
from formulaseed.ir.labels import label_of
from formulaseed.language.printer import expression_text, literal_text
from formulaseed.language.types import Value
from formulaseed.pages.blocks import Block, Heading, InlineCode, Table, join_names, sentence
from formulaseed.pages.document import RenderedDocument
from formulaseed.pages.values import format_plain
from formulaseed.proofs.claims import Bounds, End, Proof, Property, Reach, StepFailure
from formulaseed.proofs.properties import PropertyStudy, parse_property, read_property
from formulaseed.proofs.report import EXAMPLES, describe_scope, describe_witness, list_lines
from formulaseed.proofs.study import Options
from formulaseed.proofs.world import format_number
from formulaseed.runtime.loading import compile_evaluator
from formulaseed.source.text import shorten

_MAX_RULE_LENGTH = 80


@dataclass(frozen=True)
class Proofs(RenderedDocument):
    """The claims about a seed for all restaurants, each proved, shown by a restaurant, or unknown."""

    program: nodes.Program
    claims: Proof

    @property
    def title(self) -> str:
        """The title of the page."""
        return f"Proofs about {self.claims.seed}"

    def __repr__(self) -> str:
        counts = f"{len(self.claims.rules)} rules, {len(self.claims.properties)} properties"
        return shorten(f"Proofs({self.claims.seed!r}, {counts})")

    @cached_property
    def json(self) -> dict[str, Any]:
        """The claims as JSON values; `grammar/proof.schema.json` describes them."""
        return self.claims.to_json()

    def _blocks(self) -> Iterator[Block]:
        """Yield the verdicts, rules, failures, bounds and properties, then what is unknown, and the scope of the proofs."""
        yield sentence(InlineCode(self.claims.seed), ": what holds for every restaurant. ", EXAMPLES)
        step = choose_verdict(self.program)
        if step is not None and self.claims.verdicts:
            label = label_of(step)
            yield Heading(f"All values of {step.name}" + (f", the {label}" if label != step.name.lower() else ""), 3)
            verdicts = self.claims.verdicts
            yield from list_lines(self._describe_reach(format_plain(claim.value), claim) for claim in verdicts)
        yield from self._list_rules()
        yield from self._list_failures()
        if self.claims.bounds:
            yield Heading("Numbers", 3)
            yield Table(("output", "lowest", "highest"), [*map(_format_bounds, self.claims.bounds)])
            yield sentence(
                "A plain number, here with at most four decimals, is the proved end of the range, and some restaurant has it. "
                "“No bound found” is no proof that there is none."
            )
        if self.claims.properties:
            yield Heading("Properties", 3)
            yield from list_lines(map(self._describe_property, self.claims.properties))
        if self.claims.is_quick:
            yield sentence("Only restaurants were tried, nothing was proved: --quick leaves the solver out.")
        yield from describe_scope(self.claims.domain, has_cells=self.claims.has_cells)

    def _describe_reach(self, title: str, claim: Reach) -> tuple[str, ...]:
        """Return a rule or value as parts of a line, with whether it is reached, and by which restaurant."""
        words = "not known whether a restaurant gets it"
        if claim.witness is not None:
            words = f"for example, a restaurant with {describe_witness(self.program, claim.witness)}"
        elif claim.status == "unreachable":
            words = "no restaurant gets it, as proved"
        return InlineCode(title), f": {words}"

    def _list_rules(self) -> Iterator[Block]:
        """Yield how many rules are reached, and each rule that is not."""
        total = len(self.claims.rules)
        if total:
            missed = [claim for claim in self.claims.rules if claim.status != "reached"]
            yield Heading("Rules", 3)
            names = join_words([*dict.fromkeys(claim.name for claim in self.claims.rules)], "and")
            words = f"{total - len(missed)} of the {total} rules of {names} decide for some restaurant. The others:"
            yield sentence(words if missed else f"Each of the {total} rules of {names} decides for some restaurant.")
            yield from list_lines(self._describe_reach(self._format_rule(claim), claim) for claim in missed)

    def _format_rule(self, claim: Reach) -> str:
        """Return a rule as one line, such as `VERDICT: 'Low Risk' if SCORE < 4.0`."""
        step = next(step for step in self.program.steps if step.name == claim.name)
        condition = step.choices()[claim.rule or 0][0]
        test = "else" if condition is None else f"if {expression_text(condition)}"
        return shorten(f"{claim.name}: {literal_text(claim.value)} {test}", _MAX_RULE_LENGTH)

    def _list_failures(self) -> Iterator[Block]:
        """Yield which steps with a partial operation cannot fail, and those that can or may."""
        safe = [claim.name for claim in self.claims.failures if claim.status == "safe"]
        if self.claims.failures:
            yield Heading("Failures", 3)
        if safe:
            quantity = "All" if len(safe) == len(self.claims.failures) else "These"
            words = f"{quantity} steps with an operation that may have no value, such as a division, are proved never to fail: "
            yield sentence(words, *join_names(safe), ".")
        yield from list_lines(self._describe_failure(claim) for claim in self.claims.failures if claim.status != "safe")

    def _describe_failure(self, claim: StepFailure) -> tuple[str, ...]:
        """Return a step that is not proved safe as parts of a line, with the restaurant for which it fails."""
        if claim.witness is None or claim.kind is None:
            return InlineCode(claim.name), ": not known whether it can fail"
        restaurant = describe_witness(self.program, claim.witness)
        return InlineCode(claim.name), f" fails ({claim.kind.replace('_', ' ')}) for a restaurant with {restaurant}"

    def _describe_property(self, claim: Property) -> tuple[str, ...]:
        """Return a property as parts of a line, with whether it holds; for a refuted one the restaurant and the change."""
        if claim.witness is None:
            return InlineCode(claim.text), ": proved" if claim.status == "proved" else ": not known"
        _, step, _, cause = claim.text.split(maxsplit=3)
        change = f"gets {claim.amount} more of {cause}"
        if claim.added is not None:
            grown = describe_witness(self.program, claim.added)
            change = f"gets one more review, which meets {cause}; it then has {grown}"
        moved = f"{step} goes from {format_plain(claim.before)} to {format_plain(claim.after)}"
        restaurant = describe_witness(self.program, claim.witness)
        return InlineCode(claim.text), f": refuted. {moved} if a restaurant with {restaurant} {change}"


def _format_bounds(bounds: Bounds) -> tuple[str, str, str]:
    """Return a row of the table of numbers: the name of a step, and both ends of its range."""
    return InlineCode(bounds.name), _format_end(bounds.low, "at least"), _format_end(bounds.high, "at most")


def _format_end(end: End, words: str) -> str:
    """Return an end of a number's range as a cell: a bound that is reached, one that is only not exceeded, or no bound."""
    reached = "" if end.reached is None else f", {format_plain(end.reached)} is reached"
    if end.bound is None or end.status == "unknown":
        return f"{'no bound found' if end.status == 'open' else 'not known'}{reached}"
    bound = format_number(end.bound)
    return bound if end.status == "tight" else f"{words} {bound}{reached}"


@validate_arguments
def prove(
    seed: SeedLike | FormulaSeed,
    *,
    parameters: Mapping[str, Value] | None = None,
    properties: Sequence[str] = (),
    quick: bool = False,
    wide: bool = False,
    any_parameters: bool = False,
    effort: int = 1,
) -> Proofs:
    """Prove what holds for every restaurant of a seed, and find restaurants for what does not.

    `properties` are asked besides those that the seed declares, such as `"increasing SCORE in N_SEVERE"` or
    `"never_lowers SCORE by IS_INCIDENT"`, where the last word is a filter. With `quick`, restaurants are only tried, without the
    extra `prove`. With `wide`, fields may have all values that the module accepts, also those that Yelp never has; with
    `any_parameters`, parameters may have all values within their bounds. `effort` multiplies the solver's effort. Raises
    `SeedError` for a seed with errors, `DataError` for a wrong parameter or property, `MissingExtraError` without the solver.
    """
    loaded = load_seed(seed)
    if parameters:
        compile_evaluator(loaded).parse_parameters(parameters)  # raises for a wrong one
    further = (parse_property(text, loaded.program) for text in properties)
    claims = [*map(read_property, loaded.program.properties), *further]
    study = PropertyStudy([loaded], [parameters], Options(effort, quick, wide, any_parameters))
    for claim in claims:
        if claim.kind is not None:
            study.count_kind(claim.kind)
    if not quick:
        study.prover.relate_aggregates()
    proof = Proof(
        seed=loaded.document.source.name,
        bounds=study.bound_outputs(),  # the first, since the other claims use them
        rules=list(study.list_rules()),
        verdicts=list(study.list_verdicts()),
        failures=list(study.list_failures()),
        properties=[study.decide(claim) for claim in claims],
        domain=study.domain,
        effort=study.prover.units,
        has_cells=study.prover.has_cells,
        is_quick=quick,
    )
    return Proofs(loaded.program, proof)
