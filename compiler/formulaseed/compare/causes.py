"""Finds what moved a verdict between two runs: the changes of a restaurant's input that alone give another verdict.

In: a restaurant with its rows in both runs. Out: every difference of reviews, facts, parameters and seeds that the old seed
reads; each is applied alone to the old input, which is evaluated again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple

from formulaseed.compare.pairing import Pairing, Verdicts, format_verdict
from formulaseed.data.duplicates import ID
from formulaseed.errors import DataError, EvaluationError
from formulaseed.language.types import Value
from formulaseed.pages.blocks import InlineCode
from formulaseed.pages.values import format_plain
from formulaseed.runtime.evaluator import Evaluator
from formulaseed.runtime.extracting import ExtractedRestaurant
from formulaseed.source.text import shorten

Part = Literal["review", "fact", "parameter", "seed"]
Kind = Literal["added", "removed", "changed"]
_MAX_EVALUATED_ROWS = 2_000_000  # for one restaurant, by all changes together: a few seconds
_MAX_VALUE_CHARACTERS = 40
_MAX_LISTED_VALUES = 6


@dataclass(frozen=True, slots=True)
class Setting:
    """A compiled seed with its parameters; `name` is `old` or `new`."""

    name: str
    evaluator: Evaluator
    parameters: Mapping[str, Value] | None = None


@dataclass(frozen=True, slots=True)
class InputChange:
    """One difference between the inputs of a restaurant in two runs.

    `name` is the id of the review, or its place if it has none, or the name of the fact or parameter. `values` maps what the
    seed reads to the old and the new value; None if there is none. `verdict` is that of the old input with this change
    alone, None if it fails. `moves` is True if the change alone gives another verdict, None if that was not tried.
    """

    part: Part
    kind: Kind
    name: str
    values: Mapping[str, tuple[Value, Value]]
    verdict: str | None = None
    moves: bool | None = None

    def describe(self) -> list[str]:
        """Return the change as parts of a line, with at most `_MAX_LISTED_VALUES` values."""
        if self.part == "seed":
            return ["the new seed"]
        parts = [f"{self.part} ", InlineCode(self.name), f" {self.kind}"]
        for number, (name, (old, new)) in enumerate([*self.values.items()][:_MAX_LISTED_VALUES]):
            parts.append(": " if number == 0 else ", ")
            if name != self.name:
                parts += [InlineCode(name), " "]
            changed = [old, new] if self.kind == "changed" else [new if self.kind == "added" else old]
            parts.append(" → ".join(shorten(format_plain(value), _MAX_VALUE_CHARACTERS) for value in changed))
        if len(self.values) > _MAX_LISTED_VALUES:
            parts.append(", …")
        return parts


class _Review(NamedTuple):
    """A review: its id or place, and the module's tuple of its row; None if the module cannot read the row."""

    name: str
    row: Any


_ReviewKey = tuple[Hashable, int]
"""The id of a review, or its row in a tuple if it has no id, and how often the same occurred before."""


@dataclass(frozen=True, slots=True)
class _Input:
    """The input of a restaurant as the old seed reads it; `context` is None if the module cannot read the context."""

    reviews: Mapping[_ReviewKey, _Review]
    context: Any
    parameters: Mapping[str, Value]


_Candidate = tuple[InputChange, Callable[[], _Input]]
"""A change, and a function that returns the old input with this change alone."""


def find_causes(
    old: Setting,
    new: Setting,
    restaurants: tuple[ExtractedRestaurant, ExtractedRestaurant],
    pairing: Pairing,
    verdicts: Verdicts,
) -> tuple[InputChange, ...]:
    """Return every change of the input of a restaurant whose verdict moved, those that move it alone first.

    `restaurants` has its old and its new rows; `pairing` must have a verdict. A change with which the restaurant fails moves
    its verdict only if it fails with the new input, too. Changes are not tried once `_MAX_EVALUATED_ROWS` are evaluated.
    """
    assert pairing.verdict is not None
    before, after = (_read_input(old, restaurant) for restaurant in restaurants)
    old_verdict = pairing.old_names[pairing.verdict]
    changes: list[InputChange] = []
    if old.evaluator.seed_sha256 != new.evaluator.seed_sha256:
        change = InputChange("seed", "changed", new.evaluator.task_name, {})
        changes.append(_judge(change, _evaluate_new_seed(old, new, restaurants[0], pairing.verdict), verdicts))
    candidates = (
        *_compare_reviews(before, after),
        *_compare_facts(before, after),
        *_compare_parameters(old, new, before),
    )
    max_tries = _MAX_EVALUATED_ROWS // (len(before.reviews) + 1) + 1
    for change, build_input in candidates[:max_tries]:
        changes.append(_judge(change, _evaluate(old, build_input(), old_verdict), verdicts))
    changes += (change for change, _ in candidates[max_tries:])
    return tuple(sorted(changes, key=lambda change: not change.moves))


