"""Phase 1 as a session: three questions to a model, the compiler, and bounded rounds of repair.

In: a task text and a function that brings answers. Out: the best draft, with every decision on the way. The same answers give
the same bytes, wherever they come from. Source: the two-phase design, phase 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from formulaseed import limits
from formulaseed.draft.conversion import drafted, repaired
from formulaseed.draft.prompts import CONDITIONS, GRAPH, REPAIR, SEED, Stage, call_of, sentences
from formulaseed.draft.repair import CheckedDraft, Defects, check, prompt_values
from formulaseed.draft.task import Task
from formulaseed.draft.transcript import Settings
from formulaseed.draft.transports import Ask
from formulaseed.draft.wire import read_answer
from formulaseed.llm.calls import UnusableAnswer, Usage

Json = Any


@dataclass(frozen=True, slots=True)
class CallUsage:
    """The usage of one call."""

    name: str
    model: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class RepairRound:
    """One round of repair: the changes that the model states, and the draft's defects before and after.

    `after` is None where the answer was unusable; `fault` says why.
    """

    changes: tuple[str, ...]
    before: Defects
    after: Defects | None
    fault: str = ""

    @property
    def is_accepted(self) -> bool:
        return self.after is not None and self.after < self.before


@dataclass(frozen=True, slots=True)
class DraftResult:
    """The result of a session."""

    task: Task
    graph: Json
    checked: CheckedDraft
    rounds: tuple[RepairRound, ...]
    assumptions: tuple[Json, ...]
    questions: tuple[Json, ...]


@dataclass
class Session:
    """Drafts a task's seed.

    `notify` is called when each stage begins, `keep` with the name of each answer that makes a draft and its problems;
    `usage` grows with each answer.
    """

    task: Task
    ask: Ask
    settings: Settings
    notify: Callable[[str], None]
    keep: Callable[[str, list[dict[str, Json]]], None] = lambda name, problems: None
    usage: list[CallUsage] = field(default_factory=list)

    def run(self) -> DraftResult:
        """Run all stages. Raises `FormulaSeedError` where one of the first three has no usable answer."""
        text = {"sentences": sentences(self.task)}
        conditions = self._step(CONDITIONS, text)
        shown = {key: conditions[key] for key in _FOR_LATER if conditions[key]}
        graph = self._step(GRAPH, {**text, **_flat("conditions", shown)})
        seed = self._step(SEED, {**text, **_flat("conditions", shown), "graph": graph["steps"]})
        best = self._checked(seed, lambda: check(drafted(conditions, seed), self.task))
        answers = [conditions, graph, seed]
        rounds: list[RepairRound] = []
        rejected: tuple[Json, CheckedDraft] | None = None
        while not best.is_sound and len(rounds) < self.settings.max_repairs:
            try:
                answer = self._step(REPAIR, prompt_values(best, self.task, rejected))
                tried = self._checked(answer, lambda: check(repaired(best.draft, answer), self.task))  # noqa: B023
            except UnusableAnswer as error:
                rounds.append(RepairRound((), best.defects, None, error.message))
                continue
            rounds.append(RepairRound(tuple(answer["changes"]), best.defects, tried.defects))
            if rounds[-1].is_accepted:
                best, rejected = tried, None
                answers.append(answer)
            else:
                rejected = answer, tried
        return DraftResult(
            self.task,
            graph,
            best,
            tuple(rounds),
            tuple(note for answer in answers for note in answer["assumptions"]),
            tuple(note for answer in answers for note in answer["questions"]),
        )

    def _step(self, stage: Stage, values: Mapping[str, Json]) -> Json:
        """Return the answer to a stage. Raises `UnusableAnswer` where it is not what was asked for."""
        name = f"{len(self.usage) + 1:02}-{stage.name}"
        call = call_of(stage, values, model=self.settings.model, effort=self.settings.effort)
        self.notify(f"{name}: {stage.does}")
        exchange = self.ask(name, call)
        answer = exchange.answer
        self.usage.append(CallUsage(name, exchange.call.model, answer.usage))
        if answer.fault:
            raise UnusableAnswer(answer.fault, f"step {name}")
        try:
            return read_answer(answer.text, stage.schema)
        except UnusableAnswer as error:
            raise UnusableAnswer(error.message, f"step {name}") from None

    def _checked(self, answer: Json, checked: Callable[[], CheckedDraft]) -> CheckedDraft:
        """Check an answer's draft, and record its problems."""
        name = self.usage[-1].name
        if len(answer["steps"]) > limits.STEPS:
            raise UnusableAnswer(f"the answer has more than {limits.STEPS:,} steps", f"step {name}")
        found = checked()
        self.keep(name, found.problems())
        self.notify(f"{name}: {found.defects}")
        return found


_FOR_LATER = (
    "task_name", "reading", "fields", "inputs", "parameters", "definitions", "thresholds", "outputs", "assumptions",
)  # fmt: skip
"""The conditions that later stages need."""


def _flat(name: str, section: Mapping[str, Json]) -> dict[str, Json]:
    """A section as keys of their own, so that each entry is on a line of its own."""
    return {f"{name}.{key}": value for key, value in section.items()}
