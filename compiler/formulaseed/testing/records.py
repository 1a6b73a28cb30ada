"""Generates records of a formula reference, and compares a module of rules with the reference evaluator on them.

A record is a JSON object with the fields of the root entity, and an object for each other entity, as `--vars` takes it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from formulaseed import limits
from formulaseed.documents import ReferenceLike, load_reference
from formulaseed.errors import EvaluationError
from formulaseed.ir import nodes
from formulaseed.language.types import Base
from formulaseed.reference.evaluation import evaluate_steps, nest_values
from formulaseed.reference.model import CUSTOM, Entity, EntityField, Reference
from formulaseed.testing.naming import Failed
from formulaseed.testing.properties import for_examples
from formulaseed.testing.scalars import PLAIN_STRINGS, STRINGS, integers, numbers

_MAX_UNBOUNDED = 1_000_000
"""The largest plausible number of a field without bounds."""


def entities(reference: ReferenceLike, *, wild: bool = False) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for records of a reference, which rules and `compile_formula(...).evaluate` take.

    What can be null, a field or a whole entity, is sometimes null or missing. Numbers are within their bounds, without
    them from 0 to a million; with `wild` numbers and strings are any that the language takes. Fields that formulas cannot
    read are left out. Raises what `load_reference` raises.
    """
    domain = load_reference(reference)
    records = {entity.name: _build_records(entity, wild) for entity in domain.entities}
    required = {name: record for name, record in records.items() if not _is_nullable(domain.entity(name))}
    optional = {name: st.one_of(record, st.none()) for name, record in records.items() if name not in required}
    names = [name for name in domain.field_names(domain.root) if len(domain.direct_path(name)) == 1]

    def move_direct_fields(record: dict[str, Any]) -> dict[str, Any]:
        """Return a copy of a record with the root's fields on the top level, apart from those that need its prefix."""
        root = dict(record.get(domain.root) or {})
        moved = {key: root.pop(key) for key in (name.rpartition(".")[2] for name in names) if key in root}
        return {**moved, **record, **({domain.root: root} if domain.root in record else {})}

    return st.fixed_dictionaries(required, optional=optional).map(move_direct_fields)


def _is_nullable(entity: Entity | None) -> bool:
    """Return True if the entity may be missing."""
    return entity is not None and entity.nullable


def _build_records(entity: Entity, wild: bool) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for the fields of one entity, its custom fields in an object of their own if it has any."""
    record = _build_fields(entity.fields, wild)
    if not entity.custom_fields:
        return record
    custom = _build_fields(entity.custom_fields, wild)
    return st.builds(lambda own, custom: {**own, CUSTOM: custom}, record, custom)


def _build_fields(fields: tuple[EntityField, ...], wild: bool) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for objects of the readable fields; those that can be null may be null or missing."""
    values = {field.name: _build_values(field, wild) for field in fields if field.value_type is not None}
    nullable = {field.name for field in fields if field.nullable}
    required = {name: value for name, value in values.items() if name not in nullable}
    optional = {name: st.one_of(value, value, st.none()) for name, value in values.items() if name in nullable}
    return st.fixed_dictionaries(required, optional=optional)


def _build_values(field: EntityField, wild: bool) -> st.SearchStrategy[Any]:
    """Return a strategy for the values of a readable field, without null."""
    ty = field.value_type
    assert ty is not None
    if ty.values is not None:
        return st.sampled_from(ty.values)
    if ty.base is Base.BOOLEAN:
        return st.booleans()
    if field.type in ("date", "datetime"):
        return (st.dates() if field.type == "date" else st.datetimes()).map(lambda day: day.isoformat())
    if not ty.is_numeric:
        return STRINGS if wild else st.sampled_from(PLAIN_STRINGS)
    limit = limits.INTEGER_MAX if ty.base is Base.INTEGER else limits.INPUT_MAX
    plain_low, plain_high = (-limit, limit) if wild else (0, _MAX_UNBOUNDED)
    low, high = field.minimum, field.maximum
    if low is None:
        low = plain_low if high is None else min(plain_low, high)
    if high is None:
        high = max(plain_high, low)
    return integers((), math.ceil(low), math.floor(high)) if ty.base is Base.INTEGER else numbers((), low, high)


def check_agreement(program: nodes.Program, module: Any) -> None:
    """Raise `Failed` unless a module of rules has the values, or the failure, of the reference evaluator on any record."""
    reference = program.reference
    assert isinstance(reference, Reference), "rules are over a reference"

    @for_examples(entities(reference, wild=True))
    def run(record: dict[str, Any]) -> None:
        """Raise `Failed` if the two disagree about a record."""
        try:
            actual: Mapping[str, Any] = module.evaluate(module.parse_record(record))
        except module.EvaluationError as error:
            actual = {"error": [error.step, error.kind]}
        try:
            expected: Mapping[str, Any] = evaluate_steps(program, nest_values(program, record))
        except EvaluationError as error:
            expected = {"error": [error.step, error.kind]}
        if actual != expected:
            parts = {"record": record, "module": actual, "reference": expected}
            lines = [f"  {name}: {json.dumps(part, ensure_ascii=False)}" for name, part in parts.items()]
            raise Failed("\n".join(["the module and the reference evaluator disagree", *lines]))

    run()
