"""Reads the examples of a seed, reviewed answers for the prompt of a model, and validates them against the fields.

In: a JSON value and the fields. Out: examples; a value that its field cannot have and a quote that is not in the text are
reported.
"""

from __future__ import annotations

from collections.abc import Mapping

from formulaseed import limits
from formulaseed.diagnostics.catalogue import seed as catalogue
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.ir import nodes
from formulaseed.language.types import is_within
from formulaseed.seed.absence import is_claim
from formulaseed.seed.read.sections import EXAMPLE_KEYS, Sections
from formulaseed.seed.read.shape import get_first_character
from formulaseed.seed.read.values import read_literal
from formulaseed.source.json_reader import JsonObject, JsonString, JsonValue
from formulaseed.source.text import one_line

Fields = Mapping[str, nodes.ExtractionField]
_AnswerValue = str | int | float | bool
_FORM = '[{"text": …, "fields": {…}}, …]'


def read_examples(value: JsonValue | None, fields: Fields, sections: Sections) -> tuple[nodes.ReviewedAnswer, ...]:
    """Return the examples that have a text and fields. Reports every problem; no other one excludes an example."""
    reader = _ExampleReader(fields, sections)
    items = sections.shape.read_list(value, "`examples`", limits.REVIEW_EXAMPLES, _FORM)
    objects = (sections.shape.read_object(item, "an example") for item in items)
    examples = (reader.read_example(section) for section in objects if section is not None)
    return tuple(example for example in examples if example is not None)


class _ExampleReader:
    """A reader of the examples of one seed, whose fields were read before."""

    def __init__(self, fields: Fields, sections: Sections) -> None:
        self.fields = fields
        self.sections = sections
        self.shape = sections.shape
        self.report = sections.problems.report
        self.quoted = [name for name, field in fields.items() if field.evidence]
        self.reasoned = [name for name, field in fields.items() if field.reason]

    def read_example(self, section: JsonObject) -> nodes.ReviewedAnswer | None:
        """Return one example, or None, with the problem reported, if it has no text or no fields.

        Reports an empty or long text, wrong values, and wrong quotes, too, and still returns the example.
        """
        shape = self.shape
        shape.report_unknown_keys(section, EXAMPLE_KEYS, "an example")
        text = shape.require_text(section, "text", "the example", '"text": "…"')
        fields = shape.read_object(shape.require(section, "fields", "the example", '"fields": {…}'), "`fields`")
        quotes = self.read_strings(section, "quotes", self.quoted)
        reasons = self.read_strings(section, "reasons", self.reasoned)
        if text is None or fields is None:
            return None
        if not text.value.strip():
            self.report(catalogue.empty_example(text.span))
        elif len(text.value) > limits.REVIEW_EXAMPLE_CHARACTERS:
            self.report(catalogue.long_example(get_first_character(text.span), len(text.value)))
        values = self.read_values(fields)
        self.check_quotes(text, values, quotes, fields)
        plain = ({name: string.value for name, string in strings.items()} for strings in (quotes, reasons))
        return nodes.ReviewedAnswer(text.value, values, *plain)

    def read_strings(self, section: JsonObject, key: str, allowed: list[str]) -> dict[str, JsonString]:
        """Return the strings of `quotes` or `reasons` (the `key`) by field. Reports fields that are not `allowed`.

        Strings of unknown fields are left out, and so are values that are no strings, which are reported.
        """
        by_field = self.shape.read_object(self.shape.get(section, key), f"`{key}`", '{"field": "…"}')
        if by_field is None:
            return {}
        self.report_unknown_fields(by_field, key, allowed)
        texts = ((m.key.value, self.shape.read_text(m.value, f"`{m.key.value}` in `{key}`")) for m in by_field.members)
        return {name: text for name, text in texts if text is not None and name in self.fields}

    def read_values(self, section: JsonObject) -> dict[str, _AnswerValue]:
        """Return a value for each field, its default if the example has none. Reports fields without either.

        A wrong value is reported and left out; one outside the field's bounds is reported and kept.
        """
        values: dict[str, _AnswerValue] = {}
        self.report_unknown_fields(section, "fields", [*self.fields])
        for name, field in self.fields.items():
            written = section.get(name)
            value = field.default
            if written is not None:
                value = read_literal(written, field.ty, f"`{name}`", self.shape)
            elif value is None:
                self.report(catalogue.value_missing(get_first_character(section.span), name))
            if value is None:
                continue
            values[name] = value
            outside = isinstance(value, int | float) and not is_within(value, field.minimum, field.maximum)
            if written is not None and outside:
                self.report(catalogue.example_outside(written.span, name))
        return values

    def report_unknown_fields(self, section: JsonObject, key: str, known: list[str]) -> None:
        """Report each key of `section` that is not in `known`; nothing if a field of the seed could not be read."""
        if "extraction" in self.sections.incomplete:
            return
        for name in section.names():
            if name.value not in known:
                help = did_you_mean(name.value, known, noun="fields")
                self.report(catalogue.unknown_field(name.span, f"`{key}`", name.value, help))

    def check_quotes(
        self, text: JsonString, values: Mapping[str, _AnswerValue], quotes: Mapping[str, JsonString], fields: JsonObject
    ) -> None:
        """Report quotes that are not in the text, and missing ones for claims of fields with required evidence.

        A claim is a value that does not mean absence. Differences in white space are ignored.
        """
        folded = one_line(text.value)
        for name, quote in quotes.items():
            if one_line(quote.value) not in folded:
                self.report(catalogue.quote_not_in_text(quote.span, name))
        for name, value in values.items():
            field = self.fields[name]
            written = quotes.get(name)
            is_missing = written is None or not written.value.strip()
            pairs = [(member.name, member.description) for member in field.values]
            if field.evidence == "required" and is_missing and is_claim(value, pairs, field.default):
                self.report(catalogue.quote_missing(get_first_character(fields.span), name))
