"""Evaluates restaurants with two settings, and compares the results: verdicts, outputs, the first step that differs.

In: two evaluators with the pairing of their steps, and lines of rows. Out: `Outcomes`. A restaurant that fails is counted,
and named in `failures`; one that has rows for one setting only is listed as gone or new.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from formulaseed.compare.causes import Setting, find_causes
from formulaseed.compare.expect import Expectations, Outputs, require_lines
from formulaseed.compare.outcomes import LoneRestaurant, Outcomes, RestaurantChange
from formulaseed.compare.pairing import Pairing, Verdicts, format_verdict, is_same
from formulaseed.data.duplicates import Duplicates
from formulaseed.data.jsonl import InputLine
from formulaseed.data.results import Failures
from formulaseed.errors import DataError, EvaluationError
from formulaseed.language.typed import SymbolKind
from formulaseed.language.types import Value
from formulaseed.runtime.extracting import ExtractedRestaurant
from formulaseed.runtime.running import add_failure, read_rows

_NOT_EVALUATED = "(data)"


@dataclass(frozen=True, slots=True)
class _StepValues:
    """The values of all steps of a restaurant; None if it fails, with the error and the step (or other place) of it."""

    values: Mapping[str, Value] | None
    failed_at: str | None = None
    error: EvaluationError | DataError | None = None


_RestaurantPair = tuple[ExtractedRestaurant | None, ExtractedRestaurant | None]
"""A restaurant with its rows for the old seed and for the new one; None for a seed for which it has none."""


@dataclass(frozen=True, slots=True)
class OutcomeComparison:
    """A comparison of restaurants, evaluated with both seeds; those that fail are added to `failures`.

    Lines that cannot be read are added, too. `expectations` are of the old seed's outputs; a restaurant that is gone breaks
    none.
    """

    old: Setting
    new: Setting
    pairing: Pairing
    failures: Failures
    duplicates: Duplicates
    expectations: Expectations

    def compare(self, lines: Iterable[InputLine], new_lines: Iterable[InputLine] | None) -> Outcomes:
        """Evaluate every restaurant with both seeds and compare the results.

        `new_lines` are the rows of the new seed, None if both seeds use `lines`. If rows or parameters differ, the causes of
        each verdict that moved are found.
        """
        pairing = self.pairing
        broken: dict[str, list[str]] = {}
        matrix: Counter[Verdicts] = Counter()
        changes: list[RestaurantChange] = []
        gone: list[LoneRestaurant] = []
        new_restaurants: list[LoneRestaurant] = []
        has_other_input = new_lines is not None or self.old.parameters != self.new.parameters
        for before, after in self._pair_restaurants(require_lines(lines, self.expectations), new_lines):
            if before is None or after is None:
                if before is not None:
                    gone.append(self._evaluate_alone(self.old, before, pairing.old_verdict))
                if after is not None:
                    new_restaurants.append(self._evaluate_alone(self.new, after, pairing.verdict))
                continue
            old_steps = _evaluate_restaurant(self.old, before)
            new_steps = _evaluate_restaurant(self.new, after)
            self._add_failures(before, old_steps, new_steps)
            change = _compare_restaurant(before, old_steps, new_steps, pairing)
            matrix[change.verdicts] += 1
            if pairing.verdict is not None and has_other_input and change.verdicts[0] != change.verdicts[1]:
                causes = find_causes(self.old, self.new, (before, after), pairing, change.verdicts)
                change = replace(change, causes=causes)
            if change.is_different:
                changes.append(change)
            if change.business_id in self.expectations:
                new_outputs = _rename_outputs(new_steps.values, pairing)
                outputs = self.expectations[change.business_id].find_broken(old_steps.values, new_outputs)
                if outputs:
                    broken[change.business_id] = outputs
        return Outcomes(
            pairing,
            dict(matrix),
            tuple(changes),
            self.failures,
            extracted_twice=new_lines is not None,
            gone=gone,
            new=new_restaurants,
            broken=broken if self.expectations else None,
        )

    def _evaluate_alone(self, setting: Setting, restaurant: ExtractedRestaurant, verdict: str | None) -> LoneRestaurant:
        """Return the result of a restaurant that one run has, whose output `verdict` is the verdict; add its failure."""
        result = _evaluate_restaurant(setting, restaurant)
        self._add_failure(setting, restaurant, result)
        return LoneRestaurant(restaurant.business_id, _read_name(restaurant), format_verdict(result.values, verdict))

    def _add_failures(self, restaurant: ExtractedRestaurant, old: _StepValues, new: _StepValues) -> None:
        """Add a restaurant's errors with both seeds to `failures`; rows that neither seed can read are added once."""
        if isinstance(old.error, DataError) and str(old.error) == str(new.error):
            add_failure(self.failures, restaurant, old.error)
        else:
            self._add_failure(self.old, restaurant, old)
            self._add_failure(self.new, restaurant, new)

    def _add_failure(self, setting: Setting, restaurant: ExtractedRestaurant, result: _StepValues) -> None:
        """Add a restaurant's error to `failures`, with the name of the seed; nothing without an error."""
        if result.error is not None:
            add_failure(self.failures, restaurant, result.error, f" (with the {setting.name} seed)")

    def _pair_restaurants(
        self, lines: Iterable[InputLine], new_lines: Iterable[InputLine] | None
    ) -> Iterator[_RestaurantPair]:
        """Yield the restaurants of `lines` paired by id with those of `new_lines`, then those that only `new_lines` has.

        If `new_lines` is None, each restaurant is paired with itself; otherwise all of `new_lines` is read into memory
        first. Adds lines that cannot be read to `failures`.
        """
        restaurants = self._read_rows(self.old, lines, self.failures)
        if new_lines is None:
            yield from ((restaurant, restaurant) for restaurant in restaurants)
            return
        by_id: dict[str, list[ExtractedRestaurant]] = {}
        new_failures = Failures()  # its duplicates are not added: those of the old rows are the same, and count once
        for restaurant in self._read_rows(self.new, new_lines, new_failures):
            by_id.setdefault(restaurant.business_id, []).append(restaurant)
        self.failures.lines += new_failures.lines
        for restaurant in restaurants:
            same_id = by_id.get(restaurant.business_id)
            yield restaurant, same_id.pop(0) if same_id else None
        yield from ((None, restaurant) for remaining in by_id.values() for restaurant in remaining)

    def _read_rows(
        self, setting: Setting, lines: Iterable[InputLine], failures: Failures
    ) -> Iterator[ExtractedRestaurant]:
        """Yield the restaurants of `lines` that have rows; add lines that cannot be read to `failures`."""
        restaurants = read_rows(setting.evaluator, lines, failures, setting.parameters, self.duplicates)
        return (restaurant for restaurant in restaurants if restaurant.error is None)


