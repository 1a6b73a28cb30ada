"""Checks a draft with the compiler: counts its problems, and finds the part of the draft that each is about.

A repair may replace a draft if it loses nothing: a model that is asked for fewer errors can delete the parts that have them.
Therefore an accepted repair keeps every part, output, cited sentence and number of the draft, or names what it drops with the
reason. It may change anything else: the report contains each change as a diff.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from formulaseed.diagnostics.model import Diagnostic
from formulaseed.documents import SeedAnalysis, analyse_text
from formulaseed.draft.conversion import Part, convert_draft, list_parts
from formulaseed.seed.citations import STRUCTURAL_NUMBERS, number_values
from formulaseed.seed.read.steps import WORD_KEYS
from formulaseed.seed.task_text import Task
from formulaseed.source.printing import number_of
from formulaseed.source.text import Source

Json = Any

PARTIAL_CODES = ("FS305", "FS604")
"""Warnings of a step that may have no value for valid data, which a new seed has no reason for. The code of a lookup without
a default is not one of them: a policy may want a key that it does not list to fail."""


class Defects(NamedTuple):
    """The numbers of a draft's errors, partial operations and parts that cite no sentence. A draft with less is better."""

    errors: int
    partial: int
    unsourced: int

    def __str__(self) -> str:
        """Return the numbers for people: `2 errors, 1 part without a sentence`; errors also if there are none."""
        parts = [number_of(self.errors, "error")]
        if self.partial:
            parts.append(f"{number_of(self.partial, 'place')} that may have no value")
        if self.unsourced:
            parts.append(f"{number_of(self.unsourced, 'part')} without a sentence")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class CheckedDraft:
    """A draft, the `text` of its seed, and its problems.

    `faults` are the problems that prevent a part from becoming JSON of a seed, `analysis` holds the compiler's diagnostics of
    the seed, and `unsourced` names the parts that cite no sentence of the task text.
    """

    draft: Part
    text: str
    faults: list[Part]
    analysis: SeedAnalysis
    unsourced: tuple[str, ...]

    @property
    def errors(self) -> int:
        """The number of errors, faults included."""
        return len(self.faults) + self.analysis.errors

    @property
    def defects(self) -> Defects:
        """The numbers of defects, by which two drafts are compared."""
        return Defects(
            self.errors, sum(d.code in PARTIAL_CODES for d in self.analysis.diagnostics), len(self.unsourced)
        )

    @property
    def problems(self) -> list[Diagnostic]:
        """The diagnostics that a repair has to fix."""
        return [d for d in self.analysis.diagnostics if d.severity == "error" or d.code in PARTIAL_CODES]

    @property
    def faulty_parts(self) -> list[tuple[str, Part]]:
        """The parts that have faults, each after its kind."""
        titles = {fault["part"] for fault in self.faults}
        return [
            (kind, part)
            for kind, part in list_parts(self.draft)
            if f"{kind} {part['name']}" in titles or (kind == "parameter" and "parameters" in titles)
        ]

    def find_part(self, diagnostic: Diagnostic) -> tuple[str, Part] | None:
        """Return the kind and the part that a diagnostic is about.

        Returns None if it is about no part, such as the output, or about a parameter that the draft does not have.
        """
        draft = self.draft
        match diagnostic.pointer.split("/")[1:]:
            case ["compute", index, *_]:
                return "step", draft["steps"][int(index)]
            case ["extract", "fields", index, *_]:
                return "field", draft["fields"][int(index)]
            case ["parameters", name, *_]:
                return next((("parameter", part) for part in draft["parameters"] if part["name"] == name), None)
            case ["context" as space, index, *_] | ["extract", "meta" as space, index, *_]:
                return "input", [part for part in draft["inputs"] if part["of"] == space][int(index)]
        return None


def check_draft(draft: Part, task: Task) -> CheckedDraft:
    """Convert a draft to a seed, and run the compiler's phases on the seed.

    Raises nothing for a draft with errors: they are in the result. `task` has the sentences that parts cite.
    """
    text, faults = convert_draft(draft, task)
    unsourced = [(kind, part) for kind, part in list_parts(draft) if not any(map(task.text, part["sources"]))]
    titles = tuple(f"{kind} {part['name']}" for kind, part in unsourced)
    return CheckedDraft(draft, text, faults, analyse_text(Source("seed.json", text)), titles)


