"""A Formula Seed, in the JSON of the specification, as a `surface.Program`.

In: the document's JSON tree. Out: the program; every deviation from the format is a diagnostic. Names inside
formulas are not looked up here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from formulaseed import limits
from formulaseed.diagnostics.model import Problems
from formulaseed.language.types import enum_of
from formulaseed.seed import standard_fields, surface
from formulaseed.seed.read.keys import EXTRACT_KEYS, FILTER_KEYS, NEWER_KEYS, TOP_KEYS
from formulaseed.seed.read.operations import ALL_STEP_KEYS, OPERATIONS, lower_operation, lower_unknown, step_keys
from formulaseed.seed.read.reshaped import with_name, wrapped
from formulaseed.seed.read.sections import Sections
from formulaseed.seed.read.shape import Shape, meant_choice
from formulaseed.seed.surface import Named
from formulaseed.source.json_reader import JsonArray, JsonObject, JsonString, JsonValue, Member
from formulaseed.source.text import Span


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
        self.nameless: list[surface.Step] = []

    def program(self) -> surface.Program:
        document, shape = self.document, self.shape
        self.top_keys(TOP_KEYS, NEWER_KEYS, "compute")
        self.allow(document)
        task_name = self.task_name()
        extract = self.extract()
        output = shape.need(document, "output", "the seed", '"output": the names of the steps to return')
        compute = shape.need(document, "compute", "the seed", '"compute": a list of steps')
        fields = self.fields(extract)
        meta = self.declared(self.shape.get(extract, "meta"), "`extract.meta`", standard_fields.META) if extract else ()
        context = self.declared(shape.get(document, "context"), "`context`", standard_fields.CONTEXT)
        parameters = self.parameters()
        written = self.named_items(compute, "`compute`", limits.STEPS, '{"name": …, "op": …}', "compute")
        shape.types = {
            **{f"extraction.{field.name.text}": field.type for field in fields},
            **{f"meta.{name}": ty for name, ty in standard_fields.META.items()},
            **{f"meta.{field.name.text}": field.type for field in meta},
            **{f"context.{name}": ty for name, ty in standard_fields.CONTEXT.items()},
            **{f"context.{field.name.text}": field.type for field in context},
        }
        objects = {
            name.value: item
            for key, item in written
            if isinstance(item, JsonObject) and isinstance(name := item.get("name") or key, JsonString)
        }
        filters = {name for name, item in objects.items() if _is_filter(item)}
        shape.spelled = spellings(shape.types, filters)
        shape.strings = {name: strings_of(item) for name, item in objects.items()}
        shape.parameters = frozenset(parameter.name.text for parameter in parameters)
        shape.steps = objects.keys() - filters
        steps = self.steps(written)
        return surface.Program(
            task_name=task_name or Named(document.span, "task"),
            version=self.version(),
            description=self.description(),
            keywords=self.keywords(),
            fields=fields,
            meta=meta,
            context=context,
            parameters=parameters,
            review_handling=self.review_handling(),
            passes=self.passes(extract),
            steps=steps,
            nameless=tuple(self.nameless),
            output=self.output(output, "output"),
            allowances=tuple(self.allowances),
            incomplete=frozenset(self.incomplete),
            span=document.span,
        )

    def as_ours(self, member: Member) -> JsonValue | None:
        inner = {"filter_keywords": "keywords", "extraction_fields": "fields"}.get(member.key.value)
        return wrapped(inner, member.value) if inner is not None else super().as_ours(member)

    def keywords(self) -> tuple[Named, ...]:
        value = self.shape.get(self.document, "filter")
        example = 'an object such as {"keywords": ["waiter"]}'
        if isinstance(value, JsonArray):
            example = '{"keywords": […]}'
        section = self.shape.object(value, "`filter`", example) if value is not None else None
        if isinstance(value, JsonArray):
            return self.keyword_list(value, "`keywords`")
        if section is None:
            return ()
        self.shape.keys(section, FILTER_KEYS, "`filter`")
        self.allow(section)
        return self.keyword_list(self.shape.get(section, "keywords"), "`keywords`")

    def extract(self) -> JsonObject | None:
        """The section; also where its fields stand in its place, which is told."""
        value = self.shape.need(self.document, "extract", "the seed", '"extract": {"fields": […]}')
        section = self.shape.object(value, "`extract`", '{"fields": […]}') if value is not None else None
        if isinstance(value, JsonArray):
            return wrapped("fields", value)
        if section is None:
            return None
        fields = [member for member in section.members if _is_field(member)]
        if section.get("fields") is not None or not fields:
            self.shape.keys(section, EXTRACT_KEYS, "`extract`")
            return section
        first = fields[0].key
        help = f'write "fields": [{{"name": "{first.value}", …}}, …]'
        self.problems.add("FS502", first.span, "fields stand in `extract` itself, not in a list `fields`", help)
        self.shape.keys(section, EXTRACT_KEYS, "`extract`", {member.key.value for member in fields})
        if len(fields) > limits.FIELDS:
            self.shape.too_many(section.span, "`extract`", len(fields), limits.FIELDS)
            self.incomplete.add("extraction")
            fields = []
        listed = JsonArray(section.span, tuple([with_name(member) for member in fields]))
        return JsonObject(section.span, (*wrapped("fields", listed).members, *section.members))

    def passes(self, extract: JsonObject | None) -> int:
        value = self.shape.get(extract, "passes") if extract else None
        return (self.shape.whole(value, "`passes`", 1, limits.PASSES) or 1) if value is not None else 1

    def fields(self, extract: JsonObject | None) -> tuple[surface.ExtractionField, ...]:
        if extract is None:
            self.incomplete |= {"extraction", "meta"}
            return ()
        value = self.shape.need(extract, "fields", "`extract`", '"fields": […]')
        fields = self.field_list(value, "`fields`")
        if self.shape.boolean(self.shape.get(extract, "validity"), "`validity`"):
            place = self.shape.get(extract, "validity")
            assert place is not None
            named = Named(place.span, standard_fields.VALIDITY_FIELD)
            self.unique(named, fields, "field")
            values = tuple(surface.EnumValue(Named(place.span, v), d) for v, d in standard_fields.VALIDITY_VALUES)
            type_ = enum_of(tuple(v for v, _ in standard_fields.VALIDITY_VALUES))
            fields[named.text] = surface.ExtractionField(
                named, type_, "Whether the review can be trusted", values, "valid"
            )
        return tuple(fields.values())

    def steps(self, written: Sequence[tuple[JsonString | None, JsonValue]]) -> tuple[surface.Step, ...]:
        steps: list[surface.Step] = []
        for index, (key, item) in enumerate(written):
            section = self.shape.object(item, "a step", 'an object such as {"name": "N", "op": "count"}')
            if section is not None:
                steps += self.step(section, index, key)
        return tuple(steps)

    def step(self, section: JsonObject, index: int, key: JsonString | None) -> list[surface.Step]:
        """The step; none where it has no name, and then it is kept apart. `key` is its name where it stands under one."""
        shape, others = self.shape, [key.value for key in section.names() if key.value not in ALL_STEP_KEYS]
        if section.get("op") is None:  # else the operation tells which keys it knows
            shape.keys(section, ALL_STEP_KEYS, "a step")
        op = shape.text(shape.need(section, "op", "the step", '"op": such as "count"'), "`op`")
        chosen = shape.choice(op, "operation", tuple(OPERATIONS), "FS504") if op else None
        told = others if section.get("op") is None else ()
        if chosen is not None:
            shape.keys(section, step_keys(chosen), f"the operation `{chosen}`", told)
        else:
            shape.keys(section, ALL_STEP_KEYS, "a step", told)
        given = shape.get(section, "name") or key
        name = shape.step_name(given or shape.need(section, "name", "the step", '"name": such as "N_MILD"'))
        self.allow(section)
        operation = lower_operation(chosen, section, shape) if chosen else lower_unknown(section, shape)
        is_filter: bool | None = chosen == "define_filter"
        if op is None or op.value != chosen:  # from what it was taken for nothing follows
            operation, is_filter = surface.Broken((operation,)), None
        place = Span(section.span.source, section.span.start, section.span.start + 1, section.span.pointer)
        if name is None:
            self.incomplete.add("compute")
            self.nameless.append(surface.Step(Named(place, f"compute[{index}]"), place, operation, is_filter))
            return []
        return [surface.Step(name, place, operation, is_filter)]


def spellings(types: Iterable[str], filters: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return for each bare name what a condition may mean by it: fields with their namespaces, a filter with its sign."""
    spelled: dict[str, tuple[str, ...]] = {}
    for full in (*types, *(f"${name}" for name in filters)):
        bare = full.rpartition(".")[2].removeprefix("$")
        spelled[bare] = (*spelled.get(bare, ()), full)
    return spelled


def strings_of(step: JsonObject) -> frozenset[str]:
    """Return the strings that a step may have as its value: those of its rules, its table and what it has besides."""
    rules, table = step.get("rules"), step.get("table")
    found = [step.get("value"), step.get("default")]
    found += [member.value for member in table.members] if isinstance(table, JsonObject) else []
    for rule in rules.items if isinstance(rules, JsonArray) else ():
        found += [rule.get("then"), rule.get("else")] if isinstance(rule, JsonObject) else []
    return frozenset(value.value for value in found if isinstance(value, JsonString))


def _is_filter(step: JsonObject) -> bool:
    op = step.get("op")
    return isinstance(op, JsonString) and meant_choice(op.value, "operation", OPERATIONS) == "define_filter"


def _is_field(member: Member) -> bool:
    """Whether a member of `extract` is a field under its name."""
    if member.key.value in EXTRACT_KEYS or not isinstance(member.value, JsonObject):
        return False
    return any(key.value in ("type", "values") for key in member.value.names())
