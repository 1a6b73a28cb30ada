"""Writes what people read about a draft: the estimate of its costs before it, and the report to review after it.

The likely cost assumes answers as long, for the number of sentences, as those of the recorded example. The upper bound assumes
that every answer is as long as it may be; only the bound includes thinking. The report is Markdown; the same session gives the
same bytes. It traces the sentences to the parts of the seed and back, with the comparison of `check --policy`. In a sentence,
"half" is 0.5 for a part that cites it, and is not a number that a part has to contain.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from formulaseed.diagnostics.render import summarize
from formulaseed.draft import session
from formulaseed.draft.checking import remove_keys
from formulaseed.draft.conversion import Part, list_parts
from formulaseed.draft.transcript import Exchange, Settings
from formulaseed.llm.calls import Usage, format_cost, sum_costs
from formulaseed.llm.limiter import Prices
from formulaseed.seed.citations import Gaps, Policy, find_gaps, find_numbers, list_citations, number_values
from formulaseed.seed.read.steps import WORD_KEYS
from formulaseed.seed.task_text import Sentence, Task
from formulaseed.source.json_reader import JsonObject
from formulaseed.source.printing import number_of, printable

Json = Any

_BYTES_PER_TOKEN = 3
_TYPICAL_BYTES_PER_TOKEN = 4
_MAX_DIFF_LINES = 60
EXAMPLE = "examples/draft-g1a_v2"
EXAMPLE_SENTENCES = 49
EXAMPLE_OUTPUT = {"conditions": 1_177, "graph": 1_425, "seed": 1_813, "repair": 204}
"""The tokens of the example's answers, by stage; the example needed one repair."""


def estimate(task: Task, settings: Settings, prices: Prices) -> list[str]:
    """Return lines about the likely and the maximum cost of drafting a task. Asks no model."""
    text_tokens = _max_tokens(session.format_values({"sentences": session.number_sentences(task)}))
    repairs = settings.max_repairs
    stages = [*session.STAGES, *[session.REPAIR] * repairs]
    prompts = [
        _max_tokens(session.system_prompt(stage)) + _max_tokens(json.dumps(dict(stage.schema))) + text_tokens
        for stage in stages
    ]
    # the prompt of each stage contains the answers of the stages before it
    usages = [
        Usage(cache_write=tokens + n * session.MAX_TOKENS, output=session.MAX_TOKENS)
        for n, tokens in enumerate(prompts)
    ]
    max_cost = format_cost(sum_costs([prices.cost(settings.model, usage) for usage in usages]))
    sentence_count = sum(not sentence.is_frame for sentence in task.sentences)
    likely = _estimate_usages(stages[: len(session.STAGES) + 1], prompts, sentence_count)
    likely_cost = format_cost(sum_costs([prices.cost(settings.model, usage) for usage in likely]))
    calls = f"{len(session.STAGES)} calls to {settings.model}, and at most {repairs} more to repair"
    lines = [f"{number_of(sentence_count, 'sentence')}; {calls}"]
    for number, (stage, tokens) in enumerate(zip(session.STAGES, prompts, strict=False), 1):
        answers = ", and the answers before it" if number > 1 else ""
        lines.append(f"{number:02}-{stage.name}: about {tokens:,} tokens of prompt{answers}")
    return [
        *lines,
        f"likely {likely_cost}, if answers are as long for each sentence as those of {EXAMPLE} "
        f"(written by hand, without thinking){', with one repair' if repairs else ''}",
        f"an answer has {session.MAX_TOKENS:,} tokens at most, thinking included; all of it costs {max_cost} at most",
    ]


