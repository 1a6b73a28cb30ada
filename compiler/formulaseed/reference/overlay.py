"""What a schema file says, laid over what a database shows: words, nullability, enums, examples, further entities."""

from __future__ import annotations

from dataclasses import replace

from formulaseed.reference.model import CustomField, Entity, EntityField, Reference


def overlaid(base: Reference, overlay: Reference) -> Reference:
    """The base with everything that the overlay states; what it leaves empty stays as it is."""
    entities = {entity.name: entity for entity in base.entities}
    for entity in overlay.entities:
        known = entities.get(entity.name)
        entities[entity.name] = entity if known is None else _entity(known, entity)
    enums = {enum.name: enum for enum in base.enums} | {enum.name: enum for enum in overlay.enums}
    return replace(
        base,
        entities=tuple(entities.values()),
        description=overlay.description or base.description,
        enums=tuple(enums.values()),
        patterns=overlay.patterns or base.patterns,
        examples=overlay.examples or base.examples,
        notes=overlay.notes or base.notes,
        version=overlay.version,
    )


def _entity(known: Entity, stated: Entity) -> Entity:
    fields = {field.name: field for field in known.fields}
    for field in stated.fields:
        fields[field.name] = _field(fields[field.name], field) if field.name in fields else field
    custom: dict[str, CustomField] = {field.key: field for field in (*known.custom_fields, *stated.custom_fields)}
    return replace(
        known,
        description=stated.description or known.description,
        nullable=known.nullable or stated.nullable,
        note=stated.note or known.note,
        fields=tuple(fields.values()),
        custom_fields=tuple(custom.values()),
    )


def _field(known: EntityField, stated: EntityField) -> EntityField:
    """A stated field; its description may be the database's."""
    return replace(
        stated, description=stated.description or known.description, nullable=known.nullable or stated.nullable
    )
