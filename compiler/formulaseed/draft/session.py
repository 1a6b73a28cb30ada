"""Phase 1 as a session: three questions to a model, the compiler, and bounded rounds of repair.

In: a task text and a function that brings answers. Out: the best draft, with every decision on the way. The same answers give
the same bytes, wherever they come from. Source: the two-phase design, phase 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from formulaseed import limits
from formulaseed.diagnostics.model import Diagnostic, number_of
from formulaseed.draft.conversion import Part, drafted, parts_of, repaired, seed_text
from formulaseed.draft.prompts import (
    CONDITIONS,
    GRAPH,
    MAX_TOKENS,
    REPAIR,
    SEED,
    Stage,
    sentences,
    shown,
    system_prompt,
)
from formulaseed.draft.task import Task
from formulaseed.draft.transcript import Ask, Exchange, Settings
from formulaseed.draft.wire import read_answer
from formulaseed.llm.calls import Call, UnusableAnswer
from formulaseed.loading import SeedAnalysis, analyse_text
from formulaseed.source.text import Source

Json = Any


@dataclass(frozen=True, slots=True)
class DraftResult:
    """The result of a session. `rounds` says of each round of repair what came of it."""

    task: Task
    graph: Json
    checked: CheckedDraft
    rounds: tuple[str, ...]
    assumptions: tuple[Json, ...]
    questions: tuple[Json, ...]


@dataclass
class Session:
    """Drafts a task's seed.

    `notify` is called when each stage begins, `keep` with the name of each answer that makes a draft and its problems;
    `calls` grows with each answer.
    """

    task: Task
    ask: Ask
    settings: Settings
    notify: Callable[[str], None]
    keep: Callable[[str, list[dict[str, Json]]], None] = lambda name, problems: None
    calls: dict[str, Exchange] = field(default_factory=dict)

    def run(self) -> DraftResult:
        """Run all stages. Raises `FormulaSeedError` where one of the first three has no usable answer."""
        text: dict[str, Json] = {"sentences": sentences(self.task)}
        conditions = self._step(CONDITIONS, text)
        text |= {f"conditions.{key}": conditions[key] for key in _FOR_LATER if conditions[key]}
        graph = self._step(GRAPH, text)
        seed = self._step(SEED, {**text, "graph": graph["steps"]})
        best = self._checked(drafted(conditions, seed))
        answers = [conditions, graph, seed]
        rounds: list[str] = []
        rejected: tuple[Json, CheckedDraft] | None = None
        while any(best.defects) and len(rounds) < self.settings.max_repairs:
            try:
                answer = self._step(REPAIR, prompt_values(best, self.task, rejected))
            except UnusableAnswer as error:
                rounds.append(f"no result: {error.message}")
                continue
            tried = self._checked(repaired(best.draft, answer))
            verdict = "accepted" if tried.defects < best.defects else "not accepted"
            changes = " ".join(answer["changes"])
            rounds.append(f"{best.defects}; then {tried.defects}; {verdict}: {changes}".rstrip(": "))
            if tried.defects < best.defects:
                best, rejected = tried, None
                answers.append(answer)
            else:
                rejected = answer, tried
        notes = (tuple(note for answer in answers for note in answer[key]) for key in ("assumptions", "questions"))
        return DraftResult(self.task, graph, best, tuple(rounds), *notes)

    def _step(self, stage: Stage, values: Mapping[str, Json]) -> Json:
        """Return the answer to a stage. Raises `UnusableAnswer` where it is not what was asked for."""
        name = f"{len(self.calls) + 1:02}-{stage.name}"
        model, effort = self.settings.model, self.settings.effort
        call = Call(stage.name, model, system_prompt(stage), shown(values), stage.schema, MAX_TOKENS, effort)
        self.notify(f"{name}: {stage.does}")
        exchange = self.calls[name] = self.ask(name, call)
        try:
            if exchange.answer.fault:
                raise UnusableAnswer(exchange.answer.fault)
            answer = read_answer(exchange.answer.text, stage.schema)
            if len(answer.get("steps", ())) > limits.STEPS:
                raise UnusableAnswer(f"the answer has more than {limits.STEPS:,} steps")
            return answer
        except UnusableAnswer as error:
            raise UnusableAnswer(error.message, f"step {name}") from None

    def _checked(self, draft: Part) -> CheckedDraft:
        name, found = [*self.calls][-1], check(draft, self.task)
        self.keep(name, [*found.faults, *(d.to_json() for d in found.analysis.diagnostics)])
        self.notify(f"{name}: {found.defects}")
        return found


_FOR_LATER = (
    "task_name", "reading", "fields", "inputs", "parameters", "definitions", "thresholds", "outputs", "assumptions",
)  # fmt: skip
"""The conditions that later stages need, as keys of their own: each entry is on a line of its own."""


PARTIAL = ("FS305", "FS604")
"""Warnings of a step that may have no value for valid data, which a new seed has no reason for. A lookup without a default is
not one: a policy may want what it does not list to fail."""
_FOR_PEOPLE = ("FS609", "FS613", "FS614", "FS615", "FS616", "FS617", "FS618", "FS619")
"""Warnings about the policy itself, not about how it was written down."""
_MOST = 100
_FRAGMENT = 400


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
        partial = sum(d.code in PARTIAL for d in self.analysis.diagnostics)
        return Defects(self.errors, partial, len(self.unsourced))


def check(draft: Part, task: Task) -> CheckedDraft:
    """Convert a draft, and run the compiler's phases on it."""
    text, faults = seed_text(draft, task)
    unsourced = [(kind, part) for kind, part in parts_of(draft) if not any(map(task.text, part["sources"]))]
    names = tuple(f"{kind} {part['name']}" for kind, part in unsourced)
    return CheckedDraft(draft, text, faults, analyse_text(Source("seed.json", text)), names)


