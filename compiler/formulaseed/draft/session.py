"""Phase 1 as a session: three questions to a model, the compiler, and bounded rounds of repair.

In: a task text and a function that brings answers. Out: the best draft, with every decision on the way. The same answers give
the same bytes, wherever they come from. Source: the two-phase design, phase 1.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import unified_diff
from typing import Any

from formulaseed import limits
from formulaseed.draft.acceptance import find_losses
from formulaseed.draft.checking import PARTIAL, CheckedDraft, check
from formulaseed.draft.conversion import Part, drafted, repaired
from formulaseed.draft.prompts import (
    CONDITIONS,
    GRAPH,
    MAX_TOKENS,
    REPAIR,
    SEED,
    STAGES,
    Stage,
    sentences,
    shown,
    system_prompt,
)
from formulaseed.draft.task import Task
from formulaseed.draft.transcript import Ask, Exchange, Settings
from formulaseed.draft.wire import read_answer
from formulaseed.llm.calls import ModelCall, UnusableAnswer

Json = Any


@dataclass(frozen=True, slots=True)
class Round:
    """What came of a round of repair, and what it changed of the seed's text, as lines of a diff."""

    summary: str
    diff: tuple[str, ...] = ()
    verdict: str = ""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A repair, the draft that it makes, and why that may not take the place of the draft before."""

    answer: Json
    checked: CheckedDraft
    refusals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DraftResult:
    """The result of a session. `losses` are what the accepted repairs gave up, each with the reason."""

    task: Task
    graph: Json
    checked: CheckedDraft
    rounds: tuple[Round, ...]
    assumptions: tuple[Json, ...]
    questions: tuple[Json, ...]
    losses: tuple[Json, ...] = ()


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
        rounds: list[Round] = []
        last: Attempt | None = None
        while any(best.defects) and len(rounds) < self.settings.max_repairs:
            try:
                answer = self._step(REPAIR, prompt_values(best, self.task, last))
            except UnusableAnswer as error:
                rounds.append(Round(f"no result: {error.message}"))
                continue
            tried = self._checked(repaired(best.draft, answer))
            attempt = Attempt(answer, tried, find_losses(best.draft, tried.draft, answer, self.task))
            is_accepted = tried.defects < best.defects and not attempt.refusals
            is_repeated = last is not None and tried.draft == last.checked.draft
            rounds.append(_round(best, attempt, is_accepted, is_repeated))
            self.notify(f"{[*self.calls][-1]}: {rounds[-1].verdict}")
            if is_accepted:
                best, last = tried, None
                answers.append(answer)
            elif is_repeated:
                break
            else:
                last = attempt
        assumptions, questions = (
            [n for answer in answers for n in answer[key]] for key in ("assumptions", "questions")
        )
        losses = [each for answer in answers[len(STAGES) :] for key in ("removed", "losses") for each in answer[key]]
        notes = tuple(assumptions), tuple(questions), tuple(losses)
        return DraftResult(self.task, graph, best, tuple(rounds), *notes)

    def _step(self, stage: Stage, values: Mapping[str, Json]) -> Json:
        """Return the answer to a stage. Raises `UnusableAnswer` where it is not what was asked for."""
        name = f"{len(self.calls) + 1:02}-{stage.name}"
        model, effort = self.settings.model, self.settings.effort
        call = ModelCall(stage.name, model, system_prompt(stage), shown(values), stage.schema, MAX_TOKENS, effort)
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
    "reading", "fields", "inputs", "parameters", "definitions", "thresholds", "outputs", "assumptions",
)  # fmt: skip
"""The conditions that later stages need, as keys of their own: each entry is on a line of its own."""


_FOR_PEOPLE = ("FS609", "FS613", "FS614", "FS615", "FS616", "FS617", "FS618", "FS619")
"""Warnings about the policy itself, not about how it was written down."""
_MOST = 100
_FRAGMENT = 400
_REASONS = 5
"""Reasons to refuse a repair that a summary names."""


def _round(best: CheckedDraft, attempt: Attempt, is_accepted: bool, is_repeated: bool) -> Round:
    """Say what came of a repair."""
    tried, refused = attempt.checked, attempt.refusals
    verdict = "accepted" if is_accepted else "no improvement"
    if refused:
        shown = [*refused[:_REASONS], *([f"and {len(refused) - _REASONS} more"] if len(refused) > _REASONS else [])]
        verdict = f"refused: {'; '.join(shown)}"
    verdict += "; the same repair again, so no other is asked for" if is_repeated else ""
    changes = "".join(f". {change.rstrip('.')}" for change in attempt.answer["changes"])
    diff = [*unified_diff([*_lines(best)], [*_lines(tried)], lineterm="", n=0)][2:]
    lines = tuple(line for line in diff if not line.startswith("@@"))
    return Round(f"{best.defects}; then {tried.defects}; {verdict}{changes}", lines, verdict)


def _lines(checked: CheckedDraft) -> Iterator[str]:
    """Yield each part of the seed on a line, without the sentences that it comes from."""
    seed = json.loads(checked.text)
    for section, value in (*seed.pop("extract").items(), *seed.items()):
        parts = value if isinstance(value, list) and section != "output" else [{section: value}]
        for part in parts:
            part.pop("sources", None)
            yield json.dumps(part, ensure_ascii=False)


def prompt_values(best: CheckedDraft, task: Task, last: Attempt | None) -> dict[str, Json]:
    """Return what the prompt of a repair shows; `last` is the last attempt, if it was not accepted."""
    draft = best.draft
    values: dict[str, Json] = {"sentences": sentences(task, _cited(best)), "diagnostics": list(_shown(best))}
    values |= {name: draft[name] for name in ("keywords", "reading", "fields", "inputs", "parameters", "steps")}
    values |= {"keywords": draft["keywords"]["words"], "output": ", ".join(draft["output"])}
    if last is not None:
        kept = (
            "changes",
            "keywords",
            "reading",
            "fields",
            "inputs",
            "parameters",
            "steps",
            "removed",
            "losses",
            "output",
        )
        refused = {"refused": [*last.refusals[:_MOST]]} if last.refusals else {}
        answer = {key: last.answer[key] for key in kept if last.answer[key]}
        values["rejected"] = {**answer, **refused, "diagnostics": list(_shown(last.checked))}
    return values


def _shown(checked: CheckedDraft) -> Iterator[dict[str, Json]]:
    """Errors first, then warnings about how the policy was written down, then parts without a source."""
    yield from checked.faults[:_MOST]
    ranked = sorted(checked.analysis.diagnostics, key=lambda d: (d.severity != "error", d.code not in PARTIAL))
    for diagnostic in [d for d in ranked if d.code not in _FOR_PEOPLE][:_MOST]:
        part = checked.part(diagnostic)
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


def _cited(checked: CheckedDraft) -> set[int] | None:
    """The sentences of the parts with problems; None for all, where a part cites none."""
    parts = [checked.part(d) for d in checked.problems]
    found = [part for part in parts if part] + checked.faulty_parts
    sources = [part.get("sources", ()) for _, part in found]
    if checked.unsourced or not all(parts) or not sources:
        return None
    return {number for numbers in sources for number in numbers}
