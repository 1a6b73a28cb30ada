"""A Formula Seed v2, in the JSON of the specification, as a `surface.Program`.

In: the document's JSON tree. Out: the program; every deviation from the format is a diagnostic. Names inside
formulas are not looked up here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from formulaseed import limits
from formulaseed.diagnostics.catalogue import seed as catalogue
from formulaseed.diagnostics.model import Problems
from formulaseed.language.types import enum_of
from formulaseed.seed import standard_fields, surface
from formulaseed.seed.operations import OPERATIONS, OperationSpec, all_step_keys, foreign_operations, step_keys
from formulaseed.seed.read.conditions import Names
from formulaseed.seed.read.sections import EXTRACT_KEYS, FILTER_KEYS, V2_KEYS, V2_OF_V1, Sections
from formulaseed.seed.read.shape import Shape, first_character
from formulaseed.seed.read.steps import read_arguments
from formulaseed.seed.surface import Named
from formulaseed.source.json_reader import JsonArray, JsonObject, JsonString, JsonValue

_OURS = {
    "filter_keywords": "filter", "extraction_fields": "extract", "extraction_prompt": "extract", "compute_dag": "compute",
    "output_fields": "output",
}  # fmt: skip


def lower_v2(document: JsonObject, problems: Problems) -> surface.Program | None:
    """Lower a seed v2; None if it is far too long to be read."""
    compute = document.get("compute")
    if isinstance(compute, JsonArray) and len(compute.items) > limits.STEPS:
        Shape(problems).too_many(compute.span, "`compute`", len(compute.items), limits.STEPS)
        return None
    return _SeedV2(document, problems).program()


class _SeedV2(Sections):
    def __init__(self, document: JsonObject, problems: Problems) -> None:
        super().__init__(document, problems)
        self.names = Names()
        self.nameless: list[surface.Step] = []

    def program(self) -> surface.Program:
        document, shape = self.document, self.shape
        self.top_keys(V2_KEYS, V2_OF_V1, "compute", _OURS)
        self.allow(document)
        task_name = self.task_name()
        value = shape.need(document, "extract", "the seed", '"extract": {"fields": […]}')
        extract = shape.object(value, "`extract`", '{"fields": […]}') if value is not None else None
        output = shape.need(document, "output", "the seed", '"output": the names of the steps to return')
        compute = shape.need(document, "compute", "the seed", '"compute": a list of steps')
        if extract is not None and _has_bare_fields(extract):
            shape.need(extract, "fields", "`extract`", '"fields": [{"name": …, "type": …}, …]')
            extract = None
        if extract is None:
            self.incomplete |= {"extraction", "meta"}
        else:
            shape.keys(extract, EXTRACT_KEYS, "`extract`")
        fields = self.fields(extract) if extract is not None else ()
        meta = self.declared(shape.get(extract, "meta"), "`extract.meta`", standard_fields.META) if extract else ()
        context = self.declared(shape.get(document, "context"), "`context`", standard_fields.CONTEXT)
        parameters = self.parameters()
        if not isinstance(compute, JsonArray):
            self.incomplete.add("compute")
        written = shape.list(compute, "`compute`", limits.STEPS, '[{"name": …, "op": …}, …]')
        declared = (("extraction", fields), ("meta", meta), ("context", context))
        types = {f"meta.{name}": ty for name, ty in standard_fields.META.items()}
        types |= {f"context.{name}": ty for name, ty in standard_fields.CONTEXT.items()}
        types |= {f"{space}.{field.name.text}": field.type for space, found in declared for field in found}
        objects = {
            name.value: item
            for item in written
            if isinstance(item, JsonObject) and isinstance(name := item.get("name"), JsonString)
        }
        filters = {name for name, item in objects.items() if _defines_filter(item)}
        strings = {name: frozenset(_strings_of(item)) for name, item in objects.items()}
        known = {parameter.name.text for parameter in parameters}
        self.names = Names(types, filters, objects.keys() - filters, known, strings)
        passes = shape.get(extract, "passes") if extract else None
        return surface.Program(
            task_name=task_name,
            version=self.version(),
            description=self.description(),
            keywords=self.keywords(),
            fields=fields,
            meta=meta,
            context=context,
            parameters=parameters,
            review_handling=self.review_handling(),
            passes=(shape.whole(passes, "`passes`", 1, limits.PASSES) or 1) if passes is not None else 1,
            steps=tuple(step for index, item in enumerate(written) if (step := self.step(item, index)) is not None),
            nameless=tuple(self.nameless),
            output=self.output(output, "output"),
            suppressions=tuple(self.suppressions),
            incomplete=frozenset(self.incomplete),
            span=document.span,
        )

    def keywords(self) -> tuple[Named, ...]:
        value = self.shape.get(self.document, "filter")
        section = self.shape.object(value, "`filter`", '{"keywords": ["waiter"]}') if value is not None else None
        if section is None:
            return ()
        self.shape.keys(section, FILTER_KEYS, "`filter`")
        self.allow(section)
        return self.keyword_list(self.shape.get(section, "keywords"), "`keywords`")

    def fields(self, extract: JsonObject) -> tuple[surface.ExtractionField, ...]:
        fields = self.field_list(self.shape.need(extract, "fields", "`extract`", '"fields": […]'), "`fields`")
        validity = self.shape.get(extract, "validity")
        if validity is not None and self.shape.boolean(validity, "`validity`"):
            named = Named(validity.span, standard_fields.VALIDITY_FIELD)
            self.unique(named, fields, "field")
            values = tuple(surface.EnumValue(Named(validity.span, v), d) for v, d in standard_fields.VALIDITY_VALUES)
            type_ = enum_of(tuple(value.name.text for value in values))
            fields[named.text] = surface.ExtractionField(
                named, type_, "Whether the review can be trusted", values, "valid"
            )
        return tuple(fields.values())

    def step(self, item: JsonValue, index: int) -> surface.Step | None:
        """Read a step; None if it is none, or has no name: then it is kept apart."""
        shape = self.shape
        section = shape.object(item, "a step", 'an object such as {"name": "N", "op": "count"}')
        if section is None:
            self.incomplete.add("compute")
            return None
        if section.get("op") is None:  # another key may resemble it
            shape.keys(section, all_step_keys(), "a step")
        op = shape.text(shape.need(section, "op", "the step", '"op": such as "count"'), "`op`")
        chosen = shape.choice(op, "operation", OPERATIONS, "FS504", foreign_operations()) if op else None
        operation = OPERATIONS[chosen] if chosen is not None else None
        if operation is not None and section.get("op") is not None:
            shape.keys(section, step_keys(operation), f"the operation `{chosen}`")
        elif section.get("op") is not None:
            shape.keys(section, all_step_keys(), "a step")
        name = shape.step_name(shape.need(section, "name", "the step", '"name": such as "N_MILD"'))
        self.allow(section)
        shape.sources(section)
        lowered = self.operation(operation, section) if operation is not None else surface.Broken()
        place = first_character(section.span)
        is_filter = chosen == "define_filter" if op is not None and op.value == chosen else None
        if name is not None:
            return surface.Step(name, place, lowered, is_filter)
        self.incomplete.add("compute")
        self.nameless.append(surface.Step(Named(place, f"compute[{index}]"), place, lowered, is_filter))
        return None

    def operation(self, operation: OperationSpec, section: JsonObject) -> surface.Operation:
        """Lower the operation of a step whose keys were checked; broken if anything in it is malformed."""
        shape, what = self.shape, f"the operation `{operation.name}`"
        required = {key.name: f'"{key.name}": {_example(key.examples[0])}' for key in operation.keys if key.required}
        keys = [(key.name, key.kind, required.get(key.name, "")) for key in operation.keys]
        given = [value for key in operation.one_of if (value := shape.get(section, key)) is not None]
        if len(given) > 1:
            shape.problems.report(catalogue.exclusive_keys(given[1].span, operation.name, operation.one_of))
        elif operation.one_of and not given:
            choices = [key for key in operation.keys if key.name in operation.one_of]
            example = " or ".join(f'"{key.name}": {_example(key.examples[0])}' for key in choices)
            shape.need(section, operation.one_of[0], what, example)
        arguments = read_arguments(section, keys, what, self.names, shape)
        if arguments is None or (operation.one_of and len(given) != 1):
            return surface.Broken()
        return operation.lower(arguments)


def _has_bare_fields(extract: JsonObject) -> bool:
    """Return whether fields are in `extract` itself, not in a list."""
    return extract.get("fields") is None and any(isinstance(member.value, JsonObject) for member in extract.members)


def _defines_filter(step: JsonObject) -> bool:
    op = step.get("op")
    names = ("define_filter", *OPERATIONS["define_filter"].also_called)
    return isinstance(op, JsonString) and op.value.lower() in names


def _strings_of(step: JsonObject) -> Iterator[str]:
    """Yield the strings that a step may choose among: the literals of its rules and its table, and its default."""
    rules, table = step.get("rules"), step.get("table")
    members = [member for rule in (rules.items if isinstance(rules, JsonArray) else ()) if isinstance(rule, JsonObject)
               for member in rule.members if member.key.value in ("then", "else")]  # fmt: skip
    members += table.members if isinstance(table, JsonObject) else []
    for value in (step.get("value"), step.get("default"), *(member.value for member in members)):
        if isinstance(value, JsonString):
            yield value.value


def _example(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
