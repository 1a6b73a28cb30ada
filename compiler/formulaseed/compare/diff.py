"""Compares two seeds, or two settings of one: how the policy changed, and how that changes the results of restaurants.

In: two seeds, and lines of rows. Out: a `Difference`, as data, text, Markdown and HTML. Source: the design's section 11.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from formulaseed.compare.causes import Setting
from formulaseed.compare.changes import Category, SeedChanges, find_changes
from formulaseed.compare.evaluation import OutcomeComparison
from formulaseed.compare.expect import read_expectations
from formulaseed.compare.outcomes import MAX_IN_TEXT, MAX_ON_PAGE, Outcomes
from formulaseed.compare.pairing import pair_programs
from formulaseed.data.arguments import validate_arguments
from formulaseed.data.duplicates import Duplicates
from formulaseed.data.jsonl import InputLine, Lines, open_lines
from formulaseed.data.results import Failures
from formulaseed.documents import FormulaSeed, SeedLike, load_seed
from formulaseed.errors import DataError
from formulaseed.ir import nodes
from formulaseed.language.types import Value
from formulaseed.pages.blocks import Block, Details, InlineCode, Paragraph, sentence
from formulaseed.pages.document import RenderedDocument
from formulaseed.pages.markdown import as_markdown
from formulaseed.proofs.claims import SeedProof
from formulaseed.runtime.loading import compile_evaluator
from formulaseed.source.text import shorten

Check = Literal["verdicts", "outputs", "extraction", "expected"]
"""A value of `--fail-on`."""
ParameterValues = Mapping[str, Value] | None
_COUNT_WORDS: dict[Category, str] = {
    "values": "may change values",
    "extraction": "change what is extracted",
    "outputs": "change outputs",
    "cosmetic": "cosmetic",
}


@dataclass(frozen=True)
class ComparedSeed:
    """One of the two seeds of a comparison: its file, hash, task and version, and the parameters that the caller set."""

    file: str
    sha256: str
    task: str
    version: str
    parameters: Mapping[str, Value]

    def to_json(self) -> dict[str, Any]:
        """Return the seed as a JSON object of `--format json`, as docs/analysis.md describes it."""
        return {**vars(self), "parameters": dict(self.parameters), "version": self.version or None}

    def format_name(self) -> list[str]:
        """Return the file name, and the parameters if any are set, as parts of a sentence."""
        if not self.parameters:
            return [InlineCode(self.file)]
        values = (f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in self.parameters.items())
        return [InlineCode(self.file), " with ", InlineCode(", ".join(values))]


@dataclass(frozen=True)
class Difference(RenderedDocument):
    """The difference of two seeds; `outcomes` is None if no restaurants were given."""

    old: ComparedSeed
    new: ComparedSeed
    changes: SeedChanges
    outcomes: Outcomes | None
    proof: SeedProof | None = None
    """The proofs for all restaurants; None unless they were requested."""
    programs: tuple[nodes.Program, nodes.Program] | None = None

    @property
    def title(self) -> str:
        """The title of the page."""
        return f"{self.old.file} → {self.new.file}"

    @property
    def is_empty(self) -> bool:
        """True if the seeds do not even differ cosmetically, and no restaurant has other results."""
        return not self.changes.all and (self.outcomes is None or not self.outcomes.changes)

    def has_changed(self, check: Check) -> bool:
        """Return whether the aspect `check` has changed; `--fail-on` fails if it has.

        `verdicts`: a restaurant has another verdict, or fails with one seed only. `outputs`: an output has another name or
        type, or another value for a restaurant. `extraction`: reviews are asked something else. `expected`: a restaurant has
        an expected output with the old seed only. With a proof, a verdict also has changed if it is possible or unknown
        that it moves.
        """
        if check in ("outputs", "extraction") and self.changes.select(check):
            return True
        if check == "verdicts" and self.proof is not None and self.proof.may_move:
            return True
        return self.outcomes is not None and self.outcomes.has_changed(check)

    @cached_property
    def json(self) -> dict[str, Any]:
        """The difference as JSON values; docs/analysis.md describes them."""
        values = {
            "old": self.old.to_json(),
            "new": self.new.to_json(),
            "changes": [change.to_json() for change in self.changes.all],
            "data": self.outcomes and self.outcomes.to_json(),
        }
        if self.proof is not None:
            values["proof"] = self.proof.to_json()
        return values

    @cached_property
    def markdown(self) -> str:
        """The difference for a comment on a pull request: a summary, with every change and restaurant folded away."""
        details = (*self.changes.build_blocks(), *self._build_restaurants())
        summary = [self._build_headline(), *self.changes.summarize_categories()]
        summary += [*self._build_proof(), *self._build_effect()]
        return as_markdown([*summary, Details("every change", details)] if details else summary)

    def __repr__(self) -> str:
        return shorten(f"Difference({self.old.task!r}, {self.new.task!r}, {len(self.changes.all)} changes)")

    def _page_blocks(self) -> list[Block]:
        """Return the same blocks as in text, with more restaurants."""
        return self._blocks(MAX_ON_PAGE)

    def _blocks(self, max_restaurants: int = MAX_IN_TEXT) -> list[Block]:
        """Return the headline, every change, the effect on the outcomes, and the tables of restaurants."""
        changes = [self._build_headline(), *self.changes.build_blocks(), *self._build_proof()]
        return [*changes, *self._build_effect(), *self._build_restaurants(max_restaurants)]

    def _build_headline(self) -> Paragraph:
        """Return a sentence with both seeds, and the number of changes of each category that has some."""
        counts = {words: len(self.changes.select(category)) for category, words in _COUNT_WORDS.items()}
        summary = ", ".join(f"{count} {words}" for words, count in counts.items() if count) or "they say the same"
        return sentence(*self.old.format_name(), " → ", *self.new.format_name(), f": {summary}.")

    def _build_proof(self) -> Iterator[Block]:
        """Yield what holds for all restaurants; nothing if no proof was requested."""
        if self.proof is not None and self.programs is not None:
            from formulaseed.proofs.report import build_difference

            yield from build_difference(self.proof, self.programs)

    def _build_effect(self) -> Iterator[Block]:
        """Yield a note on the rows and the summary of the outcomes; nothing if no restaurants were compared."""
        if self.outcomes is None:
            return
        if self.outcomes.extracted_twice:
            yield sentence("Each run has rows of its own: what was extracted is compared, too.")
        elif self.changes.select("extraction"):
            yield sentence("Both have the same rows: what the other question would give is not in them.")
        yield from self.outcomes.build_summary()

    def _build_restaurants(self, max_restaurants: int = MAX_IN_TEXT) -> Iterable[Block]:
        """Return the tables of restaurants with other results; nothing if no restaurants were compared."""
        return self.outcomes.build_restaurant_tables(max_restaurants) if self.outcomes is not None else ()


@validate_arguments
def diff(
    old: SeedLike | FormulaSeed,
    new: SeedLike | FormulaSeed,
    rows: Lines | None = None,
    *,
    new_rows: Lines | None = None,
    parameters_old: ParameterValues = None,
    parameters_new: ParameterValues = None,
    output: str | None = None,
    duplicates: Duplicates = "fail",
    expected: Lines | None = None,
    prove: bool = False,
) -> Difference:
    """Compare two seeds, or two settings of one; with `rows`, also compare the results of the restaurants.

    With `prove`, the result's `proof` says what holds for all restaurants, which needs the extra `prove`.

    `rows` is a path to JSON Lines, the objects that they would hold, or a data frame; `extract` makes them of contexts. Seeds
    that ask different questions have rows of their own: `new_rows` are those of the new seed, by default the same ones.
    `output` is the verdict; by default the last output that rules choose from strings or booleans. With `duplicates="first"`
    the first of a restaurant's rows with the same `review_id` counts; otherwise the restaurant fails. Restaurants that fail are
    in `outcomes.failures`. `expected` are lines as `expect` takes them, with the old seed's outputs: a restaurant that has them
    with the old seed only is marked. Raises `SeedError` for a seed with errors, and `DataError` for a file that cannot be
    opened, an unknown output, a parameter that is unknown or out of bounds, `new_rows` or `expected` without `rows`, an invalid
    line of `expected`, and if no restaurant can be read.
    """
    for name, lines in (("new_rows", new_rows), ("expected", expected)):
        if lines is not None and rows is None:
            raise DataError(f"`{name}` goes with `rows`")
    failures = Failures()
    difference = compare_seeds(
        load_seed(old),
        load_seed(new),
        open_lines(rows, "rows") if rows is not None else None,
        open_lines(new_rows, "new_rows") if new_rows is not None else None,
        parameters=(parameters_old, parameters_new),
        output=output,
        failures=failures,
        duplicates=duplicates,
        expected=open_lines(expected, "expected") if expected is not None else None,
        prove=prove,
    )
    if difference.outcomes is not None:
        outcomes = difference.outcomes
        failures.require_restaurants(outcomes.restaurant_count + len(outcomes.gone) + len(outcomes.new))
    return difference


def compare_seeds(
    old: FormulaSeed,
    new: FormulaSeed,
    lines: Iterable[InputLine] | None = None,
    new_lines: Iterable[InputLine] | None = None,
    *,
    parameters: tuple[ParameterValues, ParameterValues],
    output: str | None,
    failures: Failures,
    duplicates: Duplicates,
    expected: Iterable[InputLine] | None = None,
    prove: bool = False,
) -> Difference:
    """Compare two loaded seeds as `diff` does, and add the restaurants and lines that fail to `failures`.

    `lines` are rows, None to compare only the seeds; `new_lines` are the rows of the new seed, None if both seeds use `lines`.
    `parameters` are those of the old and of the new seed. `expected` are lines of the old seed's outputs; None to expect
    nothing. Raises `DataError` for an unknown output, a wrong parameter and an invalid line of `expected`.
    """
    changes = find_changes(old, new)
    pairing = pair_programs(old.program, new.program, changes.new_names, output)
    expectations = read_expectations(expected, old.program)
    outcomes = None
    if lines is not None or any(parameters):
        settings = (
            Setting("old", compile_evaluator(old), parameters[0]),
            Setting("new", compile_evaluator(new), parameters[1]),
        )
        for setting in settings:
            # raises for a wrong parameter, once, not for each restaurant
            setting.evaluator.provenance(setting.parameters)
        if lines is not None:
            compared = OutcomeComparison(*settings, pairing, failures, duplicates, expectations)
            outcomes = compared.compare(lines, new_lines)
    proof = None
    if prove:
        from formulaseed.proofs.sweep import Comparison

        unchanged = pairing.old_names.keys() - changes.changed_steps if parameters[0] == parameters[1] else ()
        comparison = Comparison((old, new), pairing.old_names, parameters, unchanged)
        proof = comparison.prove(pairing.verdict, pairing.outputs)
    sides = (_describe_seed(old, parameters[0]), _describe_seed(new, parameters[1]))
    return Difference(*sides, changes, outcomes, proof, (old.program, new.program))


def _describe_seed(seed: FormulaSeed, parameters: ParameterValues) -> ComparedSeed:
    """Return the file, hash, task, version and parameters of a seed; no parameters if they are None."""
    file = seed.document.source.name
    return ComparedSeed(file, seed.sha256, seed.task_name, seed.program.version, dict(parameters or {}))
