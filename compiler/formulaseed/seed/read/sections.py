"""Reads the sections that seed v1 and v2 both have: names, keywords, fields, parameters, settings; defines all keys.

In: JSON values. Out: parts of a `surface.Program`; deviations are reported. Subclasses read what differs by version.
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
from formulaseed.seed.read.steps import LabelReader
from formulaseed.seed.read.values import read_bounded_default, read_enum_values, read_evidence, read_path, read_unique
from formulaseed.seed.surface import Named
from formulaseed.source.json_reader import JsonArray, JsonNumber, JsonObject, JsonString, JsonValue
from formulaseed.source.text import Span

V2_KEYS = (
    "$schema", "task_name", "version", "description", "parameters", "context", "filter", "extract", "review_handling",
    "compute", "output", "properties", "sources", "allow",
)  # fmt: skip
V1_KEYS = (
    "$schema", "task_name", "version", "description", "parameters", "context", "filter_keywords", "extraction_fields",
    "extraction_prompt", "passes", "review_handling", "compute_dag", "output_fields", "properties", "allow",
)  # fmt: skip
V1_STEP_KEYS = ("name", "formula", "description", "allow")
VERSION_KEY_PAIRS = (
    ("filter_keywords", "filter"), ("extraction_fields", "extract"), ("extraction_prompt", "extract"),
    ("compute_dag", "compute"), ("output_fields", "output"),
)  # fmt: skip
"""The keys that only seed v1 has, each with the key of v2 that replaces it."""
_KEY_EXAMPLES = {
    "filter": '"filter": {"keywords": […]}', "extract": '"extract": {"fields": […]}',
    "filter_keywords": '"filter_keywords": […]', "extraction_fields": '"extraction_fields": […]',
}  # fmt: skip
FILTER_KEYS = ("keywords", "sources", "allow")
EXTRACT_KEYS = ("fields", "meta", "passes", "validity", "examples")
EXAMPLE_KEYS = ("text", "fields", "quotes", "reasons")
FIELD_KEYS = (
    "name", "label", "unit", "type", "values", "description", "default", "minimum", "maximum", "evidence", "reason",
    "hint", "sources", "allow",
)  # fmt: skip
DECLARED_KEYS = ("name", "label", "unit", "type", "values", "nullable", "description", "sources", "allow")
CONTEXT_FIELD_KEYS = (*DECLARED_KEYS, "path")
PARAMETER_KEYS = ("label", "unit", "type", "default", "minimum", "maximum", "description", "sources", "allow")
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
_PARAMETER_EXAMPLE = '{"type": "integer", "default": 2025}'
_Declaration = TypeVar("_Declaration")


def is_v1(keys: Collection[str]) -> bool:
    """Return True if a document with these keys is a seed v1: it has a key of v1 only, and no `compute`."""
    return "compute" not in keys and any(v1 in keys for v1, _ in VERSION_KEY_PAIRS)


def is_task_name(name: str) -> bool:
    """Return True if a task can have this name: printable, with a letter or digit, and usable in a file name."""
    is_plain = name.isprintable() and name == name.strip() and not set(name) & set("/\\\"'`$%<>|*?:;{}#")
    return is_plain and any(c.isalnum() for c in name) and len(name) <= limits.TASK_NAME_CHARACTERS


def _map_types(
    space: str, standard: Types, declared: Sequence[nodes.ExtractionField | nodes.InputField | nodes.Parameter]
) -> Types:
    """Map the full names of a namespace's standard and declared fields, such as `meta.stars`, to their types."""
    return {f"{space}.{name}": ty for name, ty in (*standard.items(), *((field.name, field.ty) for field in declared))}


