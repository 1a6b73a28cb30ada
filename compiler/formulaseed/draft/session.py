"""Phase 1 as a session: three questions to a model, the compiler, and bounded rounds of repair.

In: a task text and a carrier of answers. Out: the best draft, with everything that was decided on the way. The same
answers give the same bytes, whoever carries them. Source: the two-phase design, phase 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from formulaseed import limits
from formulaseed.draft.answers import Unusable, read_answer
from formulaseed.draft.conversion import drafted, repaired
from formulaseed.draft.prompts import CONDITIONS, GRAPH, REPAIR, SEED, Step, call_of, sentences
from formulaseed.draft.repair import Checked, Wrong, check, prompt_values
from formulaseed.draft.task import Task
from formulaseed.draft.transcript import Settings
from formulaseed.draft.transports import Transport
from formulaseed.llm.calls import Usage

Json = Any


@dataclass(frozen=True, slots=True)
class Spent:
    """What the answer to one call took."""

    name: str
    model: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class Round:
    """One round of repair: what the model says it changed, and how wrong the draft was before and after.

    `after` is None where the answer was of no use; `fault` says why.
    """

    changes: tuple[str, ...]
    before: Wrong
    after: Wrong | None
    fault: str = ""

    @property
    def is_accepted(self) -> bool:
        return self.after is not None and self.after < self.before


@dataclass(frozen=True, slots=True)
class Drafted:
    """What came of a session."""

    task: Task
    conditions: Json
    graph: Json
    checked: Checked
    rounds: tuple[Round, ...]
    assumptions: tuple[Json, ...]
    questions: tuple[Json, ...]


@dataclass
class Session:
    """Drafts a task's seed. `notify` hears of each step when it begins; `spent` grows with each answer."""

    task: Task
    carrier: Transport
    settings: Settings
    notify: Callable[[str], None]
    spent: list[Spent] = field(default_factory=list)

    def run(self) -> Drafted:
        """All steps. Raises `FormulaSeedError` where one of the first three has no answer that can be used."""
        text = {"sentences": sentences(self.task)}
        conditions = self._step(CONDITIONS, text)
        shown = {key: conditions[key] for key in _FOR_LATER if conditions[key]}
        graph = self._step(GRAPH, {**text, **_flat("conditions", shown)})
        seed = self._step(SEED, {**text, **_flat("conditions", shown), "graph": graph["steps"]})
        best = self._checked(seed, lambda: check(drafted(conditions, seed), self.task))
        answers = [conditions, graph, seed]
        rounds: list[Round] = []
        rejected: tuple[Json, Checked] | None = None
        while not best.is_right and len(rounds) < self.settings.max_repairs:
            try:
                answer = self._step(REPAIR, prompt_values(best, self.task, rejected))
                tried = self._checked(answer, lambda: check(repaired(best.draft, answer), self.task))  # noqa: B023
            except Unusable as error:
                rounds.append(Round((), best.wrong, None, error.message))
                continue
            rounds.append(Round(tuple(answer["changes"]), best.wrong, tried.wrong))
            if rounds[-1].is_accepted:
                best, rejected = tried, None
                answers.append(answer)
            else:
                rejected = answer, tried
        return Drafted(
            self.task,
            conditions,
            graph,
            best,
            tuple(rounds),
            tuple(note for answer in answers for note in answer["assumptions"]),
            tuple(note for answer in answers for note in answer["questions"]),
        )

    def _step(self, step: Step, values: Mapping[str, Json]) -> Json:
        """The answer to a step. Raises `Unusable` where it is not what was asked for."""
        name = f"{len(self.spent) + 1:02}-{step.name}"
        call = call_of(step, values, model=self.settings.model, effort=self.settings.effort)
        self.notify(f"{name}: {step.does}")
        record = self.carrier.ask(name, call)
        self.spent.append(Spent(name, record.call.model, record.answer.usage))
        if record.answer.fault:
            raise Unusable(record.answer.fault, f"step {name}")
        try:
            return read_answer(record.answer.text, step.schema)
        except Unusable as error:
            raise Unusable(error.message, f"step {name}") from None

    def _checked(self, answer: Json, checked: Callable[[], Checked]) -> Checked:
        """What the compiler says of an answer's draft; the carrier hears of it."""
        name = self.spent[-1].name
        if len(answer["steps"]) > limits.STEPS:
            raise Unusable(f"the answer has more than {limits.STEPS:,} steps", f"step {name}")
        found = checked()
        self.carrier.keep(name, found.told())
        self.notify(f"{name}: {found.wrong}")
        return found


_FOR_LATER = (
    "task_name",
    "reading",
    "fields",
    "inputs",
    "parameters",
    "definitions",
    "thresholds",
    "outputs",
    "assumptions",
)
"""What later steps need of the conditions."""


def _flat(name: str, section: Mapping[str, Json]) -> dict[str, Json]:
    """A section as keys of their own, so that each entry stands on a line."""
    return {f"{name}.{key}": value for key, value in section.items()}
