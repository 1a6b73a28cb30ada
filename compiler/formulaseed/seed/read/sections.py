"""Sections that seed v1 and v2 both have: names, keywords, fields, parameters, settings; and the keys of all sections.

In: JSON values with places. Out: parts of a `surface.Program`; every deviation is a diagnostic. The steps, and the keys under
which the sections are, differ by version.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar

from formulaseed import limits
from formulaseed.diagnostics.catalogue import seed as catalogue
from formulaseed.diagnostics.codes import CODES, SEED_WARNINGS
from formulaseed.diagnostics.model import Problems
from formulaseed.diagnostics.suggestions import did_you_mean, suggest
from formulaseed.language.types import BOOLEAN, ERROR, INTEGER, NUMBER, STRING, Type, Value, enum_of
from formulaseed.seed import surface
from formulaseed.seed.read.shape import Shape
from formulaseed.seed.surface import Named
from formulaseed.source.json_reader import JsonArray, JsonNumber, JsonObject, JsonString, JsonValue

V2_KEYS = (
    "$schema", "task_name", "version", "description", "parameters", "context", "filter", "extract", "review_handling",
    "compute", "output", "allow",
)  # fmt: skip
V1_KEYS = (
    "$schema", "task_name", "version", "description", "parameters", "context", "filter_keywords", "extraction_fields",
    "extraction_prompt", "review_handling", "compute_dag", "output_fields", "allow",
)  # fmt: skip
V1_STEP_KEYS = ("name", "formula", "description", "allow")
V2_OF_V1 = {
    "filter_keywords": '"filter": {"keywords": […]}', "extraction_fields": '"extract": {"fields": […]}',
    "extraction_prompt": "`extract`", "compute_dag": "`compute`", "output_fields": "`output`",
}  # fmt: skip
"""The keys that only seed v1 has, each with how v2 writes it."""
V1_OF_V2 = {
    "filter": '"filter_keywords": […]', "extract": '"extraction_fields": […]', "compute": "`compute_dag`",
    "output": "`output_fields`",
}  # fmt: skip
"""The keys that only seed v2 has, each with how v1 writes it."""
FILTER_KEYS = ("keywords", "allow")
EXTRACT_KEYS = ("fields", "meta", "passes", "validity")
FIELD_KEYS = (
    "name", "type", "values", "description", "default", "minimum", "maximum", "evidence", "hint", "sources", "allow",
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
_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "integer": (int,), "number": (int, float), "boolean": (bool,), "string": (str,)
}  # fmt: skip


def is_v1(keys: Collection[str]) -> bool:
    """Return whether a document with these keys is a seed v1: it has a key of its own, and no `compute`."""
    return "compute" not in keys and any(key in keys for key in V2_OF_V1)


class Sections:
    """Reads the sections of one document."""

    values_make_an_enum: ClassVar[bool] = False
    """Whether a field with `values` may leave its type out."""

    def __init__(self, document: JsonObject, problems: Problems) -> None:
        self.document = document
        self.problems = problems
        self.shape = Shape(problems, guesses=True)
        self.incomplete: set[str] = set()
        self.suppressions: list[surface.Suppression] = []

    def top_keys(
        self, known: Sequence[str], foreign: Mapping[str, str], marked_by: str, ours: Mapping[str, str]
    ) -> None:
        """Report keys that are not known, and for those of the other version which key of this one to write.

        `ours` has for those keys the key of this version that is then not missing.
        """
        self.shape.text(self.shape.get(self.document, "$schema"), "`$schema`")
        for key in self.document.names():
            if key.value in foreign:
                self.problems.report(catalogue.key_of_other_version(key.span, key.value, marked_by, foreign[key.value]))
                self.shape.ignore_missing(self.document, [ours[key.value]])
        self.shape.keys(self.document, known, "the seed", foreign)

    def task_name(self) -> Named:
        value = self.shape.need(self.document, "task_name", "the seed", '"task_name": such as "G1a-v2"')
        text = self.shape.text(value, "`task_name`")
        if text is None:
            return Named(self.document.span, "task")
        name = text.value
        good = (
            0 < len(name) <= limits.TASK_NAME_CHARACTERS
            and name.isprintable()
            and name == name.strip()
            and not set(name) & set("/\\\"'`$%<>|*?:;{}#")
            and any(c.isalnum() for c in name)
        )
        if not good:
            self.problems.report(catalogue.invalid_task_name(text.span))
        return Named(text.span, name if good else "task")

    def allow(self, section: JsonObject) -> None:
        """Read which warnings an object of the seed suppresses for everything in it, each with the reason."""
        value = section.get("allow")
        example = 'an object such as {"FS602": "kept for the next version"}'
        allowed = self.shape.object(value, "`allow`", example) if value is not None else None
        for member in allowed.members if allowed else ():
            code, span = member.key.value, member.key.span
            reason = self.shape.text(member.value, "the reason of a suppression")
            if code not in CODES:
                by_name = next((known.code for known in CODES.values() if known.name == code.strip().lower()), None)
                help = suggest(by_name) if by_name else did_you_mean(code, SEED_WARNINGS, what="warnings", limit=30)
                self.problems.report(catalogue.unknown_warning(span, code, help))
            elif CODES[code].severity == "error":
                self.problems.report(catalogue.error_suppressed(span, code))
            elif reason is not None and not reason.value.strip():
                self.problems.report(catalogue.suppression_without_reason(reason.span))
            elif reason is not None:
                found = surface.Suppression(Named(span, code), reason.value, section.span.pointer)
                self.suppressions.append(found)

    def version(self) -> str:
        value = self.shape.get(self.document, "version")
        return str(value.value) if isinstance(value, JsonNumber) else self.shape.string(value, "`version`")

    def description(self) -> str:
        return self.shape.string(self.shape.get(self.document, "description"), "`description`")

    def keyword_list(self, value: JsonValue | None, what: str) -> tuple[Named, ...]:
        keywords: dict[str, Named] = {}
        for item in self.shape.list(value, what, limits.KEYWORDS):
            text = self.shape.text(item, "a keyword")
            if text is not None and not text.value.strip():
                self.problems.report(catalogue.empty_keyword(text.span))
            elif text is not None:
                named = Named(text.span, text.value)
                self.unique(named, keywords, "keyword")
                keywords.setdefault(text.value, named)
        return tuple(keywords.values())

    def field_list(self, value: JsonValue | None, what: str) -> dict[str, surface.ExtractionField]:
        """Return the extraction fields by name."""
        if not isinstance(value, JsonArray) or len(value.items) > limits.FIELDS:
            self.incomplete.add("extraction")
        fields: dict[str, surface.ExtractionField] = {}
        for item in self.shape.list(value, what, limits.FIELDS, '[{"name": …, "type": …}, …]'):
            field = self.field(item)
            if field is None:
                self.incomplete.add("extraction")
            else:
                self.unique(field.name, fields, "field")
                fields.setdefault(field.name.text, field)
        return fields

    def field(self, item: JsonValue) -> surface.ExtractionField | None:
        shape = self.shape
        section = shape.object(item, "a field")
        if section is None:
            return None
        shape.keys(section, FIELD_KEYS, "a field")
        shape.sources(section)
        self.allow(section)
        name = shape.name(shape.need(section, "name", "the field", '"name": such as "severity"'), "a field")
        type_, values = self.type_of(section)
        description = shape.string(shape.get(section, "description"), "`description`")
        if name is None:
            return None
        if type_.is_error:
            return surface.ExtractionField(name, ERROR, "")
        default, minimum, maximum = self.bounded_default(section, type_, shape.get(section, "default"))
        evidence = shape.boolean(shape.get(section, "evidence"), "`evidence`")
        given = shape.text(shape.get(section, "hint"), "`hint`")
        hint = shape.choice(given, "hint", HINTS) if given else None
        return surface.ExtractionField(name, type_, description, values, default, evidence, minimum, maximum, hint)

    def type_of(self, section: JsonObject) -> tuple[Type, tuple[surface.EnumValue, ...]]:
        """Return the type of a field and, if it is an enum, its values; an error type if the type or the values are wrong."""
        shape = self.shape
        listed = shape.get(section, "values")
        if self.values_make_an_enum and shape.get(section, "type") is None and listed is not None:
            chosen: str | None = "enum"
        else:
            kind = shape.text(shape.need(section, "type", "the field", '"type": "number"'), "`type`")
            chosen = shape.choice(kind, "field type", FIELD_TYPES) if kind else None
        if chosen == "enum":
            values = self.enum_values(shape.need(section, "values", "the enum field", '"values": {"none": "…"}'))
            return (enum_of(tuple(value.name.text for value in values)) if values else ERROR), values
        if chosen is not None and listed is not None:
            self.problems.report(catalogue.values_of_no_enum(listed.span, chosen))
        return (SCALARS[chosen] if chosen else ERROR), ()

    def bounded_default(
        self, section: JsonObject, type_: Type, given: JsonValue | None
    ) -> tuple[Value, int | float | None, int | float | None]:
        """Read the default of a field or parameter, its `minimum` and its `maximum`; None for each that is absent."""
        bounds: list[int | float | None] = []
        for key in ("minimum", "maximum"):
            bound = self.shape.get(section, key)
            if bound is not None and not type_.is_numeric:
                self.problems.report(catalogue.bound_of_no_number(bound.span, key))
                bound = None
            literal = self.typed_literal(bound, type_, f"`{key}`")
            bounds.append(literal if isinstance(literal, int | float) else None)
        minimum, maximum = bounds
        default = self.typed_literal(given, type_, "`default`")
        if minimum is not None and maximum is not None and minimum > maximum:
            self.problems.report(catalogue.bounds_exchanged(section.span))
        elif isinstance(default, int | float) and given is not None and _is_outside(default, minimum, maximum):
            self.problems.report(catalogue.default_outside(given.span, default))
        return default, minimum, maximum

    def enum_values(self, value: JsonValue | None) -> tuple[surface.EnumValue, ...]:
        """Return the values; none if they are absent or wrong."""
        if value is None:
            return ()
        if isinstance(value, JsonObject):
            pairs = [(member.key, self.shape.string(member.value, "a value's description")) for member in value.members]
        elif isinstance(value, JsonArray):
            texts = [self.shape.text(item, "an enum's value") for item in value.items]
            pairs = [(text, "") for text in texts if text is not None]
            if len(pairs) < len(value.items):
                return ()
        else:
            self.shape.wrong_type(value, "`values`", "an object of descriptions or a list", '{"none": "…"} or ["none"]')
            return ()
        if len(pairs) > limits.ENUM_VALUES:
            self.shape.too_many(value.span, "`values`", len(pairs), limits.ENUM_VALUES)
            return ()
        if not pairs:
            self.problems.report(catalogue.empty_enum(value.span))
        found: dict[str, surface.EnumValue] = {}
        for key, description in pairs:
            named = Named(key.span, key.value)
            if not key.value:
                self.problems.report(catalogue.empty_enum_value(key.span))
                continue
            if isinstance(value, JsonArray):  # duplicate keys of an object have been reported
                self.unique(named, found, "value")
            found.setdefault(key.value, surface.EnumValue(named, description))
        return tuple(found.values())

    def typed_literal(self, value: JsonValue | None, type_: Type, what: str) -> Value:
        """Return a literal of the type, or None if it is absent or wrong."""
        literal = self.shape.literal(value, what) if value is not None else None
        if literal is None:
            return None
        found = literal.value
        if type_.values is not None and isinstance(found, str) and found not in type_.values:
            help = did_you_mean(found, type_.values, what="values")
            self.problems.report(catalogue.unknown_value(literal.span, found, help))
            return None
        sort = _PYTHON_TYPES[type_.base.value]
        if not isinstance(found, sort) or (isinstance(found, bool) and bool not in sort):
            self.problems.report(catalogue.wrong_literal(literal.span, what, type_.noun))
            return None
        if type_.base is NUMBER.base and isinstance(found, int | float):
            if abs(found) > limits.INPUT_MAX:
                self.problems.report(catalogue.input_out_of_range(literal.span, what))
                return None
            return float(found)
        return found

    def declared(
        self, value: JsonValue | None, what: str, standard: dict[str, Type]
    ) -> tuple[surface.DeclaredField, ...]:
        """Return the further fields of `meta` or `context`; `what` is the key."""
        namespace = what.strip("`").rsplit(".", 1)[-1]
        if value is not None and not (isinstance(value, JsonArray) and len(value.items) <= limits.FIELDS):
            self.incomplete.add(namespace)
        declared: dict[str, surface.DeclaredField] = {}
        for item in self.shape.list(value, what, limits.FIELDS, '[{"name": …, "type": …}, …]'):
            section = self.shape.object(item, "a declared field")
            found = self.declared_field(section, namespace, standard) if section is not None else None
            if found is None:
                self.incomplete.add(namespace)
                continue
            self.unique(found.name, declared, "field")
            declared.setdefault(found.name.text, found)
        return tuple(declared.values())

    def declared_field(
        self, section: JsonObject, namespace: str, standard: dict[str, Type]
    ) -> surface.DeclaredField | None:
        shape, is_context = self.shape, namespace == "context"
        shape.keys(section, CONTEXT_FIELD_KEYS if is_context else DECLARED_KEYS, "a declared field")
        self.allow(section)
        name = shape.name(shape.need(section, "name", "the field", '"name": such as "severity"'), "a field")
        type_, values = self.type_of(section)
        nullable = shape.boolean(shape.get(section, "nullable"), "`nullable`")
        description = shape.string(shape.get(section, "description"), "`description`")
        path = self.path(shape.get(section, "path")) if is_context else ()
        if name is None:
            return None
        known = standard.get(name.text)
        if known is not None and (path or not (type_.is_error or known.base is type_.base)):
            is_other_type = not type_.is_error and known.base is not type_.base
            self.problems.report(catalogue.standard_field(name.span, name.text, known.noun if is_other_type else ""))
            type_ = ERROR if is_other_type else type_  # so that its uses are not reported as well
        type_ = type_.or_null() if nullable and not type_.is_error else type_
        return surface.DeclaredField(name, type_, description, values, path)

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

    def parameters(self) -> tuple[surface.Parameter, ...]:
        value = self.shape.get(self.document, "parameters")
        example = '{"AS_OF_YEAR": {"type": "integer", "default": 2025}}'
        section = self.shape.object(value, "`parameters`", example) if value is not None else None
        if section is not None and len(section.members) > limits.PARAMETERS:
            self.shape.too_many(section.span, "`parameters`", len(section.members), limits.PARAMETERS)
            section = None
        if value is not None and section is None:
            self.incomplete.add("param")
        found: list[surface.Parameter] = []
        for member in section.members if section is not None else ():
            name = self.shape.name(member.key, "a parameter")
            body = self.shape.object(member.value, "a parameter", '{"type": "integer", "default": 2025}')
            if name is None:
                self.incomplete.add("param")
            else:
                parameter = self.parameter(name, body) if body else None
                found.append(parameter or surface.Parameter(name, ERROR, None, None, None, ""))
        return tuple(found)

    def parameter(self, name: Named, body: JsonObject) -> surface.Parameter | None:
        shape = self.shape
        shape.keys(body, PARAMETER_KEYS, "a parameter")
        self.allow(body)
        kind = shape.text(shape.need(body, "type", "the parameter", '"type": "integer"'), "`type`")
        chosen = shape.choice(kind, "type", tuple(SCALARS)) if kind else None
        default_value = shape.need(body, "default", "the parameter", '"default": the value if none is given')
        if chosen is None:
            return None
        type_ = SCALARS[chosen]
        default, minimum, maximum = self.bounded_default(body, type_, default_value)
        description = shape.string(shape.get(body, "description"), "`description`")
        return surface.Parameter(name, type_, default, minimum, maximum, description)

    def review_handling(self) -> surface.ReviewHandling | None:
        value, shape = self.shape.get(self.document, "review_handling"), self.shape
        section = shape.object(value, "`review_handling`") if value is not None else None
        if section is None:
            return None
        shape.keys(section, REVIEW_HANDLING_KEYS, "`review_handling`")
        length = shape.need(section, "max_length", "`review_handling`", '"max_length": 2000')
        word = shape.need(section, "strategy", "`review_handling`", '"strategy": "truncate_head"')
        strategy = shape.text(word, "`strategy`")
        chosen = shape.choice(strategy, "strategy", STRATEGIES) if strategy else None
        most = shape.whole(length, "`max_length`", 1, limits.REVIEW_CHARACTERS) if length is not None else None
        return surface.ReviewHandling(most, chosen) if most and chosen else None

    def output(self, value: JsonValue | None, key: str) -> tuple[Named, ...]:
        if isinstance(value, JsonArray) and not value.items:
            self.problems.report(catalogue.empty_output(value.span, key))
        names: dict[str, Named] = {}
        for item in self.shape.list(value, f"`{key}`", limits.OUTPUTS, '["SCORE"]'):
            text = self.shape.text(item, f"a name in `{key}`")
            if text is not None:
                named = Named(text.span, text.value)
                self.unique(named, names, "output")
                names.setdefault(text.value, named)
        return tuple(names.values())

    def unique(self, name: Named, taken: Mapping[str, object], what: str) -> None:
        if name.text in taken:
            self.problems.report(catalogue.duplicate(name.span, what, name.text))


def _is_outside(value: float, minimum: float | None, maximum: float | None) -> bool:
    return (minimum is not None and value < minimum) or (maximum is not None and value > maximum)
