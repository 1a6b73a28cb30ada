"""Lowers a document, a seed of either version, to a `surface.Program`.

In: the document's JSON tree. Out: the program; every deviation from the format is a diagnostic. Names inside formulas of a
seed v2 are not looked up here. Source: the specification; of seed v1, the two-phase design's section on the Formula Seed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from formulaseed import limits
from formulaseed.diagnostics.catalogue import lint as lint_catalogue
from formulaseed.diagnostics.catalogue import seed as catalogue
from formulaseed.diagnostics.model import Problems
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.ir import nodes
from formulaseed.language.parser import parse_v1_formula
from formulaseed.language.types import enum_type
from formulaseed.seed import operations, standard_fields, surface
from formulaseed.seed.read import sections
from formulaseed.seed.read.conditions import DeclaredNames
from formulaseed.seed.read.examples import read_examples
from formulaseed.seed.read.sections import Sections, Types, is_v1
from formulaseed.seed.read.shape import get_first_character
from formulaseed.seed.read.steps import READERS, Arguments, read_adverse
from formulaseed.seed.surface import Named
from formulaseed.source.json_reader import JsonArray, JsonObject, JsonString, JsonValue

_KEYS = {*sections.V1_KEYS, *sections.V2_KEYS}
PLACEHOLDERS = ("review_text", "review_date", "review_stars", "review_useful")
STRINGS = ("review_text", "review_date")
"""The placeholders that are filled with a JSON string, the others with a number."""
_DOUBLE_QUOTES = frozenset('"“”„')
_QUOTES = _DOUBLE_QUOTES | frozenset("'‘’")
MAX_SHOWN = 120
"""Longer parts of a seed are not shown in the form to write."""
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]*)\}")


def lower_document(document: JsonValue, problems: Problems) -> surface.Program | None:
    """Lower a seed of either version. Returns None, with the problem reported, if the document cannot be read as one.

    It is then no object, has a seed as its only member, or has too many steps. All other problems are reported, too.
    """
    if not isinstance(document, JsonObject):
        items = document.items if isinstance(document, JsonArray) else ()
        problems.report(catalogue.no_seed(document.span, "`[` and `]`" if [*map(_is_seed, items)] == [True] else ""))
        return None
    wrapper = document.members[0] if len(document.members) == 1 else None
    if wrapper is not None and _is_seed(wrapper.value) and wrapper.key.value not in _KEYS:
        problems.report(catalogue.wrapped_seed(wrapper.key.span, wrapper.key.value))
        return None
    reader = _SeedV1 if is_v1([key.value for key in document.names()]) else _SeedV2
    return reader(document, problems).lower()


def _is_seed(value: JsonValue) -> bool:
    """Return True if a value is an object with at least two of the top-level keys of a seed, of either version."""
    return isinstance(value, JsonObject) and len({key.value for key in value.names()} & _KEYS) >= 2


class _SeedV2(Sections):
    """A reader of a seed v2."""

    def begin_program(self, task_name: Named) -> surface.Program:
        """Read `filter` and `extract`; return a program with only the name, keywords, fields, passes and examples.

        Every problem is reported. If `extract` is no object, or has the fields as its own members, `extraction` and
        `meta` are marked as incomplete, and the program has only keywords.
        """
        document = self.document
        shape = self.shape
        written = shape.get(document, "filter")
        section = shape.read_object(written, "`filter`", f'{{"keywords": {_format_keywords(written)}}}')
        keywords: tuple[Named, ...] = ()
        if section is not None:
            shape.report_unknown_keys(section, sections.FILTER_KEYS, "`filter`")
            self.read_suppressions(section)
            shape.read_sources(section)
            keywords = self.read_keywords(shape.get(section, "keywords"), "`keywords`")
        value = shape.require(document, "extract", "the seed", '"extract": {"fields": […]}')
        extract = shape.read_object(value, "`extract`", '{"fields": […]}')
        members = extract.members if extract is not None and extract.get("fields") is None else ()
        if extract is not None and any(isinstance(member.value, JsonObject) for member in members):
            shape.require(extract, "fields", "`extract`", '"fields": [{"name": …, "type": …}, …]')
            extract = None  # it holds the fields themselves, not in a list
        if extract is None:
            self.incomplete |= {"extraction", "meta"}
            return surface.Program(task_name, keywords=keywords)
        shape.report_unknown_keys(extract, sections.EXTRACT_KEYS, "`extract`")
        fields = self.read_fields(shape.require(extract, "fields", "`extract`", '"fields": […]'), "`fields`")
        validity = shape.get(extract, "validity")
        if validity is not None and shape.read_boolean(validity, "`validity`"):
            values = tuple(nodes.EnumValue(value, meaning) for value, meaning in standard_fields.VALIDITY_VALUES)
            name = Named(validity.span, standard_fields.VALIDITY_FIELD)
            ty = enum_type(tuple(value.name for value in values))
            field = nodes.ExtractionField(name.text, ty, "Whether the review can be trusted", values, "valid")
            self.add_declaration("extraction", name, field, fields)
        return surface.Program(
            task_name,
            keywords=keywords,
            fields=tuple(fields.values()),
            meta=self.read_inputs(shape.get(extract, "meta"), "`extract.meta`", "meta", standard_fields.META),
            passes=shape.read_integer(shape.get(extract, "passes"), "`passes`", 1, limits.PASSES) or 1,
            examples=read_examples(shape.get(extract, "examples"), fields, self),
        )

    def read_steps(self, items: Sequence[JsonValue], types: Types) -> tuple[surface.Step, ...]:
        """Lower the steps that have a name; add the others to `nameless`. `types` maps full names of fields to types.

        Conditions may use the names of all steps, also of later ones. An item that is no object is reported.
        """
        named: dict[str, JsonObject] = {}
        for item in items:
            name = item.get("name") if isinstance(item, JsonObject) else None
            if isinstance(item, JsonObject) and isinstance(name, JsonString):
                named[name.value] = item
        words = {"define_filter", *operations.OPERATIONS["define_filter"].also_called.split()}
        ops = {name: item.get("op") for name, item in named.items()}
        filters = {name for name, op in ops.items() if isinstance(op, JsonString) and op.value.lower() in words}
        strings = {
            name: {text for key in ("rules", "table", "value", "default") for text in _find_strings(item.get(key))}
            for name, item in named.items()
        }
        names = DeclaredNames(types, filters, named.keys() - filters, strings)
        return tuple(
            [step for index, item in enumerate(items) if (step := self.read_step(item, index, names)) is not None]
        )

    def read_step(self, item: JsonValue, index: int, names: DeclaredNames) -> surface.Step | None:
        """Lower the step at `index`; None, with the problem reported, if it is no object or has no usable name.

        A step without a name goes into `nameless`. An unknown or malformed operation is reported, and becomes
        `surface.Broken`.
        """
        shape = self.shape
        section = shape.read_object(item, "a step", 'an object such as {"name": "N", "op": "count"}')
        if section is None:
            self.incomplete.add("compute")
            return None
        if section.get("op") is None:  # another key may resemble it
            shape.report_unknown_keys(section, operations.list_all_step_keys(), "a step")
        op = shape.require_text(section, "op", "the step", '"op": such as "count"')
        chosen = shape.read_choice(
            op, "operation", operations.OPERATIONS, "FS504", operations.list_foreign_operations()
        )
        operation = operations.OPERATIONS[chosen] if chosen is not None else None
        if operation is not None and section.get("op") is not None:
            shape.report_unknown_keys(section, operations.list_step_keys(operation), f"the operation `{chosen}`")
        elif section.get("op") is not None:
            shape.report_unknown_keys(section, operations.list_all_step_keys(), "a step")
        name = shape.read_step_name(shape.require(section, "name", "the step", '"name": such as "N_MILD"'))
        self.read_suppressions(section)
        sources = shape.read_sources(section)
        label, unit = self.labels.read(section, "step")
        adverse = read_adverse(section, shape)
        lowered = self.lower_operation(operation, section, names) if operation is not None else surface.Broken()
        is_filter = chosen == "define_filter" if op is not None and op.value == chosen else None
        place = get_first_character(section.span)
        if name is not None:
            return surface.Step(name, place, lowered, is_filter, "", sources, label, unit, adverse)
        self.incomplete.add("compute")
        self.nameless.append(surface.Step(Named(place, f"compute[{index}]"), place, lowered, is_filter))
        return None

    def lower_operation(
        self, operation: operations.OperationSpec, section: JsonObject, names: DeclaredNames
    ) -> surface.Operation:
        """Return the operation of a step; `surface.Broken`, with a report, if a key is missing or malformed.

        Unknown keys are not looked for here.
        """
        shape = self.shape
        noun = f"the operation `{operation.name}`"
        is_sound = self.check_exclusive_keys(operation, section, noun)
        arguments = Arguments(get_first_character(section.span), names, shape)
        for key in operation.keys:
            value = shape.get(section, key.name)
            if value is None and key.required:
                value = shape.require(section, key.name, noun, _format_example(key, section))
            if value is not None:
                is_sound = READERS[key.kind](arguments, key.name, value) and is_sound
            elif key.required:
                is_sound = False
        return operation.lower(arguments) if is_sound else surface.Broken()

    def check_exclusive_keys(self, operation: operations.OperationSpec, section: JsonObject, noun: str) -> bool:
        """Return True if a step has exactly one of the keys `one_of`, or its operation has none; else report it."""
        values = [value for key in operation.one_of if (value := self.shape.get(section, key)) is not None]
        if len(values) > 1:
            self.problems.report(catalogue.exclusive_keys(values[1].span, operation.name, operation.one_of))
        elif operation.one_of and not values:
            choices = [_format_example(key, section) for key in operation.keys if key.name in operation.one_of]
            self.shape.require(section, operation.one_of[0], noun, " or ".join(choices))
        return len(values) == 1 or not operation.one_of


def _find_strings(value: JsonValue | None) -> Iterator[str]:
    """Yield the strings in a value, at any depth of lists and objects. Values of the key `when` are left out."""
    if isinstance(value, JsonString):
        yield value.value
    members = [m.value for m in value.members if m.key.value != "when"] if isinstance(value, JsonObject) else ()
    for item in value.items if isinstance(value, JsonArray) else members:
        yield from _find_strings(item)


def _format_keywords(value: JsonValue | None) -> str:
    """Return the keywords that `value`, given in place of a filter's object, has, as a JSON list for a message.

    Returns an example if `value` contains anything but strings, is empty, or is longer than `MAX_SHOWN`.
    """
    items = value.items if isinstance(value, JsonArray) else [value]
    texts = [item.value for item in items if isinstance(item, JsonString)]
    written = json.dumps([*dict.fromkeys(texts)], ensure_ascii=False)
    return written if texts and len(texts) == len(items) and len(written) <= MAX_SHOWN else '["waiter"]'


def _format_example(key: operations.Key, step: JsonObject) -> str:
    """Return a key that a step lacks, with an example value, for a message; no exact match for categories."""
    example = key.examples[0]
    source = step.get("source")
    if key.kind == "match" and isinstance(source, JsonString) and source.value == standard_fields.CATEGORIES:
        example = "substring_first"
    return f'"{key.name}": {json.dumps(example, ensure_ascii=False)}'


class _SeedV1(Sections):
    """A reader of a seed v1."""

    is_v1 = True
    steps_key = "compute_dag"
    output_key = "output_fields"

    def begin_program(self, task_name: Named) -> surface.Program:
        """Read keywords, fields and prompt; return a program with only these and the name. Reports problems."""
        document = self.document
        shape = self.shape
        value = shape.require(document, "extraction_fields", "the seed", '"extraction_fields": […]')
        return surface.Program(
            task_name,
            keywords=self.read_keywords(shape.get(document, "filter_keywords"), "`filter_keywords`"),
            fields=tuple(self.read_fields(value, "`extraction_fields`").values()),
            passes=shape.read_integer(shape.get(document, "passes"), "`passes`", 1, limits.PASSES) or 1,
            extraction_prompt=self.read_prompt(),
        )

    def read_prompt(self) -> str:
        """Return the extractor's prompt; empty if it is absent or no string, which is reported.

        Also reports unknown placeholders, and a prompt without `{review_text}`, and warns of quotes around
        placeholders.
        """
        text = self.shape.read_text(self.shape.get(self.document, "extraction_prompt"), "`extraction_prompt`")
        if text is None:
            return ""
        placeholders = list(_PLACEHOLDER.finditer(text.value))
        for match in placeholders:
            name = match[1]
            if name is not None and name not in PLACEHOLDERS:
                help = did_you_mean(name, [f"{{{known}}}" for known in PLACEHOLDERS], noun="placeholders")
                span = text.subspan(match.start(), match.end())
                self.problems.report(catalogue.unknown_placeholder(span, name, help))
            elif name is not None:
                self.check_quotes(text, match)
        if not any(match[1] == "review_text" for match in placeholders):
            self.problems.report(catalogue.prompt_without_review(text.span))
        return text.value

    def check_quotes(self, prompt: JsonString, placeholder: re.Match[str]) -> None:
        """Warn of quotes around a placeholder that is filled with a JSON string, which has quotes of its own.

        Single quotes on one side only, as in `{review_date}'s`, are passed over.
        """
        text = prompt.value
        start, end = placeholder.span()
        while text[start - 1 : start] in _QUOTES and start > 0:
            start -= 1
        while text[end : end + 1] in _QUOTES and end < len(text):
            end += 1
        before = text[start : placeholder.start()]
        after = text[placeholder.end() : end]
        is_whole = bool(before and after)
        # an apostrophe on one side, as in `{review_date}'s`, is no quote
        if placeholder[1] in STRINGS and (is_whole or set(before + after) & _DOUBLE_QUOTES):
            span = prompt.subspan(start, end)
            warning = lint_catalogue.placeholder_in_quotes(span, text[start:end], placeholder[1], is_whole=is_whole)
            self.problems.report(warning)

    def read_steps(self, items: Sequence[JsonValue], types: Types) -> tuple[surface.Step, ...]:
        """Lower the steps that have a name; add the others to `nameless`. Loops in formulas become aggregates."""
        from formulaseed.seed.read.v1_formulas import lower_formulas  # most seeds are v2

        written = [step for index, item in enumerate(items) if (step := self.read_step(item, index)) is not None]
        is_complete = "extraction" not in self.incomplete
        lowered = lower_formulas([*written, *self.nameless], types, is_complete, self.problems)
        self.nameless = list(lowered[len(written) :])
        return lowered[: len(written)]

    def read_step(self, item: JsonValue, index: int) -> surface.Step | None:
        """Parse the step at `index`; None, with the problem reported, if it is no object or has no usable name.

        A step without a name goes into `nameless`. A missing or malformed formula is reported, and becomes
        `surface.Broken`.
        """
        shape = self.shape
        section = shape.read_object(item, "a step", 'an object such as {"name": "n", "formula": "len(extractions)"}')
        if section is None:
            self.incomplete.add("compute")
            return None
        shape.report_unknown_keys(section, sections.V1_STEP_KEYS, "a step")
        self.read_suppressions(section)
        name = shape.read_step_name(shape.require(section, "name", "the step", '"name": such as "n_mild"'))
        shape.read_text(shape.get(section, "description"), "`description`")
        formula = shape.require_text(section, "formula", "the step", '"formula": such as "n_mild * 2"')
        expression = parse_v1_formula(formula, self.problems) if formula is not None else None
        operation = surface.Formula(expression) if expression is not None else surface.Broken()
        place = get_first_character(section.span)
        if name is not None:
            return surface.Step(name, place, operation)
        self.incomplete.add("compute")
        self.nameless.append(surface.Step(Named(place, f"compute_dag[{index}]"), place, operation))
        return None
