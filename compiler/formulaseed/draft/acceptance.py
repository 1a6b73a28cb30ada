"""Decides whether a repair may take the place of a draft.

A model that is asked for fewer errors can have them by leaving out what is wrong. So a repair has fewer defects than the draft,
and it keeps every part, output, cited sentence and number of the draft, or names what it drops with the reason. It may change
anything else: the report shows each change as a diff.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from formulaseed.draft.conversion import Part, parts_of
from formulaseed.draft.numbers import LOGIC, values
from formulaseed.draft.task import Task

Json = Any

_WITHOUT_NUMBERS = ("sources", "description", "meaning")
"""The keys of a part whose numbers no seed computes with."""


def find_losses(before: Part, after: Part, repair: Json, task: Task) -> tuple[str, ...]:
    """Return what the draft `after` lacks of the draft `before` although its repair gives no reason; empty if nothing."""
    removed, named = _with_reason(repair["removed"]), _with_reason(repair["losses"])
    return (
        *_missing_parts(before, after, removed),
        *_missing_outputs(before, after, removed | named),
        *_uncited_sentences(before, after, removed, named, task),
        *_missing_numbers(before, after, named),
    )


def _missing_parts(before: Part, after: Part, removed: set[str]) -> Iterator[str]:
    titles = {_title(kind, part) for kind, part in parts_of(after)}
    for kind, part in parts_of(before):
        if _title(kind, part) not in titles and part["name"] not in removed:
            yield f"the {_title(kind, part)} is gone without the reason"


def _missing_outputs(before: Part, after: Part, named: set[str]) -> Iterator[str]:
    for name in dict.fromkeys(before["output"]):
        if name not in after["output"] and name not in named:
            yield f"the output {name} is gone without the reason"


def _uncited_sentences(before: Part, after: Part, removed: set[str], named: set[str], task: Task) -> Iterator[str]:
    """Yield the sentences that no part cites any more; those of removed parts go with them."""
    kept_parts = [part for _, part in parts_of(before) if part["name"] not in removed]
    for number in sorted(_sentences(kept_parts) - _sentences(part for _, part in parts_of(after))):
        if task.text(number) is not None and f"sentence {number}" not in named:
            yield f"no part cites sentence {number} any more, without the reason"


def _missing_numbers(before: Part, after: Part, named: set[str]) -> Iterator[str]:
    named_numbers = values([name for name in named if not name.startswith("sentence ")])
    for number in sorted(_numbers(before) - _numbers(after) - named_numbers):
        yield f"the number {number:g} is gone without the reason"


def _with_reason(losses: Collection[Json]) -> set[str]:
    return {loss["name"].strip() for loss in losses if loss["why"].strip()}


def _title(kind: str, part: Part) -> str:
    return f"{kind} {part['name']}"


def _sentences(parts: Iterable[Part]) -> set[int]:
    return {number for part in parts for number in part["sources"]}


def _numbers(draft: Part) -> set[float]:
    """Return the numbers that a draft computes with, but for those of guards and counts."""
    parts = [draft["reading"], *(part for _, part in parts_of(draft))]
    return values([_without_prose(part) for part in parts]) - LOGIC


def _without_prose(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _without_prose(item) for key, item in value.items() if key not in _WITHOUT_NUMBERS}
    return [_without_prose(item) for item in value] if isinstance(value, list) else value