def _estimate_usages(stages: Sequence[session.Stage], prompts: Sequence[int], sentence_count: int) -> Iterator[Usage]:
    """Yield the likely usage of each stage. `prompts` are the maximum tokens of its prompt without earlier answers."""
    answered = 0
    for stage, tokens in zip(stages, prompts, strict=False):
        output = round(EXAMPLE_OUTPUT[stage.name] * sentence_count / EXAMPLE_SENTENCES)
        yield Usage(cache_write=tokens * _BYTES_PER_TOKEN // _TYPICAL_BYTES_PER_TOKEN + answered, output=output)
        answered += output


def _max_tokens(text: str) -> int:
    """Return an upper bound of the tokens of a text."""
    return -(-len(text.encode()) // _BYTES_PER_TOKEN)


def write_report(result: session.DraftResult, calls: Mapping[str, Exchange], prices: Prices) -> str:
    """Return the report of a draft as Markdown, without empty sections; writes no file.

    `calls` are the calls of the session by name, whose costs the last section lists. Control characters become escapes.
    """
    checked = result.checked
    trace = trace_sources(result)
    sentences = [sentence for sentence in result.task.sentences if not sentence.is_frame]
    mapped_count = len(sentences) - len(trace.unmapped) - len(trace.background)
    lines = [
        f"# Draft of {printable(result.task.name)}",
        "",
        f"{number_of(len(checked.draft['steps']), 'step')}, {number_of(len(checked.draft['fields']), 'field')};"
        f" {summarize(checked.analysis.diagnostics) or 'no problems'}.",
        f"{mapped_count:,} of {number_of(len(sentences), 'sentence')} became part of the seed, {len(trace.background):,} state"
        f" no rule, {len(trace.unmapped):,} map to nothing.",
    ]
    sections: dict[str, Iterable[str]] = {
        "Sentences that map to nothing": map(_format_sentence, trace.unmapped),
        "Planned, and not in the seed": trace.missing,
        "Assumptions": (note["text"] for note in result.assumptions),
        "Open questions": (note["text"] for note in result.questions),
        "Numbers of the text that no part of it has": (f"{n} in {_format_sentence(s)}" for s, n in trace.lost_numbers),
        "Values of the seed that its sentences do not have": (f"{n} in {name}" for name, n in trace.added_values),
        "Parts that cite no sentence": trace.unsourced,
        "Unknown sentences cited": (f"{number} by {name}" for name, number in trace.unknown),
        "Sentences that state no rule, as the model says": map(_format_sentence, trace.background),
        "Given up by repairs": (f"{loss['name']}: {loss['why']}" for loss in result.losses),
    }
    for title, entries in sections.items():
        items = [f"- {printable(entry)}" for entry in entries]
        if items:
            lines += ["", f"## {title}", "", *items]
    if result.rounds:
        lines += ["", "## Repairs", "", *_format_rounds(result.rounds)]
    return "\n".join([*lines, "", "## Calls", "", *(f"- {line}" for line in list_costs(calls, prices))]) + "\n"


def _format_rounds(rounds: Iterable[session.Round]) -> Iterator[str]:
    """Yield the lines of each round of repair: its summary, and its changes of the seed in a block of code.

    Each block is cut after `_MAX_DIFF_LINES`; a round without changes has none.
    """
    for number, one in enumerate(rounds, 1):
        yield f"- {number}: {printable(one.summary)}"
        diff = [*map(printable, one.diff[:_MAX_DIFF_LINES])]
        if len(one.diff) > _MAX_DIFF_LINES:
            diff.append(f"… {len(one.diff) - _MAX_DIFF_LINES} more lines")
        # longer than every run of backticks, so that no line of the diff closes the block
        fence = "`" * max(3, *(len(run) + 1 for line in diff for run in re.findall("`+", line)), 3)
        if diff:
            yield from (f"  {line}" if line else "" for line in ("", f"{fence}diff", *diff, fence))


def list_costs(calls: Mapping[str, Exchange], prices: Prices) -> list[str]:
    """Return a line about the cost of each call, and one about all.

    Discarded answers, which were paid, are calls, too. Calls whose usage is unknown are missing from the last line's
    cost, which is unknown if a model has no price.
    """
    billed: list[tuple[str, str, Usage | None]] = []
    for name, exchange in calls.items():
        model = exchange.call.model
        billed += [(f"{name}, discarded", model, usage) for usage in exchange.discarded]
        billed.append((name, model, exchange.answer.usage))
    lines = [f"{name}: {_format_usage(model, usage, prices)}" for name, model, usage in billed]
    known = [(model, usage) for _, model, usage in billed if usage is not None]
    cost = sum_costs([prices.cost(model, usage) for model, usage in known])
    tokens = _format_tokens(sum((usage for _, usage in known), Usage()))
    models = ", ".join(dict.fromkeys(model for _, model, _ in billed))
    count = number_of(len(billed), "call")
    if len(billed) > len(calls):
        count += f", {len(billed) - len(calls):,} of them discarded"
    return [*lines, f"{count}: {tokens}, {format_cost(cost)} ({models})"]


def _format_usage(model: str, usage: Usage | None, prices: Prices) -> str:
    """Return the tokens and the cost of a call of `model` as text.

    A `usage` of None is that of a damaged file, whose cost is unknown.
    """
    if usage is None:
        return "its file is damaged, and what it cost is unknown"
    return f"{_format_tokens(usage)}, {format_cost(prices.cost(model, usage))}"


def _format_tokens(usage: Usage) -> str:
    """Return the numbers of tokens in the prompt, cached or not, and in the answer."""
    return f"{usage.prompt:,} tokens in, {usage.output:,} out"


def _format_sentence(sentence: Sentence) -> str:
    """Return a sentence after the number of its line in the task text."""
    return f"line {sentence.line}: {sentence.text}"


@dataclass(frozen=True, slots=True)
class SourceTrace:
    """The relation of a task's sentences to the parts of its draft, and what is missing on either side."""

    parts: dict[int, list[str]]
    """The names of the parts and notes that cite a sentence, by the number of the sentence."""
    background: tuple[Sentence, ...]
    """The sentences that nothing cites and that the model says state no rule."""
    unmapped: tuple[Sentence, ...]
    """The other sentences that nothing cites."""
    unsourced: tuple[str, ...]
    """The parts that cite no sentence."""
    unknown: tuple[tuple[str, int], ...]
    """The parts that cite a number which no sentence has, each with that number."""
    missing: tuple[str, ...]
    """The steps and outputs that were planned and are not in the draft."""
    lost_numbers: tuple[tuple[Sentence, str], ...]
    """The numbers of sentences that no part which cites the sentence contains."""
    added_values: tuple[tuple[str, str], ...]
    """The parts with numbers and strings that no sentence which the part cites contains."""


class _Citation(NamedTuple):
    """The numbers of the sentences that a part cites, and its content, in which numbers are looked for."""

    sources: list[int]
    content: Json


def trace_sources(result: session.DraftResult) -> SourceTrace:
    """Follow each part of a draft to the sentences that it cites, and each sentence to the parts that cite it.

    Headings and heads of tables need no part that cites them.
    """
    task = result.task
    citations = _cite_parts(result.checked.draft)
    gaps = _find_gaps(result)
    names_by_sentence: dict[int, list[str]] = {}
    for name, citation in (citations | _cite_notes(result)).items():
        for number in dict.fromkeys(citation.sources):
            names_by_sentence.setdefault(number, []).append(name)
    background = result.checked.draft["background"]
    uncited = [sentence for sentence in gaps.uncited if sentence.number not in names_by_sentence]
    return SourceTrace(
        parts=names_by_sentence,
        background=tuple(sentence for sentence in uncited if sentence.number in background),
        unmapped=tuple(sentence for sentence in uncited if sentence.number not in background),
        unsourced=tuple(part.name for part in gaps.unsourced),
        unknown=tuple((name, n) for n, names in names_by_sentence.items() if task.text(n) is None for name in names),
        missing=tuple(_find_missing(result)),
        lost_numbers=tuple(_find_lost_numbers(task.sentences, names_by_sentence, citations)),
        added_values=tuple((part.name, str(used.value)) for part, used in gaps.unstated),
    )


def _find_gaps(result: session.DraftResult) -> Gaps:
    """Compare the draft's seed with the task, as `check --policy` does; a seed that cannot be read cites nothing."""
    analysis = result.checked.analysis
    tree = analysis.document.tree
    citations = []
    if isinstance(tree, JsonObject) and analysis.parsed is not None:
        citations = list_citations(analysis.parsed, tree)
    return find_gaps(citations, Policy(result.task.sentences))


def _cite_parts(draft: Part) -> dict[str, _Citation]:
    """Return the citation of each part of a draft, by the part's kind and name, such as `step total`.

    The keywords, the output and, if it cites a sentence, the reading are parts, too. The output has no content.
    """
    keywords = draft["keywords"]
    citations = {"keywords": _Citation(keywords["sources"], keywords["words"])}
    reading = draft["reading"]
    if reading["sources"]:
        citations["reading"] = _Citation(reading["sources"], [*reading["max_length"], reading["passes"]])
    for kind, part in list_parts(draft):
        content = remove_keys(part, ("sources", *WORD_KEYS))
        citations[f"{kind} {part['name']}"] = _Citation(part["sources"], content)
    citations["output"] = _Citation(draft["outputs"]["sources"], None)
    return citations


def _cite_notes(result: session.DraftResult) -> dict[str, _Citation]:
    """Return the citation of each assumption and question, by its kind and number."""
    notes = {f"assumption {number}": note for number, note in enumerate(result.assumptions, 1)}
    notes |= {f"question {number}": note for number, note in enumerate(result.questions, 1)}
    return {name: _Citation(note["sources"], None) for name, note in notes.items()}


def _find_missing(result: session.DraftResult) -> Iterator[str]:
    """Yield a description of each planned step, and of each output of the text, that the draft does not have."""
    draft = result.checked.draft
    steps = {step["name"] for step in draft["steps"]}
    yield from (f"step {step['name']} of the graph" for step in result.graph["steps"] if step["name"] not in steps)
    names = draft["outputs"]["names"]
    yield from (f"{name}, which the text asks to report" for name in names if name not in draft["output"])


def _find_lost_numbers(
    sentences: Iterable[Sentence], names_by_sentence: Mapping[int, list[str]], citations: Mapping[str, _Citation]
) -> Iterator[tuple[Sentence, str]]:
    """Yield each number of a cited sentence that no part which cites the sentence contains."""
    for sentence in sentences:
        names = [name for name in names_by_sentence.get(sentence.number, ()) if name in citations]
        # the list of outputs contains no numbers
        if not names or names == ["output"]:
            continue
        known = number_values([citations[name].content for name in names])
        yield from ((sentence, written) for written, values in find_numbers(sentence.text) if not known & values)
