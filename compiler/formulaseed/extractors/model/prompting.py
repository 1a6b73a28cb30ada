"""The pure core of extraction by a model: which questions a review needs, what a call contains, what an answer means.

In: a seed's fields and reviews. Out: calls, and values read from answers. A question's key is a hash of the request that
asks it and of the number of its pass, and of nothing else: whoever stores answers by key never pays for the same request
twice. Nothing here knows of a network or a file. Source: the two-phase design, phase 2, step 2.
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
from formulaseed.extractors.base import AskedField, legal
from formulaseed.ir.nodes import ReviewedAnswer
from formulaseed.language.json_values import _quote
from formulaseed.llm.calls import (
    Answer,
    Effort,
    ModelCall,
    ModelCapabilities,
    UnusableAnswer,
    build_request,
    render_prompt,
)
from formulaseed.source.strict_json import refuse_constant, refuse_duplicate_keys
from formulaseed.source.text import one_line

_KEY_LENGTH = 48
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{(review_text|review_date|review_stars|review_useful)\}")
_THINKING = 4_000
"""Tokens for a model whose thinking cannot be turned off."""
_KINDS = {"boolean": "true or false.", "integer": "A whole number.", "number": "A number.", "string": "A short text."}
_CURRENT = ModelCapabilities()
_REJECTED = "Your last answer to this was rejected: {}. Answer again, so that this is right."
"""Beside a question that is asked again; the reason is JSON, since it may quote the answer."""


@dataclass(frozen=True, slots=True)
class Question:
    """One pass over one review. `user` is the message that shows it, `text` what of the review is in it."""

    key: str
    user: str
    text: str


@dataclass(frozen=True, slots=True)
class PassValues:
    """An answer's content: a value for every field, and by field the quotes and reasons that were asked for."""

    fields: dict[str, FieldValue]
    quotes: dict[str, Quote]
    reasons: dict[str, str] = dataclass_field(default_factory=dict)


class UnverifiedQuote(UnusableAnswer):
    """Raised for an answer whose required quote is missing, or not in the review."""


@dataclass(frozen=True, slots=True)
class AnswerKey:
    """A key of the answer's object: a field's value, or its quote or its reason."""

    name: str
    kind: Literal["quote", "reason", "value"]
    field: AskedField