def prompt_values(best: CheckedDraft, task: Task, rejected: tuple[Json, CheckedDraft] | None) -> dict[str, Json]:
    """Return what the prompt of a repair shows; `rejected` is the last answer, if it was no improvement."""
    draft = best.draft
    values: dict[str, Json] = {"sentences": sentences(task, _cited(best)), "diagnostics": list(_shown(best))}
    values |= {name: draft[name] for name in ("keywords", "reading", "fields", "inputs", "parameters", "steps")}
    values |= {"keywords": draft["keywords"]["words"], "output": ", ".join(draft["output"])}
    if rejected is not None:
        answer, checked = rejected
        kept = ("changes", "keywords", "reading", "fields", "inputs", "parameters", "steps", "removed", "output")
        values["rejected"] = {**{key: answer[key] for key in kept if answer[key]}, "diagnostics": list(_shown(checked))}
    return values


def _shown(checked: CheckedDraft) -> Iterator[dict[str, Json]]:
    """Errors first, then warnings about how the policy was written down, then parts without a source."""
    yield from checked.faults[:_MOST]
    ranked = sorted(checked.analysis.diagnostics, key=lambda d: (d.severity != "error", d.code not in PARTIAL))
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
        yield {"severity": "warning", "message": "it cites no sentence of the text", "help": help, "part": name}


def _part(draft: Part, diagnostic: Diagnostic) -> tuple[str, Part] | None:
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


def _cited(checked: CheckedDraft) -> set[int] | None:
    """The sentences of the parts with problems; None for all, where a part cites none."""
    wrong = [d for d in checked.analysis.diagnostics if d.severity == "error" or d.code in PARTIAL]
    parts = [_part(checked.draft, d) for d in wrong]
    named = {fault["part"] for fault in checked.faults}
    found = [part for part in parts if part] + [p for p in parts_of(checked.draft) if f"{p[0]} {p[1]['name']}" in named]
    sources = [part.get("sources", ()) for _, part in found]
    if checked.unsourced or not all(parts) or not sources:
        return None
    return {number for numbers in sources for number in numbers}
