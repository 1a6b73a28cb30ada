"""Runs phase 1 as a session: three questions to a model, the compiler, and a bounded number of repairs.

In: a task text and a function that returns answers. Out: the best draft, with every decision on the way. The same answers give
the same bytes, whether a model or a transcript gives them. The constant part of a prompt is a template, filled from the tables of
inputs, operators and functions; the policy is JSON in the user message. Source: the two-phase design, phase 1.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from typing import Any

from formulaseed import limits
from formulaseed.draft import wire
from formulaseed.draft.checking import PARTIAL_CODES, CheckedDraft, check_draft, find_losses
from formulaseed.draft.conversion import Part, apply_repair, assemble_draft
from formulaseed.draft.transcript import Ask, Exchange, Settings
from formulaseed.draft.wire import read_answer
from formulaseed.language.functions import FUNCTIONS
from formulaseed.language.operators import COMPARISONS, OPERATORS
from formulaseed.language.types import Type
from formulaseed.llm.calls import ModelCall, UnusableAnswer, render_prompt
from formulaseed.seed.operations import OPERATIONS
from formulaseed.seed.read.sections import FIELD_TYPES, STRATEGIES
from formulaseed.seed.standard_fields import CONTEXT, META, VALIDITY_FIELD, VALIDITY_VALUES
from formulaseed.seed.task_text import Task

Json = Any

MAX_TOKENS = 32_000
"""The maximum length of an answer, thinking included."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One kind of call of phase 1: its name, which its template and transcripts have, and the schema of its answer.

    `does` completes a sentence for people that begins with the name.
    """

    name: str
    schema: Mapping[str, Json]
    does: str


CONDITIONS = Stage("conditions", wire.CONDITIONS, "takes the conditions out of the text")
GRAPH = Stage("graph", wire.GRAPH, "builds the computation graph")
SEED = Stage("seed", wire.SEED, "writes the seed")
REPAIR = Stage("repair", wire.REPAIR, "fixes what the compiler found")
STAGES = (CONDITIONS, GRAPH, SEED)


def system_prompt(stage: Stage) -> str:
    """Return the constant part of a stage's prompt, rendered from its template with the tables of the language."""
    return render_prompt(
        f"draft_{stage.name}",
        meta=_list_inputs(META),
        context=_list_inputs(CONTEXT),
        validity_field=VALIDITY_FIELD,
        validity_values=", ".join(f"`{value}`" for value, _ in VALIDITY_VALUES),
        strategies=", ".join(f"`{strategy}`" for strategy in STRATEGIES),
        field_types=", ".join(f"`{name}`" for name in FIELD_TYPES),
        operators=" ".join(f"`{symbol}`" for symbol in OPERATORS),
        comparisons=" ".join(f"`{symbol}`" for symbol in COMPARISONS),
        tests=", ".join(f"`{test}`" for test in wire.TESTS),
        label_characters=limits.LABEL_CHARACTERS,
        unit_characters=limits.UNIT_CHARACTERS,
        because_characters=limits.BECAUSE_CHARACTERS,
        operations=[
            {"name": spec.name, "takes": ", ".join(f"`{key}`" for key in wire.step_keys(spec)), "doc": spec.doc}
            for spec in OPERATIONS.values()
        ],
        functions=[{"signature": spec.signature, "description": spec.description} for spec in FUNCTIONS.values()],
    )


def _list_inputs(types: Mapping[str, Type]) -> str:
    """Return the inputs as one line for a prompt, each with its type in brackets."""
    return ", ".join(f"`{name}` ({type_})" for name, type_ in types.items())


def number_sentences(task: Task, numbers: Collection[int] | None = None) -> dict[str, str]:
    """Return the sentences of a task by their numbers, all or those in `numbers`; a heading has a `#` in front."""
    chosen = (sentence for sentence in task.sentences if numbers is None or sentence.number in numbers)
    return {str(sentence.number): f"# {sentence.text}" if sentence.is_frame else sentence.text for sentence in chosen}


