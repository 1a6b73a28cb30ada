"""Builds the questions and calls for a review, and reads answers: the pure core of extraction by a model.

In: a seed's fields and reviews. Out: calls, and values read from answers. A question's key is a hash of its request and the
number of its pass, and of nothing else, so that a store of answers by key never pays for the same request twice. Nothing here
uses a network or a file. Source: the two-phase design, phase 2, step 2.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any, Literal

from formulaseed.data.results import FieldValue, Quote, ReviewInput, find_quote
from formulaseed.errors import DataError
from formulaseed.extractors.base import AskedField, check_value
from formulaseed.ir.nodes import ReviewedAnswer
from formulaseed.language.json_values import _quote
from formulaseed.llm import calls
from formulaseed.source.strict_json import refuse_constant, refuse_duplicate_keys
from formulaseed.source.text import one_line

_KEY_LENGTH = 48
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{(review_text|review_date|review_stars|review_useful)\}")
_THINKING_TOKENS = 4_000
"""The tokens added to an answer's limit for a model whose thinking cannot be turned off."""
_TYPE_PHRASES = {
    "boolean": "true or false.",
    "integer": "A whole number.",
    "number": "A number.",
    "string": "A short text.",
}
_CURRENT_MODEL = calls.ModelCapabilities()
_REJECTION_REMARK = "Your last answer to this was rejected: {}. Answer again, so that this is right."
"""Goes with a repeated question. The reason is inserted as JSON, since it may quote the answer."""


@dataclass(frozen=True, slots=True)
class Question:
    """One pass over one review. `user` is the message with the review, `text` its text, in which quotes are looked up."""

    key: str
    user: str
    text: str


@dataclass(frozen=True, slots=True)
class PassValues:
    """The content of an answer: a value for every field, and the quotes and reasons that it has, by field."""

    fields: dict[str, FieldValue]
    quotes: dict[str, Quote]
    reasons: dict[str, str] = dataclass_field(default_factory=dict)


class UnverifiedQuote(calls.UnusableAnswer):
    """Raised for an answer that lacks a required quote, or whose required quote is not in the review."""


@dataclass(frozen=True, slots=True)
class AnswerKey:
    """A key of the answer's object, which holds a field's value, its quote or its reason."""

    name: str
    kind: Literal["quote", "reason", "value"]
    field: AskedField


