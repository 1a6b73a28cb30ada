"""Compare a seed with the policy that its `sources` quote: quotations, values and sentences.

In: a program with its JSON tree, and the sentences of a policy. Out: the gaps between the two, or a diagnostic for each. White
space and the marks of Markdown do not matter. 0 and 1 need no sentence, since guards, counts and bounds have them anyway, and the
sign of a number and the case of a string do not matter. Keywords are not looked for in the policy. Notes
beside it list known gaps.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate
from typing import Any, NamedTuple

from formulaseed import limits
from formulaseed.diagnostics.catalogue import policy as catalogue
from formulaseed.diagnostics.codes import POLICY_CODES
from formulaseed.diagnostics.model import Diagnostic, Problems
from formulaseed.language.sizes import blank_comments
from formulaseed.language.types import Value
from formulaseed.seed import surface
from formulaseed.seed.lint import suppress
from formulaseed.seed.read.shape import Shape
from formulaseed.seed.task_text import Sentence
from formulaseed.source.json_reader import JsonArray, JsonNumber, JsonObject, JsonString, JsonValue, find_value
from formulaseed.source.text import Source, Span, one_line

MIN_QUOTED_WORDS = 4
"""The words that a quotation of less than a sentence needs; a shorter one would be found anywhere."""
_MAX_LOCATED_WORDS = 20
_MARKUP = re.compile(r"`|(?<!\S)[*_]+(?=\S)|(?<=\S)[*_]+(?!\w)")
_BLOCK_MARK = re.compile(r"^(?:#{1,6}|>|[-+*]) ")
_DECLARATIONS = (("input", "/context"), ("input", "/extract/meta"), ("field", "/extract/fields"))


def normalize(text: str) -> str:
    """Return the text on one line, without the marks of Markdown for tables, code, emphasis, headings, lists and quotations."""
    line = one_line(text.replace("|", " "))
    return one_line(_MARKUP.sub("", _BLOCK_MARK.sub("", line)))


class UsedValue(NamedTuple):
    """A number or string that a part of a seed uses, and its place."""

    value: int | float | str
    span: Span


@dataclass(frozen=True, slots=True)
class Citation:
    """A part of a seed, such as `step TRUST_RAW`, with its `quotations` of the policy and the `values` that it uses.

    The part that is called `seed` stands for all that has no `sources` of its own, such as the output.
    """

    name: str
    span: Span
    quotations: tuple[JsonString, ...]
    values: tuple[UsedValue, ...]


@dataclass(frozen=True, slots=True)
class Gaps:
    """The differences between a seed and its policy, each list in the order of its file."""

    misquotations: tuple[tuple[Citation, JsonString], ...]
    """The quotations that the policy does not contain."""
    unstated: tuple[tuple[Citation, UsedValue], ...]
    """The values that no sentence which the part cites contains. A part without quotations is in `unsourced` alone."""
    unsourced: tuple[Citation, ...]
    """The parts that quote nothing of the policy."""
    uncited: tuple[Sentence, ...]
    """The sentences, without frames, that nothing quotes."""


def list_citations(program: surface.Program, tree: JsonObject) -> list[Citation]:
    """Return the citation of each part of a seed: itself, its filter, parameters, inputs, fields and steps.

    The seed itself is only there if it quotes the policy or has a number. Malformed parts are left out.
    """
    numbers = [find_value(tree, pointer) for pointer in ("/review_handling/max_length", "/extract/passes")]
    whole = _cite("seed", program.task_name.span, tree, _list_plain_values(numbers))
    citations = [whole] if whole.quotations or whole.values else []
    keywords = tree.get("filter")
    if isinstance(keywords, JsonObject) and program.keywords:
        citations.append(_cite("filter", program.keywords[0].span, keywords, ()))
    for title, name, section in _list_declarations(tree):
        bounds = [section.get(key) for key in ("default", "minimum", "maximum")]
        enum_values = section.get("values")
        names = enum_values.items if isinstance(enum_values, JsonArray) else ()
        if isinstance(enum_values, JsonObject):
            names = tuple(enum_values.names())
        citations.append(_cite(f"{title} {name.value}", name.span, section, _list_plain_values([*names, *bounds])))
    for step in program.steps:
        body = find_value(tree, step.name.span.pointer.rpartition("/")[0])
        if isinstance(body, JsonObject):
            citations.append(_cite(f"step {step.name.text}", step.name.span, body, step.find_literals()))
    return citations


def _list_declarations(tree: JsonObject) -> Iterator[tuple[str, JsonString, JsonObject]]:
    """Yield each parameter, input and field: its kind, its name and its object."""
    parameters = tree.get("parameters")
    for member in parameters.members if isinstance(parameters, JsonObject) else ():
        if isinstance(member.value, JsonObject):
            yield "parameter", member.key, member.value
    for title, pointer in _DECLARATIONS:
        section = find_value(tree, pointer)
        for item in section.items if isinstance(section, JsonArray) else ():
            name = item.get("name") if isinstance(item, JsonObject) else None
            if isinstance(item, JsonObject) and isinstance(name, JsonString):
                yield title, name, item


def _list_plain_values(values: Iterable[JsonValue | None]) -> list[tuple[Value, Span]]:
    """Return the numbers and strings among JSON values, each with its place."""
    return [(value.value, value.span) for value in values if isinstance(value, JsonNumber | JsonString)]


def _cite(name: str, span: Span, section: JsonObject, literals: Iterable[tuple[Value, Span]]) -> Citation:
    """Return the citation of a part with the object `section`; of its literals, only numbers and strings are values."""
    sources = section.get("sources")
    items = sources.items if isinstance(sources, JsonArray) else ()
    values = [
        UsedValue(value, place)
        for value, place in sorted(literals, key=lambda literal: literal[1].start)
        if isinstance(value, int | float | str) and not isinstance(value, bool)
    ]
    return Citation(name, span, tuple(item for item in items if isinstance(item, JsonString)), tuple(values))


class Policy:
    """The sentences of a policy, in which quotations are looked for."""

    def __init__(self, sentences: Sequence[Sentence]) -> None:
        self.sentences = sentences
        self._by_text: dict[str, set[int]] = {}
        self._quoted: dict[str, set[int]] = {}
        texts = [normalize(sentence.text) for sentence in sentences]
        for index, text in enumerate(texts):
            self._by_text.setdefault(text, set()).add(index)
        self._starts = [0, *accumulate(len(text) + 1 for text in texts)]
        self._joined = " ".join(texts)

    def find(self, quotation: str) -> set[int]:
        """Return the indices of the sentences that a quotation quotes, also in part; an empty set if it is in none.

        A quotation may consist of several sentences in a row.
        """
        if quotation not in self._quoted:
            text = normalize(quotation)
            indices = self._quoted[quotation] = {*self._by_text.get(text, ())}
            if not indices and len(text.split()) >= MIN_QUOTED_WORDS:
                for match in re.finditer(rf"(?<!\w){re.escape(text)}(?!\w)", self._joined):
                    first = bisect_right(self._starts, match.start()) - 1
                    indices.update(range(first, bisect_right(self._starts, match.end() - 1)))
        return self._quoted[quotation]


def find_gaps(citations: Sequence[Citation], policy: Policy, no_rule: Iterable[str] = ()) -> Gaps:
    """Compare citations with a policy. `no_rule` are the sentences that state no rule, which nothing needs to cite."""
    quotations = [(part, quotation) for part in citations for quotation in part.quotations]
    texts = [*no_rule, *(quotation.value for _, quotation in quotations)]
    quoted = set[int]().union(*map(policy.find, texts))
    return Gaps(
        misquotations=tuple(pair for pair in quotations if not policy.find(pair[1].value)),
        unstated=tuple((part, value) for part in citations for value in _find_unstated(part, policy)),
        unsourced=tuple(part for part in citations if not part.quotations),
        uncited=tuple(s for index, s in enumerate(policy.sentences) if not s.is_frame and index not in quoted),
    )


def _find_unstated(part: Citation, policy: Policy) -> Iterator[UsedValue]:
    """Yield the values of a part that none of its true quotations contains, each once; none for a part without quotations."""
    sentences = [normalize(one.value) for one in part.quotations if policy.find(one.value)]
    numbers = STRUCTURAL_NUMBERS.union(*map(stated_numbers, sentences))
    text = "\n".join(sentences).casefold()
    unique = {used.value: used for used in reversed(part.values)} if part.quotations else {}
    for value, used in reversed(unique.items()):
        is_stated = _states(text, normalize(value).casefold()) if isinstance(value, str) else abs(value) in numbers
        if not is_stated:
            yield used


def _states(text: str, phrase: str) -> bool:
    """Return whether a text contains a phrase as whole words; `walked_out` may be written `walked out`. "" is in every text."""
    phrases = {re.escape(phrase), re.escape(phrase.replace("_", " "))}
    return not phrase or re.search(rf"(?<!\w)(?:{'|'.join(sorted(phrases))})(?!\w)", text) is not None


class Finding(NamedTuple):
    """A gap as a diagnostic, and as the string `gap` by which a list of known gaps names it."""

    gap: str
    problem: Diagnostic


def report_gaps(gaps: Gaps, source: Source, suppressions: Iterable[surface.Suppression]) -> list[Finding]:
    """Return a finding for each gap that the seed does not suppress. `source` is the text of the policy.

    A suppression of a code of policies that covers no gap is a finding as well.
    """
    names: dict[Diagnostic, str] = {}
    for part, quotation in gaps.misquotations:
        text = normalize(quotation.value)
        names[catalogue.sentence_not_in_policy(quotation.span, _title(part), text)] = f"FS641 {part.name}: {text}"
    for part, used in gaps.unstated:
        problem = catalogue.value_not_in_policy(used.span, _title(part), used.value)
        names[problem] = f"FS642 {part.name}: {used.value}"
    for part in gaps.unsourced:
        names[catalogue.part_without_source(part.span, _title(part))] = f"FS644 {part.name}"
    for sentence, span in zip(gaps.uncited, _locate(gaps.uncited, source), strict=True):
        text = normalize(sentence.text)
        names[catalogue.uncited_sentence(span, text)] = f"FS643 {text}"
    problems = Problems()
    for problem in names:
        problems.report(problem)
    suppress(tuple(one for one in suppressions if one.code.text in POLICY_CODES), problems)
    return [Finding(names.get(problem, f"{problem.code} {problem.message}"), problem) for problem in problems.sorted()]


def _title(part: Citation) -> str:
    """Return the name of a part as messages have it, such as "the step `N_MILD`"."""
    kind, _, name = part.name.partition(" ")
    return f"the {kind} `{name}`" if name else f"the {kind}"


def _locate(sentences: Iterable[Sentence], source: Source) -> Iterator[Span]:
    """Yield the place of each sentence in a policy: its first words, as many as are on one line."""
    lines = source.text.splitlines(keepends=True)
    starts = [0, *accumulate(map(len, lines))]
    for sentence in sentences:
        line = lines[sentence.line - 1]
        words = sentence.text.split()[:_MAX_LOCATED_WORDS]
        prefixes = [" ".join(words[:count]) for count in range(len(words), 0, -1)]
        prefix = next((prefix for prefix in prefixes if prefix in line), line.rstrip())
        start = starts[sentence.line - 1] + line.find(prefix)
        yield Span(source, start, start + len(prefix))


# --- notes


NOTES_FILE = "policy.json"
_KEYS = ("no_rule", "gaps")


@dataclass(frozen=True, slots=True)
class PolicyNotes:
    """The sentences of a policy that state no rule, and the known `gaps` between the policy and its seed."""

    no_rule: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()


def read_policy_notes(tree: JsonValue, policy: Policy, problems: Problems) -> PolicyNotes:
    """Read notes from JSON. Reports wrong shapes, and sentences in `no_rule` that `policy` does not contain."""
    shape = Shape(problems)
    section = shape.read_object(tree, "the file", '{"no_rule": ["…"], "gaps": []}')
    if section is None:
        return PolicyNotes()
    shape.report_unknown_keys(section, _KEYS, "the notes on a policy")
    texts: list[list[JsonString]] = []
    for key in _KEYS:
        items = shape.read_list(section.get(key), f"`{key}`", limits.POLICY_NOTES)
        texts.append([text for item in items if (text := shape.read_text(item, f"an item of `{key}`")) is not None])
    no_rule, gaps = texts
    for text in no_rule:
        if not policy.find(text.value):
            problems.report(catalogue.sentence_not_in_policy(text.span, "`no_rule`", normalize(text.value)))
    return PolicyNotes(tuple(text.value for text in no_rule), tuple(text.value for text in gaps))


# --- numbers


_NUMBER = re.compile(r"(?<![\w.$`])(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(?:\s?(%|per ?cent))?(?!\w)")
_FORMULA_KEYS = ("expr", "when", "formula", "source", "field")
_WORDS: dict[str, float] = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "once": 1, "twice": 2, "double": 2, "half": 0.5, "quarter": 0.25,
}  # fmt: skip
STRUCTURAL_NUMBERS = frozenset({0.0, 1.0, -1.0})
"""Numbers that formulas need for guards and counts, whether the policy mentions them or not."""


def find_numbers(value: Any) -> Iterator[tuple[str, set[float]]]:
    """Yield each number in a JSON value and its strings: as written, with the values that it may mean.

    A percentage may mean two: 25% is 25 or 0.25. Numbers of JSON are yielded without their sign, those in comments of
    formulas not at all.
    """
    if isinstance(value, dict):
        formulas = {key: blank_comments(value[key]) for key in _FORMULA_KEYS if isinstance(value.get(key), str)}
        value = list({**value, **formulas}.values())
    if isinstance(value, list):
        for item in value:
            yield from find_numbers(item)
    elif isinstance(value, str):
        for match in _NUMBER.finditer(value):
            number = Decimal(match[1].replace(",", "") + (match[2] or ""))
            yield match[0], {float(number), float(number / 100)} if match[3] else {float(number)}
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value), {abs(float(value))}


def number_values(value: Any) -> set[float]:
    """Return the values that the numbers in a JSON value may mean."""
    return {number for _, values in find_numbers(value) for number in values}


def stated_numbers(sentence: str) -> set[float]:
    """Return the values that the numbers and number words of a sentence may mean; a currency sign before one is ignored."""
    words = re.findall(r"[a-z]+", sentence.lower())
    return number_values(sentence.replace("$", " ")) | {_WORDS[word] for word in words if word in _WORDS}
