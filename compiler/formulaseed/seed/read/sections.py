"""Reads the sections that seed v1 and v2 both have: names, keywords, fields, parameters, settings; defines all keys.

In: JSON values with places. Out: parts of a `surface.Program`; every deviation is a diagnostic. The steps, and the keys under
which the sections are, differ by version.
"""

from __future__ import annotations

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
from formulaseed.language.types import BOOLEAN, ERROR, INTEGER, NUMBER, STRING, Type, Value, enum_type
from formulaseed.seed import standard_fields, surface
from formulaseed.seed.read.properties import read_properties
from formulaseed.seed.read.shape import Shape
from formulaseed.seed.read.values import read_bounded_default, read_enum_values, read_path, read_unique
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
    """Return True if a document with these keys is a seed v1: it has a key that only v1 has, and no `compute`."""
    return "compute" not in keys and any(v1 in keys for v1, _ in _PAIRS)


def is_task_name(name: str) -> bool:
    """Return True if a module can be named after a task of this name."""
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
    def begin_program(self, task_name: Named) -> surface.Program:
        """Read the filter of reviews and the fields to extract; return the program with these only."""

    @abstractmethod
    def read_steps(self, items: Sequence[JsonValue], types: Types) -> tuple[surface.Step, ...]:
        """Lower the steps. `types` are those of the fields and parameters, by namespace and name."""

    def lower(self) -> surface.Program | None:
        """Lower the document; None if it has far too many steps to be read."""
        document = self.document
        shape = self.shape
        steps_key, output_key = ("compute_dag", "output_fields") if self.is_v1 else ("compute", "output")
        steps = document.get(steps_key)
        if isinstance(steps, JsonArray) and len(steps.items) > limits.STEPS:
            shape.too_many(steps.span, f"`{steps_key}`", len(steps.items), limits.STEPS)
            return None
        self.check_keys()
        begun = self.begin_program(self.read_task_name())
        context = self.read_inputs(shape.get(document, "context"), "`context`", "context", standard_fields.CONTEXT)
        parameters = self.read_parameters()
        example = f'"{output_key}": the names of the steps to return'
        output = self.read_output(shape.need(document, output_key, "the seed", example), output_key)
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
            version=self.read_version(),
            description=shape.string(shape.get(document, "description"), "`description`"),
            context=context,
            parameters=parameters,
            declared_at=self.declared_at,
            review_handling=self.read_review_handling(),
            steps=self.read_steps(items, types),
            steps_key=steps_key,
            nameless=tuple(self.nameless),
            output=output,
            properties=read_properties(shape.get(document, "properties"), shape),
            suppressions=tuple(self.suppressions),
            incomplete=frozenset(self.incomplete),
            span=document.span,
        )

    def check_keys(self) -> None:
        """Report unknown keys. For a key of the other version the help names the key of this one."""
        document = self.document
        shape = self.shape
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
        self.read_suppressions(document)

    def read_task_name(self) -> Named:
        """Read the name of the task; `task` for a wrong one, which is reported."""
        value = self.shape.need(self.document, "task_name", "the seed", '"task_name": such as "G1a-v2"')
        text = self.shape.text(value, "`task_name`")
        if text is None:
            return Named(self.document.span, "task")
        if is_task_name(text.value):
            return Named(text.span, text.value)
        self.problems.report(catalogue.invalid_task_name(text.span))
        return Named(text.span, "task")

    def read_suppressions(self, section: JsonObject) -> None:
        """Read the warnings that an object of the seed suppresses for everything in it, each with the reason."""
        example = 'an object such as {"FS602": "kept for the next version"}'
        allowed = self.shape.object(section.get("allow"), "`allow`", example)
        for member in allowed.members if allowed else ():
            code = member.key.value
            span = member.key.span
            reason = self.shape.text(member.value, "the reason of a suppression")
            if code not in CODES:
                by_name = next((known.code for known in CODES.values() if known.name == code.strip().lower()), None)
                help = suggest(by_name) if by_name else did_you_mean(code, SUPPRESSIBLE, noun="warnings", limit=30)
                self.problems.report(catalogue.unknown_warning(span, code, help))
            elif CODES[code].severity == "error":
                self.problems.report(catalogue.error_suppressed(span, code))
            elif reason is not None and not reason.value.strip():
                self.problems.report(catalogue.suppression_without_reason(reason.span))
            elif reason is not None:
                self.suppressions.append(surface.Suppression(Named(span, code), reason.value, section.span.pointer))

    def read_version(self) -> str:
        """Read the version as a string; empty if the seed has none."""
        value = self.shape.get(self.document, "version")
        return str(value.value) if isinstance(value, JsonNumber) else self.shape.string(value, "`version`")

    def read_keywords(self, value: JsonValue | None, noun: str) -> tuple[Named, ...]:
        """Read keywords, each once. Reports empty and repeated ones."""
        items = self.shape.list(value, noun, limits.KEYWORDS)
        texts = [text for item in items if (text := self.shape.text(item, "a keyword")) is not None]
        for text in texts:
            if not text.value.strip():
                self.problems.report(catalogue.empty_keyword(text.span))
        return read_unique([text for text in texts if text.value.strip()], "keyword", self.problems)

    # --- fields and parameters

    def read_declarations(
        self, items: Iterable[tuple[JsonString | None, JsonValue]], namespace: str, keys: Sequence[str], noun: str
    ) -> Iterator[tuple[JsonObject | None, Named, Type, tuple[nodes.EnumValue, ...], str]]:
        """Yield each field or parameter with its name, type, values and description, the keys that all of them have.

        One without a usable name, which is reported, gets an empty one, so that its other keys are read too.
        """
        shape = self.shape
        for key, item in items:
            name_value: JsonValue | None = key
            section = shape.object(item, noun, _PARAMETER if namespace == "param" else "")
            if section is not None:
                shape.keys(section, keys, noun)
                self.read_suppressions(section)
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
                ty, values = self.read_type(section, noun, keys)
                yield section, name, ty, values, shape.string(shape.get(section, "description"), "`description`")

    def field_items(self, value: JsonValue | None, noun: str, namespace: str) -> list[tuple[None, JsonValue]]:
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

    def read_fields(self, value: JsonValue | None, noun: str) -> dict[str, nodes.ExtractionField]:
        """Return the extraction fields by name."""
        shape = self.shape
        fields: dict[str, nodes.ExtractionField] = {}
        if value is None:
            self.incomplete.add("extraction")
        items = self.field_items(value, noun, "extraction")
        for section, name, ty, values, about in self.read_declarations(items, "extraction", FIELD_KEYS, "a field"):
            assert section is not None  # it has the name
            shape.sources(section)
            default, low, high = read_bounded_default(section, ty, shape)
            evidence = self.read_evidence(shape.get(section, "evidence"))
            reason = shape.boolean(shape.get(section, "reason"), "`reason`")
            hint = shape.choice(shape.text(shape.get(section, "hint"), "`hint`"), "hint", HINTS)
            field = nodes.ExtractionField(name.text, ty, about, values, default, evidence, low, high, hint, reason)
            self.declare("extraction", name, field, fields)
        return fields

    def read_evidence(self, value: JsonValue | None) -> nodes.EvidenceRule:
        """Read whether a field needs a quote: `required`, true or false."""
        if isinstance(value, JsonString) and value.value == "required":
            return "required"
        return self.shape.boolean(value, "`evidence`", 'true, false or "required"')

    def read_inputs(
        self, value: JsonValue | None, noun: str, namespace: str, standard: Mapping[str, Type]
    ) -> tuple[nodes.InputField, ...]:
        """Read and declare the fields that `meta` or `context` lists, and return them; problems are reported.

        A standard field may be listed again, and is returned then, too; one with a path or another type is reported.
        """
        shape = self.shape
        inputs: dict[str, nodes.InputField] = {}
        keys = CONTEXT_FIELD_KEYS if namespace == "context" else DECLARED_KEYS
        items = self.field_items(value, noun, namespace)
        for section, name, ty, values, about in self.read_declarations(items, namespace, keys, "a declared field"):
            assert section is not None  # it has the name
            nullable = shape.boolean(shape.get(section, "nullable"), "`nullable`")
            path = read_path(shape.get(section, "path"), shape) if "path" in keys else ()
            known = standard.get(name.text)
            is_other_type = known is not None and not ty.is_error and known.base is not ty.base
            if known is not None and (path or is_other_type):
                required = known.noun if is_other_type else ""
                self.problems.report(catalogue.standard_field(name.span, name.text, required))
            ty = ERROR if is_other_type else ty  # so that its uses are not reported as well
            ty = ty.or_null() if nullable and not ty.is_error else ty
            self.declare(namespace, name, nodes.InputField(name.text, ty, about, values, path), inputs)
        return tuple(inputs.values())

    def read_parameters(self) -> tuple[nodes.Parameter, ...]:
        """Read the parameters."""
        shape = self.shape
        parameters: dict[str, nodes.Parameter] = {}
        value = shape.get(self.document, "parameters")
        section = shape.object(value, "`parameters`", f'{{"AS_OF_YEAR": {_PARAMETER}}}')
        members = section.members if section is not None else ()
        if section is not None and len(members) > limits.PARAMETERS:
            shape.too_many(section.span, "`parameters`", len(members), limits.PARAMETERS)
        if value is not None and (section is None or len(members) > limits.PARAMETERS):
            self.incomplete.add("param")
            return ()
        items = [(member.key, member.value) for member in members]
        for body, name, ty, _, about in self.read_declarations(items, "param", PARAMETER_KEYS, "a parameter"):
            bounds: tuple[Value, int | float | None, int | float | None] = (None, None, None)
            if body is not None:
                shape.need(body, "default", "the parameter", '"default": the value if none is given')
                bounds = read_bounded_default(body, ty, shape)
            if name.text:
                parameters.setdefault(name.text, nodes.Parameter(name.text, ty, *bounds, about))
                self.declared_at.setdefault(f"param.{name.text}", name.span)
        return tuple(parameters.values())

    def read_type(
        self, section: JsonObject, noun: str, keys: Sequence[str]
    ) -> tuple[Type, tuple[nodes.EnumValue, ...]]:
        """Return the type and, if it is an enum, its values; an error type if the type or the values are wrong."""
        shape = self.shape
        written = shape.get(section, "values") if "values" in keys else None
        if self.is_v1 and shape.get(section, "type") is None and written is not None:
            chosen: str | None = "enum"
        else:
            kind = shape.text(shape.need(section, "type", f"the {noun.split()[-1]}", '"type": "number"'), "`type`")
            chosen = shape.choice(kind, "type", FIELD_TYPES if "values" in keys else SCALARS)
        if chosen == "enum":
            values = read_enum_values(shape.need(section, "values", "the enum field", '"values": {"none": "…"}'), shape)
            return (enum_type(tuple(value.name for value in values)) if values else ERROR), values
        if chosen is not None and written is not None:
            self.problems.report(catalogue.values_of_no_enum(written.span, chosen))
        return (SCALARS[chosen] if chosen else ERROR), ()

    def read_review_handling(self) -> nodes.ReviewHandling | None:
        """Read the handling of long reviews; None if there is none, or it is wrong."""
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

    def read_output(self, value: JsonValue | None, key: str) -> tuple[Named, ...]:
        """Read the names of the steps to return, each once."""
        if isinstance(value, JsonArray) and not value.items:
            self.problems.report(catalogue.empty_output(value.span, key))
        items = self.shape.list(value, f"`{key}`", limits.OUTPUTS, '["SCORE"]')
        texts = [text for item in items if (text := self.shape.text(item, f"a name in `{key}`")) is not None]
        return read_unique(texts, "output", self.problems)
