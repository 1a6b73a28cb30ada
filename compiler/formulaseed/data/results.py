"""Defines results, the reviews and values of extractors, and failures; writes results, one restaurant a line."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal, Protocol, TextIO

from formulaseed.data.encoding import encode, encode_plain, encode_string
from formulaseed.errors import DataError, EvaluationError
from formulaseed.ir import nodes
from formulaseed.source.printing import number_of
from formulaseed.source.text import one_line, value_node

FINE, WRONG, USAGE, PARTIAL = range(4)
"""Exit statuses: fine; the input has errors; wrong usage or an unreadable file; finished, but some failed."""


@value_node
class ReviewCounts:
    """The number of a restaurant's reviews, of relevant ones, and of those that were extracted or failed."""

    total: int
    relevant: int
    extracted: int
    failed: int
    sampled: int | None = None
    """The number of relevant reviews in the sample; None without a sample."""
    sources: Mapping[str, int] | None = None
    """The numbers of relevant reviews by their `AnswerSource`; None if there is a single source."""
    duplicates: int = 0
    """The number of reviews left out because an earlier one has their id; they are in no other count."""

    def subtract_duplicates(self, number: int) -> ReviewCounts:
        """Return counts in which `number` extracted reviews are duplicates: fewer reviews in all other counts.

        Failed reviews and the counts by source stay as they are.
        """
        if not number:
            return self
        sampled = None if self.sampled is None else self.sampled - number
        total, relevant, extracted = (count - number for count in (self.total, self.relevant, self.extracted))
        duplicates = self.duplicates + number
        return ReviewCounts(total, relevant, extracted, self.failed, sampled, self.sources, duplicates)

    def to_json(self) -> dict[str, Any]:
        """Return the counts as results have them; `sampled`, `sources` and `duplicates` only if there are any."""
        counts: dict[str, Any] = {name: getattr(self, name) for name in ("total", "relevant", "extracted", "failed")}
        if self.sampled is not None:
            counts["sampled"] = self.sampled
        if self.sources is not None:
            counts["sources"] = dict(self.sources)
        if self.duplicates:
            counts["duplicates"] = self.duplicates
        return counts

    @property
    def json_text(self) -> str:
        """The JSON of the counts."""
        if self.sampled is not None or self.sources is not None or self.duplicates:
            return encode(self.to_json())
        counts = f'"total": {self.total}, "relevant": {self.relevant}, "extracted": {self.extracted}, "failed": {self.failed}'
        return f"{{{counts}}}"  # in a third of the encoder's time


@dataclass(frozen=True)
class Provenance:
    """The seed, the parameters and the extractor of a result, so that it can be audited alone.

    `extractor` and `prompt_sha256` are None if nothing was extracted, and no model was called. `edited` says that the module is
    not as its seed compiles. `sample` has the size of a sample, the number of relevant reviews, and the random seed. `spoke_for`
    has the number of reviews that words speak for, and of all; None without words.
    """

    seed_sha256: str
    seed_version: str | None
    parameters: Mapping[str, Any]
    extractor: str | None = None
    prompt_sha256: str | None = None
    edited: bool = False
    sample: Mapping[str, int] | None = None
    spoke_for: Sequence[int] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the object that results have; `edited` only if it is true, `sample` and `spoke_for` only if there is one."""
        words = self.spoke_for and list(self.spoke_for)
        optional = {"edited": self.edited, "sample": self.sample and dict(self.sample), "spoke_for": words}
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in optional}
        values["parameters"] = dict(self.parameters)
        return values | {name: value for name, value in optional.items() if value}

    @cached_property
    def json_text(self) -> str:
        """The JSON of the provenance, cached since every line of a run has it."""
        return encode(self.to_json())


@value_node
class Result:
    """A restaurant's result, a line of output. If the restaurant failed, `output` is None and `error` has the reason."""

    business_id: str
    name: str | None
    task: str
    reviews: ReviewCounts | None
    output: dict[str, Any] | None = None
    steps: dict[str, Any] | None = None
    evidence: dict[str, list[str]] | None = None
    error: dict[str, str | None] | None = None
    quotes: Mapping[str, Mapping[str, Any]] | None = None
    """The quotes by review and field, like `reasons`; None if the extractor gave none."""
    reasons: Mapping[str, Mapping[str, Any]] | list[dict[str, Any]] | None = None  # a model's, or a list: the verdict's
    run: Provenance | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the line's object: `error` if the restaurant failed, else `output`, and no members that are None."""
        reported = {"output": self.output} if self.error is None else {"error": self.error}
        optional = {
            "reviews": self.reviews and self.reviews.to_json(), "steps": self.steps, "evidence": self.evidence,
            "quotes": self.quotes, "reasons": self.reasons, "run": self.run and self.run.to_json(),
        }  # fmt: skip
        present = {name: value for name, value in optional.items() if value is not None}
        return {"business_id": self.business_id, "name": self.name, "task": self.task, **reported, **present}

    def to_line(self) -> str:
        """Return the JSON of the object of `to_json`, without a line end, faster than by encoding the object."""
        name = "null" if self.name is None else encode_string(self.name)
        line = f'{{"business_id": {encode_string(self.business_id)}, "name": {name}, "task": {encode_string(self.task)}'
        if self.error is not None:
            line += f', "error": {encode(self.error)}'
        else:
            line += f', "output": {"null" if self.output is None else encode_plain(self.output)}'
        if self.reviews is not None:
            line += f', "reviews": {self.reviews.json_text}'
        for name in ("steps", "evidence", "quotes", "reasons"):
            value = getattr(self, name)
            if value is not None:
                line += f', "{name}": {encode(value)}'
        if self.run is not None:
            line += f', "run": {self.run.json_text}'
        return line + "}"


