"""A Formula Seed, in the JSON of the specification, as a `surface.Program`.

In: the document's JSON tree. Out: the program; every deviation from the format is a diagnostic. Names inside
formulas are not looked up here.
"""

from __future__ import annotations

from formulaseed import limits
from formulaseed.diagnostics.model import Problems
from formulaseed.domain import schema
from formulaseed.domain.types import enum_of
from formulaseed.frontends.keys import EXTRACT_KEYS, FILTER_KEYS, NEWER_KEYS, TOP_KEYS
from formulaseed.frontends.operations import OPERATIONS, lower_operation
from formulaseed.frontends.sections import Sections
from formulaseed.frontends.shape import Shape
from formulaseed.source.json_reader import JsonArray, JsonObject, JsonString, JsonValue
from formulaseed.source.text import Span
from formulaseed.syntax import surface
from formulaseed.syntax.surface import Named


def lower_seed(document: JsonObject, problems: Problems) -> surface.Program | None:
    """Lower a seed; None where it is far too long to be looked at."""
    compute = document.get("compute")
    if isinstance(compute, JsonArray) and len(compute.items) > limits.STEPS:
        Shape(problems).too_many(compute.span, "`compute`", len(compute.items), limits.STEPS)
        return None
    return _Seed(document, problems).program()


class _Seed(Sections):
    def __init__(self, document: JsonObject, problems: Problems) -> None:
        super().__init__(document, problems)
        self.spelled: dict[str, str] = {}

    def program(self) -> surface.Program:
        document, shape = self.document, self.shape
        self.top_keys(TOP_KEYS, NEWER_KEYS, "compute")
        self.allow(document)
        task_name = self.task_name()
        extract = self.extract()
        output = shape.need(document, "output", "the seed", '"output": the names of the steps to return')
        compute = shape.need(document, "compute", "the seed", '"compute": a list of steps')
        fields = self.fields(extract)
        meta = self.declared(extract.get("meta"), "`extract.meta`", schema.META) if extract else ()
        context = self.declared(document.get("context"), "`context`", schema.CONTEXT)
        self.spelled = self.spellings(fields, meta, context, compute)
        steps = self.steps(compute)
        return surface.Program(
            task_name=task_name or Named(document.span, "task"),
            version=self.version(),
            description=self.description(),
            keywords=self.keywords(),
            fields=fields,
            meta=meta,
            context=context,
            parameters=self.parameters(),
            review_handling=self.review_handling(),
            passes=self.passes(extract),
            steps=steps,
            output=self.output(output, "output"),
            allowances=tuple(self.allowances),
            incomplete=frozenset(self.incomplete),
            span=document.span,
        )

    def keywords(self) -> tuple[Named, ...]:
        value = self.document.get("filter")
        example = 'an object such as {"keywords": ["waiter"]}'
        section = self.shape.object(value, "`filter`", example) if value is not None else None
        if section is None:
            return ()
        self.shape.keys(section, FILTER_KEYS, "`filter`")
        self.allow(section)
        return self.keyword_list(section.get("keywords"), "`keywords`")

    def extract(self) -> JsonObject | None:
        value = self.shape.need(self.document, "extract", "the seed", '"extract": {"fields": […]}')
        section = self.shape.object(value, "`extract`") if value is not None else None
        if section is not None:
            self.shape.keys(section, EXTRACT_KEYS, "`extract`")
        return section

    def passes(self, extract: JsonObject | None) -> int:
        value = extract.get("passes") if extract else None
        return (self.shape.whole(value, "`passes`", 1, limits.PASSES) or 1) if value is not None else 1

    def fields(self, extract: JsonObject | None) -> tuple[surface.ExtractionField, ...]:
        if extract is None:
            self.incomplete.add("extraction")
            return ()
        value = self.shape.need(extract, "fields", "`extract`", '"fields": […]')
        fields = self.field_list(value, "`fields`")
        if self.shape.boolean(extract.get("validity"), "`validity`"):
            place = extract.get("validity")
            assert place is not None
            named = Named(place.span, schema.VALIDITY_FIELD)
            self.unique(named, fields, "field")
            values = tuple(surface.EnumValue(Named(place.span, v), d) for v, d in schema.VALIDITY_VALUES)
            type_ = enum_of(tuple(v for v, _ in schema.VALIDITY_VALUES))
            fields[named.text] = surface.ExtractionField(
                named, type_, "Whether the review can be trusted", values, "valid"
            )
        return tuple(fields.values())

    def spellings(
        self,
        fields: tuple[surface.ExtractionField, ...],
        meta: tuple[surface.DeclaredField, ...],
        context: tuple[surface.DeclaredField, ...],
        compute: JsonValue | None,
    ) -> dict[str, str]:
        """How a condition writes each field and filter, by its bare name."""
        spelled = {name: f"context.{name}" for name in (*schema.CONTEXT, *(f.name.text for f in context))}
        spelled |= {name: f"meta.{name}" for name in (*schema.META, *(f.name.text for f in meta))}
        spelled |= {f.name.text: f"extraction.{f.name.text}" for f in fields}
        for item in compute.items if isinstance(compute, JsonArray) else ():
            op, name = (item.get("op"), item.get("name")) if isinstance(item, JsonObject) else (None, None)
            if isinstance(op, JsonString) and op.value == "define_filter" and isinstance(name, JsonString):
                spelled[name.value] = f"${name.value}"
        return spelled

    def steps(self, compute: JsonValue | None) -> tuple[surface.Step, ...]:
        steps: list[surface.Step] = []
        if not isinstance(compute, JsonArray):
            self.incomplete.add("compute")
        for item in self.shape.list(compute, "`compute`", limits.STEPS):
            section = self.shape.object(item, "a step", 'an object such as {"name": "N", "op": "count"}')
            if section is not None:
                steps += self.step(section)
        return tuple(steps)

    def step(self, section: JsonObject) -> list[surface.Step]:
        shape = self.shape
        name = shape.step_name(shape.need(section, "name", "the step", '"name": such as "N_MILD"'))
        self.allow(section)
        op = shape.text(shape.need(section, "op", "the step", '"op": such as "count"'), "`op`")
        chosen = shape.choice(op, "operation", tuple(OPERATIONS), "FS504") if op else None
        before = Problems()
        before_shape = Shape(before, self.spelled)
        operation = lower_operation(chosen, section, before_shape) if chosen else surface.Broken()
        self.problems.extend(before)
        if name is None:
            self.incomplete.add("compute")
            return []
        place = Span(section.span.source, section.span.start, section.span.start + 1, section.span.pointer)
        return [surface.Step(name, place, operation, chosen == "define_filter")]
