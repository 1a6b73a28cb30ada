"""Evaluate checked formulas for nested JSON values, and summarize the stages of their validation.

The reference interpreter evaluates them: no code is generated, imported or run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from formulaseed.diagnostics.model import Diagnostic, Help
from formulaseed.diagnostics.suggestions import did_you_mean, find_closest, suggest
from formulaseed.errors import DataError, EvaluationError
from formulaseed.ir import nodes
from formulaseed.ir.inputs import check_object
from formulaseed.ir.interpret import find_failure_span, interpret, prepare_evaluation
from formulaseed.language.json_values import _quote
from formulaseed.language.typed import Symbol, SymbolKind
from formulaseed.language.types import Value
from formulaseed.reference.model import CUSTOM, KnownNames, Reference
from formulaseed.reference.variables import is_same, nest_dotted_names
from formulaseed.source.text import shorten

_MAX_NAME_CHARACTERS = 80  # a longer unknown name is cut in messages


@dataclass(frozen=True)
class Formula:
    """One checked formula over the entities of a domain; `diagnostics` are its warnings."""

    text: str
    program: nodes.Program
    diagnostics: tuple[Diagnostic, ...] = ()

    def __repr__(self) -> str:
        return shorten(f"Formula({self.text!r})")

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields that it reads, those of the root entity without their prefix."""
        return tuple(self.program.short_name(field.name) for field in self.program.record)

    def evaluate(self, values: Mapping[str, Any] | None = None) -> float | str:
        """Return the formula's value: a float, or a string if it results in one.

        `values` holds fields by name and entities as dictionaries of fields: `{"ram_gb": 16, "cpu": {"cores": 8}}`; a missing
        field is null. Raises `DataError` for values of another type than the reference says and for unknown names, and
        `EvaluationError` if the formula has no value for them, such as after a division by zero.
        """
        (value,) = evaluate_steps(self.program, nest_values(self.program, values)).values()
        assert isinstance(value, float | str)
        return value


def evaluate_steps(program: nodes.Program, values: Mapping[str, Any]) -> dict[str, Value]:
    """Return the value of every formula of a program, by name. `values` are the result of `nest_values`.

    Raises what `Formula.evaluate` raises, for the first formula that fails, with its place in the file.
    """
    record = _read_record(program, values)
    try:
        return interpret(program, (), {}, record=record)
    except EvaluationError as error:
        raise add_place(program, error) from None