class Sections(ABC):
    """A reader of the sections of one document, which reports problems as it reads.

    `incomplete`, `suppressions`, `declared_at` and `nameless` are filled while sections are read, for the program.
    """

    is_v1: ClassVar[bool] = False
    steps_key: ClassVar[str] = "compute"
    output_key: ClassVar[str] = "output"

    def __init__(self, document: JsonObject, problems: Problems) -> None:
        self.document = document
        self.problems = problems
        self.shape = Shape(problems, guesses=True)
        self.labels = LabelReader(self.shape)
        self.incomplete: set[str] = set()
        self.suppressions: list[surface.Suppression] = []
        self.declared_at: dict[str, Span] = {}
        self.nameless: list[surface.Step] = []

    @abstractmethod
    def begin_program(self, task_name: Named) -> surface.Program:
        """Read the filter of reviews and the fields to extract; return a program with only these and the name."""

    @abstractmethod
    def read_steps(self, items: Sequence[JsonValue], types: Types) -> tuple[surface.Step, ...]:
        """Lower the steps that have a name; add the others to `nameless`. `types` maps full names to types."""

    def lower(self) -> surface.Program | None:
        """Lower the document. Returns None, with the problem reported, if it has more steps than a seed may have."""
        document = self.document
        shape = self.shape
        steps_key = self.steps_key
        output_key = self.output_key
        steps = document.get(steps_key)
        if isinstance(steps, JsonArray) and len(steps.items) > limits.STEPS:
            shape.report_too_many(steps.span, f"`{steps_key}`", len(steps.items), limits.STEPS)
            return None
        self.check_keys()
        program = self.begin_program(self.read_task_name())
        context = self.read_inputs(shape.get(document, "context"), "`context`", "context", standard_fields.CONTEXT)
        parameters = self.read_parameters()
        example = f'"{output_key}": the names of the steps to return'
        output = self.read_output(shape.require(document, output_key, "the seed", example), output_key)
        compute = shape.require(document, steps_key, "the seed", f'"{steps_key}": a list of steps')
        if not isinstance(compute, JsonArray):
            self.incomplete.add("compute")
        body = '"formula": …' if self.is_v1 else '"op": …'
        items = shape.read_list(compute, f"`{steps_key}`", limits.STEPS, f'[{{"name": …, {body}}}, …]')
        types = {
            **_map_types("extraction", {}, program.fields),
            **_map_types("meta", standard_fields.META, program.meta),
            **_map_types("context", standard_fields.CONTEXT, context),
            **_map_types("param", {}, parameters),
        }
        lowered = self.read_steps(items, types)
        return replace(
            program,
            version=self.read_version(),
            description=shape.read_string(shape.get(document, "description"), "`description`"),
            context=context,
            parameters=parameters,
            declared_at=self.declared_at,
            review_handling=self.read_review_handling(),
            steps=lowered,
            steps_key=steps_key,
            nameless=tuple(self.nameless),
            output=output,
            properties=read_properties(shape.get(document, "properties"), lowered, types, shape),
            suppressions=tuple(self.suppressions),
            incomplete=frozenset(self.incomplete),
            span=document.span,
        )

    def check_keys(self) -> None:
        """Report keys that are unknown or of the other version; read `$schema` and the document's suppressions."""
        document = self.document
        shape = self.shape
        shape.read_text(shape.get(document, "$schema"), "`$schema`")
        foreign = dict(VERSION_KEY_PAIRS)
        deciding_keys: Collection[str] = ("compute",)
        if self.is_v1:
            deciding_keys = foreign
            foreign = {v2: v1 for v1, v2 in reversed(VERSION_KEY_PAIRS)}
        decided_by = next((key.value for key in document.names() if key.value in deciding_keys), "compute")
        for key in document.names():
            if key.value in foreign:
                own_key = foreign[key.value]
                form = _KEY_EXAMPLES.get(own_key, f"`{own_key}`")
                self.problems.report(catalogue.key_of_other_version(key.span, key.value, decided_by, form))
                shape.ignore_missing(document, [own_key])
        shape.report_unknown_keys(document, V1_KEYS if self.is_v1 else V2_KEYS, "the seed", foreign)
        self.read_suppressions(document)
        shape.read_sources(document)

    def read_task_name(self) -> Named:
        """Return the name of the task; `task`, with the problem reported, if it is missing or cannot be a name."""
        text = self.shape.require_text(self.document, "task_name", "the seed", '"task_name": such as "G1a-v2"')
        if text is None:
            return Named(self.document.span, "task")
        if is_task_name(text.value):
            return Named(text.span, text.value)
        self.problems.report(catalogue.invalid_task_name(text.span))
        return Named(text.span, "task")

    def read_suppressions(self, section: JsonObject) -> None:
        """Read the key `allow` of `section` into `self.suppressions`. Reports wrong codes and missing reasons."""
        example = 'an object such as {"FS602": "kept for the next version"}'
        allowed = self.shape.read_object(section.get("allow"), "`allow`", example)
        for member in allowed.members if allowed else ():
            code = member.key.value
            span = member.key.span
            reason = self.shape.read_text(member.value, "the reason of a suppression")
            if code not in CODES:
                by_name = next((known.code for known in CODES.values() if known.name == code.strip().lower()), None)
                help = did_you_mean(code, SUPPRESSIBLE, noun="warnings", limit=30)
                if by_name:
                    help = suggest(by_name)
                self.problems.report(catalogue.unknown_warning(span, code, help))
            elif CODES[code].severity == "error":
                self.problems.report(catalogue.error_suppressed(span, code))
            elif reason is not None and not reason.value.strip():
                self.problems.report(catalogue.suppression_without_reason(reason.span))
            elif reason is not None:
                self.suppressions.append(surface.Suppression(Named(span, code), reason.value, section.span.pointer))

    def read_version(self) -> str:
        """Return the version, a string or number, as a string; empty if it is absent or wrong, which is reported."""
        value = self.shape.get(self.document, "version")
        if isinstance(value, JsonNumber):
            return str(value.value)
        return self.shape.read_string(value, "`version`")

    def read_keywords(self, value: JsonValue | None, noun: str) -> tuple[Named, ...]:
        """Return the keywords, each once. Blank and repeated ones are reported and left out; too many give none."""
        items = self.shape.read_list(value, noun, limits.KEYWORDS)
        texts = [text for item in items if (text := self.shape.read_text(item, "a keyword")) is not None]
        for text in texts:
            if not text.value.strip():
                self.problems.report(catalogue.empty_keyword(text.span))
        return read_unique([text for text in texts if text.value.strip()], "keyword", self.problems)

    # --- fields and parameters

    def read_declarations(
        self, items: Iterable[tuple[JsonString | None, JsonValue]], namespace: str, keys: Sequence[str], noun: str
    ) -> Iterator[tuple[JsonObject | None, Named, Type, tuple[nodes.EnumValue, ...], str]]:
        """Yield each field or parameter as its object, name, type, enum values and description. Reports problems.

        `items` pairs each declaration with the key that names it, or with None if `keys`, the known keys, contain
        `name`. One without a usable name has an empty name, and marks `namespace` as incomplete. One that is no object
        has None and the error type; if it has no name either, it is skipped.
        """
        shape = self.shape
        example = _PARAMETER_EXAMPLE if namespace == "param" else ""
        for key, item in items:
            name_value: JsonValue | None = key
            section = shape.read_object(item, noun, example)
            if section is not None:
                shape.report_unknown_keys(section, keys, noun)
                self.read_suppressions(section)
                shape.read_sources(section)
                if "name" in keys:
                    name_value = shape.require(section, "name", "the field", '"name": such as "severity"')
            name = shape.read_name(name_value, noun)
            if name is None:
                self.incomplete.add(namespace)
                name = Named(item.span, "")
            if section is None:
                if name.text:
                    yield None, name, ERROR, (), ""
            else:
                ty, values = self.read_type(section, noun, keys)
                yield section, name, ty, values, shape.read_string(shape.get(section, "description"), "`description`")

    def list_field_items(self, value: JsonValue | None, noun: str, namespace: str) -> list[tuple[None, JsonValue]]:
        """Return (None, item) for each field of a list. Reports a wrong list, and marks `namespace` incomplete."""
        if value is not None and not (isinstance(value, JsonArray) and len(value.items) <= limits.FIELDS):
            self.incomplete.add(namespace)
        return [
            (None, item) for item in self.shape.read_list(value, noun, limits.FIELDS, '[{"name": …, "type": …}, …]')
        ]

    def add_declaration(self, namespace: str, name: Named, item: _Declaration, known: dict[str, _Declaration]) -> None:
        """Add a field to the `known` fields of its namespace and to `declared_at`. Reports a duplicate instead.

        Does nothing for an empty name.
        """
        if not name.text:
            return
        if name.text in known:
            self.problems.report(catalogue.duplicate(name.span, "field", name.text))
        else:
            known[name.text] = item
            self.declared_at[f"{namespace}.{name.text}"] = name.span

    def read_fields(self, value: JsonValue | None, noun: str) -> dict[str, nodes.ExtractionField]:
        """Return the extraction fields by name. Reports problems; without a list, `extraction` is incomplete."""
        shape = self.shape
        fields: dict[str, nodes.ExtractionField] = {}
        if value is None:
            self.incomplete.add("extraction")
        items = self.list_field_items(value, noun, "extraction")
        for section, name, ty, values, about in self.read_declarations(items, "extraction", FIELD_KEYS, "a field"):
            assert section is not None  # without an object a field has no name, and is not yielded
            default, low, high = read_bounded_default(section, ty, shape)
            evidence = read_evidence(shape.get(section, "evidence"), shape)
            reason = shape.read_boolean(shape.get(section, "reason"), "`reason`")
            hint = shape.read_choice(shape.read_text(shape.get(section, "hint"), "`hint`"), "hint", HINTS)
            settings = (evidence, low, high, hint, reason, *self.labels.read(section, "field"))
            field = nodes.ExtractionField(name.text, ty, about, values, default, *settings)
            self.add_declaration("extraction", name, field, fields)
        return fields

    def read_inputs(
        self, value: JsonValue | None, noun: str, namespace: str, standard: Mapping[str, Type]
    ) -> tuple[nodes.InputField, ...]:
        """Return the declared fields of `meta` or `context`. Reports one that contradicts a field of `standard`."""
        shape = self.shape
        inputs: dict[str, nodes.InputField] = {}
        keys = CONTEXT_FIELD_KEYS if namespace == "context" else DECLARED_KEYS
        items = self.list_field_items(value, noun, namespace)
        for section, name, ty, values, about in self.read_declarations(items, namespace, keys, "a declared field"):
            assert section is not None  # without an object a field has no name, and is not yielded
            nullable = shape.read_boolean(shape.get(section, "nullable"), "`nullable`")
            path = read_path(shape.get(section, "path"), shape) if "path" in keys else ()
            known = standard.get(name.text)
            is_other_type = known is not None and not ty.is_error and known.base is not ty.base
            if known is not None and (path or is_other_type):
                required = known.noun if is_other_type else ""
                self.problems.report(catalogue.standard_field(name.span, name.text, required))
            if is_other_type:
                ty = ERROR  # uses of the field are not reported as well
            elif nullable and not ty.is_error:
                ty = ty.or_null()
            words = self.labels.read(section, "field")
            self.add_declaration(namespace, name, nodes.InputField(name.text, ty, about, values, path, *words), inputs)
        return tuple(inputs.values())

    def read_parameters(self) -> tuple[nodes.Parameter, ...]:
        """Return the parameters, each once. Reports every problem; a wrong object marks `param` as incomplete."""
        shape = self.shape
        parameters: dict[str, nodes.Parameter] = {}
        value = shape.get(self.document, "parameters")
        section = shape.read_object(value, "`parameters`", f'{{"AS_OF_YEAR": {_PARAMETER_EXAMPLE}}}')
        members = section.members if section is not None else ()
        if section is not None and len(members) > limits.PARAMETERS:
            shape.report_too_many(section.span, "`parameters`", len(members), limits.PARAMETERS)
        if value is not None and (section is None or len(members) > limits.PARAMETERS):
            self.incomplete.add("param")
            return ()
        items = [(member.key, member.value) for member in members]
        for body, name, ty, _, about in self.read_declarations(items, "param", PARAMETER_KEYS, "a parameter"):
            bounds: tuple[Value, int | float | None, int | float | None] = (None, None, None)
            words: tuple[str | None, str | None] = (None, None)
            if body is not None:
                shape.require(body, "default", "the parameter", '"default": the value if none is given')
                bounds = read_bounded_default(body, ty, shape)
                words = self.labels.read(body, "parameter")
            if name.text:
                parameters.setdefault(name.text, nodes.Parameter(name.text, ty, *bounds, about, *words))
                self.declared_at.setdefault(f"param.{name.text}", name.span)
        return tuple(parameters.values())

    def read_type(
        self, section: JsonObject, noun: str, keys: Sequence[str]
    ) -> tuple[Type, tuple[nodes.EnumValue, ...]]:
        """Return the type of a field or parameter, and an enum's values; the error type, reported, if one is wrong.

        In seed v1 a field with `values` and without `type` is an enum.
        """
        shape = self.shape
        values_node = shape.get(section, "values") if "values" in keys else None
        if self.is_v1 and shape.get(section, "type") is None and values_node is not None:
            type_name: str | None = "enum"
        else:
            text = shape.require_text(section, "type", f"the {noun.split()[-1]}", '"type": "number"')
            type_name = shape.read_choice(text, "type", FIELD_TYPES if "values" in keys else SCALARS)
        if type_name == "enum":
            values = read_enum_values(
                shape.require(section, "values", "the enum field", '"values": {"none": "…"}'), shape
            )
            return (enum_type(tuple(value.name for value in values)) if values else ERROR), values
        if type_name is None:
            return ERROR, ()
        if values_node is not None:
            self.problems.report(catalogue.values_of_no_enum(values_node.span, type_name))
        return SCALARS[type_name], ()

    def read_review_handling(self) -> nodes.ReviewHandling | None:
        """Return the handling of long reviews; None if there is none or, with the problem reported, it is wrong."""
        shape = self.shape
        section = shape.read_object(shape.get(self.document, "review_handling"), "`review_handling`")
        if section is None:
            return None
        shape.report_unknown_keys(section, REVIEW_HANDLING_KEYS, "`review_handling`")
        length = shape.require(section, "max_length", "`review_handling`", '"max_length": 2000')
        word = shape.require_text(section, "strategy", "`review_handling`", '"strategy": "truncate_head"')
        strategy = shape.read_choice(word, "strategy", STRATEGIES)
        max_length = shape.read_integer(length, "`max_length`", 1, limits.REVIEW_CHARACTERS)
        return nodes.ReviewHandling(max_length, strategy) if max_length and strategy else None

    def read_output(self, value: JsonValue | None, key: str) -> tuple[Named, ...]:
        """Return the names of the steps to return, each once. Reports an empty list, wrong and repeated names."""
        if isinstance(value, JsonArray) and not value.items:
            self.problems.report(catalogue.empty_output(value.span, key))
        items = self.shape.read_list(value, f"`{key}`", limits.OUTPUTS, '["SCORE"]')
        texts = [text for item in items if (text := self.shape.read_text(item, f"a name in `{key}`")) is not None]
        return read_unique(texts, "output", self.problems)