def error_record(error: EvaluationError | DataError) -> dict[str, str | None]:
    """Return the object of an error in a result; errors of the data have no step and the kind `data`."""
    if isinstance(error, EvaluationError):
        return {"step": error.step, "kind": error.kind, "message": error.message}
    return {"step": None, "kind": "data", "message": str(error)}


@dataclass
class Failures:
    """The failures of a run, a message for each, in order; a place is `file:line` or a restaurant.

    `unreadable` counts invalid lines of input, `unused` valid ones without a result: duplicates, and reviews of unknown
    restaurants.
    """

    lines: list[str] = field(default_factory=list)
    unreadable: int = 0
    unused: int = 0
    duplicates: int = 0
    """The number of reviews left out because an earlier one of the restaurant has their id."""
    _restaurants: dict[str, str] = field(default_factory=dict)
    """The place of the first line of each restaurant."""
    _repeated: list[tuple[str, str, str]] = field(default_factory=list)
    """A restaurant with two lines, and the places of both."""

    def add(self, place: str, reason: str) -> None:
        """Add a failure, as the line `place: reason`."""
        self.lines.append(f"{place}: {reason}")

    def add_unreadable(self, place: str, reason: str) -> None:
        """Add and count a line of input that cannot be read."""
        self.unreadable += 1
        self.add(place, reason)

    def add_unused(self, place: str, reason: str, lines: int = 1) -> None:
        """Add one failure for some lines of input that cannot be used, and count the lines."""
        self.unused += lines
        self.add(place, reason)

    def note_restaurant(self, place: str, business_id: str) -> None:
        """Note the line of a restaurant that is evaluated; a second line of the same restaurant is a warning later."""
        first = self._restaurants.setdefault(business_id, place)
        if first != place:
            self._repeated.append((business_id, first, place))

    def require_restaurants(self, restaurants: int) -> None:
        """Raise `DataError` with the first failure if there are failures and `restaurants`, the number read, is 0."""
        if not restaurants and self.lines:
            more = f"; and {number_of(len(self.lines) - 1, 'more such line')}" if self.lines[1:] else ""
            raise DataError(f"no restaurant can be read: {self.lines[0]}{more}")

    def notes(self) -> Iterator[str]:
        """Yield messages about the input that are neither failures nor warnings."""
        if self.duplicates:
            yield f"{number_of(self.duplicates, 'duplicate review')} left out; the first with each id counts"

    def warnings(self) -> Iterator[str]:
        """Yield at most one warning: restaurants that have several lines, each of which has a result."""
        if self._repeated:
            business_id, first, second = self._repeated[0]
            more = f", and {number_of(len(self._repeated) - 1, 'more such line')}" if self._repeated[1:] else ""
            yield f"duplicate business_id {business_id} in {first} and {second}{more}; each line has a result"

    @property
    def status(self) -> int:
        """The exit status: `PARTIAL` if there are failures, otherwise `FINE`."""
        return PARTIAL if self.lines else FINE

    def summary(self) -> str:
        """Return the numbers of lines without a result, for the end of a closing line; empty if there are none."""
        counts = ((self.unreadable, "unreadable"), (self.unused, "unused"))
        return "".join(f"; {number_of(count, 'line')} {state}" for count, state in counts if count)


MAX_VERDICTS = 12
"""An output with more different values is no verdict."""


