"""The pure core of extraction by a model: which questions a review needs, what a call contains, what an answer means.

In: a seed's fields and reviews. Out: calls, and values read from answers. A question's key is a hash of everything
that the answer may depend on, so whoever stores answers by key never asks twice. Nothing here knows of a
network or a file. Source: the two-phase design, phase 2, step 2.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from formulaseed.data.results import FieldValue, Quote, ReviewInput
from formulaseed.errors import DataError
from formulaseed.extract.base import AskedField, legal
from formulaseed.llm.calls import Answer, Call, Effort, ModelCapabilities, UnusableAnswer, prompt
from formulaseed.source.json_reader import refuse_constant
from formulaseed.source.text import one_line

_VERSION = "1"
"""The version of the keys: another one invalidates every stored answer."""
_KEY_LENGTH = 48
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{(review_text|review_date|review_stars|review_useful)\}")
_THINKING = 4_000
"""Tokens for a model whose thinking cannot be turned off."""
_KINDS = {"boolean": "true or false.", "integer": "A whole number.", "number": "A number.", "string": "A short text."}
_CURRENT = ModelCapabilities()


@dataclass(frozen=True, slots=True)
class Question:
    """One pass over one review. `user` is the message that shows it."""

    key: str
    user: str


@dataclass(frozen=True, slots=True)
class PassValues:
    """An answer's content: a value for every field, and the quotes that were asked for."""

    fields: dict[str, FieldValue]
    quotes: dict[str, Quote]


class PromptSpec:
    """What one seed asks of one model about each review.

    `own_prompt` is the `extraction_prompt` of a v1 seed, with its placeholders; empty for the usual message.
    """

    def __init__(
        self,
        fields: Sequence[AskedField],
        *,
        model: str,
        effort: Effort | None = "low",
        passes: int = 1,
        own_prompt: str = "",
    ) -> None:
        self.fields = tuple(fields)
        self.model = model
        self.effort = effort
        self.passes = passes
        self._own_prompt = own_prompt
        self._quotes = _quote_names(self.fields)
        self.system = self._system()
        self.schema = self._schema()
        head = [_VERSION, [_hashed(field) for field in self.fields], self.system, model, effort]
        self._head = hashlib.sha256(json.dumps(head, sort_keys=True).encode())
        self.id = self._head.hexdigest()[:_KEY_LENGTH]
        """Identifies the specification: the same for the same fields, prompt, model and effort."""
        self.extractor = f"anthropic:{model}"
        """The extractor's name in results."""
        sent = {"system": self.system, "schema": self.schema, "user": own_prompt}
        self.prompt_sha256 = hashlib.sha256(_json(sent).encode()).hexdigest()
        """The hash, in hex, of all that is sent beside a review: the prompts and the answer's schema."""
        self.max_tokens = self._max_tokens()

    def questions(self, review: ReviewInput) -> list[Question]:
        """Return one question for each pass; none where the seed has no fields."""
        if not self.fields:
            return []
        user, found = self._user(review), []
        for index in range(self.passes):
            digest = self._head.copy()
            digest.update(f"\n{index}\n{user}".encode())
            found.append(Question(digest.hexdigest()[:_KEY_LENGTH], user))
        return found

    def call(self, question: Question, able: ModelCapabilities = _CURRENT, times: int = 1) -> Call:
        """Return the question as a call to a model that is able to do so much; `times` multiplies the longest answer."""
        return Call(
            key=question.key,
            model=self.model,
            system=self.system,
            user=question.user,
            schema=self.schema,
            max_tokens=(self.max_tokens + (0 if able.thinking_off else _THINKING)) * times,
            effort=self.effort if able.effort else None,
            thinking="disabled" if able.thinking_off else None,
        )

    def read(self, answer: Answer) -> dict[str, Any]:
        """Return the answer's object, with a legal value for every field. Raises `UnusableAnswer`."""
        if answer.fault:
            raise UnusableAnswer(answer.fault)
        try:
            given = json.loads(answer.text, parse_constant=refuse_constant)
        except (ValueError, RecursionError) as error:
            raise UnusableAnswer(f"the answer is not JSON: {error}") from None
        self.values(given, "")
        known = [*(field.name for field in self.fields), *self._quotes]
        return {name: given[name] for name in known if name in given}

    def values(self, given: Any, text: str) -> PassValues:
        """Return the values and quotes in an answer's object about this text. Raises `UnusableAnswer`."""
        if not isinstance(given, dict):
            raise UnusableAnswer("the answer is not a JSON object")
        missing = [field.name for field in self.fields if given.get(field.name) is None]
        if missing:
            raise UnusableAnswer(f"the answer lacks {', '.join(f'`{name}`' for name in missing[:5])}")
        try:
            values = {field.name: legal(field, given[field.name]) for field in self.fields}
        except DataError as error:
            raise UnusableAnswer(f"in the answer {error}") from None
        said = {field: given.get(name) for name, field in self._quotes.items()}
        given = {field: quote for field, quote in said.items() if isinstance(quote, str) and quote.strip()}
        return PassValues(values, {field: find_quote(quote, text) for field, quote in given.items()})

    def _system(self) -> str:
        shown = [
            {
                "name": field.name,
                "type": field.type,
                "description": one_line(field.description).rstrip("."),
                "choices": [(name, one_line(description)) for name, description in field.values],
                "kind": " ".join([_KINDS.get(field.type, ""), *([f"It is {field.bounds}."] if field.bounds else [])]),
            }
            for field in self.fields
        ]
        return prompt("extract", fields=shown, quotes=self._quotes, shows_facts=bool(self._own_prompt))

    def _schema(self) -> dict[str, Any]:
        properties: dict[str, Any] = {}
        for field in self.fields:
            about = one_line(field.description)
            about = ", ".join(filter(None, [about.rstrip("."), field.bounds])) if field.bounds else about
            properties[field.name] = {
                "type": "string" if field.type == "enum" else field.type,
                **({"enum": [name for name, _ in field.values]} if field.type == "enum" else {}),
                **({"description": about} if about else {}),
            }
        for name, field_name in self._quotes.items():
            properties[name] = {"type": "string", "description": f"The words that {field_name} rests on, or empty"}
        return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}

    def _user(self, review: ReviewInput) -> str:
        """The message that shows a review. Whatever comes from the review is inserted as JSON, in one pass."""
        if not self._own_prompt:
            return _json({"review": review.text})
        shown = {f"review_{name}": review.facts.get(name) for name in ("date", "stars", "useful")}
        shown["review_text"] = review.text
        return _PLACEHOLDER.sub(lambda found: _json(shown[found[1]]) if found[1] else found[0], self._own_prompt)

    def _max_tokens(self) -> int:
        """Generous: an answer that is cut off is paid for and unusable."""
        values = [max([24, *(len(name) for name, _ in field.values)]) for field in self.fields]
        longest = sum(len(field.name) + (600 if field.type == "string" else 0) for field in self.fields) + sum(values)
        return min(16_000, max(512, longest) + 400 * len(self._quotes))  # three times this is what models allow


