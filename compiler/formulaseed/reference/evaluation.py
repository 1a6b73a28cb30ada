"""A checked formula, ready for values: nested JSON in, one value out; and what became of the stages of its validation.

The reference interpreter evaluates it, so nothing is imported, compiled or run but this package's own code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from formulaseed.diagnostics.suggestions import did_you_mean, find_closest, suggest
from formulaseed.errors import DataError, EvaluationError
from formulaseed.ir import nodes
from formulaseed.ir.inputs import check_object
from formulaseed.ir.interpret import find_failure_span, interpret
from formulaseed.language.json_values import _quote
from formulaseed.language.types import Value
from formulaseed.reference.model import CUSTOM, KnownNames, Reference
from formulaseed.reference.variables import is_same, nested
from formulaseed.source.text import shorten

if TYPE_CHECKING:
    from formulaseed.diagnostics.model import Diagnostic, Help

_SHOWN = 80
"""How many characters of an unknown name are shown."""


@dataclass(frozen=True)
class Formula:
    """One formula over the entities of a domain; `diagnostics` are its warnings.

    `fields` names what it reads, a field of the root entity without its prefix.
    """

    text: str
    program: nodes.Program
    diagnostics: tuple[Diagnostic, ...] = ()

    def __repr__(self) -> str:
        return shorten(f"Formula({self.text!r})")

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(self.program.short_name(field.name) for field in self.program.record)

    def evaluate(self, values: Mapping[str, Any] | None = None) -> float | str:
        """The formula's value: a float, or a string if it comes to one.

        `values` holds fields by name and entities as dictionaries of theirs: `{"ram_gb": 16, "cpu": {"cores": 8}}`;
        a missing one is null. Raises `DataError` for values that are not what the reference says, for a name that it
        does not know, and `EvaluationError` where the formula has no value for them.
        """
        (value,) = evaluate_steps(self.program, known_values(self.program, values)).values()
        assert isinstance(value, float | str)
        return value


def evaluate_steps(program: nodes.Program, given: Mapping[str, Any]) -> dict[str, Value]:
    """The value of every formula of a program, by name, for `known_values`.

    Raises as `Formula.evaluate` does, for the first that fails, with the place in the formula or the file of rules.
    """
    reference = _reference(program)
    record = {field.name: _value(given, field.name, reference) for field in program.record}
    try:
        return interpret(program, (), {}, record=record)
    except EvaluationError as error:
        raise located(program, error) from None


def located(program: nodes.Program, error: EvaluationError) -> EvaluationError:
    """The error with its place in the formula, or in the file of rules."""
    span = find_failure_span(program, error.step, error.kind)
    if span is not None:
        line, column = span.source.position(span.start)
        error.place = f"{span.source.name}:{line}:{column}"
    return error


def part_of(program: nodes.Program, steps: Sequence[nodes.Step]) -> nodes.Program:
    """The program of some of its formulas, which asks for their own fields only."""
    used = {symbol.name for step in steps for symbol in step.symbols()}
    record = tuple(field for field in program.record if field.name in used)
    return replace(program, steps=tuple(steps), output=tuple(step.name for step in steps), record=record)


def known_values(program: nodes.Program, values: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the values, each in its entity. Raises `DataError` for a name that the reference does not know."""
    given = nested(check_object({} if values is None else values, "the values"))
    reference = _reference(program)
    _refuse_unknown(reference, given, reference.known_names, ())
    return given


def _reference(program: nodes.Program) -> Reference:
    assert isinstance(program.reference, Reference), "formulas are over a reference"
    return program.reference


def _refuse_unknown(reference: Reference, given: Mapping[str, Any], names: KnownNames, inside: tuple[str, ...]) -> None:
    """Raise `DataError` for the first name in the values that is not among the `names`, with the nearest that is."""
    for name, value in given.items():
        if not isinstance(name, str):
            raise DataError(f"{_quote(name)} is no name of a field")
        path = (*inside, name)
        if name not in names:
            raise DataError(f"`{'.'.join(path)[:_SHOWN]}` is no field; {_help(reference, names, path)}")
        known = names[name]
        if known is not None and isinstance(value, Mapping):
            _refuse_unknown(reference, value, known, path)


def _help(reference: Reference, names: KnownNames, path: tuple[str, ...]) -> Help:
    """What an unknown name probably is: a field of this very name elsewhere, else the nearest in the same place."""
    *inside, name = path
    place = ".".join(inside)
    if place and not names:
        return f"`{place}` has no parts"
    if elsewhere := reference.called(name):
        return suggest(elsewhere[0])
    begun = {known.partition("_")[0]: known for known in reversed(names)}
    close = find_closest(name, names) or begun.get(
        find_closest(name, begun) or ""
    )  # `waranty` begins like `warranty_months`
    prefix = f"{place}." if place else ""
    if close:
        return suggest(f"{prefix}{close}")
    listed = [each for each in names if each != reference.root and (each != CUSTOM or names[each])]
    return did_you_mean(name, listed, noun="fields", prefix=prefix)


def _value(given: Mapping[str, Any], name: str, reference: Reference) -> Any:
    """The value that a program uses, by its full name; of an entity, whether there is one."""
    entity, *path = name.split(".")
    section = _section(given, entity, entity)
    if not path:
        return True if section is not None else None
    inside = _inner(section, path, entity)
    if entity != reference.root:
        return inside
    if not reference.direct_path(name):  # its name alone is that of another entity
        _section(given, path[0], path[0])
        return inside
    direct = _inner(given, path, "")
    if inside is not None and direct is not None and not is_same(inside, direct):
        raise DataError(f"`{'.'.join(path)}` and `{name}` are one field, and their values differ")
    return direct if inside is None else inside


def _inner(section: Mapping[str, Any] | None, path: list[str], place: str) -> Any:
    for part in path[:-1]:
        place = f"{place}.{part}" if place else part
        section = _section(section, part, place) if section is not None else None
    return section.get(path[-1]) if section is not None else None


def _section(given: Mapping[str, Any], name: str, place: str) -> Mapping[str, Any] | None:
    section = given.get(name)
    if section is None or isinstance(section, Mapping):
        return section
    raise DataError(f"`{place}` must be an object or null, not {_quote(section)}")


# --- the five stages, which are names for what the phases of the compiler report

STAGES = ("syntax", "security", "fields", "types", "execution")
PASSED, WARNED, FAILED, NOT_REACHED = "passed", "warned", "failed", "not reached"

_STAGES = {
    "FS104": "security", "FS2": "fields", "FS305": "execution", "FS306": "execution", "FS3": "types",
    "FS6": "execution", "FS9": "execution",
}  # fmt: skip
"""The stage of each code, or of those that begin so: the first that fits."""


def stage_of(diagnostic: Diagnostic) -> str:
    """The stage that has found it."""
    if diagnostic.is_security:
        return "security"
    return next((stage for begin, stage in _STAGES.items() if diagnostic.code.startswith(begin)), "syntax")


def stages(diagnostics: Sequence[Diagnostic], *, is_evaluated: bool, has_failed: bool) -> dict[str, str]:
    """A word for each stage; behind one that failed, those that found nothing were not reached."""
    found: dict[str, str] = {}
    for stage in STAGES:
        severities = {d.severity for d in diagnostics if stage_of(d) == stage}
        if "error" in severities or (stage == "execution" and has_failed):
            found[stage] = FAILED
        elif FAILED in found.values() or (stage == "execution" and not is_evaluated and not severities):
            found[stage] = NOT_REACHED
        else:
            found[stage] = WARNED if severities else PASSED
    return found
