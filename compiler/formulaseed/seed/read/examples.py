"""The examples of a seed: reviewed answers that a model is shown, validated against the fields.

In: a JSON value and the fields. Out: examples; each value that a field cannot have, and each quote that is not in its text,
is a diagnostic.
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
from formulaseed.seed.read.shape import first_character
from formulaseed.source.json_reader import JsonObject, JsonString, JsonValue
from formulaseed.source.text import one_line

Fields = Mapping[str, nodes.ExtractionField]
_Literal = str | int | float | bool
_FORM = '[{"text": …, "fields": {…}}, …]'


def read_examples(value: JsonValue | None, fields: Fields, sections: Sections) -> tuple[nodes.ReviewedAnswer, ...]:
    """Return the examples that can be read."""
    reader = _Reader(fields, sections)
    items = sections.shape.list(value, "`examples`", limits.REVIEW_EXAMPLES, _FORM)
    examples = (reader.example(section) for item in items if (section := sections.shape.object(item, "an example")))
    return tuple(example for example in examples if example is not None)


class _Reader:
    def __init__(self, fields: Fields, sections: Sections) -> None:
        self.fields = fields
        self.sections = sections
        self.shape = sections.shape
        self.report = sections.problems.report
        self.quoted = [name for name, field in fields.items() if field.evidence]
        self.reasoned = [name for name, field in fields.items() if field.reason]

    def example(self, section: JsonObject) -> nodes.ReviewedAnswer | None:
        """Read one example; None if it has no text or no fields."""
        shape = self.shape
        shape.keys(section, EXAMPLE_KEYS, "an example")
        text = shape.text(shape.need(section, "text", "the example", '"text": "…"'), "`text`")
        fields = shape.object(shape.need(section, "fields", "the example", '"fields": {…}'), "`fields`")
        quotes = self.strings(section, "quotes", self.quoted)
        reasons = self.strings(section, "reasons", self.reasoned)
        if text is None or fields is None:
            return None
        if not text.value.strip():
            self.report(catalogue.empty_example(text.span))
        elif len(text.value) > limits.REVIEW_EXAMPLE_CHARACTERS:
            self.report(catalogue.long_example(first_character(text.span), len(text.value)))
        values = self.values(fields)
        self.check_quotes(text, values, quotes, fields)
        plain = ({name: string.value for name, string in strings.items()} for strings in (quotes, reasons))
        return nodes.ReviewedAnswer(text.value, values, *plain)

    def strings(self, section: JsonObject, key: str, allowed: list[str]) -> dict[str, JsonString]:
        """Read strings by field: quotes or reasons, of the fields that are asked for them."""
        section_ = self.shape.object(self.shape.get(section, key), f"`{key}`", '{"field": "…"}')
        if section_ is None:
            return {}
        self.known_fields(section_, key, allowed)
        texts = ((m.key.value, self.shape.text(m.value, f"`{m.key.value}` in `{key}`")) for m in section_.members)
        return {name: text for name, text in texts if text is not None and name in self.fields}

    def values(self, section: JsonObject) -> dict[str, _Literal]:
        """Read a value for every field; its default where the example has none."""
        values: dict[str, _Literal] = {}
        self.known_fields(section, "fields", [*self.fields])
        for name, field in self.fields.items():
            written = section.get(name)
            value = field.default
            if written is not None:
                value = self.sections.typed_literal(written, field.ty, f"`{name}`")
            elif value is None:
                self.report(catalogue.value_missing(first_character(section.span), name))
            if value is None:
                continue
            values[name] = value
            outside = isinstance(value, int | float) and not is_within(value, field.minimum, field.maximum)
            if written is not None and outside:
                self.report(catalogue.example_outside(written.span, name))
        return values

    def known_fields(self, section: JsonObject, key: str, known: list[str]) -> None:
        """Report each key that is none of these fields."""
        for name in section.names() if "extraction" not in self.sections.incomplete else ():
            if name.value not in known:
                help = did_you_mean(name.value, known, what="fields")
                self.report(catalogue.unknown_field(name.span, f"`{key}`", name.value, help))

    def check_quotes(
        self, text: JsonString, values: Mapping[str, _Literal], quotes: Mapping[str, JsonString], fields: JsonObject
    ) -> None:
        """Report quotes that the text does not have, and those that are missing."""
        folded = one_line(text.value)
        for name, quote in quotes.items():
            if one_line(quote.value) not in folded:
                self.report(catalogue.quote_not_in_text(quote.span, name))
        for name, value in values.items():
            field, words = self.fields[name], quotes.get(name)
            null_test = words is None or not words.value.strip()
            pairs = [(value_.name, value_.description) for value_ in field.values]
            if field.evidence == "required" and null_test and is_claim(value, pairs, field.default):
                self.report(catalogue.quote_missing(first_character(fields.span), name))