class ResultCounts:
    """The numbers of restaurants with a result, of those that failed, and of their reviews and verdicts.

    A verdict is the value of an output that has few different values, strings or booleans.
    """

    restaurants = failed = total = relevant = extracted = lost = 0

    def __init__(self) -> None:
        self._faults: Counter[str] = Counter()
        self._verdicts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._names: Sequence[str] | None = None
        """The outputs whose first value is not a number; None before the first result."""

    def add(
        self,
        error: Mapping[str, str | None] | None,
        reviews: ReviewCounts | None,
        output: Mapping[str, Any] | None = None,
    ) -> None:
        """Add a restaurant: its error, its numbers of reviews and its outputs, each None if it has none."""
        self.restaurants += 1
        if error is not None:
            self.failed += 1
            kind = error["kind"] or ""
            self._faults[kind if error["step"] is None else f"{kind} in {error['step']}"] += 1
        if reviews is not None:
            self.total += reviews.total
            self.relevant += reviews.relevant
            self.extracted += reviews.extracted
            self.lost += reviews.failed
        if output is not None:
            self._add_verdicts(output)

    def _add_verdicts(self, output: Mapping[str, Any]) -> None:
        """Count the strings and booleans of a restaurant's outputs.

        The first restaurant decides which outputs count, by having no number there. Counting stops for an output with
        more than 12 different values.
        """
        if self._names is None:
            self._names = [name for name, value in output.items() if isinstance(value, str | bool | None)]
        for name in self._names:
            value = output[name]
            if isinstance(value, str | bool):
                counts = self._verdicts[name]
                if len(counts) <= MAX_VERDICTS:
                    counts[value if isinstance(value, str) else str(value).lower()] += 1

    def progress(self) -> str:
        """Return the number of reviews so far, for a progress line."""
        return number_of(self.relevant, "relevant review")

    def summary(self) -> str:
        """Return the number of restaurants, for a closing line."""
        return f"{number_of(self.restaurants, 'restaurant')}, {self.failed} failed"

    def lines(self) -> list[str]:
        """Return a line of frequencies for each output's verdicts, then one for errors, the most frequent first.

        Outputs with more than 12 different values have no line, nor have errors if there are none.
        """
        verdicts = [(name, counts) for name, counts in self._verdicts.items() if len(counts) <= MAX_VERDICTS]
        return [
            f"{name}: " + ", ".join(f"{count:,} {value}" for value, count in counts.most_common())
            for name, counts in (*verdicts, ("errors", self._faults))
            if counts
        ]


def write_line(file: TextIO, line: Result | dict[str, Any]) -> None:
    """Write a result or an object as a line of JSON."""
    file.write((line.to_line() if isinstance(line, Result) else encode(line)) + "\n")


@dataclass(frozen=True, slots=True)
class ReviewInput:
    """A relevant review for an extractor. `facts` are its date, stars and useful votes, as its line has them."""

    business_id: str
    review_id: str
    text: str
    facts: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Quote:
    """The words of a review that support a field's value, with their offsets in the extracted text; None if not there."""

    text: str
    start: int | None
    end: int | None

    @property
    def is_verified(self) -> bool:
        """Whether the review contains the quote."""
        return self.start is not None

    def to_json(self) -> dict[str, object]:
        """Return the object that results have."""
        return {"text": self.text, "verified": self.is_verified, "start": self.start, "end": self.end}


def find_quote(quote: str, text: str) -> Quote:
    """Return the quote with its offsets in the text, or None for both if it is not there.

    Any white space matches any other. The first occurrence counts. A blank quote is never found.
    """
    line = one_line(quote)
    text_line = one_line(text)
    offset = text_line.find(line) if line else -1
    if offset < 0:
        return Quote(quote, None, None)
    words = [word.start() for word in re.finditer(r"\S+", text)]
    start, last = (
        words[text_line.count(" ", 0, at)] + at - text_line.rfind(" ", 0, at) - 1
        for at in (offset, offset + len(line) - 1)
    )
    return Quote(quote, start, last + 1)


NOT_ASKED = "it has not been asked about"
"""The failure of each remaining review if a run stops."""
IN_BATCH = "it is in a batch in progress; `--batch` waits for it"
"""The failure of a review that is not sent live, since it is in a batch."""
CUT_OFF = "the creation of its batch was cut off"
"""The failure of a review whose batch may or may not exist."""


FieldValue = str | int | float | bool
AnswerSource = Literal["", "recorded", "asked", "predicted", "left_out"]
"""The origin of a review's values, or `left_out` as too uncertain; empty if there is one source only."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """One review's field values, or None and the reason in `failure`."""

    review_id: str
    fields: dict[str, FieldValue] | None
    failure: str = ""
    quotes: Mapping[str, Quote] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    source: AnswerSource = ""
    is_spoken_for: bool | None = None
    """Whether a word speaks for a value; None if the extractor does not go by words."""


class Extractor(Protocol):
    """An extractor of the reviews of restaurants, as a run uses it.

    `name` and `prompt_sha256`, the hash of the prompt or None, are part of the results' provenance.
    """

    name: str
    prompt_sha256: str | None

    def extract_all(self, restaurants: Iterable[Sequence[ReviewInput]]) -> Iterator[list[Extraction]]:
        """Yield an extraction for each review, in a list for each restaurant, in their order.

        An extractor may read restaurants ahead, since some wait for many answers at a time.
        """


def truncate_review(text: str, handling: nodes.ReviewHandling | None) -> str | None:
    """Return the part of a review that is extracted; None if the seed rejects a review of this length in characters.

    Without `handling` the whole text is returned; `truncate_head` keeps the head, `truncate_tail` the tail.
    """
    if handling is None or len(text) <= handling.max_length:
        return text
    if handling.strategy == "reject":
        return None
    length = handling.max_length
    head = {"truncate_head": length, "truncate_tail": 0, "truncate_middle": (length + 1) // 2}[handling.strategy]
    return text[:head] + text[len(text) - (length - head) :]
