"""What people read about a draft: the estimate of its costs before it, and the report to review after it.

The likely cost assumes answers as long, for the number of sentences, as those of the recorded example; the bound assumes
every answer to be as long as it may be. An answer's thinking counts in the bound alone. The report is Markdown; the
same session gives the same bytes. It traces the text to the seed and back: numbers are compared by value; "half" is not one,
so a part's 0.5 is listed where its sentence says half.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from formulaseed.diagnostics.render import summarize
from formulaseed.draft.conversion import parts_of
from formulaseed.draft.numbers import LOGIC, numbers
from formulaseed.draft.prompts import MAX_TOKENS, REPAIR, STAGES, sentences, shown, system_prompt
from formulaseed.draft.session import DraftResult, Round
from formulaseed.draft.task import Sentence, Task
from formulaseed.draft.transcript import Exchange, Settings
from formulaseed.llm.calls import Usage, cost_text, total
from formulaseed.source.printing import number_of, printable

if TYPE_CHECKING:
    from formulaseed.llm.prices import Prices

Json = Any

_BYTES_A_TOKEN = 3
_USUAL_BYTES_A_TOKEN = 4
_DIFF_LINES = 60
"""Of the changes of a round."""
EXAMPLE = "examples/draft-g1a_v2"
EXAMPLE_SENTENCES = 49
EXAMPLE_OUTPUT = {"conditions": 1_134, "graph": 1_425, "seed": 1_413, "repair": 181}
"""The tokens of its answers, by stage; it needed one repair."""


def estimate(task: Task, settings: Settings, prices: Prices) -> list[str]:
    """Return lines for people. Prompts are counted by their bytes, generously; later ones also hold earlier answers."""
    text = _tokens(shown({"sentences": sentences(task)}))
    repairs = settings.max_repairs
    stages = [*STAGES, *[REPAIR] * repairs]
    own = [_tokens(system_prompt(each)) + _tokens(json.dumps(dict(each.schema))) + text for each in stages]
    usages = [Usage(cache_write=tokens + before * MAX_TOKENS, output=MAX_TOKENS) for before, tokens in enumerate(own)]
    costs = [prices.cost(settings.model, usage) for usage in usages]
    plain = sum(not sentence.is_frame for sentence in task.sentences)
    answered, likely = 0, []
    for stage, tokens in zip(stages[: len(STAGES) + 1], own, strict=False):  # later prompts contain each answer
        output = round(EXAMPLE_OUTPUT[stage.name] * plain / EXAMPLE_SENTENCES)
        prompt = tokens * _BYTES_A_TOKEN // _USUAL_BYTES_A_TOKEN + answered
        likely.append(prices.cost(settings.model, Usage(cache_write=prompt, output=output)))
        answered += output
    return [
        f"{number_of(plain, 'sentence')}; {len(STAGES)} calls to {settings.model}, and at most {repairs} more to repair",
        *(
            f"{number:02}-{stage.name}: about {tokens:,} tokens of prompt{', and the answers before it' if number > 1 else ''}"
            for number, (stage, tokens) in enumerate(zip(STAGES, own, strict=False), 1)
        ),
        f"likely {cost_text(total(likely))}, if answers are as long for each sentence as those of {EXAMPLE} "
        f"(written by hand, without thinking){', with one repair' if repairs else ''}",
        f"an answer has {MAX_TOKENS:,} tokens at most, thinking included; all of it costs {cost_text(total(costs))} at most",
    ]


def _tokens(text: str) -> int:
    return -(-len(text.encode()) // _BYTES_A_TOKEN)


def report(drafted: DraftResult, calls: Mapping[str, Exchange], prices: Prices) -> str:
    """Return the report of a draft, without empty sections."""
    checked, found = drafted.checked, trace(drafted)
    plain = [s for s in drafted.task.sentences if not s.is_frame]
    mapped = len(plain) - len(found.unmapped) - len(found.background)
    lines = [
        f"# Draft of {printable(drafted.task.name)}",
        "",
        f"{number_of(len(checked.draft['steps']), 'step')}, {number_of(len(checked.draft['fields']), 'field')};"
        f" {summarize(checked.analysis.diagnostics) or 'no problems'}.",
        f"{mapped:,} of {number_of(len(plain), 'sentence')} became part of the seed, {len(found.background):,} state no rule,"
        f" {len(found.unmapped):,} map to nothing.",
    ]
    sections: dict[str, Iterable[str]] = {
        "Sentences that map to nothing": _quoted(found.unmapped),
        "Planned, and not in the seed": found.not_made,
        "Assumptions": (note["text"] for note in drafted.assumptions),
        "Open questions": (note["text"] for note in drafted.questions),
        "Numbers of the text that no part of it has": (
            f"{n} in line {s.line}: {s.text}" for s, n in found.lost_numbers
        ),
        "Numbers of the seed that its sentences do not have": (f"{n} in {name}" for name, n in found.added_numbers),
        "Parts that cite no sentence": found.unsourced,
        "Unknown sentences cited": (f"{n} by {name}" for name, n in found.unknown),
        "Sentences that state no rule, as the model says": _quoted(found.background),
        "Given up by repairs": (f"{each['name']}: {each['why']}" for each in drafted.losses),
    }
    for title, items in sections.items():
        listed = [f"- {printable(item)}" for item in items]
        lines += ["", f"## {title}", "", *listed] if listed else []
    lines += ["", "## Repairs", "", *_repairs(drafted.rounds)] if drafted.rounds else []
    return "\n".join([*lines, "", "## Calls", "", *(f"- {line}" for line in costs(calls, prices))]) + "\n"


def _repairs(rounds: Iterable[Round]) -> Iterator[str]:
    """Each round with what it changed of the seed, in a block of code that no line of it can close."""
    for number, one in enumerate(rounds, 1):
        yield f"- {number}: {printable(one.summary)}"
        shown = [*map(printable, one.diff[:_DIFF_LINES])]
        fence = "`" * max(3, *(len(run) + 1 for line in shown for run in re.findall("`+", line)), 3)
        more = [f"… {len(one.diff) - _DIFF_LINES} more lines"] if len(one.diff) > _DIFF_LINES else []
        block = ["", f"{fence}diff", *shown, *more, fence] if shown else []
        yield from (f"  {line}" if line else "" for line in block)


def costs(calls: Mapping[str, Exchange], prices: Prices) -> list[str]:
    """Return a line for each call that was billed, those with a discarded answer too, and one for all of them."""
    billed = [
        (f"{name}, discarded" if is_discarded else name, one.call.model, usage)
        for name, one in calls.items()
        for usage, is_discarded in (*((usage, True) for usage in one.discarded), (one.answer.usage, False))
    ]
    known = [(name, model, usage) for name, model, usage in billed if usage is not None]
    each = [prices.cost(model, usage) for _, model, usage in known]
    lines = [f"{name}: {_billed(model, usage, prices)}" for name, model, usage in billed]
    usage = sum((usage for _, _, usage in known), Usage())
    models = ", ".join(dict.fromkeys(model for _, model, _ in billed))
    discarded = len(billed) - len(calls)
    what = number_of(len(billed), "call") + (f", {discarded:,} of them discarded" if discarded else "")
    return [*lines, f"{what}: {_in_and_out(usage)}, {cost_text(total(each))} ({models})"]


def _billed(model: str, usage: Usage | None, prices: Prices) -> str:
    if usage is None:
        return "its file is damaged, and what it cost is unknown"
    return f"{_in_and_out(usage)}, {cost_text(prices.cost(model, usage))}"


def _in_and_out(usage: Usage) -> str:
    return f"{usage.prompt:,} tokens in, {usage.output:,} out"


def _quoted(sentences: Iterable[Sentence]) -> Iterator[str]:
    return (f"line {sentence.line}: {sentence.text}" for sentence in sentences)


@dataclass(frozen=True, slots=True)
class Trace:
    """`parts` names, for each sentence by number, the parts that come from it."""

    parts: dict[int, list[str]]
    background: tuple[Sentence, ...]
    unmapped: tuple[Sentence, ...]
    unsourced: tuple[str, ...]
    unknown: tuple[tuple[str, int], ...]
    not_made: tuple[str, ...]
    lost_numbers: tuple[tuple[Sentence, str], ...]
    added_numbers: tuple[tuple[str, str], ...]


def trace(drafted: DraftResult) -> Trace:
    """Follow each part of the draft to its sentences, and back."""
    task, draft = drafted.task, drafted.checked.draft
    cited: dict[str, tuple[list[int], Json]] = {"keywords": (draft["keywords"]["sources"], draft["keywords"]["words"])}
    reading = draft["reading"]
    if reading["sources"]:
        cited["reading"] = reading["sources"], [*reading["max_length"], reading["passes"]]
    for kind, part in parts_of(draft):
        said = {key: value for key, value in part.items() if key != "sources"}
        cited[f"{kind} {part['name']}"] = part["sources"], said
    cited["output"] = draft["outputs"]["sources"], None
    notes = (("assumption", drafted.assumptions), ("question", drafted.questions))
    noted = {f"{kind} {n}": note["sources"] for kind, found in notes for n, note in enumerate(found, 1)}
    parts: dict[int, list[str]] = {}
    for name, sources in [*((name, sources) for name, (sources, _) in cited.items()), *noted.items()]:
        for number in dict.fromkeys(sources):
            parts.setdefault(number, []).append(name)
    background = set(draft["background"])
    plain = [s for s in task.sentences if not s.is_frame and s.number not in parts]
    return Trace(
        parts=parts,
        background=tuple(s for s in plain if s.number in background),
        unmapped=tuple(s for s in plain if s.number not in background),
        unsourced=tuple(name for name, (sources, _) in cited.items() if not any(map(task.text, sources))),
        unknown=tuple((name, n) for n, names in parts.items() if task.text(n) is None for name in names),
        not_made=tuple(_not_made(drafted)),
        lost_numbers=tuple(_lost(task.sentences, parts, cited)),
        added_numbers=tuple(_added(drafted, cited)),
    )


def _not_made(drafted: DraftResult) -> Iterator[str]:
    draft = drafted.checked.draft
    steps = {step["name"] for step in draft["steps"]}
    yield from (f"step {step['name']} of the graph" for step in drafted.graph["steps"] if step["name"] not in steps)
    names = draft["outputs"]["names"]
    yield from (f"{name}, which the text asks to report" for name in names if name not in draft["output"])


def _lost(
    sentences: Iterable[Sentence], parts: dict[int, list[str]], cited: dict[str, tuple[list[int], Json]]
) -> Iterator[tuple[Sentence, str]]:
    for sentence in sentences:
        names = [name for name in parts.get(sentence.number, ()) if name in cited]
        if not names or names == ["output"]:
            continue
        known = {value for name in names for _, values in numbers(cited[name][1]) for value in values}
        for written, values in numbers(sentence.text):
            if not known & values:
                yield sentence, written


def _added(drafted: DraftResult, cited: dict[str, tuple[list[int], Json]]) -> Iterator[tuple[str, str]]:
    for name, (sources, said) in cited.items():
        texts = [drafted.task.text(number) or "" for number in sources]
        known = {value for _, values in numbers(texts) for value in values} | LOGIC
        for written in dict.fromkeys(written for written, values in numbers(said) if not known & values):
            yield name, written
