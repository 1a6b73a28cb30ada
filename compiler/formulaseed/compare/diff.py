"""The difference of two seeds, or of two settings of one: what changed in the policy, and what that does to restaurants.

In: two seeds, and lines of rows. Out: a `Difference`, as data, text, Markdown and HTML. Source: the design's section 11.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from formulaseed.compare.changes import Category, Changes, changes_between
from formulaseed.compare.outcomes import Outcomes, Setting, compare_outcomes
from formulaseed.compare.pairing import pair_programs
from formulaseed.data.arguments import validate_arguments
from formulaseed.data.duplicates import Duplicates
from formulaseed.data.jsonl import InputLine, Lines, open_lines
from formulaseed.data.results import Failures
from formulaseed.documents import FormulaSeed, SeedLike, load_seed
from formulaseed.errors import DataError
from formulaseed.language.types import Value
from formulaseed.pages.blocks import Block, Code, Details, Paragraph, sentence
from formulaseed.pages.document import Document
from formulaseed.pages.markdown import as_markdown
from formulaseed.runtime.loading import compile_evaluator
from formulaseed.source.text import shortened

Check = Literal["verdicts", "outputs", "extraction"]
"""A value of `--fail-on`."""
Parameters = Mapping[str, Value] | None
_COUNT_WORDS: dict[Category, str] = {
    "values": "may change values",
    "extraction": "change what is extracted",
    "outputs": "change outputs",
    "cosmetic": "cosmetic",
}


@dataclass(frozen=True)
class Side:
    """One of the two: the file, the seed's hash and task, and the parameters that were given."""

    file: str
    sha256: str
    task: str
    version: str
    parameters: Mapping[str, Value]

    def to_json(self) -> dict[str, Any]:
        """Return it as `--format json` has it."""
        return {**vars(self), "parameters": dict(self.parameters), "version": self.version or None}

    def name_parts(self) -> list[str]:
        """Return the file and its parameters as parts of a sentence."""
        values = [f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in self.parameters.items()]
        return [Code(self.file), " with ", Code(", ".join(values))] if values else [Code(self.file)]


@dataclass(frozen=True)
class Difference(Document):
    """The difference of two seeds; `outcomes` is None if no restaurants were given."""

    old: Side
    new: Side
    changes: Changes
    outcomes: Outcomes | None

    @property
    def title(self) -> str:
        """The title of the page."""
        return f"{self.old.file} → {self.new.file}"

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs: the seeds say the same, cosmetics included, and no restaurant moves."""
        return not self.changes.all and (self.outcomes is None or not self.outcomes.moved)

    def fails(self, check: Check) -> bool:
        """Return whether something has changed that a pull request must not change.

        `verdicts`: a restaurant has another verdict, or fails on one side only. `outputs`: an output's name or type, or its
        value for a restaurant. `extraction`: what is extracted.
        """
        outcomes = self.outcomes
        match check:
            case "verdicts":
                return outcomes is not None and outcomes.flipped > 0
            case "outputs":
                return bool(self.changes.of("outputs")) or (outcomes is not None and bool(outcomes.moved))
            case "extraction":
                return bool(self.changes.of("extraction"))

    @cached_property
    def json(self) -> dict[str, Any]:
        """The difference as JSON values; docs/analysis.md describes them."""
        return {
            "old": self.old.to_json(),
            "new": self.new.to_json(),
            "changes": [change.to_json() for change in self.changes.all],
            "data": self.outcomes and self.outcomes.to_json(),
        }

    @cached_property
    def markdown(self) -> str:
        """The difference for a comment on a pull request: short, the long part folded away."""
        long = (*self.changes.blocks(), *self._restaurants())
        details = [Details("every change", long)] if long else []
        return as_markdown([self._headline(), *self.changes.names_by_category(), *self._effect(), *details])

    def __repr__(self) -> str:
        return shortened(f"Difference({self.old.task!r}, {self.new.task!r}, {len(self.changes.all)} changes)")

    def _blocks(self) -> list[Block]:
        return [self._headline(), *self.changes.blocks(), *self._effect(), *self._restaurants()]

    def _headline(self) -> Paragraph:
        counts = {words: len(self.changes.of(category)) for category, words in _COUNT_WORDS.items()}
        summary = ", ".join(f"{count} {words}" for words, count in counts.items() if count) or "they say the same"
        return sentence(*self.old.name_parts(), " → ", *self.new.name_parts(), f": {summary}.")

    def _effect(self) -> Iterator[Block]:
        if self.outcomes is None:
            return
        if self.outcomes.extracted_twice:
            yield sentence("Each seed has rows of its own: what was extracted is compared, too.")
        elif self.changes.of("extraction"):
            yield sentence("Both have the same rows: what the other question would give is not in them.")
        yield from self.outcomes.summary()

    def _restaurants(self) -> Iterable[Block]:
        return self.outcomes.restaurant_tables() if self.outcomes is not None else ()


@validate_arguments
def diff(
    old: SeedLike | FormulaSeed,
    new: SeedLike | FormulaSeed,
    rows: Lines | None = None,
    *,
    new_rows: Lines | None = None,
    parameters_old: Parameters = None,
    parameters_new: Parameters = None,
    output: str | None = None,
    duplicates: Duplicates = "fail",
) -> Difference:
    """Compare two seeds, or two settings of one, and with rows what they make of the same restaurants.

    `rows` is a path to JSON Lines, the objects that they would hold, or a data frame; `extract` makes them of contexts. Seeds
    that ask different questions have rows of their own: `new_rows` are those of the new seed, by default the same ones.
    `output` is the verdict; by default the last output that rules choose from strings or booleans. With `duplicates="first"`
    the first of a restaurant's rows with the same `review_id` counts; otherwise the restaurant fails. Restaurants that fail are
    in `outcomes.failures`. Raises `SeedError` for a seed with errors, and `DataError` for a file that cannot be opened, an
    unknown output, a parameter that is unknown or out of bounds, `new_rows` without `rows`, and if no restaurant can be read.
    """
    if new_rows is not None and rows is None:
        raise DataError("`new_rows` goes with `rows`")
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
    )
    if difference.outcomes is not None:
        failures.require_restaurants(difference.outcomes.restaurants)
    return difference


def compare_seeds(
    old: FormulaSeed,
    new: FormulaSeed,
    lines: Iterable[InputLine] | None = None,
    new_lines: Iterable[InputLine] | None = None,
    *,
    parameters: tuple[Parameters, Parameters],
    output: str | None,
    failures: Failures,
    duplicates: Duplicates,
) -> Difference:
    """Compare two loaded seeds as `diff` does; adds what fails to `failures`.

    `new_lines` are the rows of the new seed; None if both have the same.
    """
    changes = changes_between(old, new)
    pairing = pair_programs(old.program, new.program, changes.names, output)
    outcomes = None
    if lines is not None:
        settings = (
            Setting("old", compile_evaluator(old), parameters[0]),
            Setting("new", compile_evaluator(new), parameters[1]),
        )
        for setting in settings:
            setting.evaluator.provenance(setting.parameters)  # a wrong parameter is no fault of each restaurant
        outcomes = compare_outcomes(*settings, pairing, lines, failures, new_lines, duplicates)
    return Difference(_side_of(old, parameters[0]), _side_of(new, parameters[1]), changes, outcomes)


def _side_of(seed: FormulaSeed, parameters: Parameters) -> Side:
    file = seed.document.source.name
    return Side(file, seed.sha256, seed.task_name, seed.program.version, dict(parameters or {}))
