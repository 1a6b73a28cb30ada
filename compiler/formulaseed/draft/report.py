"""The report of a draft, for people: what to look at before the seed is committed.

In: what a session made. Out: Markdown. The same session gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from formulaseed.diagnostics.model import number_of, printable
from formulaseed.diagnostics.render import summary
from formulaseed.draft.session import Drafted, Round, Spent
from formulaseed.draft.task import Sentence
from formulaseed.draft.traceability import trace
from formulaseed.llm.calls import Usage
from formulaseed.llm.prices import Prices, cost_text


def report(drafted: Drafted, spent: Sequence[Spent], prices: Prices) -> str:
    """All of it, sections that have nothing to say left out."""
    checked, found = drafted.checked, trace(drafted)
    plain = [s for s in drafted.task.sentences if not s.is_frame]
    mapped = len(plain) - len(found.unmapped) - len(found.background)
    lines = [
        f"# Draft of {printable(checked.draft.task_name)}",
        "",
        f"{number_of(len(checked.draft.steps), 'step')}, {number_of(len(checked.draft.fields), 'field')};"
        f" {summary(checked.analysis.diagnostics) or 'no problems'}.",
        f"{mapped:,} of {number_of(len(plain), 'sentence')} became something, {len(found.background):,} state no rule,"
        f" {len(found.unmapped):,} map to nothing.",
    ]
    lines += _section("Sentences that map to nothing", _quoted(found.unmapped))
    lines += _section("Planned, and not in the seed", found.not_made)
    lines += _section("Assumptions", (note["text"] for note in drafted.assumptions))
    lines += _section("Open questions", (note["text"] for note in drafted.questions))
    lines += _section(
        "Numbers of the text that no part of it has", (f"{n} in {_place(s)}: {s.text}" for s, n in found.lost_numbers)
    )
    lines += _section(
        "Numbers of the seed that its sentences do not have", (f"{n} in {name}" for name, n in found.added_numbers)
    )
    lines += _section("Parts that name no sentence", found.unsourced)
    lines += _section("Sentences named that there are not", (f"{n} by {name}" for name, n in found.unknown))
    lines += _section("Sentences that state no rule, as the model says", _quoted(found.background))
    lines += _section("Repairs", (_repair(n, one) for n, one in enumerate(drafted.rounds, 1)))
    lines += _section("Calls", costs(spent, prices))
    return "\n".join(lines) + "\n"


def costs(spent: Sequence[Spent], prices: Prices) -> list[str]:
    """A line for each call, and one for all of them."""
    lines = [f"{one.name}: {_tokens(one.usage)}, {cost_text(prices.cost(one.model, one.usage))}" for one in spent]
    each = [prices.cost(one.model, one.usage) for one in spent]
    total = None if None in each else sum(cost for cost in each if cost is not None)
    usage = sum((one.usage for one in spent), Usage())
    models = ", ".join(dict.fromkeys(one.model for one in spent))
    return [*lines, f"{number_of(len(spent), 'call')}: {_tokens(usage)}, {cost_text(total)} ({models})"]


def _tokens(usage: Usage) -> str:
    return f"{usage.prompt:,} tokens in, {usage.output:,} out"


def _section(title: str, items: Iterable[str]) -> Iterator[str]:
    lines = [f"- {printable(item)}" for item in items]
    if lines:
        yield from ("", f"## {title}", "", *lines)


def _quoted(sentences: Iterable[Sentence]) -> Iterator[str]:
    return (f"{_place(sentence)}: {sentence.text}" for sentence in sentences)


def _place(sentence: Sentence) -> str:
    return f"line {sentence.line}"


def _repair(number: int, one: Round) -> str:
    if one.after is None:
        return f"{number}: nothing came of it: {one.fault}"
    kept = "accepted" if one.is_accepted else "not accepted"
    return f"{number}: {one.before}; then {one.after}; {kept}: {' '.join(one.changes)}".rstrip(": ")
