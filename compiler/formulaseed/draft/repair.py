"""What the compiler says of a draft, and what goes back to the model of it.

In: a draft. Out: how wrong it is, and the values of the prompt that asks to mend it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from formulaseed.diagnostics.model import Diagnostic
from formulaseed.draft.conversion import Draft, Fault, Part, seed_text
from formulaseed.draft.prompts import sentences
from formulaseed.draft.task import Task
from formulaseed.loading import SeedAnalysis, analyse_text
from formulaseed.source.text import Source
from formulaseed.wording import number_of

Json = Any

HAZARDS = ("FS305", "FS604")
"""Warnings of a step that may have no value where nothing in the data is wrong: a new seed has no reason for one. A lookup
without a default is no such step: a policy may want what it does not list to fail."""
_FOR_PEOPLE = ("FS609", "FS613", "FS614", "FS615", "FS616", "FS617", "FS618", "FS619")
"""Warnings about what the policy itself says, not about how it was written down."""
_MOST = 100
_FRAGMENT = 400


class Wrong(NamedTuple):
    """What is wrong with a draft, the worst first: errors, places that may have no value, parts that name no sentence."""

    errors: int
    hazards: int
    unsourced: int

    def __str__(self) -> str:
        told = [number_of(self.errors, "error")]
        told += [f"{number_of(self.hazards, 'place')} that may have no value"] if self.hazards else []
        told += [f"{number_of(self.unsourced, 'part')} without a sentence"] if self.unsourced else []
        return ", ".join(told)


@dataclass(frozen=True, slots=True)
class Checked:
    """A draft as a seed, with what is wrong with it. `unsourced` are the parts that name no sentence of the text."""

    draft: Draft
    text: str
    faults: tuple[Fault, ...]
    analysis: SeedAnalysis
    unsourced: tuple[str, ...]

    @property
    def errors(self) -> int:
        return len(self.faults) + self.analysis.errors

    @property
    def wrong(self) -> Wrong:
        """How wrong it is; a draft with less of it is better."""
        hazards = sum(d.code in HAZARDS for d in self.analysis.diagnostics)
        return Wrong(self.errors, hazards, len(self.unsourced))

    @property
    def is_right(self) -> bool:
        """Whether there is nothing to mend."""
        return self.wrong == Wrong(0, 0, 0)

    def told(self) -> list[dict[str, Json]]:
        """Everything that is wrong with it, for the transcript."""
        return [*(fault.to_json() for fault in self.faults), *(d.to_json() for d in self.analysis.diagnostics)]


def check(draft: Draft, task: Task) -> Checked:
    """Convert a draft, and run the compiler's phases over it."""
    text, faults = seed_text(draft, task)
    unsourced = tuple(
        f"{kind} {part['name']}" for kind, part in draft.parts if not any(map(task.text, part["sources"]))
    )
    return Checked(draft, text, faults, analyse_text(Source("seed.json", text)), unsourced)


def prompt_values(best: Checked, task: Task, rejected: tuple[Json, Checked] | None) -> dict[str, Json]:
    """What the prompt of a repair shows; `rejected` is the answer of the last one, if it made nothing better."""
    draft = best.draft
    values = {
        "sentences": sentences(task, _cited(best)),
        "diagnostics": list(_shown(best)),
        "keywords": list(draft.keywords),
        "reading": draft.reading,
        "fields": list(draft.fields),
        "inputs": list(draft.inputs),
        "parameters": list(draft.parameters),
        "steps": list(draft.steps),
        "output": ", ".join(draft.output),
    }
    if rejected is not None:
        answer, checked = rejected
        kept = ("changes", "keywords", "reading", "fields", "inputs", "parameters", "steps", "removed", "output")
        values["rejected"] = {**{key: answer[key] for key in kept if answer[key]}, "diagnostics": list(_shown(checked))}
    return values


def _shown(checked: Checked) -> Iterator[dict[str, Json]]:
    """Errors first, then warnings about how the policy was written down, then parts that came from nowhere."""
    for fault in checked.faults[:_MOST]:
        yield fault.to_json()
    ranked = sorted(checked.analysis.diagnostics, key=lambda d: (d.severity != "error", d.code not in HAZARDS))
    for diagnostic in [d for d in ranked if d.code not in _FOR_PEOPLE][:_MOST]:
        part = _part(checked.draft, diagnostic)
        written = diagnostic.span.source.text[diagnostic.span.start : diagnostic.span.end]
        yield {
            "code": diagnostic.code,
            "severity": diagnostic.severity,
            "message": diagnostic.message,
            "help": diagnostic.help,
            "part": f"{part[0]} {part[1]['name']}" if part else "",
            "pointer": diagnostic.pointer,
            "fragment": written if len(written) <= _FRAGMENT else f"{written[:_FRAGMENT]}…",
        }
    for name in checked.unsourced[:_MOST]:
        help = "name the sentences that it comes from, or that it helps to compute"
        yield {"severity": "warning", "message": "it names no sentence of the text", "help": help, "part": name}


def _part(draft: Draft, diagnostic: Diagnostic) -> tuple[str, Part] | None:
    """The kind and the part that a diagnostic's pointer leads into."""
    match diagnostic.pointer.split("/")[1:]:
        case ["compute", index, *_]:
            return "step", draft.steps[int(index)]
        case ["extract", "fields", index, *_]:
            return "field", draft.fields[int(index)]
        case ["parameters", name, *_]:
            return next((("parameter", part) for part in draft.parameters if part["name"] == name), None)
        case ["context", index, *_] | ["extract", "meta", index, *_]:
            of = "context" if diagnostic.pointer.startswith("/context") else "meta"
            return "input", [part for part in draft.inputs if part["of"] == of][int(index)]
    return None


def _cited(checked: Checked) -> set[int] | None:
    """The sentences of the parts that something is wrong with; None for all, where a part names none."""
    wrong = [d for d in checked.analysis.diagnostics if d.severity == "error" or d.code in HAZARDS]
    parts = [_part(checked.draft, d) for d in wrong]
    named = {fault.part for fault in checked.faults}
    found = [part for part in parts if part] + [p for p in checked.draft.parts if f"{p[0]} {p[1]['name']}" in named]
    sources = [part.get("sources", ()) for _, part in found]
    if checked.unsourced or not all(parts) or not sources:
        return None
    return {number for numbers in sources for number in numbers}