# --- repairs


_PROSE_KEYS = ("sources", "description", "meaning", *WORD_KEYS)
"""The keys of a part whose numbers no seed computes with."""


def find_losses(before: Part, after: Part, repair: Json, task: Task) -> tuple[str, ...]:
    """Return a message for each thing that `before` has and `after` lacks, unless the repair gives the reason.

    Things are parts, outputs, cited sentences and numbers. An empty tuple means that `repair` loses nothing.
    """
    removed = _names_with_reason(repair["removed"])
    losses = _names_with_reason(repair["losses"])
    return (
        *_find_missing_parts(before, after, removed),
        *_find_missing_outputs(before, after, removed | losses),
        *_find_uncited(before, after, removed, losses, task),
        *_find_missing_numbers(before, after, losses),
    )


def _find_missing_parts(before: Part, after: Part, removed: set[str]) -> Iterator[str]:
    """Yield a message for each part of `before` that `after` lacks, unless its name is in `removed`.

    A part with the same name but another kind is missing, too.
    """
    titles = {_title(kind, part) for kind, part in list_parts(after)}
    for kind, part in list_parts(before):
        if _title(kind, part) not in titles and part["name"] not in removed:
            yield f"the {_title(kind, part)} is gone without the reason"


def _find_missing_outputs(before: Part, after: Part, explained: set[str]) -> Iterator[str]:
    """Yield a message for each output of `before` that `after` lacks, unless its name is in `explained`."""
    for name in dict.fromkeys(before["output"]):
        if name not in after["output"] and name not in explained:
            yield f"the output {name} is gone without the reason"


def _find_uncited(before: Part, after: Part, removed: set[str], losses: set[str], task: Task) -> Iterator[str]:
    """Yield a message for each sentence that no part of `after` cites, unless only removed parts of `before` cited it."""
    remaining_parts = [part for _, part in list_parts(before) if part["name"] not in removed]
    for number in sorted(_cited_sentences(remaining_parts) - _cited_sentences(part for _, part in list_parts(after))):
        if task.text(number) is not None and f"sentence {number}" not in losses:
            yield f"no part cites sentence {number} any more, without the reason"


def _find_missing_numbers(before: Part, after: Part, losses: set[str]) -> Iterator[str]:
    """Yield a message for each number that `before` computes with and `after` does not, in ascending order.

    A number in `losses`, the names of things that the repair gives up with a reason, is left out.
    """
    explained = number_values([name for name in losses if not name.startswith("sentence ")])
    for number in sorted(_computed_numbers(before) - _computed_numbers(after) - explained):
        yield f"the number {number:g} is gone without the reason"


def _names_with_reason(losses: Collection[Json]) -> set[str]:
    """Return the names in a list of losses that have a reason, stripped; blank reasons do not count."""
    return {loss["name"].strip() for loss in losses if loss["why"].strip()}


def _title(kind: str, part: Part) -> str:
    """Return the kind and the name of a part, by which it is found in another draft."""
    return f"{kind} {part['name']}"


def _cited_sentences(parts: Iterable[Part]) -> set[int]:
    """Return the numbers of the sentences that any of the parts cites."""
    return {number for part in parts for number in part["sources"]}


def _computed_numbers(draft: Part) -> set[float]:
    """Return the numbers that a draft computes with, without those that guards and counts need."""
    parts = [draft["reading"], *(part for _, part in list_parts(draft))]
    return number_values([remove_keys(part, _PROSE_KEYS) for part in parts]) - STRUCTURAL_NUMBERS


def remove_keys(value: Json, keys: Collection[str]) -> Json:
    """Return a copy of a JSON value without the entries under `keys`, at any depth."""
    if isinstance(value, dict):
        return {key: remove_keys(item, keys) for key, item in value.items() if key not in keys}
    return [remove_keys(item, keys) for item in value] if isinstance(value, list) else value