class PromptSpec:
    """The questions of one seed to one model, the same for each review but for its text.

    `examples` are reviewed answers that the prompt shows. `own_prompt` is the `extraction_prompt` of a v1 seed, with its
    placeholders; if it is empty, the message is the review's text as JSON. A model writes the keys of its answer in the schema's
    order: the quote and the reason of a field, then the value that rests on them.
    """

    def __init__(
        self,
        fields: Sequence[AskedField],
        *,
        model: str,
        effort: calls.Effort | None = "low",
        passes: int = 1,
        own_prompt: str = "",
        examples: Sequence[ReviewedAnswer] = (),
    ) -> None:
        self.fields = tuple(fields)
        self.examples = tuple(examples)
        self.model = model
        self.effort = effort
        self.passes = passes
        self._own_prompt = own_prompt
        self.keys = _build_answer_keys(self.fields)
        self.system = self._build_system_prompt()
        self.schema = self._build_schema()
        self.max_tokens = self._estimate_max_tokens()
        # without sorted keys: the order of the schema's properties is part of the request
        request = calls.build_request(self.build_call(Question("", "", "")))
        self._request_hash = hashlib.sha256(json.dumps(request).encode())
        self.id = self._request_hash.hexdigest()[:_KEY_LENGTH]
        """A hash of the request without a review, which identifies the specification."""
        self.extractor = f"anthropic:{model}"
        """The extractor's name in results."""
        prompt_parts = {"system": self.system, "schema": self.schema, "user": own_prompt}
        self.prompt_sha256 = hashlib.sha256(_dump_json(prompt_parts).encode()).hexdigest()
        """The hash, in hex, of everything that is sent in addition to a review: the prompts and the answer's schema."""

    def build_questions(self, review: ReviewInput) -> list[Question]:
        """Return one question for each pass; none if the seed has no fields.

        A question's key is a hash of its first request to a current model. The capabilities of the actual model and the remark of
        a repeated request, which are known only when the question is asked, do not change the key.
        """
        if not self.fields:
            return []
        user = self._build_user_message(review)
        questions = []
        for index in range(self.passes):
            digest = self._request_hash.copy()
            digest.update(f"\n{index}\n{user}".encode())
            questions.append(Question(digest.hexdigest()[:_KEY_LENGTH], user, review.text))
        return questions

    def build_call(
        self,
        question: Question,
        capabilities: calls.ModelCapabilities = _CURRENT_MODEL,
        length_factor: int = 1,
        rejection: str = "",
    ) -> calls.ModelCall:
        """Return the question as a call to a model with these capabilities.

        `length_factor` multiplies the token limit of the answer. `rejection` is the reason why the last answer is unusable; empty
        for a first call.
        """
        max_tokens = self.max_tokens
        if not capabilities.thinking_off:
            max_tokens += _THINKING_TOKENS
        call = calls.ModelCall(
            key=question.key,
            model=self.model,
            system=self.system,
            user=question.user,
            schema=self.schema,
            max_tokens=max_tokens * length_factor,
            effort=self.effort,
            thinking="disabled" if capabilities.thinking_off else None,
            remark=_REJECTION_REMARK.format(_dump_json(rejection)) if rejection else "",
        )
        return calls.adapt_call(call, capabilities)

    def read_answer(self, answer: calls.Answer, text: str | None = None) -> dict[str, Any]:
        """Return the object of an answer, without keys that were not asked for.

        Raises `UnusableAnswer` if the answer has a fault, is not JSON, or lacks an allowed value for a field. Required quotes are
        verified in the review's `text`; with None, they are not.
        """
        if answer.fault:
            raise calls.UnusableAnswer(answer.fault)
        try:
            content = json.loads(answer.text, parse_constant=refuse_constant, object_pairs_hook=refuse_duplicate_keys)
        except (ValueError, RecursionError) as error:
            raise calls.UnusableAnswer(f"the answer is not JSON: {error}") from None
        self.read_values(content, text)
        known_content = {key.name: content[key.name] for key in self.keys if key.name in content}
        try:
            json.dumps(known_content, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise calls.UnusableAnswer(
                "in the answer a string holds half of a character (an unpaired surrogate)"
            ) from None
        return known_content

    def read_values(self, content: Any, text: str | None) -> PassValues:
        """Return the values, quotes and reasons of an answer's object.

        Raises `UnusableAnswer` if it lacks an allowed value for a field. Looks the quotes up in `text`, and raises
        `UnverifiedQuote` if a required one is missing or does not occur; with None, no quote is verified.
        """
        if not isinstance(content, dict):
            raise calls.UnusableAnswer("the answer is not a JSON object")
        missing = [field.name for field in self.fields if content.get(field.name) is None]
        if missing:
            raise calls.UnusableAnswer(f"the answer lacks {', '.join(f'`{name}`' for name in missing[:5])}")
        try:
            values = {field.name: check_value(field, content[field.name]) for field in self.fields}
        except DataError as error:
            raise calls.UnusableAnswer(f"in the answer {error}") from None
        strings = self._read_strings(content, "quote")
        quotes = {name: find_quote(string, text or "") for name, string in strings.items()}
        if text is not None:
            self._check_quotes(values, quotes)
        return PassValues(values, quotes, self._read_strings(content, "reason"))

    def _read_strings(self, content: Mapping[str, Any], kind: Literal["quote", "reason"]) -> dict[str, str]:
        """Return the quotes or the reasons of an answer by field, without empty ones and values that are no strings."""
        strings = {key.field.name: content.get(key.name) for key in self.keys if key.kind == kind}
        return {name: string for name, string in strings.items() if isinstance(string, str) and string.strip()}

    def _check_quotes(self, values: Mapping[str, FieldValue], quotes: Mapping[str, Quote]) -> None:
        """Raise `UnverifiedQuote` for a required quote that is missing, or that the review does not contain."""
        for field in self.fields:
            quote = quotes.get(field.name)
            if field.evidence == "required" and quote is not None and not quote.is_verified:
                words = f"the review does not contain the quote for `{field.name}`: {_quote(quote.text)}"
                raise UnverifiedQuote(f"in the answer {words}")
            if quote is None and field.needs_quote(values[field.name]):
                value = _quote(values[field.name])
                raise UnverifiedQuote(f"the answer has no quote for `{field.name}`, and {value} needs one")

    def _build_system_prompt(self) -> str:
        """Return the constant part of the prompt, from a template: the answer's keys in order, and the examples."""
        keys = [
            {
                "name": key.name,
                "asks": key.kind,
                "field": key.field.name,
                "required": key.field.evidence == "required",
                "may_be_empty": _find_value_without_quote(key.field),
                "description": one_line(key.field.description).rstrip("."),
                "choices": [(name, one_line(description)) for name, description in key.field.values],
                "kind": _describe_type(key.field),
            }
            for key in self.keys
        ]
        examples = [
            (_dump_json({"review": example.text.strip()}), json.dumps(self._build_example(example), ensure_ascii=False))
            for example in self.examples
        ]
        return calls.render_prompt("extract", keys=keys, examples=examples, shows_facts=bool(self._own_prompt))

    def _build_example(self, example: ReviewedAnswer) -> dict[str, Any]:
        """Return the object of an example's answer, in the order of the keys.

        A quote that the example lacks is empty for a value that claims nothing, and left out for others, as are missing reasons.
        """
        answer: dict[str, Any] = {}
        for key in self.keys:
            name = key.field.name
            value = example.fields[name]
            if key.kind == "value":
                answer[key.name] = value
            elif key.kind == "reason" and name in example.reasons:
                answer[key.name] = example.reasons[name]
            elif key.kind == "quote" and (name in example.quotes or not key.field.claims(value)):
                answer[key.name] = example.quotes.get(name, "")
        return answer

    def _build_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of an answer's object; all keys are required, in the order of `keys`."""
        properties: dict[str, Any] = {}
        for key in self.keys:
            if key.kind == "quote":
                properties[key.name] = _build_string_schema(f"The words that {key.field.name} rests on, or empty")
            elif key.kind == "reason":
                properties[key.name] = _build_string_schema(f"Why {key.field.name} is what follows, in one sentence")
            else:
                properties[key.name] = _build_value_schema(key.field)
        return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}

    def _build_user_message(self, review: ReviewInput) -> str:
        """Return the message with a review. The text and facts are inserted as JSON, in one pass over the placeholders.

        Removes white space around the text, which would make the same review another question.
        """
        if not self._own_prompt:
            return _dump_json({"review": review.text.strip()})
        facts = {f"review_{name}": review.facts.get(name) for name in ("date", "stars", "useful")}
        facts["review_text"] = review.text.strip()
        # a doubled brace is no placeholder
        return _PLACEHOLDER.sub(lambda match: _dump_json(facts[match[1]]) if match[1] else match[0], self._own_prompt)

    def _estimate_max_tokens(self) -> int:
        """Return the token limit of an answer, at most 16,000.

        It is generous, since an answer that is cut off is paid for but unusable.
        """
        length = 0
        for field in self.fields:
            length += len(field.name) + max([24, *(len(name) for name, _ in field.values)])
            if field.type == "string":
                length += 600
        quote_and_reason_count = len(self.keys) - len(self.fields)
        return min(16_000, max(512, length) + 400 * quote_and_reason_count)  # models allow three times as much