def _judge(change: InputChange, verdict: str | None, verdicts: Verdicts) -> InputChange:
    """Return the change with the `verdict` of the old input with it, and whether it moves the first of `verdicts`."""
    moves = verdict != verdicts[0] and (verdict is not None or verdicts[1] is None)
    return replace(change, verdict=verdict, moves=moves)


# --- the inputs


def _read_input(setting: Setting, restaurant: ExtractedRestaurant) -> _Input:
    """Return the input of a restaurant as the seed of `setting` reads it, with the parameters of `setting`."""
    module: Any = setting.evaluator.module
    reviews: dict[_ReviewKey, _Review] = {}
    occurrences = Counter[Hashable]()
    for index, row in enumerate(restaurant.rows):
        try:
            parsed_row = module.Row(*setting.evaluator.parse_rows([row])[0])
        except DataError:
            parsed_row = None
        review_id = row.get(ID) if isinstance(row, Mapping) else None
        is_named = type(review_id) in (str, int)
        key = review_id if is_named else (parsed_row,)
        reviews[key, occurrences[key]] = _Review(str(review_id) if is_named else f"rows[{index}]", parsed_row)
        occurrences[key] += 1
    try:
        context = module.parse_context(restaurant.context)
    except module.DataError:
        context = None
    return _Input(reviews, context, setting.parameters or {})


def _compare_reviews(old: _Input, new: _Input) -> Iterator[_Candidate]:
    """Yield the reviews that were removed, changed or added, with the values of their rows that differ.

    Their order is no change.
    """
    for key, review in {**old.reviews, **new.reviews}.items():
        before, after = old.reviews.get(key), new.reviews.get(key)
        if before is None or after is None or before.row != after.row:
            kind: Kind = "added" if before is None else "removed" if after is None else "changed"
            values = _find_changed_values(before and before.row, after and after.row)
            yield InputChange("review", kind, review.name, values), partial(_set_review, old, key, after)


def _set_review(old: _Input, key: _ReviewKey, review: _Review | None) -> _Input:
    """Return a copy of an input with a review in the place of the one with the same key, or else as the last one.

    If `review` is None, the copy is without the review that has the key.
    """
    reviews = {**old.reviews, key: review}
    return replace(old, reviews={name: one for name, one in reviews.items() if one is not None})


def _find_changed_values(old: Any, new: Any) -> dict[str, tuple[Value, Value]]:
    """Map the fields of two rows or contexts that differ to both values; None for those of a tuple that is None."""
    fields: tuple[str, ...] = getattr(old or new, "_fields", ())
    pairs = zip(fields, old or [None] * len(fields), new or [None] * len(fields), strict=True)
    return {name: (before, after) for name, before, after in pairs if before != after}


def _compare_facts(old: _Input, new: _Input) -> Iterator[_Candidate]:
    """Yield a change for each fact of the restaurant that differs, with a function that makes it in the old input.

    If either context cannot be read, the whole context is one change.
    """
    values = _find_changed_values(old.context, new.context)
    if old.context is None or new.context is None:
        if old.context is not new.context:
            yield InputChange("fact", "changed", "context", values), partial(replace, old, context=new.context)
        return
    for name, pair in values.items():
        context = old.context._replace(**{name: pair[1]})
        yield InputChange("fact", "changed", name, {name: pair}), partial(replace, old, context=context)


def _compare_parameters(old: Setting, new: Setting, start: _Input) -> Iterator[_Candidate]:
    """Yield the parameters that a caller set and both seeds have, if their values differ."""
    before = old.evaluator.provenance(old.parameters).parameters
    after = new.evaluator.provenance(new.parameters).parameters
    for name in {**(old.parameters or {}), **(new.parameters or {})}:
        if name in before and name in after and before[name] != after[name]:
            change = InputChange("parameter", "changed", name, {name: (before[name], after[name])})
            yield change, partial(replace, start, parameters={**start.parameters, name: after[name]})


# --- their verdicts


def _evaluate(setting: Setting, restaurant: _Input, verdict: str) -> str | None:
    """Return the value of the output `verdict` for an input; None if the restaurant fails."""
    module = setting.evaluator.module
    rows = [review.row for review in restaurant.reviews.values()]
    is_repeated = any(number and type(key) in (str, int) for key, number in restaurant.reviews)
    if restaurant.context is None or None in rows or is_repeated:
        return None
    try:
        arguments = [setting.evaluator.parse_parameters(restaurant.parameters)] if restaurant.parameters else []
        values = module.evaluate(rows, restaurant.context, *arguments)
    except (DataError, module.EvaluationError):
        return None
    return format_verdict(dict(zip(module.OUTPUT, values, strict=True)), verdict)


def _evaluate_new_seed(old: Setting, new: Setting, restaurant: ExtractedRestaurant, verdict: str) -> str | None:
    """Return the verdict of the new seed for the old rows and the old parameters that it has; None if it fails."""
    names = new.evaluator.provenance().parameters
    parameters = {name: value for name, value in (old.parameters or {}).items() if name in names}
    try:
        return format_verdict(new.evaluator.evaluate(restaurant.rows, restaurant.context, parameters), verdict)
    except (DataError, EvaluationError):
        return None
