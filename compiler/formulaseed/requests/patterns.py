"""Regular expressions of requests: parsed, and refused where a review could make Python's `re` take long.

In: a pattern inside a JSON string. Out: the pattern as `re.search` runs it, with `re.IGNORECASE`, or a diagnostic and
None.

`re` tries the ways in which a pattern can match one after the other, from each position of the text. Two rules bound
their number. An unbounded repeat can match in one way only: it holds no unbounded repeat and cannot match the empty
string, and wherever it has a choice the next character decides. And the steps of the whole pattern, counted for the
worst text of `PATTERN_TEXT` characters, stay within `PATTERN_STEPS`.

Of two unbounded `.`, the first is searched without backtracking: `a.*b.*c` runs as `a(?>.*?b).*c`. The nearest `b` is
enough, as it has one length and keeps to the line: from a later `b` no `c` is found that is not found from the nearest.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, replace
from functools import cache
from itertools import takewhile
from string import ascii_lowercase, digits, punctuation
from typing import Literal

from lark import Lark, Token, Transformer_NonRecursive, UnexpectedInput, v_args
from lark.tree import Meta

from formulaseed import limits
from formulaseed.diagnostics.catalogue import requests as catalogue
from formulaseed.diagnostics.model import Problems
from formulaseed.resources import read_resource
from formulaseed.source.json_reader import JsonString
from formulaseed.source.text import Span

Characters = frozenset[str]
_NONE: Characters = frozenset()
_SAMPLE = f"{ascii_lowercase}{digits} {punctuation}\n\t\réßſıµяж中ñ٣½’\xa0"
"""Characters by which tests are distinguished, besides those of the pattern."""
_TOKENS = re.compile(r"\\.|\[\^?(?:\\.|[^\]\\])*\]|[()]|\{([0-9]*),?([0-9]*)\}", re.DOTALL)

_FAULT = re.compile(
    r"\\(?:p\{\w*\}?|.\w*|$)|\(\?(?:<?[=!]|P?[<=]\w*[>)]?|[\w-]*[:)]|[>(]|#[^)]*\)?)?|[*+?]|\{[^}]*\}|\[:\^?\w*:\]|&&|~~|\|\||.",
    re.DOTALL,
)
"""What is underlined where the pattern cannot be read on."""

OF_FILE = limits.Budget("pattern parts")
"""The characters, or parts where these are more, of all patterns of a file."""


@dataclass(frozen=True, slots=True)
class Node:
    """A part of a pattern, from `start` to `end`.

    A `test` accepts one character of a set, of which `accepts` holds the sampled ones; a `place` is an assertion such
    as `^`; `all` of some parts match one after the other, or `any` of them; a `repeat` has one part, from `least` to
    `most` times, unbounded if `most` is None.
    """

    kind: Literal["test", "place", "all", "any", "repeat"]
    start: int
    end: int
    parts: tuple[Node, ...] = ()
    accepts: Characters = _NONE
    least: int = 1
    most: int | None = 1

    @property
    def is_unbounded(self) -> bool:
        """Whether it is repeated without a bound, or so often that it makes no difference."""
        return self.kind == "repeat" and (self.most is None or self.most > limits.PATTERN_FEW)

    def written(self, text: str) -> str:
        return text[self.start : self.end]


class _Refused(Exception):
    """Raised with the diagnostic that says why a pattern is refused."""


def parse_pattern(text: JsonString, problems: Problems) -> str | None:
    """Return a regular expression such as `wi-?fi` as it is run; report what is wrong with it, or would take long."""
    try:
        _refuse_large(text)
        _refuse_malformed(text)
        tree = _tree(text)
        _refuse_parts(tree, text)
        _refuse_ambiguous(tree, text)
        return _source(tree, text)
    except _Refused as refused:
        problems.report(refused.args[0])
        return None


def _refuse_large(text: JsonString) -> None:
    pattern, most, depth = text.value, limits.PATTERN_CHARACTERS, 0
    if len(pattern) > most:
        raise _Refused(catalogue.pattern_over_limit(text.inside(most, len(pattern)), len(pattern), "characters", most))
    for match in _TOKENS.finditer(pattern):
        span = text.inside(match.start(), match.end())
        depth += (match.group() == "(") - (match.group() == ")")
        times = max((int(number[-9:]) + len(number[:-9]) * 10**9 for number in match.groups() if number), default=0)
        if depth > limits.PATTERN_NESTING:
            raise _Refused(catalogue.pattern_over_limit(span, depth, "levels of groups", limits.PATTERN_NESTING))
        if times > limits.PATTERN_REPEAT:
            raise _Refused(catalogue.pattern_over_limit(span, times, "repeats", limits.PATTERN_REPEAT))
    _take(text, len(pattern))


def _take(text: JsonString, parts: int) -> None:
    """Take this many of the parts that all patterns of the file may have."""
    if not OF_FILE.take(parts):
        raise _Refused(catalogue.patterns_over_limit(text.inside(0, len(text.value)), limits.FILE_PATTERN_PARTS))


def _refuse_malformed(text: JsonString) -> None:
    """Refuse what `re` does not accept, in its words."""
    try:
        with warnings.catch_warnings(action="ignore"):
            re.compile(text.value)
    except re.error as error:
        span, written = _at(text, error.pos or 0)
        raise _Refused(catalogue.malformed_pattern(span, error.msg, written)) from None


def _at(text: JsonString, position: int) -> tuple[Span, str]:
    """What is underlined at a position, and its characters; `(?` is one sign."""
    position -= text.value.startswith("(?", position - 1) if position else 0
    found = _FAULT.match(text.value, position)
    written = found.group() if found else ""
    return text.inside(position, position + len(written)), written


# --- time


def _parts(node: Node) -> int:
    """How many parts a node has with its repeats written out, but for those that count as unbounded."""
    parts = 1 + sum(map(_parts, node.parts))
    return parts * max(node.most or 1, 1) if node.kind == "repeat" and not node.is_unbounded else parts


def _refuse_parts(tree: Node, text: JsonString) -> None:
    """Refuse repeats inside one another whose steps would take long to count."""
    parts = _parts(tree)
    if parts > limits.PATTERN_PARTS:
        what = "parts, with its repeats written out"
        raise _Refused(catalogue.pattern_over_limit(text.inside(0, len(text.value)), parts, what, limits.PATTERN_PARTS))
    _take(text, max(parts - len(text.value), 0))


def _refuse_ambiguous(node: Node, text: JsonString) -> None:
    """Refuse an unbounded repeat that can match one text in several ways."""
    if node.is_unbounded:
        item, span = node.parts[0], text.inside(node.start, node.end)
        if inner := _unbounded(item):
            raise _Refused(catalogue.nested_repeat(span, inner.written(text.value)))
        begins, may_be_empty = _begin(item)
        if may_be_empty:
            raise _Refused(catalogue.empty_repeat(span, item.written(text.value)))
        if clash := _clash(item, begins):
            raise _Refused(catalogue.ambiguous_repeat(span, item.written(text.value), clash))
    for part in node.parts:
        _refuse_ambiguous(part, text)


def _unbounded(node: Node) -> Node | None:
    return node if node.is_unbounded else next((found for part in node.parts if (found := _unbounded(part))), None)


def _begin(node: Node) -> tuple[Characters, bool]:
    """The characters that a match can begin with, and whether it can be empty."""
    if node.kind in ("test", "place"):
        return node.accepts, node.kind == "place"
    parts = [_begin(part) for part in node.parts]
    if node.kind == "all":
        length = next((n for n, (_, empty) in enumerate(parts, 1) if not empty), len(parts))
        return _NONE.union(*(first for first, _ in parts[:length])), all(empty for _, empty in parts)
    return _NONE.union(*(first for first, _ in parts)), node.least == 0 or any(empty for _, empty in parts)


def _with(node: Node, follow: Characters) -> Characters:
    """The characters that can come at the place before a node."""
    first, empty = _begin(node)
    return first | follow if empty else first


def _clash(node: Node, follow: Characters) -> str | None:
    """A character with which a match can go on in two ways, where `follow` can come behind the node."""
    if node.kind == "all":
        for part in reversed(node.parts):
            if clash := _clash(part, follow):
                return clash
            follow = _with(part, follow)
    elif node.kind == "any":
        seen = _NONE
        for part in node.parts:
            begins = _with(part, follow)
            if clash := min(seen & begins, default=None) or _clash(part, follow):
                return clash
            seen |= begins
    elif node.kind == "repeat":
        begins = _begin(node.parts[0])[0]
        if node.least != node.most and begins & follow:
            return min(begins & follow)
        return _clash(node.parts[0], follow if node.most == 1 else begins | follow)
    return None


_GROUP, _CHOICE, _BOUNDED = 32, 10, 3
"""What one more turn takes beside the steps in it: of a group, more if it has a choice, and of a repeat with an end."""


def _steps(node: Node, after: int, follow: Characters) -> int:
    """The most steps of `re` from one position of a text, where the rest of the pattern takes `after`."""
    if node.kind == "all":
        for part in reversed(node.parts):
            after, follow = _steps(part, after, follow), _with(part, follow)
        return after - _spared(node)
    if node.kind == "any":
        return min(limits.PATTERN_STEPS, sum(1 + _steps(part, after, follow) for part in node.parts))
    if node.kind != "repeat":
        return after + 1
    item, begins = node.parts[0], _begin(node.parts[0])[0]
    leaving = after if begins & follow or not follow else 1  # else the next character decides against it
    if not after and not follow:  # at the end of the pattern: there is a match as soon as there are enough
        return node.least * _steps(item, 0, begins)
    entering = _GROUP + _CHOICE * _has_choice(item)
    if item.kind == "test":
        entering = 1 if node.most is None else _BOUNDED
    if node.is_unbounded:  # in which nothing is ambiguous
        times = node.most or limits.PATTERN_TEXT // (_width(item) or 1)
        return min(limits.PATTERN_STEPS, times * (entering + _steps(item, 0, begins | follow) + leaving) + after)
    for count in range(node.most or 0, 0, -1):
        ways = entering + _steps(item, after, begins | follow) + (leaving if count > node.least else 0)
        after = min(limits.PATTERN_STEPS, ways)
    return after


def _has_choice(node: Node) -> bool:
    """Whether `re` remembers places in it to go back to; alternatives of one character each are a set to it."""
    is_set = all(len(option.parts) == 1 and option.parts[0].kind == "test" for option in node.parts)
    return node.kind == "repeat" or (node.kind == "any" and not is_set) or any(map(_has_choice, node.parts))


def _spared(node: Node) -> int:
    """The steps that a word such as `service` spares: at most places of any text, no more than its first letters match."""
    word = len(list(takewhile(lambda part: part.kind == "test", node.parts)))
    return max(0, word - 2 - word // 4)


def _is_fast(steps: int) -> bool:
    return limits.PATTERN_TEXT * steps <= limits.PATTERN_STEPS


def _source(tree: Node, text: JsonString) -> str:
    """The pattern as it is run. Raises `_Refused` if some text makes that take long."""
    source = text.value if _is_fast(_steps(tree, 0, _NONE)) else _without_backtracking(tree, text.value)
    if source is None:
        raise _Refused(catalogue.slow_pattern(text.inside(0, len(text.value))))
    return source


def _without_backtracking(tree: Node, text: str) -> str | None:
    """The pattern with the first of its two `.*` searched without backtracking; None if that is no help."""
    gaps = [n for n, part in enumerate(tree.parts) if part.kind == "repeat" and part.most is None]
    if tree.kind != "all" or len(gaps) != 2:
        return None
    first, second = gaps
    lazy, greedy = (tree.parts[n].written(text).rstrip("?") for n in gaps)
    middle = tree.parts[first + 1 : second]
    steady = bool(middle) and all(_width(part) is not None and "\n" not in _accepted(part) for part in middle)
    after = _steps(replace(tree, parts=tree.parts[second:]), 0, _NONE)
    after += limits.PATTERN_TEXT * (1 + _steps(replace(tree, parts=middle), 0, _NONE))
    steps = _steps(replace(tree, parts=tree.parts[:first]), after, _NONE)
    if {lazy, greedy} - {".*", ".+"} or not steady or not _is_fast(steps):
        return None
    begin, end, next_gap = tree.parts[first].start, tree.parts[first].end, tree.parts[second].start
    return f"{text[:begin]}(?>{lazy}?{text[end:next_gap]}){text[next_gap:]}"


def _accepted(node: Node) -> Characters:
    return node.accepts.union(*map(_accepted, node.parts))


def _width(node: Node) -> int | None:
    """How many characters every match has; None where that differs."""
    widths = [_width(part) for part in node.parts]
    known = [width for width in widths if width is not None]
    if len(known) < len(widths) or (node.kind == "any" and len(set(known)) > 1) or node.least != node.most:
        return None
    if node.kind in ("test", "place"):
        return int(node.kind == "test")
    return sum(known) if node.kind == "all" else known[0] * node.least


# --- syntax


def _tree(text: JsonString) -> Node:
    """The tree of a pattern that `re` accepts. Raises `_Refused` for what is not supported."""
    try:
        return _Builder(text.value).transform(_lark().parse(text.value))
    except UnexpectedInput as error:
        raise _Refused(catalogue.unsupported_pattern(*_at(text, error.pos_in_stream or 0))) from None


@cache
def _lark() -> Lark:
    grammar = read_resource("grammar", "pattern.lark")
    return Lark(grammar, parser="lalr", start="pattern", propagate_positions=True, maybe_placeholders=True)


@v_args(meta=True)
class _Builder(Transformer_NonRecursive[Token, Node]):
    """Lark's tree to ours. Every method is named for a rule of the grammar."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.sample = dict.fromkeys([*_SAMPLE, *text.lower()])

    def pattern(self, meta: Meta, children: list[Node]) -> Node:
        return children[-1]

    def alternation(self, meta: Meta, children: list[Node]) -> Node:
        return children[0] if len(children) == 1 else Node("any", *_span(meta), tuple(children))

    def concatenation(self, meta: Meta, children: list[Node | Token]) -> Node:
        parts = [Node("place", c.start_pos or 0, c.end_pos or 0) if isinstance(c, Token) else c for c in children]
        return Node("all", *_span(meta), tuple(parts))

    def group(self, meta: Meta, children: list[Node]) -> Node:
        return Node("all", *_span(meta), tuple(children))

    def repetition(self, meta: Meta, children: list[Node]) -> Node:
        item, token = children
        assert isinstance(token, Token)
        if token[0] != "{":
            least, most = int(token[0] == "+"), 1 if token[0] == "?" else None
        else:
            first, comma, last = token.rstrip("?")[1:-1].partition(",")
            least = int(first)
            most = int(last) if last else None if comma else least
        return Node("repeat", *_span(meta), (item,), least=least, most=most)

    def character(self, meta: Meta, children: list[Token]) -> Node:
        start, end = _span(meta)
        found = re.compile(self.text[start:end], re.IGNORECASE)
        accepts = frozenset(character for character in self.sample if found.fullmatch(character))
        return Node("test", start, end, accepts=accepts)

    category = set = character


def _span(meta: Meta) -> tuple[int, int]:
    return (0, 0) if meta.empty else (meta.start_pos, meta.end_pos)