class PromptSpec:
    """What one seed asks of one model about each review. `examples` are reviewed answers that it is shown.

    A model writes the keys of its answer in the schema's order: of each field the quote, the reason, then the value that
    rests on them. `own_prompt` is the `extraction_prompt` of a v1 seed, with its placeholders; empty for the usual message.
    """

    def __init__(
        self,
        fields: Sequence[AskedField],
        *,
        model: str,
        effort: Effort | None = "low",
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
        self.keys = _answer_keys(self.fields)
        self.system = self._system()
        self.schema = self._schema()
        self.max_tokens = self._max_tokens()
        # in the order in which it is sent: a model writes its answer in the order of the schema's properties
        request = build_request(self.call(Question("", "", "")))
        self._request_hash = hashlib.sha256(json.dumps(request).encode())
        self.id = self._request_hash.hexdigest()[:_KEY_LENGTH]
        """Identifies the specification: a hash of the request without a review."""
        self.extractor = f"anthropic:{model}"
        """The extractor's name in results."""
        sent = {"system": self.system, "schema": self.schema, "user": own_prompt}
        self.prompt_sha256 = hashlib.sha256(_json(sent).encode()).hexdigest()
        """The hash, in hex, of all that is sent beside a review: the prompts and the answer's schema."""

    def questions(self, review: ReviewInput) -> list[Question]:
        """Return one question for each pass; none where the seed has no fields.

        The key is that of the first request to a current model. What a model cannot do, and what a repeated request says of
        the last answer, are known only when the question is asked, and do not change it.
        """
        if not self.fields:
            return []
        user, found = self._user(review), []
        for index in range(self.passes):
            digest = self._request_hash.copy()
            digest.update(f"\n{index}\n{user}".encode())
            found.append(Question(digest.hexdigest()[:_KEY_LENGTH], user, review.text))
        return found

    def call(
        self, question: Question, able: ModelCapabilities = _CURRENT, times: int = 1, rejected: str = ""
    ) -> ModelCall:
        """Return the question as a call to a model that is able to do so much.

        `times` multiplies the longest answer; `rejected` is why the last answer is unusable, if there was one.
        """
        return ModelCall(
            key=question.key,
            model=self.model,
            system=self.system,
            user=question.user,
            schema=self.schema,
            max_tokens=(self.max_tokens + (0 if able.thinking_off else _THINKING)) * times,
            effort=self.effort if able.effort else None,
            thinking="disabled" if able.thinking_off else None,
            remark=_REJECTED.format(_json(rejected)) if rejected else "",
        )

    def read(self, answer: Answer, text: str | None = None) -> dict[str, Any]:
        """Return the answer's object, with a legal value for every field. Raises `UnusableAnswer`.

        Without the review's text required quotes are not verified.
        """
        if answer.fault:
            raise UnusableAnswer(answer.fault)
        try:
            content = json.loads(answer.text, parse_constant=refuse_constant, object_pairs_hook=refuse_duplicate_keys)
        except (ValueError, RecursionError) as error:
            raise UnusableAnswer(f"the answer is not JSON: {error}") from None
        self.values(content, text)
        answered = {key.name: content[key.name] for key in self.keys if key.name in content}
        try:
            json.dumps(answered, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise UnusableAnswer("in the answer a string holds half of a character (an unpaired surrogate)") from None
        return answered

    def values(self, content: Any, text: str | None) -> PassValues:
        """Return what an answer's object says about this text. Raises `UnusableAnswer`, and for a quote `UnverifiedQuote`.

        Without a text no quote is verified.
        """
        if not isinstance(content, dict):
            raise UnusableAnswer("the answer is not a JSON object")
        missing = [field.name for field in self.fields if content.get(field.name) is None]
        if missing:
            raise UnusableAnswer(f"the answer lacks {', '.join(f'`{name}`' for name in missing[:5])}")
        try:
            values = {field.name: legal(field, content[field.name]) for field in self.fields}
        except DataError as error:
            raise UnusableAnswer(f"in the answer {error}") from None
        strings = self._strings(content, "quote")
        quotes = {name: find_quote(string, text or "") for name, string in strings.items()}
        if text is not None:
            self._verify(values, quotes)
        return PassValues(values, quotes, self._strings(content, "reason"))

    def _strings(self, content: Mapping[str, Any], kind: Literal["quote", "reason"]) -> dict[str, str]:
        """Return the quotes or the reasons of an answer by field; an empty one is none."""
        strings = {key.field.name: content.get(key.name) for key in self.keys if key.kind == kind}
        return {name: string for name, string in strings.items() if isinstance(string, str) and string.strip()}

    def _verify(self, values: Mapping[str, FieldValue], quotes: Mapping[str, Quote]) -> None:
        """Raise `UnverifiedQuote` for a required quote that is missing, or that the review does not contain."""
        for field in self.fields:
            quote = quotes.get(field.name)
            if field.evidence == "required" and quote is not None and not quote.is_verified:
                words = f"the review does not contain the quote for `{field.name}`: {_quote(quote.text)}"
                raise UnverifiedQuote(f"in the answer {words}")
            if quote is None and field.needs_quote(values[field.name]):
                value = _quote(values[field.name])
                raise UnverifiedQuote(f"the answer has no quote for `{field.name}`, and {value} needs one")

    def _system(self) -> str:
        """Return the constant part of the prompt."""
        keys = [
            {
                "name": key.name,
                "asks": key.kind,
                "field": key.field.name,
                "required": key.field.evidence == "required",
                "may_be_empty": _value_without_quote(key.field),
                "description": one_line(key.field.description).rstrip("."),
                "choices": [(name, one_line(description)) for name, description in key.field.values],
                "kind": " ".join(
                    [_KINDS.get(key.field.type, ""), *([f"It is {b}."] if (b := key.field.bounds) else [])]
                ),
            }
            for key in self.keys
        ]
        examples = [
            (_json({"review": example.text.strip()}), json.dumps(self._answer(example), ensure_ascii=False))
            for example in self.examples
        ]
        return render_prompt("extract", keys=keys, examples=examples, shows_facts=bool(self._own_prompt))

    def _answer(self, example: ReviewedAnswer) -> dict[str, Any]:
        """Return the answer that an example shows; without the quote of a value that claims something, if nobody gave one."""
        answer: dict[str, Any] = {}
        for key in self.keys:
            name, value = key.field.name, example.fields[key.field.name]
            if key.kind == "value":
                answer[key.name] = value
            elif key.kind == "reason" and name in example.reasons:
                answer[key.name] = example.reasons[name]
            elif key.kind == "quote" and (name in example.quotes or not key.field.claims(value)):
                answer[key.name] = example.quotes.get(name, "")
        return answer

    def _schema(self) -> dict[str, Any]:
        properties: dict[str, Any] = {}
        for key in self.keys:
            field, about = key.field, one_line(key.field.description)
            if key.kind == "quote":
                properties[key.name] = _string(f"The words that {field.name} rests on, or empty")
            elif key.kind == "reason":
                properties[key.name] = _string(f"Why {field.name} is what follows, in one sentence")
            else:
                about = ", ".join(filter(None, [about.rstrip("."), field.bounds])) if field.bounds else about
                properties[key.name] = {
                    "type": "string" if field.type == "enum" else field.type,
                    **({"enum": [name for name, _ in field.values]} if field.type == "enum" else {}),
                    **({"description": about} if about else {}),
                }
        return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}

    def _user(self, review: ReviewInput) -> str:
        """Return the message that shows a review. Whatever comes from the review is inserted as JSON, in one pass.

        White space around the text says nothing, and would make the same review another question.
        """
        if not self._own_prompt:
            return _json({"review": review.text.strip()})
        facts = {f"review_{name}": review.facts.get(name) for name in ("date", "stars", "useful")}
        facts["review_text"] = review.text.strip()
        return _PLACEHOLDER.sub(lambda match: _json(facts[match[1]]) if match[1] else match[0], self._own_prompt)

    def _max_tokens(self) -> int:
        """Return the most tokens of an answer: many, since an answer that is cut off is paid for and unusable."""
        values = [max([24, *(len(name) for name, _ in field.values)]) for field in self.fields]
        longest = sum(len(field.name) + (600 if field.type == "string" else 0) for field in self.fields) + sum(values)
        texts = len(self.keys) - len(self.fields)
        return min(16_000, max(512, longest) + 400 * texts)  # models allow three times this


def majority(passes: Sequence[PassValues]) -> PassValues:
    """Return each field's most frequent value, the earliest pass deciding a tie, with the first such pass's quote and reason."""
    chosen: dict[str, PassValues] = {}
    for name in passes[0].fields:
        values = [exact(answer.fields[name]) for answer in passes]
        chosen[name] = passes[values.index(max(values, key=Counter(values).__getitem__))]
    return PassValues(
        {name: answer.fields[name] for name, answer in chosen.items()},
        {name: answer.quotes[name] for name, answer in chosen.items() if name in answer.quotes},
        {name: answer.reasons[name] for name, answer in chosen.items() if name in answer.reasons},
    )


def exact(value: FieldValue) -> tuple[type, FieldValue]:
    """Return a key that differs for 1, 1.0 and True, which are equal in Python."""
    return type(value), value


def _answer_keys(fields: Sequence[AskedField]) -> list[AnswerKey]:
    """Return the answer's keys in their order; those of quotes and reasons are distinct from every field's name."""
    taken = {field.name for field in fields}
    keys: list[AnswerKey] = []

    def add(field: AskedField, kind: Literal["quote", "reason"]) -> None:
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


def _value_without_quote(field: AskedField) -> str:
    """Return the value that needs no quote, as JSON; empty if each needs one."""
    value = False if field.type == "boolean" and field.default is None else field.for_nothing
    return "" if value is None else _json(value)


def _string(about: str) -> dict[str, Any]:
    return {"type": "string", "description": about}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