def format_values(values: Mapping[str, Json]) -> str:
    """Return values as a JSON object in a layout for diffs: each entry of an inner list or object is on its own line."""
    parts = []
    for key, value in values.items():
        if isinstance(value, dict) and value:
            lines = (f"  {_json(name)}: {_json(item)}" for name, item in value.items())
            parts.append(f"{_json(key)}: {{\n" + ",\n".join(lines) + "\n}")
        elif isinstance(value, list) and value:
            parts.append(f"{_json(key)}: [\n" + ",\n".join(f"  {_json(item)}" for item in value) + "\n]")
        else:
            parts.append(f"{_json(key)}: {_json(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _json(value: Json) -> str:
    """Return a value as JSON on one line, with characters beyond ASCII as they are."""
    return json.dumps(value, ensure_ascii=False)


_KEYS_FOR_LATER_STAGES = (
    "reading", "fields", "inputs", "parameters", "definitions", "thresholds", "outputs", "assumptions",
)  # fmt: skip
_REPAIR_KEYS = (
    "changes", "keywords", "reading", "fields", "inputs", "parameters", "steps", "removed", "losses", "output",
)  # fmt: skip
_POLICY_CODES = ("FS609", "FS613", "FS614", "FS615", "FS616", "FS617", "FS618", "FS619")
"""The codes of warnings about the policy itself, which its author should see and a model should not repair."""
_MAX_DIAGNOSTICS = 100
_MAX_FRAGMENT_LENGTH = 400
_MAX_REFUSALS_IN_SUMMARY = 5


@dataclass(frozen=True, slots=True)
class Round:
    """The result of a round of repair: a summary, its changes of the seed as lines of a diff, and whether it was accepted."""

    summary: str
    diff: tuple[str, ...] = ()
    verdict: str = ""


@dataclass(frozen=True, slots=True)
class RepairAttempt:
    """A repair, the draft with the repair applied, and the reasons why that may not replace the draft before."""

    answer: Json
    checked: CheckedDraft
    refusals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DraftResult:
    """The result of a session. `losses` are the things that the accepted repairs dropped, each with the reason."""

    task: Task
    graph: Json
    checked: CheckedDraft
    rounds: tuple[Round, ...]
    assumptions: tuple[Json, ...]
    questions: tuple[Json, ...]
    losses: tuple[Json, ...] = ()


@dataclass
class DraftSession:
    """One drafting of a task's seed.

    `ask` is called with each call, and returns it with its answer. `notify` is called with progress messages, and `keep` with
    the name and the problems of each answer that results in a draft. `calls` are the calls so far, by name.
    """

    task: Task
    ask: Ask
    settings: Settings
    notify: Callable[[str], None]
    keep: Callable[[str, list[dict[str, Json]]], None] = lambda name, problems: None
    calls: dict[str, Exchange] = field(default_factory=dict)

    def run(self) -> DraftResult:
        """Run all stages and the repairs, each a call that may be paid, and return the result, which may have errors.

        Raises `UnusableAnswer` if one of the first three stages has no usable answer, and what `self.ask` raises.
        """
        values: dict[str, Json] = {"sentences": number_sentences(self.task)}
        conditions = self._ask(CONDITIONS, values)
        values |= {f"conditions.{key}": conditions[key] for key in _KEYS_FOR_LATER_STAGES if conditions[key]}
        graph = self._ask(GRAPH, values)
        seed = self._ask(SEED, {**values, "graph": graph["steps"]})
        best, rounds, repairs = self._repair(self._check(assemble_draft(conditions, seed)))
        answers = [conditions, graph, seed, *repairs]
        assumptions = tuple(note for answer in answers for note in answer["assumptions"])
        questions = tuple(note for answer in answers for note in answer["questions"])
        losses = tuple(loss for repair in repairs for key in ("removed", "losses") for loss in repair[key])
        return DraftResult(self.task, graph, best, tuple(rounds), assumptions, questions, losses)

    def _repair(self, best: CheckedDraft) -> tuple[CheckedDraft, list[Round], list[Json]]:
        """Ask for repairs of a draft until it has no defects, a repair is repeated, or `max_repairs` is reached.

        A repair is accepted if it has fewer defects and loses nothing without a reason; an unusable answer counts as a
        round. Returns the best draft, the rounds, and the answers that were accepted.
        """
        rounds: list[Round] = []
        accepted: list[Json] = []
        rejected: RepairAttempt | None = None
        while any(best.defects) and len(rounds) < self.settings.max_repairs:
            try:
                answer = self._ask(REPAIR, repair_values(best, self.task, rejected))
            except UnusableAnswer as error:
                rounds.append(Round(f"no result: {error.message}"))
                continue
            checked = self._check(apply_repair(best.draft, answer))
            attempt = RepairAttempt(answer, checked, find_losses(best.draft, checked.draft, answer, self.task))
            is_accepted = checked.defects < best.defects and not attempt.refusals
            is_repeated = rejected is not None and checked.draft == rejected.checked.draft
            rounds.append(_summarize_round(best, attempt, is_accepted, is_repeated))
            self.notify(f"{[*self.calls][-1]}: {rounds[-1].verdict}")
            if is_accepted:
                best = checked
                rejected = None
                accepted.append(answer)
            elif is_repeated:
                break
            else:
                rejected = attempt
        return best, rounds, accepted

    def _ask(self, stage: Stage, values: Mapping[str, Json]) -> Json:
        """Ask for the answer of a stage and add the call to `calls`, whether the answer is usable or not.

        Raises `UnusableAnswer`, which names the step, if the answer has a fault, does not match its schema, or has too
        many steps. Raises what `self.ask` raises if there is no answer.
        """
        name = f"{len(self.calls) + 1:02}-{stage.name}"
        prompt = system_prompt(stage), format_values(values)
        call = ModelCall(stage.name, self.settings.model, *prompt, stage.schema, MAX_TOKENS, self.settings.effort)
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

    def _check(self, draft: Part) -> CheckedDraft:
        """Check the draft that the last answer results in, and pass its problems to `keep` and `notify`."""
        name = [*self.calls][-1]
        checked = check_draft(draft, self.task)
        self.keep(name, [*checked.faults, *(d.to_json() for d in checked.analysis.diagnostics)])
        self.notify(f"{name}: {checked.defects}")
        return checked


def _summarize_round(best: CheckedDraft, attempt: RepairAttempt, is_accepted: bool, is_repeated: bool) -> Round:
    """Return the summary of a round of repair, its verdict and its changes of the seed as lines of a diff.

    The verdict is `refused`, with the first reasons, if the attempt has refusals, or else `accepted` if `is_accepted`,
    or `no improvement`. With `is_repeated` it adds that no other repair is asked for.
    """
    checked = attempt.checked
    verdict = "accepted" if is_accepted else "no improvement"
    if attempt.refusals:
        reasons = [*attempt.refusals[:_MAX_REFUSALS_IN_SUMMARY]]
        if len(attempt.refusals) > len(reasons):
            reasons.append(f"and {len(attempt.refusals) - len(reasons)} more")
        verdict = f"refused: {'; '.join(reasons)}"
    if is_repeated:
        verdict += "; the same repair again, so no other is asked for"
    changes = "".join(f". {change.rstrip('.')}" for change in attempt.answer["changes"])
    diff = [*unified_diff([*_format_parts(best)], [*_format_parts(checked)], lineterm="", n=0)][2:]
    lines = _merge_moved([line for line in diff if not line.startswith("@@")])
    return Round(f"{best.defects}; then {checked.defects}; {verdict}{changes}", lines, verdict)


def _merge_moved(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the lines of a diff with one line, marked as moved, for a part that is removed in one place and added in another."""
    moved = {line[1:] for line in lines if line.startswith("-")} & {line[1:] for line in lines if line.startswith("+")}
    shown_once = (line for line in lines if not (line.startswith("-") and line[1:] in moved))
    return tuple(f" {line[1:]}  (moved)" if line[1:] in moved else line for line in shown_once)


def _drop_sources(section: Part) -> Part:
    """Return an object of a seed without its `sources`, which a diff of parts need not repeat."""
    return {key: value for key, value in section.items() if key != "sources"}


def _format_parts(checked: CheckedDraft) -> Iterator[str]:
    """Yield each part of a seed as JSON on one line, without its sources and without a line break.

    A part is an item of a list of the seed, or a whole section under its key; `output` is one part.
    """
    seed = json.loads(checked.text, object_hook=_drop_sources)
    for section, value in (*seed.pop("extract").items(), *seed.items()):
        parts = value if isinstance(value, list) and section != "output" else [{section: value}]
        for part in parts:
            yield json.dumps(part, ensure_ascii=False)


def repair_values(best: CheckedDraft, task: Task, rejected: RepairAttempt | None) -> dict[str, Json]:
    """Return the values in the prompt of a repair of `best`; `rejected` is the last repair if it was not accepted.

    They are the sentences and diagnostics of its problems, the parts of the draft, and under `rejected` the rejected
    repair with its problems. Without one there is no such key.
    """
    draft = best.draft
    sentences = number_sentences(task, _find_needed_sentences(best))
    values: dict[str, Json] = {"sentences": sentences, "diagnostics": list(_describe_problems(best))}
    values |= {name: draft[name] for name in ("keywords", "reading", "fields", "inputs", "parameters", "steps")}
    values |= {"keywords": draft["keywords"]["words"], "output": ", ".join(draft["output"])}
    if rejected is not None:
        answer = {key: rejected.answer[key] for key in _REPAIR_KEYS if rejected.answer[key]}
        if rejected.refusals:
            answer["refused"] = [*rejected.refusals[:_MAX_DIAGNOSTICS]]
        values["rejected"] = {**answer, "diagnostics": list(_describe_problems(rejected.checked))}
    return values


def _describe_problems(checked: CheckedDraft) -> Iterator[dict[str, Json]]:
    """Yield the problems of a draft for a model: faults, diagnostics with errors first, and parts without a source.

    There are at most `_MAX_DIAGNOSTICS` of each; the rest is left out, and so are diagnostics about the policy
    (`_POLICY_CODES`).
    """
    yield from checked.faults[:_MAX_DIAGNOSTICS]
    ranked = sorted(checked.analysis.diagnostics, key=lambda d: (d.severity != "error", d.code not in PARTIAL_CODES))
    for diagnostic in [d for d in ranked if d.code not in _POLICY_CODES][:_MAX_DIAGNOSTICS]:
        part = checked.find_part(diagnostic)
        written = diagnostic.span.source.text[diagnostic.span.start : diagnostic.span.end]
        yield {
            "code": diagnostic.code,
            "severity": diagnostic.severity,
            "message": diagnostic.message,
            "help": diagnostic.help,
            "part": f"{part[0]} {part[1]['name']}" if part else "",
            "pointer": diagnostic.pointer,
            "fragment": written if len(written) <= _MAX_FRAGMENT_LENGTH else f"{written[:_MAX_FRAGMENT_LENGTH]}…",
        }
    for name in checked.unsourced[:_MAX_DIAGNOSTICS]:
        help = "name the sentences that it comes from, or that it helps to compute"
        yield {"severity": "warning", "message": "it cites no sentence of the text", "help": help, "part": name}


def _find_needed_sentences(checked: CheckedDraft) -> set[int] | None:
    """Return the numbers of the sentences that a repair may need, or None if it may need all.

    They are the sentences that the parts with problems cite. All are needed if a problem is about no part, or a part cites none.
    """
    parts = [checked.find_part(diagnostic) for diagnostic in checked.problems]
    if checked.unsourced or not all(parts):
        return None
    sources = [part.get("sources", ()) for _, part in [*filter(None, parts), *checked.faulty_parts]]
    return {number for numbers in sources for number in numbers} if sources else None