def _read_record(program: nodes.Program, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that a program reads, by full name. Raises what `Formula.evaluate` raises for wrong values."""
    reference = _reference(program)
    return {field.name: _read_value(values, field.name, reference) for field in program.record}


def add_place(program: nodes.Program, error: EvaluationError) -> EvaluationError:
    """Set `error.place` to the position in the formula or file of rules, if any, and return the same error."""
    span = find_failure_span(program, error.step, error.kind)
    if span is not None:
        error.place = span.place
    return error


def evaluate_each(
    program: nodes.Program, values: Mapping[str, Any]
) -> tuple[dict[str, Value], dict[str, DataError | EvaluationError]]:
    """Return the value of every formula that has one, and the error of every other, by name.

    `values` are the result of `nest_values`. A formula that uses one without a value has the error of the first such
    one, and its message ends with that one's name.
    """
    results: dict[str, Value] = {}
    roots: dict[str, DataError | EvaluationError] = {}  # each error without the names of formulas between
    errors: dict[str, DataError | EvaluationError] = {}
    for step, used in zip(program.steps, program.uses().values(), strict=True):
        own = select_steps(program, [step])
        failed = next((name for name in errors if name in used), None)
        if failed is not None:
            roots[step.name] = roots[failed]
            errors[step.name] = _pass_on(roots[failed], failed)
            continue
        try:
            evaluation = prepare_evaluation(own, (), {}, record=_read_record(own, values))
            evaluation.shared |= {Symbol(SymbolKind.STEP, name): results[name] for name in used}
            evaluation.evaluate_step(step)
            results |= evaluation.results
        except DataError as error:
            roots[step.name] = errors[step.name] = error
        except EvaluationError as error:
            roots[step.name] = errors[step.name] = add_place(program, error)
    return results, errors


def _pass_on(error: DataError | EvaluationError, name: str) -> DataError | EvaluationError:
    """Return a copy of an error for a formula that has no value because it uses the formula `name`."""
    message = f"{error.message}, through `{name}`"
    if isinstance(error, DataError):
        return DataError(message, error.where)
    return EvaluationError(error.step, error.kind, message, error.operands, error.place)


def select_steps(program: nodes.Program, steps: Sequence[nodes.Step]) -> nodes.Program:
    """Return a copy of the program with these formulas only, which reads only their fields; rules they use are left out."""
    used = {symbol.name for step in steps for symbol in step.symbols()}
    record = tuple(field for field in program.record if field.name in used)
    return replace(program, steps=tuple(steps), output=tuple(step.name for step in steps), record=record)


def nest_values(program: nodes.Program, values: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the values nested in their entities; None is no values.

    Raises `DataError` for an unknown name, for values that are no object, and for a name with two values.
    """
    nested = nest_dotted_names(check_object({} if values is None else values, "the values"))
    reference = _reference(program)
    _refuse_unknown(reference, nested, reference.known_names, ())
    return nested


def _reference(program: nodes.Program) -> Reference:
    """Return the reference of a program of formulas. Raises `AssertionError` for any other program."""
    assert isinstance(program.reference, Reference), "formulas are over a reference"
    return program.reference


def _refuse_unknown(
    reference: Reference, values: Mapping[str, Any], names: KnownNames, parents: tuple[str, ...]
) -> None:
    """Raise `DataError` for the first name in the values that is not among `names`, with a suggestion, or is no string.

    `parents` is the path of the object that the values are in. An object that may have any names is not searched.
    """
    for name, value in values.items():
        if not isinstance(name, str):
            raise DataError(f"{_quote(name)} is no name of a field")
        path = (*parents, name)
        if name not in names:
            raise DataError(
                f"`{'.'.join(path)[:_MAX_NAME_CHARACTERS]}` is no field; {_suggest_name(reference, names, path)}"
            )
        known = names[name]
        if known is not None and isinstance(value, Mapping):
            _refuse_unknown(reference, value, known, path)


def _suggest_name(reference: Reference, names: KnownNames, path: tuple[str, ...]) -> Help:
    """Return the help for an unknown name, whose path is `path`.

    It is that the parent has no parts, or a field of the same name elsewhere, or the most similar of `names`, or else
    the fields that there are.
    """
    *parents, name = path
    place = ".".join(parents)
    if place and not names:
        return f"`{place}` has no parts"
    if elsewhere := reference.find_by_last_name(name):
        return suggest(elsewhere[0])
    # The name may be only the beginning of a field's, with a typo: `waranty` for `warranty_months`.
    names_by_first_word = {known.partition("_")[0]: known for known in reversed(names)}
    close = find_closest(name, names) or names_by_first_word.get(find_closest(name, names_by_first_word) or "")
    prefix = f"{place}." if place else ""
    if close:
        return suggest(f"{prefix}{close}")
    listed = [known for known in names if known != reference.root and (known != CUSTOM or names[known])]
    return did_you_mean(name, listed, noun="fields", prefix=prefix)


def _read_value(values: Mapping[str, Any], name: str, reference: Reference) -> Any:
    """Return the value of a field by its full name, None if there is none; for an entity True if there is one, or None.

    A field of the root may be with or without its prefix. Raises `DataError` if both are there and differ, or if an entity
    is no object.
    """
    entity, *path = name.split(".")
    section = _read_section(values, entity, entity)
    if not path:
        return True if section is not None else None
    value = _read_path(section, path, entity)
    if entity != reference.root:
        return value
    if not reference.direct_path(name):  # its name alone is that of another entity
        _read_section(values, path[0], path[0])
        return value
    direct_value = _read_path(values, path, "")
    if value is not None and direct_value is not None and not is_same(value, direct_value):
        raise DataError(f"`{'.'.join(path)}` and `{name}` are one field, and their values differ")
    return direct_value if value is None else value


def _read_path(section: Mapping[str, Any] | None, path: list[str], place: str) -> Any:
    """Return the value at a path below `section`, whose own path is `place`; None if a part is missing or null.

    Raises `DataError` if a part before the last is anything but an object.
    """
    for part in path[:-1]:
        if section is None:
            return None
        place = f"{place}.{part}" if place else part
        section = _read_section(section, part, place)
    return section.get(path[-1]) if section is not None else None


def _read_section(values: Mapping[str, Any], name: str, place: str) -> Mapping[str, Any] | None:
    """Return the object at `name`; None if it is missing or null. Raises `DataError` for any other value."""
    section = values.get(name)
    if section is None or isinstance(section, Mapping):
        return section
    raise DataError(f"`{place}` must be an object or null, not {_quote(section)}")


# --- the five stages of validation, to which each diagnostic belongs by its code

STAGES = ("syntax", "security", "fields", "types", "execution")
PASSED, WARNED, FAILED, NOT_REACHED = "passed", "warned", "failed", "not reached"

_STAGE_BY_CODE = {
    "FS104": "security", "FS2": "fields", "FS305": "execution", "FS306": "execution", "FS3": "types",
    "FS6": "execution", "FS9": "execution",
}  # fmt: skip
"""The stage of each code or prefix of codes; the first that matches counts, and `syntax` if none does."""


def find_stage(diagnostic: Diagnostic) -> str:
    """Return the stage that a diagnostic belongs to: `security` if it is about security, or else that of its code."""
    if diagnostic.is_security:
        return "security"
    return next((stage for prefix, stage in _STAGE_BY_CODE.items() if diagnostic.code.startswith(prefix)), "syntax")


def summarize_stages(diagnostics: Sequence[Diagnostic], *, is_evaluated: bool, has_failed: bool) -> dict[str, str]:
    """Return whether each stage passed, warned, failed, or was not reached.

    After a stage that failed, those without errors were not reached. `is_evaluated` says that the formula was evaluated,
    `has_failed` that its evaluation failed.
    """
    outcomes: dict[str, str] = {}
    for stage in STAGES:
        severities = {d.severity for d in diagnostics if find_stage(d) == stage}
        if "error" in severities or (stage == "execution" and has_failed):
            outcomes[stage] = FAILED
        elif FAILED in outcomes.values() or (stage == "execution" and not is_evaluated and not severities):
            outcomes[stage] = NOT_REACHED
        else:
            outcomes[stage] = WARNED if severities else PASSED
    return outcomes
