"""Traces the task text to the seed and back.

In: a finished draft. Out: the sentences without a part, the parts without a sentence, and the numbers on one side only.
Numbers are compared by value; "half" is not one, so a part's 0.5 is listed where its sentence says half.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from formulaseed.draft.session import DraftResult
from formulaseed.draft.task import Sentence

Json = Any

_NUMBER = re.compile(r"(?<![\w.$`])(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(?:\s?(%|percent))?(?!\w)")
_LOGIC = frozenset({0.0, 1.0, -1.0})
"""Numbers that come from guards and counts."""


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
    cited: dict[str, tuple[list[int], Json]] = {"keywords": (list(draft.keyword_sources), list(draft.keywords))}
    if draft.reading["sources"]:
        cited["reading"] = draft.reading["sources"], draft.reading["max_length"] + [draft.reading["passes"]]
    for kind, part in draft.parts:
        said = {key: value for key, value in part.items() if key != "sources"}
        cited[f"{kind} {part['name']}"] = part["sources"], said
    cited["output"] = list(draft.output_sources), None
    notes = (("assumption", drafted.assumptions), ("question", drafted.questions))
    noted = {f"{kind} {n}": note["sources"] for kind, found in notes for n, note in enumerate(found, 1)}
    parts: dict[int, list[str]] = {}
    for name, sources in [*((name, sources) for name, (sources, _) in cited.items()), *noted.items()]:
        for number in dict.fromkeys(sources):
            parts.setdefault(number, []).append(name)
    background = set(drafted.conditions["background"])
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
    """What earlier stages planned and the seed lacks."""
    draft = drafted.checked.draft
    steps = {step["name"] for step in draft.steps}
    yield from (f"step {step['name']} of the graph" for step in drafted.graph["steps"] if step["name"] not in steps)
    names = drafted.conditions["outputs"]["names"]
    yield from (f"{name}, which the text asks to report" for name in names if name not in draft.output)


def _lost(
    sentences: Iterable[Sentence], parts: dict[int, list[str]], cited: dict[str, tuple[list[int], Json]]
) -> Iterator[tuple[Sentence, str]]:
    """Numbers of a sentence that are in none of its parts."""
    for sentence in sentences:
        names = [name for name in parts.get(sentence.number, ()) if name in cited]
        if not names or names == ["output"]:
            continue
        known = {value for name in names for _, values in _numbers(cited[name][1]) for value in values}
        for written, values in _numbers(sentence.text):
            if not known & values:
                yield sentence, written


def _added(drafted: DraftResult, cited: dict[str, tuple[list[int], Json]]) -> Iterator[tuple[str, str]]:
    """Numbers of a part that are in none of its sentences."""
    for name, (sources, said) in cited.items():
        texts = [drafted.task.text(number) or "" for number in sources]
        known = {value for _, values in _numbers(texts) for value in values} | _LOGIC
        for written in dict.fromkeys(written for written, values in _numbers(said) if not known & values):
            yield name, written


def _numbers(value: Json) -> Iterator[tuple[str, set[float]]]:
    """Every number in a JSON value and its strings: as written, and its possible values: 25% is 25 or 0.25."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _numbers(item)
    elif isinstance(value, str):
        for match in _NUMBER.finditer(value):
            number = float(match[1].replace(",", "") + (match[2] or ""))
            yield match[0], {number, number / 100} if match[3] else {number}
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value), {abs(float(value))}