def choose_majority(passes: Sequence[PassValues]) -> PassValues:
    """Return the most frequent value of each field; of several, that of the earliest pass.

    Each value comes with the quote and the reason of the first pass that gave it. Raises `IndexError` without passes.
    """
    chosen: dict[str, PassValues] = {}
    for name in passes[0].fields:
        values = [exact_key(answer.fields[name]) for answer in passes]
        chosen[name] = passes[values.index(max(values, key=Counter(values).__getitem__))]
    return PassValues(
        {name: answer.fields[name] for name, answer in chosen.items()},
        {name: answer.quotes[name] for name, answer in chosen.items() if name in answer.quotes},
        {name: answer.reasons[name] for name, answer in chosen.items() if name in answer.reasons},
    )


def exact_key(value: FieldValue) -> tuple[type, FieldValue]:
    """Return a key of a value that differs for 1, 1.0 and True, which are equal in Python."""
    return type(value), value


def _build_answer_keys(fields: Sequence[AskedField]) -> list[AnswerKey]:
    """Return the answer's keys in their order: for each field its quote and its reason, if asked for, then its value.

    The names of quotes and reasons differ from every field's name.
    """
    taken = {field.name for field in fields}
    keys: list[AnswerKey] = []

    def add(field: AskedField, kind: Literal["quote", "reason"]) -> None:
        """Add a key for a quote or a reason, with `_` after its name until the name is free."""
        name = f"{field.name}_{kind}"
        while name in taken:
            name += "_"
        taken.add(name)
        keys.append(AnswerKey(name, kind, field))

    for field in fields:
        if field.evidence:
            add(field, "quote")
        if field.reason:
            add(field, "reason")
        keys.append(AnswerKey(field.name, "value", field))
    return keys


def _find_value_without_quote(field: AskedField) -> str:
    """Return the field's value that needs no quote, as JSON; empty if every value needs one."""
    value = field.for_nothing
    if field.type == "boolean" and field.default is None:
        value = False
    return "" if value is None else _dump_json(value)


def _describe_type(field: AskedField) -> str:
    """Return sentences about the type and the bounds of a field; empty for an enum, whose values are listed."""
    phrase = _TYPE_PHRASES.get(field.type, "")
    return f"{phrase} It is {field.bounds}." if field.bounds else phrase


def _build_value_schema(field: AskedField) -> dict[str, Any]:
    """Return the JSON Schema of a field's value; its bounds are only stated in the description."""
    schema: dict[str, Any] = {"type": field.type}
    if field.type == "enum":
        schema = {"type": "string", "enum": [name for name, _ in field.values]}
    description = one_line(field.description)
    if field.bounds:
        description = ", ".join(filter(None, [description.rstrip("."), field.bounds]))
    if description:
        schema["description"] = description
    return schema


def _build_string_schema(description: str) -> dict[str, Any]:
    """Return the JSON Schema of a string with this description."""
    return {"type": "string", "description": description}


def _dump_json(value: object) -> str:
    """Return a value as JSON on one line with sorted keys, so that equal values give the same text."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
