"""A checked formula, ready for values: nested JSON in, one value out.

The reference interpreter evaluates it, so nothing is imported, compiled or run but this package's own code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from formulaseed.domain.types import Value
from formulaseed.errors import DataError, EvaluationError
from formulaseed.ir import nodes
from formulaseed.ir.interpret import interpret
from formulaseed.ir.places import place_of

if TYPE_CHECKING:
    from formulaseed.diagnostics.model import Diagnostic

_DOTS = 3
"""A full name has so many parts at most, such as `listing.custom_fields.warranty_months`."""


@dataclass(frozen=True)
class Formula:
    """One formula over the entities of a domain; `diagnostics` are its warnings.

    `fields` names what it reads, a field of the root entity without its prefix.
    """

    text: str
    program: nodes.Program
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(self.program.spelled(field.name) for field in self.program.record)

    def evaluate(self, values: Mapping[str, Any] | None = None) -> float | str:
        """The formula's value: a float, or a text where it comes to one.

        `values` holds fields by name and entities as dictionaries of theirs: `{"ram_gb": 16, "cpu": {"cores": 8}}`;
        a missing one is null. Raises `DataError` for values that are not what the reference says, and
        `EvaluationError` where the formula has no value for them.
        """
        (value,) = evaluate_steps(self.program, values).values()
        assert isinstance(value, float | str)
        return value


def evaluate_steps(program: nodes.Program, values: Mapping[str, Any] | None) -> dict[str, Value]:
    """The value of every formula of a program, by name. Raises as `Formula.evaluate` does, for the first that fails."""
    record = record_of(program, values or {})
    try:
        return interpret(program, (), {}, record=record)
    except EvaluationError as error:
        raise _located(program, error) from None


def _located(program: nodes.Program, error: EvaluationError) -> EvaluationError:
    """The error with its place in the formula, or in the file of rules."""
    span = place_of(program, error.step, error.kind)
    if span is None:
        return error
    line, column = span.source.position(span.start)
    place = f"{span.source.name}:{line}:{column}"
    return EvaluationError(error.step, error.kind, error.message, error.operands, place)


def single(program: nodes.Program, step: nodes.Step) -> nodes.Program:
    """The program of one formula of several, which asks for its own fields only."""
    used = {symbol.name for symbol in step.symbols()}
    record = tuple(field for field in program.record if field.name in used)
    return replace(program, steps=(step,), output=(step.name,), record=record)


def record_of(program: nodes.Program, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that the program uses, by their full names; of an entity, whether there is one."""
    if not isinstance(values, Mapping):
        raise DataError(f"values must be an object, not {type(values).__name__}")
    given = _nested(values)
    return {field.name: _value(given, field.name, program.root) for field in program.record}


def _nested(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The values with dotted keys, such as `cpu.cores`, put into the entities that they name."""
    if not any(isinstance(key, str) and "." in key for key in values):
        return values
    nested: dict[str, Any] = {key: value for key, value in values.items() if not (isinstance(key, str) and "." in key)}
    for key, value in values.items():
        if not isinstance(key, str) or "." not in key:
            continue
        *path, last = key.split(".", _DOTS)
        inner = nested
        for part in path:
            found = inner.get(part)
            if found is not None and not isinstance(found, Mapping):
                raise DataError(f"`{key[:80]}` is given, and `{part[:80]}` is no object")
            inner[part] = inner = dict(found or {})
        if last in inner and inner[last] != value:
            raise DataError(f"`{key[:80]}` is given twice, with different values")
        inner[last] = value
    return nested


def _value(given: Mapping[str, Any], name: str, root: str) -> Any:
    entity, *path = name.split(".")
    section = _section(given, entity, entity)
    if not path:
        return True if section is not None else None
    inside = _inner(section, path, entity)
    if entity != root:
        return inside
    direct = _inner(given, path, "")
    if inside is not None and direct is not None and inside != direct:
        raise DataError(f"`{'.'.join(path)}` and `{name}` are one field, and their values differ")
    return direct if inside is None else inside


def _inner(section: Mapping[str, Any] | None, path: list[str], place: str) -> Any:
    for part in path[:-1]:
        place = f"{place}.{part}" if place else part
        section = _section(section, part, place) if section is not None else None
    return section.get(path[-1]) if section is not None else None


def _section(given: Mapping[str, Any], name: str, place: str) -> Mapping[str, Any] | None:
    """An object inside another; None where there is none."""
    section = given.get(name)
    if section is None or isinstance(section, Mapping):
        return section
    raise DataError(f"`{place}` must be an object or null, not {repr(section)[:80]}")
