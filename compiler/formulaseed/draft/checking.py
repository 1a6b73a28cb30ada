"""A draft as the compiler sees it: its problems, counted, and the part of the draft that each is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from formulaseed.diagnostics.model import Diagnostic
from formulaseed.documents import SeedAnalysis, analyse_text
from formulaseed.draft.conversion import Part, parts_of, seed_text
from formulaseed.draft.task import Task
from formulaseed.source.printing import number_of
from formulaseed.source.text import Source

Json = Any

PARTIAL = ("FS305", "FS604")
"""Warnings of a step that may have no value for valid data, which a new seed has no reason for. A lookup without a default is
not one: a policy may want what it does not list to fail."""


class Defects(NamedTuple):
    """Counts the defects of a draft, the worst first: errors, partial operations, parts that cite no sentence."""

    errors: int
    partial: int
    unsourced: int

    def __str__(self) -> str:
        parts = [number_of(self.errors, "error")]
        parts += [f"{number_of(self.partial, 'place')} that may have no value"] if self.partial else []
        parts += [f"{number_of(self.unsourced, 'part')} without a sentence"] if self.unsourced else []
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class CheckedDraft:
    """A draft as a seed, with its problems. `unsourced` are the parts that cite no sentence of the text."""

    draft: Part
    text: str
    faults: list[Part]
    analysis: SeedAnalysis
    unsourced: tuple[str, ...]

    @property
    def errors(self) -> int:
        return len(self.faults) + self.analysis.errors

    @property
    def defects(self) -> Defects:
        """Its defects; a draft with fewer of them is better."""
        return Defects(self.errors, sum(d.code in PARTIAL for d in self.analysis.diagnostics), len(self.unsourced))

    @property
    def problems(self) -> list[Diagnostic]:
        """The diagnostics that a repair has to fix."""
        return [d for d in self.analysis.diagnostics if d.severity == "error" or d.code in PARTIAL]

    @property
    def faulty_parts(self) -> list[tuple[str, Part]]:
        """The parts, with their kinds, that say what a seed cannot say."""
        named = {fault["part"] for fault in self.faults}
        return [
            (kind, part)
            for kind, part in parts_of(self.draft)
            if f"{kind} {part['name']}" in named or (kind == "parameter" and "parameters" in named)
        ]

    def part(self, diagnostic: Diagnostic) -> tuple[str, Part] | None:
        """Return the part that a diagnostic is about, with its kind; None where it is about something else."""
        draft = self.draft
        match diagnostic.pointer.split("/")[1:]:
            case ["compute", index, *_]:
                return "step", draft["steps"][int(index)]
            case ["extract", "fields", index, *_]:
                return "field", draft["fields"][int(index)]
            case ["parameters", name, *_]:
                return next((("parameter", part) for part in draft["parameters"] if part["name"] == name), None)
            case ["context" as of, index, *_] | ["extract", "meta" as of, index, *_]:
                return "input", [part for part in draft["inputs"] if part["of"] == of][int(index)]
        return None


def check(draft: Part, task: Task) -> CheckedDraft:
    """Convert a draft, and run the compiler's phases on it."""
    text, faults = seed_text(draft, task)
    unsourced = [(kind, part) for kind, part in parts_of(draft) if not any(map(task.text, part["sources"]))]
    names = tuple(f"{kind} {part['name']}" for kind, part in unsourced)
    return CheckedDraft(draft, text, faults, analyse_text(Source("seed.json", text)), names)
