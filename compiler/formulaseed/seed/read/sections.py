"""Reads the sections that seed v1 and v2 both have: names, keywords, fields, parameters, settings; defines all keys.

In: JSON values with places. Out: parts of a `surface.Program`; every deviation is a diagnostic. The steps, and the keys under
which the sections are, differ by version.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, TypeVar

from formulaseed import limits
from formulaseed.diagnostics.catalogue import seed as catalogue
from formulaseed.diagnostics.codes import CODES, SUPPRESSIBLE
from formulaseed.diagnostics.model import Problems
from formulaseed.diagnostics.suggestions import did_you_mean, suggest
from formulaseed.ir import nodes
from formulaseed.language.check.wording import help_for_quotes
from formulaseed.language.types import (
    BOOLEAN,
    ERROR,
    INTEGER,
    NUMBER,
    STRING,
    Type,
    Value,
    enum_of,
    fits,
    is_within,
    type_of,
)
from formulaseed.seed import standard_fields, surface
from formulaseed.seed.read.properties import read_properties
from formulaseed.seed.read.shape import Shape
from formulaseed.seed.surface import Named
from formulaseed.source.json_reader import JsonArray, JsonNumber, JsonObject, JsonString, JsonValue
from formulaseed.source.text import Span

V2_KEYS = (
    "$schema", "task_name", "version", "description", "parameters", "context", "filter", "extract", "review_handling",
    "compute", "output", "properties", "allow",
)  # fmt: skip
V1_KEYS = (
    "$schema", "task_name", "version", "description", "parameters", "context", "filter_keywords", "extraction_fields",
    "extraction_prompt", "review_handling", "compute_dag", "output_fields", "properties", "allow",
)  # fmt: skip
V1_STEP_KEYS = ("name", "formula", "description", "allow")
_PAIRS = (
    ("filter_keywords", "filter"), ("extraction_fields", "extract"), ("extraction_prompt", "extract"),
    ("compute_dag", "compute"), ("output_fields", "output"),
)  # fmt: skip
"""The keys that only seed v1 has, each with the key that v2 has instead."""
_FORMS = {
    "filter": '"filter": {"keywords": […]}', "extract": '"extract": {"fields": […]}',
    "filter_keywords": '"filter_keywords": […]', "extraction_fields": '"extraction_fields": […]',
}  # fmt: skip
FILTER_KEYS = ("keywords", "allow")
EXTRACT_KEYS = ("fields", "meta", "passes", "validity", "examples")
EXAMPLE_KEYS = ("text", "fields", "quotes", "reasons")
FIELD_KEYS = (
    "name", "type", "values", "description", "default", "minimum", "maximum", "evidence", "reason", "hint", "sources",
    "allow",
)  # fmt: skip
DECLARED_KEYS = ("name", "type", "values", "nullable", "description", "allow")
CONTEXT_FIELD_KEYS = (*DECLARED_KEYS, "path")
PARAMETER_KEYS = ("type", "default", "minimum", "maximum", "description", "allow")
REVIEW_HANDLING_KEYS = ("max_length", "strategy")

SCALARS: dict[str, Type] = {"integer": INTEGER, "number": NUMBER, "boolean": BOOLEAN, "string": STRING}
FIELD_TYPES = ("enum", *SCALARS)
HINTS = {"stars": "The stars that the review gives."}
STRATEGIES = {
    "truncate_head": "Keep the head of the review.",
    "truncate_tail": "Keep the tail of the review.",
    "truncate_middle": "Keep both ends of the review.",
    "reject": "Fail the review.",
}
Types = Mapping[str, Type]
_PARAMETER = '{"type": "integer", "default": 2025}'
_Item = TypeVar("_Item")


def is_v1(keys: Collection[str]) -> bool:
    """Return whether a document with these keys is a seed v1: it has a key of its own, and no `compute`."""
    return "compute" not in keys and any(v1 in keys for v1, _ in _PAIRS)


def is_task_name(name: str) -> bool:
    """Return whether a module can be named after a task of this name."""
    is_plain = name.isprintable() and name == name.strip() and not set(name) & set("/\\\"'`$%<>|*?:;{}#")
    return is_plain and any(c.isalnum() for c in name) and len(name) <= limits.TASK_NAME_CHARACTERS


def _types(
    space: str, standard: Types, declared: Sequence[nodes.ExtractionField | nodes.InputField | nodes.Parameter]
) -> Types:
    return {f"{space}.{name}": ty for name, ty in (*standard.items(), *((field.name, field.ty) for field in declared))}


class Sections(ABC):
    """Reads the sections of one document."""

    is_v1: ClassVar[bool] = False

    def __init__(self, document: JsonObject, problems: Problems) -> None:
        self.document = document
        self.problems = problems
        self.shape = Shape(problems, guesses=True)
        self.incomplete: set[str] = set()
        self.suppressions: list[surface.Suppression] = []
        self.declared_at: dict[str, Span] = {}
        self.nameless: list[surface.Step] = []

    @abstractmethod
    def extracted(self, task_name: Named) -> surface.Program:
        """Read what reviews are filtered by and what is extracted from them: the beginning of the program."""

    @abstractmethod
    def steps(self, items: Sequence[JsonValue], types: Types) -> tuple[surface.Step, ...]:
        """Lower the steps. `types` are those of the fields and parameters, by namespace and name."""

    def program(self) -> surface.Program | None:
        """Lower the document; None if it has far too many steps to be read."""
        document, shape = self.document, self.shape
        steps_key, output_key = ("compute_dag", "output_fields") if self.is_v1 else ("compute", "output")
        steps = document.get(steps_key)
        if isinstance(steps, JsonArray) and len(steps.items) > limits.STEPS:
            shape.too_many(steps.span, f"`{steps_key}`", len(steps.items), limits.STEPS)
            return None
        self.top_keys()
        begun = self.extracted(self.task_name())
        context = self.inputs(shape.get(document, "context"), "`context`", "context", standard_fields.CONTEXT)
        parameters = self.parameters()
        example = f'"{output_key}": the names of the steps to return'
        output = self.output(shape.need(document, output_key, "the seed", example), output_key)
        compute = shape.need(document, steps_key, "the seed", f'"{steps_key}": a list of steps')
        if not isinstance(compute, JsonArray):
            self.incomplete.add("compute")
        body = '"formula": …' if self.is_v1 else '"op": …'
        items = shape.list(compute, f"`{steps_key}`", limits.STEPS, f'[{{"name": …, {body}}}, …]')
        types = {
            **_types("extraction", {}, begun.fields),
            **_types("meta", standard_fields.META, begun.meta),
            **_types("context", standard_fields.CONTEXT, context),
            **_types("param", {}, parameters),
        }
        return replace(
            begun,
            version=self.version(),
            description=shape.string(shape.get(document, "description"), "`description`"),
            context=context,
            parameters=parameters,
            declared_at=self.declared_at,
            review_handling=self.review_handling(),
            steps=self.steps(items, types),
            steps_key=steps_key,
            nameless=tuple(self.nameless),
            output=output,
            properties=read_properties(shape.get(document, "properties"), shape),
            suppressions=tuple(self.suppressions),
            incomplete=frozenset(self.incomplete),
            span=document.span,
        )

    def top_keys(self) -> None:
        """Report keys that are not known, and for those of the other version which key of this one to write."""
        document, shape = self.document, self.shape
        shape.text(shape.get(document, "$schema"), "`$schema`")
        foreign = {v2: v1 for v1, v2 in reversed(_PAIRS)} if self.is_v1 else dict(_PAIRS)
        marks = dict(_PAIRS) if self.is_v1 else ("compute",)
        marked_by = next((key.value for key in document.names() if key.value in marks), "compute")
        for key in document.names():
            if key.value in foreign:
                ours = foreign[key.value]
                form = _FORMS.get(ours, f"`{ours}`")
                self.problems.report(catalogue.key_of_other_version(key.span, key.value, marked_by, form))
                shape.ignore_missing(document, [ours])
        shape.keys(document, V1_KEYS if self.is_v1 else V2_KEYS, "the seed", foreign)
        self.allow(document)

    def task_name(self) -> Named:
        value = self.shape.need(self.document, "task_name", "the seed", '"task_name": such as "G1a-v2"')
        text = self.shape.text(value, "`task_name`")
        if text is None:
            return Named(self.document.span, "task")
        if is_task_name(text.value):
            return Named(text.span, text.value)
        self.problems.report(catalogue.invalid_task_name(text.span))
        return Named(text.span, "task")

    def allow(self, section: JsonObject) -> None:
        """Read which warnings an object of the seed suppresses for everything in it, each with the reason."""
        example = 'an object such as {"FS602": "kept for the next version"}'
        allowed = self.shape.object(section.get("allow"), "`allow`", example)
        for member in allowed.members if allowed else ():
            code, span = member.key.value, member.key.span
            reason = self.shape.text(member.value, "the reason of a suppression")
            if code not in CODES:
                by_name = next((known.code for known in CODES.values() if known.name == code.strip().lower()), None)
                help = suggest(by_name) if by_name else did_you_mean(code, SUPPRESSIBLE, what="warnings", limit=30)
                self.problems.report(catalogue.unknown_warning(span, code, help))
            elif CODES[code].severity == "error":
                self.problems.report(catalogue.error_suppressed(span, code))
            elif reason is not None and not reason.value.strip():
                self.problems.report(catalogue.suppression_without_reason(reason.span))
            elif reason is not None:
                self.suppressions.append(surface.Suppression(Named(span, code), reason.value, section.span.pointer))

    def version(self) -> str:
        value = self.shape.get(self.document, "version")
        return str(value.value) if isinstance(value, JsonNumber) else self.shape.string(value, "`version`")

    def keyword_list(self, value: JsonValue | None, noun: str) -> tuple[Named, ...]:
        items = self.shape.list(value, noun, limits.KEYWORDS)
        texts = [text for item in items if (text := self.shape.text(item, "a keyword")) is not None]
        for text in texts:
            if not text.value.strip():
                self.problems.report(catalogue.empty_keyword(text.span))
        return tuple(self.unique([text for text in texts if text.value.strip()], "keyword").values())

    # --- fields and parameters

    def declarations(
        self, items: Iterable[tuple[JsonString | None, JsonValue]], namespace: str, keys: Sequence[str], noun: str
    ) -> Iterator[tuple[JsonObject | None, Named, Type, tuple[nodes.EnumValue, ...], str]]:
        """Read what all fields and parameters have; yield each with its name, type, values and description.

        What has no usable name, which is reported, is yielded with an empty one, so that its other keys are read too.
        """
        shape = self.shape
        for key, item in items:
            name_value: JsonValue | None = key
            section = shape.object(item, noun, _PARAMETER if namespace == "param" else "")
            if section is not None:
                shape.keys(section, keys, noun)
                self.allow(section)
                if "name" in keys:
                    name_value = shape.need(section, "name", "the field", '"name": such as "severity"')
            name = shape.name(name_value, noun)
            if name is None:
                self.incomplete.add(namespace)
                name = Named(item.span, "")
            if section is None:
                if name.text:
                    yield None, name, ERROR, (), ""
            else:
                ty, values = self.type_of(section, noun, keys)
                yield section, name, ty, values, shape.string(shape.get(section, "description"), "`description`")

    def listed(self, value: JsonValue | None, noun: str, namespace: str) -> list[tuple[None, JsonValue]]:
        """Return the items of a list of fields, each without a name before it."""
        if value is not None and not (isinstance(value, JsonArray) and len(value.items) <= limits.FIELDS):
            self.incomplete.add(namespace)
        return [(None, item) for item in self.shape.list(value, noun, limits.FIELDS, '[{"name": …, "type": …}, …]')]

    def declare(self, namespace: str, name: Named, item: _Item, known: dict[str, _Item]) -> None:
        """Add a field with a name to those of its namespace, unless there is one of the name, which is reported."""
        if not name.text:
            return
        if name.text in known:
            self.problems.report(catalogue.duplicate(name.span, "field", name.text))
        else:
            known[name.text] = item
            self.declared_at[f"{namespace}.{name.text}"] = name.span

    def fields(self, value: JsonValue | None, noun: str) -> dict[str, nodes.ExtractionField]:
        """Return the extraction fields by name."""
        shape, fields = self.shape, dict[str, nodes.ExtractionField]()
        if value is None:
            self.incomplete.add("extraction")
        items = self.listed(value, noun, "extraction")
        for section, name, ty, values, about in self.declarations(items, "extraction", FIELD_KEYS, "a field"):
            assert section is not None  # it has the name
            shape.sources(section)
            bounds = self.bounded_default(section, ty)
            evidence = self.evidence(shape.get(section, "evidence"))
            reason = shape.boolean(shape.get(section, "reason"), "`reason`")
            hint = shape.choice(shape.text(shape.get(section, "hint"), "`hint`"), "hint", HINTS)
            field = nodes.ExtractionField(name.text, ty, about, values, bounds[0], evidence, *bounds[1:], hint, reason)
            self.declare("extraction", name, field, fields)
        return fields

    def evidence(self, value: JsonValue | None) -> nodes.Evidence:
        if isinstance(value, JsonString) and value.value == "required":
            return "required"
        return self.shape.boolean(value, "`evidence`", 'true, false or "required"')

    def inputs(
        self, value: JsonValue | None, noun: str, namespace: str, standard: Mapping[str, Type]
    ) -> tuple[nodes.InputField, ...]:
        """Return the further fields of `meta` or `context`, beside the standard ones."""
        shape, inputs = self.shape, dict[str, nodes.InputField]()
        keys = CONTEXT_FIELD_KEYS if namespace == "context" else DECLARED_KEYS
        items = self.listed(value, noun, namespace)
        for section, name, ty, values, about in self.declarations(items, namespace, keys, "a declared field"):
            assert section is not None  # it has the name
            nullable = shape.boolean(shape.get(section, "nullable"), "`nullable`")
            path = self.path(shape.get(section, "path")) if "path" in keys else ()
            known = standard.get(name.text)
            is_other_type = known is not None and not ty.is_error and known.base is not ty.base
            if known is not None and (path or is_other_type):
                noun = known.noun if is_other_type else ""
                self.problems.report(catalogue.standard_field(name.span, name.text, noun))
            ty = ERROR if is_other_type else ty  # so that its uses are not reported as well
            ty = ty.or_null() if nullable and not ty.is_error else ty
            self.declare(namespace, name, nodes.InputField(name.text, ty, about, values, path), inputs)
        return tuple(inputs.values())

    def parameters(self) -> tuple[nodes.Parameter, ...]:
        shape, found = self.shape, dict[str, nodes.Parameter]()
        value = shape.get(self.document, "parameters")
        section = shape.object(value, "`parameters`", f'{{"AS_OF_YEAR": {_PARAMETER}}}')
        members = section.members if section is not None else ()
        if section is not None and len(members) > limits.PARAMETERS:
            shape.too_many(section.span, "`parameters`", len(members), limits.PARAMETERS)
        if value is not None and (section is None or len(members) > limits.PARAMETERS):
            self.incomplete.add("param")
            return ()
        items = [(member.key, member.value) for member in members]
        for body, name, ty, _, about in self.declarations(items, "param", PARAMETER_KEYS, "a parameter"):
            bounds: tuple[Value, int | float | None, int | float | None] = (None, None, None)
            if body is not None:
                shape.need(body, "default", "the parameter", '"default": the value if none is given')
                bounds = self.bounded_default(body, ty)
            if name.text:
                found.setdefault(name.text, nodes.Parameter(name.text, ty, *bounds, about))
                self.declared_at.setdefault(f"param.{name.text}", name.span)
        return tuple(found.values())

    def type_of(self, section: JsonObject, noun: str, keys: Sequence[str]) -> tuple[Type, tuple[nodes.EnumValue, ...]]:
        """Return the type and, if it is an enum, its values; an error type if the type or the values are wrong."""
        shape = self.shape
        listed = shape.get(section, "values") if "values" in keys else None
        if self.is_v1 and shape.get(section, "type") is None and listed is not None:
            chosen: str | None = "enum"
        else:
            kind = shape.text(shape.need(section, "type", f"the {noun.split()[-1]}", '"type": "number"'), "`type`")
            chosen = shape.choice(kind, "type", FIELD_TYPES if "values" in keys else SCALARS)
        if chosen == "enum":
            values = self.enum_values(shape.need(section, "values", "the enum field", '"values": {"none": "…"}'))
            return (enum_of(tuple(value.name for value in values)) if values else ERROR), values
        if chosen is not None and listed is not None:
            self.problems.report(catalogue.values_of_no_enum(listed.span, chosen))
        return (SCALARS[chosen] if chosen else ERROR), ()

    def bounded_default(self, section: JsonObject, ty: Type) -> tuple[Value, int | float | None, int | float | None]:
        """Read the default of a field or parameter, its `minimum` and its `maximum`; None for each that is absent."""
        written = self.shape.get(section, "default")
        bounds: list[int | float | None] = []
        for key in ("minimum", "maximum"):
            bound = self.shape.get(section, key)
            if bound is not None and not (ty.is_numeric or ty.is_error):
                self.problems.report(catalogue.bound_of_no_number(bound.span, key))
            literal = self.typed_literal(bound, ty, f"`{key}`") if ty.is_numeric else None
            bounds.append(literal if isinstance(literal, int | float) else None)
        minimum, maximum = bounds
        default = self.typed_literal(written, ty, "`default`")
        if minimum is not None and maximum is not None and minimum > maximum:
            self.problems.report(catalogue.bounds_exchanged(section.span))
        elif written is not None and isinstance(default, int | float) and not is_within(default, minimum, maximum):
            self.problems.report(catalogue.default_outside(written.span, default))
        return default, minimum, maximum

    def enum_values(self, value: JsonValue | None) -> tuple[nodes.EnumValue, ...]:
        """Return the values; none if they are absent or wrong."""
        if value is None:
            return ()
        if isinstance(value, JsonObject):
            pairs = [(item.key, item.value) for item in value.members]
            described = [(key, self.shape.string(about, "a value's description")) for key, about in pairs]
        elif isinstance(value, JsonArray):
            texts = [self.shape.text(item, "an enum's value") for item in value.items]
            described = [(text, "") for text in texts if text is not None]
            if len(described) < len(texts):
                return ()
            self.unique([text for text, _ in described], "value")
        else:
            self.shape.wrong_type(value, "`values`", "an object of descriptions or a list", '{"none": "…"} or ["none"]')
            return ()
        if len(described) > limits.ENUM_VALUES:
            self.shape.too_many(value.span, "`values`", len(described), limits.ENUM_VALUES)
            return ()
        if not described:
            self.problems.report(catalogue.empty_enum(value.span))
        values: dict[str, nodes.EnumValue] = {}
        for key, about in described:
            self.shape.report_spaces(key, "the value")
            if not key.value:
                self.problems.report(catalogue.empty_enum_value(key.span))
            else:
                values.setdefault(key.value, nodes.EnumValue(key.value, about))
        return tuple(values.values())

    def typed_literal(self, value: JsonValue | None, ty: Type, noun: str) -> Value:
        """Return a literal of the type, or None if it is absent or wrong."""
        literal = self.shape.literal(value, noun)
        if literal is None or ty.is_error:
            return None
        content = literal.value
        if ty.values is not None and isinstance(content, str) and content not in ty.values:
            help = did_you_mean(content, ty.values, what="values")
            self.problems.report(catalogue.unknown_value(literal.span, content, help))
            return None
        if content is None or not fits(type_of(content), ty):
            help = help_for_quotes(content, ty)
            self.problems.report(catalogue.wrong_literal(literal.span, noun, ty.noun, help))
            return None
        if ty.base is NUMBER.base and isinstance(content, int | float):
            if abs(content) > limits.INPUT_MAX:
                self.problems.report(catalogue.input_out_of_range(literal.span, noun))
                return None
            return float(content)
        return content

    def path(self, value: JsonValue | None) -> tuple[str, ...]:
        """Read the keys that lead to a field's value in the business object; none if there is no `path`."""
        if value is None:
            return ()
        if not isinstance(value, JsonArray):
            keys_of_it = json.dumps(value.value.split(".")) if isinstance(value, JsonString) else catalogue.PATH
            self.shape.wrong_type(value, "`path`", "a list of keys", keys_of_it)
            return ()
        keys = [key.value for item in value.items if (key := self.shape.text(item, "a key of `path`")) is not None]
        if len(keys) == len(value.items) and not (0 < len(keys) <= limits.PATH_KEYS and all(keys)):
            self.problems.report(catalogue.invalid_path(value.span))
        return tuple(keys)

    def review_handling(self) -> nodes.ReviewHandling | None:
        shape = self.shape
        section = shape.object(shape.get(self.document, "review_handling"), "`review_handling`")
        if section is None:
            return None
        shape.keys(section, REVIEW_HANDLING_KEYS, "`review_handling`")
        length = shape.need(section, "max_length", "`review_handling`", '"max_length": 2000')
        word = shape.need(section, "strategy", "`review_handling`", '"strategy": "truncate_head"')
        chosen = shape.choice(shape.text(word, "`strategy`"), "strategy", STRATEGIES)
        most = shape.whole(length, "`max_length`", 1, limits.REVIEW_CHARACTERS)
        return nodes.ReviewHandling(most, chosen) if most and chosen else None

    def output(self, value: JsonValue | None, key: str) -> tuple[Named, ...]:
        if isinstance(value, JsonArray) and not value.items:
            self.problems.report(catalogue.empty_output(value.span, key))
        items = self.shape.list(value, f"`{key}`", limits.OUTPUTS, '["SCORE"]')
        texts = [text for item in items if (text := self.shape.text(item, f"a name in `{key}`")) is not None]
        return tuple(self.unique(texts, "output").values())

    def unique(self, texts: Sequence[JsonString], noun: str) -> dict[str, Named]:
        """Return each string once; report those that occur again."""
        names: dict[str, Named] = {}
        for text in texts:
            if text.value in names:
                self.problems.report(catalogue.duplicate(text.span, noun, text.value))
            names.setdefault(text.value, Named(text.span, text.value))
        return names