def find_quote(quote: str, text: str) -> Quote:
    """Return where the quote occurs in the text, with runs of white space as one space; verified only if it does."""
    wanted, folded = one_line(quote), one_line(text)
    at = folded.find(wanted) if wanted else -1
    if at < 0:
        return Quote(quote, None, None)
    words = [word.start() for word in re.finditer(r"\S+", text)]
    start, last = (
        words[folded.count(" ", 0, place)] + place - folded.rfind(" ", 0, place) - 1
        for place in (at, at + len(wanted) - 1)
    )
    return Quote(quote, start, last + 1)


def majority(passes: Sequence[PassValues]) -> PassValues:
    """Return each field's most frequent value, the earliest pass deciding a tie, with the first such pass's quote."""
    chosen: dict[str, PassValues] = {}
    for name in passes[0].fields:
        given = [exact(each.fields[name]) for each in passes]
        chosen[name] = passes[given.index(max(given, key=Counter(given).__getitem__))]
    quotes = {name: each.quotes[name] for name, each in chosen.items() if name in each.quotes}
    return PassValues({name: each.fields[name] for name, each in chosen.items()}, quotes)


def exact(value: FieldValue) -> tuple[type, FieldValue]:
    """Return a key that differs for 1, 1.0 and True, which are equal in Python."""
    return type(value), value


def _quote_names(fields: Sequence[AskedField]) -> dict[str, str]:
    """The answer's key for each quote, distinct from every field's, with the field it is for."""
    taken = {field.name for field in fields}
    names: dict[str, str] = {}
    for field in fields:
        if field.evidence:
            name = f"{field.name}_quote"
            while name in taken:
                name += "_"
            taken.add(name)
            names[name] = field.name
    return names


def _hashed(field: AskedField) -> dict[str, Any]:
    """What of a field an answer depends on: not its default or hint, and bounds only where it has some."""
    hashed = {**asdict(field), "default": None, "hint": None}
    optional = ("minimum", "maximum", "hint")
    return {name: value for name, value in hashed.items() if value is not None or name not in optional}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