def _rename_outputs(values: Outputs, pairing: Pairing) -> Outputs:
    """Return the new seed's values by the names that the steps have in the old seed; None if the restaurant fails."""
    return None if values is None else {old_name: values[name] for name, old_name in pairing.old_names.items()}


def _read_name(restaurant: ExtractedRestaurant) -> str:
    """Return the name of a restaurant; empty if it has none."""
    name = restaurant.context.get("name")
    return name if isinstance(name, str) else ""


def _evaluate_restaurant(setting: Setting, restaurant: ExtractedRestaurant) -> _StepValues:
    """Return a restaurant's step values, or its error and where it occurred; errors are returned, not raised.

    A restaurant whose rows are invalid fails at `_NOT_EVALUATED`.
    """
    try:
        return _StepValues(setting.evaluator.trace(restaurant.rows, restaurant.context, setting.parameters))
    except (EvaluationError, DataError) as error:
        return _StepValues(None, error.step if isinstance(error, EvaluationError) else _NOT_EVALUATED, error)


def _compare_restaurant(
    restaurant: ExtractedRestaurant, before: _StepValues, after: _StepValues, pairing: Pairing
) -> RestaurantChange:
    """Return the two verdicts and outputs of a restaurant, the outputs that changed, and the first step that differs.

    If it fails with either seed, there are no outputs, and the verdict with that seed is None.
    """
    pairs: dict[str, tuple[Value, Value]] = {}
    if before.values is not None and after.values is not None:
        pairs = {name: (before.values[old_name], after.values[name]) for name, old_name in pairing.old_names.items()}
    differing = {name for name, pair in pairs.items() if not is_same(*pair)}
    changed = tuple(output for output in pairing.outputs if output in differing)
    diverges_at = _find_first_difference(differing, changed, pairing)
    if before.failed_at != after.failed_at:
        diverges_at = after.failed_at or before.failed_at or ""
    return RestaurantChange(
        business_id=restaurant.business_id,
        name=_read_name(restaurant),
        verdicts=(format_verdict(before.values, pairing.old_verdict), format_verdict(after.values, pairing.verdict)),
        outputs={output: pairs[output] for output in pairing.outputs if output in pairs},
        changed=changed,
        diverges_at=diverges_at,
    )


def _find_first_difference(differing: set[str], changed: tuple[str, ...], pairing: Pairing) -> str:
    """Return the first differing step on which a changed output depends; empty if `changed` is empty.

    The steps between it and the output must differ, too; the output itself counts. The order is that of the new seed.
    """
    causes = set(changed)
    for name in reversed([*pairing.old_names]):  # a step uses only those before it
        if name in causes:
            causes |= {symbol.name for symbol in pairing.uses[name] if symbol.kind is SymbolKind.STEP} & differing
    return next((name for name in pairing.old_names if name in causes), "")
