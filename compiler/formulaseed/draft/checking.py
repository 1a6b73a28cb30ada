"""Checks a draft with the compiler: counts its problems, and finds the part of the draft that each is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from formulaseed.diagnostics.model import Diagnostic
from formulaseed.documents import SeedAnalysis, analyse_text
from formulaseed.draft.conversion import Part, convert_draft, list_parts
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
