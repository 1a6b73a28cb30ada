"""Reads the outputs that restaurants are expected to have, and compares them with actual ones.

In: lines of expected outputs, and the programs whose outputs they are. Out: an `Expectation` for each restaurant, or a
`DataError` for the first faulty line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from formulaseed.data.jsonl import InputLine, parse_lines
from formulaseed.data.records import ExpectedLine
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.errors import DataError
from formulaseed.ir import nodes
from formulaseed.ir.inputs import read_value
from formulaseed.language.types import Value
from formulaseed.pages.values import format_value, is_number
from formulaseed.source.printing import number_of

_MAX_NAMED_RESTAURANTS = 5
Outputs = Mapping[str, Value] | None
"""The values of a restaurant by name; None if it fails."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """The outputs that a restaurant is expected to have, a note on them, and the place of their line."""

    business_id: str
    outputs: Mapping[str, Value]
    note: str
    place: str

    def find_unmet(self, values: Outputs) -> list[str]:
        """Return the names of the outputs that do not have the expected value in `values`."""
        return [name for name, expected in self.outputs.items() if not _has_value(values, name, expected)]

    def find_broken(self, before: Outputs, after: Outputs) -> list[str]:
        """Return the names of the outputs that have the expected value in `before`, but not in `after`."""
        return [name for name in self.find_unmet(after) if _has_value(before, name, self.outputs[name])]


Expectations = Mapping[str, Expectation]
"""The expectations by restaurant."""


def _has_value(values: Outputs, name: str, expected: Value) -> bool:
    """Return whether the value called `name` is there, and is the expected one."""
    return values is not None and name in values and _agrees(expected, values[name])


def _agrees(expected: Value, actual: Value) -> bool:
    """Return whether two values are the same; floats need to agree in the digits that reports print."""
    if is_number(expected) and is_number(actual) and (isinstance(expected, float) or isinstance(actual, float)):
        return format_value(float(expected)) == format_value(float(actual))
    return type(expected) is type(actual) and expected == actual


def read_expectations(lines: Iterable[InputLine], programs: Sequence[nodes.Program]) -> Expectations:
    """Return the expectations in some lines; each output must be one of any of the programs, with a value that it can have.

    Raises `DataError` if there is no line, and for a line that is invalid, has the restaurant of another line, an unknown
    output or an impossible value. It names the place and the field, and counts further such lines.
    """
    expectations: dict[str, Expectation] = {}
    faults: list[DataError] = []
    for line, record in parse_lines(lines, ExpectedLine.read):
        try:
            if isinstance(record, DataError):
                raise record
            if record.business_id in expectations:
                first = expectations[record.business_id].place
                raise DataError(f"`business_id` {record.business_id!r:.80} is also in {first}; remove one of the lines")
            outputs = {name: _read_output(programs, name, value) for name, value in record.output.items()}
            expectations[record.business_id] = Expectation(record.business_id, outputs, record.note, line.place)
        except DataError as fault:
            faults.append(fault.at(line.place))
    _raise_first(faults)
    if not expectations:
        raise DataError('no output is expected; write lines such as {"business_id": …, "output": {NAME: VALUE}}')
    return expectations


def require_lines(lines: Iterable[InputLine], expectations: Expectations) -> Iterator[InputLine]:
    """Yield all lines of rows. Raises `DataError` after the last one if an expected restaurant has no line."""
    ids: dict[str, None] = {}
    for line in lines:
        if expectations:
            ids[line.business_id] = None
        yield line
    faults = []
    for expectation in expectations.values():
        name = expectation.business_id
        if name not in ids:
            help = did_you_mean(name, filter(None, ids), noun="restaurants", limit=_MAX_NAMED_RESTAURANTS)
            faults.append(DataError(f"`business_id` {name!r:.80} has no rows; {help}", expectation.place))
    _raise_first(faults)


def _raise_first(faults: Sequence[DataError]) -> None:
    """Raise the first of `faults`, which counts the others; returns None if there are none."""
    if faults:
        more = f"; and {number_of(len(faults) - 1, 'more such line')}" if faults[1:] else ""
        raise DataError(f"{faults[0].message}{more}", faults[0].where)


def _read_output(programs: Sequence[nodes.Program], name: str, value: Any) -> Value:
    """Return the expected value of an output of any program. Raises `DataError` if no program can have it."""
    steps = [step for program in programs for step in program.steps if step.name == name and name in program.output]
    if not steps:
        outputs = dict.fromkeys(output for program in programs for output in program.output)
        help = did_you_mean(name, outputs, noun="outputs", limit=len(outputs))
        raise DataError(f"`output.{name[:80]}` is no output of the seed; {help}")
    for step in steps[:-1]:
        with suppress(DataError):
            return _read_step_value(step, value)
    return _read_step_value(steps[-1], value)


def _read_step_value(step: nodes.Step, value: Any) -> Value:
    """Return a value that the step can have. Raises `DataError` for another type, an unlisted string, a number out of range."""
    place = f"output.{step.name}"
    values = step.ty.values
    if isinstance(value, str) and values is not None and value not in values:
        help = did_you_mean(value, values, noun="values", limit=len(values))
        raise DataError(f"`{place}` cannot be {value!r:.80}; {help}")
    expected: Value = read_value(value, step.ty, place)
    if step.range is not None and is_number(expected):
        nearest = min(max(expected, step.range.low), step.range.high)
        if not _agrees(float(expected), float(nearest)):
            bound = "largest" if expected > nearest else "smallest"
            raise DataError(f"`{place}` cannot be {value!r:.80}; its {bound} value is {format_value(nearest)}")
    return expected
