"""Sections that every shape of seed has: names, keywords, fields, parameters, settings.

In: JSON values with places. Out: parts of a `surface.Program`; every deviation is a diagnostic. How the steps are
written, and under which keys the sections stand, is for each front end to say.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import ClassVar

from formulaseed import limits
from formulaseed.diagnostics.codes import CODES, SEED_WARNINGS
from formulaseed.diagnostics.model import Problems
from formulaseed.diagnostics.suggestions import did_you_mean, suggest
from formulaseed.language.types import ERROR, NUMBER, Type, Value, enum_of
from formulaseed.seed import surface
from formulaseed.seed.read.keys import (
    CONTEXT_FIELD_KEYS,
    DECLARED_KEYS,
    FIELD_KEYS,
    FIELD_TYPES,
    PARAMETER_KEYS,
    REVIEW_HANDLING_KEYS,
    SCALARS,
    STRATEGIES,
    WRITTEN,
)
from formulaseed.seed.read.reshaped import shown_words, under_their_names, words_of
from formulaseed.seed.read.shape import Shape, short_text
from formulaseed.seed.surface import Named
from formulaseed.source.json_reader import JsonArray, JsonNumber, JsonObject, JsonString, JsonValue, Member


class Sections:
    """Reads the sections of one document."""

    values_make_an_enum: ClassVar[bool] = False
    """Whether a field with `values` may leave its type out."""

    def __init__(self, document: JsonObject, problems: Problems) -> None:
        self.document = document
        self.problems = problems
        self.shape = Shape(problems, guesses=True)
        self.incomplete: set[str] = set()
        self.allowances: list[surface.Allowance] = []

    def top_keys(self, known: Sequence[str], foreign: Mapping[str, str], marked_by: str) -> None:
        """Tell of keys that are not known; of one of the other shape, which key of this one says it."""
        self.shape.text(self.shape.get(self.document, "$schema"), "`$schema`")
        ours: dict[str, JsonValue | None] = {}
        for member in self.document.members:
            key = member.key
            if key.value in foreign:
                message = f"`{key.value}` belongs to the other shape of seeds, and this one has `{marked_by}`"
                self.problems.add(
                    "FS511", key.span, message, f"write {WRITTEN.get(key.value) or f'`{foreign[key.value]}`'}"
                )
                ours[foreign[key.value]] = self.as_ours(member) or ours.get(foreign[key.value])
        self.shape.keys(self.document, known, "the seed", foreign)
        self.shape.meant(self.document, ours)

    def as_ours(self, member: Member) -> JsonValue | None:
        """What a key of the other shape has, as the value of the key of this one that says it; None where it is not."""
        return member.value if member.key.value in ("output", "output_fields") else None

    def task_name(self) -> Named | None:
        value = self.shape.need(self.document, "task_name", "the seed", '"task_name": such as "G1a-v2"')
        text = self.shape.text(value, "`task_name`")
        if text is None:
            return None
        name = text.value
        good = (
            0 < len(name) <= limits.TASK_NAME_CHARACTERS
            and name.isprintable()
            and name == name.strip()
            and not set(name) & set("/\\\"'`$%<>|*?:;{}#")
            and any(c.isalnum() for c in name)
        )
        if not good:
            help = "use letters or digits of any language, and spaces, `-`, `_` and `.` between them, up to "
            help += f"{limits.TASK_NAME_CHARACTERS} characters, such as `G1a-v2`"
            self.problems.add("FS206", text.span, "this task name cannot name a module", help)
            return None
        return Named(text.span, name)

    def allow(self, section: JsonObject) -> None:
        """Read which warnings an object of the seed allows for what stands in it, each with the reason."""
        value = section.get("allow")
        example = 'an object such as {"FS602": "kept for the next version"}'
        allowed = self.shape.object(value, "`allow`", example) if value is not None else None
        for member in allowed.members if allowed else ():
            code = member.key.value
            reason = self.shape.text(member.value, "the reason of an allowance")
            known = CODES.get(code)
            if known is None:
                by_name = next((entry.code for entry in CODES.values() if entry.name == code.strip().lower()), None)
                help = suggest(by_name) if by_name else did_you_mean(code, SEED_WARNINGS, what="warnings", limit=30)
                self.problems.add("FS512", member.key.span, f"there is no warning `{code}`", help)
            elif known.severity == "error":
                message = f"`{code}` is an error, and cannot be allowed"
                self.problems.add("FS512", member.key.span, message, "mend what it tells")
            elif reason is not None and not reason.value.strip():
                self.problems.add("FS512", reason.span, "an allowance needs a reason", "say why it is right here")
            elif reason is not None:
                named = Named(member.key.span, code)
                self.allowances.append(surface.Allowance(named, reason.value, section.span.pointer))

    def version(self) -> str:
        value = self.shape.get(self.document, "version")
        if isinstance(value, JsonNumber):
            return str(value.value)
        text = self.shape.text(value, "`version`")
        return text.value if text else ""

    def description(self) -> str:
        text = self.shape.text(self.shape.get(self.document, "description"), "`description`")
        return text.value if text else ""

    def keyword_list(self, value: JsonValue | None, what: str) -> tuple[Named, ...]:
        keywords: dict[str, Named] = {}
        for item in self.texts(value, what, limits.KEYWORDS):
            text = self.shape.text(item, "a keyword")
            if text is None:
                continue
            if not text.value.strip():
                message = "an empty keyword would make every review relevant"
                self.problems.add("FS509", text.span, message, "remove it; without keywords every review is relevant")
            elif text.value in keywords:
                self.problems.add("FS203", text.span, f"the keyword `{text.value}` stands twice", "remove one of them")
            keywords.setdefault(text.value, Named(text.span, text.value))
        return tuple(keywords.values())

    def texts(self, value: JsonValue | None, what: str, most: int) -> Sequence[JsonValue]:
        """The items of a list of texts; also the words of a single text, which is told."""
        if not isinstance(value, JsonString):
            return self.shape.list(value, what, most)
        self.shape.wrong_type(value, what, "a list", shown_words(value))
        return words_of(value)[:most]

    def field_list(self, value: JsonValue | None, what: str) -> dict[str, surface.ExtractionField]:
        """The extraction fields by name."""
        fields: dict[str, surface.ExtractionField] = {}
        for key, item in self.named_items(value, what, limits.FIELDS, '{"name": …, "type": …}', "extraction"):
            field = self.field(item, key)
            if field is None:
                self.incomplete.add("extraction")
            else:
                self.unique(field.name, fields, "field")
                fields.setdefault(field.name.text, field)
        return fields

    def named_items(
        self, value: JsonValue | None, what: str, most: int, example: str, section: str
    ) -> list[tuple[JsonString | None, JsonValue]]:
        """The items of a list; also of an object that has them under their names, which is told.

        Where it is neither, the section is incomplete.
        """
        if isinstance(value, JsonObject):
            self.shape.wrong_type(value, what, "a list", f"[{example}, …]")
            if len(value.members) <= most and all(isinstance(member.value, JsonObject) for member in value.members):
                return [(member.key, member.value) for member in value.members]
            self.incomplete.add(section)
            return []
        if not (isinstance(value, JsonArray) and len(value.items) <= most):
            self.incomplete.add(section)
        return [(None, item) for item in self.shape.list(value, what, most)]

    def field(self, item: JsonValue, key: JsonString | None = None) -> surface.ExtractionField | None:
        """The field; `key` is its name where it stands under one."""
        shape = self.shape
        section = shape.object(item, "a field")
        if section is None:
            return None
        shape.keys(section, FIELD_KEYS, "a field")
        shape.sources(section)
        self.allow(section)
        given = shape.get(section, "name") or key
        given = given or shape.need(section, "name", "the field", '"name": such as "severity"')
        name = shape.name(given, "a field")
        chosen: str | None
        if self.values_make_an_enum and shape.get(section, "type") is None and shape.get(section, "values") is not None:
            kind, chosen = None, "enum"
        else:
            written = shape.need(section, "type", "the field", '"type": "enum"')
            if isinstance(written, JsonArray) and len(written.items) > 1 and shape.get(section, "values") is None:
                shape.wrong_type(written, "`type`", "a text", '"type": "enum", "values": […]')
                written = None
            kind = shape.text(written, "`type`")
            chosen = shape.choice(kind, "field type", FIELD_TYPES) if kind else None
            if shape.get(section, "type") is None and shape.get(section, "values") is not None:
                chosen = "enum"  # what the help says to write
        description = shape.text(shape.get(section, "description"), "`description`")
        values: tuple[surface.EnumValue, ...] = ()
        if chosen == "enum" and kind and kind.value != "enum" and shape.get(section, "values") is None:
            chosen = None  # it may be meant to be something else
        if chosen == "enum":
            values = self.enum_values(shape.need(section, "values", "the enum field", '"values": {"none": "…"}'))
            if not values:
                chosen = None
        elif chosen:
            self.no_values(section, chosen)
        if name is None:
            return None
        if chosen is None:  # told already, and so are its uses
            return surface.ExtractionField(name, ERROR, "")
        type_ = enum_of(tuple(v.name.text for v in values)) if chosen == "enum" else SCALARS[chosen]
        default, minimum, maximum = self.bounded_default(section, type_, shape.get(section, "default"))
        evidence = shape.boolean(shape.get(section, "evidence"), "`evidence`")
        about = description.value if description else ""
        return surface.ExtractionField(name, type_, about, values, default, evidence, minimum, maximum)

    def no_values(self, section: JsonObject, chosen: str) -> None:
        """Report `values` of a field that is not an enum."""
        place = self.shape.get(section, "values")
        if place is not None:
            message = f"`values` belong to an enum, and this field is of type `{chosen}`"
            self.problems.add("FS511", place.span, message, 'write "type": "enum", or remove `values`')

    def bounded_default(
        self, section: JsonObject, type_: Type, given: JsonValue | None
    ) -> tuple[Value, int | float | None, int | float | None]:
        """Read the default of a field or parameter, its `minimum` and its `maximum`; None for each that is absent."""
        bounds: list[int | float | None] = []
        for key in ("minimum", "maximum"):
            bound = self.shape.get(section, key)
            if bound is not None and not type_.is_numeric:
                self.problems.add("FS511", bound.span, f"`{key}` belongs to a number", f"remove `{key}`")
                bound = None
            literal = self.typed_literal(bound, type_, f"`{key}`")
            bounds.append(literal if isinstance(literal, int | float) else None)
        minimum, maximum = bounds
        default = self.typed_literal(given, type_, "`default`")
        if minimum is not None and maximum is not None and minimum > maximum:
            self.problems.add("FS509", section.span, "`minimum` is above `maximum`", "exchange them")
        elif isinstance(default, int | float) and given is not None and _is_outside(default, minimum, maximum):
            message = f"the default {default} is outside the bounds"
            self.problems.add("FS509", given.span, message, "widen the bounds, or change the default")
        return default, minimum, maximum

    def enum_values(self, value: JsonValue | None) -> tuple[surface.EnumValue, ...]:
        found: dict[str, surface.EnumValue] = {}
        if isinstance(value, JsonObject):
            pairs = [(member.key, self.shape.text(member.value, "a value's description")) for member in value.members]
        elif isinstance(value, JsonArray):
            texts = [self.shape.text(item, "an enum's value") for item in value.items]
            pairs = [(text, None) for text in texts if text is not None]
            if len(pairs) < len(value.items):
                return ()
        elif value is None:
            return ()
        else:
            example = shown_words(value) if isinstance(value, JsonString) else ""
            self.shape.wrong_type(value, "`values`", "an object of descriptions or a list", example)
            return ()
        if len(pairs) > limits.ENUM_VALUES:
            self.shape.too_many(value.span, "`values`", len(pairs), limits.ENUM_VALUES)
            return ()
        if not pairs:
            self.problems.add("FS509", value.span, "the enum has no values", "list at least one")
        for key, description in pairs:
            if key.value in found:
                if isinstance(value, JsonArray):  # of an object's keys the reader has told it
                    self.problems.add("FS203", key.span, f"the value `{key.value}` stands twice", "remove one of them")
            elif not key.value:
                self.problems.add("FS509", key.span, "an enum's value cannot be empty", "name it, such as `none`")
            else:
                enum_value = surface.EnumValue(Named(key.span, key.value), description.value if description else "")
                found[key.value] = enum_value
        return tuple(found.values())

    def typed_literal(self, value: JsonValue | None, type_: Type, what: str) -> Value:
        """A literal of the type, or None where it is absent or wrong."""
        if value is None:
            return None
        literal = self.shape.literal(value, what)
        if literal is None:
            return None
        found = literal.value
        if type_.values is not None and isinstance(found, str) and found not in type_.values:
            help = did_you_mean(found, type_.values, what="values")
            self.problems.add("FS302", value.span, f"`{found}` is not among the values", help)
            return None
        sort = {"integer": (int,), "number": (int, float), "boolean": (bool,), "string": (str,)}[type_.base.value]
        if not isinstance(found, sort) or (isinstance(found, bool) and bool not in sort):
            self.problems.add("FS301", value.span, f"{what} must be {type_.noun}", f"write {type_.noun}")
            return None
        if type_.base is NUMBER.base and isinstance(found, int | float):
            if abs(found) > limits.INPUT_MAX:
                help = "inputs reach from -1e100 to 1e100"
                self.problems.add("FS509", value.span, f"{what} is out of range", help)
                return None
            return float(found)
        return found

    def declared(
        self, value: JsonValue | None, what: str, standard: dict[str, Type]
    ) -> tuple[surface.DeclaredField, ...]:
        declared: dict[str, surface.DeclaredField] = {}
        namespace = what.strip("`").rsplit(".", 1)[-1]
        written = self.named_items(value, what, limits.FIELDS, '{"name": …, "type": …}', namespace) if value else []
        for key, item in written:
            section = self.shape.object(item, "a declared field")
            if section is None:
                self.incomplete.add(namespace)
                continue
            known = CONTEXT_FIELD_KEYS if namespace == "context" else DECLARED_KEYS
            self.shape.keys(section, known, "a declared field")
            self.allow(section)
            given = self.shape.get(section, "name") or key
            given = given or self.shape.need(section, "name", "the field", '"name": such as "severity"')
            name = self.shape.name(given, "a field")
            kind = self.shape.text(self.shape.need(section, "type", "the field", '"type": "number"'), "`type`")
            chosen = self.shape.choice(kind, "field type", FIELD_TYPES) if kind else None
            values: tuple[surface.EnumValue, ...] = ()
            if chosen == "enum":
                listed = self.shape.need(section, "values", "the enum field", '"values": ["quiet", "loud"]')
                values = self.enum_values(listed)
                chosen = chosen if values else None
            elif chosen:
                self.no_values(section, chosen)
            nullable = self.shape.boolean(self.shape.get(section, "nullable"), "`nullable`")
            description = self.shape.text(self.shape.get(section, "description"), "`description`")
            path = self.path(section) if namespace == "context" else ()
            if name is None:
                self.incomplete.add(namespace)
                continue
            type_ = ERROR
            if chosen:
                type_ = enum_of(tuple(value.name.text for value in values)) if values else SCALARS[chosen]
            if name.text in standard and chosen and standard[name.text].base is not type_.base:
                type_ = ERROR  # told here, and so are its uses
                message = f"`{name.text}` is there without declaring it, as {standard[name.text].noun}"
                self.problems.add("FS203", name.span, message, "remove the declaration, or choose another name")
            elif name.text in standard and path:
                message = f"`{name.text}` is there without declaring it, and not at a path"
                self.problems.add("FS203", name.span, message, "choose another name for the value at the path")
            self.unique(name, declared, "field")
            text = description.value if description else ""
            type_ = type_.or_null() if nullable and not type_.is_error else type_
            declared.setdefault(name.text, surface.DeclaredField(name, type_, text, values, path))
        return tuple(declared.values())

    def path(self, section: JsonObject) -> tuple[str, ...]:
        """Read the keys that lead to a field's value in the business object; none where there is no `path`."""
        value = self.shape.get(section, "path")
        if value is None:
            return ()
        example = '["attributes", "NoiseLevel"]'
        if not isinstance(value, JsonArray):
            keys_of_it = json.dumps(value.value.split(".")) if isinstance(value, JsonString) else example
            self.shape.wrong_type(value, "`path`", "a list of keys", keys_of_it)
            return ()
        keys = [key.value for item in value.items if (key := self.shape.text(item, "a key of `path`")) is not None]
        if len(keys) == len(value.items) and not (0 < len(keys) <= limits.PATH_KEYS and all(keys)):
            message = f"`path` must have 1 to {limits.PATH_KEYS} keys, none of them empty"
            self.problems.add("FS509", value.span, message, f"write the keys from the outside in, such as {example}")
        return tuple(keys)

    def parameters(self) -> tuple[surface.Parameter, ...]:
        value = self.shape.get(self.document, "parameters")
        listed = under_their_names(value) if isinstance(value, JsonArray) else None
        first = short_text(next(listed.names())) if listed is not None else ""
        example = f"{{{first}: {{…}}, …}}" if first else '{"AS_OF_YEAR": {"type": "integer", "default": 2025}}'
        section = self.shape.object(value, "`parameters`", example) if value is not None else None
        section = section or listed
        if value is not None and section is None:
            self.incomplete.add("param")
        if section is None:
            return ()
        if len(section.members) > limits.PARAMETERS:
            self.shape.too_many(section.span, "`parameters`", len(section.members), limits.PARAMETERS)
            self.incomplete.add("param")
            return ()
        found: list[surface.Parameter] = []
        for member in section.members:
            name = self.shape.name(member.key, "a parameter")
            body = self.shape.object(member.value, "a parameter", '{"type": "integer", "default": 2025}')
            if name is None:
                self.incomplete.add("param")
            else:
                if listed is not None:  # of an object's keys the reader has told it
                    self.unique(name, {known.name.text: known for known in found}, "parameter")
                parameter = self.parameter(name, body) if body else None
                found.append(parameter or surface.Parameter(name, ERROR, None, None, None, ""))
        return tuple(found)

    def parameter(self, name: Named, body: JsonObject) -> surface.Parameter | None:
        shape = self.shape
        shape.keys(body, PARAMETER_KEYS, "a parameter")
        self.allow(body)
        kind = shape.text(shape.need(body, "type", "the parameter", '"type": "integer"'), "`type`")
        chosen = shape.choice(kind, "type", tuple(SCALARS)) if kind else None
        default_value = shape.need(body, "default", "the parameter", '"default": the value where none is given')
        if chosen is None:
            return None
        type_ = SCALARS[chosen]
        default, minimum, maximum = self.bounded_default(body, type_, default_value)
        description = shape.text(self.shape.get(body, "description"), "`description`")
        return surface.Parameter(name, type_, default, minimum, maximum, description.value if description else "")

    def review_handling(self) -> surface.ReviewHandling | None:
        value = self.shape.get(self.document, "review_handling")
        section = self.shape.object(value, "`review_handling`") if value is not None else None
        if section is None:
            return None
        self.shape.keys(section, REVIEW_HANDLING_KEYS, "`review_handling`")
        length = self.shape.need(section, "max_length", "`review_handling`", '"max_length": 2000')
        strategy = self.shape.text(
            self.shape.need(section, "strategy", "`review_handling`", '"strategy": "truncate_head"'), "`strategy`"
        )
        chosen = self.shape.choice(strategy, "strategy", STRATEGIES) if strategy else None
        most = self.shape.whole(length, "`max_length`", 1, limits.REVIEW_CHARACTERS) if length is not None else None
        return surface.ReviewHandling(most, chosen) if most and chosen else None

    def output(self, value: JsonValue | None, key: str) -> tuple[Named, ...]:
        items = self.texts(value, f"`{key}`", limits.OUTPUTS)
        if isinstance(value, JsonArray) and not value.items:
            self.problems.add("FS502", value.span, f"`{key}` names no step", "name the steps to return")
        names: dict[str, Named] = {}
        for item in items:
            text = self.shape.text(item, f"a name in `{key}`")
            if isinstance(text, JsonString):
                named = Named(text.span, text.value)
                self.unique(named, names, "output")
                names.setdefault(text.value, named)
        return tuple(names.values())

    def unique(self, name: Named, taken: Mapping[str, object], what: str) -> None:
        if name.text in taken:
            help = "remove one of them" if what == "output" else "rename or remove one of them"
            self.problems.add("FS203", name.span, f"the {what} `{name.text}` is there already", help)


def _is_outside(value: float, minimum: float | None, maximum: float | None) -> bool:
    return (minimum is not None and value < minimum) or (maximum is not None and value > maximum)
